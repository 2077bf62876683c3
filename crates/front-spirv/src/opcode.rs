//! What is known of each instruction that functions may hold: one row says all that other code asks.
//!
//! An opcode without a row is not supported. The facts follow the sections of the SPIR-V specification that define the
//! instructions. Of denormals the Vulkan specification says (appendix of VK_KHR_shader_float_controls, issue 1):
//! conversions, arithmetic, relational instructions other than *OpIsNan* and *OpIsInf*, and GLSL.std.450 flush them,
//! nothing else does; so group operations and atomic ones keep them, whatever they compute.

use crate::facts::AtomicKind;
use crate::module::{ExtSet, Spv};
use crate::reader::{Id, Inst};
use spirv::{GlslStd450Op as G, Op};

/// Who translates an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// It has no effect.
    Nothing,
    Undef,
    Copy,
    Select,
    Composite,
    Memory,
    Call,
    Arith,
    Convert,
    ExtInst,
    /// Integer dot products.
    Dot,
    Atomic(AtomicKind),
    /// Barriers and the clock.
    Order,
    Image,
    Sample,
    /// Between the invocations of a subgroup.
    Group,
    CoopMat,
    /// SPV_NV_cooperative_matrix2.
    CoopMat2,
    /// SPV_NV_cooperative_vector.
    CoopVec,
    Coordinate,
    Qcom,
    /// Tensor layouts and views, and accesses through them.
    Tensor,
}

/// What an instruction is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts(u8);

/// It does the same to each component of its vectors. A bit cast only does where there are as many in the result.
const EACH: u8 = 1;
/// It must lose denormals under *DenormFlushToZero*, if its operands or its result are floats.
const FLUSHES: u8 = 2;
/// It is arithmetic whose result is rounded, so that rounding modes hold for it. Conversions, which do round as the
/// modes say, see to that themselves.
const ROUNDS: u8 = 4 | FLUSHES;
/// All invocations of a scope execute it together, or none (*tangled*). Instructions on cooperative matrices are, too.
const TANGLED: u8 = 8;
/// Its second operand is a literal, the *GroupOperation*.
const LITERAL: u8 = 16;

impl Facts {
    const NONE: Self = Self(0);

    const fn has(self, facts: u8) -> bool {
        self.0 & facts == facts
    }

    pub(crate) const fn is_componentwise(self) -> bool {
        self.has(EACH)
    }

    pub(crate) const fn flushes(self) -> bool {
        self.has(FLUSHES)
    }

    pub(crate) const fn rounds(self) -> bool {
        self.has(ROUNDS)
    }

    pub(crate) const fn is_tangled(self) -> bool {
        self.has(TANGLED)
    }
}

/// The facts of an instruction, extended ones by their number.
pub(crate) fn facts(spv: &Spv<'_>, inst: &Inst<'_>) -> Facts {
    match row(inst.op) {
        Some((Family::ExtInst, facts)) if spv.ext_set_of(inst) == ExtSet::Glsl => {
            inst.args.get(1).copied().and_then(G::from_u32).map_or(facts, glsl)
        }
        Some((_, facts)) => facts,
        None => Facts::NONE,
    }
}

/// Who translates an instruction; nobody if it is not supported.
pub(crate) fn family(op: Op) -> Option<Family> {
    row(op).map(|(family, _)| family)
}

/// The operands that may be ids of values: what is in front of them is not, or is a scope.
pub(crate) fn values<'w>(inst: &Inst<'w>) -> &'w [Id] {
    match row(inst.op) {
        Some((Family::ExtInst, _)) => inst.rest(2),
        Some((_, facts)) if facts.has(LITERAL) => inst.rest(2),
        _ => inst.rest(0),
    }
}

/// Makes the functions that find a row.
macro_rules! rows {
    ($($op:ident: $family:ident $(($kind:expr))? $(, $fact:ident)? $(| $more:ident)*;)*) => {
        fn row(op: Op) -> Option<(Family, Facts)> {
            Some(match op {
                $(Op::$op => (Family::$family $(($kind))?, Facts(0 $(| $fact)? $(| $more)*)),)*
                _ => return None,
            })
        }
    };
}

