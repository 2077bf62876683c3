//! Multiply-adds of several rounds of a loop, done together.
//!
//! A loop over the inner dimension of a product multiplies thin slices and adds them to large sums, which
//! are read and written in each round. Where a target gains by it, the slices of some rounds are kept, and
//! then multiplied at once; what is left over follows the loop:
//!
//! ```text
//!                                      var_store<$n> %zero
//! loop @next {                         loop @next {
//!   …                                    %n = var_load<$n>
//!   %a = mat_load …                      %a = mat_load …
//!                                        var_store<$as> %n, %a
//!   %b = mat_load …                →     %b = mat_load …
//!                                        var_store<$bs> %n, %b
//!   %c = var_load<$c>                    %last = ieq %n, %one
//!   %d = mat_mul_add %a, %b, %c          if %last {  $c += $as[0] * $bs[0];  $c += $as[1] * $bs[1];  $n = 0  }
//!   var_store<$c> %d                     else {  $n += 1  }
//! }                                    }
//!                                      if 0 < $n {  $c += $as[0] * $bs[0]  }
//! ```
//!
//! The order of additions stays the same. Nothing else in the loop may look at the sums, and nothing may
//! leave it for anywhere but its end, or that of a block that ends with it.

use super::{Options, PassBug, compact, gate};
use crate::builder::Builder;
use crate::entities::{Block, Inst, Value, Var};
use crate::module::{Function, InstInfo, Module};
use crate::op::{BinaryOp, CompareOp, Op};
use crate::tree::{Parent, Tree};
use crate::types::Type;
use crate::verify::Verified;

/// The multiply-adds that a block does in one round of the loop around it.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// What is multiplied, each value once.
    pub factors: Vec<Value>,
    /// What is added to, each element of a variable once.
    pub sums: Vec<Sum>,
    /// The multiply-adds, and the loads and stores of the sums, in program order.
    insts: Vec<Inst>,
}

impl Round {
    /// The multiply-adds, sum by sum.
    pub fn mul_adds(&self) -> impl Iterator<Item = Inst> + '_ {
        self.sums.iter().flat_map(|sum| sum.mul_adds.iter().copied())
    }

    /// The multiply-adds, and the loads and stores of the sums, in program order.
    pub(super) fn insts(&self) -> &[Inst] {
        &self.insts
    }
}

/// An element of a variable, and what adds to it.
#[derive(Clone, Debug)]
pub struct Sum {
    /// The variable.
    pub var: Var,
    /// The index of its element.
    pub element: u64,
    /// The multiply-adds in a round, in program order.
    pub mul_adds: Vec<Inst>,
}

/// Most multiply-adds of a block that are looked at: more gain nothing by being done later, and would take long.
const MANY: usize = 256;

/// Says how many rounds are to be done together; one for none.
pub type Rounds<'a> = dyn Fn(&Function, &Round) -> u32 + 'a;

/// Does multiply-adds of several rounds together; `None` if there are none for which that is wanted.
///
/// # Errors
///
/// A bug in this pass.
pub fn chain(module: &Verified, rounds: &Rounds<'_>, options: &Options) -> Result<Option<Verified>, PassBug> {
    let old = &module.body;
    let tree = Tree::new(old);
    let uses = uses(old, &tree);
    let mut body = old.clone();
    let mut has_changed = false;
    for block in (0..old.blocks.len()).map(Block::new) {
        let Some(around) = innermost_loop(old, &tree, block) else { continue };
        let Some(round) = round(old, &tree, &uses, block, around.inst) else { continue };
        let count = rounds(old, &round);
        if count > 1 {
            put_off(&mut body, &round, count, block, around);
            has_changed = true;
        }
    }
    if !has_changed {
        return Ok(None);
    }
    let module = gate("chain", Module { body: compact(&body), ..Module::clone(module) })?;
    if let Some(observe) = options.observe {
        observe("chain", &module);
    }
    Ok(Some(module))
}

/// How often each value is used.
pub(super) fn uses(func: &Function, tree: &Tree) -> Vec<usize> {
    let mut uses = vec![0; func.values.len()];
    for &inst in tree.order() {
        func.inst(inst).args.iter().for_each(|v| uses[v.index()] += 1);
    }
    uses
}

