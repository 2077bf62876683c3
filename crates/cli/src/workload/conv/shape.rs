//! The sizes of a convolution, and what follows from them.

use anyhow::{Context, Result, ensure};

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) images: u32,
    pub(super) height: u32,
    pub(super) width: u32,
    pub(super) channels: u32,
    pub(super) out_channels: u32,
    pub(super) filter: [u32; 2],
    pub(super) stride: u32,
    pub(super) dilation: u32,
    pub(super) pad: u32,
}

/// Numbers with an x between them.
pub(super) fn sizes<const N: usize>(text: &str, form: &str) -> Result<[u32; N]> {
    let numbers: Vec<u32> = text
        .split('x')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()
        .with_context(|| expected(text, form))?;
    numbers.try_into().ok().with_context(|| expected(text, form))
}

fn expected(text: &str, form: &str) -> String {
    format!("`{text}` is no size; write {form}")
}

impl Shape {
    pub(super) fn check(&self) -> Result<()> {
        let Self { images, height, width, channels, out_channels, filter, stride, dilation, pad } = *self;
        for (name, size) in [
            ("images", images),
            ("rows of an image", height),
            ("columns of an image", width),
            ("channels", channels),
            ("channels of the result", out_channels),
            ("rows of a filter", filter[0]),
            ("columns of a filter", filter[1]),
            ("pixels of stride", stride),
            ("pixels of dilation", dilation),
        ] {
            ensure!((1..=4096).contains(&size), "{size} {name}: there are from 1 to 4096");
        }
        ensure!(pad <= 4096, "{pad} rows of zeros are more than 4096");
        for (input, taps, axis) in [(height, filter[0], "high"), (width, filter[1], "wide")] {
            let reach = dilation * (taps - 1) + 1;
            ensure!(
                reach <= input + 2 * pad,
                "the filter is {reach} pixels {axis}, and the image with its padding {}",
                input + 2 * pad
            );
        }
        let elements = [self.image_elements() as u64 * u64::from(images), self.result_elements() as u64];
        ensure!(elements.iter().all(|&count| count < 1 << 31), "indices of elements are 32-bit");
        Ok(())
    }

    /// The height and width of the result.
    pub(super) fn out(&self) -> [u32; 2] {
        let size =
            |input: u32, taps: u32| (input + 2 * self.pad - self.dilation * (taps - 1) - 1) / self.stride + 1;
        [size(self.height, self.filter[0]), size(self.width, self.filter[1])]
    }

    pub(super) fn pixels(&self) -> u32 {
        self.out()[0] * self.out()[1]
    }

    /// From one image to the next: 16 bytes are where a tensor may start.
    pub(super) fn image_elements(&self) -> usize {
        (self.height as usize * self.width as usize * self.channels as usize).next_multiple_of(8)
    }

    pub(super) fn result_elements(&self) -> usize {
        self.images as usize * self.pixels() as usize * self.out_channels as usize
    }

    /// How many products make an element of the result.
    pub(super) fn depth(&self) -> u32 {
        self.filter[0] * self.filter[1] * self.channels
    }
}
