//! An addend that is asked for before it is added.
//!
//! What is added behind a loop all work-groups want at about the same time, and memory is idle before. So each warp asks the
//! second cache for its part of the addend while products go on: a lane in each of the first rounds for a piece of a row.
//! All at once would keep what producers copy waiting.

use super::late::{Late, Lowered};
use crate::coopmat::layout::{LANES, Layout};
use crate::coopmat::memory::Easy;
use crate::coopmat::regroup::Later;
use crate::lower::Lower;
use inkwell::values::{InstructionOpcode as I, PointerValue};
use phalanx_emit_llvm::{Error, Result};
use phalanx_ir::distribution::Calc;
use phalanx_ir::{Inst, Op};

/// What the copies of the instruction are multiples of, and where they begin.
const ALIGN: u32 = 16;

/// What a lane asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asks<'c> {
    /// How many rounds there are before the one in which it does; none where it does not.
    turn: PointerValue<'c>,
    /// The address.
    at: PointerValue<'c>,
    /// Lanes that share a row.
    lanes: u32,
    bytes: u32,
}

impl<'c> Lower<'_, 'c> {
    /// Before a loop: finds out what is asked for in its rounds.
    pub(super) fn start_asking(&mut self, late: &Late) -> Result<()> {
        let (Layout { rows, cols, .. }, elem) = self.held_by(late.var)?;
        if rows == 0 || !LANES.is_multiple_of(rows) {
            return Ok(());
        }
        let lanes = LANES / rows;
        let bytes = cols * elem.bytes() / lanes;
        if !cols.is_multiple_of(lanes) || !bytes.is_multiple_of(ALIGN) {
            return Ok(());
        }
        let (turn, at) = (self.reserve(self.e.cx.i32_type())?, self.reserve(self.e.cx.i64_type())?);
        self.e.b.build_store(turn, self.e.i32(u32::MAX))?;
        self.e.b.build_store(at, self.e.i64(0))?;
        let asks = Asks { turn, at, lanes, bytes };
        self.lower_statements(late, Lowered::Asked(asks))?;
        if let Some(ring) = &mut self.ring {
            ring.asks = Some(asks);
        }
        Ok(())
    }

    /// Where an addend is loaded: what this lane asks for of it.
    pub(super) fn find_part(&mut self, inst: Inst, asks: Asks<'c>) -> Result<()> {
        let info = self.f.inst(inst);
        let Op::MatLoad { column_major, flags } = info.op else {
            return Err(Error::bug("what is asked for is loaded"));
        };
        let m = self.mat_ty(info.results[0])?;
        let place = self.mat_place(info.args[0], info.args[1], column_major, flags, m)?;
        let lane = self.lane()?;
        let turn = match self.is_easy(&place, ALIGN.into())? {
            Easy::Always => lane,
            Easy::Never => return Ok(()),
            Easy::If(easy) => self.e.select(easy, lane, self.e.i32(u32::MAX))?,
        };
        let row = Later(self).quotient(lane, asks.lanes)?;
        let col = Later(self).remainder(lane, asks.lanes)?;
        let col = Later(self).times(col, place.layout.cols / asks.lanes)?;
        let further = self.offset_in(&place, (row, col))?;
        let start = self.place(&place.p)?;
        let at = self.e.offset(start.into(), further)?;
        let at = self.e.cast(I::PtrToInt, at, self.e.cx.i64_type())?;
        self.e.b.build_store(asks.turn, turn)?;
        self.e.b.build_store(asks.at, at)?;
        Ok(())
    }

    /// In each round: asks, if it is this lane's turn.
    pub(super) fn ask(&mut self) -> Result<()> {
        let Some(Asks { turn, at, bytes, .. }) = self.ring()?.asks else { return Ok(()) };
        let at = self.e.b.build_load(self.e.cx.i64_type(), at, "")?;
        let rounds = self.number(turn)?;
        let text = format!(
            "{{ .reg .pred p; setp.eq.s32 p, $0, 0; @p cp.async.bulk.prefetch.L2.global [$1], {bytes}; }}"
        );
        self.action(&text, &[rounds, at])?;
        let rounds = self.e.sub(rounds, self.e.i32(1))?;
        self.e.b.build_store(turn, rounds)?;
        Ok(())
    }
}
