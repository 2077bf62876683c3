//! Matrices that the vectors of invocations are multiplied by (SPV_NV_cooperative_vector).
//!
//! A vector is a variable of an invocation, with an element for each component. A matrix is in memory, in a layout
//! whose places this file states once: for the targets, for conversions between layouts, and for whoever explains them.

use crate::entities::Var;
use crate::types::Scalar;

/// What the components of a vector, a matrix or a bias are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// The upper half of a binary32.
    Bf16,
    /// 8-bit float, 4 exponent and 3 mantissa bits.
    E4m3,
    /// 8-bit float, 5 exponent and 2 mantissa bits.
    E5m2,
    /// Signed 8-bit integer.
    S8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 32-bit integer.
    S32,
    /// Unsigned 32-bit integer.
    U32,
}

impl Component {
    /// Every component type, in declaration order.
    pub const ALL: [Self; 9] =
        [Self::F16, Self::F32, Self::Bf16, Self::E4m3, Self::E5m2, Self::S8, Self::U8, Self::S32, Self::U32];

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::E4m3 => "e4m3",
            Self::E5m2 => "e5m2",
            Self::S8 => "s8",
            Self::U8 => "u8",
            Self::S32 => "s32",
            Self::U32 => "u32",
        }
    }

    /// The scalar that holds one.
    pub const fn scalar(self) -> Scalar {
        match self {
            Self::F16 => Scalar::F16,
            Self::F32 => Scalar::F32,
            Self::Bf16 => Scalar::BF16,
            Self::E4m3 => Scalar::E4M3,
            Self::E5m2 => Scalar::E5M2,
            Self::S8 | Self::U8 => Scalar::I8,
            Self::S32 | Self::U32 => Scalar::I32,
        }
    }

    /// Whether it is an integer with a sign.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S32)
    }

    /// Whether it is a float.
    pub const fn is_float(self) -> bool {
        self.scalar().is_float()
    }
}

/// How the elements of a matrix lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MatrixLayout {
    /// Row by row, a stride apart.
    RowMajor,
    /// Column by column, a stride apart.
    ColumnMajor,
    /// The one that is best for multiplying (*InferencingOptimal*), where a target has no other: rows of words that the
    /// multiplication takes as they are, floats as binary32.
    Inferencing,
    /// What that is on targets that multiply the vectors of a warp by matrix units (the pass `lay` says so): two rows
    /// after the other by turns of 64 bytes, floats of up to 16 bits as binary16 (but *bf16*, which is none of those).
    ///
    /// ```text
    /// row 0, bytes 0 … 63 | row 1, bytes 0 … 63 | row 0, bytes 64 … 127 | row 1, bytes 64 … 127 | …
    /// row 2, bytes 0 … 63 | …
    /// ```
    ///
    /// A quarter of a warp reads 16 bytes with each thread, four of each row, which is then a line of the cache. Rows
    /// end at multiples of 64 bytes, and there are as many as a step along K has columns, so that none is outside.
    Paired,
    /// The one that is best for adding to (*TrainingOptimal*): rows of the component type itself, so that a program
    /// may treat all of the matrix as an array of components.
    Training,
}

