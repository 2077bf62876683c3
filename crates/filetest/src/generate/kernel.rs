//! A kernel: many cases of one family, done by one dispatch.
//!
//! Invocation `i` of work-group `g` reads element `i` of each varying operand and element `g` of each
//! uniform one, and writes element `i` of each result. Cases share operands of the same kind. What an
//! invocation does not execute keeps the byte that the results are filled with, on all targets.

use super::case::{Case, Operand, Source};
use super::shader::Shader;
use super::value::{Domain, Ty, value};
use crate::random::Random;
use crate::slot::Slot;
use crate::target::{Target, run_plain};
use phalanx_front_spirv as front;
use phalanx_ir::{Scalar, verify};
use std::collections::BTreeMap;

/// Which invocations execute the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Flow {
    /// All.
    Straight,
    /// Some one half of the cases, the others the other half.
    Divergent,
    /// Those that did not return before.
    EarlyReturn,
}

impl Flow {
    fn name(self) -> &'static str {
        match self {
            Self::Straight => "straight",
            Self::Divergent => "divergent",
            Self::EarlyReturn => "early return",
        }
    }
}

/// Cases and how they are dispatched.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(super) name: String,
    pub(super) seed: u64,
    pub(super) subgroup: u32,
    pub(super) flow: Flow,
    /// Whether the last subgroup of a work-group is partly filled.
    pub(super) partial: bool,
    pub(super) cases: Vec<Case>,
}

/// Where operands and results lie.
pub(super) struct Layout {
    /// By operand and position among the operands; cells by case.
    pub(super) operands: BTreeMap<(Operand, usize), usize>,
    operand_bytes: usize,
    /// By case and result.
    pub(super) results: Vec<Vec<usize>>,
    result_bytes: usize,
}

/// The buffers after a run.
pub(super) struct Memory {
    pub(super) operands: Vec<u8>,
    pub(super) results: Vec<u8>,
}

/// What results are filled with before.
const FILL: u8 = 0xa5;
/// Work-groups of a dispatch at least, each with other uniform values.
const GROUPS: u32 = 8;
/// Invocations of a dispatch at least.
const INVOCATIONS: u32 = 192;

impl Kernel {
    /// The name of the trial.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many cases it has.
    pub fn cases(&self) -> usize {
        self.cases.len()
    }

    pub(super) fn group_size(&self) -> u32 {
        let full = if self.subgroup < 64 { 2 * self.subgroup } else { self.subgroup };
        if self.partial { full - self.subgroup / 2 - 1 } else { full }
    }

    fn groups(&self) -> u32 {
        INVOCATIONS.div_ceil(self.group_size()).max(GROUPS)
    }

    pub(super) fn invocations(&self) -> usize {
        (self.group_size() * self.groups()) as usize
    }

    /// How many of each result there are.
    pub(super) fn copies(&self, case: &Case) -> usize {
        if case.stores_itself() {
            (self.groups() * self.group_size().div_ceil(self.subgroup)) as usize
        } else {
            self.invocations()
        }
    }

    /// Runs the kernel on the interpreter and all targets, and compares.
    ///
    /// # Errors
    ///
    /// The cases that differ, with operands and results.
    pub fn run(&self, targets: &[Target]) -> Result<(), String> {
        let layout = self.layout();
        let text = self.text(&layout);
        if let Some(directory) = std::env::var_os("PHALANX_GENERATED_TEXT") {
            let file = std::path::Path::new(&directory).join(self.name.replace(['/', ' '], "_") + ".spvasm");
            std::fs::write(file, &text).map_err(|error| error.to_string())?;
        }
        let words = phalanx_spirv_asm::assemble(&text)
            .map_err(|e| format!("{e}: {}", text.lines().nth(e.line as usize - 1).unwrap_or_default()))?;
        let options = front::Options { subgroup_size: self.subgroup, ..front::Options::default() };
        let module = front::translate(&words, &options).map_err(|found| found.to_string())?;
        let module = verify(module).map_err(|errors| errors.to_string())?;
        let [operands, results] = [0, 1].map(|binding| Slot { set: 0, binding, index: 0 });
        let buffers = [(operands, self.operand_bytes(&layout)), (results, vec![FILL; layout.result_bytes])];
        let buffers = BTreeMap::from(buffers);
        let run = |target: Target| {
            let mut after = run_plain(target, &module, &buffers, [self.groups(), 1, 1])?;
            let mut take = |slot| after.remove(&slot).unwrap_or_default();
            Ok(Memory { operands: take(operands), results: take(results) })
        };
        let said = |target: &Target, wrong: String| format!("{target}, seed {}: {wrong}", self.seed);
        let expected = run(Target::Interp).map_err(|error| said(&Target::Interp, error))?;
        for target in targets {
            let found = run(*target).map_err(|error| said(target, error))?;
            self.compare(&layout, &expected, &found).map_err(|wrong| said(target, wrong))?;
        }
        Ok(())
    }

    /// Invocations of its subgroups.
    pub fn subgroup_size(&self) -> u32 {
        self.subgroup
    }

