//! Processors that code can be made for, by name.
//!
//! A [`Processor`] is a description: a name, an architecture, and the instructions that generated code may use. It
//! says as well which kernels the code will call ([`Processor::kernels`]). Code can be made for any of them anywhere;
//! where it is to run, [`Processor::isa`] is the proof that the machine has the instructions.
//!
//! The features of a name are those that a code generator uses on its own account. Instructions that nobody here asks
//! for (encryption, checksums, transactions) are left out, so that a machine which hides them is still of the name.
//!
//! Invariant: nothing of the machine at hand is in a description but in that of [`Processor::native`].

mod features;

use crate::isa::{Isa, KernelSet, Level};
use features::Features;
use std::fmt;
use std::sync::OnceLock;

/// An architecture of processors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arch {
    /// The 64-bit mode of x86.
    X86_64,
    /// The 64-bit state of Arm.
    Aarch64,
}

impl Arch {
    /// That of this machine, if it is known.
    #[must_use]
    pub const fn host() -> Option<Self> {
        match () {
            () if cfg!(target_arch = "x86_64") => Some(Self::X86_64),
            () if cfg!(target_arch = "aarch64") => Some(Self::Aarch64),
            () => None,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Description {
    name: &'static str,
    arch: Arch,
    features: Features,
    /// The bf16 dot product of vectors takes four times as long as an f32 FMA and so does half its work in the same
    /// time (measured on Sapphire Rapids; its fast bf16 is in AMX), while on AMD's processors it does twice the work.
    slow_bf16_dot: bool,
}

/// A processor that code can be made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Processor(Description);

/// The names, the least first within an architecture and its maker.
const NAMES: [Processor; 13] = [
    Processor::new("x86-64-v2", Arch::X86_64, features::X86_64_V2),
    Processor::new("haswell", Arch::X86_64, features::HASWELL),
    Processor::new("alderlake", Arch::X86_64, features::ALDERLAKE),
    Processor::new("skylake-avx512", Arch::X86_64, features::SKYLAKE_AVX512),
    Processor::new("icelake-server", Arch::X86_64, features::ICELAKE_SERVER),
    Processor::new("sapphirerapids", Arch::X86_64, features::SAPPHIRERAPIDS).with_slow_bf16_dot(),
    // Beyond its predecessor it multiplies matrix registers of f16, for which there is no kernel.
    Processor::new("graniterapids", Arch::X86_64, features::SAPPHIRERAPIDS).with_slow_bf16_dot(),
    Processor::new("znver4", Arch::X86_64, features::ZNVER4),
    Processor::new("znver5", Arch::X86_64, features::ZNVER5),
    Processor::new("cortex-a72", Arch::Aarch64, features::CORTEX_A72),
    Processor::new("neoverse-n1", Arch::Aarch64, features::NEOVERSE_N1),
    Processor::new("apple-m1", Arch::Aarch64, features::APPLE_M1),
    Processor::new("neoverse-v1", Arch::Aarch64, features::NEOVERSE_V1),
];

impl Processor {
    /// The environment variable that [`Processor::detect`] honours.
    pub const ENV: &'static str = "PHALANX_CPU";

    /// The name of the processor at hand with all it has.
    pub const NATIVE: &'static str = "native";

    const fn new(name: &'static str, arch: Arch, features: Features) -> Self {
        Self(Description { name, arch, features, slow_bf16_dot: false })
    }

    const fn with_slow_bf16_dot(mut self) -> Self {
        self.0.slow_bf16_dot = true;
        self
    }

    /// Every processor with a name of its own, whatever this machine is.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &NAMES
    }

    /// Those whose code this machine can execute, the least first. [`Processor::native`] is not among them.
    pub fn available() -> impl Iterator<Item = Self> {
        NAMES.into_iter().filter(|processor| processor.is_available())
    }

    /// Those that this machine can execute, one of each that differ in the instructions or the kernels of code: the
    /// names, and [`Processor::native`] if the machine has more or less than any of them.
    #[must_use]
    pub fn distinct() -> Vec<Self> {
        let mut list: Vec<Self> = Vec::new();
        for processor in Self::available().chain([Self::native()]) {
            let is_same = |other: &Self| {
                other.0.features == processor.0.features && other.kernels() == processor.kernels()
            };
            if !list.iter().any(is_same) {
                list.push(processor);
            }
        }
        list
    }

    /// This machine's processor, with all it has.
    #[must_use]
    pub fn native() -> Self {
        static NATIVE: OnceLock<Processor> = OnceLock::new();
        *NATIVE.get_or_init(|| {
            let arch = Arch::host().unwrap_or(Arch::X86_64);
            let features = Features::of_this_machine();
            Self(Description { name: Self::NATIVE, arch, features, slow_bf16_dot: is_by_intel() })
        })
    }

    /// The processor that the environment variable [`Processor::ENV`] names, or this machine's with all it has.
    ///
    /// # Errors
    /// The variable holds a name that is unknown or not available here; the error lists the choices.
    pub fn detect() -> Result<Self, ProcessorError> {
        match std::env::var(Self::ENV) {
            Ok(name) if !name.is_empty() => Self::from_name(&name),
            Ok(_) | Err(_) => Self::from_name(Self::NATIVE),
        }
    }

    /// The processor of this name, if this machine can execute its code.
    ///
    /// # Errors
    /// The name is unknown or not available here; the error lists the choices.
    pub fn from_name(name: &str) -> Result<Self, ProcessorError> {
        let found = Self::named(name).ok_or_else(|| ProcessorError::new(name, None))?;
        found.isa()?;
        Ok(found)
    }

    /// The processor of this name, whether this machine can execute its code or not.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if name == Self::NATIVE {
            return Some(Self::native());
        }
        NAMES.into_iter().find(|processor| processor.0.name == name)
    }

