//! The objects behind the handles.

pub(crate) mod buffer;
pub(crate) mod clock;
pub(crate) mod command;
pub(crate) mod debug;
pub(crate) mod descriptor;
pub(crate) mod device;
pub(crate) mod execute;
pub(crate) mod format;
pub(crate) mod image;
pub(crate) mod instance;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod pipeline;
pub(crate) mod presented;
pub(crate) mod profile;
pub(crate) mod query;
pub(crate) mod queue;
pub(crate) mod sampler;
pub(crate) mod sync;
pub(crate) mod table;
