//! Loads and stores of matrices.
//!
//! Each lane moves its own elements, those that are side by side in memory and in the layout by one instruction. That is
//! done where the whole matrix is inside of its object and its lines are aligned, which is looked at once for all;
//! otherwise, and for matrices with padding, a loop goes through the registers and looks at each element.

use super::Mat;
use super::layout::Calc;
use super::layout::{Layout, Share};
use super::ldmatrix;
use super::regroup::Later;
use super::rows::{Pieces, has_rows};
use crate::lower::{Lower, Ptr};
use inkwell::IntPredicate;
use inkwell::values::PointerValue;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{Builtin, Inst, InstInfo, MatType, MemFlags, Op, Scalar, Scope, Space, Use, Value};

/// The longest stride with which it is asked whether a whole matrix is inside.
const MAX_STRIDE: i64 = 1 << 31;

/// What this warp holds of a matrix, in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'c> {
    /// Where its first element is.
    pub(super) p: Ptr<'c>,
    /// The row and the column of that, and how many the whole matrix has; nothing where the warp holds all.
    pub(super) part: Option<[(V<'c>, u32); 2]>,
    /// Bytes from a row to the next, or from a column.
    pub(super) stride: V<'c>,
    /// A power of two that divides all of them, as far as it is known.
    pub(super) align: u64,
    pub(super) column_major: bool,
    /// Whether the whole matrix is known to be in its object.
    pub(super) is_inside: bool,
    pub(super) flags: MemFlags,
    pub(super) layout: Layout,
    pub(super) elem: Scalar,
}

impl Place<'_> {
    /// Whether a lane's consecutive elements are so in memory.
    pub(super) fn is_along(&self) -> bool {
        self.layout.by_cols() == self.column_major
    }

    pub(super) fn pieces(&self) -> Pieces {
        Pieces { layout: self.layout, elem: self.elem, flags: self.flags }
    }

    /// Whether one piece of code loads it wherever it lies.
    pub(super) fn has_rows(&self) -> bool {
        let is_large = self.part.is_some() && self.p.space == Space::Buffer;
        is_large && self.is_along() && has_rows(&self.layout)
    }

    /// Bytes that are moved at once.
    pub(super) fn piece(&self) -> u64 {
        let bytes = u64::from(self.elem.bytes());
        if self.is_along() { bytes * u64::from(self.layout.width()) } else { bytes }
    }
}

