//! Operands and results of each operation.

use super::Problem;
use super::structure::Checker;
use super::want::{Class, Want};
use crate::entities::{Binding, Value, Var};
use crate::module::{BindingKind, InstInfo, VarInfo};
use crate::op::{
    AtomicOp, BinaryOp, Builtin, CompareOp, ConvertKind, ConvertOp, MulAddFlags, Op, ReduceOp, SubgroupOp,
    UnaryOp,
};
use crate::types::{MatType, Scalar, Scope, Space, Type, Use};

const BOOL: Want = Want::Is(Type::BOOL);
const I32: Want = Want::Is(Type::I32);
const I64: Want = Want::Is(Type::I64);

impl Checker<'_> {
    /// Checks the operation of an instruction whose operands and results exist.
    pub(super) fn op(&mut self, i: &InstInfo) {
        match &i.op {
            Op::Const(bits) => self.constant(i, *bits),
            Op::Unary(op) => self.unary(i, *op),
            Op::Binary(op) => self.binary(i, *op),
            Op::Compare(op) => self.compare(i, *op),
            Op::Fma => self.same(i, Want::ElemOf(Class::Arith), 3),
            Op::Select => self.select(i),
            Op::Convert(op) => self.convert(i, *op),
            Op::Bitcast => self.bitcast(i),
            Op::Builtin(op) => self.builtin(i, *op),
            Op::VarLoad(v) | Op::VarStore(v) => self.var_access(i, *v),
            Op::VarComponentLoad(v) | Op::VarComponentStore(v) => self.var_component(i, *v),
            Op::BufferPtr(b) => self.buffer_ptr(i, *b),
            Op::PushPtr => self.sig(i, &[], &[Want::Is(Type::Ptr(Space::Push))]),
            Op::SharedPtr { offset, bytes } => self.shared_ptr(i, *offset, *bytes),
            Op::PtrAdd { .. }
            | Op::PtrBytesLeft
            | Op::PtrDiff
            | Op::PtrToInt
            | Op::IntToPtr
            | Op::Load(_)
            | Op::Store(_)
            | Op::Atomic(_) => self.memory(i),
            Op::Image(b, op) => self.image(i, *b, *op),
            Op::Subgroup(op) => self.subgroup(i, *op),
            Op::Barrier(b) => {
                self.sig(i, &[], &[]);
                if b.execution == Scope::Device {
                    self.error(Problem::BarrierScope(b.execution.name()));
                }
            }
            Op::MatSplat
            | Op::MatLoad { .. }
            | Op::MatStore { .. }
            | Op::MatScale
            | Op::MatCoordinate
            | Op::MatExtract
            | Op::MatInsert => self.matrix(i),
            Op::MatMulAdd(_) => self.mul_add(i),
            Op::MatTranspose
            | Op::MatRotate
            | Op::MatFromLanes { .. }
            | Op::MatToLanes { .. }
            | Op::MatMap { .. }
            | Op::MatReduce { .. }
            | Op::MatLoadTensor { .. }
            | Op::MatStoreTensor(_) => self.whole_matrix(i),
            Op::VecMatMul(_) | Op::VecOuterAdd(_) | Op::VecReduceAdd(_) => self.vector(i),
            Op::Params | Op::Yield => self.region_end(i),
            Op::If { .. } | Op::Decline => self.sig(i, &[BOOL], &[]),
            Op::Block { .. } | Op::Loop { .. } | Op::Br(_) | Op::Return => self.sig(i, &[], &[]),
            Op::Printf(format) => self.printf(i, 0, *format),
            Op::Warn(format) => {
                self.arg(i, 0, Want::Is(Type::BOOL));
                self.printf(i, 1, *format);
            }
            Op::Clock => self.sig(i, &[], &[I64]),
        }
    }

    // ── helpers ──

    pub(super) fn arg_ty(&self, i: &InstInfo, k: usize) -> Option<Type> {
        i.args.get(k).map(|&v| self.value_ty(v))
    }

    pub(super) fn result_ty(&self, i: &InstInfo) -> Option<Type> {
        i.results.first().map(|&v| self.value_ty(v))
    }

    pub(super) fn count_args(&mut self, i: &InstInfo, ok: bool, expected: impl ToString) -> bool {
        if !ok {
            self.error(Problem::OperandCount { found: i.args.len(), expected: expected.to_string() });
        }
        ok
    }

    pub(super) fn count_results(&mut self, i: &InstInfo, ok: bool, expected: impl ToString) -> bool {
        if !ok {
            self.error(Problem::ResultCount { found: i.results.len(), expected: expected.to_string() });
        }
        ok
    }

    pub(super) fn arg(&mut self, i: &InstInfo, operand: usize, want: Want) {
        let Some(found) = self.arg_ty(i, operand) else { return };
        if !want.accepts(found) {
            self.error(Problem::OperandType { operand, found, expected: want.describe() });
        }
    }

    pub(super) fn result(&mut self, i: &InstInfo, result: usize, want: Want) {
        let Some(&v) = i.results.get(result) else { return };
        let found = self.value_ty(v);
        if !want.accepts(found) {
            self.error(Problem::ResultType { result, found, expected: want.describe() });
        }
    }

    /// Operands and results of fixed number.
    pub(super) fn sig(&mut self, i: &InstInfo, args: &[Want], results: &[Want]) {
        if self.count_args(i, i.args.len() == args.len(), args.len()) {
            args.iter().enumerate().for_each(|(k, &want)| self.arg(i, k, want));
        }
        if self.count_results(i, i.results.len() == results.len(), results.len()) {
            results.iter().enumerate().for_each(|(k, &want)| self.result(i, k, want));
        }
    }

    /// `n` operands and a result, all of the first operand's type.
    fn same(&mut self, i: &InstInfo, want: Want, n: usize) {
        let rest = self.arg_ty(i, 0).map_or(Want::Any, Want::Is);
        let mut args = [rest; 3];
        args[0] = want;
        self.sig(i, &args[..n], &[rest]);
    }

    // ── values ──

    fn constant(&mut self, i: &InstInfo, bits: u64) {
        self.sig(i, &[], &[Want::Scalar]);
        if let Some(ty) = self.result_ty(i).and_then(Type::scalar) {
            self.bits(ty, bits);
        }
    }

    fn unary(&mut self, i: &InstInfo, op: UnaryOp) {
        use UnaryOp as U;
        match op {
            U::IsNan | U::IsInf => self.sig(i, &[Want::ScalarOf(Class::Arith)], &[BOOL]),
            U::Not => self.same(i, Want::ElemOf(Class::IntOrBool), 1),
            U::Ineg
            | U::BitReverse
            | U::BitCount
            | U::FindLsb
            | U::FindSMsb
            | U::FindUMsb
            | U::Sabs
            | U::Ssign => self.same(i, Want::ElemOf(Class::Int), 1),
            U::Fneg
            | U::Fabs
            | U::Fsign
            | U::Floor
            | U::Ceil
            | U::Trunc
            | U::RoundEven
            | U::Fract
            | U::Sqrt
            | U::InverseSqrt
            | U::Sin
            | U::Cos
            | U::Tan
            | U::Asin
            | U::Acos
            | U::Atan
            | U::Sinh
            | U::Cosh
            | U::Tanh
            | U::Asinh
            | U::Acosh
            | U::Atanh
            | U::Exp
            | U::Exp2
            | U::Log
            | U::Log2 => self.same(i, Want::ElemOf(Class::Arith), 1),
        }
    }

    fn binary(&mut self, i: &InstInfo, op: BinaryOp) {
        use BinaryOp as B;
        match op {
            B::Iadd
            | B::Isub
            | B::Imul
            | B::Sdiv
            | B::Udiv
            | B::Srem
            | B::Smod
            | B::Umod
            | B::SmulHi
            | B::UmulHi
            | B::Smin
            | B::Smax
            | B::Umin
            | B::Umax => self.same(i, Want::ElemOf(Class::Int), 2),
            B::Sdot4 | B::Udot4 | B::Sudot4 => self.same(i, Want::Is(Type::I32), 2),
            B::And | B::Or | B::Xor => self.same(i, Want::ElemOf(Class::IntOrBool), 2),
            B::Shl | B::Lshr | B::Ashr => self.with_second(i, Want::ElemOf(Class::Int), Class::Int),
            B::Ldexp => self.ldexp(i),
            B::Fadd
            | B::Fsub
            | B::Fmul
            | B::Fdiv
            | B::Frem
            | B::Fmod
            | B::Fmin
            | B::Fmax
            | B::Pow
            | B::Atan2 => self.same(i, Want::ElemOf(Class::Arith), 2),
        }
    }

    /// Two operands of one shape; the second's element is of its own class.
    fn with_second(&mut self, i: &InstInfo, want: Want, class: Class) {
        let Some(first) = self.arg_ty(i, 0) else { return self.sig(i, &[want, Want::Any], &[Want::Any]) };
        let second = match (first, self.arg_ty(i, 1)) {
            (Type::Mat(x), Some(Type::Mat(y))) if class.has(y.elem) => Want::Is(x.with_elem(y.elem).into()),
            (Type::Mat(x), _) => Want::Is(x.into()),
            (Type::Scalar(_) | Type::Ptr(_), _) => Want::ScalarOf(class),
        };
        self.sig(i, &[want, second], &[Want::Is(first)]);
    }

    fn ldexp(&mut self, i: &InstInfo) {
        let first = self.arg_ty(i, 0).unwrap_or(Type::F32);
        let second = match first {
            Type::Mat(m) => m.with_elem(Scalar::I32).into(),
            Type::Scalar(_) | Type::Ptr(_) => Type::I32,
        };
        self.sig(i, &[Want::ElemOf(Class::Arith), Want::Is(second)], &[Want::Is(first)]);
    }

    fn compare(&mut self, i: &InstInfo, op: CompareOp) {
        use CompareOp as C;
        let first = match op {
            C::Ieq | C::Ine => match self.arg_ty(i, 0) {
                Some(Type::Ptr(_)) => Want::Ptr,
                Some(Type::Scalar(_) | Type::Mat(_)) | None => Want::ScalarOf(Class::IntOrBool),
            },
            C::Slt | C::Sle | C::Ult | C::Ule => Want::ScalarOf(Class::Int),
            C::FordEq
            | C::FordNe
            | C::FordLt
            | C::FordLe
            | C::FunordEq
            | C::FunordNe
            | C::FunordLt
            | C::FunordLe => Want::ScalarOf(Class::Arith),
        };
        let second = self.arg_ty(i, 0).map_or(Want::Any, Want::Is);
        self.sig(i, &[first, second], &[BOOL]);
    }

    fn select(&mut self, i: &InstInfo) {
        let ty = self.arg_ty(i, 1).map_or(Want::Any, Want::Is);
        self.sig(i, &[BOOL, Want::Any, ty], &[ty]);
    }

    fn convert(&mut self, i: &InstInfo, op: ConvertOp) {
        use ConvertKind as K;
        let (from, to) = match op.kind {
            K::SToS | K::UToU => (Class::Int, Class::Int),
            K::FToS | K::FToU => (Class::AnyFloat, Class::Int),
            K::SToF | K::UToF => (Class::Int, Class::AnyFloat),
            K::FToF => (Class::AnyFloat, Class::AnyFloat),
        };
        self.sig(i, &[Want::ElemOf(from)], &[Want::ElemOf(to)]);
        self.same_shape(i);
        match self.result_ty(i) {
            Some(ty) if op.saturate && !matches!(ty.elem(), Some(Scalar::E4M3 | Scalar::E5M2)) => {
                self.error(Problem::Saturate(ty));
            }
            Some(_) | None => {}
        }
    }

    fn bitcast(&mut self, i: &InstInfo) {
        self.sig(i, &[Want::ElemOf(Class::Number)], &[Want::ElemOf(Class::Number)]);
        self.same_shape(i);
        let (Some(x), Some(y)) = (self.arg_ty(i, 0), self.result_ty(i)) else { return };
        if let (Some(from), Some(to)) = (x.elem(), y.elem())
            && from.bits() != to.bits()
        {
            let expected = format!("{} bits", from.bits());
            self.error(Problem::ResultType { result: 0, found: y, expected });
        }
    }

    /// A scalar to a scalar, or a matrix to a matrix that differs in component type and use.
    fn same_shape(&mut self, i: &InstInfo) {
        let (Some(x), Some(y)) = (self.arg_ty(i, 0), self.result_ty(i)) else { return };
        let expected = match (x, y) {
            (Type::Mat(from), Type::Mat(to)) => MatType { elem: to.elem, use_: to.use_, ..from }.into(),
            (Type::Mat(from), Type::Scalar(to)) => from.with_elem(to).into(),
            (Type::Scalar(_), Type::Mat(to)) => to.elem.into(),
            _ => y,
        };
        if expected != y {
            self.error(Problem::ResultType { result: 0, found: y, expected: expected.to_string() });
        }
    }

    fn builtin(&mut self, i: &InstInfo, op: Builtin) {
        self.sig(i, &[], &[I32]);
        match op {
            Builtin::NumWorkgroups(axis)
            | Builtin::WorkgroupId(axis)
            | Builtin::LocalInvocationId(axis)
            | Builtin::GlobalInvocationId(axis)
                if axis > 2 =>
            {
                self.error(Problem::Axis(axis));
            }
            _ => {}
        }
    }

    // ── variables ──

    pub(super) fn var_info_of(&mut self, v: Var) -> Option<&VarInfo> {
        let count = self.func().vars.len();
        if v.index() >= count {
            self.error(Problem::Index { what: "variable", index: v.index(), count });
        }
        self.func().vars.get(v.index())
    }

    fn var_access(&mut self, i: &InstInfo, v: Var) {
        let Some(info) = self.var_info_of(v) else { return };
        let (ty, is_table) = (info.ty, info.table.is_some());
        if matches!(i.op, Op::VarLoad(_)) {
            if self.count_args(i, i.args.len() <= 1, "0 or 1") {
                self.sig(i, &[I32; 1][..i.args.len()], &[Want::Is(ty)]);
            }
            return;
        }
        if self.count_args(i, matches!(i.args.len(), 1 | 2), "1 or 2") {
            self.sig(i, &[I32, Want::Is(ty)][2 - i.args.len()..], &[]);
        }
        if is_table {
            self.error(Problem::WritesTable { var: v });
        }
    }

    fn var_component(&mut self, i: &InstInfo, v: Var) {
        let Some(info) = self.var_info_of(v) else { return };
        let Some(mat) = info.ty.mat() else {
            let ty = info.ty;
            return self.error(Problem::NotMatrixVar { var: v, ty });
        };
        let elem = Want::Is(mat.elem.into());
        if matches!(i.op, Op::VarComponentLoad(_)) {
            self.sig(i, &[I32, I32], &[elem]);
        } else {
            self.sig(i, &[I32, I32, elem], &[]);
        }
    }

    // ── memory ──

    fn buffer_ptr(&mut self, i: &InstInfo, b: Binding) {
        self.sig(i, &[I32], &[Want::Is(Type::Ptr(Space::Buffer))]);
        let count = self.module.bindings.len();
        if b.index() >= count {
            self.error(Problem::Index { what: "binding", index: b.index(), count });
        } else if matches!(self.module.binding(b).kind, BindingKind::Image(_) | BindingKind::Sampler) {
            self.error(Problem::BindingKind { index: b.index(), expected: "a buffer" });
        }
    }

    fn shared_ptr(&mut self, i: &InstInfo, offset: u32, bytes: u32) {
        self.sig(i, &[I32][..i.args.len().min(1)], &[Want::Is(Type::Ptr(Space::Shared))]);
        let shared = self.module.shared_bytes;
        if offset as u64 + bytes as u64 > shared as u64 {
            self.error(Problem::SharedRange { offset, bytes, shared });
        }
    }

    fn memory(&mut self, i: &InstInfo) {
        let global = Want::Is(Type::Ptr(Space::Global));
        let first = self.arg_ty(i, 0).map_or(Want::Any, Want::Is);
        match i.op {
            Op::PtrAdd { .. } => {
                let index = [Want::Ptr, Want::Index];
                self.sig(i, &index[..i.args.len().clamp(1, 2)], &[first]);
            }
            Op::PtrBytesLeft => self.sig(i, &[Want::Ptr], &[I64]),
            Op::PtrDiff => self.sig(i, &[Want::Ptr, first], &[I64]),
            Op::PtrToInt => self.sig(i, &[Want::AddressPtr], &[I64]),
            Op::IntToPtr => self.sig(i, &[I64], &[global]),
            Op::Load(_) => self.load(i),
            Op::Store(_) => self.store(i),
            Op::Atomic(op) => self.atomic(i, op),
            _ => {}
        }
    }

    fn load(&mut self, i: &InstInfo) {
        if self.count_args(i, i.args.len() == 1, 1) {
            self.arg(i, 0, Want::Ptr);
        }
        if self.count_results(i, !i.results.is_empty(), "at least 1") {
            self.result(i, 0, Want::Storable);
            let first = self.result_ty(i).map_or(Want::Any, Want::Is);
            (1..i.results.len()).for_each(|k| self.result(i, k, first));
        }
    }

    fn store(&mut self, i: &InstInfo) {
        self.count_results(i, i.results.is_empty(), 0);
        if self.count_args(i, i.args.len() >= 2, "at least 2") {
            self.arg(i, 0, Want::WritablePtr);
            self.arg(i, 1, Want::Storable);
            let first = self.arg_ty(i, 1).map_or(Want::Any, Want::Is);
            (2..i.args.len()).for_each(|k| self.arg(i, k, first));
            self.writable(i);
        }
    }

    fn atomic(&mut self, i: &InstInfo, op: AtomicOp) {
        use AtomicOp as A;
        let class = Want::ScalarOf(atomic_class(op));
        let value = self.arg_ty(i, 1).map_or(Want::Any, Want::Is);
        match op {
            A::Load => self.sig(i, &[Want::Ptr], &[class]),
            A::Store => self.sig(i, &[Want::WritablePtr, class], &[]),
            A::CompareExchange => self.sig(i, &[Want::WritablePtr, class, value], &[value]),
            _ => self.sig(i, &[Want::WritablePtr, class], &[value]),
        }
        if op != A::Load {
            self.writable(i);
        }
    }

    /// The first operand does not come from a read-only binding.
    pub(super) fn writable(&mut self, i: &InstInfo) {
        let Some(mut ptr) = i.args.first().copied() else { return };
        // Operands precede their users, but nobody has said yet that this ends.
        for _ in 0..self.func().insts.len() {
            let Some(def) = self.visible_def(ptr) else { return };
            match (&def.op, def.args.first()) {
                (Op::PtrAdd { .. }, Some(&base)) => ptr = base,
                (Op::BufferPtr(b), _) => {
                    if self.module.bindings.get(b.index()).is_some_and(|b| !b.writable) {
                        self.error(Problem::ReadOnly);
                    }
                    return;
                }
                _ => return,
            }
        }
    }

    fn visible_def(&self, v: Value) -> Option<&InstInfo> {
        let info = self.func().values.get(v.index())?;
        self.func().insts.get(info.def.index())
    }

    // ── subgroup ──

    fn subgroup(&mut self, i: &InstInfo, op: SubgroupOp) {
        use SubgroupOp as S;
        let first = self.arg_ty(i, 0).map_or(Want::Any, Want::Is);
        let ballot = [I32; 4];
        match op {
            S::Elect => self.sig(i, &[], &[BOOL]),
            S::All | S::Any => self.sig(i, &[BOOL], &[BOOL]),
            S::AllEqual => self.sig(i, &[Want::Scalar], &[BOOL]),
            S::Broadcast | S::Shuffle => self.sig(i, &[Want::Scalar, I32], &[first]),
            S::BroadcastFirst => self.sig(i, &[Want::Scalar], &[first]),
            S::Ballot => self.sig(i, &[BOOL], &ballot),
            S::Reduce(reduce, cluster) => {
                self.sig(i, &[reduce_class(reduce)], &[first]);
                let max = self.module.subgroup_size;
                if let Some(found) = cluster
                    && (!found.is_power_of_two() || found > max)
                {
                    self.error(Problem::Cluster { found, max });
                }
            }
            S::InclusiveScan(reduce) | S::ExclusiveScan(reduce) => {
                self.sig(i, &[reduce_class(reduce)], &[first]);
            }
            S::PartitionedReduce(reduce)
            | S::PartitionedInclusiveScan(reduce)
            | S::PartitionedExclusiveScan(reduce) => {
                self.sig(i, &[reduce_class(reduce), I32, I32, I32, I32], &[first]);
            }
            S::Partition => self.sig(i, &[Want::Scalar], &ballot),
        }
    }

    // ── matrices ──

    fn matrix(&mut self, i: &InstInfo) {
        let mat = self.arg_ty(i, 0).and_then(Type::mat);
        let elem = mat.map_or(Want::Any, |m| Want::Is(m.elem.into()));
        let same = mat.map_or(Want::Mat, |m| Want::Is(m.into()));
        match i.op {
            Op::MatSplat => {
                let result = self.result_ty(i).and_then(Type::mat);
                let elem = result.map_or(Want::Any, |m| Want::Is(m.elem.into()));
                self.sig(i, &[elem], &[Want::Mat]);
            }
            Op::MatLoad { .. } => self.sig(i, &[Want::Ptr, I64], &[Want::Mat]),
            Op::MatStore { .. } => {
                self.sig(i, &[Want::WritablePtr, Want::Mat, I64], &[]);
                self.writable(i);
            }
            Op::MatScale => {
                self.sig(i, &[Want::Mat, elem], &[same]);
                self.arg(i, 1, Want::ScalarOf(Class::IntOrArith));
            }
            Op::MatCoordinate => self.sig(i, &[Want::Mat, I32], &[I32; 2]),
            Op::MatExtract => self.sig(i, &[Want::Mat, I32], &[elem]),
            Op::MatInsert => self.sig(i, &[Want::Mat, I32, elem], &[same]),
            _ => {}
        }
    }

    fn mul_add(&mut self, i: &InstInfo) {
        self.sig(i, &[Want::Mat; 3], &[Want::Mat]);
        let mats: Vec<MatType> =
            i.args.iter().chain(&i.results).filter_map(|&v| self.value_ty(v).mat()).collect();
        let [a, b, c, r] = mats[..] else { return };
        let like = |m: MatType, rows, cols, use_| MatType {
            elem: if m.elem.is_float() == a.elem.is_float() { m.elem } else { a.elem },
            scope: a.scope,
            rows,
            cols,
            use_: if m.use_ == Use::Any { Use::Any } else { use_ },
        };
        let want_args = [
            like(a, a.rows, a.cols, Use::A),
            like(b, a.cols, b.cols, Use::B),
            like(c, a.rows, b.cols, Use::Accumulator),
        ];
        for (operand, want) in want_args.into_iter().enumerate() {
            self.arg(i, operand, Want::Is(want.into()));
        }
        self.result(i, 0, Want::Is(like(r, a.rows, b.cols, Use::Accumulator).into()));
        let Op::MatMulAdd(MulAddFlags { step: step @ 1.., relaxed, .. }) = i.op else { return };
        let sums_alike = r.elem.is_float() && c.elem == r.elem && !relaxed;
        let divides = a.cols.is_multiple_of(step) && a.cols / step <= MulAddFlags::MOST_STEPS;
        if !sums_alike || !step.is_multiple_of(4) || !divides {
            let expected =
                "a multiple of 4 that divides the columns of A to at most 256, of float sums, not relaxed";
            self.error(Problem::Limit { what: "the step", found: step.into(), expected });
        }
    }

    /// Scalars from operand `first` on.
    fn printf(&mut self, i: &InstInfo, first: usize, format: u32) {
        self.count_results(i, i.results.is_empty(), 0);
        (first..i.args.len()).for_each(|k| self.arg(i, k, Want::Scalar));
        let count = self.module.formats.len();
        if format as usize >= count {
            self.error(Problem::Index { what: "format", index: format as usize, count });
        }
    }
}

fn reduce_class(op: ReduceOp) -> Want {
    use ReduceOp as R;
    Want::ScalarOf(match op {
        R::Iadd | R::Imul | R::Smin | R::Umin | R::Smax | R::Umax => Class::Int,
        R::Fadd | R::Fmul | R::Fmin | R::Fmax => Class::Arith,
        R::And | R::Or | R::Xor => Class::IntOrBool,
    })
}

/// What an atomic operation is defined on.
pub(super) fn atomic_class(op: AtomicOp) -> Class {
    use AtomicOp as A;
    match op {
        A::Load | A::Store | A::Exchange => Class::IntOrArith,
        A::CompareExchange
        | A::Iadd
        | A::Isub
        | A::Smin
        | A::Smax
        | A::Umin
        | A::Umax
        | A::And
        | A::Or
        | A::Xor => Class::Int,
        A::Fadd | A::Fmin | A::Fmax => Class::Arith,
    }
}
