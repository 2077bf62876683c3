//! Operations on vectors: kernel calls for all lanes at once.
//!
//! The variables are those of each lane, so element `i` of all lanes lies together in a slot, which is what the kernels
//! want. They find out which lanes share a matrix: code tells them where each lane's is, in words on the stack.

use crate::check::Checked;
use crate::coopmat::elem;
use crate::emit::V;
use crate::error::Result;
use crate::lower::Lower;
use crate::value::{Shape, Val};
use bytemuck::bytes_of;
use inkwell::values::{InstructionOpcode, PointerValue};
use phalanx_ir::{Function, Inst, MatrixLayout, Op, Scalar, Space, Value, Var, VecMatMul, VecOuterAdd};
use phalanx_kernels::{Elem, KernelId, KernelSet, Piece, VecMatMulParams, VecOuterAddParams, VecPlan};

/// Number of the stack slot of the places.
const PLACES: u32 = 0;

/// The lines of something in memory: how many, the bytes of one, and from one to the next.
#[derive(Clone, Copy)]
struct Lines<'c> {
    count: u32,
    bytes: u64,
    stride: Val<'c>,
    writes: bool,
}

/// The words on the stack that say where each lane's matrix is.
struct Places<'c> {
    at: PointerValue<'c>,
    /// The pieces that differ between lanes.
    varying: u8,
}

/// Bytes of scratch memory that the kernel of an operation on vectors needs.
fn scratch_bytes(f: &Function, isa: KernelSet, lanes: u32) -> u64 {
    let of = |op: &Op| match op {
        Op::VecMatMul(op) => mat_mul_plan(f, isa, lanes, op, 0).scratch_bytes,
        Op::VecOuterAdd(op) => outer_add_plan(f, isa, lanes, op, 0).scratch_bytes,
        Op::VecReduceAdd(var) => reduce_add_plan(f, isa, lanes, *var, 0).scratch_bytes,
        _ => 0,
    };
    f.insts.iter().map(|i| of(&i.op) as u64).max().unwrap_or(0)
}

fn element(f: &Function, var: Var) -> Elem {
    elem(f.var(var).ty.scalar().unwrap_or(Scalar::I32))
}

/// Whether the lines of a matrix in memory are columns of what vectors are multiplied by.
fn lines_are_columns(op: &VecMatMul) -> bool {
    (op.layout == MatrixLayout::ColumnMajor) != op.transposed
}

fn mat_mul_plan(
    f: &Function,
    isa: KernelSet,
    lanes: u32,
    op: &VecMatMul,
    varying: u8,
) -> VecPlan<VecMatMulParams> {
    isa.plan_vec_mat_mul(&phalanx_kernels::VecMatMul {
        lanes,
        m: op.m,
        k: op.k,
        input: element(f, op.input),
        input_signed: op.input_signed,
        packed: op.packed,
        interpretation: elem(op.interpretation.scalar()),
        interpretation_signed: op.interpretation.is_signed(),
        matrix: elem(op.layout.kept(op.matrix)),
        matrix_signed: op.matrix.is_signed(),
        columns: lines_are_columns(op),
        bias: op.bias.map(|c| elem(c.scalar())),
        result: element(f, op.result),
        varying,
    })
}

/// The vectors of the rows and the columns of a matrix in memory, whose lines the kernel takes for rows.
fn factors(op: &VecOuterAdd) -> (Var, Var) {
    if op.layout == MatrixLayout::ColumnMajor { (op.b, op.a) } else { (op.a, op.b) }
}

fn outer_add_plan(
    f: &Function,
    isa: KernelSet,
    lanes: u32,
    op: &VecOuterAdd,
    varying: u8,
) -> VecPlan<VecOuterAddParams> {
    let (a, b) = factors(op);
    isa.plan_vec_outer_add(&phalanx_kernels::VecOuterAdd {
        lanes,
        a: Some(element(f, a)),
        m: f.var(a).count,
        b: element(f, b),
        n: f.var(b).count,
        matrix: elem(op.matrix.scalar()),
        varying,
    })
}

