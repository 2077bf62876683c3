//! Commands for queues of graphics, blits among them, which the device does not have.
//!
//! They are commands of Vulkan all the same, so they can be asked for. Recording one is invalid
//! (VUID-vkCmdDraw-commandBuffer-cmdpool and its like), and `vkEndCommandBuffer` says so.

use vulkanalia_sys as vk;

use super::super::entry::{self, Command, Function, Level};
use super::record;

/// Entry points of these types, which record nothing but a failure.
macro_rules! refused {
    ($($pfn:ident($($arg:ty),* $(,)?)),* $(,)?) => {
        &[$(Command {
            type_name: stringify!($pfn),
            level: Level::Device,
            function: {
                unsafe extern "system" fn command(buffer: vk::CommandBuffer $(, _: $arg)*) {
                    entry::enter(stringify!($pfn), || {
                        // SAFETY: a valid command buffer.
                        unsafe { record(buffer, |_device, _recording| Err(vk::Result::ERROR_UNKNOWN)) }
                    })
                }
                let typed: vk::$pfn = command;
                // SAFETY: one function pointer type for another, which the caller casts back.
                unsafe { std::mem::transmute::<vk::$pfn, Function>(typed) }
            },
        }),*]
    };
}

pub(in crate::api) const COMMANDS: &[Command] = refused![
    PFN_vkCmdBeginRenderPass(*const vk::RenderPassBeginInfo, vk::SubpassContents),
    PFN_vkCmdBeginRenderPass2(*const vk::RenderPassBeginInfo, *const vk::SubpassBeginInfo),
    PFN_vkCmdBeginRendering(*const vk::RenderingInfo),
    PFN_vkCmdBindIndexBuffer(vk::Buffer, vk::DeviceSize, vk::IndexType),
    PFN_vkCmdBindIndexBuffer2(vk::Buffer, vk::DeviceSize, vk::DeviceSize, vk::IndexType),
    PFN_vkCmdBindIndexBuffer2KHR(vk::Buffer, vk::DeviceSize, vk::DeviceSize, vk::IndexType),
    PFN_vkCmdBindVertexBuffers(u32, u32, *const vk::Buffer, *const vk::DeviceSize),
    PFN_vkCmdBindVertexBuffers2(
        u32,
        u32,
        *const vk::Buffer,
        *const vk::DeviceSize,
        *const vk::DeviceSize,
        *const vk::DeviceSize,
    ),
    PFN_vkCmdBlitImage(
        vk::Image,
        vk::ImageLayout,
        vk::Image,
        vk::ImageLayout,
        u32,
        *const vk::ImageBlit,
        vk::Filter,
    ),
    PFN_vkCmdBlitImage2(*const vk::BlitImageInfo2),
    PFN_vkCmdBlitImage2KHR(*const vk::BlitImageInfo2),
    PFN_vkCmdClearAttachments(u32, *const vk::ClearAttachment, u32, *const vk::ClearRect),
    PFN_vkCmdDraw(u32, u32, u32, u32),
    PFN_vkCmdDrawIndexed(u32, u32, u32, i32, u32),
    PFN_vkCmdDrawIndexedIndirect(vk::Buffer, vk::DeviceSize, u32, u32),
    PFN_vkCmdDrawIndexedIndirectCount(vk::Buffer, vk::DeviceSize, vk::Buffer, vk::DeviceSize, u32, u32),
    PFN_vkCmdDrawIndirect(vk::Buffer, vk::DeviceSize, u32, u32),
    PFN_vkCmdDrawIndirectCount(vk::Buffer, vk::DeviceSize, vk::Buffer, vk::DeviceSize, u32, u32),
    PFN_vkCmdEndRenderPass(),
    PFN_vkCmdEndRenderPass2(*const vk::SubpassEndInfo),
    PFN_vkCmdEndRendering(),
    PFN_vkCmdNextSubpass(vk::SubpassContents),
    PFN_vkCmdNextSubpass2(*const vk::SubpassBeginInfo, *const vk::SubpassEndInfo),
    PFN_vkCmdResolveImage(
        vk::Image,
        vk::ImageLayout,
        vk::Image,
        vk::ImageLayout,
        u32,
        *const vk::ImageResolve,
    ),
    PFN_vkCmdResolveImage2(*const vk::ResolveImageInfo2),
    PFN_vkCmdResolveImage2KHR(*const vk::ResolveImageInfo2),
    PFN_vkCmdSetBlendConstants(*const f32),
    PFN_vkCmdSetCullMode(vk::CullModeFlags),
    PFN_vkCmdSetDepthBias(f32, f32, f32),
    PFN_vkCmdSetDepthBiasEnable(vk::Bool32),
    PFN_vkCmdSetDepthBounds(f32, f32),
    PFN_vkCmdSetDepthBoundsTestEnable(vk::Bool32),
    PFN_vkCmdSetDepthCompareOp(vk::CompareOp),
    PFN_vkCmdSetDepthTestEnable(vk::Bool32),
    PFN_vkCmdSetDepthWriteEnable(vk::Bool32),
    PFN_vkCmdSetFrontFace(vk::FrontFace),
    PFN_vkCmdSetLineStipple(u32, u16),
    PFN_vkCmdSetLineWidth(f32),
    PFN_vkCmdSetPrimitiveRestartEnable(vk::Bool32),
    PFN_vkCmdSetPrimitiveTopology(vk::PrimitiveTopology),
    PFN_vkCmdSetRasterizerDiscardEnable(vk::Bool32),
    PFN_vkCmdSetRenderingAttachmentLocations(*const vk::RenderingAttachmentLocationInfo),
    PFN_vkCmdSetRenderingInputAttachmentIndices(*const vk::RenderingInputAttachmentIndexInfo),
    PFN_vkCmdSetScissor(u32, u32, *const vk::Rect2D),
    PFN_vkCmdSetScissorWithCount(u32, *const vk::Rect2D),
    PFN_vkCmdSetStencilCompareMask(vk::StencilFaceFlags, u32),
    PFN_vkCmdSetStencilOp(vk::StencilFaceFlags, vk::StencilOp, vk::StencilOp, vk::StencilOp, vk::CompareOp),
    PFN_vkCmdSetStencilReference(vk::StencilFaceFlags, u32),
    PFN_vkCmdSetStencilTestEnable(vk::Bool32),
    PFN_vkCmdSetStencilWriteMask(vk::StencilFaceFlags, u32),
    PFN_vkCmdSetViewport(u32, u32, *const vk::Viewport),
    PFN_vkCmdSetViewportWithCount(u32, *const vk::Viewport),
];
