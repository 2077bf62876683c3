//! Formulas for expected values, so that a test can say what is right in the terms of its
//! specification: `sum(k, 16, $0.0[r * 16 + k] * $0.1[k * 16 + c])`.
//!
//! All numbers are `f64`. Operators, from loose to tight: `? :`, `||`, `&&`, comparisons (1 or 0),
//! `+ -`, `* / %`, unary `-`. `%` has the sign of the divisor. `$SET.BINDING[index]` is a number of
//! an input buffer. `sum(name, count, formula)` adds up over a variable from 0. The name of a type
//! rounds to it (integers wrap); `div` divides and rounds down; `bits(type, x)` are the bits of a number.

use crate::data::Ty;
use crate::error::Wrong;
use crate::slot::Slot;
use std::sync::Arc;

/// The numbers of the buffers that formulas may use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Env {
    pub(crate) buffers: Vec<(Slot, Arc<[f64]>)>,
}

impl Env {
    fn buffer(&self, slot: Slot) -> Option<&[f64]> {
        self.buffers.iter().find(|(of, _)| *of == slot).map(|(_, numbers)| &**numbers)
    }
}

/// A formula.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Number(f64),
    Var(usize),
    Element(Slot, Box<Expr>),
    Neg(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    Sum(Box<Expr>, Box<Expr>),
    Call(Function, Vec<Expr>),
    Round(Ty, Box<Expr>),
    Bits(Ty, Box<Expr>),
}

/// Reads a formula of these variables.
pub(crate) fn parse(text: &str, vars: &[&str]) -> Result<Expr, Wrong> {
    let vars = vars.iter().map(|name| (*name).to_owned()).collect();
    let mut parser = Parser { text, vars, depth: 0 };
    let expr = parser.choice()?;
    if parser.text.trim().is_empty() {
        Ok(expr)
    } else {
        Err(Wrong::new("the formula's end", parser.text.trim()))
    }
}

impl Expr {
    /// The value, given the variables', behind which sums have theirs meanwhile.
    pub(crate) fn eval(&self, vars: &mut Vec<f64>, env: &Env) -> Result<f64, Wrong> {
        Ok(match self {
            Self::Number(x) => *x,
            Self::Var(index) => vars[*index],
            Self::Element(slot, index) => {
                let index = index.eval(vars, env)?;
                let buffer = env.buffer(*slot).ok_or_else(|| Wrong::new("a buffer given above", slot))?;
                let element = (index >= 0.0).then(|| buffer.get(index as usize)).flatten();
                *element.ok_or_else(|| Wrong::new(format!("an index into {slot}"), index))?
            }
            Self::Neg(x) => -x.eval(vars, env)?,
            Self::Binary(op, x, y) => op(x.eval(vars, env)?, y.eval(vars, env)?),
            Self::Choice(cond, x, y) => {
                if cond.eval(vars, env)? == 0.0 {
                    y.eval(vars, env)?
                } else {
                    x.eval(vars, env)?
                }
            }
            Self::Sum(count, body) => {
                let count = count.eval(vars, env)? as usize;
                let mut sum = 0.0;
                for i in 0..count {
                    vars.push(i as f64);
                    let term = body.eval(vars, env);
                    vars.pop();
                    sum += term?;
                }
                sum
            }
            Self::Call(function, args) => {
                let mut values = [0.0; MAX_ARGUMENTS];
                for (value, arg) in values.iter_mut().zip(args) {
                    *value = arg.eval(vars, env)?;
                }
                function(&values)
            }
            Self::Round(ty, x) => ty.value(ty.bits(x.eval(vars, env)?)),
            Self::Bits(ty, x) => ty.bits(x.eval(vars, env)?) as f64,
        })
    }
}

/// An operator on two numbers.
type Operator = fn(f64, f64) -> f64;

const fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

/// Most arguments of a function.
const MAX_ARGUMENTS: usize = 3;

/// A function of numbers, of which it uses as many as it has arguments.
type Function = fn(&[f64; MAX_ARGUMENTS]) -> f64;

