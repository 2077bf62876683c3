//! What a module holds and needs, without translating it.

use crate::capability;
use crate::diag::{Diagnostics, Res, code, invalid};
use crate::entry;
use crate::facts::{self, AtomicInfo};
use crate::globals::Globals;
use crate::interface::{reachable_ids, variables};
use crate::layout::Layout;
use crate::module::{EntryPoint, Spv};
use crate::reader::{Id, Inst};
use crate::types::{Kind, MAX_TREE, Ty};
use crate::value::{Spread, Val};
use crate::vector_facts::{VectorMulInfo, vector_mul};
use phalanx_ir::{BindingInfo, MatType, MulAddFlags, Scalar};
use rustc_hash::FxHashSet;
use spirv::{Decoration, ExecutionModel, Op, StorageClass};
use std::collections::BTreeSet;

/// What a module holds and needs. Types are as the specialisation says.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// Major and minor version of SPIR-V.
    pub version: (u8, u8),
    /// Names of the declared capabilities.
    pub capabilities: Vec<String>,
    /// Those of them that are not built.
    pub unsupported: Vec<String>,
    /// Names of the declared extensions.
    pub extensions: Vec<String>,
    /// The entry points.
    pub entry_points: Vec<EntryInfo>,
    /// Set and binding of every variable that has them, whoever uses it; each once and in order.
    pub declared: Vec<(u32, u32)>,
    /// The specialisation constants, by id.
    pub spec_constants: Vec<SpecConstant>,
    /// The cooperative matrix types, each once.
    pub matrices: Vec<MatrixInfo>,
    /// The multiply-adds, each combination of types once.
    pub mul_adds: Vec<MulAddInfo>,
    /// The products of matrices and cooperative vectors, each combination of types once.
    pub vector_muls: Vec<VectorMulInfo>,
    /// The atomic operations on buffers and shared memory, each sort once.
    pub atomics: Vec<AtomicInfo>,
    /// What lies behind device addresses, by the pointer types that there are.
    pub addressed: Vec<TypeLayout>,
    /// Shared memory whose layout the module states.
    pub shared_blocks: Vec<TypeLayout>,
}

/// An entry point.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryInfo {
    /// Its name.
    pub name: String,
    /// Its execution model, as SPIR-V names it: `GLCompute` is what can be run.
    pub model: String,
    /// Invocations of a work-group along each axis, for compute entry points that state it.
    pub local_size: Option<[u32; 3]>,
    /// The specialisation constants that state it, by axis.
    pub local_size_constants: [Option<u32>; 3],
    /// The buffers that its call tree mentions, by set and binding.
    pub bindings: Vec<BindingLayout>,
    /// The images, texel buffers and samplers that it mentions, by set and binding.
    pub images: Vec<BindingInfo>,
    /// The push constants.
    pub push: Option<TypeLayout>,
    /// Bytes of the push constants.
    pub push_bytes: u32,
}

/// A buffer and the layout of what it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct BindingLayout {
    /// Set, number, kind and name.
    pub info: BindingInfo,
    /// The structure that it holds.
    pub layout: TypeLayout,
}

/// A type as it lies in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeLayout {
    /// A scalar.
    Scalar(ScalarType),
    /// A vector.
    Vector {
        /// Type of a component.
        scalar: ScalarType,
        /// Number of components.
        n: u32,
        /// Bytes between components.
        stride: u32,
    },
    /// A matrix.
    Matrix {
        /// Type of a component.
        scalar: ScalarType,
        /// Number of columns.
        columns: u32,
        /// Number of rows.
        rows: u32,
        /// Bytes between columns, or between rows.
        stride: u32,
        /// Row-major.
        row_major: bool,
    },
    /// An array.
    Array {
        /// Type of an element.
        elem: Box<TypeLayout>,
        /// Number of elements; `None` if it lasts to the end of the buffer.
        len: Option<u32>,
        /// Bytes between elements.
        stride: u32,
    },
    /// A structure.
    Struct {
        /// Its name, or empty.
        name: String,
        /// Its members in order.
        members: Vec<MemberLayout>,
    },
    /// A device address.
    Address,
}

