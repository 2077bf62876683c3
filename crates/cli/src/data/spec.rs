//! What is written after `--bind`, `--out`, `--push` and `--spec`.
//!
//! ```text
//! --bind  PLACE=SOURCE          PLACE:  SET:BIND | SET:BIND[INDEX] | NAME
//! --out   PLACE=FILE            SOURCE: [TYPE[DIMS]:]FILE.npy
//! --out   PLACE=TYPE[DIMS]:FILE         [TYPE[DIMS]:]FILE.safetensors#TENSOR
//! --push  FIELD,…                       [TYPE[DIMS]:]FILE            (any other file: its bytes)
//! --spec  ID=[TYPE:]NUMBER              bits:SOURCE                  (whatever type the shader has there)
//!                                       zeros:TYPE[DIMS]
//!                                       rand:TYPE[DIMS][:SEED]
//!                                       struct:FIELD,…
//!                                       addresses:PLACE,…
//! FIELD:  TYPE:NUMBER | NUMBER (of the type before it) | addr:PLACE | align:BYTES
//! ```
//!
//! A NAME is a buffer that no descriptor points to; it is reached through its address alone. Fields follow each other
//! as in a C structure of numbers: each is aligned to its own size, and `align:16` starts a vector or a nested
//! structure where the shader expects it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{Array, DType, DataError, describe, npy, tensors};

/// Which buffer is meant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    /// An element of a descriptor binding; the index is 0 unless the binding is an array.
    Descriptor { set: u32, binding: u32, index: u32 },
    /// A buffer that only its address leads to.
    Named(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Descriptor { set, binding, index: 0 } => write!(f, "{set}:{binding}"),
            Self::Descriptor { set, binding, index } => write!(f, "{set}:{binding}[{index}]"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl FromStr for Place {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let error = |problem: &str| DataError::Spec {
            text: text.to_owned(),
            problem: problem.to_owned(),
            expected: "SET:BIND, SET:BIND[INDEX] or NAME",
        };
        if text.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_');
            return if is_name {
                Ok(Self::Named(text.to_owned()))
            } else {
                Err(error("a name has only letters, digits and underscores"))
            };
        }
        let (set, rest) = text.split_once(':').ok_or_else(|| error("there is no colon"))?;
        let (binding, index) = match rest.strip_suffix(']') {
            Some(rest) => rest.split_once('[').ok_or_else(|| error("`]` without `[`"))?,
            None => (rest, "0"),
        };
        let number = |text: &str| text.parse().map_err(|_| error(&format!("`{text}` is no number")));
        Ok(Self::Descriptor { set: number(set)?, binding: number(binding)?, index: number(index)? })
    }
}

/// A type with dimensions: `f32[64,64]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypedShape {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
}

impl FromStr for TypedShape {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let error = || DataError::TypedShape { text: text.to_owned() };
        let (dtype, rest) = text.split_once('[').ok_or_else(error)?;
        let dimensions = rest.strip_suffix(']').ok_or_else(error)?;
        let shape: Result<Vec<usize>, _> =
            dimensions.split(',').map(|number| number.trim().parse()).collect();
        Ok(Self { dtype: dtype.parse()?, shape: shape.map_err(|_| error())? })
    }
}

/// Where the first contents of a buffer come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Npy(PathBuf),
    Tensor { path: PathBuf, name: String },
    Raw(PathBuf),
    Zeros(TypedShape),
    Random(TypedShape, u64),
    Fields(Vec<Field>),
}

/// A member of a structure or of the push constants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Field {
    Number { dtype: DType, bits: u64 },
    Address(Place),
    Align(usize),
}

/// A buffer and its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BindSpec {
    pub(crate) place: Place,
    pub(crate) source: Source,
    /// What a file must hold, if the user said so.
    pub(crate) expected: Option<TypedShape>,
    /// Whether the shader may see other types in its bytes.
    pub(crate) is_bits: bool,
}

