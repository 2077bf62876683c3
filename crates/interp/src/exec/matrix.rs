//! Operations on whole matrices, and on the components that a lane holds.
//!
//! All invocations of the scope execute them, or none; where a program breaks that rule, the first
//! active lane stands for the missing ones. What takes scalars of all invocations of a work-group is in
//! [`crate::group`].

use super::{Exec, Stop};
use crate::error::Error;
use phalanx_ir::{BinaryOp, InstInfo, MatType, MulAddFlags, Value, eval};

impl Exec<'_, '_, '_> {
    pub(super) fn mat_type(&self, value: Value) -> MatType {
        let Some(m) = self.func().ty(value).mat() else {
            unreachable!("{value} was verified to be a matrix")
        };
        m
    }

    /// The scalar that the lane with this element of a matrix has.
    fn owner_scalar(&self, m: &MatType, element: usize, scalar: Value) -> u64 {
        self.sub.scalar(scalar, self.worker(m, element))
    }

    pub(super) fn mat_splat(&mut self, info: &InstInfo) -> Result<(), Error> {
        let m = self.mat_type(info.results[0]);
        let elements = self.elements(&m, |exec, i| exec.owner_scalar(&m, i, info.args[0]))?;
        self.set_matrix(info.results[0], elements);
        Ok(())
    }

    pub(super) fn mat_scale(&mut self, info: &InstInfo) -> Result<(), Error> {
        let (result, matrix, scalar) = (info.results[0], info.args[0], info.args[1]);
        let m = self.mat_type(result);
        let op = if m.elem.is_float() { BinaryOp::Fmul } else { BinaryOp::Imul };
        let elements = self.elements(&m, |exec, i| {
            eval::binary(op, m.elem, exec.matrix(matrix)[i], exec.owner_scalar(&m, i, scalar))
        })?;
        self.set_matrix(result, elements);
        Ok(())
    }

    pub(super) fn mat_coordinate(&mut self, info: &InstInfo) {
        let m = self.mat_type(info.args[0]);
        for lane in self.active().iter() {
            let place = self.place(&m, self.index(info.args[1], lane), lane);
            let (row, col) = place.unwrap_or((m.rows, m.cols));
            for (result, at) in info.results.iter().zip([row, col]) {
                self.sub.set_scalar(*result, lane, at.into());
            }
        }
    }

    pub(super) fn mat_extract(&mut self, info: &InstInfo) {
        let (matrix, component) = (info.args[0], info.args[1]);
        let m = self.mat_type(matrix);
        for lane in self.active().iter() {
            let element = self.element(&m, self.index(component, lane), lane);
            let bits = element.map_or(0, |element| self.matrix(matrix)[element]);
            self.sub.set_scalar(info.results[0], lane, bits);
        }
    }

    pub(super) fn mat_insert(&mut self, info: &InstInfo) -> Result<(), Error> {
        let (matrix, component, scalar) = (info.args[0], info.args[1], info.args[2]);
        let m = self.mat_type(matrix);
        self.dispatch.spend(m.len())?;
        let mut elements = self.matrix(matrix).to_vec();
        for lane in self.active().iter() {
            if let Some(element) = self.element(&m, self.index(component, lane), lane) {
                elements[element] = self.sub.scalar(scalar, lane);
            }
        }
        self.set_matrix(info.results[0], elements);
        Ok(())
    }

    pub(super) fn mat_load(&mut self, info: &InstInfo, column_major: bool) -> Result<(), Stop> {
        let first = self.active().first();
        let m = self.mat_type(info.results[0]);
        let (pointer, stride) = (self.sub.pointer(info.args[0], first), self.sub.scalar(info.args[1], first));
        let mut elements = Vec::with_capacity(m.len() as usize);
        for i in 0..m.len() {
            self.dispatch.spend(1)?;
            let place = pointer.add(offset(&m, i, stride as i64, column_major));
            elements.push(self.dispatch.view.read(place, m.elem)?);
        }
        self.set_matrix(info.results[0], elements);
        Ok(())
    }

    pub(super) fn mat_store(&mut self, info: &InstInfo, column_major: bool) -> Result<(), Stop> {
        let first = self.active().first();
        let m = self.mat_type(info.args[1]);
        let (pointer, stride) = (self.sub.pointer(info.args[0], first), self.sub.scalar(info.args[2], first));
        for i in 0..m.len() {
            self.dispatch.spend(1)?;
            let place = pointer.add(offset(&m, i, stride as i64, column_major));
            let bits = self.matrix(info.args[1])[i as usize];
            self.dispatch.view.write(place, m.elem, bits)?;
        }
        Ok(())
    }

    /// Each product of two elements is a step.
    pub(super) fn mat_mul_add(&mut self, info: &InstInfo, flags: MulAddFlags) -> Result<(), Error> {
        let [a, b, c] = [info.args[0], info.args[1], info.args[2]];
        let [type_a, type_b, type_c] = [a, b, c].map(|v| self.mat_type(v));
        let result = self.mat_type(info.results[0]);
        let types = eval::MulAddTypes { a: type_a.elem, b: type_b.elem, c: type_c.elem, result: result.elem };
        let (inner, cols) = (type_a.cols as usize, result.cols as usize);
        let factors = eval::Factors::new(flags, types, [a, b].map(|v| self.matrix(v)));
        let mut elements = Vec::with_capacity(result.len() as usize);
        for i in 0..result.len() as usize {
            self.dispatch.spend(inner as u64)?;
            let (row, col) = (i / cols, i % cols);
            let pairs = (0..inner).map(|k| (row * inner + k, k * cols + col));
            elements.push(factors.sum(pairs, self.matrix(c)[i]));
        }
        self.set_matrix(info.results[0], elements);
        Ok(())
    }
}

/// Bytes from the pointer to a row-major element.
fn offset(m: &MatType, element: u64, stride: i64, column_major: bool) -> i64 {
    let cols = u64::from(m.cols);
    let (row, col) = ((element / cols) as i64, (element % cols) as i64);
    let (major, minor) = if column_major { (col, row) } else { (row, col) };
    major.wrapping_mul(stride).wrapping_add(minor * i64::from(m.elem.bytes()))
}
