//! Texels as LLVM compiles them for this machine, against `phalanx_ir::Format`.

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::execution_engine::JitFunction;
use phalanx_emit_llvm::texel::{FORMAT_WORDS, describe};
use phalanx_emit_llvm::{Caps, Emit, V};
use phalanx_ir::Format;
use phalanx_ir::texel::Numeric;

/// Reads the words of a format and what is converted, and writes what it becomes.
type Entry = unsafe extern "C" fn(*const u32, *const u64, *mut u64);

const CAPS: Caps = Caps {
    is_x86: false,
    native_f16: false,
    f16_conversion: false,
    fma: true,
    mask_registers: false,
    vnni: false,
    register_bytes: 4,
};

/// Calls `test` with code that decodes texels, and with code that encodes them.
fn with_code(test: impl FnOnce(&JitFunction<'_, Entry>, &JitFunction<'_, Entry>)) {
    let cx = Context::create();
    let mut e = Emit::new(&cx, "test", CAPS);
    let ptr = e.ptr_ty().into();
    for name in ["decode", "encode"] {
        let function = e.module.add_function(name, cx.void_type().fn_type(&[ptr, ptr, ptr], false), None);
        let block = e.new_block(function, "entry");
        e.b.position_at_end(block);
        let at = |i| function.get_nth_param(i).expect("there are three").into_pointer_value();
        let read = |param, i: u64, bits: u32| {
            let place = e.field(at(param), i * u64::from(bits / 8)).expect("the builder is at a block");
            e.load(e.int_ty(bits), place, bits / 8).expect("the builder is at a block")
        };
        let format: [V<'_>; FORMAT_WORDS] = std::array::from_fn(|i| read(0, i as u64, 32));
        let words: [V<'_>; 4] = std::array::from_fn(|i| read(1, i as u64, 64));
        let values = match name {
            "decode" => e.decode_texel(&format, [words[0], words[1]]),
            _ => e.encode_texel(&format, words),
        };
        for (value, i) in values.expect("all formats are done").into_iter().zip(0..) {
            let place = e.field(at(2), 8 * i).expect("the builder is at a block");
            e.store(value, place, 8).expect("the builder is at a block");
        }
        e.b.build_return(None).expect("the builder is at a block");
    }
    e.module.verify().expect("LLVM takes the module");
    let engine = e.module.create_jit_execution_engine(OptimizationLevel::Less).expect("there is a JIT");
    // SAFETY: a function of this type was made under this name.
    let decode = unsafe { engine.get_function("decode") }.expect("it is there");
    // SAFETY: as above.
    let encode = unsafe { engine.get_function("encode") }.expect("it is there");
    test(&decode, &encode);
}

fn run(code: &JitFunction<'_, Entry>, format: Format, words: [u64; 4]) -> [u64; 4] {
    let mut result = [0; 4];
    // SAFETY: each is as long as the code reads and writes.
    unsafe { code.call(describe(format).as_ptr(), words.as_ptr(), result.as_mut_ptr()) };
    result
}

/// xorshift64*.
fn random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

#[test]
fn texels_are_decoded_as_their_format_says() {
    with_code(|decode, _| {
        let mut state = 7;
        for &format in Format::ALL {
            let edges = [0, u64::MAX, 0x8000_8000_8000_8000, 0x7c00_fc00_7e00_0400, 0x7f7f_7f7f_8080_8080];
            let words = edges.into_iter().map(|x| [x, x]);
            let more: Vec<[u64; 2]> = (0..3000).map(|_| [random(&mut state), random(&mut state)]).collect();
            for [low, high] in words.chain(more) {
                let bytes = (u128::from(low) | u128::from(high) << 64).to_le_bytes();
                let expected = format.decode(&bytes);
                let found = run(decode, format, [low, high, 0, 0]);
                let is_nan = |x: u64| f32::from_bits(x as u32).is_nan();
                for (a, b) in expected.into_iter().zip(found) {
                    let same = a == b || !format.is_integer() && is_nan(a) && is_nan(b);
                    assert!(same, "{format:?} {low:#x} {high:#x}: {found:x?}, expected {expected:x?}");
                }
            }
        }
    });
}

#[test]
fn texels_are_encoded_as_their_format_says() {
    with_code(|_, encode| {
        let mut state = 9;
        let edges =
            [0.0_f32, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 65504.0, 65505.0, 1e30, 1e-30, 511.5, 0.003_130_8];
        let edges = edges.into_iter().chain([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0 / 510.0]);
        let edges: Vec<u64> = edges.map(|x| x.to_bits().into()).collect();
        for &format in Format::ALL {
            for i in 0..3000 {
                let pick = |state: &mut u64| {
                    let x = random(state);
                    match i % 3 {
                        0 => edges[(x >> 32) as usize % edges.len()],
                        1 => u64::from(((x >> 40) as f32 / 16_777_216.0 * 1.2 - 0.1).to_bits()),
                        _ if format.is_integer() => x,
                        _ => x & u64::from(u32::MAX),
                    }
                };
                let values = [0; 4].map(|_| pick(&mut state));
                let expected = u128::from_le_bytes(format.encode(values));
                let [low, high, ..] = run(encode, format, values);
                let found = u128::from(low) | u128::from(high) << 64;
                let are_close = |a: u128, b: u128| {
                    // A NaN has any payload; what is in sRGB is within the rounding of a power.
                    let near = |shift: u32| (a >> shift & 0xff).abs_diff(b >> shift & 0xff) <= 1;
                    match format.numeric() {
                        Numeric::Srgb => [0, 8, 16, 24].into_iter().all(near),
                        _ => a == b,
                    }
                };
                let has_nan = values.iter().any(|&x| f32::from_bits(x as u32).is_nan());
                let may_differ = has_nan && format.numeric() == Numeric::Float;
                assert!(
                    are_close(expected, found) || may_differ,
                    "{format:?} {values:x?}: {found:#x}, expected {expected:#x}"
                );
            }
        }
    });
}
