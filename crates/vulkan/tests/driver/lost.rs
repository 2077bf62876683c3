//! Shaders that do not end, or go where nothing is: the device is lost, and the process goes on with another.

use std::time::{Duration, Instant};

use vulkanalia::prelude::v1_3::*;

use crate::fixture::{self, Gpu, TIMEOUT_SECONDS};
use crate::kernel::{Kernel, none};
use crate::matrix::UNKNOWN_SPIRV;

const LOST: VkResult<vk::SuccessCode> = Err(vk::ErrorCode::DEVICE_LOST);

/// Shaders that access what lies at the address in their push constants.
const ACCESSES: [&str; 6] = [
    "y[0] = at.x[gl_LocalInvocationIndex];",
    "at.x[gl_LocalInvocationIndex % 3] = 1;",
    "atomicAdd(at.x[0], 1);",
    "s = 1; barrier(); if (gl_LocalInvocationIndex == 200) { at.x[0] = s; } barrier(); y[0] = s;",
    "coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseA> m;
     coopMatLoad(m, at.x, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
     coopMatStore(m, y, 0, 8, gl_CooperativeMatrixLayoutRowMajor);",
    "coopMatStore(coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseA>(1.0), at.x, 0, 8,
                  gl_CooperativeMatrixLayoutColumnMajor);",
];

unsafe fn visitor(gpu: &Gpu, access: &str, layout: vk::DescriptorSetLayout) -> Kernel {
    let source = format!(
        "#extension GL_EXT_buffer_reference : require
         #extension GL_KHR_cooperative_matrix : require
         #extension GL_KHR_memory_scope_semantics : require
         layout(local_size_x = 256) in;
         layout(buffer_reference, std430) buffer Ref {{ uint x[]; }};
         layout(set = 0, binding = 0) buffer Data {{ uint y[]; }};
         layout(push_constant) uniform Push {{ Ref at; }};
         shared uint s;
         void main() {{ {access} }}"
    );
    gpu.kernel(&source, &[layout])
}

/// Submits a shader with an address; says how waiting for it ends.
unsafe fn visit(gpu: &Gpu, access: &str, address: u64) -> VkResult<vk::SuccessCode> {
    // Layers that are older than matrices do not know them.
    UNKNOWN_SPIRV.into_iter().for_each(|text| gpu.allow(text));
    let layout = gpu.storage_layout(1);
    let (kernel, data) = (visitor(gpu, access, layout), gpu.buffer(4096));
    let set = gpu.set_of(layout, &[&data]);
    gpu.allow(" in use");
    let commands = gpu.primary(|commands| {
        gpu.bind(commands, &kernel, &[set]);
        let stages = vk::ShaderStageFlags::COMPUTE;
        gpu.device.cmd_push_constants(commands, kernel.layout, stages, 0, &address.to_ne_bytes());
        gpu.device.cmd_dispatch(commands, 50, 1, 1);
    });
    let fence = gpu.fence();
    gpu.submit(commands, fence);
    gpu.device.wait_for_fences(&[fence], true, u64::MAX)
}

/// Another device takes work and ends it.
unsafe fn next_device_works(gpu: &Gpu) {
    let next = fixture::create_device(&gpu.instance, gpu.physical, &[]).expect("another device");
    let queue = next.get_device_queue(0, 0);
    next.queue_submit(queue, none::<vk::SubmitInfo>(), vk::Fence::null()).expect("it works");
    next.queue_wait_idle(queue).expect("it works");
    next.destroy_device(None);
}

/// Runs one access on a device of its own for each address; other devices work meanwhile and afterwards.
fn every_address(access: &str) {
    for route in [fixture::Route::Direct, fixture::Route::Loader] {
        for address in [0_u64, 64, 0xdead_0000, 0x7ead_0000_0000_0000] {
            fixture::run_with(route, |gpu| {
                // SAFETY: but for the address, cases keep to the rules of Vulkan.
                unsafe {
                    assert_eq!(visit(gpu, access, address), LOST);
                    let said = gpu.said();
                    assert!(said.contains("the device is lost: the kernel `main` "), "{said}");
                    let is_told = said.contains(" bytes before the buffer of ");
                    assert!(is_told || address > u64::MAX / 4, "{said}");
                    assert_eq!(gpu.device.queue_wait_idle(gpu.queues[0]), Err(vk::ErrorCode::DEVICE_LOST));
                    next_device_works(gpu);
                }
            });
        }
        // The same shader on a new device, with an address that leads somewhere.
        fixture::run_with(route, |gpu| {
            // SAFETY: as above.
            unsafe {
                let home = gpu.buffer(4096);
                let address = gpu.address(&home);
                assert_eq!(visit(gpu, access, address), Ok(vk::SuccessCode::SUCCESS));
            }
        });
    }
}

