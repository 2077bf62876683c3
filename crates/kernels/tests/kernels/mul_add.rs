//! Multiplication on every instruction set against exact arithmetic.

use crate::common::{Buffer, Matrix, Random, float, integer, nearest, same, sets, truncate};
use phalanx_kernels::{Access, Elem, Grid, Isa, KernelId, MulAdd, MulAddFn, TileLayout, Use, Wishes};

/// Types and flags of a multiplication.
#[derive(Clone, Copy, Debug)]
struct Case {
    elems: [Elem; 4],
    signed: [bool; 4],
    saturating: bool,
    relaxed: bool,
    /// The tiles of A in a row of the grid are one, those of B in a column.
    sliced: bool,
    any_use: bool,
    numbers: Numbers,
}

/// What operands hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Numbers {
    /// Any integers; floats of which sums are exact in f32, and mostly in narrower types.
    Any,
    /// Integers at the ends of their range; floats of which sums are exact in f32 only.
    Large,
    /// Floats with all digits of f16, so few that sums are exact in f32; no integers.
    Long,
}

impl Case {
    fn floats(a: Elem, b: Elem, c: Elem, r: Elem) -> Self {
        Self::integers([a, b, c, r], [false; 4], false)
    }

    fn integers(elems: [Elem; 4], signed: [bool; 4], saturating: bool) -> Self {
        Self {
            elems,
            signed,
            saturating,
            relaxed: false,
            sliced: false,
            any_use: false,
            numbers: Numbers::Any,
        }
    }
}

/// A grid of matrices.
fn operand(
    elem: Elem,
    (rows, cols): (u32, u32),
    count: u32,
    numbers: Numbers,
    random: &mut Random,
) -> Vec<Matrix> {
    let ends = [0, 1, -1, i128::from(u64::MAX >> (65 - 8 * elem.bytes())), 1 << (8 * elem.bytes() - 1)];
    let mut number = |_, _| match (numbers, elem.is_float()) {
        (Numbers::Any, true) => nearest(elem, (random.below(9) as f64 - 4.0) / 2.0),
        (Numbers::Large, true) => nearest(elem, random.below(61) as f64 - 30.0),
        (Numbers::Long, true) if random.below(6) > 0 => nearest(elem, 0.0),
        (Numbers::Long, true) => nearest(elem, (2 * random.below(2048)) as f64 - 2047.0),
        (Numbers::Any, false) => truncate(elem, random.next().into()),
        (Numbers::Large | Numbers::Long, false) => truncate(elem, random.pick(&ends)),
    };
    (0..count).map(|_| Matrix::from_fn(elem, rows, cols, &mut number)).collect()
}

/// A number of any type; a float has no whole one.
#[derive(Clone, Copy)]
struct Number {
    real: f64,
    whole: i128,
}

impl Number {
    fn read(elem: Elem, bits: u64, signed: bool) -> Self {
        if elem.is_float() {
            return Self { real: float(elem, bits), whole: 0 };
        }
        let whole = integer(elem, bits, signed);
        Self { real: whole as f64, whole }
    }
}

/// The numbers of a matrix, row by row.
struct Factor {
    cols: usize,
    numbers: Vec<Number>,
}

impl Factor {
    fn at(&self, row: usize, col: usize) -> Number {
        self.numbers[row * self.cols + col]
    }
}

/// Factors that have all steps.
struct Deep {
    a: Vec<Matrix>,
    b: Vec<Matrix>,
}

struct Run {
    case: Case,
    shape: (u32, u32, u32),
    grid: Grid,
    in_place: bool,
}

impl Run {
    fn op(&self, isa: Isa) -> MulAdd {
        let (m, n, k) = self.shape;
        let use_ = |use_| if self.case.any_use { Use::Any } else { use_ };
        let [ea, eb, ec, er] = self.case.elems;
        let depth = k * if self.case.sliced { self.grid.k } else { 1 };
        MulAdd {
            a: TileLayout { cols: k, ..isa.layout(ea, use_(Use::A), m, depth) },
            b: TileLayout { rows: k, ..isa.layout(eb, use_(Use::B), depth, n) },
            c: isa.layout(ec, use_(Use::Accumulator), m, n),
            r: isa.layout(er, use_(Use::Accumulator), m, n),
            a_signed: self.case.signed[0],
            b_signed: self.case.signed[1],
            c_signed: self.case.signed[2],
            r_signed: self.case.signed[3],
            saturating: self.case.saturating,
            relaxed: self.case.relaxed,
            sliced: self.case.sliced,
            a_parts: false,
            b_parts: false,
        }
    }

