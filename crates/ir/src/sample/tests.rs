use super::*;
use crate::image::{ImageDim, ImageUse, MAX_LEVELS, Swizzle};
use crate::sampler::{AddressMode, CompareFunction};
use crate::texel::Format;

const LEVEL: SampleOp = SampleOp {
    sampler: None,
    kind: SampleKind::Sample,
    lod: LodKind::Level,
    has_offset: false,
    has_min_lod: false,
};
const GRADIENTS: SampleOp = SampleOp { lod: LodKind::Gradients, ..LEVEL };

fn of(kind: SampleKind) -> SampleOp {
    let lod = if kind.is_gather() { LodKind::Base } else { LodKind::Level };
    SampleOp { kind, lod, ..LEVEL }
}

fn image_kind(dim: ImageDim, arrayed: bool) -> ImageKind {
    ImageKind { dim, arrayed, usage: ImageUse::Combined }
}

fn linear() -> Sampler {
    Sampler { min: Filter::Linear, mag: Filter::Linear, ..Sampler::default() }
}

fn bits(x: f32) -> u64 {
    x.to_bits().into()
}

fn at(place: [f32; 3]) -> Operands {
    Operands { place, ..Operands::default() }
}

/// An image, and the texels of its levels and layers one after the other.
struct Image {
    layout: ImageLayout,
    kind: ImageKind,
    bytes: Vec<u8>,
}

impl Image {
    /// Texels from `texel(number)`.
    fn new(
        kind: ImageKind,
        format: Format,
        [extent @ .., levels, layers]: [u32; 5],
        texel: impl Fn(usize) -> [u64; 4],
    ) -> Self {
        let [width, height, depth] = extent;
        let layout = ImageLayout::packed(format, [width, height, depth], levels, layers);
        let size = format.bytes();
        let bytes =
            (0..layout.bytes() as usize / size).flat_map(|n| format.encode(texel(n))[..size].to_vec());
        Self { bytes: bytes.collect(), layout, kind }
    }

    /// One component, of the number of the texel.
    fn numbered(dim: ImageDim, sizes: [u32; 5]) -> Self {
        let arrayed = sizes[4] > 1 && dim != ImageDim::Cube;
        Self::new(image_kind(dim, arrayed), Format::R32Sfloat, sizes, |n| [bits(n as f32), 0, 0, 0])
    }

    fn sample(&self, sampler: &Sampler, op: SampleOp, operands: &Operands) -> [u64; 4] {
        let mut read = |at: u64| {
            let bytes = self.bytes.get(at as usize..at as usize + self.layout.format.bytes())?;
            Some(self.layout.format.decode(bytes))
        };
        sample(&self.layout, sampler, self.kind, op, operands, &mut read)
    }

    fn floats(&self, sampler: &Sampler, op: SampleOp, operands: &Operands) -> [f32; 4] {
        self.sample(sampler, op, operands).map(|bits| f32::from_bits(bits as u32))
    }

    /// The first component at a place.
    fn red(&self, sampler: &Sampler, place: [f32; 3]) -> f32 {
        self.floats(sampler, LEVEL, &at(place))[0]
    }

    fn red_at_level(&self, sampler: &Sampler, level: f32) -> f32 {
        self.floats(sampler, LEVEL, &Operands { level, ..at([0.5; 3]) })[0]
    }
}

#[test]
fn the_nearest_texel_is_the_one_around_the_place() {
    let image = Image::numbered(ImageDim::D3, [4, 2, 3, 1, 1]);
    for (number, (k, j, i)) in
        (0..3).flat_map(|k| (0..2).flat_map(move |j| (0..4).map(move |i| (k, j, i)))).enumerate()
    {
        let inside = |x: usize, size: f32, part: f32| (x as f32 + part) / size;
        for part in [0.01, 0.5, 0.99] {
            let place = [inside(i, 4.0, part), inside(j, 2.0, part), inside(k, 3.0, part)];
            assert_eq!(image.red(&Sampler::default(), place), number as f32, "{place:?}");
        }
    }
    // A border between texels belongs to the upper one.
    assert_eq!(image.red(&Sampler::default(), [0.25, 0.0, 0.0]), 1.0);
}

