//! The contents of buffers: typed numbers, written as lists or made by generators.
//!
//! ```text
//! f32 [1 2.5 -inf nan 0*4 ?]       a list; `0*4` is four zeros, `?` is anything
//! i32 ramp 64 10 -1                64 numbers from 10, each one less
//! f16 rand 64 7 -2 2 0.25          64 multiples of a quarter between -2 and 2, from seed 7
//! u8 fill 16 255                   the same number 16 times
//! f32 gen 4 x 4 = r * 10 + c       a formula of the index `i`, or of row `r` and column `c`
//! f32 64 same                      whatever the targets agree on
//! addr [0.1 0.2+16]                device addresses of bindings
//! pad 8                            bytes that do not matter
//! ```

use crate::error::Wrong;
use crate::expr::{self, Env, Expr};
use crate::random::Random;
use crate::slot::Slot;
use crate::tokens::{self, Tokens};
use phalanx_ir::{Scalar, eval};
use std::sync::{Arc, OnceLock};

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ty {
    /// Its bits.
    pub scalar: Scalar,
    /// Whether an integer is signed.
    pub signed: bool,
}

impl Ty {
    const fn new(scalar: Scalar, signed: bool) -> Self {
        Self { scalar, signed }
    }

    /// The type of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "i8" => Self::new(Scalar::I8, true),
            "i16" => Self::new(Scalar::I16, true),
            "i32" => Self::new(Scalar::I32, true),
            "i64" => Self::new(Scalar::I64, true),
            "u8" => Self::new(Scalar::I8, false),
            "u16" => Self::new(Scalar::I16, false),
            "u32" => Self::new(Scalar::I32, false),
            "u64" => Self::new(Scalar::I64, false),
            "f16" => Self::new(Scalar::F16, false),
            "f32" => Self::new(Scalar::F32, false),
            "f64" => Self::new(Scalar::F64, false),
            "bf16" => Self::new(Scalar::BF16, false),
            "e4m3" => Self::new(Scalar::E4M3, false),
            "e5m2" => Self::new(Scalar::E5M2, false),
            _ => return None,
        })
    }

    /// Size in bytes.
    pub fn bytes(self) -> usize {
        self.scalar.bytes() as usize
    }

    /// The number that bits stand for.
    pub fn value(self, bits: u64) -> f64 {
        match (self.scalar.is_int(), self.signed) {
            (true, true) => eval::sign_extend(self.scalar, bits) as f64,
            (true, false) => bits as f64,
            (false, _) => eval::to_f64(self.scalar, bits),
        }
    }

    /// The bits of a number: floats rounded to nearest even, integers modulo their width.
    pub fn bits(self, x: f64) -> u64 {
        if self.scalar.is_int() {
            x as i128 as u64 & self.scalar.mask()
        } else {
            eval::from_f64(self.scalar, x)
        }
    }

    /// Reads a number; `0x` gives the bits themselves.
    pub fn parse(self, text: &str) -> Option<u64> {
        if let Some(hex) = text.strip_prefix("0x") {
            return u64::from_str_radix(hex, 16).ok().filter(|bits| bits & !self.scalar.mask() == 0);
        }
        if self.scalar.is_int() {
            let x = text.parse::<i128>().ok()?;
            let range = -(1_i128 << (self.scalar.bits() - 1))..=i128::from(self.scalar.mask());
            return range.contains(&x).then_some(x as u64 & self.scalar.mask());
        }
        match self.scalar {
            Scalar::F32 => text.parse::<f32>().ok().map(|x| x.to_bits().into()),
            _ => text.parse::<f64>().ok().map(|x| eval::from_f64(self.scalar, x)),
        }
    }

    /// A number as people read it.
    pub fn show(self, bits: u64) -> String {
        match self.scalar {
            Scalar::F64 => format!("{:?}", f64::from_bits(bits)),
            _ if self.scalar.is_int() && !self.signed => bits.to_string(),
            _ if self.scalar.is_int() => eval::sign_extend(self.scalar, bits).to_string(),
            _ => format!("{:?}", self.value(bits) as f32),
        }
    }
}

/// One element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item {
    /// These bits.
    Bits(u64),
    /// The device address of a binding, plus bytes.
    Address(Slot, u64),
    /// Anything.
    Any,
    /// Anything that all targets agree on.
    Same,
}

/// Elements of one type, one after the other.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Their type.
    pub ty: Ty,
    items: Items,
}

/// The elements of a segment. Those of a formula are computed when somebody wants them: most who read tests do not.
#[derive(Clone, Debug)]
enum Items {
    Given(Vec<Item>),
    Formula(Arc<Formula>),
}

#[derive(Debug)]
struct Formula {
    expr: Expr,
    rows: usize,
    cols: usize,
    env: Env,
    items: OnceLock<Result<Vec<Item>, Wrong>>,
}

