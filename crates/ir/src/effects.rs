//! What passes and targets ask of an operation, whatever it computes: one row for each.

use crate::entities::{Block, Var};
use crate::op::{ImageOp, Op};
use crate::tensor::{Region, RegionKind};

/// The answers for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Facts {
    /// Whether it does something besides giving its results.
    acts: bool,
    /// Whether its results follow from its operands alone.
    computes: bool,
    nested: Nested,
    var: Option<Var>,
    vectors: Vectors,
    /// Whether it stands last in its block.
    ends: bool,
}

/// The blocks nested in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nested {
    None,
    Branches(Block, Block),
    Body(Block),
    Region(RegionKind, Block),
}

/// The variables that an operation takes as vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Vectors {
    read: [Option<Var>; 2],
    written: Option<Var>,
}

/// What an operation does with a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarUse {
    /// Reads an element.
    Load,
    /// Writes an element.
    Store,
    /// Reads all of it as a vector.
    Read,
    /// Writes all of it as a vector.
    Write,
}

impl VarUse {
    /// Whether the variable may be another one behind the operation.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Store | Self::Write)
    }
}

const NO_VECTORS: Vectors = Vectors { read: [None; 2], written: None };
/// It only gives its results, and nobody misses it without them.
const PURE: Facts =
    Facts { acts: false, computes: false, nested: Nested::None, var: None, vectors: NO_VECTORS, ends: false };
/// Its results are the same wherever and by whomever they are computed.
const COMPUTES: Facts = Facts { computes: true, ..PURE };
/// It has to stay.
const ACTS: Facts = Facts { acts: true, ..PURE };

impl Facts {
    const fn on(self, var: Var) -> Self {
        Self { var: Some(var), ..self }
    }

    const fn reading(self, read: [Option<Var>; 2]) -> Self {
        Self { vectors: Vectors { read, ..self.vectors }, ..self }
    }

    const fn writing(self, var: Var) -> Self {
        Self { vectors: Vectors { written: Some(var), ..self.vectors }, ..self }
    }

    const fn around(self, nested: Nested) -> Self {
        Self { nested, ..self }
    }

    const fn unless(self, volatile: bool) -> Self {
        Self { acts: volatile, ..self }
    }
}

impl Op {
    fn facts(&self) -> Facts {
        const LAST: Facts = Facts { ends: true, ..ACTS };
        match *self {
            Self::VarLoad(var) | Self::VarComponentLoad(var) => PURE.on(var),
            Self::VarStore(var) | Self::VarComponentStore(var) => ACTS.on(var),
            Self::Load(flags) | Self::MatLoad { flags, .. } => PURE.unless(flags.volatile),
            Self::Store(_) | Self::MatStore { .. } | Self::MatStoreTensor(_) => ACTS,
            Self::Atomic(_) | Self::Barrier(_) => ACTS,
            Self::Image(_, op) => match op {
                ImageOp::Load | ImageOp::Size | ImageOp::Levels | ImageOp::Sample(_) => PURE,
                ImageOp::Store | ImageOp::Atomic(_) => ACTS,
            },
            Self::If { then, otherwise } => ACTS.around(Nested::Branches(then, otherwise)),
            Self::Block { body, .. } | Self::Loop { body, .. } => ACTS.around(Nested::Body(body)),
            Self::Br(_) | Self::Return | Self::Yield => LAST,
            Self::MatMap { body } => PURE.around(Nested::Region(RegionKind::Map, body)),
            Self::MatReduce { body, .. } => PURE.around(Nested::Region(RegionKind::Reduce, body)),
            Self::MatLoadTensor { access, decode } => match decode {
                Some(body) => PURE.around(Nested::Region(RegionKind::Decode, body)),
                None => PURE,
            }
            .unless(access.flags.volatile),
            Self::VecMatMul(ref v) => ACTS.reading([Some(v.input), None]).writing(v.result),
            Self::VecOuterAdd(ref v) => ACTS.reading([Some(v.a), Some(v.b)]),
            Self::VecReduceAdd(v) => ACTS.reading([Some(v), None]),
            Self::Params | Self::Printf(_) | Self::Warn(_) | Self::Decline => ACTS,
            // Nobody can tell that a clock was not read.
            Self::Clock => PURE,
            Self::Const(_)
            | Self::Unary(_)
            | Self::Binary(_)
            | Self::Compare(_)
            | Self::Fma
            | Self::Select
            | Self::Convert(_)
            | Self::Bitcast => COMPUTES,
            Self::Builtin(_) => PURE,
            Self::BufferPtr(_)
            | Self::PushPtr
            | Self::SharedPtr { .. }
            | Self::PtrAdd { .. }
            | Self::PtrBytesLeft
            | Self::PtrDiff
            | Self::PtrToInt
            | Self::IntToPtr => PURE,
            Self::Subgroup(_) => PURE,
            Self::MatSplat
            | Self::MatMulAdd(_)
            | Self::MatScale
            | Self::MatCoordinate
            | Self::MatExtract
            | Self::MatInsert
            | Self::MatTranspose
            | Self::MatRotate
            | Self::MatFromLanes { .. }
            | Self::MatToLanes { .. } => PURE,
        }
    }

