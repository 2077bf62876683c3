//! Asking for the next factors while these are multiplied.
//!
//! A loop over the inner dimension brings in tiles that lie evenly in memory, a line of the cache of each row: nothing
//! that a processor foresees by itself. Where the factors of a call came from says where those of the next will come
//! from. The second cache is asked for them bit by bit, in the time of the multiplication: for a few lines of each
//! tile in each block of rows, so that the lines that the block itself needs do not have to wait.

use super::MulAddParams;
use super::panel::Operands;
use super::wishes::Wishes;
use crate::cache::{LINE, want_later};
use crate::layout::TileLayout;
use crate::transfer::Source;
use std::cell::Cell;
use std::ptr::NonNull;

/// Lines of a tile asked for in a turn.
const SHARE: usize = 4;

/// The next tiles of one factor: as many as there are now.
#[derive(Clone, Copy, Debug)]
struct Tiles {
    first: *const u8,
    /// Bytes from a tile to the next.
    step: usize,
    /// Bytes from a line of a tile to the next.
    stride: usize,
    /// The logarithm of the lines of the cache in one.
    shift: u32,
    /// All lines of the cache in a tile.
    lines: usize,
}

/// What will be wanted after a call, and how much of it was asked for.
#[derive(Debug)]
pub(crate) struct Ahead {
    a: Option<Tiles>,
    b: Option<Tiles>,
    /// Lines of each tile that were asked for: of A, then of B.
    asked: Cell<usize>,
    /// What will be read soon, if anything, and how much of it is asked for in a step of a block.
    wishes: Option<(NonNull<Wishes>, usize)>,
}

/// What is asked for in a turn: these bytes of a tile, and of those that follow it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    tile: *const u8,
    step: usize,
    lines: [usize; SHARE],
}

impl Ahead {
    /// What is wanted after a call with so many vectors of columns. Factors are, of a single chain; nothing if they do not
    /// lie evenly.
    ///
    /// # Safety
    /// The operands are as `params` describes.
    #[inline(always)]
    pub(crate) unsafe fn new(params: &MulAddParams, operands: &Operands, vectors: usize) -> Self {
        let is_chain = params.m == 1 && params.n == 1 && params.k > 1 && !params.sliced;
        let tiles = |layout: &TileLayout, tiles| {
            // SAFETY: the tiles are of the layout.
            (is_chain && layout.has_source()).then(|| unsafe { next(layout, params.k as usize, tiles) })?
        };
        let wishes = NonNull::new(operands.wishes).and_then(|mut wishes| {
            // SAFETY: they are the caller's for the time of the call.
            let left = unsafe {
                wishes.as_mut().begin();
                wishes.as_ref().left()
            };
            let turns = || {
                let group = usize::from(params.group);
                let block_rows = usize::from(params.block_rows[group - 1]);
                let blocks = vectors.div_ceil(group) * (params.rows as usize).div_ceil(block_rows);
                blocks * (params.m * params.k) as usize
            };
            (left > 0).then(|| (wishes, left.div_ceil(turns())))
        });
        let asked = Cell::new(0);
        Self { a: tiles(&params.a, operands.a), b: tiles(&params.b, operands.b), asked, wishes }
    }

    /// Whether anything is.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.a.is_some() || self.b.is_some() || self.wishes.is_some()
    }

    /// Asks for a share of what will be read soon.
    #[inline(always)]
    pub(crate) fn ask_for_wishes(&self) {
        if let Some((mut wishes, share)) = self.wishes {
            // SAFETY: they are the caller's for the time of the call, and nobody else looks at them meanwhile.
            unsafe { wishes.as_mut().ask(share) };
        }
    }

    /// The next turn, if there is any left.
    #[inline(always)]
    pub(crate) fn turn(&self) -> Option<Turn> {
        let asked = self.asked.get();
        let of_a = self.a.as_ref().map_or(0, |a| a.lines);
        let (tiles, from) = match (&self.a, &self.b) {
            (Some(a), _) if asked < of_a => (a, asked),
            (_, Some(b)) if asked - of_a < b.lines => (b, asked - of_a),
            _ => return None,
        };
        self.asked.set(asked + SHARE);
        let line = |at: usize| {
            let in_line = at & ((1 << tiles.shift) - 1);
            (at >> tiles.shift).wrapping_mul(tiles.stride).wrapping_add(in_line * LINE)
        };
        Some(Turn { tile: tiles.first, step: tiles.step, lines: std::array::from_fn(|i| line(from + i)) })
    }
}

impl Turn {
    /// Asks for the lines of a tile, and goes on to the next tile.
    #[inline(always)]
    pub(crate) fn ask(&mut self) {
        self.lines.iter().for_each(|&line| want_later(self.tile.wrapping_add(line)));
        self.tile = self.tile.wrapping_add(self.step);
    }
}

