//! The words of a directive.

use crate::error::Wrong;

/// Words separated by white space; brackets are words of their own, except after a digit, where
/// they are an index.
#[derive(Clone, Debug)]
pub(crate) struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { rest: text.trim() }
    }

    /// The next word, and what follows it.
    fn split(&self) -> Option<(&'t str, &'t str)> {
        let text = self.rest;
        if text.is_empty() {
            return None;
        }
        if text.starts_with(['[', ']']) {
            return Some(text.split_at(1));
        }
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        // `7]` ends a list, `0.1[2]` is one word.
        let word = &text[..end];
        let index =
            word.find('[').map_or(0, |open| open + word[open..].find(']').map_or(0, |close| close + 1));
        let end = word[index..].find(']').map_or(end, |close| index + close);
        Some(text.split_at(end))
    }

    pub(crate) fn peek(&self) -> Option<&'t str> {
        self.split().map(|(word, _)| word)
    }

    /// Everything that is left.
    pub(crate) fn rest(&mut self) -> &'t str {
        std::mem::take(&mut self.rest)
    }

    /// The next word; an error names what it should be.
    pub(crate) fn word(&mut self, expected: &str) -> Result<&'t str, Wrong> {
        self.next().ok_or_else(|| Wrong::new(expected, ""))
    }

    pub(crate) fn expect(&mut self, expected: &str) -> Result<(), Wrong> {
        match self.next() {
            Some(word) if word == expected => Ok(()),
            word => Err(Wrong::new(format!("`{expected}`"), word.unwrap_or_default())),
        }
    }

    pub(crate) fn number(&mut self, expected: &str) -> Result<usize, Wrong> {
        let word = self.word(expected)?;
        whole(word).ok_or_else(|| Wrong::new(expected, word))
    }

    pub(crate) fn float(&mut self, expected: &str) -> Result<f64, Wrong> {
        let word = self.word(expected)?;
        word.parse().map_err(|_| Wrong::new(expected, word))
    }

    /// The next word if it is a number.
    pub(crate) fn optional_number(&mut self) -> Option<f64> {
        let number = self.peek()?.parse().ok()?;
        self.next();
        Some(number)
    }

    /// Nothing may be left.
    pub(crate) fn end(&mut self) -> Result<(), Wrong> {
        self.peek().map_or(Ok(()), |word| Err(Wrong::new("nothing more", word)))
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let (word, rest) = self.split()?;
        self.rest = rest.trim_start();
        Some(word)
    }
}

/// A whole number, which may be written as a formula without spaces: `16*8`.
pub(crate) fn whole(word: &str) -> Option<usize> {
    let value =
        crate::expr::parse(word, &[]).ok()?.eval(&mut Vec::new(), &crate::expr::Env::default()).ok()?;
    (value >= 0.0 && value.fract() == 0.0 && value < 1e15).then_some(value as usize)
}
