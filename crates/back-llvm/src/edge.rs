//! Vector accesses of which a part may lie out of bounds.
//!
//! An access of all lanes together is a vector access if all of it is inside. Otherwise it is done scalar by scalar,
//! between the object and a copy on the stack. That is rare and may be slow, but it must be small, as a kernel has many
//! accesses, and it must not cost the rest anything. Where a function can leave all registers as they are (`lanes`), one
//! does it. Elsewhere what is read is copied by a loop of a few scalar instructions, because no vector register survives
//! a call. Only where a kernel reads at one place is it a call: there all that lives is saved beside the way that is taken,
//! and rows that a loop within the loop stands beside were read at half the speed.
//!
//! ```text
//!   br %inside, label %access, label %edge
//! edge:
//!   %i = phi i64 [ 0, ... ], [ %next, %edge ]
//!   ...                                             element i, or 0
//!   br %more, label %edge, label %access
//! access:
//!   %from = phi ptr [ %at, ... ], [ %copy, %edge ]
//!   %x = load <32 x float>, ptr %from
//! ```
//!
//! Writing a part is one function for all of them.

use crate::emit::{Emit, V};
use crate::error::Result;
use crate::lower::Lower;
use crate::value::Ptr;
use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Linkage;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{FunctionValue, PointerValue};
use phalanx_ir::{InstInfo, Op, Space, Type};

