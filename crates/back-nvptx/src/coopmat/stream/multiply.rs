//! `wgmma`: four warps multiply 64 rows by up to 256 columns from shared memory.
//!
//! A factor is told by a *matrix descriptor*, PTX ISA, *Asynchronous Warpgroup Level Matrix Shared Memory Layout*: where it
//! begins, how far it is to the next eight lines and to the next piece of lines, and how words change places. The sums are
//! in registers as those of `mma.sync` are, 16 rows of each warp.
//!
//! The instruction goes on by itself. Its sums are not looked at before it is waited for; of a stream that is chained
//! that is behind its loop.

use super::plan::MAX_COLUMNS;
use super::slot::{Part, ROWS};
use crate::coopmat::Mat;
use crate::coopmat::fragment::Memory;
use crate::coopmat::mma::SUMS;
use crate::lower::Lower;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Inst, MulAddFlags, Op, Scalar, Use};

/// Bytes along K of an instruction.
const DEPTH: u32 = 32;

impl Part {
    /// The descriptor of a factor without its address.
    fn descriptor(&self) -> u64 {
        let mode: u64 = match self.span {
            128 => 1,
            64 => 2,
            _ => 3,
        };
        let eight_lines = u64::from(8 * self.span / 16);
        let next_piece = u64::from(self.piece_bytes() / 16);
        // Along K the distance of pieces is not looked at: an instruction is not deeper than one.
        next_piece << 16 | eight_lines << 32 | mode << 62
    }

    /// Bytes to what begins so many rows or columns, and so many steps along K, further.
    fn step(&self, across: u32, step: u32) -> u32 {
        let along = match self.along_k {
            true => step * DEPTH,
            false => across * self.m.elem.bytes(),
        };
        let lines = match self.along_k {
            true => across,
            false => step * DEPTH / self.m.elem.bytes(),
        };
        along / self.span * self.piece_bytes() + along % self.span + lines * self.span
    }
}

/// The instruction for so many columns.
fn name(a: &Part, sums: Scalar, columns: u32, flags: MulAddFlags) -> String {
    let depth = DEPTH / a.m.elem.bytes();
    let sign = |is_signed| if is_signed { "s8" } else { "u8" };
    let types = match a.m.elem {
        Scalar::F16 if sums == Scalar::F16 => "f16.f16.f16".to_owned(),
        Scalar::F16 => "f32.f16.f16".to_owned(),
        Scalar::BF16 => "f32.bf16.bf16".to_owned(),
        _ => format!("s32.{}.{}", sign(flags.a_signed), sign(flags.b_signed)),
    };
    format!("wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{types}")
}

