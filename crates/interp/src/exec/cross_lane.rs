//! Operations between the lanes of a subgroup.

use super::Exec;
use crate::lanes::Lanes;
use phalanx_ir::{CompareOp, InstInfo, ReduceOp, Scalar, SubgroupOp, eval};

/// Which lanes of a set a reduction takes in, as seen from one of them.
#[derive(Clone, Copy, Debug)]
enum Range {
    All,
    /// Up to the lane.
    Inclusive,
    /// Below the lane.
    Exclusive,
}

impl Exec<'_, '_, '_> {
    pub(super) fn subgroup(&mut self, info: &InstInfo, op: SubgroupOp) {
        let active = self.active();
        match op {
            SubgroupOp::Elect => self.lanewise(info, |_, lane| (lane == active.first()).into()),
            SubgroupOp::All => {
                let votes = self.votes(info);
                self.uniform(info, &[(votes == active).into()]);
            }
            SubgroupOp::Any => {
                let votes = self.votes(info);
                self.uniform(info, &[(!votes.is_empty()).into()]);
            }
            SubgroupOp::AllEqual => {
                let equal = self.lanes_equal_to(info, active.first());
                self.uniform(info, &[(equal == active).into()]);
            }
            SubgroupOp::Broadcast => {
                let source = self.index(info.args[1], active.first());
                let bits = self.lane_or_zero(info, source);
                self.uniform(info, &[bits]);
            }
            SubgroupOp::BroadcastFirst => {
                let bits = self.sub.scalar(info.args[0], active.first());
                self.uniform(info, &[bits]);
            }
            SubgroupOp::Ballot => {
                let votes = self.votes(info);
                self.uniform(info, &votes.words());
            }
            SubgroupOp::Shuffle => self.shuffle(info),
            SubgroupOp::Reduce(op, cluster) => {
                let clusters = |lane: usize| cluster.map_or(active, |size| cluster_of(lane, size));
                self.reduce(info, op, Range::All, clusters);
            }
            SubgroupOp::InclusiveScan(op) => self.reduce(info, op, Range::Inclusive, |_| active),
            SubgroupOp::ExclusiveScan(op) => self.reduce(info, op, Range::Exclusive, |_| active),
            SubgroupOp::PartitionedReduce(op) => self.partitioned(info, op, Range::All),
            SubgroupOp::PartitionedInclusiveScan(op) => self.partitioned(info, op, Range::Inclusive),
            SubgroupOp::PartitionedExclusiveScan(op) => self.partitioned(info, op, Range::Exclusive),
            SubgroupOp::Partition => self.partition(info),
        }
    }

    /// The active lanes whose operand is true.
    fn votes(&self, info: &InstInfo) -> Lanes {
        self.active().filter(|lane| self.sub.scalar(info.args[0], lane) != 0)
    }

    /// Sets the results to the same bits in each active lane.
    fn uniform(&mut self, info: &InstInfo, bits: &[u64]) {
        for lane in self.active().iter() {
            for (&result, &bits) in info.results.iter().zip(bits) {
                self.sub.set_scalar(result, lane, bits);
            }
        }
    }

    /// The active lanes whose operand equals that of `lane`; floats compare by value, so a NaN is
    /// equal to none, itself included.
    fn lanes_equal_to(&self, info: &InstInfo, lane: usize) -> Lanes {
        let ty = self.elem(info.args[0]);
        let op = if ty.is_float() { CompareOp::FordEq } else { CompareOp::Ieq };
        let value = self.sub.scalar(info.args[0], lane);
        self.active().filter(|other| eval::compare(op, ty, value, self.sub.scalar(info.args[0], other)))
    }

    /// The first operand in a lane; zero from an inactive one or from none.
    fn lane_or_zero(&self, info: &InstInfo, lane: u32) -> u64 {
        let lane = lane as usize;
        if self.active().contains(lane) { self.sub.scalar(info.args[0], lane) } else { 0 }
    }

    fn shuffle(&mut self, info: &InstInfo) {
        for lane in self.active().iter() {
            let bits = self.lane_or_zero(info, self.index(info.args[1], lane));
            self.sub.set_scalar(info.results[0], lane, bits);
        }
    }

    /// Reduces in the order of the lanes over the active ones of those that `set` gives for a lane.
    fn reduce(&mut self, info: &InstInfo, op: ReduceOp, range: Range, set: impl Fn(usize) -> Lanes) {
        let (ty, active) = (self.elem(info.args[0]), self.active());
        for lane in active.iter() {
            let lanes = set(lane).and(active).and(match range {
                Range::All => active,
                Range::Inclusive => Lanes::below(lane as u32 + 1),
                Range::Exclusive => Lanes::below(lane as u32),
            });
            let bits = self.fold(info, op, ty, lanes);
            self.sub.set_scalar(info.results[0], lane, bits);
        }
    }

    fn fold(&self, info: &InstInfo, op: ReduceOp, ty: Scalar, lanes: Lanes) -> u64 {
        let values = lanes.iter().map(|lane| self.sub.scalar(info.args[0], lane));
        values.reduce(|x, y| eval::reduce(op, ty, x, y)).unwrap_or_else(|| eval::reduce_identity(op, ty))
    }

    fn partitioned(&mut self, info: &InstInfo, op: ReduceOp, range: Range) {
        let sets: Vec<_> = (0..self.sub.size as usize)
            .map(|lane| Lanes::from_words([1, 2, 3, 4].map(|i| self.sub.scalar(info.args[i], lane))))
            .collect();
        self.reduce(info, op, range, |lane| sets[lane]);
    }

    fn partition(&mut self, info: &InstInfo) {
        for lane in self.active().iter() {
            // A NaN is in a partition of its own.
            let equal = self.lanes_equal_to(info, lane).or(Lanes(1 << lane));
            for (&result, bits) in info.results.iter().zip(equal.words()) {
                self.sub.set_scalar(result, lane, bits);
            }
        }
    }
}

/// The lanes of the cluster that a lane is in.
fn cluster_of(lane: usize, size: u32) -> Lanes {
    let start = lane as u32 / size * size;
    Lanes::below(start + size).without(Lanes::below(start))
}
