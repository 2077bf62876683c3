//! Statements on the rows or columns of a matrix as scalars of the invocations.

use super::Generator;
use crate::builder::Builder;
use crate::entities::Value;
use crate::op::{BinaryOp, Builtin, CompareOp, ConvertKind, ConvertOp, Op};
use crate::types::{MatType, Scalar, Scope, Type, Use};

impl Generator<'_> {
    /// A matrix of the same type, made of what each invocation makes of its row or column.
    pub(super) fn lines(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType) -> Value {
        let lanes = self.module.subgroup_size;
        let columns = self.rng.one_in(2);
        let fits = |c: &bool| ty.scope == Scope::Subgroup && ty.lines(*c).0 <= lanes;
        let Some(columns) = [columns, !columns].into_iter().find(fits) else { return mat };
        let (count, len) = ty.lines(columns);
        let elem = self.rng.pick(&[Scalar::I32, Scalar::I16, Scalar::I8, Scalar::F32, Scalar::F16]);
        let use_ = self.rng.pick(&[Use::A, Use::B, Use::Accumulator]);
        let other = MatType { elem, use_, ..ty };
        let narrow = converted(b, mat, other);
        // Several components in a scalar, if they fill it.
        let wider = [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64].map(|s| (s, s.bits() / elem.bits()));
        let fits = wider.into_iter().filter(|(_, n)| *n > 0 && len.is_multiple_of(*n));
        let (scalar, per) = self.rng.pick(&fits.collect::<Vec<_>>());
        let types = vec![Type::Scalar(scalar); (len / per) as usize];
        let line = b.values(Op::MatToLanes { columns }, &[narrow], &types);

        // Invocations beyond the last line have anything.
        let lane = b.value(Op::Builtin(Builtin::SubgroupLane), &[], Type::I32);
        let count = b.i32(count as i32);
        let has_line = b.compare(CompareOp::Ult, lane, count);
        let zero = b.constant(scalar, 0);
        let line: Vec<Value> = line.iter().map(|&x| b.select(has_line, x, zero)).collect();
        let shown = self.rng.pick(&line);
        self.values.push(shown);
        self.write(b, shown);
        if elem.is_float() {
            // What other bits would be as a float, targets need not agree on.
            let again = b.value(Op::MatFromLanes { columns }, &line, other.into());
            return converted(b, again, ty);
        }
        let x = self.expr(b, scalar, 2);
        let op = self.rng.pick(&[BinaryOp::Xor, BinaryOp::Iadd, BinaryOp::Isub]);
        let line: Vec<Value> = line.iter().map(|&y| b.binary(op, y, x)).collect();
        let again = b.value(Op::MatFromLanes { columns }, &line, other.into());
        converted(b, again, ty)
    }
}

/// A matrix of integers as one of another type and use, or the reverse.
fn converted(b: &mut Builder<'_>, mat: Value, to: MatType) -> Value {
    let from = b.func.ty(mat).mat().map_or(to.elem, |m| m.elem);
    let kind = match (from.is_float(), to.elem.is_float()) {
        (false, false) => ConvertKind::SToS,
        (false, true) => ConvertKind::SToF,
        (true, _) => ConvertKind::FToS,
    };
    let same_use = b.func.ty(mat).mat().map_or(to, |m| m.with_elem(to.elem));
    let mat = if from == to.elem {
        mat
    } else {
        b.value(Op::Convert(ConvertOp::new(kind)), &[mat], same_use.into())
    };
    if same_use == to { mat } else { b.value(Op::Bitcast, &[mat], to.into()) }
}
