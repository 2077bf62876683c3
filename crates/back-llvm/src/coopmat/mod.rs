//! Cooperative matrices, held as tiles in memory and worked on by precompiled kernels.
//!
//! `rounds` says for how many rounds of a loop multiply-adds are put off, before anything is lowered. [`State`] then
//! decides everything that concerns whole matrices:
//! - `uses`: where values are used and variables touched;
//! - `places`: which tile each value lives in, so that few are copied;
//! - `views`: which rotated matrices are parts of others;
//! - `once`: what subgroups load once for all;
//! - `schedule`: which multiply-adds are done by one kernel call;
//! - `slots`: where tiles lie in the subgroup's scratch memory, or in memory that all subgroups have in turn;
//! - `wishes`: what multiplications are told of the reads between them.
//!
//! `emit` then makes the kernel calls, instruction by instruction; `tensor` those for tensor layouts,
//! `component` those that deal with components of single lanes. `map`, `factors`, `reduce` and `columns` have no kernels:
//! they make code for all elements.
//!
//! A matrix instruction is executed by all lanes of the subgroup or by none (SPV_KHR_cooperative_matrix,
//! *tangled* instructions), so masks matter only where components are written.

mod columns;
mod component;
mod emit;
mod factors;
mod map;
mod once;
mod places;
mod reduce;
mod rounds;
mod schedule;
mod slots;
mod tensor;
mod uses;
mod views;
mod wishes;

#[cfg(test)]
mod tests;

use map::is_direct;
pub(crate) use map::{folds, maps};
pub(crate) use rounds::{blocks, rounds};

use crate::abi::Note;
use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::prologue::Field;
use inkwell::values::PointerValue;
use once::Once;
use phalanx_ir::{Function, Inst, InstInfo, MatType, Module, MulAddFlags, Op, Scalar, Type, Use, Value, Var};
use phalanx_kernels::{Elem, Grid, KernelId, KernelSet, MulAdd, Plan, TileLayout};
use places::{Place, Places};
use rustc_hash::FxHashMap;
use schedule::{Group, Schedule};
use slots::{Memory, Slot, Slots};
use uses::{Element, Uses};
use views::Views;

/// A matrix: its tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatValue<'c> {
    /// Address of the tile.
    tile: PointerValue<'c>,
    /// Its type.
    ty: MatType,
}

/// What is known about matrices while a module is lowered.
#[derive(Debug)]
pub(crate) struct State<'c> {
    pub(crate) isa: KernelSet,
    places: Places,
    views: Views,
    schedule: Schedule,
    slots: Slots,
    /// What is loaded once for all subgroups.
    once: Once,
    /// How each group of multiply-adds is called, by its first result.
    plans: FxHashMap<Value, Plan>,
    /// Offsets of everything in both kinds of memory, once reserved.
    base: [Option<u64>; 2],
    /// Whether multiplications are told what is read between them.
    has_wishes: bool,
    /// Whether what is loaded through tensor layouts is among that.
    asks_for_tensors: bool,
    /// Where that is noted, once reserved.
    wishes: Option<PointerValue<'c>>,
    /// Static parameters of kernels in the object, by their bytes.
    params: FxHashMap<Vec<u8>, PointerValue<'c>>,
}

impl State<'_> {
    /// Decides about all matrices of a function.
    pub(crate) fn new(func: &Function, isa: KernelSet, subgroups: u32) -> Self {
        let mut uses = Uses::of(func);
        let places = Places::of(func, &mut uses);
        let views = Views::of(func, &uses, &places, |ty| layout(isa, ty));
        let schedule = Schedule::of(func, &uses, &places);
        let mut plans = FxHashMap::default();
        let insts = (0..func.insts.len()).map(Inst::new);
        let bytes =
            |inst| tensor::scratch_bytes(func, isa, inst).max(columns::scratch_bytes(func, isa, inst));
        let mut scratch = insts.map(bytes).max().unwrap_or(0);
        let tile_bytes = |ty: Type| ty.mat().map_or(0, |m| layout(isa, m).bytes() as u64);
        let mut once = Once::of(func, subgroups, tile_bytes);
        for group in schedule.groups() {
            let plan = plan(func, isa, group, [false; 2]);
            scratch = scratch.max(plan.scratch_bytes as u64);
            plans.insert(group.r[0], plan);
        }
        once.split(func, &schedule, |group| plans[&group.r[0]], |ty| isa.bytes_with_parts(&layout(isa, ty)));
        let slots = Slots::of(func, &uses, (&places, &views), &schedule, &once, scratch, tile_bytes);
        // What is in use across a barrier is not loaded once after all.
        let has_parts = |&v: &Value| once.bytes_with_parts(v).is_some() && slots.kept(v).is_some();
        for group in schedule.groups() {
            let parts = [&group.a, &group.b].map(|factors| factors.iter().all(has_parts));
            plans.insert(group.r[0], plan(func, isa, group, parts));
        }
        let planned = |group: &Group| plans[&group.r[0]];
        let asks_for_tensors = wishes::asks_for_tensors(func, &schedule, planned);
        let has_wishes = asks_for_tensors || wishes::are_worth(func, &schedule, planned);
        Self {
            isa,
            places,
            views,
            schedule,
            slots,
            once,
            plans,
            base: [None; 2],
            has_wishes,
            asks_for_tensors,
            wishes: None,
            params: FxHashMap::default(),
        }
    }

    /// Bytes of the host's notes of what is in tiles that are kept.
    pub(crate) fn note_bytes(&self) -> u64 {
        self.notes(self.slots.kept_count() as u32)
    }

    /// Bytes of the notes of so many values.
    fn notes(&self, values: u32) -> u64 {
        u64::from(values) * u64::from(self.once.ways) * size_of::<Note>() as u64
    }
}

