//! What a shader is and needs.

use anyhow::{Result, bail};
use phalanx::{CancelToken, DeviceOptions, ModuleInfo, PipelineDescriptor, TypeLayout};
use serde::Serialize;

use super::vector::VectorUse;
use super::{Shader, Sizes, called, list_or_none, requirements, spec_values};
use crate::data::DType;
use crate::data::spec::SpecConstant;

/// What a shader is and needs, for `check`, and for comparing it with a bind list.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Reflection {
    pub(crate) version: String,
    pub(crate) entry_points: Vec<EntryPoint>,
    pub(crate) capabilities: Vec<String>,
    pub(crate) extensions: Vec<String>,
    /// Matrix types with their shapes, as the shader writes them.
    pub(crate) matrices: Vec<String>,
    /// The types in which matrices and cooperative vectors are multiplied.
    pub(crate) vectors: Vec<VectorUse>,
    /// What a device must offer.
    pub(crate) requirements: Vec<String>,
    pub(crate) bindings: Vec<BindingInfo>,
    /// Set and binding of every buffer that is declared, whether it is used or not.
    pub(crate) declared: Vec<(u32, u32)>,
    pub(crate) push_constant_bytes: usize,
    pub(crate) push_constants: Vec<Member>,
    pub(crate) constants: Vec<Constant>,
}

/// A function that a dispatch may start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct EntryPoint {
    pub(crate) name: String,
    /// As SPIR-V calls it; `GLCompute` is what can be run.
    pub(crate) model: String,
    pub(crate) local_size: Option<[u32; 3]>,
    /// The specialisation constants that the size of a work-group is, by axis.
    pub(crate) local_size_constants: [Option<u32>; 3],
    /// What a work-group shares.
    pub(crate) shared_bytes: Option<u32>,
}

/// A number in the push constants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) offset: usize,
    /// Nothing for a device address.
    #[serde(rename = "type")]
    pub(crate) dtype: Option<DType>,
}

/// A specialisation constant with its value: the default, unless the user gave one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Constant {
    pub(crate) id: u32,
    /// Empty if the shader does not say.
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) dtype: String,
    pub(crate) value: String,
}

/// A buffer that a shader declares.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BindingInfo {
    pub(crate) set: u32,
    pub(crate) binding: u32,
    pub(crate) name: String,
    /// The number of descriptors, or nothing where the array is as long as the bind list makes it.
    pub(crate) count: Option<u32>,
    /// The element type, where the buffer is an array of numbers or vectors.
    pub(crate) element: Option<DType>,
    /// The smallest buffer that holds all fixed members.
    pub(crate) min_bytes: usize,
}

/// Checks a module and describes it: the buffers and push constants of one entry point, or of all.
///
/// Every constant must be one that the module has.
///
/// What is valid may depend on the sizes; without them, they are the device's own choice.
pub(crate) fn reflect(
    shader: &Shader,
    constants: &[SpecConstant],
    sizes: Sizes,
    entry: Option<&str>,
    cancel: Option<&CancelToken>,
) -> Result<Reflection> {
    let module = &shader.0;
    for constant in constants {
        let declared = &module.info().spec_constants;
        if !declared.iter().any(|known| known.id == constant.id) {
            let mut known: Vec<String> = declared.iter().map(called).collect();
            known.dedup();
            let known = list_or_none(&known);
            bail!("the shader has no specialisation constant {}; it has {known}", constant.id);
        }
    }
    let values = spec_values(module.info(), constants)?;
    let info = module.info_with(&values)?;
    // The interpreter takes what the device takes, and does not compile it.
    let options = DeviceOptions { kind: phalanx::DeviceKind::Interpreter, ..DeviceOptions::default() };
    let checker = phalanx::Device::new(&options)?;
    let mut shared = Vec::new();
    for name in info.entry_points.iter().filter(|entry| entry.model == "GLCompute").map(|entry| &entry.name) {
        if entry.is_none_or(|entry| entry == name) {
            let descriptor = PipelineDescriptor {
                module,
                entry: Some(name),
                specialization: &values,
                subgroup_size: sizes.subgroup,
                workgroup_size: sizes.workgroup,
            };
            shared.push((
                name.as_str(),
                checker.create_pipeline_or_cancel(&descriptor, cancel)?.shared_bytes(),
            ));
        }
    }
    if !info.unsupported.is_empty() {
        let what = format!("the capability {}", info.unsupported.join(", "));
        return Err(phalanx::Error::Unsupported { what }.into());
    }
    describe(&info, entry, &shared)
}

