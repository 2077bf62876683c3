//! Executes the instructions of a subgroup.

mod cross_lane;
mod image;
mod line;
mod matrix;
mod memory;
mod region;
mod tensor;
mod values;
mod vector;

use crate::error::{Error, Place};
use crate::group::{Matrices, workgroup_matrix};
use crate::lanes::Lanes;
use crate::memory::{Fault, View};
use crate::schedule::{Limits, Report};
use crate::subgroup::{State, Subgroup};
use phalanx_ir::{Builtin, Function, Inst, InstInfo, MatType, Module, Op, Scalar, Scope, Value, Var, printf};
use std::collections::BTreeSet;

/// Steps between two questions whether to go on: few enough that the longest instructions (samples of images, sums
/// over all lanes for each lane) take some milliseconds.
const ASK_EVERY: u64 = 256;

/// A dispatch in progress.
pub(crate) struct Dispatch<'v, 'a> {
    pub(crate) view: View<'v, 'a>,
    /// Whether the dispatch has to end; asked again and again.
    pub(crate) interrupt: &'v dyn Fn() -> bool,
    /// The number of steps at which that is asked next.
    pub(crate) ask_at: u64,
    /// Number of work-groups.
    pub(crate) groups: [u32; 3],
    /// The work-group that runs.
    pub(crate) group: [u32; 3],
    pub(crate) limits: Limits,
    pub(crate) report: Report,
    /// The formats of the warnings given.
    pub(crate) warned: BTreeSet<u32>,
}

impl Dispatch<'_, '_> {
    /// Counts work before it is done.
    pub(crate) fn spend(&mut self, steps: u64) -> Result<(), Error> {
        self.report.steps = self.report.steps.saturating_add(steps);
        let limit = self.limits.max_steps;
        if self.report.steps > limit {
            return Err(Error::StepLimit { limit });
        }
        if self.report.steps >= self.ask_at { self.ask() } else { Ok(()) }
    }

    fn ask(&mut self) -> Result<(), Error> {
        self.ask_at = self.report.steps.saturating_add(ASK_EVERY);
        if (self.interrupt)() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Counts the start of a subgroup. Its memory may be large, so it is not one step among many.
    pub(crate) fn start_subgroup(&mut self) -> Result<(), Error> {
        self.spend(1)?;
        self.ask()
    }

    /// Makes the elements of a matrix, each of which is a step.
    pub(crate) fn elements(&mut self, m: &MatType, make: impl Fn(usize) -> u64) -> Result<Vec<u64>, Error> {
        let mut elements = Vec::with_capacity(m.len() as usize);
        for i in 0..m.len() as usize {
            self.spend(1)?;
            elements.push(make(i));
        }
        Ok(elements)
    }

    fn print(&mut self, line: String) {
        if self.report.output.len() < self.limits.max_lines {
            self.report.output.push(line);
        } else {
            self.report.dropped_lines += 1;
        }
    }
}

/// Why an instruction did not end.
#[derive(Debug)]
enum Stop {
    /// It was at fault itself.
    Fault(Fault),
    /// One in its region was, or the dispatch ran for too long.
    Error(Error),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A subgroup that has its turn.
pub(crate) struct Exec<'e, 'v, 'a> {
    pub(crate) module: &'e Module,
    pub(crate) dispatch: &'e mut Dispatch<'v, 'a>,
    pub(crate) matrices: &'e mut Matrices,
    pub(crate) sub: &'e mut Subgroup,
}

impl<'e> Exec<'e, '_, '_> {
    /// Executes up to `slice` instructions, until the subgroup ends or waits. `meets` says whether the module has
    /// matrices of the work-group.
    pub(crate) fn run(&mut self, slice: u32, meets: bool) -> Result<(), Error> {
        for _ in 0..slice {
            let Some(inst) = self.sub.next_inst(self.func()) else {
                self.sub.state = State::Ended;
                break;
            };
            if self.waits(inst, meets) && !std::mem::take(&mut self.sub.released) {
                self.sub.state = State::Waiting(inst);
                break;
            }
            self.step(inst)?;
        }
        Ok(())
    }

    /// Executes the next instruction.
    pub(crate) fn step(&mut self, inst: Inst) -> Result<(), Error> {
        self.dispatch.spend(1)?;
        self.sub.advance();
        self.execute(self.func().inst(inst)).map_err(|stop| match stop {
            Stop::Fault(Fault { address, bytes }) => {
                Error::BadAddress { address, bytes, place: Place::new(self.module, inst) }
            }
            Stop::Error(error) => error,
        })
    }

    fn func(&self) -> &'e Function {
        &self.module.body
    }

    fn active(&self) -> Lanes {
        self.sub.active()
    }

