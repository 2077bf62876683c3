//! Code of a GPU.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUfunction, CUfunction_attribute, CUjit_option, CUmodule, CUresult};
use phalanx_back_nvptx::abi::{self, Layout};
use phalanx_host::SealedCode;
use phalanx_ir::BindingInfo;

use crate::binary::Binary;
use crate::context::Context;
use crate::error::Error;

/// Bytes for what the driver says of PTX that it refuses.
const LOG_BYTES: usize = 8192;

/// Dynamic shared memory that a kernel has without asking.
const SHARED_WITHOUT_ASKING: u32 = 48 << 10;

/// Code that is loaded, and what it takes.
#[derive(Debug)]
pub struct Pipeline {
    context: Arc<Context>,
    module: CUmodule,
    pub(crate) function: CUfunction,
    pub(crate) layout: Layout,
    code_bytes: usize,
    name: String,
    bindings: Vec<BindingInfo>,
    /// What its warnings and lines say.
    formats: Vec<String>,
    workgroup_size: [u32; 3],
    sealed: Option<SealedCode>,
}

// SAFETY: the driver lets any thread use its modules.
unsafe impl Send for Pipeline {}
// SAFETY: the driver guards its modules itself.
unsafe impl Sync for Pipeline {}

impl Pipeline {
    /// Loads code that [`assemble`] made; `sealed` is the same to be kept.
    pub(crate) fn load(
        context: &Arc<Context>,
        binary: Binary,
        sealed: Option<SealedCode>,
    ) -> Result<Self, Error> {
        let Binary { name, bindings, formats, workgroup_size, layout, image } = binary;
        context.enter()?;
        let mut raw = ptr::null_mut();
        let at = image.as_ptr().cast::<c_void>();
        // SAFETY: the context is entered, `image` is code that the driver made or PTX that ends with a zero, `raw` is written.
        context.check("loading code", unsafe { sys::cuModuleLoadData(&raw mut raw, at) })?;
        // From here on, dropping it unloads the code.
        let mut pipeline = Self {
            context: Arc::clone(context),
            module: raw,
            function: ptr::null_mut(),
            layout,
            code_bytes: image.len(),
            name,
            bindings,
            formats,
            workgroup_size,
            sealed,
        };
        let entry = text(abi::ENTRY);
        // SAFETY: the module is loaded, the name ends with a zero, `function` is written.
        let result = unsafe { sys::cuModuleGetFunction(&raw mut pipeline.function, raw, entry.as_ptr()) };
        context.check("finding the entry", result)?;
        let shared = pipeline.layout.shared_bytes;
        if shared > SHARED_WITHOUT_ASKING {
            let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function is one of the module that is loaded.
            let result = unsafe { sys::cuFuncSetAttribute(pipeline.function, most, shared.cast_signed()) };
            context.check("asking for shared memory", result)?;
        }
        Ok(pipeline)
    }

    /// Whether it was loaded in this context.
    pub(crate) fn is_of(&self, context: &Arc<Context>) -> bool {
        Arc::ptr_eq(&self.context, context)
    }

    /// Name of the entry point.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is bound to.
    pub fn bindings(&self) -> &[BindingInfo] {
        &self.bindings
    }

    /// What its warnings and lines say, by number.
    pub(crate) fn formats(&self) -> &[String] {
        &self.formats
    }

    /// Bytes of push constants that it reads.
    pub fn push_bytes(&self) -> u32 {
        self.layout.push_bytes
    }

    /// Invocations of a work-group along x, y and z.
    pub fn workgroup_size(&self) -> [u32; 3] {
        self.workgroup_size
    }

    /// Bytes that a work-group shares.
    pub fn shared_bytes(&self) -> u32 {
        self.layout.shared_bytes
    }

    /// Its code, if it was made with a key: [`Gpu::load`](crate::Gpu::load) makes a pipeline of it.
    pub fn code(&self) -> Option<&SealedCode> {
        self.sealed.as_ref()
    }

    /// Bytes of its code, or of the PTX that it is loaded from.
    pub fn code_bytes(&self) -> usize {
        self.code_bytes
    }

    /// Bytes of memory that each invocation has for what is not in registers.
    pub fn local_bytes(&self) -> u32 {
        self.attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
    }

    /// Registers of an invocation.
    pub fn registers(&self) -> u32 {
        self.attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)
    }

    fn attribute(&self, attribute: CUfunction_attribute) -> u32 {
        let mut value = 0;
        if self.context.enter().is_ok() {
            // SAFETY: the function is one of a module that is loaded, `value` is written or stays 0.
            let _failed = unsafe { sys::cuFuncGetAttribute(&raw mut value, attribute, self.function) };
        }
        u32::try_from(value).unwrap_or(0)
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: the module is loaded, and nothing of it runs: a dispatch holds its pipeline until it ends.
            let _failed = unsafe { sys::cuModuleUnload(self.module) };
        }
    }
}

