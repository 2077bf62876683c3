//! Two work-groups that share what they copy.
//!
//! Neighbours along an axis often multiply the same factor: those of a row of tiles the same rows of A. Launched as a *cluster*
//! of two, each copies half of it to the shared memory of both, so that the second cache is read once ([`super::boxes`]).
//!
//! Both then go round their rings together: a slot is filled once it is empty in both, so those that multiply say it to both,
//! and no work-group ends while the other may still copy to it or say something to it. So whether a slot is filled may depend
//! on nothing that differs between the two: what follows from their number along the axis.

use super::plan::{Places, Plan};
use crate::lower::Lower;
use inkwell::IntPredicate;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{Builtin, Inst, Op, Value, Var};

/// Which work-groups are a cluster, and what they share.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    /// The axis along which they are neighbours.
    pub(crate) axis: u32,
    shared: Vec<Inst>,
}

impl Cluster {
    /// The axis along which most is shared, if there is one.
    pub(super) fn of(places: &Places<'_>, plan: &Plan) -> Option<Self> {
        // Who leaves products out gives slots back by what it has computed.
        if !plan.skips.is_empty() {
            return None;
        }
        let along = |axis| {
            let differing = Differing::along(axis, places, plan);
            // Along an axis that makes no difference there is no second work-group.
            let shared = differing.shared().filter(|_| differing.is_any())?;
            (!shared.is_empty()).then_some(Self { axis: axis.into(), shared })
        };
        let bytes = |cluster: &Self| cluster.shared.iter().map(|&fill| plan.bytes_of(fill)).sum::<u32>();
        (0..3).filter_map(along).max_by_key(bytes)
    }

    /// Whether a factor is the same for both.
    pub(super) fn shares(&self, fill: Inst) -> bool {
        self.shared.contains(&fill)
    }
}

/// What differs between neighbours along an axis, of what producers execute.
struct Differing<'m> {
    places: &'m Places<'m>,
    plan: &'m Plan,
    values: Vec<bool>,
    vars: Vec<bool>,
}

impl<'m> Differing<'m> {
    fn along(axis: u8, places: &'m Places<'m>, plan: &'m Plan) -> Self {
        let f = places.f;
        let (values, vars) = (vec![false; f.values.len()], vec![false; f.vars.len()]);
        let mut it = Self { places, plan, values, vars };
        // What is stored in one round of a loop is loaded in the next.
        while it.spread(axis) {}
        it
    }

    /// Marks what follows from what is marked; gives whether that was anything new.
    fn spread(&mut self, axis: u8) -> bool {
        let f = self.places.f;
        let mut is_new = false;
        for &inst in &self.places.order {
            if !self.plan.is_produced[inst.index()] {
                continue;
            }
            let info = f.inst(inst);
            let starts = match info.op {
                Op::Builtin(Builtin::WorkgroupId(of)) => of == axis,
                Op::VarLoad(var) => self.var(var),
                Op::VarStore(_) => self.is_in_differing(inst),
                _ => false,
            };
            if !starts && !info.args.iter().any(|&v| self.value(v)) {
                continue;
            }
            for &v in &info.results {
                is_new |= !std::mem::replace(&mut self.values[v.index()], true);
            }
            if let Op::VarStore(var) = info.op {
                is_new |= !std::mem::replace(&mut self.vars[var.index()], true);
            }
        }
        is_new
    }

    fn is_any(&self) -> bool {
        self.values.contains(&true)
    }

    fn value(&self, v: Value) -> bool {
        self.values[v.index()]
    }

    fn var(&self, var: Var) -> bool {
        self.vars[var.index()]
    }

    /// Whether an instruction is in a branch that one of the two may take alone.
    fn is_in_differing(&self, inst: Inst) -> bool {
        let f = self.places.f;
        let differs = |outer: Inst| {
            let info = f.inst(outer);
            matches!(info.op, Op::If { .. }) && info.args.iter().any(|&v| self.value(v))
        };
        self.places.around(inst).any(differs)
    }

    /// The factors that are the same for both; nothing if both may not fill the same slots.
    fn shared(&self) -> Option<Vec<Inst>> {
        let (f, plan) = (self.places.f, self.plan);
        let decides = |inst: Inst| {
            let is_product = plan.streams.iter().any(|stream| stream.mul_add == inst);
            let leaves = matches!(f.inst(inst).op, Op::Br(_) | Op::Return);
            is_product || plan.starts[inst.index()].is_some() || plan.is_produced[inst.index()] && leaves
        };
        if self.places.order.iter().any(|&inst| decides(inst) && self.is_in_differing(inst)) {
            return None;
        }
        let is_same =
            |&fill: &Inst| !self.is_in_differing(fill) && !f.inst(fill).args.iter().any(|&v| self.value(v));
        Some(plan.boxes.fills().filter(is_same).collect())
    }
}

impl<'c> Lower<'_, 'c> {
    /// Whether the work-group is one of a cluster of two.
    pub(super) fn is_pair(&mut self) -> Result<V<'c>> {
        let count = self.e.intrinsic("llvm.nvvm.read.ptx.sreg.cluster.nctarank", &[], &[])?;
        self.e.icmp(IntPredicate::UGT, count, self.e.i32(1))
    }

    /// Whether it is the second.
    pub(super) fn is_second(&mut self) -> Result<V<'c>> {
        let rank = self.e.intrinsic("llvm.nvvm.read.ptx.sreg.cluster.ctarank", &[], &[])?;
        self.e.icmp(IntPredicate::NE, rank, self.e.i32(0))
    }

    /// Waits for all threads of the cluster. Who wants others to see what it did has a fence before: to wait for what is stored
    /// takes as long as that takes.
    pub(super) fn wait_for_cluster(&mut self) -> Result<()> {
        self.action("barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;", &[])
    }

    /// One thread of each warp arrives at the word at an address, in each work-group of the cluster. There is nothing that the
    /// other has to see: slots were read, and to release what was stored to all of the GPU would take as long as a product.
    pub(super) fn arrive_in_cluster(&mut self, at: V<'c>) -> Result<()> {
        let lane = self.lane()?;
        let text = "{ .reg .pred p; .reg .b32 all, there; mov.u32 all, %cluster_nctarank; setp.lt.u32 p, $1, all; \
            @p mapa.shared::cluster.u32 there, $0, $1; \
            @p mbarrier.arrive.shared::cluster.b64 _, [there]; }";
        self.action(text, &[at, lane])
    }
}
