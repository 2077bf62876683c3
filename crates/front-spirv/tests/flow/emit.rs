//! Programs to SPIR-V: with the state in variables, or in SSA form with a phi at every join.

use super::program::{Case, Cond, STATE, Stmt};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The state where control is: the label of the block, and in SSA form the ids of the words.
#[derive(Clone, Debug)]
struct Env {
    label: String,
    words: [String; STATE],
}

/// Where branches out of the constructs go, with those that went there.
#[derive(Default)]
struct Targets {
    merge: String,
    breaks: Vec<Env>,
    continue_to: Option<String>,
    continues: Vec<Env>,
}

/// Emits a program.
pub(crate) struct Emit {
    ssa: bool,
    lines: Vec<String>,
    functions: Vec<String>,
    ids: usize,
    constants: BTreeMap<u32, String>,
    /// Loops and switches around, innermost last.
    targets: Vec<Targets>,
    /// Whether what is emitted is a function with a result.
    returns_value: bool,
    prefix: String,
}

/// The module of a program.
pub(crate) fn emit(body: &[Stmt], ssa: bool) -> String {
    let mut e = Emit {
        ssa,
        lines: Vec::new(),
        functions: Vec::new(),
        ids: 0,
        constants: BTreeMap::new(),
        targets: Vec::new(),
        returns_value: false,
        prefix: "main".into(),
    };
    e.main(body);
    let constants: String =
        e.constants.iter().map(|(k, id)| format!("{id} = OpConstant %u32 {k}\n")).collect();
    let mut functions = e.lines.join("\n");
    functions += "\n";
    functions += &e.functions.join("\n");
    super::module(&(constants + "%call_fn = OpTypeFunction %u32 %u32\n"), &functions)
}

impl Emit {
    fn id(&mut self) -> String {
        self.ids += 1;
        format!("%x{}", self.ids)
    }

    fn c(&mut self, k: u32) -> String {
        self.constants.entry(k).or_insert_with(|| format!("%k{k}")).clone()
    }

    fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    /// A line that defines a new id.
    fn def(&mut self, rhs: &str) -> String {
        let id = self.id();
        self.line(format!("{id} = {rhs}"));
        id
    }

    fn op(&mut self, name: &str, a: &str, b: &str) -> String {
        self.def(&format!("{name} %u32 {a} {b}"))
    }

    fn main(&mut self, body: &[Stmt]) {
        self.line("%main = OpFunction %void None %void_fn\n%entry = OpLabel");
        let variables = if self.ssa { 0 } else { STATE };
        for i in 0..variables {
            self.line(format!("%main_s{i} = OpVariable %ptr_fn Function"));
        }
        self.line("%lane = OpLoad %u32 %lane_var");
        let zero = self.c(0);
        let n = self.c(STATE as u32);
        let base = self.op("OpIMul", "%lane", &n);
        self.line(format!("%start = OpCopyObject %u32 {base}"));
        let mut env = Env { label: "%entry".into(), words: Default::default() };
        for i in 0..STATE {
            let k = self.c(i as u32);
            let at = self.op("OpIAdd", &base, &k);
            let p = self.def(&format!("OpAccessChain %ptr_data %data {zero} {at}"));
            let v = self.def(&format!("OpLoad %u32 {p}"));
            self.set(&mut env, i, v);
        }
        if let Some(env) = self.body(body, env) {
            self.ret(env);
        }
        self.line("OpFunctionEnd");
    }

    /// Writes the state out and returns.
    fn ret(&mut self, env: Env) {
        if self.returns_value {
            let v = self.get(&env, 0);
            self.line(format!("OpReturnValue {v}"));
            return;
        }
        let zero = self.c(0);
        for i in 0..STATE {
            let v = self.get(&env, i);
            let k = self.c(i as u32);
            let at = self.op("OpIAdd", "%start", &k);
            let p = self.def(&format!("OpAccessChain %ptr_data %data {zero} {at}"));
            self.line(format!("OpStore {p} {v}"));
        }
        self.line("OpReturn");
    }

