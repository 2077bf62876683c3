//! Operations with a region for each element, straight on the tiles.
//!
//! Where the elements of all tiles lie one after the other, as many of them as a subgroup has lanes are
//! a vector in memory, and lane `l` works on the elements that it holds: `i * lanes + l` for component
//! `i`. So they are where rows are padded that are some vectors long. The region becomes the body of a loop over
//! components; only its loads and stores move anything:
//!
//! ```text
//! for each component i:
//!     x = load <lanes x f32> from %m.tile + i * lanes
//!     y = the region, of row and column of i * lanes + (0, 1, …), and of x
//!     store y to %r.tile + i * lanes
//! ```
//!
//! Of a narrower operand all elements of a row get its first one there.
//! An element is read before it is written, so a result may take the place of an operand of its type.
//! Loads that decode come here as maps without operands, which choose between a quick way and one for everything; as all
//! elements go the same way, each has a loop of its own.
//! Everything else is left to [`phalanx_ir::passes::expand_but`].

use super::{MatValue, columns, layout, reduce};
use crate::emit::{V, const_int};
use crate::error::{Error, Result};
use crate::lower::{Flow, Lower};
use crate::value::{Lowered, Val};
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::PointerValue;
use phalanx_ir::{BinaryOp, Block, Function, Inst, InstInfo, MatType, Module, Op, Scalar, Scope, Value};
use phalanx_kernels::{KernelSet, TileLayout};

/// Whether an operation of a module is lowered here.
pub(crate) fn is_direct(module: &Module, isa: KernelSet, func: &Function, info: &InstInfo) -> bool {
    match info.op {
        Op::MatMap { .. } => {
            let mats = || info.args.iter().chain(&info.results).filter_map(|&v| func.ty(v).mat());
            // Rows of narrower operands are found where a vector has no parts of rows.
            let has_one_width = mats().all(|m| mats().all(|other| m.cols == other.cols));
            let are_found = mats().all(|m| m.cols.is_power_of_two());
            (has_one_width || are_found) && mats().all(|m| maps(module, isa, m))
        }
        _ => {
            let lanes = module.subgroup_size;
            let is_reduced =
                || reduce::is_direct(isa, func, info, lanes) || columns::is_direct(isa, func, info, lanes);
            is_full(module) && is_reduced()
        }
    }
}

/// The lanes of the last subgroup that do not exist cannot work on their elements.
fn is_full(module: &Module) -> bool {
    module.workgroup_invocations().is_multiple_of(module.subgroup_size)
}

/// Whether maps go straight through such matrices.
pub(crate) fn maps(module: &Module, isa: KernelSet, m: MatType) -> bool {
    is_full(module) && m.scope == Scope::Subgroup && is_row(layout(isa, m), m, module.subgroup_size)
}

/// Whether the rows of such a matrix are folded straight into such a one.
pub(crate) fn folds(module: &Module, isa: KernelSet, from: MatType, to: MatType) -> bool {
    [from, to].into_iter().all(|m| maps(module, isa, m)) && reduce::has_plan(from, to, module.subgroup_size)
}

/// Whether the elements are one vector behind the other, but for what pads rows of whole vectors, in a type that is
/// quickly read.
pub(super) fn is_row(layout: TileLayout, m: MatType, lanes: u32) -> bool {
    let is_even = layout.ld == m.cols || m.cols.is_multiple_of(lanes);
    let is_dense = layout.interleave == 1 && is_even && m.len().is_multiple_of(lanes.into());
    is_dense && !matches!(m.elem, Scalar::E4M3 | Scalar::E5M2)
}

