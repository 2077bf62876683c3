//! Functions, calls inlined; and the arguments of the entry point.
//!
//! An argument that is a memref is the buffer at set 0 with the argument's number, unless
//! `#spirv.interface_var_abi<(set, binding)>` says another place. All other numbers are push constants, in the order of
//! the arguments, each aligned to its size: scalars and vectors; of a memref the extents, strides and offset that its
//! type leaves open, as `i64`, in this order. Only the outermost extent is not among them if all strides are known: it
//! is as large as the buffer allows.

use std::rc::Rc;

use phalanx_ir::{
    BinaryOp as B, BindingInfo, BindingKind, MemFlags, Op as IrOp, Space, Type as IrType, Value,
};

use super::cx::{Cx, Exit};
use super::symbols::{self, Symbols};
use super::types::{self, MemSpace};
use super::value::{Base, Idx, Memory, Val, Values};
use super::{BufferInfo, PushInfo, attr, dispatch, memref, place};
use crate::ast::{Attr, Layout, MemRef, Op, Region, Type, ValueId};
use crate::error::{Res, at, invalid, unsupported};

impl<'a> Cx<'a> {
    /// Translates the entry point.
    pub(super) fn entry(&mut self, name: &str, op: &'a Op) -> Res<()> {
        let args = self.interface(op).map_err(|fault| at(fault, op.pos, &op.name))?;
        self.calls.push(name.to_owned());
        self.function(op, args).map_err(|fault| at(fault, op.pos, &op.name))?;
        self.b().effect(IrOp::Return, &[]);
        Ok(())
    }

    /// What the arguments of the entry point are.
    pub(super) fn interface(&mut self, op: &'a Op) -> Res<Vec<Val>> {
        let (inputs, results) =
            symbols::function_type(op).ok_or_else(|| invalid("expected the attribute `function_type`"))?;
        if !results.is_empty() {
            return Err(invalid("an entry point that gives results"));
        }
        let mut args = Vec::with_capacity(inputs.len());
        for (i, ty) in inputs.iter().enumerate() {
            args.push(match ty {
                Type::MemRef(memref) => {
                    let (set, binding) = place(op, i)?;
                    let val = self.buffer(memref, (set, binding), &self.argument(op, i));
                    val.map_err(|mut fault| {
                        fault.message = format!("argument {i}: {}", fault.message);
                        fault
                    })?
                }
                ty => Val::Scalars(self.pushed(ty, self.argument(op, i))?),
            });
        }
        Ok(args)
    }

    /// The name of an argument.
    fn argument(&self, op: &Op, i: usize) -> String {
        let id =
            op.regions.first().and_then(|region| region.blocks.first()).and_then(|block| block.args.get(i));
        let value = id.and_then(|id| self.ast.values.get(id.0 as usize));
        value.map_or_else(|| format!("arg{i}"), |value| value.name.to_string())
    }

    /// A scalar or a vector of the push constants.
    fn pushed(&mut self, ty: &Type, name: String) -> Res<Values> {
        let (count, scalar) = types::scalars(ty)?;
        let stored = types::in_memory(scalar);
        let at = self.module.push_bytes.next_multiple_of(stored.bytes());
        let end = u64::from(at) + count as u64 * u64::from(stored.bytes());
        let limit = self.options.limits.push_bytes;
        if end > u64::from(limit) {
            return Err(unsupported(format!("{end} bytes of push constants: at most {limit}")));
        }
        self.module.push_bytes = end as u32;
        let (offset, signed) = (at, types::is_signed(ty));
        self.pushes.push(PushInfo { name, offset, scalar: stored, signed, count: count as u32 });
        let pointer = self.b().value(IrOp::PushPtr, &[], IrType::Ptr(Space::Push));
        let pointer = self.b().ptr_add(pointer, None, 1, i64::from(at));
        let loaded =
            self.b().values(IrOp::Load(MemFlags::default()), &[pointer], &vec![stored.into(); count]);
        Ok(loaded.iter().map(|&value| place::from_memory(self, value, scalar)).collect())
    }

