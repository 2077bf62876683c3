//! A builder of LLVM IR that does not care whether it works on scalars or on vectors.
//!
//! [`Emit`] knows LLVM, not the IR's lanes and masks: an operation takes values of one type, `float`
//! or `<32 x float>` alike, and makes the LLVM instruction for it. Everything above it decides how
//! wide values are. Constants fold as they are built.

use crate::error::{Error, Result};
use crate::target::Caps;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::llvm_sys::core as llvm;
use inkwell::module::{Linkage, Module};
use inkwell::types::{
    AsTypeRef, BasicMetadataTypeEnum, BasicType, BasicTypeEnum, IntType, PointerType, VectorType,
};
use inkwell::values::{
    AsValueRef, BasicMetadataValueEnum, BasicValue, BasicValueEnum, FastMathFlags, FunctionValue,
    InstructionOpcode, InstructionValue, IntValue, PointerValue,
};
use inkwell::{AddressSpace, FloatPredicate, IntPredicate};
use phalanx_ir::Scalar;
use rustc_hash::FxHashMap;

/// An LLVM value: a scalar or a vector.
pub(crate) type V<'c> = BasicValueEnum<'c>;

/// The builder.
#[derive(Debug)]
pub(crate) struct Emit<'c> {
    pub(crate) cx: &'c Context,
    pub(crate) module: Module<'c>,
    pub(crate) b: Builder<'c>,
    /// What the target can do.
    pub(crate) caps: Caps,
    /// Declarations by intrinsic and overload, because looking a name up costs more than a call.
    intrinsics: FxHashMap<(&'static str, Vec<TypeKey>), FunctionValue<'c>>,
}

/// Types and constants.
impl<'c> Emit<'c> {
    pub(crate) fn new(cx: &'c Context, name: &str, caps: Caps) -> Self {
        let (module, b) = (cx.create_module(name), cx.create_builder());
        Self { cx, module, b, caps, intrinsics: FxHashMap::default() }
    }