impl<'c> Lower<'_, 'c> {
    pub(super) fn mat_map(&mut self, inst: Inst, body: Block) -> Result<()> {
        let f = self.f;
        let operands = (0..f.inst(inst).args.len()).map(|i| self.mat_arg(inst, i));
        let operands = operands.collect::<Result<Vec<MatValue<'c>>>>()?;
        let result = self.mat_result(inst)?;
        self.here.is_element = true;
        match self.known_before(body)? {
            None => match self.factors(inst, body, &operands, &result) {
                Some(factors) => self.multiply_rows(&factors, &operands, &result)?,
                None => self.map_components(body, &operands, &result)?,
            },
            Some(cond) => {
                // A loop for each way, in which LLVM finds no choice.
                let truth = self.scalar(cond)?;
                let [yes, no, done] = ["map", "map_otherwise", "mapped"].map(|name| self.new_block(name));
                self.e.cond_br(truth.v, yes, no)?;
                for (block, truth) in [(yes, true), (no, false)] {
                    self.e.b.position_at_end(block);
                    self.define(cond, Lowered::Scalar(Val::uniform(self.e.bool(truth))));
                    self.map_components(body, &operands, &result)?;
                    self.e.br(done)?;
                }
                self.e.b.position_at_end(done);
                self.define(cond, Lowered::Scalar(truth));
            }
        }
        self.here.is_element = false;
        Ok(())
    }

    /// The condition by which a region chooses what to do, if it does nothing else and all elements have the same one.
    fn known_before(&self, body: Block) -> Result<Option<Value>> {
        let (f, mut conds) = (self.f, Vec::new());
        for &inst in f.block(body) {
            match f.inst(inst).op {
                Op::If { .. } => conds.push(f.inst(inst).args[0]),
                Op::Params | Op::Const(_) | Op::VarLoad(_) | Op::Yield => {}
                _ => return Ok(None),
            }
        }
        let &[cond] = &conds[..] else { return Ok(None) };
        if f.block(body).contains(&f.values[cond.index()].def) {
            return Ok(None);
        }
        let truth = self.scalar(cond)?;
        Ok((truth.is_uniform() && const_int(truth.v).is_none()).then_some(cond))
    }

    fn map_components(
        &mut self,
        body: Block,
        operands: &[MatValue<'c>],
        result: &MatValue<'c>,
    ) -> Result<()> {
        let cols = result.ty.cols;
        let count = (result.ty.len() / u64::from(self.w)) as u32;
        self.here.decoded = operands.is_empty().then(Vec::new);
        self.count_up(count, |l, component| {
            l.note_site()?;
            let first = l.e.mul(component, l.e.i32(l.w))?;
            let mut params = l.row_and_col(first, cols)?.to_vec();
            for m in operands {
                let x = match m.ty.cols < cols {
                    true => l.read_first_of_rows(m, component, cols)?,
                    false => l.read_component(m, component)?,
                };
                params.push(Val::varying(x));
            }
            if let Some(y) = l.region(body, &params)? {
                let y = l.scalar(y)?;
                let y = l.vector(y)?;
                l.write_component(result, component, y)?;
            }
            Ok(())
        })?;
        self.here.decoded = None;
        Ok(())
    }

    /// Appends a loop over the numbers below `count`, which is not 0.
    pub(super) fn count_up(
        &mut self,
        count: u32,
        body: impl FnOnce(&mut Self, V<'c>) -> Result<()>,
    ) -> Result<()> {
        if count == 1 {
            return body(self, self.e.i32(0));
        }
        let (before, [head, done]) = (self.e.here()?, ["component", "components"].map(|n| self.new_block(n)));
        self.e.br(head)?;
        self.e.b.position_at_end(head);
        let number = self.e.b.build_phi(self.e.cx.i32_type(), "component")?;
        number.add_incoming(&[(&self.e.cx.i32_type().const_zero(), before)]);
        body(self, number.as_basic_value())?;
        let next = self.e.add(number.as_basic_value(), self.e.i32(1))?;
        number.add_incoming(&[(&next, self.e.here()?)]);
        let more = self.e.icmp(IntPredicate::ULT, next, self.e.i32(count))?;
        self.e.cond_br(more, head, done)?;
        self.e.b.position_at_end(done);
        Ok(())
    }

    /// Row and column of as many elements as there are lanes, from one on.
    fn row_and_col(&mut self, first: V<'c>, cols: u32) -> Result<[Val<'c>; 2]> {
        let by = Val::uniform(self.e.i32(cols));
        if cols.is_multiple_of(self.w) {
            let row = self.binary(BinaryOp::Udiv, Scalar::I32, first, by.v, true)?;
            let col = self.binary(BinaryOp::Umod, Scalar::I32, first, by.v, true)?;
            return Ok([Val::uniform(row), Val::affine(col, 1)]);
        }
        let (element, by) = (self.vector(Val::affine(first, 1))?, self.vector(by)?);
        let row = self.binary(BinaryOp::Udiv, Scalar::I32, element, by, true)?;
        let col = self.binary(BinaryOp::Umod, Scalar::I32, element, by, true)?;
        Ok([row, col].map(Val::varying))
    }

    /// Appends a region's code, with these values for its parameters; gives its result, nothing if it never ends.
    pub(super) fn region(&mut self, body: Block, params: &[Val<'c>]) -> Result<Option<Value>> {
        let (f, exec) = (self.f, self.exec);
        for &inst in f.block(body) {
            let info = f.inst(inst);
            match info.op {
                Op::Params => self.define_all(&info.results, params),
                Op::Yield => {
                    self.exec = exec;
                    return Ok(info.args.first().copied());
                }
                _ if self.inst(inst)? == Flow::Left => {
                    // What follows is never executed.
                    let never = self.new_block("never");
                    self.e.b.position_at_end(never);
                    self.exec = exec;
                    return Ok(None);
                }
                _ => {}
            }
        }
        Err(Error::bug("a region without an end"))
    }

    pub(super) fn define_all(&mut self, params: &[Value], values: &[Val<'c>]) {
        for (&v, &x) in params.iter().zip(values) {
            self.define(v, Lowered::Scalar(x));
        }
    }

    /// The type of a tile's elements.
    pub(super) fn storage_ty(&self, m: &MatValue<'c>) -> BasicTypeEnum<'c> {
        if self.is_widened(m) { self.e.cx.f32_type().into() } else { self.e.scalar_ty(m.ty.elem) }
    }

    /// Whether elements are stored as f32.
    fn is_widened(&self, m: &MatValue<'c>) -> bool {
        self.layout_of(m.ty).storage != super::elem(m.ty.elem)
    }

    /// Address of a component of all lanes.
    fn component_at(&mut self, m: &MatValue<'c>, component: V<'c>) -> Result<PointerValue<'c>> {
        let layout = self.layout_of(m.ty);
        let bytes = layout.storage.bytes() as i64;
        let component = self.e.zext_trunc(component, 64)?;
        let mut offset = self.e.mul(component, self.e.i64(bytes * i64::from(self.w)))?;
        if layout.ld > m.ty.cols {
            let vectors = self.e.i64((m.ty.cols / self.w).into());
            let row = self.binary(BinaryOp::Udiv, Scalar::I64, component, vectors, true)?;
            let padding = self.e.i64(i64::from(layout.ld - m.ty.cols) * bytes);
            offset = self.e.add(offset, self.e.mul(row, padding)?)?;
        }
        Ok(self.e.offset(m.tile.into(), offset)?.into_pointer_value())
    }

    pub(super) fn read_component(&mut self, m: &MatValue<'c>, component: V<'c>) -> Result<V<'c>> {
        let at = self.component_at(m, component)?;
        let ty = self.e.vec_of(self.storage_ty(m), self.w);
        let x = self.e.load(ty, at, m.ty.elem.bytes())?;
        self.as_element(m, x)
    }

    /// For a component of all lanes of a matrix of so many columns: the first element of each one's row in a narrower one.
    fn read_first_of_rows(&mut self, m: &MatValue<'c>, component: V<'c>, cols: u32) -> Result<V<'c>> {
        let (layout, storage) = (self.layout_of(m.ty), self.storage_ty(m));
        // A row is some vectors, or a vector some rows; both are powers of two then.
        let (vectors, rows) = ((cols / self.w).max(1), (self.w / cols).max(1));
        let component = self.e.zext_trunc(component, 64)?;
        let row = self.binary(BinaryOp::Udiv, Scalar::I64, component, self.e.i64(vectors.into()), true)?;
        let bytes = i64::from(rows * layout.ld) * layout.storage.bytes() as i64;
        let offset = self.e.mul(row, self.e.i64(bytes))?;
        let at = self.e.offset(m.tile.into(), offset)?.into_pointer_value();
        let align = m.ty.elem.bytes();
        let x = if rows == 1 {
            let x = self.e.load(storage, at, align)?;
            self.e.splat(x, self.w)?
        } else {
            // As far as the first element of the last row.
            let ty = self.e.vec_of(storage, (rows - 1) * layout.ld + 1);
            let x = self.e.load(ty, at, align)?;
            self.e.permute(x, (0..self.w).map(|lane| lane / cols * layout.ld))?
        };
        self.as_element(m, x)
    }

    /// Elements, as they are stored.
    pub(super) fn as_element(&mut self, m: &MatValue<'c>, x: V<'c>) -> Result<V<'c>> {
        match m.ty.elem {
            _ if !self.is_widened(m) => Ok(x),
            // The upper half: the rest is zero.
            Scalar::BF16 => {
                let bits = self.e.bitcast(x, self.e.ty_like(self.e.cx.i32_type(), x))?;
                let high = self.e.lshr(bits, self.e.int_like(bits, 16))?;
                self.e.zext_trunc(high, 16)
            }
            elem => self.e.as_narrow(elem, x),
        }
    }

    pub(super) fn write_component(&mut self, m: &MatValue<'c>, component: V<'c>, x: V<'c>) -> Result<()> {
        let at = self.component_at(m, component)?;
        let x = if self.is_widened(m) { self.e.as_f32(m.ty.elem, x)? } else { x };
        self.e.store(x, at, m.ty.elem.bytes())?;
        Ok(())
    }
}
