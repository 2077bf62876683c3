//! Matrices in other orders and element types, against the definition of each element.

use crate::common::{Buffer, Random, float, levels};
use phalanx_kernels::{Elem, Relayout, RelayoutParams};

const FLOATS: [Elem; 5] = [Elem::F16, Elem::F32, Elem::BF16, Elem::E4M3, Elem::E5M2];

/// Bits of an element in memory.
fn read(bytes: &[u8], elem: Elem) -> u64 {
    bytes[..elem.bytes()].iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// Whether no value of the type is nearer, by the spacing of values around it. NaN is what came from one, infinity or an
/// overflow.
fn is_nearest(elem: Elem, found: f64, value: f64) -> bool {
    let (significand, smallest, largest) = match elem {
        Elem::F16 => (11, -24, 65504.0),
        Elem::BF16 => (8, -133, f64::from(half::bf16::MAX.to_f32())),
        Elem::E4M3 => (4, -9, 448.0),
        Elem::E5M2 => (3, -16, 57344.0),
        _ => return found == value || found.is_nan() && value.is_nan(),
    };
    let exponent = |x: f64| ((x.abs().to_bits() >> 52) as i32 - 1023 - significand + 1).max(smallest);
    let half_a_place = 2.0_f64.powi(exponent(value) - 1);
    if value.is_nan() {
        return found.is_nan();
    }
    if value.abs() > largest + half_a_place || value.abs() == largest + half_a_place && elem != Elem::E4M3 {
        return if elem == Elem::E4M3 { found.is_nan() } else { found == f64::INFINITY.copysign(value) };
    }
    let difference = (found - value).abs();
    let is_even = (found / 2.0_f64.powi(exponent(value))) % 2.0 == 0.0;
    difference < half_a_place || difference == half_a_place && is_even
}

/// Moves a random matrix and looks at every byte.
fn check(params: RelayoutParams, random: &mut Random) {
    let relayout = Relayout::new(params).expect("the test makes no others");
    let RelayoutParams { lines, length, from, to, round, across, src_stride, dst_stride, padded } = params;
    let mut src = Buffer::misaligned(relayout.source_bytes(), 0, (random.below(4)) as usize);
    src.bytes().fill_with(|| random.next() as u8);
    for isa in levels() {
        let mut dst = Buffer::misaligned(relayout.destination_bytes(), 0xa5, random.below(4) as usize);
        assert!(relayout.run(isa, src.bytes(), dst.bytes()));
        let mut is_element = vec![false; relayout.destination_bytes()];
        for (line, at) in (0..lines).flat_map(|line| (0..length).map(move |at| (line, at))) {
            let (y, x) = if across { (at, line) } else { (line, at) };
            let source = read(&src.bytes()[y * src_stride + x * from.bytes()..], from);
            let place = line * dst_stride + at * to.bytes();
            let found = read(&dst.bytes()[place..], to);
            let right = if from == to && round.is_none() {
                found == source
            } else {
                let (found, value) = (float(to, found), float(from, source));
                is_nearest(round.unwrap_or(to), found, value)
            };
            assert!(right, "{isa}: {params:?}: {source:#x} became {found:#x}");
            is_element[place..place + to.bytes()].fill(true);
        }
        let between = if padded { 0 } else { 0xa5 };
        let others = dst.bytes().iter().zip(is_element).filter(|(_, is_element)| !is_element);
        assert!(others.into_iter().all(|(&byte, _)| byte == between), "{isa}: {params:?}");
    }
}

#[test]
fn every_element_is_at_its_place_and_the_nearest_of_its_type() {
    let mut random = Random(7);
    let floats = FLOATS.into_iter().flat_map(|from| FLOATS.map(|to| (from, to, None)));
    let kept = FLOATS.into_iter().flat_map(|from| FLOATS.map(|round| (from, Elem::F32, Some(round))));
    let same = Elem::ALL.into_iter().filter(|elem| elem.bytes() <= 4).map(|elem| (elem, elem, None));
    let types: Vec<_> = floats.chain(kept).chain(same).collect();
    let sizes = [0, 1, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 65, 100, 1025];
    for _ in 0..4000 {
        let (from, to, round) = random.pick(&types);
        let (lines, length) = (random.pick(&sizes[..14]), random.pick(&sizes));
        let across = random.below(2) == 0;
        let source_line = if across { lines } else { length } * from.bytes();
        check(
            RelayoutParams {
                lines,
                length,
                from,
                to,
                round,
                across,
                src_stride: source_line + random.below(20) as usize,
                dst_stride: length * to.bytes() + random.below(20) as usize,
                padded: random.below(2) == 0,
            },
            &mut random,
        );
    }
}

#[test]
fn what_cannot_be_moved_is_refused() {
    let good = RelayoutParams {
        lines: 3,
        length: 5,
        from: Elem::F32,
        to: Elem::F16,
        round: None,
        across: false,
        src_stride: 20,
        dst_stride: 10,
        padded: false,
    };
    assert!(Relayout::new(good).is_some());
    for bad in [
        RelayoutParams { from: Elem::I32, ..good },
        RelayoutParams { to: Elem::I16, ..good },
        RelayoutParams { from: Elem::F64, to: Elem::F64, dst_stride: 40, ..good },
        RelayoutParams { round: Some(Elem::F16), ..good },
        RelayoutParams { dst_stride: 9, ..good },
        RelayoutParams { src_stride: usize::MAX, ..good },
        RelayoutParams { length: usize::MAX / 2, ..good },
        RelayoutParams { dst_stride: usize::MAX, padded: true, ..good },
    ] {
        assert!(Relayout::new(bad).is_none(), "{bad:?}");
    }
    let relayout = Relayout::new(good).unwrap();
    let mut dst = [1; 30];
    assert!(!relayout.run(phalanx_kernels::Isa::PORTABLE, &[0; 59], &mut dst));
    assert!(!relayout.run(phalanx_kernels::Isa::PORTABLE, &[0; 60], &mut dst[..29]));
    assert_eq!(dst, [1; 30]);
}