/// The innermost loop around a block that has multiply-adds, if no region is between them; or a block around the
/// loop that ends with it.
fn innermost_loop(func: &Function, tree: &Tree, block: Block) -> Option<Parent> {
    let mul_adds = func.block(block).iter().filter(|&&i| matches!(func.inst(i).op, Op::MatMulAdd(_)));
    if !(1..=MANY).contains(&mul_adds.count()) {
        return None;
    }
    let mut at = tree.parent(block)?;
    loop {
        match &func.inst(at.inst).op {
            Op::Loop { .. } => break,
            op if op.region().is_some() => return None,
            _ => at = tree.parent(at.block)?,
        }
    }
    let ends = |at: Parent| func.block(at.block).last() == Some(&at.inst);
    while let Some(block) = tree.parent(at.block).filter(|p| matches!(func.inst(p.inst).op, Op::Block { .. }))
        && ends(at)
    {
        at = block;
    }
    Some(at)
}

/// The multiply-adds of a block, if all can be put off until a later round of the loop.
pub(super) fn round(
    func: &Function,
    tree: &Tree,
    uses: &[usize],
    block: Block,
    around: Inst,
) -> Option<Round> {
    let mut round = Round::default();
    // For each sum, what it has come to so far, until it is stored.
    let mut so_far: Vec<Option<Value>> = Vec::new();
    for &inst in func.block(block) {
        let info = func.inst(inst);
        match info.op {
            Op::VarLoad(var) if is_addend(func, uses, block, info.results[0]) => {
                let element = element(func, inst)?;
                if round.sums.iter().any(|sum| (sum.var, sum.element) == (var, element)) {
                    return None;
                }
                round.sums.push(Sum { var, element, mul_adds: Vec::new() });
                so_far.push(Some(info.results[0]));
            }
            Op::MatMulAdd(_) => {
                let addend = info.args[2];
                let at =
                    so_far.iter().position(|&v| v == Some(addend)).filter(|_| uses[addend.index()] == 1)?;
                so_far[at] = Some(info.results[0]);
                round.sums[at].mul_adds.push(inst);
                for &factor in &info.args[..2] {
                    if !round.factors.contains(&factor) {
                        round.factors.push(factor);
                    }
                }
            }
            Op::VarStore(var) => {
                let stored = *info.args.last()?;
                let Some(at) = so_far.iter().position(|&v| v == Some(stored)) else { continue };
                let sum = &round.sums[at];
                if uses[stored.index()] != 1 || var != sum.var || element(func, inst) != Some(sum.element) {
                    return None;
                }
                so_far[at] = None;
            }
            _ => continue,
        }
        round.insts.push(inst);
    }
    let is_free = so_far.iter().all(Option::is_none)
        && round.factors.iter().all(|&f| is_own(func, tree, uses, &round, f, block))
        && is_alone(func, &round, around);
    is_free.then_some(round)
}

/// Whether a loaded matrix is the addend of a multiply-add in this block and nothing else.
fn is_addend(func: &Function, uses: &[usize], block: Block, value: Value) -> bool {
    let is_addend = |&i: &Inst| {
        let info = func.inst(i);
        matches!(info.op, Op::MatMulAdd(_)) && info.args[2] == value
    };
    func.ty(value).mat().is_some() && uses[value.index()] == 1 && func.block(block).iter().any(is_addend)
}

/// Whether a factor is made in the block, for these multiply-adds only. One that is loaded from a variable
/// would have to be copied.
fn is_own(func: &Function, tree: &Tree, uses: &[usize], round: &Round, factor: Value, block: Block) -> bool {
    let def = func.values[factor.index()].def;
    let factors = round.mul_adds().flat_map(|i| &func.inst(i).args[..2]);
    tree.block_of(def) == Some(block)
        && !matches!(func.inst(def).op, Op::VarLoad(_))
        && factors.filter(|&&f| f == factor).count() == uses[factor.index()]
}

