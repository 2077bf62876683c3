//! Matrices of work-group scope, for targets that run a work-group on one core.
//!
//! All invocations of a work-group execute an operation on such a matrix together, and which of them
//! works on an element is the target's choice. Here the first subgroup, the leader, does everything, as if
//! the matrix were its own; the other subgroups, the followers, keep the rest of the program:
//!
//! ```text
//!                                            leader                               followers
//! %m: mat<…, workgroup, acc> = mat_load …    %m: mat<…, subgroup, acc> = mat_load …
//! %x: f32 = load %own                        %x: f32 = load %own                  %x: f32 = load %own
//! barrier<workgroup, workgroup>              barrier<workgroup, workgroup>        barrier<workgroup, workgroup>
//! mat_store %p, %m, …                        mat_store %p, %m, …
//! ```
//!
//! Components, which belong to all invocations, are spread before ([`spread()`]). Nobody else has to wait for the
//! leader: where its accesses meet those of other subgroups, a program has a barrier of its own, as it cannot know
//! which invocation makes an access. Control flow stays the same, so barriers meet.

use super::{Options, SpreadError, gate, opt_dce, simplify, spread, walk};
use crate::module::{Function, Module};
use crate::types::{Scope, Type};
use crate::verify::Verified;

/// A module as the first subgroup of a work-group executes it, and as the others do.
#[derive(Clone, Debug)]
pub struct Split {
    /// For the first subgroup.
    pub leader: Verified,
    /// For the others, if there are any.
    pub followers: Option<Verified>,
}

/// Splits a module; `None` if it has no matrices of work-group scope.
///
/// # Errors
///
/// Those of [`spread()`].
pub fn split(module: &Verified, options: &Options) -> Result<Option<Split>, SpreadError> {
    let body = &module.body;
    if !body.insts.iter().any(|info| body.concerns_matrices(info, Scope::Workgroup)) {
        return Ok(None);
    }
    let spread = spread(module, options)?.map(simplify).transpose()?;
    let module = spread.as_ref().unwrap_or(module);
    let body = &module.body;
    let finish = |pass, body| {
        let module = gate(pass, Module { body, ..Module::clone(module) })?;
        if let Some(observe) = options.observe {
            observe(pass, &module);
        }
        Ok::<_, SpreadError>(module)
    };
    let leader = finish("leader", lead(body.clone()))?;
    let followers = match module.num_subgroups() {
        1 => None,
        _ => Some(finish("followers", follow(body.clone()))?),
    };
    Ok(Some(Split { leader, followers }))
}

/// Makes the matrices the subgroup's.
fn lead(mut body: Function) -> Function {
    let types = body.values.iter_mut().map(|v| &mut v.ty).chain(body.vars.iter_mut().map(|v| &mut v.ty));
    for ty in types {
        if let Type::Mat(m) = ty
            && m.scope == Scope::Workgroup
        {
            m.scope = Scope::Subgroup;
        }
    }
    body
}

/// Leaves out the matrices.
fn follow(mut body: Function) -> Function {
    let mut blocks = std::mem::take(&mut body.blocks);
    for block in &mut blocks {
        block.retain(|&inst| !body.concerns_matrices(body.inst(inst), Scope::Workgroup));
    }
    body.blocks = blocks;
    super::compact(&opt_dce::run(&walk::simplify(&body)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;
    use crate::types::Space;
    use crate::{text, verify};

    const KERNEL: &str = "workgroup_size 64 1 1 subgroup_size 32 shared 1024
    var $m: mat<8x4xf32, workgroup, acc>[2] {
    %p: ptr<shared> = shared_ptr<offset=0, bytes=1024>
    %s: i64 = const 16
    %i: i32 = const 1
    %m: mat<8x4xf32, workgroup, acc> = mat_load %p, %s
    %n: mat<8x4xf32, workgroup, acc> = mat_map %m {
      %r: i32, %c: i32, %x: f32 = params
      store %p, %x
      yield %x
    }
    var_store<$m> %i, %n
    %own: mat<4x4xf32, subgroup, acc> = mat_load %p, %s
    barrier<workgroup, workgroup>
    store %p, %i
    mat_store %p, %own, %s
    mat_store %p, %n, %s
}";

    fn run(code: &str) -> Option<Split> {
        let module = verify(text::parse(code).unwrap_or_else(|e| panic!("{e}"))).unwrap();
        split(&module, &Options { verify: true, ..Options::default() }).unwrap()
    }

    fn count(module: &Module, is: impl Fn(&Op) -> bool) -> usize {
        let body = &module.body;
        body.blocks.iter().flatten().filter(|&&inst| is(&body.inst(inst).op)).count()
    }

    #[test]
    fn the_leader_has_the_matrices_of_the_work_group() {
        let leader = run(KERNEL).unwrap().leader;
        assert_eq!(
            leader.to_string(),
            text::parse(&KERNEL.replace("workgroup, acc", "subgroup, acc")).unwrap().to_string()
        );
    }

    #[test]
    fn followers_keep_the_rest() {
        let followers = run(KERNEL).unwrap().followers.unwrap();
        let left = |is: fn(&Op) -> bool| count(&followers, is);
        assert_eq!(left(|op| matches!(op, Op::MatLoad { .. })), 1);
        assert_eq!(left(|op| matches!(op, Op::MatStore { .. })), 1);
        assert_eq!(left(|op| matches!(op, Op::Barrier(_))), 1);
        assert_eq!(left(|op| matches!(op, Op::MatMap { .. } | Op::MatExtract | Op::VarComponentLoad(_))), 0);
        assert_eq!(left(|op| matches!(op, Op::Store(_))), 1);
        assert!(followers.body.vars.is_empty());
    }

    #[test]
    fn all_have_components() {
        let code = KERNEL
            .replace("store %p, %i\n", "%o: i32 = const 0\n%y: f32 = mat_extract %m, %o\nstore %p, %y\n");
        let split = run(&code).unwrap();
        for module in [split.leader, split.followers.unwrap()] {
            let is_shared = |info: &&crate::module::InstInfo| {
                matches!(info.op, Op::Load(_)) && module.body.ty(info.args[0]) == Type::Ptr(Space::Shared)
            };
            assert_eq!(module.body.insts.iter().filter(is_shared).count(), 1, "{}", *module);
        }
    }

    #[test]
    fn one_subgroup_has_no_followers_and_other_modules_stay_whole() {
        assert!(run(&KERNEL.replace("64 1 1", "20 1 1")).unwrap().followers.is_none());
        assert!(run(&KERNEL.replace("workgroup, acc", "subgroup, acc")).is_none());
    }
}