/// A buffer to be written to a file at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutSpec {
    pub(crate) place: Place,
    pub(crate) path: PathBuf,
    /// How its bytes are to be seen; as they were bound unless given.
    pub(crate) typed: Option<TypedShape>,
}

/// A specialisation constant. The shader knows its type unless the user gives one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SpecConstant {
    pub(crate) id: u32,
    pub(crate) value: SpecNumber,
}

/// A number whose type is known only once the shader has been read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SpecNumber {
    Bool(bool),
    Untyped(String),
    Typed { dtype: DType, bits: u64 },
}

/// Push constants, or a part of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PushSpec(pub(crate) Vec<Field>);

const BIND: &str = "PLACE=FILE.npy, PLACE=FILE.safetensors#TENSOR, PLACE=FILE, PLACE=zeros:TYPE[DIMS], \
                    PLACE=rand:TYPE[DIMS]:SEED, PLACE=struct:FIELD,... or PLACE=addresses:PLACE,...";
const FIELDS: &str = "TYPE:NUMBER, NUMBER, addr:PLACE or align:BYTES, separated by commas";

impl FromStr for BindSpec {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let (place, source) = split_place(text, BIND)?;
        let (is_bits, source) = match source.strip_prefix("bits:") {
            Some(source) => (true, source),
            None => (false, source),
        };
        let (expected, source) = match split_typed_prefix(source) {
            Some((typed, file)) => (Some(typed?), file),
            None => (None, source),
        };
        Ok(Self { place, source: source.parse()?, expected, is_bits })
    }
}

impl FromStr for Source {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let error = |problem: &str| DataError::Spec {
            text: text.to_owned(),
            problem: problem.to_owned(),
            expected: BIND,
        };
        if let Some(typed) = text.strip_prefix("zeros:") {
            return Ok(Self::Zeros(typed.parse()?));
        }
        if let Some(rest) = text.strip_prefix("rand:") {
            let (typed, seed) = match rest.split_once("]:") {
                Some((typed, seed)) => (format!("{typed}]"), seed),
                None => (rest.to_owned(), "0"),
            };
            let seed = seed.parse().map_err(|_| error(&format!("the seed `{seed}` is no number")))?;
            return Ok(Self::Random(typed.parse()?, seed));
        }
        if let Some(fields) = text.strip_prefix("struct:") {
            return Ok(Self::Fields(parse_fields(fields)?));
        }
        if let Some(places) = text.strip_prefix("addresses:") {
            let places: Result<Vec<Place>, _> = places.split(',').map(str::parse).collect();
            return Ok(Self::Fields(places?.into_iter().map(Field::Address).collect()));
        }
        if text.is_empty() {
            return Err(error("there is nothing after the `=`"));
        }
        if let Some((path, name)) = text.split_once(".safetensors#") {
            let path = PathBuf::from(format!("{path}.safetensors"));
            return Ok(Self::Tensor { path, name: name.to_owned() });
        }
        let path = PathBuf::from(text);
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_owned);
        match extension.as_deref() {
            Some("npy") => Ok(Self::Npy(path)),
            Some("safetensors") => Err(error("which tensor? Write FILE.safetensors#TENSOR")),
            _ => Ok(Self::Raw(path)),
        }
    }
}

impl FromStr for OutSpec {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let expected = "PLACE=FILE.npy, PLACE=FILE or PLACE=TYPE[DIMS]:FILE.npy";
        let (place, file) = split_place(text, expected)?;
        let (typed, file) = match split_typed_prefix(file) {
            Some((typed, file)) => (Some(typed?), file),
            None => (None, file),
        };
        if file.is_empty() {
            let problem = "there is no file name".to_owned();
            return Err(DataError::Spec { text: text.to_owned(), problem, expected });
        }
        Ok(Self { place, path: PathBuf::from(file), typed })
    }
}

impl FromStr for PushSpec {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        parse_fields(text).map(Self)
    }
}

