//! Rows of numbers in plain subgroup code, where nothing but memory should bound: softmax, RMS norm, sums, prefix sums; and
//! sorting, where comparisons do.
//!
//! What counts is the bytes that are read and written once, and the peak is the speed at which memory of the input's size is
//! read. Results are compared with plain loops in f64.

use std::ops::Range;

use anyhow::{Result, bail, ensure};

use super::{Purpose, SUBGROUP_SIZE, Source, values_of, words};
use crate::args::workload::{RowsArgs, RowsForm};
use crate::data::{Array, DType};
use crate::measure::{Constant, Kernel, Peak, Problem, Subject, Watch, Workload, upload, with_includes};
use crate::reference::Comparison;
use crate::runtime::{Buffer, Device};

/// Numbers that a vector has.
const VECTOR: usize = 4;

/// The longest row that is sorted: what shared memory holds.
const LONGEST_SORTED: u32 = 8192;

/// Numbers of a row to sort that an invocation holds at a time.
const SORTED_EACH: u32 = 8;

/// Invocations that sort a row at most.
const SORTERS: u32 = 256;

/// The largest difference from the f64 result that a right one has, in parts of the largest number of the row's result, or of a
/// sum's row.
/// Exponentials may err by `3 + 2·|x|` units in the last place, and sums of some thousand numbers by a few tens.
const TOLERANCE: f64 = 2e-5;

impl RowsForm {
    fn name(self) -> &'static str {
        match self {
            Self::Softmax => "softmax",
            Self::RmsNorm => "rms-norm",
            Self::Sum => "sum",
            Self::PrefixSum => "prefix-sum",
            Self::Sort => "sort",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::Softmax => include_str!("../../shaders/rows/softmax.comp"),
            Self::RmsNorm => include_str!("../../shaders/rows/rms-norm.comp"),
            Self::Sum => include_str!("../../shaders/rows/sum.comp"),
            Self::PrefixSum => include_str!("../../shaders/rows/prefix-sum.comp"),
            Self::Sort => include_str!("../../shaders/rows/sort.comp"),
        }
    }

    /// Numbers of a row's result.
    fn results(self, length: usize) -> usize {
        match self {
            Self::Softmax | Self::RmsNorm | Self::PrefixSum | Self::Sort => length,
            Self::Sum => VECTOR,
        }
    }

    /// What becomes of a row.
    fn apply(self, row: &[f64]) -> Vec<f64> {
        match self {
            Self::Softmax => {
                let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let powers: Vec<f64> = row.iter().map(|x| (x - most).exp()).collect();
                let sum: f64 = powers.iter().sum();
                powers.iter().map(|power| power / sum).collect()
            }
            Self::RmsNorm => {
                let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
                row.iter().map(|x| x / (mean + 1e-6).sqrt()).collect()
            }
            Self::Sum => vec![row.iter().sum(), 0.0, 0.0, 0.0],
            Self::PrefixSum => row
                .iter()
                .scan(0.0, |sum, x| {
                    *sum += x;
                    Some(*sum)
                })
                .collect(),
            Self::Sort => {
                let mut sorted = row.to_vec();
                sorted.sort_by(f64::total_cmp);
                sorted
            }
        }
    }
}

/// One operation on all rows.
#[derive(Debug)]
struct Rows {
    count: u32,
    length: u32,
    form: RowsForm,
    kernels: Vec<Kernel>,
}

/// What the user asked for.
pub(crate) fn all(args: &RowsArgs, purpose: Purpose) -> Result<Vec<Box<dyn Workload>>> {
    let [count, length] = args.shape.unwrap_or_else(|| purpose.choose([100, 1000], [4096, 8192]));
    let mut workloads: Vec<Box<dyn Workload>> = Vec::new();
    for &form in &args.kernels {
        workloads.push(Box::new(Rows::new(count, length, form)?));
    }
    Ok(workloads)
}

