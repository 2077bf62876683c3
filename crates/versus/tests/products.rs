//! Products by libraries against plain loops. A library that is not installed is told, not tested.

#![allow(
    clippy::print_stdout,
    clippy::panic,
    reason = "a test says what it skips, and fails where it may not"
)]

use half::{bf16, f16};
use phalanx_versus::{Element, Error, Kind, Library, Product};

/// Small whole numbers, which every type has, and whose sums of products are exact.
fn numbers(count: usize, element: Element, seed: usize) -> Vec<i32> {
    let least = if element == Element::U8 { 0 } else { -3 };
    (0..count).map(|index| (index * 7 + index / 5 + seed) as i32 % 7 + least).collect()
}

/// A number from -3 to 3 in a type that has these bits for 1, 2 and 3.
fn small_float(number: i32, bits: [u8; 3]) -> u8 {
    let magnitude = (number.unsigned_abs() as usize).checked_sub(1).map_or(0, |index| bits[index]);
    if number < 0 { magnitude | 0x80 } else { magnitude }
}

fn bytes(numbers: &[i32], element: Element) -> Vec<u8> {
    let bytes = |&number: &i32| match element {
        Element::F32 => (number as f32).to_ne_bytes().to_vec(),
        Element::F16 => f16::from_f32(number as f32).to_ne_bytes().to_vec(),
        Element::Bf16 => bf16::from_f32(number as f32).to_ne_bytes().to_vec(),
        Element::E4m3 => vec![small_float(number, [0x38, 0x40, 0x44])],
        Element::E5m2 => vec![small_float(number, [0x3c, 0x40, 0x42])],
        Element::S8 => (number as i8).to_ne_bytes().to_vec(),
        Element::U8 => (number as u8).to_ne_bytes().to_vec(),
        Element::S32 => number.to_ne_bytes().to_vec(),
    };
    numbers.iter().flat_map(bytes).collect()
}

fn library(kind: Kind) -> Option<Library> {
    match Library::open(kind) {
        Ok(library) => Some(library),
        Err(error) => {
            assert!(matches!(error, Error::Missing { .. }), "{error}");
            println!("skipped: {error}");
            None
        }
    }
}

/// Whether the library has such a product. If so, it is right.
fn is_right(library: &Library, product: Product) -> bool {
    let Product { m, n, k, a, b, d, is_b_column_major, .. } = product;
    let (left, right) = (numbers(m * k, a, 1), numbers(k * n, b, 2));
    let prepared = library.prepare(product, &bytes(&left, a), &bytes(&right, b));
    let mut multiplication = match prepared {
        Ok(multiplication) => multiplication,
        Err(Error::Unsupported { .. }) => return false,
        Err(error) => panic!("{product:?}: {error}"),
    };
    for _ in 0..2 {
        multiplication.run().expect("it runs");
    }
    let at = |row: usize, column: usize| if is_b_column_major { column * k + row } else { row * n + column };
    let sum = |index: usize| {
        let (row, column) = (index / n, index % n);
        (0..k).map(|inner| left[row * k + inner] * right[at(inner, column)]).sum()
    };
    let expected: Vec<i32> = (0..m * n).map(sum).collect();
    assert_eq!(multiplication.result(), bytes(&expected, d), "{} {product:?}", library.name());
    true
}

const F32: Product = Product {
    m: 37,
    n: 20,
    k: 33,
    a: Element::F32,
    b: Element::F32,
    d: Element::F32,
    is_b_column_major: false,
    is_packed: false,
    threads: 2,
};

