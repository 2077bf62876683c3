//! Sums that are loaded one after the other, or stored so, moved together.
//!
//! A tile of small matrices is loaded and stored matrix by matrix. Whether each of them lies wholly in its object would be asked
//! for each, and the code for one that does not was most of such a kernel, for LLVM and for the assembler. So they wait until
//! something comes that does more than compute an address, or move what was loaded to a variable; then it is asked once:
//!
//! ```text
//! all are easy:  load 0, load 1, ...
//! otherwise:     for each matrix { each element }, through an array in the lane's own memory
//! ```

use super::Mat;
use super::memory::{Easy, Place};
use crate::lower::{Lower, Ptr};
use inkwell::values::PointerValue;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{Inst, Op, Scalar, Space, Type, Use};

/// Most matrices that wait, as their addresses are in registers meanwhile.
const MOST: usize = 16;

/// What waits: all of one kind.
#[derive(Debug, Default)]
pub(super) struct Waiting<'c> {
    moves: Vec<Move<'c>>,
    /// Stores to variables of what is loaded.
    kept: Vec<Inst>,
}

/// A matrix that is to be moved.
#[derive(Clone, Debug)]
struct Move<'c> {
    place: Place<'c>,
    /// Whether no element has to be looked at by itself.
    is_easy: V<'c>,
    what: What<'c>,
}

#[derive(Clone, Debug)]
enum What<'c> {
    Load(Inst),
    Store(Mat<'c>),
}

impl<'c> Move<'c> {
    fn is_store(&self) -> bool {
        matches!(self.what, What::Store(_))
    }

    /// Whether one routine moves both, given their first elements and strides.
    fn is_like(&self, other: &Self) -> bool {
        let (a, b) = (&self.place, &other.place);
        let whole = |place: &Place<'c>| place.part.map(|[(_, rows), (_, cols)]| (rows, cols));
        self.is_store() == other.is_store()
            && (a.layout, a.elem, a.column_major, a.flags) == (b.layout, b.elem, b.column_major, b.flags)
            && (a.p.base, a.p.size, whole(a)) == (b.p.base, b.p.size, whole(b))
    }
}

