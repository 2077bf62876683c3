//! Chains of structures (`pNext`).

use std::ffi::c_void;

use vulkanalia_sys as vk;

/// A structure that begins with its type and the pointer to the next one.
///
/// # Safety
///
/// `TYPE` is the `sType` of this structure and of no other, and the structure begins with
/// `sType` and `pNext`.
pub(crate) unsafe trait Structure {
    /// Its `sType`.
    const TYPE: vk::StructureType;
}

/// Says of structures which type each has.
macro_rules! structures {
    ($($name:ident = $ty:ident),* $(,)?) => {$(
        // SAFETY: the registry gives the structure this type; all structures with an `sType` begin alike.
        unsafe impl $crate::api::chain::Structure for vulkanalia_sys::$name {
            const TYPE: vulkanalia_sys::StructureType = vulkanalia_sys::StructureType::$ty;
        }
    )*};
}
pub(crate) use structures;

/// Where each structure of a chain lies, with its type.
///
/// # Safety
///
/// `next` is a valid chain for as long as the iterator is used.
pub(crate) unsafe fn links(next: *const c_void) -> impl Iterator<Item = (vk::StructureType, *const c_void)> {
    let mut link = next.cast::<vk::BaseInStructure>();
    std::iter::from_fn(move || {
        // SAFETY: null, or a structure of a valid chain.
        let structure = unsafe { link.as_ref() }?;
        let found = (structure.s_type, link.cast());
        link = structure.next;
        Some(found)
    })
}

/// The structure of a type in a chain.
///
/// # Safety
///
/// `next` is a valid chain that lives as long as `'a`.
pub(crate) unsafe fn find<'a, T: Structure>(next: *const c_void) -> Option<&'a T> {
    // SAFETY: `next` is a valid chain.
    let (_, at) = unsafe { links(next) }.find(|&(ty, _)| ty == T::TYPE)?;
    // SAFETY: a structure of this type, by its `sType`.
    unsafe { at.cast::<T>().as_ref() }
}

/// The structure of a type in a chain that is to be filled.
///
/// # Safety
///
/// `next` is a valid chain that lives as long as `'a`, and nothing else refers to that structure.
pub(crate) unsafe fn find_mut<'a, T: Structure>(next: *mut c_void) -> Option<&'a mut T> {
    // SAFETY: `next` is a valid chain.
    let (_, at) = unsafe { links(next) }.find(|&(ty, _)| ty == T::TYPE)?;
    // SAFETY: a structure of this type, by its `sType`, in a chain that is ours to fill.
    unsafe { at.cast::<T>().cast_mut().as_mut() }
}

/// Writes a structure of a chain, but for the pointer to the next one.
///
/// # Safety
///
/// `at` points to a `T`, which begins with `sType` and `pNext`, and is ours to write.
pub(crate) unsafe fn put<T>(at: *mut c_void, value: T) {
    let header = at.cast::<vk::BaseOutStructure>();
    // SAFETY: every structure begins like this one.
    let next = unsafe { (*header).next };
    // SAFETY: as this function's.
    unsafe { at.cast::<T>().write(value) };
    // SAFETY: as above.
    unsafe { (*header).next = next };
}

/// The elements of an array that C passes; none if its pointer is null.
///
/// # Safety
///
/// `pointer` is null or points to `count` elements that live as long as `'a`.
pub(crate) unsafe fn slice<'a, T>(pointer: *const T, count: u32) -> &'a [T] {
    if pointer.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: as this function's.
    unsafe { std::slice::from_raw_parts(pointer, count as usize) }
}

/// The elements of an array that C passes to be filled; none if its pointer is null.
///
/// # Safety
///
/// `pointer` is null or points to `count` initialised elements that live as long as `'a`, and nothing else
/// refers to them.
pub(crate) unsafe fn slice_mut<'a, T>(pointer: *mut T, count: u32) -> &'a mut [T] {
    if pointer.is_null() || count == 0 {
        return &mut [];
    }
    // SAFETY: as this function's.
    unsafe { std::slice::from_raw_parts_mut(pointer, count as usize) }
}

/// Answers a query for a list by Vulkan's two-call idiom: without an array the number of elements; with one as
/// many elements as there is room for, and `VK_INCOMPLETE` if that is not all.
///
/// # Safety
///
/// `count` is valid; `array` is null or has room for `*count` elements.
pub(crate) unsafe fn list<T: Copy>(count: *mut u32, array: *mut T, items: &[T]) -> Result<(), vk::Result> {
    // SAFETY: as this function's.
    unsafe { list_with(count, array, items, |to, item| *to = *item) }
}

/// As [`list`], for structures of which `fill` keeps `sType` and `pNext`.
///
/// # Safety
///
/// As for [`list`], and the elements of `array` are initialised.
pub(crate) unsafe fn list_with<T, U>(
    count: *mut u32,
    array: *mut T,
    items: &[U],
    mut fill: impl FnMut(&mut T, &U),
) -> Result<(), vk::Result> {
    // SAFETY: as this function's.
    let count = unsafe { count.as_mut() }.ok_or(vk::Result::ERROR_UNKNOWN)?;
    let all = items.len() as u32;
    if array.is_null() {
        *count = all;
        return Ok(());
    }
    *count = all.min(*count);
    // SAFETY: the array has room for at least this many elements.
    let array = unsafe { slice_mut(array, *count) };
    for (to, item) in array.iter_mut().zip(items) {
        fill(to, item);
    }
    if *count < all { Err(vk::Result::INCOMPLETE) } else { Ok(()) }
}

/// Text for a fixed array of characters, cut to fit with its terminating zero.
pub(crate) fn characters<const N: usize>(text: &str) -> vk::StringArray<N> {
    let mut bytes = [0_u8; N];
    let mut end = text.len().min(N - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    bytes[..end].copy_from_slice(&text.as_bytes()[..end]);
    vk::StringArray::from_bytes(&bytes[..end])
}

/// A string that C passes; empty if it is null or not UTF-8.
///
/// # Safety
///
/// `text` is null or a string that ends with a zero and lives as long as `'a`.
pub(crate) unsafe fn text<'a>(text: *const std::ffi::c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    // SAFETY: as this function's.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_str().unwrap_or_default()
}
