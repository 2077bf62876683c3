//! An instance and a device for a case, what watches them, and what cleans up after them.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use vulkanalia::loader::{LIBRARY, LibloadingLoader, Loader, LoaderError};
use vulkanalia::prelude::v1_3::*;
use vulkanalia::vk::ExtDebugUtilsExtensionInstanceCommands;

/// After how many seconds the driver gives up a dispatch.
pub(crate) const TIMEOUT_SECONDS: u64 = 3;

/// Extensions that cases use.
const EXTENSIONS: [&CStr; 9] = [
    c"VK_EXT_robustness2",
    c"VK_EXT_shader_atomic_float",
    c"VK_EXT_shader_atomic_float2",
    c"VK_EXT_shader_image_atomic_int64",
    c"VK_KHR_cooperative_matrix",
    c"VK_KHR_pipeline_executable_properties",
    c"VK_KHR_push_descriptor",
    c"VK_NV_cooperative_matrix2",
    c"VK_NV_cooperative_vector",
];

const VALIDATION: &CStr = c"VK_LAYER_KHRONOS_validation";

/// What the layer of Debian 12 (1.3.239) says of extensions that are younger than it is.
const UNKNOWN_TO_OLD_LAYERS: [&str; 1] = [
    // It writes so of every structure that it does not know.
    "includes a structure with unknown VkStructureType",
];

/// How the driver is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The library itself, by its interface to the loader.
    Direct,
    /// The Khronos loader, which is told of the library by a manifest.
    Loader,
}

/// The driver that was built for this test.
pub(crate) fn library() -> &'static Path {
    static FOUND: LazyLock<PathBuf> = LazyLock::new(|| {
        let executable = std::env::current_exe().expect("the test has a path");
        let mut directories = executable.ancestors().skip(1).take(2);
        // Cargo builds the library beside the tests; `cargo build` links it one directory up.
        directories
            .find_map(|directory| Some(directory.join("libvulkan_phalanx.so")).filter(|path| path.is_file()))
            .expect("cargo builds the driver before its tests")
    });
    &FOUND
}

/// Sets the environment that the driver and the loader read, once and before either is loaded.
fn prepare() {
    static ONCE: LazyLock<()> = LazyLock::new(|| {
        let manifest = write_manifest();
        let timeout = TIMEOUT_SECONDS.to_string();
        for (name, value) in [
            ("VK_DRIVER_FILES", manifest.as_os_str()),
            // Loaders before 1.3.207 know this name only.
            ("VK_ICD_FILENAMES", manifest.as_os_str()),
            // Layers that users install for themselves are not under test.
            ("VK_LOADER_LAYERS_DISABLE", "~implicit~".as_ref()),
            ("NODEVICE_SELECT", "1".as_ref()),
            ("PHALANX_TIMEOUT", timeout.as_ref()),
        ] {
            // SAFETY: no C code reads the environment yet: every case comes through here before it loads a
            // library, and waits for whoever came first. Rust's own readers hold a lock.
            unsafe { std::env::set_var(name, value) };
        }
    });
    LazyLock::force(&ONCE);
}

/// Writes the manifest of the driver. All processes that test it write the same.
fn write_manifest() -> PathBuf {
    let manifest = serde_json::json!({
        "file_format_version": "1.0.1",
        "ICD": { "library_path": library(), "api_version": "1.3.341" },
    });
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = directory.join("phalanx_icd.json");
    let new = directory.join(format!("phalanx_icd.{}", std::process::id()));
    std::fs::write(&new, manifest.to_string()).expect("cargo's directory for tests is writable");
    std::fs::rename(&new, &path).expect("in one directory");
    path
}

/// The driver without the loader.
struct Driver(LibloadingLoader);

impl Loader for Driver {
    unsafe fn load(&self, name: &[u8]) -> Result<extern "system" fn(), Box<dyn LoaderError>> {
        // A driver exports this in place of `vkGetInstanceProcAddr`.
        assert_eq!(name, b"vkGetInstanceProcAddr");
        self.0.load(b"vk_icdGetInstanceProcAddr")
    }
}

/// An entry point; none if there is no loader on this machine.
pub(crate) fn entry(route: Route) -> Option<Entry> {
    prepare();
    // SAFETY: loading a library runs its initialisers: the driver has none of its own, and the loader is made for it.
    let load = |path: &Path| unsafe { LibloadingLoader::new(path) };
    let entry = match route {
        Route::Direct => {
            let driver = Driver(load(library()).expect("the driver loads"));
            // SAFETY: the driver's function has that type.
            unsafe { Entry::new(driver) }
        }
        // SAFETY: as above.
        Route::Loader => unsafe { Entry::new(load(Path::new(LIBRARY)).ok()?) },
    };
    Some(entry.expect("an entry point"))
}

/// What was said through debug utils.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// Errors that a layer found.
    errors: Mutex<Vec<String>>,
    /// What the driver said.
    said: Mutex<Vec<String>>,
}

