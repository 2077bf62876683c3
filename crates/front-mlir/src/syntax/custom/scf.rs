//! `scf`: structured control flow.

use super::{Custom, i64_array, int_type};
use crate::ast::Type;
use crate::syntax::error::Parsed;
use crate::syntax::operation::Draft;
use crate::syntax::parser::Parser;
use crate::syntax::scope::Use;

/// What reads the custom form of an operation.
pub(super) fn parser(op: &str) -> Option<Custom> {
    Some(match op {
        "for" => for_op,
        "if" => if_op,
        "while" => while_op,
        "condition" => condition,
        "yield" | "reduce.return" => super::func::return_op,
        "index_switch" => index_switch,
        "parallel" => parallel,
        "reduce" => reduce,
        "execute_region" => execute_region,
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    /// `(%a = %b, …)`: names and what they begin with.
    pub(super) fn assignments(&mut self) -> Parsed<(Vec<Use<'a>>, Vec<Use<'a>>)> {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        self.list(b'(', b')', |p| {
            names.push(p.argument()?);
            p.expect(b'=')?;
            values.push(p.operand()?);
            Ok(())
        })?;
        Ok((names, values))
    }

    /// `-> types`, if it comes next.
    pub(super) fn optional_results(&mut self) -> Parsed<Vec<Type>> {
        if self.eat_arrow() { self.result_types() } else { Ok(Vec::new()) }
    }
}

/// Names of a region's arguments with their types.
pub(super) fn entry<'a>(names: &[Use<'a>], types: &[Type]) -> Vec<(Option<Use<'a>>, Type)> {
    names.iter().zip(types).map(|(name, ty)| (Some(*name), ty.clone())).collect()
}

/// `%i = %from to %to step %step iter_args(%a = %b) -> (type) : type { … }`
fn for_op(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let variable = p.argument()?;
    p.expect(b'=')?;
    let from = p.operand()?;
    p.expect_word("to")?;
    let to = p.operand()?;
    p.expect_word("step")?;
    let step = p.operand()?;
    let (mut names, mut initial) = (Vec::new(), Vec::new());
    if p.eat_word("iter_args") {
        (names, initial) = p.assignments()?;
        p.expect_arrow()?;
        draft.result_types = p.result_types()?;
    }
    let ty = if p.at(b':') { p.colon_type()? } else { Type::Index };
    p.resolve_all(&[from, to, step], &ty, draft)?;
    p.resolve_each(&initial, &draft.result_types.clone(), draft)?;
    let mut args = vec![(Some(variable), ty)];
    args.extend(entry(&names, &draft.result_types));
    let region = p.region_with(args, "scf.yield")?;
    draft.op.regions.push(region);
    p.attr_tail(draft)
}

fn if_op(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let condition = p.operand()?;
    p.resolve(condition, &int_type(1), draft)?;
    draft.result_types = p.optional_results()?;
    let then = p.region_with(Vec::new(), "scf.yield")?;
    draft.op.regions.push(then);
    let other = if p.eat_word("else") {
        p.region_with(Vec::new(), "scf.yield")?
    } else {
        crate::ast::Region::default()
    };
    draft.op.regions.push(other);
    p.attr_tail(draft)
}

/// `(%a = %b) : (types) -> types { … } do { … }`
fn while_op(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let (mut names, mut initial) = (Vec::new(), Vec::new());
    if p.at(b'(') {
        (names, initial) = p.assignments()?;
    }
    p.expect(b':')?;
    let (inputs, results) = p.function_type()?;
    p.resolve_each(&initial, &inputs, draft)?;
    draft.result_types = results;
    let before = p.region(entry(&names, &inputs), false)?;
    p.expect_word("do")?;
    let after = p.region(Vec::new(), false)?;
    draft.op.regions.extend([before, after]);
    p.attributes(draft)
}

fn condition(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.expect(b'(')?;
    let condition = p.operand()?;
    p.expect(b')')?;
    p.resolve(condition, &int_type(1), draft)?;
    p.attr_tail(draft)?;
    p.typed_operands(draft)
}

/// `%i -> types case 1 { … } default { … }`; the generic form has the default first.
fn index_switch(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let index = p.operand()?;
    p.resolve(index, &Type::Index, draft)?;
    p.attr_tail(draft)?;
    draft.result_types = p.optional_results()?;
    let (mut cases, mut regions) = (Vec::new(), Vec::new());
    while p.eat_word("case") {
        cases.push(p.integer()?);
        regions.push(p.region_with(Vec::new(), "scf.yield")?);
    }
    p.expect_word("default")?;
    let default = p.region_with(Vec::new(), "scf.yield")?;
    draft.op.regions.push(default);
    draft.op.regions.append(&mut regions);
    draft.set("cases", i64_array(&cases));
    Ok(())
}

/// `(%i, %j) = (…) to (…) step (…) init (…) -> types { … }`
fn parallel(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let mut variables = Vec::new();
    p.list(b'(', b')', |p| {
        variables.push(p.argument()?);
        Ok(())
    })?;
    p.expect(b'=')?;
    let from = p.operands_in(b'(', b')')?;
    p.expect_word("to")?;
    let to = p.operands_in(b'(', b')')?;
    p.expect_word("step")?;
    let step = p.operands_in(b'(', b')')?;
    for bounds in [&from, &to, &step] {
        if bounds.len() != variables.len() {
            return p.expected("as many bounds and steps as variables before");
        }
    }
    let initial = if p.eat_word("init") { p.operands_in(b'(', b')')? } else { Vec::new() };
    draft.result_types = p.optional_results()?;
    for bounds in [&from, &to, &step] {
        p.resolve_all(bounds, &Type::Index, draft)?;
    }
    p.resolve_each(&initial, &draft.result_types.clone(), draft)?;
    let args = variables.iter().map(|name| (Some(*name), Type::Index)).collect();
    let region = p.region_with(args, "scf.reduce")?;
    draft.op.regions.push(region);
    p.attr_tail(draft)?;
    draft.segments(&[from.len(), to.len(), step.len(), initial.len()]);
    Ok(())
}

/// `(%a, %b : types) { … }, { … }`
fn reduce(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    if p.eat(b'(') {
        p.typed_operands(draft)?;
        p.expect(b')')?;
    }
    if p.at(b'{') {
        for index in 0..draft.op.operands.len() {
            if index > 0 {
                p.expect(b',')?;
            }
            let region = p.region(Vec::new(), false)?;
            draft.op.regions.push(region);
        }
    }
    p.attr_tail(draft)
}

fn execute_region(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    draft.result_types = p.optional_results()?;
    let region = p.region(Vec::new(), false)?;
    draft.op.regions.push(region);
    p.attr_tail(draft)
}
