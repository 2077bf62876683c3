//! SPIR-V with its buffers on a device of another driver, ready to be run again and again.

use std::time::{Duration, Instant};

use vulkanalia::prelude::v1_3::*;

use super::{MAIN, Vulkan, VulkanError};

/// A dispatch.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'a> {
    /// Words of SPIR-V, whose entry point is `main`.
    pub spirv: &'a [u32],
    /// Specialisation constants of 32 bits by their ids; booleans are 0 and 1.
    pub constants: &'a [(u32, u32)],
    /// Work-groups along x, y and z.
    pub groups: [u32; 3],
    /// Push constants, a multiple of 4 bytes.
    pub push_constants: &'a [u8],
}

/// Passes that are recorded.
#[derive(Debug)]
pub struct Execution<'a> {
    vulkan: &'a Vulkan,
    made: Made,
    buffers: Vec<Buffer>,
    commands: vk::CommandBuffer,
    compile_time: Duration,
}

/// A buffer, and its bytes.
#[derive(Debug, Clone, Copy)]
struct Buffer {
    buffer: vk::Buffer,
    bytes: u64,
}

/// What has to be destroyed, in the order in which it was made.
#[derive(Debug, Default)]
struct Made {
    buffers: Vec<vk::Buffer>,
    memory: Vec<vk::DeviceMemory>,
    set_layouts: Vec<vk::DescriptorSetLayout>,
    layouts: Vec<vk::PipelineLayout>,
    modules: Vec<vk::ShaderModule>,
    pipelines: Vec<vk::Pipeline>,
    pools: Vec<vk::DescriptorPool>,
    queries: Vec<vk::QueryPool>,
    fences: Vec<vk::Fence>,
}

/// Reads and writes of a dispatch, and of copies.
const ALL_ACCESS: vk::AccessFlags = vk::AccessFlags::MEMORY_READ.union(vk::AccessFlags::MEMORY_WRITE);

impl Vulkan {
    /// Compiles passes, with buffers of these contents at the bindings of set 0.
    ///
    /// # Errors
    /// If the driver fails, as it does where it lacks what a program needs.
    pub fn prepare(&self, passes: &[Pass<'_>], contents: &[&[u8]]) -> Result<Execution<'_>, VulkanError> {
        let mut execution = Execution {
            vulkan: self,
            made: Made::default(),
            buffers: Vec::new(),
            commands: vk::CommandBuffer::null(),
            compile_time: Duration::ZERO,
        };
        // SAFETY: without flags a fence takes nothing else.
        let fence = unsafe { self.device.create_fence(&vk::FenceCreateInfo::default(), None) };
        execution.made.fences.push(fence.map_err(|code| self.failed("vkCreateFence", code))?);
        for bytes in contents {
            execution.upload(bytes)?;
        }
        execution.record(passes)?;
        Ok(execution)
    }

    /// A type of memory that a buffer may have, with these properties.
    fn memory_type(&self, types: u32, wanted: vk::MemoryPropertyFlags) -> Option<u32> {
        let known = self.memory.memory_types.iter().take(self.memory.memory_type_count as usize);
        let fits = |&(i, kind): &(u32, &vk::MemoryType)| {
            types & (1 << i) != 0 && kind.property_flags.contains(wanted)
        };
        (0..).zip(known).find(fits).map(|(i, _)| i)
    }
}

impl Execution<'_> {
    /// Runs it, waits for its end, and gives the time that the device took.
    ///
    /// # Errors
    /// If the driver fails.
    pub fn run(&mut self) -> Result<Duration, VulkanError> {
        let vulkan = self.vulkan;
        self.submit(self.commands)?;
        let mut times = [0_u8; 16];
        let flags = vk::QueryResultFlags::_64 | vk::QueryResultFlags::WAIT;
        // SAFETY: the pool has two queries, which the commands wrote; there is room for both.
        let told =
            unsafe { vulkan.device.get_query_pool_results(self.made.queries[0], 0, 2, &mut times, 8, flags) };
        told.map_err(|code| vulkan.failed("vkGetQueryPoolResults", code))?;
        let (times, _) = times.as_chunks::<8>();
        let [start, end] = [times[0], times[1]].map(u64::from_ne_bytes);
        Ok(Duration::from_secs_f64(end.wrapping_sub(start) as f64 * vulkan.tick * 1e-9))
    }

    /// What the driver took to make pipelines.
    #[must_use]
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }

