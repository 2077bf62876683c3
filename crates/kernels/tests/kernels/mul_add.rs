//! Multiplication on every instruction set against exact arithmetic.

use crate::common::{Buffer, Matrix, Random, float, integer, nearest, same, truncate};
use phalanx_kernels::{Elem, Grid, Isa, KernelId, MulAdd, MulAddFn, Use};

/// Types and flags of a multiplication.
#[derive(Clone, Copy, Debug)]
struct Case {
    elems: [Elem; 4],
    signed: [bool; 4],
    saturating: bool,
    any_use: bool,
}

impl Case {
    fn floats(a: Elem, b: Elem, c: Elem, r: Elem) -> Self {
        Self { elems: [a, b, c, r], signed: [false; 4], saturating: false, any_use: false }
    }
}

/// A grid of matrices with values that keep sums exact in f32.
fn operand(elem: Elem, (rows, cols): (u32, u32), count: u32, random: &mut Random) -> Vec<Matrix> {
    let each = |random: &mut Random| {
        Matrix::from_fn(elem, rows, cols, |_, _| {
            if elem.is_float() {
                nearest(elem, (random.below(9) as f64 - 4.0) / 2.0)
            } else {
                truncate(elem, random.next().into())
            }
        })
    };
    (0..count).map(|_| each(random)).collect()
}

struct Run {
    case: Case,
    shape: (u32, u32, u32),
    grid: Grid,
    in_place: bool,
}

impl Run {
    fn check(&self, isa: Isa, random: &mut Random) -> KernelId {
        let ((m, n, k), grid) = (self.shape, self.grid);
        let use_ = |use_| if self.case.any_use { Use::Any } else { use_ };
        let [ea, eb, ec, er] = self.case.elems;
        let op = MulAdd {
            a: isa.layout(ea, use_(Use::A), m, k),
            b: isa.layout(eb, use_(Use::B), k, n),
            c: isa.layout(ec, use_(Use::Accumulator), m, n),
            r: isa.layout(er, use_(Use::Accumulator), m, n),
            a_signed: self.case.signed[0],
            b_signed: self.case.signed[1],
            c_signed: self.case.signed[2],
            r_signed: self.case.signed[3],
            saturating: self.case.saturating,
        };
        let a = operand(ea, (m, k), grid.m * grid.k, random);
        let b = operand(eb, (k, n), grid.k * grid.n, random);
        let c = operand(ec, (m, n), grid.m * grid.n, random);
        let plan = isa.plan_mul_add(&op, grid);
        let tiles = |matrices: &[Matrix], layout| -> Vec<Buffer> {
            matrices.iter().map(|matrix| matrix.to_tile(layout)).collect()
        };
        let (mut at, mut bt, mut ct) = (tiles(&a, &op.a), tiles(&b, &op.b), tiles(&c, &op.c));
        let mut rt: Vec<_> = c.iter().map(|_| Buffer::new(op.r.bytes(), 0xee)).collect();
        let mut scratch = Buffer::new(plan.scratch_bytes, 0x77);
        let pointers = |tiles: &mut [Buffer]| tiles.iter_mut().map(Buffer::ptr).collect::<Vec<*mut u8>>();
        let (ap, bp, cp) = (pointers(&mut at), pointers(&mut bt), pointers(&mut ct));
        let rp = if self.in_place { cp.clone() } else { pointers(&mut rt) };
        let address = plan.kernel.address(isa).expect("the plan names a kernel");
        // SAFETY: the plan names a multiplication; the operands are as planned.
        unsafe {
            let kernel = std::mem::transmute::<*const (), MulAddFn>(address);
            kernel(
                &plan.params,
                ap.as_ptr().cast(),
                bp.as_ptr().cast(),
                cp.as_ptr().cast(),
                rp.as_ptr(),
                scratch.ptr(),
            );
        }
        let results = if self.in_place { &mut ct } else { &mut rt };
        for (tile, result) in results.iter_mut().enumerate() {
            let (i, j) = (tile / grid.n as usize, tile % grid.n as usize);
            let result = Matrix::from_tile(&op.r, result);
            for row in 0..m as usize {
                for col in 0..n as usize {
                    let want = self.expected((&a, &b, &c[tile]), (i, j), (row, col));
                    let got = result.at(row, col);
                    assert!(
                        same(er, got, want),
                        "{isa} {} {:?} {:?} {:?} tile ({i}, {j}) element ({row}, {col}): {got:#x}, expected {want:#x}",
                        plan.kernel.name(),
                        self.case,
                        self.shape,
                        self.grid,
                    );
                }
            }
        }
        plan.kernel
    }

