//! The LLVM function, its entry block, and what is computed there once.
//!
//! The first block holds all stack slots, the one behind it everything that depends on the context alone: LLVM could not
//! move a load of a buffer's address out of a loop that stores to buffers, but we know that the context does not change.
//!
//! Where subgroups do not wait for each other the function runs many, one after the other, for a small one takes no longer than
//! a call and what the entry block does. What differs between them is computed in a block behind it:
//!
//! ```text
//! entry ─▶ group ─▶ body … ─▶ ret ─▶ leave
//!            ▲                 │ while there are more
//!            ╰─────────────────╯
//! ```

use crate::abi::offset;
use crate::emit::{Emit, TypeKey, V, type_key};
use crate::error::Result;
use crate::lower::{Exec, Lower};
use crate::suspend::Suspends;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::module::Linkage;
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::{FunctionValue, PointerValue};
use rustc_hash::FxHashMap;

/// What the context holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    Dispatch,
    Groups,
    GroupId(u8),
    SubgroupId,
    Shared,
    Scratch,
    Common,
    Site,
    Bindings,
    Push,
    NumGroups(u8),
    Stop,
    Kernels,
    Math,
    Services,
}

/// The subgroup that a function runs of those that it runs in a row: variables on the stack.
#[derive(Clone, Copy, Debug)]
struct Current<'c> {
    group: PointerValue<'c>,
    subgroup: PointerValue<'c>,
    /// The first work-group that it does not run.
    end: V<'c>,
}

/// The LLVM function and its entry block.
#[derive(Debug)]
pub(crate) struct Prologue<'c> {
    /// The LLVM function.
    pub(crate) function: FunctionValue<'c>,
    /// Where a subgroup ends.
    pub(crate) ret: BasicBlock<'c>,
    /// Its argument, the [`SubgroupContext`](crate::abi::SubgroupContext).
    pub(crate) context: PointerValue<'c>,
    /// At the end of the first block, which holds the slots on the stack.
    slots: Builder<'c>,
    /// Where what the context alone says is computed, behind it.
    entry: BasicBlock<'c>,
    /// At its end.
    builder: Builder<'c>,
    /// If it stops at barriers, how.
    pub(crate) suspends: Option<Suspends<'c>>,
    /// Where a subgroup begins, behind the entry block.
    group: BasicBlock<'c>,
    /// At its end.
    group_builder: Builder<'c>,
    /// Where that goes on.
    body: BasicBlock<'c>,
    /// Whether another form is for what programs mostly do, so that this one should be small.
    pub(crate) is_rare: bool,
    /// Whether it may run subgroups in a row: not if it is for one of them only.
    pub(crate) may_run_groups: bool,
    /// Whether it stops at barriers although it may have none, as another one for the same work-group does.
    pub(crate) stops: bool,
    /// If it runs subgroups in a row, the one that runs.
    current: Option<Current<'c>>,
    fields: FxHashMap<Field, V<'c>>,
    spills: FxHashMap<(TypeKey, u32), PointerValue<'c>>,
    /// Base and size of buffers with a constant index.
    pub(crate) buffers: FxHashMap<(usize, u64), (V<'c>, V<'c>)>,
}

impl<'c> Prologue<'c> {
    pub(crate) fn new(e: &Emit<'c>, name: &str, linkage: Linkage) -> Self {
        let function = entry_function(e, name, linkage);
        let slots = e.cx.create_builder();
        slots.position_at_end(e.new_block(function, "slots"));
        let entry = e.new_block(function, "entry");
        let builder = e.cx.create_builder();
        builder.position_at_end(entry);
        let group = e.new_block(function, "group");
        let group_builder = e.cx.create_builder();
        group_builder.position_at_end(group);
        let body = e.new_block(function, "body");
        let ret = e.new_block(function, "ret");
        e.b.position_at_end(body);
        Self {
            function,
            ret,
            context: function.get_nth_param(0).expect("declared above").into_pointer_value(),
            slots,
            entry,
            builder,
            suspends: None,
            group,
            group_builder,
            body,
            may_run_groups: true,
            stops: false,
            is_rare: false,
            current: None,
            fields: FxHashMap::default(),
            spills: FxHashMap::default(),
            buffers: FxHashMap::default(),
        }
    }
}

/// Declares a function of type [`Entry`](crate::abi::Entry).
pub(crate) fn entry_function<'c>(e: &Emit<'c>, name: &str, linkage: Linkage) -> FunctionValue<'c> {
    let ty = e.cx.void_type().fn_type(&[e.ptr_ty().into()], false);
    e.module.add_function(name, ty, Some(linkage))
}

