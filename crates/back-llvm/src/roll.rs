//! Makes loops of calls in a row.
//!
//! A program loads, multiplies and stores matrices one by one, in loops that were unrolled: a kernel is called dozens of
//! times in a row, by arguments of which most are the same each time. The code generator takes its time with each of
//! them, and passes all arguments anew. Here a function calls the kernel so often:
//!
//! ```text
//! call void %load(ptr %t0, i64 %x0, i64 %stride)         store i64 %x0, ptr %table
//! ...                                             ->     ...
//! call void %load(ptr %t31, i64 %x31, i64 %stride)       store i64 %x31, ptr %table.31
//!                                                        call void @repeat_.s.p.v.c(ptr %load, i64 32,
//!                                                            ptr %t0, i64 1024, ptr %table, i64 %stride)
//! ```
//!
//! Addresses that are equally far from each other are a first one and a step, other arguments that differ are in a
//! table on the stack. Between the calls stands only what neither writes memory nor reads what is written.

use crate::effort::is_call;
use crate::error::{Error, Result};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::types::{AnyTypeEnum, BasicType, BasicTypeEnum, FunctionType};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, CallSiteValue, FunctionValue, InstructionOpcode,
    InstructionValue,
};
use std::fmt::Write;

/// Fewest calls that are worth a loop.
const FEWEST: usize = 4;

/// Most arguments in tables.
const MOST_TABLES: usize = 2;

/// A value of the code.
type V<'c> = BasicValueEnum<'c>;

/// How an argument changes from call to call.
enum Arg<'c> {
    Same(V<'c>),
    /// An address, and how far from it the next one is.
    Step(V<'c>, i64),
    Table(Vec<V<'c>>),
}

/// Makes loops of the runs of calls in a function. Gives the functions with the loops.
pub(crate) fn roll<'c>(
    cx: &'c Context,
    module: &Module<'c>,
    function: FunctionValue<'c>,
) -> Result<Vec<FunctionValue<'c>>> {
    let mut roll = Roll { cx, module, function, b: cx.create_builder(), made: Vec::new() };
    let invariant = cx.get_kind_id("invariant.load");
    for block in function.get_basic_blocks() {
        for run in runs(block, invariant) {
            roll.run(&run)?;
        }
    }
    Ok(roll.made)
}

/// The runs of calls in a block that are worth a loop.
fn runs<'c>(block: BasicBlock<'c>, invariant: u32) -> Vec<Vec<InstructionValue<'c>>> {
    let mut runs = vec![Vec::new()];
    for inst in block.get_instructions() {
        let run = runs.last_mut().expect("never empty");
        match (inst.get_opcode(), run.last()) {
            (InstructionOpcode::Call, Some(&last)) if continues(last, inst) => run.push(inst),
            (InstructionOpcode::Call, _) if is_kernel_call(inst) => runs.push(vec![inst]),
            (InstructionOpcode::Load, _) if inst.get_metadata(invariant).is_some() => {}
            (opcode, _) if is_pure(opcode) => {}
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| run.len() >= FEWEST);
    runs
}

/// Whether this calls a function by its address and wants no result.
fn is_kernel_call(inst: InstructionValue<'_>) -> bool {
    let callee = inst.get_num_operands().checked_sub(1).and_then(|last| operand(inst, last));
    is_call(inst)
        && matches!(inst.get_type(), AnyTypeEnum::VoidType(_))
        && callee.is_some_and(|callee| callee.as_instruction_value().is_some())
}

/// Whether a call is the next one of a run.
fn continues(last: InstructionValue<'_>, next: InstructionValue<'_>) -> bool {
    let count = last.get_num_operands();
    let are_alike = |index| match (operand(last, index), operand(next, index)) {
        (Some(x), Some(y)) if x == y => true,
        // The last operand is what is called.
        (Some(x), Some(y)) if index + 1 < count => {
            let are_computed = x.as_instruction_value().is_some() && y.as_instruction_value().is_some();
            are_computed && x.get_type() == y.get_type() && letter(x.get_type()).is_some()
        }
        _ => false,
    };
    is_kernel_call(next) && next.get_num_operands() == count && (0..count).all(are_alike)
}

