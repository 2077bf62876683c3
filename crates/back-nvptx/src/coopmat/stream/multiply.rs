//! `wgmma`: four warps multiply 64 rows by up to 256 columns from shared memory.
//!
//! A factor is told by a *matrix descriptor*, PTX ISA, *Asynchronous Warpgroup Level Matrix Shared Memory Layout*: where it
//! begins, how far it is to the next eight lines and to the next piece of lines, and how words change places. The sums are
//! in registers as those of `mma.sync` are, 16 rows of each warp.
//!
//! The instruction goes on by itself. Its sums are not looked at before it is waited for; of a stream that is chained
//! that is behind its loop.

use super::plan::MAX_COLUMNS;
use super::slot::{Part, ROWS};
use crate::coopmat::Mat;
use crate::coopmat::fragment::Memory;
use crate::coopmat::layout::{Kind, Layout};
use crate::coopmat::mma::SUMS;
use crate::coopmat::round::Round;
use crate::lower::Lower;
use inkwell::values::PointerValue;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{BinaryOp, Inst, MulAddFlags, Op, Scalar, Use, Value};
use std::ops::Range;

/// Waits until all multiplications have ended.
pub(super) const WAIT_FOR_ALL: &str = "wgmma.wait_group.sync.aligned 0;";
/// Waits until all but what was begun last have ended.
const WAIT_FOR_ALL_BUT_ONE: &str = "wgmma.wait_group.sync.aligned 1;";
/// Before registers that were looked at are multiplied or added to.
pub(crate) const FENCE: &str = "wgmma.fence.sync.aligned;";
/// Behind what is waited for together.
const COMMIT: &str = "wgmma.commit_group.sync.aligned;";
/// Bytes along K of an instruction.
const DEPTH: u32 = 32;
/// Bits of an address in shared memory that a descriptor has, and some that are zero.
const ADDRESS_BITS: u32 = 0x3ffff;
/// Instructions along K whose sums are added to those of others by additions: of floats of 8 bits 128 products.
const PART_STEPS: u32 = 4;
/// Most columns of which there are such sums at a time.
const PART_COLUMNS: u32 = 128;

impl Part {
    /// The descriptor of a factor without its address.
    pub(crate) fn descriptor(&self) -> u64 {
        let mode: u64 = match self.span {
            128 => 1,
            64 => 2,
            _ => 3,
        };
        let eight_lines = u64::from(8 * self.span / 16);
        let next_piece = u64::from(self.piece_bytes() / 16);
        // Along K the distance of pieces is not looked at: an instruction is not deeper than one.
        next_piece << 16 | eight_lines << 32 | mode << 62
    }

    /// Bytes to what begins so many rows or columns, and so many steps along K, further.
    pub(crate) fn step(&self, across: u32, step: u32) -> u32 {
        let along = match self.along_k {
            true => step * DEPTH,
            false => across * self.m.elem.bytes(),
        };
        let lines = match self.along_k {
            true => across,
            false => step * DEPTH / self.m.elem.bytes(),
        };
        along / self.span * self.piece_bytes() + along % self.span + lines * self.span
    }
}

/// What is multiplied.
struct Factors<'c> {
    left: Left<'c>,
    /// The right factor, and its descriptor.
    b: Part,
    right: V<'c>,
    /// Blocks of 16 rows that a warp has.
    rows: u32,
    /// Elements along K.
    depth: u32,
    /// How a warp holds the sums.
    layout: Layout,
    /// Of the factors and the sums.
    types: [Scalar; 3],
    flags: MulAddFlags,
}

