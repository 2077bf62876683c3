//! Variables of an invocation.
//!
//! A variable is split along its structure members into pieces: IR variables whose elements all have
//! one type. Arrays, vectors and matrices only multiply the number of elements, so an access chain
//! with dynamic indices is one index, computed row-major.

use crate::cx::Cx;
use crate::diag::{Res, bug, code, invalid, operand};
use crate::reader::Id;
use crate::types::{Kind, MAX_VALUE_LEAVES, Ty};
use crate::value::{Index, LocalPtr, LocalVar, Pointer, Val};
use phalanx_ir::{self as ir, CompareOp, Label, Op as IrOp, Var};
use std::rc::Rc;

/// Variables with more elements are the same one in all calls of their function.
const MIN_SHARED: u64 = 64;

/// Characters of the name of a variable.
const MAX_NAME: usize = 80;

/// Variables with more elements are cleared by a loop.
const MAX_UNROLLED: u32 = 16;

impl Cx<'_> {
    /// Makes the variable with an id: a table if all that is ever stored in it is one constant.
    pub(crate) fn local_variable(&mut self, id: Id, ty: Ty) -> Res<Pointer> {
        let var = match self.large_locals.get(&id) {
            Some(var) => var.clone(),
            None => Rc::new(self.make_local(id, ty)?),
        };
        // A function is never active twice, so its calls may share a variable. Small ones each get
        // their own, since what is known about a variable holds for all its uses.
        let elements = var.pieces.iter().map(|v| u64::from(self.func.var(*v).count)).sum::<u64>();
        if var.is_table || elements > MIN_SHARED {
            self.large_locals.insert(id, var.clone());
        }
        Ok(Pointer::Local(LocalPtr { var, piece: 0, index: Index::ZERO, ty, component: None }))
    }

    fn make_local(&mut self, id: Id, ty: Ty) -> Res<LocalVar> {
        let mut pieces = Vec::new();
        let name = self.spv.names.of(id);
        self.make_pieces(ty, 1, name, &mut pieces)?;
        self.translated += pieces.len();
        let is_table = match self.tables.constant_of(id) {
            Some(constant) => self.fill_tables(ty, constant, &pieces)?,
            None => false,
        };
        Ok(LocalVar { pieces, is_table })
    }

    fn make_pieces(&mut self, ty: Ty, count: u32, name: &str, out: &mut Vec<Var>) -> Res<()> {
        match self.types().kind(ty) {
            Kind::Vector { elem, n } | Kind::Array { elem, n } | Kind::Matrix { column: elem, n } => {
                let count = count.checked_mul(*n).filter(|n| *n <= i32::MAX as u32);
                let count = count.ok_or_else(|| self.too_much_private())?;
                self.make_pieces(*elem, count, name, out)
            }
            Kind::Tensor { word, tensor } => {
                let count = count.checked_mul(tensor.words()).ok_or_else(|| self.too_much_private())?;
                self.make_pieces(*word, count, name, out)
            }
            Kind::Struct(members) => {
                for (i, &m) in members.iter().enumerate() {
                    let member = self.spv.names.of_member(ty.id(), i as u32);
                    let sep = if name.is_empty() || member.is_empty() { "" } else { "." };
                    let name: String = [name, sep, member].concat().chars().take(MAX_NAME).collect();
                    self.make_pieces(m, count, &name, out)?;
                }
                Ok(())
            }
            _ => {
                let leaf = self
                    .types()
                    .leaf(ty)
                    .ok_or_else(|| operand(format!("a variable of type {}", self.types().describe(ty))))?;
                self.count_private(leaf, count)?;
                out.push(self.func.new_var(leaf, count, name));
                Ok(())
            }
        }
    }

    /// A variable for a value that an instruction indexes.
    pub(crate) fn scratch_var(&mut self, leaf: ir::Type, count: u32) -> Res<Var> {
        self.count_private(leaf, count)?;
        Ok(self.func.new_var(leaf, count, ""))
    }

    fn count_private(&mut self, leaf: ir::Type, count: u32) -> Res<()> {
        let bytes = match leaf {
            ir::Type::Scalar(s) => u64::from(s.bytes()),
            ir::Type::Ptr(_) => 16,
            ir::Type::Mat(m) => {
                u64::from(m.components(self.options.subgroup_size)) * u64::from(m.elem.bytes())
            }
        };
        self.private_bytes = self.private_bytes.saturating_add(bytes * u64::from(count));
        if self.private_bytes > self.options.limits.private_bytes {
            return Err(self.too_much_private());
        }
        Ok(())
    }

    fn too_much_private(&self) -> crate::diag::Fault {
        let m = format!("the variables take more than {} bytes", self.options.limits.private_bytes);
        invalid(code::LIMIT, m)
    }

    /// Turns pieces into tables of a constant; false if one is no scalar.
    fn fill_tables(&mut self, ty: Ty, constant: Id, pieces: &[Var]) -> Res<bool> {
        if pieces.iter().any(|p| self.func.var(*p).ty.scalar().is_none()) {
            return Ok(false);
        }
        let Some((found, val)) = self.globals.get(constant) else { return Ok(false) };
        let small = self.types().leaves(ty).is_ok_and(|n| n <= MAX_VALUE_LEAVES);
        if !self.types().same(*found, ty) || !small {
            return Ok(false);
        }
        let mut tables = vec![Vec::new(); pieces.len()];
        self.collect(ty, val, 0, &mut tables)?;
        for (piece, table) in pieces.iter().zip(tables) {
            self.func.vars[piece.index()].table = Some(table);
        }
        Ok(true)
    }

    /// Appends the bits of a constant to the tables of the pieces from `piece` on.
    fn collect(&self, ty: Ty, val: &Val, piece: usize, tables: &mut [Vec<u64>]) -> Res<()> {
        if let Val::Const(_, bits) = val {
            tables[piece].push(*bits);
            return Ok(());
        }
        let n = self.types().count(ty).ok_or_else(|| bug("a table of no composite"))?;
        let mut at = piece;
        for i in 0..n {
            let part = self.types().part(ty, val, i)?;
            let elem = self.types().constituent(ty, i).ok_or_else(|| bug("a constituent lacks its type"))?;
            self.collect(elem, &part, at, tables)?;
            if matches!(self.types().kind(ty), Kind::Struct(_)) {
                at += self.types().pieces(elem) as usize;
            }
        }
        Ok(())
    }

    /// Sets a whole variable to zero; false if another way is better.
    pub(crate) fn clear(&mut self, p: &LocalPtr) -> Res<bool> {
        let whole = p.index == Index::ZERO && p.piece == 0;
        let types: Vec<(Var, ir::Type, u32)> =
            p.var.pieces.iter().map(|&v| (v, self.func.var(v).ty, self.func.var(v).count)).collect();
        let large = types.iter().any(|t| t.2 > MAX_UNROLLED);
        if !whole || !large || p.var.is_table || types.iter().any(|t| matches!(t.1, ir::Type::Ptr(_))) {
            return Ok(false);
        }
        for (var, ty, count) in types {
            self.clear_piece(var, ty, count)?;
        }
        Ok(true)
    }

    fn clear_piece(&mut self, var: Var, ty: ir::Type, count: u32) -> Res<()> {
        self.count_up(0, count, 1, |cx, i| {
            let zero = cx.leaf_value(ty, &Val::Const(ty, 0))?;
            cx.b().var_store(var, Some(i), zero);
            Ok(())
        })
    }

    /// Appends a loop that runs `body` with `first`, `first + step`, … below `end`.
    pub(crate) fn count_up(
        &mut self,
        first: u32,
        end: u32,
        step: u32,
        body: impl FnOnce(&mut Self, ir::Value) -> Res<()>,
    ) -> Res<()> {
        let start = self.i32(first as i32);
        self.count_from(start, end, step, body)
    }

    /// As [`Cx::count_up`], from a value that may differ between invocations.
    pub(crate) fn count_from(
        &mut self,
        first: ir::Value,
        end: u32,
        step: u32,
        body: impl FnOnce(&mut Self, ir::Value) -> Res<()>,
    ) -> Res<()> {
        let counter = self.func.new_var(ir::Type::I32, 1, "");
        self.b().var_store(counter, None, first);
        let outer = self.block;
        let (label, block): (Label, ir::Block) = (self.new_label(), self.func.new_block());
        self.b().effect(IrOp::Loop { label, body: block }, &[]);
        self.block = block;
        let i = self.b().var_load(counter, None);
        let end = self.i32(end as i32);
        let more = self.b().compare(CompareOp::Ult, i, end);
        let step = self.i32(step as i32);
        let done = self.fork(
            more,
            |cx| {
                body(cx, i)?;
                let next = cx.b().binary(ir::BinaryOp::Iadd, i, step);
                cx.b().var_store(counter, None, next);
                cx.b().br(label);
                Ok(())
            },
            |_| Ok(()),
        );
        self.block = outer;
        done
    }
}