fn reduce_add_plan(
    f: &Function,
    isa: KernelSet,
    lanes: u32,
    var: Var,
    varying: u8,
) -> VecPlan<VecOuterAddParams> {
    isa.plan_vec_outer_add(&phalanx_kernels::VecOuterAdd {
        lanes,
        a: None,
        m: 1,
        b: element(f, var),
        n: f.var(var).count,
        matrix: element(f, var),
        varying,
    })
}

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_vec_mat_mul(&mut self, inst: Inst, op: &VecMatMul) -> Result<()> {
        let args = self.args(inst);
        let stride = self.line_stride(op.layout, op.matrix, op.stored_shape().1, args[1])?;
        let (rows, columns) = op.stored_shape();
        let (count, length) =
            if op.layout == MatrixLayout::ColumnMajor { (columns, rows) } else { (rows, columns) };
        let bytes = u64::from(length) * u64::from(op.layout.kept(op.matrix).bytes());
        let mut places = self.places()?;
        self.place(
            inst,
            &mut places,
            args[0],
            Lines { count, bytes, stride, writes: false },
            [Piece::MatrixBase, Piece::MatrixSize, Piece::MatrixOffset],
        )?;
        self.put_piece(&mut places, Piece::Stride, stride)?;
        if let Some(component) = op.bias {
            let bytes = u64::from(op.m) * u64::from(component.scalar().bytes());
            let stride = Val::uniform(self.e.i64(0));
            self.place(
                inst,
                &mut places,
                args[2],
                Lines { count: 1, bytes, stride, writes: false },
                [Piece::BiasBase, Piece::BiasSize, Piece::BiasOffset],
            )?;
        }
        let plan = mat_mul_plan(self.f, self.mats.isa, self.w, op, places.varying);
        let (result, input) = (self.vector_slot(op.result)?, self.vector_slot(op.input)?);
        let scratch = self.vector_scratch()?;
        let call = [result.into(), input.into(), places.at.into(), scratch.into()];
        self.kernel(plan.kernel, bytes_of(&plan.params), &call)
    }

    pub(crate) fn lower_vec_outer_add(&mut self, inst: Inst, op: &VecOuterAdd) -> Result<()> {
        let args = self.args(inst);
        let (a, b) = factors(op);
        let columns = self.f.var(op.b).count;
        let stride = self.line_stride(op.layout, op.matrix, columns, args[1])?;
        let [count, length] = [a, b].map(|var| self.f.var(var).count);
        let bytes = u64::from(length) * u64::from(op.matrix.scalar().bytes());
        let places = self.target(inst, args[0], Lines { count, bytes, stride, writes: true })?;
        let plan = outer_add_plan(self.f, self.mats.isa, self.w, op, places.varying);
        let (a, b) = (self.vector_slot(a)?, self.vector_slot(b)?);
        self.add_vectors(plan.kernel, &plan.params, (a, b), &places)
    }

    pub(crate) fn lower_vec_reduce_add(&mut self, inst: Inst, var: Var) -> Result<()> {
        let args = self.args(inst);
        let info = self.f.var(var);
        let bytes = u64::from(info.count) * u64::from(info.ty.scalar().map_or(4, Scalar::bytes));
        let stride = Val::uniform(self.e.i64(0));
        let places = self.target(inst, args[0], Lines { count: 1, bytes, stride, writes: true })?;
        let plan = reduce_add_plan(self.f, self.mats.isa, self.w, var, places.varying);
        let vector = self.vector_slot(var)?;
        self.add_vectors(plan.kernel, &plan.params, (vector, vector), &places)
    }

    fn add_vectors(
        &mut self,
        kernel: KernelId,
        params: &VecOuterAddParams,
        (a, b): (PointerValue<'c>, PointerValue<'c>),
        places: &Places<'c>,
    ) -> Result<()> {
        let scratch = self.vector_scratch()?;
        let call = [a.into(), b.into(), places.at.into(), scratch.into()];
        self.kernel(kernel, bytes_of(params), &call)
    }

    /// Scratch memory for any operation on vectors.
    fn vector_scratch(&mut self) -> Result<PointerValue<'c>> {
        let at = match self.vector_scratch {
            Some(at) => at,
            None => {
                let bytes = scratch_bytes(self.f, self.mats.isa, self.w);
                let at = self.alloc_scratch(bytes, crate::abi::MEMORY_ALIGN as u64);
                *self.vector_scratch.insert(at)
            }
        };
        self.scratch_ptr(at)
    }

    /// Bytes from a line of a matrix to the next.
    fn line_stride(
        &mut self,
        layout: MatrixLayout,
        component: phalanx_ir::Component,
        columns: u32,
        given: Value,
    ) -> Result<Val<'c>> {
        if layout == MatrixLayout::Paired {
            return Err(crate::error::Error::unsupported("matrices in the layout of a GPU"));
        }
        if layout.is_optimal() {
            return Ok(Val::uniform(self.e.i64(layout.stride(component, columns, 0) as i64)));
        }
        self.scalar(given)
    }
}

