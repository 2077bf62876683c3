//! The types of a module after specialisation.
//!
//! A composite may only refer to types declared before it, so types form no cycles; the one
//! exception is a pointer, whose pointee is therefore looked up when it is needed. Nesting and size
//! are bounded when a type is declared (SPIR-V 2.17 limits nesting to 255), so that whoever walks a
//! type later can recurse without care.

use crate::diag::{Res, code, invalid, unsupported};
use crate::reader::Id;
use phalanx_ir::image::ImageKind;
use phalanx_ir::{self as ir, Clamp, MatType, Scalar, Space, TensorView};
use rustc_hash::FxHashMap;
use spirv::StorageClass;
use std::fmt;
use std::rc::Rc;

/// A declared type, by its id. Only [`Types::lookup`] makes one, so it always exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ty(Id);

impl Ty {
    /// Its id.
    pub(crate) fn id(self) -> Id {
        self.0
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// What a type is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Void,
    Bool,
    Int {
        scalar: Scalar,
        signed: bool,
    },
    Float(Scalar),
    Vector {
        elem: Ty,
        n: u32,
    },
    Matrix {
        column: Ty,
        n: u32,
    },
    Array {
        elem: Ty,
        n: u32,
    },
    RuntimeArray {
        elem: Ty,
    },
    Struct(Rc<[Ty]>),
    Pointer {
        class: StorageClass,
        pointee: Option<Id>,
    },
    Function,
    /// An image that is not built, by what it is: it may be declared, but nothing is done with it.
    Opaque(&'static str),
    /// An image or a texel buffer, and what a component is. With a sampler it is a *sampled image*.
    Image {
        texel: Ty,
        kind: ImageKind,
    },
    Sampler,
    CoopMat {
        mat: MatType,
        signed: bool,
    },
    /// The state of a tensor layout or view: words of a 32-bit type.
    Tensor {
        word: Ty,
        tensor: Tensor,
    },
}

/// What the type of a tensor layout or view says (SPV_NV_tensor_addressing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tensor {
    Layout { dims: u8, clamp: Clamp },
    View(TensorView),
}

impl Tensor {
    /// Words of state. Of a layout: dimension, stride, offset, span and block size of each dimension,
    /// and the clamp value; of a view: dimension and stride of each dimension, and the clip.
    pub(crate) fn words(&self) -> u32 {
        match self {
            Self::Layout { dims, .. } => 5 * u32::from(*dims) + 1,
            Self::View(view) => 2 * u32::from(view.dims) + 4,
        }
    }
}

/// Nesting of a type (SPIR-V 2.17).
const MAX_DEPTH: u16 = 255;

/// Types met when walking a type. Structures share members, so a short module can declare a type
/// of exponential size.
pub(crate) const MAX_TREE: u32 = 1 << 16;

#[derive(Clone, Debug)]
struct Info {
    kind: Kind,
    depth: u16,
    /// Scalars, pointers and cooperative matrices a value consists of; `None` for a type without
    /// values or with too many.
    leaves: Option<u32>,
    /// Types met when walking a value; bounds what `leaves` misses, structures without members.
    nodes: Option<u32>,
    /// Homogeneous pieces a variable consists of: one for each leaf, where arrays, vectors and
    /// matrices count once.
    pieces: u32,
    /// Types met when walking the type, each array once.
    tree: u32,
}

/// The types of a module.
#[derive(Debug, Default)]
pub(crate) struct Types {
    map: FxHashMap<Id, Info>,
}

impl Types {
    /// The type with an id.
    pub(crate) fn lookup(&self, id: Id) -> Res<Ty> {
        if self.map.contains_key(&id) {
            return Ok(Ty(id));
        }
        Err(invalid(code::TYPE, format!("%{id} is not a type declared before")))
    }

    fn info(&self, ty: Ty) -> &Info {
        self.map.get(&ty.0).expect("only lookup makes a Ty, and types are never removed")
    }

    /// What a type is.
    pub(crate) fn kind(&self, ty: Ty) -> &Kind {
        &self.info(ty).kind
    }

