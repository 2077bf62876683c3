//! The operations.
//!
//! An operation names what is done; operands and results are values of the instruction. Each
//! variant states its operands as `(operands) → (results)`. Arithmetic on matrices uses the scalar
//! operations, element by element.

use crate::entities::{Binding, Block, Label, Var};
use crate::sample::SampleOp;
use crate::tensor::{MatReduceKind, TensorAccess};
use crate::vector::{VecMatMul, VecOuterAdd};

/// An operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    // ── values ──
    /// `() → (scalar)`: a constant; the low bits of the word, upper bits zero.
    Const(u64),
    /// `(x) → (y)`: scalar or matrix; the same type, but `bool` for [`UnaryOp::IsNan`] and
    /// [`UnaryOp::IsInf`].
    Unary(UnaryOp),
    /// `(x, y) → (z)`: scalars or matrices, all of one type (shift counts may differ in width).
    Binary(BinaryOp),
    /// `(x, y) → (bool)`: scalars of one type; `Ieq` and `Ine` also compare `bool`s and pointers.
    Compare(CompareOp),
    /// `(x, y, z) → (x * y + z)` with one rounding; floats.
    Fma,
    /// `(bool, x, y) → (x or y)`: scalars, pointers, or matrices (then the condition is uniform
    /// in the scope).
    Select,
    /// `(x) → (y)`: scalar to scalar, or matrix to matrix of the same shape.
    Convert(ConvertOp),
    /// `(x) → (y)`: the same bits in another type of the same width; also matrices, whose use may
    /// change.
    Bitcast,
    /// `() → (i32)`: a built-in input.
    Builtin(Builtin),

    // ── variables ──
    /// `([index: i32]) → (element)`: reads an element; the first without an index. Outside of the
    /// variable it reads zero.
    VarLoad(Var),
    /// `([index: i32,] value) → ()`: writes an element; nothing outside of the variable.
    VarStore(Var),
    /// `(index: i32, component: i32) → (scalar)`: reads a component of a matrix in a variable.
    VarComponentLoad(Var),
    /// `(index: i32, component: i32, value) → ()`: writes a component of a matrix in a variable.
    VarComponentStore(Var),

    // ── memory ──
    /// `(index: i32) → (ptr<buffer>)`: the start of a buffer, by its index in the descriptor
    /// array. An index out of range gives a pointer to an empty buffer.
    BufferPtr(Binding),
    /// `() → (ptr<push>)`: the push constants.
    PushPtr,
    /// `([part: i32, unsigned]) → (ptr<shared>)`: shared memory at this byte offset, an object of `bytes`
    /// bytes. With an operand, that one of the objects of this size that lie there one behind the other;
    /// one that would not end in shared memory is the last that does.
    SharedPtr {
        /// Offset of the object in bytes.
        offset: u32,
        /// Size of the object in bytes; accesses outside of it are out of bounds.
        bytes: u32,
    },
    /// `(ptr [, index: i32 or i64, sign-extended]) → (ptr)`: adds `index * scale + disp` bytes.
    PtrAdd {
        /// Bytes an index counts.
        scale: i64,
        /// Bytes added.
        disp: i64,
    },
    /// `(ptr) → (i64)`: the bytes from the pointer to the end of its buffer, 0 when outside.
    PtrBytesLeft,
    /// `(p, q) → (i64)`: `p - q` in bytes; both into one object.
    PtrDiff,
    /// `(ptr<global>) → (i64)`, or of a `ptr<buffer>`: its device address.
    PtrToInt,
    /// `(i64) → (ptr<global>)`.
    IntToPtr,
    /// `(ptr) → (scalar, …)`: reads consecutive scalars of one type; zeros out of bounds.
    Load(MemFlags),
    /// `(ptr, scalar, …) → ()`: writes consecutive scalars of one type; nothing out of bounds.
    Store(MemFlags),
    /// `(ptr, operands…) → (old value)`, without a result for [`AtomicOp::Store`]. Relaxed order;
    /// out of bounds it does nothing and gives zero.
    Atomic(AtomicOp),
    /// See [`ImageOp`]. The first operand is the index in the descriptor array (`i32`); an index out
    /// of range gives an image without texels.
    Image(Binding, ImageOp),

    // ── subgroup ──
    /// See [`SubgroupOp`]. Only active invocations take part.
    Subgroup(SubgroupOp),
    /// `() → ()`: invocations of the scope wait for each other, and see each other's writes.
    Barrier(Barrier),

    // ── matrices ──
    /// `(scalar) → (matrix)`: each component of an invocation takes that invocation's scalar.
    MatSplat,
    /// `(ptr, stride: i64 in bytes) → (matrix)`: element (r, c) is at `r * stride + c * elem`
    /// bytes, with r and c exchanged for column-major. Out of bounds elements are zero.
    MatLoad {
        /// Column-major.
        column_major: bool,
        /// Flags.
        flags: MemFlags,
    },
    /// `(ptr, matrix, stride: i64 in bytes) → ()`.
    MatStore {
        /// Column-major.
        column_major: bool,
        /// Flags.
        flags: MemFlags,
    },
    /// `(a: M×K, b: K×N, c: M×N) → (M×N)`: `a * b + c`.
    MatMulAdd(MulAddFlags),
    /// `(matrix, scalar) → (matrix)`: each element times the scalar.
    MatScale,
    /// `(matrix, component: i32) → (row: i32, column: i32)`: where this invocation's component is in a matrix of this type;
    /// outside of the matrix if it is no element.
    MatCoordinate,
    /// `(matrix, component: i32) → (scalar)`: this invocation's component.
    MatExtract,
    /// `(matrix, component: i32, scalar) → (matrix)`: replaces this invocation's component.
    MatInsert,

    /// `(R×C) → (C×R)`: the transpose; the same component type and scope.
    MatTranspose,
    /// `(first, second, offset: i32) → (matrix)`: the elements of two matrices of one type, row by row and the second
    /// matrix behind the first, from element `offset` on. One below 0 counts as 0, and one beyond a matrix as its size,
    /// which gives the second matrix.
    MatRotate,
    /// `(scalar, …) → (matrix)`: the scalars of invocation `l`, one behind the other as in memory, are
    /// row `l`, or column `l`. They have one type and as many bytes as a row (column); there are at
    /// most as many rows (columns) as a subgroup has invocations. Subgroup scope.
    MatFromLanes {
        /// Of columns, not rows.
        columns: bool,
    },
    /// `(matrix) → (scalar, …)`: the reverse. Unspecified in invocations that have no row (column).
    MatToLanes {
        /// Of columns, not rows.
        columns: bool,
    },
    /// `([matrix, …]) → (matrix)`: each element of the result is what the region makes of its place and
    /// of the operands' elements there, if there are any. All have one shape and scope, but operands may have fewer
    /// columns: of these it is the row's first element.
    ///
    /// The region's parameters: row and column (`i32`), then an element of each operand.
    MatMap {
        /// The region.
        body: Block,
    },
    /// `(matrix) → (matrix)`: the region combines two elements, or what it made of some. The
    /// component type and scope stay; rows, columns or both are free where they are reduced, and
    /// halved for squares.
    MatReduce {
        /// Which elements are combined.
        kind: MatReduceKind,
        /// The region; its parameters are two scalars of the component type.
        body: Block,
    },
    /// `(ptr, [matrix,] tensor: i32, …) → (matrix)`: reads elements through a tensor layout. With a
    /// view there is a matrix of the result's type, whose elements outside of the clip are kept. See
    /// [`TensorOperands`](crate::tensor::TensorOperands) for the operands behind.
    ///
    /// The region makes the element of a pointer to its unit, the coordinates of its block and those
    /// in the block (`i32` for each dimension).
    MatLoadTensor {
        /// The layout.
        access: TensorAccess,
        /// The region that decodes elements; without one they are in memory as they are.
        decode: Option<Block>,
    },
    /// `(ptr, matrix, tensor: i32, …) → ()`: writes elements through a tensor layout.
    MatStoreTensor(TensorAccess),

    // ── vectors ──
    /// `(matrix: ptr, stride: i64 [, bias: ptr]) → ()`: multiplies the vector in a variable by the matrix in memory, adds
    /// the bias, and writes the variable of the result. The stride counts bytes, and optimal layouts ignore it. Elements
    /// out of bounds are zero.
    VecMatMul(VecMatMul),
    /// `(matrix: ptr, stride: i64) → ()`: adds the product of element `i` of one vector and element `j` of the other to
    /// element (i, j) of a matrix in memory, each addition for itself atomic. Nothing happens to elements out of bounds.
    VecOuterAdd(VecOuterAdd),
    /// `(ptr) → ()`: adds each element of the vector in a variable of `f16` or `f32` to one of as many consecutive numbers
    /// of its type in memory, atomic as above.
    VecReduceAdd(Var),

    /// `() → (scalar or pointer, …)`: the parameters of a region. First of a region.
    Params,
    /// `(scalar) → ()`: what a region gives. Last of a region.
    Yield,

    // ── control ──
    /// `(bool) → ()`: executes one of two blocks.
    If {
        /// Executed where the condition holds.
        then: Block,
        /// Executed elsewhere.
        otherwise: Block,
    },
    /// `() → ()`: executes the body; a branch to the label leaves it.
    Block {
        /// Its label.
        label: Label,
        /// Its body.
        body: Block,
    },
    /// `() → ()`: executes the body; a branch to the label starts it again, its end leaves it.
    Loop {
        /// Its label.
        label: Label,
        /// Its body.
        body: Block,
    },
    /// `() → ()`: branches to the label of an enclosing construct. Last of its block.
    Br(Label),
    /// `() → ()`: the invocation ends. Last of its block.
    Return,
    /// `(bool) → ()`: all invocations of the subgroup end if the condition holds in an active one. Code for a block of
    /// work-groups says so that it can't do them together (see [`passes::coarsen`](crate::passes::coarsen)), before it
    /// has done anything; whoever runs it then runs them one by one.
    Decline,
    /// `(scalar, …) → ()`: prints, by an index into `Module::formats`.
    Printf(u32),
    /// `(bool, scalar, …) → ()`: tells of a mistake where the condition holds: prints the scalars, by an
    /// index into `Module::formats`. A dispatch tells of each format once.
    Warn(u32),
    /// `() → (i64)`: a clock that rises.
    Clock,
}

