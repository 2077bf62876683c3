//! One tensor out of a `.safetensors` file.
//!
//! Only the header and that tensor are read: the file may hold a whole model.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::Metadata;

use super::input::{Elements, Input};
use super::spec::TypedShape;
use super::{DType, DataError, size_bytes};

/// The largest header that the format allows.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// Opens the tensor called `name`.
pub(crate) fn open(path: &Path, name: &str) -> Result<Input, DataError> {
    let mut file = File::open(path).map_err(|source| DataError::Io { path: path.to_owned(), source })?;
    let typed =
        find(&mut file, name).map_err(|problem| DataError::File { path: path.to_owned(), problem })?;
    let elements = Elements {
        reader: Box::new(file),
        path: path.to_owned(),
        is_big_endian: false,
        is_column_major: false,
    };
    Input::elements(typed, elements)
}

/// Type and shape of a tensor; afterwards the file stands at its first element.
fn find(file: &mut (impl Read + Seek), name: &str) -> Result<TypedShape, String> {
    let not_ours = |what: &str| format!("not a safetensors file: {what}");
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(|_| not_ours("it is shorter than 8 bytes"))?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER_BYTES {
        return Err(not_ours("the length of its header is absurd"));
    }
    let mut header = Vec::new();
    file.by_ref().take(length).read_to_end(&mut header).map_err(|error| error.to_string())?;
    let metadata: Metadata = serde_json::from_slice(&header).map_err(|error| not_ours(&error.to_string()))?;

    let Some(info) = metadata.info(name) else {
        let mut names = metadata.offset_keys();
        if names.is_empty() {
            return Err(format!("there is no tensor `{name}`; the file has none"));
        }
        names.truncate(20);
        return Err(format!("there is no tensor `{name}`; the first ones are {}", names.join(", ")));
    };
    let dtype =
        convert(info.dtype).ok_or_else(|| format!("tensors of type {:?} are not supported", info.dtype))?;
    let size = size_bytes(dtype, &info.shape).map_err(|error| error.to_string())?;
    let (start, end) = info.data_offsets;
    if end.checked_sub(start) != Some(size) {
        return Err(format!("tensor `{name}` has another size than its shape"));
    }
    let position = 8 + length + start as u64;
    let file_end = file.seek(SeekFrom::End(0)).map_err(|error| error.to_string())?;
    if position.checked_add(size as u64).is_none_or(|end| end > file_end) {
        return Err(format!("the file ends within tensor `{name}`"));
    }
    file.seek(SeekFrom::Start(position)).map_err(|error| error.to_string())?;
    Ok(TypedShape { dtype, shape: info.shape.clone() })
}

fn convert(dtype: Dtype) -> Option<DType> {
    Some(match dtype {
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::Bf16,
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        Dtype::F8_E4M3 => DType::E4m3,
        Dtype::F8_E5M2 => DType::E5m2,
        Dtype::I8 => DType::S8,
        Dtype::I16 => DType::S16,
        Dtype::I32 => DType::S32,
        Dtype::I64 => DType::S64,
        Dtype::U8 | Dtype::BOOL => DType::U8,
        Dtype::U16 => DType::U16,
        Dtype::U32 => DType::U32,
        Dtype::U64 => DType::U64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use safetensors::tensor::TensorView;

    use super::*;
    use crate::data::Array;

    fn read_from(mut file: Cursor<Vec<u8>>, name: &str) -> Result<Array, String> {
        let typed = find(&mut file, name)?;
        let (reader, path) = (Box::new(file), "m.safetensors".into());
        let elements = Elements { reader, path, is_big_endian: false, is_column_major: false };
        let input = Input::elements(typed, elements).map_err(|error| error.to_string())?;
        input.collect().map_err(|error| error.to_string())
    }

    fn file() -> Vec<u8> {
        let weights: Vec<u8> = (0..16).collect();
        let view = |dtype, shape: &[usize]| TensorView::new(dtype, shape.to_vec(), &weights).expect("fits");
        let tensors = [("weight", view(Dtype::BF16, &[2, 4])), ("scale", view(Dtype::F8_E4M3, &[16]))];
        safetensors::serialize(tensors, None).expect("well formed")
    }

    #[test]
    fn a_tensor_is_found_by_name() {
        let array = read_from(Cursor::new(file()), "weight").expect("there");
        assert_eq!((array.dtype, array.shape), (DType::Bf16, vec![2, 4]));
        assert_eq!(array.bytes, (0..16).collect::<Vec<u8>>());
        assert_eq!(read_from(Cursor::new(file()), "scale").expect("there").dtype, DType::E4m3);
    }

    #[test]
    fn a_missing_tensor_is_told_with_the_names_there_are() {
        let error = read_from(Cursor::new(file()), "bias").expect_err("not there");
        assert!(error.contains("no tensor `bias`") && error.contains("weight"), "{error}");
    }

    #[test]
    fn no_damaged_file_is_a_panic() {
        let good = file();
        for length in 0..good.len() {
            assert!(read_from(Cursor::new(good[..length].to_vec()), "weight").is_err() || length >= 24);
        }
        for position in 0..good.len() {
            let mut bytes = good.clone();
            bytes[position] ^= 0x41;
            let _ = read_from(Cursor::new(bytes), "weight");
        }
    }
}
