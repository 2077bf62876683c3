//! Definitions and their scope.
//!
//! A value may be used in the block that defines it and in blocks nested there. Where SPIR-V lets a
//! value outlive that (dominance reaches past a loop's end), it crosses through a variable: stored
//! where it is defined, loaded where it is used. The structure says beforehand which ids do.

use crate::cx::{Cx, Slot};
use crate::diag::{Res, bug, code, invalid, unsupported};
use crate::reader::Id;
use crate::types::Ty;
use crate::value::{DescriptorPtr, Index, InputPtr, LocalPtr, MemPtr, Pointer, TexelPtr, Val};
use phalanx_ir::{Scalar, Space, Value, Var};
use smallvec::SmallVec;
use std::rc::Rc;

impl Cx<'_> {
    /// Gives an id its type and value.
    pub(crate) fn bind(&mut self, id: Id, ty: Ty, val: Val) -> Res<()> {
        if id == 0 {
            return Err(bug("a result without an id"));
        }
        let val = self.settled(ty, val)?;
        let node = self.stack.last().map(|i| i.node);
        let spill = match self.stack.last() {
            Some(instance) if instance.structure.escapes(id) => Some(self.spill(&val)?),
            _ => None,
        };
        self.slots.insert(id, Slot { ty, val, node, serial: self.current_serial(), spill });
        Ok(())
    }

    /// Gives an id a value that is in scope in the whole current function.
    pub(crate) fn bind_everywhere(&mut self, id: Id, ty: Ty, val: Val) {
        self.slots.insert(id, Slot { ty, val, node: None, serial: self.current_serial(), spill: None });
    }

    fn current_serial(&self) -> u32 {
        self.stack.last().map_or(0, |i| i.serial)
    }

    /// The value of a slot, loaded from its variables if it is out of scope.
    pub(crate) fn reload(&mut self, slot: &Slot) -> Res<Val> {
        let (Some(def), Some(instance)) = (slot.node, self.stack.last()) else {
            return Ok(slot.val.clone());
        };
        if slot.serial != instance.serial {
            return Err(invalid(code::ID, "an operand is used before its definition"));
        }
        if instance.structure.encloses(def, instance.node) {
            return Ok(slot.val.clone());
        }
        let Some(spill) = slot.spill.clone() else {
            // Only a use that the definition does not dominate gets here: the structure has found
            // all others.
            return Err(invalid(code::ID, "an operand's definition does not dominate its use"));
        };
        // In the order of the values, as they were stored.
        let mut loaded: SmallVec<[(Value, Value); 4]> = SmallVec::new();
        for (value, var) in spill.iter() {
            let v = self.b().var_load(*var, None);
            loaded.push((*value, v));
        }
        Ok(map(&slot.val, &mut |v| {
            let found = loaded.binary_search_by_key(&v, |(from, _)| *from);
            found.ok().and_then(|i| loaded.get(i)).map_or(v, |(_, to)| *to)
        }))
    }

    /// Stores the IR values of a value in variables.
    fn spill(&mut self, val: &Val) -> Res<Rc<[(Value, Var)]>> {
        let mut values: Vec<Value> = Vec::new();
        let _ = map(val, &mut |v| {
            values.push(v);
            v
        });
        values.sort_unstable();
        values.dedup();
        values.retain(|v| !self.is_invariant(*v));
        let mut out = Vec::with_capacity(values.len());
        for v in values {
            let ty = self.func.ty(v);
            let var = self.func.new_var(ty, 1, "");
            self.b().var_store(var, None, v);
            out.push((v, var));
        }
        Ok(out.into())
    }

    /// A null pointer that is no device address: into an empty object.
    pub(crate) fn null_pointer(&mut self, space: Space) -> Res<Value> {
        match space {
            Space::Shared => {
                // Far beyond its end, so that it equals no pointer to a variable.
                const FAR: i64 = 1 << 40;
                let ty = phalanx_ir::Type::Ptr(space);
                let op = phalanx_ir::Op::SharedPtr { offset: 0, bytes: 0 };
                let start = self.invariant(op, &[], ty);
                Ok(self.invariant(phalanx_ir::Op::PtrAdd { scale: 0, disp: FAR }, &[start], ty))
            }
            Space::Global => {
                let zero = self.constant(Scalar::I64, 0);
                Ok(self.invariant(phalanx_ir::Op::IntToPtr, &[zero], phalanx_ir::Type::Ptr(space)))
            }
            // No array of descriptors is so long, and beyond its end there are empty objects at address 0.
            Space::Buffer if !self.module.bindings.is_empty() => {
                let beyond = self.constant(Scalar::I32, u64::from(u32::MAX));
                let op = phalanx_ir::Op::BufferPtr(phalanx_ir::Binding::new(0));
                Ok(self.invariant(op, &[beyond], phalanx_ir::Type::Ptr(space)))
            }
            Space::Buffer | Space::Push => {
                Err(unsupported(code::OPERAND, "the null of a pointer where there are no buffers"))
            }
        }
    }
}

/// A value with each IR value in it replaced.
fn map(val: &Val, f: &mut impl FnMut(Value) -> Value) -> Val {
    match val {
        Val::Ir(v) => Val::Ir(f(*v)),
        Val::Const(..) | Val::Zero | Val::Long(_) => val.clone(),
        Val::Many(parts) => Val::Many(parts.iter().map(|p| map(p, f)).collect()),
        Val::Ptr(p) => Val::ptr(map_pointer(p, f)),
    }
}

fn map_pointer(p: &Pointer, f: &mut impl FnMut(Value) -> Value) -> Pointer {
    match p {
        Pointer::Local(p) => Pointer::Local(LocalPtr {
            index: map_index(p.index, f),
            component: p.component.map(|i| map_index(i, f)),
            ..p.clone()
        }),
        Pointer::Memory(p) => Pointer::Memory(MemPtr { base: f(p.base), ..p.clone() }),
        Pointer::Descriptors(p) => Pointer::Descriptors(map_descriptor(p, f)),
        Pointer::Texel(p) => {
            let image = map_descriptor(&p.image, f);
            let coordinates = p.coordinates.iter().map(|&v| f(v)).collect();
            Pointer::Texel(TexelPtr { image, coordinates, ..*p })
        }
        Pointer::Input(p) => {
            Pointer::Input(InputPtr { component: p.component.map(|i| map_index(i, f)), ..p.clone() })
        }
    }
}

fn map_descriptor(p: &DescriptorPtr, f: &mut impl FnMut(Value) -> Value) -> DescriptorPtr {
    let index = map_index(p.index, f);
    let sampler = p.sampler.map(|(binding, i)| (binding, map_index(i, f)));
    DescriptorPtr { index, sampler, ..*p }
}

fn map_index(i: Index, f: &mut impl FnMut(Value) -> Value) -> Index {
    Index { base: i.base.map(f), ..i }
}
