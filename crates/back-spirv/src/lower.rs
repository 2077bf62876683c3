//! The walk over a module: what each value became, and which part of the lowering an operation belongs to.

use phalanx_ir::{
    Binding, Builtin, Distribution, Function, Inst, MatType, Module, Op as IrOp, Scalar, Scope, Type, Value,
    Verified, passes, text::mnemonic,
};
use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{self, BuiltIn, Capability, MemoryAccess, Op, StorageClass, Word};
use rustc_hash::FxHashMap;

use crate::Options;
use crate::emit::{Emit, id};
use crate::error::{Error, Res};
use crate::memory::{self, Place, Ptr};
use crate::push;
use crate::vars::Local;

/// What a value of IR became.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    Word(Word),
    /// A pointer is no value of SPIR-V: only where it is accessed does it become one.
    Ptr(Ptr),
}

pub(crate) struct Lower<'m> {
    pub(crate) module: &'m Module,
    pub(crate) func: &'m Function,
    pub(crate) options: Options,
    pub(crate) e: Emit,
    values: Vec<Option<Val>>,
    pub(crate) vars: Vec<Option<Local>>,
    /// The variables of memory outside of the invocation, in the order of their first use.
    pub(crate) places: Vec<(Place, Word)>,
    inputs: Vec<(BuiltIn, Word)>,
    /// Tells where a branch is on its way to.
    pub(crate) leaving: Option<Word>,
    /// What the region at hand gives.
    pub(crate) yielded: Option<Word>,
    /// Variables for matrices whose components are named by numbers that are not known, by type.
    pub(crate) scratch: FxHashMap<MatType, Word>,
    /// Whether invocations may see what others write.
    pub(crate) is_shared: bool,
    /// Whether shared memory is accessed as elements of several types.
    pub(crate) shares_types: bool,
    /// The push constants, if they are members of a block.
    pub(crate) members: Option<Vec<(u32, Scalar)>>,
}

/// Brings a module into the form that is lowered: constants folded, and what is not done whole taken apart.
pub(crate) fn prepare(module: &Verified) -> Res<Verified> {
    let bug = |bug: passes::PassBug| Error::bug(bug.to_string());
    if module.distribution != Distribution::Rows {
        let name = module.distribution.name();
        return Err(Error::unsupported(format!("components of matrices distributed as {name}")));
    }
    let distributed = passes::distribute(module, Distribution::Rows).map_err(bug)?;
    let simple = passes::simplify(distributed.unwrap_or_else(|| module.clone())).map_err(bug)?;
    let is_full = simple.workgroup_invocations().is_multiple_of(simple.subgroup_size);
    let lanes = simple.subgroup_size;
    let is_whole = |func: &Function, info: &phalanx_ir::InstInfo| match info.op {
        IrOp::MatRotate | IrOp::MatMap { .. } if is_full => {
            let ty = info.results.first().and_then(|&v| func.ty(v).mat());
            let is_even = |m: MatType| m.len().is_multiple_of(lanes.into());
            // Of a narrower operand other invocations have the elements.
            let mut operands = info.args.iter().filter_map(|&v| func.ty(v).mat());
            let has_one_width = operands.all(|m| ty.is_some_and(|ty| ty.cols == m.cols));
            has_one_width
                && ty.is_some_and(|m| {
                    m.components(lanes) <= 64 && (matches!(info.op, IrOp::MatRotate) || is_even(m))
                })
        }
        _ => false,
    };
    let scratch = passes::Scratch::of(&simple);
    let options = passes::Options::default();
    Ok(passes::expand_but(&is_whole, &simple, scratch, &options).map_err(bug)?.unwrap_or(simple))
}

impl<'m> Lower<'m> {
    pub(crate) fn new(module: &'m Module, options: Options) -> Self {
        let func = &module.body;
        let is_shared = func.insts.iter().any(|info| matches!(info.op, IrOp::Barrier(_) | IrOp::Atomic(_)));
        Self {
            module,
            func,
            options,
            e: Emit::default(),
            values: vec![None; func.values.len()],
            vars: vec![None; func.vars.len()],
            places: Vec::new(),
            inputs: Vec::new(),
            leaving: None,
            yielded: None,
            scratch: FxHashMap::default(),
            is_shared,
            shares_types: memory::shares_types(func),
            members: push::members(module),
        }
    }

