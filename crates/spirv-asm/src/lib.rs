//! An assembler for the text form of SPIR-V, as `spirv-as` and `spirv-dis` write it.
//!
//! ```
//! let words = phalanx_spirv_asm::assemble("OpCapability Shader\nOpMemoryModel Logical GLSL450\n")?;
//! assert_eq!(words[0], 0x0723_0203);
//! # Ok::<(), phalanx_spirv_asm::AsmError>(())
//! ```
//!
//! The grammar is `rspirv`'s, so whatever that knows can be assembled. A line `; Version: 1.5`, as
//! the disassembler writes, sets the version; without one it is 1.6.

#![forbid(unsafe_code)]

mod names;
mod token;

use rspirv::binary::Assemble;
use rspirv::dr::Operand;
use rspirv::grammar::{
    INSTRUCTION_TABLE, Instruction, InstructionTable, LogicalOperand, OperandKind, OperandQuantifier,
    glsl_std_450::GLSL_STD_450_INSTRUCTION_TABLE,
    nonsemantic_debugprintf::NONSEMANTIC_DEBUGPRINTF_INSTRUCTION_TABLE,
};
use rustc_hash::FxHashMap;
use token::{Kind, Token};

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct AsmError {
    /// Line from 1.
    pub line: u32,
    /// Column from 1.
    pub column: u32,
    /// What was expected and found.
    pub message: String,
}

/// Assembles a module.
///
/// # Errors
///
/// The first thing that is no SPIR-V, with its position.
pub fn assemble(source: &str) -> Result<Vec<u32>, AsmError> {
    let mut asm = Assembler::default();
    for line in token::lines(source)? {
        asm.instruction(&line)?;
    }
    let mut words = vec![spirv::MAGIC_NUMBER, version(source), 0, asm.ids.len() as u32 + 1, 0];
    words.extend(asm.words);
    Ok(words)
}

fn version(source: &str) -> u32 {
    let stated = source.lines().find_map(|line| {
        let (major, minor) = line.trim().strip_prefix("; Version:")?.trim().split_once('.')?;
        Some((major.parse::<u8>().ok()?, minor.parse::<u8>().ok()?))
    });
    let (major, minor) = stated.unwrap_or((1, 6));
    u32::from(major) << 16 | u32::from(minor) << 8
}

/// A number type, as far as literals need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Int { bits: u32 },
    Float { bits: u32 },
}

#[derive(Debug, Default)]
struct Assembler {
    words: Vec<u32>,
    ids: FxHashMap<String, u32>,
    /// Number types by id.
    types: FxHashMap<u32, Number>,
    /// Type ids of results.
    results: FxHashMap<u32, u32>,
    /// Sets of extended instructions by id.
    sets: FxHashMap<u32, String>,
}

/// A cursor over the operands of one instruction.
struct Cursor<'t> {
    tokens: &'t [Token],
    /// Position for errors at the end of the line.
    end: (u32, u32),
}

impl<'t> Cursor<'t> {
    fn next(&mut self) -> Option<&'t Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn error(&self, found: Option<&Token>, expected: &str) -> AsmError {
        match found {
            Some(t) => AsmError {
                line: t.line,
                column: t.column,
                message: format!("expected {expected}, found {}", describe(&t.kind)),
            },
            None => AsmError {
                line: self.end.0,
                column: self.end.1,
                message: format!("expected {expected}, found the end of the line"),
            },
        }
    }
}

fn describe(kind: &Kind) -> String {
    match kind {
        Kind::Id(name) => format!("%{name}"),
        Kind::Text(text) => format!("{text:?}"),
        Kind::Word(word) => word.clone(),
        Kind::Equals => "=".to_owned(),
    }
}

impl Assembler {
    fn instruction(&mut self, line: &[Token]) -> Result<(), AsmError> {
        let (result, rest) = match line {
            [Token { kind: Kind::Id(name), .. }, Token { kind: Kind::Equals, .. }, rest @ ..] => {
                (Some(self.id(name)), rest)
            }
            _ => (None, line),
        };
        let last = &line[line.len() - 1];
        let mut cursor = Cursor { tokens: rest, end: (last.line, last.column + 1) };
        let op = cursor.next();
        let (inst, opcode) = match op {
            Some(Token { kind: Kind::Word(word), .. }) => {
                lookup(word).ok_or_else(|| cursor.error(op, "an instruction"))?
            }
            _ => return Err(cursor.error(op, "an instruction")),
        };
        let has_result = inst.operands.iter().any(|o| o.kind == OperandKind::IdResult);
        if has_result != result.is_some() {
            let expected = if has_result { "a result: `%id = `" } else { "an instruction with a result" };
            return Err(cursor.error(op, expected));
        }
        let operands = Operands { asm: self, result, result_type: None, out: Vec::new(), selector: None };
        let (operands, result_type) = operands.read(inst, &mut cursor)?;
        if !cursor.tokens.is_empty() {
            return Err(cursor.error(cursor.tokens.first(), "the end of the line"));
        }
        self.note(inst, &operands, result, result_type);
        let start = self.words.len();
        self.words.push(0);
        for operand in &operands {
            operand.assemble_into(&mut self.words);
        }
        let count = self.words.len() - start;
        self.words[start] = (count as u32) << 16 | opcode;
        Ok(())
    }

