//! Every kernel on every instruction set of this machine against naive definitions.

mod common;
mod element;
mod lanes;
mod mul_add;
mod relayout;
mod rotate;
mod tensor;
mod transfer;
mod vector;
