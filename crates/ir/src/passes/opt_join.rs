//! Joining: narrow numbers that follow one another in a buffer are read together.
//!
//! Blocks of quantised weights are as long as their scale leaves them, so kernels read words of them by halves, and rows
//! of halves by pairs:
//!
//! ```text
//! %3: ptr<buffer> = ptr_add<scale=2> %p, %2          %3: ptr<buffer> = ptr_add<scale=2> %p, %2
//! %4: i16 = load %3                                  %4: i16, %7: i16 = load %3
//! %5: i32 = iadd %2, %one                       →    %5: i32 = iadd %2, %one
//! %6: ptr<buffer> = ptr_add<scale=2> %p, %5          %6: ptr<buffer> = ptr_add<scale=2> %p, %5
//! %7: i16 = load %6
//! ```
//!
//! A target then looks once for where the lanes' words are. Loads are joined within a block where nothing acts on memory in
//! between; that the second index is one more than the first, not less by all, follows from bits and bounds that are known.
//! A target that knows more bits, as it assumes lengths to be multiples, joins once more ([`join_known`]).

use super::classes::Classes;
use crate::entities::{Block, Inst, Value};
use crate::module::{Function, Module};
use crate::op::{BinaryOp, Op};
use crate::passes::{PassBug, compact, gate, opt_dce};
use crate::types::{Scalar, Space, Type};
use crate::uniformity::Uniformity;
use crate::verify::Verified;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// Numbers of at most so many bytes are joined: all others are read as they are.
const MOST_BYTES: u32 = 2;
/// Numbers that one load gives.
const MOST_JOINED: usize = 8;
/// Operations that are looked through.
const DEPTH: u32 = 12;

/// Joins loads.
pub(super) fn run(func: &Function) -> Function {
    let mut join = Join { func: func.clone(), classes: Classes::default(), known: None, has_joined: false };
    join.all();
    join.func
}

/// Joins loads of a module of which more is known; `None` if there are none.
///
/// # Errors
///
/// A bug in this pass.
pub fn join_known(module: &Verified, known: &Uniformity) -> Result<Option<Verified>, PassBug> {
    let func = module.body.clone();
    let mut join = Join { func, classes: Classes::default(), known: Some(known), has_joined: false };
    join.all();
    if !join.has_joined {
        return Ok(None);
    }
    let body = compact(&opt_dce::run(&join.func));
    gate("join_known", Module { body, ..Module::clone(module) }).map(Some)
}

/// Where a scalar is, but for known bytes.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Place {
    scalar: Scalar,
    root: u32,
    /// Scale and class of each index.
    indices: SmallVec<[(i64, u32); 2]>,
}

/// A load of scalars.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Bytes from its [`Place`].
    disp: i64,
    /// Scalars.
    n: usize,
    /// Its number in the block.
    at: usize,
}

struct Join<'a> {
    func: Function,
    classes: Classes,
    /// What is known of the values of the module as it was.
    known: Option<&'a Uniformity>,
    has_joined: bool,
}

