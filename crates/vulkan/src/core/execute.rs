//! Executes command buffers.
//!
//! On a device that does things in order by itself, dispatches, copies and fills wait in the [`Executor`] until a command
//! comes that the host does, or a submission ends, and are handed over together; barriers are kept by the order.
//!
//! On others, dispatches between which nothing else stands run side by side: they wait in the [`Executor`] until a command comes that is
//! none, or a submission ends, and are handed over together. Every other command runs when all before it have ended. So all that
//! barriers order is in order, and so are events, timestamps and transfers: *Implicit Synchronization Guarantees* promises
//! nothing between dispatches that no barrier separates.

use std::ops::Range as Span;
use std::sync::Arc;

use phalanx::{BindingInfo, Descriptor, DispatchReport, RawDispatch, Step};
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

/// Most dispatches that wait for others to come, where they run side by side.
const MOST_WAITING: usize = 64;

/// Most things that wait for others to come, where they are done in order.
const MOST_IN_ORDER: usize = 1024;

/// Something that waits for others to come.
#[derive(Debug)]
enum Waiting {
    Dispatch {
        state: Arc<State>,
        base: [u32; 3],
        groups: [u32; 3],
        /// Where its bindings are among those of the executor.
        bindings: Span<usize>,
    },
    Copy {
        from: Range,
        to: Range,
    },
    Fill {
        to: Range,
        word: u32,
    },
}

/// Executes commands of one queue; keeps memory from one dispatch to the next.
#[derive(Debug, Default)]
pub(crate) struct Executor {
    waiting: Vec<Waiting>,
    /// For each binding of the dispatches that wait, where its targets end.
    bindings: Vec<usize>,
    /// What their descriptors name.
    targets: Vec<Option<Target>>,
}

impl Executor {
    /// Executes the command buffers of a submission, and waits for their end.
    pub(crate) fn execute(
        &mut self,
        device: &Device,
        buffers: &[Arc<Recorded>],
        wait: &Wait<'_>,
    ) -> Result<(), Stopped> {
        let done = buffers.iter().try_for_each(|recorded| self.run(device, recorded, wait));
        let done = done.and_then(|()| self.finish(device));
        // The application may free the memory when it learns of the end.
        self.forget();
        done
    }

    /// Executes what was recorded; dispatches at the end may be left waiting.
    fn run(&mut self, device: &Device, recorded: &Recorded, wait: &Wait<'_>) -> Result<(), Stopped> {
        for command in &recorded.commands {
            match command {
                Command::Dispatch { state, base, groups } => self.add(device, state, *base, *groups)?,
                Command::DispatchIndirect { state, groups } => {
                    if device.phalanx.has_order() {
                        // What waits may write them.
                        self.finish(device)?;
                    }
                    self.add(device, state, [0; 3], read_groups(groups))?;
                }
                Command::Execute { secondary } => self.run(device, secondary, wait)?,
                Command::Barrier if device.phalanx.has_order() => {}
                Command::Copy { from, to } if device.phalanx.has_order() => {
                    self.push(device, Waiting::Copy { from: from.clone(), to: to.clone() })?;
                }
                Command::Fill { to, word } if device.phalanx.has_order() => {
                    self.push(device, Waiting::Fill { to: to.clone(), word: *word })?;
                }
                command => {
                    self.finish(device)?;
                    execute(device, command, wait)?;
                }
            }
        }
        Ok(())
    }

    /// Lets a dispatch wait for others, unless it has no work-groups.
    fn add(
        &mut self,
        device: &Device,
        state: &Arc<State>,
        base: [u32; 3],
        groups: [u32; 3],
    ) -> Result<(), Stopped> {
        if groups.contains(&0) {
            return Ok(());
        }
        self.make_room(device)?;
        // Descriptors that a dispatch uses do not change while it is pending, whatever the flags of their bindings.
        let bindings = match self.waiting.last() {
            Some(Waiting::Dispatch { state: last, bindings, .. }) if Arc::ptr_eq(last, state) => {
                bindings.clone()
            }
            _ => self.collect(state, state.pipeline.pipeline.bindings()),
        };
        self.waiting.push(Waiting::Dispatch { state: Arc::clone(state), base, groups, bindings });
        Ok(())
    }

    /// Lets something wait for others.
    fn push(&mut self, device: &Device, waiting: Waiting) -> Result<(), Stopped> {
        self.make_room(device)?;
        self.waiting.push(waiting);
        Ok(())
    }

    /// Makes room for one more that waits.
    fn make_room(&mut self, device: &Device) -> Result<(), Stopped> {
        let most = if device.phalanx.has_order() { MOST_IN_ORDER } else { MOST_WAITING };
        if self.waiting.len() >= most { self.finish(device) } else { Ok(()) }
    }

    /// Collects the descriptors of a dispatch; gives where its bindings are.
    fn collect(&mut self, state: &State, bindings: &[BindingInfo]) -> Span<usize> {
        let first = self.bindings.len();
        for binding in bindings {
            if let Some(Some(bound)) = state.sets.get(binding.set as usize) {
                bound.set.collect(binding, &bound.dynamic_offsets, &mut self.targets);
            }
            // A set may have less than the shader declares, or be missing: the rest is empty.
            self.bindings.push(self.targets.len());
        }
        first..self.bindings.len()
    }

