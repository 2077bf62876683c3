//! Pools of sets: they count what they were promised.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use vulkanalia_sys as vk;

use super::{Kind, LayoutBinding, SetLayout};

/// What sets take from a pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    sets: u64,
    inline_bindings: u64,
    /// Descriptors by their types, each once; bytes for inline uniform blocks.
    descriptors: SmallVec<[(vk::DescriptorType, u64); 4]>,
}

impl Usage {
    /// What a pool is created with.
    pub(crate) fn of_pool(
        max_sets: u32,
        inline_bindings: u32,
        sizes: impl IntoIterator<Item = (vk::DescriptorType, u32)>,
    ) -> Self {
        let mut usage =
            Self { sets: max_sets.into(), inline_bindings: inline_bindings.into(), ..Self::default() };
        for (ty, count) in sizes {
            usage.add(ty, count.into());
        }
        usage
    }

    /// What a set takes.
    pub(crate) fn of_set(layout: &SetLayout, variable_count: Option<u32>) -> Self {
        let mut usage = Self { sets: 1, ..Self::default() };
        let used = |binding: &&LayoutBinding| binding.count_in(variable_count) > 0;
        for binding in layout.bindings.iter().filter(used) {
            usage.add(binding.ty, binding.count_in(variable_count).into());
            usage.inline_bindings += u64::from(binding.kind() == Kind::Inline);
        }
        usage
    }

    fn add(&mut self, ty: vk::DescriptorType, count: u64) {
        match self.descriptors.iter_mut().find(|found| found.0 == ty) {
            Some(found) => found.1 += count,
            None => self.descriptors.push((ty, count)),
        }
    }

    /// Takes another's part, if there is enough of all.
    fn take(&mut self, other: &Self) -> bool {
        let enough = |part: &(vk::DescriptorType, u64)| {
            self.descriptors.iter().any(|found| found.0 == part.0 && found.1 >= part.1)
        };
        let is_enough = self.sets >= other.sets
            && self.inline_bindings >= other.inline_bindings
            && other.descriptors.iter().all(enough);
        if is_enough {
            self.sets -= other.sets;
            self.inline_bindings -= other.inline_bindings;
            for (ty, count) in &mut self.descriptors {
                let taken = other.descriptors.iter().find(|part| part.0 == *ty);
                *count -= taken.map_or(0, |part| part.1);
            }
        }
        is_enough
    }

    /// Gives another's part back.
    fn give_back(&mut self, other: &Self) {
        self.sets += other.sets;
        self.inline_bindings += other.inline_bindings;
        for (ty, count) in &other.descriptors {
            self.add(*ty, *count);
        }
    }
}

/// A pool of sets.
#[derive(Debug)]
pub(crate) struct DescriptorPool {
    all: Usage,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    left: Usage,
    sets: BTreeSet<u64>,
}

impl DescriptorPool {
    /// A pool of what can be taken from it.
    pub(crate) fn new(all: Usage) -> Self {
        let state = Mutex::new(State { left: all.clone(), sets: BTreeSet::new() });
        Self { all, state }
    }

    /// Takes what a set needs.
    pub(crate) fn take(&self, usage: &Usage) -> Result<(), vk::Result> {
        if self.lock().left.take(usage) { Ok(()) } else { Err(vk::Result::ERROR_OUT_OF_POOL_MEMORY) }
    }

    /// Gives back what was taken for a set that was not made.
    pub(crate) fn give_back(&self, usage: &Usage) {
        self.lock().left.give_back(usage);
    }

    /// Remembers a set by its handle.
    pub(crate) fn add(&self, set: u64) {
        self.lock().sets.insert(set);
    }

    /// Forgets a set; whether it was the pool's.
    pub(crate) fn remove(&self, set: u64) -> bool {
        self.lock().sets.remove(&set)
    }

    /// Takes all sets back; gives their handles.
    pub(crate) fn reset(&self) -> BTreeSet<u64> {
        let mut state = self.lock();
        state.left = self.all.clone();
        std::mem::take(&mut state.sets)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock panics half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{binding, layout};
    use super::*;

    const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
    const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER;
    const INLINE: vk::DescriptorType = vk::DescriptorType::INLINE_UNIFORM_BLOCK;

    #[test]
    fn sets_take_and_give_back() {
        let pool = DescriptorPool::new(Usage::of_pool(2, 1, [(STORAGE, 2), (STORAGE, 1), (INLINE, 32)]));
        let layout = layout(vec![binding(0, STORAGE, 2), binding(1, INLINE, 32), binding(2, UNIFORM, 0)]);
        let usage = Usage::of_set(&layout, None);
        pool.take(&usage).unwrap();
        assert_eq!(pool.take(&usage), Err(vk::Result::ERROR_OUT_OF_POOL_MEMORY));
        pool.give_back(&usage);
        pool.take(&usage).unwrap();
        pool.add(7);
        assert_eq!(pool.reset(), BTreeSet::from([7]));
        pool.take(&usage).unwrap();
    }

    #[test]
    fn each_limit_counts() {
        let set = |bindings| Usage::of_set(&layout(bindings), None);
        let pool = || DescriptorPool::new(Usage::of_pool(1, 1, [(STORAGE, 1), (INLINE, 32)]));
        assert!(pool().take(&set(vec![binding(0, STORAGE, 1), binding(3, INLINE, 32)])).is_ok());
        for bindings in [
            vec![binding(0, STORAGE, 2)],
            vec![binding(0, UNIFORM, 1)],
            vec![binding(0, INLINE, 36)],
            vec![binding(0, INLINE, 4), binding(1, INLINE, 4)],
        ] {
            assert!(pool().take(&set(bindings)).is_err());
        }
        let empty = pool();
        empty.take(&set(vec![])).unwrap();
        assert!(empty.take(&set(vec![])).is_err(), "one set only");
    }

    #[test]
    fn a_variable_count_counts_instead_of_the_layouts() {
        let mut last = binding(0, STORAGE, 1000);
        last.flags = vk::DescriptorBindingFlags::VARIABLE_DESCRIPTOR_COUNT;
        let layout = layout(vec![last]);
        let pool = DescriptorPool::new(Usage::of_pool(9, 0, [(STORAGE, 10)]));
        assert!(pool.take(&Usage::of_set(&layout, Some(11))).is_err());
        assert!(pool.take(&Usage::of_set(&layout, Some(10))).is_ok());
        assert!(pool.take(&Usage::of_set(&layout, Some(0))).is_ok());
    }
}
