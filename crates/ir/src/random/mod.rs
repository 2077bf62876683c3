//! Random modules, for tests that run one module in two ways and compare.
//!
//! A module is made statement by statement from a seed: arithmetic on values and variables, nested
//! constructs that lanes leave at different times, loads and stores in and out of bounds, subgroup
//! operations, barriers and small matrices. Whatever is not specified is avoided, so that all
//! targets must agree on every byte:
//!
//! - every variable is written before it is read, unless the configuration allows otherwise;
//! - each invocation (for matrices: each subgroup) writes only places of its own, or by atomic
//!   operations that commute;
//! - floats are only computed by operations that are correctly rounded; they are exact, and a NaN or
//!   a zero of unspecified sign is replaced before its bits are seen;
//! - barriers and matrices are used only where all invocations are;
//! - every loop has a counter that ends it.
//!
//! The same seed gives the same module, as long as this file does not change.

mod expr;
mod lines;
mod matrix;
mod rows;
mod stmt;
mod vector;
mod whole;

use crate::builder::Builder;
use crate::entities::{Binding, Label, Value, Var};
use crate::module::{BindingInfo, BindingKind, Module};
use crate::op::{Builtin, Op};
use crate::types::{MatType, Scalar, Space, Type};
use crate::verify::{Verified, VerifyErrors, verify};

/// What random modules may contain.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Statements at the outermost level, roughly.
    pub statements: u32,
    /// Deepest nesting of constructs.
    pub depth: u32,
    /// Floating point.
    pub floats: bool,
    /// Subgroup operations.
    pub subgroups: bool,
    /// Shared memory and barriers.
    pub barriers: bool,
    /// Matrices.
    pub matrices: bool,
    /// Products of vectors and matrices in memory.
    pub vectors: bool,
    /// Variables that are read before they are written; for runs that agree on what they hold then.
    pub unspecified: bool,
    /// `return` in the middle; excludes barriers and matrices behind it.
    pub returns: bool,
}

impl Default for Config {
    /// Everything that is specified, in modules of a few hundred instructions.
    fn default() -> Self {
        Self {
            statements: 12,
            depth: 4,
            floats: true,
            subgroups: true,
            barriers: true,
            matrices: true,
            vectors: true,
            unspecified: false,
            returns: true,
        }
    }
}

/// A module and what it is run on.
#[derive(Clone, Debug)]
pub struct Case {
    /// The module.
    pub module: Verified,
    /// Work-groups along each axis.
    pub groups: [u32; 3],
    /// Contents of the buffer of each binding before the run. The first is written.
    pub buffers: Vec<Vec<u8>>,
    /// Push constants.
    pub push: Vec<u8>,
}

/// Makes a module.
///
/// # Errors
///
/// A bug in this generator: the module it made breaks rules.
pub fn case(seed: u64, config: &Config) -> Result<Case, VerifyErrors> {
    Generator::new(seed, config).run()
}

/// Types of the variables, and of the values that expressions make.
const INTS: [Scalar; 4] = [Scalar::I32, Scalar::I64, Scalar::I16, Scalar::I8];
const FLOATS: [Scalar; 3] = [Scalar::F32, Scalar::F16, Scalar::F64];
/// Places that an invocation may write, of 8 bytes each; a multiple of the number of sizes.
const PLACES: u32 = 24;
/// Bytes that a subgroup may write matrices to, and places of that size.
const TILE_BYTES: u32 = 1024;
const TILES: u32 = 4;
/// Words for atomic operations, one for each operation.
const ATOMICS: u32 = 5;
const IN_BYTES: u32 = 512;
const PUSH_BYTES: u32 = 32;

/// A source of numbers (SplitMix64).
#[derive(Clone, Debug)]
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// True once in `n` times.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn bytes(&mut self, count: u32) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// A label that statements may branch to.
#[derive(Clone, Copy, Debug)]
struct Target {
    label: Label,
    /// Branching repeats, and needs fuel.
    fuel: Option<Var>,
}

/// What the statements share.
struct Generator<'c> {
    config: &'c Config,
    rng: Rng,
    module: Module,
    groups: u32,
    /// Scalar variables, all with contents.
    vars: Vec<Var>,
    /// Variables that are only given uniform values, though anywhere.
    uniforms: Vec<Var>,
    arrays: Vec<Var>,
    mats: Vec<(Var, MatType)>,
    /// Scalar values that are visible.
    values: Vec<Value>,
    targets: Vec<Target>,
    /// The counter of the innermost loop in which all invocations stay together.
    counter: Option<Value>,
    /// The start of the written buffer, and the index of the invocation in the dispatch.
    out: Value,
    index: Value,
    /// Whether all invocations are here.
    is_together: bool,
    /// Whether this is the region of an operation.
    in_region: bool,
    places: u32,
    tiles: u32,
}

