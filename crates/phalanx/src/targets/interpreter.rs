//! The interpreter as a device: slow, and the meaning of everything.
//!
//! It works on copies of what is bound, and writes back at the end what it changed. Programs with device
//! addresses may access any buffer of the device, so for them all are copied. A dispatch ends soon
//! after its time limit, or after it is cancelled, whatever it executes.

mod blocks;

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use phalanx_cpu::Attempt;
use phalanx_front_spirv::Limits as ModuleLimits;
use phalanx_host::{Buffer as HostBuffer, CacheKey, CancelToken, Descriptor, Part};
use phalanx_interp::{BufferId, Limits, Memory, Region};
use phalanx_ir::{Binding as BindingId, MAX_DISPATCH_INVOCATIONS, Op, Verified, excess};

use super::{Built, Code, Machine, Start, Target, own};
use crate::bindings::{self, Tables};
use crate::buffer::Buffer;
use crate::dispatch::{Accesses, Dispatch, DispatchReport, RawDispatch, Traffic};
use crate::error::Error;
use crate::pipeline::{CompileTimes, Insides, Interface, Representation};
use crate::translate::Task;
use blocks::Blocks;

#[derive(Debug)]
pub(super) struct Interpreter {
    buffers: Mutex<Vec<Weak<HostBuffer>>>,
    timeout: Option<Duration>,
    compile_timeout: Option<Duration>,
}

pub(super) fn machine() -> Machine {
    let name = "interpreter".to_owned();
    Machine::whole(name, ModuleLimits::default())
}

impl Interpreter {
    pub(super) fn new(start: &Start<'_>) -> Self {
        let &Start { timeout, compile_timeout, .. } = start;
        Self { buffers: Mutex::default(), timeout, compile_timeout }
    }

    fn live(&self) -> Vec<Arc<HostBuffer>> {
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

    fn build_with_insides(&self, task: Task, key: Option<&CacheKey>) -> Result<(Built, Insides), Error> {
        let built = self.build(task, key, None)?;
        let text = own::<Literal>(&*built.code)?.0.to_string();
        let form = Representation { name: "IR", description: "Phalanx IR, as it is executed", text };
        Ok((built, Insides(vec![form])))
    }

    fn dispatch(&self, code: &dyn Code, dispatch: &Dispatch<'_>) -> Result<DispatchReport, Error> {
        let module = &own::<Literal>(code)?.0;
        let views = bindings::views(dispatch.bindings);
        let declared = &dispatch.pipeline.shape.declared;
        let tables = Tables::of(&module.bindings, declared, dispatch.bindings, &views)?;
        let descriptors = tables.slices();
        let raw = RawDispatch {
            pipeline: dispatch.pipeline,
            groups: dispatch.groups,
            base: dispatch.base,
            descriptors: &descriptors,
            push_constants: dispatch.push_constants,
            timeout: dispatch.timeout,
            cancel: dispatch.cancel,
        };
        let parts: Vec<Part<'_>> = dispatch.bindings.iter().map(bindings::part).collect();
        self.run(module, &raw, &parts)
    }

    fn dispatch_raw(&self, code: &dyn Code, dispatch: &RawDispatch<'_>) -> Result<DispatchReport, Error> {
        let module = &own::<Literal>(code)?.0;
        let (expected, found) = (module.bindings.len(), dispatch.descriptors.len());
        if expected != found {
            return Err(phalanx_cpu::Error::Bindings { expected, found }.into());
        }
        self.run(module, dispatch, &[])
    }
}

impl Interpreter {
    /// Runs a dispatch, and counts the accesses to some parts of memory.
    fn run(
        &self,
        module: &Verified,
        dispatch: &RawDispatch<'_>,
        counted: &[Part<'_>],
    ) -> Result<DispatchReport, Error> {
        if let Some((axis, found)) = excess(module.workgroup_size, dispatch.groups, dispatch.base)
            && !dispatch.groups.contains(&0)
        {
            return Err(Error::TooManyInvocations { axis, found, limit: MAX_DISPATCH_INVOCATIONS });
        }
        let (start, limit) = (Instant::now(), dispatch.timeout.or(self.timeout));
        if dispatch.cancel.is_some_and(CancelToken::is_cancelled) {
            return Err(Error::Cancelled);
        }
        if dispatch.push_constants.len() < module.push_bytes as usize {
            let (expected, found) = (module.push_bytes, dispatch.push_constants.len());
            return Err(Error::PushConstants { expected, found });
        }
        let buffers = if uses_addresses(module) { self.live() } else { Vec::new() };
        let mut parts = Vec::new();
        for buffer in &buffers {
            parts.push(buffer.part(0, None)?);
        }
        parts.extend(dispatch.descriptors.iter().copied().flatten().map(Descriptor::memory));
        parts.extend(counted);
        let blocks = Blocks::read(parts)?;
        let mut copies = blocks.copy()?;
        let mut memory = Memory::new();
        let mut ids: Vec<BufferId> = Vec::new();
        for (address, bytes) in &mut copies {
            ids.push(memory.add_buffer(bytes, *address));
        }
        for (slot, descriptors) in dispatch.descriptors.iter().enumerate() {
            let slot = BindingId::new(slot);
            for (index, descriptor) in descriptors.iter().enumerate() {
                if let Some(sampler) = descriptor.as_sampler() {
                    memory.bind_sampler(slot, index, *sampler);
                }
                let Some((block, range)) = blocks.find(descriptor.memory()) else { continue };
                let (offset, bytes) = (range.start as u64, range.len() as u64);
                let region = Region { buffer: ids[block], offset, bytes };
                match descriptor.as_image() {
                    None => memory.bind(slot, index, region),
                    Some(view) => memory.bind_image(slot, index, region, view.layout().clone()),
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
        blocks.write_back(&copies)?;
        let report = result.map_err(|error| match (error, limit) {
            (phalanx_interp::Error::Interrupted, _) if is_cancelled() => Error::Cancelled,
            (phalanx_interp::Error::Interrupted, Some(limit)) => Error::Timeout { limit },
            (error, _) => error.into(),
        })?;
        let phalanx_interp::Report { output: printed, warnings, traffic: found, .. } = report;
        let of =
            |part: &Part<'_>| blocks.find(*part).map_or_else(Accesses::default, |(at, _)| found.buffers[at]);
        let mut traffic = Traffic { shared: found.shared, ..Traffic::default() };
        traffic.bindings = counted.iter().map(of).collect();
        found.buffers.iter().for_each(|buffer| traffic.buffers += *buffer);
        Ok(DispatchReport { elapsed: start.elapsed(), printed, warnings, traffic: Some(traffic) })
    }
}

/// Whether a program may access memory by address.
fn uses_addresses(module: &Verified) -> bool {
    module.body.insts.iter().any(|inst| matches!(inst.op, Op::IntToPtr))
}
