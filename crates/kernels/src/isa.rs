//! Which instructions the kernels may use.
//!
//! An [`Isa`] can only be obtained for instructions that the running processor has, so holding one is the proof
//! that its kernels may be called.

use std::fmt;

/// The vector extension that the kernels are written in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Plain Rust, whatever the target's base instruction set is.
    Portable,
    /// 128-bit vectors of aarch64.
    Neon,
    /// 256-bit vectors with FMA and F16C.
    Avx2,
    /// 512-bit vectors: F, BW, VL and DQ.
    Avx512,
}

/// A set of instructions that the running processor has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Isa {
    level: Level,
    bf16_dot: bool,
    vnni: bool,
}

/// The environment variable asks for instructions that do not exist here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IsaError {
    asked: String,
    choices: Vec<String>,
}

impl fmt::Display for IsaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}: this machine offers native", Isa::ENV, self.asked)?;
        self.choices.iter().try_for_each(|choice| write!(f, ", {choice}"))
    }
}

impl std::error::Error for IsaError {}

impl Isa {
    /// The environment variable that [`Isa::detect`] honours.
    pub const ENV: &'static str = "PHALANX_ISA";

    /// Runs everywhere.
    pub const PORTABLE: Self = Self { level: Level::Portable, bf16_dot: false, vnni: false };

    /// The best instructions of this machine, or those that the environment variable [`Isa::ENV`] names.
    ///
    /// # Errors
    /// The variable holds a name that is unknown or not available here; the error lists the choices.
    pub fn detect() -> Result<Self, IsaError> {
        match std::env::var(Self::ENV) {
            Ok(name) if !name.is_empty() => Self::from_name(&name),
            Ok(_) | Err(_) => Ok(Self::native()),
        }
    }

    /// The instructions of this name (as [`fmt::Display`] writes it, or `native`).
    ///
    /// # Errors
    /// The name is unknown or not available here; the error lists the choices.
    pub fn from_name(name: &str) -> Result<Self, IsaError> {
        let available = Self::available();
        if name == "native" {
            return Ok(Self::native());
        }
        available.iter().copied().find(|isa| isa.to_string() == name).ok_or_else(|| IsaError {
            asked: name.to_owned(),
            choices: available.iter().map(ToString::to_string).collect(),
        })
    }

    /// The best instructions of this machine: all it has, with one exception. On Intel processors the bf16 dot
    /// product of vectors takes four times as long as an f32 FMA and so does half its work in the same time
    /// (measured on Sapphire Rapids; its fast bf16 is in AMX), while on AMD's it does twice the work.
    #[must_use]
    pub fn native() -> Self {
        let mut list = Self::available();
        list.retain(|isa| !(isa.bf16_dot && slow_bf16_dot()));
        list.last().copied().unwrap_or(Self::PORTABLE)
    }

    /// Everything this machine can run, the best last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut list = vec![Self::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            let (avx2, avx512) = (has_avx2(), has_avx512());
            let variants = |level, bf16_dot: bool, vnni: bool| {
                [(false, false), (true, false), (false, true), (true, true)]
                    .into_iter()
                    .filter(move |&(bf16, int8)| (!bf16 || bf16_dot) && (!int8 || vnni))
                    .map(move |(bf16_dot, vnni)| Self { level, bf16_dot, vnni })
            };
            if avx2 {
                list.extend(variants(Level::Avx2, false, is_x86_feature_detected!("avxvnni")));
            }
            if avx2 && avx512 {
                let bf16 = is_x86_feature_detected!("avx512bf16");
                let vnni = is_x86_feature_detected!("avx512vnni");
                list.extend(variants(Level::Avx512, bf16, vnni));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            list.push(Self { level: Level::Neon, bf16_dot: false, vnni: false });
        }
        list
    }

    /// The vector extension.
    #[must_use]
    pub const fn level(self) -> Level {
        self.level
    }

    /// Whether pairs of bf16 are multiplied by one instruction.
    #[must_use]
    pub const fn bf16_dot(self) -> bool {
        self.bf16_dot
    }

    /// Whether quads of bytes are multiplied by one instruction.
    #[must_use]
    pub const fn vnni(self) -> bool {
        self.vnni
    }

    /// 32-bit elements in one vector.
    #[must_use]
    pub const fn lanes(self) -> usize {
        match self.level {
            Level::Portable | Level::Neon => 4,
            Level::Avx2 => 8,
            Level::Avx512 => 16,
        }
    }

    /// The names of the instruction sets in use, for reports.
    #[must_use]
    pub fn instruction_sets(self) -> Vec<&'static str> {
        let mut names = match self.level {
            Level::Portable => vec![],
            Level::Neon => vec!["neon"],
            Level::Avx2 => vec!["avx2", "fma", "f16c"],
            Level::Avx512 => vec!["avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq"],
        };
        if self.bf16_dot {
            names.push("avx512bf16");
        }
        if self.vnni {
            names.push(if self.level == Level::Avx2 { "avxvnni" } else { "avx512vnni" });
        }
        names
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            Level::Portable => "portable",
            Level::Neon => "neon",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        })?;
        if self.bf16_dot {
            f.write_str("-bf16")?;
        }
        if self.vnni {
            f.write_str("-vnni")?;
        }
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
}

#[cfg(target_arch = "x86_64")]
fn slow_bf16_dot() -> bool {
    let id = std::arch::x86_64::__cpuid(0);
    [id.ebx, id.edx, id.ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel"
}

#[cfg(not(target_arch = "x86_64"))]
fn slow_bf16_dot() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for isa in Isa::available() {
            assert_eq!(Isa::from_name(&isa.to_string()), Ok(isa));
        }
        assert_eq!(Isa::from_name("native"), Ok(Isa::native()));
        let error = Isa::from_name("mmx").unwrap_err().to_string();
        assert!(error.contains("PHALANX_ISA=mmx") && error.contains("portable"), "{error}");
    }
}
