//! Module to text. Prints any module, also one that breaks rules.

use super::literal;
use super::ops::{Attrs, attrs, mnemonic};
use super::token::is_name;
use crate::distribution::Distribution;
use crate::entities::{Binding, Block, Inst, Label, Value, Var};
use crate::module::{Function, InstInfo, Module};
use crate::op::Op;
use crate::types::Type;
use crate::verify::MAX_DEPTH;
use std::convert::Infallible;
use std::fmt::Write;

/// The text of a module.
pub fn print(module: &Module) -> String {
    let func = &module.body;
    let mut p = Printer {
        module,
        out: String::new(),
        values: vec![None; func.values.len()],
        num_values: 0,
        labels: Vec::new(),
        vars: var_names(module),
        blocks_seen: vec![false; func.blocks.len()],
        depth: 0,
    };
    p.head();
    p.out.push('\n');
    p.block(Function::ENTRY);
    p.out.push('\n');
    p.out
}

/// The name of each variable: its own where that is a name and the first of its kind.
fn var_names(module: &Module) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    let vars = module.body.vars.iter().enumerate();
    vars.map(|(i, var)| {
        let is_own = is_name(&var.name) && seen.insert(var.name.as_str());
        if is_own { var.name.clone() } else { i.to_string() }
    })
    .collect()
}

struct Printer<'m> {
    module: &'m Module,
    out: String,
    /// The number of each value that was defined.
    values: Vec<Option<u32>>,
    num_values: u32,
    /// Labels in the order they appeared.
    labels: Vec<Label>,
    vars: Vec<String>,
    blocks_seen: Vec<bool>,
    depth: usize,
}

/// Appends formatted text; writing to a string does not fail.
macro_rules! put {
    ($p:expr, $($arg:tt)*) => {
        let _ = write!($p.out, $($arg)*);
    };
}

