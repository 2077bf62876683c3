//! The operation: its forms, and what operands it has.

use crate::entities::Binding;
use crate::image::ImageKind;
use crate::types::Type;

/// Sampling, for [`ImageOp::Sample`](crate::op::ImageOp::Sample).
///
/// Operands, in this order: the index of the image, the index of the sampler if that has a binding, both `i32`; the
/// coordinates, as many `f32`s as [`ImageKind::sample_coordinates`] says; then, each `f32` if not said otherwise, what
/// [`SampleOp::rest`] lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampleOp {
    /// The sampler's binding; without it the sampler is the image's own.
    pub sampler: Option<Binding>,
    /// What is asked.
    pub kind: SampleKind,
    /// Where the level of detail comes from.
    pub lod: LodKind,
    /// Whether a number of texels is added to each coordinate.
    pub has_offset: bool,
    /// Whether there is a least level of detail.
    pub has_min_lod: bool,
}

/// What sampling gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleKind {
    /// `→ (red, green, blue, alpha)`, each an `f32` or `i32`: the filtered texel.
    Sample,
    /// `→ (f32)`: how much of the footprint compares well with the reference.
    Compare,
    /// `→ (f32 | i32, 4 times)`: a component of the texels `(i0, j1)`, `(i1, j1)`, `(i1, j0)` and `(i0, j0)` that a
    /// linear filter would read.
    Gather(u8),
    /// `→ (f32, f32, f32, f32)`: whether each of these compares well with the reference.
    GatherCompare,
}

/// Where the level of detail comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LodKind {
    /// An operand.
    Level,
    /// The differences of the coordinates to those of the neighbours along x, then along y.
    Gradients,
    /// It is the base level: for gathers, and for nothing else.
    Base,
}

impl SampleKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Sample,
        Self::Compare,
        Self::Gather(0),
        Self::Gather(1),
        Self::Gather(2),
        Self::Gather(3),
        Self::GatherCompare,
    ];

    /// Whether it compares with a reference.
    pub fn is_compare(self) -> bool {
        matches!(self, Self::Compare | Self::GatherCompare)
    }

    /// Number of results.
    pub fn results(self) -> usize {
        if self == Self::Compare { 1 } else { 4 }
    }

    /// Whether it gives four texels.
    pub fn is_gather(self) -> bool {
        matches!(self, Self::Gather(_) | Self::GatherCompare)
    }
}

impl LodKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Level, Self::Gradients, Self::Base];
}

impl SampleOp {
    /// Operands before the coordinates: the indices of the image and of the sampler.
    pub fn indices(&self) -> usize {
        1 + usize::from(self.sampler.is_some())
    }

    /// The types of the operands behind the coordinates: the reference; the level, or the gradients along x and y of
    /// each axis; the offsets of each axis, `i32`; the least level of detail.
    pub fn rest(&self, kind: ImageKind) -> impl Iterator<Item = Type> + use<> {
        let lods = match self.lod {
            LodKind::Level => 1,
            LodKind::Gradients => 2 * kind.axes(),
            LodKind::Base => 0,
        };
        let floats = usize::from(self.kind.is_compare()) + lods;
        let offsets = if self.has_offset { kind.axes() } else { 0 };
        let types = [(Type::F32, floats), (Type::I32, offsets), (Type::F32, usize::from(self.has_min_lod))];
        types.into_iter().flat_map(|(ty, count)| std::iter::repeat_n(ty, count))
    }
}
