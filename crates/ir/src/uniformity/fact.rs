//! What is known of a value, and what operations make of it.
//!
//! Besides its [`Shape`] a value has a range and bits that are known to be zero. The range makes extensions of narrow
//! integers safe; the zeros make `index & 31` affine and `index >> 5` uniform. All three hold
//! in every lane, active or not: an inactive lane has the value it would have computed.

use super::{Guard, Shape};
use crate::entities::Value;
use crate::eval;
use crate::module::Module;
use crate::op::{BinaryOp, CompareOp, ConvertKind, UnaryOp};
use crate::types::{Scalar, Type};
use smallvec::SmallVec;

const MAX_DISPATCH_INVOCATIONS: i64 = crate::module::MAX_DISPATCH_INVOCATIONS as i64;
/// Most conditions a shape may depend on.
const MAX_GUARDS: usize = 4;

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fact {
    pub(super) shape: Shape,
    /// Least and greatest value, as signed integer.
    pub(super) range: (i64, i64),
    /// Bits that are zero in the base.
    pub(super) zeros: u64,
    pub(super) guards: SmallVec<[Guard; 2]>,
}

pub(super) fn bits(ty: Type) -> u32 {
    ty.scalar().map_or(64, Scalar::bits)
}

fn full(ty: Type) -> (i64, i64) {
    match bits(ty) {
        1 => (-1, 1),
        n => (i64::MIN >> (64 - n), i64::MAX >> (64 - n)),
    }
}

/// The range, or everything if it does not fit the type.
fn fit(ty: Type, lo: i128, hi: i128) -> (i64, i64) {
    let (min, max) = full(ty);
    if lo >= min.into() && hi <= max.into() { (lo as i64, hi as i64) } else { (min, max) }
}

impl Fact {
    pub(super) fn new(ty: Type, shape: Shape) -> Self {
        Self { shape, range: full(ty), zeros: 0, guards: SmallVec::new() }
    }

    pub(super) fn uniform(ty: Type) -> Self {
        Self::new(ty, Shape::Uniform)
    }

    pub(super) fn varying(ty: Type) -> Self {
        Self::new(ty, Shape::Varying)
    }

    /// An affine value; its stride is reduced to the type's width.
    pub(super) fn affine(ty: Type, stride: i64) -> Self {
        let shift = 64 - bits(ty);
        match stride << shift >> shift {
            0 => Self::uniform(ty),
            stride => Self::new(ty, Shape::Affine { stride }),
        }
    }

    pub(super) fn constant(ty: Type, bits: u64) -> Self {
        match ty.scalar() {
            Some(s) if s.is_int() => {
                let x = eval::sign_extend(s, bits);
                Self { range: (x, x), zeros: !x.cast_unsigned(), ..Self::uniform(ty) }
            }
            Some(_) | None => Self::uniform(ty),
        }
    }

    /// What is read from a variable that nothing was written to.
    pub(super) fn zero(ty: Type) -> Self {
        Self::constant(ty, 0)
    }

    pub(super) fn with_range(self, lo: i64, hi: i64) -> Self {
        Self { range: (lo, hi), ..self }
    }

    /// The base is a multiple of two to this power; 64 for zero.
    pub(super) fn with_align(self, align: u32) -> Self {
        self.with_zeros(1_u64.checked_shl(align).map_or(u64::MAX, |power| power - 1))
    }

    pub(super) fn with_zeros(self, zeros: u64) -> Self {
        Self { zeros, ..self }
    }

    /// A power of two that divides the base, as exponent; 64 for zero.
    pub(super) fn align(&self) -> u32 {
        self.zeros.trailing_ones()
    }

    /// The lowest bits that are zero in every lane.
    fn low_zeros(&self) -> u32 {
        self.align().min(self.shape.steps_zeros())
    }

