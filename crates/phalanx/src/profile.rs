//! Where the time of dispatches goes: by pipeline, by line of the source and by what is done there.
//!
//! A device that is made with [`DeviceOptions::profile`](crate::DeviceOptions) looks at its threads some thousand times a
//! second. Its code tells it where it is, which costs a few per cent, and dense code up to a fifth; a line is right within
//! some instructions. Of a GPU there is no line; it tells how its multiprocessors are filled and, where CUPTI is found, what
//! warps wait for ([`OnGpu`]).
//!
//! ```
//! use phalanx::{Binding, Device, DeviceOptions, Dispatch, PipelineDescriptor, glsl};
//!
//! let words = glsl::compile(
//!     "#version 450
//!      layout(local_size_x = 64) in;
//!      layout(set = 0, binding = 0) buffer Data { float x[]; };
//!      void main() {
//!          float y = x[gl_GlobalInvocationID.x];
//!          for (int i = 0; i < 10000; ++i) y = y * 0.5 + 1.0;
//!          x[gl_GlobalInvocationID.x] = y;
//!      }",
//!     &glsl::GlslOptions::default(),
//! )?;
//! let device = Device::new(&DeviceOptions { profile: true, threads: Some(1), ..DeviceOptions::default() })?;
//! let pipeline = device.create_pipeline(&PipelineDescriptor::new(&device.create_module(&words)?))?;
//! let buffer = device.create_buffer_from(&[1.0_f32; 1 << 16])?;
//! let bindings = [Binding::new(0, 0, &buffer)];
//! device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [1 << 10, 1, 1]) })?;
//!
//! let profile = device.profile();
//! let most = &profile.pipelines[0].rows[0];
//! assert_eq!((most.line, most.family.name(), most.function.as_str()), (6, "lane code", "main"));
//! println!("{}", profile.to_text(&|_file, _line| None));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod flame;
mod gpu;
mod json;
mod text;

use std::time::Duration;

pub use gpu::{OnGpu, Stall};
pub use phalanx_cpu::Family;
use phalanx_cpu::{PipelineProfile as Seen, Site};
pub use phalanx_cuda::{Bound, Occupancy};
pub use text::Source;

/// Where the time of a device's dispatches went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The pipelines that were dispatched; that which took most time comes first.
    pub pipelines: Vec<PipelineProfile>,
}

/// Where the time of a pipeline's dispatches went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipelineProfile {
    /// Name of the entry point.
    pub name: String,
    /// What tells it from others of the same name, or empty.
    pub code: String,
    /// Threads of the device; multiprocessors of a GPU.
    pub threads: usize,
    /// How many dispatches have ended.
    pub dispatches: u64,
    /// How long they took, together.
    pub elapsed: Duration,
    /// How often a thread was looked at, or a warp of a GPU.
    pub samples: u64,
    /// The time that was seen in its dispatches, of all threads together: within the error of samples that of
    /// [`PipelineProfile::elapsed`] times the threads.
    pub seen: Duration,
    /// Where; the longest time comes first. Nothing of a GPU.
    pub rows: Vec<Row>,
    /// How a GPU is filled, and what its warps wait for.
    pub gpu: Option<OnGpu>,
}

/// A place in the source, what is done there, and how long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// File, or empty.
    pub file: String,
    /// Line from 1, or 0 where unknown, or where it is none of the source's.
    pub line: u32,
    /// Word offset in the SPIR-V module of the first instruction there, or 0.
    pub word: u32,
    /// The function that the line is in, or empty.
    pub function: String,
    /// What is done, by its name in the IR, or empty.
    pub operation: String,
    /// Its kind.
    pub family: Family,
    /// Its share of the pipeline's time; all shares make 1.
    pub share: f64,
}

impl Profile {
    /// What the CPU saw.
    pub(crate) fn new(seen: Vec<Seen>) -> Self {
        let mut merged: Vec<Seen> = Vec::new();
        for seen in seen {
            // Code that was forgotten and made again is the same pipeline.
            match merged.iter_mut().find(|other| same(other, &seen)) {
                Some(other) => add(other, &seen),
                None => merged.push(seen),
            }
        }
        let mut pipelines: Vec<PipelineProfile> = merged.into_iter().map(PipelineProfile::new).collect();
        pipelines.sort_by_key(|pipeline| std::cmp::Reverse(pipeline.elapsed));
        Self { pipelines }
    }

    /// The time of all pipelines' dispatches.
    pub fn elapsed(&self) -> Duration {
        self.pipelines.iter().map(|pipeline| pipeline.elapsed).sum()
    }
}

fn same(a: &Seen, b: &Seen) -> bool {
    let places = |seen: &Seen| seen.sites.iter().map(|(site, _)| site.clone()).collect::<Vec<Site>>();
    a.code != 0 && (a.code, &a.name, a.threads) == (b.code, &b.name, b.threads) && places(a) == places(b)
}

