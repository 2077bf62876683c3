//! Multiply-adds of all rounds of a loop over a block in shared memory, as those of deeper matrices.
//!
//! A program that stages blocks through shared memory multiplies a block in thin slices, as deep as a GPU's matrices
//! are. The slices lie one behind the other, so the slices of some rounds are one deeper matrix each:
//!
//! ```text
//! var_store<$k> 0                              var_store<$k> 0
//! loop @next {                                 loop @next {
//!   %k = var_load<$k>                            %k = var_load<$k>
//!   %go = ult %k, 64                             %go = ult %k, 64
//!   if %go {                                     if %go {
//!     %p = ptr_add<scale=2> %rows, %k              %p = ptr_add<scale=2> %rows, %k
//!     %a: mat<16x8xf16> = mat_load %p, …     →     %a: mat<16x64xf16> = mat_load %p, …
//!     %b: mat<8x16xf16> = mat_load %q, …           %b: mat<64x16xf16> = mat_load %q, …
//!     $c[i] += %a * %b;  …                         $c[i] += %a * %b;  …
//!     %n = iadd %k, 8                              %n = iadd %k, 64
//!     var_store<$k> %n                             var_store<$k> %n
//!     br @next                                     br @next
//!   }                                            }
//! }                                            }
//! ```
//!
//! Sums are read and written once instead of once a round, and larger matrices are loaded. Each element of the sums is
//! added to in the order that it was, so sums that are not rounded behind each multiply-add come out alike: integers
//! modulo, and floats that are as fine as they are summed. Sums of `f16` are rounded where they were, step by step.
//!
//! The loop must do nothing else: what it loads has to be there from its beginning.

use super::chain::{Round, round, uses};
use super::counted::Counted;
use super::{opt_dce, walk};
use crate::entities::{Block, Inst, Value};
use crate::module::Function;
use crate::op::{BinaryOp, ConvertKind, MulAddFlags, Op};
use crate::tree::Tree;
use crate::types::{MatType, Scalar, Space, Type, Use};

/// Most bytes of a row of a deeper matrix of A, of a column of B: what rows of blocks have at most that fit a GPU.
const LONG: u64 = 512;

/// Makes matrices deeper. Code without such loops stays as it is.
pub(super) fn run(func: &Function) -> Function {
    // Which matrices of an array a round uses is plain once the loops over these are unrolled.
    let joined = may_gain(func).then(|| join(&opt_dce::run(&walk::unroll_for_indices(func))));
    joined.flatten().unwrap_or_else(|| func.clone())
}

/// Whether there may be such loops.
fn may_gain(func: &Function) -> bool {
    func.insts.iter().any(|info| {
        matches!(info.op, Op::MatLoad { .. }) && func.ty(info.args[0]) == Type::Ptr(Space::Shared)
    })
}

/// Makes matrices deeper, in code whose loops over matrices are unrolled; `None` if there are none to be.
fn join(old: &Function) -> Option<Function> {
    let tree = Tree::new(old);
    let uses = uses(old, &tree);
    let mut new = None;
    for block in (0..old.blocks.len()).map(Block::new) {
        let Some(slices) = Slices::of(old, &tree, &uses, block) else { continue };
        slices.join(new.get_or_insert_with(|| old.clone()));
    }
    new
}

/// The multiply-adds of a loop that may be done together.
struct Slices {
    counted: Counted,
    rounds: u64,
    round: Round,
    /// Rounds that are one afterwards.
    together: u64,
}

