//! How a kernel is timed: dispatches in spells, with a measurement of the peak before and after each, and a spell of another
//! library between two of them where one is compared with.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;

use super::{Kernel, Problem, Subject};
use crate::progress::Interrupt;
use crate::record::Record;
use crate::runtime::{Binding, Buffer, Device, Dispatch, Pipeline};
use crate::versus::Rival;

/// How long is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effort {
    /// Timed dispatches go on until both are reached …
    min_dispatches: usize,
    min_time: Duration,
    /// … or one of these is.
    max_dispatches: usize,
    max_time: Duration,
    /// After so much of it the peak is measured.
    spell: Duration,
    /// Whether of kernels that differ in nothing but their tile only those are measured so that may be the best, after one
    /// spell of each.
    pub(super) is_for_the_best: bool,
}

impl Effort {
    /// For figures.
    pub(crate) const FULL: Self = Self {
        min_dispatches: 5,
        min_time: Duration::from_millis(400),
        max_dispatches: 1000,
        max_time: Duration::from_secs(3),
        spell: Duration::from_millis(40),
        is_for_the_best: false,
    };

    /// For figures of the best tile; the first glance has shown which kernels are slow.
    pub(crate) const BEST: Self = Self { is_for_the_best: true, min_dispatches: 3, ..Self::FULL };

    /// One spell.
    pub(super) const GLANCE: Self =
        Self { min_dispatches: 1, min_time: Self::FULL.spell, is_for_the_best: false, ..Self::FULL };

    /// To see that all works.
    pub(crate) const QUICK: Self = Self {
        min_dispatches: 1,
        min_time: Duration::ZERO,
        max_dispatches: 2,
        max_time: Duration::from_millis(100),
        spell: Duration::ZERO,
        is_for_the_best: false,
    };
}

/// What is measured beside a kernel.
pub(crate) struct Beside<'a, 'lib> {
    /// What the machine can do, in 10⁹ operations a second.
    pub(crate) peak: &'a dyn Fn() -> f64,
    pub(crate) rival: Option<&'a mut Rival<'lib>>,
    pub(crate) effort: Effort,
}

/// No kernel takes longer; one that does is stuck.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What the result holds before a kernel writes it: NaN in every floating-point type.
const PATTERN: u8 = 0xff;

/// Bytes of it that are written at a time.
const PIECE: usize = 1 << 20;

/// What a kernel did on a problem.
#[derive(Debug)]
pub(super) struct Timing {
    seconds: f64,
    /// What the machine could do then, in 10⁹ operations a second.
    peak_gflops: f64,
    max_rel_error: f64,
    is_ok: bool,
    psnr_db: Option<f64>,
    compile_time: Duration,
    versus: Option<Versus>,
}

/// What another library did beside a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Versus {
    /// That it took.
    pub(crate) seconds: f64,
    /// How many times as fast the kernel was.
    pub(crate) ratio: f64,
}

/// A few dispatches, one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spell {
    /// That one of them took.
    pub(crate) seconds: f64,
    /// What the machine could do then, in 10⁹ operations a second.
    pub(crate) peak_gflops: f64,
}

/// The one whose share of the peak is in the middle.
fn middle(mut spells: Vec<Spell>) -> Option<Spell> {
    // Time times peak: the inverse of the share.
    spells.sort_by(|x, y| (x.seconds * x.peak_gflops).total_cmp(&(y.seconds * y.peak_gflops)));
    spells.get(spells.len() / 2).copied()
}

/// The middle ratio, and the middle time of the other library.
fn middle_versus(spells: &[(f64, f64)]) -> Option<Versus> {
    let middle = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let mut numbers: Vec<f64> = spells.iter().map(of).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.get(numbers.len() / 2).copied()
    };
    let (seconds, ratio) = (middle(&|(_, rival)| *rival)?, middle(&|(own, rival)| rival / own)?);
    Some(Versus { seconds, ratio })
}

