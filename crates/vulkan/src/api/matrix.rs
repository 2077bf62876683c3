//! The shapes and types of cooperative matrices (`VK_KHR_cooperative_matrix`, `VK_NV_cooperative_matrix`,
//! `VK_NV_cooperative_matrix2`, `VK_EXT_cooperative_matrix_maintenance1`).
//!
//! The device multiplies matrices of any shape. Rows name those that applications look for, in the order
//! in which they are best taken: some take the first row whose types they know.

use phalanx::{ComponentType, DeviceInfo, MatrixTypes};

use super::newer as vk;

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

/// M, N and K where sums are bfloat16: without the largest, and with granularity [`GRANULARITY_BF16`].
///
/// The conformance suite wants sums of less than 48 products to be exact, and its test of decode functions makes
/// them up to 77.25, a number that bfloat16 has not. Other sizes than those listed are multiplied all the same.
const HALF_BF16: &[[u32; 3]] = HALF.split_at(HALF.len() - 1).0;

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

/// What M, N and K are multiples of in the rows of flexible dimensions.
///
/// The device takes any numbers. Applications that build their tiles from the granularity, and those that only test
/// that it divides their tiles, are both served well by a small shape of the other list. K is not 8, as the
/// conformance suite wants sums of less than 48 products to be exact, also in bfloat16, and tries three times K.
const GRANULARITY: [u32; 3] = [8, 8, 16];

/// The same where sums are bfloat16; see [`HALF_BF16`].
const GRANULARITY_BF16: [u32; 3] = [16, 16, 16];

/// Largest M, N or K of flexible dimensions. Three matrices of it, in 64-bit components, take 24 MiB.
const MAX_FLEXIBLE_DIMENSION: u32 = 1024;

/// The same of a device, where the largest work-groups may hold a square of it.
pub(super) fn max_flexible_dimension(info: &DeviceInfo) -> u32 {
    let subgroups = u64::from(MAX_WORKGROUP / info.default_subgroup_size.max(1));
    let most = info.max_matrix_elements.saturating_mul(subgroups).isqrt();
    // A power of two, as tiles are.
    1 << most.min(MAX_FLEXIBLE_DIMENSION.into()).max(1).ilog2()
}

/// Sizes of the work-groups that can hold a matrix of work-group scope together.
const WORKGROUPS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// The largest of them.
pub(super) const MAX_WORKGROUP: u32 = WORKGROUPS[WORKGROUPS.len() - 1];

/// The rows of `vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV`: all types at subgroup scope,
/// and at work-group scope for each size of a work-group.
pub(super) fn rows_flexible(info: &DeviceInfo) -> Vec<vk::CooperativeMatrixFlexibleDimensionsPropertiesNV> {
    let workgroups = WORKGROUPS.map(|size| (vk::ScopeKHR::WORKGROUP, size));
    // The size of the work-group has no meaning at subgroup scope.
    let scopes = std::iter::once((vk::ScopeKHR::SUBGROUP, 0)).chain(workgroups);
    let row = |types: &MatrixTypes, scope, workgroup_invocations| {
        let is_bf16 = types.result == ComponentType::BF16;
        let [m_granularity, n_granularity, k_granularity] =
            if is_bf16 { GRANULARITY_BF16 } else { GRANULARITY };
        vk::CooperativeMatrixFlexibleDimensionsPropertiesNV {
            m_granularity,
            n_granularity,
            k_granularity,
            a_type: component(types.a),
            b_type: component(types.b),
            c_type: component(types.c),
            result_type: component(types.result),
            saturating_accumulation: vk::Bool32::from(types.saturating),
            scope,
            workgroup_invocations,
            ..Default::default()
        }
    };
    scopes
        .flat_map(|(scope, size)| info.matrix_types.iter().map(move |types| row(types, scope, size)))
        .collect()
}

/// The rows of `vkGetPhysicalDeviceCooperativeMatrixProperties2EXT`: the shapes of the older query, since "the
/// dimensions must match the granularities exactly" unless flexible dimensions are enabled (VUID 13382).
pub(super) fn rows_of(
    device: &DeviceInfo,
    info: &vk::PhysicalDeviceCooperativeMatrixInfo2EXT,
) -> Vec<vk::CooperativeMatrixProperties2EXT> {
    let has_scope = match info.scope {
        vk::ScopeKHR::SUBGROUP => true,
        vk::ScopeKHR::WORKGROUP => WORKGROUPS.contains(&info.invocations),
        _ => false,
    };
    // 0 stands for a size that varies (VUID 13382).
    if !has_scope || info.subgroup_size != 0 && !device.subgroup_sizes.contains(&info.subgroup_size) {
        return Vec::new();
    }
    let saturates = info.flags & vk::COOPERATIVE_MATRIX_SATURATING_ACCUMULATION != 0;
    rows(device)
        .into_iter()
        .filter(|row| row.saturating_accumulation == vk::Bool32::from(saturates))
        .map(|row| vk::CooperativeMatrixProperties2EXT {
            m_granularity: row.m_size,
            n_granularity: row.n_size,
            k_granularity: row.k_size,
            a_type: row.a_type,
            b_type: row.b_type,
            c_type: row.c_type,
            result_type: row.result_type,
            ..Default::default()
        })
        .collect()
}

