//! Command buffers: what was recorded.
//!
//! A command holds all that it works on; executing it looks nothing up. What a recorded command uses lives
//! as long as the command, whatever the application destroys.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use phalanx::vector::Conversion;
use smallvec::SmallVec;
use vulkanalia_sys as vk;

use crate::core::descriptor::DescriptorSet;
use crate::core::device::Device;
use crate::core::image::Texels;
use crate::core::memory::Range;
use crate::core::pipeline::Pipeline;
use crate::core::query::{Layout, QueryPool};
use crate::core::sync::Event;

/// Bytes of push constants.
pub(crate) const PUSH_BYTES: usize = 256;

/// More sets than any pipeline layout has.
const MAX_SETS: usize = 256;

/// A set that is bound, with its dynamic offsets.
#[derive(Clone, Debug)]
pub(crate) struct BoundSet {
    pub(crate) set: Arc<DescriptorSet>,
    pub(crate) dynamic_offsets: SmallVec<[u32; 4]>,
}

/// Sets that are bound, by their numbers.
type BoundSets = SmallVec<[Option<BoundSet>; 4]>;

/// All that a dispatch works on. Dispatches between which nothing is bound share one.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) sets: BoundSets,
    pub(crate) push_constants: [u8; PUSH_BYTES],
}

/// A matrix that is converted, at the addresses of its elements before and after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConvertMatrix {
    pub(crate) conversion: Conversion,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// A recorded command.
#[derive(Debug)]
pub(crate) enum Command {
    Dispatch {
        state: Arc<State>,
        base: [u32; 3],
        groups: [u32; 3],
    },
    /// The work-groups stand in memory when it is executed.
    DispatchIndirect {
        state: Arc<State>,
        groups: Range,
    },
    Copy {
        from: Range,
        to: Range,
    },
    /// Between boxes of one extent.
    CopyTexels {
        texels: Box<[Texels; 2]>,
    },
    Clear {
        to: Box<Texels>,
        texel: SmallVec<[u8; 16]>,
    },
    Fill {
        to: Range,
        word: u32,
    },
    /// In no order.
    ConvertMatrices {
        matrices: Box<[ConvertMatrix]>,
    },
    Update {
        to: Range,
        bytes: Box<[u8]>,
    },
    /// What comes after it begins when all before it has ended, whatever the stages and the memory.
    Barrier,
    SetEvent {
        event: Arc<Event>,
        set: bool,
    },
    WaitEvents {
        events: Box<[Arc<Event>]>,
    },
    Execute {
        secondary: Arc<Recorded>,
    },
    ResetQueries {
        pool: Arc<QueryPool>,
        first: u32,
        count: u32,
    },
    WriteTimestamp {
        pool: Arc<QueryPool>,
        query: u32,
    },
    CopyQueries {
        pool: Arc<QueryPool>,
        first: u32,
        count: u32,
        to: Range,
        layout: Layout,
    },
}

/// What was recorded between begin and end.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) commands: Vec<Command>,
}

/// A recording that goes on.
#[derive(Debug)]
pub(crate) struct Recording {
    commands: Vec<Command>,
    pipeline: Option<Arc<Pipeline>>,
    sets: BoundSets,
    push_constants: [u8; PUSH_BYTES],
    /// The state of the last dispatch, if nothing was bound since.
    state: Option<Arc<State>>,
    /// The first command that could not be recorded; `vkEndCommandBuffer` returns it.
    error: Option<vk::Result>,
}

impl Recording {
    fn new(commands: Vec<Command>) -> Self {
        Self {
            commands,
            pipeline: None,
            sets: SmallVec::new(),
            push_constants: [0; PUSH_BYTES],
            state: None,
            error: None,
        }
    }

