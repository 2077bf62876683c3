//! Builds a shader out of single instructions and checks the result of each.
//!
//! A case is an instruction and its result per component. Types and constants are declared when
//! they are named: `%u32`, `%v3f16`, `%m2x3f32` (two columns of three), and whatever [`Shader::c`]
//! gives. A result's component goes to a slot of 8 bytes, one for each invocation, through a view of
//! the output that has the component's type.

#![expect(clippy::panic, reason = "a check that fails panics")]

use phalanx_front_spirv::{Diagnostics, Options, translate};
use phalanx_interp::{Limits, Memory};
use phalanx_ir::{Module, Scalar, eval};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Device address of the buffer `%data`.
pub(crate) const DATA_ADDRESS: u64 = 0x1_0000_0000;

/// What a component must be.
#[derive(Clone, Copy, Debug)]
enum Want {
    Bits(u64),
    /// A float of this type within a distance.
    Near(Scalar, f64, f64),
}

/// A stored component: its slot is its index in the list.
struct Slot {
    line: String,
    /// One for all invocations, or one for each.
    want: Vec<Want>,
}

/// A shader under construction.
pub(crate) struct Shader {
    lanes: u32,
    subgroup_size: u32,
    capabilities: String,
    globals: String,
    declared: BTreeSet<String>,
    body: String,
    ids: usize,
    slots: Vec<Slot>,
    /// What buffer `%data` (binding 0, words of 32 bits) holds.
    pub(crate) data: Vec<u32>,
    /// Decorations and names.
    pub(crate) annotations: String,
    /// Addressing model.
    pub(crate) addressing: &'static str,
    /// The text of `%format`, if `%printf` is imported.
    pub(crate) print: Option<String>,
}

impl Shader {
    /// A shader of one invocation.
    pub(crate) fn new() -> Self {
        Self::with_lanes(1, 32)
    }

    /// A shader whose work-group has `lanes` invocations, in subgroups of `subgroup_size`. The id
    /// `%lane` is the index of the invocation.
    pub(crate) fn with_lanes(lanes: u32, subgroup_size: u32) -> Self {
        let mut shader = Self {
            lanes,
            subgroup_size,
            capabilities: String::new(),
            globals: String::new(),
            declared: BTreeSet::new(),
            body: String::new(),
            ids: 0,
            slots: Vec::new(),
            data: vec![0; 64],
            annotations: String::new(),
            addressing: "Logical",
            print: None,
        };
        shader.declare_names("%u32 %void");
        shader
    }

    /// Adds a line to the constants and types.
    pub(crate) fn global(&mut self, line: &str) {
        self.declare_names(line.split_once('=').map_or(line, |(_, rhs)| rhs));
        writeln!(self.globals, "{line}").expect("a string takes everything");
    }

    /// Adds a capability.
    pub(crate) fn capability(&mut self, name: &str) {
        writeln!(self.capabilities, "OpCapability {name}").expect("a string takes everything");
    }

    /// A scalar constant by its bits: an id.
    pub(crate) fn c(&mut self, ty: &str, bits: u64) -> String {
        let name = format!("%c_{ty}_{bits:x}");
        if self.declared.insert(name.clone()) {
            self.declare(&format!("%{ty}"));
            let line = match ty {
                "bool" if bits == 0 => format!("{name} = OpConstantFalse %bool"),
                "bool" => format!("{name} = OpConstantTrue %bool"),
                _ => format!("{name} = OpConstant %{ty} {}", literal(ty, bits)),
            };
            self.globals += &(line + "\n");
        }
        name
    }

    /// A float constant.
    pub(crate) fn f(&mut self, ty: &str, x: f64) -> String {
        let bits = eval::from_f64(scalar(ty), x);
        self.c(ty, bits)
    }

    /// A composite constant.
    pub(crate) fn composite(&mut self, ty: &str, parts: &[String]) -> String {
        self.declare(&format!("%{ty}"));
        let name = self.fresh();
        self.globals += &format!("{name} = OpConstantComposite %{ty} {}\n", parts.join(" "));
        name
    }

    /// A composite constant of a type declared by hand, made from one scalar.
    pub(crate) fn composite_of(&mut self, ty: &str, part: &str) -> String {
        self.composite(ty, &[part.to_owned()])
    }

    /// A vector of floats: of `f32` if `ty` is `v3f32`.
    pub(crate) fn fv(&mut self, ty: &str, parts: &[f64]) -> String {
        let elem = &ty[2..];
        let parts: Vec<String> = parts.iter().map(|&x| self.f(elem, x)).collect();
        self.composite(ty, &parts)
    }

