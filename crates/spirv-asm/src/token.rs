//! Splits text into tokens.

use crate::AsmError;

/// A token and where it starts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Kinds of token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// `%name`
    Id(String),
    /// `"text"`, without quotes and escapes
    Text(String),
    /// A name or a number
    Word(String),
    /// `=`
    Equals,
}

/// The tokens of each line that has any. Comments start with `;`.
pub(crate) fn lines(source: &str) -> Result<Vec<Vec<Token>>, AsmError> {
    let mut out = Vec::new();
    for (number, line) in source.lines().enumerate() {
        let tokens = tokens(line, number as u32 + 1)?;
        if !tokens.is_empty() {
            out.push(tokens);
        }
    }
    Ok(out)
}

fn tokens(line: &str, number: u32) -> Result<Vec<Token>, AsmError> {
    let mut out = Vec::new();
    let mut rest = line.char_indices().peekable();
    while let Some(&(start, c)) = rest.peek() {
        let kind = match c {
            ';' => break,
            _ if c.is_whitespace() => {
                rest.next();
                continue;
            }
            '=' => {
                rest.next();
                Kind::Equals
            }
            '"' => {
                rest.next();
                Kind::Text(text(&mut rest).ok_or_else(|| AsmError {
                    line: number,
                    column: start as u32 + 1,
                    message: "text without a closing quote".to_owned(),
                })?)
            }
            _ => {
                let mut word = String::new();
                while let Some(&(_, c)) = rest.peek() {
                    if c.is_whitespace() || matches!(c, ';' | '=' | '"') {
                        break;
                    }
                    word.push(c);
                    rest.next();
                }
                match word.strip_prefix('%') {
                    Some(name) => Kind::Id(name.to_owned()),
                    None => Kind::Word(word),
                }
            }
        };
        out.push(Token { kind, line: number, column: start as u32 + 1 });
    }
    Ok(out)
}

fn text(rest: &mut impl Iterator<Item = (usize, char)>) -> Option<String> {
    let mut out = String::new();
    loop {
        match rest.next()?.1 {
            '"' => return Some(out),
            '\\' => out.push(rest.next()?.1),
            c => out.push(c),
        }
    }
}
