//! Attributes.

use super::error::{Parsed, SyntaxError};
use super::float;
use super::lexer::Token;
use super::parser::{Parser, parse_int};
use crate::ast::{Attr, Sign, Type};

/// Named attributes in the order of the text.
pub(crate) type Attrs = Vec<(Box<str>, Attr)>;

/// A number before its type is known: its sign and its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Literal<'a> {
    pub(crate) negative: bool,
    pub(crate) token: Token<'a>,
}

impl<'a> Parser<'a> {
    /// Any attribute.
    pub(crate) fn attr(&mut self) -> Parsed<Attr> {
        self.nest(Self::attr_inside)
    }

    fn attr_inside(&mut self) -> Parsed<Attr> {
        match self.word.token {
            Token::Word(name) => self.named_attr(name),
            Token::Int(_) | Token::Float(_) | Token::Mark(b'-') => self.number_attr(),
            Token::Str(_) => {
                let text = self.string()?;
                if self.at(b':') {
                    return Err(SyntaxError::unsupported(self.pos(), "strings with a type"));
                }
                Ok(Attr::Str(text))
            }
            Token::Symbol(_) | Token::QuotedSymbol(_) => self.symbol_attr(),
            Token::Mark(b'[') => {
                let mut items = Vec::new();
                self.list(b'[', b']', |p| {
                    items.push(p.attr()?);
                    Ok(())
                })?;
                Ok(Attr::Array(items))
            }
            Token::Mark(b'{') => {
                let mut items = Vec::new();
                self.attr_dict(&mut items)?;
                Ok(Attr::Dict(items))
            }
            Token::Hash(name) => self.hash_attr(name),
            Token::Bang(_) | Token::Mark(b'(') => self.ty().map(Attr::Type),
            _ => self.expected("an attribute"),
        }
    }

    fn named_attr(&mut self, name: &str) -> Parsed<Attr> {
        match name {
            "true" | "false" => {
                self.advance();
                Ok(Attr::Bool(name == "true"))
            }
            "unit" => {
                self.advance();
                Ok(Attr::Unit)
            }
            "affine_map" => self.map_attr().map(Attr::Map),
            "affine_set" => self.set_attr().map(Attr::Set),
            "array" => self.dense_array(),
            "dense" => self.dense(None),
            "dense_resource" | "sparse" | "distinct" | "opaque" | "loc" => {
                Err(SyntaxError::unsupported(self.pos(), format!("the attribute `{name}`")))
            }
            _ => match self.optional_type()? {
                Some(ty) => Ok(Attr::Type(ty)),
                None => self.expected("an attribute"),
            },
        }
    }

    fn hash_attr(&mut self, name: &'a str) -> Parsed<Attr> {
        if self.lexer.peek() != b'<' && !name.contains('.') {
            return self.attr_alias(name);
        }
        let text = self.dialect_text(name)?;
        if self.at(b':') && name == "llvm.poison" {
            return Err(SyntaxError::unsupported(self.pos(), "attributes of a dialect with a type"));
        }
        Ok(Attr::Dialect(text))
    }

    /// `@a::@b`
    pub(crate) fn symbol_attr(&mut self) -> Parsed<Attr> {
        let mut path = vec![self.symbol()?];
        while self.word.token == Token::Path {
            self.advance();
            path.push(self.symbol()?);
        }
        Ok(Attr::Symbol(path))
    }

    /// `{name = attribute, name}` behind whatever `attrs` holds already.
    pub(crate) fn attr_dict(&mut self, attrs: &mut Attrs) -> Parsed<()> {
        let mut seen: std::collections::HashSet<Box<str>> =
            attrs.iter().map(|(name, _)| name.clone()).collect();
        self.list(b'{', b'}', |p| {
            let pos = p.pos();
            let name: Box<str> = match p.word.token {
                Token::Word(name) => {
                    p.advance();
                    name.into()
                }
                Token::Str(_) => p.string()?,
                _ => return p.expected("an attribute's name"),
            };
            if !seen.insert(name.clone()) {
                let found = super::lexer::quoted(&name);
                return Err(SyntaxError::unexpected(pos, "a name that is not in the list yet", found));
            }
            let attr = if p.eat(b'=') { p.attr()? } else { Attr::Unit };
            attrs.push((name, attr));
            Ok(())
        })
    }

    /// `{…}`, if it comes next.
    pub(crate) fn optional_attr_dict(&mut self, attrs: &mut Attrs) -> Parsed<()> {
        if self.at(b'{') { self.attr_dict(attrs) } else { Ok(()) }
    }

