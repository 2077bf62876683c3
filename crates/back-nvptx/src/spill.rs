//! Which objects of shared memory lie in global memory, because the GPU's shared memory has no room for all.
//!
//! Only objects that passes made for matrices do ([`coopmat::prepare`](crate::coopmat::prepare)): those of the program are
//! within the limit that it was told of, and their pointers may be chosen between. The objects that are used most keep
//! their place, an access in a loop counting for several. Those that have to go lie one behind the other in memory that
//! each work-group of a launch has for itself ([`crate::abi`]); barriers order accesses there as those of shared memory.

use phalanx_ir::{Block, Function, Inst, Module, Op, Value};

/// What objects begin at a multiple of.
const ALIGN: u64 = 64;

/// As how many uses one in a loop counts.
const ROUNDS: u64 = 16;

/// Where an object lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// In shared memory, at this offset.
    Shared(u32),
    /// In the work-group's part of global memory, at this offset.
    Global(u64),
}

/// Where the objects of a module lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Homes {
    /// Those that are not where the module has them, by the instruction that gives their pointer.
    moved: Vec<(Inst, Home)>,
    /// Bytes of shared memory.
    pub(crate) shared_bytes: u64,
    /// Bytes of global memory for each work-group.
    pub(crate) spilled_bytes: u64,
}

/// An object that may lie elsewhere.
#[derive(Debug)]
struct Object {
    inst: Inst,
    bytes: u64,
    uses: u64,
}

impl Homes {
    /// Where objects lie that begin behind the `own` bytes of the program, with so much shared memory at most.
    pub(crate) fn of(module: &Module, own: u32, limit: u32) -> Self {
        let mut homes = Self { shared_bytes: module.shared_bytes.into(), ..Self::default() };
        if module.shared_bytes <= limit {
            return homes;
        }
        let mut objects = objects(module, own);
        homes.shared_bytes = own.into();
        // The sort is stable: of objects that are used as often, the first stay.
        objects.sort_by_key(|object| std::cmp::Reverse(object.uses));
        for Object { inst, bytes, .. } in objects {
            let at = homes.shared_bytes.next_multiple_of(ALIGN);
            let home = match u32::try_from(at) {
                Ok(offset) if at + bytes <= limit.into() => {
                    homes.shared_bytes = at + bytes;
                    Home::Shared(offset)
                }
                _ => {
                    let at = homes.spilled_bytes;
                    homes.spilled_bytes = (at + bytes).next_multiple_of(ALIGN);
                    Home::Global(at)
                }
            };
            homes.moved.push((inst, home));
        }
        homes
    }

    /// Whether any object is elsewhere than the module has it.
    pub(crate) fn is_moved(&self) -> bool {
        !self.moved.is_empty()
    }

    /// Where an object lies that is elsewhere than the module has it.
    pub(crate) fn moved(&self, inst: Inst) -> Option<Home> {
        self.moved.iter().find(|(moved, _)| *moved == inst).map(|&(_, home)| home)
    }
}

/// The objects behind the program's own.
fn objects(module: &Module, own: u32) -> Vec<Object> {
    let mut walk = Walk { module, own, of: vec![None; module.body.values.len()], objects: Vec::new() };
    walk.block(Function::ENTRY, 1);
    walk.objects
}

/// Finds objects, and counts how often each is accessed.
struct Walk<'m> {
    module: &'m Module,
    own: u32,
    /// By value: the number of the object that it points into.
    of: Vec<Option<usize>>,
    objects: Vec<Object>,
}

impl Walk<'_> {
    fn block(&mut self, block: Block, rounds: u64) {
        let f = &self.module.body;
        for &inst in f.block(block) {
            let info = f.inst(inst);
            let object = info.args.iter().find_map(|&v: &Value| self.of[v.index()]);
            match info.op {
                Op::SharedPtr { offset, bytes } if offset >= self.own => {
                    // Those of the subgroups lie one behind the other.
                    let parts = if info.args.is_empty() { 1 } else { self.module.num_subgroups() };
                    self.of[info.results[0].index()] = Some(self.objects.len());
                    self.objects.push(Object { inst, bytes: u64::from(bytes) * u64::from(parts), uses: 0 });
                }
                Op::PtrAdd { .. } => self.of[info.results[0].index()] = object,
                _ => {
                    if let Some(object) = object {
                        self.objects[object].uses = self.objects[object].uses.saturating_add(rounds);
                    }
                }
            }
            let is_loop = matches!(info.op, Op::Loop { .. });
            let rounds = if is_loop { rounds.saturating_mul(ROUNDS) } else { rounds };
            for body in info.op.bodies() {
                self.block(body, rounds);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::text;

    /// Three objects behind 100 bytes of the program: one that is written once, one that is read in a loop, one of each
    /// subgroup.
    fn module() -> Module {
        let source = "workgroup_size 64 1 1 subgroup_size 32 shared 2240 {
            %own: ptr<shared> = shared_ptr<offset=0, bytes=100>
            %i: i32 = subgroup_id
            %x: i32 = const 1
            %p: ptr<shared> = shared_ptr<offset=128, bytes=1000>
            %q: ptr<shared> = shared_ptr<offset=1152, bytes=1000>
            %r: ptr<shared> = shared_ptr<offset=2176, bytes=32> %i
            store %own, %x
            store %p, %x
            store %r, %x
            loop @again {
                %at: ptr<shared> = ptr_add<scale=4> %q, %i
                %y: i32 = load %at
                %c: bool = ieq %y, %x
                if %c {
                    br @again
                } else {
                }
            }
        }";
        text::parse(source).expect("the text is IR")
    }

    fn homes(limit: u32) -> (Vec<Home>, u64, u64) {
        let homes = Homes::of(&module(), 100, limit);
        let mut moved = homes.moved.clone();
        moved.sort_by_key(|(inst, _)| inst.index());
        (moved.into_iter().map(|(_, home)| home).collect(), homes.shared_bytes, homes.spilled_bytes)
    }

    #[test]
    fn all_stays_where_there_is_room() {
        assert_eq!(homes(2240), (vec![], 2240, 0));
    }

    #[test]
    fn what_is_used_least_goes() {
        use Home::{Global, Shared};
        assert_eq!(homes(2239), (vec![Shared(1152), Shared(128), Global(0)], 2152, 64));
        assert_eq!(homes(1300), (vec![Global(0), Shared(128), Shared(1152)], 1216, 1024));
        assert_eq!(homes(200), (vec![Global(1024), Global(0), Shared(128)], 192, 2048));
    }
}
