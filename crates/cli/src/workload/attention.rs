//! Attention: O = softmax(Q·Kᵀ / √d)·V for each head, of tokens that are the bytes of a text.
//!
//! The query of a token is a random vector that belongs to the bytes which end there, and the key of a token is the vector
//! of the bytes which end before it: the largest scores are where the text said the same before. The first head
//! looks two bytes back, the second three, and so on. Column c of the values is large for tokens around the c-th part of the
//! text, so that O shows where each query looked. Noise on everything keeps the numbers from being simple.
//!
//! The reference is the definition in f64, with the largest score subtracted.

use std::ops::Range;
use std::path::Path;
use std::thread;

use anyhow::{Result, ensure};

use super::{CONVERSION_ROWS, Purpose, SUBGROUP_SIZE, bytes_of, complete, kernels_of, values_of, words};
use crate::args::workload::{AttentionArgs, Form, Mask, Scope};
use crate::data::random::Random;
use crate::data::{Array, DType};
use crate::measure::{Constant, Kernel, Peak, Problem, Subject, Watch, Workload, upload};
use crate::picture::{Picture, heat};
use crate::progress::Interrupt;
use crate::reference::{Comparison, checked_rows, tolerance};
use crate::runtime::{Buffer, Device};

/// The text: the kernels themselves.
const TEXT: &[u8] = concat!(
    include_str!("../../shaders/attention/matrix2.comp"),
    include_str!("../../shaders/attention/qcom.comp"),
    include_str!("../../shaders/attention/common.glsl"),
)
.as_bytes();

/// The queries that a work-group may have in the form `matrix2`, and the keys of a step.
const QUERIES: [u32; 3] = [128, 64, 256];
const KEYS: u32 = 128;

/// How large the vectors of bytes are: the largest score of a query stands out, and many small ones still count.
const AMPLITUDE: f64 = 2.0;

/// How much noise there is on queries, keys and values.
const NOISE: [f64; 3] = [0.25, 0.25, 0.02];

/// About two seconds of two cores.
const MAX_PRODUCTS: usize = 2_000_000_000;

/// One attention and its kernels.
#[derive(Debug)]
pub(crate) struct Attention {
    tokens: usize,
    heads: usize,
    head_size: usize,
    is_causal: bool,
    kernels: Vec<Kernel>,
}

/// What the user asked for.
pub(crate) fn all(args: &AttentionArgs, purpose: Purpose) -> Result<Vec<Box<dyn Workload>>> {
    let tokens = args.tokens.unwrap_or(purpose.choose(500, 4096));
    let heads = args.heads.unwrap_or(purpose.choose(2, 1));
    let default_sizes = purpose.choose(&[64, 128][..], &[128]);
    let head_sizes = if args.head_sizes.is_empty() { default_sizes } else { &args.head_sizes };
    let mut workloads: Vec<Box<dyn Workload>> = Vec::new();
    for &head_size in head_sizes {
        for &mask in &args.masks {
            let is_causal = mask == Mask::Causal;
            workloads.push(Box::new(Attention::new(
                [tokens, heads, head_size],
                is_causal,
                &args.kernels,
                args.scope,
                purpose.on(args.output.device),
            )?));
        }
    }
    Ok(workloads)
}

impl Attention {
    fn new(
        [tokens, heads, head_size]: [u32; 3],
        is_causal: bool,
        forms: &[Form],
        scope: Scope,
        purpose: Purpose,
    ) -> Result<Self> {
        ensure!((1..=1 << 20).contains(&tokens), "{tokens} tokens: there are from 1 to 1048576");
        ensure!((1..=256).contains(&heads), "{heads} heads: there are from 1 to 256");
        ensure!([64, 128].contains(&head_size), "the kernels are written for heads of 64 and 128");
        let mut attention = Self {
            tokens: tokens as usize,
            heads: heads as usize,
            head_size: head_size as usize,
            is_causal,
            kernels: Vec::new(),
        };
        attention.kernels = kernels_of(forms, purpose.tiles(&QUERIES), |form, queries| {
            attention.kernel(form, scope, queries)
        });
        Ok(attention)
    }

