//! What the lowering makes, run again: rotations of matrices of many shapes, and control flow that leaves constructs.

#![expect(clippy::panic, reason = "a test says why it fails")]

mod control;
mod random;
mod rotation;

use phalanx_back_spirv::{Options, lower};
use phalanx_interp::{Limits, Memory};
use phalanx_ir::{Binding, Verified, text, verify};

fn module(text: &str) -> Verified {
    let module = text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(module).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// Lowers a module, and reads what comes of it.
fn again(module: &Verified, options: Options) -> Verified {
    let words = lower(module, options).unwrap_or_else(|error| panic!("{error}\n{}", **module)).words();
    let read = phalanx_front_spirv::translate(
        &words,
        &phalanx_front_spirv::Options {
            subgroup_size: module.subgroup_size,
            ..phalanx_front_spirv::Options::default()
        },
    );
    verify(read.unwrap_or_else(|error| panic!("{error}\n{}", **module))).unwrap_or_else(|e| panic!("{e}"))
}

/// The buffers, at the bindings 0, 1, …, after a run.
fn run(module: &Verified, buffers: &[Vec<u8>], groups: u32) -> Vec<Vec<u8>> {
    let mut buffers = buffers.to_vec();
    let mut memory = Memory::new();
    for (i, bytes) in buffers.iter_mut().enumerate() {
        let buffer = memory.add_buffer(bytes, (i as u64 + 1) << 40);
        let place = |b: &phalanx_ir::BindingInfo| b.binding as usize == i;
        if let Some(at) = module.bindings.iter().position(place) {
            memory.bind_buffer(Binding::new(at), buffer);
        }
    }
    let limits = Limits { max_steps: 10_000_000, ..Limits::default() };
    let run = phalanx_interp::run(module, &mut memory, [groups, 1, 1], [0; 3], &limits);
    run.unwrap_or_else(|error| panic!("{error}\n{}", **module));
    drop(memory);
    buffers
}

/// Small random numbers that are the same each time (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % u64::from(limit.max(1))) as u32
    }
}
