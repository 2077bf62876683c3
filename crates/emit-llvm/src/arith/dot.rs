//! Dot products of the bytes of words.
//!
//! x86 has one instruction, of unsigned by signed bytes. A signed byte is an unsigned one less 128 if its highest bit is
//! turned over, so other signs take a second product, of what does not depend on the first operand:
//!
//! ```text
//! x · y = (x ^ 0x80) · y - 0x80 · y
//! ```
//!
//! Bytes that are masked so that they have no highest bit, as weights of four bits are, have no sign either way.
//! What a product is added to is where the instruction begins.
//!
//! Without it x86 multiplies pairs (`pairs`), and others extend bytes and multiply words.

use crate::error::Result;
use crate::{Emit, V, const_elems, lanes};
use inkwell::values::{BasicValue, CallSiteValue, InstructionOpcode as I, InstructionValue};

/// The highest bit of each byte.
const HIGH: u64 = 0x8080_8080;

impl<'c> Emit<'c> {
    /// The sum of the products of four bytes, which have a sign or not.
    pub(super) fn dot_bytes(&mut self, signs: (bool, bool), x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        match lanes(x) {
            Some(n) if self.caps.vnni && n >= 4 => {
                // The unsigned one is the first.
                let (signs, x, y) = match signs {
                    (true, true) if has_no_high_bits(x) => ((false, true), x, y),
                    (true, true) if has_no_high_bits(y) => ((false, true), y, x),
                    _ => (signs, x, y),
                };
                let register = (self.caps.register_bytes / 4).max(8).min(n);
                let part = |l: &Self, v: V<'c>, k: u32| l.permute(v, k * register..(k + 1) * register);
                let mut parts = Vec::new();
                for k in 0..n / register {
                    let (x, y) = (part(self, x, k)?, part(self, y, k)?);
                    parts.push(self.dot_register(signs, x, y)?);
                }
                self.concat(parts)
            }
            Some(n) if self.caps.is_x86 && n >= 4 => self.dot_by_pairs(signs, x, y),
            _ => self.dot_extended(signs, x, y),
        }
    }

    /// With the instruction for it, on vectors of one register.
    fn dot_register(&mut self, signs: (bool, bool), x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let (zero, high) = (self.int_like(x, 0), self.int_like(x, HIGH));
        match signs {
            (true, false) => self.dot_unsigned_signed(zero, y, x),
            (false, true) => self.dot_unsigned_signed(zero, x, y),
            (true, true) => {
                let surplus = self.dot_unsigned_signed(zero, high, y)?;
                let start = self.sub(zero, surplus)?;
                let x = self.xor(x, high)?;
                self.dot_unsigned_signed(start, x, y)
            }
            (false, false) => {
                // What is missing, with -128 for each byte, has the other sign.
                let missing = self.dot_unsigned_signed(zero, x, high)?;
                let start = self.sub(zero, missing)?;
                let y = self.xor(y, high)?;
                self.dot_unsigned_signed(start, x, y)
            }
        }
    }

    fn dot_unsigned_signed(&mut self, sum: V<'c>, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let name = match lanes(x) {
            Some(16) => "llvm.x86.avx512.vpdpbusd.512",
            Some(8) => "llvm.x86.avx512.vpdpbusd.256",
            _ => "llvm.x86.avx512.vpdpbusd.128",
        };
        self.intrinsic(name, &[], &[sum, x, y])
    }

    /// The sum of two integers, one of which may be a product that can begin with the other. Of two products that begin
    /// with what signs take, the second begins with the first, and that with what the signs of both take.
    pub(super) fn add_or_dot(&mut self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        for (dot, start) in [(x, y), (y, x)] {
            if let Some([_, a, b]) = product(dot).filter(|&[begin, ..]| is_zero(begin)) {
                return self.dot_unsigned_signed(start, a, b);
            }
        }
        if let (Some([x_start, a, b]), Some([y_start, c, d])) = (product(x), product(y))
            && let (Some(x_taken), Some(y_taken)) = (negated(x_start), negated(y_start))
            && let Some([_, e, f]) = product(y_taken).filter(|&[begin, ..]| is_zero(begin))
        {
            let taken = self.dot_unsigned_signed(x_taken, e, f)?;
            let start = self.sub(self.int_like(x, 0), taken)?;
            let first = self.dot_unsigned_signed(start, a, b)?;
            return self.dot_unsigned_signed(first, c, d);
        }
        match self.add_pair_sums(x, y)? {
            Some(sum) => Ok(sum),
            None => self.add(x, y),
        }
    }

    /// By products of extended bytes.
    fn dot_extended(&mut self, signs: (bool, bool), x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let mut sum: Option<V<'c>> = None;
        for i in 0..4_u64 {
            let (a, b) = (self.byte(signs.0, x, i)?, self.byte(signs.1, y, i)?);
            let product = self.mul(a, b)?;
            sum = Some(match sum {
                Some(sum) => self.add(sum, product)?,
                None => product,
            });
        }
        Ok(sum.unwrap_or(x))
    }

    /// Byte `i` of each word, extended.
    fn byte(&mut self, signed: bool, x: V<'c>, i: u64) -> Result<V<'c>> {
        let up = self.shl(x, self.int_like(x, 24 - 8 * i))?;
        self.bin(if signed { I::AShr } else { I::LShr }, up, self.int_like(x, 24))
    }
}

/// What made a value, if an instruction did.
pub(super) fn maker(x: V<'_>) -> Option<InstructionValue<'_>> {
    match x {
        V::VectorValue(v) => v.as_instruction_value(),
        _ => None,
    }
}

/// Whether a vector is the result of a mask that clears the highest bit of each byte.
fn has_no_high_bits(x: V<'_>) -> bool {
    let masks = maker(x).and_then(masks_of).unwrap_or_default();
    masks.into_iter().any(|masks| masks.iter().all(|mask| mask & HIGH == 0))
}

/// The constants, element by element, that an instruction is the conjunction with, if it is one.
pub(super) fn masks_of(inst: InstructionValue<'_>) -> Option<Vec<Vec<u64>>> {
    let operands = || (0..2).filter_map(|i| inst.get_operand(i)?.value());
    (inst.get_opcode() == I::And).then(|| operands().filter_map(const_elems).collect())
}

/// What a product of bytes begins with, and its factors.
fn product(x: V<'_>) -> Option<[V<'_>; 3]> {
    let inst = maker(x)?;
    let call = CallSiteValue::try_from(inst).ok()?;
    let name = call.get_called_fn_value()?;
    let name = name.get_name();
    if !name.to_bytes().starts_with(b"llvm.x86.avx512.vpdpbusd.") {
        return None;
    }
    let [start, a, b] = [0, 1, 2].map(|i| inst.get_operand(i)?.value());
    Some([start?, a?, b?])
}

/// What a value is the negative of, if it was made so.
fn negated(x: V<'_>) -> Option<V<'_>> {
    let inst = maker(x).filter(|inst| inst.get_opcode() == I::Sub)?;
    let zero = inst.get_operand(0)?.value()?;
    inst.get_operand(1)?.value().filter(|_| is_zero(zero))
}

fn is_zero(x: V<'_>) -> bool {
    const_elems(x).is_some_and(|elems| elems.iter().all(|&word| word == 0))
}
