//! Loads and stores on every instruction set: all types, uses, orders, odd strides, buffers that end anywhere.

use crate::common::{Buffer, Matrix, Random, levels, same, truncate};
use phalanx_kernels::{Access, Elem, Isa, TileLayout, Use};

const SIZES: [(u32, u32); 12] = [
    (1, 1),
    (16, 16),
    (8, 8),
    (3, 5),
    (15, 17),
    (17, 15),
    (16, 8),
    (32, 32),
    (5, 64),
    (64, 5),
    (33, 18),
    (2, 130),
];

/// Where element (row, col) begins, if it lies in the buffer.
fn place(
    layout: &TileLayout,
    column_major: bool,
    (offset, stride, size): (u64, i64, u64),
    (row, col): (usize, usize),
) -> Option<usize> {
    let (line, at) = if column_major { (col, row) } else { (row, col) };
    let elem = layout.elem.bytes() as i128;
    let start = i128::from(offset.cast_signed()) + line as i128 * i128::from(stride) + at as i128 * elem;
    (start >= 0 && start + elem <= i128::from(size)).then_some(start as usize)
}

fn read(memory: &[u8], at: usize, elem: Elem) -> u64 {
    let mut bits = [0; 8];
    bits[..elem.bytes()].copy_from_slice(&memory[at..at + elem.bytes()]);
    u64::from_le_bytes(bits)
}

fn check_load(
    isa: Isa,
    layout: &TileLayout,
    column_major: bool,
    range: (u64, i64, u64),
    random: &mut Random,
) {
    let (offset, stride, size) = range;
    let mut memory = Buffer::misaligned(size as usize, 0, random.below(64) as usize);
    memory.bytes().fill_with(|| random.next() as u8);
    let mut tile = Buffer::new(layout.bytes(), 0xff);
    let access = Access::new(*layout, column_major);
    // SAFETY: tile and buffer are as large as said.
    unsafe { (isa.table().load)(&access, tile.ptr(), memory.ptr(), size, offset, stride) };
    let got = Matrix::from_tile(layout, &mut tile);
    let want = Matrix::from_fn(layout.elem, layout.rows, layout.cols, |row, col| {
        place(layout, column_major, range, (row, col)).map_or(0, |at| read(memory.bytes(), at, layout.elem))
    });
    got.assert_same(&want, &format!("load {isa} {layout:?} column_major {column_major} {range:?}"));
}

fn check_store(
    isa: Isa,
    layout: &TileLayout,
    column_major: bool,
    range: (u64, i64, u64),
    random: &mut Random,
) {
    let (offset, stride, size) = range;
    let matrix = Matrix::any(layout.elem, layout.rows, layout.cols, random);
    let mut tile = matrix.to_tile(layout);
    let mut memory = Buffer::misaligned(size as usize, 0, random.below(64) as usize);
    memory.bytes().fill_with(|| random.next() as u8);
    let mut want = memory.bytes().to_vec();
    let mut nan = vec![false; want.len()];
    for row in 0..matrix.rows {
        for col in 0..matrix.cols {
            if let Some(at) = place(layout, column_major, range, (row, col)) {
                let bytes = layout.elem.bytes();
                want[at..at + bytes].copy_from_slice(&matrix.at(row, col).to_le_bytes()[..bytes]);
                let is_nan =
                    layout.elem.is_float() && crate::common::float(layout.elem, matrix.at(row, col)).is_nan();
                nan[at..at + bytes].fill(is_nan);
            }
        }
    }
    let access = Access::new(*layout, column_major);
    // SAFETY: tile and buffer are as large as said.
    unsafe { (isa.table().store)(&access, tile.ptr(), memory.ptr(), size, offset, stride) };
    let what = format!("store {isa} {layout:?} column_major {column_major} {range:?}");
    for (at, (&got, &want)) in memory.bytes().iter().zip(&want).enumerate() {
        assert!(got == want || nan[at], "{what}: byte {at} is {got:#x}, expected {want:#x}");
    }
    // NaN may change its payload but stays NaN.
    for row in 0..matrix.rows {
        for col in 0..matrix.cols {
            if let Some(at) = place(layout, column_major, range, (row, col)).filter(|&at| nan[at]) {
                assert!(
                    same(layout.elem, read(memory.bytes(), at, layout.elem), matrix.at(row, col)),
                    "{what}"
                );
            }
        }
    }
}

/// Every type, use, order and size.
fn for_all(mut f: impl FnMut(Isa, &TileLayout, bool)) {
    for isa in levels() {
        for elem in Elem::ALL {
            for use_ in Use::ALL {
                for (rows, cols) in SIZES {
                    for column_major in [false, true] {
                        f(isa, &isa.layout(elem, use_, rows, cols), column_major);
                    }
                }
            }
        }
    }
}