impl<'c> Generator<'c> {
    fn new(seed: u64, config: &'c Config) -> Self {
        let mut rng = Rng(seed);
        let subgroup_size = rng.pick(&[4, 8, 16, 32]);
        let sizes: &[[u32; 3]] = if config.matrices {
            &[[32, 1, 1], [16, 2, 2], [64, 1, 1]]
        } else {
            &[[32, 1, 1], [8, 4, 1], [4, 2, 3], [20, 1, 1], [1, 1, 1], [7, 3, 1], [64, 1, 1]]
        };
        let module = Module {
            name: "main".into(),
            workgroup_size: rng.pick(sizes),
            subgroup_size,
            shared_bytes: 64 * 4,
            push_bytes: PUSH_BYTES,
            bindings: vec![binding(0, true), binding(1, false)],
            ..Module::default()
        };
        let groups = 1 + rng.below(2) as u32;
        Self {
            config,
            rng,
            module,
            groups,
            vars: Vec::new(),
            uniforms: Vec::new(),
            arrays: Vec::new(),
            mats: Vec::new(),
            values: Vec::new(),
            targets: Vec::new(),
            counter: None,
            out: Value::new(0),
            index: Value::new(0),
            is_together: true,
            in_region: false,
            places: 0,
            tiles: 0,
        }
    }

    fn run(mut self) -> Result<Case, VerifyErrors> {
        let mut func = std::mem::take(&mut self.module.body);
        let mut b = Builder::new(&mut func);
        self.begin(&mut b);
        self.statements(&mut b, self.config.statements, 0);
        self.end(&mut b);
        self.module.body = func;
        let bytes = self.tiles_start() + self.groups * self.module.num_subgroups() * TILES * TILE_BYTES;
        let buffers = vec![self.rng.bytes(bytes), self.rng.bytes(IN_BYTES)];
        let push = self.rng.bytes(PUSH_BYTES);
        Ok(Case { module: verify(self.module)?, groups: [self.groups, 1, 1], buffers, push })
    }

    fn invocations(&self) -> u32 {
        self.groups * self.module.workgroup_invocations()
    }

    /// Where the words of atomic operations begin.
    fn atomics_start(&self) -> u32 {
        self.invocations() * PLACES * 8
    }

    fn tiles_start(&self) -> u32 {
        self.atomics_start() + ATOMICS * 8
    }

    /// Pointers, built-in inputs and variables.
    fn begin(&mut self, b: &mut Builder<'_>) {
        let zero = b.i32(0);
        self.out = b.value(Op::BufferPtr(Binding::new(0)), &[zero], Type::Ptr(Space::Buffer));
        let group = b.value(Op::Builtin(Builtin::WorkgroupId(0)), &[], Type::I32);
        let local = b.value(Op::Builtin(Builtin::LocalInvocationIndex), &[], Type::I32);
        let size = b.i32(self.module.workgroup_invocations() as i32);
        let start = b.binary(crate::op::BinaryOp::Imul, group, size);
        self.index = b.binary(crate::op::BinaryOp::Iadd, start, local);
        self.values.extend([zero, group, local, self.index]);
        for i in 0..3 {
            let var = b.func.new_var(Type::I32, 1, "");
            let value = b.i32(i * 3);
            b.var_store(var, None, value);
            self.uniforms.push(var);
        }
        for ty in self.types() {
            let var = b.func.new_var(ty.into(), 1, "");
            let value = self.expr(b, ty, 1);
            b.var_store(var, None, value);
            self.vars.push(var);
        }
        let types = self.types();
        let ty = self.rng.pick(&types);
        let array = b.func.new_var(ty.into(), 4, "");
        for i in 0..4 {
            let (index, value) = (b.i32(i), self.expr(b, ty, 1));
            b.var_store(array, Some(index), value);
        }
        self.arrays.push(array);
        if self.config.matrices {
            self.begin_matrices(b);
        }
    }

    /// The types of the variables.
    fn types(&self) -> Vec<Scalar> {
        let ints = [Scalar::I32, Scalar::I32, Scalar::I32, Scalar::Bool, Scalar::I64, Scalar::I8];
        let floats = if self.config.floats { FLOATS.as_slice() } else { &[] };
        ints.iter().chain(floats).copied().collect()
    }

    /// Writes what the variables hold.
    fn end(&mut self, b: &mut Builder<'_>) {
        self.places = 0;
        for var in [self.vars.clone(), self.uniforms.clone()].concat() {
            let value = b.var_load(var, None);
            self.write(b, value);
        }
        for array in self.arrays.clone() {
            let index = b.i32(self.rng.below(4) as i32);
            let value = b.var_load(array, Some(index));
            self.write(b, value);
        }
        if self.is_together {
            self.end_matrices(b);
        }
    }
}

fn binding(number: u32, writable: bool) -> BindingInfo {
    BindingInfo {
        set: 0,
        binding: number,
        count: Some(1),
        kind: BindingKind::Storage,
        writable,
        name: String::new(),
    }
}
