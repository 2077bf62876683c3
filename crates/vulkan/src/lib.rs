//! The Vulkan compute driver: `libvulkan_phalanx.so`, which the Khronos loader finds by its manifest.
//!
//! Two floors. `api` holds the entry points: they check handles, convert what C passes, and let no
//! panic out. `core` holds the objects, in safe Rust but for the memory that the host and kernels
//! share. A command's way: `api::command` records it as a `core::command::Command`, `vkQueueSubmit`
//! hands the command buffer to the thread of its queue, which executes it (`core::execute`) by the
//! crate `phalanx`.
//!
//! What an application may ask for and does not find is absent by Vulkan's rules: the feature is
//! false, the extension is not listed, the format has no features.

mod api;
mod core;

/// Where compiling has no memory, the application is told so.
#[global_allocator]
static ALLOCATOR: phalanx::Allocator = phalanx::Allocator;

pub use api::loader::{
    vk_icdGetInstanceProcAddr, vk_icdGetPhysicalDeviceProcAddr, vk_icdNegotiateLoaderICDInterfaceVersion,
};
