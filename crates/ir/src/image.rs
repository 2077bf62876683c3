//! Images: how the texels of an image, or of a texel buffer, lie in memory.
//!
//! Shaders are written for any image of a dimension; its size, layout and format are known when they run. An
//! [`ImageLayout`] says them for one view of an image, and where each texel is. It knows no memory: who has some looks
//! up a texel's offset, and still has to check that this lies inside.

use crate::module::BindingKind;
use crate::texel::Format;

/// Most mip levels of an image.
pub const MAX_LEVELS: usize = 16;

/// What a shader knows of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageKind {
    /// Its dimension.
    pub dim: ImageDim,
    /// Whether there is an array of such images.
    pub arrayed: bool,
    /// What it is used for.
    pub usage: ImageUse,
}

impl ImageKind {
    /// Coordinates of a texel, the array layer included.
    pub fn coordinates(&self) -> usize {
        // The third coordinate of a cube counts faces, also those of an array.
        self.axes() + usize::from(self.arrayed && self.dim != ImageDim::Cube)
    }

    /// Axes that it has for sampling: a direction in a cube has three.
    pub fn axes(&self) -> usize {
        match self.dim {
            ImageDim::Buffer | ImageDim::D1 => 1,
            ImageDim::D2 => 2,
            ImageDim::D3 | ImageDim::Cube => 3,
        }
    }

    /// Coordinates of a place to sample: the axes, and the array layer or the number of the cube.
    pub fn sample_coordinates(&self) -> usize {
        self.axes() + usize::from(self.arrayed)
    }

    /// Numbers that make its size. A cube has a width and a height, and in an array the number of cubes.
    pub fn sizes(&self) -> usize {
        match self.dim {
            ImageDim::Cube => 2 + usize::from(self.arrayed),
            _ => self.coordinates(),
        }
    }

    /// Whether the shader may write it.
    pub fn is_storage(&self) -> bool {
        self.usage == ImageUse::Storage
    }
}

/// The dimension of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is named by its number")]
pub enum ImageDim {
    /// A texel buffer.
    Buffer,
    D1,
    D2,
    D3,
    /// Six faces, which are layers.
    Cube,
}

/// What an image is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageUse {
    /// Loads, stores and atomic operations.
    Storage,
    /// Reading.
    Sampled,
    /// Reading, and it comes with a sampler.
    Combined,
}

impl BindingKind {
    /// All kinds.
    fn all() -> impl Iterator<Item = Self> {
        use ImageDim as D;
        let dims = [D::Buffer, D::D1, D::D2, D::D3, D::Cube];
        let kinds =
            [ImageUse::Storage, ImageUse::Sampled, ImageUse::Combined].into_iter().flat_map(move |usage| {
                let image =
                    move |dim| [false, true].map(|arrayed| Self::Image(ImageKind { dim, arrayed, usage }));
                dims.into_iter().flat_map(image)
            });
        [Self::Storage, Self::Uniform, Self::Sampler].into_iter().chain(kinds)
    }

    /// Its name: `storage`, `uniform`, `sampler`, or for example `sampled_image_2d_array`.
    pub fn name(self) -> String {
        let kind = match self {
            Self::Storage => return "storage".to_owned(),
            Self::Uniform => return "uniform".to_owned(),
            Self::Sampler => return "sampler".to_owned(),
            Self::Image(kind) => kind,
        };
        let usage = match kind.usage {
            ImageUse::Storage => "storage",
            ImageUse::Sampled => "sampled",
            ImageUse::Combined => "combined",
        };
        let dim = match kind.dim {
            ImageDim::Buffer => "buffer",
            ImageDim::D1 => "1d",
            ImageDim::D2 => "2d",
            ImageDim::D3 => "3d",
            ImageDim::Cube => "cube",
        };
        format!("{usage}_image_{dim}{}", if kind.arrayed { "_array" } else { "" })
    }

    /// The kind with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }
}