#[test]
fn a_linear_filter_meets_the_address_mode_at_the_edges() {
    let image = Image::new(image_kind(ImageDim::D1, false), Format::R32Sfloat, [2, 1, 1, 1, 1], |n| {
        [bits([10.0, 20.0][n]), 0, 0, 0]
    });
    // At 0 and at 1 a half of each, outside and inside; at -0.5 the centres are a whole texel off.
    let cases = [
        (AddressMode::Repeat, [15.0, 15.0, 15.0]),
        (AddressMode::MirroredRepeat, [10.0, 20.0, 15.0]),
        (AddressMode::ClampToEdge, [10.0, 20.0, 10.0]),
        (AddressMode::ClampToBorder, [55.0, 60.0, 100.0]),
        (AddressMode::MirrorClampToEdge, [10.0, 20.0, 15.0]),
    ];
    for (mode, expected) in cases {
        let sampler = Sampler { address: [mode; 3], border: [bits(100.0), 0, 0, 0], ..linear() };
        let found = [0.0, 1.0, -0.5].map(|s| image.red(&sampler, [s, 0.0, 0.0]));
        assert_eq!(found, expected, "{mode:?}");
    }
    // The centre of a texel is this texel alone, and a quarter off a quarter of the next.
    let found = [0.25, 0.375, 0.5].map(|s| image.red(&linear(), [s, 0.0, 0.0]));
    assert_eq!(found, [10.0, 12.5, 15.0]);
}

/// The sum of *Texel Linear Filtering*, term by term.
#[test]
fn linear_filters_are_weighted_sums() {
    let value = |i: i64, j: i64, k: i64| (i * i + 7 * j + 31 * k * j) as f32;
    let (width, height, depth) = (5_i64, 3_i64, 4_i64);
    let texel = |n: usize| {
        let n = n as i64;
        [bits(value(n % width, n / width % height, n / width / height)), 0, 0, 0]
    };
    let image = Image::new(image_kind(ImageDim::D3, false), Format::R32Sfloat, [5, 3, 4, 1, 1], texel);
    let sampler = Sampler { address: [AddressMode::Repeat; 3], ..linear() };
    for step in 0..200_i16 {
        let place = [0.013, 0.029, 0.017].map(|part| part * f32::from(step) - 1.0);
        let [u, v, w] =
            [(0, 5.0), (1, 3.0), (2, 4.0)].map(|(axis, size)| f64::from(place[axis]) * size - 0.5);
        let mut sum = 0.0;
        for (k, j, i) in (0..2).flat_map(|k| (0..2).flat_map(move |j| (0..2).map(move |i| (k, j, i)))) {
            let weight = |x: f64, n: i64| if n == 0 { 1.0 - (x - x.floor()) } else { x - x.floor() };
            let index = |x: f64, n: i64, size: i64| (x.floor() as i64 + n).rem_euclid(size);
            let texel = value(index(u, i, width), index(v, j, height), index(w, k, depth));
            sum += weight(u, i) * weight(v, j) * weight(w, k) * f64::from(texel);
        }
        let found = image.red(&sampler, place);
        assert!((f64::from(found) - sum).abs() < 1e-4, "{place:?}: {found} {sum}");
    }
}

