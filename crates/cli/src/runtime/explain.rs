//! Matrices and tensors of the library, and those of a shader.

use anyhow::Result;
use phalanx::PipelineDescriptor;
use phalanx::explain::shader;

use super::{PipelineOptions, Shader, requirements, spec_values};
use crate::data::DType;

pub(crate) use phalanx::explain::{
    Clamp, Coord, Kind, Layout, MAX_DIMS, ShaderTensor, TensorAccess, TensorPlace, TensorState, TensorView,
    packed_strides,
};
pub(crate) use phalanx::{MatType, Scope, Use};

/// What a shader does with matrices.
#[derive(Debug, Clone)]
pub(crate) struct Explained {
    /// Each type with what it is called.
    pub(crate) matrices: Vec<(String, MatType)>,
    /// Invocations of a work-group.
    pub(crate) workgroup_invocations: u32,
    /// The accesses through tensor layouts.
    pub(crate) tensors: Vec<ShaderTensor>,
}

/// The matrices of a shader, and its accesses through tensor layouts.
pub(crate) fn explain(found: &Shader, options: PipelineOptions<'_>) -> Result<Explained> {
    let module = &found.0;
    let specialization = spec_values(module.info(), options.constants)?;
    let info = module.info_with(&specialization)?;
    let shader = shader(&PipelineDescriptor {
        module,
        entry: Some(options.entry),
        specialization: &specialization,
        subgroup_size: options.sizes.subgroup,
        workgroup_size: options.sizes.workgroup,
    })?;
    let matrices = info.matrices.iter().map(|&matrix| (requirements::matrix(matrix), matrix.ty)).collect();
    let workgroup_invocations = shader.workgroup_size.iter().product();
    Ok(Explained { matrices, workgroup_invocations, tensors: shader.tensors })
}

/// The library's type of a component; it has no sign.
pub(crate) fn scalar(dtype: DType) -> phalanx::Scalar {
    use phalanx::Scalar as S;
    match dtype {
        DType::F16 => S::F16,
        DType::F32 => S::F32,
        DType::F64 => S::F64,
        DType::Bf16 => S::BF16,
        DType::E4m3 => S::E4M3,
        DType::E5m2 => S::E5M2,
        DType::S8 | DType::U8 => S::I8,
        DType::S16 | DType::U16 => S::I16,
        DType::S32 | DType::U32 => S::I32,
        DType::S64 | DType::U64 => S::I64,
    }
}
