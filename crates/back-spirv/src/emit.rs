//! A SPIR-V module in the making: ids, types and constants that exist once, capabilities that what is used asks for,
//! and the blocks of its one function.
//!
//! Instructions are made from their opcode and operands alone, because the lowering chooses most opcodes from tables.

use phalanx_ir::{BinaryOp, MatType, Scalar, Scope, Use, eval};
use rspirv::dr::{Block, Instruction, Operand};
use rspirv::spirv::{self, Capability, GlslStd450Op as GlOp, MemoryAccess, Op, StorageClass, Word};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

use crate::error::{Error, Res};

/// A module in the making.
#[derive(Debug, Default)]
pub(crate) struct Emit {
    last_id: Word,
    pub(crate) capabilities: BTreeSet<u32>,
    pub(crate) extensions: BTreeSet<&'static str>,
    pub(crate) annotations: Vec<Instruction>,
    pub(crate) names: Vec<Instruction>,
    /// Types, constants and global variables, in an order in which each stands behind what it uses.
    pub(crate) globals: Vec<Instruction>,
    /// The variables of the function.
    pub(crate) locals: Vec<Instruction>,
    pub(crate) blocks: Vec<Block>,
    /// *GLSL.std.450*, once something of it is used.
    pub(crate) glsl: Option<Word>,
    /// *NonSemantic.DebugPrintf*, once something is printed, and what is.
    pub(crate) printf: Option<Word>,
    pub(crate) strings: Vec<Instruction>,
    unique: FxHashMap<(Op, Option<Word>, Vec<Operand>), Word>,
    /// The bits of integers that are constants.
    known: FxHashMap<Word, u64>,
}

/// An operand that is an id.
pub(crate) const fn id(word: Word) -> Operand {
    Operand::IdRef(word)
}

