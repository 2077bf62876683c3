//! Which types a module multiplies matrices and cooperative vectors in.

use crate::globals::Globals;
use crate::inspect::ScalarType;
use crate::module::Spv;
use crate::reader::{Id, Inst};
use crate::types::{Kind, Ty};
use phalanx_ir::Component;
use spirv::{CooperativeMatrixOperands, Op};

/// The types of a product of a matrix and a cooperative vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorMulInfo {
    /// The vector's component type.
    pub input: ScalarType,
    /// What its components are taken for.
    pub interpretation: Component,
    /// Whether each of them holds four numbers.
    pub packed: bool,
    /// The matrix' component type.
    pub matrix: Component,
    /// The bias' component type, if there is a bias.
    pub bias: Option<Component>,
    /// The result's component type.
    pub result: ScalarType,
    /// Whether the matrix in memory is the transpose.
    pub transposed: bool,
}

/// The types of a multiplication, or nothing if it is none or its operands are not what they must be.
///
/// Signs are those that the instruction's operands tell (*MatrixBSignedComponents* is that of the vector,
/// *MatrixResultSignedComponents* that of the result), as in its translation.
pub(crate) fn vector_mul(spv: &Spv<'_>, globals: &Globals, inst: &Inst<'_>) -> Option<VectorMulInfo> {
    // Where M is among the operands.
    let shape = match inst.op {
        Op::CooperativeVectorMatrixMulNV => 5,
        Op::CooperativeVectorMatrixMulAddNV => 8,
        _ => return None,
    };
    let constant = |i: usize| globals.const_u32(*inst.args.get(i)?).ok();
    let bias = if shape == 8 { Some(component(constant(7)?)?.0) } else { None };
    let (interpretation, packed) = component(constant(1)?)?;
    let mask = inst.args.get(shape + 5).copied().unwrap_or(0);
    let mask = CooperativeMatrixOperands::from_bits_truncate(mask);
    let signed = |bit| mask.contains(bit);
    Some(VectorMulInfo {
        input: elements(
            globals,
            spv.def(*inst.args.first()?)?.ty,
            signed(CooperativeMatrixOperands::MATRIX_B_SIGNED_COMPONENTS_KHR),
        )?,
        interpretation,
        packed,
        matrix: component(constant(4)?)?.0,
        bias,
        result: elements(
            globals,
            inst.ty,
            signed(CooperativeMatrixOperands::MATRIX_RESULT_SIGNED_COMPONENTS_KHR),
        )?,
        transposed: globals.const_bits(*inst.args.get(shape + 3)?)? != 0,
    })
}

/// The component type of a vector type.
fn elements(globals: &Globals, vector: Id, signed: bool) -> Option<ScalarType> {
    let types = &globals.types;
    let element: Ty = match *types.kind(types.lookup(vector).ok()?) {
        Kind::Vector { elem, .. } => elem,
        _ => return None,
    };
    Some(ScalarType { scalar: types.scalar(element)?, signed })
}

/// What a *ComponentType* means, and whether it is packed.
pub(crate) fn component(number: u32) -> Option<(Component, bool)> {
    Some(match number {
        0 => (Component::F16, false),
        1 => (Component::F32, false),
        3 => (Component::S8, false),
        5 => (Component::S32, false),
        7 => (Component::U8, false),
        9 => (Component::U32, false),
        1_000_491_000 => (Component::S8, true),
        1_000_491_001 => (Component::U8, true),
        1_000_491_002 => (Component::E4m3, false),
        1_000_491_003 => (Component::E5m2, false),
        _ => return None,
    })
}
