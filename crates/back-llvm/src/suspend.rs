//! Functions that stop at barriers, and go on when the host calls them again.
//!
//! Where subgroups of a work-group wait for each other the function is a coroutine of LLVM's: `coro-split` makes a function of
//! it that prepares a frame and returns, and one that goes on from where the frame says, up to the next barrier. The host goes
//! from subgroup to subgroup, so a barrier costs a return, a call, and what is in use across it, which lies in the frame.
//!
//! The intrinsics take tokens, which LLVM's C interface cannot make. So the functions that call them are text, which is
//! inlined before anything else is done.

use crate::abi::offset;
use crate::emit::{Emit, const_int};
use crate::error::{Error, Result};
use crate::lower::Lower;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::types::FunctionType;
use inkwell::values::{FunctionValue, InstructionOpcode, InstructionValue, IntValue};

/// The functions, and where they leave what is known of the frame when it is made.
const TEXT: &str = "
@frame_bytes = linkonce_odr hidden global i64 0
@frame_align = linkonce_odr hidden global i64 0
declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare i64 @llvm.coro.align.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare i1 @llvm.coro.end(ptr, i1, token)
define linkonce_odr hidden ptr @frame_begin(ptr %memory) alwaysinline nounwind {
  %id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)
  %bytes = call i64 @llvm.coro.size.i64()
  store volatile i64 %bytes, ptr @frame_bytes
  %align = call i64 @llvm.coro.align.i64()
  store volatile i64 %align, ptr @frame_align
  %frame = call ptr @llvm.coro.begin(token %id, ptr %memory)
  ret ptr %frame
}
define linkonce_odr hidden i8 @frame_wait() alwaysinline nounwind {
  %way = call i8 @llvm.coro.suspend(token none, i1 false)
  ret i8 %way
}
define linkonce_odr hidden i8 @frame_last() alwaysinline nounwind {
  %way = call i8 @llvm.coro.suspend(token none, i1 true)
  ret i8 %way
}
define linkonce_odr hidden void @frame_end(ptr %frame) alwaysinline nounwind {
  %ended = call i1 @llvm.coro.end(ptr %frame, i1 false, token none)
  ret void
}
\0";

/// Passes before all others, and behind them.
const BEFORE: &str = "always-inline,coro-early";
const BEHIND: &str = "cgscc(coro-split),coro-cleanup";

/// A function that stops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspends<'c> {
    /// Where it leaves, for now or for ever.
    away: BasicBlock<'c>,
}

impl<'c> Suspends<'c> {
    pub(crate) fn new(e: &Emit<'c>, function: FunctionValue<'c>) -> Self {
        Self { away: e.new_block(function, "away") }
    }
}

impl<'c> Lower<'_, 'c> {
    /// Leaves the function until the host calls it again, or goes on if it does not stop here.
    pub(crate) fn suspend(&mut self, suspends: Suspends<'c>) -> Result<()> {
        let go_on = self.new_block("behind");
        let way = self.way("frame_wait")?;
        self.e.b.build_switch(way, suspends.away, &[(self.e.cx.i8_type().const_zero(), go_on)])?;
        self.e.b.position_at_end(go_on);
        Ok(())
    }

    /// Completes a function that stops: at the current position, behind its slots, it makes the frame and stops before it
    /// does anything; where it ends it stops for ever.
    pub(crate) fn complete_frame(&mut self, suspends: Suspends<'c>, first: BasicBlock<'c>) -> Result<()> {
        let byte = self.e.cx.i8_type();
        let memory = self.e.field(self.prologue.context, offset::SUBGROUP_FRAME as u64)?;
        let memory = self.e.load_invariant(self.e.ptr_ty(), memory, 8)?;
        let ty = self.e.ptr_ty().fn_type(&[self.e.ptr_ty().into()], false);
        let begin = self.declared("frame_begin", ty);
        let frame = self.e.b.build_call(begin, &[memory.into()], "frame")?.try_as_basic_value();
        let frame = frame.basic().ok_or_else(|| Error::bug("a frame has an address"))?.into_pointer_value();
        let way = self.way("frame_wait")?;
        self.e.b.build_switch(way, suspends.away, &[(byte.const_zero(), first)])?;
        self.e.b.position_at_end(self.prologue.ret);
        let never = self.new_block("never");
        let way = self.way("frame_last")?;
        self.e.b.build_switch(way, suspends.away, &[(byte.const_zero(), never)])?;
        self.e.b.position_at_end(never);
        self.e.b.build_unreachable()?;
        self.e.b.position_at_end(suspends.away);
        let ty = self.e.cx.void_type().fn_type(&[self.e.ptr_ty().into()], false);
        let end = self.declared("frame_end", ty);
        self.e.b.build_call(end, &[frame.into()], "")?;
        self.e.b.build_return(None)?;
        let kind = Attribute::get_named_enum_kind_id("presplitcoroutine");
        let attribute = self.e.cx.create_enum_attribute(kind, 0);
        self.prologue.function.add_attribute(AttributeLoc::Function, attribute);
        Ok(())
    }

    /// Calls a function that stops, and gives which way it goes on: 0 if it does.
    fn way(&self, name: &str) -> Result<IntValue<'c>> {
        let ty = self.e.cx.i8_type().fn_type(&[], false);
        let way = self.e.b.build_call(self.declared(name, ty), &[], "way")?.try_as_basic_value();
        Ok(way.basic().ok_or_else(|| Error::bug("a way is a number"))?.into_int_value())
    }

    fn declared(&self, name: &str, ty: FunctionType<'c>) -> FunctionValue<'c> {
        let known = self.e.module.get_function(name);
        known.unwrap_or_else(|| self.e.module.add_function(name, ty, None))
    }
}

