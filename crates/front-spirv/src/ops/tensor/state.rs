//! Rules about the numbers in layouts and views. Constants that break one are refused; of others, the
//! kernel itself says when it runs that one is broken, and goes on: no size is dangerous.

use super::operand;
use crate::cx::{Cx, Values};
use crate::diag::Res;
use crate::reader::Inst;
use phalanx_ir::{self as ir, BinaryOp as B, CompareOp as C, MatType, TensorAccess, Value};

/// An access whose state is checked.
pub(super) struct State<'s> {
    pub(super) access: &'s TensorAccess,
    pub(super) words: &'s [Value],
    pub(super) m: MatType,
    pub(super) is_store: bool,
}

impl State<'_> {
    /// Checks all rules.
    pub(super) fn check(&self, cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
        self.sizes(cx, inst)?;
        self.clip(cx, inst)?;
        self.blocks(cx, inst)
    }

    fn word(&self, place: usize) -> Res<Value> {
        self.words.get(place).copied().ok_or_else(|| crate::diag::bug("a tensor without its words"))
    }

    /// What coordinates are divided by must not be 0.
    fn sizes(&self, cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
        let places = self.access.operands();
        let dims = usize::from(self.access.dims);
        let mut sizes: Vec<(&str, Vec<usize>)> = vec![
            ("the layout's dimension", (0..dims).map(|d| places.dimension(d)).collect()),
            ("the layout's span", (0..dims).map(|d| places.span(d)).collect()),
            ("the layout's block size", (0..dims).map(|d| places.block(d)).collect()),
        ];
        if let Some(view) = self.access.view.filter(|view| view.has_dimensions) {
            let own = (0..view.dims.into()).map(|d| places.view_dimension(d)).collect();
            sizes.push(("the view's dimension", own));
        }
        let mut least: Option<Value> = None;
        let (mut text, mut args) = (String::new(), Values::new());
        for (what, places) in sizes {
            text += &format!(", {what}s [{}]", vec!["%u"; places.len()].join(", "));
            for (d, place) in places.into_iter().enumerate() {
                let word = self.word(place)?;
                args.push(word);
                match cx.func.const_bits(word) {
                    Some(0) => {
                        return Err(operand(format!("{what} {d} is 0, by which coordinates are divided")));
                    }
                    Some(_) => {}
                    None => {
                        least = Some(least.map_or(word, |least| cx.b().binary(B::Umin, least, word)));
                    }
                }
            }
        }
        let Some(least) = least else { return Ok(()) };
        let zero = cx.i32(0);
        let is_broken = cx.b().compare(C::Ieq, least, zero);
        warn(cx, inst, is_broken, &format!("coordinates are divided by 0, which gives 0{text}"), &args)
    }

    /// The clip begins in the matrix.
    fn clip(&self, cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
        if self.access.view.is_none() {
            return Ok(());
        }
        let clip = self.access.operands().clip();
        for (what, place, side) in [("row", clip[0], self.m.rows), ("column", clip[2], self.m.cols)] {
            let offset = self.word(place)?;
            match cx.func.const_bits(offset) {
                Some(x) if x >= side.into() => {
                    let m = format!("the clip begins at {what} {x} of {side}: outside of the matrix");
                    return Err(operand(m));
                }
                Some(_) => {}
                None => {
                    let sides = cx.i32(side.cast_signed());
                    let is_broken = cx.b().compare(C::Ule, sides, offset);
                    let m = format!(
                        "the clip begins at {what} %u of {side}, outside of the matrix: nothing is accessed"
                    );
                    warn(cx, inst, is_broken, &m, &[offset])?;
                }
            }
        }
        Ok(())
    }

    /// A store has no blocks.
    fn blocks(&self, cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
        if !self.is_store {
            return Ok(());
        }
        let places = self.access.operands();
        for d in 0..usize::from(self.access.dims) {
            let size = self.word(places.block(d))?;
            match cx.func.const_bits(size) {
                Some(0 | 1) => {}
                Some(_) => {
                    return Err(operand(
                        "a block size larger than 1 must not be used with OpCooperativeMatrixStoreTensorNV",
                    ));
                }
                None => {
                    let one = cx.i32(1);
                    let is_broken = cx.b().compare(C::Ult, one, size);
                    let m = format!(
                        "the layout's block size {d} is %u, larger than 1: some element of a block is stored"
                    );
                    warn(cx, inst, is_broken, &m, &[size])?;
                }
            }
        }
        Ok(())
    }
}

/// Warns of this instruction when the kernel runs. The format may take `i32` alone.
fn warn(cx: &mut Cx<'_>, inst: &Inst<'_>, is_broken: Value, format: &str, args: &[Value]) -> Res<()> {
    let (file, line) = cx.spv.line(cx.inst);
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let place = if line > 0 { format!("{file}:{line}") } else { format!("word {}", inst.at) };
    // Only the format's own per cents are conversions.
    let text = format!("{} at {}: {format}", inst.name(), place.replace('%', "%%"));
    let index = cx.format(&text)?;
    let args: Values = std::iter::once(is_broken).chain(args.iter().copied()).collect();
    cx.b().effect(ir::Op::Warn(index), &args);
    Ok(())
}
