//! The rungs that stage blocks through shared memory as programs for GPUs do, with matrices of any of their shapes.

use anyhow::{Result, ensure};

use super::plan::Mnk;
use super::{Types, glsl_type};
use crate::data::DType;

/// The subgroups of a work-group.
pub(super) const SUBGROUP_ROWS: u32 = 4;
pub(super) const SUBGROUP_COLS: u32 = 2;

/// What rows in shared memory have behind them, to spread them over the banks of a GPU.
pub(super) const PAD_BYTES: u32 = 16;

/// How an invocation copies to shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copies {
    /// By `uvec4`, or what of it matrices of narrow rows leave.
    Wide,
    /// By `f16vec4` or `vec4`.
    Vec4,
    /// By elements.
    Scalar,
}

impl Copies {
    /// What is moved at a time, and its bytes. Rows of matrices begin with a whole one.
    pub(super) fn piece(self, types: Types, shape: Mnk) -> (&'static str, u32) {
        let size = types.a.size_bytes() as u32;
        match self {
            Self::Wide => {
                let fits = |&(_, bytes): &(&str, u32)| {
                    (shape.k * size).is_multiple_of(bytes) && (shape.n * size).is_multiple_of(bytes)
                };
                let pieces = [("uvec4", 16), ("uvec2", 8), ("uint", 4)];
                pieces.into_iter().find(fits).unwrap_or((glsl_type(types.a), size))
            }
            Self::Vec4 if types.a == DType::F16 => ("f16vec4", 8),
            Self::Vec4 => ("vec4", 16),
            Self::Scalar => (glsl_type(types.a), size),
        }
    }
}

/// Rows of pieces must go around the invocations evenly.
pub(super) fn check(piece_elems: u32, tile: Mnk, is_b_column_major: bool, local: [u32; 2]) -> Result<()> {
    let row_of_b = if is_b_column_major { tile.k } else { tile.n };
    for (block, row) in [("A", tile.k), ("B", row_of_b)] {
        let pieces = row / piece_elems;
        ensure!(
            pieces > 0 && row.is_multiple_of(piece_elems) && (local[0] * local[1]).is_multiple_of(pieces),
            "rows of the block of {block} have {row} elements, which {} invocations cannot share evenly",
            local[0] * local[1]
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::Rung;
    use crate::ladder::gemm::Gemm;
    use crate::ladder::plan::Choices;
    use crate::measure::tests::assert_right;

    fn types(text: &str) -> Types {
        text.parse().expect("types")
    }

    #[test]
    fn pieces_are_as_wide_as_rows_of_matrices_allow() {
        let piece = |copies: Copies, text: &str, shape: [u32; 3]| {
            let [m, n, k] = shape;
            copies.piece(types(text), Mnk { m, n, k })
        };
        assert_eq!(piece(Copies::Wide, "f16", [16, 16, 16]), ("uvec4", 16));
        assert_eq!(piece(Copies::Wide, "s8", [16, 8, 16]), ("uvec2", 8));
        assert_eq!(piece(Copies::Vec4, "f16", [8, 8, 8]), ("f16vec4", 8));
        assert_eq!(piece(Copies::Scalar, "s8", [8, 8, 8]), ("int8_t", 1));
    }

    #[test]
    fn every_copy_of_every_type_and_shape_is_right() {
        let shapes = ["8x8x8", "16x8x16", "16x16x16", "16x16x32", "32x32x16"].map(|text| text.parse::<Mnk>());
        let shapes = shapes.map(|shape| shape.expect("a shape"));
        for of in ["f16", "bf16", "s8", "u8", "e4m3", "f32"].map(types) {
            for is_b_column_major in [false, true] {
                let mut ways = Vec::new();
                for copies in [Copies::Wide, Copies::Vec4, Copies::Scalar] {
                    let rung = Rung::Staged(copies);
                    for shape in shapes.iter().filter(|_| rung.supports(of)) {
                        let tile = Some(Mnk { m: 128, n: 64, k: 32 });
                        ways.push((
                            rung,
                            Choices {
                                tile,
                                shape: Some(*shape),
                                is_b_column_major,
                                threads: 1,
                                is_for_gpu: false,
                            },
                        ));
                    }
                }
                let size = Mnk { m: 128, n: 128, k: 64 };
                assert_right(&Gemm::new(of, size, &ways).expect("possible"));
            }
        }
    }

    #[test]
    fn rows_that_cannot_be_shared_are_refused() {
        let tile = Mnk { m: 64, n: 96, k: 32 };
        assert!(check(1, tile, false, [256, 1]).is_err());
        assert!(check(1, tile, true, [256, 1]).is_ok());
        assert!(check(64, tile, true, [256, 1]).is_err());
    }
}
