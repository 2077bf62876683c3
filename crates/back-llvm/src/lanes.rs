//! Accesses lane by lane.
//!
//! Where lanes' scalars lie anywhere, and there are no gathers and scatters, a loop goes over the lanes that execute. It
//! moves their scalars between memory and a copy on the stack, which is read and written by registers. Each is looked at
//! by itself: reads out of bounds give zero, writes vanish.
//!
//! A kernel has many accesses, and most of them have such a loop for what is rare. So it is a function of the module
//! wherever that costs nothing: LLVM has a convention by which a function leaves all registers as they are
//! (`preserve_allcc`), and the rest of the code does not notice that it is called. Where there is no such convention a kernel
//! moves what is copied, as little is in registers then. Places are read from memory, too:
//! LLVM writes a vector to the stack each time that an element of it is wanted whose number is not known.
//!
//! ```text
//! store <32 x i64> %offsets, ptr %places
//! call preserve_allcc void @load_lanes_4x4(ptr %copy, ptr %base, ptr %places, i64 %size, i64 %lanes)
//! %r0 = load <8 x i32>, ptr %copy                   ; lane 0: x0 y0 z0 w0, lane 1: x1 y1 z1 w1
//! ```

use crate::emit::{Emit, V, elem_ty};
use crate::error::{Error, Result};
use crate::groups::Indexed;
use crate::lower::Lower;
use crate::memory::Access;
use crate::prologue::Field;
use crate::value::Val;
use bytemuck::bytes_of;
use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Linkage;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValue, CallSiteValue, FunctionValue, PointerValue};
use phalanx_ir::Space;
use phalanx_kernels::{KernelId, LaneAccess};

/// LLVM's number of the convention by which a function leaves all registers as they are.
const PRESERVES_ALL: u32 = 15;

/// Lanes that one call is told of.
const LANES_OF_CALL: u32 = 64;

/// Numbers of stack slots.
const COPY: u32 = 0;
const PLACES: u32 = 1;

/// How a copy on the stack is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// The scalars of a lane one behind the other.
    ByLane,
    /// Those of all lanes one behind the other, for each scalar.
    ByScalar,
}

impl Layout {
    fn name(self) -> &'static str {
        match self {
            Self::ByLane => "lanes",
            Self::ByScalar => "scalars",
        }
    }
}

/// A value of each lane, for a loop over lanes.
#[derive(Clone, Copy, Debug)]
enum ByLane<'c> {
    Known(Val<'c>),
    /// An array of such elements.
    Memory(PointerValue<'c>, BasicTypeEnum<'c>),
}

/// Whether this is a call after which all registers are as they were.
pub(crate) fn leaves_registers(call: &CallSiteValue<'_>) -> bool {
    call.get_call_convention() == PRESERVES_ALL
}