impl Emit {
    pub(crate) fn fresh(&mut self) -> Word {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn last_id(&self) -> Word {
        self.last_id
    }

    pub(crate) fn needs(&mut self, capability: Capability) {
        self.capabilities.insert(capability as u32);
        let extension = match capability {
            Capability::CooperativeMatrixKHR => "SPV_KHR_cooperative_matrix",
            Capability::GroupNonUniformRotateKHR => "SPV_KHR_subgroup_rotate",
            Capability::WorkgroupMemoryExplicitLayoutKHR => "SPV_KHR_workgroup_memory_explicit_layout",
            Capability::AtomicFloat16AddEXT => "SPV_EXT_shader_atomic_float16_add",
            Capability::AtomicFloat32AddEXT | Capability::AtomicFloat64AddEXT => {
                "SPV_EXT_shader_atomic_float_add"
            }
            Capability::AtomicFloat16MinMaxEXT
            | Capability::AtomicFloat32MinMaxEXT
            | Capability::AtomicFloat64MinMaxEXT => "SPV_EXT_shader_atomic_float_min_max",
            Capability::BFloat16TypeKHR | Capability::BFloat16CooperativeMatrixKHR => "SPV_KHR_bfloat16",
            Capability::Float8EXT | Capability::Float8CooperativeMatrixEXT => "SPV_EXT_float8",
            Capability::GroupNonUniformPartitionedEXT => "SPV_NV_shader_subgroup_partitioned",
            _ => return,
        };
        self.extensions.insert(extension);
    }

    // ── what stands outside of functions ──

    /// A type or constant, which exists once.
    fn unique(&mut self, op: Op, ty: Option<Word>, operands: Vec<Operand>) -> Word {
        let key = (op, ty, operands);
        if let Some(&known) = self.unique.get(&key) {
            return known;
        }
        let result = self.fresh();
        self.globals.push(Instruction::new(op, ty, Some(result), key.2.clone()));
        self.unique.insert(key, result);
        result
    }

    pub(crate) fn ty(&mut self, op: Op, operands: Vec<Operand>) -> Word {
        self.unique(op, None, operands)
    }

    /// A type that is not the same as another one with these members, because it is decorated.
    pub(crate) fn own_type(&mut self, op: Op, operands: Vec<Operand>) -> Word {
        let result = self.fresh();
        self.globals.push(Instruction::new(op, None, Some(result), operands));
        result
    }

    pub(crate) fn scalar(&mut self, s: Scalar) -> Word {
        let (int, float) = (|bits| (Op::TypeInt, bits), |bits| (Op::TypeFloat, bits));
        let ((op, bits), capability, encoding) = match s {
            Scalar::Bool => return self.ty(Op::TypeBool, vec![]),
            Scalar::I8 => (int(8), Some(Capability::Int8), None),
            Scalar::I16 => (int(16), Some(Capability::Int16), None),
            Scalar::I32 => (int(32), None, None),
            Scalar::I64 => (int(64), Some(Capability::Int64), None),
            Scalar::F16 => (float(16), Some(Capability::Float16), None),
            Scalar::F32 => (float(32), None, None),
            Scalar::F64 => (float(64), Some(Capability::Float64), None),
            Scalar::BF16 => {
                (float(16), Some(Capability::BFloat16TypeKHR), Some(spirv::FPEncoding::BFloat16KHR))
            }
            Scalar::E4M3 => (float(8), Some(Capability::Float8EXT), Some(spirv::FPEncoding::Float8E4M3EXT)),
            Scalar::E5M2 => (float(8), Some(Capability::Float8EXT), Some(spirv::FPEncoding::Float8E5M2EXT)),
        };
        capability.into_iter().for_each(|capability| self.needs(capability));
        let mut operands = vec![Operand::LiteralBit32(bits)];
        match op {
            Op::TypeInt => operands.push(Operand::LiteralBit32(0)),
            _ => operands.extend(encoding.map(Operand::FPEncoding)),
        }
        self.ty(op, operands)
    }

    pub(crate) fn bool(&mut self) -> Word {
        self.scalar(Scalar::Bool)
    }

    pub(crate) fn u32(&mut self) -> Word {
        self.scalar(Scalar::I32)
    }

    pub(crate) fn vector(&mut self, s: Scalar, n: u32) -> Word {
        let elem = self.scalar(s);
        self.ty(Op::TypeVector, vec![id(elem), Operand::LiteralBit32(n)])
    }

    pub(crate) fn array(&mut self, elem: Word, len: u32) -> Word {
        let len = self.int(len);
        self.ty(Op::TypeArray, vec![id(elem), id(len)])
    }

    pub(crate) fn pointer(&mut self, class: StorageClass, to: Word) -> Word {
        self.ty(Op::TypePointer, vec![Operand::StorageClass(class), id(to)])
    }

    pub(crate) fn matrix(&mut self, m: MatType) -> Res<Word> {
        self.needs(Capability::CooperativeMatrixKHR);
        match m.elem {
            Scalar::BF16 => self.needs(Capability::BFloat16CooperativeMatrixKHR),
            Scalar::E4M3 | Scalar::E5M2 => self.needs(Capability::Float8CooperativeMatrixEXT),
            _ => {}
        }
        let use_ = match m.use_ {
            Use::A => spirv::CooperativeMatrixUse::MatrixAKHR,
            Use::B => spirv::CooperativeMatrixUse::MatrixBKHR,
            Use::Accumulator => spirv::CooperativeMatrixUse::MatrixAccumulatorKHR,
            Use::Any => return Err(Error::unsupported(format!("the matrix {m} without a use"))),
        };
        if m.scope != Scope::Subgroup {
            return Err(Error::unsupported(format!("the matrix {m}, which is not of a subgroup")));
        }
        let elem = self.scalar(m.elem);
        let scope = self.int(spirv::Scope::Subgroup as u32);
        let (rows, cols) = (self.int(m.rows), self.int(m.cols));
        let use_ = self.int(use_ as u32);
        Ok(self.ty(Op::TypeCooperativeMatrixKHR, vec![id(elem), id(scope), id(rows), id(cols), id(use_)]))
    }

    /// A constant of a scalar type, by its bits.
    pub(crate) fn constant(&mut self, s: Scalar, bits: u64) -> Word {
        let bits = bits & s.mask();
        let ty = self.scalar(s);
        let result = match s {
            Scalar::Bool if bits != 0 => self.unique(Op::ConstantTrue, Some(ty), vec![]),
            Scalar::Bool => self.unique(Op::ConstantFalse, Some(ty), vec![]),
            Scalar::I64 | Scalar::F64 => {
                self.unique(Op::Constant, Some(ty), vec![Operand::LiteralBit64(bits)])
            }
            _ => self.unique(Op::Constant, Some(ty), vec![Operand::LiteralBit32(bits as u32)]),
        };
        self.known.insert(result, bits);
        result
    }

    /// A constant of 32 bits.
    pub(crate) fn int(&mut self, value: u32) -> Word {
        self.constant(Scalar::I32, value.into())
    }

    pub(crate) fn composite(&mut self, ty: Word, parts: &[Word]) -> Word {
        self.unique(Op::ConstantComposite, Some(ty), parts.iter().map(|&part| id(part)).collect())
    }

    /// The bits of a constant.
    pub(crate) fn bits(&self, value: Word) -> Option<u64> {
        self.known.get(&value).copied()
    }

    pub(crate) fn decorate(&mut self, target: Word, decoration: spirv::Decoration, literals: &[Operand]) {
        let mut operands = vec![id(target), Operand::Decoration(decoration)];
        operands.extend_from_slice(literals);
        self.annotations.push(Instruction::new(Op::Decorate, None, None, operands));
    }

    pub(crate) fn decorate_member(
        &mut self,
        target: Word,
        member: u32,
        decoration: spirv::Decoration,
        literal: Option<u32>,
    ) {
        let mut operands = vec![id(target), Operand::LiteralBit32(member), Operand::Decoration(decoration)];
        operands.extend(literal.map(Operand::LiteralBit32));
        self.annotations.push(Instruction::new(Op::MemberDecorate, None, None, operands));
    }

    pub(crate) fn name(&mut self, target: Word, name: &str) {
        // A string ends with a zero.
        let name: String = name.chars().filter(|&c| c != '\0').collect();
        if !name.is_empty() {
            let operands = vec![id(target), Operand::LiteralString(name)];
            self.names.push(Instruction::new(Op::Name, None, None, operands));
        }
    }

    pub(crate) fn string(&mut self, text: &str) -> Word {
        let result = self.fresh();
        let text = text.chars().filter(|&c| c != '\0').collect();
        self.strings.push(Instruction::new(
            Op::String,
            None,
            Some(result),
            vec![Operand::LiteralString(text)],
        ));
        result
    }

    /// A variable of the function.
    pub(crate) fn local(&mut self, ty: Word, initial: Option<Word>, name: &str) -> Word {
        let pointer = self.pointer(StorageClass::Function, ty);
        let result = self.fresh();
        let mut operands = vec![Operand::StorageClass(StorageClass::Function)];
        operands.extend(initial.map(id));
        self.locals.push(Instruction::new(Op::Variable, Some(pointer), Some(result), operands));
        self.name(result, name);
        result
    }

    // ── the function ──

    /// Begins a block.
    pub(crate) fn begin(&mut self, label: Word) {
        let label = Instruction::new(Op::Label, None, Some(label), vec![]);
        self.blocks.push(Block { label: Some(label), instructions: vec![] });
    }

    fn push(&mut self, instruction: Instruction) {
        if let Some(block) = self.blocks.last_mut() {
            block.instructions.push(instruction);
        }
    }

    /// An instruction without a result.
    pub(crate) fn effect(&mut self, op: Op, operands: Vec<Operand>) {
        self.push(Instruction::new(op, None, None, operands));
    }

    /// An instruction with a result.
    pub(crate) fn result(&mut self, op: Op, ty: Word, operands: Vec<Operand>) -> Word {
        let result = self.fresh();
        self.push(Instruction::new(op, Some(ty), Some(result), operands));
        result
    }

    /// An instruction on ids.
    pub(crate) fn value(&mut self, op: Op, ty: Word, args: &[Word]) -> Word {
        self.result(op, ty, args.iter().map(|&arg| id(arg)).collect())
    }

    /// A function of *GLSL.std.450*.
    pub(crate) fn glsl(&mut self, op: GlOp, ty: Word, args: &[Word]) -> Word {
        let set = match self.glsl {
            Some(set) => set,
            None => *self.glsl.insert({
                self.last_id += 1;
                self.last_id
            }),
        };
        let mut operands = vec![id(set), Operand::LiteralExtInstInteger(op as u32)];
        operands.extend(args.iter().map(|&arg| id(arg)));
        self.result(Op::ExtInst, ty, operands)
    }

    /// Prints.
    pub(crate) fn debug_printf(&mut self, format: Word, args: &[Word]) {
        self.extensions.insert("SPV_KHR_non_semantic_info");
        let set = match self.printf {
            Some(set) => set,
            None => {
                let set = self.fresh();
                *self.printf.insert(set)
            }
        };
        let void = self.ty(Op::TypeVoid, vec![]);
        let number = spirv::NonsemanticDebugprintfOp::DebugPrintf as u32;
        let mut operands = vec![id(set), Operand::LiteralExtInstInteger(number), id(format)];
        operands.extend(args.iter().map(|&arg| id(arg)));
        self.result(Op::ExtInst, void, operands);
    }

    pub(crate) fn branch(&mut self, to: Word) {
        self.effect(Op::Branch, vec![id(to)]);
    }

    pub(crate) fn load(&mut self, ty: Word, pointer: Word, access: MemoryAccess) -> Word {
        let mut operands = vec![id(pointer)];
        if !access.is_empty() {
            operands.push(Operand::MemoryAccess(access));
        }
        self.result(Op::Load, ty, operands)
    }

    pub(crate) fn store(&mut self, pointer: Word, value: Word, access: MemoryAccess) {
        let mut operands = vec![id(pointer), id(value)];
        if !access.is_empty() {
            operands.push(Operand::MemoryAccess(access));
        }
        self.effect(Op::Store, operands);
    }

    // ── integers that the lowering itself computes with ──

    /// An operation on integers, with what follows from constants left out.
    pub(crate) fn integer(&mut self, op: BinaryOp, s: Scalar, x: Word, y: Word) -> Word {
        let (a, b) = (self.bits(x), self.bits(y));
        if let (Some(a), Some(b)) = (a, b) {
            return self.constant(s, eval::binary(op, s, a, b));
        }
        let keeps = match op {
            BinaryOp::Iadd | BinaryOp::Isub | BinaryOp::Shl | BinaryOp::Lshr | BinaryOp::Ashr => b == Some(0),
            BinaryOp::Imul => b == Some(1),
            _ => false,
        };
        if keeps {
            return x;
        }
        match op {
            BinaryOp::Iadd if a == Some(0) => return y,
            BinaryOp::Imul if a == Some(1) => return y,
            _ => {}
        }
        let opcode = match op {
            BinaryOp::Iadd => Op::IAdd,
            BinaryOp::Isub => Op::ISub,
            BinaryOp::Imul => Op::IMul,
            BinaryOp::And => Op::BitwiseAnd,
            BinaryOp::Or => Op::BitwiseOr,
            BinaryOp::Shl => Op::ShiftLeftLogical,
            BinaryOp::Lshr => Op::ShiftRightLogical,
            BinaryOp::Ashr => Op::ShiftRightArithmetic,
            _ => Op::BitwiseXor,
        };
        let ty = self.scalar(s);
        self.value(opcode, ty, &[x, y])
    }

    /// The same on 32 bits with a constant.
    pub(crate) fn integer_with(&mut self, op: BinaryOp, x: Word, y: u32) -> Word {
        let y = self.int(y);
        self.integer(op, Scalar::I32, x, y)
    }

    /// One of two values; no instruction where the condition is a constant or they are the same.
    pub(crate) fn select(&mut self, ty: Word, condition: Word, x: Word, y: Word) -> Word {
        match self.bits(condition) {
            Some(bits) => return if bits != 0 { x } else { y },
            None if x == y => return x,
            None => {}
        }
        self.value(Op::Select, ty, &[condition, x, y])
    }
}
