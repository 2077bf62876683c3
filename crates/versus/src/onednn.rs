//! oneDNN: products by `dnnl_matmul`, of version 2, where descriptions are structures, and of version 3, where they are objects.
//!
//! What is called takes the same in both but for the making of descriptions. A structure is made in room that is several times
//! as large as any of them.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use libloading::{Library, Symbol};

use crate::memory::Memory;
use crate::{Element, Error, Operands, Product};

/// An object of the library, a description of either version among them.
type Object = *mut c_void;
type Status = c_int;

const CPU: c_int = 1;
const IN_ORDER: c_uint = 1;
const SRC: c_int = 1;
const DST: c_int = 17;
const WEIGHTS: c_int = 33;
/// `dnnl_format_tag_any`: what the plan finds best.
const ANY: c_int = 1;
/// `dnnl_query_weights_md`.
const QUERY_WEIGHTS: c_int = 131;

/// `DNNL_MAX_NDIMS` numbers.
type Dims = [i64; 12];

/// `dnnl_version_t`.
#[repr(C)]
struct Version {
    major: c_int,
    minor: c_int,
    patch: c_int,
}

/// `dnnl_exec_arg_t`.
#[repr(C)]
struct Argument {
    which: c_int,
    memory: Object,
}

type Create3<A, B> = unsafe extern "C" fn(*mut Object, A, B) -> Status;
type Describe = unsafe extern "C" fn(*mut c_void, c_int, *const i64, c_int, *const i64) -> Status;
type Matmul2 = unsafe extern "C" fn(*mut c_void, Object, Object, Object, Object) -> Status;
type Plan2 = unsafe extern "C" fn(*mut Object, *const c_void, Object, Object, Object) -> Status;
type Plan3 = unsafe extern "C" fn(*mut Object, Object, Object, Object, Object, Object, Object) -> Status;
type Reorder = unsafe extern "C" fn(*mut Object, Object, Object, Object, Object, Object) -> Status;
type Query = unsafe extern "C" fn(Object, c_int, c_int) -> Object;
type Tagged = unsafe extern "C" fn(*mut c_void, c_int, *const i64, c_int, c_int) -> Status;
type Execute = unsafe extern "C" fn(Object, Object, c_int, *const Argument) -> Status;
type Destroy = unsafe extern "C" fn(Object) -> Status;
type SetThreads = unsafe extern "C" fn(c_int);

/// How a product is described and planned.
#[derive(Debug)]
enum Api {
    Two {
        describe: Symbol<'static, Describe>,
        any: Symbol<'static, Tagged>,
        matmul: Symbol<'static, Matmul2>,
        plan: Symbol<'static, Plan2>,
    },
    Three {
        describe: Symbol<'static, Describe>,
        any: Symbol<'static, Tagged>,
        plan: Symbol<'static, Plan3>,
        destroy: Symbol<'static, Destroy>,
    },
}

/// What of it is called.
#[derive(Debug)]
pub(crate) struct OneDnn {
    api: Api,
    primitive_create: Symbol<'static, unsafe extern "C" fn(*mut Object, Object) -> Status>,
    primitive_destroy: Symbol<'static, Destroy>,
    plan_destroy: Symbol<'static, Destroy>,
    memory_create: Symbol<'static, unsafe extern "C" fn(*mut Object, Object, Object, *mut c_void) -> Status>,
    memory_destroy: Symbol<'static, Destroy>,
    /// What a plan wants of a matrix.
    query: Symbol<'static, Query>,
    size: Symbol<'static, unsafe extern "C" fn(Object) -> usize>,
    reorder: Symbol<'static, Reorder>,
    execute: Symbol<'static, Execute>,
    wait: Symbol<'static, Destroy>,
    /// Of the OpenMP that it is built with, if it is.
    set_threads: Option<Symbol<'static, SetThreads>>,
    engine: Object,
    stream: Object,
}

/// A description of a matrix.
#[derive(Debug)]
enum Description<'a> {
    /// `dnnl_memory_desc_t` of version 2, or `dnnl_matmul_desc_t`.
    Structure(Box<[u64; ROOM]>),
    Object(Object, &'a Symbol<'static, Destroy>),
}

/// 16 KiB; the larger of the two structures has some 3.
const ROOM: usize = 2048;

impl Description<'_> {
    fn address(&mut self) -> Object {
        match self {
            Self::Structure(room) => room.as_mut_ptr().cast(),
            Self::Object(object, _) => *object,
        }
    }
}

