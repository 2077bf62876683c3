//! Scalars of lanes, loaded and stored, against a loop over them: places anywhere, also far outside of the object.

use crate::common::{Buffer, Random, levels};
use phalanx_kernels::LaneAccess;

const LANES: usize = 64;
const OBJECT: usize = 200;

/// Where the scalars of a lane are in memory, those that are inside.
fn inside(p: &LaneAccess, start: u64, place: i64, size: u64) -> Vec<Option<usize>> {
    let first = start.wrapping_add(place.wrapping_mul(p.scale.max(1)) as u64);
    let bytes = u64::from(p.scalar_bytes);
    let at = (0..u64::from(p.scalars)).map(|k| first.wrapping_add(k * bytes));
    at.map(|at| (u128::from(at) + u128::from(bytes) <= u128::from(size)).then_some(at as usize)).collect()
}

#[test]
fn scalars_of_lanes_are_moved() {
    let mut random = Random(71);
    for isa in levels() {
        for case in 0..2000 {
            let (scalars, scalar_bytes) = (1 + random.below(8) as u32, 1 << random.below(4));
            // Those of a lane, or those of all lanes, one behind the other.
            let [lane_step, scalar_step] = match random.below(2) {
                0 => [scalars * scalar_bytes, scalar_bytes],
                _ => [scalar_bytes, LANES as u32 * scalar_bytes],
            };
            let scale = if random.below(2) == 0 { 0 } else { 1 + random.below(20) as i64 };
            let p = LaneAccess { scalars, scalar_bytes, lane_step, scalar_step, scale };
            let size = random.below(OBJECT as u64 + 1);
            let (mask, start) = (random.next() & random.next(), random.below(40).wrapping_sub(20));
            let place = |random: &mut Random| match random.below(8) {
                0 => i64::from(random.next() as i32),
                1 => [i64::MIN, i64::MAX, -1][random.below(3) as usize],
                _ => random.below(300) as i64 / scale.max(1),
            };
            let places: [i64; LANES] = std::array::from_fn(|_| place(&mut random));
            let places = places.map(|place| if scale == 0 { place } else { i64::from(place as i32) });
            let narrow = places.map(|place| place as i32);
            let where_ = if scale == 0 { places.as_ptr().cast() } else { narrow.as_ptr().cast::<u8>() };
            let what = format!("{isa} case {case}: {p:?} of {size} bytes from {start}, lanes {mask:b}");

            let room = LANES * (scalars * scalar_bytes) as usize;
            let mut memory = Buffer::misaligned(OBJECT, 0, random.below(16) as usize);
            memory.bytes().fill_with(|| random.next() as u8);
            let mut array = Buffer::new(room, 0xee);
            let before = memory.bytes().to_vec();
            // SAFETY: the object is at least as large as said, and the array has room for all lanes.
            unsafe {
                (isa.table().load_lanes)(&p, array.ptr(), memory.ptr(), where_, size, mask, start);
            }
            let mut read = vec![0xee; room];
            let mut written = before.clone();
            let stored: Vec<u8> = (0..room).map(|_| random.next() as u8).collect();
            for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
                for (k, at) in inside(&p, start, places[lane], size).into_iter().enumerate() {
                    let bytes = scalar_bytes as usize;
                    let in_array = lane * lane_step as usize + k * scalar_step as usize;
                    let zeros = [0; 8];
                    let from = at.map_or(&zeros[..bytes], |at| &before[at..at + bytes]);
                    read[in_array..][..bytes].copy_from_slice(from);
                    if let Some(at) = at {
                        written[at..at + bytes].copy_from_slice(&stored[in_array..][..bytes]);
                    }
                }
            }
            assert_eq!(array.bytes(), read, "load, {what}");
            array.bytes().copy_from_slice(&stored);
            // SAFETY: as above.
            unsafe {
                (isa.table().store_lanes)(&p, array.ptr(), memory.ptr(), where_, size, mask, start);
            }
            assert_eq!(memory.bytes(), written, "store, {what}");
        }
    }
}
