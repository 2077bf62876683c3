//! The module's head, and the tree of blocks: who contains whom and which values are visible.

use super::{
    MAX_DEPTH, MAX_ERRORS, MAX_MAT_ELEMS, MAX_MAT_SIDE, MAX_PUSH_BYTES, MAX_SHARED_BYTES, MAX_VAR_BYTES,
    MAX_WORKGROUP_INVOCATIONS, Problem, VerifyError,
};
use crate::entities::{Block, Inst, Label, Value, Var};
use crate::module::{BindingKind, Function, InstInfo, Module, VarInfo};
use crate::op::Op;
use crate::text::ops::mnemonic;
use crate::types::{MatType, Scalar, Scope, Type};

/// State of one check.
pub(super) struct Checker<'m> {
    pub(super) module: &'m Module,
    errors: Vec<VerifyError>,
    /// The instruction at hand.
    inst: Option<Inst>,
    path: Vec<Block>,
    blocks_seen: Vec<bool>,
    insts_seen: Vec<bool>,
    labels_seen: Vec<bool>,
    enclosing: Vec<Label>,
    visible: Vec<bool>,
    defined: Vec<bool>,
    /// How deep the block of the region is that is checked.
    region: Option<usize>,
}

impl<'m> Checker<'m> {
    pub(super) fn new(module: &'m Module) -> Self {
        let func = &module.body;
        Self {
            module,
            errors: Vec::new(),
            inst: None,
            path: Vec::new(),
            blocks_seen: vec![false; func.blocks.len()],
            insts_seen: vec![false; func.insts.len()],
            // A label is at most as large as there are blocks in a valid function.
            labels_seen: vec![false; func.labels.min(1 << 24) as usize],
            enclosing: Vec::new(),
            visible: vec![false; func.values.len()],
            defined: vec![false; func.values.len()],
            region: None,
        }
    }

    pub(super) fn run(mut self) -> Vec<VerifyError> {
        self.head();
        if self.module.body.blocks.is_empty() {
            self.error(Problem::Index { what: "block", index: 0, count: 0 });
        } else {
            self.block(Function::ENTRY);
        }
        self.errors
    }