    /// An integer type.
    pub(crate) fn int_ty(&self, bits: u32) -> IntType<'c> {
        match bits {
            1 => self.cx.bool_type(),
            8 => self.cx.i8_type(),
            16 => self.cx.i16_type(),
            32 => self.cx.i32_type(),
            64 => self.cx.i64_type(),
            128 => self.cx.i128_type(),
            _ => self
                .cx
                .custom_width_int_type(std::num::NonZeroU32::new(bits).expect("no type is empty"))
                .expect("no mask or counter is wider than LLVM's limit"),
        }
    }

    /// The type of all pointers.
    pub(crate) fn ptr_ty(&self) -> PointerType<'c> {
        self.cx.ptr_type(AddressSpace::default())
    }

    /// How a scalar is carried in registers. The floats without arithmetic are carried as bits.
    pub(crate) fn scalar_ty(&self, s: Scalar) -> BasicTypeEnum<'c> {
        match s {
            Scalar::Bool => self.cx.bool_type().into(),
            Scalar::I8 | Scalar::E4M3 | Scalar::E5M2 => self.cx.i8_type().into(),
            Scalar::I16 | Scalar::BF16 => self.cx.i16_type().into(),
            Scalar::I32 => self.cx.i32_type().into(),
            Scalar::I64 => self.cx.i64_type().into(),
            Scalar::F16 => self.cx.f16_type().into(),
            Scalar::F32 => self.cx.f32_type().into(),
            Scalar::F64 => self.cx.f64_type().into(),
        }
    }

    /// A vector of an element type.
    pub(crate) fn vec_of(&self, elem: BasicTypeEnum<'c>, lanes: u32) -> VectorType<'c> {
        match elem {
            BasicTypeEnum::IntType(t) => t.vec_type(lanes),
            BasicTypeEnum::FloatType(t) => t.vec_type(lanes),
            BasicTypeEnum::PointerType(t) => t.vec_type(lanes),
            BasicTypeEnum::VectorType(_)
            | BasicTypeEnum::ScalableVectorType(_)
            | BasicTypeEnum::ArrayType(_)
            | BasicTypeEnum::StructType(_) => unreachable!("vectors hold scalars"),
        }
    }

    /// An element type, as scalar or as vector as `like` is.
    pub(crate) fn ty_like(&self, elem: impl Into<BasicTypeEnum<'c>>, like: V<'c>) -> BasicTypeEnum<'c> {
        let elem = elem.into();
        match lanes(like) {
            Some(n) => self.vec_of(elem, n).into(),
            None => elem,
        }
    }

    /// An integer constant.
    pub(crate) fn int(&self, bits: u32, x: u64) -> V<'c> {
        self.int_ty(bits).const_int(x, false).into()
    }

    /// An `i32` constant.
    pub(crate) fn i32(&self, x: u32) -> V<'c> {
        self.cx.i32_type().const_int(x.into(), false).into()
    }

    /// An `i64` constant.
    pub(crate) fn i64(&self, x: i64) -> V<'c> {
        self.cx.i64_type().const_int(x as u64, false).into()
    }

    /// An `i1` constant.
    pub(crate) fn bool(&self, x: bool) -> V<'c> {
        self.cx.bool_type().const_int(x.into(), false).into()
    }

    /// A scalar constant from its bits.
    pub(crate) fn scalar_const(&self, s: Scalar, bits: u64) -> V<'c> {
        let int: V<'c> = self.int_ty(s.bits()).const_int(bits, false).into();
        match s {
            Scalar::F16 | Scalar::F32 | Scalar::F64 => {
                // SAFETY: both types have the same width, and `int` is a constant.
                unsafe {
                    let ty = self.scalar_ty(s).as_type_ref();
                    V::new(llvm::LLVMConstBitCast(int.as_value_ref(), ty))
                }
            }
            _ => int,
        }
    }

    /// A float constant of type `s`.
    pub(crate) fn float_const(&self, s: Scalar, x: f64) -> V<'c> {
        match s {
            Scalar::F16 => self.cx.f16_type().const_float(x).into(),
            Scalar::F64 => self.cx.f64_type().const_float(x).into(),
            _ => self.cx.f32_type().const_float(x).into(),
        }
    }

    /// An integer constant as wide as the elements of `like`, in each element.
    pub(crate) fn int_like(&self, like: V<'c>, x: u64) -> V<'c> {
        let c = self.int_ty(int_bits(like)).const_int(x, false);
        self.const_like(c.into(), like)
    }

    /// A constant, in each element if `like` is a vector.
    pub(crate) fn const_like(&self, c: V<'c>, like: V<'c>) -> V<'c> {
        match lanes(like) {
            Some(n) => self.const_vec(&vec![c; n as usize]),
            None => c,
        }
    }

    /// A vector of constants.
    pub(crate) fn const_vec(&self, elems: &[V<'c>]) -> V<'c> {
        VectorType::const_vector(elems).into()
    }

    /// A vector of integer constants.
    pub(crate) fn const_ints(&self, bits: u32, elems: impl IntoIterator<Item = u64>) -> V<'c> {
        let ty = self.int_ty(bits);
        let elems: Vec<_> = elems.into_iter().map(|x| ty.const_int(x, false)).collect();
        VectorType::const_vector(&elems).into()
    }

    /// Zero of a type.
    pub(crate) fn zero(&self, ty: BasicTypeEnum<'c>) -> V<'c> {
        ty.const_zero()
    }
}

/// Arithmetic of LLVM's own kind.
impl<'c> Emit<'c> {
    /// A binary operation on two values of one type.
    pub(crate) fn bin(&self, op: InstructionOpcode, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        debug_assert_eq!(x.get_type(), y.get_type(), "{op:?}");
        Ok(self.b.build_binop(op, x, y, "")?)
    }

    pub(crate) fn add(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Add, x, y)
    }

    pub(crate) fn sub(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Sub, x, y)
    }

    pub(crate) fn mul(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Mul, x, y)
    }

    pub(crate) fn and(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::And, x, y)
    }

    pub(crate) fn or(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Or, x, y)
    }

    pub(crate) fn xor(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Xor, x, y)
    }

    pub(crate) fn shl(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Shl, x, y)
    }

    pub(crate) fn lshr(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::LShr, x, y)
    }

    pub(crate) fn ashr(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::AShr, x, y)
    }

    /// The complement of the bits.
    pub(crate) fn not(&self, x: V<'c>) -> Result<V<'c>> {
        self.xor(x, self.int_like(x, u64::MAX))
    }

    /// A cast to another element type; the number of elements stays.
    pub(crate) fn cast(
        &self,
        op: InstructionOpcode,
        x: V<'c>,
        elem: impl Into<BasicTypeEnum<'c>>,
    ) -> Result<V<'c>> {
        let to = self.ty_like(elem, x);
        if x.get_type() == to { Ok(x) } else { Ok(self.b.build_cast(op, x, to, "")?) }
    }

    /// The same bits as another type of the same width.
    pub(crate) fn bitcast(&self, x: V<'c>, to: BasicTypeEnum<'c>) -> Result<V<'c>> {
        if x.get_type() == to {
            return Ok(x);
        }
        Ok(self.b.build_cast(InstructionOpcode::BitCast, x, to, "")?)
    }

    /// Zero-extends or truncates to an integer of `bits` bits.
    pub(crate) fn zext_trunc(&self, x: V<'c>, bits: u32) -> Result<V<'c>> {
        let op = if int_bits(x) < bits { InstructionOpcode::ZExt } else { InstructionOpcode::Trunc };
        self.cast(op, x, self.int_ty(bits))
    }

    /// Sign-extends or truncates to an integer of `bits` bits.
    pub(crate) fn sext_trunc(&self, x: V<'c>, bits: u32) -> Result<V<'c>> {
        let op = if int_bits(x) < bits { InstructionOpcode::SExt } else { InstructionOpcode::Trunc };
        self.cast(op, x, self.int_ty(bits))
    }

    pub(crate) fn icmp(&self, p: IntPredicate, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        debug_assert_eq!(x.get_type(), y.get_type());
        Ok(match (x, y) {
            (V::VectorValue(x), V::VectorValue(y)) => self.b.build_int_compare(p, x, y, "")?.into(),
            (V::PointerValue(x), V::PointerValue(y)) => self.b.build_int_compare(p, x, y, "")?.into(),
            (x, y) => self.b.build_int_compare(p, x.into_int_value(), y.into_int_value(), "")?.into(),
        })
    }

    pub(crate) fn fcmp(&self, p: FloatPredicate, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        if let Some(order) = self.order_of_halves(p, x) {
            return self.compare_halves(order, x, y);
        }
        Ok(match (x, y) {
            (V::VectorValue(x), V::VectorValue(y)) => self.b.build_float_compare(p, x, y, "")?.into(),
            (x, y) => self.b.build_float_compare(p, x.into_float_value(), y.into_float_value(), "")?.into(),
        })
    }

    /// `cond ? x : y`; a scalar condition chooses between whole vectors.
    pub(crate) fn select(&self, cond: V<'c>, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        debug_assert_eq!(x.get_type(), y.get_type());
        if x == y {
            return Ok(x);
        }
        Ok(match cond {
            V::VectorValue(c) => self.b.build_select(c, x, y, "")?,
            c => self.b.build_select(c.into_int_value(), x, y, "")?,
        })
    }

    /// Calls an intrinsic overloaded on `types`.
    pub(crate) fn intrinsic(
        &mut self,
        name: &'static str,
        types: &[BasicTypeEnum<'c>],
        args: &[V<'c>],
    ) -> Result<V<'c>> {
        self.intrinsic_effect(name, types, args)?.ok_or_else(|| Error::bug(format!("{name} has no result")))
    }

    /// Calls an intrinsic that may have no result.
    pub(crate) fn intrinsic_effect(
        &mut self,
        name: &'static str,
        types: &[BasicTypeEnum<'c>],
        args: &[V<'c>],
    ) -> Result<Option<V<'c>>> {
        let key = (name, types.iter().map(|&t| type_key(t)).collect::<Vec<_>>());
        let function = match self.intrinsics.get(&key) {
            Some(&f) => f,
            None => {
                let f = Intrinsic::find(name)
                    .and_then(|i| i.get_declaration(&self.module, types))
                    .ok_or_else(|| Error::bug(format!("no intrinsic {name}")))?;
                self.intrinsics.insert(key, f);
                f
            }
        };
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|&a| a.into()).collect();
        Ok(self.b.build_call(function, &args, "")?.try_as_basic_value().basic())
    }

    /// An intrinsic of one argument that has the type of its result.
    pub(crate) fn map1(&mut self, name: &'static str, x: V<'c>) -> Result<V<'c>> {
        self.intrinsic(name, &[x.get_type()], &[x])
    }

    /// An intrinsic of two arguments that have the type of its result.
    pub(crate) fn map2(&mut self, name: &'static str, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.intrinsic(name, &[x.get_type()], &[x, y])
    }

    /// Lets LLVM fuse a multiplication and an addition into one rounding.
    pub(crate) fn contract(&self, x: V<'c>) -> Result<V<'c>> {
        if let Some(inst) = x.as_instruction_value()
            && inst.can_use_fast_math_flags()
        {
            inst.set_fast_math_flags(FastMathFlags::AllowContract).map_err(|e| Error::bug(e.to_string()))?;
        }
        Ok(x)
    }
}

/// Vectors.
impl<'c> Emit<'c> {
    /// A vector with `x` in each of `n` elements.
    pub(crate) fn splat(&self, x: V<'c>, n: u32) -> Result<V<'c>> {
        if x.is_const() {
            return Ok(self.const_vec(&vec![x; n as usize]));
        }
        let poison = self.vec_of(x.get_type(), n).get_poison();
        let zero = self.cx.i32_type().const_zero();
        let first = self.b.build_insert_element(poison, x, zero, "")?;
        let mask = self.cx.i32_type().vec_type(n).const_zero();
        Ok(self.b.build_shuffle_vector(first, poison, mask, "")?.into())
    }

    /// A vector of chosen elements of `x` followed by `y`; `None` is an element of no value.
    pub(crate) fn shuffle(
        &self,
        x: V<'c>,
        y: V<'c>,
        picks: impl IntoIterator<Item = Option<u32>>,
    ) -> Result<V<'c>> {
        let i32_ty = self.cx.i32_type();
        let mask: Vec<IntValue<'c>> = picks
            .into_iter()
            .map(|p| p.map_or_else(|| i32_ty.get_poison(), |p| i32_ty.const_int(p.into(), false)))
            .collect();
        let mask = VectorType::const_vector(&mask);
        Ok(self.b.build_shuffle_vector(x.into_vector_value(), y.into_vector_value(), mask, "")?.into())
    }

    /// A vector of chosen elements of `x`.
    pub(crate) fn permute(&self, x: V<'c>, picks: impl IntoIterator<Item = u32>) -> Result<V<'c>> {
        let none = x.get_type().into_vector_type().get_poison();
        self.shuffle(x, none.into(), picks.into_iter().map(Some))
    }

    /// An element; the index is below the number of elements.
    pub(crate) fn extract(&self, x: V<'c>, index: V<'c>) -> Result<V<'c>> {
        Ok(self.b.build_extract_element(x.into_vector_value(), index.into_int_value(), "")?)
    }

    /// The element with a constant index.
    pub(crate) fn extract_at(&self, x: V<'c>, index: u32) -> Result<V<'c>> {
        self.extract(x, self.i32(index))
    }

    /// A vector of truth values as one integer, the first element in the lowest bit.
    pub(crate) fn mask_bits(&self, mask: V<'c>) -> Result<V<'c>> {
        match lanes(mask) {
            Some(n) => self.bitcast(mask, self.int_ty(n).into()),
            None => Ok(mask),
        }
    }

    /// Whether any element of a vector of truth values is true.
    pub(crate) fn any(&self, mask: V<'c>) -> Result<V<'c>> {
        let bits = self.mask_bits(mask)?;
        self.icmp(IntPredicate::NE, bits, self.int_like(bits, 0))
    }

    /// Whether all elements of a vector of truth values are true.
    pub(crate) fn all(&self, mask: V<'c>) -> Result<V<'c>> {
        let bits = self.mask_bits(mask)?;
        self.icmp(IntPredicate::EQ, bits, bits.get_type().into_int_type().const_all_ones().into())
    }
}

/// Memory and calls.
impl<'c> Emit<'c> {
    /// `ptr + bytes`; a vector if either is one.
    pub(crate) fn offset(&self, ptr: V<'c>, bytes: V<'c>) -> Result<V<'c>> {
        self.element_ptr(self.cx.i8_type().into(), ptr, bytes)
    }

    /// The address of element `index` of an array of `elem` at `ptr`; a vector if either is one.
    pub(crate) fn element_ptr(&self, elem: BasicTypeEnum<'c>, ptr: V<'c>, index: V<'c>) -> Result<V<'c>> {
        let mut indices = [index.as_value_ref()];
        // SAFETY: the builder is positioned, `ptr` is a pointer or a vector of them, `index` is an
        // integer or a vector of the same length; without `inbounds` no address is undefined.
        Ok(unsafe {
            V::new(llvm::LLVMBuildGEP2(
                self.b.as_mut_ptr(),
                elem.as_type_ref(),
                ptr.as_value_ref(),
                indices.as_mut_ptr(),
                1,
                c"".as_ptr(),
            ))
        })
    }

    /// `ptr + bytes` for one pointer and a constant.
    pub(crate) fn field(&self, ptr: PointerValue<'c>, bytes: u64) -> Result<PointerValue<'c>> {
        if bytes == 0 {
            return Ok(ptr);
        }
        Ok(self.offset(ptr.into(), self.i64(bytes as i64))?.into_pointer_value())
    }

    /// Reads from memory.
    pub(crate) fn load(&self, ty: impl BasicType<'c>, ptr: PointerValue<'c>, align: u32) -> Result<V<'c>> {
        let v = self.b.build_load(ty, ptr, "")?;
        align_to(v.as_instruction_value(), align)?;
        Ok(v)
    }

    /// Reads memory that nothing writes while the code runs, so that the read may be moved.
    pub(crate) fn load_invariant(
        &self,
        ty: impl BasicType<'c>,
        ptr: PointerValue<'c>,
        align: u32,
    ) -> Result<V<'c>> {
        let v = self.load(ty, ptr, align)?;
        if let Some(inst) = v.as_instruction_value() {
            let kind = self.cx.get_kind_id("invariant.load");
            inst.set_metadata(self.cx.metadata_node(&[]), kind).map_err(|e| Error::bug(e.to_string()))?;
        }
        Ok(v)
    }

    /// Writes to memory.
    pub(crate) fn store(&self, x: V<'c>, ptr: PointerValue<'c>, align: u32) -> Result<InstructionValue<'c>> {
        let inst = self.b.build_store(ptr, x)?;
        align_to(Some(inst), align)?;
        Ok(inst)
    }

    /// A read-only table in the object.
    pub(crate) fn constant_data(&self, value: V<'c>, align: u32) -> PointerValue<'c> {
        let global = self.module.add_global(value.get_type(), None, "data");
        global.set_initializer(&value);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        global.set_unnamed_addr(true);
        global.set_alignment(align);
        global.as_pointer_value()
    }

    /// Read-only bytes in the object.
    pub(crate) fn constant_bytes(&self, bytes: &[u8], align: u32) -> PointerValue<'c> {
        self.constant_data(self.cx.const_string(bytes, false).into(), align)
    }

    /// Calls a function of C's convention through its address.
    pub(crate) fn call(
        &self,
        function: PointerValue<'c>,
        args: &[V<'c>],
        result: Option<BasicTypeEnum<'c>>,
    ) -> Result<Option<V<'c>>> {
        let params: Vec<BasicMetadataTypeEnum<'c>> = args.iter().map(|a| a.get_type().into()).collect();
        let ty = match result {
            Some(r) => r.fn_type(&params, false),
            None => self.cx.void_type().fn_type(&params, false),
        };
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|&a| a.into()).collect();
        let call = self.b.build_indirect_call(ty, function, &args, "")?;
        // Nothing compiled code calls unwinds; without this, frames would need landing data.
        let nounwind = self.cx.create_enum_attribute(Attribute::get_named_enum_kind_id("nounwind"), 0);
        call.add_attribute(AttributeLoc::Function, nounwind);
        Ok(call.try_as_basic_value().basic())
    }

    /// Calls a function of this module.
    pub(crate) fn call_direct(&self, function: FunctionValue<'c>, args: &[V<'c>]) -> Result<()> {
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|&a| a.into()).collect();
        self.b.build_call(function, &args, "")?;
        Ok(())
    }

    /// Deletes a block that nothing jumps to, and what is in it.
    pub(crate) fn delete_block(&self, block: BasicBlock<'c>) -> Result<()> {
        // SAFETY: the block is in a function, and who calls this uses it no more.
        unsafe { block.delete() }.map_err(|()| Error::bug("the block has no function"))
    }

    /// The block that code is appended to.
    pub(crate) fn here(&self) -> Result<BasicBlock<'c>> {
        self.b.get_insert_block().ok_or_else(|| Error::bug("the builder has no block"))
    }

    /// A new block at the end of the function.
    pub(crate) fn new_block(&self, function: FunctionValue<'c>, name: &str) -> BasicBlock<'c> {
        self.cx.append_basic_block(function, name)
    }

    pub(crate) fn br(&self, to: BasicBlock<'c>) -> Result<()> {
        self.b.build_unconditional_branch(to)?;
        Ok(())
    }

    pub(crate) fn cond_br(&self, cond: V<'c>, then: BasicBlock<'c>, otherwise: BasicBlock<'c>) -> Result<()> {
        self.b.build_conditional_branch(cond.into_int_value(), then, otherwise)?;
        Ok(())
    }

    /// A branch that is nearly always taken to the first block.
    pub(crate) fn cond_br_likely(
        &self,
        cond: V<'c>,
        likely: BasicBlock<'c>,
        unlikely: BasicBlock<'c>,
    ) -> Result<()> {
        let inst = self.b.build_conditional_branch(cond.into_int_value(), likely, unlikely)?;
        let name = self.cx.metadata_string("branch_weights").into();
        let weights = self.cx.metadata_node(&[name, self.i32(2000).into(), self.i32(1).into()]);
        inst.set_metadata(weights, self.cx.get_kind_id("prof")).map_err(|e| Error::bug(e.to_string()))
    }

    /// Makes a load one that is neither removed nor repeated.
    pub(crate) fn set_volatile(&self, load: V<'c>) -> Result<()> {
        match load.as_instruction_value() {
            Some(inst) => inst.set_volatile(true).map_err(|e| Error::bug(e.to_string())),
            None => Ok(()),
        }
    }

    /// A value that comes from several blocks. No phi is made where all agree.
    pub(crate) fn merge(&self, incoming: &[(V<'c>, BasicBlock<'c>)]) -> Result<V<'c>> {
        let (first, _) = *incoming.first().ok_or_else(|| Error::bug("nothing to merge"))?;
        if incoming.iter().all(|&(v, _)| v == first) {
            return Ok(first);
        }
        let phi = self.b.build_phi(first.get_type(), "")?;
        for (v, block) in incoming {
            phi.add_incoming(&[(v, *block)]);
        }
        Ok(phi.as_basic_value())
    }
}

