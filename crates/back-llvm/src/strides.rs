//! Accesses of single scalars whose stride is known late.
//!
//! A program that works on tensors of any strides multiplies each lane's place by a number that it is told when it runs:
//! mostly 1. So the places of lanes that are made by arithmetic alone are compared with those of lanes that follow one
//! another, and are then read or written by registers, where gathers and scatters take each element by itself. Places that
//! were read from memory, or from other lanes, are likely to be anywhere.
//!
//! ```text
//! %i = urem (global_invocation_id<x>), %width
//! %at = ptr_add<scale=4> %p, (imul %i, %stride)        ; is %stride 1?
//! %x = load %at
//! ```

use crate::emit::V;
use crate::error::Result;
use crate::lower::Lower;
use crate::memory::Access;
use crate::pieces::Pieces;
use crate::value::Val;
use phalanx_ir::{Function, Inst, InstInfo, Op, Uniformity};
use rustc_hash::FxHashSet;

/// Blocks of a function from which on it gets no further ones for this: its compilation would take too long.
const MANY_BLOCKS: u32 = 200;

/// The accesses to places that are made by arithmetic of numbers of invocations, and of what all lanes have in common.
pub(crate) fn computed(func: &Function, uniformity: &Uniformity) -> FxHashSet<Inst> {
    let is_found =
        |info: &InstInfo| matches!(info.op, Op::Load(_) | Op::Atomic(_) | Op::Image(..) | Op::Subgroup(_));
    let values = func.made_of(is_found, |v| !uniformity.is_uniform(v));
    let accesses =
        func.insts.iter().enumerate().filter(|(_, info)| {
            matches!(info.op, Op::Load(_) | Op::Store(_)) && !values[info.args[0].index()]
        });
    accesses.map(|(number, _)| Inst::new(number)).collect()
}

impl<'c> Lower<'_, 'c> {
    /// Reads what may turn out to lie as registers have it.
    pub(crate) fn load_strided(&mut self, a: &Access<'c>) -> Result<Option<Vec<Val<'c>>>> {
        let Some(way) = self.late_run(a)? else { return Ok(None) };
        let join = self.new_block("accessed");
        let other = self.begin_way(&way)?;
        let registers = self.read_pieces(a, &way)?;
        let fast = (self.e.concat(registers)?, self.e.here()?);
        self.e.br(join)?;
        self.e.b.position_at_end(other);
        let slow = self.load_apart(a)?;
        let slow = (self.vector(slow[0])?, self.e.here()?);
        self.e.br(join)?;
        self.e.b.position_at_end(join);
        Ok(Some(vec![Val::varying(self.e.merge(&[fast, slow])?)]))
    }

    /// Writes what may turn out to lie as registers have it.
    pub(crate) fn store_strided(&mut self, a: &Access<'c>, values: &[Val<'c>]) -> Result<bool> {
        let Some(way) = self.late_run(a)? else { return Ok(false) };
        let join = self.new_block("stored");
        let registers = self.registers_of(a, values)?;
        let other = self.begin_way(&way)?;
        self.write_pieces(a, &registers, &way)?;
        self.e.br(join)?;
        self.e.b.position_at_end(other);
        self.store_apart(a, values)?;
        self.e.br(join)?;
        self.e.b.position_at_end(join);
        Ok(true)
    }

    /// The registers of an access whose lanes may follow one another, and whether they do.
    fn late_run(&mut self, a: &Access<'c>) -> Result<Option<Pieces<'c>>> {
        let is_worth_it = a.n == 1 && !a.volatile && a.ptr.base.is_uniform() && a.ptr.size.is_uniform();
        let is_varying = a.ptr.offset.shape == crate::value::Shape::Varying;
        let is_rare = self.prologue.is_rare && self.moves_by_function(a);
        if !(is_worth_it && is_varying && self.computed.contains(&a.inst))
            || is_rare
            || self.prologue.function.count_basic_blocks() > MANY_BLOCKS
        {
            return Ok(None);
        }
        let offset: V<'c> = self.vector(a.ptr.offset)?;
        let used = self.used_lanes(a, offset, a.elem_bytes())?;
        self.runs(a, offset, used)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::optimized;

    /// Whether code that copies words at places that are a lane's number times something has gathers and scatters, and
    /// whether it has loads and stores of registers.
    fn has(stride: &str) -> [bool; 4] {
        let module = format!(
            "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
push 4
binding buf0 = 0.0 storage writable
{{
  %0: i32 = const 0
  %p: ptr<buffer> = buffer_ptr<buf0> %0
  %lane: i32 = local_invocation_id<x>
  %push: ptr<push> = push_ptr
  %told: i32 = load %push
  %near: ptr<buffer> = ptr_add<scale=4> %p, %lane
  %read: i32 = load %near
  %place: i32 = imul %lane, {stride}
  %from: ptr<buffer> = ptr_add<scale=4> %p, %place
  %v: i32 = load %from
  %to: ptr<buffer> = ptr_add<scale=4, disp=4096> %p, %place
  store %to, %v
}}
"
        );
        let code = optimized(&module, "znver4");
        ["masked.gather", "masked.scatter", "= load <16 x i32>", "store <16 x i32>"].map(|x| code.contains(x))
    }

    #[test]
    fn a_stride_that_all_lanes_are_told_may_be_one() {
        assert_eq!(has("%told"), [true; 4]);
        // Anywhere.
        assert_eq!(has("%read"), [true, true, false, false]);
    }
}