    /// The module.
    pub(crate) fn run(mut self) -> Res<dr::Module> {
        let void = self.e.ty(Op::TypeVoid, vec![]);
        let ty = self.e.ty(Op::TypeFunction, vec![id(void)]);
        let main = self.e.fresh();
        let first = self.e.fresh();
        self.e.begin(first);
        self.code(Function::ENTRY)?;
        self.e.effect(Op::Return, vec![]);
        self.declare_places()?;
        self.e.needs(Capability::Shader);
        self.e.needs(Capability::VulkanMemoryModel);
        // MLIR knows an entry point by the name of its function.
        self.e.name(main, &self.module.name);
        let def = vec![Operand::FunctionControl(spirv::FunctionControl::NONE), id(ty)];
        let bound = self.e.last_id() + 1;
        let mut blocks = self.e.blocks;
        if let Some(first) = blocks.first_mut() {
            first.instructions.splice(0..0, self.e.locals);
        }
        let function = dr::Function {
            def: Some(Instruction::new(Op::Function, Some(void), Some(main), def)),
            end: Some(Instruction::new(Op::FunctionEnd, None, None, vec![])),
            parameters: vec![],
            blocks,
        };
        let interface = self.places.iter().map(|&(_, word)| word).chain(self.inputs.iter().map(|&(_, w)| w));
        let mut entry = vec![
            Operand::ExecutionModel(spirv::ExecutionModel::GLCompute),
            id(main),
            Operand::LiteralString(self.module.name.clone()),
        ];
        entry.extend(interface.map(id));
        let mut size = vec![id(main), Operand::ExecutionMode(spirv::ExecutionMode::LocalSize)];
        size.extend(self.module.workgroup_size.map(Operand::LiteralBit32));
        let plain = |op, operands| Instruction::new(op, None, None, operands);
        let capabilities = self.e.capabilities.iter().filter_map(|&c| Capability::from_u32(c));
        let mut header = dr::ModuleHeader::new(bound);
        header.set_version(1, 5);
        header.generator = 0;
        Ok(dr::Module {
            header: Some(header),
            capabilities: capabilities.map(|c| plain(Op::Capability, vec![Operand::Capability(c)])).collect(),
            extensions: self
                .e
                .extensions
                .iter()
                .map(|&name| plain(Op::Extension, vec![Operand::LiteralString(name.to_owned())]))
                .collect(),
            ext_inst_imports: [(self.e.glsl, "GLSL.std.450"), (self.e.printf, "NonSemantic.DebugPrintf")]
                .into_iter()
                .filter_map(|(set, name)| Some(import(set?, name)))
                .collect(),
            debug_string_source: self.e.strings,
            memory_model: Some(plain(
                Op::MemoryModel,
                vec![
                    Operand::AddressingModel(spirv::AddressingModel::Logical),
                    Operand::MemoryModel(spirv::MemoryModel::Vulkan),
                ],
            )),
            entry_points: vec![plain(Op::EntryPoint, entry)],
            execution_modes: vec![plain(Op::ExecutionMode, size)],
            debug_names: self.e.names,
            annotations: self.e.annotations,
            types_global_values: self.e.globals,
            functions: vec![function],
            ..dr::Module::default()
        })
    }

    // ── values ──

    fn val(&self, v: Value) -> Res<&Val> {
        self.values[v.index()].as_ref().ok_or_else(|| Error::bug(format!("{v} was not computed")))
    }

    /// A scalar or a matrix.
    pub(crate) fn word(&self, v: Value) -> Res<Word> {
        match self.val(v)? {
            Val::Word(word) => Ok(*word),
            Val::Ptr(_) => Err(Error::unsupported("a pointer as a value")),
        }
    }