    /// How many rows each head has in memory: conversions take whole tiles.
    fn rows(&self) -> usize {
        self.tokens.next_multiple_of(CONVERSION_ROWS as usize)
    }

    /// How many elements Q has, and K, V and O.
    fn elements(&self) -> usize {
        self.heads * self.rows() * self.head_size
    }

    /// What the scores are multiplied with.
    fn scale(&self) -> f64 {
        1.0 / (self.head_size as f64).sqrt()
    }

    fn kernel(&self, form: Form, scope: Scope, queries: u32) -> Kernel {
        let common = include_str!("../../shaders/attention/common.glsl");
        let head_size = self.head_size as u32;
        let (name, source, queries, subgroup_size, definitions, local_size) = match form {
            Form::Matrix2 => (
                "matrix2",
                include_str!("../../shaders/attention/matrix2.comp"),
                queries,
                SUBGROUP_SIZE,
                scope.definitions(),
                scope.invocations(),
            ),
            Form::Qcom => (
                "qcom",
                include_str!("../../shaders/attention/qcom.comp"),
                CONVERSION_ROWS,
                CONVERSION_ROWS,
                Vec::new(),
                CONVERSION_ROWS,
            ),
        };
        let step = if form == Form::Matrix2 { KEYS } else { CONVERSION_ROWS };
        let scale = (self.scale() * std::f64::consts::LOG2_E) as f32;
        Kernel {
            name: name.to_owned(),
            tile: format!("{queries}x{step}x{head_size}"),
            source: complete(source, common),
            definitions,
            constants: vec![
                (0, Constant::U32(local_size)),
                (1, Constant::U32(head_size)),
                (2, Constant::Bool(self.is_causal)),
                (3, Constant::U32(queries)),
                (4, Constant::U32(step)),
            ],
            subgroup_size,
            groups: [(self.tokens as u32).div_ceil(queries), self.heads as u32, 1],
            push_constants: words(&[self.tokens as u32, self.rows() as u32, scale.to_bits()]),
            then: None,
        }
    }

    /// The bytes of Q, K and V.
    fn data(&self) -> Result<[Vec<u8>; 3]> {
        let head_bytes = self.rows() * self.head_size * DType::F16.size_bytes();
        let mut all = [(); 3].map(|()| Vec::with_capacity(self.heads * head_bytes));
        let mut noises = [1, 2, 3].map(|seed| Random::new(seed).values(DType::F32));
        let part = self.tokens as f64 / self.head_size as f64;
        for head in 0..self.heads {
            for token in 0..self.tokens {
                let value = |column: usize| {
                    let distance = (token as f64 + 0.5) / part - (column as f64 + 0.5);
                    (1.0 - distance.abs()).max(0.0)
                };
                let values = (0..self.head_size).map(value).collect();
                let rows = [self.embed(head, token + 1)?, self.embed(head, token)?, values];
                for (((row, bytes), noise), amount) in rows.iter().zip(&mut all).zip(&mut noises).zip(NOISE) {
                    let numbers = row.iter().zip(noise).map(|(number, noise)| number + amount * noise);
                    bytes.extend(bytes_of(DType::F16, numbers));
                }
            }
            // Rows behind the last token are zero.
            all.iter_mut().for_each(|bytes| bytes.resize((head + 1) * head_bytes, 0));
        }
        Ok(all)
    }

    /// The vector of the bytes that a head sees before `end`.
    fn embed(&self, head: usize, end: usize) -> Result<Vec<f64>> {
        let bytes = (0..head + 2).map(|back| match end.checked_sub(back + 1) {
            Some(index) => u64::from(TEXT[index % TEXT.len()]),
            None => 0,
        });
        let seed = bytes.fold(head as u64, |hash, byte| hash.wrapping_mul(0x0100_0000_01b3) ^ (byte + 1));
        let vector = Array::random(DType::F32, vec![self.head_size], seed)?;
        Ok(vector.values().map(|value| AMPLITUDE * value).collect())
    }
}

