//! A module: one compute entry point after specialisation, with everything it needs.
//!
//! Control flow is structured as in WebAssembly: a `block` is left by branching to its label, a
//! `loop` is repeated by branching to its label and left by reaching its end. Any reducible
//! control-flow graph has such a form, and reconvergence is where a construct ends.
//!
//! Data crosses a construct's boundary through variables. A value may be used in the block that
//! defines it, after its definition, and in blocks nested there.

use crate::distribution::{Distribution, Layout};
use crate::entities::{Binding, Block, Inst, Label, Value, Var};
use crate::image::ImageKind;
use crate::op::Op;
use crate::types::{MatType, Scope, Type};
use smallvec::SmallVec;
use std::mem::replace;

/// Most invocations of a dispatch along an axis, the dispatch's base included. A device refuses a
/// greater dispatch, so that invocation ids are known not to be negative.
pub const MAX_DISPATCH_INVOCATIONS: u32 = (1 << 31) - (1 << 12);

/// The first axis along which a dispatch has more invocations than [`MAX_DISPATCH_INVOCATIONS`], and how many.
pub fn excess(workgroup_size: [u32; 3], groups: [u32; 3], base: [u32; 3]) -> Option<(char, u64)> {
    let axes = ['x', 'y', 'z'].into_iter().enumerate();
    let counts = axes.map(|(i, axis)| {
        let last = u128::from(groups[i]) + u128::from(base[i]);
        (axis, u64::try_from(last * u128::from(workgroup_size[i])).unwrap_or(u64::MAX))
    });
    counts.into_iter().find(|(_, count)| *count > MAX_DISPATCH_INVOCATIONS.into())
}

/// One entry point, specialised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Name of the entry point.
    pub name: String,
    /// Invocations of a work-group along x, y and z; each at least 1.
    pub workgroup_size: [u32; 3],
    /// Invocations of a subgroup: a power of two from 4 to 128.
    pub subgroup_size: u32,
    /// Which components of matrices belong to which invocation. A front end leaves that open, a target says it.
    pub distribution: Distribution,
    /// The buffers and images it may access.
    pub bindings: Vec<BindingInfo>,
    /// Size of the memory that a work-group shares, in bytes.
    pub shared_bytes: u32,
    /// Size of the push constants it reads, in bytes.
    pub push_bytes: u32,
    /// Texts of `printf` operations, in the form that [`crate::printf`] states.
    pub formats: Vec<String>,
    /// Source positions that instructions refer to.
    pub locs: Vec<SourceLoc>,
    /// The code.
    pub body: Function,
}

impl Module {
    /// Invocations of a work-group.
    pub fn workgroup_invocations(&self) -> u32 {
        self.workgroup_size.iter().product()
    }

    /// Subgroups of a work-group; the last may be partly filled.
    pub fn num_subgroups(&self) -> u32 {
        self.workgroup_invocations().div_ceil(self.subgroup_size)
    }

    /// Where the components of a matrix are, in the invocations of its scope.
    pub fn layout(&self, m: MatType) -> Layout {
        let holders = match m.scope {
            Scope::Workgroup => self.workgroup_invocations(),
            _ => self.subgroup_size,
        };
        self.distribution.layout(m, holders)
    }
}

/// A descriptor of a buffer, an image or a sampler, or an array of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingInfo {
    /// Descriptor set.
    pub set: u32,
    /// Binding number in the set.
    pub binding: u32,
    /// Length of the descriptor array, 1 for a single descriptor, `None` for a run-time length.
    pub count: Option<u32>,
    /// Kind of descriptor.
    pub kind: BindingKind,
    /// Whether the module may write it.
    pub writable: bool,
    /// Name in the source, or empty.
    pub name: String,
}

/// Kinds of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindingKind {
    /// A storage buffer.
    Storage,
    /// A uniform buffer.
    Uniform,
    /// An image or a texel buffer.
    Image(ImageKind),
    /// A sampler.
    Sampler,
}

/// A position in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceLoc {
    /// File name, or empty.
    pub file: String,
    /// Line from 1, or 0 where unknown.
    pub line: u32,
    /// Word offset in the SPIR-V module, or 0.
    pub word: u32,
}

/// Index into [`Module::locs`] plus one; 0 for none.
pub type LocId = u32;

/// Code: arenas of values, instructions, blocks and variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    /// Type and definition of each value.
    pub values: Vec<ValueInfo>,
    /// The instructions, in no particular order.
    pub insts: Vec<InstInfo>,
    /// The blocks; block 0 is the outermost.
    pub blocks: Vec<Vec<Inst>>,
    /// The variables.
    pub vars: Vec<VarInfo>,
    /// Number of labels handed out.
    pub labels: u32,
}

impl Function {
    /// The outermost block.
    pub const ENTRY: Block = Block::new(0);

    /// Type of a value.
    #[inline]
    pub fn ty(&self, v: Value) -> Type {
        self.values[v.index()].ty
    }

    /// An instruction.
    #[inline]
    pub fn inst(&self, i: Inst) -> &InstInfo {
        &self.insts[i.index()]
    }

    /// The instructions of a block, in order.
    #[inline]
    pub fn block(&self, b: Block) -> &[Inst] {
        &self.blocks[b.index()]
    }

    /// A variable.
    pub fn var(&self, v: Var) -> &VarInfo {
        &self.vars[v.index()]
    }

    /// The instruction that defines a value.
    #[inline]
    pub fn def(&self, v: Value) -> &InstInfo {
        self.inst(self.values[v.index()].def)
    }

