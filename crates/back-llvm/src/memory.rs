//! Loads and stores.
//!
//! Every access to a bounded object is checked, scalar by scalar: reads outside give zero, writes
//! vanish. How an access is done depends on the shape of its address:
//!
//! - uniform: one scalar access, whose check chooses another address instead of branching; in loops, one vector access to
//!   several scalars;
//! - rising evenly by no more than a few elements, all lanes inside: one vector access, with
//!   shuffles to take it apart where a lane has several scalars or there are gaps;
//! - known lane by lane, but for where the first is: vector accesses and shuffles, for reading (`window`);
//! - at places that several lanes share: each of them once, for reading (`shared`);
//! - several scalars that a lane has together: an access for each lane, and shuffles (`pieces`);
//! - anything: gather and scatter where the processor has them;
//! - what is left (volatile, elements too narrow to scatter, no scatter at all): lane by lane, in a
//!   loop, because code that is rarely run should be small.

use crate::emit::{V, const_int, lanes};
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::value::{Lowered, Ptr, Shape, Val};
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::PointerValue;
use phalanx_ir::{Inst, MemFlags, Scalar, Space};

/// Bytes up to which the memory that all lanes access together is read or written as one vector.
const MAX_WIDE_BYTES: u64 = 2048;

/// Elements from lane to lane up to which a vector with gaps is read rather than gathered.
const MAX_GAP: u64 = 4;

/// Scalars that are the same for all lanes from which on, in a loop, one check of all and a branch are less than a check of
/// each.
const MIN_RUN: u32 = 4;

/// An access to `n` consecutive scalars in each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access<'c> {
    pub(crate) ptr: Ptr<'c>,
    pub(crate) scalar: Scalar,
    pub(crate) n: u32,
    pub(crate) volatile: bool,
    /// Of a copy: all that is read is stored as it is.
    pub(crate) is_copy: bool,
    /// In a loop, at a place that depends on the work-group.
    pub(crate) is_stream: bool,
    /// What does it.
    pub(crate) inst: Inst,
}