impl Workload for Attention {
    fn subject(&self) -> Subject {
        let (tokens, size) = (self.tokens as f64, self.head_size as f64);
        let pairs = if self.is_causal { tokens * (tokens + 1.0) / 2.0 } else { tokens * tokens };
        let heads = if self.heads == 1 { "1 head".to_owned() } else { format!("{} heads", self.heads) };
        let mask = if self.is_causal { ", causal" } else { "" };
        Subject {
            workload: "attention",
            problem: format!("{} tokens, {heads} of {}{mask}", self.tokens, self.head_size),
            a: DType::F16,
            c: DType::F32,
            size: [self.tokens as u32, self.tokens as u32, self.head_size as u32],
            // Two products of matrices; what is hidden is not counted, and neither is the softmax.
            operations: 4.0 * self.heads as f64 * pairs * size,
            peak: Peak::F32Fma,
        }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    fn buffer_bytes(&self) -> u64 {
        (self.elements() * (3 * DType::F16.size_bytes() + DType::F32.size_bytes())) as u64
    }

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let data = self.data()?;
        let reference = Reference::new(self, &data, watch.interrupt);
        if watch.interrupt.is_set() {
            return Ok(None);
        }
        let mut buffers = Vec::with_capacity(4);
        for bytes in data {
            buffers.push(upload(device, bytes)?);
        }
        buffers.push(device.create_buffer(self.elements() * DType::F32.size_bytes())?);
        let check = move |buffers: &[Buffer]| {
            let result = buffers.last();
            reference.compare(|range| result.map_or(Ok(Vec::new()), |result| result.read(range)))
        };
        Ok(Some(Problem::new(buffers, check)))
    }

    /// O of each head beside the other: a row for each query, and where in the text it looked.
    fn draw(&self, problem: &Problem, directory: &Path) -> Result<Option<String>> {
        const GAP: usize = 8;
        let stretch = (self.tokens / self.head_size).max(1);
        let width = self.head_size * stretch;
        let mut picture = Picture::new(self.heads * (width + GAP) - GAP, self.tokens);
        for head in 0..self.heads {
            for token in 0..self.tokens {
                let start = (head * self.rows() + token) * self.head_size * DType::F32.size_bytes();
                let row = problem.result()?.read(start..start + self.head_size * DType::F32.size_bytes())?;
                for (column, value) in values_of(DType::F32, &row).iter().enumerate() {
                    for x in 0..stretch {
                        // The square root shows small weights, too.
                        let colour = heat(value.max(0.0).sqrt());
                        picture.set(head * (width + GAP) + column * stretch + x, token, colour);
                    }
                }
            }
        }
        let mask = if self.is_causal { "causal" } else { "full" };
        let path = directory.join(format!("attention-{}-{mask}.png", self.head_size));
        picture.write(&path)?;
        Ok(Some(format!("Where each query looked is in {}.", path.display())))
    }
}

/// The expected rows of O, each with what its errors are relative to.
struct Reference {
    head_size: usize,
    rows: Vec<Row>,
}

struct Row {
    /// Where it lies in O, in rows.
    place: usize,
    expected: Vec<f64>,
    scales: Vec<f64>,
}

impl Reference {
    /// Computes evenly spread rows of every head on as many threads as there are cores, until it is interrupted.
    fn new(attention: &Attention, [q, k, v]: &[Vec<u8>; 3], interrupt: &Interrupt) -> Self {
        let row_products = 2 * attention.tokens * attention.head_size * attention.heads;
        let tokens = checked_rows(attention.tokens, MAX_PRODUCTS / row_products.max(1));
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = tokens.len().div_ceil(threads).max(1);
        let mut rows = Vec::with_capacity(attention.heads * tokens.len());
        let head_bytes = attention.rows() * attention.head_size * DType::F16.size_bytes();
        let heads = q.chunks(head_bytes).zip(k.chunks(head_bytes)).zip(v.chunks(head_bytes));
        for (head, ((q, k), v)) in heads.enumerate() {
            let (k, v) = (numbers(k), numbers(v));
            thread::scope(|scope| {
                let (k, v) = (&k, &v);
                let workers: Vec<_> = tokens
                    .chunks(share)
                    .map(|part| {
                        scope.spawn(move || -> Vec<Row> {
                            let part = part.iter().take_while(|_| !interrupt.is_set());
                            part.map(|&token| row(attention, (q, k, v), head, token)).collect()
                        })
                    })
                    .collect();
                // A row that is missing, because its thread panicked, is a wrong result.
                workers.into_iter().for_each(|worker| rows.extend(worker.join().unwrap_or_default()));
            });
        }
        if rows.len() < attention.heads * tokens.len() {
            rows.clear();
        }
        Self { head_size: attention.head_size, rows }
    }

