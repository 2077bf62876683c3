//! The functions of the process that object code may call.
//!
//! LLVM calls them on its own account; all else is reached through tables that are passed at dispatch.

type MemCopy = unsafe extern "C" fn(*mut libc::c_void, *const libc::c_void, usize) -> *mut libc::c_void;
type MemSet = unsafe extern "C" fn(*mut libc::c_void, i32, usize) -> *mut libc::c_void;

/// The address of a function that object code may call.
pub(super) fn address(name: &str) -> Option<u64> {
    let (copy, shift): (MemCopy, MemCopy) = (libc::memcpy, libc::memmove);
    let set: MemSet = libc::memset;
    let address = match name {
        "memcpy" => copy as usize,
        "memmove" => shift as usize,
        "memset" => set as usize,
        _ => return None,
    };
    Some(address as u64)
}
