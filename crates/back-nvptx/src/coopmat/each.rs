//! Matrices element by element: those that may be partly outside of their object, that lie unevenly in memory, or that
//! have padding.
//!
//! A routine goes through the registers of a lane, with an array in the lane's own memory in their place. Matrices of one
//! kind share it, because code for what hardly happens would be most of a kernel.

use super::Mat;
use super::layout::Layout;
use super::memory::Place;
use super::regroup::Later;
use super::rows::place_spaced;
use crate::lower::{ADDRESS_SPACE_LOCAL, Lower, Ptr};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Linkage;
use inkwell::types::{BasicMetadataTypeEnum, BasicType};
use inkwell::values::{FunctionValue, InstructionOpcode as I, PointerValue};
use inkwell::{AddressSpace, IntPredicate};
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{MemFlags, Scalar, Space};

/// What a routine is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    is_store: bool,
    layout: Layout,
    elem: Scalar,
    space: Space,
    column_major: bool,
    flags: MemFlags,
    /// Rows and columns of the whole matrix, of which this warp holds a part.
    whole: Option<(u32, u32)>,
    /// Whether elements lie in the array as [`rows`](super::rows) has them.
    is_spaced: bool,
}

impl<'c> Lower<'_, 'c> {
    pub(super) fn load_each(&mut self, place: &Place<'c>) -> Result<Vec<V<'c>>> {
        let array = self.array(place.elem, place.layout.registers())?;
        self.call_routine(place, false, (array, false))?;
        self.read_array(place, array)
    }

    pub(super) fn store_each(&mut self, place: &Place<'c>, m: &Mat<'c>) -> Result<()> {
        let array = self.array(place.elem, place.layout.registers())?;
        self.write_array(place, array, m)?;
        self.call_routine(place, true, (array, false))
    }

    /// The words of a matrix whose elements are in an array.
    pub(super) fn read_array(&mut self, place: &Place<'c>, array: PointerValue<'c>) -> Result<Vec<V<'c>>> {
        let ty = self.e.scalar_ty(place.elem);
        let mut elements = Vec::new();
        for register in 0..place.layout.registers() {
            let at = self.e.element_ptr(ty, array.into(), self.e.i64(register.into()))?.into_pointer_value();
            elements.push(self.e.b.build_load(ty, at, "")?);
        }
        let m = self.pack_elements(place.layout, place.elem, &elements)?;
        Ok(m.words.to_vec())
    }

    /// Writes the elements of a matrix to an array.
    pub(super) fn write_array(
        &mut self,
        place: &Place<'c>,
        array: PointerValue<'c>,
        m: &Mat<'c>,
    ) -> Result<()> {
        let ty = self.e.scalar_ty(place.elem);
        for (element, register) in self.elements(m)?.into_iter().zip(0..) {
            let at = self.e.element_ptr(ty, array.into(), self.e.i64(register))?.into_pointer_value();
            self.e.b.build_store(at, element)?;
        }
        Ok(())
    }

    /// An array of so many elements; nothing is in it for longer than it takes to move matrices.
    pub(super) fn array(&mut self, elem: Scalar, count: u32) -> Result<PointerValue<'c>> {
        let key = (elem, count);
        if let Some(&(_, array)) = self.matrices.arrays.iter().find(|(known, _)| *known == key) {
            return Ok(array);
        }
        let array = self.reserve(self.e.scalar_ty(elem).array_type(count))?;
        self.matrices.arrays.push((key, array));
        Ok(array)
    }

    /// Loads or stores a matrix whose elements go to an array or come from one, where they may be spaced.
    pub(super) fn call_routine(
        &mut self,
        place: &Place<'c>,
        is_store: bool,
        (array, is_spaced): (PointerValue<'c>, bool),
    ) -> Result<()> {
        let &Place { p, part, stride, column_major, flags, layout, elem, .. } = place;
        let whole = part.map(|[(_, rows), (_, cols)]| (rows, cols));
        let kind = Kind { is_store, layout, elem, space: p.space, column_major, flags, whole, is_spaced };
        let zero = self.e.i32(0);
        let [(row, _), (col, _)] = part.unwrap_or([(zero, 0); 2]);
        let base = if p.space == Space::Shared { self.in_part(p.base)? } else { p.base };
        // By its address in the lane's own memory: of a generic one `ptxas` lost the upper half at a call.
        let own = self.e.cx.ptr_type(AddressSpace::from(ADDRESS_SPACE_LOCAL));
        let array = self.e.cast(I::AddrSpaceCast, array.into(), own)?;
        let args = [base, p.size, p.offset, stride, row, col, array];
        let routine = match self.matrices.routines.iter().find(|(known, _)| *known == kind) {
            Some(&(_, routine)) => routine,
            None => self.routine(kind, &args)?,
        };
        self.converge()?;
        self.e.call_direct(routine, &args)
    }

    /// Lets the warp come together. A routine is called by all of it and returns to all of it: `ptxas` keeps what they have
    /// alike in registers of the warp, which threads that ran ahead would overwrite.
    fn converge(&mut self) -> Result<()> {
        let all = self.e.i32(u32::MAX);
        self.e.intrinsic_effect("llvm.nvvm.bar.warp.sync", &[], &[all])?;
        Ok(())
    }

    /// Makes a routine that takes arguments of these types.
    fn routine(&mut self, kind: Kind, args: &[V<'c>]) -> Result<FunctionValue<'c>> {
        let params: Vec<BasicMetadataTypeEnum<'c>> = args.iter().map(|x| x.get_type().into()).collect();
        let ty = self.e.cx.void_type().fn_type(&params, false);
        let routine = self.e.module.add_function("each", ty, Some(Linkage::Internal));
        // Where there are calls, `ptxas` waits for each multiplication of a ring.
        let inlined = if self.has_wgmma() { "alwaysinline" } else { "noinline" };
        for name in [inlined, "nounwind", "convergent"] {
            let flag = Attribute::get_named_enum_kind_id(name);
            routine.add_attribute(AttributeLoc::Function, self.e.cx.create_enum_attribute(flag, 0));
        }
        let caller = std::mem::replace(&mut self.function, routine);
        let here = self.e.here()?;
        let start = self.new_block("start");
        self.e.b.position_at_end(start);
        // Where the object is was found by the caller.
        let (halves, blocks) = (self.halves.take(), self.leave_blocks());
        let result = self.routine_body(kind, &routine.get_params());
        self.halves = halves;
        self.enter_blocks(blocks);
        self.e.b.position_at_end(here);
        self.function = caller;
        self.matrices.routines.push((kind, routine));
        result.map(|()| routine)
    }

    fn routine_body(&mut self, kind: Kind, params: &[V<'c>]) -> Result<()> {
        let &[base, size, offset, stride, row, col, array] = params else {
            return Err(Error::bug("a routine takes a place and an array"));
        };
        let whole = kind.whole.unwrap_or((kind.layout.rows, kind.layout.cols));
        let place = Place {
            p: Ptr { space: kind.space, base, size, offset },
            part: kind.whole.map(|_| [(row, whole.0), (col, whole.1)]),
            stride,
            align: 1,
            column_major: kind.column_major,
            is_inside: false,
            flags: kind.flags,
            layout: kind.layout,
            elem: kind.elem,
        };
        let ty = self.e.scalar_ty(kind.elem);
        self.each_register(&place, |l, p, exists, register| {
            let element =
                if kind.is_spaced { place_spaced(&kind.layout, &mut Later(l), register)? } else { register };
            let element = l.e.zext_trunc(element, 64)?;
            let at = l.e.element_ptr(ty, array, element)?.into_pointer_value();
            if kind.is_store {
                let x = l.e.b.build_load(ty, at, "")?;
                let write =
                    |l: &mut Self| l.write_each(&p, kind.elem, &[x], 1, kind.flags).map(|()| Vec::new());
                return l.either(exists, write, |_| Ok(Vec::new())).map(|_nothing| ());
            }
            let zero = l.e.zero(ty);
            let read = |l: &mut Self| l.read_each(&p, kind.elem, 1, 1, kind.flags);
            let x = l.either(exists, read, |_| Ok(vec![zero]))?[0];
            l.e.b.build_store(at, x)?;
            Ok(())
        })?;
        self.converge()?;
        self.e.b.build_return(None)?;
        Ok(())
    }

    /// Does something for each register of this lane, in a loop: with where its element is, whether there is one, and its
    /// number.
    fn each_register(
        &mut self,
        place: &Place<'c>,
        body: impl FnOnce(&mut Self, Ptr<'c>, V<'c>, V<'c>) -> Result<()>,
    ) -> Result<()> {
        let lane = self.lane()?;
        let [again, done] = ["registers", "registers_done"].map(|name| self.new_block(name));
        let before = self.e.here()?;
        self.e.br(again)?;
        self.e.b.position_at_end(again);
        let phi = self.e.b.build_phi(self.e.cx.i32_type(), "register")?;
        phi.add_incoming(&[(&self.e.cx.i32_type().const_zero(), before)]);
        let register = phi.as_basic_value();
        let (row, col) = place.layout.place(&mut Later(self), lane, register)?;
        let mut exists = self.e.bool(true);
        for (i, (number, side)) in
            [(row, place.layout.rows), (col, place.layout.cols)].into_iter().enumerate()
        {
            let is_held = self.e.icmp(IntPredicate::ULT, number, self.e.i32(side))?;
            exists = self.e.and(exists, is_held)?;
            if let Some(part) = place.part {
                let (first, all) = part[i];
                let number = self.e.add(first, number)?;
                let is_element = self.e.icmp(IntPredicate::ULT, number, self.e.i32(all))?;
                exists = self.e.and(exists, is_element)?;
            }
        }
        let further = self.offset_in(place, (row, col))?;
        let offset = self.e.add(place.p.offset, further)?;
        body(self, Ptr { offset, ..place.p }, exists, register)?;
        let next = self.e.add(register, self.e.i32(1))?;
        phi.add_incoming(&[(&next, self.e.here()?)]);
        let more = self.e.icmp(IntPredicate::ULT, next, self.e.i32(place.layout.registers()))?;
        self.e.cond_br(more, again, done)?;
        self.e.b.position_at_end(done);
        Ok(())
    }
}
