//! Dispatches, copies and fills, in order.
//!
//! They are handed to the GPU one behind the other, without waiting between them, and their end is waited for once
//! ([`crate::wait`]). Kernels take a word that their loops look at: once it is not 0, they end. So a dispatch that takes too
//! long, or is cancelled, leaves the GPU as it was; what ends not even then is a GPU that is lost.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::sys::{self, CUevent, CUstream};
use phalanx_back_nvptx::abi;
use phalanx_back_nvptx::report::Told;
use phalanx_host::{CancelToken, Descriptor};
use phalanx_ir::{MAX_DISPATCH_INVOCATIONS, excess};

use crate::arguments::{Arguments, Places, put};
use crate::code::Pipeline;
use crate::context::Context;
use crate::error::Error;
use crate::memory::{Pinned, Private, Staged};
use crate::parts::{Part, parts};
use crate::wait::Mark;

/// Most bytes that the work-groups of a launch have together for what shared memory has no room for, unless one alone needs
/// more: several times what those have that run at once, so that launches that follow each other cost little.
const MOST_SPILLED: u64 = 256 << 20;

/// Most steps that are handed over before their end is waited for.
const MOST_STEPS: usize = 1024;

/// Bytes at first for what dispatches have outside of their blocks, and for what they tell.
const ROOM: u64 = 64 << 10;

/// A pipeline to be run.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// The pipeline.
    pub pipeline: &'a Arc<Pipeline>,
    /// Work-groups along x, y and z.
    pub groups: [u32; 3],
    /// The first work-group.
    pub base: [u32; 3],
    /// For each binding its descriptors.
    pub descriptors: &'a [&'a [Descriptor<'a>]],
    /// The push constants; at least as many bytes as the pipeline reads.
    pub push: &'a [u8],
    /// Time after which it is stopped; the GPU's without it. [`Duration::MAX`] stands for no limit.
    pub timeout: Option<Duration>,
    /// Stops it when another thread cancels the token.
    pub cancel: Option<&'a CancelToken>,
}

/// What a dispatch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Time that the GPU took.
    pub elapsed: Duration,
    /// The lines that it printed.
    pub printed: Vec<String>,
    /// Mistakes that only the dispatch could know of.
    pub warnings: Vec<String>,
}

/// Something that a GPU does.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Runs a pipeline.
    Dispatch(Dispatch<'a>),
    /// Copies bytes, as many as fit in both; they do not overlap.
    Copy {
        /// Where they are.
        from: Descriptor<'a>,
        /// Where they go.
        to: Descriptor<'a>,
    },
    /// Repeats a word over all whole words.
    Fill {
        /// Where it goes, at a multiple of 4.
        to: Descriptor<'a>,
        /// The word.
        word: u32,
    },
}

/// What steps are given to, one after the other.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) context: Arc<Context>,
    pub(crate) stream: CUstream,
    /// Before the steps, and behind them; they tell the time.
    pub(crate) span: [CUevent; 2],
    /// Behind some dispatches each; they tell no time.
    pub(crate) marks: Vec<CUevent>,
    /// The word that ends dispatches.
    pub(crate) watch: Pinned,
    /// What dispatches have outside of their blocks.
    outside: Staged,
    /// What kernels tell. It is 0 up to where a part was handed out.
    reports: Private,
    /// What shared memory has no room for.
    spilled: Option<Private>,
    /// The block of a dispatch, and what lies outside of it.
    block: [Vec<u8>; 2],
}

// SAFETY: the driver lets any thread use its streams and events.
unsafe impl Send for Queue {}

/// Steps that were handed over together.
#[derive(Debug, Default)]
struct Batch<'a> {
    dispatches: Vec<Running<'a>>,
    /// Behind some dispatches each; the last is the end of all.
    marks: Vec<Mark<'a>>,
    outside_bytes: u64,
    report_bytes: u64,
}

/// A dispatch that was handed over.
#[derive(Debug)]
struct Running<'a> {
    /// Its number among the steps.
    step: usize,
    pipeline: &'a Pipeline,
    /// Where its report begins.
    report: u64,
}

