//! The instructions that a code generator uses on its own account, and which processors have them.

/// A feature: as LLVM calls it, and whether this machine has it.
struct Feature {
    name: &'static str,
    is_here: fn() -> bool,
}

/// A set of features, a bit for each in the order of [`ALL`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Features(u64);

impl Features {
    /// Those that this machine has.
    pub(super) fn of_this_machine() -> Self {
        let here = ALL.iter().enumerate().filter(|(_, feature)| (feature.is_here)());
        Self(here.fold(0, |set, (bit, _)| set | 1 << bit))
    }

    /// LLVM's names.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        let of_set = move |(bit, _): &(usize, &Feature)| self.0 >> bit & 1 == 1;
        ALL.iter().enumerate().filter(of_set).map(|(_, feature)| feature.name)
    }

    /// How many there are.
    pub(super) fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Those of either set.
    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The names of those that this machine lacks.
    pub(super) fn missing_here(self) -> Vec<&'static str> {
        Self(self.0 & !Self::of_this_machine().0).names().collect()
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! x86 {
    ($name:tt) => {
        std::is_x86_feature_detected!($name)
    };
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! x86 {
    ($name:tt) => {
        false
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! arm {
    ($name:tt) => {
        std::arch::is_aarch64_feature_detected!($name)
    };
}

#[cfg(not(target_arch = "aarch64"))]
macro_rules! arm {
    ($name:tt) => {
        false
    };
}

/// The standard library does not tell of AMX, nor does it ask for the permission.
macro_rules! amx {
    ($name:tt) => {{
        #[cfg(target_arch = "x86_64")]
        let is_here = crate::arch::x86_64::amx::is_here();
        #[cfg(not(target_arch = "x86_64"))]
        let is_here = false;
        is_here
    }};
}

/// Declares the features: an identifier, LLVM's name, and the standard library's.
macro_rules! features {
    ($($id:ident $name:literal $detect:ident $std:tt;)*) => {
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "only to number the identifiers")]
        enum Number { $($id),* }

        const ALL: &[Feature] = &[$(Feature { name: $name, is_here: || $detect!($std) }),*];

        $(const $id: u64 = 1 << Number::$id as u64;)*
    };
}

features! {
    SSE3 "sse3" x86 "sse3";
    SSSE3 "ssse3" x86 "ssse3";
    SSE41 "sse4.1" x86 "sse4.1";
    SSE42 "sse4.2" x86 "sse4.2";
    POPCNT "popcnt" x86 "popcnt";
    CX16 "cx16" x86 "cmpxchg16b";
    AVX "avx" x86 "avx";
    AVX2 "avx2" x86 "avx2";
    BMI "bmi" x86 "bmi1";
    BMI2 "bmi2" x86 "bmi2";
    F16C "f16c" x86 "f16c";
    FMA "fma" x86 "fma";
    LZCNT "lzcnt" x86 "lzcnt";
    MOVBE "movbe" x86 "movbe";
    AVX512F "avx512f" x86 "avx512f";
    // Vectors of 512 bits, which LLVM 19 tells from the instructions.
    EVEX512 "evex512" x86 "avx512f";
    AVX512BW "avx512bw" x86 "avx512bw";
    AVX512CD "avx512cd" x86 "avx512cd";
    AVX512DQ "avx512dq" x86 "avx512dq";
    AVX512VL "avx512vl" x86 "avx512vl";
    VBMI "avx512vbmi" x86 "avx512vbmi";
    VBMI2 "avx512vbmi2" x86 "avx512vbmi2";
    VNNI "avx512vnni" x86 "avx512vnni";
    BITALG "avx512bitalg" x86 "avx512bitalg";
    VPOPCNTDQ "avx512vpopcntdq" x86 "avx512vpopcntdq";
    IFMA "avx512ifma" x86 "avx512ifma";
    BF16 "avx512bf16" x86 "avx512bf16";
    FP16 "avx512fp16" x86 "avx512fp16";
    AVXVNNI "avxvnni" x86 "avxvnni";
    GFNI "gfni" x86 "gfni";
    SSE4A "sse4a" x86 "sse4a";
    // Matrix registers, which generated code leaves to kernels.
    AMX_TILE "amx-tile" amx "amx-tile";
    AMX_BF16 "amx-bf16" amx "amx-bf16";
    AMX_INT8 "amx-int8" amx "amx-int8";
    NEON "neon" arm "neon";
    FP_ARMV8 "fp-armv8" arm "neon";
    FULLFP16 "fullfp16" arm "fp16";
    LSE "lse" arm "lse";
    RDM "rdm" arm "rdm";
    DOTPROD "dotprod" arm "dotprod";
    RCPC "rcpc" arm "rcpc";
    RCPC2 "rcpc-immo" arm "rcpc2";
    ARM_BF16 "bf16" arm "bf16";
    I8MM "i8mm" arm "i8mm";
    SVE "sve" arm "sve";
}

pub(super) const X86_64_V2: Features = Features(SSE3 | SSSE3 | SSE41 | SSE42 | POPCNT | CX16);
pub(super) const HASWELL: Features =
    Features(X86_64_V2.0 | AVX | AVX2 | BMI | BMI2 | F16C | FMA | LZCNT | MOVBE);
pub(super) const ALDERLAKE: Features = Features(HASWELL.0 | AVXVNNI | GFNI);
pub(super) const SKYLAKE_AVX512: Features =
    Features(HASWELL.0 | AVX512F | EVEX512 | AVX512BW | AVX512CD | AVX512DQ | AVX512VL);
/// What Ice Lake and Zen 4 brought.
const YOUNGER: u64 = VBMI | VBMI2 | VNNI | BITALG | VPOPCNTDQ | IFMA | GFNI;
pub(super) const ICELAKE_SERVER: Features = Features(SKYLAKE_AVX512.0 | YOUNGER);
pub(super) const SAPPHIRERAPIDS: Features =
    Features(ICELAKE_SERVER.0 | BF16 | FP16 | AVXVNNI | AMX_TILE | AMX_BF16 | AMX_INT8);
pub(super) const ZNVER4: Features = Features(ICELAKE_SERVER.0 | BF16 | SSE4A);
pub(super) const ZNVER5: Features = Features(ZNVER4.0 | AVXVNNI);
pub(super) const CORTEX_A72: Features = Features(NEON | FP_ARMV8);
pub(super) const NEOVERSE_N1: Features = Features(CORTEX_A72.0 | FULLFP16 | LSE | RDM | DOTPROD | RCPC);
pub(super) const APPLE_M1: Features = Features(NEOVERSE_N1.0 | RCPC2);
pub(super) const NEOVERSE_V1: Features = Features(NEOVERSE_N1.0 | RCPC2 | ARM_BF16 | I8MM | SVE);
