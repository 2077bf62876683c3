//! What compiled code asks of images, in a word.

use phalanx_ir::{AtomicOp, Binding, ImageOp, LodKind, SampleKind, SampleOp, Scalar};

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

/// Operations without an attribute; then come atomic ones, then those that sample.
const OPS: [ImageOp; 4] = [ImageOp::Load, ImageOp::Store, ImageOp::Size, ImageOp::Levels];

/// Types of components.
const SCALARS: [Scalar; 3] = [Scalar::I32, Scalar::F32, Scalar::I64];

/// Numbers of the operations behind [`OPS`].
const ATOMICS: usize = OPS.len();
const SAMPLES: usize = ATOMICS + AtomicOp::ALL.len();
const LODS: usize = LodKind::ALL.len();

/// Flags.
const LEVEL: u64 = 1;
const OFFSET: u64 = 2;
const MIN_LOD: u64 = 4;
const SAMPLER: u64 = 8;

impl ImageCode {
    /// The word: operation, flags, type and lanes in a byte each; above them the binding of the sampler.
    pub(crate) fn to_bits(self) -> u64 {
        let (op, flags, sampler) = match self.op {
            ImageOp::Sample(op) => sample_parts(op),
            ImageOp::Atomic(op) => (ATOMICS + position(AtomicOp::ALL, op), 0, 0),
            op => (position(&OPS, op), 0, 0),
        };
        let flags = flags | if self.has_level { LEVEL } else { 0 };
        let scalar = position(&SCALARS, self.scalar) as u64;
        op as u64 | flags << 8 | scalar << 16 | u64::from(self.lanes) << 24 | sampler << 32
    }

    /// What a word says.
    pub fn from_bits(bits: u64) -> Option<Self> {
        let [op, flags, scalar, lanes, ..] = bits.to_le_bytes();
        let (op, flags) = (usize::from(op), u64::from(flags));
        let op = match (op.checked_sub(SAMPLES), op.checked_sub(ATOMICS)) {
            (Some(number), _) => ImageOp::Sample(SampleOp {
                kind: *SampleKind::ALL.get(number / LODS)?,
                sampler: if flags & SAMPLER != 0 { Some(binding(bits >> 32)?) } else { None },
                lod: *LodKind::ALL.get(number % LODS)?,
                has_offset: flags & OFFSET != 0,
                has_min_lod: flags & MIN_LOD != 0,
            }),
            (None, Some(number)) => ImageOp::Atomic(*AtomicOp::ALL.get(number)?),
            (None, None) => *OPS.get(op)?,
        };
        let scalar = *SCALARS.get(usize::from(scalar))?;
        Some(Self { op, has_level: flags & LEVEL != 0, scalar, lanes: lanes.into() })
    }
}

/// Operation, flags and the sampler's binding.
fn sample_parts(op: SampleOp) -> (usize, u64, u64) {
    let number = SAMPLES + position(&SampleKind::ALL, op.kind) * LODS + position(&LodKind::ALL, op.lod);
    let flags = [(op.has_offset, OFFSET), (op.has_min_lod, MIN_LOD), (op.sampler.is_some(), SAMPLER)];
    let flags = flags.into_iter().filter(|(is_on, _)| *is_on).map(|(_, flag)| flag).sum();
    (number, flags, op.sampler.map_or(0, |binding| binding.index() as u64))
}

/// The binding of a number, if it is one.
fn binding(number: u64) -> Option<Binding> {
    (number < u64::from(u32::MAX)).then(|| Binding::new(number as usize))
}

fn position<T: PartialEq>(list: &[T], item: T) -> usize {
    list.iter().position(|other| *other == item).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any_sample() -> ImageOp {
        let (kind, lod) = (SampleKind::Sample, LodKind::Level);
        let sampler = Some(Binding::new(0));
        ImageOp::Sample(SampleOp { sampler, kind, lod, has_offset: false, has_min_lod: false })
    }

    #[test]
    fn words_lead_back() {
        let atomics = AtomicOp::ALL.iter().map(|&op| ImageOp::Atomic(op));
        let samples = SampleKind::ALL.into_iter().flat_map(|kind| {
            LodKind::ALL.into_iter().flat_map(move |lod| {
                [None, Some(0), Some(70_000)].map(|sampler| {
                    let sampler = sampler.map(Binding::new);
                    let (has_offset, has_min_lod) = (sampler.is_none(), kind == SampleKind::Sample);
                    ImageOp::Sample(SampleOp { sampler, kind, lod, has_offset, has_min_lod })
                })
            })
        });
        for op in OPS.into_iter().chain(atomics).chain(samples) {
            for (scalar, lanes) in [(Scalar::I32, 1), (Scalar::F32, 128), (Scalar::I64, 4)] {
                for has_level in [false, true] {
                    let code = ImageCode { op, has_level, scalar, lanes };
                    assert_eq!(ImageCode::from_bits(code.to_bits()), Some(code));
                }
            }
        }
        assert_eq!(ImageCode::from_bits(u64::MAX), None);
        let sample = ImageCode { op: any_sample(), has_level: false, scalar: Scalar::F32, lanes: 1 };
        assert_eq!(ImageCode::from_bits(sample.to_bits() | u64::from(u32::MAX) << 32), None);
    }
}
