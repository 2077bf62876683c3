//! Neighbouring work-groups as one, where they multiply the same matrices.
//!
//! The simplest programs give each work-group one matrix of the result, so each factor that is loaded is multiplied once.
//! Work-groups in a row of the grid load the same matrices of A, those in a column the same of B. No work-group waits for
//! another, so a block of them may as well go through the program together:
//!
//! ```text
//! %y = workgroup_id<y>                             %y = workgroup_id<y>             %y1 = iadd %y, 1
//! %x = workgroup_id<x>                             %x = workgroup_id<x>             %x1 = iadd %x, 1
//! loop @next {                                     loop @next {
//!   %a = mat_load (of %y)                            %a = mat_load (of %y)          %a1 = mat_load (of %y1)
//!   %b = mat_load (of %x)                  →         %b = mat_load (of %x)          %b1 = mat_load (of %x1)
//!   $c += %a * %b                                    $c += %a * %b                  $c1 += %a * %b1
//!                                                    $c2 += %a1 * %b                $c3 += %a1 * %b1
//! }                                                }
//! ```
//!
//! Each instruction is copied for the work-groups in which it may give something else: those along the axes that its operands
//! depend on. Where control flow depends on them, as at the edges of matrices, a block goes on only as long as its work-groups
//! go the same way; otherwise it declines, before it has stored anything, and they run one by one.
//!
//! Loads that are the same in all are done once, as nothing orders them and the stores of other work-groups (Vulkan memory
//! model, *data races*); volatile ones, atomics and whatever has effects besides stores are left to work-groups by
//! themselves.

use super::late::Late;
use super::{Options, PassBug, compact, flatten, gate, opt_dce, strip, widen};
use crate::entities::{Block, Inst, Value, Var};
use crate::module::{Function, InstInfo, Module};
use crate::op::{BinaryOp, Builtin, Op};
use crate::tree::Tree;
use crate::types::{MatType, Scalar, Type};
use crate::verify::Verified;
use std::collections::BTreeSet;

/// Rows and columns of a block: its sums stay in the second cache beside their factors, which are used often enough.
const WIDE: u32 = 128;
/// Most work-groups along an axis.
const MOST: u32 = 16;
/// Most multiply-adds of a block of code, copies included: more are not done at once.
const MANY: u32 = 256;
/// Most instructions that are copies: code that long takes longer to compile than it gains.
const LONG: u32 = 2048;

/// A module whose work-groups do what blocks of them did, or decline.
#[derive(Clone, Debug)]
pub struct Coarse {
    /// The module. Its built-ins of the work-group are those of the first in each block.
    pub module: Verified,
    /// Work-groups of a block along x and y.
    pub block: [u32; 2],
}

/// Makes one of blocks of work-groups, or of one, whose rows or rounds are joined where that may be declined; `None` if
/// neither is to be had.
///
/// # Errors
///
/// A bug in this pass.
pub fn coarsen(module: &Verified, options: &Options) -> Result<Option<Coarse>, PassBug> {
    let Some(axes) = Axes::of(module) else { return Ok(None) };
    let Some(block) = axes.block() else { return Ok(None) };
    let block = axes.short(block);
    let copied = flatten::run(&Copier::new(module, &axes, block).run());
    // Sums of neighbours lie side by side and below each other, mostly.
    let wide = opt_dce::run(&widen::run_or_decline(&copied));
    let strips = strip::run(&wide);
    let body = opt_dce::run(strips.as_ref().unwrap_or(&wide));
    if block == [1, 1] && strips.is_none() && mul_adds(&body) == mul_adds(&copied) {
        return Ok(None);
    }
    let body = compact(&body);
    let module = gate("coarsen", Module { body, ..Module::clone(module) })?;
    if let Some(observe) = options.observe {
        observe("coarsen", &module);
    }
    Ok(Some(Coarse { module, block }))
}

/// A set of the axes x and y, as bits.
type Set = u8;

