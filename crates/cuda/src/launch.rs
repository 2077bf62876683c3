//! Dispatches.
//!
//! A kernel takes one block of bytes ([`phalanx_back_nvptx::abi`]), which is put together here, and a word that its loops look
//! at: once it is not 0, they end. So a dispatch that takes too long, or is cancelled, leaves the GPU as it was; what ends
//! not even then is a GPU that is lost.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{self, CUevent, CUresult, CUstream};
use phalanx_back_nvptx::abi::{self, Place};
use phalanx_back_nvptx::image;
use phalanx_back_nvptx::report::Told;
use phalanx_host::{Buffer, CancelToken, Descriptor};
use phalanx_ir::{BindingKind, MAX_DISPATCH_INVOCATIONS, excess};

use crate::code::Pipeline;
use crate::context::Context;
use crate::error::Error;
use crate::memory::{self, Pinned, Private};
use crate::parts::{Part, parts};

/// Most bytes that the work-groups of a launch have together for what shared memory has no room for, unless one alone needs
/// more: several times what those have that run at once, so that launches that follow each other cost little.
const MOST_SPILLED: u64 = 256 << 20;

/// How long a kernel may take to end once it shall.
const GRACE: Duration = Duration::from_secs(2);

/// How long is waited without sleeping: as long as a short kernel takes.
const SPIN: Duration = Duration::from_micros(200);

/// Where descriptors of long arrays begin in what a queue shares with the GPU: behind the word that ends a dispatch.
const TABLES: usize = 64;

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

/// What dispatches are given to, one after the other.
#[derive(Debug)]
pub(crate) struct Queue {
    context: Arc<Context>,
    stream: CUstream,
    /// Before a dispatch, and behind it.
    events: [CUevent; 2],
    /// The word that ends a dispatch, and tables of descriptors.
    shared: Pinned,
    /// What kernels tell.
    report: Option<Buffer>,
    /// What kernels are told of images.
    images: Option<Buffer>,
    /// What shared memory has no room for.
    spilled: Option<Private>,
}

// SAFETY: the driver lets any thread use its streams and events.
unsafe impl Send for Queue {}

impl Queue {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, Error> {
        let shared = Pinned::new(context, 4096)?;
        let (stream, events) = (ptr::null_mut(), [ptr::null_mut(); 2]);
        let mut queue = Self {
            context: Arc::clone(context),
            stream,
            events,
            shared,
            report: None,
            images: None,
            spilled: None,
        };
        // SAFETY: `Pinned::new` entered the context; `stream` is written.
        let result = unsafe { sys::cuStreamCreate(&raw mut queue.stream, 0) };
        context.check("making a stream", result)?;
        for event in &mut queue.events {
            // SAFETY: as above, `event` is written.
            context.check("making an event", unsafe { sys::cuEventCreate(event, 0) })?;
        }
        Ok(queue)
    }

