//! The driver: whether it is there, and what its results mean.

use std::ffi::CStr;
use std::fs;
use std::ptr;
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUresult};

use crate::error::Error;

/// The least version of CUDA that the driver must be for: major and minor.
const LEAST_VERSION: (i32, i32) = (12, 0);

/// Finds the driver and starts it, once for the process.
///
/// # Errors
///
/// [`Error::NoDriver`], [`Error::OldDriver`], or what the driver says.
pub(crate) fn start() -> Result<(), Error> {
    static STARTED: OnceLock<Result<(), Error>> = OnceLock::new();
    STARTED.get_or_init(find_and_start).clone()
}

fn find_and_start() -> Result<(), Error> {
    // SAFETY: loading the driver's library runs its constructors and nothing else.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoDriver);
    }
    let mut version = 0;
    // SAFETY: the library is there, and every version of it has this function; `version` is written.
    check("asking for the version of the driver", unsafe { sys::cuDriverGetVersion(&raw mut version) })?;
    let found = (version / 1000, version % 1000 / 10);
    if found < LEAST_VERSION {
        return Err(Error::OldDriver { expected: LEAST_VERSION, found });
    }
    // SAFETY: as above; 0 is the only value for the flags.
    check("starting the driver", unsafe { sys::cuInit(0) })
}

/// Names the driver: the version of CUDA that it is for, and its own, which the kernel tells where it can be asked.
pub(crate) fn version() -> Result<String, Error> {
    start()?;
    let mut version = 0;
    // SAFETY: the driver is started, `version` is written.
    check("asking for the version of the driver", unsafe { sys::cuDriverGetVersion(&raw mut version) })?;
    let own = fs::read_to_string("/sys/module/nvidia/version").unwrap_or_default();
    Ok(format!("CUDA {}.{} {}", version / 1000, version % 1000 / 10, own.trim()).trim_end().to_owned())
}

/// An error if a call failed.
pub(crate) fn check(call: &'static str, result: CUresult) -> Result<(), Error> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        result if is_loss(result) => Err(Error::Lost { why: text(result) }),
        result => Err(Error::Driver { call, why: text(result) }),
    }
}

/// Whether nothing works any more in the context in which a call had this result.
fn is_loss(result: CUresult) -> bool {
    use CUresult as R;
    matches!(
        result,
        R::CUDA_ERROR_ILLEGAL_ADDRESS
            | R::CUDA_ERROR_LAUNCH_TIMEOUT
            | R::CUDA_ERROR_ASSERT
            | R::CUDA_ERROR_HARDWARE_STACK_ERROR
            | R::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | R::CUDA_ERROR_MISALIGNED_ADDRESS
            | R::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | R::CUDA_ERROR_INVALID_PC
            | R::CUDA_ERROR_LAUNCH_FAILED
            | R::CUDA_ERROR_ECC_UNCORRECTABLE
            | R::CUDA_ERROR_CONTEXT_IS_DESTROYED
    )
}

/// What the driver says of a result.
fn text(result: CUresult) -> String {
    let mut text = ptr::null();
    // SAFETY: a result of the driver means that it is loaded; `text` is written, or stays null.
    let known = unsafe { sys::cuGetErrorString(result, &raw mut text) };
    if known != CUresult::CUDA_SUCCESS || text.is_null() {
        return format!("{result:?}");
    }
    // SAFETY: the driver gave a text that ends with a zero and is never freed.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Properties;

    /// Whatever the machine has: a GPU that does not exist is one clear error, and none is counted without a driver.
    #[test]
    fn what_is_missing_is_told() {
        let found = Properties::of(u32::MAX).expect_err("no machine has that many");
        match start() {
            Ok(()) => assert!(matches!(found, Error::NoGpu { ordinal: u32::MAX, .. }), "{found}"),
            Err(missing) => {
                assert_eq!(found, missing);
                assert_eq!(Properties::all(), []);
            }
        }
    }

    #[test]
    fn a_fault_is_a_loss_and_a_bad_argument_is_not() {
        assert!(is_loss(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
        assert!(!is_loss(CUresult::CUDA_ERROR_INVALID_VALUE));
        assert!(!is_loss(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
    }
}
