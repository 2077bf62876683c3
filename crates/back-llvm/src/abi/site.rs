//! Sites: what the code of a profiled pipeline says it is at.
//!
//! A site is a line of the source with a family of operations. Code that is compiled with
//! [`Options::profile`](crate::Options) writes the number of the site that it comes to into
//! [`SubgroupContext::site`](super::SubgroupContext), a word of the thread that runs it, and the host reads that word from
//! time to time. The first numbers are the host's own.

/// The number of a thread that has nothing to do in a dispatch.
pub const IDLE: u32 = 0;

/// The number of a thread that is between subgroups: it takes work-groups, calls the entry.
pub const SCHEDULING: u32 = 1;

/// The number of the first of [`Meta::sites`](super::Meta).
pub const FIRST_SITE: u32 = 2;

/// A place in the source with what is done there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// File, or empty.
    pub file: String,
    /// Line from 1, or 0 where unknown.
    pub line: u32,
    /// Word offset in the SPIR-V module of the first instruction of the site, or 0.
    pub word: u32,
    /// The function that it was written in, or empty.
    pub function: String,
    /// What is done, by its name in the IR.
    pub operation: String,
    /// Its kind.
    pub family: Family,
}

/// Kinds of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Products of matrices, and of matrices and vectors.
    MultiplyAdd,
    /// Loads and stores of matrices.
    MatrixMemory,
    /// Conversions and all else that is done with the elements of matrices.
    MatrixElements,
    /// What each lane computes.
    #[default]
    Lanes,
    /// Loads, stores and atomic operations of lanes.
    Memory,
    /// What the host does: images, printing.
    Services,
    /// Waiting for other subgroups of the work-group.
    Barrier,
    /// Taking work, starting subgroups.
    Scheduling,
    /// A thread without work.
    Idle,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::MultiplyAdd,
        Self::MatrixMemory,
        Self::MatrixElements,
        Self::Lanes,
        Self::Memory,
        Self::Services,
        Self::Barrier,
        Self::Scheduling,
        Self::Idle,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MultiplyAdd => "multiply-add",
            Self::MatrixMemory => "matrix load/store",
            Self::MatrixElements => "matrix elements",
            Self::Lanes => "lane code",
            Self::Memory => "memory",
            Self::Services => "services",
            Self::Barrier => "barrier",
            Self::Scheduling => "scheduling",
            Self::Idle => "idle",
        }
    }
}