    fn with_guards<'a>(mut self, ty: Type, of: impl IntoIterator<Item = &'a Self>) -> Self {
        if !matches!(self.shape, Shape::Affine { .. }) {
            return self;
        }
        for guard in of.into_iter().flat_map(|f| &f.guards) {
            if !self.guards.contains(guard) {
                self.guards.push(*guard);
            }
        }
        if self.guards.len() > MAX_GUARDS {
            return Self { range: self.range, ..Self::varying(ty) };
        }
        self
    }

    /// The step from lane to lane, 0 for a uniform value.
    fn stride(&self) -> Option<i64> {
        match self.shape {
            Shape::Uniform => Some(0),
            Shape::Affine { stride } => Some(stride),
            Shape::Bits { .. } | Shape::Varying => None,
        }
    }

    pub(super) fn known(&self) -> Option<i64> {
        (self.range.0 == self.range.1).then_some(self.range.0)
    }

    /// What holds of either. A range that still grows is given up if `widen` is set.
    pub(super) fn join(&self, other: &Self, ty: Type, widen: bool) -> Self {
        let range = (self.range.0.min(other.range.0), self.range.1.max(other.range.1));
        let widens = widen && range != self.range;
        let range = if widens { full(ty) } else { range };
        let shape = if self.shape == other.shape { self.shape } else { Shape::Varying };
        // Bits that are still lost when ranges are given up are not waited for.
        let zeros = self.zeros & other.zeros;
        let is_lost = shape == Shape::Varying || (widen && zeros != self.zeros);
        Self { shape, range, zeros: if is_lost { 0 } else { zeros }, guards: SmallVec::new() }
    }
}

/// The lanes of the module's subgroups.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    pub(super) count: i64,
    size: [i64; 3],
    subgroups: i64,
}

impl Lanes {
    pub(super) fn new(module: &Module) -> Self {
        Self {
            count: module.subgroup_size.into(),
            size: module.workgroup_size.map(i64::from),
            subgroups: module.num_subgroups().into(),
        }
    }

    /// All invocations of a work-group.
    pub(super) fn of_workgroup(module: &Module) -> Self {
        let size = module.workgroup_size.map(i64::from);
        Self { count: size.iter().product(), size, subgroups: 1 }
    }

    // ── built-in inputs ──

    pub(super) fn lane(&self) -> Fact {
        Fact::affine(Type::I32, 1).with_range(0, self.count - 1).with_align(64)
    }

    pub(super) fn subgroup_id(&self) -> Fact {
        Fact::uniform(Type::I32).with_range(0, self.subgroups - 1)
    }

    pub(super) fn local_index(&self) -> Fact {
        let align = self.count.trailing_zeros();
        Fact::affine(Type::I32, 1).with_range(0, self.subgroups * self.count - 1).with_align(align)
    }

    pub(super) fn workgroup_id(&self, axis: usize) -> Fact {
        Fact::uniform(Type::I32).with_range(0, MAX_DISPATCH_INVOCATIONS / self.size[axis] - 1)
    }

    pub(super) fn local_id(&self, axis: usize) -> Fact {
        let [x, y, z] = self.size;
        // Invocations that one step along the axis skips, and those beyond the axis.
        let (below, beyond) = [(1, y * z), (x, z), (x * y, 1)][axis];
        let size = self.size[axis];
        let range = |f: Fact| f.with_range(0, size - 1);
        if size == 1 {
            Fact::zero(Type::I32)
        } else if below % self.count == 0 {
            range(Fact::uniform(Type::I32))
        } else if below == 1 && beyond == 1 {
            // The last subgroup may be partly filled; its lanes beyond the end count on.
            self.local_index()
        } else if below == 1 && size % self.count == 0 {
            range(Fact::affine(Type::I32, 1)).with_align(self.count.trailing_zeros())
        } else {
            self.coordinate(below, (beyond > 1).then_some(size)).unwrap_or(range(Fact::varying(Type::I32)))
        }
    }

    /// What the local index gives where it is divided by a power of two, and taken modulo another.
    fn coordinate(&self, below: i64, size: Option<i64>) -> Option<Fact> {
        let number = |n: i64| Fact::constant(Type::I32, n.cast_unsigned());
        let row = match below {
            1 => self.local_index(),
            _ => self.by_bits(BinaryOp::Udiv, Type::I32, &self.local_index(), &number(below))?,
        };
        // The last subgroup may be partly filled; its lanes beyond the end count on.
        let last = (self.subgroups * self.count - 1) / below;
        match size {
            Some(size) => {
                Some(self.by_bits(BinaryOp::Umod, Type::I32, &row, &number(size))?.with_range(0, size - 1))
            }
            None => Some(row.with_range(0, last)),
        }
    }