/// Places.
impl<'c> Lower<'_, 'c> {
    /// Room for the places, with the mask of the lanes that execute.
    fn places(&mut self) -> Result<Places<'c>> {
        let words = self.e.cx.i64_type().array_type(Piece::words(self.w));
        let at = self.spill_slot(words.into(), PLACES)?;
        let bits = self.e.mask_bits(self.exec_mask())?;
        let bits = self.e.zext_trunc(bits, 128)?;
        self.e.store(bits, at, 8)?;
        Ok(Places { at, varying: 0 })
    }

    /// The places of what is added to.
    fn target(&mut self, inst: Inst, ptr: Value, lines: Lines<'c>) -> Result<Places<'c>> {
        let mut places = self.places()?;
        self.place(
            inst,
            &mut places,
            ptr,
            lines,
            [Piece::MatrixBase, Piece::MatrixSize, Piece::MatrixOffset],
        )?;
        self.put_piece(&mut places, Piece::Stride, lines.stride)?;
        Ok(places)
    }

    /// Says where a pointer points, and checks that by address.
    fn place(
        &mut self,
        inst: Inst,
        places: &mut Places<'c>,
        ptr: Value,
        lines: Lines<'c>,
        [base, size, offset]: [Piece; 3],
    ) -> Result<()> {
        let p = self.ptr(ptr)?;
        self.check_lines(inst, p.space, p.offset, lines)?;
        let (address, size_of) = if p.space == Space::Global {
            (Val::uniform(self.e.i64(0)), Val::uniform(self.e.i64(-1)))
        } else {
            let address = self.e.cast(InstructionOpcode::PtrToInt, p.base.v, self.e.cx.i64_type())?;
            (Val { v: address, ..p.base }, p.size)
        };
        self.put_piece(places, base, address)?;
        self.put_piece(places, size, size_of)?;
        self.put_piece(places, offset, p.offset)
    }

    fn put_piece(&mut self, places: &mut Places<'c>, piece: Piece, x: Val<'c>) -> Result<()> {
        let v = match x.shape {
            Shape::Uniform => x.v,
            Shape::Affine(_) | Shape::Pattern(_) | Shape::Varying => {
                places.varying |= piece.bit();
                self.vector(x)?
            }
        };
        let at = self.e.field(places.at, 8 * u64::from(piece.word(self.w)))?;
        self.e.store(v, at, 8)?;
        Ok(())
    }

    fn check_lines(&mut self, inst: Inst, space: Space, offset: Val<'c>, lines: Lines<'c>) -> Result<()> {
        let Lines { count, bytes, stride, writes } = lines;
        let runs = self.e.i64(count.into());
        if stride.is_uniform() || !self.common.checks_addresses {
            let stride = self.first(stride)?;
            return self.check_lane_runs(inst, space, offset, Checked { runs, stride, bytes, writes });
        }
        self.each_active_lane(|l, lane| {
            let (address, stride): (V<'c>, V<'c>) = (l.at_lane(offset, lane)?, l.at_lane(stride, lane)?);
            l.check_runs(inst, space, address, Checked { runs, stride, bytes, writes })
        })
    }
}
