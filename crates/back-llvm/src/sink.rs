//! Computes addresses where calls want them, not long before.
//!
//! Matrices are operated on by calls of kernels, whose arguments are addresses: of tiles, which are constants away from
//! a few pointers, and of rows, which are sums of a few numbers. LLVM's passes compute each of them once, as early as they can:
//! that is before all loops. Then there are hundreds of values that live through all calls, in six registers that
//! survive a call; the register allocator takes most of the time of a compilation to find places on the stack for
//! them, and half of the code is moves from and to there. So, after everything is optimised:
//!
//! ```text
//! %tile = getelementptr i8, ptr %scratch, i64 1024
//! br label %loop                                        br label %loop
//! loop:                                        ->       loop:
//! call void %load(ptr %tile, ...)                       %scratch.1 = load ptr, ptr %where
//!                                                       %tile = getelementptr i8, ptr %scratch.1, i64 1024
//!                                                       call void %load(ptr %tile, ...)
//! ```
//!
//! Only blocks with calls compute anything again, where a few instructions are nothing. What they load is loaded
//! without a word that it is invariant, so that the code generator leaves it where it is.

use crate::effort::is_call;
use crate::error::{Error, Result};
use crate::masks::{users, value};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::types::{AnyTypeEnum, BasicTypeEnum};
use inkwell::values::{BasicValue, BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue};
use std::collections::HashMap;

/// Most instructions that are done again for a value that several blocks want; for one that only one block wants, the
/// value is moved there and nothing is done again.
const MOST_AGAIN: u32 = 4;

/// Most instructions that are done for a value.
const MOST: u32 = 16;

/// Moves the computation of addresses to the calls of a function.
pub(crate) fn sink<'c>(cx: &'c Context, function: FunctionValue<'c>) -> Result<()> {
    let blocks: Vec<_> = function.get_basic_block_iter().collect();
    let with_calls: Vec<_> =
        blocks.iter().copied().filter(|block| block.get_instructions().any(is_call)).collect();
    let invariant = cx.get_kind_id("invariant.load");
    let mut sink = Sink { b: cx.create_builder(), invariant, costs: HashMap::new() };
    for &block in &with_calls {
        sink.block(block)?;
    }
    // What nobody wants any more, users before what they use.
    for block in blocks.iter().rev() {
        let mut next = block.get_last_instruction();
        while let Some(inst) = next {
            next = inst.get_previous_instruction();
            if inst.get_first_use().is_none() && sink.is_cheap(inst) {
                inst.erase_from_basic_block();
            }
        }
    }
    for &block in &with_calls {
        for inst in without_phis(block) {
            sink.draw_near(inst, block);
        }
    }
    Ok(())
}

/// The instructions of a block behind its phis.
fn without_phis(block: BasicBlock<'_>) -> Vec<InstructionValue<'_>> {
    block.get_instructions().filter(|i| i.get_opcode() != InstructionOpcode::Phi).collect()
}

struct Sink<'c> {
    b: Builder<'c>,
    /// The kind of metadata that says that what is loaded does not change.
    invariant: u32,
    /// Instructions that make a value, from what is not cheap.
    costs: HashMap<InstructionValue<'c>, u32>,
}

/// What a block has computed by itself.
type Known<'c> = HashMap<InstructionValue<'c>, BasicValueEnum<'c>>;

impl<'c> Sink<'c> {
    fn block(&mut self, block: BasicBlock<'c>) -> Result<()> {
        let mut known = Known::new();
        for inst in without_phis(block) {
            for (index, source) in sources(inst) {
                if source.get_parent() != Some(block) && self.is_worth(source) {
                    let value = self.again(source, block, inst, &mut known)?;
                    inst.set_operand(index, value);
                }
            }
        }
        Ok(())
    }

    /// Moves what only this instruction wants, of its own block, to it.
    fn draw_near(&self, inst: InstructionValue<'c>, block: BasicBlock<'c>) {
        for (_, source) in sources(inst) {
            let is_alone = source.get_first_use().is_some_and(|first| first.get_next_use().is_none());
            let stays = source.get_opcode() == InstructionOpcode::Load || source.get_parent() != Some(block);
            if is_alone && !stays && self.is_cheap(source) {
                source.remove_from_basic_block();
                self.b.position_before(&inst);
                self.b.insert_instruction(&source, None);
                self.draw_near(source, block);
            }
        }
    }

    /// Whether a value is better computed where it is wanted.
    fn is_worth(&mut self, inst: InstructionValue<'c>) -> bool {
        if !self.is_cheap(inst) {
            return false;
        }
        let cost = self.cost(inst);
        cost <= MOST_AGAIN || cost <= MOST && has_one_home(inst)
    }