unsafe extern "system" fn hear(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT,
    messages: *mut c_void,
) -> vk::Bool32 {
    let (data, messages) = (&*data, &*messages.cast::<Messages>());
    let text = |at: *const c_char| match at.is_null() {
        true => String::new(),
        false => CStr::from_ptr(at).to_string_lossy().into_owned(),
    };
    let (name, message) = (text(data.message_id_name), text(data.message));
    // The loader tells of every call that fails; its messages are of the general type.
    let is_validation = types.contains(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION);
    let list = match (name.as_str(), severity) {
        ("phalanx", _) => &messages.said,
        (_, vk::DebugUtilsMessageSeverityFlagsEXT::ERROR) if is_validation => &messages.errors,
        _ => return vk::FALSE,
    };
    list.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    vk::FALSE
}

fn messenger(messages: &Messages) -> vk::DebugUtilsMessengerCreateInfoEXT {
    vk::DebugUtilsMessengerCreateInfoEXT {
        message_severity: vk::DebugUtilsMessageSeverityFlagsEXT::all(),
        message_type: vk::DebugUtilsMessageTypeFlagsEXT::GENERAL
            | vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION,
        user_callback: Some(hear),
        user_data: std::ptr::from_ref(messages).cast_mut().cast(),
        ..Default::default()
    }
}

/// A driver with a device, and what a case does with them.
pub(crate) struct Gpu {
    pub(crate) entry: Entry,
    pub(crate) instance: Instance,
    pub(crate) physical: vk::PhysicalDevice,
    pub(crate) device: Device,
    pub(crate) queues: [vk::Queue; 2],
    pub(crate) commands: vk::CommandPool,
    /// Whether the validation layer looks on.
    pub(crate) is_validated: bool,
    messages: Box<Messages>,
    messenger: vk::DebugUtilsMessengerEXT,
    allowed: RefCell<Vec<&'static str>>,
    /// Destroys what the case created.
    leavings: RefCell<Vec<Leaving>>,
}

/// Destroys an object.
type Leaving = Box<dyn FnOnce(&Device)>;

/// Runs a case on a route, if there is such a route.
pub(crate) fn run(route: Route, case: unsafe fn(&Gpu)) {
    // SAFETY: cases keep to the rules of Vulkan.
    run_with(route, |gpu| unsafe { case(gpu) });
}

/// As [`run`], with a case that has arguments of its own.
#[expect(clippy::print_stderr, reason = "whoever reads the output should know what was not tested")]
pub(crate) fn run_with(route: Route, case: impl FnOnce(&Gpu)) {
    // The loader of Debian 12 (1.3.239) now and then faults where one thread creates a device beside another that destroys
    // one, whatever driver they are of.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = (route == Route::Loader).then(|| ALONE.lock().unwrap_or_else(PoisonError::into_inner));
    let Some(entry) = entry(route) else {
        eprintln!("skipped: the Vulkan loader ({LIBRARY}) is not installed");
        return;
    };
    // SAFETY: cases keep to the rules of Vulkan.
    unsafe {
        let gpu = Gpu::new(entry);
        case(&gpu);
        gpu.finish();
    }
}

impl Gpu {
    unsafe fn new(entry: Entry) -> Self {
        let messages = Box::<Messages>::default();
        let instance = create_instance(&entry, &messages);
        let messenger =
            instance.create_debug_utils_messenger_ext(&messenger(&messages), None).expect("a messenger");
        let physical = only_device(&instance);
        let device = create_device(&instance, physical, &EXTENSIONS).expect("a device");
        let queues = [0, 1].map(|index| device.get_device_queue(0, index));
        let info = vk::CommandPoolCreateInfo {
            flags: vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER,
            ..Default::default()
        };
        let commands = device.create_command_pool(&info, None).expect("a command pool");
        let (allowed, leavings) = Default::default();
        let is_validated = !instance.layers().is_empty();
        Self {
            is_validated,
            entry,
            instance,
            physical,
            device,
            queues,
            commands,
            messages,
            messenger,
            allowed,
            leavings,
        }
    }

    /// Lets the layer report what contains this.
    pub(crate) fn allow(&self, text: &'static str) {
        self.allowed.borrow_mut().push(text);
    }

