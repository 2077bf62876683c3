//! Carries masks from block to block as bytes, where the processor has no registers for masks.
//!
//! LLVM chooses by itself how a vector of truth values is held within a block. Between blocks,
//! however, it takes apart a vector that would not fit into one register as bytes: each truth value
//! then travels alone. So, after everything is optimised:
//!
//! ```text
//! %m = icmp slt <128 x i32> %x, %y           %m = icmp slt <128 x i32> %x, %y
//! br label %next                             %b = sext <128 x i1> %m to <128 x i8>
//! next:                              ->      br label %next
//! %z = select <128 x i1> %m, ...             next:
//!                                            %n = icmp slt <128 x i8> %b, zeroinitializer
//!                                            %z = select <128 x i1> %n, ...
//! ```

use crate::error::{Error, Result};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::types::{AnyTypeEnum, VectorType};
use inkwell::values::{
    AnyValue, AnyValueEnum, BasicValue, BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue,
    PhiValue,
};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Rewrites the masks of a function that are wider, as bytes, than a register of this many bits.
pub(crate) fn widen<'c>(cx: &'c Context, function: FunctionValue<'c>, register_bits: u32) -> Result<()> {
    let masks = Masks { cx, b: cx.create_builder() };
    let is_wide = |t: VectorType<'c>| t.get_size() * 8 > register_bits;
    for (inst, ty) in find(function, &is_wide) {
        if let Ok(phi) = PhiValue::try_from(inst) {
            masks.widen_phi(phi, ty)?;
        }
    }
    for (inst, ty) in find(function, &is_wide) {
        masks.widen_uses(inst, ty)?;
    }
    Ok(())
}

/// The instructions that make masks.
fn find<'c>(
    function: FunctionValue<'c>,
    is_wide: &dyn Fn(VectorType<'c>) -> bool,
) -> Vec<(InstructionValue<'c>, VectorType<'c>)> {
    let insts = function.get_basic_blocks().into_iter().flat_map(BasicBlock::get_instructions);
    insts.filter_map(|i| Some((i, mask_type(i).filter(|&t| is_wide(t))?))).collect()
}

/// The type of an instruction's result, if it is a mask.
fn mask_type<'c>(inst: InstructionValue<'c>) -> Option<VectorType<'c>> {
    let AnyTypeEnum::VectorType(ty) = inst.get_type() else { return None };
    let elem = ty.get_element_type();
    (elem.is_int_type() && elem.into_int_type().get_bit_width() == 1).then_some(ty)
}

struct Masks<'c> {
    cx: &'c Context,
    b: Builder<'c>,
}

impl<'c> Masks<'c> {
    fn bytes(&self, ty: VectorType<'c>) -> VectorType<'c> {
        self.cx.i8_type().vec_type(ty.get_size())
    }

    /// Makes a phi of bytes out of one of truth values.
    fn widen_phi(&self, phi: PhiValue<'c>, ty: VectorType<'c>) -> Result<()> {
        let bytes = self.bytes(ty);
        self.b.position_before(&phi.as_instruction());
        let wide = self.b.build_phi(bytes, "")?;
        for (mask, from) in phi.get_incomings() {
            let end = from.get_terminator().ok_or_else(|| Error::bug("a block without an end"))?;
            self.b.position_before(&end);
            let mask = self.b.build_cast(InstructionOpcode::SExt, mask, bytes, "")?;
            wide.add_incoming(&[(&mask, from)]);
        }
        let block = phi.as_instruction().get_parent().ok_or_else(|| Error::bug("a phi without a block"))?;
        let mask = self.narrow_at_start(block, wide.as_basic_value())?;
        let old = value(phi.as_instruction())?;
        users(phi.as_instruction()).into_iter().for_each(|user| replace(user, old, mask));
        phi.as_instruction().erase_from_basic_block();
        Ok(())
    }

    /// Gives other blocks a mask as bytes.
    fn widen_uses(&self, inst: InstructionValue<'c>, ty: VectorType<'c>) -> Result<()> {
        let (home, mask) = (inst.get_parent(), value(inst)?);
        let users = users(inst).into_iter().filter_map(|user| Some((user, user.get_parent()?)));
        let users: Vec<_> = users.filter(|&(_, block)| Some(block) != home).collect();
        if users.is_empty() {
            return Ok(());
        }
        let next = inst.get_next_instruction().ok_or_else(|| Error::bug("a mask at the end of a block"))?;
        self.b.position_before(&next);
        let wide = self.b.build_cast(InstructionOpcode::SExt, mask, self.bytes(ty), "")?;
        let mut narrowed = HashMap::new();
        for (user, block) in users {
            let with = match narrowed.entry(block) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => *new.insert(self.narrow_at_start(block, wide)?),
            };
            replace(user, mask, with);
        }
        Ok(())
    }

    /// Makes a mask of bytes again, at the start of a block.
    fn narrow_at_start(&self, block: BasicBlock<'c>, wide: BasicValueEnum<'c>) -> Result<BasicValueEnum<'c>> {
        let first = block
            .get_instructions()
            .find(|i| i.get_opcode() != InstructionOpcode::Phi)
            .ok_or_else(|| Error::bug("a block of phis"))?;
        self.b.position_before(&first);
        let zero = wide.get_type().into_vector_type().const_zero();
        Ok(self.b.build_int_compare(IntPredicate::SLT, wide.into_vector_value(), zero, "")?.into())
    }
}

/// The value that an instruction makes.
pub(crate) fn value<'c>(inst: InstructionValue<'c>) -> Result<BasicValueEnum<'c>> {
    BasicValueEnum::try_from(inst.as_any_value_enum())
        .map_err(|()| Error::bug("an instruction without a value"))
}

/// The instructions that use an instruction's value.
pub(crate) fn users(inst: InstructionValue<'_>) -> Vec<InstructionValue<'_>> {
    let mut users = Vec::new();
    let mut next = inst.get_first_use();
    while let Some(u) = next {
        match u.get_user() {
            AnyValueEnum::InstructionValue(i) => users.push(i),
            user => users.extend(BasicValueEnum::try_from(user).ok().and_then(|v| v.as_instruction_value())),
        }
        next = u.get_next_use();
    }
    users
}

/// Replaces a value in the operands of an instruction.
fn replace<'c>(user: InstructionValue<'c>, old: BasicValueEnum<'c>, with: BasicValueEnum<'c>) {
    for i in 0..user.get_num_operands() {
        if user.get_operand(i).and_then(|o| o.value()) == Some(old) {
            user.set_operand(i, with);
        }
    }
}