impl Drop for Description<'_> {
    fn drop(&mut self) {
        if let Self::Object(object, destroy) = self {
            // SAFETY: it was created, and is used no more.
            unsafe { destroy(*object) };
        }
    }
}

/// A planned product, or a change of a layout, and its matrices.
#[derive(Debug)]
pub(crate) struct Multiplication<'a> {
    library: &'a OneDnn,
    plan: Object,
    primitive: Object,
    /// Of A, B and D.
    memories: [Object; 3],
    /// B in the library's own layout, if it is to be.
    _packed: Option<Memory>,
}

impl OneDnn {
    /// Loads it; gives its name and version.
    pub(crate) fn open() -> Result<(Self, String), libloading::Error> {
        let load = |name: &str| {
            // SAFETY: it is the system's library, whose initialisers only set up itself.
            unsafe { Library::new(name) }
        };
        let library =
            load("libdnnl.so.3").or_else(|_| load("libdnnl.so.2")).or_else(|_| load("libdnnl.so"))?;
        // The threads of its OpenMP outlive whoever would unload it.
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: the signatures are those of its `dnnl.h`, of the version that it says it is.
        unsafe { Self::of(library) }
    }

    /// # Safety
    /// It must be oneDNN of version 2 or 3.
    #[allow(
        clippy::multiple_unsafe_ops_per_block,
        reason = "all for the same reason: the signatures are those of its header"
    )]
    unsafe fn of(library: &'static Library) -> Result<(Self, String), libloading::Error> {
        // SAFETY: see the function's own; an engine and a stream are made of what has just been made.
        unsafe {
            let version = library.get::<unsafe extern "C" fn() -> *const Version>(b"dnnl_version\0")?;
            let &Version { major, minor, patch } = &*version();
            let engine_create = library.get::<Create3<c_int, usize>>(b"dnnl_engine_create\0")?;
            let stream_create = library.get::<Create3<Object, c_uint>>(b"dnnl_stream_create\0")?;
            let api = if major < 3 {
                Api::Two {
                    describe: library.get(b"dnnl_memory_desc_init_by_strides\0")?,
                    any: library.get(b"dnnl_memory_desc_init_by_tag\0")?,
                    matmul: library.get(b"dnnl_matmul_desc_init\0")?,
                    plan: library.get(b"dnnl_primitive_desc_create\0")?,
                }
            } else {
                Api::Three {
                    describe: library.get(b"dnnl_memory_desc_create_with_strides\0")?,
                    any: library.get(b"dnnl_memory_desc_create_with_tag\0")?,
                    plan: library.get(b"dnnl_matmul_primitive_desc_create\0")?,
                    destroy: library.get(b"dnnl_memory_desc_destroy\0")?,
                }
            };
            let (mut engine, mut stream) = (null_mut(), null_mut());
            // A CPU has both; without them, preparing a product fails.
            if engine_create(&raw mut engine, CPU, 0) == 0 {
                stream_create(&raw mut stream, engine, IN_ORDER);
            }
            let this = Self {
                api,
                primitive_create: library.get(b"dnnl_primitive_create\0")?,
                primitive_destroy: library.get(b"dnnl_primitive_destroy\0")?,
                plan_destroy: library.get(b"dnnl_primitive_desc_destroy\0")?,
                memory_create: library.get(b"dnnl_memory_create\0")?,
                query: library.get(b"dnnl_primitive_desc_query_md\0")?,
                size: library.get(b"dnnl_memory_desc_get_size\0")?,
                reorder: library.get(b"dnnl_reorder_primitive_desc_create\0")?,
                memory_destroy: library.get(b"dnnl_memory_destroy\0")?,
                execute: library.get(b"dnnl_primitive_execute\0")?,
                wait: library.get(b"dnnl_stream_wait\0")?,
                set_threads: library.get(b"omp_set_num_threads\0").ok(),
                engine,
                stream,
            };
            Ok((this, format!("oneDNN {major}.{minor}.{patch}")))
        }
    }

    /// How many threads of its OpenMP work for the calling one from now on.
    fn use_threads(&self, threads: usize) {
        if let Some(set_threads) = &self.set_threads {
            // SAFETY: it takes any number from 1 on, and `Product::check` has looked at this one.
            unsafe { set_threads(threads as c_int) };
        }
    }

    /// A matrix with these strides, or in whatever layout is best.
    fn describe(
        &self,
        number: c_int,
        sizes: [usize; 2],
        strides: Option<[usize; 2]>,
        failed: impl Fn(&'static str, Status) -> Error,
    ) -> Result<Description<'_>, Error> {
        let dims = |[rows, columns]: [usize; 2]| {
            let mut dims: Dims = [0; 12];
            [dims[0], dims[1]] = [rows as i64, columns as i64];
            dims
        };
        let (sizes, strides, element) = (dims(sizes), strides.map(dims), number);
        let (Api::Two { describe, any, .. } | Api::Three { describe, any, .. }) = &self.api;
        let mut room = Box::new([0_u64; ROOM]);
        let to = room.as_mut_ptr().cast();
        let status = match strides {
            // SAFETY: it reads as many numbers as it has, and writes less than there is room for: a structure or an address.
            Some(strides) => unsafe { describe(to, 2, sizes.as_ptr(), element, strides.as_ptr()) },
            // SAFETY: as above.
            None => unsafe { any(to, 2, sizes.as_ptr(), element, ANY) },
        };
        check(status).map_err(|status| failed("the description of a matrix", status))?;
        Ok(match &self.api {
            Api::Two { .. } => Description::Structure(room),
            Api::Three { destroy, .. } => {
                // SAFETY: it wrote the address of an object there.
                Description::Object(unsafe { room.as_ptr().cast::<Object>().read() }, destroy)
            }
        })
    }

    /// Lets it choose how to multiply.
    fn plan(&self, [a, b, d]: [Object; 3]) -> Result<Object, Status> {
        let mut plan = null_mut();
        let status = match &self.api {
            Api::Two { matmul, plan: create, .. } => {
                let mut description = Description::Structure(Box::new([0; ROOM]));
                // SAFETY: three descriptions, no bias, and room for the fourth.
                let status = unsafe { matmul(description.address(), a, b, null_mut(), d) };
                check(status)?;
                // SAFETY: the description was made, attributes and hints are optional, the engine is its own.
                unsafe { create(&raw mut plan, description.address(), null_mut(), self.engine, null_mut()) }
            }
            // SAFETY: three descriptions, no bias, no attributes, its own engine.
            Api::Three { plan: create, .. } => unsafe {
                create(&raw mut plan, self.engine, a, b, null_mut(), d, null_mut())
            },
        };
        check(status).map(|()| plan)
    }

    pub(crate) fn prepare(&self, operands: &Operands, name: &str) -> Result<Multiplication<'_>, Error> {
        let Product { m, n, k, a, b, d, is_b_column_major, is_packed, threads } = operands.product;
        let failed = |function, status| Error::Failed { library: name.to_owned(), function, status };
        // It plans for the threads that there are then.
        self.use_threads(threads);
        let strides_b = if is_b_column_major { [1, k] } else { [n, 1] };
        let [Some(of_a), Some(of_b), Some(of_d)] = [a, b, d].map(number) else {
            return Err(Error::Unsupported { library: name.to_owned(), a, b, d });
        };
        let mut descriptions = [
            self.describe(of_a, [m, k], Some([k, 1]), failed)?,
            self.describe(of_b, [k, n], Some(strides_b), failed)?,
            self.describe(of_d, [m, n], Some([n, 1]), failed)?,
        ];
        let mut objects = descriptions.each_mut().map(Description::address);
        let mut best = if is_packed { Some(self.describe(of_b, [k, n], None, failed)?) } else { None };
        let planned = [objects[0], best.as_mut().map_or(objects[1], Description::address), objects[2]];
        let unsupported = |_status| Error::Unsupported { library: name.to_owned(), a, b, d };
        let plan = self.plan(planned).map_err(unsupported)?;
        // What is made is destroyed with it, however far it comes.
        let mut made = Multiplication {
            library: self,
            plan,
            primitive: null_mut(),
            memories: [null_mut(); 3],
            _packed: None,
        };
        // SAFETY: the plan was made.
        let status = unsafe { (self.primitive_create)(&raw mut made.primitive, plan) };
        check(status).map_err(|status| failed("dnnl_primitive_create", status))?;
        let mut addresses = [&operands.a, &operands.b, &operands.d].map(Memory::address);
        if is_packed {
            // SAFETY: the plan was made; the description is its own and stays as long.
            let layout = unsafe { (self.query)(plan, QUERY_WEIGHTS, 0) };
            let packed = self.pack([objects[1], layout], addresses[1], failed)?;
            (objects[1], addresses[1]) = (layout, packed.address());
            made._packed = Some(packed);
        }
        for ((memory, description), address) in made.memories.iter_mut().zip(objects).zip(addresses) {
            // SAFETY: the matrix is there, as it is described, and stays as long as this object.
            let status = unsafe { (self.memory_create)(memory, description, self.engine, address.cast()) };
            check(status).map_err(|status| failed("dnnl_memory_create", status))?;
        }
        Ok(made)
    }

    /// Brings a matrix from one layout to another.
    fn pack(
        &self,
        [from, to]: [Object; 2],
        address: *mut u8,
        failed: impl Fn(&'static str, Status) -> Error,
    ) -> Result<Memory, Error> {
        // SAFETY: both were described.
        let packed = Memory::zeroed(unsafe { (self.size)(to) })?;
        let mut made = Multiplication {
            library: self,
            plan: null_mut(),
            primitive: null_mut(),
            memories: [null_mut(); 3],
            _packed: None,
        };
        let engine = self.engine;
        // SAFETY: both were described, the engine is its own, attributes are optional.
        let status = unsafe { (self.reorder)(&raw mut made.plan, from, engine, to, engine, null_mut()) };
        check(status).map_err(|status| failed("dnnl_reorder_primitive_desc_create", status))?;
        // SAFETY: the plan was made.
        let status = unsafe { (self.primitive_create)(&raw mut made.primitive, made.plan) };
        check(status).map_err(|status| failed("dnnl_primitive_create", status))?;
        let both = [(from, address), (to, packed.address())];
        for (memory, (description, address)) in made.memories.iter_mut().zip(both) {
            // SAFETY: the matrix is there, as it is described, and stays as long as this object.
            let status = unsafe { (self.memory_create)(memory, description, engine, address.cast()) };
            check(status).map_err(|status| failed("dnnl_memory_create", status))?;
        }
        let [from, to, _] = made.memories;
        self.execute(made.primitive, &[(SRC, from), (DST, to)], failed)?;
        Ok(packed)
    }

    /// Runs something to its end.
    fn execute(
        &self,
        primitive: Object,
        arguments: &[(c_int, Object)],
        failed: impl Fn(&'static str, Status) -> Error,
    ) -> Result<(), Error> {
        let arguments: Vec<Argument> =
            arguments.iter().map(|&(which, memory)| Argument { which, memory }).collect();
        let count = arguments.len() as c_int;
        // SAFETY: all of it was made, and who calls has what is written to itself.
        let status = unsafe { (self.execute)(primitive, self.stream, count, arguments.as_ptr()) };
        check(status).map_err(|status| failed("dnnl_primitive_execute", status))?;
        // SAFETY: the stream was made.
        let status = unsafe { (self.wait)(self.stream) };
        check(status).map_err(|status| failed("dnnl_stream_wait", status))
    }
}

impl Multiplication<'_> {
    /// Computes D, which is borrowed for writing and the only matrix that is written.
    pub(crate) fn run(&self, operands: &mut Operands, name: &str) -> Result<(), Error> {
        let failed = |function, status| Error::Failed { library: name.to_owned(), function, status };
        self.library.use_threads(operands.product.threads);
        let [a, b, d] = self.memories;
        self.library.execute(self.primitive, &[(SRC, a), (WEIGHTS, b), (DST, d)], failed)
    }
}

impl Drop for Multiplication<'_> {
    fn drop(&mut self) {
        let library = self.library;
        let [a, b, d] = self.memories.map(|memory| (memory, &library.memory_destroy));
        let others = [(self.primitive, &library.primitive_destroy), (self.plan, &library.plan_destroy)];
        for (object, destroy) in [a, b, d].into_iter().chain(others).filter(|(object, _)| !object.is_null()) {
            // SAFETY: it was created, and is used no more.
            unsafe { destroy(object) };
        }
    }
}

fn check(status: Status) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(status) }
}

/// `dnnl_data_type_t`; versions differ in those of floats of 8 bits.
fn number(element: Element) -> Option<c_int> {
    match element {
        Element::F16 => Some(1),
        Element::Bf16 => Some(2),
        Element::F32 => Some(3),
        Element::S32 => Some(4),
        Element::S8 => Some(5),
        Element::U8 => Some(6),
        Element::E4m3 | Element::E5m2 => None,
    }
}
