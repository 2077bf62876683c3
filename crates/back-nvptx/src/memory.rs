//! Loads, stores, barriers.
//!
//! Outside of its object an access reads zeros and writes nothing, each scalar for itself. A load from a buffer reads zeros
//! that lie elsewhere, so that no branch keeps those behind it waiting ([`Lower::read_or_zeros`]); other accesses are branches
//! around the instruction, where several are done together only if all are inside. Nobody looks where all that a round of a loop
//! accesses was found to be inside ([`crate::within`]). The hardware wants accesses to be aligned, and the IR does not: where a
//! pointer's steps do not say that a scalar is aligned, its address is looked at, and one that is not is moved byte by byte.

use crate::lower::{ADDRESS_SPACE_GLOBAL, Lower, Ptr};
use inkwell::module::Linkage;
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::{InstructionOpcode as I, PointerValue};
use inkwell::{AddressSpace, IntPredicate};
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Barrier, Inst, MemFlags, Scalar, Scope, Space, Value};

/// Bytes of the widest access.
const MAX_ACCESS: u64 = 16;

/// The zeros that are read outside of buffers.
const ZEROS: &str = "phalanx_zeros";

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_load(&mut self, inst: Inst, flags: MemFlags) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let bytes = self.bytes_of(&info.results)?;
        let is_inside = self.is_found_inside(inst) || self.is_range_inside(info.args[0], bytes.into());
        let values = self.load(inst, flags, is_inside)?;
        for (&result, v) in info.results.iter().zip(values) {
            self.define(result, v);
        }
        Ok(())
    }

    /// What a load gives.
    pub(crate) fn load(&mut self, inst: Inst, flags: MemFlags, is_inside: bool) -> Result<Vec<V<'c>>> {
        let f = self.f;
        let info = f.inst(inst);
        let (p, align) = (self.ptr(info.args[0])?, self.align_of(info.args[0]));
        let (s, n) = (self.scalar_ty(info.results[0])?, info.results.len());
        let inside = match is_inside {
            true => None,
            false => self.inside(&p, self.bytes_of(&info.results)?)?,
        };
        let zero = self.e.zero(self.e.scalar_ty(s));
        match inside {
            None => self.read(&p, s, n, align, flags),
            Some(_) if p.space == Space::Buffer && align >= s.bytes().into() => {
                self.read_or_zeros(&p, s, n, align, flags)
            }
            Some(all) => self.either(
                all,
                |l| l.read(&p, s, n, align, flags),
                |l| match n {
                    1 => Ok(vec![zero]),
                    _ => l.read_each(&p, s, n, align, flags),
                },
            ),
        }
    }

    /// Bytes of values of one type that lie side by side.
    pub(crate) fn bytes_of(&self, values: &[Value]) -> Result<u64> {
        Ok(values.len() as u64 * u64::from(self.scalar_ty(values[0])?.bytes()))
    }

    pub(crate) fn lower_store(&mut self, inst: Inst, flags: MemFlags) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let (p, align) = (self.ptr(info.args[0])?, self.align_of(info.args[0]));
        let s = self.scalar_ty(info.args[1])?;
        let values = info.args[1..].iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
        let bytes = values.len() as u64 * u64::from(s.bytes());
        let is_inside = self.is_found_inside(inst) || self.is_range_inside(info.args[0], bytes.into());
        let inside = match is_inside {
            true => None,
            false => self.inside(&p, bytes)?,
        };
        match inside {
            None => self.write(&p, s, &values, align, flags),
            Some(all) => {
                let write = |l: &mut Self| l.write(&p, s, &values, align, flags).map(|()| Vec::new());
                let write_each = |l: &mut Self| {
                    if values.len() > 1 {
                        l.write_each(&p, s, &values, align, flags)?;
                    }
                    Ok(Vec::new())
                };
                self.either(all, write, write_each).map(|_nothing| ())
            }
        }
    }

    /// Whether the bytes at a pointer are in its object; nothing where there are no bounds.
    pub(crate) fn inside(&mut self, p: &Ptr<'c>, bytes: u64) -> Result<Option<V<'c>>> {
        if p.space == Space::Global {
            return Ok(None);
        }
        let end = self.e.map2("llvm.usub.sat", p.size, self.e.i64(bytes as i64 - 1))?;
        self.e.icmp(IntPredicate::ULT, p.offset, end).map(Some)
    }

    /// Where a pointer points, in its space.
    pub(crate) fn place(&mut self, p: &Ptr<'c>) -> Result<PointerValue<'c>> {
        let at = match p.space {
            Space::Global | Space::Buffer | Space::Push => self.e.offset(p.base, p.offset)?,
            Space::Shared => {
                let at = self.e.offset(p.base, p.offset)?;
                self.in_part(at)?
            }
        };
        Ok(at.into_pointer_value())
    }

    /// A place in shared memory, in the part of it that is in use.
    pub(crate) fn in_part(&mut self, at: V<'c>) -> Result<V<'c>> {
        let at = self.in_half(at)?;
        self.in_block(at)
    }

    /// Reads scalars of a buffer, each of which may be outside and is aligned. A piece that begins inside can be read whatever
    /// lies behind its object, as it is as aligned as it is large; of what does not belong to the object nothing is used.
    fn read_or_zeros(
        &mut self,
        p: &Ptr<'c>,
        s: Scalar,
        n: usize,
        align: u64,
        flags: MemFlags,
    ) -> Result<Vec<V<'c>>> {
        let (start, bytes) = (self.place(p)?, u64::from(s.bytes()));
        let zero = self.e.zero(self.e.scalar_ty(s));
        let zeros = self.zeros();
        let mut values = Vec::new();
        for (first, count) in pieces(n, bytes, align) {
            let at = self.e.field(start, first as u64 * bytes)?;
            // A vector may begin before the object, and a piece of it at the object's start.
            let offset = self.e.add(p.offset, self.e.i64((first as u64 * bytes) as i64))?;
            let mut inside = Vec::new();
            for i in 0..count as u64 {
                // All ends are the same from one access to the next.
                let end = self.e.map2("llvm.usub.sat", p.size, self.e.i64((i * bytes + bytes - 1) as i64))?;
                inside.push(self.e.icmp(IntPredicate::ULT, offset, end)?);
            }
            let at = self.e.select(inside[0], at.into(), zeros)?.into_pointer_value();
            let read = self.read_aligned(at, s, count, count as u64 * bytes, flags)?;
            values.push(read[0]);
            for (&x, &inside) in read.iter().zip(&inside).skip(1) {
                values.push(self.e.select(inside, x, zero)?);
            }
        }
        Ok(values)
    }

    /// Where zeros lie, as many as the widest access reads.
    fn zeros(&self) -> V<'c> {
        let known = self.e.module.get_global(ZEROS);
        let global = known.unwrap_or_else(|| {
            let ty = self.e.cx.i8_type().array_type(MAX_ACCESS as u32);
            let global = self.e.module.add_global(ty, Some(AddressSpace::from(ADDRESS_SPACE_GLOBAL)), ZEROS);
            global.set_initializer(&ty.const_zero());
            global.set_constant(true);
            global.set_linkage(Linkage::Internal);
            global.set_alignment(MAX_ACCESS as u32);
            global
        });
        global.as_pointer_value().into()
    }

    /// Reads scalars of which each may be outside.
    pub(crate) fn read_each(
        &mut self,
        p: &Ptr<'c>,
        s: Scalar,
        n: usize,
        align: u64,
        flags: MemFlags,
    ) -> Result<Vec<V<'c>>> {
        let zero = self.e.zero(self.e.scalar_ty(s));
        let mut values = Vec::new();
        for i in 0..n {
            let offset = self.e.add(p.offset, self.e.i64(i as i64 * i64::from(s.bytes())))?;
            let p = Ptr { offset, ..*p };
            let align = align.min(s.bytes().into());
            let value = match self.inside(&p, s.bytes().into())? {
                Some(inside) => {
                    self.either(inside, |l| l.read(&p, s, 1, align, flags), |_| Ok(vec![zero]))?
                }
                None => self.read(&p, s, 1, align, flags)?,
            };
            values.extend(value);
        }
        Ok(values)
    }

    pub(crate) fn write_each(
        &mut self,
        p: &Ptr<'c>,
        s: Scalar,
        values: &[V<'c>],
        align: u64,
        flags: MemFlags,
    ) -> Result<()> {
        for (i, &value) in values.iter().enumerate() {
            let offset = self.e.add(p.offset, self.e.i64(i as i64 * i64::from(s.bytes())))?;
            let p = Ptr { offset, ..*p };
            let align = align.min(s.bytes().into());
            match self.inside(&p, s.bytes().into())? {
                Some(inside) => {
                    let write = |l: &mut Self| l.write(&p, s, &[value], align, flags).map(|()| Vec::new());
                    self.either(inside, write, |_| Ok(Vec::new()))?;
                }
                None => self.write(&p, s, &[value], align, flags)?,
            }
        }
        Ok(())
    }

    /// Reads scalars that are all inside.
    pub(crate) fn read(
        &mut self,
        p: &Ptr<'c>,
        s: Scalar,
        n: usize,
        align: u64,
        flags: MemFlags,
    ) -> Result<Vec<V<'c>>> {
        let at = self.place(p)?;
        let bytes = u64::from(s.bytes());
        if align >= bytes {
            return self.read_aligned(at, s, n, align, flags);
        }
        let aligned = self.is_aligned(at, bytes)?;
        self.either(
            aligned,
            |l| l.read_aligned(at, s, n, bytes, flags),
            |l| (0..n).map(|i| l.read_bytes(at, i as u64 * bytes, s, flags)).collect(),
        )
    }

    pub(crate) fn write(
        &mut self,
        p: &Ptr<'c>,
        s: Scalar,
        values: &[V<'c>],
        align: u64,
        flags: MemFlags,
    ) -> Result<()> {
        let at = self.place(p)?;
        let bytes = u64::from(s.bytes());
        if align >= bytes {
            return self.write_aligned(at, s, values, align, flags);
        }
        let aligned = self.is_aligned(at, bytes)?;
        let whole = |l: &mut Self| l.write_aligned(at, s, values, bytes, flags).map(|()| Vec::new());
        let pieces = |l: &mut Self| {
            for (i, &value) in values.iter().enumerate() {
                l.write_bytes(at, i as u64 * bytes, s, value, flags)?;
            }
            Ok(Vec::new())
        };
        self.either(aligned, whole, pieces).map(|_nothing| ())
    }

    pub(crate) fn is_aligned(&mut self, at: PointerValue<'c>, bytes: u64) -> Result<V<'c>> {
        let address = self.e.cast(I::PtrToInt, at.into(), self.e.cx.i64_type())?;
        let low = self.e.and(address, self.e.i64(bytes as i64 - 1))?;
        self.e.icmp(IntPredicate::EQ, low, self.e.i64(0))
    }

    /// Reads scalars at an aligned place, in as few instructions as the alignment allows.
    pub(crate) fn read_aligned(
        &mut self,
        at: PointerValue<'c>,
        s: Scalar,
        n: usize,
        align: u64,
        flags: MemFlags,
    ) -> Result<Vec<V<'c>>> {
        let ty = self.e.scalar_ty(s);
        let mut values = Vec::new();
        for (first, count) in pieces(n, s.bytes().into(), align) {
            let at = self.e.field(at, first as u64 * u64::from(s.bytes()))?;
            let piece = self.piece_ty(ty, count);
            let v = self.e.load(piece, at, count as u32 * s.bytes())?;
            if flags.volatile {
                self.e.set_volatile(v)?;
            }
            match count {
                1 => values.push(v),
                _ => {
                    for i in 0..count {
                        values.push(self.e.extract_at(v, i as u32)?);
                    }
                }
            }
        }
        Ok(values)
    }

    pub(crate) fn write_aligned(
        &mut self,
        at: PointerValue<'c>,
        s: Scalar,
        values: &[V<'c>],
        align: u64,
        flags: MemFlags,
    ) -> Result<()> {
        let ty = self.e.scalar_ty(s);
        for (first, count) in pieces(values.len(), s.bytes().into(), align) {
            let at = self.e.field(at, first as u64 * u64::from(s.bytes()))?;
            let v = match &values[first..first + count] {
                [v] => *v,
                several => {
                    let mut all: V<'c> = self.e.vec_of(ty, count as u32).get_poison().into();
                    for (&v, i) in several.iter().zip(0..) {
                        let vector = all.into_vector_value();
                        let index = self.e.i32(i).into_int_value();
                        all = self.e.b.build_insert_element(vector, v, index, "")?.into();
                    }
                    all
                }
            };
            let store = self.e.store(v, at, count as u32 * s.bytes())?;
            if flags.volatile {
                store.set_volatile(true).map_err(|error| Error::bug(error.to_string()))?;
            }
        }
        Ok(())
    }

    fn piece_ty(&self, ty: BasicTypeEnum<'c>, count: usize) -> BasicTypeEnum<'c> {
        match count {
            1 => ty,
            _ => self.e.vec_of(ty, count as u32).as_basic_type_enum(),
        }
    }

    /// Reads a scalar byte by byte.
    fn read_bytes(&mut self, at: PointerValue<'c>, from: u64, s: Scalar, flags: MemFlags) -> Result<V<'c>> {
        let bits = s.bits();
        let mut all = self.e.int(bits, 0);
        for i in 0..u64::from(s.bytes()) {
            let byte = self.e.field(at, from + i)?;
            let byte = self.e.load(self.e.cx.i8_type(), byte, 1)?;
            if flags.volatile {
                self.e.set_volatile(byte)?;
            }
            let byte = self.e.zext_trunc(byte, bits)?;
            let byte = self.e.shl(byte, self.e.int(bits, 8 * i))?;
            all = self.e.or(all, byte)?;
        }
        self.e.bitcast(all, self.e.scalar_ty(s))
    }

    fn write_bytes(
        &mut self,
        at: PointerValue<'c>,
        from: u64,
        s: Scalar,
        value: V<'c>,
        flags: MemFlags,
    ) -> Result<()> {
        let bits = s.bits();
        let all = self.e.bitcast(value, self.e.int_ty(bits).into())?;
        for i in 0..u64::from(s.bytes()) {
            let byte = self.e.lshr(all, self.e.int(bits, 8 * i))?;
            let byte = self.e.zext_trunc(byte, 8)?;
            let at = self.e.field(at, from + i)?;
            let store = self.e.store(byte, at, 1)?;
            if flags.volatile {
                store.set_volatile(true).map_err(|error| Error::bug(error.to_string()))?;
            }
        }
        Ok(())
    }

    /// One of two things, and the values of whichever was done.
    pub(crate) fn either(
        &mut self,
        cond: V<'c>,
        then: impl FnOnce(&mut Self) -> Result<Vec<V<'c>>>,
        otherwise: impl FnOnce(&mut Self) -> Result<Vec<V<'c>>>,
    ) -> Result<Vec<V<'c>>> {
        let [yes, no, done] = ["yes", "no", "done"].map(|name| self.new_block(name));
        self.e.cond_br_likely(cond, yes, no)?;
        self.e.b.position_at_end(yes);
        let xs = then(self)?;
        let after_yes = self.e.here()?;
        self.e.br(done)?;
        self.e.b.position_at_end(no);
        let ys = otherwise(self)?;
        let after_no = self.e.here()?;
        self.e.br(done)?;
        self.e.b.position_at_end(done);
        let pairs = xs.into_iter().zip(ys);
        pairs.map(|(x, y)| self.e.merge(&[(x, after_yes), (y, after_no)])).collect()
    }

    pub(crate) fn lower_barrier(&mut self, barrier: Barrier) -> Result<()> {
        match (barrier.memory, barrier.execution) {
            (Scope::Device, _) => self.e.intrinsic_effect("llvm.nvvm.membar.gl", &[], &[])?,
            // The barrier of the work-group orders all accesses of its threads for each other by itself (PTX ISA, `barrier`),
            // and a fence beside it waits for loads that nobody needs yet.
            (Scope::Workgroup, Scope::Workgroup | Scope::Device) => None,
            (Scope::Workgroup, _) => self.e.intrinsic_effect("llvm.nvvm.membar.cta", &[], &[])?,
            // Threads of a warp see each other's writes behind the barrier of the warp itself.
            (Scope::Subgroup | Scope::Invocation, _) => None,
        };
        match barrier.execution {
            Scope::Workgroup | Scope::Device => {
                // Not the aligned one, which wants the threads of a warp to come together: the IR does not promise that the
                // hardware has brought them together behind what they did apart.
                let number = self.e.i32(0);
                if self.ring.is_some() || self.blocks.is_some() {
                    // Without those that copy.
                    let threads = self.e.i32(self.ir.workgroup_invocations());
                    self.e.intrinsic_effect("llvm.nvvm.barrier.sync.cnt", &[], &[number, threads])?;
                    return Ok(());
                }
                self.e.intrinsic_effect("llvm.nvvm.barrier.sync", &[], &[number])?;
            }
            Scope::Subgroup => {
                let mask = self.mask()?;
                self.e.intrinsic_effect("llvm.nvvm.bar.warp.sync", &[], &[mask])?;
            }
            Scope::Invocation => {}
        }
        Ok(())
    }
}

/// How `n` scalars are moved: the first of each piece and how many it has, powers of two.
fn pieces(n: usize, bytes: u64, align: u64) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let mut first = 0;
    while first < n {
        let aligned = |count: u64| {
            let piece = count * bytes;
            piece <= align.min(MAX_ACCESS) && (first as u64 * bytes).is_multiple_of(piece)
        };
        let fits = |count: &u64| *count <= (n - first) as u64 && aligned(*count);
        let count = [4, 2].into_iter().find(fits).unwrap_or(1) as usize;
        pieces.push((first, count));
        first += count;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_as_wide_as_their_alignment() {
        assert_eq!(pieces(4, 4, 16), [(0, 4)]);
        assert_eq!(pieces(4, 4, 8), [(0, 2), (2, 2)]);
        assert_eq!(pieces(4, 4, 4), [(0, 1), (1, 1), (2, 1), (3, 1)]);
        assert_eq!(pieces(3, 4, 16), [(0, 2), (2, 1)]);
        assert_eq!(pieces(2, 8, 16), [(0, 2)]);
        assert_eq!(pieces(4, 8, 16), [(0, 2), (2, 2)]);
        assert_eq!(pieces(5, 2, 8), [(0, 4), (4, 1)]);
    }
}
