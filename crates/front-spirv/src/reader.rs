//! Words to a flat list of instructions.
//!
//! Only the frame is checked here: word counts, known opcodes, result ids, the least number of
//! operands. What the operands are is for those to check who use them, since only they know what
//! they need. An instruction borrows its operand words, so reading allocates one entry for each.

use crate::diag::{Diagnostics, Res, code, invalid};
use rspirv::grammar::{OperandKind, OperandQuantifier};
use rustc_hash::FxHashMap;
use spirv::Op;
use std::sync::LazyLock;

/// A SPIR-V id; 0 for none.
pub(crate) type Id = u32;

/// Ids must be less than this. The universal limit of SPIR-V is 4 194 303.
const MAX_BOUND: u32 = 1 << 22;

/// What *OpCooperativeMatrixGetCoordinateEXT* is read as, which the crate `spirv` does not know: an
/// instruction of the same operands that modules for us cannot have.
pub(crate) const GET_COORDINATE: Op = Op::SubgroupAvcImeGetBorderReachedINTEL;
const GET_COORDINATE_OPCODE: u32 = 5363;

fn opcode(number: u32) -> Option<Op> {
    match number {
        GET_COORDINATE_OPCODE => Some(GET_COORDINATE),
        _ => Op::from_u32(number).filter(|op| *op != GET_COORDINATE),
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inst<'w> {
    /// Its opcode.
    pub(crate) op: Op,
    /// Offset of its first word in the module.
    pub(crate) at: u32,
    /// Result type, or 0.
    pub(crate) ty: Id,
    /// Result id, or 0.
    pub(crate) id: Id,
    /// The operands after these.
    pub(crate) args: &'w [u32],
}

impl<'w> Inst<'w> {
    /// The name with its `Op` prefix.
    pub(crate) fn name(&self) -> String {
        op_name(self.op)
    }

    /// Operand `i` after the result.
    pub(crate) fn arg(&self, i: usize) -> Res<u32> {
        self.args.get(i).copied().ok_or_else(|| {
            invalid(code::READER, format!("has {} operands, expected at least {}", self.args.len(), i + 1))
        })
    }

    /// The operands from `i` on; empty if there are none.
    pub(crate) fn rest(&self, i: usize) -> &'w [u32] {
        self.args.get(i..).unwrap_or_default()
    }

    /// The string that starts at operand `i`, and the number of the operand behind it.
    pub(crate) fn string(&self, i: usize) -> Res<(String, usize)> {
        let mut bytes = Vec::new();
        for (n, word) in self.rest(i).iter().enumerate() {
            let word = word.to_le_bytes();
            let end = word.iter().position(|&b| b == 0);
            bytes.extend_from_slice(&word[..end.unwrap_or(4)]);
            if end.is_some() {
                return Ok((String::from_utf8_lossy(&bytes).into_owned(), i + n + 1));
            }
        }
        Err(invalid(code::READER, "a string lacks its terminating zero"))
    }
}

/// The name of an opcode with its `Op` prefix.
pub(crate) fn op_name(op: Op) -> String {
    match op {
        GET_COORDINATE => "OpCooperativeMatrixGetCoordinateEXT".into(),
        _ => format!("Op{op:?}"),
    }
}

/// The frame of an instruction.
#[derive(Clone, Copy)]
struct Shape {
    has_type: bool,
    has_result: bool,
    /// Least number of words after the first.
    min_words: usize,
}

static SHAPES: LazyLock<FxHashMap<u32, Shape>> = LazyLock::new(|| {
    let shape = |operands: &[rspirv::grammar::LogicalOperand]| {
        let has = |kind| operands.iter().any(|o| o.kind == kind);
        let min_words = operands.iter().filter(|o| o.quantifier == OperandQuantifier::One).count();
        Shape { has_type: has(OperandKind::IdResultType), has_result: has(OperandKind::IdResult), min_words }
    };
    rspirv::grammar::INSTRUCTION_TABLE.iter().map(|i| (i.opcode as u32, shape(i.operands))).collect()
});