    /// The bits of a value that is a constant.
    pub fn const_bits(&self, v: Value) -> Option<u64> {
        match self.def(v).op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// What a pointer points into, whatever was added to it.
    pub fn root(&self, mut ptr: Value) -> Value {
        while let Op::PtrAdd { .. } = self.def(ptr).op {
            ptr = self.def(ptr).args[0];
        }
        ptr
    }

    /// Whether an instruction takes, gives or accesses matrices of a scope.
    pub fn concerns_matrices(&self, info: &InstInfo, scope: Scope) -> bool {
        let var = info.op.var().map(|var| self.var(var).ty);
        let mut types = info.args.iter().chain(&info.results).map(|&v| self.ty(v)).chain(var);
        types.any(|ty| ty.mat().is_some_and(|m| m.scope == scope))
    }

    /// By number: the values that are made of what the named instructions give, by way of operands and variables; these
    /// results too. `passes_on` says through which values it spreads.
    pub fn made_of(
        &self,
        is_source: impl Fn(&InstInfo) -> bool,
        passes_on: impl Fn(Value) -> bool,
    ) -> Vec<bool> {
        let mut values = vec![false; self.values.len()];
        let mut vars = vec![false; self.vars.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for info in &self.insts {
                let is_made_so = is_source(info)
                    || info.args.iter().any(|v| values[v.index()])
                    || info.op.vars().any(|(var, how)| !how.writes() && vars[var.index()]);
                if !is_made_so {
                    continue;
                }
                for (var, _) in info.op.vars().filter(|(_, how)| how.writes()) {
                    changed |= !replace(&mut vars[var.index()], true);
                }
                for &v in info.results.iter().filter(|&&v| passes_on(v)) {
                    changed |= !replace(&mut values[v.index()], true);
                }
            }
        }
        values
    }

    /// A new value of type `ty`, the result of `def`.
    pub fn new_value(&mut self, ty: Type, def: Inst) -> Value {
        self.values.push(ValueInfo { ty, def });
        Value::new(self.values.len() - 1)
    }

    /// A new, empty block.
    pub fn new_block(&mut self) -> Block {
        self.blocks.push(Vec::new());
        Block::new(self.blocks.len() - 1)
    }

    /// A new label.
    pub fn new_label(&mut self) -> Label {
        self.labels += 1;
        Label::new(self.labels as usize - 1)
    }

    /// A new variable of `count` elements.
    pub fn new_var(&mut self, ty: Type, count: u32, name: impl Into<String>) -> Var {
        self.vars.push(VarInfo { ty, count, name: name.into(), table: None });
        Var::new(self.vars.len() - 1)
    }

    /// Creates an instruction with results of the given types, in no block yet.
    pub fn new_inst(&mut self, op: Op, args: &[Value], results: &[Type], loc: LocId) -> Inst {
        let inst = Inst::new(self.insts.len());
        self.insts.push(InstInfo {
            op,
            args: SmallVec::from_slice(args),
            results: SmallVec::new(),
            exact: false,
            loc,
        });
        for &ty in results {
            let v = self.new_value(ty, inst);
            self.insts[inst.index()].results.push(v);
        }
        inst
    }
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueInfo {
    /// Its type.
    pub ty: Type,
    /// The instruction whose result it is.
    pub def: Inst,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct InstInfo {
    /// What it does.
    pub op: Op,
    /// Its operands.
    pub args: SmallVec<[Value; 4]>,
    /// Its results.
    pub results: SmallVec<[Value; 1]>,
    /// Whether a floating-point operation must not be contracted with others (*NoContraction*).
    pub exact: bool,
    /// Where it comes from.
    pub loc: LocId,
}

/// A variable: `count` elements of one type, private to an invocation; or private to an instance
/// of the scope, if the elements are matrices.
#[derive(Clone, Debug, PartialEq)]
pub struct VarInfo {
    /// Type of an element.
    pub ty: Type,
    /// Number of elements, at least 1.
    pub count: u32,
    /// Name in the source, or empty.
    pub name: String,
    /// For a read-only table of scalars: the bits of its elements. Otherwise the elements are
    /// unspecified until written.
    pub table: Option<Vec<u64>>,
}

impl Module {
    /// A binding.
    pub fn binding(&self, b: Binding) -> &BindingInfo {
        &self.bindings[b.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_of_a_load_is_followed_through_variables_and_rounds() {
        let code = r#"
            kernel "main" workgroup_size 4 1 1 subgroup_size 4
            binding buf0 = 0.0 storage
            var $early: i32
            var $late: i32
            {
                %0: i32 = const 0
                %p: ptr<buffer> = buffer_ptr<buf0> %0
                loop @1 {
                    %early: i32 = var_load<$early>
                    %late: i32 = var_load<$late>
                    var_store<$early> %late
                    %x: i32 = load %p
                    %y: i32 = iadd %x, %0
                    var_store<$late> %y
                    %again: bool = ieq %early, %0
                    if %again {
                        br @1
                    }
                }
            }"#;
        let module = crate::text::parse(code).expect("a module");
        let f = &module.body;
        let made =
            |stops: Option<Value>| f.made_of(|info| matches!(info.op, Op::Load(_)), |v| Some(v) != stops);
        let names = |made: Vec<bool>| -> Vec<&'static str> {
            let values = (0..f.values.len()).map(Value::new).filter(|v| made[v.index()]);
            values.map(|v| crate::text::mnemonic(&f.def(v).op)).collect()
        };
        assert_eq!(names(made(None)), ["var_load", "var_load", "load", "iadd", "ieq"]);
        let sum = f.insts.iter().find(|info| matches!(info.op, Op::Binary(_))).expect("a sum").results[0];
        // The variables are written all the same, by what the sum is made of.
        assert_eq!(names(made(Some(sum))), ["load"]);
    }
}
