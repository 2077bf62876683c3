//! Types.

use super::error::{Parsed, SyntaxError};
use super::lexer::Token;
use super::parser::Parser;
use crate::ast::{AffineMap, Attr, Layout, MemRef, Mma, Sign, Type};

/// The most dimensions of a shape.
const RANK: usize = 64;

/// Widths of integers that MLIR knows.
const WIDEST: u32 = (1 << 24) - 1;

const FLOATS: [&str; 17] = [
    "f16",
    "bf16",
    "f32",
    "f64",
    "tf32",
    "f80",
    "f128",
    "f8E5M2",
    "f8E4M3",
    "f8E4M3FN",
    "f8E5M2FNUZ",
    "f8E4M3FNUZ",
    "f8E4M3B11FNUZ",
    "f8E3M4",
    "f6E2M3FN",
    "f6E3M2FN",
    "f4E2M1FN",
];

/// An extent: none where dynamic.
type Extent = Option<u64>;

impl<'a> Parser<'a> {
    /// Any type.
    pub(crate) fn ty(&mut self) -> Parsed<Type> {
        match self.optional_type()? {
            Some(ty) => Ok(ty),
            None => self.expected("a type"),
        }
    }

    /// `: type`
    pub(crate) fn colon_type(&mut self) -> Parsed<Type> {
        self.expect(b':')?;
        self.ty()
    }

    /// A type, if one comes next.
    pub(crate) fn optional_type(&mut self) -> Parsed<Option<Type>> {
        self.nest(|p| match p.word.token {
            Token::Word(name) => p.named_type(name),
            Token::Bang(name) => p.dialect_type(name).map(Some),
            Token::Mark(b'(') => {
                p.function_type().map(|(inputs, results)| Some(Type::Function(inputs, results)))
            }
            _ => Ok(None),
        })
    }

    fn named_type(&mut self, name: &'a str) -> Parsed<Option<Type>> {
        let simple = match name {
            "index" => Some(Type::Index),
            "none" => Some(Type::None),
            _ if FLOATS.contains(&name) => Some(Type::Float(name.into())),
            _ => self.integer_type(name)?,
        };
        if simple.is_some() {
            self.advance();
            return Ok(simple);
        }
        match name {
            "memref" => self.memref().map(Some),
            "vector" => self.vector().map(Some),
            "tensor" => self.tensor().map(Some),
            "tuple" => {
                self.advance();
                let mut items = Vec::new();
                self.list(b'<', b'>', |p| {
                    items.push(p.ty()?);
                    Ok(())
                })?;
                Ok(Some(Type::Tuple(items)))
            }
            "complex" => Err(SyntaxError::unsupported(self.pos(), "the type `complex`")),
            _ => Ok(None),
        }
    }

    fn integer_type(&self, name: &str) -> Parsed<Option<Type>> {
        let (sign, digits) = if let Some(digits) = name.strip_prefix("si") {
            (Sign::Signed, digits)
        } else if let Some(digits) = name.strip_prefix("ui") {
            (Sign::Unsigned, digits)
        } else if let Some(digits) = name.strip_prefix('i') {
            (Sign::None, digits)
        } else {
            return Ok(None);
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(None);
        }
        match digits.parse() {
            Ok(width @ 0..=WIDEST) => Ok(Some(Type::Int(width, sign))),
            _ => self.expected(&format!("an integer type of at most {WIDEST} bits")),
        }
    }

    /// `(types) -> types`, of which the results may lack parentheses.
    pub(crate) fn function_type(&mut self) -> Parsed<(Vec<Type>, Vec<Type>)> {
        let inputs = self.types_in_parentheses()?;
        self.expect_arrow()?;
        Ok((inputs, self.result_types()?))
    }

    /// One type, or several in parentheses.
    pub(crate) fn result_types(&mut self) -> Parsed<Vec<Type>> {
        if self.at(b'(') { self.nest(Self::types_in_parentheses) } else { Ok(vec![self.ty()?]) }
    }

    pub(crate) fn types_in_parentheses(&mut self) -> Parsed<Vec<Type>> {
        let mut types = Vec::new();
        self.list(b'(', b')', |p| {
            types.push(p.ty()?);
            Ok(())
        })?;
        Ok(types)
    }

    /// Types between commas, at least one.
    pub(crate) fn types(&mut self) -> Parsed<Vec<Type>> {
        let mut types = vec![self.ty()?];
        while self.eat(b',') {
            types.push(self.ty()?);
        }
        Ok(types)
    }

    /// `4x?x`: the extents in front of an element type. `None` is `*x`.
    fn shape(&mut self) -> Parsed<Option<Vec<Extent>>> {
        if self.at(b'*') {
            self.unread();
            self.lexer.bump();
            self.extent_end()?;
            self.reread();
            return Ok(None);
        }
        let mut extents = Vec::new();
        loop {
            let extent = match self.word.token {
                Token::Mark(b'?') => {
                    self.unread();
                    self.lexer.bump();
                    None
                }
                Token::Int(_) => {
                    self.unread();
                    Some(self.extent()?)
                }
                _ => return Ok(Some(extents)),
            };
            self.extent_end()?;
            if extents.len() == RANK {
                return self.expected(&format!("at most {RANK} extents"));
            }
            extents.push(extent);
            self.reread();
        }
    }

