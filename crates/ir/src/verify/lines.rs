//! Conversions between rows or columns of a matrix and scalars of the invocations.

use super::Problem;
use super::structure::Checker;
use super::want::Want;
use crate::entities::Value;
use crate::module::InstInfo;
use crate::types::{MatType, Scalar, Scope, Type};

impl Checker<'_> {
    pub(super) fn mat_from_lanes(&mut self, i: &InstInfo, columns: bool) {
        if self.count_results(i, i.results.len() == 1, 1) {
            self.result(i, 0, Want::Mat);
        }
        if !self.count_args(i, !i.args.is_empty(), "at least 1") {
            return;
        }
        self.arg(i, 0, Want::Storable);
        let first = self.arg_ty(i, 0).map_or(Want::Any, Want::Is);
        (1..i.args.len()).for_each(|k| self.arg(i, k, first));
        let matrix = self.result_ty(i).and_then(Type::mat);
        self.line(matrix, &i.args, columns);
    }

    pub(super) fn mat_to_lanes(&mut self, i: &InstInfo, columns: bool) {
        if self.count_args(i, i.args.len() == 1, 1) {
            self.arg(i, 0, Want::Mat);
        }
        if !self.count_results(i, !i.results.is_empty(), "at least 1") {
            return;
        }
        self.result(i, 0, Want::Storable);
        let first = self.result_ty(i).map_or(Want::Any, Want::Is);
        (1..i.results.len()).for_each(|k| self.result(i, k, first));
        let matrix = self.arg_ty(i, 0).and_then(Type::mat);
        self.line(matrix, &i.results, columns);
    }

    /// Checks that there are invocations for all lines, and scalars for all of a line.
    fn line(&mut self, matrix: Option<MatType>, scalars: &[Value], columns: bool) {
        let Some(m) = matrix else { return };
        let lanes = self.module.subgroup_size;
        let (count, len) = m.lines(columns);
        if m.scope != Scope::Subgroup || count > lanes {
            self.error(Problem::Lines(m, lanes));
        }
        let scalar = |v: &Value| self.value_ty(*v).scalar();
        if scalars.iter().filter_map(scalar).any(|s| s == Scalar::Bool) {
            return;
        }
        if scalars.iter().filter_map(scalar).any(|s| s.bits() < m.elem.bits()) {
            return self.error(Problem::NarrowLine(m.elem));
        }
        let found = scalars.iter().filter_map(scalar).map(|s| u64::from(s.bytes())).sum();
        let expected = u64::from(len) * u64::from(m.elem.bytes());
        if found != expected {
            self.error(Problem::LineBytes { found, expected });
        }
    }
}