fn describe(info: &ModuleInfo, entry: Option<&str>, shared: &[(&str, u32)]) -> Result<Reflection> {
    let entries: Vec<_> =
        info.entry_points.iter().filter(|found| entry.is_none_or(|entry| entry == found.name)).collect();
    if entries.is_empty() {
        let known: Vec<String> = info.entry_points.iter().map(|found| found.name.clone()).collect();
        let wanted = entry.map_or_else(String::new, |entry| format!(" `{entry}`"));
        bail!("the shader has no entry point{wanted}; it has {}", list_or_none(&known));
    }
    let mut bindings: Vec<BindingInfo> = Vec::new();
    for layout in entries.iter().flat_map(|entry| &entry.bindings) {
        let view = BindingInfo {
            set: layout.info.set,
            binding: layout.info.binding,
            name: layout.info.name.clone(),
            count: layout.info.count,
            element: element(&layout.layout),
            min_bytes: end(&layout.layout) as usize,
        };
        if !bindings.contains(&view) {
            bindings.push(view);
        }
    }
    // A constant that is declared twice, as the width of a work-group is by glslang, is one for the user.
    let mut declared = info.spec_constants.clone();
    declared.dedup_by_key(|constant| constant.id);
    let constants = declared.into_iter().map(|constant| {
        let dtype = constant.ty.name();
        let value = match dtype.parse::<DType>() {
            Ok(dtype) => dtype.value(constant.bits).to_string(),
            Err(_) => (constant.bits != 0).to_string(),
        };
        Constant { id: constant.id, name: constant.name, dtype, value }
    });
    let entry_points = entries.iter().map(|found| EntryPoint {
        name: found.name.clone(),
        model: found.model.clone(),
        local_size: found.local_size,
        local_size_constants: found.local_size_constants,
        shared_bytes: shared.iter().find(|(name, _)| *name == found.name).map(|(_, bytes)| *bytes),
    });
    let mut push_constants = Vec::new();
    if let Some(push) = entries.iter().find_map(|entry| entry.push.as_ref()) {
        numbers(push, "", 0, &mut push_constants);
    }
    let (major, minor) = info.version;
    Ok(Reflection {
        version: if info.version == (0, 0) { String::new() } else { format!("{major}.{minor}") },
        entry_points: entry_points.collect(),
        capabilities: info.capabilities.clone(),
        extensions: info.extensions.clone(),
        matrices: info.matrices.iter().copied().map(requirements::matrix).collect(),
        vectors: info.vector_muls.iter().map(VectorUse::new).collect(),
        requirements: requirements::requirements(info),
        bindings,
        declared: info.declared.clone(),
        push_constant_bytes: entries.iter().map(|entry| entry.push_bytes as usize).max().unwrap_or(0),
        push_constants,
        constants: constants.collect(),
    })
}

/// More numbers than push constants can hold are not listed.
const MAX_NUMBERS: usize = 1024;