impl Factors<'_> {
    /// The instruction for so many columns.
    fn name(&self, columns: u32) -> String {
        let ([a, b, sums], flags) = (self.types, self.flags);
        let depth = DEPTH / a.bytes();
        let sign = |is_signed| if is_signed { "s8" } else { "u8" };
        let types = match a {
            Scalar::F16 if sums == Scalar::F16 => "f16.f16.f16".to_owned(),
            Scalar::F16 => "f32.f16.f16".to_owned(),
            Scalar::BF16 => "f32.bf16.bf16".to_owned(),
            Scalar::E4M3 | Scalar::E5M2 => format!("f32.{a}.{b}"),
            _ => format!("s32.{}.{}", sign(flags.a_signed), sign(flags.b_signed)),
        };
        format!("wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{types}")
    }

    /// Which words of the sums an instruction adds to, in its order: of eight columns the upper eight rows and the lower.
    fn places(&self, block: u32, first: u32, columns: u32) -> Vec<usize> {
        let (layout, steps) = (&self.layout, self.layout.steps());
        let in_step = layout.width() / layout.pack(self.types[2]);
        let mut places = Vec::new();
        for step in first / 8..(first + columns) / 8 {
            for row in [2 * block, 2 * block + 1] {
                places.extend((0..in_step).map(|j| ((row * steps + step) * in_step + j) as usize));
            }
        }
        places
    }

    /// What follows the operands of an instruction.
    fn modifiers(&self) -> String {
        let turned = |part: &Part| format!(", {}", u32::from(!part.along_k));
        match self.b.m.elem {
            Scalar::I8 => String::new(),
            Scalar::E4M3 | Scalar::E5M2 => ", 1, 1".to_owned(),
            _ => match &self.left {
                Left::Slot(a, _) => format!(", 1, 1{}{}", turned(a), turned(&self.b)),
                Left::Registers(_) => format!(", 1, 1{}", turned(&self.b)),
            },
        }
    }

    /// Instructions along K.
    fn steps(&self) -> u32 {
        self.depth * self.b.m.elem.bytes() / DEPTH
    }
}

