//! Operations on whole matrices that have regions or tensor layouts, and what a region may hold.

use super::Problem;
use super::structure::Checker;
use super::want::{Class, Want};
use crate::entities::{Block, Inst, Value};
use crate::module::InstInfo;
use crate::op::Op;
use crate::tensor::{MAX_DIMS, MatReduceKind, RegionKind, TensorAccess};
use crate::types::{MatType, Scope, Type};
use smallvec::SmallVec;

/// The types of a region's parameters, and of what it gives.
struct Signature {
    params: SmallVec<[Type; 12]>,
    gives: Type,
}

impl Checker<'_> {
    // ── operands ──

    /// A matrix operation that the verifier of types leaves to this one.
    pub(super) fn whole_matrix(&mut self, i: &InstInfo) {
        match &i.op {
            Op::MatTranspose => self.transpose(i),
            Op::MatRotate => self.rotate(i),
            Op::MatFromLanes { columns } => self.mat_from_lanes(i, *columns),
            Op::MatToLanes { columns } => self.mat_to_lanes(i, *columns),
            Op::MatMap { .. } => self.map(i),
            Op::MatReduce { kind, .. } => self.reduce(i, *kind),
            Op::MatLoadTensor { access, .. } => {
                self.tensor(access);
                let object = usize::from(access.clips());
                let result = self.result_ty(i).map_or(Want::Mat, Want::Is);
                self.tensor_operands(i, Want::Ptr, &[result][..object], access);
                if self.count_results(i, i.results.len() == 1, 1) {
                    self.result(i, 0, Want::Mat);
                }
            }
            Op::MatStoreTensor(access) => {
                self.tensor(access);
                self.tensor_operands(i, Want::WritablePtr, &[Want::Mat], access);
                self.count_results(i, i.results.is_empty(), 0);
                self.writable(i);
            }
            _ => {}
        }
    }

    fn transpose(&mut self, i: &InstInfo) {
        self.sig(i, &[Want::Mat], &[Want::Mat]);
        let (Some(Type::Mat(from)), Some(Type::Mat(to))) = (self.arg_ty(i, 0), self.result_ty(i)) else {
            return;
        };
        let want = MatType { rows: from.cols, cols: from.rows, use_: to.use_, ..from };
        self.result(i, 0, Want::Is(want.into()));
    }

    fn rotate(&mut self, i: &InstInfo) {
        let one = match self.arg_ty(i, 0) {
            Some(ty @ Type::Mat(_)) => Want::Is(ty),
            _ => Want::Mat,
        };
        self.sig(i, &[one, one, Want::Is(Type::I32)], &[one]);
    }

    fn map(&mut self, i: &InstInfo) {
        let Some(Type::Mat(to)) = self.result_ty(i) else {
            let args = vec![Want::Mat; i.args.len()];
            return self.sig(i, &args, &[Want::Mat]);
        };
        let fitted = |ty: Option<Type>| match ty {
            Some(Type::Mat(m)) => {
                let cols = m.cols.min(to.cols);
                Want::Is(MatType { elem: m.elem, use_: m.use_, cols, ..to }.into())
            }
            _ => Want::Mat,
        };
        let args: Vec<Want> = (0..i.args.len()).map(|k| fitted(self.arg_ty(i, k))).collect();
        self.sig(i, &args, &[Want::Mat]);
    }

    fn reduce(&mut self, i: &InstInfo, kind: MatReduceKind) {
        self.sig(i, &[Want::Mat], &[Want::Mat]);
        let (Some(Type::Mat(from)), Some(Type::Mat(to))) = (self.arg_ty(i, 0), self.result_ty(i)) else {
            return;
        };
        let (rows, cols) = match kind {
            MatReduceKind::Row => (from.rows, to.cols),
            MatReduceKind::Column => (to.rows, from.cols),
            MatReduceKind::All => (to.rows, to.cols),
            MatReduceKind::Square => (from.rows / 2, from.cols / 2),
        };
        let want = MatType { rows, cols, use_: to.use_, ..from };
        self.result(i, 0, Want::Is(want.into()));
        if kind == MatReduceKind::Square && (from.rows % 2 != 0 || from.cols % 2 != 0) {
            self.error(Problem::OddSides(from));
        }
    }

    fn tensor_operands(&mut self, i: &InstInfo, ptr: Want, object: &[Want], access: &TensorAccess) {
        let count = 1 + object.len() + access.operands().count();
        if !self.count_args(i, i.args.len() == count, count) {
            return;
        }
        self.arg(i, 0, ptr);
        object.iter().for_each(|want| self.arg(i, 1, *want));
        (1 + object.len()..count).for_each(|k| self.arg(i, k, Want::Is(Type::I32)));
    }

    fn tensor(&mut self, access: &TensorAccess) {
        let sides = 1..=MAX_DIMS as u8;
        if !sides.contains(&access.dims) {
            self.error(Problem::Dimensions(access.dims));
        }
        if access.unit == 0 {
            self.error(Problem::ZeroUnit);
        }
        let Some(view) = access.view else { return };
        if !sides.contains(&view.dims) {
            return self.error(Problem::Dimensions(view.dims));
        }
        let mut places = view.permutation;
        places[..view.dims.into()].sort_unstable();
        let is_whole = places[..view.dims.into()].iter().zip(0..).all(|(p, i)| *p == i);
        if !is_whole || places[view.dims.into()..].iter().any(|p| *p != 0) {
            self.error(Problem::Permutation(view.permutation));
        }
        if !view.has_dimensions && view.dims > access.dims {
            self.error(Problem::Dimensions(view.dims));
        }
    }

    // ── regions ──

    /// What an operation's region has to look like; none where an operand is at fault.
    fn signature(&self, i: &InstInfo, kind: RegionKind) -> Option<Signature> {
        let result = self.result_ty(i)?.mat()?;
        let elem = |v: &Value| self.value_ty(*v).mat().map(|m| Type::Scalar(m.elem));
        let mut params: SmallVec<[Type; 12]> = SmallVec::new();
        match (kind, &i.op) {
            (RegionKind::Map, _) => {
                params.extend([Type::I32, Type::I32]);
                params.extend(i.args.iter().map(elem).collect::<Option<SmallVec<[Type; 4]>>>()?);
            }
            (RegionKind::Decode, Op::MatLoadTensor { access, .. }) => {
                params.push(self.arg_ty(i, 0)?);
                params.extend((0..2 * access.dims.min(MAX_DIMS as u8)).map(|_| Type::I32));
            }
            _ => params.extend([result.elem.into(), result.elem.into()]),
        }
        Some(Signature { params, gives: result.elem.into() })
    }

    /// Checks the region of an operation, whose operands exist if `ok`.
    pub(super) fn region(&mut self, i: &InstInfo, kind: RegionKind, body: Block, ok: bool) {
        let signature = if ok { self.signature(i, kind) } else { None };
        let outer = self.enter_region();
        self.block(body);
        self.leave_region(outer);
        let (Some(signature), Some(insts)) = (signature, self.func().blocks.get(body.index())) else {
            return;
        };
        let types = |vs: &[Value]| -> Option<Vec<Type>> {
            vs.iter().map(|v| Some(self.func().values.get(v.index())?.ty)).collect()
        };
        let info = |inst: Option<&Inst>| inst.and_then(|i| self.func().insts.get(i.index()));
        let params = info(insts.first()).filter(|i| i.op == Op::Params).map(|i| types(&i.results));
        let gives = info(insts.last()).filter(|i| i.op == Op::Yield).map(|i| types(&i.args));
        if params.flatten().is_none_or(|found| found[..] != signature.params[..]) {
            let expected = signature.params.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
            self.error(Problem::RegionParams { block: body, expected });
        }
        if gives.flatten().is_none_or(|found| found[..] != [signature.gives]) {
            self.error(Problem::RegionResult { block: body, expected: signature.gives });
        }
    }

    /// Checks that an instruction may stand where it does: in a region, or outside of all.
    pub(super) fn allowed(&mut self, i: &InstInfo, first: bool) {
        let region = self.region_depth();
        let is_directly_in = region.is_some_and(|depth| depth == self.depth());
        match i.op {
            Op::Params if is_directly_in && first => {}
            Op::Yield if is_directly_in => {}
            Op::Params | Op::Yield => self.error(Problem::OutsideOfRegion),
            _ if region.is_some() && self.is_tangled(i) => self.error(Problem::InRegion),
            _ => {}
        }
    }

    /// Whether an instruction is of the invocations of a scope together, or ends one.
    fn is_tangled(&self, i: &InstInfo) -> bool {
        let is_mat = |v: &Value| self.func().values.get(v.index()).is_some_and(|v| v.ty.mat().is_some());
        let var = i.op.var().and_then(|v| self.func().vars.get(v.index()));
        match &i.op {
            Op::Return | Op::Decline | Op::Subgroup(_) => true,
            Op::VecMatMul(_) | Op::VecOuterAdd(_) | Op::VecReduceAdd(_) => true,
            Op::Barrier(b) => b.execution != Scope::Invocation,
            op => {
                op.region().is_some()
                    || i.args.iter().chain(&i.results).any(is_mat)
                    || var.is_some_and(|v| v.ty.mat().is_some())
            }
        }
    }

    /// The operand and result of [`Op::Params`] and [`Op::Yield`], as far as the region does not say.
    pub(super) fn region_end(&mut self, i: &InstInfo) {
        if i.op == Op::Params {
            self.count_args(i, i.args.is_empty(), 0);
        } else {
            self.sig(i, &[Want::ScalarOf(Class::Number)], &[]);
        }
    }
}
