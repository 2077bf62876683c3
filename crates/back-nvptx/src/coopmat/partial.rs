//! Sums of rows of which each lane has a part.
//!
//! A row lies in four lanes. What adds the sums of a matrix's rows to a variable, round by round, needs no sum of a whole row
//! for that: each lane adds up what it has, multiplies it as the variable is multiplied, and the lanes are added up where
//! somebody else looks at the variable. docs/ir.md, *Floating point*, allows it.
//!
//! ```text
//! l = l * c + reduce<row, fadd> x     →     part = part * c + (sum of the lane's elements of x)
//! y = l                               →     y = sum of the parts of four lanes
//! ```

use super::Mat;
use crate::lower::Lower;
use phalanx_emit_llvm::Result;
use phalanx_ir::{BinaryOp, Block, Function, Inst, MatReduceKind, Op, Scalar, Value, Var};

/// A variable of which each lane has a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partial {
    pub(super) var: Var,
    /// What gives the sums of rows that are added to it.
    pub(super) reduce: Inst,
    /// Where it is looked at to be added to.
    pub(super) load: Inst,
}

/// The variables of a function; it is known which matrices have columns that are all the same.
pub(super) fn find(f: &Function, alike: &[bool]) -> Vec<Partial> {
    (0..f.insts.len()).filter_map(|i| partial(f, alike, Inst::new(i))).collect()
}

fn partial(f: &Function, alike: &[bool], reduce: Inst) -> Option<Partial> {
    let info = f.inst(reduce);
    let Op::MatReduce { kind: MatReduceKind::Row, body } = info.op else { return None };
    if !adds(f, body) {
        return None;
    }
    let sum = only_user(f, info.results[0])?;
    let before = other(f, sum, BinaryOp::Fadd, info.results[0])?;
    let store = only_user(f, f.inst(sum).results[0])?;
    let Op::VarStore(var) = f.inst(store).op else { return None };
    let old = match f.def(before).op {
        Op::VarLoad(_) => before,
        _ => {
            only_user(f, before)?;
            let product = f.values[before.index()].def;
            let old = *f.inst(product).args.iter().find(|&&v| f.def(v).op == Op::VarLoad(var))?;
            let factor = other(f, product, BinaryOp::Fmul, old)?;
            alike[factor.index()].then_some(old)?
        }
    };
    only_user(f, old)?;
    let is_whole = f.var(var).count == 1 && !super::has_components(f, var);
    let is_single = f.var(var).ty.mat()?.elem == Scalar::F32;
    let is_zero = |v: Value| f.def(v).op == Op::MatSplat && f.const_bits(f.def(v).args[0]) == Some(0);
    // A sum of four zeros is one.
    let begins_with_zeros = (0..f.insts.len()).map(Inst::new).all(|inst| {
        let info = f.inst(inst);
        info.op != Op::VarStore(var) || inst == store || is_zero(info.args[0])
    });
    let is_own = f.def(old).op == Op::VarLoad(var);
    let load = f.values[old.index()].def;
    (is_own && is_whole && is_single && begins_with_zeros).then_some(Partial { var, reduce, load })
}

/// The other operand of an operation that is not exact.
fn other(f: &Function, inst: Inst, op: BinaryOp, v: Value) -> Option<Value> {
    let info = f.inst(inst);
    let is_it = info.op == Op::Binary(op) && !info.exact;
    match info.args[..] {
        [x, y] if is_it && x == v && y != v => Some(y),
        [x, y] if is_it && y == v && x != v => Some(x),
        _ => None,
    }
}

/// The only instruction that uses a value.
fn only_user(f: &Function, v: Value) -> Option<Inst> {
    let mut users = (0..f.insts.len()).map(Inst::new).filter(|&inst| f.inst(inst).args.contains(&v));
    let user = users.next()?;
    users.next().is_none().then_some(user)
}

/// Whether a region adds two elements and does nothing else.
fn adds(f: &Function, body: Block) -> bool {
    let [params, sum, last] = f.block(body)[..] else { return false };
    let (params, sum, last) = (f.inst(params), f.inst(sum), f.inst(last));
    let mut args = sum.args.to_vec();
    args.sort_unstable();
    sum.op == Op::Binary(BinaryOp::Fadd)
        && !sum.exact
        && params.op == Op::Params
        && args[..] == params.results[..]
        && last.op == Op::Yield
        && last.args == sum.results
}

impl<'c> Lower<'_, 'c> {
    /// What a variable holds of whose rows each lane has a part.
    pub(super) fn add_parts(&mut self, parts: &Mat<'c>) -> Result<Mat<'c>> {
        let (layout, elem) = (parts.layout, parts.elem);
        let of_row = (layout.registers() / layout.line_blocks()) as usize;
        let mut elements = self.elements(parts)?;
        for row in elements.chunks_mut(of_row) {
            let mut sum = row[0];
            for distance in [2, 1] {
                let (lane, all) = (self.lane()?, self.e.i32(u32::MAX));
                let other = self.e.xor(lane, self.e.i32(distance))?;
                let part = self.value_of_lane(all, elem, sum, other)?;
                sum = self.e.binary(BinaryOp::Fadd, elem, sum, part, true)?;
            }
            row.fill(sum);
        }
        self.pack_elements(layout, elem, &elements)
    }
}