    fn expected(
        &self,
        (a, b, c): (&[Matrix], &[Matrix], &Matrix),
        (i, j): (usize, usize),
        (row, col): (usize, usize),
    ) -> u64 {
        let case = &self.case;
        let [_, _, _, er] = case.elems;
        let (gk, gn) = (self.grid.k as usize, self.grid.n as usize);
        let products = (0..gk)
            .flat_map(|kt| (0..self.shape.2 as usize).map(move |k| (&a[i * gk + kt], &b[kt * gn + j], k)));
        let as_float = |matrix: &Matrix, row, col, signed| {
            let bits = matrix.at(row, col);
            if matrix.elem.is_float() {
                float(matrix.elem, bits)
            } else {
                integer(matrix.elem, bits, signed) as f64
            }
        };
        if case.elems.iter().any(|elem| elem.is_float()) {
            let sum: f64 = products
                .map(|(a, b, k)| as_float(a, row, k, case.signed[0]) * as_float(b, k, col, case.signed[1]))
                .sum();
            let total = sum + as_float(c, row, col, case.signed[2]);
            return if er.is_float() { nearest(er, total) } else { truncate(er, total as i128) };
        }
        let value = |matrix: &Matrix, row, col, signed| integer(matrix.elem, matrix.at(row, col), signed);
        let sum: i128 = products
            .map(|(a, b, k)| value(a, row, k, case.signed[0]).wrapping_mul(value(b, k, col, case.signed[1])))
            .fold(0, i128::wrapping_add);
        let total = sum.wrapping_add(value(c, row, col, case.signed[2]));
        if !case.saturating {
            return truncate(er, total);
        }
        let bits = 8 * er.bytes() as u32;
        let (low, high) = if case.signed[3] {
            (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
        } else {
            (0, (1_i128 << bits) - 1)
        };
        truncate(er, total.clamp(low, high))
    }
}

const SHAPES: [(u32, u32, u32); 14] = [
    (16, 16, 16),
    (8, 8, 8),
    (16, 8, 16),
    (1, 1, 1),
    (3, 5, 7),
    (15, 15, 15),
    (17, 17, 17),
    (8, 16, 32),
    (32, 32, 32),
    (9, 33, 5),
    (5, 9, 3),
    (31, 40, 2),
    (64, 64, 64),
    (24, 48, 20),
];

const GRIDS: [Grid; 6] = [
    Grid { m: 1, n: 1, k: 1 },
    Grid { m: 2, n: 2, k: 1 },
    Grid { m: 1, n: 3, k: 2 },
    Grid { m: 4, n: 4, k: 2 },
    Grid { m: 3, n: 5, k: 3 },
    Grid { m: 1, n: 7, k: 1 },
];

/// Runs a case over all shapes and grids that are not too much work.
fn sweep(case: Case) {
    let mut random = Random(0x5eed ^ case.elems.iter().fold(0, |hash, &elem| hash * 31 + elem as u64));
    for isa in Isa::available() {
        for shape in SHAPES {
            for grid in GRIDS {
                let work = shape.0 * shape.1 * shape.2 * grid.m * grid.n * grid.k;
                if work > 150_000 && shape != (16, 16, 16) {
                    continue;
                }
                let in_place = case.elems[2] == case.elems[3] && random.below(2) == 0;
                Run { case, shape, grid, in_place }.check(isa, &mut random);
            }
        }
    }
}

#[test]
fn f32_and_f16() {
    sweep(Case::floats(Elem::F32, Elem::F32, Elem::F32, Elem::F32));
    sweep(Case::floats(Elem::F16, Elem::F16, Elem::F32, Elem::F32));
    sweep(Case::floats(Elem::F16, Elem::F16, Elem::F16, Elem::F16));
    sweep(Case::floats(Elem::F16, Elem::F16, Elem::F32, Elem::F16));
}

#[test]
fn bf16() {
    sweep(Case::floats(Elem::BF16, Elem::BF16, Elem::F32, Elem::F32));
    sweep(Case::floats(Elem::BF16, Elem::BF16, Elem::BF16, Elem::BF16));
}

#[test]
fn fp8() {
    sweep(Case::floats(Elem::E4M3, Elem::E4M3, Elem::F32, Elem::F32));
    sweep(Case::floats(Elem::E5M2, Elem::E4M3, Elem::F16, Elem::F16));
    sweep(Case::floats(Elem::E4M3, Elem::E5M2, Elem::E5M2, Elem::E4M3));
}

#[test]
fn f64_and_mixtures() {
    sweep(Case::floats(Elem::F64, Elem::F64, Elem::F64, Elem::F64));
    sweep(Case::floats(Elem::F16, Elem::F64, Elem::F32, Elem::F16));
    sweep(Case::floats(Elem::BF16, Elem::F16, Elem::F32, Elem::F32));
    sweep(Case::floats(Elem::F32, Elem::BF16, Elem::F32, Elem::F64));
    sweep(Case { signed: [true; 4], ..Case::floats(Elem::I8, Elem::F16, Elem::F32, Elem::F32) });
}

#[test]
fn bytes_of_all_signs() {
    for flags in 0..16_u32 {
        let signed = [0, 1, 2, 3].map(|bit| flags >> bit & 1 == 1);
        for saturating in [false, true] {
            let elems = [Elem::I8, Elem::I8, Elem::I32, Elem::I32];
            sweep_some(Case { elems, signed, saturating, any_use: false });
        }
    }
    sweep(Case {
        elems: [Elem::I8, Elem::I8, Elem::I32, Elem::I32],
        signed: [true; 4],
        saturating: false,
        any_use: false,
    });
}

/// A few shapes only, for cases that come in many combinations.
fn sweep_some(case: Case) {
    let mut random = Random(0xabc);
    for isa in Isa::available() {
        for shape in [(16, 16, 16), (16, 16, 32), (8, 8, 8), (5, 9, 7), (17, 20, 33)] {
            let grid = random.pick(&GRIDS);
            Run { case, shape, grid, in_place: false }.check(isa, &mut random);
        }
    }
}

#[test]
fn other_integers() {
    for (a, b, c, r) in [
        (Elem::I8, Elem::I8, Elem::I8, Elem::I8),
        (Elem::I8, Elem::I8, Elem::I16, Elem::I32),
        (Elem::I16, Elem::I16, Elem::I32, Elem::I32),
        (Elem::I32, Elem::I32, Elem::I32, Elem::I32),
        (Elem::I64, Elem::I64, Elem::I64, Elem::I64),
        (Elem::I8, Elem::I32, Elem::I64, Elem::I64),
    ] {
        for signed in [[false; 4], [true; 4], [true, false, true, false]] {
            // The product must not overflow for saturation to be defined.
            let saturating = a == Elem::I8 && b == Elem::I8;
            sweep_some(Case { elems: [a, b, c, r], signed, saturating, any_use: false });
            sweep_some(Case { elems: [a, b, c, r], signed, saturating: false, any_use: false });
        }
    }
}

#[test]
fn matrices_of_any_use() {
    for elem in [Elem::F16, Elem::F32, Elem::BF16, Elem::E4M3] {
        sweep_some(Case { any_use: true, ..Case::floats(elem, elem, Elem::F32, Elem::F32) });
    }
    for signed in [[true; 4], [false; 4], [true, false, true, true], [false, true, true, true]] {
        let elems = [Elem::I8, Elem::I8, Elem::I32, Elem::I32];
        sweep_some(Case { elems, signed, saturating: false, any_use: true });
    }
}

#[test]
fn large_tiles() {
    let mut random = Random(9);
    let case = Case::floats(Elem::F16, Elem::F16, Elem::F32, Elem::F32);
    for isa in Isa::available() {
        for shape in [(128, 128, 64), (1, 512, 16), (200, 3, 70), (512, 16, 16)] {
            Run { case, shape, grid: Grid::ONE, in_place: true }.check(isa, &mut random);
        }
    }
}

#[test]
fn common_types_have_fast_kernels() {
    let mut random = Random(1);
    for isa in Isa::available() {
        for (elem, accumulator) in
            [(Elem::F16, Elem::F32), (Elem::F32, Elem::F32), (Elem::BF16, Elem::F32), (Elem::I8, Elem::I32)]
        {
            for any_use in [false, true] {
                let elems = [elem, elem, accumulator, accumulator];
                let case = Case { elems, signed: [true; 4], saturating: false, any_use };
                let run = Run { case, shape: (16, 16, 16), grid: Grid::ONE, in_place: false };
                assert_ne!(run.check(isa, &mut random), KernelId::MUL_ADD_GENERAL, "{isa} {case:?}");
            }
        }
    }
}

/// Values of any size: within the bound of summation in f32 plus one rounding.
#[test]
fn f32_error_is_bounded() {
    let mut random = Random(3);
    let (m, n, k) = (16, 16, 64);
    for isa in Isa::available() {
        let mut draw = || ((random.next() >> 40) as f64 / 2.0_f64.powi(24) - 0.5) * 8.0;
        let a = Matrix::from_fn(Elem::F32, m, k, |_, _| nearest(Elem::F32, draw()));
        let b = Matrix::from_fn(Elem::F32, k, n, |_, _| nearest(Elem::F32, draw()));
        let c = Matrix::from_fn(Elem::F32, m, n, |_, _| nearest(Elem::F32, draw()));
        let layout = |use_, rows, cols| isa.layout(Elem::F32, use_, rows, cols);
        let op = MulAdd {
            a: layout(Use::A, m, k),
            b: layout(Use::B, k, n),
            c: layout(Use::Accumulator, m, n),
            r: layout(Use::Accumulator, m, n),
            a_signed: false,
            b_signed: false,
            c_signed: false,
            r_signed: false,
            saturating: false,
        };
        let plan = isa.plan_mul_add(&op, Grid::ONE);
        let (mut at, mut bt, mut ct) = (a.to_tile(&op.a), b.to_tile(&op.b), c.to_tile(&op.c));
        let mut rt = Buffer::new(op.r.bytes(), 0);
        let (ap, bp, cp, rp) = (at.ptr(), bt.ptr(), ct.ptr(), rt.ptr());
        // SAFETY: the operands are as planned.
        unsafe {
            let (ap, bp, cp) = (ap.cast_const(), bp.cast_const(), cp.cast_const());
            (isa.table().mul_add_f32)(&plan.params, &ap, &bp, &cp, &rp, std::ptr::null_mut());
        }
        let r = Matrix::from_tile(&op.r, &mut rt);
        for (row, col) in (0..m as usize).flat_map(|row| (0..n as usize).map(move |col| (row, col))) {
            let value = |matrix: &Matrix, row, col| float(Elem::F32, matrix.at(row, col));
            let terms: Vec<f64> = (0..k as usize)
                .map(|l| value(&a, row, l) * value(&b, l, col))
                .chain([value(&c, row, col)])
                .collect();
            let (exact, magnitude) = (terms.iter().sum::<f64>(), terms.iter().map(|x| x.abs()).sum::<f64>());
            let bound = f64::from(k + 1) * 2.0_f64.powi(-24) * magnitude;
            assert!((value(&r, row, col) - exact).abs() <= bound, "{isa}");
        }
    }
}
