//! Notes for a profiler: where the code is.
//!
//! With [`Options::profile`](crate::Options), the number of a [`Site`] is stored before the operations that take time, where
//! it differs from the one that was stored before in the same block. Constants, addresses, control, and beside
//! other code what lanes have in common count to what is around them, integer arithmetic before a load of the same line to the
//! load. A matrix operation notes its site where it calls a kernel, for it may be put off, or become nothing.
//!
//! The stores are volatile, so they stay where they are among calls and other volatile accesses; ordinary instructions may
//! pass them, so a site is right within some instructions.

use crate::abi::{FIRST_SITE, Family, Site};
use crate::error::Result;
use crate::lower::{Lower, waits};
use crate::prologue::Field;
use inkwell::basic_block::BasicBlock;
use phalanx_ir::{BinaryOp, Block, Inst, LocId, Op, Value};
use rustc_hash::FxHashMap;

/// The sites of a module, of all its forms.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    pub(crate) list: Vec<Site>,
    numbers: FxHashMap<(String, u32, u32, Family, &'static str), u32>,
}

/// Instructions that may compute an address.
const MAX_ADDRESS: usize = 16;

fn is_of_addresses(op: BinaryOp) -> bool {
    use BinaryOp::{And, Ashr, Iadd, Imul, Isub, Lshr, Or, Shl, Xor};
    matches!(op, Iadd | Isub | Imul | And | Or | Xor | Shl | Lshr | Ashr)
}

/// Where lowering is.
#[derive(Debug, Default)]
pub(crate) struct Here<'c> {
    /// The source position of the last instruction that had one.
    loc: LocId,
    /// The site of the current instruction.
    now: Option<u32>,
    /// The one that was stored last, and in which block.
    noted: Option<(BasicBlock<'c>, u32)>,
    /// The block that is lowered, and how far.
    pub(crate) at: Option<(Block, usize)>,
    /// Whether the code is that for the elements of a matrix.
    pub(crate) is_element: bool,
    /// Where the code decodes the elements of a matrix: the blocks of which it has asked for what lies behind them.
    pub(crate) decoded: Option<Vec<Value>>,
}

impl Lower<'_, '_> {
    /// Goes to the site of an instruction, if it has one.
    pub(crate) fn come_to(&mut self, inst: Inst, is_matrix: bool) -> Result<()> {
        if !self.e.has_notes {
            return Ok(());
        }
        let info = self.f.inst(inst);
        if info.loc != 0 {
            self.here.loc = info.loc;
        }
        let Some(family) = self.family(inst, is_matrix) else { return Ok(()) };
        let (family, info) = match self.load_behind(inst) {
            Some(load) if family == Family::Lanes => (Family::Memory, self.f.inst(load)),
            _ => (family, info),
        };
        let operation = match family {
            Family::Lanes if !matches!(info.op, Op::Subgroup(_)) => "arithmetic",
            _ => phalanx_ir::text::mnemonic(&info.op),
        };
        let ir = self.ir;
        let loc = self.here.loc.checked_sub(1).and_then(|i| ir.locs.get(i as usize));
        let (file, line, word) = loc.map_or(("", 0, 0), |loc| (loc.file.as_str(), loc.line, loc.word));
        if line == 0 && self.goes_on(family) {
            return Ok(());
        }
        // Of a line all instructions are one site; without lines each is one.
        let key = (file.to_owned(), line, if line == 0 { word } else { 0 }, family, operation);
        let sites = &mut self.common.sites;
        let next = FIRST_SITE + sites.list.len() as u32;
        let number = *sites.numbers.entry(key).or_insert(next);
        if number == next {
            let (file, operation) = (file.to_owned(), operation.to_owned());
            sites.list.push(Site { file, line, word, function: String::new(), operation, family });
        }
        self.here.now = Some(number);
        let is_component = matches!(
            info.op,
            Op::MatExtract | Op::MatInsert | Op::VarComponentLoad(_) | Op::VarComponentStore(_)
        );
        if is_matrix && !is_component { Ok(()) } else { self.note_site() }
    }

