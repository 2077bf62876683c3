//! In place of glslang, in a build without the feature `glsl`.

use super::Source;
use super::message::GlslError;

/// Refuses a source.
pub(super) fn compile(source: &Source) -> Result<Vec<u32>, GlslError> {
    Err(GlslError::plain(
        &source.name,
        "this build knows no GLSL, as it leaves out the feature `glsl`; give it SPIR-V",
    ))
}

/// There is nothing to give back.
pub(super) const fn release() {}
