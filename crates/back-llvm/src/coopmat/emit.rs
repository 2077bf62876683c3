//! Kernel calls for operations on whole matrices.

use super::schedule::Group;
use super::uses::access;
use super::{MatValue, Place};
use crate::check::Checked;
use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::roll::place;
use crate::value::{Lowered, Val};
use bytemuck::bytes_of;
use inkwell::values::PointerValue;
use phalanx_ir::{
    BinaryOp, ConvertKind, ConvertOp, Inst, MatReduceKind, MatType, Op, Rounding, Scalar, Space, UnaryOp,
    Value, Var,
};
use phalanx_kernels::{Access, ConvertParams, ElementParams, KernelId};

/// Most addresses that are written at once: a vector register of the widest kind.
const MOST_ADDRESSES: usize = 8;

/// A tile by its distance from an address.
type Tile<'c> = (V<'c>, i64);

impl<'c> Lower<'_, 'c> {
    /// Lowers an instruction that deals with matrices.
    pub(super) fn mat_inst(&mut self, inst: Inst) -> Result<()> {
        let f = self.f;
        match f.inst(inst).op {
            Op::MatMulAdd(_) => self.mat_mul_add(inst),
            Op::MatLoad { column_major, .. } => self.mat_load(inst, column_major),
            Op::MatStore { column_major, .. } => self.mat_store(inst, column_major),
            Op::MatLoadTensor { access, decode: None } => self.mat_load_tensor(inst, &access),
            Op::MatStoreTensor(access) => self.mat_store_tensor(inst, &access),
            Op::VarLoad(var) => self.mat_var_load(inst, var),
            Op::VarStore(var) => self.mat_var_store(inst, var),
            Op::VarComponentLoad(_) => self.var_component_load(inst),
            Op::VarComponentStore(_) => self.var_component_store(inst),
            Op::MatExtract => self.mat_extract(inst),
            Op::MatInsert => self.mat_insert(inst),
            Op::MatSplat => self.mat_splat(inst),
            Op::MatScale => self.mat_scale(inst),
            Op::Unary(UnaryOp::Ineg | UnaryOp::Fneg) => self.mat_elementwise(inst, KernelId::NEG),
            Op::Binary(op) => self.mat_elementwise(inst, binary_kernel(op)?),
            Op::Convert(op) => self.mat_convert(inst, op),
            Op::Bitcast => self.mat_bitcast(inst),
            Op::Select => self.mat_select(inst),
            Op::MatRotate => self.mat_rotate(inst),
            Op::MatMap { body } if super::is_direct(self.ir, self.mats.isa, f, f.inst(inst)) => {
                self.mat_map(inst, body)
            }
            Op::MatReduce { kind, body } if super::is_direct(self.ir, self.mats.isa, f, f.inst(inst)) => {
                match kind {
                    MatReduceKind::Row => self.mat_reduce_rows(inst, body),
                    _ => self.mat_reduce_columns(inst, kind, body),
                }
            }
            // What `expand` takes apart is here only if it does not fit.
            Op::MatTranspose
            | Op::MatMap { .. }
            | Op::MatReduce { .. }
            | Op::MatLoadTensor { decode: Some(_), .. } => {
                Err(Error::unsupported("cooperative matrices with more than 256 MiB of elements in work"))
            }
            ref op => Err(Error::unsupported(format!("{op:?} on cooperative matrices"))),
        }
    }

    /// A matrix operand.
    pub(super) fn mat_arg(&self, inst: Inst, operand: usize) -> Result<MatValue<'c>> {
        self.mat(self.f.inst(inst).args[operand]).copied()
    }

    /// Defines the matrix that is an instruction's result.
    pub(super) fn mat_result(&mut self, inst: Inst) -> Result<MatValue<'c>> {
        let v = self.f.inst(inst).results[0];
        self.define_mat(v)
    }

    fn element_params(&self, m: MatValue<'c>) -> ElementParams {
        ElementParams::new(self.layout_of(m.ty))
    }

    /// Copies a tile unless it is in place.
    pub(super) fn mat_copy(&mut self, to: MatValue<'c>, from: PointerValue<'c>) -> Result<()> {
        if to.tile == from {
            return Ok(());
        }
        let params = self.element_params(to);
        self.kernel(KernelId::COPY, bytes_of(&params), &[to.tile.into(), from.into()])
    }

    fn mat_mul_add(&mut self, inst: Inst) -> Result<()> {
        self.mat_result(inst)?;
        for group in self.mats.schedule.groups_at(inst).to_vec() {
            self.mul_add_group(&group)?;
        }
        Ok(())
    }

    fn mul_add_group(&mut self, group: &Group) -> Result<()> {
        let plan = self.mats.plans[&group.r[0]];
        let scratch = self.matrix_scratch()?;
        let mut args = Vec::with_capacity(6);
        for (number, operands) in self.operands(group)?.into_iter().enumerate() {
            args.push(self.tile_addresses(&operands, number as u32)?.into());
        }
        args.push(scratch.into());
        let wishes = self.wishes()?.unwrap_or_else(|| self.e.ptr_ty().const_null());
        args.push(wishes.into());
        self.kernel(plan.kernel, bytes_of(&plan.params), &args)
    }

    /// The tiles of a group: of A, B, addends and results. What is rounded in steps is a chain of parts of its factors:
    /// columns of A, rows of B.
    fn operands(&self, group: &Group) -> Result<[Vec<Tile<'c>>; 4]> {
        let mul_add = self.f.values[group.r[0].index()].def;
        let steps = super::steps(self.f, mul_add) as usize;
        let tile = |v: Value, [row, col]: [usize; 2]| {
            let tile = self.mat(v)?;
            let (from, distance) = place(tile.tile.into());
            Ok((from, distance + self.layout_of(tile.ty).offset(row, col) as i64))
        };
        let whole = |values: &[Value]| values.iter().map(|&v| tile(v, [0; 2])).collect::<Result<_>>();
        let step = self.mat(group.a[0])?.ty.cols as usize / steps;
        let parts = || (0..steps).map(|at| at * step);
        let a = group.a.iter().flat_map(|&v| parts().map(move |at| tile(v, [0, at])));
        let b = group
            .b
            .chunks(group.n)
            .flat_map(|row| parts().flat_map(move |at| row.iter().map(move |&v| tile(v, [at, 0]))));
        Ok([a.collect::<Result<_>>()?, b.collect::<Result<_>>()?, whole(&group.c)?, whole(&group.r)?])
    }

    /// An array of the tiles' addresses on the stack. Where they are constants away from one address, they are computed and
    /// written as vectors: some groups have hundreds.
    fn tile_addresses(&mut self, tiles: &[Tile<'c>], number: u32) -> Result<PointerValue<'c>> {
        let ty = self.e.ptr_ty().array_type(tiles.len() as u32);
        let array = self.spill_slot(ty.into(), number)?;
        let mut done = 0;
        while let Some(&(from, distance)) = tiles.get(done) {
            let same = tiles[done..].iter().take_while(|tile| tile.0 == from).count();
            // A power of two, as vectors of others are taken apart.
            let count = 1 << same.min(MOST_ADDRESSES).ilog2();
            let addresses = if count == 1 {
                self.e.offset(from, self.e.i64(distance))?
            } else {
                let distances = tiles[done..done + count].iter().map(|tile| tile.1 as u64);
                let distances = self.e.const_ints(64, distances);
                self.e.element_ptr(self.e.cx.i8_type().into(), from, distances)?
            };
            let at = self.e.field(array, 8 * done as u64)?;
            self.e.store(addresses, at, 8)?;
            done += count;
        }
        Ok(array)
    }

    fn mat_load(&mut self, inst: Inst, column_major: bool) -> Result<()> {
        let args = self.args(inst);
        let mut call = self.memory_args(args[0], args[1])?;
        let (v, result) = (self.f.inst(inst).results[0], self.mat_result(inst)?);
        self.check_matrix(inst, args[0], &call, result.ty, (column_major, false))?;
        self.note_load(args[0], result.ty, column_major, &call)?;
        let access = Access::new(self.layout_of(result.ty), column_major);
        if let Some(number) = self.mats.slots.kept(v) {
            return self.load_once(v, number, access, &call);
        }
        call.insert(0, result.tile.into());
        self.kernel(KernelId::LOAD, bytes_of(&access), &call)
    }

    fn mat_store(&mut self, inst: Inst, column_major: bool) -> Result<()> {
        let args = self.args(inst);
        let mut call = self.memory_args(args[0], args[2])?;
        let matrix = *self.mat(args[1])?;
        self.check_matrix(inst, args[0], &call, matrix.ty, (column_major, true))?;
        let access = Access::new(self.layout_of(matrix.ty), column_major);
        call.insert(0, matrix.tile.into());
        self.kernel(KernelId::STORE, bytes_of(&access), &call)
    }

    /// Checks an access of a matrix by address: its rows, or its columns.
    fn check_matrix(
        &mut self,
        inst: Inst,
        ptr: Value,
        call: &[V<'c>],
        ty: MatType,
        (column_major, writes): (bool, bool),
    ) -> Result<()> {
        let space = self.ptr(ptr)?.space;
        let (runs, length) = if column_major { (ty.cols, ty.rows) } else { (ty.rows, ty.cols) };
        let &[_, _, address, stride] = call else { return Err(Error::bug("an access has four operands")) };
        let (runs, bytes) = (self.e.i64(runs.into()), u64::from(length) * u64::from(ty.elem.bytes()));
        self.check_runs(inst, space, address, Checked { runs, stride, bytes, writes })
    }

    /// Base, size, offset and stride of an access. They are uniform by the rules of the
    /// specification (*dynamically uniform within the scope*), so any active lane's will do.
    fn memory_args(&mut self, ptr: Value, stride: Value) -> Result<Vec<V<'c>>> {
        let [base, size, offset] = self.object_args(ptr)?;
        let stride = self.scalar(stride)?;
        let stride = self.first(stride)?;
        Ok(vec![base, size, offset, stride])
    }

    /// Base and size of the object that a pointer points into, and how far.
    pub(super) fn object_args(&mut self, ptr: Value) -> Result<[V<'c>; 3]> {
        let ptr = self.ptr(ptr)?;
        let base = self.first(ptr.base)?;
        let size = match ptr.space {
            Space::Global => self.e.i64(-1),
            Space::Buffer | Space::Push | Space::Shared => self.first(ptr.size)?,
        };
        Ok([base, size, self.first(ptr.offset)?])
    }

    fn mat_var_load(&mut self, inst: Inst, var: Var) -> Result<()> {
        let f = self.f;
        let v = f.inst(inst).results[0];
        let (_, element, _) = access(f, inst).ok_or_else(|| Error::bug("no access to a variable"))?;
        let from = self.var_tile(var, element)?;
        if self.may_be_outside(var, element) {
            self.clear_outside(var)?;
        }
        let in_place = matches!(self.mats.places.of_value(v), Place::Var(..));
        let ty = f.ty(v).mat().ok_or_else(|| Error::bug(format!("{v} is no matrix")))?;
        if in_place {
            self.define(v, Lowered::Mat(MatValue { tile: from, ty }));
            return Ok(());
        }
        let result = self.define_mat(v)?;
        self.mat_copy(result, from)
    }

    /// Zeroes the element that stands for those out of range.
    pub(super) fn clear_outside(&mut self, var: Var) -> Result<()> {
        let info = self.f.var(var);
        let ty = info.ty.mat().ok_or_else(|| Error::bug(format!("{var} holds no matrices")))?;
        let tile = self.var_tile(var, super::Element::Const(info.count))?;
        let params = ElementParams::new(self.layout_of(ty));
        self.kernel(KernelId::FILL, bytes_of(&params), &[tile.into(), self.e.i64(0)])
    }

    fn mat_var_store(&mut self, inst: Inst, var: Var) -> Result<()> {
        if self.mats.places.is_elided(inst) {
            return Ok(());
        }
        let f = self.f;
        let (_, element, _) = access(f, inst).ok_or_else(|| Error::bug("no access to a variable"))?;
        let value = *self.mat(*f.inst(inst).args.last().ok_or_else(|| Error::bug("a store of nothing"))?)?;
        let tile = self.var_tile(var, element)?;
        self.mat_copy(MatValue { tile, ty: value.ty }, value.tile)
    }

    fn mat_elementwise(&mut self, inst: Inst, kernel: KernelId) -> Result<()> {
        let operands = self.f.inst(inst).args.len();
        let tiles =
            (0..operands).map(|i| Ok(self.mat_arg(inst, i)?.tile.into())).collect::<Result<Vec<V<'c>>>>()?;
        let result = self.mat_result(inst)?;
        let params = self.element_params(result);
        let mut call = vec![result.tile.into()];
        call.extend(tiles);
        self.kernel(kernel, bytes_of(&params), &call)
    }

    fn mat_splat(&mut self, inst: Inst) -> Result<()> {
        let x = self.scalar(self.args(inst)[0])?;
        let result = self.mat_result(inst)?;
        if x.is_uniform() {
            let params = self.element_params(result);
            let bits = self.bits(x.v, result.ty.elem)?;
            return self.kernel(KernelId::FILL, bytes_of(&params), &[result.tile.into(), bits]);
        }
        let values = self.spill_lanes(x, 0)?;
        let params = self.component_params(result.ty);
        self.kernel(KernelId::SPLAT_LANES, bytes_of(&params), &[result.tile.into(), values.into()])
    }

    fn mat_scale(&mut self, inst: Inst) -> Result<()> {
        let matrix = self.mat_arg(inst, 0)?;
        let x = self.scalar(self.args(inst)[1])?;
        let result = self.mat_result(inst)?;
        let tiles = [result.tile.into(), matrix.tile.into()];
        if x.is_uniform() {
            let params = self.element_params(result);
            let bits = self.bits(x.v, result.ty.elem)?;
            return self.kernel(KernelId::SCALE, bytes_of(&params), &[tiles[0], tiles[1], bits]);
        }
        let values = self.spill_lanes(x, 0)?;
        let params = self.component_params(result.ty);
        self.kernel(KernelId::SCALE_LANES, bytes_of(&params), &[tiles[0], tiles[1], values.into()])
    }

    /// The offset is uniform in the scope.
    fn mat_rotate(&mut self, inst: Inst) -> Result<()> {
        let (first, second) = (self.mat_arg(inst, 0)?, self.mat_arg(inst, 1)?);
        let offset = self.scalar(self.args(inst)[2])?;
        let offset = self.first(offset)?;
        let result = self.mat_result(inst)?;
        if self.mats.views.view(self.f.inst(inst).results[0]).is_some() {
            return Ok(());
        }
        let params = self.element_params(result);
        let call = [result.tile.into(), first.tile.into(), second.tile.into(), offset];
        self.kernel(KernelId::ROTATE, bytes_of(&params), &call)
    }

    fn mat_convert(&mut self, inst: Inst, op: ConvertOp) -> Result<()> {
        if op.rounding != Rounding::NearestEven {
            return Err(Error::unsupported("conversions of cooperative matrices that round towards zero"));
        }
        let from_signed = matches!(op.kind, ConvertKind::SToS | ConvertKind::SToF);
        let to_signed = op.kind == ConvertKind::FToS;
        self.mat_convert_with(inst, KernelId::CONVERT, from_signed, to_signed, op.saturate)
    }

    fn mat_convert_with(
        &mut self,
        inst: Inst,
        kernel: KernelId,
        from_signed: bool,
        to_signed: bool,
        saturate: bool,
    ) -> Result<()> {
        let from = self.mat_arg(inst, 0)?;
        let to = self.mat_result(inst)?;
        let params = ConvertParams::new(
            self.layout_of(from.ty),
            self.layout_of(to.ty),
            from_signed,
            to_signed,
            saturate,
        );
        self.kernel(kernel, bytes_of(&params), &[to.tile.into(), from.tile.into()])
    }

    /// Of one component type it only changes the use, and so the layout.
    fn mat_bitcast(&mut self, inst: Inst) -> Result<()> {
        let (from, to) = (self.mat_arg(inst, 0)?.ty, self.f.ty(self.f.inst(inst).results[0]).mat());
        let kernel = match to {
            Some(to) if to.elem == from.elem => KernelId::CONVERT,
            _ => KernelId::BITCAST,
        };
        self.mat_convert_with(inst, kernel, false, false, false)
    }

    /// The condition is uniform in the scope (SPIR-V, *OpSelect* on a composite takes a scalar).
    fn mat_select(&mut self, inst: Inst) -> Result<()> {
        let cond = self.scalar(self.args(inst)[0])?;
        let cond = self.first(cond)?;
        let (x, y) = (self.mat_arg(inst, 1)?, self.mat_arg(inst, 2)?);
        let from = self.e.select(cond, x.tile.into(), y.tile.into())?.into_pointer_value();
        let result = self.mat_result(inst)?;
        self.mat_copy(result, from)
    }

    /// The bits of a scalar in a 64-bit word.
    fn bits(&mut self, x: V<'c>, s: Scalar) -> Result<V<'c>> {
        let int = self.e.int_ty(s.bits());
        let bits = self.e.bitcast(x, int.into())?;
        self.e.zext_trunc(bits, 64)
    }

    /// A value per lane in memory, in the element type.
    pub(super) fn spill_lanes(&mut self, x: Val<'c>, number: u32) -> Result<PointerValue<'c>> {
        let v = self.vector(x)?;
        let slot = self.spill_slot(v.get_type(), number)?;
        self.e.store(v, slot, 4)?;
        Ok(slot)
    }
}

fn binary_kernel(op: BinaryOp) -> Result<KernelId> {
    Ok(match op {
        BinaryOp::Iadd | BinaryOp::Fadd => KernelId::ADD,
        BinaryOp::Isub | BinaryOp::Fsub => KernelId::SUB,
        BinaryOp::Imul | BinaryOp::Fmul => KernelId::MUL,
        BinaryOp::Sdiv | BinaryOp::Fdiv => KernelId::DIV,
        BinaryOp::Udiv => KernelId::DIV_U,
        op => return Err(Error::unsupported(format!("{op:?} on cooperative matrices"))),
    })
}
