//! Operations on the vectors of lanes, on every instruction set, against sums of one element after the other.

use crate::common::{Buffer, Random, float, integer, nearest, same, sets, truncate};
use phalanx_kernels::{Elem, Isa, Piece, VecMatMul, VecMatMulFn, VecOuterAdd, VecOuterAddFn};

const SIZES: [u32; 10] = [1, 2, 3, 5, 8, 31, 32, 64, 65, 128];
const FLOATS: [Elem; 5] = [Elem::F16, Elem::F32, Elem::BF16, Elem::E4M3, Elem::E5M2];

/// A vector for each lane: element `i` of lane `l` is `bits[i * lanes + l]`.
struct Vectors {
    elem: Elem,
    lanes: usize,
    bits: Vec<u64>,
}

impl Vectors {
    fn new(elem: Elem, count: u32, lanes: u32, mut f: impl FnMut() -> u64) -> Self {
        let bits = (0..count * lanes).map(|_| truncate(elem, f().into())).collect();
        Self { elem, lanes: lanes as usize, bits }
    }

    fn at(&self, element: usize, lane: usize) -> u64 {
        self.bits[element * self.lanes + lane]
    }

    fn to_memory(&self) -> Buffer {
        let size = self.elem.bytes();
        let mut memory = Buffer::new(self.bits.len() * size, 0);
        for (bytes, bits) in memory.bytes().chunks_mut(size).zip(&self.bits) {
            bytes.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        memory
    }

    fn from_memory(elem: Elem, lanes: u32, memory: &mut Buffer) -> Self {
        let bits = memory.bytes().chunks(elem.bytes()).map(bits_of).collect();
        Self { elem, lanes: lanes as usize, bits }
    }
}

fn bits_of(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

/// An object, and where in it each lane has something.
struct Object {
    memory: Buffer,
    /// The bytes before this are outside of it.
    size: u64,
    offsets: Vec<i64>,
    /// Whether it is known by addresses alone.
    is_global: bool,
}

/// How the lanes' places differ.
#[derive(Clone, Copy, Debug)]
enum Sharing {
    /// All have one.
    One,
    /// As many lanes in a row as this share one.
    Runs(usize),
    /// As many as this are dealt out in turn.
    Turns(usize),
}

impl Sharing {
    fn of(self, lane: usize) -> usize {
        match self {
            Self::One => 0,
            Self::Runs(n) => lane / n,
            Self::Turns(n) => lane % n,
        }
    }
}

impl Object {
    /// Room for `bytes` bytes for each set of lanes, filled by `fill`; elements are aligned to `align`.
    fn new(
        bytes: usize,
        lanes: usize,
        (sharing, align): (Sharing, usize),
        random: &mut Random,
        mut fill: impl FnMut(&mut Random) -> u8,
    ) -> Self {
        let sets = (0..lanes).map(|l| sharing.of(l)).max().unwrap_or(0) + 1;
        let start = random.below(3) as usize * align;
        let step = (bytes + random.below(3) as usize * align).next_multiple_of(align);
        let mut memory = Buffer::new(start + sets * step, 0);
        memory.bytes().iter_mut().for_each(|byte| *byte = fill(random));
        let offsets = (0..lanes).map(|lane| (start + sharing.of(lane) * step) as i64).collect();
        let size = memory.bytes().len() as u64;
        Self { memory, size, offsets, is_global: false }
    }

    /// Moves the bounds so that something is outside.
    fn cut(&mut self, by: i64) {
        self.size = self.size.saturating_sub(by.unsigned_abs());
        if by < 0 {
            self.offsets.iter_mut().for_each(|o| *o += by);
        }
    }

    /// Element of so many bytes at a place; zero outside.
    fn read(&mut self, lane: usize, at: i64, size: usize) -> u64 {
        let start = self.offsets[lane] + at;
        if start < 0 || start + size as i64 > self.size as i64 {
            return 0;
        }
        bits_of(&self.memory.bytes()[start as usize..][..size])
    }

    /// Base, size and offset of each lane, as the places want them.
    fn pieces(&mut self) -> [Vec<u64>; 3] {
        let base = self.memory.ptr().expose_provenance() as u64;
        if self.is_global {
            let addresses = self.offsets.iter().map(|&o| base.wrapping_add_signed(o)).collect();
            return [vec![0], vec![u64::MAX], addresses];
        }
        [vec![base], vec![self.size], self.offsets.iter().map(|&o| o as u64).collect()]
    }
}

/// The places of a call, and which pieces differ.
fn places(lanes: u32, mask: u128, pieces: &[(Piece, &[u64])]) -> (Vec<u64>, u8) {
    let mut words = vec![0xdead; Piece::words(lanes) as usize];
    (words[0], words[1]) = (mask as u64, (mask >> 64) as u64);
    let mut varying = 0;
    for &(piece, values) in pieces {
        let differ = values.iter().any(|&v| v != values[0]);
        if differ {
            varying |= piece.bit();
        }
        let given = if differ { values } else { &values[..1] };
        words[piece.word(lanes) as usize..][..given.len()].copy_from_slice(given);
    }
    (words, varying)
}

#[derive(Clone, Copy, Debug)]
struct Case {
    op: VecMatMul,
    mask: u128,
    sharing: Sharing,
    /// Bytes by which the matrix and the bias are outside of their objects.
    cut: i64,
    is_global: bool,
    /// Whether the result takes the place of the vector.
    in_place: bool,
}

fn saturated(elem: Elem, x: f64) -> u64 {
    let max = match elem {
        Elem::E4M3 => 448.0,
        Elem::E5M2 => 57344.0,
        _ => f64::INFINITY,
    };
    nearest(elem, if x.is_nan() { x } else { x.clamp(-max, max) })
}

/// The value that an element of the vector is multiplied as.
fn interpreted(op: &VecMatMul, input: &Vectors, k: usize, lane: usize) -> f64 {
    if op.packed {
        let byte = input.at(k / 4, lane) >> (8 * (k % 4)) & 0xff;
        return integer(Elem::I8, byte, op.interpretation_signed) as f64;
    }
    let bits = input.at(k, lane);
    if op.interpretation.is_float() {
        return float(
            op.interpretation,
            match op.input.is_float() {
                true => saturated(op.interpretation, float(op.input, bits)),
                false => nearest(op.interpretation, integer(op.input, bits, op.input_signed) as f64),
            },
        );
    }
    let (least, most) = if op.interpretation_signed { (-128, 127) } else { (0, 255) };
    let value = match op.input.is_float() {
        true => float(op.input, bits).round_ties_even() as i128,
        false => integer(op.input, bits, op.input_signed),
    };
    value.clamp(least, most) as f64
}

/// What a number of the tests is: small, so that sums are exact in f32.
fn small(elem: Elem, random: &mut Random) -> u64 {
    if elem.is_float() { nearest(elem, (random.below(9) as f64 - 4.0) / 2.0) } else { random.next() }
}

fn input_number(op: &VecMatMul, random: &mut Random) -> u64 {
    if op.interpretation.is_float() && !op.input.is_float() {
        return random.below(9).wrapping_sub(4 * u64::from(op.input_signed));
    }
    if op.interpretation.is_float() {
        let fine = op.k <= 128 && random.below(4) == 0;
        return if fine {
            nearest(op.input, (random.below(1 << 14) as f64 - 8192.0) / 1024.0)
        } else {
            small(op.input, random)
        };
    }
    if op.input.is_float() {
        let edges = [f64::NAN, f64::INFINITY, -1e30, 127.5, 126.5, -128.5, 255.5, 0.5, -0.5, 1e-40];
        let any = (random.below(1200) as f64 - 600.0) / 2.0;
        return nearest(op.input, if random.below(4) == 0 { random.pick(&edges) } else { any });
    }
    // Few bits now and then, so that not all of the wide ones saturate.
    let bits = random.next();
    if random.below(2) == 0 { bits } else { ((bits as i64) << 54 >> 54) as u64 }
}

impl Case {
    fn check(&self, isa: Isa, random: &mut Random) {
        let Self { op, .. } = self;
        let (m, k, lanes) = (op.m as usize, op.k as usize, op.lanes as usize);
        let size = op.matrix.bytes();
        let (lines, len) = if op.columns { (k, m) } else { (m, k) };
        let stride = len * size + random.below(3) as usize * size;
        let bytes = stride * (lines - 1) + len * size;
        let matrix_elem = op.matrix;
        let elements = move |elem: Elem| {
            // Byte by byte from whole elements, at any alignment: wide ones are written again below.
            move |random: &mut Random| if elem.bytes() == 1 { small(elem, random) as u8 } else { 0 }
        };
        let mut matrix = Object::new(bytes, lanes, (self.sharing, size), random, elements(matrix_elem));
        fill(&mut matrix, op.matrix, random);
        let bias_elem = op.bias.unwrap_or(Elem::F32);
        let bias_bytes = m * bias_elem.bytes();
        let bias_at = (self.sharing, bias_elem.bytes());
        let mut bias = Object::new(bias_bytes, lanes, bias_at, random, elements(bias_elem));
        fill(&mut bias, bias_elem, random);
        for object in [&mut matrix, &mut bias] {
            object.is_global = self.is_global;
            object.cut(self.cut);
        }
        let count = if op.packed { op.k.div_ceil(4) + 1 } else { op.k };
        let input = Vectors::new(op.input, count, op.lanes, || input_number(op, random));
        let mut input_memory = input.to_memory();
        let mut result_memory = if self.in_place {
            input.to_memory()
        } else {
            Vectors::new(op.result, op.m, op.lanes, || random.next()).to_memory()
        };
        let before = Vectors::from_memory(op.result, op.lanes, &mut result_memory);

        let ([mb, ms, mo], [bb, bs, bo]) = (matrix.pieces(), bias.pieces());
        let strides = [stride as u64];
        let (words, varying) = places(
            op.lanes,
            self.mask,
            &[
                (Piece::MatrixBase, &mb),
                (Piece::MatrixSize, &ms),
                (Piece::MatrixOffset, &mo),
                (Piece::Stride, &strides),
                (Piece::BiasBase, &bb),
                (Piece::BiasSize, &bs),
                (Piece::BiasOffset, &bo),
            ],
        );
        let plan = isa.plan_vec_mat_mul(&VecMatMul { varying, ..*op });
        let mut scratch = Buffer::new(plan.scratch_bytes, 0xff);
        let address = plan.kernel.address(isa).expect("the plan names a kernel");
        let to = result_memory.ptr();
        let from = if self.in_place { to.cast_const() } else { input_memory.ptr() };
        // SAFETY: the plan names such a kernel; the operands are as planned.
        unsafe {
            let kernel = std::mem::transmute::<*const (), VecMatMulFn>(address);
            kernel(&plan.params, to, from, words.as_ptr(), scratch.ptr());
        }
        let after = Vectors::from_memory(op.result, op.lanes, &mut result_memory);
        for lane in 0..lanes {
            let xs: Vec<f64> = (0..k).map(|i| interpreted(op, &input, i, lane)).collect();
            for row in 0..m {
                let want = if self.mask >> lane & 1 == 0 {
                    before.at(row, lane)
                } else {
                    let step = if op.columns { (size, stride) } else { (stride, size) };
                    let element = |i: usize| (row * step.0 + i * step.1) as i64;
                    let read =
                        |i: usize| number(op.matrix, matrix.read(lane, element(i), size), op.matrix_signed);
                    let addend = bias.read(lane, (row * bias_elem.bytes()) as i64, bias_elem.bytes());
                    let addend = if op.bias.is_some() { number(bias_elem, addend, true) } else { 0.0 };
                    let mut read = read;
                    let sum = xs.iter().enumerate().fold(addend, |sum, (i, x)| sum + read(i) * x);
                    if op.result.is_float() {
                        nearest(op.result, sum + 0.0)
                    } else {
                        truncate(op.result, sum as i128)
                    }
                };
                let got = after.at(row, lane);
                assert!(
                    same(op.result, got, want),
                    "{isa} {} {self:?}: row {row}, lane {lane} is {got:#x}, expected {want:#x}",
                    plan.kernel.name()
                );
            }
        }
    }
}

fn number(elem: Elem, bits: u64, signed: bool) -> f64 {
    if elem.is_float() { float(elem, bits) } else { integer(elem, bits, signed) as f64 }
}

/// Fills an object with numbers.
fn fill(object: &mut Object, elem: Elem, random: &mut Random) {
    let size = elem.bytes();
    for bytes in object.memory.bytes().chunks_exact_mut(size) {
        bytes.copy_from_slice(&small(elem, random).to_le_bytes()[..size]);
    }
}

fn floats(
    input: (Elem, bool),
    interpretation: Elem,
    matrix: Elem,
    bias: Option<Elem>,
    result: Elem,
) -> VecMatMul {
    VecMatMul {
        lanes: 32,
        m: 1,
        k: 1,
        input: input.0,
        input_signed: input.1,
        packed: false,
        interpretation,
        interpretation_signed: false,
        matrix,
        matrix_signed: false,
        columns: false,
        bias,
        result,
        varying: 0,
    }
}

fn integers(input: (Elem, bool), signed: (bool, bool), has_bias: bool, packed: bool) -> VecMatMul {
    VecMatMul {
        packed,
        interpretation_signed: signed.0,
        matrix_signed: signed.1,
        ..floats(input, Elem::I8, Elem::I8, has_bias.then_some(Elem::I32), Elem::I32)
    }
}

/// Sizes, lanes, masks and places, at random.
fn vary(mut op: VecMatMul, random: &mut Random) -> Case {
    op.lanes = 4 << random.below(6);
    (op.m, op.k) = (random.pick(&SIZES), random.pick(&SIZES));
    while op.m * op.k * op.lanes > 1 << 16 {
        (op.m, op.k) = (random.pick(&SIZES), random.pick(&SIZES));
        op.lanes = 4 << random.below(6);
    }
    op.columns = random.below(2) == 0;
    let all = u128::MAX >> (128 - op.lanes);
    let any = u128::from(random.next()) | u128::from(random.next()) << 64;
    let one = 1 << random.below(op.lanes.into());
    let mask = random.pick(&[all, all, all >> (op.lanes / 4), any & all, one, 0]);
    let n = 1 + random.below(op.lanes.into()) as usize;
    let sharing =
        random.pick(&[Sharing::One, Sharing::One, Sharing::Runs(n), Sharing::Runs(5), Sharing::Turns(n)]);
    // Floats are cut between elements only: other bits may be of any magnitude.
    let cut = random.pick(&[0, 0, 0, 1, -1, 7, -6, 40, -64]) * if op.result.is_float() { 4 } else { 1 };
    let is_global = cut == 0 && random.below(2) == 0;
    let in_place = op.input == op.result && !op.packed && op.m == op.k && random.below(2) == 0;
    Case { op, mask, sharing, cut, is_global, in_place }
}

#[test]
fn matrices_of_floats() {
    let mut random = Random(1);
    let inputs =
        [(Elem::F16, true), (Elem::F32, true), (Elem::I8, true), (Elem::I32, true), (Elem::I32, false)];
    for isa in sets() {
        for input in inputs {
            for interpretation in FLOATS {
                for matrix in FLOATS {
                    for result in [Elem::F16, Elem::F32] {
                        let bias = random.pick(&[None, Some(Elem::F16), Some(Elem::F32), Some(Elem::BF16)]);
                        let op = floats(input, interpretation, matrix, bias, result);
                        vary(op, &mut random).check(isa, &mut random);
                    }
                }
            }
        }
    }
}

#[test]
fn matrices_of_integers() {
    let mut random = Random(2);
    let inputs = [Elem::F16, Elem::F32, Elem::I8, Elem::I16, Elem::I32, Elem::I64];
    for isa in sets() {
        for input in inputs.map(|e| (e, false)).into_iter().chain([(Elem::I32, true)]) {
            for flags in 0..32 {
                let bit = |i: u32| flags >> i & 1 == 1;
                let op = integers((input.0, bit(0)), (bit(1), bit(2)), bit(3), input.1);
                vary(op, &mut random).check(isa, &mut random);
            }
        }
    }
}

#[test]
fn the_common_products_of_all_sizes() {
    let mut random = Random(3);
    let half = floats((Elem::F16, true), Elem::F16, Elem::F16, Some(Elem::F16), Elem::F16);
    let single = floats((Elem::F32, true), Elem::F32, Elem::F32, None, Elem::F32);
    let bytes = integers((Elem::I8, true), (true, true), true, false);
    let packed = integers((Elem::I32, true), (true, true), true, true);
    for isa in sets() {
        for op in [half, single, bytes, packed] {
            for (m, k) in SIZES.iter().flat_map(|&m| SIZES.map(|k| (m, k))) {
                let case = vary(op, &mut random);
                let lanes = if m * k > 1 << 12 { 8 } else { 32 };
                let op = VecMatMul { m, k, lanes, ..case.op };
                let mask = u128::MAX >> (128 - lanes);
                let in_place = op.input == op.result && !op.packed && m == k;
                Case { op, mask, sharing: Sharing::One, cut: 0, is_global: false, in_place }
                    .check(isa, &mut random);
            }
        }
    }
}

#[test]
fn large_matrices_are_done_block_by_block() {
    let mut random = Random(4);
    let half = floats((Elem::F16, true), Elem::F16, Elem::F16, Some(Elem::F16), Elem::F16);
    let kept = floats((Elem::F16, true), Elem::F16, Elem::F32, None, Elem::F32);
    let bytes = integers((Elem::I8, true), (true, true), true, false);
    for isa in sets() {
        for op in [half, kept, bytes] {
            for (m, k) in [(1024, 3), (70, 1024), (257, 130)] {
                for columns in [false, true] {
                    let op = VecMatMul { m, k, lanes: 4, columns, ..op };
                    let case = Case {
                        op,
                        mask: 0xf,
                        sharing: Sharing::Turns(2),
                        cut: 12,
                        is_global: false,
                        in_place: false,
                    };
                    case.check(isa, &mut random);
                }
            }
        }
    }
}

/// Adds the outer products of some lanes on several threads, each lane's `times` times, and gives the matrices.
struct Outer {
    op: VecOuterAdd,
    mask: u128,
    sharing: Sharing,
    cut: i64,
    is_global: bool,
    threads: usize,
    misaligned: usize,
}

impl Outer {
    fn check(&self, isa: Isa, random: &mut Random) {
        let op = &self.op;
        let (m, n, lanes) = (op.m as usize, op.n as usize, op.lanes as usize);
        let size = op.matrix.bytes();
        let stride = (n + random.below(3) as usize) * size;
        let bytes = stride * (m - 1) + n * size;
        let place = (self.sharing, size);
        let mut matrix = Object::new(bytes, lanes, place, random, |_| 0);
        fill(&mut matrix, op.matrix, random);
        matrix.is_global = self.is_global;
        matrix.cut(self.cut);
        matrix.offsets.iter_mut().for_each(|o| *o += self.misaligned as i64);
        let a = Vectors::new(op.a.unwrap_or(Elem::F32), op.m, op.lanes, || {
            small(op.a.unwrap_or(Elem::F32), random)
        });
        let b = Vectors::new(op.b, op.n, op.lanes, || small(op.b, random));
        let mut expected: Vec<u8> = matrix.memory.bytes().to_vec();
        let inside = |at: i64| at >= 0 && at + size as i64 <= matrix.size as i64;
        for lane in (0..lanes).filter(|lane| self.mask >> lane & 1 == 1) {
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let at = matrix.offsets[lane] + (i * stride + j * size) as i64;
                if !inside(at) {
                    continue;
                }
                let x = op.a.map_or(1.0, |elem| float(elem, a.at(i, lane))) * float(op.b, b.at(j, lane));
                let place = &mut expected[at as usize..][..size];
                let sum = float(op.matrix, bits_of(place)) + x * self.threads as f64;
                place.copy_from_slice(&nearest(op.matrix, sum).to_le_bytes()[..size]);
            }
        }
        let [base, sizes, offsets] = matrix.pieces();
        let strides = [stride as u64];
        let (words, varying) = places(
            op.lanes,
            self.mask,
            &[
                (Piece::MatrixBase, &base),
                (Piece::MatrixSize, &sizes),
                (Piece::MatrixOffset, &offsets),
                (Piece::Stride, &strides),
            ],
        );
        let plan = isa.plan_vec_outer_add(&VecOuterAdd { varying, ..*op });
        let address = plan.kernel.address(isa).expect("the plan names a kernel");
        // SAFETY: the plan names such a kernel.
        let kernel = unsafe { std::mem::transmute::<*const (), VecOuterAddFn>(address) };
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    let (mut a, mut b) = (a.to_memory(), b.to_memory());
                    let mut scratch = Buffer::new(plan.scratch_bytes, 0xff);
                    // SAFETY: the operands are as planned; all threads access the matrix by this kernel only.
                    unsafe { kernel(&plan.params, a.ptr(), b.ptr(), words.as_ptr(), scratch.ptr()) };
                });
            }
        });
        let got = matrix.memory.bytes();
        for (at, (got, want)) in got.chunks(size).zip(expected.chunks(size)).enumerate() {
            let zero = |bytes: &[u8]| float(op.matrix, bits_of(bytes)) == 0.0;
            assert!(
                got == want || got.len() == size && zero(got) && zero(want),
                "{isa} {op:?} {:?} {:?} cut {} stride {stride}: element {at} is {got:x?}, expected {want:x?}",
                self.mask,
                self.sharing,
                self.cut,
            );
        }
    }
}

