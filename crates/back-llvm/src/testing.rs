//! What tests of generated code look at.

use crate::{Dumps, Options, Target, compile};
use phalanx_ir::{text, verify};
use phalanx_kernels::Processor;

/// The assembly of a module in text form, for a processor by its name.
pub(crate) fn assembly(module: &str, processor: &str) -> String {
    dumps(module, processor, &Options { dump_asm: true, ..Options::default() }).asm.unwrap()
}

/// What LLVM's passes make of such a module.
pub(crate) fn optimized(module: &str, processor: &str) -> String {
    dumps(module, processor, &Options { dump_llvm: true, ..Options::default() }).llvm_optimized.unwrap()
}

fn dumps(module: &str, processor: &str, options: &Options) -> Dumps {
    let module = verify(text::parse(module).unwrap_or_else(|e| panic!("{e}\n{module}"))).unwrap();
    let target = Target::new(Processor::named(processor).unwrap());
    compile(&module, &target, options).unwrap().dumps
}
