//! Small integers as halves.
//!
//! A half that begins with the bits `0x6400` is 1024 and what its ten last bits are, so an integer that is known to have one
//! of 1024 values in a row is a half by an *or* and a subtraction, of which the hardware does two at once. Its conversion takes
//! two instructions, each for one number at a time and at a quarter of the rate. Weights that a program decodes are such.

use crate::coopmat::Memory;
use crate::lower::Lower;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{BinaryOp, ConvertKind, Function, Op, Scalar, Value};

/// Most instructions that are looked through for what an integer may be.
const MAX_DEPTH: u32 = 8;
/// The bits of 1024 as a half, whose last ten count.
const START: u32 = 0x6400;
/// The least and the largest integer, both included, up to which halves have all.
const LARGEST: i64 = 2048;

/// The least and the largest value of an integer, read with a sign, as far as that is easily known.
fn range(f: &Function, v: Value, depth: u32) -> Option<(i64, i64)> {
    let bits = f.ty(v).scalar().filter(|s| s.is_int())?.bits();
    if bits > 32 || depth == 0 {
        return None;
    }
    let signed = |bits: u64, of: u32| ((bits << (64 - of)).cast_signed()) >> (64 - of);
    let info = f.def(v);
    let inner = |i: usize| range(f, info.args[i], depth - 1);
    let known = match info.op {
        Op::Const(value) => Some((signed(value, bits), signed(value, bits))),
        Op::Binary(BinaryOp::Iadd) => {
            let ((a, b), (c, d)) = (inner(0)?, inner(1)?);
            Some((a + c, b + d))
        }
        Op::Binary(BinaryOp::Isub) => {
            let ((a, b), (c, d)) = (inner(0)?, inner(1)?);
            Some((a - d, b - c))
        }
        // What is masked by a number without a sign is not larger than it.
        Op::Binary(BinaryOp::And) => {
            let masks = [0, 1].into_iter().filter_map(inner).filter(|&(least, _)| least >= 0);
            masks.map(|(_, most)| (0, most)).min()
        }
        Op::Convert(op) => {
            let from = f.ty(info.args[0]).scalar()?.bits();
            match op.kind {
                ConvertKind::SToS if from < bits => {
                    inner(0).or(Some((-(1 << (from - 1)), (1 << (from - 1)) - 1)))
                }
                ConvertKind::UToU if from < bits => {
                    inner(0).filter(|&(least, _)| least >= 0).or(Some((0, (1 << from) - 1)))
                }
                _ => None,
            }
        }
        _ => None,
    };
    // Sums wrap.
    let (least, most) = (-(1_i64 << (bits - 1)), (1_i64 << (bits - 1)) - 1);
    known.filter(|&(a, b)| least <= a && b <= most)
}

impl<'c> Lower<'_, 'c> {
    /// An integer as a half, if it is known to be small; `x` is what it was lowered to.
    pub(crate) fn small_as_half(&mut self, v: Value, kind: ConvertKind, x: V<'c>) -> Result<Option<V<'c>>> {
        let f = self.f;
        let signed_byte = |v: Value| (f.ty(v).scalar() == Some(Scalar::I8)).then_some(v);
        let byte = match f.def(v).op {
            _ if kind != ConvertKind::SToF => None,
            Op::Convert(op) if op.kind == ConvertKind::SToS => signed_byte(f.def(v).args[0]),
            _ => signed_byte(v),
        };
        // Without the least value all bits above the last ten are zero. LLVM would do with 16 bits what follows, of which the
        // hardware does each by two instructions.
        let (least, further, text) = match byte {
            Some(byte) => {
                let byte = self.scalar(byte)?;
                (-128, self.e.zext_trunc(byte, 32)?, format!("xor.b32 $0, $1, {};", START | 0x80))
            }
            None => {
                let known =
                    range(f, v, MAX_DEPTH).filter(|&(least, _)| kind == ConvertKind::SToF || least >= 0);
                let Some((least, most)) = known else { return Ok(None) };
                if most - least > 1023 || least < -1024 || most > LARGEST {
                    return Ok(None);
                }
                // Read with a sign, as the range is.
                let x = self.e.sext_trunc(x, 32)?;
                let further = self.e.sub(x, self.e.i32(least.cast_unsigned() as u32))?;
                (least, further, format!("or.b32 $0, $1, {START};"))
            }
        };
        let bits = self.assembly(&text, &[self.e.cx.i32_type().into()], &[further], Memory::None)?[0];
        let bits = self.e.zext_trunc(bits, 16)?;
        let half = self.e.bitcast(bits, self.e.cx.f16_type().into())?;
        let start = self.e.cx.f16_type().const_float((1024 - least) as f64);
        let half = self.e.b.build_float_sub(half.into_float_value(), start, "")?;
        Ok(Some(self.e.bitcast(half.into(), self.e.scalar_ty(Scalar::F16))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::text;

    #[test]
    fn what_an_integer_may_be() {
        let source = "kernel \"main\"\nworkgroup_size 32 1 1\nsubgroup_size 32\npush 4\n{\n\
            %p: ptr<push> = push_ptr\n%n: i32 = load %p\n%b: i8 = load %p\n%f: i32 = const 15\n%e: i32 = const 8\n\
            %low: i32 = and %n, %f\n%q: i32 = isub %low, %e\n%s: i32 = s_to_s %b\n%u: i32 = u_to_u %b\n\
            %d: i32 = iadd %s, %q\n%big: i32 = imul %u, %u\n}\n";
        let module = text::parse(source).expect("the text is IR");
        let f = &module.body;
        let found = |nth: usize| {
            let inst = f.block(Function::ENTRY)[nth];
            range(f, f.inst(inst).results[0], MAX_DEPTH)
        };
        let all = (1..11).map(found).collect::<Vec<_>>();
        assert_eq!(all[4], Some((0, 15)));
        assert_eq!(all[5], Some((-8, 7)));
        assert_eq!(all[6], Some((-128, 127)));
        assert_eq!(all[7], Some((0, 255)));
        assert_eq!(all[8], Some((-136, 134)));
        assert_eq!((all[0], all[9]), (None, None));
    }
}
