//! `vector`: between vectors and memory.

use super::{Custom, int_type};
use crate::ast::{Affine, AffineMap, Attr, Type};
use crate::syntax::error::{Parsed, SyntaxError};
use crate::syntax::operation::{Draft, find};
use crate::syntax::parser::Parser;
use crate::syntax::scope::Use;

/// What reads the custom form of an operation.
pub(super) fn parser(op: &str) -> Option<Custom> {
    Some(match op {
        "load" => load,
        "store" => store,
        "maskedload" | "gather" => maskedload,
        "maskedstore" => maskedstore,
        "transfer_read" => transfer_read,
        "transfer_write" => transfer_write,
        _ => return None,
    })
}

/// `%m[%i] : memref, vector`
fn load(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let indices = p.indices()?;
    p.attr_tail(draft)?;
    let from = p.colon_type()?;
    p.expect(b',')?;
    draft.result_types.push(p.ty()?);
    p.resolve(memref, &from, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)
}

/// `%v, %m[%i] : memref, vector`
fn store(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let value = p.operand()?;
    let memref = p.comma_operand()?;
    let indices = p.indices()?;
    p.attr_tail(draft)?;
    let to = p.colon_type()?;
    p.expect(b',')?;
    let vector = p.ty()?;
    p.resolve(value, &vector, draft)?;
    p.resolve(memref, &to, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)
}

/// `%m[%i], %mask, %other : memref, mask, vector into vector`, with a vector of indices before the mask where elements
/// are gathered.
fn maskedload(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let indices = p.indices()?;
    let mut others = Vec::new();
    if p.at(b'[') {
        others.extend(p.indices()?);
    }
    others.extend([p.comma_operand()?, p.comma_operand()?]);
    p.attr_tail(draft)?;
    p.expect(b':')?;
    let types = p.types()?;
    p.expect_word("into")?;
    draft.result_types.push(p.ty()?);
    let Some((first, rest)) = types.split_first() else { return p.expected("types before") };
    p.resolve(memref, first, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)?;
    p.resolve_each(&others, rest, draft)
}

/// `%m[%i], %mask, %v : memref, mask, vector`
fn maskedstore(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let indices = p.indices()?;
    let others = [p.comma_operand()?, p.comma_operand()?];
    p.attr_tail(draft)?;
    p.expect(b':')?;
    let types = p.types()?;
    let Some((first, rest)) = types.split_first() else { return p.expected("types before") };
    p.resolve(memref, first, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)?;
    p.resolve_each(&others, rest, draft)
}

/// `%m[%i], %padding, %mask : memref, vector`
fn transfer_read(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let memref = p.operand()?;
    let indices = p.indices()?;
    let padding = p.comma_operand()?;
    let mask = optional_mask(p)?;
    p.attr_tail(draft)?;
    let pos = p.pos();
    let from = p.colon_type()?;
    p.expect(b',')?;
    let vector = p.ty()?;
    let elem = match &from {
        Type::MemRef(memref) => memref.elem.clone(),
        Type::Tensor(_, elem) => (**elem).clone(),
        _ => return Err(SyntaxError::unexpected(pos, "a type `memref<…>` or `tensor<…>`", "another")),
    };
    p.resolve(memref, &from, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)?;
    p.resolve(padding, &elem, draft)?;
    transfer(p, draft, &from, &vector, mask)?;
    draft.segments(&[1, indices.len(), 1, usize::from(mask.is_some())]);
    draft.result_types.push(vector);
    Ok(())
}

/// `%v, %m[%i], %mask : vector, memref`
fn transfer_write(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let value = p.operand()?;
    let memref = p.comma_operand()?;
    let indices = p.indices()?;
    let mask = optional_mask(p)?;
    p.attr_tail(draft)?;
    let vector = p.colon_type()?;
    p.expect(b',')?;
    let to = p.ty()?;
    p.resolve(value, &vector, draft)?;
    p.resolve(memref, &to, draft)?;
    p.resolve_all(&indices, &Type::Index, draft)?;
    transfer(p, draft, &to, &vector, mask)?;
    draft.segments(&[1, 1, indices.len(), usize::from(mask.is_some())]);
    if matches!(to, Type::Tensor(..)) {
        draft.result_types.push(to);
    }
    Ok(())
}

fn optional_mask<'a>(p: &mut Parser<'a>) -> Parsed<Option<Use<'a>>> {
    if p.eat(b',') { p.operand().map(Some) } else { Ok(None) }
}

/// Writes the map and the bounds down where they are left out, and appends the mask.
fn transfer<'a>(
    p: &mut Parser<'a>,
    draft: &mut Draft,
    memory: &Type,
    vector: &Type,
    mask: Option<Use<'a>>,
) -> Parsed<()> {
    let rank = match memory {
        Type::MemRef(memref) => memref.shape.as_ref().map(Vec::len),
        Type::Tensor(extents, _) => extents.as_ref().map(Vec::len),
        _ => None,
    };
    let (Some(rank), Type::Vector(extents, _)) = (rank, vector) else {
        return p.expected("memory of known rank and a vector before");
    };
    // Memory may have vectors as elements, whose dimensions the map leaves out.
    let inner = match memory {
        Type::MemRef(memref) => vector_rank(&memref.elem),
        Type::Tensor(_, elem) => vector_rank(elem),
        _ => 0,
    };
    let mapped = extents.len().saturating_sub(inner);
    let minor = minor_identity(rank, mapped);
    let stated = find(&draft.op.attrs, "permutation_map").cloned();
    if stated.is_none() {
        if mapped > rank {
            return p.expected("memory of as many dimensions as the vector before");
        }
        draft.set("permutation_map", Attr::Map(minor.clone()));
    }
    if draft.get("in_bounds").is_none() {
        let mapped = match &stated {
            Some(Attr::Map(map)) => map.results.len(),
            _ => mapped,
        };
        draft.set("in_bounds", Attr::Array(vec![Attr::Bool(false); mapped]));
    }
    let Some(mask) = mask else { return Ok(()) };
    let straight = match &stated {
        None => true,
        Some(Attr::Map(map)) => *map == minor || (mapped == 1 && matches!(map.results[..], [Affine::Dim(_)])),
        Some(_) => false,
    };
    if !straight || inner > 0 {
        return Err(SyntaxError::unsupported(
            mask.pos,
            "masks of transfers that permute or repeat dimensions",
        ));
    }
    p.resolve(mask, &Type::Vector(extents.clone(), Box::new(int_type(1))), draft)
}

fn vector_rank(ty: &Type) -> usize {
    match ty {
        Type::Vector(extents, _) => extents.len(),
        _ => 0,
    }
}

/// The map to the last dimensions.
fn minor_identity(rank: usize, mapped: usize) -> AffineMap {
    let results = (rank.saturating_sub(mapped)..rank).map(|dim| Affine::Dim(dim as u32)).collect();
    AffineMap { dims: rank as u32, symbols: 0, results }
}
