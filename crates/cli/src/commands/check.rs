//! `phalanx check`: whether a shader is valid, what it uses and what a device must offer.

use std::fmt::Write;

use anyhow::{Context, Result};

use super::load_shader;
use crate::args::CheckArgs;
use crate::runtime::{self, Reflection};
use crate::{Status, say};

pub(crate) fn run(args: &CheckArgs) -> Result<Status> {
    let words = load_shader(&args.shader, &args.glsl)?;
    let reflection = runtime::reflect(&words, &args.spec, None)
        .with_context(|| format!("{} is not accepted", args.shader.display()))?;
    say(format!("{}: valid", args.shader.display()))?;
    say(describe(&reflection))?;
    Ok(Status::Done)
}

fn describe(shader: &Reflection) -> String {
    let mut text = format!("  {:<24}{}", "SPIR-V version", shader.version);
    let mut list = |title: &str, items: &[String]| {
        for (index, item) in items.iter().enumerate() {
            let title = if index == 0 { title } else { "" };
            // Writing to a string does not fail.
            let _ = write!(text, "\n  {title:<24}{item}");
        }
    };
    list("entry points", &shader.entry_points);
    if let Some([x, y, z]) = shader.local_size {
        list("work-group", &[format!("{x} x {y} x {z} invocations")]);
    }
    list("capabilities", &shader.capabilities);
    list("extensions", &shader.extensions);
    list("matrices", &shader.matrices);
    let bindings: Vec<String> = shader
        .bindings
        .iter()
        .map(|binding| {
            let element = binding.element.map_or_else(String::new, |dtype| format!(", elements {dtype}"));
            let count = match binding.count {
                Some(1) => String::new(),
                Some(count) => format!(" x {count}"),
                None => " x any number".to_owned(),
            };
            let name = &binding.name;
            format!(
                "{}:{} {name}{count}, at least {} bytes{element}",
                binding.set, binding.binding, binding.min_bytes
            )
        })
        .collect();
    list("buffers", &bindings);
    if shader.push_constant_bytes > 0 {
        list("push constants", &[format!("{} bytes", shader.push_constant_bytes)]);
    }
    let constants: Vec<String> =
        shader.constants.iter().map(|(id, name, default)| format!("{id} {name} = {default}")).collect();
    list("constants", &constants);
    list("a device must offer", &shader.requirements);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DType;
    use crate::runtime::BindingInfo;

    #[test]
    fn every_part_is_shown() {
        let text = describe(&Reflection {
            version: "1.6".to_owned(),
            entry_points: vec!["main".to_owned()],
            local_size: Some([32, 1, 1]),
            capabilities: vec!["Shader".to_owned(), "CooperativeMatrixKHR".to_owned()],
            extensions: vec!["SPV_KHR_cooperative_matrix".to_owned()],
            matrices: vec!["f16 16x16 use A".to_owned()],
            requirements: vec!["cooperativeMatrix".to_owned()],
            bindings: vec![BindingInfo {
                set: 0,
                binding: 1,
                name: "inputB".to_owned(),
                count: Some(1),
                element: Some(DType::F16),
                min_bytes: 0,
            }],
            push_constant_bytes: 20,
            constants: vec![(0, "lM".to_owned(), "16".to_owned())],
        });
        for part in [
            "1.6",
            "32 x 1 x 1",
            "CooperativeMatrixKHR",
            "0:1 inputB",
            "elements f16",
            "20 bytes",
            "0 lM = 16",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }
}
