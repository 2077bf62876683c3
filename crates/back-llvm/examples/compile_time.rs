//! Compiles modules in text form and says how long each step takes.
//!
//! ```text
//! cargo run --release -p phalanx-back-llvm --example compile_time -- [--once] [--asm | --llvm] [--cpu=NAME] FILE.ir...
//! ```
//!
//! Code can be made for any processor, whatever this machine is.
//!
//! The times are the least of several runs; the last one leaves out what other processes took.
#![expect(clippy::print_stdout, reason = "its purpose is to print")]

use phalanx_back_llvm::{Options, Target, compile};
use phalanx_ir::{text, verify};
use phalanx_kernels::Processor;
use std::error::Error;
use std::time::Duration;

const RUNS: u32 = 15;

/// How long this thread has been running, without the time that it waited for a processor.
fn busy() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (flags, files): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let has = |flag: &str| flags.iter().any(|f| f == flag);
    let options = Options { dump_llvm: has("--llvm"), dump_asm: has("--asm"), ..Options::default() };
    let named = flags.iter().find_map(|flag| flag.strip_prefix("--cpu="));
    let processor = match named {
        Some(name) => Processor::named(name).ok_or("there is no processor of this name")?,
        None => Processor::detect()?,
    };
    let target = Target::new(processor);
    for file in files {
        let module = verify(text::parse(&std::fs::read_to_string(&file)?)?)?;
        let mut least: Option<[Duration; 4]> = None;
        let mut object = 0;
        for run in 0..if has("--once") { 1 } else { RUNS } {
            let start = busy();
            let compiled = compile(&module, &target, &if run == 0 { options } else { Options::default() })?;
            let whole = busy() - start;
            let t = compiled.times;
            let times = [t.lower, t.optimize, t.generate, whole];
            least = Some(least.map_or(times, |l| [0, 1, 2, 3].map(|i| l[i].min(times[i]))));
            object = compiled.object.len() + compiled.special.map_or(0, |object| object.len());
            let dumps = compiled.dumps;
            for text in [dumps.llvm_lowered, dumps.llvm_optimized, dumps.asm].into_iter().flatten() {
                println!("{text}");
            }
        }
        let ms = least.unwrap_or_default().map(|d| d.as_secs_f64() * 1e3);
        println!(
            "{file}: lower {:.2} optimize {:.2} generate {:.2} ms; processor time {:.2} ms; {object} bytes",
            ms[0], ms[1], ms[2], ms[3]
        );
    }
    Ok(())
}
