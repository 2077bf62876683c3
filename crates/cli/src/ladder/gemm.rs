//! The ladder as a workload: D = A·B + C on random matrices, for one size and one pair of types.

use anyhow::{Result, bail, ensure};

use super::plan::{Choices, Mnk, Plan, SUBGROUP_SIZE};
use super::{Rung, Types};
use crate::data::{Array, DType};
use crate::measure::{Kernel, Problem, Source, Subject, Watch, Workload, upload};
use crate::reference::{Operands, Reference};
use crate::runtime::{Buffer, Device};

/// One multiplication and the rungs that do it.
#[derive(Debug)]
pub(crate) struct Gemm {
    types: Types,
    size: Mnk,
    is_b_column_major: bool,
    kernels: Vec<Kernel>,
}

impl Gemm {
    /// Every multiplication of some sizes and types, in the order in which they are measured. Impossible ones are told before
    /// the first starts.
    pub(crate) fn all(
        types: &[Types],
        sizes: &[Mnk],
        rungs: &[Rung],
        choices: Choices,
    ) -> Result<Vec<Box<dyn Workload>>> {
        let mut workloads: Vec<Box<dyn Workload>> = Vec::new();
        for &size in sizes {
            for &types in types {
                let rungs = rungs.iter().filter(|rung| rung.supports(types));
                let kernels: Vec<Kernel> =
                    rungs.map(|&rung| kernel(rung, types, size, choices)).collect::<Result<_>>()?;
                if !kernels.is_empty() {
                    let is_b_column_major = choices.is_b_column_major;
                    workloads.push(Box::new(Self { types, size, is_b_column_major, kernels }));
                }
            }
        }
        ensure!(!workloads.is_empty(), "none of these rungs can be written for these types");
        Ok(workloads)
    }
}

fn kernel(rung: Rung, types: Types, size: Mnk, choices: Choices) -> Result<Kernel> {
    let plan = Plan::new(rung, types, size, choices)?;
    let source = rung.source(size);
    // MLIR knows its sizes.
    let push_constants = match source {
        Source::Glsl(_) => plan.push_constants(),
        Source::Mlir { .. } => Vec::new(),
    };
    Ok(Kernel {
        name: rung.name().to_owned(),
        tile: plan.tile.to_string(),
        source,
        definitions: types.definitions(),
        constants: plan.constants,
        subgroup_size: SUBGROUP_SIZE,
        groups: plan.groups,
        push_constants,
        then: None,
    })
}

impl Workload for Gemm {
    fn subject(&self) -> Subject {
        let Mnk { m, n, k } = self.size;
        Subject {
            workload: "gemm",
            problem: self.size.brief(),
            a: self.types.a,
            c: self.types.c,
            size: [m, n, k],
            operations: 2.0 * f64::from(m) * f64::from(n) * f64::from(k),
            peak: self.types.peak(),
        }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
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

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let [m, n, k] = [self.size.m, self.size.n, self.size.k].map(|size| size as usize);
        let a = Array::random(self.types.a, vec![m, k], 1)?;
        let b = Array::random(self.types.a, vec![k, n], 2)?;
        let c = Array::random(self.types.c, vec![m, n], 3)?;
        let is_b_column_major = self.is_b_column_major;
        let operands = Operands { m, n, k, a: &a, b: &b, c: &c, is_b_column_major };
        let Some(reference) = Reference::new(&operands, watch.interrupt) else { return Ok(None) };
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
        Ok(Some(Problem { buffers, check: Box::new(check) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::assert_right;

    fn types(text: &str) -> Types {
        text.parse().expect("types")
    }

    #[test]
    fn a_work_group_computes_what_no_tile_divides() {
        for is_b_column_major in [false, true] {
            let choices = Choices { is_b_column_major, ..Choices::default() };
            let size = Mnk { m: 150, n: 37, k: 50 };
            let workloads = Gemm::all(&[types("f16"), types("s8")], &[size], &[Rung::Workgroup], choices);
            for workload in workloads.expect("possible") {
                assert_right(&*workload);
            }
        }
    }

    #[test]
    fn the_rung_in_mlir_is_right_and_says_what_it_is_written_for() {
        let all = |size, choices| Gemm::all(&[types("f16")], &[size], &[Rung::SharedMlir], choices);
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
    fn the_older_dialect_is_left_out_where_it_has_no_type() {
        let rungs = [Rung::Tiled, Rung::TiledNv];
        let workloads =
            Gemm::all(&[types("bf16"), types("f16")], &[Mnk::cube(64)], &rungs, Choices::default())
                .expect("possible");
        let names: Vec<Vec<&str>> = workloads
            .iter()
            .map(|workload| workload.kernels().iter().map(|kernel| kernel.name.as_str()).collect())
            .collect();
        assert_eq!(names, [vec!["tiled"], vec!["tiled", "tiled-nv"]]);
        let none = Gemm::all(&[types("bf16")], &[Mnk::cube(64)], &[Rung::TiledNv], Choices::default());
        assert!(none.is_err());
    }
}
