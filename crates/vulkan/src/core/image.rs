//! Images and their views.
//!
//! All tilings are linear, and an image has one sample. A layer has its levels one after another; rows are
//! packed, and so are the slices of a volume. Transfers take slices and layers for the same thing, and views of a
//! volume may show its slices as layers.

use std::sync::{Arc, OnceLock};

use phalanx::Format;
use smallvec::SmallVec;
use vulkanalia_sys as vk;

use crate::core::memory::{Range, Rows, Surface};

/// Alignment of an image in memory, and of each level within.
pub(crate) const ALIGNMENT: u64 = 64;

/// Most texels along a side of an image, and along a side of a volume (`maxImageDimension…`).
pub(crate) const MAX_EXTENT: u32 = 1 << 14;
pub(crate) const MAX_VOLUME_EXTENT: u32 = 1 << 11;

/// Most layers of an array (`maxImageArrayLayers`).
pub(crate) const MAX_LAYERS: u32 = 1 << 11;

/// Most texels of a texel buffer (`maxTexelBufferElements`): kernels number them by signed words.
pub(crate) const MAX_TEXELS: u32 = 1 << 28;

/// What an image is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) ty: vk::ImageType,
    pub(crate) format: Format,
    pub(crate) extent: [u32; 3],
    pub(crate) levels: u32,
    pub(crate) layers: u32,
}

/// A mip level in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// Of its first texel from the beginning of the layer, in bytes.
    pub(crate) offset: u64,
    pub(crate) extent: [u32; 3],
    /// Bytes from a row to the next, and from a slice of a volume to the next.
    pub(crate) rows: Rows,
}

impl Shape {
    fn is_volume(&self) -> bool {
        self.ty == vk::ImageType::_3D
    }

    /// The levels of a layer, and the bytes of a layer; nothing if they cannot be counted.
    fn layout(&self) -> Option<(SmallVec<[Level; 1]>, u64)> {
        let mut levels = SmallVec::new();
        let mut size = 0_u64;
        for level in 0..self.levels {
            let extent = self.extent.map(|extent| extent.checked_shr(level).unwrap_or(0).max(1));
            let [width, height, depth] = extent.map(u64::from);
            let row_pitch = (self.format.bytes() as u64).checked_mul(width)?;
            let slice_pitch = row_pitch.checked_mul(height)?;
            levels.push(Level { offset: size, extent, rows: Rows { row_pitch, slice_pitch } });
            let end = size.checked_add(slice_pitch.checked_mul(depth)?)?;
            size = end.checked_next_multiple_of(ALIGNMENT)?;
        }
        Some((levels, size))
    }
}

/// An image.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) shape: Shape,
    levels: SmallVec<[Level; 1]>,
    /// Bytes from a layer to the next.
    layer_pitch: u64,
    size: u64,
    /// Its memory, once it is bound; as long as the image.
    pub(crate) bound: OnceLock<Range>,
}

impl Image {
    /// An image without memory; nothing if no memory can be large enough for it.
    pub(crate) fn new(shape: Shape) -> Option<Self> {
        let (levels, layer_pitch) = shape.layout()?;
        let size = layer_pitch.checked_mul(shape.layers.into())?;
        Some(Self { shape, levels, layer_pitch, size, bound: OnceLock::new() })
    }

    /// What memory it needs.
    pub(crate) fn requirements(&self) -> vk::MemoryRequirements {
        vk::MemoryRequirements { size: self.size, alignment: ALIGNMENT, memory_type_bits: 1 }
    }

    /// Where a subresource lies.
    pub(crate) fn subresource_layout(&self, level: u32, layer: u32) -> Option<vk::SubresourceLayout> {
        let level = self.levels.get(level as usize)?;
        let [_, _, depth] = level.extent;
        Some(vk::SubresourceLayout {
            offset: level.offset + self.layer_pitch.checked_mul(layer.into())?,
            size: level.rows.slice_pitch * u64::from(depth),
            row_pitch: level.rows.row_pitch,
            array_pitch: self.layer_pitch,
            depth_pitch: level.rows.slice_pitch,
        })
    }

    /// The extent of a level, with the layers as slices.
    pub(crate) fn level_extent(&self, level: u32) -> Option<[u32; 3]> {
        let [width, height, depth] = self.levels.get(level as usize)?.extent;
        Some([width, height, if self.shape.is_volume() { depth } else { self.shape.layers }])
    }

