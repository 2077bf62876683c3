//! `cf`: branches.

use super::{Custom, int_type};
use crate::ast::{Attr, Type, ValueId};
use crate::syntax::error::Parsed;
use crate::syntax::operation::{Draft, i32_array};
use crate::syntax::parser::Parser;

/// What reads the custom form of an operation.
pub(super) fn parser(op: &str) -> Option<Custom> {
    Some(match op {
        "br" => br,
        "cond_br" => cond_br,
        "switch" => switch,
        "assert" => assert,
        _ => return None,
    })
}

impl Parser<'_> {
    /// `^label(%a, %b : type, type)`; gives the values.
    fn target(&mut self, draft: &mut Draft) -> Parsed<Vec<ValueId>> {
        let successor = self.label()?;
        draft.op.successors.push(successor);
        let mut values = Vec::new();
        if self.eat(b'(') {
            let operands = self.operands()?;
            self.expect(b':')?;
            let types = self.types()?;
            self.expect(b')')?;
            if operands.len() != types.len() {
                return self.expected("as many types as values before");
            }
            for (operand, ty) in operands.iter().zip(&types) {
                values.push(self.scopes.resolve(*operand, ty)?);
            }
        }
        Ok(values)
    }
}

fn br(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    draft.op.operands = p.target(draft)?;
    p.attr_tail(draft)
}

fn cond_br(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let condition = p.operand()?;
    p.resolve(condition, &int_type(1), draft)?;
    p.expect(b',')?;
    let then = p.target(draft)?;
    p.expect(b',')?;
    let other = p.target(draft)?;
    p.attr_tail(draft)?;
    draft.segments(&[1, then.len(), other.len()]);
    draft.op.operands.extend(then.into_iter().chain(other));
    Ok(())
}

/// `%flag : type, [default: ^a, 1: ^b(%x : type)]`
fn switch(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let flag = p.operand()?;
    let ty = p.colon_type()?;
    p.resolve(flag, &ty, draft)?;
    p.expect(b',')?;
    p.expect(b'[')?;
    p.expect_word("default")?;
    p.expect(b':')?;
    let default = p.target(draft)?;
    let (mut cases, mut counts, mut values) = (Vec::new(), Vec::new(), Vec::new());
    while p.eat(b',') {
        let pos = p.pos();
        let literal = p.literal("a case's number")?;
        cases.push(p.typed_number(literal, &ty, pos)?);
        p.expect(b':')?;
        let taken = p.target(draft)?;
        counts.push(taken.len());
        values.extend(taken);
    }
    p.expect(b']')?;
    p.attr_tail(draft)?;
    draft.segments(&[1, default.len(), values.len()]);
    draft.set("case_operand_segments", i32_array(&counts));
    if !cases.is_empty() {
        let ty = Type::Vector(vec![cases.len() as u64], Box::new(ty));
        draft.set("case_values", Attr::Dense(crate::syntax::dense::splat(cases), ty));
    }
    draft.op.operands.extend(default.into_iter().chain(values));
    Ok(())
}

fn assert(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let condition = p.operand()?;
    p.resolve(condition, &int_type(1), draft)?;
    p.expect(b',')?;
    let message = p.string()?;
    draft.set("msg", Attr::Str(message));
    p.attr_tail(draft)
}
