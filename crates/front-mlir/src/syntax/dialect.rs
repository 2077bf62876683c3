//! Attributes and types of a dialect, `#name<…>` and `!name<…>`, as text.
//!
//! White space is made the same everywhere, and aliases are replaced, so that what means the same reads the same.

use super::error::{Parsed, SyntaxError};
use super::lexer::Token;
use super::parser::Parser;
use super::print;

impl<'a> Parser<'a> {
    /// The text of `#name<…>` or `!name<…>` behind its sigil; the name comes next, its body directly behind it.
    pub(crate) fn dialect_text(&mut self, name: &str) -> Parsed<Box<str>> {
        let start = self.pos();
        if self.lexer.peek() != b'<' {
            self.advance();
            return Ok(name.into());
        }
        let mut text = name.to_owned();
        let mut open: Vec<u8> = Vec::new();
        self.reread();
        let mut end = self.word.start;
        loop {
            match self.word.token {
                Token::End => {
                    return Err(SyntaxError::unexpected(
                        start,
                        "an attribute or type whose brackets are closed",
                        "none",
                    ));
                }
                Token::Bad(_) => return self.expected("the body of an attribute or type"),
                Token::Mark(mark) => match mark {
                    b'<' => open.push(b'>'),
                    b'(' => open.push(b')'),
                    b'[' => open.push(b']'),
                    b'{' => open.push(b'}'),
                    b'>' | b')' | b']' | b'}' => {
                        if open.pop() != Some(mark) {
                            return self.expected("the bracket that closes the last one");
                        }
                        text.push(mark as char);
                        end = self.word.end;
                        if open.is_empty() {
                            self.advance();
                            return Ok(text.into());
                        }
                        self.advance();
                        continue;
                    }
                    _ => {}
                },
                Token::Hash(alias) if self.lexer.peek() != b'<' && self.knows_attr(alias) => {
                    let attr = self.attr_alias(alias)?;
                    separate(&mut text, b'#', true);
                    text.push_str(&print::attr_text(&attr));
                    continue;
                }
                Token::Bang(alias) if self.lexer.peek() != b'<' && self.knows_type(alias) => {
                    let ty = self.type_alias(alias)?;
                    separate(&mut text, b'!', true);
                    text.push_str(&print::type_text(&ty));
                    continue;
                }
                _ => {}
            }
            let word = self.text(self.word.start, self.word.end);
            separate(&mut text, word.as_bytes().first().copied().unwrap_or(b' '), self.word.start > end);
            text.push_str(word);
            end = self.word.end;
            self.advance();
        }
    }
}

/// Writes the space between what was written and what begins with a byte; `apart` is whether white space was there.
fn separate(text: &mut String, next: u8, apart: bool) {
    let Some(last) = text.bytes().last() else { return };
    let is_word = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'$' | b'.' | b'"' | b'#' | b'!' | b'@' | b'%' | b'^')
    };
    let spaced = last == b','
        || last == b'='
        || next == b'='
        || (last == b':' && !text.ends_with("::") && next != b':')
        || text.ends_with("->")
        || (apart && is_word(last) && is_word(next) && !text.ends_with("::"));
    if spaced {
        text.push(' ');
    }
}
