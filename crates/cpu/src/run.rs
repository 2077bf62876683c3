//! Runs the work-groups of a dispatch.
//!
//! A dispatch is a [`Run`], which is one of a batch (see `batch`): worker threads take work-groups from it, a few at a time,
//! until none are left. A work-group is one call of the compiled function per subgroup, or one for
//! several work-groups where that goes on to the next itself, or does a block of them together. Where subgroups wait for
//! each other, a call goes to the next barrier: what is in use across it lies in a frame of the subgroup's.
//!
//! A thread runs its work-groups in a coroutine with a stack for kernels. Compiled code polls the stop flag in its loops
//! and returns when it is raised, so that none has to be unwound. One that faults is the exception: it ends where it
//! is, and what its stack held is forgotten (see `fault`). So a coroutine owns nothing; what it uses is borrowed from the
//! function that resumes it.

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use corosensei::Coroutine;
use corosensei::stack::Stack;
use phalanx_back_llvm::abi::{
    ALL_OF_BLOCK, BindingDesc, BufferDesc, DispatchContext, Entry, IDLE, LoadOnce, Meta, Note, SCHEDULING,
    SCRATCH_STEP, Services, SubgroupContext, go_on,
};
use phalanx_host::{Allocations, Descriptor, Fault, MemoryError, StopFlag, StopReason};
use phalanx_ir::{BindingInfo, BindingKind};
use phalanx_kernels::{Isa, LoadFn};

use crate::check::{Access, Ranges};
use crate::device::Report;
use crate::error::Error;
use crate::fault::{self, End, KernelCoroutine, RawFault, SignalStack};
use crate::grid::{Grid, Part};
use crate::image;
use crate::pipeline::{Pipeline, SINGLE, UNKNOWN_TIME};
use crate::pool::message_of;
use crate::printf::Printed;
use crate::profile::{Watch, Word};
use crate::scratch::Scratch;
use crate::shares::Shares;
use crate::stack::KernelStack;
use crate::watchdog::Watchdog;

/// How long dispatches take at most that gain nothing by another thread: as long as it takes a thread that looks
/// out for work to come and get ready for it, several times over.
pub(crate) const BRIEF: Duration = Duration::from_micros(8);

/// Where code that is profiled says where it is, though nobody looks.
static NOWHERE: AtomicU32 = AtomicU32::new(IDLE);

/// Bytes of a line of the caches.
const LINE: u64 = 64;

/// Larger memory of a worker is given back after a dispatch.
const KEPT_BYTES: u64 = 8 << 20;

/// What a thread needs to run work-groups.
#[derive(Default)]
pub(crate) struct Workplace {
    shared: Scratch,
    scratch: Scratch,
    stack: KernelStack,
    signal_stack: SignalStack,
    /// Who had it last.
    owner: Option<ThreadId>,
}

impl Workplace {
    /// The stack for signals, apart from what is used above it.
    pub(crate) fn take_signal_stack(&mut self) -> SignalStack {
        std::mem::take(&mut self.signal_stack)
    }
}

/// The workplaces of a device. There are as many as threads ever ran work-groups at once.
#[derive(Default)]
pub(crate) struct Workplaces(Mutex<Vec<Workplace>>);

impl fmt::Debug for Workplaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workplaces").finish_non_exhaustive()
    }
}

impl Workplaces {
    /// The one that this thread had before, whose memory is in the caches of its core and of its node, or any.
    pub(crate) fn take(&self) -> Workplace {
        let owner = Some(std::thread::current().id());
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = places.iter().rposition(|place| place.owner == owner);
        let found = own.or_else(|| places.len().checked_sub(1)).map(|index| places.swap_remove(index));
        drop(places);
        Workplace { owner, ..found.unwrap_or_default() }
    }

    pub(crate) fn give_back(&self, mut place: Workplace, signal_stack: SignalStack) {
        place.signal_stack = signal_stack;
        place.shared.trim(KEPT_BYTES);
        place.scratch.trim(KEPT_BYTES);
        place.stack.trim();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(place);
    }
}

/// Tables of addresses that compiled code calls through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables {
    pub(crate) kernels: *const usize,
    pub(crate) math: *const usize,
    /// Whose kernels they are.
    pub(crate) isa: Isa,
}