impl<'a> Batch<'a> {
    /// Lets the end of a dispatch be waited for.
    fn mark(&mut self, dispatch: &Dispatch<'a>, timeout: Option<Duration>) {
        if self.marks.last().is_none_or(Mark::is_full) {
            self.marks.push(Mark::new(self.dispatches.len()));
        }
        if let Some(mark) = self.marks.last_mut() {
            mark.add(dispatch.timeout.or(timeout), dispatch.cancel);
        }
    }
}

impl Queue {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, Error> {
        let watch = Pinned::new(context, 64)?;
        let (outside, reports) = (Staged::new(context, ROOM)?, Private::new(context, ROOM)?);
        let (stream, span) = (ptr::null_mut(), [ptr::null_mut(); 2]);
        let mut queue = Self {
            context: Arc::clone(context),
            stream,
            span,
            marks: Vec::new(),
            watch,
            outside,
            reports,
            spilled: None,
            block: Default::default(),
        };
        // SAFETY: `Pinned::new` entered the context; `stream` is written.
        let result = unsafe { sys::cuStreamCreate(&raw mut queue.stream, 0) };
        context.check("making a stream", result)?;
        for event in &mut queue.span {
            // SAFETY: as above, `event` is written.
            context.check("making an event", unsafe { sys::cuEventCreate(event, 0) })?;
        }
        queue.clear_reports(ROOM)?;
        Ok(queue)
    }

    /// Does steps in order and waits for their end; there is a result for each. One that does not fit its pipeline is left
    /// out; behind one that is stopped or fails the others are cancelled.
    pub(crate) fn run(
        &mut self,
        steps: &[Step<'_>],
        timeout: Option<Duration>,
    ) -> Vec<Result<Report, Error>> {
        let mut results = Vec::with_capacity(steps.len());
        while results.len() < steps.len() {
            let some = self.run_some(&steps[results.len()..], timeout);
            let is_end = some.iter().any(|result| result.as_ref().is_err_and(is_end));
            results.extend(some);
            if is_end {
                results.resize(steps.len(), Err(Error::Cancelled));
            }
        }
        results
    }

    /// Does as many of the first steps as there is room for, at least one.
    fn run_some(&mut self, steps: &[Step<'_>], timeout: Option<Duration>) -> Vec<Result<Report, Error>> {
        if let Err(error) = self.begin() {
            return vec![Err(error)];
        }
        let count = steps.len().min(MOST_STEPS);
        let mut results = Vec::with_capacity(count);
        let mut batch = Batch { dispatches: Vec::with_capacity(count), ..Batch::default() };
        let mut done = Ok(());
        for step in steps.iter().take(MOST_STEPS) {
            if done.is_err() {
                break;
            }
            let handed_over = match step {
                Step::Dispatch(dispatch) => match check(dispatch, &self.context) {
                    Ok(()) if dispatch.groups.contains(&0) => Ok(true),
                    Ok(()) => self.add(dispatch, timeout, results.len(), &mut batch),
                    Err(error) => {
                        results.push(Err(error));
                        continue;
                    }
                },
                Step::Copy { from, to } => self.copy(from, to).map(|()| true),
                Step::Fill { to, word } => self.fill(to, *word).map(|()| true),
            };
            match handed_over {
                Ok(true) => results.push(Ok(Report::default())),
                Ok(false) => break,
                Err(error) => done = Err(error),
            }
        }
        // What was handed over before something failed runs all the same.
        let finished = self.finish(&batch, &mut results);
        if let Err(error) = &finished {
            results.iter_mut().filter(|result| result.is_ok()).for_each(|it| *it = Err(error.clone()));
        }
        if let Err(error) = done.and(finished) {
            results.push(Err(error));
            results.truncate(steps.len());
        }
        results
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.context.enter()?;
        self.watch.write(0, &[0; 4]);
        self.record(self.span[0])
    }

    /// Waits for the end, and gathers what was told.
    fn finish(&mut self, batch: &Batch<'_>, results: &mut [Result<Report, Error>]) -> Result<(), Error> {
        self.record(self.span[1])?;
        let stopped = self.wait(&batch.marks)?;
        let mut milliseconds = 0.0;
        let [start, end] = self.span;
        // SAFETY: both events were recorded and have happened; the number is written.
        let result = unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, start, end) };
        self.context.check("asking for the time", result)?;
        let elapsed = Duration::try_from_secs_f32(milliseconds / 1000.0).unwrap_or_default();
        let heads = batch.dispatches.iter().filter(|it| it.pipeline.layout.report.bytes > 0);
        let heads = heads.map(|it| it.report + it.pipeline.layout.report.head_bytes).max().unwrap_or(0);
        let heads = self.reports.read(0, heads)?;
        let mut used = 0;
        for (i, &Running { step, pipeline, report: at }) in batch.dispatches.iter().enumerate() {
            let report = &pipeline.layout.report;
            results[step] = match &stopped {
                Some((number, _)) if *number <= i => {
                    used = used.max(at + report.bytes);
                    Err(stopped
                        .as_ref()
                        .filter(|(number, _)| *number == i)
                        .map_or(Error::Cancelled, |it| it.1.clone()))
                }
                _ if report.bytes == 0 => Ok(Report { elapsed, ..Report::default() }),
                _ => {
                    let head = &heads[at as usize..][..report.head_bytes as usize];
                    let bytes = report.used_bytes(head).min(report.bytes);
                    used = used.max(at + bytes);
                    let told = match bytes > report.head_bytes {
                        true => report.read(pipeline.formats(), &self.reports.read(at, bytes)?),
                        false => report.read(pipeline.formats(), head),
                    };
                    let Told { printed, warnings } = told;
                    Ok(Report { elapsed, printed, warnings })
                }
            };
        }
        self.clear_reports(used)
    }

