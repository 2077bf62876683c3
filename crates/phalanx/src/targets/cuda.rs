//! A GPU of NVIDIA as a target.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use phalanx_back_nvptx::abi::SUBGROUP_SIZE;
use phalanx_back_nvptx::{MAX_MATRIX_COMPONENTS, MAX_SATURATING_BITS};
use phalanx_cpu::Attempt;
use phalanx_cuda::{Gpu, Properties};
use phalanx_front_spirv::Limits;
use phalanx_host::{Allocation, CacheKey, CancelToken, CodeDirectory, SealedCode};
use phalanx_ir::{Scope, Verified, passes};

use super::{Built, Code, Machine, Start, Target, own};
use crate::bindings::{self, Tables};
use crate::buffer::Buffer;
use crate::debug::Debug;
use crate::dispatch::{Dispatch, DispatchReport, RawDispatch, Step, run_all};
use crate::error::Error;
use crate::info::{self, GpuInfo, MatrixTypes};
use crate::pipeline::{CodeStatistics, CompileTimes, Insides, Interface, Representation};
use crate::profile::Profile;
use crate::translate::Task;

#[derive(Debug)]
pub(super) struct Cuda {
    gpu: Gpu,
    compile_timeout: Option<Duration>,
    debug: Debug,
    known: Mutex<HashMap<CacheKey, Arc<phalanx_cuda::Pipeline>>>,
    /// Where code is kept from one run of a program to the next.
    disk: Option<CodeDirectory>,
    /// The process that opened the GPU.
    process: u32,
}

/// The vendor's number among those of PCI devices.
const NVIDIA: u32 = 0x10DE;

/// Pipelines that are remembered.
const MAX_KNOWN: usize = 512;

/// What a pipeline became.
fn insides(module: &Verified, compiled: phalanx_back_nvptx::Compiled) -> Insides {
    let form = |name, description, text| Representation { name, description, text };
    let [lowered, optimized] = compiled.llvm.unwrap_or_default();
    Insides(vec![
        form("IR", "Phalanx IR, after the passes", module.to_string()),
        form("LLVM IR, lowered", "LLVM IR as it was made", lowered),
        form("LLVM IR, optimised", "LLVM IR after LLVM's passes", optimized),
        form("PTX", "the GPU's assembly", compiled.ptx),
    ])
}

/// What the GPU with this number is, without opening it.
pub(super) fn machine(ordinal: u32) -> Result<Machine, Error> {
    Ok(machine_of(&Properties::of(ordinal)?))
}

fn machine_of(properties: &Properties) -> Machine {
    let limits = Limits {
        // Whole matrices take some for themselves, such as those that are decoded.
        shared_bytes: properties.shared_bytes / 4 * 3,
        workgroup_invocations: properties.workgroup_invocations.min(1024),
        // What an invocation keeps is memory of each thread that the GPU can have at once.
        private_bytes: 64 << 10,
        multiprocessors: properties.multiprocessors,
        resident_subgroups: properties.resident_subgroups,
        ..Limits::default()
    };
    Machine {
        name: properties.name.clone(),
        threads: properties.multiprocessors as usize,
        processor: None,
        limits,
        subgroup_sizes: &[SUBGROUP_SIZE],
        matrix_scopes: &[Scope::Subgroup, Scope::Workgroup],
        distribution: passes::THREADS.distribution,
        max_matrix_elements: u64::from(MAX_MATRIX_COMPONENTS * SUBGROUP_SIZE),
        matrix_types: matrix_types(),
        // Nothing samples images in its code yet.
        has_samplers: false,
        has_vectors: true,
        inferencing: passes::THREADS.inferencing,
        gpu: Some(GpuInfo {
            code_target: properties.code_target(),
            vendor_id: NVIDIA,
            device_id: properties.device_id,
            resident_subgroups: properties.resident_subgroups,
            memory_bytes: properties.memory_bytes,
            rates: properties.rates(),
        }),
    }
}

/// The types that are multiplied.
fn matrix_types() -> Vec<MatrixTypes> {
    let is_done = |types: &MatrixTypes| !types.saturating || types.a.bits() <= MAX_SATURATING_BITS;
    info::matrix_types().into_iter().filter(is_done).collect()
}

