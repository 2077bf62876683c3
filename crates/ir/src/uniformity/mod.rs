//! Which values are the same in every lane of a subgroup, which rise evenly from lane to lane, and
//! where lanes part ways.
//!
//! The lanes of a subgroup are consecutive local invocation indices. All statements here are about
//! one execution of an instruction by the lanes that are active then.
//!
//! The analysis is a fixpoint over the code in program order. It begins with the assumption that
//! every variable is uniform and every branch is taken together; each round takes back what does
//! not hold, until a round changes nothing. A round looks again at what depends on something that
//! changed, in program order, so that long programs need no long rounds.
//!
//! **Control.** An `if` is divergent if its condition is not uniform. A label is divergent if a
//! branch to it crosses a divergent construct on the way out: then lanes of the construct are left
//! behind. A `return` counts as a branch out of the function.
//!
//! **Variables.** A variable is uniform if one scalar can stand for it: each load gives all active
//! lanes what the last store wrote. That holds if each store stores a uniform value to a uniform
//! index, and all lanes that may come to a load agree on which store was last. Let `B` be the
//! innermost block around all accesses. The lanes that are still in `B` agree if no store is nested
//! in a divergent construct within `B`. What was stored in an earlier execution of `B` matters as
//! well, unless the first access is a store right in `B`; then nothing divergent may be between `B`
//! and the outermost loop around it. A second form allows for loops that lanes leave at different
//! times, as long as the counter is not read behind the loop:
//!
//! ```text
//! var_store<$i> %zero          ; in P
//! block @exit {                ; divergent; its body is U
//!   loop @next {
//!     %i: i32 = var_load<$i>   ; the same in all lanes that are still here
//!     if %varying { br @exit } else { }
//!     var_store<$i> %more
//!     br @next
//!   }
//! }
//! ```
//!
//! All loads are in a block `U`, no store in `U` is nested in a divergent construct within `U`, and
//! no store outside is in one within `P`, the innermost block around all accesses, from which `U` is
//! entered at most once. `P` begins with a store, or no loop is around it.
//!
//! **Affine values** allow the loads and stores of a subgroup to become vector accesses. See
//! [`Shape::Affine`] and [`Uniformity::guards`] for what a target has to check.

mod agenda;
mod assume;
mod bits;
mod control;
mod fact;

#[cfg(test)]
mod tests;

use crate::effects::VarUse;
use crate::entities::{Block, Inst, Label, Value, Var};
use crate::module::Module;
use crate::op::{Builtin, ImageOp, Op, SubgroupOp};
use crate::tree::Tree;
use crate::types::{Scope, Type};
use agenda::Agenda;
pub use assume::Assumptions;
use control::{Agreement, Control};
use fact::{Fact, Lanes};

/// How a value varies over the active lanes of a subgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The same in all active lanes. Whole matrices are uniform by nature.
    Uniform,
    /// There is a base such that every active lane `l` has the value `base + stride * l`, wrapping
    /// at the width of the type; a pointer counts bytes. The base is the value lane 0 has, or would
    /// have if it were active. Never with a stride of 0.
    Affine {
        /// The difference from a lane to the next.
        stride: i64,
    },
    /// There is a base, as for affine values, to which each bit that is set in the number of a lane adds a constant:
    /// an active lane `l` has the base and the sum of `steps[k]` over the bits `k` of `l`, wrapping at the width of the
    /// type. This is what masks and shifts leave of affine values, for instance `lane / 4 * 18 + lane % 4`. Never what
    /// one of the shapes above says as well.
    Bits {
        /// What bit `k` adds, read as signed; 0 for bits that no lane has.
        steps: [i64; LANE_BITS],
    },
    /// Anything.
    Varying,
}

impl Shape {
    /// The lowest bits that are zero in whatever lanes have besides the base.
    fn steps_zeros(&self) -> u32 {
        match self {
            Self::Uniform => u64::BITS,
            Self::Affine { stride } => stride.trailing_zeros(),
            Self::Bits { steps } => steps.iter().fold(0, |all, step| all | step).trailing_zeros(),
            Self::Varying => 0,
        }
    }
}

/// Bits of the number of a lane, of at most 128.
pub const LANE_BITS: usize = 7;

/// A condition on which a shape depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// An affine integer narrower than 64 bits.
    pub value: Value,
    /// Whether it is extended by the sign, or by zeros.
    pub signed: bool,
}