impl<'c> Lower<'_, 'c> {
    /// Whether a function moves the scalars of lanes. Little is in registers beside what is copied, so there it may be one that
    /// does not keep them.
    pub(crate) fn moves_by_function(&self, a: &Access<'c>) -> bool {
        let is_one_object = !a.is_bounded() || a.ptr.base.is_uniform() && a.ptr.size.is_uniform();
        (self.keeps_registers() || a.is_copy) && is_one_object && !a.volatile
    }

    pub(crate) fn load_lane_by_lane(&mut self, a: &Access<'c>) -> Result<Vec<Val<'c>>> {
        if self.moves_by_function(a) {
            let copy = self.read_by_function(a, Layout::ByScalar)?;
            return self.scalars_of_copy(a, copy);
        }
        let copy = self.cleared_copy(a)?;
        let elem = self.e.scalar_ty(a.scalar);
        let from = self.places_by_lane(a)?;
        self.each_active_lane(|l, lane| {
            for k in 0..a.n {
                let (at, offset, size) = l.lane_address(a, k, from, lane)?;
                let at = l.readable(a, at, offset, size)?;
                let v = l.e.load(elem, at, 1)?;
                if a.volatile {
                    l.e.set_volatile(v)?;
                }
                let slot = l.e.field(copy, u64::from(k * l.w) * a.elem_bytes())?;
                let to = l.e.element_ptr(elem, slot.into(), lane)?;
                l.e.store(v, to.into_pointer_value(), 1)?;
            }
            Ok(())
        })?;
        self.scalars_of_copy(a, copy)
    }

    pub(crate) fn store_lane_by_lane(&mut self, a: &Access<'c>, values: &[Val<'c>]) -> Result<()> {
        if self.moves_by_function(a) {
            let copy = self.copy_slot(a)?;
            for (k, &value) in (0..).zip(values) {
                let v = self.vector(value)?;
                let to = self.e.field(copy, u64::from(k * self.w) * a.elem_bytes())?;
                self.e.store(v, to, 1)?;
            }
            return self.move_by_function(a, copy, Layout::ByScalar, true);
        }
        let to = self.places_by_lane(a)?;
        let values = (0..).zip(values).map(|(k, &v)| self.by_lane(v, k)).collect::<Result<Vec<_>>>()?;
        self.each_active_lane(|l, lane| {
            for (k, &value) in (0..).zip(&values) {
                let (at, offset, size) = l.lane_address(a, k, to, lane)?;
                let at = l.writable(a, at, offset, size)?;
                let v = l.of_lane(value, lane)?;
                let inst = l.e.store(v, at, 1)?;
                inst.set_volatile(a.volatile).map_err(|e| Error::bug(e.to_string()))?;
            }
            Ok(())
        })
    }

    /// The scalars of all lanes, those of each one behind the other, where a function reads them.
    pub(crate) fn read_pieces_by_function(&mut self, a: &Access<'c>) -> Result<PointerValue<'c>> {
        self.read_by_function(a, Layout::ByLane)
    }

    /// Writes registers in which the scalars of each lane stand one behind the other, by a function.
    pub(crate) fn write_pieces_by_function(&mut self, a: &Access<'c>, registers: &[V<'c>]) -> Result<()> {
        let copy = self.copy_slot(a)?;
        let mut at = 0;
        for &register in registers {
            let to = self.e.field(copy, at)?;
            self.e.store(register, to, 1)?;
            at += u64::from(crate::emit::lanes(register).unwrap_or(1)) * a.elem_bytes();
        }
        self.move_by_function(a, copy, Layout::ByLane, true)
    }

    fn read_by_function(&mut self, a: &Access<'c>, layout: Layout) -> Result<PointerValue<'c>> {
        let copy = match self.exec.mask {
            Some(_) => self.cleared_copy(a)?,
            None => self.copy_slot(a)?,
        };
        self.move_by_function(a, copy, layout, false)?;
        Ok(copy)
    }

    /// Room for the scalars of all lanes.
    fn copy_slot(&mut self, a: &Access<'c>) -> Result<PointerValue<'c>> {
        let ty = self.e.vec_of(self.e.scalar_ty(a.scalar), a.n * self.w);
        self.spill_slot(ty.into(), COPY)
    }

    /// The same, for lanes that do not execute.
    fn cleared_copy(&mut self, a: &Access<'c>) -> Result<PointerValue<'c>> {
        let copy = self.copy_slot(a)?;
        let zero = self.e.zero(self.e.vec_of(self.e.scalar_ty(a.scalar), self.w).into());
        for k in 0..a.n {
            let to = self.e.field(copy, u64::from(k * self.w) * a.elem_bytes())?;
            self.e.store(zero, to, 1)?;
        }
        Ok(copy)
    }

    fn scalars_of_copy(&mut self, a: &Access<'c>, copy: PointerValue<'c>) -> Result<Vec<Val<'c>>> {
        let ty = self.e.vec_of(self.e.scalar_ty(a.scalar), self.w);
        let scalars = (0..a.n).map(|k| {
            let from = self.e.field(copy, u64::from(k * self.w) * a.elem_bytes())?;
            Ok(Val::varying(self.e.load(ty, from, 1)?))
        });
        scalars.collect()
    }
}

/// Loops in place.
impl<'c> Lower<'_, 'c> {
    /// A value of each lane, ahead of a loop over lanes.
    fn by_lane(&mut self, x: Val<'c>, number: u32) -> Result<ByLane<'c>> {
        if x.is_uniform() || x.stride().is_some() {
            return Ok(ByLane::Known(x));
        }
        let v = self.vector(x)?;
        let slot = self.spill_slot(v.get_type(), number)?;
        self.e.store(v, slot, 1)?;
        Ok(ByLane::Memory(slot, elem_ty(v)))
    }

    fn of_lane(&mut self, x: ByLane<'c>, lane: V<'c>) -> Result<V<'c>> {
        match x {
            ByLane::Known(x) => self.at_lane(x, lane),
            ByLane::Memory(slot, elem) => {
                let at = self.e.element_ptr(elem, slot.into(), lane)?;
                self.e.load(elem, at.into_pointer_value(), 1)
            }
        }
    }

    /// Where objects begin, how many bytes they have, and offsets from the beginning.
    fn places_by_lane(&mut self, a: &Access<'c>) -> Result<[ByLane<'c>; 3]> {
        // Numbers that no copy of values has.
        let [base, size, offset] = [0, 1, 2].map(|i| u32::MAX - 1 - i);
        let base = self.by_lane(a.ptr.base, base)?;
        let size = self.by_lane(a.ptr.size, size)?;
        Ok([base, size, self.by_lane(a.ptr.offset, offset)?])
    }

    /// Address, offset and size of the object of scalar `k` in one lane.
    fn lane_address(
        &mut self,
        a: &Access<'c>,
        k: u32,
        [base, size, offset]: [ByLane<'c>; 3],
        lane: V<'c>,
    ) -> Result<(V<'c>, V<'c>, V<'c>)> {
        let offset = self.of_lane(offset, lane)?;
        let offset = self.e.add(offset, self.e.i64(i64::from(k) * a.elem_bytes() as i64))?;
        let (base, size) = (self.of_lane(base, lane)?, self.of_lane(size, lane)?);
        Ok((self.at(&a.ptr, base, offset)?, offset, size))
    }
}

/// Functions.
impl<'c> Lower<'_, 'c> {
    /// Moves the scalars of all lanes that execute between memory and a copy.
    fn move_by_function(
        &mut self,
        a: &Access<'c>,
        copy: PointerValue<'c>,
        layout: Layout,
        is_store: bool,
    ) -> Result<()> {
        // A place without a scale is an offset, so indices that count nothing are none.
        let indexed = self.indexed(self.f.inst(a.inst).args[0], &a.ptr)?.filter(|i| i.scale != 0);
        let (start, offsets) = match indexed {
            Some(Indexed { start, index, .. }) => (start, index),
            None => (self.e.i64(0), self.vector(a.ptr.offset)?),
        };
        let places = self.spill_slot(offsets.get_type(), PLACES)?;
        self.e.store(offsets, places, 1)?;
        let scale = indexed.map(|i| i.scale);
        // What is named by its address has no bounds.
        let (base, size) = match a.ptr.space {
            Space::Global => (self.e.ptr_ty().const_null().into(), self.e.i64(-1)),
            _ => (a.ptr.base.v, a.ptr.size.v),
        };
        let bits = self.e.mask_bits(self.exec_mask())?;
        let step = self.steps(a, layout).0;
        for first in (0..self.w).step_by(LANES_OF_CALL as usize) {
            let bits = match first {
                0 => bits,
                _ => self.e.lshr(bits, self.e.int_like(bits, first.into()))?,
            };
            let lanes = self.e.zext_trunc(bits, 64)?;
            let copy = self.e.field(copy, u64::from(first) * step)?;
            let place_bytes = if indexed.is_some() { 4 } else { 8 };
            let places = self.e.field(places, place_bytes * u64::from(first))?;
            let args = [copy.into(), base, places.into(), size, lanes, start];
            if self.keeps_registers() {
                let function = self.lane_function(a, layout, scale, is_store)?;
                self.e.call_direct(function, &args)?;
            } else {
                self.call_lane_kernel(a, layout, scale, is_store, &args)?;
            }
        }
        Ok(())
    }

    /// The same as a function of the module does, where none can leave registers as they are.
    fn call_lane_kernel(
        &mut self,
        a: &Access<'c>,
        layout: Layout,
        scale: Option<i64>,
        is_store: bool,
        args: &[V<'c>],
    ) -> Result<()> {
        let steps = self.steps(a, layout);
        let access = LaneAccess {
            scalars: a.n,
            scalar_bytes: a.elem_bytes() as u32,
            lane_step: steps.0 as u32,
            scalar_step: steps.1 as u32,
            scale: scale.unwrap_or(0),
        };
        let kernel = if is_store { KernelId::STORE_LANES } else { KernelId::LOAD_LANES };
        let kernel = self.table_entry(Field::Kernels, 8 * kernel.index() as u64)?;
        let mut all = vec![self.static_params(bytes_of(&access)).into()];
        all.extend_from_slice(args);
        self.e.call_rarely(kernel, &all)
    }

    /// Bytes in a copy from lane to lane, and from scalar to scalar.
    fn steps(&self, a: &Access<'c>, layout: Layout) -> (u64, u64) {
        match layout {
            Layout::ByLane => (u64::from(a.n) * a.elem_bytes(), a.elem_bytes()),
            Layout::ByScalar => (a.elem_bytes(), u64::from(self.w) * a.elem_bytes()),
        }
    }

    /// `(copy, base, places, size, lanes, start)`: moves the scalars of the lanes whose bits are set. Places are offsets, or
    /// indices of 32 bits if they are scaled.
    fn lane_function(
        &mut self,
        a: &Access<'c>,
        layout: Layout,
        scale: Option<i64>,
        is_store: bool,
    ) -> Result<FunctionValue<'c>> {
        let verb = if is_store { "store" } else { "load" };
        let by = scale.map_or_else(String::new, |scale| format!("_by_{scale}"));
        let name = format!("{verb}_{}_{}x{}{by}", layout.name(), a.elem_bytes(), a.n);
        if let Some(function) = self.e.module.get_function(&name) {
            return Ok(function);
        }
        let steps = self.steps(a, layout);
        // All scalars of a lane at once, where that is a word or two.
        let bytes = u64::from(a.n) * a.elem_bytes();
        let piece = (layout == Layout::ByLane && matches!(bytes, 8 | 16)).then_some(bytes);
        let zeros = self.zeros();
        let (pointer, word) = (self.e.ptr_ty().into(), self.e.cx.i64_type().into());
        let types = [pointer, pointer, pointer, word, word, word];
        let function = self.e.module.add_function(
            &name,
            self.e.cx.void_type().fn_type(&types, false),
            Some(Linkage::Internal),
        );
        let noinline = Attribute::get_named_enum_kind_id("noinline");
        function.add_attribute(AttributeLoc::Function, self.e.cx.create_enum_attribute(noinline, 0));
        let of_lane =
            OfLane { n: a.n, elem_bytes: a.elem_bytes(), step: steps.1, piece, scale, is_store, zeros };
        self.fill_own(function, |e, f| of_lane.each(e, f, steps.0))?;
        Ok(function)
    }

    /// Whether functions of the module can leave all registers as they are.
    pub(crate) fn keeps_registers(&self) -> bool {
        // The convention knows neither vectors of 512 bits nor registers for masks. That of AArch64 has not run yet.
        let caps = &self.e.caps;
        caps.is_x86 && !caps.mask_registers && caps.register_bytes <= 32
    }

    /// Makes the body of a function of the module, which leaves registers as they are if it can.
    pub(crate) fn fill_own(
        &mut self,
        function: FunctionValue<'c>,
        fill: impl FnOnce(&mut Emit<'c>, FunctionValue<'c>) -> Result<()>,
    ) -> Result<()> {
        if self.keeps_registers() {
            function.set_call_conventions(PRESERVES_ALL);
            // It would save a vector register, and clear the upper halves of all when it has restored it.
            let no_vectors = Attribute::get_named_enum_kind_id("noimplicitfloat");
            function.add_attribute(AttributeLoc::Function, self.e.cx.create_enum_attribute(no_vectors, 0));
        }
        let builder = self.e.cx.create_builder();
        builder.position_at_end(self.e.new_block(function, "entry"));
        let caller = std::mem::replace(&mut self.e.b, builder);
        let result = fill(&mut self.e, function);
        self.e.b = caller;
        result
    }
}