impl<'c> Lower<'_, 'c> {
    /// Finds out which subgroups it runs, and which lanes exist.
    pub(crate) fn start(&mut self) -> Result<()> {
        if self.stops() {
            self.prologue.suspends = Some(Suspends::new(&self.e, self.prologue.function));
        }
        if self.runs_groups() {
            let number = self.e.cx.i32_type();
            let (group, subgroup) = (self.alloca(number, "group_x")?, self.alloca(number, "subgroup")?);
            let (first, count) = (self.field(Field::GroupId(0))?, self.field(Field::Groups)?);
            let end = self.at_entry(|l| {
                l.e.store(first, group, 4)?;
                l.e.store(l.e.i32(0), subgroup, 4)?;
                l.e.add(first, count)
            })?;
            // From here on it is that of the work-group that runs.
            self.prologue.fields.remove(&Field::GroupId(0));
            self.prologue.current = Some(Current { group, subgroup, end });
        }
        let invocations = self.ir.workgroup_invocations();
        if !invocations.is_multiple_of(self.w) {
            let id = self.field(Field::SubgroupId)?;
            let mask = self.at_group(|l| {
                let before = l.e.mul(id, l.e.i32(l.w))?;
                let rest = l.e.sub(l.e.i32(invocations), before)?;
                let lanes = l.e.const_ints(32, 0..u64::from(l.w));
                l.e.icmp(IntPredicate::ULT, lanes, l.e.splat(rest, l.w)?)
            })?;
            self.root = Exec { mask: Some(mask) };
        }
        (self.exec, self.alive) = (self.root, self.root);
        Ok(())
    }

    /// Completes the blocks in front of the body, and what comes behind it.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let first = self.prologue.entry;
        std::mem::swap(&mut self.e.b, &mut self.prologue.slots);
        if let Some(suspends) = self.prologue.suspends {
            self.complete_frame(suspends, first)?;
        } else {
            self.e.br(first)?;
            self.e.b.position_at_end(self.prologue.ret);
            match self.prologue.current {
                Some(current) => self.go_on_to_next(current)?,
                None => _ = self.e.b.build_return(None)?,
            }
        }
        self.prologue.builder.build_unconditional_branch(self.prologue.group)?;
        self.prologue.group_builder.build_unconditional_branch(self.prologue.body)?;
        Ok(())
    }

    /// Goes on to the next subgroup, unless this was the last one or the dispatch stops.
    fn go_on_to_next(&mut self, current: Current<'c>) -> Result<()> {
        let number = self.e.cx.i32_type();
        let leave = self.new_block("leave");
        let step = match self.ir.num_subgroups() {
            1 => self.e.i32(1),
            count => {
                let next = self.e.add(self.e.load(number, current.subgroup, 4)?, self.e.i32(1))?;
                let is_first = self.e.icmp(IntPredicate::EQ, next, self.e.i32(count))?;
                let next = self.e.select(is_first, self.e.i32(0), next)?;
                self.e.store(next, current.subgroup, 4)?;
                self.e.zext_trunc(is_first, 32)?
            }
        };
        let group = self.e.add(self.e.load(number, current.group, 4)?, step)?;
        self.e.store(group, current.group, 4)?;
        let more = self.e.icmp(IntPredicate::NE, group, current.end)?;
        let go_on = self.new_block("more");
        self.e.cond_br(more, go_on, leave)?;
        self.e.b.position_at_end(go_on);
        let is_set = self.is_stopped()?;
        self.e.cond_br(is_set, leave, self.prologue.group)?;
        self.e.b.position_at_end(leave);
        self.e.b.build_return(None)?;
        Ok(())
    }

    /// Appends code to the block where a subgroup begins, where all lanes that exist are active: what depends on its number
    /// or on that of its work-group along x. It must not create blocks.
    pub(crate) fn at_group<T>(&mut self, emit: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        std::mem::swap(&mut self.e.b, &mut self.prologue.group_builder);
        let exec = std::mem::replace(&mut self.exec, self.root);
        let result = emit(self);
        self.exec = exec;
        std::mem::swap(&mut self.e.b, &mut self.prologue.group_builder);
        result
    }

    /// Appends code to the entry block, where all lanes are active. It must not create
    /// blocks.
    pub(crate) fn at_entry<T>(&mut self, emit: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        std::mem::swap(&mut self.e.b, &mut self.prologue.builder);
        let exec = std::mem::replace(&mut self.exec, self.root);
        let result = emit(self);
        self.exec = exec;
        std::mem::swap(&mut self.e.b, &mut self.prologue.builder);
        result
    }

    /// A field of the context.
    pub(crate) fn field(&mut self, field: Field) -> Result<V<'c>> {
        if let Some(&v) = self.prologue.fields.get(&field) {
            return Ok(v);
        }
        let u32_at = |base: usize, axis: u8| base + 4 * usize::from(axis);
        let (of_dispatch, at) = match field {
            Field::Dispatch => (false, offset::SUBGROUP_DISPATCH),
            Field::Groups => (false, offset::SUBGROUP_GROUPS),
            Field::GroupId(axis) => (false, u32_at(offset::SUBGROUP_GROUP_ID, axis)),
            Field::SubgroupId => (false, offset::SUBGROUP_ID),
            Field::Shared => (false, offset::SUBGROUP_SHARED),
            Field::Scratch => (false, offset::SUBGROUP_SCRATCH),
            Field::Common => (false, offset::SUBGROUP_COMMON),
            Field::Site => (false, offset::SUBGROUP_SITE),
            Field::Bindings => (true, offset::DISPATCH_BINDINGS),
            Field::Push => (true, offset::DISPATCH_PUSH),
            Field::NumGroups(axis) => (true, u32_at(offset::DISPATCH_NUM_GROUPS, axis)),
            Field::Stop => (true, offset::DISPATCH_STOP),
            Field::Kernels => (true, offset::DISPATCH_KERNELS),
            Field::Math => (true, offset::DISPATCH_MATH),
            Field::Services => (true, offset::DISPATCH_SERVICES),
        };
        let is_number =
            matches!(field, Field::Groups | Field::GroupId(_) | Field::SubgroupId | Field::NumGroups(_));
        let ty: BasicTypeEnum<'c> =
            if is_number { self.e.cx.i32_type().into() } else { self.e.ptr_ty().into() };
        let current = self.prologue.current.and_then(|current| match field {
            Field::GroupId(0) => Some(current.group),
            Field::SubgroupId => Some(current.subgroup),
            _ => None,
        });
        if let Some(variable) = current {
            let v = self.at_group(|l| l.e.load(ty, variable, 4))?;
            self.prologue.fields.insert(field, v);
            return Ok(v);
        }
        let base = match of_dispatch {
            true => self.field(Field::Dispatch)?.into_pointer_value(),
            false => self.prologue.context,
        };
        let v = self.at_entry(|l| {
            let ptr = l.e.field(base, at as u64)?;
            l.e.load_invariant(ty, ptr, if is_number { 4 } else { 8 })
        })?;
        self.prologue.fields.insert(field, v);
        Ok(v)
    }

    /// A pointer among the fields of the context.
    pub(crate) fn field_ptr(&mut self, field: Field) -> Result<PointerValue<'c>> {
        Ok(self.field(field)?.into_pointer_value())
    }

    /// The address of scratch memory at an offset.
    pub(crate) fn scratch_ptr(&mut self, at: u64) -> Result<PointerValue<'c>> {
        let scratch = self.field_ptr(Field::Scratch)?;
        self.at_entry(|l| l.e.field(scratch, at))
    }

    /// The address of memory that subgroups have in turn, at an offset.
    pub(crate) fn common_ptr(&mut self, at: u64) -> Result<PointerValue<'c>> {
        let common = self.field_ptr(Field::Common)?;
        self.at_entry(|l| l.e.field(common, at))
    }

    /// A slot on the stack.
    pub(crate) fn alloca(&mut self, ty: impl BasicType<'c>, name: &str) -> Result<PointerValue<'c>> {
        Ok(self.prologue.slots.build_alloca(ty, name)?)
    }

    /// A slot on the stack for values that need to be in memory for a moment. There is one for
    /// each type and number.
    pub(crate) fn spill_slot(&mut self, ty: BasicTypeEnum<'c>, number: u32) -> Result<PointerValue<'c>> {
        if let Some(&p) = self.prologue.spills.get(&(type_key(ty), number)) {
            return Ok(p);
        }
        let p = self.alloca(ty, "spill")?;
        self.prologue.spills.insert((type_key(ty), number), p);
        Ok(p)
    }

    /// Calls entry `index` of a table of functions.
    pub(crate) fn call_table(
        &mut self,
        table: Field,
        index: usize,
        args: &[V<'c>],
        result: Option<BasicTypeEnum<'c>>,
    ) -> Result<Option<V<'c>>> {
        let function = self.table_entry(table, 8 * index as u64)?;
        self.e.call(function, args, result)
    }

    /// Reads a function's address from a table.
    pub(crate) fn table_entry(&mut self, table: Field, at: u64) -> Result<PointerValue<'c>> {
        let base = self.field_ptr(table)?;
        let entry = self.e.field(base, at)?;
        Ok(self.e.load_invariant(self.e.ptr_ty(), entry, 8)?.into_pointer_value())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, Target, compile};
    use phalanx_ir::{text, verify};
    use phalanx_kernels::Processor;

    /// Whether code runs work-groups of so many invocations in a row.
    fn runs_groups(invocations: u32, code: &str) -> bool {
        let module = format!(
            "kernel \"main\"
workgroup_size {invocations} 1 1
subgroup_size 32
binding buf0 = 0.0 storage writable
{{
  %0: i32 = const 0
  %p: ptr<buffer> = buffer_ptr<buf0> %0
  %stride: i64 = const 64
  {code}
}}
"
        );
        let module = verify(text::parse(&module).unwrap()).unwrap();
        let target = Target::new(Processor::named("znver4").unwrap());
        compile(&module, &target, &Options::default()).unwrap().meta.runs_groups
    }

    #[test]
    fn subgroups_that_do_not_wait_run_in_a_row() {
        let store = "store %p, %0";
        let barrier = "barrier<workgroup, workgroup>";
        let matrix = "%m: mat<16x16xf32, subgroup, acc> = mat_load %p, %stride\n mat_store %p, %m, %stride";
        assert!(runs_groups(32, store) && runs_groups(48, store));
        // The only subgroup waits for nobody.
        assert!(runs_groups(32, barrier) && !runs_groups(64, barrier));
        assert!(!runs_groups(32, matrix));
    }
}
