//! Samplers, which nothing samples with: there are no images.

/// A sampler.
#[derive(Debug)]
pub(crate) struct Sampler {}
