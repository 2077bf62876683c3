//! Products that are left out, which producers do not know of.
//!
//! ```text
//! block @next {
//!   …
//!   if %nothing_to_see { br @next }      producers go on
//!   %k = mat_load …                      and bring this,
//!   %s = mat_mul_add %q, %k, %zero
//!   %v = mat_load …                      and this
//!   %o = mat_mul_add %p, %v, %sums
//! }
//! ```
//!
//! A program may learn from what it computes that a round has nothing to multiply: attention does, of a mask. Producers do not
//! compute, and go on as if it were otherwise; who multiplies waits for the slots of the round and gives them back as they
//! are. What is brought in vain is looked up in buffers, whose ends are known.

use super::plan::{Places, Plan, covers};
use crate::lower::Lower;
use phalanx_emit_llvm::Result;
use phalanx_ir::{Block, Inst, Op, Space, Type, Value, Var};

/// A branch behind a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    pub(super) branch: Inst,
    /// The block.
    body: Block,
    /// How many products stand behind it there.
    products: usize,
}

impl Skip {
    /// The branch that an instruction is, if it leaves a block and is not inside of a region.
    pub(super) fn of(places: &Places<'_>, branch: Inst, to: Inst) -> Option<Self> {
        let Op::Block { body, .. } = places.f.inst(to).op else { return None };
        Some(Self { branch, body, products: 0 })
    }

    /// The statement of the block that holds the branch.
    fn statement(&self, places: &Places<'_>) -> Option<Inst> {
        let all = std::iter::once(self.branch).chain(places.around(self.branch));
        all.into_iter().find(|&inst| places.of[inst.index()].is_some_and(|(block, _)| block == self.body))
    }

    /// The numbers of what comes behind the branch in its block.
    fn behind(&self, places: &Places<'_>) -> Option<std::ops::Range<usize>> {
        let (_, number) = places.of[self.statement(places)?.index()]?;
        Some(number..places.end[self.body.index()])
    }
}

/// Makes a plan one in which products may be left out; nothing if it can't be one.
pub(super) fn settle(places: &Places<'_>, plan: &mut Plan) -> Option<()> {
    let f = places.f;
    // Each product is waited for where it is, so that no slot is kept while others are given back.
    for stream in &mut plan.streams {
        stream.is_chained = false;
    }
    plan.settles.iter_mut().for_each(Vec::clear);
    for skip in &mut plan.skips {
        let behind = skip.behind(places)?;
        let is_in_block = |inst: Inst| places.of[inst.index()].is_some_and(|(block, _)| block == skip.body);
        let is_inside = |inst: Inst| {
            let end = places.end[skip.body.index()];
            let first = f.block(skip.body).first().and_then(|&inst| places.of[inst.index()]);
            let number = places.of[inst.index()];
            number.zip(first).is_some_and(|((_, n), (_, first))| (first..end).contains(&n))
        };
        // As many are left out as stand there.
        let products: Vec<Inst> = plan.streams.iter().map(|stream| stream.mul_add).collect();
        if !products.iter().all(|&product| is_in_block(product) || !is_inside(product)) {
            return None;
        }
        let left_out = places.order.get(behind)?;
        let produced = left_out.iter().copied().filter(|inst| plan.is_produced[inst.index()]);
        for inst in produced {
            let info = f.inst(inst);
            let is_address = |v: &Value| f.ty(*v) == Type::Ptr(Space::Global);
            if info.args.iter().any(is_address) {
                return None;
            }
            if let Op::VarStore(var) = info.op {
                is_temporary(places, skip, left_out, var).then_some(())?;
            }
        }
        skip.products = left_out.iter().filter(|inst| products.contains(inst)).count();
    }
    Some(())
}

/// Whether what a variable holds is made behind a branch and looked at nowhere else, so that it does not matter whether it was
/// left out.
fn is_temporary(places: &Places<'_>, skip: &Skip, left_out: &[Inst], var: Var) -> bool {
    let f = places.f;
    let touches = |&&inst: &&Inst| f.inst(inst).op.vars().any(|(v, _)| v == var);
    let mut all = places.order.iter().filter(touches);
    let statements = || f.block(skip.body).iter().filter(|&inst| left_out.contains(inst));
    let covering = statements().find(|&&inst| covers(f, inst, var, &mut Vec::new()));
    let number = |inst: Inst| places.of[inst.index()].map(|(_, number)| number);
    let Some(first) = covering.and_then(|&inst| number(inst)) else { return false };
    all.all(|&inst| left_out.contains(&inst) && number(inst).is_some_and(|number| number >= first))
}

impl Lower<'_, '_> {
    /// Where those that multiply leave a block: gives back what producers have brought for the rest of it.
    pub(super) fn leave_out(&mut self, branch: Inst) -> Result<()> {
        let skip = self.ring()?.plan.skips.iter().find(|skip| skip.branch == branch);
        let products = skip.map_or(0, |skip| skip.products);
        (0..products).try_for_each(|_| self.give_back_unused())
    }
}
