//! The element types and the uses of a cooperative matrix.

use std::fmt;

/// The type of one matrix element, as it lies in user memory. Integers are signless: operations that care
/// carry their own signedness flag.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub enum Elem {
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// The upper half of a binary32.
    BF16,
    /// 8-bit float, 4 exponent bits, 3 mantissa bits, no infinity, largest value 448.
    E4M3,
    /// 8-bit float, 5 exponent bits, 2 mantissa bits, the upper half of a binary16.
    E5M2,
    /// 8-bit integer.
    I8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
}

impl Elem {
    /// Every element type.
    pub const ALL: [Self; 10] = [
        Self::F16,
        Self::F32,
        Self::F64,
        Self::BF16,
        Self::E4M3,
        Self::E5M2,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
    ];

    /// Size of one element in user memory.
    #[inline]
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::E4M3 | Self::E5M2 | Self::I8 => 1,
            Self::F16 | Self::BF16 | Self::I16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::I64 => 8,
        }
    }

    /// Whether this is one of the floating-point types.
    #[inline]
    #[must_use]
    pub const fn is_float(self) -> bool {
        !matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::BF16 => "bf16",
            Self::E4M3 => "e4m3",
            Self::E5M2 => "e5m2",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
        })
    }
}

/// The role of a matrix in a multiplication, which decides its layout.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub enum Use {
    /// Left operand, M×K: its elements are broadcast.
    A,
    /// Right operand, K×N: its rows are vectors.
    B,
    /// Addend and result, M×N.
    Accumulator,
    /// A matrix of `VK_NV_cooperative_matrix`, which may take any of the roles in turn.
    Any,
}

impl Use {
    /// Every use.
    pub const ALL: [Self; 4] = [Self::A, Self::B, Self::Accumulator, Self::Any];
}