/// The result of the analysis.
#[derive(Clone, Debug)]
pub struct Uniformity {
    facts: Vec<Fact>,
    vars: Vec<Fact>,
    control: Control,
    subgroup_size: u32,
    /// Whether the region of a map is taken to be executed for one component of all lanes at once.
    components: bool,
}

impl Uniformity {
    /// Analyses a verified module.
    pub fn analyse(module: &Module) -> Self {
        Self::analyse_if(module, &Assumptions::default())
    }

    /// Analyses a verified module under assumptions.
    pub fn analyse_if(module: &Module, assumptions: &Assumptions) -> Self {
        let tree = Tree::new(&module.body);
        let mut analysis = Analysis::new(module, &tree);
        analysis.assumptions = Some(assumptions);
        while analysis.round() {}
        analysis.into_result()
    }

    /// Analyses a verified module for all invocations of a work-group instead of those of a subgroup: uniform is what
    /// all have alike that come to an instruction, whenever each does.
    pub fn of_workgroup(module: &Module) -> Self {
        let tree = Tree::new(&module.body);
        let mut analysis = Analysis::new(module, &tree);
        (analysis.lanes, analysis.is_workgroup) = (Lanes::of_workgroup(module), true);
        while analysis.round() {}
        analysis.into_result()
    }

    /// How a value varies.
    ///
    /// If [`guards`](Self::guards) are not empty, `Affine` holds only while they do.
    pub fn value(&self, v: Value) -> Shape {
        self.facts[v.index()].shape
    }

    /// Whether a value is the same in all active lanes.
    pub fn is_uniform(&self, v: Value) -> bool {
        self.value(v) == Shape::Uniform
    }

    /// The conditions under which [`value`](Self::value) is right when it says `Affine`; empty for
    /// all other shapes.
    ///
    /// A narrow integer that is extended (by a conversion, or as the index of `ptr_add`) is affine
    /// afterwards only if it does not wrap between the first and the last lane. Where the known
    /// ranges do not exclude that, a target that takes advantage of the shape has to test it at run
    /// time: with `base` the guard's extended value in lane 0, `base + stride * (subgroup_size - 1)`
    /// must be the extension of some value of the guard's type. Otherwise each lane must be computed
    /// by itself. Guards are visible wherever the value is.
    pub fn guards(&self, v: Value) -> &[Guard] {
        &self.facts[v.index()].guards
    }

    /// The least and the greatest value of an integer, read as signed. Not only in active lanes: it
    /// holds for the base of an affine value as well.
    pub fn range(&self, v: Value) -> (i64, i64) {
        self.facts[v.index()].range
    }

    /// A power of two that divides a uniform integer, or the base of one that is not varying; as exponent, up
    /// to 63.
    pub fn align_log2(&self, v: Value) -> u32 {
        self.facts[v.index()].align().min(63)
    }

    /// The lowest bits of an integer that are zero in every lane.
    pub fn low_zeros(&self, v: Value) -> u32 {
        self.align_log2(v).min(self.value(v).steps_zeros())
    }

    /// Whether one scalar (for matrices: one per scope instance) can stand for each element.
    pub fn is_var_uniform(&self, v: Var) -> bool {
        self.var_shape(v) == Shape::Uniform
    }

    /// How the elements of a variable vary: what a load from a constant index gives.
    pub fn var_shape(&self, v: Var) -> Shape {
        self.vars[v.index()].shape
    }

    /// Whether lanes may take both branches of an `if`.
    pub fn is_divergent_if(&self, i: Inst) -> bool {
        self.control.divergent_ifs[i.index()]
    }

    /// Whether some branch to the label may leave lanes of the label's construct behind.
    pub fn is_divergent_label(&self, l: Label) -> bool {
        self.control.divergent_labels[l.index()]
    }

    /// Whether some `return` may leave lanes behind.
    pub fn has_divergent_return(&self) -> bool {
        self.control.divergent_return
    }

    /// Whether the block may be executed by fewer lanes than entered the function.
    pub fn is_divergent_block(&self, b: Block) -> bool {
        self.control.divergent_return || self.control.divergent_blocks[b.index()]
    }

    /// Lanes of a subgroup.
    pub fn subgroup_size(&self) -> u32 {
        self.subgroup_size
    }
}

