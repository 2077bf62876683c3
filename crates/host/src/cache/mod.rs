//! Compiled code that is kept, by what it was compiled from.
//!
//! A [`CacheKey`] is a hash of all that decides about a pipeline's code: what the caller compiles,
//! the machine that it is compiled for, and the compiler itself.

mod build_id;
mod disk;
mod sealed;
mod secret;

use std::fmt;

pub use disk::CodeDirectory;
pub use sealed::SealedCode;

/// Identifies a pipeline by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// A key of parts, none of which runs into the next.
    pub fn new(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Names the compiler: two that differ in code differ in this.
pub fn build_id() -> &'static [u8] {
    build_id::get()
}

/// Names the compiler, the machine that it makes code for, and who can authenticate its code: sealed code
/// of another name is of no use. What it tells of the user's secret is a hash.
pub fn cache_uuid(machine: &dyn fmt::Debug) -> [u8; 16] {
    let machine = format!("{machine:?}");
    let reader = secret::get().map_or(CacheKey([0; 32]), |secret| CacheKey::new(&[b"uuid", secret]));
    let key = CacheKey::new(&[build_id(), machine.as_bytes(), reader.bytes()]);
    std::array::from_fn(|i| key.0[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(CacheKey::new(&[b"ab", b"c"]), CacheKey::new(&[b"a", b"bc"]));
        assert_ne!(CacheKey::new(&[b"a"]), CacheKey::new(&[b"a", b""]));
        assert_eq!(CacheKey::new(&[b"a", b"b"]), CacheKey::new(&[b"a", b"b"]));
    }
}
