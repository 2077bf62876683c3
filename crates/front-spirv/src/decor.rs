//! Names and decorations.

use crate::diag::Res;
use crate::reader::{Id, Inst};
use rustc_hash::FxHashMap;
use spirv::{Decoration, Op};

/// Stands for "the id itself" where a member index could be.
const WHOLE: u32 = u32::MAX;

/// Decorations with their operands.
type List<'w> = Vec<(u32, &'w [u32])>;

/// The decorations of a module, by target.
///
/// Groups stay groups: copying them to their targets could grow with the square of the module.
#[derive(Debug, Default)]
pub(crate) struct Decorations<'w> {
    direct: FxHashMap<(Id, u32), List<'w>>,
    groups: FxHashMap<(Id, u32), Vec<Id>>,
}

impl<'w> Decorations<'w> {
    /// Takes in an annotation instruction; false if it is none.
    pub(crate) fn read(&mut self, inst: &Inst<'w>) -> Res<bool> {
        match inst.op {
            Op::Decorate | Op::DecorateId | Op::DecorateString => {
                self.direct(inst.arg(0)?, WHOLE).push((inst.arg(1)?, inst.rest(2)));
            }
            Op::MemberDecorate | Op::MemberDecorateString => {
                self.direct(inst.arg(0)?, inst.arg(1)?).push((inst.arg(2)?, inst.rest(3)));
            }
            Op::DecorationGroup => {}
            Op::GroupDecorate => {
                for &target in inst.rest(1) {
                    self.groups.entry((target, WHOLE)).or_default().push(inst.arg(0)?);
                }
            }
            Op::GroupMemberDecorate => {
                for pair in inst.rest(1).chunks_exact(2) {
                    self.groups.entry((pair[0], pair[1])).or_default().push(inst.arg(0)?);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn direct(&mut self, id: Id, member: u32) -> &mut List<'w> {
        self.direct.entry((id, member)).or_default()
    }

    fn lookup(&self, id: Id, member: u32, wanted: u32) -> Option<&'w [u32]> {
        let search = |key: (Id, u32)| {
            let all = self.direct.get(&key)?;
            all.iter().find(|(kind, _)| *kind == wanted).map(|(_, args)| *args)
        };
        search((id, member))
            .or_else(|| self.groups.get(&(id, member))?.iter().find_map(|&group| search((group, WHOLE))))
    }

    /// The operands of a decoration of an id.
    pub(crate) fn of(&self, id: Id, wanted: Decoration) -> Option<&'w [u32]> {
        self.lookup(id, WHOLE, wanted as u32)
    }

    /// The operands of a decoration of a structure member.
    pub(crate) fn of_member(&self, id: Id, member: u32, wanted: Decoration) -> Option<&'w [u32]> {
        self.lookup(id, member, wanted as u32)
    }

    /// Whether an id has a decoration.
    pub(crate) fn has(&self, id: Id, wanted: Decoration) -> bool {
        self.of(id, wanted).is_some()
    }

    /// Whether an id has the decoration of this number, which the crate `spirv` may not know.
    pub(crate) fn has_number(&self, id: Id, wanted: u32) -> bool {
        self.lookup(id, WHOLE, wanted).is_some()
    }

    /// Whether a structure member has a decoration.
    pub(crate) fn member_has(&self, id: Id, member: u32, wanted: Decoration) -> bool {
        self.of_member(id, member, wanted).is_some()
    }

    /// The single literal of a decoration of an id.
    pub(crate) fn literal(&self, id: Id, wanted: Decoration) -> Option<u32> {
        self.of(id, wanted)?.first().copied()
    }

    /// The single literal of a decoration of a structure member.
    pub(crate) fn member_literal(&self, id: Id, member: u32, wanted: Decoration) -> Option<u32> {
        self.of_member(id, member, wanted)?.first().copied()
    }
}

/// *OpName* and *OpMemberName*.
#[derive(Debug, Default)]
pub(crate) struct Names {
    ids: FxHashMap<Id, String>,
    members: FxHashMap<(Id, u32), String>,
}

impl Names {
    /// Takes in a naming instruction; false if it is none.
    pub(crate) fn read(&mut self, inst: &Inst<'_>) -> Res<bool> {
        match inst.op {
            Op::Name => {
                self.ids.insert(inst.arg(0)?, inst.string(1)?.0);
            }
            Op::MemberName => {
                self.members.insert((inst.arg(0)?, inst.arg(1)?), inst.string(2)?.0);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The name of an id, or an empty string.
    pub(crate) fn of(&self, id: Id) -> &str {
        self.ids.get(&id).map_or("", |s| s)
    }

    /// The name of a structure member, or an empty string.
    pub(crate) fn of_member(&self, id: Id, member: u32) -> &str {
        self.members.get(&(id, member)).map_or("", |s| s)
    }
}
