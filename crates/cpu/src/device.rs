//! The device: compiles modules and runs dispatches.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use phalanx_back_llvm::{Dumps, Options, Target};
use phalanx_host::{
    Addresses, Allocation, Allocations, Buffer, CacheKey, CancelToken, Descriptor, MemoryError, SealedCode,
    StopFlag, build_id,
};
use phalanx_ir::verify::Verified;
use phalanx_ir::{MAX_DISPATCH_INVOCATIONS, excess};
use phalanx_kernels::Processor;

use crate::attempt::{Attempt, Beside};
use crate::batch::{self, Batch, BatchParts};
use crate::binary::Binary;
use crate::cache::Cache;
use crate::cores;
use crate::error::Error;
use crate::fault;
use crate::grid::Grid;
use crate::jit::Arena;
use crate::machine;
use crate::pieces::{self, Piece};
use crate::pipeline::Pipeline;
use crate::pool::Pool;
use crate::process::Process;
use crate::profile::{PipelineProfile, Profiler};
use crate::run::{Run, RunParts, Tables, Workplaces};
use crate::watchdog::Watchdog;

/// How to make a device.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Threads that run kernels, the calling one included; one per core without it.
    pub threads: Option<usize>,
    /// Directory in which compiled code is kept; none without it.
    pub cache_dir: Option<PathBuf>,
    /// Time after which a dispatch is stopped, unless it states its own; none without it.
    pub timeout: Option<Duration>,
    /// Time after which compiling is given up; none without it.
    pub compile_timeout: Option<Duration>,
    /// What the compiler shall write down besides code.
    pub dumps: Options,
    /// The processor that code is made for; without it the one that the environment variable [`Processor::ENV`]
    /// names, else this machine's with all it has.
    pub processor: Option<Processor>,
    /// What is done about device addresses that lead nowhere.
    pub addresses: Addresses,
    /// Whether to see where the time of dispatches goes, for [`Device::profile`].
    pub profile: bool,
}

/// A CPU that runs kernels. May be used from several threads at once.
#[derive(Debug)]
pub struct Device {
    processor: Processor,
    target: Target,
    tables: Tables,
    pool: Pool,
    watchdog: Arc<Watchdog>,
    workplaces: Arc<Workplaces>,
    cache: Cache,
    arena: Arc<Arena>,
    timeout: Option<Duration>,
    compile_timeout: Option<Duration>,
    dumps: Options,
    addresses: Addresses,
    allocations: Allocations,
    process: Process,
    profiler: Option<Profiler>,
}

/// What makes code for a device. It owns all that it needs, so that it can be left behind.
#[derive(Clone, Debug)]
pub struct Compiler {
    target: Target,
    dumps: Options,
    checks_addresses: bool,
    profile: bool,
}

/// Code for a device, not yet loaded.
#[derive(Clone, Debug)]
pub struct Compiled {
    binary: Binary,
    dumps: Dumps,
    time: Duration,
}

impl Compiler {
    /// Compiles a module.
    ///
    /// # Errors
    ///
    /// When the target does not support the module, or the compiler is at fault.
    pub fn compile(&self, module: &Verified) -> Result<Compiled, Error> {
        let start = Instant::now();
        let options = Options { check_addresses: self.checks_addresses, profile: self.profile, ..self.dumps };
        let compiled = phalanx_back_llvm::compile_by(&Beside, module, &self.target, &options)?;
        let binary = Binary {
            name: module.name.clone(),
            meta: compiled.meta,
            bindings: module.bindings.clone(),
            object: compiled.object,
            special: compiled.special,
        };
        Ok(Compiled { binary, dumps: compiled.dumps, time: start.elapsed() })
    }

    /// The same compiler, which writes down this instead of what [`Config::dumps`] says.
    pub fn with_dumps(self, dumps: Options) -> Self {
        Self { dumps, ..self }
    }
}

impl Compiled {
    /// Says which function of the source each site of a profiled pipeline is in, by the site's word offset in SPIR-V.
    pub fn name_functions<'a>(&mut self, function: impl Fn(u32) -> Option<&'a str>) {
        for site in &mut self.binary.meta.sites {
            site.function = function(site.word).unwrap_or_default().to_owned();
        }
    }
}

