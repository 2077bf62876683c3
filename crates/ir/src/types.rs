//! The types of values.
//!
//! A value is a scalar, a pointer or a whole cooperative matrix; there are no vectors, arrays or
//! structures of values. Front ends take aggregates apart, and a target puts lanes together, so
//! nothing between them has to understand nested composites.

use std::fmt;

/// A scalar type. Integers carry no sign: the operations do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// A truth value. It has no representation in memory; front ends store an `I32`.
    Bool,
    /// 8-bit integer.
    I8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// The upper half of a binary32.
    BF16,
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinities, NaN is `0x7f`/`0xff`.
    E4M3,
    /// 8-bit float, 5 exponent and 2 mantissa bits, with infinities.
    E5M2,
}

impl Scalar {
    /// Every scalar type, in declaration order.
    pub const ALL: [Self; 11] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::BF16,
        Self::E4M3,
        Self::E5M2,
    ];

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::BF16 => "bf16",
            Self::E4M3 => "e4m3",
            Self::E5M2 => "e5m2",
        }
    }

    /// Width in bits; 1 for `Bool`.
    #[inline]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::I8 | Self::E4M3 | Self::E5M2 => 8,
            Self::I16 | Self::F16 | Self::BF16 => 16,
            Self::I32 | Self::F32 => 32,
            Self::I64 | Self::F64 => 64,
        }
    }

    /// Size in memory in bytes; 1 for `Bool`, which never is in memory an application sees.
    #[inline]
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether this is `I8`, `I16`, `I32` or `I64`.
    #[inline]
    pub const fn is_int(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Whether this is any floating-point type, the storage-only ones included.
    #[inline]
    pub const fn is_float(self) -> bool {
        !self.is_int() && !matches!(self, Self::Bool)
    }

    /// Whether arithmetic is defined on it: `F16`, `F32` and `F64`. The other floats can only be
    /// moved, converted and multiplied as matrices (SPV_KHR_bfloat16, SPV_EXT_float8).
    pub const fn is_arithmetic_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// The integer type of this width in bits, if there is one.
    pub const fn int(bits: u32) -> Option<Self> {
        match bits {
            8 => Some(Self::I8),
            16 => Some(Self::I16),
            32 => Some(Self::I32),
            64 => Some(Self::I64),
            _ => None,
        }
    }

    /// All bits that a value of this type may have set, in the low end of a word.
    #[inline]
    pub const fn mask(self) -> u64 {
        match self.bits() {
            64 => u64::MAX,
            bits => (1 << bits) - 1,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of invocations that act together (SPIR-V *Scope*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// One invocation.
    Invocation,
    /// The invocations of one subgroup.
    Subgroup,
    /// The invocations of one work-group.
    Workgroup,
    /// All invocations of a queue family or device.
    Device,
}

impl Scope {
    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invocation => "invocation",
            Self::Subgroup => "subgroup",
            Self::Workgroup => "workgroup",
            Self::Device => "device",
        }
    }
}

/// The role of a cooperative matrix in a multiply-add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Use {
    /// The left factor, M×K.
    A,
    /// The right factor, K×N.
    B,
    /// The addend and the result, M×N.
    Accumulator,
    /// A matrix of SPV_NV_cooperative_matrix, which may serve in any role.
    Any,
}

impl Use {
    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::Accumulator => "acc",
            Self::Any => "any",
        }
    }
}

/// The type of a cooperative matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatType {
    /// Component type; never `Bool`.
    pub elem: Scalar,
    /// The invocations over which the matrix is spread: `Subgroup` or `Workgroup`.
    pub scope: Scope,
    /// Number of rows, at least 1.
    pub rows: u32,
    /// Number of columns, at least 1.
    pub cols: u32,
    /// Role in a multiply-add.
    pub use_: Use,
}

impl MatType {
    /// Number of elements.
    pub const fn len(&self) -> u64 {
        self.rows as u64 * self.cols as u64
    }

    /// Never true; here for symmetry with `len`.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Components an invocation holds when the matrix is spread over `invocations`: those of a subgroup, or of a
    /// work-group. Which elements they are is said by a [`Distribution`](crate::Distribution).
    pub const fn components(&self, invocations: u32) -> u32 {
        self.len().div_ceil(invocations as u64) as u32
    }

    /// How many rows there are and how many elements a row has; or columns.
    pub const fn lines(&self, columns: bool) -> (u32, u32) {
        if columns { (self.cols, self.rows) } else { (self.rows, self.cols) }
    }

    /// The row-major element that is element `i` of a row, or of a column.
    pub const fn line_element(&self, columns: bool, line: usize, i: usize) -> usize {
        if columns { i * self.cols as usize + line } else { line * self.cols as usize + i }
    }

    /// The same shape, scope and use with another component type.
    pub const fn with_elem(self, elem: Scalar) -> Self {
        Self { elem, ..self }
    }
}

impl fmt::Display for MatType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "mat<{}x{}x{}, {}, {}>",
            self.rows,
            self.cols,
            self.elem,
            self.scope.name(),
            self.use_.name()
        )
    }
}

/// Where a pointer points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// A bound storage or uniform buffer. The pointer knows the bounds of its buffer.
    Buffer,
    /// The push constants. Read-only and bounded.
    Push,
    /// Memory shared by a work-group (SPIR-V *Workgroup*). Bounded.
    Shared,
    /// A raw device address (SPIR-V *PhysicalStorageBuffer*). Not bounded.
    Global,
}

impl Space {
    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Push => "push",
            Self::Shared => "shared",
            Self::Global => "global",
        }
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// One scalar per invocation.
    Scalar(Scalar),
    /// One pointer per invocation.
    Ptr(Space),
    /// One matrix per instance of its scope.
    Mat(MatType),
}

impl Type {
    /// `bool`.
    pub const BOOL: Self = Self::Scalar(Scalar::Bool);
    /// `i32`.
    pub const I32: Self = Self::Scalar(Scalar::I32);
    /// `i64`.
    pub const I64: Self = Self::Scalar(Scalar::I64);
    /// `f32`.
    pub const F32: Self = Self::Scalar(Scalar::F32);

    /// The scalar type, unless this is a pointer or a matrix.
    pub const fn scalar(self) -> Option<Scalar> {
        match self {
            Self::Scalar(s) => Some(s),
            Self::Ptr(_) | Self::Mat(_) => None,
        }
    }

    /// The matrix type, if it is one.
    pub const fn mat(self) -> Option<MatType> {
        match self {
            Self::Mat(m) => Some(m),
            Self::Scalar(_) | Self::Ptr(_) => None,
        }
    }

    /// The scalar type itself, or the component type of a matrix.
    pub const fn elem(self) -> Option<Scalar> {
        match self {
            Self::Scalar(s) => Some(s),
            Self::Mat(m) => Some(m.elem),
            Self::Ptr(_) => None,
        }
    }
}

impl From<Scalar> for Type {
    fn from(s: Scalar) -> Self {
        Self::Scalar(s)
    }
}

impl From<MatType> for Type {
    fn from(m: MatType) -> Self {
        Self::Mat(m)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(s) => s.fmt(f),
            Self::Ptr(space) => write!(f, "ptr<{}>", space.name()),
            Self::Mat(m) => m.fmt(f),
        }
    }
}
