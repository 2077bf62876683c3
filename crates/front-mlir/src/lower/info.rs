//! What a text holds, without translating it.

use phalanx_ir::{MatType, Scalar, Use};

use super::cx::Cx;
use super::symbols::{self, Symbols};
use super::{Options, attr, launch, stated_size, types};
use crate::ast::{Ast, Op, Type};

/// What a text holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// The kernels, by name; where there are none, all functions that can be run.
    pub entry_points: Vec<EntryInfo>,
    /// The types of matrices, each once, and whether their elements are integers with a sign.
    pub matrices: Vec<(MatType, bool)>,
    /// The types of multiply-adds, each once.
    pub mul_adds: Vec<MulAddInfo>,
}

/// What a multiply-add takes; its result has the type of the addend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MulAddInfo {
    /// The left factor, the right one, and the addend.
    pub types: [MatType; 3],
    /// Whether their elements are integers with a sign.
    pub signed: [bool; 3],
}

impl Info {
    /// The whole name of the entry point that a name means, or of the only kernel.
    pub fn choose(&self, entry: Option<&str>) -> Option<&str> {
        let all: Vec<&EntryInfo> = self.entry_points.iter().collect();
        let kernels: Vec<&EntryInfo> = all.iter().copied().filter(|found| found.is_kernel).collect();
        let Some(entry) = entry else {
            return match (&kernels[..], &all[..]) {
                ([one], _) | ([], [one]) => Some(&one.name),
                _ => None,
            };
        };
        let is_last = |name: &str| name.rsplit("::").next() == Some(entry);
        let exact = all.iter().find(|found| found.name == entry);
        exact.or_else(|| all.iter().find(|found| is_last(&found.name))).map(|found| found.name.as_str())
    }
}

/// A function that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryInfo {
    /// Its name, with those of its modules: `kernels::gemm`.
    pub name: String,
    /// Whether it says itself that it is a kernel.
    pub is_kernel: bool,
    /// Invocations of a work-group along each axis, if the function or its launch states them.
    pub workgroup_size: Option<[u32; 3]>,
    /// Work-groups along each axis, if a launch of the function in this text states them.
    pub groups: Option<[u32; 3]>,
    /// Its buffers, in the order of the arguments.
    pub buffers: Vec<BufferInfo>,
    /// What it takes from the push constants, in their order.
    pub push: Vec<PushInfo>,
    /// Bytes of the push constants.
    pub push_bytes: u32,
}

/// A buffer that an argument is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferInfo {
    /// Descriptor set.
    pub set: u32,
    /// Binding number in the set.
    pub binding: u32,
    /// The argument's name.
    pub name: String,
    /// The scalar that it consists of, as it is in memory.
    pub scalar: Scalar,
    /// Whether it is an integer with a sign.
    pub signed: bool,
    /// How many of them the argument's type asks for, if it says so.
    pub elements: Option<u64>,
}

/// Numbers in the push constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushInfo {
    /// The argument's name, and what of it: `a.size1`.
    pub name: String,
    /// Where they are, in bytes.
    pub offset: u32,
    /// Their type in memory.
    pub scalar: Scalar,
    /// Whether it is an integer with a sign.
    pub signed: bool,
    /// How many there are: more than one in a vector.
    pub count: u32,
}

