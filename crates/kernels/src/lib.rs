//! Matrix and vector kernels for CPUs: multiply, pack, convert, transpose, element-wise mathematics.
//!
//! A cooperative matrix lives in a *tile*: private, 64-byte aligned memory of one subgroup, in a layout that this
//! crate chooses ([`KernelSet::layout`]). Compiled code calls the kernels by index through a table of function pointers
//! ([`Isa::table`], [`KernelId`]) with static parameter structs, which are plain bytes and may be embedded in
//! cached code, and run-time pointers.
//!
//! Code map: `elem`, `layout` and `isa` are the vocabulary; `kernel` is the table; `mul_add`, `transfer`,
//! `element`, `relayout` and `vector` are the algorithms, written once over the traits of `simd`; `portable` and `arch` implement
//! those for each instruction set; `instantiate` compiles the one with the other.
//!
//! Invariant: this crate knows nothing of the IR. What compiled code calls owns nothing: it takes no lock and no memory
//! and has nothing to drop, so that a kernel that is sent to an address without memory can be left where it is, its
//! stack abandoned.

mod arch;
mod cache;
mod elem;
mod element;
mod float;
mod instantiate;
mod isa;
mod kernel;
mod layout;
pub mod math;
mod mul_add;
pub mod peak;
mod portable;
mod processor;
mod relayout;
mod simd;
mod transfer;
mod vector;

pub use elem::{Elem, Use};
pub use element::{ComponentParams, ConvertParams, ElementParams};
pub use isa::{Isa, KernelSet, Level, Ready};
pub use kernel::{
    BinaryFn, ConvertFn, ExtractFn, ExtractLanesFn, FillFn, InsertFn, InsertLanesFn, KernelId, LoadFn,
    LoadLanesFn, LoadTensorFn, MulAddFn, RotateFn, ScaleFn, ScaleLanesFn, SplatLanesFn, StoreFn,
    StoreLanesFn, StoreTensorFn, Table, UnaryFn, VecMatMulFn, VecOuterAddFn,
};
pub use layout::TileLayout;
pub use mul_add::wishes::Wishes;
pub use mul_add::{Grid, MulAdd, MulAddParams, Plan};
pub use processor::{Arch, Processor, ProcessorError};
pub use relayout::{Relayout, RelayoutParams};
pub use transfer::Access;
pub use transfer::lanes::LaneAccess;
pub use transfer::tensor::{Clamp, MAX_DIMS, TensorAccess, TensorWords};
pub use vector::{
    MAX_VECTOR_LANES, Piece, VecMatMul, VecMatMulParams, VecOuterAdd, VecOuterAddParams, VecPlan,
};
