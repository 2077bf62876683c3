//! Indices of the things a module holds.
//!
//! Each is a `u32` newtype, so that a value can't be used where an instruction is meant, and
//! displays as its name in the text form.

use std::fmt;

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// The entity with this index.
            pub const fn new(index: usize) -> Self {
                assert!(index < u32::MAX as usize, "too many entities");
                Self(index as u32)
            }

            /// Its index.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

entity! {
    /// The result of an instruction: defined once, per invocation (or per scope, for matrices).
    Value, "%"
}
entity! {
    /// An instruction.
    Inst, "i"
}
entity! {
    /// A sequence of instructions: the body of a function or a branch of a construct.
    Block, "b"
}
entity! {
    /// A variable private to an invocation (to a scope instance, for matrices).
    Var, "$"
}
entity! {
    /// The target of a branch: a `block` (branching leaves it) or a `loop` (branching repeats it).
    Label, "@"
}
entity! {
    /// A buffer binding of the module.
    Binding, "buf"
}