/// What a text holds. A function whose arguments no kernel can have is left out, and so is host code beside kernels.
pub(crate) fn inspect(ast: &Ast) -> Info {
    let symbols = Symbols::of(ast);
    let has_kernels = symbols.entries().any(|(_, op)| symbols::is_kernel(op));
    let wanted = symbols.entries().filter(|(_, op)| symbols::is_kernel(op) || !has_kernels);
    let entry_points = wanted.filter_map(|(name, op)| entry(ast, &symbols, name, op)).collect();
    let mut matrices = Vec::new();
    for value in &ast.values {
        if let Type::Mma(mma) = &value.ty
            && let Ok(ty) = types::matrix(mma)
        {
            let found = (ty, types::is_signed(&mma.elem));
            if !matrices.contains(&found) {
                matrices.push(found);
            }
        }
    }
    let mut mul_adds = Vec::new();
    let mut work: Vec<&Op> = ast.ops.iter().collect();
    while let Some(op) = work.pop() {
        if let Some(found) = mul_add(ast, op)
            && !mul_adds.contains(&found)
        {
            mul_adds.push(found);
        }
        let blocks = op.regions.iter().rev().flat_map(|region| region.blocks.iter().rev());
        work.extend(blocks.flat_map(|block| block.ops.iter().rev()));
    }
    Info { entry_points, matrices, mul_adds }
}

/// The types of a multiply-add, if its operands are matrices. Those of a factor that it transposes are those behind that.
fn mul_add(ast: &Ast, op: &Op) -> Option<MulAddInfo> {
    let matrix = |operand: usize| match &ast.values.get(op.operands.get(operand)?.0 as usize)?.ty {
        Type::Mma(mma) => Some((types::matrix(mma).ok()?, types::is_signed(&mma.elem))),
        _ => None,
    };
    if &*op.name != "gpu.subgroup_mma_compute" {
        return None;
    }
    let [(a, a_signed), (b, b_signed), (c, c_signed)] = [matrix(0)?, matrix(1)?, matrix(2)?];
    let factor = |ty: MatType, flag, use_| match attr::flag(op, flag) {
        true => MatType { rows: ty.cols, cols: ty.rows, use_, ..ty },
        false => ty,
    };
    let types = [factor(a, "a_transpose", Use::A), factor(b, "b_transpose", Use::B), c];
    Some(MulAddInfo { types, signed: [a_signed, b_signed, c_signed] })
}

fn entry(ast: &Ast, symbols: &Symbols<'_>, name: &str, op: &Op) -> Option<EntryInfo> {
    let options = Options::default();
    let mut cx = Cx::new(ast, symbols, &options);
    cx.interface(op).ok()?;
    let launch = launch::of(ast, name);
    Some(EntryInfo {
        name: name.to_owned(),
        is_kernel: symbols::is_kernel(op),
        workgroup_size: stated_size(op).ok().flatten().or(launch.map(|launch| launch.workgroup_size)),
        groups: launch.map(|launch| launch.groups),
        buffers: cx.buffers,
        push: cx.pushes,
        push_bytes: cx.module.push_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::Scope;

    #[test]
    fn multiply_adds_are_told_once_and_as_they_multiply() {
        let text = r#"gpu.module @m {
          gpu.func @f(%a: !gpu.mma_matrix<8x4xsi8, "AOp">, %b: !gpu.mma_matrix<8x2xi8, "BOp">, %c: !gpu.mma_matrix<4x2xi32, "COp">) {
            %d = gpu.subgroup_mma_compute %a, %b, %c {a_transpose} : !gpu.mma_matrix<8x4xsi8, "AOp">, !gpu.mma_matrix<8x2xi8, "BOp"> -> !gpu.mma_matrix<4x2xi32, "COp">
            %e = gpu.subgroup_mma_compute %a, %b, %d {a_transpose} : !gpu.mma_matrix<8x4xsi8, "AOp">, !gpu.mma_matrix<8x2xi8, "BOp"> -> !gpu.mma_matrix<4x2xi32, "COp">
            gpu.return
          }
        }"#;
        let ast = crate::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let matrix = |elem, rows, cols, use_| MatType { elem, scope: Scope::Subgroup, rows, cols, use_ };
        let types = [
            matrix(Scalar::I8, 4, 8, Use::A),
            matrix(Scalar::I8, 8, 2, Use::B),
            matrix(Scalar::I32, 4, 2, Use::Accumulator),
        ];
        assert_eq!(inspect(&ast).mul_adds, [MulAddInfo { types, signed: [true, false, false] }]);
    }
}