/// Whether it neither writes memory nor reads what may be written, nor leaves the block.
fn is_pure(opcode: InstructionOpcode) -> bool {
    use InstructionOpcode as Op;
    matches!(opcode, Op::Add | Op::Sub | Op::Mul | Op::Shl | Op::LShr | Op::AShr)
        || matches!(opcode, Op::And | Op::Or | Op::Xor | Op::ICmp | Op::Select)
        || matches!(opcode, Op::SExt | Op::ZExt | Op::Trunc | Op::GetElementPtr)
}

fn operand(inst: InstructionValue<'_>, index: u32) -> Option<V<'_>> {
    inst.get_operand(index)?.value()
}

/// A type in the name of a function.
fn letter(ty: BasicTypeEnum<'_>) -> Option<char> {
    match ty {
        BasicTypeEnum::PointerType(_) => Some('p'),
        BasicTypeEnum::IntType(ty) if ty.get_bit_width() == 32 => Some('w'),
        BasicTypeEnum::IntType(ty) if ty.get_bit_width() == 64 => Some('l'),
        _ => None,
    }
}

struct Roll<'a, 'c> {
    cx: &'c Context,
    module: &'a Module<'c>,
    function: FunctionValue<'c>,
    b: Builder<'c>,
    made: Vec<FunctionValue<'c>>,
}

impl<'c> Roll<'_, 'c> {
    fn run(&mut self, run: &[InstructionValue<'c>]) -> Result<()> {
        let no_operand = || Error::bug("a call without an argument");
        let first = *run.first().ok_or_else(no_operand)?;
        let count = first.get_num_operands() - 1;
        let mut args = Vec::new();
        for index in 0..count {
            let values: Option<Vec<_>> = run.iter().map(|call| operand(*call, index)).collect();
            args.push(classify(values.ok_or_else(no_operand)?));
        }
        let tables = args.iter().filter(|arg| matches!(arg, Arg::Table(_))).count();
        let types = (0..count).map(|index| operand(first, index).and_then(|v| letter(v.get_type())));
        let Some(types) = types.collect::<Option<Vec<_>>>() else { return Ok(()) };
        if tables > MOST_TABLES {
            return Ok(());
        }
        let call = CallSiteValue::try_from(first).map_err(|()| Error::bug("no call"))?;
        let repeat = self.repeat(&args, &types, call.get_called_fn_type())?;
        let callee = operand(first, count).ok_or_else(no_operand)?;
        let i64 = self.cx.i64_type();
        let mut passed: Vec<BasicMetadataValueEnum<'c>> =
            vec![callee.into(), i64.const_int(run.len() as u64, false).into()];
        for arg in &args {
            match arg {
                Arg::Same(value) => passed.push((*value).into()),
                Arg::Step(value, step) => {
                    passed.push((*value).into());
                    passed.push(i64.const_int(*step as u64, true).into());
                }
                Arg::Table(values) => passed.push(self.table(values, run)?.into()),
            }
        }
        let last = *run.last().ok_or_else(no_operand)?;
        self.b.position_before(&last);
        self.b.build_call(repeat, &passed, "")?;
        run.iter().for_each(|call| call.erase_from_basic_block());
        Ok(())
    }

    /// Writes values to a table on the stack, each where the call was that it is for.
    fn table(&self, values: &[V<'c>], run: &[InstructionValue<'c>]) -> Result<V<'c>> {
        let ty = values.first().ok_or_else(|| Error::bug("an empty table"))?.get_type();
        let entry = self.function.get_first_basic_block().and_then(BasicBlock::get_first_instruction);
        self.b.position_before(&entry.ok_or_else(|| Error::bug("a function without code"))?);
        let table = self.b.build_alloca(ty.array_type(values.len() as u32), "table")?;
        for ((index, value), call) in (0_u64..).zip(values).zip(run) {
            self.b.position_before(call);
            let index = self.cx.i64_type().const_int(index, false);
            // SAFETY: the table has as many elements as there are values.
            let to = unsafe { self.b.build_gep(ty, table, &[index], "")? };
            self.b.build_store(to, *value)?;
        }
        Ok(table.into())
    }

    /// A function that calls another again and again.
    fn repeat(
        &mut self,
        args: &[Arg<'c>],
        types: &[char],
        callee: FunctionType<'c>,
    ) -> Result<FunctionValue<'c>> {
        let mut name = "repeat_".to_owned();
        let (ptr, i64): (BasicTypeEnum<'c>, BasicTypeEnum<'c>) =
            (self.cx.ptr_type(Default::default()).into(), self.cx.i64_type().into());
        let mut params = vec![ptr, i64];
        for (arg, letter) in args.iter().zip(types) {
            let kind = match arg {
                Arg::Same(value) => {
                    params.push(value.get_type());
                    "same"
                }
                Arg::Step(..) => {
                    params.extend([ptr, i64]);
                    "step"
                }
                Arg::Table(_) => {
                    params.push(ptr);
                    "table"
                }
            };
            write!(name, ".{kind}_{letter}").map_err(|_full| Error::bug("a name"))?;
        }
        if let Some(known) = self.module.get_function(&name) {
            return Ok(known);
        }
        let params: Vec<_> = params.into_iter().map(Into::into).collect();
        let ty = self.cx.void_type().fn_type(&params, false);
        let repeat = self.module.add_function(&name, ty, Some(Linkage::Internal));
        self.body(repeat, args, types, callee)?;
        self.made.push(repeat);
        Ok(repeat)
    }

    fn body(
        &self,
        repeat: FunctionValue<'c>,
        args: &[Arg<'c>],
        types: &[char],
        callee: FunctionType<'c>,
    ) -> Result<()> {
        let b = self.cx.create_builder();
        let [entry, again, end] =
            ["entry", "again", "end"].map(|name| self.cx.append_basic_block(repeat, name));
        b.position_at_end(entry);
        b.build_unconditional_branch(again)?;
        b.position_at_end(again);
        let i64 = self.cx.i64_type();
        let number = b.build_phi(i64, "")?;
        let index = number.as_basic_value().into_int_value();
        let mut params = repeat.get_param_iter();
        let mut param = || params.next().ok_or_else(|| Error::bug("a parameter is missing"));
        let (function, count) = (param()?.into_pointer_value(), param()?.into_int_value());
        let mut passed: Vec<BasicMetadataValueEnum<'c>> = Vec::new();
        for (arg, letter) in args.iter().zip(types) {
            passed.push(match arg {
                Arg::Same(_) => param()?.into(),
                Arg::Step(..) => {
                    let (start, step) = (param()?.into_pointer_value(), param()?.into_int_value());
                    let distance = b.build_int_mul(index, step, "")?;
                    // SAFETY: the address that a call had, `index` steps behind the first one's.
                    unsafe { b.build_gep(self.cx.i8_type(), start, &[distance], "")? }.into()
                }
                Arg::Table(_) => {
                    let ty: BasicTypeEnum<'c> = match letter {
                        'p' => self.cx.ptr_type(Default::default()).into(),
                        'w' => self.cx.i32_type().into(),
                        _ => i64.into(),
                    };
                    // SAFETY: the table has an element for each call.
                    let from = unsafe { b.build_gep(ty, param()?.into_pointer_value(), &[index], "")? };
                    b.build_load(ty, from, "")?.into()
                }
            });
        }
        b.build_indirect_call(callee, function, &passed, "")?;
        let next = b.build_int_add(index, i64.const_int(1, false), "")?;
        number.add_incoming(&[(&i64.const_zero(), entry), (&next, again)]);
        let more = b.build_int_compare(IntPredicate::ULT, next, count, "")?;
        b.build_conditional_branch(more, again, end)?;
        b.position_at_end(end);
        b.build_return(None)?;
        Ok(())
    }
}

