//! What kernels read, counted by the interpreter: on the same problem, and their results are compared there, too.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::{Kernel, Watch, Workload, compile};
use crate::runtime::{Binding, Choices, Device, DeviceKind, Dispatch};

/// What a kernel did on the interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Count {
    /// How many elements it read of each buffer that the workload names.
    pub(crate) read: BTreeMap<String, u64>,
    /// Whether its result was right.
    pub(crate) ok: bool,
}

/// Runs each kernel of a workload once; nothing if it was interrupted. Each is a single dispatch on all buffers.
pub(crate) fn count(workload: &dyn Workload, watch: &Watch<'_>) -> Result<Option<Vec<Count>>> {
    let device = Device::of_kind(DeviceKind::Interpreter, Choices::default())?;
    let subject = workload.subject();
    let kernels: Vec<(&str, &Kernel)> =
        workload.kernels().iter().map(|kernel| (subject.workload, kernel)).collect();
    let Some(pipelines) = compile(&device, &kernels, watch)? else { return Ok(None) };
    let Some(problem) = workload.prepare(&device, watch)? else { return Ok(None) };
    let bindings: Vec<Binding<'_>> = (0..)
        .zip(&problem.buffers)
        .map(|(binding, buffer)| Binding { set: 0, binding, index: 0, buffer })
        .collect();
    let mut counts = Vec::new();
    for (kernel, pipelines) in workload.kernels().iter().zip(&pipelines) {
        watch.bar.set_message(format!("{} {}: counting what it reads", subject.workload, kernel.name));
        problem.blank()?;
        let report = device.dispatch(Dispatch {
            pipeline: pipelines.first().context("a kernel has a pipeline")?,
            groups: kernel.groups,
            bindings: &bindings,
            push_constants: &kernel.push_constants,
            timeout: None,
            cancel: Some(watch.interrupt.token()),
        });
        let report = match report {
            Err(_cancelled) if watch.interrupt.is_set() => return Ok(None),
            report => report?,
        };
        let elements = report.elements_read.context("the interpreter counts")?;
        let names = workload.counted().iter().map(|name| (*name).to_owned());
        counts.push(Count { read: names.zip(elements).collect(), ok: (problem.check)(&problem.buffers)?.ok });
    }
    Ok(Some(counts))
}
