//! Accesses by device address: where they stand, and checks of them.
//!
//! An access by address may fault. So each is preceded by a note of its place in the source, if there are any: a store
//! of a constant. Where checks are asked for ([`Options::check_addresses`](crate::Options)), the host is asked then whether all of it lies in buffers that are there. If not, it stops
//! the dispatch, and the subgroup leaves before the access. This is slow, and small: a call for the addresses of all
//! lanes. Accesses of whole matrices through tensor layouts have no such check and are refused.

use crate::abi::offset;
use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::prologue::Field;
use crate::value::{Ptr, Val};
use phalanx_ir::{Inst, Space};

/// Numbers of the stack slots that the host reads.
const ADDRESSES: u32 = 0;
const MASK: u32 = 1;

/// What an access does besides having addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checked<'c> {
    /// Runs of bytes, and bytes from the beginning of one to that of the next.
    pub(crate) runs: V<'c>,
    pub(crate) stride: V<'c>,
    /// Bytes of a run.
    pub(crate) bytes: u64,
    pub(crate) writes: bool,
}

impl<'c> Lower<'_, 'c> {
    /// Checks an access of so many bytes in each active lane.
    pub(crate) fn check_access(&mut self, inst: Inst, p: &Ptr<'c>, bytes: u64, writes: bool) -> Result<()> {
        let (runs, stride) = (self.e.i64(1), self.e.i64(0));
        self.check_lane_runs(inst, p.space, p.offset, Checked { runs, stride, bytes, writes })
    }

    /// Checks an access of several runs in each active lane.
    pub(crate) fn check_lane_runs(
        &mut self,
        inst: Inst,
        space: Space,
        addresses: Val<'c>,
        what: Checked<'c>,
    ) -> Result<()> {
        if !self.is_checked(inst, space)? {
            return Ok(());
        }
        let addresses = self.vector(addresses)?;
        let bits = self.e.mask_bits(self.exec_mask())?;
        let mask = self.e.zext_trunc(bits, 128)?;
        self.ask(addresses, mask, what)
    }

    /// Checks an access of several runs from one address, which all lanes do together.
    pub(crate) fn check_runs(
        &mut self,
        inst: Inst,
        space: Space,
        address: V<'c>,
        what: Checked<'c>,
    ) -> Result<()> {
        if !self.is_checked(inst, space)? {
            return Ok(());
        }
        let mask = self.e.int(128, 1);
        self.ask(address, mask, what)
    }

    /// Takes an access of which nobody says in advance where it goes, if that need not be checked.
    pub(crate) fn go_unchecked(&mut self, inst: Inst, space: Space) -> Result<()> {
        if self.is_checked(inst, space)? {
            return Err(Error::unsupported("checking device addresses of accesses through tensor layouts"));
        }
        Ok(())
    }

    /// Whether an access is checked: one by a device address, where that is asked for. It may fault if not.
    fn is_checked(&mut self, inst: Inst, space: Space) -> Result<bool> {
        if space != Space::Global {
            return Ok(false);
        }
        self.note_place(inst)?;
        Ok(self.common.checks_addresses)
    }

    fn ask(&mut self, addresses: V<'c>, mask: V<'c>, what: Checked<'c>) -> Result<()> {
        let addresses_at = self.spill_slot(addresses.get_type(), ADDRESSES)?;
        self.e.store(addresses, addresses_at, 8)?;
        let mask_at = self.spill_slot(mask.get_type(), MASK)?;
        self.e.store(mask, mask_at, 8)?;
        let check = self.table_entry(Field::Services, offset::SERVICES_CHECK as u64)?;
        let args = [
            self.prologue.context.into(),
            mask_at.into(),
            addresses_at.into(),
            what.runs,
            what.stride,
            self.e.i64(what.bytes as i64),
            self.e.i32(what.writes.into()),
        ];
        self.e.call(check, &args, None)?;
        self.leave_if_stopped()
    }

    /// Notes where an access stands in the source, for those who have to tell of it. Shaders without lines do without.
    fn note_place(&mut self, inst: Inst) -> Result<()> {
        if self.ir.locs.is_empty() {
            return Ok(());
        }
        let number = self.place_of(inst);
        let at = self.e.field(self.prologue.context, offset::SUBGROUP_PLACE as u64)?;
        // Volatile, for the access that comes next may not return.
        let store = self.e.store(self.e.i32(number), at, 4)?;
        store.set_volatile(true).map_err(|e| Error::bug(e.to_string()))
    }

    /// The number of the place of an instruction; 0 if nobody knows it.
    fn place_of(&mut self, inst: Inst) -> u32 {
        let loc = self.f.inst(inst).loc.checked_sub(1).and_then(|i| self.ir.locs.get(i as usize));
        let Some(loc) = loc.filter(|loc| loc.line != 0) else { return 0 };
        let text = match loc.file.as_str() {
            "" => format!("line {}", loc.line),
            file => format!("{file}:{}", loc.line),
        };
        if let Some(&number) = self.common.place_numbers.get(&text) {
            return number;
        }
        self.common.places.push(text.clone());
        let number = self.common.places.len() as u32;
        self.common.place_numbers.insert(text, number);
        number
    }
}