impl Segment {
    /// The elements.
    ///
    /// # Errors
    ///
    /// What is wrong with a formula.
    pub fn items(&self) -> Result<&[Item], Wrong> {
        match &self.items {
            Items::Given(items) => Ok(items),
            Items::Formula(formula) => {
                let items = formula.items.get_or_init(|| formula.compute(self.ty));
                items.as_deref().map_err(Clone::clone)
            }
        }
    }

    fn len(&self) -> usize {
        match &self.items {
            Items::Given(items) => items.len(),
            Items::Formula(formula) => formula.rows * formula.cols,
        }
    }
}

impl Formula {
    fn compute(&self, ty: Ty) -> Result<Vec<Item>, Wrong> {
        let cols = self.cols.max(1);
        let mut vars = Vec::new();
        let item = |i: usize| {
            vars.clear();
            vars.extend([i, i / cols, i % cols].map(|x| x as f64));
            self.expr.eval(&mut vars, &self.env).map(|x| Item::Bits(ty.bits(x)))
        };
        (0..self.rows * self.cols).map(item).collect()
    }
}

/// The contents of a buffer, or of a part of it.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Its parts in order.
    pub segments: Vec<Segment>,
}

const ADDRESS: Ty = Ty::new(Scalar::I64, false);
/// Most elements that a generator makes.
const MAX_ITEMS: usize = 1 << 24;

impl Data {
    /// Reads data; formulas may use the numbers of the buffers in `env`.
    pub(crate) fn parse(tokens: &mut Tokens<'_>, env: &Env) -> Result<Self, Wrong> {
        let mut data = Self::default();
        while let Some(word) = tokens.next() {
            let segment = match word {
                "pad" => {
                    let items = Items::Given(vec![Item::Any; tokens.number("a number of bytes")?]);
                    Segment { ty: Ty::new(Scalar::I8, false), items }
                }
                "addr" => Segment { ty: ADDRESS, items: Items::Given(addresses(tokens)?) },
                _ => {
                    let ty = Ty::from_name(word).ok_or_else(|| Wrong::new("a type", word))?;
                    Segment { ty, items: items(ty, tokens, env)? }
                }
            };
            data.segments.push(segment);
        }
        if data.segments.is_empty() {
            return Err(Wrong::new("a type and numbers", "nothing"));
        }
        Ok(data)
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.segments.iter().map(|s| s.ty.bytes() * s.len()).sum()
    }

    /// The bytes; what does not matter is zero.
    pub fn encode(&self, address: impl Fn(Slot) -> Option<u64>) -> Result<Vec<u8>, Wrong> {
        let mut out = Vec::with_capacity(self.bytes());
        for segment in &self.segments {
            for item in segment.items()? {
                let bits = match *item {
                    Item::Bits(bits) => bits,
                    Item::Any | Item::Same => 0,
                    Item::Address(slot, offset) => {
                        let start =
                            address(slot).ok_or_else(|| Wrong::new("the address of a buffer", slot))?;
                        start.wrapping_add(offset)
                    }
                };
                out.extend_from_slice(&bits.to_le_bytes()[..segment.ty.bytes()]);
            }
        }
        Ok(out)
    }

    /// The numbers, for formulas.
    pub(crate) fn values(&self) -> Result<Vec<f64>, Wrong> {
        let value = |ty: Ty, item: &Item| match *item {
            Item::Bits(bits) => ty.value(bits),
            Item::Address(..) | Item::Any | Item::Same => f64::NAN,
        };
        let mut values = Vec::new();
        for segment in &self.segments {
            values.extend(segment.items()?.iter().map(|item| value(segment.ty, item)));
        }
        Ok(values)
    }
}

fn items(ty: Ty, tokens: &mut Tokens<'_>, env: &Env) -> Result<Items, Wrong> {
    let word = tokens.word("numbers")?;
    let given = match word {
        "[" => list(ty, tokens)?,
        "ramp" => {
            let count = count(tokens)?;
            let start = tokens.optional_number().unwrap_or(0.0);
            let step = tokens.optional_number().unwrap_or(1.0);
            (0..count).map(|i| Item::Bits(ty.bits(start + step * i as f64))).collect()
        }
        "fill" => {
            let count = count(tokens)?;
            let value = tokens.word("a number")?;
            let bits = ty.parse(value).ok_or_else(|| Wrong::new("a number", value))?;
            vec![Item::Bits(bits); count]
        }
        "rand" => random(ty, tokens)?,
        "gen" => return formula(tokens, env),
        _ => {
            let count = tokens::whole(word).filter(|n| *n <= MAX_ITEMS);
            let count = count.ok_or_else(|| Wrong::new("numbers", word))?;
            tokens.expect("same")?;
            vec![Item::Same; count]
        }
    };
    Ok(Items::Given(given))
}

