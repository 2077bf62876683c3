//! The ladder: one matrix multiplication, D = A*B + C, written in seven ways, once more in MLIR, and as others stage it.
//!
//! [`Rung`] holds the shaders, [`Types`] the pairs of element types and what they are called in GLSL,
//! [`plan::Plan`] turns a size into specialisation constants, push constants and a number of work-groups, and
//! [`gemm::Gemm`] is the workload that all of it makes.

pub(crate) mod gemm;
pub(crate) mod plan;
mod rival;
pub(crate) mod staged;

use std::fmt;
use std::str::FromStr;

use anyhow::{Error, Result, bail};

use self::plan::Mnk;
use self::staged::Copies;
use crate::data::DType;
use crate::measure::{Peak, Source, with_aliases, with_includes};

/// One way to write the multiplication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rung {
    Scalar,
    Simple,
    TiledScalar,
    Tiled,
    TiledNv,
    Shared,
    Workgroup,
    /// `Shared` in MLIR, which is measured when it is asked for.
    SharedMlir,
    /// As programs for GPUs stage through shared memory, measured when it is asked for.
    Staged(Copies),
}

impl Rung {
    /// From the bottom to the top.
    pub(crate) const ALL: [Self; 7] = [
        Self::Scalar,
        Self::Simple,
        Self::TiledScalar,
        Self::Tiled,
        Self::TiledNv,
        Self::Shared,
        Self::Workgroup,
    ];

    /// Those that are measured when they are asked for.
    pub(crate) const ON_REQUEST: [Self; 4] = [
        Self::SharedMlir,
        Self::Staged(Copies::Wide),
        Self::Staged(Copies::Vec4),
        Self::Staged(Copies::Scalar),
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Simple => "simple",
            Self::TiledScalar => "tiled-scalar",
            Self::Tiled => "tiled",
            Self::TiledNv => "tiled-nv",
            Self::Shared => "shared",
            Self::Workgroup => "workgroup",
            Self::SharedMlir => "shared-mlir",
            Self::Staged(Copies::Wide) => "staged",
            Self::Staged(Copies::Vec4) => "staged-vec4",
            Self::Staged(Copies::Scalar) => "staged-scalar",
        }
    }

    /// The source, complete in itself. That in MLIR is for a size.
    pub(crate) fn source(self, Mnk { m, n, k }: Mnk) -> Source {
        let source = match self {
            Self::Scalar => include_str!("../../shaders/ladder/scalar.comp"),
            Self::Simple => include_str!("../../shaders/ladder/simple.comp"),
            Self::TiledScalar => include_str!("../../shaders/ladder/tiled-scalar.comp"),
            Self::Tiled => include_str!("../../shaders/ladder/tiled.comp"),
            Self::TiledNv => include_str!("../../shaders/ladder/tiled-nv.comp"),
            Self::Shared => include_str!("../../shaders/ladder/shared.comp"),
            Self::Workgroup => include_str!("../../shaders/ladder/workgroup.comp"),
            Self::Staged(_) => include_str!("../../shaders/ladder/staged.comp"),
            Self::SharedMlir => {
                let sizes = [
                    ("#lda", format!("{k} : index")),
                    ("#ldb", format!("{n} : index")),
                    ("#depth", format!("{k} : index")),
                    ("!a", format!("memref<{m}x{k}xf16>")),
                    ("!b", format!("memref<{k}x{n}xf16>")),
                    ("!c", format!("memref<{m}x{n}xf32>")),
                ];
                let text = with_aliases(include_str!("../../shaders/ladder/shared.mlir"), &sizes);
                return Source::Mlir { text, entry: "shared" };
            }
        };
        let files = [
            ("common.glsl", include_str!("../../shaders/ladder/common.glsl")),
            ("../matrix2.glsl", include_str!("../../shaders/matrix2.glsl")),
        ];
        Source::Glsl(with_includes(source, &files))
    }

    /// Whether its matrices may be of any shape.
    fn has_shapes(self) -> bool {
        matches!(
            self,
            Self::Simple | Self::Tiled | Self::TiledNv | Self::Shared | Self::SharedMlir | Self::Staged(_)
        )
    }

    /// Whether the rung can be written for these types: the older dialect knows no bfloat16 and no 8-bit floats, and MLIR
    /// has no preprocessor.
    pub(crate) fn supports(self, types: Types) -> bool {
        match self {
            Self::TiledNv => !matches!(types.a, DType::Bf16 | DType::E4m3 | DType::E5m2),
            Self::Staged(Copies::Vec4) => matches!(types.a, DType::F16 | DType::F32),
            Self::SharedMlir => types == Types { a: DType::F16, c: DType::F32 },
            _ => true,
        }
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Rung {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut all = Self::ALL.to_vec();
        all.extend(Self::ON_REQUEST);
        match all.iter().find(|rung| rung.name() == text) {
            Some(rung) => Ok(*rung),
            None => {
                let names: Vec<&str> = all.iter().map(|rung| rung.name()).collect();
                bail!("`{text}` is no rung; there are {}", names.join(", "))
            }
        }
    }
}

/// The element type of A and B, and that of C, D and the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Types {
    pub(crate) a: DType,
    pub(crate) c: DType,
}

impl Types {
    /// Every pair that the ladder is written for.
    pub(crate) const ALL: [Self; 8] = [
        Self { a: DType::F16, c: DType::F32 },
        Self { a: DType::F16, c: DType::F16 },
        Self { a: DType::F32, c: DType::F32 },
        Self { a: DType::Bf16, c: DType::F32 },
        Self { a: DType::E4m3, c: DType::F32 },
        Self { a: DType::E5m2, c: DType::F32 },
        Self { a: DType::S8, c: DType::S32 },
        Self { a: DType::U8, c: DType::U32 },
    ];