/// Times dispatches, each of which tells how long it took, or nothing if it was interrupted. The first one has been done,
/// after the peak was measured.
pub(crate) fn time(
    warm_up: Duration,
    mut before: f64,
    mut dispatch: impl FnMut() -> Result<Option<Duration>>,
    beside: &mut Beside<'_, '_>,
) -> Result<Option<(Spell, Option<Versus>)>> {
    let &mut Beside { peak, ref mut rival, effort } = beside;
    let (mut spells, mut compared) = (Vec::new(), Vec::new());
    let (mut total, mut count) = (warm_up, 0);
    let is_enough = |total, count| {
        count >= effort.max_dispatches
            || total >= effort.max_time
            || count >= effort.min_dispatches && total >= effort.min_time
    };
    while !is_enough(total, count) {
        let (mut time, mut dispatches) = (Duration::ZERO, 0);
        while dispatches == 0 || time < effort.spell && !is_enough(total, count) {
            let Some(elapsed) = dispatch()? else { return Ok(None) };
            time += elapsed;
            dispatches += 1;
            total += elapsed;
            count += 1;
        }
        let after = peak();
        let seconds = time.as_secs_f64() / f64::from(dispatches);
        spells.push(Spell { seconds, peak_gflops: (before + after) / 2.0 });
        before = after;
        if let Some(rival) = rival {
            compared.push((seconds, rival.spell(effort.spell)?));
            before = peak();
        }
    }
    // A slow kernel is not run again only to be warm: its first dispatch is as good as any.
    let first_only = || Spell { seconds: warm_up.as_secs_f64(), peak_gflops: (before + peak()) / 2.0 };
    Ok(Some((middle(spells).unwrap_or_else(first_only), middle_versus(&compared))))
}

impl Problem {
    /// Runs, checks and times a kernel; nothing if it was interrupted.
    pub(super) fn time(
        &self,
        device: &Device,
        pipelines: &[Pipeline],
        kernel: &Kernel,
        interrupt: &Interrupt,
        beside: &mut Beside<'_, '_>,
    ) -> Result<Option<Timing>> {
        self.blank()?;
        let before = (beside.peak)();
        let Some(warm_up) = self.dispatch(device, pipelines, kernel, Some(interrupt))? else {
            return Ok(None);
        };
        let first = (self.check)(&self.buffers)?;
        let dispatch = || self.dispatch(device, pipelines, kernel, Some(interrupt));
        let Some((spell, versus)) = time(warm_up, before, dispatch, beside)? else { return Ok(None) };
        let Spell { seconds, peak_gflops } = spell;
        let last = (self.check)(&self.buffers)?;
        Ok(Some(Timing {
            seconds,
            peak_gflops,
            max_rel_error: first.max_rel_error.max(last.max_rel_error),
            is_ok: first.ok && last.ok,
            psnr_db: last.psnr_db,
            compile_time: pipelines.iter().map(Pipeline::compile_time).sum(),
            versus,
        }))
    }

    /// Fills the result with a pattern that no right result has.
    pub(super) fn blank(&self) -> Result<()> {
        let result = self.result()?;
        for start in (0..result.size()).step_by(PIECE) {
            result.write(start, &vec![PATTERN; PIECE.min(result.size() - start)])?;
        }
        Ok(())
    }

    /// The time of one dispatch; nothing if it was interrupted.
    pub(super) fn dispatch(
        &self,
        device: &Device,
        pipelines: &[Pipeline],
        kernel: &Kernel,
        interrupt: Option<&Interrupt>,
    ) -> Result<Option<Duration>> {
        dispatch(device, pipelines, kernel, self.in_turn(), interrupt)
    }
}

/// The time of one dispatch and of those that belong to it, with the buffers at the bindings of set 0; nothing if it was
/// interrupted.
pub(crate) fn dispatch<'a>(
    device: &Device,
    pipelines: &[Pipeline],
    kernel: &Kernel,
    buffers: impl IntoIterator<Item = &'a Buffer> + Clone,
    interrupt: Option<&Interrupt>,
) -> Result<Option<Duration>> {
    let mut elapsed = Duration::ZERO;
    for (pass, pipeline) in kernel.passes().zip(pipelines) {
        // A kernel need not look at what others of its problem do.
        let bindings: Vec<Binding<'_>> = (0..)
            .zip(buffers.clone())
            .filter(|&(binding, _)| pipeline.binds(0, binding))
            .map(|(binding, buffer)| Binding { set: 0, binding, index: 0, buffer })
            .collect();
        let report = device.dispatch(Dispatch {
            pipeline,
            groups: pass.groups,
            bindings: &bindings,
            push_constants: &pass.push_constants,
            timeout: Some(TIMEOUT),
            cancel: interrupt.map(Interrupt::token),
        });
        match report {
            Err(_cancelled) if interrupt.is_some_and(Interrupt::is_set) => return Ok(None),
            report => elapsed += report?.elapsed,
        }
    }
    Ok(Some(elapsed))
}

