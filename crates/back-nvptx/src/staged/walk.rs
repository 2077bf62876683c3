//! What an invocation does between two barriers, as far as it follows from who it is: where in shared memory it stores,
//! and from where its subgroup loads matrices.
//!
//! The instructions are executed, as often as their loops say. What is loaded, and what a variable held before, is not
//! known; where a condition depends on it, both of its branches are gone through, and done is what both do.

use crate::builtin::of_invocation;
use phalanx_ir::{Function, Inst, Label, Module, Op, Space, Type, Value, Var, eval};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most instructions that are executed for a module: as many as a large step has for all invocations.
pub(super) const MAX_STEPS: u32 = 1 << 19;

/// Bytes of shared memory that an instruction accesses, from the first on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Access {
    pub(super) inst: Inst,
    pub(super) first: u32,
    /// Bytes of a line, how many lines there are, and how far it is to the next.
    pub(super) bytes: u32,
    pub(super) lines: u32,
    pub(super) stride: u32,
}

/// A value, as far as it is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Scalar(u64),
    /// A place in shared memory: the object's start, its size, and bytes from the start.
    Place(u32, u32, i64),
    Nothing,
}

/// A matrix of a subgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matrix {
    /// What was loaded.
    Factor(Access),
    /// What an element of a variable held before, with so many products added.
    Sums((Var, u64), usize),
}

/// The products that were added to an element of a variable: of what, one after the other.
pub(super) type Products = BTreeMap<(Var, u64), Vec<[Access; 2]>>;

/// How a block was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    End,
    Branch(Label),
}

/// An invocation on its way.
pub(super) struct Walk<'a> {
    module: &'a Module,
    f: &'a Function,
    invocation: u32,
    values: HashMap<Value, Known>,
    vars: HashMap<(Var, u64), u64>,
    /// What was accessed, in order.
    pub(super) accesses: Vec<Access>,
    /// What was executed, but for constructs and branches.
    executed: Vec<Inst>,
    matrices: HashMap<Value, Matrix>,
    elements: HashMap<(Var, u64), Matrix>,
    products: Products,
    /// Whether something else is done with matrices than to add products to sums, or which way is taken is not known.
    is_other: bool,
    steps: &'a mut u32,
}

impl<'a> Walk<'a> {
    pub(super) fn new(module: &'a Module, invocation: u32, steps: &'a mut u32) -> Self {
        Self {
            module,
            f: &module.body,
            invocation,
            values: HashMap::new(),
            vars: HashMap::new(),
            accesses: Vec::new(),
            executed: Vec::new(),
            matrices: HashMap::new(),
            elements: HashMap::new(),
            products: Products::new(),
            is_other: false,
            steps,
        }
    }

    /// What was executed, one after the other, if that follows from who the invocation is.
    pub(super) fn executed(&self) -> Option<&[Inst]> {
        (!self.is_other).then_some(&self.executed)
    }

    /// The products, if nothing else was done with matrices, and the sums are where they were.
    pub(super) fn products(self) -> Option<Products> {
        let is_kept =
            |(&at, of): (&(Var, u64), &Vec<_>)| self.elements.get(&at) == Some(&Matrix::Sums(at, of.len()));
        (!self.is_other && self.products.iter().all(is_kept)).then_some(self.products)
    }

    /// Executes some instructions to their end; nothing if they may not come there, or if a place is not known.
    pub(super) fn run(&mut self, insts: &[Inst]) -> Option<()> {
        (self.go(insts)? == Exit::End).then_some(())
    }

    fn go(&mut self, insts: &[Inst]) -> Option<Exit> {
        let f = self.f;
        for &inst in insts {
            *self.steps = self.steps.checked_sub(1)?;
            let info = f.inst(inst);
            let exit = match info.op {
                Op::If { then, otherwise } => match self.scalar(info.args[0]) {
                    Some(0) => self.go(f.block(otherwise))?,
                    Some(_) => self.go(f.block(then))?,
                    None => self.both(f.block(then), f.block(otherwise))?,
                },
                Op::Block { label, body } => match self.go(f.block(body))? {
                    Exit::Branch(to) if to == label => Exit::End,
                    exit => exit,
                },
                Op::Loop { label, body } => loop {
                    match self.go(f.block(body))? {
                        Exit::Branch(to) if to == label => *self.steps = self.steps.checked_sub(1)?,
                        exit => break exit,
                    }
                },
                Op::Br(label) => Exit::Branch(label),
                Op::Return => return None,
                _ => {
                    self.inst(inst)?;
                    self.executed.push(inst);
                    Exit::End
                }
            };
            if exit != Exit::End {
                return Some(exit);
            }
        }
        Some(Exit::End)
    }

