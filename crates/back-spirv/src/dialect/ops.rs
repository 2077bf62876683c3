//! Operations.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{
    CooperativeMatrixLayout, CooperativeMatrixOperands, Decoration, GlslStd450Op as GlOp, MemoryAccess,
    MemorySemantics, Op, Scope, Word,
};

use super::{Llvm, Printer};
use crate::error::{Error, Res};

/// Operands that are constants in SPIR-V and attributes in the dialect: scopes and semantics, layouts.
pub(super) fn attribute_operands(inst: &Instruction) -> &'static [usize] {
    match inst.class.opcode {
        Op::AtomicCompareExchange => &[1, 2, 3],
        op if is_atomic(op) => &[1, 2],
        Op::CooperativeMatrixLoadKHR => &[1],
        Op::CooperativeMatrixStoreKHR => &[2],
        _ => &[],
    }
}

fn is_atomic(op: Op) -> bool {
    matches!(
        op,
        Op::AtomicLoad
            | Op::AtomicStore
            | Op::AtomicExchange
            | Op::AtomicCompareExchange
            | Op::AtomicIAdd
            | Op::AtomicISub
            | Op::AtomicSMin
            | Op::AtomicSMax
            | Op::AtomicUMin
            | Op::AtomicUMax
            | Op::AtomicAnd
            | Op::AtomicOr
            | Op::AtomicXor
            | Op::AtomicFAddEXT
            | Op::AtomicFMinEXT
            | Op::AtomicFMaxEXT
    )
}