    /// Compares O, given by a function that reads some of its bytes.
    ///
    /// The weights p of the values are rounded to f16. These errors are independent of each other, so that of a sum of p·v
    /// is relative to the length of these products, and is allowed to be eight of them: [`tolerance`]. Weights below 2⁻¹⁴ are
    /// denormal and err by 2⁻²⁵ whatever they are; for that, √n · 2⁻¹⁴ of the largest value is added to the length.
    /// What f32 rounds is far below.
    fn compare(&self, read: impl Fn(Range<usize>) -> Result<Vec<u8>>) -> Result<Comparison> {
        let tolerance = tolerance(DType::F16);
        let mut max_rel_error = if self.rows.is_empty() { f64::INFINITY } else { 0.0_f64 };
        let row_bytes = self.head_size * DType::F32.size_bytes();
        for row in &self.rows {
            let found = values_of(DType::F32, &read(row.place * row_bytes..(row.place + 1) * row_bytes)?);
            ensure!(found.len() == row.expected.len(), "the result is too short");
            for ((found, expected), scale) in found.iter().zip(&row.expected).zip(&row.scales) {
                let error = (found - expected).abs();
                // NaN, where a number was expected, is the largest error of all.
                let relative = if error.is_nan() { f64::INFINITY } else { error / scale };
                max_rel_error = max_rel_error.max(relative);
            }
        }
        Ok(Comparison { max_rel_error, tolerance, ok: max_rel_error <= tolerance, psnr_db: None })
    }
}

/// Numbers of f16, which f32 holds exactly.
fn numbers(bytes: &[u8]) -> Vec<f32> {
    let elements = bytes.chunks_exact(DType::F16.size_bytes());
    elements.map(|element| DType::F16.value(DType::F16.read(element)) as f32).collect()
}

/// The definition, for one query. Of the head there are the bytes of Q, and K and V.
fn row(attention: &Attention, (q, k, v): (&[u8], &[f32], &[f32]), head: usize, token: usize) -> Row {
    let size = attention.head_size;
    let visible = if attention.is_causal { token + 1 } else { attention.tokens };
    let query_bytes = size * DType::F16.size_bytes();
    let query = numbers(&q[token * query_bytes..][..query_bytes]);
    let keys = k.chunks_exact(size).take(visible);
    let scores: Vec<f64> = keys.map(|key| attention.scale() * dot(&query, key)).collect();
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut sums, mut squares) = (0.0, vec![0.0; size], vec![0.0; size]);
    let mut largest_value = 0.0_f64;
    for (score, values) in scores.iter().zip(v.chunks_exact(size)) {
        let weight = (score - largest).exp();
        sum += weight;
        for ((&value, sum), square) in values.iter().zip(&mut sums).zip(&mut squares) {
            let value = f64::from(value);
            let product = weight * value;
            *sum += product;
            *square += product * product;
            largest_value = largest_value.max(value.abs());
        }
    }
    let denormal = (visible as f64).sqrt() * f64::powi(2.0, -14) * largest_value;
    Row {
        place: head * attention.rows() + token,
        expected: sums.iter().map(|total| total / sum).collect(),
        scales: squares.iter().map(|square| (square.sqrt() + denormal) / sum).collect(),
    }
}

