//! What of operations on whole matrices is done in registers, and what a pass takes apart before.

use super::layout::{Grid, Share, has_components_in_registers};
use super::{alike, check, grid, reduce};
use crate::arch::Arch;
use phalanx_emit_llvm::{Error, Result};
use phalanx_ir::passes::{Options, Scratch, SpreadError, expand_but, spread_but};
use phalanx_ir::{
    Block, Builtin, Function, Inst, InstInfo, MatReduceKind, MatType, Module, Op, Scope, Uniformity, Use,
    Value, Var, Verified, verify,
};

/// Most instructions that the region of a reduction becomes, repeated for each register.
const MAX_REPEATED: usize = 8192;

/// The same module without the operations on whole matrices that are not done in registers, for factors of the work-group that
/// come through shared memory or do not.
pub(crate) fn prepare(module: &Verified, arch: Arch, streams: bool) -> Result<Option<Verified>> {
    let prepared = prepare_by(module, streams, true)?;
    let now = prepared.as_ref().unwrap_or(module);
    let Some(exchanged) = reduce::exchanged_bytes(now) else { return Ok(prepared) };
    let mut with_exchange = Module::clone(now);
    with_exchange.shared_bytes = now.shared_bytes.next_multiple_of(reduce::WORD) + exchanged;
    if with_exchange.shared_bytes > arch.shared_bytes() {
        return prepare_by(module, streams, false);
    }
    verify(with_exchange).map(Some).map_err(|errors| Error::bug(errors.to_string()))
}

/// [`prepare`], with what warps exchange through shared memory or without.
fn prepare_by(module: &Verified, streams: bool, exchanges: bool) -> Result<Option<Verified>> {
    if !module.body.insts.iter().any(|info| super::concerns(&module.body, info)) {
        return Ok(None);
    }
    let options = Options::default();
    let mut prepared = spread_but(&super::is_even, module, &options).map_err(|error| match error {
        SpreadError::SharedMemory(_) => Error::unsupported(error.to_string()),
        SpreadError::Bug(bug) => Error::bug(bug.to_string()),
    })?;
    for of_scope in [Scratch::of, Scratch::of_workgroup] {
        let module = prepared.as_ref().unwrap_or(module);
        let scratch = of_scope(module);
        // Threads of their own decode elements where they are moved to, neighbours by one.
        let decodes_in_maps = streams && scratch.scope == Scope::Workgroup;
        let scratch = Scratch { is_free: true, in_maps: true, decodes_in_maps, ..scratch };
        let uniformity = match scratch.scope {
            Scope::Workgroup => Uniformity::of_workgroup(module),
            _ => Uniformity::analyse(module),
        };
        let choice = Choice { ir: module, grid: grid(module, streams), streams, exchanges, uniformity };
        let is_whole = |_: &Function, info: &InstInfo| choice.is_in_registers(info);
        let expanded = expand_but(&is_whole, module, scratch, &options);
        prepared = expanded.map_err(|error| Error::bug(error.to_string()))?.or(prepared);
    }
    Ok(prepared)
}

/// How to choose.
struct Choice<'m> {
    ir: &'m Module,
    grid: Grid,
    /// Whether factors of the work-group come through shared memory.
    streams: bool,
    /// Whether warps may exchange what they made of their parts.
    exchanges: bool,
    /// What is the same for all invocations of the scope.
    uniformity: Uniformity,
}