impl<'c> Lower<'_, 'c> {
    pub(super) fn mat_load(&mut self, inst: Inst, column_major: bool, flags: MemFlags) -> Result<()> {
        let info = self.f.inst(inst);
        let (m, [pointer, stride]) = (self.mat_ty(info.results[0])?, [info.args[0], info.args[1]]);
        let place = self.mat_place(pointer, stride, column_major, flags, m)?;
        if self.load_late(inst, &place, m.use_)? {
            return Ok(());
        }
        let layout = place.layout;
        let words = match self.holds_some(inst, m)? {
            None => self.load_place(&place)?,
            Some(holds) => {
                let zero = self.e.zero(self.e.scalar_ty(Self::word_scalar(m.elem)));
                let count = (layout.registers() / layout.pack(m.elem)) as usize;
                self.either(holds, |l| l.load_place(&place), |_| Ok(vec![zero; count]))?
            }
        };
        self.set_mat(inst, Mat { layout, elem: m.elem, words: words.into() })
    }

    /// The words of a matrix in memory.
    fn load_place(&mut self, place: &Place<'c>) -> Result<Vec<V<'c>>> {
        match place.has_fragments() {
            true => {
                self.load_if_easy(place, ldmatrix::ALIGN, Self::load_fragments, |l| match place.align {
                    // Nothing but the bounds can be in the way.
                    align if align >= ldmatrix::ALIGN => l.load_each(place),
                    _ => l.load_if_easy(place, place.piece(), Self::load_words, |l| l.load_each(place)),
                })
            }
            false if place.has_rows() => self.load_by_rows(place),
            false => self.load_if_easy(place, place.piece(), Self::load_words, |l| l.load_each(place)),
        }
    }

    /// Whether this warp needs any of a matrix that is loaded, if some need nothing: those behind the last row of all matrices.
    /// Of a right factor all hold all, for products that these do not have.
    fn holds_some(&mut self, inst: Inst, m: MatType) -> Result<Option<V<'c>>> {
        let f = self.f;
        let of_group = m.scope == Scope::Workgroup;
        let is_multiplied = |info: &InstInfo| matches!(info.op, Op::MatMulAdd(_));
        let result = f.inst(inst).results[0];
        let mut users = f.insts.iter().filter(|info| info.args.contains(&result));
        let has_idle = self.matrices.busy < self.matrices.grid.warps;
        if !of_group || !has_idle || (m.use_ == Use::B && !users.all(is_multiplied)) {
            return Ok(None);
        }
        let (warp, busy) = (self.builtin(Builtin::SubgroupId)?, self.e.i32(self.matrices.busy));
        self.e.icmp(IntPredicate::ULT, warp, busy).map(Some)
    }

    pub(super) fn mat_store(&mut self, inst: Inst, column_major: bool, flags: MemFlags) -> Result<()> {
        let info = self.f.inst(inst);
        let (m, ty) = (self.mat(info.args[1])?, self.mat_ty(info.args[1])?);
        let (pointer, stride) = (info.args[0], info.args[2]);
        let place = self.mat_place(pointer, stride, column_major, flags, ty)?;
        if self.store_late(&m, &place, ty.use_)? {
            return Ok(());
        }
        match self.is_easy(&place, place.piece())? {
            Easy::Always => self.store_words(&place, &m),
            Easy::Never => self.store_each(&place, &m),
            Easy::If(easy) => {
                let whole = |l: &mut Self| l.store_words(&place, &m).map(|()| Vec::new());
                let each = |l: &mut Self| l.store_each(&place, &m).map(|()| Vec::new());
                self.either(easy, whole, each).map(|_nothing| ())
            }
        }
    }

    /// Loads in an easy way that wants addresses and strides to be multiples of something, or in another.
    fn load_if_easy(
        &mut self,
        place: &Place<'c>,
        align: u64,
        easily: impl FnOnce(&mut Self, &Place<'c>) -> Result<Vec<V<'c>>>,
        otherwise: impl FnOnce(&mut Self) -> Result<Vec<V<'c>>>,
    ) -> Result<Vec<V<'c>>> {
        match self.is_easy(place, align)? {
            Easy::Always => easily(self, place),
            Easy::Never => otherwise(self),
            Easy::If(easy) => self.either(easy, |l| easily(l, place), otherwise),
        }
    }

    pub(super) fn mat_place(
        &mut self,
        pointer: Value,
        stride: Value,
        column_major: bool,
        flags: MemFlags,
        m: MatType,
    ) -> Result<Place<'c>> {
        let is_inside = self.is_known_inside(pointer, stride, column_major, m);
        let of_stride = 1_u64 << self.uniformity.low_zeros(stride).min(4);
        let align = self.align_of(pointer).min(of_stride);
        let (p, stride) = (self.ptr(pointer)?, self.scalar(stride)?);
        let share = self.share_of(m);
        let (layout, elem) = (share.layout, m.elem);
        let mut place = Place { p, part: None, stride, align, column_major, is_inside, flags, layout, elem };
        if let Some((row, col)) = self.first_of_share(share)? {
            let further = self.offset_in(&place, (row, col))?;
            place.p.offset = self.e.add(place.p.offset, further)?;
            place.part = Some([(row, m.rows), (col, m.cols)]);
        }
        Ok(place)
    }

    /// Whether the bounds of indices and the constants in the way say that a matrix is in its object.
    fn is_known_inside(&self, pointer: Value, stride: Value, column_major: bool, m: MatType) -> bool {
        let Some(stride) = self.f.const_bits(stride) else { return false };
        let (lines, len) = if column_major { (m.cols, m.rows) } else { (m.rows, m.cols) };
        let extent =
            i128::from(stride) * i128::from(lines - 1) + i128::from(len) * i128::from(m.elem.bytes());
        self.is_range_inside(pointer, extent)
    }

    /// Row and column of the first element that this warp holds, if it is not the matrix's.
    pub(super) fn first_of_share(&mut self, share: Share) -> Result<Option<(V<'c>, V<'c>)>> {
        if share.warps == (1, 1) {
            return Ok(None);
        }
        let (warp, columns) = (self.builtin(Builtin::SubgroupId)?, self.matrices.grid.columns);
        let (row, col) = (Later(self).quotient(warp, columns)?, Later(self).remainder(warp, columns)?);
        let first = |number, warps: u32, side: u32| match warps {
            1 => Ok(self.e.i32(0)),
            _ => self.e.mul(number, self.e.i32(side)),
        };
        let row = first(row, share.warps.0, share.layout.rows)?;
        Ok(Some((row, first(col, share.warps.1, share.layout.cols)?)))
    }

    /// Whether all that this warp holds is in the matrix, if that is not known; nothing if it may be in parts.
    fn is_held(&mut self, place: &Place<'c>) -> Result<Option<V<'c>>> {
        let yes = self.e.bool(true);
        let Layout { rows, cols, .. } = place.layout;
        let Some([(row, all_rows), (col, all_cols)]) = place.part else {
            return Ok((!place.layout.is_padded()).then_some(yes));
        };
        if place.layout.is_padded() || !all_rows.is_multiple_of(rows) || !all_cols.is_multiple_of(cols) {
            return Ok(None);
        }
        let has_row = self.e.icmp(IntPredicate::ULT, row, self.e.i32(all_rows))?;
        let has_col = self.e.icmp(IntPredicate::ULT, col, self.e.i32(all_cols))?;
        self.e.and(has_row, has_col).map(Some)
    }

    /// Whether the matrix can be moved without a look at each element.
    pub(super) fn is_easy(&mut self, place: &Place<'c>, align: u64) -> Result<Easy<'c>> {
        let Some(whole) = self.is_held(place)? else { return Ok(Easy::Never) };
        let whole = (place.part.is_some()).then_some(whole);
        let inside = self.is_inside(place)?;
        let aligned = match align {
            piece if place.align >= piece => None,
            piece => {
                let address = self.address(&place.p)?;
                let all = self.e.or(address, place.stride)?;
                let low = self.e.and(all, self.e.i64(piece as i64 - 1))?;
                Some(self.e.icmp(IntPredicate::EQ, low, self.e.i64(0))?)
            }
        };
        let mut all: Option<V<'c>> = None;
        for condition in [whole, inside, aligned].into_iter().flatten() {
            all = Some(match all {
                Some(all) => self.e.and(all, condition)?,
                None => condition,
            });
        }
        Ok(all.map_or(Easy::Always, Easy::If))
    }

    /// Whether the whole matrix is in its object; nothing where there are no bounds.
    fn is_inside(&mut self, place: &Place<'c>) -> Result<Option<V<'c>>> {
        if place.p.space == Space::Global || place.is_inside {
            return Ok(None);
        }
        let Layout { rows, cols, .. } = place.layout;
        let (lines, len) = if place.column_major { (cols, rows) } else { (rows, cols) };
        let is_short = self.e.icmp(IntPredicate::ULE, place.stride, self.e.i64(MAX_STRIDE))?;
        let before_last = self.e.mul(place.stride, self.e.i64(i64::from(lines) - 1))?;
        let line = i64::from(len) * i64::from(place.elem.bytes());
        let extent = self.e.add(before_last, self.e.i64(line))?;
        let begins = self.e.icmp(IntPredicate::ULE, place.p.offset, place.p.size)?;
        let left = self.e.sub(place.p.size, place.p.offset)?;
        let ends = self.e.icmp(IntPredicate::ULE, extent, left)?;
        let inside = self.e.and(is_short, begins)?;
        self.e.and(inside, ends).map(Some)
    }

    /// Where the first register of this lane is, of a matrix without padding.
    pub(super) fn lane_at(&mut self, place: &Place<'c>) -> Result<V<'c>> {
        let start = self.place(&place.p)?;
        let lane = self.lane()?;
        let zero = self.e.i32(0);
        let own = place.layout.place(&mut Later(self), lane, zero)?;
        let own = self.offset_in(place, own)?;
        self.e.offset(start.into(), own)
    }

    /// Where a register of this lane is, whose first is known.
    fn register_at(&mut self, place: &Place<'c>, lane_at: V<'c>, register: u32) -> Result<PointerValue<'c>> {
        let (row, col) = place.layout.element(0, register).unwrap_or((0, 0));
        let (row, col) = (self.e.i32(row), self.e.i32(col));
        let further = self.offset_in(place, (row, col))?;
        Ok(self.e.offset(lane_at, further)?.into_pointer_value())
    }

    /// Bytes from the first element to one.
    pub(super) fn offset_in(&mut self, place: &Place<'c>, (row, col): (V<'c>, V<'c>)) -> Result<V<'c>> {
        let (line, along) = if place.column_major { (col, row) } else { (row, col) };
        let (line, along) = (self.e.zext_trunc(line, 64)?, self.e.zext_trunc(along, 64)?);
        let line = self.e.mul(line, place.stride)?;
        let along = self.e.mul(along, self.e.i64(place.elem.bytes().into()))?;
        self.e.add(line, along)
    }

    pub(super) fn load_words(&mut self, place: &Place<'c>) -> Result<Vec<V<'c>>> {
        let (mut words, lane_at) = (Vec::new(), self.lane_at(place)?);
        for first in (0..place.layout.registers()).step_by(place.layout.width() as usize) {
            words.extend(self.load_piece(place, lane_at, first)?);
        }
        Ok(words)
    }

    /// Loads consecutive elements of a lane, from a register on, as words.
    fn load_piece(&mut self, place: &Place<'c>, lane_at: V<'c>, first: u32) -> Result<Vec<V<'c>>> {
        let (elem, width) = (place.elem, place.layout.width());
        let bytes = u64::from(elem.bytes());
        if place.is_along() {
            let at = self.register_at(place, lane_at, first)?;
            let word = Self::word_scalar(elem);
            let count = (place.piece() / u64::from(word.bytes())) as usize;
            return self.read_aligned(at, word, count, place.piece(), place.flags);
        }
        let mut elements = Vec::new();
        for register in first..first + width {
            let at = self.register_at(place, lane_at, register)?;
            elements.extend(self.read_aligned(at, elem, 1, bytes, place.flags)?);
        }
        elements.chunks(place.layout.pack(elem) as usize).map(|elements| self.word(elem, elements)).collect()
    }

    pub(super) fn store_words(&mut self, place: &Place<'c>, m: &Mat<'c>) -> Result<()> {
        let (elem, width) = (place.elem, place.layout.width());
        let (bytes, lane_at) = (u64::from(elem.bytes()), self.lane_at(place)?);
        if !place.is_along() {
            let elements = self.elements(m)?;
            for (element, register) in elements.into_iter().zip(0..) {
                let at = self.register_at(place, lane_at, register)?;
                self.write_aligned(at, elem, &[element], bytes, place.flags)?;
            }
            return Ok(());
        }
        let words = (width / place.layout.pack(elem)) as usize;
        for (words, i) in m.words.chunks(words).zip(0..) {
            let at = self.register_at(place, lane_at, i * width)?;
            self.write_aligned(at, Self::word_scalar(elem), words, place.piece(), place.flags)?;
        }
        Ok(())
    }
}

/// Whether no element has to be looked at by itself.
pub(super) enum Easy<'c> {
    Always,
    Never,
    If(V<'c>),
}
