//! The interpreter as a device: slow, and the meaning of everything.
//!
//! It works on copies of the buffers, which are written back at the end. Programs with device
//! addresses may access any buffer of the device, so all of them are copied. A dispatch ends soon
//! after its time limit, or after it is cancelled, whatever it executes.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use phalanx_cpu::Attempt;
use phalanx_front_spirv::Limits as ModuleLimits;
use phalanx_host::{Buffer as Memory, CacheKey, CancelToken};
use phalanx_interp::{BufferId, Limits, Region};
use phalanx_ir::{Binding as BindingId, MAX_DISPATCH_INVOCATIONS, Verified, excess};

use super::{Built, Code, Machine, Start, Target, own};
use crate::bindings::{self, Binding};
use crate::buffer::Buffer;
use crate::dispatch::{Accesses, Dispatch, DispatchReport, Traffic};
use crate::error::Error;
use crate::pipeline::{CompileTimes, Interface};
use crate::translate::Task;

#[derive(Debug)]
pub(super) struct Interpreter {
    buffers: Mutex<Vec<Weak<Memory>>>,
    timeout: Option<Duration>,
    compile_timeout: Option<Duration>,
}

pub(super) fn machine() -> Machine {
    let name = "interpreter".to_owned();
    Machine { name, threads: 1, processor: None, limits: ModuleLimits::default() }
}

impl Interpreter {
    pub(super) fn new(start: &Start<'_>) -> Self {
        let &Start { timeout, compile_timeout, .. } = start;
        Self { buffers: Mutex::default(), timeout, compile_timeout }
    }

    fn live(&self) -> Vec<Arc<Memory>> {
        let buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.iter().filter_map(Weak::upgrade).collect()
    }
}

/// A module that no pass has touched.
#[derive(Debug)]
struct Literal(Verified);

impl Code for Literal {
    fn interface(&self) -> Interface {
        Interface {
            name: self.0.name.clone(),
            bindings: self.0.bindings.clone(),
            push_bytes: self.0.push_bytes,
            workgroup_size: self.0.workgroup_size,
            subgroup_size: self.0.subgroup_size,
            shared_bytes: self.0.shared_bytes,
        }
    }
}

impl Target for Interpreter {
    fn machine(&self) -> Machine {
        machine()
    }

    fn create_buffer(&self, size: u64) -> Result<Buffer, Error> {
        let buffer = Buffer::with_size(size)?;
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.retain(|other| other.strong_count() > 0);
        buffers.push(Arc::downgrade(buffer.memory()));
        Ok(buffer)
    }

    fn build(
        &self,
        task: Task,
        _key: Option<&CacheKey>,
        cancel: Option<&CancelToken>,
    ) -> Result<Built, Error> {
        let attempt = Attempt { limit: self.compile_timeout, cancel, ..Attempt::default() };
        let (module, translate) = attempt.run(move || task.translate())??;
        let times = CompileTimes { translate, ..CompileTimes::default() };
        Ok(Built { code: Arc::new(Literal(module)), times })
    }

    fn dispatch(&self, code: &dyn Code, dispatch: &Dispatch<'_>) -> Result<DispatchReport, Error> {
        let module = &own::<Literal>(code)?.0;
        if let Some((axis, found)) = excess(module.workgroup_size, dispatch.groups, dispatch.base)
            && !dispatch.groups.contains(&0)
        {
            return Err(Error::TooManyInvocations { axis, found, limit: MAX_DISPATCH_INVOCATIONS });
        }
        let (start, limit) = (Instant::now(), dispatch.timeout.or(self.timeout));
        if dispatch.cancel.is_some_and(CancelToken::is_cancelled) {
            return Err(Error::Cancelled);
        }
        // Checks what is bound; the descriptors themselves are for machines.
        bindings::resolve(&module.bindings, &dispatch.pipeline.shape.declared, dispatch.bindings, &[])?;
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
            let id = |bound: &Buffer| {
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
        let is_late = || limit.is_some_and(|limit| start.elapsed() > limit);
        let is_cancelled = || dispatch.cancel.is_some_and(CancelToken::is_cancelled);
        let limits = Limits { max_steps: u64::MAX, ..Limits::default() };
        let interrupt = || is_cancelled() || is_late();
        let (groups, base) = (dispatch.groups, dispatch.base);
        let result = phalanx_interp::run_until(module, &mut memory, groups, base, &limits, &interrupt);
        drop(memory);
        // What was written until an error stays written.
        for (buffer, copy) in buffers.iter().zip(&copies) {
            buffer.write(0, copy)?;
        }
        let report = result.map_err(|error| match (error, limit) {
            (phalanx_interp::Error::Interrupted, _) if is_cancelled() => Error::Cancelled,
            (phalanx_interp::Error::Interrupted, Some(limit)) => Error::Timeout { limit },
            (error, _) => error.into(),
        })?;
        let phalanx_interp::Report { output: printed, warnings, traffic: counted, .. } = report;
        let of = |binding: &Binding<'_>| {
            let index = |bound: &Buffer| buffers.iter().position(|b| Arc::ptr_eq(b, bound.memory()));
            binding.buffer.and_then(index).map_or_else(Accesses::default, |index| counted.buffers[index])
        };
        let mut traffic = Traffic { shared: counted.shared, ..Traffic::default() };
        traffic.bindings = dispatch.bindings.iter().map(of).collect();
        counted.buffers.iter().for_each(|buffer| traffic.buffers += *buffer);
        Ok(DispatchReport { elapsed: start.elapsed(), printed, warnings, traffic: Some(traffic) })
    }
}

fn region(binding: &Binding<'_>, buffer: BufferId) -> Region {
    Region { buffer, offset: binding.offset, bytes: binding.size.unwrap_or(u64::MAX) }
}
