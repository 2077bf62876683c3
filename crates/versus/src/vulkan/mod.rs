//! Another Vulkan driver, which runs the same SPIR-V: the first device of the system's loader that is not ours.
//!
//! All features that it offers are on, but for the checks of accesses (`robustBufferAccess`), which cost some drivers time. Only
//! storage buffers in set 0 are bound.

mod execution;
mod layout;

use std::ffi::{CStr, c_void};
use std::ptr;

use thiserror::Error;
use vulkanalia::loader::{LIBRARY, LibloadingLoader};
use vulkanalia::prelude::v1_3::*;

pub use execution::{Execution, Pass};
pub use layout::Number;

/// Why a driver is not compared with.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VulkanError {
    /// There is no loader of drivers.
    #[error(
        "Vulkan's loader is not found: install it (the package libvulkan1 of Debian and Ubuntu): {cause}"
    )]
    NoLoader {
        /// What the system says.
        cause: String,
    },
    /// No driver has a device to compare with.
    #[error("no other Vulkan driver has a device; those that there are: {found}")]
    NoDevice {
        /// Their names.
        found: String,
    },
    /// A call failed.
    #[error("{driver} fails in {call}: {code}")]
    Failed {
        /// Its name.
        driver: String,
        /// What was called.
        call: &'static str,
        /// What it returned.
        code: String,
    },
}

/// A device of another driver.
#[derive(Debug)]
pub struct Vulkan {
    // The instance's commands lie in the loader, which the entry keeps.
    _entry: Entry,
    instance: Instance,
    device: Device,
    queue: vk::Queue,
    pool: vk::CommandPool,
    memory: vk::PhysicalDeviceMemoryProperties,
    /// Nanoseconds of a step of its clock.
    tick: f64,
    has_vectors: bool,
    name: String,
}

/// Extensions whose features are switched on where the driver has them.
const EXTENSIONS: [&vk::Extension; 5] = [
    &vk::KHR_COOPERATIVE_MATRIX_EXTENSION,
    &vk::NV_COOPERATIVE_MATRIX2_EXTENSION,
    &vk::NV_COOPERATIVE_VECTOR_EXTENSION,
    &vk::KHR_SHADER_BFLOAT16_EXTENSION,
    &vk::EXT_SHADER_FLOAT8_EXTENSION,
];

/// What features are of, and whether a driver has it.
type Offered = [bool; EXTENSIONS.len()];

impl Vulkan {
    /// Finds the first device whose driver has a name that is wanted, of those with matrices if there is one.
    ///
    /// # Errors
    /// If there is no loader or no such device, or the driver fails.
    pub fn open(is_wanted: impl Fn(&str) -> bool) -> Result<Self, VulkanError> {
        let no_loader = |cause: String| VulkanError::NoLoader { cause };
        // SAFETY: the loader's library runs nothing but its constructors; drivers that it loads are the user's own.
        let loader =
            unsafe { LibloadingLoader::new(LIBRARY) }.map_err(|error| no_loader(error.to_string()))?;
        // SAFETY: the library is one of Vulkan's loaders.
        let entry = unsafe { Entry::new(loader) }.map_err(|error| no_loader(error.to_string()))?;
        let application =
            vk::ApplicationInfo { api_version: vk::make_version(1, 3, 0), ..Default::default() };
        let info = vk::InstanceCreateInfo::builder().application_info(&application);
        // SAFETY: what `info` refers to lives to the end of the call.
        let instance = unsafe { entry.create_instance(&info, None) }
            .map_err(|_code| VulkanError::NoDevice { found: "none".to_owned() })?;
        let opened = Self::choose(&instance, &is_wanted);
        match opened {
            Ok((physical, name)) => Self::with_device(entry, instance, physical, name),
            Err(error) => {
                // SAFETY: nothing of the instance is left.
                unsafe { instance.destroy_instance(None) };
                Err(error)
            }
        }
    }