#[test]
fn levels_are_selected_and_blended() {
    // Every texel of level n is 10 n.
    let image = Image::new(image_kind(ImageDim::D2, false), Format::R32Sfloat, [4, 4, 1, 3, 1], |n| {
        [bits([0.0, 10.0, 20.0][usize::from(n >= 16) + usize::from(n >= 20)]), 0, 0, 0]
    });
    let nearest = Sampler::default();
    let blended = Sampler { mip: Filter::Linear, ..nearest };
    for (level, [first, second]) in
        [(-1.0, [0.0, 0.0]), (0.5, [0.0, 5.0]), (0.75, [10.0, 7.5]), (1.5, [10.0, 15.0]), (9.0, [20.0, 20.0])]
    {
        assert_eq!(image.red_at_level(&nearest, level), first, "{level}");
        assert_eq!(image.red_at_level(&blended, level), second, "{level}");
    }
    // What the sampler adds, and its limits.
    assert_eq!(image.red_at_level(&Sampler { lod_bias: 0.25, ..blended }, 0.5), 7.5);
    assert_eq!(image.red_at_level(&Sampler { min_lod: 1.25, ..blended }, 0.5), 12.5);
    assert_eq!(image.red_at_level(&Sampler { max_lod: 0.5, ..blended }, 2.0), 5.0);
    let with_least = SampleOp { has_min_lod: true, ..LEVEL };
    let operands = Operands { min_lod: 1.5, ..at([0.5; 3]) };
    assert_eq!(image.floats(&blended, with_least, &operands)[0], 15.0);
    // Operands that the operation does not have do not count.
    assert_eq!(image.floats(&blended, LEVEL, &operands)[0], 0.0);
}

#[test]
fn the_filter_depends_on_the_size() {
    let image = Image::numbered(ImageDim::D1, [2, 1, 1, 1, 1]);
    let magnify = Sampler { mag: Filter::Linear, ..Sampler::default() };
    let minify = Sampler { min: Filter::Linear, ..Sampler::default() };
    let at = |sampler, level| image.red_at_level(&sampler, level);
    assert_eq!([at(magnify, 0.0), at(magnify, 0.1)], [0.5, 1.0]);
    assert_eq!([at(minify, 0.0), at(minify, 0.1)], [1.0, 0.5]);
}

#[test]
fn gradients_give_the_level() {
    let image = Image::new(image_kind(ImageDim::D2, false), Format::R32Sfloat, [16, 8, 1, 4, 1], |n| {
        [bits([0.0, 1.0, 2.0, 3.0][[128, 160, 168].iter().filter(|&&end| n >= end).count()]), 0, 0, 0]
    });
    let blended = Sampler { mip: Filter::Linear, ..Sampler::default() };
    let level = |dx, dy| {
        let operands = Operands { gradients: [dx, dy], ..at([0.5; 3]) };
        image.floats(&blended, GRADIENTS, &operands)[0]
    };
    // The longer one counts: 4 texels are level 2.
    assert_eq!(level([0.25, 0.0, 0.0], [0.0, 0.25, 0.0]), 2.0);
    assert_eq!(level([0.0, 0.5, 0.0], [0.125, 0.0, 0.0]), 2.0);
    assert_eq!(level([3.0 / 16.0, 4.0 / 8.0, 0.0], [0.0; 3]), 5.0_f32.log2());
    assert_eq!(level([0.0; 3], [0.0; 3]), 0.0);
    assert_eq!(level([f32::INFINITY; 3], [0.0; 3]), 3.0);
}

#[test]
fn gradients_of_a_cube_are_those_on_its_face() {
    // Level 0 has 6 faces of 4 x 4; the levels of a face lie together.
    let image = Image::new(image_kind(ImageDim::Cube, false), Format::R32Sfloat, [4, 4, 1, 3, 6], |n| {
        [bits([0.0, 1.0, 2.0][usize::from(n % 21 >= 16) + usize::from(n % 21 >= 20)]), 0, 0, 0]
    });
    let blended = Sampler { mip: Filter::Linear, ..Sampler::default() };
    // At distance 2, a change of 2 along the face is half the face, 2 texels; further away, along the axis, none.
    for (change, level) in [([2.0, 0.0, 0.0], 1.0), ([0.0, -4.0, 0.0], 2.0), ([0.0, 0.0, 9.0], 0.0)] {
        let operands = Operands { gradients: [change, [0.0; 3]], ..at([0.0, 0.0, 2.0]) };
        assert_eq!(image.floats(&blended, GRADIENTS, &operands)[0], level, "{change:?}");
    }
}

