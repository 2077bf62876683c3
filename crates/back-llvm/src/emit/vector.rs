//! Vectors: making them, their elements, masks.

use super::{Emit, V, lanes};
use crate::error::Result;
use inkwell::IntPredicate;
use inkwell::types::VectorType;
use inkwell::values::{BasicValue, IntValue};

impl<'c> Emit<'c> {
    /// A vector with `x` in each of `n` elements.
    pub(crate) fn splat(&self, x: V<'c>, n: u32) -> Result<V<'c>> {
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
    pub(crate) fn shuffle(
        &self,
        x: V<'c>,
        y: V<'c>,
        picks: impl IntoIterator<Item = Option<u32>>,
    ) -> Result<V<'c>> {
        let i32_ty = self.cx.i32_type();
        let mask: Vec<IntValue<'c>> = picks
            .into_iter()
            .map(|p| p.map_or_else(|| i32_ty.get_poison(), |p| i32_ty.const_int(p.into(), false)))
            .collect();
        let mask = VectorType::const_vector(&mask);
        Ok(self.b.build_shuffle_vector(x.into_vector_value(), y.into_vector_value(), mask, "")?.into())
    }

    /// A vector of chosen elements of `x`.
    pub(crate) fn permute(&self, x: V<'c>, picks: impl IntoIterator<Item = u32>) -> Result<V<'c>> {
        let none = x.get_type().into_vector_type().get_poison();
        self.shuffle(x, none.into(), picks.into_iter().map(Some))
    }

    /// An element; the index is below the number of elements.
    pub(crate) fn extract(&self, x: V<'c>, index: V<'c>) -> Result<V<'c>> {
        Ok(self.b.build_extract_element(x.into_vector_value(), index.into_int_value(), "")?)
    }

    /// The element with a constant index.
    pub(crate) fn extract_at(&self, x: V<'c>, index: u32) -> Result<V<'c>> {
        self.extract(x, self.i32(index))
    }

    /// A vector of truth values as one integer, the first element in the lowest bit.
    pub(crate) fn mask_bits(&self, mask: V<'c>) -> Result<V<'c>> {
        match lanes(mask) {
            Some(n) => self.bitcast(mask, self.int_ty(n).into()),
            None => Ok(mask),
        }
    }

    /// Whether any element of a vector of truth values is true.
    pub(crate) fn any(&self, mask: V<'c>) -> Result<V<'c>> {
        let bits = self.mask_bits(mask)?;
        self.icmp(IntPredicate::NE, bits, self.int_like(bits, 0))
    }

    /// Whether all elements of a vector of truth values are true.
    pub(crate) fn all(&self, mask: V<'c>) -> Result<V<'c>> {
        let bits = self.mask_bits(mask)?;
        self.icmp(IntPredicate::EQ, bits, bits.get_type().into_int_type().const_all_ones().into())
    }
}
