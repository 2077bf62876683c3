//! Buffers, kernels, descriptor sets and command buffers for cases.

use std::ffi::c_void;

use phalanx::glsl::{self, GlslOptions};
use vulkanalia::prelude::v1_3::*;

use crate::fixture::Gpu;

pub(crate) const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;

/// No structures of a type.
pub(crate) const fn none<T>() -> &'static [T] {
    &[]
}

/// A buffer with memory of its own that is mapped.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    pub(crate) buffer: vk::Buffer,
    pub(crate) bytes: u64,
    at: *mut c_void,
}

/// A number without padding.
pub(crate) trait Plain: Copy + Default {}
impl Plain for u8 {}
impl Plain for u16 {}
impl Plain for u32 {}
impl Plain for f32 {}
impl Plain for u64 {}

impl Buffer {
    /// What it holds from the beginning.
    pub(crate) unsafe fn read<T: Plain>(&self, count: usize) -> Vec<T> {
        assert!((count * size_of::<T>()) as u64 <= self.bytes);
        let mut numbers = vec![T::default(); count];
        self.at.cast::<T>().copy_to_nonoverlapping(numbers.as_mut_ptr(), count);
        numbers
    }

    pub(crate) unsafe fn write<T: Plain>(&self, numbers: &[T]) {
        assert!(size_of_val(numbers) as u64 <= self.bytes);
        numbers.as_ptr().copy_to_nonoverlapping(self.at.cast(), numbers.len());
    }

    /// A part of it, for a descriptor.
    pub(crate) fn part(&self, offset: u64, range: u64) -> vk::DescriptorBufferInfo {
        vk::DescriptorBufferInfo { buffer: self.buffer, offset, range }
    }

    /// All of it, for a descriptor.
    pub(crate) fn all(&self) -> vk::DescriptorBufferInfo {
        self.part(0, vk::WHOLE_SIZE)
    }
}

/// What is special about a kernel.
#[derive(Clone, Copy, Default)]
pub(crate) struct Options<'a> {
    /// Specialisation constants 0, 1, ….
    pub(crate) constants: &'a [u32],
    pub(crate) subgroup_size: Option<u32>,
    pub(crate) cache: vk::PipelineCache,
    pub(crate) flags: vk::PipelineCreateFlags,
}

/// A pipeline with its layout.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) layout: vk::PipelineLayout,
    pub(crate) pipeline: vk::Pipeline,
    /// What the driver said about its creation.
    pub(crate) feedback: vk::PipelineCreationFeedback,
}

/// SPIR-V of a compute shader.
pub(crate) fn compile(source: &str) -> Vec<u32> {
    let source = format!("#version 460\n{source}");
    // Lines of a shader are no help here, and old validators do not know their instructions.
    glsl::compile(&source, &GlslOptions { debug_info: false, ..Default::default() }).expect("valid GLSL")
}

impl Gpu {
    pub(crate) unsafe fn buffer(&self, bytes: u64) -> Buffer {
        use vk::BufferUsageFlags as Usage;
        let usage = Usage::STORAGE_BUFFER
            | Usage::UNIFORM_BUFFER
            | Usage::UNIFORM_TEXEL_BUFFER
            | Usage::STORAGE_TEXEL_BUFFER
            | Usage::INDIRECT_BUFFER
            | Usage::TRANSFER_SRC
            | Usage::TRANSFER_DST
            | Usage::SHADER_DEVICE_ADDRESS;
        let info = vk::BufferCreateInfo { size: bytes, usage, ..Default::default() };
        let buffer = self.device.create_buffer(&info, None).expect("a buffer");
        let needs = self.device.get_buffer_memory_requirements(buffer);
        let mut flags = vk::MemoryAllocateFlagsInfo {
            flags: vk::MemoryAllocateFlags::DEVICE_ADDRESS,
            ..Default::default()
        };
        let info = vk::MemoryAllocateInfo::builder().allocation_size(needs.size).push_next(&mut flags);
        let memory = self.device.allocate_memory(&info, None).expect("memory");
        self.later(move |device| device.free_memory(memory, None));
        self.later(move |device| device.destroy_buffer(buffer, None));
        self.device.bind_buffer_memory(buffer, memory, 0).expect("memory that fits");
        let flags = vk::MemoryMapFlags::empty();
        let at = self.device.map_memory(memory, 0, vk::WHOLE_SIZE, flags).expect("mapped memory");
        Buffer { buffer, bytes, at }
    }

