//! Loads and stores through random tensor layouts and views, against the place of each element by definition.

use crate::common::{Buffer, Matrix, Random, float, levels, truncate};
use phalanx_kernels::{Clamp, Elem, Isa, MAX_DIMS, TensorAccess, TensorWords, Use};

const SIZES: [(u32, u32); 8] = [(1, 1), (16, 16), (3, 5), (17, 15), (8, 33), (64, 4), (2, 130), (32, 64)];
const ELEMS: [Elem; 7] = [Elem::F16, Elem::BF16, Elem::F32, Elem::F64, Elem::I8, Elem::I16, Elem::E4M3];
const CLAMPS: [Clamp; 5] =
    [Clamp::Undefined, Clamp::Constant, Clamp::ClampToEdge, Clamp::Repeat, Clamp::RepeatMirrored];

/// What an element of the matrix is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Source {
    /// Left out by the view.
    Clipped,
    /// Out of the tensor.
    Clamped,
    /// In memory at this byte, if that is in the object.
    At(u64),
}

/// An access and the memory that it is about.
#[derive(Clone, Copy, Debug)]
struct Case {
    access: TensorAccess,
    words: TensorWords,
    size: u64,
    offset: u64,
}

/// Takes an index apart, the last of these dimensions first.
fn digits(mut index: u32, sizes: &[u32; MAX_DIMS], order: impl Iterator<Item = usize>) -> [u32; MAX_DIMS] {
    let mut coord = [0; MAX_DIMS];
    for d in order {
        coord[d] = index % sizes[d];
        index /= sizes[d];
    }
    coord
}

/// The coordinate in a dimension of size `n` that stands for one outside; none for the clamp value.
fn clamped(clamp: Clamp, c: i64, n: i64) -> Option<i64> {
    match clamp {
        Clamp::Undefined => Some(c),
        Clamp::Constant => None,
        Clamp::ClampToEdge => Some(c.clamp(0, n - 1)),
        Clamp::Repeat => Some(c.rem_euclid(n)),
        Clamp::RepeatMirrored if n == 1 => Some(0),
        Clamp::RepeatMirrored => {
            let c = c.rem_euclid(2 * n - 2);
            Some(if c >= n { 2 * n - 2 - c } else { c })
        }
    }
}

impl Case {
    /// SPV_NV_tensor_addressing, from the coordinates in the matrix to the place in memory.
    fn source(&self, is_store: bool, row: usize, col: usize) -> Source {
        let (access, words) = (&self.access, &self.words);
        let (dims, view_dims) = (usize::from(access.dims), usize::from(access.view_dims));
        let (mut row, mut col, mut width) = (row as u32, col as u32, access.layout.cols);
        if view_dims > 0 {
            let [first_row, rows, first_col, cols] = words.clip;
            let is_inside = |at: u32, first: u32, span: u32| at >= first && at - first < span;
            if !is_inside(row, first_row, rows) || !is_inside(col, first_col, cols) {
                return Source::Clipped;
            }
            (row, col, width) = (row - first_row, col - first_col, width.min(cols));
        }
        let mut index = row * width + col;
        if view_dims > 0 {
            let sizes = if access.has_dimensions { words.view_dimension } else { words.span };
            let order = access.permutation[..view_dims].iter().rev().map(|&d| usize::from(d));
            let coord = digits(index, &sizes, order);
            let mut packed = 1;
            index = 0;
            for d in (0..view_dims).rev() {
                index += coord[d] * if access.has_dimensions { words.view_stride[d] } else { packed };
                packed *= words.span[d];
            }
        }
        let coord = digits(index, &words.span, (0..dims).rev());
        let mut unit = 0_u64;
        for (d, &at) in coord.iter().enumerate().take(dims) {
            let (mut c, n) = (i64::from(at) + i64::from(words.offset[d].cast_signed()), words.dimension[d]);
            if !(0..i64::from(n)).contains(&c) {
                match clamped(access.clamp, c, n.into()) {
                    Some(inside) if !is_store || access.clamp == Clamp::Undefined => c = inside,
                    _ => return Source::Clamped,
                }
            }
            let block = if words.block[d] == 1 { c } else { i64::from(c as u32 / words.block[d]) };
            unit = unit.wrapping_add((block * i64::from(words.stride[d])).cast_unsigned());
        }
        Source::At(unit.wrapping_mul(access.unit.into()))
    }

    /// The bytes of an element that lies in the object.
    fn bytes(&self, at: u64) -> Option<std::ops::Range<usize>> {
        let start = self.offset.wrapping_add(at);
        let end = start.checked_add(self.access.layout.elem.bytes() as u64)?;
        (end <= self.size).then_some(start as usize..end as usize)
    }

