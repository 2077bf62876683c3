//! Operations: what all of them share, and the generic form.

use super::attrs::Attrs;
use super::custom;
use super::error::{Parsed, SyntaxError};
use super::lexer::Token;
use super::parser::{Parser, parse_int};
use super::scope::Use;
use super::{defaults, location};
use crate::ast::{Op, Pos, Type, ValueId};

/// The longest name of a group of results, in bytes.
const GROUP_NAME: usize = 256;

/// An operation that is being read.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) op: Op,
    pub(crate) result_types: Vec<Type>,
}

/// Names on the left of `=`: `%a`, or `%a:3`.
type ResultNames<'a> = Vec<(Use<'a>, u32)>;

impl<'a> Parser<'a> {
    /// An operation in whatever form.
    pub(crate) fn op(&mut self) -> Parsed<Op> {
        self.nest(Self::op_inside)
    }

    fn op_inside(&mut self) -> Parsed<Op> {
        let names = self.result_names()?;
        let pos = self.pos();
        let op = Op {
            name: Box::default(),
            pos,
            loc: None,
            operands: Vec::new(),
            results: Vec::new(),
            attrs: Vec::new(),
            regions: Vec::new(),
            successors: Vec::new(),
        };
        let mut draft = Draft { op, result_types: Vec::new() };
        match self.word.token {
            Token::Str(_) => self.generic(&mut draft)?,
            Token::Word(name) => {
                draft.op.name = custom::full_name(name).into();
                let Some(parse) = custom::parser(&draft.op.name) else {
                    return Err(SyntaxError::unsupported(
                        pos,
                        format!("the operation {}", super::lexer::quoted(&draft.op.name)),
                    ));
                };
                self.advance();
                parse(self, &mut draft)?;
            }
            _ => return self.expected("an operation"),
        }
        let Draft { mut op, result_types } = draft;
        if let Some(loc) = self.optional_location()? {
            op.loc = Some(loc);
        }
        defaults::complete(&mut op);
        op.results = self.define_results(&names, result_types, pos)?;
        Ok(op)
    }

