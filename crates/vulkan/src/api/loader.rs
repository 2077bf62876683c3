//! The driver's interface to the loader (*Driver interface to the Vulkan Loader*, version 5).

use std::ffi::c_char;

use vulkanalia_sys::{self as vk, Handle};

use super::entry::{Command, Level};
use super::{chain, dispatchable, requirements};
use crate::core::device::Device;

/// The versions of the interface that this driver speaks.
const VERSIONS: std::ops::RangeInclusive<u32> = 3..=5;

/// Agrees on a version of the interface: the newest that both sides speak.
///
/// # Safety
///
/// `version` is null or points to the newest version that the loader speaks.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vk_icdNegotiateLoaderICDInterfaceVersion(version: *mut u32) -> vk::Result {
    // SAFETY: as this function's.
    let Some(version) = (unsafe { version.as_mut() }) else { return vk::Result::ERROR_INCOMPATIBLE_DRIVER };
    if *version < *VERSIONS.start() {
        return vk::Result::ERROR_INCOMPATIBLE_DRIVER;
    }
    *version = (*version).min(*VERSIONS.end());
    vk::Result::SUCCESS
}

/// An entry point by its name; null if there is none, or if it needs an instance and there is none.
///
/// # Safety
///
/// `name` is null or a string that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vk_icdGetInstanceProcAddr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: as this function's.
    let command = lookup(unsafe { chain::text(name) })?;
    (command.level == Level::Global || !instance.is_null()).then_some(command.function)
}

/// An entry point whose first parameter is a physical device, by its name; null for others.
///
/// # Safety
///
/// As for [`vk_icdGetInstanceProcAddr`].
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vk_icdGetPhysicalDeviceProcAddr(
    _instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: as this function's.
    let command = lookup(unsafe { chain::text(name) })?;
    (command.level == Level::Physical).then_some(command.function)
}

/// `vkGetInstanceProcAddr`. Its name is not exported: the loader has a function of that name.
unsafe extern "system" fn get_instance_proc_addr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: the caller passes what that function asks for.
    unsafe { vk_icdGetInstanceProcAddr(instance, name) }
}

/// `vkGetDeviceProcAddr`.
pub(super) unsafe extern "system" fn get_device_proc_addr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: the caller passes a string.
    let name = unsafe { chain::text(name) };
    let command = lookup(name)?;
    // SAFETY: a handle of a device.
    let device = unsafe { dispatchable::object::<Device>(device) }.ok()?;
    (command.level == Level::Device && requirements::are_met(device, name)).then_some(command.function)
}

/// The entry point of this name.
fn lookup(name: &str) -> Option<&'static Command> {
    let mut commands = super::COMMANDS.iter().flat_map(|commands| commands.iter());
    commands.find(|command| command.type_name.strip_prefix("PFN_") == Some(name))
}

pub(super) const INSTANCE_COMMANDS: &[Command] = super::entry::commands![Global;
    PFN_vkGetInstanceProcAddr: get_instance_proc_addr,
];
pub(super) const COMMANDS: &[Command] = super::entry::commands![Device;
    PFN_vkGetDeviceProcAddr: get_device_proc_addr,
];
