//! Atomic operations on one scalar, in a buffer and in shared memory.
//!
//! All invocations of the dispatch, or of the work-group, work on the same scalar. What is in it at the end
//! does not depend on their order. The values that they get do, unless all do the same; then they are
//! compared as multisets.

use super::case::{Case, Operand, Operation, Source};
use super::check::Check;
use super::float::FLOATS;
use super::shader::Shader;
use super::value::{Domain, Ty};
use phalanx_ir::Scalar;
use std::sync::Arc;

/// An atomic operation: its opcode, how many values it takes, and whether all may bring their own.
struct Atomic {
    opcode: &'static str,
    values: usize,
    commutes: bool,
    domain: Domain,
}

const fn atomic(opcode: &'static str, values: usize, commutes: bool, domain: Domain) -> Atomic {
    Atomic { opcode, values, commutes, domain }
}

const ON_INTEGERS: [Atomic; 15] = [
    atomic("OpAtomicLoad", 0, true, Domain::Any),
    atomic("OpAtomicStore", 1, false, Domain::Any),
    atomic("OpAtomicExchange", 1, false, Domain::Any),
    atomic("OpAtomicCompareExchange", 2, false, Domain::Few),
    atomic("OpAtomicIIncrement", 0, true, Domain::Any),
    atomic("OpAtomicIDecrement", 0, true, Domain::Any),
    atomic("OpAtomicIAdd", 1, true, Domain::Any),
    atomic("OpAtomicISub", 1, true, Domain::Any),
    atomic("OpAtomicSMin", 1, true, Domain::Any),
    atomic("OpAtomicUMin", 1, true, Domain::Any),
    atomic("OpAtomicSMax", 1, true, Domain::Any),
    atomic("OpAtomicUMax", 1, true, Domain::Any),
    atomic("OpAtomicAnd", 1, true, Domain::Any),
    atomic("OpAtomicOr", 1, true, Domain::Any),
    atomic("OpAtomicXor", 1, true, Domain::Any),
];
const ON_FLOATS: [Atomic; 6] = [
    atomic("OpAtomicLoad", 0, true, Domain::Any),
    atomic("OpAtomicStore", 1, false, Domain::Any),
    atomic("OpAtomicExchange", 1, false, Domain::Any),
    // Sums that are exact in any order.
    atomic("OpAtomicFAddEXT", 1, true, Domain::Small),
    atomic("OpAtomicFMinEXT", 1, true, Domain::Any),
    atomic("OpAtomicFMaxEXT", 1, true, Domain::Any),
];
const CAPABILITIES: [(&str, &str); 7] = [
    ("Int64Atomics", ""),
    ("AtomicFloat16AddEXT", "SPV_EXT_shader_atomic_float16_add"),
    ("AtomicFloat32AddEXT", "SPV_EXT_shader_atomic_float_add"),
    ("AtomicFloat64AddEXT", "SPV_EXT_shader_atomic_float_add"),
    ("AtomicFloat16MinMaxEXT", "SPV_EXT_shader_atomic_float_min_max"),
    ("AtomicFloat32MinMaxEXT", "SPV_EXT_shader_atomic_float_min_max"),
    ("AtomicFloat64MinMaxEXT", "SPV_EXT_shader_atomic_float_min_max"),
];
/// A buffer's operations are of the scope *QueueFamily*, those in shared memory of *Workgroup*.
const QUEUE_FAMILY: u64 = 5;
const WORKGROUP: u64 = 2;
/// *AcquireRelease* of *WorkgroupMemory*.
const SHARED_SEMANTICS: u64 = 0x108;

pub(super) fn in_buffers() -> Vec<Case> {
    all(|atomic, scalar, source| {
        let (opcode, values) = (atomic.opcode, atomic.values);
        let emit = move |shader: &mut Shader, ids: &[String]| {
            let old = update(shader, opcode, scalar, &ids[0], &ids[1..=values], QUEUE_FAMILY);
            vec![old.unwrap_or_else(|| ids[values].clone())]
        };
        let mut operands = vec![operand(atomic, scalar, Source::Cell)];
        operands.extend((0..values).map(|_| operand(atomic, scalar, source)));
        case(atomic, scalar, source, operands, Arc::new(emit), vec![old_check(source, values)])
    })
}