impl Slices {
    fn of(func: &Function, tree: &Tree, uses: &[usize], block: Block) -> Option<Self> {
        let counted = Counted::of(func, tree, block)?;
        let (start, rounds) = counted.rounds(func, tree)?;
        let round = round(func, tree, uses, block, counted.around.inst)?;
        let has_one_each = round.sums.iter().all(|sum| sum.mul_adds.len() == 1);
        let is_free =
            !round.sums.is_empty() && has_one_each && round.mul_adds().all(|i| may_be_deeper(func, i));
        if !is_free || !does_nothing_else(func, tree, &counted, &round) {
            return None;
        }
        let linear = Linear { func, tree, counted: &counted, start };
        if !round.factors.iter().all(|&f| linear.is_slice(f)) || !have_own_sides(func, &round) {
            return None;
        }
        let bytes = round
            .factors
            .iter()
            .filter_map(|&f| func.ty(f).mat())
            .map(|m| depth(m) * u64::from(m.elem.bytes()));
        let most = LONG / bytes.max()?.max(1);
        let together = (2..=most.min(rounds)).rev().find(|n| rounds.is_multiple_of(*n))?;
        Some(Self { counted, rounds, round, together })
    }

    fn join(&self, func: &mut Function) {
        let Counted { step, next, test, body, .. } = self.counted;
        for inst in self.round.mul_adds() {
            func.insts[inst.index()].op = deeper(func, inst);
        }
        for &factor in &self.round.factors {
            let Type::Mat(m) = &mut func.values[factor.index()].ty else { continue };
            match m.use_ {
                Use::A => m.cols *= self.together as u32,
                _ => m.rows *= self.together as u32,
            }
        }
        if self.together == self.rounds {
            // The only round; so the constructs around it dissolve.
            func.insts[test.index()].op = Op::Const(1);
            func.insts[test.index()].args.clear();
            func.blocks[body.index()].pop();
        }
        let by = func.new_inst(Op::Const(step * self.together), &[], &[Scalar::I32.into()], 0);
        let by_value = func.inst(by).results[0];
        let at = func.block(body).iter().position(|&i| i == next).unwrap_or(0);
        func.blocks[body.index()].insert(at, by);
        let Some(number) = func.inst(next).args.iter().position(|&v| func.const_bits(v).is_some()) else {
            return;
        };
        func.insts[next.index()].args[number] = by_value;
    }
}

/// Columns of A, rows of B.
pub(super) fn depth(m: MatType) -> u64 {
    match m.use_ {
        Use::A => m.cols.into(),
        _ => m.rows.into(),
    }
}

/// Whether sums are as fine as they are summed.
fn is_exact(func: &Function, mul_add: Inst) -> bool {
    let info = func.inst(mul_add);
    let Op::MatMulAdd(flags) = info.op else { return false };
    let is_fine = |m: MatType| {
        flags.relaxed || matches!(m.elem, Scalar::F32 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64)
    };
    !flags.saturate && func.ty(info.results[0]).mat().is_some_and(is_fine)
}

/// Whether a multiply-add may become one of deeper matrices: if its sums are as fine as they are summed, or are rounded in
/// steps.
pub(super) fn may_be_deeper(func: &Function, mul_add: Inst) -> bool {
    let info = func.inst(mul_add);
    let elem = |v: Value| func.ty(v).mat().map(|m| m.elem);
    let has_steps = elem(info.args[2]) == Some(Scalar::F16)
        && elem(info.results[0]) == Some(Scalar::F16)
        && func.ty(info.args[0]).mat().is_some_and(|a| a.cols.is_multiple_of(4));
    is_exact(func, mul_add) || has_steps
}

/// That multiply-add, whose matrices are not deeper yet.
pub(super) fn deeper(func: &Function, mul_add: Inst) -> Op {
    let info = func.inst(mul_add);
    match (&info.op, func.ty(info.args[0]).mat()) {
        (&Op::MatMulAdd(flags @ MulAddFlags { step: 0, .. }), Some(a)) if !is_exact(func, mul_add) => {
            Op::MatMulAdd(MulAddFlags { step: a.cols, ..flags })
        }
        (op, _) => op.clone(),
    }
}

