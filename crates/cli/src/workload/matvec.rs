//! A matrix times few vectors in plain subgroup code, as inference engines write it for one token: D = W·X.
//!
//! The matrix is read once, and what counts is its bytes. An engine reads another matrix for each layer, so a benchmark has as many
//! of them as no cache holds, each of which is multiplied in turn; the peak is the speed at which as much memory is read. The blocks are those of [`dequant`](super::dequant); the form `dot` has the vectors in blocks
//! of bytes, too, whose making is not measured. Results are compared with a product in f64 of what all blocks hold.

use anyhow::{Result, bail, ensure};

use super::dequant::BLOCK;
use super::{Purpose, Source, values_of, words};
use crate::args::workload::{MatvecArgs, MatvecForm, Quantisation, Weights};
use crate::cache;
use crate::data::{Array, DType};
use crate::measure::{Constant, Kernel, Peak, Problem, Subject, Watch, Workload, upload};
use crate::reference::{Operands, Reference};
use crate::runtime::{Buffer, Device};

/// Invocations of a subgroup.
const LANES: u32 = 16;

/// Matrices at most, however small they are.
const MOST_MATRICES: u64 = 256;

/// Rows that an invocation works on: what it reads of the vectors serves all of them.
const ROWS: u32 = 12;
/// The same of one vector, whose sums registers hold.
const FEW_ROWS: u32 = 4;
/// The same for the form `dot`, but of two vectors.
const DOT_ROWS: u32 = 8;

impl Weights {
    fn quantisation(self) -> Option<Quantisation> {
        match self {
            Self::Q4 => Some(Quantisation::Q4),
            Self::Q8 => Some(Quantisation::Q8),
            Self::F16 => None,
        }
    }

    fn name(self) -> &'static str {
        self.quantisation().map_or("f16", Quantisation::name)
    }

    fn block_bytes(self) -> usize {
        self.quantisation().map_or(BLOCK * DType::F16.size_bytes(), Quantisation::block_bytes)
    }

    /// The bytes of a block that comes near these numbers, and what they hold.
    fn encode(self, numbers: &[f64]) -> (Vec<u8>, Vec<f64>) {
        match self.quantisation() {
            Some(quantisation) => {
                let bytes = quantisation.encode(numbers);
                let held = quantisation.decode(&bytes);
                (bytes, held)
            }
            None => {
                let bytes = super::bytes_of(DType::F16, numbers.iter().copied());
                let held = values_of(DType::F16, &bytes);
                (bytes, held)
            }
        }
    }
}

/// One product in one form.
#[derive(Debug)]
struct Matvec {
    m: u32,
    k: u32,
    columns: u32,
    weights: Weights,
    form: MatvecForm,
    /// Matrices that are multiplied in turn.
    matrices: usize,
    kernels: Vec<Kernel>,
}

/// What the user asked for.
pub(crate) fn all(args: &MatvecArgs, purpose: Purpose) -> Result<Vec<Box<dyn Workload>>> {
    let [m, k] = args.shape.unwrap_or_else(|| purpose.choose([300, 1024], [4096, 14336]));
    let mut workloads: Vec<Box<dyn Workload>> = Vec::new();
    for &weights in &args.blocks {
        for &form in args.kernels.iter().filter(|&&form| form != MatvecForm::Dot || weights != Weights::F16) {
            for &columns in &args.columns {
                let matvec = Matvec::new(m, k, columns, weights, form)?;
                let cold = purpose.choose(1, cache::cold_bytes().div_ceil(matvec.matrix_bytes() as u64));
                workloads.push(Box::new(Matvec { matrices: cold.min(MOST_MATRICES) as usize, ..matvec }));
            }
        }
    }
    Ok(workloads)
}

impl Matvec {
    fn new(m: u32, k: u32, columns: u32, weights: Weights, form: MatvecForm) -> Result<Self> {
        ensure!(
            m > 0 && k > 0 && k.is_multiple_of(BLOCK as u32),
            "{m}x{k}: rows must be multiples of {BLOCK} long"
        );
        let (name, source) = match form {
            MatvecForm::Plain => ("plain", include_str!("../../shaders/matvec/plain.comp")),
            MatvecForm::Dot => ("dot", include_str!("../../shaders/matvec/dot.comp")),
        };
        let definition = match weights {
            Weights::Q4 => "BLOCK_Q4_0",
            Weights::Q8 => "BLOCK_Q8_0",
            Weights::F16 => "BLOCK_F16",
        };
        let rows = match form {
            MatvecForm::Plain if columns == 1 => FEW_ROWS,
            MatvecForm::Dot if columns == 1 && weights == Weights::Q4 => FEW_ROWS,
            MatvecForm::Dot if columns != 2 => DOT_ROWS,
            MatvecForm::Plain | MatvecForm::Dot => ROWS,
        };
        let constants = [LANES, rows, columns];
        let kernel = Kernel {
            name: name.to_owned(),
            tile: format!("{rows}x{columns}x{}", 8 * LANES),
            source: Source::Glsl(source.to_owned()),
            definitions: vec![(definition, String::new())],
            constants: (0..).zip(constants.map(Constant::U32)).collect(),
            subgroup_size: LANES,
            groups: [m.div_ceil(rows), 1, 1],
            push_constants: words(&[m, k]),
            then: None,
        };
        Ok(Self { m, k, columns, weights, form, matrices: 1, kernels: vec![kernel] })
    }

