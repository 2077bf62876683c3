//! From a rung, types and a size to everything that a dispatch needs beside its buffers.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail, ensure};

use super::{Rung, Types, staged};
use crate::measure::Constant;

/// Three sizes along M, N and K.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mnk {
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
}

impl Mnk {
    pub(crate) fn cube(size: u32) -> Self {
        Self { m: size, n: size, k: size }
    }

    /// `512³`, or `512x256x1024`.
    pub(crate) fn brief(self) -> String {
        if self == Self::cube(self.m) { format!("{}³", self.m) } else { self.to_string() }
    }
}

impl fmt::Display for Mnk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x{}x{}", self.m, self.n, self.k))
    }
}

impl FromStr for Mnk {
    type Err = Error;

    /// `512x256x1024`, or `512` for all three. Kernels count the elements of a matrix in 32 bits.
    fn from_str(text: &str) -> Result<Self> {
        let numbers: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[size @ 1..=65536]) => Ok(Self::cube(size)),
            Ok(&[m @ 1..=65536, n @ 1..=65536, k @ 1..=65536]) => Ok(Self { m, n, k }),
            _ => {
                bail!("`{text}` is no size; write 512, or 512x256x1024 for M, N and K, each from 1 to 65536")
            }
        }
    }
}

/// What the user may choose; the rest follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Choices {
    /// What a work-group computes, and the step along K.
    pub(crate) tile: Option<Mnk>,
    /// The size of one matrix, 16x16x16 unless given.
    pub(crate) shape: Option<Mnk>,
    pub(crate) is_b_column_major: bool,
    /// How many threads share the work-groups.
    pub(crate) threads: u32,
    /// Whether it is for a GPU: there `shared` copies 16 bytes at a time, and fetches the blocks of the next step before it
    /// multiplies, if nobody else does.
    pub(crate) is_for_gpu: bool,
}

impl Choices {
    /// The type in which `shared` copies A and B, and its size.
    fn piece(self) -> (&'static str, u32) {
        if self.is_for_gpu { ("uvec4", PAD_BYTES) } else { PIECE }
    }
}

/// One dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) size: Mnk,
    pub(crate) tile: Mnk,
    /// The size of one matrix, where the rung has any.
    pub(crate) shape: Option<Mnk>,
    pub(crate) is_b_column_major: bool,
    /// What copies to shared memory move at a time: a type of GLSL, and its bytes.
    pub(crate) piece: (&'static str, u32),
    pub(crate) constants: Vec<(u32, Constant)>,
    pub(crate) groups: [u32; 3],
}

/// How many invocations a subgroup has; the rungs with matrices rely on it.
pub(crate) const SUBGROUP_SIZE: u32 = 32;

/// With fewer work-groups for each thread, some threads would wait long for the others.
const GROUPS_PER_THREAD: u32 = 4;

/// With fewer work-groups, multiprocessors of a large GPU have none.
const GROUPS_OF_A_GPU: u32 = 128;

/// The subgroups of a work-group in the rung `shared`.
const SUBGROUP_ROWS: u32 = 2;
const SUBGROUP_COLS: u32 = 2;

/// The rows and columns of subgroups that the rung `shared` has for a tile. On a GPU one of them holds 4096 sums in its
/// registers, and a work-group eight of them.
fn subgroups(tile: Mnk, shape: Mnk, types: Types, is_for_gpu: bool) -> [u32; 2] {
    match (tile, is_for_gpu && is_together(tile, shape, types)) {
        (Mnk { n: 256.., .. }, true) => [4, 2],
        (Mnk { m: 256.., .. }, true) => [8, 1],
        (_, true) => [4, 1],
        (Mnk { n: 256.., .. }, false) if is_for_gpu => [SUBGROUP_ROWS, 2 * SUBGROUP_COLS],
        (Mnk { m: 256.., .. }, false) if is_for_gpu => [2 * SUBGROUP_ROWS, SUBGROUP_COLS],
        (_, false) => [SUBGROUP_ROWS, SUBGROUP_COLS],
    }
}