impl FromStr for SpecConstant {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let error = |problem: String| DataError::Spec {
            text: text.to_owned(),
            problem,
            expected: "ID=NUMBER, ID=true, ID=false or ID=TYPE:NUMBER",
        };
        let (id, value) = text.split_once('=').ok_or_else(|| error("there is no `=`".to_owned()))?;
        let id = id.parse().map_err(|_| error(format!("the id `{id}` is no number")))?;
        let value = match value {
            "true" => SpecNumber::Bool(true),
            "false" => SpecNumber::Bool(false),
            _ => match value.split_once(':') {
                Some((dtype, number)) => {
                    let dtype: DType = dtype.parse()?;
                    SpecNumber::Typed { dtype, bits: dtype.parse_value(number)? }
                }
                // Every number is a double, if not an integer of some size.
                None if DType::F64.parse_value(value).is_ok() || DType::S64.parse_value(value).is_ok() => {
                    SpecNumber::Untyped(value.to_owned())
                }
                None => return Err(error(format!("`{value}` is no number"))),
            },
        };
        Ok(Self { id, value })
    }
}

fn split_place<'a>(text: &'a str, expected: &'static str) -> Result<(Place, &'a str), DataError> {
    let (place, rest) = text.split_once('=').ok_or_else(|| DataError::Spec {
        text: text.to_owned(),
        problem: "there is no `=`".to_owned(),
        expected,
    })?;
    Ok((place.parse()?, rest))
}

/// Takes `f32[2,3]:` off the front of `text`. A file whose name begins like this must be written with `./`.
fn split_typed_prefix(text: &str) -> Option<(Result<TypedShape, DataError>, &str)> {
    let (typed, rest) = text.split_once("]:")?;
    let (dtype, _) = typed.split_once('[')?;
    dtype.chars().all(char::is_alphanumeric).then(|| (format!("{typed}]").parse(), rest))
}

fn parse_fields(text: &str) -> Result<Vec<Field>, DataError> {
    let mut fields = Vec::new();
    let mut last_dtype = None;
    for item in text.split(',').map(str::trim) {
        let error = |problem: &str| DataError::Spec {
            text: item.to_owned(),
            problem: problem.to_owned(),
            expected: FIELDS,
        };
        let field = match item.split_once(':') {
            Some(("addr", place)) => Field::Address(place.parse()?),
            Some(("align", bytes)) => {
                let bytes =
                    bytes.parse().ok().filter(|bytes: &usize| bytes.is_power_of_two() && *bytes <= 4096);
                Field::Align(bytes.ok_or_else(|| error("an alignment is a power of two up to 4096"))?)
            }
            Some((dtype, number)) => {
                let dtype: DType = dtype.parse()?;
                last_dtype = Some(dtype);
                Field::Number { dtype, bits: dtype.parse_value(number)? }
            }
            None => {
                let dtype = last_dtype.ok_or_else(|| error("the first number has no type"))?;
                Field::Number { dtype, bits: dtype.parse_value(item)? }
            }
        };
        fields.push(field);
    }
    Ok(fields)
}

/// The bytes of fields, given what each place's address is.
pub(crate) fn lay_out<E>(
    fields: &[Field],
    mut address: impl FnMut(&Place) -> Result<u64, E>,
) -> Result<Vec<u8>, E> {
    let mut bytes: Vec<u8> = Vec::new();
    for field in fields {
        let (dtype, bits) = match field {
            Field::Align(alignment) => {
                bytes.resize(bytes.len().next_multiple_of(*alignment), 0);
                continue;
            }
            Field::Number { dtype, bits } => (*dtype, *bits),
            Field::Address(place) => (DType::U64, address(place)?),
        };
        bytes.resize(bytes.len().next_multiple_of(dtype.size_bytes()), 0);
        dtype.push(bits, &mut bytes);
    }
    Ok(bytes)
}

