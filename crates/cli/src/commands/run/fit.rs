//! Whether a bind list fits the buffers that a shader declares.

use anyhow::{Result, bail, ensure};

use crate::data::DType;
use crate::data::input::Input;
use crate::data::spec::{BindSpec, Place, Source};
use crate::runtime::{BindingInfo, Reflection, list_or_none};

/// Compares them, and gives back what is odd without being wrong.
pub(super) fn check(shader: &Reflection, specs: &[BindSpec], inputs: &[Input]) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    for (spec, input) in specs.iter().zip(inputs) {
        let Place::Descriptor { set, binding, index } = spec.place else { continue };
        // Several variables may share a binding, each with its own view of the same bytes.
        let views: Vec<&BindingInfo> =
            shader.bindings.iter().filter(|info| (info.set, info.binding) == (set, binding)).collect();
        if !views.is_empty() {
            check_views(spec, index, input, &views)?;
        } else if shader.declared.contains(&(set, binding)) {
            warnings
                .push(format!("--bind {}: the shader declares this buffer and does not use it", spec.place));
        } else {
            let mut known: Vec<String> =
                shader.bindings.iter().map(|info| format!("{}:{}", info.set, info.binding)).collect();
            known.dedup();
            let known = list_or_none(&known);
            bail!("--bind {}: the shader has no such buffer; it has {known}", spec.place);
        }
    }
    for info in &shader.bindings {
        for index in 0..info.count.unwrap_or(0) {
            let place = Place::Descriptor { set: info.set, binding: info.binding, index };
            ensure!(
                specs.iter().any(|spec| spec.place == place),
                "the shader reads {}, --bind {place} is missing",
                called(info)
            );
        }
    }
    Ok(warnings)
}

/// A buffer by its name in the shader, if it has one there.
fn called(info: &BindingInfo) -> String {
    if info.name.is_empty() { "a buffer without a name".to_owned() } else { format!("`{}`", info.name) }
}

fn check_views(spec: &BindSpec, index: u32, input: &Input, views: &[&BindingInfo]) -> Result<()> {
    let name = views.first().map_or_else(String::new, |info| called(info));
    if let Some(count) = views.first().and_then(|info| info.count) {
        ensure!(index < count, "--bind {}: {name} has {count} elements", spec.place);
    }
    let needed = views.iter().map(|info| info.min_bytes).max().unwrap_or(0);
    ensure!(
        input.size >= needed,
        "--bind {}: {name} takes at least {needed} bytes, {} has {}",
        spec.place,
        input.description(),
        input.size
    );
    if has_type(spec) && !views.iter().any(|info| accepts(info.element, input.dtype)) {
        let elements: Vec<String> =
            views.iter().filter_map(|info| info.element).map(|dtype| dtype.to_string()).collect();
        bail!(
            "--bind {}: {name} has elements of type {}, not {}; `bits:` before the source takes its bytes as they are",
            spec.place,
            elements.join(" or "),
            input.dtype
        );
    }
    Ok(())
}

/// Whether the source says what its bytes are.
fn has_type(spec: &BindSpec) -> bool {
    let is_plain_file = matches!(spec.source, Source::Raw(_)) && spec.expected.is_none();
    !spec.is_bits && !is_plain_file && !matches!(spec.source, Source::Fields(_))
}

/// NumPy files hold bfloat16 and 8-bit floats as unsigned integers.
fn accepts(element: Option<DType>, dtype: DType) -> bool {
    match element {
        None => true,
        Some(DType::Bf16) => matches!(dtype, DType::Bf16 | DType::U16),
        Some(element @ (DType::E4m3 | DType::E5m2)) => dtype == element || dtype == DType::U8,
        Some(element) => dtype == element,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(binding: u32, count: Option<u32>, element: Option<DType>) -> BindingInfo {
        BindingInfo { set: 0, binding, name: format!("buffer{binding}"), count, element, min_bytes: 8 }
    }

    /// A shader that uses these buffers, and declares one more at 1:7.
    fn check(used: &[BindingInfo], specs: &[&str]) -> Result<Vec<String>> {
        let specs: Vec<BindSpec> = specs.iter().map(|text| text.parse().expect("well formed")).collect();
        let inputs: Vec<Input> = specs.iter().map(|spec| spec.open().expect("no file")).collect();
        let declared = used.iter().map(|info| (info.set, info.binding)).chain([(1, 7)]).collect();
        let shader = Reflection { bindings: used.to_vec(), declared, ..Reflection::default() };
        super::check(&shader, &specs, &inputs)
    }

    #[test]
    fn a_list_that_matches_is_accepted() {
        let declared = [info(0, Some(1), Some(DType::F32)), info(1, Some(2), None), info(2, None, None)];
        let specs = [
            "0:0=zeros:f32[4]",
            "0:1=zeros:u8[8]",
            "0:1[1]=struct:u64:1",
            "0:2[9]=zeros:u8[8]",
            "x=zeros:u8[1]",
        ];
        assert!(check(&declared, &specs).expect("everything is there").is_empty());
    }

    #[test]
    fn a_buffer_that_is_not_used_is_only_odd() {
        let warnings = check(&[], &["1:7=zeros:f32[4]"]).expect("declared");
        assert_eq!(warnings, ["--bind 1:7: the shader declares this buffer and does not use it"]);
        let error = check(&[], &["1:8=zeros:f32[4]"]).expect_err("not declared").to_string();
        assert!(error.ends_with("it has none"), "{error}");
    }

    #[test]
    fn each_mismatch_is_told_in_the_terms_of_the_list() {
        let declared = [info(0, Some(1), Some(DType::F32)), info(1, Some(2), None)];
        let refuse = |specs: &[&str], expected: &str| {
            let error = check(&declared, specs).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        };
        refuse(&["0:0=zeros:f32[4]", "0:1=zeros:u8[8]"], "--bind 0:1[1] is missing");
        refuse(&["0:0=zeros:f64[4]"], "elements of type f32, not f64");
        refuse(&["0:0=zeros:f32[1]"], "at least 8 bytes");
        refuse(&["0:3=zeros:f32[4]"], "no such buffer; it has 0:0, 0:1");
        refuse(&["0:1[2]=zeros:f32[4]"], "has 2 elements");
    }

    #[test]
    fn several_views_of_a_binding_are_all_right() {
        let declared = [info(0, Some(1), Some(DType::U32)), info(0, Some(1), Some(DType::F16))];
        check(&declared, &["0:0=zeros:f16[8]"]).expect("one of them is f16");
        assert!(check(&declared, &["0:0=zeros:f32[8]"]).is_err());
    }
}