/// The bit of an axis of work-groups, or none for z.
fn bit(axis: u8) -> Set {
    if axis < 2 { 1 << axis } else { 0 }
}

/// On which axes of work-groups values and variables depend.
struct Axes<'a> {
    func: &'a Function,
    values: Vec<Set>,
    vars: Vec<Set>,
    order: Vec<Inst>,
    /// Those that control flow depends on where a block can't decline.
    control: Set,
}

impl<'a> Axes<'a> {
    /// `None` if something is done that work-groups have to do by themselves.
    fn of(module: &'a Module) -> Option<Self> {
        let func = &module.body;
        let late = Late::of(func);
        let order = late.tree.order().to_vec();
        if module.shared_bytes != 0 || !order.iter().all(|&inst| may_be_copied(func, inst)) {
            return None;
        }
        let (values, vars) = (vec![0; func.values.len()], vec![0; func.vars.len()]);
        let mut this = Self { func, values, vars, order, control: 0 };
        while this.spread() {}
        this.control = this.bound(&late);
        Some(this)
    }

    /// The axes along which work-groups must go the same way, because some that do not are found out too late: behind a
    /// store, or round after round, as loops that depend on the work-group rarely have as many rounds in its neighbours.
    fn bound(&self, late: &Late) -> Set {
        let func = self.func;
        let leaves = |&inst: &Inst| matches!(func.inst(inst).op, Op::Br(_) | Op::Return);
        let mut bound = 0;
        for &inst in &self.order {
            let info = func.inst(inst);
            let Op::If { then, otherwise } = info.op else { continue };
            let is_left = [then, otherwise].iter().any(|&b| late.tree.within(b).iter().any(leaves));
            if late.is_late(inst, &[]) || is_left && late.tree.outermost_loop(inst).is_some() {
                bound |= self.of_inst(info);
            }
        }
        bound
    }

    /// What an instruction gives depends on.
    fn of_inst(&self, info: &InstInfo) -> Set {
        let own = match info.op {
            Op::Builtin(Builtin::WorkgroupId(axis) | Builtin::GlobalInvocationId(axis)) => bit(axis),
            Op::MatMap { body } => {
                let region = self.func.block(body).iter().map(|&inst| self.func.inst(inst));
                region.fold(0, |all, info| all | self.of_inst(info))
            }
            _ => 0,
        };
        let args = info.args.iter().map(|v| self.values[v.index()]);
        let vars = info.op.vars().filter(|(_, how)| !how.writes()).map(|(var, _)| self.vars[var.index()]);
        args.chain(vars).fold(own, |all, axes| all | axes)
    }

    /// The axes along which an instruction is copied: to a variable all copies of it are written.
    fn copies(&self, info: &InstInfo) -> Set {
        if info.op.region().is_none() && info.op.bodies().next().is_some() {
            return 0;
        }
        info.op.vars().fold(self.of_inst(info), |all, (var, _)| all | self.vars[var.index()])
    }

    /// Follows dependences once; whether there were new ones.
    fn spread(&mut self) -> bool {
        let func = self.func;
        let mut is_new = false;
        for at in 0..self.order.len() {
            let info = func.inst(self.order[at]);
            let axes = self.of_inst(info);
            let mut add = |to: &mut Set| {
                is_new |= *to | axes != *to;
                *to |= axes;
            };
            info.results.iter().for_each(|v| add(&mut self.values[v.index()]));
            info.op
                .vars()
                .filter(|(_, how)| how.writes())
                .for_each(|(var, _)| add(&mut self.vars[var.index()]));
        }
        is_new
    }

    /// Whether all accesses to a variable are to elements of it that are known.
    fn has_known_elements(&self, var: Var) -> bool {
        let func = self.func;
        let accesses = self.order.iter().map(|&inst| func.inst(inst));
        let mut accesses = accesses.filter(|info| info.op.vars().any(|(other, _)| other == var));
        accesses.all(|info| element(func, info).is_some_and(|index| index < func.var(var).count))
    }

