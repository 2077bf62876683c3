//! Factors that are copied in boxes.
//!
//! A factor whose lines lie in one buffer, the same distance apart in the whole dispatch, is told to the hardware by a *tensor
//! map*, which the host makes for each launch ([`Map`]). One thread then asks for boxes of it (PTX ISA,
//! *cp.async.bulk.tensor*), whose words change places in shared memory as those of a slot do ([`super::slot`]), where all
//! producers would copy word by word. The copies arrive at the word of the slot by themselves, of which it is said before how
//! many bytes it waits for.
//!
//! Two work-groups of a cluster that copy the same factor copy half of it each, to both ([`super::cluster`]).

use super::fill::Source;
use super::plan::{Places, Plan};
use super::slot::Part;
use crate::abi::{self, Layout, Map, Stride};
use crate::coopmat::fragment::Memory;
use crate::lower::Lower;
use inkwell::IntPredicate;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{BinaryOp, ConvertKind, Function, Inst, Module, Op, Scalar, Use, Value};

/// Most lines of a box.
const MAX_LINES: u32 = 256;
/// Rows of a left factor that stay together where warps have several blocks.
const BLOCK_ROWS: u32 = 16;

/// The tensor maps of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Boxes {
    pub(crate) maps: Vec<Map>,
    /// What is copied by one, and its number.
    of: Vec<(Inst, usize)>,
}

impl Boxes {
    /// The maps for what producers of a plan load.
    pub(super) fn of(ir: &Module, places: &Places<'_>, plan: &Plan) -> Self {
        let mut boxes = Self::default();
        let most = Layout::of(ir).room_for_maps();
        let fills = places.order.iter().filter_map(|&inst| Some((inst, plan.fills[inst.index()]?)));
        for (inst, (stream, use_)) in fills {
            let stream = &plan.streams[stream];
            let part = match use_ {
                Use::A => stream.a.filter(|_| stream.stays.is_none()),
                _ => Some(stream.b),
            };
            let Some(map) = part.and_then(|part| map_of(ir, inst, &part)) else { continue };
            let known = boxes.maps.iter().position(|known| *known == map);
            let number = known.unwrap_or(boxes.maps.len());
            if number == most {
                continue;
            }
            if known.is_none() {
                boxes.maps.push(map);
            }
            boxes.of.push((inst, number));
        }
        boxes
    }

    /// What is copied in boxes.
    pub(super) fn fills(&self) -> impl Iterator<Item = Inst> + '_ {
        self.of.iter().map(|&(inst, _)| inst)
    }

    /// The number of the map that an instruction is copied by.
    pub(super) fn number(&self, inst: Inst) -> Option<usize> {
        self.of.iter().find(|(fill, _)| *fill == inst).map(|&(_, number)| number)
    }
}

/// The map for a load of a factor, if its lines are as they are in the slot and the host knows where they are.
fn map_of(ir: &Module, inst: Inst, part: &Part) -> Option<Map> {
    let f = &ir.body;
    let info = f.inst(inst);
    let Op::MatLoad { column_major, .. } = info.op else { return None };
    let Op::BufferPtr(binding) = f.def(f.root(info.args[0])).op else { return None };
    let index = f.def(f.root(info.args[0])).args[0];
    let is_one = ir.bindings[binding.index()].count == Some(1) && f.const_bits(index) == Some(0);
    let box_lines = box_lines(part)?;
    (is_one && column_major == part.by_cols()).then_some(Map {
        binding: binding.index() as u32,
        element: part.m.elem.bytes(),
        stride: stride(f, info.args[1])?,
        lines: part.lines(),
        span: part.span,
        box_lines,
    })
}

/// Lines of a box: as many as one may have, but so that there is an even number of boxes.
fn box_lines(part: &Part) -> Option<u32> {
    if part.blocks > 1 {
        // Blocks of rows change places, and within lines boxes have words of several.
        return part.along_k.then_some(BLOCK_ROWS);
    }
    let pieces = part.line_bytes() / part.span;
    let mut lines = part.lines();
    while lines > MAX_LINES || !(pieces * (part.lines() / lines)).is_multiple_of(2) {
        lines = (lines / 2).is_multiple_of(8).then_some(lines / 2)?;
    }
    part.lines().is_multiple_of(lines).then_some(lines)
}

/// The number of bytes that a value is, if it is a constant, or so many times a word of the push constants.
fn stride(f: &Function, mut v: Value) -> Option<Stride> {
    let mut scale = 1_u64;
    loop {
        let info = f.def(v);
        let mut times = |factor: u64| {
            scale = scale.checked_mul(factor)?;
            Some(())
        };
        v = match info.op {
            Op::Const(bits) => {
                times(bits)?;
                return Some(Stride { scale, push: None });
            }
            Op::Load(flags) if !flags.volatile && f.ty(v).scalar()?.bits() == 32 => {
                return Some(Stride { scale, push: Some(push_offset(f, info.args[0])?) });
            }
            Op::Convert(op) if matches!(op.kind, ConvertKind::SToS | ConvertKind::UToU) => {
                let bits = |v: Value| f.ty(v).scalar().map(Scalar::bits);
                (bits(v)? >= bits(info.args[0])?).then_some(info.args[0])?
            }
            Op::Binary(BinaryOp::Imul) => {
                let [x, y] = [info.args[0], info.args[1]];
                let (factor, other) = match (f.const_bits(x), f.const_bits(y)) {
                    (Some(factor), _) => (factor, y),
                    (_, factor) => (factor?, x),
                };
                times(factor)?;
                other
            }
            Op::Binary(BinaryOp::Shl) => {
                times(1_u64.checked_shl(u32::try_from(f.const_bits(info.args[1])?).ok()?)?)?;
                info.args[0]
            }
            _ => return None,
        };
    }
}

