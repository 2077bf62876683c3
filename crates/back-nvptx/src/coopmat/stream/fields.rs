//! Which bits of memory the elements of a run take, where a function of an element takes some of a byte and makes a number of
//! them.
//!
//! It follows from the bits of an element's own number: those in which the elements of a run differ are zero in that of the
//! first. A value moves by a constant for each of them as long as nothing carries into or out of them.

use phalanx_ir::{
    BinaryOp, Block, CompareOp, ConvertKind, Function, Inst, Op, Scalar, Space, Type, Uniformity, Value,
};
use std::collections::HashMap;

/// Bits of memory as a number: `(loaded >> shift & mask) + added`, for each element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) load: Inst,
    /// Bytes from what the first element loads.
    place: Vec<u64>,
    shift: Vec<u32>,
    mask: Vec<u64>,
    /// Whether the byte is one with a sign, whose highest bit is turned to add a number to it.
    pub(super) is_signed: bool,
    added: Vec<i64>,
}

/// Bits of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    /// Bytes from what the first element loads, and from what this one does.
    pub(super) place: u64,
    pub(super) further: u64,
    /// Before it is shifted.
    pub(super) mask: u64,
    pub(super) shift: u32,
    pub(super) added: i64,
}

impl Field {
    /// The bits of an element, if they are within a byte.
    pub(super) fn bits(&self, element: usize) -> Option<Bits> {
        let (shift, mask) = (self.shift[element], self.mask[element]);
        let all = mask.checked_shl(shift)?;
        let further = u64::from(all.trailing_zeros() / 8);
        let shift = shift.checked_sub(8 * further as u32)?;
        let mask = all.checked_shr(8 * further as u32)?;
        let place = self.place[element].checked_add(further)?;
        let added = self.added[element];
        (mask <= 0xff && shift < 8).then_some(Bits { place, further, mask, shift, added })
    }

    /// Whether each two neighbours take the same bits of neighbouring bytes, of which the first is even.
    fn is_of_pairs(&self) -> bool {
        let pair = |first: usize| {
            let (one, other) = (self.bits(first)?, self.bits(first + 1)?);
            let is_next = other.place == one.place + 1 && one.place.is_multiple_of(2);
            Some(is_next && one == Bits { place: one.place, further: one.further, ..other })
        };
        (0..self.place.len()).step_by(2).all(|first| pair(first) == Some(true))
    }

    /// Whether no number is beyond those that a word of so many bits has with a sign.
    fn fits(&self, width: u32) -> bool {
        let limit = 1_i128 << (width - 1);
        let fits = |(&mask, &added): (&u64, &i64)| {
            i128::from(mask) + i128::from(added) < limit && i128::from(added) >= -limit
        };
        self.mask.iter().zip(&self.added).all(fits)
    }

    /// The byte as one with a sign.
    fn signed(&self) -> Option<Self> {
        let field = self.with(|_, shift, mask| (mask == 0xff).then_some((shift, mask)))?;
        Some(Self { is_signed: true, added: vec![-128; field.place.len()], ..field })
    }

    /// The field with other bits of each element.
    fn with(&self, change: impl Fn(usize, u32, u64) -> Option<(u32, u64)>) -> Option<Self> {
        if self.is_signed || self.added.iter().any(|&added| added != 0) {
            return None;
        }
        let mut field = self.clone();
        for element in 0..self.place.len() {
            (field.shift[element], field.mask[element]) =
                change(element, self.shift[element], self.mask[element])?;
        }
        Some(field)
    }
}

/// How a value differs among the elements of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Moves {
    /// What is added for each bit of an element's number.
    by: Vec<i64>,
    /// Where nothing carries when it is added: the bits that it may have for the first element.
    first: Option<u64>,
    /// How many of its lowest bits are zero for the first element.
    low: u32,
}

impl Moves {
    fn is_none(&self) -> bool {
        self.by.iter().all(|&by| by == 0)
    }

    /// What it is for an element.
    fn of(&self, element: usize) -> i64 {
        let by = self.by.iter().enumerate();
        by.filter(|(bit, _)| element >> bit & 1 == 1).fold(0, |sum, (_, &by)| sum.wrapping_add(by))
    }

