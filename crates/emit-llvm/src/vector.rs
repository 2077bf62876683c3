//! Vectors: making them, their elements, masks.

use crate::error::Result;
use crate::{Emit, V, lanes};
use inkwell::IntPredicate;
use inkwell::types::VectorType;
use inkwell::values::{AnyValue, BasicValue, InstructionOpcode as I, IntValue};

impl<'c> Emit<'c> {
    /// A vector with `x` in each of `n` elements.
    pub fn splat(&self, x: V<'c>, n: u32) -> Result<V<'c>> {
        if x.is_const() {
            return Ok(self.const_vec(&vec![x; n as usize]));
        }
        let poison = self.vec_of(x.get_type(), n).get_poison();
        let zero = self.cx.i32_type().const_zero();
        let first = self.b.build_insert_element(poison, x, zero, "")?;
        let mask = self.cx.i32_type().vec_type(n).const_zero();
        Ok(self.b.build_shuffle_vector(first, poison, mask, "")?.into())
    }

    /// A vector of chosen elements of `x` followed by `y`; `None` is an element of no value.
    pub fn shuffle(&self, x: V<'c>, y: V<'c>, picks: impl IntoIterator<Item = Option<u32>>) -> Result<V<'c>> {
        let i32_ty = self.cx.i32_type();
        let mask: Vec<IntValue<'c>> = picks
            .into_iter()
            .map(|p| p.map_or_else(|| i32_ty.get_poison(), |p| i32_ty.const_int(p.into(), false)))
            .collect();
        let mask = VectorType::const_vector(&mask);
        Ok(self.b.build_shuffle_vector(x.into_vector_value(), y.into_vector_value(), mask, "")?.into())
    }

    /// A vector of chosen elements of `x`.
    pub fn permute(&self, x: V<'c>, picks: impl IntoIterator<Item = u32>) -> Result<V<'c>> {
        let none = x.get_type().into_vector_type().get_poison();
        self.shuffle(x, none.into(), picks.into_iter().map(Some))
    }

    /// An element; the index is below the number of elements.
    pub fn extract(&self, x: V<'c>, index: V<'c>) -> Result<V<'c>> {
        Ok(self.b.build_extract_element(x.into_vector_value(), index.into_int_value(), "")?)
    }

    /// The element with a constant index.
    pub fn extract_at(&self, x: V<'c>, index: u32) -> Result<V<'c>> {
        self.extract(x, self.i32(index))
    }

    /// A vector of truth values as one integer, the first element in the lowest bit.
    pub fn mask_bits(&self, mask: V<'c>) -> Result<V<'c>> {
        match lanes(mask) {
            Some(n) => self.bitcast(mask, self.int_ty(n).into()),
            None => Ok(mask),
        }
    }

    /// Whether any element of a vector of truth values is true.
    pub fn any(&self, mask: V<'c>) -> Result<V<'c>> {
        let bits = self.mask_bits(mask)?;
        self.icmp(IntPredicate::NE, bits, self.int_like(bits, 0))
    }

    /// Whether all elements of a vector of truth values are true.
    pub fn all(&self, mask: V<'c>) -> Result<V<'c>> {
        let bits = self.mask_bits(mask)?;
        self.icmp(IntPredicate::EQ, bits, bits.get_type().into_int_type().const_all_ones().into())
    }

    /// One vector of several of one length, which are a power of two.
    pub fn concat(&mut self, mut parts: Vec<V<'c>>) -> Result<V<'c>> {
        while parts.len() > 1 {
            let pairs = parts.chunks(2).map(|pair| {
                let n = 2 * pair[0].get_type().into_vector_type().get_size();
                self.shuffle(pair[0], pair[1], (0..n).map(Some))
            });
            parts = pairs.collect::<Result<_>>()?;
        }
        Ok(parts[0])
    }
}

/// What a vector has in each element, if [`Emit::splat`] made it.
pub(crate) fn splatted(x: V<'_>) -> Option<V<'_>> {
    let V::VectorValue(v) = x else { return None };
    let shuffle = v.as_instruction_value().filter(|inst| inst.get_opcode() == I::ShuffleVector)?;
    let [first, rest] = [0, 1].map(|i| shuffle.get_operand(i)?.value());
    let (V::VectorValue(first), V::VectorValue(rest)) = (first?, rest?) else { return None };
    let insert = first.as_instruction_value().filter(|inst| inst.get_opcode() == I::InsertElement)?;
    let [before, element] = [0, 1].map(|i| insert.get_operand(i)?.value());
    // All other elements are poison, so any shuffle may give this one.
    let V::VectorValue(before) = before? else { return None };
    if before.is_poison() && rest.is_poison() { element } else { None }
}