/// A type's identity: LLVM makes each type once.
pub(crate) type TypeKey = usize;

/// A type's identity.
pub(crate) fn type_key(ty: BasicTypeEnum<'_>) -> TypeKey {
    ty.as_type_ref() as usize
}

/// Number of elements of a vector, `None` for a scalar.
pub(crate) fn lanes(x: V<'_>) -> Option<u32> {
    match x {
        V::VectorValue(v) => Some(v.get_type().get_size()),
        _ => None,
    }
}

/// The element type of a vector, or the type of a scalar.
pub(crate) fn elem_ty(x: V<'_>) -> BasicTypeEnum<'_> {
    match x {
        V::VectorValue(v) => v.get_type().get_element_type(),
        v => v.get_type(),
    }
}

/// Width of an integer or of the elements of a vector of integers.
pub(crate) fn int_bits(x: V<'_>) -> u32 {
    elem_ty(x).into_int_type().get_bit_width()
}

/// A constant integer's value, zero-extended.
pub(crate) fn const_int(x: V<'_>) -> Option<u64> {
    match x {
        V::IntValue(i) => i.get_zero_extended_constant(),
        _ => None,
    }
}

/// The elements of a constant vector of integers.
pub(crate) fn const_elems(x: V<'_>) -> Option<Vec<u64>> {
    let n = lanes(x).filter(|_| x.is_const())?;
    let elem = |i| {
        // SAFETY: `x` is a constant vector of more than `i` elements.
        let elem = unsafe { llvm::LLVMGetAggregateElement(x.as_value_ref(), i) };
        // SAFETY: a constant that is not null is a value; one of an unknown element is null.
        (!elem.is_null()).then(|| unsafe { V::new(elem) }).and_then(const_int)
    };
    (0..n).map(elem).collect()
}

fn align_to(inst: Option<InstructionValue<'_>>, align: u32) -> Result<()> {
    match inst {
        Some(i) => i.set_alignment(align).map_err(|e| Error::bug(e.to_string())),
        None => Ok(()),
    }
}
