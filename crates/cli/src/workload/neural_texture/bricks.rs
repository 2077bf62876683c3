//! The image that the demo makes: a wall of bricks, computed and the same everywhere. It has no seam where it repeats.

use std::f64::consts::TAU;

/// What a texel holds, each from 0 to 1: red, green, blue, the normal's x and y, the roughness.
pub(super) const CHANNELS: usize = 6;

/// Bricks along an edge.
const COLUMNS: f64 = 4.0;
const ROWS: f64 = 8.0;

/// Where a brick ends, as a part of its height.
const MORTAR: f64 = 0.12;

/// The texels of a texture of this edge, row by row.
pub(super) fn texels(size: usize) -> impl Iterator<Item = [f64; CHANNELS]> {
    let step = 1.0 / size as f64;
    let at = move |index: usize| (index as f64 + 0.5) * step;
    (0..size * size).map(move |index| texel(at(index % size), at(index / size), step))
}

fn texel(u: f64, v: f64, step: f64) -> [f64; CHANNELS] {
    let (inside, brick) = brick(u, v);
    let slope = |du: f64, dv: f64| (height(u + du, v + dv) - height(u - du, v - dv)) / (2.0 * step);
    let (x, y) = (-slope(step, 0.0) / 40.0, -slope(0.0, step) / 40.0);
    let length = (x * x + y * y + 1.0).sqrt();
    let grain = 0.5 + 0.5 * noise(u, v);
    let shade = 0.75 + 0.25 * (brick * 2.4).sin();
    let mix = |mortar: f64, brick: f64| mortar + inside * (brick - mortar);
    [
        mix(0.60 + 0.10 * grain, shade * (0.55 + 0.20 * grain)),
        mix(0.58 + 0.10 * grain, shade * (0.22 + 0.10 * grain)),
        mix(0.54 + 0.10 * grain, shade * (0.15 + 0.06 * grain)),
        0.5 + 0.5 * x / length,
        0.5 + 0.5 * y / length,
        mix(0.9, 0.45 + 0.35 * grain),
    ]
}

/// How far a place is inside of a brick, from 0 to 1, and the number of that brick.
fn brick(u: f64, v: f64) -> (f64, f64) {
    let row = (v * ROWS).floor();
    // Every other row is half a brick off.
    let along = u * COLUMNS + if row.rem_euclid(2.0) == 0.0 { 0.0 } else { 0.5 };
    let to_edge = |at: f64| 0.5 - (at - at.floor() - 0.5).abs();
    // Bricks are about twice as wide as they are high.
    let nearest = to_edge(v * ROWS).min(2.0 * to_edge(along));
    let inside = ((nearest - MORTAR / 2.0) / MORTAR).clamp(0.0, 1.0);
    let number = row.rem_euclid(ROWS) * COLUMNS + along.floor().rem_euclid(COLUMNS);
    (inside * inside * (3.0 - 2.0 * inside), number)
}

fn height(u: f64, v: f64) -> f64 {
    brick(u, v).0 + 0.15 * noise(u, v)
}

/// Smooth noise from -1 to 1: waves that fit into the texture.
fn noise(u: f64, v: f64) -> f64 {
    const WAVES: [(f64, f64, f64); 6] = [
        (1.0, 3.0, 0.3),
        (4.0, -2.0, 1.9),
        (5.0, 6.0, 4.1),
        (-9.0, 4.0, 2.2),
        (7.0, 11.0, 5.5),
        (13.0, -8.0, 0.9),
    ];
    let sum: f64 = WAVES.iter().map(|(x, y, phase)| (TAU * (x * u + y * v) + phase).sin()).sum();
    sum / WAVES.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texels_are_in_range_and_repeat_without_a_seam() {
        let texels: Vec<_> = texels(64).collect();
        assert!(texels.iter().flatten().all(|value| (0.0..=1.0).contains(value)));
        let spread = |channel: usize| {
            let values = texels.iter().map(|texel| texel[channel]);
            values.clone().fold(0.0, f64::max) - values.fold(1.0, f64::min)
        };
        assert!((0..CHANNELS).all(|channel| spread(channel) > 0.2), "every channel shows something");
        let (here, there) = (texel(0.1, 0.2, 0.01), texel(1.1, -0.8, 0.01));
        assert!(here.iter().zip(&there).all(|(a, b)| (a - b).abs() < 1e-9));
    }
}
