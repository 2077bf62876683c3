//! `memref`

use super::{Custom, i64_array, int_attr, int_type, memref_element};
use crate::ast::{Attr, Pos, Type};
use crate::syntax::error::{Parsed, SyntaxError};
use crate::syntax::lexer::Token;
use crate::syntax::operation::Draft;
use crate::syntax::parser::Parser;
use crate::syntax::scope::Use;

/// What reads the custom form of an operation.
pub(super) fn parser(op: &str) -> Option<Custom> {
    Some(match op {
        "alloc" | "alloca" => alloc,
        "dealloc" => dealloc,
        "load" => load,
        "store" => store,
        "subview" => subview,
        "cast" | "memory_space_cast" => cast,
        "reinterpret_cast" => reinterpret_cast,
        "dim" => dim,
        "rank" => rank,
        "global" => global,
        "get_global" => get_global,
        "copy" => copy,
        "collapse_shape" => collapse_shape,
        "expand_shape" => expand_shape,
        "extract_strided_metadata" => extract_strided_metadata,
        "extract_aligned_pointer_as_index" => extract_pointer,
        "assume_alignment" => assume_alignment,
        "view" => view,
        "atomic_rmw" => atomic_rmw,
        _ => return None,
    })
}

/// What stands for a number that an operand gives.
const DYNAMIC: i64 = i64::MIN;

/// Numbers, of which some are operands.
#[derive(Debug, Default)]
pub(super) struct Mixed<'a> {
    pub(super) numbers: Vec<i64>,
    pub(super) operands: Vec<Use<'a>>,
}

impl<'a> Parser<'a> {
    /// `[0, %n]`
    pub(super) fn mixed(&mut self) -> Parsed<Mixed<'a>> {
        let mut mixed = Mixed::default();
        self.list(b'[', b']', |p| {
            match p.optional_operand()? {
                Some(operand) => {
                    mixed.operands.push(operand);
                    mixed.numbers.push(DYNAMIC);
                }
                None => mixed.numbers.push(p.integer()?),
            }
            Ok(())
        })?;
        Ok(mixed)
    }

    /// Appends the operands of offsets, sizes and strides, and writes their numbers down.
    fn record_slice(&mut self, parts: [Mixed<'a>; 3], draft: &mut Draft) -> Parsed<()> {
        let mut segments = vec![1];
        for (mixed, name) in parts.iter().zip(["static_offsets", "static_sizes", "static_strides"]) {
            self.resolve_all(&mixed.operands, &Type::Index, draft)?;
            segments.push(mixed.operands.len());
            draft.set(name, i64_array(&mixed.numbers));
        }
        draft.segments(&segments);
        Ok(())
    }
}

/// `(%sizes)[%symbols] {alignment = 16 : i64} : type`
fn alloc(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let sizes = p.operands_in(b'(', b')')?;
    let symbols = if p.at(b'[') { p.indices()? } else { Vec::new() };
    p.attr_tail(draft)?;
    p.resolve_all(&sizes, &Type::Index, draft)?;
    p.resolve_all(&symbols, &Type::Index, draft)?;
    draft.segments(&[sizes.len(), symbols.len()]);
    draft.result_types.push(p.colon_type()?);
    Ok(())
}

fn dealloc(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operand = p.operand()?;
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(operand, &ty, draft)
}

fn load(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let indices = p.indices()?;
    p.attr_tail(draft)?;
    let pos = p.pos();
    let ty = p.colon_type()?;
    draft.result_types.push(memref_element(&ty, pos)?);
    p.resolve(memref, &ty, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)
}

fn store(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let value = p.operand()?;
    let memref = p.comma_operand()?;
    let indices = p.indices()?;
    p.attr_tail(draft)?;
    let pos = p.pos();
    let ty = p.colon_type()?;
    p.resolve(value, &memref_element(&ty, pos)?, draft)?;
    p.resolve(memref, &ty, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)
}

/// `%m[offsets] [sizes] [strides] : type to type`
fn subview(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let parts = [p.mixed()?, p.mixed()?, p.mixed()?];
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.expect_word("to")?;
    draft.result_types.push(p.ty()?);
    p.resolve(memref, &ty, draft)?;
    p.record_slice(parts, draft)
}

fn cast(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.conversion(draft, "to")
}

/// `%m to offset: [%o], sizes: [4, %n], strides: [1, 1] : type to type`
fn reinterpret_cast(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    p.expect_word("to")?;
    let mut parts = Vec::new();
    for (index, word) in ["offset", "sizes", "strides"].into_iter().enumerate() {
        if index > 0 {
            p.expect(b',')?;
        }
        p.expect_word(word)?;
        p.expect(b':')?;
        parts.push(p.mixed()?);
    }
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.expect_word("to")?;
    draft.result_types.push(p.ty()?);
    p.resolve(memref, &ty, draft)?;
    match <[Mixed<'_>; 3]>::try_from(parts) {
        Ok(parts) => p.record_slice(parts, draft),
        Err(_) => p.expected("offset, sizes and strides before"),
    }
}