/// Operations with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is named by the operation of GLSL.std.450 or SPIR-V that it is")]
pub enum UnaryOp {
    Ineg,
    /// Complement of the bits; logical negation of a `bool`.
    Not,
    BitReverse,
    /// Number of bits set, in the operand's type.
    BitCount,
    /// Index of the lowest bit set; all ones for 0.
    FindLsb,
    /// Index of the highest bit that differs from the sign; all ones for 0 and -1.
    FindSMsb,
    /// Index of the highest bit set; all ones for 0.
    FindUMsb,
    Sabs,
    Ssign,
    Fneg,
    Fabs,
    Fsign,
    Floor,
    Ceil,
    Trunc,
    /// To the nearest integer, ties to even; also GLSL.std.450 *Round*.
    RoundEven,
    /// `x - floor(x)`.
    Fract,
    Sqrt,
    InverseSqrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Exp,
    Exp2,
    Log,
    Log2,
    IsNan,
    IsInf,
}

/// Operations with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is named by the operation of GLSL.std.450 or SPIR-V that it is")]
pub enum BinaryOp {
    Iadd,
    Isub,
    Imul,
    /// Quotient truncated towards zero; 0 when dividing by 0; wraps.
    Sdiv,
    /// 0 when dividing by 0.
    Udiv,
    /// Sign of the dividend; 0 when dividing by 0.
    Srem,
    /// Sign of the divisor; 0 when dividing by 0.
    Smod,
    /// 0 when dividing by 0.
    Umod,
    /// Upper half of the signed product.
    SmulHi,
    /// Upper half of the unsigned product.
    UmulHi,
    /// The sum of the products of the four signed bytes of two `i32`; wraps.
    Sdot4,
    /// The same of unsigned bytes.
    Udot4,
    /// The same of the signed bytes of the first and the unsigned ones of the second.
    Sudot4,
    Smin,
    Smax,
    Umin,
    Umax,
    And,
    Or,
    Xor,
    /// The shift count is taken modulo the width.
    Shl,
    /// The shift count is taken modulo the width.
    Lshr,
    /// The shift count is taken modulo the width.
    Ashr,
    Fadd,
    Fsub,
    Fmul,
    Fdiv,
    /// Sign of the dividend.
    Frem,
    /// `x - y * floor(x / y)`.
    Fmod,
    /// The other operand if one is NaN (GLSL.std.450 *FMin* leaves it open; *NMin* demands it).
    Fmin,
    /// The other operand if one is NaN.
    Fmax,
    Pow,
    Atan2,
    /// `x * 2^n`, with n of type `i32`.
    Ldexp,
}

