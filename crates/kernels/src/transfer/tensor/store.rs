//! Tile to tensor.

use super::line::Lines;
use super::walk::Walk;
use super::{Memory, TensorAccess, TensorWords, plain};
use crate::kernel::StoreFn;
use crate::transfer::Access;

/// Writes a matrix. Plain stores are done by `store`.
///
/// # Safety
/// `src` is a tile of the layout, the memory is writable, `scratch` has the access's bytes, the processor has the
/// instructions of `store`.
pub(crate) unsafe fn store(
    access: &TensorAccess,
    words: &TensorWords,
    src: *const u8,
    memory: Memory,
    scratch: *mut u8,
    store: StoreFn,
) {
    if let Some(plain) = plain::rectangle(access, words) {
        let (whole, at) =
            (Access::new(access.layout, plain.column_major), memory.offset.wrapping_add(plain.start));
        // SAFETY: forwarded.
        return unsafe { store(&whole, src, memory.base, memory.size, at, plain.stride) };
    }
    let lines = Lines::new(Walk::new(access, words, true), memory);
    for block in lines.blocks() {
        let (plain, at) = lines.access(&block);
        // SAFETY: the block is in the tile; its lines, one after the other, have as much scratch memory as its
        // elements.
        unsafe {
            let src = src.add(at);
            if let Some((offset, stride)) = block.place {
                store(&plain, src, memory.base, memory.size, offset, stride);
                continue;
            }
            let bytes = lines.bytes();
            store(&plain, src, scratch, (block.count * bytes) as u64, 0, bytes as i64);
            lines.distribute(&block, scratch);
        }
    }
}