    /// How many work-groups go together along x and y; `None` if nothing is multiplied.
    fn block(&self) -> Option<[u32; 2]> {
        let func = self.func;
        let is_mul_add = |&&inst: &&Inst| matches!(func.inst(inst).op, Op::MatMulAdd(_));
        let blocks = func.blocks.iter().map(|insts| insts.iter().filter(is_mul_add).collect::<Vec<_>>());
        let products = blocks.max_by_key(Vec::len).filter(|products| !products.is_empty())?;
        let factors = |number: usize| -> BTreeSet<Value> {
            products.iter().map(|&&inst| func.inst(inst).args[number]).collect()
        };
        // Of a grid of sums, each a chain of products.
        let (a, b) = (factors(0), factors(1));
        let deep = (a.len() * b.len()).div_ceil(products.len()) as u32;
        let size = |list: &BTreeSet<Value>, of: fn(MatType) -> u32| {
            let one = list.first().and_then(|&v| func.ty(v).mat()).map_or(WIDE, of);
            (list.len() as u32).div_ceil(deep).saturating_mul(one)
        };
        let (rows, cols) = (size(&a, |m| m.rows), size(&b, |m| m.cols));
        let mut left = MANY / (products.len() as u32).min(MANY);
        let mut along = |axis: u8| {
            let depends = |v: &Value| self.values[v.index()] & bit(axis) != 0;
            // Along an axis one factor is another, and the other the same.
            let size = match (a.iter().all(depends), b.iter().all(depends)) {
                (true, false) if !b.iter().any(depends) => rows,
                (false, true) if !a.iter().any(depends) => cols,
                _ => return 1,
            };
            if self.control & bit(axis) != 0 || size == 0 {
                return 1;
            }
            let count = (WIDE / size).clamp(1, MOST.min(left));
            let count = 1 << count.ilog2();
            left /= count;
            count
        };
        Some([along(0), along(1)])
    }

    /// A block, or a smaller one for which the code is not too long.
    fn short(&self, mut block: [u32; 2]) -> [u32; 2] {
        let func = self.func;
        let copies = |block: [u32; 2]| -> u32 {
            let along =
                |axes: Set, axis: u8| if axes & bit(axis) == 0 { 1 } else { block[usize::from(axis)] };
            // Of a condition all are compared.
            let of = |inst: &Inst| self.of_inst(func.inst(*inst)) | self.copies(func.inst(*inst));
            self.order.iter().map(of).map(|axes| along(axes, 0) * along(axes, 1)).filter(|&n| n > 1).sum()
        };
        while copies(block) > LONG {
            let longer = usize::from(block[1] > block[0]);
            block[longer] /= 2;
        }
        block
    }
}

/// Number of multiply-adds in the code.
fn mul_adds(func: &Function) -> usize {
    let is_mul_add = |inst: &&Inst| matches!(func.inst(**inst).op, Op::MatMulAdd(_));
    Tree::new(func).order().iter().filter(is_mul_add).count()
}

/// Whether an instruction may be done for several work-groups, in any order with theirs.
fn may_be_copied(func: &Function, inst: Inst) -> bool {
    let info = func.inst(inst);
    match info.op {
        Op::Load(flags) | Op::Store(flags) | Op::MatLoad { flags, .. } | Op::MatStore { flags, .. } => {
            !flags.volatile
        }
        Op::If { .. } | Op::Block { .. } | Op::Loop { .. } | Op::Br(_) | Op::Return => true,
        Op::VarLoad(_) | Op::VarStore(_) | Op::VarComponentLoad(_) | Op::VarComponentStore(_) => true,
        Op::MatMap { body } => func.block(body).iter().all(|&inst| {
            let op = &func.inst(inst).op;
            matches!(op, Op::Params | Op::Yield) || op.computes()
        }),
        Op::Params | Op::Yield => true,
        Op::Clock | Op::Image(..) => false,
        ref op => !op.has_effect() && op.bodies().next().is_none(),
    }
}