/// Comparisons. *Greater* forms exchange the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named by sign or order, and relation")]
pub enum CompareOp {
    Ieq,
    Ine,
    Slt,
    Sle,
    Ult,
    Ule,
    FordEq,
    FordNe,
    FordLt,
    FordLe,
    FunordEq,
    FunordNe,
    FunordLt,
    FunordLe,
}

/// A conversion; source and result types say the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvertOp {
    /// What is converted to what.
    pub kind: ConvertKind,
    /// How floats are rounded. Conversions to integers always truncate.
    pub rounding: Rounding,
    /// Clamp to the largest finite value of an 8-bit float
    /// (*SaturatedToLargestFloat8NormalConversionEXT*).
    pub saturate: bool,
}

impl ConvertOp {
    /// A conversion that rounds to nearest even and does not saturate.
    pub const fn new(kind: ConvertKind) -> Self {
        Self { kind, rounding: Rounding::NearestEven, saturate: false }
    }
}

/// Kinds of conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConvertKind {
    /// Integer to integer, extending by the sign.
    SToS,
    /// Integer to integer, extending by zeros.
    UToU,
    /// Float to signed integer, truncating; out of range saturates, NaN gives 0.
    FToS,
    /// Float to unsigned integer, truncating; out of range saturates, NaN gives 0.
    FToU,
    /// Signed integer to float.
    SToF,
    /// Unsigned integer to float.
    UToF,
    /// Float to float.
    FToF,
}

