//! A kernel that loads, decodes and stores through the layouts of cases, and what it has to leave.

use std::collections::BTreeMap;
use std::fmt::Write;

use phalanx::glsl::{self, GlslOptions};
use phalanx::{Binding, Device, Dispatch, PipelineDescriptor};

use crate::case::{Case, Shape, TENSOR, decoded};
use crate::spec::Element;

/// What elements hold that a load with a clip leaves alone, and a decoding one.
const KEPT: [u32; 2] = [77, 78];
/// What memory holds that no store reaches.
const UNTOUCHED: u32 = 0xee;

/// Runs the kernel on all cases, and says where it does something else than the specification.
pub(crate) fn check(
    device: &Device,
    shape: &Shape,
    cases: &[Case],
    are_constants: bool,
) -> Result<(), String> {
    let words: Vec<Vec<u32>> = cases.iter().map(Case::words).collect();
    let source = source(shape, are_constants.then(|| words[0].as_slice()), words[0].len());
    let spirv = glsl::compile(&source, &GlslOptions::default()).map_err(|e| format!("{e}\n{source}"))?;
    let elements = (shape.rows * shape.cols) as usize;
    let mask = (1_u64 << shape.bits) as u32;
    let mask = mask.wrapping_sub(1);
    let tensor: Vec<u32> = (0..TENSOR).map(|i| (i.wrapping_mul(2_654_435_761) >> 7) & mask).collect();
    let pack = |values: &[u32]| -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()[..shape.bits as usize / 8].to_vec()).collect()
    };
    let unpack = |bytes: Vec<u8>| -> Vec<u32> {
        let value = |b: &[u8]| b.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
        bytes.chunks(shape.bits as usize / 8).map(value).collect()
    };

    let run = || -> Result<[Vec<u32>; 3], phalanx::Error> {
        let buffer = |values: &[u32]| device.create_buffer_from(&pack(values));
        let parameters = device.create_buffer_from(&words.concat())?;
        let read = buffer(&tensor)?;
        let count = cases.len() * elements;
        let loads = [buffer(&vec![0; count])?, buffer(&vec![0; count])?];
        let written = buffer(&vec![UNTOUCHED; cases.len() * TENSOR as usize])?;
        let module = device.create_module(&spirv)?;
        let pipeline = device.create_pipeline(&PipelineDescriptor::new(&module))?;
        let buffers = [&parameters, &read, &loads[0], &loads[1], &written];
        let bindings: Vec<_> =
            buffers.iter().enumerate().map(|(i, buffer)| Binding::new(0, i as u32, buffer)).collect();
        let groups = [cases.len() as u32, 1, 1];
        device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, groups) })?;
        let bytes = |buffer: &phalanx::Buffer| buffer.read(0, buffer.size());
        Ok([unpack(bytes(&loads[0])?), unpack(bytes(&loads[1])?), unpack(bytes(&written)?)])
    };
    let [loaded, decoded, stored] = run().map_err(|e| format!("{e}\n{source}"))?;
    for (i, case) in cases.iter().enumerate() {
        let mine = i * elements..(i + 1) * elements;
        check_loads(shape, case, &tensor, mask, [&loaded[mine.clone()], &decoded[mine]])
            .and_then(|()| check_store(shape, case, mask, &stored[i * TENSOR as usize..][..TENSOR as usize]))
            .map_err(|difference| format!("{difference}\n{case:?}\n{source}"))?;
    }
    Ok(())
}

fn check_loads(
    shape: &Shape,
    case: &Case,
    tensor: &[u32],
    mask: u32,
    found: [&[u32]; 2],
) -> Result<(), String> {
    for element in 0..shape.rows * shape.cols {
        let at = (element / shape.cols, element % shape.cols);
        let expected = match case.element(shape, at, false) {
            Element::Skipped => KEPT,
            Element::ClampValue => [case.clamp_value & mask; 2],
            Element::Undefined => continue,
            Element::At { index, block_coord, coord_in_block } => {
                let x = tensor[index as usize];
                [x, decoded(x, &block_coord, &coord_in_block, shape.dims) & mask]
            }
        };
        let found = found.map(|found| found[element as usize]);
        if found != expected {
            return Err(format!("element {at:?} loaded and decoded is {found:?}, expected {expected:?}"));
        }
    }
    Ok(())
}

/// Where several elements go to one place, any of them may be there.
fn check_store(shape: &Shape, case: &Case, mask: u32, found: &[u32]) -> Result<(), String> {
    let mut written: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for element in 0..shape.rows * shape.cols {
        let at = (element / shape.cols, element % shape.cols);
        if let Element::At { index, .. } = case.element(shape, at, true) {
            written.entry(index).or_default().push((element + 1) & mask);
        }
    }
    for (index, &found) in found.iter().enumerate() {
        let expected = written.get(&(index as u64)).map_or(&[UNTOUCHED][..], Vec::as_slice);
        if !expected.contains(&found) {
            return Err(format!("stored at {index} is {found}, expected one of {expected:?}"));
        }
    }
    Ok(())
}

