//! The text form of a module: the language of tests and of bug reports.
//!
//! ```text
//! kernel "main"
//! workgroup_size 32 1 1
//! subgroup_size 32
//! binding buf0 = 0.0 storage writable "out"
//! var $i: i32
//!
//! {
//!   %0: i32 = const 0
//!   %1: ptr<buffer> = buffer_ptr<buf0> %0
//!   %2: i32 = local_invocation_index
//!   %3: bool = ult %2, %0
//!   if %3 {
//!     %4: ptr<buffer> = ptr_add<scale=4> %1, %2
//!     store %4, %2 !1
//!   }
//! }
//! ```
//!
//! One instruction stands on a line; `;` begins a comment. [`print()`] numbers values and labels in
//! the order in which they appear, so two modules that differ only in the numbers of their entities
//! print the same; [`parse()`] of it gives the module with its entities in that order, and without
//! what no block holds. Any names may be given by hand: `%sum`, `$acc`, `@exit`.
//!
//! One table names every operation and lists its attributes; printer and parser both go by it.

mod literal;
pub(crate) mod ops;
mod parse;
mod print;
mod sample;
mod tensor;
mod token;
mod vector;

#[cfg(test)]
mod tests;

pub use ops::mnemonic;
pub use parse::parse;
pub use print::print;

use std::fmt;

/// A text that is not a module, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What would have been right.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: expected {}, found {}", self.line, self.column, self.expected, self.found)
    }
}

impl std::error::Error for ParseError {}

impl fmt::Display for crate::Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}