impl Join<'_> {
    fn all(&mut self) {
        for block in 0..self.func.blocks.len() {
            self.block(Block::new(block));
        }
    }

    fn block(&mut self, block: Block) {
        let insts = self.func.block(block).to_vec();
        let mut open: HashMap<Place, Vec<Load>> = HashMap::new();
        let mut edits = Edits::default();
        for (at, &inst) in insts.iter().enumerate() {
            let op = &self.func.inst(inst).op;
            if op.has_effect() && op.var().is_none() {
                self.close(&insts, &mut open, &mut edits);
            } else if let Some((place, disp)) = self.place(inst) {
                let n = self.func.inst(inst).results.len();
                open.entry(place).or_default().push(Load { disp, n, at });
            }
        }
        self.close(&insts, &mut open, &mut edits);
        if edits.removed.is_empty() {
            return;
        }
        self.has_joined = true;
        let mut new = Vec::with_capacity(insts.len());
        for (at, inst) in insts.into_iter().enumerate() {
            new.extend(edits.before.get(&at));
            if !edits.removed.contains(&at) {
                new.push(inst);
            }
        }
        self.func.blocks[block.index()] = new;
    }

    /// The place of a load that may be joined with others.
    fn place(&mut self, inst: Inst) -> Option<(Place, i64)> {
        let info = self.func.inst(inst);
        let Op::Load(flags) = &info.op else { return None };
        let scalar = self.func.ty(*info.results.first()?).scalar()?;
        let mut ptr = info.args[0];
        let is_joined = info.results.len() < MOST_JOINED
            && scalar.bytes() <= MOST_BYTES
            && !flags.volatile
            && self.func.ty(ptr) == Type::Ptr(Space::Buffer);
        if !is_joined {
            return None;
        }
        let (mut indices, mut bytes) = (SmallVec::new(), 0_i64);
        while let Op::PtrAdd { scale, disp } = self.func.def(ptr).op {
            let args = &self.func.def(ptr).args;
            bytes = bytes.wrapping_add(disp);
            let (base, index) = (args[0], args.get(1).copied());
            if let Some(index) = index {
                let (index, more) = without_constant(&self.func, self.known, index);
                bytes = bytes.wrapping_add(scale.wrapping_mul(more));
                indices.push((scale, self.classes.of(&self.func, index)));
            }
            ptr = base;
        }
        indices.sort_unstable();
        let root = self.classes.of(&self.func, ptr);
        Some((Place { scalar, root, indices }, bytes))
    }

    /// Joins what is open.
    fn close(&mut self, insts: &[Inst], open: &mut HashMap<Place, Vec<Load>>, edits: &mut Edits) {
        let mut all: Vec<(Scalar, Vec<Load>)> =
            open.drain().map(|(place, loads)| (place.scalar, loads)).collect();
        // In the order of the text, not that of the table.
        all.sort_unstable_by_key(|(_, loads)| loads[0].at);
        for (scalar, mut loads) in all {
            loads.sort_unstable_by_key(|load| (load.disp, load.at));
            loads.dedup_by_key(|load| load.disp);
            let follows =
                |x: &Load, y: &Load| y.disp.wrapping_sub(x.disp) == x.n as i64 * i64::from(scalar.bytes());
            for mut run in loads.chunk_by(follows) {
                while let [first, ..] = run {
                    // As many of eight, four and two as there are.
                    let counts = run.iter().scan(0, |sum, load| {
                        *sum += load.n;
                        Some(*sum)
                    });
                    let fits =
                        |most: usize| counts.clone().take_while(|&sum| sum <= most).last() == Some(most);
                    let wanted = [MOST_JOINED, 4, 2].into_iter().find(|&most| first.n < most && fits(most));
                    let together = wanted.map_or(1, |most| counts.take_while(|&sum| sum <= most).count());
                    let (first, rest) = run.split_at(together);
                    if together > 1 {
                        self.join(insts, first, edits);
                    }
                    run = rest;
                }
            }
        }
    }

    /// Joins loads that follow one another in memory.
    fn join(&mut self, insts: &[Inst], loads: &[Load], edits: &mut Edits) {
        let Some(earliest) = loads.iter().min_by_key(|load| load.at) else { return };
        let inst = insts[earliest.at];
        let results: SmallVec<[Value; 1]> =
            loads.iter().flat_map(|load| self.func.inst(insts[load.at]).results.iter().copied()).collect();
        let disp = loads[0].disp.wrapping_sub(earliest.disp);
        if disp != 0 {
            let info = self.func.inst(inst);
            let (ptr, loc) = (info.args[0], info.loc);
            let ty = self.func.ty(ptr);
            let lower = self.func.new_inst(Op::PtrAdd { scale: 1, disp }, &[ptr], &[ty], loc);
            self.func.insts[inst.index()].args[0] = self.func.inst(lower).results[0];
            edits.before.insert(earliest.at, lower);
        }
        for &result in &results {
            self.func.values[result.index()].def = inst;
        }
        self.func.insts[inst.index()].results = results;
        edits.removed.extend(loads.iter().map(|load| load.at).filter(|&at| at != earliest.at));
    }
}

/// What becomes of a block.
#[derive(Debug, Default)]
struct Edits {
    /// Instructions to come before one, by its number.
    before: HashMap<usize, Inst>,
    removed: HashSet<usize>,
}

