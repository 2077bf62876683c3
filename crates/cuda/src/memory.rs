//! Memory of a GPU, most of it shared with the host.
//!
//! What is shared is managed by the driver: one address is good on both sides, and pages go where they are used. What a kernel works on
//! stays in the GPU's memory until the host looks at it.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cudarc::driver::sys::{self, CUresult, CUstream};
use phalanx_host::{Buffer, MemoryError};

use crate::context::Context;
use crate::error::Error;

/// A block of memory, which goes back with it.
#[derive(Debug)]
struct Block {
    context: Arc<Context>,
    address: u64,
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: the address is that of a block of the driver's, and nobody uses it any more.
            let _failed = unsafe { sys::cuMemFree_v2(self.address) };
        }
    }
}

/// A buffer of zeros.
pub(crate) fn managed(context: &Arc<Context>, size: u64) -> Result<Buffer, Error> {
    let out_of_memory = MemoryError::OutOfMemory { bytes: size };
    let bytes = usize::try_from(size.max(1)).map_err(|_wide| out_of_memory.clone())?;
    context.enter()?;
    let mut address = 0;
    let everyone = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32;
    // SAFETY: the context is entered, `address` is written.
    match unsafe { sys::cuMemAllocManaged(&raw mut address, bytes, everyone) } {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => return Err(out_of_memory.into()),
        result => context.check("allocating memory", result)?,
    }
    let owner = Block { context: Arc::clone(context), address };
    // SAFETY: the block has this size.
    context.check("clearing memory", unsafe { sys::cuMemsetD8_v2(address, 0, bytes) })?;
    let start = NonNull::new(ptr::with_exposed_provenance_mut(address as usize));
    let start = start.ok_or(Error::Memory(out_of_memory))?;
    // SAFETY: `size` bytes from `start` are ours, and can be accessed by the host, until `owner` is dropped.
    Ok(unsafe { Buffer::from_owner(start, bytes.min(size as usize), Box::new(owner)) })
}

/// Memory of the host that the driver has locked for the GPU, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Registered {
    context: Arc<Context>,
    address: u64,
}

/// Lets the GPU see memory of the host, at the address that the host has for it.
pub(crate) fn register(context: &Arc<Context>, address: u64, size: u64) -> Result<Registered, Error> {
    const WHAT: &str = "locking memory of the host for the GPU";
    let start = ptr::with_exposed_provenance_mut::<c_void>(address as usize);
    let bytes = usize::try_from(size).map_err(|_wide| MemoryError::OutOfMemory { bytes: size })?;
    context.enter()?;
    let flags = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
    // SAFETY: the context is entered; the driver refuses what is not mapped, and reads nothing.
    context.check(WHAT, unsafe { sys::cuMemHostRegister_v2(start, bytes, flags) })?;
    let registered = Registered { context: Arc::clone(context), address };
    let mut seen = 0;
    // SAFETY: the range was registered; `seen` is written.
    context.check(WHAT, unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut seen, start, 0) })?;
    if seen == address {
        return Ok(registered);
    }
    Err(Error::Driver { call: WHAT, why: "the GPU sees it at another address".to_owned() })
}

impl Drop for Registered {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            let start = ptr::with_exposed_provenance_mut(self.address as usize);
            // SAFETY: `register` has registered it, and nobody uses it on the GPU any more.
            let _failed = unsafe { sys::cuMemHostUnregister(start) };
        }
    }
}

/// Memory of the GPU that the host does not see, of unspecified content.
#[derive(Debug)]
pub(crate) struct Private {
    block: Block,
    bytes: u64,
}

