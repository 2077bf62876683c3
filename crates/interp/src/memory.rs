//! The memory that a program sees: buffers, what is bound to them, push constants, shared memory.

use std::sync::Arc;

use crate::traffic::{Access, Traffic};
use phalanx_ir::{Binding, ImageLayout, Sampler, Scalar};

/// A buffer of a [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferId(usize);

/// A part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The buffer.
    pub buffer: BufferId,
    /// Its first byte.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The buffers of a dispatch and the descriptors that refer to them. Several descriptors may refer
/// to one buffer.
#[derive(Debug, Default)]
pub struct Memory<'a> {
    buffers: Vec<Buffer<'a>>,
    bindings: Vec<Vec<Option<Region>>>,
    images: Vec<Vec<Option<Arc<Image>>>>,
    samplers: Vec<Vec<Option<Sampler>>>,
    push: &'a [u8],
}

/// Memory that is an image.
#[derive(Debug)]
pub(crate) struct Image {
    region: Region,
    pub(crate) layout: ImageLayout,
}

#[derive(Debug)]
struct Buffer<'a> {
    bytes: &'a mut [u8],
    address: u64,
}

impl<'a> Memory<'a> {
    /// No buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a buffer at a device address, 0 for none. Buffers with addresses must not overlap.
    pub fn add_buffer(&mut self, bytes: &'a mut [u8], address: u64) -> BufferId {
        self.buffers.push(Buffer { bytes, address });
        BufferId(self.buffers.len() - 1)
    }

    /// Points an element of a descriptor array at a region, which is cut at the buffer's end.
    /// Elements that are never bound are empty buffers.
    ///
    /// # Panics
    ///
    /// If the buffer is of another `Memory`.
    pub fn bind(&mut self, binding: Binding, index: usize, region: Region) {
        let region = self.cut(region);
        grow(&mut self.bindings, binding.index(), Vec::new());
        let array = &mut self.bindings[binding.index()];
        grow(array, index, None);
        array[index] = Some(region);
    }

    /// Points an element of an array of images at a region, which is cut at the buffer's end, and says how texels
    /// lie there. Elements that are never bound are images without texels.
    ///
    /// # Panics
    ///
    /// If the buffer is of another `Memory`.
    pub fn bind_image(&mut self, binding: Binding, index: usize, region: Region, layout: ImageLayout) {
        let region = self.cut(region);
        grow(&mut self.images, binding.index(), Vec::new());
        let array = &mut self.images[binding.index()];
        grow(array, index, None);
        array[index] = Some(Arc::new(Image { region, layout }));
    }

    /// Sets an element of an array of samplers, or the sampler of an element of an array of images. Without it a
    /// sampler is the default.
    pub fn bind_sampler(&mut self, binding: Binding, index: usize, sampler: Sampler) {
        grow(&mut self.samplers, binding.index(), Vec::new());
        let array = &mut self.samplers[binding.index()];
        grow(array, index, None);
        array[index] = Some(sampler);
    }

    /// What of a region lies in its buffer.
    fn cut(&self, region: Region) -> Region {
        let size = self.buffers[region.buffer.0].bytes.len() as u64;
        let offset = region.offset.min(size);
        Region { offset, bytes: region.bytes.min(size - offset), ..region }
    }

    /// Points the only element of a binding at a whole buffer.
    pub fn bind_buffer(&mut self, binding: Binding, buffer: BufferId) {
        self.bind(binding, 0, Region { buffer, offset: 0, bytes: u64::MAX });
    }

    /// The number of its buffers.
    pub(crate) fn buffers(&self) -> usize {
        self.buffers.len()
    }

    /// Sets the push constants.
    pub fn set_push(&mut self, bytes: &'a [u8]) {
        self.push = bytes;
    }
}

fn grow<T: Clone>(list: &mut Vec<T>, index: usize, fill: T) {
    if list.len() <= index {
        list.resize(index + 1, fill);
    }
}

