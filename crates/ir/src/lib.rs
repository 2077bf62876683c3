//! The intermediate representation: types, operations, text form, verifier, analyses, passes and
//! the meaning of every operation.
//!
//! A [`Module`] is one compute entry point after specialisation. Its values are scalars, pointers
//! and whole cooperative matrices, one per invocation (matrices: one per scope instance); front ends
//! take vectors and aggregates apart. Control flow is structured, data crosses constructs through
//! variables, and every operation is named once in [`op`].
//!
//! This crate knows neither SPIR-V nor LLVM nor Vulkan.

#![forbid(unsafe_code)]

pub mod builder;
mod componentwise;
pub mod distribution;
mod effects;
pub mod entities;
pub mod eval;
pub mod image;
pub mod module;
pub mod op;
pub mod passes;
pub mod printf;
#[cfg(feature = "random")]
pub mod random;
pub mod sample;
pub mod sampler;
pub mod tensor;
pub mod texel;
pub mod text;
pub mod tree;
pub mod types;
pub mod uniformity;
pub mod vector;
pub mod verify;

pub use builder::Builder;
pub use componentwise::Componentwise;
pub use distribution::Distribution;
pub use effects::VarUse;
pub use entities::{Binding, Block, Inst, Label, Value, Var};
pub use image::{ImageDim, ImageKind, ImageLayout, ImageLevel, ImageUse, Swizzle};
pub use module::{
    BindingInfo, BindingKind, Function, InstInfo, LocId, MAX_DISPATCH_INVOCATIONS, Module, SourceLoc,
    ValueInfo, VarInfo, excess,
};
pub use op::{
    AtomicOp, Barrier, BinaryOp, Builtin, CompareOp, ConvertKind, ConvertOp, ImageOp, MemFlags, MulAddFlags,
    Op, ReduceOp, Rounding, SubgroupOp, UnaryOp,
};
pub use sample::{LodKind, SampleKind, SampleOp};
pub use sampler::{AddressMode, CompareFunction, Filter, Reduction, Sampler};
pub use tensor::{Clamp, MatReduceKind, TensorAccess, TensorView};
pub use texel::{Format, Numeric};
pub use tree::Tree;
pub use types::{MatType, Scalar, Scope, Space, Type, Use};
pub use uniformity::{Guard, Shape, Uniformity};
pub use vector::{Component, MatrixLayout, VecMatMul, VecOuterAdd};
pub use verify::{Verified, VerifyError, VerifyErrors, verify};
