//! Adam, the optimiser of what is trained here: its kernel, and the same in f64.
//!
//! A state is three arrays of f32 behind each other: the numbers, the means of their slopes, the means of the squares.

use anyhow::{Result, ensure};

use super::gradient::Gradient;
use super::{values_of, words};
use crate::data::DType;
use crate::measure::{Kernel, Source};
use crate::reference::{Comparison, tolerance};

/// How much of both means stays in a step.
const MEAN: f64 = 0.9;
const SQUARE: f64 = 0.99;

/// What keeps a number still whose slope is nothing.
const EPSILON: f64 = 1e-8;

const INVOCATIONS: u32 = 64;

/// What is moved, and how fast.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Adam {
    pub(crate) numbers: u32,
    /// The first so many are a network's.
    pub(crate) network: u32,
    pub(crate) network_rate: f64,
    pub(crate) other_rate: f64,
    /// What makes the mean of a sum of slopes.
    pub(crate) scale: f64,
}

impl Adam {
    /// The kernel, with the state that it makes at a binding. The gradient is at binding 1, the state before at 2.
    pub(crate) fn kernel(&self, after: u32) -> Kernel {
        Kernel {
            name: "adam".to_owned(),
            tile: INVOCATIONS.to_string(),
            source: Source::Glsl(include_str!("../../shaders/adam.comp").to_owned()),
            definitions: vec![("AFTER", after.to_string())],
            constants: Vec::new(),
            subgroup_size: INVOCATIONS,
            groups: [self.numbers.div_ceil(INVOCATIONS), 1, 1],
            push_constants: self.push_constants(0, 1.0),
            then: None,
        }
    }

    /// What the kernel is told in a step, counted from 0; the rates are taken so many times.
    pub(crate) fn push_constants(&self, step: u32, pace: f64) -> Vec<u8> {
        let [mean_part, square_part] = parts(step);
        let floats = [
            pace * self.network_rate / mean_part,
            pace * self.other_rate / mean_part,
            self.scale,
            square_part,
        ];
        let mut bytes = words(&[self.numbers, self.network]);
        bytes.extend(floats.iter().flat_map(|&x| (x as f32).to_le_bytes()));
        bytes
    }

    /// Compares the state that the first step left with the numbers before it and their gradient.
    ///
    /// Means are those of a gradient whose factors were rounded to f16, so their errors are relative to the magnitudes that
    /// were added up, within eight roundings of that type ([`tolerance`]). What follows from the means is f32: squares and numbers
    /// are compared with those that the means found lead to, relative to themselves and to the rate.
    pub(crate) fn compare(&self, before: &[f64], gradient: &Gradient, state: &[u8]) -> Result<Comparison> {
        let found = values_of(DType::F32, state);
        let count = self.numbers as usize;
        ensure!(
            found.len() == 3 * count && before.len() == count && gradient.sums.len() == count,
            "a state of {} numbers, expected {}",
            found.len(),
            3 * count
        );
        let (numbers, rest) = found.split_at(count);
        let (means, squares) = rest.split_at(count);
        let (rough, fine) = (tolerance(DType::F16), tolerance(DType::F32));
        let mut max_rel_error = 0.0_f64;
        let mut worst = |error: f64, scale: f64, share: f64| {
            let relative = if error == 0.0 { 0.0 } else { share * error / scale };
            // NaN, where a number was expected, is the largest error of all.
            max_rel_error = max_rel_error.max(if relative.is_nan() { f64::INFINITY } else { relative });
        };
        for i in 0..count {
            let part = (1.0 - MEAN) * self.scale;
            worst((means[i] - part * gradient.sums[i]).abs(), part * gradient.magnitudes[i], 1.0);
            let slope = means[i] / (1.0 - MEAN);
            let square = (1.0 - SQUARE) * slope * slope;
            // f32 ends below 10⁻³⁸.
            worst((squares[i] - square).abs(), square.max(1e-37), rough / fine);
            let rate = if i < self.network as usize { self.network_rate } else { self.other_rate };
            let [mean_part, square_part] = parts(0);
            let moved = rate / mean_part * means[i] / ((squares[i] / square_part).sqrt() + EPSILON);
            worst((numbers[i] - (before[i] - moved)).abs(), rate + before[i].abs(), rough / fine);
        }
        Ok(Comparison { max_rel_error, tolerance: rough, ok: max_rel_error <= rough, psnr_db: None })
    }
}

/// The parts of the means that slopes make up by the end of a step; the rest are the zeros that they began with.
fn parts(step: u32) -> [f64; 2] {
    [MEAN, SQUARE].map(|kept| 1.0 - kept.powf(f64::from(step) + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::bytes_of;

    fn adam() -> Adam {
        Adam { numbers: 3, network: 2, network_rate: 0.01, other_rate: 0.1, scale: 0.5 }
    }

    #[test]
    fn the_first_step_is_the_rate_against_the_slope() {
        let gradient = Gradient { sums: vec![4.0, -2.0, 0.0], magnitudes: vec![4.0, 6.0, 0.0] };
        let before = [1.0, 1.0, 1.0];
        let right = [0.99, 1.01, 1.0, 0.2, -0.1, 0.0, 0.04, 0.01, 0.0];
        let verdict = |change: &dyn Fn(&mut [f64; 9])| {
            let mut state = right;
            change(&mut state);
            adam().compare(&before, &gradient, &bytes_of(DType::F32, state)).expect("as long as it must be")
        };
        assert!(verdict(&|_| {}).ok, "{:?}", verdict(&|_| {}));
        for wrong in 0..9 {
            assert!(!verdict(&|state| state[wrong] += 0.004).ok, "{wrong}");
        }
        assert!(!verdict(&|state| state[5] = f64::NAN).ok);
        assert!(adam().compare(&before, &gradient, &[0; 12]).is_err());
    }

    #[test]
    fn later_steps_know_that_the_means_began_at_zero() {
        let floats = |step| values_of(DType::F32, &adam().push_constants(step, 2.0)[8..]);
        assert!((floats(0)[0] - 0.2).abs() < 1e-6 && (floats(0)[3] - 0.01).abs() < 1e-6);
        assert!((floats(1000)[1] - 0.2).abs() < 1e-6 && (floats(1000)[3] - 1.0).abs() < 1e-4);
    }
}
