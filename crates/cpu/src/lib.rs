//! The CPU device: JIT, memory, work-groups, barriers, dispatch.