// SAFETY: both point to static, constant tables.
unsafe impl Send for Tables {}
// SAFETY: as above.
unsafe impl Sync for Tables {}

static SERVICES: Services = Services { printf, warn, image, check, load_once };

/// What code reads of a binding's descriptors. It does not check constant indices into arrays of declared length, so they
/// are that long, which a shader may put at any number.
fn table(list: &[Descriptor<'_>], info: &BindingInfo) -> Result<Box<[BufferDesc]>, MemoryError> {
    let length = list.len().max(info.count.unwrap_or(0) as usize);
    let bytes = length.saturating_mul(size_of::<BufferDesc>()) as u64;
    let mut table = Vec::new();
    table.try_reserve_exact(length).map_err(|_refused| MemoryError::OutOfMemory { bytes })?;
    table.extend(list.iter().map(|descriptor| {
        let part = descriptor.buffer();
        BufferDesc { base: part.address(), size: part.size() }
    }));
    table.resize(length, BufferDesc::default());
    Ok(table.into())
}

/// What the threads of a dispatch did.
#[derive(Default)]
struct Sums {
    /// Nanoseconds spent on work-groups.
    busy: AtomicU64,
    /// Work-groups that ended, and were not stopped.
    done: AtomicU64,
    /// Blocks of work-groups that a subgroup did one by one.
    declined: AtomicU64,
}

/// A dispatch.
pub(crate) struct Run {
    context: DispatchContext,
    /// What `context` points to, and the other halves of what it points to; never changed.
    _bindings: Box<[BindingDesc]>,
    _descriptors: Vec<Box<[BufferDesc]>>,
    /// The images and samplers, while the dispatch lasts.
    images: image::Bound,
    _push: Box<[u8]>,
    pipeline: Arc<Pipeline>,
    /// What runs its work-groups, other than in blocks.
    entry: Entry,
    grid: Grid,
    shares: Shares,
    /// The number of tickets of its batch up to its own last one.
    pub(crate) last_ticket: usize,
    /// What threads did when they left.
    sums: Sums,
    /// When its batch was ready, as that has it.
    pub(crate) start: Instant,
    /// Whether only the calling thread works, and no longer than [`BRIEF`]; whether it did, when all is done.
    is_alone: AtomicBool,
    /// Whether somebody has noticed that no work-group is left.
    is_closed: AtomicBool,
    /// Whether there are others in its batch, so that it matters what a lone work-group takes.
    has_others: bool,
    stop: Arc<StopFlag>,
    limit: Option<Duration>,
    printed: Mutex<Printed>,
    failure: Mutex<Option<Error>>,
    /// Where kernels may go by address, to tell what is near to where one went.
    allocations: Allocations,
    /// Where kernels may go by address, if that is checked.
    ranges: Ranges,
    /// Where its threads say where they are, if a profiler looks.
    watch: Option<Arc<Watch>>,
}

// SAFETY: the pointers in `context` and `_bindings` lead to memory that the run owns and does not
// change, to statics, and to the atomic stop flag.
unsafe impl Send for Run {}
// SAFETY: as above; all that changes is atomic or behind a mutex.
unsafe impl Sync for Run {}

/// What a run is made of.
pub(crate) struct RunParts<'a> {
    pub(crate) pipeline: &'a Arc<Pipeline>,
    /// The descriptors of each binding, in the pipeline's order.
    pub(crate) descriptors: &'a [&'a [Descriptor<'a>]],
    /// As many push constants as the pipeline reads.
    pub(crate) push: Box<[u8]>,
    /// When the dispatch was asked for.
    pub(crate) start: Instant,
    pub(crate) groups: [u32; 3],
    pub(crate) base: [u32; 3],
    pub(crate) grid: Grid,
    pub(crate) stop: Arc<StopFlag>,
    /// Time after which it is stopped, from its beginning on.
    pub(crate) limit: Option<Duration>,
    pub(crate) threads: usize,
    pub(crate) has_others: bool,
    pub(crate) tables: Tables,
    pub(crate) allocations: &'a Allocations,
    pub(crate) checks_addresses: bool,
    pub(crate) watch: Option<Arc<Watch>>,
}

impl Run {
    /// Prepares a dispatch.
    pub(crate) fn new(parts: RunParts<'_>) -> Result<Self, MemoryError> {
        let lists = parts.descriptors.iter().zip(parts.pipeline.bindings());
        let descriptors = lists.map(|(list, info)| table(list, info)).collect::<Result<Vec<_>, _>>()?;
        // SAFETY: the caller of the dispatch lends the views until it is over; no subgroup runs later.
        let images = unsafe { image::Bound::new(parts.descriptors) };
        let bindings: Box<[BindingDesc]> = descriptors
            .iter()
            .map(|list| BindingDesc { descs: list.as_ptr(), count: list.len() as u64 })
            .collect();
        let context = DispatchContext {
            bindings: bindings.as_ptr(),
            push: parts.push.as_ptr(),
            num_groups: parts.groups,
            base_group: parts.base,
            stop: parts.stop.as_ptr(),
            kernels: parts.tables.kernels,
            math: parts.tables.math,
            services: &raw const SERVICES,
        };
        let total = parts.grid.total();
        // One thread runs what is brief.
        let has_stretches =
            parts.pipeline.meta().runs_groups && expected_time(parts.pipeline, total) >= BRIEF;
        let shares = Shares::new(total, parts.grid.unit(), parts.threads, has_stretches);
        Ok(Self {
            context,
            _bindings: bindings,
            _descriptors: descriptors,
            images,
            entry: parts.pipeline.entry(&parts.push),
            _push: parts.push,
            pipeline: Arc::clone(parts.pipeline),
            grid: parts.grid,
            shares,
            last_ticket: 0,
            sums: Sums::default(),
            start: parts.start,
            is_alone: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            has_others: parts.has_others,
            stop: parts.stop,
            limit: parts.limit,
            printed: Mutex::default(),
            failure: Mutex::default(),
            allocations: parts.allocations.clone(),
            ranges: if parts.checks_addresses { Ranges::new(parts.allocations) } else { Ranges::default() },
            watch: parts.watch,
        })
    }

    /// How long it will take one thread, by what the pipeline's work-groups took before.
    pub(crate) fn expected_time(&self) -> Duration {
        expected_time(&self.pipeline, self.grid.total())
    }

    pub(crate) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// How many threads it gains by, if there are as many.
    pub(crate) fn seats(&self) -> usize {
        let units = self.grid.total().div_ceil(self.grid.unit());
        let units = usize::try_from(units).unwrap_or(usize::MAX);
        if self.expected_time() < BRIEF { units.min(1) } else { units }
    }

    /// Number of its work-groups.
    pub(crate) fn total(&self) -> u64 {
        self.grid.total()
    }

    /// The calling thread works alone from now on, or all do.
    pub(crate) fn set_alone(&self, is_alone: bool) {
        self.is_alone.store(is_alone, Ordering::Relaxed);
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.is_alone.load(Ordering::Relaxed)
    }

    /// Whether there are work-groups for another thread.
    pub(crate) fn has_groups(&self) -> bool {
        self.shares.has_groups() && !self.stop.is_raised()
    }

    /// The first thread begins: the time runs from now on.
    pub(crate) fn begin(&self, watchdog: &Watchdog) {
        if let Some(limit) = self.limit {
            watchdog.guard(&self.stop, limit);
        }
    }

    /// Whether this is the first to find that no work-groups are left of those that there were.
    pub(crate) fn close(&self) -> bool {
        self.grid.total() != 0 && !self.has_groups() && !self.is_closed.swap(true, Ordering::Relaxed)
    }

    /// Where a profiler looks at it.
    pub(crate) fn watch(&self) -> Option<&Arc<Watch>> {
        self.watch.as_ref()
    }

    /// Whether it was stopped before its end.
    pub(crate) fn has_failed(&self) -> bool {
        self.stop.is_raised()
    }

    /// Stops it because another one failed.
    pub(crate) fn stop(&self) {
        self.stop.raise(StopReason::Failed);
    }

    /// Notes for dispatches to come how long a work-group takes, where it matters: more counts at once, less bit by bit,
    /// unless nobody kept the thread waiting.
    fn note_time(&self) {
        let total = self.grid.total();
        if !self.is_timed() || self.shares.has_groups() || self.stop.is_raised() {
            return;
        }
        let found = self.sums.busy.load(Ordering::Relaxed) / total;
        let before = self.pipeline.group_time.load(Ordering::Relaxed);
        let counts = before == UNKNOWN_TIME || self.is_alone();
        let noted = if counts { found } else { found.max(before.midpoint(found)) };
        self.pipeline.group_time.store(noted, Ordering::Relaxed);
    }

    /// Notes for dispatches to come if blocks of work-groups mostly had to be done one by one, which keeps a thread longer.
    fn note_declined(&self) {
        let calls = self.grid.blocks().saturating_mul(self.pipeline.meta().num_subgroups().into());
        if calls != 0 && self.sums.declined.load(Ordering::Relaxed) > calls / 2 {
            self.pipeline.single.store(SINGLE, Ordering::Relaxed);
        }
    }

    /// Whether it matters what its work-groups take.
    fn is_timed(&self) -> bool {
        self.grid.total() > u64::from(!self.has_others)
    }

    /// Ends the dispatch with an error, unless it has one.
    pub(crate) fn fail(&self, error: Error) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.raise(StopReason::Failed);
    }

    /// The error that a fault is.
    fn error_of(&self, fault: RawFault, place: u32) -> Error {
        let kernel = self.pipeline.name().to_owned();
        let places = &self.pipeline.meta().places;
        let place = place.checked_sub(1).and_then(|index| places.get(index as usize)).cloned();
        if fault.is_overflow {
            return Error::StackOverflow { kernel };
        }
        let nearest = fault.address.and_then(|address| self.allocations.nearest(address));
        let RawFault { address, wrote, .. } = fault;
        Error::Fault(Box::new(Fault { kernel, place, address, wrote, nearest }))
    }

    /// What it did in this time, after its end.
    pub(crate) fn finish(&self, elapsed: Duration) -> Result<Report, Error> {
        self.note_time();
        self.note_declined();
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The flag of one that has ended may be raised later, while others of its batch go on.
        let total = self.grid.total();
        let is_done = total != 0 && self.sums.done.load(Ordering::Relaxed) == total;
        match (self.stop.reason().filter(|_| !is_done), failure) {
            (_, Some(failure)) => return Err(failure),
            (Some(StopReason::Timeout), None) => {
                return Err(Error::Timeout { limit: self.limit.unwrap_or_default() });
            }
            (Some(StopReason::Cancelled | StopReason::Failed), None) => return Err(Error::Cancelled),
            (None, None) => {}
        }
        let printed = std::mem::take(&mut *self.printed.lock().unwrap_or_else(PoisonError::into_inner));
        let (printed, warnings) = printed.into_lines();
        Ok(Report { elapsed, printed, warnings })
    }

    /// Runs a part of a service. No panic may go through compiled code, so it becomes the dispatch's error here.
    fn without_panic(&self, f: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
            self.fail(Error::Panic { message: message_of(&*panic) });
        }
    }

    /// The next share for the thread whose stretch is `own` and that has `done` so many work-groups. One that is alone
    /// takes as many as it has done, to look at the clock rarely.
    fn take_share(&self, own: usize, done: u64) -> Option<Range<u64>> {
        let is_alone = self.is_alone();
        if is_alone && done != 0 && self.start.elapsed() > BRIEF {
            return None;
        }
        self.shares.take(own, is_alone.then_some(done), &self.stop)
    }

    /// Runs `body` with the id of one work-group after the other and one, or of the first of a block and [`ALL_OF_BLOCK`].
    fn for_each_group(&self, mut body: impl FnMut([u32; 3], u32)) {
        self.for_each_part(|Part { first, count, is_block }| {
            if is_block {
                return body(first, ALL_OF_BLOCK);
            }
            let [x, y, z] = first;
            for x in x..x + count {
                body([x, y, z], 1);
                if self.stop.is_raised() {
                    break;
                }
            }
        });
    }

    /// Runs `body` with blocks of work-groups, and with work-groups that are next to each other along x.
    fn for_each_part(&self, mut body: impl FnMut(Part)) {
        let (own, mut done) = (self.shares.come(), 0);
        'shares: while let Some(share) = self.take_share(own, done) {
            for part in self.grid.parts(share) {
                let count = part.count;
                body(part);
                // Whether they ended or were stopped, they cannot tell.
                if self.stop.is_raised() {
                    break 'shares;
                }
                done += u64::from(count);
            }
        }
        self.sums.done.fetch_add(done, Ordering::Relaxed);
    }

    /// Works until no work-groups are left, or the dispatch has to stop.
    pub(crate) fn work_at(&self, place: &mut Workplace) -> Result<(), Error> {
        let word = self.watch.as_ref().map(|watch| watch.word());
        note(word.as_deref(), SCHEDULING);
        let done = self.work_and_note(place, word.as_ref());
        note(word.as_deref(), IDLE);
        done
    }

    fn work_and_note(&self, place: &mut Workplace, word: Option<&Arc<Word>>) -> Result<(), Error> {
        let meta = self.pipeline.meta();
        let shared = place.shared.reserve(u64::from(meta.shared_bytes))?;
        let mut subgroups = Subgroups::new(self, shared, &mut place.scratch, word)?;
        self.timed(|| self.run_in_turn(&mut subgroups, &mut place.stack))
    }

    /// Runs work-groups, and adds the time that they take.
    fn timed<R>(&self, run: impl FnOnce() -> R) -> R {
        if !self.is_timed() {
            return run();
        }
        let start = Instant::now();
        let result = run();
        self.sums.busy.fetch_add(nanoseconds(start.elapsed()), Ordering::Relaxed);
        result
    }

    /// Runs subgroups one after the other, all in one coroutine.
    fn run_in_turn(&self, subgroups: &mut Subgroups, kept: &mut KernelStack) -> Result<(), Error> {
        let (run, subgroups) = (ptr::from_ref(self), ptr::from_mut(subgroups));
        let stack = kept.take(self.pipeline.meta().stack_bytes)?;
        let limit = stack.limit().get();
        let mut coroutine: KernelCoroutine = Coroutine::with_stack(stack, move |_yielder, ()| {
            // SAFETY: this function, which borrows the run, resumes the coroutine once and to its end.
            let run = unsafe { &*run };
            // SAFETY: as above, and it uses the subgroups for nothing else.
            let subgroups = unsafe { &mut *subgroups };
            let block_entry = run.pipeline.block_entry();
            let (running, word) = (&subgroups.running, subgroups.word.as_deref());
            let meta = run.pipeline.meta();
            if meta.runs_groups {
                return run.run_rows(subgroups);
            }
            if meta.stops {
                return run.run_in_phases(subgroups);
            }
            run.for_each_group(|id, groups| {
                for context in subgroups.contexts.iter_mut() {
                    running.set(context.subgroup_id);
                    let mut call = |id, groups| {
                        (context.group_id, context.groups, context.declined) = (id, groups, 0);
                        let entry = if groups == ALL_OF_BLOCK { block_entry } else { run.entry };
                        // SAFETY: see `Subgroups`.
                        unsafe { entry(ptr::from_mut(context)) };
                        note(word, SCHEDULING);
                        context.declined != 0
                    };
                    if call(id, groups) && groups == ALL_OF_BLOCK {
                        run.sums.declined.fetch_add(1, Ordering::Relaxed);
                        run.grid.block_from(id).take_while(|_| !run.stop.is_raised()).for_each(|id| {
                            call(id, 1);
                        });
                    }
                }
            });
            End::Returned
        });
        let fault = fault::resume(&mut coroutine, limit);
        kept.give_back(coroutine.into_stack());
        match fault {
            // SAFETY: the coroutine is over, so nobody else uses them.
            Some(fault) => Err(self.error_of(fault, unsafe { &*subgroups }.place())),
            None => Ok(()),
        }
    }

    /// Runs subgroups that wait for each other: each to its next barrier, then all of them again, until all have ended. One
    /// that has ended is not waited for.
    fn run_in_phases(&self, subgroups: &mut Subgroups) -> End {
        let Subgroups { contexts, running, live, phase, word, .. } = subgroups;
        self.for_each_group(|id, _one| {
            live.clear();
            for context in contexts.iter_mut() {
                context.group_id = id;
                // SAFETY: see `Subgroups`.
                unsafe { (self.entry)(ptr::from_mut(context)) };
                live.push((context.subgroup_id, context.frame));
            }
            while !live.is_empty() {
                phase.set(phase.get() + 1);
                live.retain(|&(number, frame)| {
                    running.set(number);
                    // SAFETY: the entry has prepared it, and those that have ended are not run again; see `Subgroups`.
                    let waits = unsafe { go_on(frame) };
                    note(word.as_deref(), SCHEDULING);
                    waits
                });
            }
        });
        End::Returned
    }

    /// Runs work-groups by code that goes on from one to the next itself.
    fn run_rows(&self, subgroups: &mut Subgroups) -> End {
        let Some(context) = subgroups.contexts.first_mut() else { return End::Returned };
        self.for_each_part(|part| {
            (context.group_id, context.groups) = (part.first, part.count);
            // SAFETY: see `Subgroups`.
            unsafe { (self.entry)(ptr::from_mut(context)) };
            note(subgroups.word.as_deref(), SCHEDULING);
        });
        End::Returned
    }
}

