//! Reductions of rows, in registers.
//!
//! Where the elements of a tile are one vector behind the other, the region is done for as many elements as there are lanes.
//! A row that is longer than a vector is folded to one. Then the vectors of several rows are folded together, so that no lane
//! is idle until one vector is left: of rows `a` and `b`
//!
//! ```text
//! a0 a1 a2 a3 | b0 b1 b2 b3   →   region(a0 a1 b0 b1, a2 a3 b2 b3)   →   ...   →   a b
//! ```
//!
//! The tree is that of `mat_reduce`: element `i` with element `h + i`. All else is left to
//! [`phalanx_ir::passes::expand_but`], if not to `columns`: lengths that are no powers of two, and regions that look at more
//! than their operands.

use super::map::is_row;
use super::{MatValue, layout};
use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::value::Val;
use phalanx_ir::{Block, Function, Inst, InstInfo, MatReduceKind, MatType, Op};
use phalanx_kernels::KernelSet;

/// Most vectors that are folded together: more save few executions of the region, and are more code.
const MOST_VECTORS: u32 = 4;

/// How the rows of a matrix are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    /// Elements of a row in a vector, and vectors that a row has.
    segment: u32,
    chunks: u32,
    /// Vectors that are folded together, one for each row that is longer than a vector, and their rows.
    vectors: u32,
    rows: u32,
    /// How often that is done.
    groups: u32,
}

impl Plan {
    /// The plan for rows of powers of two, if there is one.
    fn new(from: MatType, to: MatType, lanes: u32) -> Option<Self> {
        let fits = |cols: u32| cols.is_power_of_two() && cols > 1;
        if !fits(from.cols) || !to.cols.is_power_of_two() || !from.len().is_multiple_of(lanes.into()) {
            return None;
        }
        let segment = from.cols.min(lanes);
        let (chunks, of_vector) = (from.cols / segment, lanes / segment);
        let all = from.rows / of_vector;
        let vectors = MOST_VECTORS.min(segment).min(1 << all.trailing_zeros().min(31));
        let rows = vectors * of_vector;
        let of_result = lanes / to.cols.min(lanes);
        let plan = Self { segment, chunks, vectors, rows, groups: all / vectors };
        rows.is_multiple_of(of_result).then_some(plan)
    }
}

/// Whether a reduction is done here, for so many lanes, all of which exist.
pub(super) fn is_direct(isa: KernelSet, func: &Function, info: &InstInfo, lanes: u32) -> bool {
    let &Op::MatReduce { kind: MatReduceKind::Row, body } = &info.op else { return false };
    let (Some(from), Some(to)) = (func.ty(info.args[0]).mat(), func.ty(info.results[0]).mat()) else {
        return false;
    };
    let are_rows = [from, to].into_iter().all(|m| is_row(layout(isa, m), m, lanes));
    are_rows && has_plan(from, to, lanes) && is_pure(func, body)
}

/// Whether there is a plan for rows that are powers of two.
pub(super) fn has_plan(from: MatType, to: MatType, lanes: u32) -> bool {
    Plan::new(from, to, lanes).is_some()
}

/// Whether a region only computes something of its operands and of constants.
pub(super) fn is_pure(func: &Function, body: Block) -> bool {
    let list = func.block(body);
    list.iter().all(|&inst| {
        let info = func.inst(inst);
        let is_plain = info.op.computes() || matches!(info.op, Op::Params | Op::Yield);
        let is_known = |v| func.const_bits(v).is_some() || list.contains(&func.values[v.index()].def);
        is_plain && info.args.iter().all(|&v| is_known(v))
    })
}