    /// Whether lane code without lines goes on where lane code is: it would be a site for each instruction.
    fn goes_on(&self, family: Family) -> bool {
        let Some((_, number)) = self.here.noted else { return false };
        let last = self.common.sites.list.get((number - FIRST_SITE) as usize);
        family == Family::Lanes
            && last.is_some_and(|site| site.family == family && site.line == 0)
            && self.is_noted_here()
    }

    /// Stores the number of the current site.
    pub(crate) fn note_site(&mut self) -> Result<()> {
        let Some(number) = self.here.now else { return Ok(()) };
        let note = (self.e.here()?, number);
        if self.here.noted == Some(note) {
            return Ok(());
        }
        self.here.noted = Some(note);
        let word = self.field_ptr(Field::Site)?;
        self.e.note(number, word)
    }

    /// The family of an operation; none of those that take no time of their own.
    fn family(&self, inst: Inst, is_matrix: bool) -> Option<Family> {
        let info = self.f.inst(inst);
        Some(match &info.op {
            Op::MatMulAdd(_) | Op::VecMatMul(_) | Op::VecOuterAdd(_) | Op::VecReduceAdd(_) => {
                Family::MultiplyAdd
            }
            Op::MatLoad { .. } | Op::MatStore { .. } | Op::MatLoadTensor { .. } | Op::MatStoreTensor(_) => {
                Family::MatrixMemory
            }
            _ if is_matrix || self.here.is_element => Family::MatrixElements,
            Op::Load(_) | Op::Store(_) | Op::Atomic(_) => Family::Memory,
            Op::Image(..) | Op::Printf(_) | Op::Warn(_) => Family::Services,
            op @ Op::Barrier(_) if waits(op) => Family::Barrier,
            // A scalar instruction, of which there are few beside those of vectors.
            op if !matches!(op, Op::Subgroup(_)) && self.is_scalar(inst) && self.is_noted_here() => {
                return None;
            }
            Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Fma
            | Op::Select
            | Op::Convert(_)
            | Op::Subgroup(_) => Family::Lanes,
            // An element by a constant is a register.
            Op::VarLoad(_) if !info.args.is_empty() && self.is_varying_index(inst) => Family::Lanes,
            Op::VarStore(_) if info.args.len() > 1 && self.is_varying_index(inst) => Family::Lanes,
            _ => return None,
        })
    }

    fn is_scalar(&self, inst: Inst) -> bool {
        self.f.inst(inst).results.iter().any(|&v| self.uniformity.is_uniform(v))
    }

    /// Whether this block has a note.
    fn is_noted_here(&self) -> bool {
        self.here.noted.is_some_and(|(block, _)| self.e.here().is_ok_and(|here| here == block))
    }

    /// The load of the same line that follows integer arithmetic, which is its address then.
    fn load_behind(&self, inst: Inst) -> Option<Inst> {
        let (block, at) = self.here.at?;
        let list = self.f.block(block);
        let line = |inst: Inst| self.ir.locs.get((self.f.inst(inst).loc as usize).checked_sub(1)?);
        let is_same_line = |other| match (line(inst), line(other)) {
            (Some(a), Some(b)) => a.line != 0 && (a.line, &a.file) == (b.line, &b.file),
            _ => false,
        };
        if list.get(at) != Some(&inst) {
            return None;
        }
        for &next in list[at..].iter().take(MAX_ADDRESS) {
            match &self.f.inst(next).op {
                Op::Load(_) if next != inst => return is_same_line(next).then_some(next),
                Op::Binary(op) if is_of_addresses(*op) => {}
                op if op.bodies().next().is_none() && self.family(next, false).is_none() => {}
                _ => return None,
            }
        }
        None
    }

    fn is_varying_index(&self, inst: Inst) -> bool {
        self.f.inst(inst).args.first().is_some_and(|&index| self.f.const_bits(index).is_none())
    }
}
