//! Operations on whole matrices, and on the components that a lane holds.
//!
//! All invocations of the scope execute them, or none; where a program breaks that rule, the first
//! active lane stands for the missing ones.

use super::Exec;
use crate::memory::Fault;
use phalanx_ir::{BinaryOp, InstInfo, MatType, MulAddFlags, Value, eval};

impl Exec<'_, '_, '_> {
    pub(super) fn mat_type(&self, value: Value) -> MatType {
        let Some(m) = self.func().ty(value).mat() else {
            unreachable!("{value} was verified to be a matrix")
        };
        m
    }

    /// The scalar that the lane with this element has.
    fn owner_scalar(&self, element: usize, scalar: Value) -> u64 {
        self.sub.scalar(scalar, self.worker(element))
    }

    pub(super) fn mat_splat(&mut self, info: &InstInfo) {
        let m = self.mat_type(info.results[0]);
        let elements = (0..m.len() as usize).map(|i| self.owner_scalar(i, info.args[0])).collect();
        self.sub.set_matrix(info.results[0], elements);
    }

    pub(super) fn mat_scale(&mut self, info: &InstInfo) {
        let (result, matrix, scalar) = (info.results[0], info.args[0], info.args[1]);
        let m = self.mat_type(result);
        let op = if m.elem.is_float() { BinaryOp::Fmul } else { BinaryOp::Imul };
        let elements = self.sub.matrix(matrix).iter().enumerate();
        let elements =
            elements.map(|(i, &x)| eval::binary(op, m.elem, x, self.owner_scalar(i, scalar))).collect();
        self.sub.set_matrix(result, elements);
    }

    pub(super) fn mat_extract(&mut self, info: &InstInfo) {
        let (matrix, component) = (info.args[0], info.args[1]);
        let m = self.mat_type(matrix);
        self.lanewise(info, |sub, lane| {
            let element = sub.element(&m, sub.scalar(component, lane) as u32, lane);
            element.map_or(0, |element| sub.matrix(matrix)[element])
        });
    }

    pub(super) fn mat_insert(&mut self, info: &InstInfo) {
        let (matrix, component, scalar) = (info.args[0], info.args[1], info.args[2]);
        let m = self.mat_type(matrix);
        let mut elements = self.sub.matrix(matrix).to_vec();
        for lane in self.active().iter() {
            if let Some(element) = self.sub.element(&m, self.index(component, lane), lane) {
                elements[element] = self.sub.scalar(scalar, lane);
            }
        }
        self.sub.set_matrix(info.results[0], elements);
    }

    pub(super) fn mat_load(&mut self, info: &InstInfo, column_major: bool) -> Result<(), Fault> {
        let first = self.active().first();
        let m = self.mat_type(info.results[0]);
        let (pointer, stride) = (self.sub.pointer(info.args[0], first), self.sub.scalar(info.args[1], first));
        let elements: Result<Vec<_>, _> = (0..m.len())
            .map(|i| {
                let place = pointer.add(offset(&m, i, stride as i64, column_major));
                self.dispatch.view.read(place, m.elem)
            })
            .collect();
        self.sub.set_matrix(info.results[0], elements?);
        Ok(())
    }

    pub(super) fn mat_store(&mut self, info: &InstInfo, column_major: bool) -> Result<(), Fault> {
        let first = self.active().first();
        let m = self.mat_type(info.args[1]);
        let (pointer, stride) = (self.sub.pointer(info.args[0], first), self.sub.scalar(info.args[2], first));
        for (i, &bits) in self.sub.matrix(info.args[1]).iter().enumerate() {
            let place = pointer.add(offset(&m, i as u64, stride as i64, column_major));
            self.dispatch.view.write(place, m.elem, bits)?;
        }
        Ok(())
    }

    pub(super) fn mat_mul_add(&mut self, info: &InstInfo, flags: MulAddFlags) {
        let [a, b, c] = [info.args[0], info.args[1], info.args[2]];
        let [type_a, type_b, type_c] = [a, b, c].map(|v| self.mat_type(v));
        let result = self.mat_type(info.results[0]);
        let types = eval::MulAddTypes { a: type_a.elem, b: type_b.elem, c: type_c.elem, result: result.elem };
        let (inner, cols) = (type_a.cols as usize, result.cols as usize);
        let [a, b, c] = [a, b, c].map(|v| self.sub.matrix(v));
        let elements = (0..result.len() as usize)
            .map(|i| {
                let (row, col) = (i / cols, i % cols);
                let pairs = (0..inner).map(|k| (a[row * inner + k], b[k * cols + col]));
                eval::mul_add(flags, types, pairs, c[i])
            })
            .collect();
        self.sub.set_matrix(info.results[0], elements);
    }
}

/// Bytes from the pointer to a row-major element.
fn offset(m: &MatType, element: u64, stride: i64, column_major: bool) -> i64 {
    let cols = u64::from(m.cols);
    let (row, col) = ((element / cols) as i64, (element % cols) as i64);
    let (major, minor) = if column_major { (col, row) } else { (row, col) };
    major.wrapping_mul(stride).wrapping_add(minor * i64::from(m.elem.bytes()))
}