impl<'c> Lower<'_, 'c> {
    pub(super) fn mat_reduce_rows(&mut self, inst: Inst, body: Block) -> Result<()> {
        let (operand, result) = (self.mat_arg(inst, 0)?, self.mat_result(inst)?);
        let plan = Plan::new(operand.ty, result.ty, self.w)
            .ok_or_else(|| Error::bug("a reduction without a plan"))?;
        self.here.is_element = true;
        self.count_up(plan.groups, |l, group| {
            l.note_site()?;
            let first = l.e.mul(group, l.e.i32(plan.vectors * plan.chunks))?;
            let mut vectors = Vec::new();
            for i in 0..plan.vectors {
                let chunks = (0..plan.chunks).map(|k| {
                    let component = l.e.add(first, l.e.i32(i * plan.chunks + k))?;
                    l.read_component(&operand, component)
                });
                let chunks = chunks.collect::<Result<Vec<_>>>()?;
                vectors.extend(l.fold_vectors(body, chunks)?);
            }
            let rows = l.fold_segments(body, vectors, plan)?;
            l.write_rows(&result, group, rows, plan.rows)
        })?;
        self.here.is_element = false;
        Ok(())
    }

    /// Folds the upper half of a row's vectors onto the lower half until one is left.
    pub(super) fn fold_vectors(&mut self, body: Block, mut vectors: Vec<V<'c>>) -> Result<Vec<V<'c>>> {
        while vectors.len() > 1 {
            let upper = vectors.split_off(vectors.len() / 2);
            let pairs = vectors.into_iter().zip(upper);
            vectors = pairs.map(|(x, y)| self.fold(body, x, y)).collect::<Result<_>>()?;
        }
        Ok(vectors)
    }

    /// The region for two elements in each lane.
    pub(super) fn fold(&mut self, body: Block, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let y = self.region(body, &[Val::varying(x), Val::varying(y)])?;
        let y = self.scalar(y.ok_or_else(|| Error::bug("a reduction that never ends"))?)?;
        self.vector(y)
    }

    /// One vector with the result of each row, of vectors with a segment of each.
    fn fold_segments(&mut self, body: Block, mut vectors: Vec<V<'c>>, plan: Plan) -> Result<V<'c>> {
        let lanes = self.w;
        let mut segment = plan.segment;
        while segment > 1 {
            let half = segment / 2;
            // Element `i` of the halves of all segments, the lower ones or the upper ones.
            let place = move |i: u32, upper: u32| i / half * segment + i % half + upper * half;
            vectors = match vectors[..] {
                // What is behind the rows may be anything.
                [one] => {
                    let of = |l: &Self, upper| {
                        l.e.permute(one, (0..lanes).map(|i| place(i % (plan.rows * half), upper)))
                    };
                    let (x, y) = (of(self, 0)?, of(self, 1)?);
                    vec![self.fold(body, x, y)?]
                }
                _ => {
                    let mut folded = Vec::new();
                    for pair in vectors.chunks(2) {
                        let of = |l: &Self, upper| {
                            l.e.shuffle(pair[0], pair[1], (0..lanes).map(|i| Some(place(i, upper))))
                        };
                        let (x, y) = (of(self, 0)?, of(self, 1)?);
                        folded.push(self.fold(body, x, y)?);
                    }
                    folded
                }
            };
            segment = half;
        }
        Ok(vectors[0])
    }

    /// Writes the rows of a group, each element of which is that of a lane.
    fn write_rows(&mut self, result: &MatValue<'c>, group: V<'c>, rows: V<'c>, count: u32) -> Result<()> {
        let (lanes, cols) = (self.w, result.ty.cols);
        let chunks = (cols / lanes).max(1);
        let of_vector = lanes / cols.min(lanes);
        let first = self.e.mul(group, self.e.i32(count * cols / lanes))?;
        for i in 0..count / of_vector {
            let x = self.e.permute(rows, (0..lanes).map(|lane| i * of_vector + lane / cols.min(lanes)))?;
            for k in 0..chunks {
                let component = self.e.add(first, self.e.i32(i * chunks + k))?;
                self.write_component(result, component, x)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;
    use phalanx_ir::{MatType, Scalar, Scope, Use};

    fn plan(rows: u32, from: u32, to: u32, lanes: u32) -> Option<[u32; 5]> {
        let mat =
            |cols| MatType { elem: Scalar::F32, scope: Scope::Subgroup, rows, cols, use_: Use::Accumulator };
        let plan = Plan::new(mat(from), mat(to), lanes)?;
        Some([plan.segment, plan.chunks, plan.vectors, plan.rows, plan.groups])
    }

    #[test]
    fn rows_are_folded_together() {
        assert_eq!(plan(128, 128, 16, 32), Some([32, 4, 4, 4, 32]));
        // Two rows in a vector; fewer vectors than could be folded together; short rows.
        assert_eq!(plan(128, 16, 128, 32), Some([16, 1, 4, 8, 16]));
        assert_eq!(plan(4, 16, 16, 32), Some([16, 1, 2, 4, 1]));
        assert_eq!(plan(64, 2, 2, 32), Some([2, 1, 2, 32, 2]));
    }

    #[test]
    fn other_rows_are_left() {
        // No power of two; a vector of the result with more rows than there are.
        assert_eq!(plan(32, 24, 16, 32), None);
        assert_eq!(plan(1, 32, 8, 32), None);
    }
}