/// A pipeline, and what making it took.
#[derive(Clone, Debug)]
pub struct Created {
    /// The pipeline.
    pub pipeline: Arc<Pipeline>,
    /// Time in the compiler; zero for code from disk.
    pub compile: Duration,
    /// Time for loading the code.
    pub load: Duration,
    /// What [`Config::dumps`] asked for; empty for code from disk.
    pub dumps: Dumps,
}

impl Created {
    /// A pipeline that did not have to be compiled.
    fn found(pipeline: Arc<Pipeline>, start: Instant) -> Self {
        Self { pipeline, compile: Duration::ZERO, load: start.elapsed(), dumps: Dumps::default() }
    }
}

/// A dispatch to be run.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// The pipeline.
    pub pipeline: &'a Arc<Pipeline>,
    /// Work-groups along x, y and z.
    pub groups: [u32; 3],
    /// The first work-group.
    pub base: [u32; 3],
    /// For each of the pipeline's bindings, in their order, its descriptors.
    pub descriptors: &'a [&'a [Descriptor<'a>]],
    /// The push constants; as many as the pipeline reads, or more.
    pub push: &'a [u8],
    /// Time after which the dispatch is stopped; that of the device without it.
    pub timeout: Option<Duration>,
    /// Stops the dispatch when it is cancelled.
    pub cancel: Option<&'a CancelToken>,
}

/// What a dispatch did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Time from the call to the end of the last work-group.
    pub elapsed: Duration,
    /// The lines that it printed, in no particular order of invocations.
    pub printed: Vec<String>,
    /// What it warned of, each once.
    pub warnings: Vec<String>,
}

impl Device {
    /// A device of this machine.
    ///
    /// # Errors
    ///
    /// When threads cannot be started, or a processor is asked for that this machine cannot stand in for.
    pub fn new(config: &Config) -> Result<Self, Error> {
        let processor = config.processor.map_or_else(Processor::detect, Ok)?;
        let isa = processor.isa()?;
        let threads = config.threads.unwrap_or_else(cores::usable).max(1);
        let profiler = config.profile.then(|| Profiler::new(threads)).transpose().map_err(Error::Threads)?;
        Ok(Self {
            processor,
            target: Target::new(processor),
            tables: machine::tables(isa),
            pool: Pool::new(threads - 1).map_err(Error::Threads)?,
            watchdog: Arc::new(Watchdog::new().map_err(Error::Threads)?),
            workplaces: Arc::default(),
            cache: Cache::new(config.cache_dir.clone()),
            arena: Arc::default(),
            timeout: config.timeout,
            compile_timeout: config.compile_timeout,
            dumps: config.dumps,
            addresses: config.addresses,
            allocations: Allocations::default(),
            process: Process::current(),
            profiler,
        })
    }

    /// The processor that code is made for.
    pub fn processor(&self) -> Processor {
        self.processor
    }

    /// Threads that a dispatch runs on.
    pub fn threads(&self) -> usize {
        self.pool.parallelism()
    }

    /// A buffer of `size` zero bytes, which the device knows as one that kernels may go to by address.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfMemory`].
    pub fn create_buffer(&self, size: u64) -> Result<Buffer, MemoryError> {
        Ok(Buffer::new(size)?.listed(&self.allocations))
    }

    /// Tells the device of memory that it did not allocate and that kernels may go to, by address or through
    /// [`Descriptor::from_raw`], until the result is dropped. From then on its kernels may fault on other ways than
    /// by address, as memory that is a file may end before its time.
    pub fn lend(&self, address: u64, size: u64) -> Allocation {
        self.allocations.lend(address, size)
    }

    /// A key for what the parts say, on this device and with this compiler.
    pub fn cache_key(&self, parts: &[&[u8]]) -> CacheKey {
        let checks = if self.checks_addresses() { " checked" } else { "" };
        let sites = if self.profiler.is_some() { " profiled" } else { "" };
        let target = format!("{:?}{checks}{sites}", self.target);
        let mut all = vec![build_id(), target.as_bytes()];
        all.extend(parts);
        CacheKey::new(&all)
    }

    /// A pipeline that was made with this key before.
    pub fn cached(&self, key: &CacheKey) -> Option<Created> {
        let start = Instant::now();
        let pipeline = match self.cache.get(key) {
            Some(pipeline) => pipeline,
            None => return self.load(&self.cache.read(key)?),
        };
        Some(Created::found(pipeline, start))
    }