/// Functions with the number of their arguments.
fn function(name: &str) -> Option<(usize, Function)> {
    Some(match name {
        "abs" => (1, |a| a[0].abs()),
        "floor" => (1, |a| a[0].floor()),
        "ceil" => (1, |a| a[0].ceil()),
        "trunc" => (1, |a| a[0].trunc()),
        "round" => (1, |a| a[0].round_ties_even()),
        "sqrt" => (1, |a| a[0].sqrt()),
        "exp" => (1, |a| a[0].exp()),
        "exp2" => (1, |a| a[0].exp2()),
        "log" => (1, |a| a[0].ln()),
        "log2" => (1, |a| a[0].log2()),
        "sin" => (1, |a| a[0].sin()),
        "cos" => (1, |a| a[0].cos()),
        "tan" => (1, |a| a[0].tan()),
        "asin" => (1, |a| a[0].asin()),
        "acos" => (1, |a| a[0].acos()),
        "atan" => (1, |a| a[0].atan()),
        "sinh" => (1, |a| a[0].sinh()),
        "cosh" => (1, |a| a[0].cosh()),
        "tanh" => (1, |a| a[0].tanh()),
        "asinh" => (1, |a| a[0].asinh()),
        "acosh" => (1, |a| a[0].acosh()),
        "atanh" => (1, |a| a[0].atanh()),
        "sign" => (1, |a| if a[0] == 0.0 { 0.0 } else { a[0].signum() }),
        "atan2" => (2, |a| a[0].atan2(a[1])),
        "pow" => (2, |a| a[0].powf(a[1])),
        "min" => (2, |a| a[0].min(a[1])),
        "max" => (2, |a| a[0].max(a[1])),
        "div" => (2, |a| (a[0] / a[1]).floor()),
        "and" => (2, |a| (a[0] as i64 & a[1] as i64) as f64),
        "or" => (2, |a| (a[0] as i64 | a[1] as i64) as f64),
        "xor" => (2, |a| (a[0] as i64 ^ a[1] as i64) as f64),
        "shl" => (2, |a| ((a[0] as i64) << a[1] as u32) as f64),
        "shr" => (2, |a| (a[0] as i64 >> a[1] as u32) as f64),
        "clamp" => (3, |a| a[0].max(a[1]).min(a[2])),
        "fma" => (3, |a| a[0].mul_add(a[1], a[2])),
        _ => return None,
    })
}

struct Parser<'t> {
    text: &'t str,
    vars: Vec<String>,
    depth: u32,
}

/// Binary operators from loose to tight; longer ones first.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("||", |x, y| truth(x != 0.0 || y != 0.0))],
    &[("&&", |x, y| truth(x != 0.0 && y != 0.0))],
    &[
        ("==", |x, y| truth(x == y)),
        ("!=", |x, y| truth(x != y)),
        ("<=", |x, y| truth(x <= y)),
        (">=", |x, y| truth(x >= y)),
        ("<", |x, y| truth(x < y)),
        (">", |x, y| truth(x > y)),
    ],
    &[("+", |x, y| x + y), ("-", |x, y| x - y)],
    &[("*", |x, y| x * y), ("/", |x, y| x / y), ("%", |x, y| x - y * (x / y).floor())],
];

impl<'t> Parser<'t> {
    fn eat(&mut self, mark: &str) -> bool {
        self.text = self.text.trim_start();
        match self.text.strip_prefix(mark) {
            Some(rest) => {
                self.text = rest;
                true
            }
            None => false,
        }
    }

    fn mark(&mut self, mark: &str) -> Result<(), Wrong> {
        if self.eat(mark) { Ok(()) } else { Err(Wrong::new(format!("`{mark}`"), self.text)) }
    }

