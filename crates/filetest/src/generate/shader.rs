//! The SPIR-V of a kernel, as text. Types, constants and views of the buffers are declared when they
//! are named.
//!
//! The operands lie in a buffer that is bound, and the results in one whose address is a push constant:
//! code to store within bounds would be most of the code. Each is seen through one array per type, and an
//! operand or a result is a piece of that array.

use super::value::Ty;
use phalanx_ir::Scalar;
use phalanx_ir::eval::to_f64;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A shader under construction.
#[derive(Debug, Default)]
pub(super) struct Shader {
    extensions: BTreeSet<&'static str>,
    capabilities: BTreeSet<&'static str>,
    annotations: String,
    globals: String,
    declared: BTreeSet<String>,
    /// Variables of the function, which stand before everything else in it.
    locals: String,
    /// The results, as arrays.
    views: String,
    body: String,
    ids: usize,
}

impl Shader {
    pub(super) fn new() -> Self {
        let mut shader = Self::default();
        shader.ty(Ty::new(Scalar::I32, 3));
        shader.ty(Ty::scalar(Scalar::I64));
        shader.int(0);
        shader.int(1);
        shader
    }

    /// Adds a capability, and the extension that it comes from.
    pub(super) fn needs(&mut self, capability: &'static str, extension: &'static str) {
        self.capabilities.insert(capability);
        if !extension.is_empty() {
            self.extensions.insert(extension);
        }
    }

    /// An unused id.
    pub(super) fn fresh(&mut self) -> String {
        self.ids += 1;
        format!("%x{}", self.ids)
    }

    /// Adds a line.
    pub(super) fn line(&mut self, line: &str) {
        self.body += line;
        self.body.push('\n');
    }

    /// Adds an instruction with a result, and gives its id.
    pub(super) fn op(&mut self, inst: &str) -> String {
        let id = self.fresh();
        let _ = writeln!(self.body, "{id} = {inst}");
        id
    }

    /// A variable of the function.
    pub(super) fn local(&mut self, ty: Ty) -> String {
        let (id, variable) = (self.ty(ty), self.fresh());
        let pointer = self.global(&format!("%local_{ty}"), &format!("OpTypePointer Function {id}"));
        let _ = writeln!(self.locals, "{variable} = OpVariable {pointer} Function");
        variable
    }

    /// A variable in shared memory.
    pub(super) fn shared(&mut self, ty: Ty) -> String {
        let (id, number) = (self.ty(ty), self.fresh());
        let pointer = self.global(&format!("%wptr_{ty}"), &format!("OpTypePointer Workgroup {id}"));
        self.global(&format!("%shared_{}", &number[1..]), &format!("OpVariable {pointer} Workgroup"))
    }

    /// A pointer to a scalar among the operands.
    pub(super) fn cell(&mut self, scalar: Scalar, offset: usize) -> String {
        let index = self.int((offset / scalar.bytes() as usize) as u64);
        self.operand(scalar, &index)
    }

    /// Decorates an id.
    pub(super) fn decorate(&mut self, id: &str, decoration: &str) {
        let _ = writeln!(self.annotations, "OpDecorate {id} {decoration}");
    }

    /// Adds a declaration of this name, once.
    pub(super) fn global(&mut self, name: &str, inst: &str) -> String {
        if self.declared.insert(name.to_owned()) {
            let _ = writeln!(self.globals, "{name} = {inst}");
        }
        name.to_owned()
    }

