//! Several rounds of a loop as one, of deeper matrices, in code that may decline.
//!
//! A loop over K loads slices that are as deep as a GPU's matrices are: of 16 halves they have half a line of the cache in
//! each row, and a call of a kernel multiplies no more. Behind each slice lies that of the next round, if the stride says so
//! and no word wraps. So another loop comes first, which does some rounds at once while so many are left:
//!
//! ```text
//! loop @next {                         loop @deep {
//!   %k = var_load<$k>                    %k = var_load<$k>
//!   %go = ult %k, %end                   %last = iadd %k, 48
//!   if %go {                             if %k < %last < %end {
//!     %p = … %k …                          %p = … %k …   %p1 = … %k + 16 …   …
//!     %q = … %k …                   →      %q = … %k …   %q1 = … %k + 16 …   …
//!     %a: mat<16x16> = mat_load %p         decline unless %q1 is 16 strides behind %q, …
//!     %b: mat<16x16> = mat_load %q         %a: mat<16x64> = mat_load %p
//!     $c += %a * %b                        %b: mat<64x16> = mat_load %q
//!     $k += 16                             $c += %a * %b
//!     br @next                             $k += 64
//!   }                                      br @deep
//! }                                      }
//!                                      }
//!                                      loop @next { as it was }
//! ```
//!
//! Each element of the sums is added to in the order that it was, and rounded where it was, as in [`deepen`](super::deepen).

use super::affine::Places;
use super::chain::{Round, round, uses};
use super::counted::Counted;
use super::deepen::{deeper, depth, have_own_sides, may_be_deeper};
use super::late::Late;
use super::widen::{Apart, Guesses, decline_unless};
use crate::entities::{Block, Value, Var};
use crate::module::{Function, InstInfo, LocId};
use crate::op::{BinaryOp, CompareOp, Op};
use crate::tree::Tree;
use crate::types::{MatType, Scalar, Type, Use};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Bytes of a row of a deeper matrix of A.
const LONG: u64 = 256;
/// Most rounds that are one: the addresses of each are computed.
const MOST: u64 = 8;

/// Makes matrices deeper; `None` if there are none to be.
pub(super) fn run(func: &Function) -> Option<Function> {
    let tree = Tree::new(func);
    let (uses, late) = (uses(func, &tree), Late::of(func));
    let mut new = None;
    for block in (0..func.blocks.len()).map(Block::new) {
        let Some(rounds) = Rounds::of(func, &tree, &uses, &late, block) else { continue };
        let so_far = new.clone().unwrap_or_else(|| func.clone());
        let mut deep = Deep { old: func, new: so_far, rounds: &rounds };
        if deep.make().is_some() {
            new = Some(deep.new);
        }
    }
    new
}

/// A loop whose rounds may be done together.
struct Rounds {
    counted: Counted,
    /// Where the test stands in the source.
    loc: LocId,
    round: Round,
    together: u64,
}

impl Rounds {
    fn of(func: &Function, tree: &Tree, uses: &[usize], late: &Late, body: Block) -> Option<Self> {
        let counted = Counted::of(func, tree, body).filter(|counted| counted.step < 1 << 20)?;
        let before = counted.before(func);
        let round = round(func, tree, uses, body, counted.around.inst)?;
        let has_one_each = round.sums.iter().all(|sum| sum.mul_adds.len() == 1);
        let is_product = !round.sums.is_empty()
            && has_one_each
            && round.mul_adds().all(|inst| may_be_deeper(func, inst))
            && have_own_sides(func, &round);
        // Whatever is computed there may be computed for later rounds, too.
        let is_plain = before.iter().all(|&inst| !func.inst(inst).op.has_effect());
        if !is_plain || !is_product || late.is_late(counted.test, &[]) {
            return None;
        }
        let (_, rest) = func.block(body).split_last()?;
        // So what it is in a round is known before the rounds.
        let counts =
            rest.iter().filter(|&&inst| matches!(func.inst(inst).op, Op::VarStore(to) if to == counted.var));
        (counts.count() == 1).then_some(())?;
        let is_flat = before.iter().chain(rest).all(|&inst| {
            let info = func.inst(inst);
            match info.op {
                _ if round.insts().contains(&inst) => true,
                Op::Decline => true,
                // A variable of one element is that everywhere.
                Op::VarLoad(var) => (func.var(var).count == 1) == info.args.is_empty(),
                Op::VarStore(var) => (func.var(var).count == 1) == (info.args.len() == 1),
                ref op => !op.has_effect() && op.bodies().next().is_none() && op.vars().next().is_none(),
            }
        });
        let rows = round.factors.iter().filter_map(|&f| func.ty(f).mat()).filter(|m| m.use_ == Use::A);
        let bytes = rows.map(|m| depth(m) * u64::from(m.elem.bytes())).max()?;
        let together = (LONG / bytes.max(1)).min(MOST);
        (is_flat && together > 1).then_some(Self {
            loc: func.inst(counted.test).loc,
            counted,
            round,
            together,
        })
    }
}