    /// Its name, by which it is found again.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Whether it is this machine's with all it has.
    #[must_use]
    pub fn is_native(self) -> bool {
        self.0.name == Self::NATIVE
    }

    /// The name that says most of what it is: its own, or for this machine's the best that it can stand in for.
    #[must_use]
    pub fn model(self) -> &'static str {
        if !self.is_native() {
            return self.0.name;
        }
        let fits = |other: &Self| other.is_available() && other.0.slow_bf16_dot == self.0.slow_bf16_dot;
        let most = NAMES.iter().filter(|other| fits(other)).max_by_key(|other| other.0.features.count());
        let any = || Self::available().last().map_or(Self::NATIVE, Self::name);
        // Of those with the same features the first: a model may have younger siblings.
        most.and_then(|most| NAMES.iter().find(|o| fits(o) && o.0.features == most.0.features))
            .map_or_else(any, |found| found.0.name)
    }

    /// Its architecture.
    #[must_use]
    pub const fn arch(self) -> Arch {
        self.0.arch
    }

    /// The instructions that generated code may use beyond the architecture's base, as LLVM calls them.
    pub fn features(self) -> impl Iterator<Item = &'static str> {
        self.0.features.names()
    }

    /// The kernels that code for it calls.
    #[must_use]
    pub fn kernels(self) -> KernelSet {
        let has = |names: &[&str]| names.iter().all(|name| self.features().any(|feature| feature == *name));
        let avx2 = has(&["avx2", "fma", "f16c"]);
        let avx512 = avx2 && has(&["avx512f", "avx512bw", "avx512vl", "avx512dq"]);
        let level = match self.0.arch {
            Arch::X86_64 if avx512 => Level::Avx512,
            Arch::X86_64 if avx2 => Level::Avx2,
            Arch::X86_64 => Level::Portable,
            Arch::Aarch64 => Level::Neon,
        };
        let vnni = match level {
            Level::Avx512 => has(&["avx512vnni"]),
            Level::Avx2 => has(&["avxvnni"]),
            Level::Neon => has(&["dotprod"]),
            Level::Portable => false,
        };
        if level == Level::Neon && vnni && has(&["i8mm", "bf16"]) {
            return KernelSet::new(level, true, vnni).with_i8mm();
        }
        let bf16 = level == Level::Avx512 && has(&["avx512bf16"]);
        let amx = bf16 && vnni && has(&["amx-tile", "amx-bf16", "amx-int8"]);
        // With AMX factors lie as the dot product wants them, and what is too small for AMX is best done by that.
        let set = KernelSet::new(level, bf16 && (amx || !self.0.slow_bf16_dot), vnni);
        let set = if amx { set.with_amx() } else { set };
        if level == Level::Avx512 && has(&["avx512fp16"]) { set.with_fp16() } else { set }
    }

    /// The proof that this machine can execute its code and kernels.
    ///
    /// # Errors
    /// It cannot; the error lists what it can.
    pub fn isa(self) -> Result<Isa, ProcessorError> {
        let mut all = Isa::available().into_iter();
        let found = all.find(|isa| self.is_available() && isa.kernels() == self.kernels());
        found.ok_or_else(|| ProcessorError::new(self.name(), Some(self.lacking())))
    }

    /// Whether this machine can execute its code.
    #[must_use]
    pub fn is_available(self) -> bool {
        Some(self.0.arch) == Arch::host() && self.0.features.missing_here().is_empty() && least_is_here()
    }

    /// What keeps this machine from executing its code.
    fn lacking(self) -> Vec<&'static str> {
        match Arch::host() {
            Some(host) if host == self.0.arch => {
                let least = NAMES.iter().find(|p| p.0.arch == host).map_or(self.0.features, |p| p.0.features);
                self.0.features.union(least).missing_here()
            }
            _ => vec![self.0.arch.name()],
        }
    }
}