    /// A vector of integers by their bits.
    pub(crate) fn iv(&mut self, ty: &str, parts: &[u64]) -> String {
        let elem = &ty[2..];
        let parts: Vec<String> = parts.iter().map(|&x| self.c(elem, x)).collect();
        self.composite(ty, &parts)
    }

    /// An unused id.
    pub(crate) fn fresh(&mut self) -> String {
        self.ids += 1;
        format!("%x{}", self.ids)
    }

    /// Adds a line to the body as it stands.
    pub(crate) fn line(&mut self, line: &str) {
        self.declare_names(line.split_once('=').map_or(line, |(_, rhs)| rhs));
        writeln!(self.body, "{line}").expect("a string takes everything");
    }

    /// Adds an instruction, without its result: the id of that.
    pub(crate) fn op(&mut self, inst: &str) -> String {
        let id = self.fresh();
        self.line(&format!("{id} = {inst}"));
        id
    }

    /// Adds an instruction with a scalar or vector as result, and the bits it must give.
    pub(crate) fn bits(&mut self, inst: &str, want: &[u64]) {
        let want: Vec<Want> = want.iter().map(|&bits| Want::Bits(bits)).collect();
        self.case(inst, &want);
    }

    /// The same, with a truth value as result.
    pub(crate) fn truth(&mut self, inst: &str, want: bool) {
        self.bits(inst, &[want.into()]);
    }

    /// The same, with floats that the type can represent.
    pub(crate) fn exactly(&mut self, inst: &str, want: &[f64]) {
        let ty = scalar(&self.component_of(inst));
        let want: Vec<Want> = want.iter().map(|&x| Want::Bits(eval::from_f64(ty, x))).collect();
        self.case(inst, &want);
    }

    /// The same, with floats that may differ by `by`.
    pub(crate) fn near(&mut self, inst: &str, want: &[f64], by: f64) {
        let ty = scalar(&self.component_of(inst));
        let want: Vec<Want> = want.iter().map(|&x| Want::Near(ty, x, by)).collect();
        self.case(inst, &want);
    }

    /// Adds an instruction with a scalar as result, and the bits it must give each invocation.
    pub(crate) fn lanes(&mut self, inst: &str, want: impl Fn(u64) -> u64) {
        let ty = result_type(inst).to_owned();
        let id = self.op(inst);
        let want = (0..self.lanes).map(|lane| Want::Bits(want(lane.into()))).collect();
        self.store(inst, &ty, &id, want);
    }

    /// Adds an instruction and checks one part of its result, which has type `ty`.
    pub(crate) fn part(&mut self, composite: &str, path: &str, ty: &str, bits: u64) {
        self.bits(&format!("OpCompositeExtract %{ty} {composite} {path}"), &[bits]);
    }

    fn component_of(&self, inst: &str) -> String {
        let ty = result_type(inst);
        ty.strip_prefix('v').map_or(ty, |rest| &rest[1..]).to_owned()
    }

    fn case(&mut self, inst: &str, want: &[Want]) {
        let ty = result_type(inst).to_owned();
        let id = self.op(inst);
        if want.len() == 1 {
            return self.store(inst, &ty, &id, vec![want[0]]);
        }
        let elem = self.component_of(inst);
        for (i, &want) in want.iter().enumerate() {
            let part = self.op(&format!("OpCompositeExtract %{elem} {id} {i}"));
            self.store(&format!("{inst} [{i}]"), &elem, &part, vec![want]);
        }
    }

    fn store(&mut self, line: &str, ty: &str, id: &str, want: Vec<Want>) {
        let (ty, id) = match ty {
            "bool" => {
                let (one, zero) = (self.c("u32", 1), self.c("u32", 0));
                ("u32", self.op(&format!("OpSelect %u32 {id} {one} {zero}")))
            }
            _ => (ty, id.to_owned()),
        };
        self.declare(&format!("%out_{ty}"));
        let (zero, base) =
            (self.c("u32", 0), self.c("u32", (self.slots.len() as u64) * u64::from(self.lanes)));
        let index = self.op(&format!("OpIAdd %u32 {base} %lane"));
        let p = self.op(&format!("OpAccessChain %ptr_out_{ty} %out_{ty} {zero} {index}"));
        self.line(&format!("OpStore {p} {id}"));
        self.slots.push(Slot { line: line.to_owned(), want });
    }

    /// Declares the types and views that a line names.
    fn declare_names(&mut self, line: &str) {
        for word in line.split_whitespace() {
            self.declare(word);
        }
    }