impl Cuda {
    pub(super) fn new(ordinal: u32, start: &Start<'_>) -> Result<Self, Error> {
        let &Start { options, timeout, compile_timeout, debug } = start;
        Ok(Self {
            gpu: Gpu::open(ordinal, timeout, options.profile)?,
            compile_timeout,
            debug,
            known: Mutex::default(),
            disk: options.cache_dir.clone().map(CodeDirectory::new),
            process: std::process::id(),
        })
    }

    /// Remembers a pipeline. If another thread was quicker, gives that thread's.
    fn remember(&self, key: &CacheKey, pipeline: Arc<phalanx_cuda::Pipeline>) -> Arc<phalanx_cuda::Pipeline> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN && !known.contains_key(key) {
            known.clear();
        }
        Arc::clone(known.entry(*key).or_insert(pipeline))
    }

    /// Runs steps of which there are so many.
    fn run_lowered<'a>(
        &self,
        count: usize,
        steps: impl Iterator<Item = Result<phalanx_cuda::Step<'a>, Error>>,
    ) -> Vec<Result<DispatchReport, Error>> {
        let mut lowered = Vec::with_capacity(count);
        for step in steps {
            match step {
                Ok(step) => lowered.push(step),
                // The device has looked whose they are.
                Err(_) => return (0..count).map(|_| Err(Error::OtherDevice { what: "pipeline" })).collect(),
            }
        }
        self.gpu.run(&lowered).into_iter().map(report).collect()
    }

    fn make(
        &self,
        task: Task,
        key: Option<&CacheKey>,
        cancel: Option<&CancelToken>,
        looks_inside: bool,
    ) -> Result<(Built, Option<Insides>), Error> {
        let attempt = Attempt { limit: self.compile_timeout, cancel, ..Attempt::default() };
        let arch = self.gpu.properties().arch;
        let compile = if looks_inside || self.debug.llvm {
            phalanx_back_nvptx::compile_with_llvm
        } else {
            phalanx_back_nvptx::compile
        };
        let (module, compiled, times) = attempt.run(move || {
            let (module, times) = task.optimize(&passes::THREADS)?;
            let start = Instant::now();
            let compiled = compile(&module, arch)?;
            Ok::<_, Error>((module, compiled, CompileTimes { compile: start.elapsed(), ..times }))
        })??;
        let mut forms = Vec::new();
        if let Some([lowered, optimized]) = &compiled.llvm {
            forms.push((self.debug.llvm, "LLVM IR, lowered", lowered.as_str()));
            forms.push((self.debug.llvm, "LLVM IR, optimised", optimized));
        }
        forms.push((self.debug.asm, "PTX", &compiled.ptx));
        self.debug.print_code(&forms);
        let start = Instant::now();
        let mut pipeline = Arc::new(self.gpu.create_pipeline(&module, &compiled, key)?);
        let times = CompileTimes { load: start.elapsed(), ..times };
        if let (Some(disk), Some(code)) = (&self.disk, pipeline.code()) {
            disk.write(code);
        }
        if let Some(key) = key {
            pipeline = self.remember(key, pipeline);
        }
        let insides = looks_inside.then(|| insides(&module, compiled));
        Ok((Built { code: Arc::new(GpuCode(pipeline)), times }, insides))
    }
}

impl Target for Cuda {
    fn machine(&self) -> Machine {
        machine_of(self.gpu.properties())
    }

    fn create_buffer(&self, size: u64) -> Result<Buffer, Error> {
        Ok(Buffer::new(self.gpu.create_buffer(size)?))
    }

    fn lend(&self, address: u64, size: u64) -> Result<Option<Allocation>, Error> {
        Ok(Some(self.gpu.lend(address, size)?))
    }

    fn cache_key(&self, parts: &[&[u8]]) -> Option<CacheKey> {
        Some(self.gpu.cache_key(parts))
    }

    fn cached(&self, key: &CacheKey) -> Option<Built> {
        let start = Instant::now();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        match known {
            Some(pipeline) => Some(found(pipeline, start)),
            None => self.load(&self.disk.as_ref()?.read(key)?),
        }
    }

