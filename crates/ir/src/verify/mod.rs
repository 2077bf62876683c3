//! The gate before every target: only [`verify`] makes a [`Verified`] module, and a verified module
//! makes no pass and no target panic.
//!
//! It collects all errors and never panics, whatever the module holds: every index is checked
//! before it is used. These are the rules.
//!
//! Module
//! - Each work-group axis is at least 1, all together at most [`MAX_WORKGROUP_INVOCATIONS`]. The
//!   subgroup size is a power of two from 4 to 128.
//! - Shared memory and push constants are within [`MAX_SHARED_BYTES`] and [`MAX_PUSH_BYTES`].
//! - A binding's count is at least 1; a uniform buffer is not writable, nor an image without storage use.
//! - A variable has at least 1 element and at most [`MAX_VAR_BYTES`] in all. A table has a scalar
//!   type, a word for each element, and no bits beyond the type's width.
//! - The component type of a matrix is not `bool`; rows and columns are at least 1 and at most
//!   [`MAX_MAT_SIDE`], the elements at most [`MAX_MAT_ELEMS`]; its scope is `Subgroup` or
//!   `Workgroup`.
//!
//! Structure
//! - Block 0 exists. Every other block is the body of at most one construct, and block 0 of none.
//!   Constructs nest at most [`MAX_DEPTH`] deep.
//! - An instruction is in at most one block, and there once. Instructions in no reachable block are
//!   ignored, whatever they hold.
//! - `br`, `return` and `yield` stand last in their block; a block need not have one of them.
//! - A region begins with `params` and ends with `yield`, which stand nowhere else. Within, labels
//!   outside of it are out of reach, and there are no subgroup operations, no barriers but those of
//!   memory, no matrices, no regions and no `return`.
//! - A label belongs to one construct, is one that the function has handed out, and `br` names the
//!   label of an enclosing construct.
//! - A value is the result of one instruction and knows it; it is used only after that instruction
//!   in the same block, or in blocks nested in instructions after it.
//! - A source position, format, binding or variable is one that the module has.
//!
//! Operations
//! - Operands and results have the number and the types that [`Op`](crate::Op) states; arithmetic
//!   is on `f16`, `f32`, `f64` and integers, and memory holds no `bool`.
//! - A constant has no bits beyond its type's width; the axis of a built-in is at most 2.
//! - A pointer to a buffer is that of a buffer's binding, an operation on images has an image's; it has as many
//!   coordinates as the image, and a level only if the image is not a storage image.
//! - A shared object lies within the shared memory.
//! - A table is not written; neither are push constants, nor a binding that is not writable (as far
//!   as the pointer is seen to come from there by `ptr_add` alone).
//! - The cluster of a subgroup reduction is a power of two and at most the subgroup size.
//! - The factors and the sum of a matrix multiply-add agree in shape, scope, use and class (all
//!   floats or all integers).
//! - A reduction's operation fits its type; a barrier's execution scope is at most `Workgroup`.
//! - Saturation is only for conversions to 8-bit floats.
//! - The parameters and the result of a region have the types that its operation states.
//! - A reduction keeps the sides along which it does not reduce; the sides of squares are even.
//! - A tensor layout and a view have 1 to 5 dimensions, a view without dimensions of its own at most
//!   as many as the layout; its permutation names each once. A unit is at least a byte.

mod image;
mod lines;
mod regions;
mod structure;
mod types;
mod vector;
mod want;

#[cfg(test)]
mod tests;

use crate::entities::{Block, Inst, Label, Value, Var};
use crate::module::{Module, SourceLoc};
use crate::types::{MatType, Scalar, Type};
use std::fmt;
use std::ops::Deref;

/// Most invocations of a work-group.
pub const MAX_WORKGROUP_INVOCATIONS: u64 = 4096;
/// Most bytes of shared memory, in which scratch memory for matrices may lie, too.
pub const MAX_SHARED_BYTES: u32 = 1 << 28;
/// Most bytes of push constants.
pub const MAX_PUSH_BYTES: u32 = 1 << 12;
/// Most bytes of a variable.
pub const MAX_VAR_BYTES: u64 = 1 << 28;
/// Most rows or columns of a matrix.
pub const MAX_MAT_SIDE: u32 = 1 << 16;
/// Most elements of a matrix.
pub const MAX_MAT_ELEMS: u64 = 1 << 24;
/// Deepest nesting of constructs, so that passes and targets may recurse over them.
pub const MAX_DEPTH: usize = 512;
/// Most errors that are collected.
const MAX_ERRORS: usize = 100;

/// A module that obeys every rule of this file.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified(Module);

impl Verified {
    /// The module, to be changed.
    pub fn into_inner(self) -> Module {
        self.0
    }
}

impl Deref for Verified {
    type Target = Module;

    fn deref(&self) -> &Module {
        &self.0
    }
}

/// Checks a module.
///
/// # Errors
///
/// All rules it breaks, in program order; at most the first hundred.
pub fn verify(module: Module) -> Result<Verified, VerifyErrors> {
    let errors = check(&module);
    if errors.is_empty() { Ok(Verified(module)) } else { Err(VerifyErrors(errors)) }
}

/// The rules a module breaks, in program order; at most the first hundred.
pub fn check(module: &Module) -> Vec<VerifyError> {
    structure::Checker::new(module).run()
}

/// The rules that a module breaks, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyErrors(Vec<VerifyError>);

impl VerifyErrors {
    /// The errors in program order.
    pub fn errors(&self) -> &[VerifyError] {
        &self.0
    }
}

