//! The independent result of D = A*B + C, in `f64`, and the comparison with it.
//!
//! Nothing here is shared with the device: elements are decoded from their definition and multiplied by a plain
//! blocked loop. A product of two elements of at most 24 significant bits is exact in `f64`, and so is a whole sum of
//! 8-bit products; the reference is therefore right to the last bits of an `f32`.
//!
//! **The error** of an element is |d - r|, divided by |a|·|b| + |c|: the length of the row of A times the length of
//! the column of B (the sum of the products of the magnitudes is never larger), plus the magnitude of C's element. An element
//! whose products cancel is thereby measured against what was added up, as the error analysis of sums does it. A single
//! lost product would show as about 1/K.
//!
//! **What is checked**: every element, as long as that takes at most [`MAX_PRODUCTS`] multiplications; above that, whole rows,
//! evenly spread, the first and the last one among them.

use std::ops::Range;
use std::thread;

use crate::data::{Array, DType};
use crate::progress::Interrupt;

/// About four seconds of two cores.
const MAX_PRODUCTS: usize = 10_000_000_000;

/// Even of the largest matrix so many rows are checked.
const MIN_ROWS: usize = 32;

/// How many columns are computed together: their sums stay in registers.
const PANEL_COLUMNS: usize = 8;

/// How many rows are computed together.
const STRIP_ROWS: usize = 4;

/// How much of K is worked through before the rest of it. Of A and B only so much is decoded at a time: a strip and a panel
/// stay in the first cache, and there is never a second copy of a whole matrix.
const K_BLOCK: usize = 256;

/// How many rows of A are decoded at a time, so that they stay in the second cache.
const BLOCK_ROWS: usize = 64;

/// The numbers of a multiplication, row-major: A is m x k, B is k x n, C is m x n.
#[derive(Debug)]
pub(crate) struct Operands<'a> {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a: &'a Array,
    pub(crate) b: &'a Array,
    pub(crate) c: &'a Array,
    /// Whether B lies column by column.
    pub(crate) is_b_column_major: bool,
}

/// The expected result, or the checked rows of it. It holds eight bytes for each checked element and little more.
#[derive(Debug)]
pub(crate) struct Reference {
    n: usize,
    c: DType,
    /// Which rows of the result are here.
    rows: Vec<usize>,
    /// The checked rows, one after the other.
    expected: Vec<f64>,
    /// The lengths of the checked rows of A.
    row_lengths: Vec<f64>,
    /// The lengths of the columns of B.
    column_lengths: Vec<f64>,
    /// Whether sums may have been truncated, and then those of floats of 8 bits to fewer digits than they have.
    is_truncated: bool,
    a: DType,
    k: usize,
}

/// The verdict on a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) max_rel_error: f64,
    pub(crate) tolerance: f64,
    pub(crate) ok: bool,
    /// How near the result is to what it stands for, where that is another question: the peak signal-to-noise ratio.
    pub(crate) psnr_db: Option<f64>,
}

/// The largest relative error that a right result may have.
///
/// | sums in | tolerance |
/// | --- | --- |
/// | f64 | 2⁻⁵⁰ |
/// | f32 | 2⁻²¹ = 4.8e-7 |
/// | f16 | 2⁻⁸ = 3.9e-3 |
/// | integers | 0: sums are exact, or wrap around exactly |
///
/// That is eight times the largest error of one rounding. When elements are random, the sum grows like √k and its roundings
/// add up like a random walk, so that the error relative to the lengths does not depend on K. Adding one product
/// after the other, each rounded, was seen to err by up to 3.2 such units over 65 536 elements, for K from 64
/// to 2048 and for f16 and f32 alike.
pub(crate) fn tolerance(c: DType) -> f64 {
    let significant_bits = match c {
        DType::F64 => 53,
        DType::F32 => 24,
        DType::F16 => 11,
        DType::Bf16 => 8,
        DType::E4m3 => 4,
        DType::E5m2 => 3,
        DType::S8
        | DType::S16
        | DType::S32
        | DType::S64
        | DType::U8
        | DType::U16
        | DType::U32
        | DType::U64 => {
            return 0.0;
        }
    };
    8.0 * f64::powi(2.0, -significant_bits)
}