    fn get(&mut self, env: &Env, i: usize) -> String {
        match self.ssa {
            true => env.words[i].clone(),
            false => self.def(&format!("OpLoad %u32 %{}_s{i}", self.prefix)),
        }
    }

    fn set(&mut self, env: &mut Env, i: usize, value: String) {
        match self.ssa {
            true => env.words[i] = value,
            false => self.line(format!("OpStore %{}_s{i} {value}", self.prefix)),
        }
    }

    /// Starts a block that these edges go to; nothing gets there if there are none.
    fn join(&mut self, label: &str, edges: &[Env]) -> Option<Env> {
        self.line(format!("{label} = OpLabel"));
        let mut env = edges.first()?.clone();
        env.label = label.to_owned();
        if self.ssa && edges.len() > 1 {
            for i in 0..STATE {
                let pairs: String = edges.iter().map(|e| format!(" {} {}", e.words[i], e.label)).collect();
                env.words[i] = self.def(&format!("OpPhi %u32{pairs}"));
            }
        }
        Some(env)
    }

    /// As [`Emit::join`], for a merge block, which has to exist.
    fn merge(&mut self, label: &str, edges: &[Env]) -> Option<Env> {
        let env = self.join(label, edges);
        if env.is_none() {
            self.line("OpUnreachable");
        }
        env
    }

    fn cond(&mut self, env: &Env, c: &Cond) -> String {
        let v = self.get(env, c.var);
        let (m, l) = (self.c(c.modulus), self.c(c.less_than));
        let rest = self.op("OpUMod", &v, &m);
        self.def(&format!("OpULessThan %bool {rest} {l}"))
    }

    fn body(&mut self, body: &[Stmt], env: Env) -> Option<Env> {
        body.iter().try_fold(env, |env, stmt| self.stmt(stmt, env))
    }

    fn stmt(&mut self, stmt: &Stmt, mut env: Env) -> Option<Env> {
        match stmt {
            Stmt::Mix { var, from, k } => {
                let (v, from) = (self.get(&env, *var), self.get(&env, *from));
                let (m, k) = (self.c(31), self.c(*k));
                let v = self.op("OpIMul", &v, &m);
                let v = self.op("OpIAdd", &v, &from);
                let v = self.op("OpIAdd", &v, &k);
                self.set(&mut env, *var, v);
                Some(env)
            }
            Stmt::Swap(a, b) => {
                let (x, y) = (self.get(&env, *a), self.get(&env, *b));
                self.set(&mut env, *a, y);
                self.set(&mut env, *b, x);
                Some(env)
            }
            Stmt::Count(var) => {
                let one = self.c(1);
                let n = self.def(&format!("OpGroupNonUniformIAdd %u32 %scope Reduce {one}"));
                let v = self.get(&env, *var);
                let v = self.op("OpIAdd", &v, &n);
                self.set(&mut env, *var, v);
                Some(env)
            }
            Stmt::If(cond, then, otherwise) => self.if_else(cond, then, otherwise, env),
            Stmt::Loop { times, test_first, body, tail } => {
                self.repeat(*times, *test_first, (body, tail), env)
            }
            Stmt::Switch { var, modulus, cases, default } => {
                self.switch((*var, *modulus), cases, *default, env)
            }
            Stmt::BreakIf(c) => self.leave_if(c, env, Self::leave_break),
            Stmt::ContinueIf(c) => self.leave_if(c, env, Self::leave_continue),
            Stmt::ReturnIf(c) => self.leave_if(c, env, Self::ret),
            Stmt::Break => {
                self.leave_break(env);
                None
            }
            Stmt::Continue => {
                self.leave_continue(env);
                None
            }
            Stmt::Return => {
                self.ret(env);
                None
            }
            Stmt::Call { early, body } => self.call(early, body, env),
        }
    }

    fn leave_break(&mut self, env: Env) {
        if let Some(t) = self.targets.last_mut() {
            let line = format!("OpBranch {}", t.merge);
            t.breaks.push(env);
            self.line(line);
        }
    }

