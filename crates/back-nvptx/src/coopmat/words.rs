//! Words and the elements in them.

use super::Mat;
use super::layout::Layout;
use crate::lower::Lower;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::Scalar;

impl<'c> Lower<'_, 'c> {
    /// The elements of a matrix that a lane holds, by register.
    pub(super) fn elements(&mut self, m: &Mat<'c>) -> Result<Vec<V<'c>>> {
        let pack = m.layout.pack(m.elem);
        let registers = 0..m.layout.registers();
        registers.map(|r| self.element_of_word(m.elem, m.words[(r / pack) as usize], r % pack)).collect()
    }

    /// An element of a word.
    pub(crate) fn element_of_word(&mut self, elem: Scalar, word: V<'c>, index: u32) -> Result<V<'c>> {
        if elem.bits() >= 32 {
            return Ok(word);
        }
        let count = self.e.i32(index * elem.bits());
        let bits = if index == 0 { word } else { self.e.lshr(word, count)? };
        let bits = self.e.zext_trunc(bits, elem.bits())?;
        self.with_bits(elem, bits)
    }

    /// A matrix of elements, by register.
    pub(super) fn pack_elements(
        &mut self,
        layout: Layout,
        elem: Scalar,
        elements: &[V<'c>],
    ) -> Result<Mat<'c>> {
        let pack = layout.pack(elem) as usize;
        let words = elements.chunks(pack).map(|elements| self.word(elem, elements)).collect::<Result<_>>()?;
        Ok(Mat { layout, elem, words })
    }

    /// A word of elements.
    pub(crate) fn word(&mut self, elem: Scalar, elements: &[V<'c>]) -> Result<V<'c>> {
        if elem.bits() >= 32 {
            return Ok(elements[0]);
        }
        let mut word = self.e.i32(0);
        for (&element, i) in elements.iter().zip(0..) {
            let bits = self.as_bits(elem, element)?;
            let bits = self.e.zext_trunc(bits, 32)?;
            let bits = self.e.shl(bits, self.e.i32(i * elem.bits()))?;
            word = if i == 0 { bits } else { self.e.or(word, bits)? };
        }
        Ok(word)
    }

    /// What words of a type are in LLVM: the scalar, or an `i32`.
    pub(super) fn word_scalar(elem: Scalar) -> Scalar {
        if elem.bits() < 32 { Scalar::I32 } else { elem }
    }
}
