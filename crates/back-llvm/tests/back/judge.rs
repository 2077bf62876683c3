//! Judges an object: what it asks of its loader, and which instructions it has.
//!
//! Code for aarch64 is taken apart by LLVM's disassembler, made for exactly the processor: where a word is no
//! instruction of it, that is a finding. For x86 neither LLVM's disassembler nor its assembler looks at features, so
//! there another decoder says to which feature each instruction belongs, and what belongs to none that the processor
//! has is a finding.

use iced_x86::{Code, CpuidFeature, Decoder, DecoderOptions, Instruction};
use inkwell::llvm_sys::disassembler::{
    LLVMCreateDisasmCPUFeatures, LLVMDisasmDispose, LLVMDisasmInstruction,
};
use phalanx_back_llvm::Target;
use phalanx_kernels::Arch;
use std::collections::BTreeSet;
use std::ffi::{CString, c_char};

/// The functions that a loader offers; all else that code calls is in the tables it is given.
const OFFERED: [&str; 3] = ["memcpy", "memmove", "memset"];

/// Reads the objects made for one processor.
pub(crate) struct Judge<'t> {
    target: &'t Target,
    /// How many instructions were read.
    pub(crate) instructions: usize,
    findings: BTreeSet<String>,
}

impl<'t> Judge<'t> {
    pub(crate) fn new(target: &'t Target) -> Self {
        Self { target, instructions: 0, findings: BTreeSet::new() }
    }

    /// Takes in an object.
    pub(crate) fn read(&mut self, object: &[u8], place: &str) {
        let elf = Elf(object);
        for symbol in elf.undefined() {
            if !OFFERED.contains(&symbol.as_str()) {
                self.findings.insert(format!("{place}: calls `{symbol}`"));
            }
        }
        for code in elf.code() {
            match self.target.processor().arch() {
                Arch::X86_64 => self.read_x86(code, place),
                Arch::Aarch64 => self.read_words(code, place),
            }
        }
    }

    /// What is wrong with all that was read.
    pub(crate) fn findings(self) -> BTreeSet<String> {
        self.findings
    }

    fn name(&self) -> &'static str {
        self.target.processor().name()
    }

    fn read_x86(&mut self, code: &[u8], place: &str) {
        let features: Vec<_> = self.target.processor().features().collect();
        for instruction in Decoder::new(64, code, DecoderOptions::NONE) {
            self.instructions += 1;
            if instruction.is_invalid() {
                self.findings.insert(format!("{place}: bytes that are no instruction"));
                return;
            }
            for feature in instruction.cpuid_features() {
                let name = llvm_name(*feature);
                if !(name.is_empty() || features.contains(&name.as_str()) || is_bit_scan(&instruction)) {
                    let code = instruction.code();
                    self.findings.insert(format!("{place}: {code:?} needs {name}, not of {}", self.name()));
                }
            }
        }
    }

    fn read_words(&mut self, code: &[u8], place: &str) {
        let [triple, cpu, features] =
            [self.target.triple(), self.target.cpu(), &self.target.feature_string()]
                .map(|text| CString::new(text).unwrap());
        let none = std::ptr::null_mut();
        let texts = [triple.as_ptr(), cpu.as_ptr(), features.as_ptr()];
        // SAFETY: the texts live during the call; nothing is called back.
        let disassembler =
            unsafe { LLVMCreateDisasmCPUFeatures(texts[0], texts[1], texts[2], none, 0, None, None) };
        assert!(!disassembler.is_null(), "no disassembler for {}", self.target.triple());
        for word in code.chunks(4) {
            self.instructions += 1;
            let (mut bytes, mut text) = (word.to_vec(), [c_char::default(); 256]);
            // SAFETY: the disassembler is live; both arrays have the sizes given.
            let length = unsafe {
                LLVMDisasmInstruction(disassembler, bytes.as_mut_ptr(), 4, 0, text.as_mut_ptr(), text.len())
            };
            if word.len() != 4 || length == 0 {
                self.findings.insert(format!("{place}: {word:02x?} is no instruction of {}", self.name()));
            }
        }
        // SAFETY: it is live, and used no more.
        unsafe { LLVMDisasmDispose(disassembler) };
    }
}

