//! Executes command buffers.
//!
//! Commands run one after the other, each to its end. So all that barriers order is in order.

use std::sync::Arc;

use phalanx::{BindingInfo, Descriptor, RawDispatch};
use smallvec::SmallVec;
use vulkanalia_sys as vk;

use crate::core::command::{Command, ConvertMatrix, Recorded, State};
use crate::core::descriptor::Target;
use crate::core::device::Device;
use crate::core::memory::Range;
use crate::core::query::{Layout, QueryPool};

/// The rest of a submission is not executed: the device is lost, or its end has come.
#[derive(Debug)]
pub(crate) struct Stopped;

/// Waits in the queue's thread until something holds.
type Wait<'a> = dyn Fn(&dyn Fn() -> bool) -> Result<(), Stopped> + 'a;

/// As many as most kernels have bindings.
const BINDINGS: usize = 16;

/// Executes commands of one queue; keeps memory from one dispatch to the next.
#[derive(Debug, Default)]
pub(crate) struct Executor {
    /// What the descriptors of a dispatch name.
    targets: Vec<Option<Target>>,
}

impl Executor {
    /// Executes what was recorded, one command after the other.
    pub(crate) fn run(
        &mut self,
        device: &Device,
        recorded: &Recorded,
        wait: &Wait<'_>,
    ) -> Result<(), Stopped> {
        let mut rest = recorded.commands.as_slice();
        while let Some((command, others)) = rest.split_first() {
            match command {
                Command::Dispatch { state, .. } | Command::DispatchIndirect { state, .. } => {
                    rest = self.dispatches(device, state, rest)?;
                    continue;
                }
                Command::Copy { from, to } => from.copy_to(to),
                Command::CopyTexels { texels } => {
                    let [from, to] = texels.as_ref();
                    from.copy_to(to);
                }
                Command::Clear { to, texel } => to.fill(texel),
                Command::ConvertMatrices { matrices } => {
                    matrices.iter().try_for_each(|matrix| convert(device, matrix))?;
                }
                Command::Fill { to, word } => to.fill(*word),
                Command::Update { to, bytes } => to.write(bytes),
                Command::SetEvent { event, set } => {
                    event.set(*set);
                    device.notifier.notify();
                }
                Command::WaitEvents { events } => wait(&|| events.iter().all(|event| event.is_set()))?,
                Command::Execute { secondary } => self.run(device, secondary, wait)?,
                Command::ResetQueries { pool, first, count } => pool.reset(*first, *count),
                Command::WriteTimestamp { pool, query } => pool.write_timestamp(*query, &device.notifier),
                Command::CopyQueries { pool, first, count, to, layout } => {
                    copy_queries(pool, *first, *count, to, *layout, wait)?;
                }
            }
            rest = others;
        }
        Ok(())
    }

    /// Executes the dispatches at the beginning that work on `state`; gives the commands after them.
    ///
    /// They share descriptors, which are collected once: those that a dispatch uses do not change while it is
    /// pending, whatever the flags of their bindings.
    fn dispatches<'a>(
        &mut self,
        device: &Device,
        state: &Arc<State>,
        mut commands: &'a [Command],
    ) -> Result<&'a [Command], Stopped> {
        let pipeline = &state.pipeline.pipeline;
        let ends = self.collect(state, pipeline.bindings());
        let descriptors: SmallVec<[Descriptor<'_>; BINDINGS]> = self.targets.iter().map(descriptor).collect();
        let mut begin = 0;
        let tables: SmallVec<[&[Descriptor<'_>]; BINDINGS]> = ends
            .iter()
            .map(|&end| descriptors.get(std::mem::replace(&mut begin, end)..end).unwrap_or_default())
            .collect();
        while let Some((command, rest)) = commands.split_first() {
            let (base, groups) = match command {
                Command::Dispatch { state: own, base, groups } if Arc::ptr_eq(own, state) => (*base, *groups),
                Command::DispatchIndirect { state: own, groups } if Arc::ptr_eq(own, state) => {
                    ([0; 3], read_groups(groups))
                }
                _ => break,
            };
            let push_constants = &state.push_constants;
            let (descriptors, timeout, cancel) = (tables.as_slice(), None, None);
            dispatch(
                device,
                &RawDispatch { pipeline, groups, base, descriptors, push_constants, timeout, cancel },
            )?;
            commands = rest;
        }
        // The application may free the memory when it learns of the end.
        drop(tables);
        drop(descriptors);
        self.targets.clear();
        Ok(commands)
    }

    /// Collects the descriptors of a dispatch; gives where those of each binding end.
    fn collect(&mut self, state: &State, bindings: &[BindingInfo]) -> SmallVec<[usize; BINDINGS]> {
        self.targets.clear();
        let mut ends = SmallVec::<[usize; BINDINGS]>::with_capacity(bindings.len());
        for binding in bindings {
            if let Some(Some(bound)) = state.sets.get(binding.set as usize) {
                bound.set.collect(binding, &bound.dynamic_offsets, &mut self.targets);
            }
            // A set may have less than the shader declares, or be missing: the rest is empty.
            ends.push(self.targets.len());
        }
        ends
    }
}

/// What a kernel finds in place of a target, or of none.
fn descriptor(target: &Option<Target>) -> Descriptor<'_> {
    target.as_ref().map(Target::descriptor).unwrap_or_default()
}

