//! The processor that code is made for.
//!
//! LLVM gets the least processor of the architecture and the features one by one, so that it has exactly those that
//! the description has, and the name only to schedule for. Nothing here asks what this machine is, but for
//! [`Processor::native`].

use crate::emit::Caps;
use crate::error::{Error, Result};
use inkwell::OptimizationLevel;
use inkwell::targets::{
    CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple,
};
use phalanx_kernels::{Arch, KernelSet, Processor};
use std::sync::Once;

/// What LLVM is not told of. The shuffles of SSE4a have no form for vector registers of today, so that each waits until
/// the upper halves of all registers are saved: some 130 ns of a Zen 3.
const LEFT_OUT: &[&str] = &["sse4a"];

/// A processor, as LLVM names it. Equal targets get equal code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    processor: Processor,
    triple: String,
    /// The least processor of the architecture, so that no feature comes with the name.
    cpu: &'static str,
    /// The processor that code is scheduled for.
    tune: String,
    features: Vec<&'static str>,
    kernels: KernelSet,
}

impl Target {
    /// The target of a processor, which may be another than this machine's.
    pub fn new(processor: Processor) -> Self {
        initialize();
        let is_here = Arch::host() == Some(processor.arch());
        let triple = match processor.arch() {
            _ if is_here => TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned(),
            Arch::X86_64 => "x86_64-unknown-linux-gnu".to_owned(),
            Arch::Aarch64 => "aarch64-unknown-linux-gnu".to_owned(),
        };
        let cpu = match processor.arch() {
            Arch::X86_64 => "x86-64",
            Arch::Aarch64 => "generic",
        };
        let tune = match processor.is_native() {
            true => TargetMachine::get_host_cpu_name().to_string(),
            false => processor.name().to_owned(),
        };
        let features = processor.features().filter(|feature| !LEFT_OUT.contains(feature)).collect();
        Self { processor, triple, cpu, tune, features, kernels: processor.kernels() }
    }

    /// The processor.
    pub fn processor(&self) -> Processor {
        self.processor
    }

    /// The matrix kernels that the code will call.
    pub fn kernels(&self) -> KernelSet {
        self.kernels
    }

    /// LLVM's name for the architecture and the system.
    pub fn triple(&self) -> &str {
        &self.triple
    }

    /// LLVM's name for the processor, without any of the features.
    pub fn cpu(&self) -> &'static str {
        self.cpu
    }

    fn is_x86(&self) -> bool {
        self.processor.arch() == Arch::X86_64
    }

    fn has(&self, feature: &str) -> bool {
        self.features.contains(&feature)
    }

    /// Whether vectors of 512 bits are worth using.
    pub(crate) fn has_wide_vectors(&self) -> bool {
        self.has("avx512f")
    }

    /// Where masks are held in vector registers as bytes: the width of such a register in bits.
    pub(crate) fn masks_as_bytes(&self) -> Option<u32> {
        match self.is_x86() {
            true if self.has("avx512bw") => None,
            true if self.has("avx2") => Some(256),
            _ => Some(128),
        }
    }

    /// Whether there are 16 vector registers, not 32.
    pub(crate) fn has_few_registers(&self) -> bool {
        self.is_x86() && !self.has_wide_vectors()
    }

    /// LLVM's name for the processor that code is scheduled for.
    pub(crate) fn tune(&self) -> &str {
        &self.tune
    }

    /// The features that code may use, in LLVM's form.
    pub fn feature_string(&self) -> String {
        let with: Vec<_> = self.features.iter().map(|f| format!("+{f}")).collect();
        with.join(",")
    }

    pub(crate) fn caps(&self) -> Caps {
        let is_x86 = self.is_x86();
        Caps {
            is_x86,
            native_f16: if is_x86 { self.has("avx512fp16") } else { self.has("fullfp16") },
            // Every aarch64 converts halves, but LLVM 19 does not survive comparing short vectors of them, which its
            // own passes ask for, where the processor does not compute with them.
            f16_conversion: self.has(if is_x86 { "f16c" } else { "fullfp16" }),
            fma: !is_x86 || self.has("fma"),
            mask_registers: is_x86 && self.has("avx512bw") && self.has("avx512vl"),
            vnni: self.has("avx512vnni") || self.has("avxvnni"),
            register_bytes: match is_x86 {
                true if self.has_wide_vectors() => 64,
                true if self.has("avx2") => 32,
                _ => 16,
            },
        }
    }

    /// LLVM's code generator for this CPU.
    pub(crate) fn machine(&self, level: OptimizationLevel) -> Result<TargetMachine> {
        initialize();
        let triple = TargetTriple::create(&self.triple);
        let target = LlvmTarget::from_triple(&triple).map_err(|e| Error::unsupported(e.to_string()))?;
        target
            .create_target_machine(
                &triple,
                self.cpu,
                &self.feature_string(),
                level,
                RelocMode::PIC,
                CodeModel::Small,
            )
            .ok_or_else(|| Error::unsupported(format!("{} {}", self.triple, self.cpu)))
    }
}

/// Makes LLVM's code generators known, once.
fn initialize() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let config = InitializationConfig::default();
        LlvmTarget::initialize_x86(&config);
        LlvmTarget::initialize_aarch64(&config);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llvm_hears_of_no_shuffle_that_waits_for_all_registers() {
        for processor in Processor::all() {
            let features = Target::new(*processor).feature_string();
            assert!(!features.contains("sse4a"), "{processor:?}: {features}");
        }
    }
}
