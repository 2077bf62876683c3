//! Types of MLIR as types of the IR.
//!
//! `index` is 64 bits wide. A vector is a list of scalars, row by row. `i1` is a truth value, and a byte in memory.

use phalanx_ir::{MatType, Scalar, Scope, Space, Type as IrType, Use};

use crate::ast::{Attr, Mma, Type};
use crate::error::{Res, invalid, unsupported};

/// Most elements of a vector: each is a value of its own.
pub(super) const MAX_VECTOR: u64 = 4096;

/// The scalar that a scalar type is.
pub(super) fn scalar(ty: &Type) -> Res<Scalar> {
    match ty {
        Type::Int(1, _) => Ok(Scalar::Bool),
        Type::Int(bits, _) => {
            Scalar::int(*bits).ok_or_else(|| unsupported(format!("integers of {bits} bits")))
        }
        Type::Index => Ok(Scalar::I64),
        Type::Float(name) => match &**name {
            "f16" => Ok(Scalar::F16),
            "f32" => Ok(Scalar::F32),
            "f64" => Ok(Scalar::F64),
            "bf16" => Ok(Scalar::BF16),
            "f8E4M3FN" => Ok(Scalar::E4M3),
            "f8E5M2" => Ok(Scalar::E5M2),
            name => Err(unsupported(format!("the type {name}"))),
        },
        other => Err(invalid(format!("expected a scalar, found {}", describe(other)))),
    }
}

/// The scalars that a scalar or a vector consists of: how many, and of which type.
pub(super) fn scalars(ty: &Type) -> Res<(usize, Scalar)> {
    let Type::Vector(shape, elem) = ty else { return Ok((1, scalar(ty)?)) };
    let count = shape.iter().try_fold(1_u64, |n, &extent| n.checked_mul(extent));
    match count {
        Some(0) => Err(invalid("a vector without elements")),
        Some(count) if count <= MAX_VECTOR => Ok((count as usize, scalar(elem)?)),
        _ => Err(unsupported(format!("a vector of more than {MAX_VECTOR} elements"))),
    }
}

/// The scalar that an element is in memory.
pub(super) const fn in_memory(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::Bool => Scalar::I8,
        other => other,
    }
}

/// Whether a type is a vector.
pub(super) const fn is_vector(ty: &Type) -> bool {
    matches!(ty, Type::Vector(..))
}

/// Most rows or columns of a matrix, as in every front end.
const MAX_DIMENSION: u64 = 512;
/// Most elements of a matrix.
const MAX_ELEMENTS: u64 = 1 << 16;

/// The matrix that a `!gpu.mma_matrix` is: one for each subgroup.
pub(super) fn matrix(mma: &Mma) -> Res<MatType> {
    let use_ = match &*mma.operand {
        "AOp" => Use::A,
        "BOp" => Use::B,
        "COp" => Use::Accumulator,
        other => return Err(invalid(format!("operand \"{other}\": expected \"AOp\", \"BOp\" or \"COp\""))),
    };
    let elem = match scalar(&mma.elem)? {
        Scalar::Bool => return Err(invalid("a matrix of i1: expected numbers")),
        elem => elem,
    };
    let sides = [mma.rows, mma.columns];
    if sides.contains(&0) {
        return Err(invalid(format!("a matrix of {} x {} elements", mma.rows, mma.columns)));
    }
    if sides.iter().any(|&n| n > MAX_DIMENSION) || mma.rows * mma.columns > MAX_ELEMENTS {
        let (rows, columns) = (mma.rows, mma.columns);
        return Err(unsupported(format!(
            "a matrix of {rows} x {columns} elements: at most {MAX_DIMENSION} rows or columns, and {MAX_ELEMENTS} in all"
        )));
    }
    Ok(MatType { elem, scope: Scope::Subgroup, rows: mma.rows as u32, cols: mma.columns as u32, use_ })
}

/// Whether an integer type says that it has a sign. One that says nothing counts as unsigned, as in upstream's lowering
/// to SPIR-V.
pub(super) const fn is_signed(ty: &Type) -> bool {
    matches!(ty, Type::Int(_, crate::ast::Sign::Signed))
}

/// Where a memref is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemSpace {
    /// In a buffer.
    Buffer,
    /// Shared by the work-group.
    Shared,
    /// An invocation's own.
    Private,
}

impl MemSpace {
    /// The space that a memref's attribute names. Numbers are those of NVVM and ROCDL, which agree.
    pub(super) fn of(attr: Option<&Attr>) -> Res<Self> {
        let Some(attr) = attr else { return Ok(Self::Buffer) };
        match attr {
            Attr::Int(0 | 1 | 4, _) => Ok(Self::Buffer),
            Attr::Int(3, _) => Ok(Self::Shared),
            Attr::Int(5, _) => Ok(Self::Private),
            Attr::Int(n, _) => Err(unsupported(format!("memory space {n}"))),
            Attr::Dialect(text) => match &**text {
                "gpu.address_space<global>"
                | "gpu.address_space<constant>"
                | "spirv.storage_class<StorageBuffer>"
                | "spirv.storage_class<CrossWorkgroup>"
                | "spirv.storage_class<Uniform>" => Ok(Self::Buffer),
                "gpu.address_space<workgroup>" | "spirv.storage_class<Workgroup>" => Ok(Self::Shared),
                "gpu.address_space<private>"
                | "spirv.storage_class<Function>"
                | "spirv.storage_class<Private>" => Ok(Self::Private),
                text => Err(unsupported(format!("the memory space #{text}"))),
            },
            _ => Err(unsupported("a memory space of this kind")),
        }
    }

    /// The space of pointers to it, if there are such.
    pub(super) const fn pointer(self) -> Option<Space> {
        match self {
            Self::Buffer => Some(Space::Buffer),
            Self::Shared => Some(Space::Shared),
            Self::Private => None,
        }
    }
}

/// A type for a message.
pub(super) fn describe(ty: &Type) -> String {
    match ty {
        Type::Int(bits, crate::ast::Sign::None) => format!("i{bits}"),
        Type::Int(bits, crate::ast::Sign::Signed) => format!("si{bits}"),
        Type::Int(bits, crate::ast::Sign::Unsigned) => format!("ui{bits}"),
        Type::Index => "index".to_owned(),
        Type::Float(name) => name.to_string(),
        Type::Function(..) => "a function".to_owned(),
        Type::MemRef(_) => "a memref".to_owned(),
        Type::Vector(shape, elem) => {
            let shape: String = shape.iter().map(|n| format!("{n}x")).collect();
            format!("vector<{shape}{}>", describe(elem))
        }
        Type::Tensor(..) => "a tensor".to_owned(),
        Type::Tuple(_) => "a tuple".to_owned(),
        Type::None => "none".to_owned(),
        Type::Mma(mma) => {
            let (rows, columns, elem) = (mma.rows, mma.columns, describe(&mma.elem));
            format!("!gpu.mma_matrix<{rows}x{columns}x{elem}, \"{}\">", mma.operand)
        }
        Type::Dialect(text) => format!("!{text}"),
    }
}

/// The type of the IR that a scalar is.
pub(super) fn ir(scalar: Scalar) -> IrType {
    IrType::Scalar(scalar)
}
