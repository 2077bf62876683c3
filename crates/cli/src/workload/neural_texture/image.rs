//! What is compressed: an image that is made here, or one from a PNG file.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use png::{ColorType, Decoder, Transformations};

use super::bricks;

/// Texels row by row, each with its channels from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Image {
    /// Width and height in texels.
    pub(super) size: [usize; 2],
    pub(super) channels: usize,
    pub(super) values: Vec<f32>,
}

/// The longest edge of an image.
pub(super) const MAX_EDGE: u32 = 4096;

impl Image {
    /// A square of bricks: colour, normal and roughness.
    pub(super) fn bricks(size: usize) -> Self {
        let values = bricks::texels(size).flatten().map(|value| value as f32).collect();
        Self { size: [size; 2], channels: bricks::CHANNELS, values }
    }

    /// The colours of a PNG file of any kind. Greys have three equal channels, and what is transparent lies on white.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let context = || format!("{} is no PNG file that can be read", path.display());
        let mut decoder = Decoder::new(BufReader::new(file));
        decoder.set_transformations(Transformations::EXPAND);
        let mut reader = decoder.read_info().with_context(context)?;
        let (width, height) = (reader.info().width, reader.info().height);
        ensure!(
            width.max(height) <= MAX_EDGE,
            "{}: an image of {width} x {height}, the longest edge is {MAX_EDGE}",
            path.display()
        );
        let mut bytes = vec![0; reader.output_buffer_size().with_context(context)?];
        let info = reader.next_frame(&mut bytes).with_context(context)?;
        bytes.truncate(info.buffer_size());
        let samples: Vec<f32> = match info.bit_depth {
            png::BitDepth::Sixteen => {
                let words = bytes.as_chunks().0.iter();
                words.map(|&word| f32::from(u16::from_be_bytes(word)) / f32::from(u16::MAX)).collect()
            }
            _ => bytes.iter().map(|&byte| f32::from(byte) / f32::from(u8::MAX)).collect(),
        };
        let on_white = |value: f32, alpha: f32| value * alpha + (1.0 - alpha);
        let colours: Vec<[f32; 3]> = match info.color_type {
            ColorType::Grayscale => samples.iter().map(|&grey| [grey; 3]).collect(),
            ColorType::GrayscaleAlpha => {
                samples.as_chunks().0.iter().map(|&[grey, alpha]| [on_white(grey, alpha); 3]).collect()
            }
            ColorType::Rgba => {
                let texels = samples.as_chunks().0.iter();
                texels.map(|&[r, g, b, alpha]| [r, g, b].map(|value| on_white(value, alpha))).collect()
            }
            ColorType::Rgb | ColorType::Indexed => samples.as_chunks().0.to_vec(),
        };
        let size = [width as usize, height as usize];
        ensure!(colours.len() == size[0] * size[1], "{}: not all of an image", path.display());
        Ok(Self { size, channels: 3, values: colours.into_flattened() })
    }

    pub(super) fn texels(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// The channels of a texel, counted row by row.
    pub(super) fn texel(&self, index: usize) -> &[f32] {
        &self.values[index * self.channels..][..self.channels]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a PNG of 2 x 1 pixels and reads it back.
    fn read_back(color: ColorType, depth: png::BitDepth, data: &[u8]) -> Vec<f32> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("a.png");
        let mut encoder = png::Encoder::new(File::create(&path).expect("writable"), 2, 1);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == ColorType::Indexed {
            encoder.set_palette(vec![0, 0, 0, 255, 0, 51]);
        }
        let mut writer = encoder.write_header().expect("possible");
        writer.write_image_data(data).expect("possible");
        writer.finish().expect("possible");
        let image = Image::read(&path).expect("a PNG");
        assert_eq!((image.size, image.channels), ([2, 1], 3));
        image.values
    }

    #[test]
    fn every_kind_of_png_becomes_colours() {
        use png::BitDepth::{Eight, One, Sixteen};
        let thirds = [0.2, 0.4, 0.6];
        assert_eq!(read_back(ColorType::Rgb, Eight, &[51, 102, 153, 0, 255, 0])[..3], thirds);
        assert_eq!(read_back(ColorType::Grayscale, Eight, &[51, 255]), [0.2, 0.2, 0.2, 1.0, 1.0, 1.0]);
        assert_eq!(read_back(ColorType::Grayscale, One, &[0b0100_0000])[..4], [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(read_back(ColorType::Indexed, One, &[0b0100_0000])[3..], [1.0, 0.0, 0.2]);
        let words = [0x33, 0x33, 0x66, 0x66, 0x99, 0x99, 0, 0, 0xff, 0xff, 0, 0];
        assert_eq!(read_back(ColorType::Rgb, Sixteen, &words)[..3], thirds);
        assert_eq!(read_back(ColorType::GrayscaleAlpha, Eight, &[0, 255, 0, 0])[2..4], [0.0, 1.0]);
        let half = read_back(ColorType::Rgba, Eight, &[255, 0, 51, 102, 9, 9, 9, 0]);
        let expected = [1.0, 0.6, 0.68, 1.0, 1.0, 1.0];
        assert!(half.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-6), "{half:?}");
    }

    #[test]
    fn what_is_no_image_is_refused_in_one_line() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let refused = |bytes: Option<&[u8]>, expected: &str| {
            let path = directory.path().join("a.png");
            bytes.map_or_else(|| (), |bytes| std::fs::write(&path, bytes).expect("writable"));
            let error = format!("{:#}", Image::read(&path).expect_err("no image"));
            assert!(error.contains(expected) && error.contains("a.png") && !error.contains('\n'), "{error}");
        };
        refused(None, "cannot be read");
        refused(Some(b"no image"), "is no PNG file that can be read");
        refused(Some(b""), "is no PNG file that can be read");
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, 5000, 1);
        encoder.set_color(ColorType::Grayscale);
        let mut writer = encoder.write_header().expect("possible");
        writer.write_image_data(&[7; 5000]).expect("possible");
        writer.finish().expect("possible");
        refused(Some(&png), "5000 x 1, the longest edge is 4096");
        let mut png = Vec::new();
        let mut writer = png::Encoder::new(&mut png, 400, 300).write_header().expect("possible");
        writer.write_image_data(&[7; 120_000]).expect("possible");
        writer.finish().expect("possible");
        refused(Some(&png[..60]), "is no PNG file that can be read");
    }
}