impl Choice<'_> {
    /// Whether an operation that a pass can take apart is lowered as it is.
    fn is_in_registers(&self, info: &InstInfo) -> bool {
        let f = &self.ir.body;
        let types: Vec<MatType> =
            info.args.iter().chain(&info.results).filter_map(|&v| f.ty(v).mat()).collect();
        let shares: Vec<Share> = types.iter().map(|&m| Share::of(m, self.grid)).collect();
        // What comes through shared memory is in no registers; it is looked at again where it does not.
        let is_streamed =
            |m: MatType| self.streams && m.scope == Scope::Workgroup && matches!(m.use_, Use::A | Use::B);
        let is_refused = |m: MatType| !is_streamed(m) && check(self.ir, self.grid, m).is_err();
        if shares.is_empty() || types.iter().any(|&m| is_refused(m)) {
            return false;
        }
        let has_whole_rows = shares.iter().zip(&types).all(|(share, &m)| share.has_full_cols(m));
        let is_alike = shares.iter().all(|share| share.is_like(&shares[0]));
        match info.op {
            Op::MatTranspose => shares.iter().all(|share| share.warps == (1, 1)),
            Op::Bitcast | Op::Convert(_) => is_alike,
            Op::MatMap { body } => {
                // What looks at an invocation is executed by the one that holds the element as a component.
                let holds = |&m: &MatType| has_components_in_registers(self.ir, m);
                is_alike
                    && types.iter().all(|m| m.cols == types[0].cols)
                    && (self.is_repeatable(body, 1)
                        || self.looks_at_own(body) && types.last().is_some_and(holds))
            }
            Op::MatReduce { kind: MatReduceKind::Row, body } => {
                let is_row = |share: &Share| {
                    share.warps.1 == 1
                        && !share.layout.by_cols()
                        && share.layout.rows == shares[0].layout.rows
                };
                types[0].use_ != Use::Any
                    && has_whole_rows
                    && shares.iter().all(is_row)
                    && types[0].cols.is_power_of_two()
                    && self.is_repeatable(body, shares[0].layout.registers())
            }
            Op::MatReduce { kind: MatReduceKind::All, body } => {
                (self.exchanges || shares[0].warps == (1, 1))
                    && types[0].use_ != Use::Any
                    && has_whole_rows
                    && types[0].rows.is_multiple_of(shares[0].layout.rows)
                    && alike::is_idempotent(f, body)
                    && self.is_repeatable(body, shares[0].layout.registers())
            }
            _ => false,
        }
    }

    /// Whether a region may be repeated for so many registers, in whichever invocation has them: whether it does nothing
    /// but compute, and looks at nothing that is an invocation's own.
    fn is_repeatable(&self, body: Block, registers: u32) -> bool {
        let f = &self.ir.body;
        let inside = Inside::of(f, body);
        let does = |inst: &Inst| {
            let info = f.inst(*inst);
            match info.op {
                ref op if op.computes() => true,
                Op::BufferPtr(_)
                | Op::PushPtr
                | Op::SharedPtr { .. }
                | Op::PtrAdd { .. }
                | Op::PtrBytesLeft
                | Op::PtrDiff
                | Op::PtrToInt
                | Op::IntToPtr
                | Op::Params
                | Op::Yield
                | Op::If { .. }
                | Op::Block { .. }
                | Op::Loop { .. }
                | Op::Br(_)
                | Op::VarLoad(_)
                | Op::Builtin(_) => true,
                Op::Load(flags) => !flags.volatile,
                Op::VarStore(var) => inside.owns(f, var),
                _ => false,
            }
        };
        let is_short = inside.0.len() * registers as usize <= MAX_REPEATED;
        is_short && inside.0.iter().all(does) && !self.looks_at_own(body)
    }

    fn looks_at_own(&self, body: Block) -> bool {
        looks_at_own(&self.ir.body, &self.uniformity, body)
    }
}

/// Whether a region looks at something that is an invocation's own.
pub(super) fn looks_at_own(f: &Function, uniformity: &Uniformity, body: Block) -> bool {
    let inside = Inside::of(f, body);
    let is_own = |v: &Value| !inside.0.contains(&f.values[v.index()].def) && !uniformity.is_uniform(*v);
    inside.0.iter().any(|&inst| {
        let info = f.inst(inst);
        let reads_own = match info.op {
            Op::Builtin(builtin) => !matches!(builtin, Builtin::NumWorkgroups(_) | Builtin::WorkgroupId(_)),
            Op::VarLoad(var) => !inside.owns(f, var) && !uniformity.is_var_uniform(var),
            _ => false,
        };
        reads_own || info.args.iter().any(is_own)
    })
}

/// The instructions of a region.
struct Inside(Vec<Inst>);

impl Inside {
    fn of(f: &Function, body: Block) -> Self {
        let mut inside = Vec::new();
        instructions(f, body, &mut inside);
        Self(inside)
    }

    /// Whether nothing else uses a variable.
    fn owns(&self, f: &Function, var: Var) -> bool {
        let mut users =
            (0..f.insts.len()).map(Inst::new).filter(|&i| f.inst(i).op.vars().any(|(v, _)| v == var));
        users.all(|inst| self.0.contains(&inst))
    }
}

/// The instructions of a block and of those within.
fn instructions(f: &Function, block: Block, all: &mut Vec<Inst>) {
    for &inst in f.block(block) {
        all.push(inst);
        for body in f.inst(inst).op.bodies() {
            instructions(f, body, all);
        }
    }
}
