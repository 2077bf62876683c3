//! What the machine offers to compiled code: the tables of kernels.

use phalanx_kernels::math::{self, MathLevel};
use phalanx_kernels::{Isa, Level};

use crate::run::Tables;

/// The tables that code calls through.
pub(crate) fn tables(isa: Isa) -> Tables {
    let level = match isa.level() {
        Level::Portable => MathLevel::Portable,
        Level::Neon => MathLevel::Neon,
        Level::Avx2 => MathLevel::Avx2,
        Level::Avx512 => MathLevel::Avx512,
    };
    Tables { kernels: std::ptr::from_ref(isa.table()).cast(), math: math::table(level).as_ptr().cast(), isa }
}