/// Whether this machine has what generated code needs in any case.
fn least_is_here() -> bool {
    let least = NAMES.iter().find(|processor| Some(processor.0.arch) == Arch::host());
    least.is_some_and(|least| least.0.features.missing_here().is_empty())
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)?;
        if self.is_native() { write!(f, " ({})", self.model()) } else { Ok(()) }
    }
}

impl fmt::Debug for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.arch.name(), self.0.name)?;
        self.features().try_for_each(|feature| write!(f, " {feature}"))
    }
}

/// A processor was asked for that does not exist, or that this machine cannot stand in for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessorError {
    asked: String,
    /// What the machine lacks, if the name is known.
    lacking: Option<Vec<&'static str>>,
    choices: Vec<&'static str>,
}

impl ProcessorError {
    fn new(asked: &str, lacking: Option<Vec<&'static str>>) -> Self {
        let choices = Processor::available().map(Processor::name).collect();
        Self { asked: asked.to_owned(), lacking, choices }
    }
}

impl fmt::Display for ProcessorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.lacking {
            None => write!(f, "there is no processor `{}`", self.asked)?,
            Some(lacking) => {
                write!(
                    f,
                    "this machine cannot run code for `{}`: it lacks {}",
                    self.asked,
                    lacking.join(", ")
                )?;
            }
        }
        write!(f, "; it offers {}", Processor::NATIVE)?;
        self.choices.iter().try_for_each(|choice| write!(f, ", {choice}"))
    }
}

impl std::error::Error for ProcessorError {}

#[cfg(target_arch = "x86_64")]
fn is_by_intel() -> bool {
    let id = std::arch::x86_64::__cpuid(0);
    [id.ebx, id.edx, id.ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel"
}

#[cfg(not(target_arch = "x86_64"))]
fn is_by_intel() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for processor in Processor::all() {
            assert_eq!(Processor::named(processor.name()), Some(*processor));
        }
        for processor in Processor::available() {
            assert_eq!(Processor::from_name(processor.name()), Ok(processor));
        }
        assert_eq!(Processor::from_name("native"), Ok(Processor::native()));
    }

    #[test]
    fn errors_list_the_choices() {
        let error = Processor::from_name("mmx").unwrap_err().to_string();
        assert!(error.contains("no processor `mmx`") && error.contains("native"), "{error}");
        let foreign = if Arch::host() == Some(Arch::Aarch64) { "haswell" } else { "neoverse-n1" };
        let error = Processor::from_name(foreign).unwrap_err().to_string();
        assert!(error.contains("lacks") && error.contains("native"), "{error}");
        for processor in Processor::available() {
            assert!(error.contains(processor.name()), "{error}");
        }
    }

    #[test]
    fn what_is_available_has_a_proof() {
        for processor in Processor::available().chain([Processor::native()]) {
            assert_eq!(processor.isa().map(Isa::kernels), Ok(processor.kernels()), "{processor}");
        }
        let foreign = Processor::all().iter().filter(|p| Some(p.arch()) != Arch::host());
        foreign.for_each(|p| assert!(p.isa().is_err(), "{p}"));
    }

    #[test]
    fn native_has_what_its_model_has() {
        let native = Processor::native();
        let model = Processor::named(native.model()).unwrap();
        assert!(model.features().all(|f| native.features().any(|n| n == f)), "{native:?}, {model:?}");
        assert!(model.is_available(), "{model:?}");
    }

    #[test]
    fn the_kernels_are_those_of_the_name() {
        let kernels = |name| Processor::named(name).unwrap().kernels().to_string();
        assert_eq!(kernels("x86-64-v2"), "portable");
        assert_eq!(kernels("haswell"), "avx2");
        assert_eq!(kernels("alderlake"), "avx2-vnni");
        assert_eq!(kernels("skylake-avx512"), "avx512");
        assert_eq!(kernels("icelake-server"), "avx512-vnni");
        assert_eq!(kernels("sapphirerapids"), "avx512-bf16-vnni-amx-fp16");
        assert_eq!(kernels("znver4"), "avx512-bf16-vnni");
        assert_eq!(kernels("cortex-a72"), "neon");
        assert_eq!(kernels("apple-m1"), "neon-dot");
        assert_eq!(kernels("neoverse-v1"), "neon-bf16-dot-i8mm");
    }
}
