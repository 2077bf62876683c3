//! What a device offers.

use std::fmt;

use phalanx_cuda::Rates;
use phalanx_ir::{Distribution, MatrixLayout, Scope};
use phalanx_kernels::Processor;

use crate::vector::VectorTypes;

/// What a device is and offers.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// Name of the processor.
    pub name: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Threads that a dispatch runs on.
    pub threads: usize,
    /// The processor that code is made for; none for the interpreter.
    pub processor: Option<Processor>,
    /// Instruction sets that code uses beyond the architecture's base.
    pub instruction_sets: Vec<String>,
    /// Subgroup sizes that a pipeline may ask for.
    pub subgroup_sizes: Vec<u32>,
    /// Subgroup size of pipelines that do not ask.
    pub default_subgroup_size: u32,
    /// Most invocations of a work-group.
    pub max_workgroup_invocations: u32,
    /// Most bytes that a work-group shares.
    pub max_shared_bytes: u32,
    /// Most bytes of push constants.
    pub max_push_bytes: u32,
    /// Largest number of rows, columns or inner dimension of a cooperative matrix.
    pub max_matrix_dimension: u32,
    /// Most components of a cooperative matrix of a subgroup; on a GPU one that more invocations hold may have more.
    pub max_matrix_elements: u64,
    /// Who may hold a cooperative matrix together: of each of them, matrices of all types and shapes.
    pub matrix_scopes: Vec<Scope>,
    /// Which components of a cooperative matrix belong to which of them.
    pub distribution: Distribution,
    /// The types that cooperative matrices can be multiplied with.
    pub matrix_types: Vec<MatrixTypes>,
    /// Shapes that run well, the best first. Any M, N and K from 1 to the maximum can be used, as long as none of
    /// the matrices has too many components.
    pub preferred_shapes: Vec<MatrixShape>,
    /// Whether images are sampled; texels are read and written by all.
    pub has_samplers: bool,
    /// What a GPU is besides; nothing of a processor.
    pub gpu: Option<GpuInfo>,
    /// The types that matrices and cooperative vectors can be multiplied with.
    pub vector_types: Vec<VectorTypes>,
    /// The layout of matrices that vectors are multiplied by the fastest: what its kernels take for
    /// [`MatrixLayout::Inferencing`], and [`Conversion::on`](crate::vector::Conversion::on) puts in its place.
    pub inferencing: MatrixLayout,
}

impl DeviceInfo {
    /// Names the compiler, the instructions that it may use and the user who can authenticate its code:
    /// [`SealedCode`](crate::SealedCode) of another name is of no use.
    pub fn cache_uuid(&self) -> [u8; 16] {
        match &self.gpu {
            None => phalanx_host::cache_uuid(&self.processor),
            Some(gpu) => phalanx_host::cache_uuid(&gpu.code_target),
        }
    }
}

/// What a GPU is.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuInfo {
    /// The kind of GPU and the driver that its code is for.
    pub code_target: String,
    /// Its vendor's number among devices of PCI.
    pub vendor_id: u32,
    /// The number that the vendor gave its kind; 0 where the system does not tell.
    pub device_id: u32,
    /// Most subgroups that one of its multiprocessors holds at a time; their number is [`DeviceInfo::threads`].
    pub resident_subgroups: u32,
    /// Bytes of its memory.
    pub memory_bytes: u64,
    /// What it does at most; what a processor does is measured ([`peak`](crate::peak)).
    pub rates: Rates,
}

/// The types of a multiplication `A * B + C`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixTypes {
    /// Type of A's components.
    pub a: ComponentType,
    /// Type of B's components.
    pub b: ComponentType,
    /// Type of C's components.
    pub c: ComponentType,
    /// Type of the result's components.
    pub result: ComponentType,
    /// Whether adding C may saturate.
    pub saturating: bool,
}

/// The shape of a multiplication of an M×K matrix with a K×N matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixShape {
    /// Rows of A and of the result.
    pub m: u32,
    /// Columns of B and of the result.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
}

impl fmt::Display for MatrixShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

/// The type of a matrix component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is its own name: float, brain float, signed or unsigned, and bits")]
pub enum ComponentType {
    F16,
    F32,
    F64,
    BF16,
    E4M3,
    E5M2,
    S8,
    S16,
    S32,
    S64,
    U8,
    U16,
    U32,
    U64,
}

impl ComponentType {
    /// Its bits.
    pub fn bits(self) -> u32 {
        match self {
            Self::E4M3 | Self::E5M2 | Self::S8 | Self::U8 => 8,
            Self::F16 | Self::BF16 | Self::S16 | Self::U16 => 16,
            Self::F32 | Self::S32 | Self::U32 => 32,
            Self::F64 | Self::S64 | Self::U64 => 64,
        }
    }

    /// Its name, as in `f16` or `u8`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::BF16 => "bf16",
            Self::E4M3 => "e4m3",
            Self::E5M2 => "e5m2",
            Self::S8 => "s8",
            Self::S16 => "s16",
            Self::S32 => "s32",
            Self::S64 => "s64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
        }
    }
}

