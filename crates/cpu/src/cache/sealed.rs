//! Compiled code that can be kept anywhere: a mark, the key, a checksum and the code.
//!
//! The checksum finds damage, not malice: whoever can write what is loaded can run code.

use std::sync::Arc;

use super::CacheKey;
use crate::binary::Binary;

const MAGIC: &[u8; 8] = b"PHALANX2";
const HASH_BYTES: usize = 32;

/// Compiled code as bytes. Clones share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedCode {
    key: CacheKey,
    bytes: Arc<[u8]>,
}

impl SealedCode {
    /// Seals code.
    pub(crate) fn new(key: &CacheKey, binary: &Binary) -> Self {
        let payload = binary.to_bytes();
        let bytes = [MAGIC, &key.bytes()[..], &checksum(key.bytes(), &payload), &payload].concat();
        Self { key: *key, bytes: bytes.into() }
    }

    /// Reads bytes that [`SealedCode::as_bytes`] gave; nothing if they are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (key, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<HASH_BYTES>()?;
        let (found, payload) = rest.split_first_chunk::<HASH_BYTES>()?;
        let is_sound = checksum(key, payload) == *found;
        is_sound.then(|| Self { key: CacheKey(*key), bytes: bytes.into() })
    }

    /// What it was compiled from.
    pub fn key(&self) -> &CacheKey {
        &self.key
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The code; nothing if another version wrote it.
    pub(crate) fn open(&self) -> Option<Binary> {
        Binary::from_bytes(self.bytes.get(MAGIC.len() + 2 * HASH_BYTES..)?)
    }
}

fn checksum(key: &[u8], payload: &[u8]) -> [u8; HASH_BYTES] {
    *blake3::Hasher::new().update(key).update(payload).finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_code_leads_back_unless_it_is_damaged() {
        let key = CacheKey::new(&[b"key"]);
        let binary = Binary { name: "main".into(), object: vec![7; 100], ..Binary::default() };
        let code = SealedCode::new(&key, &binary);
        let read = SealedCode::from_bytes(code.as_bytes()).unwrap();
        assert_eq!((read.key(), read.open()), (&key, Some(binary)));
        for index in 0..code.as_bytes().len() {
            assert_eq!(SealedCode::from_bytes(&code.as_bytes()[..index]), None, "length {index}");
            let mut damaged = code.as_bytes().to_vec();
            damaged[index] ^= 1;
            assert_eq!(SealedCode::from_bytes(&damaged), None, "byte {index}");
        }
    }
}
