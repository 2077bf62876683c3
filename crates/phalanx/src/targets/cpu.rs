//! The processor as a target.

use std::sync::Arc;

use phalanx_cpu::{Compiled, Compiler, Config, Created, Piece};
use phalanx_front_spirv::Limits;
use phalanx_host::{Addresses, Allocation, CacheKey, CancelToken, SealedCode};
use phalanx_ir::{Verified, passes};
use phalanx_kernels::Processor;

use super::{Built, Code, Machine, Start, Target, own};
use crate::bindings::{self, Tables};
use crate::buffer::Buffer;
use crate::debug::Debug;
use crate::device::DeviceOptions;
use crate::dispatch::{Dispatch, DispatchReport, RawDispatch, run_all};
use crate::error::Error;
use crate::info;
use crate::pipeline::{CodeStatistics, CompileTimes, Insides, Interface, Representation};
use crate::profile::Profile;
use crate::translate::Task;

/// Environment variable with what is done about addresses that lead nowhere.
const ADDRESSES_VARIABLE: &str = "PHALANX_ADDRESSES";

#[derive(Debug)]
pub(super) struct Cpu {
    device: phalanx_cpu::Device,
    debug: Debug,
}

/// What a CPU with these options is, without starting it.
pub(super) fn machine(options: &DeviceOptions) -> Result<Machine, Error> {
    let processor = options.processor.map_or_else(Processor::detect, Ok);
    let processor = processor.and_then(|p| p.isa().map(|_proof| p)).map_err(phalanx_cpu::Error::from)?;
    Ok(machine_of(options.threads.unwrap_or_else(phalanx_cpu::usable_cores).max(1), processor))
}

fn machine_of(threads: usize, processor: Processor) -> Machine {
    let name = info::processor_name();
    Machine { threads, processor: Some(processor), ..Machine::whole(name, Limits::default()) }
}

impl Cpu {
    pub(super) fn new(start: &Start<'_>) -> Result<Self, Error> {
        let &Start { options, timeout, compile_timeout, debug } = start;
        let device = phalanx_cpu::Device::new(&Config {
            threads: options.threads,
            cache_dir: options.cache_dir.clone(),
            timeout,
            compile_timeout,
            dumps: debug.dumps(),
            processor: options.processor,
            addresses: addresses(options)?,
            profile: options.profile,
        })?;
        Ok(Self { device, debug })
    }

    /// A pipeline that was compiled or found.
    fn built(&self, created: Created, times: CompileTimes) -> Built {
        self.debug.print_dumps(&created.dumps);
        let times = CompileTimes { compile: created.compile, load: created.load, ..times };
        Built { code: Arc::new(CpuCode(created.pipeline)), times }
    }

    fn found(&self, created: Created) -> Built {
        self.built(created, CompileTimes { cached: true, ..CompileTimes::default() })
    }
}

impl Target for Cpu {
    fn machine(&self) -> Machine {
        machine_of(self.device.threads(), self.device.processor())
    }

    fn create_buffer(&self, size: u64) -> Result<Buffer, Error> {
        Ok(Buffer::new(self.device.create_buffer(size)?))
    }

    fn lend(&self, address: u64, size: u64) -> Result<Option<Allocation>, Error> {
        Ok(Some(self.device.lend(address, size)))
    }

    fn cache_key(&self, parts: &[&[u8]]) -> Option<CacheKey> {
        Some(self.device.cache_key(parts))
    }

    fn cached(&self, key: &CacheKey) -> Option<Built> {
        self.device.cached(key).map(|created| self.found(created))
    }

    fn load(&self, code: &SealedCode) -> Option<Built> {
        self.device.load(code).map(|created| self.found(created))
    }

    fn build(
        &self,
        task: Task,
        key: Option<&CacheKey>,
        cancel: Option<&CancelToken>,
    ) -> Result<Built, Error> {
        let compiler = self.device.compiler();
        let (compiled, times) = self.device.attempt(cancel).run(move || {
            let (module, times) = task.optimize(&passes::LANES)?;
            Ok::<_, Error>((compile(&task, &compiler, &module)?, times))
        })??;
        Ok(self.built(self.device.finish(compiled, key)?, times))
    }

    fn build_with_insides(&self, task: Task, key: Option<&CacheKey>) -> Result<(Built, Insides), Error> {
        let wanted = phalanx_cpu::Options { dump_llvm: true, dump_asm: true, ..Default::default() };
        let compiler = self.device.compiler().with_dumps(wanted);
        let (compiled, times, ir) = self.device.attempt(None).run(move || {
            let (module, times) = task.optimize(&passes::LANES)?;
            Ok::<_, Error>((compile(&task, &compiler, &module)?, times, module.to_string()))
        })??;
        let mut created = self.device.finish(compiled, key)?;
        let dumps = std::mem::take(&mut created.dumps);
        let form = |name, description, text| Representation { name, description, text };
        let insides = Insides(vec![
            form("IR", "Phalanx IR, optimised", ir),
            form("LLVM IR", "LLVM IR, as lowered", dumps.llvm_lowered.unwrap_or_default()),
            form(
                "LLVM IR optimised",
                "LLVM IR, as the code generator reads it",
                dumps.llvm_optimized.unwrap_or_default(),
            ),
            form("Assembly", "Machine code", dumps.asm.unwrap_or_default()),
        ]);
        Ok((self.built(created, times), insides))
    }

