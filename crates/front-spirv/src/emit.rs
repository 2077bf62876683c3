//! Stub.
use crate::cx::Cx;
use crate::diag::Res;
use crate::reader::Inst;
use crate::structure::Structure;
use std::rc::Rc;
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) structure: Rc<Structure>,
    pub(crate) node: u32,
}
impl Cx<'_> {
    pub(crate) fn call(&mut self, _inst: &Inst<'_>) -> Res<()> {
        Ok(())
    }
}
