//! Regions: code for the elements of matrices.
//!
//! An operation on elements calls a function for each of them. The function is inlined into a block of
//! the IR's operation, which thus needs to know nothing of calls.

use crate::cx::Cx;
use crate::diag::{Res, code, invalid, operand};
use crate::module::FunctionDecl;
use crate::ops;
use crate::reader::{Id, Inst};
use crate::value::Val;
use phalanx_ir::{self as ir, Label, Op as IrOp, Scalar, Value};

/// A region being filled: code for the elements of a matrix.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The instruction that calls a function for each element.
    caller: String,
    /// Where that function returns to.
    exit: Option<Label>,
}

impl Region {
    /// Notes where the outermost function returns to.
    pub(crate) fn set_exit(&mut self, label: Label) {
        self.exit.get_or_insert(label);
    }
}

impl<'m> Cx<'m> {
    /// The function with an id, as an operand.
    pub(crate) fn function_operand(&self, id: Id) -> Res<&'m FunctionDecl> {
        let spv = self.spv;
        spv.functions.get(&id).ok_or_else(|| operand(format!("operand %{id} is not a function")))
    }

    /// A block that gives the result of a function for each element of a matrix. `args` makes the
    /// function's arguments from the region's parameters; their types have been checked.
    pub(crate) fn fill_region(
        &mut self,
        inst: &Inst<'_>,
        decl: &FunctionDecl,
        params: &[ir::Type],
        elem: Scalar,
        args: impl FnOnce(&mut Self, &[Value]) -> Res<Vec<Val>>,
    ) -> Res<ir::Block> {
        let at = self.inst;
        let body = self.func.new_block();
        let outer = std::mem::replace(&mut self.block, body);
        self.region = Some(Region { caller: inst.name(), exit: None });
        let done = (|| {
            let params = self.b().values(IrOp::Params, &[], params);
            let args = args(self, &params)?;
            let result = self.function(decl, args)?;
            self.begin(at);
            let result = result.ok_or_else(|| operand(format!("the function %{} gives nothing", decl.id)))?;
            let value = self.leaf_value(elem.into(), &result)?;
            self.b().effect(IrOp::Yield, &[value]);
            // What instructions do not show, such as initialisers.
            if self.holds_tangled(body) {
                let m = format!("the function %{} deals with cooperative matrices itself", decl.id);
                return Err(operand(m));
            }
            Ok(())
        })();
        (self.block, self.region) = (outer, None);
        done.map(|()| body)
    }

    /// Whether a block holds what a region must not.
    fn holds_tangled(&self, block: ir::Block) -> bool {
        self.func.block(block).iter().any(|&i| {
            let info = self.func.inst(i);
            let is_mat = |v: &Value| self.func.ty(*v).mat().is_some();
            let is_var = info.op.var().is_some_and(|v| self.func.var(v).ty.mat().is_some());
            is_var
                || info.args.iter().chain(&info.results).any(is_mat)
                || info.op.bodies().any(|b| self.holds_tangled(b))
        })
    }

    /// Where the function of the region that is being filled returns to.
    pub(crate) fn region_exit(&self) -> Option<Label> {
        self.region.as_ref().and_then(|region| region.exit)
    }

    /// SPV_NV_cooperative_matrix2: "tangled instructions are not allowed" in functions called for
    /// elements.
    pub(crate) fn check_region(&self, inst: &Inst<'_>) -> Res<()> {
        match &self.region {
            Some(region) if ops::is_tangled(self, inst) => {
                let m = format!("is tangled, which a function that {} calls must not contain", region.caller);
                Err(invalid(code::OPERAND, m))
            }
            _ => Ok(()),
        }
    }
}
