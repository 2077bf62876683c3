//! Runs cooperative-matrix and cooperative-vector kernels on any machine.
