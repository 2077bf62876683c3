//! The first contents of a buffer, read or made piece by piece.
//!
//! What goes into a buffer may be as large as memory, so it is never held beside the buffer: an [`Input`] knows its
//! type and its size beforehand, and is poured into the buffer in pieces of [`PIECE`] bytes.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::random::Random;
use super::spec::TypedShape;
use super::{DType, DataError, describe, size_bytes};

/// How much is held at a time; a multiple of every element's size.
pub(crate) const PIECE: usize = 256 << 10;

/// What a buffer holds at first.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// Its size in bytes.
    pub(crate) size: usize,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Zeros,
    Random(u64),
    Elements(Elements),
}

/// The elements in a file.
pub(crate) struct Elements {
    /// Stands at the first of them.
    pub(crate) reader: Box<dyn Read>,
    pub(crate) path: PathBuf,
    pub(crate) is_big_endian: bool,
    /// Whether the first dimension is the fastest.
    pub(crate) is_column_major: bool,
}

impl fmt::Debug for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elements").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Input {
    fn new(typed: TypedShape, content: Content) -> Result<Self, DataError> {
        let size = size_bytes(typed.dtype, &typed.shape)?;
        Ok(Self { dtype: typed.dtype, shape: typed.shape, size, content })
    }

    /// All zero.
    pub(crate) fn zeros(typed: TypedShape) -> Result<Self, DataError> {
        Self::new(typed, Content::Zeros)
    }

    /// Random numbers; see [`super::random`] for their distribution.
    pub(crate) fn random(typed: TypedShape, seed: u64) -> Result<Self, DataError> {
        Self::new(typed, Content::Random(seed))
    }

    /// What a file holds.
    pub(crate) fn elements(typed: TypedShape, elements: Elements) -> Result<Self, DataError> {
        Self::new(typed, Content::Elements(elements))
    }

    /// A file as it is, byte by byte. Of what is no regular file, such as a pipe, only the user knows the size.
    pub(crate) fn raw(path: &Path, expected: Option<&TypedShape>) -> Result<Self, DataError> {
        let io = |source| DataError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        let size = match expected {
            _ if metadata.is_dir() => return Err(io(ErrorKind::IsADirectory.into())),
            Some(typed) if !metadata.is_file() => size_bytes(typed.dtype, &typed.shape)?,
            None if !metadata.is_file() => {
                let problem =
                    "is no regular file, so its size must be told: write TYPE[DIMS]: before its name";
                return Err(DataError::File { path: path.to_owned(), problem: problem.to_owned() });
            }
            _ => usize::try_from(metadata.len())
                .map_err(|_wide| DataError::TooLarge { shape: vec![usize::MAX] })?,
        };
        let typed = TypedShape { dtype: DType::U8, shape: vec![size] };
        let elements = Elements {
            reader: Box::new(file),
            path: path.to_owned(),
            is_big_endian: false,
            is_column_major: false,
        };
        Self::elements(typed, elements)
    }

    /// The same bytes as another type.
    pub(crate) fn seen_as(self, typed: &TypedShape) -> Self {
        Self { dtype: typed.dtype, shape: typed.shape.clone(), ..self }
    }

    /// Type and shape as they are written on the command line.
    pub(crate) fn description(&self) -> String {
        describe(self.dtype, &self.shape)
    }

    /// Type and shape.
    pub(crate) fn typed(&self) -> TypedShape {
        TypedShape { dtype: self.dtype, shape: self.shape.clone() }
    }

    /// Gives the contents to `sink` in pieces, each with its offset. What is given to nobody is zero.
    pub(crate) fn pour<E: From<DataError>>(
        self,
        sink: &mut impl FnMut(usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.content {
            Content::Zeros => Ok(()),
            Content::Random(seed) => pour_random(self.dtype, self.size, seed, sink),
            Content::Elements(elements) => elements.pour(self.dtype, &self.shape, self.size, sink),
        }
    }
}

