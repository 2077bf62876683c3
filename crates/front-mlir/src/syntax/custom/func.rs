//! `builtin.module`, `func`, `ub`, and the signatures that functions of other dialects share.

use super::Custom;
use crate::ast::{Attr, Region, Type};
use crate::syntax::error::{Parsed, SyntaxError};
use crate::syntax::lexer::Token;
use crate::syntax::operation::Draft;
use crate::syntax::parser::Parser;
use crate::syntax::scope::Use;

/// What reads the custom form of an operation.
pub(super) fn parser(name: &str) -> Option<Custom> {
    Some(match name {
        "builtin.module" => module,
        "builtin.unrealized_conversion_cast" => unrealized_conversion_cast,
        "func.func" => func,
        "func.return" => return_op,
        "func.call" => call,
        "func.call_indirect" => call_indirect,
        "func.constant" => constant,
        "ub.poison" => poison,
        _ => return None,
    })
}

fn module(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    if matches!(p.word.token, Token::Symbol(_) | Token::QuotedSymbol(_)) {
        let name = p.symbol()?;
        draft.set("sym_name", Attr::Str(name));
    }
    p.attributes(draft)?;
    draft.op.regions.push(p.region(Vec::new(), true)?);
    Ok(())
}

fn unrealized_conversion_cast(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    if p.optional_use_next() {
        p.typed_operands(draft)?;
    }
    p.expect_word("to")?;
    draft.result_types = p.types()?;
    p.attr_tail(draft)
}

/// Arguments and results of a function.
#[derive(Debug, Default)]
pub(super) struct Signature<'a> {
    /// Names are missing in declarations.
    pub(super) args: Vec<(Option<Use<'a>>, Type)>,
    arg_attrs: Vec<Attr>,
    results: Vec<Type>,
    result_attrs: Vec<Attr>,
}

impl Signature<'_> {
    /// Writes the type and the attributes of arguments and results down.
    pub(super) fn record(&self, draft: &mut Draft) {
        let inputs = self.args.iter().map(|(_, ty)| ty.clone()).collect();
        draft.set("function_type", Attr::Type(Type::Function(inputs, self.results.clone())));
        record_attrs(draft, "arg_attrs", &self.arg_attrs);
        record_attrs(draft, "res_attrs", &self.result_attrs);
    }
}

/// Writes attributes down, a dictionary for each thing, unless all are empty.
pub(super) fn record_attrs(draft: &mut Draft, name: &str, attrs: &[Attr]) {
    if attrs.iter().any(|attr| !matches!(attr, Attr::Dict(items) if items.is_empty())) {
        draft.set(name, Attr::Array(attrs.to_vec()));
    }
}

impl<'a> Parser<'a> {
    /// `(%a: type {attributes}, …) -> (type {attributes}, …)`
    pub(super) fn signature(&mut self) -> Parsed<Signature<'a>> {
        let mut signature = Signature::default();
        self.list(b'(', b')', |p| {
            let name = p.optional_operand()?;
            if let Some((first, _)) = signature.args.first()
                && first.is_some() != name.is_some()
            {
                return p.expected("names for all arguments or for none");
            }
            let ty = if name.is_some() { p.colon_type()? } else { p.ty()? };
            signature.arg_attrs.push(p.attrs_of_one()?);
            p.optional_location()?;
            signature.args.push((name, ty));
            Ok(())
        })?;
        if self.eat_arrow() {
            if self.at(b'(') {
                self.list(b'(', b')', |p| {
                    signature.results.push(p.ty()?);
                    signature.result_attrs.push(p.attrs_of_one()?);
                    Ok(())
                })?;
            } else {
                signature.results.push(self.ty()?);
            }
        }
        Ok(signature)
    }

    /// The region of a function, which must not be empty. If its arguments have no names, the first block names them.
    pub(super) fn body(&mut self, mut args: Vec<(Option<Use<'a>>, Type)>) -> Parsed<Region> {
        let pos = self.pos();
        args.retain(|(name, _)| name.is_some());
        let region = self.region(args, true)?;
        if region.blocks.is_empty() {
            return Err(SyntaxError::unexpected(pos, "a body that returns", "an empty one"));
        }
        Ok(region)
    }

    pub(super) fn attrs_of_one(&mut self) -> Parsed<Attr> {
        let mut attrs = Vec::new();
        self.optional_attr_dict(&mut attrs)?;
        Ok(Attr::Dict(attrs))
    }

    /// `public`, `private` or `nested`, if it comes next.
    fn visibility(&mut self, draft: &mut Draft) {
        if let Token::Word(word @ ("public" | "private" | "nested")) = self.word.token {
            self.advance();
            draft.set("sym_visibility", Attr::Str(word.into()));
        }
    }
}

fn func(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.visibility(draft);
    let name = p.symbol()?;
    draft.set("sym_name", Attr::Str(name));
    let signature = p.signature()?;
    signature.record(draft);
    p.attributes(draft)?;
    let region = if p.at(b'{') { p.body(signature.args)? } else { Region::default() };
    draft.op.regions.push(region);
    Ok(())
}

/// Attributes, then values with their types.
pub(super) fn return_op(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.attr_tail(draft)?;
    p.typed_operands(draft)
}

fn call(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let callee = p.symbol_attr()?;
    draft.set("callee", callee);
    let operands = p.operands_in(b'(', b')')?;
    p.attr_tail(draft)?;
    p.functional(&operands, draft)
}

fn call_indirect(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let callee = p.operand()?;
    let operands = p.operands_in(b'(', b')')?;
    p.attr_tail(draft)?;
    p.expect(b':')?;
    let (inputs, results) = p.function_type()?;
    p.resolve(callee, &Type::Function(inputs.clone(), results.clone()), draft)?;
    p.resolve_each(&operands, &inputs, draft)?;
    draft.result_types = results;
    Ok(())
}

fn constant(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.attr_tail(draft)?;
    let value = p.symbol_attr()?;
    draft.set("value", value);
    draft.result_types.push(p.colon_type()?);
    Ok(())
}

/// `ub.poison : type`, with a value of the dialect's own in angle brackets before that.
fn poison(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.attr_tail(draft)?;
    if p.eat(b'<') {
        let value = p.attr()?;
        draft.set("value", value);
        p.expect(b'>')?;
    }
    draft.result_types.push(p.colon_type()?);
    Ok(())
}
