//! What operands and results may be, for the checks and for their messages.

use crate::types::{Scalar, Space, Type};

/// What an operand or result may be.
#[derive(Clone, Copy)]
pub(super) enum Want {
    /// This type.
    Is(Type),
    /// Any scalar.
    Scalar,
    /// A scalar that has a representation in memory.
    Storable,
    /// A scalar of this class.
    ScalarOf(Class),
    /// A scalar or a matrix of this class.
    ElemOf(Class),
    /// Any pointer.
    Ptr,
    /// A pointer that may be written through.
    WritablePtr,
    /// A pointer to a buffer or a raw address.
    AddressPtr,
    /// Any matrix.
    Mat,
    /// Anything.
    Any,
    /// `i32` or `i64`.
    Index,
}

/// Classes of scalars.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Class {
    Int,
    IntOrBool,
    /// A float with arithmetic.
    Arith,
    AnyFloat,
    IntOrArith,
    /// All but `bool`.
    Number,
}

impl Class {
    pub(super) fn has(self, s: Scalar) -> bool {
        match self {
            Self::Int => s.is_int(),
            Self::IntOrBool => s.is_int() || s == Scalar::Bool,
            Self::Arith => s.is_arithmetic_float(),
            Self::AnyFloat => s.is_float(),
            Self::IntOrArith => s.is_int() || s.is_arithmetic_float(),
            Self::Number => s != Scalar::Bool,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Int => "an integer",
            Self::IntOrBool => "an integer or bool",
            Self::Arith => "f16, f32 or f64",
            Self::AnyFloat => "a float",
            Self::IntOrArith => "an integer, f16, f32 or f64",
            Self::Number => "a number",
        }
    }
}

impl Want {
    pub(super) fn accepts(self, ty: Type) -> bool {
        match self {
            Self::Is(want) => ty == want,
            Self::Scalar => ty.scalar().is_some(),
            Self::Storable => ty.scalar().is_some_and(|s| s != Scalar::Bool),
            Self::ScalarOf(class) => ty.scalar().is_some_and(|s| class.has(s)),
            Self::ElemOf(class) => ty.elem().is_some_and(|s| class.has(s)),
            Self::Ptr => matches!(ty, Type::Ptr(_)),
            Self::WritablePtr => matches!(ty, Type::Ptr(Space::Buffer | Space::Shared | Space::Global)),
            Self::AddressPtr => matches!(ty, Type::Ptr(Space::Buffer | Space::Global)),
            Self::Mat => ty.mat().is_some(),
            Self::Any => true,
            Self::Index => matches!(ty, Type::I32 | Type::I64),
        }
    }

    pub(super) fn describe(self) -> String {
        match self {
            Self::Is(ty) => ty.to_string(),
            Self::Scalar => "a scalar".into(),
            Self::Storable => "a scalar other than bool".into(),
            Self::ScalarOf(class) => class.name().into(),
            Self::ElemOf(class) => format!("{}, or a matrix of such", class.name()),
            Self::Ptr => "a pointer".into(),
            Self::WritablePtr => "a pointer to memory that can be written".into(),
            Self::AddressPtr => "ptr<buffer> or ptr<global>".into(),
            Self::Mat => "a matrix".into(),
            Self::Any => "anything".into(),
            Self::Index => "i32 or i64".into(),
        }
    }
}