    fn matrix_bytes(&self) -> usize {
        self.m as usize * (self.k as usize / BLOCK) * self.weights.block_bytes()
    }

    /// The buffers of the vectors, and the numbers that they stand for.
    fn vectors(&self) -> Result<(Vec<Vec<u8>>, Array)> {
        let shape = vec![self.columns as usize, self.k as usize];
        let numbers = Array::random(DType::F32, shape.clone(), 2)?;
        if self.form == MatvecForm::Plain {
            return Ok((vec![numbers.bytes.clone()], numbers));
        }
        let (mut bytes, mut scales, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for block in numbers.bytes.chunks_exact(BLOCK * DType::F32.size_bytes()) {
            let block = Quantisation::Q8.encode(&values_of(DType::F32, block));
            let numbers = Quantisation::Q8.decode(&block);
            let (scale, steps) = block.split_at(DType::F16.size_bytes());
            scales.extend(super::bytes_of(DType::F32, values_of(DType::F16, scale)));
            scales.extend(super::bytes_of(DType::F32, [numbers.iter().sum()]));
            held.extend(super::bytes_of(DType::F32, numbers));
            match self.weights {
                // A byte of weights has one of each half of its block.
                Weights::Q4 => {
                    let (low, high) = steps.split_at(BLOCK / 2);
                    low.chunks(4)
                        .zip(high.chunks(4))
                        .for_each(|(low, high)| bytes.extend([low, high].concat()));
                }
                Weights::Q8 | Weights::F16 => bytes.extend(steps),
            }
        }
        Ok((vec![bytes, scales], Array { dtype: DType::F32, shape, bytes: held }))
    }

    /// The bytes of the matrix, and the numbers that they stand for.
    fn matrix(&self) -> Result<(Vec<u8>, Array)> {
        let shape = vec![self.m as usize, self.k as usize];
        let wanted = Array::random(DType::F32, shape.clone(), 1)?;
        let (mut bytes, mut held) = (Vec::new(), Vec::new());
        for block in wanted.bytes.chunks_exact(BLOCK * DType::F32.size_bytes()) {
            let (block, numbers) = self.weights.encode(&values_of(DType::F32, block));
            bytes.extend(block);
            held.extend(super::bytes_of(DType::F32, numbers));
        }
        Ok((bytes, Array { dtype: DType::F32, shape, bytes: held }))
    }
}

impl Workload for Matvec {
    fn subject(&self) -> Subject {
        let &Self { m, k, columns, .. } = self;
        let vectors = if columns == 1 { "vector" } else { "vectors" };
        Subject {
            workload: "matvec",
            problem: format!("{} {m}×{k}, {columns} {vectors}, bytes read", self.weights.name()),
            a: if self.weights == Weights::F16 { DType::F16 } else { DType::S8 },
            c: DType::F32,
            size: [m, columns, k],
            operations: self.matrix_bytes() as f64,
            peak: Peak::Read(self.matrices * self.matrix_bytes()),
        }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    fn buffer_bytes(&self) -> u64 {
        let k = self.k as usize;
        let vector = match self.form {
            MatvecForm::Plain => k * DType::F32.size_bytes(),
            MatvecForm::Dot => k / BLOCK * (BLOCK + 2 * DType::F32.size_bytes()),
        };
        let per_column = vector + self.m as usize * DType::F32.size_bytes();
        (self.matrices * self.matrix_bytes() + self.columns as usize * per_column) as u64
    }

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let [m, n, k] = [self.m, self.columns, self.k].map(|size| size as usize);
        let (matrix, weights) = self.matrix()?;
        let (vectors, x) = self.vectors()?;
        let c = Array { dtype: DType::F32, shape: vec![m, n], bytes: vec![0; 4 * m * n] };
        let operands = Operands { m, n, k, a: &weights, b: &x, c: &c, is_b_column_major: true };
        let Some(reference) = Reference::new(&operands, watch.interrupt) else { return Ok(None) };
        let reference = reference.truncated(device.is_gpu());
        let result = device.create_buffer(c.bytes.len())?;
        let copies = (1..self.matrices).map(|_| upload(device, matrix.clone())).collect::<Result<_>>()?;
        let mut buffers = vec![upload(device, matrix)?];
        for bytes in vectors {
            buffers.push(upload(device, bytes)?);
        }
        buffers.push(result);
        let check = move |buffers: &[Buffer]| match buffers {
            [.., d] => reference.compare(|range| Ok(vec![0; range.len()]), |range| d.read(range)),
            [] => bail!("a product has a buffer for its result"),
        };
        Ok(Some(Problem::new(buffers, check).with_copies(copies)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{assert_right, assert_right_everywhere};

    #[test]
    fn products_are_right_whatever_the_size() {
        for weights in [Weights::Q4, Weights::Q8, Weights::F16] {
            for form in [MatvecForm::Plain, MatvecForm::Dot] {
                if (weights, form) == (Weights::F16, MatvecForm::Dot) {
                    continue;
                }
                let matvec = |m, k, columns| Matvec::new(m, k, columns, weights, form).expect("a good size");
                assert_right(&matvec(5, 512, 1));
                assert_right(&Matvec { matrices: 3, ..matvec(5, 512, 1) });
                assert_right(&matvec(4, 288, 3));
                assert_right_everywhere(&matvec(3, 64, 2));
            }
        }
        assert!(Matvec::new(4, 48, 1, Weights::Q4, MatvecForm::Plain).is_err());
    }
}
