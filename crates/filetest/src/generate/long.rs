//! Long vectors (SPV_EXT_long_vector): those that are values, and those of more than 8 components,
//! which are variables that loops go through.

use super::case::{Case, Source};
use super::float;
use super::glsl;
use super::integer;
use super::value::Ty;
use phalanx_ir::Scalar;

pub(super) fn cases() -> Vec<Case> {
    use Source::{Uniform, Varying};
    let mut all = Vec::new();
    for n in [5, 16, 35] {
        for scalar in [Scalar::I8, Scalar::I32, Scalar::F16, Scalar::F32] {
            let ty = Ty::new(scalar, n);
            let operations = if scalar.is_int() {
                integer::componentwise(ty)
            } else {
                let mut all = float::operations(ty);
                all.extend(glsl::functions(ty));
                all
            };
            for operation in operations {
                let operands = operation.operands.len();
                let mixed = (0..operands).map(|i| if i == 0 { Varying } else { Uniform }).collect();
                all.extend(operation.cases(&[vec![Varying; operands], mixed]));
            }
        }
    }
    all
}
