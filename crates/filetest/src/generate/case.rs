//! A case: one operation on operands of certain types, each varying, uniform or constant.

use super::check::Check;
use super::shader::Shader;
use super::value::{Domain, Ty};
use std::fmt;
use std::sync::Arc;

/// Where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Source {
    /// A load that differs between invocations.
    Varying,
    /// A load that is the same for all invocations of a work-group.
    Uniform,
    /// A constant.
    Constant,
    /// No value, but a pointer to a scalar among the operands, of which there is one for the whole dispatch.
    Cell,
}

impl Source {
    /// The letter that stands for it in names.
    pub(super) fn letter(self) -> char {
        match self {
            Self::Varying => 'v',
            Self::Uniform => 'u',
            Self::Constant => 'c',
            Self::Cell => 'p',
        }
    }
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Operand {
    pub(super) ty: Ty,
    pub(super) domain: Domain,
    pub(super) source: Source,
}

/// Writes the instructions: from the ids of the operands to those of the results.
pub(super) type Emit = Arc<dyn Fn(&mut Shader, &[String]) -> Vec<String> + Send + Sync>;

/// A case.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) operands: Vec<Operand>,
    pub(super) results: Vec<Ty>,
    /// How each result is compared; the last one holds for all that follow.
    pub(super) checks: Vec<Check>,
    pub(super) emit: Emit,
}

impl Case {
    /// Whether the result is an object that a subgroup stores as a whole: then the ids of pointers to the results
    /// follow those of the operands.
    pub(super) fn stores_itself(&self) -> bool {
        self.operands.iter().any(|operand| operand.source == Source::Cell && operand.ty.n > 1)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// An operation of a table: its name and types, before it is known where operands come from.
#[derive(Clone)]
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) operands: Vec<(Ty, Domain)>,
    pub(super) results: Vec<Ty>,
    pub(super) check: Check,
    pub(super) emit: Emit,
}

impl Operation {
    /// An instruction: its text with `$R` for the type of the result, `$0`, `$1`, … for the operands, and
    /// `#3` for a constant.
    pub(super) fn instruction(text: &str, operands: &[Ty], result: Ty, check: Check) -> Self {
        let template = text.to_owned();
        let emit = move |shader: &mut Shader, ids: &[String]| {
            let mut line = template.replace("$R", &shader.ty(result));
            for (i, id) in ids.iter().enumerate() {
                line = line.replace(&format!("${i}"), id);
            }
            let word = |word: &str| match word.strip_prefix('#').and_then(|n| n.parse().ok()) {
                Some(n) => shader.int(n),
                None => word.to_owned(),
            };
            let words: Vec<_> = line.split(' ').map(word).collect();
            vec![shader.op(&words.join(" "))]
        };
        let name = text
            .split_whitespace()
            .filter(|w| !w.starts_with(['$', '%']) && !["OpExtInst", "#3"].contains(w));
        Self {
            name: name.collect::<Vec<_>>().join(" ").trim_start_matches("Op").to_owned(),
            operands: operands.iter().map(|ty| (*ty, Domain::Any)).collect(),
            results: vec![result],
            check,
            emit: Arc::new(emit),
        }
    }

    /// The name of an opcode.
    pub(super) fn name_of(opcode: &str) -> &str {
        opcode.trim_start_matches("Op")
    }

    /// An instruction on operands that are all of one type.
    pub(super) fn simple(opcode: &str, operands: usize, ty: Ty, result: Ty, check: Check) -> Self {
        let ids: String = (0..operands).map(|i| format!(" ${i}")).collect();
        Self::instruction(&format!("{opcode} $R{ids}"), &vec![ty; operands], result, check)
    }

    /// An instruction of GLSL.std.450 on operands that are all of one type.
    pub(super) fn glsl(name: &str, operands: usize, ty: Ty, result: Ty, check: Check) -> Self {
        let ids: String = (0..operands).map(|i| format!(" ${i}")).collect();
        Self::instruction(&format!("OpExtInst $R %glsl {name}{ids}"), &vec![ty; operands], result, check)
    }

    /// The same for a module with a capability.
    pub(super) fn needs(mut self, capability: &'static str, extension: &'static str) -> Self {
        let emit = self.emit;
        self.emit = Arc::new(move |shader: &mut Shader, ids: &[String]| {
            shader.needs(capability, extension);
            emit(shader, ids)
        });
        self
    }

    /// The same with another domain of an operand.
    pub(super) fn domain(mut self, operand: usize, domain: Domain) -> Self {
        self.operands[operand].1 = domain;
        self
    }

    /// A case for each choice of sources.
    pub(super) fn cases<'a>(&'a self, sources: &'a [Vec<Source>]) -> impl Iterator<Item = Case> + 'a {
        let of = |sources: &Vec<Source>| {
            let operands = self.operands.iter().zip(sources);
            let operands = operands.map(|(&(ty, domain), &source)| Operand { ty, domain, source });
            Case {
                name: self.full_name(sources),
                operands: operands.collect(),
                results: self.results.clone(),
                checks: vec![self.check],
                emit: Arc::clone(&self.emit),
            }
        };
        sources.iter().map(of)
    }

    fn full_name(&self, sources: &[Source]) -> String {
        let types: Vec<_> = self.operands.iter().map(|(ty, _)| ty.to_string()).collect();
        let results: Vec<_> = self.results.iter().map(ToString::to_string).collect();
        let letters: String = sources.iter().map(|source| source.letter()).collect();
        format!("{}({})->{} {letters}", self.name, types.join(","), results.join(","))
    }
}

/// All choices between varying and uniform, and each operand as a constant among varying ones.
pub(super) fn sources(operands: usize) -> Vec<Vec<Source>> {
    let loaded = (0..1 << operands).map(|bits: u32| {
        (0..operands).map(|i| if bits >> i & 1 == 0 { Source::Varying } else { Source::Uniform }).collect()
    });
    let constant = (0..operands)
        .filter(|_| operands > 1)
        .map(|c| (0..operands).map(|i| if i == c { Source::Constant } else { Source::Varying }).collect());
    loaded.chain(constant).collect()
}
