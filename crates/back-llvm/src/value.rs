//! What an IR value becomes.

use crate::coopmat::MatValue;
use crate::emit::V;
use phalanx_ir::Space;

/// How a value differs between the lanes of a subgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The same in all active lanes: an LLVM scalar.
    Uniform,
    /// An integer that rises by a constant from lane to lane, modulo its width: an LLVM scalar,
    /// the value that lane 0 has or would have. Never by 0.
    Affine(i64),
    /// An integer that differs from lane to lane by what is known: an LLVM scalar, to which each lane
    /// adds a constant, one of [`Patterns`].
    Pattern(u32),
    /// Anything: an LLVM vector with an element per lane.
    Varying,
}

/// What lanes add to a scalar, for values of [`Shape::Pattern`].
#[derive(Debug, Default)]
pub(crate) struct Patterns(Vec<Vec<i64>>);

impl Patterns {
    /// The shape of a value to which each lane adds its element.
    pub(crate) fn shape(&mut self, steps: Vec<i64>) -> Shape {
        if let [0, stride, ..] = steps[..]
            && (0..).zip(&steps).all(|(l, &s)| s == stride.wrapping_mul(l))
        {
            return if stride == 0 { Shape::Uniform } else { Shape::Affine(stride) };
        }
        let known = self.0.iter().position(|p| *p == steps);
        let number = known.unwrap_or_else(|| {
            self.0.push(steps);
            self.0.len() - 1
        });
        Shape::Pattern(number as u32)
    }

    /// What each of so many lanes adds to the scalar of a value, if that is known.
    pub(crate) fn of(&self, x: Val<'_>, lanes: u32) -> Option<Vec<i64>> {
        match x.shape {
            Shape::Uniform => Some(vec![0; lanes as usize]),
            Shape::Affine(stride) => Some((0..i64::from(lanes)).map(|l| l.wrapping_mul(stride)).collect()),
            Shape::Pattern(number) => Some(self.steps(number).to_vec()),
            Shape::Varying => None,
        }
    }

    /// What each lane adds.
    pub(crate) fn steps(&self, number: u32) -> &[i64] {
        self.0.get(number as usize).map_or(&[], Vec::as_slice)
    }
}

/// A scalar per lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Val<'c> {
    pub(crate) shape: Shape,
    pub(crate) v: V<'c>,
}

impl<'c> Val<'c> {
    pub(crate) fn uniform(v: V<'c>) -> Self {
        Self { shape: Shape::Uniform, v }
    }

    pub(crate) fn varying(v: V<'c>) -> Self {
        Self { shape: Shape::Varying, v }
    }

    pub(crate) fn affine(v: V<'c>, stride: i64) -> Self {
        let shape = if stride == 0 { Shape::Uniform } else { Shape::Affine(stride) };
        Self { shape, v }
    }

    pub(crate) fn is_uniform(&self) -> bool {
        self.shape == Shape::Uniform
    }

    /// Whether it is kept as a scalar, to which each lane adds what is known.
    pub(crate) fn is_based(&self) -> bool {
        self.shape != Shape::Varying
    }

    /// What a lane adds to the value of the lane before, if that is the same for all.
    pub(crate) fn stride(&self) -> Option<i64> {
        match self.shape {
            Shape::Uniform => Some(0),
            Shape::Affine(s) => Some(s),
            Shape::Pattern(_) | Shape::Varying => None,
        }
    }
}

/// A pointer per lane, in pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ptr<'c> {
    pub(crate) space: Space,
    /// Where the object starts (LLVM `ptr`s); uniform or varying. A null pointer in
    /// [`Space::Global`].
    pub(crate) base: Val<'c>,
    /// Bytes of the object (`i64`); uniform or varying. Meaningless in [`Space::Global`].
    pub(crate) size: Val<'c>,
    /// Bytes from the start (`i64`), of any shape. The address in [`Space::Global`].
    pub(crate) offset: Val<'c>,
}

/// What an IR value becomes.
#[derive(Clone, Debug)]
pub(crate) enum Lowered<'c> {
    /// A scalar.
    Scalar(Val<'c>),
    /// A pointer.
    Ptr(Ptr<'c>),
    /// A matrix, which `coopmat` alone understands.
    Mat(MatValue<'c>),
}
