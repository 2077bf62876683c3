//! The state of lowering one module, and access to the values lowered so far.
//!
//! Invariant: code is only ever appended where at least one lane is active, so a uniform value
//! computed there is the value of a lane that exists.

use crate::abi::Meta;
use crate::ahead;
use crate::bundles;
use crate::control::Frames;
use crate::coopmat::{self, MatValue};
use crate::emit::{Emit, V, int_bits};
use crate::error::{Error, Result};
use crate::pieces::{self, Together};
use crate::prologue::Prologue;
use crate::repeated::Repeated;
use crate::site::{Here, Sites};
use crate::strides;
use crate::value::{Lowered, Patterns, Ptr, Shape, Val};
use crate::vars::VarSlot;
use inkwell::values::FunctionValue;
use phalanx_ir::{Block, Function, Inst, Module, Op, Uniformity, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The lanes that execute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exec<'c> {
    /// A truth value per lane, or `None` if all lanes do.
    pub(crate) mask: Option<V<'c>>,
}

/// Whether code follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next instruction follows.
    Next,
    /// All lanes are elsewhere: nothing may be appended.
    Left,
}

/// What all forms of a module have in common.
#[derive(Debug, Default)]
pub(crate) struct Common {
    /// Whether accesses by address are checked.
    pub(crate) checks_addresses: bool,
    /// Where accesses by address stand in the source.
    pub(crate) places: Vec<String>,
    /// The numbers of the places, counted from 1.
    pub(crate) place_numbers: FxHashMap<String, u32>,
    /// What a profiler is told.
    pub(crate) sites: Sites,
}

/// The state of lowering one module.
#[derive(Debug)]
pub(crate) struct Lower<'a, 'c> {
    /// The LLVM builder, at the end of the current block.
    pub(crate) e: Emit<'c>,
    /// What this form has in common with others.
    pub(crate) common: &'a mut Common,
    /// The module that is lowered.
    pub(crate) ir: &'a Module,
    /// Its code.
    pub(crate) f: &'a Function,
    /// What differs between lanes.
    pub(crate) uniformity: &'a Uniformity,
    /// Lanes of a subgroup.
    pub(crate) w: u32,
    /// The lanes that execute the code appended now. At least one does.
    pub(crate) exec: Exec<'c>,
    /// The lanes that exist: the mask at the start.
    pub(crate) root: Exec<'c>,
    /// The lanes that have not returned, or more; where it is what executes, no other lane ever looks at anything again.
    pub(crate) alive: Exec<'c>,
    /// The LLVM function's entry block and what is computed there.
    pub(crate) prologue: Prologue<'c>,
    /// The constructs around the current position.
    pub(crate) frames: Frames<'c>,
    /// Where variables live.
    pub(crate) vars: Vec<Option<VarSlot<'c>>>,
    /// The state of `coopmat`.
    pub(crate) mats: coopmat::State<'c>,
    /// Offset of the scratch memory of operations on vectors, once reserved.
    pub(crate) vector_scratch: Option<u64>,
    /// Bytes of arrays on the stack.
    pub(crate) stack_bytes: u64,
    /// Bytes of scratch memory handed out.
    scratch_bytes: u64,
    /// Bytes handed out of the memory that subgroups have in turn.
    common_bytes: u64,
    /// What lanes add to scalars.
    pub(crate) patterns: Patterns,
    /// Loads and stores that copy.
    pub(crate) copies: FxHashSet<Inst>,
    /// Loads and stores at places that are made by arithmetic alone.
    pub(crate) computed: FxHashSet<Inst>,
    /// Loads that the next work-groups go on with.
    pub(crate) streams: FxHashSet<Inst>,
    /// What loads give that were read with one before them.
    pub(crate) read_before: FxHashMap<Inst, Vec<Val<'c>>>,
    /// Vectors that have few different elements.
    pub(crate) repeated: FxHashMap<V<'c>, Repeated<'c>>,
    /// What was read together, by its first scalar.
    pub(crate) together: FxHashMap<V<'c>, Together<'c>>,
    /// Scalars that stay in the order of memory.
    pub(crate) bundles: bundles::State<'c>,
    /// What a profiler is told.
    pub(crate) here: Here<'c>,
    /// By value.
    values: Vec<Option<Lowered<'c>>>,
}

