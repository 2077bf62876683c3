//! SPV_ARM_cooperative_matrix_layouts: loads and stores of matrices that lie in memory in blocks.
//!
//! A block is 4 rows of 16 bytes, row by row. Blocks follow each other by rows of the matrix
//! (*RowBlockedInterleavedARM*) or by columns; as many as *Stride* says are a group, whose blocks take
//! turns with 4 bytes each. No target has such an access, so each invocation moves its components.

use super::convert::regroup;
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, invalid, operand};
use crate::reader::Inst;
use phalanx_ir::{self as ir, BinaryOp as B, MatType, MemFlags, Scalar, Value};
use spirv::Capability;

/// Rows of a block, and bytes of one of them.
const ROWS: u32 = 4;
const ROW_BYTES: u32 = 16;
/// Bytes that a block has at a time.
const TURN: u32 = 4;

/// Where blocks follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    Rows,
    Columns,
}

impl Order {
    /// The order that a memory layout says, if it is one of the extension's.
    pub(super) fn of(layout: u32) -> Option<Self> {
        match layout {
            4202 => Some(Self::Rows),
            4203 => Some(Self::Columns),
            _ => None,
        }
    }
}

/// How a matrix lies in memory.
struct Blocks {
    m: MatType,
    order: Order,
    /// Blocks of a group.
    group: u32,
    pointer: Value,
    flags: MemFlags,
}

/// What the operands from *Stride* on say. They stand behind `behind` others.
fn blocks(cx: &mut Cx<'_>, inst: &Inst<'_>, m: MatType, order: Order, behind: usize) -> Res<Blocks> {
    if !cx.spv.capabilities.contains(&(Capability::CooperativeMatrixLayoutsARM as u32)) {
        let m = "a blocked layout, without the capability CooperativeMatrixLayoutsARM";
        return Err(invalid(code::CAPABILITY, m));
    }
    let (pointer, p) = cx.memory(inst.arg(0)?)?;
    let (flags, _) = cx.memory_operands(inst.rest(behind + 1))?;
    let flags = MemFlags { volatile: flags.volatile || p.volatile, ..flags };
    let rule = "Stride \"must be present, come from a constant instruction, and be equal to 1, 2, or 4\"";
    let stride = inst.args.get(behind).and_then(|&id| cx.const_bits(id));
    let Some(group) = stride.filter(|s| matches!(s, 1 | 2 | 4)).map(|s| s as u32) else {
        return Err(operand(rule));
    };
    let width = ROW_BYTES / m.elem.bytes();
    let (rows, cols) = match order {
        Order::Rows => (ROWS, width * group),
        Order::Columns => (ROWS * group, width),
    };
    if !m.rows.is_multiple_of(rows) || !m.cols.is_multiple_of(cols) {
        let m =
            format!("the matrix is {m}, but its layout needs multiples of {rows} rows and {cols} columns");
        return Err(operand(m));
    }
    Ok(Blocks { m, order, group, pointer, flags })
}

/// Translates a load.
pub(super) fn load(cx: &mut Cx<'_>, inst: &Inst<'_>, order: Order) -> Res<()> {
    let (m, _) = super::coopmat2::result_matrix(cx, inst)?;
    let blocks = blocks(cx, inst, m, order, 2)?;
    let var = cx.scratch_var(m.into(), 1)?;
    let (first, zero) = (cx.i32(0), cx.constant(m.elem, 0));
    let empty = cx.b().value(ir::Op::MatSplat, &[zero], m.into());
    cx.b().var_store(var, None, empty);
    components(cx, &blocks, empty, |cx, component, parts| {
        let word = parts.word;
        let loaded: Values =
            parts.at.iter().map(|&at| cx.b().value(ir::Op::Load(blocks.flags), &[at], word.into())).collect();
        let x = regroup(cx, &loaded, m.elem)?;
        cx.b().effect(ir::Op::VarComponentStore(var), &[first, component, x[0]]);
        Ok(())
    })?;
    let out = cx.b().var_load(var, None);
    cx.define_values(inst, &[out])
}