/// What a pointer points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// A region of a buffer, from this offset.
    Buffer(usize, u64),
    /// The push constants.
    Push,
    /// Shared memory, from this offset.
    Shared(u64),
    /// The address space.
    Global,
}

/// A pointer: `offset` bytes into an object of `bytes` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    object: Object,
    offset: i64,
    bytes: u64,
}

impl Pointer {
    /// The address 0.
    pub(crate) const NULL: Self = Self::global(0);

    pub(crate) const fn global(address: u64) -> Self {
        Self { object: Object::Global, offset: address as i64, bytes: 0 }
    }

    pub(crate) fn shared(offset: u32, bytes: u32) -> Self {
        Self { object: Object::Shared(offset.into()), offset: 0, bytes: bytes.into() }
    }

    /// This pointer moved, with wrapping.
    pub(crate) fn add(self, bytes: i64) -> Self {
        Self { offset: self.offset.wrapping_add(bytes), ..self }
    }

    /// Where the accessed bytes start in the object, if all of them are in it.
    fn in_bounds(self, bytes: u32) -> Option<u64> {
        let start = u64::try_from(self.offset).ok()?;
        (start.checked_add(bytes.into())? <= self.bytes).then_some(start)
    }
}

/// An access to an address that is in no buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) address: u64,
    pub(crate) bytes: u32,
}

/// Memory as a work-group sees it.
#[derive(Debug)]
pub(crate) struct View<'v, 'a> {
    pub(crate) memory: &'v mut Memory<'a>,
    /// The memory shared by the work-group.
    pub(crate) shared: Vec<u8>,
    /// Accesses out of bounds so far.
    pub(crate) out_of_bounds: u64,
    /// Those that were not; of each buffer of the memory, too.
    pub(crate) traffic: Traffic,
}

impl View<'_, '_> {
    /// The start of a bound buffer.
    pub(crate) fn buffer(&self, binding: Binding, index: u32) -> Pointer {
        let array = self.memory.bindings.get(binding.index());
        match array.and_then(|array| *array.get(index as usize)?) {
            Some(region) => Pointer {
                object: Object::Buffer(region.buffer.0, region.offset),
                offset: 0,
                bytes: region.bytes,
            },
            None => Pointer { object: Object::Push, offset: 0, bytes: 0 },
        }
    }

    /// A bound image.
    pub(crate) fn image(&self, binding: Binding, index: u32) -> Option<Arc<Image>> {
        self.memory.images.get(binding.index())?.get(index as usize)?.clone()
    }

    /// A bound sampler, or that of a bound image.
    pub(crate) fn sampler(&self, binding: Binding, index: u32) -> Sampler {
        let array = self.memory.samplers.get(binding.index());
        array.and_then(|array| *array.get(index as usize)?).unwrap_or_default()
    }

    /// The bytes of a texel of an image, if they lie in its memory.
    pub(crate) fn texel(&mut self, image: &Image, at: u64, access: Access) -> Option<&mut [u8]> {
        let Region { buffer, offset, bytes } = image.region;
        let object = Object::Buffer(buffer.0, offset);
        let pointer = Pointer { object, offset: i64::try_from(at).ok()?, bytes };
        self.bytes_mut(pointer, image.layout.format.bytes() as u32, access).ok().flatten()
    }

    pub(crate) fn push(&self) -> Pointer {
        Pointer { object: Object::Push, offset: 0, bytes: self.memory.push.len() as u64 }
    }

    /// The device address that a pointer stands for. Pointers into objects without an address give
    /// their offset in the object.
    pub(crate) fn address(&self, p: Pointer) -> u64 {
        let start = match p.object {
            Object::Buffer(buffer, start) => self.memory.buffers[buffer].address.wrapping_add(start),
            Object::Shared(start) => start,
            Object::Push | Object::Global => 0,
        };
        start.wrapping_add(p.offset as u64)
    }

