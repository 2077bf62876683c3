//! Types and constants.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{
    Capability, CooperativeMatrixUse, Decoration, FPEncoding, Op, Scope, StorageClass, Word,
};

use super::{Llvm, Printer};
use crate::error::{Error, Res};

/// The dialect's name of a capability.
pub(super) fn capability(capability: Capability) -> String {
    match capability {
        Capability::GroupNonUniformPartitionedEXT => "GroupNonUniformPartitionedNV".to_owned(),
        other => format!("{other:?}"),
    }
}

impl Printer<'_> {
    pub(super) fn ty(&self, id: Word) -> Res<String> {
        let inst = self.def(id)?;
        let literal = |at: usize| match inst.operands.get(at) {
            Some(Operand::LiteralBit32(number)) => Ok(*number),
            _ => Err(Error::bug("a type without its number")),
        };
        let stride = || {
            self.decorations(id).find_map(|(decoration, literal)| match (decoration, literal) {
                (Decoration::ArrayStride, Some(Operand::LiteralBit32(stride))) => {
                    Some(format!(", stride={stride}"))
                }
                _ => None,
            })
        };
        Ok(match inst.class.opcode {
            Op::TypeBool => "i1".to_owned(),
            Op::TypeInt => format!("i{}", literal(0)?),
            Op::TypeFloat => self.float(literal(0)?, inst)?,
            Op::TypeVector => format!("vector<{}x{}>", literal(1)?, self.ty(Self::operand(inst, 0)?)?),
            Op::TypeArray => {
                let (elem, len) = (self.ty(Self::operand(inst, 0)?)?, self.bits(Self::operand(inst, 1)?)?);
                format!("!spirv.array<{len} x {elem}{}>", stride().unwrap_or_default())
            }
            Op::TypeRuntimeArray => {
                let elem = self.ty(Self::operand(inst, 0)?)?;
                format!("!spirv.rtarray<{elem}{}>", stride().unwrap_or_default())
            }
            Op::TypeStruct => self.structure(id, inst)?,
            Op::TypePointer => {
                let class = match inst.operands.first() {
                    Some(Operand::StorageClass(class)) => *class,
                    _ => return Err(Error::bug("a pointer without a storage class")),
                };
                format!("!spirv.ptr<{}, {class:?}>", self.ty(Self::operand(inst, 1)?)?)
            }
            Op::TypeCooperativeMatrixKHR => {
                let number =
                    |at| Self::operand(inst, at).and_then(|id| self.bits(id)).map(|bits| bits as u32);
                let scope = Scope::from_u32(number(1)?).ok_or_else(|| Error::bug("no scope"))?;
                let use_ = match CooperativeMatrixUse::from_u32(number(4)?) {
                    Some(CooperativeMatrixUse::MatrixAKHR) => "MatrixA",
                    Some(CooperativeMatrixUse::MatrixBKHR) => "MatrixB",
                    _ => "MatrixAcc",
                };
                let elem = self.ty(Self::operand(inst, 0)?)?;
                format!("!spirv.coopmatrix<{}x{}x{elem}, {scope:?}, {use_}>", number(2)?, number(3)?)
            }
            other => return Err(Error::bug(format!("{other:?} is no type"))),
        })
    }

    fn float(&self, bits: u32, inst: &Instruction) -> Res<String> {
        let encoding = match inst.operands.get(1) {
            Some(Operand::FPEncoding(encoding)) => *encoding,
            _ => return Ok(format!("f{bits}")),
        };
        match encoding {
            FPEncoding::BFloat16KHR if self.version >= Llvm::V22 => Ok("bf16".to_owned()),
            other => Err(self.unsupported(format!("encoding {other:?}"))),
        }
    }

    fn structure(&self, id: Word, inst: &Instruction) -> Res<String> {
        let member = |at: usize| {
            let mut said = Vec::new();
            for inst in &self.module.annotations {
                match inst.operands.as_slice() {
                    [
                        Operand::IdRef(target),
                        Operand::LiteralBit32(member),
                        Operand::Decoration(decoration),
                        rest @ ..,
                    ] if *target == id && *member as usize == at => match (decoration, rest) {
                        (Decoration::Offset, [Operand::LiteralBit32(offset)]) => {
                            said.insert(0, offset.to_string())
                        }
                        (other, _) => said.push(format!("{other:?}")),
                    },
                    _ => {}
                }
            }
            if said.is_empty() { String::new() } else { format!(" [{}]", said.join(", ")) }
        };
        let types: Vec<String> = (0..inst.operands.len())
            .map(|at| Ok(self.ty(Self::operand(inst, at)?)? + &member(at)))
            .collect::<Res<_>>()?;
        // Earlier versions know which structures are blocks by where they are.
        let is_block = self.decorations(id).any(|(decoration, _)| decoration == Decoration::Block);
        let block = if is_block && self.version >= Llvm::V22 { ", Block" } else { "" };
        Ok(format!("!spirv.struct<({}){block}>", types.join(", ")))
    }

    /// The storage class of the pointer that a value is.
    pub(super) fn class(&self, pointer: Word) -> Res<StorageClass> {
        let ty = self.def(pointer)?.result_type.ok_or_else(|| Error::bug("a pointer without a type"))?;
        match self.def(ty)?.operands.first() {
            Some(Operand::StorageClass(class)) => Ok(*class),
            _ => Err(Error::bug("no pointer")),
        }
    }

    /// A constant and its type.
    pub(super) fn constant(&self, inst: &Instruction) -> Res<String> {
        let ty = inst.result_type.ok_or_else(|| Error::bug("a constant without a type"))?;
        let text = self.ty(ty)?;
        Ok(match inst.class.opcode {
            Op::ConstantTrue => "true".to_owned(),
            Op::ConstantFalse => "false".to_owned(),
            Op::Constant => format!("{} : {text}", self.number(inst, ty)?),
            Op::ConstantComposite => {
                let part = |at| self.constant(self.def(Self::operand(inst, at)?)?);
                let parts: Vec<String> = (0..inst.operands.len()).map(part).collect::<Res<_>>()?;
                format!("[{}] : {text}", parts.join(", "))
            }
            other => return Err(Error::bug(format!("{other:?} is no constant"))),
        })
    }

    fn number(&self, inst: &Instruction, ty: Word) -> Res<String> {
        let (ty, id) = (self.def(ty)?, inst.result_id.unwrap_or_default());
        let bits = self.bits(id)?;
        let Some(Operand::LiteralBit32(width)) = ty.operands.first() else {
            return Err(Error::bug("a number without a width"));
        };
        if ty.class.opcode == Op::TypeInt {
            let shift = 64 - width;
            return Ok((((bits << shift) as i64) >> shift).to_string());
        }
        let value = match width {
            32 => Some(f64::from(f32::from_bits(bits as u32))),
            64 => Some(f64::from_bits(bits)),
            _ => None,
        };
        match value {
            // As many digits as tell a number from its neighbours.
            Some(value) if value.is_finite() => {
                let text = if *width == 32 { format!("{:e}", value as f32) } else { format!("{value:e}") };
                let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                let point = if digits.contains('.') { "" } else { ".0" };
                Ok(format!("{digits}{point}e{exponent}"))
            }
            _ => Ok(format!("0x{bits:0digits$X}", digits = *width as usize / 4)),
        }
    }
}
