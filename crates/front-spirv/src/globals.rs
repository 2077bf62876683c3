//! Types and constants, evaluated in module order with the specialisation applied.
//!
//! Both depend on each other: the length of an array is a constant, and a constant has a type. Rows
//! and columns of a cooperative matrix may be specialisation constants, so nothing can be laid out
//! before.

use crate::diag::{Diagnostic, Res, code, invalid, unsupported};
use crate::module::Spv;
use crate::reader::{Id, Inst};
use crate::spec_op;
use crate::types::{Kind, Ty, Types, too_large};
use crate::value::Val;
use phalanx_ir::{self as ir, MatType, Scalar, Scope, Use};
use rustc_hash::FxHashMap;
use spirv::{Decoration, Op, StorageClass};
use std::cell::Cell;

mod image;
mod tensor;
mod vector;

pub use vector::MAX_VECTOR_COMPONENTS;

/// The types and constants of a module.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    pub(crate) types: Types,
    consts: FxHashMap<Id, (Ty, Val)>,
    /// Invocations of a subgroup.
    pub(crate) subgroup_size: u32,
    /// Invocations of a work-group; 0 before it is known.
    pub(crate) workgroup_invocations: u32,
    /// Constituents made that no word of the module stands for.
    spent: Cell<u32>,
}

/// Constituents that constants may have in all, beyond one for each word of the module.
const MAX_CONSTITUENTS: u32 = 1 << 23;

/// Faults collected before giving up.
const MAX_FAULTS: usize = 20;

impl Globals {
    /// Evaluates the types and constants of a module.
    pub(crate) fn build(
        spv: &Spv<'_>,
        specialization: &[(u32, u64)],
        subgroup_size: u32,
        workgroup_invocations: u32,
    ) -> Result<Self, Vec<Diagnostic>> {
        let (globals, faults) = Self::build_partly(spv, specialization, subgroup_size, workgroup_invocations);
        if faults.is_empty() { Ok(globals) } else { Err(faults) }
    }

    /// Evaluates what can be evaluated, and says what is wrong with the rest.
    pub(crate) fn build_partly(
        spv: &Spv<'_>,
        specialization: &[(u32, u64)],
        subgroup_size: u32,
        workgroup_invocations: u32,
    ) -> (Self, Vec<Diagnostic>) {
        let spec = specialization.iter().copied().collect();
        let mut g = Self { subgroup_size, workgroup_invocations, ..Self::default() };
        let mut faults = Vec::new();
        for &i in &spv.globals {
            if let Err(fault) = g.declare(spv, &spv.insts[i], &spec) {
                faults.push(*spv.locate(fault, i));
                if faults.len() == MAX_FAULTS {
                    break;
                }
            }
        }
        (g, faults)
    }

    fn declare(&mut self, spv: &Spv<'_>, inst: &Inst<'_>, spec: &FxHashMap<u32, u64>) -> Res<()> {
        match inst.op {
            Op::Undef | Op::ConstantNull => self.null(inst),
            Op::ConstantTrue | Op::ConstantFalse | Op::SpecConstantTrue | Op::SpecConstantFalse => {
                self.truth(spv, inst, spec)
            }
            Op::Constant | Op::SpecConstant => self.scalar(spv, inst, spec),
            Op::ConstantComposite | Op::SpecConstantComposite => self.composite(inst),
            Op::ConstantCompositeReplicateEXT | Op::SpecConstantCompositeReplicateEXT => self.replicate(inst),
            Op::SpecConstantOp => {
                let ty = self.types.lookup(inst.ty)?;
                let val = spec_op::evaluate(self, inst, ty)?;
                self.consts.insert(inst.id, (ty, val));
                Ok(())
            }
            Op::Variable | Op::UntypedVariableKHR => Ok(()),
            Op::TypeForwardPointer => self.forward_pointer(spv, inst),
            Op::Line | Op::NoLine | Op::Nop | Op::ExtInst | Op::ExtInstWithForwardRefsKHR => Ok(()),
            Op::Source | Op::SourceContinued | Op::SourceExtension | Op::ModuleProcessed => Ok(()),
            _ => self.declare_type(spv, inst),
        }
    }

