//! Finds bundles: which scalars can stay in the order of memory.
//!
//! A bundle begins where lanes read consecutive scalars one lane behind the other, where what each lane reads at a place of
//! its own is only kept in variables, or where all elements of a variable are read. It goes on through operations that do the
//! same to each of its scalars: a member of the new bundle is made of the members with the same number of others, and of what
//! all lanes have in common. It ends in a store of the same kind, or in a variable, of which then all elements are written at
//! once.
//!
//! Whoever wants a single scalar takes it out of its bundle. So of bundles that have to do with each other, which are
//! those connected by operations and variables, either all are kept or none: what is taken apart then, and how often, is
//! held against the loads and stores that would take apart or put together without them.

use crate::pieces::are_piece;
use phalanx_ir::{
    Block, Function, Inst, InstInfo, MemFlags, Op, Scalar, Shape, Tree, Type, Uniformity, Value, Var,
};
use rustc_hash::FxHashMap;

/// How many scalars a bundle may have.
const COUNTS: [usize; 2] = [2, 4];

/// How much more often than what is around it a loop is taken to be executed.
const ROUNDS: u64 = 8;

/// What an instruction is to bundles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Makes all members of the bundle of its first result.
    Make,
    /// What it does has been done already, or will be.
    Nothing,
    /// Reads one element of a variable that is kept as a bundle.
    ReadOne(u32),
    /// Writes these values, or one value for all, to a variable that is kept as a bundle.
    Write(Vec<Value>),
    /// Stores a bundle.
    Store(MemFlags),
}

/// The bundles of a function.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    pub(super) roles: FxHashMap<Inst, Role>,
    /// By member: the bundle's number, and which member.
    pub(super) places: FxHashMap<Value, Place>,
    /// The members of each bundle.
    pub(super) members: Vec<Vec<Value>>,
    /// By bundle: whether single members are wanted in the block in which it is made.
    pub(super) parted: Vec<bool>,
    /// By variable: whether it is kept as a bundle.
    pub(super) vars: Vec<bool>,
}

/// A member of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) bundle: usize,
    pub(super) member: usize,
}

/// The bundles of a function that gain something.
pub(crate) fn find(f: &Function, uniformity: &Uniformity) -> Bundles {
    let finder = Finder { f, uniformity, tree: Tree::new(f), users: users(f) };
    let mut vars: Vec<bool> = (0..f.vars.len()).map(|v| finder.may_keep(Var::new(v))).collect();
    let mut found;
    // Without a variable there may be fewer bundles, so that others can't be kept either.
    loop {
        found = finder.build(&vars);
        let bad = finder.written_otherwise(&found);
        if bad.is_empty() {
            break;
        }
        bad.iter().for_each(|var| vars[var.index()] = false);
    }
    let kept = finder.worth(&found);
    if !kept.iter().all(|&kept| kept) {
        found = finder.only(found, &kept);
    }
    found.parted = finder.parted(&found);
    found
}

/// The instructions that use each value.
fn users(f: &Function) -> Vec<Vec<Inst>> {
    let mut users = vec![Vec::new(); f.values.len()];
    for block in &f.blocks {
        for &inst in block {
            for &arg in &f.inst(inst).args {
                users[arg.index()].push(inst);
            }
        }
    }
    users
}

struct Finder<'a> {
    f: &'a Function,
    uniformity: &'a Uniformity,
    tree: Tree,
    users: Vec<Vec<Inst>>,
}

