//! Functions to structured IR, calls inlined.
//!
//! A function's body becomes an IR `block` whose label is the return target. [`Structure`] says which
//! constructs its basic blocks go into; this file makes them. What follows a construct is passed down
//! as `next`: a branch there from the construct's end needs no instruction, and a `block` that nothing
//! branches out of is dissolved into its surroundings. A selection thus becomes a plain `if`, and the
//! exit of a loop the end of its body.

use crate::cfg::switch_cases;
use crate::cx::Cx;
use crate::diag::{Fault, Res, bug, code, invalid, operand, unsupported};
use crate::module::FunctionDecl;
use crate::ops;
use crate::reader::{Id, Inst};
use crate::structure::Structure;
use crate::types::{Kind, Ty};
use crate::value::Val;
use phalanx_ir::{self as ir, CompareOp, Label, Op as IrOp, Scalar, Value, Var};
use rustc_hash::FxHashMap;
use spirv::Op;
use std::rc::Rc;

/// Findings collected before giving up.
const MAX_FAULTS: usize = 20;

/// Switches with more targets become a flat row of `if`s instead of nested ones.
const MAX_NESTED_CASES: usize = 12;

/// One inlined call of a function.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) structure: Rc<Structure>,
    /// The node whose code is being emitted.
    pub(crate) node: u32,
    /// Tells this call's definitions from those of others of the same function.
    pub(crate) serial: u32,
    function: Id,
    /// The label of each node, where it has one.
    labels: FxHashMap<u32, Label>,
    /// The variables of each phi.
    phis: FxHashMap<Id, Rc<[Var]>>,
    ret_ty: Ty,
    ret_label: Label,
    ret: Return,
    /// The IR block that the body starts in.
    body: ir::Block,
}

/// A region being filled: code for the elements of a matrix.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The instruction that calls a function for each element.
    caller: String,
    /// Where that function returns to.
    exit: Option<Label>,
}

/// What goes to a label.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Uses {
    /// Branch instructions.
    branches: u32,
    /// Whether anything gets there: by a branch, or by falling off the end of its `block`.
    reached: bool,
}

/// How the result of a call gets out.
#[derive(Clone, Debug)]
enum Return {
    /// No return was met yet.
    Unseen,
    /// The only return stands at the end of the body: its value is in scope.
    Value(Val),
    /// Through variables.
    Vars(Rc<[Var]>),
}

impl<'m> Cx<'m> {
    /// Translates the entry point's function, and before it the variables that it mentions.
    pub(crate) fn translate(&mut self, function: Id) -> Res<()> {
        let ids = crate::interface::reachable_ids(self.spv, function);
        self.declare_variables(&ids)?;
        self.entry_function(function)
    }

    fn entry_function(&mut self, function: Id) -> Res<()> {
        let spv = self.spv;
        let decl = spv
            .functions
            .get(&function)
            .ok_or_else(|| invalid(code::ENTRY_POINT, format!("%{function} is not a function")))?;
        if !decl.params.is_empty() {
            return Err(invalid(code::ENTRY_POINT, "the function of an entry point has parameters"));
        }
        self.function(decl, Vec::new()).map(|_| ())
    }

    /// *OpFunctionCall*.
    pub(crate) fn call(&mut self, inst: &Inst<'_>) -> Res<()> {
        let (spv, at) = (self.spv, self.inst);
        let callee = inst.arg(0)?;
        let decl = spv
            .functions
            .get(&callee)
            .ok_or_else(|| operand(format!("operand %{callee} is not a function")))?;
        if decl.params.len() != inst.args.len() - 1 {
            let m = format!("{} arguments for {} parameters", inst.args.len() - 1, decl.params.len());
            return Err(operand(m));
        }
        let mut args = Vec::with_capacity(decl.params.len());
        for (&arg, (_, wanted)) in inst.rest(1).iter().zip(&decl.params) {
            let (found, val) = self.val(arg)?;
            let wanted = self.types().lookup(*wanted)?;
            if !self.passes(found, wanted) {
                let (wanted, found) = (self.types().describe(wanted), self.types().describe(found));
                return Err(operand(format!("argument %{arg} is {found}, expected {wanted}")));
            }
            args.push(val);
        }
        let result = self.function(decl, args)?;
        self.begin(at);
        match result {
            Some(val) => self.define(inst, val),
            None => Ok(()),
        }
    }

