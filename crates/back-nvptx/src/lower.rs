//! The state of lowering one module, and access to the values lowered so far.

use crate::abi::{self, Layout};
use crate::ahead::{Ahead, Halves};
use crate::arch::Arch;
use crate::control::Constructs;
use crate::coopmat::stream::{Pairs, Plan, Ring, Role};
use crate::coopmat::{self, Matrices};
use crate::image;
use crate::spill::Homes;
use crate::staged;
use crate::vars::Slot;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::types::{AnyType, BasicType};
use inkwell::values::{FunctionValue, InstructionOpcode as I, PointerValue};
use inkwell::{AddressSpace, FloatPredicate, IntPredicate};
use phalanx_emit_llvm::{Emit, Error, Result, V};
use phalanx_ir::{
    BinaryOp, Block, CompareOp, Componentwise, Function, Inst, InstInfo, Module, Op, Scalar, Space, Type,
    UnaryOp, Uniformity, Value, ValueInfo, Var,
};
use smallvec::SmallVec;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// The calling convention of kernels: LLVM's `ptx_kernel`.
const PTX_KERNEL: u32 = 71;

/// Whether code follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next instruction follows.
    Next,
    /// The invocation is elsewhere: nothing may be appended.
    Left,
}

/// A pointer, in pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ptr<'c> {
    pub(crate) space: Space,
    /// Where the object starts, in its address space; in [`Space::Global`] the address that an integer was.
    pub(crate) base: V<'c>,
    /// Bytes of the object (`i64`). Meaningless in [`Space::Global`].
    pub(crate) size: V<'c>,
    /// Bytes from the start (`i64`).
    pub(crate) offset: V<'c>,
}