macro_rules! glsl_rows {
    ($($op:ident: $($fact:ident)|*;)*) => {
        /// The facts of an instruction of GLSL.std.450.
        fn glsl(op: G) -> Facts {
            match op {
                $(G::$op => Facts(0 $(| $fact)*),)*
                _ => Facts::NONE,
            }
        }
    };
}

rows! {
    Nop: Nothing;
    Line: Nothing;
    NoLine: Nothing;
    AssumeTrueKHR: Nothing;

    Undef: Undef;
    ConstantNull: Undef;

    CopyObject: Copy;
    CopyLogical: Copy;
    ExpectKHR: Copy;

    Select: Select, EACH;

    CompositeConstruct: Composite;
    CompositeConstructReplicateEXT: Composite;
    CompositeExtract: Composite;
    CompositeInsert: Composite;
    VectorShuffle: Composite;
    VectorExtractDynamic: Composite;
    VectorInsertDynamic: Composite;
    Transpose: Composite;

    Variable: Memory;
    UntypedVariableKHR: Memory;
    AccessChain: Memory;
    InBoundsAccessChain: Memory;
    PtrAccessChain: Memory;
    InBoundsPtrAccessChain: Memory;
    UntypedAccessChainKHR: Memory;
    UntypedInBoundsAccessChainKHR: Memory;
    UntypedPtrAccessChainKHR: Memory;
    UntypedInBoundsPtrAccessChainKHR: Memory;
    RawAccessChainNV: Memory;
    Load: Memory;
    Store: Memory;
    CopyMemory: Memory;
    CopyMemorySized: Memory;
    ArrayLength: Memory;
    UntypedArrayLengthKHR: Memory;
    PtrEqual: Memory;
    PtrNotEqual: Memory;
    PtrDiff: Memory;
    ConvertPtrToU: Memory;
    ConvertUToPtr: Memory;

    FunctionCall: Call;

    SNegate: Arith, EACH;
    FNegate: Arith, EACH | FLUSHES;
    IAdd: Arith, EACH;
    FAdd: Arith, EACH | ROUNDS;
    ISub: Arith, EACH;
    FSub: Arith, EACH | ROUNDS;
    IMul: Arith, EACH;
    FMul: Arith, EACH | ROUNDS;
    UDiv: Arith, EACH;
    SDiv: Arith, EACH;
    FDiv: Arith, EACH | ROUNDS;
    UMod: Arith, EACH;
    SRem: Arith, EACH;
    SMod: Arith, EACH;
    FRem: Arith, EACH | ROUNDS;
    FMod: Arith, EACH | ROUNDS;
    VectorTimesScalar: Arith, EACH | ROUNDS;
    MatrixTimesScalar: Arith, ROUNDS;
    VectorTimesMatrix: Arith, ROUNDS;
    MatrixTimesVector: Arith, ROUNDS;
    MatrixTimesMatrix: Arith, ROUNDS;
    OuterProduct: Arith, ROUNDS;
    Dot: Arith, ROUNDS;
    IAddCarry: Arith;
    ISubBorrow: Arith;
    UMulExtended: Arith;
    SMulExtended: Arith;
    Any: Arith;
    All: Arith;
    IsNan: Arith, EACH;
    IsInf: Arith, EACH;
    IsFinite: Arith, EACH;
    IsNormal: Arith, EACH;
    SignBitSet: Arith, EACH;
    LessOrGreater: Arith, EACH | FLUSHES;
    Ordered: Arith, EACH;
    Unordered: Arith, EACH;
    LogicalEqual: Arith, EACH;
    LogicalNotEqual: Arith, EACH;
    LogicalOr: Arith, EACH;
    LogicalAnd: Arith, EACH;
    LogicalNot: Arith, EACH;
    IEqual: Arith, EACH;
    INotEqual: Arith, EACH;
    UGreaterThan: Arith, EACH;
    SGreaterThan: Arith, EACH;
    UGreaterThanEqual: Arith, EACH;
    SGreaterThanEqual: Arith, EACH;
    ULessThan: Arith, EACH;
    SLessThan: Arith, EACH;
    ULessThanEqual: Arith, EACH;
    SLessThanEqual: Arith, EACH;
    FOrdEqual: Arith, EACH | FLUSHES;
    FUnordEqual: Arith, EACH | FLUSHES;
    FOrdNotEqual: Arith, EACH | FLUSHES;
    FUnordNotEqual: Arith, EACH | FLUSHES;
    FOrdLessThan: Arith, EACH | FLUSHES;
    FUnordLessThan: Arith, EACH | FLUSHES;
    FOrdGreaterThan: Arith, EACH | FLUSHES;
    FUnordGreaterThan: Arith, EACH | FLUSHES;
    FOrdLessThanEqual: Arith, EACH | FLUSHES;
    FUnordLessThanEqual: Arith, EACH | FLUSHES;
    FOrdGreaterThanEqual: Arith, EACH | FLUSHES;
    FUnordGreaterThanEqual: Arith, EACH | FLUSHES;
    ShiftRightLogical: Arith, EACH;
    ShiftRightArithmetic: Arith, EACH;
    ShiftLeftLogical: Arith, EACH;
    BitwiseOr: Arith, EACH;
    BitwiseXor: Arith, EACH;
    BitwiseAnd: Arith, EACH;
    Not: Arith, EACH;
    BitFieldInsert: Arith, EACH;
    BitFieldSExtract: Arith, EACH;
    BitFieldUExtract: Arith, EACH;
    BitReverse: Arith, EACH;
    BitCount: Arith, EACH;
    FmaKHR: Arith, EACH | ROUNDS;

    ConvertFToU: Convert, EACH;
    ConvertFToS: Convert, EACH;
    ConvertSToF: Convert, EACH;
    ConvertUToF: Convert, EACH;
    UConvert: Convert, EACH;
    SConvert: Convert, EACH;
    FConvert: Convert, EACH | FLUSHES;
    QuantizeToF16: Convert, EACH | FLUSHES;
    Bitcast: Convert, EACH;

    ExtInst: ExtInst;
    ExtInstWithForwardRefsKHR: ExtInst;

    SDot: Dot;
    UDot: Dot;
    SUDot: Dot;
    SDotAccSat: Dot;
    UDotAccSat: Dot;
    SUDotAccSat: Dot;

    AtomicLoad: Atomic(AtomicKind::Access);
    AtomicStore: Atomic(AtomicKind::Access);
    AtomicExchange: Atomic(AtomicKind::Access);
    AtomicCompareExchange: Atomic(AtomicKind::Other);
    AtomicIIncrement: Atomic(AtomicKind::Add);
    AtomicIDecrement: Atomic(AtomicKind::Add);
    AtomicIAdd: Atomic(AtomicKind::Add);
    AtomicISub: Atomic(AtomicKind::Add);
    AtomicSMin: Atomic(AtomicKind::MinMax);
    AtomicUMin: Atomic(AtomicKind::MinMax);
    AtomicSMax: Atomic(AtomicKind::MinMax);
    AtomicUMax: Atomic(AtomicKind::MinMax);
    AtomicAnd: Atomic(AtomicKind::Other);
    AtomicOr: Atomic(AtomicKind::Other);
    AtomicXor: Atomic(AtomicKind::Other);
    AtomicFAddEXT: Atomic(AtomicKind::Add);
    AtomicFMinEXT: Atomic(AtomicKind::MinMax);
    AtomicFMaxEXT: Atomic(AtomicKind::MinMax);

    ControlBarrier: Order, TANGLED;
    MemoryBarrier: Order;
    ReadClockKHR: Order;

    ImageRead: Image;
    ImageFetch: Image;
    ImageWrite: Image;
    ImageTexelPointer: Image;
    ImageQuerySize: Image;
    ImageQuerySizeLod: Image;
    ImageQueryLevels: Image;
    Image: Image;

    SampledImage: Sample;
    ImageSampleImplicitLod: Sample;
    ImageSampleExplicitLod: Sample;
    ImageSampleDrefImplicitLod: Sample;
    ImageSampleDrefExplicitLod: Sample;
    ImageSampleProjImplicitLod: Sample;
    ImageSampleProjExplicitLod: Sample;
    ImageSampleProjDrefImplicitLod: Sample;
    ImageSampleProjDrefExplicitLod: Sample;
    ImageGather: Sample;
    ImageDrefGather: Sample;
    ImageQueryLod: Sample;

    GroupNonUniformElect: Group, TANGLED;
    GroupNonUniformAll: Group, TANGLED;
    GroupNonUniformAny: Group, TANGLED;
    GroupNonUniformAllEqual: Group, TANGLED;
    GroupNonUniformBroadcast: Group, EACH | TANGLED;
    GroupNonUniformBroadcastFirst: Group, EACH | TANGLED;
    GroupNonUniformBallot: Group, TANGLED;
    GroupNonUniformInverseBallot: Group, TANGLED;
    GroupNonUniformBallotBitExtract: Group, TANGLED;
    GroupNonUniformBallotBitCount: Group, TANGLED | LITERAL;
    GroupNonUniformBallotFindLSB: Group, TANGLED;
    GroupNonUniformBallotFindMSB: Group, TANGLED;
    GroupNonUniformShuffle: Group, EACH | TANGLED;
    GroupNonUniformShuffleXor: Group, EACH | TANGLED;
    GroupNonUniformShuffleUp: Group, EACH | TANGLED;
    GroupNonUniformShuffleDown: Group, EACH | TANGLED;
    GroupNonUniformIAdd: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformFAdd: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformIMul: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformFMul: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformSMin: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformUMin: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformFMin: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformSMax: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformUMax: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformFMax: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformBitwiseAnd: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformBitwiseOr: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformBitwiseXor: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformLogicalAnd: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformLogicalOr: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformLogicalXor: Group, EACH | TANGLED | LITERAL;
    GroupNonUniformQuadBroadcast: Group, EACH | TANGLED;
    GroupNonUniformQuadSwap: Group, EACH | TANGLED;
    GroupNonUniformQuadAllKHR: Group, TANGLED;
    GroupNonUniformQuadAnyKHR: Group, TANGLED;
    GroupNonUniformPartitionEXT: Group, TANGLED;
    GroupNonUniformRotateKHR: Group, EACH | TANGLED;
    SubgroupBallotKHR: Group, TANGLED;
    SubgroupFirstInvocationKHR: Group, EACH | TANGLED;
    SubgroupAllKHR: Group, TANGLED;
    SubgroupAnyKHR: Group, TANGLED;
    SubgroupAllEqualKHR: Group, TANGLED;
    SubgroupReadInvocationKHR: Group, EACH | TANGLED;

    CooperativeMatrixLoadKHR: CoopMat, TANGLED;
    CooperativeMatrixStoreKHR: CoopMat, TANGLED;
    CooperativeMatrixMulAddKHR: CoopMat, TANGLED;
    CooperativeMatrixLengthKHR: CoopMat;
    CooperativeMatrixLoadNV: CoopMat, TANGLED;
    CooperativeMatrixStoreNV: CoopMat, TANGLED;
    CooperativeMatrixMulAddNV: CoopMat, TANGLED;
    CooperativeMatrixLengthNV: CoopMat;

    CooperativeVectorLoadNV: CoopVec;
    CooperativeVectorStoreNV: CoopVec;
    CooperativeVectorMatrixMulNV: CoopVec;
    CooperativeVectorMatrixMulAddNV: CoopVec;
    CooperativeVectorOuterProductAccumulateNV: CoopVec;
    CooperativeVectorReduceSumAccumulateNV: CoopVec;

    CooperativeMatrixConvertNV: CoopMat2, TANGLED;
    CooperativeMatrixTransposeNV: CoopMat2, TANGLED;
    CooperativeMatrixReduceNV: CoopMat2, TANGLED;
    CooperativeMatrixPerElementOpNV: CoopMat2, TANGLED;

    // What *OpCooperativeMatrixGetCoordinateEXT* is read as, see `reader::GET_COORDINATE`.
    SubgroupAvcImeGetBorderReachedINTEL: Coordinate;

    BitCastArrayQCOM: Qcom;
    CompositeConstructCoopMatQCOM: Qcom;
    CompositeExtractCoopMatQCOM: Qcom;
    ExtractSubArrayQCOM: Qcom;

    CreateTensorLayoutNV: Tensor;
    CreateTensorViewNV: Tensor;
    TensorLayoutSetDimensionNV: Tensor;
    TensorLayoutSetStrideNV: Tensor;
    TensorLayoutSliceNV: Tensor;
    TensorLayoutSetClampValueNV: Tensor;
    TensorLayoutSetBlockSizeNV: Tensor;
    TensorViewSetDimensionNV: Tensor;
    TensorViewSetStrideNV: Tensor;
    TensorViewSetClipNV: Tensor;
    CooperativeMatrixLoadTensorNV: Tensor, TANGLED;
    CooperativeMatrixStoreTensorNV: Tensor, TANGLED;
}