    /// A type.
    pub(super) fn ty(&mut self, ty: Ty) -> String {
        let name = format!("%{ty}");
        if self.declared.contains(&name) {
            return name;
        }
        if ty.n > 1 {
            let part = self.ty(Ty::scalar(ty.scalar));
            if ty.n > 4 {
                self.needs("LongVectorEXT", "SPV_EXT_long_vector");
                let n = self.int(ty.n.into());
                return self.global(&name, &format!("OpTypeVectorIdEXT {part} {n}"));
            }
            return self.global(&name, &format!("OpTypeVector {part} {}", ty.n));
        }
        let inst = match ty.scalar {
            Scalar::Bool => "OpTypeBool",
            Scalar::I8 => "OpTypeInt 8 0",
            Scalar::I16 => "OpTypeInt 16 0",
            Scalar::I32 => "OpTypeInt 32 0",
            Scalar::I64 => "OpTypeInt 64 0",
            Scalar::F16 => "OpTypeFloat 16",
            Scalar::F32 => "OpTypeFloat 32",
            Scalar::F64 => "OpTypeFloat 64",
            Scalar::BF16 => "OpTypeFloat 16 BFloat16KHR",
            Scalar::E4M3 => "OpTypeFloat 8 Float8E4M3EXT",
            Scalar::E5M2 => "OpTypeFloat 8 Float8E5M2EXT",
        };
        match ty.scalar {
            Scalar::I8 => ["Int8", "StorageBuffer8BitAccess"].map(|c| self.needs(c, "")),
            Scalar::I16 => ["Int16", "StorageBuffer16BitAccess"].map(|c| self.needs(c, "")),
            Scalar::F16 => ["Float16", "StorageBuffer16BitAccess"].map(|c| self.needs(c, "")),
            Scalar::BF16 => {
                ["BFloat16TypeKHR", "StorageBuffer16BitAccess"].map(|c| self.needs(c, "SPV_KHR_bfloat16"))
            }
            Scalar::E4M3 | Scalar::E5M2 => {
                ["Float8EXT", "StorageBuffer8BitAccess"].map(|c| self.needs(c, "SPV_EXT_float8"))
            }
            Scalar::I64 => ["Int64", "Shader"].map(|c| self.needs(c, "")),
            Scalar::F64 => ["Float64", "Shader"].map(|c| self.needs(c, "")),
            Scalar::Bool | Scalar::I32 | Scalar::F32 => [(); 2],
        };
        self.global(&name, inst)
    }

    /// A scalar constant by its bits.
    pub(super) fn constant(&mut self, scalar: Scalar, bits: u64) -> String {
        let ty = self.ty(Ty::scalar(scalar));
        let name = format!("%c_{scalar}_{bits:x}");
        let inst = match scalar {
            Scalar::Bool if bits == 0 => format!("OpConstantFalse {ty}"),
            Scalar::Bool => format!("OpConstantTrue {ty}"),
            Scalar::F16 | Scalar::F32 | Scalar::F64 => {
                format!("OpConstant {ty} {:?}", to_f64(scalar, bits))
            }
            _ => format!("OpConstant {ty} {bits}"),
        };
        self.global(&name, &inst)
    }

    /// A constant of type `i32`.
    pub(super) fn int(&mut self, x: u64) -> String {
        self.constant(Scalar::I32, x)
    }

    /// A vector constant of parts, or the one part.
    pub(super) fn composite(&mut self, ty: Ty, parts: &[u64]) -> String {
        let ids: Vec<_> = parts.iter().map(|&bits| self.constant(ty.scalar, bits)).collect();
        if ty.n == 1 {
            return ids[0].clone();
        }
        let name = format!("%k_{ty}_{}", ids.iter().map(|id| &id[3..]).collect::<Vec<_>>().join("_"));
        let id = self.ty(ty);
        self.global(&name, &format!("OpConstantComposite {id} {}", ids.join(" ")))
    }

    /// A number in every part.
    pub(super) fn splat(&mut self, ty: Ty, bits: u64) -> String {
        self.composite(ty, &vec![bits; ty.n as usize])
    }

    /// The pieces of a value.
    pub(super) fn parts(&mut self, ty: Ty, id: &str) -> Vec<String> {
        if ty.n == 1 {
            return vec![id.to_owned()];
        }
        let part = self.ty(Ty::scalar(ty.scalar));
        (0..ty.n).map(|i| self.op(&format!("OpCompositeExtract {part} {id} {i}"))).collect()
    }

