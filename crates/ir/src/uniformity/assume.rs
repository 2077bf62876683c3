//! What a target may assume of push constants to know more of how values vary.
//!
//! Kernels get the lengths of rows as push constants, and most rows are multiples of a few hundred elements long. Where
//! that is known, `(row * length + lane * 8) / 32` is a base and a constant for each lane, and lanes that count
//! together up to a length end together. So [`Assumptions::useful`] finds the masks, shifts and comparisons that would
//! gain, and goes back from each to the push constants that the base, or the other side, is a sum or a product of.
//! A target makes code for a module with these assumptions and without, and chooses when it runs.
//!
//! Of its own doings a target may say that it executes regions of maps component by component.

use super::fact::{Fact, Lanes};
use super::{Shape, Uniformity};
use crate::entities::{Block, Inst, Value};
use crate::module::{Function, Module};
use crate::op::{BinaryOp, Op};
use crate::tree::Tree;
use crate::types::{Scalar, Type};
use std::collections::{BTreeMap, BTreeSet};

/// A power of two, as exponent, that lengths may be asked to be a multiple of. Beyond it few are.
const MAX_LOG2: u32 = 10;

/// Steps from a value back to push constants; what is further away is not looked for.
const MAX_DEPTH: u32 = 32;

/// Products within products that are looked at: a tensor has few dimensions.
const MAX_FACTORS: u32 = 5;

/// Push constants that are multiples of powers of two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumptions {
    /// By the byte where a 32-bit integer begins: the exponent of the power of two that divides it.
    aligned: BTreeMap<u32, u32>,
    /// Whether the region of a map is executed for one component of all lanes at once.
    components: bool,
}

impl Assumptions {
    /// What a target may assume that executes the region of a map for one component of all lanes of a subgroup at once:
    /// where rows are as long as some subgroups, their elements are in one row, and follow one another.
    pub fn of_components() -> Self {
        Self { components: true, ..Self::default() }
    }

    /// The assumptions that make more values of a verified module uniform, affine or stepped; most often none. Of a program
    /// that multiplies matrices in loops they are those of what these loops do: what comes after them is done once, and not
    /// worth the same code twice.
    pub fn useful(module: &Module, known: &Uniformity) -> Self {
        let nothing = Self { components: known.components, ..Self::default() };
        let aligned = pushed_words(&module.body).map(|at| (at, MAX_LOG2)).collect();
        let all = Self { aligned, ..nothing };
        if all.is_empty() {
            return all;
        }
        let hoped = Uniformity::analyse_if(module, &all);
        let mut search = Search {
            func: &module.body,
            lanes: Lanes::new(module),
            known,
            hoped: &hoped,
            stores: stores(&module.body),
            found: nothing,
            depth: 0,
        };
        let gains = |&inst: &Inst| match &module.body.inst(inst).results[..] {
            &[result] => known.value(result) == Shape::Varying && hoped.value(result) != Shape::Varying,
            _ => false,
        };
        let gaining = worth_assuming(&module.body).into_iter().filter(gains);
        // Which length of a product should be a multiple is best known when those that stand alone are.
        let (later, first): (Vec<Inst>, Vec<Inst>) =
            gaining.partition(|&inst| is_of_product(&module.body, inst));
        for inst in first.into_iter().chain(later) {
            let inst = module.body.inst(inst);
            search.site(&inst.op, &inst.args);
        }
        search.found
    }

    /// Whether nothing is assumed of push constants.
    pub fn is_empty(&self) -> bool {
        self.aligned.is_empty()
    }

    /// The bytes where the 32-bit integers begin, and the exponent of the power of two that divides each.
    pub fn aligned(&self) -> impl Iterator<Item = (u32, u32)> {
        self.aligned.iter().map(|(&at, &log2)| (at, log2))
    }

    /// Whether the region of a map is executed for one component of all lanes at once.
    pub(super) fn of_maps(&self) -> bool {
        self.components
    }

    /// The exponent of a power of two that divides the integer that a load of push constants gives as its `n`-th result.
    pub(super) fn align_of(&self, func: &Function, pointer: Value, n: usize, ty: Type) -> u32 {
        if self.is_empty() || ty != Type::I32 {
            return 0;
        }
        let at = pushed_at(func, pointer).and_then(|at| at.checked_add(4 * n as u32));
        at.and_then(|at| self.aligned.get(&at)).copied().unwrap_or(0)
    }

    fn add(&mut self, at: u32, log2: u32) {
        let known = self.aligned.entry(at).or_insert(0);
        *known = log2.max(*known);
    }
}

