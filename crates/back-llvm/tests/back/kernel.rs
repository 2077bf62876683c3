//! Builds a module around a few instructions, runs it everywhere and compares.

use crate::jit::{self, Inputs};
use phalanx_back_llvm::abi::BufferDesc;
use phalanx_back_llvm::{Compiled, Options, Target, compile};
use phalanx_interp::{Limits, Memory, run};
use phalanx_ir::{
    Binding, BindingInfo, BindingKind, Builder, Builtin, MemFlags, Module, Op, Scalar, Space, Type, Value,
    Verified, eval, verify,
};
use phalanx_kernels::Processor;
use std::sync::OnceLock;

/// Sizes of subgroups that are tried.
pub(crate) const SIZES: [u32; 4] = [4, 8, 32, 128];

/// One target for each name that this machine can execute.
pub(crate) fn targets() -> &'static [Target] {
    static TARGETS: OnceLock<Vec<Target>> = OnceLock::new();
    TARGETS.get_or_init(|| Processor::distinct().into_iter().map(Target::new).collect())
}

/// A module under construction.
pub(crate) struct Kernel {
    pub(crate) module: Module,
}

impl Kernel {
    pub(crate) fn new(subgroup_size: u32, workgroup_size: [u32; 3]) -> Self {
        let module = Module { name: "main".into(), workgroup_size, subgroup_size, ..Module::default() };
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

    pub(crate) fn push(mut self, bytes: u32) -> Self {
        self.module.push_bytes = bytes;
        self
    }

    pub(crate) fn body(mut self, fill: impl FnOnce(&mut Builder<'_>)) -> Verified {
        fill(&mut Builder::new(&mut self.module.body));
        verify(self.module).unwrap()
    }
}

/// How far apart floats may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tolerance {
    /// All bytes are equal.
    Exact,
    /// Scalars of this type that are equal, both NaN, or at most so many steps apart.
    Ulp(Scalar, u64),
    /// Scalars of this type that differ by no more than this, or by this share of the larger.
    Relative(Scalar, f64),
}

/// A dispatch.
pub(crate) struct Case<'a> {
    pub(crate) module: &'a Verified,
    pub(crate) buffers: Vec<Vec<u8>>,
    pub(crate) push: Vec<u8>,
    pub(crate) groups: [u32; 3],
    /// For each buffer; the last one for those that follow, too.
    pub(crate) tolerances: Vec<Tolerance>,
}

/// Bytes around each buffer that must stay as they are.
const MARGIN: usize = 256;

impl<'a> Case<'a> {
    pub(crate) fn new(module: &'a Verified, buffers: Vec<Vec<u8>>) -> Self {
        Self { module, buffers, push: Vec::new(), groups: [1; 3], tolerances: vec![Tolerance::Exact] }
    }

    /// What the interpreter leaves in the buffers.
    pub(crate) fn interpreted(&self) -> Vec<Vec<u8>> {
        let mut buffers = self.buffers.clone();
        let mut memory = Memory::new();
        for (i, bytes) in buffers.iter_mut().enumerate() {
            let buffer = memory.add_buffer(bytes, 0);
            memory.bind_buffer(Binding::new(i), buffer);
        }
        memory.set_push(&self.push);
        let limits = Limits { max_steps: 50_000_000, ..Limits::default() };
        run(self.module, &mut memory, self.groups, [0; 3], &limits).unwrap();
        buffers
    }

    /// What compiled code leaves in the buffers.
    pub(crate) fn compiled(&self, target: &Target) -> (Vec<Vec<u8>>, Vec<jit::Printed>) {
        self.leaves(&compile_dumping(self.module, target), target)
    }

    /// What this code leaves in the buffers.
    pub(crate) fn leaves(&self, compiled: &Compiled, target: &Target) -> (Vec<Vec<u8>>, Vec<jit::Printed>) {
        let mut memory: Vec<Vec<u8>> =
            self.buffers.iter().map(|b| [&[0xa5; MARGIN], &b[..], &[0xa5; MARGIN]].concat()).collect();
        let bindings: Vec<_> = memory
            .iter_mut()
            .map(|b| {
                let size = (b.len() - 2 * MARGIN) as u64;
                vec![BufferDesc { base: b.as_mut_ptr() as u64 + MARGIN as u64, size }]
            })
            .collect();
        let inputs =
            Inputs { bindings: &bindings, push: &self.push, groups: self.groups, base: [0; 3], stop: 0 };
        let printed = jit::run(compiled, target, &inputs);
        let buffers = memory.into_iter().map(|b| {
            let (head, rest) = b.split_at(MARGIN);
            let (body, tail) = rest.split_at(rest.len() - MARGIN);
            assert!(head.iter().chain(tail).all(|&x| x == 0xa5), "wrote outside of a buffer");
            body.to_vec()
        });
        (buffers.collect(), printed)
    }