/// Runs a dispatch, unless it has no work-groups.
fn dispatch(device: &Device, dispatch: &RawDispatch<'_>) -> Result<(), Stopped> {
    if device.is_lost() {
        return Err(Stopped);
    }
    if dispatch.groups.contains(&0) {
        return Ok(());
    }
    match device.phalanx.dispatch_raw(dispatch) {
        Ok(report) => {
            print(device, &report.printed);
            report.warnings.iter().for_each(|warning| warn(device, warning));
            Ok(())
        }
        // Invalid usage (VUID-vkCmdDispatch-groupCountX-00386, VUID-VkDispatchIndirectCommand-x-00417), which
        // *Valid Usage* lets us answer as we like: it is told of, and nothing runs.
        Err(error @ (phalanx::Error::TooManyInvocations { .. } | phalanx::Error::TooManyGroups { .. })) => {
            tell(device, &format!("the dispatch is left out: {error}"));
            Ok(())
        }
        // A dispatch that did not end, or could not be run. Vulkan has no other error for what fails here.
        Err(error) => {
            tell(device, &format!("the device is lost: {error}"));
            device.lose();
            Err(Stopped)
        }
    }
}

/// Converts a matrix. Addresses that lead nowhere lose the device, as those of kernels do.
fn convert(device: &Device, matrix: &ConvertMatrix) -> Result<(), Stopped> {
    if device.is_lost() {
        return Err(Stopped);
    }
    let ConvertMatrix { conversion, from, to } = matrix;
    let sizes = [conversion.source_bytes(), conversion.destination_bytes()].map(Result::unwrap_or_default);
    if sizes.contains(&0) {
        return Ok(());
    }
    let [from, to] = [(*from, sizes[0]), (*to, sizes[1])].map(|(address, bytes)| {
        let found = device.memory_at(address, bytes as u64);
        found.ok_or_else(|| {
            tell(
                device,
                &format!("the device is lost: a matrix of {bytes} bytes at {address:#x}: no memory holds it"),
            );
            device.lose();
            Stopped
        })
    });
    from?.convert_to(&to?, conversion, device.phalanx.info().threads);
    Ok(())
}

/// Hands on what a kernel printed: to the application if it listens, else to the standard output.
#[expect(clippy::print_stdout, reason = "this is what the kernel asked for")]
fn print(device: &Device, lines: &[String]) {
    let severity = vk::DebugUtilsMessageSeverityFlagsEXT::INFO;
    if lines.is_empty() {
        return;
    }
    if device.physical.messengers.hears(severity) {
        lines.iter().for_each(|line| device.physical.messengers.message(severity, line));
    } else {
        lines.iter().for_each(|line| println!("{line}"));
    }
}

/// Hands on a mistake that a kernel made: to the application if it listens, else to the standard error stream.
#[expect(clippy::print_stderr, reason = "nothing else tells of it")]
fn warn(device: &Device, warning: &str) {
    let severity = vk::DebugUtilsMessageSeverityFlagsEXT::WARNING;
    if device.physical.messengers.hears(severity) {
        device.physical.messengers.message(severity, warning);
    } else {
        eprintln!("phalanx: {warning}");
    }
}

/// Says why something is not done: to the application if it listens, else to the standard error stream.
#[expect(clippy::print_stderr, reason = "Vulkan has no other way to say it")]
fn tell(device: &Device, text: &str) {
    let severity = vk::DebugUtilsMessageSeverityFlagsEXT::ERROR;
    if device.physical.messengers.hears(severity) {
        device.physical.messengers.message(severity, text);
    } else {
        eprintln!("phalanx: {text}");
    }
}

/// The work-groups of an indirect dispatch (`VkDispatchIndirectCommand`).
fn read_groups(parameters: &Range) -> [u32; 3] {
    let mut groups = [0; 3];
    for (i, count) in groups.iter_mut().enumerate() {
        let mut bytes = [0; 4];
        if let Some(part) = parameters.part(4 * i as u64, 4) {
            part.read(&mut bytes);
        }
        *count = u32::from_le_bytes(bytes);
    }
    groups
}

/// Copies results of queries to memory.
fn copy_queries(
    pool: &QueryPool,
    first: u32,
    count: u32,
    to: &Range,
    layout: Layout,
    wait: &Wait<'_>,
) -> Result<(), Stopped> {
    if layout.flags.contains(vk::QueryResultFlags::WAIT) {
        pool.when_available(|| wait(&|| pool.is_available(first, count)))?;
    }
    pool.results(first, count, layout, |at, bytes| {
        if let Some(part) = to.part(at, bytes.len() as u64) {
            part.write(bytes);
        }
    });
    Ok(())
}