/// The directive of PTX that limits registers: how many work-groups have those of a multiprocessor among them.
const LIMIT: &str = ".minnctapersm";

/// What stands before the bytes of memory that PTX itself asks for, for a thread.
const OWN_MEMORY: &str = "__local_depot0[";

/// What memory of a thread is rounded up to.
const MEMORY_ALIGN: u32 = 8;

/// PTX to what is loaded: code of the GPU, by the driver's assembler, or PTX again, which is assembled where it is loaded, and
/// whose code the driver keeps. It does that for one kernel after the other, so what can be is linked.
pub(crate) fn assemble(context: &Arc<Context>, kernel: &str, ptx: &str) -> Result<Vec<u8>, Error> {
    // The driver's linker compiles as if other code might be linked with it, and then lets no thread give up registers
    // (its warning C7504), and gives the vectors that a warp multiplies together (which asks who is there) so many registers
    // that half of the warps fit.
    if ptx.contains("setmaxnreg") || ptx.contains("activemask") {
        return Ok(text(ptx).into_bytes_with_nul());
    }
    let image = link(context, kernel, ptx)?;
    if !ptx.contains(LIMIT) || local_bytes(context, &image)? <= own_bytes(ptx).next_multiple_of(MEMORY_ALIGN)
    {
        return Ok(image);
    }
    // So it gives other kernels as many registers as they can use, and where there are fewer, uses memory for what the loader
    // has room for in as many.
    let unlimited: Vec<&str> = ptx.lines().filter(|line| !line.starts_with(LIMIT)).collect();
    Ok(text(&unlimited.join("\n")).into_bytes_with_nul())
}

/// Bytes of memory that PTX asks for by itself, for a thread.
fn own_bytes(ptx: &str) -> u32 {
    let number = ptx.split_once(OWN_MEMORY).and_then(|(_, rest)| rest.split_once(']'));
    number.and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
}

/// Bytes of memory that each thread has, of code.
fn local_bytes(context: &Arc<Context>, image: &[u8]) -> Result<u32, Error> {
    let binary = Binary { image: image.to_vec(), ..Binary::default() };
    Ok(Pipeline::load(context, binary, None)?.local_bytes())
}

/// Code of the GPU, by the driver's assembler.
fn link(context: &Context, kernel: &str, ptx: &str) -> Result<Vec<u8>, Error> {
    context.enter()?;
    let mut log = vec![0_u8; LOG_BYTES];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The second value is a number, which the driver takes in place of a pointer.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG_BYTES)];
    let mut state = ptr::null_mut();
    // SAFETY: the context is entered; there are two options with two values, which live until the state is destroyed.
    let result = unsafe {
        sys::cuLinkCreate_v2(options.len() as u32, options.as_mut_ptr(), values.as_mut_ptr(), &raw mut state)
    };
    context.check("starting the driver's assembler", result)?;
    let source = text(ptx);
    let name = text(kernel);
    let bytes = source.as_bytes_with_nul();
    // SAFETY: the state is there, the text and its name end with a zero and are only read, there are no options.
    let added = unsafe {
        sys::cuLinkAddData_v2(
            state,
            sys::CUjitInputType::CU_JIT_INPUT_PTX,
            bytes.as_ptr().cast_mut().cast(),
            bytes.len(),
            name.as_ptr(),
            0,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    let (mut start, mut size) = (ptr::null_mut(), 0);
    let result = match added {
        // SAFETY: the state is there, `start` and `size` are written.
        CUresult::CUDA_SUCCESS => unsafe { sys::cuLinkComplete(state, &raw mut start, &raw mut size) },
        refused => refused,
    };
    let image = match result {
        // SAFETY: the driver says that its code is there, until the state is destroyed.
        CUresult::CUDA_SUCCESS => unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size) }.to_vec(),
        _ => Vec::new(),
    };
    // SAFETY: the state is there and used no more.
    let _failed = unsafe { sys::cuLinkDestroy(state) };
    if image.is_empty() {
        let said = log.split(|&byte| byte == 0).next().unwrap_or_default();
        let mut log = String::from_utf8_lossy(said).trim().to_owned();
        if log.is_empty() {
            log = format!("{result:?}");
        }
        return Err(Error::Assemble { kernel: kernel.to_owned(), log });
    }
    Ok(image)
}

/// A text for the driver, up to the first zero in it.
fn text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::own_bytes;

    #[test]
    fn what_ptx_asks_for_is_read() {
        assert_eq!(own_bytes("\t.local .align 8 .b8 \t__local_depot0[128];\n\t.reg .b64 %SP;"), 128);
        assert_eq!(own_bytes(".visible .entry phalanx_main()"), 0);
    }
}
