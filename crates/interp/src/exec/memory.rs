//! Pointers and accesses to memory.

use super::Exec;
use crate::memory::{Fault, Pointer};
use crate::traffic::Access;
use phalanx_ir::{AtomicOp, Binding, InstInfo, Value, eval};

impl Exec<'_, '_, '_> {
    /// Sets the pointer result in each active lane.
    fn pointerwise(&mut self, info: &InstInfo, f: impl Fn(&Self, usize) -> Pointer) {
        for lane in self.active().iter() {
            let pointer = f(self, lane);
            self.sub.set_pointer(info.results[0], lane, pointer);
        }
    }

    /// Sets the `i64` result in each active lane.
    fn wordwise(&mut self, info: &InstInfo, f: impl Fn(&Self, usize) -> u64) {
        for lane in self.active().iter() {
            let word = f(self, lane);
            self.sub.set_scalar(info.results[0], lane, word);
        }
    }

    fn address(&self, pointer: Value, lane: usize) -> u64 {
        self.dispatch.view.address(self.sub.pointer(pointer, lane))
    }

    pub(super) fn buffer_ptr(&mut self, info: &InstInfo, binding: Binding) {
        self.pointerwise(info, |exec, lane| {
            exec.dispatch.view.buffer(binding, exec.index(info.args[0], lane))
        });
    }

    pub(super) fn push_ptr(&mut self, info: &InstInfo) {
        self.pointerwise(info, |exec, _| exec.dispatch.view.push());
    }

    pub(super) fn shared_ptr(&mut self, info: &InstInfo, offset: u32, bytes: u32) {
        self.pointerwise(info, |exec, lane| {
            let part = info.args.first().map_or(0, |&part| exec.index(part, lane));
            let room = exec.dispatch.view.shared.len() as u64 - u64::from(offset);
            let last = room.checked_div(bytes.into()).map_or(0, |parts| parts.saturating_sub(1));
            let start = u64::from(part).min(last) * u64::from(bytes);
            Pointer::shared(offset + start as u32, bytes)
        });
    }

    pub(super) fn ptr_add(&mut self, info: &InstInfo, scale: i64, disp: i64) {
        self.pointerwise(info, |exec, lane| {
            let index = info
                .args
                .get(1)
                .map_or(0, |&index| eval::sign_extend(exec.elem(index), exec.sub.scalar(index, lane)));
            let bytes = index.wrapping_mul(scale).wrapping_add(disp);
            exec.sub.pointer(info.args[0], lane).add(bytes)
        });
    }

    pub(super) fn ptr_bytes_left(&mut self, info: &InstInfo) {
        self.wordwise(info, |exec, lane| exec.dispatch.view.bytes_left(exec.sub.pointer(info.args[0], lane)));
    }

    pub(super) fn ptr_diff(&mut self, info: &InstInfo) {
        self.wordwise(info, |exec, lane| {
            exec.address(info.args[0], lane).wrapping_sub(exec.address(info.args[1], lane))
        });
    }

    pub(super) fn ptr_to_int(&mut self, info: &InstInfo) {
        self.wordwise(info, |exec, lane| exec.address(info.args[0], lane));
    }

    pub(super) fn int_to_ptr(&mut self, info: &InstInfo) {
        self.pointerwise(info, |exec, lane| Pointer::global(exec.sub.scalar(info.args[0], lane)));
    }

    pub(super) fn load(&mut self, info: &InstInfo) -> Result<(), Fault> {
        for lane in self.active().iter() {
            let mut pointer = self.sub.pointer(info.args[0], lane);
            for &result in &info.results {
                let ty = self.elem(result);
                let bits = self.dispatch.view.read(pointer, ty)?;
                self.sub.set_scalar(result, lane, bits);
                pointer = pointer.add(ty.bytes().into());
            }
        }
        Ok(())
    }

    pub(super) fn store(&mut self, info: &InstInfo) -> Result<(), Fault> {
        for lane in self.active().iter() {
            let mut pointer = self.sub.pointer(info.args[0], lane);
            for &value in &info.args[1..] {
                let ty = self.elem(value);
                self.dispatch.view.write(pointer, ty, self.sub.scalar(value, lane))?;
                pointer = pointer.add(ty.bytes().into());
            }
        }
        Ok(())
    }

    pub(super) fn atomic(&mut self, info: &InstInfo, op: AtomicOp) -> Result<(), Fault> {
        let Some(&typed) = info.results.first().or_else(|| info.args.get(1)) else { return Ok(()) };
        let ty = self.elem(typed);
        for lane in self.active().iter() {
            let operand = |i| info.args.get(i).map_or(0, |&arg| self.sub.scalar(arg, lane));
            let (value, comparator) = (operand(1), operand(2));
            let new = |old| eval::atomic(op, ty, old, value, comparator);
            let place = self.sub.pointer(info.args[0], lane);
            let old = self.dispatch.view.update(place, ty, Access::of(op), new)?;
            if let Some(&result) = info.results.first() {
                self.sub.set_scalar(result, lane, old);
            }
        }
        Ok(())
    }
}
