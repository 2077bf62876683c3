//! Arrays that go into and come out of buffers: element types, files, and the specifications on the command line.

pub(crate) mod dtype;
pub(crate) mod npy;
pub(crate) mod random;
pub(crate) mod spec;
pub(crate) mod tensors;

use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub(crate) use dtype::DType;

/// Numbers with a type and a shape, little-endian, the last dimension fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Array {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

/// What can be wrong with data or with its specification. Always the user's to mend.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum DataError {
    #[error("`{text}` is no element type; known are {known}")]
    UnknownType { text: String, known: String },
    #[error("`{text}` is no {dtype}")]
    Number { text: String, dtype: DType },
    #[error("`{text}` is no type with dimensions; expected TYPE[N,...], for example f32[64,64]")]
    TypedShape { text: String },
    #[error("the dimensions {shape:?} hold more bytes than can be addressed")]
    TooLarge { shape: Vec<usize> },
    #[error("`{text}`: {problem}; expected {expected}")]
    Spec { text: String, problem: String, expected: &'static str },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: {problem}")]
    File { path: PathBuf, problem: String },
    #[error("{path} holds {found}, but {expected} was asked for")]
    Mismatch { path: PathBuf, found: String, expected: String },
}

impl Array {
    /// All zero.
    pub(crate) fn zeros(dtype: DType, shape: Vec<usize>) -> Result<Self, DataError> {
        let size = size_bytes(dtype, &shape)?;
        Ok(Self { dtype, shape, bytes: vec![0; size] })
    }

    /// The bytes of a buffer, seen as elements of a type.
    pub(crate) fn from_bytes(dtype: DType, shape: Vec<usize>, bytes: Vec<u8>) -> Result<Self, DataError> {
        let expected = size_bytes(dtype, &shape)?;
        if bytes.len() != expected {
            return Err(DataError::Spec {
                text: describe(dtype, &shape),
                problem: format!("takes {expected} bytes, but there are {}", bytes.len()),
                expected: "a type and dimensions that fit the buffer",
            });
        }
        Ok(Self { dtype, shape, bytes })
    }

    /// A file as it is, byte by byte.
    pub(crate) fn from_raw_file(path: &Path) -> Result<Self, DataError> {
        let bytes = fs::read(path).map_err(|source| DataError::Io { path: path.to_owned(), source })?;
        Ok(Self { dtype: DType::U8, shape: vec![bytes.len()], bytes })
    }

    /// Every element as a number.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        let dtype = self.dtype;
        self.bytes.chunks_exact(dtype.size_bytes()).map(move |element| dtype.value(dtype.read(element)))
    }

    /// Type and shape as they are written on the command line.
    pub(crate) fn description(&self) -> String {
        describe(self.dtype, &self.shape)
    }
}

/// `f32[64,64]`.
pub(crate) fn describe(dtype: DType, shape: &[usize]) -> String {
    let dimensions: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("{dtype}[{}]", dimensions.join(","))
}

/// The size of an array, if it can be addressed at all.
pub(crate) fn size_bytes(dtype: DType, shape: &[usize]) -> Result<usize, DataError> {
    let size = shape.iter().try_fold(dtype.size_bytes(), |size, &dimension| size.checked_mul(dimension));
    size.filter(|&size| isize::try_from(size).is_ok())
        .ok_or_else(|| DataError::TooLarge { shape: shape.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_dimensions_are_an_error() {
        assert!(Array::zeros(DType::F32, vec![usize::MAX, 2]).is_err());
        assert!(Array::zeros(DType::U8, vec![usize::MAX]).is_err());
        assert_eq!(Array::zeros(DType::F16, vec![0, 7]).expect("empty is fine").bytes.len(), 0);
    }

    #[test]
    fn elements_are_read_in_order() {
        let array = Array::from_bytes(DType::S16, vec![2], vec![1, 0, 0xff, 0xff]).expect("fits");
        assert_eq!(array.values().collect::<Vec<_>>(), [1.0, -1.0]);
        assert_eq!(array.description(), "s16[2]");
        assert!(Array::from_bytes(DType::S16, vec![3], vec![0; 4]).is_err());
    }
}
