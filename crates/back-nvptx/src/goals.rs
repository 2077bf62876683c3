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

use crate::control::Exits;
use phalanx_ir::{Function, Label, Op, Uniformity};

/// What threads go to by way of their goal, where masks are kept.
#[derive(Debug)]
pub(crate) struct Goals {
    /// By label.
    labels: Vec<bool>,
    /// Whether returns do.
    pub(crate) returns: bool,
}

impl Goals {
    /// Begins with what the analysis says, and goes on with what leaves a construct together with such, until there is
    /// nothing more. `exits` is by block.
    pub(crate) fn find(f: &Function, uniformity: &Uniformity, exits: &[Exits]) -> Self {
        let (mut constructs, mut labels) = (Vec::new(), Vec::new());
        for info in &f.insts {
            let own = match info.op {
                Op::Block { label, .. } | Op::Loop { label, .. } => Some(label),
                Op::If { .. } => None,
                _ => continue,
            };
            let mut leaves = Exits::default();
            for body in info.op.bodies() {
                let inner = &exits[body.index()];
                leaves.labels.extend(inner.labels.iter().copied().filter(|&label| Some(label) != own));
                leaves.returns |= inner.returns;
            }
            if let Some(label) = own {
                labels.resize(labels.len().max(label.index() + 1), false);
                labels[label.index()] = uniformity.is_divergent_label(label);
            }
            constructs.push(leaves);
        }
        let mut goals = Self { labels, returns: uniformity.has_divergent_return() };
        while constructs.iter().any(|leaves| goals.spread(leaves)) {}
        goals
    }

    /// Whether branches to a label do.
    pub(crate) fn has(&self, label: Label) -> bool {
        self.labels[label.index()]
    }

    /// Adds all that leaves a construct, if some of it goes by goals; whether there is anything new.
    fn spread(&mut self, leaves: &Exits) -> bool {
        let some_wait = leaves.labels.iter().any(|&label| self.has(label)) || leaves.returns && self.returns;
        if !some_wait {
            return false;
        }
        let mut is_new = leaves.returns && !std::mem::replace(&mut self.returns, true);
        for &label in &leaves.labels {
            is_new |= !std::mem::replace(&mut self.labels[label.index()], true);
        }
        is_new
    }
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
        let passed = module(&pass("if %some {\nbr @1\n} else {\n}\n"));
        let found = goals(&passed);
        assert!(found[0] && found[1], "{found:?}");
    }
}
