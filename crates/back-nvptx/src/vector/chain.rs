//! Products of one warp's vectors that follow one another, and what is done to components between them.
//!
//! ```text
//! vec_mat_mul<$s, $x> ..   loop { $y[i] = max($s[i], 0) }   vec_mat_mul<$t, $y> ..   loop { $z[i] = max($t[i], 0) }
//! ```
//!
//! Where a warp is together and shares all of the matrices, what such a chain makes stays spread over the warp as a product
//! leaves it (`spread`): only what comes in is brought there, and only what is looked at behind the chain is brought back.
//! That is found out once, before the chain. Elsewhere each thread does by itself what is written, in memory of its own, so
//! that the variables themselves may stay in registers.

use super::multiply::Product;
use super::spread::Spread;
use super::warp::Together;
use crate::coopmat;
use crate::lower::Lower;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{Componentwise, Inst, InstInfo, Op, Scalar, Value, Var, VarUse};
use std::collections::{BTreeMap, BTreeSet};

/// Most components of a vector whose loops are written out where each thread works for itself: those that stay in registers.
const MAX_WRITTEN_OUT: u32 = 64;

/// A part of a chain.
#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Product(Inst),
    /// The loop, the instruction that sets its counter, and what it does.
    Components {
        start: Inst,
        inst: Inst,
        found: Componentwise<'a>,
    },
}

/// Instructions of a block that follow one another.
#[derive(Debug)]
struct Chain<'a> {
    together: Together,
    steps: Vec<Step<'a>>,
    /// What stands between and computes operands, which is done first.
    before: Vec<Inst>,
    /// How many instructions that are.
    count: usize,
    /// Vectors that come in, and those that are made, in order.
    read: BTreeSet<Var>,
    made: BTreeSet<Var>,
}

impl<'a> Chain<'a> {
    /// Takes in another product, unless it does not go with the others.
    fn push_product(&mut self, inst: Inst, together: Together, input: Var, result: Var) -> bool {
        if !self.together.goes_with(together) {
            return false;
        }
        if !self.made.contains(&input) {
            self.read.insert(input);
        }
        self.made.insert(result);
        self.steps.push(Step::Product(inst));
        true
    }
}

impl<'a, 'c> Lower<'a, 'c> {
    /// Lowers a chain that begins a block's instructions, or a loop over components that is part of none: how many
    /// instructions that are.
    pub(crate) fn lower_chain(&mut self, insts: &[Inst]) -> Result<usize> {
        if self.ring.is_some() || self.blocks.is_some() {
            return Ok(0);
        }
        let Some(chain) = self.find_chain(insts) else { return self.write_out(insts) };
        for &inst in &chain.before {
            self.inst(inst)?;
        }
        let f = self.f;
        let mut products = Vec::new();
        for step in &chain.steps {
            if let Step::Product(inst) = *step
                && let Op::VecMatMul(op) = &f.inst(inst).op
            {
                products.push(self.product(inst, op)?);
            }
        }
        let mut inputs = BTreeMap::new();
        for &var in &chain.read {
            inputs.insert(var, self.components(var)?);
        }
        let results = self.seen_behind(&chain);
        let holds = self.are_together(chain.together, &products)?;
        let ys = self.either(
            holds,
            |l| l.chain_of_warp(&chain, &products, &inputs, &results),
            |l| l.chain_alone(&chain, &inputs, &results),
        )?;
        let mut ys = ys.into_iter();
        for &var in &results {
            let (at, s) = self.vector(var)?;
            for (i, y) in (0..self.f.var(var).count).zip(&mut ys) {
                self.e.store(y, self.entry_of(at, s, i)?, s.bytes())?;
            }
        }
        for step in &chain.steps {
            if let Step::Components { found, .. } = step {
                self.set_whole(found.counter, self.e.i32(found.length))?;
            }
        }
        Ok(chain.count)
    }

