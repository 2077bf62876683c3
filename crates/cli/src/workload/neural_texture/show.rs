//! What there is to look at: the original, what came back, where they differ, and how the loss fell.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::image::Image;
use super::train::Trained;
use super::{distance, psnr};
use crate::chart;
use crate::picture::{Picture, grey, heat};

/// Pixels between the views of a texture.
const GAP: usize = 8;

/// Small textures are shown so large at least.
const EDGE: usize = 256;

/// Errors from here on are the brightest.
const LARGE_ERROR: f64 = 0.2;

/// Writes everything to a directory and says what is where.
pub(super) fn write(
    image: &Image,
    found: &[f64],
    trained: &Trained,
    shows_loss: bool,
    directory: &Path,
) -> Result<String> {
    let [original, result, error] =
        ["original", "result", "error"].map(|name| directory.join(format!("neural-texture-{name}.png")));
    let values: Vec<f64> = image.values.iter().map(|&value| value.into()).collect();
    views(image, &values).write(&original)?;
    views(image, found).write(&result)?;
    errors(image, found).write(&error)?;
    let texels = found.chunks_exact(image.channels).enumerate();
    let squares: f64 = texels.map(|(index, found)| distance(found, image.texel(index))).sum();
    let mut text = format!(
        "The result is in {}, beside {} and {}: PSNR {:.1} dB at {:.1} bits for each texel of {} bytes.\n\
         Training: {} steps, {:.3} ms each, {:.3} ms of it in kernels; the loss went from {:.2e} to {:.2e}.",
        result.display(),
        original.display(),
        error.display(),
        psnr(squares, found.len()),
        (8 * trained.model.bytes()) as f64 / image.texels() as f64,
        image.channels,
        trained.losses.len(),
        1e3 * trained.time.as_secs_f64(),
        1e3 * trained.kernels_time.as_secs_f64(),
        mean(trained.losses.iter().take(last_part(trained))),
        mean(trained.losses.iter().rev().take(last_part(trained))),
    );
    if shows_loss {
        let path: PathBuf = directory.join("neural-texture-loss.svg");
        chart::write_losses(&path, &trained.losses)?;
        text.push_str(&format!(" Its curve is in {}.", path.display()));
    }
    Ok(text)
}

/// So many steps are the beginning, and the end.
fn last_part(trained: &Trained) -> usize {
    (trained.losses.len() / 50).max(1)
}

fn mean<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count.max(1))
}

/// How large a texel is shown.
fn zoom(image: &Image) -> usize {
    (EDGE / image.size[0].max(image.size[1])).max(1)
}

/// Colour; of six channels also the normal and the roughness beside it.
fn views(image: &Image, values: &[f64]) -> Picture {
    let ([width, height], zoom) = (image.size, zoom(image));
    let count = if image.channels == 6 { 3 } else { 1 };
    let step = width * zoom + GAP;
    let mut picture = Picture::new(count * step - GAP, height * zoom);
    let colour = |values: [f64; 3]| values.map(|value| grey(value)[0]);
    for (index, texel) in values.chunks_exact(image.channels).enumerate() {
        let mut show = |view: usize, pixel: [u8; 3]| {
            picture.set_square([view * step, 0], [index % width, index / width], zoom, pixel);
        };
        if let &[red, green, blue, ..] = texel {
            show(0, colour([red, green, blue]));
        }
        if let &[_, _, _, x, y, roughness] = texel {
            let (nx, ny) = (2.0 * x - 1.0, 2.0 * y - 1.0);
            let z = (1.0 - nx * nx - ny * ny).max(0.0).sqrt();
            show(1, colour([x, y, 0.5 + 0.5 * z]));
            show(2, grey(roughness));
        }
    }
    picture
}

/// The root of the mean square of the errors of a texel's channels.
fn errors(image: &Image, found: &[f64]) -> Picture {
    let ([width, height], zoom) = (image.size, zoom(image));
    let mut picture = Picture::new(width * zoom, height * zoom);
    for (index, texel) in found.chunks_exact(image.channels).enumerate() {
        let error = (distance(texel, image.texel(index)) / image.channels as f64).sqrt();
        picture.set_square([0; 2], [index % width, index / width], zoom, heat(error / LARGE_ERROR));
    }
    picture
}