impl BindSpec {
    /// The array to put into the buffer, or nothing where it is made of fields and must wait for addresses.
    pub(crate) fn load(&self) -> Result<Option<Array>, DataError> {
        let (array, path) = match &self.source {
            Source::Zeros(typed) => (Array::zeros(typed.dtype, typed.shape.clone())?, None),
            Source::Random(typed, seed) => (Array::random(typed.dtype, typed.shape.clone(), *seed)?, None),
            Source::Npy(path) => (npy::read(path)?, Some(path)),
            Source::Tensor { path, name } => (tensors::read(path, name)?, Some(path)),
            Source::Raw(path) => (Array::from_raw_file(path)?, Some(path)),
            Source::Fields(_) => return Ok(None),
        };
        match (&self.expected, path) {
            (Some(expected), Some(path)) => self.check_file(array, expected, path).map(Some),
            _ => Ok(Some(array)),
        }
    }

    fn check_file(&self, array: Array, expected: &TypedShape, path: &Path) -> Result<Array, DataError> {
        let mismatch = |found: String| DataError::Mismatch {
            path: path.to_owned(),
            found,
            expected: describe(expected.dtype, &expected.shape),
        };
        // NumPy has no names for some types: there the size of the elements must do.
        let has_no_type = matches!(self.source, Source::Raw(_))
            || matches!(self.source, Source::Npy(_))
                && matches!(expected.dtype, DType::Bf16 | DType::E4m3 | DType::E5m2)
                && array.dtype.size_bytes() == expected.dtype.size_bytes()
                && array.shape == expected.shape;
        if has_no_type {
            let length = array.bytes.len();
            return Array::from_bytes(expected.dtype, expected.shape.clone(), array.bytes)
                .map_err(|_| mismatch(format!("{length} bytes")));
        }
        if array.dtype != expected.dtype || array.shape != expected.shape {
            return Err(mismatch(array.description()));
        }
        Ok(array)
    }
}