/// Whether four subgroups of a GPU that have the same columns multiply together, and threads of their own copy.
fn is_together(tile: Mnk, shape: Mnk, types: Types) -> bool {
    types.a.size_bytes() == 2 && shape == Mnk::cube(16) && tile.m.is_multiple_of(128)
}

impl Plan {
    pub(crate) fn new(rung: Rung, types: Types, size: Mnk, choices: Choices) -> Result<Self> {
        let shape = choices.shape.unwrap_or(DEFAULT_SHAPE);
        let local = local_size(rung);
        let smallest = smallest_tile(rung, shape);
        let tile = match choices.tile {
            Some(tile) if !matches!(rung, Rung::Scalar | Rung::Simple) => tile,
            _ => default_tile(rung, types, shape, size, choices),
        };
        let [rows, cols] = subgroups(tile, shape, types, choices.is_for_gpu);
        let local = if rung == Rung::Shared { [SUBGROUP_SIZE * rows * cols, 1] } else { local };
        let context = || format!("{rung} {types} {size} in tiles of {tile}");
        ensure!(
            rung != Rung::SharedMlir
                || (shape, tile, choices.is_b_column_major) == (Mnk::cube(16), MLIR_TILE, false),
            "{}: it is written for matrices of 16x16x16, tiles of {MLIR_TILE} and a B row by row",
            context()
        );
        for (axis, size, tile, smallest) in [
            ("M", size.m, tile.m, smallest.m),
            ("N", size.n, tile.n, smallest.n),
            ("K", size.k, tile.k, smallest.k),
        ] {
            ensure!(
                tile % smallest == 0,
                "{}: the tile's {axis} must be a multiple of {smallest}",
                context()
            );
            ensure!(
                size % tile == 0 || rung == Rung::Workgroup,
                "{}: {axis} must be a multiple of the tile's",
                context()
            );
        }
        if rung == Rung::Shared {
            let bytes = choices.piece().1;
            let piece = piece_elems(types, bytes);
            let starts_on_a_piece =
                shape.k.is_multiple_of(piece) && (choices.is_b_column_major || shape.n.is_multiple_of(piece));
            ensure!(
                starts_on_a_piece,
                "{}: rows of matrices of {shape} are no multiple of {bytes} bytes",
                context(),
            );
            check_copies(types, bytes, tile, local).with_context(context)?;
            let is_whole = tile.m.is_multiple_of(rows * shape.m) && tile.n.is_multiple_of(cols * shape.n);
            ensure!(is_whole, "{}: {rows}x{cols} subgroups cannot share it", context());
        }
        let mut piece = choices.piece();
        if let Rung::Staged(copies) = rung {
            piece = copies.piece(types, shape);
            staged::check(piece.1 / types.a.size_bytes() as u32, tile, choices.is_b_column_major, local)
                .with_context(context)?;
        }
        let mut constants = vec![
            (0, Constant::U32(shape.m)),
            (1, Constant::U32(shape.n)),
            (2, Constant::U32(shape.k)),
            (3, Constant::U32(tile.m)),
            (4, Constant::U32(tile.n)),
            (5, Constant::U32(tile.k)),
            (6, Constant::Bool(choices.is_b_column_major)),
            (7, Constant::U32(local[0])),
            (8, Constant::U32(local[1])),
        ];
        if rung == Rung::Shared {
            constants.extend(
                [(9, rows), (10, cols), (11, PAD_BYTES / piece.1)]
                    .map(|(id, value)| (id, Constant::U32(value))),
            );
            // On a processor multiplications ask the caches for the next blocks, on a GPU other threads may copy them.
            constants.push((12, Constant::Bool(choices.is_for_gpu && !is_together(tile, shape, types))));
        }
        if let Rung::Staged(_) = rung {
            let pad = staged::PAD_BYTES / piece.1;
            constants.extend(
                [(9, staged::SUBGROUP_ROWS), (10, staged::SUBGROUP_COLS), (11, pad)]
                    .map(|(id, value)| (id, Constant::U32(value))),
            );
        }
        if rung == Rung::Workgroup {
            constants.extend([(12, Constant::U32(size.m)), (13, Constant::U32(size.n))]);
        }
        let groups = [size.n.div_ceil(tile.n), size.m.div_ceil(tile.m), 1];
        let shape = match rung {
            Rung::Scalar | Rung::TiledScalar => None,
            Rung::Workgroup => Some(tile),
            _ => Some(shape),
        };
        let is_b_column_major = choices.is_b_column_major;
        Ok(Self { size, tile, shape, is_b_column_major, piece, constants, groups })
    }

