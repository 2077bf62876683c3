//! The generic form of a tree as text, which MLIR's own tools read.
//!
//! Values are numbered in the order of their definitions, whatever they were called. Locations are left out.

use std::fmt::Write as _;

use super::float;
use crate::ast::{
    Affine, AffineMap, AffineSet, Ast, Attr, Block, Layout, MemRef, Op, Region, Sign, Type, ValueId,
};

/// The generic form of a tree.
#[must_use]
pub fn print(ast: &Ast) -> String {
    let mut printer =
        Printer { ast, names: vec![String::new(); ast.values.len()], next: 0, out: String::new() };
    for op in &ast.ops {
        printer.name_op(op);
    }
    for op in &ast.ops {
        printer.op(op, 0);
    }
    printer.out
}

struct Printer<'t> {
    ast: &'t Ast,
    names: Vec<String>,
    next: u32,
    out: String,
}

impl Printer<'_> {
    fn name_op(&mut self, op: &Op) {
        let first = self.next;
        match &op.results[..] {
            [] => {}
            [result] => self.rename(*result, format!("%{first}")),
            results => {
                for (index, result) in results.iter().enumerate() {
                    self.rename(*result, format!("%{first}#{index}"));
                }
            }
        }
        self.next += u32::from(!op.results.is_empty());
        for block in op.regions.iter().flat_map(|region| &region.blocks) {
            for arg in &block.args {
                let name = format!("%{}", self.next);
                self.rename(*arg, name);
                self.next += 1;
            }
            for op in &block.ops {
                self.name_op(op);
            }
        }
    }

    fn rename(&mut self, value: ValueId, name: String) {
        if let Some(entry) = self.names.get_mut(value.0 as usize) {
            *entry = name;
        }
    }

    fn value(&mut self, value: ValueId) {
        let name = self.names.get(value.0 as usize).map_or("%unknown", String::as_str);
        self.out.push_str(name);
    }

    fn ty(&mut self, value: ValueId) {
        if let Some(def) = self.ast.values.get(value.0 as usize) {
            write_type(&mut self.out, &def.ty);
        }
    }

    fn indent(&mut self, depth: usize) {
        self.out.extend(std::iter::repeat_n("  ", depth));
    }

    fn op(&mut self, op: &Op, depth: usize) {
        self.indent(depth);
        if let Some(first) = op.results.first() {
            let name = self.names.get(first.0 as usize).cloned().unwrap_or_default();
            let stem = name.split('#').next().unwrap_or_default();
            let _ = match op.results.len() {
                1 => write!(self.out, "{stem} = "),
                count => write!(self.out, "{stem}:{count} = "),
            };
        }
        let _ = write!(self.out, "\"{}\"(", op.name);
        self.joined(&op.operands, Self::value);
        self.out.push(')');
        if !op.successors.is_empty() {
            self.out.push('[');
            for (index, successor) in op.successors.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                let _ = write!(self.out, "{comma}^bb{}", successor.block);
            }
            self.out.push(']');
        }
        if !op.regions.is_empty() {
            self.out.push_str(" (");
            for (index, region) in op.regions.iter().enumerate() {
                self.out.push_str(if index == 0 { "" } else { ", " });
                self.region(region, depth);
            }
            self.out.push(')');
        }
        if !op.attrs.is_empty() {
            self.out.push(' ');
            write_dict(&mut self.out, &op.attrs);
        }
        self.out.push_str(" : (");
        self.joined(&op.operands, Self::ty);
        self.out.push_str(") -> (");
        self.joined(&op.results, Self::ty);
        self.out.push_str(")\n");
    }

    fn joined(&mut self, values: &[ValueId], write: impl Fn(&mut Self, ValueId)) {
        for (index, value) in values.iter().enumerate() {
            self.out.push_str(if index == 0 { "" } else { ", " });
            write(self, *value);
        }
    }

    fn region(&mut self, region: &Region, depth: usize) {
        self.out.push_str("{\n");
        for (index, block) in region.blocks.iter().enumerate() {
            self.block(block, index, depth);
        }
        self.indent(depth);
        self.out.push('}');
    }

    fn block(&mut self, block: &Block, index: usize, depth: usize) {
        self.indent(depth);
        let _ = write!(self.out, "^bb{index}");
        if !block.args.is_empty() {
            self.out.push('(');
            self.joined(&block.args, |p, arg| {
                p.value(arg);
                p.out.push_str(": ");
                p.ty(arg);
            });
            self.out.push(')');
        }
        self.out.push_str(":\n");
        for op in &block.ops {
            self.op(op, depth + 1);
        }
    }
}

/// A type as text.
pub(crate) fn type_text(ty: &Type) -> String {
    let mut out = String::new();
    write_type(&mut out, ty);
    out
}

