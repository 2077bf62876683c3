//! Module-scope variables: buffers, push constants, shared memory, built-ins, private variables.
//!
//! Only those that the entry point's call tree mentions count; a module may hold more entry points.

use crate::builtins;
use crate::cx::Cx;
use crate::diag::{Res, code, invalid, operand, unsupported};
use crate::layout::Layout;
use crate::module::Spv;
use crate::reader::{Id, Inst};
use crate::types::{Kind, Ty};
use crate::value::{DescriptorPtr, Index, InputPtr, Pointer, Spread, Val};
use phalanx_ir::{
    self as ir, Barrier, Binding, BindingInfo, BindingKind, MemFlags, Op as IrOp, Scope, Space,
};
use rustc_hash::FxHashSet;
use spirv::{Decoration, Op, StorageClass};

/// Alignment of each object in shared memory.
const SHARED_ALIGN: i64 = 16;

/// Memory that *OpConstantNull* initialisers clear.
#[derive(Clone, Copy, Debug)]
struct Cleared {
    offset: u32,
    bytes: u32,
}

/// The ids that a function and those it calls mention.
pub(crate) fn reachable_ids(spv: &Spv<'_>, function: Id) -> FxHashSet<Id> {
    let mut ids = FxHashSet::default();
    let mut seen: FxHashSet<Id> = [function].into_iter().collect();
    let mut queue = vec![function];
    while let Some(id) = queue.pop() {
        let Some(decl) = spv.functions.get(&id) else { continue };
        for inst in decl.blocks.iter().flat_map(|b| &spv.insts[b.first..=b.term]) {
            ids.extend(inst.args.iter().copied());
            let callees = match inst.op {
                Op::FunctionCall => inst.args.get(..1),
                // They name functions that they call for each element.
                Op::CooperativeMatrixPerElementOpNV
                | Op::CooperativeMatrixReduceNV
                | Op::CooperativeMatrixLoadTensorNV => Some(inst.args),
                _ => None,
            };
            let callees = callees.unwrap_or_default().iter().copied();
            queue.extend(callees.filter(|id| spv.functions.contains_key(id) && seen.insert(*id)));
        }
    }
    ids
}

/// What a resource variable is, by storage class and decorations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// Kind of descriptor.
    pub(crate) kind: BindingKind,
    /// Length of the descriptor array; `None` for a run-time length.
    pub(crate) count: Option<u32>,
    /// The type of one descriptor.
    pub(crate) block: Ty,
}

