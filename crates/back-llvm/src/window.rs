//! Reading scalars whose places in the lanes are known, but for where the first is.
//!
//! They are read through *windows*: registers full of memory, each of which begins at a scalar that no window before
//! holds. What lanes want of a window is brought to its place by a shuffle, and what comes of several windows is put
//! together. So blocks of quantised weights, `{ scale, weights[16] }`, are read with a few loads, whatever the shuffles
//! are that lanes make of them, where gathers would take one load for each lane.
//!
//! ```text
//! lane:      0 1 2 3 | 4 5 6 7 | 8 ...
//! bytes:     2 4 6 8  20 22 24 26  38 ...        blocks of 18 bytes, four lanes for each
//! windows:   [2 ................. 65] [74 ...
//! ```
//!
//! Where strides are no multiples of the scalar's size, memory is read in units that divide both.

use crate::emit::{V, const_int, elem_ty, lanes};
use crate::error::Result;
use crate::lower::Lower;
use crate::memory::Access;
use crate::value::{Ptr, Shape, Val};
use inkwell::types::BasicTypeEnum;
use inkwell::values::PointerValue;

/// Bytes from the first scalar's to the last one's end, at most.
const MAX_SPAN_BYTES: u64 = 4096;

/// How the scalars of an access are read.
#[derive(Clone)]
pub(crate) struct Plan {
    /// Bytes that the first lane in memory is before the scalar offset; negative if it is behind.
    pub(crate) low: i64,
    /// Bytes of a unit.
    pub(crate) unit_bytes: u64,
    /// Units that are looked at in all.
    pub(crate) span: u64,
    /// Units in a window.
    window: u64,
    /// Scalars of a lane that registers have one after the other: all, if they are a power of two, or one.
    pub(crate) together: u32,
    /// By each so many scalars, and then by register: the units in it, lane by lane.
    pub(crate) registers: Vec<Vec<Vec<u64>>>,
    /// Where windows begin that several accesses share; none if it has its own.
    shared: Vec<u64>,
}

impl Plan {
    /// The plan for `n` scalars at each of the offsets, of which a lane's registers have so many one after the other.
    fn new(steps: &[i64], (n, together): (u32, u32), elem_bytes: u64, register_bytes: u64) -> Option<Self> {
        let (&low, &high) = (steps.iter().min()?, steps.iter().max()?);
        let total = u64::try_from(high.checked_sub(low)?).ok()?.checked_add(u64::from(n) * elem_bytes)?;
        if total > MAX_SPAN_BYTES {
            return None;
        }
        let steps: Vec<u64> = steps.iter().map(|s| s.wrapping_sub(low).cast_unsigned()).collect();
        let bits = steps.iter().fold(elem_bytes, |bits, s| bits | s);
        let unit_bytes = 1 << bits.trailing_zeros();
        let (span, parts) = (total / unit_bytes, elem_bytes / unit_bytes);
        let register = register_bytes / unit_bytes;
        let window = register.min(1 << span.ilog2());
        let registers = (0..n / together).map(|k| {
            let first = u64::from(k * together) * parts;
            let of_lane = |s: &u64| {
                let start = s / unit_bytes + first;
                start..start + u64::from(together) * parts
            };
            let units: Vec<u64> = steps.iter().flat_map(of_lane).collect();
            units.chunks(register as usize).map(<[u64]>::to_vec).collect()
        });
        let registers = registers.collect();
        Some(Self { low, unit_bytes, span, window, together, registers, shared: Vec::new() })
    }