/// Whether nothing but the multiply-adds and the counter is of consequence in the loop.
fn does_nothing_else(func: &Function, tree: &Tree, counted: &Counted, round: &Round) -> bool {
    let outer = func.block(counted.head);
    let inside = tree.within(counted.head);
    let is_plain = |&inst: &Inst| {
        let op = &func.inst(inst).op;
        match *op {
            Op::If { .. } => outer.last() == Some(&inst),
            Op::Br(_) => func.block(counted.body).last() == Some(&inst),
            Op::VarStore(var) => var == counted.var || round.insts().contains(&inst),
            _ => !op.has_effect() && op.bodies().next().is_none(),
        }
    };
    inside.iter().all(is_plain)
}

/// Whether each factor is only on its own side of products.
pub(super) fn have_own_sides(func: &Function, round: &Round) -> bool {
    round.mul_adds().all(|i| {
        let side = |number: usize| func.ty(func.inst(i).args[number]).mat().map(|m| m.use_);
        side(0) == Some(Use::A) && side(1) == Some(Use::B)
    })
}

/// How values change from round to round.
struct Linear<'a> {
    func: &'a Function,
    tree: &'a Tree,
    counted: &'a Counted,
    /// The counter in the first round.
    start: u64,
}

/// A number that grows by `step` each round; what it is in the first one if that is known, and how many of the lowest bits of
/// that are zeros, which no sum that carries out of a word changes.
#[derive(Clone, Copy, Debug)]
struct Grows {
    step: i64,
    first: Option<i64>,
    zeros: u32,
}

impl Grows {
    /// A number that is the same in each round.
    const fn known(first: i64) -> Self {
        Self { step: 0, first: Some(first), zeros: first.trailing_zeros() }
    }

    /// The same of one that is not known.
    const fn fixed(zeros: u32) -> Self {
        Self { step: 0, first: None, zeros }
    }
}

/// Operations that an address is followed through.
const FAR: u32 = 16;