impl Printer<'_> {
    /// The type of a value.
    fn type_of(&self, value: Word) -> Res<String> {
        let ty = self.def(value)?.result_type.ok_or_else(|| Error::bug("a value without a type"))?;
        self.ty(ty)
    }

    pub(super) fn instruction(&mut self, inst: &Instruction) -> Res<()> {
        let text = self.operation(inst)?;
        match inst.result_id {
            Some(id) => self.line(format!("%{id} = {text}")),
            None => self.line(text),
        }
        Ok(())
    }

    /// An operation in its own syntax, without its result.
    fn operation(&self, inst: &Instruction) -> Res<String> {
        let op = inst.class.opcode;
        let name = format!("spirv.{op:?}");
        let id = |at| Self::operand(inst, at);
        let ty = |at| self.type_of(id(at)?);
        let result = || inst.result_type.map_or(Ok(String::new()), |ty| self.ty(ty));
        Ok(match op {
            Op::Return => "spirv.Return".to_owned(),
            Op::Branch => format!("{name} ^bb{}", id(0)?),
            Op::BranchConditional => format!("{name} %{}, ^bb{}, ^bb{}", id(0)?, id(1)?, id(2)?),
            Op::Variable => match inst.operands.get(1) {
                Some(Operand::IdRef(initial)) => format!("{name} init(%{initial}) : {}", result()?),
                _ => format!("{name} : {}", result()?),
            },
            Op::Load => {
                let (class, access) = (self.class(id(0)?)?, self.access(inst, 1, ["[\"", "\"]"]));
                format!("{name} \"{class:?}\" %{}{access} : {}", id(0)?, result()?)
            }
            Op::Store => {
                let (class, access) = (self.class(id(0)?)?, self.access(inst, 2, ["[\"", "\"]"]));
                format!("{name} \"{class:?}\" %{}, %{}{access} : {}", id(0)?, id(1)?, ty(1)?)
            }
            Op::AccessChain => self.chain(inst)?,
            Op::CompositeExtract => {
                let index = self.index(inst, 1)?;
                format!("{name} %{}[{index} : i32] : {}", id(0)?, ty(0)?)
            }
            Op::CompositeInsert => {
                let index = self.index(inst, 2)?;
                format!("{name} %{}, %{}[{index} : i32] : {} into {}", id(0)?, id(1)?, ty(0)?, ty(1)?)
            }
            Op::CompositeConstruct => {
                format!("{name} {} : ({}) -> {}", self.list(inst, 0)?, self.types(inst, 0)?, result()?)
            }
            Op::Select => format!("{name} {} : i1, {}", self.list(inst, 0)?, ty(1)?),
            Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
                format!("{name} {} : {}, {}", self.list(inst, 0)?, ty(0)?, ty(1)?)
            }
            Op::SMulExtended | Op::UMulExtended => format!("{name} {} : {}", self.list(inst, 0)?, result()?),
            Op::MatrixTimesScalar => {
                if !ty(1)?.starts_with('f') {
                    return Err(self.unsupported("`OpMatrixTimesScalar` of integers"));
                }
                self.generic(&name, inst, 0, "")?
            }
            Op::ExtInst => self.glsl(inst)?,
            Op::ControlBarrier => {
                let (execution, memory) = (self.scope(id(0)?)?, self.scope(id(1)?)?);
                format!("{name} <{execution}>, <{memory}>, <{}>", self.semantics(id(2)?)?)
            }
            Op::MemoryBarrier => format!("{name} <{}>, <{}>", self.scope(id(0)?)?, self.semantics(id(1)?)?),
            Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixStoreKHR | Op::CooperativeMatrixMulAddKHR => {
                self.matrix(inst)?
            }
            _ if matches!(inst.operands.first(), Some(Operand::IdScope(_))) => self.group(inst)?,
            _ if is_atomic(op) => self.atomic(inst)?,
            Op::SConvert
            | Op::UConvert
            | Op::FConvert
            | Op::ConvertSToF
            | Op::ConvertUToF
            | Op::ConvertFToS
            | Op::ConvertFToU
            | Op::Bitcast => {
                let (from, to) = (ty(0)?, result()?);
                if op == Op::Bitcast && from.contains("coopmatrix") {
                    return Err(self.unsupported("`OpBitcast` of matrices"));
                }
                let is_half = |ty: &str| ["f16", "bf16"].contains(&ty);
                if op == Op::FConvert && is_half(&from) && is_half(&to) {
                    return Err(self.unsupported("`OpFConvert` between types of one width"));
                }
                format!("{name} %{} : {from} to {to}", id(0)?)
            }
            _ if is_plain(op) => {
                let flags = self.no_contraction(inst);
                format!("{name} {}{flags} : {}", self.list(inst, 0)?, ty(0)?)
            }
            other => return Err(self.unsupported(format!("`Op{other:?}`"))),
        })
    }

    fn no_contraction(&self, inst: &Instruction) -> &'static str {
        let id = inst.result_id.unwrap_or_default();
        if self.decorations(id).any(|(decoration, _)| decoration == Decoration::NoContraction) {
            " {no_contraction}"
        } else {
            ""
        }
    }

    fn index(&self, inst: &Instruction, at: usize) -> Res<u32> {
        match inst.operands.get(at) {
            Some(Operand::LiteralBit32(index)) => Ok(*index),
            _ => Err(Error::bug("no index")),
        }
    }

    /// The operands that are values, from one on, but for those that are attributes.
    fn values(&self, inst: &Instruction, from: usize) -> Vec<Word> {
        let attributes = attribute_operands(inst);
        let values = inst.operands.iter().enumerate().skip(from).filter(|(at, _)| !attributes.contains(at));
        let id = |(_, operand): (usize, &Operand)| match operand {
            Operand::IdRef(id) => Some(*id),
            _ => None,
        };
        values.filter_map(id).collect()
    }

    fn list(&self, inst: &Instruction, from: usize) -> Res<String> {
        let values = self.values(inst, from);
        Ok(values.iter().map(|id| format!("%{id}")).collect::<Vec<_>>().join(", "))
    }

    fn types(&self, inst: &Instruction, from: usize) -> Res<String> {
        let types: Vec<String> =
            self.values(inst, from).into_iter().map(|id| self.type_of(id)).collect::<Res<_>>()?;
        Ok(types.join(", "))
    }

    /// An operation in the generic form, which is the same in all versions.
    fn generic(&self, name: &str, inst: &Instruction, from: usize, attributes: &str) -> Res<String> {
        let result = inst.result_type.map_or(Ok("()".to_owned()), |ty| self.ty(ty))?;
        let (values, types) = (self.list(inst, from)?, self.types(inst, from)?);
        let attributes = if attributes.is_empty() { String::new() } else { format!(" <{{{attributes}}}>") };
        Ok(format!("\"{name}\"({values}){attributes} : ({types}) -> {result}"))
    }

    fn chain(&self, inst: &Instruction) -> Res<String> {
        let (base, indices) = (Self::operand(inst, 0)?, self.list(inst, 1)?);
        let mut types = vec![self.type_of(base)?];
        types.push(self.types(inst, 1)?);
        let result = match (self.version, inst.result_type) {
            (Llvm::V22, Some(ty)) => format!(" -> {}", self.ty(ty)?),
            _ => String::new(),
        };
        Ok(format!("spirv.AccessChain %{base}[{indices}] : {}{result}", types.join(", ")))
    }

    /// What the memory operand at a place says, in brackets.
    fn access(&self, inst: &Instruction, at: usize, [open, close]: [&str; 2]) -> String {
        match inst.operands.get(at) {
            Some(Operand::MemoryAccess(access)) => format!(" {open}{}{close}", access_names(*access)),
            _ => String::new(),
        }
    }

    fn scope(&self, id: Word) -> Res<String> {
        let scope = Scope::from_u32(self.bits(id)? as u32).ok_or_else(|| Error::bug("no scope"))?;
        Ok(format!("{scope:?}"))
    }

    fn semantics(&self, id: Word) -> Res<String> {
        let found = MemorySemantics::from_bits_truncate(self.bits(id)? as u32);
        let names = [
            (MemorySemantics::ACQUIRE, "Acquire"),
            (MemorySemantics::RELEASE, "Release"),
            (MemorySemantics::ACQUIRE_RELEASE, "AcquireRelease"),
            (MemorySemantics::UNIFORM_MEMORY, "UniformMemory"),
            (MemorySemantics::WORKGROUP_MEMORY, "WorkgroupMemory"),
            (MemorySemantics::MAKE_AVAILABLE, "MakeAvailable"),
            (MemorySemantics::MAKE_VISIBLE, "MakeVisible"),
        ];
        let names: Vec<&str> =
            names.iter().filter(|(bit, _)| found.contains(*bit)).map(|(_, name)| *name).collect();
        Ok(if names.is_empty() { "None".to_owned() } else { names.join("|") })
    }

    // ── families ──

    fn matrix(&self, inst: &Instruction) -> Res<String> {
        let id = |at| Self::operand(inst, at);
        let ty = |at| self.type_of(id(at)?);
        let result = || inst.result_type.map_or(Ok(String::new()), |ty| self.ty(ty));
        let layout = |at| {
            let layout = CooperativeMatrixLayout::from_u32(self.bits(id(at)?)? as u32);
            let is_columns = layout == Some(CooperativeMatrixLayout::ColumnMajorKHR);
            Ok::<_, Error>(if is_columns { "ColumnMajor" } else { "RowMajor" })
        };
        Ok(match inst.class.opcode {
            Op::CooperativeMatrixLoadKHR => {
                let access = self.access(inst, 3, ["<", ">"]).replacen(' ', ", ", 1);
                format!(
                    "spirv.KHR.CooperativeMatrixLoad %{}, %{}, <{}>{access} : {}, {} -> {}",
                    id(0)?,
                    id(2)?,
                    layout(1)?,
                    ty(0)?,
                    ty(2)?,
                    result()?
                )
            }
            Op::CooperativeMatrixStoreKHR => {
                let access = self.access(inst, 4, ["<", ">"]).replacen(' ', ", ", 1);
                format!(
                    "spirv.KHR.CooperativeMatrixStore %{}, %{}, %{}, <{}>{access} : {}, {}, {}",
                    id(0)?,
                    id(1)?,
                    id(3)?,
                    layout(2)?,
                    ty(0)?,
                    ty(1)?,
                    ty(3)?
                )
            }
            _ => {
                let signs = match inst.operands.get(3) {
                    Some(Operand::CooperativeMatrixOperands(signs)) => format!(", <{}>", sign_names(*signs)),
                    _ => String::new(),
                };
                let (list, a, b) = (self.list(inst, 0)?, ty(0)?, ty(1)?);
                if ty(2)? != result()? {
                    return Err(
                        self.unsupported("multiply-adds whose addend is of another type than the result")
                    );
                }
                format!("spirv.KHR.CooperativeMatrixMulAdd {list}{signs} : {a}, {b} -> {}", result()?)
            }
        })
    }

    /// An operation between the invocations of a subgroup.
    fn group(&self, inst: &Instruction) -> Res<String> {
        let op = inst.class.opcode;
        let scope = self.scope(Self::operand(inst, 0)?)?;
        let (old, new) = match op {
            Op::GroupNonUniformRotateKHR => {
                // The RFC's own words.
                if self.version < Llvm::V22 {
                    return Err(self.unsupported(format!("`Op{op:?}`")));
                }
                let values = self.values(inst, 1);
                let cluster = values.get(2).map_or(String::new(), |id| format!(", cluster_size(%{id})"));
                let types: Vec<String> = values.iter().map(|&id| self.type_of(id)).collect::<Res<_>>()?;
                let result = types.first().cloned().unwrap_or_default();
                return Ok(format!(
                    "spirv.{op:?} <{scope}> %{}, %{}{cluster} : {} -> {result}",
                    values[0],
                    values[1],
                    types.join(", ")
                ));
            }
            Op::GroupNonUniformAll | Op::GroupNonUniformAny | Op::GroupNonUniformAllEqual => (false, true),
            Op::GroupNonUniformBroadcastFirst | Op::GroupNonUniformPartitionEXT => (false, false),
            _ => (true, true),
        };
        if !(if self.version == Llvm::V19 { old } else { new }) {
            return Err(self.unsupported(format!("`Op{op:?}`")));
        }
        let mut attributes = format!("execution_scope = #spirv.scope<{scope}>");
        if let Some(Operand::GroupOperation(how)) = inst.operands.get(1) {
            let how = format!("{how:?}");
            if how.starts_with("Partitioned") {
                return Err(self.unsupported(format!("group operation {how}")));
            }
            attributes += &format!(", group_operation = #spirv.group_operation<{how}>");
        }
        self.generic(&format!("spirv.{op:?}"), inst, 1, &attributes)
    }

    fn atomic(&self, inst: &Instruction) -> Res<String> {
        let op = inst.class.opcode;
        let name = match op {
            Op::AtomicFAddEXT => "spirv.EXT.AtomicFAdd".to_owned(),
            Op::AtomicLoad | Op::AtomicStore | Op::AtomicFMinEXT | Op::AtomicFMaxEXT => {
                return Err(self.unsupported(format!("`Op{op:?}`")));
            }
            _ => format!("spirv.{op:?}"),
        };
        let (scope, semantics) =
            (self.scope(Self::operand(inst, 1)?)?, self.semantics(Self::operand(inst, 2)?)?);
        let semantics = format!("#spirv.memory_semantics<{semantics}>");
        let attributes = if op == Op::AtomicCompareExchange {
            format!(
                "memory_scope = #spirv.scope<{scope}>, equal_semantics = {semantics}, unequal_semantics = {semantics}"
            )
        } else {
            format!("memory_scope = #spirv.scope<{scope}>, semantics = {semantics}")
        };
        self.generic(&name, inst, 0, &attributes)
    }

    /// A function of *GLSL.std.450*.
    fn glsl(&self, inst: &Instruction) -> Res<String> {
        let set = Self::operand(inst, 0)?;
        let names = self.def(set)?.operands.first();
        if !matches!(names, Some(Operand::LiteralString(name)) if name == "GLSL.std.450") {
            return Err(self.unsupported("`DebugPrintf`"));
        }
        let function = match inst.operands.get(1) {
            Some(Operand::LiteralExtInstInteger(number)) => GlOp::from_u32(*number),
            _ => None,
        };
        let function = function.ok_or_else(|| Error::bug("no function of GLSL.std.450"))?;
        let (old, new) = match function {
            GlOp::Trunc | GlOp::Atan2 => (false, false),
            GlOp::Fract
            | GlOp::Asinh
            | GlOp::Acosh
            | GlOp::Atanh
            | GlOp::Exp2
            | GlOp::Log2
            | GlOp::FindILsb => (false, true),
            _ => (true, true),
        };
        if !(if self.version == Llvm::V19 { old } else { new }) {
            return Err(self.unsupported(format!("`{function:?}` of GLSL.std.450")));
        }
        let values = self.values(inst, 2);
        let list = values.iter().map(|id| format!("%{id}")).collect::<Vec<_>>().join(", ");
        let ty = inst.result_type.map_or(Ok(String::new()), |ty| self.ty(ty))?;
        if let (GlOp::Ldexp, [x, n]) = (function, values.as_slice()) {
            return Ok(format!("spirv.GL.Ldexp %{x} : {ty}, %{n} : {} -> {ty}", self.type_of(*n)?));
        }
        Ok(format!("spirv.GL.{function:?} {list} : {ty}"))
    }
}