/// Whether nothing else in the loop accesses the sums, and nothing leaves it for anywhere but its end.
fn is_alone(func: &Function, round: &Round, around: Inst) -> bool {
    let inside = inside(func, around);
    let label = |&inst: &Inst| match func.inst(inst).op {
        Op::Block { label, .. } | Op::Loop { label, .. } => Some(label),
        _ => None,
    };
    let labels: Vec<_> = inside.iter().chain([&around]).filter_map(label).collect();
    inside.iter().filter(|inst| !round.insts.contains(inst)).all(|&inst| {
        let op = &func.inst(inst).op;
        if let Op::Br(to) = op {
            return labels.contains(to);
        }
        let mut sums = round.sums.iter().filter(|sum| op.var() == Some(sum.var)).peekable();
        sums.peek().is_none() || element(func, inst).is_some_and(|e| sums.all(|sum| sum.element != e))
    })
}

/// The instructions in a construct.
fn inside(func: &Function, around: Inst) -> Vec<Inst> {
    let mut inside = Vec::new();
    let mut open = vec![around];
    while let Some(construct) = open.pop() {
        for &inst in func.inst(construct).op.bodies().flat_map(|body| func.block(body)) {
            inside.push(inst);
            open.push(inst);
        }
    }
    inside
}

/// The element of a variable that is loaded or stored, where it is known.
pub(super) fn element(func: &Function, inst: Inst) -> Option<u64> {
    let info = func.inst(inst);
    match (&info.op, info.args.as_slice()) {
        (Op::VarLoad(_), []) | (Op::VarStore(_), [_]) => Some(0),
        (Op::VarLoad(_), [index]) | (Op::VarStore(_), [index, _]) => func.const_bits(*index),
        _ => None,
    }
}

/// Keeps the factors of `count` rounds and then does their multiply-adds.
fn put_off(func: &mut Function, round: &Round, count: u32, block: Block, around: Parent) {
    let kept: Vec<Var> = round.factors.iter().map(|&f| func.new_var(func.ty(f), count, "")).collect();
    let number = func.new_var(Type::I32, 1, "");
    let put_off = PutOff { round, kept: &kept, number };

    let old = std::mem::take(&mut func.blocks[block.index()]);
    let mut b = Builder { loc: 0, exact: false, block, func };
    let n = b.var_load(number, None);
    for &inst in &old {
        if !round.insts.contains(&inst) {
            b.func.blocks[block.index()].push(inst);
        }
        let made = b.func.inst(inst).results.first().copied();
        if let Some(factor) = made.and_then(|v| round.factors.iter().position(|&f| f == v)) {
            b.var_store(kept[factor], Some(n), round.factors[factor]);
        }
        if round.insts.last() == Some(&inst) {
            put_off.count_round(&mut b, n, count);
        }
    }

    let home = around.block;
    let mut old = std::mem::take(&mut func.blocks[home.index()]);
    let rest = old.split_off(old.iter().position(|&i| i == around.inst).map_or(old.len(), |at| at + 1));
    let inst = old.pop();
    func.blocks[home.index()] = old;
    let mut b = Builder { loc: 0, exact: false, block: home, func };
    let zero = b.i32(0);
    b.var_store(number, None, zero);
    b.func.blocks[home.index()].extend(inst);
    put_off.finish(&mut b, count);
    func.blocks[home.index()].extend(rest);
}

struct PutOff<'a> {
    round: &'a Round,
    /// For each factor, those of the rounds that were put off.
    kept: &'a [Var],
    /// How many rounds were put off.
    number: Var,
}