    /// A pointer to an element of the operands, seen as an array.
    fn operand(&mut self, scalar: Scalar, index: &str) -> String {
        let id = self.ty(Ty::scalar(scalar));
        if self.declared.insert(format!("%buf_{scalar}")) {
            let _ = write!(
                self.annotations,
                "OpDecorate %buf_{scalar} DescriptorSet 0\nOpDecorate %buf_{scalar} Binding 0\n\
                 OpDecorate %buf_{scalar} Aliased\n"
            );
            let _ = writeln!(self.globals, "%ptr_{scalar} = OpTypePointer StorageBuffer {id}");
            let array = self.array(scalar);
            let _ = write!(
                self.globals,
                "%sptr_{scalar} = OpTypePointer StorageBuffer {array}\n\
                 %buf_{scalar} = OpVariable %sptr_{scalar} StorageBuffer\n"
            );
        }
        let zero = self.int(0);
        self.op(&format!("OpAccessChain %ptr_{scalar} %buf_{scalar} {zero} {index}"))
    }

    /// A pointer to an element of the results.
    fn result(&mut self, scalar: Scalar, index: &str) -> String {
        let id = self.ty(Ty::scalar(scalar));
        if self.declared.insert(format!("%results_{scalar}")) {
            let array = self.array(scalar);
            let _ = write!(
                self.globals,
                "%rptr_{scalar} = OpTypePointer PhysicalStorageBuffer {id}\n\
                 %rsptr_{scalar} = OpTypePointer PhysicalStorageBuffer {array}\n"
            );
            let _ = writeln!(self.views, "%results_{scalar} = OpConvertUToPtr %rsptr_{scalar} %results");
        }
        let zero = self.int(0);
        self.op(&format!("OpAccessChain %rptr_{scalar} %results_{scalar} {zero} {index}"))
    }

    /// A pointer to the first of the elements that the subgroup stores for itself.
    pub(super) fn own_result(&mut self, ty: Ty, offset: usize) -> String {
        let (n, first) = (self.int(ty.n.into()), self.int((offset / ty.scalar.bytes() as usize) as u64));
        let start = self.op(&format!("OpIMul %i32 %subgroup {n}"));
        let index = self.op(&format!("OpIAdd %i32 {first} {start}"));
        self.result(ty.scalar, &index)
    }

    /// A structure of an array.
    fn array(&mut self, scalar: Scalar) -> String {
        let name = format!("%struct_{scalar}");
        if self.declared.insert(name.clone()) {
            let _ = write!(
                self.annotations,
                "OpDecorate {name} Block\nOpMemberDecorate {name} 0 Offset 0\n\
                 OpDecorate %array_{scalar} ArrayStride {}\n",
                scalar.bytes()
            );
            let _ = writeln!(
                self.globals,
                "%array_{scalar} = OpTypeRuntimeArray %{scalar}\n{name} = OpTypeStruct %array_{scalar}"
            );
        }
        name
    }

    /// Reads a value whose parts lie `count` apart, behind the offset in bytes.
    pub(super) fn load(&mut self, ty: Ty, offset: usize, count: usize, index: &str) -> String {
        let (stored, id) = (ty.stored(), self.ty(ty.stored()));
        let part = self.ty(Ty::scalar(stored.scalar));
        let parts: Vec<_> = (0..ty.n)
            .map(|i| {
                let index = self.index(stored.scalar, offset, i as usize * count, index);
                let pointer = self.operand(stored.scalar, &index);
                self.op(&format!("OpLoad {part} {pointer}"))
            })
            .collect();
        let word = match &parts[..] {
            [only] => only.clone(),
            _ => self.op(&format!("OpCompositeConstruct {id} {}", parts.join(" "))),
        };
        if ty.scalar != Scalar::Bool {
            return word;
        }
        let (truth, zero) = (self.ty(ty), self.splat(stored, 0));
        self.op(&format!("OpINotEqual {truth} {word} {zero}"))
    }