/// What a function does for a lane.
struct OfLane<'c> {
    n: u32,
    elem_bytes: u64,
    /// Bytes in the copy from scalar to scalar.
    step: u64,
    /// Bytes of all scalars, if they may be moved at once.
    piece: Option<u64>,
    /// What indices are multiplied by.
    scale: Option<i64>,
    is_store: bool,
    zeros: PointerValue<'c>,
}

impl<'c> OfLane<'c> {
    /// The body of the function: a loop over lanes, whose copies lie `step` bytes from each other.
    fn each(&self, e: &mut Emit<'c>, f: FunctionValue<'c>, step: u64) -> Result<()> {
        let [copy, base, places, size, lanes, start] =
            std::array::from_fn(|i| f.get_nth_param(i as u32).expect("declared with so many"));
        let [head, next, done] = ["lane", "next", "done"].map(|n| e.new_block(f, n));
        let (zero, one) = (e.i64(0), e.i64(1));
        let beyond = |e: &mut Emit<'c>, bytes: u64| e.map2("llvm.usub.sat", size, e.i64(bytes as i64 - 1));
        let of_scalar = beyond(e, self.elem_bytes)?;
        let of_piece = self.piece.map(|bytes| beyond(e, bytes)).transpose()?;
        let entry = e.here()?;
        let none = e.icmp(IntPredicate::EQ, lanes, zero)?;
        e.cond_br(none, done, head)?;
        e.b.position_at_end(head);
        let rest = e.b.build_phi(e.cx.i64_type(), "rest")?;
        rest.add_incoming(&[(&lanes, entry)]);
        let now = rest.as_basic_value();
        let lane = e.intrinsic("llvm.cttz", &[now.get_type()], &[now, e.bool(true)])?;
        let place_ty = if self.scale.is_some() { e.cx.i32_type() } else { e.cx.i64_type() };
        let place_at = e.element_ptr(place_ty.into(), places, lane)?;
        let place = e.load(place_ty, place_at.into_pointer_value(), 1)?;
        let offset = match self.scale {
            Some(scale) => {
                let step = e.mul(e.sext_trunc(place, 64)?, e.i64(scale))?;
                e.add(start, step)?
            }
            None => place,
        };
        let own = e.mul(lane, e.i64(step as i64))?;
        let copy = e.offset(copy, own)?;
        if let (Some(bytes), Some(beyond)) = (self.piece, of_piece) {
            let [whole, apart] = ["whole", "apart"].map(|n| e.new_block(f, n));
            let inside = e.icmp(IntPredicate::ULT, offset, beyond)?;
            e.cond_br_likely(inside, whole, apart)?;
            e.b.position_at_end(whole);
            let at = e.offset(base, offset)?;
            let (from, to) = if self.is_store { (copy, at) } else { (at, copy) };
            // Words, so that no vector register has to be saved.
            let words = (0..bytes).step_by(8).map(|word| -> Result<_> {
                let from = e.field(from.into_pointer_value(), word)?;
                e.load(e.cx.i64_type(), from, 1)
            });
            let words = words.collect::<Result<Vec<_>>>()?;
            for (word, x) in (0..bytes).step_by(8).zip(words) {
                let to = e.field(to.into_pointer_value(), word)?;
                e.store(x, to, 1)?;
            }
            e.br(next)?;
            e.b.position_at_end(apart);
        }
        for k in 0..self.n {
            self.one(e, f, (copy, base), (offset, of_scalar), k)?;
        }
        e.br(next)?;
        e.b.position_at_end(next);
        let rest_of = e.and(now, e.sub(now, one)?)?;
        rest.add_incoming(&[(&rest_of, next)]);
        let is_done = e.icmp(IntPredicate::EQ, rest_of, zero)?;
        e.cond_br(is_done, done, head)?;
        e.b.position_at_end(done);
        e.b.build_return(None)?;
        Ok(())
    }