    /// Declares a type.
    pub(crate) fn declare(&mut self, id: Id, kind: Kind) -> Res<()> {
        let info = self.measure(kind)?;
        if info.depth > MAX_DEPTH {
            return Err(invalid(code::LIMIT, format!("the type nests deeper than {MAX_DEPTH}")));
        }
        self.map.insert(id, info);
        Ok(())
    }

    fn measure(&self, kind: Kind) -> Res<Info> {
        let unit = |values: Option<u32>, pieces| (0, values, values, pieces, 1);
        let of = |elem: Ty, n: u32| {
            let e = self.info(elem);
            let times = |x: Option<u32>| x.and_then(|x| x.checked_mul(n));
            let nodes = times(e.nodes).and_then(|x| x.checked_add(1));
            (e.depth + 1, times(e.leaves), nodes, e.pieces, e.tree + 1)
        };
        let (depth, leaves, nodes, pieces, tree) = match &kind {
            Kind::Void | Kind::Function => unit(None, 0),
            Kind::Opaque(_) | Kind::Image { .. } | Kind::Sampler => unit(Some(0), 0),
            Kind::Bool | Kind::Int { .. } | Kind::Float(_) | Kind::Pointer { .. } | Kind::CoopMat { .. } => {
                unit(Some(1), 1)
            }
            Kind::Vector { elem, n } | Kind::Array { elem, n } => of(*elem, *n),
            Kind::Matrix { column, n } => of(*column, *n),
            Kind::Tensor { word, tensor } => of(*word, tensor.words()),
            Kind::RuntimeArray { elem } => (self.info(*elem).depth + 1, None, None, 0, self.info(*elem).tree),
            Kind::Struct(members) => members.iter().fold(
                (0, Some(0), Some(1), 0, 1),
                |(depth, leaves, nodes, pieces, tree), &m| {
                    let (m, add) = (self.info(m), |a: Option<u32>, b: Option<u32>| a?.checked_add(b?));
                    (
                        depth.max(m.depth + 1),
                        add(leaves, m.leaves),
                        add(nodes, m.nodes),
                        m.pieces.saturating_add(pieces),
                        m.tree.saturating_add(tree),
                    )
                },
            ),
        };
        if tree > MAX_TREE {
            return Err(invalid(code::LIMIT, format!("the type consists of more than {MAX_TREE} others")));
        }
        Ok(Info { kind, depth, leaves, nodes, pieces, tree })
    }

    /// Scalars, pointers and cooperative matrices that a value of this type consists of.
    pub(crate) fn leaves(&self, ty: Ty) -> Res<u32> {
        self.info(ty).leaves.ok_or_else(|| {
            invalid(code::TYPE, format!("{} has no values, or too large ones", self.describe(ty)))
        })
    }

    /// Types met when walking it, each array once.
    pub(crate) fn tree(&self, ty: Ty) -> u32 {
        self.info(ty).tree
    }

    /// Homogeneous pieces that a variable of this type consists of.
    pub(crate) fn pieces(&self, ty: Ty) -> u32 {
        self.info(ty).pieces
    }

    /// The IR type of a scalar, pointer or cooperative matrix; `None` for others.
    pub(crate) fn leaf(&self, ty: Ty) -> Option<ir::Type> {
        match *self.kind(ty) {
            Kind::Bool => Some(ir::Type::BOOL),
            Kind::Int { scalar, .. } | Kind::Float(scalar) => Some(scalar.into()),
            Kind::CoopMat { mat, .. } => Some(mat.into()),
            Kind::Pointer { class, .. } => space(class).map(ir::Type::Ptr),
            _ => None,
        }
    }

    /// The scalar type, or the component type of a vector, matrix or cooperative matrix.
    pub(crate) fn scalar(&self, ty: Ty) -> Option<Scalar> {
        match *self.kind(ty) {
            Kind::Bool => Some(Scalar::Bool),
            Kind::Int { scalar, .. } | Kind::Float(scalar) => Some(scalar),
            Kind::CoopMat { mat, .. } => Some(mat.elem),
            Kind::Vector { elem, .. } => self.scalar(elem),
            Kind::Matrix { column, .. } => self.scalar(column),
            _ => None,
        }
    }

