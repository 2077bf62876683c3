//! Cooperative matrices in registers: each lane of a warp holds a part of the elements ([`layout`]).
//!
//! A matrix is a list of LLVM values, *words*: elements of 32 bits and more as they are, narrower ones packed into an
//! `i32` where the layout has them side by side. So a word is what instructions for matrices take, and arithmetic takes
//! words apart. What lies in another lane comes by shuffles ([`regroup`]).
//!
//! All threads of the warp execute operations on matrices together, so the instructions name all of them.

mod alike;
mod components;
mod each;
pub(crate) mod fragment;
mod general;
mod integer;
mod layout;
mod ldmatrix;
mod map;
mod memory;
mod mma;
mod partial;
mod prepare;
mod reduce;
mod regroup;
pub(crate) mod round;
pub(crate) mod rows;
mod straight;
pub(crate) mod stream;
mod together;
mod vars;
mod words;

use crate::lower::Lower;
use inkwell::values::{FunctionValue, PointerValue};
use layout::{Grid, Kind, LANES, Layout, Share};
use partial::Partial;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{
    BinaryOp, Function, Inst, InstInfo, MatReduceKind, MatType, Module, Op, Rounding, Scalar, Scope,
    Uniformity, Use, Value, Var,
};
use std::rc::Rc;

pub(crate) use fragment::Memory;
pub(crate) use layout::has_components_in_registers;
pub(crate) use prepare::prepare;

/// Most elements that a lane holds of a matrix. Four times as many as it has registers: an engine's attention over heads
/// of 576 and 512 has such, in memory of the thread's own.
pub(crate) const MAX_REGISTERS: u32 = 1024;

/// A matrix.
#[derive(Clone, Debug)]
pub(crate) struct Mat<'c> {
    layout: Layout,
    elem: Scalar,
    words: Rc<[V<'c>]>,
}

/// The matrices of a module.
#[derive(Debug)]
pub(crate) struct Matrices<'c> {
    grid: Grid,
    /// How many warps hold rows of any matrix of the work-group.
    busy: u32,
    /// By value.
    values: Vec<Option<Mat<'c>>>,
    /// Values of which components are looked at, as components: an invocation does that alone, when nobody could send it
    /// anything.
    components: Vec<Option<Mat<'c>>>,
    is_extracted: Vec<bool>,
    /// By value: whether all columns are the same.
    alike: Vec<bool>,
    /// Variables of whose rows each lane has a part.
    partials: Vec<Partial>,
    /// Whether the code for an element is being made.
    pub(crate) in_region: bool,
    vars: Vec<Option<vars::Slot<'c>>>,
    /// What goes through elements one by one.
    routines: Vec<(each::Kind, FunctionValue<'c>)>,
    /// Their arrays, by type and number of elements.
    arrays: Vec<((Scalar, u32), PointerValue<'c>)>,
    waiting: together::Waiting<'c>,
}

impl Matrices<'_> {
    /// Those of a module, of which factors come through shared memory or not.
    pub(crate) fn new(ir: &Module, uniformity: &Uniformity, streams: bool) -> Self {
        let f = &ir.body;
        let count = f.values.len();
        let mut is_extracted = vec![false; count];
        for info in f.insts.iter().filter(|info| info.op == Op::MatExtract) {
            is_extracted[info.args[0].index()] = true;
        }
        let alike = alike::find(f, uniformity);
        let grid = grid(ir, streams);
        Self {
            grid,
            busy: busy(f, grid),
            values: vec![None; count],
            components: vec![None; count],
            is_extracted,
            partials: partial::find(f, &alike),
            alike,
            in_region: false,
            vars: vec![None; f.vars.len()],
            routines: Vec::new(),
            arrays: Vec::new(),
            waiting: together::Waiting::default(),
        }
    }
}