struct Analysis<'m> {
    module: &'m Module,
    tree: &'m Tree,
    lanes: Lanes,
    /// Whether the lanes are those of a work-group.
    is_workgroup: bool,
    assumptions: Option<&'m Assumptions>,
    facts: Vec<Fact>,
    vars: Vec<Option<Fact>>,
    accesses: Vec<control::Accesses>,
    /// The variables of which lanes agree at their loads only.
    at_loads: Vec<bool>,
    control: Control,
    agenda: Agenda,
    rounds: u32,
}

impl<'m> Analysis<'m> {
    fn new(module: &'m Module, tree: &'m Tree) -> Self {
        let func = &module.body;
        Self {
            module,
            tree,
            lanes: Lanes::new(module),
            is_workgroup: false,
            assumptions: None,
            facts: func.values.iter().map(|v| Fact::uniform(v.ty)).collect(),
            vars: func.vars.iter().map(|v| (v.table.is_some()).then(|| Fact::uniform(v.ty))).collect(),
            accesses: control::accesses(func, tree),
            at_loads: vec![false; func.vars.len()],
            control: Control::new(func, tree),
            agenda: Agenda::new(func, tree),
            rounds: 0,
        }
    }

    /// Visits what is on the agenda; whether there was anything.
    fn round(&mut self) -> bool {
        if !self.agenda.begin() {
            return false;
        }
        self.rounds += 1;
        while let Some(inst) = self.agenda.next(self.tree) {
            self.inst(inst);
        }
        for (var, by_store) in self.control.propagate(&self.module.body, self.tree) {
            // Where the lanes are at the loads matters for some only.
            if by_store || self.at_loads[var.index()] {
                self.settle_var(var);
            }
        }
        true
    }

    /// Gives up a variable whose stores the lanes do not share.
    fn settle_var(&mut self, var: Var) {
        let info = self.module.body.var(var);
        let is_known = self.vars[var.index()].as_ref().is_some_and(|f| f.shape != Shape::Varying);
        if !is_known || info.ty.mat().is_some() || info.table.is_some() {
            return;
        }
        let agreement = self.control.agreement(self.tree, &self.accesses[var.index()], info.count);
        self.at_loads[var.index()] = agreement == Agreement::AtLoads;
        if agreement == Agreement::No {
            self.vars[var.index()] = Some(Fact::varying(info.ty));
            self.agenda.var_changed(var);
        }
    }

    fn inst(&mut self, inst: Inst) {
        let info = self.module.body.inst(inst);
        if let Op::VarStore(var) = &info.op {
            self.store(*var, &info.args);
        }
        for (var, _) in info.op.vars().filter(|(_, use_)| matches!(use_, VarUse::Read | VarUse::Write)) {
            self.vector(var);
        }
        if let Op::If { .. } = &info.op {
            let is_divergent = self.facts[info.args[0].index()].shape != Shape::Uniform;
            self.control.set_if(&self.module.body, inst, is_divergent);
        }
        for (n, &v) in info.results.iter().enumerate() {
            let ty = self.module.body.ty(v);
            let fact = if ty.mat().is_some() { Fact::uniform(ty) } else { self.result(inst, ty) };
            let fact = match (&info.op, self.assumptions) {
                (Op::Load(_), Some(assumptions)) => {
                    let align = assumptions.align_of(&self.module.body, info.args[0], n, ty);
                    if align == 0 { fact } else { fact.with_align(align) }
                }
                (Op::Params, Some(assumptions)) if assumptions.of_maps() => {
                    self.place_in_map(inst, n).unwrap_or(fact)
                }
                _ => fact,
            };
            if self.facts[v.index()] != fact {
                self.facts[v.index()] = fact;
                self.agenda.value_changed(v);
            }
        }
    }

    fn store(&mut self, var: Var, args: &[Value]) {
        let info = self.module.body.var(var);
        if info.ty.mat().is_some() {
            return;
        }
        let [index @ .., value] = args else { return };
        let is_index_uniform = index.iter().all(|i| self.facts[i.index()].shape == Shape::Uniform);
        let stored = &self.facts[value.index()];
        // A guard speaks of a value of this moment, which a later load cannot ask for.
        let stored = if is_index_uniform && stored.guards.is_empty() {
            stored.clone()
        } else {
            Fact { range: stored.range, ..Fact::varying(info.ty) }
        };
        let joined = match &self.vars[var.index()] {
            None => stored,
            Some(old) => old.join(&stored, info.ty, self.rounds > 3),
        };
        if self.vars[var.index()].as_ref() != Some(&joined) {
            self.vars[var.index()] = Some(joined);
            self.agenda.var_changed(var);
        }
    }

