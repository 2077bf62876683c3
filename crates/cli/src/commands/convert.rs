//! `phalanx convert`: a matrix of a file in the layout that cooperative vectors are multiplied by.

use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use crate::args::{ConvertArgs, LayoutName};
use crate::data::input::Input;
use crate::data::spec::{Source, TypedShape};
use crate::data::{DType, check_place, describe, npy, tensors};
use crate::runtime::vector::{self, Conversion, ConversionError, MatrixForm};
use crate::{Status, output, progress, tell};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    input: String,
    output: PathBuf,
    rows: u32,
    columns: u32,
    source: Form,
    destination: Form,
}

/// Where the elements of a matrix are.
#[derive(Debug, Serialize)]
struct Form {
    r#type: DType,
    layout: &'static str,
    /// What an element is kept as.
    kept: DType,
    /// Bytes from a row, or a column, to the next.
    stride: u64,
    bytes: usize,
}

impl Form {
    fn new(form: MatrixForm, dtype: DType, rows: u32, columns: u32) -> Result<Self, ConversionError> {
        Ok(Self {
            r#type: dtype,
            layout: form.layout.name(),
            kept: vector::kept(form),
            stride: form.layout.stride(form.component, columns, form.stride),
            bytes: form.bytes(rows, columns)?,
        })
    }
}

pub(crate) fn run(args: &ConvertArgs) -> Result<Status> {
    let to_stdout = args.output.as_os_str() == "-";
    ensure!(
        !to_stdout || !stdout().is_terminal(),
        "a matrix is nothing to read; standard output must be a file or a pipe"
    );
    if !to_stdout {
        check_place(&args.output)?;
    }
    let bar = progress::bar(3);
    bar.set_message(format!("reading {}", args.input));
    let input = open(&args.input)?;
    let found = describe(input.dtype, &input.shape);
    let (conversion, source_type) = plan(args, &input)?;
    conversion.check().map_err(|error| explain(&error)).with_context(|| args.input.clone())?;
    let bytes = conversion.source_bytes()?;
    ensure!(
        input.size >= bytes,
        "{}: holds {} bytes, the matrix of {} x {} in {} takes {bytes}; check --rows, --columns and --from-type",
        args.input,
        input.size,
        conversion.rows,
        conversion.columns,
        conversion.source.layout.name()
    );
    let source = read(input)?;
    bar.inc(1);
    bar.set_message("converting");
    let mut destination = vec![0; conversion.destination_bytes()?];
    vector::convert_matrix(&conversion, &source, &mut destination)?;
    bar.inc(1);
    bar.set_message(format!("writing {}", args.output.display()));
    write(args, &conversion, &destination)?;
    bar.finish_and_clear();
    let (rows, columns) = (conversion.rows, conversion.columns);
    let report = Report {
        input: format!("{} {found}", args.input),
        output: args.output.clone(),
        rows,
        columns,
        source: Form::new(conversion.source, source_type, rows, columns)?,
        destination: Form::new(conversion.destination, args.dtype, rows, columns)?,
    };
    let text = match args.json {
        true => serde_json::to_string(&report).context("the report cannot be written as JSON")?,
        false => text(&report),
    };
    tell(text, to_stdout)?;
    Ok(Status::Done)
}

fn text(report: &Report) -> String {
    let Report { input, output, rows, columns, source, destination } = report;
    let lines = if destination.layout == "column_major" { "columns" } else { "rows" };
    format!(
        "{input}: {rows} x {columns}, {} {} -> {} {}, kept as {}\n{}: {} bytes, {lines} of {} bytes",
        source.r#type,
        source.layout,
        destination.r#type,
        destination.layout,
        destination.kept,
        output.display(),
        destination.bytes,
        destination.stride
    )
}

fn open(text: &str) -> Result<Input> {
    Ok(match text.parse()? {
        Source::Npy(path) => npy::open(&path)?,
        Source::Tensor { path, name } => tensors::open(&path, &name)?,
        Source::Raw(path) => Input::raw(&path, None)?,
        Source::Zeros(_) | Source::Random(..) | Source::Fields(_) => {
            bail!("`{text}` is no file; expected FILE.npy, FILE.safetensors#TENSOR or another FILE of bytes")
        }
    })
}

