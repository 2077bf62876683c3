//! Where matrices keep their elements, and where tensors have theirs.
//!
//! Both maps are those that kernels use: a [`Layout`] says which element a component of an invocation is,
//! [`TensorState::place`] which element of a tensor an element of a matrix comes from or goes to.
//! [`shader`] finds what a shader says of its tensors.
//!
//! ```
//! use phalanx::{Distribution, MatType, Scalar, Scope, Use};
//! let m = MatType { elem: Scalar::F16, scope: Scope::Subgroup, rows: 16, cols: 16, use_: Use::A };
//! // On a CPU, component 3 of invocation 5 of 32 is in row 6, column 5.
//! assert_eq!(Distribution::Rows.layout(m, 32).element(5, 3), Some((6, 5)));
//! ```

use phalanx_front_spirv as front;
use phalanx_ir::tree::Tree;
use phalanx_ir::{InstInfo, MatType, Op, Value, Verified, passes, verify};

use crate::device::workgroup_size;
use crate::error::Error;
use crate::mlir;
use crate::module::Source;
use crate::pipeline::PipelineDescriptor;

pub use phalanx_ir::distribution::{Kind, Layout};
pub use phalanx_ir::eval::{Coord, TensorPlace, TensorState, packed_strides};
pub use phalanx_ir::tensor::{MAX_DIMS, TensorOperands};
pub use phalanx_ir::{Clamp, SourceLoc, TensorAccess, TensorView};

/// What there is to explain in a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shader {
    /// Invocations of a work-group along each axis; together they hold its matrices.
    pub workgroup_size: [u32; 3],
    /// The loads and stores through tensor layouts, in the order of the program. Loops stay as they are.
    pub tensors: Vec<ShaderTensor>,
}

/// A load or store of a shader through a tensor layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShaderTensor {
    /// Where it is in the source, as far as the module says so.
    pub place: Option<SourceLoc>,
    /// Whether it stores.
    pub is_store: bool,
    /// Whether a function decodes the elements.
    pub is_decoded: bool,
    /// The matrix.
    pub matrix: MatType,
    /// What the types of the layout and of the view say.
    pub access: TensorAccess,
    /// The numbers of both, at the places of [`TensorAccess::operands`]; those that the shader computes are unknown.
    pub words: Vec<Option<u32>>,
}

/// What a shader says of its tensors.
///
/// # Errors
///
/// What is wrong with the module, as for [`Device::create_pipeline`](crate::Device::create_pipeline).
pub fn shader(descriptor: &PipelineDescriptor<'_>) -> Result<Shader, Error> {
    let module = translated(descriptor)?;
    // Numbers that follow from constants become constants.
    let module = passes::simplify(module).map_err(|error| Error::bug(error.to_string()))?;
    let body = &module.body;
    let insts = Tree::new(body).order().iter().map(|&inst| body.inst(inst)).collect::<Vec<_>>();
    let tensors = insts.into_iter().filter_map(|info| access(&module, info)).collect();
    Ok(Shader { workgroup_size: module.workgroup_size, tensors })
}

/// The verified module of a descriptor.
pub(crate) fn translated(descriptor: &PipelineDescriptor<'_>) -> Result<Verified, Error> {
    let specialization: Vec<_> =
        descriptor.specialization.iter().map(|&(id, value)| (id, value.bits())).collect();
    let defaults = front::Options::default();
    let options = front::Options {
        entry: descriptor.entry,
        specialization: &specialization,
        subgroup_size: descriptor.subgroup_size.unwrap_or(defaults.subgroup_size),
        ..defaults
    };
    let module = match descriptor.module.source() {
        Source::Spirv(words) => front::translate(words, &options)?,
        Source::Mlir(source) => {
            let size = workgroup_size(descriptor)?;
            mlir::translate(source, options.entry, size, options.subgroup_size, options.limits)?
        }
    };
    verify(module).map_err(|errors| Error::bug(errors.to_string()))
}

fn access(module: &Verified, info: &InstInfo) -> Option<ShaderTensor> {
    let (access, is_store, is_decoded, matrix, first) = match info.op {
        Op::MatLoadTensor { access, decode } => {
            let first = 1 + usize::from(access.clips());
            (access, false, decode.is_some(), *info.results.first()?, first)
        }
        Op::MatStoreTensor(access) => (access, true, false, *info.args.get(1)?, 2),
        _ => return None,
    };
    let body = &module.body;
    let known = |&word: &Value| body.const_bits(word).map(|bits| bits as u32);
    Some(ShaderTensor {
        place: (info.loc as usize).checked_sub(1).and_then(|index| module.locs.get(index)).cloned(),
        is_store,
        is_decoded,
        matrix: body.ty(matrix).mat()?,
        access,
        words: info.args.get(first..)?.iter().map(known).collect(),
    })
}
