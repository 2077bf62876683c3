//! Modules, and what they say about themselves.

use std::sync::Arc;

use phalanx_front_spirv::{Info, inspect_specialized, inspect_unspecialized};

use crate::error::Error;

/// A SPIR-V module that was read and understood. Clones refer to the same module.
#[derive(Clone, Debug)]
pub struct Module {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    words: Vec<u32>,
    info: Info,
}

impl Module {
    /// Reads a module.
    ///
    /// # Errors
    ///
    /// [`Error::Spirv`] says what is wrong and where.
    pub fn new(words: &[u32]) -> Result<Self, Error> {
        let info = inspect_unspecialized(words)?;
        Ok(Self { inner: Arc::new(Inner { words: words.to_vec(), info }) })
    }

    /// What it holds and needs, with specialisation constants at their defaults. Where those make no valid
    /// types, such as matrices of 0 rows, it holds what does not depend on them.
    pub fn info(&self) -> &Info {
        &self.inner.info
    }

    /// What it holds and needs with these specialisation constants.
    ///
    /// # Errors
    ///
    /// As [`Module::new`].
    pub fn info_with(&self, specialization: &[(u32, SpecValue)]) -> Result<Info, Error> {
        let bits: Vec<_> = specialization.iter().map(|&(id, value)| (id, value.bits())).collect();
        Ok(inspect_specialized(&self.inner.words, &bits)?)
    }

    /// The words of the module.
    pub fn words(&self) -> &[u32] {
        &self.inner.words
    }

    pub(crate) fn declared(&self) -> &[(u32, u32)] {
        &self.inner.info.declared
    }
}

/// The value of a specialisation constant.
///
/// ```
/// use phalanx::SpecValue;
/// assert_eq!(SpecValue::from(1.0_f32).bits(), 0x3f80_0000);
/// assert_eq!(SpecValue::from(-1_i32).bits(), 0xffff_ffff);
/// assert_eq!(SpecValue::from(true), SpecValue::from_bits(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpecValue(u64);

impl SpecValue {
    /// A value by its bits, upper ones zero.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Its bits.
    pub fn bits(self) -> u64 {
        self.0
    }
}

macro_rules! spec_values {
    ($($ty:ty, $value:ident => $bits:expr;)*) => {$(
        impl From<$ty> for SpecValue {
            fn from($value: $ty) -> Self {
                Self($bits)
            }
        }
    )*};
}

spec_values! {
    bool, value => value.into();
    u8, value => value.into();
    u16, value => value.into();
    u32, value => value.into();
    u64, value => value;
    i8, value => value.cast_unsigned().into();
    i16, value => value.cast_unsigned().into();
    i32, value => value.cast_unsigned().into();
    i64, value => value.cast_unsigned();
    f32, value => value.to_bits().into();
    f64, value => value.to_bits();
}
