//! Instances, the physical device and what it says of itself.

use std::ffi::CStr;

use vulkanalia::loader::{LibloadingLoader, Loader};
use vulkanalia::prelude::v1_3::*;

use crate::fixture;

cases! {
    /// There is one device, with one family of queues and one type of memory.
    fn a_device_is_found(gpu) {
        let properties = gpu.instance.get_physical_device_properties(gpu.physical);
        assert!(properties.device_name.to_string_lossy().starts_with("Phalanx"));
        assert_eq!(properties.device_type, vk::PhysicalDeviceType::CPU);
        assert!(properties.api_version >= vk::make_version(1, 3, 0));
        assert!(properties.limits.max_push_constants_size >= 256);

        let families = gpu.instance.get_physical_device_queue_family_properties(gpu.physical);
        let [family] = families.as_slice() else { panic!("{} families", families.len()) };
        assert_eq!(family.queue_flags, vk::QueueFlags::COMPUTE | vk::QueueFlags::TRANSFER);
        assert!(family.queue_count >= 2 && family.timestamp_valid_bits == 64);

        let memory = gpu.instance.get_physical_device_memory_properties(gpu.physical);
        assert_eq!((memory.memory_type_count, memory.memory_heap_count), (1, 1));
        let all = vk::MemoryPropertyFlags::DEVICE_LOCAL
            | vk::MemoryPropertyFlags::HOST_VISIBLE
            | vk::MemoryPropertyFlags::HOST_COHERENT
            | vk::MemoryPropertyFlags::HOST_CACHED;
        assert_eq!(memory.memory_types[0].property_flags, all);
        assert!(memory.memory_heaps[0].size >= 1 << 30);
    }

    /// What stands in the structure of a version stands in that of the extension, too.
    fn chains_are_filled(gpu) {
        let mut vulkan11 = vk::PhysicalDeviceVulkan11Properties::default();
        let mut vulkan13 = vk::PhysicalDeviceVulkan13Properties::default();
        let mut subgroups = vk::PhysicalDeviceSubgroupProperties::default();
        let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::builder()
            .push_next(&mut vulkan11)
            .push_next(&mut vulkan13)
            .push_next(&mut subgroups)
            .push_next(&mut sizes)
            .push_next(&mut driver)
            .build();
        gpu.instance.get_physical_device_properties2(gpu.physical, &mut properties);
        assert_eq!(driver.driver_name.to_string_lossy(), "Phalanx");
        assert!(subgroups.subgroup_size > 0);
        assert_eq!(vulkan11.subgroup_size, subgroups.subgroup_size);
        assert_eq!(vulkan13.min_subgroup_size, sizes.min_subgroup_size);
        assert!(subgroups.supported_operations.contains(vk::SubgroupFeatureFlags::ARITHMETIC));
        assert!(subgroups.supported_stages.contains(vk::ShaderStageFlags::COMPUTE));
    }

    /// A device takes every extension that is listed, together with the features that cases use.
    fn all_extensions_can_be_enabled(gpu) {
        let listed = gpu.instance.enumerate_device_extension_properties(gpu.physical, None).expect("a list");
        let names: Vec<&CStr> = listed.iter().map(|one| one.extension_name.as_cstr()).collect();
        assert!(names.contains(&c"VK_KHR_cooperative_matrix"));
        let device = fixture::create_device(&gpu.instance, gpu.physical, &names).expect("a device");
        device.destroy_device(None);
    }

    /// The shapes that applications look for are among the cooperative matrices.
    fn matrices_are_listed(gpu) {
        let command = gpu.instance.commands().get_physical_device_cooperative_matrix_properties_khr;
        let rows: Vec<vk::CooperativeMatrixPropertiesKHR> =
            fixture::list(|count, rows| command(gpu.physical, count, rows));
        let has = |ty, [m, n, k]: [u32; 3]| {
            rows.iter().any(|row| {
                (row.a_type, row.b_type) == (ty, ty)
                    && [row.m_size, row.n_size, row.k_size] == [m, n, k]
                    && row.scope == vk::ScopeKHR::SUBGROUP
            })
        };
        assert!(has(vk::ComponentTypeKHR::FLOAT16, [16, 16, 16]));
        assert!(has(vk::ComponentTypeKHR::FLOAT16, [16, 8, 16]));
        assert!(has(vk::ComponentTypeKHR::SINT8, [16, 16, 32]));
    }

    /// Several instances and devices exist side by side.
    fn devices_are_independent(gpu) {
        let second = fixture::create_device(&gpu.instance, gpu.physical, &[]).expect("a second device");
        let (first, other) = (gpu.queues[0], second.get_device_queue(0, 0));
        assert!(!other.is_null() && first != other);
        second.queue_wait_idle(other).expect("an idle queue");
        second.destroy_device(None);
        gpu.execute(|_nothing| ());
    }
}

/// The driver and a loader agree on a version of their interface.
#[test]
fn interface_versions_are_negotiated() {
    type Negotiate = unsafe extern "system" fn(*mut u32) -> vk::Result;
    // SAFETY: the driver has no initialisers of its own.
    let driver = unsafe { LibloadingLoader::new(fixture::library()) }.expect("the driver loads");
    // SAFETY: the function is called as what it is.
    let function = unsafe { driver.load(b"vk_icdNegotiateLoaderICDInterfaceVersion") }.expect("an export");
    // SAFETY: its type, by the interface between loader and driver.
    let negotiate = unsafe { std::mem::transmute::<extern "system" fn(), Negotiate>(function) };
    let agree = |mut version: u32| {
        // SAFETY: a place for a number.
        let result = unsafe { negotiate(&raw mut version) };
        (result, version)
    };
    assert_eq!(agree(5), (vk::Result::SUCCESS, 5));
    assert_eq!(agree(99).0, vk::Result::SUCCESS);
    assert!((5..99).contains(&agree(99).1));
    assert_eq!(agree(1).0, vk::Result::ERROR_INCOMPATIBLE_DRIVER);
}
