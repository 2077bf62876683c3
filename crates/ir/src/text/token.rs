//! Characters to tokens.

use super::ParseError;

/// A token and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Kinds of tokens.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A name or a number: letters, digits, `_`, `.`, and signs where a number has them.
    Word(String),
    /// A name behind `%`, `$`, `@` or `!`.
    Name(char, String),
    /// A string.
    Text(String),
    /// A punctuation mark.
    Mark(char),
    /// The end.
    End,
}

impl Kind {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Name(sigil, name) => format!("`{sigil}{name}`"),
            Self::Text(_) => "a string".into(),
            Self::Mark(mark) => format!("`{mark}`"),
            Self::End => "the end".into(),
        }
    }
}

struct Lexer<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    line: u32,
    column: u32,
}

/// The tokens of a text; the last one is [`Kind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ParseError> {
    let mut lexer = Lexer { rest: text.chars().peekable(), line: 1, column: 1 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip();
        let (line, column) = (lexer.line, lexer.column);
        let kind = lexer.token()?;
        let is_end = kind == Kind::End;
        tokens.push(Token { kind, line, column });
        if is_end {
            return Ok(tokens);
        }
    }
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.line = self.line.saturating_add(1);
            self.column = 1;
        } else {
            self.column = self.column.saturating_add(1);
        }
        Some(c)
    }

    fn next_if(&mut self, f: impl Fn(char) -> bool) -> Option<char> {
        let c = *self.rest.peek()?;
        if f(c) { self.next() } else { None }
    }

    /// Skips blanks and comments.
    fn skip(&mut self) {
        while let Some(&c) = self.rest.peek() {
            if c == ';' {
                while self.next_if(|c| c != '\n').is_some() {}
            } else if c.is_whitespace() {
                self.next();
            } else {
                return;
            }
        }
    }

    fn token(&mut self) -> Result<Kind, ParseError> {
        let (line, column) = (self.line, self.column);
        let wrong =
            |found: String, expected: &str| ParseError { line, column, expected: expected.into(), found };
        let Some(c) = self.next() else { return Ok(Kind::End) };
        match c {
            '%' | '$' | '@' | '!' => {
                let name = self.word(String::new());
                if name.is_empty() {
                    return Err(wrong(format!("`{c}`"), "a name behind it"));
                }
                Ok(Kind::Name(c, name))
            }
            '"' => self.text().map(Kind::Text).ok_or_else(|| wrong("`\"`".into(), "a closed string")),
            '{' | '}' | '<' | '>' | '[' | ']' | ',' | '=' | ':' | '*' => Ok(Kind::Mark(c)),
            c if is_word(c) || c == '-' => Ok(Kind::Word(self.word(c.into()))),
            c => Err(wrong(format!("{c:?}"), "a token")),
        }
    }

    /// The rest of a word. A sign belongs to it after the `e` of a number.
    fn word(&mut self, mut word: String) -> String {
        loop {
            let is_number = word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            let takes_sign = is_number && !word.contains('x') && word.ends_with(['e', 'E']);
            match self.next_if(|c| is_word(c) || (takes_sign && (c == '-' || c == '+'))) {
                Some(c) => word.push(c),
                None => return word,
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.next()? {
                '"' => return Some(text),
                '\\' => text.push(self.escape()?),
                c => text.push(c),
            }
        }
    }

    /// The escapes that [`str::escape_debug`] makes.
    fn escape(&mut self) -> Option<char> {
        match self.next()? {
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            '0' => Some('\0'),
            'u' => {
                self.next_if(|c| c == '{')?;
                let mut code = 0_u32;
                while let Some(c) = self.next_if(|c| c.is_ascii_hexdigit()) {
                    code = code.checked_mul(16)?.checked_add(c.to_digit(16)?)?;
                }
                self.next_if(|c| c == '}')?;
                char::from_u32(code)
            }
            c => Some(c),
        }
    }
}

/// Whether a character belongs to a word.
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// Whether a text can be the name of a variable as it stands.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(is_word)
}
