//! Work in pieces that is no dispatch, such as copies of memory: each thread takes the next piece that nobody has taken.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::pool::{Apart, Pool, Work};

/// What is done for a piece, by its number.
pub type Piece = Box<dyn Fn(u64) + Send + Sync>;

struct Pieces {
    piece: Piece,
    count: u64,
    /// The first that nobody has taken.
    next: Apart<AtomicU64>,
    /// What somebody said who panicked.
    panic: Mutex<Option<String>>,
}

impl Work for Pieces {
    fn work(&self) {
        while self.next.value.load(Ordering::Relaxed) < self.count {
            let number = self.next.value.fetch_add(1, Ordering::Relaxed);
            if number < self.count {
                (self.piece)(number);
            }
        }
    }

    fn panicked(&self, message: String) {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(message);
    }
}

/// Does as many pieces on all threads of a pool, and waits for their end.
pub(crate) fn run(pool: &Pool, count: u64, piece: Piece) -> Result<(), Error> {
    let pieces = Arc::new(Pieces { piece, count, next: Apart::default(), panic: Mutex::default() });
    pool.run(&pieces, usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX));
    let panic = pieces.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    panic.map_or(Ok(()), |message| Err(Error::Panic { message }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn each_piece_is_done_once() {
        for workers in [0, 3] {
            let pool = Pool::new(workers).unwrap();
            for count in [0, 1, 2, 1000] {
                let done: Arc<Vec<AtomicU32>> = Arc::new((0..count).map(|_| AtomicU32::new(0)).collect());
                let seen = Arc::clone(&done);
                let piece = move |number: u64| {
                    seen[number as usize].fetch_add(1, Ordering::Relaxed);
                };
                run(&pool, count, Box::new(piece)).unwrap();
                assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn a_panic_is_an_error() {
        let pool = Pool::new(1).unwrap();
        // Without the hook, which would print.
        let piece: Piece = Box::new(|_number| std::panic::resume_unwind(Box::new("no more".to_owned())));
        let result = run(&pool, 10, piece);
        assert!(matches!(&result, Err(Error::Panic { message }) if message == "no more"), "{result:?}");
    }
}