impl Rows {
    fn new(count: u32, length: u32, form: RowsForm) -> Result<Self> {
        ensure!(count > 0 && length > 0, "there must be rows, and numbers in them");
        ensure!(length.is_multiple_of(VECTOR as u32), "rows must be multiples of {VECTOR} long");
        let row = include_str!("../../shaders/rows/row.glsl");
        let (tile, constants) = match form {
            RowsForm::Sort => {
                ensure!(length <= LONGEST_SORTED, "rows to sort must be at most {LONGEST_SORTED} long");
                let padded = length.next_power_of_two().max(SORTED_EACH * SUBGROUP_SIZE);
                (format!("1x{padded}"), vec![(padded / SORTED_EACH).min(SORTERS), padded, length])
            }
            _ => (format!("1x{}", VECTOR as u32 * SUBGROUP_SIZE), Vec::new()),
        };
        let kernel = Kernel {
            name: form.name().to_owned(),
            tile,
            source: Source::Glsl(with_includes(form.source(), &[("row.glsl", row)])),
            definitions: Vec::new(),
            constants: (0..).zip(constants.into_iter().map(Constant::U32)).collect(),
            subgroup_size: SUBGROUP_SIZE,
            groups: [count, 1, 1],
            push_constants: if form == RowsForm::Sort { Vec::new() } else { words(&[length]) },
            then: None,
        };
        Ok(Self { count, length, form, kernels: vec![kernel] })
    }

    fn input_bytes(&self) -> usize {
        self.count as usize * self.length as usize * DType::F32.size_bytes()
    }

    fn result_bytes(&self) -> usize {
        self.count as usize * self.form.results(self.length as usize) * DType::F32.size_bytes()
    }
}

impl Workload for Rows {
    fn subject(&self) -> Subject {
        let &Self { count, length, .. } = self;
        Subject {
            workload: "rows",
            problem: format!("{count} rows of {length}, bytes read and written"),
            a: DType::F32,
            c: DType::F32,
            size: [count, 1, length],
            operations: (self.input_bytes() + self.result_bytes()) as f64,
            peak: Peak::Read(self.input_bytes()),
        }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    fn buffer_bytes(&self) -> u64 {
        (self.input_bytes() + self.result_bytes()) as u64
    }

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let (count, length, form) = (self.count as usize, self.length as usize, self.form);
        let input = Array::random(DType::F32, vec![count, length], 1)?.bytes;
        if watch.interrupt.is_set() {
            return Ok(None);
        }
        let rows = input.clone();
        let result = device.create_buffer(self.result_bytes())?;
        let buffers = vec![upload(device, input)?, result];
        let (row_bytes, result_bytes) = (4 * length, 4 * form.results(length));
        let check = move |buffers: &[Buffer]| {
            let [_, result] = buffers else { bail!("an operation on rows has two buffers") };
            let mut worst = 0.0_f64;
            // At most so many rows, evenly spread.
            for row in (0..count).step_by(count.div_ceil(1024)) {
                let at = |bytes: usize| -> Range<usize> { row * bytes..(row + 1) * bytes };
                let numbers = values_of(DType::F32, &rows[at(row_bytes)]);
                let expected = form.apply(&numbers);
                let found = values_of(DType::F32, &result.read(at(result_bytes))?);
                // A sum may cancel: what it errs by is measured against what was added up.
                let added = numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
                let least = if form == RowsForm::Sum { added } else { f64::MIN_POSITIVE };
                let largest = expected.iter().fold(least, |most: f64, x| most.max(x.abs()));
                for (x, y) in found.iter().zip(&expected) {
                    let error = (x - y).abs() / largest;
                    worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
                }
            }
            Ok(Comparison {
                max_rel_error: worst,
                tolerance: TOLERANCE,
                ok: worst <= TOLERANCE,
                psnr_db: None,
            })
        };
        Ok(Some(Problem::new(buffers, check)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{assert_right, assert_right_everywhere};

    #[test]
    fn rows_are_right_whatever_their_length() {
        let forms =
            [RowsForm::Softmax, RowsForm::RmsNorm, RowsForm::Sum, RowsForm::PrefixSum, RowsForm::Sort];
        for form in forms {
            let rows = |count, length| Rows::new(count, length, form).expect("a good size");
            assert_right(&rows(3, 512));
            assert_right(&rows(2, 1100));
            assert_right_everywhere(&rows(2, 132));
        }
        assert!(Rows::new(1, 6, RowsForm::Sum).is_err());
        assert!(Rows::new(1, LONGEST_SORTED + 4, RowsForm::Sort).is_err());
    }
}
