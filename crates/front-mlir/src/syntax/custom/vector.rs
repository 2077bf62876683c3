//! `vector`: between vectors and their elements.

use super::{Custom, i64_array, int_attr, int_type};
use crate::ast::{Attr, Type};
use crate::syntax::error::{Parsed, SyntaxError};
use crate::syntax::lexer::Token;
use crate::syntax::operation::Draft;
use crate::syntax::parser::Parser;

/// What reads the custom form of an operation.
pub(super) fn parser(op: &str) -> Option<Custom> {
    Some(match op {
        "splat" => splat,
        "broadcast" | "shape_cast" | "bitcast" | "extract_strided_slice" => conversion,
        "insert" => insert,
        "insert_strided_slice" => insert_strided_slice,
        "extract" => extract,
        "insertelement" => insert_element,
        "extractelement" => extract_element,
        "fma" => fma,
        "constant_mask" => constant_mask,
        "create_mask" => create_mask,
        "reduction" => reduction,
        "multi_reduction" => multi_reduction,
        "outerproduct" => outer_product,
        "shuffle" => shuffle,
        "transpose" => transpose,
        "step" => step,
        "contract" => contract,
        "yield" => super::func::return_op,
        _ => return None,
    })
}

fn splat(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let value = p.operand()?;
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(value, super::element(&ty), draft)?;
    draft.result_types.push(ty);
    Ok(())
}

fn conversion(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.conversion(draft, "to")
}

/// `%x, %v[1, %i] : type into vector`
fn insert(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = [p.operand()?, p.comma_operand()?];
    let position = p.mixed()?;
    p.attr_tail(draft)?;
    let from = p.colon_type()?;
    p.expect_word("into")?;
    let ty = p.ty()?;
    p.resolve_each(&operands, &[from, ty.clone()], draft)?;
    p.resolve_all(&position.operands, &Type::Index, draft)?;
    draft.set("static_position", i64_array(&position.numbers));
    draft.result_types.push(ty);
    Ok(())
}

fn insert_strided_slice(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = [p.operand()?, p.comma_operand()?];
    p.attr_tail(draft)?;
    let from = p.colon_type()?;
    p.expect_word("into")?;
    let ty = p.ty()?;
    p.resolve_each(&operands, &[from, ty.clone()], draft)?;
    draft.result_types.push(ty);
    Ok(())
}

/// `%v[1, %i] : type from vector`
fn extract(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let vector = p.operand()?;
    let position = p.mixed()?;
    p.attr_tail(draft)?;
    let result = p.colon_type()?;
    p.expect_word("from")?;
    let ty = p.ty()?;
    p.resolve(vector, &ty, draft)?;
    p.resolve_all(&position.operands, &Type::Index, draft)?;
    draft.set("static_position", i64_array(&position.numbers));
    draft.result_types.push(result);
    Ok(())
}

/// `%x, %v[%i : type] : vector`
fn insert_element(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = [p.operand()?, p.comma_operand()?];
    p.expect(b'[')?;
    let position = p.optional_operand()?;
    let index = if position.is_some() { Some(p.colon_type()?) } else { None };
    p.expect(b']')?;
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(operands[0], super::element(&ty), draft)?;
    p.resolve(operands[1], &ty, draft)?;
    if let (Some(position), Some(index)) = (position, index) {
        p.resolve(position, &index, draft)?;
    }
    draft.result_types.push(ty);
    Ok(())
}

/// `%v[%i : type] : vector`
fn extract_element(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let vector = p.operand()?;
    p.expect(b'[')?;
    let position = p.optional_operand()?;
    let index = if position.is_some() { Some(p.colon_type()?) } else { None };
    p.expect(b']')?;
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(vector, &ty, draft)?;
    if let (Some(position), Some(index)) = (position, index) {
        p.resolve(position, &index, draft)?;
    }
    draft.result_types.push(super::element(&ty).clone());
    Ok(())
}

fn fma(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = [p.operand()?, p.comma_operand()?, p.comma_operand()?];
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve_all(&operands, &ty, draft)?;
    draft.result_types.push(ty);
    Ok(())
}

/// `[1, 2]` as numbers of type `i64`.
fn number_list(p: &mut Parser<'_>) -> Parsed<Vec<i64>> {
    let mut numbers = Vec::new();
    p.list(b'[', b']', |p| {
        numbers.push(p.integer()?);
        Ok(())
    })?;
    Ok(numbers)
}

fn number_attrs(numbers: &[i64]) -> Attr {
    Attr::Array(numbers.iter().map(|number| int_attr((*number).into(), int_type(64))).collect())
}

fn constant_mask(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let sizes = number_list(p)?;
    draft.set("mask_dim_sizes", number_attrs(&sizes));
    p.attr_tail(draft)?;
    draft.result_types.push(p.colon_type()?);
    Ok(())
}

fn create_mask(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let sizes = if p.optional_use_next() { p.operands()? } else { Vec::new() };
    p.attr_tail(draft)?;
    p.resolve_all(&sizes, &Type::Index, draft)?;
    draft.result_types.push(p.colon_type()?);
    Ok(())
}

