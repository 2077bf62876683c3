//! What the first moments of a process cost: start of the driver, the first pipeline, and one from a cache.
//!
//! `measure` runs it in processes of their own. It knows nothing of the crate `phalanx`, so that all the driver needs is
//! loaded with the driver. Arguments: a file of SPIR-V, and specialisation constants as `ID=NUMBER`.

#![expect(clippy::print_stdout, reason = "what was measured goes to the standard output")]
#![expect(unsafe_op_in_unsafe_fn, reason = "all of it calls Vulkan")]
#![allow(dead_code, reason = "the other measurements need more of the module")]

#[path = "measure/vulkan.rs"]
mod vulkan;

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use vulkan::Vulkan;
use vulkanalia::prelude::v1_3::*;

fn main() -> Result<()> {
    // SAFETY: the calls keep to the rules of Vulkan.
    unsafe { measure() }
}

unsafe fn measure() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let bytes = std::fs::read(arguments.next().context("a file of SPIR-V")?)?;
    let words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let constants = arguments.map(|text| {
        let (id, value) = text.split_once('=').context("ID=NUMBER")?;
        Ok((id.parse()?, value.parse()?))
    });
    let constants = constants.collect::<Result<Vec<(u32, u32)>>>()?;
    let library = vulkan::library()?;

    let ms = |since: Instant| since.elapsed().as_secs_f64() * 1e3;
    let start = Instant::now();
    let entry = vulkan::load(&library)?;
    let loaded = ms(start);
    let instance = vulkan::instance(&entry)?;
    let with_instance = ms(start);
    let device = vulkan::device(&instance)?;
    let queue = device.get_device_queue(0, 0);
    let with_queue = ms(start);
    ensure!(!queue.is_null(), "a queue");
    device.destroy_device(None);

    let gpu = Vulkan::new(vulkan::instance(&entry)?)?;
    let cache = gpu.device.create_pipeline_cache(&vk::PipelineCacheCreateInfo::default(), None)?;
    let cold = gpu.kernel(&words, &constants, 4, cache)?;
    ensure!(!cold.creation.is_hit, "the pipeline was compiled");
    let data = gpu.device.get_pipeline_cache_data(cache)?;
    gpu.end();
    // Only now nothing remembers the pipeline but the data.
    instance.destroy_instance(None);
    let gpu = Vulkan::new(vulkan::instance(&entry)?)?;
    let info = vk::PipelineCacheCreateInfo::builder().initial_data(&data);
    let cache = gpu.device.create_pipeline_cache(&info, None)?;
    let cached = gpu.kernel(&words, &constants, 4, cache)?;
    ensure!(cached.creation.is_hit, "the pipeline was found in the cache");
    gpu.end();
    println!(
        "{loaded} {with_instance} {with_queue} {} {}",
        cold.creation.elapsed.as_secs_f64() * 1e3,
        cached.creation.elapsed.as_secs_f64() * 1e3
    );
    Ok(())
}