    fn declare_type(&mut self, spv: &Spv<'_>, inst: &Inst<'_>) -> Res<()> {
        let kind = match inst.op {
            Op::TypeVoid => Kind::Void,
            Op::TypeBool => Kind::Bool,
            Op::TypeInt => {
                let bits = inst.arg(0)?;
                let scalar = Scalar::int(bits)
                    .ok_or_else(|| unsupported(code::TYPE, format!("integers of {bits} bits")))?;
                Kind::Int { scalar, signed: inst.arg(1)? != 0 }
            }
            Op::TypeFloat => Kind::Float(float(inst)?),
            Op::TypeVector | Op::TypeVectorIdEXT => vector::kind(self, spv, inst)?,
            Op::TypeMatrix => vector::matrix(self, spv, inst)?,
            Op::TypeArray => self.array(inst)?,
            Op::TypeRuntimeArray => Kind::RuntimeArray { elem: self.element(inst.arg(0)?)? },
            Op::TypeStruct => Kind::Struct(inst.args.iter().map(|&m| self.element(m)).collect::<Res<_>>()?),
            Op::TypePointer => Kind::Pointer { class: class(inst.arg(0)?)?, pointee: Some(inst.arg(1)?) },
            Op::TypeUntypedPointerKHR => Kind::Pointer { class: class(inst.arg(0)?)?, pointee: None },
            Op::TypeFunction => Kind::Function,
            Op::TypeImage => image::kind(self, inst)?,
            Op::TypeSampledImage => image::combined(self, inst)?,
            Op::TypeSampler => Kind::Sampler,
            Op::TypeCooperativeMatrixKHR | Op::TypeCooperativeMatrixNV => self.coop_mat(inst)?,
            Op::TypeTensorLayoutNV | Op::TypeTensorViewNV => tensor::kind(self, inst)?,
            _ => {
                let m = format!("{} is not supported at module scope", inst.name());
                return Err(unsupported(code::OPCODE, m));
            }
        };
        self.types.declare(inst.id, kind)
    }

    /// A pointer type that others use before its declaration, to which it leads back.
    fn forward_pointer(&mut self, spv: &Spv<'_>, inst: &Inst<'_>) -> Res<()> {
        let id = inst.arg(0)?;
        let declaration = spv.def(id).filter(|d| d.op == Op::TypePointer);
        let declaration = declaration
            .ok_or_else(|| invalid(code::TYPE, format!("%{id} is not declared as a pointer type")))?;
        let (class, pointee) = (class(declaration.arg(0)?)?, Some(declaration.arg(1)?));
        self.types.declare(id, Kind::Pointer { class, pointee })
    }

    /// A type that may be part of another.
    fn element(&self, id: Id) -> Res<Ty> {
        let ty = self.types.lookup(id)?;
        match self.types.kind(ty) {
            Kind::Void | Kind::Function => {
                let m = format!("expected a type of objects, found {}", self.types.describe(ty));
                Err(invalid(code::TYPE, m))
            }
            _ => Ok(ty),
        }
    }

    fn array(&self, inst: &Inst<'_>) -> Res<Kind> {
        let elem = self.element(inst.arg(0)?)?;
        let len = inst.arg(1)?;
        let bits = self.const_bits(len).ok_or_else(|| {
            invalid(code::TYPE, format!("expected the length to be a constant integer, found %{len}"))
        })?;
        // A length that is negative as a signed number is large as an unsigned one.
        let n = u32::try_from(bits).ok().filter(|n| *n <= i32::MAX as u32);
        let n = n.ok_or_else(|| invalid(code::LIMIT, format!("an array of {bits} elements is too long")))?;
        if n == 0 {
            return Err(invalid(code::TYPE, "the length of an array must be at least 1, found 0"));
        }
        Ok(Kind::Array { elem, n })
    }

