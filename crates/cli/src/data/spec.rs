//! What is written after `--bind`, `--out`, `--push` and `--spec`.
//!
//! ```text
//! --bind  PLACE=SOURCE          PLACE:  SET:BIND | SET:BIND[INDEX] | NAME
//! --out   PLACE=FILE            SOURCE: [TYPE[DIMS]:]FILE.npy
//! --out   PLACE=TYPE[DIMS]:FILE         [TYPE[DIMS]:]FILE.safetensors#TENSOR
//! --out   PLACE=[TYPE[DIMS]:]-          [TYPE[DIMS]:]FILE            (any other file: its bytes)
//! --push  FIELD,…                       bits:SOURCE                  (whatever type the shader has there)
//! --spec  ID=[TYPE:]NUMBER
//!                                       zeros:TYPE[DIMS]
//!                                       rand:TYPE[DIMS][:SEED]
//!                                       struct:FIELD,…
//!                                       addresses:PLACE,…
//! FIELD:  [bits:]TYPE:NUMBER | NUMBER (as the one before it) | addr:PLACE[+BYTES] | align:BYTES
//! ```
//!
//! A NAME is a buffer that no descriptor points to; it is reached through its address alone. Fields follow each other
//! as in a C structure of numbers: each is aligned to its own size, and `align:16` starts a vector or a nested
//! structure where the shader expects it.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::input::Input;
use super::{DType, DataError, check_size, describe, npy, tensors};
use crate::output::Output;

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
    /// A number; one that is called bits may stand for any type of its size.
    Number {
        dtype: DType,
        bits: u64,
        is_raw: bool,
    },
    /// An address in another buffer, so many bytes from its beginning.
    Address(Address),
    Align(usize),
}

/// An address in a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) place: Place,
    pub(crate) offset: u64,
}

impl FromStr for Address {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let Some((place, offset)) = text.split_once('+') else {
            return Ok(Self { place: text.parse()?, offset: 0 });
        };
        Ok(Self { place: place.parse()?, offset: DType::U64.parse_value(offset)? })
    }
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
    pub(crate) target: Target,
    /// How its bytes are to be seen; as they were bound unless given.
    pub(crate) typed: Option<TypedShape>,
}

/// Where the bytes of a buffer go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    File(PathBuf),
    /// Standard output, without a header.
    Stdout,
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
const FIELDS: &str =
    "TYPE:NUMBER, bits:TYPE:NUMBER, NUMBER, addr:PLACE, addr:PLACE+BYTES or align:BYTES, separated by commas";

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
            let places: Result<Vec<Address>, _> = places.split(',').map(str::parse).collect();
            return Ok(Self::Fields(places?.into_iter().map(Field::Address).collect()));
        }
        if text.is_empty() {
            return Err(error("there is nothing after the `=`"));
        }
        if text == "-" {
            return Err(error("standard input is read as TYPE[DIMS]:/dev/stdin, which says how much of it"));
        }
        if let Some(word) = unknown_source(text) {
            return Err(error(&format!(
                "`{word}` is no source, and a file of such a name is written ./{text}"
            )));
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
        let target = if file == "-" { Target::Stdout } else { Target::File(PathBuf::from(file)) };
        Ok(Self { place, target, typed })
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

/// A word with a colon that looks like a source and is none.
fn unknown_source(text: &str) -> Option<&str> {
    let (word, _) = text.split_once(':')?;
    let is_word = word.len() > 1 && word.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_word.then_some(word)
}

fn parse_fields(text: &str) -> Result<Vec<Field>, DataError> {
    let mut fields = Vec::new();
    let mut last = None;
    for item in text.split(',').map(str::trim) {
        let error = |problem: &str| DataError::Spec {
            text: item.to_owned(),
            problem: problem.to_owned(),
            expected: FIELDS,
        };
        let (is_raw, typed) = match item.strip_prefix("bits:") {
            Some(typed) => (true, typed),
            None => (false, item),
        };
        let field = match typed.split_once(':') {
            Some(("addr", address)) => Field::Address(address.parse()?),
            Some(("align", bytes)) => {
                let bytes =
                    bytes.parse().ok().filter(|bytes: &usize| bytes.is_power_of_two() && *bytes <= 4096);
                Field::Align(bytes.ok_or_else(|| error("an alignment is a power of two up to 4096"))?)
            }
            Some((dtype, number)) => {
                let dtype: DType = dtype.parse()?;
                last = Some((dtype, is_raw));
                Field::Number { dtype, bits: dtype.parse_value(number)?, is_raw }
            }
            None => {
                let (dtype, is_raw) = last.ok_or_else(|| error("the first number has no type"))?;
                Field::Number { dtype, bits: dtype.parse_value(typed)?, is_raw }
            }
        };
        fields.push(field);
    }
    Ok(fields)
}

/// Fields with the offset of each, in the manner of a C structure, and where the last of them ends.
pub(crate) fn place_fields<'a>(
    fields: impl IntoIterator<Item = &'a Field>,
) -> (Vec<(usize, &'a Field)>, usize) {
    let (mut placed, mut end) = (Vec::new(), 0_usize);
    for field in fields {
        let alignment = match field {
            Field::Align(alignment) => *alignment,
            field => field.size_bytes(),
        };
        end = end.next_multiple_of(alignment);
        if !matches!(field, Field::Align(_)) {
            placed.push((end, field));
            end += field.size_bytes();
        }
    }
    (placed, end)
}

/// The bytes of fields, given what each address is.
pub(crate) fn lay_out<'a, E>(
    fields: impl IntoIterator<Item = &'a Field>,
    mut address: impl FnMut(&Address) -> Result<u64, E>,
) -> Result<Vec<u8>, E> {
    let (placed, end) = place_fields(fields);
    let mut bytes: Vec<u8> = Vec::with_capacity(end);
    for (offset, field) in placed {
        bytes.resize(offset, 0);
        match field {
            Field::Align(_) => {}
            Field::Number { dtype, bits, .. } => dtype.push(*bits, &mut bytes),
            Field::Address(wanted) => DType::U64.push(address(wanted)?, &mut bytes),
        }
    }
    bytes.resize(end, 0);
    Ok(bytes)
}

