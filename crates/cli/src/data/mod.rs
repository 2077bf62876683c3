//! Arrays that go into and come out of buffers: element types, files, and the specifications on the command line.

pub(crate) mod dtype;
pub(crate) mod input;
pub(crate) mod npy;
pub(crate) mod random;
pub(crate) mod spec;
pub(crate) mod tensors;

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
    /// Bytes as elements of a type.
    #[cfg(test)]
    pub(crate) fn from_bytes(dtype: DType, shape: Vec<usize>, bytes: Vec<u8>) -> Result<Self, DataError> {
        check_size(dtype, &shape, bytes.len())?;
        Ok(Self { dtype, shape, bytes })
    }

    /// Every element as a number.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        let dtype = self.dtype;
        self.bytes.chunks_exact(dtype.size_bytes()).map(move |element| dtype.value(dtype.read(element)))
    }
}

/// `f32[64,64]`.
pub(crate) fn describe(dtype: DType, shape: &[usize]) -> String {
    let dimensions: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("{dtype}[{}]", dimensions.join(","))
}

/// Refuses a file that cannot be written for want of its directory, which is not to turn out after long work.
pub(crate) fn check_place(path: &Path) -> Result<(), DataError> {
    match path.parent() {
        Some(directory) if directory != Path::new("") && !directory.is_dir() => Err(DataError::File {
            path: path.to_owned(),
            problem: format!("there is no directory {}", directory.display()),
        }),
        _ => Ok(()),
    }
}

/// Whether so many bytes are an array of this type and shape.
pub(crate) fn check_size(dtype: DType, shape: &[usize], bytes: usize) -> Result<(), DataError> {
    let expected = size_bytes(dtype, shape)?;
    if bytes != expected {
        return Err(DataError::Spec {
            text: describe(dtype, shape),
            problem: format!("takes {expected} bytes, but there are {bytes}"),
            expected: "a type and dimensions that fit the buffer",
        });
    }
    Ok(())
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
        assert!(size_bytes(DType::F32, &[usize::MAX, 2]).is_err());
        assert!(size_bytes(DType::U8, &[usize::MAX]).is_err());
        assert_eq!(size_bytes(DType::F16, &[0, 7]).expect("empty is fine"), 0);
    }

    #[test]
    fn elements_are_read_in_order() {
        let array = Array::from_bytes(DType::S16, vec![2], vec![1, 0, 0xff, 0xff]).expect("fits");
        assert_eq!(array.values().collect::<Vec<_>>(), [1.0, -1.0]);
        assert_eq!(describe(array.dtype, &array.shape), "s16[2]");
        assert!(Array::from_bytes(DType::S16, vec![3], vec![0; 4]).is_err());
    }
}
