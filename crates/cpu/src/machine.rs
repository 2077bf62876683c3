//! What the machine offers to compiled code: instructions, and the tables of kernels.

use inkwell::targets::TargetMachine;
use phalanx_back_llvm::Target;
use phalanx_kernels::math::{self, MathLevel};
use phalanx_kernels::{Isa, Level};

use crate::run::Tables;

/// The target that code is compiled for.
pub(crate) fn target(isa: Isa) -> Target {
    Target {
        triple: TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned(),
        cpu: TargetMachine::get_host_cpu_name().to_string(),
        features: isa.instruction_sets().into_iter().map(str::to_owned).collect(),
    }
}

/// The tables that code calls through.
pub(crate) fn tables(isa: Isa) -> Tables {
    let level = match isa.level() {
        Level::Portable => MathLevel::Portable,
        Level::Neon => MathLevel::Neon,
        Level::Avx2 => MathLevel::Avx2,
        Level::Avx512 => MathLevel::Avx512,
    };
    Tables { kernels: std::ptr::from_ref(isa.table()).cast(), math: math::table(level).as_ptr().cast() }
}