impl Layout<'_> {
    /// The resource that a *StorageBuffer*, *Uniform* or *UniformConstant* variable of type `ty` is.
    pub(crate) fn resource(&self, class: StorageClass, ty: Ty) -> Res<Resource> {
        let (mut block, mut count) = (ty, Some(1_u32));
        loop {
            match *self.types.kind(block) {
                Kind::Array { elem, n } => {
                    let product =
                        count.map(|c| c.checked_mul(n).ok_or_else(|| operand("too many descriptors")));
                    count = product.transpose()?;
                    block = elem;
                }
                Kind::RuntimeArray { elem } => {
                    count = None;
                    block = elem;
                }
                _ => break,
            }
        }
        match *self.types.kind(block) {
            Kind::Image { kind, .. } => return Ok(Resource { kind: BindingKind::Image(kind), count, block }),
            Kind::Sampler => return Ok(Resource { kind: BindingKind::Sampler, count, block }),
            _ => {}
        }
        if class == StorageClass::UniformConstant {
            let m = format!("{} as a resource", self.types.describe(block));
            return Err(unsupported(code::TYPE, m));
        }
        let decor = &self.spv.decor;
        let is_buffer_block = decor.has(block.id(), Decoration::BufferBlock);
        let is_block = is_buffer_block || decor.has(block.id(), Decoration::Block);
        if !matches!(self.types.kind(block), Kind::Struct(_)) || !is_block {
            let m = format!("expected a structure decorated Block, found {}", self.types.describe(block));
            return Err(invalid(code::DECORATION, m));
        }
        let storage = class == StorageClass::StorageBuffer || is_buffer_block;
        let kind = if storage { BindingKind::Storage } else { BindingKind::Uniform };
        Ok(Resource { kind, count, block })
    }

    /// The binding that a resource variable states.
    pub(crate) fn binding(&self, id: Id, class: StorageClass, ty: Ty) -> Res<(BindingInfo, Ty)> {
        let Resource { kind, count, block } = self.resource(class, ty)?;
        let binding = self.spv.decor.literal(id, Decoration::Binding);
        let binding = binding.ok_or_else(|| invalid(code::DECORATION, "the variable has no Binding"))?;
        let set = self.spv.decor.literal(id, Decoration::DescriptorSet).unwrap_or(0);
        let can_write = match kind {
            BindingKind::Storage => true,
            BindingKind::Uniform | BindingKind::Sampler => false,
            BindingKind::Image(image) => image.is_storage(),
        };
        let writable = can_write && !self.is_read_only(id, block);
        let names = &self.spv.names;
        let name = [names.of(id), names.of(block.id())].into_iter().find(|n| !n.is_empty());
        let name = name.unwrap_or("").to_owned();
        Ok((BindingInfo { set, binding, count, kind, writable, name }, block))
    }

    /// Whether the variable or all members of its block are decorated *NonWritable*.
    fn is_read_only(&self, id: Id, block: Ty) -> bool {
        let decor = &self.spv.decor;
        let n = self.types.count(block).unwrap_or(0);
        decor.has(id, Decoration::NonWritable)
            || (n > 0 && (0..n).all(|m| decor.member_has(block.id(), m, Decoration::NonWritable)))
    }

    /// Storage class and type of a variable. An untyped one names its type behind the class.
    pub(crate) fn variable(&self, inst: &Inst<'_>) -> Res<(StorageClass, Ty)> {
        let (class, pointee) = self.types.pointer(self.types.lookup(inst.ty)?)?;
        if inst.arg(0)? != class as u32 {
            return Err(operand(format!("the variable is not {class:?} as its type says")));
        }
        let ty = match (inst.op, pointee) {
            (Op::UntypedVariableKHR, None) => self.types.lookup(inst.arg(1)?)?,
            (Op::Variable, Some(ty)) => ty,
            _ => return Err(operand("the variable and its pointer type differ in being typed")),
        };
        Ok((class, ty))
    }
}

/// The indices of the module-scope variables that `ids` mentions.
pub(crate) fn variables(spv: &Spv<'_>, ids: &FxHashSet<Id>) -> Vec<usize> {
    let is_wanted = |i: &&usize| {
        let inst = &spv.insts[**i];
        matches!(inst.op, Op::Variable | Op::UntypedVariableKHR) && ids.contains(&inst.id)
    };
    spv.globals.iter().filter(is_wanted).copied().collect()
}