impl Finder<'_> {
    /// Whether a variable is short, differs between lanes, and is read and written at known elements only.
    fn may_keep(&self, var: Var) -> bool {
        let info = self.f.var(var);
        let is_plain = matches!(info.ty, Type::Scalar(s) if s != Scalar::Bool) && info.table.is_none();
        is_plain
            && COUNTS.contains(&(info.count as usize))
            && self.uniformity.var_shape(var) == Shape::Varying
            && self.tree.order().iter().all(|&inst| {
                let mut vars = self.f.inst(inst).op.vars().filter(|(v, _)| *v == var);
                vars.next().is_none() || self.element(inst, var).is_some()
            })
    }

    /// The element of a variable that an instruction reads or writes.
    fn element(&self, inst: Inst, var: Var) -> Option<usize> {
        let info = self.f.inst(inst);
        if info.op != Op::VarLoad(var) && info.op != Op::VarStore(var) {
            return None;
        }
        let index = self.f.const_bits(*info.args.first()?)? as usize;
        (index < self.f.var(var).count as usize).then_some(index)
    }

    /// Whether lanes have so many scalars, one lane behind the other.
    fn is_dense(&self, pointer: Value, count: usize, elem: Type, flags: MemFlags) -> bool {
        let Type::Scalar(scalar) = elem else { return false };
        let stride = count as i64 * i64::from(scalar.bytes());
        let steps = match self.uniformity.value(pointer) {
            Shape::Affine { stride } => stride,
            _ => return false,
        };
        !flags.volatile && scalar != Scalar::Bool && COUNTS.contains(&count) && steps == stride
    }

    /// Whether each lane has so many scalars at a place of its own, which are moved at once (see `pieces`).
    fn is_piece(&self, pointer: Value, count: usize, elem: Type, flags: MemFlags) -> bool {
        let Type::Scalar(scalar) = elem else { return false };
        let bytes = count as u64 * u64::from(scalar.bytes());
        let is_free = !flags.volatile && scalar != Scalar::Bool && COUNTS.contains(&count);
        is_free && are_piece(bytes) && !self.uniformity.is_uniform(pointer)
    }

    /// Whether all that a load gives is written to variables that may be kept, and nothing else is done to it.
    fn is_only_kept(&self, load: &InstInfo, vars: &[bool]) -> bool {
        let mut users = load.results.iter().flat_map(|v| &self.users[v.index()]);
        users.all(|&user| matches!(self.f.inst(user).op, Op::VarStore(var) if vars[var.index()]))
    }

    fn build(&self, vars: &[bool]) -> Bundles {
        let mut found = Bundles { vars: vars.to_vec(), ..Bundles::default() };
        for &inst in self.tree.order() {
            let Some(block) = self.tree.block_of(inst) else { continue };
            if found.roles.contains_key(&inst) {
                continue;
            }
            let info = self.f.inst(inst);
            match &info.op {
                Op::Load(flags) => {
                    let (count, elem) = (info.results.len(), self.f.ty(info.results[0]));
                    let is_dense = self.is_dense(info.args[0], count, elem, *flags);
                    let is_kept =
                        || self.is_piece(info.args[0], count, elem, *flags) && self.is_only_kept(info, vars);
                    if is_dense || is_kept() {
                        found.add(inst, &[inst], info.results.to_vec());
                    }
                }
                Op::Store(flags) => {
                    let values = &info.args[1..];
                    let (count, elem) = (values.len(), self.f.ty(values[0]));
                    let takes_bundle = self.is_dense(info.args[0], count, elem, *flags)
                        || self.is_piece(info.args[0], count, elem, *flags);
                    if takes_bundle && found.are_bundle(values) {
                        found.roles.insert(inst, Role::Store(*flags));
                    }
                }
                &Op::VarLoad(var) if vars[var.index()] => self.read(&mut found, inst, block, var),
                &Op::VarStore(var) if vars[var.index()] => self.write(&mut found, inst, block, var),
                op if op.computes() => self.operation(&mut found, inst, block),
                _ => {}
            }
        }
        found
    }

    /// The rest of a block from an instruction on.
    fn rest(&self, block: Block, from: Inst) -> &[Inst] {
        let list = self.f.block(block);
        list.iter().position(|&inst| inst == from).map_or(&[], |at| &list[at..])
    }

    /// The instructions that read, or write, each element of a variable, from one on; nothing may be done to the variable
    /// between them.
    fn run(&self, block: Block, from: Inst, var: Var) -> Option<Vec<Inst>> {
        let mut run = vec![None; self.f.var(var).count as usize];
        let op = &self.f.inst(from).op;
        for &inst in self.rest(block, from) {
            let other = &self.f.inst(inst).op;
            if other == op {
                let place = &mut run[self.element(inst, var)?];
                if place.is_some() && matches!(op, Op::VarStore(_)) {
                    return None;
                }
                place.get_or_insert(inst);
                if run.iter().all(Option::is_some) {
                    return run.into_iter().collect();
                }
            } else if other.var() == Some(var) || other.bodies().next().is_some() {
                return None;
            }
        }
        None
    }

    fn read(&self, found: &mut Bundles, inst: Inst, block: Block, var: Var) {
        let is_free = |run: &Vec<Inst>| run.iter().all(|inst| !found.roles.contains_key(inst));
        match self.run(block, inst, var).filter(is_free) {
            Some(run) => {
                let members = run.iter().map(|&inst| self.f.inst(inst).results[0]).collect();
                found.add(inst, &run, members);
            }
            None => {
                if let Some(element) = self.element(inst, var) {
                    found.roles.insert(inst, Role::ReadOne(element as u32));
                }
            }
        }
    }

    fn write(&self, found: &mut Bundles, inst: Inst, block: Block, var: Var) {
        let Some(run) = self.run(block, inst, var) else { return };
        let values: Vec<Value> = run.iter().map(|&inst| self.f.inst(inst).args[1]).collect();
        let is_one = values.iter().all(|&v| v == values[0]) && self.uniformity.is_uniform(values[0]);
        if !is_one && !found.are_bundle(&values) {
            return;
        }
        let last = self.rest(block, inst).iter().rev().find(|inst| run.contains(inst)).copied();
        for &inst in &run {
            found.roles.insert(inst, Role::Nothing);
        }
        found.roles.insert(last.unwrap_or(inst), Role::Write(values));
    }

    /// Makes a bundle of the results of an operation and of those that do the same to the other members of its operands.
    fn operation(&self, found: &mut Bundles, inst: Inst, block: Block) {
        let info = self.f.inst(inst);
        let Some(place) = info.args.iter().find_map(|arg| found.places.get(arg)).copied() else { return };
        let operands = found.members[place.bundle].clone();
        let later = self.rest(block, inst);
        let mut run = Vec::new();
        for (member, &operand) in operands.iter().enumerate() {
            let does_same = |other: &Inst| {
                later.contains(other)
                    && !found.roles.contains_key(other)
                    && !run.contains(other)
                    && self.is_same(found, info, place.member, self.f.inst(*other), member)
            };
            let next = match member == place.member {
                true => Some(inst).filter(does_same),
                false => self.users[operand.index()].iter().copied().find(does_same),
            };
            let Some(next) = next else { return };
            run.push(next);
        }
        let members: Vec<Value> = run.iter().map(|&inst| self.f.inst(inst).results[0]).collect();
        // What is known to be the same in all lanes, or to rise evenly, is kept otherwise.
        if members.iter().any(|&v| self.uniformity.value(v) != Shape::Varying) {
            return;
        }
        found.add(inst, &run, members);
    }

    /// Whether one operation does to members `to` what another does to members `from`.
    fn is_same(&self, found: &Bundles, a: &InstInfo, from: usize, b: &InstInfo, to: usize) -> bool {
        let count = |place: &Place| found.members[place.bundle].len();
        let places = a.args.iter().filter_map(|arg| found.places.get(arg));
        let counts: Vec<usize> = places.map(count).collect();
        let is_operand = |(x, y): (&Value, &Value)| match found.places.get(x) {
            Some(place) => place.member == from && found.members[place.bundle].get(to) == Some(y),
            None => x == y && self.uniformity.is_uniform(*x),
        };
        a.op == b.op
            && a.exact == b.exact
            && a.results.len() == b.results.len()
            && self.f.ty(a.results[0]) == self.f.ty(b.results[0])
            && counts.iter().all(|&n| n == counts[0])
            && a.args.len() == b.args.len()
            && a.args.iter().zip(&b.args).all(is_operand)
    }

    /// The variables that are to be kept as bundles and are written in another way.
    fn written_otherwise(&self, found: &Bundles) -> Vec<Var> {
        let mut bad = Vec::new();
        for inst in self.tree.order() {
            if let Op::VarStore(var) = self.f.inst(*inst).op
                && found.vars[var.index()]
                && !found.roles.contains_key(inst)
                && !bad.contains(&var)
            {
                bad.push(var);
            }
        }
        bad
    }

    /// By bundle: whether an instruction that does not treat all members alike uses one in the block of the first.
    fn parted(&self, found: &Bundles) -> Vec<bool> {
        let mut parted = vec![false; found.members.len()];
        for &inst in self.tree.order() {
            if found.roles.contains_key(&inst) {
                continue;
            }
            for place in self.f.inst(inst).args.iter().filter_map(|arg| found.places.get(arg)) {
                let def = self.f.values[found.members[place.bundle][0].index()].def;
                parted[place.bundle] |= self.tree.block_of(inst) == self.tree.block_of(def);
            }
        }
        parted
    }

    /// How often an instruction is executed, about.
    fn weight(&self, inst: Inst) -> u64 {
        let Some(block) = self.tree.block_of(inst) else { return 0 };
        let around = std::iter::successors(Some(block), |&b| self.tree.parent(b).map(|p| p.block));
        let loops = around.filter(|&b| self.tree.is_loop_body(b)).count();
        ROUNDS.pow(loops.min(6) as u32)
    }

    /// By bundle: whether it and those it has to do with gain something.
    fn worth(&self, found: &Bundles) -> Vec<bool> {
        let mut webs = Webs::new(found.members.len() + found.vars.len());
        let of_var = |var: Var| found.members.len() + var.index();
        let mut costs: Vec<(usize, i64)> = Vec::new();
        let mut is_parted = vec![false; found.members.len()];
        for &inst in self.tree.order() {
            let info = self.f.inst(inst);
            let role = found.roles.get(&inst);
            let weight = self.weight(inst) as i64;
            let here = info.results.first().and_then(|v| found.places.get(v)).map(|place| place.bundle);
            let var = info.op.var().filter(|var| found.vars[var.index()]).map(of_var);
            if let (Some(a), Some(b)) = (here, var) {
                webs.join(a, b);
            }
            for arg in &info.args {
                let Some(place) = found.places.get(arg) else { continue };
                match (here.or(var), role) {
                    (_, Some(Role::Store(_))) => {}
                    (Some(other), Some(_)) => webs.join(place.bundle, other),
                    _ => is_parted[place.bundle] = true,
                }
            }
            let first = info.args.get(1).and_then(|v| found.places.get(v)).map(|place| place.bundle);
            match (&info.op, role) {
                (Op::Load(_), Some(_)) => costs.extend(here.map(|web| (web, -weight))),
                (Op::Store(_), Some(_)) => costs.extend(first.map(|web| (web, -weight))),
                (_, Some(Role::ReadOne(_))) => costs.extend(var.map(|web| (web, weight))),
                _ => {}
            }
        }
        for (bundle, members) in found.members.iter().enumerate() {
            if is_parted[bundle] {
                let def = self.f.values[members[0].index()].def;
                costs.push((bundle, self.weight(def) as i64));
            }
        }
        let mut sums = vec![0; found.members.len() + found.vars.len()];
        for (web, cost) in costs {
            sums[webs.root(web)] += cost;
        }
        (0..sums.len()).map(|web| sums[webs.root(web)] < 0).collect()
    }

    /// The bundles and the variables that are kept.
    fn only(&self, found: Bundles, kept: &[bool]) -> Bundles {
        let count = found.members.len();
        let is_kept = |v: &Value| found.places.get(v).is_some_and(|place| kept[place.bundle]);
        let vars: Vec<bool> = (0..found.vars.len()).map(|v| found.vars[v] && kept[count + v]).collect();
        let roles = found.roles.iter().filter(|(inst, _)| {
            let info = self.f.inst(**inst);
            match info.op.var().filter(|var| found.vars[var.index()]) {
                Some(var) => vars[var.index()],
                None => info.results.iter().chain(info.args.get(1)).any(is_kept),
            }
        });
        Bundles {
            roles: roles.map(|(&inst, role)| (inst, role.clone())).collect(),
            places: found.places.iter().filter(|(v, _)| is_kept(v)).map(|(&v, &place)| (v, place)).collect(),
            members: found.members,
            parted: Vec::new(),
            vars,
        }
    }
}