    pub(crate) fn words(&self, values: &[Value]) -> Res<Vec<Word>> {
        values.iter().map(|&v| self.word(v)).collect()
    }

    pub(crate) fn pointer(&self, v: Value) -> Res<Ptr> {
        match self.val(v)? {
            Val::Ptr(ptr) => Ok(ptr.clone()),
            Val::Word(_) => Err(Error::bug(format!("{v} is no pointer"))),
        }
    }

    pub(crate) fn set(&mut self, v: Value, to: Val) {
        self.values[v.index()] = Some(to);
    }

    /// The type of a value, which is no pointer.
    pub(crate) fn ty(&mut self, ty: Type) -> Res<Word> {
        match ty {
            Type::Scalar(s) => Ok(self.e.scalar(s)),
            Type::Mat(m) => self.e.matrix(m),
            Type::Ptr(_) => Err(Error::unsupported("a pointer as a value")),
        }
    }

    /// Type of the scalars, or of the components of the matrices, that an operation works on.
    pub(crate) fn elem(&self, v: Value) -> Res<Scalar> {
        self.func.ty(v).elem().ok_or_else(|| Error::unsupported("an operation on pointers"))
    }

    // ── instructions ──

    /// An instruction that is no control flow.
    pub(crate) fn instruction(&mut self, inst: Inst) -> Res<()> {
        let info = self.func.inst(inst);
        let place = info.loc.checked_sub(1).and_then(|loc| self.module.locs.get(loc as usize));
        self.dispatch(inst).map_err(|error| error.at(place))
    }

    fn dispatch(&mut self, inst: Inst) -> Res<()> {
        let func = self.func;
        let info = func.inst(inst);
        match &info.op {
            IrOp::Const(_)
            | IrOp::Unary(_)
            | IrOp::Binary(_)
            | IrOp::Compare(_)
            | IrOp::Fma
            | IrOp::Select
            | IrOp::Convert(_)
            | IrOp::Bitcast => self.computed(info),
            IrOp::Builtin(builtin) => {
                let word = self.builtin(*builtin)?;
                self.set(info.results[0], Val::Word(word));
                Ok(())
            }
            IrOp::VarLoad(_) | IrOp::VarStore(_) | IrOp::VarComponentLoad(_) | IrOp::VarComponentStore(_) => {
                self.variable(info)
            }
            IrOp::BufferPtr(_)
            | IrOp::PushPtr
            | IrOp::SharedPtr { .. }
            | IrOp::PtrAdd { .. }
            | IrOp::PtrBytesLeft
            | IrOp::PtrDiff
            | IrOp::Load(_)
            | IrOp::Store(_)
            | IrOp::Atomic(_) => self.memory(info),
            IrOp::Subgroup(_) | IrOp::Barrier(_) => self.group(info),
            IrOp::MatSplat
            | IrOp::MatLoad { .. }
            | IrOp::MatStore { .. }
            | IrOp::MatMulAdd(_)
            | IrOp::MatScale
            | IrOp::MatExtract
            | IrOp::MatInsert
            | IrOp::MatRotate
            | IrOp::MatMap { .. } => self.matrix(info),
            IrOp::Printf(format) => self.printf(*format, info),
            IrOp::Params => Ok(()),
            IrOp::Yield => {
                self.yielded = Some(self.word(info.args[0])?);
                Ok(())
            }
            other => Err(Error::unsupported(format!("`{}`", mnemonic(other)))),
        }
    }

    /// *DebugPrintf*: the format is that of IR, in which each argument is a scalar.
    fn printf(&mut self, format: u32, info: &phalanx_ir::InstInfo) -> Res<()> {
        let text = self.module.formats.get(format as usize).ok_or_else(|| Error::bug("no format"))?;
        if has_vectors(text) {
            return Err(Error::unsupported("`printf` of a vector"));
        }
        let text = self.e.string(text);
        let args = self.words(&info.args)?;
        self.e.debug_printf(text, &args);
        Ok(())
    }

    // ── built-ins ──

