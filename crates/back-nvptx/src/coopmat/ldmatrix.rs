//! Fragments from shared memory: `ldmatrix` loads up to four squares of eight lines of 16 bytes, of which each lane names
//! one, and gives each lane a word of each square, as the operands of `mma.sync` have it. Transposed, it does the same for
//! 16-bit elements whose lines run across.

use super::fragment::Memory;
use super::layout::Calc;
use super::memory::Place;
use super::regroup::Later;
use crate::lower::Lower;
use inkwell::values::InstructionOpcode as I;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::Space;

/// What addresses and strides are multiples of.
pub(super) const ALIGN: u64 = 16;
/// Lines of a square.
const LINES: u32 = 8;

impl Place<'_> {
    /// Whether fragments can be loaded, if everything is inside and aligned.
    pub(super) fn has_fragments(&self) -> bool {
        let bits = self.elem.bits();
        let is_word = bits * self.layout.width() == 32;
        let fits = self.is_along() || bits == 16;
        let steps = self.layout.steps();
        let divides = steps <= 2 || steps.is_multiple_of(4);
        self.p.space == Space::Shared && !self.flags.volatile && is_word && fits && divides
    }
}

impl<'c> Lower<'_, 'c> {
    /// The words of a matrix that is inside, aligned to [`ALIGN`] and without padding.
    pub(super) fn load_fragments(&mut self, place: &Place<'c>) -> Result<Vec<V<'c>>> {
        let layout = place.layout;
        let (width, steps) = (layout.width(), layout.steps());
        let words = layout.registers() / width;
        let together = [4, 2].into_iter().find(|n| words.is_multiple_of(*n)).unwrap_or(1);
        let side_by_side = steps.min(together);
        let lane = self.lane()?;
        let line = Later(self).remainder(lane, LINES)?;
        let square = Later(self).quotient(lane, LINES)?;
        let square = Later(self).remainder(square, together)?;
        let block = Later(self).quotient(square, side_by_side)?;
        let step = Later(self).remainder(square, side_by_side)?;
        let mut across = Later(self).times(block, LINES)?;
        let mut along = Later(self).times(step, 4 * width)?;
        if place.is_along() {
            across = self.e.add(across, line)?;
        } else {
            along = self.e.add(along, line)?;
        }
        let turned = |across, along| if layout.by_cols() { (along, across) } else { (across, along) };
        let own = self.offset_in(place, turned(across, along))?;
        let start = self.place(&place.p)?;
        let start = self.e.offset(start.into(), own)?;
        let start = self.e.cast(I::PtrToInt, start, self.e.cx.i32_type())?;
        let turn = if place.is_along() { "" } else { ".trans" };
        let names = (0..together).map(|i| format!("${i}")).collect::<Vec<_>>().join(",");
        let text =
            format!("ldmatrix.sync.aligned.m8n8.x{together}{turn}.shared.b16 {{{names}}}, [${together}];");
        let results = vec![self.e.cx.i32_type().into(); together as usize];
        let mut loaded = Vec::new();
        for first in (0..words).step_by(together as usize) {
            let (across, along) = (first / steps * LINES, first % steps * 4 * width);
            let further = turned(self.e.i32(across), self.e.i32(along));
            let further = self.offset_in(place, further)?;
            let at = self.e.add(start, self.e.zext_trunc(further, 32)?)?;
            loaded.extend(self.assembly(&text, &results, &[at], Memory::Read)?);
        }
        Ok(loaded)
    }
}