    fn load(&self, code: &SealedCode) -> Option<Built> {
        let start = Instant::now();
        let pipeline = Arc::new(self.gpu.load(code)?);
        Some(found(self.remember(code.key(), pipeline), start))
    }

    fn build(
        &self,
        task: Task,
        key: Option<&CacheKey>,
        cancel: Option<&CancelToken>,
    ) -> Result<Built, Error> {
        self.make(task, key, cancel, false).map(|(built, _)| built)
    }

    fn build_with_insides(&self, task: Task, key: Option<&CacheKey>) -> Result<(Built, Insides), Error> {
        self.make(task, key, None, true).map(|(built, insides)| (built, insides.unwrap_or_default()))
    }

    fn dispatch(&self, code: &dyn Code, dispatch: &Dispatch<'_>) -> Result<DispatchReport, Error> {
        let pipeline = &own::<GpuCode>(code)?.0;
        let views = bindings::views(dispatch.bindings);
        let declared = &dispatch.pipeline.shape.declared;
        let tables = Tables::of(pipeline.bindings(), declared, dispatch.bindings, &views)?;
        let descriptors = tables.slices();
        self.dispatch_raw(code, &dispatch.raw(&descriptors))
    }

    fn dispatch_raw(&self, code: &dyn Code, dispatch: &RawDispatch<'_>) -> Result<DispatchReport, Error> {
        report(self.gpu.dispatch(&lowered(&own::<GpuCode>(code)?.0, dispatch)))
    }

    fn dispatch_all(&self, dispatches: &[Dispatch<'_>]) -> Vec<Result<DispatchReport, Error>> {
        run_all(dispatches, |dispatches| self.dispatch_all_raw(dispatches))
    }

    fn dispatch_all_raw(&self, dispatches: &[RawDispatch<'_>]) -> Vec<Result<DispatchReport, Error>> {
        // Handed over in order, though they need not be done so.
        self.run_lowered(dispatches.len(), dispatches.iter().map(lowered_dispatch))
    }

    fn has_order(&self) -> bool {
        true
    }

    fn profile(&self) -> Profile {
        Profile::of_gpu(self.gpu.seen(), self.gpu.properties().multiprocessors as usize)
    }

    fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    fn run_in_order(&self, steps: &[Step<'_>]) -> Vec<Result<DispatchReport, Error>> {
        self.run_lowered(steps.len(), steps.iter().map(lowered_step))
    }
}

/// A dispatch of the GPU's code.
fn lowered<'a>(
    pipeline: &'a Arc<phalanx_cuda::Pipeline>,
    dispatch: &RawDispatch<'a>,
) -> phalanx_cuda::Dispatch<'a> {
    phalanx_cuda::Dispatch {
        pipeline,
        groups: dispatch.groups,
        base: dispatch.base,
        descriptors: dispatch.descriptors,
        push: dispatch.push_constants,
        timeout: dispatch.timeout,
        cancel: dispatch.cancel,
    }
}

fn lowered_dispatch<'a>(dispatch: &RawDispatch<'a>) -> Result<phalanx_cuda::Step<'a>, Error> {
    let pipeline = &own::<GpuCode>(&*dispatch.pipeline.code)?.0;
    Ok(phalanx_cuda::Step::Dispatch(lowered(pipeline, dispatch)))
}

fn lowered_step<'a>(step: &Step<'a>) -> Result<phalanx_cuda::Step<'a>, Error> {
    Ok(match *step {
        Step::Dispatch(ref dispatch) => lowered_dispatch(dispatch)?,
        Step::Copy { from, to } => phalanx_cuda::Step::Copy { from, to },
        Step::Fill { to, word } => phalanx_cuda::Step::Fill { to, word },
    })
}

/// What a dispatch did.
fn report(result: Result<phalanx_cuda::Report, phalanx_cuda::Error>) -> Result<DispatchReport, Error> {
    let phalanx_cuda::Report { elapsed, printed, warnings } = result?;
    Ok(DispatchReport { elapsed, printed, warnings, traffic: None })
}