/// Shapes for these types; all are in [`NARROW`].
fn shapes(types: MatrixTypes) -> &'static [[u32; 3]] {
    use ComponentType as T;
    match types.a {
        T::BF16 if types.result == T::BF16 => HALF_BF16,
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
    fn flexible_rows_have_all_types_in_both_scopes() {
        let info = info();
        let rows = rows_flexible(&info);
        assert_eq!(rows.len(), info.matrix_types.len() * (WORKGROUPS.len() + 1));
        for row in &rows {
            let is_workgroup = row.scope == vk::ScopeKHR::WORKGROUP;
            assert_eq!(is_workgroup, row.workgroup_invocations != 0);
            assert!(row.workgroup_invocations <= MAX_WORKGROUP);
            // "MGranularity … must be a power of two."
            assert!(row.m_granularity.is_power_of_two());
        }
    }

    #[test]
    fn flexible_dimensions_are_as_large_as_matrices_may_be() {
        let info = info();
        assert_eq!(max_flexible_dimension(&info), MAX_FLEXIBLE_DIMENSION);
        let small = DeviceInfo { max_matrix_elements: 512 * 32, default_subgroup_size: 32, ..info };
        assert_eq!(max_flexible_dimension(&small), 512);
    }

    #[test]
    fn sums_in_bfloat16_are_listed_where_they_are_exact() {
        let info = info();
        let is_bf16 = |result| result == vk::ComponentTypeKHR::BFLOAT16;
        let rows: Vec<_> = rows(&info).into_iter().filter(|row| is_bf16(row.result_type)).collect();
        assert_eq!(rows.len(), HALF.len() - 1);
        assert!(rows.iter().all(|row| row.m_size.max(row.n_size) <= 16));
        for row in rows_flexible(&info) {
            let steps = [row.m_granularity, row.n_granularity, row.k_granularity];
            assert_eq!(steps == GRANULARITY_BF16, is_bf16(row.result_type));
        }
    }

    #[test]
    fn rows_are_asked_for_by_scope_and_size() {
        let device = info();
        let query = |scope, invocations, subgroup_size, flags| {
            let info = vk::PhysicalDeviceCooperativeMatrixInfo2EXT {
                scope,
                invocations,
                subgroup_size,
                flags,
                ..Default::default()
            };
            rows_of(&device, &info)
        };
        // What VK_EXT_cooperative_matrix_maintenance1 demands.
        use vk::ComponentTypeKHR as T;
        let demanded = [
            (T::FLOAT16, T::FLOAT16),
            (T::FLOAT16, T::FLOAT32),
            (T::UINT8, T::UINT32),
            (T::UINT8, T::SINT32),
            (T::SINT8, T::SINT32),
        ];
        for (scope, invocations) in [(vk::ScopeKHR::SUBGROUP, 0), (vk::ScopeKHR::WORKGROUP, 256)] {
            for size in [0, device.default_subgroup_size] {
                let rows = query(scope, invocations, size, 0);
                let has = |(a, c)| rows.iter().any(|row| (row.a_type, row.b_type, row.c_type) == (a, a, c));
                assert!(demanded.into_iter().all(has));
            }
        }
        let saturating = query(vk::ScopeKHR::SUBGROUP, 0, 0, vk::COOPERATIVE_MATRIX_SATURATING_ACCUMULATION);
        assert!(saturating.iter().all(|row| row.a_type != T::FLOAT16) && !saturating.is_empty());
        assert!(query(vk::ScopeKHR::WORKGROUP, 33, 0, 0).is_empty());
        assert!(query(vk::ScopeKHR::SUBGROUP, 0, 3, 0).is_empty());
        assert!(query(vk::ScopeKHR::DEVICE, 0, 0, 0).is_empty());
    }

    #[test]
    fn the_older_extension_gets_the_older_types() {
        let rows = rows_nv(&info());
        assert!(!rows.is_empty());
        assert!(rows.iter().all(|row| row.b_type != vk::ComponentTypeKHR::BFLOAT16));
    }
}