/// The invocations of a work-group store what is there before, all the same.
pub(super) fn in_shared_memory() -> Vec<Case> {
    all(|atomic, scalar, source| {
        let (opcode, values) = (atomic.opcode, atomic.values);
        let emit = move |shader: &mut Shader, ids: &[String]| {
            let cell = shader.shared(Ty::scalar(scalar));
            let (ty, scope) = (shader.ty(Ty::scalar(scalar)), shader.int(WORKGROUP));
            let (semantics, relaxed) = (shader.int(SHARED_SEMANTICS), shader.int(0));
            shader.line(&format!("OpAtomicStore {cell} {scope} {relaxed} {}", ids[0]));
            shader.line(&format!("OpControlBarrier {scope} {scope} {semantics}"));
            let old = update(shader, opcode, scalar, &cell, &ids[1..=values], WORKGROUP);
            shader.line(&format!("OpControlBarrier {scope} {scope} {semantics}"));
            let last = shader.op(&format!("OpAtomicLoad {ty} {cell} {scope} {relaxed}"));
            vec![old.unwrap_or_else(|| last.clone()), last]
        };
        let mut operands = vec![operand(atomic, scalar, Source::Uniform)];
        operands.extend((0..values).map(|_| operand(atomic, scalar, source)));
        let checks = vec![old_check(source, values), Check::AnyZero];
        let mut case = case(atomic, scalar, source, operands, Arc::new(emit), checks);
        case.results.push(Ty::scalar(scalar));
        case
    })
}

/// Of each operation on each type, with the sources that leave one result.
fn all(make: impl Fn(&Atomic, Scalar, Source) -> Case) -> Vec<Case> {
    let mut cases = Vec::new();
    let integers =
        [Scalar::I32, Scalar::I64].into_iter().flat_map(|s| ON_INTEGERS.iter().map(move |a| (s, a)));
    let floats = FLOATS.into_iter().flat_map(|s| ON_FLOATS.iter().map(move |a| (s, a)));
    for (scalar, atomic) in integers.chain(floats) {
        let mut sources = vec![Source::Constant];
        if atomic.commutes && atomic.values > 0 {
            sources.extend([Source::Varying, Source::Uniform]);
        }
        cases.extend(sources.into_iter().map(|source| make(atomic, scalar, source)));
    }
    cases
}

fn operand(atomic: &Atomic, scalar: Scalar, source: Source) -> Operand {
    Operand { ty: Ty::scalar(scalar), domain: atomic.domain, source }
}

/// What an invocation finds depends on those before it, unless they are all alike.
fn old_check(source: Source, values: usize) -> Check {
    if source == Source::Constant || values == 0 { Check::Set } else { Check::Unspecified }
}

fn case(
    atomic: &Atomic,
    scalar: Scalar,
    source: Source,
    operands: Vec<Operand>,
    emit: super::case::Emit,
    checks: Vec<Check>,
) -> Case {
    let emit = move |shader: &mut Shader, ids: &[String]| {
        CAPABILITIES.iter().for_each(|(capability, extension)| shader.needs(capability, extension));
        emit(shader, ids)
    };
    Case {
        name: format!("{}({scalar}) {}", Operation::name_of(atomic.opcode), source.letter()),
        operands,
        results: vec![Ty::scalar(scalar)],
        checks,
        emit: Arc::new(emit),
    }
}

/// The operation; gives the old value, if there is one.
fn update(
    shader: &mut Shader,
    opcode: &str,
    scalar: Scalar,
    cell: &str,
    values: &[String],
    scope: u64,
) -> Option<String> {
    let (ty, scope, relaxed) = (shader.ty(Ty::scalar(scalar)), shader.int(scope), shader.int(0));
    let values = values.join(" ");
    match opcode {
        "OpAtomicStore" => {
            shader.line(&format!("{opcode} {cell} {scope} {relaxed} {values}"));
            None
        }
        "OpAtomicCompareExchange" => {
            Some(shader.op(&format!("{opcode} {ty} {cell} {scope} {relaxed} {relaxed} {values}")))
        }
        _ => Some(shader.op(format!("{opcode} {ty} {cell} {scope} {relaxed} {values}").trim_end())),
    }
}