    /// The buffer that a memref argument is.
    fn buffer(&mut self, memref: &MemRef, (set, binding): (u32, u32), name: &str) -> Res<Val> {
        if MemSpace::of(memref.space.as_ref())? != MemSpace::Buffer {
            return Err(unsupported("a memref that is not in a buffer"));
        }
        let (lanes, elem) = types::scalars(&memref.elem)?;
        let (sizes, strides, offset) = place::numbers(memref)?;
        if self.module.bindings.iter().any(|b| (b.set, b.binding) == (set, binding)) {
            return Err(invalid(format!("several arguments are at set {set}, binding {binding}")));
        }
        let index = phalanx_ir::Binding::new(self.module.bindings.len());
        self.module.bindings.push(BindingInfo {
            set,
            binding,
            count: Some(1),
            kind: BindingKind::Storage,
            writable: true,
            name: name.to_owned(),
        });
        let zero = self.b().i32(0);
        let base = self.b().value(IrOp::BufferPtr(index), &[zero], IrType::Ptr(Space::Buffer));
        let derived = sizes.first().is_some_and(Option::is_none)
            && strides.iter().all(Option::is_some)
            && offset.is_some();
        let info = BufferInfo {
            set,
            binding,
            name: name.to_owned(),
            scalar: types::in_memory(elem),
            signed: types::is_signed(&memref.elem),
            elements: span(&sizes, &strides, offset).and_then(|n| n.checked_mul(lanes as u64)),
        };
        self.buffers.push(info);
        let mut open = |n: Option<i64>, what: String| -> Res<Idx> {
            match n {
                Some(n) => Ok(Idx::Const(n)),
                None => Ok(Idx::Dyn(self.pushed(&Type::Index, format!("{name}.{what}"))?[0])),
            }
        };
        let mut extents = Vec::with_capacity(sizes.len());
        for (i, &size) in sizes.iter().enumerate() {
            extents.push(if i == 0 && derived { Idx::Const(0) } else { open(size, format!("size{i}"))? });
        }
        let strides = match memref.layout {
            // Rows follow each other, however long they are.
            Layout::Identity => None,
            _ => {
                let strides = strides.into_iter().enumerate();
                Some(strides.map(|(i, n)| open(n, format!("stride{i}"))).collect::<Res<Vec<_>>>()?)
            }
        };
        let offset = open(offset, "offset".to_owned())?;
        let strides = strides.unwrap_or_else(|| place::packed(self, &extents));
        let mut memory =
            Memory { base: Base::Pointer(base), elem, lanes: lanes as u32, offset, sizes: extents, strides };
        if derived {
            memory.sizes[0] = self.outermost(base, &memory);
        }
        Ok(Val::Memory(Rc::new(memory)))
    }

    /// How often the outermost stride fits into the buffer behind the offset.
    fn outermost(&mut self, base: Value, memory: &Memory) -> Idx {
        let unit = i64::from(types::in_memory(memory.elem).bytes()) * i64::from(memory.lanes);
        let known = |idx: Idx| idx.known().unwrap_or(0).wrapping_mul(unit);
        let first = match known(memory.offset) {
            0 => base,
            offset => self.b().ptr_add(base, None, 1, offset),
        };
        let bytes = self.b().value(IrOp::PtrBytesLeft, &[first], IrType::I64);
        // Rows may lie further apart than they are long: the last one need not fill its stride.
        let stride = known(memory.strides[0]);
        let row = memory.sizes[1..].iter().zip(&memory.strides[1..]).fold(unit, |end, (&size, &stride)| {
            end.wrapping_add(known(stride).wrapping_mul(size.known().unwrap_or(1).wrapping_sub(1)))
        });
        let gap = self.b().i64(stride.wrapping_sub(row).max(0));
        let bytes = self.b().binary(B::Iadd, bytes, gap);
        let stride = self.b().i64(stride);
        Idx::Dyn(self.b().binary(B::Udiv, bytes, stride))
    }

    /// A function's code with its arguments; what it returns.
    pub(super) fn function(&mut self, op: &'a Op, mut args: Vec<Val>) -> Res<Vec<Val>> {
        let (_, results) =
            symbols::function_type(op).ok_or_else(|| invalid("expected the attribute `function_type`"))?;
        let Some(region) = op.regions.first().filter(|region| !region.blocks.is_empty()) else {
            return Err(unsupported("a function without a body"));
        };
        self.attributions(op, region, &mut args)?;
        let mark = self.enter();
        let returned = self.deeper(|cx| cx.graph(region, args, results))?;
        self.leave(mark);
        Ok(returned)
    }

    /// Adds memory that a `gpu.func` declares: shared, then private.
    fn attributions(&mut self, op: &'a Op, region: &'a Region, args: &mut Vec<Val>) -> Res<()> {
        if &*op.name != "gpu.func" {
            return Ok(());
        }
        let shared = attr::optional_int(op, "workgroup_attributions")?.unwrap_or(0);
        let params = &region.blocks[0].args;
        let shared = args.len().saturating_add(usize::try_from(shared).unwrap_or(0));
        for (i, &id) in params.iter().enumerate().skip(args.len()) {
            let Type::MemRef(memref) = self.ty(id)? else {
                return Err(invalid("memory that a function declares: expected a memref"));
            };
            let space = if i < shared { MemSpace::Shared } else { MemSpace::Private };
            args.push(memref::allocate(self, memref, &[], space)?);
        }
        Ok(())
    }