/// LLVM's name of a feature; none for those that every x86-64 has.
fn llvm_name(feature: CpuidFeature) -> String {
    use CpuidFeature as F;
    match feature {
        F::INTEL8086 | F::INTEL186 | F::INTEL286 | F::INTEL386 | F::INTEL486 | F::X64 | F::FPU => "",
        F::CMOV | F::CX8 | F::MULTIBYTENOP | F::PAUSE | F::SSE | F::SSE2 | F::TSC => "",
        F::CMPXCHG16B => "cx16",
        F::BMI1 => "bmi",
        F::SSE4_1 => "sse4.1",
        F::SSE4_2 => "sse4.2",
        F::AVX_VNNI => "avxvnni",
        other => return format!("{other:?}").to_lowercase().replace("avx512_", "avx512"),
    }
    .to_owned()
}

/// LLVM writes a count of trailing zeros for older processors as well, which they take for a scan for the lowest bit:
/// the same, unless there is none, and then the result is not used.
fn is_bit_scan(instruction: &Instruction) -> bool {
    matches!(instruction.code(), Code::Tzcnt_r16_rm16 | Code::Tzcnt_r32_rm32 | Code::Tzcnt_r64_rm64)
}

/// A relocatable object in the ELF format for 64 bits, little-endian.
struct Elf<'a>(&'a [u8]);

/// A section: its type, its flags, the section it refers to, and its bytes.
struct Section<'a> {
    kind: u64,
    flags: u64,
    link: usize,
    bytes: &'a [u8],
}

impl<'a> Elf<'a> {
    fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
        bytes[at..at + size].iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte))
    }

    fn sections(&self) -> Vec<Section<'a>> {
        let object = self.0;
        assert!(object.starts_with(b"\x7fELF\x02\x01"), "no ELF object for 64 bits");
        let table = Self::number(object, 0x28, 8) as usize;
        let [size, count] = [0x3a, 0x3c].map(|at| Self::number(object, at, 2) as usize);
        let section = |i: usize| {
            let header = &object[table + i * size..][..size];
            let kind = Self::number(header, 4, 4);
            let [from, length] = [0x18, 0x20].map(|at| Self::number(header, at, 8) as usize);
            // Sections of this type have no bytes in the file.
            const NOBITS: u64 = 8;
            let bytes = if kind == NOBITS { &[][..] } else { &object[from..from + length] };
            let link = Self::number(header, 0x28, 4) as usize;
            Section { kind, flags: Self::number(header, 8, 8), link, bytes }
        };
        (0..count).map(section).collect()
    }

    /// The bytes of code.
    fn code(&self) -> Vec<&'a [u8]> {
        const EXECUTABLE: u64 = 4;
        let sections = self.sections().into_iter();
        sections.filter(|section| section.flags & EXECUTABLE != 0).map(|section| section.bytes).collect()
    }

    /// The names of the symbols that something else has to define.
    fn undefined(&self) -> Vec<String> {
        const SYMBOLS: u64 = 2;
        const ENTRY_BYTES: usize = 24;
        let sections = self.sections();
        let tables = sections.iter().filter(|section| section.kind == SYMBOLS);
        let mut names = Vec::new();
        for table in tables {
            let texts = sections[table.link].bytes;
            for entry in table.bytes.chunks_exact(ENTRY_BYTES) {
                let (name, section) = (Self::number(entry, 0, 4) as usize, Self::number(entry, 6, 2));
                let name = texts[name..].split(|&byte| byte == 0).next().unwrap_or_default();
                if section == 0 && !name.is_empty() {
                    names.push(String::from_utf8_lossy(name).into_owned());
                }
            }
        }
        names
    }
}
