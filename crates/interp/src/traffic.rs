//! What a dispatch reads from memory and writes to it, counted.
//!
//! An access counts where it is done, so the numbers are those of the program as it is written: a scalar once for each
//! invocation that accesses it, an element of a matrix once for the invocations that share the matrix. One that lies
//! outside of its object is not accessed, and not counted; [`crate::Report::out_of_bounds`] has it. Push constants,
//! variables and what a matrix holds are not memory here.

use phalanx_ir::AtomicOp;

/// What was accessed in some memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Read; atomic operations are among them unless they only store.
    pub read: Amount,
    /// Written; atomic operations are among them unless they only load, whether or not they change something.
    pub written: Amount,
}

/// Scalars, elements of matrices and texels, each counted as often as it was accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Their number.
    pub elements: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a dispatch accessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Of each buffer, in the order in which they were added to the [`crate::Memory`].
    pub buffers: Vec<Accesses>,
    /// Of the memory that work-groups share, of all of them together.
    pub shared: Accesses,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// Both, at once.
    Update,
}

impl Access {
    /// What an atomic operation does.
    pub(crate) const fn of(op: AtomicOp) -> Self {
        match op {
            AtomicOp::Load => Self::Read,
            AtomicOp::Store => Self::Write,
            _ => Self::Update,
        }
    }
}

impl Accesses {
    /// Counts one element.
    pub(crate) fn add(&mut self, access: Access, bytes: u32) {
        let one = Amount { elements: 1, bytes: bytes.into() };
        if access != Access::Write {
            self.read += one;
        }
        if access != Access::Read {
            self.written += one;
        }
    }
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        self.elements += other.elements;
        self.bytes += other.bytes;
    }
}

impl std::ops::AddAssign for Accesses {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.written += other.written;
    }
}
