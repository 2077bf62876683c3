//! What all parsers share: the word that comes next, expectations, the limit of nesting.

use std::collections::HashMap;

use super::alias::Aliases;
use super::error::{Parsed, SyntaxError};
use super::lexer::{Lexer, Token, Word, quoted};
use super::scope::Scopes;
use crate::ast::{Location, Pos};

/// So deep may regions, attributes, types and expressions be nested in each other, all counted together.
/// It bounds the stack that parsing, printing and freeing a tree take.
pub(crate) const NESTING: u32 = 128;

/// The state of reading a text.
#[derive(Debug)]
pub(crate) struct Parser<'a> {
    pub(crate) lexer: Lexer<'a>,
    pub(crate) word: Word<'a>,
    pub(crate) depth: u32,
    pub(crate) scopes: Scopes<'a>,
    pub(crate) aliases: Aliases<'a>,
    /// `#name = loc(…)`; these may stand behind their uses.
    pub(crate) locations: HashMap<&'a str, Option<Location>>,
    /// Where a location's alias was first used before it was defined.
    pub(crate) late_location: Option<Pos>,
    /// Labels of the blocks of each open region.
    pub(crate) labels: Vec<super::region::Labels<'a>>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let word = lexer.next();
        Self {
            lexer,
            word,
            depth: 0,
            scopes: Scopes::new(),
            aliases: Aliases::default(),
            locations: HashMap::new(),
            late_location: None,
            labels: Vec::new(),
        }
    }

    pub(crate) fn pos(&self) -> Pos {
        self.word.pos
    }

    /// Takes the word that comes next.
    pub(crate) fn advance(&mut self) -> Word<'a> {
        let word = self.word;
        self.word = self.lexer.next();
        word
    }

    /// Has the word that comes next read once more, by bytes; [`Self::reread`] makes a word of what is left.
    pub(crate) fn unread(&mut self) {
        self.lexer.rewind(&self.word);
    }

    pub(crate) fn reread(&mut self) {
        self.word = self.lexer.next();
    }

    /// That something else than the next word was expected.
    pub(crate) fn expected<T>(&self, what: &str) -> Parsed<T> {
        Err(SyntaxError::unexpected(self.pos(), what, self.word.describe(self.lexer.text)))
    }

    /// Runs a parser one level deeper.
    pub(crate) fn nest<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= NESTING {
            return Err(too_deep(self.pos()));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    pub(crate) fn at(&self, mark: u8) -> bool {
        self.word.token == Token::Mark(mark)
    }

    pub(crate) fn at_word(&self, name: &str) -> bool {
        self.word.token == Token::Word(name)
    }

    /// Takes a character if it comes next.
    pub(crate) fn eat(&mut self, mark: u8) -> bool {
        let found = self.at(mark);
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn eat_word(&mut self, name: &str) -> bool {
        let found = self.at_word(name);
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn eat_arrow(&mut self) -> bool {
        let found = self.word.token == Token::Arrow;
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn expect(&mut self, mark: u8) -> Parsed<()> {
        if self.eat(mark) { Ok(()) } else { self.expected(&format!("`{}`", mark as char)) }
    }

    pub(crate) fn expect_word(&mut self, name: &str) -> Parsed<()> {
        if self.eat_word(name) { Ok(()) } else { self.expected(&format!("`{name}`")) }
    }

    pub(crate) fn expect_arrow(&mut self) -> Parsed<()> {
        if self.eat_arrow() { Ok(()) } else { self.expected("`->`") }
    }

    /// A word, of which the message says what it stands for.
    pub(crate) fn name(&mut self, what: &str) -> Parsed<&'a str> {
        match self.word.token {
            Token::Word(name) => {
                self.advance();
                Ok(name)
            }
            _ => self.expected(what),
        }
    }

    /// One of several words.
    pub(crate) fn one_of(&mut self, names: &[&'static str]) -> Parsed<usize> {
        let found = names.iter().position(|name| self.at_word(name));
        if found.is_some() {
            self.advance();
        }
        match found {
            Some(index) => Ok(index),
            None => self.expected(&format!("one of `{}`", names.join("`, `"))),
        }
    }

    /// A number without a sign.
    pub(crate) fn count<T: TryFrom<u64>>(&mut self, what: &str) -> Parsed<T> {
        if let Token::Int(digits) = self.word.token {
            if let Some(value) = parse_int(digits)
                && let Some(value) = u64::try_from(value).ok().and_then(|value| T::try_from(value).ok())
            {
                self.advance();
                return Ok(value);
            }
            return self.expected(&format!("{what} of a smaller value"));
        }
        self.expected(what)
    }

    /// Things between commas up to a closing character, whose opening one was taken.
    pub(crate) fn until(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        if self.eat(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.eat(close) {
                return Ok(());
            }
            if !self.eat(b',') {
                return self.expected(&format!("`,` or `{}`", close as char));
            }
        }
    }

    /// Things between commas, in parentheses of a kind.
    pub(crate) fn list(
        &mut self,
        open: u8,
        close: u8,
        item: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        self.expect(open)?;
        self.until(close, item)
    }

    /// A string with its escapes resolved.
    pub(crate) fn string(&mut self) -> Parsed<Box<str>> {
        match self.word.token {
            Token::Str(raw) => {
                let Some(text) = unescape(raw) else {
                    return self.expected(
                        "a string whose escapes `\\\"`, `\\\\`, `\\n`, `\\t` and `\\hh` make UTF-8",
                    );
                };
                self.advance();
                Ok(text)
            }
            _ => self.expected("a string"),
        }
    }

    /// `@name` or `@"name"`.
    pub(crate) fn symbol(&mut self) -> Parsed<Box<str>> {
        let name: Box<str> = match self.word.token {
            Token::Symbol(name) => name.into(),
            Token::QuotedSymbol(raw) => match unescape(raw) {
                Some(name) => name,
                None => return self.expected("a symbol of UTF-8"),
            },
            _ => return self.expected("a symbol `@name`"),
        };
        self.advance();
        Ok(name)
    }

    /// What stands between two places of the text.
    pub(crate) fn text(&self, start: usize, end: usize) -> &'a str {
        &self.lexer.text[start..end]
    }
}

/// That something is nested too deeply.
pub(crate) fn too_deep(pos: Pos) -> Box<SyntaxError> {
    SyntaxError::unexpected(pos, format!("at most {NESTING} levels of nesting"), "one more")
}

/// `12` or `0x1F`, if it is not too large.
pub(crate) fn parse_int(digits: &str) -> Option<u128> {
    match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// A string's bytes without escapes.
pub(crate) fn unescape_bytes(raw: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            mark @ (b'"' | b'\\') => mark,
            high => {
                let (high, low) = (char::from(high).to_digit(16)?, char::from(rest.next()?).to_digit(16)?);
                (high * 16 + low) as u8
            }
        });
    }
    Some(bytes)
}

fn unescape(raw: &str) -> Option<Box<str>> {
    if !raw.contains('\\') {
        return Some(raw.into());
    }
    String::from_utf8(unescape_bytes(raw)?).ok().map(String::into_boxed_str)
}

/// A value's name as it stands in the text.
pub(crate) fn value_name(name: &str, index: u32) -> String {
    if index == 0 { quoted(&format!("%{name}")) } else { quoted(&format!("%{name}#{index}")) }
}