impl Field {
    /// How many bytes it takes; a gap has no size of its own.
    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Number { dtype, .. } => dtype.size_bytes(),
            Self::Address(_) => 8,
            Self::Align(_) => 0,
        }
    }
}

impl BindSpec {
    /// What the buffer holds at first; where it is made of fields, zeros until the addresses are known.
    pub(crate) fn open(&self) -> Result<Input, DataError> {
        let (input, path) = match &self.source {
            Source::Zeros(typed) => return Input::zeros(typed.clone()),
            Source::Random(typed, seed) => return Input::random(typed.clone(), *seed),
            Source::Fields(fields) => {
                let (_, size) = place_fields(fields);
                return Input::zeros(TypedShape { dtype: DType::U8, shape: vec![size] });
            }
            Source::Npy(path) => (npy::open(path)?, path),
            Source::Tensor { path, name } => (tensors::open(path, name)?, path),
            Source::Raw(path) => (Input::raw(path, self.expected.as_ref())?, path),
        };
        match &self.expected {
            Some(expected) => self.check_file(input, expected, path),
            None => Ok(input),
        }
    }

    fn check_file(&self, input: Input, expected: &TypedShape, path: &Path) -> Result<Input, DataError> {
        let mismatch = |found: String| DataError::Mismatch {
            path: path.to_owned(),
            found,
            expected: describe(expected.dtype, &expected.shape),
        };
        if matches!(self.source, Source::Raw(_)) {
            return match check_size(expected.dtype, &expected.shape, input.size) {
                Ok(()) => Ok(input.seen_as(expected)),
                Err(_) => Err(mismatch(format!("{} bytes", input.size))),
            };
        }
        // NumPy has no names for some types: there the size of the elements must do.
        let has_no_type = matches!(self.source, Source::Npy(_))
            && matches!(expected.dtype, DType::Bf16 | DType::E4m3 | DType::E5m2)
            && input.dtype.size_bytes() == expected.dtype.size_bytes();
        if input.shape != expected.shape || input.dtype != expected.dtype && !has_no_type {
            return Err(mismatch(input.description()));
        }
        Ok(input.seen_as(expected))
    }
}

