//! What LLVM 19 does badly with scalar halves.
//!
//! A processor that only converts halves has them as integers, but LLVM's passes find out
//! that one of two converted halves is chosen, and choose before the conversion. Where the choice is a maximum or a
//! minimum, the code generator then calls `fmaxf` or `fminf`, which objects do not have. So the last word is ours:
//! the integers are chosen.

use crate::error::{Error, Result};
use inkwell::context::Context;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValue, FunctionValue, InstructionOpcode, InstructionValue};

/// Makes choices between scalar halves choices between integers of their bits.
pub(crate) fn choose_words(cx: &Context, function: FunctionValue<'_>) -> Result<()> {
    let half: BasicTypeEnum<'_> = cx.f16_type().into();
    let is_choice = |inst: &InstructionValue<'_>| {
        let chosen = inst.get_operand(1).and_then(|operand| operand.value());
        inst.get_opcode() == InstructionOpcode::Select && chosen.is_some_and(|v| v.get_type() == half)
    };
    let blocks = function.get_basic_block_iter();
    let choices: Vec<_> = blocks.flat_map(|block| block.get_instructions()).filter(is_choice).collect();
    let builder = cx.create_builder();
    for choice in choices {
        builder.position_before(&choice);
        let operand =
            |i| choice.get_operand(i).and_then(|o| o.value()).ok_or_else(|| Error::bug("no operand"));
        let [cond, x, y] = [operand(0)?, operand(1)?, operand(2)?];
        let word = |v| builder.build_bit_cast(v, cx.i16_type(), "");
        let chosen = builder.build_select(cond.into_int_value(), word(x)?, word(y)?, "")?;
        let chosen = builder.build_bit_cast(chosen, half, "")?.as_instruction_value();
        // A constant would have been folded long ago.
        let chosen = chosen.ok_or_else(|| Error::bug("a choice between constants"))?;
        choice.replace_all_uses_with(&chosen);
        choice.erase_from_basic_block();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::assembly;

    /// How often registers are rounded to halves where each of 32 lanes computes a half `%z` of four, `%a` to `%d`.
    fn roundings(body: &str) -> usize {
        let module = format!(
            "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
binding buf0 = 0.0 storage
binding buf1 = 0.1 storage writable
{{
  %0: i32 = const 0
  %lane: i32 = local_invocation_id<x>
  %in: ptr<buffer> = buffer_ptr<buf0> %0
  %out: ptr<buffer> = buffer_ptr<buf1> %0
  %from: ptr<buffer> = ptr_add<scale=8> %in, %lane
  %a: f16, %b: f16, %c: f16, %d: f16 = load %from
  {body}
  %to: ptr<buffer> = ptr_add<scale=2> %out, %lane
  store %to, %z
}}
"
        );
        assembly(&module, "znver4").matches("vcvtps2ph").count()
    }

    /// Registers of so many numbers of 32 bits.
    const REGISTERS: usize = 2;

    #[test]
    fn sums_of_halves_are_rounded_once() {
        let sum = |flag: &str| {
            roundings(&format!(
                "%ab: f16 = fmul %a, %b {flag}
                %cd: f16 = fmul %c, %d {flag}
                %ad: f16 = fmul %a, %d {flag}
                %x: f16 = fadd %ab, %cd {flag}
                %y: f16 = fsub %x, %ad {flag}
                %z: f16 = fadd %y, %a {flag}"
            ))
        };
        assert_eq!((sum(""), sum("exact")), (REGISTERS, 6 * REGISTERS));
    }

    #[test]
    fn whole_numbers_that_halves_have_are_not_rounded() {
        let weight = |mask: u32| {
            roundings(&format!(
                "%w: i32 = load %from
                %mask: i32 = const {mask}
                %eight: f16 = const 8.0
                %three: f16 = const 3.0
                %q: i32 = and %w, %mask
                %f: f16 = u_to_f %q
                %g: f16 = fsub %f, %eight
                %h: f16 = fmul %g, %three
                %z: f16 = fmul %h, %a"
            ))
        };
        // The last product, and with greater numbers first the product that is no whole half, then all.
        assert_eq!([15, 1023, 4095].map(weight), [1, 2, 4].map(|n| n * REGISTERS));
    }
}