    /// By an operation on bits, where nothing carries.
    fn bitwise(&self, low: u32, op: impl Fn(u64) -> Option<u64>) -> Option<Self> {
        let each = |&by: &i64| op(by.cast_unsigned()).map(u64::cast_signed);
        let by = self.by.iter().map(each).collect::<Option<_>>()?;
        Some(Self { by, first: Some(op(self.first?)?), low })
    }

    fn plus(&self, other: &Self, times: i64) -> Option<Self> {
        let sum = |(&x, &y): (&i64, &i64)| x.checked_add(y.checked_mul(times)?);
        let by = self.by.iter().zip(&other.by).map(sum).collect::<Option<_>>()?;
        let low = self.low.min(other.low.saturating_add(times.trailing_zeros()));
        Some(Self { by, first: None, low })
    }
}

/// Where elements of a run differ: in a parameter of the function, by these bits of it, that of the element's number first
/// that has the lowest weight.
pub(super) struct Axis<'a> {
    pub(super) param: usize,
    pub(super) bits: &'a [u32],
    /// How many values it has.
    pub(super) length: u32,
}

/// The values of a body.
struct Search<'a, A> {
    f: &'a Function,
    uniformity: &'a Uniformity,
    align_of: A,
    bits: usize,
    moves: HashMap<Value, Option<Moves>>,
    fields: HashMap<Value, Field>,
}

