//! Samplers, which nothing samples with: images can be stored to and loaded from, and not sampled.

/// A sampler.
#[derive(Debug)]
pub(crate) struct Sampler {}
