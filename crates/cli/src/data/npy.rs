//! NumPy's `.npy` files: format versions 1 to 3, numbers of 8 to 64 bits.
//!
//! A file is a magic number, a version, and a header that is a Python dictionary with exactly the keys `descr`,
//! `fortran_order` and `shape`, followed by the elements. The header is read here rather than by a library because
//! the elements are only bytes to us, and the libraries at hand want a Rust type for each of them.
//!
//! Column-major files are transposed and big-endian files swapped while reading. NumPy has no name for bfloat16 and
//! the 8-bit floats: they are written as unsigned integers with the same bits, and a two-byte void type, which is
//! what NumPy writes for a bfloat16 that it knows from an extension, is read as bfloat16.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::input::{Elements, Input};
use super::spec::TypedShape;
use super::{DType, DataError};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The data starts at a multiple of this.
const ALIGNMENT: usize = 64;

/// The longest header that is read. Those of plain arrays have a hundred bytes.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// Opens a file and reads its header.
pub(crate) fn open(path: &Path) -> Result<Input, DataError> {
    let io = |source| DataError::Io { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if metadata.is_dir() {
        return Err(io(ErrorKind::IsADirectory.into()));
    }
    let problem = |problem| DataError::File { path: path.to_owned(), problem };
    let (header, length) = read_header(&mut file).map_err(problem)?;
    let input = header.input(Box::new(file), path)?;
    // Of a pipe it turns out only while reading.
    let held = metadata.len().saturating_sub(length as u64);
    if metadata.is_file() && held < input.size as u64 {
        let promised = input.size;
        return Err(problem(format!("the header promises {promised} bytes of data, the file holds {held}")));
    }
    Ok(input)
}

/// What a file of version 1 begins with.
pub(crate) fn header(typed: &TypedShape) -> Result<Vec<u8>, DataError> {
    let kind = match typed.dtype {
        DType::F16 | DType::F32 | DType::F64 => 'f',
        DType::S8 | DType::S16 | DType::S32 | DType::S64 => 'i',
        DType::Bf16 | DType::E4m3 | DType::E5m2 | DType::U8 | DType::U16 | DType::U32 | DType::U64 => 'u',
    };
    let size = typed.dtype.size_bytes();
    let order = if size == 1 { '|' } else { '<' };
    let mut shape = String::new();
    for dimension in &typed.shape {
        shape += &format!("{dimension}, ");
    }
    // A tuple of one keeps its comma, longer ones lose it, as Python prints them.
    let shape = if typed.shape.len() == 1 { shape.trim_end() } else { shape.trim_end_matches(", ") };
    let mut header =
        format!("{{'descr': '{order}{kind}{size}', 'fortran_order': False, 'shape': ({shape}), }}");
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(ALIGNMENT) - unpadded));
    header.push('\n');

    let length = u16::try_from(header.len())
        .map_err(|_wide| DataError::TypedShape { text: format!("{} dimensions", typed.shape.len()) })?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(length.to_le_bytes());
    bytes.extend(header.into_bytes());
    Ok(bytes)
}

/// The header, and how many bytes it and all before it take.
fn read_header(reader: &mut impl Read) -> Result<(Header, usize), String> {
    let mut magic = [0; MAGIC.len()];
    let not_ours = "not an .npy file: the magic number is missing";
    reader.read_exact(&mut magic).map_err(|_| not_ours)?;
    if magic != *MAGIC {
        return Err(not_ours.to_owned());
    }
    let [major, _minor] = bytes(reader)?;
    let (length, prefix) = match major {
        1 => (usize::from(u16::from_le_bytes(bytes(reader)?)), 2),
        2 | 3 => (u32::from_le_bytes(bytes(reader)?) as usize, 4),
        other => return Err(format!("version {other} of the .npy format is unknown")),
    };
    if length > MAX_HEADER_BYTES {
        return Err(format!("its header of {length} bytes is absurd"));
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text).map_err(|error| within_header(&error))?;
    let header = Header::parse(std::str::from_utf8(&text).map_err(|_| "the header is no text")?)?;
    Ok((header, MAGIC.len() + 2 + prefix + length))
}