/// A structure member.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberLayout {
    /// Its name, or empty.
    pub name: String,
    /// Its offset in bytes.
    pub offset: u32,
    /// Its type.
    pub ty: TypeLayout,
}

/// A scalar type with its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScalarType {
    /// The type.
    pub scalar: Scalar,
    /// Whether an integer is signed.
    pub signed: bool,
}

/// A specialisation constant.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecConstant {
    /// Its *SpecId*.
    pub id: u32,
    /// Its name, or empty.
    pub name: String,
    /// Its type.
    pub ty: ScalarType,
    /// Its bits, without specialisation the default.
    pub bits: u64,
}

/// A cooperative matrix type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixInfo {
    /// The type.
    pub ty: MatType,
    /// Whether its component type was declared signed.
    pub signed: bool,
}

/// A multiply-add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MulAddInfo {
    /// The left factor.
    pub a: MatrixInfo,
    /// The right factor.
    pub b: MatrixInfo,
    /// The addend.
    pub c: MatrixInfo,
    /// The result.
    pub result: MatrixInfo,
    /// Signs and saturation.
    pub flags: MulAddFlags,
}

/// Inspects a module, with its specialisation constants at their defaults.
///
/// # Errors
///
/// What keeps the module from being understood. That it is not supported is no error: see
/// [`Info::unsupported`].
pub fn inspect(words: &[u32]) -> Result<Info, Diagnostics> {
    inspect_specialized(words, &[])
}

/// Inspects a module with specialisation constants.
///
/// # Errors
///
/// As [`inspect()`].
pub fn inspect_specialized(words: &[u32], specialization: &[(u32, u64)]) -> Result<Info, Diagnostics> {
    let spv = Spv::read(words)?;
    let info = declarations(&spv);
    // Lengths of matrices do not matter here, so any size of subgroups and work-groups will do.
    match Globals::build(&spv, specialization, 32, 0) {
        Ok(globals) => fill(&spv, &globals, info),
        // An unknown capability explains unknown types.
        Err(_) if !info.unsupported.is_empty() => Ok(info),
        Err(faults) => Err(Diagnostics(faults)),
    }
}

/// Inspects a module whose specialisation is not known yet. The defaults of its specialisation constants need
/// not make valid types, such as matrices of 0 rows; then there is nothing about entry points but their names.
///
/// # Errors
///
/// As [`inspect()`], for a module without specialisation constants.
pub fn inspect_unspecialized(words: &[u32]) -> Result<Info, Diagnostics> {
    let spv = Spv::read(words)?;
    let is_spec = |&i: &usize| {
        let op = spv.insts[i].op;
        matches!(op, Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse)
    };
    let (globals, faults) = Globals::build_partly(&spv, &[], 32, 0);
    if faults.is_empty() || !spv.globals.iter().any(is_spec) {
        return inspect(words);
    }
    let mut info = declarations(&spv);
    info.entry_points = spv.entry_points.iter().map(EntryInfo::new).collect();
    Inspector { spv: &spv, globals: &globals }.spec_constants(&mut info);
    Ok(info)
}

/// What does not depend on types.
fn declarations(spv: &Spv<'_>) -> Info {
    let place = |&i: &usize| {
        let literal = |decoration| spv.decor.literal(spv.insts[i].id, decoration);
        Some((literal(Decoration::DescriptorSet)?, literal(Decoration::Binding)?))
    };
    let declared: BTreeSet<_> = spv.globals.iter().filter_map(place).collect();
    Info {
        version: spv.header.version,
        capabilities: spv.capabilities.iter().map(|&n| capability::name(n)).collect(),
        unsupported: capability::missing(spv),
        extensions: spv.extensions.clone(),
        entry_points: Vec::new(),
        declared: declared.into_iter().collect(),
        spec_constants: Vec::new(),
        matrices: Vec::new(),
        mul_adds: Vec::new(),
        vector_muls: Vec::new(),
        atomics: Vec::new(),
        addressed: Vec::new(),
        shared_blocks: Vec::new(),
    }
}

