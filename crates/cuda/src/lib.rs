//! GPUs of NVIDIA: memory, code, dispatches.
//!
//! A [`Gpu`] makes a [`Pipeline`] of PTX and does [`Step`]s in order, most of them a [`Dispatch`] of one. Its driver, `libcuda`, is looked for
//! when a GPU is opened: nothing of it is needed to build or to start a program. `driver` calls it, `context` is what a GPU
//! has open, `memory` is shared with the host, `code` makes PTX code of the GPU, `launch` runs it, `profile` looks at that.
//!
//! Invariant: this crate knows neither SPIR-V nor Vulkan. A dispatch ends, by its own end, by its time or by a cancellation;
//! a GPU whose kernel faults is lost, and says so to all who use it afterwards, while the process goes on.

mod arguments;
mod binary;
mod code;
mod context;
mod driver;
mod error;
mod gpu;
mod launch;
mod maps;
mod memory;
mod occupancy;
mod parts;
mod profile;
mod stalls;
mod wait;

pub use code::Pipeline;
pub use error::Error;
pub use gpu::{Gpu, Properties, Rates};
pub use launch::{Dispatch, Report, Step};
pub use occupancy::{Bound, Occupancy};
pub use phalanx_back_nvptx::Arch;
pub use profile::Seen;
