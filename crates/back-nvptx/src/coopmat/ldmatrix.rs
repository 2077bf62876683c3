//! Fragments from shared memory: `ldmatrix` loads up to four squares of eight lines of 16 bytes, of which each lane names
//! one, and gives each lane a word of each square, as the operands of `mma.sync` have it. Transposed, it does the same for
//! 16-bit elements whose lines run across.

use super::fragment::Memory;
use super::layout::{Calc, Layout};
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

/// Which squares are loaded together, so that their words lie in registers as instructions want them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Squares {
    /// Two blocks of lines in two steps: a left operand of `mma.sync`.
    Quad,
    /// So many, step after step and then the next block; of each block so many steps.
    Run { count: u32, steps: u32 },
}

impl Squares {
    fn of(layout: Layout) -> Self {
        let (blocks, steps) = (layout.line_blocks(), layout.steps());
        if !layout.by_cols() && blocks.is_multiple_of(2) && steps.is_multiple_of(2) {
            return Self::Quad;
        }
        let count = [4, 2].into_iter().find(|n| (blocks * steps).is_multiple_of(*n)).unwrap_or(1);
        Self::Run { count, steps: steps.min(count) }
    }

    fn count(self) -> u32 {
        match self {
            Self::Quad => 4,
            Self::Run { count, .. } => count,
        }
    }

    /// Block and step of all squares, in the order in which they are loaded.
    fn places(self, layout: Layout) -> Vec<(u32, u32)> {
        let (blocks, steps) = (layout.line_blocks(), layout.steps());
        match self {
            Self::Run { .. } => (0..blocks * steps).map(|i| (i / steps, i % steps)).collect(),
            Self::Quad => {
                let quads = (0..steps).step_by(2).flat_map(|s| (0..blocks).step_by(2).map(move |b| (b, s)));
                quads.flat_map(|(b, s)| [(b, s), (b + 1, s), (b, s + 1), (b + 1, s + 1)]).collect()
            }
        }
    }
}

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
        let squares = Squares::of(layout);
        let together = squares.count();
        let lane = self.lane()?;
        let line = Later(self).remainder(lane, LINES)?;
        let square = Later(self).quotient(lane, LINES)?;
        let square = Later(self).remainder(square, together)?;
        let (block, step) = match squares {
            Squares::Quad => (Later(self).remainder(square, 2)?, Later(self).quotient(square, 2)?),
            Squares::Run { steps, .. } => {
                (Later(self).quotient(square, steps)?, Later(self).remainder(square, steps)?)
            }
        };
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
        let mut loaded: Vec<V<'c>> = vec![start; words as usize];
        let places = squares.places(layout);
        for places in places.chunks(together as usize) {
            let (block, step) = places[0];
            let further = turned(self.e.i32(block * LINES), self.e.i32(step * 4 * width));
            let further = self.offset_in(place, further)?;
            let at = self.e.add(start, self.e.zext_trunc(further, 32)?)?;
            let found = self.assembly(&text, &results, &[at], Memory::Read)?;
            for (&(block, step), word) in places.iter().zip(found) {
                loaded[(block * steps + step) as usize] = word;
            }
        }
        Ok(loaded)
    }
}