fn dim(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let index = p.comma_operand()?;
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(memref, &ty, draft)?;
    p.resolve(index, &Type::Index, draft)?;
    draft.result_types.push(Type::Index);
    Ok(())
}

fn rank(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    dealloc(p, draft)?;
    draft.result_types.push(Type::Index);
    Ok(())
}

/// `"private" constant @name : type = dense<…>`, or `= uninitialized`.
fn global(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    if let Token::Str(_) = p.word.token {
        let visibility = p.string()?;
        draft.set("sym_visibility", Attr::Str(visibility));
    }
    if p.eat_word("constant") {
        draft.set("constant", Attr::Unit);
    }
    let name = p.symbol()?;
    draft.set("sym_name", Attr::Str(name));
    let pos = p.pos();
    let ty = p.colon_type()?;
    if p.eat(b'=') {
        let initial = if p.eat_word("uninitialized") {
            Attr::Unit
        } else if p.at_word("dense") {
            let tensor = tensor_of(&ty, pos)?;
            p.dense(Some(tensor))?
        } else {
            return p.expected("`dense<…>` or `uninitialized`");
        };
        draft.set("initial_value", initial);
    }
    draft.set("type", Attr::Type(ty));
    p.attr_tail(draft)
}

/// The tensor that has the shape and the elements of a memref.
fn tensor_of(ty: &Type, pos: Pos) -> Parsed<Type> {
    match ty {
        Type::MemRef(memref) => Ok(Type::Tensor(memref.shape.clone(), Box::new(memref.elem.clone()))),
        _ => Err(SyntaxError::unexpected(pos, "a type `memref<…>`", "another")),
    }
}

fn get_global(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let name = p.symbol_attr()?;
    draft.set("name", name);
    p.attr_tail(draft)?;
    draft.result_types.push(p.colon_type()?);
    Ok(())
}

fn copy(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = [p.operand()?, p.comma_operand()?];
    p.attr_tail(draft)?;
    let from = p.colon_type()?;
    p.expect_word("to")?;
    let to = p.ty()?;
    p.resolve_each(&operands, &[from, to], draft)
}

/// `%m [[0, 1]] : type into type`
fn collapse_shape(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let groups = p.attr()?;
    draft.set("reassociation", groups);
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.expect_word("into")?;
    draft.result_types.push(p.ty()?);
    p.resolve(memref, &ty, draft)
}

/// `%m [[0, 1]] output_shape [%n, 4] : type into type`
fn expand_shape(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let groups = p.attr()?;
    draft.set("reassociation", groups);
    p.expect_word("output_shape")?;
    let shape = p.mixed()?;
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.expect_word("into")?;
    draft.result_types.push(p.ty()?);
    p.resolve(memref, &ty, draft)?;
    p.resolve_all(&shape.operands, &Type::Index, draft)?;
    draft.set("static_output_shape", i64_array(&shape.numbers));
    Ok(())
}

fn extract_strided_metadata(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(memref, &ty, draft)?;
    p.expect_arrow()?;
    draft.result_types = p.types()?;
    Ok(())
}

fn extract_pointer(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    extract_strided_metadata(p, draft)
}

fn assume_alignment(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    p.expect(b',')?;
    let alignment = p.integer()?;
    draft.set("alignment", int_attr(alignment.into(), int_type(32)));
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(memref, &ty, draft)
}

/// `%m[%offset][%sizes] : type to type`
fn view(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let mut indices = p.indices()?;
    indices.extend(p.indices()?);
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.expect_word("to")?;
    draft.result_types.push(p.ty()?);
    p.resolve(memref, &ty, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)
}

/// `addf %x, %m[%i] : (type, type) -> type`
fn atomic_rmw(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    const KINDS: [&str; 15] = [
        "addf", "addi", "assign", "maximumf", "maxs", "maxu", "minimumf", "mins", "minu", "mulf", "muli",
        "ori", "andi", "maxnumf", "minnumf",
    ];
    // Older texts have the kind as a string.
    let kind = match p.word.token {
        Token::Str(word) => KINDS.iter().position(|kind| *kind == word),
        _ => None,
    };
    let kind = match kind {
        Some(kind) => {
            p.advance();
            kind
        }
        None => p.one_of(&KINDS)?,
    };
    draft.set("kind", int_attr(kind as i128, int_type(64)));
    let operands = [p.operand()?, p.comma_operand()?];
    let indices = p.indices()?;
    p.attr_tail(draft)?;
    p.functional(&operands, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)
}
