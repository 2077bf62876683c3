//! Operations on images.

use super::Problem;
use super::structure::Checker;
use super::types::atomic_class;
use super::want::Want;
use crate::entities::Binding;
use crate::image::{ImageDim, ImageKind, ImageUse};
use crate::module::{BindingKind, InstInfo};
use crate::op::{AtomicOp, ImageOp};
use crate::sample::{LodKind, SampleKind, SampleOp};
use crate::types::Type;

const I32: Want = Want::Is(Type::I32);
const F32: Want = Want::Is(Type::F32);

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
        let writes = !matches!(op, ImageOp::Load | ImageOp::Size | ImageOp::Levels | ImageOp::Sample(_))
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
            ImageOp::Sample(op) => self.image_sample(i, kind, op),
        }
    }

    fn image_load(&mut self, i: &InstInfo, kind: ImageKind, place: usize) {
        let level = usize::from(i.args.len() > place && !kind.is_storage());
        let results = Self::components(self.result_ty(i));
        self.sig(i, &vec![I32; place + level], &results);
    }

    fn image_sample(&mut self, i: &InstInfo, kind: ImageKind, op: SampleOp) {
        if let Some(problem) = no_sampling(kind, op) {
            return self.error(Problem::Sample(problem));
        }
        if let Some(sampler) = op.sampler {
            let count = self.module.bindings.len();
            let Some(info) = self.module.bindings.get(sampler.index()) else {
                return self.error(Problem::Index { what: "binding", index: sampler.index(), count });
            };
            if info.kind != BindingKind::Sampler {
                return self.error(Problem::BindingKind { index: sampler.index(), expected: "a sampler" });
            }
        }
        let mut args = vec![I32; op.indices()];
        args.extend(vec![F32; kind.sample_coordinates()]);
        args.extend(op.rest(kind).map(Want::Is));
        let first = self.result_ty(i).filter(|&ty| ty == Type::I32 && !op.kind.is_compare());
        let component = Want::Is(first.unwrap_or(Type::F32));
        self.sig(i, &args, &vec![component; op.kind.results()]);
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

/// Why an image of a kind is not sampled this way.
fn no_sampling(kind: ImageKind, op: SampleOp) -> Option<&'static str> {
    let is_gather = op.kind.is_gather();
    let problems = [
        (kind.is_storage() || kind.dim == ImageDim::Buffer, "the image is for no sampling"),
        (op.sampler.is_none() && kind.usage != ImageUse::Combined, "there is no sampler"),
        (matches!(op.kind, SampleKind::Gather(4..)), "there are four components"),
        (is_gather && matches!(kind.dim, ImageDim::D1 | ImageDim::D3), "gathers need two dimensions"),
        (is_gather != (op.lod == LodKind::Base), "gathers, and they alone, are of the base level"),
        (is_gather && op.has_min_lod, "gathers are of the base level"),
        (op.has_offset && kind.dim == ImageDim::Cube, "cubes have no offsets"),
    ];
    problems.into_iter().find_map(|(is_wrong, problem)| is_wrong.then_some(problem))
}
