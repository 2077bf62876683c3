//! Random modules of all that IR has: lowered and read again, they leave the same bytes.

use super::again;
use phalanx_back_spirv::{Error, Options, lower};
use phalanx_interp::{Limits, Memory};
use phalanx_ir::random::{Case, Config, case};
use phalanx_ir::{Binding, Verified};

fn run(case: &Case, module: &Verified) -> Vec<Vec<u8>> {
    let mut buffers = case.buffers.clone();
    let mut memory = Memory::new();
    for (i, bytes) in buffers.iter_mut().enumerate() {
        let place = |info: &phalanx_ir::BindingInfo| (info.set, info.binding);
        let wanted = place(&case.module.bindings[i]);
        let buffer = memory.add_buffer(bytes, (i as u64 + 1) << 44);
        if let Some(at) = module.bindings.iter().position(|info| place(info) == wanted) {
            memory.bind_buffer(Binding::new(at), buffer);
        }
    }
    memory.set_push(&case.push);
    let limits = Limits { max_steps: 10_000_000, ..Limits::default() };
    let run = phalanx_interp::run(module, &mut memory, case.groups, [0; 3], &limits);
    run.unwrap_or_else(|error| panic!("{error}\n{}", **module));
    drop(memory);
    buffers
}

#[test]
fn random_modules_leave_the_same_bytes() {
    let mut lowered = 0;
    for seed in 0..SEEDS {
        let all = Config { vectors: false, ..Config::default() };
        let config = match seed % 4 {
            0 => all,
            1 => Config { matrices: false, statements: 30, ..all },
            2 => Config { matrices: false, floats: false, ..all },
            _ => Config { matrices: false, barriers: false, depth: 6, ..all },
        };
        let case = case(seed, &config).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        match lower(&case.module, Options::default()) {
            Ok(_) => lowered += 1,
            Err(Error::Unsupported { .. }) => continue,
            Err(error) => panic!("seed {seed}: {error}\n{}", *case.module),
        }
        let expected = run(&case, &case.module);
        let found = run(&case, &again(&case.module, Options::default()));
        assert!(expected == found, "seed {seed}\n{}", *case.module);
    }
    assert!(lowered > SEEDS / 2, "{lowered} of {SEEDS} modules are lowered");
}

const SEEDS: u64 = 100;