    /// Hands a dispatch over; gives whether there was room for it.
    fn add<'a>(
        &mut self,
        dispatch: &Dispatch<'a>,
        timeout: Option<Duration>,
        step: usize,
        batch: &mut Batch<'a>,
    ) -> Result<bool, Error> {
        let pipeline: &'a Pipeline = dispatch.pipeline;
        if batch.marks.last().is_some_and(Mark::is_full) {
            self.close_mark(batch.marks.len() - 1)?;
        }
        let arguments = Arguments {
            layout: &pipeline.layout,
            bindings: pipeline.bindings(),
            descriptors: dispatch.descriptors,
            groups: dispatch.groups,
            push: dispatch.push,
        };
        let wanted = [arguments.outside_bytes() as u64, pipeline.layout.report.bytes]
            .map(|bytes| bytes.next_multiple_of(abi::BUFFER_ALIGN));
        let [outside_bytes, report_bytes] = wanted;
        let spilled = spilled_bytes(dispatch);
        let has_room = batch.outside_bytes + outside_bytes <= self.outside.bytes()
            && batch.report_bytes + report_bytes <= self.reports.bytes()
            && spilled <= self.spilled.as_ref().map_or(0, Private::bytes);
        if !has_room {
            if !batch.dispatches.is_empty() {
                return Ok(false);
            }
            self.make_room(outside_bytes, report_bytes, spilled)?;
        }
        let report = self.reports.address() + batch.report_bytes;
        let places = Places {
            watch: self.watch.address(),
            report: if report_bytes > 0 { report } else { 0 },
            spilled: self.spilled.as_ref().filter(|_| spilled > 0).map_or(0, Private::address),
            outside: self.outside.address() + batch.outside_bytes,
        };
        let [mut block, mut outside] = std::mem::take(&mut self.block);
        arguments.write(&places, &mut block, &mut outside);
        let launched = self.outside.upload(batch.outside_bytes, &outside, self.stream).and_then(|()| {
            parts(dispatch.groups, most_groups(pipeline)).try_for_each(|Part { start, size }| {
                for (axis, &offset) in start.iter().enumerate() {
                    let first = dispatch.base[axis].wrapping_add(offset);
                    put(&mut block, abi::BASE as usize + 4 * axis, &first.to_le_bytes());
                }
                self.launch(pipeline, size, &mut block)
            })
        });
        self.block = [block, outside];
        launched?;
        batch.mark(dispatch, timeout);
        batch.dispatches.push(Running { step, pipeline, report: batch.report_bytes });
        batch.outside_bytes += outside_bytes;
        batch.report_bytes += report_bytes;
        Ok(true)
    }

    /// Records the event behind the dispatches of a mark.
    fn close_mark(&mut self, number: usize) -> Result<(), Error> {
        if self.marks.len() == number {
            let mut event = ptr::null_mut();
            let no_time = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
            // SAFETY: the context is entered, `event` is written.
            self.context.check("making an event", unsafe { sys::cuEventCreate(&raw mut event, no_time) })?;
            self.marks.push(event);
        }
        self.record(self.marks[number])
    }

    /// Makes room for one dispatch, while none runs.
    fn make_room(&mut self, outside: u64, report: u64, spilled: u64) -> Result<(), Error> {
        if self.outside.bytes() < outside {
            self.outside = Staged::new(&self.context, outside.next_power_of_two())?;
        }
        if self.reports.bytes() < report {
            self.reports = Private::new(&self.context, report.next_power_of_two())?;
            self.clear_reports(self.reports.bytes())?;
        }
        if self.spilled.as_ref().map_or(0, Private::bytes) < spilled {
            // The old one goes first.
            self.spilled = None;
            self.spilled = Some(Private::new(&self.context, spilled)?);
        }
        Ok(())
    }

    fn clear_reports(&self, bytes: u64) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the context is entered; the block has as many bytes, as reports are parts of it.
        let result = unsafe { sys::cuMemsetD8Async(self.reports.address(), 0, bytes as usize, self.stream) };
        self.context.check("clearing reports", result)
    }

    fn copy(&self, from: &Descriptor<'_>, to: &Descriptor<'_>) -> Result<(), Error> {
        let (from, to) = (from.buffer(), to.buffer());
        let bytes = from.size().min(to.size());
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the context is entered; who made the descriptors promises memory of this size behind both, and the end of the
        // copy is waited for while they are borrowed.
        let result = unsafe { sys::cuMemcpyAsync(to.address(), from.address(), bytes as usize, self.stream) };
        self.context.check("copying memory", result)
    }

    fn fill(&self, to: &Descriptor<'_>, word: u32) -> Result<(), Error> {
        let to = to.buffer();
        let words = to.size() / 4;
        if words == 0 {
            return Ok(());
        }
        // SAFETY: as of a copy.
        let result = unsafe { sys::cuMemsetD32Async(to.address(), word, words as usize, self.stream) };
        self.context.check("filling memory", result)
    }

    fn launch(&self, pipeline: &Pipeline, groups: [u32; 3], block: &mut [u8]) -> Result<(), Error> {
        // A parameter of its own, as the driver puts a buffer of parameters where none has to be aligned.
        let mut parameters: [*mut c_void; 1] = [block.as_mut_ptr().cast()];
        let attribute = |id, value| sys::CUlaunchAttribute { id, pad: [0; 4], value };
        let mut attributes = Vec::with_capacity(2);
        if pipeline.layout.waits {
            // A kernel that waits by itself is got ready while the one before it ends.
            attributes.push(attribute(
                sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
            ));
        }
        if let Some([x, y, z]) = cluster(pipeline.layout.pairs, groups) {
            let size = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
            attributes.push(attribute(
                sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                sys::CUlaunchAttributeValue { clusterDim: size },
            ));
        }
        let config = sys::CUlaunchConfig {
            gridDimX: groups[0],
            gridDimY: groups[1],
            gridDimZ: groups[2],
            blockDimX: pipeline.layout.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: pipeline.layout.shared_bytes,
            hStream: self.stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        // SAFETY: the context is entered; `check` has seen that the function belongs to it, and it is loaded as long as the
        // pipeline, which outlives the dispatch; the block is as long as the kernel's parameter, and the driver copies it, as it
        // does the attributes, of which there are as many as is said.
        let result = unsafe {
            sys::cuLaunchKernelEx(
                &raw const config,
                pipeline.function,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.context.check("launching a kernel", result)
    }

    fn record(&self, event: CUevent) -> Result<(), Error> {
        // SAFETY: the event and the stream are the queue's own.
        let result = unsafe { sys::cuEventRecord(event, self.stream) };
        self.context.check("recording an event", result)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.context.enter().is_err() {
            return;
        }
        for event in self.span.into_iter().chain(self.marks.drain(..)).filter(|event| !event.is_null()) {
            // SAFETY: the event is the queue's own, and used no more.
            let _failed = unsafe { sys::cuEventDestroy_v2(event) };
        }
        if !self.stream.is_null() {
            // SAFETY: the stream is the queue's own, and used no more; the driver lets what runs there end.
            let _failed = unsafe { sys::cuStreamDestroy_v2(self.stream) };
        }
    }
}

/// Whether nothing may follow in this order: what failed is not the step's own.
pub(crate) fn is_end(error: &Error) -> bool {
    !matches!(
        error,
        Error::OtherGpu
            | Error::Bindings { .. }
            | Error::PushConstants { .. }
            | Error::TooManyInvocations { .. }
    )
}

/// Whether a dispatch fits its pipeline.
fn check(dispatch: &Dispatch<'_>, context: &Arc<Context>) -> Result<(), Error> {
    let pipeline = dispatch.pipeline;
    if !pipeline.is_of(context) {
        return Err(Error::OtherGpu);
    }
    let (expected, found) = (pipeline.bindings().len(), dispatch.descriptors.len());
    if expected != found {
        return Err(Error::Bindings { expected, found });
    }
    let (expected, found) = (pipeline.push_bytes(), dispatch.push.len());
    if found < expected as usize {
        return Err(Error::PushConstants { expected, found });
    }
    if let Some((axis, found)) = excess(pipeline.workgroup_size(), dispatch.groups, dispatch.base) {
        return Err(Error::TooManyInvocations { axis, found, limit: MAX_DISPATCH_INVOCATIONS });
    }
    if dispatch.cancel.is_some_and(CancelToken::is_cancelled) {
        return Err(Error::Cancelled);
    }
    Ok(())
}

/// Bytes for what shared memory has no room for, of all work-groups of a launch.
fn spilled_bytes(dispatch: &Dispatch<'_>) -> u64 {
    let groups = dispatch.groups.iter().fold(1_u64, |all, &n| all.saturating_mul(n.into()));
    let at_once = groups.min(most_groups(dispatch.pipeline));
    dispatch.pipeline.layout.spilled_bytes.saturating_mul(at_once)
}

/// The cluster that work-groups are launched in, where they are to be pairs along an axis and none would be alone.
fn cluster(pairs: Option<u32>, groups: [u32; 3]) -> Option<[u32; 3]> {
    let axis = pairs? as usize;
    let is_even = groups.get(axis)?.is_multiple_of(2);
    is_even.then(|| std::array::from_fn(|i| if i == axis { 2 } else { 1 }))
}

/// How many work-groups of a pipeline are launched together at most.
fn most_groups(pipeline: &Pipeline) -> u64 {
    MOST_SPILLED.checked_div(pipeline.layout.spilled_bytes).map_or(u64::MAX, |groups| groups.max(1))
}

#[cfg(test)]
mod tests {
    use super::cluster;

    #[test]
    fn pairs_leave_nobody_alone() {
        assert_eq!(cluster(Some(1), [3, 4, 1]), Some([1, 2, 1]));
        assert_eq!(cluster(Some(0), [3, 4, 1]), None);
        assert_eq!(cluster(Some(2), [2, 2, 1]), None);
        assert_eq!(cluster(None, [2, 2, 2]), None);
        assert_eq!(cluster(Some(3), [2, 2, 2]), None, "code from a file may say anything");
    }
}
