//! What glslang has to say.

use std::fmt;

/// A message about a place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlslMessage {
    /// The source or the included file.
    pub file: String,
    /// Line from 1, or 0 where the message concerns the whole.
    pub line: u32,
    /// What is wrong.
    pub text: String,
}

impl fmt::Display for GlslMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.text),
            line => write!(f, "{}:{line}: {}", self.file, self.text),
        }
    }
}

/// A source that does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlslError {
    /// What is wrong; at least one message.
    pub messages: Vec<GlslMessage>,
}

impl fmt::Display for GlslError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, message) in self.messages.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            message.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for GlslError {}

impl GlslError {
    /// An error that is not glslang's.
    pub(super) fn plain(file: &str, text: impl Into<String>) -> Self {
        Self { messages: vec![GlslMessage { file: file.to_owned(), line: 0, text: text.into() }] }
    }

    /// Reads glslang's log. It calls the source by its number, 0.
    #[cfg(feature = "glsl")]
    pub(super) fn from_log(name: &str, log: &str) -> Self {
        let mut messages: Vec<_> = log.lines().filter_map(|line| parse(name, line)).collect();
        if messages.is_empty() {
            let text = if log.trim().is_empty() { "glslang gives no reason" } else { log.trim() };
            return Self::plain(name, text);
        }
        // This only follows from the others, and the last line only counts them.
        if messages.len() > 1 {
            messages.retain(|m| !m.text.ends_with("compilation terminated"));
        }
        if messages.len() > 1
            && messages.last().is_some_and(|m| m.line == 0 && m.text.contains("compilation error"))
        {
            messages.pop();
        }
        Self { messages }
    }
}

/// Reads `ERROR: file:line: text`, `ERROR: text`, or the rest of a message.
#[cfg(feature = "glsl")]
fn parse(name: &str, line: &str) -> Option<GlslMessage> {
    if line.trim().is_empty() || line.starts_with("WARNING:") {
        return None;
    }
    let rest = line.strip_prefix("ERROR:").unwrap_or(line).trim();
    // A file's name may hold colons too: the number is what stands between two of them.
    for (end, _) in rest.match_indices(": ") {
        let Some((file, number)) = rest[..end].rsplit_once(':') else { continue };
        if let Ok(line) = number.parse() {
            let file = if file == "0" || file.is_empty() { name } else { file };
            let text = rest[end + 2..].trim().to_owned();
            return Some(GlslMessage { file: file.to_owned(), line, text });
        }
    }
    Some(GlslMessage { file: name.to_owned(), line: 0, text: rest.to_owned() })
}

#[cfg(test)]
#[cfg(feature = "glsl")]
mod tests {
    use super::*;

    fn one(log: &str) -> GlslMessage {
        let messages = GlslError::from_log("a.comp", log).messages;
        assert_eq!(messages.len(), 1, "{messages:?}");
        messages.into_iter().next().unwrap()
    }

    #[test]
    fn places_are_read() {
        let message =
            one("ERROR: 0:12: 'x' : undeclared identifier \nERROR: 0:0: : compilation terminated\n"
                .split_once('\n')
                .unwrap()
                .0);
        assert_eq!((message.file.as_str(), message.line), ("a.comp", 12));
        assert_eq!(message.text, "'x' : undeclared identifier");
        let message = one("ERROR: C:/inc:lude.glsl:3: '' :  syntax error");
        assert_eq!((message.file.as_str(), message.line), ("C:/inc:lude.glsl", 3));
        let message = one("ERROR: Linking compute stage: Missing entry point");
        assert_eq!((message.file.as_str(), message.line), ("a.comp", 0));
    }

    #[test]
    fn warnings_and_counts_are_left_out() {
        let log = "WARNING: 0:1: odd\nERROR: 0:2: bad\nERROR: 1 compilation errors.  No code generated.\n";
        assert_eq!(one(log).line, 2);
    }

    #[test]
    fn an_empty_log_still_says_something() {
        assert_eq!(one("").text, "glslang gives no reason");
    }
}