#[test]
fn onednn_multiplies() {
    let Some(library) = library(Kind::OneDnn) else { return };
    assert!(library.name().starts_with("oneDNN "), "{}", library.name());
    for is_b_column_major in [false, true] {
        for threads in [1, 2] {
            let product = Product { is_b_column_major, threads, ..F32 };
            assert!(is_right(&library, product));
            let (a, b) = (Element::S8, Element::S8);
            assert!(is_right(&library, Product { a, b, d: Element::S32, ..product }));
            assert!(is_right(&library, Product { a: Element::U8, b, d: Element::S32, ..product }));
            // As the processor has it.
            for element in [Element::Bf16, Element::F16] {
                is_right(&library, Product { a: element, b: element, ..product });
            }
        }
    }
    // With B in the library's own layout it computes the same, from rows and from columns.
    for is_b_column_major in [false, true] {
        let packed = Product { is_packed: true, is_b_column_major, ..F32 };
        assert!(is_right(&library, packed));
        let (a, b) = (Element::S8, Element::S8);
        assert!(is_right(&library, Product { a, b, d: Element::S32, ..packed }));
        assert!(is_right(&library, Product { m: 256, n: 320, k: 192, ..packed }));
    }
    let both = Product { a: Element::F32, b: Element::S8, ..F32 };
    assert!(!is_right(&library, both), "there are no such products");
}

#[test]
fn openblas_multiplies_floats() {
    let Some(library) = library(Kind::OpenBlas) else { return };
    assert!(library.name().starts_with("OpenBLAS "), "{}", library.name());
    for is_b_column_major in [false, true] {
        assert!(is_right(&library, Product { is_b_column_major, ..F32 }));
    }
    assert!(!is_right(&library, Product { is_packed: true, ..F32 }));
    let bytes = Product { a: Element::S8, b: Element::S8, d: Element::S32, ..F32 };
    assert!(!is_right(&library, bytes));
}

#[test]
fn cublas_multiplies_floats_of_8_bits_by_columns() {
    let Some(library) = library(Kind::CuBlas { adds: false }) else { return };
    let (a, b) = (Element::E4m3, Element::E4m3);
    let product = Product { m: 32, n: 48, k: 64, a, b, is_b_column_major: true, ..F32 };
    assert!(is_right(&library, product));
    assert!(!is_right(&library, Product { is_b_column_major: false, ..product }));
}

#[test]
fn cublas_adds_to_the_result() {
    let Some(library) = library(Kind::CuBlas { adds: true }) else { return };
    let [f16, e4m3] =
        [Element::F16, Element::E4m3].map(|of| Product { m: 32, n: 48, k: 64, a: of, b: of, ..F32 });
    for product in [f16, Product { is_b_column_major: true, ..e4m3 }] {
        let Product { m, n, k, a, .. } = product;
        let ones = |count| bytes(&vec![1; count], a);
        let mut sums = library.prepare(product, &ones(m * k), &ones(k * n)).expect("it has this product");
        for runs in 1..=3 {
            sums.run().expect("it runs");
            assert_eq!(sums.result(), bytes(&vec![runs * k as i32; m * n], Element::F32), "{product:?}");
        }
    }
}

#[test]
fn matrices_of_other_sizes_are_refused() {
    let Some(library) = library(Kind::OneDnn) else { return };
    let refuses = |product: Product, a: usize, b: usize| {
        let error = library.prepare(product, &vec![0; a], &vec![0; b]).expect_err("other sizes");
        assert!(matches!(error, Error::Size { .. }), "{error}");
    };
    refuses(F32, 4 * 37 * 33, 4 * 20 * 32);
    refuses(F32, 4 * 37 * 33 + 1, 4 * 20 * 33);
    refuses(Product { m: 0, ..F32 }, 0, 4 * 20 * 33);
    refuses(Product { threads: 0, ..F32 }, 4 * 37 * 33, 4 * 20 * 33);
    refuses(Product { m: usize::MAX, k: 2, ..F32 }, 8, 0);
}

#[test]
fn what_is_missing_is_named_with_its_package() {
    let cause = libloading::Error::DlOpenUnknown;
    let text = Error::Missing { kind: Kind::OneDnn, cause: cause.to_string() }.to_string();
    assert!(text.starts_with("oneDNN cannot be loaded: install it (the package libdnnl-dev"), "{text}");
    let environment = Kind::OpenBlas.environment();
    assert_eq!(
        environment.iter().any(|&(name, value)| (name, value) == ("OPENBLAS_CORETYPE", "SkylakeX")),
        cfg!(target_arch = "x86_64")
            && std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("avx512f"))
    );
}
