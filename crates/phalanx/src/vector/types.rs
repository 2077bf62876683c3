//! The types that matrices and vectors are multiplied with.

use phalanx_ir::Component;

/// Types of a product of a matrix and a vector: a row of `vkGetPhysicalDeviceCooperativeVectorPropertiesNV`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VectorTypes {
    /// Type of the vector's components; `u32` if they are [packed](Self::packed).
    pub input: Component,
    /// Whether each component of the vector holds four numbers of the interpretation's type.
    pub packed: bool,
    /// What the numbers of the vector become before they are multiplied.
    pub interpretation: Component,
    /// Type of the matrix' elements.
    pub matrix: Component,
    /// Type of the bias' elements, if there is a bias.
    pub bias: Component,
    /// Type of the result's components.
    pub result: Component,
    /// Whether a matrix in an optimal layout may be the transpose.
    pub transpose: bool,
}

/// The types that can be multiplied. Every device multiplies them all.
pub fn vector_types() -> Vec<VectorTypes> {
    use Component::{E4m3, E5m2, F16, F32, S8, S32, U8, U32};
    let mut rows = Vec::new();
    let mut add = |(input, packed), interpretation, matrix, bias, result| {
        rows.push(VectorTypes { input, packed, interpretation, matrix, bias, result, transpose: true });
    };
    // The first row of a result is of the same bias.
    for (result, bias) in [(F16, F16), (F32, F32), (F16, F32), (F32, F16)] {
        for matrix in [F16, F32, E4m3, E5m2] {
            for input in [F16, F32] {
                add((input, false), matrix, matrix, bias, result);
            }
        }
    }
    for sum in [S32, U32] {
        for interpretation in [S8, U8] {
            let single = [S8, U8, S32, U32, F32, F16].map(|input| (input, false));
            for input in std::iter::once((U32, true)).chain(single) {
                for matrix in [S8, U8] {
                    add(input, interpretation, matrix, sum, sum);
                }
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_are_distinct_and_agree() {
        let rows = vector_types();
        assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len());
        for row in rows {
            assert!(!row.packed || row.input == Component::U32, "{row:?}");
            let floats = [row.interpretation, row.matrix, row.bias, row.result].map(Component::is_float);
            assert!(floats == [row.result.is_float(); 4], "{row:?}");
        }
    }

    #[test]
    fn the_required_rows_are_there() {
        use Component::{E4m3, E5m2, F16, F32, S8, S32, U32};
        // *VkCooperativeVectorPropertiesNV*: "The following combinations must be supported".
        for (input, packed, interpretation, matrix, bias, result) in [
            (F16, false, F16, F16, F16, F16),
            (U32, true, S8, S8, S32, S32),
            (S8, false, S8, S8, S32, S32),
            (F32, false, S8, S8, S32, S32),
            (F16, false, E4m3, E4m3, F16, F16),
            (F16, false, E5m2, E5m2, F16, F16),
        ] {
            let found = vector_types().into_iter().find(|row| {
                let own = (row.input, row.packed, row.interpretation, row.matrix, row.bias, row.result);
                own == (input, packed, interpretation, matrix, bias, result)
            });
            assert!(found.is_some_and(|row| row.transpose), "{input:?} {matrix:?}");
        }
    }
}