    pub(super) fn global_id(&self, axis: usize) -> Fact {
        let local = self.local_id(axis);
        let align = self.size[axis].trailing_zeros().min(local.align());
        let align = if local.shape == Shape::Varying { 0 } else { align };
        // Lanes beyond the end of the last work-group count on, but are less than 128.
        local.with_range(0, MAX_DISPATCH_INVOCATIONS + 127).with_align(align)
    }

    // ── operations ──

    pub(super) fn unary(&self, op: UnaryOp, ty: Type, x: &Fact) -> Fact {
        let (lo, hi) = (x.range.0 as i128, x.range.1 as i128);
        let is_int = ty.scalar().is_some_and(Scalar::is_int);
        let (range, align) = match op {
            UnaryOp::Ineg => (fit(ty, -hi, -lo), x.align()),
            UnaryOp::Not if is_int => (fit(ty, -1 - hi, -1 - lo), 0),
            UnaryOp::Not
            | UnaryOp::BitReverse
            | UnaryOp::BitCount
            | UnaryOp::FindLsb
            | UnaryOp::FindSMsb
            | UnaryOp::FindUMsb
            | UnaryOp::Sabs
            | UnaryOp::Ssign
            | UnaryOp::Fneg
            | UnaryOp::Fabs
            | UnaryOp::Fsign
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::Trunc
            | UnaryOp::RoundEven
            | UnaryOp::Fract
            | UnaryOp::Sqrt
            | UnaryOp::InverseSqrt
            | UnaryOp::Sin
            | UnaryOp::Cos
            | UnaryOp::Tan
            | UnaryOp::Asin
            | UnaryOp::Acos
            | UnaryOp::Atan
            | UnaryOp::Sinh
            | UnaryOp::Cosh
            | UnaryOp::Tanh
            | UnaryOp::Asinh
            | UnaryOp::Acosh
            | UnaryOp::Atanh
            | UnaryOp::Exp
            | UnaryOp::Exp2
            | UnaryOp::Log
            | UnaryOp::Log2
            | UnaryOp::IsNan
            | UnaryOp::IsInf => return self.any(ty, x, x),
        };
        let f = self.step(ty, x.stride().map(i64::wrapping_neg));
        f.with_range(range.0, range.1).with_align(align).with_guards(ty, [x])
    }

    /// A fact of this stride, or varying.
    fn step(&self, ty: Type, stride: Option<i64>) -> Fact {
        stride.map_or_else(|| Fact::varying(ty), |s| Fact::affine(ty, s))
    }

    pub(super) fn binary(&self, op: BinaryOp, ty: Type, x: &Fact, y: &Fact) -> Fact {
        if !ty.scalar().is_some_and(Scalar::is_int) {
            let is_uniform = x.shape == Shape::Uniform && y.shape == Shape::Uniform;
            return if is_uniform { Fact::uniform(ty) } else { Fact::varying(ty) };
        }
        let (lo, hi) = range(op, ty, x, y);
        let f = self.shape(op, ty, x, y);
        let f = if f.shape == Shape::Varying { self.by_bits(op, ty, x, y).unwrap_or(f) } else { f };
        // The greatest multiple of a power of two may be less than the greatest number.
        let hi = if lo >= 0 { hi & (-1_i64).unbounded_shl(f.low_zeros()) } else { hi };
        f.with_range(lo, hi).with_guards(ty, [x, y])
    }

