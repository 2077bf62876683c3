//! Blocks that a loop stages through shared memory, several of them before they are multiplied.
//!
//! A GPU has little shared memory, so its programs stage blocks that are thin along the inner dimension of a product, and
//! read and write the sums for each. Where a target has more, some blocks are staged beside each other and then multiplied
//! as one that is deeper; those left over at the end one by one, unless it is known that there are none:
//!
//! ```text
//!                                  loop @again {
//!                                    var_store<$n> 0
//! loop @next {                       loop @next {
//!   …                                  …
//!   if %go {                           if %go {
//!     store …                            store …, in the block of number $n
//!     barrier                            $n = $n + 1;  if $n < 4 {  br @next  }
//!     %a: mat<16x32> = mat_load …      }
//!     %b: mat<32x16> = mat_load …    }
//!     $c += %a * %b;  …        →     if 0 < $n {
//!     barrier                          barrier
//!     br @next                         if $n == 4 {
//!   }                                    %a: mat<16x128> = mat_load …
//! }                                      %b: mat<128x16> = mat_load …
//!                                        $c += %a * %b;  …;  barrier;  br @again
//!                                      } else {  each of $n blocks as before;  barrier  }
//!                                    }
//!                                  }
//! ```
//!
//! Each element of the sums is added to in the order that it was, and rounded where it was, as in
//! [`deepen`](super::deepen).
//!
//! What a round reads of shared memory it must have written itself: each round writes the same places, and nothing else of
//! the program looks at them. Nothing but these places is written in the loop, so what is staged is the same as after the
//! products before it.

mod address;
mod alike;
mod find;
mod object;

use super::chain::{Round, uses};
use super::deepen::deeper;
use super::{Options, PassBug, compact, gate, opt_dce};
use crate::builder::Builder;
use crate::entities::{Block, Inst, Value, Var};
use crate::module::{Function, InstInfo, Module};
use crate::op::{BinaryOp, CompareOp, Op};
use crate::tree::Tree;
use crate::types::{Scalar, Space, Type, Use};
use crate::uniformity::Uniformity;
use crate::verify::Verified;
use address::Address;
use find::Staged;
use object::Lines;
use std::collections::{BTreeMap, BTreeSet};

/// Says how many blocks are to be staged together, of so many bytes each; one for none.
pub type Blocks<'a> = dyn Fn(&Function, &Round, u64) -> u32 + 'a;

/// Stages several blocks together; `None` if there are none for which that is wanted.
///
/// # Errors
///
/// A bug in this pass.
pub fn stage(module: &Verified, blocks: &Blocks<'_>, options: &Options) -> Result<Option<Verified>, PassBug> {
    let old = &module.body;
    let tree = Tree::new(old);
    let uses = uses(old, &tree);
    let mut new: Option<Module> = None;
    let mut ranges = None;
    for block in (0..old.blocks.len()).map(Block::new) {
        let Some(mut staged) = Staged::of(old, &tree, &uses, block) else { continue };
        let most = blocks(old, &staged.round, staged.bytes());
        let Some(count) = staged.together(most) else { continue };
        let ranges = ranges.get_or_insert_with(|| Uniformity::analyse(module));
        let shared_bytes = new.as_ref().map_or(module.shared_bytes, |new| new.shared_bytes);
        let lines = staged.find_lines(old, ranges);
        let Some(end) = lines.and_then(|()| staged.place(shared_bytes, count)) else { continue };
        let new = new.get_or_insert_with(|| Module::clone(module));
        new.shared_bytes = end;
        staged.put_together(&mut new.body, &tree, count);
    }
    let Some(mut new) = new else { return Ok(None) };
    new.body = compact(&opt_dce::run(&new.body));
    let module = gate("stage", new)?;
    if let Some(observe) = options.observe {
        observe("stage", &module);
    }
    Ok(Some(module))
}

/// Blocks that are staged.
#[derive(Clone, Copy)]
enum Which {
    /// All of them, as one.
    All,
    /// That of a number.
    One(Value),
}

