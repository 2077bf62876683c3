//! `#name = attribute` and `!name = type`.
//!
//! An alias stands for a tree, and aliases of aliases could stand for trees that grow with a power of their number:
//! so what all uses together copy is bounded, as is the depth.

use std::collections::HashMap;

use super::error::{Parsed, SyntaxError};
use super::lexer::Token;
use super::measure::{Size, attr_size, type_size};
use super::parser::{NESTING, Parser, too_deep};
use crate::ast::{Attr, Type};

/// So many nodes may all uses of aliases copy.
const COPIED: usize = 1 << 22;

/// What the names stand for.
#[derive(Debug, Default)]
pub(crate) struct Aliases<'a> {
    attrs: HashMap<&'a str, (Attr, Size)>,
    types: HashMap<&'a str, (Type, Size)>,
    copied: usize,
}

impl<'a> Parser<'a> {
    /// `#name = …` or `!name = …`; the name comes next.
    pub(crate) fn alias_definition(&mut self) -> Parsed<()> {
        let word = self.advance();
        let (Token::Hash(name) | Token::Bang(name)) = word.token else { return self.expected("an alias") };
        if name.contains('.') {
            return Err(SyntaxError::unexpected(
                word.pos,
                "an alias, whose name has no `.`",
                word.describe(self.lexer.text),
            ));
        }
        self.expect(b'=')?;
        let known = if matches!(word.token, Token::Hash(_)) {
            if self.at_word("loc") {
                let location = self.location()?;
                self.locations.insert(name, location).is_some()
            } else {
                let attr = self.attr()?;
                let size = attr_size(&attr);
                self.aliases.attrs.insert(name, (attr, size)).is_some()
            }
        } else {
            let ty = self.ty()?;
            let size = type_size(&ty);
            self.aliases.types.insert(name, (ty, size)).is_some()
        };
        if known {
            let found = format!("{}, which is", word.describe(self.lexer.text));
            return Err(SyntaxError::unexpected(word.pos, "an alias that is not defined yet", found));
        }
        Ok(())
    }

    /// The attribute that an alias stands for; the alias comes next.
    pub(crate) fn attr_alias(&mut self, name: &str) -> Parsed<Attr> {
        let Some((attr, size)) = self.aliases.attrs.get(name) else {
            return self.expected("an attribute's alias that is defined before");
        };
        let (attr, size) = (attr.clone(), *size);
        self.charge(size)?;
        self.advance();
        Ok(attr)
    }

    /// The type that an alias stands for; the alias comes next.
    pub(crate) fn type_alias(&mut self, name: &str) -> Parsed<Type> {
        let Some((ty, size)) = self.aliases.types.get(name) else {
            return self.expected("a type's alias that is defined before");
        };
        let (ty, size) = (ty.clone(), *size);
        self.charge(size)?;
        self.advance();
        Ok(ty)
    }

    pub(crate) fn knows_attr(&self, name: &str) -> bool {
        self.aliases.attrs.contains_key(name)
    }

    pub(crate) fn knows_type(&self, name: &str) -> bool {
        self.aliases.types.contains_key(name)
    }

    /// Counts what a use of an alias copies.
    pub(crate) fn charge(&mut self, size: Size) -> Parsed<()> {
        if self.depth + size.depth > NESTING {
            return Err(too_deep(self.pos()));
        }
        self.aliases.copied = self.aliases.copied.saturating_add(size.nodes);
        if self.aliases.copied > COPIED {
            let expected = format!("aliases that stand for at most {COPIED} parts in all");
            return Err(SyntaxError::unexpected(self.pos(), expected, "more"));
        }
        Ok(())
    }
}
