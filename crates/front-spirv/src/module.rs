//! The tables of a module: what is declared where.
//!
//! One pass over the instructions sorts them into sections (SPIR-V 2.4). Nothing is evaluated:
//! types and constants depend on the specialisation.

use crate::decor::{Decorations, Names};
use crate::diag::{Fault, Location, Res, code, invalid, unsupported};
use crate::reader::{Header, Id, Inst, read_header, read_insts};
use rustc_hash::FxHashMap;
use spirv::Op;

/// An imported set of extended instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExtSet {
    /// `GLSL.std.450`.
    Glsl,
    /// `NonSemantic.DebugPrintf`.
    Printf,
    /// `NonSemantic.Shader.DebugInfo.100`.
    DebugInfo,
    /// Any other `NonSemantic.*`, which may be ignored.
    NonSemantic,
    /// A set that is not supported; an error where it is used.
    Unknown,
}

/// *OpEntryPoint*.
#[derive(Clone, Debug)]
pub(crate) struct EntryPoint {
    /// Execution model.
    pub(crate) model: u32,
    /// The function.
    pub(crate) function: Id,
    /// Its name.
    pub(crate) name: String,
    /// Index of the instruction.
    pub(crate) inst: usize,
}

/// A function: its declaration and the extent of its blocks.
#[derive(Clone, Debug)]
pub(crate) struct FunctionDecl {
    /// Its id.
    pub(crate) id: Id,
    /// Index of its *OpFunction*.
    pub(crate) inst: usize,
    /// Ids and types of its parameters.
    pub(crate) params: Vec<(Id, Id)>,
    /// Its blocks in module order; the first is the entry.
    pub(crate) blocks: Vec<BlockDecl>,
}

/// A basic block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockDecl {
    /// Id of its label.
    pub(crate) label: Id,
    /// Index of the first instruction after the label.
    pub(crate) first: usize,
    /// Index of the terminator.
    pub(crate) term: usize,
}

/// A position that *OpLine* or *DebugLine* gives.
#[derive(Clone, Copy, Debug)]
struct Line {
    file: Id,
    line: u32,
}

/// A module, sorted into sections.
#[derive(Debug)]
pub(crate) struct Spv<'w> {
    pub(crate) header: Header,
    pub(crate) insts: Vec<Inst<'w>>,
    pub(crate) names: Names,
    pub(crate) decor: Decorations<'w>,
    /// Declared capabilities, by number.
    pub(crate) capabilities: Vec<u32>,
    /// Declared extensions.
    pub(crate) extensions: Vec<String>,
    /// Addressing model.
    pub(crate) addressing: u32,
    pub(crate) ext_sets: FxHashMap<Id, (ExtSet, String)>,
    pub(crate) entry_points: Vec<EntryPoint>,
    /// Indices of *OpExecutionMode* and *OpExecutionModeId*.
    pub(crate) modes: Vec<usize>,
    /// Indices of types, constants and module-scope variables, in order.
    pub(crate) globals: Vec<usize>,
    pub(crate) functions: FxHashMap<Id, FunctionDecl>,
    strings: FxHashMap<Id, String>,
    /// Index of the instruction that defines an id.
    defs: FxHashMap<Id, u32>,
    /// For each instruction, an index into `positions` plus one, or 0.
    lines: Vec<u32>,
    positions: Vec<Line>,
}

impl<'w> Spv<'w> {
    /// Reads a module.
    pub(crate) fn read(words: &'w [u32]) -> Res<Self> {
        let header = read_header(words)?;
        let insts = read_insts(words, &header)?;
        let mut spv = Self {
            header,
            names: Names::default(),
            decor: Decorations::default(),
            capabilities: Vec::new(),
            extensions: Vec::new(),
            addressing: 0,
            ext_sets: FxHashMap::default(),
            entry_points: Vec::new(),
            modes: Vec::new(),
            globals: Vec::new(),
            functions: FxHashMap::default(),
            strings: FxHashMap::default(),
            defs: FxHashMap::default(),
            lines: vec![0; insts.len()],
            positions: Vec::new(),
            insts: Vec::new(),
        };
        spv.index(insts)?;
        spv.read_functions()?;
        spv.read_lines();
        Ok(spv)
    }