    /// Shape and alignment of an integer operation.
    fn shape(&self, op: BinaryOp, ty: Type, x: &Fact, y: &Fact) -> Fact {
        use BinaryOp as B;
        let both = |f: fn(i64, i64) -> i64| x.stride().zip(y.stride()).map(|(a, b)| f(a, b));
        let align = x.align().min(y.align());
        match op {
            B::Iadd => self.step(ty, both(i64::wrapping_add)).with_zeros(sum_zeros(x, y)),
            B::Isub => self.step(ty, both(i64::wrapping_sub)).with_align(align),
            B::Imul => self.multiply(ty, x, y),
            B::Shl => match y.known() {
                Some(n) => {
                    let n = n as u32 % bits(ty);
                    self.multiply(ty, x, &Fact::constant(ty, 1 << n))
                }
                None => self.any(ty, x, y),
            },
            B::And => match (x.known(), y.known()) {
                (_, Some(mask)) => self.mask(ty, x, mask),
                (Some(mask), _) => self.mask(ty, y, mask),
                (None, None) => self.any(ty, x, y),
            },
            B::Or | B::Xor => self.set_bits(ty, x, y),
            B::Lshr | B::Ashr => match y.known() {
                Some(n) => self.shift_right(ty, x, n as u32 % bits(ty)),
                None => self.any(ty, x, y),
            },
            B::Udiv | B::Sdiv | B::Umod | B::Srem | B::Smod => self.divide(op, ty, x, y),
            B::Smin | B::Smax | B::Umin | B::Umax => {
                let f = self.any(ty, x, y);
                if f.shape == Shape::Uniform { f.with_align(align) } else { f }
            }
            B::SmulHi | B::UmulHi | B::Sdot4 | B::Udot4 | B::Sudot4 => self.any(ty, x, y),
            B::Fadd | B::Fsub | B::Fmul | B::Fdiv | B::Frem | B::Fmod | B::Fmin | B::Fmax => {
                self.any(ty, x, y)
            }
            B::Pow | B::Atan2 | B::Ldexp => self.any(ty, x, y),
        }
    }

    /// Uniform if both operands are.
    fn any(&self, ty: Type, x: &Fact, y: &Fact) -> Fact {
        let is_uniform = x.shape == Shape::Uniform && y.shape == Shape::Uniform;
        if is_uniform { Fact::uniform(ty) } else { Fact::varying(ty) }
    }

    fn multiply(&self, ty: Type, x: &Fact, y: &Fact) -> Fact {
        let stride = match (x.stride(), y.stride(), x.known(), y.known()) {
            (Some(0), Some(0), ..) => Some(0),
            (Some(s), _, _, Some(c)) | (_, Some(s), Some(c), _) => Some(s.wrapping_mul(c)),
            _ => None,
        };
        let f = self.step(ty, stride);
        let is_known = stride.is_some();
        f.with_align(if is_known { x.align() + y.align() } else { 0 })
    }

    /// The number of low bits that the lanes' part of an affine value takes, if its base has zeros
    /// there, so that nothing carries from the one into the other.
    fn low_bits(&self, ty: Type, x: &Fact) -> Option<u32> {
        let Shape::Affine { stride: stride @ 1.. } = x.shape else { return None };
        let top = stride.checked_mul(self.count - 1)?;
        let low = 64 - top.leading_zeros();
        (low <= x.align() && low < bits(ty)).then_some(low)
    }

    fn mask(&self, ty: Type, x: &Fact, mask: i64) -> Fact {
        if x.shape == Shape::Uniform {
            return Fact::uniform(ty).with_zeros(x.zeros | !mask.cast_unsigned());
        }
        let Some(low) = self.low_bits(ty, x) else { return Fact::varying(ty) };
        let lanes = (1 << low) - 1;
        if mask & lanes == lanes {
            let is_base_kept = mask & !lanes != 0;
            self.step(ty, x.stride()).with_align(if is_base_kept { x.align() } else { 64 })
        } else if mask & lanes == 0 {
            Fact::uniform(ty).with_align(mask.trailing_zeros())
        } else {
            Fact::varying(ty)
        }
    }

    /// `or` and `xor`: an addition where the lanes' part meets zeros.
    fn set_bits(&self, ty: Type, x: &Fact, y: &Fact) -> Fact {
        let align = x.align().min(y.align());
        let adds = |x: &Fact, y: &Fact| {
            y.shape == Shape::Uniform && self.low_bits(ty, x).is_some_and(|low| low <= y.align())
        };
        match (x.shape, y.shape) {
            (Shape::Uniform, Shape::Uniform) => Fact::uniform(ty).with_zeros(x.zeros & y.zeros),
            _ if adds(x, y) => self.step(ty, x.stride()).with_align(align),
            _ if adds(y, x) => self.step(ty, y.stride()).with_align(align),
            _ => Fact::varying(ty),
        }
    }

