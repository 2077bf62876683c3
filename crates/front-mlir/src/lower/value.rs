//! What a value of MLIR is in the IR.

use std::rc::Rc;

use phalanx_ir::{Scalar, Value, Var};
use smallvec::SmallVec;

/// The scalars of a scalar or a vector.
pub(super) type Values = SmallVec<[Value; 4]>;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Val {
    /// A scalar, or the elements of a vector row by row.
    Scalars(Values),
    /// A matrix of the subgroup.
    Matrix(Value),
    /// A memref.
    Memory(Rc<Memory>),
}

impl Val {
    pub(super) fn one(value: Value) -> Self {
        Self::Scalars(SmallVec::from_slice(&[value]))
    }
}

/// A number that may be known: an `index`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Idx {
    /// Known.
    Const(i64),
    /// An `i64`.
    Dyn(Value),
}

impl Idx {
    /// The number, if it is known.
    pub(super) const fn known(self) -> Option<i64> {
        match self {
            Self::Const(n) => Some(n),
            Self::Dyn(_) => None,
        }
    }
}

/// Where the elements of a memref are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Base {
    /// Behind a pointer.
    Pointer(Value),
    /// Elements of a variable, or of a table.
    Variable(Var),
}

/// A memref.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) base: Base,
    /// The scalar that an element consists of, as a value.
    pub(super) elem: Scalar,
    /// How many of them: more than one in a memref of vectors.
    pub(super) lanes: u32,
    /// The place of the first element, in elements.
    pub(super) offset: Idx,
    /// The extents.
    pub(super) sizes: Vec<Idx>,
    /// The strides, in elements.
    pub(super) strides: Vec<Idx>,
}

/// The variables that carry a value from one construct to another.
#[derive(Clone, Debug)]
pub(super) enum Slots {
    /// One for each scalar.
    Scalars(Vec<Var>),
    /// A matrix.
    Matrix(Var),
    /// A memref: the pointer, and the numbers that its type does not state.
    Memory { pointer: Var, elem: Scalar, lanes: u32, offset: Slot, sizes: Vec<Slot>, strides: Vec<Slot> },
}

/// A number that a type states, or the variable that it is in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Const(i64),
    Var(Var),
}
