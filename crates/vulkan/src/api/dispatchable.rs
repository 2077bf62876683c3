//! Dispatchable handles: pointers to objects whose first word belongs to the loader.

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use crate::core::command::CommandBuffer;
use crate::core::device::Device;
use crate::core::instance::{Instance, PhysicalDevice};
use crate::core::queue::Queue;

/// What the loader expects in the first word of a new object (`ICD_LOADER_MAGIC`).
const LOADER_MAGIC: usize = 0x01CD_C0DE;

/// What a dispatchable handle points to.
#[repr(C)]
struct Cell<T> {
    /// The loader replaces it by a pointer of its own.
    loader: usize,
    /// Tells types apart, and live objects from others.
    tag: usize,
    object: Arc<T>,
}

/// Objects with dispatchable handles.
pub(crate) trait Dispatchable: Sized {
    /// The type of the handle.
    type Handle: Handle<Repr = usize>;
    /// A number that no other type has.
    const TAG: usize;
}

macro_rules! dispatchable {
    ($($object:ident $tag:literal),*) => {$(
        impl Dispatchable for $object {
            type Handle = vk::$object;
            const TAG: usize = $tag;
        }
    )*};
}
dispatchable!(Instance 0x5048_0001, PhysicalDevice 0x5048_0002, Device 0x5048_0003, Queue 0x5048_0004, CommandBuffer 0x5048_0005);

/// Makes a handle. The object lives until [`destroy`], at least.
pub(crate) fn create<T: Dispatchable>(object: Arc<T>) -> T::Handle {
    let cell = Box::new(Cell { loader: LOADER_MAGIC, tag: T::TAG, object });
    T::Handle::from_raw(Box::into_raw(cell).expose_provenance())
}

/// The object behind a handle, for as long as the handle lives.
///
/// # Safety
///
/// The handle is null, or came from [`create`] and was not given to [`destroy`] for as long as `'a`.
pub(crate) unsafe fn object<'a, T: Dispatchable>(handle: T::Handle) -> Result<&'a Arc<T>, vk::Result> {
    let cell = std::ptr::with_exposed_provenance::<Cell<T>>(handle.as_raw());
    // SAFETY: null, or a pointer that `create` made of a box that still lives.
    match unsafe { cell.as_ref() } {
        Some(cell) if cell.tag == T::TAG => Ok(&cell.object),
        _ => Err(vk::Result::ERROR_UNKNOWN),
    }
}

/// Ends a handle; gives what it stood for.
///
/// # Safety
///
/// As for [`object`], and nobody uses the handle any more.
pub(crate) unsafe fn destroy<T: Dispatchable>(handle: T::Handle) -> Option<Arc<T>> {
    let cell = std::ptr::with_exposed_provenance_mut::<Cell<T>>(handle.as_raw());
    // SAFETY: null, or a pointer that `create` made of a box that still lives.
    match unsafe { cell.as_mut() } {
        Some(live) if live.tag == T::TAG => {
            live.tag = 0;
            // SAFETY: `create` made it of a box, and with the tag gone this happens once.
            let cell = unsafe { Box::from_raw(cell) };
            Some(cell.object)
        }
        _ => None,
    }
}