fn add(sum: &mut Seen, seen: &Seen) {
    sum.dispatches += seen.dispatches;
    sum.elapsed += seen.elapsed;
    sum.samples += seen.samples;
    for ((_, sum), (_, time)) in sum.sites.iter_mut().zip(&seen.sites) {
        *sum += *time;
    }
}

impl PipelineProfile {
    fn new(seen: Seen) -> Self {
        let total: Duration = seen.sites.iter().map(|(_, time)| *time).sum();
        let row = |(site, time): (Site, Duration)| {
            let Site { file, line, word, function, operation, family } = site;
            let share = time.as_secs_f64() / total.as_secs_f64();
            Row { file, line, word, function, operation, family, share }
        };
        let found = seen.sites.into_iter().filter(|(_, time)| !time.is_zero());
        let mut rows: Vec<Row> = found.map(row).collect();
        rows.sort_by(|a, b| b.share.total_cmp(&a.share));
        Self {
            name: seen.name,
            code: if seen.code == 0 { String::new() } else { format!("{:016x}", seen.code) },
            threads: seen.threads,
            dispatches: seen.dispatches,
            elapsed: seen.elapsed,
            samples: seen.samples,
            seen: total,
            rows,
            gpu: None,
        }
    }

    /// The file that most of its time is spent in, or an empty text.
    pub fn file(&self) -> &str {
        self.rows.iter().map(|row| row.file.as_str()).find(|file| !file.is_empty()).unwrap_or_default()
    }

    /// The shares of the families that there are, the greatest first.
    pub fn families(&self) -> Vec<(Family, f64)> {
        let share = |family| {
            let rows = self.rows.iter().filter(|row| row.family == family);
            (family, rows.map(|row| row.share).sum::<f64>())
        };
        let mut families: Vec<_> =
            Family::ALL.into_iter().map(share).filter(|(_, share)| *share > 0.0).collect();
        families.sort_by(|a, b| b.1.total_cmp(&a.1));
        families
    }
}

impl Row {
    /// Where it is: `file:line`, or a word of a module without lines, or empty.
    pub fn place(&self) -> String {
        match (self.file.as_str(), self.line, self.word) {
            (_, 0, 0) => String::new(),
            (_, 0, word) => format!("word {word}"),
            ("", line, _) => format!("line {line}"),
            (file, line, _) => format!("{file}:{line}"),
        }
    }

    /// What is done there, with its kind.
    pub fn what(&self) -> String {
        match self.operation.as_str() {
            "" => self.family.name().to_owned(),
            operation if operation == self.family.name() => operation.to_owned(),
            operation => format!("{}: {operation}", self.family.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipeline of three sites and the runtime's own two.
    pub(super) fn sample() -> Profile {
        let own = |family| Site { family, ..Site::default() };
        let site = |line, family, operation: &str| Site {
            file: "a<b>.comp".into(),
            line,
            word: 10 * line,
            function: "main".into(),
            operation: operation.into(),
            family,
        };
        let sites = vec![
            (own(Family::Idle), Duration::from_millis(10)),
            (own(Family::Scheduling), Duration::ZERO),
            (site(3, Family::MultiplyAdd, "mat_mul_add"), Duration::from_millis(60)),
            (site(3, Family::Lanes, "arithmetic"), Duration::from_millis(10)),
            (site(9, Family::Memory, "load"), Duration::from_millis(20)),
        ];
        let elapsed = Duration::from_millis(51);
        let seen =
            Seen { name: "main".into(), code: 0xab, threads: 2, dispatches: 4, elapsed, samples: 500, sites };
        Profile::new(vec![seen.clone(), seen])
    }

    #[test]
    fn shares_make_one_and_the_same_code_is_one_pipeline() {
        let profile = sample();
        assert_eq!(profile.pipelines.len(), 1);
        let pipeline = &profile.pipelines[0];
        assert_eq!((pipeline.dispatches, pipeline.samples), (8, 1000));
        assert_eq!(profile.elapsed(), Duration::from_millis(102));
        assert_eq!(pipeline.seen, Duration::from_millis(200));
        assert_eq!(pipeline.rows.len(), 4, "nothing was seen of scheduling");
        assert!((pipeline.rows.iter().map(|row| row.share).sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(pipeline.rows[0].place(), "a<b>.comp:3");
        assert_eq!(pipeline.rows[0].what(), "multiply-add: mat_mul_add");
        assert_eq!(pipeline.file(), "a<b>.comp");
        let families = pipeline.families();
        assert_eq!(families[0].0, Family::MultiplyAdd);
        assert!((families[0].1 - 0.6).abs() < 1e-9 && families.len() == 4, "{families:?}");
    }
}