/// The grid of the warps of a module. Where factors come through shared memory each holds whole rows, as `wgmma` wants it.
fn grid(ir: &Module, streams: bool) -> Grid {
    let f = &ir.body;
    let of_group = |v: Option<&Value>| f.ty(*v?).mat().filter(|m| m.scope == Scope::Workgroup);
    let has_whole_rows = f.insts.iter().any(|info| {
        let (Some(from), Some(to)) = (of_group(info.args.first()), of_group(info.results.first())) else {
            return false;
        };
        match info.op {
            Op::MatReduce { kind, .. } => kind == MatReduceKind::Row,
            Op::Bitcast | Op::Convert(_) => (from.use_, to.use_) == (Use::Accumulator, Use::A),
            _ => false,
        }
    });
    Grid::new(ir.num_subgroups(), has_whole_rows || streams)
}

/// How many warps of a grid hold rows of any matrix; all of those that stand side by side do.
fn busy(f: &Function, grid: Grid) -> u32 {
    let matrices = f.values.iter().filter_map(|value| value.ty.mat());
    let matrices = matrices.chain(f.vars.iter().filter_map(|var| var.ty.mat()));
    let rows = matrices.filter(|m| m.scope == Scope::Workgroup && m.use_ != Use::B).map(|m| {
        let Share { layout, warps } = Share::of(m, grid);
        m.rows.div_ceil(layout.rows).min(warps.0)
    });
    match grid.columns {
        1 => rows.max().unwrap_or(grid.warps),
        _ => grid.warps,
    }
}

/// Refuses what is not done with matrices of a type.
fn check(ir: &Module, grid: Grid, m: MatType) -> Result<()> {
    if !ir.workgroup_invocations().is_multiple_of(LANES) {
        return Err(Error::unsupported("matrices in a subgroup that is partly filled"));
    }
    let warps = if m.scope == Scope::Workgroup { grid.warps } else { 1 };
    let most = u64::from(MAX_REGISTERS * LANES * warps);
    if m.len() > most || Share::of(m, grid).layout.registers() > MAX_REGISTERS {
        return Err(Error::unsupported(format!("matrices of more than {most} elements")));
    }
    Ok(())
}

/// Whether an instruction takes, gives or accesses matrices.
pub(crate) fn concerns(f: &Function, info: &InstInfo) -> bool {
    f.concerns_matrices(info, Scope::Subgroup) || f.concerns_matrices(info, Scope::Workgroup)
}