/// Whether an operation is written as its operands and the type of the first.
fn is_plain(op: Op) -> bool {
    matches!(
        op,
        Op::IAdd
            | Op::ISub
            | Op::IMul
            | Op::SDiv
            | Op::UDiv
            | Op::SRem
            | Op::SMod
            | Op::UMod
            | Op::FAdd
            | Op::FSub
            | Op::FMul
            | Op::FDiv
            | Op::FRem
            | Op::FMod
            | Op::SNegate
            | Op::FNegate
            | Op::Not
            | Op::BitReverse
            | Op::BitCount
            | Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::BitwiseXor
            | Op::LogicalAnd
            | Op::LogicalOr
            | Op::LogicalNot
            | Op::LogicalEqual
            | Op::LogicalNotEqual
            | Op::IEqual
            | Op::INotEqual
            | Op::SLessThan
            | Op::SLessThanEqual
            | Op::SGreaterThanEqual
            | Op::ULessThan
            | Op::ULessThanEqual
            | Op::FOrdEqual
            | Op::FOrdNotEqual
            | Op::FOrdLessThan
            | Op::FOrdLessThanEqual
            | Op::FOrdGreaterThan
            | Op::FUnordEqual
            | Op::FUnordNotEqual
            | Op::FUnordLessThan
            | Op::FUnordLessThanEqual
            | Op::IsNan
            | Op::IsInf
    )
}