impl<'a, 'c> Lower<'a, 'c> {
    /// Lowers a module to a function and says what the host has to know. `prologue` is the beginning of
    /// the function, in `e`'s LLVM module; `subgroups` is how many of a work-group may load matrices for each other.
    pub(crate) fn module(
        e: Emit<'c>,
        common: &'a mut Common,
        prologue: Prologue<'c>,
        ir: &'a Module,
        uniformity: &'a Uniformity,
        isa: phalanx_kernels::KernelSet,
        subgroups: u32,
    ) -> Result<(Emit<'c>, FunctionValue<'c>, Meta)> {
        let mut lower = Self {
            e,
            common,
            ir,
            f: &ir.body,
            uniformity,
            w: ir.subgroup_size,
            exec: Exec { mask: None },
            root: Exec { mask: None },
            alive: Exec { mask: None },
            prologue,
            frames: Frames::new(&ir.body),
            vars: Vec::new(),
            mats: coopmat::State::new(&ir.body, isa, subgroups),
            vector_scratch: None,
            stack_bytes: 0,
            scratch_bytes: 0,
            common_bytes: 0,
            patterns: Patterns::default(),
            copies: pieces::copies(&ir.body),
            computed: strides::computed(&ir.body, uniformity),
            streams: ahead::streams(&ir.body),
            read_before: FxHashMap::default(),
            repeated: FxHashMap::default(),
            together: FxHashMap::default(),
            bundles: bundles::State::new(bundles::find(&ir.body, uniformity)),
            here: Here::default(),
            values: vec![None; ir.body.values.len()],
        };
        // The host clears what the memory begins with.
        lower.common_bytes = lower.mats.note_bytes().next_multiple_of(crate::abi::SCRATCH_STEP as u64);
        lower.start()?;
        lower.declare_vars()?;
        if lower.block(Function::ENTRY)? == Flow::Next {
            lower.e.br(lower.prologue.ret)?;
        }
        lower.finish()?;
        let meta = lower.meta();
        Ok((lower.e, lower.prologue.function, meta))
    }

    fn meta(&self) -> Meta {
        Meta {
            scratch_bytes: self.scratch_bytes,
            leader_scratch_bytes: 0,
            common_bytes: self.common_bytes,
            note_bytes: self.mats.note_bytes(),
            shared_bytes: self.ir.shared_bytes,
            push_bytes: self.ir.push_bytes,
            num_bindings: self.ir.bindings.len() as u32,
            stops: self.stops(),
            runs_groups: self.runs_groups(),
            block: None,
            aligned: Vec::new(),
            uses_addresses: self.f.insts.iter().any(|i| matches!(i.op, Op::IntToPtr)),
            subgroup_size: self.w,
            workgroup_size: self.ir.workgroup_size,
            formats: self.ir.formats.clone(),
            // Known when all forms are lowered.
            places: Vec::new(),
            sites: Vec::new(),
            // Known when there is code.
            stack_bytes: 0,
            frame_bytes: 0,
            frame_align: 0,
        }
    }

    /// Whether the function runs all subgroups of several work-groups: not if they wait for each other. A program of
    /// matrices has the addresses of its tiles in registers as it is, and its subgroups take longer than a call.
    pub(crate) fn runs_groups(&self) -> bool {
        let has_matrices = self.f.values.iter().any(|v| v.ty.mat().is_some());
        self.prologue.may_run_groups && !has_matrices && !self.stops()
    }

    /// Whether the function stops at barriers, as the subgroups of a work-group wait for each other there.
    pub(crate) fn stops(&self) -> bool {
        self.prologue.stops || self.ir.num_subgroups() > 1 && self.f.insts.iter().any(|i| waits(&i.op))
    }

    /// Lowers a block's instructions.
    pub(crate) fn block(&mut self, block: Block) -> Result<Flow> {
        let f = self.f;
        for (at, &inst) in f.block(block).iter().enumerate() {
            self.here.at = Some((block, at));
            let (exec, alive) = (self.exec, self.alive);
            if self.inst(inst)? == Flow::Left {
                return Ok(Flow::Left);
            }
            self.alive = alive;
            self.outlive(exec);
            self.bound_straight_code(inst)?;
        }
        Ok(Flow::Next)
    }

