//! Operations on whole matrices as functions of their elements.

use crate::entities::{Block, Inst, Value};
use crate::module::{Function, InstInfo};
use crate::op::{BinaryOp, Op};
use crate::types::{MatType, Type};
use smallvec::SmallVec;

/// Whether an operation does to each element what it does to a scalar.
pub(super) fn is_elementwise(func: &Function, info: &InstInfo) -> bool {
    let is_plain = match info.op {
        Op::Unary(_) | Op::Binary(_) | Op::Convert(_) => true,
        Op::Bitcast => elem_bits(func, info.args[0]) == elem_bits(func, info.results[0]),
        _ => false,
    };
    is_plain && info.results.iter().all(|&v| func.ty(v).mat().is_some())
}

fn elem_bits(func: &Function, v: Value) -> Option<u32> {
    func.ty(v).mat().map(|m| m.elem.bits())
}

/// The matrices that an instruction takes and gives.
pub(super) fn mats<'f>(func: &'f Function, info: &'f InstInfo) -> impl Iterator<Item = MatType> + 'f {
    info.args.iter().chain(&info.results).filter_map(|&v| func.ty(v).mat())
}

/// The operation on one element.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The operands that are matrices.
    pub(super) operands: SmallVec<[Value; 4]>,
    /// The region, without its first and last instruction.
    pub(super) insts: Vec<Inst>,
    /// Its parameters: row, column, and an element of each operand.
    pub(super) params: SmallVec<[Value; 6]>,
    /// What it gives.
    pub(super) gives: Value,
}

impl Step {
    /// That of an operation on matrices that is done element by element. Its region may be new code in no block.
    pub(super) fn of(func: &mut Function, inst: Inst) -> Option<Self> {
        let info = func.inst(inst).clone();
        match info.op {
            Op::MatMap { body } => {
                let &[first, ref insts @ .., last] = func.block(body) else { return None };
                let is_region = func.inst(first).op == Op::Params && func.inst(last).op == Op::Yield;
                is_region.then(|| Self {
                    operands: info.args,
                    insts: insts.to_vec(),
                    params: SmallVec::from_slice(&func.inst(first).results),
                    gives: func.inst(last).args[0],
                })
            }
            Op::MatScale => Some(Self::scale(func, &info)),
            _ if is_elementwise(func, &info) => {
                let params = params(func, &info.args, info.loc);
                let elem = func.ty(info.results[0]).mat()?.elem;
                let step = func.new_inst(info.op, &params[2..], &[elem.into()], info.loc);
                func.insts[step.index()].exact = info.exact;
                let gives = func.inst(step).results[0];
                Some(Self { operands: info.args, insts: vec![step], params, gives })
            }
            _ => None,
        }
    }

    /// Each element times a scalar.
    fn scale(func: &mut Function, info: &InstInfo) -> Self {
        let (matrix, factor) = (info.args[0], info.args[1]);
        let params = params(func, &[matrix], info.loc);
        let elem = func.ty(factor);
        let is_float = matches!(elem, Type::Scalar(s) if s.is_float());
        let op = Op::Binary(if is_float { BinaryOp::Fmul } else { BinaryOp::Imul });
        let step = func.new_inst(op, &[params[2], factor], &[elem], info.loc);
        func.insts[step.index()].exact = info.exact;
        let gives = func.inst(step).results[0];
        Self { operands: SmallVec::from_slice(&[matrix]), insts: vec![step], params, gives }
    }

    /// The element itself.
    pub(super) fn same(func: &mut Function, matrix: Value, loc: u32) -> Self {
        let params = params(func, &[matrix], loc);
        Self { operands: SmallVec::from_slice(&[matrix]), insts: Vec::new(), gives: params[2], params }
    }

    /// The body of an operation that does it, whose first instruction has the parameters as results already.
    pub(super) fn body(&self, func: &mut Function, params: Inst) -> Block {
        let body = func.new_block();
        let end = func.new_inst(Op::Yield, &[self.gives], &[], func.inst(params).loc);
        func.blocks[body.index()] = [&[params], &self.insts[..], &[end]].concat();
        body
    }
}

/// New parameters of a region for these operands, in an instruction in no block.
pub(super) fn params(func: &mut Function, operands: &[Value], loc: u32) -> SmallVec<[Value; 6]> {
    let elements = operands.iter().filter_map(|&v| func.ty(v).mat()).map(|m| Type::from(m.elem));
    let types: SmallVec<[Type; 6]> = [Type::I32; 2].into_iter().chain(elements).collect();
    let inst = func.new_inst(Op::Params, &[], &types, loc);
    SmallVec::from_slice(&func.inst(inst).results)
}

/// Whether a region, apart from its ends, only computes.
pub(super) fn only_computes(func: &Function, insts: &[Inst]) -> bool {
    insts.iter().all(|&inst| func.inst(inst).op.computes())
}
