//! Runs the file tests.
