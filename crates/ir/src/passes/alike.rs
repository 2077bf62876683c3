//! Loops that do the same to each component of a matrix, as functions of its elements.
//!
//! ```text
//! var_store<$i> %0
//! loop @next {
//!   %i = var_load<$i>
//!   %more = ult %i, %length                  %m = var_load<$m>
//!   if %more {                               %n = mat_map %m {
//!     %x = var_component_load<$m> %0, %i       %row, %col, %x = params
//!     %y = fmax %x, %low                →      %y = fmax %x, %low
//!     var_component_store<$m> %0, %i, %y       yield %y
//!     %j = iadd %i, %1                       }
//!     var_store<$i> %j                       var_store<$m> %n
//!     br @next                               var_store<$i> %length
//!   }
//! }
//! ```
//!
//! Components of other matrices may be looked at, too, of which the same invocation has the same elements.
//!
//! An invocation may change its components where others do not, but where all come to the loop, each component is some
//! invocation's, and so all elements get the function, whoever has them. What else the function takes is a constant, or the
//! same for all invocations of the matrix's scope.

use crate::builder::Builder;
use crate::entities::{Block, Inst, Value, Var};
use crate::module::{Function, InstInfo, Module};
use crate::op::{BinaryOp, CompareOp, Op};
use crate::types::{MatType, Scope, Type, Use};
use crate::uniformity::Uniformity;
use std::collections::{BTreeMap, BTreeSet};

/// Makes them of such loops for matrices of a scope.
pub(super) fn run(module: &mut Module, scope: Scope) {
    let body = &module.body;
    // Of a subgroup without all of its invocations some elements are nobody's.
    let is_partly_filled =
        scope == Scope::Subgroup && !module.workgroup_invocations().is_multiple_of(module.subgroup_size);
    if is_partly_filled || !body.insts.iter().any(|info| component(body, info, scope).is_some()) {
        return;
    }
    let uniformity = match scope {
        Scope::Workgroup => Uniformity::of_workgroup(module),
        _ => Uniformity::analyse(module),
    };
    for block in 0..module.body.blocks.len() {
        if uniformity.is_divergent_block(Block::new(block)) {
            continue;
        }
        let list = module.body.blocks[block].clone();
        let mut new = Vec::with_capacity(list.len());
        for (at, &inst) in list.iter().enumerate() {
            match Alike::of(module, (&uniformity, scope), &list[..at], inst) {
                Some(found) => new.extend(found.map(&mut module.body)),
                None => new.push(inst),
            }
        }
        module.body.blocks[block] = new;
    }
}

/// The variable, its index and the component of a matrix of a scope that an instruction accesses.
fn component(func: &Function, info: &InstInfo, scope: Scope) -> Option<(Var, Value, Value)> {
    let (Op::VarComponentLoad(var) | Op::VarComponentStore(var)) = info.op else { return None };
    let is_right = |m: MatType| {
        // Factors of a subgroup lie as a CPU multiplies them, where functions of elements go a long way.
        m.scope == scope && (scope == Scope::Workgroup || m.use_ == Use::Accumulator)
    };
    let is_right = func.var(var).ty.mat().is_some_and(is_right);
    is_right.then(|| (var, info.args[0], info.args[1]))
}

/// A loop that does the same to each component.
struct Alike {
    inst: Inst,
    counter: Var,
    length: Value,
    matrix: Var,
    index: Value,
    /// The matrices whose components it is computed of, with their indices.
    sources: Vec<(Var, Value)>,
    /// What computes it, and the result.
    steps: Vec<Inst>,
    stored: Value,
}

