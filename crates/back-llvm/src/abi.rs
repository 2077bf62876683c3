//! The interface between compiled code and the host that runs it.
//!
//! Compiled code is one function, [`ENTRY_SYMBOL`], that runs one subgroup from its first
//! instruction to its last, or, if [`Meta::runs_groups`], all subgroups of several work-groups in a row. If it
//! [stops](Meta::stops) at barriers, it makes a frame of the subgroup, and the host calls what that names from barrier to
//! barrier. It finds everything it needs through a [`SubgroupContext`]: it holds no address of the process that compiled it, so
//! an object may be kept on disk and loaded by another process.
//!
//! The host guarantees, for every call:
//! - the context and everything it points to live until the subgroup has ended;
//! - `bindings` has [`Meta::num_bindings`] entries, `push` has [`Meta::push_bytes`] bytes, `shared` has
//!   [`Meta::shared_bytes`] bytes and `scratch` has [`Meta::scratch_bytes`] bytes, for subgroup 0 with
//!   [`Meta::leader_scratch_bytes`] more, and `common` has [`Meta::common_bytes`] bytes; the latter three are aligned to
//!   [`MEMORY_ALIGN`];
//! - `groups` is as it says there, and work-groups of one call are all of the dispatch;
//! - `frame` has [`Meta::frame_bytes`] bytes, aligned to [`Meta::frame_align`];
//! - the stack has room for [`Meta::stack_bytes`] and [`CALLEE_STACK_BYTES`];
//! - `size` bytes from `base` of every descriptor are mapped.
//!
//! Invariant: compiled code reads these structures by the offsets in `offset`, which the Rust compiler computes.

mod image;
mod site;

use phalanx_kernels::Access;
use std::ffi::c_void;
use std::sync::atomic::AtomicU32;

pub use image::ImageCode;
pub use site::{FIRST_SITE, Family, IDLE, SCHEDULING, Site};

/// Name of the compiled function, of type [`Entry`].
pub const ENTRY_SYMBOL: &str = "phalanx_entry";

/// Alignment of shared memory and of scratch memory in bytes.
pub const MEMORY_ALIGN: usize = 64;

/// Where tiles lie modulo this matters: scratch memory is aligned to it, or differs from such an address by the same
/// for all parts of it.
pub const SCRATCH_STEP: usize = 512;

/// Stack that kernels, mathematics and services need at most, in bytes.
pub const CALLEE_STACK_BYTES: usize = 64 << 10;

/// A buffer: its address and its size in bytes. The null descriptor has size 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferDesc {
    /// Address of the first byte.
    pub base: u64,
    /// Number of bytes.
    pub size: u64,
}

/// The descriptor array of one binding. Those of images are the host's alone: code finds null descriptors.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BindingDesc {
    /// The first descriptor.
    pub descs: *const BufferDesc,
    /// Number of descriptors; an index beyond it reads as the null descriptor.
    pub count: u64,
}

/// What all subgroups of a dispatch have in common.
#[repr(C)]
#[derive(Debug)]
pub struct DispatchContext {
    /// The bindings, in the order of `Module::bindings`.
    pub bindings: *const BindingDesc,
    /// The push constants.
    pub push: *const u8,
    /// Work-groups along each axis: the built-in `NumWorkgroups`.
    pub num_groups: [u32; 3],
    /// First work-group of a dispatch with a base. Already added to
    /// [`SubgroupContext::group_id`]; compiled code does not read it.
    pub base_group: [u32; 3],
    /// Nonzero to make the subgroups leave as soon as they see it: cancelled or out of time.
    pub stop: *const AtomicU32,
    /// The matrix kernels' functions, by the index that `phalanx_kernels` gives them.
    pub kernels: *const usize,
    /// The element-wise functions, by `phalanx_kernels::math::MathFn as usize`.
    pub math: *const usize,
    /// What the host does for compiled code.
    pub services: *const Services,
}

