//! Where the matrices and biases of the lanes are, and which lanes share them.

use super::{MAX_VECTOR_LANES, Piece};

/// The places of an operation, as its caller hands them over: two words of a mask of lanes, then for each piece a word for
/// each lane, or the first of these for all.
#[derive(Clone, Copy)]
pub(super) struct Places {
    words: *const u64,
    lanes: usize,
    varying: u8,
}

/// Lanes that have all pieces in common.
pub(super) struct Group {
    /// Which, by their bits.
    pub(super) mask: u128,
    /// The pieces.
    pub(super) pieces: [u64; Piece::ALL.len()],
}

/// The part of an object from a place on.
#[derive(Clone, Copy)]
pub(super) struct Object {
    pub(super) base: *mut u8,
    pub(super) size: u64,
    pub(super) offset: u64,
}

impl Group {
    /// Where the matrix begins.
    pub(super) fn matrix(&self) -> Object {
        self.object(Piece::MatrixBase, Piece::MatrixSize, Piece::MatrixOffset)
    }

    /// Bytes from a line of the matrix to the next.
    pub(super) fn stride(&self) -> i64 {
        self.pieces[Piece::Stride as usize].cast_signed()
    }

    /// Where the bias begins.
    pub(super) fn bias(&self) -> Object {
        self.object(Piece::BiasBase, Piece::BiasSize, Piece::BiasOffset)
    }

    fn object(&self, base: Piece, size: Piece, offset: Piece) -> Object {
        let piece = |p: Piece| self.pieces[p as usize];
        let base = std::ptr::with_exposed_provenance_mut(piece(base) as usize);
        Object { base, size: piece(size), offset: piece(offset) }
    }
}

impl Places {
    /// # Safety
    /// As for [`VecMatMulFn`](crate::VecMatMulFn), until the last group is given.
    pub(super) unsafe fn new(words: *const u64, lanes: u32, varying: u8) -> Self {
        Self { words, lanes: lanes as usize, varying }
    }

    /// The groups of the active lanes.
    pub(super) fn groups(self) -> impl Iterator<Item = Group> {
        // SAFETY: the mask is two words, by contract.
        let [low, high] = unsafe { self.words.cast::<[u64; 2]>().read_unaligned() };
        let mut rest = (u128::from(low) | u128::from(high) << 64) & all(self.lanes);
        std::iter::from_fn(move || {
            let first = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            let mut mask = rest;
            let mut pieces = [0; Piece::ALL.len()];
            for (i, (piece, slot)) in Piece::ALL.into_iter().zip(&mut pieces).enumerate() {
                // SAFETY: a piece is a word, or one for each lane, by contract.
                unsafe {
                    let words = self.words.add(Piece::word(piece, self.lanes as u32) as usize);
                    if self.varying >> i & 1 == 0 {
                        *slot = words.read_unaligned();
                    } else {
                        *slot = words.add(first).read_unaligned();
                        mask &= self.equal(words, *slot);
                    }
                }
            }
            rest &= !mask;
            Some(Group { mask, pieces })
        })
    }

    /// The lanes whose word is this one.
    ///
    /// # Safety
    /// There is a word for each lane.
    unsafe fn equal(self, words: *const u64, word: u64) -> u128 {
        let mut other = 0;
        for lane in 0..self.lanes {
            // SAFETY: forwarded.
            other |= unsafe { words.add(lane).read_unaligned() } ^ word;
        }
        if other == 0 {
            return u128::MAX;
        }
        let mut halves = [0_u64; 2];
        for lane in 0..self.lanes {
            // SAFETY: forwarded.
            halves[lane / 64] |=
                u64::from(unsafe { words.add(lane).read_unaligned() } == word) << (lane % 64);
        }
        u128::from(halves[0]) | u128::from(halves[1]) << 64
    }
}

/// The mask of so many lanes.
pub(super) fn all(lanes: usize) -> u128 {
    u128::MAX >> (MAX_VECTOR_LANES - lanes)
}

/// The columns of a product: which lanes they are of.
pub(crate) struct Columns {
    lanes: [u8; MAX_VECTOR_LANES],
    count: usize,
    mask: u128,
    /// Whether each lane has its own column, also those that are not of the group.
    pub(super) in_place: bool,
}

