//! `phalanx run`: a shader on buffers made from the command line.
//!
//! The bind list is compared with what the shader declares before anything is compiled, so that a mistake is told in
//! the user's terms. Structures with addresses are filled last, when every buffer has its address.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::load_shader;
use crate::args::RunArgs;
use crate::data::spec::{BindSpec, Field, Place, Source, TypedShape, lay_out};
use crate::data::{Array, DType, describe};
use crate::runtime::{self, Binding, BindingInfo, Buffer, Device, Dispatch, PipelineOptions, Reflection};
use crate::{Status, say};

/// A buffer with what the user said about it.
struct Bound<'a> {
    spec: &'a BindSpec,
    typed: TypedShape,
    buffer: Buffer,
}

pub(crate) fn run(args: &RunArgs) -> Result<Status> {
    check_places(args)?;
    let words = load_shader(&args.shader, &args.glsl)?;
    let reflection = runtime::reflect(&words, &args.spec, Some(&args.entry))
        .with_context(|| format!("{} is not accepted", args.shader.display()))?;
    let arrays = args.bind.iter().map(load).collect::<Result<Vec<Array>>>()?;
    check_bindings(&reflection.bindings, &args.bind, &arrays)?;

    let device = Device::new(args.threads)?;
    let bound = upload(&device, &args.bind, arrays)?;
    let push_constants = push_constants(args, &bound, &reflection)?;
    let options =
        PipelineOptions { entry: &args.entry, constants: &args.spec, subgroup_size: args.subgroup_size };
    let pipeline = device.create_pipeline(&words, options)?;
    let bindings: Vec<Binding<'_>> = bound.iter().filter_map(descriptor).collect();
    let report = device.dispatch(Dispatch {
        pipeline: &pipeline,
        groups: args.groups.0,
        bindings: &bindings,
        push_constants: &push_constants,
        timeout: (args.timeout > 0.0).then(|| Duration::from_secs_f64(args.timeout)),
        cancel: None,
    })?;

    for line in &report.printed {
        say(line)?;
    }
    for out in &args.out {
        let bound = find(&bound, &out.place)?;
        out.write(bound.buffer.read_all()?, &bound.typed)?;
    }
    let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
    say(format!(
        "compiled in {:.1} ms, ran in {:.3} ms",
        milliseconds(pipeline.compile_time()),
        milliseconds(report.elapsed)
    ))?;
    Ok(Status::Done)
}

/// What can be wrong before any file is opened.
fn check_places(args: &RunArgs) -> Result<()> {
    for (index, spec) in args.bind.iter().enumerate() {
        let is_repeated = args.bind[..index].iter().any(|other| other.place == spec.place);
        ensure!(!is_repeated, "{} is bound twice", spec.place);
    }
    let is_bound = |place: &Place| args.bind.iter().any(|spec| spec.place == *place);
    for out in &args.out {
        ensure!(is_bound(&out.place), "--out {}: nothing is bound there", out.place);
    }
    let structures = args.bind.iter().filter_map(|spec| match &spec.source {
        Source::Fields(fields) => Some(fields.as_slice()),
        _ => None,
    });
    for field in structures.chain(args.push.iter().map(|push| push.0.as_slice())).flatten() {
        if let Field::Address(place) = field {
            ensure!(is_bound(place), "addr:{place}: nothing is bound there");
        }
    }
    Ok(())
}

/// The first contents; structures get their addresses later.
fn load(spec: &BindSpec) -> Result<Array> {
    if let Some(array) = spec.load().with_context(|| format!("--bind {}", spec.place))? {
        return Ok(array);
    }
    let Source::Fields(fields) = &spec.source else { bail!("--bind {} holds nothing", spec.place) };
    let bytes = lay_out(fields, |_| Ok::<u64, anyhow::Error>(0))?;
    Ok(Array { dtype: DType::U8, shape: vec![bytes.len()], bytes })
}

fn check_bindings(declared: &[BindingInfo], specs: &[BindSpec], arrays: &[Array]) -> Result<()> {
    for (spec, array) in specs.iter().zip(arrays) {
        let Place::Descriptor { set, binding, index } = spec.place else { continue };
        // Several variables may share a binding, each with its own view of the same bytes.
        let views: Vec<&BindingInfo> =
            declared.iter().filter(|info| (info.set, info.binding) == (set, binding)).collect();
        let Some(first) = views.first() else {
            let known: Vec<String> =
                declared.iter().map(|info| format!("{}:{}", info.set, info.binding)).collect();
            bail!("--bind {}: the shader has no such buffer; it has {}", spec.place, known.join(", "));
        };
        if let Some(count) = first.count {
            ensure!(index < count, "--bind {}: `{}` has {count} elements", spec.place, first.name);
        }
        let needed = views.iter().map(|info| info.min_bytes).max().unwrap_or(0);
        ensure!(
            array.bytes.len() >= needed,
            "--bind {}: `{}` takes at least {needed} bytes, {} has {}",
            spec.place,
            first.name,
            array.description(),
            array.bytes.len()
        );
        if has_type(spec) && !views.iter().any(|info| accepts(info.element, array.dtype)) {
            let elements: Vec<String> =
                views.iter().filter_map(|info| info.element).map(|dtype| dtype.to_string()).collect();
            bail!(
                "--bind {}: `{}` has elements of type {}, not {}; `bits:` before the file name takes its bytes as they are",
                spec.place,
                first.name,
                elements.join(" or "),
                array.dtype
            );
        }
    }
    for info in declared {
        for index in 0..info.count.unwrap_or(0) {
            let place = Place::Descriptor { set: info.set, binding: info.binding, index };
            ensure!(
                specs.iter().any(|spec| spec.place == place),
                "the shader reads `{}`, --bind {place} is missing",
                info.name
            );
        }
    }
    Ok(())
}

