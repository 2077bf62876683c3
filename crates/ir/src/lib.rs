//! The intermediate representation: types, operations, text form, verifier, analyses, passes and the meaning of every operation.
