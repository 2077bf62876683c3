//! Images and texel buffers.

use super::Exec;
use crate::memory::Image;
use crate::traffic::Access;
use phalanx_ir::image::ImageKind;
use phalanx_ir::{AtomicOp, Binding, BindingKind, ImageOp, InstInfo, SampleOp, eval, sample};

impl Exec<'_, '_, '_> {
    pub(super) fn image(&mut self, info: &InstInfo, binding: Binding, op: ImageOp) {
        let BindingKind::Image(kind) = self.module.binding(binding).kind else { return };
        for lane in self.active().iter() {
            let index = self.index(info.args[0], lane);
            let image = self.dispatch.view.image(binding, index);
            let image = image.as_deref();
            match op {
                ImageOp::Load => self.image_load(info, kind, image, lane),
                ImageOp::Store => self.image_store(info, kind, image, lane),
                ImageOp::Atomic(op) => self.image_atomic(info, kind, image, op, lane),
                ImageOp::Size => {
                    let level = info.args.get(1).map_or(0, |&level| self.sub.scalar(level, lane) as i32);
                    let size = image.map_or([0; 3], |image| image.layout.size(kind, level));
                    for (&result, texels) in info.results.iter().zip(size) {
                        self.sub.set_scalar(result, lane, texels.into());
                    }
                }
                ImageOp::Sample(op) => self.image_sample(info, kind, op, binding, lane),
                ImageOp::Levels => {
                    let levels = image.map_or(0, |image| image.layout.levels);
                    self.sub.set_scalar(info.results[0], lane, levels.into());
                }
            }
        }
    }

    fn image_load(&mut self, info: &InstInfo, kind: ImageKind, image: Option<&Image>, lane: usize) {
        let at = self.texel_of(info, kind, image, lane);
        let texel = image.map_or([0; 4], |image| {
            let bytes = at.and_then(|at| self.dispatch.view.texel(image, at, Access::Read));
            bytes.map_or_else(|| image.layout.read_outside(), |bytes| image.layout.read(bytes))
        });
        for (&result, bits) in info.results.iter().zip(texel) {
            self.sub.set_scalar(result, lane, bits & self.elem(result).mask());
        }
    }

    fn image_sample(
        &mut self,
        info: &InstInfo,
        kind: ImageKind,
        op: SampleOp,
        binding: Binding,
        lane: usize,
    ) {
        let index = self.index(info.args[0], lane);
        let image = self.dispatch.view.image(binding, index);
        let sampler = match op.sampler {
            Some(sampler) => (sampler, self.index(info.args[1], lane)),
            None => (binding, index),
        };
        let sampler = self.dispatch.view.sampler(sampler.0, sampler.1);
        let operands =
            sample::Operands::read(op, kind, |number| self.sub.scalar(info.args[number], lane) as u32);
        let results = image.map_or([0; 4], |image| {
            let mut texel = |at| {
                let bytes = self.dispatch.view.texel(&image, at, Access::Read)?;
                Some(image.layout.format.decode(bytes))
            };
            sample::sample(&image.layout, &sampler, kind, op, &operands, &mut texel)
        });
        for (&result, bits) in info.results.iter().zip(results) {
            self.sub.set_scalar(result, lane, bits & self.elem(result).mask());
        }
    }

    fn image_store(&mut self, info: &InstInfo, kind: ImageKind, image: Option<&Image>, lane: usize) {
        let mut texel = [0; 4];
        let values = info.args.iter().skip(1 + kind.coordinates());
        for (component, &value) in texel.iter_mut().zip(values) {
            *component = self.sub.scalar(value, lane);
        }
        let at = self.texel_of(info, kind, image, lane);
        if let Some((image, at)) = image.zip(at)
            && let Some(bytes) = self.dispatch.view.texel(image, at, Access::Write)
        {
            let format = image.layout.format;
            bytes.copy_from_slice(&format.encode(texel)[..format.bytes()]);
        }
    }

    fn image_atomic(
        &mut self,
        info: &InstInfo,
        kind: ImageKind,
        image: Option<&Image>,
        op: AtomicOp,
        lane: usize,
    ) {
        let operands = 1 + kind.coordinates();
        let Some(&typed) = info.results.first().or_else(|| info.args.get(operands)) else { return };
        let ty = self.elem(typed);
        let operand = |i: usize| info.args.get(operands + i).map_or(0, |&arg| self.sub.scalar(arg, lane));
        let (value, comparator) = (operand(0), operand(1));
        let image = image.filter(|image| image.layout.format.bytes() == ty.bytes() as usize);
        let at = self.texel_of(info, kind, image, lane);
        let old = image.zip(at).and_then(|(image, at)| {
            let bytes = self.dispatch.view.texel(image, at, Access::of(op))?;
            let old = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            let new = eval::atomic(op, ty, old, value, comparator);
            bytes.copy_from_slice(&new.to_le_bytes()[..bytes.len()]);
            Some(old)
        });
        if let Some(&result) = info.results.first() {
            self.sub.set_scalar(result, lane, old.unwrap_or(0));
        }
    }

    /// The texel that the coordinates of a lane, and the level of a load, name: its first byte in the image.
    fn texel_of(
        &mut self,
        info: &InstInfo,
        kind: ImageKind,
        image: Option<&Image>,
        lane: usize,
    ) -> Option<u64> {
        let args = &info.args[1..];
        let scalar = |&arg: &_| self.sub.scalar(arg, lane) as i32;
        let coordinates: Vec<i32> = args.iter().take(kind.coordinates()).map(scalar).collect();
        // Behind the coordinates, a load has its level, and others what is for memory.
        let level = if info.results.len() == 4 { args.get(kind.coordinates()).map_or(0, scalar) } else { 0 };
        let at = image.and_then(|image| image.layout.find(kind, &coordinates, level));
        if at.is_none() {
            self.dispatch.view.out_of_bounds += 1;
        }
        at
    }
}