impl Bundles {
    /// Adds a bundle that these instructions make, one of them for all.
    fn add(&mut self, maker: Inst, insts: &[Inst], members: Vec<Value>) {
        self.roles.extend(insts.iter().map(|&inst| (inst, Role::Nothing)));
        self.roles.insert(maker, Role::Make);
        let bundle = self.members.len();
        for (member, &v) in members.iter().enumerate() {
            self.places.insert(v, Place { bundle, member });
        }
        self.members.push(members);
    }

    /// Whether values are all members of one bundle, in their order.
    fn are_bundle(&self, values: &[Value]) -> bool {
        let Some(place) = values.first().and_then(|first| self.places.get(first)) else { return false };
        self.members[place.bundle] == values
    }
}

/// Sets of numbers that have been joined.
struct Webs(Vec<usize>);

impl Webs {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn root(&self, mut x: usize) -> usize {
        while self.0[x] != x {
            x = self.0[x];
        }
        x
    }

    fn join(&mut self, x: usize, y: usize) {
        let (x, y) = (self.root(x), self.root(y));
        self.0[x.max(y)] = x.min(y);
    }
}

#[cfg(test)]
mod tests {
    use super::{Bundles, find};
    use phalanx_ir::{Op, Uniformity, text, verify};

    fn bundles(body: &str) -> (Bundles, usize) {
        let code = format!(
            "workgroup_size 32 1 1 subgroup_size 32
            binding buf0 = 0.0 storage writable
            var $sums: f32[2]
            {{
                %0: i32 = const 0
                %1: i32 = const 1
                %2: f32 = const 2.0
                %lane: i32 = subgroup_lane
                %base: ptr<buffer> = buffer_ptr<buf0> %0
                %p: ptr<buffer> = ptr_add<scale=8> %base, %lane
                {body}
            }}"
        );
        let module = text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}"));
        let module = verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"));
        let loads = module.body.insts.iter().filter(|i| matches!(i.op, Op::Load(_))).count();
        (find(&module.body, &Uniformity::analyse(&module)), loads)
    }

    #[test]
    fn what_does_the_same_to_all_members_is_kept_together() {
        let (found, _) = bundles(
            "%x: f32, %y: f32 = load %p
            %a: f32 = fmul %x, %2
            %b: f32 = fmul %y, %2
            store %p, %a, %b",
        );
        assert_eq!((found.members.len(), found.places.len()), (2, 4));
    }

    #[test]
    fn members_that_are_treated_otherwise_are_no_bundle() {
        for rest in [
            // Other operations, other numbers, another order, and only one of them.
            "%a: f32 = fmul %x, %2 %b: f32 = fadd %y, %2 store %p, %a, %b",
            "%a: f32 = fmul %x, %2 %b: f32 = fmul %y, %y store %p, %a, %b",
            "%a: f32 = fmul %y, %2 %b: f32 = fmul %x, %2 store %p, %a, %b",
            "%a: f32 = fmul %x, %y store %p, %a, %a",
        ] {
            let (found, _) = bundles(&format!("%x: f32, %y: f32 = load %p {rest}"));
            assert!(found.places.is_empty(), "{rest}: {found:?}");
        }
    }

    #[test]
    fn variables_are_kept_together_where_all_of_them_is_written() {
        let sums = |store: &str, end: &str| {
            bundles(&format!(
                "loop @0 {{
                    %x: f32, %y: f32 = load %p
                    %s: f32 = var_load<$sums> %0
                    %t: f32 = var_load<$sums> %1
                    %a: f32 = fadd %s, %x
                    %b: f32 = fadd %t, %y
                    {store}
                    %more: bool = ford_eq %a, %2
                    if %more {{ br @0 }}
                }}
                {end}"
            ))
            .0
        };
        let end = "%u: f32 = var_load<$sums> %0 store %base, %u";
        let whole = sums("var_store<$sums> %0, %a var_store<$sums> %1, %b", end);
        // The comparison takes one out, in each round: as often as the load would.
        assert!(whole.places.is_empty(), "{whole:?}");
        let halves = sums("var_store<$sums> %0, %a", end);
        assert_eq!((halves.vars, halves.places.is_empty()), (vec![false], true));
    }

    #[test]
    fn what_is_only_kept_stays_together_wherever_lanes_read_it() {
        // Four lanes read a row, and rows are as far apart as a work-group says.
        let kept = |between: &str, stored: &str| {
            bundles(&format!(
                "%four: i32 = const 4
                %group: i32 = workgroup_id<x>
                %row: i32 = udiv %lane, %four
                %start: i32 = imul %row, %group
                %q: ptr<buffer> = ptr_add<scale=8> %base, %start
                loop @0 {{
                    %s: f32 = var_load<$sums> %0
                    %t: f32 = var_load<$sums> %1
                    store %q, %s, %t
                    %x: f32, %y: f32 = load %q
                    {between}
                    var_store<$sums> %0, {stored}
                    var_store<$sums> %1, %y
                    %more: bool = ieq %group, %1
                    if %more {{ br @0 }}
                }}"
            ))
            .0
        };
        assert_eq!(kept("", "%x").vars, [true]);
        // Windows may read better what is computed with.
        assert_eq!(kept("%a: f32 = fmul %x, %2", "%a").vars, [false]);
    }

    #[test]
    fn what_is_taken_out_once_behind_a_loop_is_little() {
        let (found, loads) = bundles(
            "%n: i32 = workgroup_id<x>
            loop @0 {
                %x: f32, %y: f32 = load %p
                %s: f32 = var_load<$sums> %0
                %t: f32 = var_load<$sums> %1
                %a: f32 = fadd %s, %x
                %b: f32 = fadd %t, %y
                var_store<$sums> %0, %a
                var_store<$sums> %1, %b
                %more: bool = ieq %n, %1
                if %more { br @0 }
            }
            %u: f32 = var_load<$sums> %0
            store %base, %u",
        );
        assert_eq!((found.vars, loads), (vec![true], 1));
        assert_eq!(found.places.len(), 6);
    }
}
