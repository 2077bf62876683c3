//! The memory that kernels may reach by address.
//!
//! A list of blocks that are there now: buffers of the device, and memory of others that was lent to it. It tells which
//! block is nearest to an address that leads nowhere, and which addresses a checked access may have.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The blocks of a device. Clones are the same list.
#[derive(Clone, Debug, Default)]
pub struct Allocations(Arc<List>);

#[derive(Debug, Default)]
struct List {
    blocks: Mutex<Blocks>,
    /// Whether memory of others was ever among them.
    has_lent: AtomicBool,
}

#[derive(Debug, Default)]
struct Blocks {
    /// Tells blocks apart that begin at one address.
    last: u64,
    /// Sizes by address and number.
    sizes: BTreeMap<(u64, u64), u64>,
}

/// A block's place in the list of a device, which ends with it.
#[derive(Debug)]
pub struct Allocation {
    list: Allocations,
    key: (u64, u64),
    /// What ends with the block's place.
    owner: Mutex<Option<Owner>>,
}

type Owner = Box<dyn fmt::Debug + Send + Sync>;

impl Allocation {
    /// Takes the block out of the list before its end.
    pub fn withdraw(&self) {
        self.list.lock().sizes.remove(&self.key);
        let owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(owner);
    }

    /// The same, with something that is dropped when the block leaves the list.
    pub fn with_owner(self, owner: Owner) -> Self {
        *self.owner.lock().unwrap_or_else(PoisonError::into_inner) = Some(owner);
        self
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.withdraw();
    }
}

impl Allocations {
    /// Lists a block.
    pub fn add(&self, address: u64, size: u64) -> Allocation {
        let mut blocks = self.lock();
        blocks.last += 1;
        let key = (address, blocks.last);
        blocks.sizes.insert(key, size);
        drop(blocks);
        Allocation { list: self.clone(), key, owner: Mutex::default() }
    }

    /// Lists a block of memory that the device did not allocate: it may be a file, and end before its time.
    pub fn lend(&self, address: u64, size: u64) -> Allocation {
        self.0.has_lent.store(true, Ordering::Relaxed);
        self.add(address, size)
    }

    /// Whether memory of others was ever among the blocks.
    pub fn has_lent(&self) -> bool {
        self.0.has_lent.load(Ordering::Relaxed)
    }

    /// The block that is nearest to an address.
    pub fn nearest(&self, address: u64) -> Option<NearestBuffer> {
        let blocks = self.lock();
        let all = blocks.sizes.iter().map(|(&(start, _), &size)| (start, size));
        let distance = |&(start, size): &(u64, u64)| match address.checked_sub(start) {
            None => start - address,
            // A block of no bytes is nowhere, but near.
            Some(offset) => offset.saturating_sub(size.saturating_sub(1)),
        };
        let (start, size) = all.min_by_key(distance)?;
        Some(NearestBuffer { address: start, size, wanted: address })
    }

    /// All blocks, address and size, by their addresses.
    pub fn blocks(&self) -> Vec<(u64, u64)> {
        self.lock().sizes.iter().map(|(&(start, _), &size)| (start, size)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Blocks> {
        // Nothing under this lock panics half-way through a change.
        self.0.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The buffer that is nearest to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearestBuffer {
    /// Its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The address that it is nearest to.
    pub wanted: u64,
}

impl NearestBuffer {
    /// Whether the address is one of the buffer's.
    pub fn is_inside(&self) -> bool {
        self.wanted.checked_sub(self.address).is_some_and(|offset| offset < self.size)
    }

    /// Bytes from the address to the buffer, or to the address from its end; 0 inside of it.
    pub fn distance(&self) -> u64 {
        match self.wanted.checked_sub(self.address) {
            None => self.address - self.wanted,
            Some(offset) => offset.saturating_sub(self.size),
        }
    }
}

impl fmt::Display for NearestBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, size, wanted } = *self;
        let distance = self.distance();
        match wanted.checked_sub(address) {
            None => write!(f, "{distance} bytes before the buffer of {size} bytes at {address:#x}"),
            Some(offset) if offset < size => {
                write!(f, "at byte {offset} of the buffer of {size} bytes at {address:#x}")
            }
            Some(_) => {
                write!(f, "{distance} bytes behind the end of the buffer of {size} bytes at {address:#x}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_block_is_found_on_either_side() {
        let list = Allocations::default();
        assert_eq!(list.nearest(5), None);
        let _low = list.add(100, 10);
        let high = list.add(200, 50);
        let text = |address| list.nearest(address).unwrap().to_string();
        assert_eq!(text(0), "100 bytes before the buffer of 10 bytes at 0x64");
        assert_eq!(text(104), "at byte 4 of the buffer of 10 bytes at 0x64");
        assert_eq!(text(110), "0 bytes behind the end of the buffer of 10 bytes at 0x64");
        assert_eq!(text(190), "10 bytes before the buffer of 50 bytes at 0xc8");
        assert_eq!(list.nearest(u64::MAX).unwrap().address, 200);
        drop(high);
        assert_eq!(list.nearest(u64::MAX).unwrap().address, 100);
    }

    #[test]
    fn blocks_at_one_address_are_told_apart() {
        let list = Allocations::default();
        let (small, large) = (list.lend(64, 1), list.lend(64, 100));
        assert!(list.has_lent());
        large.withdraw();
        drop(large);
        assert_eq!(list.nearest(64).unwrap().size, 1);
        drop(small);
        assert_eq!(list.nearest(64), None);
    }

    #[test]
    fn an_owner_ends_with_its_block() {
        let (list, owner) = (Allocations::default(), Arc::new(()));
        let block = list.lend(64, 16).with_owner(Box::new(Arc::clone(&owner)));
        assert_eq!(Arc::strong_count(&owner), 2);
        block.withdraw();
        assert_eq!((Arc::strong_count(&owner), list.blocks()), (1, vec![]));
        drop(list.lend(64, 16).with_owner(Box::new(Arc::clone(&owner))));
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}