/// The kernel; its numbers come from a buffer or are constants.
fn source(shape: &Shape, constants: Option<&[u32]>, stride: usize) -> String {
    let mut next = 0;
    let mut words = |count: usize| -> String {
        let names: Vec<String> = (next..next + count)
            .map(|i| constants.map_or_else(|| format!("p[q + {i}]"), |words| format!("{}u", words[i])))
            .collect();
        next += count;
        names.join(", ")
    };
    let (dims, mode) = (shape.dims, format!("gl_CooperativeMatrixClampMode{:?}NV", shape.clamp_mode));
    let set =
        |name: &str, function: &str, values: String| format!("    {name} = {function}({name}, {values});\n");
    let layout = format!("createTensorLayoutNV({dims}, {mode});\n");
    let (blocks, sizes, strides) = (words(dims), words(dims), words(dims));
    let slices = [words(2 * dims), words(2 * dims)];
    let clamp_value = words(1);
    let mut body = String::new();
    for (name, has_blocks) in [("t", shape.has_blocks), ("s", false)] {
        let _ = write!(body, "    tensorLayoutNV<{dims}, {mode}> {name} = {layout}");
        if has_blocks {
            body += &set(name, "setTensorLayoutBlockSizeNV", blocks.clone());
        }
        body += &set(name, "setTensorLayoutDimensionNV", sizes.clone());
        if shape.has_strides {
            body += &set(name, "setTensorLayoutStrideNV", strides.clone());
        }
        for slice in &slices {
            body += &set(name, "sliceTensorLayoutNV", slice.clone());
        }
        body += &set(name, "setTensorLayoutClampValueNV", clamp_value.clone());
    }
    let view = if let Some((v_dim, has_dimensions, permutation)) = shape.view {
        let places: Vec<String> = permutation[..v_dim].iter().map(usize::to_string).collect();
        let ty = format!("{v_dim}, {has_dimensions}, {}", places.join(", "));
        let _ = writeln!(body, "    tensorViewNV<{ty}> v = createTensorViewNV({ty});");
        body += &set("v", "setTensorViewDimensionsNV", words(v_dim));
        let strides = words(v_dim);
        if shape.has_view_strides {
            body += &set("v", "setTensorViewStrideNV", strides);
        }
        let clip = words(4);
        if shape.has_clip {
            body += &set("v", "setTensorViewClipNV", clip);
        }
        ", v"
    } else {
        ""
    };
    let mix: String = (0..dims).map(|d| format!("    h = (h * 31 + b[{d}]) * 31 + c[{d}];\n")).collect();
    let (rows, cols, use_, bits) = (shape.rows, shape.cols, shape.use_, shape.bits);
    format!(
        "#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#define T uint{bits}_t
#define M coopmat<T, gl_ScopeSubgroup, {rows}, {cols}, gl_MatrixUse{use_}>
layout(local_size_x = 32) in;
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer One {{ T x; }};
layout(set = 0, binding = 0) readonly buffer I0 {{ uint p[]; }};
layout(set = 0, binding = 1, scalar) readonly buffer I1 {{ T a[]; }};
layout(set = 0, binding = 2, scalar) buffer O2 {{ T loaded[]; }};
layout(set = 0, binding = 3, scalar) buffer O3 {{ T decoded[]; }};
layout(set = 0, binding = 4, scalar) buffer O4 {{ T stored[]; }};

T decode(const in One one, const in uint32_t b[{dims}], const in uint32_t c[{dims}])
{{
    uint32_t h = uint32_t(one.x);
{mix}    return T(h);
}}

T number(const in uint32_t row, const in uint32_t col, const in T x)
{{
    return T(row * {cols} + col + 1);
}}

void main()
{{
    uint g = gl_WorkGroupID.x;
    uint q = g * {stride};
{body}    M m = M(T({kept}));
    coopMatLoadTensorNV(m, a, 0, t{view});
    coopMatStore(m, loaded, g * {elements}, {cols}, gl_CooperativeMatrixLayoutRowMajor);
    m = M(T({also}));
    coopMatLoadTensorNV(m, a, 0, t{view}, decode);
    coopMatStore(m, decoded, g * {elements}, {cols}, gl_CooperativeMatrixLayoutRowMajor);
    coopMatPerElementNV(m, m, number);
    coopMatStoreTensorNV(m, stored, g * {TENSOR}, s{view});
}}
",
        elements = rows * cols,
        kept = KEPT[0],
        also = KEPT[1],
    )
}