/// Bytes and alignment of the largest frame of a module's functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) bytes: u64,
    pub(crate) align: u64,
}

/// Whether a module has functions that stop.
pub(crate) fn has_frames(module: &Module<'_>) -> bool {
    module.get_function("frame_begin").is_some()
}

/// Defines what such functions call.
pub(crate) fn define<'c>(cx: &'c Context, module: &Module<'c>) -> Result<()> {
    let text = MemoryBuffer::create_from_memory_range_copy(TEXT.as_bytes(), "frames");
    let refused = |e: inkwell::support::LLVMString| Error::bug(format!("LLVM refuses the text: {e}"));
    let frames = cx.create_module_from_ir(text).map_err(refused)?;
    frames.set_triple(&module.get_triple());
    frames.set_data_layout(&module.get_data_layout());
    module.link_in_module(frames).map_err(refused)
}

/// The passes for a module with such functions.
pub(crate) fn passes(others: &str) -> String {
    format!("{BEFORE},{others},{BEHIND}")
}

/// Passes behind [`split`]. What prepares and what would destroy a frame return at once, which `sccp` finds: else they are as
/// long as what goes on. What is read of the frame again and again need not be read in loops, as nobody else knows where it is.
pub(crate) const PASSES_BEHIND: &str =
    "globaldce,function(sccp,simplifycfg,early-cse<memssa>,loop-mssa(licm))";

/// What the passes made of functions: those that go on, and the largest frame.
pub(crate) fn split<'c>(
    cx: &'c Context,
    module: &Module<'c>,
    functions: &[FunctionValue<'c>],
) -> Result<(Vec<FunctionValue<'c>>, Frame)> {
    let mut frame = Frame::default();
    let mut split = Vec::new();
    for &function in functions {
        let mut name = function.get_name().to_string_lossy().into_owned();
        name.push_str(".resume");
        let Some(resume) = module.get_function(&name) else {
            split.push(function);
            continue;
        };
        // Only the host has the frame's address besides, and it looks there when the function has returned.
        let noalias = cx.create_enum_attribute(Attribute::get_named_enum_kind_id("noalias"), 0);
        resume.add_attribute(AttributeLoc::Param(0), noalias);
        split.push(resume);
        frame.bytes = frame.bytes.max(take_stored(module, function, "frame_bytes")?);
        frame.align = frame.align.max(take_stored(module, function, "frame_align")?);
    }
    Ok((split, frame))
}

/// What a function stores to a variable; takes the store away.
fn take_stored<'c>(module: &Module<'c>, function: FunctionValue<'c>, name: &str) -> Result<u64> {
    let global = module.get_global(name).map(|global| global.as_pointer_value());
    let insts = function.get_basic_block_iter().flat_map(|block| block.get_instructions());
    let mut stores = insts.filter(|inst| inst.get_opcode() == InstructionOpcode::Store);
    let to = |inst: &InstructionValue<'c>| inst.get_operand(1)?.value().map(|to| to.into_pointer_value());
    let store = stores.find(|inst| to(inst).is_some() && to(inst) == global);
    let store = store.ok_or_else(|| Error::bug("a frame whose size nobody stores"))?;
    let stored = store.get_operand(0).and_then(|operand| operand.value());
    let stored = stored.and_then(const_int).ok_or_else(|| Error::bug("a frame of no known size"))?;
    store.erase_from_basic_block();
    Ok(stored)
}

#[cfg(test)]
mod tests {
    use crate::{Meta, Options, Target, compile};
    use phalanx_ir::{text, verify};
    use phalanx_kernels::Processor;

    /// A kernel of so many invocations whose value is in use across a barrier.
    fn meta(invocations: u32, value: &str) -> Meta {
        let code = format!(
            "workgroup_size {invocations} 1 1 subgroup_size 32 shared 4
             binding buf0 = 0.0 storage writable
             {{
                 %zero: i32 = const 0
                 %lane: i32 = subgroup_lane
                 %p: ptr<buffer> = buffer_ptr<buf0> %zero
                 %at: ptr<buffer> = ptr_add<scale=8> %p, %lane
                 %x: {value} = load %at
                 barrier<workgroup, workgroup>
                 store %at, %x
             }}"
        );
        let module = verify(text::parse(&code).expect("text")).expect("valid");
        let target = Target::new(Processor::named("skylake-avx512").expect("known"));
        compile(&module, &target, &Options::default()).expect("possible").meta
    }

    #[test]
    fn what_is_in_use_across_a_barrier_has_room_in_the_frame() {
        let alone = meta(32, "i64");
        assert!(!alone.stops);
        assert_eq!((alone.frame_bytes, alone.frame_align), (0, 0));
        for (value, least) in [("i32", 32 * 4), ("i64", 32 * 8)] {
            let meta = meta(64, value);
            assert!(meta.stops && meta.frame_align.is_power_of_two(), "{meta:?}");
            assert!((least..3 * least + 256).contains(&meta.frame_bytes), "{value}: {meta:?}");
        }
    }
}
