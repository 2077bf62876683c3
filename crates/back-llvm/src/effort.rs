//! How much LLVM does for code, by how much code there is.
//!
//! Parts of LLVM take time with the square of the code or more: the register allocator splits each value that lives
//! through many blocks, `instcombine` asks of each condition what those before it imply, a variable becomes registers
//! by a walk over the blocks. Ordinary code gets all of it. Code that is so large that this would take seconds gets
//! what takes time with its length alone: each block by itself, variables in memory where there are very many.

use crate::lanes::leaves_registers;
use inkwell::OptimizationLevel;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::values::{BasicValue, CallSiteValue, FunctionValue, InstructionOpcode, InstructionValue};
use rustc_hash::FxHashMap;

/// What the lowering leaves to do: variables become registers, masks and bounds checks that are known are folded,
/// what does not change moves out of loops. What is computed twice is found by `early-cse` where the first place is on
/// every way to the second; `gvn`, which looks further, found nothing in kernels, and took a quarter to a half of all passes.
const PASSES: &str = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
loop-mssa(licm),early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,adce)";

/// The same for programs of matrices, without what they do not gain by: after these they have as many instructions as after
/// the others.
const MATRIX_PASSES: &str = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
loop-mssa(licm),early-cse<memssa>,simplifycfg,adce)";

/// Variables become registers, what is computed twice is computed once.
const FEW_PASSES: &str = "function(sroa,early-cse,simplifycfg)";

/// What is computed twice is computed once.
const ONE_PASS: &str = "function(early-cse)";

/// Instructions, before the passes, from which code is too long for all of them. An unrolled product of 40×40×40
/// has half as many; it takes 1.3 s of a Zen 3.
const LONG: usize = 24_000;

/// Blocks from which control flow is too large for all passes. Attention, the largest of our own kernels, has 212; 300
/// checked loads one behind the other have as many as this. Where all that 500 of them read is alive at once, the
/// register allocator took 7 s of a Zen 3; a `switch` of 166 cases took `instcombine` 2 s.
const MANY_BLOCKS: usize = 600;

/// Variables times blocks from which variables stay in memory: 250 variables that live through 750 blocks take 0.4 s
/// of a Zen 3 to become registers, and the time grows faster than the product.
const MANY_LIVES: usize = 1_000_000;

/// Instructions, after the passes, from which code is generated in fewer steps. The one that is left out, of those
/// that the time of a compilation shows, is the scheduler behind the register allocation: where an unrolled product
/// has thousands of values alive, it takes seven eighths of all time. The largest of our own kernels, attention, has
/// 1500.
const LARGE: usize = 2000;

/// Sum of the [`reach`] of all values from which each block keeps them in registers for itself only. The norm of an
/// inference engine has 46 000 in 1000 blocks: 0.36 s of a Zen 4 become 0.78 s, and the code is 2.2 times as fast. Where 150,
/// 300 and 500 values that are read one behind the other are all alive, it is 140 000, 550 000 and 1 500 000, and 0.24,
/// 0.57 and 0.85 s become 1.0, 3.0 and 8.2 s.
const FAR_REACH: usize = 100_000;

/// Calls of kernels and services from which code is a program of matrices, whose own instructions take no time worth
/// mentioning. The scheduler behind the register allocation took 4 to 22 ms of the 65 to 87 of products of 16×16×16
/// matrices on a Zen 4, which have 50 to 100 calls and are no slower without it. Of our own kernels those of matrices
/// have 7 calls and more, those of cooperative vectors 6, the others none to 3.
const MANY_CALLS: usize = 7;

/// What takes LLVM time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    insts: usize,
    blocks: usize,
    /// Variables.
    slots: usize,
    /// Calls of kernels and services.
    calls: usize,
}

impl Extent {
    pub(crate) fn of(function: FunctionValue<'_>) -> Self {
        let mut extent = Self::default();
        for block in function.get_basic_block_iter() {
            extent.blocks += 1;
            for inst in block.get_instructions() {
                extent.insts += 1;
                extent.slots += usize::from(inst.get_opcode() == InstructionOpcode::Alloca);
                extent.calls += usize::from(calls_kernel(inst));
            }
        }
        extent
    }

