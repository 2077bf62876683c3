//! Instances, physical devices, and messengers.

use std::ffi::CString;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use phalanx::DeviceKind;
use vulkanalia_sys as vk;

use crate::core::machine;
use crate::core::presented::Presented;
use crate::core::profile;

/// Time after which a dispatch loses the device, unless `PHALANX_TIMEOUT` says otherwise. Drivers of GPUs allow some
/// seconds; what a GPU does in ten seconds, a processor with a few cores does in a quarter of an hour.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3600);

/// The same of a GPU, whose users wait for less.
const GPU_TIMEOUT: Duration = Duration::from_secs(60);

/// Names what runs kernels.
const DEVICE: &str = "PHALANX_DEVICE";

/// An instance.
#[derive(Debug)]
pub(crate) struct Instance {
    /// The first physical device.
    pub(crate) physical: Arc<PhysicalDevice>,
    /// The other ones.
    others: Vec<Arc<PhysicalDevice>>,
    /// Their handles, once they were asked for.
    pub(crate) physical_handles: OnceLock<Vec<usize>>,
}

impl Instance {
    /// An instance on this machine for a version of Vulkan, with these extensions enabled.
    pub(crate) fn with_extensions(
        api_version: u32,
        extensions: Vec<&'static str>,
    ) -> Result<Self, phalanx::Error> {
        let messengers = Arc::new(Messengers::default());
        let device = |kind| {
            PhysicalDevice::new(kind, api_version, extensions.clone(), Arc::clone(&messengers)).map(Arc::new)
        };
        let (first, others) = kinds(&std::env::var(DEVICE).unwrap_or_default())?;
        let physical = device(first)?;
        // Another that cannot be used is none.
        let others = others.into_iter().filter_map(|kind| device(kind).ok()).collect();
        Ok(Self { physical, others, physical_handles: OnceLock::new() })
    }

    /// The physical devices.
    pub(crate) fn physical_devices(&self) -> impl Iterator<Item = &Arc<PhysicalDevice>> {
        std::iter::once(&self.physical).chain(&self.others)
    }

    /// An instance on this machine.
    #[cfg(test)]
    pub(crate) fn new() -> Result<Self, phalanx::Error> {
        Self::with_extensions(vk::make_version(1, 3, 0), Vec::new())
    }
}

/// The processor, or a GPU.
#[derive(Debug)]
pub(crate) struct PhysicalDevice {
    kind: DeviceKind,
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
    pub(crate) messengers: Arc<Messengers>,
}

impl PhysicalDevice {
    fn new(
        kind: DeviceKind,
        api_version: u32,
        extensions: Vec<&'static str>,
        messengers: Arc<Messengers>,
    ) -> Result<Self, phalanx::Error> {
        let options = phalanx::DeviceOptions { kind, ..phalanx::DeviceOptions::default() };
        let info = phalanx::Device::describe(&options)?;
        let honest = match info.gpu {
            Some(_) => vk::PhysicalDeviceType::DISCRETE_GPU,
            None => vk::PhysicalDeviceType::CPU,
        };
        Ok(Self {
            kind,
            presented: Presented::from_environment(honest)?,
            memory_bytes: info.gpu.as_ref().map_or_else(machine::memory_bytes, |gpu| gpu.memory_bytes),
            info,
            api_version,
            extensions,
            messengers,
        })
    }

    pub(crate) fn is_gpu(&self) -> bool {
        self.info.gpu.is_some()
    }

    /// Its name among those of the machine.
    pub(crate) fn name(&self) -> String {
        self.kind.to_string()
    }

    /// What compiles and runs kernels. All logical devices that the process has of this one share it, and its threads and
    /// cache end with the last of them.
    pub(crate) fn start(&self) -> Result<Arc<phalanx::Device>, phalanx::Error> {
        static SHARED: Mutex<Vec<(DeviceKind, Weak<phalanx::Device>)>> = Mutex::new(Vec::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            shared.iter().find(|(kind, _)| *kind == self.kind).and_then(|(_, device)| device.upgrade());
        // What a copy of the process inherited runs nothing.
        if let Some(device) = known.filter(|device| !device.is_forked()) {
            return Ok(device);
        }
        let default = if self.info.gpu.is_some() { GPU_TIMEOUT } else { DEFAULT_TIMEOUT };
        let timeout = std::env::var_os(phalanx::TIMEOUT_VARIABLE).is_none().then_some(default);
        let profile = profile::is_wanted();
        let options = phalanx::DeviceOptions { kind: self.kind, timeout, profile, ..Default::default() };
        let device = Arc::new(phalanx::Device::new(&options)?);
        profile::keep(&device);
        shared.retain(|(kind, _)| *kind != self.kind);
        shared.push((self.kind, Arc::downgrade(&device)));
        Ok(device)
    }
}

/// The first device and the others: the one that is named, or without a name all that there are.
fn kinds(name: &str) -> Result<(DeviceKind, Vec<DeviceKind>), phalanx::Error> {
    match name.trim() {
        "" => {
            let first = DeviceKind::default();
            Ok((first, DeviceKind::available().into_iter().filter(|kind| *kind != first).collect()))
        }
        name => name.parse().map(|kind| (kind, Vec::new())).map_err(|_unknown| {
            let (expected, found) = (DeviceKind::EXPECTED.to_owned(), name.to_owned());
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
        let (first, others) = kinds("").unwrap();
        assert_eq!([&[first][..], &others].concat(), DeviceKind::available());
        assert_eq!(kinds(" interpreter").unwrap(), (DeviceKind::Interpreter, vec![]));
        assert!(kinds("gpu").unwrap_err().to_string().contains(DEVICE));
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
