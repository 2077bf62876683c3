//! Samplers.

/// A sampler. Descriptors and layouts that use it keep it.
#[derive(Debug)]
pub(crate) struct Sampler {
    pub(crate) state: phalanx::Sampler,
}

impl Sampler {
    /// A descriptor of it, which must live as long as the descriptor is used.
    pub(crate) fn descriptor(&self) -> phalanx::Descriptor<'_> {
        phalanx::Descriptor::sampler(&self.state)
    }
}
