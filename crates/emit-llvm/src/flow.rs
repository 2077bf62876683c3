//! Calls, blocks and branches.

use crate::error::{Error, Result};
use crate::{Emit, V};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, CallSiteValue, FunctionValue, PointerValue};

impl<'c> Emit<'c> {
    /// Calls a function of C's convention through its address.
    pub fn call(
        &self,
        function: PointerValue<'c>,
        args: &[V<'c>],
        result: Option<BasicTypeEnum<'c>>,
    ) -> Result<Option<V<'c>>> {
        Ok(self.call_of(function, args, result)?.try_as_basic_value().basic())
    }

    /// The same of one without a result that is called rarely: LLVM knows the call as *cold*.
    pub fn call_rarely(&self, function: PointerValue<'c>, args: &[V<'c>]) -> Result<()> {
        self.call_of(function, args, None)?.add_attribute(AttributeLoc::Function, self.flag("cold"));
        Ok(())
    }

    fn call_of(
        &self,
        function: PointerValue<'c>,
        args: &[V<'c>],
        result: Option<BasicTypeEnum<'c>>,
    ) -> Result<CallSiteValue<'c>> {
        let params: Vec<BasicMetadataTypeEnum<'c>> = args.iter().map(|a| a.get_type().into()).collect();
        let ty = match result {
            Some(r) => r.fn_type(&params, false),
            None => self.cx.void_type().fn_type(&params, false),
        };
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|&a| a.into()).collect();
        let call = self.b.build_indirect_call(ty, function, &args, "")?;
        // Nothing compiled code calls unwinds; without this, frames would need landing data.
        call.add_attribute(AttributeLoc::Function, self.flag("nounwind"));
        Ok(call)
    }

    fn flag(&self, name: &str) -> Attribute {
        self.cx.create_enum_attribute(Attribute::get_named_enum_kind_id(name), 0)
    }

    /// Calls a function of this module by its own convention.
    pub fn call_direct(&self, function: FunctionValue<'c>, args: &[V<'c>]) -> Result<()> {
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|&a| a.into()).collect();
        let call = self.b.build_call(function, &args, "")?;
        call.set_call_convention(function.get_call_conventions());
        Ok(())
    }

    /// Deletes a block that nothing jumps to, and what is in it.
    pub fn delete_block(&self, block: BasicBlock<'c>) -> Result<()> {
        // SAFETY: the block is in a function, and who calls this uses it no more.
        unsafe { block.delete() }.map_err(|()| Error::bug("the block has no function"))
    }

    /// The block that code is appended to.
    pub fn here(&self) -> Result<BasicBlock<'c>> {
        self.b.get_insert_block().ok_or_else(|| Error::bug("the builder has no block"))
    }

    /// A new block at the end of the function.
    pub fn new_block(&self, function: FunctionValue<'c>, name: &str) -> BasicBlock<'c> {
        self.cx.append_basic_block(function, name)
    }

    /// A branch.
    pub fn br(&self, to: BasicBlock<'c>) -> Result<()> {
        self.b.build_unconditional_branch(to)?;
        Ok(())
    }

    /// A branch to one of two blocks.
    pub fn cond_br(&self, cond: V<'c>, then: BasicBlock<'c>, otherwise: BasicBlock<'c>) -> Result<()> {
        self.b.build_conditional_branch(cond.into_int_value(), then, otherwise)?;
        self.straight.set(0);
        Ok(())
    }

    /// A branch that is nearly always taken to the first block.
    pub fn cond_br_likely(
        &self,
        cond: V<'c>,
        likely: BasicBlock<'c>,
        unlikely: BasicBlock<'c>,
    ) -> Result<()> {
        let inst = self.b.build_conditional_branch(cond.into_int_value(), likely, unlikely)?;
        self.straight.set(0);
        let name = self.cx.metadata_string("branch_weights").into();
        let weights = self.cx.metadata_node(&[name, self.i32(2000).into(), self.i32(1).into()]);
        inst.set_metadata(weights, self.cx.get_kind_id("prof")).map_err(|e| Error::bug(e.to_string()))
    }

    /// A value that comes from several blocks. No phi is made where all agree.
    pub fn merge(&self, incoming: &[(V<'c>, BasicBlock<'c>)]) -> Result<V<'c>> {
        let (first, _) = *incoming.first().ok_or_else(|| Error::bug("nothing to merge"))?;
        if incoming.iter().all(|&(v, _)| v == first) {
            return Ok(first);
        }
        let phi = self.b.build_phi(first.get_type(), "")?;
        for (v, block) in incoming {
            phi.add_incoming(&[(v, *block)]);
        }
        Ok(phi.as_basic_value())
    }
}