impl From<Vec<VerifyError>> for VerifyErrors {
    fn from(errors: Vec<VerifyError>) -> Self {
        Self(errors)
    }
}

impl fmt::Display for VerifyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifyErrors {}

/// A broken rule and where.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyError {
    /// The instruction, or none for what concerns the module's head.
    pub inst: Option<Inst>,
    /// Name of the operation, or empty.
    pub op: &'static str,
    /// The blocks around it, outermost first.
    pub path: Vec<Block>,
    /// Its source position, if it has one.
    pub loc: Option<SourceLoc>,
    /// What is wrong.
    pub problem: Problem,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(inst) = self.inst {
            write!(f, "{inst} ({})", self.op)?;
            for (i, block) in self.path.iter().enumerate() {
                write!(f, "{}{block}", if i == 0 { " in " } else { "/" })?;
            }
            f.write_str(": ")?;
        }
        self.problem.fmt(f)?;
        match &self.loc {
            Some(loc) if loc.line != 0 => write!(f, " [{}:{}]", loc.file, loc.line),
            Some(loc) if loc.word != 0 => write!(f, " [word {}]", loc.word),
            Some(_) | None => Ok(()),
        }
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message says it")]
pub enum Problem {
    #[error("{what} is {found}, expected {expected}")]
    Limit { what: &'static str, found: u64, expected: &'static str },
    #[error("binding {index}: a uniform buffer, a sampler or an image to be sampled cannot be writable")]
    WritableUniform { index: usize },
    #[error("no sampling of this kind: {0}")]
    Sample(&'static str),
    #[error("binding {index} is not {expected}")]
    BindingKind { index: usize, expected: &'static str },
    #[error("{var}: table has {found} words for {count} elements")]
    TableLength { var: Var, found: usize, count: u32 },
    #[error("{var}: table of {ty}, expected a scalar type")]
    TableType { var: Var, ty: Type },
    #[error("bits {bits:#x} do not fit {ty}")]
    Bits { bits: u64, ty: Type },
    #[error("{0} is not a valid matrix type")]
    MatType(MatType),
    #[error("{what} {index} does not exist; there are {count}")]
    Index { what: &'static str, index: usize, count: usize },
    #[error("{0} is the body of more than one construct")]
    BlockReused(Block),
    #[error("the instruction stands in more than one place")]
    InstReused,
    #[error("constructs nest more than {MAX_DEPTH} deep")]
    Depth,
    #[error("instructions follow it in its block")]
    AfterTerminator,
    #[error("{0} belongs to more than one construct")]
    LabelReused(Label),
    #[error("{0} is not the label of an enclosing construct")]
    LabelNotEnclosing(Label),
    #[error("operand {operand} is {value}, which is not defined here")]
    NotVisible { operand: usize, value: Value },
    #[error("result {value} is not recorded as defined here, or is defined twice")]
    ResultReused { value: Value },
    #[error("{found} operands, expected {expected}")]
    OperandCount { found: usize, expected: String },
    #[error("{found} results, expected {expected}")]
    ResultCount { found: usize, expected: String },
    #[error("operand {operand} has type {found}, expected {expected}")]
    OperandType { operand: usize, found: Type, expected: String },
    #[error("result {result} has type {found}, expected {expected}")]
    ResultType { result: usize, found: Type, expected: String },
    #[error("axis {0}, expected 0, 1 or 2")]
    Axis(u8),
    #[error("{var} is read-only")]
    WritesTable { var: Var },
    #[error("{var} has elements of type {ty}, expected a matrix")]
    NotMatrixVar { var: Var, ty: Type },
    #[error("the bytes from {offset}, {bytes} of them, exceed the shared memory of {shared}")]
    SharedRange { offset: u32, bytes: u32, shared: u32 },
    #[error("writes to memory that the module declares read-only")]
    ReadOnly,
    #[error("cluster of {found}, expected a power of two up to {max}")]
    Cluster { found: u32, max: u32 },
    #[error("execution scope {0}, expected at most workgroup")]
    BarrierScope(&'static str),
    #[error("saturates to {0}, expected an 8-bit float")]
    Saturate(Type),
    #[error("not in a region, first or last")]
    OutsideOfRegion,
    #[error("stands in a region, where invocations do not act together")]
    InRegion,
    #[error("the region {block} does not begin with params of type {expected}")]
    RegionParams { block: Block, expected: String },
    #[error("the region {block} does not end with a yield of {expected}")]
    RegionResult { block: Block, expected: Type },
    #[error("{0} has no squares: a side is odd")]
    OddSides(MatType),
    #[error("{0} is not spread over a subgroup of {1} by its rows (columns)")]
    Lines(MatType, u32),
    #[error("{found} bytes for a row (column) of {expected}")]
    LineBytes { found: u64, expected: u64 },
    #[error("scalars narrower than {0}, of which a row (column) is")]
    NarrowLine(Scalar),
    #[error("{0} dimensions, expected 1 to 5, and no more in a view than the span has")]
    Dimensions(u8),
    #[error("the unit of a tensor is 0 bytes")]
    ZeroUnit,
    #[error("{0:?} is not a permutation")]
    Permutation([u8; 5]),
    #[error("vector, matrix, bias and result have component types that do not go together")]
    Interpretations,
    #[error("{var} has elements of type {ty}, expected {expected}")]
    VectorType { var: Var, ty: Type, expected: &'static str },
    #[error("{var} has {found} elements, expected {expected}")]
    VectorLength { var: Var, found: u32, expected: u32 },
    #[error("a matrix without rows or columns")]
    EmptyMatrix,
    #[error("layout {0}, expected {1}")]
    Layout(&'static str, &'static str),
}