/// The conversion that the user asks for, and the type of the source's elements.
fn plan(args: &ConvertArgs, input: &Input) -> Result<(Conversion, DType)> {
    let (source_layout, layout) = (vector::layout(args.from), vector::layout(args.to));
    let source_type = source_type(args, input)?;
    let (rows, columns) = shape(args, input)?;
    let form = |dtype: DType, layout| {
        let component = vector::component(dtype).with_context(|| {
            format!("matrices of {dtype} are not converted; known types are {}", vector::component_names())
        })?;
        anyhow::Ok(MatrixForm::packed(component, layout, rows, columns))
    };
    let source = form(source_type, source_layout).with_context(|| args.input.clone())?;
    Ok((Conversion { rows, columns, source, destination: form(args.dtype, layout)? }, source_type))
}

fn source_type(args: &ConvertArgs, input: &Input) -> Result<DType> {
    let Some(given) = args.from_type else {
        let is_known =
            matches!(args.from, LayoutName::RowMajor | LayoutName::ColumnMajor) && input.shape.len() > 1;
        ensure!(
            is_known || input.dtype != DType::U8,
            "{}: bytes of which type? Say --from-type, for example --from-type f16",
            args.input
        );
        return Ok(input.dtype);
    };
    // NumPy has no name for some types, and none for what an optimal layout keeps; bytes may be anything.
    let is_array = matches!(args.from, LayoutName::RowMajor | LayoutName::ColumnMajor);
    ensure!(
        !is_array || input.dtype == DType::U8 || input.dtype.size_bytes() == given.size_bytes(),
        "{}: elements of {} bytes are no {given}",
        args.input,
        input.dtype.size_bytes()
    );
    Ok(given)
}

/// Rows and columns: those that are given, otherwise those of the array.
fn shape(args: &ConvertArgs, input: &Input) -> Result<(u32, u32)> {
    if let (Some(rows), Some(columns)) = (args.rows, args.columns) {
        return Ok((rows, columns));
    }
    let is_array = matches!(args.from, LayoutName::RowMajor | LayoutName::ColumnMajor);
    let lines = match input.shape.as_slice() {
        [length] if is_array && input.dtype != DType::U8 => [1, *length],
        [lines, length] if is_array => [*lines, *length],
        _ => bail!(
            "{} is {}; say how many rows and columns the matrix has, with --rows and --columns",
            args.input,
            describe(input.dtype, &input.shape)
        ),
    };
    let [lines, length] = lines.map(u32::try_from);
    let context = || format!("{} has too many rows or columns", args.input);
    let (lines, length) = (lines.with_context(context)?, length.with_context(context)?);
    // An array of columns has them as its first dimension.
    Ok(if args.from == LayoutName::ColumnMajor { (length, lines) } else { (lines, length) })
}

fn read(input: Input) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let size = input.size;
    bytes.try_reserve_exact(size).with_context(|| format!("{size} bytes do not fit into memory"))?;
    bytes.resize(size, 0);
    input.pour(&mut |offset, piece: &[u8]| {
        bytes[offset..offset + piece.len()].copy_from_slice(piece);
        anyhow::Ok(())
    })?;
    Ok(bytes)
}

/// Writes the matrix: rows or columns as an array of two dimensions, an optimal layout as one of the elements with
/// their padding, if the file is NumPy's; otherwise the bytes alone.
fn write(args: &ConvertArgs, conversion: &Conversion, bytes: &[u8]) -> Result<()> {
    let form = conversion.destination;
    let (rows, columns) = (conversion.rows as usize, conversion.columns as usize);
    let dtype = vector::kept(form);
    let shape = match args.to {
        LayoutName::RowMajor => vec![rows, columns],
        LayoutName::ColumnMajor => vec![columns, rows],
        LayoutName::Inferencing | LayoutName::Paired | LayoutName::Training => {
            vec![bytes.len() / dtype.size_bytes()]
        }
    };
    let mut file = Vec::new();
    if args.output.extension() == Some("npy".as_ref()) {
        file = npy::header(&TypedShape { dtype, shape })?;
    }
    if args.output == Path::new("-") {
        return Ok(stdout().write_all(bytes)?);
    }
    let written = || {
        let mut output = output::Output::create(&args.output)?;
        output.write_all(&file)?;
        output.write_all(bytes)?;
        output.finish()
    };
    written().with_context(|| format!("{} cannot be written", args.output.display()))
}

/// What is wrong with a conversion, and what to do instead.
fn explain(error: &ConversionError) -> anyhow::Error {
    let advice = match error {
        ConversionError::Float8Layout { .. } => "; ask for --type f16, or for --to inferencing or training",
        ConversionError::Components { from, to } if from.is_float() && to.is_float() => {
            "; go by f32, in two steps"
        }
        ConversionError::Components { .. } => "; integers change their layout only",
        _ => "",
    };
    anyhow::anyhow!("{error}{advice}")
}
