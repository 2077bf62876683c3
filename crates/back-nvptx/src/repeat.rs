//! Loops of the compiler's own.

use crate::lower::Lower;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::PhiValue;
use phalanx_emit_llvm::{Result, V};

impl<'c> Lower<'_, 'c> {
    /// Does something so many times, at least once, with the number of the round (`i64`) and what the last round gave;
    /// the first gets `start`.
    pub(crate) fn repeat(
        &mut self,
        count: u32,
        start: &[V<'c>],
        body: impl FnOnce(&mut Self, V<'c>, &[V<'c>]) -> Result<Vec<V<'c>>>,
    ) -> Result<Vec<V<'c>>> {
        if count == 1 {
            let first = self.e.i64(0);
            return body(self, first, start);
        }
        let [again, done] = ["again", "enough"].map(|name| self.new_block(name));
        let before = self.e.here()?;
        self.e.br(again)?;
        self.e.b.position_at_end(again);
        let round = self.carried(self.e.i64(0), before)?;
        let phis = start.iter().map(|&v| self.carried(v, before)).collect::<Result<Vec<_>>>()?;
        let state: Vec<V<'c>> = phis.iter().map(|phi| phi.as_basic_value()).collect();
        let next = body(self, round.as_basic_value(), &state)?;
        let number = self.e.add(round.as_basic_value(), self.e.i64(1))?;
        let end = self.e.here()?;
        round.add_incoming(&[(&number, end)]);
        for (phi, v) in phis.iter().zip(&next) {
            phi.add_incoming(&[(v, end)]);
        }
        let more = self.e.icmp(IntPredicate::ULT, number, self.e.i64(count.into()))?;
        self.e.cond_br(more, again, done)?;
        self.e.b.position_at_end(done);
        Ok(next)
    }

    /// What a round of a loop has from the one before; the first has a value that comes from a block.
    pub(crate) fn carried(&self, first: V<'c>, before: BasicBlock<'c>) -> Result<PhiValue<'c>> {
        let phi = self.e.b.build_phi(first.get_type(), "")?;
        phi.add_incoming(&[(&first, before)]);
        Ok(phi)
    }
}
