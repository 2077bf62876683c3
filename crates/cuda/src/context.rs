//! What a program has open of a GPU, and its properties.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUcontext, CUdevice, CUdevice_attribute as Attribute};

use crate::driver::{self, check};
use crate::error::Error;

/// A context of the driver: memory, code and launches belong to one. It ends with its last user.
#[derive(Debug)]
pub(crate) struct Context {
    raw: CUcontext,
    /// Why nothing works any more.
    lost: OnceLock<String>,
}

// SAFETY: the driver lets any thread use a context, after `enter`.
unsafe impl Send for Context {}
// SAFETY: the driver guards its contexts itself.
unsafe impl Sync for Context {}

impl Context {
    /// Opens the GPU with this number.
    pub(crate) fn open(ordinal: u32) -> Result<Self, Error> {
        let device = device(ordinal)?;
        let mut raw = ptr::null_mut();
        let flags = sys::CUctx_flags::CU_CTX_MAP_HOST as u32;
        // SAFETY: the driver is started, `device` is one of its own, `raw` is written.
        check("opening the GPU", unsafe { sys::cuCtxCreate_v2(&raw mut raw, flags, device) })?;
        Ok(Self { raw, lost: OnceLock::new() })
    }

    /// Makes it the one that this thread's calls of the driver are for.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        if let Some(why) = self.lost.get() {
            return Err(Error::Lost { why: why.clone() });
        }
        // SAFETY: the context lives as long as `self`.
        check("entering the GPU's context", unsafe { sys::cuCtxSetCurrent(self.raw) })
    }

    /// The result of a call; a loss is remembered.
    pub(crate) fn check(&self, call: &'static str, result: sys::CUresult) -> Result<(), Error> {
        check(call, result).inspect_err(|error| {
            if let Error::Lost { why } = error {
                self.lose(why.clone());
            }
        })
    }

    /// The driver's own.
    pub(crate) fn raw(&self) -> CUcontext {
        self.raw
    }

    /// Whether nothing works any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Remembers that nothing works any more.
    pub(crate) fn lose(&self, why: String) {
        // The first reason stands.
        let _first = self.lost.set(why);
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // What runs in a lost one may never end, and destroying it would wait for that: the process keeps what it holds.
        if self.is_lost() {
            return;
        }
        // SAFETY: nobody uses it any more.
        let _refused = unsafe { sys::cuCtxDestroy_v2(self.raw) };
    }
}

/// How many GPUs there are.
pub(crate) fn count() -> Result<u32, Error> {
    driver::start()?;
    let mut count = 0;
    // SAFETY: the driver is started, `count` is written.
    check("counting GPUs", unsafe { sys::cuDeviceGetCount(&raw mut count) })?;
    Ok(u32::try_from(count).unwrap_or(0))
}

/// The GPU with this number.
pub(crate) fn device(ordinal: u32) -> Result<CUdevice, Error> {
    let count = count()?;
    let number = c_int::try_from(ordinal).ok().filter(|_| ordinal < count);
    let number = number.ok_or(Error::NoGpu { ordinal, count })?;
    let mut device = 0;
    // SAFETY: the driver is started, `device` is written.
    check("finding the GPU", unsafe { sys::cuDeviceGet(&raw mut device, number) })?;
    Ok(device)
}

/// A property of a GPU.
pub(crate) fn attribute(device: CUdevice, attribute: Attribute) -> Result<u32, Error> {
    let mut value = 0;
    // SAFETY: the driver is started, `device` is one of its own, `value` is written.
    check("asking the GPU", unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, device) })?;
    Ok(u32::try_from(value).unwrap_or(0))
}

/// The name of a GPU.
pub(crate) fn name(device: CUdevice) -> Result<String, Error> {
    let mut name: [c_char; 256] = [0; 256];
    // SAFETY: as above; the driver writes at most 256 characters, a zero at their end.
    check("asking for the GPU's name", unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), 256, device) })?;
    // SAFETY: there is a zero, as `name` began with zeros and the driver ends what it writes with one.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    Ok(name.to_string_lossy().into_owned())
}

/// The number that a GPU's vendor gave its kind, among devices of PCI; nothing where the system does not tell.
pub(crate) fn device_id(device: CUdevice) -> Option<u32> {
    let mut place: [c_char; 32] = [0; 32];
    // SAFETY: as above; the driver writes at most 32 characters, a zero at their end.
    let result = unsafe { sys::cuDeviceGetPCIBusId(place.as_mut_ptr(), 32, device) };
    check("asking where the GPU is", result).ok()?;
    // SAFETY: there is a zero, as `place` began with zeros and the driver ends what it writes with one.
    let place = unsafe { CStr::from_ptr(place.as_ptr()) }.to_str().ok()?.to_lowercase();
    let number = std::fs::read_to_string(format!("/sys/bus/pci/devices/{place}/device")).ok()?;
    u32::from_str_radix(number.trim().strip_prefix("0x")?, 16).ok()
}

/// Bytes of a GPU's memory.
pub(crate) fn memory(device: CUdevice) -> Result<u64, Error> {
    let mut bytes = 0;
    // SAFETY: as above, `bytes` is written.
    check("asking for the GPU's memory", unsafe { sys::cuDeviceTotalMem_v2(&raw mut bytes, device) })?;
    Ok(bytes as u64)
}