    fn check(&self, isa: Isa, random: &mut Random) -> KernelId {
        let ((m, n, k), grid) = (self.shape, self.grid);
        let [ea, eb, ec, _] = self.case.elems;
        let numbers = self.case.numbers;
        let a = operand(ea, (m, k), grid.m * grid.k, numbers, random);
        let b = operand(eb, (k, n), grid.k * grid.n, numbers, random);
        let c = operand(ec, (m, n), grid.m * grid.n, numbers, random);
        self.check_these(isa, &self.op(isa), (&a, &b, &c))
    }

    fn check_these(&self, isa: Isa, op: &MulAdd, (a, b, c): (&[Matrix], &[Matrix], &[Matrix])) -> KernelId {
        let ((m, n, _), grid, er) = (self.shape, self.grid, op.r.elem);
        let plan = isa.plan_mul_add(op, grid);
        let tiles = |matrices: &[Matrix], layout: &TileLayout| -> Vec<Buffer> {
            matrices.iter().map(|matrix| matrix.to_tile(layout)).collect()
        };
        let factors = |matrices: &[Matrix], layout, with_parts| -> Vec<Buffer> {
            let of_one = |matrix| tile_with_parts(isa, layout, matrix);
            if with_parts { matrices.iter().map(of_one).collect() } else { tiles(matrices, layout) }
        };
        let (mut at, mut bt) = if op.sliced {
            let Deep { a, b } = self.deep(a, b);
            let depth = grid.k * self.shape.2;
            (tiles(&a, &TileLayout { cols: depth, ..op.a }), tiles(&b, &TileLayout { rows: depth, ..op.b }))
        } else {
            (factors(a, &op.a, op.a_parts), factors(b, &op.b, op.b_parts))
        };
        let mut ct = tiles(c, &op.c);
        let mut rt: Vec<_> = c.iter().map(|_| Buffer::new(op.r.bytes(), 0xee)).collect();
        let mut scratch = Buffer::new(plan.scratch_bytes, 0x77);
        // Whatever is noted there is a hint.
        let mut wishes = Box::new(bytemuck::pod_read_unaligned::<Wishes>(&[0x77; size_of::<Wishes>()]));
        let pointers = |tiles: &mut [Buffer]| tiles.iter_mut().map(Buffer::ptr).collect::<Vec<*mut u8>>();
        let (mut ap, mut bp, cp) = (pointers(&mut at), pointers(&mut bt), pointers(&mut ct));
        if op.sliced {
            let steps = || (0..grid.k as usize).map(|kt| kt * self.shape.2 as usize);
            ap = ap
                .iter()
                .flat_map(|&tile| steps().map(move |at| tile.wrapping_add(op.a.offset(0, at))))
                .collect();
            bp = steps()
                .flat_map(|at| bp.iter().map(move |&tile| tile.wrapping_add(op.b.offset(at, 0))))
                .collect();
        }
        let rp = if self.in_place { cp.clone() } else { pointers(&mut rt) };
        let address = plan.kernel.address(isa).expect("the plan names a kernel");
        let _ready = isa.ready();
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
                &raw mut *wishes,
            );
        }
        let results = if self.in_place { &mut ct } else { &mut rt };
        let (a, b) = (self.factors(0, a), self.factors(1, b));
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

    /// The factors in a row of the grid as one, and those in a column.
    fn deep(&self, a: &[Matrix], b: &[Matrix]) -> Deep {
        let ((m, n, k), Grid { m: gm, n: gn, k: gk }) = (self.shape, self.grid);
        let [ea, eb, ..] = self.case.elems;
        let (k, gn, gk) = (k as usize, gn as usize, gk as usize);
        let rows = (0..gm as usize).map(|i| {
            Matrix::from_fn(ea, m, (k * gk) as u32, |row, col| a[i * gk + col / k].at(row, col % k))
        });
        let columns = (0..gn).map(|j| {
            Matrix::from_fn(eb, (k * gk) as u32, n, |row, col| b[row / k * gn + j].at(row % k, col))
        });
        Deep { a: rows.collect(), b: columns.collect() }
    }

    /// The numbers of the matrices of an operand. They are read once: each is in many products.
    fn factors(&self, operand: usize, matrices: &[Matrix]) -> Vec<Factor> {
        let (elem, signed) = (self.case.elems[operand], self.case.signed[operand]);
        let read = |matrix: &Matrix| Factor {
            cols: matrix.cols,
            numbers: matrix.bits.iter().map(|&bits| Number::read(elem, bits, signed)).collect(),
        };
        matrices.iter().map(read).collect()
    }

    /// The chain of steps, one by one; a relaxed one is a single step over all tiles.
    fn expected(
        &self,
        (a, b, c): (&[Factor], &[Factor], &Matrix),
        (i, j): (usize, usize),
        (row, col): (usize, usize),
    ) -> u64 {
        let [_, _, ec, er] = self.case.elems;
        let (gk, gn) = (self.grid.k as usize, self.grid.n as usize);
        let pairs: Vec<_> = (0..gk)
            .flat_map(|kt| (0..self.shape.2 as usize).map(move |k| (kt, k)))
            .map(|(kt, k)| (a[i * gk + kt].at(row, k), b[kt * gn + j].at(k, col)))
            .collect();
        let each = pairs.len() / if self.case.relaxed { 1 } else { gk };
        let start = (ec, c.at(row, col), self.case.signed[2]);
        let result = |bits| (er, bits, self.case.signed[3]);
        pairs.chunks(each).fold(start, |sum, pairs| result(self.step(pairs, sum))).1
    }

    /// Adds products to a number of a type, with or without a sign.
    fn step(&self, pairs: &[(Number, Number)], (ec, c, c_signed): (Elem, u64, bool)) -> u64 {
        let (er, r_signed) = (self.case.elems[3], self.case.signed[3]);
        let c = Number::read(ec, c, c_signed);
        let approximate: f64 = pairs.iter().map(|&(a, b)| a.real * b.real).sum();
        let approximate = approximate + c.real;
        if self.case.elems.iter().any(|elem| elem.is_float()) {
            return if er.is_float() { nearest(er, approximate) } else { truncate(er, approximate as i128) };
        }
        // Exact modulo 2^128, and so exact if it is small.
        let total =
            pairs.iter().map(|&(a, b)| a.whole.wrapping_mul(b.whole)).fold(c.whole, i128::wrapping_add);
        if !self.case.saturating {
            return truncate(er, total);
        }
        let bits = 8 * er.bytes() as u32;
        let (low, high) = if r_signed {
            (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
        } else {
            (0, (1_i128 << bits) - 1)
        };
        let far = 2.0_f64.powi(90);
        truncate(
            er,
            if approximate.abs() < far {
                total.clamp(low, high)
            } else if approximate > 0.0 {
                high
            } else {
                low
            },
        )
    }
}