    /// Takes a variable for a vector of each lane's own: targets put those of all lanes together.
    fn vector(&mut self, var: Var) {
        let info = self.module.body.var(var);
        if self.vars[var.index()].as_ref().is_none_or(|f| f.shape != Shape::Varying) {
            self.vars[var.index()] = Some(Fact::varying(info.ty));
            self.agenda.var_changed(var);
        }
    }

    fn result(&self, inst: Inst, ty: Type) -> Fact {
        let info = self.module.body.inst(inst);
        let arg = |n: usize| &self.facts[info.args[n].index()];
        let all_uniform = || info.args.iter().all(|v| self.facts[v.index()].shape == Shape::Uniform);
        let uniform_if = |ok: bool| if ok { Fact::uniform(ty) } else { Fact::varying(ty) };
        match &info.op {
            Op::Const(bits) => Fact::constant(ty, *bits),
            Op::Unary(op) => self.lanes.unary(*op, ty, arg(0)),
            Op::Binary(op) => self.lanes.binary(*op, ty, arg(0), arg(1)),
            Op::Compare(op) => self.lanes.compare(*op, self.module.body.ty(info.args[0]), arg(0), arg(1)),
            Op::Select => self.lanes.select(ty, arg(0), arg(1), arg(2)),
            Op::Convert(op) => {
                let from = self.module.body.ty(info.args[0]);
                self.lanes.convert(op.kind, from, ty, arg(0), info.args[0])
            }
            Op::Builtin(op) => self.builtin(*op),
            Op::VarLoad(var) => self.load(*var, info.args.first().copied(), ty),
            Op::PtrAdd { scale, .. } => {
                let index = info.args.get(1).map(|&v| (v, self.module.body.ty(v), arg(1)));
                self.lanes.ptr_add(*scale, arg(0), index)
            }
            Op::PtrDiff => self.lanes.difference(ty, arg(0), arg(1)),
            Op::PtrToInt | Op::IntToPtr => self.lanes.pass(ty, arg(0)),
            Op::Subgroup(op) => self.subgroup(*op, ty, all_uniform()),
            Op::Fma
            | Op::Bitcast
            | Op::BufferPtr(_)
            | Op::PushPtr
            | Op::SharedPtr { .. }
            | Op::PtrBytesLeft => uniform_if(all_uniform()),
            // Lanes that read one place together read it once; work-groups do not come together.
            Op::Load(flags) => uniform_if(all_uniform() && !(flags.volatile && self.is_workgroup)),
            Op::Image(_, op) => match op {
                ImageOp::Load | ImageOp::Size | ImageOp::Levels | ImageOp::Sample(_) => {
                    uniform_if(all_uniform())
                }
                ImageOp::Atomic(_) | ImageOp::Store => Fact::varying(ty),
            },
            // Each lane has what was there when its turn came.
            Op::Atomic(_) | Op::Clock => Fact::varying(ty),
            // Each lane has components of its own, or elements.
            Op::MatCoordinate
            | Op::MatExtract
            | Op::MatToLanes { .. }
            | Op::VarComponentLoad(_)
            | Op::Params => Fact::varying(ty),
            // These give matrices or nothing.
            Op::MatSplat
            | Op::MatLoad { .. }
            | Op::MatMulAdd(_)
            | Op::MatScale
            | Op::MatInsert
            | Op::MatTranspose
            | Op::MatRotate
            | Op::MatFromLanes { .. }
            | Op::MatMap { .. }
            | Op::MatReduce { .. }
            | Op::MatLoadTensor { .. }
            | Op::MatStoreTensor(_)
            | Op::MatStore { .. }
            | Op::VarStore(_)
            | Op::VarComponentStore(_)
            | Op::VecMatMul(_)
            | Op::VecOuterAdd(_)
            | Op::VecReduceAdd(_)
            | Op::Store(_)
            | Op::Barrier(_)
            | Op::Yield
            | Op::If { .. }
            | Op::Block { .. }
            | Op::Loop { .. }
            | Op::Br(_)
            | Op::Return
            | Op::Decline
            | Op::Printf(_)
            | Op::Warn(_) => Fact::varying(ty),
        }
    }

