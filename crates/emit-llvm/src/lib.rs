//! A builder of LLVM IR that does not care whether it works on scalars or on vectors.
//!
//! [`Emit`] knows LLVM and the meaning of the IR's arithmetic, not lanes, masks, kernels or entries: an operation takes
//! values of one type, `float` or `<32 x float>` alike, and makes the LLVM instructions for it. Everything above it
//! decides how wide values are, and where code is: it serves a processor, whose lanes are the elements of vectors,
//! and a machine whose lanes are threads. Constants fold as they are built.
//!
//! Functions that are no instruction anywhere (`sin`) are made of several ([`math`]); a target that has a better way looks
//! at them first.

mod arith;
mod atomic;
mod convert;
pub mod error;
mod flow;
mod halves;
mod math;
mod memory;
pub mod texel;
mod vector;

pub use error::{Error, Result};
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::llvm_sys::core as llvm;
use inkwell::module::Module;
use inkwell::types::{AsTypeRef, BasicTypeEnum, IntType, PointerType, VectorType};
use inkwell::values::{
    AsValueRef, BasicMetadataValueEnum, BasicValue, BasicValueEnum, FastMathFlags, FunctionValue,
    InstructionOpcode,
};
use inkwell::{AddressSpace, FloatPredicate, IntPredicate};
use phalanx_ir::Scalar;
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// An LLVM value: a scalar or a vector.
pub type V<'c> = BasicValueEnum<'c>;

/// What lowering has to know about a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The instructions are those of x86.
    pub is_x86: bool,
    /// Arithmetic on `half`.
    pub native_f16: bool,
    /// Conversions between `half` and `float`.
    pub f16_conversion: bool,
    /// Multiply-add with one rounding.
    pub fma: bool,
    /// Masks live in registers of their own, and masked accesses of all widths are instructions.
    pub mask_registers: bool,
    /// Dot products of unsigned by signed bytes.
    pub vnni: bool,
    /// Bytes of the widest vector registers that are worth using.
    pub register_bytes: u32,
}

/// The builder.
#[derive(Debug)]
pub struct Emit<'c> {
    /// Where types and constants live.
    pub cx: &'c Context,
    /// The module that is built.
    pub module: Module<'c>,
    /// LLVM's builder, at the end of the block that code is appended to.
    pub b: Builder<'c>,
    /// What the target can do.
    pub caps: Caps,
    /// Whether code notes for a profiler where it is ([`Emit::note`]).
    pub has_notes: bool,
    /// Declarations by intrinsic and overload, because looking a name up costs more than a call.
    intrinsics: FxHashMap<(&'static str, Vec<TypeKey>), FunctionValue<'c>>,
    /// Halves which are these numbers of f32, exactly, that are there already.
    exact: FxHashMap<V<'c>, V<'c>>,
    /// Sums and products that halves were rounded from, where a sum may be of these numbers of f32 as well.
    unrounded: FxHashMap<V<'c>, V<'c>>,
    /// What dot products of bytes are sums of.
    pair_sums: FxHashMap<V<'c>, arith::PairSums<'c>>,
    /// About how many instructions were appended since the last conditional branch.
    pub straight: Cell<u32>,
}

/// Types and constants.
impl<'c> Emit<'c> {
    /// A builder of a new module.
    pub fn new(cx: &'c Context, name: &str, caps: Caps) -> Self {
        let (module, b) = (cx.create_module(name), cx.create_builder());
        Self {
            cx,
            module,
            b,
            caps,
            has_notes: false,
            intrinsics: FxHashMap::default(),
            exact: FxHashMap::default(),
            unrounded: FxHashMap::default(),
            pair_sums: FxHashMap::default(),
            straight: Cell::new(0),
        }
    }