/// A factor as it is loaded with its parts.
fn tile_with_parts(isa: Isa, layout: &TileLayout, matrix: &Matrix) -> Buffer {
    let bytes = layout.elem.bytes();
    let memory: Vec<u8> = matrix.bits.iter().flat_map(|bits| bits.to_le_bytes()[..bytes].to_vec()).collect();
    let mut tile = Buffer::new(isa.bytes_with_parts(layout).expect("it has parts"), 0x33);
    let (access, stride) = (Access::new(*layout, false), (matrix.cols * bytes) as i64);
    // SAFETY: there is room for the tile and its parts, and the memory holds all rows.
    unsafe {
        let load = isa.table().load_parts;
        load(&access, tile.ptr(), memory.as_ptr(), memory.len() as u64, 0, stride);
    }
    tile
}

const SHAPES: [(u32, u32, u32); 15] = [
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
    (48, 40, 24),
];

const GRIDS: [Grid; 6] = [
    Grid { m: 1, n: 1, k: 1 },
    Grid { m: 2, n: 2, k: 1 },
    Grid { m: 1, n: 3, k: 2 },
    Grid { m: 4, n: 4, k: 2 },
    Grid { m: 3, n: 5, k: 3 },
    Grid { m: 1, n: 7, k: 1 },
];

/// Whether checking a grid is not too much work.
fn is_light(shape: (u32, u32, u32), grid: Grid) -> bool {
    shape.0 * shape.1 * shape.2 * grid.m * grid.n * grid.k <= 150_000 || shape == (16, 16, 16)
}

