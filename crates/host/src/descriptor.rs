//! What a binding of a dispatch refers to.

use phalanx_ir::Sampler;

use crate::image::ImageView;
use crate::part::Part;

/// What a kernel may access through a binding: a part of memory, an image, or a sampler. The default is nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Descriptor<'a> {
    target: Target<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Target<'a> {
    Buffer(Part<'a>),
    Image(&'a ImageView<'a>),
    Sampler(&'a Sampler),
}

impl Default for Target<'_> {
    fn default() -> Self {
        Self::Buffer(Part::default())
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
        Self::part(Part::new(address, size))
    }

    pub(crate) fn part(part: Part<'a>) -> Self {
        Self { target: Target::Buffer(part) }
    }

    /// The memory of a buffer; nothing if it is an image or a sampler.
    pub fn buffer(&self) -> Part<'a> {
        match self.target {
            Target::Buffer(part) => part,
            Target::Image(_) | Target::Sampler(_) => Part::default(),
        }
    }

    /// The memory of a buffer or an image; nothing if it is a sampler.
    pub fn memory(&self) -> Part<'a> {
        match self.target {
            Target::Buffer(part) => part,
            Target::Image(view) => view.memory(),
            Target::Sampler(_) => Part::default(),
        }
    }

    /// The image, if it is one.
    pub fn as_image(&self) -> Option<&'a ImageView<'a>> {
        match self.target {
            Target::Image(view) => Some(view),
            Target::Buffer(_) | Target::Sampler(_) => None,
        }
    }

    /// The sampler, if it is one, or an image with one.
    pub fn as_sampler(&self) -> Option<&'a Sampler> {
        match self.target {
            Target::Sampler(sampler) => Some(sampler),
            Target::Image(view) => view.sampler(),
            Target::Buffer(_) => None,
        }
    }
}