    /// Whether the components of this scalar, vector or cooperative matrix were declared signed.
    pub(crate) fn is_signed(&self, ty: Ty) -> bool {
        match *self.kind(ty) {
            Kind::Int { signed, .. } | Kind::CoopMat { signed, .. } => signed,
            Kind::Vector { elem, .. } => self.is_signed(elem),
            _ => false,
        }
    }

    /// The number of components of a vector, 1 for a scalar or a cooperative matrix.
    pub(crate) fn lanes(&self, ty: Ty) -> Option<u32> {
        match *self.kind(ty) {
            Kind::Bool | Kind::Int { .. } | Kind::Float(_) | Kind::CoopMat { .. } => Some(1),
            Kind::Vector { n, .. } => Some(n),
            _ => None,
        }
    }

    /// The cooperative matrix type.
    pub(crate) fn coop_mat(&self, ty: Ty) -> Option<MatType> {
        match *self.kind(ty) {
            Kind::CoopMat { mat, .. } => Some(mat),
            _ => None,
        }
    }

    /// Number of constituents of a composite; 1 for a cooperative matrix, which is made from one.
    pub(crate) fn count(&self, ty: Ty) -> Option<u32> {
        match self.kind(ty) {
            Kind::Vector { n, .. } | Kind::Matrix { n, .. } | Kind::Array { n, .. } => Some(*n),
            Kind::Struct(members) => Some(members.len() as u32),
            Kind::CoopMat { .. } => Some(1),
            Kind::Tensor { tensor, .. } => Some(tensor.words()),
            _ => None,
        }
    }

    /// The type of constituent `i` of a composite. The index is only checked for structures.
    pub(crate) fn constituent(&self, ty: Ty, i: u32) -> Option<Ty> {
        match self.kind(ty) {
            Kind::Vector { elem, .. } | Kind::Array { elem, .. } | Kind::RuntimeArray { elem } => Some(*elem),
            Kind::Matrix { column, .. } => Some(*column),
            Kind::Tensor { word, .. } => Some(*word),
            Kind::Struct(members) => members.get(i as usize).copied(),
            _ => None,
        }
    }

    /// A pointer's storage class and pointee; no pointee if it is untyped.
    pub(crate) fn pointer(&self, ty: Ty) -> Res<(StorageClass, Option<Ty>)> {
        match *self.kind(ty) {
            Kind::Pointer { class, pointee } => Ok((class, pointee.map(|p| self.lookup(p)).transpose()?)),
            _ => Err(invalid(code::TYPE, format!("expected a pointer type, found {}", self.describe(ty)))),
        }
    }

    /// The IR types of the leaves of a value, in order.
    pub(crate) fn leaf_types(&self, ty: Ty) -> Res<Vec<ir::Type>> {
        let n = self.leaves(ty)?;
        if n > MAX_VALUE_LEAVES || self.info(ty).nodes.is_none_or(|n| n > 4 * MAX_VALUE_LEAVES) {
            return Err(too_large(n));
        }
        let mut out = Vec::with_capacity(n as usize);
        self.push_leaf_types(ty, &mut out)?;
        Ok(out)
    }

    fn push_leaf_types(&self, ty: Ty, out: &mut Vec<ir::Type>) -> Res<()> {
        if let Some(leaf) = self.leaf(ty) {
            out.push(leaf);
            return Ok(());
        }
        let n = self.count(ty).ok_or_else(|| {
            let m = match self.kind(ty) {
                // SPIR-V 2.16.1: only variable pointers may be chosen, stored or returned.
                Kind::Pointer { class, .. } => format!("a {class:?} pointer is used as a value"),
                _ => format!("expected a type with values in registers, found {}", self.describe(ty)),
            };
            invalid(code::TYPE, m)
        })?;
        for i in 0..n {
            if let Some(elem) = self.constituent(ty, i) {
                self.push_leaf_types(elem, out)?;
            }
        }
        Ok(())
    }

