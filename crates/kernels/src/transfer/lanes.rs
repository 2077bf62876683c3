//! Moving scalars of lanes, each at a place of its own, between memory and an array.
//!
//! That is what code does with accesses of which a part may be out of bounds: rare, and looked at lane by lane. Scalars
//! outside the object read as zero and are not written.

/// How the scalars of lanes lie.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub struct LaneAccess {
    /// Scalars of a lane, one behind the other in memory.
    pub scalars: u32,
    /// Bytes of each: 1, 2, 4 or 8.
    pub scalar_bytes: u32,
    /// Bytes in the array from lane to lane.
    pub lane_step: u32,
    /// Bytes in the array from a lane's scalar to its next.
    pub scalar_step: u32,
    /// Bytes that a place counts, which is an index of 32 bits then; 0 if it is an offset in bytes, of 64 bits.
    pub scale: i64,
}

/// The lanes of an access, and where their scalars are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    /// A place for each lane.
    pub(crate) places: *const u8,
    /// Bytes of the object.
    pub(crate) size: u64,
    /// A bit for each lane that has scalars.
    pub(crate) mask: u64,
    /// What is added to each offset.
    pub(crate) start: u64,
}

impl Lanes {
    /// Calls `one` with each lane's number and offset.
    ///
    /// # Safety
    ///
    /// There is a place for each lane of the mask.
    #[inline(always)]
    unsafe fn each(self, scale: i64, mut one: impl FnMut(usize, u64)) {
        let mut rest = self.mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            // SAFETY: there is a place for the lane.
            let offset = unsafe {
                match scale {
                    0 => self.places.cast::<u64>().add(lane).read_unaligned(),
                    _ => {
                        let index = self.places.cast::<i32>().add(lane).read_unaligned();
                        i64::from(index).wrapping_mul(scale) as u64
                    }
                }
            };
            one(lane, self.start.wrapping_add(offset));
        }
    }

    /// Offsets below this are those of `bytes` bytes that are inside.
    #[inline(always)]
    fn end_of(self, bytes: usize) -> u64 {
        self.size.saturating_sub(bytes as u64 - 1)
    }
}

/// Bytes that are moved at once, where all scalars of a lane are inside and so many.
type Piece = [u8; 16];

/// Reads scalars to an array.
///
/// # Safety
///
/// `size` bytes from `base` can be read, there is a place for each lane of the mask, and room for its scalars.
pub(crate) unsafe fn load(p: &LaneAccess, array: *mut u8, base: *const u8, lanes: Lanes) {
    // SAFETY: forwarded.
    unsafe {
        match p.scalar_bytes {
            1 => load_of::<u8>(p, array, base, lanes),
            2 => load_of::<u16>(p, array, base, lanes),
            4 => load_of::<u32>(p, array, base, lanes),
            _ => load_of::<u64>(p, array, base, lanes),
        }
    }
}

/// Writes scalars of an array.
///
/// # Safety
///
/// `size` bytes from `base` can be written, there is a place for each lane of the mask, and its scalars are there.
pub(crate) unsafe fn store(p: &LaneAccess, array: *const u8, base: *mut u8, lanes: Lanes) {
    // SAFETY: forwarded.
    unsafe {
        match p.scalar_bytes {
            1 => store_of::<u8>(p, array, base, lanes),
            2 => store_of::<u16>(p, array, base, lanes),
            4 => store_of::<u32>(p, array, base, lanes),
            _ => store_of::<u64>(p, array, base, lanes),
        }
    }
}

/// Whether a lane's scalars are a [`Piece`] in the array as in memory.
fn are_piece(p: &LaneAccess) -> bool {
    p.scalar_step == p.scalar_bytes && (p.scalars * p.scalar_bytes) as usize == size_of::<Piece>()
}

/// # Safety
///
/// As for [`load`].
unsafe fn load_of<T: Copy + Default>(p: &LaneAccess, array: *mut u8, base: *const u8, lanes: Lanes) {
    let end = lanes.end_of(size_of::<T>());
    let end_of_piece = if are_piece(p) { lanes.end_of(size_of::<Piece>()) } else { 0 };
    let one = |lane: usize, offset: u64| {
        let to = array.wrapping_add(lane * p.lane_step as usize);
        if offset < end_of_piece {
            // SAFETY: all of it is inside, and there is room for as much.
            unsafe { to.cast::<Piece>().write(base.wrapping_add(offset as usize).cast::<Piece>().read()) };
            return;
        }
        for k in 0..p.scalars {
            let offset = offset.wrapping_add(u64::from(k) * size_of::<T>() as u64);
            let from = base.wrapping_add(offset as usize).cast::<T>();
            // SAFETY: it is inside.
            let scalar = if offset < end { unsafe { from.read_unaligned() } } else { T::default() };
            let to = to.wrapping_add((k * p.scalar_step) as usize).cast::<T>();
            // SAFETY: there is room for the scalars of a lane.
            unsafe { to.write_unaligned(scalar) };
        }
    };
    // SAFETY: there is a place for each lane.
    unsafe { lanes.each(p.scale, one) };
}

/// # Safety
///
/// As for [`store`].
unsafe fn store_of<T: Copy>(p: &LaneAccess, array: *const u8, base: *mut u8, lanes: Lanes) {
    let end = lanes.end_of(size_of::<T>());
    let end_of_piece = if are_piece(p) { lanes.end_of(size_of::<Piece>()) } else { 0 };
    let one = |lane: usize, offset: u64| {
        let from = array.wrapping_add(lane * p.lane_step as usize);
        if offset < end_of_piece {
            // SAFETY: all of it is inside, and as much is in the array.
            unsafe { base.wrapping_add(offset as usize).cast::<Piece>().write(from.cast::<Piece>().read()) };
            return;
        }
        for k in 0..p.scalars {
            let offset = offset.wrapping_add(u64::from(k) * size_of::<T>() as u64);
            let from = from.wrapping_add((k * p.scalar_step) as usize).cast::<T>();
            let to = base.wrapping_add(offset as usize).cast::<T>();
            if offset < end {
                // SAFETY: it is inside, and the scalars of a lane are in the array.
                unsafe { to.write_unaligned(from.read_unaligned()) };
            }
        }
    };
    // SAFETY: there is a place for each lane.
    unsafe { lanes.each(p.scale, one) };
}