    /// K and the strides of A, B, C and D, in elements and without gaps.
    pub(crate) fn push_constants(&self) -> Vec<u8> {
        let Mnk { n, k, .. } = self.size;
        let stride_b = if self.is_b_column_major { k } else { n };
        [k, k, stride_b, n, n].iter().flat_map(|number| number.to_le_bytes()).collect()
    }
}

/// What GPUs have in common. A device that has no registers for matrices gains from larger ones, as less is moved for each
/// multiplication; but kernels are written for this.
pub(crate) const DEFAULT_SHAPE: Mnk = Mnk { m: 16, n: 16, k: 16 };

/// How many elements are 128 bytes, but no fewer than 64: short steps along K do not pay.
fn line_elems(types: Types) -> u32 {
    (128 / types.a.size_bytes() as u32).max(64)
}

/// The width and height of a work-group.
fn local_size(rung: Rung) -> [u32; 2] {
    match rung {
        Rung::Scalar | Rung::TiledScalar => [SUBGROUP_SIZE, 4],
        Rung::Simple | Rung::Tiled | Rung::TiledNv => [SUBGROUP_SIZE, 1],
        Rung::Shared | Rung::SharedMlir => [SUBGROUP_SIZE * SUBGROUP_ROWS * SUBGROUP_COLS, 1],
        Rung::Staged(_) => [SUBGROUP_SIZE * staged::SUBGROUP_ROWS * staged::SUBGROUP_COLS, 1],
        Rung::Workgroup => [WORKGROUP_INVOCATIONS, 1],
    }
}

/// What every tile must be a multiple of.
fn smallest_tile(rung: Rung, shape: Mnk) -> Mnk {
    let [width, height] = local_size(rung);
    match rung {
        Rung::Scalar | Rung::TiledScalar => Mnk { m: height, n: width, k: 1 },
        Rung::Simple | Rung::Tiled | Rung::TiledNv | Rung::Workgroup => shape,
        Rung::Shared => Mnk { m: SUBGROUP_ROWS * shape.m, n: SUBGROUP_COLS * shape.n, k: shape.k },
        Rung::Staged(_) => {
            Mnk { m: staged::SUBGROUP_ROWS * shape.m, n: staged::SUBGROUP_COLS * shape.n, k: shape.k }
        }
        Rung::SharedMlir => MLIR_TILE,
    }
}

/// What a work-group of the rung `shared-mlir` computes, and its step along K.
const MLIR_TILE: Mnk = Mnk { m: 128, n: 128, k: 64 };

/// The size of a work-group in the rung `workgroup`.
const WORKGROUP_INVOCATIONS: u32 = 256;

