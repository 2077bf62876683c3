//! Which bytes of shared memory are written and read, where that follows from who an invocation is.

use crate::abi::SUBGROUP_SIZE;
use crate::builtin::of_invocation;
use phalanx_ir::{Function, Inst, MatType, Module, Op, Type, Value, eval};
use std::collections::HashMap;

/// A set of bytes of shared memory.
#[derive(Clone, Debug)]
pub(super) struct Bytes {
    held: Vec<bool>,
}

impl Bytes {
    pub(super) fn none(module: &Module) -> Self {
        Self { held: vec![false; module.shared_bytes as usize] }
    }

    fn range(&mut self, first: i64, count: u64) -> Option<&mut [bool]> {
        let first = usize::try_from(first).ok()?;
        self.held.get_mut(first..first.checked_add(usize::try_from(count).ok()?)?)
    }

    /// Adds some bytes; nothing if they are not all in shared memory.
    fn add(&mut self, first: i64, count: u64) -> Option<()> {
        self.range(first, count)?.fill(true);
        Some(())
    }

    /// Whether these bytes are all there.
    fn has(&mut self, first: i64, count: u64) -> bool {
        self.range(first, count).is_some_and(|bytes| bytes.iter().all(|&held| held))
    }

    /// Adds what all invocations of a work-group write by a store; nothing if that is not known.
    pub(super) fn add_store(&mut self, module: &Module, store: Inst) -> Option<()> {
        let f = &module.body;
        let info = f.inst(store);
        let bytes = f.ty(info.args[1]).scalar()?.bytes();
        let count = u64::from(bytes) * (info.args.len() as u64 - 1);
        for invocation in 0..module.workgroup_invocations() {
            let first = Known::new(module, invocation).place(info.args[0])?;
            self.add(first, count)?;
        }
        Some(())
    }

    /// Whether all that the subgroups of a work-group load of a matrix is there.
    pub(super) fn has_matrix(&mut self, module: &Module, load: Inst) -> bool {
        let f = &module.body;
        let info = f.inst(load);
        let (Op::MatLoad { column_major, .. }, Some(m)) = (&info.op, f.ty(info.results[0]).mat()) else {
            return false;
        };
        let MatType { rows, cols, elem, .. } = m;
        let (lines, len) = if *column_major { (cols, rows) } else { (rows, cols) };
        (0..module.num_subgroups()).all(|subgroup| {
            let mut known = Known::new(module, subgroup * SUBGROUP_SIZE);
            let (Some(first), Some(stride)) = (known.place(info.args[0]), known.scalar(info.args[1])) else {
                return false;
            };
            let line = u64::from(len) * u64::from(elem.bytes());
            (0..i64::from(lines)).all(|i| {
                let start = stride.cast_signed().checked_mul(i).and_then(|far| far.checked_add(first));
                start.is_some_and(|start| self.has(start, line))
            })
        })
    }
}

/// What an invocation knows before it has looked at any memory.
struct Known<'a> {
    module: &'a Module,
    f: &'a Function,
    invocation: u32,
    scalars: HashMap<Value, Option<u64>>,
}

impl<'a> Known<'a> {
    fn new(module: &'a Module, invocation: u32) -> Self {
        Self { module, f: &module.body, invocation, scalars: HashMap::new() }
    }

    /// Where in shared memory a pointer points.
    fn place(&mut self, pointer: Value) -> Option<i64> {
        let info = self.f.def(pointer);
        match info.op {
            Op::SharedPtr { offset, .. } if info.args.is_empty() => Some(offset.into()),
            Op::PtrAdd { scale, disp } => {
                let base = self.place(info.args[0])?.checked_add(disp)?;
                let Some(&index) = info.args.get(1) else { return Some(base) };
                let Type::Scalar(s) = self.f.ty(index) else { return None };
                let index = eval::sign_extend(s, self.scalar(index)?);
                base.checked_add(index.checked_mul(scale)?)
            }
            _ => None,
        }
    }

    fn scalar(&mut self, v: Value) -> Option<u64> {
        if let Some(&known) = self.scalars.get(&v) {
            return known;
        }
        let found = self.find(v);
        self.scalars.insert(v, found);
        found
    }

    fn find(&mut self, v: Value) -> Option<u64> {
        let info = self.f.def(v);
        let ty = |v: Value| self.f.ty(v).scalar();
        match info.op {
            Op::Const(bits) => Some(bits),
            Op::Builtin(builtin) => of_invocation(self.module, self.invocation, builtin).map(u64::from),
            Op::Binary(op) => {
                let (s, [x, y]) = (ty(info.args[0])?, [info.args[0], info.args[1]]);
                Some(eval::binary(op, s, self.scalar(x)?, self.scalar(y)?))
            }
            Op::Convert(op) => {
                let (from, to) = (ty(info.args[0])?, ty(v)?);
                Some(eval::convert(op, from, to, self.scalar(info.args[0])?))
            }
            _ => None,
        }
    }
}