/// What an IR value becomes.
#[derive(Clone, Copy, Debug)]
enum Lowered<'c> {
    Scalar(V<'c>),
    Ptr(Ptr<'c>),
}

/// The state of lowering one module.
#[derive(Debug)]
pub(crate) struct Lower<'a, 'c> {
    /// The LLVM builder, at the end of the current block.
    pub(crate) e: Emit<'c>,
    /// The module that is lowered.
    pub(crate) ir: &'a Module,
    /// Its code.
    pub(crate) f: &'a Function,
    pub(crate) uniformity: &'a Uniformity,
    pub(crate) function: FunctionValue<'c>,
    pub(crate) layout: Layout,
    /// Where objects of shared memory lie.
    pub(crate) homes: Homes,
    pub(crate) arch: Arch,
    /// The block of arguments.
    pub(crate) arguments: PointerValue<'c>,
    /// Where the work-group's memory starts.
    pub(crate) shared: PointerValue<'c>,
    pub(crate) constructs: Constructs<'c>,
    /// The block that is lowered.
    pub(crate) here: Block,
    /// The loop whose blocks of shared memory are filled ahead.
    pub(crate) ahead: Option<Rc<Ahead>>,
    pub(crate) halves: Option<Halves<'c>>,
    /// Functions that work on images.
    pub(crate) images: image::Functions<'c>,
    /// Where variables live.
    pub(crate) vars: Vec<Option<Slot<'c>>>,
    /// Matrices, in values and in variables.
    pub(crate) matrices: Matrices<'c>,
    /// What comes through shared memory.
    pub(crate) ring: Option<Ring<'c>>,
    /// Vectors that are multiplied by matrices, and those that are made of them component by component.
    pub(crate) multiplied: BTreeSet<Var>,
    /// Blocks of shared memory that producers fill.
    pub(crate) blocks: Option<staged::Ring<'c>>,
    /// How many loops are around the current position.
    pub(crate) loops: u32,
    /// The accesses that are inside, where a block is executed one way or the other.
    pub(crate) known_inside: Option<HashSet<Inst>>,
    /// What elements of a run convert two by two.
    pub(crate) pairs: Option<Pairs<'c>>,
    /// The block in which memory for variables is reserved, which ends with a branch to the code.
    entry: BasicBlock<'c>,
    values: Vec<Option<Lowered<'c>>>,
}

impl<'a, 'c> Lower<'a, 'c> {
    /// Lowers a module to an entry in `e`'s LLVM module.
    pub(crate) fn module(
        e: Emit<'c>,
        ir: &'a Module,
        uniformity: &'a Uniformity,
        (layout, homes): (Layout, Homes),
        arch: Arch,
        plan: Option<Plan>,
    ) -> Result<(Emit<'c>, Layout)> {
        let block = e.cx.i8_type().array_type(layout.bytes as u32);
        let ty = e.cx.void_type().fn_type(&[e.ptr_ty().into()], false);
        let function = e.module.add_function(abi::ENTRY, ty, None);
        function.set_call_conventions(PTX_KERNEL);
        let flag = |name| e.cx.create_enum_attribute(Attribute::get_named_enum_kind_id(name), 0);
        let param = |attribute| function.add_attribute(AttributeLoc::Param(0), attribute);
        let byval = Attribute::get_named_enum_kind_id("byval");
        param(e.cx.create_type_attribute(byval, block.as_any_type_enum()));
        param(e.cx.create_enum_attribute(Attribute::get_named_enum_kind_id("align"), layout.align()));
        function.add_attribute(AttributeLoc::Function, flag("nounwind"));
        function.add_attribute(AttributeLoc::Function, flag("convergent"));
        let arguments = function
            .get_nth_param(0)
            .ok_or_else(|| Error::bug("an entry without a parameter"))?
            .into_pointer_value();
        let shared = e.module.add_global(
            e.cx.i8_type().array_type(0),
            Some(AddressSpace::from(ADDRESS_SPACE_SHARED)),
            "phalanx_shared",
        );
        shared.set_alignment(if plan.is_some() { 1024 } else { 16 });
        let shared = shared.as_pointer_value();
        let entry = e.new_block(function, "entry");
        let code = e.new_block(function, "code");
        let ret = e.new_block(function, "ret");
        e.b.position_at_end(entry);
        e.br(code)?;
        e.b.position_at_end(code);
        let mut lower = Self {
            e,
            ir,
            f: &ir.body,
            uniformity,
            function,
            layout,
            homes,
            arch,
            arguments,
            shared,
            constructs: Constructs::new(&ir.body, uniformity, ret),
            here: Function::ENTRY,
            ahead: None,
            halves: None,
            images: image::Functions::default(),
            vars: Vec::new(),
            matrices: Matrices::new(ir, uniformity, plan.is_some()),
            ring: None,
            multiplied: Componentwise::multiplied(&ir.body),
            blocks: None,
            loops: 0,
            known_inside: None,
            pairs: None,
            entry,
            values: vec![None; ir.body.values.len()],
        };
        let staged = if plan.is_none() { lower.find_staged() } else { None };
        if plan.is_none() && staged.is_none() {
            lower.find_ahead();
        }
        let together = match (&staged, &plan) {
            (Some(staged), _) => staged.registers(ir).map(|_shares| staged.together),
            (None, Some(plan)) => plan.registers(ir).map(|_shares| 1),
            (None, None) => (!multiplies(&ir.body)).then(|| ENOUGH_THREADS / lower.layout.threads),
        };
        mark_kernel(&lower.e, function, lower.layout.threads, together)?;
        if lower.layout.waits {
            lower.assembly("griddepcontrol.wait;", &[], &[], coopmat::Memory::Write)?;
        }
        lower.declare_vars()?;
        lower.start_halves()?;
        lower.start_masks()?;
        lower.start_rounds()?;
        if let Some(plan) = plan {
            lower.start_ring(plan)?;
            lower.produce(ret)?;
        }
        if let Some(staged) = staged {
            lower.start_blocks(staged)?;
            lower.produce(ret)?;
        }
        if lower.block(Function::ENTRY)? == Flow::Next {
            lower.e.br(ret)?;
        }
        lower.e.b.position_at_end(ret);
        lower.end_ring()?;
        lower.e.b.build_return(None)?;
        Ok((lower.e, lower.layout))
    }

    /// Sends producers through the code in their role, which then ends them; the others go on.
    fn produce(&mut self, ret: BasicBlock<'c>) -> Result<()> {
        let [producer, done, invocation] =
            ["producer", "produced", "invocation"].map(|name| self.new_block(name));
        let is_producer = self.is_producer()?;
        self.e.cond_br(is_producer, producer, invocation)?;
        self.e.b.position_at_end(producer);
        self.set_role(Role::Produce)?;
        self.constructs.set_return(done);
        if self.block(Function::ENTRY)? == Flow::Next {
            self.e.br(done)?;
        }
        self.e.b.position_at_end(done);
        self.finish_copies()?;
        self.e.br(ret)?;
        self.e.b.position_at_end(invocation);
        self.constructs.set_return(ret);
        self.values.fill(None);
        self.set_role(Role::Multiply)
    }

    fn set_role(&mut self, role: Role) -> Result<()> {
        if let Some(ring) = &mut self.ring {
            ring.role = role;
            return match role {
                Role::Produce => self.share_registers(),
                Role::Multiply => self.start_multiplying(),
            };
        }
        self.set_produces(role == Role::Produce)
    }

    /// Lowers a block's instructions.
    pub(crate) fn block(&mut self, block: Block) -> Result<Flow> {
        let around = std::mem::replace(&mut self.here, block);
        let flow = match self.find_within(block) {
            Some(within) => self.lower_within(within)?,
            None => self.sequence(self.f.block(block))?,
        };
        self.move_waiting()?;
        self.here = around;
        Ok(flow)
    }

    /// Lowers instructions that follow one another.
    pub(crate) fn sequence(&mut self, insts: &[Inst]) -> Result<Flow> {
        let mut flow = Flow::Next;
        let mut rest = insts;
        while let Some((&inst, after)) = rest.split_first() {
            self.move_before(inst)?;
            if let Some((count, after)) = self.fill_ahead(rest)? {
                rest = &rest[count..];
                flow = after;
                if flow == Flow::Left {
                    break;
                }
                continue;
            }
            let copied = self.copy_row(rest)?;
            if copied > 0 {
                rest = &rest[copied..];
                continue;
            }
            let chained = self.lower_chain(rest)?;
            if chained > 0 {
                rest = &rest[chained..];
                continue;
            }
            flow = self.inst(inst)?;
            if flow == Flow::Left {
                break;
            }
            self.end_blocks(inst)?;
            rest = after;
        }
        Ok(flow)
    }

    /// Sends an instruction to those who lower its kind.
    pub(crate) fn inst(&mut self, inst: Inst) -> Result<Flow> {
        let f = self.f;
        let info = f.inst(inst);
        if self.lower_streamed(inst)?.is_some() {
            return Ok(Flow::Next);
        }
        if let Some(flow) = self.lower_staged(inst)? {
            return Ok(flow);
        }
        if coopmat::concerns(f, info) {
            self.lower_matrix(inst)?;
            return Ok(Flow::Next);
        }
        match &info.op {
            Op::If { then, otherwise } => return self.lower_if(inst, *then, *otherwise),
            Op::Block { label, body } => return self.lower_block(*label, *body),
            Op::Loop { label, body } => {
                if self.has_two_products(inst) {
                    return self.lower_loop_of_two(*label, *body);
                }
                let sums = self.chained_sums(inst);
                let flow = match sums[..] {
                    [] => self.lower_loop(*label, *body)?,
                    _ => self.lower_chained_loop(*label, *body, &sums)?,
                };
                if flow == Flow::Next {
                    self.add_late(inst)?;
                }
                return Ok(flow);
            }
            Op::Br(label) => return self.lower_br(*label),
            Op::Return => return self.lower_return(),
            Op::Decline => return Err(Error::unsupported("`decline`, which is of blocks of work-groups")),
            Op::Barrier(barrier) => self.lower_barrier(*barrier)?,
            Op::Const(bits) => {
                let s = self.scalar_ty(info.results[0])?;
                let v = self.e.scalar_const(s, *bits);
                self.set(inst, v);
            }
            Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Fma
            | Op::Select
            | Op::Convert(_)
            | Op::Bitcast => self.lower_elementwise(inst)?,
            Op::Builtin(b) => {
                let v = self.builtin(*b)?;
                self.set(inst, v);
            }
            Op::VarLoad(var) => self.lower_var_load(inst, *var)?,
            Op::VarStore(var) => self.lower_var_store(inst, *var)?,
            Op::BufferPtr(_)
            | Op::PushPtr
            | Op::SharedPtr { .. }
            | Op::PtrAdd { .. }
            | Op::PtrBytesLeft
            | Op::PtrDiff
            | Op::PtrToInt
            | Op::IntToPtr => self.lower_pointer(inst)?,
            Op::Load(flags) => self.lower_load(inst, *flags)?,
            Op::Store(flags) => self.lower_store(inst, *flags)?,
            Op::Atomic(op) => self.lower_atomic(inst, *op)?,
            Op::Subgroup(op) => self.lower_subgroup(inst, *op)?,
            Op::Clock => {
                let v = self.e.intrinsic("llvm.nvvm.read.ptx.sreg.globaltimer", &[], &[])?;
                self.set(inst, v);
            }
            Op::Printf(format) => self.lower_printf(inst, *format)?,
            Op::Warn(format) => self.lower_warn(inst, *format)?,
            Op::VecMatMul(op) => self.lower_vec_mat_mul(inst, op)?,
            Op::VecOuterAdd(op) => self.lower_vec_outer_add(inst, op)?,
            Op::VecReduceAdd(var) => self.lower_vec_reduce_add(inst, *var)?,
            Op::Image(binding, op) => self.lower_image(inst, *binding, *op)?,
            op @ (Op::VarComponentLoad(_)
            | Op::VarComponentStore(_)
            | Op::MatSplat
            | Op::MatLoad { .. }
            | Op::MatStore { .. }
            | Op::MatMulAdd(_)
            | Op::MatScale
            | Op::MatCoordinate
            | Op::MatExtract
            | Op::MatInsert
            | Op::MatTranspose
            | Op::MatRotate
            | Op::MatFromLanes { .. }
            | Op::MatToLanes { .. }
            | Op::MatMap { .. }
            | Op::MatReduce { .. }
            | Op::MatLoadTensor { .. }
            | Op::MatStoreTensor(_)) => {
                return Err(Error::unsupported(phalanx_ir::text::mnemonic(op)));
            }
            Op::Params | Op::Yield => return Err(Error::bug("a region of its own")),
        }
        Ok(Flow::Next)
    }
}

/// LLVM's number of the memory of a work-group.
pub(crate) const ADDRESS_SPACE_SHARED: u16 = 3;
/// LLVM's number of the memory of the device.
pub(crate) const ADDRESS_SPACE_GLOBAL: u16 = 1;
/// LLVM's address space of a thread's own memory.
pub(crate) const ADDRESS_SPACE_LOCAL: u16 = 5;

/// So many threads of a multiprocessor hide what each of them waits for, so that more registers than they leave for each, 64,
/// gain nothing. The driver's linker gives a kernel as many as it can use (products of a matrix and a vector 80 to 180, half
/// as fast).
const ENOUGH_THREADS: u32 = 1024;

/// Whether matrices are multiplied, whose sums take as many registers as there are.
fn multiplies(f: &Function) -> bool {
    let is_matrix = |v: &ValueInfo| matches!(v.ty, Type::Mat(_));
    f.values.iter().any(is_matrix) || f.insts.iter().any(|info| matches!(info.op, Op::VecMatMul(_)))
}

/// Says in LLVM's metadata that a function is a kernel, with how many threads it runs, and how many work-groups have a
/// multiprocessor's registers among them.
fn mark_kernel<'c>(
    e: &Emit<'c>,
    function: FunctionValue<'c>,
    threads: u32,
    together: Option<u32>,
) -> Result<()> {
    let function = function.as_global_value().as_pointer_value();
    let alone = together.map(|together| ("minctasm", together));
    let sizes = [("kernel", 1), ("maxntidx", threads), ("maxntidy", 1), ("maxntidz", 1)];
    for (name, value) in sizes.into_iter().chain(alone) {
        let node =
            e.cx.metadata_node(&[function.into(), e.cx.metadata_string(name).into(), e.i32(value).into()]);
        e.module
            .add_global_metadata("nvvm.annotations", &node)
            .map_err(|error| Error::bug(error.to_string()))?;
    }
    Ok(())
}