    /// The texels of a box within a level, with the layers as slices; nothing if they are not all inside, or the
    /// image has no memory.
    pub(crate) fn texels(&self, level: u32, from: [u32; 3], extent: [u32; 3]) -> Option<Texels> {
        let all = self.level_extent(level)?;
        let is_inside = from
            .iter()
            .zip(extent.iter().zip(all))
            .all(|(from, (extent, all))| from.checked_add(*extent).is_some_and(|end| end <= all));
        if !is_inside {
            return None;
        }
        let level = self.levels.get(level as usize)?;
        let slice_pitch = if self.shape.is_volume() { level.rows.slice_pitch } else { self.layer_pitch };
        let rows = Rows { slice_pitch, ..level.rows };
        let [x, y, z] = from;
        let format = self.shape.format;
        let offset = level.offset + rows.at(y, z) + u64::from(x) * format.bytes() as u64;
        let range = self.bound.get()?.part(offset, vk::WHOLE_SIZE)?;
        Some(Texels { range, rows, format, extent })
    }
}

/// A box of texels in memory.
#[derive(Clone, Debug)]
pub(crate) struct Texels {
    /// From the first one on.
    pub(crate) range: Range,
    pub(crate) rows: Rows,
    pub(crate) format: Format,
    pub(crate) extent: [u32; 3],
}

impl Texels {
    /// Those of a buffer, whose rows and slices lie so many texels and rows apart (*Copying Data Between
    /// Buffers and Images*); zero stands for those of the extent.
    pub(crate) fn of_buffer(range: Range, format: Format, extent: [u32; 3], [row, slice]: [u32; 2]) -> Self {
        let or = |given: u32, extent: u32| u64::from(if given == 0 { extent } else { given });
        let [width, height, _] = extent;
        let row_pitch = or(row, width) * format.bytes() as u64;
        // What cannot be counted lies outside of all memory, where nothing is copied.
        let slice_pitch = row_pitch.saturating_mul(or(slice, height));
        Self { range, rows: Rows { row_pitch, slice_pitch }, format, extent }
    }

    /// Copies the texels to a box of the same extent, whose texels have the same size.
    pub(crate) fn copy_to(&self, to: &Self) {
        let [width, height, slices] = self.extent;
        let bytes = u64::from(width) * self.format.bytes().min(to.format.bytes()) as u64;
        self.range.copy_rows(&self.rows, &to.range, &to.rows, bytes, [height, slices]);
    }

    /// Gives all of them a value.
    pub(crate) fn fill(&self, texel: &[u8]) {
        let [width, height, slices] = self.extent;
        let row = texel.repeat(width as usize);
        for slice in 0..slices {
            for y in 0..height {
                self.range.write_at(self.rows.at(y, slice), &row);
            }
        }
    }
}

/// What a view shows of its image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ViewShape {
    pub(crate) ty: vk::ImageViewType,
    pub(crate) format: Format,
    pub(crate) components: [phalanx::Swizzle; 4],
    pub(crate) first_level: u32,
    pub(crate) levels: u32,
    pub(crate) first_layer: u32,
    pub(crate) layers: u32,
}

/// A view of an image.
#[derive(Debug)]
pub(crate) struct ImageView {
    /// What a kernel sees.
    pub(crate) surface: Arc<Surface>,
}

impl ImageView {
    /// A view of an image; nothing if it shows what the image does not have, or the image has no memory.
    pub(crate) fn new(image: &Image, view: &ViewShape) -> Option<Self> {
        let shown = image.levels.get(view.first_level as usize..)?.get(..view.levels as usize)?;
        let first = shown.first()?;
        let [width, height, depth] = first.extent;
        let shows_volume = view.ty == vk::ImageViewType::_3D;
        // Slices of a volume, if it is not shown as one (`VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT`).
        let (layers, layer_pitch) = match image.shape.is_volume() {
            true if shows_volume => (1, image.layer_pitch),
            true => (depth, first.rows.slice_pitch),
            false => (image.shape.layers, image.layer_pitch),
        };
        if view.first_layer.checked_add(view.layers)? > layers {
            return None;
        }
        let start = layer_pitch * u64::from(view.first_layer);
        let mut layout = phalanx::ImageLayout::packed(view.format, [1; 3], 1, 1);
        layout.extent = [width, height, if shows_volume { depth } else { 1 }];
        layout.layers = view.layers;
        layout.layer_pitch = layer_pitch;
        layout.levels = view.levels;
        layout.swizzle = view.components;
        for (to, level) in layout.level.iter_mut().zip(shown) {
            let Rows { row_pitch, slice_pitch } = level.rows;
            *to = phalanx::ImageLevel { offset: level.offset, row_pitch, slice_pitch };
        }
        let range = image.bound.get()?.part(start, vk::WHOLE_SIZE)?;
        Some(Self { surface: Arc::new(Surface::new(range, layout)) })
    }
}

/// A view of a part of a buffer as texels.
#[derive(Debug)]
pub(crate) struct BufferView {
    /// What a kernel sees.
    pub(crate) surface: Arc<Surface>,
}