    /// Whether the work-group meets before this instruction: a barrier, or one on whole matrices of the work-group.
    fn waits(&self, inst: Inst, meets: bool) -> bool {
        let info = self.func().inst(inst);
        match info.op {
            Op::Barrier(barrier) => matches!(barrier.execution, Scope::Workgroup | Scope::Device),
            Op::MatCoordinate | Op::MatExtract | Op::VarComponentLoad(_) | Op::VarComponentStore(_) => false,
            _ => meets && self.func().concerns_matrices(info, Scope::Workgroup),
        }
    }

    fn execute(&mut self, info: &'e InstInfo) -> Result<(), Stop> {
        match &info.op {
            Op::Const(bits) => self.lanewise(info, |_, _| *bits),
            Op::Unary(op) => self.unary(info, *op)?,
            Op::Binary(op) => self.binary(info, *op)?,
            Op::Compare(op) => self.compare(info, *op),
            Op::Fma => self.fma(info)?,
            Op::Select => self.select(info)?,
            Op::Convert(op) => self.convert(info, *op)?,
            Op::Bitcast => self.bitcast(info)?,
            Op::Builtin(builtin) => self.builtin(info, *builtin),

            Op::VarLoad(var) => self.var_load(info, *var)?,
            Op::VarStore(var) => self.var_store(info, *var)?,
            Op::VarComponentLoad(var) => self.var_component_load(info, *var),
            Op::VarComponentStore(var) => self.var_component_store(info, *var),

            Op::BufferPtr(binding) => self.buffer_ptr(info, *binding),
            Op::PushPtr => self.push_ptr(info),
            Op::SharedPtr { offset, bytes } => self.shared_ptr(info, *offset, *bytes),
            Op::PtrAdd { scale, disp } => self.ptr_add(info, *scale, *disp),
            Op::PtrBytesLeft => self.ptr_bytes_left(info),
            Op::PtrDiff => self.ptr_diff(info),
            Op::PtrToInt => self.ptr_to_int(info),
            Op::IntToPtr => self.int_to_ptr(info),
            Op::Load(_) => self.load(info)?,
            Op::Store(_) => self.store(info)?,
            Op::Atomic(op) => self.atomic(info, *op)?,
            Op::Image(binding, op) => self.image(info, *binding, *op),

            Op::Subgroup(op) => self.subgroup(info, *op),
            // A subgroup is in lockstep, the work-group has met before this, and memory has no
            // other order than that of execution.
            Op::Barrier(_) => {}

            Op::MatSplat => self.mat_splat(info)?,
            Op::MatLoad { column_major, .. } => self.mat_load(info, *column_major)?,
            Op::MatStore { column_major, .. } => self.mat_store(info, *column_major)?,
            Op::MatMulAdd(flags) => self.mat_mul_add(info, *flags)?,
            Op::MatScale => self.mat_scale(info)?,
            Op::MatCoordinate => self.mat_coordinate(info),
            Op::MatExtract => self.mat_extract(info),
            Op::MatInsert => self.mat_insert(info)?,
            Op::MatFromLanes { columns } => self.mat_from_lanes(info, *columns)?,
            Op::MatToLanes { columns } => self.mat_to_lanes(info, *columns)?,
            Op::VecMatMul(op) => self.vec_mat_mul(info, op)?,
            Op::VecOuterAdd(op) => self.vec_outer_add(info, op)?,
            Op::VecReduceAdd(var) => self.vec_reduce_add(info, *var)?,
            Op::MatTranspose
            | Op::MatRotate
            | Op::MatMap { .. }
            | Op::MatReduce { .. }
            | Op::MatLoadTensor { .. }
            | Op::MatStoreTensor(_)
            | Op::Params
            | Op::Yield => self.whole_matrix(info)?,

            Op::If { then, otherwise } => {
                let holds = self.active().filter(|lane| self.sub.scalar(info.args[0], lane) != 0);
                self.sub.enter_if(holds, *then, *otherwise);
            }
            Op::Block { label, body } => self.sub.enter_block(*label, *body),
            Op::Loop { label, body } => self.sub.enter_loop(*label, *body),
            Op::Br(label) => self.sub.branch(*label),
            Op::Return => self.sub.stop(),
            Op::Decline => {
                let holds = self.active().filter(|lane| self.sub.scalar(info.args[0], lane) != 0);
                if !holds.is_empty() {
                    self.sub.stop_all();
                }
            }
            Op::Printf(format) => self.printf(info, *format),
            Op::Warn(format) => self.warn(info, *format),
            // Deterministic, and it rises.
            Op::Clock => {
                let steps = self.dispatch.report.steps;
                self.lanewise(info, |_, _| steps);
            }
        }
        Ok(())
    }

