//! The memory that a dispatch may access, copied.

use phalanx_host::{MemoryError, Part};

/// Parts of memory, those that overlap together as one block, so that what is written through one of them is seen
/// through the others.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    /// By address.
    parts: Vec<Part<'a>>,
    /// By address.
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    address: u64,
    size: u64,
    /// What it was.
    before: Vec<u8>,
}

impl<'a> Blocks<'a> {
    /// The blocks that the parts make, with what they hold now.
    pub(super) fn read(mut parts: Vec<Part<'a>>) -> Result<Self, MemoryError> {
        parts.retain(|part| part.size() > 0);
        parts.sort_unstable_by_key(|part| (part.address(), part.size()));
        parts.dedup();
        let mut blocks = Vec::<Block>::new();
        for part in &parts {
            match blocks.last_mut() {
                Some(last) if part.address() < last.address + last.size => {
                    last.size = last.size.max(part.address() - last.address + part.size());
                }
                _ => blocks.push(Block { address: part.address(), size: part.size(), before: Vec::new() }),
            }
        }
        for block in &mut blocks {
            block.before = zeros(block.size)?;
        }
        let mut this = Self { parts, blocks: Vec::new() };
        for part in &this.parts {
            let (block, range) = find(&blocks, *part).expect("each part lies in a block");
            part.read(0, &mut blocks[block].before[range])?;
        }
        this.blocks = blocks;
        Ok(this)
    }

    /// Address and bytes of each block, to be changed.
    pub(super) fn copy(&self) -> Result<Vec<(u64, Vec<u8>)>, MemoryError> {
        let copy = |block: &Block| {
            let mut bytes = zeros(block.size)?;
            bytes.copy_from_slice(&block.before);
            Ok((block.address, bytes))
        };
        self.blocks.iter().map(copy).collect()
    }

    /// The block of a part, and where it lies in there.
    pub(super) fn find(&self, part: Part<'_>) -> Option<(usize, std::ops::Range<usize>)> {
        find(&self.blocks, part)
    }

    /// Writes the bytes that have changed in the blocks, and no others: the rest may have been written meanwhile.
    pub(super) fn write_back(&self, now: &[(u64, Vec<u8>)]) -> Result<(), MemoryError> {
        for part in &self.parts {
            let Some((block, range)) = self.find(*part) else { continue };
            let (before, now) = (&self.blocks[block].before[range.clone()], &now[block].1[range]);
            let mut at = 0;
            while let Some(unequal) = before[at..].iter().zip(&now[at..]).position(|(b, n)| b != n) {
                let start = at + unequal;
                let equal = before[start..].iter().zip(&now[start..]).position(|(b, n)| b == n);
                at = equal.map_or(now.len(), |equal| start + equal);
                part.write(start as u64, &now[start..at])?;
            }
        }
        Ok(())
    }
}

fn find(blocks: &[Block], part: Part<'_>) -> Option<(usize, std::ops::Range<usize>)> {
    let index = blocks.partition_point(|block| block.address <= part.address()).checked_sub(1)?;
    let start = part.address() - blocks[index].address;
    let end = start.checked_add(part.size()).filter(|&end| end <= blocks[index].size)?;
    (part.size() > 0).then_some((index, start as usize..end as usize))
}

fn zeros(size: u64) -> Result<Vec<u8>, MemoryError> {
    let refused = || MemoryError::OutOfMemory { bytes: size };
    let length = usize::try_from(size).map_err(|_wide| refused())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_refused| refused())?;
    bytes.resize(length, 0);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use phalanx_host::Buffer;

    use super::*;

    #[test]
    fn parts_that_overlap_are_one_block() {
        let buffer = Buffer::new(64).unwrap();
        let part = |offset, size| buffer.part(offset, Some(size)).unwrap();
        let blocks =
            Blocks::read(vec![part(8, 8), part(0, 10), part(16, 4), part(40, 4), part(40, 0)]).unwrap();
        let place = |offset, size| blocks.find(part(offset, size));
        assert_eq!(place(0, 10), Some((0, 0..10)));
        assert_eq!(place(8, 8), Some((0, 8..16)));
        assert_eq!(place(16, 4), Some((1, 0..4)));
        assert_eq!(place(40, 4), Some((2, 0..4)));
        assert_eq!((place(40, 0), place(30, 2), place(12, 8)), (None, None, None));
        assert_eq!(
            blocks.copy().unwrap().iter().map(|(_, bytes)| bytes.len()).collect::<Vec<_>>(),
            [16, 4, 4]
        );
    }

    #[test]
    fn only_what_changed_is_written() {
        let buffer = Buffer::new(16).unwrap();
        let part = |offset, size| buffer.part(offset, Some(size)).unwrap();
        buffer.write(0, &[1; 16]).unwrap();
        let blocks = Blocks::read(vec![part(0, 8), part(4, 8)]).unwrap();
        let mut now = blocks.copy().unwrap();
        for at in [0, 5, 6, 11] {
            now[0].1[at] = 2;
        }
        // Somebody else writes, too.
        buffer.write(0, &[3; 16]).unwrap();
        blocks.write_back(&now).unwrap();
        assert_eq!(buffer.read(0, 16).unwrap(), [2, 3, 3, 3, 3, 2, 2, 3, 3, 3, 3, 2, 3, 3, 3, 3]);
    }
}
