//! The shapes and types of cooperative matrices (`VK_KHR_cooperative_matrix`, `VK_NV_cooperative_matrix`).
//!
//! The device multiplies matrices of any shape. Rows name those that applications look for, in the order
//! in which they are best taken: some take the first row whose types they know.

use phalanx::{ComponentType, DeviceInfo, MatrixTypes};
use vulkanalia_sys as vk;

/// M, N and K for components of 8 bits.
///
/// No shape has M or N above 32: applications divide their tiles among the subgroups of a work-group and give a
/// subgroup as little as 64×32, which a larger matrix does not fit. For the same reason only components of 8 bits
/// have K of 32: tiles of wider components are often 16 deep.
const NARROW: &[[u32; 3]] = &[
    [16, 16, 16],
    [16, 8, 16],
    [16, 8, 8],
    [16, 16, 32],
    [16, 8, 32],
    [8, 8, 32],
    [8, 8, 16],
    [8, 8, 8],
    [32, 32, 16],
    [32, 32, 32],
];

/// M, N and K for components of 16 bits.
const HALF: &[[u32; 3]] = &[[16, 16, 16], [16, 8, 16], [16, 8, 8], [8, 8, 16], [8, 8, 8], [32, 32, 16]];

/// M, N and K for wider components.
const WIDE: &[[u32; 3]] = &[[16, 16, 16], [16, 8, 8], [8, 8, 8], [32, 32, 32]];

/// The rows of `vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR`.
pub(super) fn rows(info: &DeviceInfo) -> Vec<vk::CooperativeMatrixPropertiesKHR> {
    let mut rows = Vec::new();
    // By shape first: the first row of any types is of the first shape.
    for &shape in NARROW {
        for types in &info.matrix_types {
            if shapes(*types).contains(&shape) {
                rows.push(row(shape, *types));
            }
        }
    }
    rows
}

/// The rows of `vkGetPhysicalDeviceCooperativeMatrixPropertiesNV`, which knows neither saturation nor the types
/// that came later.
pub(super) fn rows_nv(info: &DeviceInfo) -> Vec<vk::CooperativeMatrixPropertiesNV> {
    let is_old = |ty: vk::ComponentTypeKHR| ty.as_raw() <= vk::ComponentTypeKHR::UINT64.as_raw();
    let rows = rows(info).into_iter();
    rows.filter(|row| row.saturating_accumulation == vk::FALSE && is_old(row.a_type) && is_old(row.c_type))
        .map(|row| vk::CooperativeMatrixPropertiesNV {
            m_size: row.m_size,
            n_size: row.n_size,
            k_size: row.k_size,
            a_type: row.a_type,
            b_type: row.b_type,
            c_type: row.c_type,
            d_type: row.result_type,
            scope: row.scope,
            ..Default::default()
        })
        .collect()
}

/// Shapes for these types; all are in [`NARROW`].
fn shapes(types: MatrixTypes) -> &'static [[u32; 3]] {
    use ComponentType as T;
    match types.a {
        T::F16 | T::BF16 => HALF,
        T::E4M3 | T::E5M2 | T::S8 | T::U8 => NARROW,
        T::F32 | T::F64 | T::S16 | T::S32 | T::S64 | T::U16 | T::U32 | T::U64 => WIDE,
    }
}

fn row([m_size, n_size, k_size]: [u32; 3], types: MatrixTypes) -> vk::CooperativeMatrixPropertiesKHR {
    vk::CooperativeMatrixPropertiesKHR {
        m_size,
        n_size,
        k_size,
        a_type: component(types.a),
        b_type: component(types.b),
        c_type: component(types.c),
        result_type: component(types.result),
        saturating_accumulation: vk::Bool32::from(types.saturating),
        scope: vk::ScopeKHR::SUBGROUP,
        ..Default::default()
    }
}

fn component(ty: ComponentType) -> vk::ComponentTypeKHR {
    use ComponentType as T;
    use vk::ComponentTypeKHR as C;
    match ty {
        T::F16 => C::FLOAT16,
        T::F32 => C::FLOAT32,
        T::F64 => C::FLOAT64,
        T::BF16 => C::BFLOAT16,
        T::E4M3 => C::FLOAT8_E4M3_EXT,
        T::E5M2 => C::FLOAT8_E5M2_EXT,
        T::S8 => C::SINT8,
        T::S16 => C::SINT16,
        T::S32 => C::SINT32,
        T::S64 => C::SINT64,
        T::U8 => C::UINT8,
        T::U16 => C::UINT16,
        T::U32 => C::UINT32,
        T::U64 => C::UINT64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn info() -> DeviceInfo {
        phalanx::Device::describe(&phalanx::DeviceOptions::default()).expect("a machine")
    }

    #[test]
    fn rows_are_distinct_and_the_first_of_half_precision_is_the_usual_shape() {
        let rows = rows(&info());
        let distinct: BTreeSet<_> = rows
            .iter()
            .map(|r| {
                let types = [r.a_type, r.b_type, r.c_type, r.result_type].map(vk::ComponentTypeKHR::as_raw);
                (r.m_size, r.n_size, r.k_size, types, r.saturating_accumulation)
            })
            .collect();
        assert_eq!(distinct.len(), rows.len());
        let half = |c| {
            rows.iter().find(|r| r.a_type == vk::ComponentTypeKHR::FLOAT16 && r.c_type == c).expect("a row")
        };
        for c in [vk::ComponentTypeKHR::FLOAT16, vk::ComponentTypeKHR::FLOAT32] {
            let row = half(c);
            assert_eq!([row.m_size, row.n_size, row.k_size], [16, 16, 16]);
        }
    }

    #[test]
    fn all_types_have_rows_and_wide_shapes_are_listed() {
        let info = info();
        let rows = rows(&info);
        assert!(WIDE.iter().chain(HALF).all(|shape| NARROW.contains(shape)));
        for types in info.matrix_types {
            let row = row([16, 16, 16], types);
            assert!(rows.contains(&row), "{types:?}");
        }
    }

    #[test]
    fn the_older_extension_gets_the_older_types() {
        let rows = rows_nv(&info());
        assert!(!rows.is_empty());
        assert!(rows.iter().all(|row| row.b_type != vk::ComponentTypeKHR::BFLOAT16));
    }
}