    /// A pipeline of code that [`Pipeline::code`] gave. Code that cannot be loaded any more is nothing: it
    /// has to be compiled again.
    pub fn load(&self, code: &SealedCode) -> Option<Created> {
        let start = Instant::now();
        let pipeline = Arc::new(
            Pipeline::load(&self.arena, Binary::from_bytes(code.payload())?, Some(code.clone())).ok()?,
        );
        Some(Created::found(self.cache.insert(*code.key(), pipeline), start))
    }

    /// What makes code for this device, on whatever thread.
    pub fn compiler(&self) -> Compiler {
        let checks_addresses = self.checks_addresses();
        let profile = self.profiler.is_some();
        Compiler { target: self.target.clone(), dumps: self.dumps, checks_addresses, profile }
    }

    /// How compiling may take its time.
    pub fn attempt<'a>(&self, cancel: Option<&'a CancelToken>) -> Attempt<'a> {
        Attempt { limit: self.compile_timeout, cancel, ..Attempt::default() }
    }

    /// Compiles a module. With a key the pipeline is kept for [`Device::cached`].
    ///
    /// # Errors
    ///
    /// When the target does not support the module, the compiler is at fault, or it is given up.
    pub fn create_pipeline(&self, module: &Verified, key: Option<&CacheKey>) -> Result<Created, Error> {
        self.check_process()?;
        let (compiler, module) = (self.compiler(), module.clone());
        let compiled = self.attempt(None).run(move || compiler.compile(&module))??;
        self.finish(compiled, key)
    }

    /// Loads what the device's compiler has made. With a key the pipeline is kept for [`Device::cached`].
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    pub fn finish(&self, compiled: Compiled, key: Option<&CacheKey>) -> Result<Created, Error> {
        let Compiled { binary, dumps, time: compile } = compiled;
        let code = key.map(|key| SealedCode::new(key, &binary.to_bytes()));
        if let Some(code) = &code {
            self.cache.write(code);
        }
        let start = Instant::now();
        let pipeline = Arc::new(Pipeline::load(&self.arena, binary, code)?);
        let load = start.elapsed();
        let pipeline = match key {
            Some(key) => self.cache.insert(*key, pipeline),
            None => pipeline,
        };
        Ok(Created { pipeline, compile, load, dumps })
    }

    /// Runs a dispatch and waits for its end.
    ///
    /// # Errors
    ///
    /// When the dispatch does not fit the pipeline, is cancelled, or takes too long.
    pub fn dispatch(&self, dispatch: &Dispatch<'_>) -> Result<Report, Error> {
        let mut result = Ok(Report::default());
        self.run_batch(std::slice::from_ref(dispatch), std::slice::from_mut(&mut result));
        result
    }

    /// Runs dispatches that do not depend on each other, side by side, and waits for the end of all. There is a result for
    /// each, in their order; where one fails, others may be [`Error::Cancelled`]. Each one's time runs from its beginning on,
    /// and what its report says elapsed is the time of all.
    ///
    /// With a profiler they run one after the other, so that what is seen of a pipeline is its own.
    pub fn dispatch_all(&self, dispatches: &[Dispatch<'_>]) -> Vec<Result<Report, Error>> {
        let mut results: Vec<_> = dispatches.iter().map(|_| Ok(Report::default())).collect();
        let most = if self.profiler.is_some() { 1 } else { batch::MAX_RUNS };
        for (part, results) in dispatches.chunks(most).zip(results.chunks_mut(most)) {
            self.run_batch(part, results);
        }
        results
    }

    /// Does as many pieces of something else on all threads, and waits for their end.
    ///
    /// # Errors
    ///
    /// When a piece panics.
    pub fn run_pieces(&self, count: u64, piece: Piece) -> Result<(), Error> {
        self.check_process()?;
        pieces::run(&self.pool, count, piece)
    }

    /// Runs dispatches of one batch, and replaces what stands for their results.
    fn run_batch(&self, dispatches: &[Dispatch<'_>], results: &mut [Result<Report, Error>]) {
        let (start, profiler) = (Instant::now(), self.profiler.as_ref());
        let mut runs = Vec::with_capacity(dispatches.len());
        for (dispatch, result) in dispatches.iter().zip(&mut *results) {
            // What runs has its result later.
            if let Err(error) = self.prepare(dispatch, start, dispatches.len() > 1, &mut runs) {
                *result = Err(error);
            }
        }
        let is_guarded = dispatches.iter().any(|dispatch| self.guards(dispatch.pipeline));
        if is_guarded {
            fault::install();
        }
        let parts = BatchParts {
            start,
            isa: self.tables.isa,
            workplaces: &self.workplaces,
            watchdog: &self.watchdog,
            is_guarded,
        };
        let batch = Arc::new(Batch::new(runs, self.pool.parallelism(), parts));
        let watched = || batch.runs().iter().filter_map(Run::watch);
        profiler.iter().for_each(|profiler| watched().for_each(|watch| profiler.begin(watch)));
        // With a profiler each thread that works has a word of its own, so that none may come twice.
        batch.run(&self.pool, profiler.is_none());
        let elapsed = start.elapsed();
        profiler.iter().for_each(|profiler| watched().for_each(|watch| profiler.end(watch, elapsed)));
        let waiting = results.iter_mut().filter(|result| result.is_ok());
        for (result, run) in waiting.zip(batch.runs()) {
            *result = run.finish(elapsed);
        }
    }

    /// Makes a dispatch ready to run, in a batch of its own or `among_others`, and adds it to those that are.
    fn prepare(
        &self,
        dispatch: &Dispatch<'_>,
        start: Instant,
        among_others: bool,
        runs: &mut Vec<Run>,
    ) -> Result<(), Error> {
        self.check_process()?;
        let push = check_arguments(dispatch)?;
        let threads = self.pool.parallelism();
        let grid = Grid::for_threads(dispatch.groups, dispatch.base, dispatch.pipeline.next_block(), threads)
            .ok_or(Error::TooManyGroups { groups: dispatch.groups, base: dispatch.base })?;
        let stop = Arc::new(StopFlag::default());
        if let Some(token) = dispatch.cancel {
            token.watch(&stop);
        }
        let watch = self.profiler.as_ref().map(|profiler| profiler.watch(dispatch.pipeline));
        runs.push(Run::new(RunParts {
            pipeline: dispatch.pipeline,
            descriptors: dispatch.descriptors,
            push: push.into(),
            start,
            groups: dispatch.groups,
            base: dispatch.base,
            grid,
            stop,
            limit: dispatch.timeout.or(self.timeout),
            threads,
            has_others: among_others,
            tables: self.tables,
            allocations: &self.allocations,
            checks_addresses: self.checks_addresses(),
            watch,
        })?);
        Ok(())
    }
}

impl Device {
    /// Whether faults of a pipeline's kernels are caught: where accesses may fault at all.
    fn guards(&self, pipeline: &Pipeline) -> bool {
        let may_fault = pipeline.meta().uses_addresses || self.allocations.has_lent();
        self.addresses != Addresses::Trust && may_fault
    }

    fn checks_addresses(&self) -> bool {
        self.addresses == Addresses::Check
    }

    /// Where the time of dispatches went so far, by pipeline; nothing without [`Config::profile`].
    pub fn profile(&self) -> Vec<PipelineProfile> {
        self.profiler.as_ref().map_or_else(Vec::new, Profiler::profile)
    }

    /// Whether this process is a copy of the one that made the device, which has none of its threads.
    pub fn is_forked(&self) -> bool {
        self.process.is_copy()
    }

    fn check_process(&self) -> Result<(), Error> {
        if self.is_forked() { Err(Error::Forked) } else { Ok(()) }
    }
}

/// Checks what a dispatch passes, and gives the push constants that the pipeline reads.
fn check_arguments<'a>(dispatch: &Dispatch<'a>) -> Result<&'a [u8], Error> {
    let meta = dispatch.pipeline.meta();
    let (expected, found) = (meta.num_bindings as usize, dispatch.descriptors.len());
    if expected != found {
        return Err(Error::Bindings { expected, found });
    }
    if !dispatch.groups.contains(&0)
        && let Some((axis, found)) = excess(meta.workgroup_size, dispatch.groups, dispatch.base)
    {
        return Err(Error::TooManyInvocations { axis, found, limit: MAX_DISPATCH_INVOCATIONS });
    }
    dispatch
        .push
        .get(..meta.push_bytes as usize)
        .ok_or(Error::PushConstants { expected: meta.push_bytes, found: dispatch.push.len() })
}
