//! Branches of a region as choices.
//!
//! The region for an element is repeated for each register of a lane, and its elements stay in registers, only where it is
//! without branches. So a branch both of whose ways do nothing but compute a few numbers, as a condition of several parts
//! becomes one, is executed both ways, and what either stores to a variable is chosen:
//!
//! ```text
//! if c { y = f(x) ; var_store<$v> y } else { var_store<$v> z }     →     y = f(x) ; var_store<$v> (c ? y : z)
//! ```

use crate::lower::{Flow, Lower};
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Block, Function, Inst, Op, Type, Value, Var};

/// Most instructions of both ways of a branch.
const MAX_CHOSEN: usize = 16;

/// How many instructions a region has; nothing if it has constructs that are no choices.
pub(super) fn instructions(f: &Function, region: Block) -> Option<usize> {
    let count = |&inst: &Inst| match f.inst(inst).op {
        Op::If { then, otherwise } => chosen(f, then, otherwise),
        ref op => op.bodies().next().is_none().then_some(1),
    };
    f.block(region).iter().map(count).sum()
}

/// How many instructions both ways of a branch have, if it is a choice.
fn chosen(f: &Function, then: Block, otherwise: Block) -> Option<usize> {
    let count = |&inst: &Inst| match f.inst(inst).op {
        Op::If { then, otherwise } => chosen(f, then, otherwise),
        _ => is_quiet(f, inst).then_some(1),
    };
    let both = [then, otherwise].into_iter().flat_map(|block| f.block(block));
    both.map(count).sum::<Option<usize>>().filter(|&count| count <= MAX_CHOSEN)
}

/// Whether an instruction may be executed where its branch is not taken: it computes a scalar, or moves one to or from a
/// variable, which waits.
fn is_quiet(f: &Function, inst: Inst) -> bool {
    let info = f.inst(inst);
    let is_scalar = |v: &Value| f.ty(*v).scalar().is_some();
    let is_whole = |var: Var, args| {
        f.var(var).count == 1 && info.args.len() == args && matches!(f.var(var).ty, Type::Scalar(_))
    };
    let does = match info.op {
        ref op if op.computes() => true,
        Op::VarLoad(var) => is_whole(var, 0),
        Op::VarStore(var) => is_whole(var, 1),
        _ => false,
    };
    does && info.args.iter().chain(&info.results).all(is_scalar)
}

/// What variables hold at the end of a way, as far as it stores to them.
type Stored<'c> = Vec<(Var, V<'c>)>;

impl<'c> Lower<'_, 'c> {
    /// An instruction of a region that [`instructions`] has counted.
    pub(super) fn straight(&mut self, inst: Inst) -> Result<Flow> {
        let Op::If { then, otherwise } = self.f.inst(inst).op else { return self.inst(inst) };
        if chosen(self.f, then, otherwise).is_none() {
            return self.inst(inst);
        }
        for (var, x) in self.choose(inst, then, otherwise, &[])? {
            self.set_whole(var, x)?;
        }
        Ok(Flow::Next)
    }

    /// Both ways of a branch, before which variables hold what `before` says.
    fn choose(
        &mut self,
        inst: Inst,
        then: Block,
        otherwise: Block,
        before: &[(Var, V<'c>)],
    ) -> Result<Stored<'c>> {
        let cond = self.scalar(self.f.inst(inst).args[0])?;
        let (yes, no) = (self.way(then, before)?, self.way(otherwise, before)?);
        let mut stored: Stored<'c> = Vec::new();
        for &(var, _) in yes.iter().chain(&no) {
            if stored.iter().any(|&(known, _)| known == var) {
                continue;
            }
            let x = self.held(var, &yes, before)?;
            let y = self.held(var, &no, before)?;
            stored.push((var, self.e.select(cond, x, y)?));
        }
        Ok(stored)
    }

    /// What a variable holds at the end of a way.
    fn held(&mut self, var: Var, way: &[(Var, V<'c>)], before: &[(Var, V<'c>)]) -> Result<V<'c>> {
        let find =
            |stored: &[(Var, V<'c>)]| stored.iter().rev().find(|(known, _)| *known == var).map(|&(_, x)| x);
        match find(way).or_else(|| find(before)) {
            Some(x) => Ok(x),
            None => self.whole(var),
        }
    }

    /// One way of a branch.
    fn way(&mut self, block: Block, before: &[(Var, V<'c>)]) -> Result<Stored<'c>> {
        let f = self.f;
        let mut stored: Stored<'c> = Vec::new();
        for &inst in f.block(block) {
            let info = f.inst(inst);
            match info.op {
                Op::VarStore(var) => stored.push((var, self.scalar(info.args[0])?)),
                Op::VarLoad(var) => {
                    let x = self.held(var, &stored, before)?;
                    self.set(inst, x);
                }
                Op::If { then, otherwise } => {
                    let before = [before, &stored].concat();
                    stored.extend(self.choose(inst, then, otherwise, &before)?);
                }
                _ if self.inst(inst)? == Flow::Left => return Err(Error::bug("a number leaves a branch")),
                _ => {}
            }
        }
        Ok(stored)
    }
}
