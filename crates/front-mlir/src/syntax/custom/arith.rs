//! `arith` and `math`: a table of forms, and the few operations that have their own.

use super::{Custom, int_attr, int_type};
use crate::ast::{Attr, Op, Type};
use crate::syntax::error::Parsed;
use crate::syntax::operation::{Draft, find};
use crate::syntax::parser::Parser;

/// What stands behind an operation's name.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// As many operands of a type, which the result has too.
    Same(usize),
    /// `%a : from to into`
    Cast,
    Own(Custom),
}

/// Which flags an operation may have, and whether they are there even if they are not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flags {
    None,
    Fast,
    FastIfWritten,
    Overflow,
}

fn form(name: &str) -> Option<(Form, Flags)> {
    Some(match name {
        "arith.addi" | "arith.subi" | "arith.muli" | "arith.shli" => (Form::Same(2), Flags::Overflow),
        "arith.divsi" | "arith.divui" | "arith.ceildivsi" | "arith.ceildivui" | "arith.floordivsi"
        | "arith.remsi" | "arith.remui" | "arith.andi" | "arith.ori" | "arith.xori" | "arith.shrsi"
        | "arith.shrui" | "arith.maxsi" | "arith.maxui" | "arith.minsi" | "arith.minui" | "math.ipowi" => {
            (Form::Same(2), Flags::None)
        }
        "arith.addf" | "arith.subf" | "arith.mulf" | "arith.divf" | "arith.remf" | "arith.maximumf"
        | "arith.minimumf" | "arith.maxnumf" | "arith.minnumf" | "math.atan2" | "math.copysign"
        | "math.powf" => (Form::Same(2), Flags::Fast),
        "math.fma" => (Form::Same(3), Flags::Fast),
        "math.absi" | "math.ctlz" | "math.cttz" | "math.ctpop" => (Form::Same(1), Flags::None),
        "arith.negf" | "math.absf" | "math.acos" | "math.acosh" | "math.asin" | "math.asinh"
        | "math.atan" | "math.atanh" | "math.cbrt" | "math.ceil" | "math.cos" | "math.cosh" | "math.erf"
        | "math.exp" | "math.exp2" | "math.expm1" | "math.floor" | "math.log" | "math.log10"
        | "math.log1p" | "math.log2" | "math.round" | "math.roundeven" | "math.rsqrt" | "math.sin"
        | "math.sinh" | "math.sqrt" | "math.tan" | "math.tanh" | "math.trunc" => (Form::Same(1), Flags::Fast),
        "arith.extsi" | "arith.extui" | "arith.trunci" | "arith.sitofp" | "arith.uitofp" | "arith.fptosi"
        | "arith.fptoui" | "arith.index_cast" | "arith.index_castui" | "arith.bitcast" => {
            (Form::Cast, Flags::None)
        }
        "arith.extf" => (Form::Cast, Flags::FastIfWritten),
        "arith.truncf" => (Form::Own(truncf), Flags::FastIfWritten),
        "arith.cmpi" => (Form::Own(cmpi), Flags::None),
        "arith.cmpf" => (Form::Own(cmpf), Flags::Fast),
        "arith.constant" => (Form::Own(constant), Flags::None),
        "arith.select" => (Form::Own(select), Flags::None),
        "arith.addui_extended" => (Form::Own(addui_extended), Flags::None),
        "arith.mulsi_extended" | "arith.mului_extended" => (Form::Own(mul_extended), Flags::None),
        "math.fpowi" => (Form::Own(fpowi), Flags::Fast),
        _ => return None,
    })
}

/// What reads the custom form of an operation.
pub(super) fn parser(name: &str) -> Option<Custom> {
    let parse: Custom = match form(name)?.0 {
        Form::Own(parse) => parse,
        Form::Same(_) => same,
        Form::Cast => cast,
    };
    Some(parse)
}

/// Adds the flags that MLIR writes for operations that state none.
pub(crate) fn default_flags(op: &mut Op) {
    let flags = if &*op.name == "vector.reduction" {
        Some(Flags::Fast)
    } else {
        form(&op.name).map(|(_, flags)| flags)
    };
    let (name, attr) = match flags {
        Some(Flags::Fast) => ("fastmath", "arith.fastmath<none>"),
        Some(Flags::Overflow) => ("overflowFlags", "arith.overflow<none>"),
        _ => return,
    };
    if find(&op.attrs, name).is_none() {
        op.attrs.push((name.into(), Attr::Dialect(attr.into())));
    }
}

const FAST: [&str; 7] = ["reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"];
const OVERFLOW: [&str; 2] = ["nsw", "nuw"];

