//! The naive side of the tests: matrices as bits in row-major order, formats decoded and encoded by definition,
//! tiles filled and read element by element through the public layout.

use half::{bf16, f16};
use phalanx_kernels::{Elem, Isa, TileLayout, Use};

/// Pseudo-random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// All that this machine can run, the best last; with `BEST=1` that alone, where the others were tested by other means.
pub(crate) fn sets() -> Vec<Isa> {
    let mut list = Isa::available();
    if std::env::var_os("BEST").is_some() {
        list.drain(..list.len().saturating_sub(1));
    }
    list
}

/// One instruction set of every level, and the best: all code and all layouts that differ outside multiplication.
pub(crate) fn levels() -> Vec<Isa> {
    let mut list = sets();
    let best = list.last().copied();
    list.dedup_by_key(|isa| isa.level());
    list.extend(best.filter(|best| !list.contains(best)));
    list.extend(best.filter(|best| best.fp16()).map(Isa::for_sums_of_f16));
    list
}

/// 64-byte aligned bytes between guards, which are checked when dropped.
pub(crate) struct Buffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

const GUARD: usize = 128;
const GUARD_BYTE: u8 = 0xc5;

impl Buffer {
    pub(crate) fn new(len: usize, fill: u8) -> Self {
        Self::misaligned(len, fill, 0)
    }

    pub(crate) fn misaligned(len: usize, fill: u8, by: usize) -> Self {
        let mut memory = vec![GUARD_BYTE; len + 2 * GUARD + 128];
        let base = memory.as_ptr().addr();
        let start = (base + GUARD).next_multiple_of(64) - base + by;
        memory[start..start + len].fill(fill);
        Self { memory, start, len }
    }

    pub(crate) fn ptr(&mut self) -> *mut u8 {
        self.memory[self.start..].as_mut_ptr()
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let intact = |bytes: &[u8]| bytes.iter().all(|&b| b == GUARD_BYTE);
            assert!(intact(&self.memory[..self.start]), "written before the buffer");
            assert!(intact(&self.memory[self.start + self.len..]), "written behind the buffer");
        }
    }
}

/// Value of a float of this type.
pub(crate) fn float(elem: Elem, bits: u64) -> f64 {
    match elem {
        Elem::F16 => f16::from_bits(bits as u16).to_f64(),
        Elem::BF16 => bf16::from_bits(bits as u16).to_f64(),
        Elem::F32 => f64::from(f32::from_bits(bits as u32)),
        Elem::F64 => f64::from_bits(bits),
        Elem::E4M3 => fp8(bits as u8, 3, 7, false),
        Elem::E5M2 => fp8(bits as u8, 2, 15, true),
        _ => unreachable!("{elem} is no float"),
    }
}

fn fp8(bits: u8, mantissa_bits: u32, bias: i32, has_infinity: bool) -> f64 {
    let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
    let exponent_mask = 0x7f >> mantissa_bits;
    let exponent = i32::from(bits & 0x7f) >> mantissa_bits;
    let mantissa = f64::from(bits & ((1 << mantissa_bits) - 1));
    let one = f64::from(1 << mantissa_bits);
    if exponent == exponent_mask && has_infinity {
        return if mantissa == 0.0 { sign * f64::INFINITY } else { f64::NAN };
    }
    if bits & 0x7f == 0x7f && !has_infinity {
        return f64::NAN;
    }
    let magnitude = if exponent == 0 {
        mantissa / one * power_of_two(1 - bias)
    } else {
        (1.0 + mantissa / one) * power_of_two(exponent - bias)
    };
    sign * magnitude
}

/// Value of an integer of this type.
pub(crate) fn integer(elem: Elem, bits: u64, signed: bool) -> i128 {
    let shift = 64 - 8 * elem.bytes() as u32;
    if signed { i128::from((bits << shift) as i64 >> shift) } else { i128::from(bits << shift >> shift) }
}