impl<A: Fn(Value) -> u64> Search<'_, A> {
    /// How a value moves; those from around the body do not.
    fn of(&self, v: Value) -> Option<Moves> {
        self.moves.get(&v).cloned().unwrap_or_else(|| Some(self.still(v)))
    }

    /// A value that does not move.
    fn still(&self, v: Value) -> Moves {
        let constant = self.f.const_bits(v);
        let low = match (constant, self.f.ty(v)) {
            (Some(bits), _) => bits.trailing_zeros(),
            (None, Type::Ptr(_)) => (self.align_of)(v).trailing_zeros(),
            (None, Type::Scalar(s)) if s.is_int() => self.uniformity.low_zeros(v),
            _ => 0,
        };
        Moves { by: vec![0; self.bits], first: constant, low }
    }

    /// What a value is for each element, where it depends on nothing else.
    fn constants(&self, v: Value) -> Option<Vec<u64>> {
        let moves = self.of(v)?;
        let first = self.f.const_bits(v).or(moves.first.filter(|&bits| bits == 0))?;
        Some((0..1 << self.bits).map(|element| moves.of(element).cast_unsigned() | first).collect())
    }

    /// Whether a condition holds for each element, where it depends on nothing else.
    fn decisions(&self, v: Value) -> Option<Vec<bool>> {
        let info = self.f.def(v);
        let is_equal = match info.op {
            Op::Compare(CompareOp::Ieq) => true,
            Op::Compare(CompareOp::Ine) => false,
            _ => return None,
        };
        let (x, y) = (self.constants(info.args[0])?, self.constants(info.args[1])?);
        Some(x.into_iter().zip(y).map(|(x, y)| (x == y) == is_equal).collect())
    }

    fn width(&self, v: Value) -> u32 {
        self.f.ty(v).scalar().map_or(64, Scalar::bits)
    }

    fn moves(&self, inst: Inst) -> Option<Moves> {
        let info = self.f.inst(inst);
        let args = info.args.iter().map(|&arg| self.of(arg)).collect::<Option<Vec<_>>>()?;
        let moves_pointers = matches!(info.op, Op::PtrAdd { .. } | Op::IntToPtr | Op::PtrToInt);
        if args.iter().all(Moves::is_none) && !moves_pointers {
            return info.op.computes().then(|| self.still(info.results[0]));
        }
        match info.op {
            Op::IntToPtr | Op::PtrToInt => Some(args[0].clone()),
            Op::PtrAdd { scale, disp } => {
                let mut moves = args[0].clone();
                if let Some(index) = args.get(1) {
                    // An index is extended, so that a sum in it must not wrap.
                    let is_whole = index.first.is_some() || index.is_none() || self.width(info.args[1]) == 64;
                    moves = is_whole.then(|| moves.plus(index, scale))??;
                }
                Some(Moves { first: None, low: moves.low.min(disp.trailing_zeros()), ..moves })
            }
            Op::Convert(op) if matches!(op.kind, ConvertKind::UToU | ConvertKind::SToS) => {
                let bits = self.width(info.results[0]).min(self.width(info.args[0]));
                let within = u64::MAX >> (64 - bits);
                // A sign is no bit to be added, and the first element may have it in all bits above.
                let is_whole = args[0].by.iter().all(|&by| by.cast_unsigned() <= within >> 1);
                let extended = |bits: u64| match bits > within >> 1 && op.kind == ConvertKind::SToS {
                    true => bits | !within,
                    false => bits & within,
                };
                is_whole.then(|| args[0].bitwise(args[0].low, |bits| Some(extended(bits))))?
            }
            Op::Binary(op) => self.binary(op, &info.args, &args, self.width(info.results[0])),
            _ => None,
        }
    }

    fn binary(&self, op: BinaryOp, of: &[Value], args: &[Moves], width: u32) -> Option<Moves> {
        // Constants are on either side.
        let is_turned = self.f.const_bits(of[0]).is_some();
        let (x, y) = if is_turned { (&args[1], &args[0]) } else { (&args[0], &args[1]) };
        let constant = self.f.const_bits(if is_turned { of[0] } else { of[1] });
        let power = constant.filter(|bits| bits.is_power_of_two()).map(u64::trailing_zeros);
        let count = constant.map(|bits| shift_count(bits, width));
        let within = u64::MAX >> (64 - width);
        let down = |by: u32| x.bitwise(x.low.saturating_sub(by), |bits| bits.checked_shr(by));
        // What the first element has may leave the word above, but not what others add.
        let up = |by: u32| {
            let is_whole = x.by.iter().all(|&bits| bits.cast_unsigned().leading_zeros() > by + 64 - width);
            is_whole.then(|| x.bitwise(x.low + by, |bits| Some(bits.checked_shl(by)? & within)))?
        };
        match op {
            BinaryOp::And => x.bitwise(x.low, |bits| Some(bits & constant?)),
            BinaryOp::Umod if !is_turned => x.bitwise(x.low, |bits| Some(bits & ((1 << power?) - 1))),
            BinaryOp::Udiv if !is_turned => down(power?),
            BinaryOp::Lshr if !is_turned => down(count?),
            BinaryOp::Shl if !is_turned => up(count?),
            BinaryOp::Imul => match power {
                Some(power) => up(power),
                None => {
                    let still = Moves { by: vec![0; self.bits], first: None, low: u32::MAX };
                    still.plus(x, constant?.cast_signed())
                }
            },
            BinaryOp::Iadd | BinaryOp::Or => {
                let (x, y) = if x.is_none() { (y, x) } else { (x, y) };
                let all = |of: &Moves| of.by.iter().fold(0, |all, by| all | by.cast_unsigned());
                if let (Some(a), Some(b)) = (x.first, y.first)
                    && (a | all(x)) & (b | all(y)) == 0
                {
                    return Some(Moves { first: Some(a | b), ..x.plus(y, 1)? });
                }
                let added = all(x);
                let room = u64::MAX.checked_shl(y.low).unwrap_or(0);
                let is_apart = y.is_none() && x.first.is_some() && added & room == 0;
                match op {
                    _ if is_apart => {
                        let low = x.low.min(y.low);
                        Some(Moves { first: Some(x.first? | room & within), low, ..x.clone() })
                    }
                    BinaryOp::Iadd => x.plus(y, 1),
                    _ => None,
                }
            }
            BinaryOp::Isub if !is_turned => x.plus(y, -1),
            _ => None,
        }
    }

    /// The bits that a load gives.
    fn loaded(&self, inst: Inst) -> Option<Field> {
        let info = self.f.inst(inst);
        let Op::Load(flags) = info.op else { return None };
        let ([from], [result]) = (&info.args[..], &info.results[..]) else { return None };
        let s = self.f.ty(*result).scalar().filter(|s| s.is_int())?;
        let moves = self.of(*from)?;
        let is_even = self.f.ty(*from) == Type::Ptr(Space::Global) && !flags.volatile && moves.low > 0;
        let all = 1 << self.bits;
        let place = (0..all).map(|element| u64::try_from(moves.of(element)).ok()).collect::<Option<_>>()?;
        let mask = vec![u64::MAX >> (64 - s.bits()); all];
        let (shift, added) = (vec![0; all], vec![0; all]);
        let field = Field { load: inst, place, shift, mask, is_signed: false, added };
        is_even.then_some(field)
    }

    /// The bits that an instruction gives.
    fn field(&self, inst: Inst) -> Option<Field> {
        let info = self.f.inst(inst);
        let x = |i: usize| self.fields.get(info.args.get(i)?);
        match info.op {
            Op::Load(_) => self.loaded(inst),
            Op::Select => {
                let (x, y, which) = (x(1)?, x(2)?, self.decisions(info.args[0])?);
                let mut field = y.clone();
                for element in (0..which.len()).filter(|&element| which[element]) {
                    field.place[element] = x.place[element];
                    field.shift[element] = x.shift[element];
                    field.mask[element] = x.mask[element];
                    field.added[element] = x.added[element];
                }
                ((x.load, x.is_signed) == (y.load, y.is_signed)).then_some(field)
            }
            Op::Convert(op) => {
                let (x, width) = (x(0)?, self.width(info.args[0]).min(self.width(info.results[0])));
                let within = u64::MAX >> (64 - width);
                match op.kind {
                    ConvertKind::SToS if x.fits(width) => Some(x.clone()),
                    ConvertKind::SToS if self.width(info.args[0]) == 8 => x.signed(),
                    ConvertKind::UToU => x.with(|_, shift, mask| Some((shift, mask & within))),
                    _ => None,
                }
            }
            Op::Binary(op @ (BinaryOp::Iadd | BinaryOp::Isub)) => {
                let x = x(0)?;
                let width = self.width(info.args[1]);
                let number = |bits: u64| (bits << (64 - width)).cast_signed() >> (64 - width);
                let sum = |(&added, by): (&i64, u64)| match op {
                    BinaryOp::Isub => added.checked_sub(number(by)),
                    _ => added.checked_add(number(by)),
                };
                let added = x.added.iter().zip(self.constants(info.args[1])?).map(sum);
                let sum = Field { added: added.collect::<Option<_>>()?, ..x.clone() };
                (x.fits(width) && sum.fits(width)).then_some(sum)
            }
            Op::Binary(op) => {
                let (x, by) = match (x(0), x(1)) {
                    (Some(x), None) => (x, self.constants(info.args[1])?),
                    (None, Some(x)) if op == BinaryOp::And => (x, self.constants(info.args[0])?),
                    _ => return None,
                };
                let width = self.width(info.results[0]);
                let down = |shift: u32, mask: u64, by: u32| Some((shift + by, mask.checked_shr(by)?));
                x.with(|element, shift, mask| {
                    let by = by[element];
                    let power = || by.is_power_of_two().then(|| by.trailing_zeros());
                    match op {
                        BinaryOp::And => Some((shift, mask & by)),
                        BinaryOp::Umod => Some((shift, mask & ((1 << power()?) - 1))),
                        BinaryOp::Lshr => down(shift, mask, shift_count(by, width)),
                        BinaryOp::Udiv => down(shift, mask, power()?),
                        _ => None,
                    }
                })
            }
            _ => None,
        }
    }

    /// A conversion to halves whose bits come in pairs.
    fn conversion(&self, inst: Inst) -> Option<Field> {
        let info = self.f.inst(inst);
        let Op::Convert(op) = info.op else { return None };
        let x = self.fields.get(&info.args[0])?;
        let width = self.width(info.args[0]);
        let x = match op.kind {
            ConvertKind::SToF if x.fits(width) => x.clone(),
            ConvertKind::SToF if width == 8 => x.signed()?,
            ConvertKind::UToF if x.added.iter().all(|&added| added >= 0) => x.clone(),
            _ => return None,
        };
        // Halves have all integers up to 2048, so what is subtracted from 1024 and a byte may be as much.
        let is_small = x.added.iter().all(|added| (-1024..=1024).contains(added));
        let is_half = self.f.ty(info.results[0]).scalar() == Some(Scalar::F16);
        (is_small && is_half && x.is_of_pairs()).then_some(x)
    }
}