impl Linear<'_> {
    /// Whether a matrix is loaded from shared memory, and behind it lies that of the next round.
    fn is_slice(&self, factor: Value) -> bool {
        let info = self.func.def(factor);
        let (&Op::MatLoad { column_major, flags }, Some(m)) = (&info.op, self.func.ty(factor).mat()) else {
            return false;
        };
        let &[ptr, stride] = info.args.as_slice() else { return false };
        let (Some(Grows { step, .. }), Some(Grows { step: 0, first, .. })) =
            (self.of(ptr, FAR), self.of(stride, FAR))
        else {
            return false;
        };
        let is_along = match m.use_ {
            Use::A => !column_major,
            Use::B => column_major,
            Use::Accumulator | Use::Any => return false,
        };
        let unit = if is_along { Some(i64::from(m.elem.bytes())) } else { first };
        let slice = unit.and_then(|unit| unit.checked_mul(depth(m) as i64));
        self.func.ty(ptr) == Type::Ptr(Space::Shared) && !flags.volatile && slice == Some(step)
    }

    /// Numbers are small wherever they are within an object, so nothing carries out of range.
    fn of(&self, v: Value, far: u32) -> Option<Grows> {
        let def = self.func.values[v.index()].def;
        let info = self.func.inst(def);
        if let Op::Const(bits) = info.op {
            let first = match self.func.ty(v) {
                Type::I32 => i64::from(bits as i32),
                _ => bits as i64,
            };
            return Some(Grows::known(first));
        }
        let is_inside = self.tree.block_of(def).is_some_and(|block| {
            self.tree
                .up(block, Function::ENTRY)
                .any(|b| self.tree.parent(b).is_some_and(|p| p.inst == self.counted.around.inst))
        });
        if !is_inside {
            return Some(Grows::fixed(self.zeros(v, far)));
        }
        let far = far.checked_sub(1)?;
        let args = info.args.iter().map(|&arg| self.of(arg, far)).collect::<Option<Vec<_>>>()?;
        let both = |f: fn(i64, i64) -> Option<i64>, x: Grows, y: Grows| {
            let first = x.first.zip(y.first).and_then(|(x, y)| f(x, y));
            Some(Grows { step: f(x.step, y.step)?, first, zeros: x.zeros.min(y.zeros) })
        };
        let times = |x: Grows, by: i64| {
            let first = x.first.and_then(|x| x.checked_mul(by));
            Some(Grows { step: x.step.checked_mul(by)?, first, zeros: x.zeros + by.trailing_zeros() })
        };
        match (&info.op, args.as_slice()) {
            (&Op::VarLoad(var), []) if var == self.counted.var => {
                let known = Grows::known(self.start as i64);
                Some(Grows { step: self.counted.step as i64, ..known })
            }
            // Only the counter and sums are stored.
            (Op::VarLoad(_), _) => args.iter().all(|x| x.step == 0).then_some(Grows::fixed(0)),
            (Op::Binary(BinaryOp::Iadd), &[x, y]) => both(i64::checked_add, x, y),
            (Op::Binary(BinaryOp::Isub), &[x, y]) => both(i64::checked_sub, x, y),
            (Op::Binary(BinaryOp::Imul), &[x, Grows { step: 0, first: Some(by), .. }])
            | (Op::Binary(BinaryOp::Imul), &[Grows { step: 0, first: Some(by), .. }, x]) => times(x, by),
            (Op::Binary(BinaryOp::Imul), &[x, y]) if x.step == 0 && y.step == 0 => {
                Some(Grows::fixed(x.zeros + y.zeros))
            }
            (Op::Binary(BinaryOp::Shl), &[x, Grows { step: 0, first: Some(by @ 0..16), .. }]) => {
                times(x, 1 << by)
            }
            (Op::Binary(BinaryOp::Udiv | BinaryOp::Sdiv), &[x, Grows { step: 0, first: Some(by), .. }]) => {
                divided(x, by)
            }
            (Op::Binary(BinaryOp::Lshr), &[x, Grows { step: 0, first: Some(by @ 0..16), .. }]) => {
                divided(x, 1 << by)
            }
            (Op::Convert(op), &[x]) if matches!(op.kind, ConvertKind::SToS | ConvertKind::UToU) => {
                let is_small = x.first.is_some_and(|x| (0..1 << 30).contains(&x)) && x.step >= 0;
                (x.step == 0 || is_small).then_some(if is_small { x } else { Grows { first: None, ..x } })
            }
            (&Op::PtrAdd { scale, disp: _ }, &[ptr, index]) => {
                let step = ptr.step.checked_add(index.step.checked_mul(scale)?)?;
                Some(Grows { step, ..Grows::fixed(0) })
            }
            (Op::PtrAdd { .. }, &[ptr]) => Some(Grows { step: ptr.step, ..Grows::fixed(0) }),
            _ => args.iter().all(|x| x.step == 0).then_some(Grows::fixed(0)),
        }
    }

    /// How many of the lowest bits are zeros of a number from before the loop.
    fn zeros(&self, v: Value, far: u32) -> u32 {
        let info = self.func.def(v);
        if let Op::Const(bits) = info.op {
            return bits.trailing_zeros();
        }
        let (Some(far), &[x, y]) = (far.checked_sub(1), &info.args[..]) else { return 0 };
        match info.op {
            Op::Binary(BinaryOp::Iadd | BinaryOp::Isub) => self.zeros(x, far).min(self.zeros(y, far)),
            Op::Binary(BinaryOp::Imul) => self.zeros(x, far) + self.zeros(y, far),
            Op::Binary(BinaryOp::Shl) => match self.func.const_bits(y) {
                Some(by @ 0..16) => self.zeros(x, far) + by as u32,
                _ => 0,
            },
            _ => 0,
        }
    }
}

