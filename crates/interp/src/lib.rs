//! The reference meaning: executes the IR literally.