/// The instructions for whose sake something may be assumed: those of the outermost loops that multiply matrices, or all
/// without such loops.
fn worth_assuming(func: &Function) -> Vec<Inst> {
    let tree = Tree::new(func);
    let multiplies = |&inst: &Inst| matches!(func.inst(inst).op, Op::MatMulAdd(_));
    let products = tree.order().iter().copied().filter(multiplies);
    let loops: BTreeSet<Block> = products.filter_map(|inst| tree.outermost_loop(inst)).collect();
    match loops.is_empty() {
        true => tree.order().to_vec(),
        false => loops.into_iter().flat_map(|body| tree.within(body)).copied().collect(),
    }
}

/// Whether this divides by a product, or compares with one.
fn is_of_product(func: &Function, inst: Inst) -> bool {
    let is_product = |&v: &Value| matches!(func.def(v).op, Op::Binary(BinaryOp::Imul));
    let inst = func.inst(inst);
    match inst.op {
        Op::Binary(BinaryOp::Udiv | BinaryOp::Sdiv) => is_product(&inst.args[1]),
        Op::Compare(_) => inst.args.iter().any(is_product),
        _ => false,
    }
}

/// Where a pointer points among the push constants, in bytes.
fn pushed_at(func: &Function, pointer: Value) -> Option<u32> {
    let def = func.def(pointer);
    match def.op {
        Op::PushPtr => Some(0),
        Op::PtrAdd { scale, disp } => {
            let index = match def.args.get(1) {
                Some(&index) => func.const_bits(index)?.cast_signed(),
                None => 0,
            };
            let at = pushed_at(func, def.args[0])?;
            u32::try_from(index.checked_mul(scale)?.checked_add(disp)?.checked_add(at.into())?).ok()
        }
        _ => None,
    }
}

/// Where the 32-bit integers begin that are loaded from push constants.
fn pushed_words(func: &Function) -> impl Iterator<Item = u32> {
    let loads = func.insts.iter().filter(|i| matches!(i.op, Op::Load(_)));
    let words = loads.flat_map(|i| {
        let is_int = i.results.first().is_some_and(|&v| func.ty(v) == Type::I32);
        let at = if is_int { pushed_at(func, i.args[0]) } else { None };
        let n = if at.is_some() { i.results.len() as u32 } else { 0 };
        (0..n).filter_map(move |k| at?.checked_add(4 * k))
    });
    words.filter(|at| at.is_multiple_of(4))
}

/// What is stored to each variable.
fn stores(func: &Function) -> Vec<Vec<Value>> {
    let mut stores = vec![Vec::new(); func.vars.len()];
    for inst in &func.insts {
        if let Op::VarStore(var) = inst.op {
            stores[var.index()].extend(inst.args.last());
        }
    }
    stores
}

struct Search<'a> {
    func: &'a Function,
    lanes: Lanes,
    known: &'a Uniformity,
    hoped: &'a Uniformity,
    /// By variable; empty while those values are looked at.
    stores: Vec<Vec<Value>>,
    found: Assumptions,
    depth: u32,
}

