//! Rows times numbers of which most are one.
//!
//! What an attention has summed up shrinks where a larger score is found, which most rounds do not find: all of it times
//! one, and none of it in the first cache. Where the product takes the place of its operand, such rows are left alone:
//!
//! ```text
//! %y = mat_map %x, %f {                 for as many rows as there are lanes:
//!   %row, %col, %e, %g = params             g = the first elements of these rows of %f
//!   %z = fmul %e, %g               →        if any is not 1:
//!   yield %z                                    rows of %x *= each g that is not 1
//! }
//! ```

use super::MatValue;
use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::{Flow, Lower};
use crate::value::Val;
use inkwell::IntPredicate;
use inkwell::values::PointerValue;
use phalanx_ir::eval::from_f64;
use phalanx_ir::{BinaryOp, Block, Inst, Op, Value};

/// A map that multiplies the rows of a matrix by numbers.
pub(super) struct Factors<'f> {
    /// What computes the row's number.
    insts: &'f [Inst],
    number: Value,
    /// The multiplication.
    product: Inst,
    /// The parameters, and which of the operands the matrix is.
    params: &'f [Value],
    matrix: usize,
}

impl<'c, 'f> Lower<'f, 'c> {
    /// The factors of a map, if it is nothing else.
    pub(super) fn factors(
        &self,
        inst: Inst,
        body: Block,
        operands: &[MatValue<'c>],
        result: &MatValue<'c>,
    ) -> Option<Factors<'f>> {
        let f = self.f;
        let is_wide = |m: &MatValue<'_>| m.ty.cols == result.ty.cols;
        let matrix = operands.iter().position(is_wide)?;
        let place = |v: Value| self.mats.places.of_value(v);
        let in_place = place(f.inst(inst).args[matrix]) == place(f.inst(inst).results[0])
            && operands[matrix].ty == result.ty;
        let is_only = operands.len() > 1 && operands.iter().filter(|m| is_wide(m)).count() == 1;
        let &[first, ref insts @ .., product, last] = f.block(body) else { return None };
        let params = &f.inst(first).results[..];
        let element = params[2 + matrix];
        let may_be_used = |v: Value| v != element && !params[..2].contains(&v);
        let info = f.inst(product);
        let is_plain = |&inst: &Inst| {
            let info = f.inst(inst);
            info.op.computes() && info.args.iter().all(|&v| may_be_used(v))
        };
        let gives = f.inst(last).args[..] == info.results[..];
        if !in_place || !is_only || !gives || info.op != Op::Binary(BinaryOp::Fmul) {
            return None;
        }
        let number = match info.args[..] {
            [x, y] if x == element => y,
            [x, y] if y == element => x,
            _ => return None,
        };
        // A number from around the region is not one of each row.
        let is_of_row = params.contains(&number) || insts.contains(&f.values[number.index()].def);
        let are_blocks = [result.ty.cols, result.ty.rows].iter().all(|n| n.is_multiple_of(self.w));
        let are_words = operands.iter().all(|m| self.layout_of(m.ty).storage.bytes() >= 4);
        let is_plain = may_be_used(number) && insts.iter().all(is_plain);
        let found = Factors { insts, number, product, params, matrix };
        (are_blocks && are_words && is_of_row && is_plain).then_some(found)
    }

    /// Multiplies the rows whose number is not one, of which as many as there are lanes are looked at together.
    pub(super) fn multiply_rows(
        &mut self,
        factors: &Factors<'f>,
        operands: &[MatValue<'c>],
        result: &MatValue<'c>,
    ) -> Result<()> {
        self.count_up(result.ty.rows / self.w, |l, block| {
            l.note_site()?;
            let first = l.e.mul(block, l.e.i32(l.w))?;
            // Neither the place nor the element is looked at.
            let mut params = vec![Val::uniform(l.e.i32(0)); 2];
            for (number, m) in operands.iter().enumerate() {
                let x = match number == factors.matrix {
                    true => l.e.zero(l.e.vec_of(l.e.scalar_ty(m.ty.elem), l.w).into()),
                    false => l.read_first_of_each(m, first)?,
                };
                params.push(Val::varying(x));
            }
            l.define_all(factors.params, &params);
            for &inst in factors.insts {
                if l.inst(inst)? == Flow::Left {
                    return Err(Error::bug("a computation that does not go on"));
                }
            }
            let numbers = l.scalar(factors.number)?;
            let slot = l.spill_lanes(numbers, 0)?;
            let numbers = l.vector(numbers)?;
            let bits = l.e.as_bits(result.ty.elem, numbers)?;
            let one = l.e.int_like(bits, from_f64(result.ty.elem, 1.0));
            let others = l.e.icmp(IntPredicate::NE, bits, one)?;
            let any = l.e.any(others)?;
            l.only_if(any, |l| l.count_up(l.w, |l, row| l.multiply_row(factors, slot, result, (first, row))))
        })
    }

    /// Multiplies a row behind the first of a block by its number in memory, if that is not one.
    fn multiply_row(
        &mut self,
        factors: &Factors<'f>,
        numbers: PointerValue<'c>,
        result: &MatValue<'c>,
        (first, row): (V<'c>, V<'c>),
    ) -> Result<()> {
        let elem = result.ty.elem;
        let index = self.e.zext_trunc(row, 64)?;
        let at = self.e.element_ptr(self.e.scalar_ty(elem), numbers.into(), index)?;
        let number = self.e.load(self.e.scalar_ty(elem), at.into_pointer_value(), elem.bytes())?;
        let bits = self.e.as_bits(elem, number)?;
        let one = self.e.int_like(bits, from_f64(elem, 1.0));
        let is_other = self.e.icmp(IntPredicate::NE, bits, one)?;
        self.only_if(is_other, |l| {
            let number = l.e.splat(number, l.w)?;
            l.define_all(&[factors.number], &[Val::varying(number)]);
            let vectors = result.ty.cols / l.w;
            let row = l.e.add(first, row)?;
            let before = l.e.mul(row, l.e.i32(vectors))?;
            l.count_up(vectors, |l, vector| {
                let component = l.e.add(before, vector)?;
                let x = l.read_component(result, component)?;
                l.define_all(&factors.params[2 + factors.matrix..][..1], &[Val::varying(x)]);
                l.inst(factors.product)?;
                let y = l.scalar(l.f.inst(factors.product).results[0])?;
                let y = l.vector(y)?;
                l.write_component(result, component, y)
            })
        })
    }

    /// Appends code that is executed where a truth value holds.
    fn only_if(&mut self, cond: V<'c>, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let [yes, done] = ["holds", "done"].map(|name| self.new_block(name));
        self.e.cond_br(cond, yes, done)?;
        self.e.b.position_at_end(yes);
        body(self)?;
        self.e.br(done)?;
        self.e.b.position_at_end(done);
        Ok(())
    }

    /// The first element of a row for each lane, from one row on.
    fn read_first_of_each(&mut self, m: &MatValue<'c>, first: V<'c>) -> Result<V<'c>> {
        let layout = self.layout_of(m.ty);
        let rows = self.vector(Val::affine(first, 1))?;
        let bytes = self.e.int_like(rows, u64::from(layout.ld) * layout.storage.bytes() as u64);
        let offsets = self.e.mul(rows, bytes)?;
        let at = self.e.offset(m.tile.into(), offsets)?;
        let all = self.e.const_like(self.e.bool(true), rows);
        let x = self.gather(self.storage_ty(m), at, all)?;
        self.as_element(m, x)
    }
}
