//! Pipelines and caches as an application makes them.

use std::ptr;

use super::cache::{
    create_pipeline_cache, destroy_pipeline_cache, get_pipeline_cache_data, merge_pipeline_caches,
};
use super::compute::create_compute_pipelines;
use super::executables::{
    get_pipeline_executable_internal_representations, get_pipeline_executable_properties,
    get_pipeline_executable_statistics,
};
use super::*;
use crate::core::instance::Instance;

/// Calls an entry point.
macro_rules! call {
    ($function:path, $($arg:expr),* $(,)?) => {
        // SAFETY: the arguments are valid, or what the entry point has to refuse.
        unsafe { $function($($arg),*) }
    };
}

mod hostile;

const SOURCE: &str = "#version 450
    layout(local_size_x_id = 3) in;
    layout(set = 0, binding = 0) buffer Data { uint x[]; };
    void main() { x[gl_GlobalInvocationID.x] += 1; }";

struct Fixture {
    core: Arc<Device>,
    device: vk::Device,
    layout: vk::PipelineLayout,
}

impl Fixture {
    fn new() -> Self {
        let options = phalanx::DeviceOptions { threads: Some(1), ..Default::default() };
        let phalanx = Arc::new(phalanx::Device::new(&options).unwrap());
        let core = Arc::new(Device::new(Instance::new().unwrap().physical, phalanx));
        let device = dispatchable::create(Arc::clone(&core));
        let mut layout = vk::PipelineLayout::null();
        let info = vk::PipelineLayoutCreateInfo::default();
        let result = call!(create_pipeline_layout, device, &info, ptr::null(), &mut layout);
        assert_eq!(result, vk::Result::SUCCESS);
        Self { core, device, layout }
    }

    fn module(&self, words: &[u32]) -> vk::ShaderModule {
        let info = vk::ShaderModuleCreateInfo {
            code_size: size_of_val(words),
            code: words.as_ptr(),
            ..Default::default()
        };
        let mut module = vk::ShaderModule::null();
        let result = call!(create_shader_module, self.device, &info, ptr::null(), &mut module);
        assert_eq!(result, vk::Result::SUCCESS);
        module
    }

    fn info(
        &self,
        module: vk::ShaderModule,
        flags: vk::PipelineCreateFlags,
    ) -> vk::ComputePipelineCreateInfo {
        let stage = vk::PipelineShaderStageCreateInfo {
            stage: vk::ShaderStageFlags::COMPUTE,
            module,
            name: c"main".as_ptr(),
            ..Default::default()
        };
        vk::ComputePipelineCreateInfo { flags, stage, layout: self.layout, ..Default::default() }
    }

    fn create<const N: usize>(
        &self,
        cache: vk::PipelineCache,
        infos: [vk::ComputePipelineCreateInfo; N],
    ) -> (vk::Result, [vk::Pipeline; N]) {
        let mut pipelines = [vk::Pipeline::from_raw(99); N];
        let result = call!(
            create_compute_pipelines,
            self.device,
            cache,
            N as u32,
            infos.as_ptr(),
            ptr::null(),
            pipelines.as_mut_ptr()
        );
        (result, pipelines)
    }

    fn cache(&self, data: &[u8]) -> vk::PipelineCache {
        let info = vk::PipelineCacheCreateInfo {
            initial_data_size: data.len(),
            initial_data: data.as_ptr().cast(),
            ..Default::default()
        };
        let mut cache = vk::PipelineCache::null();
        let result = call!(create_pipeline_cache, self.device, &info, ptr::null(), &mut cache);
        assert_eq!(result, vk::Result::SUCCESS);
        cache
    }

    fn data(&self, cache: vk::PipelineCache) -> Vec<u8> {
        let mut size = 0;
        let all = call!(get_pipeline_cache_data, self.device, cache, &mut size, ptr::null_mut());
        assert_eq!(all, vk::Result::SUCCESS);
        let mut data = vec![0; size];
        let all = call!(get_pipeline_cache_data, self.device, cache, &mut size, data.as_mut_ptr().cast());
        assert_eq!((all, size), (vk::Result::SUCCESS, data.len()));
        data
    }
}

fn words() -> Vec<u32> {
    phalanx::glsl::compile(SOURCE, &phalanx::glsl::GlslOptions::default()).unwrap()
}

#[test]
fn those_that_fail_are_null_and_the_others_are_not() {
    use vk::PipelineCreateFlags as Flags;
    let fixture = Fixture::new();
    let (good, bad) = (fixture.module(&words()), fixture.module(&[1, 2, 3]));
    let (none, early) = (Flags::empty(), Flags::EARLY_RETURN_ON_FAILURE);
    let infos = |flags| [fixture.info(good, none), fixture.info(bad, flags), fixture.info(good, none)];
    for (flags, last) in [(none, false), (early, true)] {
        let (result, pipelines) = fixture.create(vk::PipelineCache::null(), infos(flags));
        assert_eq!(result, vk::Result::ERROR_UNKNOWN);
        assert_eq!(pipelines.map(|pipeline| pipeline.is_null()), [false, true, last]);
    }
    let empty = vk::ShaderModuleCreateInfo::default();
    let mut module = vk::ShaderModule::from_raw(4);
    let result = call!(create_shader_module, fixture.device, &empty, ptr::null(), &mut module);
    assert_eq!((result, module.is_null()), (vk::Result::ERROR_UNKNOWN, true));
}

