//! Attributes of reductions and of accesses through tensor layouts.

use super::ops::Attrs;
use crate::op::MemFlags;
use crate::tensor::{Clamp, MatReduceKind, TensorAccess, TensorView};

/// An access with its attributes at their defaults.
pub(super) const DEFAULT: TensorAccess = TensorAccess {
    dims: 1,
    clamp: Clamp::Undefined,
    unit: 1,
    view: None,
    flags: MemFlags { volatile: false, nontemporal: false },
};

const CLAMPS: [(&str, Clamp); 5] = [
    ("undefined", Clamp::Undefined),
    ("constant", Clamp::Constant),
    ("clamp_to_edge", Clamp::ClampToEdge),
    ("repeat", Clamp::Repeat),
    ("repeat_mirrored", Clamp::RepeatMirrored),
];

const KINDS: [(&str, MatReduceKind); 4] = [
    ("row", MatReduceKind::Row),
    ("column", MatReduceKind::Column),
    ("all", MatReduceKind::All),
    ("square", MatReduceKind::Square),
];

/// Visits the attributes of a reduction.
pub(super) fn reduce_attrs<A: Attrs>(kind: &mut MatReduceKind, a: &mut A) -> Result<(), A::Error> {
    a.word(&KINDS, kind)
}

/// Visits the attributes of an access; `view` is the number of its dimensions, and `p0`, `p1`, … are
/// its permutation, left out where a dimension stays in its place.
pub(super) fn attrs<A: Attrs>(access: &mut TensorAccess, a: &mut A) -> Result<(), A::Error> {
    byte(a, "dims", &mut access.dims, None)?;
    a.word(&CLAMPS, &mut access.clamp)?;
    a.size("unit", &mut access.unit, None)?;
    let none = TensorView { dims: 0, has_dimensions: false, clips: false, permutation: [0; 5] };
    let mut view = access.view.unwrap_or(none);
    byte(a, "view", &mut view.dims, Some(0))?;
    if view.dims != 0 {
        a.flag("has_dimensions", &mut view.has_dimensions)?;
        a.flag("clips", &mut view.clips)?;
        let names = ["p0", "p1", "p2", "p3", "p4"];
        for ((i, name), place) in (0..view.dims).zip(names).zip(&mut view.permutation) {
            byte(a, name, place, Some(i))?;
        }
    }
    access.view = (view.dims != 0).then_some(view);
    a.flag("volatile", &mut access.flags.volatile)?;
    a.flag("nontemporal", &mut access.flags.nontemporal)
}

/// A small number; a larger one becomes the largest, which the verifier refuses.
fn byte<A: Attrs>(a: &mut A, name: &'static str, x: &mut u8, default: Option<u8>) -> Result<(), A::Error> {
    let mut word = u32::from(*x);
    a.size(name, &mut word, default.map(u32::from))?;
    *x = u8::try_from(word).unwrap_or(u8::MAX);
    Ok(())
}