impl PutOff<'_> {
    /// Ends a round: with all multiply-adds, if it is the last of `count`.
    fn count_round(&self, b: &mut Builder<'_>, n: Value, count: u32) {
        let last = b.i32(count as i32 - 1);
        let is_last = b.compare(CompareOp::Ieq, n, last);
        b.if_else(
            is_last,
            |b| {
                self.mul_adds(b, 0..count);
                let zero = b.i32(0);
                b.var_store(self.number, None, zero);
            },
            |b| {
                let one = b.i32(1);
                let next = b.binary(BinaryOp::Iadd, n, one);
                b.var_store(self.number, None, next);
            },
        );
    }

    /// Does what is left over after the loop.
    fn finish(&self, b: &mut Builder<'_>, count: u32) {
        let n = b.var_load(self.number, None);
        for k in 0..count - 1 {
            let number = b.i32(k as i32);
            let is_left = b.compare(CompareOp::Ult, number, n);
            b.if_else(is_left, |b| self.mul_adds(b, k..k + 1), |_| ());
        }
    }

    /// The multiply-adds of some rounds, sum by sum.
    fn mul_adds(&self, b: &mut Builder<'_>, rounds: std::ops::Range<u32>) {
        for Sum { var, element, mul_adds } in &self.round.sums {
            let index = b.i32(*element as i32);
            let mut sum = b.var_load(*var, Some(index));
            for (k, &inst) in rounds.clone().flat_map(|k| mul_adds.iter().map(move |inst| (k, inst))) {
                let InstInfo { op, args, loc, exact, .. } = b.func.inst(inst).clone();
                let ty = b.func.ty(sum);
                let index = b.i32(k as i32);
                let [x, y] = [args[0], args[1]].map(|factor| b.var_load(self.kept_in(factor), Some(index)));
                (b.loc, b.exact) = (loc, exact);
                sum = b.value(op, &[x, y, sum], ty);
                (b.loc, b.exact) = (0, false);
            }
            b.var_store(*var, Some(index), sum);
        }
    }

    /// Where a factor is kept.
    fn kept_in(&self, factor: Value) -> Var {
        let number = self.round.factors.iter().position(|&f| f == factor);
        self.kept[number.expect("a round has the factors of its multiply-adds")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{text, verify};
    use expect_test::expect;

    /// A loop that adds a product to `$c` in each round.
    const LOOP: &str = "workgroup_size 4 1 1 subgroup_size 4 binding buf0 = 0.0 storage writable
    var $k: i32 var $c: mat<4x4xf32, subgroup, acc>[2] var $d: mat<4x4xf32, subgroup, acc> {
    %zero: i32 = const 0
    %one: i32 = const 1
    %s: i64 = const 16
    %p: ptr<buffer> = buffer_ptr<buf0> %zero
    %m: mat<4x4xf32, subgroup, acc> = mat_load %p, %s
    var_store<$c> %one, %m
    var_store<$k> %zero
    block @far {
     block @out {
      loop @next {
        %k: i32 = var_load<$k>
        %q: ptr<buffer> = ptr_add<scale=64> %p, %k
        %a: mat<4x4xf32, subgroup, a> = mat_load %q, %s
        %b: mat<4x4xf32, subgroup, b> = mat_load %q, %s
        %x: mat<4x4xf32, subgroup, acc> = var_load<$c> %one
        %y: mat<4x4xf32, subgroup, acc> = mat_mul_add %a, %b, %x exact
        var_store<$c> %one, %y
        %n: i32 = iadd %k, %one
        var_store<$k> %n
        %go: bool = ult %n, %n
        if %go {
          br @next
        }
        if %go {
          br @out
        }
      }
     }
     var_store<$k> %zero
    }
    %r: mat<4x4xf32, subgroup, acc> = var_load<$c> %one
    mat_store %p, %r, %s
}";

    fn run(code: &str, rounds: u32) -> Option<Verified> {
        let module = text::parse(code).unwrap_or_else(|e| panic!("{e}\n{code}"));
        let module = verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"));
        chain(&module, &|_, _| rounds, &Options { verify: true, ..Options::default() }).unwrap()
    }

    #[test]
    fn three_rounds_are_done_together() {
        let text = run(LOOP, 3).unwrap().to_string();
        let body = &text[text.find("  loop").unwrap_or(0)..];
        expect![[r#"
              loop @2 {
                    %6: i32 = var_load<$4>
                    %7: i32 = var_load<$k>
                    %8: ptr<buffer> = ptr_add<scale=64> %3, %7
                    %9: mat<4x4xf32, subgroup, a> = mat_load %8, %2
                    var_store<$2> %6, %9
                    %10: mat<4x4xf32, subgroup, b> = mat_load %8, %2
                    var_store<$3> %6, %10
                    %11: i32 = const 2
                    %12: bool = ieq %6, %11
                    if %12 {
                      %13: i32 = const 1
                      %14: mat<4x4xf32, subgroup, acc> = var_load<$c> %13
                      %15: i32 = const 0
                      %16: mat<4x4xf32, subgroup, a> = var_load<$2> %15
                      %17: mat<4x4xf32, subgroup, b> = var_load<$3> %15
                      %18: mat<4x4xf32, subgroup, acc> = mat_mul_add %16, %17, %14 exact
                      %19: i32 = const 1
                      %20: mat<4x4xf32, subgroup, a> = var_load<$2> %19
                      %21: mat<4x4xf32, subgroup, b> = var_load<$3> %19
                      %22: mat<4x4xf32, subgroup, acc> = mat_mul_add %20, %21, %18 exact
                      %23: i32 = const 2
                      %24: mat<4x4xf32, subgroup, a> = var_load<$2> %23
                      %25: mat<4x4xf32, subgroup, b> = var_load<$3> %23
                      %26: mat<4x4xf32, subgroup, acc> = mat_mul_add %24, %25, %22 exact
                      var_store<$c> %13, %26
                      %27: i32 = const 0
                      var_store<$4> %27
                    } else {
                      %28: i32 = const 1
                      %29: i32 = iadd %6, %28
                      var_store<$4> %29
                    }
                    %30: i32 = iadd %7, %1
                    var_store<$k> %30
                    %31: bool = ult %30, %30
                    if %31 {
                      br @2
                    }
                    if %31 {
                      br @1
                    }
                  }
                }
                %32: i32 = var_load<$4>
                %33: i32 = const 0
                %34: bool = ult %33, %32
                if %34 {
                  %35: i32 = const 1
                  %36: mat<4x4xf32, subgroup, acc> = var_load<$c> %35
                  %37: i32 = const 0
                  %38: mat<4x4xf32, subgroup, a> = var_load<$2> %37
                  %39: mat<4x4xf32, subgroup, b> = var_load<$3> %37
                  %40: mat<4x4xf32, subgroup, acc> = mat_mul_add %38, %39, %36 exact
                  var_store<$c> %35, %40
                }
                %41: i32 = const 1
                %42: bool = ult %41, %32
                if %42 {
                  %43: i32 = const 1
                  %44: mat<4x4xf32, subgroup, acc> = var_load<$c> %43
                  %45: i32 = const 1
                  %46: mat<4x4xf32, subgroup, a> = var_load<$2> %45
                  %47: mat<4x4xf32, subgroup, b> = var_load<$3> %45
                  %48: mat<4x4xf32, subgroup, acc> = mat_mul_add %46, %47, %44 exact
                  var_store<$c> %43, %48
                }
                var_store<$k> %0
              }
              %49: mat<4x4xf32, subgroup, acc> = var_load<$c> %1
              mat_store %3, %49, %2
            }
        "#]]
        .assert_eq(body);
    }

    #[test]
    fn sums_that_others_see_stay() {
        let unchanged = |from: &str, to: &str| {
            assert!(LOOP.contains(from));
            assert!(run(&LOOP.replace(from, to), 3).is_none(), "{to}");
        };
        assert!(run(LOOP, 1).is_none());
        // Something in the loop reads or writes the sum, or may.
        unchanged(
            "%go: bool",
            "%z: mat<4x4xf32, subgroup, acc> = var_load<$c> %one mat_store %p, %z, %s %go: bool",
        );
        unchanged("%go: bool", "var_store<$c> %k, %m %go: bool");
        unchanged("%go: bool", "%e: f32 = var_component_load<$c> %one, %zero %go: bool");
        unchanged("%go: bool", "mat_store %p, %y, %s %go: bool");
        // The loop is left for somewhere behind its end.
        unchanged("br @out", "br @far");
        // A factor is needed elsewhere, or would have to be copied.
        unchanged("%go: bool", "mat_store %p, %a, %s %go: bool");
        unchanged("mat_mul_add %a, %b, %x", "mat_mul_add %a, %b, %m");
        // The result goes elsewhere.
        unchanged("var_store<$c> %one, %y", "var_store<$d> %y");
        unchanged("var_store<$c> %one, %y", "var_store<$c> %zero, %y");
    }

    #[test]
    fn other_elements_may_be_accessed() {
        let code = LOOP.replace("%go: bool", "var_store<$c> %zero, %m %go: bool");
        assert!(run(&code, 3).is_some());
    }
}
