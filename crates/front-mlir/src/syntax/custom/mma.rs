//! `gpu.subgroup_mma_*` and `gpu.rotate`.
//!
//! The RFC's operations are those of its text: `subgroup_mma_rotate`, `subgroup_mma_extract`, `subgroup_mma_insert`, and
//! `gpu.rotate` with three values. What became of them are `subgroup_mma_extract_thread_local`,
//! `subgroup_mma_insert_thread_local` and `gpu.rotate` with two numbers. The RFC gives the numbers of an extraction no
//! name: here they are `indices = array<i64: …>`.

use super::gpu::gpu_enum;
use super::{Custom, element, i64_array, int_type};
use crate::ast::Type;
use crate::syntax::error::{Parsed, SyntaxError};
use crate::syntax::operation::Draft;
use crate::syntax::parser::Parser;

/// What reads the custom form of an operation.
pub(super) fn parser(op: &str) -> Option<Custom> {
    Some(match op {
        "subgroup_mma_load_matrix" => load,
        "subgroup_mma_store_matrix" => store,
        "subgroup_mma_compute" => compute,
        "subgroup_mma_constant_matrix" => constant,
        "subgroup_mma_elementwise" => elementwise,
        "subgroup_mma_extract_thread_local" => extract_thread_local,
        "subgroup_mma_insert_thread_local" => insert_thread_local,
        "subgroup_mma_rotate" => rotate_matrices,
        "subgroup_mma_extract" => extract,
        "subgroup_mma_insert" => insert,
        "rotate" => rotate,
        _ => return None,
    })
}

/// `%memref[%i, %j] {leadDimension = 16 : index} : type -> type`
fn load(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let indices = p.indices()?;
    p.attr_tail(draft)?;
    let from = p.colon_type()?;
    p.resolve(memref, &from, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)?;
    p.expect_arrow()?;
    draft.result_types.push(p.ty()?);
    Ok(())
}

/// `%matrix, %memref[%i, %j] {leadDimension = 16 : index} : type, type`
fn store(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let matrix = p.operand()?;
    let memref = p.comma_operand()?;
    let indices = p.indices()?;
    p.attr_tail(draft)?;
    let from = p.colon_type()?;
    p.expect(b',')?;
    let to = p.ty()?;
    p.resolve(matrix, &from, draft)?;
    p.resolve(memref, &to, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)
}

/// `%a, %b, %c {a_transpose} : type, type -> type`
fn compute(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let factors = [p.operand()?, p.comma_operand()?];
    let addend = p.comma_operand()?;
    p.attr_tail(draft)?;
    p.expect(b':')?;
    let types = p.types()?;
    p.resolve_each(&factors, &types, draft)?;
    p.expect_arrow()?;
    let ty = p.ty()?;
    p.resolve(addend, &ty, draft)?;
    draft.result_types.push(ty);
    Ok(())
}

fn constant(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let value = p.operand()?;
    p.attr_tail(draft)?;
    let pos = p.pos();
    let ty = p.colon_type()?;
    let Type::Mma(matrix) = &ty else {
        let found = crate::syntax::print::shown(&ty);
        return Err(SyntaxError::unexpected(pos, "a type `!gpu.mma_matrix<…>`", found));
    };
    p.resolve(value, element(&matrix.elem), draft)?;
    draft.result_types.push(ty);
    Ok(())
}

/// `addf %a, %b : (type, type) -> type`
fn elementwise(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    const KINDS: [&str; 13] = [
        "addf", "mulf", "subf", "maxf", "minf", "divf", "addi", "muli", "subi", "divs", "divu", "negatef",
        "negates",
    ];
    const LATER: [&str; 1] = ["extf"];
    let kind = match LATER.iter().position(|kind| p.at_word(kind)) {
        Some(kind) => {
            p.advance();
            LATER[kind]
        }
        None => KINDS[p.one_of(&KINDS)?],
    };
    draft.set("opType", gpu_enum("mma_element_wise", kind));
    let operands = p.operands()?;
    p.attr_tail(draft)?;
    p.functional(&operands, draft)
}

/// `%matrix[%i] : type -> type`
fn extract_thread_local(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    load(p, draft)
}

/// `%value, %matrix[%i] : type, type -> type`
fn insert_thread_local(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    store(p, draft)?;
    p.expect_arrow()?;
    draft.result_types.push(p.ty()?);
    Ok(())
}

/// `%a, %b, %offset : type, type, type -> type`
fn rotate_matrices(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = p.operands()?;
    three_to_one(p, draft, &operands)
}

fn three_to_one<'a>(
    p: &mut Parser<'a>,
    draft: &mut Draft,
    operands: &[crate::syntax::scope::Use<'a>],
) -> Parsed<()> {
    if operands.len() != 3 {
        return p.expected("three values before");
    }
    p.attr_tail(draft)?;
    p.expect(b':')?;
    let types = p.types()?;
    p.resolve_each(operands, &types, draft)?;
    p.expect_arrow()?;
    draft.result_types.push(p.ty()?);
    Ok(())
}

/// `[0, 1]`
fn numbers(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let mut indices = Vec::new();
    p.list(b'[', b']', |p| {
        indices.push(p.integer()?);
        Ok(())
    })?;
    draft.set("indices", i64_array(&indices));
    Ok(())
}

/// `%matrix[0] : type -> type`
fn extract(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let matrix = p.operand()?;
    numbers(p, draft)?;
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(matrix, &ty, draft)?;
    p.expect_arrow()?;
    draft.result_types.push(p.ty()?);
    Ok(())
}

/// `%value, %matrix[0] : type, type -> type`
fn insert(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = [p.operand()?, p.comma_operand()?];
    numbers(p, draft)?;
    p.attr_tail(draft)?;
    p.expect(b':')?;
    let types = p.types()?;
    p.resolve_each(&operands, &types, draft)?;
    p.expect_arrow()?;
    draft.result_types.push(p.ty()?);
    Ok(())
}

/// `%value, 4, 16 : type`, whose second result says whether the other invocation is there; or as the RFC has it,
/// `%value, %offset, %width : type, type, type -> type`.
fn rotate(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let value = p.operand()?;
    p.expect(b',')?;
    if p.optional_use_next() {
        let operands = [value, p.operand()?, p.comma_operand()?];
        return three_to_one(p, draft, &operands);
    }
    for (index, name) in ["offset", "width"].into_iter().enumerate() {
        if index > 0 {
            p.expect(b',')?;
        }
        let pos = p.pos();
        let literal = p.literal("a number")?;
        draft.set(name, p.typed_number(literal, &int_type(32), pos)?);
    }
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(value, &ty, draft)?;
    draft.result_types = vec![ty, int_type(1)];
    Ok(())
}