/// A type in a message, cut where it is long.
pub(crate) fn shown(ty: &Type) -> String {
    super::lexer::quoted(&type_text(ty))
}

/// An attribute as text.
pub(crate) fn attr_text(attr: &Attr) -> String {
    let mut out = String::new();
    write_attr(&mut out, attr);
    out
}

fn write_list<T>(out: &mut String, items: &[T], write: impl Fn(&mut String, &T)) {
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { ", " });
        write(out, item);
    }
}

fn write_extents(out: &mut String, extents: Option<&[Option<u64>]>) {
    match extents {
        None => out.push_str("*x"),
        Some(extents) => {
            for extent in extents {
                let _ = match extent {
                    Some(extent) => write!(out, "{extent}x"),
                    None => write!(out, "?x"),
                };
            }
        }
    }
}

fn write_type(out: &mut String, ty: &Type) {
    match ty {
        Type::Int(width, sign) => {
            let sign = match sign {
                Sign::None => "",
                Sign::Signed => "s",
                Sign::Unsigned => "u",
            };
            let _ = write!(out, "{sign}i{width}");
        }
        Type::Index => out.push_str("index"),
        Type::Float(name) => out.push_str(name),
        Type::None => out.push_str("none"),
        Type::Dialect(text) => {
            let _ = write!(out, "!{text}");
        }
        Type::Function(inputs, results) => {
            out.push('(');
            write_list(out, inputs, write_type);
            out.push_str(") -> (");
            write_list(out, results, write_type);
            out.push(')');
        }
        Type::Tuple(items) => {
            out.push_str("tuple<");
            write_list(out, items, write_type);
            out.push('>');
        }
        Type::Vector(extents, elem) => {
            out.push_str("vector<");
            extents.iter().for_each(|extent| {
                let _ = write!(out, "{extent}x");
            });
            write_type(out, elem);
            out.push('>');
        }
        Type::Tensor(extents, elem) => {
            out.push_str("tensor<");
            write_extents(out, extents.as_deref());
            write_type(out, elem);
            out.push('>');
        }
        Type::Mma(mma) => {
            let _ = write!(out, "!gpu.mma_matrix<{}x{}x", mma.rows, mma.columns);
            write_type(out, &mma.elem);
            let _ = write!(out, ", \"{}\">", mma.operand);
        }
        Type::MemRef(memref) => write_memref(out, memref),
    }
}

fn write_memref(out: &mut String, memref: &MemRef) {
    out.push_str("memref<");
    write_extents(out, memref.shape.as_deref());
    write_type(out, &memref.elem);
    match &memref.layout {
        Layout::Identity => {}
        Layout::Strided { strides, offset } => {
            out.push_str(", strided<[");
            let stride = |out: &mut String, stride: &Option<i64>| match stride {
                Some(stride) => {
                    let _ = write!(out, "{stride}");
                }
                None => out.push('?'),
            };
            write_list(out, strides, stride);
            out.push(']');
            if *offset != Some(0) {
                out.push_str(", offset: ");
                stride(out, offset);
            }
            out.push('>');
        }
        Layout::Map(map) => {
            out.push_str(", ");
            write_map(out, map);
        }
    }
    if let Some(space) = &memref.space {
        out.push_str(", ");
        // Memory spaces that are numbers have no type behind them where they stand in a type.
        match space {
            Attr::Int(value, Type::Int(64, Sign::None)) => {
                let _ = write!(out, "{value}");
            }
            space => write_attr(out, space),
        }
    }
    out.push('>');
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x20..=0x7E => out.push(byte as char),
            _ => {
                let _ = write!(out, "\\{byte:02X}");
            }
        }
    }
    out.push('"');
}

fn is_bare(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.'))
}

fn write_dict(out: &mut String, items: &[(Box<str>, Attr)]) {
    out.push('{');
    write_list(out, items, |out, (name, attr)| {
        if is_bare(name) {
            out.push_str(name)
        } else {
            write_string(out, name)
        }
        if *attr != Attr::Unit {
            out.push_str(" = ");
            write_attr(out, attr);
        }
    });
    out.push('}');
}

