//! Instances, physical devices, and messengers.

use std::ffi::CString;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use vulkanalia_sys as vk;

use crate::core::machine;
use crate::core::presented::Presented;
use crate::core::profile;

/// Time after which a dispatch loses the device, unless `PHALANX_TIMEOUT` says otherwise. Drivers of GPUs allow some
/// seconds; what a GPU does in ten seconds, a processor with a few cores does in a quarter of an hour.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3600);

/// Names what runs kernels.
const DEVICE: &str = "PHALANX_DEVICE";

/// An instance.
#[derive(Debug)]
pub(crate) struct Instance {
    /// The only physical device.
    pub(crate) physical: Arc<PhysicalDevice>,
    /// Its handle, once it was asked for.
    pub(crate) physical_handle: OnceLock<usize>,
}

impl Instance {
    /// An instance on this machine for a version of Vulkan, with these extensions enabled.
    pub(crate) fn with_extensions(
        api_version: u32,
        extensions: Vec<&'static str>,
    ) -> Result<Self, phalanx::Error> {
        let physical = Arc::new(PhysicalDevice::new(api_version, extensions)?);
        Ok(Self { physical, physical_handle: OnceLock::new() })
    }

    /// An instance on this machine.
    #[cfg(test)]
    pub(crate) fn new() -> Result<Self, phalanx::Error> {
        Self::with_extensions(vk::make_version(1, 3, 0), Vec::new())
    }
}

/// The machine.
#[derive(Debug)]
pub(crate) struct PhysicalDevice {
    /// What it offers to kernels.
    pub(crate) info: phalanx::DeviceInfo,
    /// What it says it is.
    pub(crate) presented: Presented,
    /// Bytes of its memory.
    pub(crate) memory_bytes: u64,
    /// The version of Vulkan that its instance is for.
    pub(crate) api_version: u32,
    /// The extensions of its instance that are enabled.
    pub(crate) extensions: Vec<&'static str>,
    /// Those who are told what happens.
    pub(crate) messengers: Messengers,
}

impl PhysicalDevice {
    fn new(api_version: u32, extensions: Vec<&'static str>) -> Result<Self, phalanx::Error> {
        Ok(Self {
            info: phalanx::Device::describe(&options()?)?,
            presented: Presented::from_environment()?,
            memory_bytes: machine::memory_bytes(),
            api_version,
            extensions,
            messengers: Messengers::default(),
        })
    }

    /// What compiles and runs kernels. All logical devices of the process share it, and its threads and
    /// cache end with the last of them.
    pub(crate) fn start() -> Result<Arc<phalanx::Device>, phalanx::Error> {
        static SHARED: Mutex<Weak<phalanx::Device>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        // What a copy of the process inherited runs nothing.
        if let Some(device) = shared.upgrade().filter(|device| !device.is_forked()) {
            return Ok(device);
        }
        let timeout = std::env::var_os(phalanx::TIMEOUT_VARIABLE).is_none().then_some(DEFAULT_TIMEOUT);
        let profile = profile::is_wanted();
        let options = phalanx::DeviceOptions { timeout, profile, ..options()? };
        let device = Arc::new(phalanx::Device::new(&options)?);
        profile::keep(&device);
        *shared = Arc::downgrade(&device);
        Ok(device)
    }
}

/// The device that the environment asks for.
fn options() -> Result<phalanx::DeviceOptions, phalanx::Error> {
    let kind = kind_of_name(&std::env::var(DEVICE).unwrap_or_default())?;
    Ok(phalanx::DeviceOptions { kind, ..phalanx::DeviceOptions::default() })
}

fn kind_of_name(name: &str) -> Result<phalanx::DeviceKind, phalanx::Error> {
    match name.trim() {
        "" => Ok(phalanx::DeviceKind::default()),
        name => name.parse().map_err(|_unknown| {
            let (expected, found) = (phalanx::DeviceKind::EXPECTED.to_owned(), name.to_owned());
            phalanx::Error::Setting { name: DEVICE, expected, found }
        }),
    }
}

/// Calls a messenger of the application.
type Call = dyn Fn(
        vk::DebugUtilsMessageSeverityFlagsEXT,
        vk::DebugUtilsMessageTypeFlagsEXT,
        &vk::DebugUtilsMessengerCallbackDataEXT,
    ) + Send
    + Sync;