fn access_names(access: MemoryAccess) -> String {
    let names = [
        (MemoryAccess::VOLATILE, "Volatile"),
        (MemoryAccess::NONTEMPORAL, "Nontemporal"),
        (MemoryAccess::NON_PRIVATE_POINTER, "NonPrivatePointer"),
    ];
    let names = names.iter().filter(|(bit, _)| access.contains(*bit)).map(|(_, name)| *name);
    names.collect::<Vec<_>>().join("|")
}

fn sign_names(signs: CooperativeMatrixOperands) -> String {
    let names = [
        (CooperativeMatrixOperands::MATRIX_A_SIGNED_COMPONENTS_KHR, "ASigned"),
        (CooperativeMatrixOperands::MATRIX_B_SIGNED_COMPONENTS_KHR, "BSigned"),
        (CooperativeMatrixOperands::MATRIX_C_SIGNED_COMPONENTS_KHR, "CSigned"),
        (CooperativeMatrixOperands::MATRIX_RESULT_SIGNED_COMPONENTS_KHR, "ResultSigned"),
        (CooperativeMatrixOperands::SATURATING_ACCUMULATION_KHR, "AccSat"),
    ];
    let names = names.iter().filter(|(bit, _)| signs.contains(*bit)).map(|(_, name)| *name);
    names.collect::<Vec<_>>().join("|")
}
