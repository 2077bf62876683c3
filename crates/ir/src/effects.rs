//! What passes and targets ask of an operation, whatever it computes.

use crate::entities::{Block, Var};
use crate::op::{ImageOp, Op};
use crate::tensor::{Region, RegionKind};

impl Op {
    /// The blocks nested in the operation, in the order they are executed.
    pub fn bodies(&self) -> impl Iterator<Item = Block> + use<> {
        let (first, second) = match *self {
            Self::If { then, otherwise } => (Some(then), Some(otherwise)),
            Self::Block { body, .. } | Self::Loop { body, .. } => (Some(body), None),
            _ => (self.region().map(|(_, body)| body), None),
        };
        first.into_iter().chain(second)
    }

    /// The region of the operation: a block that is executed for elements of matrices.
    pub(crate) fn region(&self) -> Option<Region> {
        match *self {
            Self::MatMap { body } => Some((RegionKind::Map, body)),
            Self::MatReduce { body, .. } => Some((RegionKind::Reduce, body)),
            Self::MatLoadTensor { decode, .. } => decode.map(|body| (RegionKind::Decode, body)),
            _ => None,
        }
    }

    /// Replaces the blocks nested in the operation, in the order they are executed.
    pub(crate) fn replace_bodies(&mut self, mut new: impl FnMut() -> Block) {
        match self {
            Self::If { then, otherwise } => (*then, *otherwise) = (new(), new()),
            Self::Block { body, .. }
            | Self::Loop { body, .. }
            | Self::MatMap { body }
            | Self::MatReduce { body, .. }
            | Self::MatLoadTensor { decode: Some(body), .. } => *body = new(),
            _ => {}
        }
    }

    /// The variable that the operation reads or writes.
    pub fn var(&self) -> Option<Var> {
        match *self {
            Self::VarLoad(v) | Self::VarStore(v) | Self::VarComponentLoad(v) | Self::VarComponentStore(v) => {
                Some(v)
            }
            _ => None,
        }
    }

    /// Whether the operation stands last in its block: `br`, `return` and `yield`.
    pub fn is_terminator(&self) -> bool {
        matches!(self, Self::Br(_) | Self::Return | Self::Yield)
    }

    /// Whether the operation does something besides giving its results, so that it has to stay even
    /// if nobody uses them. Stores to variables and constructs count; a volatile load does too.
    #[warn(clippy::wildcard_enum_match_arm)]
    pub fn has_effect(&self) -> bool {
        match self {
            Self::VarStore(_)
            | Self::VarComponentStore(_)
            | Self::Store(_)
            | Self::Atomic(_)
            | Self::Barrier(_)
            | Self::MatStore { .. }
            | Self::If { .. }
            | Self::Block { .. }
            | Self::Loop { .. }
            | Self::Br(_)
            | Self::Return
            | Self::Printf(_)
            | Self::Warn(_)
            | Self::MatStoreTensor(_)
            | Self::Image(_, ImageOp::Store | ImageOp::Atomic(_))
            | Self::Params
            | Self::Yield => true,
            Self::Load(flags) | Self::MatLoad { flags, .. } => flags.volatile,
            Self::MatLoadTensor { access, .. } => access.flags.volatile,
            Self::Const(_)
            | Self::Unary(_)
            | Self::Binary(_)
            | Self::Compare(_)
            | Self::Fma
            | Self::Select
            | Self::Convert(_)
            | Self::Bitcast
            | Self::Builtin(_)
            | Self::VarLoad(_)
            | Self::VarComponentLoad(_)
            | Self::BufferPtr(_)
            | Self::PushPtr
            | Self::SharedPtr { .. }
            | Self::PtrAdd { .. }
            | Self::PtrBytesLeft
            | Self::PtrDiff
            | Self::PtrToInt
            | Self::IntToPtr
            | Self::Image(_, ImageOp::Load | ImageOp::Size | ImageOp::Levels | ImageOp::Sample(_))
            | Self::Subgroup(_)
            | Self::MatSplat
            | Self::MatMulAdd(_)
            | Self::MatScale
            | Self::MatExtract
            | Self::MatInsert
            | Self::MatTranspose
            | Self::MatFromLanes { .. }
            | Self::MatToLanes { .. }
            | Self::MatMap { .. }
            | Self::MatReduce { .. }
            | Self::Clock => false,
        }
    }
}