/// The numbers that a type consists of, with their names and offsets.
fn numbers(layout: &TypeLayout, name: &str, offset: usize, list: &mut Vec<Member>) {
    if list.len() >= MAX_NUMBERS {
        return;
    }
    let each = |count: u32, stride: u32| {
        let (count, stride) = (count.min(MAX_NUMBERS as u32) as usize, stride as usize);
        (0..count).map(move |index| (format!("{name}[{index}]"), offset + index * stride))
    };
    let number = |name: &str, offset, scalar: &phalanx::ScalarType| {
        // A bool has no bits that a user could know.
        let dtype = scalar.name().parse().unwrap_or(DType::U32);
        Member { name: name.to_owned(), offset, dtype: Some(dtype) }
    };
    match layout {
        TypeLayout::Scalar(scalar) => list.push(number(name, offset, scalar)),
        TypeLayout::Vector { scalar, n, stride } => {
            list.extend(each(*n, *stride).map(|(name, offset)| number(&name, offset, scalar)));
        }
        TypeLayout::Matrix { scalar, columns, rows, stride, row_major } => {
            let (lines, length) = if *row_major { (rows, columns) } else { (columns, rows) };
            let bytes = scalar.scalar.bytes();
            for (line, offset) in each(*lines, *stride) {
                let element = |index: u32| {
                    number(&format!("{line}[{index}]"), offset + (index * bytes) as usize, scalar)
                };
                list.extend((0..*length).map(element));
            }
        }
        TypeLayout::Array { elem, len, stride } => {
            for (name, offset) in each(len.unwrap_or(0), *stride) {
                numbers(elem, &name, offset, list);
            }
        }
        TypeLayout::Struct { members, .. } => {
            for member in members {
                let dot = if name.is_empty() { "" } else { "." };
                let name = format!("{name}{dot}{}", member.name);
                numbers(&member.ty, &name, offset + member.offset as usize, list);
            }
        }
        TypeLayout::Address => list.push(Member { name: name.to_owned(), offset, dtype: None }),
    }
}

/// The type of the numbers that a buffer is an array of.
fn element(layout: &TypeLayout) -> Option<DType> {
    match layout {
        TypeLayout::Struct { members, .. } => match members.as_slice() {
            [member] if matches!(member.ty, TypeLayout::Array { .. }) => element(&member.ty),
            _ => None,
        },
        TypeLayout::Array { elem, .. } => match elem.as_ref() {
            TypeLayout::Struct { .. } => None,
            elem => element(elem),
        },
        TypeLayout::Scalar(scalar)
        | TypeLayout::Vector { scalar, .. }
        | TypeLayout::Matrix { scalar, .. } => scalar.name().parse().ok(),
        TypeLayout::Address => Some(DType::U64),
    }
}