    /// Adds a command.
    pub(crate) fn push(&mut self, command: Command) -> Result<(), vk::Result> {
        self.commands.try_reserve(1).map_err(|_no_memory| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
        self.commands.push(command);
        Ok(())
    }

    /// Binds a pipeline.
    pub(crate) fn bind_pipeline(&mut self, pipeline: Arc<Pipeline>) {
        self.pipeline = Some(pipeline);
        self.state = None;
    }

    /// Binds sets from a number on. Each takes as many of the dynamic offsets as it has dynamic descriptors.
    pub(crate) fn bind_sets(
        &mut self,
        first: u32,
        sets: impl ExactSizeIterator<Item = Option<Arc<DescriptorSet>>>,
        mut dynamic_offsets: &[u32],
    ) -> Result<(), vk::Result> {
        for (number, set) in (first as usize..).zip(sets) {
            let bound = set.map(|set| {
                let count = set.layout.dynamic_count().min(dynamic_offsets.len());
                let (own, others) = dynamic_offsets.split_at(count);
                dynamic_offsets = others;
                BoundSet { set, dynamic_offsets: own.into() }
            });
            *self.slot(number)? = bound;
        }
        Ok(())
    }

    /// Binds a set of pushed descriptors. Those that are not written keep what was pushed for a set of
    /// this layout before.
    pub(crate) fn push_set(
        &mut self,
        number: u32,
        set: impl FnOnce(Option<&DescriptorSet>) -> Result<DescriptorSet, vk::Result>,
    ) -> Result<(), vk::Result> {
        let slot = self.slot(number as usize)?;
        let set = set(slot.as_ref().map(|bound| bound.set.as_ref()))?;
        *slot = Some(BoundSet { set: Arc::new(set), dynamic_offsets: SmallVec::new() });
        Ok(())
    }

    /// Where the set of a number is bound, for a new one.
    fn slot(&mut self, number: usize) -> Result<&mut Option<BoundSet>, vk::Result> {
        self.state = None;
        if number >= MAX_SETS {
            return Err(vk::Result::ERROR_UNKNOWN);
        }
        if self.sets.len() <= number {
            self.sets.resize(number + 1, None);
        }
        self.sets.get_mut(number).ok_or(vk::Result::ERROR_UNKNOWN)
    }

    /// Sets push constants.
    pub(crate) fn push_constants(&mut self, offset: u32, bytes: &[u8]) -> Result<(), vk::Result> {
        let offset = offset as usize;
        let to = self.push_constants.get_mut(offset..offset.saturating_add(bytes.len()));
        let to = to.ok_or(vk::Result::ERROR_UNKNOWN)?;
        // Applications push the same again and again; the dispatches still share their state then.
        if to != bytes {
            to.copy_from_slice(bytes);
            self.state = None;
        }
        Ok(())
    }

    /// Dispatches work-groups.
    pub(crate) fn dispatch(&mut self, base: [u32; 3], groups: [u32; 3]) -> Result<(), vk::Result> {
        let state = self.state()?;
        self.push(Command::Dispatch { state, base, groups })
    }

    /// Dispatches as many work-groups as will stand in memory.
    pub(crate) fn dispatch_indirect(&mut self, groups: Range) -> Result<(), vk::Result> {
        let state = self.state()?;
        self.push(Command::DispatchIndirect { state, groups })
    }

    /// Orders what was recorded before what will be.
    pub(crate) fn barrier(&mut self) -> Result<(), vk::Result> {
        match self.commands.last() {
            None | Some(Command::Barrier) => Ok(()),
            Some(_) => self.push(Command::Barrier),
        }
    }

    /// What a dispatch works on now. Without a pipeline (VUID-vkCmdDispatch-None-08606) there is nothing to do.
    fn state(&mut self) -> Result<Arc<State>, vk::Result> {
        if let Some(state) = &self.state {
            return Ok(Arc::clone(state));
        }
        let pipeline = self.pipeline.clone().ok_or(vk::Result::ERROR_UNKNOWN)?;
        let state = State { pipeline, sets: self.sets.clone(), push_constants: self.push_constants };
        Ok(Arc::clone(self.state.insert(Arc::new(state))))
    }
}

/// A command buffer.
#[derive(Debug)]
pub(crate) struct CommandBuffer {
    pub(crate) device: Arc<Device>,
    contents: Mutex<Contents>,
}

/// The states of the lifecycle. *Pending* is none of them: a submission has its own reference to what was recorded.
#[derive(Debug)]
enum Contents {
    /// With the memory of earlier commands.
    Initial(Vec<Command>),
    Recording(Box<Recording>),
    Executable(Arc<Recorded>),
}

impl CommandBuffer {
    /// An empty one.
    pub(crate) fn new(device: &Arc<Device>) -> Self {
        Self { device: Arc::clone(device), contents: Mutex::new(Contents::Initial(Vec::new())) }
    }