/// The largest relative error of sums of floats of 8 bits that a matrix unit truncates as docs/ir.md allows, for elements that
/// are random.
///
/// Of a product, 2⁻¹³ of the largest product or sum of its group may be cut off. In a group of n that is near the group's
/// sum, which is |a|·|b| of the group by √n. K errors of that size add up like a random walk, and relative to |a|·|b|, K
/// times as large as a product, they are 2⁻¹³·√(n/K). Twice that is allowed. For K of 4096 a quarter of what is allowed was
/// seen, and nine times as much of sums without groups.
fn truncated_tolerance(k: usize) -> f64 {
    const GROUP: f64 = 128.0;
    2.0 * f64::powi(2.0, -13) * (GROUP / (k as f64).max(GROUP)).sqrt()
}

impl Reference {
    /// Computes the expected result on as many threads as there are cores; nothing if it was interrupted.
    pub(crate) fn new(operands: &Operands<'_>, interrupt: &Interrupt) -> Option<Self> {
        let &Operands { m, n, k, a, c, .. } = operands;
        let rows = checked_rows(m, MAX_PRODUCTS / (n * k).max(1));
        let mut expected = Vec::with_capacity(rows.len() * n);
        rows.iter().for_each(|&row| expected.extend(row_of(c, n, row, 0..n)));
        let row_lengths = rows.iter().map(|&row| squares(row_of(a, k, row, 0..k)).sqrt()).collect();
        let mut column_squares = vec![0.0; n];

        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = rows.len().div_ceil(threads).max(1);
        for start in (0..k).step_by(K_BLOCK) {
            if interrupt.is_set() {
                return None;
            }
            let steps = start..(start + K_BLOCK).min(k);
            let b = Panels::new(operands, steps.clone());
            b.add_squares(&mut column_squares);
            thread::scope(|scope| {
                for (sums, rows) in expected.chunks_mut((share * n).max(1)).zip(rows.chunks(share)) {
                    let (b, steps) = (&b, &steps);
                    scope.spawn(move || {
                        let blocks = sums.chunks_mut((BLOCK_ROWS * n).max(1)).zip(rows.chunks(BLOCK_ROWS));
                        for (sums, rows) in blocks {
                            let rows = rows.iter().flat_map(|&row| row_of(a, k, row, steps.clone()));
                            multiply(sums, &rows.collect::<Vec<f64>>(), b);
                        }
                    });
                }
            });
        }
        let column_lengths = column_squares.into_iter().map(f64::sqrt).collect();
        Some(Self {
            n,
            c: c.dtype,
            rows,
            expected,
            row_lengths,
            column_lengths,
            is_truncated: false,
            a: a.dtype,
            k,
        })
    }

    /// For sums that matrix units truncate, as those of NVIDIA do: a truncation errs by up to twice a rounding, and always to
    /// the same side. cuBLAS was seen to err by 2⁻²¹ for K of 4096.
    pub(crate) fn truncated(self, is_truncated: bool) -> Self {
        Self { is_truncated, ..self }
    }

    /// Compares D, given as C was; both row-major without gaps, and each by a function that reads the bytes of a row.
    pub(crate) fn compare<E>(
        &self,
        mut c: impl FnMut(Range<usize>) -> Result<Vec<u8>, E>,
        mut d: impl FnMut(Range<usize>) -> Result<Vec<u8>, E>,
    ) -> Result<Comparison, E> {
        let size = self.c.size_bytes();
        let tolerance = match (self.is_truncated, self.a) {
            (true, DType::E4m3 | DType::E5m2) => tolerance(self.c).max(truncated_tolerance(self.k)),
            (true, _) => 4.0 * tolerance(self.c),
            (false, _) => tolerance(self.c),
        };
        let decode = |bytes: &[u8]| -> Vec<f64> {
            bytes.chunks_exact(size).map(|element| self.c.value(self.c.read(element))).collect()
        };
        let mut max_rel_error = 0.0_f64;
        let expected = self.expected.chunks_exact(self.n.max(1));
        for ((&row, &row_length), expected) in self.rows.iter().zip(&self.row_lengths).zip(expected) {
            let bytes = row * self.n * size..(row + 1) * self.n * size;
            let (addends, found) = (decode(&c(bytes.clone())?), decode(&d(bytes)?));
            let elements = found.iter().zip(addends).zip(expected).zip(&self.column_lengths);
            for (((&found, addend), &expected), &column_length) in elements {
                let error = (found - wrap(self.c, expected)).abs();
                let scale = row_length * column_length + addend.abs();
                // A scale of zero means that every product is zero: then any error is too large.
                let relative = if error == 0.0 { 0.0 } else { error / scale };
                // NaN, where a number was expected, is the largest error of all.
                max_rel_error = max_rel_error.max(if relative.is_nan() { f64::INFINITY } else { relative });
            }
        }
        Ok(Comparison { max_rel_error, tolerance, ok: max_rel_error <= tolerance, psnr_db: None })
    }
}