    /// Sends an instruction to those who lower its kind.
    pub(crate) fn inst(&mut self, inst: Inst) -> Result<Flow> {
        let is_matrix = self.concerns_matrices(inst);
        self.come_to(inst, is_matrix)?;
        if is_matrix {
            coopmat::lower(self, inst)?;
            return Ok(Flow::Next);
        }
        if self.lower_bundled(inst)? {
            return Ok(Flow::Next);
        }
        let f = self.f;
        match &f.inst(inst).op {
            Op::If { then, otherwise } => return self.lower_if(inst, *then, *otherwise),
            Op::Block { label, body } => return self.lower_block(*label, *body),
            Op::Loop { label, body } => return self.lower_loop(inst, *label, *body),
            Op::Br(label) => return self.lower_br(*label),
            Op::Return => return self.lower_return(),
            Op::Decline => self.lower_decline(inst)?,
            Op::Barrier(barrier) => self.lower_barrier(*barrier)?,
            Op::Const(_)
            | Op::Unary(_)
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
            Op::Image(binding, op) => self.lower_image(inst, *binding, *op)?,
            Op::Subgroup(op) => self.lower_subgroup(inst, *op)?,
            Op::Printf(format) => self.lower_printf(inst, *format)?,
            Op::Warn(format) => self.lower_warn(inst, *format)?,
            Op::Clock => self.lower_clock(inst)?,
            Op::VecMatMul(op) => self.lower_vec_mat_mul(inst, op)?,
            Op::VecOuterAdd(op) => self.lower_vec_outer_add(inst, op)?,
            Op::VecReduceAdd(var) => self.lower_vec_reduce_add(inst, *var)?,
            Op::VarComponentLoad(_)
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
            | Op::MatStoreTensor(_)
            | Op::Params
            | Op::Yield => return Err(Error::bug("a matrix operation without a matrix")),
        }
        Ok(Flow::Next)
    }

    /// Whether an instruction takes, gives or accesses matrices.
    fn concerns_matrices(&self, inst: Inst) -> bool {
        let i = self.f.inst(inst);
        let var = match i.op {
            Op::VarLoad(v) | Op::VarStore(v) | Op::VarComponentLoad(v) | Op::VarComponentStore(v) => Some(v),
            _ => None,
        };
        var.is_some_and(|v| self.f.var(v).ty.mat().is_some())
            || i.args.iter().chain(&i.results).any(|&v| self.f.ty(v).mat().is_some())
    }
}

