//! `dense<…> : type`
//!
//! The type stands behind the elements, so these are kept as words until it is known.

use super::attrs::Literal;
use super::error::{Parsed, SyntaxError};
use super::float;
use super::lexer::Token;
use super::parser::{Parser, unescape_bytes};
use crate::ast::{Attr, Pos, Sign, Type};

/// What stands between the angle brackets.
#[derive(Debug, Default)]
struct Elements<'a> {
    literals: Vec<(Literal<'a>, Pos)>,
    /// The extents of the lists; none where it is a single element.
    shape: Vec<u64>,
}

impl<'a> Parser<'a> {
    /// `dense<…> : type`, or `dense<…>` of a type that is known; the word comes next.
    pub(crate) fn dense(&mut self, known: Option<Type>) -> Parsed<Attr> {
        self.advance();
        self.expect(b'<')?;
        let pos = self.pos();
        let mut elements = Elements::default();
        let mut blob = None;
        match self.word.token {
            Token::Str(raw) => {
                blob = unescape_bytes(raw).and_then(|bytes| unhex(&bytes));
                if blob.is_none() {
                    return self.expected("elements in hexadecimal, `\"0x…\"`");
                }
                self.advance();
            }
            Token::Mark(b'>') => elements.shape = vec![0],
            _ => self.elements(0, &mut elements)?,
        }
        self.expect(b'>')?;
        let ty = match known {
            Some(ty) => ty,
            None => self.colon_type()?,
        };
        let (extents, elem) = shape_of(&ty).ok_or_else(|| {
            let found = super::print::shown(&ty);
            SyntaxError::unexpected(pos, "a vector or tensor of known shape", found)
        })?;
        let count =
            extents.iter().try_fold(1u64, |count, extent| count.checked_mul(*extent)).unwrap_or(u64::MAX);
        let items = match blob {
            Some(bytes) => blob_items(&bytes, count, elem, pos)?,
            None => self.items(&elements, &extents, count, elem, pos)?,
        };
        let items = splat(items);
        Ok(Attr::Dense(items, ty))
    }

    fn elements(&mut self, level: usize, elements: &mut Elements<'a>) -> Parsed<()> {
        if !self.at(b'[') {
            let pos = self.pos();
            if level != elements.shape.len() {
                return self.expected("lists that are nested equally");
            }
            elements.literals.push((self.literal("an element")?, pos));
            return Ok(());
        }
        self.nest(|p| {
            let (pos, first) = (p.pos(), level == elements.shape.len() && elements.literals.is_empty());
            if level == elements.shape.len() && !first {
                return p.expected("lists that are nested equally");
            }
            if first {
                elements.shape.push(0);
            }
            let mut count = 0;
            p.list(b'[', b']', |p| {
                count += 1;
                p.elements(level + 1, elements)
            })?;
            if first {
                elements.shape[level] = count;
            } else if elements.shape[level] != count {
                let expected = format!("a list of {} elements", elements.shape[level]);
                return Err(SyntaxError::unexpected(pos, expected, format!("{count}")));
            }
            Ok(())
        })
    }

    fn items(
        &self,
        elements: &Elements<'a>,
        extents: &[u64],
        count: u64,
        elem: &Type,
        pos: Pos,
    ) -> Parsed<Vec<Attr>> {
        let single = elements.shape.is_empty();
        let empty = count == 0 && elements.literals.is_empty();
        if !single && !empty && elements.shape != extents {
            let expected = format!("lists of the shape {extents:?}");
            return Err(SyntaxError::unexpected(pos, expected, format!("{:?}", elements.shape)));
        }
        elements.literals.iter().map(|(literal, pos)| self.typed_number(*literal, elem, *pos)).collect()
    }
}

/// One element where all are the same, as MLIR keeps them.
pub(crate) fn splat(mut items: Vec<Attr>) -> Vec<Attr> {
    if items.len() > 1 && items.iter().all(|item| *item == items[0]) {
        items.truncate(1);
    }
    items
}

fn shape_of(ty: &Type) -> Option<(Vec<u64>, &Type)> {
    match ty {
        Type::Vector(extents, elem) => Some((extents.clone(), elem)),
        Type::Tensor(Some(extents), elem) => {
            Some((extents.iter().copied().collect::<Option<Vec<_>>>()?, elem))
        }
        _ => None,
    }
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_prefix(b"0x")?;
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    digits.chunks_exact(2).map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)).collect()
}

/// Elements from their bytes in little-endian order, each in whole bytes.
fn blob_items(bytes: &[u8], count: u64, elem: &Type, pos: Pos) -> Parsed<Vec<Attr>> {
    let width = match elem {
        Type::Int(width @ 2..=64, _) => Some(*width),
        Type::Index => Some(64),
        Type::Float(name) => float::width(name),
        _ => None,
    };
    let Some(width) = width else {
        return Err(SyntaxError::unsupported(pos, "elements of this type in hexadecimal"));
    };
    let size = width.div_ceil(8) as usize;
    let found = bytes.len() as u64;
    let size_u64 = size as u64;
    if found != size_u64 && Some(found) != count.checked_mul(size_u64) {
        let expected = format!("{size} bytes for one or each of {count} elements");
        return Err(SyntaxError::unexpected(pos, expected, format!("{found} bytes")));
    }
    let item = |chunk: &[u8]| {
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(chunk);
        let bits = u64::from_le_bytes(wide);
        match elem {
            Type::Float(name) => float::from_bits(name, bits).map(|value| Attr::Float(value, elem.clone())),
            Type::Int(_, Sign::Unsigned) => Some(Attr::Int(i128::from(bits), elem.clone())),
            _ => {
                let unused = 64 - width;
                Some(Attr::Int(i128::from((bits << unused).cast_signed() >> unused), elem.clone()))
            }
        }
    };
    let items = bytes.chunks_exact(size).map(item).collect::<Option<Vec<_>>>();
    items.ok_or_else(|| SyntaxError::unexpected(pos, "elements of their type's bits", "others"))
}