    /// Moves scalar `k` of a lane.
    fn one(
        &self,
        e: &mut Emit<'c>,
        f: FunctionValue<'c>,
        (copy, base): (V<'c>, V<'c>),
        (offset, beyond): (V<'c>, V<'c>),
        k: u32,
    ) -> Result<()> {
        let elem = e.int_ty(8 * self.elem_bytes as u32);
        let offset = e.add(offset, e.i64(i64::from(k) * self.elem_bytes as i64))?;
        let inside = e.icmp(IntPredicate::ULT, offset, beyond)?;
        let at = e.offset(base, offset)?;
        let copy = e.field(copy.into_pointer_value(), u64::from(k) * self.step)?;
        if !self.is_store {
            let from = e.select(inside, at, self.zeros.as_basic_value_enum())?;
            let x = e.load(elem, from.into_pointer_value(), 1)?;
            e.store(x, copy, 1)?;
            return Ok(());
        }
        let [there, behind] = ["there", "behind"].map(|n| e.new_block(f, n));
        e.cond_br(inside, there, behind)?;
        e.b.position_at_end(there);
        let x = e.load(elem, copy, 1)?;
        e.store(x, at.into_pointer_value(), 1)?;
        e.br(behind)?;
        e.b.position_at_end(behind);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::assembly;

    /// Assembly of code that moves four words at places that are read from a buffer, and stores these.
    fn moving(stored: &str, processor: &str) -> String {
        let module = "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
binding buf0 = 0.0 storage
binding buf1 = 0.1 storage writable
{
  %0: i32 = const 0
  %lane: i32 = local_invocation_id<x>
  %in: ptr<buffer> = buffer_ptr<buf0> %0
  %out: ptr<buffer> = buffer_ptr<buf1> %0
  %near: ptr<buffer> = ptr_add<scale=4> %in, %lane
  %place: i32 = load %near
  %from: ptr<buffer> = ptr_add<scale=16> %in, %place
  %a: i32, %b: i32, %c: i32, %d: i32 = load %from
  %to: ptr<buffer> = ptr_add<scale=16> %out, %place
  store %to, STORED
}
";
        assembly(&module.replace("STORED", stored), processor)
    }

    /// The same of a copy.
    fn copies(processor: &str) -> String {
        moving("%a, %b, %c, %d", processor)
    }

    #[test]
    fn functions_leave_vector_registers_alone() {
        let asm = copies("haswell");
        for name in ["load_lanes_4x4_by_16", "store_lanes_4x4_by_16"] {
            let (_, body) = asm.split_once(&format!("\n{name}:")).unwrap();
            let (body, _) = body.split_once(".Lfunc_end").unwrap();
            assert!(!body.contains("mm") && !body.contains("vzeroupper"), "{body}");
            assert!(asm.contains(&format!("callq\t{name}")), "{asm}");
        }
    }

    #[test]
    fn loops_stay_where_functions_would_save_registers() {
        // Beside a copy there is little in them.
        let calls = |asm: &str| asm.matches("callq").count();
        assert_eq!(calls(&copies("znver4")), 2);
        assert_eq!(calls(&moving("%d, %c, %b, %a", "znver4")), 0);
    }
}
