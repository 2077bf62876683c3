//! Attributes and types of a dialect, `#name<…>` and `!name<…>`, as text.
//!
//! White space is made the same everywhere, and aliases are replaced, so that what means the same reads the same.

use super::error::{Parsed, SyntaxError};
use super::lexer::{Lexer, Token};
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
            let apart = self.word.start > end;
            match self.word.token {
                Token::End => {
                    let expected = "an attribute or type whose brackets are closed";
                    return Err(SyntaxError::unexpected(start, expected, "none"));
                }
                Token::Bad(_) => return self.expected("the body of an attribute or type"),
                Token::Hash(alias) if self.lexer.peek() != b'<' && self.knows_attr(alias) => {
                    end = self.word.end;
                    let attr = self.attr_alias(alias)?;
                    append(&mut text, &print::attr_text(&attr), apart);
                    continue;
                }
                Token::Bang(alias) if self.lexer.peek() != b'<' && self.knows_type(alias) => {
                    end = self.word.end;
                    let ty = self.type_alias(alias)?;
                    append(&mut text, &print::type_text(&ty), apart);
                    continue;
                }
                Token::Mark(b'<') => open.push(b'>'),
                Token::Mark(b'(') => open.push(b')'),
                Token::Mark(b'[') => open.push(b']'),
                Token::Mark(b'{') => open.push(b'}'),
                Token::Mark(close @ (b'>' | b')' | b']' | b'}')) if open.pop() != Some(close) => {
                    return self.expected("the bracket that closes the last one");
                }
                _ => {}
            }
            separate(&mut text, self.text(self.word.start, self.word.end), apart);
            end = self.word.end;
            self.advance();
            if open.is_empty() {
                return Ok(text.into());
            }
        }
    }
}

/// Appends all words of a text; `apart` is whether white space stood before the first.
fn append(text: &mut String, more: &str, mut apart: bool) {
    let mut lexer = Lexer::new(more);
    loop {
        let word = lexer.next();
        if word.token == Token::End {
            return;
        }
        separate(text, &more[word.start..word.end], apart);
        apart = matches!(more.as_bytes().get(word.end), Some(b' '));
    }
}

/// Appends a word, and the space before it; `apart` is whether white space stood there.
fn separate(text: &mut String, word: &str, apart: bool) {
    let last = text.bytes().last().unwrap_or(b' ');
    let next = word.bytes().next().unwrap_or(b' ');
    let sigil = |byte: u8| matches!(byte, b'_' | b'$' | b'.' | b'"' | b'#' | b'!' | b'@' | b'%' | b'^');
    let wordy = |byte: u8| byte.is_ascii_alphanumeric() || sigil(byte);
    let colon = last == b':' && !text.ends_with("::") && next != b':';
    let words = apart && wordy(last) && wordy(next) && !text.ends_with("::");
    let arrow = text.ends_with("->") || word == "->";
    if last == b',' || last == b'=' || next == b'=' || colon || words || arrow {
        text.push(' ');
    }
    text.push_str(word);
}