/// Whether the source says what its bytes are.
fn has_type(spec: &BindSpec) -> bool {
    let is_plain_file = matches!(spec.source, Source::Raw(_)) && spec.expected.is_none();
    !spec.is_bits && !is_plain_file && !matches!(spec.source, Source::Fields(_))
}

/// NumPy files hold bfloat16 and 8-bit floats as unsigned integers.
fn accepts(element: Option<DType>, dtype: DType) -> bool {
    match element {
        None => true,
        Some(DType::Bf16) => matches!(dtype, DType::Bf16 | DType::U16),
        Some(element @ (DType::E4m3 | DType::E5m2)) => dtype == element || dtype == DType::U8,
        Some(element) => dtype == element,
    }
}

fn upload<'a>(device: &Device, specs: &'a [BindSpec], arrays: Vec<Array>) -> Result<Vec<Bound<'a>>> {
    let mut bound = Vec::with_capacity(specs.len());
    for (spec, array) in specs.iter().zip(arrays) {
        let buffer = device.create_buffer(array.bytes.len())?;
        buffer.write(0, &array.bytes)?;
        bound.push(Bound { spec, typed: TypedShape { dtype: array.dtype, shape: array.shape }, buffer });
    }
    for structure in &bound {
        if let Source::Fields(fields) = &structure.spec.source {
            structure.buffer.write(0, &lay_out(fields, |place| address(&bound, place))?)?;
        }
    }
    Ok(bound)
}

fn address(bound: &[Bound<'_>], place: &Place) -> Result<u64> {
    Ok(find(bound, place)?.buffer.address())
}

fn find<'a, 'b>(bound: &'a [Bound<'b>], place: &Place) -> Result<&'a Bound<'b>> {
    bound
        .iter()
        .find(|bound| bound.spec.place == *place)
        .ok_or_else(|| anyhow!("{place}: nothing is bound there"))
}

fn descriptor<'a>(bound: &'a Bound<'_>) -> Option<Binding<'a>> {
    match bound.spec.place {
        Place::Descriptor { set, binding, index } => {
            Some(Binding { set, binding, index, buffer: &bound.buffer })
        }
        Place::Named(_) => None,
    }
}

fn push_constants(args: &RunArgs, bound: &[Bound<'_>], reflection: &Reflection) -> Result<Vec<u8>> {
    let fields: Vec<Field> = args.push.iter().flat_map(|push| push.0.iter().cloned()).collect();
    let bytes = lay_out(&fields, |place| address(bound, place))?;
    let declared = reflection.push_constant_bytes;
    // A block that ends with a small member may be rounded up by the one side or the other.
    ensure!(
        bytes.len().next_multiple_of(4) == declared.next_multiple_of(4),
        "the shader has {declared} bytes of push constants, --push gives {}",
        bytes.len()
    );
    Ok(bytes)
}

impl std::fmt::Display for TypedShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&describe(self.dtype, &self.shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(binding: u32, count: Option<u32>, element: Option<DType>) -> BindingInfo {
        BindingInfo { set: 0, binding, name: format!("buffer{binding}"), count, element, min_bytes: 8 }
    }

    fn check(declared: &[BindingInfo], specs: &[&str]) -> Result<()> {
        let specs: Vec<BindSpec> = specs.iter().map(|text| text.parse().expect("well formed")).collect();
        let arrays: Vec<Array> = specs.iter().map(|spec| load(spec).expect("no file")).collect();
        check_bindings(declared, &specs, &arrays)
    }

    #[test]
    fn a_list_that_matches_is_accepted() {
        let declared = [info(0, Some(1), Some(DType::F32)), info(1, Some(2), None), info(2, None, None)];
        let specs = [
            "0:0=zeros:f32[4]",
            "0:1=zeros:u8[8]",
            "0:1[1]=struct:u64:1",
            "0:2[9]=zeros:u8[8]",
            "x=zeros:u8[1]",
        ];
        check(&declared, &specs).expect("everything is there");
    }

    #[test]
    fn each_mismatch_is_told_in_the_terms_of_the_list() {
        let declared = [info(0, Some(1), Some(DType::F32)), info(1, Some(2), None)];
        let refuse = |specs: &[&str], expected: &str| {
            let error = check(&declared, specs).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        };
        refuse(&["0:0=zeros:f32[4]", "0:1=zeros:u8[8]"], "--bind 0:1[1] is missing");
        refuse(&["0:0=zeros:f64[4]"], "elements of type f32, not f64");
        refuse(&["0:0=zeros:f32[1]"], "at least 8 bytes");
        refuse(&["0:3=zeros:f32[4]"], "no such buffer; it has 0:0, 0:1");
        refuse(&["0:1[2]=zeros:f32[4]"], "has 2 elements");
    }

    #[test]
    fn several_views_of_a_binding_are_all_right() {
        let declared = [info(0, Some(1), Some(DType::U32)), info(0, Some(1), Some(DType::F16))];
        check(&declared, &["0:0=zeros:f16[8]"]).expect("one of them is f16");
        assert!(check(&declared, &["0:0=zeros:f32[8]"]).is_err());
    }
}
