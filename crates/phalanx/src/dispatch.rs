//! Dispatches.

use std::time::Duration;

use phalanx_host::{CancelToken, Descriptor};
pub use phalanx_interp::{Accesses, Amount};

use crate::bindings::{self, Binding, Tables};
use crate::error::Error;
use crate::pipeline::Pipeline;

/// A pipeline to be run on buffers.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// The pipeline.
    pub pipeline: &'a Pipeline,
    /// Work-groups along x, y and z.
    pub groups: [u32; 3],
    /// The first work-group.
    pub base: [u32; 3],
    /// The buffers.
    pub bindings: &'a [Binding<'a>],
    /// The push constants; at least as many bytes as the pipeline reads.
    pub push_constants: &'a [u8],
    /// Time after which the dispatch is stopped; the device's without it. [`Duration::MAX`] stands for no limit.
    pub timeout: Option<Duration>,
    /// Stops the dispatch when another thread cancels the token.
    pub cancel: Option<&'a CancelToken>,
}

impl<'a> Dispatch<'a> {
    /// So many work-groups of a pipeline, without arguments.
    ///
    /// Arguments are given as fields:
    ///
    /// ```
    /// # use phalanx::{Binding, Buffer, Dispatch, Pipeline};
    /// fn dispatch<'a>(pipeline: &'a Pipeline, bindings: &'a [Binding<'a>]) -> Dispatch<'a> {
    ///     Dispatch { bindings, ..Dispatch::new(pipeline, [8, 8, 1]) }
    /// }
    /// ```
    pub fn new(pipeline: &'a Pipeline, groups: [u32; 3]) -> Self {
        Self {
            pipeline,
            groups,
            base: [0; 3],
            bindings: &[],
            push_constants: &[],
            timeout: None,
            cancel: None,
        }
    }
}

impl<'a> Dispatch<'a> {
    /// The same with these descriptors.
    pub(crate) fn raw(&self, descriptors: &'a [&'a [Descriptor<'a>]]) -> RawDispatch<'a> {
        RawDispatch {
            pipeline: self.pipeline,
            groups: self.groups,
            base: self.base,
            descriptors,
            push_constants: self.push_constants,
            timeout: self.timeout,
            cancel: self.cancel,
        }
    }
}

/// Runs those dispatches whose bindings fit their pipelines by what runs raw ones; there is a result for each of all.
pub(crate) fn run_all(
    dispatches: &[Dispatch<'_>],
    run: impl FnOnce(&[RawDispatch<'_>]) -> Vec<Result<DispatchReport, Error>>,
) -> Vec<Result<DispatchReport, Error>> {
    let views: Vec<_> = dispatches.iter().map(|dispatch| bindings::views(dispatch.bindings)).collect();
    let mut tables = Tables::default();
    let mut numbers = Vec::with_capacity(dispatches.len());
    for (dispatch, views) in dispatches.iter().zip(&views) {
        let (expected, declared) = (dispatch.pipeline.bindings(), &dispatch.pipeline.shape.declared);
        numbers.push(tables.add(expected, declared, dispatch.bindings, views));
    }
    let slices = tables.slices();
    let mut raw = Vec::with_capacity(dispatches.len());
    for (dispatch, numbers) in dispatches.iter().zip(&numbers) {
        if let Ok(numbers) = numbers {
            raw.push(dispatch.raw(&slices[numbers.clone()]));
        }
    }
    let mut results = run(&raw).into_iter();
    let result = |numbers: Result<_, _>| match numbers {
        Ok(_) => results.next().expect("there is a result for each that fits"),
        Err(error) => Err(Error::from(error)),
    };
    numbers.into_iter().map(result).collect()
}

/// A dispatch for those who keep descriptors themselves, such as a driver: nothing is looked up by name.
#[derive(Clone, Copy, Debug)]
pub struct RawDispatch<'a> {
    /// The pipeline.
    pub pipeline: &'a Pipeline,
    /// Work-groups along x, y and z.
    pub groups: [u32; 3],
    /// The first work-group.
    pub base: [u32; 3],
    /// For each of [`Pipeline::bindings`], in their order, its descriptors. An index beyond them is out of
    /// bounds, as is all of a default descriptor.
    pub descriptors: &'a [&'a [Descriptor<'a>]],
    /// The push constants; at least as many bytes as the pipeline reads.
    pub push_constants: &'a [u8],
    /// As [`Dispatch::timeout`].
    pub timeout: Option<Duration>,
    /// As [`Dispatch::cancel`].
    pub cancel: Option<&'a CancelToken>,
}

/// Something that [`Device::run_in_order`](crate::Device::run_in_order) does.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Runs a pipeline.
    Dispatch(RawDispatch<'a>),
    /// Copies bytes, as many as fit in both; they do not overlap.
    Copy {
        /// Where they are.
        from: Descriptor<'a>,
        /// Where they go.
        to: Descriptor<'a>,
    },
    /// Repeats a word over all whole words.
    Fill {
        /// Where it goes, at a multiple of 4.
        to: Descriptor<'a>,
        /// The word.
        word: u32,
    },
}

/// What a dispatch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchReport {
    /// Time from the call to the end of the last work-group.
    pub elapsed: Duration,
    /// The lines that it printed. Those of one invocation are in order.
    pub printed: Vec<String>,
    /// Mistakes that only the dispatch could know of, such as a span of 0 from a buffer. It did something harmless
    /// instead, and tells of each once.
    pub warnings: Vec<String>,
    /// What the program as it is written accessed in memory; of dispatches on the interpreter alone.
    pub traffic: Option<Traffic>,
}

/// What a dispatch read from memory and wrote to it. Accesses that lie outside of their object are not done, and do not
/// count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Of the memory of each of [`Dispatch::bindings`], in their order; those that overlap have the same counts.
    /// A sampler without an image has none.
    pub bindings: Vec<Accesses>,
    /// Of all buffers, with those that are reached by address.
    pub buffers: Accesses,
    /// Of the memory that work-groups share, of all of them together.
    pub shared: Accesses,
}
