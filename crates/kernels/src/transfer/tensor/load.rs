//! Tensor to tile.

use super::line::Lines;
use super::walk::Walk;
use super::{Memory, TensorAccess, TensorWords, plain};
use crate::element::zero_padding;
use crate::kernel::LoadFn;
use crate::transfer::Access;

/// Reads a matrix. Elements that the view clips come from the tile `object`, which may be `dst`. Plain loads are done
/// by `load`.
///
/// # Safety
/// `dst` is a tile of the layout, `object` too if anything is clipped, the memory is readable, `scratch` has the
/// access's bytes, the processor has the instructions of `load`.
pub(crate) unsafe fn load(
    access: &TensorAccess,
    words: &TensorWords,
    dst: *mut u8,
    memory: Memory,
    (object, scratch): (*const u8, *mut u8),
    load: LoadFn,
) {
    if let Some(plain) = plain::rectangle(access, words) {
        let (whole, at) =
            (Access::new(access.layout, plain.column_major), memory.offset.wrapping_add(plain.start));
        // SAFETY: forwarded.
        return unsafe { load(&whole, dst, memory.base, memory.size, at, plain.stride) };
    }
    let lines = Lines::new(Walk::new(access, words, false), memory);
    for block in lines.blocks() {
        let (plain, at) = lines.access(&block);
        // SAFETY: the block is in the tile; its lines, one after the other, have as much scratch memory as its
        // elements. Clipped elements are read from the object before the block of the tile is written.
        unsafe {
            let dst = dst.add(at);
            if let Some((offset, stride)) = block.place {
                load(&plain, dst, memory.base, memory.size, offset, stride);
                continue;
            }
            lines.collect(&block, scratch, object);
            let bytes = lines.bytes();
            load(&plain, dst, scratch, (block.count * bytes) as u64, 0, bytes as i64);
        }
    }
    // SAFETY: forwarded.
    unsafe { zero_padding(&access.layout, dst) };
}
