//! Pointers, and memory outside of the invocation.
//!
//! Addressing is logical, so a pointer of IR has no counterpart: it is followed to where it comes from, and is a sum of
//! multiples of values from there on. An access makes an index of it, which counts elements of the type accessed. For
//! each binding there is a variable for each such type, an array without end in a block; they are *Aliased*.
//!
//! Shared memory is one array for each type. If there is only one it is a plain array; else the arrays are blocks with an
//! explicit layout, at the same place. Objects in it have bounds: an access outside of one is sent to an element behind
//! all of them, and what is read there is replaced by zero.

use phalanx_ir::{
    AtomicOp, BinaryOp as B, Binding, BindingKind, Function, InstInfo, MemFlags, Op as IrOp, Scalar, Space,
    Type, Value,
};
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{self, Capability, Decoration, MemoryAccess, Op, StorageClass, Word};
use smallvec::SmallVec;

use crate::emit::id;
use crate::error::{Error, Res};
use crate::lower::{Lower, Val};

/// A pointer: the bytes `disp`, and each value of `terms` times its scale, behind the root.
#[derive(Clone, Debug)]
pub(crate) struct Ptr {
    root: Root,
    terms: SmallVec<[Term; 2]>,
    disp: i64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Root {
    Buffer(Binding),
    Push,
    /// An object of `bytes` bytes in shared memory, whose first byte is a constant or a value of 32 bits.
    Shared {
        start: Word,
        bytes: u32,
    },
}

#[derive(Clone, Copy, Debug)]
struct Term {
    value: Word,
    /// Whether it has 64 bits, and not 32.
    is_wide: bool,
    scale: i64,
}

/// Memory as elements of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Buffer(Binding, Scalar),
    Shared(Scalar),
    Push,
}

/// An element in memory.
struct Element {
    pointer: Word,
    /// Whether it is in its object, where that is not known.
    inside: Option<Word>,
}

impl Ptr {
    /// Whether its offset in units of so many bytes is computed in 64 bits: where a part of it has them, or is a constant
    /// that needs them; and where what wraps in 32 bits might come back into an object whose bounds are kept here.
    pub(crate) fn is_wide(&self, unit: u32) -> bool {
        let is_long = |number: i64| i32::try_from(number).is_err();
        let is_kept = !matches!(self.root, Root::Buffer(_));
        let wraps = self.terms.len() > 1 || self.terms.iter().any(|term| term.scale != unit.into());
        is_long(self.disp)
            || self.terms.iter().any(|term| term.is_wide || is_long(term.scale))
            || (is_kept && wraps)
    }
}