    fn declare(&mut self, name: &str) {
        let Some(ty) = name.strip_prefix('%') else { return };
        if self.declared.contains(name) {
            return;
        }
        let line = match ty {
            "void" => "OpTypeVoid".to_owned(),
            "bool" => "OpTypeBool".to_owned(),
            "bf16" => "OpTypeFloat 16 BFloat16KHR".to_owned(),
            "e4m3" => "OpTypeFloat 8 Float8E4M3EXT".to_owned(),
            "e5m2" => "OpTypeFloat 8 Float8E5M2EXT".to_owned(),
            _ if ty.strip_prefix("out_").is_some() => return self.declare_view(&ty["out_".len()..]),
            _ => match (ty.as_bytes().first(), ty.get(1..).unwrap_or_default()) {
                (Some(b'u'), bits @ ("8" | "16" | "32" | "64")) => format!("OpTypeInt {bits} 0"),
                (Some(b'i'), bits @ ("8" | "16" | "32" | "64")) => format!("OpTypeInt {bits} 1"),
                (Some(b'f'), bits @ ("16" | "32" | "64")) => format!("OpTypeFloat {bits}"),
                (Some(b'v'), rest) if rest.len() > 1 && rest.as_bytes()[0].is_ascii_digit() => {
                    let (n, elem) = rest.split_at(1);
                    self.declare(&format!("%{elem}"));
                    format!("OpTypeVector %{elem} {n}")
                }
                (Some(b'm'), rest) if rest.len() > 4 && rest.as_bytes()[1] == b'x' => {
                    let (columns, rest) = rest.split_at(1);
                    self.declare(&format!("%v{}", &rest[1..]));
                    format!("OpTypeMatrix %v{} {columns}", &rest[1..])
                }
                _ => return,
            },
        };
        self.declared.insert(name.to_owned());
        self.globals += &format!("{name} = {line}\n");
    }

    fn declare_view(&mut self, ty: &str) {
        self.declared.insert(format!("%out_{ty}"));
        self.declare(&format!("%{ty}"));
        let binding = 1 + VIEWS.iter().position(|v| *v == ty).expect("a view of the output");
        self.annotations += &format!(
            "OpDecorate %out_{ty} DescriptorSet 0\nOpDecorate %out_{ty} Binding {binding}\n\
             OpDecorate %out_struct_{ty} Block\nOpMemberDecorate %out_struct_{ty} 0 Offset 0\n\
             OpDecorate %out_array_{ty} ArrayStride 8\n"
        );
        self.globals += &format!(
            "%out_array_{ty} = OpTypeRuntimeArray %{ty}\n\
             %out_struct_{ty} = OpTypeStruct %out_array_{ty}\n\
             %ptr_out_struct_{ty} = OpTypePointer StorageBuffer %out_struct_{ty}\n\
             %ptr_out_{ty} = OpTypePointer StorageBuffer %{ty}\n\
             %out_{ty} = OpVariable %ptr_out_struct_{ty} StorageBuffer\n"
        );
    }

    /// The text of the module.
    pub(crate) fn text(&self) -> String {
        let lanes = self.lanes;
        let (import, format) = match &self.print {
            None => ("", String::new()),
            Some(format) => (
                "%printf = OpExtInstImport \"NonSemantic.DebugPrintf\"\n",
                format!("%format = OpString \"{format}\"\n"),
            ),
        };
        format!(
            "OpCapability Shader\nOpCapability VulkanMemoryModel\n{}\
             {import}%glsl = OpExtInstImport \"GLSL.std.450\"\n\
             OpMemoryModel {} Vulkan\n\
             OpEntryPoint GLCompute %main \"main\" %local_index\n\
             OpExecutionMode %main LocalSize {lanes} 1 1\n{format}\
             OpDecorate %local_index BuiltIn LocalInvocationIndex\n\
             OpDecorate %data DescriptorSet 0\nOpDecorate %data Binding 0\n\
             OpDecorate %data_struct Block\nOpMemberDecorate %data_struct 0 Offset 0\n\
             OpDecorate %data_array ArrayStride 4\n{}\
             {}\
             %data_array = OpTypeRuntimeArray %u32\n\
             %data_struct = OpTypeStruct %data_array\n\
             %ptr_data_struct = OpTypePointer StorageBuffer %data_struct\n\
             %ptr_data = OpTypePointer StorageBuffer %u32\n\
             %data = OpVariable %ptr_data_struct StorageBuffer\n\
             %ptr_input = OpTypePointer Input %u32\n\
             %local_index = OpVariable %ptr_input Input\n\
             %main_type = OpTypeFunction %void\n\
             %main = OpFunction %void None %main_type\n\
             %entry = OpLabel\n\
             %lane = OpLoad %u32 %local_index\n\
             {}\
             OpReturn\n\
             OpFunctionEnd\n",
            self.capabilities, self.addressing, self.annotations, self.globals, self.body
        )
    }

