//! Networks of fully connected layers, and where their numbers lie in the buffers of kernels.
//!
//! Each layer's matrix, in any layout of cooperative vectors, is followed by its biases. A network that is trained is kept
//! twice: in f32, its matrices in the layout that outer products are added in, so that the optimiser may take all of it for
//! one array; and in f16, its matrices in the layout that multiplying is fastest from. [`Layers::multiplied`] makes the second
//! of the first after each step.

use anyhow::{Result, ensure};

use super::{bytes_of, values_of};
use crate::args::LayoutName;
use crate::data::DType;
use crate::runtime::vector::{bytes, converted, room};

/// What matrices and biases are aligned to, in bytes (VK_NV_cooperative_vector).
const ALIGNMENT: usize = 64;

/// How the matrices lie that are trained, and those that are multiplied by.
const TRAINED: (DType, LayoutName) = (DType::F32, LayoutName::Training);
const MULTIPLIED: (DType, LayoutName) = (DType::F16, LayoutName::Inferencing);
const ROWS: (DType, LayoutName) = (DType::F32, LayoutName::RowMajor);

/// One layer in numbers: a row of weights for each result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layer {
    pub(crate) inputs: usize,
    pub(crate) weights: Vec<f64>,
    pub(crate) biases: Vec<f64>,
}

/// Where each layer's matrix and its biases begin, in bytes, and how many bytes all take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) layers: Vec<[usize; 2]>,
    pub(crate) bytes: usize,
}

impl Places {
    /// The places of layers with so many results and inputs; the first function says what a matrix takes.
    pub(crate) fn new(
        shapes: &[[usize; 2]],
        matrix_bytes: impl Fn(usize, usize) -> Result<usize>,
        biases: DType,
    ) -> Result<Self> {
        let mut end = 0_usize;
        let mut layers = Vec::new();
        for &[results, inputs] in shapes {
            let matrix = end;
            end = (end + matrix_bytes(results, inputs)?).next_multiple_of(ALIGNMENT);
            layers.push([matrix, end]);
            end = (end + results * biases.size_bytes()).next_multiple_of(ALIGNMENT);
        }
        Ok(Self { layers, bytes: end })
    }
}

/// The layers of a network that is trained.
#[derive(Debug, Clone)]
pub(crate) struct Layers {
    /// Results and inputs of each.
    shapes: Vec<[usize; 2]>,
    /// As they are trained.
    pub(crate) trained: Places,
    /// As they are multiplied by.
    pub(crate) multiplied: Places,
}

impl Layers {
    pub(crate) fn new(shapes: Vec<[usize; 2]>) -> Result<Self> {
        let places = |(dtype, layout): (DType, LayoutName)| {
            Places::new(&shapes, |results, inputs| room(dtype, layout, results, inputs), dtype)
        };
        Ok(Self { trained: places(TRAINED)?, multiplied: places(MULTIPLIED)?, shapes })
    }

    /// How many numbers are trained, what fills up lines among them.
    pub(crate) fn numbers(&self) -> usize {
        self.trained.bytes / DType::F32.size_bytes()
    }

    /// A network as it is trained.
    pub(crate) fn to_trained(&self, network: &[Layer]) -> Result<Vec<u8>> {
        let mut all = vec![0; self.trained.bytes];
        for ((shape, places), layer) in self.shapes.iter().zip(&self.trained.layers).zip(network) {
            let weights = bytes_of(DType::F32, layer.weights.iter().copied());
            put(&mut all, places[0], &converted(*shape, ROWS, TRAINED, &weights)?)?;
            put(&mut all, places[1], &bytes_of(DType::F32, layer.biases.iter().copied()))?;
        }
        Ok(all)
    }

    /// Back from [`Layers::to_trained`].
    pub(crate) fn of_trained(&self, trained: &[u8]) -> Result<Vec<Layer>> {
        let layers = self.shapes.iter().zip(&self.trained.layers).map(|(&shape, places)| {
            let [results, inputs] = shape;
            let (matrix, biases) = self.split(trained, shape, places)?;
            Ok(Layer {
                inputs,
                weights: values_of(DType::F32, &converted(shape, TRAINED, ROWS, matrix)?),
                biases: values_of(DType::F32, &biases[..results * DType::F32.size_bytes()]),
            })
        });
        layers.collect()
    }

    /// What is trained, as it is multiplied by on a device whose best layout this is.
    pub(crate) fn multiplied(&self, trained: &[u8], inferencing: LayoutName) -> Result<Vec<u8>> {
        let mut all = vec![0; self.multiplied.bytes];
        for ((&shape, from), to) in self.shapes.iter().zip(&self.trained.layers).zip(&self.multiplied.layers)
        {
            let (matrix, biases) = self.split(trained, shape, from)?;
            put(&mut all, to[0], &converted(shape, TRAINED, (MULTIPLIED.0, inferencing), matrix)?)?;
            put(&mut all, to[1], &bytes_of(DType::F16, values_of(DType::F32, biases)))?;
        }
        Ok(all)
    }

    /// The bytes of a layer's matrix and of its biases.
    fn split<'a>(
        &self,
        trained: &'a [u8],
        [results, inputs]: [usize; 2],
        &[matrix, biases]: &[usize; 2],
    ) -> Result<(&'a [u8], &'a [u8])> {
        ensure!(trained.len() >= self.trained.bytes, "a network of {} bytes is too short", trained.len());
        let matrix = &trained[matrix..][..bytes(TRAINED.0, TRAINED.1, results, inputs)?];
        Ok((matrix, &trained[biases..][..results * DType::F32.size_bytes()]))
    }
}

fn put(all: &mut [u8], at: usize, part: &[u8]) -> Result<()> {
    let place = all.get_mut(at..at + part.len());
    ensure!(place.is_some(), "a layer lies beyond its network");
    place.into_iter().for_each(|place| place.copy_from_slice(part));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_comes_back_and_is_multiplied_in_f16() {
        let layers = Layers::new(vec![[3, 5], [7, 3]]).expect("possible");
        let network: Vec<Layer> = [(3, 5), (7, 3)]
            .map(|(results, inputs)| Layer {
                inputs,
                weights: (0..results * inputs).map(|i| 0.25 * i as f64 - 1.0).collect(),
                biases: (0..results).map(|i| i as f64).collect(),
            })
            .to_vec();
        let trained = layers.to_trained(&network).expect("possible");
        assert_eq!(trained.len(), 4 * layers.numbers());
        assert_eq!(layers.of_trained(&trained).expect("possible"), network);
        for layout in [LayoutName::Inferencing, LayoutName::Paired] {
            let multiplied = layers.multiplied(&trained, layout).expect("possible");
            let [matrix, biases] = layers.multiplied.layers[1];
            let size = bytes(DType::F16, layout, 7, 3).expect("possible");
            let matrix_bytes = &multiplied[matrix..][..size];
            let rows = converted([7, 3], (DType::F16, layout), ROWS, matrix_bytes).expect("possible");
            assert_eq!(values_of(DType::F32, &rows), network[1].weights);
            assert_eq!(values_of(DType::F16, &multiplied[biases..][..14]), network[1].biases);
            assert!([matrix, biases].iter().all(|place| place.is_multiple_of(ALIGNMENT)));
        }
    }

    #[test]
    fn a_short_network_is_refused() {
        let layers = Layers::new(vec![[3, 5]]).expect("possible");
        assert!(layers.of_trained(&[0; 16]).is_err() && layers.multiplied(&[0; 16], MULTIPLIED.1).is_err());
    }
}