impl Alike {
    /// The loop, if it is one, with what comes before it in its block.
    fn of(
        module: &Module,
        (uniformity, scope): (&Uniformity, Scope),
        before: &[Inst],
        inst: Inst,
    ) -> Option<Self> {
        let f = &module.body;
        let Op::Loop { label, body } = f.inst(inst).op else { return None };
        let &[load, compare, fork] = f.block(body) else { return None };
        let [load, compare, fork] = [load, compare, fork].map(|inst| f.inst(inst));
        let (&Op::VarLoad(counter), [], &[number]) = (&load.op, &load.args[..], &load.results[..]) else {
            return None;
        };
        let (Op::Compare(CompareOp::Ult | CompareOp::Slt), &[first, length]) =
            (&compare.op, &compare.args[..])
        else {
            return None;
        };
        let Op::If { then, otherwise } = fork.op else { return None };
        let &[ref insts @ .., last, again] = f.block(then) else { return None };
        let goes_on = first == number
            && fork.args[..] == compare.results[..]
            && f.block(otherwise).is_empty()
            && f.inst(again).op == Op::Br(label)
            && starts_with_zero(f, before, counter);
        let mut search = Search::new(f, (uniformity, scope), counter, number);
        let next = f.inst(last);
        let counts = || next.op == Op::VarStore(counter) && next.args.len() == 1;
        if !goes_on || !counts() || !insts.iter().all(|&inst| search.visit(inst)) {
            return None;
        }
        let (matrix, index, stored) = search.stored?;
        let layout = |var: Var| f.var(var).ty.mat().map(|m| module.layout(m));
        let is_whole = f.const_bits(length) == Some(layout(matrix)?.registers().into())
            && search.loaded.iter().all(|&(var, _)| layout(var) == layout(matrix));
        let (sources, steps) = (search.loaded, search.steps);
        (is_whole && search.next == Some(next.args[0])).then_some(Self {
            inst,
            counter,
            length,
            matrix,
            index,
            sources,
            steps,
            stored,
        })
    }

    /// The function of each element, in the place of the loop.
    fn map(self, func: &mut Function) -> Vec<Inst> {
        let Self { counter, length, matrix, index, mut sources, stored, .. } = self;
        let (loc, ty) = (func.inst(self.inst).loc, func.var(matrix).ty);
        if sources.is_empty() {
            sources.push((matrix, index));
        }
        let elem = |func: &Function, var: Var| func.var(var).ty.mat().map_or(Type::I32, |m| m.elem.into());
        let elems: Vec<Type> = sources.iter().map(|&(var, _)| elem(func, var)).collect();
        let params: Vec<Type> = [Type::I32, Type::I32].into_iter().chain(elems).collect();
        let mut b = Builder { block: func.new_block(), func, loc, exact: false };
        let (code, region) = (b.block, b.func.new_block());
        let index_of = |func: &Function, var: Var, index| (func.var(var).count > 1).then_some(index);
        let wholes: Vec<Value> = sources
            .iter()
            .map(|&(var, index)| {
                let index = index_of(b.func, var, index);
                b.var_load(var, index)
            })
            .collect();
        b.within(region, |b| {
            let params = b.values(Op::Params, &[], &params);
            let mut now = BTreeMap::new();
            for step in self.steps {
                let info = b.func.inst(step).clone();
                if let Op::VarComponentLoad(var) = info.op {
                    let source = sources.iter().position(|&source| source == (var, info.args[0]));
                    let source = source.expect("what is loaded is a source");
                    now.insert(info.results[0], params[2 + source]);
                    continue;
                }
                let args: Vec<Value> = info.args.iter().map(|v| *now.get(v).unwrap_or(v)).collect();
                (b.loc, b.exact) = (info.loc, info.exact);
                let result = b.value(info.op, &args, b.func.ty(info.results[0]));
                now.insert(info.results[0], result);
            }
            (b.loc, b.exact) = (loc, false);
            b.effect(Op::Yield, &[*now.get(&stored).unwrap_or(&stored)]);
        });
        let mapped = b.value(Op::MatMap { body: region }, &wholes, ty);
        b.var_store(matrix, index_of(b.func, matrix, index), mapped);
        b.var_store(counter, None, length);
        std::mem::take(&mut func.blocks[code.index()])
    }
}

/// Whether the last of these instructions that has to do with a variable makes it zero.
fn starts_with_zero(f: &Function, before: &[Inst], counter: Var) -> bool {
    let last = before
        .iter()
        .rev()
        .map(|&inst| f.inst(inst))
        .find(|info| info.op.bodies().next().is_some() || info.op.vars().any(|(var, _)| var == counter));
    last.is_some_and(|info| {
        info.op == Op::VarStore(counter) && info.args.len() == 1 && f.const_bits(info.args[0]) == Some(0)
    })
}

