//! Float controls of an entry point (SPV_KHR_float_controls, SPV_KHR_float_controls2).
//!
//! The IR rounds to nearest even, keeps denormals, signed zeros, infinities and NaNs, so most modes
//! ask for what is the case anyway. What remains: conversions that round towards zero, denormals that
//! are flushed (see [`crate::flush`]), and where products and sums may be contracted.

use crate::diag::{Fault, Res, code, operand, unsupported};
use crate::globals::Globals;
use crate::module::{EntryPoint, Spv};
use crate::opcode;
use crate::reader::Inst;
use phalanx_ir::Scalar;
use rustc_hash::FxHashMap;
use spirv::{Decoration, ExecutionMode};

/// *FPFastMathMode* bit: products and sums may be contracted.
const ALLOW_CONTRACT: u32 = 0x10000;
/// *FPFastMathMode* bit: signs of zeros do not matter.
const NO_SIGNED_ZEROS: u32 = 0x4;
/// *FPFastMathMode* bit of old: everything is allowed.
const FAST: u32 = 0x10;

/// The float controls of an entry point.
#[derive(Debug, Default)]
pub(crate) struct FloatModes {
    /// Widths whose results round towards zero.
    toward_zero: Vec<u32>,
    /// Widths whose denormals are flushed to zero.
    flushed: Vec<u32>,
    /// Default *FPFastMathMode* of a type.
    fast_math: FxHashMap<Scalar, u32>,
}

impl FloatModes {
    /// The float controls of an entry point.
    pub(crate) fn of(spv: &Spv<'_>, globals: &Globals, entry: &EntryPoint) -> Res<Self> {
        let mut modes = Self::default();
        for &i in &spv.modes {
            let inst = &spv.insts[i];
            if inst.arg(0)? == entry.function {
                modes.read(globals, inst).map_err(|fault| spv.locate(fault, i))?;
            }
        }
        Ok(modes)
    }

    fn read(&mut self, globals: &Globals, inst: &Inst<'_>) -> Res<()> {
        match ExecutionMode::from_u32(inst.arg(1)?) {
            Some(ExecutionMode::RoundingModeRTZ) => self.toward_zero.push(inst.arg(2)?),
            Some(ExecutionMode::DenormFlushToZero) => self.flushed.push(inst.arg(2)?),
            Some(ExecutionMode::FPFastMathDefault) => {
                let ty = globals.types.lookup(inst.arg(2)?)?;
                let scalar = globals.types.leaf(ty).and_then(phalanx_ir::Type::scalar);
                let scalar = scalar.ok_or_else(|| operand("FPFastMathDefault of no scalar type"))?;
                self.fast_math.insert(scalar, globals.const_u32(inst.arg(3)?)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether results of this width round towards zero.
    pub(crate) fn rounds_toward_zero(&self, width: u32) -> bool {
        self.toward_zero.contains(&width)
    }

    /// Whether denormals of this width are flushed to zero.
    pub(crate) fn flushes(&self, width: u32) -> bool {
        self.flushed.contains(&width)
    }

    /// Whether denormals of any width are flushed to zero.
    pub(crate) fn flushes_any(&self) -> bool {
        !self.flushed.is_empty()
    }

    /// The *FPFastMathMode* of an instruction, or of its type.
    fn fast_math(&self, spv: &Spv<'_>, globals: &Globals, inst: &Inst<'_>) -> Option<u32> {
        let own = spv.decor.literal(inst.id, Decoration::FPFastMathMode);
        let default = || {
            let ty = globals.types.lookup(inst.ty).ok()?;
            self.fast_math.get(&globals.types.scalar(ty)?).copied()
        };
        if self.fast_math.is_empty() { own } else { own.or_else(default) }
    }

    /// Whether a mode demands that an instruction regards the signs of zeros.
    pub(crate) fn signed_zeros(&self, spv: &Spv<'_>, globals: &Globals, inst: &Inst<'_>) -> bool {
        self.fast_math(spv, globals, inst).is_some_and(|mode| mode & (NO_SIGNED_ZEROS | FAST) == 0)
    }

    /// Whether an instruction must not be contracted with others: *NoContraction*, or a mode that
    /// does not allow it.
    pub(crate) fn is_exact(&self, spv: &Spv<'_>, globals: &Globals, inst: &Inst<'_>) -> bool {
        if inst.id == 0 || spv.decor.has(inst.id, Decoration::NoContraction) {
            return inst.id != 0;
        }
        self.fast_math(spv, globals, inst).is_some_and(|mode| mode & (ALLOW_CONTRACT | FAST) == 0)
    }

    /// Refuses arithmetic that would have to round towards zero.
    pub(crate) fn check(&self, spv: &Spv<'_>, globals: &Globals, inst: &Inst<'_>) -> Res<()> {
        if self.toward_zero.is_empty() || !opcode::facts(spv, inst).rounds() {
            return Ok(());
        }
        let ty = globals.types.lookup(inst.ty)?;
        match globals.types.scalar(ty) {
            Some(s) if self.rounds_toward_zero(s.bits()) => Err(not_built(inst)),
            _ => Ok(()),
        }
    }
}

fn not_built(inst: &Inst<'_>) -> Fault {
    unsupported(code::OPCODE, format!("{} under the execution mode RoundingModeRTZ", inst.name()))
}
