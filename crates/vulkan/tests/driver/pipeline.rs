//! Pipeline caches and what is inside of pipelines.

use vulkanalia::prelude::v1_3::*;

use crate::fixture::{Gpu, list};
use crate::kernel::Options;

const SOURCE: &str = "
    layout(local_size_x = 32) in;
    layout(constant_id = 0) const uint STEP = 1;
    layout(set = 0, binding = 0) buffer Data { uint x[]; };
    void main() { x[gl_GlobalInvocationID.x] += STEP; }";

unsafe fn cache(gpu: &Gpu, data: &[u8]) -> vk::PipelineCache {
    let info = vk::PipelineCacheCreateInfo::builder().initial_data(data);
    let cache = gpu.device.create_pipeline_cache(&info, None).expect("a pipeline cache");
    gpu.later(move |device| device.destroy_pipeline_cache(cache, None));
    cache
}

fn is_hit(feedback: vk::PipelineCreationFeedback) -> bool {
    assert!(feedback.flags.contains(vk::PipelineCreationFeedbackFlags::VALID));
    feedback.flags.contains(vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT)
}

cases! {
    /// What a cache holds can be stored, and is found again by a cache made of it.
    fn caches_round_trip(gpu) {
        let layout = gpu.storage_layout(1);
        let options = |cache, constants| Options { cache, constants, ..Default::default() };
        let first = cache(gpu, &[]);
        assert!(!is_hit(gpu.kernel_with(SOURCE, &[layout], options(first, &[1001])).feedback));
        let data = gpu.device.get_pipeline_cache_data(first).expect("data");
        let properties = gpu.instance.get_physical_device_properties(gpu.physical);
        // *Pipeline Cache Header*: 32 bytes, version one.
        assert_eq!((&data[..4], &data[4..8]), ([32, 0, 0, 0].as_slice(), [1, 0, 0, 0].as_slice()));
        assert_eq!(&data[16..32], properties.pipeline_cache_uuid.as_slice());

        let second = cache(gpu, &data);
        let found = gpu.kernel_with(SOURCE, &[layout], options(second, &[1001]));
        assert!(is_hit(found.feedback));
        assert!(!is_hit(gpu.kernel_with(SOURCE, &[layout], options(second, &[1002])).feedback));
        let third = cache(gpu, &[]);
        gpu.device.merge_pipeline_caches(third, &[second]).expect("merged");
        assert!(is_hit(gpu.kernel_with(SOURCE, &[layout], options(third, &[1002])).feedback));

        let numbers = gpu.buffer_of(&[1_u32; 32]);
        let set = gpu.set_of(layout, &[&numbers]);
        gpu.execute(|commands| {
            gpu.bind(commands, &found, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        assert_eq!(numbers.read::<u32>(32), [1002; 32]);
    }

    /// Data that are broken or of another driver are no data.
    fn broken_cache_data_are_ignored(gpu) {
        // The layer may know that they are broken.
        gpu.allow("VkPipelineCacheCreateInfo");
        let layout = gpu.storage_layout(1);
        let first = cache(gpu, &[]);
        let options = |cache| Options { cache, constants: &[2001], ..Default::default() };
        gpu.kernel_with(SOURCE, &[layout], options(first));
        let data = gpu.device.get_pipeline_cache_data(first).expect("data");
        for at in [0, 4, 16, 33, data.len() / 2, data.len() - 1] {
            let mut data = data.clone();
            data[at] ^= 0x55;
            gpu.kernel_with(SOURCE, &[layout], options(cache(gpu, &data)));
        }
        for len in [1, 31, 32, 40, data.len() - 1] {
            gpu.kernel_with(SOURCE, &[layout], options(cache(gpu, &data[..len])));
        }
    }

    fn compilation_can_be_refused(gpu) {
        let layout = gpu.storage_layout(1);
        let options = Options {
            constants: &[3001],
            flags: vk::PipelineCreateFlags::FAIL_ON_PIPELINE_COMPILE_REQUIRED,
            ..Default::default()
        };
        let created = gpu.try_kernel(&crate::kernel::compile(SOURCE), &[layout], options);
        let required = vk::ErrorCode::from_raw(vk::Result::PIPELINE_COMPILE_REQUIRED.as_raw());
        assert_eq!(created.err(), Some(required));
    }

    fn executables_are_described(gpu) {
        let flags = vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
            | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR;
        let layout = gpu.storage_layout(1);
        let kernel = gpu.kernel_with(SOURCE, &[layout], Options { flags, ..Default::default() });
        let info = vk::PipelineInfoKHR { pipeline: kernel.pipeline, ..Default::default() };
        let (device, commands) = (gpu.device.handle(), gpu.device.commands());
        let executables: Vec<vk::PipelineExecutablePropertiesKHR> =
            list(|count, at| (commands.get_pipeline_executable_properties_khr)(device, &raw const info, count, at));
        let [executable] = executables.as_slice() else { panic!("{} executables", executables.len()) };
        assert_eq!(executable.stages, vk::ShaderStageFlags::COMPUTE);
        assert!(executable.subgroup_size > 0);
        let info = vk::PipelineExecutableInfoKHR { pipeline: kernel.pipeline, ..Default::default() };
        let info = &raw const info;
        let statistics: Vec<vk::PipelineExecutableStatisticKHR> =
            list(|count, at| (commands.get_pipeline_executable_statistics_khr)(device, info, count, at));
        assert!(!statistics.is_empty());
        assert!(statistics.iter().all(|one| !one.name.as_cstr().is_empty()));
        let texts: Vec<vk::PipelineExecutableInternalRepresentationKHR> = list(|count, at| {
            (commands.get_pipeline_executable_internal_representations_khr)(device, info, count, at)
        });
        assert!(texts.iter().any(|text| text.is_text == vk::TRUE && text.data_size > 0));
    }
}