/// Calls from compiled code to the host.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Services {
    /// `(context, format, lane, args, n)`: prints by `Module::formats[format]` for one lane. Each of
    /// the `n` arguments is a scalar in the low bits of a word, the upper bits zero.
    pub printf: unsafe extern "C" fn(*const SubgroupContext, u32, u32, *const u64, u32),
    /// The same for a warning, of which a dispatch tells once.
    pub warn: unsafe extern "C" fn(*const SubgroupContext, u32, u32, *const u64, u32),
    /// `(context, binding, code, mask, places, values)`: does the operation that the code, an [`ImageCode`], names on
    /// images of a binding. The mask has two words, a bit for each lane. Operands and results lie one after the
    /// other, each with an element per lane: the index in the descriptor array, coordinates and the level, and all
    /// that sampling has, among the places; what is stored, and over it what is given, among the values.
    pub image: unsafe extern "C" fn(*const SubgroupContext, u32, u64, *const u64, *const i32, *mut u8),
    /// `(context, mask, addresses, runs, stride, bytes, writes)`: asks whether there is memory for an access, and stops
    /// the dispatch if not. The mask has two words, a bit for each lane, and each lane has an address, from which it
    /// accesses `runs` runs of `bytes` bytes that begin `stride` bytes apart; it writes if the last number is not 0.
    pub check: unsafe extern "C" fn(*const SubgroupContext, *const u64, *const u64, u64, u64, u64, u32),
    /// `(context, load, tiles, notes, base, size, offset, stride)`: the tile of a matrix in shared memory: one that it was
    /// loaded to since the last barrier, or one that the kernel loads it to. The last four are what the kernel is given,
    /// and each of the tiles has a note.
    pub load_once: unsafe extern "C" fn(
        *const SubgroupContext,
        *const LoadOnce,
        *mut u8,
        *mut Note,
        *const u8,
        u64,
        u64,
        i64,
    ) -> *mut u8,
}

/// A load that subgroups do once for all, to one of several tiles.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::NoUninit)]
pub struct LoadOnce {
    /// What the kernel is given.
    pub access: Access,
    /// The kernel, a [`LoadFn`](phalanx_kernels::LoadFn), by its index in [`DispatchContext::kernels`].
    pub kernel: u32,
    /// How many tiles there are, at least one.
    pub ways: u32,
    /// Bytes from one to the next.
    pub tile_bytes: u32,
}

/// What is in a tile that subgroups load once for all. Zeros: nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// After which barrier it was loaded.
    pub phase: u64,
    /// Where from.
    pub address: u64,
    /// Bytes from there to the end of the object.
    pub left: u64,
    /// Bytes from a row, or column, to the next.
    pub stride: i64,
}

/// One subgroup.
#[repr(C)]
#[derive(Debug)]
pub struct SubgroupContext {
    /// The dispatch it belongs to.
    pub dispatch: *const DispatchContext,
    /// Its work-group, the base of the dispatch included: the built-in `WorkgroupId`.
    pub group_id: [u32; 3],
    /// Its number in the work-group; 0 for code that runs all of them.
    pub subgroup_id: u32,
    /// For code that runs work-groups: how many, one after the other along x, at least one. For code that has a [`Meta::block`]
    /// of them: one, or [`ALL_OF_BLOCK`] of which `group_id` is the first.
    pub groups: u32,
    /// Compiled code writes 1 if it can't do the work-groups of a block together. It has done nothing then, and the host
    /// has it do them one by one.
    pub declined: u32,
    /// The memory shared by the work-group.
    pub shared: *mut u8,
    /// Memory private to the subgroup.
    pub scratch: *mut u8,
    /// Memory of whichever subgroup of the work-group runs: until it waits for the others, or returns.
    pub common: *mut u8,
    /// Memory of the subgroup's frame, if code [stops](Meta::stops).
    pub frame: *mut u8,
    /// The host's own. Compiled code does not touch it.
    pub host: *mut c_void,
    /// Where the last access by address stands in the source: the number of one of [`Meta::places`], counted from 1, or
    /// 0 where nobody knows. Compiled code writes it before it accesses what may not be there.
    pub place: u32,
    /// Where a profiled pipeline writes the number of the site that it is at; the code of others does not look at it. It is
    /// the word of the thread that runs the subgroup.
    pub site: *const AtomicU32,
}