/// A pipeline that need not be compiled.
fn found(pipeline: Arc<phalanx_cuda::Pipeline>, start: Instant) -> Built {
    let times = CompileTimes { load: start.elapsed(), cached: true, ..CompileTimes::default() };
    Built { code: Arc::new(GpuCode(pipeline)), times }
}

/// Code of the GPU.
#[derive(Debug)]
struct GpuCode(Arc<phalanx_cuda::Pipeline>);

impl Code for GpuCode {
    fn interface(&self) -> Interface {
        Interface {
            name: self.0.name().to_owned(),
            bindings: self.0.bindings().to_vec(),
            push_bytes: self.0.push_bytes(),
            workgroup_size: self.0.workgroup_size(),
            subgroup_size: SUBGROUP_SIZE,
            shared_bytes: self.0.shared_bytes(),
        }
    }

    fn sealed(&self) -> Option<&SealedCode> {
        self.0.code()
    }

    fn statistics(&self) -> CodeStatistics {
        CodeStatistics {
            object_bytes: self.0.code_bytes() as u64,
            scratch_bytes: u64::from(self.0.shared_bytes()),
            stack_bytes: u64::from(self.0.local_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::ComponentType as T;

    /// As the IR calls a type, and whether it has a sign there.
    fn elem(ty: T) -> (String, bool) {
        match ty {
            T::S8 | T::S16 | T::S32 | T::S64 => (format!("i{}", ty.bits()), true),
            T::U8 | T::U16 | T::U32 | T::U64 => (format!("i{}", ty.bits()), false),
            _ => (ty.name().to_owned(), false),
        }
    }

    /// PTX of a product of matrices of these types.
    fn compile(types: &MatrixTypes, [m, n, k]: [u32; 3]) -> Result<String, phalanx_back_nvptx::Error> {
        let [(a, a_signed), (b, b_signed), (c, c_signed)] = [types.a, types.b, types.c].map(elem);
        let flags = [
            (a_signed, "a_signed"),
            (b_signed, "b_signed"),
            (c_signed, "c_signed"),
            (c_signed, "result_signed"),
            (types.saturating, "saturate"),
        ];
        let flags: Vec<_> = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect();
        let flags = if flags.is_empty() { String::new() } else { format!("<{}>", flags.join(", ")) };
        let source = format!(
            "kernel \"main\"\nworkgroup_size 32 1 1\nsubgroup_size 32\nbinding buf0 = 0.0 storage writable\n{{
            %z: i32 = const 0
            %p: ptr<buffer> = buffer_ptr<buf0> %z
            %s: i64 = const 1024
            %a: mat<{m}x{k}x{a}, subgroup, a> = mat_load %p, %s
            %b: mat<{k}x{n}x{b}, subgroup, b> = mat_load %p, %s
            %c: mat<{m}x{n}x{c}, subgroup, acc> = mat_load %p, %s
            %d: mat<{m}x{n}x{c}, subgroup, acc> = mat_mul_add{flags} %a, %b, %c
            mat_store %p, %d, %s\n}}\n"
        );
        let module = phalanx_ir::text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let module = phalanx_ir::verify(module).expect("the module is right");
        Ok(phalanx_back_nvptx::compile(&module, phalanx_back_nvptx::Arch::Sm80)?.ptx)
    }

    #[test]
    fn all_types_that_are_offered_become_code_and_no_others() {
        let offered = matrix_types();
        for types in info::matrix_types() {
            let code = compile(&types, [16, 8, 16]);
            assert_eq!(code.is_ok(), offered.contains(&types), "{types:?}: {code:?}");
        }
    }

    #[test]
    fn a_matrix_may_have_as_many_components_as_are_offered() {
        let types = MatrixTypes { a: T::F16, b: T::F16, c: T::F32, result: T::F32, saturating: false };
        let side = u64::from(MAX_MATRIX_COMPONENTS * SUBGROUP_SIZE).isqrt() as u32;
        assert!(compile(&types, [side, side, 16]).is_ok());
        assert!(matches!(
            compile(&types, [4 * side, side, 16]),
            Err(phalanx_back_nvptx::Error::Unsupported { .. })
        ));
    }
}
