//! Modules of MLIR in the words of the library.

use phalanx_front_mlir as mlir;
use phalanx_front_spirv::{
    BindingLayout, EntryInfo, Info, Limits, MatrixInfo, MemberLayout, MulAddInfo, ScalarType, TypeLayout,
};
use phalanx_ir::{BindingInfo, BindingKind, Module, MulAddFlags, Scalar};

use crate::error::Error;
use crate::module::MlirText;

/// Translates an entry point.
pub(crate) fn translate(
    source: &MlirText,
    entry: Option<&str>,
    workgroup_size: Option<[u32; 3]>,
    subgroup_size: u32,
    limits: Limits,
) -> Result<Module, Error> {
    let options = mlir::Options {
        entry,
        workgroup_size,
        subgroup_size,
        file: &source.name,
        limits: mlir::Limits {
            instructions: limits.instructions,
            nesting: limits.nesting,
            shared_bytes: limits.shared_bytes,
            push_bytes: limits.push_bytes,
            workgroup_invocations: limits.workgroup_invocations,
            private_bytes: limits.private_bytes,
        },
    };
    Ok(mlir::translate_ast(&source.ast, &options).map_err(|error| error.quote(&source.text))?)
}

/// What a text holds, as a module of SPIR-V would say it. There is no version, capability or constant.
pub(crate) fn module_info(info: &mlir::Info) -> Info {
    let entry_points: Vec<EntryInfo> = info.entry_points.iter().map(entry).collect();
    let places = entry_points.iter().flat_map(|entry| &entry.bindings);
    let mut declared: Vec<(u32, u32)> = places.map(|layout| (layout.info.set, layout.info.binding)).collect();
    declared.sort_unstable();
    declared.dedup();
    Info {
        vector_muls: Vec::new(),
        version: (0, 0),
        capabilities: Vec::new(),
        unsupported: Vec::new(),
        extensions: Vec::new(),
        entry_points,
        declared,
        spec_constants: Vec::new(),
        matrices: info.matrices.iter().map(|&(ty, signed)| MatrixInfo { ty, signed }).collect(),
        mul_adds: info.mul_adds.iter().map(mul_add).collect(),
        atomics: Vec::new(),
        addressed: Vec::new(),
        shared_blocks: Vec::new(),
    }
}

fn mul_add(found: &mlir::MulAddInfo) -> MulAddInfo {
    let [a_signed, b_signed, c_signed] = found.signed;
    let matrix = |i: usize| MatrixInfo { ty: found.types[i], signed: found.signed[i] };
    let flags =
        MulAddFlags { a_signed, b_signed, c_signed, result_signed: c_signed, ..MulAddFlags::default() };
    MulAddInfo { a: matrix(0), b: matrix(1), c: matrix(2), result: matrix(2), flags }
}

fn entry(found: &mlir::EntryInfo) -> EntryInfo {
    let push = TypeLayout::Struct { name: String::new(), members: found.push.iter().map(member).collect() };
    EntryInfo {
        name: found.name.clone(),
        model: "GLCompute".to_owned(),
        local_size: found.workgroup_size,
        local_size_constants: [None; 3],
        bindings: found.buffers.iter().map(buffer).collect(),
        images: Vec::new(),
        push: (!found.push.is_empty()).then_some(push),
        push_bytes: found.push_bytes,
    }
}

/// A buffer, which need not be as large as its type says: what is beyond reads as zeros.
fn buffer(found: &mlir::BufferInfo) -> BindingLayout {
    let elem = Box::new(TypeLayout::Scalar(scalar(found.scalar, found.signed)));
    let array = TypeLayout::Array { elem, len: None, stride: found.scalar.bytes() };
    let members = vec![MemberLayout { name: String::new(), offset: 0, ty: array }];
    BindingLayout {
        info: BindingInfo {
            set: found.set,
            binding: found.binding,
            count: Some(1),
            kind: BindingKind::Storage,
            writable: true,
            name: found.name.clone(),
        },
        layout: TypeLayout::Struct { name: String::new(), members },
    }
}

fn member(found: &mlir::PushInfo) -> MemberLayout {
    let scalar = scalar(found.scalar, found.signed);
    let ty = match found.count {
        1 => TypeLayout::Scalar(scalar),
        n => TypeLayout::Vector { scalar, n, stride: scalar.scalar.bytes() },
    };
    MemberLayout { name: found.name.clone(), offset: found.offset, ty }
}

const fn scalar(scalar: Scalar, signed: bool) -> ScalarType {
    ScalarType { scalar, signed }
}