/// Makes the loop that comes first.
struct Deep<'a> {
    old: &'a Function,
    new: Function,
    rounds: &'a Rounds,
}

/// Where a factor is loaded from in each round, and with which stride.
type Loads = Vec<(Value, Value)>;

impl Deep<'_> {
    fn make(&mut self) -> Option<()> {
        let (old, rounds) = (self.old, self.rounds);
        let label = self.new.new_label();
        let [head, body, otherwise] = [(); 3].map(|()| self.new.new_block());
        let mut known = HashMap::new();
        let counted = &rounds.counted;
        for &inst in counted.before(old) {
            self.copy(old.inst(inst), &mut known, head);
        }
        let [counter, end] = [counted.counter, counted.end].map(|v| now(&known, v));
        let more = Op::Const(counted.step * (rounds.together - 1));
        let more = self.push(more, &[], Scalar::I32.into(), head);
        let last = self.push(Op::Binary(BinaryOp::Iadd), &[counter, more], Type::I32, head);
        // No number wraps, and the last round is one.
        let rises = self.push(Op::Compare(counted.compare), &[counter, last], Type::BOOL, head);
        let is_in = self.push(Op::Compare(counted.compare), &[last, end], Type::BOOL, head);
        let go = self.push(Op::Binary(BinaryOp::And), &[rises, is_in], Type::BOOL, head);
        self.effect(Op::If { then: body, otherwise }, &[go], head);
        let (loads, stored) = self.addresses(&mut known, counter, body)?;
        let factors = self.factors(&loads, body)?;
        known.extend(factors);
        for &inst in rounds.round.insts() {
            let info = old.inst(inst);
            match info.op {
                Op::MatMulAdd(_) => {
                    self.copy(&InstInfo { op: deeper(old, inst), ..info.clone() }, &mut known, body);
                }
                _ => self.copy(info, &mut known, body),
            }
        }
        for (var, value) in stored {
            self.effect(Op::VarStore(var), &[value], body);
        }
        self.effect(Op::Br(label), &[], body);
        let deep = self.new.new_inst(Op::Loop { label, body: head }, &[], &[], rounds.loc);
        let block = &mut self.new.blocks[counted.around.block.index()];
        let at = block.iter().position(|&inst| inst == counted.around.inst)?;
        block.insert(at, deep);
        Some(())
    }

    /// Does what is to be done in each round besides the products, round by round: gives where factors are loaded from, and
    /// what variables are afterwards; nothing if the loop may end elsewhere in a later round. What stands for values is that of
    /// the first round then.
    fn addresses(
        &mut self,
        first: &mut HashMap<Value, Value>,
        counter: Value,
        to: Block,
    ) -> Option<(BTreeMap<Value, Loads>, BTreeMap<Var, Value>)> {
        let (old, rounds) = (self.old, self.rounds);
        let mut loads: BTreeMap<Value, Loads> = BTreeMap::new();
        // What variables of one element hold, and which of them are stored.
        let mut held = HashMap::from([(rounds.counted.var, counter)]);
        let mut stored = BTreeMap::new();
        let head = rounds.counted.before(old);
        let (_, body) = old.block(rounds.counted.body).split_last()?;
        let mut places = Places::default();
        for number in 0..rounds.together {
            let mut known = first.clone();
            // The head of the first round is done.
            let head = if number == 0 { &[] } else { head };
            for &inst in head.iter().chain(body).filter(|inst| !rounds.round.insts().contains(inst)) {
                let info = old.inst(inst);
                let is_single = |var: Var| old.var(var).count == 1;
                match (&info.op, info.args.as_slice()) {
                    (Op::MatLoad { .. }, &[ptr, stride])
                        if rounds.round.factors.contains(&info.results[0]) =>
                    {
                        let place = (now(&known, ptr), now(&known, stride));
                        loads.entry(info.results[0]).or_default().push(place);
                    }
                    (&Op::VarLoad(var), []) if is_single(var) => {
                        if let Some(&value) = held.get(&var) {
                            known.insert(info.results[0], value);
                        } else {
                            self.copy(info, &mut known, to);
                            held.insert(var, known[&info.results[0]]);
                        }
                    }
                    (&Op::VarStore(var), &[value]) if is_single(var) => {
                        let value = now(&known, value);
                        held.insert(var, value);
                        stored.insert(var, value);
                    }
                    (Op::Decline, &[cond])
                        if number > 0 && self.is_as_before(&mut places, cond, (&*first, &known)) => {}
                    _ => self.copy(info, &mut known, to),
                }
            }
            let [end, first_end] =
                [&known, &*first].map(|known| places.classes.of(&self.new, now(known, rounds.counted.end)));
            (end == first_end).then_some(())?;
            if number == 0 {
                *first = known;
            }
        }
        Some((loads, stored))
    }

    /// Whether a condition on distances is what it was in the first round: both addresses of each have moved by as much.
    fn is_as_before(
        &self,
        places: &mut Places,
        cond: Value,
        (first, known): (&HashMap<Value, Value>, &HashMap<Value, Value>),
    ) -> bool {
        let func = &self.new;
        let info = self.old.def(cond);
        let pair = |v: Value| [first, known].map(|known| now(known, v));
        match info.op {
            Op::Binary(BinaryOp::Or) | Op::Compare(CompareOp::Ine) => {
                info.args.iter().all(|&arg| self.is_as_before(places, arg, (first, known)))
            }
            Op::PtrDiff => {
                let mut moved = |v: Value| {
                    let [(place, start), (other, end)] = pair(v).map(|v| places.of(func, v));
                    (place == other).then(|| end.wrapping_sub(start))
                };
                let [by, with] = [info.args[0], info.args[1]].map(&mut moved);
                by.is_some() && by == with
            }
            _ => {
                let [before, now] = pair(cond).map(|v| places.classes.of(func, v));
                before == now
            }
        }
    }

    /// Loads the deeper factors, if they lie as they should; gives what stands for those of a round.
    fn factors(&mut self, loads: &BTreeMap<Value, Loads>, to: Block) -> Option<Vec<(Value, Value)>> {
        let (mut places, mut guesses) = (Places::default(), Guesses::default());
        let mut asked = Vec::new();
        // Factors that lie beside each other in all rounds are as far apart in each as the first ones are.
        let mut places_asked = HashSet::new();
        let mut deep = Vec::new();
        for &factor in &self.rounds.round.factors {
            let func = &self.new;
            let (info, mut ty) = (self.old.def(factor), self.old.ty(factor).mat()?);
            let Op::MatLoad { column_major, .. } = info.op else { return None };
            let is_along = (ty.use_ == Use::A) != column_major;
            let list = loads.get(&factor)?;
            let &(first, stride) = list.first()?;
            let (place, start) = places.of(func, first);
            for (number, &(ptr, other)) in (0..).zip(list).skip(1) {
                (places.classes.of(func, other) == places.classes.of(func, stride)).then_some(())?;
                let lines = depth(ty) as i64 * number;
                let bytes = is_along.then_some(lines * i64::from(ty.elem.bytes()));
                let is_known =
                    bytes.is_some_and(|bytes| places.of(func, ptr) == (place, start.wrapping_add(bytes)));
                if is_known {
                    continue;
                }
                let mut guess = |v| guesses.of(func, &mut places.classes, v);
                let is_likely = guess(ptr).wrapping_sub(guess(first)) == lines.wrapping_mul(guess(stride));
                let can_be_asked = !is_along && is_likely && func.root(ptr) == func.root(first);
                can_be_asked.then_some(())?;
                let (other, end) = places.of(func, ptr);
                let between = (place, other, end.wrapping_sub(start));
                if places_asked.insert((between, lines, places.classes.of(func, stride))) {
                    asked.push(Apart { from: first, to: ptr, lines, stride });
                }
            }
            let together = self.rounds.together as u32;
            match ty.use_ {
                Use::A => ty.cols = ty.cols.checked_mul(together)?,
                _ => ty.rows = ty.rows.checked_mul(together)?,
            }
            deep.push((factor, first, stride, ty));
        }
        let loc = self.rounds.loc;
        let code = decline_unless(&mut self.new, loc, &asked);
        self.new.blocks[to.index()].extend(code);
        let load = |(factor, ptr, stride, ty): (Value, Value, Value, MatType)| {
            let info = self.old.def(factor);
            let inst = self.new.new_inst(info.op.clone(), &[ptr, stride], &[ty.into()], info.loc);
            self.new.blocks[to.index()].push(inst);
            (factor, self.new.inst(inst).results[0])
        };
        Some(deep.into_iter().map(load).collect())
    }

    /// Copies an instruction, with what is known to stand for its operands.
    fn copy(&mut self, info: &InstInfo, known: &mut HashMap<Value, Value>, to: Block) {
        let args: Vec<Value> = info.args.iter().map(|&v| now(known, v)).collect();
        let types: Vec<Type> = info.results.iter().map(|&v| self.old.ty(v)).collect();
        let inst = self.new.new_inst(info.op.clone(), &args, &types, info.loc);
        self.new.insts[inst.index()].exact = info.exact;
        self.new.blocks[to.index()].push(inst);
        known.extend(info.results.iter().copied().zip(self.new.inst(inst).results.iter().copied()));
    }

    fn push(&mut self, op: Op, args: &[Value], ty: Type, to: Block) -> Value {
        let inst = self.new.new_inst(op, args, &[ty], self.rounds.loc);
        self.new.blocks[to.index()].push(inst);
        self.new.inst(inst).results[0]
    }

    fn effect(&mut self, op: Op, args: &[Value], to: Block) {
        let inst = self.new.new_inst(op, args, &[], self.rounds.loc);
        self.new.blocks[to.index()].push(inst);
    }
}

