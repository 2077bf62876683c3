//! The words of MLIR's text.
//!
//! Words are made one at a time, where the parser stands, so that a text that is wrong ends soon. Numbers stay text:
//! what `16x16xf32` is, only the parser of types knows, which has the lexer go back to the start of a word.

use crate::ast::Pos;

/// So much of a word is shown in a message, in bytes.
const SHOWN: usize = 40;

/// What kind of word it is; the text is without the sigil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    End,
    /// `name`, `dialect.name`
    Word(&'a str),
    /// `%name`
    Value(&'a str),
    /// `@name`
    Symbol(&'a str),
    /// `@"name"`, escapes as they are
    QuotedSymbol(&'a str),
    /// `^name`
    Label(&'a str),
    /// `#name`
    Hash(&'a str),
    /// `!name`
    Bang(&'a str),
    /// `12`, `0x1F`
    Int(&'a str),
    /// `1.5`, `1.0e-3`
    Float(&'a str),
    /// `"text"`, escapes as they are
    Str(&'a str),
    /// `->`
    Arrow,
    /// `::`
    Path,
    /// `{-#`
    Resources,
    /// Any other single character
    Mark(u8),
    /// No word
    Bad(&'static str),
}

/// A word and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) token: Token<'a>,
    /// Bytes of the text.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) pos: Pos,
}

/// The text and how far it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexer<'a> {
    pub(crate) text: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.')
}

/// Behind a sigil a minus may stand too.
fn is_suffix(byte: u8) -> bool {
    is_name(byte) || byte == b'-'
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, line_start: 0 }
    }

    /// The byte that comes next, 0 at the end.
    pub(crate) fn peek(&self) -> u8 {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> u8 {
        self.text.as_bytes().get(self.at + by).copied().unwrap_or(0)
    }

    /// The byte that comes next, which is taken unless the text has ended.
    pub(crate) fn bump(&mut self) -> Option<u8> {
        let byte = *self.text.as_bytes().get(self.at)?;
        self.at += 1;
        if byte == b'\n' {
            self.line += 1;
            self.line_start = self.at;
        }
        Some(byte)
    }

    pub(crate) fn pos(&self) -> Pos {
        Pos { line: self.line, column: (self.at - self.line_start + 1) as u32 }
    }

    /// Goes back to a place in front, which must not be behind a line break before it.
    pub(crate) fn rewind(&mut self, word: &Word<'_>) {
        self.at = word.start;
        self.line = word.pos.line;
        self.line_start = word.start + 1 - word.pos.column as usize;
    }

    /// Goes over white space and comments.
    pub(crate) fn skip_space(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' | b'\r' | b'\n' => {
                    self.bump();
                }
                b'/' if self.ahead(1) == b'/' => {
                    let rest = &self.text.as_bytes()[self.at..];
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    pub(crate) fn next(&mut self) -> Word<'a> {
        self.skip_space();
        let (start, pos) = (self.at, self.pos());
        let token = self.token(start);
        Word { token, start, end: self.at, pos }
    }

    fn token(&mut self, start: usize) -> Token<'a> {
        let Some(first) = self.bump() else { return Token::End };
        match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                self.take_while(is_name);
                Token::Word(&self.text[start..self.at])
            }
            b'0'..=b'9' => self.number(start),
            b'%' => self.suffix("`%` without a name").map_or_else(Token::Bad, Token::Value),
            b'^' => self.suffix("`^` without a name").map_or_else(Token::Bad, Token::Label),
            b'#' => self.suffix("`#` without a name").map_or_else(Token::Bad, Token::Hash),
            b'!' => self.suffix("`!` without a name").map_or_else(Token::Bad, Token::Bang),
            b'@' if self.peek() == b'"' => {
                self.bump();
                self.string().map_or_else(Token::Bad, Token::QuotedSymbol)
            }
            b'@' => self.suffix("`@` without a name").map_or_else(Token::Bad, Token::Symbol),
            b'"' => self.string().map_or_else(Token::Bad, Token::Str),
            b'-' if self.peek() == b'>' => self.pair(Token::Arrow),
            b':' if self.peek() == b':' => self.pair(Token::Path),
            b'{' if self.peek() == b'-' && self.ahead(1) == b'#' => {
                self.at += 2;
                Token::Resources
            }
            0x20..=0x7E => Token::Mark(first),
            0..0x20 | 0x7F => Token::Bad("a control character"),
            _ => {
                // The text is UTF-8, so what follows belongs to the character.
                self.take_while(|byte| byte & 0xC0 == 0x80);
                Token::Bad("a character outside of strings that is not ASCII")
            }
        }
    }

    fn pair(&mut self, token: Token<'a>) -> Token<'a> {
        self.at += 1;
        token
    }

    fn take_while(&mut self, keep: impl Fn(u8) -> bool) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| !keep(*byte)).unwrap_or(rest.len());
    }

    fn suffix(&mut self, missing: &'static str) -> Result<&'a str, &'static str> {
        let start = self.at;
        // Either digits alone or a name: `%0#1` is two words, and `%0x` too.
        if self.peek().is_ascii_digit() {
            self.take_while(|byte| byte.is_ascii_digit());
        } else {
            self.take_while(is_suffix);
            // `%a->` is a name and an arrow.
            if self.text.as_bytes()[start..self.at].ends_with(b"-") && self.peek() == b'>' {
                self.at -= 1;
            }
        }
        if self.at == start { Err(missing) } else { Ok(&self.text[start..self.at]) }
    }

    fn number(&mut self, start: usize) -> Token<'a> {
        if self.text.as_bytes()[start] == b'0' && self.peek() == b'x' && self.ahead(1).is_ascii_hexdigit() {
            self.at += 1;
            self.take_while(|byte| byte.is_ascii_hexdigit());
            return Token::Int(&self.text[start..self.at]);
        }
        self.take_while(|byte| byte.is_ascii_digit());
        if self.peek() != b'.' {
            return Token::Int(&self.text[start..self.at]);
        }
        self.at += 1;
        self.take_while(|byte| byte.is_ascii_digit());
        let sign = usize::from(matches!(self.ahead(1), b'+' | b'-'));
        if matches!(self.peek(), b'e' | b'E') && self.ahead(1 + sign).is_ascii_digit() {
            self.at += 1 + sign;
            self.take_while(|byte| byte.is_ascii_digit());
        }
        Token::Float(&self.text[start..self.at])
    }

    /// The inside of a string, behind its first quote.
    fn string(&mut self) -> Result<&'a str, &'static str> {
        let start = self.at;
        loop {
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok(&self.text[start..self.at - 1]);
                }
                b'\n' => return Err("a string without an end"),
                0 if self.at >= self.text.len() => return Err("a string without an end"),
                b'\\' => {
                    self.at += 1;
                    if self.at >= self.text.len() || self.peek() == b'\n' {
                        return Err("a string without an end");
                    }
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
    }
}

impl Word<'_> {
    /// What stands there, for messages.
    pub(crate) fn describe(&self, text: &str) -> String {
        match self.token {
            Token::End => "the end of the text".to_owned(),
            Token::Bad(what) => what.to_owned(),
            _ => quoted(&text[self.start..self.end]),
        }
    }
}

/// A piece of text in a message, cut where it is long.
pub(crate) fn quoted(text: &str) -> String {
    let end = text.floor_char_boundary(SHOWN);
    let more = if end < text.len() { "…" } else { "" };
    format!("`{}{more}`", &text[..end])
}
