//! Loads and stores of any type through any pointer.

use crate::cx::{Cx, Values};
use crate::diag::{Res, bug, code, operand, unsupported};
use crate::reader::Id;
use crate::types::{Kind, Ty};
use crate::value::{Index, InputPtr, LocalPtr, MemPtr, Pointer, Val};
use phalanx_ir::{self as ir, CompareOp, MemFlags, Op as IrOp, Scalar, Value};

/// Bits of the memory operands mask (SPIR-V 3.26).
mod access {
    pub(super) const VOLATILE: u32 = 0x1;
    pub(super) const ALIGNED: u32 = 0x2;
    pub(super) const NONTEMPORAL: u32 = 0x4;
    pub(super) const MAKE_AVAILABLE: u32 = 0x8;
    pub(super) const MAKE_VISIBLE: u32 = 0x10;
    pub(super) const NON_PRIVATE: u32 = 0x20;
}

impl Cx<'_> {
    /// Reads memory operands: a mask and what follows its bits. Gives the flags and the number of
    /// words read. Availability and visibility beyond the work-group ask for coherence, which volatile
    /// accesses have.
    pub(crate) fn memory_operands(&self, words: &[u32]) -> Res<(MemFlags, usize)> {
        let Some(&mask) = words.first() else {
            return Ok((MemFlags::default(), 0));
        };
        let known = access::VOLATILE
            | access::ALIGNED
            | access::NONTEMPORAL
            | access::MAKE_AVAILABLE
            | access::MAKE_VISIBLE
            | access::NON_PRIVATE;
        if mask & !known != 0 {
            return Err(unsupported(code::OPERAND, format!("memory operands {:#x}", mask & !known)));
        }
        let (mut used, mut volatile) = (1, mask & access::VOLATILE != 0);
        for bit in [access::ALIGNED, access::MAKE_AVAILABLE, access::MAKE_VISIBLE] {
            if mask & bit == 0 {
                continue;
            }
            let Some(&word) = words.get(used) else {
                return Err(operand("the memory operands are incomplete"));
            };
            used += 1;
            // A work-group runs on one core, which sees its own writes.
            volatile |= bit != access::ALIGNED && self.scope(word)? == ir::Scope::Device;
        }
        let flags = MemFlags { volatile, nontemporal: mask & access::NONTEMPORAL != 0 };
        Ok((flags, used))
    }

    /// Loads a value of type `ty`.
    pub(crate) fn load(&mut self, p: &Pointer, ty: Ty, flags: MemFlags) -> Res<Val> {
        self.check_pointee(p, ty)?;
        if matches!((p, self.types().kind(ty)), (Pointer::Descriptors(_), Kind::Image { .. } | Kind::Sampler))
        {
            return Ok(Val::ptr(p.clone()));
        }
        self.types().leaf_types(ty)?;
        match p {
            Pointer::Memory(p) => {
                let flags = MemFlags { volatile: flags.volatile || p.volatile, ..flags };
                self.load_memory(&MemPtr { ty: Some(p.ty.unwrap_or(ty)), ..p.clone() }, flags)
            }
            Pointer::Local(p) => self.load_local(p),
            Pointer::Input(p) => self.load_input(p),
            Pointer::Descriptors(_) => Err(operand("a buffer as a whole is no value")),
            Pointer::Texel(_) => Err(operand("a pointer to a texel is for atomic operations only")),
        }
    }

    /// Stores a value of type `ty`.
    pub(crate) fn store(&mut self, p: &Pointer, ty: Ty, val: &Val, flags: MemFlags) -> Res<()> {
        self.check_pointee(p, ty)?;
        self.types().leaf_types(ty)?;
        match p {
            Pointer::Memory(p) => {
                self.expect_writable(p.base)?;
                let flags = MemFlags { volatile: flags.volatile || p.volatile, ..flags };
                self.store_memory(&MemPtr { ty: Some(p.ty.unwrap_or(ty)), ..p.clone() }, val, flags)
            }
            Pointer::Local(p) => self.store_local(p, val),
            Pointer::Input(_) => Err(operand("a built-in input is not writable")),
            Pointer::Descriptors(_) => Err(operand("a buffer as a whole is no value")),
            Pointer::Texel(_) => Err(operand("a pointer to a texel is for atomic operations only")),
        }
    }

    fn check_pointee(&self, p: &Pointer, ty: Ty) -> Res<()> {
        let found = match p {
            Pointer::Local(LocalPtr { ty: mat, component: Some(_), .. }) => {
                let elem = self.types().scalar(*mat);
                if self.types().leaf(ty) == elem.map(ir::Type::Scalar) {
                    return Ok(());
                }
                Some(*mat)
            }
            _ => self.pointee(p),
        };
        match found {
            Some(found) if !self.types().same(found, ty) => {
                let (found, wanted) = (self.types().describe(found), self.types().describe(ty));
                Err(operand(format!("the pointer points to {found}, expected {wanted}")))
            }
            _ => Ok(()),
        }
    }

    // ── memory ──

    fn load_memory(&mut self, p: &MemPtr, flags: MemFlags) -> Res<Val> {
        let ty = p.ty.ok_or_else(|| bug("a load without a type"))?;
        if self.long(ty).is_some() {
            return self.load_long(&Pointer::Memory(p.clone()), ty, flags);
        }
        match *self.types().kind(ty) {
            Kind::Vector { elem, n } if p.spread.vector.is_none() => {
                let scalars = self.load_scalars(p, elem, n, flags)?;
                Ok(Val::many(scalars.into_iter().map(Val::Ir)))
            }
            Kind::Bool | Kind::Int { .. } | Kind::Float(_) => {
                Ok(Val::Ir(self.load_scalars(p, ty, 1, flags)?[0]))
            }
            Kind::Pointer { .. } if self.types().leaf(ty) == Some(ir::Type::Ptr(ir::Space::Global)) => {
                let at = self.byte_pointer(p);
                let bits = self.b().value(IrOp::Load(flags), &[at], ir::Type::I64);
                let v = self.b().value(IrOp::IntToPtr, &[bits], ir::Type::Ptr(ir::Space::Global));
                self.unflatten(ty, &[v])
            }
            Kind::Struct(_) => {
                let n = self.types().count(ty).unwrap_or(0);
                let mut parts = Vec::with_capacity(n as usize);
                for i in 0..n {
                    let member = self.memory_member(p.clone(), ty, i)?;
                    let flags = MemFlags { volatile: flags.volatile || member.volatile, ..flags };
                    parts.push(self.load_memory(&member, flags)?);
                }
                Ok(Val::many(parts))
            }
            Kind::Vector { n, .. } | Kind::Matrix { n, .. } | Kind::Array { n, .. } => {
                let mut parts = Vec::with_capacity(n as usize);
                for i in 0..n {
                    let elem = self.memory_element(p.clone(), ty, Index::constant(i64::from(i)))?;
                    parts.push(self.load_memory(&elem, flags)?);
                }
                Ok(Val::many(parts))
            }
            _ => Err(self.not_in_memory(ty)),
        }
    }

    fn not_in_memory(&self, ty: Ty) -> crate::diag::Fault {
        operand(format!("{} cannot be loaded from or stored to memory", self.types().describe(ty)))
    }

    /// Loads `n` consecutive scalars.
    fn load_scalars(&mut self, p: &MemPtr, elem: Ty, n: u32, flags: MemFlags) -> Res<Values> {
        let scalar = self.types().scalar(elem).ok_or_else(|| self.not_in_memory(elem))?;
        let at = self.byte_pointer(p);
        let stored = if scalar == Scalar::Bool { Scalar::I32 } else { scalar };
        let tys = vec![ir::Type::Scalar(stored); n as usize];
        let loaded = self.b().values(IrOp::Load(flags), &[at], &tys);
        if scalar != Scalar::Bool {
            return Ok(loaded.into_iter().collect());
        }
        let zero = self.i32(0);
        Ok(loaded.into_iter().map(|v| self.b().compare(CompareOp::Ine, v, zero)).collect())
    }

    fn store_memory(&mut self, p: &MemPtr, val: &Val, flags: MemFlags) -> Res<()> {
        let ty = p.ty.ok_or_else(|| bug("a store without a type"))?;
        if self.long(ty).is_some() {
            return self.store_long(&Pointer::Memory(p.clone()), ty, val, flags);
        }
        match *self.types().kind(ty) {
            Kind::Vector { .. } if p.spread.vector.is_some() => self.store_parts(p, ty, val, flags),
            Kind::Bool | Kind::Int { .. } | Kind::Float(_) | Kind::Vector { .. } => {
                let values = self.flatten(ty, val)?;
                self.store_scalars(p, &values, flags);
                Ok(())
            }
            Kind::Pointer { .. } if self.types().leaf(ty) == Some(ir::Type::Ptr(ir::Space::Global)) => {
                let v = self.flatten(ty, val)?[0];
                let bits = self.b().value(IrOp::PtrToInt, &[v], ir::Type::I64);
                self.store_scalars(p, &[bits], flags);
                Ok(())
            }
            Kind::Struct(_) => {
                for i in 0..self.types().count(ty).unwrap_or(0) {
                    let part = self.part(ty, val, i)?;
                    let member = self.memory_member(p.clone(), ty, i)?;
                    let flags = MemFlags { volatile: flags.volatile || member.volatile, ..flags };
                    self.store_memory(&member, &part, flags)?;
                }
                Ok(())
            }
            Kind::Matrix { .. } | Kind::Array { .. } => self.store_parts(p, ty, val, flags),
            _ => Err(self.not_in_memory(ty)),
        }
    }

    fn store_parts(&mut self, p: &MemPtr, ty: Ty, val: &Val, flags: MemFlags) -> Res<()> {
        for i in 0..self.types().count(ty).unwrap_or(0) {
            let part = self.part(ty, val, i)?;
            let elem = self.memory_element(p.clone(), ty, Index::constant(i64::from(i)))?;
            self.store_memory(&elem, &part, flags)?;
        }
        Ok(())
    }

    /// Stores consecutive scalars.
    fn store_scalars(&mut self, p: &MemPtr, values: &[Value], flags: MemFlags) {
        let mut args = Values::new();
        args.push(self.byte_pointer(p));
        for &v in values {
            let is_bool = self.func.ty(v) == ir::Type::BOOL;
            args.push(if is_bool { self.bool_to_i32(v) } else { v });
        }
        self.b().effect(IrOp::Store(flags), &args);
    }

    /// 1 for true, 0 for false.
    pub(crate) fn bool_to_i32(&mut self, v: Value) -> Value {
        let (one, zero) = (self.i32(1), self.i32(0));
        self.b().select(v, one, zero)
    }

    // ── variables ──

    fn load_local(&mut self, p: &LocalPtr) -> Res<Val> {
        if let Some(component) = p.component {
            let var = self.piece(p)?;
            let (index, component) = (self.index_value(p.index), self.index_value(component));
            let elem = self.func.var(var).ty.elem().ok_or_else(|| bug("a component of no matrix"))?;
            let v = self.b().value(IrOp::VarComponentLoad(var), &[index, component], elem.into());
            return Ok(Val::Ir(v));
        }
        let ty = p.ty;
        if self.types().leaf(ty).is_some() {
            return self.load_leaf(p);
        }
        if self.long(ty).is_some() {
            return self.load_long(&Pointer::Local(p.clone()), ty, MemFlags::default());
        }
        let n = self.types().count(ty).ok_or_else(|| self.not_in_memory(ty))?;
        let mut parts = Vec::with_capacity(n as usize);
        for i in 0..n {
            let part = self.local_part(p, i)?;
            parts.push(self.load_local(&part)?);
        }
        Ok(Val::many(parts))
    }

    fn load_leaf(&mut self, p: &LocalPtr) -> Res<Val> {
        let var = self.piece(p)?;
        let info = self.func.var(var);
        let (leaf, single) = (info.ty, info.count == 1);
        if let (Some(table), None) = (&info.table, p.index.base) {
            let bits = usize::try_from(p.index.offset).ok().and_then(|i| table.get(i)).copied();
            return Ok(Val::Const(leaf, bits.unwrap_or(0)));
        }
        let index = self.leaf_index(p, single);
        let v = self.b().var_load(var, index);
        match leaf {
            ir::Type::Ptr(_) => self.unflatten(p.ty, &[v]),
            ir::Type::Scalar(_) | ir::Type::Mat(_) => Ok(Val::Ir(v)),
        }
    }

    fn leaf_index(&mut self, p: &LocalPtr, single: bool) -> Option<Value> {
        (!single || p.index != Index::ZERO).then(|| self.index_value(p.index))
    }

    fn store_local(&mut self, p: &LocalPtr, val: &Val) -> Res<()> {
        if p.var.is_table {
            return Ok(());
        }
        if let Some(component) = p.component {
            let var = self.piece(p)?;
            let elem = self.func.var(var).ty.elem().ok_or_else(|| bug("a component of no matrix"))?;
            let v = self.leaf_value(elem.into(), val)?;
            let (index, component) = (self.index_value(p.index), self.index_value(component));
            self.b().effect(IrOp::VarComponentStore(var), &[index, component, v]);
            return Ok(());
        }
        let ty = p.ty;
        if let Some(leaf) = self.types().leaf(ty) {
            let var = self.piece(p)?;
            let v = self.leaf_value(leaf, val)?;
            let single = self.func.var(var).count == 1;
            let index = self.leaf_index(p, single);
            self.b().var_store(var, index, v);
            return Ok(());
        }
        if self.long(ty).is_some() {
            return self.store_long(&Pointer::Local(p.clone()), ty, val, MemFlags::default());
        }
        for i in 0..self.types().count(ty).ok_or_else(|| self.not_in_memory(ty))? {
            let value = self.part(ty, val, i)?;
            let part = self.local_part(p, i)?;
            self.store_local(&part, &value)?;
        }
        Ok(())
    }

    /// A pointer to constituent `i` of an aggregate.
    fn local_part(&mut self, p: &LocalPtr, i: u32) -> Res<LocalPtr> {
        match self.types().kind(p.ty) {
            Kind::Struct(_) => self.local_member(p.clone(), i),
            _ => self.local_element(p.clone(), Index::constant(i64::from(i))),
        }
    }

    fn piece(&self, p: &LocalPtr) -> Res<ir::Var> {
        p.var.pieces.get(p.piece as usize).copied().ok_or_else(|| bug("a variable lacks a piece"))
    }

    fn load_input(&mut self, p: &InputPtr) -> Res<Val> {
        let values = self.input(p.input, p.ty)?;
        let Some(component) = p.component else {
            return self.unflatten(p.ty, &values);
        };
        if component.base.is_none() {
            let v = usize::try_from(component.offset).ok().and_then(|i| values.get(i));
            return Ok(v.map_or(Val::Const(ir::Type::I32, 0), |v| Val::Ir(*v)));
        }
        let index = self.index_value(component);
        self.choose(&values, index).map(Val::Ir)
    }

    /// The value with a dynamic index in a list; some value if it is out of range.
    pub(crate) fn choose(&mut self, values: &[Value], index: Value) -> Res<Value> {
        let (&first, rest) = values.split_first().ok_or_else(|| bug("a choice among no values"))?;
        let mut chosen = first;
        for (i, &v) in rest.iter().enumerate() {
            let i = self.i32(i as i32 + 1);
            let here = self.b().compare(CompareOp::Ieq, index, i);
            chosen = self.b().select(here, v, chosen);
        }
        Ok(chosen)
    }

    /// Reads the type that a pointer operand points to, for instructions whose result has it.
    pub(crate) fn pointee_of(&mut self, id: Id) -> Res<Option<Ty>> {
        let p = self.pointer(id)?;
        Ok(self.pointee(&p))
    }
}