/// Where the last byte of the fixed part of a type ends.
pub(super) fn end(layout: &TypeLayout) -> u64 {
    let run = |count: u32, stride: u32, last: u64| match count {
        0 => 0,
        count => u64::from(count - 1) * u64::from(stride) + last,
    };
    let bytes = |scalar: &phalanx::ScalarType| u64::from(scalar.scalar.bits().div_ceil(8));
    match layout {
        TypeLayout::Scalar(scalar) => bytes(scalar),
        TypeLayout::Vector { scalar, n, stride } => run(*n, *stride, bytes(scalar)),
        TypeLayout::Matrix { scalar, columns, rows, stride, row_major } => {
            let (lines, length) = if *row_major { (rows, columns) } else { (columns, rows) };
            run(*lines, *stride, u64::from(*length) * bytes(scalar))
        }
        TypeLayout::Array { elem, len, stride } => run(len.unwrap_or(0), *stride, end(elem)),
        TypeLayout::Struct { members, .. } => {
            members.iter().map(|member| u64::from(member.offset) + end(&member.ty)).max().unwrap_or(0)
        }
        TypeLayout::Address => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{Glsl, compile_glsl};

    fn reflected(declarations: &str, constants: &[&str]) -> Result<Reflection> {
        let source = format!(
            "#version 460\n#extension GL_EXT_shader_explicit_arithmetic_types : require\n{declarations}"
        );
        let glsl = Glsl { name: "a.comp", source: &source, definitions: &[], include_directories: &[] };
        let constants: Vec<SpecConstant> =
            constants.iter().map(|text| text.parse().expect("well formed")).collect();
        reflect(&Shader::from_words(&compile_glsl(glsl)?)?, &constants, Sizes::default(), Some("main"), None)
    }

    #[test]
    fn buffers_are_described_as_the_shader_declares_them() {
        let shader = reflected(
            "layout(binding = 0) buffer Plain { u16vec2 x[]; } plain;
             layout(binding = 1) buffer Mixed { uint n; vec3 y[2]; float z[]; } mixed[3];
             layout(binding = 2) uniform Small { mat3x2 m; float s; } small;
             void main() { mixed[1].z[0] = plain.x[0].x + small.s; }",
            &[],
        )
        .expect("valid");
        let found: Vec<_> = shader
            .bindings
            .iter()
            .map(|binding| (binding.binding, binding.count, binding.element, binding.min_bytes))
            .collect();
        // Each vec3 takes 16 bytes but the last, and z begins where the array y ends with its stride; in a uniform
        // buffer each column takes 16 bytes.
        let expected = [(0, Some(1), Some(DType::U16), 0), (1, Some(3), None, 48), (2, Some(1), None, 52)];
        assert_eq!(found, expected);
    }

    #[test]
    fn constants_take_the_type_that_the_shader_gives_them() {
        let declarations = "layout(constant_id = 0) const int a = 1;
             layout(constant_id = 1) const bool b = false;
             layout(constant_id = 2) const double c = 1;
             layout(binding = 0) buffer B { double x[]; };
             void main() { x[0] = b ? a : c; }";
        let values = |constants: &[&str]| {
            reflected(declarations, constants)
                .map(|shader| shader.constants.into_iter().map(|constant| constant.value))
        };
        let all: Vec<String> = values(&["0=-3", "1=true", "2=0.5"]).expect("valid").collect();
        assert_eq!(all, ["-3", "true", "0.5"]);
        for (constant, expected) in [
            ("0=1.5", "constant 0 `a` is s32"),
            ("1=1", "constant 1 `b` is bool, not 1"),
            ("2=f32:1", "constant 2 `c` is f64, not f32"),
            ("9=1", "no specialisation constant 9; it has 0 `a`, 1 `b`, 2 `c`"),
        ] {
            let error = values(&[constant]).map(|_| ()).expect_err(constant).to_string();
            assert!(error.contains(expected), "{constant}: {error}");
        }
    }

    #[test]
    fn push_constants_are_listed_number_by_number() {
        let shader = reflected(
            "#extension GL_EXT_buffer_reference : require
             layout(buffer_reference) buffer Table { float x[]; };
             layout(push_constant) uniform Push { Table t; uint n; vec2 v; float16_t h[2]; } push;
             void main() { push.t.x[push.n] = push.v.y + float(push.h[1]); }",
            &[],
        )
        .expect("valid");
        let found: Vec<_> = shader
            .push_constants
            .iter()
            .map(|member| (member.name.as_str(), member.offset, member.dtype))
            .collect();
        let expected = [
            ("t", 0, None),
            ("n", 8, Some(DType::U32)),
            ("v[0]", 16, Some(DType::F32)),
            ("v[1]", 20, Some(DType::F32)),
            ("h[0]", 24, Some(DType::F16)),
            ("h[1]", 26, Some(DType::F16)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_work_group_that_constants_size_says_which() {
        let shader = reflected(
            "layout(local_size_x_id = 7, local_size_y = 2) in;
             layout(binding = 0) buffer B { uint x[]; };
             layout(binding = 1) buffer C { uint y[]; };
             shared uint s[24];
             void main() { s[gl_LocalInvocationIndex] = x[0]; barrier(); x[1] = s[0]; }",
            &["7=8"],
        )
        .expect("valid");
        let entry = &shader.entry_points[0];
        assert_eq!((entry.local_size, entry.shared_bytes), (Some([8, 2, 1]), Some(96)));
        assert_eq!(entry.local_size_constants, [Some(7), None, None]);
        assert_eq!((shader.bindings.len(), shader.declared.as_slice()), (1, [(0, 0), (0, 1)].as_slice()));
    }
}