    /// A number, a sign before it, or a truth value.
    pub(crate) fn literal(&mut self, what: &str) -> Parsed<Literal<'a>> {
        let negative = self.eat(b'-');
        match self.word.token {
            Token::Int(_) | Token::Float(_) => {}
            Token::Word("true" | "false") if !negative => {}
            _ => return self.expected(what),
        }
        Ok(Literal { negative, token: self.advance().token })
    }

    fn number_attr(&mut self) -> Parsed<Attr> {
        let pos = self.pos();
        let literal = self.literal("a number")?;
        let ty = if self.eat(b':') {
            self.ty()?
        } else if matches!(literal.token, Token::Float(_)) {
            Type::Float("f64".into())
        } else {
            Type::Int(64, Sign::None)
        };
        self.typed_number(literal, &ty, pos)
    }

    /// A number as an attribute of a type.
    pub(crate) fn typed_number(&self, literal: Literal<'a>, ty: &Type, pos: crate::ast::Pos) -> Parsed<Attr> {
        let text = match literal.token {
            Token::Int(text) | Token::Float(text) | Token::Word(text) => text,
            _ => "?",
        };
        let attr = match (ty, literal.token) {
            (Type::Int(1, Sign::None), Token::Word(word)) => Some(Attr::Bool(word == "true")),
            (Type::Int(..) | Type::Index, Token::Int(digits)) => integer(literal.negative, digits, ty),
            (Type::Float(name), Token::Float(digits)) => digits.parse::<f64>().ok().and_then(|value| {
                let value = if literal.negative { -value } else { value };
                Some(Attr::Float(float::round(name, value)?, ty.clone()))
            }),
            (Type::Float(name), Token::Int(digits)) if digits.starts_with("0x") && !literal.negative => {
                let bits = parse_int(digits).and_then(|bits| u64::try_from(bits).ok());
                bits.and_then(|bits| float::from_bits(name, bits)).map(|value| Attr::Float(value, ty.clone()))
            }
            _ => None,
        };
        attr.ok_or_else(|| {
            if let Type::Float(name) = ty
                && float::width(name).is_none()
            {
                return SyntaxError::unsupported(pos, format!("numbers of type `{name}`"));
            }
            let sign = if literal.negative { "-" } else { "" };
            SyntaxError::unexpected(
                pos,
                format!("a number of type {}", super::print::shown(ty)),
                super::lexer::quoted(&format!("{sign}{text}")),
            )
        })
    }

    /// `array<i32: 1, 2>`
    fn dense_array(&mut self) -> Parsed<Attr> {
        self.advance();
        self.expect(b'<')?;
        let pos = self.pos();
        let ty = self.ty()?;
        if !matches!(ty, Type::Int(..) | Type::Float(_)) {
            let found = super::print::shown(&ty);
            return Err(SyntaxError::unexpected(pos, "a type of integers or floats", found));
        }
        let mut items = Vec::new();
        if self.eat(b':') {
            self.until(b'>', |p| {
                let pos = p.pos();
                let literal = p.literal("a number")?;
                items.push(p.typed_number(literal, &ty, pos)?);
                Ok(())
            })?;
        } else {
            self.expect(b'>')?;
        }
        Ok(Attr::DenseArray(ty, items))
    }
}

/// An integer of a type, if it has its bits: as in MLIR, `255 : i8` is -1.
fn integer(negative: bool, digits: &str, ty: &Type) -> Option<Attr> {
    let (width, sign) = match ty {
        Type::Int(width, sign) => (*width, *sign),
        _ => (64, Sign::None),
    };
    let magnitude = i128::try_from(parse_int(digits)?).ok()?;
    let value = if negative { -magnitude } else { magnitude };
    if width == 0 {
        return (value == 0).then(|| Attr::Int(0, ty.clone()));
    }
    if width >= 128 {
        return Some(Attr::Int(value, ty.clone()));
    }
    let (least, most) = match sign {
        Sign::Signed => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
        Sign::Unsigned => (0, (1i128 << (width - 1)) - 1 + (1i128 << (width - 1))),
        Sign::None => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1 + (1i128 << (width - 1))),
    };
    if value < least || value > most {
        return None;
    }
    if *ty == Type::Int(1, Sign::None) {
        return Some(Attr::Bool(value != 0));
    }
    let wraps = sign == Sign::None && value >= 1i128 << (width - 1);
    Some(Attr::Int(
        if wraps { value - (1i128 << (width - 1)) - (1i128 << (width - 1)) } else { value },
        ty.clone(),
    ))
}