/// Access to values.
impl<'c> Lower<'_, 'c> {
    /// The operands of an instruction.
    pub(crate) fn args(&self, inst: Inst) -> SmallVec<[Value; 4]> {
        self.f.inst(inst).args.clone()
    }

    /// What a value became.
    pub(crate) fn value(&self, v: Value) -> Result<&Lowered<'c>> {
        self.values[v.index()].as_ref().ok_or_else(|| Error::bug(format!("{v} is used before it is defined")))
    }

    /// A scalar.
    pub(crate) fn scalar(&self, v: Value) -> Result<Val<'c>> {
        if let Some(member) = self.bundled(v)? {
            return Ok(member);
        }
        match self.value(v)? {
            Lowered::Scalar(x) => Ok(*x),
            Lowered::Ptr(_) | Lowered::Mat(_) => Err(Error::bug(format!("{v} is no scalar"))),
        }
    }

    /// A pointer.
    pub(crate) fn ptr(&self, v: Value) -> Result<Ptr<'c>> {
        match self.value(v)? {
            Lowered::Ptr(p) => Ok(*p),
            Lowered::Scalar(_) | Lowered::Mat(_) => Err(Error::bug(format!("{v} is no pointer"))),
        }
    }

    /// A matrix.
    pub(crate) fn mat(&self, v: Value) -> Result<&MatValue<'c>> {
        match self.value(v)? {
            Lowered::Mat(m) => Ok(m),
            Lowered::Scalar(_) | Lowered::Ptr(_) => Err(Error::bug(format!("{v} is no matrix"))),
        }
    }

    /// Defines a value.
    pub(crate) fn define(&mut self, v: Value, lowered: Lowered<'c>) {
        self.values[v.index()] = Some(lowered);
    }

    /// Defines the first result of an instruction as a scalar.
    pub(crate) fn set(&mut self, inst: Inst, v: Val<'c>) {
        self.define(self.f.inst(inst).results[0], Lowered::Scalar(v));
    }

    /// Defines the first result of an instruction as a pointer.
    pub(crate) fn set_ptr(&mut self, inst: Inst, p: Ptr<'c>) {
        self.define(self.f.inst(inst).results[0], Lowered::Ptr(p));
    }

    /// A vector with an element per lane, whatever the value's shape.
    pub(crate) fn vector(&self, x: Val<'c>) -> Result<V<'c>> {
        match x.shape {
            Shape::Varying => Ok(x.v),
            Shape::Uniform => self.e.splat(x.v, self.w),
            Shape::Affine(stride) => {
                let steps = (0..i64::from(self.w)).map(|l| l.wrapping_mul(stride) as u64);
                let steps = self.e.const_ints(int_bits(x.v), steps);
                self.e.add(self.e.splat(x.v, self.w)?, steps)
            }
            Shape::Pattern(number) => {
                let steps = self.patterns.steps(number).iter().map(|&s| s.cast_unsigned());
                let steps = self.e.const_ints(int_bits(x.v), steps);
                self.e.add(self.e.splat(x.v, self.w)?, steps)
            }
        }
    }

    /// The value of the first active lane: for a value that is uniform though its shape doesn't
    /// say so, or of which any active lane's will do.
    pub(crate) fn first(&mut self, x: Val<'c>) -> Result<V<'c>> {
        if x.is_uniform() {
            return Ok(x.v);
        }
        let lane = self.first_lane()?;
        self.at_lane(x, lane)
    }

    /// The value of one lane; its number (`i32`) is below the number of lanes.
    pub(crate) fn at_lane(&mut self, x: Val<'c>, lane: V<'c>) -> Result<V<'c>> {
        match x.shape {
            Shape::Uniform => Ok(x.v),
            Shape::Varying => self.e.extract(x.v, lane),
            Shape::Pattern(_) => self.e.extract(self.vector(x)?, lane),
            Shape::Affine(stride) => {
                let bits = int_bits(x.v);
                let lane = self.e.zext_trunc(lane, bits)?;
                let step = self.e.mul(lane, self.e.int(bits, stride as u64))?;
                self.e.add(x.v, step)
            }
        }
    }

    /// Brings values to one form: scalars if all are uniform, otherwise vectors.
    pub(crate) fn together(&self, xs: &[Val<'c>]) -> Result<(Shape, SmallVec<[V<'c>; 4]>)> {
        if xs.iter().all(Val::is_uniform) {
            return Ok((Shape::Uniform, xs.iter().map(|x| x.v).collect()));
        }
        let vectors = xs.iter().map(|&x| self.vector(x)).collect::<Result<_>>()?;
        Ok((Shape::Varying, vectors))
    }

    /// The number of the first active lane (`i32`).
    pub(crate) fn first_lane(&mut self) -> Result<V<'c>> {
        let Some(mask) = self.exec.mask else { return Ok(self.e.i32(0)) };
        let bits = self.e.mask_bits(mask)?;
        let not_zero = self.e.bool(true);
        let n = self.e.intrinsic("llvm.cttz", &[bits.get_type()], &[bits, not_zero])?;
        self.e.zext_trunc(n, 32)
    }

    /// A truth value per lane: which execute.
    pub(crate) fn exec_mask(&self) -> V<'c> {
        self.mask_of(self.exec)
    }

    /// A truth value per lane.
    pub(crate) fn mask_of(&self, exec: Exec<'c>) -> V<'c> {
        exec.mask.unwrap_or_else(|| self.e.const_ints(1, (0..self.w).map(|_| 1)))
    }

    /// Reserves scratch memory, private to the subgroup, for the whole run, and gives its offset.
    pub(crate) fn alloc_scratch(&mut self, bytes: u64, align: u64) -> u64 {
        let at = self.scratch_bytes.next_multiple_of(align);
        self.scratch_bytes = at + bytes;
        at
    }

    /// Reserves memory that the subgroup has until it waits for others, and gives its offset.
    pub(crate) fn alloc_common(&mut self, bytes: u64, align: u64) -> u64 {
        let at = self.common_bytes.next_multiple_of(align);
        self.common_bytes = at + bytes;
        at
    }
}

/// Whether subgroups wait for each other at an operation.
pub(crate) fn waits(op: &Op) -> bool {
    matches!(op, Op::Barrier(b) if b.execution >= phalanx_ir::Scope::Workgroup)
}