impl Cx<'_> {
    /// Declares the module-scope variables that `ids` mentions.
    pub(crate) fn declare_variables(&mut self, ids: &FxHashSet<Id>) -> Res<()> {
        let spv = self.spv;
        let variables = variables(spv, ids);
        self.place_shared(&variables)?;
        self.declare_bindings(&variables)?;
        for &i in &variables {
            self.begin(i);
            self.declare_variable(&spv.insts[i]).map_err(|fault| spv.locate(fault, i))?;
        }
        Ok(())
    }

    fn initializer(inst: &Inst<'_>) -> Option<Id> {
        inst.args.get(if inst.op == Op::Variable { 1 } else { 2 }).copied()
    }

    fn declare_variable(&mut self, inst: &Inst<'_>) -> Res<()> {
        let (class, ty) = self.layout().variable(inst)?;
        let pointer = match class {
            StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::UniformConstant => {
                self.buffer(inst, class, ty)?
            }
            StorageClass::PushConstant => self.push_constants(ty)?,
            StorageClass::Workgroup => {
                let (offset, bytes) = self.shared.get(&inst.id).copied().unwrap_or((0, 0));
                let ty_ptr = ir::Type::Ptr(Space::Shared);
                let base = self.invariant(IrOp::SharedPtr { offset, bytes }, &[], ty_ptr);
                self.memory_pointer(base, ty, false)?
            }
            StorageClass::Private => self.private(inst, ty)?,
            StorageClass::Input => {
                let number = self.spv.decor.literal(inst.id, Decoration::BuiltIn).ok_or_else(|| {
                    invalid(code::DECORATION, "an Input variable of a compute shader must be a built-in")
                })?;
                let input = builtins::input(self, number)?;
                Pointer::Input(InputPtr { input, component: None, ty })
            }
            other => return Err(unsupported(code::OPERAND, format!("storage class {other:?}"))),
        };
        let result = self.result_ty(inst)?;
        let pointer = match (inst.op, pointer) {
            (Op::UntypedVariableKHR, Pointer::Memory(mut p)) => {
                p.ty = None;
                Pointer::Memory(p)
            }
            (_, p) => p,
        };
        self.bind_everywhere(inst.id, result, Val::ptr(pointer));
        Ok(())
    }

    // ── buffers ──

    /// Declares the bindings, in order of set and number. Variables may share one: views of the same
    /// buffer as different types.
    fn declare_bindings(&mut self, variables: &[usize]) -> Res<()> {
        let spv = self.spv;
        for &i in variables {
            let inst = &spv.insts[i];
            let (class, ty) = self.layout().variable(inst).map_err(|f| spv.locate(f, i))?;
            use StorageClass as C;
            if matches!(class, C::StorageBuffer | C::Uniform | C::UniformConstant) {
                self.declare_binding(inst, class, ty).map_err(|f| spv.locate(f, i))?;
            }
        }
        self.module.bindings.sort_by_key(|b| (b.set, b.binding, b.kind != BindingKind::Storage));
        Ok(())
    }

    fn declare_binding(&mut self, inst: &Inst<'_>, class: StorageClass, ty: Ty) -> Res<()> {
        let (new, _) = self.layout().binding(inst.id, class, ty)?;
        let known = |b: &&mut BindingInfo| (b.set, b.binding, b.kind) == (new.set, new.binding, new.kind);
        match self.module.bindings.iter_mut().find(known) {
            Some(b) => {
                b.writable |= new.writable;
                b.count = b.count.zip(new.count).map(|(a, b)| a.max(b));
            }
            None => self.module.bindings.push(new),
        }
        Ok(())
    }

    fn buffer(&mut self, inst: &Inst<'_>, class: StorageClass, ty: Ty) -> Res<Pointer> {
        let (own, _) = self.layout().binding(inst.id, class, ty)?;
        let is_own = |b: &BindingInfo| (b.set, b.binding, b.kind) == (own.set, own.binding, own.kind);
        let at = self.module.bindings.iter().position(is_own);
        let at = at.ok_or_else(|| crate::diag::bug("a buffer has no binding"))?;
        let decor = &self.spv.decor;
        let volatile = decor.has(inst.id, Decoration::Volatile) || decor.has(inst.id, Decoration::Coherent);
        let p = DescriptorPtr { binding: Binding::new(at), index: Index::ZERO, ty, volatile, sampler: None };
        Ok(self.descriptor(p))
    }

    fn push_constants(&mut self, ty: Ty) -> Res<Pointer> {
        let bytes = self.layout().size(ty, Spread::default())?;
        let limit = self.options.limits.push_bytes;
        let bytes = u32::try_from(bytes).ok().filter(|b| *b <= limit).ok_or_else(|| {
            invalid(code::LIMIT, format!("{bytes} bytes of push constants; at most {limit} are supported"))
        })?;
        self.module.push_bytes = self.module.push_bytes.max(bytes);
        let base = self.invariant(IrOp::PushPtr, &[], ir::Type::Ptr(Space::Push));
        self.memory_pointer(base, ty, false)
    }

    // ── shared memory ──

    /// Gives each *Workgroup* variable its place. Blocks with explicit layout that are *Aliased* lie over
    /// each other (SPV_KHR_workgroup_memory_explicit_layout); the others get room of their own.
    fn place_shared(&mut self, variables: &[usize]) -> Res<()> {
        let spv = self.spv;
        let mut shared = Vec::new();
        for &i in variables {
            let (class, ty) = self.layout().variable(&spv.insts[i]).map_err(|f| spv.locate(f, i))?;
            if class == StorageClass::Workgroup {
                let (id, decor) = (spv.insts[i].id, &spv.decor);
                let aliased = decor.has(id, Decoration::Aliased) && decor.has(ty.id(), Decoration::Block);
                shared.push((!aliased, i, ty));
            }
        }
        // What lies over each other comes first, since it lies at the start.
        shared.sort_by_key(|s| (s.0, s.1));
        let (mut end, mut cleared) = (0_i64, Vec::new());
        for (separate, i, ty) in shared {
            let inst = &spv.insts[i];
            let bytes = self.layout().size(ty, Spread::default()).map_err(|f| spv.locate(f, i))?;
            let bytes = (bytes + 3) & !3;
            let offset = if separate { end } else { 0 };
            end = end.max(offset + bytes);
            if end > i64::from(self.options.limits.shared_bytes) {
                return Err(spv.locate(self.too_much_shared(end), i));
            }
            end = (end + SHARED_ALIGN - 1) & !(SHARED_ALIGN - 1);
            let (offset, bytes) = (offset as u32, bytes as u32);
            self.shared.insert(inst.id, (offset, bytes));
            if let Some(init) = Self::initializer(inst) {
                if !matches!(self.globals.constant(init)?.1, Val::Zero | Val::Const(_, 0)) {
                    let m = "a Workgroup variable may only be initialised by OpConstantNull";
                    return Err(spv.locate(operand(m), i));
                }
                cleared.push(Cleared { offset, bytes });
            }
        }
        self.module.shared_bytes = end as u32;
        self.clear_shared(&cleared)
    }

    fn too_much_shared(&self, bytes: i64) -> crate::diag::Fault {
        let limit = self.options.limits.shared_bytes;
        invalid(code::LIMIT, format!("{bytes} bytes of Workgroup memory; at most {limit} are supported"))
    }

    /// Clears memory with all invocations, then waits. Only *OpConstantNull* may initialise it.
    fn clear_shared(&mut self, cleared: &[Cleared]) -> Res<()> {
        for c in cleared {
            let shared = ir::Type::Ptr(Space::Shared);
            let op = IrOp::SharedPtr { offset: c.offset, bytes: c.bytes };
            let base = self.invariant(op, &[], shared);
            let zero = self.i32(0);
            let first = self.builtin(ir::Builtin::LocalInvocationIndex);
            let step = self.module.workgroup_invocations();
            self.count_from(first, c.bytes / 4, step, |cx, i| {
                let p = cx.b().ptr_add(base, Some(i), 4, 0);
                cx.b().effect(IrOp::Store(MemFlags::default()), &[p, zero]);
                Ok(())
            })?;
        }
        if !cleared.is_empty() {
            let barrier = Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup };
            self.b().effect(IrOp::Barrier(barrier), &[]);
        }
        Ok(())
    }

    // ── private variables ──

    fn private(&mut self, inst: &Inst<'_>, ty: Ty) -> Res<Pointer> {
        let p = self.local_variable(inst.id, ty)?;
        if let Some(init) = Self::initializer(inst) {
            let (found, val) = self.val(init)?;
            self.initialize(&p, found, &val)?;
        }
        Ok(p)
    }
}