impl MatrixLayout {
    /// Every layout, in declaration order.
    pub const ALL: [Self; 5] =
        [Self::RowMajor, Self::ColumnMajor, Self::Inferencing, Self::Paired, Self::Training];

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RowMajor => "row_major",
            Self::ColumnMajor => "column_major",
            Self::Inferencing => "inferencing",
            Self::Paired => "paired",
            Self::Training => "training",
        }
    }

    /// Whether the layout is the implementation's, and its stride with it.
    pub const fn is_optimal(self) -> bool {
        matches!(self, Self::Inferencing | Self::Paired | Self::Training)
    }

    /// Whether sums may be added to a matrix.
    pub const fn is_for_sums(self) -> bool {
        !matches!(self, Self::Inferencing | Self::Paired)
    }

    /// The scalar that an element is kept as.
    pub const fn kept(self, component: Component) -> Scalar {
        match self {
            Self::Inferencing if component.is_float() => Scalar::F32,
            Self::Paired if matches!(component, Component::E4m3 | Component::E5m2) => Scalar::F16,
            _ => component.scalar(),
        }
    }

    /// The bytes from a row to the next (from a column to the next in column-major); `given` is the stride that a
    /// program names, which optimal layouts take no notice of. Of pairs of rows, half the bytes from one to the next.
    ///
    /// Rows begin at multiples of 16 bytes, and not at multiples of 512: rows that are read side by side would
    /// contend for few places of the cache.
    pub const fn stride(self, component: Component, columns: u32, given: u64) -> u64 {
        match self {
            Self::RowMajor | Self::ColumnMajor => given,
            Self::Inferencing | Self::Training => {
                let row = columns as u64 * self.kept(component).bytes() as u64;
                let stride = row.next_multiple_of(16);
                if stride.is_multiple_of(512) { stride + 64 } else { stride }
            }
            Self::Paired => (columns as u64 * self.kept(component).bytes() as u64).next_multiple_of(TURN),
        }
    }

    /// The bytes from an element to the next in its row, and in its column; none where they are not the same for all.
    pub const fn steps(self, component: Component, columns: u32, given: u64) -> Option<(u64, u64)> {
        let (element, stride) = (self.kept(component).bytes() as u64, self.stride(component, columns, given));
        match self {
            Self::ColumnMajor => Some((stride, element)),
            Self::RowMajor | Self::Inferencing | Self::Training => Some((element, stride)),
            Self::Paired => None,
        }
    }

    /// The byte that an element begins at, modulo 2^64.
    pub const fn offset(
        self,
        component: Component,
        columns: u32,
        given: u64,
        (row, column): (u32, u32),
    ) -> u64 {
        let (row, column) = (row as u64, column as u64);
        match self.steps(component, columns, given) {
            Some((along_row, along_column)) => {
                row.wrapping_mul(along_column).wrapping_add(column.wrapping_mul(along_row))
            }
            None => {
                let byte = column * self.kept(component).bytes() as u64;
                paired(self.stride(component, columns, given), row, byte)
            }
        }
    }

    /// The bytes that a matrix takes: a multiple of 64 for the optimal layouts, otherwise to the end of the last
    /// element. `None` where that is beyond 64 bits.
    pub fn bytes(self, component: Component, rows: u32, columns: u32, given: u64) -> Option<u64> {
        let (lines, length) = match self {
            Self::ColumnMajor => (columns, rows),
            // As many as a step of a fragment along K has columns.
            Self::Paired => (rows.checked_next_multiple_of(32 / self.kept(component).bytes())?, columns),
            Self::RowMajor | Self::Inferencing | Self::Training => (rows, columns),
        };
        let stride = self.stride(component, columns, given);
        if self.is_optimal() {
            return stride.checked_mul(lines.into())?.checked_next_multiple_of(64);
        }
        let Some(before) = lines.checked_sub(1) else { return Some(0) };
        let line = u64::from(length) * u64::from(component.scalar().bytes());
        stride.checked_mul(before.into())?.checked_add(line)
    }
}

/// Bytes of a row that are side by side where two take turns ([`MatrixLayout::Paired`]).
pub const TURN: u64 = 64;

/// Where a byte of a row is, in [`MatrixLayout::Paired`] with rows of so many bytes.
pub const fn paired(stride: u64, row: u64, byte: u64) -> u64 {
    row / 2 * (2 * stride) + byte / TURN * (2 * TURN) + row % 2 * TURN + byte % TURN
}

/// The product of a matrix and a vector (*OpCooperativeVectorMatrixMulNV*, *…MulAddNV*). See
/// [`Op::VecMatMul`](crate::op::Op::VecMatMul).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VecMatMul {
    /// Receives the result: a variable of `m` elements, of `f16`, `f32` or `i32`.
    pub result: Var,
    /// The vector: a variable of `k` numbers, or of 32-bit words that hold four of them each.
    pub input: Var,
    /// Rows of the matrix.
    pub m: u32,
    /// Columns of the matrix.
    pub k: u32,
    /// What the vector's elements become before they are multiplied.
    pub interpretation: Component,
    /// Whether a word of the input holds four numbers, the first in its lowest byte; then they are taken as they are.
    pub packed: bool,
    /// Whether the vector's elements have a sign, if they are integers.
    pub input_signed: bool,
    /// What the matrix' elements are.
    pub matrix: Component,
    /// Where they lie.
    pub layout: MatrixLayout,
    /// Whether the matrix in memory is the transpose, of `k` rows and `m` columns.
    pub transposed: bool,
    /// What the elements of the bias are, if there is one.
    pub bias: Option<Component>,
}

impl VecMatMul {
    /// Rows and columns of the matrix in memory.
    pub const fn stored_shape(&self) -> (u32, u32) {
        if self.transposed { (self.k, self.m) } else { (self.m, self.k) }
    }

    /// The bytes from the element that one number of the vector is multiplied by to that of the next, and from an
    /// element of a row of the result to that of the next row; none where they are not the same for all.
    pub const fn steps(&self, given: u64) -> Option<(u64, u64)> {
        let (_, columns) = self.stored_shape();
        match self.layout.steps(self.matrix, columns, given) {
            Some((along_row, along_column)) if self.transposed => Some((along_column, along_row)),
            steps => steps,
        }
    }

    /// The byte that the element begins at which number `k` of the vector is multiplied by for a row of the result.
    pub const fn offset(&self, given: u64, row: u32, k: u32) -> u64 {
        let place = if self.transposed { (k, row) } else { (row, k) };
        self.layout.offset(self.matrix, self.stored_shape().1, given, place)
    }
}

