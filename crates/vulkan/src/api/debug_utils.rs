//! Messages, names and labels (`VK_EXT_debug_utils`).
//!
//! The driver tells messengers why a pipeline cannot be compiled. Names and labels help tools between
//! application and driver; the driver itself has no use for them.

use std::ffi::c_void;

use vulkanalia_sys::{self as vk, Handle};

use super::entry::{self, Command, entries};
use super::{chain, dispatchable};
use crate::core::instance::{Instance, Messenger, Messengers};

chain::structures! {
    DebugUtilsMessengerCreateInfoEXT = DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
}

/// What calls the application's function.
fn messenger(info: &vk::DebugUtilsMessengerCreateInfoEXT) -> Option<Messenger> {
    let callback = info.user_callback?;
    // The application's pointer comes back to it and is not looked at in between.
    let user_data = info.user_data.expose_provenance();
    let call = move |severity, types, data: &vk::DebugUtilsMessengerCallbackDataEXT| {
        let user_data = std::ptr::with_exposed_provenance_mut(user_data);
        // SAFETY: VUID-VkDebugUtilsMessengerCreateInfoEXT-pfnUserCallback: a function of this type, which the
        // application keeps callable as long as the messenger. Its result is for layers alone.
        let _abort = unsafe { callback(severity, types, data, user_data) };
    };
    Some(Messenger { severities: info.message_severity, types: info.message_type, call: Box::new(call) })
}

/// Adds the messengers that a chain describes.
///
/// # Safety
///
/// `next` is a valid chain.
pub(super) unsafe fn add_of_chain(messengers: &Messengers, next: *const c_void) {
    // SAFETY: as this function's.
    if let Some(info) = unsafe { chain::find::<vk::DebugUtilsMessengerCreateInfoEXT>(next) }
        && let Some(messenger) = messenger(info)
    {
        messengers.add(messenger);
    }
}

entries! {
    fn create_messenger(
        instance: vk::Instance,
        info: *const vk::DebugUtilsMessengerCreateInfoEXT,
        _allocator: *const vk::AllocationCallbacks,
        to: *mut vk::DebugUtilsMessengerEXT,
    ) -> vk::Result {
        // SAFETY: the caller passes a place for the handle.
        unsafe { to.write(vk::DebugUtilsMessengerEXT::null()) };
        // SAFETY: a handle of an instance.
        let instance = unsafe { dispatchable::object::<Instance>(instance) }?;
        // SAFETY: the caller passes a description.
        let info = unsafe { info.as_ref() }.ok_or(vk::Result::ERROR_UNKNOWN)?;
        let messenger = messenger(info).ok_or(vk::Result::ERROR_UNKNOWN)?;
        let handle = instance.physical.messengers.add(messenger);
        // SAFETY: as above.
        unsafe { to.write(vk::DebugUtilsMessengerEXT::from_raw(handle)) };
        Ok(())
    }

    fn destroy_messenger(
        instance: vk::Instance,
        messenger: vk::DebugUtilsMessengerEXT,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: a handle of an instance.
        let Ok(instance) = (unsafe { dispatchable::object::<Instance>(instance) }) else { return };
        instance.physical.messengers.remove(messenger.as_raw());
    }

    fn submit_message(
        instance: vk::Instance,
        severity: vk::DebugUtilsMessageSeverityFlagsEXT,
        types: vk::DebugUtilsMessageTypeFlagsEXT,
        data: *const vk::DebugUtilsMessengerCallbackDataEXT,
    ) {
        // SAFETY: a handle of an instance.
        let Ok(instance) = (unsafe { dispatchable::object::<Instance>(instance) }) else { return };
        // SAFETY: the caller passes a message.
        let Some(data) = (unsafe { data.as_ref() }) else { return };
        instance.physical.messengers.send(severity, types, data);
    }

    fn set_object_name(
        _device: vk::Device,
        _info: *const vk::DebugUtilsObjectNameInfoEXT,
    ) -> vk::Result {
        Ok(())
    }

    fn set_object_tag(_device: vk::Device, _info: *const vk::DebugUtilsObjectTagInfoEXT) -> vk::Result {
        Ok(())
    }

    fn queue_label(_queue: vk::Queue, _label: *const vk::DebugUtilsLabelEXT) {}

    fn queue_end_label(_queue: vk::Queue) {}

    fn command_label(_buffer: vk::CommandBuffer, _label: *const vk::DebugUtilsLabelEXT) {}

    fn command_end_label(_buffer: vk::CommandBuffer) {}
}

pub(super) const INSTANCE_COMMANDS: &[Command] = entry::commands![Instance;
    PFN_vkCreateDebugUtilsMessengerEXT: create_messenger,
    PFN_vkDestroyDebugUtilsMessengerEXT: destroy_messenger,
    PFN_vkSubmitDebugUtilsMessageEXT: submit_message,
];

pub(super) const COMMANDS: &[Command] = entry::commands![Device;
    PFN_vkSetDebugUtilsObjectNameEXT: set_object_name,
    PFN_vkSetDebugUtilsObjectTagEXT: set_object_tag,
    PFN_vkQueueBeginDebugUtilsLabelEXT: queue_label,
    PFN_vkQueueInsertDebugUtilsLabelEXT: queue_label,
    PFN_vkQueueEndDebugUtilsLabelEXT: queue_end_label,
    PFN_vkCmdBeginDebugUtilsLabelEXT: command_label,
    PFN_vkCmdInsertDebugUtilsLabelEXT: command_label,
    PFN_vkCmdEndDebugUtilsLabelEXT: command_end_label,
];

#[cfg(test)]
mod tests {
    use super::*;
    use vk::DebugUtilsMessageSeverityFlagsEXT as Severity;

    unsafe extern "system" fn count(
        _severity: Severity,
        _types: vk::DebugUtilsMessageTypeFlagsEXT,
        data: *const vk::DebugUtilsMessengerCallbackDataEXT,
        user_data: *mut c_void,
    ) -> vk::Bool32 {
        // SAFETY: the messenger passes a message with a text.
        assert_eq!(unsafe { chain::text((*data).message) }, "hello");
        // SAFETY: the test passes a number, and reads it only between calls.
        unsafe { *user_data.cast::<u32>() += 1 };
        vk::FALSE
    }

    #[test]
    fn messages_come_with_the_pointer_of_the_application() {
        let mut calls = 0_u32;
        let info = vk::DebugUtilsMessengerCreateInfoEXT {
            message_severity: Severity::ERROR | Severity::WARNING,
            message_type: vk::DebugUtilsMessageTypeFlagsEXT::GENERAL,
            user_callback: Some(count),
            user_data: (&raw mut calls).cast(),
            ..Default::default()
        };
        let messengers = Messengers::default();
        // SAFETY: a chain of one structure.
        unsafe { add_of_chain(&messengers, (&raw const info).cast()) };
        messengers.message(Severity::WARNING, "hello");
        messengers.message(Severity::INFO, "not asked for");
        drop(messengers);
        assert_eq!(calls, 1);
    }
}