    /// Plans for the same accesses that look at the same windows, unless their units differ or lie too far apart.
    pub(crate) fn joined(plans: &[&Self]) -> Option<Vec<Self>> {
        let unit_bytes = plans.first()?.unit_bytes;
        let low = plans.iter().map(|p| p.low).min()?;
        let before = |p: &Self| p.low.abs_diff(low);
        let fits = |p: &&Self| p.unit_bytes == unit_bytes && before(p).is_multiple_of(unit_bytes);
        let end = plans.iter().map(|p| before(p) / unit_bytes + p.span).max()?;
        if !plans.iter().all(fits) || end * unit_bytes > MAX_SPAN_BYTES {
            return None;
        }
        let window = plans.iter().map(|p| p.window).max()?;
        let mut plans: Vec<Self> = plans.iter().map(|&p| p.clone()).collect();
        for plan in &mut plans {
            let behind = before(plan) / unit_bytes;
            plan.registers.iter_mut().flatten().flatten().for_each(|unit| *unit += behind);
            (plan.low, plan.span, plan.window) = (low, end, window);
            // Those of fewer plans.
            plan.shared.clear();
        }
        let all: Vec<u64> =
            plans.iter().flat_map(|p| p.registers.iter().flatten().flatten().copied()).collect();
        let shared = plans[0].windows(&all);
        plans.iter_mut().for_each(|plan| plan.shared.clone_from(&shared));
        Some(plans)
    }

    /// Where the windows begin that hold these units.
    fn windows(&self, units: &[u64]) -> Vec<u64> {
        let mut sorted = units.to_vec();
        sorted.sort_unstable();
        let mut starts: Vec<u64> = Vec::new();
        for unit in sorted {
            if starts.last().is_none_or(|s| unit >= s + self.window) {
                // Of those that are there anyway, the one that reaches farthest.
                let shared =
                    self.shared.iter().copied().filter(|&s| s <= unit && unit < s + self.window).max();
                starts.push(shared.unwrap_or_else(|| unit.min(self.span - self.window)));
            }
        }
        starts
    }

    /// Windows that are looked at, once for each register that takes something from them.
    pub(crate) fn cost(&self) -> usize {
        self.registers.iter().flatten().map(|units| self.windows(units).len()).sum()
    }

    /// Shuffles of two registers that bring all scalars to their lanes, of which `word` are read as one.
    fn shuffles(&self, word: u32) -> usize {
        let levels = (self.together / word).ilog2() as usize;
        let of_register = |units: &Vec<u64>| {
            let pairs = self.windows(units).len().div_ceil(2);
            let is_there = pairs == 1 && units.windows(2).all(|pair| pair[1] == pair[0] + 1);
            levels + if is_there { 0 } else { 2 * pairs - 1 }
        };
        self.registers.iter().flatten().map(of_register).sum()
    }

    /// Where all windows begin that are looked at, in bytes from where the scalar offset is.
    pub(crate) fn starts(&self) -> impl Iterator<Item = i64> {
        let starts = self.registers.iter().flatten().flat_map(|units| self.windows(units));
        starts.map(|s| self.low + (s * self.unit_bytes) as i64)
    }
}

/// Integers in a word, where several have room: shifts and masks take words apart, and are nothing where a kernel puts
/// them together.
fn per_word(a: &Access<'_>) -> Option<u32> {
    let per_word = 32 / a.scalar.bits();
    (a.scalar.is_int() && per_word > 1).then_some(per_word)
}

