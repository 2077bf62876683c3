//! The GPUs that code is made for.

use phalanx_emit_llvm::Caps;
use std::fmt;
use std::str::FromStr;

/// An architecture of GPUs, as LLVM and `ptxas` name it. Code for one runs on later ones, but for those whose name ends
/// with a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// Ampere: A100.
    Sm80,
    /// Ada: L4, L40, RTX 40.
    Sm89,
    /// Hopper with all that only Hopper has: H100, H200.
    Sm90a,
}

impl Arch {
    /// All of them, the oldest first.
    pub const ALL: [Self; 3] = [Self::Sm80, Self::Sm89, Self::Sm90a];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sm80 => "sm_80",
            Self::Sm89 => "sm_89",
            Self::Sm90a => "sm_90a",
        }
    }

    /// The version of PTX that code is written in: the least that knows the architecture and what is used of it.
    pub(crate) const fn version(self) -> &'static str {
        match self {
            Self::Sm80 | Self::Sm89 => "+ptx78",
            Self::Sm90a => "+ptx80",
        }
    }

    /// The newest architecture whose code a GPU of this compute capability runs.
    pub fn of_capability(major: u32, minor: u32) -> Option<Self> {
        match (major, minor) {
            (9, 0) => Some(Self::Sm90a),
            (8, 9) | (10.., _) => Some(Self::Sm89),
            (8, _) => Some(Self::Sm80),
            _ => None,
        }
    }

    /// Most bytes of memory that a work-group shares.
    pub const fn shared_bytes(self) -> u32 {
        match self {
            Self::Sm80 => 163 << 10,
            Self::Sm89 => 99 << 10,
            Self::Sm90a => 227 << 10,
        }
    }

    /// Whether it converts floats of 8 bits to halves, in the version of PTX that code is written in.
    pub(crate) fn converts_bytes(self) -> bool {
        self == Self::Sm90a
    }

    /// Whether a kernel can wait for those before it.
    pub(crate) fn has_dependent_launch(self) -> bool {
        self == Self::Sm90a
    }

    /// Whether groups of four warps multiply from shared memory.
    pub(crate) fn has_wgmma(self) -> bool {
        self == Self::Sm90a
    }

    /// What its instructions do.
    pub(crate) const fn caps(self) -> Caps {
        Caps {
            is_x86: false,
            native_f16: false,
            f16_conversion: true,
            fma: true,
            mask_registers: false,
            vnni: false,
            register_bytes: 4,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no architecture has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no architecture is called {found}; there are 80, 89 and 90a")]
pub struct UnknownArch {
    found: String,
}

impl FromStr for Arch {
    type Err = UnknownArch;

    /// Reads a name, with or without `sm_`.
    fn from_str(name: &str) -> Result<Self, UnknownArch> {
        let number = name.strip_prefix("sm_").unwrap_or(name);
        let is_it = |arch: &Self| arch.name().strip_prefix("sm_") == Some(number);
        Self::ALL.into_iter().find(is_it).ok_or_else(|| UnknownArch { found: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_others_refused() {
        for arch in Arch::ALL {
            assert_eq!(arch.name().parse(), Ok(arch));
        }
        assert_eq!("90a".parse(), Ok(Arch::Sm90a));
        assert!("sm_90".parse::<Arch>().is_err());
    }

    #[test]
    fn code_of_one_generation_runs_on_the_next() {
        assert_eq!(Arch::of_capability(9, 0), Some(Arch::Sm90a));
        assert_eq!(Arch::of_capability(8, 6), Some(Arch::Sm80));
        assert_eq!(Arch::of_capability(12, 0), Some(Arch::Sm89));
        assert_eq!(Arch::of_capability(7, 5), None);
    }
}