    pub(super) fn func(&self) -> &'m Function {
        &self.module.body
    }

    pub(super) fn error(&mut self, problem: Problem) {
        if self.errors.len() >= MAX_ERRORS {
            return;
        }
        let info = self.inst.map(|i| self.func().inst(i));
        let loc = info.and_then(|i| self.module.locs.get((i.loc as usize).checked_sub(1)?)).cloned();
        self.errors.push(VerifyError {
            inst: self.inst,
            op: info.map_or("", |i| mnemonic(&i.op)),
            path: self.path.clone(),
            loc,
            problem,
        });
    }

    fn limit(&mut self, ok: bool, what: &'static str, found: u64, expected: &'static str) {
        if !ok {
            self.error(Problem::Limit { what, found, expected });
        }
    }

    // ── head ──

    fn head(&mut self) {
        let m = self.module;
        let invocations = m.workgroup_size.iter().fold(1_u64, |n, &s| n.saturating_mul(s.into()));
        let ok = (1..=MAX_WORKGROUP_INVOCATIONS).contains(&invocations);
        self.limit(ok, "the work-group's size", invocations, "1 to 4096");
        let size = m.subgroup_size;
        let ok = size.is_power_of_two() && (4..=128).contains(&size);
        self.limit(ok, "the subgroup's size", size.into(), "a power of two from 4 to 128");
        let shared = m.shared_bytes;
        self.limit(shared <= MAX_SHARED_BYTES, "the shared memory", shared.into(), "at most 2^28 bytes");
        let push = m.push_bytes;
        self.limit(push <= MAX_PUSH_BYTES, "the push constants", push.into(), "at most 4096 bytes");
        let labels = m.body.labels;
        self.limit(labels <= 1 << 24, "the number of labels", labels.into(), "at most 2^24");
        for (index, binding) in m.bindings.iter().enumerate() {
            self.limit(binding.count != Some(0), "a binding's count", 0, "at least 1");
            let is_constant = match binding.kind {
                BindingKind::Storage => false,
                BindingKind::Uniform | BindingKind::Sampler => true,
                BindingKind::Image(image) => !image.is_storage(),
            };
            if is_constant && binding.writable {
                self.error(Problem::WritableUniform { index });
            }
        }
        for (index, info) in m.body.vars.iter().enumerate() {
            self.var_info(Var::new(index), info);
        }
    }

    fn var_info(&mut self, var: Var, info: &VarInfo) {
        self.ty(info.ty);
        let elem_bytes = match info.ty {
            Type::Scalar(s) => s.bytes() as u64,
            Type::Ptr(_) => 16,
            Type::Mat(m) => m.len().saturating_mul(m.elem.bytes() as u64),
        };
        self.limit(info.count >= 1, "a variable's count", 0, "at least 1");
        let bytes = elem_bytes.saturating_mul(info.count as u64);
        self.limit(bytes <= MAX_VAR_BYTES, "a variable's size", bytes, "at most 2^28 bytes");
        let Some(table) = &info.table else { return };
        if table.len() != info.count as usize {
            self.error(Problem::TableLength { var, found: table.len(), count: info.count });
        }
        match info.ty {
            Type::Scalar(s) => table.iter().for_each(|&bits| self.bits(s, bits)),
            Type::Ptr(_) | Type::Mat(_) => self.error(Problem::TableType { var, ty: info.ty }),
        }
    }

    pub(super) fn bits(&mut self, ty: Scalar, bits: u64) {
        if bits & !ty.mask() != 0 {
            self.error(Problem::Bits { bits, ty: ty.into() });
        }
    }

    fn ty(&mut self, ty: Type) {
        let Type::Mat(m) = ty else { return };
        if !valid_mat(m) {
            self.error(Problem::MatType(m));
        }
    }

    // ── tree ──

    /// Checks a block and what is nested in it. Marks it first, so that no cycle is followed.
    pub(super) fn block(&mut self, block: Block) {
        let func = self.func();
        let Some(insts) = func.blocks.get(block.index()) else {
            let count = func.blocks.len();
            return self.error(Problem::Index { what: "block", index: block.index(), count });
        };
        if std::mem::replace(&mut self.blocks_seen[block.index()], true) {
            return self.error(Problem::BlockReused(block));
        }
        if self.path.len() > MAX_DEPTH {
            return self.error(Problem::Depth);
        }
        let outer = self.inst;
        self.path.push(block);
        for (i, &inst) in insts.iter().enumerate() {
            self.inst(inst, i == 0, i + 1 == insts.len());
        }
        self.path.pop();
        self.inst = outer;
        self.hide(insts);
    }

    /// Ends the visibility of the values that a block defines.
    fn hide(&mut self, insts: &[Inst]) {
        let func = self.func();
        for info in insts.iter().filter_map(|i| func.insts.get(i.index())) {
            for v in &info.results {
                if let Some(visible) = self.visible.get_mut(v.index()) {
                    *visible = false;
                }
            }
        }
    }

    fn inst(&mut self, inst: Inst, first: bool, last: bool) {
        let func = self.func();
        let Some(info) = func.insts.get(inst.index()) else {
            let count = func.insts.len();
            return self.error(Problem::Index { what: "instruction", index: inst.index(), count });
        };
        self.inst = Some(inst);
        if std::mem::replace(&mut self.insts_seen[inst.index()], true) {
            return self.error(Problem::InstReused);
        }
        if info.loc as usize > self.module.locs.len() {
            let (index, count) = (info.loc as usize, self.module.locs.len());
            self.error(Problem::Index { what: "source position", index, count });
        }
        if info.op.is_terminator() && !last {
            self.error(Problem::AfterTerminator);
        }
        self.allowed(info, first);
        let ok = self.operands(info) & self.results(inst, info);
        if ok {
            self.op(info);
        }
        self.nested(info, ok);
        self.inst = Some(inst);
        for v in &info.results {
            if let Some(visible) = self.visible.get_mut(v.index()) {
                *visible = true;
            }
        }
    }

    /// Whether all operands are visible, so that their types may be asked for.
    fn operands(&mut self, info: &InstInfo) -> bool {
        let mut ok = true;
        for (operand, &value) in info.args.iter().enumerate() {
            if !self.visible.get(value.index()).is_some_and(|v| *v) {
                self.error(Problem::NotVisible { operand, value });
                ok = false;
            }
        }
        ok
    }

    /// Whether all results exist.
    fn results(&mut self, inst: Inst, info: &InstInfo) -> bool {
        let mut ok = true;
        for &value in &info.results {
            match self.func().values.get(value.index()) {
                Some(v) if v.def == inst && !self.defined[value.index()] => self.ty(v.ty),
                _ => {
                    self.error(Problem::ResultReused { value });
                    ok = false;
                }
            }
            if let Some(defined) = self.defined.get_mut(value.index()) {
                *defined = true;
            }
        }
        ok
    }

    /// Begins a region: labels outside are out of reach.
    pub(super) fn enter_region(&mut self) -> (Vec<Label>, Option<usize>) {
        let depth = self.path.len() + 1;
        (std::mem::take(&mut self.enclosing), self.region.replace(depth))
    }

    pub(super) fn leave_region(&mut self, outer: (Vec<Label>, Option<usize>)) {
        (self.enclosing, self.region) = outer;
    }

    /// How deep the block of the innermost region is.
    pub(super) fn region_depth(&self) -> Option<usize> {
        self.region
    }

    /// How deep the block at hand is.
    pub(super) fn depth(&self) -> usize {
        self.path.len()
    }

    fn nested(&mut self, info: &InstInfo, ok: bool) {
        if let Some((kind, body)) = info.op.region() {
            return self.region(info, kind, body, ok);
        }
        match info.op {
            Op::If { then, otherwise } => {
                self.block(then);
                self.block(otherwise);
            }
            Op::Block { label, body } | Op::Loop { label, body } => {
                self.label(label);
                self.enclosing.push(label);
                self.block(body);
                self.enclosing.pop();
            }
            Op::Br(label) if !self.enclosing.contains(&label) => {
                self.error(Problem::LabelNotEnclosing(label));
            }
            _ => {}
        }
    }

    fn label(&mut self, label: Label) {
        let count = self.labels_seen.len();
        match self.labels_seen.get_mut(label.index()) {
            None => self.error(Problem::Index { what: "label", index: label.index(), count }),
            Some(seen) => {
                if std::mem::replace(seen, true) {
                    self.error(Problem::LabelReused(label));
                }
            }
        }
    }

    /// The type of a value that is known to exist.
    pub(super) fn value_ty(&self, v: Value) -> Type {
        self.func().ty(v)
    }
}

fn valid_mat(m: MatType) -> bool {
    let sides = 1..=MAX_MAT_SIDE;
    m.elem != Scalar::Bool
        && sides.contains(&m.rows)
        && sides.contains(&m.cols)
        && m.len() <= MAX_MAT_ELEMS
        && matches!(m.scope, Scope::Subgroup | Scope::Workgroup)
}