/// The compiled function. Safe to call under the guarantees stated at the top of this module.
///
/// One that [stops](Meta::stops) only prepares its frame; [`go_on`] runs it to the next barrier, or to its end.
pub type Entry = unsafe extern "C" fn(*const SubgroupContext);

/// The beginning of a frame, as LLVM lays it out: the function that goes on, none at the end.
type Resume = Option<unsafe extern "C" fn(*mut u8)>;

/// Runs a subgroup from where its frame says it is to the next barrier or to its end. Whether it has not ended.
///
/// # Safety
///
/// An entry that stops has prepared the frame, and the subgroup has not ended; the guarantees are as for [`Entry`].
pub unsafe fn go_on(frame: *mut u8) -> bool {
    let resume = frame.cast::<Resume>();
    // SAFETY: a frame begins with it, as the caller vouches.
    if let Some(resume) = unsafe { resume.read() } {
        // SAFETY: forwarded.
        unsafe { resume(frame) };
    }
    // SAFETY: as above.
    unsafe { resume.read() }.is_some()
}

/// As [`SubgroupContext::groups`]: the work-groups of a [`Meta::block`].
pub const ALL_OF_BLOCK: u32 = 0;

/// What the host has to know to run compiled code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Bytes of [`SubgroupContext::scratch`].
    pub scratch_bytes: u64,
    /// Further bytes of that of subgroup 0, which works on the matrices of the work-group.
    pub leader_scratch_bytes: u64,
    /// Bytes of [`SubgroupContext::common`].
    pub common_bytes: u64,
    /// Bytes that it begins with that are zero at the start of a dispatch.
    pub note_bytes: u64,
    /// Bytes of the stack that the function itself needs, without the kernels and services it calls.
    pub stack_bytes: u64,
    /// Bytes of [`SubgroupContext::frame`], if the function [stops](Self::stops).
    pub frame_bytes: u64,
    /// What its address is a multiple of: a power of two.
    pub frame_align: u64,
    /// Bytes of [`SubgroupContext::shared`].
    pub shared_bytes: u32,
    /// Bytes of [`DispatchContext::push`].
    pub push_bytes: u32,
    /// Entries of [`DispatchContext::bindings`].
    pub num_bindings: u32,
    /// Whether the function stops at barriers, as subgroups of a work-group wait for each other: see [`Entry`].
    pub stops: bool,
    /// Whether a call runs all subgroups of [`SubgroupContext::groups`] work-groups, which share their scratch memory then. It
    /// returns between two of them if the dispatch stops.
    pub runs_groups: bool,
    /// Work-groups along x and y that a call of the special object runs together, with [`ALL_OF_BLOCK`]; none if it is none
    /// for that. It may be one, whose form supposes something and declines where that is not so.
    pub block: Option<[u32; 2]>,
    /// Bytes of the push constants where 32-bit integers begin, and the exponent of the power of two that each has to be a
    /// multiple of for the special object to run the dispatch; none if that is not for this.
    pub aligned: Vec<(u32, u32)>,
    /// Whether it accesses memory by address, whose bounds nobody knows. Its accesses may fault.
    pub uses_addresses: bool,
    /// Invocations of a subgroup.
    pub subgroup_size: u32,
    /// Invocations of a work-group along x, y and z.
    pub workgroup_size: [u32; 3],
    /// Texts for [`Services::printf`] and [`Services::warn`].
    pub formats: Vec<String>,
    /// Where accesses by address stand in the source, as `file:line`.
    pub places: Vec<String>,
    /// What the numbers from [`FIRST_SITE`] on mean that the code of a profiled pipeline writes.
    pub sites: Vec<Site>,
}

