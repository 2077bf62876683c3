//! Kernel calls for loads and stores through tensor layouts.

use super::layout;
use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::Lower;
use bytemuck::bytes_of;
use inkwell::values::PointerValue;
use phalanx_ir::{Function, Inst, Op, TensorAccess};
use phalanx_kernels::{Clamp, KernelId, KernelSet, MAX_DIMS, TensorWords, TileLayout};
use std::mem::offset_of;

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

impl<'c> Lower<'_, 'c> {
    pub(super) fn mat_load_tensor(&mut self, inst: Inst, access: &TensorAccess) -> Result<()> {
        let object = match access.clips() {
            true => self.mat_arg(inst, 1)?.tile,
            false => self.e.ptr_ty().const_null(),
        };
        let words = self.tensor_words(inst, access, if access.clips() { 2 } else { 1 })?;
        let [base, size, offset] = self.tensor_object(inst)?;
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
