//! Variables of IR: arrays in the storage class *Function*.
//!
//! An array has one element more than the variable. An index that is out of range, which in IR reads zero and writes
//! nothing, becomes that of this element; what is read there is replaced by zero. A table has a zero there itself.

use phalanx_ir::{InstInfo, MatType, Op as IrOp, Scalar, Type, Value, Var};
use rspirv::spirv::{MemoryAccess, Op, StorageClass, Word};

use crate::error::{Error, Res};
use crate::lower::{Lower, Val};

/// A variable of the function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    variable: Word,
    elem: Word,
    /// Elements that the program knows.
    count: u32,
    is_array: bool,
}

/// An element of a variable.
struct Element {
    pointer: Word,
    /// Where it is not known whether the index is in range: whether it is.
    inside: Option<Word>,
}

impl Lower<'_> {
    pub(crate) fn variable(&mut self, info: &InstInfo) -> Res<()> {
        match info.op {
            IrOp::VarLoad(var) => {
                let index = info.args.first().copied();
                let ty = self.func.var(var).ty;
                let zero = ty.scalar().map(|s| self.e.constant(s, 0));
                let value = match (self.var_element(var, index)?, zero) {
                    (Some(element), zero) => {
                        let elem = self.ty(ty)?;
                        let loaded = self.e.load(elem, element.pointer, MemoryAccess::NONE);
                        match (element.inside, zero) {
                            (Some(inside), Some(zero)) => self.e.select(elem, inside, loaded, zero),
                            _ => loaded,
                        }
                    }
                    (None, Some(zero)) => zero,
                    (None, None) => return Err(Error::unsupported("a matrix from outside of a variable")),
                };
                self.set(info.results[0], Val::Word(value));
            }
            IrOp::VarStore(var) => {
                let (&value, index) = info.args.split_last().ok_or_else(|| Error::bug("no value"))?;
                let value = self.word(value)?;
                if let Some(element) = self.var_element(var, index.first().copied())? {
                    self.e.store(element.pointer, value, MemoryAccess::NONE);
                }
            }
            IrOp::VarComponentLoad(var) => {
                let m = self.matrix_of(var)?;
                let component = self.word(info.args[1])?;
                let element = self.var_element(var, Some(info.args[0]))?;
                let value = match element {
                    Some(element) => self.load_component(m, element.pointer, component, element.inside)?,
                    None => self.e.constant(m.elem, 0),
                };
                self.set(info.results[0], Val::Word(value));
            }
            IrOp::VarComponentStore(var) => {
                let m = self.matrix_of(var)?;
                let (component, value) = (self.word(info.args[1])?, self.word(info.args[2])?);
                if let Some(element) = self.var_element(var, Some(info.args[0]))? {
                    self.store_component(m, element.pointer, component, value)?;
                }
            }
            _ => return Err(Error::bug("no operation on variables")),
        }
        Ok(())
    }

    fn matrix_of(&self, var: Var) -> Res<MatType> {
        self.func.var(var).ty.mat().ok_or_else(|| Error::bug(format!("{var} holds no matrices")))
    }

    /// An element; none if it is known to be outside of the variable.
    fn var_element(&mut self, var: Var, index: Option<Value>) -> Res<Option<Element>> {
        let local = self.local(var)?;
        let index = match index {
            Some(index) => self.word(index)?,
            None => self.e.int(0),
        };
        let known = self.e.bits(index);
        if known.is_some_and(|index| index >= local.count.into()) {
            return Ok(None);
        }
        if !local.is_array {
            return Ok(Some(Element { pointer: local.variable, inside: None }));
        }
        let pointer = self.e.pointer(StorageClass::Function, local.elem);
        let (bool, int, count) = (self.e.bool(), self.e.u32(), self.e.int(local.count));
        let inside = match known {
            Some(_) => None,
            None => Some(self.e.value(Op::ULessThan, bool, &[index, count])),
        };
        let index = match inside {
            Some(inside) => self.e.select(int, inside, index, count),
            None => index,
        };
        let pointer = self.e.value(Op::AccessChain, pointer, &[local.variable, index]);
        let inside = inside.filter(|_| self.func.var(var).table.is_none());
        Ok(Some(Element { pointer, inside }))
    }

    fn local(&mut self, var: Var) -> Res<Local> {
        if let Some(local) = self.vars[var.index()] {
            return Ok(local);
        }
        let info = self.func.var(var);
        if let Type::Ptr(_) = info.ty {
            return Err(Error::unsupported("a variable that holds pointers"));
        }
        let is_indexed =
            self.func.insts.iter().any(|inst| inst.op.var() == Some(var) && self.is_indexed(inst));
        let is_array = info.count > 1 || is_indexed;
        let elem = self.ty(info.ty)?;
        let ty = if is_array { self.e.array(elem, info.count + 1) } else { elem };
        let initial = match (&info.table, info.ty) {
            (Some(bits), Type::Scalar(s)) => Some(self.table(s, bits, is_array.then_some(ty))),
            _ => None,
        };
        let variable = self.e.local(ty, initial, &info.name);
        let local = Local { variable, elem, count: info.count, is_array };
        self.vars[var.index()] = Some(local);
        Ok(local)
    }

    /// Whether an access has an index that is not known.
    fn is_indexed(&self, info: &InstInfo) -> bool {
        let has_index = match info.op {
            IrOp::VarStore(_) => info.args.len() > 1,
            _ => !info.args.is_empty(),
        };
        has_index && self.func.const_bits(info.args[0]).is_none()
    }

    /// The elements of a table; in an array, and a zero.
    fn table(&mut self, s: Scalar, bits: &[u64], array: Option<Word>) -> Word {
        let mut parts: Vec<Word> = bits.iter().map(|&bits| self.e.constant(s, bits)).collect();
        let zero = self.e.constant(s, 0);
        match array {
            None => parts.first().copied().unwrap_or(zero),
            Some(array) => {
                parts.push(zero);
                self.e.composite(array, &parts)
            }
        }
    }
}
