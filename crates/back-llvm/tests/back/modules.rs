//! Random modules, as they are and after the passes, against the interpreter.

use crate::kernel::{Case, targets};
use phalanx_back_llvm::{Error, Options, compile};
use phalanx_ir::passes;
use phalanx_ir::random::{Config, case};

/// How many modules are made; so many times as many with `PHALANX_RANDOM_CASES`, from `PHALANX_RANDOM_START`.
fn seeds() -> std::ops::Range<u64> {
    let number = |name, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let start = number("PHALANX_RANDOM_START", 0);
    start..start + 8 * number("PHALANX_RANDOM_CASES", 1)
}

fn config(seed: u64) -> Config {
    let all = Config::default();
    match seed % 4 {
        0 => all,
        1 => Config { matrices: false, barriers: false, ..all },
        2 => Config { matrices: false, floats: false, statements: 30, ..all },
        _ => Config { barriers: false, matrices: false, subgroups: false, depth: 6, ..all },
    }
}

#[test]
fn random_modules_run_as_interpreted() {
    for seed in seeds() {
        let Ok(case) = case(seed, &config(seed)) else { continue };
        println!("seed {seed}");
        if let Err(Error::Unsupported { what }) = compile(&case.module, &targets()[0], &Options::default()) {
            println!("skipped: {what}");
            continue;
        }
        let mut module = case.module;
        for optimized in [false, true] {
            if optimized {
                module = passes::optimize(module, &passes::Options::default()).unwrap();
            }
            Case { groups: case.groups, push: case.push.clone(), ..Case::new(&module, case.buffers.clone()) }
                .check();
        }
    }
}