    fn coop_mat(&self, inst: &Inst<'_>) -> Res<Kind> {
        let component = self.types.lookup(inst.arg(0)?)?;
        let (elem, signed) = match *self.types.kind(component) {
            Kind::Int { scalar, signed } => (scalar, signed),
            Kind::Float(scalar) => (scalar, true),
            _ => {
                let m =
                    format!("expected a numerical component type, found {}", self.types.describe(component));
                return Err(invalid(code::TYPE, m));
            }
        };
        let scope = match self.const_u32(inst.arg(1)?)? {
            2 => Scope::Workgroup,
            3 => Scope::Subgroup,
            other => {
                let m = format!("cooperative matrices of scope {other}; Workgroup (2) and Subgroup (3) are");
                return Err(unsupported(code::TYPE, m));
            }
        };
        let (rows, cols) = (self.dimension(inst.arg(2)?)?, self.dimension(inst.arg(3)?)?);
        let use_ = match inst.args.get(4) {
            None => Use::Any,
            Some(&id) => match self.const_u32(id)? {
                0 => Use::A,
                1 => Use::B,
                2 => Use::Accumulator,
                other => {
                    return Err(invalid(code::TYPE, format!("expected a use from 0 to 2, found {other}")));
                }
            },
        };
        if u64::from(rows) * u64::from(cols) > MAX_ELEMENTS {
            return Err(invalid(code::LIMIT, format!("a cooperative matrix of {rows}×{cols} is too large")));
        }
        Ok(Kind::CoopMat { mat: MatType { elem, scope, rows, cols, use_ }, signed })
    }

    /// Rows or columns of a cooperative matrix.
    fn dimension(&self, id: Id) -> Res<u32> {
        let n = self.const_u32(id)?;
        if n == 0 || n > MAX_DIMENSION {
            let m = format!("a dimension of a cooperative matrix is {n}, expected 1 to {MAX_DIMENSION}");
            return Err(invalid(code::LIMIT, m));
        }
        Ok(n)
    }

    fn null(&mut self, inst: &Inst<'_>) -> Res<()> {
        let ty = self.types.lookup(inst.ty)?;
        if matches!(self.types.kind(ty), Kind::Void | Kind::Function | Kind::RuntimeArray { .. }) {
            let m = format!("{} has no constants", self.types.describe(ty));
            return Err(invalid(code::CONSTANT, m));
        }
        let val = self.types.zero(ty);
        self.consts.insert(inst.id, (ty, val));
        Ok(())
    }

    fn truth(&mut self, spv: &Spv<'_>, inst: &Inst<'_>, spec: &FxHashMap<u32, u64>) -> Res<()> {
        let ty = self.types.lookup(inst.ty)?;
        if !matches!(self.types.kind(ty), Kind::Bool) {
            let m = format!("expected the result type bool, found {}", self.types.describe(ty));
            return Err(invalid(code::CONSTANT, m));
        }
        let default = matches!(inst.op, Op::ConstantTrue | Op::SpecConstantTrue) as u64;
        let bits = specialized(spv, inst, spec).map_or(default, |bits| (bits != 0) as u64);
        self.consts.insert(inst.id, (ty, Val::Const(ir::Type::BOOL, bits)));
        Ok(())
    }

    fn scalar(&mut self, spv: &Spv<'_>, inst: &Inst<'_>, spec: &FxHashMap<u32, u64>) -> Res<()> {
        let ty = self.types.lookup(inst.ty)?;
        let (Kind::Int { scalar, .. } | Kind::Float(scalar)) = *self.types.kind(ty) else {
            let m = format!("expected a numerical result type, found {}", self.types.describe(ty));
            return Err(invalid(code::CONSTANT, m));
        };
        let mut bits = u64::from(inst.arg(0)?);
        if scalar.bits() == 64 {
            bits |= u64::from(inst.arg(1)?) << 32;
        }
        let bits = specialized(spv, inst, spec).unwrap_or(bits) & scalar.mask();
        self.consts.insert(inst.id, (ty, Val::Const(scalar.into(), bits)));
        Ok(())
    }

