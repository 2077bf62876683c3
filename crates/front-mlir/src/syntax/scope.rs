//! Names of values: what they stand for, and where they can be seen.
//!
//! A value may be used before the line that defines it, if the block that defines it comes first when the code runs
//! (see [`super::dominance`]); such a name gets its value with the type of its first use, and the definition must
//! agree. An operation that is isolated from above (a function, a module) opens a level of names; a region of
//! any other operation sees the names around it, and its own are forgotten where it ends.

use std::collections::{BTreeMap, HashMap};

use super::error::{Parsed, SyntaxError};
use super::parser::value_name;
use super::print::shown;
use crate::ast::{Pos, Type, ValueDef, ValueId};

/// A value's name in the text: `%name` or `%name#index`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use<'a> {
    pub(crate) name: &'a str,
    pub(crate) index: u32,
    pub(crate) pos: Pos,
}

/// The values of a text.
#[derive(Debug)]
pub(crate) struct Scopes<'a> {
    pub(crate) values: Vec<ValueDef>,
    levels: Vec<Level<'a>>,
    /// The first use of each value that was used before its definition.
    late: HashMap<ValueId, Pos>,
}

#[derive(Debug, Default)]
struct Level<'a> {
    names: HashMap<(&'a str, u32), ValueId>,
    /// Names of each open region.
    regions: Vec<Vec<(&'a str, u32)>>,
    /// Values that were used and are not defined yet.
    pending: BTreeMap<ValueId, (&'a str, u32)>,
}

impl<'a> Scopes<'a> {
    pub(crate) fn new() -> Self {
        let outermost = Level { regions: vec![Vec::new()], ..Level::default() };
        Self { values: Vec::new(), levels: vec![outermost], late: HashMap::new() }
    }

    pub(crate) fn open(&mut self, isolated: bool) {
        if isolated {
            self.levels.push(Level::default());
        }
        if let Some(level) = self.levels.last_mut() {
            level.regions.push(Vec::new());
        }
    }

    /// Ends what `open` began with the same argument.
    pub(crate) fn close(&mut self, isolated: bool) -> Parsed<()> {
        if isolated {
            return self.levels.pop().map_or(Ok(()), |level| self.check_pending(&level));
        }
        if let Some(level) = self.levels.last_mut() {
            for name in level.regions.pop().unwrap_or_default() {
                level.names.remove(&name);
            }
        }
        Ok(())
    }

    /// The first use of each value that was used before its definition.
    pub(crate) fn take_late(&mut self) -> HashMap<ValueId, Pos> {
        std::mem::take(&mut self.late)
    }

    /// Ends the outermost level.
    pub(crate) fn finish(mut self) -> Parsed<Vec<ValueDef>> {
        while let Some(level) = self.levels.pop() {
            self.check_pending(&level)?;
        }
        Ok(self.values)
    }

    fn check_pending(&self, level: &Level<'a>) -> Parsed<()> {
        let Some((value, (name, index))) = level.pending.first_key_value() else { return Ok(()) };
        let pos = self.values.get(value.0 as usize).map_or(Pos::default(), |def| def.pos);
        Err(SyntaxError::unexpected(
            pos,
            "a value that is defined and can be seen here",
            format!("{}, which is not", value_name(name, *index)),
        ))
    }

    /// The value that a name stands for, which must have the type.
    pub(crate) fn resolve(&mut self, at: Use<'a>, ty: &Type) -> Parsed<ValueId> {
        let key = (at.name, at.index);
        let Some(level) = self.levels.last_mut() else {
            return Err(SyntaxError::unexpected(at.pos, "an open scope", "none"));
        };
        if let Some(id) = level.names.get(&key).copied() {
            let def = &self.values[id.0 as usize];
            if def.ty != *ty {
                let place = if level.pending.contains_key(&id) { "used" } else { "defined" };
                return Err(mismatch(at, ty, place, def));
            }
            return Ok(id);
        }
        let id = ValueId(self.values.len() as u32);
        self.values.push(ValueDef { ty: ty.clone(), name: kept(at.name), pos: at.pos });
        level.names.insert(key, id);
        level.pending.insert(id, key);
        Ok(id)
    }

    /// A new value without a name.
    pub(crate) fn unnamed(&mut self, ty: Type, pos: Pos) -> ValueId {
        let id = ValueId(self.values.len() as u32);
        self.values.push(ValueDef { ty, name: Box::default(), pos });
        id
    }

    /// A new value, or the one that its uses made.
    pub(crate) fn define(&mut self, at: Use<'a>, ty: Type) -> Parsed<ValueId> {
        let key = (at.name, at.index);
        let Some(level) = self.levels.last_mut() else {
            return Err(SyntaxError::unexpected(at.pos, "an open scope", "none"));
        };
        if let Some(region) = level.regions.last_mut() {
            region.push(key);
        }
        if let Some(id) = level.names.get(&key).copied() {
            let def = &mut self.values[id.0 as usize];
            if level.pending.remove(&id).is_none() {
                let found = format!("{}, which {} defines", value_name(at.name, at.index), place(def.pos));
                return Err(SyntaxError::unexpected(at.pos, "a name that is not defined yet", found));
            }
            if def.ty != ty {
                return Err(mismatch(at, &ty, "used", def));
            }
            self.late.insert(id, std::mem::replace(&mut def.pos, at.pos));
            return Ok(id);
        }
        let id = ValueId(self.values.len() as u32);
        self.values.push(ValueDef { ty, name: kept(at.name), pos: at.pos });
        level.names.insert(key, id);
        Ok(id)
    }
}

/// A name as values keep it: a group of results repeats it, so that it is cut where it is long.
fn kept(name: &str) -> Box<str> {
    const KEPT: usize = 64;
    name[..name.floor_char_boundary(KEPT)].into()
}

fn place(pos: Pos) -> String {
    format!("{}:{}", pos.line, pos.column)
}

fn mismatch(at: Use<'_>, ty: &Type, what: &str, def: &ValueDef) -> Box<SyntaxError> {
    SyntaxError::unexpected(
        at.pos,
        format!("a value of type {}", shown(ty)),
        format!("{} of type {}, {what} at {}", value_name(at.name, at.index), shown(&def.ty), place(def.pos)),
    )
}