/// Whether an access to a variable has an index.
fn has_index(info: &InstInfo) -> bool {
    info.args.len() > usize::from(matches!(info.op, Op::VarStore(_)))
}

/// The index of the element that is loaded or stored, if that is known.
fn element(func: &Function, info: &InstInfo) -> Option<u32> {
    match info.op {
        Op::VarLoad(_) | Op::VarStore(_) if has_index(info) => {
            func.const_bits(info.args[0]).and_then(|bits| u32::try_from(bits).ok())
        }
        Op::VarLoad(_) | Op::VarStore(_) => Some(0),
        _ => None,
    }
}

/// Makes the copies.
struct Copier<'a> {
    old: &'a Function,
    new: Function,
    axes: &'a Axes<'a>,
    block: [u32; 2],
    /// Invocations of a work-group along x and y.
    size: [u32; 2],
    /// The values and variables of each work-group of a block.
    values: Vec<Vec<Value>>,
    vars: Vec<Vec<Copied>>,
}

/// A copy of a variable: a variable, or elements of an array from an index on.
#[derive(Clone, Copy)]
struct Copied {
    var: Var,
    first: Option<u32>,
}

impl<'a> Copier<'a> {
    fn new(module: &'a Module, axes: &'a Axes<'a>, block: [u32; 2]) -> Self {
        let old = &module.body;
        let mut new = Function { labels: old.labels, ..Function::default() };
        new.new_block();
        let [x, y, _] = module.workgroup_size;
        let mut this = Self { old, new, axes, block, size: [x, y], values: Vec::new(), vars: Vec::new() };
        for (var, info) in old.vars.iter().enumerate() {
            // Of matrices all copies are one array, which may become one of wider matrices.
            let is_array =
                axes.vars[var] != 0 && info.ty.mat().is_some() && axes.has_known_elements(Var::new(var));
            let mut count = 0;
            let copies = this.of_each(axes.vars[var], |this, _| {
                let first = is_array.then_some(info.count * count);
                count += 1;
                if first.unwrap_or(0) == 0 {
                    this.new.vars.push(info.clone());
                }
                Copied { var: Var::new(this.new.vars.len() - 1), first }
            });
            if is_array && let Some(array) = this.new.vars.last_mut() {
                array.count *= count;
            }
            this.vars.push(copies);
        }
        this.values = vec![Vec::new(); old.values.len()];
        this
    }

    fn run(mut self) -> Function {
        self.copy(Function::ENTRY, Function::ENTRY);
        self.new
    }

    /// Makes something for each work-group of a block, the same for those that differ by other axes only.
    fn of_each<T: Copy>(&mut self, axes: Set, mut make: impl FnMut(&mut Self, [u32; 2]) -> T) -> Vec<T> {
        let [width, height] = self.block;
        let mut made: Vec<T> = Vec::new();
        for y in 0..height {
            for x in 0..width {
                let first = [if axes & bit(0) == 0 { 0 } else { x }, if axes & bit(1) == 0 { 0 } else { y }];
                let own = match first == [x, y] {
                    true => make(self, first),
                    false => made[(first[1] * width + first[0]) as usize],
                };
                made.push(own);
            }
        }
        made
    }

    fn copy(&mut self, from: Block, to: Block) {
        let old = self.old;
        for &inst in old.block(from) {
            let info = old.inst(inst);
            if matches!(info.op, Op::If { .. }) {
                self.decline_unless_alike(info, to);
            }
            let first = self.inst(info, [0, 0], to);
            let copies = self.of_each(self.axes.copies(info), |this, at| match (at, &info.op) {
                ([0, 0], _) => first,
                (at, &Op::Builtin(builtin)) => this.neighbour(info, builtin, first, at, to),
                (at, _) => this.inst(info, at, to),
            });
            for (number, v) in info.results.iter().enumerate() {
                let results = copies.iter().map(|&copy| self.new.inst(copy).results[number]).collect();
                self.values[v.index()] = results;
            }
        }
    }