    fn composite(&mut self, inst: &Inst<'_>) -> Res<()> {
        let ty = self.types.lookup(inst.ty)?;
        if self.types.coop_mat(ty).is_some() {
            return self.replicate(inst);
        }
        let n = self.types.count(ty).ok_or_else(|| self.not_composite(ty))?;
        if n as usize != inst.args.len() {
            let m = format!(
                "expected {n} constituents of a {}, found {}",
                self.types.describe(ty),
                inst.args.len()
            );
            return Err(invalid(code::CONSTANT, m));
        }
        let part = |(i, &id): (usize, &Id)| {
            let wanted = self.types.constituent(ty, i as u32).ok_or_else(|| self.not_composite(ty))?;
            self.constituent(id, wanted)
        };
        let val = Val::Many(inst.args.iter().enumerate().map(part).collect::<Res<_>>()?);
        self.consts.insert(inst.id, (ty, val));
        Ok(())
    }

    /// All constituents equal; the only way to make a cooperative matrix (SPV_KHR_cooperative_matrix).
    fn replicate(&mut self, inst: &Inst<'_>) -> Res<()> {
        let ty = self.types.lookup(inst.ty)?;
        if inst.args.len() != 1 {
            let m = format!("expected 1 constituent, found {}", inst.args.len());
            return Err(invalid(code::CONSTANT, m));
        }
        let val = self.replicated(ty, inst.arg(0)?)?;
        self.consts.insert(inst.id, (ty, val));
        Ok(())
    }

    /// A composite constant all whose constituents are the constant `id`.
    pub(crate) fn replicated(&self, ty: Ty, id: Id) -> Res<Val> {
        if let Some(mat) = self.types.coop_mat(ty) {
            let (found, _) = self.constant(id)?;
            let bits = self.const_bits(id).filter(|_| self.types.leaf(*found) == Some(mat.elem.into()));
            let bits = bits.ok_or_else(|| {
                let m = format!("expected a {} constant, found {}", mat.elem, self.types.describe(*found));
                invalid(code::CONSTANT, m)
            })?;
            return Ok(Val::Const(mat.into(), bits));
        }
        let n = self.types.count(ty).ok_or_else(|| self.not_composite(ty))?;
        if n > crate::types::MAX_VALUE_LEAVES {
            return Err(too_large(n));
        }
        self.spend(n)?;
        let parts = (0..n).map(|i| {
            let wanted = self.types.constituent(ty, i).ok_or_else(|| self.not_composite(ty))?;
            self.constituent(id, wanted)
        });
        Ok(Val::Many(parts.collect::<Res<_>>()?))
    }

    /// Notes that a constant of `n` constituents is made by an instruction of a few words.
    pub(crate) fn spend(&self, n: u32) -> Res<()> {
        self.spent.set(self.spent.get().saturating_add(n));
        if self.spent.get() > MAX_CONSTITUENTS {
            let m = format!("the constants have more than {MAX_CONSTITUENTS} constituents");
            return Err(unsupported(code::LIMIT, m));
        }
        Ok(())
    }

    fn constituent(&self, id: Id, wanted: Ty) -> Res<Val> {
        let (found, val) = self.constant(id)?;
        if !self.types.same(*found, wanted) {
            let (wanted, found) = (self.types.describe(wanted), self.types.describe(*found));
            return Err(invalid(code::CONSTANT, format!("constituent %{id} is {found}, expected {wanted}")));
        }
        Ok(val.clone())
    }

    fn not_composite(&self, ty: Ty) -> crate::diag::Fault {
        let m = format!("expected a composite result type, found {}", self.types.describe(ty));
        invalid(code::CONSTANT, m)
    }

    /// The type and value of a constant.
    pub(crate) fn constant(&self, id: Id) -> Res<&(Ty, Val)> {
        self.consts
            .get(&id)
            .ok_or_else(|| invalid(code::CONSTANT, format!("%{id} is not a constant declared before")))
    }

