//! The bindings, and what the registry has that they do not have yet.

pub(super) use vulkanalia_sys::*;

/// Defines a structure of features with its `sType`.
macro_rules! features {
    ($($(#[$doc:meta])* $name:ident = $ty:literal { $($field:ident),* $(,)? })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) struct $name {
            pub(super) s_type: StructureType,
            pub(super) next: *mut std::ffi::c_void,
            $(pub(super) $field: Bool32,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { s_type: StructureType::from_raw($ty), next: std::ptr::null_mut(), $($field: FALSE,)* }
            }
        }
    )*};
}

/// Defines a structure with its `sType`.
macro_rules! structure {
    ($(#[$doc:meta])* $name:ident = $ty:literal { $($field:ident: $of:ty),* $(,)? }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name {
            pub(super) s_type: StructureType,
            pub(super) next: *mut std::ffi::c_void,
            $(pub(super) $field: $of,)*
        }

        impl Default for $name {
            fn default() -> Self {
                let (s_type, next) = (StructureType::from_raw($ty), std::ptr::null_mut());
                Self { s_type, next, $($field: <$of>::default(),)* }
            }
        }
    };
}

features! {
    /// `VkPhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV`.
    PhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV = 1_000_689_000 {
        cooperative_matrix_decode_vector,
    }
    /// `VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT`.
    PhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT = 1_000_659_000 {
        cooperative_matrix_properties2,
        cooperative_matrix_reductions,
        cooperative_matrix_conversions,
        cooperative_matrix_per_element_operations,
        cooperative_matrix_get_coordinate,
    }
}

structure! {
    /// `VkPhysicalDeviceCooperativeMatrixInfo2EXT`.
    PhysicalDeviceCooperativeMatrixInfo2EXT = 1_000_659_001 {
        scope: ScopeKHR,
        invocations: u32,
        subgroup_size: u32,
        flags: u32,
    }
}

structure! {
    /// `VkCooperativeMatrixProperties2EXT`.
    CooperativeMatrixProperties2EXT = 1_000_659_002 {
        m_granularity: u32,
        n_granularity: u32,
        k_granularity: u32,
        a_type: ComponentTypeKHR,
        b_type: ComponentTypeKHR,
        c_type: ComponentTypeKHR,
        result_type: ComponentTypeKHR,
    }
}

/// `VK_COOPERATIVE_MATRIX_SATURATING_ACCUMULATION_BIT_EXT`.
pub(super) const COOPERATIVE_MATRIX_SATURATING_ACCUMULATION: u32 = 1;

/// `PFN_vkGetPhysicalDeviceCooperativeMatrixProperties2EXT`.
#[expect(non_camel_case_types, reason = "named as the bindings name such types")]
pub(super) type PFN_vkGetPhysicalDeviceCooperativeMatrixProperties2EXT = unsafe extern "system" fn(
    PhysicalDevice,
    *const PhysicalDeviceCooperativeMatrixInfo2EXT,
    *mut u32,
    *mut CooperativeMatrixProperties2EXT,
) -> Result;