/// A quotient without a remainder in any round.
fn divided(x: Grows, by: i64) -> Option<Grows> {
    if x.step == 0 {
        return Some(Grows::fixed(0));
    }
    let is_whole = match x.first {
        Some(first) => first >= 0 && by > 0 && first % by == 0,
        None => by > 0 && by.count_ones() == 1 && x.zeros >= by.trailing_zeros(),
    };
    (is_whole && x.step > 0 && x.step % by == 0).then(|| Grows {
        step: x.step / by,
        first: x.first.map(|first| first / by),
        zeros: x.zeros.saturating_sub(by.trailing_zeros()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;
    use crate::verify;

    /// A loop over slices of 4 of a block, A by rows and B by columns, 32 bytes from line to line.
    const LOOP: &str = "workgroup_size 4 1 1 subgroup_size 4 shared 4096
    binding buf0 = 0.0 storage writable
    var $k: i32 var $c: mat<4x4xf32, subgroup, acc>[2] var $x: i32 {
    %zero: i32 = const 0
    %two: i32 = const 2
    %four: i32 = const 4
    %end: i32 = const 16
    %s: i64 = const 32
    %p: ptr<shared> = shared_ptr<offset=0, bytes=4096>
    %o: ptr<buffer> = buffer_ptr<buf0> %zero
    %id: i32 = subgroup_id
    %rows: ptr<shared> = ptr_add<scale=256> %p, %id
    var_store<$k> %zero
    loop @next {
      %k: i32 = var_load<$k>
      %go: bool = ult %k, %end
      if %go {
        %i: i32 = udiv %k, %two
        %qa: ptr<shared> = ptr_add<scale=4> %rows, %i
        %qb: ptr<shared> = ptr_add<scale=2> %rows, %k
        %a: mat<4x4xf16, subgroup, a> = mat_load %qa, %s
        %b: mat<4x4xf16, subgroup, b> = mat_load<column_major> %qb, %s
        %x: mat<4x4xf32, subgroup, acc> = var_load<$c> %zero
        %y: mat<4x4xf32, subgroup, acc> = mat_mul_add %a, %b, %x
        var_store<$c> %zero, %y
        %n: i32 = iadd %k, %four
        var_store<$k> %n
        br @next
      }
    }
    %r: mat<4x4xf32, subgroup, acc> = var_load<$c> %zero
    mat_store %o, %r, %s
}";

    fn deepened(code: &str) -> Option<String> {
        let module = verify(text::parse(code).unwrap_or_else(|e| panic!("{e}\n{code}")));
        let mut module = module.unwrap_or_else(|e| panic!("{e}\n{code}")).into_inner();
        assert!(may_gain(&module.body));
        module.body = join(&module.body)?;
        Some(verify(module).unwrap_or_else(|e| panic!("{e}\n{code}")).to_string())
    }

    fn has_depth(code: &str, depth: u32) -> bool {
        let sizes = [format!("mat<4x{depth}xf16, subgroup, a>"), format!("mat<{depth}x4xf16, subgroup, b>")];
        deepened(code).is_some_and(|text| sizes.iter().all(|size| text.contains(size)))
    }

    #[test]
    fn slices_that_follow_each_other_are_one() {
        assert!(has_depth(LOOP, 16));
        assert!(deepened(LOOP).is_some_and(|text| !text.contains("br @")));
        // B by rows: 4 of them further in each round.
        let by_rows = LOOP.replace("ptr_add<scale=2> %rows, %k", "ptr_add<scale=32> %rows, %k");
        assert!(has_depth(&by_rows.replace("mat_load<column_major>", "mat_load"), 16));
        // Not from the first slice on.
        let later = LOOP.replace("var_store<$k> %zero", "var_store<$k> %four");
        assert!(has_depth(&later, 12));
    }

    #[test]
    fn blocks_may_begin_anywhere_that_is_even() {
        // A begins with a row of the subgroup's, of vectors of two numbers.
        let by_vectors = |start: &str, by: &str| {
            let row = format!("%from: i32 = {start}\n%rows: ptr<shared> = ptr_add<scale=0> %p, %id");
            let code = LOOP.replace("%rows: ptr<shared> = ptr_add<scale=256> %p, %id", &row);
            code.replace("%i: i32 = udiv %k, %two", &format!("%j: i32 = iadd %from, %k\n%i: i32 = {by}"))
        };
        assert!(has_depth(&by_vectors("imul %id, %four", "udiv %j, %two"), 16));
        assert!(has_depth(&by_vectors("shl %id, %two", "udiv %j, %two"), 16));
        for (start, by) in [
            ("imul %id, %id", "udiv %j, %two"),
            ("isub %four, %id", "udiv %j, %two"),
            // A multiple of six may be none, where it carries out of a word.
            ("imul %id, %end", "udiv %j, %six"),
        ] {
            let code = by_vectors(start, by).replace("%from:", "%six: i32 = const 6\n%from:");
            assert_eq!(deepened(&code), None, "{start}, {by}");
        }
    }

    #[test]
    fn sums_of_halves_are_rounded_where_they_were() {
        let halves = LOOP.replace("4x4xf32", "4x4xf16");
        assert!(has_depth(&halves, 16));
        assert!(deepened(&halves).is_some_and(|text| text.contains("mat_mul_add<step=4>")));
        assert!(deepened(LOOP).is_some_and(|text| !text.contains("step")));
    }

    #[test]
    fn long_rows_are_many_matrices() {
        // 1024 bytes in all, in two rounds of the loop.
        let long = LOOP.replace("const 16", "const 512").replace("const 32", "const 1024");
        assert!(has_depth(&long, 256));
        assert!(deepened(&long).is_some_and(|text| text.contains("br @")));
    }

    #[test]
    fn other_loops_stay() {
        for (from, to) in [
            // Slices that overlap, or leave something out.
            ("ptr_add<scale=2>", "ptr_add<scale=1>"),
            ("udiv %k, %two", "udiv %k, %four"),
            ("iadd %k, %four", "iadd %k, %two"),
            ("mat_load<column_major>", "mat_load"),
            // Numbers that are not those of the counter alone, or of unknown divisibility.
            ("udiv %k, %two", "imul %k, %k"),
            ("%i: i32 = udiv %k, %two", "%j: i32 = iadd %k, %id %i: i32 = udiv %j, %two"),
            // Rounds that are not known.
            ("ult %k, %end", "ult %k, %id"),
            ("iadd %k, %four", "iadd %k, %id"),
            ("var_store<$k> %zero", "var_store<$k> %id"),
            // Something else that is done, seen from the next round or from outside.
            ("br @next", "var_store<$x> %k br @next"),
            ("br @next", "store %p, %k br @next"),
            ("br @next", "barrier<workgroup, workgroup> br @next"),
            ("%go: bool", "store %p, %zero %go: bool"),
            ("mat_load %qa", "mat_load<volatile> %qa"),
            // Sums that others look at, or that are rounded each time.
            ("%n: i32", "%z: mat<4x4xf32, subgroup, acc> = var_load<$c> %zero mat_store %o, %z, %s %n: i32"),
            ("4x4xf32", "4x4xbf16"),
        ] {
            let code = LOOP.replace(from, to);
            assert_ne!(code, LOOP, "{from}");
            assert_eq!(deepened(&code), None, "{from} → {to}");
        }
    }

    #[test]
    fn the_pass_leaves_code_as_it_is_or_makes_it_deeper() {
        let depth = |code: &str| {
            let body = text::parse(code).unwrap().body;
            let new = run(&body);
            let of_b = |m: MatType| (m.use_ == Use::B).then_some(m.rows);
            (new == body, new.values.iter().find_map(|v| v.ty.mat().and_then(of_b)))
        };
        assert_eq!(depth(LOOP), (false, Some(16)));
        assert_eq!(depth(&LOOP.replace("iadd %k, %four", "iadd %k, %two")), (true, Some(4)));
        assert_eq!(
            depth(
                &LOOP
                    .replace("<shared>", "<buffer>")
                    .replace("shared_ptr<offset=0, bytes=4096>", "buffer_ptr<buf0> %zero")
            ),
            (true, Some(4))
        );
    }
}