/// What takes the place of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each names what it gives")]
pub enum Swizzle {
    Zero,
    One,
    Red,
    Green,
    Blue,
    Alpha,
}

impl Swizzle {
    /// Every component stays.
    pub const IDENTITY: [Self; 4] = [Self::Red, Self::Green, Self::Blue, Self::Alpha];
}

/// Where a mip level lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ImageLevel {
    /// Its first byte in the first layer.
    pub offset: u64,
    /// Bytes from row to row.
    pub row_pitch: u64,
    /// Bytes from a depth to the next.
    pub slice_pitch: u64,
}

/// How the texels of a view of an image lie in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImageLayout {
    /// What a texel is.
    pub format: Format,
    /// Texels of the first level along x, y and z; 1 where the image has no such dimension.
    pub extent: [u32; 3],
    /// Layers of an array; 6 for each cube.
    pub layers: u32,
    /// Bytes from layer to layer.
    pub layer_pitch: u64,
    /// Number of mip levels; at most [`MAX_LEVELS`] are there.
    pub levels: u32,
    /// The mip levels; each has half the extent of the one before it.
    pub level: [ImageLevel; MAX_LEVELS],
    /// Which components a texel that is read without being stored again has.
    pub swizzle: [Swizzle; 4],
}

impl ImageLayout {
    /// A texel buffer of so many bytes.
    pub fn buffer(format: Format, bytes: u64) -> Self {
        let texels = u32::try_from(bytes / format.bytes() as u64).unwrap_or(u32::MAX);
        Self::packed(format, [texels, 1, 1], 1, 1)
    }

    /// An image without gaps: the levels of a layer one after the other, then the next layer.
    pub fn packed(format: Format, extent: [u32; 3], levels: u32, layers: u32) -> Self {
        let mut layout = Self {
            format,
            extent,
            layers,
            layer_pitch: 0,
            levels,
            level: [ImageLevel::default(); MAX_LEVELS],
            swizzle: Swizzle::IDENTITY,
        };
        let mut offset = 0_u64;
        for number in 0..MAX_LEVELS.min(levels as usize) {
            let [width, height, depth] = layout.level_extent(number as u32).map(u64::from);
            let row_pitch = width.saturating_mul(format.bytes() as u64);
            let slice_pitch = row_pitch.saturating_mul(height);
            layout.level[number] = ImageLevel { offset, row_pitch, slice_pitch };
            offset = offset.saturating_add(slice_pitch.saturating_mul(depth));
        }
        layout.layer_pitch = offset;
        layout
    }

    /// The texels of a level along x, y and z.
    pub fn level_extent(&self, level: u32) -> [u32; 3] {
        self.extent.map(|texels| texels.checked_shr(level).unwrap_or(0).max(texels.min(1)))
    }

    /// Bytes to the end of the last texel.
    pub fn bytes(&self) -> u64 {
        let ends = (0..self.levels).map(|level| {
            let last = self.level_extent(level).map(|texels| i64::from(texels) - 1);
            let at = self.offset(last, i64::from(self.layers) - 1, level.into());
            at.map_or(0, |at| at.saturating_add(self.format.bytes() as u64))
        });
        ends.max().unwrap_or(0)
    }

    /// The first byte of a texel of a layer and level; none outside of the image.
    pub fn texel(&self, at: [i32; 3], layer: i32, level: i32) -> Option<u64> {
        self.offset(at.map(i64::from), layer.into(), level.into())
    }

    /// The same for numbers of any size.
    pub(crate) fn offset(&self, at: [i64; 3], layer: i64, level: i64) -> Option<u64> {
        let number = u32::try_from(level).ok().filter(|&level| level < self.levels)?;
        let place = self.level.get(number as usize)?;
        let inside = |x: i64, end: u32| u64::try_from(x).ok().filter(|&x| x < end.into());
        let [width, height, depth] = self.level_extent(number);
        let [x, y, z] = at;
        let parts = [
            (inside(x, width)?, self.format.bytes() as u64),
            (inside(y, height)?, place.row_pitch),
            (inside(z, depth)?, place.slice_pitch),
            (inside(layer, self.layers)?, self.layer_pitch),
        ];
        let add = |sum: u64, (n, pitch): (u64, u64)| sum.checked_add(n.checked_mul(pitch)?);
        parts.into_iter().try_fold(place.offset, add)
    }