    /// Runs a dispatch and waits for its end.
    pub(crate) fn run(
        &mut self,
        dispatch: &Dispatch<'_>,
        timeout: Option<Duration>,
    ) -> Result<Report, Error> {
        let (pipeline, groups) = (dispatch.pipeline, dispatch.groups);
        if !pipeline.is_of(&self.context) {
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
        if groups.contains(&0) {
            return Ok(Report::default());
        }
        if let Some((axis, found)) = excess(pipeline.workgroup_size(), groups, dispatch.base) {
            return Err(Error::TooManyInvocations { axis, found, limit: MAX_DISPATCH_INVOCATIONS });
        }
        if dispatch.cancel.is_some_and(CancelToken::is_cancelled) {
            return Err(Error::Cancelled);
        }
        self.context.enter()?;
        self.shared.write(0, &[0; 4]);
        let mut block = self.arguments(dispatch)?;
        self.record(0)?;
        for Part { start, size } in parts(groups, most_groups(pipeline)) {
            for (axis, &offset) in start.iter().enumerate() {
                let first = dispatch.base[axis].wrapping_add(offset);
                put(&mut block, abi::BASE as usize + 4 * axis, &first.to_le_bytes());
            }
            self.launch(pipeline, size, &mut block)?;
        }
        self.record(1)?;
        self.wait(dispatch.timeout.or(timeout), dispatch.cancel)?;
        let mut milliseconds = 0.0;
        let [start, end] = self.events;
        // SAFETY: both events were recorded and have happened; the number is written.
        let result = unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, start, end) };
        self.context.check("asking for the time", result)?;
        let elapsed = Duration::try_from_secs_f32(milliseconds / 1000.0).unwrap_or_default();
        let Told { printed, warnings } = self.told(pipeline)?;
        Ok(Report { elapsed, printed, warnings })
    }

    /// The address of memory for what a kernel tells, with nothing told yet; 0 if it never tells anything.
    fn start_report(&mut self, pipeline: &Pipeline) -> Result<u64, Error> {
        let report = &pipeline.layout.report;
        if report.bytes == 0 {
            return Ok(0);
        }
        let buffer = match self.report.take().filter(|buffer| buffer.size() >= report.bytes) {
            Some(buffer) => buffer,
            None => memory::managed(&self.context, report.bytes.next_power_of_two())?,
        };
        buffer.write(0, &vec![0; report.head_bytes as usize])?;
        Ok(self.report.insert(buffer).device_address())
    }

    /// The address of memory for what shared memory has no room for, of all work-groups of a launch.
    fn spilled(&mut self, dispatch: &Dispatch<'_>) -> Result<u64, Error> {
        let bytes = dispatch.pipeline.layout.spilled_bytes;
        if bytes == 0 {
            return Ok(0);
        }
        let groups = dispatch.groups.iter().fold(1_u64, |all, &n| all.saturating_mul(n.into()));
        let bytes = bytes.saturating_mul(groups.min(most_groups(dispatch.pipeline)));
        if self.spilled.as_ref().is_none_or(|spilled| spilled.bytes() < bytes) {
            // The old one goes first.
            self.spilled = None;
            self.spilled = Some(Private::new(&self.context, bytes)?);
        }
        Ok(self.spilled.as_ref().map_or(0, Private::address))
    }

    /// What a kernel told.
    fn told(&self, pipeline: &Pipeline) -> Result<Told, Error> {
        let report = &pipeline.layout.report;
        let Some(buffer) = self.report.as_ref().filter(|_| report.bytes > 0) else {
            return Ok(Told::default());
        };
        let head = buffer.read(0, report.head_bytes)?;
        let bytes = buffer.read(0, report.used_bytes(&head).min(buffer.size()))?;
        Ok(report.read(pipeline.formats(), &bytes))
    }

    /// Writes down what kernels are told of images, one record behind the other, and gives the address of the first.
    fn image_records(&mut self, dispatch: &Dispatch<'_>) -> Result<u64, Error> {
        let images =
            dispatch.descriptors.iter().flat_map(|table| table.iter()).filter_map(Descriptor::as_image);
        let mut records = Vec::new();
        for view in images {
            let memory = view.memory();
            records.extend(image::record(view.layout(), memory.address(), memory.size()));
        }
        if records.is_empty() {
            return Ok(0);
        }
        let bytes = records.len() as u64;
        let buffer = match self.images.take().filter(|buffer| buffer.size() >= bytes) {
            Some(buffer) => buffer,
            None => memory::managed(&self.context, bytes.next_power_of_two())?,
        };
        buffer.write(0, &records)?;
        Ok(self.images.insert(buffer).device_address())
    }

    /// The block of bytes that a kernel takes, but for the first work-group.
    fn arguments(&mut self, dispatch: &Dispatch<'_>) -> Result<Vec<u8>, Error> {
        let layout = &dispatch.pipeline.layout;
        let mut block = vec![0; layout.bytes as usize];
        for (axis, groups) in dispatch.groups.iter().enumerate() {
            put(&mut block, abi::GROUPS as usize + 4 * axis, &groups.to_le_bytes());
        }
        // Longer arrays of descriptors lie outside of the block.
        let is_table =
            |place: &Place, table: &[Descriptor<'_>]| place.inline.is_none().then_some(table.len());
        let tables = layout.bindings.iter().zip(dispatch.descriptors);
        let outside: usize = tables.clone().filter_map(|(place, table)| is_table(place, table)).sum();
        let bytes = TABLES + outside * abi::DESCRIPTOR_BYTES as usize;
        if bytes > self.shared.bytes() {
            self.shared = Pinned::new(&self.context, bytes.next_power_of_two())?;
        }
        put(&mut block, abi::WATCH as usize, &self.shared.address().to_le_bytes());
        put(&mut block, abi::REPORT as usize, &self.start_report(dispatch.pipeline)?.to_le_bytes());
        put(&mut block, abi::SPILLED as usize, &self.spilled(dispatch)?.to_le_bytes());
        let (mut records, record_bytes) = (self.image_records(dispatch)?, image::RECORD_BYTES as u64);
        let mut next = TABLES;
        for ((place, table), binding) in tables.zip(dispatch.pipeline.bindings()) {
            let at = place.offset as usize;
            // A kernel finds nothing where it expects something else.
            let is_image = matches!(binding.kind, BindingKind::Image(_));
            let mut next_record = records;
            records += table.iter().filter_map(Descriptor::as_image).count() as u64 * record_bytes;
            let mut described = |descriptor: &Descriptor<'_>| match descriptor.as_image() {
                Some(_) => {
                    let record = [next_record, record_bytes];
                    next_record += record_bytes;
                    described(if is_image { record } else { [0; 2] })
                }
                None if is_image => described([0; 2]),
                None => described([descriptor.buffer().address(), descriptor.buffer().size()]),
            };
            match place.inline {
                Some(count) => {
                    for (i, descriptor) in table.iter().take(count as usize).enumerate() {
                        put(&mut block, at + i * abi::DESCRIPTOR_BYTES as usize, &described(descriptor));
                    }
                }
                None => {
                    put(&mut block, at, &(self.shared.address() + next as u64).to_le_bytes());
                    put(&mut block, at + 8, &(table.len() as u64).to_le_bytes());
                    for descriptor in *table {
                        self.shared.write(next, &described(descriptor));
                        next += abi::DESCRIPTOR_BYTES as usize;
                    }
                }
            }
        }
        let push = &dispatch.push[..layout.push_bytes as usize];
        put(&mut block, layout.push as usize, push);
        Ok(block)
    }

    fn launch(&self, pipeline: &Pipeline, groups: [u32; 3], block: &mut [u8]) -> Result<(), Error> {
        let mut size = block.len();
        let mut extra: [*mut c_void; 5] = [
            ptr::without_provenance_mut(sys::CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT as usize),
            block.as_mut_ptr().cast(),
            ptr::without_provenance_mut(sys::CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT as usize),
            (&raw mut size).cast(),
            ptr::without_provenance_mut(sys::CU_LAUNCH_PARAM_END_AS_INT as usize),
        ];
        let [x, y, z] = groups;
        let (threads, shared) = (pipeline.layout.threads, pipeline.layout.shared_bytes);
        // SAFETY: the context is entered; `run` has seen that the function belongs to it, and it is loaded as long as the
        // pipeline, which outlives the dispatch; the block is as long as the kernel's parameter, and the driver copies it.
        let result = unsafe {
            sys::cuLaunchKernel(
                pipeline.function,
                x,
                y,
                z,
                threads,
                1,
                1,
                shared,
                self.stream,
                ptr::null_mut(),
                extra.as_mut_ptr(),
            )
        };
        self.context.check("launching a kernel", result)
    }

    fn record(&self, event: usize) -> Result<(), Error> {
        // SAFETY: the event and the stream are the queue's own.
        let result = unsafe { sys::cuEventRecord(self.events[event], self.stream) };
        self.context.check("recording an event", result)
    }

    /// Waits for the end of what was launched, or makes it end.
    fn wait(&self, limit: Option<Duration>, cancel: Option<&CancelToken>) -> Result<(), Error> {
        let start = Instant::now();
        let mut stopped: Option<(Instant, Error)> = None;
        loop {
            // SAFETY: the event is the queue's own and was recorded.
            match unsafe { sys::cuEventQuery(self.events[1]) } {
                CUresult::CUDA_ERROR_NOT_READY => {}
                result => {
                    self.context.check("running a kernel", result)?;
                    return stopped.map_or(Ok(()), |(_, why)| Err(why));
                }
            }
            let now = Instant::now();
            match (&stopped, limit) {
                (Some((since, _)), _) if now - *since > GRACE => {
                    let why = format!("a kernel did not end within {GRACE:?} after it was stopped");
                    self.context.lose(why.clone());
                    return Err(Error::Lost { why });
                }
                (Some(_), _) => {}
                (None, Some(limit)) if now - start > limit => {
                    self.shared.write(0, &[1, 0, 0, 0]);
                    stopped = Some((now, Error::Timeout { limit }));
                }
                (None, _) if cancel.is_some_and(CancelToken::is_cancelled) => {
                    self.shared.write(0, &[1, 0, 0, 0]);
                    stopped = Some((now, Error::Cancelled));
                }
                (None, _) => {}
            }
            match now - start < SPIN {
                true => std::hint::spin_loop(),
                false => thread::sleep(Duration::from_micros(20)),
            }
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.context.enter().is_err() {
            return;
        }
        for event in self.events.into_iter().filter(|event| !event.is_null()) {
            // SAFETY: the event is the queue's own, and used no more.
            let _failed = unsafe { sys::cuEventDestroy_v2(event) };
        }
        if !self.stream.is_null() {
            // SAFETY: the stream is the queue's own, and used no more; the driver lets what runs there end.
            let _failed = unsafe { sys::cuStreamDestroy_v2(self.stream) };
        }
    }
}

/// How many work-groups of a pipeline are launched together at most.
fn most_groups(pipeline: &Pipeline) -> u64 {
    MOST_SPILLED.checked_div(pipeline.layout.spilled_bytes).map_or(u64::MAX, |groups| groups.max(1))
}

/// A descriptor as kernels read it: address and size.
fn described([address, size]: [u64; 2]) -> [u8; abi::DESCRIPTOR_BYTES as usize] {
    let mut bytes = [0; abi::DESCRIPTOR_BYTES as usize];
    put(&mut bytes, 0, &address.to_le_bytes());
    put(&mut bytes, 8, &size.to_le_bytes());
    bytes
}

fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}