/// Runs a case over all shapes and grids that are not too much work.
fn sweep(case: Case) {
    let mut random = Random(0x5eed ^ case.elems.iter().fold(0, |hash, &elem| hash * 31 + elem as u64));
    for isa in sets() {
        for shape in SHAPES {
            for grid in GRIDS.into_iter().filter(|grid| is_light(shape, *grid)) {
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
            sweep_some(Case::integers(elems, signed, saturating));
        }
    }
    sweep(Case::integers([Elem::I8, Elem::I8, Elem::I32, Elem::I32], [true; 4], false));
}

/// A few shapes only, for cases that come in many combinations.
fn sweep_some(case: Case) {
    let mut random = Random(0xabc);
    for isa in sets() {
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
        (Elem::I64, Elem::I64, Elem::I32, Elem::I16),
        (Elem::I32, Elem::I64, Elem::I64, Elem::I8),
    ] {
        for signed in [[false; 4], [true; 4], [true, false, true, false], [false, true, false, true]] {
            for saturating in [false, true] {
                let case = Case::integers([a, b, c, r], signed, saturating);
                sweep_some(case);
                sweep_some(Case { numbers: Numbers::Large, ..case });
            }
        }
    }
}

/// Sums far outside of 64 and of 128 bits, of products that each are.
#[test]
fn saturating_sums_are_exact() {
    let (u32_max, s32_max, s64_max) = (u64::from(u32::MAX), i32::MAX as u64, i64::MAX as u64);
    for (elem, signed, x, y, c, want) in [
        (Elem::I32, false, u32_max, u32_max, 0, u32_max),
        (Elem::I32, true, s32_max, s32_max, 0, s32_max),
        (Elem::I32, true, s32_max, 1 << 31, 5, 1 << 31),
        (Elem::I64, false, u64::MAX, u64::MAX, 1, u64::MAX),
        (Elem::I64, true, s64_max, s64_max, 1 << 63, s64_max),
        (Elem::I64, true, s64_max, 1 << 63, s64_max, 1 << 63),
    ] {
        for (isa, depth) in sets().into_iter().flat_map(|isa| [1, 16, 300, 40_000].map(|k| (isa, k))) {
            let case = Case::integers([elem; 4], [signed; 4], true);
            let run = Run { case, shape: (3, 5, depth), grid: Grid::ONE, in_place: false };
            let all = |bits, rows, cols| [Matrix::from_fn(elem, rows, cols, |_, _| bits)];
            let (a, b, c) = (all(x, 3, depth), all(y, depth, 5), all(c, 3, 5));
            assert_eq!(run.expected((&run.factors(0, &a), &run.factors(1, &b), &c[0]), (0, 0), (0, 0)), want);
            run.check_these(isa, &run.op(isa), (&a, &b, &c));
        }
    }
}

/// Sums of the narrow floats are rounded at the end of each step.
#[test]
fn narrow_sums_are_rounded_step_by_step() {
    for elem in [Elem::F16, Elem::BF16, Elem::E4M3, Elem::E5M2] {
        for factor in [Elem::F16, Elem::BF16] {
            let case = Case { numbers: Numbers::Large, ..Case::floats(factor, factor, elem, elem) };
            sweep(case);
            sweep_some(Case { elems: [factor, factor, Elem::F32, elem], ..case });
            sweep_some(Case { any_use: true, ..case });
        }
    }
}

/// So they are where a step is a part of deeper factors.
#[test]
fn parts_of_deeper_factors_are_steps() {
    let mut random = Random(19);
    let sums = [Elem::F16, Elem::BF16, Elem::F32].map(|sum| Case::floats(Elem::F16, Elem::F16, sum, sum));
    let others = [
        Case::floats(Elem::BF16, Elem::BF16, Elem::BF16, Elem::BF16),
        Case::floats(Elem::BF16, Elem::BF16, Elem::F32, Elem::F32),
        Case::floats(Elem::E4M3, Elem::F16, Elem::F16, Elem::F16),
        Case::floats(Elem::F64, Elem::F64, Elem::F64, Elem::F64),
    ];
    for case in sums.into_iter().chain(others) {
        for isa in sets().into_iter().chain(with_sums_of_f16()) {
            // The largest have as many elements as tiles with something behind them.
            for shape in SHAPES.into_iter().filter(|shape| shape.2 % 4 == 0) {
                let grids = GRIDS.into_iter().filter(|&grid| is_light(shape, grid));
                for grid in grids.chain([Grid { m: 1, n: 1, k: 3 }]) {
                    let case = Case { sliced: true, any_use: random.below(4) == 0, ..case };
                    Run { case, shape, grid, in_place: false }.check(isa, &mut random);
                }
            }
        }
    }
}

/// Relaxed sums of the common types are rounded once, at the end of the chain.
#[test]
fn relaxed_sums_are_rounded_at_the_end() {
    for elem in [Elem::F16, Elem::BF16, Elem::E4M3] {
        let case = Case::floats(Elem::F16, Elem::F16, elem, elem);
        sweep_some(Case { relaxed: true, numbers: Numbers::Large, ..case });
    }
}

/// The instruction sets that multiply f16 in f16, for programs in which they may.
fn with_sums_of_f16() -> impl Iterator<Item = Isa> {
    sets().into_iter().filter(|isa| isa.fp16()).map(Isa::for_sums_of_f16)
}

/// Sums of which all parts are f16 are exact where they are made of f16, too.
#[test]
fn f16_in_f16() {
    let mut random = Random(17);
    let case = Case::floats(Elem::F16, Elem::F16, Elem::F16, Elem::F16);
    for isa in with_sums_of_f16() {
        for (relaxed, any_use) in [(false, false), (true, false), (false, true)] {
            for shape in SHAPES {
                for grid in GRIDS.into_iter().filter(|grid| is_light(shape, *grid)) {
                    let case = Case { relaxed, any_use, ..case };
                    let id = Run { case, shape, grid, in_place: relaxed }.check(isa, &mut random);
                    let fast = [KernelId::MUL_ADD_F16, KernelId::MUL_ADD_F16_HALF].contains(&id);
                    assert_eq!(fast, !any_use, "{isa} {shape:?}");
                }
            }
        }
        // Other sums are right there, though nobody asks for them.
        let case = Case::floats(Elem::F16, Elem::F16, Elem::F32, Elem::F32);
        Run { case, shape: (16, 16, 16), grid: GRIDS[3], in_place: false }.check(isa, &mut random);
    }
}

/// Values of any size: within the bound of summation in f16, whatever the order.
#[test]
fn f16_error_in_f16_is_bounded() {
    let mut random = Random(23);
    let (m, n, k) = (16, 32, 48);
    let mut draw = |_, _| nearest(Elem::F16, ((random.next() >> 40) as f64 / 2.0_f64.powi(24) - 0.5) * 8.0);
    let mut matrix = |rows, cols| Matrix::from_fn(Elem::F16, rows, cols, &mut draw);
    let (a, b, c) = (matrix(m, k), matrix(k, n), matrix(m, n));
    for isa in with_sums_of_f16() {
        let case = Case::floats(Elem::F16, Elem::F16, Elem::F16, Elem::F16);
        let op = Run { case, shape: (m, n, k), grid: Grid::ONE, in_place: false }.op(isa);
        let r = product(isa, &op, (&a, &b, &c));
        for (row, col) in (0..m as usize).flat_map(|row| (0..n as usize).map(move |col| (row, col))) {
            let value = |matrix: &Matrix, row, col| float(Elem::F16, matrix.at(row, col));
            let products = (0..k as usize).map(|l| value(&a, row, l) * value(&b, l, col));
            let terms: Vec<f64> = products.chain([value(&c, row, col)]).collect();
            let (exact, magnitude) = (terms.iter().sum::<f64>(), terms.iter().map(|x| x.abs()).sum::<f64>());
            let bound = f64::from(k + 2) * 2.0_f64.powi(-11) * magnitude;
            assert!((value(&r, row, col) - exact).abs() <= bound, "{isa}");
        }
    }
}

/// Denormals of f16 are kept, and zeros have the sign that they have in f32.
#[test]
fn denormals_of_f16_are_kept() {
    let sets = sets().into_iter().chain(with_sums_of_f16());
    for isa in sets {
        let case = Case::floats(Elem::F16, Elem::F16, Elem::F16, Elem::F16);
        let op = Run { case, shape: (16, 16, 8), grid: Grid::ONE, in_place: false }.op(isa);
        // The least number times one and twice, the least normal one halved, half of the least one, -0 + -0 * 0.
        for (x, y, c, want) in [
            (0x0001, 0x3c00, 0, 0x0001),
            (0x0001, 0x4000, 0x0001, 0x0003),
            (0x0400, 0x3800, 0, 0x0200),
            (0x0001, 0x3800, 0, 0),
            (0x8001, 0x3c00, 0x0400, 0x03ff),
        ] {
            assert_eq!(one_product(isa, &op, (x, y, c)), want, "{isa} {x:#x} * {y:#x} + {c:#x}");
        }
        let zeros = |rows, cols, bits| Matrix::from_fn(Elem::F16, rows, cols, |_, _| bits);
        let r = product(isa, &op, (&zeros(16, 8, 0x8000), &zeros(8, 16, 0), &zeros(16, 16, 0x8000)));
        assert!(r.bits.iter().all(|&bits| bits == 0x8000), "{isa}");
    }
}

/// The chain of which the sum overflows on the way: 60000 + 60000 - 60000 - 60000.
#[test]
fn sums_that_overflow_on_the_way_stay_infinite() {
    let matrix = |x: f64| {
        let at = |row: usize, col: usize| if row == 3 && col < 9 { x } else { 0.0 };
        Matrix::from_fn(Elem::F16, 16, 16, |row, col| nearest(Elem::F16, at(row, col)))
    };
    let one = Matrix::from_fn(Elem::F16, 16, 16, |row, col| if row == col { 0x3c00 } else { 0 });
    let (a, b) = ([60000.0, 60000.0, -60000.0, -60000.0].map(matrix), [(); 4].map(|()| one.clone()));
    for (relaxed, want) in [(false, f64::INFINITY), (true, 0.0)] {
        let case = Case { relaxed, ..Case::floats(Elem::F16, Elem::F16, Elem::F16, Elem::F16) };
        let run = Run { case, shape: (16, 16, 16), grid: Grid { m: 1, n: 1, k: 4 }, in_place: false };
        let c = [matrix(0.0)];
        assert_eq!(
            run.expected((&run.factors(0, &a), &run.factors(1, &b), &c[0]), (0, 0), (3, 5)),
            nearest(Elem::F16, want)
        );
        sets().into_iter().chain(with_sums_of_f16().filter(|_| !relaxed)).for_each(|isa| {
            run.check_these(isa, &run.op(isa), (&a, &b, &c));
        });
    }
}

/// Denormal factors, addends and sums of products of bf16 are zeros, but where they are summed in f64.
#[test]
fn denormals_of_bf16_are_zeros() {
    const LEAST: f64 = f32::MIN_POSITIVE as f64;
    // An element of A, the one of B that it meets, the addend as an f32, and the sum.
    let cases = [
        (0x0040, 0x7f00, 0, 0.0),
        (0x7f00, 0x0040, 0, 0.0),
        (0x8040, 0x7f00, 0x3f80_0000, 1.0),
        // 2^-63 * 2^-64, and the least normal number as a product.
        (0x2000, 0x1f80, 0, 0.0),
        (0x2000, 0x2000, 0, LEAST),
        (0, 0x3f80, 0x0040_0000, 0.0),
        (0, 0x3f80, 0x0080_0000, LEAST),
        // The difference of the least normal number and one near it.
        (0x3f80, 0x8080, 0x0081_0000, 0.0),
    ];
    for isa in sets() {
        for (ec, any_use) in [
            (Elem::F32, false),
            (Elem::F32, true),
            (Elem::BF16, false),
            (Elem::BF16, true),
            (Elem::F64, false),
        ] {
            let case = Case { any_use, ..Case::floats(Elem::BF16, Elem::BF16, ec, ec) };
            let run = Run { case, shape: (16, 16, 8), grid: Grid::ONE, in_place: false };
            for (x, y, c, want) in cases {
                let kept = float(Elem::BF16, x) * float(Elem::BF16, y) + float(Elem::F32, c);
                let want = nearest(ec, if ec == Elem::F64 { kept } else { want });
                let got = one_product(isa, &run.op(isa), (x, y, nearest(ec, float(Elem::F32, c))));
                assert!(same(ec, got, want), "{isa} {ec} {x:#x} * {y:#x} + {c:#x}: {got:#x}, not {want:#x}");
            }
        }
    }
}

/// An element of a sum that has these two factors, no others, and this addend.
fn one_product(isa: Isa, op: &MulAdd, (x, y, c): (u64, u64, u64)) -> u64 {
    let only = |layout: &TileLayout, bits, place| {
        let at = |row, col| if (row, col) == place { bits } else { 0 };
        Matrix::from_fn(layout.elem, layout.rows, layout.cols, at)
    };
    let (a, b, c) = (only(&op.a, x, (2, 5)), only(&op.b, y, (5, 7)), only(&op.c, c, (2, 7)));
    product(isa, op, (&a, &b, &c)).at(2, 7)
}

/// A single step.
fn product(isa: Isa, op: &MulAdd, (a, b, c): (&Matrix, &Matrix, &Matrix)) -> Matrix {
    let plan = isa.plan_mul_add(op, Grid::ONE);
    let (mut a, mut b, mut c) = (a.to_tile(&op.a), b.to_tile(&op.b), c.to_tile(&op.c));
    let (mut r, mut scratch) = (Buffer::new(op.r.bytes(), 0), Buffer::new(plan.scratch_bytes, 0));
    let (ap, bp, cp, rp) = (a.ptr().cast_const(), b.ptr().cast_const(), c.ptr().cast_const(), r.ptr());
    let address = plan.kernel.address(isa).expect("the plan names a kernel");
    let _ready = isa.ready();
    // SAFETY: the plan names a multiplication; the operands are as planned.
    unsafe {
        let kernel = std::mem::transmute::<*const (), MulAddFn>(address);
        kernel(&plan.params, &ap, &bp, &cp, &rp, scratch.ptr(), std::ptr::null_mut());
    }
    Matrix::from_tile(&op.r, &mut r)
}

#[test]
fn matrices_of_any_use() {
    for elem in [Elem::F16, Elem::F32, Elem::BF16, Elem::E4M3] {
        sweep_some(Case { any_use: true, ..Case::floats(elem, elem, Elem::F32, Elem::F32) });
    }
    for signed in [[true; 4], [false; 4], [true, false, true, true], [false, true, true, true]] {
        let elems = [Elem::I8, Elem::I8, Elem::I32, Elem::I32];
        sweep_some(Case { any_use: true, ..Case::integers(elems, signed, false) });
    }
}

#[test]
fn large_tiles() {
    let mut random = Random(9);
    let case = Case::floats(Elem::F16, Elem::F16, Elem::F32, Elem::F32);
    for isa in sets() {
        for shape in [(128, 128, 64), (1, 512, 16), (200, 3, 70), (512, 16, 16)] {
            Run { case, shape, grid: Grid::ONE, in_place: true }.check(isa, &mut random);
        }
    }
}

#[test]
fn common_types_have_fast_kernels() {
    let mut random = Random(1);
    for isa in sets() {
        for (elem, accumulator) in
            [(Elem::F16, Elem::F32), (Elem::F32, Elem::F32), (Elem::BF16, Elem::F32), (Elem::I8, Elem::I32)]
        {
            for any_use in [false, true] {
                let elems = [elem, elem, accumulator, accumulator];
                let case = Case { any_use, ..Case::integers(elems, [true; 4], false) };
                let run = Run { case, shape: (16, 16, 16), grid: Grid::ONE, in_place: false };
                assert_ne!(run.check(isa, &mut random), KernelId::MUL_ADD_GENERAL, "{isa} {case:?}");
            }
        }
    }
}

/// Sums of 32 bits of integers of 16 and 32 bits, of all signs, in all shapes.
#[test]
fn words_of_all_signs() {
    let mut random = Random(29);
    for elem in [Elem::I16, Elem::I32] {
        for signed in [[false; 4], [true; 4], [true, false, true, false], [false, true, false, true]] {
            let case = Case::integers([elem, elem, Elem::I32, Elem::I32], signed, false);
            sweep(case);
            for isa in sets() {
                let run = Run { case, shape: (16, 8, 16), grid: GRIDS[3], in_place: true };
                assert_ne!(run.check(isa, &mut random), KernelId::MUL_ADD_GENERAL, "{isa} {case:?}");
            }
        }
    }
}

#[test]
fn matrix_registers_are_used_where_they_are() {
    let mut random = Random(1);
    for isa in sets().into_iter().filter(|isa| isa.amx()) {
        for (elem, accumulator, id) in [
            (Elem::BF16, Elem::F32, KernelId::MUL_ADD_AMX_BF16),
            (Elem::BF16, Elem::BF16, KernelId::MUL_ADD_AMX_BF16),
            (Elem::I8, Elem::I32, KernelId::MUL_ADD_AMX_I8),
        ] {
            let case = Case::integers([elem, elem, accumulator, accumulator], [true; 4], false);
            for (shape, grid) in [
                ((64, 64, 64), Grid::ONE),
                ((16, 16, 16), Grid { m: 4, n: 4, k: 4 }),
                ((32, 32, 16), Grid { m: 2, n: 2, k: 3 }),
                ((16, 8, 32), Grid { m: 3, n: 3, k: 5 }),
                ((8, 24, 48), Grid { m: 3, n: 1, k: 4 }),
            ] {
                assert_eq!(
                    Run { case, shape, grid, in_place: true }.check(isa, &mut random),
                    id,
                    "{shape:?}"
                );
            }
        }
    }
}

/// Shapes and grids of which AMX multiplies factors that are the sum of two bf16, and the kernel.
const SPLIT: [((u32, u32, u32), Grid, KernelId); 7] = [
    ((64, 64, 64), Grid::ONE, KernelId::MUL_ADD_AMX_SPLIT),
    ((16, 96, 32), Grid { m: 7, n: 1, k: 3 }, KernelId::MUL_ADD_AMX_SPLIT),
    ((16, 16, 16), Grid { m: 4, n: 4, k: 3 }, KernelId::MUL_ADD_AMX_SPLIT),
    ((16, 16, 16), Grid { m: 5, n: 5, k: 4 }, KernelId::MUL_ADD_AMX_SPLIT),
    ((8, 24, 48), Grid { m: 11, n: 3, k: 1 }, KernelId::MUL_ADD_AMX_SPLIT),
    ((16, 8, 32), Grid { m: 5, n: 9, k: 2 }, KernelId::MUL_ADD_AMX_SPLIT_HALF),
    ((8, 8, 16), Grid { m: 8, n: 9, k: 2 }, KernelId::MUL_ADD_AMX_SPLIT_HALF),
];

/// All digits of f16 count, also where blocks are put together from parts of tiles and end within them.
#[test]
fn factors_are_split_for_matrix_registers() {
    let mut random = Random(5);
    for isa in sets().into_iter().filter(|isa| isa.amx()) {
        for (factors, numbers) in [
            ([Elem::F16, Elem::F16], Numbers::Long),
            ([Elem::F16, Elem::E5M2], Numbers::Any),
            ([Elem::E4M3, Elem::E5M2], Numbers::Any),
        ] {
            let elems = [factors[0], factors[1], Elem::F32, Elem::F32];
            let case = Case { numbers, ..Case::integers(elems, [false; 4], false) };
            for (shape, grid, id) in SPLIT {
                for in_place in [false, true] {
                    let run = Run { case, shape, grid, in_place };
                    assert_eq!(run.check(isa, &mut random), id, "{factors:?} {shape:?}");
                }
                check_parts(isa, case, (shape, grid, id), &mut random);
            }
        }
    }
}

/// The same where one factor or both were split when they were loaded, if they consist of whole blocks.
fn check_parts(
    isa: Isa,
    case: Case,
    (shape, grid, id): ((u32, u32, u32), Grid, KernelId),
    random: &mut Random,
) {
    let run = Run { case, shape, grid, in_place: false };
    let (op, (m, n, k)) = (run.op(isa), shape);
    for [a_parts, b_parts] in [[true, true], [true, false], [false, true]] {
        let op = MulAdd { a_parts, b_parts, ..op };
        let has_parts = |layout, wanted: bool| !wanted || isa.bytes_with_parts(layout).is_some();
        if !has_parts(&op.a, a_parts) || !has_parts(&op.b, b_parts) {
            continue;
        }
        let of = |elem, size, count, random: &mut Random| operand(elem, size, count, case.numbers, random);
        let mut a = of(case.elems[0], (m, k), grid.m * grid.k, random);
        let b = of(case.elems[1], (k, n), grid.k * grid.n, random);
        let c = of(Elem::F32, (m, n), grid.m * grid.n, random);
        assert_eq!(run.check_these(isa, &op, (&a, &b, &c)), id, "{case:?} {shape:?}");
        a[0].bits[7] = nearest(case.elems[0], f64::NAN);
        run.check_these(isa, &op, (&a, &b, &c));
    }
}

/// What has no parts, in either factor and beside zeros.
#[test]
fn infinities_are_kept_where_factors_are_split() {
    let case = Case::floats(Elem::F16, Elem::F16, Elem::F32, Elem::F32);
    for isa in sets().into_iter().filter(|isa| isa.amx()) {
        for (shape, grid, id) in SPLIT {
            let ((m, n, k), run) = (shape, Run { case, shape, grid, in_place: false });
            let op = run.op(isa);
            let all = |elem, (rows, cols), count: u32, x: f64| -> Vec<Matrix> {
                (0..count).map(|_| Matrix::from_fn(elem, rows, cols, |_, _| nearest(elem, x))).collect()
            };
            let operands = |a, b, c| {
                let a = all(Elem::F16, (m, k), grid.m * grid.k, a);
                let b = all(Elem::F16, (k, n), grid.k * grid.n, b);
                (a, b, all(Elem::F32, (m, n), grid.m * grid.n, c))
            };
            for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
                let (mut a, mut b, c) = operands(1.0, 2.0, 3.0);
                a.last_mut().unwrap().bits[5] = nearest(Elem::F16, special);
                assert_eq!(run.check_these(isa, &op, (&a, &b, &c)), id, "{shape:?}");
                // Times a zero, too.
                b.last_mut().unwrap().bits.fill(nearest(Elem::F16, 0.0));
                run.check_these(isa, &op, (&a, &b, &c));
                let (a, mut b, c) = operands(1.0, 2.0, 3.0);
                b.first_mut().unwrap().bits[3] = nearest(Elem::F16, special);
                run.check_these(isa, &op, (&a, &b, &c));
            }
        }
    }
}

/// Values of any size: within the bound of summation in f32 plus one rounding.
#[test]
fn f32_error_is_bounded() {
    let mut random = Random(3);
    let (m, n, k) = (16, 16, 64);
    for isa in sets() {
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
            relaxed: false,
            sliced: false,
            a_parts: false,
            b_parts: false,
        };
        let plan = isa.plan_mul_add(&op, Grid::ONE);
        let (mut at, mut bt, mut ct) = (a.to_tile(&op.a), b.to_tile(&op.b), c.to_tile(&op.c));
        let mut rt = Buffer::new(op.r.bytes(), 0);
        let (ap, bp, cp, rp) = (at.ptr(), bt.ptr(), ct.ptr(), rt.ptr());
        // SAFETY: the operands are as planned.
        unsafe {
            let (ap, bp, cp) = (ap.cast_const(), bp.cast_const(), cp.cast_const());
            (isa.table().mul_add_f32)(
                &plan.params,
                &ap,
                &bp,
                &cp,
                &rp,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            );
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