impl<'c> Lower<'_, 'c> {
    /// Reads scalars through windows, if that is better than lane by lane.
    pub(crate) fn load_windows(&mut self, a: &Access<'c>) -> Result<Option<Vec<Val<'c>>>> {
        let is_known = matches!(a.ptr.offset.shape, Shape::Affine(_) | Shape::Pattern(_));
        if a.volatile || !is_known || !a.ptr.base.is_uniform() || !a.ptr.size.is_uniform() {
            return Ok(None);
        }
        // Without bounds, all that is read lies on the pages of the first and the last scalar. So both must be.
        if !a.is_bounded() && self.exec.mask.is_some() {
            return Ok(None);
        }
        let Some(steps) = self.patterns.of(a.ptr.offset, self.w) else { return Ok(None) };
        let Some(mut plan) = self.window_plan(a, &steps) else { return Ok(None) };
        let others = self.neighbours(a, &mut plan);
        let first = self.e.add(a.ptr.offset.v, self.e.i64(plan.low))?;
        let at = self.at(&a.ptr, a.ptr.base.v, first)?.into_pointer_value();
        self.ask_ahead(a, at, plan.span * plan.unit_bytes)?;
        let inside = match a.is_bounded() {
            true => self.is_inside(first, a.ptr.size.v, plan.span * plan.unit_bytes)?,
            false => self.e.bool(true),
        };
        let is_inside = const_int(inside) == Some(1);
        if is_inside || plan.unit_bytes == a.elem_bytes() {
            let mut from = at;
            if !is_inside {
                let unit = self.e.int_ty(8 * plan.unit_bytes as u32).into();
                let ty = self.e.vec_of(unit, plan.span as u32).into();
                let p = Ptr { offset: Val::affine(first, plan.unit_bytes as i64), ..a.ptr };
                from = self.copied_at_edge(ty, plan.unit_bytes, &p, at, inside)?;
            }
            let values = self.read_windows(a, &plan, from)?;
            for (other, plan) in others {
                let read = self.read_windows(&other, &plan, from)?;
                self.read_before.insert(other.inst, read);
            }
            return Ok(Some(values));
        }
        // A scalar of which a part is outside is zero, whatever its units are.
        let [whole, edge, join] = ["inside", "edge", "accessed"].map(|n| self.new_block(n));
        self.e.cond_br_likely(inside, whole, edge)?;
        self.e.b.position_at_end(whole);
        let fast = self.read_windows(a, &plan, at)?;
        let whole = self.e.here()?;
        self.e.br(join)?;
        self.e.b.position_at_end(edge);
        let slow = self.load_lane_by_lane(a)?;
        let edge = self.e.here()?;
        self.e.br(join)?;
        self.e.b.position_at_end(join);
        let merged = fast.iter().zip(slow).map(|(x, y)| self.e.merge(&[(x.v, whole), (y.v, edge)]));
        merged.map(|v| v.map(Val::varying)).collect::<Result<_>>().map(Some)
    }

    /// The plan for an access of which each lane adds one of the steps to the scalar offset, if windows are better than lane
    /// by lane.
    pub(crate) fn window_plan(&self, a: &Access<'c>, steps: &[i64]) -> Option<Plan> {
        let register_bytes = self.e.caps.register_bytes.into();
        let plan_of = |together| Plan::new(steps, (a.n, together), a.elem_bytes(), register_bytes);
        let mut plan = plan_of(if a.n.is_power_of_two() { a.n } else { 1 })?;
        // Where any choice among two registers is one shuffle, words may as well be read each by itself.
        let word = per_word(a).filter(|&word| plan.together.is_multiple_of(word)).unwrap_or(1);
        if self.e.caps.mask_registers
            && (a.scalar.is_int() || a.scalar.bits() >= 32)
            && plan.together > word
            && let Some(each) = plan_of(word)
            && each.cost() <= plan.cost()
            && each.shuffles(word) < plan.shuffles(word)
        {
            plan = each;
        }
        // A gather takes about as long for two lanes as a shuffle; without gathers each lane takes longer.
        let lanes = (a.n * self.w) as usize;
        let is_dear = plan.cost() > if self.e.caps.mask_registers { lanes / 2 } else { lanes };
        let pieces = a.known_pieces(steps, register_bytes);
        (!is_dear && pieces.is_none_or(|pieces| pieces >= plan.cost())).then_some(plan)
    }

    /// Reads all windows of a plan, whose units begin at an address.
    fn read_windows(&mut self, a: &Access<'c>, plan: &Plan, from: PointerValue<'c>) -> Result<Vec<Val<'c>>> {
        let unit: BasicTypeEnum<'c> = self.e.int_ty(8 * plan.unit_bytes as u32).into();
        let elem = self.e.scalar_ty(a.scalar);
        let parts = a.elem_bytes() / plan.unit_bytes;
        let mut values = Vec::new();
        if let Some(per_word) = per_word(a).filter(|&word| plan.together.is_multiple_of(word)) {
            let word = self.e.cx.i32_type();
            for registers in &plan.registers {
                let mut all = Vec::new();
                for units in registers {
                    let ty =
                        self.e.vec_of(word.into(), (units.len() as u64 / parts) as u32 / per_word).into();
                    let units = self.read_register(plan, units, unit, from)?;
                    all.push(self.e.bitcast(units, ty)?);
                }
                for words in self.take_apart(all, plan.together / per_word)? {
                    let words = self.e.concat(words)?;
                    for k in 0..per_word {
                        let bits =
                            self.e.lshr(words, self.e.int_like(words, u64::from(k * a.scalar.bits())))?;
                        values.push(Val::varying(self.e.zext_trunc(bits, a.scalar.bits())?));
                    }
                }
            }
            return Ok(values);
        }
        if let Some(repeated) = self.repeated_units(a, plan) {
            return self.read_repeated(a, plan, &repeated, unit, from);
        }
        for registers in &plan.registers {
            let mut all = Vec::new();
            for units in registers {
                let ty = self.e.vec_of(elem, (units.len() as u64 / parts) as u32).into();
                let units = self.read_register(plan, units, unit, from)?;
                all.push(self.e.bitcast(units, ty)?);
            }
            for scalar in self.take_apart(all, plan.together)? {
                values.push(Val::varying(self.e.concat(scalar)?));
            }
        }
        Ok(values)
    }

    /// The vectors of each of the `n` scalars, four or more, that lanes have one after the other in one vector of several
    /// registers. By halves, as LLVM makes three shuffles of each choice among four registers, where two are enough.
    pub(crate) fn take_apart_by_registers(&mut self, all: V<'c>, n: u32) -> Result<Option<Vec<V<'c>>>> {
        let bytes = match elem_ty(all) {
            BasicTypeEnum::IntType(t) => t.get_bit_width() / 8,
            BasicTypeEnum::FloatType(t) => t.get_bit_width() / 8,
            _ => 0,
        };
        let count = lanes(all).unwrap_or(1);
        if n < 4 || !n.is_power_of_two() || bytes == 0 || count * bytes < 2 * self.e.caps.register_bytes {
            return Ok(None);
        }
        let length = self.e.caps.register_bytes / bytes;
        let registers = (0..count).step_by(length as usize);
        let registers = registers.map(|first| self.e.permute(all, first..first + length));
        let registers = registers.collect::<Result<Vec<_>>>()?;
        let scalars = self.take_apart(registers, n)?;
        scalars.into_iter().map(|parts| self.e.concat(parts)).collect::<Result<_>>().map(Some)
    }

    /// Reads the units of one register.
    pub(crate) fn read_register(
        &mut self,
        plan: &Plan,
        units: &[u64],
        unit: BasicTypeEnum<'c>,
        from: PointerValue<'c>,
    ) -> Result<V<'c>> {
        let starts = plan.windows(units);
        let ty = self.e.vec_of(unit, plan.window as u32);
        // The window that each unit is taken from: the last that begins before it.
        let window_of = |u: u64| starts.partition_point(|&s| s <= u) - 1;
        let mut parts = Vec::new();
        for pair in (0..starts.len()).step_by(2) {
            let window = |i: usize| {
                let at = self.e.field(from, starts[i] * plan.unit_bytes)?;
                self.e.load(ty, at, 1)
            };
            let first = window(pair)?;
            let second = if pair + 1 < starts.len() { window(pair + 1)? } else { first };
            let picks = units.iter().map(|&u| match window_of(u) {
                w if w == pair => Some((u - starts[w]) as u32),
                w if w == pair + 1 => Some((u - starts[w] + plan.window) as u32),
                _ => None,
            });
            parts.push((pair, self.e.shuffle(first, second, picks)?));
        }
        let (_, mut all) = parts[0];
        for &(pair, part) in &parts[1..] {
            let picks = (0..).zip(units).map(|(i, &u)| {
                let is_later = window_of(u) >= pair;
                Some(if is_later { i + units.len() as u32 } else { i })
            });
            all = self.e.shuffle(all, part, picks)?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::assembly;

    /// The assembly of a kernel in which four lanes each read four halves of a block of 34 bytes and store the sum of dot
    /// products of the two words that they are.
    fn blocks(processor: &str) -> String {
        let module = "kernel \"main\"
workgroup_size 16 1 1
subgroup_size 16
binding buf0 = 0.0 storage
binding buf1 = 0.1 storage writable
{
  %0: i32 = const 0
  %2: i32 = const 2
  %3: i32 = const 3
  %4: i32 = const 4
  %16: i32 = const 16
  %factors: i32 = const -252645136
  %lane: i32 = local_invocation_id<x>
  %in: ptr<buffer> = buffer_ptr<buf0> %0
  %out: ptr<buffer> = buffer_ptr<buf1> %0
  %number: i32 = lshr %lane, %2
  %part: i32 = and %lane, %3
  %block: ptr<buffer> = ptr_add<scale=34, disp=2> %in, %number
  %from: ptr<buffer> = ptr_add<scale=8> %block, %part
  %a: i16, %b: i16, %c: i16, %d: i16 = load %from
  %a0: i32 = u_to_u %a
  %b0: i32 = u_to_u %b
  %c0: i32 = u_to_u %c
  %d0: i32 = u_to_u %d
  %b1: i32 = shl %b0, %16
  %d1: i32 = shl %d0, %16
  %x: i32 = or %a0, %b1
  %y: i32 = or %c0, %d1
  %to: ptr<buffer> = ptr_add<scale=4> %out, %lane
  %v: i32, %w: i32 = load %in
  %p: i32 = sdot4 %x, %v
  %q: i32 = sdot4 %y, %w
  %sum: i32 = iadd %p, %q
  store %to, %sum
}
";
        assembly(module, processor)
    }

    /// One that reads at one place calls a function at the edge: rows are read at half the speed beside a loop.
    #[test]
    fn a_kernel_that_reads_once_calls_at_the_edge() {
        let asm = assembly(
            "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
binding buf0 = 0.0 storage
binding buf1 = 0.1 storage writable
{
  %0: i32 = const 0
  %i: i32 = global_invocation_id<x>
  %in: ptr<buffer> = buffer_ptr<buf0> %0
  %out: ptr<buffer> = buffer_ptr<buf1> %0
  %from: ptr<buffer> = ptr_add<scale=16> %in, %i
  %a: f32, %b: f32, %c: f32, %d: f32 = load %from
  %x: f32 = fadd %a, %b
  %y: f32 = fadd %c, %d
  %sum: f32 = fadd %x, %y
  %to: ptr<buffer> = ptr_add<scale=4> %out, %i
  store %to, %sum
}
",
            "znver4",
        );
        assert!(asm.contains("load_edge_"), "{asm}");
    }

    #[test]
    fn each_word_is_one_shuffle_of_two_windows() {
        let asm = blocks("znver4");
        let shuffles = ["vpermt2", "vpermi2", "vperm"].map(|name| asm.matches(name).count());
        // Of these, the first two are of the third, too.
        assert_eq!(shuffles[2], 2, "{asm}");
        // One begins with the other, and that with what the signs of both take; nothing is added.
        assert_eq!((asm.matches("vpdpbusd").count(), asm.matches("vpaddd").count()), (4, 0), "{asm}");
        // What is copied at the edge of a buffer costs no vector register.
        assert_eq!(asm.matches("call").count(), 0, "{asm}");
    }

    /// Without an instruction for four bytes, pairs of them are multiplied: those at even places and those at odd ones.
    #[test]
    fn bytes_are_multiplied_by_pairs() {
        let asm = blocks("haswell");
        assert_eq!((asm.matches("vpmaddwd").count(), asm.matches("vpmulld").count()), (8, 0), "{asm}");
    }
}