impl<'c> Lower<'_, 'c> {
    /// Lowers an instruction that concerns matrices.
    pub(crate) fn lower_matrix(&mut self, inst: Inst) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        for &v in info.args.iter().chain(&info.results) {
            if let Some(m) = f.ty(v).mat() {
                check(self.ir, self.matrices.grid, m)?;
            }
        }
        match &info.op {
            Op::VarLoad(var) => self.mat_var_load(inst, *var),
            Op::VarStore(_) if self.keep_late(inst) => Ok(()),
            Op::VarStore(var) => self.mat_var_store(inst, *var),
            Op::VarComponentLoad(var) => self.component_load(inst, *var),
            Op::VarComponentStore(var) => self.component_store(inst, *var),
            Op::MatLoad { column_major, flags } => self.mat_load(inst, *column_major, *flags),
            Op::MatStore { column_major, flags } => self.mat_store(inst, *column_major, *flags),
            Op::MatMulAdd(flags) => self.mat_mul_add(inst, *flags),
            Op::MatSplat => self.mat_splat(inst),
            Op::MatScale => self.mat_scale(inst),
            Op::MatExtract => self.mat_extract(inst),
            Op::MatInsert => self.mat_insert(inst),
            Op::MatTranspose => {
                let m = self.mat(info.args[0])?;
                let to = self.share_of(self.mat_ty(info.results[0])?).layout;
                let turned = self.regroup(&m, to, true)?;
                self.set_mat(inst, turned)
            }
            Op::MatMap { body } => self.mat_map(inst, *body),
            Op::MatReduce { kind: MatReduceKind::All, body } => self.mat_reduce_all(inst, *body),
            Op::MatReduce { body, .. } => self.mat_reduce(inst, *body),
            op if op.computes() => self.mat_elementwise(inst),
            op => Err(Error::unsupported(phalanx_ir::text::mnemonic(op))),
        }
    }

    /// A matrix.
    fn mat(&self, v: Value) -> Result<Mat<'c>> {
        let known = self.matrices.values[v.index()].clone();
        known.ok_or_else(|| Error::bug(format!("{v} is used before it is defined")))
    }

    /// A matrix in the layout of a type.
    fn mat_in(&mut self, v: Value, kind: Kind) -> Result<Mat<'c>> {
        let m = self.mat(v)?;
        let to = m.layout.with(kind);
        self.regroup(&m, to, false)
    }

    /// The type of a matrix.
    fn mat_ty(&self, v: Value) -> Result<MatType> {
        self.f.ty(v).mat().ok_or_else(|| Error::bug(format!("{v} is no matrix")))
    }

    /// What a warp holds of a matrix of a type.
    fn share_of(&self, m: MatType) -> Share {
        Share::of(m, self.matrices.grid)
    }

    /// Defines the result of an instruction as a matrix.
    fn set_mat(&mut self, inst: Inst, m: Mat<'c>) -> Result<()> {
        let v = self.f.inst(inst).results[0];
        debug_assert_eq!(m.layout, self.share_of(self.mat_ty(v)?).layout);
        if self.matrices.is_extracted[v.index()] {
            let components = self.regroup(&m, self.components_of(self.mat_ty(v)?), false)?;
            self.matrices.components[v.index()] = Some(components);
        }
        self.matrices.values[v.index()] = Some(m);
        Ok(())
    }

    /// A matrix of which each component is an invocation's scalar.
    fn spread(&mut self, scalar: Value, m: MatType) -> Result<Mat<'c>> {
        let x = self.scalar(scalar)?;
        let Share { layout, warps } = self.share_of(m);
        // Of several warps a pass has left no other matrices than those of one scalar.
        let is_uniform = warps != (1, 1) || self.uniformity.is_uniform(scalar);
        let own = if is_uniform { layout } else { self.components_of(m) };
        let spread = self.pack_elements(own, m.elem, &vec![x; own.registers() as usize])?;
        self.regroup(&spread, layout, false)
    }

    fn mat_splat(&mut self, inst: Inst) -> Result<()> {
        let info = self.f.inst(inst);
        let m = self.mat_ty(info.results[0])?;
        let result = self.spread(info.args[0], m)?;
        self.set_mat(inst, result)
    }

    fn mat_scale(&mut self, inst: Inst) -> Result<()> {
        let info = self.f.inst(inst);
        let m = self.mat_ty(info.results[0])?;
        let op = if m.elem.is_float() { BinaryOp::Fmul } else { BinaryOp::Imul };
        let factors = self.spread(info.args[1], m)?;
        let (xs, ys) = (self.mat(info.args[0])?, self.elements(&factors)?);
        let xs = self.elements(&xs)?;
        let exact = info.exact;
        let products = xs.into_iter().zip(ys).map(|(x, y)| self.e.binary(op, m.elem, x, y, exact));
        let products = products.collect::<Result<Vec<_>>>()?;
        let result = self.pack_elements(factors.layout, m.elem, &products)?;
        self.set_mat(inst, result)
    }

    /// What is done with each element by itself.
    fn mat_elementwise(&mut self, inst: Inst) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let to = self.mat_ty(info.results[0])?;
        let layout = self.share_of(to).layout;
        if let Some(scaled) = self.scaled_rows(inst) {
            return self.scale_rows(inst, scaled);
        }
        match (&info.op, &info.args[..]) {
            (Op::Select, &[cond, x, y]) => {
                let (cond, x, y) = (self.scalar(cond)?, self.mat(x)?, self.mat(y)?);
                let words = x.words.iter().zip(y.words.iter());
                let words = words.map(|(&x, &y)| self.e.select(cond, x, y)).collect::<Result<_>>()?;
                self.set_mat(inst, Mat { words, ..x })
            }
            (Op::Convert(_) | Op::Bitcast, &[x]) => {
                let x = self.mat(x)?;
                let converted = self.converted(&x, &info.op, to.elem)?;
                let converted = self.regroup(&converted, layout, false)?;
                self.set_mat(inst, converted)
            }
            (op, args) => {
                let from = self.mat_ty(args[0])?.elem;
                let mut operands = Vec::new();
                for &arg in args {
                    let m = self.mat_in(arg, layout.kind)?;
                    operands.push(self.elements(&m)?);
                }
                let mut results = Vec::new();
                for i in 0..layout.registers() as usize {
                    results.push(match (op, &operands[..]) {
                        (Op::Unary(op), [x]) => self.e.unary(*op, from, x[i], info.exact)?,
                        (Op::Binary(op), [x, y]) => self.binary(*op, from, x[i], y[i], info.exact)?,
                        (Op::Fma, [x, y, z]) => self.e.fma(from, x[i], y[i], z[i])?,
                        _ => return Err(Error::bug("no operation on elements")),
                    });
                }
                let result = self.pack_elements(layout, to.elem, &results)?;
                self.set_mat(inst, result)
            }
        }
    }

    /// The elements of a matrix as those of another type.
    fn converted(&mut self, x: &Mat<'c>, op: &Op, to: Scalar) -> Result<Mat<'c>> {
        let mut elements = self.elements(x)?;
        let pairs = match (op, to) {
            (Op::Convert(op), _) if x.elem != Scalar::F32 || op.rounding != Rounding::NearestEven => None,
            (Op::Convert(_), Scalar::F16) => Some("llvm.nvvm.ff2f16x2.rn"),
            (Op::Convert(_), Scalar::BF16) => Some("llvm.nvvm.ff2bf16x2.rn"),
            _ => None,
        };
        if let Some(name) = pairs.filter(|_| x.layout.pack(to) == 2) {
            let ty = self.e.cx.i32_type().into();
            let pair = |pair: &[V<'c>]| {
                let pair = self.e.intrinsic(name, &[], &[pair[1], pair[0]])?;
                self.e.bitcast(pair, ty)
            };
            let words = elements.chunks_exact(2).map(pair).collect::<Result<_>>()?;
            return Ok(Mat { layout: x.layout, elem: to, words });
        }
        for element in &mut elements {
            *element = match op {
                Op::Convert(op) => self.e.convert(*op, x.elem, to, *element)?,
                _ => self.e.bitcast(*element, self.e.scalar_ty(to))?,
            };
        }
        self.pack_elements(x.layout, to, &elements)
    }
}

/// Whether components of a variable are accessed.
fn has_components(f: &Function, var: Var) -> bool {
    f.insts
        .iter()
        .any(|info| matches!(info.op, Op::VarComponentLoad(v) | Op::VarComponentStore(v) if v == var))
}

/// Whether all elements of what a variable holds are the same: it gets nothing but constants, and what is left of a whole
/// matrix.
fn is_even(f: &Function, var: Var) -> bool {
    let is_one = |v: &Value| match f.def(*v).op {
        Op::MatReduce { kind, .. } => kind == MatReduceKind::All,
        Op::MatSplat => f.const_bits(f.def(*v).args[0]).is_some(),
        _ => false,
    };
    let keeps = |info: &InstInfo| match info.op {
        Op::VarStore(v) if v == var => info.args.last().is_some_and(is_one),
        Op::VarComponentStore(v) => v != var,
        _ => true,
    };
    f.var(var).count == 1 && f.insts.iter().all(keeps)
}