fn list(ty: Ty, tokens: &mut Tokens<'_>) -> Result<Vec<Item>, Wrong> {
    let mut items = Vec::new();
    loop {
        let word = tokens.word("a number or `]`")?;
        if word == "]" {
            return Ok(items);
        }
        let (value, count) = match word.split_once('*') {
            Some((value, count)) => (value, count.parse().map_err(|_| Wrong::new("a count", word))?),
            None => (word, 1),
        };
        let item = match value {
            "?" => Item::Any,
            _ => Item::Bits(ty.parse(value).ok_or_else(|| Wrong::new("a number of the type", word))?),
        };
        items.extend(std::iter::repeat_n(item, count));
    }
}

fn addresses(tokens: &mut Tokens<'_>) -> Result<Vec<Item>, Wrong> {
    tokens.expect("[")?;
    let mut items = Vec::new();
    loop {
        let word = tokens.word("a binding or `]`")?;
        if word == "]" {
            return Ok(items);
        }
        let (slot, offset) = word.split_once('+').unwrap_or((word, "0"));
        let offset = offset.parse().map_err(|_| Wrong::new("a number of bytes", word))?;
        items.push(Item::Address(slot.parse()?, offset));
    }
}

fn count(tokens: &mut Tokens<'_>) -> Result<usize, Wrong> {
    let count = tokens.number("a number of elements")?;
    if count > MAX_ITEMS { Err(Wrong::new("fewer elements", count)) } else { Ok(count) }
}

fn random(ty: Ty, tokens: &mut Tokens<'_>) -> Result<Vec<Item>, Wrong> {
    let count = count(tokens)?;
    let mut random = Random::new(tokens.number("a seed")? as u64);
    let low = tokens.float("the least number")?;
    let high = tokens.float("the greatest number")?;
    let step = tokens.optional_number().unwrap_or(if ty.scalar.is_int() { 1.0 } else { 0.0 });
    let number = |random: &mut Random| {
        if step == 0.0 {
            return low + (high - low) * random.unit();
        }
        let steps = ((high - low) / step).floor() as u64 + 1;
        low + step * random.below(steps) as f64
    };
    Ok((0..count).map(|_| Item::Bits(ty.bits(number(&mut random)))).collect())
}

/// `gen N = expr`, or `gen ROWS x COLS = expr`; the formula reaches to the end.
fn formula(tokens: &mut Tokens<'_>, env: &Env) -> Result<Items, Wrong> {
    let mut cols = count(tokens)?;
    let mut rows = 1;
    if tokens.peek() == Some("x") {
        tokens.next();
        (rows, cols) = (cols, count(tokens)?);
    }
    if rows.checked_mul(cols).is_none_or(|n| n > MAX_ITEMS) {
        return Err(Wrong::new("fewer elements", format!("{rows} x {cols}")));
    }
    tokens.expect("=")?;
    let expr = expr::parse(tokens.rest(), &["i", "r", "c"])?;
    Ok(Items::Formula(Arc::new(Formula { expr, rows, cols, env: env.clone(), items: OnceLock::new() })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: &str) -> Vec<u64> {
        let data = Data::parse(&mut Tokens::new(text), &Env::default()).unwrap();
        let bit = |item: &Item| match item {
            Item::Bits(bits) => *bits,
            Item::Address(..) | Item::Any | Item::Same => 999,
        };
        data.segments.iter().flat_map(|s| s.items().unwrap().iter().map(bit)).collect()
    }

    #[test]
    fn lists_and_generators() {
        assert_eq!(bits("i8 [-1 2*3 0x7f ?]"), [255, 2, 2, 2, 127, 999]);
        assert_eq!(bits("f16 ramp 3 1 -0.5"), [0x3c00, 0x3800, 0]);
        assert_eq!(bits("u32 gen 2 x 2 = r * 10 + c"), [0, 1, 10, 11]);
        assert_eq!(bits("u8 fill 2 9 pad 1 i16 [-2]"), [9, 9, 999, 0xfffe]);
        assert_eq!(bits("f32 2 same"), [999, 999]);
        assert!(bits("f32 rand 100 1 -2 2 0.5").iter().all(|b| {
            let x = f32::from_bits(*b as u32);
            (-2.0..=2.0).contains(&x) && (x * 2.0).fract() == 0.0
        }));
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |text| Data::parse(&mut Tokens::new(text), &Env::default()).unwrap_err().to_string();
        assert_eq!(error("i8 [300]"), "expected a number of the type, found `300`");
        assert_eq!(error("f99 [1]"), "expected a type, found `f99`");
        assert_eq!(error("u8 [1"), "expected a number or `]`, found the end");
    }
}