/// The words of a module in memory order, from bytes of either endianness.
///
/// # Errors
///
/// If the bytes are not a whole number of words, or do not begin with the magic number.
pub fn words_from_bytes(bytes: &[u8]) -> Result<Vec<u32>, Diagnostics> {
    let (words, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        let message = format!("{} bytes are not a whole number of 32-bit words", bytes.len());
        return Err(invalid(code::READER, message).into());
    }
    let Some(first) = words.first() else {
        return Err(invalid(code::READER, "the module is empty").into());
    };
    let read = match spirv::MAGIC_NUMBER {
        m if m == u32::from_le_bytes(*first) => u32::from_le_bytes,
        m if m == u32::from_be_bytes(*first) => u32::from_be_bytes,
        _ => return Err(wrong_magic(u32::from_le_bytes(*first)).into()),
    };
    Ok(words.iter().map(|w| read(*w)).collect())
}

fn wrong_magic(found: u32) -> crate::diag::Fault {
    let m = format!("not a SPIR-V module: expected the magic number 0x07230203, found 0x{found:08x}");
    invalid(code::READER, m)
}

/// The header of a module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    /// Major and minor version.
    pub(crate) version: (u8, u8),
    /// All ids are less than this.
    pub(crate) bound: u32,
}

/// Reads the header.
pub(crate) fn read_header(words: &[u32]) -> Res<Header> {
    let [magic, version, _generator, bound, _schema, ..] = *words else {
        return Err(invalid(code::READER, format!("the header needs 5 words, found {}", words.len())));
    };
    if magic == spirv::MAGIC_NUMBER.swap_bytes() {
        return Err(invalid(code::READER, "the module is in the other byte order"));
    }
    if magic != spirv::MAGIC_NUMBER {
        return Err(wrong_magic(magic));
    }
    let [_, minor, major, _] = version.to_le_bytes();
    if major != 1 || minor > 6 {
        let m = format!("SPIR-V version {major}.{minor}: expected 1.0 to 1.6");
        return Err(crate::diag::unsupported(code::READER, m));
    }
    if bound == 0 || bound > MAX_BOUND {
        return Err(invalid(code::READER, format!("id bound {bound}: expected 1 to {MAX_BOUND}")));
    }
    Ok(Header { version: (major, minor), bound })
}

/// Reads the instructions after the header.
pub(crate) fn read_insts<'w>(words: &'w [u32], header: &Header) -> Res<Vec<Inst<'w>>> {
    let mut insts = Vec::with_capacity(words.len() / 4);
    let mut at = 5;
    while at < words.len() {
        let inst = read_inst(words, at, header).map_err(|mut fault| {
            fault.location.word = at as u32;
            fault
        })?;
        at += (words[at] >> 16) as usize;
        insts.push(inst);
    }
    Ok(insts)
}

fn read_inst<'w>(words: &'w [u32], at: usize, header: &Header) -> Res<Inst<'w>> {
    let (count, number) = ((words[at] >> 16) as usize, words[at] & 0xffff);
    let left = words.len() - at;
    let known = opcode(number).and_then(|op| Some((op, SHAPES.get(&(op as u32))?)));
    let Some((op, shape)) = known else {
        return Err(invalid(code::READER, format!("unknown opcode {number}")));
    };
    if count == 0 || count > left {
        let m = format!("{} is {count} words long, but {left} are left", op_name(op));
        return Err(invalid(code::READER, m));
    }
    if count <= shape.min_words {
        let m = format!("{} is {count} words long, expected at least {}", op_name(op), shape.min_words + 1);
        return Err(invalid(code::READER, m));
    }
    let mut args = &words[at + 1..at + count];
    let mut take = |wanted: bool| -> Res<Id> {
        match args.split_first() {
            Some((&id, rest)) if wanted => {
                args = rest;
                check_id(id, header)?;
                Ok(id)
            }
            _ => Ok(0),
        }
    };
    let ty = take(shape.has_type)?;
    let id = take(shape.has_result)?;
    Ok(Inst { op, at: at as u32, ty, id, args })
}

fn check_id(id: Id, header: &Header) -> Res<()> {
    if id == 0 || id >= header.bound {
        return Err(invalid(code::ID, format!("id {id} is not between 1 and the bound {}", header.bound)));
    }
    Ok(())
}