/// How a group is called, with parts of the factors A and B behind their tiles or without.
fn plan(func: &Function, isa: KernelSet, group: &Group, parts: [bool; 2]) -> Plan {
    let inst = func.values[group.r[0].index()].def;
    let grid = Grid { m: group.m as u32, n: group.n as u32, k: group.k as u32 * steps(func, inst) };
    let [a_parts, b_parts] = parts;
    isa.plan_mul_add(&MulAdd { a_parts, b_parts, ..mul_add(func, isa, inst) }, grid)
}

/// In how many parts of its inner dimension a multiply-add rounds its sums.
fn steps(func: &Function, mul_add: Inst) -> u32 {
    let info = func.inst(mul_add);
    let Op::MatMulAdd(flags) = info.op else { return 1 };
    steps_of(func.ty(info.args[0]), flags)
}

/// The same of one with this left factor.
fn steps_of(a: Type, flags: MulAddFlags) -> u32 {
    a.mat().and_then(|a| a.cols.checked_div(flags.step)).unwrap_or(1)
}

/// How a grid of multiply-adds such as this one is called.
fn plan_of(func: &Function, isa: KernelSet, inst: Inst, grid: Grid) -> Plan {
    isa.plan_mul_add(&mul_add(func, isa, inst), grid)
}

/// A multiply-add, as kernels are planned for it.
fn mul_add(func: &Function, isa: KernelSet, inst: Inst) -> MulAdd {
    let info = func.inst(inst);
    let layout = |v: Value| {
        let ty = func.ty(v).mat().expect("operands of a multiply-add are matrices");
        layout(isa, ty)
    };
    let Op::MatMulAdd(flags) = info.op else { unreachable!("groups consist of multiply-adds") };
    let (a, b) = (layout(info.args[0]), layout(info.args[1]));
    let is_sliced = flags.step > 0;
    MulAdd {
        a: if is_sliced { TileLayout { cols: flags.step, ..a } } else { a },
        b: if is_sliced { TileLayout { rows: flags.step, ..b } } else { b },
        c: layout(info.args[2]),
        r: layout(info.results[0]),
        a_signed: flags.a_signed,
        b_signed: flags.b_signed,
        c_signed: flags.c_signed,
        r_signed: flags.result_signed,
        saturating: flags.saturate,
        relaxed: flags.relaxed,
        sliced: is_sliced,
        a_parts: false,
        b_parts: false,
    }
}

/// The kernels for the matrices of a function: where factors of f16 have sums of f16 only, those that need not widen them.
pub(crate) fn kernels(f: &Function, isa: KernelSet) -> KernelSet {
    let is_f16 = |v: Value| f.ty(v).mat().is_some_and(|m| m.elem == Scalar::F16);
    let products = || f.insts.iter().filter(|info| matches!(info.op, Op::MatMulAdd(_)));
    let is_narrow = |info: &InstInfo| info.args.iter().chain(&info.results).copied().all(is_f16);
    let has_f16 = |info: &InstInfo| info.args[..2].iter().copied().any(is_f16);
    let of_f16 = || products().filter(|info| has_f16(info));
    if of_f16().next().is_some() && of_f16().all(is_narrow) { isa.for_sums_of_f16() } else { isa }
}

/// How a matrix lies in its tile.
fn layout(isa: KernelSet, ty: MatType) -> TileLayout {
    let use_ = match ty.use_ {
        Use::A => phalanx_kernels::Use::A,
        Use::B => phalanx_kernels::Use::B,
        Use::Accumulator => phalanx_kernels::Use::Accumulator,
        Use::Any => phalanx_kernels::Use::Any,
    };
    isa.layout(elem(ty.elem), use_, ty.rows, ty.cols)
}

/// How a scalar is called by the kernels.
pub(crate) fn elem(s: Scalar) -> Elem {
    match s {
        Scalar::F16 => Elem::F16,
        Scalar::F32 => Elem::F32,
        Scalar::F64 => Elem::F64,
        Scalar::BF16 => Elem::BF16,
        Scalar::E4M3 => Elem::E4M3,
        Scalar::E5M2 => Elem::E5M2,
        // The verifier lets no matrix of truth values pass.
        Scalar::Bool | Scalar::I8 => Elem::I8,
        Scalar::I16 => Elem::I16,
        Scalar::I32 => Elem::I32,
        Scalar::I64 => Elem::I64,
    }
}

