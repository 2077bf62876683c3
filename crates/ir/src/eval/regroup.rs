//! The same bytes as scalars of another type.

use crate::types::Scalar;

/// The scalars of type `to` that lie in memory where scalars of type `from` do, one behind the other.
/// Bytes behind the last whole one are dropped.
pub fn regroup(from: Scalar, to: Scalar, scalars: &[u64]) -> Vec<u64> {
    let bytes = scalars.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(from.bytes() as usize));
    let bytes: Vec<u8> = bytes.collect();
    let whole = bytes.chunks_exact(to.bytes() as usize);
    whole.map(|part| part.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_their_places() {
        let bytes = [0x11, 0x22, 0x33, 0x44];
        assert_eq!(regroup(Scalar::I8, Scalar::I32, &bytes), [0x4433_2211]);
        assert_eq!(regroup(Scalar::I32, Scalar::I8, &[0x4433_2211]), bytes);
        assert_eq!(regroup(Scalar::F16, Scalar::F32, &[0x3c00, 0xc000, 1, 2]), [0xc000_3c00, 0x0002_0001]);
        assert_eq!(regroup(Scalar::I64, Scalar::F16, &[u64::MAX - 0xffff]), [0, 0xffff, 0xffff, 0xffff]);
        // What is no whole scalar is dropped; bits above a scalar's are not looked at.
        assert_eq!(regroup(Scalar::I8, Scalar::I16, &[1, 0xff02, 3]), [0x0201]);
        assert_eq!(regroup(Scalar::F32, Scalar::F32, &[]), Vec::<u64>::new());
    }
}
