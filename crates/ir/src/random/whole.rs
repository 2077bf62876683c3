//! Statements on whole matrices that have regions, or go through tensor layouts.

use super::{Generator, IN_BYTES, TILE_BYTES};
use crate::builder::Builder;
use crate::entities::{Binding, Block, Value};
use crate::op::{BinaryOp, ConvertKind, MemFlags, Op, SubgroupOp};
use crate::tensor::{Clamp, MatReduceKind, TensorAccess, TensorView};
use crate::types::{MatType, Scalar, Space, Type, Use};

impl Generator<'_> {
    /// A matrix of the same type, made from one.
    pub(super) fn whole_matrix(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType) -> Value {
        match self.rng.below(11) {
            0 => self.mapped(b, mat, ty),
            1 => self.reduced(b, mat, ty),
            2 => {
                let turned =
                    MatType { rows: ty.cols, cols: ty.rows, use_: self.rng.pick(&[Use::A, Use::B]), ..ty };
                let t = b.value(Op::MatTranspose, &[mat], turned.into());
                let acc = MatType { use_: ty.use_, ..turned };
                let t = b.value(Op::Bitcast, &[t], acc.into());
                b.value(Op::MatTranspose, &[t], ty.into())
            }
            3 => {
                self.store_tensor(b, mat, ty);
                mat
            }
            4 => self.load_tensor(b, mat, ty, true),
            5 | 6 => self.lines(b, mat, ty),
            8 | 9 => self.numbers_of_rows(b, mat, ty),
            7 => {
                let other = self.read_matrix(b, ty);
                let near = b.i32(self.rng.below(ty.len() as usize + 3) as i32 - 1);
                // Any number, now and then; it is the same for all invocations.
                let offset = if self.rng.below(4) == 0 {
                    let any = self.expr(b, Scalar::I32, 2);
                    b.value(Op::Subgroup(SubgroupOp::BroadcastFirst), &[any], Type::I32)
                } else {
                    near
                };
                b.value(Op::MatRotate, &[mat, other, offset], ty.into())
            }
            _ => self.load_tensor(b, mat, ty, false),
        }
    }

    /// Fills a region: `fill` makes its result of its parameters.
    pub(super) fn region(
        &mut self,
        b: &mut Builder<'_>,
        params: &[Type],
        fill: impl FnOnce(&mut Self, &mut Builder<'_>, &[Value]) -> Value,
    ) -> Block {
        let body = b.func.new_block();
        let (values, targets) = (self.values.len(), std::mem::take(&mut self.targets));
        let (together, counter) = (std::mem::take(&mut self.is_together), self.counter.take());
        self.in_region = true;
        b.within(body, |b| {
            let params = b.values(Op::Params, &[], params);
            let x = fill(self, b, &params);
            b.effect(Op::Yield, &[x]);
        });
        self.in_region = false;
        (self.is_together, self.counter, self.targets) = (together, counter, targets);
        self.values.truncate(values);
        body
    }

    fn mapped(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType) -> Value {
        let elem = self.rng.pick(&[Scalar::I32, Scalar::I32, Scalar::I8, Scalar::I16]);
        let other = ty.with_elem(elem);
        let read = self.read_matrix(b, other);
        let params = [Type::I32, Type::I32, Type::I32, elem.into()];
        let body = self.region(b, &params, |this, b, params| {
            this.values.extend_from_slice(params);
            let var = b.func.new_var(Type::I32, 1, "");
            let x = this.expr(b, Scalar::I32, 2);
            let x = b.binary(BinaryOp::Iadd, x, params[2]);
            b.var_store(var, None, x);
            let cond = this.expr(b, Scalar::Bool, 1);
            let seen = this.values.len();
            b.if_else(
                cond,
                |b| {
                    let y = this.expr(b, Scalar::I32, 1);
                    b.var_store(var, None, y);
                },
                |_| {},
            );
            this.values.truncate(seen);
            let x = b.var_load(var, None);
            let y = b.convert(ConvertKind::SToS, params[3], Scalar::I32);
            let y = if elem == Scalar::I32 { params[3] } else { y };
            b.binary(BinaryOp::Xor, x, y)
        });
        b.value(Op::MatMap { body }, &[mat, read], ty.into())
    }

    /// Reductions, also by a function for which the order matters.
    fn reduced(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType) -> Value {
        let op =
            self.rng.pick(&[BinaryOp::Iadd, BinaryOp::Isub, BinaryOp::Smax, BinaryOp::Umin, BinaryOp::And]);
        let body = self.region(b, &[Type::I32; 2], |_, b, params| b.binary(op, params[0], params[1]));
        let kinds = [MatReduceKind::Row, MatReduceKind::Column, MatReduceKind::All, MatReduceKind::Square];
        let even = ty.rows.is_multiple_of(2) && ty.cols.is_multiple_of(2);
        let kind = kinds[self.rng.below(if even { 4 } else { 3 })];
        if kind != MatReduceKind::Square {
            return b.value(Op::MatReduce { kind, body }, &[mat], ty.into());
        }
        let half = MatType { rows: ty.rows / 2, cols: ty.cols / 2, ..ty };
        let squares = b.value(Op::MatReduce { kind, body }, &[mat], half.into());
        self.write_matrix(b, squares);
        mat
    }

    /// A number that is the same in all invocations.
    fn word(&mut self, b: &mut Builder<'_>, least: i32, most: i32) -> Value {
        let x = b.i32(least + self.rng.below((most - least + 1) as usize) as i32);
        if self.rng.one_in(2) {
            return x;
        }
        let var = self.rng.pick(&self.uniforms.clone());
        // The values are uniform, but not all invocations may have stored the last one.
        let y = b.var_load(var, None);
        let y = b.value(Op::Subgroup(SubgroupOp::BroadcastFirst), &[y], Type::I32);
        let three = b.i32(3);
        let y = b.binary(BinaryOp::And, y, three);
        let sum = b.binary(BinaryOp::Iadd, x, y);
        let most = b.i32(most);
        b.binary(BinaryOp::Smin, sum, most)
    }

    fn load_tensor(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType, decodes: bool) -> Value {
        let zero = b.i32(0);
        let ptr = b.value(Op::BufferPtr(Binding::new(1)), &[zero], Type::Ptr(Space::Buffer));
        let ptr = b.ptr_add(ptr, None, 0, self.rng.below(IN_BYTES as usize) as i64 & !3);
        let dims = 1 + self.rng.below(5);
        let clamp =
            self.rng.pick(&[Clamp::Constant, Clamp::ClampToEdge, Clamp::Repeat, Clamp::RepeatMirrored]);
        let view = (!self.rng.one_in(3)).then(|| self.view(dims));
        let unit = self.rng.pick(&[4, 4, 1, 6]);
        let access = TensorAccess { dims: dims as u8, clamp, unit, view, flags: MemFlags::default() };
        let mut args = vec![ptr];
        args.extend(view.map(|_| mat));
        for (least, most) in [(0, 9), (0, 12), (-9, 9), (0, 9), (0, 3)] {
            (0..dims).for_each(|_| args.push(self.word(b, least, most)));
        }
        args.push(self.word(b, -5, 5));
        if let Some(view) = view {
            if view.has_dimensions {
                (0..2 * view.dims).for_each(|_| args.push(self.word(b, 0, 9)));
            }
            let all = self.rng.one_in(3);
            for (offset, span) in [(2, 9), (2, 9)] {
                args.push(if all { b.i32(0) } else { self.word(b, 0, offset) });
                args.push(if all { b.i32(-1) } else { self.word(b, 0, span) });
            }
        }
        let decode = decodes.then(|| self.decoder(b, dims));
        b.value(Op::MatLoadTensor { access, decode }, &args, ty.into())
    }

    fn view(&mut self, dims: usize) -> TensorView {
        let has_dimensions = self.rng.one_in(2);
        let count = 1 + self.rng.below(if has_dimensions { 5 } else { dims });
        let mut permutation = [0; 5];
        for i in 0..count {
            permutation[i] = i as u8;
            permutation.swap(i, self.rng.below(i + 1));
        }
        TensorView { dims: count as u8, has_dimensions, clips: true, permutation }
    }

    /// A region that reads a byte and mixes it with the coordinates.
    fn decoder(&mut self, b: &mut Builder<'_>, dims: usize) -> Block {
        let mut params = vec![Type::Ptr(Space::Buffer)];
        params.extend(std::iter::repeat_n(Type::I32, 2 * dims));
        self.region(b, &params, |_, b, params| {
            let byte = b.value(Op::Load(MemFlags::default()), &[params[0]], Scalar::I8.into());
            let mut x = b.convert(ConvertKind::SToS, byte, Scalar::I32);
            let (five, seven) = (b.i32(5), b.i32(7));
            for &c in &params[1..] {
                let scaled = b.binary(BinaryOp::Imul, x, five);
                let more = b.binary(BinaryOp::Iadd, scaled, c);
                x = b.binary(BinaryOp::Xor, more, seven);
            }
            x
        })
    }

    /// A store of which no two elements go to one place: to a tensor of 16 by 16.
    fn store_tensor(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType) {
        let ptr = self.tile(b, ty.scope);
        let clamp = self.rng.pick(&[Clamp::Constant, Clamp::ClampToEdge, Clamp::Repeat]);
        let view = self.rng.one_in(2).then_some(TensorView {
            dims: 2,
            has_dimensions: false,
            clips: true,
            permutation: self.rng.pick(&[[0, 1, 0, 0, 0], [1, 0, 0, 0, 0]]),
        });
        let access = TensorAccess { dims: 2, clamp, unit: 4, view, flags: MemFlags::default() };
        const { assert!(TILE_BYTES >= 16 * 16 * 4) };
        let sixteen = b.i32(16);
        let mut args = vec![ptr, mat, sixteen, sixteen];
        let one = b.i32(1);
        args.extend(if self.rng.one_in(2) { [sixteen, one] } else { [one, sixteen] });
        args.extend([self.word(b, -9, 15), self.word(b, -9, 15)]);
        let (rows, cols) = (b.i32(ty.rows as i32), b.i32(ty.cols as i32));
        args.extend(if self.rng.one_in(2) { [rows, cols] } else { [cols, rows] });
        args.extend([one, one, one]);
        if view.is_some() {
            let (row, col) = (self.word(b, 0, 2), self.word(b, 0, 2));
            args.extend([row, rows, col, cols]);
        }
        b.effect(Op::MatStoreTensor(access), &args);
    }
}
