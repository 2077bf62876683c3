//! `affine`

use super::scf::entry;
use super::{Custom, int_attr, memref_element};
use crate::ast::{Affine, AffineMap, Attr, Type};
use crate::syntax::affine::Names;
use crate::syntax::error::{Parsed, SyntaxError};
use crate::syntax::lexer::Token;
use crate::syntax::operation::Draft;
use crate::syntax::parser::Parser;
use crate::syntax::scope::Use;

/// What reads the custom form of an operation.
pub(super) fn parser(op: &str) -> Option<Custom> {
    Some(match op {
        "apply" | "min" | "max" => apply,
        "for" => for_op,
        "if" => if_op,
        "load" => load,
        "store" => store,
        "vector_load" => vector_load,
        "vector_store" => vector_store,
        "yield" => super::func::return_op,
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    /// `(%dims)[%symbols]`, as many as the map or set has.
    fn map_operands(&mut self, dims: u32, symbols: u32) -> Parsed<Vec<Use<'a>>> {
        let pos = self.pos();
        let mut operands = self.operands_in(b'(', b')')?;
        let first = operands.len();
        if self.at(b'[') {
            operands.extend(self.indices()?);
        }
        let found = [first, operands.len() - first];
        if found != [dims as usize, symbols as usize] {
            let expected = format!("{dims} dimensions and {symbols} symbols");
            return Err(SyntaxError::unexpected(pos, expected, format!("{} and {}", found[0], found[1])));
        }
        Ok(operands)
    }

    fn affine_map(&mut self) -> Parsed<AffineMap> {
        let pos = self.pos();
        match self.attr()? {
            Attr::Map(map) => Ok(map),
            _ => Err(SyntaxError::unexpected(pos, "an affine map", "another attribute")),
        }
    }

    /// `[%i + 1, symbol(%n)]`: the map and the values that it is given.
    fn subscripts(&mut self) -> Parsed<(AffineMap, Vec<Use<'a>>)> {
        let mut names = Names::values();
        let mut results = Vec::new();
        self.list(b'[', b']', |p| {
            results.push(p.affine(&mut names)?);
            Ok(())
        })?;
        let (dims, symbols) = names.into_values();
        let map = AffineMap { dims: dims.len() as u32, symbols: symbols.len() as u32, results };
        Ok((map, [dims, symbols].concat()))
    }

    /// A bound of a loop: a number, a value, or a map of values; `best` is `max` or `min`.
    fn bound(&mut self, best: &str) -> Parsed<(AffineMap, Vec<Use<'a>>)> {
        let reduces = self.eat_word(best);
        if let Some(value) = self.optional_operand()? {
            return Ok((AffineMap { dims: 0, symbols: 1, results: vec![Affine::Symbol(0)] }, vec![value]));
        }
        if matches!(self.word.token, Token::Int(_) | Token::Mark(b'-')) {
            let results = vec![Affine::Const(self.integer()?)];
            return Ok((AffineMap { dims: 0, symbols: 0, results }, Vec::new()));
        }
        let map = self.affine_map()?;
        let operands = self.map_operands(map.dims, map.symbols)?;
        if map.results.len() > 1 && !reduces {
            return self.expected(&format!("`{best}` before a map of several results"));
        }
        Ok((map, operands))
    }
}

fn apply(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let map = p.affine_map()?;
    let operands = p.map_operands(map.dims, map.symbols)?;
    p.resolve_all(&operands, &Type::Index, draft)?;
    draft.set("map", Attr::Map(map));
    draft.result_types.push(Type::Index);
    p.attr_tail(draft)
}

/// `%i = bound to bound step 2 iter_args(%a = %b) -> (type) { … }`
fn for_op(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let variable = p.argument()?;
    p.expect(b'=')?;
    let (lower, from) = p.bound("max")?;
    p.expect_word("to")?;
    let (upper, to) = p.bound("min")?;
    let step = if p.eat_word("step") { p.integer()? } else { 1 };
    let (mut names, mut initial) = (Vec::new(), Vec::new());
    if p.eat_word("iter_args") {
        (names, initial) = p.assignments()?;
        p.expect_arrow()?;
        draft.result_types = p.result_types()?;
    }
    p.resolve_all(&from, &Type::Index, draft)?;
    p.resolve_all(&to, &Type::Index, draft)?;
    p.resolve_each(&initial, &draft.result_types.clone(), draft)?;
    draft.set("lowerBoundMap", Attr::Map(lower));
    draft.set("upperBoundMap", Attr::Map(upper));
    draft.set("step", int_attr(step.into(), Type::Index));
    draft.segments(&[from.len(), to.len(), initial.len()]);
    let mut args = vec![(Some(variable), Type::Index)];
    args.extend(entry(&names, &draft.result_types));
    let region = p.region_with(args, "affine.yield")?;
    draft.op.regions.push(region);
    p.attr_tail(draft)
}

fn if_op(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let pos = p.pos();
    let Attr::Set(set) = p.attr()? else {
        return Err(SyntaxError::unexpected(pos, "an affine set", "another attribute"));
    };
    let operands = p.map_operands(set.dims, set.symbols)?;
    p.resolve_all(&operands, &Type::Index, draft)?;
    draft.set("condition", Attr::Set(set));
    draft.result_types = p.optional_results()?;
    let then = p.region_with(Vec::new(), "affine.yield")?;
    draft.op.regions.push(then);
    let other = if p.eat_word("else") {
        p.region_with(Vec::new(), "affine.yield")?
    } else {
        crate::ast::Region::default()
    };
    draft.op.regions.push(other);
    p.attr_tail(draft)
}

fn load(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let (map, operands) = p.subscripts()?;
    draft.set("map", Attr::Map(map));
    p.attr_tail(draft)?;
    let pos = p.pos();
    let ty = p.colon_type()?;
    draft.result_types.push(memref_element(&ty, pos)?);
    p.resolve(memref, &ty, draft)?;
    p.resolve_all(&operands, &Type::Index, draft)
}

fn store(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let value = p.operand()?;
    let memref = p.comma_operand()?;
    let (map, operands) = p.subscripts()?;
    draft.set("map", Attr::Map(map));
    p.attr_tail(draft)?;
    let pos = p.pos();
    let ty = p.colon_type()?;
    p.resolve(value, &memref_element(&ty, pos)?, draft)?;
    p.resolve(memref, &ty, draft)?;
    p.resolve_all(&operands, &Type::Index, draft)
}

/// `%m[%i] : memref, vector`
fn vector_load(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let (map, operands) = p.subscripts()?;
    draft.set("map", Attr::Map(map));
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.expect(b',')?;
    draft.result_types.push(p.ty()?);
    p.resolve(memref, &ty, draft)?;
    p.resolve_all(&operands, &Type::Index, draft)
}

/// `%v, %m[%i] : memref, vector`
fn vector_store(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let value = p.operand()?;
    let memref = p.comma_operand()?;
    let (map, operands) = p.subscripts()?;
    draft.set("map", Attr::Map(map));
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.expect(b',')?;
    let vector = p.ty()?;
    p.resolve(value, &vector, draft)?;
    p.resolve(memref, &ty, draft)?;
    p.resolve_all(&operands, &Type::Index, draft)
}