    fn leave_continue(&mut self, env: Env) {
        if let Some(t) = self.targets.iter_mut().rev().find(|t| t.continue_to.is_some()) {
            let line = format!("OpBranch {}", t.continue_to.clone().unwrap_or_default());
            t.continues.push(env);
            self.line(line);
        }
    }

    /// `if (c) { leave }`.
    fn leave_if(&mut self, c: &Cond, env: Env, leave: fn(&mut Self, Env)) -> Option<Env> {
        let cond = self.cond(&env, c);
        let (then, merge) = (self.id(), self.id());
        self.line(format!("OpSelectionMerge {merge} None\nOpBranchConditional {cond} {then} {merge}"));
        let inner = self.join(&then, std::slice::from_ref(&env))?;
        leave(self, inner);
        self.merge(&merge, &[env])
    }

    fn if_else(&mut self, c: &Cond, then: &[Stmt], otherwise: &[Stmt], env: Env) -> Option<Env> {
        let cond = self.cond(&env, c);
        let (t, o, merge) = (self.id(), self.id(), self.id());
        let no = if otherwise.is_empty() { &merge } else { &o };
        self.line(format!("OpSelectionMerge {merge} None\nOpBranchConditional {cond} {t} {no}"));
        let mut edges = Vec::new();
        if otherwise.is_empty() {
            edges.push(env.clone());
        }
        for (label, body) in [(&t, then), (&o, otherwise)] {
            if label == &o && otherwise.is_empty() {
                continue;
            }
            let inner = self.join(label, std::slice::from_ref(&env))?;
            if let Some(end) = self.body(body, inner) {
                self.line(format!("OpBranch {merge}"));
                edges.push(end);
            }
        }
        self.merge(&merge, &edges)
    }

    /// The counter is a phi of its own in both forms.
    fn repeat(
        &mut self,
        times: u32,
        test_first: bool,
        (body, tail): (&[Stmt], &[Stmt]),
        env: Env,
    ) -> Option<Env> {
        let [header, first, tail_label, merge] = std::array::from_fn(|_| self.id());
        let (counter, next) = (self.id(), self.id());
        let (zero, one, n) = (self.c(0), self.c(1), self.c(times));
        self.line(format!("OpBranch {header}"));
        self.line(format!("{header} = OpLabel"));
        let phis_at = self.lines.len();
        self.line("");
        let mut inner = Env { label: header.clone(), words: env.words.clone() };
        if self.ssa {
            inner.words = std::array::from_fn(|_| self.id());
        }
        let phis = inner.words.clone();
        self.line(format!("OpLoopMerge {merge} {tail_label} None"));
        let mut exits = Vec::new();
        if test_first {
            // The test would have to stand before OpLoopMerge; a block of its own does as well.
            let test = self.id();
            self.line(format!("OpBranch {test}\n{test} = OpLabel"));
            inner.label = test;
            let more = self.def(&format!("OpULessThan %bool {counter} {n}"));
            self.line(format!("OpBranchConditional {more} {first} {merge}"));
            exits.push(inner.clone());
        } else {
            self.line(format!("OpBranch {first}"));
        }
        let start = self.join(&first, &[inner])?;
        let target =
            Targets { merge: merge.clone(), continue_to: Some(tail_label.clone()), ..Targets::default() };
        self.targets.push(target);
        let end = self.body(body, start);
        let target = self.targets.pop()?;
        let mut continues = target.continues;
        if let Some(end) = end {
            self.line(format!("OpBranch {tail_label}"));
            continues.push(end);
        }
        exits.extend(target.breaks);
        let back = match self.join(&tail_label, &continues) {
            Some(env) => self.body(tail, env)?,
            // Nothing continues: the continue target exists all the same.
            None => Env { label: tail_label.clone(), words: phis.clone() },
        };
        self.line(format!("{next} = OpIAdd %u32 {counter} {one}"));
        if test_first {
            self.line(format!("OpBranch {header}"));
        } else {
            let more = self.def(&format!("OpULessThan %bool {next} {n}"));
            self.line(format!("OpBranchConditional {more} {header} {merge}"));
            if !continues.is_empty() {
                exits.push(back.clone());
            }
        }
        let mut text = format!("{counter} = OpPhi %u32 {zero} {} {next} {}\n", env.label, back.label);
        if self.ssa {
            for (phi, (a, b)) in phis.iter().zip(env.words.iter().zip(&back.words)) {
                writeln!(text, "{phi} = OpPhi %u32 {a} {} {b} {}", env.label, back.label).ok()?;
            }
        }
        self.lines[phis_at] = text;
        self.merge(&merge, &exits)
    }