/// Rounding of a conversion to float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Rounding {
    /// To nearest, ties to even.
    #[default]
    NearestEven,
    /// Towards zero.
    TowardZero,
}

/// Built-in inputs, all `i32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// Work-groups of the dispatch along an axis (0 to 2).
    NumWorkgroups(u8),
    /// This work-group along an axis, the dispatch's base included.
    WorkgroupId(u8),
    /// This invocation in its work-group along an axis.
    LocalInvocationId(u8),
    /// `WorkgroupId * workgroup_size + LocalInvocationId` along an axis.
    GlobalInvocationId(u8),
    /// `x + size_x * (y + size_y * z)` of the local id.
    LocalInvocationIndex,
    /// This subgroup in its work-group. Subgroup `s` holds the local indices from
    /// `s * subgroup_size`.
    SubgroupId,
    /// This invocation in its subgroup.
    SubgroupLane,
    /// The multiprocessor that executes this subgroup, below their number. It may be another a moment later.
    Multiprocessor,
    /// This subgroup among those that its multiprocessor holds at a time, below the most that it may. The same holds for it.
    ResidentSubgroup,
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct MemFlags {
    /// Neither removed, repeated nor merged; also used for coherent accesses.
    pub volatile: bool,
    /// A hint that the data is not used again soon.
    pub nontemporal: bool,
}

/// Atomic operations: `(ptr, value)` unless stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is named by the SPIR-V instruction that it is")]
pub enum AtomicOp {
    /// `(ptr)`.
    Load,
    /// `(ptr, value) → ()`.
    Store,
    Exchange,
    /// `(ptr, value, comparator)`.
    CompareExchange,
    Iadd,
    Isub,
    Smin,
    Smax,
    Umin,
    Umax,
    And,
    Or,
    Xor,
    Fadd,
    Fmin,
    Fmax,
}

/// Operations on images and texel buffers. The coordinates are `i32`s, as many as
/// [`ImageKind::coordinates`](crate::image::ImageKind::coordinates) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageOp {
    /// `(index, coordinate… [, level: i32]) → (red, green, blue, alpha)`: a texel, of the first mip
    /// level without a level. Each is an `i32`, `f32` or `i64`; zeros outside of the image.
    Load,
    /// `(index, coordinate…, red, green, blue, alpha) → ()`: nothing outside of the image.
    Store,
    /// `(index, coordinate…, operands…) → (old value)`, as [`Op::Atomic`]: on a texel that is one
    /// scalar. Outside of the image, and on texels of another size, it does nothing and gives zero.
    Atomic(AtomicOp),
    /// `(index [, level: i32]) → (i32, …)`: the texels along each axis, and the layers of an array.
    Size,
    /// `(index) → (i32)`: the number of mip levels.
    Levels,
    /// See [`SampleOp`]: the image at a place between its texels.
    Sample(SampleOp),
}

