//! Compiled code that can be kept anywhere: a mark, the key, a seal and the code.
//!
//! The seal is a keyed hash (BLAKE3) with the user's secret over all the rest. So code is executed only
//! if a process of this user has made it, from what the key stands for: whoever reads a sealed piece
//! can neither change a byte of it, sizes and other metadata included, nor present it under another
//! key. A [`SealedCode`] is sound by construction; opening it checks nothing again.

use std::sync::Arc;

use super::{CacheKey, secret};

const MAGIC: &[u8; 8] = b"PHALANX3";
const HASH_BYTES: usize = 32;

/// Compiled code as bytes. Clones share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedCode {
    key: CacheKey,
    bytes: Arc<[u8]>,
}

impl SealedCode {
    /// Seals code.
    pub fn new(key: &CacheKey, payload: &[u8]) -> Self {
        // Without a secret it is of use in this process only, and nobody takes it for sound later.
        let seal = seal(key.bytes(), payload).map_or([0; HASH_BYTES], blake3::Hash::into);
        let bytes = [MAGIC, &key.bytes()[..], &seal, payload].concat();
        Self { key: *key, bytes: bytes.into() }
    }

    /// Reads bytes that [`SealedCode::as_bytes`] gave; nothing unless a process of this user sealed them.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (key, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<HASH_BYTES>()?;
        let (found, payload) = rest.split_first_chunk::<HASH_BYTES>()?;
        // Hashes are compared in constant time: how long it takes must not tell how much is right.
        let is_sound = seal(key, payload)? == blake3::Hash::from(*found);
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

    /// What was sealed.
    pub fn payload(&self) -> &[u8] {
        self.bytes.get(MAGIC.len() + 2 * HASH_BYTES..).unwrap_or_default()
    }
}

/// The seal of a payload under a key; none without a secret.
fn seal(key: &[u8; HASH_BYTES], payload: &[u8]) -> Option<blake3::Hash> {
    let mut hasher = blake3::Hasher::new_keyed(secret::get()?);
    Some(hasher.update(MAGIC).update(key).update(payload).finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_code_leads_back_unless_it_is_damaged() {
        let key = CacheKey::new(&[b"key"]);
        let code = SealedCode::new(&key, &[7; 100]);
        let read = SealedCode::from_bytes(code.as_bytes()).unwrap();
        assert_eq!((read.key(), read.payload()), (&key, &[7; 100][..]));
        for index in 0..code.as_bytes().len() {
            assert_eq!(SealedCode::from_bytes(&code.as_bytes()[..index]), None, "length {index}");
            let mut damaged = code.as_bytes().to_vec();
            damaged[index] ^= 1;
            assert_eq!(SealedCode::from_bytes(&damaged), None, "byte {index}");
        }
    }

    #[test]
    fn a_checksum_that_anybody_can_compute_is_no_seal() {
        let key = CacheKey::new(&[b"key"]);
        let payload = [7; 100];
        let plain = blake3::Hasher::new().update(key.bytes()).update(&payload).finalize();
        let with_mark = blake3::Hasher::new().update(MAGIC).update(key.bytes()).update(&payload).finalize();
        let with_zeros =
            blake3::Hasher::new_keyed(&[0; 32]).update(MAGIC).update(key.bytes()).update(&payload).finalize();
        for checksum in [plain, with_mark, with_zeros, [0; 32].into()] {
            for magic in [MAGIC, b"PHALANX2"] {
                let crafted = [magic, &key.bytes()[..], checksum.as_bytes(), &payload].concat();
                assert_eq!(SealedCode::from_bytes(&crafted), None);
            }
        }
    }

    #[test]
    fn code_cannot_be_presented_under_another_key() {
        let [key, other] = [b"1", b"2"].map(|part| CacheKey::new(&[part]));
        let mut bytes = SealedCode::new(&key, &[]).as_bytes().to_vec();
        bytes[MAGIC.len()..][..HASH_BYTES].copy_from_slice(other.bytes());
        assert_eq!(SealedCode::from_bytes(&bytes), None);
    }
}