    /// Both branches of a condition that is not known. Neither may leave anything around it.
    fn both(&mut self, then: &[Inst], otherwise: &[Inst]) -> Option<Exit> {
        self.is_other = true;
        let (vars, accesses) = (self.vars.clone(), std::mem::take(&mut self.accesses));
        self.run(then)?;
        let after = std::mem::replace(&mut self.vars, vars);
        let done = std::mem::replace(&mut self.accesses, accesses);
        let before = self.accesses.len();
        self.run(otherwise)?;
        self.vars.retain(|element, value| after.get(element) == Some(value));
        // Read is what one of them reads; written what both of them write.
        let is_store = |access: &Access| matches!(self.f.inst(access.inst).op, Op::Store(_));
        let bytes = |access: &Access| (access.first, access.bytes);
        let stored: HashSet<(u32, u32)> = done.iter().filter(|x| is_store(x)).map(bytes).collect();
        let mut others = self.accesses.split_off(before);
        others.retain(|access| !is_store(access) || stored.contains(&bytes(access)));
        others.extend(done.iter().copied().filter(|access| !is_store(access)));
        self.accesses.extend(others);
        Some(Exit::End)
    }

    fn inst(&mut self, inst: Inst) -> Option<()> {
        let f = self.f;
        let info = f.inst(inst);
        match info.op {
            Op::Store(_) => {
                let bytes = f.ty(info.args[1]).scalar()?.bytes() * (info.args.len() as u32 - 1);
                self.access(inst, info.args[0], bytes, 1, 0)?;
            }
            Op::MatLoad { column_major, .. } if f.ty(info.args[0]) == Type::Ptr(Space::Shared) => {
                let m = f.ty(info.results[0]).mat()?;
                let (lines, len) = if column_major { (m.cols, m.rows) } else { (m.rows, m.cols) };
                let stride = u32::try_from(self.scalar(info.args[1])?).ok()?;
                self.access(inst, info.args[0], len * m.elem.bytes(), lines, stride)?;
                let access = *self.accesses.last()?;
                self.matrices.insert(info.results[0], Matrix::Factor(access));
            }
            _ if info.args.iter().chain(&info.results).any(|&v| f.ty(v).mat().is_some()) => {
                // Matrices hold nothing that places depend on.
                let is_sum = self.matrix(inst).is_some();
                self.is_other |= !is_sum;
                for &result in &info.results {
                    self.values.insert(result, Known::Nothing);
                }
            }
            Op::VarStore(var) => {
                let (index, value) = match info.args[..] {
                    [value] => (Some(0), value),
                    [index, value] => (self.scalar(index), value),
                    _ => return None,
                };
                match (index, self.scalar(value)) {
                    (Some(index), Some(value)) => {
                        self.vars.insert((var, index), value);
                    }
                    (Some(index), None) => {
                        self.vars.remove(&(var, index));
                    }
                    (None, _) => self.vars.retain(|&(other, _), _| other != var),
                }
            }
            _ => {
                for (var, access) in info.op.vars() {
                    if access.writes() {
                        self.vars.retain(|&(other, _), _| other != var);
                    }
                }
                let known = self.find(info.results.first().copied());
                for &result in &info.results {
                    self.values.insert(result, Known::Nothing);
                }
                if let [result] = info.results[..] {
                    self.values.insert(result, known);
                }
            }
        }
        Some(())
    }

