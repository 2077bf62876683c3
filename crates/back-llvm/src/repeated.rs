//! Numbers that several lanes have are converted once.
//!
//! The lanes that work on one block of quantised weights all read its scale, a half, and convert it. Converting takes
//! longer than bringing numbers to their lanes, so it comes first:
//!
//! ```text
//! %halves = <s0 s0 s0 s0 s1 s1 s1 s1 ...>              %scales = <s0 s1 s2 ...>
//! %x = fpext <32 x half> %halves                  ->   %few = fpext <8 x half> %scales
//!                                                      %x = <x0 x0 x0 x0 x1 x1 x1 x1 ...>      ; of %few
//! ```

use crate::emit::V;
use crate::error::Result;
use crate::lower::Lower;
use crate::memory::Access;
use crate::value::Val;
use crate::window::Plan;
use inkwell::types::BasicTypeEnum;
use inkwell::values::PointerValue;
use phalanx_ir::{Inst, Op, Scalar};

/// The few numbers that a vector has many times, and which of them each lane has.
#[derive(Clone, Debug)]
pub(crate) struct Repeated<'c> {
    few: V<'c>,
    picks: Vec<u32>,
}

impl<'c> Lower<'_, 'c> {
    /// The different units of a plan in rising order, if it reads halves of which several lanes have each, and which are
    /// converted. All of them fit into a register when they are.
    pub(crate) fn repeated_units(&self, a: &Access<'c>, plan: &Plan) -> Option<Vec<u64>> {
        let is_whole = a.scalar == Scalar::F16 && plan.unit_bytes == a.elem_bytes() && plan.together == a.n;
        if !is_whole || !self.is_converted(a.inst) {
            return None;
        }
        let mut units: Vec<u64> = plan.registers.iter().flatten().flatten().copied().collect();
        let all = units.len();
        units.sort_unstable();
        units.dedup();
        let last = *units.last()?;
        units.resize(units.len().next_power_of_two(), last);
        let fits = units.len() <= self.e.caps.register_bytes as usize / size_of::<f32>();
        (fits && 2 * units.len() <= all).then_some(units)
    }

    /// Whether conversions are all that looks at what a load gives.
    fn is_converted(&self, inst: Inst) -> bool {
        let results = &self.f.inst(inst).results;
        let looks = |info: &phalanx_ir::InstInfo| info.args.iter().any(|v| results.contains(v));
        self.f.insts.iter().filter(|info| looks(info)).all(|info| matches!(info.op, Op::Convert(_)))
    }

    /// Reads the different units of a plan, and brings them to their lanes.
    pub(crate) fn read_repeated(
        &mut self,
        a: &Access<'c>,
        plan: &Plan,
        units: &[u64],
        unit: BasicTypeEnum<'c>,
        from: PointerValue<'c>,
    ) -> Result<Vec<Val<'c>>> {
        let few = self.read_register(plan, units, unit, from)?;
        let few =
            self.e.bitcast(few, self.e.vec_of(self.e.scalar_ty(a.scalar), units.len() as u32).into())?;
        let lanes: Vec<u64> = plan.registers.iter().flatten().flatten().copied().collect();
        let scalars = (0..a.n as usize).map(|k| {
            let own = lanes.iter().skip(k).step_by(a.n as usize);
            let picks: Vec<u32> = own.map(|unit| units.partition_point(|u| u < unit) as u32).collect();
            let v = self.e.permute(few, picks.iter().copied())?;
            self.repeated.insert(v, Repeated { few, picks });
            Ok(Val::varying(v))
        });
        scalars.collect()
    }

    /// What a conversion gives of numbers that were read as few.
    pub(crate) fn convert_repeated(&mut self, inst: Inst, x: Val<'c>) -> Result<Option<Val<'c>>> {
        let info = self.f.inst(inst);
        let (Op::Convert(_), Some(Repeated { few, picks })) = (&info.op, self.repeated.get(&x.v).cloned())
        else {
            return Ok(None);
        };
        let converted = self.apply(info, &[few])?;
        self.e.permute(converted, picks).map(|v| Some(Val::varying(v)))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::assembly;

    /// Conversions of registers in code that converts a half for each lane, the same for so many lanes.
    fn conversions(log2: u32) -> usize {
        let module = format!(
            "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
binding buf0 = 0.0 storage
binding buf1 = 0.1 storage writable
{{
  %0: i32 = const 0
  %log2: i32 = const {log2}
  %lane: i32 = local_invocation_id<x>
  %in: ptr<buffer> = buffer_ptr<buf0> %0
  %out: ptr<buffer> = buffer_ptr<buf1> %0
  %block: i32 = lshr %lane, %log2
  %from: ptr<buffer> = ptr_add<scale=18> %in, %block
  %half: f16 = load %from
  %x: f32 = f_to_f %half
  %to: ptr<buffer> = ptr_add<scale=4> %out, %lane
  store %to, %x
}}
"
        );
        assembly(&module, "znver4").matches("vcvtph2ps").count()
    }

    #[test]
    fn halves_of_several_lanes_are_converted_once() {
        assert_eq!([0, 1, 2].map(conversions), [2, 1, 1]);
    }
}