    /// The chain that begins here.
    fn find_chain(&self, insts: &[Inst]) -> Option<Chain<'a>> {
        let f = self.f;
        let Op::VecMatMul(first) = &f.inst(*insts.first()?).op else { return None };
        let together = self.together(insts[0], first)?;
        let mut chain = Chain {
            together,
            steps: Vec::new(),
            before: Vec::new(),
            count: 0,
            read: BTreeSet::new(),
            made: BTreeSet::new(),
        };
        let mut changed = BTreeSet::new();
        let mut before = Vec::new();
        let mut at = 0;
        while let Some(&inst) = insts.get(at) {
            let info = f.inst(inst);
            if let Op::VecMatMul(op) = &info.op {
                let is_taken = self
                    .together(inst, op)
                    .is_some_and(|together| chain.push_product(inst, together, op.input, op.result));
                if !is_taken {
                    break;
                }
                changed.insert(op.result);
                at += 1;
            } else if let Some((loop_, found)) = self.componentwise(&insts[at..]) {
                if !self.is_spread_alike(&chain, &found) {
                    break;
                }
                for &inner in found.insts {
                    if let Op::VarStore(var) = f.inst(inner).op {
                        chain.made.insert(var);
                        changed.insert(var);
                    }
                }
                changed.insert(found.counter);
                chain.steps.push(Step::Components { start: inst, inst: loop_, found });
                at += 2;
            } else if self.is_operand(info, &changed) {
                before.push(inst);
                at += 1;
                continue;
            } else {
                break;
            }
            chain.before.append(&mut before);
            chain.count = at;
        }
        Some(chain)
    }

    /// A loop over components that begins a block's instructions, behind the one that sets its counter to zero.
    fn componentwise(&self, insts: &[Inst]) -> Option<(Inst, Componentwise<'a>)> {
        let f = self.f;
        let &[start, inst, ..] = insts else { return None };
        let Op::Loop { label, body } = f.inst(inst).op else { return None };
        let found = Componentwise::of(f, label, body)?;
        let start = f.inst(start);
        let is_start = start.op == Op::VarStore(found.counter)
            && start.args.len() == 1
            && f.const_bits(start.args[0]) == Some(0);
        is_start.then_some((inst, found))
    }

    /// Whether a loop reads nothing but what the chain has spread, and operands that threads share; and what it stores can be
    /// spread.
    fn is_spread_alike(&self, chain: &Chain<'_>, found: &Componentwise<'_>) -> bool {
        let f = self.f;
        let own: BTreeSet<Value> =
            found.insts.iter().flat_map(|&inst| f.inst(inst).results.iter().copied()).collect();
        let mut made = BTreeSet::new();
        found.insts.iter().all(|&inst| {
            let info = f.inst(inst);
            let fits = |var: Var| f.var(var).ty.scalar().is_some_and(Spread::has);
            let operands = match info.op {
                Op::VarLoad(var) => {
                    return chain.made.contains(&var) || chain.read.contains(&var) || made.contains(&var);
                }
                Op::VarStore(var) => {
                    made.insert(var);
                    if !fits(var) {
                        return false;
                    }
                    &info.args[1..]
                }
                _ => &info.args[..],
            };
            operands.iter().all(|v| own.contains(v) || self.uniformity.is_uniform(*v))
        })
    }

    /// Whether an instruction computes an operand, and may do so before a chain that has changed these variables.
    fn is_operand(&self, info: &InstInfo, changed: &BTreeSet<Var>) -> bool {
        let computes = match info.op {
            Op::Const(_)
            | Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Fma
            | Op::Select
            | Op::Convert(_)
            | Op::Bitcast
            | Op::Builtin(_)
            | Op::BufferPtr(_)
            | Op::PushPtr
            | Op::PtrAdd { .. }
            | Op::PtrToInt
            | Op::IntToPtr => true,
            Op::Load(flags) => !flags.volatile,
            Op::VarLoad(var) => !changed.contains(&var),
            _ => false,
        };
        computes && !coopmat::concerns(self.f, info)
    }

    /// The vectors of a chain that something else reads.
    fn seen_behind(&self, chain: &Chain<'_>) -> Vec<Var> {
        let own: BTreeSet<Inst> = chain
            .steps
            .iter()
            .flat_map(|step| match step {
                Step::Product(inst) => std::slice::from_ref(inst),
                Step::Components { found, .. } => found.insts,
            })
            .copied()
            .collect();
        // What comes in was perhaps made by the chain itself, a round of a loop before.
        let mut seen = chain.read.clone();
        for (info, inst) in self.f.insts.iter().zip((0..).map(Inst::new)) {
            if !own.contains(&inst) {
                let reads = |(_, use_): &(Var, VarUse)| matches!(use_, VarUse::Load | VarUse::Read);
                seen.extend(info.op.vars().filter(reads).map(|(var, _)| var));
            }
        }
        chain.made.intersection(&seen).copied().collect()
    }

    /// The components of a thread's vector.
    fn components(&mut self, var: Var) -> Result<Vec<V<'c>>> {
        let (at, s) = self.vector(var)?;
        let count = 0..self.f.var(var).count;
        count.map(|i| self.e.load(self.e.scalar_ty(s), self.entry_of(at, s, i)?, s.bytes())).collect()
    }

    /// A chain where the warp is together.
    fn chain_of_warp(
        &mut self,
        chain: &Chain<'_>,
        products: &[Product<'_, 'c>],
        inputs: &BTreeMap<Var, Vec<V<'c>>>,
        results: &[Var],
    ) -> Result<Vec<V<'c>>> {
        let mut spread: BTreeMap<Var, Spread<'c>> = BTreeMap::new();
        let mut products = products.iter();
        for step in &chain.steps {
            match step {
                Step::Product(_) => {
                    let Some(product) = products.next() else { continue };
                    let factor = match spread.get(&product.op.input) {
                        Some(input) => self.factor_of(chain.together, product, input)?,
                        None => self.factor_of_rows(chain.together, product, &inputs[&product.op.input])?,
                    };
                    let result = self.multiply_spread(chain.together, product, &factor)?;
                    spread.insert(product.op.result, result);
                }
                Step::Components { found, .. } => {
                    for var in found.vectors(self.f) {
                        if let (false, Some(rows)) = (spread.contains_key(&var), inputs.get(&var)) {
                            let (_, s) = self.vector(var)?;
                            let input = self.spread_rows(chain.together, s, rows)?;
                            spread.insert(var, input);
                        }
                    }
                    self.each_spread(chain.together, found, &mut spread)?;
                }
            }
        }
        let mut ys = Vec::new();
        for var in results {
            ys.extend(self.bring_back(chain.together, &spread[var], self.f.var(*var).count)?);
        }
        Ok(ys)
    }

    /// A chain where each thread works for itself.
    fn chain_alone(
        &mut self,
        chain: &Chain<'_>,
        inputs: &BTreeMap<Var, Vec<V<'c>>>,
        results: &[Var],
    ) -> Result<Vec<V<'c>>> {
        let own: BTreeSet<Var> = chain.read.union(&chain.made).copied().collect();
        let outer = own.iter().map(|&var| self.stand_in(var)).collect::<Result<Vec<_>>>()?;
        for (&var, xs) in inputs {
            let (at, s) = self.vector(var)?;
            for (i, &x) in (0..).zip(xs) {
                self.e.store(x, self.entry_of(at, s, i)?, s.bytes())?;
            }
        }
        for step in &chain.steps {
            match *step {
                Step::Product(inst) => {
                    self.inst(inst)?;
                }
                Step::Components { start, inst, .. } => {
                    self.inst(start)?;
                    self.inst(inst)?;
                }
            }
        }
        let mut ys = Vec::new();
        for &var in results {
            ys.extend(self.components(var)?);
        }
        for (var, slot) in own.into_iter().zip(outer) {
            self.set_slot(var, slot);
        }
        Ok(ys)
    }

    /// Writes out a loop over components, as it is part of no chain, so that its vectors may stay in registers.
    fn write_out(&mut self, insts: &[Inst]) -> Result<usize> {
        let Some((_, found)) = self.componentwise(insts) else { return Ok(0) };
        let f = self.f;
        let has_place = |var: Var| self.multiplied.contains(&var) && f.var(var).ty != Scalar::Bool.into();
        if found.length > MAX_WRITTEN_OUT || !found.vectors(f).all(has_place) {
            return Ok(0);
        }
        for i in 0..found.length {
            for &inst in found.insts {
                let info = f.inst(inst);
                match info.op {
                    Op::VarLoad(var) => {
                        let (at, s) = self.vector(var)?;
                        let x = self.e.load(self.e.scalar_ty(s), self.entry_of(at, s, i)?, s.bytes())?;
                        self.set(inst, x);
                    }
                    Op::VarStore(var) => {
                        let (at, s) = self.vector(var)?;
                        let x = self.scalar(info.args[1])?;
                        self.e.store(x, self.entry_of(at, s, i)?, s.bytes())?;
                    }
                    _ => {
                        self.inst(inst)?;
                    }
                }
            }
        }
        self.set_whole(found.counter, self.e.i32(found.length))?;
        Ok(2)
    }
}