/// What stands for a value of the old function: itself where nothing else does.
fn now(known: &HashMap<Value, Value>, v: Value) -> Value {
    known.get(&v).copied().unwrap_or(v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::opt_dce;
    use crate::{text, verify};

    /// A product whose factors lie as a push constant says, with lines in each round, and before the loop.
    fn product(round: &str, before: &str) -> String {
        format!(
            "workgroup_size 32 1 1 subgroup_size 32 push 8
            binding buf0 = 0.0 storage writable
            binding buf1 = 0.1 storage
            var $sum: mat<16x16xf32, subgroup, acc> var $k: i32 var $at: i32 {{
            %0: i32 = const 0
            %16: i32 = const 16
            %2: i64 = const 2
            %zero: f32 = const 0
            %a: ptr<buffer> = buffer_ptr<buf0> %0
            %b: ptr<buffer> = buffer_ptr<buf1> %0
            %push: ptr<push> = push_ptr
            %stride: i32 = load %push
            %wide: i64 = u_to_u %stride
            %pitch: i64 = imul %wide, %2
            %start: mat<16x16xf32, subgroup, acc> = mat_splat %zero
            {before}
            var_store<$sum> %start
            var_store<$at> %0
            var_store<$k> %0
            loop @next {{
              %k: i32 = var_load<$k>
              %go: bool = ult %k, %stride
              if %go {{
                %from_a: ptr<buffer> = ptr_add<scale=2> %a, %k
                %ma: mat<16x16xf16, subgroup, a> = mat_load %from_a, %pitch
                %j: i32 = imul %stride, %k
                %from_b: ptr<buffer> = ptr_add<scale=2> %b, %j
                %mb: mat<16x16xf16, subgroup, b> = mat_load %from_b, %pitch
                {round}
                %s: mat<16x16xf32, subgroup, acc> = var_load<$sum>
                %t: mat<16x16xf32, subgroup, acc> = mat_mul_add %ma, %mb, %s
                var_store<$sum> %t
                %n: i32 = iadd %k, %16
                var_store<$k> %n
                br @next
              }}
            }}
            %new: mat<16x16xf32, subgroup, acc> = var_load<$sum>
            mat_store %a, %new, %pitch
            }}"
        )
    }

    /// The shapes of the factors that are loaded, and the number of loops and of questions.
    fn shapes(code: &str) -> (Vec<String>, [usize; 2]) {
        let module = verify(text::parse(code).unwrap_or_else(|e| panic!("{e}\n{code}")));
        let mut module = module.unwrap_or_else(|e| panic!("{e}\n{code}")).into_inner();
        module.body = opt_dce::run(&run(&module.body).unwrap_or(module.body));
        let module = verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"));
        let func = &module.body;
        let tree = Tree::new(func);
        let all = tree.order().iter().map(|&inst| func.inst(inst));
        let loads = all.clone().filter(|info| matches!(info.op, Op::MatLoad { .. }));
        let shapes = loads.filter_map(|info| func.ty(info.results[0]).mat());
        let shapes = shapes.map(|m| format!("{}x{}", m.rows, m.cols)).collect();
        let count = |is: fn(&Op) -> bool| all.clone().filter(|info| is(&info.op)).count();
        (shapes, [count(|op| matches!(op, Op::Loop { .. })), count(|op| *op == Op::Decline)])
    }

    #[test]
    fn rounds_are_one_while_so_many_are_left() {
        let (loads, counts) = shapes(&product("", ""));
        assert_eq!(loads, ["16x128", "128x16", "16x16", "16x16"]);
        assert_eq!(counts, [2, 1], "rows of A lie one behind the other, those of B are asked for");
    }

    #[test]
    fn of_factors_beside_each_other_one_is_asked() {
        let code = product(
            "%far_b: ptr<buffer> = ptr_add<scale=2> %b, %aside
            %mc: mat<16x16xf16, subgroup, b> = mat_load %far_b, %pitch
            %sc: mat<16x16xf32, subgroup, acc> = var_load<$more>
            %tc: mat<16x16xf32, subgroup, acc> = mat_mul_add %ma, %mc, %sc
            var_store<$more> %tc",
            "",
        );
        let code = code.replace("var $k: i32", "var $more: mat<16x16xf32, subgroup, acc> var $k: i32");
        let questions = |aside: &str| {
            let code = code.replace("%far_b:", &format!("{aside}\n%far_b:"));
            let module = verify(text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}"))).unwrap();
            let func = opt_dce::run(&run(&module.body).expect("it is stripped"));
            func.insts.iter().filter(|info| matches!(info.op, Op::PtrDiff)).count()
        };
        // Seven rounds behind the first.
        assert_eq!(questions("%aside: i32 = iadd %j, %16"), 7);
        let far = "%three: i32 = const 3\n%off: i32 = imul %stride, %three\n%aside: i32 = iadd %j, %off";
        assert_eq!(questions(far), 14, "what lies beside is told late");
    }

    #[test]
    fn what_is_added_in_each_round_is_added() {
        // A factor that is found by what the rounds before have added to a variable.
        let code = product("%more: i32 = iadd %at, %16\nvar_store<$at> %more\n", "");
        let code = code.replace(
            "%from_a: ptr<buffer> = ptr_add<scale=2> %a, %k",
            "%at: i32 = var_load<$at>\n%from_a: ptr<buffer> = ptr_add<scale=2> %a, %at",
        );
        assert_eq!(shapes(&code).0, ["16x128", "128x16", "16x16", "16x16"]);
    }

    #[test]
    fn sums_of_halves_are_rounded_in_each_round() {
        let halves = product("", "").replace("16x16xf32", "16x16xf16").replace("%zero: f32", "%zero: f16");
        assert_eq!(shapes(&halves).0, ["16x128", "128x16", "16x16", "16x16"]);
        let func = run(&text::parse(&halves).unwrap().body).expect("it is stripped");
        let steps = func.insts.iter().filter_map(|info| match info.op {
            Op::MatMulAdd(flags) => Some(flags.step),
            _ => None,
        });
        assert_eq!(steps.collect::<Vec<_>>(), [0, 16]);
    }

    #[test]
    fn a_sum_is_found_by_what_a_round_computes() {
        let code = product("%which: i32 = const 0", "").replace(
            "%s: mat<16x16xf32, subgroup, acc> = var_load<$sum>",
            "%s: mat<16x16xf32, subgroup, acc> = var_load<$sum> %which",
        );
        assert_eq!(shapes(&code).1, [2, 1]);
    }

    #[test]
    fn other_loops_stay() {
        let alone = (vec!["16x16".to_owned(); 2], [1, 0]);
        let code = product("%more: i32 = iadd %at, %16\nvar_store<$at> %more\n", "");
        let code = code.replace(
            "%k: i32",
            "%at: i32 = var_load<$at>\n%long: i64 = u_to_u %at\n%far: i64 = iadd %pitch, %long\n%k: i32",
        );
        assert_eq!(shapes(&code).1, [2, 1]);
        for (from, to) in [
            ("imul %stride, %k", "iadd %stride, %k"),
            ("ult %k, %stride", "ule %k, %stride"),
            ("iadd %k, %16", "iadd %k, %stride"),
            // The end, or a stride, is another in the next round.
            ("ult %k, %stride", "ult %k, %at"),
            ("mat_load %from_a, %pitch", "mat_load %from_a, %far"),
            // A variable that is looked at in two ways.
            ("var_load<$at>", "var_load<$at> %0"),
            // A counter that is set besides.
            ("%more: i32", "var_store<$k> %0\n%more: i32"),
            // Twice as far apart.
            ("scale=2> %a", "scale=4> %a"),
        ] {
            assert_eq!(shapes(&code.replace(from, to)), alone, "{from} → {to}");
        }
        // Each round is rounded, and not in steps.
        let halves = code.replace("16x16xf32", "16x16xbf16").replace("%zero: f32", "%zero: bf16");
        assert_eq!(shapes(&halves), alone);
        assert_eq!(shapes(&product("store %a, %0", "")), alone);
        assert_eq!(shapes(&product("", "store %a, %0")), alone, "it is too late to decline");
        assert_eq!(shapes(&product("barrier<workgroup, workgroup>", "")), alone);
    }
}
