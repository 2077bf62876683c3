//! The entry points.
//!
//! Above each check stands the clause or the *VUID* that asks for it. A function that C calls is written with
//! [`entry::entries`] and listed with [`entry::commands`] in its module's `COMMANDS`; the loader finds it there.

mod buffer;
mod buffer_view;
mod chain;
mod command;
mod debug_utils;
mod descriptor;
mod device;
mod dispatchable;
mod entry;
mod extensions;
mod features;
mod formats;
mod graphics;
mod image;
mod instance;
mod limits;
pub(crate) mod loader;
mod matrix;
mod memory;
mod newer;
mod physical;
mod pipeline;
mod private_data;
mod properties;
mod query;
mod queue;
mod requirements;
mod sampler;
mod sync;
mod vector;

/// All entry points.
const COMMANDS: &[&[entry::Command]] = &[
    loader::INSTANCE_COMMANDS,
    loader::COMMANDS,
    instance::GLOBAL_COMMANDS,
    instance::COMMANDS,
    physical::COMMANDS,
    formats::COMMANDS,
    device::PHYSICAL_COMMANDS,
    device::COMMANDS,
    debug_utils::INSTANCE_COMMANDS,
    debug_utils::COMMANDS,
    private_data::COMMANDS,
    memory::COMMANDS,
    buffer::COMMANDS,
    buffer_view::COMMANDS,
    image::COMMANDS,
    sampler::COMMANDS,
    graphics::COMMANDS,
    descriptor::COMMANDS,
    pipeline::COMMANDS,
    command::COMMANDS,
    command::refused::COMMANDS,
    queue::COMMANDS,
    sync::COMMANDS,
    query::COMMANDS,
    vector::PHYSICAL_COMMANDS,
    vector::COMMANDS,
];