    // ── matrices, of the subgroup or of the work-group ──

    fn matrix(&self, value: Value) -> &[u64] {
        match workgroup_matrix(self.func().ty(value)) {
            Some(_) => self.matrices.value(value),
            None => self.sub.matrix(value),
        }
    }

    fn set_matrix(&mut self, value: Value, elements: Vec<u64>) {
        match workgroup_matrix(self.func().ty(value)) {
            Some(_) => self.matrices.set_value(value, elements),
            None => self.sub.set_matrix(value, elements),
        }
    }

    /// A matrix in a variable, if that has such an element.
    fn var_matrix(&mut self, var: Var, index: usize) -> Option<&mut Vec<u64>> {
        match workgroup_matrix(self.func().var(var).ty) {
            Some(_) => self.matrices.var(var, index),
            None => self.sub.var_matrix(var, index),
        }
    }

    /// Row and column of a component of a lane, if that is an element.
    fn place(&self, m: &MatType, component: u32, lane: usize) -> Option<(u32, u32)> {
        let invocation = match m.scope {
            Scope::Workgroup => self.sub.id * self.sub.size + lane as u32,
            _ => lane as u32,
        };
        self.module.layout(*m).element(invocation, component)
    }

    /// The element that is this component of a lane, if there is one.
    fn element(&self, m: &MatType, component: u32, lane: usize) -> Option<usize> {
        let (row, col) = self.place(m, component, lane)?;
        Some(row as usize * m.cols as usize + col as usize)
    }

    /// Makes the elements of a matrix, each of which is a step.
    fn elements(&mut self, m: &MatType, make: impl Fn(&Self, usize) -> u64) -> Result<Vec<u64>, Error> {
        let mut elements = Vec::with_capacity(m.len() as usize);
        for i in 0..m.len() as usize {
            self.dispatch.spend(1)?;
            elements.push(make(self, i));
        }
        Ok(elements)
    }

    /// Sets the scalar result in each active lane.
    fn lanewise(&mut self, info: &InstInfo, f: impl Fn(&Subgroup, usize) -> u64) {
        for lane in self.active().iter() {
            let bits = f(self.sub, lane);
            self.sub.set_scalar(info.results[0], lane, bits);
        }
    }

    /// An `i32` operand as an index: a negative one is out of every range.
    fn index(&self, value: Value, lane: usize) -> u32 {
        self.sub.scalar(value, lane) as u32
    }

    /// The component type of an operand; that of a pointer is never looked at.
    fn elem(&self, value: Value) -> Scalar {
        self.func().ty(value).elem().unwrap_or(Scalar::I64)
    }

    fn builtin(&mut self, info: &InstInfo, builtin: Builtin) {
        let [size_x, size_y, _] = self.module.workgroup_size;
        let (groups, group, size) = (self.dispatch.groups, self.dispatch.group, self.module.workgroup_size);
        let local = |index: u32| [index % size_x, index / size_x % size_y, index / size_x / size_y];
        self.lanewise(info, |sub, lane| {
            let index = sub.id * sub.size + lane as u32;
            u64::from(match builtin {
                Builtin::NumWorkgroups(axis) => groups[usize::from(axis)],
                Builtin::WorkgroupId(axis) => group[usize::from(axis)],
                Builtin::LocalInvocationId(axis) => local(index)[usize::from(axis)],
                Builtin::GlobalInvocationId(axis) => {
                    let axis = usize::from(axis);
                    group[axis].wrapping_mul(size[axis]).wrapping_add(local(index)[axis])
                }
                Builtin::LocalInvocationIndex => index,
                Builtin::SubgroupId => sub.id,
                Builtin::SubgroupLane => lane as u32,
                Builtin::Multiprocessor | Builtin::ResidentSubgroup => 0,
            })
        });
    }

    fn printf(&mut self, info: &InstInfo, format: u32) {
        for lane in self.active().iter() {
            let args: Vec<_> = info.args.iter().map(|&arg| self.sub.scalar(arg, lane)).collect();
            let line = printf::format(&self.module.formats[format as usize], &args);
            self.dispatch.print(line);
        }
    }

    fn warn(&mut self, info: &InstInfo, format: u32) {
        let Some((&holds, args)) = info.args.split_first() else { return };
        let lane = self.active().filter(|lane| self.sub.scalar(holds, lane) != 0);
        if lane.is_empty() || !self.dispatch.warned.insert(format) {
            return;
        }
        let args: Vec<_> = args.iter().map(|&arg| self.sub.scalar(arg, lane.first())).collect();
        self.dispatch.report.warnings.push(printf::format(&self.module.formats[format as usize], &args));
    }
}