impl<'c> Lower<'_, 'c> {
    /// Multiplies the factors in the slot.
    pub(super) fn multiply_slot(&mut self, inst: Inst, stream: usize) -> Result<()> {
        let Op::MatMulAdd(flags) = self.f.inst(inst).op else {
            return Err(Error::bug("a stream multiplies"));
        };
        let is_chained = self.ring()?.plan.streams[stream].is_chained;
        let ((a, a_at), (b, b_at)) = (self.part(stream, Use::A)?, self.part(stream, Use::B)?);
        let c = self.mat_in(self.f.inst(inst).args[2], SUMS)?;
        self.wait_full()?;
        let slot = self.slot_address()?;
        let group = self.group()?;
        let blocks = self.e.mul(group, self.e.i32(a.blocks * ROWS))?;
        let of_group = match a.along_k {
            true => self.e.mul(blocks, self.e.i32(a.span))?,
            false => self.e.mul(blocks, self.e.i32(a.step(ROWS, 0) / ROWS))?,
        };
        let left = self.e.add(slot, of_group)?;
        let left = self.matrix_descriptor(&a, left, a_at)?;
        let right = self.matrix_descriptor(&b, slot, b_at)?;
        self.action("wgmma.fence.sync.aligned;", &[])?;
        let mut words = c.words.to_vec();
        let steps = a.m.cols * a.m.elem.bytes() / DEPTH;
        let columns = b.m.cols.min(MAX_COLUMNS);
        for block in 0..a.blocks {
            for first in (0..b.m.cols).step_by(columns as usize) {
                let places = places(&c, block, first, columns);
                let mut sums: Vec<V<'c>> = places.iter().map(|&i| words[i]).collect();
                let text = name(&a, c.elem, columns, flags);
                for step in 0..steps {
                    let (x, y) = (a.step(block * ROWS, step), b.step(first, step));
                    let x = self.e.add(left, self.e.i64(i64::from(x / 16)))?;
                    let y = self.e.add(right, self.e.i64(i64::from(y / 16)))?;
                    sums = self.wgmma(&text, (&a, &b), [x, y], &sums)?;
                }
                for (&i, sum) in places.iter().zip(sums) {
                    words[i] = sum;
                }
            }
        }
        self.action("wgmma.commit_group.sync.aligned;", &[])?;
        if is_chained {
            self.action("wgmma.wait_group.sync.aligned 1;", &[])?;
            self.release_before()?;
        } else {
            words = self.wait_for_sums(&words)?;
            self.release_before()?;
            self.release()?;
        }
        self.set_mat(inst, Mat { words: words.into(), ..c })
    }

    /// Which group of four warps this thread is of, known to be the same for the warp.
    fn group(&mut self) -> Result<V<'c>> {
        let thread = self.thread()?;
        let group = self.e.lshr(thread, self.e.i32(7))?;
        let (all, first, within) = (self.e.i32(u32::MAX), self.e.i32(0), self.e.i32(31));
        self.e.intrinsic("llvm.nvvm.shfl.sync.idx.i32", &[], &[all, group, first, within])
    }

    /// The descriptor of a factor in a slot.
    fn matrix_descriptor(&mut self, part: &Part, slot: V<'c>, offset: u32) -> Result<V<'c>> {
        let at = self.e.add(slot, self.e.i32(offset))?;
        let at = self.e.lshr(at, self.e.i32(4))?;
        let at = self.e.zext_trunc(at, 64)?;
        self.e.or(at, self.e.i64(part.descriptor().cast_signed()))
    }

    fn wgmma(
        &mut self,
        name: &str,
        (a, b): (&Part, &Part),
        descriptors: [V<'c>; 2],
        sums: &[V<'c>],
    ) -> Result<Vec<V<'c>>> {
        let n = sums.len();
        let names = (0..n).map(|i| format!("${i}")).collect::<Vec<_>>().join(",");
        let (x, y) = (2 * n, 2 * n + 1);
        let turned = |part: &Part| u32::from(!part.along_k);
        let more = match a.m.elem {
            Scalar::I8 => String::new(),
            _ => format!(", 1, 1, {}, {}", turned(a), turned(b)),
        };
        let text =
            format!("{{ .reg .pred p; setp.eq.u32 p, 0, 0; {name} {{{names}}}, ${x}, ${y}, p{more}; }}");
        self.update(&text, sums, &descriptors)
    }

    /// Waits for all multiplications, after which sums are there.
    pub(super) fn wait_for_sums(&mut self, sums: &[V<'c>]) -> Result<Vec<V<'c>>> {
        self.update("wgmma.wait_group.sync.aligned 0;", sums, &[])
    }

    /// An instruction of PTX that changes registers.
    fn update(&mut self, text: &str, registers: &[V<'c>], args: &[V<'c>]) -> Result<Vec<V<'c>>> {
        let results: Vec<_> = registers.iter().map(V::get_type).collect();
        self.assembly(text, &results, &[registers, args].concat(), Memory::Update(registers.len()))
    }
}

/// Which words of the sums an instruction adds to, in its order: of eight columns the upper eight rows and the lower.
fn places(c: &Mat<'_>, block: u32, first: u32, columns: u32) -> Vec<usize> {
    let steps = c.layout.steps();
    let in_step = c.layout.width() / c.layout.pack(c.elem);
    let mut places = Vec::new();
    for step in first / 8..(first + columns) / 8 {
        for row in [2 * block, 2 * block + 1] {
            places.extend((0..in_step).map(|j| ((row * steps + step) * in_step + j) as usize));
        }
    }
    places
}
