//! Shader modules, pipelines and their caches.

use std::sync::{Arc, OnceLock};

use vulkanalia_sys as vk;

mod cache;

pub(crate) use cache::{Identity, PipelineCache};

/// A shader module.
///
/// It is not looked at before a pipeline is made of it: what is missing may depend on the specialisation, and
/// `vkCreateShaderModule` has no error for it.
#[derive(Debug)]
pub(crate) struct ShaderModule {
    words: Vec<u32>,
    module: OnceLock<Result<phalanx::Module, Arc<phalanx::Error>>>,
}

impl ShaderModule {
    /// A module of these words.
    pub(crate) fn new(words: Vec<u32>) -> Self {
        Self { words, module: OnceLock::new() }
    }

    /// The module, read when it is first asked for.
    pub(crate) fn module(&self) -> Result<&phalanx::Module, Arc<phalanx::Error>> {
        let read = || phalanx::Module::new(&self.words).map_err(Arc::new);
        self.module.get_or_init(read).as_ref().map_err(Arc::clone)
    }
}

/// A compute pipeline.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) pipeline: phalanx::Pipeline,
    /// What it became on its way to machine code, if that was to be kept.
    pub(crate) insides: Option<phalanx::Insides>,
}

/// A number that is known about a pipeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Statistic {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) value: Value,
}

/// Numbers of statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Count(u64),
    Seconds(f64),
    Truth(bool),
}

impl Pipeline {
    /// What is known about it.
    pub(crate) fn statistics(&self) -> Vec<Statistic> {
        let code = self.pipeline.statistics();
        let times = self.pipeline.compile_times();
        let invocations: u64 = self.pipeline.workgroup_size().map(u64::from).iter().product();
        let subgroups = invocations.div_ceil(u64::from(self.pipeline.subgroup_size()).max(1));
        let bindings = self.pipeline.bindings().len() as u64;
        let count =
            |name, description, count: u64| Statistic { name, description, value: Value::Count(count) };
        let seconds = |name, description, time: std::time::Duration| {
            let value = Value::Seconds(time.as_secs_f64());
            Statistic { name, description, value }
        };
        vec![
            count("Object Size", "Bytes of the compiled object file", code.object_bytes),
            count("Scratch Memory Size", "Bytes of private memory of a subgroup", code.scratch_bytes),
            count("Stack Size", "Bytes of stack of a subgroup", code.stack_bytes),
            count(
                "Workgroup Memory Size",
                "Bytes that a workgroup shares",
                self.pipeline.shared_bytes().into(),
            ),
            count("Push Constant Size", "Bytes of push constants read", self.pipeline.push_bytes().into()),
            count("Bindings", "Buffer variables used", bindings),
            count("Subgroups", "Subgroups of a workgroup", subgroups),
            seconds("Translation Time", "Seconds from SPIR-V to the IR", times.translate),
            seconds("Optimization Time", "Seconds of passes over the IR", times.optimize),
            seconds("Compilation Time", "Seconds from the IR to machine code", times.compile),
            seconds("Load Time", "Seconds to load the machine code", times.load),
            Statistic {
                name: "From Cache",
                description: "Whether it did not have to be compiled",
                value: Value::Truth(times.cached),
            },
        ]
    }

    /// Its intermediate forms, if they were to be kept: name, description and text of each.
    pub(crate) fn representations(&self) -> Vec<(&'static str, &'static str, &str)> {
        let forms = self.insides.iter().flat_map(|insides| &insides.0);
        forms.map(|form| (form.name, form.description, form.text.as_str())).collect()
    }
}

/// The values of specialisation constants: each entry's bytes of the data as a number. Entries outside of the
/// data, or of sizes that no constant has, are passed over.
pub(crate) fn specialization(
    entries: &[vk::SpecializationMapEntry],
    data: &[u8],
) -> Vec<(u32, phalanx::SpecValue)> {
    let value = |entry: &vk::SpecializationMapEntry| {
        let start = entry.offset as usize;
        let bytes = data.get(start..start.checked_add(entry.size)?)?;
        if !matches!(bytes.len(), 1 | 2 | 4 | 8) {
            return None;
        }
        let mut wide = [0; 8];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some((entry.constant_id, phalanx::SpecValue::from_bits(u64::from_le_bytes(wide))))
    };
    entries.iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_all_sizes_are_read_and_others_passed_over() {
        let data = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let entry = |constant_id, offset, size| vk::SpecializationMapEntry { constant_id, offset, size };
        let entries = [
            entry(0, 8, 1),
            entry(1, 1, 2),
            entry(2, 0, 4),
            entry(3, 1, 8),
            entry(4, 2, 8),
            entry(5, 0, 3),
            entry(6, u32::MAX, usize::MAX),
        ];
        let found: Vec<_> =
            specialization(&entries, &data).iter().map(|(id, value)| (*id, value.bits())).collect();
        assert_eq!(found, [(0, 9), (1, 0x0302), (2, 0x0403_0201), (3, 0x0908_0706_0504_0302)]);
    }

    #[test]
    fn modules_are_read_late() {
        let module = ShaderModule::new(vec![1, 2, 3]);
        assert!(module.module().is_err());
        assert!(module.module().is_err());
    }
}
