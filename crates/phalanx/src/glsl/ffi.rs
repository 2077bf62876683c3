//! Calls of glslang.
//!
//! The safe bindings of crate `glslang` cannot ask for debug information, which our diagnostics need for their
//! source lines, and panic on odd input; so this speaks to the C interface itself.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use glslang_sys as sys;

use super::Source;
use super::include;
use super::message::GlslError;

/// Compiles a source that has no NUL characters.
pub(super) fn compile(source: &Source) -> Result<Vec<u32>, GlslError> {
    let plain = |text: &str| GlslError::plain(&source.name, text);
    let text = |text: &str| CString::new(text).map_err(|_nul| plain("a name has a NUL character"));
    let Some(_ready) = ready() else { return Err(plain("glslang could not be initialised")) };
    let (code, name) = (text(&source.text)?, text(&source.name)?);
    let resource = limits();
    let input = input(&code, &resource, source);
    let shader = Shader::parse(&input).map_err(|log| GlslError::from_log(&source.name, &log))?;
    let program =
        Program::link(&shader, &name, &code).map_err(|log| GlslError::from_log(&source.name, &log))?;
    let words = program.generate(source.debug_info);
    if words.is_empty() {
        return Err(GlslError::from_log(&source.name, &program.messages()));
    }
    Ok(words)
}

/// Whether glslang is initialised. Who compiles holds the lock for reading.
static READY: RwLock<bool> = RwLock::new(false);

/// Initialises glslang, unless it is, and keeps it so until the guard is dropped.
fn ready() -> Option<RwLockReadGuard<'static, bool>> {
    loop {
        let ready = READY.read().unwrap_or_else(PoisonError::into_inner);
        if *ready {
            return Some(ready);
        }
        drop(ready);
        let mut ready = READY.write().unwrap_or_else(PoisonError::into_inner);
        if !*ready {
            // SAFETY: with the lock held for writing, no other thread uses glslang.
            *ready = unsafe { sys::glslang_initialize_process() } != 0;
            if !*ready {
                return None;
            }
        }
    }
}

/// Ends glslang, which forgets GLSL's built-in functions, and gives its memory back to the system.
pub(super) fn release() {
    let mut ready = READY.write().unwrap_or_else(PoisonError::into_inner);
    if std::mem::replace(&mut *ready, false) {
        // SAFETY: it is initialised, and with the lock held for writing no other thread uses it.
        unsafe { sys::glslang_finalize_process() };
    }
    give_memory_back();
}

/// Gives memory that is free back to the system, of which the allocator keeps most: 2 ms.
fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the allocator takes its own locks, and only returns memory that nobody uses.
    let _whether_it_had_any = unsafe { libc::malloc_trim(0) };
}

/// What to compile and for which target. `code`, `resource` and `source` must outlive its use.
fn input(code: &CStr, resource: &sys::glslang_resource_t, source: &Source) -> sys::glslang_input_t {
    sys::glslang_input_t {
        language: sys::glslang_source_t::GLSL,
        stage: sys::glslang_stage_t::Compute,
        client: sys::glslang_client_t::Vulkan,
        client_version: sys::glslang_target_client_version_t::Vulkan1_3,
        target_language: sys::glslang_target_language_t::SPIRV,
        target_language_version: sys::glslang_target_language_version_t::SPIRV1_6,
        code: code.as_ptr(),
        default_version: 450,
        default_profile: sys::glslang_profile_t::Core,
        force_default_version_and_profile: 0,
        forward_compatible: 0,
        messages: MESSAGES,
        resource,
        callbacks: sys::glsl_include_callbacks_t {
            include_system: Some(include_system),
            include_local: Some(include_local),
            free_include_result: Some(free_include),
        },
        callbacks_ctx: ptr::from_ref(source).cast_mut().cast(),
    }
}