/// How far a count shifts a word: it is taken modulo the width.
fn shift_count(count: u64, width: u32) -> u32 {
    (count % u64::from(width)) as u32
}

/// The conversions of a body to halves whose bits come in pairs.
pub(super) fn find(
    f: &Function,
    uniformity: &Uniformity,
    body: Block,
    axis: &Axis<'_>,
    align_of: impl Fn(Value) -> u64,
) -> HashMap<Inst, Field> {
    let bits = axis.bits.len();
    let (moves, fields) = (HashMap::new(), HashMap::new());
    let mut search = Search { f, uniformity, align_of, bits, moves, fields };
    let mut found = HashMap::new();
    // What is read must be what it was when the first element was computed.
    let only_reads = |&inst: &Inst| {
        let op = &f.inst(inst).op;
        matches!(op, Op::Params | Op::Yield) || !op.has_effect()
    };
    if !f.block(body).iter().all(only_reads) {
        return found;
    }
    for &inst in f.block(body) {
        let info = f.inst(inst);
        if let Op::Params = info.op {
            for (number, &param) in info.results.iter().enumerate() {
                let mut moves = search.still(param);
                if number == axis.param {
                    let all = axis.bits.iter().fold(0, |all, &bit| all | u64::from(bit));
                    let by = axis.bits.iter().map(|&bit| bit.into()).collect();
                    let first = Some(u64::from(axis.length.next_power_of_two() - 1) & !all);
                    moves = Moves { by, first, low: all.trailing_ones() };
                }
                search.moves.insert(param, Some(moves));
            }
            continue;
        }
        if let Some(field) = search.conversion(inst) {
            found.insert(inst, field);
        }
        let (moves, field) = (search.moves(inst), search.field(inst));
        for &v in &info.results {
            search.moves.insert(v, moves.clone());
            search.fields.extend(field.clone().map(|field| (v, field)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::text;

    /// What is found of the only conversion in a function of `%row`, `%at` and `%x`, whose blocks are at multiples of `align`, for
    /// runs of eight elements and eight that are sixteen further.
    fn found(align: u64, body: &str) -> Option<Vec<(u64, u64, u32, i64)>> {
        let source = format!(
            "kernel \"main\"\nworkgroup_size 32 1 1\nsubgroup_size 32\n\n{{\n%where: i64 = const 4096\n\
             %p: ptr<global> = int_to_ptr %where\n%z: f16 = const 0.0\n%c1: i32 = const 1\n%c2: i32 = const 2\n\
             %c4: i32 = const 4\n%c8: i32 = const 8\n%c15: i32 = const 15\n%c16: i32 = const 16\n%c32: i32 = const 32\n\
             %m: mat<16x32xf16, subgroup, a> = mat_splat %z\n%r: mat<16x32xf16, subgroup, a> = mat_map %m {{\n\
             %row: i32, %at: i32, %x: f16 = params\n%in: i32 = umod %at, %c32\n%low: i32 = umod %in, %c16\n\
             %word: i32 = udiv %in, %c16\n{body}\nyield %h\n}}\n}}\n"
        );
        let module = text::parse(&source).expect("the text is IR");
        let f = &module.body;
        let mut bodies = f.insts.iter().filter_map(|info| match info.op {
            Op::MatMap { body } => Some(body),
            _ => None,
        });
        let body = bodies.next().expect("a function of an element");
        let axis = Axis { param: 1, bits: &[1, 2, 4, 16], length: 64 };
        let all = find(f, &Uniformity::analyse(&module), body, &axis, |_| align);
        let field = all.into_values().next()?;
        let each = |element| field.bits(element).map(|b| (b.place, b.mask, b.shift, b.added));
        (0..16).map(each).collect()
    }

    #[test]
    fn nibbles_of_two_halves_are_in_the_same_bytes() {
        let body = "%q: ptr<global> = ptr_add<scale=1, disp=2> %p, %low\n%b: i8 = load %q\n%u: i32 = u_to_u %b\n\
                    %by: i32 = imul %c4, %word\n%d: i32 = lshr %u, %by\n%n: i32 = and %d, %c15\n%s: i32 = isub %n, %c8\n\
                    %h: f16 = s_to_f %s";
        let first = (0..8).map(|place| (place, 0x0f, 0, -8));
        let second = (0..8).map(|place| (place, 0xf0, 4, -8));
        assert_eq!(found(2, body), Some(first.chain(second).collect()));
        assert_eq!(found(1, body), None, "two bytes may be a word that is not aligned");
        let odd = body.replace("disp=2", "disp=1");
        assert_eq!(found(2, &odd), None, "the first byte of two is odd");
        let unsigned = body.replace("s_to_f", "u_to_f");
        assert_eq!(found(2, &unsigned), None, "what is below zero is another number");
        let alike = body.replace("imul %c4, %word", "imul %c4, %row");
        assert_eq!(found(2, &alike), None, "how far they are shifted is not known");
        let counted = |by: u32| body.replace("imul %c4, %word", &format!("const {by}"));
        assert_eq!(found(2, &counted(u32::MAX - 27)), found(2, &counted(4)), "a count is modulo the width");
        let side_by_side = body.replace("imul %c4, %word", "imul %c4, %low");
        assert_eq!(found(2, &side_by_side), None, "neighbours take other bits");
    }

    #[test]
    fn bytes_have_signs_or_none() {
        let load = "%q: ptr<global> = ptr_add<scale=1> %p, %in\n%b: i8 = load %q\n";
        let places = || (0..8).chain(16..24);
        let all = |added| Some(places().map(|place| (place, 0xff, 0, added)).collect::<Vec<_>>());
        assert_eq!(found(2, &format!("{load}%h: f16 = s_to_f %b")), all(-128));
        assert_eq!(found(2, &format!("{load}%h: f16 = u_to_f %b")), all(0));
        let wide = format!("{load}%s: i32 = s_to_s %b\n%t: i32 = iadd %s, %c15\n%h: f16 = s_to_f %t");
        assert_eq!(found(2, &wide), all(-113));
        let wraps = format!("{load}%e: i8 = const 100\n%t: i8 = iadd %b, %e\n%h: f16 = s_to_f %t");
        assert_eq!(found(2, &wraps), None, "a sum in eight bits");
        let back = format!(
            "{load}%t: i32 = isub %c32, %in\n%y: ptr<global> = ptr_add<scale=1> %p, %t\n\
                            %c: i8 = load %y\n%h: f16 = u_to_f %c"
        );
        assert_eq!(found(2, &back), None, "neighbours lie the other way round");
    }

    #[test]
    fn words_have_bytes_of_neighbours() {
        let body = "%i: i32 = udiv %low, %c2\n%q: ptr<global> = ptr_add<scale=2> %p, %i\n%w: i16 = load %q\n\
                    %u: i32 = u_to_u %w\n%odd: i32 = and %in, %c1\n%by: i32 = imul %odd, %c8\n%four: i32 = imul %word, %c4\n\
                    %all: i32 = iadd %by, %four\n%d: i32 = lshr %u, %all\n%n: i32 = and %d, %c15\n%h: f16 = u_to_f %n";
        let first = (0..8).map(|place| (place, 0x0f, 0, 0));
        let second = (0..8).map(|place| (place, 0xf0, 4, 0));
        assert_eq!(found(2, body), Some(first.chain(second).collect()));
        // As by a choice of one of two bytes.
        let chosen = "%i: i32 = udiv %in, %c2\n%q: ptr<global> = ptr_add<scale=2> %p, %i\n%w: i16 = load %q\n\
                      %c: i16 = const 8\n%a: i8 = u_to_u %w\n%d: i16 = lshr %w, %c\n%b: i8 = u_to_u %d\n\
                      %odd: i32 = and %in, %c1\n%is: bool = ieq %odd, %c1\n%one: i8 = select %is, %b, %a\n\
                      %s: i32 = s_to_s %one\n%h: f16 = s_to_f %s";
        let bytes = (0..8).chain(16..24).map(|place| (place, 0xff, 0, -128));
        assert_eq!(found(2, chosen), Some(bytes.collect()));
        assert_eq!(found(2, &chosen.replace("ieq", "ine")), None, "neighbours lie the other way round");
        let across =
            body.replace("imul %word, %c4", "imul %word, %c2").replace("and %d, %c15", "and %d, %c32");
        assert!(found(2, &across).is_some_and(|all| all[8] == (0, 0x80, 2, 0)));
        let far =
            body.replace("udiv %low, %c2", "lshr %low, %far").replacen("%i:", "%far: i32 = const 33\n%i:", 1);
        assert_eq!(found(2, &far), found(2, body), "a count is modulo the width");
        let left = far.replace("lshr %low, %far", "shl %low, %far").replace("const 33", "const 4294967295");
        assert_eq!(found(2, &left), None, "neighbours lie far apart");
        let between = body.replace("imul %word, %c4", "iadd %word, %c4");
        assert_eq!(found(2, &between), None, "bits of two bytes");
    }
}