#[test]
fn outer_products_and_sums() {
    let mut random = Random(5);
    let halves_and_singles = [Elem::F16, Elem::F32];
    for isa in sets() {
        for round in 0..200 {
            let lanes = 4 << random.below(6);
            let (mut m, n) = (random.pick(&SIZES), random.pick(&SIZES));
            let a = (round % 5 != 0).then(|| random.pick(&halves_and_singles));
            m = if a.is_some() { m.min((1 << 15) / n / lanes).max(1) } else { 1 };
            let (b, matrix) = (random.pick(&halves_and_singles), random.pick(&halves_and_singles));
            let all = u128::MAX >> (128 - lanes);
            let any = u128::from(random.next()) | u128::from(random.next()) << 64;
            let mask = random.pick(&[all, all, all >> 1, any & all]);
            let sets = 1 + random.below(lanes.into()) as usize;
            let sharing = random.pick(&[Sharing::One, Sharing::One, Sharing::Runs(5), Sharing::Turns(sets)]);
            let cut = random.pick(&[0, 0, 2, -2, 4, -4, 1, -3, 64]);
            let is_global = cut == 0 && random.below(2) == 0;
            let op = VecOuterAdd { lanes, a, m, b, n, matrix, varying: 0 };
            let outer = Outer { op, mask, sharing, cut, is_global, threads: 1, misaligned: 0 };
            if cut % matrix.bytes() as i64 == 0 {
                outer.check(isa, &mut random);
            }
        }
    }
}

#[test]
fn additions_are_atomic() {
    let mut random = Random(6);
    for isa in sets() {
        for matrix in [Elem::F16, Elem::F32] {
            for (a, m) in [(Some(Elem::F16), 9), (None, 1)] {
                let op = VecOuterAdd { lanes: 32, a, m, b: Elem::F16, n: 31, matrix, varying: 0 };
                for sharing in [Sharing::One, Sharing::Runs(7)] {
                    let mask = u128::from(u32::MAX);
                    Outer { op, mask, sharing, cut: 0, is_global: false, threads: 8, misaligned: 0 }
                        .check(isa, &mut random);
                }
            }
        }
    }
}
