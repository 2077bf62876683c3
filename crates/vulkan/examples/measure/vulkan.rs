//! As much of Vulkan as the measurements need, straight from the driver.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use vulkanalia::loader::{LibloadingLoader, Loader, LoaderError};
use vulkanalia::prelude::v1_3::*;

/// Push constants of every layout, in bytes.
const PUSH_BYTES: u32 = 64;

/// The driver without the loader.
struct Driver(LibloadingLoader);

impl Loader for Driver {
    unsafe fn load(&self, _name: &[u8]) -> Result<extern "system" fn(), Box<dyn LoaderError>> {
        // A driver exports this in place of `vkGetInstanceProcAddr`, which is all that the client library asks for.
        self.0.load(b"vk_icdGetInstanceProcAddr")
    }
}

/// The driver that was built with this program: two directories up, or one.
pub(crate) fn library() -> Result<PathBuf> {
    let executable = std::env::current_exe()?;
    let mut directories = executable.ancestors().skip(1).take(2);
    let found = directories
        .find_map(|directory| Some(directory.join("libvulkan_phalanx.so")).filter(|path| path.is_file()));
    found.context("libvulkan_phalanx.so is not beside this program; build it with `cargo build --release -p phalanx-vulkan`")
}

/// The driver's entry point.
pub(crate) unsafe fn load(library: &Path) -> Result<Entry> {
    let driver = Driver(LibloadingLoader::new(library)?);
    Entry::new(driver).map_err(|error| anyhow::anyhow!("{error}"))
}

/// An instance with a device, and what is measured with them.
pub(crate) struct Vulkan {
    pub(crate) instance: Instance,
    pub(crate) device: Device,
    pub(crate) queue: vk::Queue,
    pub(crate) pool: vk::CommandPool,
    fence: vk::Fence,
}

/// A buffer with its memory, mapped.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    pub(crate) buffer: vk::Buffer,
    at: *mut c_void,
}

/// A pipeline with its layouts.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) set_layout: vk::DescriptorSetLayout,
    pub(crate) layout: vk::PipelineLayout,
    pub(crate) pipeline: vk::Pipeline,
    pub(crate) creation: Creation,
}

/// How a pipeline was created.
#[derive(Clone, Copy)]
pub(crate) struct Creation {
    /// Whether the application's cache had it.
    pub(crate) is_hit: bool,
    /// Time in `vkCreateComputePipelines`.
    pub(crate) elapsed: Duration,
}

pub(crate) unsafe fn instance(entry: &Entry) -> Result<Instance> {
    let application = vk::ApplicationInfo { api_version: vk::make_version(1, 3, 0), ..Default::default() };
    let info = vk::InstanceCreateInfo::builder().application_info(&application);
    Ok(entry.create_instance(&info, None)?)
}

/// A device with the features that cooperative matrices need.
pub(crate) unsafe fn device(instance: &Instance) -> Result<Device> {
    let physical = *instance.enumerate_physical_devices()?.first().context("no device")?;
    let queues = [vk::DeviceQueueCreateInfo::builder().queue_family_index(0).queue_priorities(&[1.0])];
    let mut vulkan11 =
        vk::PhysicalDeviceVulkan11Features { storage_buffer_16bit_access: vk::TRUE, ..Default::default() };
    let mut vulkan12 = vk::PhysicalDeviceVulkan12Features {
        shader_float16: vk::TRUE,
        vulkan_memory_model: vk::TRUE,
        ..Default::default()
    };
    let mut matrices =
        vk::PhysicalDeviceCooperativeMatrixFeaturesKHR { cooperative_matrix: vk::TRUE, ..Default::default() };
    let extensions = [c"VK_KHR_cooperative_matrix".as_ptr()];
    let info = vk::DeviceCreateInfo::builder()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .push_next(&mut vulkan11)
        .push_next(&mut vulkan12)
        .push_next(&mut matrices);
    Ok(instance.create_device(physical, &info, None)?)
}

