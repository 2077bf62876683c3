//! Which ways out of constructs go by way of a goal.
//!
//! A branch or a return that leaves threads behind does: those that take it wait at the end of each construct that they
//! leave for all that entered it ([`crate::control`]). So what else leaves such a construct has to pass by its end, too, even
//! if all that are left take it together:
//!
//! ```text
//! loop @1 {
//!   block @2 {
//!     loop @3 {
//!       if a { br @1 } else {}       some: they wait at the end of @3
//!       if b { br @2 } else {}       all that are left, but by way of the end of @3
//!     }
//!   }
//! }
//! ```

//!
//! Where threads do nothing together in a construct, and none leaves it by way of a goal, none has to wait within: those that
//! enter it come to its end one by one.

use crate::control::{Exits, is_together};
use phalanx_ir::{Block, Function, Inst, Label, Op, Uniformity};

/// What threads go to by way of their goal, where masks are kept.
#[derive(Debug)]
pub(crate) struct Goals {
    /// By label.
    labels: Vec<bool>,
    /// Whether returns do.
    pub(crate) returns: bool,
    /// By block: whether threads do something together in it.
    together: Vec<bool>,
}

/// A construct.
struct Construct {
    /// Its label, if some leave others behind when they go there.
    own: Option<Label>,
    bodies: Vec<Block>,
    /// How it is left other than by its end.
    leaves: Exits,
}

impl Goals {
    /// Begins with what the analysis says of constructs in which threads do something together, and goes on with what leaves a
    /// construct together with such, until there is nothing more. `exits` is by block.
    pub(crate) fn find(f: &Function, uniformity: &Uniformity, exits: &[Exits]) -> Self {
        let mut together = vec![false; f.blocks.len()];
        find_together(f, Function::ENTRY, &mut together);
        let (mut constructs, mut labels) = (Vec::new(), Vec::new());
        for info in &f.insts {
            let own = match info.op {
                Op::Block { label, .. } | Op::Loop { label, .. } => Some(label),
                Op::If { .. } => None,
                _ => continue,
            };
            let bodies: Vec<Block> = info.op.bodies().collect();
            let mut leaves = Exits::default();
            for body in &bodies {
                let inner = &exits[body.index()];
                leaves.labels.extend(inner.labels.iter().copied().filter(|&label| Some(label) != own));
                leaves.returns |= inner.returns;
            }
            if let Some(label) = own {
                labels.resize(labels.len().max(label.index() + 1), false);
            }
            let own = own.filter(|&label| uniformity.is_divergent_label(label));
            constructs.push(Construct { own, bodies, leaves });
        }
        let mut goals = Self { labels, returns: uniformity.has_divergent_return(), together };
        while constructs.iter().fold(false, |is_new, construct| goals.spread(construct) | is_new) {}
        goals
    }

    /// Whether threads have to be told apart in a block: they do something together there, or leave it by way of goals.
    pub(crate) fn tells_apart(&self, block: Block, exits: &Exits) -> bool {
        self.together[block.index()] || self.some_wait(exits)
    }

    fn some_wait(&self, leaves: &Exits) -> bool {
        leaves.labels.iter().any(|&label| self.has(label)) || leaves.returns && self.returns
    }

    /// Whether branches to a label do.
    pub(crate) fn has(&self, label: Label) -> bool {
        self.labels[label.index()]
    }

    /// Adds the label of a construct in which threads have to be told apart, and all that leaves it, if some of that goes by goals;
    /// whether there is anything new.
    fn spread(&mut self, Construct { own, bodies, leaves }: &Construct) -> bool {
        let some_wait = self.some_wait(leaves);
        let mut is_new = false;
        if some_wait || bodies.iter().any(|body| self.together[body.index()]) {
            is_new |= own.is_some_and(|label| !std::mem::replace(&mut self.labels[label.index()], true));
        }
        if some_wait {
            is_new |= leaves.returns && !std::mem::replace(&mut self.returns, true);
            for &label in &leaves.labels {
                is_new |= !std::mem::replace(&mut self.labels[label.index()], true);
            }
        }
        is_new
    }
}

/// Fills in whether threads do something together in a block, and in all within.
fn find_together(f: &Function, block: Block, together: &mut [bool]) {
    let is_one = |&inst: &Inst| {
        let op = &f.inst(inst).op;
        let mut all = is_together(op);
        for body in op.bodies() {
            find_together(f, body, together);
            all |= together[body.index()];
        }
        all
    };
    // Each is looked at, whatever was found.
    let all: Vec<bool> = f.block(block).iter().map(is_one).collect();
    together[block.index()] = all.contains(&true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::exits_of;
    use phalanx_ir::{Module, text};

    fn module(body: &str) -> Module {
        let source = format!(
            "kernel \"main\"\nworkgroup_size 32 1 1\nsubgroup_size 32\npush 4\n{{\n\
             %l: i32 = subgroup_lane\n%z: i32 = const 0\n%p: ptr<push> = push_ptr\n%n: i32 = load %p\n\
             %some: bool = ieq %l, %z\n%all: bool = ieq %n, %z\n{body}\n}}\n"
        );
        text::parse(&source).expect("the text is IR")
    }

    fn goals(module: &Module) -> Vec<bool> {
        let f = &module.body;
        Goals::find(f, &Uniformity::analyse(module), &exits_of(f)).labels
    }

    #[test]
    fn what_leaves_a_construct_together_waits_together() {
        let pass = |inner: &str| {
            format!(
                "loop @1 {{\nblock @2 {{\nloop @3 {{\n{inner}if %all {{\nbr @2\n}} else {{\n}}\nbr @3\n}}\n}}\n}}"
            )
        };
        let alone = module(&pass(""));
        assert_eq!(goals(&alone), [false; 3]);
        let leaves = "if %some {\nbr @1\n} else {\n}\n";
        let together = format!("{leaves}%sum: i32 = subgroup_reduce<iadd> %z\n");
        let found = goals(&module(&pass(&together)));
        assert!(found[0] && found[1], "{found:?}");
        // Nobody waits where threads do nothing together.
        assert_eq!(goals(&module(&pass(leaves))), [false; 3]);
        let behind = format!("{}\n%sum: i32 = subgroup_reduce<iadd> %z", pass(leaves));
        assert_eq!(goals(&module(&behind)), [false; 3]);
    }
}
