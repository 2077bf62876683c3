//! Kernel calls for loads and stores through tensor layouts.

use super::layout;
use super::wishes::LINE;
use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::Lower;
use bytemuck::bytes_of;
use inkwell::values::PointerValue;
use phalanx_ir::{Function, Inst, InstInfo, Op, Space, TensorAccess, Use};
use phalanx_kernels::{Clamp, KernelId, KernelSet, MAX_DIMS, TensorWords, TileLayout};
use std::mem::offset_of;

/// Most lines of the cache in a run of memory that is asked for; what is longer a processor foresees.
const MAX_LINES: u64 = 16;
/// Lines from which on a run is asked for by itself.
const LONG: u32 = 4;
/// Shorter runs that are asked for together.
const TOGETHER: u32 = 8;

/// Bytes of scratch memory that an instruction's kernel needs, if it accesses a tensor.
pub(super) fn scratch_bytes(func: &Function, isa: KernelSet, inst: Inst) -> u64 {
    let info = func.inst(inst);
    let (access, matrix) = match &info.op {
        Op::MatLoadTensor { access, decode: None } => (access, info.results[0]),
        Op::MatStoreTensor(access) => (access, info.args[1]),
        _ => return 0,
    };
    let Some(ty) = func.ty(matrix).mat() else { return 0 };
    params(access, layout(isa, ty)).scratch_bytes() as u64
}

fn params(access: &TensorAccess, layout: TileLayout) -> phalanx_kernels::TensorAccess {
    let view = access.view.as_ref();
    phalanx_kernels::TensorAccess {
        layout,
        unit: access.unit,
        dims: access.dims,
        view_dims: view.map_or(0, |v| v.dims),
        has_dimensions: view.is_some_and(|v| v.has_dimensions),
        clamp: match access.clamp {
            phalanx_ir::Clamp::Undefined => Clamp::Undefined,
            phalanx_ir::Clamp::Constant => Clamp::Constant,
            phalanx_ir::Clamp::ClampToEdge => Clamp::ClampToEdge,
            phalanx_ir::Clamp::Repeat => Clamp::Repeat,
            phalanx_ir::Clamp::RepeatMirrored => Clamp::RepeatMirrored,
        },
        permutation: view.map_or([0; MAX_DIMS], |v| v.permutation),
        padding: [0; 3],
    }
}

/// A word of [`TensorWords`].
#[derive(Clone, Copy)]
enum Word {
    /// An operand, counted from the access's first.
    Operand(usize),
    Const(u32),
}

/// The words that describe a tensor; none where one has no meaning for it.
fn words(access: &TensorAccess) -> [Option<Word>; size_of::<TensorWords>() / 4] {
    let operands = access.operands();
    let (dims, view) = (usize::from(access.dims), access.view.as_ref());
    let own = view.filter(|v| v.has_dimensions).map_or(0, |v| usize::from(v.dims));
    let mut words = [None; size_of::<TensorWords>() / 4];
    let mut put = |field: usize, count: usize, operand: &dyn Fn(usize) -> usize| {
        for (i, word) in words[field / 4..][..count].iter_mut().enumerate() {
            *word = Some(Word::Operand(operand(i)));
        }
    };
    put(offset_of!(TensorWords, dimension), dims, &|d| operands.dimension(d));
    put(offset_of!(TensorWords, stride), dims, &|d| operands.stride(d));
    put(offset_of!(TensorWords, offset), dims, &|d| operands.offset(d));
    put(offset_of!(TensorWords, span), dims, &|d| operands.span(d));
    put(offset_of!(TensorWords, block), dims, &|d| operands.block(d));
    put(offset_of!(TensorWords, clamp_value), 1, &|_| operands.clamp_value());
    put(offset_of!(TensorWords, view_dimension), own, &|d| operands.view_dimension(d));
    put(offset_of!(TensorWords, view_stride), own, &|d| operands.view_stride(d));
    if access.clips() {
        put(offset_of!(TensorWords, clip), 4, &|i| operands.clip()[i]);
    } else {
        // All rows from 0 on, and all columns.
        let clip = &mut words[offset_of!(TensorWords, clip) / 4..][..4];
        clip.copy_from_slice(&[0, u32::MAX, 0, u32::MAX].map(|word| Some(Word::Const(word))));
    }
    words
}

/// The runs of memory that a tensor load reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Runs {
    /// Lines of the cache of each.
    lines: u32,
    /// Two dimensions, the tensor's last but for the one along runs that are not 1 long, and how long they are.
    outer: (usize, u32),
    inner: (usize, u32),
}

/// The runs of a load of a factor, if the compiler knows how many there are, and they are worth being asked for: neither a
/// part of a line, which is there already in every other round, nor long.
pub(super) fn runs(func: &Function, info: &InstInfo, access: &TensorAccess) -> Option<Runs> {
    let matrix = func.ty(*info.results.first()?).mat()?;
    let is_factor = matches!(matrix.use_, Use::A | Use::B);
    if !is_factor || access.clips() || access.view.is_some_and(|v| v.has_dimensions) {
        return None;
    }
    let (operands, last) = (access.operands(), usize::from(access.dims).checked_sub(1)?);
    let known = |operand: usize| func.const_bits(*info.args.get(1 + operand)?).map(|bits| bits as u32);
    if known(operands.stride(last)) != Some(1) || access.unit != matrix.elem.bytes() {
        return None;
    }
    let mut spans = Vec::new();
    for d in 0..=last {
        if known(operands.block(d)) != Some(1) {
            return None;
        }
        spans.push(known(operands.span(d))?);
    }
    let bytes = u64::from(spans[last]) * u64::from(access.unit);
    let lines = bytes.div_ceil(LINE);
    let mut long = (0..last).rev().filter(|&d| spans[d] > 1).map(|d| (d, spans[d]));
    let (inner, outer) = (long.next()?, long.next().unwrap_or((0, 1)));
    let is_worth = long.next().is_none() && (LINE..=MAX_LINES * LINE).contains(&bytes);
    is_worth.then_some(Runs { lines: lines as u32, outer, inner })
}

