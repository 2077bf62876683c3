//! Against a naive loop over elements.

use phalanx_ir::eval;

use super::*;

/// Pseudo-random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

/// Bits of a component: any, so that NaN, infinities and subnormal numbers are among those of few bits; of f32, half of
/// the time, such as other floats are near to.
fn component(random: &mut Random, component: Component) -> u64 {
    let bits = random.next();
    let mask = component.scalar().mask();
    match component {
        Component::F32 if bits >> 63 == 0 => {
            let near = [Component::F16, Component::Bf16, Component::E4m3, Component::E5m2];
            let scalar = near[(bits >> 32) as usize % 4].scalar();
            let value = eval::to_f64(scalar, bits & scalar.mask());
            // A tie, or next to one, or the value itself.
            eval::from_f64(Scalar::F32, value)
                .wrapping_add((bits >> 40 & 3) << 18)
                .wrapping_sub(bits >> 50 & 1)
                & mask
        }
        _ => bits & mask,
    }
}

/// The bits of a component as those of the scalar that it is kept as.
fn kept(form: MatrixForm, bits: u64) -> u64 {
    let (scalar, kept) = (form.component.scalar(), form.layout.kept(form.component));
    if scalar == kept { bits } else { round(kept, eval::to_f64(scalar, bits)) }
}

/// To nearest even; a NaN keeps its sign.
fn round(scalar: Scalar, value: f64) -> u64 {
    eval::round_f64(scalar, value, phalanx_ir::Rounding::NearestEven, false)
}

fn convert_component(conversion: &Conversion, bits: u64) -> u64 {
    let (from, to) = (conversion.source.component, conversion.destination.component);
    if from == to {
        return bits;
    }
    round(to.scalar(), eval::to_f64(from.scalar(), bits))
}

/// Where the element is and how many bytes it has.
fn place(form: MatrixForm, columns: u32, row: u32, column: u32) -> std::ops::Range<usize> {
    let start = form.layout.offset(form.component, columns, form.stride, (row, column)) as usize;
    start..start + form.layout.kept(form.component).bytes() as usize
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Equal, or NaN both with the same sign.
fn same(form: MatrixForm, a: u64, b: u64) -> bool {
    let scalar = form.layout.kept(form.component);
    let nan = |bits| scalar.is_float() && eval::to_f64(scalar, bits).is_nan();
    let sign = 1 << (scalar.bits() - 1);
    a == b || nan(a) && nan(b) && a & sign == b & sign
}

/// Converts a random matrix, into memory with something behind it, and compares every byte.
fn check(conversion: &Conversion, random: &mut Random) {
    let (rows, columns, source, destination) =
        (conversion.rows, conversion.columns, conversion.source, conversion.destination);
    let source_bytes = conversion.source_bytes().unwrap();
    let bytes = conversion.destination_bytes().unwrap();
    // What is between the source's elements is noise.
    let mut src: Vec<u8> = (0..source_bytes).map(|_| random.next() as u8).collect();
    let mut dst = vec![0xa5; bytes + 8];
    let mut expected = vec![if destination.layout.is_optimal() { 0 } else { 0xa5 }; bytes];
    expected.extend([0xa5; 8]);
    let mut wanted = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let bits = component(random, source.component);
            let from = place(source, columns, row, column);
            src[from.clone()].copy_from_slice(&kept(source, bits).to_le_bytes()[..from.len()]);
            let converted = kept(destination, convert_component(conversion, bits));
            wanted.push((place(destination, columns, row, column), converted, bits));
        }
    }
    convert_matrix(conversion, &src, &mut dst).unwrap();
    for (to, converted, bits) in wanted {
        let found = number(&dst[to.clone()]);
        assert!(
            same(destination, found, converted),
            "{conversion:?}: {bits:#x}: {found:#x}, not {converted:#x}"
        );
        expected[to.clone()].copy_from_slice(&dst[to]);
    }
    assert!(dst == expected, "{conversion:?}: bytes that are no elements");
}