impl Printer<'_> {
    fn head(&mut self) {
        let m = self.module;
        let [x, y, z] = m.workgroup_size;
        put!(self, "kernel {}\n", quoted(&m.name));
        put!(self, "workgroup_size {x} {y} {z}\nsubgroup_size {}\n", m.subgroup_size);
        if m.distribution != Distribution::default() {
            put!(self, "components {}\n", m.distribution.name());
        }
        if m.shared_bytes != 0 {
            put!(self, "shared {}\n", m.shared_bytes);
        }
        if m.push_bytes != 0 {
            put!(self, "push {}\n", m.push_bytes);
        }
        for index in 0..m.bindings.len() {
            self.binding(index);
        }
        for text in &m.formats {
            put!(self, "format {}\n", quoted(text));
        }
        for (i, loc) in m.locs.iter().enumerate() {
            put!(self, "loc !{} {} {}", i + 1, quoted(&loc.file), loc.line);
            if loc.word != 0 {
                put!(self, " word={}", loc.word);
            }
            self.out.push('\n');
        }
        for index in 0..m.body.vars.len() {
            self.var(index);
        }
    }

    fn binding(&mut self, index: usize) {
        let b = &self.module.bindings[index];
        let kind = b.kind.name();
        put!(self, "binding {} = {}.{} {kind}", Binding::new(index), b.set, b.binding);
        if b.writable {
            self.out.push_str(" writable");
        }
        match b.count {
            Some(1) => {}
            Some(count) => {
                put!(self, " count={count}");
            }
            None => self.out.push_str(" count=*"),
        }
        if !b.name.is_empty() {
            put!(self, " {}", quoted(&b.name));
        }
        self.out.push('\n');
    }

    fn var(&mut self, index: usize) {
        let var = &self.module.body.vars[index];
        put!(self, "var ${}: {}", self.vars[index], var.ty);
        if var.count != 1 {
            put!(self, "[{}]", var.count);
        }
        if !var.name.is_empty() && var.name != self.vars[index] {
            put!(self, " {}", quoted(&var.name));
        }
        if let Some(table) = &var.table {
            let word = |bits: &u64| {
                var.ty.scalar().map_or_else(|| format!("{bits:#x}"), |ty| literal::print(ty, *bits))
            };
            let words: Vec<_> = table.iter().map(word).collect();
            put!(self, " = [{}]", words.join(", "));
        }
        self.out.push('\n');
    }

    fn indent(&mut self) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
    }

    fn block(&mut self, block: Block) {
        self.out.push_str("{\n");
        self.depth += 1;
        let func = &self.module.body;
        let is_new = self.blocks_seen.get_mut(block.index()).map(|seen| !std::mem::replace(seen, true));
        match (is_new, func.blocks.get(block.index())) {
            (Some(true), Some(insts)) if self.depth <= MAX_DEPTH + 2 => {
                for &inst in insts {
                    self.inst(inst);
                }
            }
            _ => {
                self.indent();
                put!(self, "; {block} is missing, used before, or too deep\n");
            }
        }
        self.depth -= 1;
        self.indent();
        self.out.push('}');
    }

    fn inst(&mut self, inst: Inst) {
        self.indent();
        let Some(info) = self.module.body.insts.get(inst.index()) else {
            put!(self, "; {inst} is missing\n");
            return;
        };
        // The operands are named first: an instruction that uses itself shows.
        let args: Vec<_> = info.args.iter().map(|&v| self.value(v)).collect();
        self.results(info);
        self.out.push_str(mnemonic(&info.op));
        match info.op {
            Op::Const(bits) => self.constant(info, bits),
            Op::Block { label, .. } | Op::Loop { label, .. } | Op::Br(label) => {
                let label = self.label(label);
                put!(self, " @{label}");
            }
            _ => self.attrs(&info.op),
        }
        if !args.is_empty() {
            put!(self, " {}", args.join(", "));
        }
        if info.exact {
            self.out.push_str(" exact");
        }
        if info.loc != 0 {
            put!(self, " !{}", info.loc);
        }
        self.bodies(&info.op);
        self.out.push('\n');
    }

    fn bodies(&mut self, op: &Op) {
        let is_empty = |b: Block| self.module.body.blocks.get(b.index()).is_some_and(Vec::is_empty);
        let skips_else = matches!(*op, Op::If { otherwise, .. } if is_empty(otherwise));
        for (i, body) in op.bodies().enumerate() {
            match i {
                0 => self.out.push(' '),
                _ if skips_else => return,
                _ => self.out.push_str(" else "),
            }
            self.block(body);
        }
    }

    fn results(&mut self, info: &InstInfo) {
        for (i, &v) in info.results.iter().enumerate() {
            if let Some(name) = self.values.get_mut(v.index()) {
                *name = Some(self.num_values);
                self.num_values += 1;
            }
            let (name, ty) = (self.value(v), self.ty(v).map_or_else(|| "?".into(), |t| t.to_string()));
            put!(self, "{}{name}: {ty}", if i == 0 { "" } else { ", " });
        }
        if !info.results.is_empty() {
            self.out.push_str(" = ");
        }
    }

    fn ty(&self, v: Value) -> Option<Type> {
        self.module.body.values.get(v.index()).map(|v| v.ty)
    }

    fn constant(&mut self, info: &InstInfo, bits: u64) {
        let ty = info.results.first().and_then(|&v| self.ty(v)).and_then(Type::scalar);
        let text = ty.map_or_else(|| format!("{bits:#x}"), |ty| literal::print(ty, bits));
        put!(self, " {text}");
    }

    fn value(&self, v: Value) -> String {
        match self.values.get(v.index()) {
            Some(Some(n)) => format!("%{n}"),
            Some(None) | None => format!("%undefined{}", v.index()),
        }
    }

    fn label(&mut self, label: Label) -> usize {
        let known = self.labels.iter().rposition(|l| *l == label);
        known.unwrap_or_else(|| {
            self.labels.push(label);
            self.labels.len() - 1
        })
    }

    fn attrs(&mut self, op: &Op) {
        let mut list = AttrList { vars: &self.vars, items: Vec::new() };
        let Ok(()) = attrs(&mut op.clone(), &mut list);
        if !list.items.is_empty() {
            put!(self, "<{}>", list.items.join(", "));
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

/// The attributes of an operation, written.
struct AttrList<'p> {
    vars: &'p [String],
    items: Vec<String>,
}

impl Attrs for AttrList<'_> {
    type Error = Infallible;

    fn var(&mut self, var: &mut Var) -> Result<(), Infallible> {
        let name = self.vars.get(var.index());
        self.items.push(name.map_or_else(|| format!("$undefined{}", var.index()), |n| format!("${n}")));
        Ok(())
    }

    fn binding(&mut self, binding: &mut Binding) -> Result<(), Infallible> {
        self.items.push(binding.to_string());
        Ok(())
    }

    fn flag(&mut self, name: &'static str, on: &mut bool) -> Result<(), Infallible> {
        if *on {
            self.items.push(name.into());
        }
        Ok(())
    }

    fn word<T: Copy + PartialEq>(
        &mut self,
        words: &[(&'static str, T)],
        value: &mut T,
    ) -> Result<(), Infallible> {
        let name = words.iter().find(|(_, v)| v == value).map_or("?", |(name, _)| name);
        self.items.push(name.into());
        Ok(())
    }

    fn number(
        &mut self,
        name: &'static str,
        value: &mut i64,
        default: Option<i64>,
    ) -> Result<(), Infallible> {
        if Some(*value) != default {
            self.items.push(format!("{name}={value}"));
        }
        Ok(())
    }

    fn size(&mut self, name: &'static str, value: &mut u32, default: Option<u32>) -> Result<(), Infallible> {
        if Some(*value) != default {
            self.items.push(format!("{name}={value}"));
        }
        Ok(())
    }
}