fn pour_random<E>(
    dtype: DType,
    size: usize,
    seed: u64,
    sink: &mut impl FnMut(usize, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut random = Random::new(seed);
    let mut piece = Vec::with_capacity(PIECE.min(size));
    for start in (0..size).step_by(PIECE) {
        piece.clear();
        random.fill(dtype, PIECE.min(size - start), &mut piece);
        sink(start, &piece)?;
    }
    Ok(())
}

impl Elements {
    fn pour<E: From<DataError>>(
        mut self,
        dtype: DType,
        shape: &[usize],
        size: usize,
        sink: &mut impl FnMut(usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut buffer = vec![0; PIECE.min(size)];
        let mut order = ColumnMajor::new(shape);
        for start in (0..size).step_by(PIECE) {
            let piece = &mut buffer[..PIECE.min(size - start)];
            self.reader.read_exact(piece).map_err(|error| self.error(error, size))?;
            if self.is_big_endian {
                piece.chunks_exact_mut(dtype.size_bytes()).for_each(<[u8]>::reverse);
            }
            if self.is_column_major {
                for element in piece.chunks_exact(dtype.size_bytes()) {
                    sink(order.next() * dtype.size_bytes(), element)?;
                }
            } else {
                sink(start, piece)?;
            }
        }
        Ok(())
    }

    fn error(&self, source: std::io::Error, size: usize) -> DataError {
        let path = self.path.clone();
        if source.kind() == ErrorKind::UnexpectedEof {
            return DataError::File { path, problem: format!("it ends before its {size} bytes of data do") };
        }
        DataError::Io { path, source }
    }
}

/// Where the elements of a column-major array lie in a row-major one.
struct ColumnMajor<'a> {
    shape: &'a [usize],
    index: Vec<usize>,
}

impl<'a> ColumnMajor<'a> {
    fn new(shape: &'a [usize]) -> Self {
        Self { shape, index: vec![0; shape.len()] }
    }

    /// The place of the next element, counted in elements.
    fn next(&mut self) -> usize {
        let place =
            self.index.iter().zip(self.shape).fold(0, |place, (index, length)| place * length + index);
        for (index, &length) in self.index.iter_mut().zip(self.shape) {
            *index += 1;
            if *index < length {
                break;
            }
            *index = 0;
        }
        place
    }
}

#[cfg(test)]
impl Input {
    /// All of it, for comparing.
    pub(crate) fn collect(self) -> Result<super::Array, DataError> {
        let (dtype, shape, mut bytes) = (self.dtype, self.shape.clone(), vec![0; self.size]);
        self.pour(&mut |offset, piece: &[u8]| {
            assert!(piece.len() <= PIECE);
            bytes[offset..offset + piece.len()].copy_from_slice(piece);
            Ok::<_, DataError>(())
        })?;
        Ok(super::Array { dtype, shape, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Array;

    fn typed(text: &str) -> TypedShape {
        text.parse().expect("well formed")
    }

    #[test]
    fn zeros_are_not_poured_at_all() {
        let input = Input::zeros(typed("f32[1000000000000]")).expect("addressable");
        assert_eq!(input.size, 4_000_000_000_000);
        let mut nobody = |_: usize, _: &[u8]| Err(DataError::TooLarge { shape: Vec::new() });
        input.pour(&mut nobody).expect("nothing is poured");
        assert!(Input::zeros(typed("f32[1,18446744073709551615]")).is_err());
    }

    #[test]
    fn random_pieces_are_those_of_the_whole() {
        for (text, dtype) in [("f16[300000]", DType::F16), ("s8[7]", DType::S8), ("f64[0]", DType::F64)] {
            let (typed, whole) = (typed(text), typed(text).shape);
            let whole = Array::random(dtype, whole, 5).expect("small");
            assert_eq!(Input::random(typed, 5).expect("small").collect().expect("made"), whole);
        }
    }

    #[test]
    fn a_file_is_read_in_pieces() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("x.bin");
        let bytes: Vec<u8> = (0..PIECE + 1001).map(|index| (index % 251) as u8).collect();
        std::fs::write(&path, &bytes).expect("writable");
        let input = Input::raw(&path, None).expect("readable");
        assert_eq!(input.collect().expect("readable").bytes, bytes);
        assert!(Input::raw(directory.path(), None).is_err());
    }

    #[test]
    fn what_is_no_file_needs_a_size() {
        let path = Path::new("/dev/zero");
        let error = Input::raw(path, None).expect_err("endless").to_string();
        assert!(error.contains("TYPE[DIMS]"), "{error}");
        let input = Input::raw(path, Some(&typed("f32[4]"))).expect("readable");
        assert_eq!(input.collect().expect("readable").bytes, [0; 16]);
        let empty = Input::raw(Path::new("/dev/null"), Some(&typed("f32[4]"))).expect("readable");
        assert!(empty.collect().expect_err("empty").to_string().contains("ends before its 16 bytes"));
    }

    #[test]
    fn columns_are_laid_out_as_rows() {
        let shape = [2, 3];
        let mut order = ColumnMajor::new(&shape);
        let places: Vec<usize> = (0..6).map(|_| order.next()).collect();
        assert_eq!(places, [0, 3, 1, 4, 2, 5]);
    }
}