fn bytes<const N: usize>(reader: &mut impl Read) -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes).map_err(|error| within_header(&error))?;
    Ok(bytes)
}

fn within_header(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "the file ends within its header".to_owned(),
        _ => error.to_string(),
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Header {
    dtype: DType,
    is_big_endian: bool,
    is_column_major: bool,
    shape: Vec<usize>,
}

impl Header {
    /// The elements that `reader` stands at.
    fn input(self, reader: Box<dyn Read>, path: &Path) -> Result<Input, DataError> {
        let elements = Elements {
            reader,
            path: path.to_owned(),
            is_big_endian: self.is_big_endian,
            is_column_major: self.is_column_major,
        };
        Input::elements(TypedShape { dtype: self.dtype, shape: self.shape }, elements)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let malformed = || format!("the header is malformed: {}", text.trim());
        let body =
            text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')).ok_or_else(malformed)?;
        let (mut descr, mut order, mut shape) = (None, None, None);
        let mut rest = body.trim_start();
        while !rest.is_empty() {
            let (key, after) = quoted(rest).ok_or_else(malformed)?;
            let after = after.trim_start().strip_prefix(':').ok_or_else(malformed)?.trim_start();
            rest = match key {
                "descr" => {
                    let (value, after) = quoted(after).ok_or_else(|| {
                        "arrays of records are not supported, only of plain numbers".to_owned()
                    })?;
                    descr = Some(value);
                    after
                }
                "fortran_order" => {
                    let end = after.find(',').unwrap_or(after.len());
                    order = match after[..end].trim() {
                        "True" => Some(true),
                        "False" => Some(false),
                        _ => return Err(malformed()),
                    };
                    &after[end..]
                }
                "shape" => {
                    let (tuple, after) = after
                        .strip_prefix('(')
                        .and_then(|text| text.split_once(')'))
                        .ok_or_else(malformed)?;
                    let numbers = tuple.split(',').map(str::trim).filter(|number| !number.is_empty());
                    // Python 2 wrote long integers with an L.
                    let parsed: Result<Vec<usize>, _> =
                        numbers.map(|number| number.trim_end_matches('L').parse()).collect();
                    shape = Some(parsed.map_err(|_| malformed())?);
                    after
                }
                _ => return Err(malformed()),
            };
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        let descr = descr.ok_or_else(malformed)?;
        let (dtype, is_big_endian) = parse_descr(descr)?;
        Ok(Self {
            dtype,
            is_big_endian,
            is_column_major: order.ok_or_else(malformed)?,
            shape: shape.ok_or_else(malformed)?,
        })
    }
}

/// The contents of the string literal at the start of `text`, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// `<f4` is a little-endian 4-byte float.
fn parse_descr(descr: &str) -> Result<(DType, bool), String> {
    let (order, kind) = match descr.chars().next() {
        Some(order @ ('<' | '>' | '|' | '=')) => (order, &descr[1..]),
        _ => ('=', descr),
    };
    let dtype = match kind {
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "i1" => DType::S8,
        "i2" => DType::S16,
        "i4" => DType::S32,
        "i8" => DType::S64,
        "u1" | "b1" | "V1" => DType::U8,
        "u2" => DType::U16,
        "u4" => DType::U32,
        "u8" => DType::U64,
        "V2" => DType::Bf16,
        _ => return Err(format!("elements of NumPy type `{descr}` are not supported")),
    };
    Ok((dtype, order == '>'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Array;

    /// The array in a file.
    fn parse(bytes: &[u8]) -> Result<Array, String> {
        let mut reader = std::io::Cursor::new(bytes.to_vec());
        let (header, _) = read_header(&mut reader)?;
        // A damaged shape may promise more than a test should take.
        let input = header.input(Box::new(reader), Path::new("x.npy")).map_err(|error| error.to_string())?;
        if input.size > 1 << 20 {
            return Err("too large".to_owned());
        }
        input.collect().map_err(|error| error.to_string())
    }

    fn format(array: &Array) -> Vec<u8> {
        let mut bytes =
            header(&TypedShape { dtype: array.dtype, shape: array.shape.clone() }).expect("a short header");
        bytes.extend(&array.bytes);
        bytes
    }

    /// A version 1 file with this header and data.
    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn what_is_written_is_read_back() {
        for dtype in [DType::F16, DType::F32, DType::F64, DType::S8, DType::S64, DType::U16, DType::U32] {
            for shape in [vec![], vec![3], vec![2, 3], vec![2, 0, 4]] {
                let array = Array::random(dtype, shape, 3).expect("small");
                assert_eq!(parse(&format(&array)).expect("well formed"), array);
            }
        }
    }

    #[test]
    fn the_bytes_are_those_of_numpy() {
        // numpy.save of numpy.arange(3, dtype='<u2').
        let mut expected =
            b"\x93NUMPY\x01\x00v\x00{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }".to_vec();
        expected.resize(127, b' ');
        expected.push(b'\n');
        expected.extend([0, 0, 1, 0, 2, 0]);
        let array = Array::from_bytes(DType::U16, vec![3], vec![0, 0, 1, 0, 2, 0]).expect("fits");
        assert_eq!(parse(&expected).expect("well formed"), array);
    }

    #[test]
    fn bfloat16_goes_out_as_bits_and_comes_in_from_void() {
        let array = Array::from_bytes(DType::Bf16, vec![1], vec![0x80, 0x3f]).expect("fits");
        let read = parse(&format(&array)).expect("well formed");
        assert_eq!((read.dtype, read.bytes), (DType::U16, array.bytes.clone()));
        let void = file("{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", &array.bytes);
        assert_eq!(parse(&void).expect("well formed"), array);
    }

    #[test]
    fn other_orders_are_brought_into_ours() {
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }";
        let data: Vec<u8> = [1_i16, 4, 2, 5, 3, 6].iter().flat_map(|value| value.to_be_bytes()).collect();
        let array = parse(&file(header, &data)).expect("well formed");
        assert_eq!(array.values().collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn every_fault_has_its_message() {
        let check = |bytes: &[u8], expected: &str| {
            let error = parse(bytes).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        };
        check(b"PK\x03\x04", "magic number");
        check(MAGIC, "ends within its header");
        check(&file("{'descr': '<f4'", &[]), "malformed");
        check(
            &file("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", &[0; 15]),
            "ends before its 16 bytes",
        );
        check(&file("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", &[0; 8]), "`<c8`");
        check(
            &file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", &[0; 4]),
            "records",
        );
        let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551615, 4), }";
        check(&file(huge, &[]), "addressed");
    }

    #[test]
    fn a_file_that_is_too_short_is_refused_before_it_is_read() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("x.npy");
        let array = Array::random(DType::F32, vec![2, 2], 1).expect("small");
        std::fs::write(&path, format(&array)).expect("writable");
        assert_eq!(open(&path).expect("well formed").collect().expect("readable"), array);
        std::fs::write(&path, &format(&array)[..143]).expect("writable");
        let error = open(&path).expect_err("too short").to_string();
        assert!(error.contains("promises 16 bytes of data, the file holds 15"), "{error}");
        assert!(open(directory.path()).is_err());
    }

    #[test]
    fn no_damaged_file_is_a_panic() {
        let good = format(&Array::random(DType::F32, vec![2, 2], 1).expect("small"));
        for length in 0..good.len() {
            let _ = parse(&good[..length]);
        }
        for position in 0..good.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[position] ^= flip;
                let _ = parse(&bytes);
            }
        }
    }
}
