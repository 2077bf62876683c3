//! Keeps sums where they are computed.
//!
//! LLVM's code generator moves what a loop carries to its next round to the end of the loop, as nothing before that
//! looks at it. Where a round adds to several sums, one behind the other, all that is added waits for that end: what was read
//! of the first row is alive while all others are read. Processors with 32 vector registers and room for hundreds of
//! instructions gain by it, those with 16 registers move everything to the stack and back. So, after everything is
//! optimised:
//!
//! ```text
//! %sum.1 = fadd <8 x float> %sum, %x                %sum.1 = fadd <8 x float> %sum, %x
//! br label %next                             ->     %here = call <8 x float> asm sideeffect "", "=x,0" (%sum.1)
//! ...                                               br label %next
//! ```
//!
//! An empty line of assembly is no instruction, and stays where it is.

use crate::error::{Error, Result};
use crate::masks::value;
use inkwell::context::Context;
use inkwell::types::{AnyTypeEnum, BasicTypeEnum, VectorType};
use inkwell::values::{
    BasicValue, BasicValueEnum, CallSiteValue, FunctionValue, InstructionOpcode, InstructionValue, PhiValue,
};
use rustc_hash::FxHashMap;

/// Keeps the vectors that loops of a function carry along, by registers of so many bytes.
pub(crate) fn pin<'c>(cx: &'c Context, function: FunctionValue<'c>, register_bytes: u32) -> Result<()> {
    let blocks = function.get_basic_blocks();
    let places: FxHashMap<_, _> = blocks.iter().enumerate().map(|(place, &block)| (block, place)).collect();
    let mut kept: FxHashMap<InstructionValue<'c>, BasicValueEnum<'c>> = FxHashMap::default();
    for &block in &blocks {
        for inst in block.get_instructions() {
            let Ok(phi) = PhiValue::try_from(inst) else { break };
            let AnyTypeEnum::VectorType(ty) = inst.get_type() else { continue };
            let Some(length) = register_length(ty, register_bytes) else { continue };
            for (index, (carried, from)) in (0..).zip(phi.get_incomings()) {
                let Some(made) = carried.as_instruction_value() else { continue };
                let at = made.get_parent().filter(|at| *at != from && places.get(at) >= places.get(&block));
                if at.is_none() || made.get_opcode() == InstructionOpcode::Phi {
                    continue;
                }
                let here = match kept.get(&made) {
                    Some(&here) => here,
                    None => *kept.entry(made).or_insert(keep(cx, made, ty, length)?),
                };
                inst.set_operand(index, here);
            }
        }
    }
    Ok(())
}

/// Elements of a register, of vectors that fill some: words of 32 and of 64 bits, which sums are. LLVM has no registers for
/// shorter vectors, nor for those of f16.
fn register_length(ty: VectorType<'_>, register_bytes: u32) -> Option<u32> {
    let bits = match ty.get_element_type() {
        BasicTypeEnum::IntType(t) => t.get_bit_width(),
        BasicTypeEnum::FloatType(t) => t.get_bit_width(),
        _ => return None,
    };
    let length = 8 * register_bytes / bits;
    let fills = ty.get_size().is_multiple_of(length) && (ty.get_size() / length).is_power_of_two();
    (matches!(bits, 32 | 64) && fills).then_some(length)
}

/// What an instruction makes, behind lines of assembly right behind it: one for each register.
fn keep<'c>(
    cx: &'c Context,
    made: InstructionValue<'c>,
    ty: VectorType<'c>,
    length: u32,
) -> Result<BasicValueEnum<'c>> {
    let b = cx.create_builder();
    let next = made.get_next_instruction().ok_or_else(|| Error::bug("a value ends its block"))?;
    b.position_before(&next);
    let whole = value(made)?.into_vector_value();
    let choose = |x, y, picks: std::ops::Range<u32>| {
        let picks: Vec<_> = picks.map(|i| cx.i32_type().const_int(i.into(), false)).collect();
        b.build_shuffle_vector(x, y, VectorType::const_vector(&picks), "")
    };
    let part_ty = match ty.get_element_type() {
        BasicTypeEnum::IntType(t) => t.vec_type(length),
        BasicTypeEnum::FloatType(t) => t.vec_type(length),
        _ => return Err(Error::bug("a vector of no numbers is kept")),
    };
    let line = part_ty.fn_type(&[part_ty.into()], false);
    let asm = cx.create_inline_asm(line, String::new(), "=x,0".to_owned(), true, false, None, false);
    let mut parts = Vec::new();
    for first in (0..ty.get_size()).step_by(length as usize) {
        let part = choose(whole, ty.get_poison(), first..first + length)?;
        let call: CallSiteValue<'c> = b.build_indirect_call(line, asm, &[part.into()], "")?;
        let part = call.try_as_basic_value().basic();
        parts.push(part.ok_or_else(|| Error::bug("a line of assembly gives nothing"))?.into_vector_value());
    }
    while parts.len() > 1 {
        let pairs = parts.chunks(2);
        let pairs = pairs.map(|pair| choose(pair[0], pair[1], 0..2 * pair[0].get_type().get_size()));
        parts = pairs.collect::<std::result::Result<_, _>>()?;
    }
    Ok(parts[0].as_basic_value_enum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::memory_buffer::MemoryBuffer;

    #[test]
    fn only_words_that_fill_registers_have_some() {
        let cx = Context::create();
        let length = |ty: VectorType<'_>| register_length(ty, 32);
        assert_eq!(length(cx.f32_type().vec_type(16)), Some(8));
        assert_eq!(length(cx.i64_type().vec_type(4)), Some(4));
        assert_eq!(length(cx.f32_type().vec_type(4)), None);
        assert_eq!(length(cx.f32_type().vec_type(24)), None);
        assert_eq!(length(cx.f16_type().vec_type(16)), None);
        assert_eq!(length(cx.i8_type().vec_type(4)), None);
        assert_eq!(length(cx.bool_type().vec_type(32)), None);
    }

    #[test]
    fn what_a_loop_carries_stays_where_it_is_made() {
        let text = "
            define <16 x float> @f(<16 x float> %x, i1 %more) {
            entry:
              br label %loop
            loop:
              %first = phi <16 x float> [ %x, %entry ], [ %first.1, %end ]
              %second = phi <16 x float> [ %x, %entry ], [ %second.1, %end ]
              %first.1 = fadd <16 x float> %first, %x
              br i1 %more, label %between, label %end
            between:
              br label %end
            end:
              %second.1 = fadd <16 x float> %second, %first.1
              br i1 %more, label %loop, label %done
            done:
              ret <16 x float> %second
            }";
        let cx = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = cx.create_module_from_ir(buffer).unwrap();
        pin(&cx, module.get_function("f").unwrap(), 32).unwrap();
        module.verify().unwrap();
        let printed = module.to_string();
        let (before, behind) = printed.split_once("between:").unwrap();
        // Two registers; the second sum is made where it would go.
        assert_eq!(
            (before.matches("asm sideeffect").count(), behind.matches("asm").count()),
            (2, 0),
            "{printed}"
        );
        assert!(!before.contains("%first.1, %end"), "{printed}");
    }
}
