//! Data of caches that came from anywhere.

use super::*;

/// Bytes before the first piece of code: Vulkan's header and a length.
const FIRST_CODE: usize = 32 + 8;

/// Bytes of a piece's mark, key and seal.
const MARK: usize = 8;
const HASH: usize = 32;

/// A generator of numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as usize) % bound.max(1)
    }
}

/// The data of a cache that holds the pipeline.
fn valid_data() -> Vec<u8> {
    let fixture = Fixture::new();
    let cache = fixture.cache(&[]);
    let info = fixture.info(fixture.module(&words()), vk::PipelineCreateFlags::empty());
    let (result, _) = fixture.create(cache, [info]);
    assert_eq!(result, vk::Result::SUCCESS);
    fixture.data(cache)
}

/// Damage of a random kind.
fn mutate(data: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = data.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(out.len());
        match random.below(8) {
            0 | 1 => out[at] ^= 1 << random.below(8),
            2 => out[at] = random.below(256) as u8,
            3 => out.truncate(at.max(1)),
            4 => (0..random.below(40)).for_each(|_| out.push(random.below(256) as u8)),
            // A length or another number near the start of the code becomes absurd.
            5 => {
                let at = if random.below(2) == 0 { 32 } else { at };
                let value = [u64::MAX, 1 << 63, u64::from(u32::MAX), out.len() as u64 * 2][random.below(4)];
                out.iter_mut().skip(at).zip(value.to_le_bytes()).for_each(|(to, byte)| *to = byte);
            }
            // A part moves over another.
            6 => {
                let from = random.below(out.len());
                let count = random.below(64).min(out.len() - at).min(out.len() - from);
                out.copy_within(from..from + count, at);
            }
            // All of it once more.
            _ => out.extend_from_slice(&data[32.min(data.len())..]),
        }
    }
    out
}

/// Creates the pipeline only if the data have its code; checks its results then.
fn runs_from(fixture: &Fixture, module: vk::ShaderModule, data: &[u8]) -> bool {
    let fail = vk::PipelineCreateFlags::FAIL_ON_PIPELINE_COMPILE_REQUIRED;
    let cache = fixture.cache(data);
    let (result, [handle]) = fixture.create(cache, [fixture.info(module, fail)]);
    call!(destroy_pipeline_cache, fixture.device, cache, ptr::null());
    if result == vk::Result::PIPELINE_COMPILE_REQUIRED {
        assert!(handle.is_null());
        return false;
    }
    assert_eq!(result, vk::Result::SUCCESS);
    let pipeline = fixture.core.pipelines.get(handle.as_raw()).unwrap();
    let device = &fixture.core.phalanx;
    let buffer = device.create_buffer_from(&[5_u32, 6, 7]).unwrap();
    let bindings = [phalanx::Binding::new(0, 0, &buffer)];
    let dispatch =
        phalanx::Dispatch { bindings: &bindings, ..phalanx::Dispatch::new(&pipeline.pipeline, [3, 1, 1]) };
    device.dispatch(&dispatch).unwrap();
    let words: Vec<u8> = [6_u32, 7, 8].map(u32::to_le_bytes).concat();
    assert_eq!(buffer.read(0, 12).unwrap(), words);
    true
}

#[test]
fn ten_thousand_mutations_are_misses_or_the_same_code() {
    const SEED: u64 = 0x0070_6861_6c61_6e78;
    let (data, words) = (valid_data(), words());
    let code = &data[FIRST_CODE..];
    let (mut random, mut hits) = (Random(SEED), 0);
    let fresh = || {
        let fixture = Fixture::new();
        let module = fixture.module(&words);
        (fixture, module)
    };
    let (mut fixture, mut module) = fresh();
    for round in 0..10_000 {
        let mutated = mutate(&data, &mut random);
        if runs_from(&fixture, module, &mutated) {
            // Only whole, unchanged code is found; the damage was behind it.
            assert_eq!(mutated.get(FIRST_CODE..data.len()), Some(code), "seed {SEED:#x}, round {round}");
            hits += 1;
            // This device remembers the pipeline now, whatever a cache says.
            (fixture, module) = fresh();
        }
    }
    assert!((100..5000).contains(&hits), "{hits} hits");
    assert!(runs_from(&fixture, module, &data), "after all this the sound data are found");
}

#[test]
fn a_crafted_cache_with_a_right_checksum_is_refused() {
    let data = valid_data();
    let (key, payload) = data[FIRST_CODE + MARK..].split_at(HASH);
    let payload = &payload[HASH..];
    // The entry point's first bytes become `int3`, and whoever runs them ends by a signal.
    let mut evil = payload.to_vec();
    let text = evil.windows(4).position(|bytes| bytes == b"\x7fELF").expect("the object");
    evil[text + 64..text + 128].fill(0xcc);
    let checksum = blake3::Hasher::new().update(key).update(&evil).finalize();
    let with_mark =
        blake3::Hasher::new().update(&data[FIRST_CODE..][..MARK]).update(key).update(&evil).finalize();
    let old_mark: &[u8] = b"PHALANX2";
    for mark in [old_mark, &data[FIRST_CODE..][..MARK]] {
        for checksum in [checksum, with_mark] {
            let piece = [mark, key, checksum.as_bytes(), &evil].concat();
            let crafted = [&data[..32], &(piece.len() as u64).to_le_bytes(), &piece].concat();
            let fixture = Fixture::new();
            let module = fixture.module(&words());
            assert!(!runs_from(&fixture, module, &crafted));
            let empty = fixture.cache(&crafted);
            assert_eq!(fixture.data(empty), data[..32], "nothing of it is kept");
        }
    }
}