    /// An integer type.
    pub fn int_ty(&self, bits: u32) -> IntType<'c> {
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
    pub fn ptr_ty(&self) -> PointerType<'c> {
        self.cx.ptr_type(AddressSpace::default())
    }

    /// How a scalar is carried in registers. The floats without arithmetic are carried as bits: LLVM makes calls of
    /// C functions of arithmetic on a `half` that the processor does not have.
    pub fn scalar_ty(&self, s: Scalar) -> BasicTypeEnum<'c> {
        match s {
            Scalar::Bool => self.cx.bool_type().into(),
            Scalar::I8 | Scalar::E4M3 | Scalar::E5M2 => self.cx.i8_type().into(),
            Scalar::I16 | Scalar::BF16 => self.cx.i16_type().into(),
            Scalar::I32 => self.cx.i32_type().into(),
            Scalar::I64 => self.cx.i64_type().into(),
            Scalar::F16 if self.caps.native_f16 => self.cx.f16_type().into(),
            Scalar::F16 => self.cx.i16_type().into(),
            Scalar::F32 => self.cx.f32_type().into(),
            Scalar::F64 => self.cx.f64_type().into(),
        }
    }

    /// A vector of an element type.
    pub fn vec_of(&self, elem: BasicTypeEnum<'c>, lanes: u32) -> VectorType<'c> {
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
    pub fn ty_like(&self, elem: impl Into<BasicTypeEnum<'c>>, like: V<'c>) -> BasicTypeEnum<'c> {
        let elem = elem.into();
        match lanes(like) {
            Some(n) => self.vec_of(elem, n).into(),
            None => elem,
        }
    }

    /// An integer constant.
    pub fn int(&self, bits: u32, x: u64) -> V<'c> {
        self.int_ty(bits).const_int(x, false).into()
    }

    /// An `i32` constant.
    pub fn i32(&self, x: u32) -> V<'c> {
        self.cx.i32_type().const_int(x.into(), false).into()
    }

    /// An `i64` constant.
    pub fn i64(&self, x: i64) -> V<'c> {
        self.cx.i64_type().const_int(x as u64, false).into()
    }

    /// An `i1` constant.
    pub fn bool(&self, x: bool) -> V<'c> {
        self.cx.bool_type().const_int(x.into(), false).into()
    }

    /// A scalar constant from its bits.
    pub fn scalar_const(&self, s: Scalar, bits: u64) -> V<'c> {
        let int: V<'c> = self.int_ty(s.bits()).const_int(bits, false).into();
        match s {
            Scalar::F16 if !self.caps.native_f16 => int,
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
    pub fn float_const(&self, s: Scalar, x: f64) -> V<'c> {
        match s {
            Scalar::F16 => self.cx.f16_type().const_float(x).into(),
            Scalar::F64 => self.cx.f64_type().const_float(x).into(),
            _ => self.cx.f32_type().const_float(x).into(),
        }
    }

    /// An integer constant as wide as the elements of `like`, in each element.
    pub fn int_like(&self, like: V<'c>, x: u64) -> V<'c> {
        let c = self.int_ty(int_bits(like)).const_int(x, false);
        self.const_like(c.into(), like)
    }

    /// A constant, in each element if `like` is a vector.
    pub fn const_like(&self, c: V<'c>, like: V<'c>) -> V<'c> {
        match lanes(like) {
            Some(n) => self.const_vec(&vec![c; n as usize]),
            None => c,
        }
    }

    /// A vector of constants.
    pub fn const_vec(&self, elems: &[V<'c>]) -> V<'c> {
        VectorType::const_vector(elems).into()
    }

    /// A vector of integer constants.
    pub fn const_ints(&self, bits: u32, elems: impl IntoIterator<Item = u64>) -> V<'c> {
        let ty = self.int_ty(bits);
        let elems: Vec<_> = elems.into_iter().map(|x| ty.const_int(x, false)).collect();
        VectorType::const_vector(&elems).into()
    }

    /// Zero of a type.
    pub fn zero(&self, ty: BasicTypeEnum<'c>) -> V<'c> {
        ty.const_zero()
    }
}

/// Arithmetic of LLVM's own kind.
impl<'c> Emit<'c> {
    /// A binary operation on two values of one type.
    pub fn bin(&self, op: InstructionOpcode, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        debug_assert_eq!(x.get_type(), y.get_type(), "{op:?}");
        Ok(self.b.build_binop(op, x, y, "")?)
    }

    /// The sum. It wraps.
    pub fn add(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Add, x, y)
    }

    /// The difference. It wraps.
    pub fn sub(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Sub, x, y)
    }

    /// The product. It wraps.
    pub fn mul(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Mul, x, y)
    }

    /// The bits that both have.
    pub fn and(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::And, x, y)
    }

    /// The bits that either has.
    pub fn or(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Or, x, y)
    }

    /// The bits in which the two differ.
    pub fn xor(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Xor, x, y)
    }

    /// A shift to the left; the count is below the width.
    pub fn shl(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::Shl, x, y)
    }

    /// A shift to the right that brings in zeros; the count is below the width.
    pub fn lshr(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::LShr, x, y)
    }

    /// A shift to the right that keeps the sign; the count is below the width.
    pub fn ashr(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(InstructionOpcode::AShr, x, y)
    }

    /// The complement of the bits.
    pub fn not(&self, x: V<'c>) -> Result<V<'c>> {
        self.xor(x, self.int_like(x, u64::MAX))
    }

    /// A cast to another element type; the number of elements stays.
    pub fn cast(&self, op: InstructionOpcode, x: V<'c>, elem: impl Into<BasicTypeEnum<'c>>) -> Result<V<'c>> {
        let to = self.ty_like(elem, x);
        if x.get_type() == to { Ok(x) } else { Ok(self.b.build_cast(op, x, to, "")?) }
    }

    /// The same bits as another type of the same width.
    pub fn bitcast(&self, x: V<'c>, to: BasicTypeEnum<'c>) -> Result<V<'c>> {
        if x.get_type() == to {
            return Ok(x);
        }
        Ok(self.b.build_cast(InstructionOpcode::BitCast, x, to, "")?)
    }

    /// Zero-extends or truncates to an integer of `bits` bits.
    pub fn zext_trunc(&self, x: V<'c>, bits: u32) -> Result<V<'c>> {
        let op = if int_bits(x) < bits { InstructionOpcode::ZExt } else { InstructionOpcode::Trunc };
        self.cast(op, x, self.int_ty(bits))
    }

    /// Sign-extends or truncates to an integer of `bits` bits.
    pub fn sext_trunc(&self, x: V<'c>, bits: u32) -> Result<V<'c>> {
        let op = if int_bits(x) < bits { InstructionOpcode::SExt } else { InstructionOpcode::Trunc };
        self.cast(op, x, self.int_ty(bits))
    }

    /// A comparison of integers or pointers.
    pub fn icmp(&self, p: IntPredicate, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        debug_assert_eq!(x.get_type(), y.get_type());
        Ok(match (x, y) {
            (V::VectorValue(x), V::VectorValue(y)) => self.b.build_int_compare(p, x, y, "")?.into(),
            (V::PointerValue(x), V::PointerValue(y)) => self.b.build_int_compare(p, x, y, "")?.into(),
            (x, y) => self.b.build_int_compare(p, x.into_int_value(), y.into_int_value(), "")?.into(),
        })
    }

    /// A comparison of floats.
    pub fn fcmp(&self, p: FloatPredicate, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        if let Some(order) = self.order_of_halves(p, x) {
            return self.compare_halves(order, x, y);
        }
        Ok(match (x, y) {
            (V::VectorValue(x), V::VectorValue(y)) => self.b.build_float_compare(p, x, y, "")?.into(),
            (x, y) => self.b.build_float_compare(p, x.into_float_value(), y.into_float_value(), "")?.into(),
        })
    }

    /// `cond ? x : y`; a scalar condition chooses between whole vectors.
    pub fn select(&self, cond: V<'c>, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
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
    pub fn intrinsic(
        &mut self,
        name: &'static str,
        types: &[BasicTypeEnum<'c>],
        args: &[V<'c>],
    ) -> Result<V<'c>> {
        self.intrinsic_effect(name, types, args)?.ok_or_else(|| Error::bug(format!("{name} has no result")))
    }

    /// Calls an intrinsic that may have no result.
    pub fn intrinsic_effect(
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
    pub fn map1(&mut self, name: &'static str, x: V<'c>) -> Result<V<'c>> {
        self.intrinsic(name, &[x.get_type()], &[x])
    }

    /// An intrinsic of two arguments that have the type of its result.
    pub fn map2(&mut self, name: &'static str, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.intrinsic(name, &[x.get_type()], &[x, y])
    }

    /// Lets LLVM fuse a multiplication and an addition into one rounding.
    pub fn contract(&self, x: V<'c>) -> Result<V<'c>> {
        if let Some(inst) = x.as_instruction_value()
            && inst.can_use_fast_math_flags()
        {
            inst.set_fast_math_flags(FastMathFlags::AllowContract).map_err(|e| Error::bug(e.to_string()))?;
        }
        Ok(x)
    }
}

/// A type's identity: LLVM makes each type once.
pub type TypeKey = usize;

/// A type's identity.
pub fn type_key(ty: BasicTypeEnum<'_>) -> TypeKey {
    ty.as_type_ref() as usize
}

/// Number of elements of a vector, `None` for a scalar.
pub fn lanes(x: V<'_>) -> Option<u32> {
    match x {
        V::VectorValue(v) => Some(v.get_type().get_size()),
        _ => None,
    }
}

/// The element type of a vector, or the type of a scalar.
pub fn elem_ty(x: V<'_>) -> BasicTypeEnum<'_> {
    match x {
        V::VectorValue(v) => v.get_type().get_element_type(),
        v => v.get_type(),
    }
}

/// Width of an integer or of the elements of a vector of integers.
pub fn int_bits(x: V<'_>) -> u32 {
    elem_ty(x).into_int_type().get_bit_width()
}

/// A constant integer's value, zero-extended.
pub fn const_int(x: V<'_>) -> Option<u64> {
    match x {
        V::IntValue(i) => i.get_zero_extended_constant(),
        _ => None,
    }
}

/// The elements of a constant vector of integers.
pub fn const_elems(x: V<'_>) -> Option<Vec<u64>> {
    let n = lanes(x).filter(|_| x.is_const())?;
    let elem = |i| {
        // SAFETY: `x` is a constant vector of more than `i` elements.
        let elem = unsafe { llvm::LLVMGetAggregateElement(x.as_value_ref(), i) };
        // SAFETY: a constant that is not null is a value; one of an unknown element is null.
        (!elem.is_null()).then(|| unsafe { V::new(elem) }).and_then(const_int)
    };
    (0..n).map(elem).collect()
}