#[test]
fn a_wild_read_loses_the_device() {
    every_address(ACCESSES[0]);
}

#[test]
fn a_wild_write_loses_the_device() {
    every_address(ACCESSES[1]);
}

#[test]
fn a_wild_atomic_operation_loses_the_device() {
    every_address(ACCESSES[2]);
}

#[test]
fn a_wild_write_between_barriers_loses_the_device() {
    every_address(ACCESSES[3]);
}

#[test]
fn a_wild_load_of_a_matrix_loses_the_device() {
    every_address(ACCESSES[4]);
}

#[test]
fn a_wild_store_of_a_matrix_loses_the_device() {
    every_address(ACCESSES[5]);
}

cases! {
    /// The device is lost within the time that the user allows; the process goes on with another.
    fn an_endless_shader_loses_the_device(gpu) {
        let source = "
            layout(local_size_x = 1) in;
            layout(set = 0, binding = 0) buffer Data { uint x[]; };
            void main() { while (x[0] == 0) { atomicAdd(x[1], 1); } }";
        let layout = gpu.storage_layout(1);
        let (kernel, data) = (gpu.kernel(source, &[layout]), gpu.buffer_of(&[0_u32; 2]));
        let set = gpu.set_of(layout, &[&data]);
        // The layer takes what was submitted for pending until somebody waits for it with success.
        gpu.allow(" in use");
        let commands = gpu.primary(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        let fence = gpu.fence();
        let start = Instant::now();
        gpu.submit(commands, fence);
        assert_eq!(gpu.device.wait_for_fences(&[fence], true, u64::MAX), LOST);
        let elapsed = start.elapsed();
        assert!(elapsed >= Duration::from_secs(TIMEOUT_SECONDS), "{elapsed:?}");
        assert!(gpu.said().contains("the device is lost"), "{}", gpu.said());
        assert_eq!(gpu.device.queue_wait_idle(gpu.queues[0]), Err(vk::ErrorCode::DEVICE_LOST));
        let submitted = gpu.device.queue_submit(gpu.queues[0], none::<vk::SubmitInfo>(), vk::Fence::null());
        assert_eq!(submitted, Err(vk::ErrorCode::DEVICE_LOST));
        next_device_works(gpu);
    }

    /// Work-groups beyond the limit that stand in memory are left out, and told of.
    fn too_many_work_groups_in_memory_are_left_out(gpu) {
        let source = "
            layout(local_size_x = 1024) in;
            layout(set = 0, binding = 0) buffer Data { uint x[]; };
            void main() { atomicAdd(x[0], 1); }";
        let layout = gpu.storage_layout(1);
        let (kernel, data) = (gpu.kernel(source, &[layout]), gpu.buffer_of(&[0_u32; 1]));
        let set = gpu.set_of(layout, &[&data]);
        let most = gpu.instance.get_physical_device_properties(gpu.physical).limits.max_compute_work_group_count[0];
        for (groups, expected) in [([most + 1, 1, 1], 0), ([u32::MAX; 3], 0), ([2, 1, 1], 2048)] {
            let counts = gpu.buffer_of(&groups);
            gpu.execute(|commands| {
                gpu.bind(commands, &kernel, &[set]);
                gpu.device.cmd_dispatch_indirect(commands, counts.buffer, 0);
            });
            assert_eq!(data.read::<u32>(1), [expected], "{groups:?}");
        }
        assert_eq!(gpu.said().matches("the dispatch is left out: ").count(), 2, "{}", gpu.said());
    }

    /// What no memory can hold is refused, and the device works on.
    fn what_memory_cannot_hold_is_refused(gpu) {
        gpu.allow("maxBufferSize");
        gpu.allow("-size-06409");
        for size in [u64::MAX, u64::MAX - 63, 1 << 60] {
            let info =
                vk::BufferCreateInfo { size, usage: vk::BufferUsageFlags::STORAGE_BUFFER, ..Default::default() };
            let created = gpu.device.create_buffer(&info, None);
            assert_eq!(created, Err(vk::ErrorCode::OUT_OF_DEVICE_MEMORY), "{size}");
        }
        next_device_works(gpu);
    }
}
