//! Random layouts and views: what their types say, and the numbers in them.

use crate::spec::{
    ClampMode, Coord, Element, MAX_DIM, TensorLayout, TensorView, matrix_coord_to_tensor_element,
};

/// Elements of the tensor that is read, and of each that is written.
pub(crate) const TENSOR: u32 = 4096;

/// SplitMix64.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `least` to `most`, both included.
    fn between(&mut self, least: i64, most: i64) -> i64 {
        least + (self.bits() % (most - least + 1) as u64) as i64
    }

    fn number(&mut self, least: u32, most: u32) -> u32 {
        self.between(least.into(), most.into()) as u32
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.bits().is_multiple_of(n)
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[(self.bits() % list.len() as u64) as usize]
    }
}

/// What types say, and which instructions there are.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) rows: u32,
    pub(crate) cols: u32,
    pub(crate) use_: &'static str,
    /// Bits of the component type, which is an unsigned integer.
    pub(crate) bits: u32,
    pub(crate) dims: usize,
    pub(crate) clamp_mode: ClampMode,
    /// Dimensions, whether it has them, and permutation.
    pub(crate) view: Option<(usize, bool, [usize; MAX_DIM])>,
    pub(crate) has_blocks: bool,
    pub(crate) has_strides: bool,
    pub(crate) has_view_strides: bool,
    pub(crate) has_clip: bool,
}

impl Shape {
    pub(crate) fn random(random: &mut Random) -> Self {
        let (rows, cols) = random.pick(&[(1, 1), (4, 4), (3, 5), (8, 2), (1, 17), (16, 16), (7, 9), (2, 32)]);
        let dims = random.number(1, 5) as usize;
        let has_dimensions = random.one_in(2);
        let v_dim = random.number(1, if has_dimensions { 5 } else { dims as u32 }) as usize;
        let mut permutation = [0; MAX_DIM];
        for i in 0..v_dim {
            permutation[i] = i;
            permutation.swap(i, random.number(0, i as u32) as usize);
        }
        Self {
            rows,
            cols,
            use_: random.pick(&["A", "B", "Accumulator"]),
            bits: random.pick(&[32, 32, 16, 8]),
            dims,
            clamp_mode: random.pick(&[
                ClampMode::Undefined,
                ClampMode::Constant,
                ClampMode::ClampToEdge,
                ClampMode::Repeat,
                ClampMode::MirrorRepeat,
            ]),
            view: (!random.one_in(3)).then_some((v_dim, has_dimensions, permutation)),
            has_blocks: random.one_in(3),
            has_strides: random.one_in(3),
            has_view_strides: random.one_in(2),
            has_clip: random.one_in(2),
        }
    }
}

/// The numbers.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) block: Vec<u32>,
    pub(crate) size: Vec<u32>,
    pub(crate) stride: Vec<u32>,
    /// Two slices, of which the second adds to the offsets of the first.
    pub(crate) slices: [Vec<(i32, u32)>; 2],
    pub(crate) clamp_value: u32,
    pub(crate) view_size: Vec<u32>,
    pub(crate) view_stride: Vec<u32>,
    pub(crate) clip: [u32; 4],
}

impl Case {
    /// Numbers that name elements of the tensor, or what the clamp mode leads to.
    pub(crate) fn random(shape: &Shape, random: &mut Random) -> Self {
        loop {
            let case = Self::any(shape, random);
            let elements = (0..shape.rows * shape.cols).map(|i| (i / shape.cols, i % shape.cols));
            let is_fine = |element: Element| match element {
                Element::Skipped | Element::ClampValue => true,
                Element::Undefined => false,
                Element::At { index, .. } => index < TENSOR.into(),
            };
            let mut places = elements.flat_map(|at| [false, true].map(|s| case.element(shape, at, s)));
            if places.all(is_fine) {
                return case;
            }
        }
    }

