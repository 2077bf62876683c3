//! Text of MLIR's `spirv` dialect, printed from the instructions of a module.
//!
//! Constants and the addresses of variables stand at the beginning of the function, where they dominate everything. A
//! construct is an operation with a region: its blocks follow each other in the module, because the lowering gives each one
//! exit, so a region is what stands between the block with the merge instruction and the merge block.
//!
//! ```text
//! OpSelectionMerge %5            spirv.mlir.selection {
//! OpBranchConditional %2 %3 %4     spirv.BranchConditional %2, ^bb3, ^bb4
//! %3 = OpLabel …             →   ^bb3: …
//! %4 = OpLabel …                 ^bb4: …
//! %5 = OpLabel                   ^bb5:
//! rest                             spirv.mlir.merge
//!                                }
//!                                rest
//! ```
//!
//! Operations whose own syntax differs between versions of LLVM are printed in the generic form, which all read.

mod ops;
mod types;

use rspirv::dr::{Block, Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, StorageClass, Word};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

use crate::error::{Error, Res};

/// The version of LLVM whose `spirv` dialect a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Llvm {
    /// LLVM 19, which has no *OpGroupNonUniformRotateKHR*: see [`Options`](crate::Options).
    V19,
    /// LLVM 22.
    #[default]
    V22,
}

/// A text in the making.
struct Printer<'m> {
    module: &'m Module,
    blocks: &'m [Block],
    version: Llvm,
    /// What defines an id: types, constants, variables, and instructions of the function.
    defs: FxHashMap<Word, &'m Instruction>,
    /// Places of blocks by their labels.
    places: FxHashMap<Word, usize>,
    /// Symbols of variables of the module.
    symbols: FxHashMap<Word, String>,
    out: String,
    depth: usize,
}

/// Prints a module.
pub(crate) fn print(module: &Module, version: Llvm) -> Res<String> {
    let function = module.functions.first().ok_or_else(|| Error::bug("a module without a function"))?;
    let blocks = function.blocks.as_slice();
    let defs = module.all_inst_iter().filter_map(|inst| Some((inst.result_id?, inst))).collect();
    let places = blocks.iter().enumerate().filter_map(|(i, block)| Some((block.label_id()?, i))).collect();
    let symbols = FxHashMap::default();
    let mut printer =
        Printer { module, blocks, version, defs, places, symbols, out: String::new(), depth: 0 };
    printer.name_variables();
    printer.module()?;
    Ok(printer.out)
}