impl<'c> Lower<'_, 'c> {
    /// Reads a vector at `at`, whose elements, of `elem_bytes` bytes, are zero out of bounds.
    pub(crate) fn load_across_edge(
        &mut self,
        ty: BasicTypeEnum<'c>,
        elem_bytes: u64,
        p: &Ptr<'c>,
        at: PointerValue<'c>,
        inside: V<'c>,
    ) -> Result<V<'c>> {
        let elems = ty.into_vector_type().get_size();
        if self.e.caps.mask_registers && elems == self.w {
            return self.load_masked(ty, elem_bytes, p, at, inside);
        }
        let from = self.copied_at_edge(ty, elem_bytes, p, at, inside)?;
        self.e.load(ty, from, 1)
    }

    /// Where a vector can be read whose elements, of `elem_bytes` bytes, are zero out of bounds: where it is, or a copy.
    pub(crate) fn copied_at_edge(
        &mut self,
        ty: BasicTypeEnum<'c>,
        elem_bytes: u64,
        p: &Ptr<'c>,
        at: PointerValue<'c>,
        inside: V<'c>,
    ) -> Result<PointerValue<'c>> {
        let count = self.e.i64(ty.into_vector_type().get_size().into());
        let copy = self.spill_slot(ty, 0)?;
        let [edge, access] = ["edge", "access"].map(|n| self.new_block(n));
        let before = self.e.here()?;
        self.e.cond_br_likely(inside, access, edge)?;
        self.e.b.position_at_end(edge);
        if self.keeps_registers() || self.reads_at_one_place() {
            let function = self.load_edge(elem_bytes)?;
            self.e.call_direct(function, &[copy.into(), p.base.v, p.size.v, p.offset.v, count])?;
            self.e.br(access)?;
            self.e.b.position_at_end(access);
            return Ok(self.e.merge(&[(at.into(), before), (copy.into(), edge)])?.into_pointer_value());
        }
        let zeros = self.zeros();
        let e = &mut self.e;
        let phi = e.b.build_phi(e.cx.i64_type(), "")?;
        let i = phi.as_basic_value();
        let (at_edge, is_there) = element(e, p.base.v, p.size.v, p.offset.v, i, elem_bytes)?;
        let from = e.select(is_there, at_edge, zeros.into())?;
        let elem = e.int_ty(8 * elem_bytes as u32);
        let x = e.load(elem, from.into_pointer_value(), 1)?;
        let to = e.element_ptr(elem.into(), copy.into(), i)?;
        e.store(x, to.into_pointer_value(), 1)?;
        let next = e.add(i, e.i64(1))?;
        phi.add_incoming(&[(&e.i64(0), before), (&next, edge)]);
        let more = e.icmp(IntPredicate::ULT, next, count)?;
        e.cond_br(more, edge, access)?;
        e.b.position_at_end(access);
        Ok(e.merge(&[(at.into(), before), (copy.into(), edge)])?.into_pointer_value())
    }

    /// Whether there is one read of a buffer in the whole kernel.
    fn reads_at_one_place(&self) -> bool {
        let f = self.f;
        let is_read =
            |info: &&InstInfo| matches!(info.op, Op::Load(_)) && f.ty(info.args[0]) != Type::Ptr(Space::Push);
        f.insts.iter().filter(is_read).take(2).count() == 1
    }

    /// Reads a vector with a mask if a part of it is out of bounds.
    fn load_masked(
        &mut self,
        ty: BasicTypeEnum<'c>,
        elem_bytes: u64,
        p: &Ptr<'c>,
        at: PointerValue<'c>,
        inside: V<'c>,
    ) -> Result<V<'c>> {
        let [all, edge, join] = ["inside", "edge", "accessed"].map(|n| self.new_block(n));
        self.e.cond_br_likely(inside, all, edge)?;
        self.e.b.position_at_end(all);
        let whole = self.e.load(ty, at, 1)?;
        self.e.br(join)?;
        self.e.b.position_at_end(edge);
        let mask = self.lanes_inside(elem_bytes, p)?;
        let types = [ty, self.e.ptr_ty().into()];
        let args = [at.into(), self.e.i32(1), mask, self.e.zero(ty)];
        let part = self.e.intrinsic("llvm.masked.load", &types, &args)?;
        self.e.br(join)?;
        self.e.b.position_at_end(join);
        self.e.merge(&[(whole, all), (part, edge)])
    }

    /// Which lanes' elements are inside, where one lane's follows the other's.
    fn lanes_inside(&mut self, elem_bytes: u64, p: &Ptr<'c>) -> Result<V<'c>> {
        let beyond = self.e.map2("llvm.usub.sat", p.size.v, self.e.i64(elem_bytes as i64 - 1))?;
        if self.w > 32 {
            let offsets = self.vector(p.offset)?;
            return self.e.icmp(IntPredicate::ULT, offsets, self.e.splat(beyond, self.w)?);
        }
        // They are a run of lanes, so its ends are enough. No object is so large that its size less
        // the least offset left here would overflow.
        let offset = self.e.map2("llvm.smax", p.offset.v, self.e.i64(-1 << 62))?;
        let before = self.e.sub(self.e.i64(0), offset)?;
        let first = self.lanes_in(before, elem_bytes)?;
        let room = self.e.sub(beyond, offset)?;
        let end = self.lanes_in(room, elem_bytes)?;
        let all = self.e.i64(-1);
        let (from, past) = (self.e.shl(all, first)?, self.e.shl(all, end)?);
        let bits = self.e.and(from, self.e.not(past)?)?;
        let bits = self.e.zext_trunc(bits, self.w)?;
        self.e.bitcast(bits, self.e.cx.bool_type().vec_type(self.w).into())
    }

    /// The number of lanes' elements that begin within some bytes.
    fn lanes_in(&mut self, bytes: V<'c>, elem_bytes: u64) -> Result<V<'c>> {
        let bytes = self.e.map2("llvm.smax", bytes, self.e.i64(0))?;
        let rounded = self.e.add(bytes, self.e.i64(elem_bytes as i64 - 1))?;
        let elems = self.e.lshr(rounded, self.e.i64(elem_bytes.ilog2().into()))?;
        self.e.map2("llvm.umin", elems, self.e.i64(self.w.into()))
    }

    /// Writes a vector at `at`, `n` consecutive elements for each lane, except for elements out of
    /// bounds and inactive lanes. `store` does it if all elements are inside.
    pub(crate) fn store_across_edge(
        &mut self,
        x: V<'c>,
        n: u32,
        elem_bytes: u64,
        p: &Ptr<'c>,
        (at, inside): (PointerValue<'c>, V<'c>),
        store: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let [access, edge, done] = ["access", "edge", "stored"].map(|n| self.new_block(n));
        self.e.cond_br_likely(inside, access, edge)?;
        self.e.b.position_at_end(edge);
        if self.e.caps.mask_registers && n == 1 {
            let lanes = self.lanes_inside(elem_bytes, p)?;
            let mask = match self.exec.mask {
                Some(mask) => self.e.and(lanes, mask)?,
                None => lanes,
            };
            self.store_vector(x, at, Some(mask))?;
        } else {
            self.store_parts(x, n, elem_bytes, p)?;
        }
        self.e.br(done)?;
        self.e.b.position_at_end(access);
        store(self)?;
        self.e.br(done)?;
        self.e.b.position_at_end(done);
        Ok(())
    }

    /// Writes those elements of a vector that are inside and whose lanes are active.
    fn store_parts(&mut self, x: V<'c>, n: u32, elem_bytes: u64, p: &Ptr<'c>) -> Result<()> {
        let copy = self.spill_slot(x.get_type(), 0)?;
        self.e.b.build_store(copy, x)?;
        let bits = self.e.mask_bits(self.exec_mask())?;
        let low = self.e.zext_trunc(bits, 64)?;
        let high = match self.w {
            128 => self.e.zext_trunc(self.e.lshr(bits, self.e.int_like(bits, 64))?, 64)?,
            _ => self.e.i64(0),
        };
        let function = self.store_edge(elem_bytes)?;
        let n = self.e.i64(n.into());
        self.e.call_direct(function, &[copy.into(), p.base.v, p.size.v, p.offset.v, n, low, high])
    }

    /// `(copy, base, size, offset, count)`: fills the copy.
    fn load_edge(&mut self, elem_bytes: u64) -> Result<FunctionValue<'c>> {
        let name = format!("load_edge_{elem_bytes}");
        let zeros = self.zeros();
        self.helper(&name, 4, |e, f| {
            let [copy, base, size, offset, count] = params(f);
            let elem = e.int_ty(8 * elem_bytes as u32);
            each(e, f, count, |e, i| {
                let (at, inside) = element(e, base, size, offset, i, elem_bytes)?;
                let from = e.select(inside, at, zeros.into())?;
                let x = e.load(elem, from.into_pointer_value(), 1)?;
                let to = e.element_ptr(elem.into(), copy, i)?;
                e.store(x, to.into_pointer_value(), 1)?;
                Ok(())
            })
        })
    }

    /// `(copy, base, size, offset, n, mask, mask)`: writes the copy out, `n` elements for each lane
    /// whose bit is set.
    fn store_edge(&mut self, elem_bytes: u64) -> Result<FunctionValue<'c>> {
        let name = format!("store_edge_{elem_bytes}");
        let lanes = u64::from(self.w);
        self.helper(&name, 6, |e, f| {
            let [copy, base, size, offset, n, low, high] = params(f);
            let elem = e.int_ty(8 * elem_bytes as u32);
            let sixty_four = e.i64(64);
            each(e, f, e.i64(lanes as i64), |e, lane| {
                let is_high = e.icmp(IntPredicate::UGE, lane, sixty_four)?;
                let half = e.select(is_high, high, low)?;
                let bit = e.and(e.lshr(half, e.and(lane, e.i64(63))?)?, e.i64(1))?;
                let active = e.icmp(IntPredicate::NE, bit, e.i64(0))?;
                let first = e.mul(lane, n)?;
                when(e, f, active, |e| {
                    each(e, f, n, |e, k| {
                        let i = e.add(first, k)?;
                        let (at, inside) = element(e, base, size, offset, i, elem_bytes)?;
                        when(e, f, inside, |e| {
                            let from = e.element_ptr(elem.into(), copy, i)?;
                            let x = e.load(elem, from.into_pointer_value(), 1)?;
                            e.store(x, at.into_pointer_value(), 1)?;
                            Ok(())
                        })
                    })
                })
            })
        })
    }

    /// A function of this module that takes two pointers and `numbers - 1` integers, filled when it
    /// is first asked for.
    fn helper(
        &mut self,
        name: &str,
        numbers: usize,
        fill: impl FnOnce(&mut Emit<'c>, FunctionValue<'c>) -> Result<()>,
    ) -> Result<FunctionValue<'c>> {
        if let Some(f) = self.e.module.get_function(name) {
            return Ok(f);
        }
        let mut types = vec![self.e.ptr_ty().into(); 2];
        types.resize(numbers + 1, self.e.cx.i64_type().into());
        let ty = self.e.cx.void_type().fn_type(&types, false);
        let function = self.e.module.add_function(name, ty, Some(Linkage::Internal));
        for attribute in ["noinline", "cold", "minsize", "optsize"] {
            let kind = Attribute::get_named_enum_kind_id(attribute);
            function.add_attribute(AttributeLoc::Function, self.e.cx.create_enum_attribute(kind, 0));
        }
        self.fill_own(function, |e, f| fill(e, f).and_then(|()| Ok(e.b.build_return(None).map(|_| ())?)))?;
        Ok(function)
    }
}