impl<'c> Lower<'_, 'c> {
    pub(super) fn mat_load_tensor(&mut self, inst: Inst, access: &TensorAccess) -> Result<()> {
        let object = match access.clips() {
            true => self.mat_arg(inst, 1)?.tile,
            false => self.e.ptr_ty().const_null(),
        };
        let words = self.tensor_words(inst, access, if access.clips() { 2 } else { 1 })?;
        let [base, size, offset] = self.tensor_object(inst)?;
        self.note_tensor(inst, access, base, offset)?;
        let result = self.mat_result(inst)?;
        let params = params(access, self.layout_of(result.ty));
        let scratch = self.matrix_scratch()?;
        let args = [words.into(), result.tile.into(), base, size, offset, object.into(), scratch.into()];
        self.kernel(KernelId::LOAD_TENSOR, bytes_of(&params), &args)
    }

    pub(super) fn mat_store_tensor(&mut self, inst: Inst, access: &TensorAccess) -> Result<()> {
        let matrix = self.mat_arg(inst, 1)?;
        let words = self.tensor_words(inst, access, 2)?;
        let [base, size, offset] = self.tensor_object(inst)?;
        let params = params(access, self.layout_of(matrix.ty));
        let scratch = self.matrix_scratch()?;
        let args = [words.into(), matrix.tile.into(), base, size, offset, scratch.into()];
        self.kernel(KernelId::STORE_TENSOR, bytes_of(&params), &args)
    }

    /// Notes where the runs of a factor are that a tensor layout takes apart, for multiplications to ask for the next ones.
    fn note_tensor(&mut self, inst: Inst, access: &TensorAccess, base: V<'c>, offset: V<'c>) -> Result<()> {
        let info = self.f.inst(inst);
        let Some(runs) = runs(self.f, info, access) else { return Ok(()) };
        let space = self.ptr(info.args[0])?.space;
        if !self.mats.asks_for_tensors || !matches!(space, Space::Buffer | Space::Global) {
            return Ok(());
        }
        let Some(wishes) = self.wishes()? else { return Ok(()) };
        let (operands, mut at) = (access.operands(), offset);
        let word = |l: &mut Self, operand: usize| -> Result<V<'c>> {
            let word = l.scalar(info.args[1 + operand])?;
            l.first(word)
        };
        let mut strides = Vec::new();
        for d in 0..usize::from(access.dims) {
            let (start, stride) = (word(self, operands.offset(d))?, word(self, operands.stride(d))?);
            let stride = self.e.mul(self.e.zext_trunc(stride, 64)?, self.e.i64(access.unit.into()))?;
            let start = self.e.mul(self.e.sext_trunc(start, 64)?, stride)?;
            at = self.e.add(at, start)?;
            strides.push(stride);
        }
        let at = self.e.offset(base, at)?;
        let (line, outer, inner) = (self.e.i64(LINE as i64), strides[runs.outer.0], strides[runs.inner.0]);
        self.count_up(runs.outer.1, |l, i| {
            let behind = l.e.mul(l.e.zext_trunc(i, 64)?, outer)?;
            let at = l.e.offset(at, behind)?;
            let each = if runs.lines < LONG { TOGETHER.min(runs.inner.1) } else { 1 };
            l.count_up(runs.inner.1.div_ceil(each), |l, i| {
                let first = l.e.mul(l.e.zext_trunc(i, 64)?, l.e.i64(each.into()))?;
                let at = l.e.offset(at, l.e.mul(first, inner)?)?;
                if runs.lines >= LONG {
                    l.note(wishes, at.into_pointer_value(), line, l.e.i64(runs.lines.into()))?;
                    return Ok(());
                }
                for k in 0..runs.lines {
                    let at = l.e.field(at.into_pointer_value(), u64::from(k) * LINE)?;
                    l.note(wishes, at, inner, l.e.i64(each.into()))?;
                }
                Ok(())
            })
        })
    }

    fn tensor_object(&mut self, inst: Inst) -> Result<[V<'c>; 3]> {
        let pointer = self.args(inst)[0];
        let space = self.ptr(pointer)?.space;
        self.go_unchecked(inst, space)?;
        self.object_args(pointer)
    }

    /// The [`TensorWords`] of an access whose operands begin with number `first`, on the stack. They are
    /// uniform by the rules of the specification, so any active lane's will do.
    fn tensor_words(&mut self, inst: Inst, access: &TensorAccess, first: usize) -> Result<PointerValue<'c>> {
        let ty = self.e.cx.i32_type().array_type((size_of::<TensorWords>() / 4) as u32);
        let slot = self.spill_slot(ty.into(), 0)?;
        for (i, word) in words(access).into_iter().enumerate() {
            let Some(word) = word else { continue };
            let word: V<'c> = match word {
                Word::Operand(operand) => {
                    let arg = *self
                        .args(inst)
                        .get(first + operand)
                        .ok_or_else(|| Error::bug("a tensor access has too few operands"))?;
                    let word = self.scalar(arg)?;
                    self.first(word)?
                }
                Word::Const(bits) => self.e.i32(bits),
            };
            let at = self.e.field(slot, 4 * i as u64)?;
            // Word by word: merged into a store that crosses lines of the cache, they would not be there for the
            // kernel before all that was stored earlier, and that is the tile of the access before.
            self.e.store(word, at, 4)?.set_volatile(true).map_err(|e| Error::bug(e.to_string()))?;
        }
        Ok(slot)
    }
}
