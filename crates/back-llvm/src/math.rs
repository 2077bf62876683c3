//! Transcendental functions: calls into the table of element-wise functions.
//!
//! The functions work on arrays of `f32` in memory, so a vector is spilled, and a scalar is given
//! room as for a short vector.

use crate::emit::{V, lanes};
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::prologue::Field;
use inkwell::types::BasicTypeEnum;
use phalanx_ir::Scalar;
use phalanx_kernels::math::MathFn;

impl<'c> Lower<'_, 'c> {
    /// A function of one argument of type `s`.
    pub(crate) fn math1(&mut self, f: MathFn, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.math(f, s, &[x])
    }

    /// A function of two arguments of type `s`.
    pub(crate) fn math2(&mut self, f: MathFn, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.math(f, s, &[x, y])
    }

    fn math(&mut self, f: MathFn, s: Scalar, xs: &[V<'c>]) -> Result<V<'c>> {
        if s == Scalar::F64 {
            return Err(Error::unsupported(format!("{} of 64-bit floats", f.name())));
        }
        let f32_ty: BasicTypeEnum<'c> = self.e.cx.f32_type().into();
        let ty = self.e.ty_like(f32_ty, xs[0]);
        let n = lanes(xs[0]).unwrap_or(1);
        let mut args = vec![self.e.i64(n.into())];
        for (i, &x) in xs.iter().enumerate() {
            let x = self.as_f32(s, x)?;
            let slot = self.spill_slot(ty, i as u32)?;
            self.e.b.build_store(slot, x)?;
            args.push(slot.into());
        }
        // A result may replace the first argument.
        let out = args[1];
        args.push(out);
        self.call_table(Field::Math, f as usize, &args, None)?;
        let y = self.e.b.build_load(ty, out.into_pointer_value(), "")?;
        self.round_f32(s, y)
    }
}