    /// Its name, and that of its driver.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn choose(
        instance: &Instance,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<(vk::PhysicalDevice, String), VulkanError> {
        // SAFETY: the instance lives.
        let devices = unsafe { instance.enumerate_physical_devices() }
            .map_err(|_code| VulkanError::NoDevice { found: "none".to_owned() })?;
        let named: Vec<(vk::PhysicalDevice, String)> =
            devices.into_iter().map(|device| (device, driver_name(instance, device))).collect();
        let mut wanted: Vec<&(vk::PhysicalDevice, String)> =
            named.iter().filter(|(_, name)| is_wanted(name)).collect();
        wanted.sort_by_key(|(device, _)| !offered(instance, *device)[0]);
        wanted.first().map(|&found| found.clone()).ok_or_else(|| VulkanError::NoDevice {
            found: match named.is_empty() {
                true => "none".to_owned(),
                false => named.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", "),
            },
        })
    }

    fn with_device(
        entry: Entry,
        instance: Instance,
        physical: vk::PhysicalDevice,
        name: String,
    ) -> Result<Self, VulkanError> {
        // SAFETY: the physical device is the instance's, which lives.
        let (families, properties, memory) = unsafe {
            (
                instance.get_physical_device_queue_family_properties(physical),
                instance.get_physical_device_properties(physical),
                instance.get_physical_device_memory_properties(physical),
            )
        };
        let failed = |call, code: &dyn ToString| VulkanError::Failed {
            driver: name.clone(),
            call,
            code: code.to_string(),
        };
        let computes =
            |family: &vk::QueueFamilyProperties| family.queue_flags.contains(vk::QueueFlags::COMPUTE);
        let made = match families.iter().position(computes) {
            Some(family) => device(&instance, physical, family as u32)
                .map(|device| (device, family as u32))
                .map_err(|code| failed("vkCreateDevice", &code)),
            None => Err(failed("its queues", &"none computes")),
        };
        let (device, family) = match made {
            Ok(made) => made,
            Err(error) => {
                // SAFETY: nothing of the instance is left.
                unsafe { instance.destroy_instance(None) };
                return Err(error);
            }
        };
        let info = vk::CommandPoolCreateInfo { queue_family_index: family, ..Default::default() };
        // SAFETY: the device has one queue of this family.
        let (queue, pool) =
            unsafe { (device.get_device_queue(family, 0), device.create_command_pool(&info, None)) };
        let tick = f64::from(properties.limits.timestamp_period);
        let [_, _, has_vectors, ..] = offered(&instance, physical);
        let mut made = Self {
            _entry: entry,
            instance,
            device,
            queue,
            pool: vk::CommandPool::null(),
            memory,
            tick,
            has_vectors,
            name,
        };
        made.pool = pool.map_err(|code| made.failed("vkCreateCommandPool", code))?;
        Ok(made)
    }

    fn failed(&self, call: &'static str, code: impl ToString) -> VulkanError {
        VulkanError::Failed { driver: self.name.clone(), call, code: code.to_string() }
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // SAFETY: executions borrow this, so nothing of the device is in use.
        unsafe {
            self.device.destroy_command_pool(self.pool, None);
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

/// What a device and its driver are called.
fn driver_name(instance: &Instance, device: vk::PhysicalDevice) -> String {
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut properties =
        vk::PhysicalDeviceProperties2 { next: (&raw mut driver).cast(), ..Default::default() };
    // SAFETY: the device is the instance's; both structures are as long as the driver expects.
    unsafe { instance.get_physical_device_properties2(device, &mut properties) };
    let text = |text: &vk::StringArray<256>| text.to_string_lossy().into_owned();
    format!(
        "{} ({} {})",
        text(&properties.properties.device_name),
        text(&driver.driver_name),
        text(&driver.driver_info)
    )
}

/// Which of [`EXTENSIONS`] a device has.
fn offered(instance: &Instance, device: vk::PhysicalDevice) -> Offered {
    // SAFETY: the device is the instance's.
    let found = unsafe { instance.enumerate_device_extension_properties(device, None) }.unwrap_or_default();
    EXTENSIONS.map(|extension| found.iter().any(|known| known.extension_name == extension.name))
}

/// A device with one queue and all features that it offers.
fn device(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    queue_family: u32,
) -> Result<Device, vk::ErrorCode> {
    let offered = offered(instance, physical);
    let mut vulkan11 = vk::PhysicalDeviceVulkan11Features::default();
    let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default();
    let mut vulkan13 = vk::PhysicalDeviceVulkan13Features::default();
    let mut matrices = vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default();
    let mut matrices2 = vk::PhysicalDeviceCooperativeMatrix2FeaturesNV::default();
    let mut vectors = vk::PhysicalDeviceCooperativeVectorFeaturesNV::default();
    let mut bfloat16 = vk::PhysicalDeviceShaderBfloat16FeaturesKHR::default();
    let mut float8 = vk::PhysicalDeviceShaderFloat8FeaturesEXT::default();
    let mut next: *mut c_void = ptr::null_mut();
    let [has_matrices, has_matrices2, has_vectors, has_bfloat16, has_float8] = offered;
    macro_rules! chain {
        ($features:ident, $is_there:expr) => {
            if $is_there {
                $features.next = next;
                next = (&raw mut $features).cast();
            }
        };
    }
    chain!(vulkan11, true);
    chain!(vulkan12, true);
    chain!(vulkan13, true);
    chain!(matrices, has_matrices);
    chain!(matrices2, has_matrices2);
    chain!(vectors, has_vectors);
    chain!(bfloat16, has_bfloat16);
    chain!(float8, has_float8);
    let mut features = vk::PhysicalDeviceFeatures2 { next, ..Default::default() };
    // SAFETY: the device is the instance's; the structures of the chain live in this function.
    unsafe { instance.get_physical_device_features2(physical, &mut features) };
    features.features.robust_buffer_access = vk::FALSE;
    let queues =
        [vk::DeviceQueueCreateInfo::builder().queue_family_index(queue_family).queue_priorities(&[1.0])];
    let names = EXTENSIONS.iter().zip(offered).filter(|(_, is_there)| *is_there);
    let names: Vec<_> = names.map(|(extension, _)| extension.name.as_ptr()).collect();
    let mut info =
        vk::DeviceCreateInfo::builder().queue_create_infos(&queues).enabled_extension_names(&names).build();
    info.next = (&raw const features).cast();
    // SAFETY: all that `info` refers to lives in this function; features and extensions are those that the device offers.
    unsafe { instance.create_device(physical, &info, None) }
}

/// The entry point of every program.
const MAIN: &CStr = c"main";