    /// Digits, byte by byte: the word `0x4` begins with the extent 0.
    fn extent(&mut self) -> Parsed<u64> {
        let mut value = 0u64;
        while self.lexer.peek().is_ascii_digit() {
            let digit = u64::from(self.lexer.bump().unwrap_or(b'0') - b'0');
            let next = value.checked_mul(10).and_then(|value| value.checked_add(digit));
            match next.filter(|value| i64::try_from(*value).is_ok()) {
                Some(next) => value = next,
                None => return self.expected("an extent of at most 63 bits"),
            }
        }
        Ok(value)
    }

    /// The `x` behind an extent.
    fn extent_end(&mut self) -> Parsed<()> {
        self.lexer.skip_space();
        if self.lexer.peek() == b'x' {
            self.lexer.bump();
            return Ok(());
        }
        self.reread();
        self.expected("`x` behind an extent")
    }

    /// Extents that must be known.
    fn static_shape(&mut self, what: &str) -> Parsed<Vec<u64>> {
        let pos = self.pos();
        let shape = self.shape()?.and_then(|extents| extents.into_iter().collect::<Option<Vec<_>>>());
        shape.ok_or_else(|| {
            SyntaxError::unexpected(pos, format!("a {what} with a known shape"), "an extent that is dynamic")
        })
    }

    fn vector(&mut self) -> Parsed<Type> {
        self.advance();
        self.expect(b'<')?;
        if self.at(b'[') {
            return Err(SyntaxError::unsupported(self.pos(), "vectors of scalable length"));
        }
        let extents = self.static_shape("vector")?;
        if self.at(b'[') {
            return Err(SyntaxError::unsupported(self.pos(), "vectors of scalable length"));
        }
        let elem = self.ty()?;
        self.expect(b'>')?;
        Ok(Type::Vector(extents, Box::new(elem)))
    }

    fn tensor(&mut self) -> Parsed<Type> {
        self.advance();
        self.expect(b'<')?;
        let extents = self.shape()?;
        let elem = self.ty()?;
        if self.at(b',') {
            return Err(SyntaxError::unsupported(self.pos(), "tensors with an encoding"));
        }
        self.expect(b'>')?;
        Ok(Type::Tensor(extents, Box::new(elem)))
    }

    fn memref(&mut self) -> Parsed<Type> {
        self.advance();
        self.expect(b'<')?;
        let shape = self.shape()?;
        let elem = self.ty()?;
        let (mut layout, mut space) = (Layout::Identity, None);
        if self.eat(b',') {
            let stated = self.optional_layout()?;
            match stated {
                Some(stated) => {
                    layout = stated;
                    if self.eat(b',') {
                        space = Some(self.attr()?);
                    }
                }
                None => match self.attr()? {
                    Attr::Map(map) => {
                        layout = layout_of(map);
                        if self.eat(b',') {
                            space = Some(self.attr()?);
                        }
                    }
                    attr => space = Some(attr),
                },
            }
        }
        self.expect(b'>')?;
        // Space 0 is what a memref is in that names none.
        let space = space.filter(|attr| !matches!(attr, Attr::Int(0, _)));
        Ok(Type::MemRef(Box::new(MemRef { shape, elem, layout, space })))
    }

    /// `strided<[…], offset: …>`, if it comes next.
    fn optional_layout(&mut self) -> Parsed<Option<Layout>> {
        if !self.eat_word("strided") {
            return Ok(None);
        }
        self.expect(b'<')?;
        let mut strides = Vec::new();
        self.list(b'[', b']', |p| {
            strides.push(p.stride()?);
            Ok(())
        })?;
        let mut offset = Some(0);
        if self.eat(b',') {
            self.expect_word("offset")?;
            self.expect(b':')?;
            offset = self.stride()?;
        }
        self.expect(b'>')?;
        Ok(Some(Layout::Strided { strides, offset }))
    }

    fn stride(&mut self) -> Parsed<Option<i64>> {
        if self.eat(b'?') { Ok(None) } else { self.integer().map(Some) }
    }

    /// A whole number with or without a sign.
    pub(crate) fn integer(&mut self) -> Parsed<i64> {
        let negative = self.eat(b'-');
        let magnitude = self.count::<i64>("an integer")?;
        Ok(if negative { -magnitude } else { magnitude })
    }

    fn dialect_type(&mut self, name: &'a str) -> Parsed<Type> {
        let has_body = self.lexer.peek() == b'<';
        if name == "gpu.mma_matrix" && has_body {
            return self.mma();
        }
        if !has_body && !name.contains('.') {
            return self.type_alias(name);
        }
        self.dialect_text(name).map(Type::Dialect)
    }

    fn mma(&mut self) -> Parsed<Type> {
        self.advance();
        self.expect(b'<')?;
        let pos = self.pos();
        let extents = self.static_shape("matrix")?;
        let [rows, columns] = extents[..] else {
            return Err(SyntaxError::unexpected(pos, "two extents", format!("{}", extents.len())));
        };
        let elem = self.ty()?;
        self.expect(b',')?;
        let pos = self.pos();
        let operand = self.string()?;
        if !matches!(&*operand, "AOp" | "BOp" | "COp") {
            return Err(SyntaxError::unexpected(
                pos,
                "`\"AOp\"`, `\"BOp\"` or `\"COp\"`",
                format!("`\"{operand}\"`"),
            ));
        }
        self.expect(b'>')?;
        Ok(Type::Mma(Box::new(Mma { rows, columns, elem, operand })))
    }
}

/// The identity is the layout that a memref has without one.
fn layout_of(map: AffineMap) -> Layout {
    let identity = map.symbols == 0
        && map.results.len() == map.dims as usize
        && map.results.iter().zip(0..).all(|(result, dim)| *result == crate::ast::Affine::Dim(dim));
    if identity { Layout::Identity } else { Layout::Map(map) }
}