/// Operations between the active invocations of a subgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubgroupOp {
    /// `() → (bool)`: true in the active invocation with the lowest lane.
    Elect,
    /// `(bool) → (bool)`: uniform.
    All,
    /// `(bool) → (bool)`: uniform.
    Any,
    /// `(scalar) → (bool)`: uniform; floats compare by value.
    AllEqual,
    /// `(scalar, lane: i32 uniform) → (scalar)`: uniform. Zero from an inactive lane.
    Broadcast,
    /// `(scalar) → (scalar)`: uniform.
    BroadcastFirst,
    /// `(bool) → (i32, i32, i32, i32)`: uniform; a bit for each lane, low first.
    Ballot,
    /// `(scalar, lane: i32) → (scalar)`: zero from an inactive lane or from none.
    Shuffle,
    /// `(scalar) → (scalar)`: over all, or over each cluster of `cluster` consecutive lanes.
    Reduce(ReduceOp, Option<u32>),
    /// `(scalar) → (scalar)`: over the active lanes up to this one.
    InclusiveScan(ReduceOp),
    /// `(scalar) → (scalar)`: over the active lanes below this one; the identity for the first.
    ExclusiveScan(ReduceOp),
    /// `(scalar, i32, i32, i32, i32) → (scalar)`: within the partition that the ballot names.
    PartitionedReduce(ReduceOp),
    /// `(scalar, i32, i32, i32, i32) → (scalar)`.
    PartitionedInclusiveScan(ReduceOp),
    /// `(scalar, i32, i32, i32, i32) → (scalar)`.
    PartitionedExclusiveScan(ReduceOp),
    /// `(scalar) → (i32, i32, i32, i32)`: the ballot of the active lanes with the same value.
    Partition,
}

/// Reductions; `And`, `Or` and `Xor` also on `bool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named as the binary operation")]
pub enum ReduceOp {
    Iadd,
    Fadd,
    Imul,
    Fmul,
    Smin,
    Umin,
    Fmin,
    Smax,
    Umax,
    Fmax,
    And,
    Or,
    Xor,
}

impl ReduceOp {
    /// What combines two values.
    pub fn step(self) -> BinaryOp {
        match self {
            Self::Iadd => BinaryOp::Iadd,
            Self::Fadd => BinaryOp::Fadd,
            Self::Imul => BinaryOp::Imul,
            Self::Fmul => BinaryOp::Fmul,
            Self::Smin => BinaryOp::Smin,
            Self::Umin => BinaryOp::Umin,
            Self::Fmin => BinaryOp::Fmin,
            Self::Smax => BinaryOp::Smax,
            Self::Umax => BinaryOp::Umax,
            Self::Fmax => BinaryOp::Fmax,
            Self::And => BinaryOp::And,
            Self::Or => BinaryOp::Or,
            Self::Xor => BinaryOp::Xor,
        }
    }
}

/// A control or memory barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Barrier {
    /// Who waits: `Invocation` (none: a memory barrier), `Subgroup` or `Workgroup`.
    pub execution: crate::types::Scope,
    /// Who sees the writes.
    pub memory: crate::types::Scope,
}

/// Signs and saturation of a multiply-add, ignored for floats; and what is ignored for integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct MulAddFlags {
    /// A is sign-extended, not zero-extended.
    pub a_signed: bool,
    /// B is sign-extended.
    pub b_signed: bool,
    /// C is sign-extended.
    pub c_signed: bool,
    /// The result saturates as a signed number.
    pub result_signed: bool,
    /// Adding C saturates to the result's range.
    pub saturate: bool,
    /// A target may keep the result as finely as it is summed for the multiply-add that it is the
    /// addend of, and round only what that one gives. Never set by a front end.
    pub relaxed: bool,
    /// Columns of A, and rows of B, after which the sum is rounded to the result's type, as by as many multiply-adds one
    /// after the other; 0 is all of them. A multiple of four that divides the columns of A to at most
    /// [`MOST_STEPS`](Self::MOST_STEPS), of floats whose addend has the result's type, and not relaxed. Never set by a front end.
    pub step: u32,
}

impl MulAddFlags {
    /// The most steps of a multiply-add.
    pub const MOST_STEPS: u32 = 256;
}