    fn assemble(&self) -> Vec<u32> {
        let text = self.text();
        phalanx_spirv_asm::assemble(&text).unwrap_or_else(|e| panic!("{e}\n{}", numbered(&text)))
    }

    fn options(&self) -> Options<'static> {
        Options { subgroup_size: self.subgroup_size, ..Options::default() }
    }

    /// Translates the module.
    pub(crate) fn translate(&self) -> Result<Module, Diagnostics> {
        translate(&self.assemble(), &self.options())
    }

    /// Runs the shader, checks every case, damages the module, and gives the contents of `%data`.
    pub(crate) fn run(&self) -> Vec<u32> {
        self.run_with_output().0
    }

    /// The same, and the lines printed.
    pub(crate) fn run_with_output(&self) -> (Vec<u32>, Vec<String>) {
        let module = self.translate().unwrap_or_else(|e| panic!("{e}\n{}", numbered(&self.text())));
        let bindings = module.bindings.clone();
        let module = phalanx_ir::verify(module).unwrap_or_else(|e| panic!("{e}"));
        let mut out = vec![0u8; self.slots.len() * self.lanes as usize * 8];
        let mut data: Vec<u8> = self.data.iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut memory = Memory::new();
        let (out_id, data_id) = (memory.add_buffer(&mut out, 0), memory.add_buffer(&mut data, DATA_ADDRESS));
        for (i, b) in bindings.iter().enumerate() {
            let buffer = if b.binding == 0 { data_id } else { out_id };
            memory.bind_buffer(phalanx_ir::Binding::new(i), buffer);
        }
        let report = phalanx_interp::run(&module, &mut memory, [1; 3], [0; 3], &Limits::default())
            .unwrap_or_else(|e| panic!("{e}"));
        self.check(&out);
        crate::mutate::mutate(&self.assemble(), &self.options());
        let data = data.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
        (data, report.output)
    }

    fn check(&self, out: &[u8]) {
        let found: Vec<u64> = out.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
        let mut wrong = String::new();
        for (slot, found) in self.slots.iter().zip(found.chunks(self.lanes as usize)) {
            for (lane, &found) in found.iter().enumerate() {
                let want = slot.want.get(lane).unwrap_or(&slot.want[0]);
                let fits = match *want {
                    Want::Bits(bits) => bits == found,
                    Want::Near(ty, x, by) => (eval::to_f64(ty, found) - x).abs() <= by,
                };
                if !fits {
                    writeln!(wrong, "{} lane {lane}: found {found:#x}, expected {want:x?}", slot.line)
                        .expect("a string takes everything");
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    }
}

/// The message with which the translation fails.
pub(crate) fn refused(shader: &Shader) -> String {
    match shader.translate() {
        Ok(_) => panic!("translated:\n{}", shader.text()),
        Err(e) => e.to_string(),
    }
}

/// Scalars that results may have, each a view of the output.
const VIEWS: [&str; 14] =
    ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "bf16", "e4m3", "e5m2"];

/// The name of the result type of an instruction, without its percent sign.
fn result_type(inst: &str) -> &str {
    inst.split_whitespace().nth(1).and_then(|ty| ty.strip_prefix('%')).expect("a result type")
}

fn scalar(ty: &str) -> Scalar {
    match ty {
        "f16" => Scalar::F16,
        "f64" => Scalar::F64,
        "bf16" => Scalar::BF16,
        "e4m3" => Scalar::E4M3,
        "e5m2" => Scalar::E5M2,
        _ => Scalar::F32,
    }
}

/// A number as the assembler reads it for a type.
fn literal(ty: &str, bits: u64) -> String {
    match ty {
        "i8" => (bits as u8 as i8).to_string(),
        "i16" => (bits as u16 as i16).to_string(),
        "i32" => (bits as u32 as i32).to_string(),
        "i64" => (bits as i64).to_string(),
        // The assembler takes floats with an encoding by their bits.
        "bf16" | "e4m3" | "e5m2" => bits.to_string(),
        _ if ty.starts_with('u') => bits.to_string(),
        _ => format!("{:?}", eval::to_f64(scalar(ty), bits)),
    }
}

fn numbered(text: &str) -> String {
    text.lines().enumerate().map(|(i, l)| format!("{:4} {l}\n", i + 1)).collect()
}