    /// Does all that waits, dispatches side by side if nothing else was kept in order, and waits for its end.
    fn finish(&mut self, device: &Device) -> Result<(), Stopped> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let descriptors: SmallVec<[Descriptor<'_>; BINDINGS]> = self.targets.iter().map(descriptor).collect();
        let mut begin = 0;
        let tables: SmallVec<[&[Descriptor<'_>]; BINDINGS]> = self
            .bindings
            .iter()
            .map(|&end| descriptors.get(std::mem::replace(&mut begin, end)..end).unwrap_or_default())
            .collect();
        let steps = self.waiting.iter().map(|waiting| match waiting {
            Waiting::Dispatch { state, base, groups, bindings } => Step::Dispatch(RawDispatch {
                pipeline: &state.pipeline.pipeline,
                groups: *groups,
                base: *base,
                descriptors: tables.get(bindings.clone()).unwrap_or_default(),
                push_constants: &state.push_constants,
                timeout: None,
                cancel: None,
            }),
            Waiting::Copy { from, to } => Step::Copy { from: from.descriptor(), to: to.descriptor() },
            Waiting::Fill { to, word } => Step::Fill { to: to.descriptor(), word: *word },
        });
        let done = match device.phalanx.has_order() {
            true => {
                let steps: Vec<Step<'_>> = steps.collect();
                run(device, || device.phalanx.run_in_order(&steps))
            }
            false => {
                let dispatches = steps.filter_map(|step| match step {
                    Step::Dispatch(dispatch) => Some(dispatch),
                    Step::Copy { .. } | Step::Fill { .. } => None,
                });
                let dispatches: SmallVec<[RawDispatch<'_>; 1]> = dispatches.collect();
                run(device, || device.phalanx.dispatch_all_raw(&dispatches))
            }
        };
        drop(tables);
        drop(descriptors);
        self.forget();
        done
    }

    /// Forgets the dispatches that wait, and what they use.
    fn forget(&mut self) {
        self.waiting.clear();
        self.bindings.clear();
        self.targets.clear();
    }
}

/// Executes a command that is no dispatch; all before it have ended.
fn execute(device: &Device, command: &Command, wait: &Wait<'_>) -> Result<(), Stopped> {
    match command {
        // Those of the executor.
        Command::Dispatch { .. } | Command::DispatchIndirect { .. } | Command::Execute { .. } => {}
        Command::Barrier => {}
        Command::Copy { from, to } => from.copy_by(to, &device.phalanx),
        Command::CopyTexels { texels } => {
            let [from, to] = texels.as_ref();
            from.copy_to(to);
        }
        Command::Clear { to, texel } => to.fill(texel),
        Command::ConvertMatrices { matrices } => {
            matrices.iter().try_for_each(|matrix| convert(device, matrix))?;
        }
        Command::Fill { to, word } => to.fill_by(*word, &device.phalanx),
        Command::Update { to, bytes } => to.write(bytes),
        Command::SetEvent { event, set } => {
            event.set(*set);
            device.notifier.notify();
        }
        Command::WaitEvents { events } => wait(&|| events.iter().all(|event| event.is_set()))?,
        Command::ResetQueries { pool, first, count } => pool.reset(*first, *count),
        Command::WriteTimestamp { pool, query } => pool.write_timestamp(*query, &device.notifier),
        Command::CopyQueries { pool, first, count, to, layout } => {
            copy_queries(pool, *first, *count, to, *layout, wait)?;
        }
    }
    Ok(())
}

/// What a kernel finds in place of a target, or of none.
fn descriptor(target: &Option<Target>) -> Descriptor<'_> {
    target.as_ref().map(Target::descriptor).unwrap_or_default()
}

/// Runs dispatches, unless the device is lost, and hands on what they tell.
fn run(
    device: &Device,
    dispatches: impl FnOnce() -> Vec<Result<DispatchReport, phalanx::Error>>,
) -> Result<(), Stopped> {
    if device.is_lost() {
        return Err(Stopped);
    }
    let mut failure = None;
    for result in dispatches() {
        match result {
            Ok(report) => {
                print(device, &report.printed);
                report.warnings.iter().for_each(|warning| warn(device, warning));
            }
            // Invalid usage (VUID-vkCmdDispatch-groupCountX-00386, VUID-VkDispatchIndirectCommand-x-00417), which
            // *Valid Usage* lets us answer as we like: it is told of, and nothing runs.
            Err(
                error @ (phalanx::Error::TooManyInvocations { .. } | phalanx::Error::TooManyGroups { .. }),
            ) => tell(device, &format!("the dispatch is left out: {error}")),
            // The first counts, and none that was cancelled for the failure of another.
            Err(error) if matches!(failure, None | Some(phalanx::Error::Cancelled)) => failure = Some(error),
            Err(_later) => {}
        }
    }
    // A dispatch that did not end, or could not be run. Vulkan has no other error for what fails here.
    failure.map_or(Ok(()), |error| {
        tell(device, &format!("the device is lost: {error}"));
        device.lose();
        Err(Stopped)
    })
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