    /// Copies an instruction for the work-group at a place of the block.
    fn inst(&mut self, info: &InstInfo, at: [u32; 2], to: Block) -> Inst {
        let number = (at[1] * self.block[0] + at[0]) as usize;
        let mut args: Vec<Value> = info.args.iter().map(|v| self.values[v.index()][number]).collect();
        self.move_index(info, number, &mut args, to);
        let types: Vec<_> = info.results.iter().map(|&v| self.old.ty(v)).collect();
        let mut op = info.op.clone();
        op.map_vars(|var| self.vars[var.index()][number].var);
        op.replace_bodies(|| self.new.new_block());
        let new = self.push(to, op.clone(), &args, &types, info);
        for (from, to) in info.op.bodies().zip(op.bodies()) {
            match info.op.region() {
                Some(_) => self.region(from, at, to),
                None => self.copy(from, to),
            }
        }
        new
    }

    /// Copies the function of elements for the work-group at a place of the block.
    fn region(&mut self, from: Block, at: [u32; 2], to: Block) {
        let old = self.old;
        let [width, height] = self.block;
        for &inst in old.block(from) {
            let info = old.inst(inst);
            let copy = self.inst(info, at, to);
            for (number, v) in info.results.iter().enumerate() {
                let result = self.new.inst(copy).results[number];
                let copies = &mut self.values[v.index()];
                copies.resize((width * height) as usize, result);
                copies[(at[1] * width + at[0]) as usize] = result;
            }
        }
    }

    /// Declines where a condition is not the same in all work-groups.
    fn decline_unless_alike(&mut self, info: &InstInfo, to: Block) {
        let cond = info.args[0];
        let conds = self.values[cond.index()].clone();
        let others: BTreeSet<Value> = conds.iter().copied().filter(|&other| other != conds[0]).collect();
        let mut differs: Option<Value> = None;
        for other in others {
            let unlike = self.binary(to, BinaryOp::Xor, [conds[0], other], info);
            differs = Some(match differs {
                Some(differs) => self.binary(to, BinaryOp::Or, [differs, unlike], info),
                None => unlike,
            });
        }
        if let Some(differs) = differs {
            self.push(to, Op::Decline, &[differs], &[], info);
        }
    }

    fn binary(&mut self, to: Block, op: BinaryOp, args: [Value; 2], info: &InstInfo) -> Value {
        let ty = self.new.ty(args[0]);
        let inst = self.push(to, Op::Binary(op), &args, &[ty], info);
        self.new.inst(inst).results[0]
    }

    /// What a built-in is in the work-group at a place of the block, by what it is in the first.
    fn neighbour(&mut self, info: &InstInfo, builtin: Builtin, first: Inst, at: [u32; 2], to: Block) -> Inst {
        let step = match builtin {
            Builtin::WorkgroupId(axis @ 0..2) => at[usize::from(axis)],
            Builtin::GlobalInvocationId(axis @ 0..2) => {
                at[usize::from(axis)].saturating_mul(self.size[usize::from(axis)])
            }
            _ => 0,
        };
        let step = self.push(to, Op::Const(step.into()), &[], &[Scalar::I32.into()], info);
        let args = [first, step].map(|inst| self.new.inst(inst).results[0]);
        self.push(to, Op::Binary(BinaryOp::Iadd), &args, &[Scalar::I32.into()], info)
    }

    /// Makes the index of an element of a variable that of a copy's.
    fn move_index(&mut self, info: &InstInfo, number: usize, args: &mut Vec<Value>, to: Block) {
        let Some(first) = info.op.var().and_then(|var| self.vars[var.index()][number].first) else { return };
        let index = element(self.old, info).unwrap_or(0);
        let op = Op::Const((first + index).into());
        let index = self.push(to, op, &[], &[Scalar::I32.into()], info);
        let index = self.new.inst(index).results[0];
        if has_index(info) {
            args[0] = index;
        } else {
            args.insert(0, index);
        }
    }

