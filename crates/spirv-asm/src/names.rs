//! Names of enumerants and mask bits.

use bitflags::Flags;
use rspirv::dr::Operand;
use rspirv::grammar::{LogicalOperand, OperandKind};
use spirv as s;

/// Instructions that the crate `rspirv` does not know: name, opcode, and one with the same operands.
pub(crate) const INSTRUCTIONS: [(&str, u32, &str); 2] = [
    ("CooperativeMatrixGetCoordinateEXT", 5363, "VectorExtractDynamic"),
    ("CooperativeMatrixConvertUseEXT", 5293, "CooperativeMatrixConvertNV"),
];

/// Enumerants that it does not know.
const ENUMERANTS: [(OperandKind, &str, u32); 4] = [
    (OperandKind::Capability, "CooperativeMatrixConversionsEXT", 5429),
    (OperandKind::Capability, "CooperativeMatrixGetCoordinateEXT", 5438),
    (OperandKind::Capability, "CooperativeMatrixDecodeVectorNV", 5447),
    (OperandKind::Decoration, "CooperativeMatrixTransposeEXT", 5440),
];

/// Masks, by kind: names joined with `|`.
macro_rules! masks {
    ($kind:expr, $word:expr, $($name:ident),* $(,)?) => {
        match $kind {
            $(OperandKind::$name => Some(mask::<s::$name>($word)?),)*
            _ => None,
        }
    };
}

/// Enumerations, by kind.
macro_rules! enums {
    ($kind:expr, $word:expr, $($name:ident),* $(,)?) => {
        match $kind {
            $(OperandKind::$name => Some($word.parse::<s::$name>().ok()?.into()),)*
            _ => None,
        }
    };
}

/// The operand of an enumerated kind that `word` names, and the operands that it asks for; `None` if
/// it names none.
pub(crate) fn enumerant(kind: OperandKind, word: &str) -> Option<(Operand, Vec<LogicalOperand>)> {
    let mask: Option<(Operand, Vec<LogicalOperand>)> = masks!(
        kind,
        word,
        FPFastMathMode,
        SelectionControl,
        LoopControl,
        FunctionControl,
        MemoryAccess,
        ImageOperands,
        CooperativeMatrixOperands,
        CooperativeMatrixReduce,
        TensorAddressingOperands,
        RawAccessChainOperands,
    );
    if mask.is_some() {
        return mask;
    }
    if let Some((.., number)) = ENUMERANTS.iter().find(|(of, name, _)| *of == kind && *name == word) {
        return Some((Operand::LiteralBit32(*number), Vec::new()));
    }
    // Names in the grammar may begin with a digit, those in the crate may not.
    let dim = format!("Dim{word}");
    let word = if kind == OperandKind::Dim { &dim } else { word };
    let operand: Option<Operand> = enums!(
        kind,
        word,
        SourceLanguage,
        ExecutionModel,
        AddressingModel,
        MemoryModel,
        ExecutionMode,
        StorageClass,
        Dim,
        ImageFormat,
        FPRoundingMode,
        FPDenormMode,
        FPOperationMode,
        LinkageType,
        FunctionParameterAttribute,
        Decoration,
        BuiltIn,
        Scope,
        GroupOperation,
        Capability,
        PackedVectorFormat,
        CooperativeMatrixLayout,
        CooperativeMatrixUse,
        TensorClampMode,
        FPEncoding,
        CooperativeVectorMatrixLayout,
        ComponentType,
    );
    operand.map(|operand| {
        let more = operand.additional_operands();
        (operand, more)
    })
}

/// Bits are named in the grammar in camel case, in the crate with underscores. What bits ask for
/// follows in the order of the bits (SPIR-V 2.2.1, *Memory Operands* and the like).
fn mask<F>(word: &str) -> Option<(Operand, Vec<LogicalOperand>)>
where
    F: Flags<Bits = u32> + Into<Operand>,
{
    let mut bits = 0;
    for name in word.split('|').filter(|&name| name != "None") {
        let flag = F::FLAGS.iter().find(|flag| {
            let plain = |text: &str| text.replace('_', "").to_ascii_lowercase();
            let (ours, theirs) = (plain(name), plain(flag.name()));
            ours == theirs || ["khr", "nv", "ext"].iter().any(|suffix| theirs == format!("{ours}{suffix}"))
        })?;
        bits |= flag.value().bits();
    }
    let set = (0..32).map(|i| 1 << i).filter(|bit| bits & bit != 0);
    let more = set.flat_map(|bit| F::from_bits_retain(bit).into().additional_operands()).collect();
    Some((F::from_bits_retain(bits).into(), more))
}
