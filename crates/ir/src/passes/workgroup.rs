//! Matrices of work-group scope, for targets that run a work-group on one core.
//!
//! All invocations of a work-group execute an operation on such a matrix together, and which of them
//! works on an element is the target's choice. Here the first subgroup, the leader, does everything, as if
//! the matrix were its own; the other subgroups, the followers, keep the rest of the program:
//!
//! ```text
//!                                            leader                               followers
//! %m: mat<…, workgroup, acc> = mat_load …    %m: mat<…, subgroup, acc> = mat_load …
//! %x: f32 = mat_extract %m, %i               %x: f32 = mat_extract %m, %i         %x: f32 = const 0
//! store %p, %x                               store %p, %x                         store %p, %x
//! barrier<workgroup, workgroup>              barrier<workgroup, workgroup>        barrier<workgroup, workgroup>
//! ```
//!
//! Nobody has to wait for the leader: where its accesses meet those of other subgroups, a program has a
//! barrier of its own, as it cannot know which invocation makes an access. Control flow stays the same, so
//! barriers meet.

use super::{Options, PassBug, gate, opt_dce, walk};
use crate::module::{Function, Module};
use crate::op::Op;
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
/// A bug in this pass.
pub fn split(module: &Verified, options: &Options) -> Result<Option<Split>, PassBug> {
    let body = &module.body;
    if !body.insts.iter().any(|info| body.concerns_matrices(info, Scope::Workgroup)) {
        return Ok(None);
    }
    let finish = |pass, body| {
        let module = gate(pass, Module { body, ..Module::clone(module) })?;
        if let Some(observe) = options.observe {
            observe(pass, &module);
        }
        Ok(module)
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

/// Leaves out the matrices; their components read as zero.
fn follow(mut body: Function) -> Function {
    let mut blocks = std::mem::take(&mut body.blocks);
    for block in &mut blocks {
        block.retain(|&inst| {
            let info = body.inst(inst);
            let is_component = matches!(info.op, Op::MatExtract | Op::VarComponentLoad(_));
            if !body.concerns_matrices(info, Scope::Workgroup) {
                return true;
            }
            if is_component {
                let info = &mut body.insts[inst.index()];
                (info.op, info.exact) = (Op::Const(0), false);
                info.args.clear();
            }
            is_component
        });
    }
    body.blocks = blocks;
    super::compact(&opt_dce::run(&walk::simplify(&body)))
}

#[cfg(test)]
mod tests {
    use super::*;
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
    %y: f32 = mat_extract %m, %i
    %z: f32 = var_component_load<$m> %i, %i
    barrier<workgroup, workgroup>
    store %p, %y, %z
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
        assert!(followers.body.vars.is_empty());
        let stored = followers.body.insts.iter().find(|i| matches!(i.op, Op::Store(_))).unwrap();
        assert!(stored.args[1..].iter().all(|&v| followers.body.const_bits(v) == Some(0)));
    }

    #[test]
    fn one_subgroup_has_no_followers_and_other_modules_stay_whole() {
        assert!(run(&KERNEL.replace("64 1 1", "20 1 1")).unwrap().followers.is_none());
        assert!(run(&KERNEL.replace("workgroup, acc", "subgroup, acc")).is_none());
    }
}
