//! What values and variables hold.

use crate::memory::Pointer;
use phalanx_ir::Type;

/// The content of a value: one entry for each lane, or a whole matrix.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// The bits of a scalar in each lane.
    Scalars(Vec<u64>),
    /// A pointer in each lane.
    Pointers(Vec<Pointer>),
    /// The bits of the elements in row-major order; none before the definition.
    Matrix(Vec<u64>),
}

impl Data {
    /// The content before the definition.
    pub(crate) fn new(ty: Type, lanes: usize) -> Self {
        match ty {
            Type::Scalar(_) => Self::Scalars(vec![0; lanes]),
            Type::Ptr(_) => Self::Pointers(vec![Pointer::NULL; lanes]),
            Type::Mat(_) => Self::Matrix(Vec::new()),
        }
    }
}

/// Bytes that values of a type take for a subgroup.
pub(crate) fn footprint(ty: Type, lanes: u64) -> u64 {
    match ty {
        Type::Scalar(_) => 8 * lanes,
        Type::Ptr(_) => size_of::<Pointer>() as u64 * lanes,
        Type::Mat(m) => 8 * m.len(),
    }
}