/// Operations on values.
impl<'c> Lower<'_, 'c> {
    fn lower_elementwise(&mut self, inst: Inst) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        if info.args.iter().any(|&v| matches!(self.values[v.index()], Some(Lowered::Ptr(_)))) {
            return self.lower_on_pointers(inst, info);
        }
        let args = info.args.iter().map(|&v| self.scalar(v)).collect::<Result<SmallVec<[_; 4]>>>()?;
        let (from, to) = (self.scalar_ty(info.args[0])?, self.scalar_ty(info.results[0])?);
        let v = match (&info.op, &args[..]) {
            (Op::Unary(UnaryOp::Fabs), &[x]) if from.bits() >= 32 => self.clear_sign(from, x)?,
            (Op::Unary(UnaryOp::Fneg), &[x]) if from.bits() >= 32 => self.flip_sign(from, x)?,
            // Off by two units in the last place at most, of which Vulkan allows 3 + 2 |x|. Denormals are kept, which takes
            // three instructions more, but for elements of matrices.
            (Op::Unary(UnaryOp::Exp2), &[x]) if from == Scalar::F32 => {
                let name = match self.matrices.in_region {
                    true => "llvm.nvvm.ex2.approx.ftz.f",
                    false => "llvm.nvvm.ex2.approx.f",
                };
                self.e.intrinsic(name, &[], &[x])?
            }
            (Op::Unary(op), &[x]) => self.e.unary(*op, from, x, info.exact)?,
            // The instructions give the other operand where one is NaN, as the IR does.
            (Op::Binary(BinaryOp::Fmin), &[x, y]) if from.bits() >= 32 => self.e.map2("llvm.minnum", x, y)?,
            (Op::Binary(BinaryOp::Fmax), &[x, y]) if from.bits() >= 32 => self.e.map2("llvm.maxnum", x, y)?,
            (Op::Binary(op), &[x, y]) => self.binary(*op, from, x, y, info.exact)?,
            (Op::Compare(op), &[x, y]) => self.e.compare(*op, from, x, y)?,
            (Op::Fma, &[x, y, z]) => self.e.fma(from, x, y, z)?,
            (Op::Select, &[c, x, y]) => self.e.select(c, x, y)?,
            (Op::Convert(op), &[x]) => {
                let mut small = self.half_of_pair(inst)?;
                if to == Scalar::F16 && small.is_none() {
                    small = self.small_as_half(info.args[0], op.kind, x)?;
                }
                match small {
                    Some(half) => half,
                    None => self.e.convert(*op, from, to, x)?,
                }
            }
            (Op::Bitcast, &[x]) => self.e.bitcast(x, self.e.scalar_ty(to))?,
            _ => return Err(Error::bug("an operation has the wrong number of operands")),
        };
        self.set(inst, v);
        Ok(())
    }

    /// An operation on two numbers.
    pub(crate) fn binary(
        &mut self,
        op: BinaryOp,
        s: Scalar,
        x: V<'c>,
        y: V<'c>,
        exact: bool,
    ) -> Result<V<'c>> {
        match (op, s) {
            (BinaryOp::Fdiv, Scalar::F32) if self.has_wgmma() => self.quotient(x, y),
            (BinaryOp::Sdot4, _) => self.dot_bytes("s32.s32", x, y),
            (BinaryOp::Udot4, _) => self.dot_bytes("u32.u32", x, y),
            (BinaryOp::Sudot4, _) => self.dot_bytes("s32.u32", x, y),
            _ => self.e.binary(op, s, x, y, exact),
        }
    }

    /// The sum of the products of four bytes with four others.
    fn dot_bytes(&mut self, types: &str, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let text = format!("dp4a.{types} $0, $1, $2, 0;");
        let word = self.e.cx.i32_type().into();
        Ok(self.assembly(&text, &[word], &[x, y], coopmat::Memory::None)?[0])
    }

    /// The quotient of two numbers of 32 bits, without the call that the instruction for it becomes: where there are calls,
    /// each multiplication of a ring is waited for.
    ///
    /// In f64 it is exact to one unit in the last place, and exact where it can be. No quotient of two f32 is as near as that to a
    /// number halfway between two f32, unless it is that, so the last rounding is the only one.
    fn quotient(&mut self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        const FMA: &str = "llvm.fma";
        let f64_elem = self.e.scalar_ty(Scalar::F64);
        let [x, y] = [self.e.cast(I::FPExt, x, f64_elem)?, self.e.cast(I::FPExt, y, f64_elem)?];
        let f64_ty = [y.get_type()];
        let minus_y = self.e.unary(UnaryOp::Fneg, Scalar::F64, y, true)?;
        let first = self.e.intrinsic("llvm.nvvm.rcp.approx.ftz.d", &[], &[y])?;
        let one = self.e.float_like(Scalar::F64, 1.0, y);
        let mut reciprocal = first;
        for _ in 0..2 {
            let error = self.e.intrinsic(FMA, &f64_ty, &[minus_y, reciprocal, one])?;
            reciprocal = self.e.intrinsic(FMA, &f64_ty, &[reciprocal, error, reciprocal])?;
        }
        let near = self.e.binary(BinaryOp::Fmul, Scalar::F64, x, reciprocal, true)?;
        let rest = self.e.intrinsic(FMA, &f64_ty, &[minus_y, near, x])?;
        let quotient = self.e.intrinsic(FMA, &f64_ty, &[rest, reciprocal, near])?;
        // Of infinities and a divisor of zero the steps make NaN, of zeros one without its sign: the product with the
        // reciprocal is right there.
        let zero = self.e.float_like(Scalar::F64, 0.0, y);
        let is_special = self.e.fcmp(FloatPredicate::UEQ, quotient, zero)?;
        let product = self.e.binary(BinaryOp::Fmul, Scalar::F64, x, first, true)?;
        let quotient = self.e.select(is_special, product, quotient)?;
        self.e.cast(I::FPTrunc, quotient, self.e.scalar_ty(Scalar::F32))
    }

    /// Choosing between pointers, and comparing them.
    fn lower_on_pointers(&mut self, inst: Inst, info: &InstInfo) -> Result<()> {
        match (&info.op, &info.args[..]) {
            (Op::Select, &[cond, x, y]) => {
                let (cond, x, y) = (self.scalar(cond)?, self.ptr(x)?, self.ptr(y)?);
                let p = Ptr {
                    space: x.space,
                    base: self.e.select(cond, x.base, y.base)?,
                    size: self.e.select(cond, x.size, y.size)?,
                    offset: self.e.select(cond, x.offset, y.offset)?,
                };
                self.set_ptr(inst, p);
                Ok(())
            }
            (Op::Compare(op), &[x, y]) => {
                let predicate = match op {
                    CompareOp::Ieq => IntPredicate::EQ,
                    CompareOp::Ine => IntPredicate::NE,
                    _ => return Err(Error::bug("pointers have no order")),
                };
                let (x, y) = (self.ptr(x)?, self.ptr(y)?);
                let (x, y) = (self.address(&x)?, self.address(&y)?);
                let v = self.e.icmp(predicate, x, y)?;
                self.set(inst, v);
                Ok(())
            }
            _ => Err(Error::bug("an operation that pointers do not have")),
        }
    }
}