    /// The number for a name: itself if it is a number that no other name took, else a new one.
    fn id(&mut self, name: &str) -> u32 {
        let next = self.ids.len() as u32 + 1;
        *self.ids.entry(name.to_owned()).or_insert(next)
    }

    /// Remembers what later literals need.
    fn note(&mut self, inst: &Instruction<'_>, operands: &[Operand], result: Option<u32>, ty: Option<u32>) {
        let Some(result) = result else { return };
        if let Some(ty) = ty {
            self.results.insert(result, ty);
        }
        match (inst.opcode, operands) {
            (spirv::Op::TypeInt, [_, Operand::LiteralBit32(bits), ..]) => {
                self.types.insert(result, Number::Int { bits: *bits });
            }
            (spirv::Op::TypeFloat, [_, Operand::LiteralBit32(bits)]) => {
                self.types.insert(result, Number::Float { bits: *bits });
            }
            // A float with an encoding: literals are given as bits.
            (spirv::Op::TypeFloat, [_, Operand::LiteralBit32(bits), ..]) => {
                self.types.insert(result, Number::Int { bits: *bits });
            }
            (spirv::Op::ExtInstImport, [_, Operand::LiteralString(name)]) => {
                self.sets.insert(result, name.clone());
            }
            _ => {}
        }
    }
}

/// The operands of an instruction, and its opcode.
fn lookup(name: &str) -> Option<(&'static Instruction<'static>, u32)> {
    let name = name.strip_prefix("Op")?;
    let newer = names::INSTRUCTIONS.iter().find(|(newer, ..)| *newer == name);
    let (known, opcode) = newer.map_or((name, None), |&(_, opcode, like)| (like, Some(opcode)));
    let inst = INSTRUCTION_TABLE.iter().find(|inst| inst.opname == known)?;
    Some((inst, opcode.unwrap_or(inst.opcode as u32)))
}

/// Reads the operands of one instruction.
struct Operands<'a> {
    asm: &'a mut Assembler,
    result: Option<u32>,
    result_type: Option<u32>,
    /// Type of the selector of a switch, for its literals.
    selector: Option<u32>,
    out: Vec<Operand>,
}

