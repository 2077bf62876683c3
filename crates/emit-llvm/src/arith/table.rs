//! Numbers of four bits by a table of what becomes of them.
//!
//! Quantised weights are unpacked by a shift, a mask, a conversion and a subtraction. AVX-512 has an instruction that takes
//! elements of a register of 16 by the lowest four bits of each index: it does all but the shift.
//!
//! ```text
//! %q = and <16 x i32> %w, 15
//! %f = uitofp <16 x i32> %q to <16 x float>         %x = permvar <-8.0, -7.0, ..., 7.0>, %w
//! %x = fsub <16 x float> %f, 8.0                →
//! ```

use super::dot::maker;
use crate::error::Result;
use crate::{Emit, V, const_elems, lanes};
use inkwell::values::{BasicValue, CallSiteValue, InstructionOpcode as I};

/// Elements of a table, and of a register.
const ELEMS: u32 = 16;

const TAKE: &str = "llvm.x86.avx512.permvar.sf.512";

impl<'c> Emit<'c> {
    /// Integers of 32 bits as `f32`, if a mask has left four bits of them.
    pub fn nibbles_to_float(&mut self, x: V<'c>) -> Result<Option<V<'c>>> {
        let is_possible = self.caps.mask_registers && lanes(x).is_some_and(|n| n.is_multiple_of(ELEMS));
        let Some(index) = masked(x, u64::from(ELEMS) - 1).filter(|_| is_possible) else { return Ok(None) };
        let numbers: Vec<V<'c>> =
            (0..ELEMS).map(|i| self.cx.f32_type().const_float(i.into()).into()).collect();
        let table = self.const_vec(&numbers);
        let mut parts = Vec::new();
        for first in (0..lanes(index).unwrap_or(ELEMS)).step_by(ELEMS as usize) {
            let index = self.permute(index, first..first + ELEMS)?;
            parts.push(self.intrinsic(TAKE, &[], &[table, index])?);
        }
        self.concat(parts).map(Some)
    }

    /// An operation on two floats, if one was taken from a table and the other is the same constant in all lanes.
    pub(super) fn float_op_on_table(&mut self, op: I, x: V<'c>, y: V<'c>) -> Result<Option<V<'c>>> {
        for (taken, constant, is_first) in [(x, y, true), (y, x, false)] {
            let Some([table, index]) = taken_from(taken).filter(|_| is_splat(constant)) else { continue };
            let table =
                if is_first { self.bin(op, table, constant)? } else { self.bin(op, constant, table)? };
            if table.is_const() {
                return self.intrinsic(TAKE, &[], &[table, index]).map(Some);
            }
        }
        Ok(None)
    }
}

/// What a mask was applied to.
fn masked(x: V<'_>, mask: u64) -> Option<V<'_>> {
    let inst = maker(x).filter(|inst| inst.get_opcode() == I::And)?;
    let [a, b] = [0, 1].map(|i| inst.get_operand(i)?.value());
    let is_mask = |v: V<'_>| const_elems(v).is_some_and(|elems| elems.iter().all(|&elem| elem == mask));
    match (a?, b?) {
        (a, b) if is_mask(b) => Some(a),
        (a, b) if is_mask(a) => Some(b),
        _ => None,
    }
}

/// Table and indices of what was taken from a table of constants.
fn taken_from(x: V<'_>) -> Option<[V<'_>; 2]> {
    let inst = maker(x)?;
    let call = CallSiteValue::try_from(inst).ok()?;
    let is_taken = call.get_called_fn_value()?.get_name().to_bytes() == TAKE.as_bytes();
    let [table, index] = [0, 1].map(|i| inst.get_operand(i)?.value());
    Some([table?, index?]).filter(|[table, _]| is_taken && table.is_const())
}

/// Whether a vector has one constant in all elements.
fn is_splat(x: V<'_>) -> bool {
    let V::VectorValue(v) = x else { return false };
    v.is_const()
        && (1..v.get_type().get_size()).all(|i| v.get_element_as_constant(i) == v.get_element_as_constant(0))
}
