//! Calls: a function's body goes where it is called, and its result out of there.

use super::Cx;
use crate::diag::{Res, code, invalid, operand};
use crate::module::FunctionDecl;
use crate::reader::{Id, Inst};
use crate::structure::Structure;
use crate::types::{Kind, Ty};
use crate::value::Val;
use phalanx_ir::{self as ir, Label, Var};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// One inlined call of a function.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) structure: Rc<Structure>,
    /// The node whose code is being emitted.
    pub(crate) node: u32,
    /// Tells this call's definitions from those of others of the same function.
    pub(crate) serial: u32,
    pub(super) function: Id,
    /// The label of each node, where it has one.
    pub(super) labels: FxHashMap<u32, Label>,
    /// The variables of each phi.
    pub(super) phis: FxHashMap<Id, Rc<[Var]>>,
    ret_ty: Ty,
    ret_label: Label,
    ret: Return,
    /// The IR block that the body starts in.
    body: ir::Block,
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

impl Cx<'_> {
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
    pub(crate) fn function(&mut self, decl: &FunctionDecl, args: Vec<Val>) -> Res<Option<Val>> {
        if self.stack.iter().any(|i| i.function == decl.id) {
            let m = format!("the function %{} \"{}\" calls itself", decl.id, self.spv.names.of(decl.id));
            return Err(invalid(code::CONTROL_FLOW, m));
        }
        let structure = self.structure_of(decl)?;
        let ret_ty = self.types().lookup(self.spv.insts[decl.inst].ty)?;
        let (outer, depth) = (self.block, self.depth);
        let (body, ret_label) = (self.func.new_block(), self.new_label());
        if let Some(region) = &mut self.region {
            region.set_exit(ret_label);
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

    pub(super) fn leave(&mut self, next: Option<Label>) -> Res<()> {
        let label = self.instance()?.ret_label;
        let ret_ty = self.instance()?.ret_ty;
        if !matches!(self.types().kind(ret_ty), Kind::Void) {
            return Err(invalid(code::CONTROL_FLOW, "the function must return a value"));
        }
        if self.stack.len() == 1 && self.region.is_none() && Some(label) != next {
            // Nothing follows the entry point's function, so that nobody waits for this invocation.
            self.b().effect(ir::Op::Return, &[]);
        } else {
            self.br(label, next);
        }
        Ok(())
    }

    pub(super) fn leave_with(&mut self, term: &Inst<'_>, next: Option<Label>) -> Res<()> {
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
}
