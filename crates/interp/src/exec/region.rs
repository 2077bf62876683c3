//! Operations on whole matrices that execute a region for each element, or for pairs of elements.

use super::{Exec, Stop};
use crate::error::Error;
use crate::lanes::Lanes;
use phalanx_ir::{Block, InstInfo, MatReduceKind, MatType, Op, Scope, Value};

impl Exec<'_, '_, '_> {
    /// The lane that works on an element of a matrix: the one that holds it, if the matrix is the subgroup's, or the first
    /// if that does not execute.
    pub(super) fn worker(&self, m: &MatType, element: usize) -> usize {
        let (element, cols) = (element as u64, u64::from(m.cols));
        let layout = self.module.layout(MatType { scope: Scope::Subgroup, ..*m });
        let (owner, _) = layout.at((element / cols) as u32, (element % cols) as u32);
        let owner = owner as usize;
        if self.active().contains(owner) { owner } else { self.active().first() }
    }

    /// Executes a region once for each of the elements of a matrix that `bind` does not refuse; gives what
    /// it made, zero elsewhere. `bind` sets the parameters in a lane.
    pub(super) fn for_each(
        &mut self,
        body: Block,
        m: &MatType,
        mut bind: impl FnMut(&mut Self, &[Value], usize, usize) -> bool,
    ) -> Result<Vec<Option<u64>>, Stop> {
        let func = self.func();
        let insts = func.block(body);
        let (Some(params), Some(gives)) = (insts.first(), insts.last()) else { return Ok(Vec::new()) };
        let (params, gives) = (&func.inst(*params).results[..], func.inst(*gives).args[0]);
        let count = m.len() as usize;
        let mut made = vec![None; count];
        let mut element = 0;
        while element < count {
            // As many elements as there are different lanes for.
            let mut batch: Vec<(usize, usize)> = Vec::new();
            let mut lanes = Lanes::NONE;
            while element < count {
                let lane = self.worker(m, element);
                if lanes.contains(lane) {
                    break;
                }
                self.dispatch.spend(1)?;
                if bind(self, params, lane, element) {
                    lanes = lanes.or(Lanes::only(lane));
                    batch.push((lane, element));
                }
                element += 1;
            }
            self.run_region(body, lanes)?;
            for (lane, element) in batch {
                made[element] = Some(self.sub.scalar(gives, lane));
            }
        }
        Ok(made)
    }

    /// Executes a region to its end.
    fn run_region(&mut self, body: Block, lanes: Lanes) -> Result<(), Stop> {
        if lanes.is_empty() {
            return Ok(());
        }
        let floor = self.sub.enter_region(body, lanes);
        while let Some(inst) = self.sub.next_inst_above(self.func(), floor) {
            self.step(inst)?;
        }
        Ok(())
    }

    fn set_params(&mut self, params: &[Value], lane: usize, bits: impl IntoIterator<Item = u64>) {
        for (&param, bits) in params.iter().zip(bits) {
            self.sub.set_scalar(param, lane, bits);
        }
    }

    pub(super) fn mat_map(&mut self, info: &InstInfo, body: Block) -> Result<(), Stop> {
        let m = self.mat_type(info.results[0]);
        let cols = m.cols as usize;
        let made = self.for_each(body, &m, |exec, params, lane, element| {
            let (row, col) = (element / cols, element % cols);
            let operand = |&v: &Value| {
                let width = exec.mat_type(v).cols as usize;
                exec.matrix(v)[row * width + if width < cols { 0 } else { col }]
            };
            let operands: Vec<u64> = info.args.iter().map(operand).collect();
            let place = [row as u64, col as u64];
            exec.set_params(params, lane, place.into_iter().chain(operands));
            true
        })?;
        self.set_matrix(info.results[0], made.into_iter().map(|x| x.unwrap_or(0)).collect());
        Ok(())
    }

    pub(super) fn mat_transpose(&mut self, info: &InstInfo) -> Result<(), Error> {
        let m = self.mat_type(info.results[0]);
        let (rows, cols) = (m.rows as usize, m.cols as usize);
        let elements = self.elements(&m, |exec, i| exec.matrix(info.args[0])[i % cols * rows + i / cols])?;
        self.set_matrix(info.results[0], elements);
        Ok(())
    }

    pub(super) fn mat_rotate(&mut self, info: &InstInfo) -> Result<(), Error> {
        let m = self.mat_type(info.results[0]);
        let offset = self.sub.scalar(info.args[2], self.active().first()) as i32;
        let (offset, size) = (offset.max(0) as usize, m.len() as usize);
        let elements = self.elements(&m, |exec, i| match i + offset.min(size) {
            at if at < size => exec.matrix(info.args[0])[at],
            at => exec.matrix(info.args[1])[at - size],
        })?;
        self.set_matrix(info.results[0], elements);
        Ok(())
    }

    pub(super) fn mat_reduce(
        &mut self,
        info: &InstInfo,
        kind: MatReduceKind,
        body: Block,
    ) -> Result<(), Stop> {
        let (from, to) = (self.mat_type(info.args[0]), self.mat_type(info.results[0]));
        let (rows, cols) = (from.rows as usize, from.cols as usize);
        self.dispatch.spend(from.len() + to.len())?;
        let x = self.matrix(info.args[0]).to_vec();
        let column = |c: usize| -> Vec<u64> { x.iter().skip(c).step_by(cols).copied().collect() };
        let lists: Vec<Vec<u64>> = match kind {
            MatReduceKind::Row => x.chunks(cols).map(<[u64]>::to_vec).collect(),
            MatReduceKind::Column => (0..cols).map(column).collect(),
            MatReduceKind::All => {
                let columns: Vec<_> = (0..cols).map(column).collect();
                vec![self.combine(body, &columns)?]
            }
            MatReduceKind::Square => (0..rows / 2 * (cols / 2))
                .map(|i| {
                    let first = i / (cols / 2) * 2 * cols + i % (cols / 2) * 2;
                    vec![x[first], x[first + 1], x[first + cols], x[first + cols + 1]]
                })
                .collect(),
        };
        let reduced = self.combine(body, &lists)?;
        let cols = to.cols as usize;
        let elements = (0..to.len() as usize).map(|i| match kind {
            MatReduceKind::Row => reduced[i / cols],
            MatReduceKind::Column => reduced[i % cols],
            MatReduceKind::All => reduced[0],
            MatReduceKind::Square => reduced[i],
        });
        self.set_matrix(info.results[0], elements.collect());
        Ok(())
    }

    /// Combines the elements of each list, all of one length, in the tree of the IR.
    fn combine(&mut self, body: Block, lists: &[Vec<u64>]) -> Result<Vec<u64>, Stop> {
        let func = self.func();
        let insts = func.block(body);
        let (Some(params), Some(gives)) = (insts.first(), insts.last()) else { return Ok(Vec::new()) };
        let (params, gives) = (&func.inst(*params).results[..], func.inst(*gives).args[0]);
        let mut results = Vec::with_capacity(lists.len());
        let active: Vec<usize> = self.active().iter().collect();
        for batch in lists.chunks(active.len()) {
            let mut batch = batch.to_vec();
            let lanes = active[..batch.len()].iter().fold(Lanes::NONE, |all, &l| all.or(Lanes::only(l)));
            let mut len = batch[0].len();
            while len > 1 {
                // The greatest power of two below the length.
                let half = len.next_power_of_two() / 2;
                for i in 0..len - half {
                    for (&lane, list) in active.iter().zip(&batch) {
                        self.set_params(params, lane, [list[i], list[half + i]]);
                    }
                    self.run_region(body, lanes)?;
                    for (&lane, list) in active.iter().zip(&mut batch) {
                        list[i] = self.sub.scalar(gives, lane);
                    }
                }
                len = half;
            }
            results.extend(batch.iter().map(|list| list[0]));
        }
        Ok(results)
    }

    /// The operations of this family.
    pub(super) fn whole_matrix(&mut self, info: &InstInfo) -> Result<(), Stop> {
        match info.op {
            Op::MatTranspose => Ok(self.mat_transpose(info)?),
            Op::MatRotate => Ok(self.mat_rotate(info)?),
            Op::MatMap { body } => self.mat_map(info, body),
            Op::MatReduce { kind, body } => self.mat_reduce(info, kind, body),
            Op::MatLoadTensor { access, decode } => self.mat_load_tensor(info, &access, decode),
            Op::MatStoreTensor(access) => self.mat_store_tensor(info, &access),
            // The parameters were set before, and what is given is read behind.
            _ => Ok(()),
        }
    }
}