    fn push(&mut self, to: Block, op: Op, args: &[Value], types: &[Type], info: &InstInfo) -> Inst {
        let new = self.new.new_inst(op, args, types, info.loc);
        self.new.insts[new.index()].exact = info.exact;
        self.new.blocks[to.index()].push(new);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{text, verify};

    /// A product of matrices of which each work-group computes one of 16×16.
    const SIMPLE: &str = "workgroup_size 32 1 1 subgroup_size 32 push 8
binding buf0 = 0.0 storage
binding buf1 = 0.1 storage
binding buf2 = 0.2 storage writable
var $sum: mat<16x16xf32, subgroup, acc>
var $k: i32
{
  %0: i32 = const 0
  %16: i32 = const 16
  %2: i64 = const 2
  %4: i64 = const 4
  %a: ptr<buffer> = buffer_ptr<buf0> %0
  %b: ptr<buffer> = buffer_ptr<buf1> %0
  %c: ptr<buffer> = buffer_ptr<buf2> %0
  %push: ptr<push> = push_ptr
  %stride: i32 = load %push
  %wide: i64 = u_to_u %stride
  %pitch: i64 = imul %wide, %2
  %pitch_c: i64 = imul %wide, %4
  %x: i32 = workgroup_id<x>
  %y: i32 = workgroup_id<y>
  %column: i32 = imul %x, %16
  %row: i32 = imul %y, %16
  %start: i32 = imul %row, %stride
  %at: i32 = iadd %start, %column
  %p: ptr<buffer> = ptr_add<scale=4> %c, %at
  %old: mat<16x16xf32, subgroup, acc> = mat_load %p, %pitch_c
  var_store<$sum> %old
  var_store<$k> %0
  loop @next {
    %k: i32 = var_load<$k>
    %go: bool = ult %k, %stride
    if %go {
      %i: i32 = iadd %start, %k
      %from_a: ptr<buffer> = ptr_add<scale=2> %a, %i
      %ma: mat<16x16xf16, subgroup, a> = mat_load %from_a, %pitch
      %above: i32 = imul %stride, %k
      %j: i32 = iadd %above, %column
      %from_b: ptr<buffer> = ptr_add<scale=2> %b, %j
      %mb: mat<16x16xf16, subgroup, b> = mat_load %from_b, %pitch
      %s: mat<16x16xf32, subgroup, acc> = var_load<$sum>
      %t: mat<16x16xf32, subgroup, acc> = mat_mul_add %ma, %mb, %s
      var_store<$sum> %t
      %n: i32 = iadd %k, %16
      var_store<$k> %n
      br @next
    }
  }
  %new: mat<16x16xf32, subgroup, acc> = var_load<$sum>
  mat_store %p, %new, %pitch_c
}
";

    fn coarse(code: &str) -> Option<Coarse> {
        let module = verify(text::parse(code).unwrap_or_else(|e| panic!("{e}\n{code}"))).unwrap();
        coarsen(&module, &Options { verify: true, ..Options::default() }).unwrap()
    }

    fn count(module: &Module, is: impl Fn(&Op) -> bool) -> usize {
        let func = &module.body;
        func.blocks.iter().flatten().filter(|&&inst| is(&func.inst(inst).op)).count()
    }

    /// Where it is asked whether matrices are as far apart as strides say.
    const DECLINES: usize = 2 + 1 + 1 + 1;

    #[test]
    fn neighbours_share_what_they_load() {
        let Coarse { module, block } = coarse(SIMPLE).unwrap();
        assert_eq!(block, [8, 8]);
        // One of each, if rows are as far apart as they should be, and a loop of deeper factors.
        assert_eq!(count(&module, |op| matches!(op, Op::MatLoad { .. })), 1 + 2 + 2);
        assert_eq!(count(&module, |op| matches!(op, Op::MatMulAdd(_))), 2);
        assert_eq!(count(&module, |op| matches!(op, Op::MatStore { .. })), 1);
        assert_eq!(count(&module, |op| matches!(op, Op::Loop { .. })), 2);
        // Of the sums twice, of the rows in both loops, and of the rounds.
        assert_eq!(count(&module, |op| *op == Op::Decline), DECLINES);
    }

    #[test]
    fn each_work_group_has_its_function_of_elements() {
        let with = |f: &str| {
            let map = format!(
                "%bias: f32 = u_to_f %column
  %mapped: mat<16x16xf32, subgroup, acc> = mat_map %new {{
    %i0: i32, %j0: i32, %e: f32 = params
    %f: f32 = {f}
    yield %f
  }}
  mat_store %p, %mapped, %pitch_c"
            );
            coarse(&SIMPLE.replace("mat_store %p, %new, %pitch_c", &map)).unwrap().module
        };
        let maps = |module: &Module| count(module, |op| matches!(op, Op::MatMap { .. }));
        // What is the same in all is done with the whole matrix of a block.
        let alike = with("fadd %e, %e");
        assert_eq!((maps(&alike), count(&alike, |op| matches!(op, Op::MatMulAdd(_)))), (1, 2));
        // What differs from column to column, to each: eight sums that are not joined to wider ones.
        let apart = with("fadd %e, %bias");
        assert_eq!((maps(&apart), count(&apart, |op| *op == Op::Binary(BinaryOp::Fadd))), (64, 64));
    }

    #[test]
    fn rows_that_are_not_a_stride_apart_stay_matrices_of_their_own() {
        let load = "%ma: mat<16x16xf16, subgroup, a> = mat_load %from_";
        let of_another = format!(
            "%other: ptr<buffer> = buffer_ptr<buf0> %y
             %from_c: ptr<buffer> = ptr_add<scale=2> %other, %i
             {load}c"
        );
        for (from, to) in [
            ("%i: i32 = iadd %start, %k", "%far: i32 = iadd %start, %start\n%i: i32 = iadd %far, %k"),
            (&format!("{load}a"), &of_another),
        ] {
            let Coarse { module, block } = coarse(&SIMPLE.replace(from, to)).unwrap();
            assert_eq!(block, [8, 8]);
            // In both loops.
            assert_eq!(count(&module, |op| matches!(op, Op::MatMulAdd(_))), 16, "{to}");
        }
    }

    #[test]
    fn columns_of_b_may_lie_below_each_other() {
        let by_columns = SIMPLE.replace(
            "%mb: mat<16x16xf16, subgroup, b> = mat_load",
            "%mb: mat<16x16xf16, subgroup, b> = mat_load<column_major>",
        );
        let by_columns = by_columns
            .replace("imul %stride, %k", "imul %stride, %column")
            .replace("iadd %above, %column", "iadd %above, %k");
        let Coarse { module, block } = coarse(&by_columns).unwrap();
        assert_eq!(block, [8, 8]);
        assert_eq!(count(&module, |op| matches!(op, Op::MatMulAdd(_))), 2);
    }

    #[test]
    fn only_along_axes_on_which_one_factor_depends() {
        let block = |from: &str, to: &str| coarse(&SIMPLE.replace(from, to)).map(|coarse| coarse.block);
        // All columns are the same; or all rows.
        assert_eq!(block("imul %x, %16", "imul %0, %16"), Some([1, 8]));
        assert_eq!(block("imul %y, %16", "imul %0, %16"), Some([8, 1]));
        // As many rounds as x says.
        assert_eq!(block("ult %k, %stride", "ult %k, %x"), Some([1, 8]));
        // The third axis is none that work-groups are joined along.
        assert_eq!(block("workgroup_id<x>", "workgroup_id<z>"), Some([1, 8]));
    }

    #[test]
    fn one_work_group_may_decline_too() {
        // Both factors change along x, but rounds are one.
        let lone = SIMPLE.replace("imul %y, %16", "imul %x, %16");
        let Coarse { module, block } = coarse(&lone).unwrap();
        assert_eq!((block, count(&module, |op| *op == Op::Decline)), ([1, 1], 1));
        assert_eq!(count(&module, |op| matches!(op, Op::Loop { .. })), 2);
        // Where nothing is joined there is no such form.
        assert!(
            coarse(&lone.replace("iadd %k, %16", "iadd %k, %2w").replace("%2:", "%2w: i32 = const 2\n  %2:"))
                .is_none()
        );
    }

    /// The program, with lines before its first effect or load, or behind its last store.
    fn with(before: &str, behind: &str) -> Option<Coarse> {
        let code = SIMPLE.replace("  %old:", &format!("{before}  %old:"));
        coarse(
            &code.replace(
                "mat_store %p, %new, %pitch_c\n",
                &format!("mat_store %p, %new, %pitch_c\n{behind}"),
            ),
        )
    }

    #[test]
    fn control_flow_is_the_same_in_all_or_a_block_declines() {
        let returns = "  %out: bool = ult %stride, %row\n  if %out {\n    return\n  }\n";
        let Coarse { module, block } = with(returns, "").unwrap();
        // Besides those that ask for strides.
        assert_eq!((block, count(&module, |op| *op == Op::Decline)), ([8, 8], DECLINES + 1));
        // Seven rows are unlike the first.
        assert_eq!(count(&module, |op| *op == Op::Binary(BinaryOp::Xor)), 7);
        assert_eq!(count(&module, |op| matches!(op, Op::If { .. })), 3);

        let Coarse { module, block } = with(
            &returns.replace("%row", "%k0").replace("%out: bool", "%k0: i32 = const 5\n  %out: bool"),
            "",
        )
        .unwrap();
        assert_eq!(
            (block, count(&module, |op| *op == Op::Decline)),
            ([8, 8], DECLINES),
            "it is the same in all"
        );

        // Behind a store it is too late.
        let marks = "  %out: bool = ult %stride, %row\n  if %out {\n    store %c, %0\n  }\n";
        assert_eq!(with("", marks).map(|coarse| coarse.block), Some([8, 1]));
        // Behind a store of the round before, too.
        let rounds = format!(
            "  loop @again {{\n{marks}    %stop: bool = ult %stride, %16\n    if %stop {{\n      br @again\n    }}\n  }}\n"
        );
        assert_eq!(with(&rounds, "").map(|coarse| coarse.block), Some([8, 1]));
    }

    #[test]
    fn whoever_does_more_than_load_and_store_goes_alone() {
        let with = |more: &str| {
            coarse(&SIMPLE.replace("  var_store<$k> %0\n", &format!("{more}\n  var_store<$k> %0\n")))
        };
        assert!(with("store %c, %0").is_some());
        for more in [
            "barrier<workgroup, workgroup>",
            "%z: i32 = load<volatile> %c",
            "%z: i32 = atomic_iadd %c, %16",
            "%z: i64 = clock",
        ] {
            assert!(with(more).is_none(), "{more}");
        }
        assert!(coarse(&SIMPLE.replace("push 8", "push 8 shared 64")).is_none());
    }

    #[test]
    fn long_code_is_copied_less() {
        let lines = |count: usize| {
            let line = |i: usize| format!("  %i{i}: i32 = iadd %at, %16\n  store %c, %i{i}\n");
            let lines: String = (0..count).map(line).collect();
            coarse(&SIMPLE.replace("  var_store<$k> %0\n", &format!("{lines}  var_store<$k> %0\n")))
        };
        let blocks = [0, 20, 2000].map(|count| lines(count).map(|coarse| coarse.block));
        assert_eq!(blocks, [Some([8, 8]), Some([4, 8]), None]);
    }

    #[test]
    fn a_block_has_so_many_rows_and_columns() {
        let block = |size: u32| {
            let code = SIMPLE.replace("16x16", &format!("{size}x{size}"));
            coarse(&code.replace("const 16", &format!("const {size}"))).map(|coarse| coarse.block)
        };
        // Of the narrowest, the number of copies is what limits.
        assert_eq!([8, 16, 32, 64].map(block), [Some([8, 16]), Some([8, 8]), Some([4, 4]), Some([2, 2])]);
    }
}