fn fill(spv: &Spv<'_>, globals: &Globals, mut info: Info) -> Result<Info, Diagnostics> {
    let inspector = Inspector { spv, globals };
    for entry in &spv.entry_points {
        let found = inspector.entry(entry).map_err(|f| spv.locate(f, entry.inst))?;
        info.entry_points.push(found);
    }
    inspector.spec_constants(&mut info);
    inspector.matrices(&mut info);
    inspector.vector_muls(&mut info);
    inspector.atomics(&mut info);
    inspector.layouts(&mut info);
    Ok(info)
}

impl EntryInfo {
    /// One of which only the name is known.
    fn new(entry: &EntryPoint) -> Self {
        let model = ExecutionModel::from_u32(entry.model);
        Self {
            name: entry.name.clone(),
            model: model.map_or_else(|| entry.model.to_string(), |m| format!("{m:?}")),
            local_size: None,
            local_size_constants: [None; 3],
            bindings: Vec::new(),
            images: Vec::new(),
            push: None,
            push_bytes: 0,
        }
    }
}

struct Inspector<'a> {
    spv: &'a Spv<'a>,
    globals: &'a Globals,
}

impl<'a> Inspector<'a> {
    fn layout(&self) -> Layout<'a> {
        Layout { spv: self.spv, types: &self.globals.types }
    }

    fn entry(&self, entry: &EntryPoint) -> Res<EntryInfo> {
        let mut info = EntryInfo::new(entry);
        if ExecutionModel::from_u32(entry.model) != Some(ExecutionModel::GLCompute) {
            return Ok(info);
        }
        info.local_size = entry::local_size(self.spv, self.globals, entry).ok();
        info.local_size_constants = facts::local_size_constants(self.spv, entry);
        for i in variables(self.spv, &reachable_ids(self.spv, entry.function)) {
            self.variable(&self.spv.insts[i], &mut info).map_err(|f| self.spv.locate(f, i))?;
        }
        info.bindings.sort_by_key(|b| (b.info.set, b.info.binding));
        info.images.sort_by_key(|b| (b.set, b.binding));
        Ok(info)
    }

    fn variable(&self, inst: &Inst<'_>, info: &mut EntryInfo) -> Res<()> {
        let (class, ty) = self.layout().variable(inst)?;
        match class {
            StorageClass::StorageBuffer | StorageClass::Uniform => {
                let (binding, block) = self.layout().binding(inst.id, class, ty)?;
                let layout = self.type_layout(block, Spread::default())?;
                info.bindings.push(BindingLayout { info: binding, layout });
            }
            // That multisampled images are not built is no error here.
            StorageClass::UniformConstant => {
                info.images.extend(self.layout().binding(inst.id, class, ty).ok().map(|(info, _)| info));
            }
            StorageClass::PushConstant => {
                let bytes = self.layout().size(ty, Spread::default())?;
                info.push_bytes = info.push_bytes.max(bytes_u32(bytes)?);
                info.push = Some(self.type_layout(ty, Spread::default())?);
            }
            _ => {}
        }
        Ok(())
    }

    fn type_layout(&self, ty: Ty, spread: Spread) -> Res<TypeLayout> {
        let types = &self.globals.types;
        let layout = self.layout();
        Ok(match types.kind(ty) {
            Kind::Bool | Kind::Int { .. } | Kind::Float(_) => TypeLayout::Scalar(self.scalar(ty)?),
            Kind::Vector { elem, n } => {
                let stride = spread.vector.map_or_else(|| layout.size(*elem, Spread::default()), Ok)?;
                TypeLayout::Vector { scalar: self.scalar(*elem)?, n: *n, stride: bytes_u32(stride)? }
            }
            Kind::Matrix { column, n } => {
                let (stride, row_major) = match spread.matrix {
                    Some(decorated) => decorated,
                    None => (layout.size(*column, Spread::default())?, false),
                };
                let (scalar, rows) = (self.scalar(*column)?, types.count(*column).unwrap_or(1));
                TypeLayout::Matrix { scalar, columns: *n, rows, stride: bytes_u32(stride)?, row_major }
            }
            Kind::Array { elem, n } => self.array(ty, *elem, Some(*n), spread)?,
            Kind::RuntimeArray { elem } => self.array(ty, *elem, None, spread)?,
            Kind::Struct(members) => {
                let member = |(i, &m): (usize, &Ty)| {
                    let (i, names) = (i as u32, &self.spv.names);
                    Ok(MemberLayout {
                        name: names.of_member(ty.id(), i).to_owned(),
                        offset: bytes_u32(layout.offset(ty, i)?)?,
                        ty: self.type_layout(m, layout.spread(ty, i))?,
                    })
                };
                let name = self.spv.names.of(ty.id()).to_owned();
                TypeLayout::Struct {
                    name,
                    members: members.iter().enumerate().map(member).collect::<Res<_>>()?,
                }
            }
            Kind::Pointer { .. } => TypeLayout::Address,
            Kind::Void
            | Kind::Function
            | Kind::Opaque(_)
            | Kind::Image { .. }
            | Kind::Sampler
            | Kind::CoopMat { .. }
            | Kind::Tensor { .. } => {
                let m = format!("a buffer holds {}", types.describe(ty));
                return Err(invalid(code::TYPE, m));
            }
        })
    }

    fn array(&self, ty: Ty, elem: Ty, len: Option<u32>, spread: Spread) -> Res<TypeLayout> {
        let stride = bytes_u32(self.layout().array_stride(ty, spread)?)?;
        Ok(TypeLayout::Array { elem: Box::new(self.type_layout(elem, spread)?), len, stride })
    }

    fn scalar(&self, ty: Ty) -> Res<ScalarType> {
        let types = &self.globals.types;
        let scalar = types
            .scalar(ty)
            .ok_or_else(|| invalid(code::TYPE, format!("expected a scalar, found {}", types.describe(ty))))?;
        Ok(ScalarType { scalar, signed: types.is_signed(ty) })
    }

    fn spec_constants(&self, info: &mut Info) {
        for inst in self.spv.globals.iter().map(|&i| &self.spv.insts[i]) {
            let is_spec = matches!(inst.op, Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse);
            let id = self.spv.decor.literal(inst.id, Decoration::SpecId);
            let (true, Some(id), Some((ty, Val::Const(_, bits)))) = (is_spec, id, self.globals.get(inst.id))
            else {
                continue;
            };
            if let Ok(ty) = self.scalar(*ty) {
                let name = self.spv.names.of(inst.id).to_owned();
                info.spec_constants.push(SpecConstant { id, name, ty, bits: *bits });
            }
        }
        info.spec_constants.sort_by_key(|c| c.id);
    }

    fn matrices(&self, info: &mut Info) {
        let (mut seen, mut seen_ops) = (FxHashSet::default(), FxHashSet::default());
        for inst in &self.spv.insts {
            match inst.op {
                Op::TypeCooperativeMatrixKHR | Op::TypeCooperativeMatrixNV => {
                    if let Some(m) = self.matrix(inst.id).filter(|m| seen.insert(*m)) {
                        info.matrices.push(m);
                    }
                }
                Op::CooperativeMatrixMulAddKHR | Op::CooperativeMatrixMulAddNV => {
                    if let Some(m) = self.mul_add(inst).filter(|m| seen_ops.insert(*m)) {
                        info.mul_adds.push(m);
                    }
                }
                _ => {}
            }
        }
    }

    fn vector_muls(&self, info: &mut Info) {
        let mut seen = FxHashSet::default();
        let found = self.spv.insts.iter().filter_map(|inst| vector_mul(self.spv, self.globals, inst));
        info.vector_muls.extend(found.filter(|mul| seen.insert(*mul)));
    }

    fn atomics(&self, info: &mut Info) {
        let mut seen = FxHashSet::default();
        for inst in &self.spv.insts {
            let found = facts::atomic_kind(inst.op).and_then(|kind| {
                let (class, ty) = facts::atomic_object(self.spv, self.globals, inst)?;
                let ty = self.scalar(self.globals.types.lookup(ty).ok()?).ok()?;
                Some(AtomicInfo { shared: class == StorageClass::Workgroup, ty, kind })
            });
            info.atomics.extend(found.filter(|atomic| seen.insert(*atomic)));
        }
    }

    /// What is laid out by the module and is no buffer at a binding. What has no layout is left out.
    fn layouts(&self, info: &mut Info) {
        let (mut addressed, mut shared) = (BTreeSet::new(), BTreeSet::new());
        for inst in
            self.spv.globals.iter().map(|&i| &self.spv.insts[i]).filter(|inst| inst.op == Op::TypePointer)
        {
            let [class, pointee] = *inst.args else { continue };
            if class == StorageClass::PhysicalStorageBuffer as u32 {
                addressed.insert(pointee);
            } else if class == StorageClass::Workgroup as u32
                && self.spv.decor.has(pointee, Decoration::Block)
            {
                shared.insert(pointee);
            }
        }
        // Many types may share large members; who writes so many will not miss the last of them here.
        let mut budget = MAX_TREE;
        let mut layout = |id: Id| {
            let ty = self.globals.types.lookup(id).ok()?;
            budget = budget.checked_sub(self.globals.types.tree(ty))?;
            self.type_layout(ty, Spread::default()).ok()
        };
        info.addressed = addressed.into_iter().filter_map(&mut layout).collect();
        info.shared_blocks = shared.into_iter().filter_map(&mut layout).collect();
    }

    /// The cooperative matrix type with an id.
    fn matrix(&self, id: Id) -> Option<MatrixInfo> {
        let types = &self.globals.types;
        match *types.kind(types.lookup(id).ok()?) {
            Kind::CoopMat { mat, signed } => Some(MatrixInfo { ty: mat, signed }),
            _ => None,
        }
    }

    fn mul_add(&self, inst: &Inst<'_>) -> Option<MulAddInfo> {
        let of = |i: usize| self.matrix(self.spv.def(*inst.args.get(i)?)?.ty);
        let (a, b, c, result) = (of(0)?, of(1)?, of(2)?, self.matrix(inst.ty)?);
        let flags = if inst.op == Op::CooperativeMatrixMulAddNV {
            MulAddFlags {
                a_signed: a.signed,
                b_signed: b.signed,
                c_signed: c.signed,
                result_signed: result.signed,
                saturate: false,
                relaxed: false,
                step: 0,
            }
        } else {
            let mask = inst.args.get(3).copied().unwrap_or(0);
            MulAddFlags {
                a_signed: mask & 1 != 0,
                b_signed: mask & 2 != 0,
                c_signed: mask & 4 != 0,
                result_signed: mask & 8 != 0,
                saturate: mask & 16 != 0,
                relaxed: false,
                step: 0,
            }
        };
        Some(MulAddInfo { a, b, c, result, flags })
    }
}

fn bytes_u32(bytes: i64) -> Res<u32> {
    u32::try_from(bytes).map_err(|_| invalid(code::LIMIT, format!("{bytes} bytes are too many")))
}

impl ScalarType {
    /// The name that the command line uses: `s32`, `u8`, `f16`, `bf16`, `bool`.
    pub fn name(self) -> String {
        match (self.scalar.is_int(), self.signed) {
            (true, true) => format!("s{}", self.scalar.bits()),
            (true, false) => format!("u{}", self.scalar.bits()),
            (false, _) => self.scalar.name().to_owned(),
        }
    }
}

impl MatrixInfo {
    /// The component type.
    pub fn elem(self) -> ScalarType {
        ScalarType { scalar: self.ty.elem, signed: self.signed }
    }
}
