//! Rows and columns of a matrix as scalars of the invocations.

use super::Exec;
use crate::error::Error;
use phalanx_ir::{InstInfo, eval};

impl Exec<'_, '_, '_> {
    /// A line of an invocation that is not active, or does not exist, is zero: it is unspecified.
    pub(super) fn mat_from_lanes(&mut self, info: &InstInfo, columns: bool) -> Result<(), Error> {
        let m = self.mat_type(info.results[0]);
        let (from, (count, len)) = (self.elem(info.args[0]), m.lines(columns));
        self.dispatch.spend(m.len())?;
        let mut elements = vec![0; m.len() as usize];
        for lane in self.active().iter().filter(|&lane| (lane as u64) < u64::from(count)) {
            let scalars: Vec<u64> = info.args.iter().map(|&v| self.sub.scalar(v, lane)).collect();
            let line = eval::regroup(from, m.elem, &scalars);
            for (i, bits) in line.into_iter().enumerate().take(len as usize) {
                elements[m.line_element(columns, lane, i)] = bits;
            }
        }
        self.sub.set_matrix(info.results[0], elements);
        Ok(())
    }

    /// An invocation without a line gets zeros: they are unspecified.
    pub(super) fn mat_to_lanes(&mut self, info: &InstInfo, columns: bool) -> Result<(), Error> {
        let m = self.mat_type(info.args[0]);
        let (to, (count, len)) = (self.elem(info.results[0]), m.lines(columns));
        self.dispatch.spend(m.len())?;
        for lane in self.active().iter() {
            let line: Vec<u64> = if (lane as u64) < u64::from(count) {
                let elements = self.sub.matrix(info.args[0]);
                (0..len as usize).map(|i| elements[m.line_element(columns, lane, i)]).collect()
            } else {
                vec![0; len as usize]
            };
            let scalars = eval::regroup(m.elem, to, &line);
            for (&result, bits) in info.results.iter().zip(scalars) {
                self.sub.set_scalar(result, lane, bits);
            }
        }
        Ok(())
    }
}