impl Vulkan {
    pub(crate) unsafe fn new(instance: Instance) -> Result<Self> {
        let device = device(&instance)?;
        let queue = device.get_device_queue(0, 0);
        let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None)?;
        let fence = device.create_fence(&vk::FenceCreateInfo::default(), None)?;
        Ok(Self { instance, device, queue, pool, fence })
    }

    /// Ends device and instance; what the measurements created ends with them.
    pub(crate) unsafe fn end(self) {
        self.device.destroy_device(None);
        self.instance.destroy_instance(None);
    }

    pub(crate) unsafe fn buffer(&self, bytes: &[u8]) -> Result<Buffer> {
        let size = bytes.len() as u64;
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER;
        let info = vk::BufferCreateInfo { size, usage, ..Default::default() };
        let buffer = self.device.create_buffer(&info, None)?;
        let needs = self.device.get_buffer_memory_requirements(buffer);
        let info = vk::MemoryAllocateInfo { allocation_size: needs.size, ..Default::default() };
        let memory = self.device.allocate_memory(&info, None)?;
        self.device.bind_buffer_memory(buffer, memory, 0)?;
        let at = self.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())?;
        at.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        Ok(Buffer { buffer, at })
    }

    /// The first bytes of a buffer.
    pub(crate) unsafe fn read(&self, buffer: &Buffer, len: usize) -> Vec<u8> {
        std::slice::from_raw_parts(buffer.at.cast::<u8>(), len).to_vec()
    }

    /// A pipeline of a kernel with so many storage buffers in set 0.
    pub(crate) unsafe fn kernel(
        &self,
        words: &[u32],
        constants: &[(u32, u32)],
        buffers: u32,
        cache: vk::PipelineCache,
    ) -> Result<Kernel> {
        let stage_flags = vk::ShaderStageFlags::COMPUTE;
        let bindings: Vec<_> = (0..buffers)
            .map(|binding| vk::DescriptorSetLayoutBinding {
                binding,
                descriptor_type: vk::DescriptorType::STORAGE_BUFFER,
                descriptor_count: 1,
                stage_flags,
                ..Default::default()
            })
            .collect();
        let info = vk::DescriptorSetLayoutCreateInfo::builder().bindings(&bindings);
        let set_layout = self.device.create_descriptor_set_layout(&info, None)?;
        let (layouts, push) =
            ([set_layout], [vk::PushConstantRange { stage_flags, offset: 0, size: PUSH_BYTES }]);
        let info = vk::PipelineLayoutCreateInfo::builder().set_layouts(&layouts).push_constant_ranges(&push);
        let layout = self.device.create_pipeline_layout(&info, None)?;
        let info = vk::ShaderModuleCreateInfo {
            code_size: size_of_val(words),
            code: words.as_ptr(),
            ..Default::default()
        };
        let module = self.device.create_shader_module(&info, None)?;
        let entries: Vec<_> = (0..)
            .zip(constants)
            .map(|(i, &(id, _))| vk::SpecializationMapEntry { constant_id: id, offset: 4 * i, size: 4 })
            .collect();
        let data: Vec<u8> = constants.iter().flat_map(|(_, value)| value.to_le_bytes()).collect();
        let constants = vk::SpecializationInfo::builder().map_entries(&entries).data(&data);
        let stage = vk::PipelineShaderStageCreateInfo::builder()
            .stage(stage_flags)
            .module(module)
            .name(b"main\0")
            .specialization_info(&constants);
        let mut feedback = vk::PipelineCreationFeedback::default();
        let mut asked = vk::PipelineCreationFeedbackCreateInfo {
            pipeline_creation_feedback: &raw mut feedback,
            ..Default::default()
        };
        let info = vk::ComputePipelineCreateInfo::builder()
            .stage(stage.build())
            .layout(layout)
            .push_next(&mut asked);
        let start = Instant::now();
        let (pipelines, _) = self.device.create_compute_pipelines(cache, &[info], None)?;
        let elapsed = start.elapsed();
        let hit = vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT;
        Ok(Kernel {
            set_layout,
            layout,
            pipeline: pipelines[0],
            creation: Creation { is_hit: feedback.flags.contains(hit), elapsed },
        })
    }

    /// A descriptor set with these buffers.
    pub(crate) unsafe fn set(&self, kernel: &Kernel, buffers: &[Buffer]) -> Result<vk::DescriptorSet> {
        let sizes = [vk::DescriptorPoolSize {
            type_: vk::DescriptorType::STORAGE_BUFFER,
            descriptor_count: buffers.len() as u32,
        }];
        let info = vk::DescriptorPoolCreateInfo::builder().max_sets(1).pool_sizes(&sizes);
        let pool = self.device.create_descriptor_pool(&info, None)?;
        let layouts = [kernel.set_layout];
        let info = vk::DescriptorSetAllocateInfo::builder().descriptor_pool(pool).set_layouts(&layouts);
        let set = self.device.allocate_descriptor_sets(&info)?[0];
        for (binding, buffer) in (0..).zip(buffers) {
            let info = [vk::DescriptorBufferInfo { buffer: buffer.buffer, offset: 0, range: vk::WHOLE_SIZE }];
            let write = vk::WriteDescriptorSet::builder()
                .dst_set(set)
                .dst_binding(binding)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .buffer_info(&info);
            const COPIES: [vk::CopyDescriptorSet; 0] = [];
            self.device.update_descriptor_sets(&[write], &COPIES);
        }
        Ok(set)
    }

    /// A command buffer of `count` dispatches.
    pub(crate) unsafe fn record(
        &self,
        kernel: &Kernel,
        sets: &[vk::DescriptorSet],
        push: &[u8],
        groups: [u32; 3],
        count: usize,
    ) -> Result<vk::CommandBuffer> {
        let info = vk::CommandBufferAllocateInfo {
            command_pool: self.pool,
            command_buffer_count: 1,
            ..Default::default()
        };
        let commands = self.device.allocate_command_buffers(&info)?[0];
        self.device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default())?;
        let point = vk::PipelineBindPoint::COMPUTE;
        self.device.cmd_bind_pipeline(commands, point, kernel.pipeline);
        if !sets.is_empty() {
            self.device.cmd_bind_descriptor_sets(commands, point, kernel.layout, 0, sets, &[]);
        }
        if !push.is_empty() {
            self.device.cmd_push_constants(commands, kernel.layout, vk::ShaderStageFlags::COMPUTE, 0, push);
        }
        for _ in 0..count {
            self.device.cmd_dispatch(commands, groups[0], groups[1], groups[2]);
        }
        self.device.end_command_buffer(commands)?;
        Ok(commands)
    }

    /// Executes a command buffer and waits for its fence, as applications do.
    pub(crate) unsafe fn execute(&self, commands: vk::CommandBuffer) -> Result<()> {
        let (buffers, fences) = ([commands], [self.fence]);
        let info = vk::SubmitInfo::builder().command_buffers(&buffers);
        self.device.queue_submit(self.queue, &[info], self.fence)?;
        let code = self.device.wait_for_fences(&fences, true, u64::MAX)?;
        ensure!(code == vk::SuccessCode::SUCCESS, "waiting for a fence gave {code}");
        self.device.reset_fences(&fences)?;
        Ok(())
    }
}