impl<'c> Lower<'_, 'c> {
    /// Lets what waits be moved, unless an instruction can be done before.
    pub(crate) fn move_before(&mut self, inst: Inst) -> Result<()> {
        let Some(first) = self.matrices.waiting.moves.first() else { return Ok(()) };
        let f = self.f;
        let info = f.inst(inst);
        let may_pass = match info.op {
            Op::MatLoad { .. } => !first.is_store(),
            Op::MatStore { .. } => first.is_store(),
            Op::Load(flags) => !flags.volatile && f.ty(info.args[0]) == Type::Ptr(Space::Push),
            Op::VarLoad(var) => f.var(var).ty.mat().is_none() || first.is_store(),
            Op::VarStore(var) => {
                let is_loaded = |it: &Move<'_>| match it.what {
                    What::Load(load) => info.args.last() == f.inst(load).results.first(),
                    What::Store(_) => false,
                };
                f.var(var).ty.mat().is_none() || self.matrices.waiting.moves.iter().any(is_loaded)
            }
            Op::BufferPtr(_) | Op::PushPtr | Op::PtrAdd { .. } => true,
            ref op => op.computes() && !super::concerns(f, info),
        };
        if may_pass { Ok(()) } else { self.move_waiting() }
    }

    /// Lets a store to a variable wait for what it stores, if that waits itself.
    pub(super) fn keep_late(&mut self, inst: Inst) -> bool {
        let is_late = !self.matrices.waiting.moves.is_empty();
        if is_late {
            self.matrices.waiting.kept.push(inst);
        }
        is_late
    }

    /// Lets a load of sums wait; gives whether it does.
    pub(super) fn load_late(&mut self, inst: Inst, place: &Place<'c>, use_: Use) -> Result<bool> {
        self.wait(place, use_, What::Load(inst))
    }

    /// The same of a store.
    pub(super) fn store_late(&mut self, m: &Mat<'c>, place: &Place<'c>, use_: Use) -> Result<bool> {
        self.wait(place, use_, What::Store(m.clone()))
    }

    fn wait(&mut self, place: &Place<'c>, use_: Use, what: What<'c>) -> Result<bool> {
        let is_load = matches!(what, What::Load(_));
        let may_wait = use_ == Use::Accumulator
            && place.p.space == Space::Buffer
            && !place.flags.volatile
            && !(is_load && place.has_rows());
        let easy = if may_wait { self.is_easy(place, place.piece())? } else { Easy::Never };
        let Easy::If(is_easy) = easy else {
            self.move_waiting()?;
            return Ok(false);
        };
        let one = Move { place: *place, is_easy, what };
        let moves = &self.matrices.waiting.moves;
        if moves.len() == MOST || moves.first().is_some_and(|first| !first.is_like(&one)) {
            self.move_waiting()?;
        }
        self.matrices.waiting.moves.push(one);
        Ok(true)
    }

    /// Moves what waits.
    pub(crate) fn move_waiting(&mut self) -> Result<()> {
        let Waiting { moves, kept } = std::mem::take(&mut self.matrices.waiting);
        let Some((first, others)) = moves.split_first() else { return Ok(()) };
        let mut all = first.is_easy;
        for other in others {
            all = self.e.and(all, other.is_easy)?;
        }
        let words = self.either(all, |l| l.move_easily(&moves), |l| l.move_each(&moves))?;
        let mut rest = &words[..];
        for Move { place, what, .. } in &moves {
            let What::Load(inst) = *what else { continue };
            let count = (place.layout.registers() / place.layout.pack(place.elem)) as usize;
            let (words, others) = rest.split_at(count);
            rest = others;
            self.set_mat(inst, Mat { layout: place.layout, elem: place.elem, words: words.into() })?;
        }
        for inst in kept {
            self.lower_matrix(inst)?;
        }
        Ok(())
    }

    fn move_easily(&mut self, moves: &[Move<'c>]) -> Result<Vec<V<'c>>> {
        let mut words = Vec::new();
        for Move { place, what, .. } in moves {
            match what {
                What::Load(_) => words.extend(self.load_words(place)?),
                What::Store(m) => self.store_words(place, m)?,
            }
        }
        Ok(words)
    }

    fn move_each(&mut self, moves: &[Move<'c>]) -> Result<Vec<V<'c>>> {
        let place = moves[0].place;
        let registers = place.layout.registers();
        let count = moves.len() as u32;
        let array = self.array(place.elem, registers * count)?;
        for (number, it) in (0..).zip(moves) {
            if let What::Store(m) = &it.what {
                let part = self.part_of_array(&place, array, self.e.i64(number * i64::from(registers)))?;
                self.write_array(&place, part, m)?;
            }
        }
        let is_store = moves[0].is_store();
        if count == 1 {
            self.call_routine(&place, is_store, (array, false))?;
        } else {
            let ty = self.e.cx.i64_type();
            let places = self.array(Scalar::I64, 2 * count)?;
            let slot = |l: &mut Self, number: V<'c>| {
                l.e.element_ptr(ty.into(), places.into(), number).map(|at| at.into_pointer_value())
            };
            for (number, it) in (0..).zip(moves) {
                for (i, x) in (0..).zip([it.place.p.offset, it.place.stride]) {
                    let at = slot(self, self.e.i64(2 * number + i))?;
                    self.e.b.build_store(at, x)?;
                }
            }
            self.repeat(count, &[], |l, number, _| {
                let first = l.e.mul(number, l.e.i64(2))?;
                let second = l.e.add(first, l.e.i64(1))?;
                let (first, second) = (slot(l, first)?, slot(l, second)?);
                let offset = l.e.b.build_load(ty, first, "")?;
                let stride = l.e.b.build_load(ty, second, "")?;
                let start = l.e.mul(number, l.e.i64(registers.into()))?;
                let part = l.part_of_array(&place, array, start)?;
                let place = Place { p: Ptr { offset, ..place.p }, stride, ..place };
                l.call_routine(&place, is_store, (part, false))?;
                Ok(Vec::new())
            })?;
        }
        let mut words = Vec::new();
        for (number, it) in (0..).zip(moves) {
            if let What::Load(_) = it.what {
                let part = self.part_of_array(&place, array, self.e.i64(number * i64::from(registers)))?;
                words.extend(self.read_array(&place, part)?);
            }
        }
        Ok(words)
    }

    fn part_of_array(
        &mut self,
        place: &Place<'c>,
        array: PointerValue<'c>,
        first: V<'c>,
    ) -> Result<PointerValue<'c>> {
        let ty = self.e.scalar_ty(place.elem);
        self.e.element_ptr(ty, array.into(), first).map(|at| at.into_pointer_value())
    }
}