    /// A region whose code ends with a return: one block, or a graph of them.
    pub(super) fn graph(&mut self, region: &'a Region, args: Vec<Val>, results: &'a [Type]) -> Res<Vec<Val>> {
        if let [block] = &region.blocks[..] {
            self.parameters(&block.args, args)?;
            let end = self.block_ops(&block.ops)?;
            return self.at(end, |cx| {
                if !returns(end) {
                    return Err(unsupported(format!("{} at the end of a function", end.name)));
                }
                cx.handed_over(end, results.len())
            });
        }
        let results = results.iter().map(|ty| self.slots(ty)).collect::<Res<Vec<_>>>()?;
        let (label, body) = (self.func.new_label(), self.func.new_block());
        self.b().effect(IrOp::Block { label, body }, &[]);
        self.exits.push(Exit { label, results: results.clone() });
        let done = self.within(body, |cx| cx.blocks(region, args));
        self.exits.pop();
        done?;
        Ok(results.iter().map(|slots| self.load(slots)).collect())
    }

    /// All that a terminator hands over.
    pub(super) fn handed_over(&mut self, op: &'a Op, expected: usize) -> Res<Vec<Val>> {
        if op.operands.len() != expected {
            let found = op.operands.len();
            return Err(invalid(format!("hands over {found} values, expected {expected}")));
        }
        op.operands.iter().map(|&id| self.val(id)).collect()
    }

    /// Says what the arguments of a block are.
    pub(super) fn parameters(&mut self, params: &[ValueId], args: Vec<Val>) -> Res<()> {
        if params.len() != args.len() {
            let (found, expected) = (params.len(), args.len());
            return Err(invalid(format!("a block with {found} arguments, expected {expected}")));
        }
        params.iter().zip(args).try_for_each(|(&id, val)| self.bind(id, val))
    }

    /// Translates the operations of a block up to its last one, which is left to the caller.
    pub(super) fn block_ops(&mut self, ops: &'a [Op]) -> Res<&'a Op> {
        let Some((last, ops)) = ops.split_last() else { return Err(invalid("a block without a terminator")) };
        for op in ops {
            self.at(op, |cx| dispatch(cx, op))?;
        }
        Ok(last)
    }

    /// `func.call`.
    pub(super) fn call(&mut self, op: &'a Op) -> Res<()> {
        let name = attr::symbol(op, "callee")?;
        let from = self.calls.last().cloned().unwrap_or_default();
        let Some((name, &callee)) = Symbols::resolve(&self.symbols.functions, &from, &name) else {
            return Err(invalid(format!("there is no function @{name}")));
        };
        if self.calls.iter().any(|outer| outer == name) {
            return Err(unsupported(format!("@{name} calls itself")));
        }
        let args = op.operands.iter().map(|&id| self.val(id)).collect::<Res<Vec<_>>>()?;
        self.calls.push(name.to_owned());
        let results = self.function(callee, args).map_err(|fault| at(fault, callee.pos, &callee.name))?;
        self.calls.pop();
        self.define(op, results)
    }
}

/// Whether a terminator returns from a function.
pub(super) fn returns(op: &Op) -> bool {
    matches!(&*op.name, "func.return" | "gpu.return")
}

/// How many elements there are from the start of the buffer to the end of the last one, if a type says so.
fn span(sizes: &[Option<i64>], strides: &[Option<i64>], offset: Option<i64>) -> Option<u64> {
    let mut end = offset?.checked_add(1)?;
    for (&size, &stride) in sizes.iter().zip(strides) {
        end = end.checked_add(size?.checked_sub(1)?.checked_mul(stride?)?)?;
    }
    u64::try_from(end).ok()
}

/// Set and binding of an argument.
fn place(op: &Op, i: usize) -> Res<(u32, u32)> {
    let attrs = match attr::get(op, "arg_attrs") {
        Some(Attr::Array(args)) => args.get(i),
        _ => None,
    };
    let Some(Attr::Dict(attrs)) = attrs else { return Ok((0, i as u32)) };
    let Some(Attr::Dialect(text)) = attr::find(attrs, "spirv.interface_var_abi") else {
        return Ok((0, i as u32));
    };
    let numbers = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let mut numbers = numbers.map_or("", |(list, _)| list).split(',').map(|n| n.trim().parse().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(set), Some(binding)) => Ok((set, binding)),
        _ => Err(invalid(format!("#{text}: expected `(set, binding)`"))),
    }
}