impl OutSpec {
    /// How a buffer of `size` bytes that was bound as `bound` is written, if it can be.
    pub(crate) fn typed<'a>(
        &'a self,
        bound: &'a TypedShape,
        size: usize,
    ) -> Result<&'a TypedShape, DataError> {
        let typed = self.typed.as_ref().unwrap_or(bound);
        check_size(typed.dtype, &typed.shape, size)?;
        Ok(typed)
    }

    /// Opens the file, or standard output, and writes what comes before the elements.
    pub(crate) fn begin(&self, typed: &TypedShape) -> Result<Output, DataError> {
        let Target::File(path) = &self.target else { return Ok(Output::Standard(std::io::stdout())) };
        let io = |source| DataError::Io { path: path.clone(), source };
        let mut file = Output::create(path).map_err(io)?;
        if path.extension().is_some_and(|extension| extension == "npy") {
            file.write_all(&npy::header(typed)?).map_err(io)?;
        }
        Ok(file)
    }

    /// An error while writing.
    pub(crate) fn error(&self, source: std::io::Error) -> DataError {
        let path = match &self.target {
            Target::File(path) => path.clone(),
            Target::Stdout => PathBuf::from("standard output"),
        };
        DataError::Io { path, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Array;

    /// Writes an array as a NumPy file, through the way of `--out`.
    fn write(path: &Path, array: &Array) {
        let typed = TypedShape { dtype: array.dtype, shape: array.shape.clone() };
        let out: OutSpec = format!("0:0={}", path.display()).parse().expect("well formed");
        let mut file = out.begin(&typed).expect("writable");
        file.write_all(&array.bytes).expect("writable");
        file.finish().expect("writable");
    }

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
        let address = |place, offset| Field::Address(Address { place, offset });
        let addresses = vec![address(descriptor(0, 2, 0), 0), address(Place::Named("w".into()), 64)];
        check("0:1=addresses:0:2,w+0x40", descriptor(0, 1, 0), Source::Fields(addresses));
    }

    #[test]
    fn a_file_may_be_told_what_it_must_hold() {
        let spec: BindSpec = "0:1=f32[2,3]:x.npy".parse().expect("well formed");
        assert_eq!(spec.expected, Some(typed("f32[2,3]")));
        assert_eq!(spec.source, Source::Npy("x.npy".into()));
        let bits: BindSpec = "0:1=bits:x.npy".parse().expect("well formed");
        assert_eq!((bits.is_bits, bits.source), (true, Source::Npy("x.npy".into())));
        let out: OutSpec = "0:3=f16[8]:y.npy".parse().expect("well formed");
        assert_eq!((out.typed, out.target), (Some(typed("f16[8]")), Target::File("y.npy".into())));
        assert_eq!("0:3=-".parse::<OutSpec>().expect("well formed").target, Target::Stdout);
    }

    #[test]
    fn fields_lie_as_in_a_structure() {
        let fields = parse_fields("u32:1,addr:0:2+8,u8:7,8,align:16,f32:1.0").expect("well formed");
        let bytes = lay_out(&fields, |address| {
            assert_eq!(address.place, descriptor(0, 2, 0));
            Ok::<_, DataError>(0x1122_3344_5566_7780 + address.offset)
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
        check("0:1=addresses:w+x", "`x` is no u64");
        check("0:1=ones:f32[64]", "`ones` is no source");
        check("0:1=ones:f32[64]", "zeros:TYPE[DIMS]");
        check("0:1=-", "/dev/stdin");
        check("a-b=x.npy", "letters");
    }

    #[test]
    fn a_file_of_another_type_or_shape_is_refused() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("x.npy");
        write(&path, &Array { dtype: DType::F64, shape: vec![4], bytes: vec![0; 32] });
        let open =
            |prefix: &str| format!("0:0={prefix}{}", path.display()).parse::<BindSpec>().expect("ok").open();
        assert_eq!(open("").expect("readable").shape, [4]);
        assert!(open("f64[4]:").is_ok());
        let error = open("f32[4]:").expect_err("another type").to_string();
        assert!(error.contains("holds f64[4], but f32[4]"), "{error}");
        assert!(open("f64[2,2]:").is_err());
    }

    #[test]
    fn bits_of_a_type_without_a_name_in_numpy_are_taken() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("x.npy");
        let array = Array::random(DType::Bf16, vec![4], 1).expect("small");
        write(&path, &array);
        let spec: BindSpec = format!("0:0=bf16[4]:{}", path.display()).parse().expect("well formed");
        assert_eq!(spec.open().and_then(Input::collect).expect("readable"), array);
    }
}
