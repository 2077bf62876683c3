//! The interpreter as a device: slow, and the meaning of everything.
//!
//! It works on copies of the buffers, which are written back at the end. Programs with device
//! addresses may access any buffer of the device, so all of them are copied. A dispatch that has
//! started runs to its end or its limit, it cannot be cancelled.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use phalanx_cpu::{Buffer as Memory, CancelToken};
use phalanx_interp::{BufferId, Limits, Region};
use phalanx_ir::{Binding as BindingId, Verified};

use crate::bindings::{self, Binding};
use crate::dispatch::{Dispatch, DispatchReport};
use crate::error::Error;

/// Instructions that a dispatch may execute per second of its time limit. The interpreter counts instructions, so that
/// its results do not depend on the machine.
const STEPS_PER_SECOND: f64 = 50e6;

/// The state of the device.
#[derive(Debug, Default)]
pub(crate) struct Interpreter {
    buffers: Mutex<Vec<Weak<Memory>>>,
}

impl Interpreter {
    /// Makes a buffer known.
    pub(crate) fn add(&self, memory: &Arc<Memory>) {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.retain(|other| other.strong_count() > 0);
        buffers.push(Arc::downgrade(memory));
    }

    /// Runs a dispatch.
    pub(crate) fn dispatch(
        &self,
        module: &Verified,
        declared: &[(u32, u32)],
        dispatch: &Dispatch<'_>,
        limit: Option<Duration>,
    ) -> Result<DispatchReport, Error> {
        let start = Instant::now();
        if dispatch.cancel.is_some_and(CancelToken::is_cancelled) {
            return Err(Error::Cancelled);
        }
        // Checks what is bound; the descriptors themselves are for machines.
        bindings::resolve(&module.bindings, declared, dispatch.bindings, &[])?;
        if dispatch.push_constants.len() < module.push_bytes as usize {
            let (expected, found) = (module.push_bytes, dispatch.push_constants.len());
            return Err(Error::PushConstants { expected, found });
        }
        let buffers = self.live();
        let mut copies = Vec::new();
        for buffer in &buffers {
            copies.push(buffer.read(0, buffer.size())?);
        }
        let mut memory = phalanx_interp::Memory::new();
        let ids: Vec<BufferId> = buffers
            .iter()
            .zip(&mut copies)
            .map(|(buffer, copy)| memory.add_buffer(copy, buffer.device_address()))
            .collect();
        for binding in dispatch.bindings {
            let id = |bound: &crate::Buffer| {
                let id = buffers.iter().position(|buffer| Arc::ptr_eq(buffer, bound.memory()));
                id.map(|index| ids[index]).ok_or(Error::OtherDevice { what: "buffer" })
            };
            let place = (binding.set, binding.binding);
            let is_there =
                |slot: &usize| (module.bindings[*slot].set, module.bindings[*slot].binding) == place;
            for slot in (0..module.bindings.len()).filter(is_there) {
                let (slot, index) = (BindingId::new(slot), binding.index as usize);
                if let Some(sampler) = binding.sampler {
                    memory.bind_sampler(slot, index, *sampler);
                }
                let Some(buffer) = binding.buffer else { continue };
                match binding.image {
                    None => memory.bind(slot, index, region(binding, id(buffer)?)),
                    Some(layout) => {
                        memory.bind_image(slot, index, region(binding, id(buffer)?), layout.clone())
                    }
                }
            }
        }
        memory.set_push(dispatch.push_constants);
        let result = phalanx_interp::run(module, &mut memory, dispatch.groups, dispatch.base, &limits(limit));
        drop(memory);
        // What was written until an error stays written.
        for (buffer, copy) in buffers.iter().zip(&copies) {
            buffer.write(0, copy)?;
        }
        let report = result.map_err(|error| match (error, limit) {
            (phalanx_interp::Error::StepLimit { .. }, Some(limit)) => Error::Timeout { limit },
            (error, _) => error.into(),
        })?;
        Ok(DispatchReport { elapsed: start.elapsed(), printed: report.output, warnings: report.warnings })
    }

    fn live(&self) -> Vec<Arc<Memory>> {
        let buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.iter().filter_map(Weak::upgrade).collect()
    }
}

fn region(binding: &Binding<'_>, buffer: BufferId) -> Region {
    Region { buffer, offset: binding.offset, bytes: binding.size.unwrap_or(u64::MAX) }
}

fn limits(limit: Option<Duration>) -> Limits {
    let max_steps = limit.map_or(u64::MAX, |limit| (limit.as_secs_f64() * STEPS_PER_SECOND) as u64);
    Limits { max_steps, ..Limits::default() }
}