/// Some values of a row of `columns` elements.
fn row_of(array: &Array, columns: usize, row: usize, part: Range<usize>) -> impl Iterator<Item = f64> {
    let (dtype, size) = (array.dtype, array.dtype.size_bytes());
    let bytes = &array.bytes[(row * columns + part.start) * size..(row * columns + part.end) * size];
    bytes.chunks_exact(size).map(move |element| dtype.value(dtype.read(element)))
}

fn squares(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum()
}

/// Integer sums wrap around.
fn wrap(dtype: DType, value: f64) -> f64 {
    if dtype.is_float() { value } else { dtype.value((value as i64).cast_unsigned()) }
}

/// All rows if they are few enough, otherwise evenly spread ones from the first to the last.
pub(crate) fn checked_rows(m: usize, affordable: usize) -> Vec<usize> {
    let count = m.min(affordable.max(MIN_ROWS));
    if count == m {
        return (0..m).collect();
    }
    (0..count).map(|index| index * (m - 1) / (count - 1)).collect()
}

/// Some rows of B in panels of [`PANEL_COLUMNS`] columns, each with its rows one after the other; the last one is padded with
/// zeros. Elements of A and B have at most 24 significant bits, so `f32` holds them exactly.
struct Panels {
    /// How many rows.
    steps: usize,
    n: usize,
    values: Vec<f32>,
}

impl Panels {
    fn new(operands: &Operands<'_>, rows: Range<usize>) -> Self {
        let &Operands { n, k, b, .. } = operands;
        let steps = rows.len();
        let mut values = vec![0.0; n.div_ceil(PANEL_COLUMNS) * PANEL_COLUMNS * steps];
        let mut set = |step: usize, column: usize, value: f64| {
            values[(column / PANEL_COLUMNS * steps + step) * PANEL_COLUMNS + column % PANEL_COLUMNS] =
                value as f32;
        };
        if operands.is_b_column_major {
            for column in 0..n {
                row_of(b, k, column, rows.clone())
                    .enumerate()
                    .for_each(|(step, value)| set(step, column, value));
            }
        } else {
            for (step, row) in rows.enumerate() {
                row_of(b, n, row, 0..n).enumerate().for_each(|(column, value)| set(step, column, value));
            }
        }
        Self { steps, n, values }
    }

    fn iter(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact((self.steps * PANEL_COLUMNS).max(1))
    }

    /// Adds the squares of each column's elements.
    fn add_squares(&self, sums: &mut [f64]) {
        for (sums, panel) in sums.chunks_mut(PANEL_COLUMNS).zip(self.iter()) {
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum += squares(panel.iter().skip(column).step_by(PANEL_COLUMNS).map(|&x| x.into()));
            }
        }
    }
}

/// Adds the product of some rows of A with B to their sums.
fn multiply(sums: &mut [f64], a: &[f64], b: &Panels) {
    let (steps, n) = (b.steps, b.n);
    for (index, panel) in b.iter().enumerate() {
        let columns = index * PANEL_COLUMNS..((index + 1) * PANEL_COLUMNS).min(n);
        for (sums, a) in sums.chunks_mut(STRIP_ROWS * n).zip(a.chunks(STRIP_ROWS * steps)) {
            let mut rows = [[0.0; PANEL_COLUMNS]; STRIP_ROWS];
            multiply_strip(&mut rows, a, steps, panel);
            for (sums, row) in sums.chunks_exact_mut(n).zip(&rows) {
                for (sum, value) in sums[columns.clone()].iter_mut().zip(row) {
                    *sum += value;
                }
            }
        }
    }
}

