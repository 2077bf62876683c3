//! Stub.
#[derive(Debug, Default)]
pub(crate) struct Interface;