    /// Whether two types have the same values: the same type, or aggregates that were declared twice
    /// (as glslang does to decorate one of them).
    pub(crate) fn same(&self, a: Ty, b: Ty) -> bool {
        if a == b {
            return true;
        }
        match (self.kind(a), self.kind(b)) {
            (Kind::Array { elem: x, n }, Kind::Array { elem: y, n: m })
            | (Kind::Vector { elem: x, n }, Kind::Vector { elem: y, n: m })
            | (Kind::Matrix { column: x, n }, Kind::Matrix { column: y, n: m }) => {
                n == m && self.same(*x, *y)
            }
            (Kind::Struct(x), Kind::Struct(y)) => {
                x.len() == y.len() && x.iter().zip(&**y).all(|(x, y)| self.same(*x, *y))
            }
            (Kind::Tensor { tensor: x, .. }, Kind::Tensor { tensor: y, .. }) => x == y,
            // Their formats do not matter: glslang passes an image whose format is stated where the parameter's is not.
            (Kind::Image { texel: x, kind }, Kind::Image { texel: y, kind: other }) => {
                kind == other && self.same(*x, *y)
            }
            (Kind::Sampler, Kind::Sampler) => true,
            _ => self.leaf(a).is_some() && self.leaf(a) == self.leaf(b),
        }
    }

    /// The component type of a scalar, vector or cooperative matrix as a message names it.
    pub(crate) fn describe_component(&self, ty: Ty) -> String {
        match self.kind(ty) {
            Kind::Vector { elem, .. } => self.describe_component(*elem),
            Kind::CoopMat { mat, signed } if mat.elem.is_int() => sign_and_width(*signed, mat.elem),
            Kind::CoopMat { mat, .. } => mat.elem.name().into(),
            _ => self.describe(ty),
        }
    }

    /// The type as a message names it.
    pub(crate) fn describe(&self, ty: Ty) -> String {
        match self.kind(ty) {
            Kind::Void => "void".into(),
            Kind::Bool => "bool".into(),
            Kind::Int { scalar, signed } => sign_and_width(*signed, *scalar),
            Kind::Float(scalar) => scalar.name().into(),
            Kind::Vector { elem, n } => format!("vector of {n} {}", self.describe(*elem)),
            Kind::Matrix { column, n } => format!("matrix of {n} columns of {}", self.describe(*column)),
            Kind::Array { elem, n } => format!("array of {n} {}", self.describe(*elem)),
            Kind::RuntimeArray { elem } => format!("runtime array of {}", self.describe(*elem)),
            Kind::Struct(members) => format!("structure {ty} of {} members", members.len()),
            Kind::Pointer { class, pointee: Some(p) } => format!("{class:?} pointer to %{p}"),
            Kind::Pointer { class, pointee: None } => format!("untyped {class:?} pointer"),
            Kind::Function => format!("function type {ty}"),
            Kind::Opaque(what) => (*what).into(),
            Kind::Sampler => "sampler".into(),
            Kind::Image { texel, kind } => {
                let kind = ir::BindingKind::Image(*kind).name();
                format!("{kind} of {}", self.describe(*texel))
            }
            Kind::CoopMat { mat, .. } => format!("cooperative matrix {mat}"),
            Kind::Tensor { tensor: Tensor::Layout { dims, .. }, .. } => {
                format!("tensor layout of {dims} dimensions")
            }
            Kind::Tensor { tensor: Tensor::View(view), .. } => {
                format!("tensor view of {} dimensions", view.dims)
            }
        }
    }
}

/// An integer type as a message names it: `s32` or `u32`.
fn sign_and_width(signed: bool, scalar: Scalar) -> String {
    format!("{}{}", if signed { 's' } else { 'u' }, scalar.bits())
}

/// Leaves of a value. Larger ones would be one instruction each; no register file holds them.
pub(crate) const MAX_VALUE_LEAVES: u32 = 1 << 16;

/// A value with this many leaves is too large.
pub(crate) fn too_large(leaves: u32) -> crate::diag::Fault {
    let m = format!("a value of {leaves} components; at most {MAX_VALUE_LEAVES} are supported");
    unsupported(code::LIMIT, m)
}

/// The address space of a storage class whose pointers are values; `None` for the logical ones.
pub(crate) fn space(class: StorageClass) -> Option<Space> {
    match class {
        StorageClass::StorageBuffer | StorageClass::Uniform => Some(Space::Buffer),
        StorageClass::PushConstant => Some(Space::Push),
        StorageClass::Workgroup => Some(Space::Shared),
        StorageClass::PhysicalStorageBuffer => Some(Space::Global),
        _ => None,
    }
}