fn lines(layout: &TileLayout, column_major: bool) -> (u64, u64) {
    let (rows, cols) = (u64::from(layout.rows), u64::from(layout.cols));
    let elem = layout.elem.bytes() as u64;
    if column_major { (cols, rows * elem) } else { (rows, cols * elem) }
}

#[test]
fn whole_matrices() {
    let mut random = Random(1);
    for_all(|isa, layout, column_major| {
        let (count, bytes) = lines(layout, column_major);
        for gap in [0, 1, 13] {
            let (offset, stride) = (random.below(9), bytes + gap);
            // The buffer ends with the last element: reading or writing on would hit the guard.
            let range = (offset, stride as i64, offset + (count - 1) * stride + bytes);
            check_load(isa, layout, column_major, range, &mut random);
            check_store(isa, layout, column_major, range, &mut random);
        }
    });
}

#[test]
fn one_line_for_all_and_backwards() {
    let mut random = Random(2);
    for_all(|isa, layout, column_major| {
        let (count, bytes) = lines(layout, column_major);
        check_load(isa, layout, column_major, (3, 0, bytes + 3), &mut random);
        let last = (count - 1) * (bytes + 2);
        let range = (last, -(bytes as i64 + 2), last + bytes);
        check_load(isa, layout, column_major, range, &mut random);
        check_store(isa, layout, column_major, range, &mut random);
    });
}

#[test]
fn partly_outside() {
    let mut random = Random(3);
    for_all(|isa, layout, column_major| {
        let (count, bytes) = lines(layout, column_major);
        let stride = bytes + random.below(5);
        let full = (count - 1) * stride + bytes;
        for _ in 0..2 {
            let size = random.below(full);
            let range = (random.below(12), stride as i64, size);
            check_load(isa, layout, column_major, range, &mut random);
            check_store(isa, layout, column_major, range, &mut random);
            let backwards = (random.below(full), -(stride as i64), size);
            check_load(isa, layout, column_major, backwards, &mut random);
            check_store(isa, layout, column_major, backwards, &mut random);
        }
    });
}

#[test]
fn wild_offsets_and_strides_touch_nothing() {
    let mut random = Random(4);
    for isa in levels() {
        for elem in Elem::ALL {
            for column_major in [false, true] {
                let layout = isa.layout(elem, Use::Accumulator, 16, 16);
                for offset in [1 << 40, 1 << 63, u64::MAX - 15, u64::MAX, u64::MAX - 999, 64] {
                    for stride in [i64::MAX, i64::MIN, 1 << 62, -(1 << 62), 1 << 32, -64] {
                        let range = (offset, stride, 100);
                        check_load(isa, &layout, column_major, range, &mut random);
                        check_store(isa, &layout, column_major, range, &mut random);
                    }
                }
            }
        }
    }
}

#[test]
fn every_small_float_survives() {
    for isa in levels() {
        for elem in [Elem::F16, Elem::BF16, Elem::E4M3, Elem::E5M2] {
            for use_ in Use::ALL {
                let count = 1_u32 << (8 * elem.bytes());
                let (rows, cols) = (count / 16, 16);
                let layout = isa.layout(elem, use_, rows, cols);
                let matrix =
                    Matrix::from_fn(elem, rows, cols, |row, col| truncate(elem, (row * 16 + col) as i128));
                let bytes = elem.bytes();
                let mut memory = Buffer::new(count as usize * bytes, 0);
                for (chunk, bits) in memory.bytes().chunks_mut(bytes).zip(&matrix.bits) {
                    chunk.copy_from_slice(&bits.to_le_bytes()[..bytes]);
                }
                let access = Access::new(layout, false);
                let mut tile = Buffer::new(layout.bytes(), 0xff);
                let (size, stride) = (count as u64 * bytes as u64, 16 * bytes as i64);
                // SAFETY: tile and buffer are as large as said.
                unsafe { (isa.table().load)(&access, tile.ptr(), memory.ptr(), size, 0, stride) };
                Matrix::from_tile(&layout, &mut tile).assert_same(&matrix, &format!("{isa} {layout:?}"));
                memory.bytes().fill(0);
                // SAFETY: tile and buffer are as large as said.
                unsafe { (isa.table().store)(&access, tile.ptr(), memory.ptr(), size, 0, stride) };
                for (chunk, &want) in memory.bytes().chunks(bytes).zip(&matrix.bits) {
                    let mut bits = [0; 8];
                    bits[..bytes].copy_from_slice(chunk);
                    assert!(same(elem, u64::from_le_bytes(bits), want), "{isa} {layout:?} {want:#x}");
                }
            }
        }
    }
}