    /// Runs the case everywhere and compares; gives what the interpreter left.
    pub(crate) fn check(&self) -> Vec<Vec<u8>> {
        let want = self.interpreted();
        for target in targets() {
            let (got, _) = self.compiled(target);
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                let tolerance = self.tolerances[i.min(self.tolerances.len() - 1)];
                if let Some((at, g, w)) = difference(got, want, tolerance) {
                    panic!(
                        "{} (W={}): buffer {i}: element {at} is {g:#x}, should be {w:#x}\n{}",
                        target.processor(),
                        self.module.subgroup_size,
                        &**self.module
                    );
                }
            }
        }
        want
    }
}

/// Compiles; prints LLVM IR and assembly if `PHALANX_DEBUG` is set.
pub(crate) fn compile_dumping(module: &Verified, target: &Target) -> Compiled {
    let debug = std::env::var("PHALANX_DEBUG").unwrap_or_default();
    let options =
        Options { dump_llvm: debug.contains("llvm"), dump_asm: debug.contains("asm"), ..Options::default() };
    let compiled = compile(module, target, &options).unwrap();
    if debug.contains("time") {
        println!("; {}: {:?}, {} bytes", target.processor(), compiled.times, compiled.object.len());
    }
    let dumps = &compiled.dumps;
    for dump in [&dumps.llvm_lowered, &dumps.llvm_optimized, &dumps.asm].into_iter().flatten() {
        println!("; {}\n{dump}", target.processor());
    }
    compiled
}

/// The first element that differs: its index, what is there, and what should be.
fn difference(got: &[u8], want: &[u8], tolerance: Tolerance) -> Option<(usize, u64, u64)> {
    let ty = match tolerance {
        Tolerance::Exact => Scalar::I8,
        Tolerance::Ulp(ty, _) | Tolerance::Relative(ty, _) => ty,
    };
    let pairs = unpack(ty, got).into_iter().zip(unpack(ty, want)).enumerate();
    pairs.map(|(i, (g, w))| (i, g, w)).find(|&(_, g, w)| !is_close(tolerance, g, w))
}

fn is_close(tolerance: Tolerance, got: u64, want: u64) -> bool {
    if got == want {
        return true;
    }
    let nan = |ty, x| eval::to_f64(ty, x).is_nan();
    match tolerance {
        Tolerance::Exact => false,
        Tolerance::Ulp(ty, ulp) => {
            if nan(ty, got) || nan(ty, want) {
                return nan(ty, got) && nan(ty, want);
            }
            let rank = |x: u64| {
                let sign = 1 << (ty.bits() - 1);
                if x & sign == 0 { i128::from(x) } else { -i128::from(x & (sign - 1)) }
            };
            rank(got).abs_diff(rank(want)) <= ulp.into()
        }
        Tolerance::Relative(ty, share) => {
            let (g, w) = (eval::to_f64(ty, got), eval::to_f64(ty, want));
            (g.is_nan() && w.is_nan()) || (g - w).abs() <= share * g.abs().max(w.abs()).max(1.0)
        }
    }
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

pub(crate) fn to_words(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|word| i32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// A small generator (splitmix64), so that failures repeat.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
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
    /// Writes a scalar at element `index` of a buffer; a `bool` as an `i32`.
    fn put(&mut self, binding: usize, index: Value, value: Value);
    fn shared(&mut self, offset: u32, bytes: u32) -> Value;
    /// `x + k`.
    fn plus(&mut self, x: Value, k: i32) -> Value;
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

    fn put(&mut self, binding: usize, index: Value, value: Value) {
        let ty = self.func.ty(value).scalar().unwrap();
        let (value, ty) = if ty == Scalar::Bool {
            let (one, zero) = (self.i32(1), self.i32(0));
            (self.select(value, one, zero), Scalar::I32)
        } else {
            (value, ty)
        };
        let pointer = self.at(binding, index, ty.bytes().into());
        self.store(pointer, value);
    }

    fn shared(&mut self, offset: u32, bytes: u32) -> Value {
        self.value(Op::SharedPtr { offset, bytes }, &[], Type::Ptr(Space::Shared))
    }

    fn plus(&mut self, x: Value, k: i32) -> Value {
        let k = self.i32(k);
        self.binary(phalanx_ir::BinaryOp::Iadd, x, k)
    }
}
