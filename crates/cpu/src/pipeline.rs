//! Loaded pipelines.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use phalanx_back_llvm::Meta;
use phalanx_back_llvm::abi::{ENTRY_SYMBOL, Entry};
use phalanx_host::SealedCode;
use phalanx_ir::BindingInfo;

use crate::binary::Binary;
use crate::jit::{Arena, Code, JitError};
use crate::profile::Tally;

/// A compiled entry point, ready to run.
pub struct Pipeline {
    name: String,
    meta: Meta,
    bindings: Vec<BindingInfo>,
    object_bytes: usize,
    entry: Entry,
    /// That of the special form, or the same.
    special: Entry,
    /// Keeps the entries alive.
    _code: (Code, Option<Code>),
    sealed: Option<SealedCode>,
    /// What a profiler saw of it, on a device that has one.
    pub(crate) tally: OnceLock<Arc<Tally>>,
    /// Nanoseconds that a work-group took lately, or [`UNKNOWN_TIME`].
    pub(crate) group_time: AtomicU64,
    /// Dispatches that may have been brief since one was, see `Batch::is_doubted`.
    pub(crate) doubts: AtomicU32,
    /// Dispatches to come whose work-groups are not run in blocks, because those of one before hardly were.
    pub(crate) single: AtomicU32,
}

/// So many of them until it is tried again.
pub(crate) const SINGLE: u32 = 63;

/// Of a pipeline that was never dispatched.
pub(crate) const UNKNOWN_TIME: u64 = u64::MAX;

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("name", &self.name).field("meta", &self.meta).finish_non_exhaustive()
    }
}

impl Pipeline {
    /// The work-groups that the next dispatch runs together, along x and y, if it runs any.
    pub(crate) fn next_block(&self) -> Option<[u32; 2]> {
        let one_less = |left: u32| left.checked_sub(1);
        match self.single.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
            Ok(_) => None,
            Err(_) => self.meta.block,
        }
    }

    /// Loads a compiled pipeline, and keeps the sealed form.
    pub(crate) fn load(
        arena: &Arc<Arena>,
        binary: Binary,
        sealed: Option<SealedCode>,
    ) -> Result<Self, JitError> {
        let load = |object: &[u8]| Code::load(arena, object, ENTRY_SYMBOL);
        let (code, other) = (load(&binary.object)?, binary.special.as_deref().map(load).transpose()?);
        let entry_of = |code: &Code| {
            // SAFETY: the compiler, or the cache that keeps what it made, says that the object defines
            // this symbol with this type. It stays loaded as long as the code, which is kept beside it.
            unsafe { std::mem::transmute::<*mut u8, Entry>(code.entry().as_ptr()) }
        };
        let entry = entry_of(&code);
        Ok(Self {
            name: binary.name,
            meta: binary.meta,
            bindings: binary.bindings,
            object_bytes: binary.object.len() + binary.special.map_or(0, |object| object.len()),
            entry,
            special: other.as_ref().map_or(entry, entry_of),
            _code: (code, other),
            sealed,
            tally: OnceLock::new(),
            group_time: AtomicU64::new(UNKNOWN_TIME),
            doubts: AtomicU32::new(0),
            single: AtomicU32::new(0),
        })
    }

    /// Name of the entry point.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The buffers that it may access; a dispatch gives descriptors in this order.
    pub fn bindings(&self) -> &[BindingInfo] {
        &self.bindings
    }

    /// Bytes of push constants that it reads.
    pub fn push_bytes(&self) -> u32 {
        self.meta.push_bytes
    }

    /// Invocations of a work-group along x, y and z.
    pub fn workgroup_size(&self) -> [u32; 3] {
        self.meta.workgroup_size
    }

    /// Invocations of a subgroup.
    pub fn subgroup_size(&self) -> u32 {
        self.meta.subgroup_size
    }

    /// Bytes that a work-group shares.
    pub fn shared_bytes(&self) -> u32 {
        self.meta.shared_bytes
    }

    /// Bytes of private memory that a subgroup needs at most besides registers and stack.
    pub fn scratch_bytes(&self) -> u64 {
        self.meta
            .scratch_bytes
            .saturating_add(self.meta.leader_scratch_bytes)
            .saturating_add(self.meta.common_bytes)
    }

    /// Bytes of stack that a subgroup's code needs itself.
    pub fn stack_bytes(&self) -> u64 {
        self.meta.stack_bytes
    }

    /// Size of the object files, from which the code was loaded.
    pub fn object_bytes(&self) -> usize {
        self.object_bytes
    }

    /// Its code, to be kept elsewhere; of pipelines that were made with a key.
    pub fn code(&self) -> Option<&SealedCode> {
        self.sealed.as_ref()
    }

    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// What runs the work-groups of a dispatch with these push constants.
    pub(crate) fn entry(&self, push: &[u8]) -> Entry {
        if self.meta.is_aligned(push) { self.special } else { self.entry }
    }

    /// What runs blocks of work-groups, if any are run.
    pub(crate) fn block_entry(&self) -> Entry {
        self.special
    }
}