/// A left factor.
enum Left<'c> {
    /// In a slot, with its descriptor.
    Slot(Part, V<'c>),
    /// In registers: those of eight rows of a warp behind those of the eight above, of which each step has one.
    Registers(Vec<V<'c>>),
}

/// Words of which some have changed.
fn reordered<'c>(words: &[V<'c>], places: &[usize], new: &[V<'c>]) -> Vec<V<'c>> {
    let mut words = words.to_vec();
    for (&i, &word) in places.iter().zip(new) {
        words[i] = word;
    }
    words
}

impl<'c> Lower<'_, 'c> {
    /// Multiplies the factors in the slot.
    pub(super) fn multiply_slot(&mut self, inst: Inst, stream: usize) -> Result<()> {
        let plan = &self.ring()?.plan;
        let (turns, delay) = (plan.turns, plan.delay);
        let stream = &plan.streams[stream];
        let (is_chained, is_promoted) = (stream.is_chained, stream.is_promoted());
        let is_in_slot = stream.a.is_some();
        let c = self.mat_in(self.f.inst(inst).args[2], SUMS)?;
        let kept = if is_in_slot { Vec::new() } else { self.left_registers(self.f.inst(inst).args[0])? };
        if delay.is_some_and(|delay| delay.second == inst) {
            self.put_off(&kept)?;
            return self.set_mat(inst, c);
        }
        let puts_off = delay.is_some_and(|delay| delay.first == inst);
        self.ask()?;
        let at = self.ring()?.at;
        self.wait_full_at(at)?;
        if puts_off {
            // Boxes that were asked for first may come last.
            self.wait_for_delayed()?;
        }
        if puts_off || turns.is_some_and(|turns| turns.second == inst) {
            self.take_turn()?;
        }
        let left = Some(&kept[..]).filter(|_| !is_in_slot);
        if is_promoted {
            let factors = self.factors(inst, at, left)?;
            let words = self.multiply_by_parts(&factors, &c.words, &kept)?;
            return self.set_mat(inst, Mat { words: words.into(), ..c });
        }
        if is_chained {
            let words = self.begin_chained(inst, at, &c.words)?;
            self.release_before()?;
            return self.set_mat(inst, Mat { words: words.into(), ..c });
        }
        self.action(FENCE, &[])?;
        let mut words = self.begin(inst, at, left, &c.words)?;
        self.action(COMMIT, &[])?;
        if puts_off {
            self.begin_delayed()?;
        }
        if turns.is_some_and(|turns| turns.first == inst) {
            self.give_turn()?;
        }
        let wait = if puts_off { WAIT_FOR_ALL_BUT_ONE } else { WAIT_FOR_ALL };
        words = self.update(wait, &words, &kept)?;
        self.release_before()?;
        self.release()?;
        self.set_mat(inst, Mat { words: words.into(), ..c })
    }

    /// The factors of a product that are in a slot, or a left factor in registers.
    fn factors(
        &mut self,
        inst: Inst,
        at: [PointerValue<'c>; 2],
        left: Option<&[V<'c>]>,
    ) -> Result<Factors<'c>> {
        let Op::MatMulAdd(flags) = self.f.inst(inst).op else {
            return Err(Error::bug("a stream multiplies"));
        };
        let of_inst = self.ring()?.plan.streams.iter().position(|stream| stream.mul_add == inst);
        let stream = of_inst.ok_or_else(|| Error::bug("a product of no stream"))?;
        let a = self.mat_ty(self.f.inst(inst).args[0])?;
        let c = self.mat_ty(self.f.inst(inst).args[2])?;
        let layout = self.share_of(c).layout.with(SUMS);
        let (b, b_at) = self.part(stream, Use::B)?;
        let slot = self.address_of_slot(at[0])?;
        let left = match (left, self.ring()?.plan.streams[stream].a) {
            (Some(words), _) => Left::Registers(words.to_vec()),
            (None, Some(part)) => {
                let at = self.staying(stream)?.unwrap_or(slot);
                self.left_in_slot(part, at)?
            }
            _ => return Err(Error::bug("a product without a left factor")),
        };
        let right = self.matrix_descriptor(&b, slot, b_at)?;
        let rows = a.rows / 16 / self.ir.num_subgroups();
        let types = [a.elem, b.m.elem, c.elem];
        Ok(Factors { left, right, b, rows, depth: a.cols, layout, types, flags })
    }

    /// The products of a slot whose left factor is in it, too; and which words of the sums they are added to, in their
    /// order.
    fn round(&mut self, inst: Inst, at: [PointerValue<'c>; 2]) -> Result<(Round<'c>, Vec<usize>)> {
        let factors = self.factors(inst, at, None)?;
        let Left::Slot(a, left) = factors.left else {
            return Err(Error::bug("a chain has both factors in slots"));
        };
        let (b, columns) = (factors.b, factors.b.m.cols.min(MAX_COLUMNS));
        let (mut parts, mut places) = (Vec::new(), Vec::new());
        for block in 0..factors.rows {
            for first in (0..b.m.cols).step_by(columns as usize) {
                parts.push([a.step(block * ROWS, 0) / 16, b.step(first, 0) / 16]);
                places.extend(factors.places(block, first, columns));
            }
        }
        let round = Round {
            instruction: factors.name(columns),
            modifiers: factors.modifiers(),
            factors: [self.e.zext_trunc(left, 32)?, self.e.zext_trunc(factors.right, 32)?],
            high: [a, b].map(|part| (part.descriptor() >> 32) as u32),
            parts,
            steps: (0..factors.steps()).map(|step| [a.step(0, step) / 16, b.step(0, step) / 16]).collect(),
        };
        Ok((round, places))
    }

    /// Begins a product that is added to sums of the rounds before, which may be under way.
    fn begin_chained(&mut self, inst: Inst, at: [PointerValue<'c>; 2], sums: &[V<'c>]) -> Result<Vec<V<'c>>> {
        let (round, places) = self.round(inst, at)?;
        let old: Vec<V<'c>> = places.iter().map(|&i| sums[i]).collect();
        let adds = self.adds_to_sums()?;
        let new = self.begin_round(&round, &old, adds)?;
        self.action("wgmma.wait_group.sync.aligned 1;", &[])?;
        Ok(reordered(sums, &places, &new))
    }

    /// Begins a product with the factors in a slot, or with a left factor in registers.
    pub(super) fn begin(
        &mut self,
        inst: Inst,
        at: [PointerValue<'c>; 2],
        left: Option<&[V<'c>]>,
        sums: &[V<'c>],
    ) -> Result<Vec<V<'c>>> {
        let factors = self.factors(inst, at, left)?;
        let mut words = sums.to_vec();
        let columns = factors.b.m.cols.min(MAX_COLUMNS);
        let text = factors.name(columns);
        for block in 0..factors.rows {
            for first in (0..factors.b.m.cols).step_by(columns as usize) {
                let places = factors.places(block, first, columns);
                let sums: Vec<V<'c>> = places.iter().map(|&i| words[i]).collect();
                let sums = self.wgmma(&text, &factors, [block, first], 0..factors.steps(), Ok(&sums))?;
                for (&i, sum) in places.iter().zip(sums) {
                    words[i] = sum;
                }
            }
        }
        Ok(words)
    }

    /// Multiplies so that the sums of a part of K are added to the others by additions of their own. Another group of
    /// warps multiplies meanwhile.
    fn multiply_by_parts(
        &mut self,
        factors: &Factors<'c>,
        sums: &[V<'c>],
        kept: &[V<'c>],
    ) -> Result<Vec<V<'c>>> {
        let all = factors.b.m.cols;
        let columns = (16..=PART_COLUMNS).rev().step_by(16).find(|columns| all.is_multiple_of(*columns));
        let columns = columns.ok_or_else(|| Error::bug("columns are multiples of 16"))?;
        let text = factors.name(columns);
        let mut words = sums.to_vec();
        let (rows, steps, [_, _, elem]) = (factors.rows, factors.steps(), factors.types);
        for block in 0..rows {
            for first in (0..all).step_by(columns as usize) {
                let places = factors.places(block, first, columns);
                for start in (0..steps).step_by(PART_STEPS as usize) {
                    let end = steps.min(start + PART_STEPS);
                    self.action(FENCE, &[])?;
                    let part = self.wgmma(&text, factors, [block, first], start..end, Err(columns / 2))?;
                    self.action(COMMIT, &[])?;
                    let part = self.update(WAIT_FOR_ALL, &part, kept)?;
                    if (block, first, end) == (rows - 1, all - columns, steps) {
                        self.release_before()?;
                        self.release()?;
                    }
                    for (&i, x) in places.iter().zip(part) {
                        words[i] = self.e.binary(BinaryOp::Fadd, elem, words[i], x, true)?;
                    }
                }
            }
        }
        Ok(words)
    }

    /// The registers of a left factor.
    fn left_registers(&mut self, a: Value) -> Result<Vec<V<'c>>> {
        let width = 4 / self.mat_ty(a)?.elem.bytes();
        let m = self.mat_in(a, Kind::Fragments { by_cols: false, width })?;
        Ok(m.words.to_vec())
    }

    /// A left factor in a slot.
    fn left_in_slot(&mut self, part: Part, slot: V<'c>) -> Result<Left<'c>> {
        let group = self.ring()?.group.ok_or_else(|| Error::bug("a thread of no group multiplies"))?;
        let blocks = self.e.mul(group, self.e.i32(part.blocks * ROWS))?;
        let of_group = match part.along_k {
            true => self.e.mul(blocks, self.e.i32(part.span))?,
            false => self.e.mul(blocks, self.e.i32(part.step(ROWS, 0) / ROWS))?,
        };
        let at = self.e.add(slot, of_group)?;
        Ok(Left::Slot(part, self.matrix_descriptor(&part, at, 0)?))
    }

    /// Which group of four warps this thread is of, known to be the same for the warp.
    pub(super) fn find_group(&mut self) -> Result<V<'c>> {
        let thread = self.thread()?;
        let group = self.e.lshr(thread, self.e.i32(7))?;
        let (all, first, within) = (self.e.i32(u32::MAX), self.e.i32(0), self.e.i32(31));
        self.e.intrinsic("llvm.nvvm.shfl.sync.idx.i32", &[], &[all, group, first, within])
    }

    /// The descriptor of a factor in a slot.
    fn matrix_descriptor(&mut self, part: &Part, slot: V<'c>, offset: u32) -> Result<V<'c>> {
        let at = self.e.add(slot, self.e.i32(offset))?;
        // In a cluster bits above say whose memory it is.
        let at = self.e.and(at, self.e.i32(ADDRESS_BITS))?;
        let at = self.e.lshr(at, self.e.i32(4))?;
        let at = self.e.zext_trunc(at, 64)?;
        self.e.or(at, self.e.i64(part.descriptor().cast_signed()))
    }

    /// Multiplies steps of a block of the left factor by columns from a first one on, and adds to sums, or gives as many sums.
    /// All steps are one piece of assembly, as LLVM has to look at each of its operands.
    fn wgmma(
        &mut self,
        name: &str,
        factors: &Factors<'c>,
        [block, first]: [u32; 2],
        range: Range<u32>,
        sums: std::result::Result<&[V<'c>], u32>,
    ) -> Result<Vec<V<'c>>> {
        let (b, steps) = (&factors.b, factors.steps());
        // Sums that are changed are numbered twice.
        let held = sums.map_or_else(|count| count as usize, <[V<'c>]>::len);
        let inputs = sums.map_or(held, |_| 2 * held);
        let more = factors.modifiers();
        let names = (0..held).map(|i| format!("${i}")).collect::<Vec<_>>().join(",");
        let (mut args, mut text) = (Vec::new(), String::new());
        for step in range.clone() {
            let n = inputs + args.len();
            let right = self.e.add(factors.right, self.e.i64(i64::from(b.step(first, step) / 16)))?;
            let factor = match &factors.left {
                Left::Slot(a, descriptor) => {
                    let further = i64::from(a.step(block * ROWS, step) / 16);
                    args.push(self.e.add(*descriptor, self.e.i64(further))?);
                    format!("${n}")
                }
                Left::Registers(words) => {
                    // Eight rows, the eight below, and both once more for the second half of the step.
                    let at = |half: u32, row: u32| (((2 * block + row) * steps + step) * 2 + half) as usize;
                    args.extend([at(0, 0), at(0, 1), at(1, 0), at(1, 1)].map(|i| words[i]));
                    format!("{{${n},${},${},${}}}", n + 1, n + 2, n + 3)
                }
            };
            let y = inputs + args.len();
            args.push(right);
            let is_new = u32::from(sums.is_err() && step == range.start);
            let line = format!(
                "{{ .reg .pred p; setp.eq.u32 p, {is_new}, 0; {name} {{{names}}}, {factor}, ${y}, p{more}; }}"
            );
            text.push_str(if text.is_empty() { "" } else { "\n\t" });
            text.push_str(&line);
        }
        match sums {
            Ok(sums) => self.update(&text, sums, &args),
            Err(_) => self.assembly(&text, &vec![self.e.cx.f32_type().into(); held], &args, Memory::Write),
        }
    }

    /// Waits for all multiplications, after which sums are there.
    pub(crate) fn wait_for_sums(&mut self, sums: &[V<'c>], left: &[V<'c>]) -> Result<Vec<V<'c>>> {
        self.update(WAIT_FOR_ALL, sums, left)
    }

    /// An instruction of PTX that changes registers.
    pub(super) fn update(&mut self, text: &str, registers: &[V<'c>], args: &[V<'c>]) -> Result<Vec<V<'c>>> {
        let results: Vec<_> = registers.iter().map(V::get_type).collect();
        self.assembly(text, &results, &[registers, args].concat(), Memory::Update(registers.len()))
    }
}