/// The outer product of two vectors, added to a matrix in memory (*OpCooperativeVectorOuterProductAccumulateNV*). See
/// [`Op::VecOuterAdd`](crate::op::Op::VecOuterAdd).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VecOuterAdd {
    /// The vector with an element for each row: a variable of `f16` or `f32`.
    pub a: Var,
    /// The vector with an element for each column: a variable of `f16` or `f32`.
    pub b: Var,
    /// What the matrix' elements are: `f16` or `f32`.
    pub matrix: Component,
    /// Where they lie. [One that sums may be added to](MatrixLayout::is_for_sums).
    pub layout: MatrixLayout,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_optimal_layouts_begin_where_vectors_do_and_spread_over_the_cache() {
        let stride = |layout: MatrixLayout, component, columns| layout.stride(component, columns, 7);
        assert_eq!(stride(MatrixLayout::Training, Component::F16, 1), 16);
        assert_eq!(stride(MatrixLayout::Training, Component::F16, 9), 32);
        assert_eq!(stride(MatrixLayout::Inferencing, Component::E4m3, 64), 256);
        assert_eq!(stride(MatrixLayout::Inferencing, Component::F16, 128), 576);
        assert_eq!(stride(MatrixLayout::Inferencing, Component::S8, 1024), 1088);
        assert_eq!(stride(MatrixLayout::RowMajor, Component::F16, 128), 7);
    }

    #[test]
    fn sizes_end_with_the_last_element_or_a_line_of_the_cache() {
        assert_eq!(MatrixLayout::RowMajor.bytes(Component::F16, 3, 5, 32), Some(74));
        assert_eq!(MatrixLayout::ColumnMajor.bytes(Component::F16, 3, 5, 32), Some(134));
        assert_eq!(MatrixLayout::Training.bytes(Component::F16, 3, 5, 0), Some(64));
        assert_eq!(MatrixLayout::Inferencing.bytes(Component::U8, 1, 1, 0), Some(64));
        assert_eq!(MatrixLayout::RowMajor.bytes(Component::F32, 0, 5, 32), Some(0));
        assert_eq!(MatrixLayout::RowMajor.bytes(Component::F32, 3, 5, u64::MAX), None);
    }

    #[test]
    fn a_transposed_matrix_is_stepped_through_the_other_way() {
        let var = Var::new(0);
        let op = VecMatMul {
            result: var,
            input: var,
            m: 8,
            k: 40,
            interpretation: Component::F16,
            packed: false,
            input_signed: false,
            matrix: Component::F16,
            layout: MatrixLayout::Training,
            transposed: false,
            bias: None,
        };
        assert_eq!(op.steps(1), Some((2, 80)));
        assert_eq!(VecMatMul { transposed: true, ..op }.steps(1), Some((16, 2)));
        assert_eq!(VecMatMul { layout: MatrixLayout::ColumnMajor, ..op }.steps(100), Some((100, 2)));
        let transposed = VecMatMul { transposed: true, layout: MatrixLayout::Paired, ..op };
        // Column 3 of row 5, of rows of 64 bytes.
        assert_eq!((transposed.steps(1), transposed.offset(1, 3, 5)), (None, 2 * 128 + 64 + 6));
    }

    #[test]
    fn each_element_has_a_place_of_its_own_inside_of_the_matrix() {
        for layout in MatrixLayout::ALL {
            for component in Component::ALL {
                let element = u64::from(layout.kept(component).bytes());
                for (rows, columns) in [(1, 1), (2, 3), (7, 33), (33, 65), (64, 64), (130, 17)] {
                    let given = element * u64::from(rows.max(columns));
                    let bytes = layout.bytes(component, rows, columns, given).unwrap();
                    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
                    let mut places: Vec<u64> =
                        places.map(|place| layout.offset(component, columns, given, place)).collect();
                    places.sort_unstable();
                    assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= element), "{layout:?}");
                    assert!(places.last().unwrap() + element <= bytes, "{layout:?} {component:?}");
                }
            }
        }
    }

    #[test]
    fn two_rows_take_turns_of_a_line_of_the_cache() {
        let at = |place| MatrixLayout::Paired.offset(Component::F16, 40, 0, place);
        assert_eq!([(0, 0), (0, 31), (0, 32), (1, 0), (1, 39), (2, 0)].map(at), [0, 62, 128, 64, 206, 256]);
        assert_eq!(MatrixLayout::Paired.bytes(Component::F16, 17, 40, 0), Some(32 * 128));
        assert_eq!(MatrixLayout::Paired.bytes(Component::S8, 17, 65, 0), Some(32 * 128));
        assert_eq!(MatrixLayout::Paired.kept(Component::E5m2), Scalar::F16);
    }
}