/// Whether an operation that could be taken apart is lowered whole.
pub(crate) fn is_whole(module: &Module, isa: KernelSet, func: &Function, info: &InstInfo) -> bool {
    let has_kernel =
        matches!(info.op, Op::MatRotate | Op::MatLoadTensor { decode: None, .. } | Op::MatStoreTensor(_));
    has_kernel || is_direct(module, isa, func, info)
}

/// Checks a variable that holds matrices. Its memory is reserved with that of all matrices.
pub(crate) fn declare_var(lower: &mut Lower<'_, '_>, var: Var) -> Result<()> {
    match lower.f.var(var).ty {
        Type::Mat(_) => Ok(()),
        Type::Scalar(_) | Type::Ptr(_) => Err(Error::bug(format!("{var} holds no matrices"))),
    }
}

/// Lowers an instruction that has a matrix among its operands or results, or that accesses a
/// variable of matrices.
pub(crate) fn lower(lower: &mut Lower<'_, '_>, inst: Inst) -> Result<()> {
    lower.mat_inst(inst)
}

/// Addresses of tiles and calls of kernels.
impl<'c> Lower<'_, 'c> {
    fn layout_of(&self, ty: MatType) -> TileLayout {
        layout(self.mats.isa, ty)
    }

    /// The address of a slot.
    fn slot_address(&mut self, slot: Slot) -> Result<PointerValue<'c>> {
        let Slot { memory, offset } = slot;
        let base = match self.mats.base[memory as usize] {
            Some(base) => base,
            None => {
                let (bytes, align) = (self.mats.slots.bytes(memory), crate::abi::MEMORY_ALIGN as u64);
                let base = match memory {
                    Memory::Own => self.alloc_scratch(bytes, align),
                    Memory::Common => self.alloc_common(bytes, align),
                };
                *self.mats.base[memory as usize].insert(base)
            }
        };
        match memory {
            Memory::Own => self.scratch_ptr(base + offset),
            Memory::Common => self.common_ptr(base + offset),
        }
    }

    /// The address of what a kernel works with while it is called.
    fn matrix_scratch(&mut self) -> Result<PointerValue<'c>> {
        self.slot_address(self.mats.slots.scratch)
    }

    /// Address of an element of a variable. One more element, after the last, stands for all that
    /// are out of range; it reads as zero.
    fn var_tile(&mut self, var: Var, element: Element) -> Result<PointerValue<'c>> {
        let info = self.f.var(var);
        let ty = info.ty.mat().ok_or_else(|| Error::bug(format!("{var} holds no matrices")))?;
        let (count, bytes) = (info.count, self.layout_of(ty).bytes() as u64);
        let start = self.mats.slots.var(var);
        match element {
            Element::Const(k) => self.slot_address(start.behind(u64::from(k.min(count)) * bytes)),
            Element::Dynamic(index) => {
                let index = self.scalar(index)?;
                let index = self.first(index)?;
                let first = self.slot_address(start)?;
                let limit = self.e.i32(count);
                let index = self.e.map2("llvm.umin", index, limit)?;
                let index = self.e.zext_trunc(index, 64)?;
                let offset = self.e.mul(index, self.e.i64(bytes as i64))?;
                Ok(self.e.offset(first.into(), offset)?.into_pointer_value())
            }
        }
    }

    /// Whether an element may be out of range.
    fn may_be_outside(&self, var: Var, element: Element) -> bool {
        match element {
            Element::Const(k) => k >= self.f.var(var).count,
            Element::Dynamic(_) => true,
        }
    }

    /// Address of the tile that a value lives in.
    fn place_tile(&mut self, v: Value) -> Result<PointerValue<'c>> {
        match self.mats.places.of_value(v) {
            Place::Slot(v) => {
                let slot = self.mats.slots.value(v);
                self.slot_address(slot)
            }
            Place::Var(var, element) => self.var_tile(var, element),
        }
    }

    /// Defines a matrix value and gives the address of its tile.
    fn define_mat(&mut self, v: Value) -> Result<MatValue<'c>> {
        let ty = self.f.ty(v).mat().ok_or_else(|| Error::bug(format!("{v} is no matrix")))?;
        let value = MatValue { tile: self.place_tile(v)?, ty };
        self.define(v, crate::value::Lowered::Mat(value));
        Ok(value)
    }

    /// Calls a kernel with its static parameters and further arguments.
    pub(crate) fn kernel(&mut self, id: KernelId, params: &[u8], args: &[V<'c>]) -> Result<()> {
        let params = self.static_params(params);
        self.note_site()?;
        let mut all = vec![params.into()];
        all.extend_from_slice(args);
        self.call_table(Field::Kernels, id.index(), &all, None)?;
        Ok(())
    }

    /// The address of static parameters.
    pub(crate) fn static_params(&mut self, params: &[u8]) -> PointerValue<'c> {
        match self.mats.params.get(params) {
            Some(&p) => p,
            None => {
                let p = self.e.constant_bytes(params, 16);
                self.mats.params.insert(params.to_vec(), p);
                p
            }
        }
    }
}
