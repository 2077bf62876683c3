//! How large attributes and types are, and how deep.

use crate::ast::{Affine, AffineMap, Attr, Layout, Type};

/// The size of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Its parts; text counts by its length.
    pub(crate) nodes: usize,
    /// Its levels.
    pub(crate) depth: u32,
}

impl Size {
    fn leaf(text: &str) -> Self {
        Self { nodes: 1 + text.len() / 32, depth: 1 }
    }

    fn of(children: impl Iterator<Item = Self>) -> Self {
        children.fold(Self { nodes: 1, depth: 1 }, |all, child| Self {
            nodes: all.nodes + child.nodes,
            depth: all.depth.max(child.depth + 1),
        })
    }
}

pub(crate) fn attr_size(attr: &Attr) -> Size {
    match attr {
        Attr::Unit | Attr::Bool(_) => Size::leaf(""),
        Attr::Int(_, ty) | Attr::Float(_, ty) | Attr::Type(ty) => Size::of([type_size(ty)].into_iter()),
        Attr::Str(text) | Attr::Dialect(text) => Size::leaf(text),
        Attr::Array(items) => Size::of(items.iter().map(attr_size)),
        Attr::DenseArray(ty, items) | Attr::Dense(items, ty) => {
            Size::of(items.iter().map(attr_size).chain([type_size(ty)]))
        }
        Attr::Dict(items) => Size::of(items.iter().map(|(_, attr)| attr_size(attr))),
        Attr::Symbol(path) => Size::of(path.iter().map(|name| Size::leaf(name))),
        Attr::Map(map) => map_size(map),
        Attr::Set(set) => Size::of(set.constraints.iter().map(|(affine, _)| affine_size(affine))),
    }
}

pub(crate) fn type_size(ty: &Type) -> Size {
    match ty {
        Type::Int(..) | Type::Index | Type::Float(_) | Type::None => Size::leaf(""),
        Type::Dialect(text) => Size::leaf(text),
        Type::Function(inputs, results) => Size::of(inputs.iter().chain(results).map(type_size)),
        Type::Tuple(items) => Size::of(items.iter().map(type_size)),
        Type::Vector(extents, elem) => widened(extents.len(), type_size(elem)),
        Type::Tensor(extents, elem) => widened(extents.as_ref().map_or(0, Vec::len), type_size(elem)),
        Type::Mma(mma) => widened(2, type_size(&mma.elem)),
        Type::MemRef(memref) => {
            let layout = match &memref.layout {
                Layout::Identity => None,
                Layout::Strided { strides, .. } => Some(Size { nodes: strides.len(), depth: 1 }),
                Layout::Map(map) => Some(map_size(map)),
            };
            let parts = [Some(type_size(&memref.elem)), layout, memref.space.as_ref().map(attr_size)];
            widened(memref.shape.as_ref().map_or(0, Vec::len), Size::of(parts.into_iter().flatten()))
        }
    }
}

fn widened(extents: usize, inner: Size) -> Size {
    Size { nodes: 1 + extents + inner.nodes, depth: inner.depth + 1 }
}

fn map_size(map: &AffineMap) -> Size {
    Size::of(map.results.iter().map(affine_size))
}

pub(crate) fn affine_size(affine: &Affine) -> Size {
    match affine {
        Affine::Dim(_) | Affine::Symbol(_) | Affine::Const(_) => Size::leaf(""),
        Affine::Add(a, b)
        | Affine::Mul(a, b)
        | Affine::FloorDiv(a, b)
        | Affine::CeilDiv(a, b)
        | Affine::Mod(a, b) => Size::of([affine_size(a), affine_size(b)].into_iter()),
    }
}
