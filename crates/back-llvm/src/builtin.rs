//! Built-in inputs.
//!
//! Lane `l` of subgroup `s` has the local index `s * subgroup_size + l`. Where rows of the
//! work-group are as long as subgroups or shorter, its coordinates are simple functions of that.

use crate::emit::V;
use crate::error::Result;
use crate::lower::Lower;
use crate::prologue::Field;
use crate::value::Val;
use phalanx_ir::{BinaryOp, Builtin, Scalar};

impl<'c> Lower<'_, 'c> {
    pub(crate) fn builtin(&mut self, b: Builtin) -> Result<Val<'c>> {
        match b {
            Builtin::NumWorkgroups(axis) => Ok(Val::uniform(self.field(Field::NumGroups(axis.min(2)))?)),
            Builtin::WorkgroupId(axis) => Ok(Val::uniform(self.field(Field::GroupId(axis.min(2)))?)),
            Builtin::SubgroupId => Ok(Val::uniform(self.field(Field::SubgroupId)?)),
            Builtin::SubgroupLane => Ok(Val::affine(self.e.i32(0), 1)),
            // Nobody tells the threads of a processor apart: there is one of each, and `Limits` says so.
            Builtin::Multiprocessor | Builtin::ResidentSubgroup => Ok(Val::uniform(self.e.i32(0))),
            Builtin::LocalInvocationIndex => Ok(Val::affine(self.first_index()?, 1)),
            Builtin::LocalInvocationId(axis) => self.local_id(usize::from(axis.min(2))),
            Builtin::GlobalInvocationId(axis) => {
                let axis = axis.min(2);
                let group = self.field(Field::GroupId(axis))?;
                let size = self.ir.workgroup_size[usize::from(axis)];
                let local = self.local_id(axis.into())?;
                let v = self.at_group(|l| {
                    let start = l.e.mul(group, l.e.i32(size))?;
                    match local.is_based() {
                        true => l.e.add(start, local.v),
                        false => l.e.add(l.e.splat(start, l.w)?, local.v),
                    }
                })?;
                Ok(Val { shape: local.shape, v })
            }
        }
    }

    /// The local index of lane 0.
    fn first_index(&mut self) -> Result<V<'c>> {
        if self.ir.num_subgroups() == 1 {
            return Ok(self.e.i32(0));
        }
        let id = self.field(Field::SubgroupId)?;
        self.at_group(|l| l.e.mul(id, l.e.i32(l.w)))
    }

    fn local_id(&mut self, axis: usize) -> Result<Val<'c>> {
        let size = self.ir.workgroup_size;
        if size[axis] == 1 {
            return Ok(Val::uniform(self.e.i32(0)));
        }
        let below: u32 = size[..axis].iter().product();
        // Beyond the last axis that is longer than 1 there is nothing to wrap around for.
        let is_last = size[axis + 1..].iter().all(|&n| n == 1);
        let first = self.first_index()?;
        if below == 1 && (is_last || size[axis].is_multiple_of(self.w)) {
            let v = self.at_group(|l| match is_last {
                true => Ok(first),
                false => l.binary(BinaryOp::Umod, Scalar::I32, first, l.e.i32(size[axis]), false),
            })?;
            return Ok(Val::affine(v, 1));
        }
        if below.is_multiple_of(self.w) {
            // All lanes are in one row.
            let v = self.at_group(|l| l.coordinate(first, below, (!is_last).then_some(size[axis])))?;
            return Ok(Val::uniform(v));
        }
        let modulus = (!is_last).then_some(size[axis]);
        if below.is_power_of_two() && modulus.is_none_or(u32::is_power_of_two) {
            // The index of lane 0 and the number of a lane have no bits in common, which is what the analysis relies on.
            let v = self.at_group(|l| l.coordinate(first, below, modulus))?;
            let steps = (0..self.w).map(|lane| (lane / below % modulus.unwrap_or(u32::MAX)).into());
            return Ok(Val { shape: self.patterns.shape(steps.collect()), v });
        }
        let v = self.at_group(|l| {
            let index = l.vector(Val::affine(first, 1))?;
            l.coordinate(index, below, modulus)
        })?;
        Ok(Val::varying(v))
    }

    /// `index / below % size`.
    fn coordinate(&mut self, index: V<'c>, below: u32, size: Option<u32>) -> Result<V<'c>> {
        let below = self.e.int_like(index, below.into());
        let row = self.e.bin(inkwell::values::InstructionOpcode::UDiv, index, below)?;
        match size {
            Some(n) => {
                let n = self.e.int_like(row, n.into());
                self.e.bin(inkwell::values::InstructionOpcode::URem, row, n)
            }
            None => Ok(row),
        }
    }
}