/// Keeps the bits of this type.
pub(crate) fn truncate(elem: Elem, bits: i128) -> u64 {
    let shift = 64 - 8 * elem.bytes() as u32;
    (bits as u64) << shift >> shift
}

/// Bits of the nearest value of this type, ties to even.
pub(crate) fn nearest(elem: Elem, x: f64) -> u64 {
    match elem {
        // `half` looks at the upper half of an f64 only, so it gets rounded values.
        Elem::F16 => f16::from_f64(rounded(x, 10, -14, 65504.0, f64::INFINITY)).to_bits().into(),
        Elem::BF16 => bf16::from_f32(x as f32).to_bits().into(),
        Elem::F32 => (x as f32).to_bits().into(),
        Elem::F64 => x.to_bits(),
        Elem::E4M3 => encoded_fp8(elem, rounded(x, 3, -6, 448.0, f64::NAN)),
        Elem::E5M2 => encoded_fp8(elem, rounded(x, 2, -14, 57344.0, f64::INFINITY)),
        _ => unreachable!("{elem} is no float"),
    }
}

/// Rounds to a multiple of the last place that the format has at this magnitude.
fn rounded(x: f64, mantissa_bits: i32, min_exponent: i32, max: f64, overflow: f64) -> f64 {
    if x == 0.0 || x.is_nan() {
        return x;
    }
    let exponent = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(min_exponent);
    let quantum = power_of_two(exponent - mantissa_bits);
    let rounded = (x / quantum).round_ties_even() * quantum;
    if rounded.is_nan() || rounded.abs() > max { overflow.copysign(x) } else { rounded }
}

/// Two to a power that an f64 has as a normal number. A quarter of the time of some tests went into `powi`.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The bits of a value of the type. Magnitudes rise with the bits, NaN behind all.
fn encoded_fp8(elem: Elem, x: f64) -> u64 {
    let is_less = |bits: u64| {
        let value = float(elem, bits);
        if x.is_nan() { !value.is_nan() } else { value < x.abs() }
    };
    let (mut low, mut high) = (0, 0x7f);
    while low < high {
        let middle = (low + high) / 2;
        if is_less(middle) { low = middle + 1 } else { high = middle }
    }
    let found = float(elem, low);
    assert!(found == x.abs() || found.is_nan() && x.is_nan(), "{x} is rounded to no value of {elem}");
    if x.is_sign_negative() && !x.is_nan() { low | 0x80 } else { low }
}

/// Equality of elements, all NaN being equal.
pub(crate) fn same(elem: Elem, x: u64, y: u64) -> bool {
    x == y || elem.is_float() && float(elem, x).is_nan() && float(elem, y).is_nan()
}

/// A matrix as bits of its element type in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) elem: Elem,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) bits: Vec<u64>,
}

impl Matrix {
    pub(crate) fn from_fn(elem: Elem, rows: u32, cols: u32, mut f: impl FnMut(usize, usize) -> u64) -> Self {
        let (rows, cols) = (rows as usize, cols as usize);
        let bits = (0..rows * cols).map(|i| f(i / cols, i % cols)).collect();
        Self { elem, rows, cols, bits }
    }

    /// Any bits of the type.
    pub(crate) fn any(elem: Elem, rows: u32, cols: u32, random: &mut Random) -> Self {
        Self::from_fn(elem, rows, cols, |_, _| truncate(elem, random.next().into()))
    }

    pub(crate) fn at(&self, row: usize, col: usize) -> u64 {
        self.bits[row * self.cols + col]
    }

