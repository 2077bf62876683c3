//! Stub.
use crate::reader::Id;
#[derive(Debug)]
pub(crate) struct Structure;
impl Structure {
    pub(crate) fn escapes(&self, _id: Id) -> bool {
        false
    }
    pub(crate) fn encloses(&self, _a: u32, _b: u32) -> bool {
        true
    }
}