/// How an argument changes that has these values.
fn classify(values: Vec<V<'_>>) -> Arg<'_> {
    let places: Vec<_> = values.iter().map(|&value| place(value)).collect();
    match (values.as_slice(), places.as_slice()) {
        ([first, rest @ ..], _) if rest.iter().all(|value| value == first) => Arg::Same(*first),
        ([first, ..], [(root, start), (_, second), ..]) => {
            let step = second.wrapping_sub(*start);
            let is_even = (0_i64..).zip(&places).all(|(number, (from, at))| {
                from == root && *at == start.wrapping_add(step.wrapping_mul(number))
            });
            if is_even && first.is_pointer_value() { Arg::Step(*first, step) } else { Arg::Table(values) }
        }
        _ => Arg::Table(values),
    }
}

/// An address as another and how far it is from that.
pub(crate) fn place(value: V<'_>) -> (V<'_>, i64) {
    let distance = || {
        let inst = value.as_instruction_value()?;
        let is_step = inst.get_opcode() == InstructionOpcode::GetElementPtr && inst.get_num_operands() == 2;
        let in_bytes = inst.get_gep_source_element_type().ok()?;
        let is_byte = in_bytes.is_int_type() && in_bytes.into_int_type().get_bit_width() == 8;
        let by = operand(inst, 1).filter(|by| by.is_int_value() && is_step && is_byte)?.into_int_value();
        Some((operand(inst, 0)?, by.get_sign_extended_constant()?))
    };
    distance().unwrap_or((value, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::memory_buffer::MemoryBuffer;

    /// What becomes of these instructions for each number, which is `{}`; `{k}` goes in steps of 1024.
    fn rolled(calls: &str, count: usize) -> String {
        let mut text = "define void @f(ptr %context, i64 %x, i32 %w) {
              %f = load ptr, ptr %context, align 8, !invariant.load !0
              %g = load ptr, ptr %context, align 8, !invariant.load !0\n"
            .to_owned();
        for i in 0..count {
            text.push_str(&calls.replace("{}", &i.to_string()).replace("{k}", &(1024 * i + 64).to_string()));
            text.push('\n');
        }
        text.push_str("ret void\n}\n!0 = !{}");
        let cx = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = cx.create_module_from_ir(buffer).unwrap();
        let function = module.get_function("f").unwrap();
        let made = roll(&cx, &module, function).unwrap();
        module.verify().unwrap();
        let calls =
            function.get_basic_block_iter().flat_map(BasicBlock::get_instructions).filter(|i| is_call(*i));
        format!("{} calls, {} functions\n{}", calls.count(), made.len(), module.to_string())
    }

    #[test]
    fn calls_in_a_row_become_a_loop() {
        let alike = "%p{} = getelementptr i8, ptr %context, i64 {k}
                     %y{} = add i64 %x, {}
                     call void %f(ptr %p{}, i32 %w, i64 %y{})";
        let found = rolled(alike, 4);
        assert!(found.starts_with("1 calls, 1 functions"), "{found}");
        assert!(
            found.contains(
                "@repeat_.step_p.same_w.table_l(ptr %f, i64 4, ptr %p0, i64 1024, i32 %w, ptr %table)"
            ),
            "{found}"
        );
        assert!(rolled(alike, 3).starts_with("3 calls, 0 functions"), "too few");
    }

    #[test]
    fn what_the_calls_may_see_ends_a_run() {
        for between in [
            "store i32 %w, ptr %context",
            "%z{} = load i32, ptr %context",
            "call void %g(i64 %x)",
            "fence seq_cst",
        ] {
            let found = rolled(&format!("call void %f(i64 %x)\n{between}"), 8);
            assert!(found.contains(", 0 functions"), "{between}: {found}");
        }
    }

    #[test]
    fn addresses_at_uneven_distances_are_in_a_table() {
        let uneven = "%i{} = mul i64 %x, {}
                      %p{} = getelementptr i8, ptr %context, i64 %i{}
                      call void %f(ptr %p{})";
        let found = rolled(uneven, 6);
        assert!(found.contains("@repeat_.table_p(ptr %f, i64 6, ptr %table)"), "{found}");
    }

    #[test]
    fn results_and_unlike_constants_are_left_alone() {
        for call in ["%r{} = call i32 %f(i64 %x)", "call void %f(i64 {})", "call void %f(float 1.0)"] {
            let found = rolled(call, 8);
            assert!(found.starts_with("8 calls, 0 functions"), "{call}: {found}");
        }
    }
}
