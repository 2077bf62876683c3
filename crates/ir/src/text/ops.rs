//! Names and attributes of the operations in the text form.
//!
//! Names stand in tables that give both directions. Attributes are visited by one function,
//! [`attrs`], through a trait that the printer implements by writing and the parser by reading, so
//! the two cannot disagree.

use super::{sample, tensor, vector};
use crate::entities::{Binding, Var};
use crate::module::Function;
use crate::op::{
    AtomicOp, Barrier, BinaryOp, Builtin, CompareOp, ConvertKind, ConvertOp, ImageOp, MemFlags, MulAddFlags,
    Op, ReduceOp, Rounding, SubgroupOp, UnaryOp,
};
use crate::tensor::MatReduceKind;
use crate::types::Scope;

macro_rules! names {
    ($ty:ident { $($variant:ident $name:literal)* }) => {
        impl $ty {
            /// Every variant, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name in the text form.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }
        }
    };
}

names!(UnaryOp {
    Ineg "ineg" Not "not" BitReverse "bit_reverse" BitCount "bit_count" FindLsb "find_lsb"
    FindSMsb "find_smsb" FindUMsb "find_umsb" Sabs "sabs" Ssign "ssign" Fneg "fneg" Fabs "fabs"
    Fsign "fsign" Floor "floor" Ceil "ceil" Trunc "trunc" RoundEven "round_even" Fract "fract"
    Sqrt "sqrt" InverseSqrt "inverse_sqrt" Sin "sin" Cos "cos" Tan "tan" Asin "asin" Acos "acos"
    Atan "atan" Sinh "sinh" Cosh "cosh" Tanh "tanh" Asinh "asinh" Acosh "acosh" Atanh "atanh"
    Exp "exp" Exp2 "exp2" Log "log" Log2 "log2" IsNan "is_nan" IsInf "is_inf"
});

names!(BinaryOp {
    Iadd "iadd" Isub "isub" Imul "imul" Sdiv "sdiv" Udiv "udiv" Srem "srem" Smod "smod" Umod "umod"
    SmulHi "smul_hi" UmulHi "umul_hi" Sdot4 "sdot4" Udot4 "udot4" Sudot4 "sudot4" Smin "smin" Smax "smax" Umin "umin" Umax "umax" And "and"
    Or "or" Xor "xor" Shl "shl" Lshr "lshr" Ashr "ashr" Fadd "fadd" Fsub "fsub" Fmul "fmul"
    Fdiv "fdiv" Frem "frem" Fmod "fmod" Fmin "fmin" Fmax "fmax" Pow "pow" Atan2 "atan2"
    Ldexp "ldexp"
});

names!(CompareOp {
    Ieq "ieq" Ine "ine" Slt "slt" Sle "sle" Ult "ult" Ule "ule" FordEq "ford_eq" FordNe "ford_ne"
    FordLt "ford_lt" FordLe "ford_le" FunordEq "funord_eq" FunordNe "funord_ne"
    FunordLt "funord_lt" FunordLe "funord_le"
});

names!(ConvertKind {
    SToS "s_to_s" UToU "u_to_u" FToS "f_to_s" FToU "f_to_u" SToF "s_to_f" UToF "u_to_f"
    FToF "f_to_f"
});

names!(Rounding { NearestEven "nearest_even" TowardZero "toward_zero" });

names!(AtomicOp {
    Load "atomic_load" Store "atomic_store" Exchange "atomic_exchange"
    CompareExchange "atomic_compare_exchange" Iadd "atomic_iadd" Isub "atomic_isub"
    Smin "atomic_smin" Smax "atomic_smax" Umin "atomic_umin" Umax "atomic_umax" And "atomic_and"
    Or "atomic_or" Xor "atomic_xor" Fadd "atomic_fadd" Fmin "atomic_fmin" Fmax "atomic_fmax"
});

names!(ReduceOp {
    Iadd "iadd" Fadd "fadd" Imul "imul" Fmul "fmul" Smin "smin" Umin "umin" Fmin "fmin"
    Smax "smax" Umax "umax" Fmax "fmax" And "and" Or "or" Xor "xor"
});

