//! Arithmetic, selection, and variables.

use super::Exec;
use crate::error::Error;
use phalanx_ir::{BinaryOp, CompareOp, ConvertOp, InstInfo, Type, UnaryOp, Value, Var, eval};

impl Exec<'_, '_, '_> {
    /// Sets the result from the operands: in each active lane, or for each element of matrices.
    fn elementwise(&mut self, info: &InstInfo, f: impl Fn([u64; 3]) -> u64) -> Result<(), Error> {
        if let Type::Mat(m) = self.func().ty(info.results[0]) {
            let elements = self.elements(&m, |exec, i| f(arguments(info, |arg| exec.matrix(arg)[i])))?;
            self.set_matrix(info.results[0], elements);
        } else {
            self.lanewise(info, |sub, lane| f(arguments(info, |arg| sub.scalar(arg, lane))));
        }
        Ok(())
    }

    pub(super) fn unary(&mut self, info: &InstInfo, op: UnaryOp) -> Result<(), Error> {
        let ty = self.elem(info.args[0]);
        self.elementwise(info, |[x, ..]| eval::unary(op, ty, x))
    }

    pub(super) fn binary(&mut self, info: &InstInfo, op: BinaryOp) -> Result<(), Error> {
        let ty = self.elem(info.args[0]);
        self.elementwise(info, |[x, y, _]| eval::binary(op, ty, x, y))
    }

    pub(super) fn fma(&mut self, info: &InstInfo) -> Result<(), Error> {
        let ty = self.elem(info.args[0]);
        self.elementwise(info, |[x, y, z]| eval::fma(ty, x, y, z))
    }

    pub(super) fn convert(&mut self, info: &InstInfo, op: ConvertOp) -> Result<(), Error> {
        let (from, to) = (self.elem(info.args[0]), self.elem(info.results[0]));
        self.elementwise(info, |[x, ..]| eval::convert(op, from, to, x))
    }

    pub(super) fn bitcast(&mut self, info: &InstInfo) -> Result<(), Error> {
        let to = self.elem(info.results[0]);
        self.elementwise(info, |[x, ..]| eval::bitcast(to, x))
    }

    pub(super) fn compare(&mut self, info: &InstInfo, op: CompareOp) {
        let [x, y] = [info.args[0], info.args[1]];
        let ty = self.elem(x);
        if matches!(self.func().ty(x), Type::Ptr(_)) {
            let view = &self.dispatch.view;
            for lane in self.sub.active().iter() {
                let [p, q] = [x, y].map(|value| view.address(self.sub.pointer(value, lane)));
                self.sub.set_scalar(info.results[0], lane, eval::compare(op, ty, p, q).into());
            }
        } else {
            self.lanewise(info, |sub, lane| {
                eval::compare(op, ty, sub.scalar(x, lane), sub.scalar(y, lane)).into()
            });
        }
    }

    pub(super) fn select(&mut self, info: &InstInfo) -> Result<(), Error> {
        let [condition, x, y] = [info.args[0], info.args[1], info.args[2]];
        let result = info.results[0];
        if let Type::Mat(m) = self.func().ty(result) {
            self.dispatch.spend(m.len())?;
            let holds = self.sub.scalar(condition, self.active().first()) != 0;
            let elements = self.matrix(if holds { x } else { y }).to_vec();
            self.set_matrix(result, elements);
            return Ok(());
        }
        for lane in self.active().iter() {
            let holds = self.sub.scalar(condition, lane) != 0;
            self.sub.copy_lane(if holds { x } else { y }, result, lane);
        }
        Ok(())
    }

    // ── variables ──

    /// The element that an access names: the first without an index.
    fn element_index(&self, index: Option<&Value>, lane: usize) -> usize {
        index.map_or(0, |&index| self.index(index, lane) as usize)
    }

    pub(super) fn var_load(&mut self, info: &InstInfo, var: Var) -> Result<(), Error> {
        let (index, result) = (info.args.first(), info.results[0]);
        let func = self.func();
        if let Type::Mat(m) = func.ty(result) {
            self.dispatch.spend(m.len())?;
            let index = self.element_index(index, self.active().first());
            let elements = self.var_matrix(var, index).cloned();
            self.set_matrix(result, elements.unwrap_or_else(|| vec![0; m.len() as usize]));
            return Ok(());
        }
        for lane in self.active().iter() {
            let index = self.element_index(index, lane);
            match &func.var(var).table {
                Some(table) => {
                    self.sub.set_scalar(result, lane, table.get(index).copied().unwrap_or(0));
                }
                None => self.sub.load_lane(var, index, lane, result),
            }
        }
        Ok(())
    }

    pub(super) fn var_store(&mut self, info: &InstInfo, var: Var) -> Result<(), Error> {
        let (index, value) = match info.args[..] {
            [ref index, value] => (Some(index), value),
            _ => (None, info.args[0]),
        };
        if let Type::Mat(m) = self.func().ty(value) {
            self.dispatch.spend(m.len())?;
            let index = self.element_index(index, self.active().first());
            let elements = self.matrix(value).to_vec();
            if let Some(matrix) = self.var_matrix(var, index) {
                *matrix = elements;
            }
            return Ok(());
        }
        for lane in self.active().iter() {
            let index = self.element_index(index, lane);
            self.sub.store_lane(var, index, lane, value);
        }
        Ok(())
    }

    pub(super) fn var_component_load(&mut self, info: &InstInfo, var: Var) {
        let Type::Mat(m) = self.func().var(var).ty else { return };
        for lane in self.active().iter() {
            let [index, component] = [info.args[0], info.args[1]].map(|arg| self.index(arg, lane));
            let element = self.element(&m, component, lane);
            let matrix = self.var_matrix(var, index as usize);
            let bits = matrix.zip(element).map_or(0, |(matrix, element)| matrix[element]);
            self.sub.set_scalar(info.results[0], lane, bits);
        }
    }

    pub(super) fn var_component_store(&mut self, info: &InstInfo, var: Var) {
        let Type::Mat(m) = self.func().var(var).ty else { return };
        for lane in self.active().iter() {
            let [index, component] = [info.args[0], info.args[1]].map(|arg| self.index(arg, lane));
            let bits = self.sub.scalar(info.args[2], lane);
            let element = self.element(&m, component, lane);
            if let Some((matrix, element)) = self.var_matrix(var, index as usize).zip(element) {
                matrix[element] = bits;
            }
        }
    }
}

/// What `get` gives for each of up to three operands.
fn arguments(info: &InstInfo, get: impl Fn(Value) -> u64) -> [u64; 3] {
    let mut list = [0; 3];
    for (place, &arg) in list.iter_mut().zip(&info.args) {
        *place = get(arg);
    }
    list
}
