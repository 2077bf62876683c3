//! What host code says of a launch: `gpu.launch_func` with sizes that are constants.

use super::attr;
use crate::ast::{Ast, Attr, Op, ValueId};

/// The sizes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) groups: [u32; 3],
    pub(super) workgroup_size: [u32; 3],
}

/// The launch of a kernel, if all launches of it in the text have the same constant sizes.
pub(super) fn of(ast: &Ast, kernel: &str) -> Option<Launch> {
    let mut found: Option<Launch> = None;
    let mut work: Vec<&Op> = ast.ops.iter().collect();
    let mut launches = Vec::new();
    let mut constants = Vec::new();
    while let Some(op) = work.pop() {
        match &*op.name {
            "gpu.launch_func" if attr::symbol(op, "kernel").is_ok_and(|name| is_same(&name, kernel)) => {
                launches.push(op);
            }
            "arith.constant" => constants.extend(op.results.first().zip(attr::get(op, "value"))),
            _ => {}
        }
        work.extend(op.regions.iter().flat_map(|region| &region.blocks).flat_map(|block| &block.ops));
    }
    for op in launches {
        let launch = sizes(op, &constants)?;
        if *found.get_or_insert(launch) != launch {
            return None;
        }
    }
    found
}

/// Whether a reference such as `@kernels::@gemm` means a function, whose name may have the names of more modules.
fn is_same(reference: &str, kernel: &str) -> bool {
    kernel == reference || kernel.ends_with(&format!("::{reference}"))
}

fn sizes(op: &Op, constants: &[(&ValueId, &Attr)]) -> Option<Launch> {
    let groups = attr::segments(op, 7).ok()?;
    let axis = |group: usize| {
        let id = op.operands.get(groups.get(group)?.start)?;
        match constants.iter().find(|(known, _)| *known == id)?.1 {
            Attr::Int(n, _) => u32::try_from(*n).ok(),
            _ => None,
        }
    };
    // Behind the dependencies come three sizes of the grid and three of the block.
    Some(Launch { groups: [axis(1)?, axis(2)?, axis(3)?], workgroup_size: [axis(4)?, axis(5)?, axis(6)?] })
}
