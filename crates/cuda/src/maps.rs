//! Tensor maps, which tell the GPU's unit that copies boxes where the lines of a buffer are.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{self, CUresult, CUtensorMap, CUtensorMapDataType, CUtensorMapSwizzle};
use phalanx_back_nvptx::abi::{MAP_BYTES, Map, Stride};

/// Bytes of a map.
pub(crate) const BYTES: usize = MAP_BYTES as usize;

/// Most elements along a line: places are signed numbers of 32 bits.
const MAX_ELEMENTS: u64 = 1 << 31;
/// What the distance of lines is a multiple of, and less than.
const STRIDE_ALIGN: u64 = 16;
const MAX_STRIDE: u64 = 1 << 31;

/// The map of a buffer, if there can be one.
pub(crate) fn encode(map: &Map, address: u64, size: u64, push: &[u8]) -> Option<[u8; BYTES]> {
    let stride = bytes_of(map.stride, push)?;
    let ty = match map.element {
        1 => CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        2 => CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        _ => return None,
    };
    let elements = size / u64::from(map.element);
    let fits = stride.is_multiple_of(STRIDE_ALIGN)
        && (1..MAX_STRIDE).contains(&stride)
        && (1..=MAX_ELEMENTS).contains(&elements)
        && address.is_multiple_of(STRIDE_ALIGN);
    if !fits {
        return None;
    }
    let swizzle = match map.span {
        128 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        64 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        _ => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
    };
    let dimensions = [elements, map.lines.into()];
    let (strides, steps) = ([stride], [1_u32, 1]);
    let sizes = [map.span / map.element, map.box_lines];
    let mut encoded = CUtensorMap { opaque: [0; 16] };
    // SAFETY: the driver is there, as a context is; the arrays have as many numbers as two dimensions take and live until it
    // returns; the address is only written down; the map is written.
    let result = unsafe {
        sys::cuTensorMapEncodeTiled(
            &raw mut encoded,
            ty,
            dimensions.len() as u32,
            ptr::without_provenance_mut::<c_void>(address as usize),
            dimensions.as_ptr(),
            strides.as_ptr(),
            sizes.as_ptr(),
            steps.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    };
    let words = encoded.opaque.map(u64::to_le_bytes);
    let bytes = words.as_flattened().first_chunk().copied();
    bytes.filter(|_| result == CUresult::CUDA_SUCCESS)
}

/// A number of bytes that push constants tell.
fn bytes_of(stride: Stride, push: &[u8]) -> Option<u64> {
    let times = match stride.push {
        None => 1,
        Some(at) => {
            let word = u32::from_le_bytes(*push.get(at as usize..)?.first_chunk()?);
            u64::try_from(word.cast_signed()).ok()?
        }
    };
    stride.scale.checked_mul(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn push_constants_tell_how_far_lines_are_apart() {
        let push = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x80];
        let of = |scale, push_at| bytes_of(Stride { scale, push: push_at }, &push);
        assert_eq!(of(96, None), Some(96));
        assert_eq!(of(2, Some(4)), Some(512));
        assert_eq!(of(2, Some(8)), None, "kernels may extend it either way");
        assert_eq!([of(2, Some(9)), of(2, Some(u32::MAX))], [None; 2], "it is not there");
        assert_eq!(of(1 << 60, Some(4)), None, "it is too much");
    }

    /// What the hardware can't be told of is nothing, and the driver is not asked.
    #[test]
    fn lines_that_do_not_fit_have_no_map() {
        let map = |scale| Map {
            binding: 0,
            element: 2,
            stride: Stride { scale, push: None },
            lines: 64,
            span: 128,
            box_lines: 64,
        };
        for (stride, address, size) in [
            (24, 256, 4096),
            (0, 256, 4096),
            (1 << 31, 256, 4096),
            (32, 264, 4096),
            (32, 256, 1),
            (32, 256, 1 << 33),
        ] {
            assert_eq!(encode(&map(stride), address, size, &[]), None, "{stride} {address} {size}");
        }
        assert_eq!(encode(&Map { element: 0, ..map(32) }, 256, 4096, &[]), None);
    }
}
