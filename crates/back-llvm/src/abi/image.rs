//! What compiled code asks of images, in a word.

use phalanx_ir::{AtomicOp, ImageOp, Scalar};

/// An operation on images, with what the host has to know of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageCode {
    /// What is done.
    pub op: ImageOp,
    /// Whether there is a mip level behind the coordinates.
    pub has_level: bool,
    /// The type of what is read or written: of 4 or 8 bytes.
    pub scalar: Scalar,
    /// Lanes that there are operands of: all of the subgroup, or 1 that stands for all.
    pub lanes: u32,
}

/// Operations without an attribute; atomic ones come behind.
const OPS: [ImageOp; 4] = [ImageOp::Load, ImageOp::Store, ImageOp::Size, ImageOp::Levels];

/// Types of components.
const SCALARS: [Scalar; 3] = [Scalar::I32, Scalar::F32, Scalar::I64];

impl ImageCode {
    /// The word: operation, level, type and lanes in a byte each.
    pub(crate) fn to_bits(self) -> u32 {
        let position = |x: Option<usize>| x.unwrap_or(0) as u32;
        let op = match self.op {
            ImageOp::Atomic(op) => {
                OPS.len() as u32 + position(AtomicOp::ALL.iter().position(|&other| other == op))
            }
            op => position(OPS.iter().position(|&other| other == op)),
        };
        let scalar = position(SCALARS.iter().position(|&other| other == self.scalar));
        op | u32::from(self.has_level) << 8 | scalar << 16 | self.lanes << 24
    }

    /// What a word says.
    pub fn from_bits(bits: u32) -> Option<Self> {
        let [op, level, scalar, lanes] = bits.to_le_bytes().map(usize::from);
        let op = match op.checked_sub(OPS.len()) {
            None => *OPS.get(op)?,
            Some(atomic) => ImageOp::Atomic(*AtomicOp::ALL.get(atomic)?),
        };
        Some(Self { op, has_level: level != 0, scalar: *SCALARS.get(scalar)?, lanes: lanes as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_back() {
        let atomics = AtomicOp::ALL.iter().map(|&op| ImageOp::Atomic(op));
        for op in OPS.into_iter().chain(atomics) {
            for (scalar, lanes) in [(Scalar::I32, 1), (Scalar::F32, 128), (Scalar::I64, 4)] {
                for has_level in [false, true] {
                    let code = ImageCode { op, has_level, scalar, lanes };
                    assert_eq!(ImageCode::from_bits(code.to_bits()), Some(code));
                }
            }
        }
        assert_eq!(ImageCode::from_bits(u32::MAX), None);
    }
}