/// Where a pointer points to in the push constants, if that is known.
fn push_offset(f: &Function, mut pointer: Value) -> Option<u32> {
    let mut offset = 0_i64;
    loop {
        let info = f.def(pointer);
        match info.op {
            Op::PushPtr => return u32::try_from(offset).ok(),
            Op::PtrAdd { disp, .. } if info.args.len() == 1 => {
                offset = offset.checked_add(disp)?;
                pointer = info.args[0];
            }
            _ => return None,
        }
    }
}

/// A box of a part: where it goes, and its place in the map, from the part's own.
#[derive(Clone, Copy)]
struct Place {
    to: u32,
    along: u32,
    line: u32,
}

impl Map {
    /// The boxes of a part.
    fn places(&self, part: &Part) -> Vec<Place> {
        let lines = (0..part.lines()).step_by(self.box_lines as usize);
        let pieces = (0..part.line_bytes()).step_by(part.span as usize);
        let place = |line, byte| Place { to: part.place_of(line, byte), along: byte / self.element, line };
        lines.flat_map(|line| pieces.clone().map(move |byte| place(line, byte))).collect()
    }
}

impl<'c> Lower<'_, 'c> {
    /// Whether the host could make a map.
    pub(super) fn has_map(&mut self, number: usize) -> Result<V<'c>> {
        let there = self.argument(abi::MAPPED)?;
        let bit = self.e.and(there, self.e.i32(1 << number))?;
        self.e.icmp(IntPredicate::NE, bit, self.e.i32(0))
    }

    /// One producer asks for the boxes of a part of the slot, which begins at a multiple of 16 bytes: the only kernel
    /// that asked for one elsewhere, of bytes, ended on an H200 with an illegal instruction.
    pub(super) fn fill_boxes(
        &mut self,
        (inst, number): (Inst, usize),
        source: &Source<'c>,
        part: &Part,
        slot: V<'c>,
    ) -> Result<()> {
        let producer = self.producer()?;
        let is_first = self.e.icmp(IntPredicate::EQ, producer, self.e.i32(0))?;
        let ask = |l: &mut Self| {
            let plan = &l.ring()?.plan;
            let (map, places) = (plan.boxes.maps[number], plan.boxes.maps[number].places(part));
            let is_shared = plan.cluster.as_ref().is_some_and(|cluster| cluster.shares(inst));
            let word = l.word_of_slot()?;
            let expect = format!("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0], {};", part.bytes());
            l.action(&expect, &[word])?;
            let shift = l.e.i64(map.element.trailing_zeros().into());
            let along = l.e.lshr(source.p.offset, shift)?;
            let to = Target { map: l.map_address(number)?, along: l.e.zext_trunc(along, 32)?, slot, word };
            let alone = |l: &mut Self| {
                for &Place { to: at, along, line } in &places {
                    let at = [at, along, line].map(|x| l.e.i32(x));
                    l.copy_box(&to, at, false)?;
                }
                Ok(Vec::new())
            };
            if !is_shared {
                return alone(l);
            }
            let is_pair = l.is_pair()?;
            let halves = |l: &mut Self| {
                let is_second = l.is_second()?;
                for pair in places.chunks_exact(2) {
                    let [first, second] = [pair[0], pair[1]].map(|it| [it.to, it.along, it.line]);
                    let mut at = first.map(|x| l.e.i32(x));
                    for (at, second) in at.iter_mut().zip(second) {
                        *at = l.e.select(is_second, l.e.i32(second), *at)?;
                    }
                    l.copy_box(&to, at, true)?;
                }
                Ok(Vec::new())
            };
            l.either(is_pair, halves, alone)
        };
        self.either(is_first, ask, |_| Ok(Vec::new())).map(|_nothing| ())
    }

    /// Asks for a box, for this work-group or both of the cluster.
    fn copy_box(&mut self, to: &Target<'c>, [at, along, line]: [V<'c>; 3], both: bool) -> Result<()> {
        let at = self.e.add(to.slot, at)?;
        let along = self.e.add(to.along, along)?;
        let copy = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
        let args = [at, to.map, along, line, to.word];
        match both {
            false => self.action(&format!("{copy} [$0], [$1, {{$2, $3}}], [$4];"), &args),
            true => {
                let copy = format!("{copy}.multicast::cluster [$0], [$1, {{$2, $3}}], [$4], both;");
                self.action(&format!("{{ .reg .b16 both; mov.b16 both, 3; {copy} }}"), &args)
            }
        }
    }

    /// The address of a tensor map, in the block of arguments.
    fn map_address(&mut self, number: usize) -> Result<V<'c>> {
        let at = self.layout.maps_at + abi::MAP_BYTES * number as u64;
        let (name, i64_ty) = (abi::ENTRY, self.e.cx.i64_type());
        let text = format!("mov.b64 $0, {name}_param_0; cvta.param.u64 $0, $0; add.u64 $0, $0, {at};");
        let found = self.assembly(&text, &[i64_ty.into()], &[], Memory::None)?;
        found.first().copied().ok_or_else(|| Error::bug("no address"))
    }
}

/// Where boxes come from and go.
struct Target<'c> {
    /// The address of the map.
    map: V<'c>,
    /// The part's place along the first line.
    along: V<'c>,
    slot: V<'c>,
    /// The word that counts what has arrived.
    word: V<'c>,
}