const MESSAGES: sys::glslang_messages_t = sys::glslang_messages_t(
    sys::glslang_messages_t::SPV_RULES.0
        | sys::glslang_messages_t::VULKAN_RULES.0
        | sys::glslang_messages_t::DEBUG_INFO.0,
);

/// The limits that sources can ask for (`gl_MaxComputeWorkGroupSize` and the like).
fn limits() -> sys::glslang_resource_t {
    // SAFETY: it consists of numbers and truth values, for all of which zero is a value.
    let mut limits: sys::glslang_resource_t = unsafe { std::mem::zeroed() };
    limits.max_compute_work_group_count_x = c_int::MAX;
    limits.max_compute_work_group_count_y = c_int::MAX;
    limits.max_compute_work_group_count_z = c_int::MAX;
    limits.max_compute_work_group_size_x = 1024;
    limits.max_compute_work_group_size_y = 1024;
    limits.max_compute_work_group_size_z = 1024;
    limits.max_compute_uniform_components = 1 << 20;
    limits.min_program_texel_offset = -32;
    limits.max_program_texel_offset = 31;
    limits.limits = sys::glslang_limits_t::default();
    limits
}

/// A parsed shader.
struct Shader(NonNull<sys::glslang_shader_t>);

impl Shader {
    /// Preprocesses and parses; on failure gives the log.
    fn parse(input: &sys::glslang_input_t) -> Result<Self, String> {
        // SAFETY: `input` and what it points to live until the end of this function.
        let created = unsafe { sys::glslang_shader_create(input) };
        let shader = Self(NonNull::new(created).ok_or_else(String::new)?);
        let raw = shader.0.as_ptr();
        // SAFETY: shader and input are live.
        let preprocessed = unsafe { sys::glslang_shader_preprocess(raw, input) } != 0;
        // SAFETY: as above, after preprocessing.
        let parsed = preprocessed && unsafe { sys::glslang_shader_parse(raw, input) } != 0;
        if parsed { Ok(shader) } else { Err(shader.log()) }
    }

    fn log(&self) -> String {
        // SAFETY: the shader is live; its log is a string that lives until the next call.
        unsafe { owned(sys::glslang_shader_get_info_log(self.0.as_ptr())) }
    }
}

impl Drop for Shader {
    fn drop(&mut self) {
        // SAFETY: it came from `glslang_shader_create` and is used no more.
        unsafe { sys::glslang_shader_delete(self.0.as_ptr()) }
    }
}

/// A linked program of one shader.
struct Program<'a> {
    raw: NonNull<sys::glslang_program_t>,
    /// glslang refers to it.
    _shader: &'a Shader,
}

impl<'a> Program<'a> {
    /// Links a shader; on failure gives the log.
    fn link(shader: &'a Shader, name: &CStr, source: &CStr) -> Result<Self, String> {
        // SAFETY: needs nothing.
        let created = unsafe { sys::glslang_program_create() };
        let program = Self { raw: NonNull::new(created).ok_or_else(String::new)?, _shader: shader };
        let raw = program.raw.as_ptr();
        // SAFETY: both are live, and the shader outlives the program.
        unsafe { sys::glslang_program_add_shader(raw, shader.0.as_ptr()) };
        // SAFETY: the program is live.
        if unsafe { sys::glslang_program_link(raw, MESSAGES.0) } == 0 {
            // SAFETY: the program is live; its log is a string that lives until the next call.
            return Err(unsafe { owned(sys::glslang_program_get_info_log(raw)) });
        }
        let length = source.to_bytes().len();
        // SAFETY: the program is live and linked; glslang copies the name.
        unsafe { sys::glslang_program_set_source_file(raw, sys::glslang_stage_t::Compute, name.as_ptr()) };
        // SAFETY: as above; glslang copies `length` bytes of the source.
        unsafe {
            sys::glslang_program_add_source_text(raw, sys::glslang_stage_t::Compute, source.as_ptr(), length);
        }
        Ok(program)
    }

