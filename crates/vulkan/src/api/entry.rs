//! How an entry point is made: traced if wished, and no panic crosses into C.

use std::panic::{AssertUnwindSafe, catch_unwind};

use vulkanalia_sys as vk;

use crate::core::debug;

/// What an entry point's body gives: success, or the code to return instead, such as
/// `VK_INCOMPLETE` or an error.
pub(crate) type Outcome = Result<(), vk::Result>;

/// What an entry point returns to C.
pub(crate) trait Returned: Sized {
    /// What its body gives.
    type Body;

    /// From one to the other.
    fn of(body: Self::Body) -> Self;

    /// What is returned when the body panicked.
    fn of_panic() -> Self;
}

impl Returned for vk::Result {
    type Body = Outcome;

    fn of(body: Outcome) -> Self {
        body.err().unwrap_or(Self::SUCCESS)
    }

    fn of_panic() -> Self {
        Self::ERROR_UNKNOWN
    }
}

macro_rules! plain {
    ($($ty:ty),*) => {$(
        impl Returned for $ty {
            type Body = Self;
            fn of(body: Self) -> Self { body }
            fn of_panic() -> Self { Self::default() }
        }
    )*};
}
plain!((), u32, u64, vk::PFN_vkVoidFunction);

/// Runs the body of an entry point.
pub(crate) fn enter<R: Returned>(name: &'static str, body: impl FnOnce() -> R::Body) -> R {
    debug::trace(name);
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(body) => R::of(body),
        Err(_panic) => {
            debug::report_panic(name);
            R::of_panic()
        }
    }
}

/// Defines entry points: functions that C calls. The body gives an [`Outcome`] where Vulkan returns a
/// `VkResult`, else the value.
///
/// # Safety
///
/// Of all of them: what the Vulkan specification asks of the caller under *Valid Usage*. In the body, an
/// `unsafe` block refers to that.
macro_rules! entries {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$doc])*
        pub(crate) unsafe extern "system" fn $name($($arg: $ty),*) $(-> $ret)? {
            $crate::api::entry::enter(stringify!($name), || $body)
        }
    )*};
}
pub(crate) use entries;

/// When an entry point may be asked for, and of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Without an instance.
    Global,
    /// Its first parameter is an instance.
    Instance,
    /// Its first parameter is a physical device.
    Physical,
    /// Its first parameter is a device, or a child of one.
    Device,
}

/// A function of unknown type.
pub(crate) type Function = unsafe extern "system" fn();

/// An entry point by its name.
#[derive(Debug)]
pub(crate) struct Command {
    /// `PFN_` and its name.
    pub(crate) type_name: &'static str,
    pub(crate) level: Level,
    pub(crate) function: Function,
}

/// Lists the entry points of a module, each checked against its type: `PFN_vkCreateBuffer: create_buffer`.
macro_rules! commands {
    ($level:ident; $($pfn:ident: $function:path),* $(,)?) => {
        &[$($crate::api::entry::Command {
            type_name: stringify!($pfn),
            level: $crate::api::entry::Level::$level,
            function: {
                let typed: $crate::api::newer::$pfn = $function;
                // SAFETY: one function pointer type for another, which the caller casts back.
                unsafe { std::mem::transmute::<$crate::api::newer::$pfn, $crate::api::entry::Function>(typed) }
            },
        }),*]
    };
}
pub(crate) use commands;