/// Faces of one colour each: on an edge the mean of two, at a corner that of three.
#[test]
fn cubes_have_no_seams() {
    let image = Image::new(image_kind(ImageDim::Cube, false), Format::R32Sfloat, [4, 4, 1, 1, 6], |n| {
        [bits(10.0_f32.powi((n / 16) as i32)), 0, 0, 0]
    });
    let near = |place, expected: f32| {
        let found = image.red(&linear(), place);
        assert!((found - expected).abs() <= expected * 1e-6, "{place:?}: {found} {expected}");
    };
    near([1.0, 0.0, 0.0], 1.0);
    near([0.0, -1.0, 0.0], 1e3);
    near([1.0, 0.0, 1.0], 5000.5);
    near([0.0, -1.0, -1.0], 50_500.0);
    near([1.0, 1.0, 1.0], (1.0 + 1e2 + 1e4) / 3.0);
    near([-1.0, -1.0, -1.0], (1e1 + 1e3 + 1e5) / 3.0);
    // A nearest filter stays on the face.
    assert_eq!(image.red(&Sampler::default(), [1.0, 0.0, 1.0]), 1e4);
    assert_eq!(image.red(&Sampler::default(), [0.0, 0.0, -3.0]), 1e5);
}

/// Texels whose value is a linear function of the place in space: a filter over an edge changes little on its way.
#[test]
fn values_go_on_over_the_edges_of_a_cube() {
    let size = 16_usize;
    let image = Image::new(image_kind(ImageDim::Cube, false), Format::R32Sfloat, [16, 16, 1, 1, 6], |n| {
        let (face, i, j) = (n / size / size, n % size, n / size % size);
        let [s, t] = [i, j].map(|x| (2 * x + 1) as f32 / size as f32 - 1.0);
        let [x, y, z] = match face {
            0 => [1.0, -t, -s],
            1 => [-1.0, -t, s],
            2 => [s, 1.0, t],
            3 => [s, -1.0, -t],
            4 => [s, -t, 1.0],
            _ => [-s, -t, -1.0],
        };
        [bits(x + 2.0 * y + 4.0 * z), 0, 0, 0]
    });
    for [a, b] in [[0, 1], [1, 2], [2, 0]] {
        for (sign_a, sign_b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
            for step in -20..=20_i8 {
                let mut place = [0.3_f32; 3];
                (place[a], place[b]) = (sign_a, sign_b * (1.0 + f32::from(step) / 200.0));
                let longest = place.iter().fold(0.0_f32, |longest, x| longest.max(x.abs()));
                let [x, y, z] = place.map(|x| x / longest);
                let found = image.red(&linear(), place);
                // What the fold at the edge is off.
                assert!((found - (x + 2.0 * y + 4.0 * z)).abs() < 0.25, "{place:?} {found}");
            }
        }
    }
}

#[test]
fn layers_are_rounded_to_even_and_clamped() {
    let layers = Image::numbered(ImageDim::D1, [1, 1, 1, 1, 4]);
    let cubes = Image::new(image_kind(ImageDim::Cube, true), Format::R32Sfloat, [1, 1, 1, 1, 24], |n| {
        [bits(n as f32), 0, 0, 0]
    });
    for (layer, expected) in [
        (0.5, 0.0),
        (0.51, 1.0),
        (1.5, 2.0),
        (2.5, 2.0),
        (-7.0, 0.0),
        (99.0, 3.0),
        (f32::NAN, 0.0),
        (f32::INFINITY, 3.0),
    ] {
        let operands = |place| Operands { layer, ..at(place) };
        let found = layers.floats(&linear(), LEVEL, &operands([0.5; 3]))[0];
        assert_eq!(found, expected, "{layer}");
        let found = cubes.floats(&Sampler::default(), LEVEL, &operands([0.0, 1.0, 0.0]))[0];
        assert_eq!(found, expected * 6.0 + 2.0, "{layer}");
    }
}

