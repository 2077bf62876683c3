//! Multiply-adds of integers: extension of what is added, exact sums, saturation.

use super::Mat;
use super::fragment::Product;
use super::mma::MulAdd;
use crate::lower::Lower;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::Scalar;

impl<'c> Lower<'_, 'c> {
    pub(super) fn multiply_bytes(&mut self, m: &MulAdd<'c>, product: Product) -> Result<Mat<'c>> {
        let (a, b) = (self.factor(&m.a)?, self.factor(&m.b)?);
        if !m.flags.saturate && m.result.bits() <= 32 {
            // The low bits of the sum are the same whatever is above them.
            let sums = self.extended(&m.c, m.flags.c_signed, 32)?;
            let sums = self.pack_elements(m.c.layout, Scalar::I32, &sums)?;
            let sums = self.products(product, &a, &b, &sums)?;
            let sums = sums.into_iter().map(|x| self.e.zext_trunc(x, m.result.bits()));
            let sums = sums.collect::<Result<Vec<_>>>()?;
            return self.pack_elements(m.c.layout, m.result, &sums);
        }
        // No sum of products leaves 32 bits: 2^15 of them would have to, and no matrix is as deep.
        let none = vec![self.e.i32(0); m.c.layout.registers() as usize];
        let none = self.pack_elements(m.c.layout, Scalar::I32, &none)?;
        let products = self.products(product, &a, &b, &none)?;
        let bits = if m.c.elem == Scalar::I64 || m.result == Scalar::I64 { 128 } else { 64 };
        let addends = self.extended(&m.c, m.flags.c_signed, bits)?;
        let mut results = Vec::new();
        for (x, y) in products.into_iter().zip(addends) {
            let x = self.e.sext_trunc(x, bits)?;
            let sum = self.e.add(x, y)?;
            results.push(self.finish(m, sum)?);
        }
        self.pack_elements(m.c.layout, m.result, &results)
    }

    /// An exact sum as the result, saturated if that is asked for.
    pub(super) fn finish(&mut self, m: &MulAdd<'c>, sum: V<'c>) -> Result<V<'c>> {
        let bits = m.result.bits();
        if !m.flags.saturate {
            return self.e.zext_trunc(sum, bits);
        }
        let most = m.result.mask() >> u32::from(m.flags.result_signed);
        let most = self.e.int_like(sum, most);
        let mut least = self.e.int_like(sum, 0);
        if m.flags.result_signed {
            least = self.e.sub(least, most)?;
            least = self.e.sub(least, self.e.int_like(sum, 1))?;
        }
        let sum = self.e.map2("llvm.smin", sum, most)?;
        let sum = self.e.map2("llvm.smax", sum, least)?;
        self.e.zext_trunc(sum, bits)
    }

    /// Elements as integers of so many bits.
    pub(super) fn extended(&mut self, m: &Mat<'c>, signed: bool, bits: u32) -> Result<Vec<V<'c>>> {
        let elements = self.elements(m)?;
        elements.into_iter().map(|x| self.extend(x, signed, bits)).collect()
    }

    pub(super) fn extend(&mut self, x: V<'c>, signed: bool, bits: u32) -> Result<V<'c>> {
        if signed { self.e.sext_trunc(x, bits) } else { self.e.zext_trunc(x, bits) }
    }
}