glsl_rows! {
    Round: EACH | FLUSHES;
    RoundEven: EACH | FLUSHES;
    Trunc: EACH | FLUSHES;
    FAbs: EACH | FLUSHES;
    SAbs: EACH;
    FSign: EACH | FLUSHES;
    SSign: EACH;
    Floor: EACH | FLUSHES;
    Ceil: EACH | FLUSHES;
    Fract: EACH | FLUSHES;
    Radians: EACH | FLUSHES;
    Degrees: EACH | FLUSHES;
    Sin: EACH | FLUSHES;
    Cos: EACH | FLUSHES;
    Tan: EACH | FLUSHES;
    Asin: EACH | FLUSHES;
    Acos: EACH | FLUSHES;
    Atan: EACH | FLUSHES;
    Sinh: EACH | FLUSHES;
    Cosh: EACH | FLUSHES;
    Tanh: EACH | FLUSHES;
    Asinh: EACH | FLUSHES;
    Acosh: EACH | FLUSHES;
    Atanh: EACH | FLUSHES;
    Atan2: EACH | FLUSHES;
    Pow: EACH | FLUSHES;
    Exp: EACH | FLUSHES;
    Log: EACH | FLUSHES;
    Exp2: EACH | FLUSHES;
    Log2: EACH | FLUSHES;
    Sqrt: EACH | FLUSHES;
    InverseSqrt: EACH | FLUSHES;
    Determinant: FLUSHES;
    MatrixInverse: FLUSHES;
    Modf: FLUSHES;
    ModfStruct: FLUSHES;
    FMin: EACH | FLUSHES;
    UMin: EACH;
    SMin: EACH;
    FMax: EACH | FLUSHES;
    UMax: EACH;
    SMax: EACH;
    FClamp: EACH | FLUSHES;
    UClamp: EACH;
    SClamp: EACH;
    FMix: EACH | FLUSHES;
    Step: EACH | FLUSHES;
    SmoothStep: EACH | FLUSHES;
    Fma: EACH | ROUNDS;
    Frexp: FLUSHES;
    FrexpStruct: FLUSHES;
    Ldexp: EACH | FLUSHES;
    PackSnorm4x8: FLUSHES;
    PackUnorm4x8: FLUSHES;
    PackSnorm2x16: FLUSHES;
    PackUnorm2x16: FLUSHES;
    PackHalf2x16: FLUSHES;
    PackDouble2x32: FLUSHES;
    UnpackSnorm2x16: FLUSHES;
    UnpackUnorm2x16: FLUSHES;
    UnpackHalf2x16: FLUSHES;
    UnpackSnorm4x8: FLUSHES;
    UnpackUnorm4x8: FLUSHES;
    UnpackDouble2x32: FLUSHES;
    Length: FLUSHES;
    Distance: FLUSHES;
    Cross: FLUSHES;
    Normalize: FLUSHES;
    FaceForward: FLUSHES;
    Reflect: FLUSHES;
    Refract: FLUSHES;
    FindILsb: EACH;
    FindSMsb: EACH;
    FindUMsb: EACH;
    NMin: EACH | FLUSHES;
    NMax: EACH | FLUSHES;
    NClamp: EACH | FLUSHES;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All opcodes with a row, and their names.
    fn all() -> impl Iterator<Item = (String, Family, Facts)> {
        let rows = (0..7000).filter_map(Op::from_u32).filter_map(|op| Some((format!("{op:?}"), row(op)?)));
        rows.map(|(name, (family, facts))| (name, family, facts))
    }

    /// The names of those of which something holds.
    fn names(holds: impl Fn(&str, Family, Facts) -> bool) -> Vec<String> {
        all().filter(|(name, family, facts)| holds(name, *family, *facts)).map(|(name, ..)| name).collect()
    }

    #[test]
    fn operations_of_groups_are_tangled() {
        let group = |name: &str| name.starts_with("GroupNonUniform") || name.ends_with("KHR");
        assert_eq!(
            names(|name, family, facts| (family == Family::Group)
                != (facts.is_tangled() && group(name) && !name.starts_with("Coop"))),
            [""; 0]
        );
        let others = names(|_, family, facts| family != Family::Group && facts.is_tangled());
        let matrix = |name: &&String| name.starts_with("CooperativeMatrix");
        assert_eq!(others.iter().filter(|name| !matrix(name)).collect::<Vec<_>>(), ["ControlBarrier"]);
        let untangled = names(|name, _, facts| name.starts_with("CooperativeMatrix") && !facts.is_tangled());
        assert_eq!(untangled, ["CooperativeMatrixLengthKHR", "CooperativeMatrixLengthNV"]);
    }

    #[test]
    fn comparisons_of_floats_are_alike() {
        let is_one = |name: &str| name.starts_with("FOrd") || name.starts_with("FUnord");
        let wrong = |name: &str, _: Family, facts: Facts| is_one(name) && facts != Facts(EACH | FLUSHES);
        assert_eq!(names(wrong), [""; 0]);
        assert_eq!(names(|name, _, _| is_one(name)).len(), 12);
    }

    #[test]
    fn what_flushes_denormals_is_arithmetic_a_conversion_or_relational() {
        let of = |family| names(move |_, f, facts| f == family && facts.flushes());
        assert_eq!(of(Family::Convert), ["FConvert", "QuantizeToF16"]);
        let kept = |name: &str, family: Family, facts: Facts| {
            let is_float = name.starts_with('F') || name.contains("Matrix") || name == "VectorTimesScalar";
            family == Family::Arith && is_float && !facts.flushes()
        };
        assert_eq!(names(kept), [""; 0]);
        let others = |_: &str, family: Family, facts: Facts| {
            !matches!(family, Family::Arith | Family::Convert) && facts.flushes()
        };
        assert_eq!(names(others), [""; 0]);
    }

    #[test]
    fn every_atomic_operation_has_its_kind() {
        let is_named = |name: &str| name.starts_with("Atomic");
        assert_eq!(names(|name, family, _| is_named(name) != matches!(family, Family::Atomic(_))), [""; 0]);
    }

    #[test]
    fn reductions_name_their_operation_before_their_value() {
        let wrong = |name: &str, family: Family, facts: Facts| {
            let is_arithmetic = ["Add", "Mul", "Min", "Max", "And", "Or", "Xor", "BitCount"]
                .iter()
                .any(|end| name.ends_with(end) && !name.ends_with("ShuffleXor"));
            facts.has(LITERAL) != (family == Family::Group && is_arithmetic)
        };
        assert_eq!(names(wrong), [""; 0]);
    }

    #[test]
    fn fma_of_glsl_rounds_as_that_of_spirv() {
        assert!(glsl(G::Fma).rounds() && row(Op::FmaKHR).unwrap().1.rounds());
        assert!(!glsl(G::Length).is_componentwise() && glsl(G::Length).flushes());
    }
}