    fn any(shape: &Shape, random: &mut Random) -> Self {
        let largest = [40, 24, 12, 6, 4][shape.dims - 1];
        let mut list =
            |least, most| -> Vec<u32> { (0..shape.dims).map(|_| random.number(least, most)).collect() };
        let (block, size, stride) = (list(1, 4), list(1, largest), list(0, 40));
        let slice = |random: &mut Random, is_first: bool| {
            let one = |&size: &u32| {
                if shape.clamp_mode == ClampMode::Undefined {
                    let offset = if is_first { 0 } else { random.number(0, size - 1) };
                    return (offset as i32, random.number(1, size - offset));
                }
                (random.between(-9, i64::from(size) / 2 + 4) as i32, random.number(1, size + 4))
            };
            size.iter().map(one).collect::<Vec<_>>()
        };
        let slices = [slice(random, true), slice(random, false)];
        let v_dim = shape.view.map_or(0, |view| view.0);
        let mut clip = [0, u32::MAX, 0, u32::MAX];
        if shape.has_clip {
            for (axis, side) in [shape.rows, shape.cols].into_iter().enumerate() {
                clip[2 * axis] = random.number(0, side - 1);
                let span = random.number(0, side + 2);
                clip[2 * axis + 1] = if random.one_in(5) { u32::MAX } else { span };
            }
        }
        Self {
            clamp_value: random.bits() as u32,
            view_size: (0..v_dim).map(|_| random.number(1, 9)).collect(),
            view_stride: (0..v_dim).map(|_| random.number(0, 20)).collect(),
            block,
            size,
            stride,
            slices,
            clip,
        }
    }

    /// The layout; a store's has no blocks.
    pub(crate) fn layout(&self, shape: &Shape, is_store: bool) -> TensorLayout {
        let mut t = TensorLayout::create(shape.dims, shape.clamp_mode);
        if shape.has_blocks && !is_store {
            t.set_block_size(&self.block);
        }
        t.set_dimension(&self.size);
        if shape.has_strides {
            t.set_stride(&self.stride);
        }
        for slice in &self.slices {
            let (offsets, spans): (Vec<i32>, Vec<u32>) = slice.iter().copied().unzip();
            t.slice(&offsets, &spans);
        }
        t.clamp_value = self.clamp_value;
        t
    }

    pub(crate) fn view(&self, shape: &Shape) -> Option<TensorView> {
        let (v_dim, has_dimensions, permutation) = shape.view?;
        let mut v = TensorView::create(v_dim, has_dimensions, permutation);
        v.set_dimension(&self.view_size);
        if shape.has_view_strides {
            v.set_stride(&self.view_stride);
        }
        if shape.has_clip {
            v.set_clip(self.clip);
        }
        Some(v)
    }

    pub(crate) fn element(&self, shape: &Shape, at: (u32, u32), is_store: bool) -> Element {
        let (t, v) = (self.layout(shape, is_store), self.view(shape));
        matrix_coord_to_tensor_element(&t, v.as_ref(), at, shape.cols, is_store)
    }

    /// The numbers in the order in which the kernel reads them.
    pub(crate) fn words(&self) -> Vec<u32> {
        let mut words = self.block.clone();
        words.extend(self.size.iter().chain(&self.stride));
        for slice in &self.slices {
            words.extend(slice.iter().flat_map(|&(offset, span)| [offset as u32, span]));
        }
        words.push(self.clamp_value);
        words.extend(self.view_size.iter().chain(&self.view_stride).chain(&self.clip));
        words
    }
}

/// What the decoding function of the kernel makes of an element and its coordinates.
pub(crate) fn decoded(x: u32, block: &Coord, in_block: &Coord, dims: usize) -> u32 {
    block[..dims]
        .iter()
        .zip(in_block)
        .fold(x, |h, (b, c)| h.wrapping_mul(31).wrapping_add(*b).wrapping_mul(31).wrapping_add(*c))
}