impl Access<'_> {
    pub(crate) fn elem_bytes(&self) -> u64 {
        self.scalar.bytes().into()
    }

    pub(crate) fn is_bounded(&self) -> bool {
        self.ptr.space != Space::Global
    }

    /// Elements from lane to lane, if all lanes' scalars lie close together in the lanes' order.
    pub(crate) fn gap(&self, lanes: u32) -> Option<u64> {
        if self.volatile || !self.ptr.base.is_uniform() || !self.ptr.size.is_uniform() {
            return None;
        }
        let Shape::Affine(stride) = self.ptr.offset.shape else { return None };
        let stride = u64::try_from(stride).ok().filter(|s| s.is_multiple_of(self.elem_bytes()))?;
        let elems = stride / self.elem_bytes();
        let is_near = elems <= MAX_GAP.max(self.n.into()) && elems >= u64::from(self.n);
        (is_near && elems * u64::from(lanes) * self.elem_bytes() <= MAX_WIDE_BYTES).then_some(elems)
    }
}

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_load(&mut self, inst: Inst, flags: MemFlags) -> Result<()> {
        let f = self.f;
        let values = match self.read_before.remove(&inst) {
            Some(values) => values,
            None => {
                let access = self.load_access(inst, flags)?;
                self.load_scalars(&access)?
            }
        };
        for (&result, v) in f.inst(inst).results.iter().zip(values) {
            self.define(result, Lowered::Scalar(v));
        }
        Ok(())
    }

    /// What a load reads, which has been checked.
    pub(crate) fn load_access(&mut self, inst: Inst, flags: MemFlags) -> Result<Access<'c>> {
        let info = self.f.inst(inst);
        let access = Access {
            ptr: self.ptr(info.args[0])?,
            scalar: self.scalar_ty(info.results[0])?,
            n: info.results.len() as u32,
            volatile: flags.volatile,
            is_copy: self.copies.contains(&inst),
            is_stream: self.streams.contains(&inst) && self.frames.is_in_loop(),
            inst,
        };
        self.check_access(inst, &access.ptr, u64::from(access.n) * access.elem_bytes(), false)?;
        Ok(access)
    }

    pub(crate) fn lower_store(&mut self, inst: Inst, flags: MemFlags) -> Result<()> {
        let access = self.store_access(inst, flags)?;
        let values = self.args(inst)[1..].iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
        self.store_scalars(&access, &values)
    }

    /// What a store writes, which has been checked.
    pub(crate) fn store_access(&mut self, inst: Inst, flags: MemFlags) -> Result<Access<'c>> {
        let args = &self.f.inst(inst).args;
        let access = Access {
            ptr: self.ptr(args[0])?,
            scalar: self.scalar_ty(args[1])?,
            n: args.len() as u32 - 1,
            volatile: flags.volatile,
            is_copy: self.copies.contains(&inst),
            is_stream: false,
            inst,
        };
        self.check_access(inst, &access.ptr, u64::from(access.n) * access.elem_bytes(), true)?;
        Ok(access)
    }

    pub(crate) fn load_scalars(&mut self, a: &Access<'c>) -> Result<Vec<Val<'c>>> {
        let p = &a.ptr;
        if p.base.is_uniform() && p.size.is_uniform() && p.offset.is_uniform() {
            let is_run = a.n >= MIN_RUN && !a.volatile && a.is_bounded() && a.ptr.space != Space::Push;
            if is_run && self.frames.is_in_loop() {
                return self.load_run(a);
            }
            let loads = (0..a.n).map(|k| self.load_uniform(a, k));
            return loads.map(|v| v.map(Val::uniform)).collect();
        }
        let gap = a.gap(self.w);
        if gap != Some(1)
            && let Some(values) = self.load_windows(a)?
        {
            return Ok(values);
        }
        if let Some(gap) = gap
            && let Some(values) = self.load_wide(a, gap)?
        {
            return Ok(values);
        }
        if let Some(values) = self.load_shared(a)? {
            return Ok(values);
        }
        if let Some(values) = self.load_pieces(a)? {
            return Ok(values);
        }
        if let Some(values) = self.load_strided(a)? {
            return Ok(values);
        }
        self.load_apart(a)
    }

    /// Reads each lane's scalars by themselves.
    pub(crate) fn load_apart(&mut self, a: &Access<'c>) -> Result<Vec<Val<'c>>> {
        if self.e.caps.mask_registers && !a.volatile {
            return (0..a.n).map(|k| self.load_gather(a, k)).collect();
        }
        self.load_lane_by_lane(a)
    }

    pub(crate) fn store_scalars(&mut self, a: &Access<'c>, values: &[Val<'c>]) -> Result<()> {
        let p = &a.ptr;
        if p.base.is_uniform() && p.size.is_uniform() && p.offset.is_uniform() {
            return self.store_uniform(a, values);
        }
        if a.gap(self.w) == Some(u64::from(a.n)) && self.store_wide(a, values)? {
            return Ok(());
        }
        if self.store_pieces(a, values)? || self.store_strided(a, values)? {
            return Ok(());
        }
        self.store_apart(a, values)
    }

    /// Writes each lane's scalars by themselves.
    pub(crate) fn store_apart(&mut self, a: &Access<'c>, values: &[Val<'c>]) -> Result<()> {
        if self.e.caps.mask_registers && !a.volatile && a.elem_bytes() >= 4 {
            return (0..a.n).zip(values).try_for_each(|(k, &v)| self.store_scatter(a, k, v));
        }
        self.store_lane_by_lane(a, values)
    }
}

