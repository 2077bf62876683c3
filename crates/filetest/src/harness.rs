//! Random modules: the interpreter, before and after the passes, and the targets agree on what each does.
#![expect(clippy::panic, reason = "a panic is how a test reports a fault")]

use crate::slot::Slot;
use crate::target::{self, Target, is_unsupported, run_on_cpu, run_with_push};
use phalanx_interp::{Limits, Memory};
use phalanx_ir::random::{Case, Config, case};
use phalanx_ir::{Binding, Verified, passes};
use phalanx_kernels::Processor;
use std::collections::BTreeMap;

/// Makes a random module and runs it on the interpreter, before and after the passes, and on the CPU, as this machine's
/// processor before the passes and as some after them: all leave the same bytes.
///
/// # Panics
///
/// Where they do not; the message has the seed and the module.
pub fn random_ir(seed: u64, processors: &[Processor]) {
    let case = case(seed, &config(seed)).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let expected =
        interpret(&case, &case.module).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", *case.module));
    let module =
        passes::optimize(case.module.clone(), &strict()).unwrap_or_else(|bug| panic!("seed {seed}: {bug}"));
    let after = interpret(&case, &module).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", *module));
    if expected != after {
        panic!(
            "seed {seed}: the passes change the result\n{}\n{}\n{}",
            differences(&expected, &after),
            *case.module,
            *module
        );
    }
    let chained =
        passes::chain(&module, &|_, _| 3, &strict()).unwrap_or_else(|bug| panic!("seed {seed}: {bug}"));
    if let Some(chained) = chained {
        let after = interpret(&case, &chained).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", *chained));
        assert_eq!(
            expected, after,
            "seed {seed}: putting multiply-adds off changes the result\n{}",
            *chained
        );
    }
    // As it is once, and as it is in use for each processor.
    let own = target::processors().pop();
    let plain = own.iter().map(|own| (own, &case.module));
    for (processor, module) in plain.chain(processors.iter().map(|p| (p, &module))) {
        let found = on_cpu(*processor, &case, module);
        let found = found.unwrap_or_else(|e| panic!("seed {seed}, {processor}: {e}\n{}", **module));
        if expected != found {
            panic!(
                "seed {seed}: the CPU gives another result as {processor}\n{}\n{}",
                differences(&expected, &found),
                **module
            );
        }
    }
}

/// Compares what a target makes of a random module with what the interpreter makes of it; false if the target does not
/// do what is in it.
///
/// # Errors
///
/// What differs.
pub fn random_ir_on(target: Target, seed: u64) -> Result<bool, String> {
    let case = case(seed, &config(seed)).map_err(|errors| errors.to_string())?;
    // The interpreter distributes components as the target does.
    let distribution = match target {
        Target::Cuda(_) => passes::THREADS.distribution,
        _ => passes::LANES.distribution,
    };
    let distributed = passes::distribute(&case.module, distribution).map_err(|bug| bug.to_string())?;
    let expected = interpret(&case, distributed.as_ref().unwrap_or(&case.module))?;
    match on(target, &case) {
        Ok(found) if found == expected => Ok(true),
        Ok(found) => Err(format!(
            "seed {seed}: {target} gives another result\n{}\n{}",
            differences(&expected, &found),
            *case.module
        )),
        Err(error) if is_unsupported(&error) => Ok(false),
        Err(error) => Err(format!("seed {seed}, {target}: {error}\n{}", *case.module)),
    }
}

/// The module of a seed, as a GPU's code generator gets it.
///
/// # Errors
/// If the generator or a pass makes what is not right.
pub fn random_module(seed: u64) -> Result<Verified, String> {
    let case = case(seed, &config(seed)).map_err(|errors| errors.to_string())?;
    passes::optimize_by(&passes::THREADS, case.module, &strict()).map_err(|bug| bug.to_string())
}

/// What the module of a seed may contain: everything, or less of some and more of the rest.
fn config(seed: u64) -> Config {
    let all = Config::default();
    match seed % 6 {
        0 | 1 => all,
        2 => Config { matrices: false, barriers: false, ..all },
        3 => Config { matrices: false, floats: false, statements: 30, ..all },
        4 => Config { barriers: false, matrices: false, subgroups: false, depth: 6, ..all },
        _ => Config { returns: false, depth: 3, statements: 20, ..all },
    }
}

/// The buffers after a run on the interpreter.
fn interpret(case: &Case, module: &Verified) -> Result<Vec<Vec<u8>>, String> {
    let mut buffers = case.buffers.clone();
    let mut memory = Memory::new();
    for (i, bytes) in buffers.iter_mut().enumerate() {
        let buffer = memory.add_buffer(bytes, (i as u64 + 1) << 44);
        memory.bind_buffer(Binding::new(i), buffer);
    }
    memory.set_push(&case.push);
    let limits = Limits { max_steps: 10_000_000, ..Limits::default() };
    phalanx_interp::run(module, &mut memory, case.groups, [0; 3], &limits).map_err(|e| e.to_string())?;
    drop(memory);
    Ok(buffers)
}

/// The buffers after a run on the CPU.
///
/// # Errors
///
/// Why it could not be run to its end.
pub fn on_cpu(processor: Processor, case: &Case, module: &Verified) -> Result<Vec<Vec<u8>>, String> {
    by_slots(case, |buffers| run_on_cpu(processor, module, buffers, &case.push, case.groups))
}

/// The buffers after a run on a target that does its own passes.
fn on(target: Target, case: &Case) -> Result<Vec<Vec<u8>>, String> {
    by_slots(case, |buffers| run_with_push(target, &case.module, buffers, &case.push, case.groups))
}

/// The buffers after a run that wants them by their slots.
fn by_slots(
    case: &Case,
    run: impl FnOnce(&BTreeMap<Slot, Vec<u8>>) -> Result<BTreeMap<Slot, Vec<u8>>, String>,
) -> Result<Vec<Vec<u8>>, String> {
    let slot = |i: usize| {
        let binding = &case.module.bindings[i];
        Slot { set: binding.set, binding: binding.binding, index: 0 }
    };
    let buffers: BTreeMap<_, _> =
        case.buffers.iter().enumerate().map(|(i, bytes)| (slot(i), bytes.clone())).collect();
    let mut found = run(&buffers)?;
    Ok((0..case.buffers.len()).map(|i| found.remove(&slot(i)).unwrap_or_default()).collect())
}

/// The bytes that differ, the first of them.
fn differences(expected: &[Vec<u8>], found: &[Vec<u8>]) -> String {
    let mut text = String::new();
    for (buffer, (x, y)) in expected.iter().zip(found).enumerate() {
        let differ = x.iter().zip(y).enumerate().filter(|(_, (x, y))| x != y);
        for (at, (x, y)) in differ.take(16) {
            text += &format!("  buffer {buffer}, byte {at}: expected {x:#04x}, found {y:#04x}\n");
        }
    }
    text
}

fn strict() -> passes::Options {
    passes::Options { verify: true, ..passes::Options::default() }
}