/// What a round does, as far as it was looked at.
struct Search<'f> {
    f: &'f Function,
    uniformity: &'f Uniformity,
    scope: Scope,
    counter: Var,
    /// Values that are the component's number.
    numbers: BTreeSet<Value>,
    /// The number of the next component.
    next: Option<Value>,
    /// What the round computes.
    inside: BTreeSet<Value>,
    steps: Vec<Inst>,
    loaded: Vec<(Var, Value)>,
    stored: Option<(Var, Value, Value)>,
}

impl<'f> Search<'f> {
    fn new(
        f: &'f Function,
        (uniformity, scope): (&'f Uniformity, Scope),
        counter: Var,
        number: Value,
    ) -> Self {
        Self {
            f,
            uniformity,
            scope,
            counter,
            numbers: BTreeSet::from([number]),
            next: None,
            inside: BTreeSet::new(),
            steps: Vec::new(),
            loaded: Vec::new(),
            stored: None,
        }
    }

    /// Whether an instruction is about this component and no other.
    fn visit(&mut self, inst: Inst) -> bool {
        let f = self.f;
        let info = f.inst(inst);
        match info.op {
            Op::VarLoad(var) if var == self.counter && info.args.is_empty() => {
                self.numbers.extend(&info.results);
                true
            }
            Op::Binary(BinaryOp::Iadd) if self.numbers.contains(&info.args[0]) => {
                self.next = Some(info.results[0]);
                f.const_bits(info.args[1]) == Some(1)
            }
            Op::VarComponentLoad(_) | Op::VarComponentStore(_) => self.access(inst),
            ref op => {
                let of_scalars =
                    info.args.iter().chain(&info.results).all(|v| matches!(f.ty(*v), Type::Scalar(_)));
                let is_known = |v: &Value| self.is_alike(*v);
                let computes = op.computes() && of_scalars && info.results.len() == 1;
                let is_part = computes && info.args.iter().all(is_known);
                self.inside.extend(&info.results);
                self.steps.push(inst);
                is_part
            }
        }
    }

    /// Whether a value is the component's or the same for all of the scope.
    fn is_alike(&self, v: Value) -> bool {
        let is_number = self.numbers.contains(&v) || self.next == Some(v);
        !is_number && (self.inside.contains(&v) || self.uniformity.is_uniform(v))
    }

    fn access(&mut self, inst: Inst) -> bool {
        let info = self.f.inst(inst);
        let Some((var, index, number)) = component(self.f, info, self.scope) else { return false };
        let is_own = self.numbers.contains(&number)
            && !self.inside.contains(&index)
            && self.is_alike(index)
            && self.stored.is_none();
        match info.args.get(2) {
            Some(&v) => {
                self.stored = Some((var, index, v));
                is_own && self.is_alike(v)
            }
            None => {
                if !self.loaded.contains(&(var, index)) {
                    self.loaded.push((var, index));
                }
                self.inside.extend(&info.results);
                self.steps.push(inst);
                is_own
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::{LANES, Options, Pipeline, THREADS, optimize_by};
    use crate::text::parse;
    use crate::verify::verify;

    /// What a GPU gets of a loop over components with this body, of a matrix with 64 in each invocation.
    fn optimized(length: u32, body: &str) -> String {
        optimized_of(length, body, |source| source)
    }

    /// The same, with the text changed.
    fn optimized_of(length: u32, body: &str, change: impl FnOnce(String) -> String) -> String {
        optimized_by(&THREADS, length, body, change)
    }

    /// What a target gets of it.
    fn optimized_by(
        pipeline: &Pipeline,
        length: u32,
        body: &str,
        change: impl FnOnce(String) -> String,
    ) -> String {
        let source = format!(
            "kernel \"main\"\nworkgroup_size 128 1 1\nsubgroup_size 32\n\
             var $i: i32 var $m: mat<64x128xf16, workgroup, acc> {{
                %zero: i32 = const 0
                %one: i32 = const 1
                %low: f16 = const 1.0
                %lane: i32 = local_invocation_index
                %own: f16 = u_to_f %lane
                %n: i32 = const {length}
                %m: mat<64x128xf16, workgroup, acc> = mat_splat %low
                var_store<$m> %m
                var_store<$i> %zero
                loop @next {{
                    %i: i32 = var_load<$i>
                    %more: bool = ult %i, %n
                    if %more {{
                        %at: i32 = var_load<$i>
                        {body}
                        %k: i32 = var_load<$i>
                        %j: i32 = iadd %k, %one
                        var_store<$i> %j
                        br @next
                    }}
                }}
                %g: ptr<buffer> = buffer_ptr<buf0> %zero
                %stride: i64 = const 256
                %r: mat<64x128xf16, workgroup, acc> = var_load<$m>
                mat_store %g, %r, %stride
            }}"
        );
        let source = change(source).replacen("var $i", "binding buf0 = 0.0 storage writable var $i", 1);
        let module = verify(parse(&source).unwrap_or_else(|e| panic!("{e}\n{source}"))).expect("it is right");
        optimize_by(pipeline, module, &Options::default()).expect("the passes are right").to_string()
    }

    #[test]
    fn a_loop_over_all_components_is_a_function_of_elements() {
        let body = "%x: f16 = var_component_load<$m> %zero, %i\n%y: f16 = fmax %x, %low\n\
                    var_component_store<$m> %zero, %at, %y";
        let whole = optimized(64, body);
        assert!(whole.contains("mat_map") && !whole.contains("var_component"), "{whole}");
        // Of two matrices, if an invocation has the same elements of both.
        let two = |other: &str| {
            let body = body
                .replace("%y: f16 = fmax", "%z: f16 = var_component_load<$o> %zero, %at\n%y: f16 = fmax")
                .replace("%x, %low", "%x, %z");
            let source = |s: String| s.replacen("var $m", &format!("var $o: mat<{other}> var $m"), 1);
            optimized_of(64, &body, source)
        };
        assert!(two("64x128xf16, workgroup, acc").contains("mat_map"));
        assert!(!two("128x64xf16, workgroup, acc").contains("mat_map"));
        // Not all components, and other ones.
        assert!(!optimized(63, body).contains("mat_map"));
        assert!(!optimized(64, &body.replace("%zero, %i", "%zero, %one")).contains("mat_map"));
        // What an invocation has by itself.
        assert!(!optimized(64, &body.replace("%x, %low", "%x, %own")).contains("mat_map"));
        // Some invocations alone, as others take another way or have left.
        let around = |source: &str| {
            source.replacen("loop @next", "%some: bool = ult %lane, %one\nif %some {\nloop @next", 1)
        };
        let branch = optimized_of(64, body, |source| around(&source).replacen("%g:", "} else {\n}\n%g:", 1));
        assert!(!branch.contains("mat_map"), "{branch}");
        let left = optimized_of(64, body, |source| {
            source.replacen(
                "loop @next",
                "%some: bool = ult %lane, %one\nif %some {\nreturn\n} else {\n}\nloop @next",
                1,
            )
        });
        assert!(!left.contains("mat_map"), "{left}");
        // Of the lanes of a subgroup, by a signed counter, too; not where some lanes do not exist.
        let of_lanes = |source: String| {
            source.replace("workgroup,", "subgroup,").replace("64x128", "16x128").replace("ult %i", "slt %i")
        };
        let lanes = optimized_by(&LANES, 64, body, of_lanes);
        assert!(lanes.contains("mat_map") && !lanes.contains("var_component"), "{lanes}");
        let factor = |source| of_lanes(source).replace("acc>", "a>");
        assert!(!optimized_by(&LANES, 64, body, factor).contains("mat_map"));
        let fewer = |source| of_lanes(source).replace("workgroup_size 128", "workgroup_size 120");
        assert!(!optimized_by(&LANES, 64, body, fewer).contains("mat_map"));
        // Two stores.
        let twice = format!("{body}\nvar_component_store<$m> %zero, %at, %x");
        assert!(!optimized(64, &twice).contains("mat_map"));
    }
}
