//! Accesses of several scalars in each lane, at places that do not lie evenly.
//!
//! What one lane reads or writes is a *piece*, which lies together: of a copy of `uvec4`, 16 bytes. So one load or store
//! moves it, where gathers and scatters take one element each for every scalar; shuffles put the scalars of all lanes
//! together. Pieces that are known to follow one another are moved at once.
//!
//! ```text
//! %l0 = load <4 x i32>, ptr %at0         ; lane 0:  x0 y0 z0 w0
//! %l1 = load <4 x i32>, ptr %at1         ; lane 1:  x1 y1 z1 w1
//! ...                                    ; joined to registers, whose even and odd elements are taken apart:
//! %x = <x0 x1 ...>  %y = <y0 y1 ...>
//! ```
//!
//! Where a lane's place is not known, its address is an element of a vector. Lanes that do not execute, or that are
//! outside of the object, use the address of zeros, or of a place that nobody reads. An object that ends within a piece
//! is what the rare way is for, lane by lane.

use crate::emit::{V, const_int};
use crate::error::Result;
use crate::lower::Lower;
use crate::memory::Access;
use crate::value::Val;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::PointerValue;
use phalanx_ir::{Function, Inst, Op};
use rustc_hash::FxHashSet;

/// Most bytes of one lane: as many zeros are there to be read.
const MAX_BYTES: u64 = 16;
/// Fewest bytes that are worth an access.
const MIN_BYTES: u64 = 8;

/// Fewest bytes that can be scattered.
const WORD: u64 = 4;

/// Whether so many bytes of each lane are moved by one access.
pub(crate) fn are_piece(bytes: u64) -> bool {
    (MIN_BYTES..=MAX_BYTES).contains(&bytes)
}

/// Where pieces are.
pub(crate) struct Pieces<'c> {
    pub(crate) at: Vec<PointerValue<'c>>,
    /// Lanes for each of these addresses.
    pub(crate) lanes: u32,
    /// Whether that is right: no object ends within a piece, and lanes are together that are said to be.
    pub(crate) right: V<'c>,
}

/// The scalars of all lanes that were read, and the registers of memory that they are parts of.
#[derive(Debug)]
pub(crate) struct Together<'c> {
    scalars: Vec<Val<'c>>,
    registers: Vec<V<'c>>,
}

/// The loads of which all that is read is stored as it is, and those stores.
pub(crate) fn copies(func: &Function) -> FxHashSet<Inst> {
    let mut copies = FxHashSet::default();
    for (number, info) in func.insts.iter().enumerate() {
        let (Op::Store(_), [_, values @ ..]) = (&info.op, info.args.as_slice()) else { continue };
        let Some(first) = values.first() else { continue };
        let load = func.values[first.index()].def;
        let from = func.inst(load);
        if matches!(from.op, Op::Load(_)) && from.results.as_slice() == values {
            copies.extend([load, Inst::new(number)]);
        }
    }
    copies
}

impl Access<'_> {
    /// Bytes of a lane.
    pub(crate) fn piece_bytes(&self) -> u64 {
        u64::from(self.n) * self.elem_bytes()
    }

    /// Whether the bytes of a lane can be moved at once.
    fn has_pieces(&self) -> bool {
        !self.volatile && self.n.is_power_of_two() && self.piece_bytes() <= MAX_BYTES
    }

    /// The number of accesses by which pieces at known places are moved, if they are large enough.
    pub(crate) fn known_pieces(&self, steps: &[i64], register_bytes: u64) -> Option<usize> {
        let lanes = self.run(steps, register_bytes);
        (self.has_pieces() && u64::from(lanes) * self.piece_bytes() >= MIN_BYTES)
            .then(|| steps.len() / lanes as usize)
    }

    /// Lanes whose pieces follow one another in memory, everywhere, and fit a register: a power of two.
    fn run(&self, steps: &[i64], register_bytes: u64) -> u32 {
        let bytes = self.piece_bytes();
        let follows = |lanes: usize| {
            lanes <= steps.len()
                && lanes as u64 * bytes <= register_bytes
                && steps.chunks(lanes).all(|c| (0..).zip(c).all(|(i, s)| *s == c[0] + i * bytes as i64))
        };
        let mut lanes = 1;
        while follows(2 * lanes) {
            lanes *= 2;
        }
        lanes as u32
    }
}