/// Translates a store.
pub(super) fn store(cx: &mut Cx<'_>, inst: &Inst<'_>, order: Order) -> Res<()> {
    let (m, object) = cx.matrix(inst.arg(1)?)?;
    let blocks = blocks(cx, inst, m, order, 3)?;
    cx.expect_writable(blocks.pointer)?;
    let var = cx.scratch_var(m.into(), 1)?;
    cx.b().var_store(var, None, object);
    let first = cx.i32(0);
    components(cx, &blocks, object, |cx, component, parts| {
        let x = cx.b().value(ir::Op::VarComponentLoad(var), &[first, component], m.elem.into());
        for (x, at) in regroup(cx, &[x], parts.word)?.into_iter().zip(parts.at) {
            cx.b().effect(ir::Op::Store(blocks.flags), &[at, x]);
        }
        Ok(())
    })
}

/// The scalars in memory that a component is: those of 64 bits are apart where blocks take turns.
struct Parts {
    word: Scalar,
    at: Values,
}

/// Appends code for each component that an invocation has of a matrix of this one's type.
fn components(
    cx: &mut Cx<'_>,
    blocks: &Blocks,
    matrix: Value,
    body: impl FnOnce(&mut Cx<'_>, Value, Parts) -> Res<()>,
) -> Res<()> {
    let m = blocks.m;
    cx.count_up(0, m.components(cx.globals.holders(m)), 1, |cx, component| {
        let [row, column] = super::coopmat2::place(cx, matrix, component);
        // Sides are multiples of a block's: only a row can be outside.
        let rows = cx.i32(m.rows.cast_signed());
        let is_inside = cx.b().compare(ir::CompareOp::Ult, row, rows);
        cx.fork(
            is_inside,
            |cx| {
                let parts = place(cx, blocks, (row, column));
                body(cx, component, parts)
            },
            |_| Ok(()),
        )
    })
}

fn arith(cx: &mut Cx<'_>, op: B, x: Value, y: u32) -> Value {
    let y = cx.i32(y.cast_signed());
    cx.b().binary(op, x, y)
}

fn split(cx: &mut Cx<'_>, x: Value, by: u32) -> (Value, Value) {
    (arith(cx, B::Udiv, x, by), arith(cx, B::Umod, x, by))
}

/// Where the element at a row and a column is.
fn place(cx: &mut Cx<'_>, blocks: &Blocks, (row, col): (Value, Value)) -> Parts {
    let Blocks { m, order, group, .. } = *blocks;
    let (bytes, width) = (m.elem.bytes(), ROW_BYTES / m.elem.bytes());
    let (block_row, row) = split(cx, row, ROWS);
    let (block_col, col) = split(cx, col, width);
    let (major, minor, count) = match order {
        Order::Rows => (block_row, block_col, m.cols / width),
        Order::Columns => (block_col, block_row, m.rows / ROWS),
    };
    let before = arith(cx, B::Imul, major, count);
    let block = cx.b().binary(B::Iadd, before, minor);
    let (of, turn) = split(cx, block, group);
    // Bytes in the block, and in its turn.
    let row = arith(cx, B::Imul, row, ROW_BYTES);
    let col = arith(cx, B::Imul, col, bytes);
    let byte = cx.b().binary(B::Iadd, row, col);
    let (word, byte) = split(cx, byte, TURN);
    let place = [
        arith(cx, B::Imul, of, ROWS * ROW_BYTES * group),
        arith(cx, B::Imul, word, TURN * group),
        arith(cx, B::Imul, turn, TURN),
        byte,
    ];
    let mut at = blocks.pointer;
    for offset in place {
        at = cx.b().ptr_add(at, Some(offset), 1, 0);
    }
    let step = i64::from(TURN * group);
    if bytes <= TURN {
        return Parts { word: m.elem, at: Values::from_slice(&[at]) };
    }
    let second = cx.b().ptr_add(at, None, 0, step);
    Parts { word: Scalar::I32, at: Values::from_slice(&[at, second]) }
}