#[test]
fn borders_have_the_components_of_the_format() {
    let white = Sampler {
        address: [AddressMode::ClampToBorder; 3],
        border: [bits(0.25), bits(0.5), bits(0.75), bits(0.125)],
        ..linear()
    };
    let kind = image_kind(ImageDim::D2, false);
    let outside = |format, swizzle| {
        let mut image = Image::new(kind, format, [1; 5], |_| [0; 4]);
        image.layout.swizzle = swizzle;
        image.floats(&white, LEVEL, &at([9.0; 3]))
    };
    assert_eq!(outside(Format::R8g8b8a8Unorm, Swizzle::IDENTITY), [0.25, 0.5, 0.75, 0.125]);
    assert_eq!(outside(Format::R8g8Unorm, Swizzle::IDENTITY), [0.25, 0.5, 0.0, 1.0]);
    assert_eq!(outside(Format::D16Unorm, Swizzle::IDENTITY), [0.25, 0.0, 0.0, 1.0]);
    let swizzle = [Swizzle::Blue, Swizzle::One, Swizzle::Zero, Swizzle::Red];
    assert_eq!(outside(Format::R8g8b8a8Unorm, swizzle), [0.75, 1.0, 0.0, 0.25]);
}

#[test]
fn srgb_is_decoded_before_it_is_filtered() {
    let image = Image::new(image_kind(ImageDim::D1, false), Format::R8Srgb, [2, 1, 1, 1, 1], |n| {
        [bits(n as f32), 0, 0, 0]
    });
    assert_eq!(image.red(&linear(), [0.5; 3]), 0.5);
}

#[test]
fn integers_are_never_mixed() {
    let kind = image_kind(ImageDim::D2, false);
    let image =
        Image::new(kind, Format::R8g8b8a8Sint, [2, 2, 1, 2, 1], |n| [n as u64, -5_i32 as u32 as u64, 7, 9]);
    let sampler = Sampler { mip: Filter::Linear, ..linear() };
    let found = |place, level| image.sample(&sampler, LEVEL, &Operands { level, ..at(place) });
    assert_eq!(found([0.5, 0.1, 0.0], 0.0), [1, 0xffff_fffb, 7, 9]);
    assert_eq!(found([0.5, 0.1, 0.0], 0.75)[0], 4);
    let gather = |component| image.sample(&sampler, of(SampleKind::Gather(component)), &at([0.5; 3]));
    assert_eq!(gather(0), [2, 3, 1, 0]);
    assert_eq!(gather(3), [9; 4]);
}

#[test]
fn texels_are_compared_before_they_are_filtered() {
    let kind = image_kind(ImageDim::D2, false);
    let image =
        |format| Image::new(kind, format, [2, 2, 1, 1, 1], |n| [bits([0.0, 0.25, 0.5, 1.0][n]), 0, 0, 0]);
    let depth = image(Format::D32Sfloat);
    let found = |image: &Image, function, kind, reference, place| {
        let sampler = Sampler { compare: Some(function), ..linear() };
        image.floats(&sampler, of(kind), &Operands { reference, ..at(place) })
    };
    use CompareFunction as F;
    let cases = [
        (F::Never, 0.0),
        (F::Less, 0.5),
        (F::Equal, 0.25),
        (F::LessOrEqual, 0.75),
        (F::Greater, 0.25),
        (F::NotEqual, 0.75),
        (F::GreaterOrEqual, 0.5),
        (F::Always, 1.0),
    ];
    for (function, share) in cases {
        let all = found(&depth, function, SampleKind::Compare, 0.25, [0.5; 3]);
        assert_eq!(all[0], share, "{function:?}");
    }
    // Weights, and the order of a gather.
    let off = found(&depth, F::Less, SampleKind::Compare, 0.3, [0.5, 0.625, 0.0]);
    assert_eq!(off[0], 0.75);
    let four = found(&depth, F::GreaterOrEqual, SampleKind::GatherCompare, 0.3, [0.5; 3]);
    assert_eq!(four, [0.0, 0.0, 1.0, 1.0]);
    // References are clamped to what the format can have.
    let (fraction, float) = (image(Format::D16Unorm), depth);
    let above = |image| found(image, F::LessOrEqual, SampleKind::Compare, 7.0, [0.9; 3])[0];
    assert_eq!((above(&fraction), above(&float)), (1.0, 0.0));
    // Without a function nothing passes.
    let none = float.floats(&linear(), of(SampleKind::Compare), &at([0.5; 3]));
    assert_eq!(none[0], 0.0);
}