/// Names of the scopes, for the printer and the parser.
pub(crate) const SCOPES: [Scope; 4] = [Scope::Invocation, Scope::Subgroup, Scope::Workgroup, Scope::Device];

/// The name of an operation, without its attributes.
pub fn mnemonic(op: &Op) -> &'static str {
    match op {
        Op::Const(_) => "const",
        Op::Unary(op) => op.name(),
        Op::Binary(op) => op.name(),
        Op::Compare(op) => op.name(),
        Op::Fma => "fma",
        Op::Select => "select",
        Op::Convert(op) => op.kind.name(),
        Op::Bitcast => "bitcast",
        Op::Builtin(op) => builtin_name(*op),
        Op::VarLoad(_) => "var_load",
        Op::VarStore(_) => "var_store",
        Op::VarComponentLoad(_) => "var_component_load",
        Op::VarComponentStore(_) => "var_component_store",
        Op::BufferPtr(_) => "buffer_ptr",
        Op::PushPtr => "push_ptr",
        Op::SharedPtr { .. } => "shared_ptr",
        Op::PtrAdd { .. } => "ptr_add",
        Op::PtrBytesLeft => "ptr_bytes_left",
        Op::PtrDiff => "ptr_diff",
        Op::PtrToInt => "ptr_to_int",
        Op::IntToPtr => "int_to_ptr",
        Op::Load(_) => "load",
        Op::Store(_) => "store",
        Op::Atomic(op) => op.name(),
        Op::Image(_, op) => image_name(*op),
        Op::Subgroup(op) => subgroup_name(*op),
        Op::Barrier(_) => "barrier",
        Op::MatSplat => "mat_splat",
        Op::MatLoad { .. } => "mat_load",
        Op::MatStore { .. } => "mat_store",
        Op::MatMulAdd(_) => "mat_mul_add",
        Op::MatScale => "mat_scale",
        Op::MatCoordinate => "mat_coordinate",
        Op::MatExtract => "mat_extract",
        Op::MatInsert => "mat_insert",
        Op::MatTranspose => "mat_transpose",
        Op::MatRotate => "mat_rotate",
        Op::MatFromLanes { .. } => "mat_from_lanes",
        Op::MatToLanes { .. } => "mat_to_lanes",
        Op::MatMap { .. } => "mat_map",
        Op::MatReduce { .. } => "mat_reduce",
        Op::MatLoadTensor { .. } => "mat_load_tensor",
        Op::MatStoreTensor(_) => "mat_store_tensor",
        Op::VecMatMul(_) => "vec_mat_mul",
        Op::VecOuterAdd(_) => "vec_outer_add",
        Op::VecReduceAdd(_) => "vec_reduce_add",
        Op::Params => "params",
        Op::Yield => "yield",
        Op::If { .. } => "if",
        Op::Block { .. } => "block",
        Op::Loop { .. } => "loop",
        Op::Br(_) => "br",
        Op::Return => "return",
        Op::Decline => "decline",
        Op::Printf(_) => "printf",
        Op::Warn(_) => "warn",
        Op::Clock => "clock",
    }
}

fn image_name(op: ImageOp) -> &'static str {
    match op {
        ImageOp::Load => "image_load",
        ImageOp::Store => "image_store",
        ImageOp::Atomic(_) => "image_atomic",
        ImageOp::Size => "image_size",
        ImageOp::Levels => "image_levels",
        ImageOp::Sample(_) => "image_sample",
    }
}

fn builtin_name(op: Builtin) -> &'static str {
    match op {
        Builtin::NumWorkgroups(_) => "num_workgroups",
        Builtin::WorkgroupId(_) => "workgroup_id",
        Builtin::LocalInvocationId(_) => "local_invocation_id",
        Builtin::GlobalInvocationId(_) => "global_invocation_id",
        Builtin::LocalInvocationIndex => "local_invocation_index",
        Builtin::SubgroupId => "subgroup_id",
        Builtin::SubgroupLane => "subgroup_lane",
        Builtin::Multiprocessor => "multiprocessor",
        Builtin::ResidentSubgroup => "resident_subgroup",
    }
}