    fn index(&mut self, insts: Vec<Inst<'w>>) -> Res<()> {
        self.insts = insts;
        let mut in_function = false;
        for i in 0..self.insts.len() {
            let inst = self.insts[i];
            if inst.id != 0 && self.defs.insert(inst.id, i as u32).is_some() {
                return Err(self.locate(invalid(code::ID, "the id is defined twice"), i));
            }
            in_function |= inst.op == Op::Function;
            if !in_function {
                self.read_global(i, &inst).map_err(|fault| self.locate(fault, i))?;
            }
        }
        Ok(())
    }

    fn read_global(&mut self, i: usize, inst: &Inst<'w>) -> Res<()> {
        match inst.op {
            Op::Capability => self.capabilities.push(inst.arg(0)?),
            Op::Extension => self.extensions.push(inst.string(0)?.0),
            Op::ExtInstImport => {
                let name = inst.string(0)?.0;
                self.ext_sets.insert(inst.id, (ext_set(&name), name));
            }
            Op::MemoryModel => self.read_memory_model(inst)?,
            Op::EntryPoint => {
                let (model, function) = (inst.arg(0)?, inst.arg(1)?);
                self.entry_points.push(EntryPoint { model, function, name: inst.string(2)?.0, inst: i });
            }
            Op::ExecutionMode | Op::ExecutionModeId => self.modes.push(i),
            Op::String => {
                self.strings.insert(inst.id, inst.string(0)?.0);
            }
            _ => {
                if !self.names.read(inst)? && !self.decor.read(inst)? {
                    self.globals.push(i);
                }
            }
        }
        Ok(())
    }

    fn read_memory_model(&mut self, inst: &Inst<'_>) -> Res<()> {
        self.addressing = inst.arg(0)?;
        // Logical or PhysicalStorageBuffer64; the others belong to kernels.
        if !matches!(self.addressing, 0 | 5348) {
            return Err(unsupported(code::EXTENSION, "an addressing model of OpenCL kernels"));
        }
        // Simple, GLSL450 or Vulkan; we order memory at least as strongly as each demands.
        if !matches!(inst.arg(1)?, 0 | 1 | 3) {
            return Err(unsupported(code::EXTENSION, "the memory model of OpenCL kernels"));
        }
        Ok(())
    }

    fn read_functions(&mut self) -> Res<()> {
        let mut i = self.insts.iter().position(|inst| inst.op == Op::Function).unwrap_or(self.insts.len());
        while i < self.insts.len() {
            match self.insts[i].op {
                Op::Function => {
                    let (decl, end) = self.read_function(i)?;
                    self.functions.insert(decl.id, decl);
                    i = end;
                }
                Op::Line | Op::NoLine | Op::ExtInst | Op::ExtInstWithForwardRefsKHR | Op::Nop => i += 1,
                _ => {
                    let fault = invalid(code::LAYOUT, "stands between functions");
                    return Err(self.locate(fault, i));
                }
            }
        }
        Ok(())
    }

    fn read_function(&self, start: usize) -> Res<(FunctionDecl, usize)> {
        let id = self.insts[start].id;
        let mut decl = FunctionDecl { id, inst: start, params: Vec::new(), blocks: Vec::new() };
        let mut open: Option<(Id, usize)> = None;
        for i in start + 1..self.insts.len() {
            let inst = &self.insts[i];
            let layout = |m: &str| Err(self.locate(invalid(code::LAYOUT, m), i));
            match inst.op {
                Op::FunctionEnd if open.is_some() => return layout("the block before lacks a terminator"),
                Op::FunctionEnd => return Ok((decl, i + 1)),
                Op::FunctionParameter if decl.blocks.is_empty() && open.is_none() => {
                    decl.params.push((inst.id, inst.ty));
                }
                Op::Function | Op::FunctionParameter => return layout("stands inside a function body"),
                Op::Label if open.is_some() => return layout("the block before lacks a terminator"),
                Op::Label => open = Some((inst.id, i + 1)),
                op if rspirv::grammar::reflect::is_block_terminator(op) => {
                    let Some((label, first)) = open.take() else {
                        return layout("stands outside of a block");
                    };
                    decl.blocks.push(BlockDecl { label, first, term: i });
                }
                Op::Line | Op::NoLine | Op::ExtInst | Op::ExtInstWithForwardRefsKHR | Op::Nop => {}
                _ if open.is_none() => return layout("stands outside of a block"),
                _ => {}
            }
        }
        Err(self.locate(invalid(code::LAYOUT, "the function lacks its OpFunctionEnd"), start))
    }