impl BufferView {
    /// A view of this part.
    pub(crate) fn new(part: Range, format: Format) -> Self {
        let layout = phalanx::ImageLayout::buffer(format, part.size());
        Self { surface: Arc::new(Surface::new(part, layout)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::Memory;

    fn shape(ty: vk::ImageType, extent: [u32; 3], levels: u32, layers: u32) -> Shape {
        Shape { ty, format: Format::R16Uint, extent, levels, layers }
    }

    fn bound(shape: Shape) -> Image {
        let options = phalanx::DeviceOptions { threads: Some(1), ..phalanx::DeviceOptions::default() };
        let image = Image::new(shape).unwrap();
        let size = image.requirements().size;
        let memory = Memory::allocate(&phalanx::Device::new(&options).unwrap(), size).unwrap();
        image.bound.set(Range::new(&Arc::new(memory), 0, size).unwrap()).unwrap();
        image
    }

    #[test]
    fn subresources_do_not_overlap() {
        for shape in [
            shape(vk::ImageType::_1D, [9, 1, 1], 4, 3),
            shape(vk::ImageType::_2D, [9, 5, 1], 4, 3),
            shape(vk::ImageType::_3D, [9, 5, 3], 4, 1),
        ] {
            let image = Image::new(shape).unwrap();
            let mut parts: Vec<(u64, u64)> = (0..shape.layers)
                .flat_map(|layer| (0..shape.levels).map(move |level| (level, layer)))
                .map(|(level, layer)| image.subresource_layout(level, layer).unwrap())
                .map(|layout| (layout.offset, layout.offset + layout.size))
                .collect();
            parts.push((image.requirements().size, u64::MAX));
            assert!(
                parts.windows(2).all(|pair| pair[0].1 <= pair[1].0 && pair[0].0 < pair[0].1),
                "{parts:?}"
            );
        }
    }

    #[test]
    fn images_that_cannot_be_counted_are_none() {
        let huge = Shape { layers: u32::MAX, ..shape(vk::ImageType::_2D, [u32::MAX, u32::MAX, 1], 1, 1) };
        assert!(Image::new(huge).is_none());
        assert!(Image::new(shape(vk::ImageType::_3D, [u32::MAX; 3], 1, 1)).is_none());
    }

    #[test]
    fn boxes_stay_inside() {
        let image = bound(shape(vk::ImageType::_2D, [9, 5, 1], 2, 3));
        assert_eq!(image.level_extent(1), Some([4, 2, 3]));
        assert!(image.texels(0, [0; 3], [9, 5, 3]).is_some() && image.texels(1, [3, 1, 2], [1; 3]).is_some());
        for (level, from, extent) in [
            (0, [1, 0, 0], [9, 1, 1]),
            (0, [0, 0, 3], [1; 3]),
            (1, [0; 3], [4, 3, 1]),
            (2, [0; 3], [1; 3]),
            (0, [u32::MAX, 0, 0], [2, 1, 1]),
        ] {
            assert!(image.texels(level, from, extent).is_none(), "{level} {from:?} {extent:?}");
        }
        let unbound = Image::new(image.shape).unwrap();
        assert!(unbound.texels(0, [0; 3], [1; 3]).is_none(), "without memory there are no texels");
    }

    #[test]
    fn views_show_what_the_image_has() {
        let volume = bound(shape(vk::ImageType::_3D, [9, 5, 3], 2, 1));
        let array = bound(shape(vk::ImageType::_2D, [9, 5, 1], 2, 3));
        let view = |ty, (first_level, levels), (first_layer, layers)| ViewShape {
            ty,
            format: Format::R16Sfloat,
            components: phalanx::Swizzle::IDENTITY,
            first_level,
            levels,
            first_layer,
            layers,
        };
        use vk::ImageViewType as T;
        for (image, ty, levels, layers, exists) in [
            (&volume, T::_3D, (0, 2), (0, 1), true),
            (&volume, T::_3D, (0, 2), (0, 2), false),
            (&volume, T::_2D_ARRAY, (0, 1), (1, 2), true),
            (&volume, T::_2D_ARRAY, (1, 1), (0, 2), false),
            (&array, T::_2D_ARRAY, (1, 1), (0, 3), true),
            (&array, T::_2D, (0, 2), (2, 1), true),
            (&array, T::_2D, (1, 2), (0, 1), false),
            (&array, T::_2D, (2, 0), (0, 1), false),
            (&array, T::_2D, (0, 1), (2, u32::MAX), false),
        ] {
            let found = ImageView::new(image, &view(ty, levels, layers)).is_some();
            assert_eq!(found, exists, "{ty:?} {levels:?} {layers:?}");
        }
    }
}
