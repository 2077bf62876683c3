//! `loc(…)`: where operations come from.
//!
//! Only a file, line and column are kept; of several places the first that has one: of a call the callee, of fused
//! places the first.

use super::error::{Parsed, SyntaxError};
use super::lexer::{Token, quoted};
use super::measure::Size;
use super::parser::Parser;
use crate::ast::{Location, Op, Pos};

/// An alias may stand for an alias, but not without end.
const CHAIN: usize = 64;

/// The place of a location that is an alias still, whose name is in the place of the file. No text can write it.
const LATE: Pos = Pos { line: u32::MAX, column: u32::MAX };

impl Parser<'_> {
    /// `loc(…)`, if it comes next.
    pub(crate) fn optional_location(&mut self) -> Parsed<Option<Location>> {
        if self.at_word("loc") { self.location() } else { Ok(None) }
    }

    /// `loc(…)`; the word comes next.
    pub(crate) fn location(&mut self) -> Parsed<Option<Location>> {
        self.nest(|p| {
            p.expect_word("loc")?;
            p.expect(b'(')?;
            let location = p.location_inside()?;
            p.expect(b')')?;
            Ok(location)
        })
    }

    /// Counts the copy of a location that an alias stands for.
    fn charge_text(&mut self, location: &Option<Location>) -> Parsed<()> {
        // Short names cost nothing, so that the number of operations has no bound.
        let nodes = location.as_ref().map_or(0, |location| location.file.len() / 256);
        self.charge(Size { nodes, depth: 0 })
    }

    fn location_inside(&mut self) -> Parsed<Option<Location>> {
        match self.word.token {
            Token::Word("loc") => self.location(),
            Token::Word("unknown") => {
                self.advance();
                Ok(None)
            }
            Token::Word("callsite") => {
                self.advance();
                self.expect(b'(')?;
                let callee = self.nest(Self::location_inside)?;
                self.expect_word("at")?;
                let caller = self.nest(Self::location_inside)?;
                self.expect(b')')?;
                Ok(callee.or(caller))
            }
            Token::Word("fused") => {
                self.advance();
                if self.eat(b'<') {
                    self.attr()?;
                    self.expect(b'>')?;
                }
                let mut first = None;
                self.list(b'[', b']', |p| {
                    let next = p.nest(Self::location_inside)?;
                    first = first.take().or(next);
                    Ok(())
                })?;
                Ok(first)
            }
            Token::Hash(name) => {
                let pos = self.pos();
                self.advance();
                if let Some(known) = self.locations.get(name).cloned() {
                    self.charge_text(&known)?;
                    return Ok(known);
                }
                self.late_location.get_or_insert(pos);
                Ok(Some(Location { file: name.into(), pos: LATE }))
            }
            Token::Str(_) => self.place(),
            _ => self.expected("a location"),
        }
    }

    /// `"file":1:2`, or `"name"(…)`.
    fn place(&mut self) -> Parsed<Option<Location>> {
        let file = self.string()?;
        if self.eat(b'(') {
            let inner = self.nest(Self::location_inside)?;
            self.expect(b')')?;
            return Ok(inner);
        }
        if !self.eat(b':') {
            return Ok(None);
        }
        let line = self.count::<u32>("a line")?.min(LATE.line - 1);
        self.expect(b':')?;
        let column = self.count("a column")?;
        if self.eat_word("to") {
            // The end of a range: `to :column` or `to line:column`.
            if !self.at(b':') {
                self.count::<u32>("a line")?;
            }
            self.expect(b':')?;
            self.count::<u32>("a column")?;
        }
        Ok(Some(Location { file, pos: Pos { line, column } }))
    }
}

/// Puts the places in that were defined behind their uses.
pub(crate) fn settle(p: &mut Parser<'_>, ops: &mut [Op]) -> Parsed<()> {
    let Some(first) = p.late_location else { return Ok(()) };
    for op in ops.iter_mut() {
        settle_op(p, op, first)?;
    }
    Ok(())
}

fn settle_op(p: &mut Parser<'_>, op: &mut Op, first: Pos) -> Parsed<()> {
    for _ in 0..CHAIN {
        let Some(name) = op.loc.as_ref().and_then(|loc| (loc.pos == LATE).then(|| loc.file.clone())) else {
            break;
        };
        let known = p.locations.get(&*name);
        let Some(known) = known.cloned() else {
            let found = format!("{}, which is not", quoted(&format!("#{name}")));
            return Err(SyntaxError::unexpected(first, "an alias that is defined somewhere", found));
        };
        p.charge_text(&known)?;
        op.loc = known;
    }
    op.loc = op.loc.take().filter(|loc| loc.pos != LATE);
    let blocks = op.regions.iter_mut().flat_map(|region| &mut region.blocks);
    for inner in blocks.flat_map(|block| &mut block.ops) {
        settle_op(p, inner, first)?;
    }
    Ok(())
}
