//! `affine_map<…>`, `affine_set<…>` and their expressions.
//!
//! Expressions are simplified as MLIR does while it reads: constants are folded and stand on the right. Dimensions
//! and symbols lose their names.

use super::error::{Parsed, SyntaxError};
use super::lexer::Token;
use super::measure::affine_size;
use super::parser::{NESTING, Parser, too_deep};
use super::scope::Use;
use crate::ast::{Affine, AffineMap, AffineSet};

/// So many dimensions, and as many symbols, may a map have.
const NAMES: usize = 128;

/// The names that an expression may use.
#[derive(Debug)]
pub(crate) enum Names<'a> {
    /// Those that a map or set declares.
    Declared {
        /// Dimensions.
        dims: Vec<&'a str>,
        /// Symbols.
        symbols: Vec<&'a str>,
    },
    /// Values, each a dimension when it is first used, or a symbol where `symbol(…)` says so.
    Values {
        /// Dimensions.
        dims: Vec<Use<'a>>,
        /// Symbols.
        symbols: Vec<Use<'a>>,
    },
}

impl<'a> Names<'a> {
    pub(crate) fn values() -> Self {
        Self::Values { dims: Vec::new(), symbols: Vec::new() }
    }

    /// The values that were used.
    pub(crate) fn into_values(self) -> (Vec<Use<'a>>, Vec<Use<'a>>) {
        match self {
            Self::Values { dims, symbols } => (dims, symbols),
            Self::Declared { .. } => (Vec::new(), Vec::new()),
        }
    }

    fn counts(&self) -> (u32, u32) {
        match self {
            Self::Declared { dims, symbols } => (dims.len() as u32, symbols.len() as u32),
            Self::Values { dims, symbols } => (dims.len() as u32, symbols.len() as u32),
        }
    }
}

/// The place of a value among others, where it is put if it is new.
fn place<'a>(list: &mut Vec<Use<'a>>, value: Use<'a>) -> u32 {
    let known = list.iter().position(|known| (known.name, known.index) == (value.name, value.index));
    if known.is_none() {
        list.push(value);
    }
    known.unwrap_or(list.len() - 1) as u32
}

impl<'a> Parser<'a> {
    /// `affine_map<…>`; the word comes next.
    pub(crate) fn map_attr(&mut self) -> Parsed<AffineMap> {
        self.expect_word("affine_map")?;
        self.expect(b'<')?;
        let mut names = self.affine_names()?;
        self.expect_arrow()?;
        let mut results = Vec::new();
        self.list(b'(', b')', |p| {
            results.push(p.affine(&mut names)?);
            Ok(())
        })?;
        self.expect(b'>')?;
        let (dims, symbols) = names.counts();
        Ok(AffineMap { dims, symbols, results })
    }

    /// `affine_set<…>`; the word comes next.
    pub(crate) fn set_attr(&mut self) -> Parsed<AffineSet> {
        self.expect_word("affine_set")?;
        self.expect(b'<')?;
        let mut names = self.affine_names()?;
        self.expect(b':')?;
        let mut constraints = Vec::new();
        self.list(b'(', b')', |p| {
            let left = p.affine(&mut names)?;
            let equal = p.at(b'=');
            let less = p.at(b'<');
            if !(equal || less || p.at(b'>')) {
                return p.expected("`==`, `>=` or `<=`");
            }
            p.advance();
            p.expect(b'=')?;
            let right = p.affine(&mut names)?;
            let (left, right) = if less { (right, left) } else { (left, right) };
            constraints.push((add(left, mul(right, Affine::Const(-1))), equal));
            Ok(())
        })?;
        self.expect(b'>')?;
        let (dims, symbols) = names.counts();
        Ok(AffineSet { dims, symbols, constraints })
    }

    /// A new name in a list of names.
    fn declare(&mut self, list: &mut Vec<&'a str>, others: &[&str]) -> Parsed<()> {
        let word = self.word;
        let name = self.name("the name of a dimension or symbol")?;
        if list.contains(&name) || others.contains(&name) {
            let found = word.describe(self.lexer.text);
            return Err(SyntaxError::unexpected(word.pos, "a name that is not declared yet", found));
        }
        list.push(name);
        self.check_count(list.len())
    }

    /// Names are looked for one by one.
    fn check_count(&self, count: usize) -> Parsed<()> {
        if count > NAMES { self.expected(&format!("at most {NAMES} dimensions or symbols")) } else { Ok(()) }
    }

