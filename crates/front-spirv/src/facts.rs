//! What a device must be asked about and no capability tells: which memory atomic operations work on, what lies
//! behind device addresses and in explicitly laid out shared memory, and which constants size a work-group.

use crate::globals::Globals;
use crate::inspect::ScalarType;
use crate::module::{EntryPoint, Spv};
use crate::opcode::{self, Family};
use crate::reader::{Id, Inst};
use crate::types::Kind;
use spirv::{BuiltIn, Decoration, ExecutionMode, Op, StorageClass};

/// Atomic operations of one sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicInfo {
    /// Whether they work on memory shared by a work-group, and not on buffers.
    pub shared: bool,
    /// What they work on.
    pub ty: ScalarType,
    /// What they do.
    pub kind: AtomicKind,
}

/// What an atomic operation does, as far as features tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicKind {
    /// Loads, stores, exchanges.
    Access,
    /// Adds.
    Add,
    /// Takes the minimum or the maximum.
    MinMax,
    /// Anything else, which only integers have.
    Other,
}

/// What an instruction does, if it is atomic.
pub(crate) fn atomic_kind(op: Op) -> Option<AtomicKind> {
    match opcode::family(op) {
        Some(Family::Atomic(kind)) => Some(kind),
        _ => None,
    }
}

/// The storage class and the type of what an atomic operation works on.
pub(crate) fn atomic_object(spv: &Spv<'_>, globals: &Globals, inst: &Inst<'_>) -> Option<(StorageClass, Id)> {
    let pointer = globals.types.lookup(spv.def(*inst.args.first()?)?.ty).ok()?;
    let Kind::Pointer { class, .. } = *globals.types.kind(pointer) else { return None };
    let ty = if inst.op == Op::AtomicStore { spv.def(*inst.args.get(3)?)?.ty } else { inst.ty };
    Some((class, ty))
}

/// The specialisation constants that the size of an entry point's work-group is, by axis.
pub(crate) fn local_size_constants(spv: &Spv<'_>, entry: &EntryPoint) -> [Option<u32>; 3] {
    let decor = &spv.decor;
    let is_built_in =
        |inst: &&Inst<'_>| decor.literal(inst.id, Decoration::BuiltIn) == Some(BuiltIn::WorkgroupSize as u32);
    let built_in = spv.globals.iter().map(|&i| &spv.insts[i]).find(is_built_in);
    let is_mode = |inst: &&Inst<'_>| {
        inst.args.first() == Some(&entry.function)
            && inst.args.get(1) == Some(&(ExecutionMode::LocalSizeId as u32))
    };
    let mode = || spv.modes.iter().map(|&i| &spv.insts[i]).find(is_mode);
    let ids: &[Id] = match built_in {
        Some(inst) => inst.args,
        None => mode().and_then(|inst| inst.args.get(2..)).unwrap_or_default(),
    };
    let constant = |axis: usize| decor.literal(*ids.get(axis)?, Decoration::SpecId);
    [constant(0), constant(1), constant(2)]
}