impl fmt::Display for ComponentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The types that can be multiplied.
pub(crate) fn matrix_types() -> Vec<MatrixTypes> {
    use ComponentType as T;
    let mut rows = Vec::new();
    let mut add = |a, b, c: T, saturating| rows.push(MatrixTypes { a, b, c, result: c, saturating });
    let floats: [(T, &[T]); 6] = [
        (T::F16, &[T::F16, T::F32]),
        (T::BF16, &[T::BF16, T::F32]),
        (T::F32, &[T::F32]),
        (T::F64, &[T::F64]),
        (T::E4M3, &[T::F16, T::F32]),
        (T::E5M2, &[T::F16, T::F32]),
    ];
    for (factor, sums) in floats {
        for &sum in sums {
            add(factor, factor, sum, false);
        }
    }
    for (signed, unsigned, sums) in [
        (T::S8, T::U8, [T::S32, T::U32]),
        (T::S16, T::U16, [T::S32, T::U32]),
        (T::S32, T::U32, [T::S32, T::U32]),
        (T::S64, T::U64, [T::S64, T::U64]),
    ] {
        for saturating in [false, true] {
            for (a, b) in [(signed, signed), (unsigned, unsigned), (signed, unsigned), (unsigned, signed)] {
                for sum in sums {
                    add(a, b, sum, saturating);
                }
            }
        }
    }
    rows
}

/// Shapes that run well.
pub(crate) fn preferred_shapes() -> Vec<MatrixShape> {
    [(16, 16, 16), (32, 32, 32), (64, 64, 32), (8, 8, 16), (16, 8, 16)]
        .map(|(m, n, k)| MatrixShape { m, n, k })
        .to_vec()
}

/// Name of the processor, as the system gives it.
pub(crate) fn processor_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        matches!(key.trim(), "model name" | "Model").then(|| value.trim().to_owned())
    });
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_kernels::{Elem, Grid, KernelId, MulAdd, Processor, Use};
    use std::collections::BTreeSet;

    #[test]
    fn rows_are_distinct() {
        let rows = matrix_types();
        let distinct: BTreeSet<_> = rows.iter().map(|r| (r.a, r.b, r.c, r.result, r.saturating)).collect();
        assert_eq!(distinct.len(), rows.len());
    }

    #[test]
    fn the_required_rows_are_there() {
        use ComponentType as T;
        // VK_EXT_cooperative_matrix_maintenance1 demands these.
        for (a, c) in [(T::F16, T::F16), (T::F16, T::F32), (T::U8, T::U32), (T::U8, T::S32), (T::S8, T::S32)]
        {
            let row = MatrixTypes { a, b: a, c, result: c, saturating: false };
            assert!(matrix_types().contains(&row), "{row:?}");
        }
    }

    /// As the kernels call a type, and whether it has a sign.
    fn elem(ty: ComponentType) -> (Elem, bool) {
        use ComponentType as T;
        match ty {
            T::F16 => (Elem::F16, false),
            T::F32 => (Elem::F32, false),
            T::F64 => (Elem::F64, false),
            T::BF16 => (Elem::BF16, false),
            T::E4M3 => (Elem::E4M3, false),
            T::E5M2 => (Elem::E5M2, false),
            T::S8 | T::U8 => (Elem::I8, ty == T::S8),
            T::S16 | T::U16 => (Elem::I16, ty == T::S16),
            T::S32 | T::U32 => (Elem::I32, ty == T::S32),
            T::S64 | T::U64 => (Elem::I64, ty == T::S64),
        }
    }

    /// On no processor a row is left to the kernel that takes whatever comes.
    #[test]
    fn no_row_is_left_to_the_general_kernel() {
        let steps = [Grid::ONE, Grid { k: 4, ..Grid::ONE }];
        for (set, grid) in Processor::all().iter().flat_map(|p| steps.map(|grid| (p.kernels(), grid))) {
            for row in matrix_types() {
                let layout = |ty, use_| set.layout(elem(ty).0, use_, 16, 16);
                let op = MulAdd {
                    a: layout(row.a, Use::A),
                    b: layout(row.b, Use::B),
                    c: layout(row.c, Use::Accumulator),
                    r: layout(row.result, Use::Accumulator),
                    a_signed: elem(row.a).1,
                    b_signed: elem(row.b).1,
                    c_signed: elem(row.c).1,
                    r_signed: elem(row.result).1,
                    saturating: row.saturating,
                    relaxed: false,
                    sliced: false,
                    a_parts: false,
                    b_parts: false,
                };
                let kernel = set.plan_mul_add(&op, grid).kernel;
                assert_ne!(kernel, KernelId::MUL_ADD_GENERAL, "{set} {row:?} {grid:?}");
            }
        }
    }

    #[test]
    fn the_processor_has_a_name() {
        assert!(!processor_name().is_empty());
    }
}