/// `fastmath<…>` or `overflow<…>`, if it comes next, with its flags in MLIR's order.
pub(crate) fn flags_attr(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let (name, known, dialect): (_, &[&'static str], _) = if p.eat_word("fastmath") {
        ("fastmath", &FAST, "arith.fastmath")
    } else if p.eat_word("overflow") {
        ("overflowFlags", &OVERFLOW, "arith.overflow")
    } else {
        return Ok(());
    };
    let mut set = vec![false; known.len()];
    p.list(b'<', b'>', |p| {
        if p.eat_word("none") {
        } else if name == "fastmath" && p.eat_word("fast") {
            set.fill(true);
        } else {
            let index = p.one_of(known)?;
            set[index] = true;
        }
        Ok(())
    })?;
    let names: Vec<&str> = known.iter().zip(&set).filter_map(|(name, set)| set.then_some(*name)).collect();
    let text = match names.len() {
        0 => "none".to_owned(),
        7 => "fast".to_owned(),
        _ => names.join(", "),
    };
    draft.set(name, Attr::Dialect(format!("{dialect}<{text}>").into()));
    Ok(())
}

/// Flags, if the operation has any.
fn flags(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    match form(&draft.op.name) {
        Some((_, Flags::None)) | None => Ok(()),
        Some(_) => flags_attr(p, draft),
    }
}

fn same(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let Some((Form::Same(count), _)) = form(&draft.op.name) else {
        return p.expected("an operation of this table");
    };
    let mut operands = vec![p.operand()?];
    for _ in 1..count {
        operands.push(p.comma_operand()?);
    }
    flags(p, draft)?;
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve_all(&operands, &ty, draft)?;
    draft.result_types.push(ty);
    Ok(())
}

fn cast(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operand = p.operand()?;
    flags(p, draft)?;
    p.attr_tail(draft)?;
    let from = p.colon_type()?;
    p.expect_word("to")?;
    draft.result_types.push(p.ty()?);
    p.resolve(operand, &from, draft)
}

fn truncf(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    const MODES: [&str; 5] = ["to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away"];
    let operand = p.operand()?;
    if let Some(mode) = MODES.iter().position(|mode| p.at_word(mode)) {
        p.advance();
        draft.set("roundingmode", int_attr(mode as i128, int_type(32)));
    }
    flags(p, draft)?;
    p.attr_tail(draft)?;
    let from = p.colon_type()?;
    p.expect_word("to")?;
    draft.result_types.push(p.ty()?);
    p.resolve(operand, &from, draft)
}

/// `i1` in the shape of a type.
fn truth(ty: &Type) -> Type {
    match ty {
        Type::Vector(extents, _) => Type::Vector(extents.clone(), Box::new(int_type(1))),
        Type::Tensor(extents, _) => Type::Tensor(extents.clone(), Box::new(int_type(1))),
        _ => int_type(1),
    }
}

fn compare(p: &mut Parser<'_>, draft: &mut Draft, predicates: &[&'static str]) -> Parsed<()> {
    let predicate = p.one_of(predicates)?;
    draft.set("predicate", int_attr(predicate as i128, int_type(64)));
    let operands = [p.comma_operand()?, p.comma_operand()?];
    flags(p, draft)?;
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve_all(&operands, &ty, draft)?;
    draft.result_types.push(truth(&ty));
    Ok(())
}

fn cmpi(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    compare(p, draft, &["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
}

fn cmpf(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    compare(
        p,
        draft,
        &[
            "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule",
            "une", "uno", "true",
        ],
    )
}

fn constant(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.attr_tail(draft)?;
    let value = p.attr()?;
    let ty = match &value {
        Attr::Int(_, ty) | Attr::Float(_, ty) | Attr::Dense(_, ty) => ty.clone(),
        Attr::Bool(_) => int_type(1),
        _ => return p.expected("a number or `dense<…>` as the constant"),
    };
    draft.set("value", value);
    draft.result_types.push(ty);
    Ok(())
}

fn select(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let condition = p.operand()?;
    let operands = [p.comma_operand()?, p.comma_operand()?];
    p.attr_tail(draft)?;
    let first = p.colon_type()?;
    let (truth, ty) = if p.eat(b',') { (first, p.ty()?) } else { (int_type(1), first) };
    p.resolve(condition, &truth, draft)?;
    p.resolve_all(&operands, &ty, draft)?;
    draft.result_types.push(ty);
    Ok(())
}

fn addui_extended(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = [p.operand()?, p.comma_operand()?];
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.expect(b',')?;
    let overflow = p.ty()?;
    p.resolve_all(&operands, &ty, draft)?;
    draft.result_types = vec![ty, overflow];
    Ok(())
}

fn mul_extended(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = [p.operand()?, p.comma_operand()?];
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve_all(&operands, &ty, draft)?;
    draft.result_types = vec![ty.clone(), ty];
    Ok(())
}

fn fpowi(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operands = [p.operand()?, p.comma_operand()?];
    flags(p, draft)?;
    p.attr_tail(draft)?;
    p.expect(b':')?;
    let types = p.types()?;
    p.resolve_each(&operands, &types, draft)?;
    draft.result_types.extend(types.into_iter().take(1));
    Ok(())
}