fn form(component: Component, layout: MatrixLayout, (rows, columns): (u32, u32), gap: u64) -> MatrixForm {
    let packed = MatrixForm::packed(component, layout, rows, columns);
    MatrixForm { stride: packed.stride + gap * u64::from(component.scalar().bytes()), ..packed }
}

/// All conversions that are allowed, of matrices of this shape.
fn all(shape: (u32, u32), gap: u64) -> impl Iterator<Item = Conversion> {
    let forms = move || {
        let layouts = MatrixLayout::ALL.into_iter();
        layouts.flat_map(move |layout| Component::ALL.map(|component| form(component, layout, shape, gap)))
    };
    let (rows, columns) = shape;
    let pairs = forms().flat_map(move |source| forms().map(move |destination| (source, destination)));
    let conversions =
        pairs.map(move |(source, destination)| Conversion { rows, columns, source, destination });
    conversions.filter(|conversion| conversion.check().is_ok())
}

#[test]
fn every_conversion_is_that_of_its_elements() {
    let mut random = Random(1);
    let edges = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33];
    for (i, rows) in edges.into_iter().enumerate() {
        for (j, columns) in edges.into_iter().enumerate() {
            // All with a gap of none, one or two elements; a third of the conversions for each shape.
            let some = all((rows, columns), ((i + j) % 3) as u64).skip((i * 5 + j) % 3).step_by(3);
            some.for_each(|conversion| check(&conversion, &mut random));
        }
    }
}

#[test]
fn matrices_that_are_longer_than_the_buffers_are_converted() {
    let mut random = Random(2);
    for (shape, nth) in [((65, 130), 3), ((2, 1030), 5), ((1, 2049), 7), ((1025, 3), 5)] {
        all(shape, 0).step_by(nth).for_each(|conversion| check(&conversion, &mut random));
    }
}

#[test]
fn threads_share_a_large_matrix() {
    let mut random = Random(3);
    let (rows, columns) = (1031, 1100);
    let source = MatrixForm::packed(Component::F32, MatrixLayout::RowMajor, rows, columns);
    for layout in [MatrixLayout::Inferencing, MatrixLayout::Paired, MatrixLayout::ColumnMajor] {
        let destination = MatrixForm::packed(Component::F16, layout, rows, columns);
        let conversion = Conversion { rows, columns, source, destination };
        let src: Vec<u8> = (0..conversion.source_bytes().unwrap()).map(|_| random.next() as u8).collect();
        let mut expected = vec![1; conversion.destination_bytes().unwrap()];
        let mut dst = vec![2; expected.len()];
        convert_matrix(&conversion, &src, &mut expected).unwrap();
        // SAFETY: the slices are as long as the matrices.
        unsafe { conversion.run_raw(src.as_ptr(), dst.as_mut_ptr(), 3) }.unwrap();
        assert!(dst == expected, "{layout:?}");
    }
}

#[test]
fn rows_that_take_turns_come_back_from_there_whatever_the_size() {
    let mut random = Random(4);
    let training = |component| MatrixForm::optimal(component, MatrixLayout::Training);
    let paired = |component| MatrixForm::optimal(component, MatrixLayout::Paired);
    for rows in 1..=130 {
        for columns in 1..=130 {
            let component = Component::ALL[(rows + columns) as usize % Component::ALL.len()];
            let there =
                Conversion { rows, columns, source: training(component), destination: paired(component) };
            let back = Conversion { source: there.destination, destination: there.source, ..there };
            let mut src = vec![0; there.source_bytes().unwrap()];
            // Small floats without those that are no numbers, which have but one form as halves.
            let mask = if matches!(component, Component::E4m3 | Component::E5m2) { 0xbf } else { 0xff };
            for row in 0..rows {
                let line = place(there.source, columns, row, 0).start
                    ..place(there.source, columns, row, columns - 1).end;
                src[line].fill_with(|| random.next() as u8 & mask);
            }
            let mut turns = vec![1; there.destination_bytes().unwrap()];
            convert_matrix(&there, &src, &mut turns).unwrap();
            let mut again = vec![2; src.len()];
            convert_matrix(&back, &turns, &mut again).unwrap();
            assert!(again == src, "{there:?}");
        }
    }
}

