//! Says which components of matrices belong to which invocation, where a module leaves that open: the target's answer.
//!
//! The module takes over the distribution, which accesses of components obey from then on, and the place of a component
//! is computed from its number and that of the invocation.

use crate::builder::Builder;
use crate::distribution::{Calc, Distribution};
use crate::entities::{Inst, Value};
use crate::module::{Function, Module};
use crate::op::{BinaryOp, Builtin, Op};
use crate::types::{Scope, Type};
use std::convert::Infallible;

/// Whether some code asks where a component is.
pub(super) fn is_open(func: &Function) -> bool {
    func.blocks.iter().flatten().any(|&inst| func.inst(inst).op == Op::MatCoordinate)
}

pub(super) fn run(module: &mut Module, distribution: Distribution) {
    module.distribution = distribution;
    if !is_open(&module.body) {
        return;
    }
    // By value: what it is now.
    let mut places: Vec<Option<Value>> = vec![None; module.body.values.len()];
    for block in 0..module.body.blocks.len() {
        let old = std::mem::take(&mut module.body.blocks[block]);
        let mut new = Vec::with_capacity(old.len());
        for inst in old {
            match place(module, inst) {
                Some((code, place)) => {
                    new.extend(code);
                    for (&result, x) in module.body.inst(inst).results.iter().zip(place) {
                        places[result.index()] = Some(x);
                    }
                }
                None => new.push(inst),
            }
        }
        module.body.blocks[block] = new;
    }
    for arg in module.body.insts.iter_mut().flat_map(|info| &mut info.args) {
        if let Some(&Some(x)) = places.get(arg.index()) {
            *arg = x;
        }
    }
}

/// What computes the row and the column of a component, if an instruction asks for them, and these.
fn place(module: &mut Module, inst: Inst) -> Option<(Vec<Inst>, [Value; 2])> {
    let info = module.body.inst(inst).clone();
    let (Op::MatCoordinate, &[matrix, component]) = (&info.op, &info.args[..]) else { return None };
    let m = module.body.ty(matrix).mat()?;
    let layout = module.layout(m);
    let own = match m.scope {
        Scope::Workgroup => Builtin::LocalInvocationIndex,
        _ => Builtin::SubgroupLane,
    };
    let func = &mut module.body;
    let mut b = Builder { block: func.new_block(), func, loc: info.loc, exact: false };
    let own = b.value(Op::Builtin(own), &[], Type::I32);
    let Ok((row, column)) = layout.place(&mut Later(&mut b), own, component);
    let block = b.block;
    Some((std::mem::take(&mut func.blocks[block.index()]), [row, column]))
}

/// Arithmetic of code of the IR.
struct Later<'b, 'f>(&'b mut Builder<'f>);

impl Later<'_, '_> {
    fn by(&mut self, op: BinaryOp, x: Value, y: u32) -> Value {
        let y = self.0.i32(y.cast_signed());
        self.0.binary(op, x, y)
    }
}

impl Calc for Later<'_, '_> {
    type N = Value;
    type Error = Infallible;

    fn sum(&mut self, x: Value, y: Value) -> Result<Value, Infallible> {
        Ok(self.0.binary(BinaryOp::Iadd, x, y))
    }

    fn times(&mut self, x: Value, y: u32) -> Result<Value, Infallible> {
        Ok(self.by(BinaryOp::Imul, x, y))
    }

    fn quotient(&mut self, x: Value, y: u32) -> Result<Value, Infallible> {
        Ok(self.by(BinaryOp::Udiv, x, y))
    }

    fn remainder(&mut self, x: Value, y: u32) -> Result<Value, Infallible> {
        Ok(self.by(BinaryOp::Umod, x, y))
    }
}

#[cfg(test)]
mod tests {
    use crate::distribution::Distribution;
    use crate::passes::{Options, distribute, simplify};
    use crate::text::parse;
    use crate::verify::{Verified, verify};

    fn module(scope: &str) -> Verified {
        let text = format!(
            "workgroup_size 64 1 1 subgroup_size 32 binding buf0 = 0.0 storage writable {{
                %0: i32 = const 0
                %1: f32 = const 0.0
                %2: mat<16x16xf32, {scope}, acc> = mat_splat %1
                %3: i32 = const 5
                %4: i32, %5: i32 = mat_coordinate %2, %3
                %6: ptr<buffer> = buffer_ptr<buf0> %0
                store %6, %4, %5
            }}"
        );
        verify(parse(&text).expect("it is text")).expect("it is right")
    }

    fn distributed(scope: &str, distribution: Distribution) -> String {
        let module =
            distribute(&module(scope), distribution).expect("the pass is right").expect("it was open");
        assert!(distribute(&module, distribution).expect("the pass is right").is_none());
        simplify(module).expect("the passes are right").to_string()
    }

    #[test]
    fn places_become_arithmetic_of_the_own_number() {
        let rows = distributed("subgroup", Distribution::Rows);
        assert!(!rows.contains("mat_coordinate") && !rows.contains("components"), "{rows}");
        assert!(rows.contains("subgroup_lane") && rows.contains("const 160"), "{rows}");
        let group = distributed("workgroup", Distribution::Rows);
        assert!(group.contains("local_invocation_index") && group.contains("const 320"), "{group}");
        let fragments = distributed("subgroup", Distribution::Fragments);
        assert!(
            fragments.contains("components fragments") && fragments.contains("subgroup_lane"),
            "{fragments}"
        );
        // Two warps hold it: they have no fragments.
        let group = distributed("workgroup", Distribution::Fragments);
        assert!(group.contains("const 320"), "{group}");
    }

    #[test]
    fn pipelines_leave_nothing_open() {
        for pipeline in [&crate::passes::LANES, &crate::passes::THREADS] {
            let module = crate::passes::optimize_by(pipeline, module("subgroup"), &Options::default());
            let module = module.expect("the passes are right");
            assert_eq!(module.distribution, pipeline.distribution);
            assert!(!module.to_string().contains("mat_coordinate"));
        }
    }
}