/// What follows `k` tiles, if all are as far from each other.
///
/// # Safety
/// The tiles are of the layout, which has sources.
unsafe fn next(layout: &TileLayout, k: usize, tiles: *const *const u8) -> Option<Tiles> {
    // SAFETY: a source is behind the elements, or else anything: the first two words are taken for addresses that are
    // never accessed.
    let source =
        |kt: usize| unsafe { (*tiles.add(kt)).add(layout.source()).cast::<Source>().read_unaligned() };
    let Source { first, stride, lines, bytes } = source(0);
    let step = source(1).first.addr().wrapping_sub(first.addr());
    let is_next = |kt: usize| source(kt).first == first.wrapping_add(step.wrapping_mul(kt));
    let (lines, bytes) = (lines as usize, bytes as usize);
    // Other contents than a source are not that large.
    let is_tile = lines.checked_mul(bytes) == Some(layout.elems() * layout.elem.bytes());
    let chunks = bytes / LINE;
    (is_tile && chunks.is_power_of_two() && (2..k).all(is_next)).then(|| Tiles {
        first: first.wrapping_add(step.wrapping_mul(k)),
        step,
        stride: stride as usize,
        shift: chunks.trailing_zeros(),
        lines: lines * chunks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elem::{Elem, Use};
    use crate::isa::Isa;
    use crate::mul_add::{Grid, MulAdd};
    use std::ptr::{null, null_mut, without_provenance};

    const K: usize = 4;

    /// What is wanted after a chain whose tiles of A and of B came from these addresses.
    fn ahead(a: [usize; K], b: [usize; K], turns: impl FnOnce(&Ahead)) {
        let isa = Isa::native();
        let layout = |elem, use_, rows, cols| isa.layout(elem, use_, rows, cols);
        let sum = layout(Elem::F32, Use::Accumulator, 128, 128);
        let (la, lb) = (layout(Elem::F16, Use::A, 128, 32), layout(Elem::F16, Use::B, 32, 128));
        let op = MulAdd {
            a: la,
            b: lb,
            c: sum,
            r: sum,
            a_signed: true,
            b_signed: true,
            c_signed: true,
            r_signed: true,
            saturating: false,
            relaxed: false,
            sliced: false,
            a_parts: false,
            b_parts: false,
        };
        let params = isa.plan_mul_add(&op, Grid { m: 1, n: 1, k: K as u32 }).params;
        let tile = |layout: &TileLayout, first: usize, lines: u32, bytes: u32| {
            let mut tile = vec![0xff_u8; layout.bytes()];
            let source = Source { first: without_provenance(first), stride: 4096, lines, bytes };
            // SAFETY: a source is behind the elements of a large factor.
            unsafe { tile.as_mut_ptr().add(layout.source()).cast::<Source>().write_unaligned(source) };
            tile
        };
        let tiles = [a.map(|first| tile(&la, first, 128, 64)), b.map(|first| tile(&lb, first, 32, 256))];
        let pointers = tiles.each_ref().map(|tiles| tiles.each_ref().map(|tile| tile.as_ptr()));
        let [a, b] = pointers.each_ref().map(|pointers| pointers.as_ptr());
        let operands = Operands { a, b, c: null(), r: null(), compensation: null(), wishes: null_mut() };
        // SAFETY: the factors are as the plan wants them; the others are not looked at.
        turns(&unsafe { Ahead::new(&params, &operands, 8) });
    }

    fn addresses(turn: &Turn) -> [usize; SHARE] {
        turn.lines.map(|line| turn.tile.addr().wrapping_add(line))
    }

    #[test]
    fn every_line_of_the_next_tiles_is_asked_for() {
        let even = |step: usize| std::array::from_fn(|kt| 0x10_0000 + kt * step);
        ahead(even(64), even(32 * 4096), |ahead| {
            let mut turn = ahead.turn().expect("lines of A");
            assert_eq!(addresses(&turn), [0, 4096, 8192, 12288].map(|line| 0x10_0000 + 4 * 64 + line));
            turn.ask();
            assert_eq!(addresses(&turn)[0], 0x10_0000 + 5 * 64);
            assert_eq!((1..32).filter_map(|_| ahead.turn()).count(), 31);
            let turn = ahead.turn().expect("lines of B");
            assert_eq!(addresses(&turn), [0, 64, 128, 192].map(|byte| 0x10_0000 + 128 * 4096 + byte));
            let turn = ahead.turn().expect("more");
            assert_eq!(addresses(&turn)[0], 0x10_0000 + 129 * 4096);
            assert_eq!(std::iter::from_fn(|| ahead.turn()).count(), 30);
        });
    }

    #[test]
    fn nothing_follows_what_is_not_even() {
        ahead([0x1000, 0x1040, 0x1080, 0x2000], [7, 5, 3, 1], |ahead| {
            let turn = ahead.turn().expect("lines of B");
            assert_eq!(turn.tile.addr(), 7_usize.wrapping_sub(8));
            assert_eq!(std::iter::from_fn(|| ahead.turn()).count(), 31);
        });
        ahead([1, 2, 3, 5], [9, 9, 9, 8], |ahead| assert!(ahead.turn().is_none()));
    }
}
