//! Operations that each lane does by itself, and the form their results take.
//!
//! If all operands are uniform, the operation is done once. It is done once as well, for lane 0,
//! if the analysis knows what the result of the other lanes has more than that. Otherwise it is done on
//! vectors.

use crate::emit::{Emit, V};
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::value::{Lowered, Ptr, Shape, Val};
use inkwell::IntPredicate;
use phalanx_ir::uniformity::Shape as Known;
use phalanx_ir::{BinaryOp, CompareOp, ConvertKind, Inst, InstInfo, Op, Scalar, Space, Value, eval};
use smallvec::SmallVec;

/// Operations on whole numbers that are looked through.
const CHAIN: u32 = 4;

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_elementwise(&mut self, inst: Inst) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        if let Op::Const(bits) = info.op {
            let s = self.scalar_ty(info.results[0])?;
            self.set(inst, Val::uniform(self.e.scalar_const(s, bits)));
            return Ok(());
        }
        if info.args.iter().any(|&v| matches!(self.value(v), Ok(Lowered::Ptr(_)))) {
            return self.lower_on_pointers(inst, info);
        }
        let args = info.args.iter().map(|&v| self.scalar(v)).collect::<Result<SmallVec<[_; 4]>>>()?;
        let result = info.results[0];
        if let &[x] = &args[..]
            && let Some(v) = self.convert_repeated(inst, x)?
        {
            self.set(inst, v);
            return Ok(());
        }
        let known = self.uniformity.value(result);
        let one_is_enough = args.iter().all(Val::is_based)
            && known != Known::Varying
            && self.uniformity.guards(result).is_empty();
        if one_is_enough && !args.iter().all(Val::is_uniform) {
            let bases: SmallVec<[_; 4]> = args.iter().map(|a| a.v).collect();
            let v = self.apply(info, &bases)?;
            let shape = self.known_shape(known);
            self.set(inst, Val { shape, v });
            return Ok(());
        }
        let (shape, vectors) = self.together(&args)?;
        let v = self.apply(info, &vectors)?;
        self.set(inst, Val { shape, v });
        Ok(())
    }

    /// The shape of a value that is kept as that of lane 0.
    pub(crate) fn known_shape(&mut self, known: Known) -> Shape {
        match known {
            Known::Uniform => Shape::Uniform,
            Known::Affine { stride } => Shape::Affine(stride),
            Known::Bits { steps } => {
                let bits = |l: usize| (0..steps.len()).filter(move |k| l >> k & 1 == 1);
                let sum = |l| bits(l).fold(0_i64, |sum, k| sum.wrapping_add(steps[k]));
                self.patterns.shape((0..self.w as usize).map(sum).collect())
            }
            Known::Varying => Shape::Varying,
        }
    }

    /// The operation on values of one form.
    pub(crate) fn apply(&mut self, info: &InstInfo, args: &[V<'c>]) -> Result<V<'c>> {
        let from = self.scalar_ty(info.args[0])?;
        let to = self.scalar_ty(info.results[0])?;
        match (&info.op, args) {
            (Op::Unary(op), &[x]) => self.unary(*op, from, x, info.exact),
            (Op::Binary(op), &[x, y]) => {
                let z = self.binary(*op, from, x, y, info.exact)?;
                if to == Scalar::F16 && self.whole(info.results[0], CHAIN).is_some() {
                    self.e.note_exact(z);
                }
                Ok(z)
            }
            (Op::Compare(op), &[x, y]) => self.e.compare(*op, from, x, y),
            (Op::Fma, &[x, y, z]) => self.fma(from, x, y, z),
            (Op::Select, &[c, x, y]) => self.e.select(c, x, y),
            (Op::Convert(_), &[x]) if self.is_exact_half(info, (from, to)) => self.e.exact_half(x),
            (Op::Convert(op), &[x]) => self.e.convert(*op, from, to, x),
            (Op::Bitcast, &[x]) => self.e.bitcast(x, self.e.ty_like(self.e.scalar_ty(to), x)),
            _ => Err(Error::bug("an operation has the wrong number of operands")),
        }
    }

    /// Whether an integer becomes a half that is not rounded.
    fn is_exact_half(&self, info: &InstInfo, (from, to): (Scalar, Scalar)) -> bool {
        (from, to) == (Scalar::I32, Scalar::F16) && self.whole(info.results[0], 0).is_some()
    }

    /// The least and the greatest value of a float that is a whole number, all of which halves have, as of weights of a
    /// few bits; looked for through so many operations.
    fn whole(&self, v: Value, chain: u32) -> Option<(i64, i64)> {
        let info = self.f.def(v);
        let (low, high) = match (&info.op, &info.args[..]) {
            (&Op::Const(bits), []) => {
                let x = eval::to_f64(self.f.ty(v).scalar()?, bits);
                (x.fract() == 0.0).then_some((x as i64, x as i64))?
            }
            (Op::Convert(op), &[x]) => {
                let (low, high) = self.uniformity.range(x);
                let has_sign = op.kind == ConvertKind::SToF || (op.kind == ConvertKind::UToF && low >= 0);
                has_sign.then_some((low, high))?
            }
            (Op::Binary(op), &[x, y]) if chain > 0 => {
                let ((a, b), (c, d)) = (self.whole(x, chain - 1)?, self.whole(y, chain - 1)?);
                match op {
                    BinaryOp::Fadd => (a + c, b + d),
                    BinaryOp::Fsub => (a - d, b - c),
                    BinaryOp::Fmul => {
                        let products = [a * c, a * d, b * c, b * d];
                        (*products.iter().min()?, *products.iter().max()?)
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        let is_in_range = |x| Emit::EXACT_HALVES.contains(&x);
        (is_in_range(low) && is_in_range(high)).then_some((low, high))
    }

    /// The type of a scalar value.
    pub(crate) fn scalar_ty(&self, v: Value) -> Result<Scalar> {
        self.f.ty(v).scalar().ok_or_else(|| Error::bug(format!("{v} is no scalar")))
    }

    /// Choosing between pointers, and comparing them.
    fn lower_on_pointers(&mut self, inst: Inst, info: &InstInfo) -> Result<()> {
        match (&info.op, &info.args[..]) {
            (Op::Select, &[cond, x, y]) => {
                let (cond, x, y) = (self.scalar(cond)?, self.ptr(x)?, self.ptr(y)?);
                let p = Ptr {
                    space: x.space,
                    base: self.choose(cond, x.base, y.base)?,
                    size: self.choose(cond, x.size, y.size)?,
                    offset: self.choose(cond, x.offset, y.offset)?,
                };
                self.set_ptr(inst, p);
                Ok(())
            }
            (Op::Compare(op), &[x, y]) => {
                let predicate = match op {
                    CompareOp::Ieq => IntPredicate::EQ,
                    CompareOp::Ine => IntPredicate::NE,
                    _ => return Err(Error::bug("pointers have no order")),
                };
                let (x, y) = (self.ptr(x)?, self.ptr(y)?);
                let (x, y) = (self.address(&x)?, self.address(&y)?);
                let (shape, both) = self.together(&[x, y])?;
                let v = self.e.icmp(predicate, both[0], both[1])?;
                self.set(inst, Val { shape, v });
                Ok(())
            }
            _ => Err(Error::bug("an operation that pointers do not have")),
        }
    }

    /// `cond ? x : y`.
    pub(crate) fn choose(&mut self, cond: Val<'c>, x: Val<'c>, y: Val<'c>) -> Result<Val<'c>> {
        if x == y {
            return Ok(x);
        }
        let evenly = cond.is_uniform() && x.stride().is_some() && x.stride() == y.stride();
        if evenly {
            return Ok(Val { shape: x.shape, v: self.e.select(cond.v, x.v, y.v)? });
        }
        let (shape, all) = self.together(&[cond, x, y])?;
        Ok(Val { shape, v: self.e.select(all[0], all[1], all[2])? })
    }

    /// The address of a pointer (`i64`).
    pub(crate) fn address(&mut self, p: &Ptr<'c>) -> Result<Val<'c>> {
        if p.space == Space::Global {
            return Ok(p.offset);
        }
        let base =
            self.e.cast(inkwell::values::InstructionOpcode::PtrToInt, p.base.v, self.e.cx.i64_type())?;
        if p.base.is_uniform() && p.offset.stride().is_some() {
            return Ok(Val { shape: p.offset.shape, v: self.e.add(base, p.offset.v)? });
        }
        let (shape, both) = self.together(&[Val { v: base, ..p.base }, p.offset])?;
        Ok(Val { shape, v: self.e.add(both[0], both[1])? })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::assembly;

    /// Instructions that round to halves, in code that multiplies a half by what 32 lanes leave of integers.
    fn roundings(mask: u32) -> usize {
        let module = format!(
            "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
binding buf0 = 0.0 storage writable
{{
  %0: i32 = const 0
  %eight: i32 = const 8
  %mask: i32 = const {mask}
  %lane: i32 = local_invocation_id<x>
  %p: ptr<buffer> = buffer_ptr<buf0> %0
  %scale: f16 = load %p
  %at: ptr<buffer> = ptr_add<scale=4> %p, %lane
  %word: i32 = load %at
  %number: i32 = and %word, %mask
  %signed: i32 = isub %number, %eight
  %half: f16 = s_to_f %signed
  %x: f16 = fmul %half, %scale
  store %at, %x
}}
"
        );
        assembly(&module, "znver4").matches("vcvtps2ph").count()
    }

    #[test]
    fn integers_that_halves_have_are_not_rounded() {
        // Of two registers with a number of each lane: the products, and what is multiplied.
        assert_eq!(roundings(15), 2);
        assert_eq!(roundings(2047), 2);
        assert_eq!(roundings(4095), 4);
    }
}