    /// The tile of this matrix. Padding is garbage except where the layout promises zeros.
    pub(crate) fn to_tile(&self, layout: &TileLayout) -> Buffer {
        assert_eq!(
            (layout.rows as usize, layout.cols as usize, layout.elem),
            (self.rows, self.cols, self.elem)
        );
        let mut tile = Buffer::new(layout.bytes(), 0xff);
        let size = layout.storage.bytes();
        let (rows, cols, il) = (self.rows, self.cols, usize::from(layout.interleave));
        let mut zero = |row, col| {
            let at = layout.offset(row, col);
            tile.bytes()[at..at + size].fill(0);
        };
        match layout.use_ {
            Use::A => (0..rows).for_each(|row| (cols..layout.ld as usize).for_each(|col| zero(row, col))),
            Use::B => {
                (rows..rows.next_multiple_of(il)).for_each(|row| (0..cols).for_each(|col| zero(row, col)))
            }
            Use::Accumulator | Use::Any => {}
        }
        for row in 0..rows {
            for col in 0..cols {
                let bits = if layout.storage == self.elem {
                    self.at(row, col)
                } else {
                    assert_eq!(layout.storage, Elem::F32);
                    (float(self.elem, self.at(row, col)) as f32).to_bits().into()
                };
                let at = layout.offset(row, col);
                tile.bytes()[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
            }
        }
        tile
    }

    /// The matrix in a tile. Fails when a widened element is not representable, or padding is not zero.
    pub(crate) fn from_tile(layout: &TileLayout, tile: &mut Buffer) -> Self {
        let size = layout.storage.bytes();
        let mut read = |row, col| {
            let at = layout.offset(row, col);
            let mut bits = [0; 8];
            bits[..size].copy_from_slice(&tile.bytes()[at..at + size]);
            u64::from_le_bytes(bits)
        };
        let il = u32::from(layout.interleave);
        match layout.use_ {
            Use::A => {
                for row in 0..layout.rows as usize {
                    for col in layout.cols..layout.ld {
                        assert_eq!(read(row, col as usize) & 0x7f7f, 0, "padding of {layout:?}");
                    }
                }
            }
            Use::B => {
                for row in layout.rows..layout.rows.next_multiple_of(il) {
                    for col in 0..layout.cols {
                        assert_eq!(read(row as usize, col as usize) & 0x7f7f, 0, "padding of {layout:?}");
                    }
                }
            }
            Use::Accumulator | Use::Any => {}
        }
        Self::from_fn(layout.elem, layout.rows, layout.cols, |row, col| {
            let stored = read(row, col);
            if layout.storage == layout.elem {
                return stored;
            }
            let value = f64::from(f32::from_bits(stored as u32));
            let bits = nearest(layout.elem, value);
            let back = float(layout.elem, bits);
            assert!(back == value || value.is_nan() && back.is_nan(), "{value:e} is no {}", layout.elem);
            bits
        })
    }

    pub(crate) fn assert_same(&self, expected: &Self, what: &str) {
        for (i, (&got, &want)) in self.bits.iter().zip(&expected.bits).enumerate() {
            let (row, col) = (i / self.cols, i % self.cols);
            assert!(same(self.elem, got, want), "{what}: ({row}, {col}) is {got:#x}, expected {want:#x}");
        }
    }
}

/// Bits worth testing of every type: zeros, ones, extremes, subnormals, infinities, NaN.
pub(crate) fn edges(elem: Elem) -> Vec<u64> {
    let width = 8 * elem.bytes() as u32;
    let mut list = vec![0, 1, 2, 3, 5, 7];
    list.extend((0..width).map(|bit| 1 << bit));
    list.extend([u64::MAX, u64::MAX >> 1, u64::MAX << 1, 0x7c00, 0x7bff, 0x3c00, 0x3c01, 0x7e, 0x7b, 0x7c]);
    list.extend([0x7f80_0000, 0x7f7f_ffff, 0x3f80_0000, 0x4f00_0000, 0x4b00_0001, 0x7f80, 0x7f7f, 0x3f80]);
    list.extend([0x7ff0_0000_0000_0000, 0x3ff0_0000_0000_0000, 0x41e0_0000_0000_0000, 0xc3e0_0000_0000_0000]);
    list.iter().map(|&bits: &u64| truncate(elem, bits.into())).collect()
}