    /// What the driver said so far.
    pub(crate) fn said(&self) -> String {
        self.messages.said.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// Has something destroyed in the end, before what was given earlier.
    pub(crate) fn later(&self, destroy: impl FnOnce(&Device) + 'static) {
        self.leavings.borrow_mut().push(Box::new(destroy));
    }

    unsafe fn finish(self) {
        let Self { instance, device, messages, .. } = self;
        // A device that is lost is idle, too.
        let _ = device.device_wait_idle();
        for destroy in self.leavings.into_inner().into_iter().rev() {
            destroy(&device);
        }
        device.destroy_command_pool(self.commands, None);
        device.destroy_device(None);
        instance.destroy_debug_utils_messenger_ext(self.messenger, None);
        instance.destroy_instance(None);
        let mut allowed = self.allowed.into_inner();
        allowed.extend(UNKNOWN_TO_OLD_LAYERS);
        let mut errors = messages.errors.into_inner().unwrap_or_else(PoisonError::into_inner);
        errors.retain(|error| !allowed.iter().any(|text| error.contains(text)));
        assert!(errors.is_empty(), "the validation layer found:\n{}", errors.join("\n"));
    }
}

unsafe fn create_instance(entry: &Entry, messages: &Messages) -> Instance {
    let layers = entry.enumerate_instance_layer_properties();
    // The driver itself knows no layers, and therefore not this function either.
    let layers = layers.unwrap_or_default();
    let has_validation = layers.iter().any(|layer| layer.layer_name.as_cstr() == VALIDATION);
    let layers: &[_] = if has_validation { &[VALIDATION.as_ptr()] } else { &[] };
    let application = vk::ApplicationInfo { api_version: vk::make_version(1, 3, 0), ..Default::default() };
    let extensions = [c"VK_EXT_debug_utils".as_ptr()];
    // Hears what happens while the instance is created and destroyed.
    let mut messenger = messenger(messages);
    let info = vk::InstanceCreateInfo::builder()
        .application_info(&application)
        .enabled_layer_names(layers)
        .enabled_extension_names(&extensions)
        .push_next(&mut messenger);
    entry.create_instance(&info, None).expect("an instance")
}

/// The driver's only device.
pub(crate) unsafe fn only_device(instance: &Instance) -> vk::PhysicalDevice {
    let devices = instance.enumerate_physical_devices().expect("physical devices");
    let [device] = devices.as_slice() else { panic!("{} devices", devices.len()) };
    *device
}

/// Creates a device with these extensions and two queues, with every feature that the cases could need.
pub(crate) unsafe fn create_device(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    extensions: &[&CStr],
) -> VkResult<Device> {
    let mut vulkan11 = vk::PhysicalDeviceVulkan11Features::default();
    let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default();
    let mut vulkan13 = vk::PhysicalDeviceVulkan13Features::default();
    let mut robustness = vk::PhysicalDeviceRobustness2FeaturesKHR::default();
    let mut matrices = vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default();
    let mut matrices2 = vk::PhysicalDeviceCooperativeMatrix2FeaturesNV::default();
    let mut vectors = vk::PhysicalDeviceCooperativeVectorFeaturesNV::default();
    let mut floats = vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT::default();
    let mut more_floats = vk::PhysicalDeviceShaderAtomicFloat2FeaturesEXT::default();
    let mut words = vk::PhysicalDeviceShaderImageAtomicInt64FeaturesEXT::default();
    let mut executables = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default();
    let mut features = vk::PhysicalDeviceFeatures2::builder()
        .push_next(&mut vulkan11)
        .push_next(&mut vulkan12)
        .push_next(&mut vulkan13);
    if extensions.contains(&c"VK_EXT_robustness2") {
        features = features.push_next(&mut robustness);
    }
    if extensions.contains(&c"VK_KHR_cooperative_matrix") {
        features = features.push_next(&mut matrices);
    }
    if extensions.contains(&c"VK_NV_cooperative_matrix2") {
        features = features.push_next(&mut matrices2);
    }
    if extensions.contains(&c"VK_NV_cooperative_vector") {
        features = features.push_next(&mut vectors);
    }
    if extensions.contains(&c"VK_KHR_pipeline_executable_properties") {
        features = features.push_next(&mut executables);
    }
    if extensions.contains(&c"VK_EXT_shader_atomic_float2") {
        features = features.push_next(&mut floats).push_next(&mut more_floats);
    }
    if extensions.contains(&c"VK_EXT_shader_image_atomic_int64") {
        features = features.push_next(&mut words);
    }
    let mut features = features.build();
    instance.get_physical_device_features2(physical, &mut features);
    let priorities = [1.0; 2];
    let queues = [vk::DeviceQueueCreateInfo::builder().queue_family_index(0).queue_priorities(&priorities)];
    let extensions: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
    let mut info = vk::DeviceCreateInfo::builder()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .build();
    info.next = (&raw const features).cast();
    instance.create_device(physical, &info, None)
}

/// What a command lists that is called for the number first and then for the things. The client library does not
/// say in `sType` what it has room for.
pub(crate) unsafe fn list<T: Default + Clone>(command: impl Fn(&mut u32, *mut T) -> vk::Result) -> Vec<T> {
    let mut count = 0;
    assert_eq!(command(&mut count, std::ptr::null_mut()), vk::Result::SUCCESS);
    let mut things = vec![T::default(); count as usize];
    assert_eq!(command(&mut count, things.as_mut_ptr()), vk::Result::SUCCESS);
    assert_eq!(count as usize, things.len());
    things
}