#[test]
fn a_gather_gives_the_footprint_in_its_order() {
    let mut image = Image::numbered(ImageDim::D2, [4, 4, 1, 2, 1]);
    let gather = |image: &Image, component, operands: &Operands| {
        let sampler = Sampler { min_lod: 1.0, ..Sampler::default() };
        image.floats(&sampler, SampleOp { has_offset: true, ..of(SampleKind::Gather(component)) }, operands)
    };
    // Around the corner of texels (0, 0) and (1, 1), whatever the sampler says of filters and levels.
    let corner = at([0.25; 3]);
    assert_eq!(gather(&image, 0, &corner), [4.0, 5.0, 1.0, 0.0]);
    assert_eq!(gather(&image, 1, &corner), [0.0; 4]);
    assert_eq!(gather(&image, 3, &corner), [1.0; 4]);
    assert_eq!(gather(&image, 0, &Operands { offset: [1, 2, 0], ..corner }), [13.0, 14.0, 10.0, 9.0]);
    image.layout.swizzle = [Swizzle::One, Swizzle::Red, Swizzle::Zero, Swizzle::Blue];
    assert_eq!(gather(&image, 0, &corner), [1.0; 4]);
    assert_eq!(gather(&image, 1, &corner), [4.0, 5.0, 1.0, 0.0]);
}

#[test]
fn least_and_greatest_are_of_texels_with_a_weight() {
    let image = Image::numbered(ImageDim::D2, [4, 4, 1, 2, 1]);
    let reduce = |reduction| Sampler { reduction, mip: Filter::Linear, ..linear() };
    let (least, greatest) = (reduce(Reduction::Min), reduce(Reduction::Max));
    let corner = [0.5, 0.5, 0.0];
    assert_eq!([image.red(&least, corner), image.red(&greatest, corner)], [5.0, 10.0]);
    // On the centre of a column, only that column.
    let column = [0.375, 0.5, 0.0];
    assert_eq!([image.red(&least, column), image.red(&greatest, column)], [5.0, 9.0]);
    // Over two levels.
    let level = |sampler| image.red_at_level(sampler, 0.5);
    assert_eq!([level(&least), level(&greatest)], [5.0, 19.0]);
}

#[test]
fn offsets_and_unnormalized_coordinates_count_texels() {
    let image = Image::numbered(ImageDim::D2, [4, 4, 1, 2, 1]);
    let op = SampleOp { has_offset: true, ..LEVEL };
    let moved = |offset, level| {
        image.floats(&Sampler::default(), op, &Operands { offset, level, ..at([0.1, 0.1, 0.0]) })[0]
    };
    assert_eq!([moved([0, 0, 0], 0.0), moved([2, 1, 0], 0.0), moved([-3, 0, 0], 0.0)], [0.0, 6.0, 0.0]);
    assert_eq!(moved([1, 1, 0], 1.0), 19.0);
    let texels = Sampler { unnormalized: true, ..linear() };
    assert_eq!(image.red(&texels, [1.5, 2.5, 0.0]), 9.0);
    assert_eq!(image.red(&texels, [2.0, 2.5, 0.0]), 9.5);
}

