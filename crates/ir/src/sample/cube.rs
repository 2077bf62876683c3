//! The faces of a cube: which one a direction hits and where, and what lies beyond the edge of one.

/// On each face, which component of a direction is its s, its t, and the distance to the face, and with which sign
/// (table *Cube Map Face and Coordinate Selection*; the distance is positive on the face).
const FACES: [[(usize, f64); 3]; 6] = [
    [(2, -1.0), (1, -1.0), (0, 1.0)],
    [(2, 1.0), (1, -1.0), (0, -1.0)],
    [(0, 1.0), (2, 1.0), (1, 1.0)],
    [(0, 1.0), (2, -1.0), (1, -1.0)],
    [(0, 1.0), (1, -1.0), (2, 1.0)],
    [(0, -1.0), (1, -1.0), (2, -1.0)],
];

/// The face that a direction hits. Where magnitudes are equal, z wins over y, and both over x.
pub(super) fn face(direction: [f64; 3]) -> usize {
    let [x, y, z] = direction.map(f64::abs);
    let axis = match (z >= x && z >= y, y >= x) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    };
    2 * axis + usize::from(direction[axis] < 0.0)
}

/// A direction as s, t and distance of a face.
pub(super) fn on_face(face: usize, direction: [f64; 3]) -> [f64; 3] {
    FACES[face].map(|(axis, sign)| sign * direction[axis])
}

/// The place on a face, from 0 to 1, of such a direction.
pub(super) fn place([s, t, distance]: [f64; 3]) -> [f64; 3] {
    [0.5 * s / distance + 0.5, 0.5 * t / distance + 0.5, 0.0]
}

/// How this place changes where the direction does.
pub(super) fn place_change([s, t, distance]: [f64; 3], [ds, dt, change]: [f64; 3]) -> [f64; 3] {
    let change = |x: f64, dx: f64| 0.5 * (distance * dx - x * change) / (distance * distance);
    [change(s, ds), change(t, dt), 0.0]
}

/// The face and the texel that lie at a texel of a face of `size` texels in a row, at most one beyond an edge. There
/// is none at a corner, where three faces meet.
pub(super) fn neighbour(face: usize, [i, j]: [i64; 2], size: i64) -> Option<(usize, [i64; 2])> {
    let is_inside = |x: i64| (0..size).contains(&x);
    match (is_inside(i), is_inside(j)) {
        (true, true) => return Some((face, [i, j])),
        (false, false) => return None,
        _ => {}
    }
    // In halves of texels from the middle of the cube, the centres of the texels of a face are at odd or at even
    // numbers below the size. What lies beyond the edge is folded down to the next face, as far from the edge.
    let end = size as f64;
    let (s, t) = ((2 * i + 1 - size) as f64, (2 * j + 1 - size) as f64);
    let beyond = s.abs().max(t.abs()) - end;
    let folded = [s.clamp(-end, end), t.clamp(-end, end), end - beyond];
    let mut direction = [0.0; 3];
    for ((axis, sign), x) in FACES[face].into_iter().zip(folded) {
        direction[axis] = sign * x;
    }
    let next = self::face(direction);
    let [s, t, _] = on_face(next, direction);
    let texel = |x: f64| (x as i64 + size - 1).div_euclid(2);
    Some((next, [texel(s), texel(t)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_component_selects_the_face() {
        let cases = [
            ([1.0, 0.5, -0.5], 0),
            ([-1.0, 0.5, 0.5], 1),
            ([0.0, 2.0, 1.0], 2),
            ([0.0, -2.0, 1.0], 3),
            ([0.1, 0.2, 0.3], 4),
            ([0.1, 0.2, -0.3], 5),
            // Of equal ones z wins, then y.
            ([1.0, 1.0, 1.0], 4),
            ([-1.0, -1.0, 0.5], 3),
            ([1.0, 0.5, -1.0], 5),
        ];
        for (direction, expected) in cases {
            assert_eq!(face(direction), expected, "{direction:?}");
        }
    }

    #[test]
    fn faces_are_seen_from_inside_as_the_table_says() {
        // s and t of each face for (0.25, 0.5, 1) with the face's axis made the longest.
        let cases = [
            ([4.0, 0.5, 1.0], [-1.0, -0.5]),
            ([-4.0, 0.5, 1.0], [1.0, -0.5]),
            ([0.25, 4.0, 1.0], [0.25, 1.0]),
            ([0.25, -4.0, 1.0], [0.25, -1.0]),
            ([0.25, 0.5, 4.0], [0.25, -0.5]),
            ([0.25, 0.5, -4.0], [-0.25, -0.5]),
        ];
        for (number, (direction, [s, t])) in cases.into_iter().enumerate() {
            assert_eq!(face(direction), number);
            let found = on_face(number, direction);
            assert_eq!(found, [s, t, 4.0]);
            assert_eq!(place(found), [0.5 * s / 4.0 + 0.5, 0.5 * t / 4.0 + 0.5, 0.0]);
        }
    }

    #[test]
    fn changes_of_the_place_are_its_derivative() {
        let (at, change) = ([0.3, -0.7, 1.5], [0.2, 0.1, -0.4]);
        let step = 1e-6;
        let moved: [f64; 3] = std::array::from_fn(|axis| at[axis] + step * change[axis]);
        let (found, before, after) = (place_change(at, change), place(at), place(moved));
        for axis in 0..2 {
            let expected = (after[axis] - before[axis]) / step;
            assert!((found[axis] - expected).abs() < 1e-5, "{axis}: {} {expected}", found[axis]);
        }
    }

    /// Every texel at an edge has a neighbour on another face, whose neighbour it is.
    #[test]
    fn neighbours_are_each_others() {
        for size in [1_i64, 2, 5] {
            for number in 0..6 {
                for along in 0..size {
                    for (inside, beyond) in [
                        ([0, along], [-1, along]),
                        ([size - 1, along], [size, along]),
                        ([along, 0], [along, -1]),
                        ([along, size - 1], [along, size]),
                    ] {
                        let (next, at) = neighbour(number, beyond, size).unwrap();
                        assert_ne!(next, number);
                        assert!(at.iter().all(|x| (0..size).contains(x)), "{at:?}");
                        let around = [[-1, 0], [1, 0], [0, -1], [0, 1]];
                        let back = around.map(|[i, j]| neighbour(next, [at[0] + i, at[1] + j], size));
                        assert!(back.contains(&Some((number, inside))), "{number} {beyond:?} {next} {at:?}");
                    }
                }
                assert_eq!(neighbour(number, [-1, size], size), None);
                assert_eq!(neighbour(number, [0, size - 1], size), Some((number, [0, size - 1])));
            }
        }
    }

    /// Some edges by hand: the right side of +z is the left side of +x, the top of +z the bottom of +y, and the top
    /// of -z is the top of +y, turned round.
    #[test]
    fn edges_that_are_known() {
        assert_eq!(neighbour(4, [4, 1], 4), Some((0, [0, 1])));
        assert_eq!(neighbour(4, [1, -1], 4), Some((2, [1, 3])));
        assert_eq!(neighbour(5, [1, -1], 4), Some((2, [2, 0])));
        assert_eq!(neighbour(0, [1, -1], 4), Some((2, [3, 2])));
    }
}