impl Operands<'_> {
    fn read(
        mut self,
        inst: &Instruction<'_>,
        cursor: &mut Cursor<'_>,
    ) -> Result<(Vec<Operand>, Option<u32>), AsmError> {
        self.sequence(inst.operands, cursor)?;
        Ok((self.out, self.result_type))
    }

    fn sequence(&mut self, operands: &[LogicalOperand], cursor: &mut Cursor<'_>) -> Result<(), AsmError> {
        for operand in operands {
            // The result stands before the instruction, whatever is left on the line.
            let present =
                |cursor: &Cursor<'_>| operand.kind == OperandKind::IdResult || !cursor.tokens.is_empty();
            match operand.quantifier {
                OperandQuantifier::One => self.operand(operand.kind, cursor)?,
                OperandQuantifier::ZeroOrOne if present(cursor) => self.operand(operand.kind, cursor)?,
                OperandQuantifier::ZeroOrOne => {}
                OperandQuantifier::ZeroOrMore => {
                    while !cursor.tokens.is_empty() {
                        self.operand(operand.kind, cursor)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn operand(&mut self, kind: OperandKind, cursor: &mut Cursor<'_>) -> Result<(), AsmError> {
        match kind {
            OperandKind::IdResult => {
                self.out.extend(self.result.map(Operand::IdRef));
                Ok(())
            }
            OperandKind::IdResultType => {
                let id = self.id(cursor)?;
                self.result_type = Some(id);
                Ok(())
            }
            OperandKind::IdRef | OperandKind::IdScope | OperandKind::IdMemorySemantics => {
                let id = self.id(cursor)?;
                self.selector = self.selector.or(self.asm.results.get(&id).copied());
                Ok(())
            }
            OperandKind::PairIdRefIdRef => {
                self.id(cursor)?;
                self.id(cursor).map(drop)
            }
            OperandKind::PairIdRefLiteralInteger => {
                self.id(cursor)?;
                self.literal(cursor, None)
            }
            OperandKind::PairLiteralIntegerIdRef => {
                self.literal(cursor, self.selector)?;
                self.id(cursor).map(drop)
            }
            OperandKind::LiteralInteger | OperandKind::LiteralFloat => self.literal(cursor, None),
            OperandKind::LiteralContextDependentNumber => self.literal(cursor, self.result_type),
            OperandKind::LiteralString => match cursor.next() {
                Some(Token { kind: Kind::Text(text), .. }) => {
                    self.out.push(Operand::LiteralString(text.clone()));
                    Ok(())
                }
                other => Err(cursor.error(other, "text in quotes")),
            },
            OperandKind::LiteralExtInstInteger => self.extended(cursor),
            OperandKind::LiteralSpecConstantOpInteger => {
                let token = cursor.next();
                let (inst, _) = match token {
                    Some(Token { kind: Kind::Word(word), .. }) => lookup(&format!("Op{word}")),
                    _ => None,
                }
                .ok_or_else(|| cursor.error(token, "an operation"))?;
                self.out.push(Operand::LiteralSpecConstantOpInteger(inst.opcode));
                let rest: Vec<_> = inst
                    .operands
                    .iter()
                    .filter(|o| !matches!(o.kind, OperandKind::IdResult | OperandKind::IdResultType))
                    .cloned()
                    .collect();
                self.sequence(&rest, cursor)
            }
            _ => self.enumerant(kind, cursor),
        }
    }

    fn id(&mut self, cursor: &mut Cursor<'_>) -> Result<u32, AsmError> {
        match cursor.next() {
            Some(Token { kind: Kind::Id(name), .. }) => {
                let id = self.asm.id(name);
                self.out.push(Operand::IdRef(id));
                Ok(id)
            }
            other => Err(cursor.error(other, "an id")),
        }
    }

    fn enumerant(&mut self, kind: OperandKind, cursor: &mut Cursor<'_>) -> Result<(), AsmError> {
        let token = cursor.next();
        let (operand, more) = match token {
            Some(Token { kind: Kind::Word(word), .. }) => names::enumerant(kind, word),
            _ => None,
        }
        .ok_or_else(|| cursor.error(token, &format!("a {kind:?}")))?;
        self.out.push(operand);
        self.sequence(&more, cursor)
    }

    fn extended(&mut self, cursor: &mut Cursor<'_>) -> Result<(), AsmError> {
        let set = match self.out.last() {
            Some(Operand::IdRef(id)) => self.asm.sets.get(id).map(String::as_str),
            _ => None,
        };
        let token = cursor.next();
        let Some(Token { kind: Kind::Word(word), .. }) = token else {
            return Err(cursor.error(token, "an extended instruction"));
        };
        let number = match set {
            Some("GLSL.std.450") => find(&GLSL_STD_450_INSTRUCTION_TABLE, word),
            Some("NonSemantic.DebugPrintf") => find(&NONSEMANTIC_DEBUGPRINTF_INSTRUCTION_TABLE, word),
            _ => None,
        }
        .or_else(|| word.parse().ok())
        .ok_or_else(|| cursor.error(token, "an extended instruction or its number"))?;
        self.out.push(Operand::LiteralExtInstInteger(number));
        Ok(())
    }

    fn literal(&mut self, cursor: &mut Cursor<'_>, ty: Option<u32>) -> Result<(), AsmError> {
        let ty = ty.and_then(|ty| self.asm.types.get(&ty).copied());
        let token = cursor.next();
        let bits = match token {
            Some(Token { kind: Kind::Word(word), .. }) => number(word, ty),
            _ => None,
        }
        .ok_or_else(|| cursor.error(token, "a number"))?;
        self.out.push(match ty {
            Some(Number::Int { bits: 64 } | Number::Float { bits: 64 }) => Operand::LiteralBit64(bits),
            _ => Operand::LiteralBit32(bits as u32),
        });
        Ok(())
    }
}

fn find(table: &'static InstructionTable<rspirv::grammar::ExtInstOp>, name: &str) -> Option<u32> {
    table.iter().find(|inst| inst.opname == name).map(|inst| inst.opcode.into())
}

/// The bits of a literal. Negative numbers are sign-extended to the words of the literal.
fn number(word: &str, ty: Option<Number>) -> Option<u64> {
    let integer = || -> Option<u64> {
        if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            return u64::from_str_radix(hex, 16).ok();
        }
        word.parse::<u64>().ok().or_else(|| word.parse::<i64>().ok().map(|x| x as u64))
    };
    match ty {
        Some(Number::Float { bits }) => {
            // `0x1p+4` and the like are written for values without a short decimal form.
            let x = hex_float(word).or_else(|| word.parse::<f64>().ok());
            match bits {
                16 => x.map(|x| u64::from(half_bits(x))),
                64 => x.map(f64::to_bits),
                _ => x.map(|x| u64::from((x as f32).to_bits())),
            }
        }
        Some(Number::Int { .. }) => integer(),
        None => integer().or_else(|| word.parse::<f32>().ok().map(|x| u64::from(x.to_bits()))),
    }
}

/// `[-]0xH.HHHp±D`, as the disassembler writes infinities, NaNs and 16-bit floats.
fn hex_float(word: &str) -> Option<f64> {
    let (sign, rest) = word.strip_prefix('-').map_or((1.0, word), |rest| (-1.0, rest));
    let (digits, exponent) = rest.strip_prefix("0x")?.split_once('p')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    let scale = exponent.checked_sub(4 * i32::try_from(fraction.len()).ok()?)?;
    Some(sign * all as f64 * f64::powi(2.0, scale))
}

/// Rounds to binary16, to nearest even.
fn half_bits(x: f64) -> u16 {
    let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = x.abs();
    if magnitude.is_nan() {
        return sign | 0x7e00;
    }
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // Units in the last place of the result are a power of two; the division is exact.
    let exponent = if magnitude < f64::powi(2.0, -14) { -14 } else { magnitude.log2().floor() as i32 };
    let ulp = f64::powi(2.0, exponent - 10);
    let mantissa = (magnitude / ulp).round_ties_even() as u32;
    let biased = (exponent + 14) as u32;
    sign | (biased * 1024 + mantissa) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number("-1", Some(Number::Int { bits: 32 })), Some(u64::MAX));
        assert_eq!(number("0x10", Some(Number::Int { bits: 32 })), Some(16));
        assert_eq!(number("1.5", Some(Number::Float { bits: 32 })), Some(0x3fc0_0000));
        assert_eq!(number("0x1.8p+0", Some(Number::Float { bits: 16 })), Some(0x3e00));
        assert_eq!(number("nonsense", None), None);
    }

    #[test]
    fn halves() {
        let cases = [(0.0, 0), (1.0, 0x3c00), (-2.0, 0xc000), (65504.0, 0x7bff), (65519.0, 0x7bff)];
        for (x, bits) in cases {
            assert_eq!(half_bits(x), bits, "{x}");
        }
        assert_eq!(half_bits(f64::powi(2.0, -24)), 1);
        assert_eq!(half_bits(f64::powi(2.0, -14)), 0x400);
        assert_eq!(half_bits(2047.5 * f64::powi(2.0, -11)), 0x3c00);
    }

    #[test]
    fn errors_have_positions() {
        let error = assemble("OpCapability Shader\nOpCapability Nonsense").expect_err("no such capability");
        assert_eq!(error.to_string(), "2:14: expected a Capability, found Nonsense");
        let error = assemble("%1 = OpTypeInt 32").expect_err("no signedness");
        assert_eq!(error.to_string(), "1:17: expected a number, found the end of the line");
        assert!(assemble("OpTypeVoid").is_err());
        assert!(assemble("%1 = OpNop").is_err());
    }

    #[test]
    fn parameters_follow_enumerants_and_masks() {
        let text = "OpDecorate %x SpecId 7\n%int = OpTypeInt 32 0\n%c = OpConstant %int 5\n\
                    %y = OpLoad %int %p Aligned|MakePointerVisible 16 %c\n";
        let words = assemble(text).expect("valid");
        assert_eq!(&words[5..9], &[4 << 16 | 71, 1, 1, 7]);
        assert_eq!(&words[words.len() - 7..], &[7 << 16 | 61, 2, 4, 5, 2 | 16, 16, 3]);
    }

    #[test]
    fn wide_constants_and_switches() {
        let text = "%long = OpTypeInt 64 1\n%c = OpConstant %long -2\nOpSwitch %c %d 5 %e\n";
        let words = assemble(text).expect("valid");
        assert_eq!(&words[9..14], &[5 << 16 | 43, 1, 2, 0xffff_fffe, 0xffff_ffff]);
        assert_eq!(&words[14..], &[6 << 16 | 251, 2, 3, 5, 0, 4]);
    }

    #[test]
    fn cooperative_matrices() {
        let text = "%m = OpTypeCooperativeMatrixKHR %f %s %r %c %u\n\
                    %d = OpCooperativeMatrixMulAddKHR %m %a %b %cc MatrixASignedComponentsKHR|SaturatingAccumulationKHR\n";
        let words = assemble(text).expect("valid");
        assert_eq!(words[words.len() - 1], 0x11);
    }
}
