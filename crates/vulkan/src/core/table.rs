//! Tables of objects behind non-dispatchable handles.
//!
//! A handle is a number that the table knows or does not know: a handle that was destroyed, or never
//! created, is found out, whatever its value. Objects of all types have different handles, as
//! `privateData` asks for (*Object Model*): each takes the next number of one count.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Numbers the objects of all tables. It wraps; two objects are then still told apart by their slots, but for
/// those that live four billion objects apart.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Objects of one type.
#[derive(Debug)]
pub(crate) struct Table<T> {
    slots: RwLock<Slots<T>>,
}

#[derive(Debug)]
struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    /// The number of the object that it holds, or held last.
    generation: u32,
    object: Option<Arc<T>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { slots: RwLock::new(Slots { slots: Vec::new(), free: Vec::new() }) }
    }
}

impl<T> Table<T> {
    /// Puts an object in; gives its handle, which is never 0.
    pub(crate) fn insert(&self, object: Arc<T>) -> u64 {
        let mut slots = self.write();
        let index = slots.free.pop().unwrap_or_else(|| {
            slots.slots.push(Slot { generation: 0, object: None });
            (slots.slots.len() - 1) as u32
        });
        let slot = &mut slots.slots[index as usize];
        slot.object = Some(object);
        slot.generation = COUNT.fetch_add(1, Ordering::Relaxed);
        handle(slot.generation, index)
    }

    /// The object of a handle.
    pub(crate) fn get(&self, handle: u64) -> Option<Arc<T>> {
        let slots = self.read();
        let (generation, index) = parts(handle)?;
        let slot = slots.slots.get(index).filter(|slot| slot.generation == generation)?;
        slot.object.clone()
    }

    /// An object that is wanted.
    pub(crate) fn find(&self, is_wanted: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let slots = self.read();
        let mut objects = slots.slots.iter().filter_map(|slot| slot.object.as_ref());
        objects.find(|object| is_wanted(object)).cloned()
    }

    /// Takes an object out; its handle is not valid any more.
    pub(crate) fn remove(&self, handle: u64) -> Option<Arc<T>> {
        let (generation, index) = parts(handle)?;
        let mut slots = self.write();
        let slot = slots.slots.get_mut(index).filter(|slot| slot.generation == generation)?;
        let object = slot.object.take()?;
        slots.free.push(index as u32);
        Some(object)
    }

    fn read(&self) -> RwLockReadGuard<'_, Slots<T>> {
        // Nothing under these locks panics half-way through a change.
        self.slots.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Slots<T>> {
        self.slots.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn handle(generation: u32, index: u32) -> u64 {
    u64::from(generation) << 32 | (u64::from(index) + 1)
}

fn parts(handle: u64) -> Option<(u32, usize)> {
    let index = (handle as u32).checked_sub(1)?;
    Some(((handle >> 32) as u32, index as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_that_are_not_valid_find_nothing() {
        let table = Table::default();
        let a = table.insert(Arc::new('a'));
        let b = table.insert(Arc::new('b'));
        assert_eq!(table.get(a).as_deref(), Some(&'a'));
        assert_eq!(table.remove(a).as_deref(), Some(&'a'));
        assert!(table.get(a).is_none() && table.remove(a).is_none());
        let c = table.insert(Arc::new('c'));
        assert_ne!(a, c, "a slot is used again under another handle");
        assert_eq!(table.get(b).as_deref(), Some(&'b'));
        let other = Table::default();
        let d = other.insert(Arc::new(1));
        assert!(d != b && d != c && table.get(d).is_none(), "objects of other tables have other handles");
        assert!([0, u64::MAX, 3, 1 << 32].iter().all(|&handle| table.get(handle).is_none()));
    }
}
