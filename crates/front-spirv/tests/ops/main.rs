//! The instruction families: SPIR-V text is translated, verified and run on the interpreter, and the
//! results are compared with values worked out by hand.

mod arith;
mod atomic;
mod convert;
mod coopmat;
mod dot;
mod ext_inst;
mod group;
mod harness;
mod mutate;