    /// Whether it makes a number or an address from others and nothing else, or loads what does not change.
    fn is_cheap(&self, inst: InstructionValue<'c>) -> bool {
        use InstructionOpcode as Op;
        // Of vectors, those of addresses.
        let is_fit = match inst.get_type() {
            AnyTypeEnum::IntType(_) | AnyTypeEnum::PointerType(_) => true,
            AnyTypeEnum::VectorType(ty) => ty.get_element_type().is_pointer_type(),
            _ => false,
        };
        is_fit
            && match inst.get_opcode() {
                Op::GetElementPtr | Op::Add | Op::Sub | Op::Mul | Op::Shl | Op::LShr | Op::AShr => true,
                Op::And | Op::Or | Op::Xor | Op::SExt | Op::ZExt | Op::Trunc => true,
                Op::Load => inst.get_metadata(self.invariant).is_some() && is_of_context(inst),
                _ => false,
            }
    }

    fn cost(&mut self, inst: InstructionValue<'c>) -> u32 {
        if let Some(&cost) = self.costs.get(&inst) {
            return cost;
        }
        let sources: Vec<_> =
            sources(inst).into_iter().map(|(_, s)| s).filter(|&s| self.is_cheap(s)).collect();
        let cost = sources.into_iter().fold(1_u32, |sum, s| sum.saturating_add(self.cost(s)));
        self.costs.insert(inst, cost);
        cost
    }

    /// Computes a value before an instruction of a block, unless the block has it.
    fn again(
        &mut self,
        inst: InstructionValue<'c>,
        block: BasicBlock<'c>,
        before: InstructionValue<'c>,
        known: &mut Known<'c>,
    ) -> Result<BasicValueEnum<'c>> {
        if let Some(&value) = known.get(&inst) {
            return Ok(value);
        }
        let mut operands = Vec::new();
        for (index, source) in sources(inst) {
            if source.get_parent() != Some(block) && self.is_cheap(source) {
                operands.push((index, self.again(source, block, before, known)?));
            }
        }
        self.b.position_before(&before);
        let value = match inst.get_opcode() {
            InstructionOpcode::Load => {
                let from = operands.first().map(|&(_, value)| value).or_else(|| inst.get_operand(0)?.value());
                let from = from.ok_or_else(|| Error::bug("a load from nowhere"))?.into_pointer_value();
                let ty =
                    BasicTypeEnum::try_from(inst.get_type()).map_err(|()| Error::bug("a load of nothing"))?;
                let load = self.b.build_load(ty, from, "")?;
                if let (Some(new), Ok(align)) = (load.as_instruction_value(), inst.get_alignment()) {
                    new.set_alignment(align).map_err(|e| Error::bug(e.to_string()))?;
                }
                load
            }
            _ => {
                let copy = inst.explicit_clone();
                self.b.insert_instruction(&copy, None);
                for (index, value) in operands {
                    copy.set_operand(index, value);
                }
                value(copy)?
            }
        };
        known.insert(inst, value);
        Ok(value)
    }
}

/// The instructions whose values an instruction uses, by operand.
fn sources(inst: InstructionValue<'_>) -> Vec<(u32, InstructionValue<'_>)> {
    let source = |index| Some((index, inst.get_operand(index)?.value()?.as_instruction_value()?));
    (0..inst.get_num_operands()).filter_map(source).collect()
}

/// Whether this loads from the subgroup's context, which is the only argument and at hand everywhere.
fn is_of_context(load: InstructionValue<'_>) -> bool {
    let from = sources(load);
    from.iter().all(|(_, s)| s.get_opcode() == InstructionOpcode::GetElementPtr && sources(*s).is_empty())
}

/// Whether all uses of a value are in one block.
fn has_one_home(inst: InstructionValue<'_>) -> bool {
    let mut home = None;
    users(inst).into_iter().all(|user| {
        let block = user.get_parent();
        *home.get_or_insert(block) == block
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::memory_buffer::MemoryBuffer;

    #[test]
    fn addresses_go_to_the_calls_that_want_them_and_nowhere_else() {
        let text = "
            define void @f(ptr %context) {
            entry:
              %where = getelementptr i8, ptr %context, i64 32
              %scratch = load ptr, ptr %where, align 8, !invariant.load !0
              %tile = getelementptr i8, ptr %scratch, i64 1024
              %number = load i32, ptr %scratch, align 4
              %next = add i32 %number, 1
              br label %loop
            loop:
              %i = phi i32 [ 0, %entry ], [ %more, %loop ], [ %more, %calls ]
              %more = add i32 %i, %next
              %odd = trunc i32 %more to i1
              br i1 %odd, label %calls, label %loop
            calls:
              call void %scratch(ptr %tile, i32 %next)
              %last = icmp eq i32 %more, 100
              br i1 %last, label %loop, label %end
            end:
              ret void
            }
            !0 = !{}";
        let cx = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = cx.create_module_from_ir(buffer).unwrap();
        sink(&cx, module.get_function("f").unwrap()).unwrap();
        module.verify().unwrap();
        let printed = module.to_string();
        let (before, rest) = printed.split_once("loop:").unwrap();
        let (between, behind) = rest.split_once("calls:").unwrap();
        assert!(!before.contains("1024") && before.contains("add i32"), "{printed}");
        assert!(!between.contains("load") && !between.contains("getelementptr"), "{printed}");
        assert!(behind.contains("load ptr") && behind.contains("i64 1024"), "{printed}");
        assert!(!behind.contains("invariant.load !"), "{printed}");
        assert!(!behind.contains("load i32"), "memory may have changed: {printed}");
    }
}
