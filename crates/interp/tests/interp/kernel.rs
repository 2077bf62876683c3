//! Builds a module around a few instructions and runs it.

use phalanx_interp::{Error, Limits, Memory, Report, run};
use phalanx_ir::{
    Binding, BindingInfo, BindingKind, Builder, Builtin, MemFlags, Module, Op, Scalar, Space, Type, Value,
    Verified, verify,
};

/// A module under construction.
pub(crate) struct Kernel {
    pub(crate) module: Module,
}

impl Kernel {
    /// A module with one buffer, and subgroups of 8.
    pub(crate) fn new(workgroup_size: [u32; 3]) -> Self {
        let module = Module { name: "main".into(), workgroup_size, subgroup_size: 8, ..Module::default() };
        Self { module }.bindings(1)
    }

    pub(crate) fn bindings(mut self, count: u32) -> Self {
        self.module.bindings = (0..count)
            .map(|binding| BindingInfo {
                set: 0,
                binding,
                count: Some(1),
                kind: BindingKind::Storage,
                writable: true,
                name: String::new(),
            })
            .collect();
        self
    }

    pub(crate) fn shared(mut self, bytes: u32) -> Self {
        self.module.shared_bytes = bytes;
        self
    }

    pub(crate) fn body(mut self, fill: impl FnOnce(&mut Builder<'_>)) -> Verified {
        fill(&mut Builder::new(&mut self.module.body));
        verify(self.module).unwrap()
    }
}

/// Runs one work-group on buffers; buffer `i` is at address `(i + 1) << 32`.
pub(crate) fn dispatch(
    module: &Verified,
    buffers: &mut [Vec<u8>],
    groups: [u32; 3],
) -> Result<Report, Error> {
    let mut memory = Memory::new();
    for (i, bytes) in buffers.iter_mut().enumerate() {
        let buffer = memory.add_buffer(bytes, (i as u64 + 1) << 32);
        memory.bind_buffer(Binding::new(i), buffer);
    }
    let limits = Limits { max_steps: 1_000_000, ..Limits::default() };
    run(module, &mut memory, groups, [0; 3], &limits)
}

/// Runs one work-group and gives the first `count` words of a buffer that was all ones.
pub(crate) fn words(module: &Verified, count: usize) -> Vec<i32> {
    let mut buffers = [vec![0xff; count * 4]];
    dispatch(module, &mut buffers, [1; 3]).unwrap();
    to_words(&buffers[0])
}

pub(crate) fn to_words(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|word| i32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// A buffer of scalars.
pub(crate) fn pack(ty: Scalar, values: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let size = ty.bytes() as usize;
    values.into_iter().flat_map(|bits| bits.to_le_bytes()[..size].to_vec()).collect()
}

/// The scalars of a buffer.
pub(crate) fn unpack(ty: Scalar, bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks_exact(ty.bytes() as usize).map(word).collect()
}

/// Shorthands for instructions.
pub(crate) trait Ext {
    fn builtin(&mut self, builtin: Builtin) -> Value;
    /// The index of the invocation in its work-group.
    fn local(&mut self) -> Value;
    /// A pointer to the start of a buffer.
    fn buffer(&mut self, binding: usize) -> Value;
    /// A pointer to element `index` of `size` bytes in a buffer.
    fn at(&mut self, binding: usize, index: Value, size: i64) -> Value;
    fn load(&mut self, pointer: Value, ty: Scalar) -> Value;
    fn store(&mut self, pointer: Value, value: Value);
    /// Writes a scalar at element `index` of buffer 0.
    fn put(&mut self, index: Value, value: Value);
    fn shared(&mut self, offset: u32, bytes: u32) -> Value;
}

impl Ext for Builder<'_> {
    fn builtin(&mut self, builtin: Builtin) -> Value {
        self.value(Op::Builtin(builtin), &[], Type::I32)
    }

    fn local(&mut self) -> Value {
        self.builtin(Builtin::LocalInvocationIndex)
    }

    fn buffer(&mut self, binding: usize) -> Value {
        let zero = self.i32(0);
        self.value(Op::BufferPtr(Binding::new(binding)), &[zero], Type::Ptr(Space::Buffer))
    }

    fn at(&mut self, binding: usize, index: Value, size: i64) -> Value {
        let start = self.buffer(binding);
        self.ptr_add(start, Some(index), size, 0)
    }

    fn load(&mut self, pointer: Value, ty: Scalar) -> Value {
        self.value(Op::Load(MemFlags::default()), &[pointer], ty.into())
    }

    fn store(&mut self, pointer: Value, value: Value) {
        self.effect(Op::Store(MemFlags::default()), &[pointer, value]);
    }

    fn put(&mut self, index: Value, value: Value) {
        let ty = self.func.ty(value).scalar().unwrap();
        let (value, ty) = if ty == Scalar::Bool {
            let (one, zero) = (self.i32(1), self.i32(0));
            (self.select(value, one, zero), Scalar::I32)
        } else {
            (value, ty)
        };
        let pointer = self.at(0, index, ty.bytes().into());
        self.store(pointer, value);
    }

    fn shared(&mut self, offset: u32, bytes: u32) -> Value {
        self.value(Op::SharedPtr { offset, bytes }, &[], Type::Ptr(Space::Shared))
    }
}