    /// The type and value of an id, if it is a constant.
    pub(crate) fn get(&self, id: Id) -> Option<&(Ty, Val)> {
        self.consts.get(&id)
    }

    /// The bits of a scalar constant.
    pub(crate) fn const_bits(&self, id: Id) -> Option<u64> {
        match self.consts.get(&id)?.1 {
            Val::Const(ir::Type::Scalar(_), bits) => Some(bits),
            _ => None,
        }
    }

    /// The value of a constant integer of at most 32 bits.
    pub(crate) fn const_u32(&self, id: Id) -> Res<u32> {
        let bits = self.const_bits(id).and_then(|bits| u32::try_from(bits).ok());
        bits.ok_or_else(|| {
            invalid(code::CONSTANT, format!("expected %{id} to be a constant integer of 32 bits"))
        })
    }

    /// The length of a cooperative matrix type: the components of an invocation.
    pub(crate) fn coop_length(&self, ty: Ty) -> Res<u32> {
        let mat = self.types.coop_mat(ty).ok_or_else(|| {
            let m = format!("expected a cooperative matrix type, found {}", self.types.describe(ty));
            invalid(code::TYPE, m)
        })?;
        Ok(mat.components(self.holders(mat)))
    }

    /// Invocations that hold a cooperative matrix.
    pub(crate) fn holders(&self, m: MatType) -> u32 {
        match m.scope {
            Scope::Workgroup if self.workgroup_invocations != 0 => self.workgroup_invocations,
            _ => self.subgroup_size,
        }
    }
}

/// Rows or columns of a cooperative matrix. The CPU has no reason for a limit but memory.
pub const MAX_DIMENSION: u32 = 1 << 14;

/// Elements of a cooperative matrix.
pub const MAX_ELEMENTS: u64 = 1 << 24;

fn specialized(spv: &Spv<'_>, inst: &Inst<'_>, spec: &FxHashMap<u32, u64>) -> Option<u64> {
    if !matches!(inst.op, Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse) {
        return None;
    }
    spec.get(&spv.decor.literal(inst.id, Decoration::SpecId)?).copied()
}

/// *OpTypeFloat*; the encoding operand comes from SPV_KHR_bfloat16 and SPV_EXT_float8.
fn float(inst: &Inst<'_>) -> Res<Scalar> {
    match (inst.arg(0)?, inst.args.get(1)) {
        (16, None) => Ok(Scalar::F16),
        (32, None) => Ok(Scalar::F32),
        (64, None) => Ok(Scalar::F64),
        (16, Some(0)) => Ok(Scalar::BF16),
        (8, Some(4214)) => Ok(Scalar::E4M3),
        (8, Some(4215)) => Ok(Scalar::E5M2),
        (bits, None) => Err(unsupported(code::TYPE, format!("floats of {bits} bits"))),
        (bits, Some(e)) => Err(unsupported(code::TYPE, format!("floats of {bits} bits with encoding {e}"))),
    }
}

fn class(word: u32) -> Res<StorageClass> {
    StorageClass::from_u32(word).ok_or_else(|| invalid(code::TYPE, format!("unknown storage class {word}")))
}

impl Types {
    /// The null value of a type.
    pub(crate) fn zero(&self, ty: Ty) -> Val {
        match self.leaf(ty) {
            Some(leaf @ (ir::Type::Scalar(_) | ir::Type::Mat(_))) => Val::Const(leaf, 0),
            _ => Val::Zero,
        }
    }

    /// Constituent `i` of a composite value.
    pub(crate) fn part(&self, ty: Ty, val: &Val, i: u32) -> Res<Val> {
        let part = match val {
            Val::Many(parts) => parts.get(i as usize).cloned(),
            Val::Zero => {
                let in_range = self.count(ty).is_some_and(|n| i < n);
                self.constituent(ty, i).filter(|_| in_range).map(|elem| self.zero(elem))
            }
            _ => None,
        };
        part.ok_or_else(|| {
            let m = format!("index {i} is not a constituent of a {}", self.describe(ty));
            invalid(code::OPERAND, m)
        })
    }
}
