//! Arithmetic, on scalars and element by element on matrices.
//!
//! A matrix that SPIR-V has no instruction for is taken apart into the components of this invocation. What IR defines and
//! SPIR-V leaves undefined is made defined here: counts of shifts are masked, divisors that are 0, or -1 where the quotient
//! might not fit, are replaced.

use phalanx_ir::{BinaryOp, CompareOp, InstInfo, Op as IrOp, Scalar, Type, UnaryOp, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, GlslStd450Op as GlOp, Op, Word};

use crate::emit::id;
use crate::error::{Error, Res};
use crate::lower::{Lower, Val};

impl Lower<'_> {
    pub(crate) fn computed(&mut self, info: &InstInfo) -> Res<()> {
        let result = info.results[0];
        if let (IrOp::Select, Type::Ptr(_)) = (&info.op, self.func.ty(result)) {
            return Err(Error::unsupported("a choice between pointers"));
        }
        let word = match (&info.op, self.func.ty(result)) {
            (IrOp::Const(bits), Type::Scalar(s)) => self.e.constant(s, *bits),
            (_, Type::Mat(_)) => self.elementwise(info)?,
            _ => {
                let args = self.words(&info.args)?;
                let from = info.args.last().map_or(Ok(Scalar::I32), |&v| self.elem(v))?;
                self.scalar(info, from, &args)?
            }
        };
        if info.exact
            && self.func.ty(result).elem().is_some_and(Scalar::is_float)
            && self.e.bits(word).is_none()
        {
            self.e.decorate(word, Decoration::NoContraction, &[]);
        }
        self.set(result, Val::Word(word));
        Ok(())
    }

    /// The type of the result's elements.
    fn result_elem(&self, info: &InstInfo) -> Res<Scalar> {
        self.elem(info.results[0])
    }

    /// An operation on scalars; the last operand's type is `from`.
    fn scalar(&mut self, info: &InstInfo, from: Scalar, args: &[Word]) -> Res<Word> {
        let to = self.result_elem(info)?;
        match &info.op {
            IrOp::Unary(op) => self.unary(*op, from, args[0]),
            IrOp::Binary(op) => {
                let s = self.elem(info.args[0])?;
                self.binary(*op, s, from, args[0], args[1])
            }
            IrOp::Compare(op) => self.compare(*op, from, args[0], args[1]),
            IrOp::Fma => {
                let ty = self.arithmetic(from)?;
                Ok(self.e.glsl(GlOp::Fma, ty, args))
            }
            IrOp::Select => {
                let ty = self.e.scalar(to);
                Ok(self.e.select(ty, args[0], args[1], args[2]))
            }
            IrOp::Convert(op) => self.convert(*op, from, to, args[0]),
            IrOp::Bitcast => Ok(self.bitcast(from, to, args[0])),
            _ => Err(Error::bug("no operation on scalars")),
        }
    }

    pub(crate) fn bitcast(&mut self, from: Scalar, to: Scalar, x: Word) -> Word {
        let ty = self.e.scalar(to);
        if from == to { x } else { self.e.value(Op::Bitcast, ty, &[x]) }
    }

    /// The type of floats that can be computed with, or of integers.
    fn arithmetic(&mut self, s: Scalar) -> Res<Word> {
        if s.is_float() && !s.is_arithmetic_float() {
            return Err(Error::unsupported(format!("arithmetic on {s}")));
        }
        Ok(self.e.scalar(s))
    }

    // ── matrices ──

    fn elementwise(&mut self, info: &InstInfo) -> Res<Word> {
        let result = info.results[0];
        let ty = self.ty(self.func.ty(result))?;
        if info.op == IrOp::Bitcast && self.func.ty(info.args[0]) == self.func.ty(result) {
            return self.word(info.args[0]);
        }
        if let Some(op) = self.whole(info) {
            let args = self.words(&info.args)?;
            return Ok(self.e.value(op, ty, &args));
        }
        let m = self.func.ty(result).mat().ok_or_else(|| Error::bug("no matrix"))?;
        let from = info.args.last().map_or(Ok(Scalar::I32), |&v| self.elem(v))?;
        let mut sum = self.splat_zero(m)?;
        for component in 0..m.components(self.lanes("an operation on components")?) {
            let args: Vec<Word> =
                info.args.iter().map(|&v| self.component(v, component)).collect::<Res<_>>()?;
            let value = self.scalar(info, from, &args)?;
            sum = self.inserted(ty, sum, component, value);
        }
        Ok(sum)
    }

    /// A component of a matrix; a scalar as it is.
    fn component(&mut self, v: Value, component: u32) -> Res<Word> {
        let word = self.word(v)?;
        match self.func.ty(v) {
            Type::Mat(m) => Ok(self.extracted(m.elem, word, component)),
            Type::Scalar(_) | Type::Ptr(_) => Ok(word),
        }
    }

    pub(crate) fn extracted(&mut self, elem: Scalar, matrix: Word, component: u32) -> Word {
        let ty = self.e.scalar(elem);
        self.e.result(Op::CompositeExtract, ty, vec![id(matrix), Operand::LiteralBit32(component)])
    }

    pub(crate) fn inserted(&mut self, ty: Word, matrix: Word, component: u32, value: Word) -> Word {
        let operands = vec![id(value), id(matrix), Operand::LiteralBit32(component)];
        self.e.result(Op::CompositeInsert, ty, operands)
    }

    /// The instruction of SPIR-V that does an operation on whole matrices, and is defined for all numbers.
    fn whole(&self, info: &InstInfo) -> Option<Op> {
        let result = self.func.ty(info.results[0]);
        let is_float = result.elem().is_some_and(Scalar::is_arithmetic_float);
        let is_int = result.elem().is_some_and(Scalar::is_int);
        match &info.op {
            IrOp::Unary(UnaryOp::Fneg) if is_float => Some(Op::FNegate),
            IrOp::Unary(UnaryOp::Ineg) if is_int => Some(Op::SNegate),
            IrOp::Binary(BinaryOp::Fadd) if is_float => Some(Op::FAdd),
            IrOp::Binary(BinaryOp::Fsub) if is_float => Some(Op::FSub),
            IrOp::Binary(BinaryOp::Fmul) if is_float => Some(Op::FMul),
            IrOp::Binary(BinaryOp::Fdiv) if is_float => Some(Op::FDiv),
            IrOp::Binary(BinaryOp::Iadd) if is_int => Some(Op::IAdd),
            IrOp::Binary(BinaryOp::Isub) if is_int => Some(Op::ISub),
            IrOp::Binary(BinaryOp::Imul) if is_int => Some(Op::IMul),
            IrOp::Convert(op) => self.whole_conversion(*op, info.args[0], info.results[0]),
            IrOp::Bitcast if self.keeps_use(info.args[0], info.results[0]) => Some(Op::Bitcast),
            _ => None,
        }
    }

    /// Whether two matrices have one use. SPIR-V converts none to another use; its components are the same elements here.
    pub(crate) fn keeps_use(&self, from: Value, to: Value) -> bool {
        let use_ = |v: Value| self.func.ty(v).mat().map(|m| m.use_);
        use_(from) == use_(to)
    }

    // ── one operand ──

    fn unary(&mut self, op: UnaryOp, s: Scalar, x: Word) -> Res<Word> {
        let ty = self.arithmetic(s)?;
        let glsl = match op {
            UnaryOp::Ineg => return Ok(self.e.value(Op::SNegate, ty, &[x])),
            UnaryOp::Not if s == Scalar::Bool => return Ok(self.e.value(Op::LogicalNot, ty, &[x])),
            UnaryOp::Not => return Ok(self.e.value(Op::Not, ty, &[x])),
            UnaryOp::Fneg => return Ok(self.e.value(Op::FNegate, ty, &[x])),
            UnaryOp::IsNan | UnaryOp::IsInf => {
                let bool = self.e.bool();
                let opcode = if op == UnaryOp::IsNan { Op::IsNan } else { Op::IsInf };
                return Ok(self.e.value(opcode, bool, &[x]));
            }
            UnaryOp::BitReverse | UnaryOp::BitCount => return self.bits(op, s, x),
            UnaryOp::FindLsb | UnaryOp::FindSMsb | UnaryOp::FindUMsb => return self.find_bit(op, s, x),
            UnaryOp::Sabs => GlOp::SAbs,
            UnaryOp::Ssign => GlOp::SSign,
            UnaryOp::Fabs => GlOp::FAbs,
            UnaryOp::Fsign => GlOp::FSign,
            UnaryOp::Floor => GlOp::Floor,
            UnaryOp::Ceil => GlOp::Ceil,
            UnaryOp::Trunc => GlOp::Trunc,
            UnaryOp::RoundEven => GlOp::RoundEven,
            UnaryOp::Fract => GlOp::Fract,
            UnaryOp::Sqrt => GlOp::Sqrt,
            UnaryOp::InverseSqrt => GlOp::InverseSqrt,
            UnaryOp::Sin => GlOp::Sin,
            UnaryOp::Cos => GlOp::Cos,
            UnaryOp::Tan => GlOp::Tan,
            UnaryOp::Asin => GlOp::Asin,
            UnaryOp::Acos => GlOp::Acos,
            UnaryOp::Atan => GlOp::Atan,
            UnaryOp::Sinh => GlOp::Sinh,
            UnaryOp::Cosh => GlOp::Cosh,
            UnaryOp::Tanh => GlOp::Tanh,
            UnaryOp::Asinh => GlOp::Asinh,
            UnaryOp::Acosh => GlOp::Acosh,
            UnaryOp::Atanh => GlOp::Atanh,
            UnaryOp::Exp => GlOp::Exp,
            UnaryOp::Exp2 => GlOp::Exp2,
            UnaryOp::Log => GlOp::Log,
            UnaryOp::Log2 => GlOp::Log2,
        };
        let has_double = matches!(
            glsl,
            GlOp::FAbs
                | GlOp::FSign
                | GlOp::Floor
                | GlOp::Ceil
                | GlOp::Trunc
                | GlOp::RoundEven
                | GlOp::Fract
                | GlOp::Sqrt
                | GlOp::InverseSqrt
        );
        if s == Scalar::F64 && !has_double {
            return Err(Error::unsupported(format!("`{}` of f64", op.name())));
        }
        Ok(self.e.glsl(glsl, ty, &[x]))
    }

    /// The lower and the upper half of 64 bits.
    fn halves(&mut self, x: Word) -> [Word; 2] {
        let (int, long) = (self.e.u32(), self.e.scalar(Scalar::I64));
        let by = self.e.int(32);
        let upper = self.e.value(Op::ShiftRightLogical, long, &[x, by]);
        [self.e.value(Op::UConvert, int, &[x]), self.e.value(Op::UConvert, int, &[upper])]
    }

    /// An integer of any width without a sign as one of another width.
    fn resized(&mut self, from: Scalar, to: Scalar, x: Word) -> Word {
        let ty = self.e.scalar(to);
        if from == to { x } else { self.e.value(Op::UConvert, ty, &[x]) }
    }

    /// Functions of bits, which Vulkan has of 32 bits.
    fn bits(&mut self, op: UnaryOp, s: Scalar, x: Word) -> Res<Word> {
        let int = self.e.u32();
        let opcode = if op == UnaryOp::BitCount { Op::BitCount } else { Op::BitReverse };
        if s == Scalar::I64 {
            let long = self.e.scalar(s);
            let [low, high] = self.halves(x).map(|half| self.e.value(opcode, int, &[half]));
            if op == UnaryOp::BitCount {
                let sum = self.e.value(Op::IAdd, int, &[low, high]);
                return Ok(self.resized(Scalar::I32, s, sum));
            }
            let [low, high] = [low, high].map(|half| self.resized(Scalar::I32, s, half));
            let by = self.e.int(32);
            let upper = self.e.value(Op::ShiftLeftLogical, long, &[low, by]);
            return Ok(self.e.value(Op::BitwiseOr, long, &[upper, high]));
        }
        let x = self.resized(s, Scalar::I32, x);
        let mut y = self.e.value(opcode, int, &[x]);
        if op == UnaryOp::BitReverse {
            y = self.e.integer_with(BinaryOp::Lshr, y, 32 - s.bits());
        }
        Ok(self.resized(Scalar::I32, s, y))
    }

    /// The index of a bit; all ones where there is none.
    fn find_bit(&mut self, op: UnaryOp, s: Scalar, x: Word) -> Res<Word> {
        let (int, bool, ty) = (self.e.u32(), self.e.bool(), self.e.scalar(s));
        let mut x = x;
        if op == UnaryOp::FindSMsb {
            let zero = self.e.constant(s, 0);
            let is_negative = self.e.value(Op::SLessThan, bool, &[x, zero]);
            let complement = self.e.value(Op::Not, ty, &[x]);
            x = self.e.value(Op::Select, ty, &[is_negative, complement, x]);
        }
        let function = if op == UnaryOp::FindLsb { GlOp::FindILsb } else { GlOp::FindUMsb };
        let index = if s == Scalar::I64 {
            let halves = self.halves(x);
            let [low, high] = halves.map(|half| self.e.glsl(function, int, &[half]));
            let zero = self.e.int(0);
            let [is_low_zero, is_high_zero] =
                halves.map(|half| self.e.value(Op::IEqual, bool, &[half, zero]));
            let by = self.e.int(32);
            let raised = self.e.value(Op::IAdd, int, &[high, by]);
            let upper = self.e.value(Op::Select, int, &[is_high_zero, high, raised]);
            if op == UnaryOp::FindLsb {
                self.e.value(Op::Select, int, &[is_low_zero, upper, low])
            } else {
                self.e.value(Op::Select, int, &[is_high_zero, low, upper])
            }
        } else {
            let x = self.resized(s, Scalar::I32, x);
            self.e.glsl(function, int, &[x])
        };
        // All ones stay all ones.
        Ok(if s == Scalar::I32 { index } else { self.e.value(Op::SConvert, ty, &[index]) })
    }

    // ── two operands ──

    fn binary(&mut self, op: BinaryOp, s: Scalar, right: Scalar, x: Word, y: Word) -> Res<Word> {
        let ty = self.arithmetic(s)?;
        let is_bool = s == Scalar::Bool;
        let opcode = match op {
            BinaryOp::Iadd => Op::IAdd,
            BinaryOp::Isub => Op::ISub,
            BinaryOp::Imul => Op::IMul,
            BinaryOp::Sdiv | BinaryOp::Udiv | BinaryOp::Srem | BinaryOp::Smod | BinaryOp::Umod => {
                return Ok(self.divided(op, s, x, y));
            }
            BinaryOp::SmulHi | BinaryOp::UmulHi => {
                let pair = self.e.ty(Op::TypeStruct, vec![id(ty), id(ty)]);
                let op = if op == BinaryOp::SmulHi { Op::SMulExtended } else { Op::UMulExtended };
                let product = self.e.value(op, pair, &[x, y]);
                return Ok(self.extracted(s, product, 1));
            }
            BinaryOp::Sdot4 | BinaryOp::Udot4 | BinaryOp::Sudot4 => return Ok(self.dot4(op, s, x, y)),
            BinaryOp::Smin => return Ok(self.e.glsl(GlOp::SMin, ty, &[x, y])),
            BinaryOp::Smax => return Ok(self.e.glsl(GlOp::SMax, ty, &[x, y])),
            BinaryOp::Umin => return Ok(self.e.glsl(GlOp::UMin, ty, &[x, y])),
            BinaryOp::Umax => return Ok(self.e.glsl(GlOp::UMax, ty, &[x, y])),
            BinaryOp::And if is_bool => Op::LogicalAnd,
            BinaryOp::Or if is_bool => Op::LogicalOr,
            BinaryOp::Xor if is_bool => Op::LogicalNotEqual,
            BinaryOp::And => Op::BitwiseAnd,
            BinaryOp::Or => Op::BitwiseOr,
            BinaryOp::Xor => Op::BitwiseXor,
            BinaryOp::Shl | BinaryOp::Lshr | BinaryOp::Ashr => {
                let mask = self.e.constant(right, (s.bits() - 1).into());
                let count = self.e.integer(BinaryOp::And, right, y, mask);
                let op = match op {
                    BinaryOp::Shl => Op::ShiftLeftLogical,
                    BinaryOp::Lshr => Op::ShiftRightLogical,
                    _ => Op::ShiftRightArithmetic,
                };
                return Ok(self.e.value(op, ty, &[x, count]));
            }
            BinaryOp::Fadd => Op::FAdd,
            BinaryOp::Fsub => Op::FSub,
            BinaryOp::Fmul => Op::FMul,
            BinaryOp::Fdiv => Op::FDiv,
            BinaryOp::Frem => Op::FRem,
            BinaryOp::Fmod => Op::FMod,
            BinaryOp::Fmin | BinaryOp::Fmax => return Ok(self.chosen(op, s, x, y)),
            BinaryOp::Pow | BinaryOp::Atan2 if s == Scalar::F64 => {
                return Err(Error::unsupported(format!("`{}` of f64", op.name())));
            }
            BinaryOp::Pow => return self.power(s, x, y),
            BinaryOp::Atan2 => return Ok(self.e.glsl(GlOp::Atan2, ty, &[x, y])),
            BinaryOp::Ldexp => return Ok(self.e.glsl(GlOp::Ldexp, ty, &[x, y])),
        };
        Ok(self.e.value(opcode, ty, &[x, y]))
    }

    /// The sum of the products of the bytes of two words, one by one: no capability is asked for it.
    fn dot4(&mut self, op: BinaryOp, s: Scalar, x: Word, y: Word) -> Word {
        let byte = |this: &mut Self, word: Word, number: u64, signed: bool| {
            let (left, right) = (this.e.constant(s, 24 - 8 * number), this.e.constant(s, 24));
            let high = this.e.integer(BinaryOp::Shl, s, word, left);
            this.e.integer(if signed { BinaryOp::Ashr } else { BinaryOp::Lshr }, s, high, right)
        };
        let mut sum = self.e.constant(s, 0);
        for number in 0..4 {
            let a = byte(self, x, number, op != BinaryOp::Udot4);
            let b = byte(self, y, number, op == BinaryOp::Sdot4);
            let product = self.e.integer(BinaryOp::Imul, s, a, b);
            sum = self.e.integer(BinaryOp::Iadd, s, sum, product);
        }
        sum
    }

    /// *Pow* of GLSL.std.450 is not defined for negative bases.
    fn power(&mut self, s: Scalar, x: Word, y: Word) -> Res<Word> {
        let ty = self.e.scalar(s);
        Ok(self.e.glsl(GlOp::Pow, ty, &[x, y]))
    }

    /// The lesser or greater one, and the other one if one is NaN: what *NMin* and *NMax* are, in words that the `spirv`
    /// dialect has too.
    fn chosen(&mut self, op: BinaryOp, s: Scalar, x: Word, y: Word) -> Word {
        let (ty, bool) = (self.e.scalar(s), self.e.bool());
        let order = if op == BinaryOp::Fmin { Op::FOrdLessThan } else { Op::FOrdGreaterThan };
        let is_beyond = self.e.value(order, bool, &[y, x]);
        let is_nan = self.e.value(Op::IsNan, bool, &[x]);
        let takes_other = self.e.value(Op::LogicalOr, bool, &[is_beyond, is_nan]);
        self.e.value(Op::Select, ty, &[takes_other, y, x])
    }

    /// Quotients and remainders. SPIR-V leaves them undefined for a divisor of 0, and for -1 and the least number.
    fn divided(&mut self, op: BinaryOp, s: Scalar, x: Word, y: Word) -> Word {
        let (ty, bool) = (self.e.scalar(s), self.e.bool());
        let is_signed = matches!(op, BinaryOp::Sdiv | BinaryOp::Srem | BinaryOp::Smod);
        let opcode = match op {
            BinaryOp::Sdiv => Op::SDiv,
            BinaryOp::Udiv => Op::UDiv,
            BinaryOp::Srem => Op::SRem,
            BinaryOp::Smod => Op::SMod,
            _ => Op::UMod,
        };
        let known = self.e.bits(y);
        if known.is_some_and(|bits| bits != 0 && !(is_signed && bits == s.mask())) {
            return self.e.value(opcode, ty, &[x, y]);
        }
        let (zero, one) = (self.e.constant(s, 0), self.e.constant(s, 1));
        let is_zero = self.e.value(Op::IEqual, bool, &[y, zero]);
        let mut is_special = is_zero;
        let mut is_minus = None;
        if is_signed {
            let minus = self.e.constant(s, u64::MAX);
            let found = self.e.value(Op::IEqual, bool, &[y, minus]);
            is_special = self.e.value(Op::LogicalOr, bool, &[is_zero, found]);
            is_minus = Some(found);
        }
        let divisor = self.e.value(Op::Select, ty, &[is_special, one, y]);
        let mut quotient = self.e.value(opcode, ty, &[x, divisor]);
        if !matches!(op, BinaryOp::Sdiv | BinaryOp::Udiv) {
            // What remains of a division by 1 is 0.
            return quotient;
        }
        if let Some(is_minus) = is_minus {
            let negated = self.e.value(Op::SNegate, ty, &[x]);
            quotient = self.e.value(Op::Select, ty, &[is_minus, negated, quotient]);
        }
        self.e.value(Op::Select, ty, &[is_zero, zero, quotient])
    }

    fn compare(&mut self, op: CompareOp, s: Scalar, x: Word, y: Word) -> Res<Word> {
        let is_bool = s == Scalar::Bool;
        let opcode = match op {
            CompareOp::Ieq if is_bool => Op::LogicalEqual,
            CompareOp::Ine if is_bool => Op::LogicalNotEqual,
            CompareOp::Ieq => Op::IEqual,
            CompareOp::Ine => Op::INotEqual,
            CompareOp::Slt => Op::SLessThan,
            CompareOp::Sle => Op::SLessThanEqual,
            CompareOp::Ult => Op::ULessThan,
            CompareOp::Ule => Op::ULessThanEqual,
            CompareOp::FordEq => Op::FOrdEqual,
            CompareOp::FordNe => Op::FOrdNotEqual,
            CompareOp::FordLt => Op::FOrdLessThan,
            CompareOp::FordLe => Op::FOrdLessThanEqual,
            CompareOp::FunordEq => Op::FUnordEqual,
            CompareOp::FunordNe => Op::FUnordNotEqual,
            CompareOp::FunordLt => Op::FUnordLessThan,
            CompareOp::FunordLe => Op::FUnordLessThanEqual,
        };
        let bool = self.e.bool();
        Ok(self.e.value(opcode, bool, &[x, y]))
    }
}