/// Checks.
impl<'c> Lower<'_, 'c> {
    /// Whether `bytes` bytes from an offset are inside; for each of several offsets, which may have one size.
    pub(crate) fn is_inside(&mut self, offset: V<'c>, size: V<'c>, bytes: u64) -> Result<V<'c>> {
        let mut beyond = match const_int(size) {
            _ if bytes == 1 => size,
            // Thus a known offset is known to be inside.
            Some(size) => self.e.i64(size.saturating_sub(bytes - 1).cast_signed()),
            None => self.e.map2("llvm.usub.sat", size, self.e.int_like(size, bytes - 1))?,
        };
        if let (Some(w), None) = (lanes(offset), lanes(beyond)) {
            beyond = self.e.splat(beyond, w)?;
        }
        self.e.icmp(IntPredicate::ULT, offset, beyond)
    }

    /// The size of the object that an access goes to, or of that of each lane.
    pub(crate) fn size_of(&self, a: &Access<'c>) -> Result<V<'c>> {
        if a.ptr.size.is_uniform() { Ok(a.ptr.size.v) } else { self.vector(a.ptr.size) }
    }

    /// Whether everything between the first scalar of lane 0 and the end of the last lane is
    /// inside.
    pub(crate) fn all_inside(&mut self, a: &Access<'c>, gap: u64) -> Result<V<'c>> {
        if !a.is_bounded() {
            return Ok(self.e.bool(true));
        }
        self.is_inside(a.ptr.offset.v, a.ptr.size.v, gap * a.elem_bytes() * u64::from(self.w))
    }

    /// Eight zero bytes and more, read instead of what is out of bounds.
    pub(crate) fn zeros(&mut self) -> PointerValue<'c> {
        if let Some(global) = self.e.module.get_global("zeros") {
            return global.as_pointer_value();
        }
        let ty = self.e.cx.i64_type().array_type(2);
        let global = self.e.module.add_global(ty, None, "zeros");
        global.set_initializer(&ty.const_zero());
        global.set_constant(true);
        global.set_linkage(inkwell::module::Linkage::Private);
        global.set_alignment(16);
        global.as_pointer_value()
    }

    /// The offset of scalar `k`.
    fn offset_of(&mut self, a: &Access<'c>, k: u32) -> Result<Val<'c>> {
        let o = a.ptr.offset;
        if k == 0 {
            return Ok(o);
        }
        let bytes = u64::from(k) * a.elem_bytes();
        Ok(Val { v: self.e.add(o.v, self.e.int_like(o.v, bytes))?, ..o })
    }

    /// The address at an offset (all scalars, or all vectors or scalars to be spread).
    pub(crate) fn at(&mut self, p: &Ptr<'c>, base: V<'c>, offset: V<'c>) -> Result<V<'c>> {
        if p.space == Space::Global {
            return self.e.cast(inkwell::values::InstructionOpcode::IntToPtr, offset, self.e.ptr_ty());
        }
        self.e.offset(base, offset)
    }
}

/// One access for all lanes.
impl<'c> Lower<'_, 'c> {
    fn load_uniform(&mut self, a: &Access<'c>, k: u32) -> Result<V<'c>> {
        let offset = self.offset_of(a, k)?.v;
        let at = self.at(&a.ptr, a.ptr.base.v, offset)?;
        let at = self.readable(a, at, offset, a.ptr.size.v)?;
        let ty = self.e.scalar_ty(a.scalar);
        let v = match a.ptr.space {
            Space::Push => self.e.load_invariant(ty, at, 1)?,
            _ => self.e.load(ty, at, 1)?,
        };
        self.ask_behind_block(a, at)?;
        if a.volatile {
            self.e.set_volatile(v)?;
        }
        Ok(v)
    }

    /// Reads scalars that follow one another as one vector.
    fn load_run(&mut self, a: &Access<'c>) -> Result<Vec<Val<'c>>> {
        let at = self.at(&a.ptr, a.ptr.base.v, a.ptr.offset.v)?.into_pointer_value();
        let ty: BasicTypeEnum<'c> = self.e.vec_of(self.e.scalar_ty(a.scalar), a.n).into();
        let inside = self.is_inside(a.ptr.offset.v, a.ptr.size.v, u64::from(a.n) * a.elem_bytes())?;
        let from = match const_int(inside) {
            Some(1) => at,
            _ => self.copied_at_edge(ty, a.elem_bytes(), &a.ptr, at, inside)?,
        };
        let run = self.e.load(ty, from, 1)?;
        Ok(self.e.elements(a.scalar, run)?.into_iter().map(Val::uniform).collect())
    }

    /// The address of one scalar, or of a zero if it is out of bounds.
    pub(crate) fn readable(
        &mut self,
        a: &Access<'c>,
        at: V<'c>,
        offset: V<'c>,
        size: V<'c>,
    ) -> Result<PointerValue<'c>> {
        self.inside_or(a, at, (offset, size), |l| Ok(l.zeros()))
    }

    /// The address of one scalar, or of a place that nobody reads if it is out of bounds.
    pub(crate) fn writable(
        &mut self,
        a: &Access<'c>,
        at: V<'c>,
        offset: V<'c>,
        size: V<'c>,
    ) -> Result<PointerValue<'c>> {
        self.inside_or(a, at, (offset, size), |l| l.spill_slot(l.e.cx.i64_type().into(), u32::MAX))
    }

    /// The address of one scalar, or another one if it is out of bounds.
    fn inside_or(
        &mut self,
        a: &Access<'c>,
        at: V<'c>,
        (offset, size): (V<'c>, V<'c>),
        other: impl FnOnce(&mut Self) -> Result<PointerValue<'c>>,
    ) -> Result<PointerValue<'c>> {
        if !a.is_bounded() {
            return Ok(at.into_pointer_value());
        }
        let inside = self.is_inside(offset, size, a.elem_bytes())?;
        if const_int(inside) == Some(1) {
            return Ok(at.into_pointer_value());
        }
        let other = other(self)?.into();
        Ok(self.e.select(inside, at, other)?.into_pointer_value())
    }

    fn store_uniform(&mut self, a: &Access<'c>, values: &[Val<'c>]) -> Result<()> {
        for (k, &value) in (0..a.n).zip(values) {
            let offset = self.offset_of(a, k)?.v;
            let at = self.at(&a.ptr, a.ptr.base.v, offset)?;
            let at = self.writable(a, at, offset, a.ptr.size.v)?;
            // Lanes write one after the other, so the last one stays.
            let v = match value.is_uniform() {
                true => value.v,
                false => {
                    let last = self.last_lane()?;
                    self.at_lane(value, last)?
                }
            };
            let inst = self.e.store(v, at, 1)?;
            inst.set_volatile(a.volatile).map_err(|e| Error::bug(e.to_string()))?;
        }
        Ok(())
    }

    /// Reads all lanes' scalars as one vector and takes it apart.
    fn load_wide(&mut self, a: &Access<'c>, gap: u64) -> Result<Option<Vec<Val<'c>>>> {
        let at = self.at(&a.ptr, a.ptr.base.v, a.ptr.offset.v)?.into_pointer_value();
        let lanes = self.w;
        // Without bounds, nothing says that the gap behind the last lane's scalars may be read.
        let unread = if a.is_bounded() { 0 } else { gap as u32 - a.n };
        let ty = self.e.vec_of(self.e.scalar_ty(a.scalar), lanes * gap as u32 - unread).into();
        self.note_read(a.ptr.space, at, u64::from(lanes) * gap * a.elem_bytes())?;
        self.ask_ahead(a, at, u64::from(lanes) * gap * a.elem_bytes())?;
        let inside = self.all_inside(a, gap)?;
        // Outside of objects, nothing may be read for lanes that do not execute.
        let all = match (a.is_bounded(), self.exec.mask) {
            (true, _) if const_int(inside) != Some(1) => {
                self.load_across_edge(ty, a.elem_bytes(), &a.ptr, at, inside)?
            }
            (true, _) | (false, None) => self.e.load(ty, at, 1)?,
            (false, Some(mask)) if self.e.caps.mask_registers && gap == 1 => {
                let types = [ty, self.e.ptr_ty().into()];
                let args = [at.into(), self.e.i32(1), mask, self.e.zero(ty)];
                self.e.intrinsic("llvm.masked.load", &types, &args)?
            }
            (false, Some(_)) => return Ok(None),
        };
        if gap == 1 {
            return Ok(Some(vec![Val::varying(all)]));
        }
        if unread == 0
            && let Some(mut parts) = self.take_apart_by_registers(all, gap as u32)?
        {
            parts.truncate(a.n as usize);
            return Ok(Some(parts.into_iter().map(Val::varying).collect()));
        }
        let parts = (0..a.n).map(|k| self.e.permute(all, (0..lanes).map(move |l| l * gap as u32 + k)));
        parts.map(|v| v.map(Val::varying)).collect::<Result<_>>().map(Some)
    }

    /// Writes all lanes' scalars as one vector, if there is a way to do so.
    fn store_wide(&mut self, a: &Access<'c>, values: &[Val<'c>]) -> Result<bool> {
        let maskable = self.e.caps.mask_registers || (a.n == 1 && a.elem_bytes() >= 4);
        if !a.is_bounded() && self.exec.mask.is_some() && !maskable {
            return Ok(false);
        }
        let at = self.at(&a.ptr, a.ptr.base.v, a.ptr.offset.v)?.into_pointer_value();
        let vectors = values.iter().map(|&v| self.vector(v)).collect::<Result<Vec<_>>>()?;
        let (all, mask) = self.interleave(&vectors)?;
        let mut fast = self.all_inside(a, a.n.into())?;
        if mask.is_some() && !maskable {
            fast = self.e.and(fast, self.e.all(self.exec_mask())?)?;
        }
        let mask = mask.filter(|_| maskable);
        if const_int(fast) == Some(1) {
            self.store_vector(all, at, mask)?;
        } else {
            let store = |l: &mut Self| l.store_vector(all, at, mask);
            self.store_across_edge(all, a.n, a.elem_bytes(), &a.ptr, (at, fast), store)?;
        }
        Ok(true)
    }

    pub(crate) fn store_vector(&mut self, x: V<'c>, at: PointerValue<'c>, mask: Option<V<'c>>) -> Result<()> {
        match mask {
            None => {
                self.e.store(x, at, 1)?;
            }
            Some(mask) => {
                let types = [x.get_type(), self.e.ptr_ty().into()];
                let align = self.e.i32(1);
                self.e.intrinsic_effect("llvm.masked.store", &types, &[x, at.into(), align, mask])?;
            }
        }
        Ok(())
    }

    /// One vector with the lanes' scalars one after the other, and the mask for it, if not all
    /// lanes execute.
    pub(crate) fn interleave(&mut self, vectors: &[V<'c>]) -> Result<(V<'c>, Option<V<'c>>)> {
        let (n, w) = (vectors.len() as u32, self.w);
        let mask = self.exec.mask;
        if n == 1 {
            return Ok((vectors[0], mask));
        }
        let (first, rest) = (vectors[0], &vectors[1..]);
        let mut joined = first;
        for (have, &v) in (1..).zip(rest) {
            // Bring the next vector to the length of what is joined already, then append it.
            let padded = self.e.shuffle(v, v, (0..have * w).map(|i| (i < w).then_some(i)))?;
            joined = self.e.shuffle(joined, padded, (0..(have + 1) * w).map(Some))?;
        }
        let all = self.e.permute(joined, (0..n * w).map(|i| i % n * w + i / n))?;
        let mask = match mask {
            Some(m) => Some(self.e.permute(m, (0..n * w).map(|i| i / n))?),
            None => None,
        };
        Ok((all, mask))
    }
}