/// A tile that suits the rung, made smaller until it divides the size.
fn default_tile(rung: Rung, types: Types, shape: Mnk, size: Mnk, choices: Choices) -> Mnk {
    let smallest = smallest_tile(rung, shape);
    let step = line_elems(types);
    let wanted = match rung {
        Rung::Scalar | Rung::Simple | Rung::SharedMlir => smallest,
        Rung::TiledScalar => Mnk { m: 16, n: 128, k: 1 },
        Rung::Tiled | Rung::TiledNv | Rung::Shared => {
            let (largest, groups) = match (choices.is_for_gpu, rung) {
                (false, _) => (256 * 256, GROUPS_PER_THREAD * choices.threads.max(1)),
                // What registers hold: of four subgroups, and of one.
                (true, Rung::Shared) => (128 * 128, GROUPS_OF_A_GPU),
                (true, _) => (64 * 64, 1),
            };
            // Large tiles load least, as long as there is one for everybody.
            let [m, n] = [(256, 256), (128, 256), (128, 128), (64, 128), (64, 64)]
                .into_iter()
                .find(|(m, n)| m * n <= largest && (size.m / m) * (size.n / n) >= groups)
                .map_or([64, 64], |(m, n)| [m, n]);
            Mnk { m, n, k: step }
        }
        Rung::Staged(_) => Mnk { m: 128, n: 128, k: 32 },
        Rung::Workgroup => {
            // What a GPU's registers hold; a small result is not worth a large tile.
            let is_large = choices.is_for_gpu && (size.m / 128) * (size.n / 256) >= GROUPS_OF_A_GPU;
            let fit = |size: u32, most: u32| size.next_multiple_of(16).min(most);
            let (columns, depth) = if is_large { (256, step) } else { (128, 32) };
            Mnk { m: fit(size.m, 128), n: fit(size.n, columns), k: fit(size.k, depth) }
        }
    };
    if rung == Rung::Workgroup {
        return wanted;
    }
    let fit = |size: u32, wanted: u32, smallest: u32| {
        let mut tile = (wanted / smallest).max(1) * smallest;
        while tile > smallest && !size.is_multiple_of(tile) {
            tile -= smallest;
        }
        tile
    };
    let mut tile = Mnk {
        m: fit(size.m, wanted.m, smallest.m),
        n: fit(size.n, wanted.n, smallest.n),
        k: fit(size.k, wanted.k, smallest.k),
    };
    // All invocations copy the same number of pieces; a longer step along K makes more of them.
    while rung == Rung::Shared
        && check_copies(types, PIECE.1, tile, local_size(rung)).is_err()
        && size.k.is_multiple_of(2 * tile.k)
        && tile.k < 16 * step
    {
        tile.k *= 2;
    }
    tile
}

/// The type in which `shared` copies A and B on a processor, and its size.
///
/// Each invocation moves one word, so that those of a subgroup move a run of memory together.
pub(crate) const PIECE: (&str, u32) = ("uint", 4);
/// What fills up a line in shared memory.
const PAD_BYTES: u32 = 16;

/// How many elements of A and B are copied at once.
fn piece_elems(types: Types, bytes: u32) -> u32 {
    bytes / types.a.size_bytes() as u32
}