    pub(crate) fn builtin(&mut self, builtin: Builtin) -> Res<Word> {
        let (input, axis) = match builtin {
            Builtin::NumWorkgroups(axis) => (BuiltIn::NumWorkgroups, Some(axis)),
            Builtin::WorkgroupId(axis) => (BuiltIn::WorkgroupId, Some(axis)),
            Builtin::LocalInvocationId(axis) => (BuiltIn::LocalInvocationId, Some(axis)),
            Builtin::GlobalInvocationId(axis) => (BuiltIn::GlobalInvocationId, Some(axis)),
            Builtin::LocalInvocationIndex => (BuiltIn::LocalInvocationIndex, None),
            Builtin::SubgroupId => (BuiltIn::SubgroupId, None),
            Builtin::SubgroupLane => (BuiltIn::SubgroupLocalInvocationId, None),
            Builtin::Multiprocessor => (BuiltIn::SMIDNV, None),
            Builtin::ResidentSubgroup => (BuiltIn::WarpIDNV, None),
        };
        let int = self.e.u32();
        let ty = if axis.is_some() { self.e.vector(Scalar::I32, 3) } else { int };
        let variable = self.input(input, ty);
        let loaded = self.e.load(ty, variable, MemoryAccess::NONE);
        Ok(match axis {
            None => loaded,
            Some(axis) => {
                let operands = vec![id(loaded), Operand::LiteralBit32(axis.into())];
                self.e.result(Op::CompositeExtract, int, operands)
            }
        })
    }

    fn input(&mut self, input: BuiltIn, ty: Word) -> Word {
        if let Some(&(_, known)) = self.inputs.iter().find(|(other, _)| *other == input) {
            return known;
        }
        if matches!(input, BuiltIn::SubgroupId | BuiltIn::SubgroupLocalInvocationId) {
            self.e.needs(Capability::GroupNonUniform);
        }
        let pointer = self.e.pointer(StorageClass::Input, ty);
        let variable = self.e.fresh();
        let operands = vec![Operand::StorageClass(StorageClass::Input)];
        self.e.globals.push(Instruction::new(Op::Variable, Some(pointer), Some(variable), operands));
        self.e.decorate(variable, spirv::Decoration::BuiltIn, &[Operand::BuiltIn(input)]);
        self.e.name(variable, &format!("{input:?}"));
        self.inputs.push((input, variable));
        variable
    }

    /// Invocations of a subgroup, for what relies on each being there.
    pub(crate) fn lanes(&self, what: &str) -> Res<u32> {
        let (all, lanes) = (self.module.workgroup_invocations(), self.module.subgroup_size);
        if !all.is_multiple_of(lanes) {
            return Err(Error::unsupported(format!("{what} in a subgroup that is partly filled")));
        }
        Ok(lanes)
    }

    /// Bindings are single descriptors.
    pub(crate) fn single(&self, binding: Binding) -> Res<()> {
        match self.module.binding(binding).count {
            Some(1) => Ok(()),
            _ => Err(Error::unsupported("an array of buffers")),
        }
    }

    /// The scope of SPIR-V. All invocations of a device are those of a queue family, which asks for no capability.
    pub(crate) fn scope(&mut self, scope: Scope) -> Word {
        let scope = match scope {
            Scope::Invocation => spirv::Scope::Invocation,
            Scope::Subgroup => spirv::Scope::Subgroup,
            Scope::Workgroup => spirv::Scope::Workgroup,
            Scope::Device => spirv::Scope::QueueFamily,
        };
        self.e.int(scope as u32)
    }
}

/// Whether a format has conversions of vectors, whose components are arguments of their own in IR.
fn has_vectors(format: &str) -> bool {
    format.replace("%%", "").split('%').skip(1).any(|conversion| {
        let rest = conversion.trim_start_matches(|c: char| c.is_ascii_digit() || " +-#.".contains(c));
        rest.starts_with('v')
    })
}

fn import(set: Word, name: &str) -> Instruction {
    Instruction::new(Op::ExtInstImport, None, Some(set), vec![Operand::LiteralString(name.to_owned())])
}
