//! What an id stands for: a tree whose leaves are IR values.
//!
//! The IR has no vectors, arrays or structures, so a composite is a list of its constituents;
//! taking one out or putting one in costs no instruction. Constants stay symbolic until an
//! instruction needs them, and a null of any size is one word.

use crate::cx::Values;
use crate::types::Ty;
use phalanx_ir::{self as ir, Binding, Builtin, Space, Value, Var};
use std::rc::Rc;

/// What an id stands for.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    /// A scalar or a cooperative matrix.
    Ir(Value),
    /// A constant scalar, or a cooperative matrix whose elements all have these bits.
    Const(ir::Type, u64),
    /// All zeros, of any type.
    Zero,
    /// A long vector: the variable that holds its components (see [`crate::long`]).
    Long(Var),
    /// The constituents of a composite.
    Many(Rc<[Val]>),
    /// A pointer.
    Ptr(Rc<Pointer>),
}

impl Val {
    /// A composite.
    pub(crate) fn many(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::Many(parts.into_iter().collect())
    }

    /// A pointer.
    pub(crate) fn ptr(p: Pointer) -> Self {
        Self::Ptr(Rc::new(p))
    }
}

/// A pointer, by what it points into.
#[derive(Clone, Debug)]
pub(crate) enum Pointer {
    /// Into a *Function* or *Private* variable.
    Local(LocalPtr),
    /// Into memory.
    Memory(MemPtr),
    /// To an array of descriptors, none selected yet; or to the descriptor of an image or a sampler, which is
    /// its handle.
    Descriptors(DescriptorPtr),
    /// To a texel of an image, for atomic operations.
    Texel(TexelPtr),
    /// To a built-in input, or a component of one.
    Input(InputPtr),
}

/// A place in a *Function* or *Private* variable.
#[derive(Clone, Debug)]
pub(crate) struct LocalPtr {
    pub(crate) var: Rc<LocalVar>,
    /// First of the variable's pieces that belong to the pointee.
    pub(crate) piece: u32,
    /// Index of the pointee among its like, row-major over all arrays passed so far.
    pub(crate) index: Index,
    /// The pointee; if `component` is set, the cooperative matrix it is a component of.
    pub(crate) ty: Ty,
    /// A component of a cooperative matrix.
    pub(crate) component: Option<Index>,
}

/// A variable, split into homogeneous pieces (see [`crate::types::Types::pieces`]).
#[derive(Debug)]
pub(crate) struct LocalVar {
    pub(crate) pieces: Vec<Var>,
    /// Read-only: a table, whose stores have no effect.
    pub(crate) is_table: bool,
}

/// An index, split so that constants fold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Index {
    /// The variable part, an `i32`.
    pub(crate) base: Option<Value>,
    /// The constant part.
    pub(crate) offset: i64,
}

impl Index {
    /// Zero.
    pub(crate) const ZERO: Self = Self { base: None, offset: 0 };

    /// A constant.
    pub(crate) const fn constant(offset: i64) -> Self {
        Self { base: None, offset }
    }
}

/// A byte pointer.
#[derive(Clone, Debug)]
pub(crate) struct MemPtr {
    /// Where it starts from.
    pub(crate) base: Value,
    /// Bytes from there.
    pub(crate) disp: i64,
    /// Where it points.
    pub(crate) space: Space,
    /// What it points to; `None` if it is untyped.
    pub(crate) ty: Option<Ty>,
    /// Whether accesses are volatile or coherent by decoration.
    pub(crate) volatile: bool,
    /// How the pointee is spread, if that is not what its type says.
    pub(crate) spread: Spread,
}

/// How matrices and vectors lie in memory: decorations of the structure member that holds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spread {
    /// *MatrixStride* in bytes and whether it is row-major.
    pub(crate) matrix: Option<(i64, bool)>,
    /// Bytes between components: the pointee is a column of a row-major matrix.
    pub(crate) vector: Option<i64>,
}

/// A pointer to an array of descriptors.
#[derive(Clone, Debug)]
pub(crate) struct DescriptorPtr {
    pub(crate) binding: Binding,
    /// Index of the first descriptor of this (sub-)array.
    pub(crate) index: Index,
    /// The array, the image or the sampler.
    pub(crate) ty: Ty,
    pub(crate) volatile: bool,
    /// The sampler of another binding that *OpSampledImage* puts to an image.
    pub(crate) sampler: Option<(Binding, Index)>,
}

/// A pointer to a texel.
#[derive(Clone, Debug)]
pub(crate) struct TexelPtr {
    pub(crate) image: DescriptorPtr,
    /// The texel's coordinates.
    pub(crate) coordinates: Values,
    /// What the texel is, as far as operations see it: a scalar.
    pub(crate) ty: Ty,
}

/// A pointer to a built-in input.
#[derive(Clone, Debug)]
pub(crate) struct InputPtr {
    pub(crate) input: Input,
    /// The component of a vector.
    pub(crate) component: Option<Index>,
    /// Type of the whole built-in.
    pub(crate) ty: Ty,
}

/// Built-in inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    /// Three components of a vector, the first of which is given.
    Vector(fn(u8) -> Builtin),
    /// A scalar that the target provides.
    Scalar(Builtin),
    /// A constant of the module.
    Constant(u32),
    /// The size of a work-group.
    Size,
    /// Mask of the lanes that stand in this relation to the own one.
    LaneMask(LaneMask),
}

/// Relations of the *Subgroup…Mask* built-ins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneMask {
    Eq,
    Ge,
    Gt,
    Le,
    Lt,
}
