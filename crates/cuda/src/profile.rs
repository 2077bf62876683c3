//! What is seen of dispatches: how long they take, how they fill the GPU, and what their warps wait for.
//!
//! A GPU that is profiled does one dispatch at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::code::Pipeline;
use crate::context::Context;
use crate::launch::Report;
use crate::occupancy::Occupancy;
use crate::stalls::{Sampler, Stalls};

/// What was seen of a pipeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Name of the entry point.
    pub name: String,
    /// The beginning of the key of its code, or 0.
    pub code: u64,
    /// How many dispatches have ended.
    pub dispatches: u64,
    /// How long they took, together.
    pub elapsed: Duration,
    /// How it fills a multiprocessor.
    pub occupancy: Occupancy,
    /// How often warps were seen to wait for what, by the driver's name; `selected` are those that executed.
    pub stalls: Vec<(String, u64)>,
    /// Why nothing is known of stalls, or empty.
    pub blind: String,
}

/// Looks at the dispatches of a GPU.
#[derive(Debug)]
pub(crate) struct Profiler {
    context: Arc<Context>,
    ordinal: u32,
    /// Why there are no samples, if there are none.
    sampler: Result<Sampler, String>,
    /// By the addresses of pipelines, which are held here so that no other has the same.
    seen: HashMap<usize, (Arc<Pipeline>, Seen, Stalls)>,
}

impl Profiler {
    pub(crate) fn new(context: &Arc<Context>, ordinal: u32) -> Self {
        let sampler = Sampler::new(context);
        Self { context: Arc::clone(context), ordinal, sampler, seen: HashMap::new() }
    }

    /// Before a dispatch.
    pub(crate) fn begin(&mut self) {
        self.sample(|sampler| sampler.start());
    }

    /// Behind a dispatch of this pipeline.
    pub(crate) fn end(&mut self, pipeline: &Arc<Pipeline>, report: Option<&Report>) {
        let stalls = self.sample(Sampler::stop).unwrap_or_default();
        let Some(report) = report else { return };
        let (_, seen, sum) = self.seen.entry(Arc::as_ptr(pipeline).addr()).or_insert_with(|| {
            let key = pipeline.code().map_or([0; 8], |code| std::array::from_fn(|i| code.key().bytes()[i]));
            let occupancy = Occupancy::of(pipeline, &self.context, self.ordinal).unwrap_or_default();
            let (name, code) = (pipeline.name().to_owned(), u64::from_be_bytes(key));
            (Arc::clone(pipeline), Seen { name, code, occupancy, ..Seen::default() }, Stalls::new())
        });
        seen.dispatches += 1;
        seen.elapsed += report.elapsed;
        for (name, samples) in stalls {
            *sum.entry(name).or_default() += samples;
        }
    }

    /// What was seen so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let blind = self.sampler.as_ref().err().cloned().unwrap_or_default();
        let seen = self.seen.values().map(|(_, seen, stalls)| Seen {
            stalls: stalls.iter().map(|(name, samples)| (name.clone(), *samples)).collect(),
            blind: blind.clone(),
            ..seen.clone()
        });
        seen.collect()
    }

    /// Asks the sampler; one that fails is asked no more.
    fn sample<T>(&mut self, ask: impl FnOnce(&mut Sampler) -> Result<T, String>) -> Option<T> {
        match ask(self.sampler.as_mut().ok()?) {
            Ok(result) => Some(result),
            Err(why) => {
                self.sampler = Err(why);
                None
            }
        }
    }
}
