//! A round of `wgmma`: all products of a slot, or of a block, as one piece of assembly.
//!
//! LLVM looks at each operand of a piece, and the sums are up to 128. The instructions for them are what costs `ptxas` most, so
//! there is a round of its own before a loop of rounds only where it must be.

use super::fragment::Memory;
use super::stream::FENCE;
use crate::lower::Lower;
use phalanx_emit_llvm::{Result, V};

/// The products of a round.
#[derive(Debug)]
pub(crate) struct Round<'c> {
    /// The instruction, and what follows its operands.
    pub(crate) instruction: String,
    pub(crate) modifiers: String,
    /// The low words of the descriptors of the left and the right factor, and the high ones.
    pub(crate) factors: [V<'c>; 2],
    pub(crate) high: [u32; 2],
    /// By part of the sums: how many units of 16 bytes its factors are behind those.
    pub(crate) parts: Vec<[u32; 2]>,
    /// The same by step along K.
    pub(crate) steps: Vec<[u32; 2]>,
}

impl Round<'_> {
    /// The instructions of a step, with so many words of sums.
    fn step(&self, step: [u32; 2], sums: usize) -> String {
        let (words, [left, right]) = (sums / self.parts.len(), self.high);
        let part = |(number, part): (usize, &[u32; 2])| {
            let names = (number * words..(number + 1) * words).map(|i| format!("${i}"));
            format!(
                "add.s32 x, ${}, {}; add.s32 y, ${}, {}; mov.b64 a, {{x, {left}}}; mov.b64 b, {{y, {right}}};\n\t\
                 {} {{{}}}, a, b, p{};\n\t",
                2 * sums,
                step[0] + part[0],
                2 * sums + 1,
                step[1] + part[1],
                self.instruction,
                names.collect::<Vec<_>>().join(","),
                self.modifiers
            )
        };
        self.parts.iter().enumerate().map(part).collect()
    }

    /// All of it, with so many words of sums.
    fn text(&self, sums: usize) -> String {
        let adds = 2 * sums + 2;
        let more = format!("setp.eq.b32 p, ${adds}, ${adds};\n\t");
        let steps: Vec<String> = self.steps.iter().map(|&step| self.step(step, sums)).collect();
        format!(
            "{{ .reg .pred p; .reg .b32 x, y; .reg .b64 a, b; setp.ne.b32 p, ${adds}, 0; {FENCE}\n\t{}\
             wgmma.commit_group.sync.aligned; }}",
            steps.join(&more)
        )
    }
}

impl<'c> Lower<'_, 'c> {
    /// Begins the products of a round, which are added to sums: those of the first part before those of the second. Where
    /// `adds` is 0, the products of the first step take the place of the sums.
    pub(crate) fn begin_round(
        &mut self,
        round: &Round<'c>,
        sums: &[V<'c>],
        adds: V<'c>,
    ) -> Result<Vec<V<'c>>> {
        let results: Vec<_> = sums.iter().map(V::get_type).collect();
        let args = [sums, &round.factors, &[adds]].concat();
        self.assembly(&round.text(sums.len()), &results, &args, Memory::Update(sums.len()))
    }
}
