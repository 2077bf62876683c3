//! Cooperative matrices: whole, and their components.

use phalanx_ir::{BinaryOp as B, Block, InstInfo, MatType, MulAddFlags, Op as IrOp, Scalar, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{self, CooperativeMatrixOperands, MemoryAccess, Op, StorageClass, Word};

use crate::emit::id;
use crate::error::{Error, Res};
use crate::lower::{Lower, Val};

impl Lower<'_> {
    pub(crate) fn matrix(&mut self, info: &InstInfo) -> Res<()> {
        let word = match &info.op {
            IrOp::MatRotate => return self.mat_rotate(info),
            IrOp::MatMap { body } => self.map(info, *body)?,
            IrOp::MatStore { column_major, flags } => {
                let m = self.mat(info.args[1])?;
                let mut operands = vec![id(self.pointer_to(info.args[0], m)?), id(self.word(info.args[1])?)];
                operands.extend(self.layout(*column_major, info.args[2], m)?);
                operands.extend(memory_operand(self.access(*flags)));
                self.e.effect(Op::CooperativeMatrixStoreKHR, operands);
                return Ok(());
            }
            IrOp::MatLoad { column_major, flags } => {
                let m = self.mat(info.results[0])?;
                let mut operands = vec![id(self.pointer_to(info.args[0], m)?)];
                operands.extend(self.layout(*column_major, info.args[1], m)?);
                operands.extend(memory_operand(self.access(*flags)));
                let ty = self.e.matrix(m)?;
                self.e.result(Op::CooperativeMatrixLoadKHR, ty, operands)
            }
            IrOp::MatMulAdd(flags) if flags.step > 0 => {
                return Err(Error::unsupported("a multiply-add that rounds its sums in steps"));
            }
            IrOp::MatMulAdd(flags) => {
                let ty = self.ty(self.func.ty(info.results[0]))?;
                let mut operands: Vec<_> = self.words(&info.args)?.into_iter().map(id).collect();
                let found = self.signs(*flags, info)?;
                if !found.is_empty() {
                    operands.push(Operand::CooperativeMatrixOperands(found));
                }
                self.e.result(Op::CooperativeMatrixMulAddKHR, ty, operands)
            }
            IrOp::MatSplat => {
                let ty = self.ty(self.func.ty(info.results[0]))?;
                let x = self.word(info.args[0])?;
                self.e.value(Op::CompositeConstruct, ty, &[x])
            }
            IrOp::MatScale => {
                let ty = self.ty(self.func.ty(info.results[0]))?;
                let args = self.words(&info.args)?;
                self.e.value(Op::MatrixTimesScalar, ty, &args)
            }
            IrOp::MatExtract => {
                let m = self.mat(info.args[0])?;
                let (matrix, component) = (self.word(info.args[0])?, self.word(info.args[1])?);
                match self.e.bits(component) {
                    Some(known) if known < m.components(self.module.subgroup_size).into() => {
                        self.extracted(m.elem, matrix, known as u32)
                    }
                    Some(_) => self.e.constant(m.elem, 0),
                    None => {
                        let variable = self.held(m, matrix)?;
                        self.load_component(m, variable, component, None)?
                    }
                }
            }
            IrOp::MatInsert => {
                let m = self.mat(info.args[0])?;
                let ty = self.e.matrix(m)?;
                let args = self.words(&info.args)?;
                match self.e.bits(args[1]) {
                    Some(known) if known < m.components(self.module.subgroup_size).into() => {
                        self.inserted(ty, args[0], known as u32, args[2])
                    }
                    Some(_) => args[0],
                    None => {
                        let variable = self.held(m, args[0])?;
                        self.store_component(m, variable, args[1], args[2])?;
                        self.e.load(ty, variable, MemoryAccess::NONE)
                    }
                }
            }
            _ => return Err(Error::bug("no operation on matrices")),
        };
        self.set(info.results[0], Val::Word(word));
        Ok(())
    }

    fn mat(&self, v: Value) -> Res<MatType> {
        self.func.ty(v).mat().ok_or_else(|| Error::bug(format!("{v} is no matrix")))
    }

    /// A matrix of zeros.
    pub(crate) fn splat_zero(&mut self, m: MatType) -> Res<Word> {
        let ty = self.e.matrix(m)?;
        let zero = self.e.constant(m.elem, 0);
        Ok(self.e.value(Op::CompositeConstruct, ty, &[zero]))
    }

    fn pointer_to(&mut self, v: Value, m: MatType) -> Res<Word> {
        let ptr = self.pointer(v)?;
        self.elements(&ptr, m.elem)
    }

    /// The layout and the stride, which counts elements.
    fn layout(&mut self, column_major: bool, stride: Value, m: MatType) -> Res<[Operand; 2]> {
        let layout = if column_major {
            spirv::CooperativeMatrixLayout::ColumnMajorKHR
        } else {
            spirv::CooperativeMatrixLayout::RowMajorKHR
        };
        let layout = self.e.int(layout as u32);
        let stride = self.in_elements(stride, m.elem.bytes())?;
        Ok([id(layout), id(stride)])
    }

    /// A number of bytes, in elements of `size` bytes.
    fn in_elements(&mut self, bytes: Value, size: u32) -> Res<Word> {
        let shift = self.e.constant(Scalar::I64, size.trailing_zeros().into());
        let def = self.func.def(bytes);
        // Front ends have multiplied by the size of an element.
        if def.op == IrOp::Binary(B::Imul)
            && let Some(factor) = self.func.const_bits(def.args[1])
            && factor.is_multiple_of(size.into())
        {
            let elements = self.word(def.args[0])?;
            let factor = self.e.constant(Scalar::I64, factor / u64::from(size));
            return Ok(self.e.integer(B::Imul, Scalar::I64, elements, factor));
        }
        let bytes = self.word(bytes)?;
        match self.e.bits(bytes) {
            // Most are constants, and those have 32 bits in everyone's code.
            Some(known) if u32::try_from(known).is_ok() => Ok(self.e.int(known as u32 / size)),
            _ => Ok(self.e.integer(B::Ashr, Scalar::I64, bytes, shift)),
        }
    }

    fn signs(&self, flags: MulAddFlags, info: &InstInfo) -> Res<CooperativeMatrixOperands> {
        let is_int = |v: Value| self.func.ty(v).elem().is_some_and(Scalar::is_int);
        let mut found = CooperativeMatrixOperands::NONE_KHR;
        for (is_set, operand, v) in [
            (flags.a_signed, CooperativeMatrixOperands::MATRIX_A_SIGNED_COMPONENTS_KHR, info.args[0]),
            (flags.b_signed, CooperativeMatrixOperands::MATRIX_B_SIGNED_COMPONENTS_KHR, info.args[1]),
            (flags.c_signed, CooperativeMatrixOperands::MATRIX_C_SIGNED_COMPONENTS_KHR, info.args[2]),
            (
                flags.result_signed,
                CooperativeMatrixOperands::MATRIX_RESULT_SIGNED_COMPONENTS_KHR,
                info.results[0],
            ),
            (flags.saturate, CooperativeMatrixOperands::SATURATING_ACCUMULATION_KHR, info.results[0]),
        ] {
            if is_set && is_int(v) {
                found |= operand;
            }
        }
        Ok(found)
    }

    // ── components by numbers that are not known ──

    /// A variable that holds a matrix.
    fn held(&mut self, m: MatType, matrix: Word) -> Res<Word> {
        let ty = self.e.matrix(m)?;
        let variable = match self.scratch.get(&m) {
            Some(&variable) => variable,
            None => {
                let variable = self.e.local(ty, None, "matrix");
                self.scratch.insert(m, variable);
                variable
            }
        };
        self.e.store(variable, matrix, MemoryAccess::NONE);
        Ok(variable)
    }

    /// Reads a component of a matrix in a variable; zero if there is none, or if it is not `inside`.
    pub(crate) fn load_component(
        &mut self,
        m: MatType,
        matrix: Word,
        component: Word,
        inside: Option<Word>,
    ) -> Res<Word> {
        let (ty, bool) = (self.e.scalar(m.elem), self.e.bool());
        let zero = self.e.constant(m.elem, 0);
        let count = m.components(self.module.subgroup_size);
        let (index, is_there) = match self.e.bits(component) {
            Some(known) if known >= count.into() => return Ok(zero),
            Some(_) => (component, None),
            None => {
                let (count, int, none) = (self.e.int(count), self.e.u32(), self.e.int(0));
                let is_there = self.e.value(Op::ULessThan, bool, &[component, count]);
                (self.e.select(int, is_there, component, none), Some(is_there))
            }
        };
        let pointer = self.e.pointer(StorageClass::Function, ty);
        let pointer = self.e.value(Op::AccessChain, pointer, &[matrix, index]);
        let mut value = self.e.load(ty, pointer, MemoryAccess::NONE);
        for condition in [is_there, inside].into_iter().flatten() {
            value = self.e.select(ty, condition, value, zero);
        }
        Ok(value)
    }

    /// Writes a component of a matrix in a variable, if there is one.
    pub(crate) fn store_component(
        &mut self,
        m: MatType,
        matrix: Word,
        component: Word,
        value: Word,
    ) -> Res<()> {
        let (ty, bool) = (self.e.scalar(m.elem), self.e.bool());
        let count = m.components(self.module.subgroup_size);
        let pointer = self.e.pointer(StorageClass::Function, ty);
        match self.e.bits(component) {
            Some(known) if known >= count.into() => {}
            Some(_) => {
                let pointer = self.e.value(Op::AccessChain, pointer, &[matrix, component]);
                self.e.store(pointer, value, MemoryAccess::NONE);
            }
            None => {
                let (count, int, none) = (self.e.int(count), self.e.u32(), self.e.int(0));
                let is_there = self.e.value(Op::ULessThan, bool, &[component, count]);
                let index = self.e.select(int, is_there, component, none);
                let pointer = self.e.value(Op::AccessChain, pointer, &[matrix, index]);
                let old = self.e.load(ty, pointer, MemoryAccess::NONE);
                let new = self.e.select(ty, is_there, value, old);
                self.e.store(pointer, new, MemoryAccess::NONE);
            }
        }
        Ok(())
    }

    // ── maps ──

    /// A map, component by component: each is an element of this lane.
    fn map(&mut self, info: &InstInfo, body: Block) -> Res<Word> {
        let m = self.mat(info.results[0])?;
        let ty = self.e.matrix(m)?;
        let lanes = self.lanes("a map of a matrix")?;
        let lane = self.own_lane();
        let func = self.func;
        let insts = func.block(body);
        let params = insts.first().map(|&inst| func.inst(inst)).filter(|info| info.op == IrOp::Params);
        let params = params.ok_or_else(|| Error::bug("a region without parameters"))?.results.clone();
        let mut result = self.splat_zero(m)?;
        for component in 0..m.components(lanes) {
            let element = self.e.integer_with(B::Iadd, lane, component * lanes);
            let place = self.coordinates(element, m.cols);
            for (&param, &word) in params.iter().zip(&place) {
                self.set(param, Val::Word(word));
            }
            for (&param, &arg) in params.iter().skip(2).zip(&info.args) {
                let (elem, matrix) = (self.elem(arg)?, self.word(arg)?);
                let word = self.extracted(elem, matrix, component);
                self.set(param, Val::Word(word));
            }
            self.sequence(insts, &[], 0)?;
            let value = self.yielded.take().ok_or_else(|| Error::bug("a region that gives nothing"))?;
            result = self.inserted(ty, result, component, value);
        }
        Ok(result)
    }

    /// The row and the column of a row-major element.
    fn coordinates(&mut self, element: Word, cols: u32) -> [Word; 2] {
        if cols.is_power_of_two() {
            let row = self.e.integer_with(B::Lshr, element, cols.trailing_zeros());
            return [row, self.e.integer_with(B::And, element, cols - 1)];
        }
        let (int, cols) = (self.e.u32(), self.e.int(cols));
        let row = self.e.value(Op::UDiv, int, &[element, cols]);
        [row, self.e.value(Op::UMod, int, &[element, cols])]
    }
}

fn memory_operand(access: MemoryAccess) -> Option<Operand> {
    (!access.is_empty()).then_some(Operand::MemoryAccess(access))
}