fn subgroup_name(op: SubgroupOp) -> &'static str {
    match op {
        SubgroupOp::Elect => "subgroup_elect",
        SubgroupOp::All => "subgroup_all",
        SubgroupOp::Any => "subgroup_any",
        SubgroupOp::AllEqual => "subgroup_all_equal",
        SubgroupOp::Broadcast => "subgroup_broadcast",
        SubgroupOp::BroadcastFirst => "subgroup_broadcast_first",
        SubgroupOp::Ballot => "subgroup_ballot",
        SubgroupOp::Shuffle => "subgroup_shuffle",
        SubgroupOp::Reduce(..) => "subgroup_reduce",
        SubgroupOp::InclusiveScan(_) => "subgroup_inclusive_scan",
        SubgroupOp::ExclusiveScan(_) => "subgroup_exclusive_scan",
        SubgroupOp::PartitionedReduce(_) => "subgroup_partitioned_reduce",
        SubgroupOp::PartitionedInclusiveScan(_) => "subgroup_partitioned_inclusive_scan",
        SubgroupOp::PartitionedExclusiveScan(_) => "subgroup_partitioned_exclusive_scan",
        SubgroupOp::Partition => "subgroup_partition",
    }
}

/// One operation for each name, its attributes at their defaults. The structured operations
/// (`if`, `block`, `loop`, `br`) and `const` have a syntax of their own and are absent.
pub(crate) fn templates() -> Vec<Op> {
    use SubgroupOp as S;
    let var = Var::new(0);
    let mem = MemFlags::default();
    let add = ReduceOp::Iadd;
    let mut ops = vec![
        Op::Fma,
        Op::Select,
        Op::Bitcast,
        Op::VarLoad(var),
        Op::VarStore(var),
        Op::VarComponentLoad(var),
        Op::VarComponentStore(var),
        Op::BufferPtr(Binding::new(0)),
        Op::PushPtr,
        Op::SharedPtr { offset: 0, bytes: 0 },
        Op::PtrAdd { scale: 0, disp: 0 },
        Op::PtrBytesLeft,
        Op::PtrDiff,
        Op::PtrToInt,
        Op::IntToPtr,
        Op::Load(mem),
        Op::Store(mem),
        Op::Barrier(Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup }),
        Op::MatSplat,
        Op::MatLoad { column_major: false, flags: mem },
        Op::MatStore { column_major: false, flags: mem },
        Op::MatMulAdd(MulAddFlags::default()),
        Op::MatScale,
        Op::MatCoordinate,
        Op::MatExtract,
        Op::MatInsert,
        Op::MatTranspose,
        Op::MatRotate,
        Op::MatFromLanes { columns: false },
        Op::MatToLanes { columns: false },
        Op::MatMap { body: Function::ENTRY },
        Op::MatReduce { kind: MatReduceKind::Row, body: Function::ENTRY },
        Op::MatLoadTensor { access: tensor::DEFAULT, decode: None },
        Op::MatStoreTensor(tensor::DEFAULT),
        Op::VecMatMul(vector::MAT_MUL),
        Op::VecOuterAdd(vector::OUTER_ADD),
        Op::VecReduceAdd(var),
        Op::Params,
        Op::Yield,
        Op::Return,
        Op::Decline,
        Op::Printf(0),
        Op::Warn(0),
        Op::Clock,
        Op::Builtin(Builtin::NumWorkgroups(0)),
        Op::Builtin(Builtin::WorkgroupId(0)),
        Op::Builtin(Builtin::LocalInvocationId(0)),
        Op::Builtin(Builtin::GlobalInvocationId(0)),
        Op::Builtin(Builtin::LocalInvocationIndex),
        Op::Builtin(Builtin::SubgroupId),
        Op::Builtin(Builtin::SubgroupLane),
        Op::Builtin(Builtin::Multiprocessor),
        Op::Builtin(Builtin::ResidentSubgroup),
    ];
    ops.extend(UnaryOp::ALL.iter().map(|&op| Op::Unary(op)));
    ops.extend(BinaryOp::ALL.iter().map(|&op| Op::Binary(op)));
    ops.extend(CompareOp::ALL.iter().map(|&op| Op::Compare(op)));
    ops.extend(ConvertKind::ALL.iter().map(|&kind| Op::Convert(ConvertOp::new(kind))));
    ops.extend(AtomicOp::ALL.iter().map(|&op| Op::Atomic(op)));
    let image = [
        ImageOp::Load,
        ImageOp::Store,
        ImageOp::Atomic(AtomicOp::Load),
        ImageOp::Size,
        ImageOp::Levels,
        ImageOp::Sample(sample::DEFAULT),
    ];
    ops.extend(image.map(|op| Op::Image(Binding::new(0), op)));
    let subgroup = [
        S::Elect,
        S::All,
        S::Any,
        S::AllEqual,
        S::Broadcast,
        S::BroadcastFirst,
        S::Ballot,
        S::Shuffle,
        S::Reduce(add, None),
        S::InclusiveScan(add),
        S::ExclusiveScan(add),
        S::PartitionedReduce(add),
        S::PartitionedInclusiveScan(add),
        S::PartitionedExclusiveScan(add),
        S::Partition,
    ];
    ops.extend(subgroup.map(Op::Subgroup));
    ops
}

