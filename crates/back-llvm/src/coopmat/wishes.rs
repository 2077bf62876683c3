//! Telling multiplications what will be read next.
//!
//! A work-group that stages factors through shared memory reads a buffer in pieces between multiplications, further on in
//! each round. Each such read notes where it began; multiplications find out where it goes on, and ask for that while they
//! are at it (see [`Wishes`]). Where they do not, a quarter of a kernel's time is waiting for memory. So it is with the loads
//! of small matrices that a subgroup has only one product of.

use super::schedule::{Group, Schedule};
use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::memory::Access;
use inkwell::values::{InstructionOpcode, PointerValue};
use phalanx_ir::{Function, MatType, Op, Space, Type, Use, Value};
use phalanx_kernels::{KernelId, Plan, Wishes};

/// Bytes of a line of the cache.
pub(super) const LINE: u64 = 64;

/// How many reads before one the second cache is asked for it again: more than a processor has under way by itself.
const SOON: u64 = 8;

/// Bytes of a row up to which a matrix is small.
const SMALL: u64 = LINE;

/// Kernels that do not ask.
const SILENT: [KernelId; 6] = [
    KernelId::MUL_ADD_GENERAL,
    KernelId::MUL_ADD_SATURATING,
    KernelId::MUL_ADD_AMX_BF16,
    KernelId::MUL_ADD_AMX_I8,
    KernelId::MUL_ADD_AMX_SPLIT,
    KernelId::MUL_ADD_AMX_SPLIT_HALF,
];

/// Whether a function multiplies what it has staged, or small matrices one by one, by kernels that ask.
pub(super) fn are_worth(func: &Function, schedule: &Schedule, plan: impl Fn(&Group) -> Plan) -> bool {
    let stages = func.insts.iter().any(|info| {
        matches!(info.op, Op::MatLoad { .. }) && func.ty(info.args[0]) == Type::Ptr(Space::Shared)
    });
    let is_chain = |group: &Group| group.m * group.n == 1 && group.k > 1;
    let asks = |group: &&Group| !SILENT.contains(&plan(group).kernel);
    schedule.groups().filter(asks).any(|group| stages || is_chain(group))
}

/// Whether a function loads factors through tensor layouts in one place each, for multiplications that ask. With several
/// places, what is read before each multiplication would have to be told apart.
pub(super) fn asks_for_tensors(func: &Function, schedule: &Schedule, plan: impl Fn(&Group) -> Plan) -> bool {
    let loads = func.insts.iter().filter(|info| match &info.op {
        Op::MatLoadTensor { access, decode: None } => super::tensor::runs(func, info, access).is_some(),
        _ => false,
    });
    let uses: Vec<Use> = loads.filter_map(|info| Some(func.ty(info.results[0]).mat()?.use_)).collect();
    let is_once = |use_| uses.iter().filter(|&&u| u == use_).count() <= 1;
    let asks = schedule.groups().any(|group| !SILENT.contains(&plan(group).kernel));
    !uses.is_empty() && is_once(Use::A) && is_once(Use::B) && asks
}