    /// What is in the last buffer.
    ///
    /// # Errors
    /// If the driver fails.
    pub fn result(&mut self) -> Result<Vec<u8>, VulkanError> {
        let Some(&buffer) = self.buffers.last() else { return Ok(Vec::new()) };
        let (host, at) = self.host_buffer(buffer.bytes)?;
        self.copy(buffer.buffer, host, buffer.bytes)?;
        // SAFETY: the memory is mapped, of so many bytes, and nothing writes it any more.
        Ok(unsafe { std::slice::from_raw_parts(at, buffer.bytes as usize) }.to_vec())
    }

    /// Makes a buffer of the device with these contents.
    fn upload(&mut self, bytes: &[u8]) -> Result<(), VulkanError> {
        let size = bytes.len() as u64;
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let (buffer, _) = self.buffer(size, usage, vk::MemoryPropertyFlags::DEVICE_LOCAL)?;
        let (host, at) = self.host_buffer(size)?;
        // SAFETY: the memory is mapped and new, of so many bytes.
        unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.copy(host, buffer, size)?;
        self.buffers.push(Buffer { buffer, bytes: size });
        Ok(())
    }

    /// A buffer of the host, and where it is mapped.
    fn host_buffer(&mut self, bytes: u64) -> Result<(vk::Buffer, *mut u8), VulkanError> {
        let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let (buffer, memory) = self.buffer(bytes, usage, wanted)?;
        // SAFETY: the memory can be mapped, and is mapped once.
        let at =
            unsafe { self.vulkan.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) };
        Ok((buffer, at.map_err(|code| self.vulkan.failed("vkMapMemory", code))?.cast()))
    }

    fn buffer(
        &mut self,
        bytes: u64,
        usage: vk::BufferUsageFlags,
        wanted: vk::MemoryPropertyFlags,
    ) -> Result<(vk::Buffer, vk::DeviceMemory), VulkanError> {
        let vulkan = self.vulkan;
        let info = vk::BufferCreateInfo { size: bytes, usage, ..Default::default() };
        // SAFETY: the structure is complete.
        let buffer = unsafe { vulkan.device.create_buffer(&info, None) }
            .map_err(|code| vulkan.failed("vkCreateBuffer", code))?;
        self.made.buffers.push(buffer);
        // SAFETY: the buffer is the device's.
        let needs = unsafe { vulkan.device.get_buffer_memory_requirements(buffer) };
        let memory_type = vulkan.memory_type(needs.memory_type_bits, wanted);
        let memory_type_index =
            memory_type.ok_or_else(|| vulkan.failed("its memory", "none is as it has to be"))?;
        let info =
            vk::MemoryAllocateInfo { allocation_size: needs.size, memory_type_index, ..Default::default() };
        // SAFETY: the type is one of the device's.
        let memory = unsafe { vulkan.device.allocate_memory(&info, None) }
            .map_err(|code| vulkan.failed("vkAllocateMemory", code))?;
        self.made.memory.push(memory);
        // SAFETY: the memory is as large as the buffer needs, of a type that it may have, and has no other buffer.
        unsafe { vulkan.device.bind_buffer_memory(buffer, memory, 0) }
            .map_err(|code| vulkan.failed("vkBindBufferMemory", code))?;
        Ok((buffer, memory))
    }

    fn copy(&self, from: vk::Buffer, to: vk::Buffer, size: u64) -> Result<(), VulkanError> {
        let device = &self.vulkan.device;
        let commands = self.begin()?;
        let region = vk::BufferCopy { src_offset: 0, dst_offset: 0, size };
        // SAFETY: both buffers have so many bytes.
        unsafe { device.cmd_copy_buffer(commands, from, to, &[region]) };
        self.end(commands)?;
        self.submit(commands)
    }

    fn begin(&self) -> Result<vk::CommandBuffer, VulkanError> {
        let vulkan = self.vulkan;
        let info = vk::CommandBufferAllocateInfo {
            command_pool: vulkan.pool,
            command_buffer_count: 1,
            ..Default::default()
        };
        // SAFETY: the pool is the device's, and used by this thread alone, as it is not shared.
        let commands = unsafe { vulkan.device.allocate_command_buffers(&info) }
            .map_err(|code| vulkan.failed("vkAllocateCommandBuffers", code))?[0];
        // SAFETY: the command buffer is new.
        unsafe { vulkan.device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default()) }
            .map_err(|code| vulkan.failed("vkBeginCommandBuffer", code))?;
        Ok(commands)
    }

    fn end(&self, commands: vk::CommandBuffer) -> Result<(), VulkanError> {
        // SAFETY: it was begun, and nothing executes it yet.
        unsafe { self.vulkan.device.end_command_buffer(commands) }
            .map_err(|code| self.vulkan.failed("vkEndCommandBuffer", code))
    }

    fn submit(&self, commands: vk::CommandBuffer) -> Result<(), VulkanError> {
        let vulkan = self.vulkan;
        let (buffers, fences) = ([commands], [self.made.fences[0]]);
        let info = vk::SubmitInfo::builder().command_buffers(&buffers);
        // SAFETY: the commands are complete, and what they use lives; the fence is not in use.
        unsafe {
            vulkan
                .device
                .queue_submit(vulkan.queue, &[info], fences[0])
                .and_then(|()| vulkan.device.wait_for_fences(&fences, true, u64::MAX).map(drop))
                .and_then(|()| vulkan.device.reset_fences(&fences))
        }
        .map_err(|code| vulkan.failed("vkQueueSubmit", code))
    }

    /// Records all passes, with the device's clock before and behind them.
    fn record(&mut self, passes: &[Pass<'_>]) -> Result<(), VulkanError> {
        let vulkan = self.vulkan;
        let device = &vulkan.device;
        let (set_layout, set) = self.set()?;
        let info = vk::QueryPoolCreateInfo {
            query_type: vk::QueryType::TIMESTAMP,
            query_count: 2,
            ..Default::default()
        };
        // SAFETY: the structure is complete.
        let queries = unsafe { device.create_query_pool(&info, None) }
            .map_err(|code| vulkan.failed("vkCreateQueryPool", code))?;
        self.made.queries.push(queries);
        let mut pipelines = Vec::with_capacity(passes.len());
        for pass in passes {
            pipelines.push(self.pipeline(pass, set_layout)?);
        }
        let commands = self.begin()?;
        let (point, compute) = (vk::PipelineBindPoint::COMPUTE, vk::PipelineStageFlags::COMPUTE_SHADER);
        let barrier = vk::MemoryBarrier {
            src_access_mask: ALL_ACCESS,
            dst_access_mask: ALL_ACCESS,
            ..Default::default()
        };
        // SAFETY: all handles are the device's and live as long as this; the layout of each pipeline has the set and as many
        // push constants.
        unsafe {
            device.cmd_reset_query_pool(commands, queries, 0, 2);
            device.cmd_write_timestamp(commands, compute, queries, 0);
            for (pass, (pipeline, layout)) in passes.iter().zip(pipelines) {
                device.cmd_bind_pipeline(commands, point, pipeline);
                device.cmd_bind_descriptor_sets(commands, point, layout, 0, &[set], &[]);
                if !pass.push_constants.is_empty() {
                    let stages = vk::ShaderStageFlags::COMPUTE;
                    device.cmd_push_constants(commands, layout, stages, 0, pass.push_constants);
                }
                let [x, y, z] = pass.groups;
                device.cmd_dispatch(commands, x, y, z);
                const NO_BUFFERS: [vk::BufferMemoryBarrier; 0] = [];
                const NO_IMAGES: [vk::ImageMemoryBarrier; 0] = [];
                let all = vk::PipelineStageFlags::ALL_COMMANDS;
                let flags = vk::DependencyFlags::empty();
                device.cmd_pipeline_barrier(commands, all, all, flags, &[barrier], &NO_BUFFERS, &NO_IMAGES);
            }
            device.cmd_write_timestamp(commands, compute, queries, 1);
        }
        self.end(commands)?;
        self.commands = commands;
        Ok(())
    }

    /// A descriptor set with all buffers.
    fn set(&mut self) -> Result<(vk::DescriptorSetLayout, vk::DescriptorSet), VulkanError> {
        let vulkan = self.vulkan;
        let device = &vulkan.device;
        let descriptor_type = vk::DescriptorType::STORAGE_BUFFER;
        let binding = |(binding, _): (u32, &Buffer)| vk::DescriptorSetLayoutBinding {
            binding,
            descriptor_type,
            descriptor_count: 1,
            stage_flags: vk::ShaderStageFlags::COMPUTE,
            ..Default::default()
        };
        let bindings: Vec<_> = (0..).zip(&self.buffers).map(binding).collect();
        let info = vk::DescriptorSetLayoutCreateInfo::builder().bindings(&bindings);
        // SAFETY: the bindings live to the end of the call.
        let layout = unsafe { device.create_descriptor_set_layout(&info, None) }
            .map_err(|code| vulkan.failed("vkCreateDescriptorSetLayout", code))?;
        self.made.set_layouts.push(layout);
        let count = (self.buffers.len() as u32).max(1);
        let sizes = [vk::DescriptorPoolSize { type_: descriptor_type, descriptor_count: count }];
        let info = vk::DescriptorPoolCreateInfo::builder().max_sets(1).pool_sizes(&sizes);
        // SAFETY: as above.
        let pool = unsafe { device.create_descriptor_pool(&info, None) }
            .map_err(|code| vulkan.failed("vkCreateDescriptorPool", code))?;
        self.made.pools.push(pool);
        let layouts = [layout];
        let info = vk::DescriptorSetAllocateInfo::builder().descriptor_pool(pool).set_layouts(&layouts);
        // SAFETY: the pool has room for one set with these buffers.
        let set = unsafe { device.allocate_descriptor_sets(&info) }
            .map_err(|code| vulkan.failed("vkAllocateDescriptorSets", code))?[0];
        for (binding, buffer) in (0..).zip(&self.buffers) {
            let info = [vk::DescriptorBufferInfo { buffer: buffer.buffer, offset: 0, range: vk::WHOLE_SIZE }];
            let write = vk::WriteDescriptorSet::builder()
                .dst_set(set)
                .dst_binding(binding)
                .descriptor_type(descriptor_type)
                .buffer_info(&info);
            const COPIES: [vk::CopyDescriptorSet; 0] = [];
            // SAFETY: the layout has this binding, and nothing uses the set yet.
            unsafe { device.update_descriptor_sets(&[write], &COPIES) };
        }
        Ok((layout, set))
    }

    fn pipeline(
        &mut self,
        pass: &Pass<'_>,
        set_layout: vk::DescriptorSetLayout,
    ) -> Result<(vk::Pipeline, vk::PipelineLayout), VulkanError> {
        let vulkan = self.vulkan;
        let device = &vulkan.device;
        let (layouts, stage_flags) = ([set_layout], vk::ShaderStageFlags::COMPUTE);
        let size = pass.push_constants.len() as u32;
        let ranges = [vk::PushConstantRange { stage_flags, offset: 0, size }];
        let ranges = if size == 0 { &ranges[..0] } else { &ranges[..] };
        let info = vk::PipelineLayoutCreateInfo::builder().set_layouts(&layouts).push_constant_ranges(ranges);
        // SAFETY: what `info` refers to lives to the end of the call.
        let layout = unsafe { device.create_pipeline_layout(&info, None) }
            .map_err(|code| vulkan.failed("vkCreatePipelineLayout", code))?;
        self.made.layouts.push(layout);
        let info = vk::ShaderModuleCreateInfo {
            code_size: size_of_val(pass.spirv),
            code: pass.spirv.as_ptr(),
            ..Default::default()
        };
        // SAFETY: the words are SPIR-V that our own front end reads, too.
        let module = unsafe { device.create_shader_module(&info, None) }
            .map_err(|code| vulkan.failed("vkCreateShaderModule", code))?;
        self.made.modules.push(module);
        let entry = |(i, &(constant_id, _)): (u32, &(u32, u32))| vk::SpecializationMapEntry {
            constant_id,
            offset: 4 * i,
            size: 4,
        };
        let entries: Vec<_> = (0..).zip(pass.constants).map(entry).collect();
        let data: Vec<u8> = pass.constants.iter().flat_map(|(_, value)| value.to_ne_bytes()).collect();
        let constants = vk::SpecializationInfo::builder().map_entries(&entries).data(&data);
        let stage = vk::PipelineShaderStageCreateInfo::builder()
            .stage(stage_flags)
            .module(module)
            .name(MAIN.to_bytes_with_nul())
            .specialization_info(&constants);
        let info = vk::ComputePipelineCreateInfo::builder().stage(stage.build()).layout(layout);
        let start = Instant::now();
        // SAFETY: module and layout are the device's; what `info` refers to lives to the end of the call.
        let made = unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None) };
        let (pipelines, _) = made.map_err(|code| vulkan.failed("vkCreateComputePipelines", code))?;
        self.compile_time += start.elapsed();
        self.made.pipelines.extend(&pipelines);
        Ok((pipelines[0], layout))
    }
}

impl Drop for Execution<'_> {
    fn drop(&mut self) {
        let device = &self.vulkan.device;
        let made = std::mem::take(&mut self.made);
        // SAFETY: all that was submitted has ended, and each handle is this execution's own and destroyed once.
        unsafe {
            made.fences.into_iter().for_each(|it| device.destroy_fence(it, None));
            made.queries.into_iter().for_each(|it| device.destroy_query_pool(it, None));
            made.pools.into_iter().for_each(|it| device.destroy_descriptor_pool(it, None));
            made.pipelines.into_iter().for_each(|it| device.destroy_pipeline(it, None));
            made.modules.into_iter().for_each(|it| device.destroy_shader_module(it, None));
            made.layouts.into_iter().for_each(|it| device.destroy_pipeline_layout(it, None));
            made.set_layouts.into_iter().for_each(|it| device.destroy_descriptor_set_layout(it, None));
            made.buffers.into_iter().for_each(|it| device.destroy_buffer(it, None));
            made.memory.into_iter().for_each(|it| device.free_memory(it, None));
        }
    }
}