impl Meta {
    /// Whether the special object runs dispatches with such push constants.
    pub fn is_aligned(&self, push: &[u8]) -> bool {
        let is_multiple = |&(at, log2): &(u32, u32)| {
            let word = push.get(at as usize..).and_then(|rest| rest.first_chunk());
            word.is_some_and(|&word| u32::from_le_bytes(word).trailing_zeros() >= log2)
        };
        !self.aligned.is_empty() && self.aligned.iter().all(is_multiple)
    }

    /// Subgroups of a work-group: `subgroup_id` runs from 0 to this. The last may be partly filled,
    /// which compiled code takes care of.
    pub fn num_subgroups(&self) -> u32 {
        let invocations: u32 = self.workgroup_size.iter().product();
        invocations.div_ceil(self.subgroup_size.max(1))
    }
}

/// Offsets of the fields that compiled code reads.
pub(crate) mod offset {
    use super::{BindingDesc, BufferDesc, DispatchContext, Services, SubgroupContext};
    use std::mem::offset_of;

    pub(crate) const SUBGROUP_DISPATCH: usize = offset_of!(SubgroupContext, dispatch);
    pub(crate) const SUBGROUP_GROUP_ID: usize = offset_of!(SubgroupContext, group_id);
    pub(crate) const SUBGROUP_ID: usize = offset_of!(SubgroupContext, subgroup_id);
    pub(crate) const SUBGROUP_GROUPS: usize = offset_of!(SubgroupContext, groups);
    pub(crate) const SUBGROUP_DECLINED: usize = offset_of!(SubgroupContext, declined);
    pub(crate) const SUBGROUP_SHARED: usize = offset_of!(SubgroupContext, shared);
    pub(crate) const SUBGROUP_SCRATCH: usize = offset_of!(SubgroupContext, scratch);
    pub(crate) const SUBGROUP_COMMON: usize = offset_of!(SubgroupContext, common);
    pub(crate) const SUBGROUP_FRAME: usize = offset_of!(SubgroupContext, frame);
    pub(crate) const SUBGROUP_PLACE: usize = offset_of!(SubgroupContext, place);
    pub(crate) const SUBGROUP_SITE: usize = offset_of!(SubgroupContext, site);
    pub(crate) const DISPATCH_BINDINGS: usize = offset_of!(DispatchContext, bindings);
    pub(crate) const DISPATCH_PUSH: usize = offset_of!(DispatchContext, push);
    pub(crate) const DISPATCH_NUM_GROUPS: usize = offset_of!(DispatchContext, num_groups);
    pub(crate) const DISPATCH_STOP: usize = offset_of!(DispatchContext, stop);
    pub(crate) const DISPATCH_KERNELS: usize = offset_of!(DispatchContext, kernels);
    pub(crate) const DISPATCH_MATH: usize = offset_of!(DispatchContext, math);
    pub(crate) const DISPATCH_SERVICES: usize = offset_of!(DispatchContext, services);
    pub(crate) const SERVICES_PRINTF: usize = offset_of!(Services, printf);
    pub(crate) const SERVICES_WARN: usize = offset_of!(Services, warn);
    pub(crate) const SERVICES_IMAGE: usize = offset_of!(Services, image);
    pub(crate) const SERVICES_CHECK: usize = offset_of!(Services, check);
    pub(crate) const SERVICES_LOAD_ONCE: usize = offset_of!(Services, load_once);
    pub(crate) const BINDING_DESCS: usize = offset_of!(BindingDesc, descs);
    pub(crate) const BINDING_COUNT: usize = offset_of!(BindingDesc, count);
    pub(crate) const BUFFER_BASE: usize = offset_of!(BufferDesc, base);
    pub(crate) const BUFFER_SIZE: usize = offset_of!(BufferDesc, size);
    pub(crate) const BINDING_STRIDE: usize = size_of::<BindingDesc>();
    pub(crate) const BUFFER_STRIDE: usize = size_of::<BufferDesc>();
}