impl<'c> Lower<'_, 'c> {
    /// The subgroup's notes of what it read, for multiplications, if they are worth it.
    pub(super) fn wishes(&mut self) -> Result<Option<PointerValue<'c>>> {
        if !self.mats.has_wishes {
            return Ok(None);
        }
        if let Some(wishes) = self.mats.wishes {
            return Ok(Some(wishes));
        }
        // Behind the list is room for what is looked at before it is read.
        let at = self.alloc_scratch(size_of::<Wishes>() as u64 + SOON * Wishes::ENTRY as u64, LINE);
        let wishes = self.scratch_ptr(at)?;
        self.at_entry(|l| {
            for word in (0..Wishes::HEAD as u64).step_by(8) {
                let at = l.e.field(wishes, word)?;
                l.e.store(l.e.i64(0), at, 8)?;
            }
            Ok(())
        })?;
        Ok(Some(*self.mats.wishes.insert(wishes)))
    }

    /// Notes that so many bytes of a buffer are read together.
    pub(crate) fn note_read(&mut self, space: Space, at: PointerValue<'c>, bytes: u64) -> Result<()> {
        let lines = bytes / LINE;
        if !matches!(space, Space::Buffer | Space::Global) || lines == 0 {
            return Ok(());
        }
        let Some(wishes) = self.wishes()? else { return Ok(()) };
        let (stride, count) = (self.e.i64(LINE as i64), self.e.i64(lines as i64));
        let entry = self.note(wishes, at, stride, count)?;
        // What was asked for in the round before may be lost again, so the next few reads, as the notes of that round
        // have it, are asked for once more.
        let next = self.e.field(entry, (SOON * Wishes::ENTRY as u64) + 8)?;
        let next = self.e.load(self.e.ptr_ty(), next, 8)?.into_pointer_value();
        for line in 0..lines {
            let line = self.e.field(next, line * LINE)?;
            self.want_later(line)?;
        }
        Ok(())
    }

    /// Asks for what lies behind a block that is decoded, once for each, where a first load of all lanes from it begins.
    ///
    /// A tile has a block or two of each row, and the next tile those behind them: less than a line of the cache, which
    /// may be there already, so it is no [`note`](Self::note) for multiplications.
    pub(crate) fn ask_behind_block(&mut self, a: &Access<'c>, at: PointerValue<'c>) -> Result<()> {
        let Some(decoded) = &mut self.here.decoded else { return Ok(()) };
        let block = self.f.root(self.f.inst(a.inst).args[0]);
        if !matches!(a.ptr.space, Space::Buffer | Space::Global) || decoded.contains(&block) {
            return Ok(());
        }
        decoded.push(block);
        let behind = self.e.field(at, LINE)?;
        self.want_later(behind)
    }

    /// Asks the second cache for a line that will be read.
    pub(crate) fn want_later(&mut self, line: PointerValue<'c>) -> Result<()> {
        // To be read, into the second cache, data.
        let args = [line.into(), self.e.i32(0), self.e.i32(2), self.e.i32(1)];
        self.e.intrinsic_effect("llvm.prefetch", &[self.e.ptr_ty().into()], &args)?;
        Ok(())
    }

    /// Notes that a small factor is loaded.
    pub(super) fn note_load(
        &mut self,
        ptr: Value,
        ty: MatType,
        column_major: bool,
        call: &[V<'c>],
    ) -> Result<()> {
        let (runs, length) = if column_major { (ty.cols, ty.rows) } else { (ty.rows, ty.cols) };
        let is_small = u64::from(length) * u64::from(ty.elem.bytes()) <= SMALL;
        let is_factor = matches!(ty.use_, Use::A | Use::B);
        let space = self.ptr(ptr)?.space;
        if !(is_small && is_factor && matches!(space, Space::Buffer | Space::Global)) {
            return Ok(());
        }
        let Some(wishes) = self.wishes()? else { return Ok(()) };
        let &[base, _, offset, stride] = call else { return Err(Error::bug("an access has four operands")) };
        let at = self.e.offset(base, offset)?.into_pointer_value();
        self.note(wishes, at, stride, self.e.i64(runs.into()))?;
        Ok(())
    }

    /// Writes an entry, and gives its place.
    pub(super) fn note(
        &mut self,
        wishes: PointerValue<'c>,
        at: PointerValue<'c>,
        stride: V<'c>,
        lines: V<'c>,
    ) -> Result<PointerValue<'c>> {
        let noted = self.e.load(self.e.cx.i32_type(), wishes, 4)?;
        let index = self.e.map2("llvm.umin", noted, self.e.i32(Wishes::LAST))?;
        let index = self.e.zext_trunc(index, 64)?;
        let behind = self.e.mul(index, self.e.i64(Wishes::ENTRY as i64))?;
        let list = self.e.field(wishes, Wishes::HEAD as u64)?;
        let entry = self.e.offset(list.into(), behind)?.into_pointer_value();
        let word = self.e.cx.i64_type();
        let address = self.e.cast(InstructionOpcode::PtrToInt, at.into(), word)?;
        let last = self.e.load(word, entry, 8)?;
        let twice = self.e.add(address, address)?;
        let next = self.e.sub(twice, last)?;
        for (word, v) in (0..).zip([address, next, stride, lines]) {
            let to = self.e.field(entry, 8 * word)?;
            self.e.store(v, to, 8)?;
        }
        let more = self.e.add(noted, self.e.i32(1))?;
        self.e.store(more, wishes, 4)?;
        Ok(entry)
    }
}