    fn switch(
        &mut self,
        (var, modulus): (usize, u32),
        cases: &[Case],
        default: usize,
        env: Env,
    ) -> Option<Env> {
        let v = self.get(&env, var);
        let m = self.c(modulus);
        let selector = self.op("OpUMod", &v, &m);
        let merge = self.id();
        let labels: Vec<String> = cases.iter().map(|_| self.id()).collect();
        let mut table = String::new();
        for (case, label) in cases.iter().zip(&labels) {
            for literal in &case.literals {
                write!(table, " {literal} {label}").ok()?;
            }
        }
        self.line(format!("OpSelectionMerge {merge} None\nOpSwitch {selector} {}{table}", labels[default]));
        self.targets.push(Targets { merge: merge.clone(), ..Targets::default() });
        let (mut edges, mut falling) = (Vec::new(), None);
        for (i, case) in cases.iter().enumerate() {
            let mut into = vec![env.clone()];
            into.extend(falling.take());
            let inner = self.join(&labels[i], &into)?;
            if let Some(end) = self.body(&case.body, inner) {
                if case.falls_through && i + 1 < cases.len() {
                    self.line(format!("OpBranch {}", labels[i + 1]));
                    falling = Some(end);
                } else {
                    self.line(format!("OpBranch {merge}"));
                    edges.push(end);
                }
            }
        }
        edges.extend(self.targets.pop()?.breaks);
        self.merge(&merge, &edges)
    }

    fn call(&mut self, early: &Cond, body: &[Stmt], mut env: Env) -> Option<Env> {
        let name = self.id().replace("%x", "%f");
        let arg = self.get(&env, 0);
        let result = self.def(&format!("OpFunctionCall %u32 {name} {arg}"));
        self.set(&mut env, 0, result);
        let mut inner = Emit {
            ssa: self.ssa,
            lines: Vec::new(),
            functions: Vec::new(),
            ids: self.ids + 10_000 * (1 + self.functions.len()),
            constants: std::mem::take(&mut self.constants),
            targets: Vec::new(),
            returns_value: true,
            prefix: name[1..].to_owned(),
        };
        inner.function(&name, early, body);
        self.constants = inner.constants;
        self.functions.push(inner.lines.join("\n"));
        self.functions.extend(inner.functions);
        Some(env)
    }

    fn function(&mut self, name: &str, early: &Cond, body: &[Stmt]) {
        let (param, entry) = (self.id(), self.id());
        self.line(format!("{name} = OpFunction %u32 None %call_fn\n{param} = OpFunctionParameter %u32"));
        self.line(format!("{entry} = OpLabel"));
        let variables = if self.ssa { 0 } else { STATE };
        for i in 0..variables {
            self.line(format!("%{}_s{i} = OpVariable %ptr_fn Function", self.prefix));
        }
        let mut env = Env { label: entry, words: Default::default() };
        let (seven, nine) = (self.c(7), self.c(9));
        for (i, v) in [param, seven, nine].into_iter().enumerate() {
            self.set(&mut env, i, v);
        }
        let end = self.leave_if(early, env, Self::ret).and_then(|env| self.body(body, env));
        if let Some(env) = end {
            self.ret(env);
        }
        self.line("OpFunctionEnd");
    }
}