impl Staged {
    /// How many blocks go together if that may be so many. Where it is known how many there are, fewer if none are left over
    /// then, unless those that are left over are few beside the others.
    fn together(&self, most: u32) -> Option<u32> {
        let halves = std::iter::successors(Some(most), |count| Some(count / 2)).take_while(|&n| n > 1);
        let rounds = self.rounds.unwrap_or(u64::MAX);
        let is_near = |count: u32| 2 * count >= most || rounds < 2 * u64::from(most);
        let whole = halves.into_iter().find(|&count| self.is_whole(count)).filter(|&count| is_near(count));
        whole.or((most > 1 && rounds >= most.into()).then_some(most))
    }

    /// Whether none is left over.
    fn is_whole(&self, count: u32) -> bool {
        self.rounds.is_some_and(|rounds| rounds.is_multiple_of(count.into()))
    }

    fn put_together(&self, func: &mut Function, tree: &Tree, count: u32) {
        let products: Vec<Inst> = self.products(func).collect();
        let number = func.new_var(Type::I32, 1, "");
        self.stage_numbered(func, tree, number, count);

        let (again, outer) = (func.new_label(), func.new_block());
        let whole = func.new_inst(Op::Loop { label: again, body: outer }, &[], &[], 0);
        let home = &mut func.blocks[self.around.block.index()];
        home.iter_mut().filter(|inst| **inst == self.around.inst).for_each(|inst| *inst = whole);
        let mut b = Builder { loc: 0, exact: false, block: outer, func };
        let [before, between, behind] = self.barriers;
        b.func.blocks[outer.index()].extend(before);
        let zero = b.i32(0);
        b.var_store(number, None, zero);
        b.func.blocks[outer.index()].push(self.around.inst);
        let staged = b.var_load(number, None);
        let is_some = b.compare(CompareOp::Ult, zero, staged);
        let multiply = |b: &mut Builder<'_>| {
            b.func.blocks[b.block.index()].extend(between);
            let multiply_all = |b: &mut Builder<'_>| {
                self.multiply(b, &products, Which::All);
                b.func.blocks[b.block.index()].extend(behind);
                b.br(again);
            };
            if self.is_whole(count) {
                return multiply_all(b);
            }
            let all = b.i32(count as i32);
            let are_all = b.compare(CompareOp::Ieq, staged, all);
            b.if_else(are_all, multiply_all, |b| {
                self.multiply_each(b, &products, staged);
                if let Some(barrier) = behind {
                    let op = b.func.inst(barrier).op.clone();
                    b.effect(op, &[]);
                }
            });
        };
        b.if_else(is_some, multiply, |_| ());
    }

    /// Makes a round of the loop stage a block beside those before it, without multiplying, and end behind `count` of them.
    fn stage_numbered(&self, func: &mut Function, tree: &Tree, number: Var, count: u32) {
        let mut moved: BTreeSet<Inst> = self.products(func).collect();
        moved.extend(self.barriers.into_iter().flatten());
        let mut insts = std::mem::take(&mut func.blocks[self.body.index()]);
        insts.retain(|inst| !moved.contains(inst));
        let back = insts.pop();
        let mut b = Builder { loc: 0, exact: false, block: self.body, func };
        let at = b.var_load(number, None);
        let objects = self.objects_of(&mut b, Which::One(at));
        b.func.blocks[self.body.index()].append(&mut insts);
        for &store in &self.stores {
            self.redirect(b.func, tree, &objects, store);
        }
        let one = b.i32(1);
        let next = b.binary(BinaryOp::Iadd, at, one);
        b.var_store(number, None, next);
        let all = b.i32(count as i32);
        let is_room = b.compare(CompareOp::Ult, next, all);
        b.if_else(is_room, |b| b.func.blocks[b.block.index()].extend(back), |_| ());
    }

    /// Has a store go to another object.
    fn redirect(&self, func: &mut Function, tree: &Tree, objects: &BTreeMap<Value, Value>, store: Inst) {
        let Some(home) = tree.block_of(store) else { return };
        let mut insts = std::mem::take(&mut func.blocks[home.index()]);
        let behind = insts.split_off(insts.iter().position(|&inst| inst == store).unwrap_or(0));
        func.blocks[home.index()] = insts;
        let InstInfo { ref args, loc, .. } = *func.inst(store);
        let ptr = args[0];
        let mut b = Builder { loc, exact: false, block: home, func };
        let mut again = Again { values: &self.pointers, made: objects.clone() };
        let ptr = self.pointer(&mut b, &mut again, ptr);
        func.insts[store.index()].args[0] = ptr;
        func.blocks[home.index()].extend(behind);
    }

    /// Multiplies some blocks one by one.
    fn multiply_each(&self, b: &mut Builder<'_>, products: &[Inst], count: Value) {
        let at = b.func.new_var(Type::I32, 1, "");
        let zero = b.i32(0);
        b.var_store(at, None, zero);
        b.repeated(|b, next| {
            let number = b.var_load(at, None);
            let is_staged = b.compare(CompareOp::Ult, number, count);
            let multiply = |b: &mut Builder<'_>| {
                self.multiply(b, products, Which::One(number));
                let one = b.i32(1);
                let further = b.binary(BinaryOp::Iadd, number, one);
                b.var_store(at, None, further);
                b.br(next);
            };
            b.if_else(is_staged, multiply, |_| ());
        });
    }

    fn multiply(&self, b: &mut Builder<'_>, products: &[Inst], which: Which) {
        let mut again = Again { values: &self.inside, made: self.objects_of(b, which) };
        for &inst in products {
            match b.func.inst(inst).op {
                Op::MatLoad { .. } => self.load(b, &mut again, inst, which),
                Op::MatMulAdd(_) if matches!(which, Which::All) => {
                    let op = deeper(b.func, inst);
                    again.inst_as(b, inst, op);
                }
                _ => again.inst(b, inst),
            }
        }
    }

    /// Loads a factor.
    fn load(&self, b: &mut Builder<'_>, again: &mut Again<'_>, inst: Inst, which: Which) {
        let InstInfo { op, args, results, loc, .. } = b.func.inst(inst).clone();
        let object = &self.objects[&b.func.root(args[0])];
        let mut ty = b.func.ty(results[0]);
        if let (Which::All, Type::Mat(m)) = (which, &mut ty) {
            match m.use_ {
                Use::A => m.cols *= object.count,
                _ => m.rows *= object.count,
            }
        }
        let before = std::mem::replace(&mut b.loc, loc);
        let ptr = self.pointer(b, again, args[0]);
        let stride = match object.line() {
            Some(line) => b.constant(Scalar::I64, line as u64),
            None => again.value(b, args[1]),
        };
        let factor = b.value(op, &[ptr, stride], ty);
        b.loc = before;
        again.made.insert(results[0], factor);
    }

    /// The objects of blocks, in place of those of the program.
    fn objects_of(&self, b: &mut Builder<'_>, which: Which) -> BTreeMap<Value, Value> {
        let objects = self.objects.iter().map(|(&old, object)| {
            let shared = |bytes: u32| Op::SharedPtr { offset: object.offset, bytes };
            let new = match (&object.lines, which) {
                (Lines::Across, Which::One(number)) => {
                    b.value(shared(object.bytes), &[number], Type::Ptr(Space::Shared))
                }
                (Lines::Along { width, .. }, Which::One(number)) => {
                    let all = b.value(shared(object.total() as u32), &[], Type::Ptr(Space::Shared));
                    b.ptr_add(all, Some(number), *width, 0)
                }
                (_, Which::All) => b.value(shared(object.total() as u32), &[], Type::Ptr(Space::Shared)),
            };
            (old, new)
        });
        objects.collect()
    }

    /// Where something of an object is now.
    fn pointer(&self, b: &mut Builder<'_>, again: &mut Again<'_>, ptr: Value) -> Value {
        let root = b.func.root(ptr);
        let object = &self.objects[&root];
        let (&Lines::Along { line, .. }, Some(new_line)) = (&object.lines, object.line()) else {
            return again.value(b, ptr);
        };
        let Address { terms, constant } = Address::of(b.func, ptr);
        let further = |bytes: i64| bytes.div_euclid(line) * new_line + bytes.rem_euclid(line);
        let mut at = again.made[&root];
        for (v, bytes) in terms {
            let v = again.value(b, v);
            // Either whole lines, or a number of bytes in one.
            let bytes = if bytes % line == 0 { further(bytes) } else { bytes };
            at = b.ptr_add(at, Some(v), bytes, 0);
        }
        match further(constant) {
            0 => at,
            bytes => b.ptr_add(at, None, 1, bytes),
        }
    }
}

