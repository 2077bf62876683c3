//! Operations on images.

use super::Problem;
use super::structure::Checker;
use super::types::atomic_class;
use super::want::Want;
use crate::entities::Binding;
use crate::image::ImageKind;
use crate::module::{BindingKind, InstInfo};
use crate::op::{AtomicOp, ImageOp};
use crate::types::Type;

const I32: Want = Want::Is(Type::I32);

/// Components of a texel.
const COMPONENTS: usize = 4;

impl Checker<'_> {
    /// An operation on images.
    pub(super) fn image(&mut self, i: &InstInfo, b: Binding, op: ImageOp) {
        let count = self.module.bindings.len();
        let Some(info) = self.module.bindings.get(b.index()) else {
            return self.error(Problem::Index { what: "binding", index: b.index(), count });
        };
        let BindingKind::Image(kind) = info.kind else {
            return self.error(Problem::BindingKind { index: b.index(), expected: "an image" });
        };
        let writes = !matches!(op, ImageOp::Load | ImageOp::Size | ImageOp::Levels)
            && op != ImageOp::Atomic(AtomicOp::Load);
        if writes && !info.writable {
            self.error(Problem::ReadOnly);
        }
        // The index and the coordinates.
        let place = 1 + kind.coordinates();
        match op {
            ImageOp::Load => self.image_load(i, kind, place),
            ImageOp::Store => {
                let mut args = vec![I32; place];
                args.extend(Self::components(self.arg_ty(i, place)));
                self.sig(i, &args, &[]);
            }
            ImageOp::Atomic(op) => self.image_atomic(i, op, place),
            ImageOp::Size => {
                let level = usize::from(i.args.len() > 1 && !kind.is_storage());
                self.sig(i, &[I32; 2][..1 + level], &vec![I32; kind.sizes()]);
            }
            ImageOp::Levels => self.sig(i, &[I32], &[I32]),
        }
    }

    fn image_load(&mut self, i: &InstInfo, kind: ImageKind, place: usize) {
        let level = usize::from(i.args.len() > place && !kind.is_storage());
        let results = Self::components(self.result_ty(i));
        self.sig(i, &vec![I32; place + level], &results);
    }

    fn image_atomic(&mut self, i: &InstInfo, op: AtomicOp, place: usize) {
        let class = Want::ScalarOf(atomic_class(op));
        let first = if op == AtomicOp::Load { self.result_ty(i) } else { self.arg_ty(i, place) };
        let value = Self::component(first);
        let operands = match op {
            AtomicOp::Load => 0,
            AtomicOp::CompareExchange => 2,
            _ => 1,
        };
        let mut args = vec![I32; place];
        args.extend(vec![value; operands]);
        let results = [value];
        self.sig(i, &args, &results[usize::from(op == AtomicOp::Store)..]);
        match op {
            AtomicOp::Load => self.result(i, 0, class),
            _ => self.arg(i, place, class),
        }
    }

    /// Four components of one type, the type of the first.
    fn components(first: Option<Type>) -> [Want; COMPONENTS] {
        [Self::component(first); COMPONENTS]
    }

    /// The type of a component, if it may be one.
    fn component(found: Option<Type>) -> Want {
        Want::Is(found.filter(|ty| [Type::I32, Type::F32, Type::I64].contains(ty)).unwrap_or(Type::I32))
    }
}