impl Columns {
    /// The columns of the lanes of a mask out of so many, for vectors of `width` words: in place if the product has no
    /// fewer vectors without the other lanes.
    pub(super) fn new(mask: u128, lanes: usize, width: usize) -> Self {
        let mut list = [0; MAX_VECTOR_LANES];
        let (mut rest, mut count) = (mask, 0);
        while rest != 0 {
            list[count] = rest.trailing_zeros() as u8;
            count += 1;
            rest &= rest - 1;
        }
        let in_place = count.div_ceil(width) == lanes.div_ceil(width);
        Self { lanes: list, count, mask, in_place }
    }

    /// The lanes of the group.
    pub(super) fn lanes(&self) -> &[u8] {
        &self.lanes[..self.count]
    }

    /// The lane of each column; for those beyond the last any.
    pub(super) fn sources(&self) -> [u32; MAX_VECTOR_LANES] {
        self.lanes.map(u32::from)
    }

    /// The column of each lane; for those that are not of the group any.
    pub(super) fn targets(&self) -> [u32; MAX_VECTOR_LANES] {
        let mut columns = [0; MAX_VECTOR_LANES];
        for (i, &lane) in self.lanes().iter().enumerate() {
            columns[usize::from(lane)] = if self.in_place { u32::from(lane) } else { i as u32 };
        }
        columns
    }

    /// Whether a lane is of the group.
    pub(super) fn has(&self, lane: usize) -> bool {
        self.mask >> lane & 1 != 0
    }

    /// Columns of the product.
    pub(super) fn columns(&self, lanes: usize) -> usize {
        if self.in_place { lanes } else { self.count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(lanes: u32, mask: u128, offsets: &[u64], strides: &[u64]) -> Vec<(u128, u64, i64)> {
        let mut words = vec![7; Piece::words(lanes) as usize];
        (words[0], words[1]) = (mask as u64, (mask >> 64) as u64);
        let mut put = |piece: Piece, values: &[u64]| {
            words[piece.word(lanes) as usize..][..values.len()].copy_from_slice(values);
        };
        put(Piece::MatrixOffset, offsets);
        put(Piece::Stride, strides);
        let varying = [(Piece::MatrixOffset, offsets), (Piece::Stride, strides)]
            .map(|(piece, values)| if values.len() > 1 { piece.bit() } else { 0 });
        // SAFETY: there is a word for each lane, whatever varies.
        let places = unsafe { Places::new(words.as_ptr(), lanes, varying[0] | varying[1]) };
        places.groups().map(|g| (g.mask, g.matrix().offset, g.stride())).collect()
    }

    #[test]
    fn lanes_with_one_matrix_and_stride_are_a_group() {
        assert_eq!(groups(4, 0b1011, &[5], &[6]), [(0b1011, 5, 6)]);
        assert_eq!(groups(4, 0, &[5], &[6]), []);
        assert_eq!(groups(4, 0b1111, &[1, 2, 1, 3], &[6]), [(0b0101, 1, 6), (2, 2, 6), (8, 3, 6)]);
        assert_eq!(groups(4, 0b1110, &[1, 1, 1, 1], &[6, 6, 7, 6]), [(0b1010, 1, 6), (4, 1, 7)]);
        let offsets: Vec<u64> = (0..128).map(|l| l % 2).collect();
        let even = u128::MAX / 3;
        assert_eq!(groups(128, u128::MAX - 1, &offsets, &[6]), [(even << 1, 1, 6), (even - 1, 0, 6)]);
    }

    #[test]
    fn columns_are_put_together_where_that_saves_vectors() {
        let targets = |mask: u128, lane: usize| Columns::new(mask, 32, 8).targets()[lane];
        let two = 1 << 9 | 1 << 31;
        assert_eq!([targets(two, 9), targets(two, 31)], [0, 1]);
        assert_eq!(Columns::new(two, 32, 8).sources()[..2], [9, 31]);
        assert_eq!([1, 2].map(|lane| targets(all(32) - 1, lane)), [1, 2]);
        assert_eq!(Columns::new(3, 32, 8).columns(32), 2);
        assert_eq!([8, 9, 10].map(|lane| Columns::new(two, 32, 8).has(lane)), [false, true, false]);
        assert_eq!(Columns::new(1, 4, 8).columns(4), 4);
    }
}