/// `<add>`, or the whole attribute `#vector.kind<add>`.
fn kind(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    if matches!(p.word.token, Token::Hash(_)) {
        let kind = p.attr()?;
        draft.set("kind", kind);
        return Ok(());
    }
    p.expect(b'<')?;
    let word = p.name("a kind of combination")?;
    p.expect(b'>')?;
    draft.set("kind", Attr::Dialect(format!("vector.kind<{word}>").into()));
    Ok(())
}

/// `<add>, %v, %start fastmath<…> : vector into type`
fn reduction(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    kind(p, draft)?;
    let vector = p.comma_operand()?;
    let start = if p.eat(b',') { Some(p.operand()?) } else { None };
    super::flags_attr(p, draft)?;
    p.attr_tail(draft)?;
    let from = p.colon_type()?;
    p.expect_word("into")?;
    let ty = p.ty()?;
    p.resolve(vector, &from, draft)?;
    if let Some(start) = start {
        p.resolve(start, &ty, draft)?;
    }
    draft.result_types.push(ty);
    Ok(())
}

/// `<add>, %v, %start [0, 1] : vector to type`
fn multi_reduction(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    kind(p, draft)?;
    let operands = [p.comma_operand()?, p.comma_operand()?];
    let dims = number_list(p)?;
    draft.set("reduction_dims", number_attrs(&dims));
    p.attr_tail(draft)?;
    let from = p.colon_type()?;
    p.expect_word("to")?;
    let ty = p.ty()?;
    p.resolve_each(&operands, &[from, ty.clone()], draft)?;
    draft.result_types.push(ty);
    Ok(())
}

/// `%a, %b, %c : vector, type`; the third is added to the product.
fn outer_product(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = p.operands()?;
    p.attr_tail(draft)?;
    let pos = p.pos();
    p.expect(b':')?;
    let types = p.types()?;
    let (Type::Vector(rows, elem), [_, second]) = (&types[0], &types[..]) else {
        return Err(SyntaxError::unexpected(
            pos,
            "the types of a vector and of what it is multiplied by",
            "others",
        ));
    };
    let mut extents = rows.clone();
    if let Type::Vector(columns, _) = second {
        extents.extend(columns);
    }
    let ty = Type::Vector(extents, elem.clone());
    let Some((factors, rest)) = operands.split_at_checked(2) else { return p.expected("two values before") };
    p.resolve_each(factors, &types, draft)?;
    p.resolve_all(rest, &ty, draft)?;
    draft.result_types.push(ty);
    Ok(())
}

/// `%a, %b [0, 4] : vector, vector`
fn shuffle(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = [p.operand()?, p.comma_operand()?];
    let mask = number_list(p)?;
    draft.set("mask", number_attrs(&mask));
    p.attr_tail(draft)?;
    let pos = p.pos();
    p.expect(b':')?;
    let types = p.types()?;
    let Some(Type::Vector(extents, elem)) = types.first() else {
        return Err(SyntaxError::unexpected(pos, "types of vectors", "others"));
    };
    // Vectors without dimensions give one with one.
    let mut extents = extents.clone();
    if extents.is_empty() {
        extents.push(0);
    }
    extents[0] = mask.len() as u64;
    let ty = Type::Vector(extents, elem.clone());
    p.resolve_each(&operands, &types, draft)?;
    draft.result_types.push(ty);
    Ok(())
}

/// `%v, [1, 0] : vector to vector`
fn transpose(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let vector = p.operand()?;
    p.expect(b',')?;
    let permutation = number_list(p)?;
    draft.set("permutation", i64_array(&permutation));
    p.attr_tail(draft)?;
    let from = p.colon_type()?;
    p.expect_word("to")?;
    draft.result_types.push(p.ty()?);
    p.resolve(vector, &from, draft)
}

/// `{indexing_maps = […], iterator_types = […]} %a, %b, %c : vector, vector into type`
fn contract(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let pos = p.pos();
    let Attr::Dict(traits) = p.attr()? else {
        return Err(SyntaxError::unexpected(
            pos,
            "a dictionary of maps and kinds of loops",
            "another attribute",
        ));
    };
    draft.op.attrs.extend(traits);
    // Kinds of loops may be strings.
    for (name, attr) in &mut draft.op.attrs {
        if let ("iterator_types", Attr::Array(items)) = (&**name, attr) {
            for item in items {
                if let Attr::Str(kind) = item
                    && matches!(&**kind, "parallel" | "reduction")
                {
                    *item = Attr::Dialect(format!("vector.iterator_type<{kind}>").into());
                }
            }
        }
    }
    let operands = [p.operand()?, p.comma_operand()?, p.comma_operand()?];
    if p.at(b',') {
        return Err(SyntaxError::unsupported(p.pos(), "contractions with masks"));
    }
    p.attr_tail(draft)?;
    p.expect(b':')?;
    let mut types = p.types()?;
    p.expect_word("into")?;
    types.push(p.ty()?);
    p.resolve_each(&operands, &types, draft)?;
    draft.result_types.extend(types.pop());
    Ok(())
}

fn step(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.attr_tail(draft)?;
    draft.result_types.push(p.colon_type()?);
    Ok(())
}
