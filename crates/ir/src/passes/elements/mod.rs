//! Operations on the elements of matrices, for a target that holds matrices as tiles in memory.
//!
//! There each operation reads and writes a whole tile. [`elements`] makes fewer of them: `narrow` computes what is the same in
//! all columns of a row for few columns, and `fuse` makes one function of each element of a chain of them.

mod fuse;
mod narrow;
mod region;

#[cfg(test)]
mod tests;

use super::{Options, PassBug, compact, gate, opt_dce};
use crate::module::Module;
use crate::types::MatType;
use crate::uniformity::Uniformity;
use crate::verify::Verified;

/// What a target says of the elements of matrices.
#[expect(missing_debug_implementations, reason = "two functions")]
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    /// Whether functions of elements ([`Op::MatMap`](crate::Op::MatMap)) go straight through such matrices.
    pub maps: &'a dyn Fn(MatType) -> bool,
    /// Whether the rows of such a matrix are folded straight into such a one.
    pub folds: &'a dyn Fn(MatType, MatType) -> bool,
}

/// Makes few operations on the elements of matrices of many; `None` if there is nothing to gain.
///
/// # Errors
///
/// A bug in a pass.
pub fn elements(
    module: &Verified,
    elements: Elements<'_>,
    options: &Options,
) -> Result<Option<Verified>, PassBug> {
    let narrowed = narrow::run(&module.body, &Uniformity::analyse(module), elements);
    let body = narrowed.as_ref().unwrap_or(&module.body);
    let fused = fuse::run(body, elements);
    let Some(body) = fused.or(narrowed) else { return Ok(None) };
    let module = Module { body: compact(&opt_dce::run(&body)), ..(**module).clone() };
    if let Some(observe) = options.observe {
        observe("elements", &module);
    }
    gate("elements", module).map(Some)
}