#[test]
fn caches_make_compilation_unnecessary() {
    use vk::PipelineCreateFlags as Flags;
    let words = words();
    let first = Fixture::new();
    let cache = first.cache(&[]);
    let fail = Flags::FAIL_ON_PIPELINE_COMPILE_REQUIRED;
    let (result, [pipeline]) = first.create(cache, [first.info(first.module(&words), fail)]);
    assert_eq!((result, pipeline.is_null()), (vk::Result::PIPELINE_COMPILE_REQUIRED, true));
    let (result, _) = first.create(cache, [first.info(first.module(&words), Flags::empty())]);
    assert_eq!(result, vk::Result::SUCCESS);
    let merged = first.cache(&[]);
    assert_eq!(call!(merge_pipeline_caches, first.device, merged, 1, &cache), vk::Result::SUCCESS);
    let data = first.data(merged);

    let second = Fixture::new();
    let cache = second.cache(&data);
    let mut said = vk::PipelineCreationFeedback::default();
    let feedback = vk::PipelineCreationFeedbackCreateInfo {
        pipeline_creation_feedback: &mut said,
        ..Default::default()
    };
    // The module comes in the chain of the stage.
    let module =
        vk::ShaderModuleCreateInfo { code_size: 4 * words.len(), code: words.as_ptr(), ..Default::default() };
    let mut info = second.info(vk::ShaderModule::null(), fail);
    info.next = (&raw const feedback).cast();
    info.stage.next = (&raw const module).cast();
    let (result, [pipeline]) = second.create(cache, [info]);
    assert_eq!((result, pipeline.is_null()), (vk::Result::SUCCESS, false));
    let hit = vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT;
    assert_eq!(said.flags, hit | vk::PipelineCreationFeedbackFlags::VALID);
    assert!(said.duration > 0);

    let mut size = 40;
    let mut few = [0_u8; 40];
    let result = call!(get_pipeline_cache_data, second.device, cache, &mut size, few.as_mut_ptr().cast());
    assert_eq!((result, size), (vk::Result::INCOMPLETE, 32));
    assert_eq!(few[..32], data[..32]);
}

#[test]
fn specialisation_and_subgroup_size_reach_the_pipeline() {
    let fixture = Fixture::new();
    let entry = vk::SpecializationMapEntry { constant_id: 3, offset: 4, size: 4 };
    let data = [0_u32, 24];
    let constants = vk::SpecializationInfo {
        map_entry_count: 1,
        map_entries: &raw const entry,
        data_size: 8,
        data: data.as_ptr().cast(),
    };
    let size = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo {
        required_subgroup_size: 8,
        ..Default::default()
    };
    let mut info = fixture.info(fixture.module(&words()), vk::PipelineCreateFlags::empty());
    info.stage.specialization_info = &raw const constants;
    info.stage.next = (&raw const size).cast();
    let (result, [pipeline]) = fixture.create(vk::PipelineCache::null(), [info]);
    assert_eq!(result, vk::Result::SUCCESS);
    let pipeline = fixture.core.pipelines.get(pipeline.as_raw()).unwrap();
    assert_eq!(pipeline.pipeline.workgroup_size(), [24, 1, 1]);
    assert_eq!(pipeline.pipeline.subgroup_size(), 8);
}

#[test]
fn executables_are_described() {
    let fixture = Fixture::new();
    let captures = vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR;
    let info = fixture.info(fixture.module(&words()), captures);
    let (result, [pipeline]) = fixture.create(vk::PipelineCache::null(), [info]);
    assert_eq!(result, vk::Result::SUCCESS);

    let info = vk::PipelineInfoKHR { pipeline, ..Default::default() };
    let mut properties = [vk::PipelineExecutablePropertiesKHR::default(); 2];
    let mut count = 2;
    let result =
        call!(get_pipeline_executable_properties, fixture.device, &info, &mut count, properties.as_mut_ptr());
    assert_eq!((result, count), (vk::Result::SUCCESS, 1));
    assert_eq!((properties[0].name.to_string().as_str(), properties[0].subgroup_size), ("main", 32));

    let info = vk::PipelineExecutableInfoKHR { pipeline, ..Default::default() };
    let mut statistics = [vk::PipelineExecutableStatisticKHR::default(); 20];
    let mut count = 20;
    let result =
        call!(get_pipeline_executable_statistics, fixture.device, &info, &mut count, statistics.as_mut_ptr());
    assert!(result == vk::Result::SUCCESS && count > 5);
    // SAFETY: its format says that it is this kind of number.
    let size = unsafe { statistics[0].value.u64 };
    assert_eq!(statistics[0].format, vk::PipelineExecutableStatisticFormatKHR::UINT64);
    assert!(size > 100, "{size} bytes of code");

    let mut forms = [vk::PipelineExecutableInternalRepresentationKHR::default(); 4];
    let mut count = 4;
    let get = |count: &mut u32, forms: &mut [vk::PipelineExecutableInternalRepresentationKHR]| {
        let forms = forms.as_mut_ptr();
        call!(get_pipeline_executable_internal_representations, fixture.device, &info, count, forms)
    };
    assert_eq!((get(&mut count, &mut forms), count), (vk::Result::SUCCESS, 4));
    let mut text = vec![b'x'; forms[1].data_size];
    forms[1].data = text.as_mut_ptr().cast();
    forms[2].data_size = 10;
    let mut part = [b'x'; 10];
    forms[2].data = part.as_mut_ptr().cast();
    assert_eq!(get(&mut count, &mut forms), vk::Result::INCOMPLETE);
    assert!(text.ends_with(b"\0") && String::from_utf8_lossy(&text).contains("define"));
    assert_eq!(part.iter().position(|&byte| byte == 0), Some(9));
}