/// The sum of products, as eight sums that the compiler puts into vector registers.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += f64::from(*a) * f64::from(*b);
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{assert_right, assert_right_everywhere};

    fn attention(sizes: [u32; 3], is_causal: bool, forms: &[Form]) -> Attention {
        Attention::new(sizes, is_causal, forms, Scope::Subgroup, Purpose::Demo).expect("a good size")
    }

    #[test]
    fn matrix2_is_right_whatever_the_number_of_tokens() {
        for (sizes, is_causal) in [([130, 2, 64], true), ([70, 1, 128], false), ([129, 1, 128], true)] {
            assert_right(&attention(sizes, is_causal, &[Form::Matrix2]));
        }
        assert_right_everywhere(&attention([1, 1, 64], false, &[Form::Matrix2]));
        let held_together =
            Attention::new([130, 1, 64], true, &[Form::Matrix2], Scope::Workgroup, Purpose::Demo);
        assert_right(&held_together.expect("a good size"));
    }

    #[test]
    fn conversions_are_right_whatever_the_number_of_tokens() {
        for (sizes, is_causal) in [([70, 2, 64], true), ([33, 1, 128], false)] {
            assert_right(&attention(sizes, is_causal, &[Form::Qcom]));
        }
        assert_right_everywhere(&attention([1, 1, 64], false, &[Form::Qcom]));
    }

    /// What a right kernel leaves in O.
    fn right(attention: &Attention, reference: &Reference) -> Vec<f64> {
        let mut values = vec![0.0; attention.elements()];
        for row in &reference.rows {
            let start = row.place * attention.head_size;
            values[start..start + attention.head_size].copy_from_slice(&row.expected);
        }
        values
    }

    #[test]
    fn one_lost_key_is_found() {
        for is_causal in [false, true] {
            let attention = attention([200, 2, 64], is_causal, &[]);
            let data = attention.data().expect("small");
            let reference = Reference::new(&attention, &data, &Interrupt::never());
            let verdict = |values: &[f64]| {
                let bytes = bytes_of(DType::F32, values.iter().copied());
                reference.compare(|range| Ok(bytes[range].to_vec())).expect("long enough")
            };
            let mut values = right(&attention, &reference);
            assert!(verdict(&values).ok && verdict(&values).max_rel_error < 1e-6);

            // Without the key of the second largest weight: one that is so far away that its weight is nothing.
            let [q, k, v] = [0, 1, 2].map(|matrix| numbers(&data[matrix]));
            let query = &q[180 * 64..181 * 64];
            let mut keys: Vec<usize> = (0..=180).collect();
            keys.sort_by(|&a, &b| {
                let score = |key: usize| dot(query, &k[key * 64..][..64]);
                score(b).total_cmp(&score(a))
            });
            let mut far = k.clone();
            let lost = &mut far[keys[1] * 64..][..64];
            lost.iter_mut().zip(query).for_each(|(key, query)| *key = -100.0 * query);
            let without = row(&attention, (&data[0], &far, &v), 0, 180);
            values[180 * 64..181 * 64].copy_from_slice(&without.expected);
            assert!(!verdict(&values).ok, "{:?}", verdict(&values));
            values[180 * 64] = f64::NAN;
            assert!(!verdict(&values).ok);
        }
    }

    #[test]
    fn a_query_looks_where_the_text_said_the_same() {
        let attention = attention([300, 1, 64], false, &[]);
        let [q, k, _] = attention.data().expect("small").map(|bytes| numbers(&bytes));
        let score = |query: usize, key: usize| dot(&q[query * 64..][..64], &k[key * 64..][..64]);
        // The bytes that end in the query's token, and those that end before the key's.
        let is_same = |query: usize, key: usize| TEXT[query - 1..=query] == TEXT[key - 2..key];
        let repeated = (1..300).flat_map(|query| (2..300).map(move |key| (query, key)));
        let mut repeated = repeated.filter(|&(query, key)| key != query + 1 && is_same(query, key));
        let (query, same) = repeated.next().expect("a text repeats itself");
        let other = (2..300).find(|&key| !is_same(query, key)).expect("not only itself");
        assert!(score(query, same) > 2.0 * score(query, other).abs());
    }

    #[test]
    fn sizes_that_the_kernels_do_not_take_are_refused() {
        for sizes in [[0, 1, 64], [10, 0, 64], [10, 1, 32]] {
            assert!(Attention::new(sizes, false, &[], Scope::Subgroup, Purpose::Demo).is_err(), "{sizes:?}");
        }
    }
}