impl Lower<'_> {
    pub(crate) fn memory(&mut self, info: &InstInfo) -> Res<()> {
        let root = |root| Val::Ptr(Ptr { root, terms: SmallVec::new(), disp: 0 });
        match &info.op {
            IrOp::BufferPtr(binding) => {
                self.single(*binding)?;
                self.set(info.results[0], root(Root::Buffer(*binding)));
            }
            IrOp::PushPtr => self.set(info.results[0], root(Root::Push)),
            IrOp::SharedPtr { offset, bytes } => {
                let start = self.shared_start(*offset, *bytes, info.args.first().copied())?;
                self.set(info.results[0], root(Root::Shared { start, bytes: *bytes }));
            }
            IrOp::PtrAdd { scale, disp } => {
                let mut ptr = self.pointer(info.args[0])?;
                ptr.disp = ptr.disp.wrapping_add(*disp);
                if let Some(&index) = info.args.get(1) {
                    let is_wide = self.elem(index)? == Scalar::I64;
                    match self.func.const_bits(index) {
                        Some(bits) if is_wide => {
                            ptr.disp = ptr.disp.wrapping_add((bits as i64).wrapping_mul(*scale))
                        }
                        Some(bits) => {
                            let index = i64::from(bits as u32 as i32);
                            ptr.disp = ptr.disp.wrapping_add(index.wrapping_mul(*scale));
                        }
                        None => ptr.terms.push(Term { value: self.word(index)?, is_wide, scale: *scale }),
                    }
                }
                self.set(info.results[0], Val::Ptr(ptr));
            }
            IrOp::PtrBytesLeft => {
                let ptr = self.pointer(info.args[0])?;
                let left = self.bytes_left(&ptr)?;
                self.set(info.results[0], Val::Word(left));
            }
            IrOp::PtrDiff => {
                let (p, q) = (self.pointer(info.args[0])?, self.pointer(info.args[1])?);
                if p.root != q.root {
                    return Err(Error::unsupported("the difference of pointers into different objects"));
                }
                let (p, q) = (self.offset(&p, 1, true), self.offset(&q, 1, true));
                let difference = self.e.integer(B::Isub, Scalar::I64, p, q);
                self.set(info.results[0], Val::Word(difference));
            }
            IrOp::Load(flags) => self.load(info, *flags)?,
            IrOp::Store(flags) => self.store(info, *flags)?,
            IrOp::Atomic(op) => self.atomic(info, *op)?,
            _ => return Err(Error::bug("no operation on memory")),
        }
        Ok(())
    }

    /// Where an object of shared memory begins, in bytes.
    fn shared_start(&mut self, offset: u32, bytes: u32, part: Option<Value>) -> Res<Word> {
        let Some(part) = part else { return Ok(self.e.int(offset)) };
        let part = self.word(part)?;
        // One that would not end in shared memory is the last that does.
        let parts = (self.module.shared_bytes.saturating_sub(offset) / bytes.max(1)).max(1);
        let last = self.e.int(parts - 1);
        let (bool, int) = (self.e.bool(), self.e.u32());
        let is_there = self.e.value(Op::ULessThan, bool, &[part, last]);
        let part = self.e.select(int, is_there, part, last);
        let distance = self.e.integer_with(B::Imul, part, bytes);
        Ok(self.e.integer_with(B::Iadd, distance, offset))
    }

    // ── offsets ──

    /// How many `unit`s a pointer is behind its root, rounded down; in 64 bits if `is_wide` or if a part of it is.
    pub(crate) fn offset(&mut self, ptr: &Ptr, unit: u32, is_wide: bool) -> Word {
        let is_wide = is_wide || ptr.is_wide(unit);
        let s = if is_wide { Scalar::I64 } else { Scalar::I32 };
        let by = i64::from(unit);
        let is_even = ptr.disp % by == 0 && ptr.terms.iter().all(|term| term.scale % by == 0);
        let divisor = if is_even { by } else { 1 };
        let mut sum = self.e.constant(s, (ptr.disp / divisor) as u64);
        for term in &ptr.terms {
            let value = match (is_wide, term.is_wide) {
                (true, false) => {
                    let long = self.e.scalar(Scalar::I64);
                    self.e.value(Op::SConvert, long, &[term.value])
                }
                _ => term.value,
            };
            let scale = self.e.constant(s, (term.scale / divisor) as u64);
            let product = self.e.integer(B::Imul, s, value, scale);
            sum = self.e.integer(B::Iadd, s, product, sum);
        }
        if is_even || unit == 1 {
            return sum;
        }
        let shift = self.e.constant(s, unit.trailing_zeros().into());
        self.e.integer(B::Ashr, s, sum, shift)
    }

    /// The pointer some bytes further on.
    fn further(ptr: &Ptr, bytes: u32) -> Ptr {
        Ptr { disp: ptr.disp.wrapping_add(bytes.into()), ..ptr.clone() }
    }

    fn bytes_left(&mut self, ptr: &Ptr) -> Res<Word> {
        let Root::Buffer(binding) = ptr.root else {
            return Err(Error::unsupported("the size of memory that is no buffer"));
        };
        if self.module.binding(binding).kind != BindingKind::Storage {
            return Err(Error::unsupported("the size of a uniform buffer"));
        }
        // The length in elements of the type that the buffer is accessed by, so that no other variable is needed.
        let known = self.places.iter().find_map(|(place, _)| match place {
            Place::Buffer(other, elem) if *other == binding => Some(*elem),
            _ => None,
        });
        let elem = known.or_else(|| self.elem_of(binding)).unwrap_or(Scalar::I32);
        let variable = self.place(Place::Buffer(binding, elem));
        let (int, long, bool) = (self.e.u32(), self.e.scalar(Scalar::I64), self.e.bool());
        let operands = vec![id(variable), Operand::LiteralBit32(0)];
        let length = self.e.result(Op::ArrayLength, int, operands);
        let length = self.e.value(Op::UConvert, long, &[length]);
        let size = self.e.constant(Scalar::I64, elem.bytes().into());
        let bytes = self.e.integer(B::Imul, Scalar::I64, length, size);
        let offset = self.offset(ptr, 1, true);
        let zero = self.e.constant(Scalar::I64, 0);
        if offset == zero {
            return Ok(bytes);
        }
        // Without a sign, so that what is before the buffer is outside as well.
        let is_inside = self.e.value(Op::ULessThan, bool, &[offset, bytes]);
        let left = self.e.integer(B::Isub, Scalar::I64, bytes, offset);
        Ok(self.e.select(long, is_inside, left, zero))
    }

    /// The type of some access to a buffer, wherever it is.
    fn elem_of(&self, binding: Binding) -> Option<Scalar> {
        let root = |mut v: Value| loop {
            let def = self.func.def(v);
            match def.op {
                IrOp::PtrAdd { .. } => v = def.args[0],
                IrOp::BufferPtr(found) => return found == binding,
                _ => return false,
            }
        };
        self.func.insts.iter().find_map(|info| {
            let value = match info.op {
                IrOp::Load(_) | IrOp::MatLoad { .. } => info.results.first(),
                IrOp::Store(_) | IrOp::MatStore { .. } | IrOp::Atomic(_) => info.args.get(1),
                _ => None,
            };
            let elem = self.func.ty(*value?).elem()?;
            root(info.args[0]).then_some(elem)
        })
    }

    // ── accesses ──

    /// The flags of accesses: what other invocations may see is not private, so that barriers concern it.
    pub(crate) fn access(&self, flags: MemFlags) -> MemoryAccess {
        let mut access = MemoryAccess::NONE;
        if flags.volatile {
            access |= MemoryAccess::VOLATILE;
        }
        if flags.nontemporal {
            access |= MemoryAccess::NONTEMPORAL;
        }
        if self.is_shared || flags.volatile {
            access |= MemoryAccess::NON_PRIVATE_POINTER;
        }
        access
    }

    /// The pointer of SPIR-V to elements of a type, for an access of a whole matrix.
    pub(crate) fn elements(&mut self, ptr: &Ptr, elem: Scalar) -> Res<Word> {
        match ptr.root {
            Root::Push => Err(Error::unsupported("a matrix in push constants")),
            Root::Buffer(binding) => {
                let index = self.offset(ptr, elem.bytes(), false);
                Ok(self.at(Place::Buffer(binding, elem), index))
            }
            Root::Shared { start, .. } => {
                let index = self.offset(ptr, elem.bytes(), false);
                let (index, s) = self.behind(ptr, index, start, elem);
                debug_assert!(s.is_int());
                Ok(self.at(Place::Shared(elem), index))
            }
        }
    }

    /// The index in shared memory of an index in an object, and its type.
    fn behind(&mut self, ptr: &Ptr, index: Word, start: Word, elem: Scalar) -> (Word, Scalar) {
        let is_wide = ptr.is_wide(elem.bytes());
        let s = if is_wide { Scalar::I64 } else { Scalar::I32 };
        let shift = elem.bytes().trailing_zeros();
        let mut start = self.e.integer_with(B::Lshr, start, shift);
        if is_wide {
            start = match self.e.bits(start) {
                Some(bits) => self.e.constant(Scalar::I64, bits),
                None => {
                    let long = self.e.scalar(Scalar::I64);
                    self.e.value(Op::UConvert, long, &[start])
                }
            };
        }
        (self.e.integer(B::Iadd, s, index, start), s)
    }

    /// A scalar in a buffer or in shared memory; none if it is known to be outside of its object.
    fn element(&mut self, ptr: &Ptr, elem: Scalar) -> Res<Option<Element>> {
        let (start, bytes) = match ptr.root {
            Root::Push => return Err(Error::bug("push constants have no elements")),
            Root::Buffer(_) => {
                return Ok(Some(Element { pointer: self.elements(ptr, elem)?, inside: None }));
            }
            Root::Shared { start, bytes } => (start, bytes),
        };
        let index = self.offset(ptr, elem.bytes(), false);
        let (sum, s) = self.behind(ptr, index, start, elem);
        let count = bytes / elem.bytes();
        if let Some(known) = self.e.bits(index) {
            let pointer = (known < count.into()).then(|| self.at(Place::Shared(elem), sum));
            return Ok(pointer.map(|pointer| Element { pointer, inside: None }));
        }
        let (bool, ty) = (self.e.bool(), self.e.scalar(s));
        let count = self.e.constant(s, count.into());
        let inside = self.e.value(Op::ULessThan, bool, &[index, count]);
        let behind_all = self.e.constant(s, (self.module.shared_bytes / elem.bytes()).into());
        let index = self.e.select(ty, inside, sum, behind_all);
        Ok(Some(Element { pointer: self.at(Place::Shared(elem), index), inside: Some(inside) }))
    }

    fn load(&mut self, info: &InstInfo, flags: MemFlags) -> Res<()> {
        let ptr = self.pointer(info.args[0])?;
        let access = self.access(flags);
        for (i, &result) in info.results.iter().enumerate() {
            let s = self.elem(result)?;
            let ptr = Self::further(&ptr, i as u32 * s.bytes());
            let value = if ptr.root == Root::Push {
                self.push_constant(&ptr, s)?
            } else {
                let (ty, zero) = (self.e.scalar(s), self.e.constant(s, 0));
                match self.element(&ptr, s)? {
                    None => zero,
                    Some(Element { pointer, inside }) => {
                        let loaded = self.e.load(ty, pointer, access);
                        inside.map_or(loaded, |inside| self.e.select(ty, inside, loaded, zero))
                    }
                }
            };
            self.set(result, Val::Word(value));
        }
        Ok(())
    }

    fn store(&mut self, info: &InstInfo, flags: MemFlags) -> Res<()> {
        let ptr = self.pointer(info.args[0])?;
        let access = self.access(flags);
        for (i, &value) in info.args[1..].iter().enumerate() {
            let s = self.elem(value)?;
            let value = self.word(value)?;
            if let Some(element) = self.element(&Self::further(&ptr, i as u32 * s.bytes()), s)? {
                self.e.store(element.pointer, value, access);
            }
        }
        Ok(())
    }

    // ── atomic operations ──

    fn atomic(&mut self, info: &InstInfo, op: AtomicOp) -> Res<()> {
        let ptr = self.pointer(info.args[0])?;
        let value = info.results.first().or(info.args.get(1)).copied();
        let s = self.elem(value.ok_or_else(|| Error::bug("an atomic operation on nothing"))?)?;
        let zero = self.e.constant(s, 0);
        let Some(element) = self.element(&ptr, s)? else {
            info.results.iter().for_each(|&result| self.set(result, Val::Word(zero)));
            return Ok(());
        };
        let class = if matches!(ptr.root, Root::Shared { .. }) { Place::Shared(s) } else { Place::Push };
        let scope = match class {
            Place::Shared(_) => spirv::Scope::Workgroup,
            _ => spirv::Scope::QueueFamily,
        };
        let (scope, relaxed) = (self.e.int(scope as u32), self.e.int(0));
        let mut args = vec![element.pointer, scope, relaxed];
        if op == AtomicOp::CompareExchange {
            args.push(relaxed);
        }
        args.extend(self.words(&info.args[1..])?);
        self.atomic_capability(op, s)?;
        let opcode = match op {
            AtomicOp::Load => Op::AtomicLoad,
            AtomicOp::Store => Op::AtomicStore,
            AtomicOp::Exchange => Op::AtomicExchange,
            AtomicOp::CompareExchange => Op::AtomicCompareExchange,
            AtomicOp::Iadd => Op::AtomicIAdd,
            AtomicOp::Isub => Op::AtomicISub,
            AtomicOp::Smin => Op::AtomicSMin,
            AtomicOp::Smax => Op::AtomicSMax,
            AtomicOp::Umin => Op::AtomicUMin,
            AtomicOp::Umax => Op::AtomicUMax,
            AtomicOp::And => Op::AtomicAnd,
            AtomicOp::Or => Op::AtomicOr,
            AtomicOp::Xor => Op::AtomicXor,
            AtomicOp::Fadd => Op::AtomicFAddEXT,
            AtomicOp::Fmin => Op::AtomicFMinEXT,
            AtomicOp::Fmax => Op::AtomicFMaxEXT,
        };
        if op == AtomicOp::Store {
            self.e.effect(opcode, args.into_iter().map(id).collect());
            return Ok(());
        }
        let ty = self.e.scalar(s);
        let mut old = self.e.value(opcode, ty, &args);
        if let Some(inside) = element.inside {
            old = self.e.select(ty, inside, old, zero);
        }
        info.results.iter().for_each(|&result| self.set(result, Val::Word(old)));
        Ok(())
    }

    fn atomic_capability(&mut self, op: AtomicOp, s: Scalar) -> Res<()> {
        let capability = match (op, s) {
            (AtomicOp::Fadd, Scalar::F16) => Capability::AtomicFloat16AddEXT,
            (AtomicOp::Fadd, Scalar::F32) => Capability::AtomicFloat32AddEXT,
            (AtomicOp::Fadd, Scalar::F64) => Capability::AtomicFloat64AddEXT,
            (AtomicOp::Fmin | AtomicOp::Fmax, Scalar::F16) => Capability::AtomicFloat16MinMaxEXT,
            (AtomicOp::Fmin | AtomicOp::Fmax, Scalar::F32) => Capability::AtomicFloat32MinMaxEXT,
            (AtomicOp::Fmin | AtomicOp::Fmax, Scalar::F64) => Capability::AtomicFloat64MinMaxEXT,
            (_, Scalar::I64) => Capability::Int64Atomics,
            (_, Scalar::I32 | Scalar::F32) => return Ok(()),
            (_, s) => return Err(Error::unsupported(format!("an atomic operation on {s}"))),
        };
        self.e.needs(capability);
        Ok(())
    }

    // ── variables ──

    /// The pointer to an element of a place.
    pub(crate) fn at(&mut self, place: Place, index: Word) -> Word {
        let variable = self.place(place);
        let elem = match place {
            Place::Buffer(_, elem) | Place::Shared(elem) => self.e.scalar(elem),
            Place::Push => self.e.u32(),
        };
        let class = self.class(place);
        let pointer = self.e.pointer(class, elem);
        if matches!(place, Place::Shared(_)) && !self.shares_types {
            return self.e.value(Op::AccessChain, pointer, &[variable, index]);
        }
        let member = self.e.int(0);
        self.e.value(Op::AccessChain, pointer, &[variable, member, index])
    }

    fn class(&self, place: Place) -> StorageClass {
        match place {
            Place::Push => StorageClass::PushConstant,
            Place::Shared(_) => StorageClass::Workgroup,
            Place::Buffer(binding, _) => match self.module.binding(binding).kind {
                BindingKind::Uniform => StorageClass::Uniform,
                _ => StorageClass::StorageBuffer,
            },
        }
    }

    /// The variable of a place. Its type is declared at the end, when all is known of it.
    pub(crate) fn place(&mut self, place: Place) -> Word {
        if let Some(&(_, known)) = self.places.iter().find(|(other, _)| *other == place) {
            return known;
        }
        let variable = self.e.fresh();
        self.places.push((place, variable));
        variable
    }

    /// Declares the variables of all places.
    pub(crate) fn declare_places(&mut self) -> Res<()> {
        for (place, variable) in self.places.clone() {
            let class = self.class(place);
            let ty = match place {
                Place::Shared(elem) => self.shared_type(elem, variable),
                Place::Push => self.push_type(variable),
                Place::Buffer(binding, elem) => self.buffer_type(binding, elem, variable),
            };
            if let Place::Buffer(_, elem) | Place::Shared(elem) = place {
                self.storage_capability(class, elem);
            }
            let pointer = self.e.pointer(class, ty);
            let operands = vec![Operand::StorageClass(class)];
            self.e.globals.push(Instruction::new(Op::Variable, Some(pointer), Some(variable), operands));
        }
        Ok(())
    }

    fn buffer_type(&mut self, binding: Binding, elem: Scalar, variable: Word) -> Word {
        let info = self.module.binding(binding);
        self.e.name(variable, &info.name);
        self.e.decorate(variable, Decoration::DescriptorSet, &[Operand::LiteralBit32(info.set)]);
        self.e.decorate(variable, Decoration::Binding, &[Operand::LiteralBit32(info.binding)]);
        if info.kind == BindingKind::Uniform {
            let len = self.e.int(UNIFORM_BYTES / elem.bytes());
            return self.block(elem, Some(len));
        }
        self.e.decorate(variable, Decoration::Aliased, &[]);
        let block = self.block(elem, None);
        if !info.writable {
            self.e.decorate_member(block, 0, Decoration::NonWritable, None);
        }
        block
    }

    fn shared_type(&mut self, elem: Scalar, variable: Word) -> Word {
        self.e.name(variable, "shared");
        // One more for accesses outside of objects.
        let count = self.module.shared_bytes / elem.bytes() + 1;
        if !self.shares_types {
            let elem = self.e.scalar(elem);
            return self.e.array(elem, count);
        }
        self.e.needs(Capability::WorkgroupMemoryExplicitLayoutKHR);
        self.e.decorate(variable, Decoration::Aliased, &[]);
        let count = self.e.int(count);
        self.block(elem, Some(count))
    }

    /// A block that holds an array; without a length one of any length.
    pub(crate) fn block(&mut self, elem: Scalar, len: Option<Word>) -> Word {
        let ty = self.e.scalar(elem);
        let array = match len {
            Some(len) => self.e.own_type(Op::TypeArray, vec![id(ty), id(len)]),
            None => self.e.own_type(Op::TypeRuntimeArray, vec![id(ty)]),
        };
        self.e.decorate(array, Decoration::ArrayStride, &[Operand::LiteralBit32(elem.bytes())]);
        let block = self.e.own_type(Op::TypeStruct, vec![id(array)]);
        self.e.decorate(block, Decoration::Block, &[]);
        self.e.decorate_member(block, 0, Decoration::Offset, Some(0));
        block
    }

    fn storage_capability(&mut self, class: StorageClass, elem: Scalar) {
        let capability = match (class, elem.bits()) {
            (StorageClass::StorageBuffer, 16) => Capability::StorageBuffer16BitAccess,
            (StorageClass::StorageBuffer, 8) => Capability::StorageBuffer8BitAccess,
            (StorageClass::Uniform, 16) => Capability::UniformAndStorageBuffer16BitAccess,
            (StorageClass::Uniform, 8) => Capability::UniformAndStorageBuffer8BitAccess,
            (StorageClass::Workgroup, 16) if self.shares_types => {
                Capability::WorkgroupMemoryExplicitLayout16BitAccessKHR
            }
            (StorageClass::Workgroup, 8) if self.shares_types => {
                Capability::WorkgroupMemoryExplicitLayout8BitAccessKHR
            }
            _ => return,
        };
        self.e.needs(capability);
    }
}

/// As much of a uniform buffer as every device lets a shader see.
const UNIFORM_BYTES: u32 = 16384;

/// Whether shared memory is accessed as elements of several types.
pub(crate) fn shares_types(func: &Function) -> bool {
    let mut first = None;
    func.insts.iter().any(|info| {
        let value = match info.op {
            IrOp::Load(_) | IrOp::MatLoad { .. } => info.results.first(),
            IrOp::Atomic(_) => info.results.first().or(info.args.get(1)),
            IrOp::Store(_) | IrOp::MatStore { .. } => info.args.get(1),
            _ => None,
        };
        let Some(&value) = value.filter(|_| func.ty(info.args[0]) == Type::Ptr(Space::Shared)) else {
            return false;
        };
        let elem = func.ty(value).elem();
        *first.get_or_insert(elem) != elem
    })
}