/// An index, and the constant that was added to it, if its sign-extension is the sum of both. `facts` are what is known of
/// the values of the function.
pub fn without_constant(func: &Function, facts: Option<&Uniformity>, mut index: Value) -> (Value, i64) {
    let mut sum = 0;
    while func.ty(index) == Type::Scalar(Scalar::I32) && func.def(index).op == Op::Binary(BinaryOp::Iadd) {
        let args = &func.def(index).args;
        let with = |x: Value, c: Value| Some((x, func.const_bits(c)?));
        let Some((x, c)) = with(args[0], args[1]).or_else(|| with(args[1], args[0])) else { break };
        let known = Known::of(func, x, DEPTH);
        let zeros = known.zeros.max(facts.map_or(0, |facts| facts.low_zeros(x)));
        let carries = c >> zeros.min(63) != 0;
        let is_sum = !carries || known.most + c <= u64::from(i32::MAX.cast_unsigned());
        let Ok(c) = i32::try_from(c) else { break };
        if !is_sum {
            break;
        }
        sum += i64::from(c);
        index = x;
    }
    (index, sum)
}

/// What is known of an integer of 32 bits without a sign.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Lowest bits that are zero.
    zeros: u32,
    most: u64,
}

impl Known {
    const NOTHING: Self = Self { zeros: 0, most: u32::MAX as u64 };

    fn of(func: &Function, v: Value, depth: u32) -> Self {
        if func.ty(v) != Type::Scalar(Scalar::I32) || depth == 0 {
            return Self::NOTHING;
        }
        if let Some(c) = func.const_bits(v) {
            return Self { zeros: c.trailing_zeros().min(32), most: c };
        }
        let Op::Binary(op) = func.def(v).op else { return Self::NOTHING };
        let args = &func.def(v).args;
        let [x, y] = [0, 1].map(|i| Self::of(func, args[i], depth - 1));
        let constant = func.const_bits(args[1]);
        let bounded = |most: u64| if most > Self::NOTHING.most { Self::NOTHING.most } else { most };
        match (op, constant) {
            (BinaryOp::Iadd, _) => Self { zeros: x.zeros.min(y.zeros), most: bounded(x.most + y.most) },
            (BinaryOp::Imul, _) => {
                Self { zeros: (x.zeros + y.zeros).min(32), most: bounded(x.most.saturating_mul(y.most)) }
            }
            (BinaryOp::And, _) => Self { zeros: x.zeros.max(y.zeros), most: x.most.min(y.most) },
            (BinaryOp::Shl, Some(by @ 0..32)) => {
                Self { zeros: (x.zeros + by as u32).min(32), most: bounded(x.most << by) }
            }
            (BinaryOp::Lshr, Some(by @ 0..32)) => Self { zeros: 0, most: x.most >> by },
            (BinaryOp::Udiv, Some(by @ 1..)) => Self { zeros: 0, most: x.most / by },
            (BinaryOp::Umod, Some(by @ 1..)) => Self { zeros: 0, most: x.most.min(by - 1) },
            _ => Self::NOTHING,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::without_constant;
    use crate::{text, verify};

    #[test]
    fn constants_are_taken_from_indices_of_32_bits() {
        // What is added to an index, its type, and what is known to be added to it.
        for (ty, constant, known) in
            [("i32", "4", 4), ("i32", "0xffffffff", 0), ("i64", "-1", 0), ("i64", "4", 0)]
        {
            let code = format!(
                "workgroup_size 32 1 1 subgroup_size 32 binding buf0 = 0.0 storage {{
                %0: i32 = const 0
                %four: i32 = const 3
                %lane: i32 = local_invocation_id<x>
                %even: i32 = shl %lane, %four
                %index: {ty} = {} %even
                %c: {ty} = const {constant}
                %sum: {ty} = iadd %index, %c
                %p: ptr<buffer> = buffer_ptr<buf0> %0
                %at: ptr<buffer> = ptr_add<scale=4> %p, %sum
                %x: i32 = load %at }}",
                if ty == "i32" { "iadd %0," } else { "u_to_u" }
            );
            let module = verify(text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}"))).unwrap();
            let at = module.body.insts.iter().find_map(|info| match info.op {
                crate::Op::PtrAdd { .. } => info.args.get(1).copied(),
                _ => None,
            });
            assert_eq!(without_constant(&module.body, None, at.unwrap()).1, known, "{ty} {constant}");
        }
    }
}