impl OutSpec {
    /// Writes the final contents of a buffer that was bound as `bound`.
    pub(crate) fn write(&self, bytes: Vec<u8>, bound: &TypedShape) -> Result<(), DataError> {
        let typed = self.typed.as_ref().unwrap_or(bound);
        let array = Array::from_bytes(typed.dtype, typed.shape.clone(), bytes)?;
        if self.path.extension().is_some_and(|extension| extension == "npy") {
            npy::write(&self.path, &array)
        } else {
            std::fs::write(&self.path, &array.bytes)
                .map_err(|source| DataError::Io { path: self.path.clone(), source })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> TypedShape {
        text.parse().expect("well formed")
    }

    fn descriptor(set: u32, binding: u32, index: u32) -> Place {
        Place::Descriptor { set, binding, index }
    }

    #[test]
    fn every_kind_of_source_is_understood() {
        let check = |text: &str, place: Place, source: Source| {
            let spec: BindSpec = text.parse().expect(text);
            assert_eq!((spec.place, spec.source), (place, source), "{text}");
        };
        check("0:1=a/b.npy", descriptor(0, 1, 0), Source::Npy("a/b.npy".into()));
        check("1:20[3]=data.bin", descriptor(1, 20, 3), Source::Raw("data.bin".into()));
        check("0:0=zeros:f32[4,5]", descriptor(0, 0, 0), Source::Zeros(typed("f32[4,5]")));
        check("0:0=rand:bf16[64]:9", descriptor(0, 0, 0), Source::Random(typed("bf16[64]"), 9));
        check("0:0=rand:s8[64]", descriptor(0, 0, 0), Source::Random(typed("s8[64]"), 0));
        let tensor = Source::Tensor { path: "m.safetensors".into(), name: "a.b#0".into() };
        check("weights=m.safetensors#a.b#0", Place::Named("weights".into()), tensor);
        let addresses = vec![Field::Address(descriptor(0, 2, 0)), Field::Address(Place::Named("w".into()))];
        check("0:1=addresses:0:2,w", descriptor(0, 1, 0), Source::Fields(addresses));
    }

    #[test]
    fn a_file_may_be_told_what_it_must_hold() {
        let spec: BindSpec = "0:1=f32[2,3]:x.npy".parse().expect("well formed");
        assert_eq!(spec.expected, Some(typed("f32[2,3]")));
        assert_eq!(spec.source, Source::Npy("x.npy".into()));
        let bits: BindSpec = "0:1=bits:x.npy".parse().expect("well formed");
        assert_eq!((bits.is_bits, bits.source), (true, Source::Npy("x.npy".into())));
        let out: OutSpec = "0:3=f16[8]:y.npy".parse().expect("well formed");
        assert_eq!((out.typed, out.path), (Some(typed("f16[8]")), "y.npy".into()));
    }

    #[test]
    fn fields_lie_as_in_a_structure() {
        let fields = parse_fields("u32:1,addr:0:2,u8:7,8,align:16,f32:1.0").expect("well formed");
        let bytes = lay_out(&fields, |place| {
            assert_eq!(*place, descriptor(0, 2, 0));
            Ok::<_, DataError>(0x1122_3344_5566_7788)
        })
        .expect("known");
        let mut expected = vec![1, 0, 0, 0, 0, 0, 0, 0];
        expected.extend(0x1122_3344_5566_7788_u64.to_le_bytes());
        expected.extend([7, 8]);
        expected.resize(32, 0);
        expected.extend(1.0_f32.to_le_bytes());
        assert_eq!(bytes, expected);
    }

    #[test]
    fn constants_keep_their_text_until_their_type_is_known() {
        let value = |text: &str| text.parse::<SpecConstant>().expect(text).value;
        assert_eq!(value("3=16"), SpecNumber::Untyped("16".into()));
        assert_eq!(value("3=true"), SpecNumber::Bool(true));
        assert_eq!(value("3=u64:7"), SpecNumber::Typed { dtype: DType::U64, bits: 7 });
        assert_eq!(value("3=0x10"), SpecNumber::Untyped("0x10".into()));
        assert!("x=1".parse::<SpecConstant>().is_err());
        assert!("1=one".parse::<SpecConstant>().is_err());
    }

    #[test]
    fn every_fault_has_its_message() {
        let check = |text: &str, expected: &str| {
            let error = text.parse::<BindSpec>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("0:1", "no `=`");
        check("0=x.npy", "no colon");
        check("0:x=x.npy", "`x` is no number");
        check("0:1=", "nothing after");
        check("0:1=zeros:f32", "f32[64,64]");
        check("0:1=zeros:f31[4]", "no element type");
        check("0:1=rand:f32[4]:x", "seed `x`");
        check("0:1=m.safetensors", "which tensor");
        check("0:1=struct:5", "no type");
        check("0:1=struct:u8:300", "`300` is no u8");
        check("0:1=struct:align:3", "power of two");
        check("0:1=addresses:1", "no colon");
        check("a-b=x.npy", "letters");
    }

    #[test]
    fn a_file_of_another_type_or_shape_is_refused() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("x.npy");
        npy::write(&path, &Array::zeros(DType::F64, vec![4]).expect("small")).expect("writable");
        let load =
            |prefix: &str| format!("0:0={prefix}{}", path.display()).parse::<BindSpec>().expect("ok").load();
        assert_eq!(load("").expect("readable").expect("an array").shape, [4]);
        assert!(load("f64[4]:").is_ok());
        let error = load("f32[4]:").expect_err("another type").to_string();
        assert!(error.contains("holds f64[4], but f32[4]"), "{error}");
        assert!(load("f64[2,2]:").is_err());
    }

    #[test]
    fn bits_of_a_type_without_a_name_in_numpy_are_taken() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("x.npy");
        let array = Array::random(DType::Bf16, vec![4], 1).expect("small");
        npy::write(&path, &array).expect("writable");
        let spec: BindSpec = format!("0:0=bf16[4]:{}", path.display()).parse().expect("well formed");
        assert_eq!(spec.load().expect("readable"), Some(array));
    }
}