/// Access to values.
impl<'c> Lower<'_, 'c> {
    /// A scalar.
    pub(crate) fn scalar(&self, v: Value) -> Result<V<'c>> {
        match self.values[v.index()] {
            Some(Lowered::Scalar(x)) => Ok(x),
            Some(Lowered::Ptr(_)) => Err(Error::bug(format!("{v} is no scalar"))),
            None => Err(Error::bug(format!("{v} is used before it is defined"))),
        }
    }

    /// A pointer.
    pub(crate) fn ptr(&self, v: Value) -> Result<Ptr<'c>> {
        match self.values[v.index()] {
            Some(Lowered::Ptr(p)) => Ok(p),
            Some(Lowered::Scalar(_)) => Err(Error::bug(format!("{v} is no pointer"))),
            None => Err(Error::bug(format!("{v} is used before it is defined"))),
        }
    }

    /// Defines a value as a scalar.
    pub(crate) fn define(&mut self, v: Value, x: V<'c>) {
        self.values[v.index()] = Some(Lowered::Scalar(x));
    }

    /// Defines the first result of an instruction as a scalar.
    pub(crate) fn set(&mut self, inst: Inst, x: V<'c>) {
        self.define(self.f.inst(inst).results[0], x);
    }

    /// Defines the first result of an instruction as a pointer.
    pub(crate) fn set_ptr(&mut self, inst: Inst, p: Ptr<'c>) {
        self.values[self.f.inst(inst).results[0].index()] = Some(Lowered::Ptr(p));
    }

    /// The type of a scalar value.
    pub(crate) fn scalar_ty(&self, v: Value) -> Result<Scalar> {
        self.f.ty(v).scalar().ok_or_else(|| Error::bug(format!("{v} is no scalar")))
    }

    /// A new block at the end of the function.
    pub(crate) fn new_block(&self, name: &str) -> BasicBlock<'c> {
        self.e.new_block(self.function, name)
    }

    /// Memory of the invocation for the whole run.
    pub(crate) fn reserve(&self, ty: impl BasicType<'c>) -> Result<PointerValue<'c>> {
        let here = self.e.here()?;
        match self.entry.get_terminator() {
            Some(end) => self.e.b.position_before(&end),
            None => self.e.b.position_at_end(self.entry),
        }
        let is_array = ty.as_basic_type_enum().is_array_type();
        let at = self.e.b.build_alloca(ty, "")?;
        if let (true, Some(alloca)) = (is_array, at.as_instruction()) {
            // LLVM makes one access of two neighbours, which halves the code that moves matrices.
            alloca.set_alignment(8).map_err(|error| Error::bug(error.to_string()))?;
        }
        self.e.b.position_at_end(here);
        Ok(at)
    }
}
