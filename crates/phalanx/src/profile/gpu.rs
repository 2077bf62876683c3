//! What is seen of a GPU: how a pipeline fills it, and what its warps wait for.

use phalanx_cuda::{Occupancy, Seen};

use super::{PipelineProfile, Profile};

/// How a pipeline fills a GPU, and what its warps wait for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OnGpu {
    /// What it takes of a multiprocessor.
    pub occupancy: Occupancy,
    /// What warps were seen to do or to wait for; the most frequent comes first.
    pub stalls: Vec<Stall>,
    /// Why nothing is known of that, or empty.
    pub blind: String,
}

/// What warps were seen to do or to wait for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stall {
    /// The driver's name for it.
    pub name: String,
    /// Its share of all samples; all shares make 1.
    pub share: f64,
}

impl Stall {
    /// What it means, as far as it is known.
    pub fn meaning(&self) -> &'static str {
        match self.name.as_str() {
            "selected" => "executes an instruction",
            "not_selected" => "another warp's turn",
            "barrier" => "a barrier of the work-group",
            "branch_resolving" => "a branch",
            "dispatch_stall" => "the dispatcher",
            "drain" => "stores before its end",
            "gmma" => "products of matrices by a group of warps",
            "imc_miss" => "constants",
            "lg_throttle" => "room in the queue to global memory",
            "long_scoreboard" => "global memory",
            "math_pipe_throttle" => "a free arithmetic unit",
            "membar" => "a fence",
            "mio_throttle" => "room in the queue to shared memory",
            "no_instructions" => "instructions to be fetched",
            "short_scoreboard" => "shared memory, shuffles, special functions",
            "sleeping" => "its own sleep",
            "tex_throttle" => "room in the queue to images",
            "wait" => "the fixed time of the instruction before",
            "warpgroup_arrive" => "other warps of its group",
            _ => "",
        }
    }
}

impl Profile {
    /// What was seen of a GPU with so many multiprocessors.
    pub(crate) fn of_gpu(seen: Vec<Seen>, multiprocessors: usize) -> Self {
        let mut pipelines: Vec<_> = seen.into_iter().map(|seen| pipeline(seen, multiprocessors)).collect();
        pipelines.sort_by_key(|pipeline| std::cmp::Reverse(pipeline.elapsed));
        Self { pipelines }
    }
}

fn pipeline(seen: Seen, multiprocessors: usize) -> PipelineProfile {
    let Seen { name, code, dispatches, elapsed, occupancy, stalls, blind } = seen;
    let samples: u64 = stalls.iter().map(|(_, samples)| samples).sum();
    let share = |count: u64| count as f64 / samples.max(1) as f64;
    let mut stalls: Vec<Stall> = stalls
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| Stall { name, share: share(count) })
        .collect();
    stalls.sort_by(|a, b| b.share.total_cmp(&a.share));
    PipelineProfile {
        name,
        code: if code == 0 { String::new() } else { format!("{code:016x}") },
        threads: multiprocessors,
        dispatches,
        elapsed,
        samples,
        gpu: Some(OnGpu { occupancy, stalls, blind }),
        ..PipelineProfile::default()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use phalanx_cuda::Bound;
    use std::time::Duration;

    /// A pipeline that was seen on a GPU.
    pub(in crate::profile) fn sample(blind: &str) -> Profile {
        let stalls = [("wait", 30), ("selected", 50), ("sleeping", 0), ("long_scoreboard", 120)];
        let seen = Seen {
            name: "main".into(),
            code: 0xab,
            dispatches: 4,
            elapsed: Duration::from_millis(8),
            occupancy: Occupancy {
                registers: 168,
                local_bytes: 0,
                shared_bytes: 213_000,
                threads: 384,
                groups: 1,
                warps: 12,
                most_warps: 64,
                bound: Bound::Registers,
            },
            stalls: if blind.is_empty() {
                stalls.map(|(name, n)| (name.to_owned(), n)).into()
            } else {
                Vec::new()
            },
            blind: blind.to_owned(),
        };
        Profile::of_gpu(vec![seen], 132)
    }

    #[test]
    fn shares_make_one_and_the_most_frequent_comes_first() {
        let profile = sample("");
        let gpu = profile.pipelines[0].gpu.as_ref().expect("it is of a GPU");
        assert_eq!(profile.pipelines[0].samples, 200);
        let names: Vec<&str> = gpu.stalls.iter().map(|stall| stall.name.as_str()).collect();
        assert_eq!(names, ["long_scoreboard", "selected", "wait"]);
        assert!((gpu.stalls.iter().map(|stall| stall.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