/// The parameters of a function.
fn params<'c, const N: usize>(f: FunctionValue<'c>) -> [V<'c>; N] {
    std::array::from_fn(|i| f.get_nth_param(i as u32).expect("declared with so many"))
}

/// The address of element `i`, and whether it is inside.
fn element<'c>(
    e: &mut Emit<'c>,
    base: V<'c>,
    size: V<'c>,
    offset: V<'c>,
    i: V<'c>,
    elem_bytes: u64,
) -> Result<(V<'c>, V<'c>)> {
    let step = e.mul(i, e.i64(elem_bytes as i64))?;
    let offset = e.add(offset, step)?;
    let beyond = e.map2("llvm.usub.sat", size, e.i64(elem_bytes as i64 - 1))?;
    let inside = e.icmp(IntPredicate::ULT, offset, beyond)?;
    Ok((e.offset(base, offset)?, inside))
}

/// Runs code with a counter from 0 up to `count`, which is not 0.
fn each<'c>(
    e: &mut Emit<'c>,
    f: FunctionValue<'c>,
    count: V<'c>,
    body: impl FnOnce(&mut Emit<'c>, V<'c>) -> Result<()>,
) -> Result<()> {
    let [head, done] = ["each", "done"].map(|n| e.new_block(f, n));
    let before = e.here()?;
    e.br(head)?;
    e.b.position_at_end(head);
    let phi = e.b.build_phi(e.cx.i64_type(), "")?;
    let i = phi.as_basic_value();
    body(e, i)?;
    let next = e.add(i, e.i64(1))?;
    phi.add_incoming(&[(&e.i64(0), before), (&next, e.here()?)]);
    let more = e.icmp(IntPredicate::ULT, next, count)?;
    e.cond_br(more, head, done)?;
    e.b.position_at_end(done);
    Ok(())
}

/// Runs code under a condition.
fn when<'c>(
    e: &mut Emit<'c>,
    f: FunctionValue<'c>,
    cond: V<'c>,
    body: impl FnOnce(&mut Emit<'c>) -> Result<()>,
) -> Result<()> {
    let [yes, done] = ["when", "done"].map(|n| e.new_block(f, n));
    e.cond_br(cond, yes, done)?;
    e.b.position_at_end(yes);
    body(e)?;
    e.br(done)?;
    e.b.position_at_end(done);
    Ok(())
}