impl<'m> Printer<'m> {
    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.out, "{:1$}{2}", "", 2 * self.depth, text.as_ref());
    }

    fn unsupported(&self, what: impl std::fmt::Display) -> Error {
        let version = match self.version {
            Llvm::V19 => 19,
            Llvm::V22 => 22,
        };
        Error::NotInDialect { what: what.to_string(), version }
    }

    fn def(&self, id: Word) -> Res<&'m Instruction> {
        self.defs.get(&id).copied().ok_or_else(|| Error::bug(format!("%{id} is not defined")))
    }

    fn operand(inst: &Instruction, at: usize) -> Res<Word> {
        match inst.operands.get(at) {
            Some(Operand::IdRef(id) | Operand::IdScope(id) | Operand::IdMemorySemantics(id)) => Ok(*id),
            _ => Err(Error::bug(format!("{:?} without operand {at}", inst.class.opcode))),
        }
    }

    /// The bits of a constant.
    fn bits(&self, id: Word) -> Res<u64> {
        match self.def(id)?.operands.first() {
            Some(Operand::LiteralBit32(bits)) => Ok((*bits).into()),
            Some(Operand::LiteralBit64(bits)) => Ok(*bits),
            _ => Err(Error::bug(format!("%{id} is no constant"))),
        }
    }

    /// Decorations of an id: what they are, and what they say.
    fn decorations(&self, id: Word) -> impl Iterator<Item = (Decoration, Option<&'m Operand>)> {
        self.module.annotations.iter().filter_map(move |inst| match inst.operands.as_slice() {
            [Operand::IdRef(target), Operand::Decoration(decoration), rest @ ..]
                if *target == id && inst.class.opcode == Op::Decorate =>
            {
                Some((*decoration, rest.first()))
            }
            _ => None,
        })
    }

    /// Symbols are the names, made different.
    fn name_variables(&mut self) {
        let module = self.module;
        for inst in module.types_global_values.iter().filter(|inst| inst.class.opcode == Op::Variable) {
            let Some(id) = inst.result_id else { continue };
            let name = self.name_of(id).unwrap_or("memory");
            let is_taken = self.symbols.values().any(|other| other == name);
            let name = if is_taken { format!("{name}_{id}") } else { name.to_owned() };
            self.symbols.insert(id, name);
        }
    }

    fn name_of(&self, id: Word) -> Option<&'m str> {
        self.module.debug_names.iter().find_map(|inst| match inst.operands.as_slice() {
            [Operand::IdRef(target), Operand::LiteralString(name)] if *target == id => Some(name.as_str()),
            _ => None,
        })
    }

    /// The symbol of a variable of the module, as it is referred to.
    fn symbol(&self, id: Word) -> Res<String> {
        let name = self.symbols.get(&id).ok_or_else(|| Error::bug(format!("%{id} has no symbol")))?;
        Ok(symbol(name))
    }

    // ── the module ──

    fn module(&mut self) -> Res<()> {
        let module = self.module;
        let names = |list: &[Instruction]| -> Vec<String> {
            let name = |inst: &Instruction| match inst.operands.first() {
                Some(Operand::Capability(capability)) => Some(types::capability(*capability)),
                Some(Operand::LiteralString(name)) => Some(name.clone()),
                _ => None,
            };
            list.iter().filter_map(name).collect()
        };
        let (capabilities, extensions) = (names(&module.capabilities), names(&module.extensions));
        self.line(format!(
            "spirv.module Logical Vulkan requires #spirv.vce<v1.5, [{}], [{}]> {{",
            capabilities.join(", "),
            extensions.join(", ")
        ));
        self.depth += 1;
        for inst in module.types_global_values.iter().filter(|inst| inst.class.opcode == Op::Variable) {
            self.global(inst)?;
        }
        self.function()?;
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    fn global(&mut self, inst: &Instruction) -> Res<()> {
        let (Some(id), Some(ty)) = (inst.result_id, inst.result_type) else {
            return Err(Error::bug("a variable without a type"));
        };
        let (mut set, mut binding, mut more) = (None, None, String::new());
        for (decoration, literal) in self.decorations(id) {
            match (decoration, literal) {
                (Decoration::DescriptorSet, Some(Operand::LiteralBit32(number))) => set = Some(number),
                (Decoration::Binding, Some(Operand::LiteralBit32(number))) => binding = Some(number),
                (Decoration::BuiltIn, Some(Operand::BuiltIn(built_in))) => {
                    let _ = write!(more, " built_in(\"{}\")", built_in_name(*built_in));
                }
                (Decoration::Aliased, _) => more += " {aliased}",
                (other, _) => return Err(self.unsupported(format!("decoration {other:?} of variables"))),
            }
        }
        let place = match (set, binding) {
            (Some(set), Some(binding)) => format!(" bind({set}, {binding})"),
            _ => String::new(),
        };
        // Where this version does not write *Block*, shared memory of several types would have no layout.
        let class = self.class(id)?;
        if class == StorageClass::Workgroup && more.contains("aliased") && self.version < Llvm::V22 {
            return Err(self.unsupported("blocks in shared memory"));
        }
        let (name, ty) = (self.symbol(id)?, self.ty(ty)?);
        self.line(format!("spirv.GlobalVariable {name}{place}{more} : {ty}"));
        Ok(())
    }

    fn function(&mut self) -> Res<()> {
        let module = self.module;
        let Some([Operand::ExecutionModel(_), _, Operand::LiteralString(name), interface @ ..]) =
            module.entry_points.first().map(|inst| inst.operands.as_slice())
        else {
            return Err(Error::bug("a module without an entry point"));
        };
        let name = symbol(name);
        self.line(format!("spirv.func {name}() \"None\" {{"));
        self.depth += 1;
        self.constants()?;
        let mut next = 0;
        while next < self.blocks.len() {
            next = self.block(next)?;
        }
        self.depth -= 1;
        self.line("}");
        let mut entry = format!("spirv.EntryPoint \"GLCompute\" {name}");
        for operand in interface {
            if let Operand::IdRef(id) = operand {
                let _ = write!(entry, ", {}", self.symbol(*id)?);
            }
        }
        self.line(entry);
        for inst in &module.execution_modes {
            if let [_, Operand::ExecutionMode(mode), numbers @ ..] = inst.operands.as_slice() {
                let number = |operand: &Operand| match operand {
                    Operand::LiteralBit32(number) => Some(format!(", {number}")),
                    _ => None,
                };
                let numbers: String = numbers.iter().filter_map(number).collect();
                self.line(format!("spirv.ExecutionMode {name} \"{mode:?}\"{numbers}"));
            }
        }
        Ok(())
    }

    /// The constants and addresses that the function uses.
    fn constants(&mut self) -> Res<()> {
        let module = self.module;
        let mut used: Vec<Word> = Vec::new();
        for inst in self.blocks.iter().flat_map(|block| &block.instructions) {
            let attributes = ops::attribute_operands(inst);
            let ids = inst.operands.iter().enumerate().filter_map(|(at, operand)| match operand {
                Operand::IdRef(id) if !attributes.contains(&at) => Some(*id),
                _ => None,
            });
            used.extend(ids);
        }
        used.sort_unstable();
        used.dedup();
        for inst in &module.types_global_values {
            let Some(id) = inst.result_id.filter(|id| used.binary_search(id).is_ok()) else { continue };
            let Some(ty) = inst.result_type else { continue };
            let ty = self.ty(ty)?;
            if inst.class.opcode == Op::Variable {
                let symbol = self.symbol(id)?;
                self.line(format!("%{id} = spirv.mlir.addressof {symbol} : {ty}"));
            } else {
                let value = self.constant(inst)?;
                self.line(format!("%{id} = spirv.Constant {value}"));
            }
        }
        Ok(())
    }

    // ── control flow ──

    fn place(&self, label: Word) -> Res<usize> {
        self.places.get(&label).copied().ok_or_else(|| Error::bug(format!("no block %{label}")))
    }

    /// Prints a block without its label, and those that continue it behind constructs. Gives the next one.
    fn block(&mut self, first: usize) -> Res<usize> {
        let blocks = self.blocks;
        let mut at = first;
        'block: loop {
            let block = blocks.get(at).ok_or_else(|| Error::bug("a construct without an end"))?;
            for (i, inst) in block.instructions.iter().enumerate() {
                match inst.class.opcode {
                    Op::SelectionMerge => {
                        let merge = Self::operand(inst, 0)?;
                        self.line("spirv.mlir.selection {");
                        self.depth += 1;
                        let branch = block.instructions.get(i + 1);
                        self.instruction(branch.ok_or_else(|| Error::bug("no branch"))?)?;
                        at = self.region(at + 1, merge)?;
                        continue 'block;
                    }
                    Op::Branch
                        if self.place(Self::operand(inst, 0)?)? == at + 1 && self.is_header(at + 1) =>
                    {
                        let merge = Self::operand(&blocks[at + 1].instructions[0], 0)?;
                        self.line("spirv.mlir.loop {");
                        self.depth += 1;
                        self.instruction(inst)?;
                        at = self.region(at + 1, merge)?;
                        continue 'block;
                    }
                    Op::LoopMerge => {}
                    _ => self.instruction(inst)?,
                }
            }
            return Ok(at + 1);
        }
    }

    /// Whether a block is the header of a loop.
    fn is_header(&self, at: usize) -> bool {
        let first = self.blocks.get(at).and_then(|block| block.instructions.first());
        first.is_some_and(|inst| inst.class.opcode == Op::LoopMerge)
    }

    /// Prints the rest of a construct's region: the blocks up to the merge block, and the end. Gives the merge block.
    fn region(&mut self, first: usize, merge: Word) -> Res<usize> {
        let end = self.place(merge)?;
        let mut at = first;
        while at < end {
            self.label(self.blocks[at].label_id().unwrap_or_default());
            at = self.block(at)?;
        }
        self.label(merge);
        self.line("spirv.mlir.merge");
        self.depth -= 1;
        self.line("}");
        Ok(end)
    }

    fn label(&mut self, label: Word) {
        self.depth -= 1;
        self.line(format!("^bb{label}:"));
        self.depth += 1;
    }
}

/// A reference to a symbol, in quotes where it is no identifier.
fn symbol(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_$.".contains(c);
    if name.chars().all(is_plain) && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return format!("@{name}");
    }
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\{:02X}", c as u32 & 0xff),
        c => c.to_string(),
    };
    format!("@\"{}\"", name.chars().map(escaped).collect::<String>())
}

fn built_in_name(built_in: BuiltIn) -> String {
    format!("{built_in:?}")
}
