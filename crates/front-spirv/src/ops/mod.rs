//! Instructions by family: one file each, and the dispatcher.

mod arith;
mod atomic;
mod blocked;
mod componentwise;
mod composite;
mod convert;
mod coopmat;
mod coopmat2;
mod coopvec;
mod dot;
mod ext_inst;
mod group;
mod image;
mod memory;
mod qcom;
mod sample;
mod tensor;

use crate::cx::Cx;
use crate::diag::{Res, code, unsupported};
use crate::opcode::{self, Family};
use crate::reader::Inst;
use spirv::Op;

/// Translates an instruction of a block that is no terminator, phi or merge instruction.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let Some(family) = opcode::family(inst.op) else {
        return Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name())));
    };
    match family {
        Family::Nothing => Ok(()),
        Family::Undef => composite::undef(cx, inst),
        Family::Copy => composite::copy(cx, inst),
        Family::Select => composite::select(cx, inst),
        Family::Composite => composite::emit(cx, inst),
        Family::Memory => memory::emit(cx, inst),
        Family::Call => cx.call(inst),
        Family::Arith => arith::emit(cx, inst),
        Family::Convert => convert::emit(cx, inst),
        Family::ExtInst => ext_inst::emit(cx, inst),
        Family::Dot => dot::emit(cx, inst),
        Family::Atomic(_) | Family::Order => atomic::emit(cx, inst),
        Family::Image => image::emit(cx, inst),
        Family::Sample => sample::emit(cx, inst),
        Family::Group => group::emit(cx, inst),
        Family::CoopMat => coopmat::emit(cx, inst),
        Family::CoopMat2 => coopmat2::emit(cx, inst),
        Family::CoopVec => coopvec::emit(cx, inst),
        Family::Coordinate => coopmat2::coordinate(cx, inst),
        Family::Qcom => qcom::emit(cx, inst),
        Family::Tensor => tensor::emit(cx, inst),
    }
}

/// Whether all invocations of a scope execute an instruction together, or none (*tangled*).
pub(crate) fn is_tangled(cx: &Cx<'_>, inst: &Inst<'_>) -> bool {
    let is_matrix = |id: &u32| cx.ty_of(*id).is_ok_and(|ty| cx.types().coop_mat(ty).is_some());
    let facts = opcode::facts(cx.spv, inst);
    let is_length = opcode::family(inst.op) == Some(Family::CoopMat) && !facts.is_tangled();
    facts.is_tangled()
        || cx.types().lookup(inst.ty).is_ok_and(|ty| cx.types().coop_mat(ty).is_some())
        // The length's operand is a type.
        || (inst.op != Op::FunctionCall && !is_length && inst.args.first().is_some_and(is_matrix))
}