    /// The same for the coordinates that a shader has for such an image. Those that it has not are 0.
    pub fn find(&self, kind: ImageKind, coordinates: &[i32], level: i32) -> Option<u64> {
        let coordinate = |i: usize| coordinates.get(i).copied().unwrap_or(0);
        let (x, y, z) = (coordinate(0), coordinate(1), coordinate(2));
        let (at, layer) = match (kind.dim, kind.arrayed) {
            (ImageDim::Buffer, _) | (ImageDim::D1, false) => ([x, 0, 0], 0),
            (ImageDim::D1, true) => ([x, 0, 0], y),
            (ImageDim::D2, false) => ([x, y, 0], 0),
            (ImageDim::D2, true) | (ImageDim::Cube, _) => ([x, y, 0], z),
            (ImageDim::D3, _) => ([x, y, z], 0),
        };
        self.texel(at, layer, level)
    }

    /// The size of a level as such a shader sees it; zeros behind.
    pub fn size(&self, kind: ImageKind, level: i32) -> [u32; 3] {
        let inside = u32::try_from(level).ok().filter(|&level| level < self.levels);
        let Some(level) = inside else { return [0; 3] };
        let [width, height, depth] = self.level_extent(level);
        match (kind.dim, kind.arrayed) {
            (ImageDim::Buffer, _) | (ImageDim::D1, false) => [width, 0, 0],
            (ImageDim::D1, true) => [width, self.layers, 0],
            (ImageDim::D2 | ImageDim::Cube, false) => [width, height, 0],
            (ImageDim::D2, true) => [width, height, self.layers],
            (ImageDim::Cube, true) => [width, height, self.layers / 6],
            (ImageDim::D3, _) => [width, height, depth],
        }
    }

    /// The components of a texel of these bytes, as reading gives them.
    pub fn read(&self, bytes: &[u8]) -> [u64; 4] {
        self.swizzled(self.format.decode(bytes))
    }

    /// What reading gives outside of the image: zeros for the components that the format has (*Texel Replacement*).
    pub fn read_outside(&self) -> [u64; 4] {
        self.read(&[])
    }

