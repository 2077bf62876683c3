//! The text form of a module.
//!
//! [`ops`] names every operation and lists its attributes once; printer and parser both go by it.

pub(crate) mod ops;