/// Any numbers lead to some result, and never outside of the image.
#[test]
fn nothing_is_too_far() {
    let floats = [
        0.0,
        -0.0,
        0.5,
        1.0,
        -1e30,
        1e30,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
    ];
    let kinds = [ImageDim::D1, ImageDim::D2, ImageDim::D3, ImageDim::Cube];
    let modes = [
        AddressMode::Repeat,
        AddressMode::MirroredRepeat,
        AddressMode::ClampToEdge,
        AddressMode::ClampToBorder,
        AddressMode::MirrorClampToEdge,
    ];
    let mut image = Image::numbered(ImageDim::D2, [3, 5, 2, 2, 7]);
    for (number, &level) in floats.iter().enumerate() {
        for (turn, kind) in kinds.into_iter().enumerate() {
            for op in SampleKind::ALL.into_iter().map(of).chain([GRADIENTS]) {
                for arrayed in [false, true] {
                    image.kind = image_kind(kind, arrayed);
                    let pick = |n: usize| floats[(number + n * (turn + 1)) % floats.len()];
                    let operands = Operands {
                        place: [pick(1), pick(2), pick(3)],
                        layer: pick(4),
                        reference: pick(5),
                        level,
                        gradients: [[pick(6), pick(7), pick(8)], [pick(9), pick(10), level]],
                        offset: [i32::MIN, i32::MAX, -1],
                        min_lod: pick(2),
                    };
                    let address = [modes[number % 5], modes[(number + turn) % 5], modes[turn]];
                    let mip = if arrayed { Filter::Linear } else { Filter::Nearest };
                    let unnormalized = number % 2 == 1;
                    let sampler = Sampler {
                        address,
                        mip,
                        unnormalized,
                        max_lod: pick(6),
                        min_lod: pick(7),
                        ..linear()
                    };
                    let op = SampleOp { has_offset: true, has_min_lod: true, ..op };
                    image.sample(&sampler, op, &operands);
                }
            }
        }
    }
}

/// Layouts that say nonsense of the memory, and those without texels.
#[test]
fn layouts_may_lie() {
    let mut image = Image::numbered(ImageDim::D2, [4, 4, 1, 1, 1]);
    let sound = image.layout.clone();
    let broken = [
        ImageLayout { levels: 0, ..sound.clone() },
        ImageLayout { layers: 0, ..sound.clone() },
        ImageLayout { extent: [0, 4, 1], ..sound.clone() },
        ImageLayout { extent: [u32::MAX; 3], layers: u32::MAX, layer_pitch: u64::MAX, ..sound.clone() },
        ImageLayout { levels: u32::MAX, ..sound },
    ];
    for layout in broken {
        image.layout = layout;
        for dim in [ImageDim::D2, ImageDim::D3, ImageDim::Cube] {
            image.kind = image_kind(dim, true);
            let operands = Operands { level: MAX_LEVELS as f32 * 2.0, layer: 1e9, ..at([0.999; 3]) };
            let found = image.floats(&linear(), LEVEL, &operands);
            assert_eq!(found[..3], [0.0; 3]);
        }
    }
}

#[test]
fn operands_are_read_in_their_order() {
    let kind = image_kind(ImageDim::D2, true);
    let op = SampleOp {
        sampler: Some(crate::Binding::new(3)),
        kind: SampleKind::Compare,
        lod: LodKind::Gradients,
        has_offset: true,
        has_min_lod: true,
    };
    let count = op.indices() + kind.sample_coordinates() + op.rest(kind).count();
    assert_eq!(count, 2 + 3 + 1 + 4 + 2 + 1);
    let words: Vec<u32> =
        (0..count).map(|n| if (10..12).contains(&n) { n as u32 } else { (n as f32).to_bits() }).collect();
    let operands = Operands::read(op, kind, |number| words[number]);
    assert_eq!(
        operands,
        Operands {
            place: [2.0, 3.0, 0.0],
            layer: 4.0,
            reference: 5.0,
            level: 0.0,
            gradients: [[6.0, 7.0, 0.0], [8.0, 9.0, 0.0]],
            offset: [10, 11, 0],
            min_lod: 12.0,
        }
    );
}
