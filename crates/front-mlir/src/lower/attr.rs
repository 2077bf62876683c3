//! Reading attributes of operations.

use crate::ast::{AffineMap, Attr, Op};
use crate::error::{Res, invalid};

/// What stands for a dynamic number in a static list (`ShapedType::kDynamic`).
pub(super) const DYNAMIC: i64 = i64::MIN;

/// An attribute by its name.
pub(super) fn get<'a>(op: &'a Op, name: &str) -> Option<&'a Attr> {
    find(&op.attrs, name)
}

/// An entry of a dictionary.
pub(super) fn find<'a>(attrs: &'a [(Box<str>, Attr)], name: &str) -> Option<&'a Attr> {
    attrs.iter().find(|(found, _)| &**found == name).map(|(_, attr)| attr)
}

/// Whether a flag is set.
pub(super) fn flag(op: &Op, name: &str) -> bool {
    !matches!(get(op, name), None | Some(Attr::Bool(false)))
}

fn missing(name: &str, expected: &str) -> crate::error::Fault {
    invalid(format!("expected the attribute `{name}`, {expected}"))
}

/// An integer.
pub(super) fn int(op: &Op, name: &str) -> Res<i64> {
    optional_int(op, name)?.ok_or_else(|| missing(name, "an integer"))
}

/// An integer that need not be there.
pub(super) fn optional_int(op: &Op, name: &str) -> Res<Option<i64>> {
    match get(op, name) {
        None => Ok(None),
        Some(Attr::Int(n, _)) => {
            i64::try_from(*n).map(Some).map_err(|_large| invalid(format!("`{name}` is too large")))
        }
        Some(_) => Err(missing(name, "an integer")),
    }
}

/// A list of integers, in any form that one is written in.
pub(super) fn ints(op: &Op, name: &str) -> Res<Vec<i64>> {
    optional_ints(op, name)?.ok_or_else(|| missing(name, "a list of integers"))
}

/// The same where it need not be there.
pub(super) fn optional_ints(op: &Op, name: &str) -> Res<Option<Vec<i64>>> {
    get(op, name).map(|attr| int_list(attr).ok_or_else(|| missing(name, "a list of integers"))).transpose()
}

/// The integers of a list in any form.
pub(super) fn int_list(attr: &Attr) -> Option<Vec<i64>> {
    let (Attr::Array(items) | Attr::DenseArray(_, items) | Attr::Dense(items, _)) = attr else { return None };
    let number = |item: &Attr| match item {
        Attr::Int(n, _) => i64::try_from(*n).ok(),
        Attr::Bool(b) => Some(i64::from(*b)),
        _ => None,
    };
    items.iter().map(number).collect()
}

/// What a keyword of a dialect says: `xor` of `#gpu<shuffle_mode xor>` and of `#gpu.shuffle_mode<xor>`.
pub(super) fn keyword<'a>(op: &'a Op, name: &str) -> Res<&'a str> {
    let found = match get(op, name) {
        Some(Attr::Dialect(text)) => {
            let inner = text.split_once('<').map_or(&**text, |(_, rest)| rest.trim_end_matches('>'));
            inner.rsplit(' ').next()
        }
        Some(Attr::Str(text)) => Some(&**text),
        _ => None,
    };
    found.ok_or_else(|| missing(name, "a keyword"))
}

/// A map.
pub(super) fn map<'a>(op: &'a Op, name: &str) -> Res<&'a AffineMap> {
    match get(op, name) {
        Some(Attr::Map(map)) => Ok(map),
        _ => Err(missing(name, "a map")),
    }
}

/// A symbol, its parts joined by `::`.
pub(super) fn symbol(op: &Op, name: &str) -> Res<String> {
    match get(op, name) {
        Some(Attr::Symbol(parts)) => Ok(parts.join("::")),
        Some(Attr::Str(text)) => Ok(text.to_string()),
        _ => Err(missing(name, "a symbol")),
    }
}

/// The operands of each group of an operation with groups that vary.
pub(super) fn segments(op: &Op, count: usize) -> Res<Vec<std::ops::Range<usize>>> {
    let sizes = optional_ints(op, "operandSegmentSizes")?
        .or(optional_ints(op, "operand_segment_sizes")?)
        .ok_or_else(|| missing("operandSegmentSizes", "a list of integers"))?;
    let mut at = 0;
    let mut ranges = Vec::with_capacity(sizes.len());
    for &size in &sizes {
        let size = usize::try_from(size).map_err(|_negative| invalid("a group of operands is negative"))?;
        ranges.push(at..at + size.min(op.operands.len() + 1));
        at = ranges[ranges.len() - 1].end;
    }
    if at != op.operands.len() || ranges.len() < count {
        let (found, groups) = (op.operands.len(), sizes.len());
        return Err(invalid(format!(
            "operandSegmentSizes has {groups} groups of {at} operands, expected {count} groups of {found}"
        )));
    }
    Ok(ranges)
}