    fn layout(&self) -> Layout {
        let mut layout =
            Layout { operands: BTreeMap::new(), operand_bytes: 0, results: Vec::new(), result_bytes: 0 };
        let place = |end: &mut usize, ty: Ty, count: usize| {
            let start = end.next_multiple_of(ty.stored().scalar.bytes() as usize);
            *end = start + ty.bytes() * count;
            start
        };
        let mask = self.mask();
        let all = self.cases.iter().enumerate().flat_map(|(c, case)| {
            let operands = case.operands.iter().enumerate();
            operands.map(move |(i, operand)| (position(c, i, *operand), *operand))
        });
        for (i, operand) in all.chain([(0, mask)]) {
            if operand.source == Source::Constant {
                continue;
            }
            let count = self.count(operand);
            let end = &mut layout.operand_bytes;
            layout.operands.entry((operand, i)).or_insert_with(|| place(end, operand.ty, count));
        }
        for case in &self.cases {
            let place = |ty: &Ty| place(&mut layout.result_bytes, *ty, self.copies(case));
            layout.results.push(case.results.iter().map(place).collect());
        }
        layout
    }

    /// How many values of an operand lie in memory.
    fn count(&self, operand: Operand) -> usize {
        match operand.source {
            Source::Varying => self.invocations(),
            Source::Uniform => self.groups() as usize,
            Source::Constant | Source::Cell => 1,
        }
    }

    /// The operand that decides which invocations do what.
    fn mask(&self) -> Operand {
        Operand { ty: Ty::scalar(Scalar::I32), domain: Domain::Below(5), source: Source::Varying }
    }

    fn operand_bytes(&self, layout: &Layout) -> Vec<u8> {
        let mut bytes = vec![0; layout.operand_bytes];
        for (&(operand, i), &offset) in &layout.operands {
            let count = self.count(operand);
            let size = operand.ty.stored().scalar.bytes() as usize;
            for index in 0..count {
                for part in 0..operand.ty.n {
                    let bits = self.value(operand, i, part, index);
                    let at = offset + (part as usize * count + index) * size;
                    bytes[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
                }
            }
        }
        bytes
    }

    pub(super) fn value(&self, operand: Operand, i: usize, part: u32, index: usize) -> u64 {
        // Uniform operands differ from varying ones of the same kind.
        let seed = self.seed ^ if operand.source == Source::Uniform { 0x5555 << 32 } else { 0 };
        value(seed, operand.ty.scalar, self.domain(operand), i, part, index)
    }

    fn domain(&self, operand: Operand) -> Domain {
        if operand.domain == Domain::Lane { Domain::Below(self.subgroup) } else { operand.domain }
    }

    /// The parts of a constant operand of a case.
    pub(super) fn constant(&self, case: usize, i: usize) -> Vec<u64> {
        let operand = self.cases[case].operands[i];
        let index = 1000 + Random::new(self.seed ^ case as u64).below(1000) as usize;
        (0..operand.ty.n)
            .map(|part| value(self.seed, operand.ty.scalar, self.domain(operand), i, part, index))
            .collect()
    }

    fn text(&self, layout: &Layout) -> String {
        let mut shader = Shader::new();
        let mut loaded = BTreeMap::new();
        for (&(operand, i), &offset) in &layout.operands {
            if operand.source == Source::Cell {
                continue;
            }
            let index = if operand.source == Source::Uniform { "%wg" } else { "%gid" };
            let value = shader.load(operand.ty, offset, self.count(operand), index);
            loaded.insert((operand, i), value);
        }
        let half = match self.flow {
            Flow::Straight => None,
            Flow::Divergent | Flow::EarlyReturn => {
                let (mask, one) = (&loaded[&(self.mask(), 0)], shader.int(1));
                let bool = shader.ty(Ty::scalar(Scalar::Bool));
                let condition = shader.op(&format!("OpULessThanEqual {bool} {mask} {one}"));
                shader.line("OpSelectionMerge %behind None");
                shader.line(&format!("OpBranchConditional {condition} %first %second"));
                shader.line("%first = OpLabel");
                Some(self.cases.len() / 2)
            }
        };
        if self.flow == Flow::EarlyReturn {
            for line in ["OpReturn", "%second = OpLabel", "OpBranch %behind", "%behind = OpLabel"] {
                shader.line(line);
            }
        }
        for (c, case) in self.cases.iter().enumerate() {
            if self.flow == Flow::Divergent && half == Some(c) {
                shader.line("OpBranch %behind");
                shader.line("%second = OpLabel");
            }
            let ids: Vec<_> = (case.operands.iter().enumerate())
                .map(|(i, operand)| match operand.source {
                    Source::Constant => {
                        let parts = self.constant(c, i);
                        shader.composite(operand.ty, &parts)
                    }
                    Source::Varying | Source::Uniform => loaded[&(*operand, i)].clone(),
                    Source::Cell => {
                        let offset = layout.operands[&(*operand, position(c, i, *operand))];
                        shader.cell(operand.ty.scalar, offset)
                    }
                })
                .collect();
            let mut ids = ids;
            if case.stores_itself() {
                let places = case.results.iter().zip(&layout.results[c]);
                ids.extend(places.map(|(ty, offset)| shader.own_result(*ty, *offset)));
            }
            let results = (case.emit)(&mut shader, &ids);
            for ((ty, offset), id) in case.results.iter().zip(&layout.results[c]).zip(&results) {
                shader.store(*ty, *offset, self.invocations(), "%gid", id);
            }
        }
        if self.flow == Flow::Divergent {
            shader.line("OpBranch %behind");
            shader.line("%behind = OpLabel");
        }
        shader.text(self.group_size())
    }

    /// What the name says behind the family: how the cases run.
    pub(super) fn manner(&self) -> String {
        let partial = if self.partial { " partial" } else { "" };
        format!("subgroup {} {}{partial}", self.subgroup, self.flow.name())
    }
}

/// Where a layout has an operand: cases share all but cells.
pub(super) fn position(case: usize, i: usize, operand: Operand) -> usize {
    if operand.source == Source::Cell { usize::MAX - case } else { i }
}