    /// Gives each instruction in a function its source position (SPIR-V 2.4, *OpLine*): a position
    /// holds until the next one or the end of the block.
    fn read_lines(&mut self) {
        let mut current = 0;
        for i in 0..self.insts.len() {
            let inst = self.insts[i];
            match inst.op {
                Op::Line => current = self.position(inst.args[0], inst.args[1]),
                Op::ExtInst if self.ext_set_of(&inst) == ExtSet::DebugInfo => match inst.args.get(1) {
                    Some(103) => current = self.debug_line(&inst).unwrap_or(current),
                    Some(104) => current = 0,
                    _ => {}
                },
                Op::NoLine | Op::Label | Op::FunctionEnd => current = 0,
                _ => {}
            }
            self.lines[i] = current;
        }
    }

    fn position(&mut self, file: Id, line: u32) -> u32 {
        self.positions.push(Line { file, line });
        self.positions.len() as u32
    }

    /// *DebugLine*: source, line start, line end, column start, column end; constants are ids.
    fn debug_line(&mut self, inst: &Inst<'_>) -> Option<u32> {
        let source = self.def(*inst.args.get(2)?)?;
        let file = if source.op == Op::ExtInst { *source.args.get(2)? } else { 0 };
        let line = self.def(*inst.args.get(3)?).filter(|c| c.op == Op::Constant)?;
        let line = *line.args.first()?;
        Some(self.position(file, line))
    }

    /// The set that an *OpExtInst* belongs to.
    pub(crate) fn ext_set_of(&self, inst: &Inst<'_>) -> ExtSet {
        inst.args.first().and_then(|set| self.ext_sets.get(set)).map_or(ExtSet::Unknown, |s| s.0)
    }

    /// The instruction that defines an id.
    pub(crate) fn def(&self, id: Id) -> Option<Inst<'w>> {
        self.defs.get(&id).map(|&i| self.insts[i as usize])
    }

    /// The text of an *OpString*.
    pub(crate) fn string(&self, id: Id) -> Option<&str> {
        self.strings.get(&id).map(|s| &**s)
    }

    /// File and line of an instruction; an empty name and 0 if unknown.
    pub(crate) fn line(&self, inst: usize) -> (&str, u32) {
        match self.lines.get(inst).copied().unwrap_or(0) {
            0 => ("", 0),
            n => {
                let at = &self.positions[n as usize - 1];
                (self.string(at.file).unwrap_or(""), at.line)
            }
        }
    }

    /// The location of an instruction.
    pub(crate) fn location(&self, i: usize) -> Location {
        let inst = &self.insts[i];
        let (file, line) = self.line(i);
        let name = self.names.of(inst.id).to_owned();
        Location { word: inst.at, opcode: inst.name(), id: inst.id, name, file: file.to_owned(), line }
    }

    /// Adds the location of instruction `i` to a fault that has none.
    pub(crate) fn locate(&self, mut fault: Fault, i: usize) -> Fault {
        if fault.location == Location::default() {
            fault.location = self.location(i);
        }
        fault
    }
}

fn ext_set(name: &str) -> ExtSet {
    match name {
        "GLSL.std.450" => ExtSet::Glsl,
        "NonSemantic.DebugPrintf" => ExtSet::Printf,
        "NonSemantic.Shader.DebugInfo.100" => ExtSet::DebugInfo,
        _ if name.starts_with("NonSemantic.") => ExtSet::NonSemantic,
        _ => ExtSet::Unknown,
    }
}