impl Timing {
    pub(super) fn record(&self, subject: &Subject, kernel: &Kernel, device: &Device) -> Record {
        let [m, n, k] = subject.size;
        let gflops = subject.operations / self.seconds / 1e9;
        Record {
            workload: subject.workload.to_owned(),
            problem: subject.problem.clone(),
            rung: kernel.name.clone(),
            a: subject.a.to_string(),
            c: subject.c.to_string(),
            m,
            n,
            k,
            tile: kernel.tile.clone(),
            shape: String::new(),
            threads: device.info().threads,
            seconds: self.seconds,
            operations: subject.operations,
            gflops,
            peak_gflops: self.peak_gflops,
            peak_unit: device.peak_unit(subject.peak.on(device, subject.a)),
            share_of_peak: gflops / self.peak_gflops,
            // JSON has no infinity.
            max_rel_error: self.max_rel_error.min(f64::MAX),
            ok: self.is_ok,
            // Nor has it more for a result without a fault.
            psnr_db: self.psnr_db.map(|ratio| ratio.min(f64::MAX)),
            compile_ms: 1e3 * self.compile_time.as_secs_f64(),
            relaxed_accumulation: false,
            elements_read: BTreeMap::new(),
            versus: None,
            versus_gflops: self.versus.map(|versus| subject.operations / versus.seconds / 1e9),
            versus_ratio: self.versus.map(|versus| versus.ratio),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DType;
    use crate::measure::{Peak, Source};

    #[test]
    fn the_middle_share_counts() {
        let spell = |seconds, peak_gflops| Spell { seconds, peak_gflops };
        assert_eq!(middle(Vec::new()), None);
        assert_eq!(middle(vec![spell(2.0, 1.0)]), Some(spell(2.0, 1.0)));
        // Half as long when the machine is twice as fast is the same share.
        let spells =
            vec![spell(1.0, 9.0), spell(2.0, 2.0), spell(1.0, 1.0), spell(4.0, 2.0), spell(1.0, 5.0)];
        assert_eq!(middle(spells), Some(spell(1.0, 5.0)));
    }

    #[test]
    fn the_middle_ratio_counts_and_the_middle_time_beside_it() {
        assert_eq!(middle_versus(&[]), None);
        let versus = middle_versus(&[(1.0, 2.0), (4.0, 2.0), (1.0, 3.0)]);
        assert_eq!(versus, Some(Versus { seconds: 2.0, ratio: 2.0 }));
    }

    #[test]
    fn a_record_counts_the_operations() {
        let subject = Subject {
            workload: "gemm",
            problem: "512³".to_owned(),
            a: DType::F16,
            c: DType::F32,
            size: [512; 3],
            operations: 2.0 * 512.0_f64.powi(3),
            peak: Peak::F32Fma,
        };
        let kernel = Kernel {
            name: "tiled".to_owned(),
            tile: "256x256x64".to_owned(),
            source: Source::Glsl(String::new()),
            definitions: Vec::new(),
            constants: Vec::new(),
            subgroup_size: 32,
            groups: [1; 3],
            push_constants: Vec::new(),
            then: None,
        };
        let timing = Timing {
            seconds: 0.001,
            peak_gflops: 536.870_912,
            max_rel_error: f64::INFINITY,
            is_ok: false,
            psnr_db: None,
            compile_time: Duration::from_millis(7),
            versus: Some(Versus { seconds: 0.002, ratio: 1.9 }),
        };
        let record = timing.record(&subject, &kernel, &Device::new(Some(1)).expect("there is one"));
        assert!((record.gflops - 268.435_456).abs() < 1e-9);
        assert!((record.share_of_peak - 0.5).abs() < 1e-9);
        assert_eq!((record.compile_ms, record.tile.as_str()), (7.0, "256x256x64"));
        assert_eq!((record.max_rel_error, record.ok), (f64::MAX, false));
        assert!(record.versus_gflops.is_some_and(|rate| (rate - 134.217_728).abs() < 1e-9));
        assert_eq!(record.versus_ratio, Some(1.9));
    }
}
