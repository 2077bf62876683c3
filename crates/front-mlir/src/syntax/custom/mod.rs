//! The custom forms of operations, one file for each dialect.
//!
//! Each parser reads what stands behind the operation's name and writes the generic form into the draft. The grammars
//! are those of MLIR 19; what later versions and the RFC of `gpu.subgroup_mma_rotate` add is said where it stands.

mod affine;
mod arith;
mod cf;
mod func;
mod gpu;
mod host;
mod memref;
mod mma;
mod scf;
mod vector;
mod vector_memory;

pub(crate) use arith::{default_flags, flags_attr};

use super::error::{Parsed, SyntaxError};
use super::operation::Draft;
use super::parser::Parser;
use super::scope::Use;
use crate::ast::{Attr, Block, Op, Pos, Region, Sign, Type};

/// Reads what stands behind an operation's name.
pub(crate) type Custom = for<'a> fn(&mut Parser<'a>, &mut Draft) -> Parsed<()>;

/// The name with its dialect: `module` and operations of functions may lack it.
pub(crate) fn full_name(name: &str) -> String {
    match name {
        "module" => "builtin.module".to_owned(),
        _ if !name.contains('.') => format!("func.{name}"),
        _ => name.to_owned(),
    }
}

/// What reads the custom form of an operation.
pub(crate) fn parser(name: &str) -> Option<Custom> {
    let (dialect, op) = name.split_once('.')?;
    match dialect {
        "builtin" | "func" | "ub" => func::parser(name),
        "gpu" if op.starts_with("subgroup_mma_") || op == "rotate" => mma::parser(op),
        "gpu" => gpu::parser(op).or_else(|| host::parser(op)),
        "arith" | "math" => arith::parser(name),
        "scf" => scf::parser(op),
        "cf" => cf::parser(op),
        "memref" => memref::parser(op),
        "vector" => vector::parser(op).or_else(|| vector_memory::parser(op)),
        "affine" => affine::parser(op),
        _ => None,
    }
}

impl<'a> Parser<'a> {
    /// The attribute dictionary behind what the form spells out.
    fn attr_tail(&mut self, draft: &mut Draft) -> Parsed<()> {
        self.optional_attr_dict(&mut draft.op.attrs)
    }

    /// `attributes {…}`, if it comes next.
    fn attributes(&mut self, draft: &mut Draft) -> Parsed<()> {
        if self.eat_word("attributes") { self.attr_dict(&mut draft.op.attrs) } else { Ok(()) }
    }

    fn comma_operand(&mut self) -> Parsed<Use<'a>> {
        self.expect(b',')?;
        self.operand()
    }

    /// `[%i, %j]`
    fn indices(&mut self) -> Parsed<Vec<Use<'a>>> {
        self.operands_in(b'[', b']')
    }

    /// `%a, %b : type, type`, or nothing.
    fn typed_operands(&mut self, draft: &mut Draft) -> Parsed<()> {
        if self.optional_use_next() {
            let operands = self.operands()?;
            self.expect(b':')?;
            let types = self.types()?;
            self.resolve_each(&operands, &types, draft)?;
        }
        Ok(())
    }

    fn optional_use_next(&self) -> bool {
        matches!(self.word.token, super::lexer::Token::Value(_))
    }

    /// `: (types) -> types`, of which the first are the operands'.
    fn functional(&mut self, operands: &[Use<'a>], draft: &mut Draft) -> Parsed<()> {
        self.expect(b':')?;
        let (inputs, results) = self.function_type()?;
        self.resolve_each(operands, &inputs, draft)?;
        draft.result_types = results;
        Ok(())
    }

    /// `%operand attributes : type to type`
    fn conversion(&mut self, draft: &mut Draft, word: &str) -> Parsed<()> {
        let operand = self.operand()?;
        self.attr_tail(draft)?;
        let from = self.colon_type()?;
        self.expect_word(word)?;
        draft.result_types.push(self.ty()?);
        self.resolve(operand, &from, draft)
    }

    /// A region that ends in an operation without operands, written or not.
    fn region_with(&mut self, entry: Vec<(Option<Use<'a>>, Type)>, terminator: &str) -> Parsed<Region> {
        let mut region = self.region(entry, false)?;
        terminate(&mut region, terminator, self.pos());
        Ok(region)
    }
}

/// Adds the terminator that the custom form leaves out.
pub(crate) fn terminate(region: &mut Region, name: &str, pos: Pos) {
    if region.blocks.is_empty() {
        region.blocks.push(Block::default());
    }
    let [block] = &mut region.blocks[..] else { return };
    if block.ops.last().is_none_or(|op| !ends_block(op)) {
        block.ops.push(Op {
            name: name.into(),
            pos,
            loc: None,
            operands: Vec::new(),
            results: Vec::new(),
            attrs: Vec::new(),
            regions: Vec::new(),
            successors: Vec::new(),
        });
    }
}

/// Whether an operation is a terminator.
pub(crate) fn ends_block(op: &Op) -> bool {
    matches!(
        &*op.name,
        "scf.yield"
            | "scf.reduce"
            | "scf.reduce.return"
            | "scf.condition"
            | "affine.yield"
            | "gpu.module_end"
            | "gpu.yield"
            | "gpu.terminator"
            | "gpu.return"
            | "func.return"
            | "vector.yield"
            | "cf.br"
            | "cf.cond_br"
            | "cf.switch"
    )
}

/// `iN`
fn int_type(width: u32) -> Type {
    Type::Int(width, Sign::None)
}

/// A number as an attribute.
fn int_attr(value: i128, ty: Type) -> Attr {
    Attr::Int(value, ty)
}

/// `array<i64: …>`
fn i64_array(values: &[i64]) -> Attr {
    let items = values.iter().map(|value| int_attr((*value).into(), int_type(64))).collect();
    Attr::DenseArray(int_type(64), items)
}

/// The type of a vector's elements, or the type itself.
fn element(ty: &Type) -> &Type {
    match ty {
        Type::Vector(_, elem) | Type::Tensor(_, elem) => elem,
        Type::MemRef(memref) => &memref.elem,
        ty => ty,
    }
}

/// The elements of a memref, which the type must be.
fn memref_element(ty: &Type, pos: Pos) -> Parsed<Type> {
    match ty {
        Type::MemRef(memref) => Ok(memref.elem.clone()),
        _ => Err(SyntaxError::unexpected(pos, "a type `memref<…>`", super::print::shown(ty))),
    }
}