    /// The function with an id, as an operand.
    pub(crate) fn function_operand(&self, id: Id) -> Res<&'m FunctionDecl> {
        let spv = self.spv;
        spv.functions.get(&id).ok_or_else(|| operand(format!("operand %{id} is not a function")))
    }

    /// A block that gives the result of a function for each element of a matrix. `args` makes the
    /// function's arguments from the region's parameters; their types have been checked.
    pub(crate) fn fill_region(
        &mut self,
        inst: &Inst<'_>,
        decl: &FunctionDecl,
        params: &[ir::Type],
        elem: Scalar,
        args: impl FnOnce(&mut Self, &[Value]) -> Res<Vec<Val>>,
    ) -> Res<ir::Block> {
        let at = self.inst;
        let body = self.func.new_block();
        let outer = std::mem::replace(&mut self.block, body);
        self.region = Some(Region { caller: inst.name(), exit: None });
        let done = (|| {
            let params = self.b().values(IrOp::Params, &[], params);
            let args = args(self, &params)?;
            let result = self.function(decl, args)?;
            self.begin(at);
            let result = result.ok_or_else(|| operand(format!("the function %{} gives nothing", decl.id)))?;
            let value = self.leaf_value(elem.into(), &result)?;
            self.b().effect(IrOp::Yield, &[value]);
            // What instructions do not show, such as initialisers.
            if self.holds_tangled(body) {
                let m = format!("the function %{} deals with cooperative matrices itself", decl.id);
                return Err(operand(m));
            }
            Ok(())
        })();
        (self.block, self.region) = (outer, None);
        done.map(|()| body)
    }

    /// Whether a block holds what a region must not.
    fn holds_tangled(&self, block: ir::Block) -> bool {
        self.func.block(block).iter().any(|&i| {
            let info = self.func.inst(i);
            let is_mat = |v: &Value| self.func.ty(*v).mat().is_some();
            let is_var = info.op.var().is_some_and(|v| self.func.var(v).ty.mat().is_some());
            is_var
                || info.args.iter().chain(&info.results).any(is_mat)
                || info.op.bodies().any(|b| self.holds_tangled(b))
        })
    }

    fn region_exit(&self) -> Option<Label> {
        self.region.as_ref().and_then(|region| region.exit)
    }

    /// SPV_NV_cooperative_matrix2: "tangled instructions are not allowed" in functions called for
    /// elements.
    fn check_region(&self, inst: &Inst<'_>) -> Res<()> {
        match &self.region {
            Some(region) if ops::is_tangled(self, inst) => {
                let m = format!("is tangled, which a function that {} calls must not contain", region.caller);
                Err(invalid(code::OPERAND, m))
            }
            _ => Ok(()),
        }
    }

    /// Whether an argument of one type may be passed as another. Pointers to local variables carry
    /// their own type, so their pointees must agree.
    pub(crate) fn passes(&self, found: Ty, wanted: Ty) -> bool {
        match (self.types().pointer(found), self.types().pointer(wanted)) {
            (Ok((a, x)), Ok((b, y))) => a == b && x.zip(y).is_none_or(|(x, y)| self.types().same(x, y)),
            _ => self.types().same(found, wanted),
        }
    }

    fn structure_of(&mut self, decl: &FunctionDecl) -> Res<Rc<Structure>> {
        if let Some(s) = self.structures.get(&decl.id) {
            return Ok(s.clone());
        }
        let s = Rc::new(Structure::build(self.spv, self.types(), decl)?);
        self.structures.insert(decl.id, s.clone());
        Ok(s)
    }

    /// Inlines a function at the current place.
    fn function(&mut self, decl: &FunctionDecl, args: Vec<Val>) -> Res<Option<Val>> {
        if self.stack.iter().any(|i| i.function == decl.id) {
            let m = format!("the function %{} \"{}\" calls itself", decl.id, self.spv.names.of(decl.id));
            return Err(invalid(code::CONTROL_FLOW, m));
        }
        let structure = self.structure_of(decl)?;
        let ret_ty = self.types().lookup(self.spv.insts[decl.inst].ty)?;
        let (outer, depth) = (self.block, self.depth);
        let (body, ret_label) = (self.func.new_block(), self.new_label());
        if let Some(region) = &mut self.region {
            region.exit.get_or_insert(ret_label);
        }
        self.serial += 1;
        self.stack.push(Instance {
            structure,
            node: 0,
            serial: self.serial,
            function: decl.id,
            labels: FxHashMap::default(),
            phis: FxHashMap::default(),
            ret_ty,
            ret_label,
            ret: Return::Unseen,
            body,
        });
        for ((id, ty), val) in decl.params.iter().zip(args) {
            let ty = self.types().lookup(*ty)?;
            self.bind_everywhere(*id, ty, val);
        }
        self.block = body;
        let done = self.deepen(1).and_then(|()| self.tree(0, Some(ret_label)));
        let ret = self.stack.pop().map_or(Return::Unseen, |i| i.ret);
        (self.block, self.depth) = (outer, depth);
        done?;
        self.wrap(ret_label, body);
        self.returned(ret_ty, ret)
    }

    fn returned(&mut self, ty: Ty, ret: Return) -> Res<Option<Val>> {
        if matches!(self.types().kind(ty), Kind::Void) {
            return Ok(None);
        }
        match ret {
            Return::Value(val) => Ok(Some(val)),
            Return::Vars(vars) => self.load_vars(ty, &vars).map(Some),
            // Every path ends in OpUnreachable.
            Return::Unseen => Ok(Some(self.types().zero(ty))),
        }
    }

    fn instance(&mut self) -> Res<&mut Instance> {
        self.stack.last_mut().ok_or_else(|| bug("no function is being translated"))
    }

    fn structure(&self) -> Res<Rc<Structure>> {
        self.stack.last().map(|i| i.structure.clone()).ok_or_else(|| bug("no function is being translated"))
    }

    pub(crate) fn new_label(&mut self) -> Label {
        self.labels.push(Uses::default());
        self.func.new_label()
    }

    /// Appends the content of a `block`: as such if something branches to its label, else as it is.
    /// A branch stands last in its block, so content that ends in one stays apart, too: more may be
    /// appended here.
    fn wrap(&mut self, label: Label, body: ir::Block) {
        let last = self.func.blocks[body.index()].last();
        let ends = last.is_some_and(|&i| matches!(self.func.inst(i).op, IrOp::Br(_) | IrOp::Return));
        if self.labels[label.index()].branches > 0 || ends {
            self.b().effect(IrOp::Block { label, body }, &[]);
        } else {
            let insts = std::mem::take(&mut self.func.blocks[body.index()]);
            self.func.blocks[self.block.index()].extend(insts);
        }
    }

    /// Branches to a label, unless it is what comes next anyway.
    fn br(&mut self, label: Label, next: Option<Label>) {
        let uses = &mut self.labels[label.index()];
        uses.reached = true;
        if Some(label) != next {
            uses.branches += 1;
            self.b().br(label);
        }
    }

    /// Emits a node and everything below it. Falling off its end continues at `next`; without one,
    /// every path must end in a branch.
    fn tree(&mut self, mut node: u32, next: Option<Label>) -> Res<()> {
        let s = self.structure()?;
        loop {
            if s.header_of(node).is_none() {
                self.code(&s, node)?;
            }
            let kids = s.labelled(node);
            let Some((&last, _)) = kids.split_last() else {
                if let Some(to) = self.straight_on(&s, node)? {
                    node = to;
                    continue;
                }
                return self.end(&s, node, next);
            };
            if !self.kids(&s, node, kids)? {
                return Ok(());
            }
            node = last;
        }
    }

    /// Notes that what follows nests deeper. [`Cx::function`] puts the count right after a fault.
    fn deepen(&mut self, levels: usize) -> Res<()> {
        self.depth = self.depth.saturating_add(u32::try_from(levels).unwrap_or(u32::MAX));
        let limit = self.options.limits.nesting;
        if self.depth > limit {
            let m = format!("constructs and calls nest deeper than {limit}");
            return Err(unsupported(code::LIMIT, m));
        }
        Ok(())
    }

    /// Emits the end of a node and the trees of its labelled children but the last, which is left to
    /// follow at the current place; false if nothing gets there, since a constant decides a branch.
    fn kids(&mut self, s: &Structure, node: u32, kids: &[u32]) -> Res<bool> {
        let outer = self.block;
        self.deepen(kids.len())?;
        let labels: Vec<Label> = kids.iter().map(|_| self.new_label()).collect();
        self.instance()?.labels.extend(kids.iter().copied().zip(labels.iter().copied()));
        let mut inner = self.func.new_block();
        self.block = inner;
        self.end(s, node, labels.first().copied())?;
        let mut reached = false;
        for (i, &kid) in kids.iter().enumerate() {
            reached = self.labels[labels[i].index()].reached;
            let after = labels.get(i + 1).copied();
            self.depth -= 1;
            self.block = if after.is_some() { self.func.new_block() } else { outer };
            self.wrap(labels[i], inner);
            if after.is_some() {
                inner = self.block;
                if reached {
                    self.tree(kid, after)?;
                }
                self.block = inner;
            }
        }
        Ok(reached)
    }

    /// The node that follows, if the node ends in a branch to a block that goes here.
    fn straight_on(&mut self, s: &Structure, node: u32) -> Res<Option<u32>> {
        if s.header_of(node).is_some() {
            return Ok(None);
        }
        let &[to] = &s.cfg.succs[node as usize][..] else { return Ok(None) };
        if to <= node || !s.is_inline(to) {
            return Ok(None);
        }
        self.begin(s.cfg.blocks[node as usize].term);
        self.pass_phis(s, node, to)?;
        Ok(Some(s.top(to)))
    }

    /// Emits the instructions of a block.
    fn code(&mut self, s: &Structure, node: u32) -> Res<()> {
        self.instance()?.node = node;
        let block = s.cfg.blocks[node as usize];
        for i in block.first..block.term {
            self.instruction(i)?;
        }
        Ok(())
    }

    /// Emits an instruction. A fault is noted and the result becomes zero, so that others are found;
    /// what only follows from it is not noted.
    fn instruction(&mut self, i: usize) -> Res<()> {
        self.translated += 1;
        let limit = self.options.limits.instructions;
        if self.translated.max(self.func.insts.len()) > limit {
            let m = format!("more than {limit} instructions after inlining all calls");
            return Err(self.spv.locate(unsupported(code::LIMIT, m), i));
        }
        self.begin(i);
        let inst = self.spv.insts[i];
        let done = match inst.op {
            Op::SelectionMerge | Op::LoopMerge => Ok(()),
            Op::Phi => self.phi(&inst),
            _ => self.operation(&inst),
        };
        match done {
            Ok(()) => Ok(()),
            Err(fault) => self.note(fault, i, &inst),
        }
    }

    fn operation(&mut self, inst: &Inst<'_>) -> Res<()> {
        self.modes.check(self.globals, inst)?;
        self.check_region(inst)?;
        self.flush_operands(inst)?;
        ops::emit(self, inst)?;
        self.flush_result(inst)
    }

    fn note(&mut self, fault: Fault, i: usize, inst: &Inst<'_>) -> Res<()> {
        self.flushed.clear();
        let fault = self.spv.locate(fault, i);
        if fault.code == code::LIMIT || self.faults.len() + 1 >= MAX_FAULTS {
            return Err(fault);
        }
        if !inst.rest(0).iter().any(|id| self.broken.contains(id)) {
            self.faults.push(*fault);
        }
        self.broken.insert(inst.id);
        if inst.id != 0
            && let Ok(ty) = self.types().lookup(inst.ty)
        {
            let zero = self.types().zero(ty);
            self.bind_everywhere(inst.id, ty, zero);
        }
        Ok(())
    }

    /// Emits the end of a node: a loop, or what a terminator says.
    fn end(&mut self, s: &Structure, node: u32, next: Option<Label>) -> Res<()> {
        if let Some(header) = s.header_of(node) {
            return self.repeat(header, next);
        }
        let at = s.cfg.blocks[node as usize].term;
        self.begin(at);
        self.instance()?.node = node;
        let term = self.spv.insts[at];
        let done = match term.op {
            Op::Branch => self.branch(s, node, s.cfg.succs[node as usize][0], next),
            Op::BranchConditional => self.conditional(s, node, &term, next),
            Op::Switch => self.switch(s, node, &term, next),
            Op::Return => self.leave(next),
            Op::ReturnValue => self.leave_with(&term, next),
            Op::Unreachable => {
                match self.region_exit() {
                    // Others go on with elements of theirs.
                    Some(exit) => self.br(exit, next),
                    None => self.b().effect(IrOp::Return, &[]),
                }
                Ok(())
            }
            _ => Err(bug("an unknown terminator")),
        };
        done.map_err(|fault| self.spv.locate(fault, at))
    }

    fn repeat(&mut self, header: u32, next: Option<Label>) -> Res<()> {
        let outer = self.block;
        self.deepen(1)?;
        let (label, body) = (self.new_label(), self.func.new_block());
        self.instance()?.labels.insert(header, label);
        self.block = body;
        self.tree(header, next)?;
        self.block = outer;
        self.depth -= 1;
        self.b().effect(IrOp::Loop { label, body }, &[]);
        Ok(())
    }

    fn branch(&mut self, s: &Structure, from: u32, to: u32, next: Option<Label>) -> Res<()> {
        self.instance()?.node = from;
        self.pass_phis(s, from, to)?;
        if to > from && s.is_inline(to) {
            return self.tree(s.top(to), next);
        }
        // A branch back goes to the loop, which has its header's label; any other to the group.
        let target = if to > from { s.top(to) } else { to };
        let label = self.instance()?.labels.get(&target).copied();
        let label = label.ok_or_else(|| bug("a branch leaves the construct of its target"))?;
        self.br(label, next);
        Ok(())
    }

    fn conditional(&mut self, s: &Structure, node: u32, term: &Inst<'_>, next: Option<Label>) -> Res<()> {
        let succs = &s.cfg.succs[node as usize];
        let &[yes, no] = &succs[..] else {
            return self.branch(s, node, succs[0], next);
        };
        // Specialisation often decides a branch; the other side is not translated.
        if let Some(bits) = self.const_bits(term.arg(0)?) {
            return self.branch(s, node, if bits != 0 { yes } else { no }, next);
        }
        let cond = self.scalar(term.arg(0)?, Scalar::Bool)?;
        self.fork(cond, |cx| cx.branch(s, node, yes, next), |cx| cx.branch(s, node, no, next))
    }

    /// Appends an `if` and fills its branches.
    pub(crate) fn fork(
        &mut self,
        cond: Value,
        then: impl FnOnce(&mut Self) -> Res<()>,
        otherwise: impl FnOnce(&mut Self) -> Res<()>,
    ) -> Res<()> {
        let outer = self.block;
        self.deepen(1)?;
        let (t, o) = (self.func.new_block(), self.func.new_block());
        self.b().effect(IrOp::If { then: t, otherwise: o }, &[cond]);
        self.block = t;
        then(self)?;
        self.block = o;
        otherwise(self)?;
        self.block = outer;
        self.depth -= 1;
        Ok(())
    }

    fn switch(&mut self, s: &Structure, node: u32, term: &Inst<'_>, next: Option<Label>) -> Res<()> {
        let selector = self.value(term.arg(0)?)?;
        let block_of = |label| s.cfg.block_of(label).ok_or_else(|| bug("an unknown case label"));
        let default = block_of(term.arg(1)?)?;
        // The successors are distinct and in the order of their first case.
        let mut cases: Vec<(u32, Option<Value>)> =
            s.cfg.succs[node as usize].iter().filter(|&&t| t != default).map(|&t| (t, None)).collect();
        let place: FxHashMap<u32, usize> = cases.iter().enumerate().map(|(i, c)| (c.0, i)).collect();
        let scalar = self.func.ty(selector).scalar().ok_or_else(|| bug("a selector is no scalar"))?;
        if let Some(bits) = self.const_bits(term.arg(0)?) {
            let all = switch_cases(self.spv, self.types(), term)?;
            let taken = all.iter().find(|c| c.0 == bits).map_or(Ok(default), |c| block_of(c.1))?;
            return self.branch(s, node, taken, next);
        }
        for (bits, label) in switch_cases(self.spv, self.types(), term)? {
            let Some(&i) = place.get(&block_of(label)?) else { continue };
            let literal = self.constant(scalar, bits);
            let equal = self.b().compare(CompareOp::Ieq, selector, literal);
            let any = match cases[i].1 {
                Some(cond) => self.b().binary(ir::BinaryOp::Or, cond, equal),
                None => equal,
            };
            cases[i].1 = Some(any);
        }
        self.case(s, node, &cases, default, next)
    }

    fn case(
        &mut self,
        s: &Structure,
        node: u32,
        cases: &[(u32, Option<Value>)],
        default: u32,
        next: Option<Label>,
    ) -> Res<()> {
        let Some((&(to, cond), rest)) = cases.split_first() else {
            return self.branch(s, node, default, next);
        };
        let cond = cond.ok_or_else(|| bug("a case without a condition"))?;
        if cases.len() <= MAX_NESTED_CASES {
            return self.fork(
                cond,
                |cx| cx.branch(s, node, to, next),
                |cx| cx.case(s, node, rest, default, next),
            );
        }
        for &(to, cond) in cases {
            let cond = cond.ok_or_else(|| bug("a case without a condition"))?;
            self.fork(cond, |cx| cx.branch(s, node, to, None), |_| Ok(()))?;
        }
        self.branch(s, node, default, next)
    }

    fn leave(&mut self, next: Option<Label>) -> Res<()> {
        let label = self.instance()?.ret_label;
        let ret_ty = self.instance()?.ret_ty;
        if !matches!(self.types().kind(ret_ty), Kind::Void) {
            return Err(invalid(code::CONTROL_FLOW, "the function must return a value"));
        }
        self.br(label, next);
        Ok(())
    }

    fn leave_with(&mut self, term: &Inst<'_>, next: Option<Label>) -> Res<()> {
        let (ty, val) = self.val(term.arg(0)?)?;
        let exit = self.region_exit();
        let (block, instance) = (self.block, self.instance()?);
        // Whatever is unreachable goes there, too.
        let is_exit = exit == Some(instance.ret_label);
        let (label, ret_ty) = (instance.ret_label, instance.ret_ty);
        if !is_exit && instance.structure.returns == 1 && instance.body == block && next == Some(label) {
            instance.ret = Return::Value(val.clone());
        }
        if !self.types().same(ty, ret_ty) {
            let (found, wanted) = (self.types().describe(ty), self.types().describe(ret_ty));
            return Err(operand(format!("returns {found}, expected {wanted}")));
        }
        if !matches!(self.instance()?.ret, Return::Value(_)) {
            let vars = match &self.instance()?.ret {
                Return::Vars(vars) => vars.clone(),
                _ => self.vars_for(ret_ty)?,
            };
            self.instance()?.ret = Return::Vars(vars.clone());
            self.store_vars(ty, &val, &vars)?;
        }
        self.br(label, next);
        Ok(())
    }

    // ── phi ──

    /// *OpPhi*: its variables were stored where the branches are.
    fn phi(&mut self, inst: &Inst<'_>) -> Res<()> {
        let ty = self.result_ty(inst)?;
        let vars = self.phi_vars(inst.id, ty)?;
        let val = self.load_vars(ty, &vars)?;
        self.define(inst, val)
    }

    /// Stores what the phis of block `to` take from block `from`: all are read before any is
    /// written, since one phi may be another's operand.
    fn pass_phis(&mut self, s: &Structure, from: u32, to: u32) -> Res<()> {
        let label = s.cfg.blocks[from as usize].label;
        let target = s.cfg.blocks[to as usize];
        let mut moves = Vec::new();
        for i in target.first..target.term {
            let inst = self.spv.insts[i];
            match inst.op {
                Op::Phi => {
                    let source = s.incoming(inst.id, label).ok_or_else(|| {
                        let m = format!("has no operand for the predecessor %{label}");
                        self.spv.locate(invalid(code::CONTROL_FLOW, m), i)
                    })?;
                    moves.push(self.phi_move(&inst, source).map_err(|f| self.spv.locate(f, i))?);
                }
                Op::Line | Op::NoLine | Op::ExtInst => {}
                _ => break,
            }
        }
        for (values, vars) in moves {
            for (value, var) in values.into_iter().zip(vars.iter()) {
                self.b().var_store(*var, None, value);
            }
        }
        Ok(())
    }

    /// The values that a phi takes, and its variables.
    fn phi_move(&mut self, inst: &Inst<'_>, source: Id) -> Res<(crate::cx::Values, Rc<[Var]>)> {
        let ty = self.result_ty(inst)?;
        let (found, val) = self.val(source)?;
        if !self.passes(found, ty) {
            let (wanted, found) = (self.types().describe(ty), self.types().describe(found));
            return Err(operand(format!("operand %{source} is {found}, expected {wanted}")));
        }
        let values = self.flatten(found, &val)?;
        Ok((values, self.phi_vars(inst.id, ty)?))
    }

    fn phi_vars(&mut self, id: Id, ty: Ty) -> Res<Rc<[Var]>> {
        if let Some(vars) = self.instance()?.phis.get(&id) {
            return Ok(vars.clone());
        }
        let vars = self.vars_for(ty)?;
        self.instance()?.phis.insert(id, vars.clone());
        Ok(vars)
    }

    // ── variables for values that cross constructs ──

    fn vars_for(&mut self, ty: Ty) -> Res<Rc<[Var]>> {
        let leaves = self.types().leaf_types(ty)?;
        Ok(leaves.into_iter().map(|leaf| self.func.new_var(leaf, 1, "")).collect())
    }

    fn store_vars(&mut self, ty: Ty, val: &Val, vars: &[Var]) -> Res<()> {
        let values = self.flatten(ty, val)?;
        for (value, var) in values.into_iter().zip(vars) {
            self.b().var_store(*var, None, value);
        }
        Ok(())
    }

    fn load_vars(&mut self, ty: Ty, vars: &[Var]) -> Res<Val> {
        let values: crate::cx::Values = vars.iter().map(|var| self.b().var_load(*var, None)).collect();
        self.unflatten(ty, &values)
    }
}
