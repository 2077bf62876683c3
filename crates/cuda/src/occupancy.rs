//! How much of a multiprocessor a pipeline fills.

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};

use crate::code::Pipeline;
use crate::context::{self, Context};
use crate::error::Error;

/// Threads of a warp.
const WARP: u32 = 32;

/// Registers are given to a warp in parts of this size, and warps lie on four schedulers, each with its own (CUDA C++
/// Programming Guide, "Compute Capabilities", and the occupancy calculator of the toolkit).
const REGISTERS_AT_ONCE: u32 = 256;
const SCHEDULERS: u32 = 4;

/// What allows no more work-groups on a multiprocessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// Registers.
    #[default]
    Registers,
    /// Shared memory.
    SharedMemory,
    /// Warps.
    Warps,
    /// The number of work-groups itself.
    Groups,
}

/// What a pipeline takes of a multiprocessor, and how many of its work-groups are there at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Registers of a thread when it starts.
    pub registers: u32,
    /// Bytes of a thread for what is not in registers.
    pub local_bytes: u32,
    /// Bytes that a work-group shares.
    pub shared_bytes: u32,
    /// Threads of a work-group: its invocations, and those that copy for them.
    pub threads: u32,
    /// Work-groups that a multiprocessor has at once.
    pub groups: u32,
    /// Warps that it has then.
    pub warps: u32,
    /// Most warps that it can have.
    pub most_warps: u32,
    /// What allows no more.
    pub bound: Bound,
}

/// What a multiprocessor has.
#[derive(Clone, Copy, Debug)]
struct Room {
    registers: u32,
    shared_bytes: u32,
    /// What each work-group loses of it.
    reserved_bytes: u32,
    warps: u32,
    groups: u32,
}

impl Room {
    fn of(ordinal: u32) -> Result<Self, Error> {
        let device = context::device(ordinal)?;
        let get = |attribute| context::attribute(device, attribute);
        Ok(Self {
            registers: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
            shared_bytes: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            reserved_bytes: get(Attribute::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?,
            warps: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)? / WARP,
            groups: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        })
    }

    /// What is used up first.
    fn bound(&self, registers: u32, shared_bytes: u32, threads: u32) -> Bound {
        let warps = threads.div_ceil(WARP).max(1);
        let of_warp = (registers * WARP).next_multiple_of(REGISTERS_AT_ONCE).max(REGISTERS_AT_ONCE);
        let by_registers = self.registers / SCHEDULERS / of_warp * SCHEDULERS / warps;
        let by_shared = self.shared_bytes / shared_bytes.saturating_add(self.reserved_bytes).max(1);
        let bounds = [
            (by_registers, Bound::Registers),
            (by_shared, Bound::SharedMemory),
            (self.warps / warps, Bound::Warps),
            (self.groups, Bound::Groups),
        ];
        bounds.into_iter().min().map_or(Bound::default(), |(_, bound)| bound)
    }
}

impl Occupancy {
    /// That of a pipeline of the GPU with this number.
    pub(crate) fn of(pipeline: &Pipeline, context: &Context, ordinal: u32) -> Result<Self, Error> {
        let room = Room::of(ordinal)?;
        let (threads, shared_bytes) = (pipeline.layout.threads, pipeline.layout.shared_bytes);
        let registers = pipeline.registers();
        let mut groups = 0;
        context.enter()?;
        // SAFETY: the context is entered, the function is one of a module that is loaded in it, `groups` is written.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut groups,
                pipeline.function,
                threads.cast_signed(),
                shared_bytes as usize,
            )
        };
        context.check("asking for the occupancy", result)?;
        let groups = u32::try_from(groups).unwrap_or(0);
        Ok(Self {
            registers,
            local_bytes: pipeline.local_bytes(),
            shared_bytes,
            threads,
            groups,
            warps: groups * threads.div_ceil(WARP),
            most_warps: room.warps,
            bound: room.bound(registers, shared_bytes, threads),
        })
    }

    /// The part of the warps that a multiprocessor could have.
    pub fn share(&self) -> f64 {
        f64::from(self.warps) / f64::from(self.most_warps.max(1))
    }
}

impl Bound {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
            Self::Warps => "warps",
            Self::Groups => "work-groups",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A multiprocessor of an H100.
    const ROOM: Room =
        Room { registers: 65536, shared_bytes: 228 << 10, reserved_bytes: 1024, warps: 64, groups: 32 };

    #[test]
    fn what_is_used_up_first_bounds() {
        assert_eq!(ROOM.bound(168, 16 << 10, 384), Bound::Registers);
        assert_eq!(ROOM.bound(32, 120 << 10, 256), Bound::SharedMemory);
        assert_eq!(ROOM.bound(32, 0, 1024), Bound::Registers, "both have room for two");
        assert_eq!(ROOM.bound(16, 0, 256), Bound::Warps);
        assert_eq!(ROOM.bound(16, 0, 32), Bound::Groups);
    }

    #[test]
    fn a_share_is_one_of_warps() {
        let occupancy = Occupancy { warps: 16, most_warps: 64, ..Occupancy::default() };
        assert!((occupancy.share() - 0.25).abs() < 1e-9);
    }
}