fn write_attr(out: &mut String, attr: &Attr) {
    match attr {
        Attr::Unit => out.push_str("unit"),
        Attr::Int(..) | Attr::Float(..) | Attr::Bool(_) => {
            write_number(out, attr);
            if let Attr::Int(_, ty) | Attr::Float(_, ty) = attr {
                out.push_str(" : ");
                write_type(out, ty);
            }
        }
        Attr::Str(text) => write_string(out, text),
        Attr::Array(items) => {
            out.push('[');
            write_list(out, items, write_attr);
            out.push(']');
        }
        Attr::DenseArray(ty, items) => {
            out.push_str("array<");
            write_type(out, ty);
            out.push_str(if items.is_empty() { "" } else { ": " });
            write_list(out, items, write_number);
            out.push('>');
        }
        Attr::Dense(items, ty) => {
            out.push_str("dense<");
            let extents = match ty {
                Type::Vector(extents, _) => extents.clone(),
                Type::Tensor(Some(extents), _) => extents.iter().map(|extent| extent.unwrap_or(0)).collect(),
                _ => Vec::new(),
            };
            let shape = if items.len() > 1 { &extents[..] } else { &[] };
            write_elements(out, items, shape);
            out.push_str("> : ");
            write_type(out, ty);
        }
        Attr::Dict(items) => write_dict(out, items),
        Attr::Symbol(path) => {
            for (index, name) in path.iter().enumerate() {
                out.push_str(if index == 0 { "@" } else { "::@" });
                if is_bare(name) { out.push_str(name) } else { write_string(out, name) }
            }
        }
        Attr::Type(ty) => write_type(out, ty),
        Attr::Map(map) => write_map(out, map),
        Attr::Set(set) => write_set(out, set),
        Attr::Dialect(text) => {
            let _ = write!(out, "#{text}");
        }
    }
}

fn write_elements(out: &mut String, items: &[Attr], shape: &[u64]) {
    let Some((count, inner)) = shape.split_first() else {
        return write_list(out, items, write_number);
    };
    out.push('[');
    let size = items.len() / usize::try_from(*count).unwrap_or(1).max(1);
    for (index, part) in items.chunks(size.max(1)).enumerate() {
        out.push_str(if index == 0 { "" } else { ", " });
        write_elements(out, part, inner);
    }
    out.push(']');
}

/// A number without its type.
fn write_number(out: &mut String, attr: &Attr) {
    match attr {
        Attr::Bool(value) => {
            let _ = write!(out, "{value}");
        }
        Attr::Int(value, _) => {
            let _ = write!(out, "{value}");
        }
        Attr::Float(value, Type::Float(name)) if !value.is_finite() => {
            let digits = float::width(name).unwrap_or(64).div_ceil(4) as usize;
            let _ = write!(out, "0x{:0digits$X}", float::to_bits(name, *value).unwrap_or(0));
        }
        Attr::Float(value, _) => {
            let text = format!("{value:e}");
            // MLIR wants a point in it.
            match text.split_once('e') {
                Some((digits, exponent)) if !digits.contains('.') => {
                    let _ = write!(out, "{digits}.0e{exponent}");
                }
                _ => out.push_str(&text),
            }
        }
        _ => {}
    }
}

fn write_dims(out: &mut String, dims: u32, symbols: u32) {
    out.push('(');
    write_list(out, &(0..dims).collect::<Vec<_>>(), |out, dim| {
        let _ = write!(out, "d{dim}");
    });
    out.push(')');
    if symbols > 0 {
        out.push('[');
        write_list(out, &(0..symbols).collect::<Vec<_>>(), |out, symbol| {
            let _ = write!(out, "s{symbol}");
        });
        out.push(']');
    }
}

fn write_map(out: &mut String, map: &AffineMap) {
    out.push_str("affine_map<");
    write_dims(out, map.dims, map.symbols);
    out.push_str(" -> (");
    write_list(out, &map.results, write_affine);
    out.push_str(")>");
}

fn write_set(out: &mut String, set: &AffineSet) {
    out.push_str("affine_set<");
    write_dims(out, set.dims, set.symbols);
    out.push_str(" : (");
    write_list(out, &set.constraints, |out, (affine, equal)| {
        write_affine(out, affine);
        out.push_str(if *equal { " == 0" } else { " >= 0" });
    });
    out.push_str(")>");
}

fn write_affine(out: &mut String, affine: &Affine) {
    let mut binary = |a: &Affine, operator: &str, b: &Affine| {
        write_operand(out, a);
        let _ = write!(out, " {operator} ");
        write_operand(out, b);
    };
    match affine {
        Affine::Dim(index) => {
            let _ = write!(out, "d{index}");
        }
        Affine::Symbol(index) => {
            let _ = write!(out, "s{index}");
        }
        Affine::Const(value) => {
            let _ = write!(out, "{value}");
        }
        Affine::Add(a, b) => binary(a, "+", b),
        Affine::Mul(a, b) => binary(a, "*", b),
        Affine::FloorDiv(a, b) => binary(a, "floordiv", b),
        Affine::CeilDiv(a, b) => binary(a, "ceildiv", b),
        Affine::Mod(a, b) => binary(a, "mod", b),
    }
}

fn write_operand(out: &mut String, affine: &Affine) {
    let simple = matches!(affine, Affine::Dim(_) | Affine::Symbol(_) | Affine::Const(_));
    out.push_str(if simple { "" } else { "(" });
    write_affine(out, affine);
    out.push_str(if simple { "" } else { ")" });
}