    fn random(isa: Isa, random: &mut Random) -> Self {
        let ((rows, cols), elem) = (random.pick(&SIZES), random.pick(&ELEMS));
        let layout = isa.layout(elem, random.pick(&Use::ALL), rows, cols);
        let dims = 1 + random.below(MAX_DIMS as u64) as usize;
        let view = random.below(4);
        let has_dimensions = view == 3;
        let view_dims = match view {
            0 => 0,
            3 => 1 + random.below(MAX_DIMS as u64) as usize,
            _ => dims,
        };
        let mut permutation = [0; MAX_DIMS];
        for d in 0..view_dims {
            permutation[d] = d as u8;
            permutation.swap(d, random.below(d as u64 + 1) as usize);
        }
        let (extra, unit) = (random.below(2), elem.bytes() as u32);
        let mut words = TensorWords { clamp_value: random.next() as u32, ..TensorWords::default() };
        let mut stride = 1;
        for d in (0..dims).rev() {
            let longest = if d + 1 == dims { 2 * cols } else { 5 };
            words.span[d] = match random.below(3) {
                0 if d + 1 == dims => cols,
                1 if d + 1 == dims => rows,
                _ => 1 + random.below(longest.into()) as u32,
            };
            words.dimension[d] = words.span[d] + random.below(4) as u32;
            words.offset[d] = (random.below(4) as u32).wrapping_sub(if random.below(3) == 0 { 3 } else { 0 });
            words.block[d] = if random.below(8) == 0 { 1 + random.below(4) as u32 } else { 1 };
            words.stride[d] = stride;
            stride = stride.wrapping_mul(words.dimension[d]) + extra as u32;
        }
        for d in 0..view_dims {
            words.view_dimension[d] = 1 + random.below(40) as u32;
            words.view_stride[d] = random.below(30) as u32;
        }
        words.clip = match random.below(2) {
            0 => [0, rows, 0, cols],
            _ => [rows, rows + 2, cols, cols + 2].map(|n| random.below(n.into()) as u32),
        };
        let clamp = random.pick(&CLAMPS);
        let (dims, view_dims) = (dims as u8, view_dims as u8);
        let access = TensorAccess {
            layout,
            unit,
            dims,
            view_dims,
            has_dimensions,
            clamp,
            permutation,
            padding: [0; 3],
        };
        let largest = 1 << (6 + random.below(10));
        Self { access, words, size: random.below(largest), offset: random.below(70) }
    }
}

/// For every element what it is.
fn for_each(case: &Case, is_store: bool, mut f: impl FnMut(usize, usize, Source)) {
    for row in 0..case.access.layout.rows as usize {
        for col in 0..case.access.layout.cols as usize {
            f(row, col, case.source(is_store, row, col));
        }
    }
}

fn check_load(isa: Isa, case: &Case, random: &mut Random) {
    let Case { access, words, size, offset } = case;
    let layout = &access.layout;
    let mut memory = Buffer::misaligned(*size as usize, 0, random.below(64) as usize);
    memory.bytes().fill_with(|| random.next() as u8);
    let object = Matrix::any(layout.elem, layout.rows, layout.cols, random);
    let mut want = object.clone();
    for_each(case, false, |row, col, source| {
        let bits = match source {
            Source::Clipped => return,
            Source::Clamped => truncate(layout.elem, words.clamp_value.into()),
            Source::At(at) => case.bytes(at).map_or(0, |range| {
                let mut bits = [0; 8];
                bits[..range.len()].copy_from_slice(&memory.bytes()[range]);
                u64::from_le_bytes(bits)
            }),
        };
        want.bits[row * want.cols + col] = bits;
    });
    let (mut object, mut tile) = (object.to_tile(layout), Buffer::new(layout.bytes(), 0xff));
    let mut scratch = Buffer::new(access.scratch_bytes(), 0x77);
    let (dst, base, from, room) = (tile.ptr(), memory.ptr(), object.ptr(), scratch.ptr());
    // SAFETY: tiles, buffer and scratch memory are as large as said.
    unsafe { (isa.table().load_tensor)(access, words, dst, base, *size, *offset, from, room) };
    Matrix::from_tile(layout, &mut tile).assert_same(&want, &format!("load {isa} {case:?}"));
}