    /// Bytes from the pointer to the end of its object, 0 when outside.
    pub(crate) fn bytes_left(&self, p: Pointer) -> u64 {
        if p.object == Object::Global {
            let end = |(buffer, start): (usize, usize)| self.memory.buffers[buffer].bytes.len() - start;
            return self.find(self.address(p), 0).map_or(0, |place| end(place) as u64);
        }
        p.in_bounds(0).map_or(0, |start| p.bytes - start)
    }

    /// The buffer that holds bytes at an address, and where.
    fn find(&self, address: u64, bytes: u32) -> Option<(usize, usize)> {
        self.memory.buffers.iter().enumerate().find_map(|(i, buffer)| {
            let start = address.checked_sub(buffer.address).filter(|_| buffer.address != 0)?;
            let end = start.checked_add(bytes.into())?;
            (end <= buffer.bytes.len() as u64).then_some((i, start as usize))
        })
    }

    /// The bytes of an access, or none if it is out of bounds.
    fn bytes_mut(&mut self, p: Pointer, bytes: u32, access: Access) -> Result<Option<&mut [u8]>, Fault> {
        let len = bytes as usize;
        if p.object == Object::Global {
            let address = self.address(p);
            let (buffer, start) = self.find(address, bytes).ok_or(Fault { address, bytes })?;
            self.traffic.buffers[buffer].add(access, bytes);
            return Ok(Some(&mut self.memory.buffers[buffer].bytes[start..start + len]));
        }
        let Some(offset) = p.in_bounds(bytes) else {
            self.out_of_bounds += 1;
            return Ok(None);
        };
        let (memory, accesses, start) = match p.object {
            Object::Buffer(buffer, start) => {
                let accesses = &mut self.traffic.buffers[buffer];
                (&mut *self.memory.buffers[buffer].bytes, accesses, start)
            }
            Object::Shared(start) => (&mut *self.shared, &mut self.traffic.shared, start),
            Object::Push | Object::Global => return Ok(None),
        };
        accesses.add(access, bytes);
        let start = (start + offset) as usize;
        Ok(Some(&mut memory[start..start + len]))
    }

    /// Reads a scalar; zero out of bounds.
    pub(crate) fn read(&mut self, p: Pointer, ty: Scalar) -> Result<u64, Fault> {
        if p.object == Object::Push {
            return Ok(self.read_push(p, ty));
        }
        Ok(self.bytes_mut(p, ty.bytes(), Access::Read)?.map_or(0, |bytes| from_bytes(bytes)))
    }

    fn read_push(&mut self, p: Pointer, ty: Scalar) -> u64 {
        match p.in_bounds(ty.bytes()) {
            Some(start) => from_bytes(&self.memory.push[start as usize..][..ty.bytes() as usize]),
            None => {
                self.out_of_bounds += 1;
                0
            }
        }
    }

    /// Writes a scalar; nothing out of bounds.
    pub(crate) fn write(&mut self, p: Pointer, ty: Scalar, bits: u64) -> Result<(), Fault> {
        if let Some(bytes) = self.bytes_mut(p, ty.bytes(), Access::Write)? {
            bytes.copy_from_slice(&bits.to_le_bytes()[..ty.bytes() as usize]);
        }
        Ok(())
    }

    /// Replaces a scalar and gives the old one; out of bounds it does nothing and gives zero.
    pub(crate) fn update(
        &mut self,
        p: Pointer,
        ty: Scalar,
        access: Access,
        new: impl FnOnce(u64) -> u64,
    ) -> Result<u64, Fault> {
        let Some(bytes) = self.bytes_mut(p, ty.bytes(), access)? else { return Ok(0) };
        let old = from_bytes(bytes);
        bytes.copy_from_slice(&new(old).to_le_bytes()[..ty.bytes() as usize]);
        Ok(old)
    }
}

/// Memory is little-endian.
fn from_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}
