//! Elements of a vector that another vector names, when code runs.
//!
//! x86 has permutations of words by a vector of indices, of one register or, with AVX-512, of two. A vector of several
//! registers is permuted register by register, and the higher bits of an index choose between the results. Whatever
//! else there is, is gathered from memory.

use crate::emit::{V, elem_ty, int_bits, lanes};
use crate::error::Result;
use crate::lower::{Exec, Lower};
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;

/// Registers of a vector up to which permutations are faster than gathers.
const MOST_REGISTERS: u32 = 4;

impl<'c> Lower<'_, 'c> {
    /// The elements of a vector that another vector names. All are below the number of lanes.
    pub(crate) fn pick_lanes(&mut self, v: V<'c>, index: V<'c>) -> Result<V<'c>> {
        let ty = v.get_type();
        // Neither way has elements of less than four bytes.
        let narrow = match elem_ty(v) {
            BasicTypeEnum::IntType(t) if t.get_bit_width() < 32 => Some(v),
            BasicTypeEnum::FloatType(t) if t.get_bit_width() < 32 => {
                Some(self.e.bitcast(v, self.e.vec_of(self.e.cx.i16_type().into(), self.w).into())?)
            }
            _ => None,
        };
        let wide = match narrow {
            Some(n) => self.e.zext_trunc(n, 32)?,
            None => v,
        };
        let moved = match self.permute_words(wide, index)? {
            Some(moved) => moved,
            None => self.pick_from_memory(wide, index)?,
        };
        match narrow {
            Some(n) => {
                let back = self.e.zext_trunc(moved, int_bits(n))?;
                self.e.bitcast(back, ty)
            }
            None => Ok(moved),
        }
    }

    fn pick_from_memory(&mut self, v: V<'c>, index: V<'c>) -> Result<V<'c>> {
        let slot = self.spill_slot(v.get_type(), 0)?;
        self.e.b.build_store(slot, v)?;
        let at = self.e.element_ptr(elem_ty(v), slot.into(), index)?;
        let all = self.mask_of(Exec { mask: None });
        self.gather(elem_ty(v), at, all)
    }

    /// By permutations, if there are some for these vectors.
    fn permute_words(&mut self, v: V<'c>, index: V<'c>) -> Result<Option<V<'c>>> {
        let is_word = match elem_ty(v) {
            BasicTypeEnum::IntType(t) => t.get_bit_width() == 32,
            BasicTypeEnum::FloatType(t) => t == self.e.cx.f32_type(),
            _ => false,
        };
        let caps = self.e.caps;
        let register = match lanes(v) {
            Some(n) if n >= 16 && caps.mask_registers => 16,
            Some(n) if n >= 8 && caps.is_x86 && caps.register_bytes >= 32 => 8,
            _ => return Ok(None),
        };
        let count = self.w / register;
        if !is_word || count > MOST_REGISTERS {
            return Ok(None);
        }
        let words = self.e.bitcast(v, self.e.vec_of(self.e.cx.i32_type().into(), self.w).into())?;
        let part = |l: &Self, v: V<'c>, k: u32| l.e.permute(v, k * register..(k + 1) * register);
        let sources = (0..count).map(|k| part(self, words, k)).collect::<Result<Vec<_>>>()?;
        let mut results = Vec::new();
        for k in 0..count {
            let index = part(self, index, k)?;
            results.push(self.permute_registers(&sources, index, register)?);
        }
        let all = self.e.concat(results)?;
        self.e.bitcast(all, v.get_type()).map(Some)
    }

    /// The words of several registers, a power of two, that the elements of an index name.
    fn permute_registers(&mut self, sources: &[V<'c>], index: V<'c>, register: u32) -> Result<V<'c>> {
        let (lower, upper) = match *sources {
            [x] if register == 16 => {
                return self.e.intrinsic("llvm.x86.avx512.permvar.si.512", &[], &[x, index]);
            }
            [x] => return self.e.intrinsic("llvm.x86.avx2.permd", &[], &[x, index]),
            [x, y] if register == 16 => {
                return self.e.intrinsic("llvm.x86.avx512.vpermi2var.d.512", &[], &[x, index, y]);
            }
            _ => sources.split_at(sources.len() / 2),
        };
        let (low, high) = (
            self.permute_registers(lower, index, register)?,
            self.permute_registers(upper, index, register)?,
        );
        let bit = self.e.and(index, self.e.int_like(index, u64::from(register) * lower.len() as u64))?;
        let is_high = self.e.icmp(IntPredicate::NE, bit, self.e.int_like(bit, 0))?;
        self.e.select(is_high, high, low)
    }
}