    /// A buffer that holds these numbers.
    pub(crate) unsafe fn buffer_of<T: Plain>(&self, numbers: &[T]) -> Buffer {
        let buffer = self.buffer(size_of_val(numbers) as u64);
        buffer.write(numbers);
        buffer
    }

    pub(crate) unsafe fn address(&self, buffer: &Buffer) -> u64 {
        let info = vk::BufferDeviceAddressInfo { buffer: buffer.buffer, ..Default::default() };
        self.device.get_buffer_device_address(&info)
    }

    pub(crate) unsafe fn module(&self, words: &[u32]) -> vk::ShaderModule {
        let info = vk::ShaderModuleCreateInfo {
            code_size: size_of_val(words),
            code: words.as_ptr(),
            ..Default::default()
        };
        let module = self.device.create_shader_module(&info, None).expect("a shader module");
        self.later(move |device| device.destroy_shader_module(module, None));
        module
    }

    /// A layout of bindings 0, 1, … with so many descriptors each.
    pub(crate) unsafe fn set_layout(
        &self,
        bindings: &[(vk::DescriptorType, u32)],
        flags: vk::DescriptorSetLayoutCreateFlags,
    ) -> vk::DescriptorSetLayout {
        let bindings: Vec<_> = (0..)
            .zip(bindings)
            .map(|(binding, &(descriptor_type, descriptor_count))| vk::DescriptorSetLayoutBinding {
                binding,
                descriptor_type,
                descriptor_count,
                stage_flags: vk::ShaderStageFlags::COMPUTE,
                ..Default::default()
            })
            .collect();
        let info = vk::DescriptorSetLayoutCreateInfo::builder().flags(flags).bindings(&bindings);
        let layout = self.device.create_descriptor_set_layout(&info, None).expect("a set layout");
        self.later(move |device| device.destroy_descriptor_set_layout(layout, None));
        layout
    }

    /// A layout of bindings that hold one storage buffer each.
    pub(crate) unsafe fn storage_layout(&self, count: usize) -> vk::DescriptorSetLayout {
        self.set_layout(&vec![(STORAGE, 1); count], vk::DescriptorSetLayoutCreateFlags::empty())
    }