impl Private {
    /// A block of at least so many bytes.
    pub(crate) fn new(context: &Arc<Context>, bytes: u64) -> Result<Self, Error> {
        let out_of_memory = MemoryError::OutOfMemory { bytes };
        let size = usize::try_from(bytes).map_err(|_wide| out_of_memory.clone())?;
        context.enter()?;
        let mut address = 0;
        // SAFETY: the context is entered, `address` is written.
        match unsafe { sys::cuMemAlloc_v2(&raw mut address, size) } {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => return Err(out_of_memory.into()),
            result => context.check("allocating memory", result)?,
        }
        Ok(Self { block: Block { context: Arc::clone(context), address }, bytes })
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its address on the GPU.
    pub(crate) fn address(&self) -> u64 {
        self.block.address
    }

    /// Reads bytes, when all that writes them has ended.
    pub(crate) fn read(&self, offset: u64, bytes: u64) -> Result<Vec<u8>, Error> {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes), "it is inside");
        let mut data = vec![0; bytes as usize];
        if bytes > 0 {
            let context = &self.block.context;
            context.enter()?;
            // SAFETY: the context is entered; the range is inside, by the assertion, and `data` is as long.
            let result = unsafe {
                sys::cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), self.address() + offset, data.len())
            };
            context.check("reading memory", result)?;
        }
        Ok(data)
    }
}

/// Memory of the GPU, and as much of the host from which it is written.
#[derive(Debug)]
pub(crate) struct Staged {
    host: Pinned,
    own: Private,
}

impl Staged {
    pub(crate) fn new(context: &Arc<Context>, bytes: u64) -> Result<Self, Error> {
        let own = Private::new(context, bytes)?;
        let size = usize::try_from(bytes).map_err(|_wide| MemoryError::OutOfMemory { bytes })?;
        Ok(Self { host: Pinned::new(context, size)?, own })
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> u64 {
        self.own.bytes()
    }

    /// Its address on the GPU.
    pub(crate) fn address(&self) -> u64 {
        self.own.address()
    }

    /// Writes bytes in the order of a stream, of which nothing may still write the same place.
    pub(crate) fn upload(&self, offset: u64, data: &[u8], stream: CUstream) -> Result<(), Error> {
        if data.is_empty() {
            return Ok(());
        }
        self.host.write(offset as usize, data);
        let (to, from) = (self.address() + offset, self.host.address() + offset);
        // SAFETY: the context is entered by who has the stream; `Pinned::write` has seen that the range is inside of one block,
        // and the other is as long.
        let result = unsafe { sys::cuMemcpyAsync(to, from, data.len(), stream) };
        self.own.block.context.check("writing memory", result)
    }
}

/// Memory of the host that the GPU sees: for what is written once and read once.
#[derive(Debug)]
pub(crate) struct Pinned {
    context: Arc<Context>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the block is owned, and any thread may use it.
unsafe impl Send for Pinned {}

impl Pinned {
    /// A block of zeros; its address is the same on both sides.
    pub(crate) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, Error> {
        context.enter()?;
        let mut start = ptr::null_mut();
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: the context is entered, `start` is written.
        let result = unsafe { sys::cuMemHostAlloc(&raw mut start, bytes, flags) };
        context.check("allocating memory of the host", result)?;
        let out_of_memory = MemoryError::OutOfMemory { bytes: bytes as u64 };
        let start = NonNull::new(start.cast::<u8>()).ok_or(out_of_memory)?;
        // SAFETY: the block has this size.
        unsafe { ptr::write_bytes(start.as_ptr(), 0, bytes) };
        Ok(Self { context: Arc::clone(context), start, bytes })
    }

    /// Its address, on the GPU too: with unified addresses they are the same.
    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    /// Writes bytes, each as if it were volatile.
    pub(crate) fn write(&self, offset: usize, data: &[u8]) {
        assert!(offset.checked_add(data.len()).is_some_and(|end| end <= self.bytes), "it is inside");
        // SAFETY: the range is inside, by the line above; the GPU may read meanwhile, through pointers of its own.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), self.start.as_ptr().add(offset), data.len()) };
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: the block is the driver's, and nobody uses it any more.
            let _failed = unsafe { sys::cuMemFreeHost(self.start.as_ptr().cast()) };
        }
    }
}