    /// What is known of the row or the column that a map gives to its region, for a component of all lanes, which are
    /// elements of one row: component `i` of lane `l` is element `i * lanes + l`.
    fn place_in_map(&self, params: Inst, n: usize) -> Option<Fact> {
        let func = &self.module.body;
        let map = func.inst(self.tree.parent(self.tree.block_of(params)?)?.inst);
        if !matches!(map.op, Op::MatMap { .. }) || self.is_workgroup {
            return None;
        }
        let (m, lanes) = (func.ty(*map.results.first()?).mat()?, self.module.subgroup_size);
        let are_runs = m.cols.is_multiple_of(lanes) && m.scope == Scope::Subgroup;
        if !are_runs || !self.module.workgroup_invocations().is_multiple_of(lanes) {
            return None;
        }
        let last = |side: u32| i64::from(side) - 1;
        match n {
            0 => Some(Fact::uniform(Type::I32).with_range(0, last(m.rows))),
            1 => {
                let column = Fact::affine(Type::I32, 1).with_range(0, last(m.cols));
                Some(column.with_align(lanes.trailing_zeros()))
            }
            _ => None,
        }
    }

    fn load(&self, var: Var, index: Option<Value>, ty: Type) -> Fact {
        let Some(fact) = &self.vars[var.index()] else { return Fact::zero(ty) };
        let Some(index) = index else { return fact.clone() };
        let index = &self.facts[index.index()];
        let count = self.module.body.var(var).count;
        let is_inside = index.range.0 >= 0 && index.range.1 < count as i64;
        match fact.shape {
            // Outside of the variable there is zero.
            _ if is_inside && index.range.0 == index.range.1 => fact.clone(),
            Shape::Uniform if index.shape == Shape::Uniform && is_inside => fact.clone(),
            Shape::Uniform if index.shape == Shape::Uniform => Fact::uniform(ty),
            _ => Fact::varying(ty),
        }
    }

    fn builtin(&self, op: Builtin) -> Fact {
        let axis = |n: u8| usize::from(n.min(2));
        match op {
            Builtin::NumWorkgroups(_) => Fact::uniform(Type::I32),
            Builtin::WorkgroupId(n) => self.lanes.workgroup_id(axis(n)),
            Builtin::LocalInvocationId(n) => self.lanes.local_id(axis(n)),
            Builtin::GlobalInvocationId(n) => self.lanes.global_id(axis(n)),
            Builtin::LocalInvocationIndex => self.lanes.local_index(),
            // Each subgroup of a work-group has its own.
            Builtin::SubgroupId | Builtin::SubgroupLane | Builtin::ResidentSubgroup if self.is_workgroup => {
                Fact::varying(Type::I32)
            }
            Builtin::Multiprocessor | Builtin::ResidentSubgroup => Fact::uniform(Type::I32),
            Builtin::SubgroupId => self.lanes.subgroup_id(),
            Builtin::SubgroupLane => self.lanes.lane(),
        }
    }

    fn subgroup(&self, op: SubgroupOp, ty: Type, all_uniform: bool) -> Fact {
        let is_uniform = match op {
            SubgroupOp::All
            | SubgroupOp::Any
            | SubgroupOp::AllEqual
            | SubgroupOp::Broadcast
            | SubgroupOp::BroadcastFirst
            | SubgroupOp::Ballot => true,
            SubgroupOp::Reduce(_, cluster) => cluster.is_none_or(|c| c == self.module.subgroup_size),
            // The same lane for all; or the ballot of all active lanes.
            SubgroupOp::Shuffle | SubgroupOp::Partition => all_uniform,
            SubgroupOp::Elect
            | SubgroupOp::InclusiveScan(_)
            | SubgroupOp::ExclusiveScan(_)
            | SubgroupOp::PartitionedReduce(_)
            | SubgroupOp::PartitionedInclusiveScan(_)
            | SubgroupOp::PartitionedExclusiveScan(_) => false,
        };
        // Each subgroup of a work-group has its own.
        if is_uniform && !self.is_workgroup { Fact::uniform(ty) } else { Fact::varying(ty) }
    }

    fn into_result(mut self) -> Uniformity {
        self.control.finish(self.tree);
        let vars = self.module.body.vars.iter().zip(self.vars);
        Uniformity {
            facts: self.facts,
            vars: vars.map(|(info, fact)| fact.unwrap_or_else(|| Fact::uniform(info.ty))).collect(),
            control: self.control,
            subgroup_size: self.module.subgroup_size,
            components: self.assumptions.is_some_and(Assumptions::of_maps),
        }
    }
}
