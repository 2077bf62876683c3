//! Query pools: timestamps.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

use smallvec::SmallVec;
use vulkanalia_sys as vk;

use crate::core::clock;
use crate::core::sync::Notifier;

/// A pool of timestamps.
#[derive(Debug)]
pub(crate) struct QueryPool {
    queries: Box<[Query]>,
    /// Threads that wait for results. Without any, a timestamp wakes nobody, so that many of them
    /// do not disturb the kernels that they measure.
    waiters: AtomicUsize,
}

#[derive(Debug, Default)]
struct Query {
    value: AtomicU64,
    available: AtomicBool,
}

/// How results are to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Bytes from one query to the next.
    pub(crate) stride: u64,
    pub(crate) flags: vk::QueryResultFlags,
}

impl QueryPool {
    /// A pool of so many queries, none of which is available.
    pub(crate) fn new(count: u32) -> Result<Self, vk::Result> {
        let mut queries = Vec::new();
        queries
            .try_reserve_exact(count as usize)
            .map_err(|_no_memory| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
        queries.resize_with(count as usize, Query::default);
        Ok(Self { queries: queries.into(), waiters: AtomicUsize::new(0) })
    }

    /// Whether these queries are in the pool.
    pub(crate) fn has(&self, first: u32, count: u32) -> bool {
        u64::from(first) + u64::from(count) <= self.queries.len() as u64
    }

    /// Makes queries unavailable.
    pub(crate) fn reset(&self, first: u32, count: u32) {
        for query in self.range(first, count) {
            query.available.store(false, Ordering::Release);
        }
    }

    /// Writes the present time to a query.
    pub(crate) fn write_timestamp(&self, query: u32, notifier: &Notifier) {
        let [query] = self.range(query, 1) else { return };
        query.value.store(clock::monotonic(), Ordering::Relaxed);
        query.available.store(true, Ordering::Release);
        // With the fence in `when_available`: either the waiter is counted, or it sees the timestamp.
        fence(Ordering::SeqCst);
        if self.waiters.load(Ordering::Relaxed) != 0 {
            notifier.notify();
        }
    }

    /// Runs a wait for results, as long as which timestamps wake those who wait.
    pub(crate) fn when_available<T>(&self, wait: impl FnOnce() -> T) -> T {
        struct Waiter<'a>(&'a AtomicUsize);
        impl Drop for Waiter<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.waiters.fetch_add(1, Ordering::Relaxed);
        let _waiter = Waiter(&self.waiters);
        fence(Ordering::SeqCst);
        wait()
    }

    /// Whether all of these queries are available.
    pub(crate) fn is_available(&self, first: u32, count: u32) -> bool {
        self.range(first, count).iter().all(|query| query.available.load(Ordering::Acquire))
    }

    /// Gives the results of queries in pieces, each with its offset; says whether all were available.
    ///
    /// *Copying Query Results*: the result of a query that is not available is not written, unless partial results
    /// are wanted, but whether it is available is. Of a timestamp, the partial result is 0.
    pub(crate) fn results(
        &self,
        first: u32,
        count: u32,
        layout: Layout,
        mut put: impl FnMut(u64, &[u8]),
    ) -> bool {
        let is_wide = layout.flags.contains(vk::QueryResultFlags::_64);
        let width = if is_wide { 8 } else { 4 };
        let mut all = true;
        for (query, at) in
            self.range(first, count).iter().zip((0_u64..).map(|i| i.wrapping_mul(layout.stride)))
        {
            let available = query.available.load(Ordering::Acquire);
            all &= available;
            let value = if available { query.value.load(Ordering::Relaxed) } else { 0 };
            let mut bytes = SmallVec::<[u8; 16]>::new();
            let mut from = at.wrapping_add(width);
            if available || layout.flags.contains(vk::QueryResultFlags::PARTIAL) {
                bytes.extend_from_slice(&value.to_le_bytes()[..width as usize]);
                from = at;
            }
            if layout.flags.contains(vk::QueryResultFlags::WITH_AVAILABILITY) {
                bytes.extend_from_slice(&u64::from(available).to_le_bytes()[..width as usize]);
            }
            if !bytes.is_empty() {
                put(from, &bytes);
            }
        }
        all
    }

    /// These queries; none if they are not all in the pool.
    fn range(&self, first: u32, count: u32) -> &[Query] {
        let range = Range { start: first as usize, end: first as usize + count as usize };
        self.queries.get(range).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of results, and whether all were available. Bytes that are not written are `0xEE`.
    fn bytes(pool: &QueryPool, stride: u64, flags: vk::QueryResultFlags) -> (Vec<u8>, bool) {
        let mut bytes = vec![0xEE; 40];
        let all = pool.results(0, 2, Layout { stride, flags }, |at, piece| {
            bytes[at as usize..][..piece.len()].copy_from_slice(piece);
        });
        (bytes, all)
    }

    fn pool() -> QueryPool {
        let pool = QueryPool::new(2).unwrap();
        pool.write_timestamp(1, &Notifier::default());
        pool.queries[1].value.store(0x0102_0304_0506_0708, Ordering::Relaxed);
        pool
    }

    #[test]
    fn results_are_written_where_they_are_available() {
        let pool = pool();
        let (found, all) = bytes(&pool, 8, vk::QueryResultFlags::_64);
        assert!(!all);
        assert_eq!(found[..16], [[0xEE; 8], [8, 7, 6, 5, 4, 3, 2, 1]].concat());
        let (found, _) = bytes(&pool, 4, vk::QueryResultFlags::empty());
        assert_eq!(found[..12], [[0xEE; 4], [8, 7, 6, 5], [0xEE; 4]].concat());
        pool.write_timestamp(0, &Notifier::default());
        assert!(bytes(&pool, 8, vk::QueryResultFlags::_64).1);
        pool.reset(0, 2);
        assert!(!pool.is_available(1, 1));
    }

    #[test]
    fn availability_is_written_always() {
        let flags = vk::QueryResultFlags::_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
        let (found, _) = bytes(&pool(), 20, flags);
        assert_eq!(found[..20], [[0xEE; 8].as_slice(), &[0; 8], &[0xEE; 4]].concat());
        assert_eq!(found[20..36], [8, 7, 6, 5, 4, 3, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
        let (found, _) =
            bytes(&pool(), 8, vk::QueryResultFlags::WITH_AVAILABILITY | vk::QueryResultFlags::PARTIAL);
        assert_eq!(found[..16], [0, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 1, 0, 0, 0]);
    }

    #[test]
    fn queries_outside_of_the_pool_are_nothing() {
        let pool = pool();
        assert!(pool.has(1, 1) && !pool.has(1, 2) && !pool.has(u32::MAX, u32::MAX));
        pool.write_timestamp(7, &Notifier::default());
        pool.reset(1, 2);
        assert!(pool.is_available(1, 1), "a range that reaches outside changes nothing");
    }
}
