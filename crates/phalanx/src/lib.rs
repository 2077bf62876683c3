//! Runs cooperative-matrix and cooperative-vector kernels on any machine, at the machine's speed.
//!
//! Kernels are compute shaders in SPIR-V or GLSL. A [`Device`] compiles them to [`Pipeline`]s, which are
//! dispatched on [`Buffer`]s:
//!
//! ```
//! use phalanx::{Binding, Device, DeviceOptions, Dispatch, PipelineDescriptor, glsl};
//!
//! let words = glsl::compile(
//!     "#version 450
//!      layout(local_size_x = 64) in;
//!      layout(set = 0, binding = 0) buffer Data { float x[]; };
//!      layout(push_constant) uniform Push { float factor; };
//!      void main() { x[gl_GlobalInvocationID.x] *= factor; }",
//!     &glsl::GlslOptions::default(),
//! )?;
//! let device = Device::new(&DeviceOptions::default())?;
//! let module = device.create_module(&words)?;
//! let pipeline = device.create_pipeline(&PipelineDescriptor::new(&module))?;
//!
//! let buffer = device.create_buffer_from(&[1.0_f32; 256])?;
//! device.dispatch(&Dispatch {
//!     bindings: &[Binding::new(0, 0, &buffer)],
//!     push_constants: &3.0_f32.to_le_bytes(),
//!     ..Dispatch::new(&pipeline, [4, 1, 1])
//! })?;
//! assert_eq!(buffer.read_slice::<f32>(0, 256)?, [3.0; 256]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing is global, but for the signal handler of [`Addresses::Catch`] and what compiling needs (threads that wait for
//! work, and handlers that LLVM and C++ call where there is no memory): a device owns its threads and caches, and two
//! devices do not know each other. All objects may be shared between threads, and several threads may dispatch at once.
//!
//! # Safety of kernels
//!
//! Accesses of bound buffers, push constants and shared memory are kept within their bounds: reads
//! outside give zero, writes outside do nothing. A kernel that computes *device addresses* can access any memory
//! of the process, as on a GPU, and has to be trusted. Where such an address leads nowhere, the dispatch ends with
//! [`Error::Fault`], unless [`DeviceOptions::addresses`] says otherwise.
//!
//! # Environment
//!
//! | variable          | meaning                                                                  |
//! |-------------------|--------------------------------------------------------------------------|
//! | `PHALANX_CPU`     | the processor to make code for: `native`, or a name of [`Processor::all`] that this machine can stand in for: `x86-64-v2`, `haswell`, `skylake-avx512`, `znver4`, `neoverse-n1`, … |
//! | `PHALANX_SUBGROUP_SIZE` | invocations of a subgroup where a pipeline asks for no number: 4, 8, 16, 32 (without it), 64 or 128 |
//! | `PHALANX_TIMEOUT` | seconds after which a dispatch is stopped, if nothing else says so; 0: never; 60 without it, 3600 in the Vulkan driver |
//! | `PHALANX_ADDRESSES` | what is done about device addresses that lead nowhere: `catch` their faults, `check` each against the buffers, or `trust` them |
//! | `PHALANX_COMPILE_TIMEOUT` | seconds after which compiling is given up, if nothing else says so; 0: never; 60 without it |
//! | `PHALANX_PROFILE` | the file in which the Vulkan driver tells where the time of dispatches goes: tables, or JSON or a flame graph by its ending `.json` or `.svg`; `-` is standard error |
//! | `PHALANX_DEBUG`   | words of `ir`, `llvm`, `asm`, `verify`, `time`: what to print when compiling; `trace`, `print`: each call, each message of the Vulkan driver |

mod bindings;
mod buffer;
mod debug;
mod device;
mod dispatch;
mod error;
pub mod explain;
pub mod glsl;
mod info;
mod load;
pub mod lower;
mod mlir;
mod module;
pub mod peak;
mod pipeline;
pub mod profile;
mod targets;
mod translate;
pub mod vector;

pub use bindings::{Binding, BindingError, BindingProblem, OFFSET_ALIGNMENT, Place};
pub use buffer::Buffer;
pub use device::{Device, DeviceKind, DeviceOptions, TIMEOUT_VARIABLE, UnknownDevice};
pub use dispatch::{Accesses, Amount, Dispatch, DispatchReport, RawDispatch, Step, Traffic};
pub use error::{Error, ErrorClass};
pub use info::{ComponentType, DeviceInfo, GpuInfo, MatrixShape, MatrixTypes};
pub use load::{assemble, load};
pub use module::{Module, SpecValue};
pub use phalanx_cpu::{Abandoned, Allocator};
pub use phalanx_cuda::Rates;
pub use phalanx_front_mlir::{Class as MlirErrorClass, Error as MlirError};
pub use phalanx_front_spirv::{
    AtomicInfo, AtomicKind, BindingLayout, Diagnostic, Diagnostics, EntryInfo, Info as ModuleInfo, Location,
    MAX_VECTOR_COMPONENTS, MatrixInfo, MemberLayout, MulAddInfo, ScalarType, SpecConstant, TypeLayout,
    VectorMulInfo,
};
pub use phalanx_host::{
    Addresses, Allocation, CacheKey, CancelToken, Descriptor, Fault, ImageView, MemoryError, NearestBuffer,
    SealedCode,
};
pub use phalanx_ir::image::{ImageDim, ImageKind, ImageLayout, ImageLevel, ImageUse, MAX_LEVELS, Swizzle};
pub use phalanx_ir::sampler::{AddressMode, CompareFunction, Filter, Reduction, Sampler};
pub use phalanx_ir::texel::{Format, MAX_TEXEL_BYTES, Numeric};
pub use phalanx_ir::{
    BindingInfo, BindingKind, Distribution, MAX_DISPATCH_INVOCATIONS, MatType, Scalar, Scope, Use,
};
pub use phalanx_kernels::{Arch, Processor, ProcessorError};
pub use phalanx_spirv_asm::AsmError;
pub use pipeline::{CodeStatistics, CompileTimes, Insides, Pipeline, PipelineDescriptor, Representation};