impl<'c> Lower<'_, 'c> {
    /// Reads pieces, if there are any.
    pub(crate) fn load_pieces(&mut self, a: &Access<'c>) -> Result<Option<Vec<Val<'c>>>> {
        // What is not executed reads zeros; of an object with bounds it may read anything.
        let is_free = a.is_bounded() || self.exec.mask.is_none();
        let zeros = self.zeros();
        // Elsewhere it is not worth the code.
        let may_run = a.is_copy || self.frames.is_in_loop();
        let ways = self.pieces(a, (is_free, may_run), zeros)?;
        if ways.is_empty() {
            return Ok(None);
        }
        if let [only] = &ways[..]
            && const_int(only.right) == Some(1)
        {
            let registers = self.read_pieces(a, only)?;
            return self.scalars_of(a, registers).map(Some);
        }
        let join = self.new_block("accessed");
        let mut read = Vec::new();
        for way in &ways {
            let other = self.begin_way(way)?;
            read.push((self.read_pieces(a, way)?, self.e.here()?));
            self.e.br(join)?;
            self.e.b.position_at_end(other);
        }
        let slow = if self.moves_by_function(a) {
            let copy = self.read_pieces_by_function(a)?;
            self.read_copy(a, copy)?
        } else {
            let slow = self.load_lane_by_lane(a)?;
            self.registers_of(a, &slow)?
        };
        read.push((slow, self.e.here()?));
        self.e.br(join)?;
        self.e.b.position_at_end(join);
        let registers = (0..read[0].0.len()).map(|i| {
            let of_way: Vec<_> = read.iter().map(|(registers, block)| (registers[i], *block)).collect();
            self.e.merge(&of_way)
        });
        let registers = registers.collect::<Result<_>>()?;
        self.scalars_of(a, registers).map(Some)
    }

    /// Writes pieces, if there are any.
    pub(crate) fn store_pieces(&mut self, a: &Access<'c>, values: &[Val<'c>]) -> Result<bool> {
        if let Some(mask) = self.exec.mask.filter(|_| self.e.caps.mask_registers)
            && let Some(way) = self.pieces_together(a)?
        {
            self.store_where_all_do(a, values, (&way, mask))?;
            return Ok(true);
        }
        let nowhere = self.spill_slot(self.e.cx.i64_type().array_type(2).into(), u32::MAX)?;
        let ways = self.pieces(a, (self.exec.mask.is_none(), a.is_copy), nowhere)?;
        if ways.is_empty() {
            return Ok(false);
        }
        let registers = self.registers_of(a, values)?;
        if let [only] = &ways[..]
            && const_int(only.right) == Some(1)
        {
            self.write_pieces(a, &registers, only)?;
            return Ok(true);
        }
        let join = self.new_block("stored");
        for way in &ways {
            let other = self.begin_way(way)?;
            self.write_pieces(a, &registers, way)?;
            self.e.br(join)?;
            self.e.b.position_at_end(other);
        }
        if self.moves_by_function(a) {
            self.write_pieces_by_function(a, &registers)?;
        } else {
            self.store_lane_by_lane(a, values)?;
        }
        self.e.br(join)?;
        self.e.b.position_at_end(join);
        Ok(true)
    }

    /// Goes to where a way is right, and gives where it is not.
    pub(crate) fn begin_way(&mut self, way: &Pieces<'c>) -> Result<BasicBlock<'c>> {
        let [inside, other] = ["inside", "edge"].map(|n| self.new_block(n));
        self.e.cond_br_likely(way.right, inside, other)?;
        self.e.b.position_at_end(inside);
        Ok(other)
    }

    /// Ways to the pieces, the best first; none if there are none. `elsewhere` is for lanes that do not execute or are
    /// outside. Without a mask and inside (`is_free`), places may be known; with `may_run`, pieces may turn out to follow
    /// one another.
    fn pieces(
        &mut self,
        a: &Access<'c>,
        (is_free, may_run): (bool, bool),
        elsewhere: PointerValue<'c>,
    ) -> Result<Vec<Pieces<'c>>> {
        if !a.has_pieces() {
            return Ok(Vec::new());
        }
        // Of a part of the lanes nothing is known.
        if is_free && let Some(way) = self.pieces_together(a)? {
            return Ok(vec![way]);
        }
        // A gather moves single scalars as fast.
        if a.n == 1 || a.piece_bytes() < MIN_BYTES {
            return Ok(Vec::new());
        }
        if self.moves_by_function(a) {
            // What is rare is the function's alone.
            return if self.prologue.is_rare {
                Ok(Vec::new())
            } else {
                Ok(vec![self.one_way(a, may_run, elsewhere)?])
            };
        }
        let offset = self.vector(a.ptr.offset)?;
        let mut whole = self.e.bool(true);
        if a.is_bounded() {
            let size = self.size_of(a)?;
            let ends_within = self.ends_within(a, offset, size)?;
            whole = self.e.not(ends_within)?;
        }
        let used = self.used_lanes(a, offset, a.piece_bytes())?;
        let mut ways = Vec::new();
        if may_run && a.ptr.base.is_uniform() {
            ways.extend(self.runs(a, offset, used)?);
        }
        ways.push(self.single_pieces(a, offset, (used, elsewhere), whole)?);
        Ok(ways)
    }

    /// The way to pieces at known places, or of groups of lanes.
    fn pieces_together(&mut self, a: &Access<'c>) -> Result<Option<Pieces<'c>>> {
        if !a.has_pieces() {
            return Ok(None);
        }
        if a.ptr.base.is_uniform()
            && a.ptr.size.is_uniform()
            && let Some(steps) = self.patterns.of(a.ptr.offset, self.w)
            && a.known_pieces(&steps, self.e.caps.register_bytes.into()).is_some()
        {
            return self.known_places(a, &steps).map(Some);
        }
        self.groups(a, a.piece_bytes())
    }

    /// Writes pieces that lie together where all lanes execute, as behind a return at the edge of a plane, and each by
    /// itself where some do.
    fn store_where_all_do(
        &mut self,
        a: &Access<'c>,
        values: &[Val<'c>],
        (way, mask): (&Pieces<'c>, V<'c>),
    ) -> Result<()> {
        let registers = self.registers_of(a, values)?;
        let all = self.e.all(mask)?;
        let right = self.e.and(way.right, all)?;
        let [together, apart, join] = ["together", "apart", "stored"].map(|n| self.new_block(n));
        self.e.cond_br_likely(right, together, apart)?;
        self.e.b.position_at_end(together);
        self.write_pieces(a, &registers, way)?;
        self.e.br(join)?;
        self.e.b.position_at_end(apart);
        if a.piece_bytes() >= WORD {
            self.scatter_pieces(a, &registers, values, mask)?;
        } else {
            self.store_lane_by_lane(a, values)?;
        }
        self.e.br(join)?;
        self.e.b.position_at_end(join);
        Ok(())
    }

    /// Writes the pieces of lanes that execute, by words of 32 or 64 bits.
    fn scatter_pieces(
        &mut self,
        a: &Access<'c>,
        registers: &[V<'c>],
        values: &[Val<'c>],
        mask: V<'c>,
    ) -> Result<()> {
        let offset = self.vector(a.ptr.offset)?;
        let done = self.new_block("scattered");
        if a.is_bounded() && a.n > 1 {
            let size = self.size_of(a)?;
            let ends_within = self.ends_within(a, offset, size)?;
            let [whole, edge] = ["inside", "edge"].map(|n| self.new_block(n));
            self.e.cond_br_likely(self.e.not(ends_within)?, whole, edge)?;
            self.e.b.position_at_end(edge);
            self.store_lane_by_lane(a, values)?;
            self.e.br(done)?;
            self.e.b.position_at_end(whole);
        }
        let used = self.used_lanes(a, offset, a.piece_bytes())?.unwrap_or(mask);
        let word = a.piece_bytes().min(2 * WORD);
        let words = (a.piece_bytes() / word) as u32;
        let ty = self.e.vec_of(self.e.int_ty(8 * word as u32).into(), self.w * words);
        let all = self.e.concat(registers.to_vec())?;
        let all = self.e.bitcast(all, ty.into())?;
        let at = self.at(&a.ptr, a.ptr.base.v, offset)?;
        for k in 0..words {
            let word = self.e.permute(all, (0..self.w).map(|lane| lane * words + k))?;
            let at = self.e.offset(at, self.e.i64(i64::from(k) * 8))?;
            self.scatter(word, at, used)?;
        }
        self.e.br(done)?;
        self.e.b.position_at_end(done);
        Ok(())
    }

    /// The way to pieces where a function takes what is rare: that they follow one another, or else that all are inside.
    fn one_way(&mut self, a: &Access<'c>, may_run: bool, elsewhere: PointerValue<'c>) -> Result<Pieces<'c>> {
        let offset = self.vector(a.ptr.offset)?;
        if may_run {
            let used = self.used_lanes(a, offset, a.piece_bytes())?;
            if let Some(run) = self.runs(a, offset, used)? {
                return Ok(run);
            }
        }
        let mut whole = self.e.bool(true);
        if a.is_bounded() {
            let inside = self.is_inside(offset, self.size_of(a)?, a.piece_bytes())?;
            let mut ends = self.e.not(inside)?;
            if let Some(mask) = self.exec.mask {
                ends = self.e.and(ends, mask)?;
            }
            whole = self.e.not(self.e.any(ends)?)?;
        }
        self.single_pieces(a, offset, (self.exec.mask, elsewhere), whole)
    }

    /// Pieces each by itself, of lanes that are used; of others something elsewhere.
    fn single_pieces(
        &mut self,
        a: &Access<'c>,
        offset: V<'c>,
        (used, elsewhere): (Option<V<'c>>, PointerValue<'c>),
        right: V<'c>,
    ) -> Result<Pieces<'c>> {
        let mut at = self.at(&a.ptr, a.ptr.base.v, offset)?;
        if let Some(used) = used {
            let elsewhere = self.e.splat(elsewhere.into(), self.w)?;
            at = self.e.select(used, at, elsewhere)?;
        }
        let at = (0..self.w).map(|l| Ok(self.e.extract_at(at, l)?.into_pointer_value()));
        Ok(Pieces { at: at.collect::<Result<_>>()?, lanes: 1, right })
    }

    /// Whether an object ends within what some lane has at one of these offsets.
    pub(crate) fn ends_within(&mut self, a: &Access<'c>, offsets: V<'c>, size: V<'c>) -> Result<V<'c>> {
        let inside = self.is_inside(offsets, size, a.piece_bytes())?;
        let begins = self.is_inside(offsets, size, a.elem_bytes())?;
        self.e.any(self.e.icmp(IntPredicate::NE, inside, begins)?)
    }

    /// The lanes that execute and of which so many bytes are inside of the object; all without a mask.
    pub(crate) fn used_lanes(&mut self, a: &Access<'c>, offset: V<'c>, bytes: u64) -> Result<Option<V<'c>>> {
        if !a.is_bounded() {
            return Ok(self.exec.mask);
        }
        let inside = self.is_inside(offset, self.size_of(a)?, bytes)?;
        Ok(Some(match self.exec.mask {
            Some(mask) => self.e.and(inside, mask)?,
            None => inside,
        }))
    }

    /// Lanes by registers, where the pieces of all that fill one turn out to follow one another: rows of a block, however
    /// far they are from each other.
    pub(crate) fn runs(
        &mut self,
        a: &Access<'c>,
        offset: V<'c>,
        used: Option<V<'c>>,
    ) -> Result<Option<Pieces<'c>>> {
        let bytes = a.piece_bytes();
        let lanes = (u64::from(self.e.caps.register_bytes) / bytes).min(self.w.into()) as u32;
        if lanes < 2 {
            return Ok(None);
        }
        let firsts = self.e.permute(offset, (0..self.w).map(|l| l - l % lanes))?;
        let steps = self.e.const_ints(64, (0..u64::from(self.w)).map(|l| l % u64::from(lanes) * bytes));
        let expected = self.e.add(firsts, steps)?;
        let mut differs = self.e.icmp(IntPredicate::NE, offset, expected)?;
        if let Some(used) = used {
            differs = self.e.or(differs, self.e.not(used)?)?;
        }
        let right = self.e.not(self.e.any(differs)?)?;
        let mut at = Vec::new();
        for first in (0..self.w).step_by(lanes as usize) {
            let offset = self.e.extract_at(offset, first)?;
            at.push(self.at(&a.ptr, a.ptr.base.v, offset)?.into_pointer_value());
        }
        Ok(Some(Pieces { at, lanes, right }))
    }

    /// Pieces at known distances from the first.
    fn known_places(&mut self, a: &Access<'c>, steps: &[i64]) -> Result<Pieces<'c>> {
        let lanes = a.run(steps, self.e.caps.register_bytes.into());
        let low = steps.iter().copied().min().unwrap_or(0);
        let high = steps.iter().copied().max().unwrap_or(0);
        let first = self.e.add(a.ptr.offset.v, self.e.i64(low))?;
        let whole = match a.is_bounded() {
            true => {
                let span = high.abs_diff(low).saturating_add(a.piece_bytes());
                self.is_inside(first, a.ptr.size.v, span)?
            }
            false => self.e.bool(true),
        };
        let at = self.at(&a.ptr, a.ptr.base.v, first)?.into_pointer_value();
        self.ask_ahead(a, at, high.abs_diff(low).saturating_add(a.piece_bytes()))?;
        let at = steps.iter().step_by(lanes as usize).map(|s| self.e.field(at, s.abs_diff(low)));
        Ok(Pieces { at: at.collect::<Result<_>>()?, lanes, right: whole })
    }

    /// Elements of a register.
    fn register_elems(&self, a: &Access<'c>) -> u32 {
        (u64::from(self.e.caps.register_bytes) / a.elem_bytes()) as u32
    }

    pub(crate) fn read_pieces(&mut self, a: &Access<'c>, pieces: &Pieces<'c>) -> Result<Vec<V<'c>>> {
        let elems = a.n * pieces.lanes;
        let ty = self.e.vec_of(self.e.scalar_ty(a.scalar), elems);
        let per_register = (self.register_elems(a) / elems).max(1) as usize;
        let mut registers = Vec::new();
        for at in pieces.at.chunks(per_register) {
            let parts = at.iter().map(|&at| self.e.load(ty, at, 1)).collect::<Result<_>>()?;
            registers.push(self.e.concat(parts)?);
        }
        Ok(registers)
    }

    /// Reads the registers of a copy in which the scalars of each lane follow one another.
    fn read_copy(&mut self, a: &Access<'c>, copy: PointerValue<'c>) -> Result<Vec<V<'c>>> {
        let total = a.n * self.w;
        let length = self.register_elems(a).min(total);
        let ty = self.e.vec_of(self.e.scalar_ty(a.scalar), length);
        let registers = (0..total).step_by(length as usize).map(|first| {
            let at = self.e.field(copy, u64::from(first) * a.elem_bytes())?;
            self.e.load(ty, at, 1)
        });
        registers.collect()
    }

    /// The scalars in registers in which those of each lane follow one another.
    fn scalars_of(&mut self, a: &Access<'c>, registers: Vec<V<'c>>) -> Result<Vec<Val<'c>>> {
        let mut scalars = Vec::new();
        for parts in self.take_apart(registers.clone(), a.n)? {
            scalars.push(Val::varying(self.e.concat(parts)?));
        }
        self.together.insert(scalars[0].v, Together { scalars: scalars.clone(), registers });
        Ok(scalars)
    }

    /// Notes the scalars of a vector in which those of each lane follow one another.
    pub(crate) fn are_together(&mut self, a: &Access<'c>, all: V<'c>, scalars: &[Val<'c>]) -> Result<()> {
        let (total, length) = (a.n * self.w, self.register_elems(a).min(a.n * self.w));
        let registers = (0..total).step_by(length as usize);
        let registers = registers.map(|first| self.e.permute(all, first..first + length));
        let registers = registers.collect::<Result<_>>()?;
        self.together.insert(scalars[0].v, Together { scalars: scalars.to_vec(), registers });
        Ok(())
    }

    /// The reverse of [`scalars_of`](Self::scalars_of): of scalars that were read together, the registers they were
    /// taken from, so that a copy shuffles nothing.
    pub(crate) fn registers_of(&mut self, a: &Access<'c>, values: &[Val<'c>]) -> Result<Vec<V<'c>>> {
        if let Some(together) = values.first().and_then(|first| self.together.get(&first.v))
            && together.scalars == values
        {
            return Ok(together.registers.clone());
        }
        let length = self.register_elems(a).min(self.w);
        let mut scalars = Vec::new();
        for &value in values {
            let v = self.vector(value)?;
            let parts = (0..self.w).step_by(length as usize);
            let parts = parts.map(|i| self.e.permute(v, i..i + length)).collect::<Result<Vec<_>>>()?;
            scalars.push(parts);
        }
        self.put_together(scalars, self.register_elems(a))
    }

    pub(crate) fn write_pieces(
        &mut self,
        a: &Access<'c>,
        registers: &[V<'c>],
        pieces: &Pieces<'c>,
    ) -> Result<()> {
        let elems = a.n * pieces.lanes;
        let mut at = pieces.at.iter();
        for &register in registers {
            let length = register.get_type().into_vector_type().get_size();
            for (first, &at) in (0..length).step_by(elems as usize).zip(&mut at) {
                let piece = self.e.permute(register, first..first + elems)?;
                self.e.store(piece, at, 1)?;
            }
        }
        Ok(())
    }
}
