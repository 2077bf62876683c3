//! The ladder as a workload: D = A·B + C on random matrices, for one size and one pair of types.

use anyhow::{Result, bail, ensure};

use super::plan::{Choices, Mnk, Plan, SUBGROUP_SIZE};
use super::{Rung, Types, rival};
use crate::data::{Array, DType};
use crate::measure::{Bench, Kernel, Peak, Problem, Source, Subject, Watch, Workload, upload};
use crate::reference::{Operands, Reference};
use crate::runtime::{Buffer, Device};
use crate::versus::Rival;

/// One multiplication and the rungs that do it.
#[derive(Debug)]
pub(crate) struct Gemm {
    types: Types,
    size: Mnk,
    is_b_column_major: bool,
    kernels: Vec<Kernel>,
    /// Of one matrix of each kernel.
    shapes: Vec<Option<Mnk>>,
    /// What it is measured against.
    peak: Peak,
    /// Whether a library is to multiply f32 in any case.
    is_rival_f32: bool,
}

impl Gemm {
    /// Every multiplication of some sizes and types, in the order in which they are measured. Impossible ones are told before
    /// the first starts. Rungs whose matrices have no choice of a shape are measured once.
    pub(crate) fn all(
        types: &[Types],
        sizes: &[Mnk],
        rungs: &[Rung],
        shapes: &[Mnk],
        choices: Choices,
    ) -> Result<Vec<Box<dyn Workload>>> {
        let mut workloads: Vec<Box<dyn Workload>> = Vec::new();
        for &size in sizes {
            for &types in types {
                let mut ways = Vec::new();
                for &rung in rungs.iter().filter(|rung| rung.supports(types)) {
                    let shapes = if rung.has_shapes() { shapes } else { shapes.get(..1).unwrap_or_default() };
                    for &shape in shapes {
                        ways.push((rung, Choices { shape: Some(shape), ..choices }));
                    }
                }
                if !ways.is_empty() {
                    workloads.push(Box::new(Self::new(types, size, &ways)?));
                }
            }
        }
        ensure!(!workloads.is_empty(), "none of these rungs can be written for these types");
        Ok(workloads)
    }

    /// One multiplication in some ways, all of which have B in the same order.
    pub(crate) fn new(types: Types, size: Mnk, ways: &[(Rung, Choices)]) -> Result<Self> {
        let is_b_column_major = ways.first().is_some_and(|(_, choices)| choices.is_b_column_major);
        let is_same = |(_, choices): &(Rung, Choices)| choices.is_b_column_major == is_b_column_major;
        ensure!(ways.iter().all(is_same), "B lies by rows or by columns");
        let kernels = ways.iter().map(|&(rung, choices)| kernel(rung, types, size, choices));
        let (kernels, shapes) = kernels.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let peak = types.peak();
        Ok(Self { types, size, is_b_column_major, kernels, shapes, peak, is_rival_f32: false })
    }

    /// Measured against another peak than that of its types.
    pub(crate) fn with_peak(self, peak: Peak) -> Self {
        Self { peak, ..self }
    }

    /// Compared with products of f32.
    pub(crate) fn versus_f32(self) -> Self {
        Self { is_rival_f32: true, ..self }
    }
}

/// A way to multiply, and the size of one matrix.
fn kernel(rung: Rung, types: Types, size: Mnk, choices: Choices) -> Result<(Kernel, Option<Mnk>)> {
    let plan = Plan::new(rung, types, size, choices)?;
    let source = rung.source(size);
    // MLIR knows its sizes.
    let push_constants = match source {
        Source::Glsl(_) => plan.push_constants(),
        Source::Mlir { .. } => Vec::new(),
    };
    let kernel = Kernel {
        name: rung.name().to_owned(),
        tile: plan.tile.to_string(),
        source,
        definitions: types.definitions(plan.piece),
        constants: plan.constants,
        subgroup_size: SUBGROUP_SIZE,
        groups: plan.groups,
        push_constants,
        then: None,
    };
    Ok((kernel, plan.shape))
}