    fn shift_right(&self, ty: Type, x: &Fact, n: u32) -> Fact {
        let align = if x.align() == 64 { 64 } else { x.align().saturating_sub(n) };
        match (x.shape, self.low_bits(ty, x)) {
            (Shape::Uniform, _) => Fact::uniform(ty).with_align(align),
            (Shape::Affine { .. }, Some(low)) if n >= low => Fact::uniform(ty).with_align(align),
            (Shape::Affine { stride }, Some(_)) if stride.trailing_zeros() >= n => {
                self.step(ty, Some(stride >> n)).with_align(align)
            }
            _ => Fact::varying(ty),
        }
    }

    /// Division by a power of two is a shift, the remainder a mask, if no sign is in the way.
    fn divide(&self, op: BinaryOp, ty: Type, x: &Fact, y: &Fact) -> Fact {
        use BinaryOp as B;
        let is_unsigned = matches!(op, B::Udiv | B::Umod) || x.range.0 >= 0;
        match y.known() {
            Some(c) if c > 0 && c & (c - 1) == 0 && is_unsigned => {
                if matches!(op, B::Udiv | B::Sdiv) {
                    self.shift_right(ty, x, c.trailing_zeros())
                } else {
                    self.mask(ty, x, c - 1)
                }
            }
            _ => self.any(ty, x, y),
        }
    }

    pub(super) fn compare(&self, op: CompareOp, ty: Type, x: &Fact, y: &Fact) -> Fact {
        let is_equality = matches!(op, CompareOp::Ieq | CompareOp::Ine);
        let same_step = x.stride().is_some() && x.stride() == y.stride();
        let unguarded = x.guards.is_empty() && y.guards.is_empty();
        if (is_equality && same_step && unguarded) || self.separates(op, ty, x, y) {
            return Fact::uniform(Type::BOOL);
        }
        self.any(Type::BOOL, x, y)
    }

    pub(super) fn select(&self, ty: Type, cond: &Fact, x: &Fact, y: &Fact) -> Fact {
        let joined = x.join(y, ty, false);
        if cond.shape == Shape::Uniform {
            joined.with_guards(ty, [x, y])
        } else {
            Fact::varying(ty).with_range(joined.range.0, joined.range.1)
        }
    }

    /// The same bits, read as another type of the same width.
    pub(super) fn pass(&self, ty: Type, x: &Fact) -> Fact {
        self.step(ty, x.stride()).with_guards(ty, [x])
    }

    pub(super) fn difference(&self, ty: Type, p: &Fact, q: &Fact) -> Fact {
        let stride = p.stride().zip(q.stride()).map(|(a, b)| a.wrapping_sub(b));
        self.step(ty, stride).with_guards(ty, [p, q])
    }

    pub(super) fn convert(&self, kind: ConvertKind, from: Type, ty: Type, x: &Fact, value: Value) -> Fact {
        let is_signed = match kind {
            ConvertKind::SToS => true,
            ConvertKind::UToU => false,
            ConvertKind::FToS
            | ConvertKind::FToU
            | ConvertKind::SToF
            | ConvertKind::UToF
            | ConvertKind::FToF => return self.any(ty, x, x),
        };
        if bits(ty) > bits(from) {
            return self.extend(from, ty, x, value, is_signed);
        }
        let (lo, hi) = fit(ty, x.range.0.into(), x.range.1.into());
        let f = self.step(ty, x.stride()).with_zeros(x.zeros);
        f.with_range(lo, hi).with_guards(ty, [x])
    }

    /// Extension to a wider integer.
    fn extend(&self, from: Type, ty: Type, x: &Fact, value: Value, is_signed: bool) -> Fact {
        let keeps_value = is_signed || x.range.0 >= 0;
        let (lo, hi) = if keeps_value { x.range } else { (0, (1 << bits(from)) - 1) };
        let is_zero = x.known() == Some(0);
        let align = if is_zero { 64 } else { x.align().min(bits(from)) };
        let f = self.step(ty, x.stride()).with_range(lo, hi).with_align(align);
        let Shape::Affine { stride } = f.shape else { return f };
        let spread = (hi as i128 - lo as i128) + (stride as i128 * (self.count as i128 - 1)).abs();
        let mut f = f.with_guards(ty, [x]);
        let is_safe = keeps_value && spread < 1 << bits(from);
        if !is_safe {
            f.guards.push(Guard { value, signed: is_signed });
        }
        f.with_guards(ty, [])
    }