/// The pieces of a block must go around the invocations evenly.
fn check_copies(types: Types, bytes: u32, tile: Mnk, local: [u32; 2]) -> Result<()> {
    let invocations = local[0] * local[1];
    let piece = piece_elems(types, bytes);
    for (block, elements) in [("A", tile.m * tile.k), ("B", tile.k * tile.n)] {
        let pieces = elements / piece;
        ensure!(
            pieces.is_multiple_of(invocations),
            "the block of {block} has {pieces} pieces of {bytes} bytes, which {invocations} invocations cannot share evenly",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DType;

    fn plan(rung: Rung, size: Mnk, choices: Choices) -> Result<Plan> {
        Plan::new(rung, Types { a: DType::F16, c: DType::F32 }, size, choices)
    }

    #[test]
    fn every_rung_divides_the_usual_sizes() {
        for rung in Rung::ALL {
            for types in Types::ALL {
                for size in [64, 128, 192, 512, 1024, 2048] {
                    let plan = Plan::new(rung, types, Mnk::cube(size), Choices::default()).expect("it fits");
                    assert_eq!(plan.groups[0], size.div_ceil(plan.tile.n));
                    assert_eq!(plan.groups[1], size.div_ceil(plan.tile.m));
                    let is_whole = size.is_multiple_of(plan.tile.m) && size.is_multiple_of(plan.tile.n);
                    assert!(is_whole || rung == Rung::Workgroup);
                }
            }
        }
    }

    #[test]
    fn a_gpu_copies_sixteen_bytes_at_a_time() {
        let tile = Some(Mnk { m: 128, n: 128, k: 32 });
        let of = |is_for_gpu| {
            let choices = Choices { tile, is_for_gpu, ..Choices::default() };
            plan(Rung::Shared, Mnk::cube(256), choices).expect("it fits")
        };
        let (gpu, cpu) = (of(true), of(false));
        assert_eq!((gpu.piece.1, cpu.piece.1), (16, 4));
        assert!(gpu.constants.contains(&(11, Constant::U32(1))));
        assert!(gpu.constants.contains(&(12, Constant::Bool(false))));
        assert!(cpu.constants.contains(&(11, Constant::U32(4))));
        assert!(cpu.constants.contains(&(12, Constant::Bool(false))));
    }

    #[test]
    fn a_gpu_has_eight_subgroups_for_a_large_tile() {
        let of = |[m, n]: [u32; 2], is_for_gpu| {
            let tile = Some(Mnk { m, n, k: 32 });
            let plan = plan(Rung::Shared, Mnk::cube(256), Choices { tile, is_for_gpu, ..Choices::default() });
            let constants = plan.expect("it fits").constants;
            [7, 9, 10].map(|id| constants.iter().find(|(found, _)| *found == id).map(|&(_, value)| value))
        };
        let values = |values: [u32; 3]| values.map(|value| Some(Constant::U32(value)));
        assert_eq!(of([128, 128], true), values([128, 4, 1]));
        assert_eq!(of([128, 256], true), values([256, 4, 2]));
        assert_eq!(of([256, 128], true), values([256, 8, 1]));
        assert_eq!(of([128, 256], false), values([128, 2, 2]));
    }

    #[test]
    fn a_gpu_has_tiles_that_its_registers_hold() {
        let of = |rung, size| {
            let plan = plan(rung, Mnk::cube(size), Choices { is_for_gpu: true, ..Choices::default() });
            plan.expect("it fits").tile
        };
        assert_eq!(of(Rung::Shared, 4096), Mnk { m: 128, n: 128, k: 64 });
        assert_eq!(of(Rung::Shared, 1024), Mnk { m: 64, n: 128, k: 64 });
        assert_eq!(of(Rung::Tiled, 4096), Mnk::cube(64));
    }

    #[test]
    fn a_size_that_no_tile_divides_is_an_error() {
        let error =
            plan(Rung::Simple, Mnk { m: 40, n: 64, k: 64 }, Choices::default()).expect_err("40 = 2.5 x 16");
        assert!(error.to_string().contains("M must be a multiple"), "{error}");
        let tile = Some(Mnk { m: 24, n: 64, k: 16 });
        let error = plan(Rung::Tiled, Mnk::cube(64), Choices { tile, ..Choices::default() }).expect_err("24");
        assert!(error.to_string().contains("the tile's M must be a multiple of 16"), "{error}");
    }

    #[test]
    fn sizes_are_read_as_one_number_or_three() {
        assert_eq!("512".parse::<Mnk>().expect("a size"), Mnk::cube(512));
        assert_eq!("1x2x3".parse::<Mnk>().expect("a size"), Mnk { m: 1, n: 2, k: 3 });
        for text in ["", "0", "1x2", "1x2x0", "-1", "axbxc"] {
            assert!(text.parse::<Mnk>().is_err(), "{text}");
        }
    }

    #[test]
    fn push_constants_follow_the_layout_of_b() {
        let words = |is_b_column_major| {
            let choices = Choices { is_b_column_major, ..Choices::default() };
            let bytes =
                plan(Rung::Tiled, Mnk { m: 16, n: 32, k: 64 }, choices).expect("it fits").push_constants();
            bytes
                .chunks(4)
                .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                .collect::<Vec<_>>()
        };
        assert_eq!(words(false), [64, 64, 32, 32, 32]);
        assert_eq!(words(true), [64, 64, 64, 32, 32]);
    }
}
