//! The driver as an application sees it: through a client library, with and without the Khronos loader.
//!
//! Each case runs on both routes. Through the loader the Khronos validation layer looks on, if it is installed; what
//! it finds fails the case. Where there is no loader, that route says so and passes.
//!
//! A case gets a [`fixture::Gpu`] with a device whose features are all enabled, and gives what it creates to the
//! fixture, which destroys it in the end.

#![expect(
    unsafe_op_in_unsafe_fn,
    reason = "every line of a case calls Vulkan, whose rules the validation layer checks"
)]
#![expect(clippy::panic, reason = "that is how a case fails")]

/// Defines cases: a module for each with a test for each route.
macro_rules! cases {
    ($($(#[$doc:meta])* fn $name:ident($gpu:ident) $body:block)*) => {
        $(
            $(#[$doc])*
            mod $name {
                #[allow(unused_imports, reason = "not every case needs all that its file imports")]
                use super::*;

                unsafe fn case($gpu: &$crate::fixture::Gpu) $body

                #[test]
                fn direct() {
                    $crate::fixture::run($crate::fixture::Route::Direct, case);
                }

                #[test]
                fn loader() {
                    $crate::fixture::run($crate::fixture::Route::Loader, case);
                }
            }
        )*
    };
}

mod compute;
mod descriptors;
mod elsewhere;
mod fixture;
mod image;
mod kernel;
mod lost;
mod matrix;
mod matrix2;
mod pipeline;
mod profile;
mod refused;
mod sampling;
mod start;
mod storage_image;
mod sync;
mod texel_buffer;
mod texels;
mod transfer;
mod vector;