    /// The pairs that are measured unless the user names others.
    pub(crate) const DEFAULT: [Self; 6] = [
        Self { a: DType::F16, c: DType::F32 },
        Self { a: DType::F16, c: DType::F16 },
        Self { a: DType::F32, c: DType::F32 },
        Self { a: DType::Bf16, c: DType::F32 },
        Self { a: DType::S8, c: DType::S32 },
        Self { a: DType::U8, c: DType::U32 },
    ];

    /// The preprocessor definitions that make a rung one of these types.
    /// Copies to shared memory move a piece of a type and so many bytes at a time.
    pub(crate) fn definitions(self, piece: (&'static str, u32)) -> Vec<(&'static str, String)> {
        let mut definitions = vec![
            ("A_TYPE", glsl_type(self.a).to_owned()),
            ("C_TYPE", glsl_type(self.c).to_owned()),
            ("A_BYTES", self.a.size_bytes().to_string()),
            ("PIECE", piece.0.to_owned()),
            ("PIECE_BYTES", piece.1.to_string()),
            ("A_MATRIX", nv_matrix(self.a).to_owned()),
            ("A_BITS", (8 * self.a.size_bytes()).to_string()),
            ("C_MATRIX", nv_matrix(self.c).to_owned()),
            ("C_BITS", (8 * self.c.size_bytes()).to_string()),
        ];
        match self.a {
            DType::Bf16 => definitions.push(("TYPE_BFLOAT16", String::new())),
            DType::E4m3 => definitions.push(("TYPE_E4M3", String::new())),
            DType::E5m2 => definitions.push(("TYPE_E5M2", String::new())),
            _ => {}
        }
        definitions
    }

    /// Which of the measured peaks bounds the best implementation of these types.
    pub(crate) fn peak(self) -> Peak {
        match (self.a, self.c) {
            (DType::S8 | DType::U8, _) => Peak::I8Dot,
            // Every 8-bit float is a bfloat16 as well.
            (DType::Bf16 | DType::E4m3 | DType::E5m2, _) => Peak::Bf16Dot,
            (DType::F16, DType::F16) => Peak::F16Fma,
            _ => Peak::F32Fma,
        }
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}->{}", self.a, self.c))
    }
}

impl FromStr for Types {
    type Err = Error;

    /// `f16->f32`, `f16:f32` (which needs no quotes), or `f16` with the usual sums.
    fn from_str(text: &str) -> Result<Self> {
        let pair = text.split_once("->").or_else(|| text.split_once(':'));
        let types = match pair {
            Some((a, c)) => Self { a: a.parse()?, c: c.parse()? },
            None => {
                let a = text.parse()?;
                let c = match a {
                    DType::S8 => DType::S32,
                    DType::U8 => DType::U32,
                    _ => DType::F32,
                };
                Self { a, c }
            }
        };
        if !Self::ALL.contains(&types) {
            let known = Self::ALL.map(|types| types.to_string()).join(", ");
            bail!("the ladder is not written for {types}; there are {known}");
        }
        Ok(types)
    }
}

fn glsl_type(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "float16_t",
        DType::F32 => "float",
        DType::F64 => "double",
        DType::Bf16 => "bfloat16_t",
        DType::E4m3 => "floate4m3_t",
        DType::E5m2 => "floate5m2_t",
        DType::S8 => "int8_t",
        DType::S16 => "int16_t",
        DType::S32 => "int32_t",
        DType::S64 => "int64_t",
        DType::U8 => "uint8_t",
        DType::U16 => "uint16_t",
        DType::U32 => "uint32_t",
        DType::U64 => "uint64_t",
    }
}

fn nv_matrix(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 | DType::F32 | DType::F64 | DType::Bf16 | DType::E4m3 | DType::E5m2 => "fcoopmatNV",
        DType::S8 | DType::S16 | DType::S32 | DType::S64 => "icoopmatNV",
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => "ucoopmatNV",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_complete() {
        for rung in Rung::ALL {
            let Source::Glsl(source) = rung.source(Mnk::cube(512)) else { panic!("{rung} is in GLSL") };
            assert!(!source.contains("#include"), "{rung}");
            assert!(source.contains("uint indexB("), "{rung}");
            assert_eq!(rung.name().parse::<Rung>().expect("its own name"), rung);
        }
    }

    #[test]
    fn the_rung_in_mlir_has_its_size() {
        let text = |size: Mnk| match Rung::SharedMlir.source(size) {
            Source::Mlir { text, .. } => text,
            Source::Glsl(text) => panic!("{text}"),
        };
        assert_eq!(text(Mnk::cube(512)), include_str!("../../shaders/ladder/shared.mlir"));
        let other = text(Mnk { m: 128, n: 256, k: 64 });
        for line in
            ["#lda = 64 : index", "#ldb = 256 : index", "!a = memref<128x64xf16>", "!c = memref<128x256xf32>"]
        {
            assert!(other.lines().any(|known| known == line), "{other}");
        }
        assert_eq!("shared-mlir".parse::<Rung>().expect("its own name"), Rung::SharedMlir);
    }

    #[test]
    fn types_are_read_in_all_spellings() {
        let types = |text: &str| text.parse::<Types>().expect(text).to_string();
        assert_eq!(types("f16->f16"), "f16->f16");
        assert_eq!(types("f16:f32"), "f16->f32");
        assert_eq!(types("f32"), "f32->f32");
        assert_eq!(types("i8"), "s8->s32");
        assert_eq!(types("bf16"), "bf16->f32");
        let error = "f64".parse::<Types>().expect_err("not in the ladder").to_string();
        assert!(error.contains("f64->f32") && error.contains("u8->u32"), "{error}");
    }
}
