//! SPIR-V to IR at specialisation time.
//!
//! [`translate`] turns one entry point of a module, specialised, into an IR module; [`inspect()`] says
//! what a module holds and needs. Any sequence of words is accepted as input and answered with
//! diagnostics where it is not a module that we can run.
//!
//! ```
//! use phalanx_front_spirv::{Options, inspect, translate};
//!
//! let words = phalanx_spirv_asm::assemble(
//!     "OpCapability Shader
//!      OpMemoryModel Logical GLSL450
//!      OpEntryPoint GLCompute %main \"main\"
//!      OpExecutionMode %main LocalSize 64 1 1
//!      %void = OpTypeVoid
//!      %type = OpTypeFunction %void
//!      %main = OpFunction %void None %type
//!      %entry = OpLabel
//!      OpReturn
//!      OpFunctionEnd",
//! )?;
//! assert_eq!(inspect(&words)?.entry_points[0].local_size, Some([64, 1, 1]));
//! let module = translate(&words, &Options::default())?;
//! assert_eq!(module.workgroup_size, [64, 1, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The way of a module: `reader` finds the instructions, `module` sorts them into tables,
//! `globals` evaluates types and constants with the specialisation, `interface` places the
//! variables, and `emit` walks the functions from the entry point, calls inlined, each structured
//! by `structure` and filled by the families in `ops`.

#![forbid(unsafe_code)]

mod access;
mod ahead;
mod builtins;
mod capability;
mod cfg;
mod cx;
mod decor;
mod diag;
mod emit;
mod entry;
mod facts;
mod float_modes;
mod flush;
mod functions;
mod globals;
mod inspect;
mod interface;
mod layout;
mod load_store;
mod locals;
mod long;
mod module;
mod opcode;
mod ops;
mod reader;
mod region;
mod slots;
mod spec_op;
mod structure;
mod tables;
mod types;
mod value;
mod vector_facts;

pub use diag::{Class, Diagnostic, Diagnostics, Location, code};
pub use facts::{AtomicInfo, AtomicKind};
pub use functions::functions;
pub use globals::{
    MAX_DIMENSION as MAX_MATRIX_DIMENSION, MAX_ELEMENTS as MAX_MATRIX_ELEMENTS, MAX_VECTOR_COMPONENTS,
};
pub use inspect::{
    BindingLayout, EntryInfo, Info, MatrixInfo, MemberLayout, MulAddInfo, ScalarType, SpecConstant,
    TypeLayout, inspect, inspect_specialized, inspect_unspecialized,
};
pub use reader::words_from_bytes;
pub use vector_facts::VectorMulInfo;

/// What to translate, and for which pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Name of the entry point; `None` for the only compute entry point.
    pub entry: Option<&'a str>,
    /// Values of specialisation constants: *SpecId* and raw bits. Later ones win.
    pub specialization: &'a [(u32, u64)],
    /// Invocations of a subgroup: a power of two from 4 to 128.
    pub subgroup_size: u32,
    /// Limits of the device and of the translator's patience.
    pub limits: Limits,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { entry: None, specialization: &[], subgroup_size: 32, limits: Limits::default() }
    }
}

/// Limits of the device and of the translator's patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions after inlining.
    pub instructions: usize,
    /// Nesting of constructs and calls.
    pub nesting: u32,
    /// Bytes of memory shared by a work-group.
    pub shared_bytes: u32,
    /// Bytes of push constants.
    pub push_bytes: u32,
    /// Invocations of a work-group.
    pub workgroup_invocations: u32,
    /// Bytes of all variables of one invocation, matrices aside.
    pub private_bytes: u64,
    /// Multiprocessors of the device (*SMCountNV*).
    pub multiprocessors: u32,
    /// Most subgroups that one holds at a time (*WarpsPerSMNV*).
    pub resident_subgroups: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            instructions: 2_000_000,
            nesting: 256,
            shared_bytes: 1 << 20,
            push_bytes: 256,
            workgroup_invocations: 1024,
            private_bytes: 1 << 20,
            multiprocessors: 1,
            resident_subgroups: 1,
        }
    }
}

/// Translates an entry point.
///
/// # Errors
///
/// All that was found wrong: at least one diagnostic.
pub fn translate(words: &[u32], options: &Options<'_>) -> Result<phalanx_ir::Module, Diagnostics> {
    let spv = module::Spv::read(words)?;
    capability::check(&spv)?;
    let entry = entry::choose(&spv, options.entry)?;
    check_options(options)?;
    let build = |workgroup_invocations| {
        let (spec, lanes) = (options.specialization, options.subgroup_size);
        globals::Globals::build(&spv, spec, lanes, workgroup_invocations).map_err(Diagnostics)
    };
    let mut globals = build(0)?;
    let workgroup_size = workgroup_size(&spv, &globals, entry, options)?;
    globals.workgroup_invocations = workgroup_size.iter().product();
    if spec_op::has_length(&spv) {
        // Constants that follow from the size of a work-group, which may be a constant itself.
        globals = build(globals.workgroup_invocations)?;
    }
    let mut cx = cx::Cx::new(&spv, &globals, options);
    cx.modes = float_modes::FloatModes::of(&spv, &globals, entry)?;
    cx.module.name = entry.name.clone();
    cx.module.workgroup_size = workgroup_size;
    cx.module.subgroup_size = options.subgroup_size;
    let done = cx.translate(entry.function);
    let mut faults = std::mem::take(&mut cx.faults);
    faults.extend(done.err().map(|fault| *spv.locate(fault, entry.inst)));
    if faults.is_empty() { Ok(cx.finish()) } else { Err(Diagnostics(faults)) }
}

/// Invocations of a work-group along each axis.
fn workgroup_size(
    spv: &module::Spv<'_>,
    globals: &globals::Globals,
    entry: &module::EntryPoint,
    options: &Options<'_>,
) -> diag::Res<[u32; 3]> {
    let checked = entry::local_size(spv, globals, entry).and_then(|size| {
        entry::check_size(size, options.limits.workgroup_invocations)?;
        Ok(size)
    });
    checked.map_err(|fault| spv.locate(fault, entry.inst))
}

fn check_options(options: &Options<'_>) -> Result<(), Diagnostics> {
    let size = options.subgroup_size;
    if size.is_power_of_two() && (4..=128).contains(&size) {
        return Ok(());
    }
    let m = format!("a subgroup size of {size}: expected a power of two from 4 to 128");
    Err(diag::invalid(code::LIMIT, m).into())
}
