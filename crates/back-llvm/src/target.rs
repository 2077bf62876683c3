//! The CPU that code is made for.

use crate::error::{Error, Result};
use inkwell::OptimizationLevel;
use inkwell::targets::{
    CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple,
};
use phalanx_kernels::{Isa, Level};
use std::sync::Once;

/// What x86-64 has besides vectors, on every processor of the last decade and a half.
const SSE: [&str; 9] = ["64bit", "cmov", "cx8", "cx16", "fxsr", "mmx", "popcnt", "sahf", "x87"];

/// A CPU, as LLVM names it. Equal targets get equal code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// LLVM target triple.
    pub triple: String,
    /// LLVM CPU name, for scheduling.
    pub cpu: String,
    /// Features that the code may use, as LLVM names them, without a sign. All others that LLVM
    /// would assume from the CPU's name are to be listed in [`Target::without`].
    pub features: Vec<String>,
    /// Features that the code must not use.
    pub without: Vec<String>,
    /// The instructions of the matrix kernels that the code will call.
    pub isa: Isa,
}

impl Target {
    /// The CPU that this process runs on, used as far as the matrix kernels use it: the vector
    /// extension that they are restricted to is what compiled code is restricted to.
    pub fn host(isa: Isa) -> Self {
        initialize();
        let all = TargetMachine::get_host_cpu_features().to_string();
        let (mut features, mut without) = (Vec::new(), Vec::new());
        for feature in all.split(',') {
            match feature.split_at_checked(1) {
                Some(("+", name)) => features.push(name.to_owned()),
                Some(("-", name)) => without.push(name.to_owned()),
                _ => {}
            }
        }
        let host = Self {
            triple: TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned(),
            cpu: TargetMachine::get_host_cpu_name().to_string(),
            features,
            without,
            isa,
        };
        match isa.level() {
            Level::Avx512 | Level::Neon => host,
            Level::Avx2 => host.restricted_to(|f| {
                !["avx512", "avx10", "amx", "evex"].iter().any(|wide| f.starts_with(wide))
            }),
            Level::Portable => {
                host.restricted_to(|f| SSE.contains(&f) || f.starts_with("sse") || f.starts_with("ssse"))
            }
        }
    }

    /// The same processor without some of its features.
    fn restricted_to(mut self, keep: impl Fn(&str) -> bool) -> Self {
        if !self.is_x86() {
            return self;
        }
        let (keep, drop): (Vec<_>, Vec<_>) = self.features.into_iter().partition(|f| keep(f));
        self.features = keep;
        self.without.extend(drop);
        self.cpu = "x86-64".to_owned();
        self
    }

    fn is_x86(&self) -> bool {
        self.triple.starts_with("x86_64")
    }

    fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|f| f == feature)
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

    /// The features in LLVM's form.
    pub(crate) fn feature_string(&self) -> String {
        let with = self.features.iter().map(|f| format!("+{f}"));
        let without = self.without.iter().map(|f| format!("-{f}"));
        with.chain(without).collect::<Vec<_>>().join(",")
    }

    pub(crate) fn caps(&self) -> Caps {
        let is_x86 = self.is_x86();
        Caps {
            is_x86,
            native_f16: if is_x86 { self.has("avx512fp16") } else { self.has("fullfp16") },
            f16_conversion: !is_x86 || self.has("f16c"),
            fma: !is_x86 || self.has("fma"),
            mask_registers: is_x86 && self.has("avx512bw") && self.has("avx512vl"),
        }
    }

    /// LLVM's code generator for this CPU.
    pub(crate) fn machine(&self) -> Result<TargetMachine> {
        initialize();
        let triple = TargetTriple::create(&self.triple);
        let target = LlvmTarget::from_triple(&triple).map_err(|e| Error::unsupported(e.to_string()))?;
        target
            .create_target_machine(
                &triple,
                &self.cpu,
                &self.feature_string(),
                OptimizationLevel::Default,
                RelocMode::PIC,
                CodeModel::Small,
            )
            .ok_or_else(|| Error::unsupported(format!("{} {}", self.triple, self.cpu)))
    }
}

/// What lowering has to know about a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caps {
    pub(crate) is_x86: bool,
    /// Arithmetic on `half`.
    pub(crate) native_f16: bool,
    /// Conversions between `half` and `float`.
    pub(crate) f16_conversion: bool,
    /// Multiply-add with one rounding.
    pub(crate) fma: bool,
    /// Masks live in registers of their own, and masked accesses of all widths are instructions.
    pub(crate) mask_registers: bool,
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