/// Writes or reads the attributes of an operation, in the order of the calls.
pub(crate) trait Attrs {
    /// What can go wrong.
    type Error;
    /// A variable.
    fn var(&mut self, var: &mut Var) -> Result<(), Self::Error>;
    /// A buffer binding.
    fn binding(&mut self, binding: &mut Binding) -> Result<(), Self::Error>;
    /// A word that is there or not.
    fn flag(&mut self, name: &'static str, on: &mut bool) -> Result<(), Self::Error>;
    /// One word of several.
    fn word<T: Copy + PartialEq>(
        &mut self,
        words: &[(&'static str, T)],
        value: &mut T,
    ) -> Result<(), Self::Error>;
    /// `name=number`, left out when the number is `default`.
    fn number(
        &mut self,
        name: &'static str,
        value: &mut i64,
        default: Option<i64>,
    ) -> Result<(), Self::Error>;
    /// `name=number`, where the number fits 32 bits unsigned.
    fn size(&mut self, name: &'static str, value: &mut u32, default: Option<u32>) -> Result<(), Self::Error>;
}

/// Visits the attributes of an operation.
pub(crate) fn attrs<A: Attrs>(op: &mut Op, a: &mut A) -> Result<(), A::Error> {
    match op {
        Op::Convert(c) => {
            let rounding = Rounding::TowardZero;
            let mut toward_zero = c.rounding == rounding;
            a.flag(rounding.name(), &mut toward_zero)?;
            c.rounding = if toward_zero { rounding } else { Rounding::NearestEven };
            a.flag("saturate", &mut c.saturate)
        }
        Op::Builtin(b) => builtin_attrs(b, a),
        Op::VarLoad(v)
        | Op::VarStore(v)
        | Op::VarComponentLoad(v)
        | Op::VarComponentStore(v)
        | Op::VecReduceAdd(v) => a.var(v),
        Op::BufferPtr(b) => a.binding(b),
        Op::Image(b, op) => {
            a.binding(b)?;
            match op {
                ImageOp::Atomic(op) => {
                    let words: Vec<_> = AtomicOp::ALL.iter().map(|op| (op.name(), *op)).collect();
                    a.word(&words, op)
                }
                ImageOp::Sample(op) => sample::attrs(op, a),
                ImageOp::Load | ImageOp::Store | ImageOp::Size | ImageOp::Levels => Ok(()),
            }
        }
        Op::SharedPtr { offset, bytes } => {
            a.size("offset", offset, None)?;
            a.size("bytes", bytes, None)
        }
        Op::PtrAdd { scale, disp } => {
            a.number("scale", scale, Some(0))?;
            a.number("disp", disp, Some(0))
        }
        Op::Load(flags) | Op::Store(flags) => mem_attrs(flags, a),
        Op::Subgroup(s) => subgroup_attrs(s, a),
        Op::Barrier(b) => {
            let scopes = SCOPES.map(|s| (s.name(), s));
            a.word(&scopes, &mut b.execution)?;
            a.word(&scopes, &mut b.memory)
        }
        Op::MatLoad { column_major, flags } | Op::MatStore { column_major, flags } => {
            a.flag("column_major", column_major)?;
            mem_attrs(flags, a)
        }
        Op::MatMulAdd(m) => {
            a.flag("a_signed", &mut m.a_signed)?;
            a.flag("b_signed", &mut m.b_signed)?;
            a.flag("c_signed", &mut m.c_signed)?;
            a.flag("result_signed", &mut m.result_signed)?;
            a.flag("saturate", &mut m.saturate)?;
            a.flag("relaxed", &mut m.relaxed)?;
            a.size("step", &mut m.step, Some(0))
        }
        Op::MatFromLanes { columns } | Op::MatToLanes { columns } => a.flag("columns", columns),
        Op::MatReduce { kind, .. } => tensor::reduce_attrs(kind, a),
        Op::MatLoadTensor { access, decode } => {
            tensor::attrs(access, a)?;
            let mut decodes = decode.is_some();
            a.flag("decode", &mut decodes)?;
            *decode = decodes.then_some(decode.unwrap_or(Function::ENTRY));
            Ok(())
        }
        Op::MatStoreTensor(access) => tensor::attrs(access, a),
        Op::VecMatMul(op) => vector::mat_mul_attrs(op, a),
        Op::VecOuterAdd(op) => vector::outer_add_attrs(op, a),
        Op::Printf(format) | Op::Warn(format) => a.size("format", format, None),
        Op::Const(_)
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Fma
        | Op::Select
        | Op::Bitcast
        | Op::PushPtr
        | Op::PtrBytesLeft
        | Op::PtrDiff
        | Op::PtrToInt
        | Op::IntToPtr
        | Op::Atomic(_)
        | Op::MatSplat
        | Op::MatScale
        | Op::MatCoordinate
        | Op::MatExtract
        | Op::MatInsert
        | Op::MatTranspose
        | Op::MatRotate
        | Op::MatMap { .. }
        | Op::Params
        | Op::Yield
        | Op::If { .. }
        | Op::Block { .. }
        | Op::Loop { .. }
        | Op::Br(_)
        | Op::Return
        | Op::Decline
        | Op::Clock => Ok(()),
    }
}

fn mem_attrs<A: Attrs>(flags: &mut MemFlags, a: &mut A) -> Result<(), A::Error> {
    a.flag("volatile", &mut flags.volatile)?;
    a.flag("nontemporal", &mut flags.nontemporal)
}

fn builtin_attrs<A: Attrs>(op: &mut Builtin, a: &mut A) -> Result<(), A::Error> {
    match op {
        Builtin::NumWorkgroups(axis)
        | Builtin::WorkgroupId(axis)
        | Builtin::LocalInvocationId(axis)
        | Builtin::GlobalInvocationId(axis) => a.word(&[("x", 0), ("y", 1), ("z", 2)], axis),
        Builtin::LocalInvocationIndex
        | Builtin::SubgroupId
        | Builtin::SubgroupLane
        | Builtin::Multiprocessor
        | Builtin::ResidentSubgroup => Ok(()),
    }
}

fn subgroup_attrs<A: Attrs>(op: &mut SubgroupOp, a: &mut A) -> Result<(), A::Error> {
    let mut reduce = |op: &mut ReduceOp| {
        let words: Vec<_> = ReduceOp::ALL.iter().map(|op| (op.name(), *op)).collect();
        a.word(&words, op)
    };
    match op {
        SubgroupOp::Reduce(op, cluster) => {
            reduce(op)?;
            let mut size = cluster.unwrap_or(0);
            a.size("cluster", &mut size, Some(0))?;
            *cluster = (size != 0).then_some(size);
            Ok(())
        }
        SubgroupOp::InclusiveScan(op)
        | SubgroupOp::ExclusiveScan(op)
        | SubgroupOp::PartitionedReduce(op)
        | SubgroupOp::PartitionedInclusiveScan(op)
        | SubgroupOp::PartitionedExclusiveScan(op) => reduce(op),
        SubgroupOp::Elect
        | SubgroupOp::All
        | SubgroupOp::Any
        | SubgroupOp::AllEqual
        | SubgroupOp::Broadcast
        | SubgroupOp::BroadcastFirst
        | SubgroupOp::Ballot
        | SubgroupOp::Shuffle
        | SubgroupOp::Partition => Ok(()),
    }
}
