//! Rotations on every instruction set against a loop over the elements.

use crate::common::{Buffer, Matrix, Random, levels};
use phalanx_kernels::{Elem, ElementParams, Use};

/// Rows and columns: single elements, lines of them, whole vectors, interleaved groups that are full and that are not.
const SIZES: [(u32, u32); 8] = [(1, 1), (1, 9), (7, 1), (3, 5), (8, 8), (16, 16), (17, 15), (5, 70)];

#[test]
fn rotations() {
    let mut random = Random(31);
    for isa in levels() {
        for elem in Elem::ALL {
            for use_ in Use::ALL {
                for (rows, cols) in SIZES {
                    let layout = isa.layout(elem, use_, rows, cols);
                    let p = ElementParams::new(layout);
                    // Values that survive widening: NaN have many forms.
                    let mut any = || Matrix::from_fn(elem, rows, cols, |_, _| random.below(0x38));
                    let (first, second) = (any(), any());
                    let (mut a, mut b) = (first.to_tile(&layout), second.to_tile(&layout));
                    let (len, row) = ((rows * cols) as i32, cols as i32);
                    let inside = random.below(len as u64) as i32;
                    let offsets = [0, 1, row - 1, row, row + 1, 2 * row, 4 * row, inside, len - row, len - 1];
                    for offset in offsets.into_iter().chain([len, len + 1, -1, i32::MAX, i32::MIN]) {
                        let mut r = Buffer::new(layout.bytes(), 0x11);
                        // SAFETY: all tiles are of the layout.
                        unsafe { (isa.table().rotate)(&p, r.ptr(), a.ptr(), b.ptr(), offset) };
                        let from = offset.clamp(0, len) as usize;
                        let both = [first.bits.as_slice(), &second.bits].concat();
                        let want = Matrix { bits: both[from..][..len as usize].to_vec(), ..first.clone() };
                        let what = format!("{isa} {layout:?} from {offset}");
                        Matrix::from_tile(&layout, &mut r).assert_same(&want, &what);
                    }
                }
            }
        }
    }
}
