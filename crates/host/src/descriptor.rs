//! What a binding of a dispatch refers to.

use phalanx_ir::Sampler;

use crate::image::ImageView;

/// What a kernel may access through a binding: a part of memory, an image, or a sampler. The default is nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Descriptor<'a> {
    target: Target<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Target<'a> {
    /// Of memory that is there for `'a`.
    Buffer {
        address: u64,
        size: u64,
    },
    Image(&'a ImageView<'a>),
    Sampler(&'a Sampler),
}

impl Default for Target<'_> {
    fn default() -> Self {
        Self::Buffer { address: 0, size: 0 }
    }
}

impl<'a> Descriptor<'a> {
    /// An image or a texel buffer. A kernel finds nothing where it expects a buffer, and the other way round.
    pub fn image(view: &'a ImageView<'a>) -> Self {
        Self { target: Target::Image(view) }
    }

    /// A sampler. Where a kernel expects one and finds none, it takes the default.
    pub fn sampler(sampler: &'a Sampler) -> Self {
        Self { target: Target::Sampler(sampler) }
    }

    /// Describes memory that is no [`Buffer`](crate::Buffer).
    ///
    /// # Safety
    ///
    /// `size` bytes from `address` can be read and written for the lifetime of the descriptor, and
    /// no Rust reference to them is used during a dispatch.
    pub unsafe fn from_raw(address: u64, size: u64) -> Self {
        Self::part(address, size)
    }

    /// A part of memory that is there for `'a`.
    pub(crate) fn part(address: u64, size: u64) -> Self {
        Self { target: Target::Buffer { address, size } }
    }

    /// Address and size of the memory; nothing if it is an image or a sampler.
    pub fn range(&self) -> (u64, u64) {
        match self.target {
            Target::Buffer { address, size } => (address, size),
            Target::Image(_) | Target::Sampler(_) => (0, 0),
        }
    }

    /// The image, if it is one.
    pub fn as_image(&self) -> Option<&'a ImageView<'a>> {
        match self.target {
            Target::Image(view) => Some(view),
            Target::Buffer { .. } | Target::Sampler(_) => None,
        }
    }

    /// The sampler, if it is one, or an image with one.
    pub fn as_sampler(&self) -> Option<&'a Sampler> {
        match self.target {
            Target::Sampler(sampler) => Some(sampler),
            Target::Image(view) => view.sampler(),
            Target::Buffer { .. } => None,
        }
    }
}