    fn affine_names(&mut self) -> Parsed<Names<'a>> {
        let (mut dims, mut symbols) = (Vec::new(), Vec::new());
        self.list(b'(', b')', |p| p.declare(&mut dims, &[]))?;
        if self.at(b'[') {
            self.list(b'[', b']', |p| p.declare(&mut symbols, &dims))?;
        }
        Ok(Names::Declared { dims, symbols })
    }

    /// Sums of products.
    pub(crate) fn affine(&mut self, names: &mut Names<'a>) -> Parsed<Affine> {
        self.nest(|p| {
            let mut sum = p.affine_product(names)?;
            loop {
                let minus = p.at(b'-');
                if !minus && !p.at(b'+') {
                    return Ok(sum);
                }
                p.advance();
                let term = p.affine_product(names)?;
                sum = add(sum, if minus { mul(term, Affine::Const(-1)) } else { term });
                p.check_depth(&sum)?;
            }
        })
    }

    /// Chains are read without recursion, but grow trees all the same.
    fn check_depth(&self, affine: &Affine) -> Parsed<()> {
        if affine_size(affine).depth > NESTING { Err(too_deep(self.pos())) } else { Ok(()) }
    }

    fn affine_product(&mut self, names: &mut Names<'a>) -> Parsed<Affine> {
        let mut product = self.affine_factor(names)?;
        loop {
            let operator = match self.word.token {
                Token::Mark(b'*') => "*",
                Token::Word(word @ ("floordiv" | "ceildiv" | "mod")) => word,
                _ => return Ok(product),
            };
            let pos = self.pos();
            self.advance();
            let factor = self.affine_factor(names)?;
            if operator != "*" && matches!(factor, Affine::Const(..=0)) {
                return Err(SyntaxError::unexpected(pos, "a positive divisor", "zero or less"));
            }
            product = match operator {
                "*" => mul(product, factor),
                "floordiv" => divide(product, factor, |a, b| Some(a.div_euclid(b)), Affine::FloorDiv),
                "ceildiv" => divide(
                    product,
                    factor,
                    |a, b| a.checked_add(b - 1).map(|a| a.div_euclid(b)),
                    Affine::CeilDiv,
                ),
                _ => divide(product, factor, |a, b| Some(a.rem_euclid(b)), Affine::Mod),
            };
            self.check_depth(&product)?;
        }
    }

    fn affine_factor(&mut self, names: &mut Names<'a>) -> Parsed<Affine> {
        match self.word.token {
            Token::Int(_) => self.count("a constant").map(Affine::Const),
            Token::Mark(b'-') => {
                self.advance();
                let factor = self.nest(|p| p.affine_factor(names))?;
                Ok(mul(factor, Affine::Const(-1)))
            }
            Token::Mark(b'(') => {
                self.advance();
                let inner = self.affine(names)?;
                self.expect(b')')?;
                Ok(inner)
            }
            Token::Word("symbol") if matches!(names, Names::Values { .. }) => {
                self.advance();
                self.expect(b'(')?;
                let value = self.operand()?;
                self.expect(b')')?;
                let Names::Values { symbols, .. } = names else { return self.expected("a value") };
                let index = place(symbols, value);
                self.check_count(symbols.len())?;
                Ok(Affine::Symbol(index))
            }
            Token::Value(_) => {
                let Names::Values { dims, .. } = names else {
                    return self.expected("a dimension or symbol of this map");
                };
                let value = self.operand()?;
                let index = place(dims, value);
                self.check_count(dims.len())?;
                Ok(Affine::Dim(index))
            }
            Token::Word(name) => {
                let found = match names {
                    Names::Declared { dims, symbols } => {
                        let find = |list: &[&str]| list.iter().position(|known| *known == name);
                        let dim = find(dims).map(|index| Affine::Dim(index as u32));
                        dim.or_else(|| find(symbols).map(|index| Affine::Symbol(index as u32)))
                    }
                    Names::Values { .. } => None,
                };
                let Some(found) = found else {
                    return self.expected("a dimension or symbol of this map");
                };
                self.advance();
                Ok(found)
            }
            _ => self.expected("an affine expression"),
        }
    }
}

/// Whether an expression has no dimension in it: such stand on the right.
fn is_symbolic(affine: &Affine) -> bool {
    match affine {
        Affine::Dim(_) => false,
        Affine::Symbol(_) | Affine::Const(_) => true,
        Affine::Add(a, b)
        | Affine::Mul(a, b)
        | Affine::FloorDiv(a, b)
        | Affine::CeilDiv(a, b)
        | Affine::Mod(a, b) => is_symbolic(a) && is_symbolic(b),
    }
}

fn ordered(a: Affine, b: Affine) -> (Affine, Affine) {
    let swap = match (&a, &b) {
        (_, Affine::Const(_)) => false,
        (Affine::Const(_), _) => true,
        _ => is_symbolic(&a) && !is_symbolic(&b),
    };
    if swap { (b, a) } else { (a, b) }
}

/// A sum.
pub(crate) fn add(a: Affine, b: Affine) -> Affine {
    match ordered(a, b) {
        (a, Affine::Const(0)) => a,
        (Affine::Const(a), Affine::Const(b)) if a.checked_add(b).is_some() => {
            Affine::Const(a.wrapping_add(b))
        }
        (Affine::Add(inner, c), Affine::Const(b)) => match *c {
            Affine::Const(a) if a.checked_add(b).is_some() => add(*inner, Affine::Const(a.wrapping_add(b))),
            c => Affine::Add(Box::new(Affine::Add(inner, Box::new(c))), Box::new(Affine::Const(b))),
        },
        (a, b) => Affine::Add(Box::new(a), Box::new(b)),
    }
}

/// A product.
pub(crate) fn mul(a: Affine, b: Affine) -> Affine {
    match ordered(a, b) {
        (a, Affine::Const(1)) => a,
        (_, Affine::Const(0)) => Affine::Const(0),
        (Affine::Const(a), Affine::Const(b)) if a.checked_mul(b).is_some() => {
            Affine::Const(a.wrapping_mul(b))
        }
        (Affine::Mul(inner, c), Affine::Const(b)) => match *c {
            Affine::Const(a) if a.checked_mul(b).is_some() => mul(*inner, Affine::Const(a.wrapping_mul(b))),
            c => Affine::Mul(Box::new(Affine::Mul(inner, Box::new(c))), Box::new(Affine::Const(b))),
        },
        (a, b) => Affine::Mul(Box::new(a), Box::new(b)),
    }
}

fn divide(
    a: Affine,
    b: Affine,
    fold: impl Fn(i64, i64) -> Option<i64>,
    make: fn(Box<Affine>, Box<Affine>) -> Affine,
) -> Affine {
    if let (Affine::Const(a), Affine::Const(b)) = (&a, &b)
        && let Some(value) = fold(*a, *b)
    {
        return Affine::Const(value);
    }
    make(Box::new(a), Box::new(b))
}
