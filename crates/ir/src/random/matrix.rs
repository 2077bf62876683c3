//! Statements on matrices. All numbers are integers, also those in floats, and small enough to be
//! exact.

use super::{Generator, IN_BYTES, TILE_BYTES, TILES};
use crate::builder::Builder;
use crate::entities::{Binding, Value, Var};
use crate::op::{BinaryOp, Builtin, CompareOp, ConvertKind, ConvertOp, MemFlags, MulAddFlags, Op};
use crate::types::{MatType, Scalar, Scope, Space, Type, Use};

impl Generator<'_> {
    /// Variables of accumulators, all with contents.
    pub(super) fn begin_matrices(&mut self, b: &mut Builder<'_>) {
        for scope in [Scope::Subgroup, Scope::Workgroup] {
            if self.rng.one_in(2) || (self.mats.is_empty() && scope == Scope::Workgroup) {
                self.begin_matrix(b, scope);
            }
        }
    }

    fn begin_matrix(&mut self, b: &mut Builder<'_>, scope: Scope) {
        let (rows, cols) = (self.rng.pick(&[4, 8, 3]), self.rng.pick(&[4, 8, 5, 16, 16]));
        let ty = MatType { elem: Scalar::I32, scope, rows, cols, use_: Use::Accumulator };
        let var = b.func.new_var(ty.into(), 2, "");
        for i in 0..2 {
            let (index, value) = (b.i32(i), b.i32(i * 3 - 1));
            let mat = b.value(Op::MatSplat, &[value], ty.into());
            b.var_store(var, Some(index), mat);
        }
        self.mats.push((var, ty));
    }

    /// Writes what the variables hold.
    pub(super) fn end_matrices(&mut self, b: &mut Builder<'_>) {
        for (var, _) in self.mats.clone() {
            let index = b.i32(1);
            let mat = b.var_load(var, Some(index));
            self.write_matrix(b, mat);
        }
    }

    pub(super) fn matrix_statement(&mut self, b: &mut Builder<'_>) {
        let (var, ty) = self.rng.pick(&self.mats.clone());
        let index = match self.counter {
            Some(i) if self.rng.one_in(2) => {
                let one = b.i32(1);
                b.binary(BinaryOp::And, i, one)
            }
            _ => b.i32(self.rng.below(2) as i32),
        };
        let mat = b.var_load(var, Some(index));
        let result = match self.rng.below(11) {
            10 => return self.inner_product(b, var, ty),
            0 => return self.write_matrix(b, mat),
            1 => return self.components(b, mat, ty),
            2 => b.binary(self.rng.pick(&[BinaryOp::Iadd, BinaryOp::Isub, BinaryOp::Imul]), mat, mat),
            3 => {
                let x = b.i32(self.rng.below(5) as i32 - 2);
                b.value(Op::MatScale, &[mat, x], ty.into())
            }
            4 => self.splat(b, mat, ty),
            5 => self.read_matrix(b, ty),
            6 => self.float_product(b, ty),
            7 | 8 => self.whole_matrix(b, mat, ty),
            _ => self.product(b, mat, ty),
        };
        b.var_store(var, Some(index), result);
    }

    /// A scalar of each invocation, in all its components or in one.
    fn splat(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType) -> Value {
        let x = self.expr(b, Scalar::I32, 2);
        if self.rng.one_in(2) {
            return b.value(Op::MatSplat, &[x], ty.into());
        }
        let component = b.i32(self.rng.below(3) as i32);
        b.value(Op::MatInsert, &[mat, component, x], ty.into())
    }

    fn components(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType) {
        let count = ty.components(self.module.subgroup_size) as usize;
        let component = b.i32(self.rng.below(count) as i32);
        let x = b.value(Op::MatExtract, &[mat, component], Type::I32);
        self.values.push(x);
        self.write(b, x);
        // Of padding it is only known that it is outside.
        let place = b.values(Op::MatCoordinate, &[mat, component], &[Type::I32; 2]);
        let [rows, cols] = [ty.rows, ty.cols].map(|side| b.i32(side as i32));
        let (has_row, has_col) =
            (b.compare(CompareOp::Ult, place[0], rows), b.compare(CompareOp::Ult, place[1], cols));
        let is_element = b.binary(BinaryOp::And, has_row, has_col);
        let before = b.binary(BinaryOp::Imul, place[0], cols);
        let (element, none) = (b.binary(BinaryOp::Iadd, before, place[1]), b.i32(-1));
        let element = b.select(is_element, element, none);
        self.write(b, element);
    }

    /// A matrix from the input, at places that may be outside.
    pub(super) fn read_matrix(&mut self, b: &mut Builder<'_>, ty: MatType) -> Value {
        let zero = b.i32(0);
        let ptr = b.value(Op::BufferPtr(Binding::new(1)), &[zero], Type::Ptr(Space::Buffer));
        let size = ty.elem.bytes() as usize;
        let disp = self.rng.below(IN_BYTES as usize / 8 + 8) * size;
        let ptr = b.ptr_add(ptr, None, 0, disp as i64);
        let stride = b.i64(((ty.rows.max(ty.cols) as usize + self.rng.below(3)) * size) as i64);
        let op = Op::MatLoad { column_major: self.rng.one_in(2), flags: MemFlags::default() };
        b.value(op, &[ptr, stride], ty.into())
    }

    /// Two factors of bytes for a product of this type.
    fn factors(&mut self, b: &mut Builder<'_>, ty: MatType) -> (Value, Value) {
        let inner = self.rng.pick(&[4, 8, 16, 2]);
        let a = MatType { elem: Scalar::I8, cols: inner, use_: Use::A, ..ty };
        let c = MatType { elem: Scalar::I8, rows: inner, use_: Use::B, ..ty };
        (self.read_matrix(b, a), self.read_matrix(b, c))
    }

    fn product(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType) -> Value {
        let (x, y) = self.factors(b, ty);
        let signed = self.rng.one_in(2);
        let flags = MulAddFlags {
            a_signed: signed,
            b_signed: self.rng.one_in(4) != signed,
            c_signed: true,
            result_signed: true,
            saturate: self.rng.one_in(4),
            relaxed: false,
            step: 0,
        };
        b.value(Op::MatMulAdd(flags), &[x, y, mat], ty.into())
    }

    /// A loop that adds a product to a variable in each round.
    fn inner_product(&mut self, b: &mut Builder<'_>, var: Var, ty: MatType) {
        let index = b.i32(self.rng.below(2) as i32);
        let (zero, one, limit) = (b.i32(0), b.i32(1), b.i32(self.rng.below(8) as i32));
        let counter = b.func.new_var(Type::I32, 1, "");
        b.var_store(counter, None, zero);
        b.repeated(|b, next| {
            let i = b.var_load(counter, None);
            let goes = b.compare(CompareOp::Slt, i, limit);
            let round = |b: &mut Builder<'_>| {
                let (sum, more) = (b.var_load(var, Some(index)), b.binary(BinaryOp::Iadd, i, one));
                let sum = self.product(b, sum, ty);
                b.var_store(var, Some(index), sum);
                b.var_store(counter, None, more);
                b.br(next);
            };
            b.if_else(goes, round, |_| {});
        });
    }

    /// A chain of products of floats, from bytes and back to integers. Each is exact in `f32`, and so in
    /// any order; narrower sums are rounded, and overflow.
    fn float_product(&mut self, b: &mut Builder<'_>, ty: MatType) -> Value {
        let elem = self.rng.pick(&[Scalar::F16, Scalar::F32, Scalar::BF16]);
        let sums =
            [Scalar::F32, Scalar::F16, Scalar::F16, Scalar::BF16, Scalar::BF16, Scalar::E4M3, Scalar::E5M2];
        let acc = ty.with_elem(self.rng.pick(&sums));
        let convert = |b: &mut Builder<'_>, v: Value, kind, to: Scalar| {
            let ty = b.func.ty(v).mat().map_or(to.into(), |m| m.with_elem(to).into());
            b.value(Op::Convert(ConvertOp::new(kind)), &[v], ty)
        };
        let zero = b.constant(acc.elem, 0);
        let mut sum = b.value(Op::MatSplat, &[zero], acc.into());
        for _ in 0..1 + self.rng.below(5) {
            let (x, y) = self.factors(b, ty);
            let (x, y) = (convert(b, x, ConvertKind::SToF, elem), convert(b, y, ConvertKind::SToF, elem));
            sum = b.value(Op::MatMulAdd(MulAddFlags::default()), &[x, y, sum], acc.into());
        }
        convert(b, sum, ConvertKind::FToS, Scalar::I32)
    }

    /// Writes a matrix to a place of its scope.
    pub(super) fn write_matrix(&mut self, b: &mut Builder<'_>, mat: Value) {
        let scope = b.func.ty(mat).mat().map_or(Scope::Subgroup, |m| m.scope);
        let ptr = self.tile(b, scope);
        let m = b.func.ty(mat).mat();
        let column_major = self.rng.one_in(2);
        let side = m.map_or(8, |m| if column_major { m.rows } else { m.cols }).max(8);
        let stride = b.i64(i64::from(side) * 4 + 4 * self.rng.below(3) as i64);
        let op = Op::MatStore { column_major, flags: MemFlags::default() };
        b.effect(op, &[ptr, mat, stride]);
    }

    /// A place that only this subgroup writes, or that the first one writes for the work-group.
    pub(super) fn tile(&mut self, b: &mut Builder<'_>, scope: Scope) -> Value {
        let group = b.value(Op::Builtin(Builtin::WorkgroupId(0)), &[], Type::I32);
        let count = b.i32(self.module.num_subgroups() as i32);
        let first = b.binary(BinaryOp::Imul, group, count);
        let index = match scope {
            Scope::Workgroup => first,
            _ => {
                let subgroup = b.value(Op::Builtin(Builtin::SubgroupId), &[], Type::I32);
                b.binary(BinaryOp::Iadd, first, subgroup)
            }
        };
        let place = self.tiles % TILES;
        self.tiles += 1;
        let disp = self.tiles_start() + place * TILE_BYTES;
        b.ptr_add(self.out, Some(index), (TILES * TILE_BYTES).into(), disp.into())
    }
}