    /// The most of each that one of several functions has: what takes the square of the code takes that of each by itself.
    pub(crate) fn largest(functions: &[FunctionValue<'_>]) -> Self {
        functions.iter().map(|&f| Self::of(f)).fold(Self::default(), |x, y| Self {
            insts: x.insts.max(y.insts),
            blocks: x.blocks.max(y.blocks),
            slots: x.slots.max(y.slots),
            calls: x.calls.max(y.calls),
        })
    }
}

/// Blocks between those where values are made and last used, in the order of the code, of all values: what a register
/// allocator goes through that keeps values in registers from block to block.
pub(crate) fn reach(function: FunctionValue<'_>) -> usize {
    let mut made: FxHashMap<InstructionValue<'_>, (usize, usize)> = FxHashMap::default();
    for (number, block) in function.get_basic_block_iter().enumerate() {
        for inst in block.get_instructions() {
            made.insert(inst, (number, number));
        }
    }
    for (number, block) in function.get_basic_block_iter().enumerate() {
        for inst in block.get_instructions() {
            for index in 0..inst.get_num_operands() {
                let used = inst.get_operand(index).and_then(|operand| operand.value());
                let used = used.and_then(|value| value.as_instruction_value());
                if let Some((_, last)) = used.and_then(|value| made.get_mut(&value)) {
                    *last = number.max(*last);
                }
            }
        }
    }
    made.values().map(|(first, last)| last - first).sum()
}

/// Whether this calls a kernel or a service, something that is not in the module, and not rarely.
fn calls_kernel(inst: InstructionValue<'_>) -> bool {
    let cold = Attribute::get_named_enum_kind_id("cold");
    let is_rare = |call: &CallSiteValue<'_>| call.get_enum_attribute(AttributeLoc::Function, cold).is_some();
    CallSiteValue::try_from(inst).is_ok_and(|call| call.get_called_fn_value().is_none() && !is_rare(&call))
}

/// Whether this calls a function that may change registers. Intrinsics are instructions.
pub(crate) fn is_call(inst: InstructionValue<'_>) -> bool {
    let Ok(call) = CallSiteValue::try_from(inst) else { return false };
    let is_function = call.get_called_fn_value().is_none_or(|f| f.get_intrinsic_id() == 0);
    is_function && !leaves_registers(&call)
}

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Everything.
    Full,
    /// What programs of matrices gain by.
    Matrices,
    /// Values are kept in registers within blocks only, unless few of them live through many.
    Linear {
        /// Whether variables that live in one block after the other become values.
        promotes: bool,
    },
}

impl Effort {
    /// For code as it was lowered.
    pub(crate) fn for_lowered(extent: Extent) -> Self {
        match extent {
            Extent { insts, blocks, .. } if insts < LONG && blocks < MANY_BLOCKS => match extent.calls {
                MANY_CALLS.. => Self::Matrices,
                _ => Self::Full,
            },
            Extent { blocks, slots, .. } => Self::Linear { promotes: slots * blocks < MANY_LIVES },
        }
    }

    /// LLVM's passes, in order.
    pub(crate) fn passes(self) -> &'static str {
        match self {
            Self::Full => PASSES,
            Self::Matrices => MATRIX_PASSES,
            Self::Linear { promotes: true } => FEW_PASSES,
            Self::Linear { promotes: false } => ONE_PASS,
        }
    }

    /// How to generate code, once the passes have run; `reach` is asked for where it matters.
    pub(crate) fn level(self, optimized: Extent, reach: impl FnOnce() -> usize) -> OptimizationLevel {
        match self {
            Self::Full if optimized.insts < LARGE => OptimizationLevel::Default,
            Self::Full | Self::Matrices => OptimizationLevel::Less,
            Self::Linear { promotes: true } if optimized.insts < LONG && reach() < FAR_REACH => {
                OptimizationLevel::Less
            }
            Self::Linear { .. } => OptimizationLevel::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    #[test]
    fn what_is_left_out_grows_with_the_code() {
        let extent = |insts, blocks, slots| Extent { insts, blocks, slots, calls: 0 };
        let attention = Effort::for_lowered(extent(3000, 200, 100));
        assert_eq!(
            (attention, attention.level(extent(1500, 200, 0), || 0)),
            (Effort::Full, OptimizationLevel::Default)
        );
        let tiled = Effort::for_lowered(Extent { calls: 60, ..extent(2000, 20, 10) });
        assert_eq!(
            (tiled, tiled.level(extent(1500, 20, 0), || 0)),
            (Effort::Matrices, OptimizationLevel::Less)
        );
        let of_calls = |calls| Effort::for_lowered(Extent { calls, ..extent(700, 25, 10) });
        assert_eq!((of_calls(MANY_CALLS - 1), of_calls(MANY_CALLS)), (Effort::Full, Effort::Matrices));
        let product = Effort::for_lowered(extent(23_000, 50, 100));
        assert_eq!(
            (product, product.level(extent(20_000, 50, 0), || 0)),
            (Effort::Full, OptimizationLevel::Less)
        );
        let loads = Effort::for_lowered(extent(5000, 900, 10));
        assert_eq!(loads, Effort::Linear { promotes: true });
        assert_eq!(loads.level(extent(5000, 900, 0), || FAR_REACH), OptimizationLevel::None);
        assert_eq!(loads.level(extent(5000, 900, 0), || FAR_REACH - 1), OptimizationLevel::Less);
        assert_eq!(loads.level(extent(LONG, 900, 0), || 0), OptimizationLevel::None);
        let variables = Effort::for_lowered(extent(25_000, 2000, 1000));
        assert_eq!(variables, Effort::Linear { promotes: false });
        assert_eq!(variables.level(extent(1, 1, 0), || 0), OptimizationLevel::None);
    }

    #[test]
    fn reach_counts_the_blocks_that_values_live_through() {
        let text = "
            define i32 @f(i32 %x) {
            a:
              %near = add i32 %x, 1
              %far = add i32 %near, 2
              br label %b
            b:
              %next = add i32 %near, 3
              br label %c
            c:
              %sum = add i32 %far, %next
              ret i32 %sum
            }";
        let cx = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = cx.create_module_from_ir(buffer).unwrap();
        // From a to b, from a to c, and from b to c.
        assert_eq!(reach(module.get_function("f").unwrap()), 1 + 2 + 1);
    }
}
