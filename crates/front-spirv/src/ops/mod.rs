//! Instructions by family: one file each, and the dispatcher.

mod arith;
mod atomic;
mod blocked;
mod componentwise;
mod composite;
mod convert;
mod coopmat;
mod coopmat2;
mod dot;
mod ext_inst;
mod group;
mod image;
mod memory;
mod qcom;
mod sample;
mod tensor;

use crate::cx::Cx;
use crate::diag::{Res, code, unsupported};
use crate::reader::{GET_COORDINATE, Inst};
use spirv::Op;

/// Translates an instruction of a block that is no terminator, phi or merge instruction.
#[expect(clippy::too_many_lines, reason = "a dispatcher: one line per family")]
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::Nop | Op::Line | Op::NoLine | Op::AssumeTrueKHR => Ok(()),
        Op::Undef | Op::ConstantNull => composite::undef(cx, inst),
        Op::CopyObject | Op::CopyLogical | Op::ExpectKHR => composite::copy(cx, inst),
        Op::Select => composite::select(cx, inst),
        Op::CompositeConstruct
        | Op::CompositeConstructReplicateEXT
        | Op::CompositeExtract
        | Op::CompositeInsert
        | Op::VectorShuffle
        | Op::VectorExtractDynamic
        | Op::VectorInsertDynamic
        | Op::Transpose => composite::emit(cx, inst),

        Op::Variable
        | Op::UntypedVariableKHR
        | Op::AccessChain
        | Op::InBoundsAccessChain
        | Op::PtrAccessChain
        | Op::InBoundsPtrAccessChain
        | Op::UntypedAccessChainKHR
        | Op::UntypedInBoundsAccessChainKHR
        | Op::UntypedPtrAccessChainKHR
        | Op::UntypedInBoundsPtrAccessChainKHR
        | Op::RawAccessChainNV
        | Op::Load
        | Op::Store
        | Op::CopyMemory
        | Op::CopyMemorySized
        | Op::ArrayLength
        | Op::UntypedArrayLengthKHR
        | Op::PtrEqual
        | Op::PtrNotEqual
        | Op::PtrDiff
        | Op::ConvertPtrToU
        | Op::ConvertUToPtr => memory::emit(cx, inst),
        Op::FunctionCall => cx.call(inst),

        Op::SNegate
        | Op::FNegate
        | Op::IAdd
        | Op::FAdd
        | Op::ISub
        | Op::FSub
        | Op::IMul
        | Op::FMul
        | Op::UDiv
        | Op::SDiv
        | Op::FDiv
        | Op::UMod
        | Op::SRem
        | Op::SMod
        | Op::FRem
        | Op::FMod
        | Op::VectorTimesScalar
        | Op::MatrixTimesScalar
        | Op::VectorTimesMatrix
        | Op::MatrixTimesVector
        | Op::MatrixTimesMatrix
        | Op::OuterProduct
        | Op::Dot
        | Op::IAddCarry
        | Op::ISubBorrow
        | Op::UMulExtended
        | Op::SMulExtended
        | Op::Any
        | Op::All
        | Op::IsNan
        | Op::IsInf
        | Op::IsFinite
        | Op::IsNormal
        | Op::SignBitSet
        | Op::LessOrGreater
        | Op::Ordered
        | Op::Unordered
        | Op::LogicalEqual
        | Op::LogicalNotEqual
        | Op::LogicalOr
        | Op::LogicalAnd
        | Op::LogicalNot
        | Op::IEqual
        | Op::INotEqual
        | Op::UGreaterThan
        | Op::SGreaterThan
        | Op::UGreaterThanEqual
        | Op::SGreaterThanEqual
        | Op::ULessThan
        | Op::SLessThan
        | Op::ULessThanEqual
        | Op::SLessThanEqual
        | Op::FOrdEqual
        | Op::FUnordEqual
        | Op::FOrdNotEqual
        | Op::FUnordNotEqual
        | Op::FOrdLessThan
        | Op::FUnordLessThan
        | Op::FOrdGreaterThan
        | Op::FUnordGreaterThan
        | Op::FOrdLessThanEqual
        | Op::FUnordLessThanEqual
        | Op::FOrdGreaterThanEqual
        | Op::FUnordGreaterThanEqual
        | Op::ShiftRightLogical
        | Op::ShiftRightArithmetic
        | Op::ShiftLeftLogical
        | Op::BitwiseOr
        | Op::BitwiseXor
        | Op::BitwiseAnd
        | Op::Not
        | Op::BitFieldInsert
        | Op::BitFieldSExtract
        | Op::BitFieldUExtract
        | Op::BitReverse
        | Op::BitCount
        | Op::FmaKHR => arith::emit(cx, inst),

        Op::ConvertFToU
        | Op::ConvertFToS
        | Op::ConvertSToF
        | Op::ConvertUToF
        | Op::UConvert
        | Op::SConvert
        | Op::FConvert
        | Op::QuantizeToF16
        | Op::Bitcast => convert::emit(cx, inst),

        Op::ExtInst | Op::ExtInstWithForwardRefsKHR => ext_inst::emit(cx, inst),

        Op::SDot | Op::UDot | Op::SUDot | Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat => {
            dot::emit(cx, inst)
        }

        Op::AtomicLoad
        | Op::AtomicStore
        | Op::AtomicExchange
        | Op::AtomicCompareExchange
        | Op::AtomicIIncrement
        | Op::AtomicIDecrement
        | Op::AtomicIAdd
        | Op::AtomicISub
        | Op::AtomicSMin
        | Op::AtomicUMin
        | Op::AtomicSMax
        | Op::AtomicUMax
        | Op::AtomicAnd
        | Op::AtomicOr
        | Op::AtomicXor
        | Op::AtomicFAddEXT
        | Op::AtomicFMinEXT
        | Op::AtomicFMaxEXT
        | Op::ControlBarrier
        | Op::MemoryBarrier
        | Op::ReadClockKHR => atomic::emit(cx, inst),

        Op::ImageRead
        | Op::ImageFetch
        | Op::ImageWrite
        | Op::ImageTexelPointer
        | Op::ImageQuerySize
        | Op::ImageQuerySizeLod
        | Op::ImageQueryLevels
        | Op::Image => image::emit(cx, inst),
        Op::SampledImage
        | Op::ImageSampleImplicitLod
        | Op::ImageSampleExplicitLod
        | Op::ImageSampleDrefImplicitLod
        | Op::ImageSampleDrefExplicitLod
        | Op::ImageSampleProjImplicitLod
        | Op::ImageSampleProjExplicitLod
        | Op::ImageSampleProjDrefImplicitLod
        | Op::ImageSampleProjDrefExplicitLod
        | Op::ImageGather
        | Op::ImageDrefGather
        | Op::ImageQueryLod => sample::emit(cx, inst),

        Op::GroupNonUniformElect
        | Op::GroupNonUniformAll
        | Op::GroupNonUniformAny
        | Op::GroupNonUniformAllEqual
        | Op::GroupNonUniformBroadcast
        | Op::GroupNonUniformBroadcastFirst
        | Op::GroupNonUniformBallot
        | Op::GroupNonUniformInverseBallot
        | Op::GroupNonUniformBallotBitExtract
        | Op::GroupNonUniformBallotBitCount
        | Op::GroupNonUniformBallotFindLSB
        | Op::GroupNonUniformBallotFindMSB
        | Op::GroupNonUniformShuffle
        | Op::GroupNonUniformShuffleXor
        | Op::GroupNonUniformShuffleUp
        | Op::GroupNonUniformShuffleDown
        | Op::GroupNonUniformIAdd
        | Op::GroupNonUniformFAdd
        | Op::GroupNonUniformIMul
        | Op::GroupNonUniformFMul
        | Op::GroupNonUniformSMin
        | Op::GroupNonUniformUMin
        | Op::GroupNonUniformFMin
        | Op::GroupNonUniformSMax
        | Op::GroupNonUniformUMax
        | Op::GroupNonUniformFMax
        | Op::GroupNonUniformBitwiseAnd
        | Op::GroupNonUniformBitwiseOr
        | Op::GroupNonUniformBitwiseXor
        | Op::GroupNonUniformLogicalAnd
        | Op::GroupNonUniformLogicalOr
        | Op::GroupNonUniformLogicalXor
        | Op::GroupNonUniformQuadBroadcast
        | Op::GroupNonUniformQuadSwap
        | Op::GroupNonUniformQuadAllKHR
        | Op::GroupNonUniformQuadAnyKHR
        | Op::GroupNonUniformPartitionEXT
        | Op::GroupNonUniformRotateKHR
        | Op::SubgroupBallotKHR
        | Op::SubgroupFirstInvocationKHR
        | Op::SubgroupAllKHR
        | Op::SubgroupAnyKHR
        | Op::SubgroupAllEqualKHR
        | Op::SubgroupReadInvocationKHR => group::emit(cx, inst),

        Op::CooperativeMatrixLoadKHR
        | Op::CooperativeMatrixStoreKHR
        | Op::CooperativeMatrixMulAddKHR
        | Op::CooperativeMatrixLengthKHR
        | Op::CooperativeMatrixLoadNV
        | Op::CooperativeMatrixStoreNV
        | Op::CooperativeMatrixMulAddNV
        | Op::CooperativeMatrixLengthNV => coopmat::emit(cx, inst),

        Op::CooperativeMatrixConvertNV
        | Op::CooperativeMatrixTransposeNV
        | Op::CooperativeMatrixReduceNV
        | Op::CooperativeMatrixPerElementOpNV => coopmat2::emit(cx, inst),
        GET_COORDINATE => coopmat2::coordinate(cx, inst),
        Op::BitCastArrayQCOM
        | Op::CompositeConstructCoopMatQCOM
        | Op::CompositeExtractCoopMatQCOM
        | Op::ExtractSubArrayQCOM => qcom::emit(cx, inst),
        Op::CreateTensorLayoutNV
        | Op::CreateTensorViewNV
        | Op::TensorLayoutSetDimensionNV
        | Op::TensorLayoutSetStrideNV
        | Op::TensorLayoutSliceNV
        | Op::TensorLayoutSetClampValueNV
        | Op::TensorLayoutSetBlockSizeNV
        | Op::TensorViewSetDimensionNV
        | Op::TensorViewSetStrideNV
        | Op::TensorViewSetClipNV
        | Op::CooperativeMatrixLoadTensorNV
        | Op::CooperativeMatrixStoreTensorNV => tensor::emit(cx, inst),

        _ => Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name()))),
    }
}

/// Whether all invocations of a scope execute an instruction together, or none (*tangled*).
pub(crate) fn is_tangled(cx: &Cx<'_>, inst: &Inst<'_>) -> bool {
    if matches!(inst.op, Op::CooperativeMatrixLengthKHR | Op::CooperativeMatrixLengthNV) {
        return false;
    }
    let name = format!("{:?}", inst.op);
    let is_matrix = |id: &u32| cx.ty_of(*id).is_ok_and(|ty| cx.types().coop_mat(ty).is_some());
    inst.op == Op::ControlBarrier
        || ["GroupNonUniform", "Subgroup", "CooperativeMatrix"].iter().any(|p| name.starts_with(p))
        || cx.types().lookup(inst.ty).is_ok_and(|ty| cx.types().coop_mat(ty).is_some())
        || (inst.op != Op::FunctionCall && inst.args.first().is_some_and(is_matrix))
}
