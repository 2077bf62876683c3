//! Results as PNG files.

use std::path::Path;

use anyhow::{Context, Result};

use crate::output::Output;

/// Pixels of red, green and blue, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

/// What is between the parts of a picture.
const PAPER: [u8; 3] = [0xff; 3];

impl Picture {
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![PAPER; width * height] }
    }

    /// Sets a pixel; outside of the picture there is none.
    pub(crate) fn set(&mut self, x: usize, y: usize, colour: [u8; 3]) {
        let is_inside = x < self.width && y < self.height;
        if let Some(pixel) = self.pixels.get_mut(y * self.width + x).filter(|_| is_inside) {
            *pixel = colour;
        }
    }

    /// Sets a square of pixels, the `x`-th and `y`-th of its size after `left` and `top`.
    pub(crate) fn set_square(
        &mut self,
        [left, top]: [usize; 2],
        [x, y]: [usize; 2],
        size: usize,
        colour: [u8; 3],
    ) {
        for (dy, dx) in (0..size).flat_map(|dy| (0..size).map(move |dx| (dy, dx))) {
            self.set(left + x * size + dx, top + y * size + dy, colour);
        }
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let context = || format!("{} cannot be written", path.display());
        let mut file = Output::create(path).with_context(context)?;
        let (width, height) = (u32::try_from(self.width)?, u32::try_from(self.height)?);
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().with_context(context)?;
        writer.write_image_data(self.pixels.as_flattened()).with_context(context)?;
        writer.finish().with_context(context)?;
        file.finish().with_context(context)
    }
}

/// A colour for a number from 0 to 1: from dark blue over green to yellow, brighter all the way.
pub(crate) fn heat(value: f64) -> [u8; 3] {
    const STOPS: [[f64; 3]; 4] =
        [[35.0, 20.0, 80.0], [45.0, 105.0, 140.0], [75.0, 185.0, 110.0], [250.0, 230.0, 60.0]];
    let value = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) };
    let at = value * (STOPS.len() - 1) as f64;
    let before = (at as usize).min(STOPS.len() - 2);
    let fraction = at - before as f64;
    std::array::from_fn(|channel| {
        let [from, to] = [STOPS[before][channel], STOPS[before + 1][channel]];
        (from + fraction * (to - from)).round() as u8
    })
}

/// A grey for a number from 0 to 1.
pub(crate) fn grey(value: f64) -> [u8; 3] {
    [(255.0 * value.clamp(0.0, 1.0)).round() as u8; 3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_read_back() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("a.png");
        let mut picture = Picture::new(3, 2);
        picture.set(1, 1, [1, 2, 3]);
        picture.set(3, 0, [9, 9, 9]);
        picture.write(&path).expect("writable");
        let decoder =
            png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&path).expect("written")));
        let mut reader = decoder.read_info().expect("a PNG");
        let mut bytes = vec![0; reader.output_buffer_size().expect("small")];
        let info = reader.next_frame(&mut bytes).expect("an image");
        assert_eq!((info.width, info.height), (3, 2));
        assert_eq!(bytes, [[255; 12].as_slice(), &[1, 2, 3], &[255; 3]].concat());
    }

    #[test]
    fn hot_is_brighter() {
        let brightness = |value| heat(value).iter().map(|&part| u32::from(part)).sum::<u32>();
        assert!((1..20).all(|step| {
            let value = f64::from(step) / 20.0;
            brightness(value) > brightness(value - 0.05)
        }));
        assert_eq!(heat(f64::NAN), heat(0.0));
    }
}
