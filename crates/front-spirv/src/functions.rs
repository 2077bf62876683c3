//! Which function of a module a word is in, for people to read.

use crate::diag::Diagnostics;
use crate::module::Spv;

/// The functions of a module with the word offsets where they begin, in order. One without a name is called by its id.
///
/// # Errors
///
/// If the words are no module.
pub fn functions(words: &[u32]) -> Result<Vec<(u32, String)>, Diagnostics> {
    let spv = Spv::read(words)?;
    let mut functions: Vec<(u32, String)> = spv
        .functions
        .values()
        .map(|decl| {
            // GLSL's compiler writes the parameters' types behind the name.
            let name = spv.names.of(decl.id).split('(').next().unwrap_or_default();
            let name = if name.is_empty() { format!("%{}", decl.id) } else { name.to_owned() };
            (spv.insts[decl.inst].at, name)
        })
        .collect();
    functions.sort();
    Ok(functions)
}

#[cfg(test)]
mod tests {
    #[test]
    fn functions_are_in_order_and_have_names() {
        let words = phalanx_spirv_asm::assemble(
            "OpCapability Shader
             OpMemoryModel Logical GLSL450
             OpEntryPoint GLCompute %main \"main\"
             OpExecutionMode %main LocalSize 1 1 1
             OpName %helper \"helper(f1;\"
             %void = OpTypeVoid
             %type = OpTypeFunction %void
             %helper = OpFunction %void None %type
             %a = OpLabel
             OpReturn
             OpFunctionEnd
             %main = OpFunction %void None %type
             %b = OpLabel
             OpReturn
             OpFunctionEnd",
        )
        .unwrap();
        let functions = super::functions(&words).unwrap();
        assert_eq!(functions.len(), 2);
        assert_eq!(functions[0].1, "helper");
        assert!(functions[1].1.starts_with('%') && functions[0].0 < functions[1].0, "{functions:?}");
        assert!(super::functions(&words[..4]).is_err());
    }
}
