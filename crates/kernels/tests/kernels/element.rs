//! Operations on elements on every instruction set against scalar definitions.

use crate::common::{Buffer, Matrix, Random, edges, float, integer, levels, nearest, same, truncate};
use phalanx_kernels::{BinaryFn, ComponentParams, ConvertParams, Elem, ElementParams, Isa, Use};

const SIZES: [(u32, u32); 6] = [(1, 1), (16, 16), (3, 5), (17, 15), (8, 8), (5, 70)];

/// Edge values and random bits.
fn matrix(elem: Elem, rows: u32, cols: u32, random: &mut Random) -> Matrix {
    let edges = edges(elem);
    Matrix::from_fn(elem, rows, cols, |_, _| match random.below(3) {
        0 => random.pick(&edges),
        1 if elem.is_float() => nearest(elem, random.below(2000) as f64 / 64.0 - 16.0),
        _ => truncate(elem, random.next().into()),
    })
}

fn for_all(mut f: impl FnMut(Isa, Elem, Use, (u32, u32))) {
    for isa in levels() {
        for elem in Elem::ALL {
            for use_ in Use::ALL {
                SIZES.iter().for_each(|&size| f(isa, elem, use_, size));
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    DivU,
}

impl Op {
    const ALL: [Self; 5] = [Self::Add, Self::Sub, Self::Mul, Self::Div, Self::DivU];

    fn kernel(self, isa: Isa) -> BinaryFn {
        let table = isa.table();
        match self {
            Self::Add => table.add,
            Self::Sub => table.sub,
            Self::Mul => table.mul,
            Self::Div => table.div,
            Self::DivU => table.div_u,
        }
    }

    fn expected(self, elem: Elem, x: u64, y: u64) -> u64 {
        if elem == Elem::F32 {
            let (x, y) = (f32::from_bits(x as u32), f32::from_bits(y as u32));
            let z = match self {
                Self::Add => x + y,
                Self::Sub => x - y,
                Self::Mul => x * y,
                Self::Div | Self::DivU => x / y,
            };
            return z.to_bits().into();
        }
        if elem.is_float() {
            let (x, y) = (float(elem, x), float(elem, y));
            let z = match self {
                Self::Add => x + y,
                Self::Sub => x - y,
                Self::Mul => x * y,
                Self::Div | Self::DivU => x / y,
            };
            return nearest(elem, z);
        }
        let signed = self != Self::DivU;
        let (x, y) = (integer(elem, x, signed), integer(elem, y, signed));
        let z = match self {
            Self::Add => x + y,
            Self::Sub => x - y,
            Self::Mul => x.wrapping_mul(y),
            Self::Div | Self::DivU => x.checked_div(y).unwrap_or(0),
        };
        truncate(elem, z)
    }
}

#[test]
fn arithmetic() {
    let mut random = Random(1);
    for_all(|isa, elem, use_, (rows, cols)| {
        let layout = isa.layout(elem, use_, rows, cols);
        let p = ElementParams::new(layout);
        for op in Op::ALL {
            let (x, y) = (matrix(elem, rows, cols, &mut random), matrix(elem, rows, cols, &mut random));
            let (mut xt, mut yt) = (x.to_tile(&layout), y.to_tile(&layout));
            let mut zt = Buffer::new(layout.bytes(), 0x11);
            // SAFETY: all tiles are of the layout.
            unsafe { op.kernel(isa)(&p, zt.ptr(), xt.ptr(), yt.ptr()) };
            let want = Matrix::from_fn(elem, rows, cols, |r, c| op.expected(elem, x.at(r, c), y.at(r, c)));
            let what = format!("{isa} {op:?} {layout:?}");
            Matrix::from_tile(&layout, &mut zt).assert_same(&want, &what);
            // In place.
            let (out, left) = (xt.ptr(), xt.ptr());
            // SAFETY: all tiles are of the layout.
            unsafe { op.kernel(isa)(&p, out, left, yt.ptr()) };
            Matrix::from_tile(&layout, &mut xt).assert_same(&want, &what);
        }
    });
}

#[test]
fn negation_and_copy() {
    let mut random = Random(2);
    for_all(|isa, elem, use_, (rows, cols)| {
        let layout = isa.layout(elem, use_, rows, cols);
        let p = ElementParams::new(layout);
        let x = matrix(elem, rows, cols, &mut random);
        let mut xt = x.to_tile(&layout);
        let mut zt = Buffer::new(layout.bytes(), 0x11);
        // SAFETY: both tiles are of the layout.
        unsafe { (isa.table().neg)(&p, zt.ptr(), xt.ptr()) };
        let sign = 1_u64 << (8 * elem.bytes() - 1);
        let want = Matrix::from_fn(elem, rows, cols, |r, c| {
            let bits = x.at(r, c);
            if elem.is_float() { bits ^ sign } else { truncate(elem, -integer(elem, bits, true)) }
        });
        Matrix::from_tile(&layout, &mut zt).assert_same(&want, &format!("{isa} neg {layout:?}"));
        // SAFETY: both tiles are of the layout.
        unsafe { (isa.table().copy)(&p, zt.ptr(), xt.ptr()) };
        Matrix::from_tile(&layout, &mut zt).assert_same(&x, &format!("{isa} copy {layout:?}"));
    });
}

#[test]
fn fill_and_scale() {
    let mut random = Random(3);
    for_all(|isa, elem, use_, (rows, cols)| {
        let layout = isa.layout(elem, use_, rows, cols);
        let p = ElementParams::new(layout);
        let x = matrix(elem, rows, cols, &mut random);
        for bits in [random.pick(&edges(elem)), truncate(elem, random.next().into()), x.at(0, 0)] {
            let mut zt = Buffer::new(layout.bytes(), 0x11);
            // SAFETY: the tile is of the layout.
            unsafe { (isa.table().fill)(&p, zt.ptr(), bits) };
            let want = Matrix::from_fn(elem, rows, cols, |_, _| bits);
            Matrix::from_tile(&layout, &mut zt).assert_same(&want, &format!("{isa} fill {layout:?}"));
            let mut xt = x.to_tile(&layout);
            // SAFETY: both tiles are of the layout.
            unsafe { (isa.table().scale)(&p, zt.ptr(), xt.ptr(), bits) };
            let want = Matrix::from_fn(elem, rows, cols, |r, c| Op::Mul.expected(elem, x.at(r, c), bits));
            Matrix::from_tile(&layout, &mut zt).assert_same(&want, &format!("{isa} scale {layout:?}"));
        }
    });
}

/// Native bytes of one element per lane.
fn lanes(elem: Elem, values: &[u64]) -> Buffer {
    let bytes = elem.bytes();
    let mut buffer = Buffer::misaligned(values.len() * bytes, 0, 1);
    for (chunk, bits) in buffer.bytes().chunks_mut(bytes).zip(values) {
        chunk.copy_from_slice(&bits.to_le_bytes()[..bytes]);
    }
    buffer
}

fn lane_bits(elem: Elem, buffer: &mut Buffer) -> Vec<u64> {
    let read = |chunk: &[u8]| {
        let mut bits = [0; 8];
        bits[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bits)
    };
    buffer.bytes().chunks(elem.bytes()).map(read).collect()
}

#[test]
fn values_per_lane() {
    let mut random = Random(4);
    for_all(|isa, elem, use_, (rows, cols)| {
        let layout = isa.layout(elem, use_, rows, cols);
        for subgroup in [4, 32, 128, 7] {
            let p = ComponentParams::new(layout, subgroup);
            let values: Vec<u64> = matrix(elem, 1, subgroup, &mut random).bits;
            let mut native = lanes(elem, &values);
            let mut zt = Buffer::new(layout.bytes(), 0x11);
            let lane = |r: usize, c: usize| values[(r * cols as usize + c) % subgroup as usize];
            // SAFETY: the tile is of the layout, every lane has a value.
            unsafe { (isa.table().splat_lanes)(&p, zt.ptr(), native.ptr()) };
            let want = Matrix::from_fn(elem, rows, cols, lane);
            Matrix::from_tile(&layout, &mut zt).assert_same(&want, &format!("{isa} splat_lanes {layout:?}"));
            let x = matrix(elem, rows, cols, &mut random);
            let mut xt = x.to_tile(&layout);
            // SAFETY: the tiles are of the layout, every lane has a value.
            unsafe { (isa.table().scale_lanes)(&p, zt.ptr(), xt.ptr(), native.ptr()) };
            let want =
                Matrix::from_fn(elem, rows, cols, |r, c| Op::Mul.expected(elem, x.at(r, c), lane(r, c)));
            Matrix::from_tile(&layout, &mut zt).assert_same(&want, &format!("{isa} scale_lanes {layout:?}"));
        }
    });
}

#[test]
fn components() {
    let mut random = Random(5);
    for_all(|isa, elem, use_, (rows, cols)| {
        let layout = isa.layout(elem, use_, rows, cols);
        for subgroup in [4_u32, 32, 7] {
            let p = ComponentParams::new(layout, subgroup);
            assert_eq!(p.length(), (rows * cols).div_ceil(subgroup));
            let mut x = matrix(elem, rows, cols, &mut random);
            let mut tile = x.to_tile(&layout);
            let count = x.bits.len();
            let what = format!("{isa} {layout:?} of {subgroup}");
            for component in
                [0, random.below(u64::from(p.length()) + 1) as u32, p.length() - 1, 1 << 31, u32::MAX]
            {
                let at = |lane: u32| {
                    let i = component as usize * subgroup as usize + lane as usize;
                    (i < count).then_some(i)
                };
                let mut out = lanes(elem, &vec![!0; subgroup as usize]);
                // SAFETY: the tile is of the layout, every lane has room.
                unsafe { (isa.table().extract)(&p, tile.ptr(), component, out.ptr()) };
                for (lane, got) in (0..subgroup).zip(lane_bits(elem, &mut out)) {
                    assert!(same(elem, got, at(lane).map_or(0, |i| x.bits[i])), "extract {what}");
                }
                let values = matrix(elem, 1, subgroup, &mut random).bits;
                let full = random.below(2) == 0;
                let mask: Vec<u8> = (0..subgroup).map(|_| u8::from(full || random.below(2) == 0)).collect();
                let mut native = lanes(elem, &values);
                // SAFETY: the tile is of the layout, every lane has a value and a mask byte.
                unsafe { (isa.table().insert)(&p, tile.ptr(), component, native.ptr(), mask.as_ptr()) };
                for lane in (0..subgroup).filter(|&lane| mask[lane as usize] == 1) {
                    at(lane).into_iter().for_each(|i| x.bits[i] = values[lane as usize]);
                }
                Matrix::from_tile(&layout, &mut tile).assert_same(&x, &format!("insert {what}"));
            }
            lane_components(isa, &p, &mut x, &mut tile, &mut random);
        }
    });
}

fn lane_components(isa: Isa, p: &ComponentParams, x: &mut Matrix, tile: &mut Buffer, random: &mut Random) {
    let (elem, subgroup) = (x.elem, p.subgroup as usize);
    let components: Vec<u32> = (0..subgroup)
        .map(|_| if random.below(9) == 0 { u32::MAX } else { random.below(u64::from(p.length()) + 1) as u32 })
        .collect();
    let place = |lane: usize| components[lane] as usize * subgroup + lane;
    let mut out = lanes(elem, &vec![!0; subgroup]);
    // SAFETY: the tile is of the layout, every lane has an index and room.
    unsafe { (isa.table().extract_lanes)(p, tile.ptr(), components.as_ptr(), out.ptr()) };
    for (lane, got) in lane_bits(elem, &mut out).into_iter().enumerate() {
        assert!(same(elem, got, x.bits.get(place(lane)).copied().unwrap_or(0)), "{isa} {p:?}");
    }
    let values = matrix(elem, 1, p.subgroup, random).bits;
    let mask: Vec<u8> = (0..subgroup).map(|_| random.below(2) as u8).collect();
    let mut native = lanes(elem, &values);
    // SAFETY: the tile is of the layout, every lane has an index, a value and a mask byte.
    unsafe { (isa.table().insert_lanes)(p, tile.ptr(), components.as_ptr(), native.ptr(), mask.as_ptr()) };
    for lane in (0..subgroup).filter(|&lane| mask[lane] == 1) {
        if let Some(bits) = x.bits.get_mut(place(lane)) {
            *bits = values[lane];
        }
    }
    Matrix::from_tile(&p.layout, tile).assert_same(x, &format!("insert_lanes {isa} {p:?}"));
}

/// A conversion by definition.
fn converted(p: &ConvertParams, bits: u64) -> u64 {
    let (from, to) = (p.from.elem, p.to.elem);
    if from == to {
        return bits;
    }
    if !from.is_float() {
        let value = integer(from, bits, p.from_signed);
        return match to {
            Elem::F64 => (value as f64).to_bits(),
            Elem::F32 => u64::from((value as f32).to_bits()),
            _ if to.is_float() => narrowed(p, as_odd_f64(value)),
            _ => truncate(to, value),
        };
    }
    let value = float(from, bits);
    if to.is_float() {
        return narrowed(p, value);
    }
    let width = 8 * to.bytes() as u32;
    let (low, high) = if p.to_signed {
        (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1)
    } else {
        (0, (1_i128 << width) - 1)
    };
    truncate(to, (value as i128).clamp(low, high))
}

/// An integer of up to 64 bits, whose last 11 bits are one bit that says whether there were any where it is large:
/// rounding to less than 50 bits then gives what rounding the integer gives.
fn as_odd_f64(x: i128) -> f64 {
    let (high, low) = (x >> 11 << 11, x & 0x7ff);
    if x.unsigned_abs() < 1 << 53 || low == 0 { x as f64 } else { (high | 0x800) as f64 }
}

fn narrowed(p: &ConvertParams, value: f64) -> u64 {
    let bits = nearest(p.to.elem, value);
    let max = match p.to.elem {
        Elem::E4M3 => 0x7e,
        Elem::E5M2 => 0x7b,
        _ => return bits,
    };
    let over = p.saturate_fp8 && !value.is_nan() && bits & 0x7f > max;
    let sign = if value.is_sign_negative() { 0x80 } else { 0 };
    if over { max | sign } else { bits }
}

#[test]
fn conversions() {
    let mut random = Random(6);
    for isa in levels() {
        for from in Elem::ALL {
            for to in Elem::ALL {
                for flags in 0..8_u32 {
                    let (rows, cols) = random.pick(&SIZES);
                    let (from_use, to_use) = (random.pick(&Use::ALL), random.pick(&Use::ALL));
                    let flag = |bit: u32| flags >> bit & 1 == 1;
                    let p = ConvertParams::new(
                        isa.layout(from, from_use, rows, cols),
                        isa.layout(to, to_use, rows, cols),
                        flag(0),
                        flag(1),
                        flag(2),
                    );
                    let x = matrix(from, rows, cols, &mut random);
                    let mut xt = x.to_tile(&p.from);
                    let mut zt = Buffer::new(p.to.bytes(), 0x11);
                    // SAFETY: the tiles are of their layouts.
                    unsafe { (isa.table().convert)(&p, zt.ptr(), xt.ptr()) };
                    let want = Matrix::from_fn(to, rows, cols, |r, c| converted(&p, x.at(r, c)));
                    Matrix::from_tile(&p.to, &mut zt).assert_same(&want, &format!("{isa} convert {p:?}"));
                    if from.bytes() == to.bytes() {
                        // SAFETY: the tiles are of their layouts.
                        unsafe { (isa.table().bitcast)(&p, zt.ptr(), xt.ptr()) };
                        let got = Matrix::from_tile(&p.to, &mut zt);
                        for (got, want) in got.bits.iter().zip(&x.bits) {
                            // A NaN of either type may change its payload.
                            let nan = [from, to].iter().any(|e| e.is_float() && float(*e, *want).is_nan());
                            assert!(got == want || nan, "{isa} bitcast {p:?} {got:#x} {want:#x}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_f16_and_bf16_converts_to_fp8_in_one_rounding() {
    for isa in levels() {
        for from in [Elem::F16, Elem::BF16] {
            for to in [Elem::E4M3, Elem::E5M2] {
                for saturate in [false, true] {
                    let layout = |elem| isa.layout(elem, Use::Accumulator, 256, 256);
                    let p = ConvertParams::new(layout(from), layout(to), false, false, saturate);
                    let x = Matrix::from_fn(from, 256, 256, |r, c| (r * 256 + c) as u64);
                    let mut xt = x.to_tile(&p.from);
                    let mut zt = Buffer::new(p.to.bytes(), 0x11);
                    // SAFETY: the tiles are of their layouts.
                    unsafe { (isa.table().convert)(&p, zt.ptr(), xt.ptr()) };
                    let got = Matrix::from_tile(&p.to, &mut zt);
                    // The reference is slow; an odd stride visits all exponents.
                    for i in (0..x.bits.len()).step_by(7) {
                        let want = converted(&p, x.bits[i]);
                        assert!(same(to, got.bits[i], want), "{isa} {p:?} {:#x}", x.bits[i]);
                    }
                }
            }
        }
    }
}