#[test]
fn what_is_wrong_is_said_and_nothing_written() {
    use Component::{Bf16, E4m3, E5m2, F16, F32, S8, S32, U8};
    use MatrixLayout::{ColumnMajor, Inferencing, RowMajor};
    let conversion =
        |from: MatrixForm, to: MatrixForm| Conversion { rows: 3, columns: 5, source: from, destination: to };
    let packed = |component, layout| MatrixForm::packed(component, layout, 3, 5);
    for (from, to) in [(F32, S8), (S8, U8), (S32, S8), (E4m3, E5m2), (Bf16, E4m3), (S8, F16)] {
        let error = conversion(packed(from, RowMajor), packed(to, Inferencing)).check();
        assert_eq!(error, Err(ConversionError::Components { from, to }));
    }
    for (from, to) in [(F32, Bf16), (Bf16, F16), (E5m2, F16), (F16, E4m3), (F16, F32)] {
        assert_eq!(conversion(packed(from, RowMajor), packed(to, Inferencing)).check(), Ok(()));
    }
    let error = conversion(packed(F16, RowMajor), packed(E4m3, ColumnMajor)).check();
    assert_eq!(error, Err(ConversionError::Float8Layout { component: E4m3, layout: ColumnMajor }));
    assert_eq!(conversion(packed(E4m3, RowMajor), packed(F16, ColumnMajor)).check(), Ok(()));

    let stride = |found| MatrixForm { stride: found, ..packed(F16, ColumnMajor) };
    for found in [0, 4, 7, 9] {
        let error = conversion(stride(found), packed(F16, RowMajor)).check();
        let (side, line, element) = (Side::Source, 6, 2);
        assert_eq!(error, Err(ConversionError::Stride { side, line, element, found }));
    }
    let good = conversion(stride(6), packed(F16, RowMajor));
    let mut dst = [7; 29];
    let error = convert_matrix(&good, &[0; 30], &mut dst);
    let (side, expected) = (Side::Destination, 30);
    assert_eq!((error, dst), (Err(ConversionError::Size { side, expected, found: 29 }), [7; 29]));
    let error = convert_matrix(&good, &[0; 29], &mut [0; 30]);
    assert_eq!(error, Err(ConversionError::Size { side: Side::Source, expected, found: 29 }));
    let message = error.unwrap_err().to_string();
    assert_eq!(message, "the source takes 30 bytes, found 29");
}

#[test]
fn matrices_without_elements_and_without_an_end_are_no_trouble() {
    for (rows, columns) in [(0, 0), (0, 7), (7, 0)] {
        for conversion in all((rows, columns), 0) {
            assert_eq!(conversion.destination_bytes(), Ok(0));
            convert_matrix(&conversion, &[], &mut []).unwrap();
        }
    }
    let huge = u32::MAX;
    for conversion in all((huge, huge), 0) {
        let error = convert_matrix(&conversion, &[], &mut []).unwrap_err();
        let bytes = [conversion.source_bytes(), conversion.destination_bytes()];
        let too_large = ConversionError::TooLarge { rows: huge, columns: huge };
        assert_eq!(error == too_large, bytes.contains(&Err(too_large.clone())), "{conversion:?}");
    }
    let source = MatrixForm {
        stride: u64::MAX - 1,
        ..MatrixForm::packed(Component::F16, MatrixLayout::RowMajor, 2, 2)
    };
    let destination = MatrixForm::optimal(Component::F16, MatrixLayout::Training);
    let conversion = Conversion { rows: 2, columns: 2, source, destination };
    let error = convert_matrix(&conversion, &[0; 64], &mut [0; 64]);
    assert_eq!(error, Err(ConversionError::TooLarge { rows: 2, columns: 2 }));
}
