//! The operands of sampling.

use super::{LodKind, SampleOp};
use crate::image::ImageKind;

/// The operands behind the indices; zeros where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Operands {
    /// The place along each axis, or the direction in a cube.
    pub place: [f32; 3],
    /// The array layer, or the number of the cube.
    pub layer: f32,
    /// What texels are compared with.
    pub reference: f32,
    /// The level of detail.
    pub level: f32,
    /// The differences of the place along x and y.
    pub gradients: [[f32; 3]; 2],
    /// Texels to add along each axis.
    pub offset: [i32; 3],
    /// Least level of detail.
    pub min_lod: f32,
}

impl Operands {
    /// Takes them from an instruction, whose operand of a number `operand` gives.
    pub fn read(op: SampleOp, kind: ImageKind, operand: impl FnMut(usize) -> u32) -> Self {
        let mut words = (op.indices()..).map(operand);
        let mut word = || words.next().unwrap_or(0);
        let axes = kind.axes();
        let mut operands = Self::default();
        for x in operands.place.iter_mut().take(axes) {
            *x = f32::from_bits(word());
        }
        if kind.arrayed {
            operands.layer = f32::from_bits(word());
        }
        if op.kind.is_compare() {
            operands.reference = f32::from_bits(word());
        }
        match op.lod {
            LodKind::Level => operands.level = f32::from_bits(word()),
            LodKind::Gradients => {
                for x in operands.gradients.iter_mut().flat_map(|gradient| gradient.iter_mut().take(axes)) {
                    *x = f32::from_bits(word());
                }
            }
            LodKind::Base => {}
        }
        if op.has_offset {
            for x in operands.offset.iter_mut().take(axes) {
                *x = word() as i32;
            }
        }
        if op.has_min_lod {
            operands.min_lod = f32::from_bits(word());
        }
        operands
    }
}
