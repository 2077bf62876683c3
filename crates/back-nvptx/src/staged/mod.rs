//! Blocks of shared memory that threads of their own fill.
//!
//! Programs for GPUs go through matrices in blocks: between two barriers all invocations copy a block to shared memory,
//! between the next two all subgroups multiply from there. So nobody multiplies while copies are under way, and nobody
//! copies while the last subgroup multiplies. Where that is what a loop does ([`mod@plan`]), the work-group gets a second
//! thread for each invocation. These *producers* run the program as the invocations whose doubles they are, but nothing
//! of it that copies do not need, and its copies go to a ring of several blocks. The invocations copy nothing:
//!
//! ```text
//! producers                                     invocations
//! wait until the block is empty                 wait until the block is full
//! copy (cp.async)                               multiply
//! say that it is full once all is there         say that it is empty
//! ```
//!
//! The barriers are gone: a subgroup waits for copies that are some rounds old, and for no other subgroup. What a copy would
//! read outside of its buffer is zero by the instruction itself.

mod fuse;
mod multiply;
mod plan;
mod ring;
mod walk;

pub(crate) use ring::Ring;