    /// Generates SPIR-V; nothing on failure.
    fn generate(&self, debug_info: bool) -> Vec<u32> {
        let mut options = sys::glslang_spv_options_t {
            generate_debug_info: debug_info,
            strip_debug_info: !debug_info,
            disable_optimizer: true,
            optimize_size: false,
            optimize_performance: false,
            disassemble: false,
            validate: false,
            emit_nonsemantic_shader_debug_info: false,
            emit_nonsemantic_shader_debug_source: false,
            compile_only: false,
            optimize_allow_expanded_id_bound: false,
            compiler_signature: ptr::null(),
            command_line_arguments: ptr::null(),
            current_working_directory: ptr::null(),
        };
        let raw = self.raw.as_ptr();
        // SAFETY: the program is linked and has a compute stage; the options are read only.
        unsafe {
            sys::glslang_program_SPIRV_generate_with_options(
                raw,
                sys::glslang_stage_t::Compute,
                &raw mut options,
            );
        }
        // SAFETY: the program is live.
        let count = unsafe { sys::glslang_program_SPIRV_get_size(raw) };
        let mut words = vec![0_u32; count];
        // SAFETY: glslang writes as many words as it just said.
        unsafe { sys::glslang_program_SPIRV_get(raw, words.as_mut_ptr()) };
        words
    }

    fn messages(&self) -> String {
        // SAFETY: the program is live; the messages live until the next call, or are null.
        unsafe { owned(sys::glslang_program_SPIRV_get_messages(self.raw.as_ptr())) }
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: it came from `glslang_program_create` and is used no more.
        unsafe { sys::glslang_program_delete(self.raw.as_ptr()) }
    }
}

/// Copies a string.
///
/// # Safety
///
/// `text` is null or NUL-terminated.
unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

unsafe extern "C" fn include_system(
    context: *mut c_void,
    header: *const c_char,
    includer: *const c_char,
    depth: usize,
) -> *mut sys::glsl_include_result_t {
    // SAFETY: glslang passes the context of `input` and NUL-terminated names.
    unsafe { resolve(context, header, includer, false, depth) }
}

unsafe extern "C" fn include_local(
    context: *mut c_void,
    header: *const c_char,
    includer: *const c_char,
    depth: usize,
) -> *mut sys::glsl_include_result_t {
    // SAFETY: as above.
    unsafe { resolve(context, header, includer, true, depth) }
}

/// Finds a header. Null tells glslang that there is none.
///
/// # Safety
///
/// `context` is that of [`input`]; the names are NUL-terminated.
unsafe fn resolve(
    context: *mut c_void,
    header: *const c_char,
    includer: *const c_char,
    quoted: bool,
    depth: usize,
) -> *mut sys::glsl_include_result_t {
    // SAFETY: by the contract; the source outlives the compilation.
    let source = unsafe { &*context.cast::<Source>() };
    // SAFETY: by the contract.
    let (header, includer) = unsafe { (owned(header), owned(includer)) };
    let Some(found) = include::find(source, &header, &includer, quoted, depth) else {
        return ptr::null_mut();
    };
    let length = found.text.len();
    let (Ok(name), Ok(data)) = (CString::new(found.path), CString::new(found.text)) else {
        return ptr::null_mut();
    };
    Box::into_raw(Box::new(sys::glsl_include_result_t {
        header_name: name.into_raw(),
        header_data: data.into_raw(),
        header_length: length,
    }))
}

unsafe extern "C" fn free_include(_context: *mut c_void, result: *mut sys::glsl_include_result_t) -> c_int {
    if !result.is_null() {
        // SAFETY: it is what `resolve` gave, and glslang frees it once.
        let result = unsafe { Box::from_raw(result) };
        // SAFETY: `resolve` made both with `into_raw`.
        drop(unsafe { CString::from_raw(result.header_name.cast_mut()) });
        // SAFETY: as above.
        drop(unsafe { CString::from_raw(result.header_data.cast_mut()) });
    }
    0
}