    /// Writes a result, as [`Self::load`] reads an operand.
    pub(super) fn store(&mut self, ty: Ty, offset: usize, count: usize, index: &str, value: &str) {
        let stored = ty.stored();
        let value = if ty.scalar == Scalar::Bool {
            let (id, one, zero) = (self.ty(stored), self.splat(stored, 1), self.splat(stored, 0));
            self.op(&format!("OpSelect {id} {value} {one} {zero}"))
        } else {
            value.to_owned()
        };
        for (i, part) in self.parts(stored, &value).iter().enumerate() {
            let index = self.index(stored.scalar, offset, i * count, index);
            let pointer = self.result(stored.scalar, &index);
            self.line(&format!("OpStore {pointer} {part} Aligned {}", stored.scalar.bytes()));
        }
    }

    fn index(&mut self, scalar: Scalar, offset: usize, more: usize, index: &str) -> String {
        let first = self.int((offset / scalar.bytes() as usize + more) as u64);
        self.op(&format!("OpIAdd %i32 {first} {index}"))
    }

    /// The whole module, for a work-group of this size.
    pub(super) fn text(&self, invocations: u32) -> String {
        let extensions: String = self.extensions.iter().map(|e| format!("OpExtension \"{e}\"\n")).collect();
        let capabilities: String = self.capabilities.iter().map(|c| format!("OpCapability {c}\n")).collect();
        format!(
            "OpCapability Shader\nOpCapability GroupNonUniform\nOpCapability VulkanMemoryModel\n\
             OpCapability PhysicalStorageBufferAddresses\n{capabilities}{extensions}\
             %glsl = OpExtInstImport \"GLSL.std.450\"\n\
             OpMemoryModel PhysicalStorageBuffer64 Vulkan\n\
             OpEntryPoint GLCompute %main \"main\" %global_id %group_id %lane_id %subgroup_id %subgroup_count %push{interface}\n\
             OpExecutionMode %main LocalSize {invocations} 1 1\n\
             OpDecorate %global_id BuiltIn GlobalInvocationId\nOpDecorate %group_id BuiltIn WorkgroupId\n\
             OpDecorate %lane_id BuiltIn SubgroupLocalInvocationId\n\
             OpDecorate %subgroup_id BuiltIn SubgroupId\nOpDecorate %subgroup_count BuiltIn NumSubgroups\n\
             OpDecorate %addresses Block\nOpMemberDecorate %addresses 0 Offset 0\n\
             OpMemberDecorate %addresses 1 Offset 8\n{annotations}\
             %void = OpTypeVoid\n{globals}\
             %ptr_ids = OpTypePointer Input %v3i32\n%ptr_lane = OpTypePointer Input %i32\n\
             %global_id = OpVariable %ptr_ids Input\n%group_id = OpVariable %ptr_ids Input\n\
             %lane_id = OpVariable %ptr_lane Input\n%subgroup_id = OpVariable %ptr_lane Input\n\
             %subgroup_count = OpVariable %ptr_lane Input\n%addresses = OpTypeStruct %i64 %i64\n\
             %ptr_push = OpTypePointer PushConstant %addresses\n%ptr_address = OpTypePointer PushConstant %i64\n\
             %push = OpVariable %ptr_push PushConstant\n\
             %main_type = OpTypeFunction %void\n%main = OpFunction %void None %main_type\n%entry = OpLabel\n{locals}\
             %global_ids = OpLoad %v3i32 %global_id\n%gid = OpCompositeExtract %i32 %global_ids 0\n\
             %group_ids = OpLoad %v3i32 %group_id\n%wg = OpCompositeExtract %i32 %group_ids 0\n\
             %lane = OpLoad %i32 %lane_id\n\
             %own = OpLoad %i32 %subgroup_id\n%count = OpLoad %i32 %subgroup_count\n\
             %before = OpIMul %i32 %wg %count\n%subgroup = OpIAdd %i32 %before %own\n\
             %address = OpAccessChain %ptr_address %push %c_i32_1\n%results = OpLoad %i64 %address\n{views}{body}OpReturn\nOpFunctionEnd\n",
            annotations = self.annotations,
            globals = self.globals,
            locals = self.locals,
            views = self.views,
            body = self.body,
            interface = self
                .declared
                .iter()
                .filter(|name| ["%buf_", "%shared_"].iter().any(|p| name.starts_with(p)))
                .fold(String::new(), |all, name| all + " " + name),
        )
    }
}