/// An access for each lane.
impl<'c> Lower<'_, 'c> {
    /// Addresses of scalar `k` in each lane, and which lanes access it.
    fn lane_addresses(&mut self, a: &Access<'c>, k: u32) -> Result<(V<'c>, V<'c>)> {
        let offset = self.offset_of(a, k)?;
        let offset = self.vector(offset)?;
        let mut mask = self.exec_mask();
        if a.is_bounded() {
            let inside = self.is_inside(offset, self.size_of(a)?, a.elem_bytes())?;
            mask = self.e.and(inside, mask)?;
        }
        let at = self.at(&a.ptr, a.ptr.base.v, offset)?;
        Ok((at, mask))
    }

    fn load_gather(&mut self, a: &Access<'c>, k: u32) -> Result<Val<'c>> {
        let (at, mask) = self.lane_addresses(a, k)?;
        let v = if a.elem_bytes() < 4 {
            self.gather_narrow(a.scalar, at, mask)?
        } else {
            self.gather(self.e.scalar_ty(a.scalar), at, mask)?
        };
        Ok(Val::varying(v))
    }

    fn store_scatter(&mut self, a: &Access<'c>, k: u32, value: Val<'c>) -> Result<()> {
        let (at, mask) = self.lane_addresses(a, k)?;
        let v = self.vector(value)?;
        self.scatter(v, at, mask)
    }

    /// Reads from the addresses of the chosen lanes; zero for the others.
    pub(crate) fn gather(&mut self, elem: BasicTypeEnum<'c>, at: V<'c>, mask: V<'c>) -> Result<V<'c>> {
        let ty: BasicTypeEnum<'c> = self.e.vec_of(elem, self.w).into();
        let (align, zero) = (self.e.i32(1), self.e.zero(ty));
        self.e.intrinsic("llvm.masked.gather", &[ty, at.get_type()], &[at, align, mask, zero])
    }

    /// Writes to the addresses of the chosen lanes, the last lane last.
    pub(crate) fn scatter(&mut self, x: V<'c>, at: V<'c>, mask: V<'c>) -> Result<()> {
        let align = self.e.i32(1);
        let types = [x.get_type(), at.get_type()];
        self.e.intrinsic_effect("llvm.masked.scatter", &types, &[x, at, align, mask])?;
        Ok(())
    }

    /// Gathers scalars of one or two bytes out of the words around them: there are gathers of
    /// words only. A word never crosses a page, so reading all of it is harmless.
    fn gather_narrow(&mut self, s: Scalar, at: V<'c>, mask: V<'c>) -> Result<V<'c>> {
        use inkwell::values::InstructionOpcode as I;
        let address = self.e.cast(I::PtrToInt, at, self.e.cx.i64_type())?;
        let in_word = self.e.and(address, self.e.int_like(address, 3))?;
        let start = self.e.sub(self.e.int_like(address, 0), in_word)?;
        let word_at = self.e.element_ptr(self.e.cx.i8_type().into(), at, start)?;
        let words = self.gather(self.e.cx.i32_type().into(), word_at, mask)?;
        let shift = self.e.zext_trunc(in_word, 32)?;
        let shift = self.e.shl(shift, self.e.int_like(shift, 3))?;
        let bits = self.e.lshr(words, shift)?;
        let narrow = self.e.zext_trunc(bits, s.bits())?;
        self.e.bitcast(narrow, self.e.ty_like(self.e.scalar_ty(s), narrow))
    }

    /// The number of the last active lane (`i32`).
    pub(crate) fn last_lane(&mut self) -> Result<V<'c>> {
        let Some(mask) = self.exec.mask else { return Ok(self.e.i32(self.w - 1)) };
        let bits = self.e.mask_bits(mask)?;
        let yes = self.e.bool(true);
        let above = self.e.intrinsic("llvm.ctlz", &[bits.get_type()], &[bits, yes])?;
        let above = self.e.zext_trunc(above, 32)?;
        self.e.sub(self.e.i32(self.w - 1), above)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::optimized;

    #[test]
    fn what_all_lanes_read_in_a_loop_is_one_vector() {
        let module = "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
push 4
binding buf0 = 0.0 storage
binding buf1 = 0.1 storage writable
var $i: i32
var $sum: f32
{
  %0: i32 = const 0
  %1: i32 = const 1
  %push: ptr<push> = push_ptr
  %count: i32 = load %push
  %in: ptr<buffer> = buffer_ptr<buf0> %0
  loop @next {
    %i: i32 = var_load<$i>
    %more: bool = slt %i, %count
    if %more {
      %from: ptr<buffer> = ptr_add<scale=16> %in, %i
      %a: f32, %b: f32, %c: f32, %d: f32 = load %from
      %ab: f32 = fmul %a, %b exact
      %cd: f32 = fmul %c, %d exact
      %both: f32 = fadd %ab, %cd exact
      %sum: f32 = var_load<$sum>
      %more_of_it: f32 = fadd %sum, %both exact
      var_store<$sum> %more_of_it
      %following: i32 = iadd %i, %1
      var_store<$i> %following
      br @next
    }
  }
  %all: f32 = var_load<$sum>
  %out: ptr<buffer> = buffer_ptr<buf1> %0
  store %out, %all
}
";
        let code = optimized(module, "znver4");
        assert_eq!(code.matches("load <4 x float>").count(), 1, "{code}");
    }
}