impl Search<'_> {
    /// Adds what an operation needs that would gain, if push constants can give it.
    fn site(&mut self, op: &Op, args: &[Value]) {
        use BinaryOp as B;
        let wants = match (op, args) {
            // Where it is no power of two that is divided by, it has to be a multiple of one, too: first, as what is divided
            // may be what multiples of it have left.
            (Op::Binary(B::Udiv | B::Sdiv), &[x, y]) if self.func.const_bits(y).is_none() => {
                [(y, self.low_bits(x)), (x, self.low_bits(x))]
            }
            (
                Op::Binary(B::And | B::Lshr | B::Ashr | B::Udiv | B::Umod | B::Sdiv | B::Srem | B::Smod),
                &[x, y],
            ) => [(x, self.low_bits(x)), (y, self.low_bits(y))],
            (Op::Binary(B::Or | B::Xor) | Op::Compare(_), &[x, y]) => {
                let low = self.low_bits(x).max(self.low_bits(y));
                [(x, low), (y, low)]
            }
            _ => return,
        };
        let before = self.found.clone();
        if !wants.iter().all(|&(v, log2)| self.demand(v, log2)) {
            self.found = before;
        }
    }

    /// The low bits that the lanes' part of a value takes; 0 for a uniform one.
    fn low_bits(&self, v: Value) -> u32 {
        self.lanes.low_bits_of(self.func.ty(v), self.hoped_fact(v)).unwrap_or(0)
    }

    fn hoped_fact(&self, v: Value) -> &Fact {
        &self.hoped.facts[v.index()]
    }

    /// Assumes what makes as many of the low `log2` bits of a value's base zero as it is hoped; whether that can be done.
    /// What was assumed on the way stays.
    fn demand(&mut self, v: Value, log2: u32) -> bool {
        let wanted = self.hoped.facts[v.index()].zeros & ((1 << log2.min(63)) - 1);
        let known = &self.known.facts[v.index()];
        // How a value varies is the matter of other sites.
        let zeros = if known.shape == Shape::Varying { 0 } else { known.zeros };
        if zeros & wanted == wanted {
            return true;
        }
        if self.assumed_align(v, MAX_FACTORS) >= log2 {
            return true;
        }
        if self.depth >= MAX_DEPTH {
            return false;
        }
        self.depth += 1;
        let is_met = self.demand_operands(v, log2);
        self.depth -= 1;
        is_met
    }

    fn demand_operands(&mut self, v: Value, log2: u32) -> bool {
        use BinaryOp as B;
        let func = self.func;
        let def = func.def(v);
        match (&def.op, &def.args[..]) {
            (Op::Load(_), &[pointer]) => {
                let n = def.results.iter().position(|&r| r == v).unwrap_or(0);
                let at = pushed_at(func, pointer).and_then(|at| at.checked_add(4 * n as u32));
                at.is_some_and(|at| {
                    self.found.add(at, log2);
                    true
                })
            }
            (Op::Binary(B::Iadd | B::Isub | B::Or | B::Xor), &[x, y]) | (Op::Select, &[_, x, y]) => {
                self.demand(x, log2) && self.demand(y, log2)
            }
            (Op::Binary(B::Smin | B::Smax | B::Umin | B::Umax), &[x, y]) => {
                self.demand(x, log2) && self.demand(y, log2)
            }
            (Op::Binary(B::Imul), &[x, y]) => {
                // One of them is enough if it is hoped to have the zeros that the other one lacks.
                let log2 = log2.min(self.hoped.align_log2(v));
                let (a, b) = (log2.saturating_sub(self.align(y)), log2.saturating_sub(self.align(x)));
                (self.hoped.align_log2(x) >= a && self.demand_one(x, a))
                    || (self.hoped.align_log2(y) >= b && self.demand_one(y, b))
            }
            (Op::Binary(B::Shl), &[x, n]) => match func.const_bits(n) {
                Some(n) if n < u64::from(Scalar::I32.bits()) => self.demand(x, log2.saturating_sub(n as u32)),
                _ => false,
            },
            // Its lowest bits are those of an operand.
            (Op::Binary(B::And | B::Umod), &[x, _]) => self.demand(x, log2),
            (Op::Binary(B::Lshr | B::Ashr), &[x, n]) => match func.const_bits(n) {
                Some(n) if n < u64::from(Scalar::I32.bits()) => self.demand(x, log2 + n as u32),
                _ => false,
            },
            (Op::Binary(B::Udiv), &[x, n]) => match func.const_bits(n) {
                Some(n) if n.is_power_of_two() => self.demand(x, log2 + n.trailing_zeros()),
                _ => false,
            },
            (&Op::VarLoad(var), []) => {
                // What a loop makes of itself is demanded once.
                let values = std::mem::take(&mut self.stores[var.index()]);
                let is_met = values.iter().all(|&value| self.demand(value, log2));
                self.stores[var.index()] = values;
                is_met
            }
            _ => false,
        }
    }

    /// A power of two that divides a length or a product of lengths by what is assumed already, as exponent.
    fn assumed_align(&self, v: Value, depth: u32) -> u32 {
        let (def, Some(depth)) = (self.func.def(v), depth.checked_sub(1)) else { return 0 };
        match (&def.op, &def.args[..]) {
            (Op::Load(_), &[pointer]) => {
                let n = def.results.iter().position(|&r| r == v).unwrap_or(0);
                self.found.align_of(self.func, pointer, n, self.func.ty(v))
            }
            (Op::Binary(BinaryOp::Imul), &[x, y]) => {
                self.assumed_align(x, depth).saturating_add(self.assumed_align(y, depth))
            }
            _ => 0,
        }
    }

    /// A power of two that is known to divide the base of a value, as exponent.
    fn align(&self, v: Value) -> u32 {
        match self.known.value(v) {
            Shape::Varying => 0,
            _ => self.known.align_log2(v),
        }
    }

    /// Demands, and takes back what was assumed if it was in vain.
    fn demand_one(&mut self, v: Value, log2: u32) -> bool {
        let before = self.found.clone();
        let is_met = self.demand(v, log2);
        if !is_met {
            self.found = before;
        }
        is_met
    }
}