fn check_store(isa: Isa, case: &Case, random: &mut Random) {
    let Case { access, words, size, offset } = case;
    let layout = &access.layout;
    let mut matrix = Matrix::any(layout.elem, layout.rows, layout.cols, random);
    // NaN may change their payload.
    let is_nan = |bits: u64| layout.elem.is_float() && float(layout.elem, bits).is_nan();
    matrix.bits.iter_mut().filter(|bits| is_nan(**bits)).for_each(|bits| *bits = 0);
    let mut memory = Buffer::misaligned(*size as usize, 0, random.below(64) as usize);
    memory.bytes().fill_with(|| random.next() as u8);
    let mut want = memory.bytes().to_vec();
    // Which of several elements in one place is written last is not defined.
    let mut writers = vec![0; want.len()];
    for_each(case, true, |row, col, source| {
        let Source::At(at) = source else { return };
        let Some(range) = case.bytes(at) else { return };
        want[range.clone()].copy_from_slice(&matrix.at(row, col).to_le_bytes()[..range.len()]);
        writers[range].iter_mut().for_each(|n| *n += 1);
    });
    let (mut tile, mut scratch) = (matrix.to_tile(layout), Buffer::new(access.scratch_bytes(), 0x77));
    let (src, base, room) = (tile.ptr(), memory.ptr(), scratch.ptr());
    // SAFETY: tile, buffer and scratch memory are as large as said.
    unsafe { (isa.table().store_tensor)(access, words, src, base, *size, *offset, room) };
    for (at, (&got, &want)) in memory.bytes().iter().zip(&want).enumerate() {
        assert!(got == want || writers[at] > 1, "store {isa} {case:?}: byte {at} is {got:#x}, not {want:#x}");
    }
}

#[test]
fn random_layouts_and_views() {
    let mut random = Random(5);
    for isa in levels() {
        for _ in 0..4000 {
            let case = Case::random(isa, &mut random);
            check_load(isa, &case, &mut random);
            check_store(isa, &case, &mut random);
        }
    }
}

/// What must not be missed by chance: rows and columns that lie evenly, inside up to the edge, partly outside and
/// outside, of the tensor and of the object.
#[test]
fn tiles_of_a_row_major_matrix() {
    let mut random = Random(6);
    for isa in levels() {
        for (elem, clamp) in ELEMS.iter().flat_map(|&elem| CLAMPS.map(|clamp| (elem, clamp))) {
            for transposed in [false, true] {
                let (rows, cols, unit) = (24, 40, elem.bytes() as u32);
                let layout = isa.layout(elem, Use::B, rows, cols);
                let (view_dims, permutation) = if transposed { (2, [1, 0, 0, 0, 0]) } else { (0, [0; 5]) };
                let span = if transposed { [cols, rows, 0, 0, 0] } else { [rows, cols, 0, 0, 0] };
                let (dims, has_dimensions, padding) = (2, false, [0; 3]);
                let access = TensorAccess {
                    layout,
                    unit,
                    dims,
                    view_dims,
                    has_dimensions,
                    clamp,
                    permutation,
                    padding,
                };
                for (row, col) in
                    [(0_i32, 0_i32), (8, 16), (24, 24), (40, 56), (-5, 3), (50, 2), (3, 90), (-30, -50)]
                {
                    let words = TensorWords {
                        dimension: [64, 96, 0, 0, 0],
                        stride: [100, 1, 0, 0, 0],
                        offset: [row.cast_unsigned(), col.cast_unsigned(), 0, 0, 0],
                        span,
                        block: [1; 5],
                        clip: [0, rows, 0, cols],
                        ..TensorWords::default()
                    };
                    for elements in [6400, 3000] {
                        let case = Case { access, words, size: elements * u64::from(unit), offset: 3 };
                        check_load(isa, &case, &mut random);
                        check_store(isa, &case, &mut random);
                    }
                }
            }
        }
    }
}

/// The index in memory has 64 bits: strides by which 32 would come back to the object, and by which the address does
/// so at 64.
#[test]
fn far_strides() {
    let mut random = Random(7);
    for isa in levels() {
        for (elem, use_) in ELEMS.iter().flat_map(|&elem| Use::ALL.map(|use_| (elem, use_))) {
            let (rows, cols, unit) = (16, 8, elem.bytes() as u32);
            let (view_dims, has_dimensions, permutation, padding) = (0, false, [0; MAX_DIMS], [0; 3]);
            let layout = isa.layout(elem, use_, rows, cols);
            for stride in [1 << 29, 1 << 30, 1 << 31, (1 << 31) + 1, u32::MAX, 1 << 28] {
                for (stride, first) in [([stride, 1], 0), ([1, stride], 0), ([stride, 1], (1 << 31) - 16)] {
                    for clamp in [Clamp::Undefined, Clamp::Constant] {
                        let access = TensorAccess {
                            layout,
                            unit,
                            dims: 2,
                            view_dims,
                            has_dimensions,
                            clamp,
                            permutation,
                            padding,
                        };
                        let words = TensorWords {
                            dimension: [u32::MAX, u32::MAX, 0, 0, 0],
                            stride: [stride[0], stride[1], 0, 0, 0],
                            offset: [first, 0, 0, 0, 0],
                            span: [rows, cols, 0, 0, 0],
                            block: [1; 5],
                            ..TensorWords::default()
                        };
                        let back = (u64::from(first) * u64::from(stride[0])).wrapping_mul(unit.into());
                        for offset in [0, 3, back.wrapping_neg()] {
                            let case = Case { access, words, size: 400, offset };
                            check_load(isa, &case, &mut random);
                            check_store(isa, &case, &mut random);
                        }
                    }
                }
            }
        }
    }
}