    /// The longest start that the predicate allows.
    fn take(&mut self, allowed: impl Fn(char) -> bool) -> &'t str {
        self.text = self.text.trim_start();
        let end = self.text.find(|c| !allowed(c)).unwrap_or(self.text.len());
        let (word, rest) = self.text.split_at(end);
        self.text = rest;
        word
    }

    fn choice(&mut self) -> Result<Expr, Wrong> {
        self.depth += 1;
        if self.depth > 100 {
            return Err(Wrong::new("less nesting", self.text));
        }
        let cond = self.level(0)?;
        let expr = if self.eat("?") {
            let yes = self.choice()?;
            self.mark(":")?;
            Expr::Choice(Box::new(cond), Box::new(yes), Box::new(self.choice()?))
        } else {
            cond
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn level(&mut self, level: usize) -> Result<Expr, Wrong> {
        let Some(ops) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some((_, op)) = ops.iter().find(|(sign, _)| self.eat(sign)) {
            left = Expr::Binary(*op, Box::new(left), Box::new(self.level(level + 1)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Wrong> {
        if self.eat("-") {
            return Ok(Expr::Neg(Box::new(self.unary()?)));
        }
        if self.eat("(") {
            let inner = self.choice()?;
            self.mark(")")?;
            return Ok(inner);
        }
        if self.eat("$") {
            let slot = self.take(|c| c.is_ascii_digit() || c == '.').parse()?;
            self.mark("[")?;
            let index = self.choice()?;
            self.mark("]")?;
            return Ok(Expr::Element(slot, Box::new(index)));
        }
        if self.text.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            return self.number();
        }
        let name = self.take(|c| c.is_ascii_alphanumeric() || c == '_');
        self.named(name)
    }

    fn number(&mut self) -> Result<Expr, Wrong> {
        let word = self.take(|c| c.is_ascii_alphanumeric() || c == '.');
        let number = match word.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok().map(|bits| bits as f64),
            None => word.parse().ok(),
        };
        number.map(Expr::Number).ok_or_else(|| Wrong::new("a number", word))
    }

    fn named(&mut self, name: &str) -> Result<Expr, Wrong> {
        if let Some(index) = self.vars.iter().rposition(|var| var == name) {
            return Ok(Expr::Var(index));
        }
        if name == "inf" || name == "nan" {
            return Ok(Expr::Number(if name == "inf" { f64::INFINITY } else { f64::NAN }));
        }
        if name == "sum" {
            return self.sum();
        }
        if let Some(ty) = Ty::from_name(name) {
            return Ok(Expr::Round(ty, Box::new(self.argument()?)));
        }
        if name == "bits" {
            self.mark("(")?;
            let ty = self.take(|c| c.is_ascii_alphanumeric());
            let ty = Ty::from_name(ty).ok_or_else(|| Wrong::new("a type", ty))?;
            self.mark(",")?;
            let x = self.choice()?;
            self.mark(")")?;
            return Ok(Expr::Bits(ty, Box::new(x)));
        }
        let (arity, function) = function(name).ok_or_else(|| Wrong::new("a variable or function", name))?;
        self.mark("(")?;
        let mut args = vec![self.choice()?];
        while args.len() < arity {
            self.mark(",")?;
            args.push(self.choice()?);
        }
        self.mark(")")?;
        Ok(Expr::Call(function, args))
    }

    fn argument(&mut self) -> Result<Expr, Wrong> {
        self.mark("(")?;
        let x = self.choice()?;
        self.mark(")")?;
        Ok(x)
    }

    fn sum(&mut self) -> Result<Expr, Wrong> {
        self.mark("(")?;
        let name = self.take(|c| c.is_ascii_alphanumeric() || c == '_');
        self.mark(",")?;
        let count = self.choice()?;
        self.mark(",")?;
        self.vars.push(name.to_owned());
        let body = self.choice()?;
        self.vars.pop();
        self.mark(")")?;
        Ok(Expr::Sum(Box::new(count), Box::new(body)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let buffers = [("0.1".parse().unwrap(), vec![5.0, 6.0, 7.0].into())];
        parse(text, &["i"]).unwrap().eval(&mut vec![3.0], &Env { buffers: buffers.into() }).unwrap()
    }

    #[test]
    fn precedence() {
        assert_eq!(value("1 + 2 * i - -4"), 11.0);
        assert_eq!(value("i == 3 ? 1 : 2"), 1.0);
        assert_eq!(value("i < 3 || i > 5 && 1 ? 1 : i <= 3 ? 20 : 30"), 20.0);
        assert_eq!(value("(1 + 2) * 3 % 4"), 1.0);
        assert_eq!(value("-7 % 4"), 1.0);
    }

    #[test]
    fn functions_and_buffers() {
        assert_eq!(value("sum(k, 3, $0.1[k] * sum(j, k, 1))"), 20.0);
        assert_eq!(value("div(7, 2) + clamp(9, 0, 4)"), 7.0);
        assert_eq!(value("f16(2049) + i8(200) + bits(f32, 1)"), 2048.0 - 56.0 + 1_065_353_216.0);
    }

    #[test]
    fn errors() {
        let error = |text| parse(text, &[]).unwrap_err().to_string();
        assert_eq!(error("1 +"), "expected a variable or function, found the end");
        assert_eq!(error("1 )"), "expected the formula's end, found `)`");
        assert_eq!(error("min(1)"), "expected `,`, found `)`");
        assert!(parse("$0.0[1]", &[]).unwrap().eval(&mut Vec::new(), &Env::default()).is_err());
    }
}