    /// What is done with matrices, if it adds products to sums.
    fn matrix(&mut self, inst: Inst) -> Option<()> {
        let f = self.f;
        let info = f.inst(inst);
        match (&info.op, &info.args[..]) {
            (&Op::VarLoad(var), args) => {
                let index = args.first().map_or(Some(0), |&index| self.scalar(index))?;
                let at = (var, index);
                let is_there = index < f.var(var).count.into();
                let held = self.elements.get(&at).copied().unwrap_or(Matrix::Sums(at, 0));
                is_there.then(|| self.matrices.insert(info.results[0], held))?;
            }
            (&Op::VarStore(var), &[.., value]) => {
                let index = if let [index, _] = info.args[..] { self.scalar(index)? } else { 0 };
                let held = *self.matrices.get(&value)?;
                (index < f.var(var).count.into()).then(|| self.elements.insert((var, index), held))?;
            }
            (Op::MatMulAdd(_), [a, b, c]) => {
                let (Some(&Matrix::Factor(a)), Some(&Matrix::Factor(b)), Some(&Matrix::Sums(at, count))) =
                    (self.matrices.get(a), self.matrices.get(b), self.matrices.get(c))
                else {
                    return None;
                };
                let products = self.products.entry(at).or_default();
                (products.len() == count).then_some(())?;
                products.push([a, b]);
                self.matrices.insert(info.results[0], Matrix::Sums(at, count + 1));
            }
            _ => return None,
        }
        Some(())
    }

    /// Notes an access, which is in its object.
    fn access(&mut self, inst: Inst, pointer: Value, bytes: u32, lines: u32, stride: u32) -> Option<()> {
        let Known::Place(start, size, offset) = self.value(pointer) else { return None };
        let extent = u64::from(stride) * u64::from(lines.saturating_sub(1)) + u64::from(bytes);
        let offset = u32::try_from(offset).ok()?;
        (u64::from(offset) + extent <= u64::from(size)).then_some(())?;
        self.accesses.push(Access { inst, first: start + offset, bytes, lines, stride });
        Some(())
    }

    fn scalar(&mut self, v: Value) -> Option<u64> {
        match self.value(v) {
            Known::Scalar(bits) => Some(bits),
            Known::Place(..) | Known::Nothing => None,
        }
    }

    /// A value: what was found when its instruction was executed, or of one that stands before, what it is in any case.
    fn value(&mut self, v: Value) -> Known {
        if let Some(&known) = self.values.get(&v) {
            return known;
        }
        let found = match self.f.def(v).op {
            // What it holds now is not what it held then.
            Op::VarLoad(_) => Known::Nothing,
            _ => self.find(Some(v)),
        };
        self.values.insert(v, found);
        found
    }

    fn find(&mut self, v: Option<Value>) -> Known {
        v.and_then(|v| self.compute(v)).unwrap_or(Known::Nothing)
    }

    fn compute(&mut self, v: Value) -> Option<Known> {
        let f = self.f;
        let info = f.def(v);
        let ty = |v: Value| f.ty(v).scalar();
        Some(Known::Scalar(match info.op {
            Op::Const(bits) => bits,
            Op::Builtin(builtin) => of_invocation(self.module, self.invocation, builtin)?.into(),
            Op::Binary(op) => {
                let (s, x, y) = (ty(info.args[0])?, info.args[0], info.args[1]);
                eval::binary(op, s, self.scalar(x)?, self.scalar(y)?)
            }
            Op::Compare(op) => {
                let (s, x, y) = (ty(info.args[0])?, info.args[0], info.args[1]);
                eval::compare(op, s, self.scalar(x)?, self.scalar(y)?).into()
            }
            Op::Convert(op) => eval::convert(op, ty(info.args[0])?, ty(v)?, self.scalar(info.args[0])?),
            Op::Select => {
                let chosen = if self.scalar(info.args[0])? != 0 { info.args[1] } else { info.args[2] };
                ty(v)?;
                self.scalar(chosen)?
            }
            Op::VarLoad(var) => {
                let index = info.args.first().map_or(Some(0), |&index| self.scalar(index))?;
                *self.vars.get(&(var, index))?
            }
            Op::SharedPtr { offset, bytes } if info.args.is_empty() => {
                return Some(Known::Place(offset, bytes, 0));
            }
            Op::PtrAdd { scale, disp } => {
                let Known::Place(start, size, offset) = self.value(info.args[0]) else { return None };
                let further = match info.args.get(1) {
                    Some(&index) => {
                        let s = ty(index)?;
                        eval::sign_extend(s, self.scalar(index)?).checked_mul(scale)?
                    }
                    None => 0,
                };
                return Some(Known::Place(start, size, offset.checked_add(disp)?.checked_add(further)?));
            }
            _ => return None,
        }))
    }
}