    /// Adds `index * scale` bytes to a pointer.
    pub(super) fn ptr_add(&self, scale: i64, ptr: &Fact, index: Option<(Value, Type, &Fact)>) -> Fact {
        let ty = Type::Ptr(crate::types::Space::Buffer);
        let Some((value, from, index)) = index else { return ptr.clone() };
        let index = match from {
            Type::I64 => index.clone(),
            _ => self.extend(from, Type::I64, index, value, true),
        };
        let stride = ptr.stride().zip(index.stride()).map(|(p, i)| p.wrapping_add(i.wrapping_mul(scale)));
        self.step(ty, stride).with_guards(ty, [ptr, &index])
    }
}

/// Bits that are zero in the sum of two bases: those that are so in both, up to the first that may carry.
pub(super) fn sum_zeros(x: &Fact, y: &Fact) -> u64 {
    let carries = !x.zeros & !y.zeros;
    let below = carries & carries.wrapping_neg();
    x.zeros & y.zeros & below.wrapping_sub(1)
}

/// Range of an integer operation.
fn range(op: BinaryOp, ty: Type, x: &Fact, y: &Fact) -> (i64, i64) {
    use BinaryOp as B;
    let ((a, b), (c, d)) = (x.range, y.range);
    let (wa, wb, wc, wd): (i128, i128, i128, i128) = (a.into(), b.into(), c.into(), d.into());
    let both_positive = a >= 0 && c >= 0;
    match op {
        B::Iadd => fit(ty, wa + wc, wb + wd),
        B::Isub => fit(ty, wa - wd, wb - wc),
        B::Imul => products(ty, (wa, wb), (wc, wd)),
        B::Shl if c == d => {
            let factor = 1_i128 << (c as u32 % bits(ty));
            products(ty, (wa, wb), (factor, factor))
        }
        B::Lshr | B::Ashr if c == d && a >= 0 => {
            let n = c as u32 % bits(ty);
            (a >> n, b >> n)
        }
        B::Udiv | B::Sdiv if c == d && c > 0 && a >= 0 => (a / c, b / c),
        B::Udiv | B::Sdiv if both_positive => (0, b),
        B::Umod | B::Srem | B::Smod if both_positive && d > 0 => (0, b.min(d - 1)),
        B::Umod if c == d && c > 0 => (0, c - 1),
        B::And if both_positive => (0, b.min(d)),
        B::And if a >= 0 => (0, b),
        B::And if c >= 0 => (0, d),
        B::Or | B::Xor if both_positive => (0, ceil_mask(b.max(d))),
        B::Smin => (a.min(c), b.min(d)),
        B::Smax => (a.max(c), b.max(d)),
        B::Umin if both_positive => (a.min(c), b.min(d)),
        B::Umax if both_positive => (a.max(c), b.max(d)),
        // The unsigned minimum with something not negative is not greater than that.
        B::Umin if a >= 0 => (0, b),
        B::Umin if c >= 0 => (0, d),
        B::Shl | B::Lshr | B::Ashr | B::Sdiv | B::Udiv | B::Srem | B::Smod | B::Umod => full(ty),
        B::And | B::Or | B::Xor | B::Umin | B::Umax | B::SmulHi | B::UmulHi => full(ty),
        B::Sdot4 | B::Udot4 | B::Sudot4 => full(ty),
        B::Fadd | B::Fsub | B::Fmul | B::Fdiv | B::Frem | B::Fmod | B::Fmin | B::Fmax => full(ty),
        B::Pow | B::Atan2 | B::Ldexp => full(ty),
    }
}

fn products(ty: Type, x: (i128, i128), y: (i128, i128)) -> (i64, i64) {
    let all = [x.0 * y.0, x.0 * y.1, x.1 * y.0, x.1 * y.1];
    let (lo, hi) = all.iter().fold((all[0], all[0]), |(lo, hi), &p| (lo.min(p), hi.max(p)));
    fit(ty, lo, hi)
}

/// The least number of the form `2^n - 1` that is not below.
fn ceil_mask(x: i64) -> i64 {
    match x {
        0 => 0,
        _ => i64::MAX >> (x.leading_zeros() - 1),
    }
}