    fn dispatch(&self, code: &dyn Code, dispatch: &Dispatch<'_>) -> Result<DispatchReport, Error> {
        let pipeline = &own::<CpuCode>(code)?.0;
        let declared = &dispatch.pipeline.shape.declared;
        let views = bindings::views(dispatch.bindings);
        let tables = Tables::of(pipeline.bindings(), declared, dispatch.bindings, &views)?;
        let descriptors = tables.slices();
        self.dispatch_raw(code, &dispatch.raw(&descriptors))
    }

    fn dispatch_raw(&self, code: &dyn Code, dispatch: &RawDispatch<'_>) -> Result<DispatchReport, Error> {
        report(self.device.dispatch(&lowered(&own::<CpuCode>(code)?.0, dispatch)))
    }

    fn dispatch_all(&self, dispatches: &[Dispatch<'_>]) -> Vec<Result<DispatchReport, Error>> {
        run_all(dispatches, |dispatches| self.dispatch_all_raw(dispatches))
    }

    fn dispatch_all_raw(&self, dispatches: &[RawDispatch<'_>]) -> Vec<Result<DispatchReport, Error>> {
        let all: Result<Vec<_>, Error> = dispatches
            .iter()
            .map(|dispatch| Ok(lowered(&own::<CpuCode>(&*dispatch.pipeline.code)?.0, dispatch)))
            .collect();
        match all {
            Ok(all) => self.device.dispatch_all(&all).into_iter().map(report).collect(),
            // The device has looked whose they are.
            Err(_) => dispatches.iter().map(|_| Err(Error::OtherDevice { what: "pipeline" })).collect(),
        }
    }

    fn run_pieces(&self, count: u64, piece: Piece) -> Result<(), Error> {
        Ok(self.device.run_pieces(count, piece)?)
    }

    fn profile(&self) -> Profile {
        Profile::new(self.device.profile())
    }

    fn is_forked(&self) -> bool {
        self.device.is_forked()
    }
}

/// Machine code.
#[derive(Debug)]
struct CpuCode(Arc<phalanx_cpu::Pipeline>);

impl Code for CpuCode {
    fn interface(&self) -> Interface {
        Interface {
            name: self.0.name().to_owned(),
            bindings: self.0.bindings().to_vec(),
            push_bytes: self.0.push_bytes(),
            workgroup_size: self.0.workgroup_size(),
            subgroup_size: self.0.subgroup_size(),
            shared_bytes: self.0.shared_bytes(),
        }
    }

    fn sealed(&self) -> Option<&SealedCode> {
        self.0.code()
    }

    fn statistics(&self) -> CodeStatistics {
        CodeStatistics {
            object_bytes: self.0.object_bytes() as u64,
            scratch_bytes: self.0.scratch_bytes(),
            stack_bytes: self.0.stack_bytes(),
        }
    }
}

/// A dispatch of machine code.
fn lowered<'a>(
    pipeline: &'a Arc<phalanx_cpu::Pipeline>,
    dispatch: &RawDispatch<'a>,
) -> phalanx_cpu::Dispatch<'a> {
    phalanx_cpu::Dispatch {
        pipeline,
        groups: dispatch.groups,
        base: dispatch.base,
        descriptors: dispatch.descriptors,
        push: dispatch.push_constants,
        timeout: dispatch.timeout,
        cancel: dispatch.cancel,
    }
}

/// What a dispatch did.
fn report(result: Result<phalanx_cpu::Report, phalanx_cpu::Error>) -> Result<DispatchReport, Error> {
    let phalanx_cpu::Report { elapsed, printed, warnings } = result?;
    Ok(DispatchReport { elapsed, printed, warnings, traffic: None })
}

/// IR to code, which says where it is if it shall be profiled.
fn compile(task: &Task, compiler: &Compiler, module: &Verified) -> Result<Compiled, Error> {
    let mut compiled = compiler.compile(module)?;
    if let Some(functions) = task.functions()? {
        compiled.name_functions(|word| {
            let index = functions.partition_point(|(start, _)| *start <= word).checked_sub(1)?;
            Some(functions[index].1.as_str())
        });
    }
    Ok(compiled)
}

/// What is done about addresses that lead nowhere.
fn addresses(options: &DeviceOptions) -> Result<Addresses, Error> {
    let text = std::env::var(ADDRESSES_VARIABLE).unwrap_or_default();
    match (options.addresses, text.trim()) {
        (Some(addresses), _) => Ok(addresses),
        (None, "trust") => Ok(Addresses::Trust),
        (None, "" | "catch") => Ok(Addresses::Catch),
        (None, "check") => Ok(Addresses::Check),
        (None, found) => Err(Error::Setting {
            name: ADDRESSES_VARIABLE,
            expected: "one of trust, catch, check".to_owned(),
            found: found.to_owned(),
        }),
    }
}