impl Workload for Gemm {
    fn subject(&self) -> Subject {
        let Mnk { m, n, k } = self.size;
        Subject {
            workload: "gemm",
            problem: match self.is_b_column_major {
                true => format!("{}, B by columns", self.size.brief()),
                false => self.size.brief(),
            },
            a: self.types.a,
            c: self.types.c,
            size: [m, n, k],
            operations: 2.0 * f64::from(m) * f64::from(n) * f64::from(k),
            peak: self.peak,
        }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    fn shape(&self, kernel: usize) -> String {
        self.shapes.get(kernel).copied().flatten().map_or_else(String::new, |shape| shape.to_string())
    }

    fn buffer_bytes(&self) -> u64 {
        let Mnk { m, n, k } = self.size;
        let (a, c) = (self.types.a, self.types.c);
        let matrices = [(a, m, k), (a, k, n), (c, m, n), (c, m, n)];
        let bytes = |(dtype, rows, columns): (DType, u32, u32)| {
            (u64::from(rows) * u64::from(columns)).saturating_mul(dtype.size_bytes() as u64)
        };
        matrices.into_iter().map(bytes).fold(0, u64::saturating_add)
    }

    fn rival<'a>(&self, problem: &Problem, bench: &Bench<'a>) -> Result<Option<Rival<'a>>> {
        let Some(library) = bench.versus else { return Ok(None) };
        let Mnk { m, n, k } = self.size;
        let product = rival::Plain {
            types: self.types,
            sizes: [m, n, k].map(|size| size as usize),
            is_b_column_major: self.is_b_column_major,
            is_f32: self.is_rival_f32,
        };
        rival::prepare(library, bench.device, problem, product)
    }

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let [m, n, k] = [self.size.m, self.size.n, self.size.k].map(|size| size as usize);
        let a = Array::random(self.types.a, vec![m, k], 1)?;
        let b = Array::random(self.types.a, vec![k, n], 2)?;
        let c = Array::random(self.types.c, vec![m, n], 3)?;
        let is_b_column_major = self.is_b_column_major;
        let operands = Operands { m, n, k, a: &a, b: &b, c: &c, is_b_column_major };
        let Some(reference) = Reference::new(&operands, watch.interrupt) else { return Ok(None) };
        let reference = reference.truncated(device.is_gpu());
        let result = device.create_buffer(c.bytes.len())?;
        // What is on the device is not kept here.
        let mut buffers = Vec::with_capacity(4);
        for array in [a, b, c] {
            buffers.push(upload(device, array.bytes)?);
        }
        buffers.push(result);
        let check = move |buffers: &[Buffer]| match buffers {
            [_, _, c, d] => reference.compare(|range| c.read(range), |range| d.read(range)),
            _ => bail!("a multiplication has four buffers"),
        };
        Ok(Some(Problem::new(buffers, check)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::plan::DEFAULT_SHAPE;
    use crate::measure::tests::assert_right;

    const SHAPES: [Mnk; 1] = [DEFAULT_SHAPE];

    fn types(text: &str) -> Types {
        text.parse().expect("types")
    }

    #[test]
    fn a_work_group_computes_what_no_tile_divides() {
        for is_b_column_major in [false, true] {
            let choices = Choices { is_b_column_major, ..Choices::default() };
            let size = Mnk { m: 150, n: 37, k: 50 };
            let workloads = Gemm::all(
                &[types("f16"), types("s8")],
                &[size],
                &[Rung::Workgroup],
                &[DEFAULT_SHAPE],
                choices,
            );
            for workload in workloads.expect("possible") {
                assert_right(&*workload);
            }
        }
    }

    #[test]
    fn the_rung_in_mlir_is_right_and_says_what_it_is_written_for() {
        let all = |size, choices: Choices| {
            let shape = choices.shape.unwrap_or(DEFAULT_SHAPE);
            Gemm::all(&[types("f16")], &[size], &[Rung::SharedMlir], &[shape], choices)
        };
        let size = Mnk { m: 256, n: 128, k: 192 };
        assert_right(&*all(size, Choices::default()).expect("possible")[0]);
        let refuse = |size, choices, expected: &str| {
            let error = format!("{:#}", all(size, choices).err().expect("impossible"));
            assert!(error.contains(expected), "{error}");
        };
        refuse(Mnk::cube(64), Choices::default(), "M must be a multiple of the tile's");
        let is_b_column_major = true;
        refuse(size, Choices { is_b_column_major, ..Choices::default() }, "is written for");
        refuse(size, Choices { shape: Some(Mnk::cube(32)), ..Choices::default() }, "is written for");
        refuse(size, Choices { tile: Some(Mnk::cube(128)), ..Choices::default() }, "is written for");
    }

    #[test]
    fn each_shape_has_its_kernel_where_there_is_a_choice() {
        let rungs = [Rung::Scalar, Rung::Tiled, Rung::Workgroup];
        let shapes = [DEFAULT_SHAPE, Mnk::cube(32)];
        let workloads = Gemm::all(&[types("f16")], &[Mnk::cube(64)], &rungs, &shapes, Choices::default())
            .expect("possible");
        let kernels = workloads[0].kernels().iter().enumerate();
        let found: Vec<(&str, String)> =
            kernels.map(|(index, kernel)| (kernel.name.as_str(), workloads[0].shape(index))).collect();
        let expected =
            [("scalar", ""), ("tiled", "16x16x16"), ("tiled", "32x32x32"), ("workgroup", "64x64x32")];
        assert_eq!(found, expected.map(|(name, shape)| (name, shape.to_owned())));
    }

    #[test]
    fn the_older_dialect_is_left_out_where_it_has_no_type() {
        let rungs = [Rung::Tiled, Rung::TiledNv];
        let workloads =
            Gemm::all(&[types("bf16"), types("f16")], &[Mnk::cube(64)], &rungs, &SHAPES, Choices::default())
                .expect("possible");
        let names: Vec<Vec<&str>> = workloads
            .iter()
            .map(|workload| workload.kernels().iter().map(|kernel| kernel.name.as_str()).collect())
            .collect();
        assert_eq!(names, [vec!["tiled"], vec!["tiled", "tiled-nv"]]);
        let none =
            Gemm::all(&[types("bf16")], &[Mnk::cube(64)], &[Rung::TiledNv], &SHAPES, Choices::default());
        assert!(none.is_err());
    }
}