    /// The components that the view makes of those of a texel.
    pub fn swizzled(&self, texel: [u64; 4]) -> [u64; 4] {
        if self.swizzle == Swizzle::IDENTITY {
            return texel;
        }
        let [red, green, blue, alpha] = texel;
        let one = if self.format.is_integer() { 1 } else { u64::from(1.0_f32.to_bits()) };
        self.swizzle.map(|swizzle| match swizzle {
            Swizzle::Zero => 0,
            Swizzle::One => one,
            Swizzle::Red => red,
            Swizzle::Green => green,
            Swizzle::Blue => blue,
            Swizzle::Alpha => alpha,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(dim: ImageDim, arrayed: bool) -> ImageKind {
        ImageKind { dim, arrayed, usage: ImageUse::Storage }
    }

    #[test]
    fn texels_of_a_packed_image_follow_each_other() {
        let layout = ImageLayout::packed(Format::R8g8Unorm, [4, 3, 2], 3, 2);
        let mut next = 0;
        for layer in 0..2 {
            for (level, [width, height, depth]) in [(0, [4, 3, 2]), (1, [2, 1, 1]), (2, [1, 1, 1])] {
                assert_eq!(layout.level_extent(level as u32), [width as u32, height as u32, depth as u32]);
                for (z, y, x) in
                    (0..depth).flat_map(|z| (0..height).flat_map(move |y| (0..width).map(move |x| (z, y, x))))
                {
                    assert_eq!(layout.texel([x, y, z], layer, level), Some(next));
                    next += 2;
                }
            }
        }
        assert_eq!(layout.bytes(), next);
    }

    #[test]
    fn nothing_is_outside() {
        let layout = ImageLayout::packed(Format::R32Uint, [4, 4, 1], 2, 3);
        for (at, layer, level) in [
            ([-1, 0, 0], 0, 0),
            ([4, 0, 0], 0, 0),
            ([0, 4, 0], 0, 0),
            ([0, 0, 1], 0, 0),
            ([0, 0, 0], 3, 0),
            ([0, 0, 0], -1, 0),
            ([0, 0, 0], 0, 2),
            ([0, 0, 0], 0, -1),
            ([2, 0, 0], 0, 1),
            ([i32::MIN, i32::MAX, 0], 0, 0),
        ] {
            assert_eq!(layout.texel(at, layer, level), None, "{at:?} {layer} {level}");
        }
        let far = ImageLayout { layer_pitch: u64::MAX, layers: 3, ..layout };
        assert_eq!(far.texel([0; 3], 2, 0), None);
        let many = ImageLayout { levels: u32::MAX, ..ImageLayout::packed(Format::R8Uint, [1, 1, 1], 40, 1) };
        assert_eq!(many.texel([0; 3], 0, 16), None);
        assert_eq!(many.texel([0; 3], 0, i32::MAX), None);
        let none = ImageLayout::buffer(Format::R32Uint, 3);
        assert_eq!((none.bytes(), none.texel([0; 3], 0, 0)), (0, None));
    }

    #[test]
    fn coordinates_and_sizes_are_those_of_the_dimension() {
        let layout = ImageLayout::packed(Format::R8Uint, [8, 4, 1], 1, 12);
        let cases = [
            (ImageDim::D1, false, 1, [8, 0, 0]),
            (ImageDim::D1, true, 2, [8, 12, 0]),
            (ImageDim::D2, false, 2, [8, 4, 0]),
            (ImageDim::D2, true, 3, [8, 4, 12]),
            (ImageDim::D3, false, 3, [8, 4, 1]),
            (ImageDim::Cube, false, 3, [8, 4, 0]),
            (ImageDim::Cube, true, 3, [8, 4, 2]),
        ];
        for (dim, arrayed, coordinates, size) in cases {
            let kind = kind(dim, arrayed);
            assert_eq!(kind.coordinates(), coordinates);
            assert_eq!(layout.size(kind, 0), size);
            assert_eq!(layout.size(kind, 1), [0; 3]);
            assert_eq!(size.iter().filter(|&&n| n != 0).count(), kind.sizes());
        }
        assert_eq!(layout.find(kind(ImageDim::D1, true), &[3, 2], 0), Some(2 * 32 + 3));
        assert_eq!(layout.find(kind(ImageDim::Cube, true), &[3, 2, 11], 0), Some(11 * 32 + 2 * 8 + 3));
        assert_eq!(layout.find(kind(ImageDim::D3, false), &[3, 2, 1], 0), None);
    }

    #[test]
    fn swizzles_apply_to_what_is_read() {
        let swizzle = [Swizzle::One, Swizzle::Alpha, Swizzle::Zero, Swizzle::Red];
        let layout = ImageLayout { swizzle, ..ImageLayout::packed(Format::R8g8b8a8Uint, [1; 3], 1, 1) };
        assert_eq!(layout.read(&[5, 6, 7, 8]), [1, 8, 0, 5]);
    }

    #[test]
    fn outside_are_zeros_in_the_components_of_the_format() {
        let outside = |format| ImageLayout::packed(format, [1; 3], 1, 1).read_outside();
        assert_eq!(outside(Format::R32g32Uint), [0, 0, 0, 1]);
        assert_eq!(outside(Format::R8g8b8a8Uint), [0; 4]);
    }
}