/// Bytes from the frame of a subgroup to that of the next, and what they are multiples of. Frames begin in different sets of
/// the first cache.
fn frame_stride(meta: &Meta) -> (u64, u64) {
    if !meta.stops {
        return (0, 1);
    }
    let align = meta.frame_align.max(LINE).next_power_of_two();
    ((meta.frame_bytes.div_ceil(align) | 1).saturating_mul(align), align)
}

/// How long so many work-groups take one thread, by what the pipeline's took before.
fn expected_time(pipeline: &Pipeline, total: u64) -> Duration {
    let each = pipeline.group_time.load(Ordering::Relaxed);
    Duration::from_nanos(each.saturating_mul(total))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Says where a thread is, if somebody looks.
fn note(word: Option<&Word>, number: u32) {
    if let Some(word) = word {
        word.set(number);
    }
}

/// What services find through `SubgroupContext::host`.
struct HostData {
    run: *const Run,
    /// The number of the phase between two barriers, which is never used again in a dispatch. The first is 1.
    phase: *const Cell<u64>,
}

impl HostData {
    /// The host's data of a subgroup.
    ///
    /// # Safety
    ///
    /// `context` is from [`Subgroups`], which is still alive.
    unsafe fn of<'a>(context: *const SubgroupContext) -> &'a Self {
        // SAFETY: by the contract.
        let data = unsafe { (*context).host };
        // SAFETY: `Subgroups` points it to an element of `host`, which lives as long.
        unsafe { &*data.cast::<Self>() }
    }
}

/// The contexts of a work-group's subgroups, used again for each work-group.
///
/// This is where the guarantees of the interface to compiled code are given: every pointer leads
/// to memory of the size that the pipeline's `Meta` states, alive until the last call returns.
struct Subgroups {
    contexts: Box<[SubgroupContext]>,
    /// The number of the one that runs, where they run in turn.
    running: Cell<u32>,
    /// The numbers and frames of those that wait for each other and have not ended.
    live: Vec<(u32, *mut u8)>,
    _host: Box<[HostData]>,
    phase: Box<Cell<u64>>,
    /// Where the thread that runs them says where it is.
    word: Option<Arc<Word>>,
}

impl Subgroups {
    /// Subgroups that share `shared`; each has scratch memory of its own if they wait for each other.
    fn new(
        run: &Run,
        shared: *mut u8,
        scratch: &mut Scratch,
        word: Option<&Arc<Word>>,
    ) -> Result<Self, MemoryError> {
        let meta = run.pipeline.meta();
        let count = meta.num_subgroups() as usize;
        let too_much = || MemoryError::OutOfMemory { bytes: meta.scratch_bytes };
        let each = meta.scratch_bytes.checked_next_multiple_of(SCRATCH_STEP as u64).ok_or_else(too_much)?;
        let stride = if meta.stops { each } else { 0 };
        let others = stride.checked_mul(count.saturating_sub(1) as u64).ok_or_else(too_much)?;
        let leader = each.checked_add(meta.leader_scratch_bytes).ok_or_else(too_much)?;
        let private =
            others.checked_add(leader).and_then(|sum| sum.checked_next_multiple_of(SCRATCH_STEP as u64));
        let private = private.ok_or_else(too_much)?;
        let frames = private.checked_add(meta.common_bytes).ok_or_else(too_much)?;
        let (frame, align) = frame_stride(meta);
        let bytes =
            frame.checked_mul(count as u64).and_then(|all| all.checked_add(align)?.checked_add(frames));
        let start = scratch.reserve(bytes.ok_or_else(too_much)?)?;
        let common = start.wrapping_add(private as usize);
        let frames = start.wrapping_add(frames as usize);
        let frames = frames.wrapping_add(frames.align_offset(align as usize));
        let frame = frame as usize;
        // SAFETY: notes are a part of the common memory.
        unsafe { common.write_bytes(0, meta.note_bytes.min(meta.common_bytes) as usize) };
        let phase = Box::<Cell<u64>>::default();
        let host: Box<[HostData]> = (0..count).map(|_| HostData { run, phase: &raw const *phase }).collect();
        let contexts = host
            .iter()
            .enumerate()
            .map(|(index, host)| SubgroupContext {
                dispatch: &raw const run.context,
                group_id: [0; 3],
                subgroup_id: index as u32,
                groups: 1,
                declined: 0,
                shared,
                // The first one lies last, for it may have more. Wrapping is plain arithmetic here: the
                // result lies in the reserved memory.
                scratch: start.wrapping_add((count - 1 - index) * stride as usize),
                common,
                frame: frames.wrapping_add(index * frame),
                host: ptr::from_ref(host).cast_mut().cast::<c_void>(),
                place: 0,
                site: word.map_or(&raw const NOWHERE, |word| word.as_ptr()),
            })
            .collect();
        Ok(Self {
            contexts,
            running: Cell::new(0),
            live: Vec::with_capacity(count),
            _host: host,
            phase,
            word: word.cloned(),
        })
    }

    /// Where the last access by address of the one that runs stands in the source.
    fn place(&self) -> u32 {
        self.contexts.get(self.running.get() as usize).map_or(0, |context| context.place)
    }
}

/// [`Services::image`].
unsafe extern "C" fn image(
    context: *const SubgroupContext,
    binding: u32,
    code: u64,
    mask: *const u64,
    places: *const i32,
    values: *mut u8,
) {
    // SAFETY: compiled code passes the context that it was called with.
    let run = unsafe { HostData::of(context) }.run;
    // SAFETY: the run outlives its subgroups.
    let run = unsafe { &*run };
    let info = run.pipeline.bindings().get(binding as usize);
    let Some(BindingKind::Image(kind)) = info.map(|info| info.kind) else { return };
    // SAFETY: compiled code passes what the interface says, and it lives until this returns.
    let Some(call) = (unsafe { image::Call::new(code, kind, mask, places, values) }) else { return };
    // Inside of the kernel as for faults: it takes no lock and no memory, and the memory of an image may fault.
    run.without_panic(|| call.execute(&run.images, binding));
}

/// [`Services::check`]: stops the dispatch if there is no memory where an access goes.
unsafe extern "C" fn check(
    context: *const SubgroupContext,
    mask: *const u64,
    addresses: *const u64,
    runs: u64,
    stride: u64,
    bytes: u64,
    writes: u32,
) {
    // SAFETY: compiled code passes the context that it was called with.
    let run = unsafe { HostData::of(context) }.run;
    // SAFETY: the run outlives its subgroups.
    let run = unsafe { &*run };
    // SAFETY: compiled code passes two words.
    let [low, high] = unsafe { mask.cast::<[u64; 2]>().read() };
    let mut rest = u128::from(low) | u128::from(high) << 64;
    let lanes = std::iter::from_fn(|| {
        let lane = (rest != 0).then(|| rest.trailing_zeros())?;
        rest &= rest - 1;
        // SAFETY: compiled code passes an address for each lane of the mask.
        Some(unsafe { addresses.add(lane as usize).read() })
    });
    let access = Access { runs, stride, bytes, writes: writes != 0 };
    let check = || {
        if let Some(fault) = access.fault(&run.ranges, lanes) {
            // SAFETY: compiled code passes the context that it was called with, and has noted its place there.
            run.fail(run.error_of(fault, unsafe { (*context).place }));
        }
    };
    fault::outside(|| run.without_panic(check));
}

/// [`Services::load_once`]. A subgroup that looks for what is in none of the tiles gets one of an earlier phase, or the last
/// one: the others may serve yet.
unsafe extern "C" fn load_once(
    context: *const SubgroupContext,
    load: *const LoadOnce,
    tiles: *mut u8,
    notes: *mut Note,
    base: *const u8,
    size: u64,
    offset: u64,
    stride: i64,
) -> *mut u8 {
    // SAFETY: compiled code passes the context that it was called with.
    let host = unsafe { HostData::of(context) };
    // SAFETY: the phase lives as long as the contexts.
    let phase = unsafe { &*host.phase }.get();
    // SAFETY: compiled code passes what it has in its constants.
    let load = unsafe { &*load };
    // SAFETY: compiled code passes so many notes, which are its own while it runs.
    let notes = unsafe { std::slice::from_raw_parts_mut(notes, load.ways as usize) };
    let address = (base.addr() as u64).wrapping_add(offset);
    let wanted = Note { phase, address, left: size.wrapping_sub(offset), stride };
    let fits = |note: &Note| note.phase != phase || *note == wanted;
    let way = notes.iter().position(fits).unwrap_or(notes.len().saturating_sub(1));
    // Compiled code has at least one note for what it asks for.
    let Some(note) = notes.get_mut(way) else { return tiles };
    let is_there = std::mem::replace(note, wanted) == wanted;
    let tile = tiles.wrapping_add(way * load.tile_bytes as usize);
    if !is_there {
        // SAFETY: compiled code names a function of the table that is a `LoadFn`.
        let kernel: LoadFn = unsafe {
            let table = (*(*context).dispatch).kernels;
            std::mem::transmute(table.add(load.kernel as usize).read())
        };
        // SAFETY: compiled code passes what the kernel is to be given, and a tile for each note.
        unsafe { kernel(&load.access, tile, base, size, offset, stride) };
    }
    tile
}

/// [`Services::printf`].
unsafe extern "C" fn printf(
    context: *const SubgroupContext,
    format: u32,
    _lane: u32,
    args: *const u64,
    n: u32,
) {
    // SAFETY: compiled code passes the context that it was called with, and `n` words.
    unsafe { tell(context, format, args, n, |printed, text, args| printed.print(text, args)) };
}

/// [`Services::warn`].
unsafe extern "C" fn warn(
    context: *const SubgroupContext,
    format: u32,
    _lane: u32,
    args: *const u64,
    n: u32,
) {
    // SAFETY: compiled code passes the context that it was called with, and `n` words.
    unsafe { tell(context, format, args, n, |printed, text, args| printed.warn(format, text, args)) };
}

/// Writes something down of what a dispatch prints.
///
/// # Safety
///
/// The context must be one that compiled code was called with, and `args` must point to `n` words.
unsafe fn tell(
    context: *const SubgroupContext,
    format: u32,
    args: *const u64,
    n: u32,
    write: impl FnOnce(&mut Printed, &str, &[u64]),
) {
    // SAFETY: the caller passes a context that compiled code was called with.
    let run = unsafe { HostData::of(context) }.run;
    // SAFETY: the run outlives its subgroups.
    let run = unsafe { &*run };
    let args = match n {
        0 => &[],
        // SAFETY: the caller passes `n` words.
        n => unsafe { std::slice::from_raw_parts(args, n as usize) },
    };
    let text = run.pipeline.meta().formats.get(format as usize).map_or("", String::as_str);
    let printed = || write(&mut run.printed.lock().unwrap_or_else(PoisonError::into_inner), text, args);
    fault::outside(|| run.without_panic(printed));
}