/// A function of the application that wants to know what happens.
pub(crate) struct Messenger {
    pub(crate) severities: vk::DebugUtilsMessageSeverityFlagsEXT,
    pub(crate) types: vk::DebugUtilsMessageTypeFlagsEXT,
    pub(crate) call: Box<Call>,
}

impl fmt::Debug for Messenger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Messenger");
        f.field("severities", &self.severities).field("types", &self.types).finish_non_exhaustive()
    }
}

/// The messengers of an instance.
#[derive(Debug, Default)]
pub(crate) struct Messengers {
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    last: u64,
    entries: Vec<(u64, Arc<Messenger>)>,
}

impl Messengers {
    /// Adds a messenger; gives its handle.
    pub(crate) fn add(&self, messenger: Messenger) -> u64 {
        let mut list = self.lock();
        list.last += 1;
        let handle = list.last;
        list.entries.push((handle, Arc::new(messenger)));
        handle
    }

    /// Removes a messenger.
    pub(crate) fn remove(&self, handle: u64) {
        self.lock().entries.retain(|entry| entry.0 != handle);
    }

    /// Calls the messengers that want such messages.
    pub(crate) fn send(
        &self,
        severity: vk::DebugUtilsMessageSeverityFlagsEXT,
        types: vk::DebugUtilsMessageTypeFlagsEXT,
        data: &vk::DebugUtilsMessengerCallbackDataEXT,
    ) {
        // Not under the lock: what the application does in there may take its time.
        let entries: Vec<_> = self.lock().entries.iter().map(|entry| Arc::clone(&entry.1)).collect();
        for messenger in entries {
            if messenger.severities.contains(severity) && messenger.types.intersects(types) {
                (messenger.call)(severity, types, data);
            }
        }
    }

    /// Tells them something that the driver has to say.
    pub(crate) fn message(&self, severity: vk::DebugUtilsMessageSeverityFlagsEXT, text: &str) {
        if self.lock().entries.is_empty() {
            return;
        }
        // A zero would end the text.
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        let data = vk::DebugUtilsMessengerCallbackDataEXT {
            message_id_name: c"phalanx".as_ptr(),
            message: text.as_ptr(),
            ..Default::default()
        };
        self.send(severity, vk::DebugUtilsMessageTypeFlagsEXT::GENERAL, &data);
    }

    /// Whether somebody wants such messages of the driver.
    pub(crate) fn hears(&self, severity: vk::DebugUtilsMessageSeverityFlagsEXT) -> bool {
        let types = vk::DebugUtilsMessageTypeFlagsEXT::GENERAL;
        self.lock()
            .entries
            .iter()
            .any(|(_, one)| one.severities.contains(severity) && one.types.intersects(types))
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        // Nothing under this lock panics half-way through a change.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    use vk::DebugUtilsMessageSeverityFlagsEXT as Severity;
    use vk::DebugUtilsMessageTypeFlagsEXT as Type;

    #[test]
    fn other_devices_are_told_of() {
        assert_eq!(kind_of_name("").unwrap(), phalanx::DeviceKind::Cpu);
        assert_eq!(kind_of_name(" interpreter").unwrap(), phalanx::DeviceKind::Interpreter);
        assert!(kind_of_name("gpu").unwrap_err().to_string().contains(DEVICE));
    }

    #[test]
    fn messengers_hear_what_they_asked_for() {
        let heard = Arc::new(AtomicU32::new(0));
        let messengers = Messengers::default();
        let counter = Arc::clone(&heard);
        let messenger = Messenger {
            severities: Severity::ERROR,
            types: Type::GENERAL,
            call: Box::new(move |_, _, data| {
                assert!(!data.message.is_null());
                counter.fetch_add(1, Ordering::Relaxed);
            }),
        };
        let handle = messengers.add(messenger);
        messengers.message(Severity::ERROR, "a text with a \0 inside");
        messengers.message(Severity::WARNING, "not for it");
        messengers.remove(handle);
        messengers.message(Severity::ERROR, "nobody hears this");
        assert_eq!(heard.load(Ordering::Relaxed), 1);
    }
}