/// The inner loop: up to [`STRIP_ROWS`] rows of A times one panel.
fn multiply_strip(sums: &mut [[f64; PANEL_COLUMNS]; STRIP_ROWS], a: &[f64], steps: usize, panel: &[f32]) {
    // Missing rows repeat the last one; their sums are dropped.
    let count = a.len() / steps;
    let rows: [&[f64]; STRIP_ROWS] = std::array::from_fn(|row| &a[row.min(count - 1) * steps..][..steps]);
    for (step, b) in panel.chunks_exact(PANEL_COLUMNS).enumerate() {
        for (sums, row) in sums.iter_mut().zip(&rows) {
            let value = row[step];
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += value * f64::from(*b);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands(types: (DType, DType), m: usize, n: usize, k: usize) -> [Array; 3] {
        let random = |dtype, shape, seed| Array::random(dtype, shape, seed).expect("small");
        [random(types.0, vec![m, k], 1), random(types.0, vec![k, n], 2), random(types.1, vec![m, n], 3)]
    }

    fn reference_of(operands: &Operands<'_>) -> Reference {
        Reference::new(operands, &Interrupt::never()).expect("nobody interrupts")
    }

    /// The definition, element by element.
    fn naive(m: usize, n: usize, k: usize, [a, b, c]: &[Array; 3]) -> Vec<f64> {
        let (a, b, c): (Vec<f64>, Vec<f64>, Vec<f64>) =
            (a.values().collect(), b.values().collect(), c.values().collect());
        let element =
            |i: usize, j: usize| c[i * n + j] + (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum::<f64>();
        (0..m * n).map(|index| element(index / n, index % n)).collect()
    }

    fn compare(reference: &Reference, c: &Array, d: &[u8]) -> Comparison {
        let read = |bytes: &[u8], range| bytes.get(range).map(<[u8]>::to_vec).ok_or(());
        let short = Comparison { max_rel_error: f64::INFINITY, tolerance: 0.0, ok: false, psnr_db: None };
        reference.compare(|range| read(&c.bytes, range), |range| read(d, range)).unwrap_or(short)
    }

    fn encode(dtype: DType, values: &[f64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        values.iter().for_each(|&value| dtype.push(dtype.bits(value), &mut bytes));
        bytes
    }

    #[test]
    fn the_blocked_loop_computes_the_definition() {
        for (m, n, k) in [(1, 1, 1), (3, 5, 7), (4, 8, 256), (13, 17, 300), (64, 64, 64)] {
            let [a, b, c] = operands((DType::F16, DType::F32), m, n, k);
            let reference =
                reference_of(&Operands { m, n, k, a: &a, b: &b, c: &c, is_b_column_major: false });
            let expected = naive(m, n, k, &[a, b, c.clone()]);
            for (got, expected) in reference.expected.iter().zip(&expected) {
                assert!((got - expected).abs() < 1e-12, "{m} {n} {k}");
            }
            let verdict = compare(&reference, &c, &encode(DType::F32, &expected));
            assert!(verdict.ok && verdict.max_rel_error < 1e-7, "{verdict:?}");
        }
    }

    #[test]
    fn a_column_major_b_is_the_transpose() {
        let (m, n, k) = (4, 6, 10);
        let [a, b, c] = operands((DType::S8, DType::S32), m, n, k);
        let mut transposed = b.clone();
        for row in 0..k {
            for column in 0..n {
                transposed.bytes[column * k + row] = b.bytes[row * n + column];
            }
        }
        let reference = |b: &Array, is_b_column_major| {
            reference_of(&Operands { m, n, k, a: &a, b, c: &c, is_b_column_major }).expected
        };
        assert_eq!(reference(&b, false), reference(&transposed, true));
    }

    #[test]
    fn one_lost_product_is_found() {
        let (m, n, k) = (8, 8, 1024);
        for types in [(DType::F16, DType::F32), (DType::S8, DType::S32), (DType::E5m2, DType::F32)] {
            let [a, b, c] = operands(types, m, n, k);
            let reference =
                reference_of(&Operands { m, n, k, a: &a, b: &b, c: &c, is_b_column_major: false });
            let mut values = naive(m, n, k, &[a.clone(), b.clone(), c.clone()]);
            assert!(compare(&reference, &c, &encode(types.1, &values)).ok);
            let lost =
                a.values().nth(5 * k + 1000).expect("inside") * b.values().nth(1000 * n + 3).expect("inside");
            values[5 * n + 3] -= lost;
            let verdict = compare(&reference, &c, &encode(types.1, &values));
            assert!(!verdict.ok, "{types:?} {verdict:?} {lost}");
        }
    }

    /// Products that are cut off 13 bits below the largest of their group are right, those of all of K in one group are not.
    #[test]
    fn truncated_sums_are_right_in_groups() {
        let (m, n, k) = (8, 8, 4096);
        let [a, b, c] = operands((DType::E4m3, DType::F32), m, n, k);
        let (x, y, z): (Vec<f64>, Vec<f64>, Vec<f64>) =
            (a.values().collect(), b.values().collect(), c.values().collect());
        let cut = |x: f64, largest: f64| {
            let unit = f64::powi(2.0, largest.abs().log2().floor() as i32 - 13);
            if largest == 0.0 { x } else { (x / unit).trunc() * unit }
        };
        let truncated = |group: usize| -> Vec<f64> {
            let element = |i: usize, j: usize| {
                let products: Vec<f64> = (0..k).map(|l| x[i * k + l] * y[l * n + j]).collect();
                let sum = |products: &[f64]| {
                    products.chunks(32).fold(0.0, |sum, step| {
                        let terms = || step.iter().copied().chain([sum]);
                        let largest = terms().fold(0.0, |largest: f64, x| largest.max(x.abs()));
                        let sum = terms().map(|x| cut(x, largest)).sum::<f64>();
                        cut(sum, sum)
                    })
                };
                products.chunks(group).map(sum).fold(z[i * n + j], |sum, x| f64::from((sum + x) as f32))
            };
            (0..m * n).map(|index| element(index / n, index % n)).collect()
        };
        let reference = reference_of(&Operands { m, n, k, a: &a, b: &b, c: &c, is_b_column_major: false });
        let reference = reference.truncated(true);
        let verdict = |group| compare(&reference, &c, &encode(DType::F32, &truncated(group)));
        assert!(verdict(128).ok, "{:?}", verdict(128));
        assert!(!verdict(k).ok, "{:?}", verdict(k));
    }

    #[test]
    fn integer_sums_wrap_around() {
        let big = Array::from_bytes(DType::S32, vec![1, 1], i32::MAX.to_le_bytes().to_vec()).expect("fits");
        let one = Array::from_bytes(DType::S8, vec![1, 1], vec![1]).expect("fits");
        let operands = Operands { m: 1, n: 1, k: 1, a: &one, b: &one, c: &big, is_b_column_major: false };
        assert!(compare(&reference_of(&operands), &big, &i32::MIN.to_le_bytes()).ok);
        let big = Array::from_bytes(DType::U32, vec![1, 1], u32::MAX.to_le_bytes().to_vec()).expect("fits");
        let operands = Operands { c: &big, ..operands };
        assert!(compare(&reference_of(&operands), &big, &[0; 4]).ok);
    }

    #[test]
    fn a_result_that_is_no_number_or_too_short_is_wrong() {
        let [a, b, c] = operands((DType::F32, DType::F32), 4, 4, 4);
        let reference =
            reference_of(&Operands { m: 4, n: 4, k: 4, a: &a, b: &b, c: &c, is_b_column_major: false });
        assert!(!compare(&reference, &c, &encode(DType::F32, &[f64::NAN; 16])).ok);
        assert!(!compare(&reference, &c, &[0; 60]).ok);
    }

    #[test]
    fn the_rows_of_a_large_matrix_are_spread_from_first_to_last() {
        assert_eq!(checked_rows(5, 100), [0, 1, 2, 3, 4]);
        let rows = checked_rows(4096, 64);
        assert_eq!((rows.len(), rows[0], rows[63]), (64, 0, 4095));
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
