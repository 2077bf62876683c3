//! Matrices whose columns are all the same.
//!
//! A reduction of rows gives such, and what is computed of such without looking at the column is one again. The largest
//! element of a row of equal ones is each of them: there a reduction has nothing to exchange between lanes.

use super::prepare::looks_at_own;
use phalanx_ir::{BinaryOp, Block, Function, Inst, MatReduceKind, Op, Uniformity, Value, Var};

/// By value: whether it is a matrix whose columns are all the same, bit by bit.
pub(super) fn find(f: &Function, uniformity: &Uniformity) -> Vec<bool> {
    let is_mat = |v: Value| f.ty(v).mat().is_some();
    // What is not known to be otherwise is taken to be alike, until nothing changes: sums that a loop adds to depend on
    // themselves.
    let mut alike: Vec<bool> = (0..f.values.len()).map(|i| is_mat(Value::new(i))).collect();
    let stores = |var: Var| f.insts.iter().filter(move |info| info.op == Op::VarStore(var));
    loop {
        let known = |v: &Value| alike[v.index()] || !is_mat(*v) && uniformity.is_uniform(*v);
        let is_alike = |inst: Inst| {
            let info = f.inst(inst);
            match info.op {
                Op::MatReduce { kind, .. } => matches!(kind, MatReduceKind::Row | MatReduceKind::All),
                Op::MatMap { body } => {
                    info.args.iter().all(known)
                        && !looks_at_column(f, body)
                        && !looks_at_own(f, uniformity, body)
                }
                Op::VarLoad(var) => {
                    let is_one = f.var(var).count == 1 && !super::has_components(f, var);
                    is_one && stores(var).all(|store| store.args.last().is_some_and(known))
                }
                ref op => (op.computes() || *op == Op::MatSplat) && info.args.iter().all(known),
            }
        };
        let next: Vec<bool> =
            alike.iter().enumerate().map(|(i, &was)| was && is_alike(f.values[i].def)).collect();
        if next == alike {
            return alike;
        }
        alike = next;
    }
}

/// Whether the region for an element uses its column.
fn looks_at_column(f: &Function, body: Block) -> bool {
    let params = f.block(body).iter().find(|&&inst| f.inst(inst).op == Op::Params);
    let column = params.and_then(|&inst| f.inst(inst).results.get(1).copied());
    column.is_none_or(|column| f.insts.iter().any(|info| info.args.contains(&column)))
}

/// Whether a region combines an element with itself to the same.
pub(super) fn is_idempotent(f: &Function, body: Block) -> bool {
    let [params, combined, last] = f.block(body)[..] else { return false };
    let (params, combined, last) = (f.inst(params), f.inst(combined), f.inst(last));
    let op = matches!(
        combined.op,
        Op::Binary(
            BinaryOp::Fmax
                | BinaryOp::Fmin
                | BinaryOp::Smax
                | BinaryOp::Smin
                | BinaryOp::Umax
                | BinaryOp::Umin
        )
    );
    let mut args = combined.args.to_vec();
    args.sort_unstable();
    op && params.op == Op::Params
        && args[..] == params.results[..]
        && last.op == Op::Yield
        && last.args == combined.results
}
