//! The instructions that multiply fragments.

use crate::lower::Lower;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::BasicMetadataValueEnum;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::Scalar;

/// What an instruction does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    None,
    Read,
    /// Whatever it wants.
    Write,
    /// The same, and its first operands, so many, are changed: they are its results.
    Update(usize),
}

/// An instruction that multiplies fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    /// Of `f16`, the sums `f32`.
    Half,
    /// Of `f16`, the sums `f16`.
    HalfToHalf,
    /// Of `bf16`, the sums `f32`.
    BHalf,
    /// Of `i8`, the sums `i32`, which wrap.
    Bytes { a_signed: bool, b_signed: bool },
    /// Of `f64`.
    Double,
}

impl Product {
    /// The type of sums.
    pub(super) fn sum(self) -> Scalar {
        match self {
            Self::Half | Self::BHalf => Scalar::F32,
            Self::HalfToHalf => Scalar::F16,
            Self::Bytes { .. } => Scalar::I32,
            Self::Double => Scalar::F64,
        }
    }

    /// Blocks of eight rows, and steps along K, that it takes at once.
    pub(super) fn shape(self) -> (usize, usize) {
        if self == Self::Double { (1, 1) } else { (2, 2) }
    }

    fn name(self) -> String {
        let sign = |signed| if signed { "s8" } else { "u8" };
        match self {
            Self::Half => "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32".to_owned(),
            Self::HalfToHalf => "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16".to_owned(),
            Self::BHalf => "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32".to_owned(),
            Self::Bytes { a_signed, b_signed } => {
                let (a, b) = (sign(a_signed), sign(b_signed));
                format!("mma.sync.aligned.m16n8k32.row.col.s32.{a}.{b}.s32")
            }
            Self::Double => "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64".to_owned(),
        }
    }
}

impl<'c> Lower<'_, 'c> {
    /// Adds the product of fragments to a fragment of sums, with the operands in the instruction's order.
    pub(crate) fn multiply(
        &mut self,
        product: Product,
        a: &[V<'c>],
        b: &[V<'c>],
        c: &[V<'c>],
    ) -> Result<Vec<V<'c>>> {
        let mut number = 0;
        let mut operand = |count: usize| {
            let names: Vec<String> = (number..number + count).map(|i| format!("${i}")).collect();
            number += count;
            format!("{{{}}}", names.join(","))
        };
        let operands = [c.len(), a.len(), b.len(), c.len()].map(&mut operand).join(", ");
        let results: Vec<BasicTypeEnum<'c>> = c.iter().map(V::get_type).collect();
        let args: Vec<V<'c>> = [a, b, c].concat();
        self.assembly(&format!("{} {operands};", product.name()), &results, &args, Memory::None)
    }

    /// An instruction of PTX that all threads of a warp execute together.
    pub(crate) fn assembly(
        &mut self,
        text: &str,
        results: &[BasicTypeEnum<'c>],
        args: &[V<'c>],
        memory: Memory,
    ) -> Result<Vec<V<'c>>> {
        let letter = |ty: BasicTypeEnum<'c>| match ty {
            BasicTypeEnum::FloatType(t) if t.get_bit_width() == 64 => "d",
            BasicTypeEnum::FloatType(_) => "f",
            BasicTypeEnum::IntType(t) if t.get_bit_width() == 16 => "h",
            BasicTypeEnum::IntType(t) if t.get_bit_width() == 64 => "l",
            _ => "r",
        };
        let outputs = results.iter().map(|&ty| format!("={}", letter(ty)));
        let changed = if let Memory::Update(count) = memory { count } else { 0 };
        let inputs = args.iter().enumerate().map(|(i, x)| match i < changed {
            true => i.to_string(),
            false => letter(x.get_type()).to_owned(),
        });
        let constraints = outputs.chain(inputs).collect::<Vec<_>>().join(",");
        let params: Vec<BasicMetadataTypeEnum<'c>> = args.iter().map(|x| x.get_type().into()).collect();
        let ty = match results {
            [] => self.e.cx.void_type().fn_type(&params, false),
            [one] => one.fn_type(&params, false),
            several => self.e.cx.struct_type(several, false).fn_type(&params, false),
        };
        let acts = !matches!(memory, Memory::None | Memory::Read);
        let code = self.e.cx.create_inline_asm(ty, text.to_owned(), constraints, acts, false, None, false);
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|&x| x.into()).collect();
        let call = self.e.b.build_indirect_call(ty, code, &args, "")?;
        // LLVM's effects on memory have two bits for each of three kinds of it: read, written.
        let effects = match memory {
            Memory::None => 0,
            Memory::Read => 0b01_01_01,
            Memory::Write | Memory::Update(_) => 0b11_11_11,
        };
        for (name, value) in [("convergent", 0), ("nounwind", 0), ("willreturn", 0), ("memory", effects)] {
            let kind = Attribute::get_named_enum_kind_id(name);
            call.add_attribute(AttributeLoc::Function, self.e.cx.create_enum_attribute(kind, value));
        }
        if results.is_empty() {
            return Ok(Vec::new());
        }
        let value = call.try_as_basic_value().basic();
        let value = value.ok_or_else(|| Error::bug("an instruction without a result"))?;
        if let [_] = results {
            return Ok(vec![value]);
        }
        let fields = 0..results.len() as u32;
        fields.map(|i| Ok(self.e.b.build_extract_value(value.into_struct_value(), i, "")?)).collect()
    }
}