    /// The blocks nested in the operation, in the order they are executed.
    pub fn bodies(&self) -> impl Iterator<Item = Block> + use<> {
        let (first, second) = match self.facts().nested {
            Nested::Branches(then, otherwise) => (Some(then), Some(otherwise)),
            Nested::Body(body) | Nested::Region(_, body) => (Some(body), None),
            Nested::None => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The region of the operation: a block that is executed for elements of matrices.
    pub(crate) fn region(&self) -> Option<Region> {
        match self.facts().nested {
            Nested::Region(kind, body) => Some((kind, body)),
            Nested::Branches(..) | Nested::Body(_) | Nested::None => None,
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
            other => debug_assert_eq!(other.facts().nested, Nested::None, "{other:?} has blocks"),
        }
    }

    /// The variable of which the operation reads or writes an element.
    pub fn var(&self) -> Option<Var> {
        self.facts().var
    }

    /// The variables that the operation reads or writes, those it reads as vectors first.
    pub fn vars(&self) -> impl Iterator<Item = (Var, VarUse)> + use<> {
        let Facts { var, vectors, acts, .. } = self.facts();
        let element = var.map(|v| (v, if acts { VarUse::Store } else { VarUse::Load }));
        let read = vectors.read.into_iter().flatten().map(|v| (v, VarUse::Read));
        read.chain(element).chain(vectors.written.map(|v| (v, VarUse::Write)))
    }

    /// Replaces the variables that the operation reads or writes.
    pub(crate) fn map_vars(&mut self, mut new: impl FnMut(Var) -> Var) {
        match self {
            Self::VarLoad(v)
            | Self::VarStore(v)
            | Self::VarComponentLoad(v)
            | Self::VarComponentStore(v)
            | Self::VecReduceAdd(v) => *v = new(*v),
            Self::VecMatMul(op) => (op.input, op.result) = (new(op.input), new(op.result)),
            Self::VecOuterAdd(op) => (op.a, op.b) = (new(op.a), new(op.b)),
            other => debug_assert_eq!(other.vars().count(), 0, "{other:?} has variables"),
        }
    }

    /// Whether the operation stands last in its block: `br`, `return` and `yield`.
    pub fn is_terminator(&self) -> bool {
        self.facts().ends
    }

    /// Whether the operation does something besides giving its results, so that it has to stay even
    /// if nobody uses them. Stores to variables and constructs count; a volatile load does too.
    pub fn has_effect(&self) -> bool {
        self.facts().acts
    }

    /// Whether the operation only computes, and of its operands alone: constants, arithmetic, comparisons, choices,
    /// conversions. Of the same operands it gives the same wherever it stands and whoever executes it. Pointers that
    /// are made or moved do not count, as each use of the list has its own mind about these.
    pub fn computes(&self) -> bool {
        self.facts().computes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::Label;
    use crate::op::MemFlags;
    use crate::text::ops::{mnemonic as op_name, templates};

    /// The operations that have to stay, by their names. Atomic ones are below.
    const ACTING: [&str; 18] = [
        "barrier",
        "decline",
        "image_atomic",
        "image_store",
        "mat_store",
        "mat_store_tensor",
        "params",
        "printf",
        "return",
        "store",
        "var_component_store",
        "var_store",
        "vec_mat_mul",
        "vec_outer_add",
        "vec_reduce_add",
        "warn",
        "yield",
        "atomic_load",
    ];

    /// All operations.
    fn all() -> Vec<Op> {
        let (label, body) = (Label::new(0), Block::new(1));
        let mut all = templates();
        all.extend([
            Op::Const(0),
            Op::If { then: body, otherwise: Block::new(2) },
            Op::Block { label, body },
            Op::Loop { label, body },
            Op::Br(label),
        ]);
        all
    }

    #[test]
    fn every_operation_acts_or_does_not() {
        for op in all() {
            let name = op_name(&op);
            let is_structure = matches!(op, Op::If { .. } | Op::Block { .. } | Op::Loop { .. } | Op::Br(_));
            let acts = is_structure || ACTING.contains(&name) || matches!(op, Op::Atomic(_));
            assert_eq!(op.has_effect(), acts, "{name}");
            let is_last = matches!(name, "br" | "return" | "yield");
            assert_eq!(op.is_terminator(), is_last, "{name}");
            assert_eq!(op.var().is_some(), name.starts_with("var_"), "{name}");
        }
        let names: Vec<_> = all().iter().map(op_name).collect();
        assert!(ACTING.iter().all(|name| names.contains(name)));
    }

    #[test]
    fn what_computes_has_no_effect_block_or_variable() {
        let mut kinds = 0;
        for op in all().into_iter().filter(Op::computes) {
            assert!(!op.has_effect() && op.bodies().count() == 0 && op.vars().count() == 0, "{op:?}");
            kinds += u32::from(!matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Convert(_)));
        }
        assert_eq!(kinds, 4, "constants, fma, select and bitcast");
    }

    #[test]
    fn volatile_loads_stay() {
        let flags = MemFlags { volatile: true, ..MemFlags::default() };
        assert!(Op::Load(flags).has_effect() && Op::MatLoad { column_major: false, flags }.has_effect());
        assert!(!Op::Load(MemFlags::default()).has_effect());
    }

    #[test]
    fn variables_are_replaced_in_order() {
        for mut op in all() {
            let name = op_name(&op);
            let before: Vec<_> = op.vars().map(|(_, use_)| use_).collect();
            let expected: &[VarUse] = match name {
                "var_load" | "var_component_load" => &[VarUse::Load],
                "var_store" | "var_component_store" => &[VarUse::Store],
                "vec_mat_mul" => &[VarUse::Read, VarUse::Write],
                "vec_outer_add" => &[VarUse::Read, VarUse::Read],
                "vec_reduce_add" => &[VarUse::Read],
                _ => &[],
            };
            assert_eq!(before, expected, "{name}");
            let mut next = 10;
            op.map_vars(|_| {
                next += 1;
                Var::new(next - 1)
            });
            let new: Vec<_> = op.vars().map(|(var, _)| var.index()).collect();
            assert_eq!(new, (10..10 + before.len()).collect::<Vec<_>>(), "{name}");
        }
    }

    #[test]
    fn bodies_are_replaced_in_order() {
        for mut op in all() {
            if let Op::MatLoadTensor { decode, .. } = &mut op {
                *decode = Some(Block::new(1));
            }
            let count = op.bodies().count();
            let mut next = 10;
            op.replace_bodies(|| {
                next += 1;
                Block::new(next - 1)
            });
            let new: Vec<_> = op.bodies().map(Block::index).collect();
            assert_eq!(new, (10..10 + count).collect::<Vec<_>>(), "{op:?}");
            assert_eq!(op.region().is_some(), op_name(&op).starts_with("mat_") && count == 1, "{op:?}");
        }
    }
}
