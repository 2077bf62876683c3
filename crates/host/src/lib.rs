//! What devices of every kind have of the machine and the process that they live in.
//!
//! A [`Buffer`] is memory that the host and kernels share, [`Allocations`] is the list of what is there. A [`Descriptor`]
//! says what a binding refers to: a [`Part`] of memory, an [`ImageView`], a sampler. A [`CancelToken`] ends dispatches before
//! their time, a [`Fault`] tells of an access that led nowhere. [`SealedCode`] is compiled code that can be kept anywhere,
//! under a [`CacheKey`], in a [`CodeDirectory`] for one place; [`bytes`] is how that is written.
//!
//! Invariant: nothing here knows how kernels are compiled or run.

mod allocations;
pub mod bytes;
mod cache;
mod cancel;
mod descriptor;
mod fault;
mod image;
mod memory;
mod part;

pub use allocations::{Allocation, Allocations, NearestBuffer};
pub use cache::{CacheKey, CodeDirectory, SealedCode, build_id, cache_uuid};
pub use cancel::{CancelToken, StopFlag, StopReason};
pub use descriptor::Descriptor;
pub use fault::{Addresses, Fault};
pub use image::ImageView;
pub use memory::{Buffer, HUGE_PAGE, MEMORY_ALIGN, MemoryError};
pub use part::Part;
