//! Push constants: one block, because a shader has but one.
//!
//! Its members are the scalars that the code reads, where each is at an offset that is known and no two are at one place;
//! elsewhere it is an array of words, of which the scalars are made.

use phalanx_ir::{BinaryOp as B, Function, Module, Op as IrOp, Scalar, Space, Type, Value};
use rspirv::spirv::{Capability, Decoration, MemoryAccess, Op, StorageClass, Word};
use std::collections::BTreeMap;

use crate::emit::id;
use crate::error::{Error, Res};
use crate::lower::Lower;
use crate::memory::{Place, Ptr};

/// The members of the block, each with its offset in bytes, if they can be told apart.
pub(crate) fn members(module: &Module) -> Option<Vec<(u32, Scalar)>> {
    let func = &module.body;
    let mut found: BTreeMap<u32, Scalar> = BTreeMap::new();
    for info in func.insts.iter().filter(|info| matches!(info.op, IrOp::Load(_))) {
        if func.ty(info.args[0]) != Type::Ptr(Space::Push) {
            continue;
        }
        let first = offset(func, info.args[0])?;
        for (i, &result) in info.results.iter().enumerate() {
            let s = func.ty(result).scalar()?;
            let at = first.checked_add(i as u32 * s.bytes())?;
            let is_there = at.checked_add(s.bytes())? <= module.push_bytes;
            let is_plain =
                is_there && at.is_multiple_of(s.bytes()) && (s.is_int() || s.is_arithmetic_float());
            if !is_plain || *found.entry(at).or_insert(s) != s {
                return None;
            }
        }
    }
    let members: Vec<(u32, Scalar)> = found.into_iter().collect();
    let is_apart = |pair: &[(u32, Scalar)]| pair[0].0 + pair[0].1.bytes() <= pair[1].0;
    members.windows(2).all(is_apart).then_some(members)
}

/// The offset of a pointer, where it is known.
fn offset(func: &Function, mut pointer: Value) -> Option<u32> {
    let mut sum = 0_i64;
    loop {
        let def = func.def(pointer);
        match def.op {
            IrOp::PushPtr => return u32::try_from(sum).ok(),
            IrOp::PtrAdd { scale, disp } => {
                let index = match def.args.get(1) {
                    None => 0,
                    Some(&index) if func.ty(index) == Type::I64 => func.const_bits(index)? as i64,
                    Some(&index) => i64::from(func.const_bits(index)? as u32 as i32),
                };
                sum = sum.checked_add(index.checked_mul(scale)?)?.checked_add(disp)?;
                pointer = def.args[0];
            }
            _ => return None,
        }
    }
}

impl Lower<'_> {
    /// A scalar of the push constants.
    pub(crate) fn push_constant(&mut self, ptr: &Ptr, s: Scalar) -> Res<Word> {
        let Some(members) = &self.members else { return Ok(self.of_words(ptr, s)) };
        let members = members.clone();
        let at = self.offset(ptr, 1, true);
        let at = self.e.bits(at).and_then(|at| members.iter().position(|&member| member == (at as u32, s)));
        let at = at.ok_or_else(|| Error::bug("a push constant that was not found"))?;
        let ty = self.e.scalar(s);
        let pointer = self.e.pointer(StorageClass::PushConstant, ty);
        let (variable, at) = (self.place(Place::Push), self.e.int(at as u32));
        let pointer = self.e.value(Op::AccessChain, pointer, &[variable, at]);
        Ok(self.e.load(ty, pointer, MemoryAccess::NONE))
    }

    /// A scalar made of words; zero where it is not in them.
    fn of_words(&mut self, ptr: &Ptr, s: Scalar) -> Word {
        let offset = self.offset(ptr, 1, true);
        let end = u64::from(self.module.push_bytes).saturating_sub(u64::from(s.bytes()) - 1);
        let (ty, zero) = (self.e.scalar(s), self.e.constant(s, 0));
        if let Some(known) = self.e.bits(offset) {
            let at = self.e.int(known as u32);
            return if known < end { self.at_byte(at, s) } else { zero };
        }
        let (bool, int, first) = (self.e.bool(), self.e.u32(), self.e.int(0));
        let end = self.e.constant(Scalar::I64, end);
        let is_there = self.e.value(Op::ULessThan, bool, &[offset, end]);
        let at = self.e.value(Op::UConvert, int, &[offset]);
        let at = self.e.select(int, is_there, at, first);
        let value = self.at_byte(at, s);
        self.e.select(ty, is_there, value, zero)
    }

    /// A scalar at a byte.
    fn at_byte(&mut self, bytes: Word, s: Scalar) -> Word {
        let index = self.e.integer_with(B::Lshr, bytes, 2);
        let (int, ty) = (self.e.u32(), self.e.scalar(s));
        let low = self.push_word(index);
        match s.bits() {
            32 if s == Scalar::I32 => low,
            32 => self.e.value(Op::Bitcast, ty, &[low]),
            64 => {
                let next = self.e.integer_with(B::Iadd, index, 1);
                let high = self.push_word(next);
                let pair = self.e.vector(Scalar::I32, 2);
                let pair = self.e.value(Op::CompositeConstruct, pair, &[low, high]);
                self.e.value(Op::Bitcast, ty, &[pair])
            }
            bits => {
                let within = self.e.integer_with(B::And, bytes, 3);
                let shift = self.e.integer_with(B::Shl, within, 3);
                let shifted = match self.e.bits(shift) {
                    Some(0) => low,
                    _ => self.e.value(Op::ShiftRightLogical, int, &[low, shift]),
                };
                let narrow = if bits == 8 { Scalar::I8 } else { Scalar::I16 };
                let narrow_ty = self.e.scalar(narrow);
                let value = self.e.value(Op::UConvert, narrow_ty, &[shifted]);
                if s == narrow { value } else { self.e.value(Op::Bitcast, ty, &[value]) }
            }
        }
    }

    fn push_word(&mut self, index: Word) -> Word {
        let int = self.e.u32();
        let pointer = self.at(Place::Push, index);
        self.e.load(int, pointer, MemoryAccess::NONE)
    }

    /// The type of the block.
    pub(crate) fn push_type(&mut self, variable: Word) -> Word {
        self.e.name(variable, "push");
        let Some(members) = self.members.clone() else {
            let array = self.e.int(self.module.push_bytes.div_ceil(4));
            return self.block(Scalar::I32, Some(array));
        };
        let types: Vec<Word> = members.iter().map(|&(_, s)| self.e.scalar(s)).collect();
        let block = self.e.own_type(Op::TypeStruct, types.into_iter().map(id).collect());
        self.e.decorate(block, Decoration::Block, &[]);
        for (i, &(offset, s)) in members.iter().enumerate() {
            self.e.decorate_member(block, i as u32, Decoration::Offset, Some(offset));
            match s.bits() {
                16 => self.e.needs(Capability::StoragePushConstant16),
                8 => self.e.needs(Capability::StoragePushConstant8),
                _ => {}
            }
        }
        block
    }
}
