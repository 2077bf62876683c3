//! The custom forms of operations, one file for each dialect.

use super::error::Parsed;
use super::operation::Draft;
use super::parser::Parser;

/// Reads what stands behind an operation's name.
pub(crate) type Custom = for<'a> fn(&mut Parser<'a>, &mut Draft) -> Parsed<()>;

/// The name with its dialect: `module` and operations of functions may lack it.
pub(crate) fn full_name(name: &str) -> String {
    match name {
        "module" => "builtin.module".to_owned(),
        _ if !name.contains('.') => format!("func.{name}"),
        _ => name.to_owned(),
    }
}

/// What reads the custom form of an operation.
pub(crate) fn parser(_name: &str) -> Option<Custom> {
    None
}