/// What is made once more elsewhere.
struct Again<'a> {
    /// By number: the values that have to be, if others need them.
    values: &'a [bool],
    /// What each was made to.
    made: BTreeMap<Value, Value>,
}

impl Again<'_> {
    fn value(&mut self, b: &mut Builder<'_>, v: Value) -> Value {
        if let Some(&made) = self.made.get(&v) {
            return made;
        }
        if !self.values.get(v.index()).copied().unwrap_or(false) {
            return v;
        }
        self.inst(b, b.func.values[v.index()].def);
        self.made.get(&v).copied().unwrap_or(v)
    }

    /// An instruction, and before it what it needs.
    fn inst(&mut self, b: &mut Builder<'_>, inst: Inst) {
        self.inst_as(b, inst, b.func.inst(inst).op.clone());
    }

    /// The same, as another operation.
    fn inst_as(&mut self, b: &mut Builder<'_>, inst: Inst, op: Op) {
        let InstInfo { args, results, loc, exact, .. } = b.func.inst(inst).clone();
        let args: Vec<Value> = args.iter().map(|&arg| self.value(b, arg)).collect();
        let types: Vec<Type> = results.iter().map(|&v| b.func.ty(v)).collect();
        let before = (b.loc, b.exact);
        (b.loc, b.exact) = (loc, exact);
        let made = b.values(op, &args, &types);
        (b.loc, b.exact) = before;
        self.made.extend(results.into_iter().zip(made));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{text, verify};
    use expect_test::expect;

    /// Two subgroups that stage blocks of 8×8 and 8×4 numbers: lines of A of 32 bytes, of which 16 are used, and of B of 16.
    const LOOP: &str = "workgroup_size 8 1 1 subgroup_size 4 shared 384 push 4
    binding buf0 = 0.0 storage writable
    var $k: i32 var $c: mat<4x4xf32, subgroup, acc> var $x: i32 {
    %0: i32 = const 0
    %4: i32 = const 4
    %8: i32 = const 8
    %32: i64 = const 32
    %16: i64 = const 16
    %a: ptr<shared> = shared_ptr<offset=0, bytes=256>
    %b: ptr<shared> = shared_ptr<offset=256, bytes=128>
    %push: ptr<push> = push_ptr
    %from: ptr<buffer> = buffer_ptr<buf0> %0
    %l: i32 = local_invocation_index
    %sg: i32 = subgroup_id
    %first: i32 = imul %sg, %4
    var_store<$k> %0
    loop @next {
      %k: i32 = var_load<$k>
      %end: i32 = load %push
      %go: bool = ult %k, %end
      if %go {
        %i: i32 = iadd %l, %k
        %p: ptr<buffer> = ptr_add<scale=16> %from, %i
        %x: i32, %y: i32, %z: i32, %w: i32 = load %p
        %line: i32 = imul %l, %8
        %to: ptr<shared> = ptr_add<scale=4> %a, %line
        store %to, %x, %y, %z, %w
        %tob: ptr<shared> = ptr_add<scale=16> %b, %l
        store %tob, %x, %y
        barrier<workgroup, workgroup>
        %qa: ptr<shared> = ptr_add<scale=32> %a, %first
        %ma: mat<4x8xf16, subgroup, a> = mat_load %qa, %32
        %mb: mat<8x4xf16, subgroup, b> = mat_load %b, %16
        %s: mat<4x4xf32, subgroup, acc> = var_load<$c>
        %t: mat<4x4xf32, subgroup, acc> = mat_mul_add %ma, %mb, %s
        var_store<$c> %t
        barrier<workgroup, workgroup>
        %n: i32 = iadd %k, %8
        var_store<$k> %n
        br @next
      }
    }
    %sum: mat<4x4xf32, subgroup, acc> = var_load<$c>
    mat_store %from, %sum, %16
}";

    fn staged(code: &str) -> Option<String> {
        let module = text::parse(code).unwrap_or_else(|e| panic!("{e}\n{code}"));
        let module = verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"));
        let options = Options { verify: true, ..Options::default() };
        let bytes = |_: &Function, _: &Round, bytes| if bytes == 384 { 4 } else { 1 };
        stage(&module, &bytes, &options).unwrap_or_else(|e| panic!("{e}")).map(|module| module.to_string())
    }

    #[test]
    fn four_blocks_are_multiplied_as_one() {
        let text = staged(LOOP).unwrap_or_default();
        expect![[r#"
            kernel ""
            workgroup_size 8 1 1
            subgroup_size 4
            shared 1536
            push 4
            binding buf0 = 0.0 storage writable
            var $k: i32
            var $c: mat<4x4xf32, subgroup, acc>
            var $2: i32
            var $3: i32

            {
              %0: i32 = const 0
              %1: i32 = const 8
              %2: i64 = const 16
              %3: ptr<push> = push_ptr
              %4: ptr<buffer> = buffer_ptr<buf0> %0
              %5: i32 = local_invocation_index
              %6: i32 = subgroup_id
              var_store<$k> %0
              loop @0 {
                %7: i32 = const 0
                var_store<$2> %7
                loop @1 {
                  %8: i32 = var_load<$k>
                  %9: i32 = load %3
                  %10: bool = ult %8, %9
                  if %10 {
                    %11: i32 = var_load<$2>
                    %12: ptr<shared> = shared_ptr<offset=384, bytes=640>
                    %13: ptr<shared> = ptr_add<scale=16> %12, %11
                    %14: ptr<shared> = shared_ptr<offset=1024, bytes=128> %11
                    %15: i32 = iadd %5, %8
                    %16: ptr<buffer> = ptr_add<scale=16> %4, %15
                    %17: i32, %18: i32, %19: i32, %20: i32 = load %16
                    %21: ptr<shared> = ptr_add<scale=80> %13, %5
                    store %21, %17, %18, %19, %20
                    %22: ptr<shared> = ptr_add<scale=16> %14, %5
                    store %22, %17, %18
                    %23: i32 = iadd %8, %1
                    var_store<$k> %23
                    %24: i32 = const 1
                    %25: i32 = iadd %11, %24
                    var_store<$2> %25
                    %26: i32 = const 4
                    %27: bool = ult %25, %26
                    if %27 {
                      br @1
                    }
                  }
                }
                %28: i32 = var_load<$2>
                %29: bool = ult %7, %28
                if %29 {
                  barrier<workgroup, workgroup>
                  %30: i32 = const 4
                  %31: bool = ieq %28, %30
                  if %31 {
                    %32: ptr<shared> = shared_ptr<offset=384, bytes=640>
                    %33: ptr<shared> = shared_ptr<offset=1024, bytes=512>
                    %34: ptr<shared> = ptr_add<scale=320> %32, %6
                    %35: i64 = const 80
                    %36: mat<4x32xf16, subgroup, a> = mat_load %34, %35
                    %37: mat<32x4xf16, subgroup, b> = mat_load %33, %2
                    %38: mat<4x4xf32, subgroup, acc> = var_load<$c>
                    %39: mat<4x4xf32, subgroup, acc> = mat_mul_add %36, %37, %38
                    var_store<$c> %39
                    barrier<workgroup, workgroup>
                    br @0
                  } else {
                    %40: i32 = const 0
                    var_store<$3> %40
                    loop @2 {
                      %41: i32 = var_load<$3>
                      %42: bool = ult %41, %28
                      if %42 {
                        %43: ptr<shared> = shared_ptr<offset=384, bytes=640>
                        %44: ptr<shared> = ptr_add<scale=16> %43, %41
                        %45: ptr<shared> = shared_ptr<offset=1024, bytes=128> %41
                        %46: ptr<shared> = ptr_add<scale=320> %44, %6
                        %47: i64 = const 80
                        %48: mat<4x8xf16, subgroup, a> = mat_load %46, %47
                        %49: mat<8x4xf16, subgroup, b> = mat_load %45, %2
                        %50: mat<4x4xf32, subgroup, acc> = var_load<$c>
                        %51: mat<4x4xf32, subgroup, acc> = mat_mul_add %48, %49, %50
                        var_store<$c> %51
                        %52: i32 = const 1
                        %53: i32 = iadd %41, %52
                        var_store<$3> %53
                        br @2
                      }
                    }
                    barrier<workgroup, workgroup>
                  }
                }
              }
              %54: mat<4x4xf32, subgroup, acc> = var_load<$c>
              mat_store %4, %54, %2
            }
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn blocks_may_lie_either_way() {
        // What is staged behind a barrier, and multiplied before the next round.
        let before = LOOP.replacen("barrier<workgroup, workgroup>\n        %n", "%n", 1);
        let before = before.replacen("%i: i32", "barrier<workgroup, workgroup>\n %i: i32", 1);
        // Columns of B in lines of eight numbers.
        let columns = LOOP.replace("mat_load %b", "mat_load<column_major> %b");
        for (code, has) in [
            (&before, "mat<4x32xf16, subgroup, a>"),
            (&before, "mat<32x4xf16, subgroup, b>"),
            (&columns.replace("store %tob, %x, %y", "store %tob, %x, %y, %z, %w"), "mat_load<column_major>"),
        ] {
            assert!(staged(code).is_some_and(|text| text.contains(has)), "{has}\n{code}");
        }
        assert!(staged(&before).is_some_and(|text| text.matches("barrier").count() == 2));
        // Numbers that become vectors of four.
        let divided = LOOP.replace(
            "%line: i32 = imul %l, %8",
            "%twice: i32 = imul %l, %8\n%times: i32 = imul %twice, %4\n%line: i32 = udiv %times, %4",
        );
        assert!(staged(&divided).is_some());
        assert_eq!(staged(&divided.replace("imul %twice, %4", "iadd %twice, %4")), None);
        // A variable that each round sets first, and a condition on what is read, but not on where it goes.
        let set =
            LOOP.replace("%i: i32 = iadd", "var_store<$x> %l\n %v: i32 = var_load<$x>\n %i: i32 = iadd");
        let set = set.replace("ptr_add<scale=16> %b, %l", "ptr_add<scale=16> %b, %v");
        assert!(staged(&set).is_some());
        let guarded = LOOP.replace(
            "store %tob, %x, %y",
            "if %go {\n var_store<$x> %x\n }\n %v: i32 = var_load<$x>\n store %tob, %v, %y",
        );
        assert!(staged(&guarded).is_some());
    }

    #[test]
    fn sums_of_halves_are_rounded_where_they_were() {
        let halves = LOOP.replace("4x4xf32", "4x4xf16");
        let text = staged(&halves).unwrap_or_default();
        // All blocks, and what is left over one by one.
        assert_eq!(text.matches("mat_mul_add<step=8>").count(), 1, "{text}");
        assert_eq!(text.matches("mat_mul_add %").count(), 1, "{text}");
        // Sums that have steps already.
        let smaller = staged(&halves.replace("mat_mul_add", "mat_mul_add<step=4>")).unwrap_or_default();
        assert_eq!(smaller.matches("mat_mul_add<step=4>").count(), 2, "{smaller}");
    }

    #[test]
    fn none_is_left_over_where_all_are_known() {
        // The depth of the block that is multiplied, and how often products are in the code.
        let found = |end: u32| {
            let code = LOOP.replace("%end: i32 = load %push", &format!("%end: i32 = const {end}"));
            staged(&code).map(|text| {
                let depths = [32, 16].into_iter().find(|depth| text.contains(&format!("mat<4x{depth}xf16")));
                (depths, text.matches("mat_mul_add").count())
            })
        };
        assert_eq!(found(64), Some((Some(32), 1)));
        assert_eq!(found(40), Some((Some(32), 2)), "five rounds");
        assert_eq!(found(48), Some((Some(16), 1)), "six rounds");
        assert_eq!(found(16), Some((Some(16), 1)));
        assert_eq!(found(24), None, "too few");
        assert_eq!(found(8), None);
        // A counter that is set besides.
        let set = LOOP.replace("%end: i32 = load %push", "%end: i32 = const 64");
        let set = staged(&set.replace("%i: i32 = iadd", "var_store<$k> %k\n%i: i32 = iadd"));
        assert_eq!(set.map(|text| text.matches("mat_mul_add").count()), Some(2));
    }

    #[test]
    fn loops_that_end_otherwise_stay() {
        let around = LOOP.replace("loop @next {", "block @out {\nloop @next {");
        let around = around.replace("%sum: mat", "}\n%sum: mat");
        assert!(staged(&around).is_some());
        let leaves = |before: &str, what: &str, odd: &str| {
            let code =
                around.replace(before, &format!("%odd: bool = ult {odd}\nif %odd {{ {what} }}\n{before}"));
            verify(text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}")))
                .unwrap_or_else(|e| panic!("{e}\n{code}"));
            staged(&code)
        };
        for before in ["%i: i32 = iadd", "%qa: ptr", "%n: i32"] {
            for what in ["br @out", "return"] {
                // In some round, and in the first one or none.
                for odd in ["%k, %8", "%end, %8"] {
                    assert_eq!(leaves(before, what, odd), None, "{what} before {before} if {odd}");
                }
            }
        }
    }

    #[test]
    fn other_loops_stay() {
        let lines = LOOP.lines().find(|line| line.contains("store %tob")).unwrap_or_default();
        // `%v` is what the round before left.
        let with_old = |code: &str| {
            code.replace("%i: i32 = iadd", "%v: i32 = var_load<$x>\n var_store<$x> %k\n %i: i32 = iadd")
        };
        assert!(staged(&with_old(LOOP)).is_some());
        for (from, to) in [
            // Places that differ from round to round, or that are not written in each.
            ("%line: i32 = imul %l, %8", "%line: i32 = imul %k, %8"),
            (lines, "%odd: bool = ult %k, %l\nif %odd { store %tob, %x, %y }"),
            (lines, "loop @again { store %tob, %x, %y\n%odd: bool = ult %i, %end\nif %odd { br @again } }"),
            ("ptr_add<scale=16> %b, %l", "ptr_add<scale=16> %b, %v"),
            // Bytes that another block would have.
            ("store %to, %x, %y, %z, %w", "store %to, %x, %y, %z, %w, %x"),
            ("imul %l, %8", "imul %l, %4"),
            // Matrices that are a part of a block, or of another object, or from elsewhere.
            ("ptr_add<scale=32> %a, %first", "ptr_add<scale=4> %a, %first"),
            ("mat_load %b, %16", "mat_load %tob, %16"),
            ("mat_load %b, %16", "mat_load %b, %32"),
            ("mat_load %b, %16", "mat_load %from, %16"),
            ("mat_load %b, %16", "mat_load<volatile> %b, %16"),
            // Somebody else who looks at them.
            ("%sum: mat", "%left: i32 = load %a\nstore %from, %left\n%sum: mat"),
            ("var_store<$k> %0", "store %a, %0\nvar_store<$k> %0"),
            ("%ma: mat", "%left: i32 = load %a\nvar_store<$x> %left\n%ma: mat"),
            ("var_store<$k> %0", "%o: ptr<shared> = shared_ptr<offset=128, bytes=64>\nvar_store<$k> %0"),
            ("var_store<$k> %0", "%o: ptr<shared> = shared_ptr<offset=128, bytes=64> %0\nvar_store<$k> %0"),
            // Something else that is written or waited for, before it is read again.
            ("%n: i32", "store %from, %l\n%n: i32"),
            ("%qa: ptr", "barrier<workgroup, workgroup>\n%qa: ptr"),
            ("%qa: ptr", "barrier<subgroup, subgroup>\n%qa: ptr"),
            ("load %p", "load<volatile> %p"),
            // Sums that are rounded in each round, or that others look at.
            ("4x4xf32", "4x4xbf16"),
            ("%n: i32", "%d: mat<4x4xf32, subgroup, acc> = var_load<$c>\nmat_store %from, %d, %16\n%n: i32"),
            // A product that needs what a round has of its own.
            ("ptr_add<scale=32> %a, %first", "ptr_add<scale=32> %a, %k"),
        ] {
            let code = with_old(&LOOP.replace(from, to));
            assert_eq!(staged(&code), None, "{from} → {to}");
        }
    }
}