    /// Begins a recording; what was recorded before is gone.
    pub(crate) fn begin(&self) {
        let mut contents = self.lock();
        let spare = contents.take();
        *contents = Contents::Recording(Box::new(Recording::new(spare)));
    }

    /// Ends the recording; says if something in it failed.
    pub(crate) fn end(&self) -> Result<(), vk::Result> {
        let mut contents = self.lock();
        match std::mem::replace(&mut *contents, Contents::Initial(Vec::new())) {
            Contents::Recording(recording) => {
                if let Some(error) = recording.error {
                    return Err(error);
                }
                *contents = Contents::Executable(Arc::new(Recorded { commands: recording.commands }));
                Ok(())
            }
            // VUID-vkEndCommandBuffer-commandBuffer-00059
            other => {
                *contents = other;
                Err(vk::Result::ERROR_UNKNOWN)
            }
        }
    }

    /// Forgets what was recorded; with `release` its memory too.
    pub(crate) fn reset(&self, release: bool) {
        let mut contents = self.lock();
        let spare = contents.take();
        *contents = Contents::Initial(if release { Vec::new() } else { spare });
    }

    /// Records by `body` and remembers its failure. Without a recording there is nothing to do
    /// (VUID-vkCmdDispatch-commandBuffer-recording and its like).
    pub(crate) fn record(&self, body: impl FnOnce(&mut Recording) -> Result<(), vk::Result>) {
        if let Contents::Recording(recording) = &mut *self.lock()
            && let Err(error) = body(recording)
        {
            recording.error.get_or_insert(error);
        }
    }

    /// What was recorded, if it can be executed.
    pub(crate) fn recorded(&self) -> Option<Arc<Recorded>> {
        match &*self.lock() {
            Contents::Executable(recorded) => Some(Arc::clone(recorded)),
            Contents::Initial(_) | Contents::Recording(_) => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        // What a panic leaves behind is a recording that lacks commands.
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    /// Takes the contents out; gives their memory, unless a submission still uses them.
    fn take(&mut self) -> Vec<Command> {
        let mut commands = match std::mem::replace(self, Self::Initial(Vec::new())) {
            Self::Initial(commands) => commands,
            Self::Recording(recording) => recording.commands,
            Self::Executable(recorded) => {
                Arc::try_unwrap(recorded).map_or_else(|_used| Vec::new(), |recorded| recorded.commands)
            }
        };
        commands.clear();
        commands
    }
}

/// A pool of command buffers.
#[derive(Debug, Default)]
pub(crate) struct CommandPool {
    /// By the values of their handles.
    buffers: Mutex<BTreeMap<usize, Arc<CommandBuffer>>>,
}

impl CommandPool {
    /// Adds a command buffer.
    pub(crate) fn insert(&self, handle: usize, buffer: Arc<CommandBuffer>) {
        self.lock().insert(handle, buffer);
    }

    /// Takes a command buffer out; says whether it was in.
    pub(crate) fn remove(&self, handle: usize) -> bool {
        self.lock().remove(&handle).is_some()
    }

    /// Takes all command buffers out.
    pub(crate) fn remove_all(&self) -> impl Iterator<Item = usize> + use<> {
        std::mem::take(&mut *self.lock()).into_keys()
    }

    /// Resets all command buffers.
    pub(crate) fn reset(&self, release: bool) {
        self.lock().values().for_each(|buffer| buffer.reset(release));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<CommandBuffer>>> {
        // Nothing under this lock panics half-way through a change.
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