    /// A pipeline layout with 128 bytes of push constants.
    pub(crate) unsafe fn layout(&self, sets: &[vk::DescriptorSetLayout]) -> vk::PipelineLayout {
        let push =
            [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 128 }];
        let info = vk::PipelineLayoutCreateInfo::builder().set_layouts(sets).push_constant_ranges(&push);
        let layout = self.device.create_pipeline_layout(&info, None).expect("a pipeline layout");
        self.later(move |device| device.destroy_pipeline_layout(layout, None));
        layout
    }

    /// A kernel, if the driver takes it.
    pub(crate) unsafe fn try_kernel(
        &self,
        words: &[u32],
        sets: &[vk::DescriptorSetLayout],
        options: Options<'_>,
    ) -> Result<Kernel, vk::ErrorCode> {
        let (module, layout) = (self.module(words), self.layout(sets));
        let entries: Vec<_> = (0..options.constants.len() as u32)
            .map(|id| vk::SpecializationMapEntry { constant_id: id, offset: 4 * id, size: 4 })
            .collect();
        let constants = vk::SpecializationInfo {
            map_entry_count: entries.len() as u32,
            map_entries: entries.as_ptr(),
            data_size: size_of_val(options.constants),
            data: options.constants.as_ptr().cast(),
        };
        let mut size = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo {
            required_subgroup_size: options.subgroup_size.unwrap_or_default(),
            ..Default::default()
        };
        let mut stage = vk::PipelineShaderStageCreateInfo::builder()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(b"main\0")
            .specialization_info(&constants);
        if options.subgroup_size.is_some() {
            stage = stage.push_next(&mut size);
        }
        let (mut feedback, mut of_stage) = Default::default();
        let stages: &mut vk::PipelineCreationFeedback = &mut of_stage;
        let mut asked = vk::PipelineCreationFeedbackCreateInfo {
            pipeline_creation_feedback: &raw mut feedback,
            pipeline_stage_creation_feedback_count: 1,
            pipeline_stage_creation_feedbacks: stages,
            ..Default::default()
        };
        let info = vk::ComputePipelineCreateInfo::builder()
            .flags(options.flags)
            .stage(stage.build())
            .layout(layout)
            .push_next(&mut asked);
        let (pipelines, code) = self.device.create_compute_pipelines(options.cache, &[info], None)?;
        if code != vk::SuccessCode::SUCCESS {
            return Err(vk::ErrorCode::from_raw(code.as_raw()));
        }
        let pipeline = pipelines[0];
        self.later(move |device| device.destroy_pipeline(pipeline, None));
        Ok(Kernel { layout, pipeline, feedback })
    }

    pub(crate) unsafe fn kernel(&self, source: &str, sets: &[vk::DescriptorSetLayout]) -> Kernel {
        self.kernel_with(source, sets, Options::default())
    }

    pub(crate) unsafe fn kernel_with(
        &self,
        source: &str,
        sets: &[vk::DescriptorSetLayout],
        options: Options<'_>,
    ) -> Kernel {
        let created = self.try_kernel(&compile(source), sets, options);
        created.unwrap_or_else(|code| panic!("{code}: {}", self.said()))
    }

    /// A descriptor set of a layout; its pool has room for all that cases need.
    pub(crate) unsafe fn set(&self, layout: vk::DescriptorSetLayout) -> vk::DescriptorSet {
        let sizes = [
            vk::DescriptorType::STORAGE_BUFFER,
            vk::DescriptorType::STORAGE_BUFFER_DYNAMIC,
            vk::DescriptorType::UNIFORM_BUFFER,
            vk::DescriptorType::STORAGE_IMAGE,
            vk::DescriptorType::STORAGE_TEXEL_BUFFER,
            vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
            vk::DescriptorType::SAMPLER,
            vk::DescriptorType::SAMPLED_IMAGE,
            vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
        ]
        .map(|type_| vk::DescriptorPoolSize { type_, descriptor_count: 16 });
        let info = vk::DescriptorPoolCreateInfo::builder().max_sets(1).pool_sizes(&sizes);
        let pool = self.device.create_descriptor_pool(&info, None).expect("a descriptor pool");
        self.later(move |device| device.destroy_descriptor_pool(pool, None));
        let layouts = [layout];
        let info = vk::DescriptorSetAllocateInfo::builder().descriptor_pool(pool).set_layouts(&layouts);
        self.device.allocate_descriptor_sets(&info).expect("a descriptor set")[0]
    }

    /// Writes descriptors from a binding on.
    pub(crate) unsafe fn write(
        &self,
        set: vk::DescriptorSet,
        binding: u32,
        ty: vk::DescriptorType,
        buffers: &[vk::DescriptorBufferInfo],
    ) {
        let write = vk::WriteDescriptorSet::builder()
            .dst_set(set)
            .dst_binding(binding)
            .descriptor_type(ty)
            .buffer_info(buffers);
        self.device.update_descriptor_sets(&[write], none::<vk::CopyDescriptorSet>());
    }

    /// A set whose bindings hold one storage buffer each.
    pub(crate) unsafe fn set_of(
        &self,
        layout: vk::DescriptorSetLayout,
        buffers: &[&Buffer],
    ) -> vk::DescriptorSet {
        let set = self.set(layout);
        for (binding, buffer) in (0..).zip(buffers) {
            self.write(set, binding, STORAGE, &[buffer.all()]);
        }
        set
    }

    /// A primary or secondary command buffer with what `fill` records.
    pub(crate) unsafe fn record(
        &self,
        level: vk::CommandBufferLevel,
        fill: impl FnOnce(vk::CommandBuffer),
    ) -> vk::CommandBuffer {
        let info = vk::CommandBufferAllocateInfo {
            command_pool: self.commands,
            level,
            command_buffer_count: 1,
            ..Default::default()
        };
        let buffer = self.device.allocate_command_buffers(&info).expect("a command buffer")[0];
        let inheritance = vk::CommandBufferInheritanceInfo::default();
        let info = vk::CommandBufferBeginInfo {
            flags: vk::CommandBufferUsageFlags::SIMULTANEOUS_USE,
            inheritance_info: &raw const inheritance,
            ..Default::default()
        };
        self.device.begin_command_buffer(buffer, &info).expect("recording");
        fill(buffer);
        self.device.end_command_buffer(buffer).expect("recorded");
        buffer
    }

    pub(crate) unsafe fn primary(&self, fill: impl FnOnce(vk::CommandBuffer)) -> vk::CommandBuffer {
        self.record(vk::CommandBufferLevel::PRIMARY, fill)
    }

    pub(crate) unsafe fn fence(&self) -> vk::Fence {
        let fence = self.device.create_fence(&vk::FenceCreateInfo::default(), None).expect("a fence");
        self.later(move |device| device.destroy_fence(fence, None));
        fence
    }

    /// Submits a command buffer to the first queue.
    pub(crate) unsafe fn submit(&self, buffer: vk::CommandBuffer, fence: vk::Fence) {
        let buffers = [buffer];
        let info = vk::SubmitInfo::builder().command_buffers(&buffers);
        self.device.queue_submit(self.queues[0], &[info], fence).expect("submitted");
    }

    /// Records, executes and waits.
    pub(crate) unsafe fn execute(&self, fill: impl FnOnce(vk::CommandBuffer)) {
        let (buffer, fence) = (self.primary(fill), self.fence());
        self.submit(buffer, fence);
        let code = self.device.wait_for_fences(&[fence], true, 60_000_000_000);
        assert_eq!(code, Ok(vk::SuccessCode::SUCCESS), "{}", self.said());
    }

    pub(crate) unsafe fn bind(
        &self,
        commands: vk::CommandBuffer,
        kernel: &Kernel,
        sets: &[vk::DescriptorSet],
    ) {
        self.bind_with(commands, kernel, sets, &[]);
    }

    pub(crate) unsafe fn bind_with(
        &self,
        commands: vk::CommandBuffer,
        kernel: &Kernel,
        sets: &[vk::DescriptorSet],
        offsets: &[u32],
    ) {
        let point = vk::PipelineBindPoint::COMPUTE;
        self.device.cmd_bind_pipeline(commands, point, kernel.pipeline);
        if !sets.is_empty() {
            self.device.cmd_bind_descriptor_sets(commands, point, kernel.layout, 0, sets, offsets);
        }
    }

    pub(crate) unsafe fn push<T: Plain>(&self, commands: vk::CommandBuffer, kernel: &Kernel, numbers: &[T]) {
        let bytes = std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers));
        self.device.cmd_push_constants(commands, kernel.layout, vk::ShaderStageFlags::COMPUTE, 0, bytes);
    }

    /// Makes everything before visible to everything after.
    pub(crate) unsafe fn barrier(&self, commands: vk::CommandBuffer) {
        let all = vk::MemoryBarrier2 {
            src_stage_mask: vk::PipelineStageFlags2::ALL_COMMANDS,
            src_access_mask: vk::AccessFlags2::MEMORY_WRITE,
            dst_stage_mask: vk::PipelineStageFlags2::ALL_COMMANDS,
            dst_access_mask: vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE,
            ..Default::default()
        };
        let barriers = [all];
        let info = vk::DependencyInfo::builder().memory_barriers(&barriers);
        self.device.cmd_pipeline_barrier2(commands, &info);
    }
}
