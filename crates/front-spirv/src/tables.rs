//! Variables that are constants in disguise.
//!
//! A shader indexes a constant array by copying it to a variable first, since SPIR-V has no other
//! way. Such a variable is never written but with that one constant as a whole, by its initialiser
//! or by stores, so it can be a read-only table. One scan over all functions finds them.

use crate::globals::Globals;
use crate::module::{ExtSet, Spv};
use crate::reader::Id;
use rustc_hash::FxHashMap;
use spirv::{Op, StorageClass};

/// The variables that are tables, with the constant that each holds.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    state: FxHashMap<Id, State>,
    /// The variable that a pointer leads into, for access chains.
    roots: FxHashMap<Id, Id>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Nothing was stored yet.
    Empty,
    /// Only this constant was stored.
    Holds(Id),
    /// Used in any other way.
    Other,
}

impl Tables {
    /// Finds the tables of a module.
    pub(crate) fn find(spv: &Spv<'_>, globals: &Globals) -> Self {
        let mut t = Self::default();
        for inst in &spv.insts {
            match inst.op {
                Op::Variable => {
                    let class = inst.args[0];
                    if class == StorageClass::Function as u32 || class == StorageClass::Private as u32 {
                        let init = inst.args.get(1);
                        let state = init.map_or(State::Empty, |&c| State::Holds(c));
                        t.state.insert(inst.id, state);
                        t.roots.insert(inst.id, inst.id);
                    }
                }
                Op::AccessChain | Op::InBoundsAccessChain => {
                    if let Some(&root) = t.roots.get(&inst.args[0]) {
                        t.roots.insert(inst.id, root);
                    }
                    t.spoil(&inst.args[1..]);
                }
                Op::Load => {}
                Op::Store => {
                    if let Some(&root) = t.roots.get(&inst.args[0]) {
                        let whole = root == inst.args[0] && globals.get(inst.args[1]).is_some();
                        t.store(root, whole.then_some(inst.args[1]));
                    }
                    t.spoil(&inst.args[1..]);
                }
                // A debugger's mention of a variable is no use of it.
                Op::ExtInst | Op::ExtInstWithForwardRefsKHR if spv.ext_set_of(inst) != ExtSet::Glsl => {}
                Op::Name | Op::Decorate | Op::EntryPoint | Op::MemberName | Op::MemberDecorate => {}
                _ => t.spoil(inst.args),
            }
        }
        t
    }

    fn store(&mut self, root: Id, constant: Option<Id>) {
        let Some(state) = self.state.get_mut(&root) else { return };
        *state = match (*state, constant) {
            (State::Empty, Some(c)) => State::Holds(c),
            (State::Holds(held), Some(c)) if held == c => State::Holds(c),
            _ => State::Other,
        };
    }

    /// Any other use: some of the words may name a variable.
    fn spoil(&mut self, words: &[u32]) {
        for word in words {
            if let Some(root) = self.roots.get(word) {
                self.state.insert(*root, State::Other);
            }
        }
    }

    /// The constant that a variable holds, if it is a table.
    pub(crate) fn constant_of(&self, variable: Id) -> Option<Id> {
        match self.state.get(&variable) {
            Some(State::Holds(c)) => Some(*c),
            _ => None,
        }
    }
}
