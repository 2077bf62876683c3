//! The CPU that code is made for.

/// A CPU, as LLVM names it. Equal targets get equal code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// LLVM target triple.
    pub triple: String,
    /// LLVM CPU name, for scheduling.
    pub cpu: String,
    /// Features that the code may use, as `name` each, without a sign.
    pub features: Vec<String>,
}
