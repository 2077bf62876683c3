//! The attributes of sampling.

use super::ops::Attrs;
use crate::entities::Binding;
use crate::sample::{LodKind, SampleKind, SampleOp};

/// The operation with its attributes at their defaults.
pub(super) const DEFAULT: SampleOp = SampleOp {
    sampler: None,
    kind: SampleKind::Sample,
    lod: LodKind::Level,
    has_offset: false,
    has_min_lod: false,
};

const KINDS: [(&str, SampleKind); 7] = [
    ("sample", SampleKind::Sample),
    ("compare", SampleKind::Compare),
    ("gather_red", SampleKind::Gather(0)),
    ("gather_green", SampleKind::Gather(1)),
    ("gather_blue", SampleKind::Gather(2)),
    ("gather_alpha", SampleKind::Gather(3)),
    ("gather_compare", SampleKind::GatherCompare),
];

const LODS: [(&str, LodKind); 3] =
    [("level", LodKind::Level), ("gradients", LodKind::Gradients), ("base", LodKind::Base)];

/// Visits them: `[sampler, BINDING,] KIND, LOD [, offset] [, min_lod]`.
pub(super) fn attrs<A: Attrs>(op: &mut SampleOp, a: &mut A) -> Result<(), A::Error> {
    let mut is_separate = op.sampler.is_some();
    a.flag("sampler", &mut is_separate)?;
    if is_separate {
        let mut binding = op.sampler.unwrap_or(Binding::new(0));
        a.binding(&mut binding)?;
        op.sampler = Some(binding);
    }
    a.word(&KINDS, &mut op.kind)?;
    a.word(&LODS, &mut op.lod)?;
    a.flag("offset", &mut op.has_offset)?;
    a.flag("min_lod", &mut op.has_min_lod)
}