    fn result_names(&mut self) -> Parsed<ResultNames<'a>> {
        let mut names = Vec::new();
        if !matches!(self.word.token, Token::Value(_)) {
            return Ok(names);
        }
        loop {
            let Token::Value(name) = self.word.token else { return self.expected("a result's name `%name`") };
            let at = Use { name, index: 0, pos: self.pos() };
            self.advance();
            let count = if self.eat(b':') { self.count("a number of results")? } else { 1u32 };
            if count == 0 {
                return Err(SyntaxError::unexpected(at.pos, "at least one result", "none"));
            }
            // Each result of a group is looked for by the whole name.
            if count > 1 && name.len() > GROUP_NAME {
                let expected = format!("a name of at most {GROUP_NAME} bytes for several results");
                return Err(SyntaxError::unexpected(at.pos, expected, super::lexer::quoted(name)));
            }
            names.push((at, count));
            if self.eat(b'=') {
                return Ok(names);
            }
            if !self.eat(b',') {
                return self.expected("`,` or `=`");
            }
        }
    }

    fn define_results(
        &mut self,
        names: &ResultNames<'a>,
        types: Vec<Type>,
        pos: Pos,
    ) -> Parsed<Vec<ValueId>> {
        if names.is_empty() {
            return Ok(types.into_iter().map(|ty| self.scopes.unnamed(ty, pos)).collect());
        }
        let named = names.iter().map(|(_, count)| u64::from(*count)).sum::<u64>();
        if named != types.len() as u64 {
            let expected = format!("{} names of results, as many as the operation has", types.len());
            return Err(SyntaxError::unexpected(names[0].0.pos, expected, format!("{named}")));
        }
        let mut types = types.into_iter();
        let mut results = Vec::with_capacity(types.len());
        for (at, count) in names {
            for (index, ty) in (0..*count).zip(types.by_ref().take(*count as usize)) {
                results.push(self.scopes.define(Use { index, ..*at }, ty)?);
            }
        }
        Ok(results)
    }

    /// `"name"(operands)[successors] <{properties}> ({regions}) {attributes} : (types) -> types`
    fn generic(&mut self, draft: &mut Draft) -> Parsed<()> {
        let pos = self.pos();
        let name = self.string()?;
        let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        if name.is_empty() || !name.bytes().all(plain) {
            return Err(SyntaxError::unexpected(pos, "an operation's name", super::lexer::quoted(&name)));
        }
        draft.op.name = name;
        let operands = self.operands_in(b'(', b')')?;
        if self.at(b'[') {
            self.list(b'[', b']', |p| {
                let successor = p.label()?;
                draft.op.successors.push(successor);
                Ok(())
            })?;
        }
        if self.eat(b'<') {
            self.attr_dict(&mut draft.op.attrs)?;
            self.expect(b'>')?;
        }
        if self.at(b'(') {
            let isolated = defaults::is_isolated(&draft.op.name);
            self.list(b'(', b')', |p| {
                draft.op.regions.push(p.region(Vec::new(), isolated)?);
                Ok(())
            })?;
        }
        self.optional_attr_dict(&mut draft.op.attrs)?;
        self.expect(b':')?;
        let pos = self.pos();
        let (inputs, results) = self.function_type()?;
        if inputs.len() != operands.len() {
            let expected = format!("{} types of operands", operands.len());
            return Err(SyntaxError::unexpected(pos, expected, format!("{}", inputs.len())));
        }
        self.resolve_each(&operands, &inputs, draft)?;
        draft.result_types = results;
        Ok(())
    }

    /// `%name` or `%name#index`
    pub(crate) fn operand(&mut self) -> Parsed<Use<'a>> {
        match self.optional_operand()? {
            Some(operand) => Ok(operand),
            None => self.expected("a value `%name`"),
        }
    }

    pub(crate) fn optional_operand(&mut self) -> Parsed<Option<Use<'a>>> {
        let Token::Value(name) = self.word.token else { return Ok(None) };
        let pos = self.advance().pos;
        let mut index = 0;
        if let Token::Hash(digits) = self.word.token
            && digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            let Some(number) = parse_int(digits).and_then(|number| u32::try_from(number).ok()) else {
                return self.expected("a result's index");
            };
            index = number;
            self.advance();
        }
        Ok(Some(Use { name, index, pos }))
    }

    /// The name of a region's argument, behind which its location may stand.
    pub(crate) fn argument(&mut self) -> Parsed<Use<'a>> {
        let name = self.operand()?;
        self.optional_location()?;
        Ok(name)
    }

    /// Values between commas in parentheses of a kind.
    pub(crate) fn operands_in(&mut self, open: u8, close: u8) -> Parsed<Vec<Use<'a>>> {
        let mut operands = Vec::new();
        self.list(open, close, |p| {
            operands.push(p.operand()?);
            Ok(())
        })?;
        Ok(operands)
    }

    /// Values between commas, at least one.
    pub(crate) fn operands(&mut self) -> Parsed<Vec<Use<'a>>> {
        let mut operands = vec![self.operand()?];
        while self.eat(b',') {
            operands.push(self.operand()?);
        }
        Ok(operands)
    }

    /// Appends a value to the operands.
    pub(crate) fn resolve(&mut self, operand: Use<'a>, ty: &Type, draft: &mut Draft) -> Parsed<()> {
        draft.op.operands.push(self.scopes.resolve(operand, ty)?);
        Ok(())
    }

    /// Appends values, each of its own type.
    pub(crate) fn resolve_each(
        &mut self,
        operands: &[Use<'a>],
        types: &[Type],
        draft: &mut Draft,
    ) -> Parsed<()> {
        if operands.len() != types.len() {
            let expected = format!("{} types, one for each value", operands.len());
            return Err(SyntaxError::unexpected(self.pos(), expected, format!("{}", types.len())));
        }
        for (operand, ty) in operands.iter().zip(types) {
            self.resolve(*operand, ty, draft)?;
        }
        Ok(())
    }

    /// Appends values that are all of one type.
    pub(crate) fn resolve_all(&mut self, operands: &[Use<'a>], ty: &Type, draft: &mut Draft) -> Parsed<()> {
        for operand in operands {
            self.resolve(*operand, ty, draft)?;
        }
        Ok(())
    }
}

impl Draft {
    /// Appends an attribute.
    pub(crate) fn set(&mut self, name: &str, attr: crate::ast::Attr) {
        self.op.attrs.push((name.into(), attr));
    }

    /// The attribute of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&crate::ast::Attr> {
        find(&self.op.attrs, name)
    }

    /// How many operands each group has.
    pub(crate) fn segments(&mut self, sizes: &[usize]) {
        self.set("operandSegmentSizes", i32_array(sizes));
    }
}

/// The attribute of a name.
pub(crate) fn find<'t>(attrs: &'t Attrs, name: &str) -> Option<&'t crate::ast::Attr> {
    attrs.iter().find(|(known, _)| **known == *name).map(|(_, attr)| attr)
}

/// `array<i32: …>`
pub(crate) fn i32_array(values: &[usize]) -> crate::ast::Attr {
    use crate::ast::{Attr, Sign};
    let ty = Type::Int(32, Sign::None);
    let items = values.iter().map(|value| Attr::Int(*value as i128, ty.clone())).collect();
    Attr::DenseArray(ty, items)
}

/// Reads a text to its end.
pub(crate) fn top_level(text: &str) -> Parsed<crate::ast::Ast> {
    let mut p = Parser::new(text);
    let mut ops = Vec::new();
    loop {
        match p.word.token {
            Token::End => break,
            Token::Hash(_) | Token::Bang(_) => p.alias_definition()?,
            Token::Resources => return Err(SyntaxError::unsupported(p.pos(), "resources of dialects")),
            _ => ops.push(p.op()?),
        }
    }
    location::settle(&mut p, &mut ops)?;
    let late = p.scopes.take_late();
    let values = p.scopes.finish()?;
    super::blocks::check(&ops, &values)?;
    super::dominance::check(&ops, &values, &late)?;
    Ok(crate::ast::Ast { ops, values })
}
