//! What kernels tell the host: warnings and what `printf` prints.
//!
//! They write it to memory of the device, which the host reads when the dispatch has ended:
//!
//! ```text
//! 0    u64 calls                       of printf so far, those without room for their record too
//! 8    for each format of a warning: u64 told (0 or 1), u64 arguments[]
//! ...  for each call of printf that has room: u32 format + 1, u32 count, u64 arguments[]
//! ```
//!
//! A warning is told by the first invocation that comes to it, and costs the others a look at a word. A call of `printf`
//! takes the next number, which is that of its record; from [`MAX_LINES`] on calls are only counted. So in which order
//! lines are is as unspecified as the order of execution.

use crate::lower::{ADDRESS_SPACE_GLOBAL, Lower};
use inkwell::values::PointerValue;
use inkwell::{AddressSpace, AtomicRMWBinOp, IntPredicate};
use phalanx_emit_llvm::{Error, Result};
use phalanx_ir::{Inst, Module, Op, Value, printf};

/// Most calls of `printf` whose text is kept, as many as on a CPU; more are counted and dropped.
pub const MAX_LINES: u64 = 65_536;

/// Where things lie in a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// By format, in order: the warnings.
    pub warnings: Vec<Warning>,
    /// Bytes of the record of a call of `printf`; 0 if there is none.
    pub record_bytes: u64,
    /// Bytes before the records, which are 0 when the dispatch begins. 0 if nothing is ever reported.
    pub head_bytes: u64,
    /// Bytes of the whole.
    pub bytes: u64,
}

/// A warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Number of its text.
    pub format: u32,
    /// Where it is in the report.
    pub at: u64,
    /// Most arguments that an instruction gives it.
    pub count: usize,
}

/// What a dispatch told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The lines that it printed, without their ends.
    pub printed: Vec<String>,
    /// What it warned of, each once.
    pub warnings: Vec<String>,
}

impl Report {
    /// The report of a module.
    pub fn of(module: &Module) -> Self {
        let mut report = Self::default();
        for info in &module.body.insts {
            match info.op {
                Op::Warn(format) => {
                    let count = info.args.len().saturating_sub(1);
                    match report.warnings.iter_mut().find(|warning| warning.format == format) {
                        Some(warning) => warning.count = warning.count.max(count),
                        None => report.warnings.push(Warning { format, at: 0, count }),
                    }
                }
                Op::Printf(_) => {
                    report.record_bytes = report.record_bytes.max(8 + 8 * info.args.len() as u64);
                }
                _ => {}
            }
        }
        if report.warnings.is_empty() && report.record_bytes == 0 {
            return report;
        }
        report.warnings.sort_by_key(|warning| warning.format);
        report.head_bytes = 8;
        for warning in &mut report.warnings {
            warning.at = report.head_bytes;
            report.head_bytes += 8 + 8 * warning.count as u64;
        }
        report.bytes = report.head_bytes + MAX_LINES * report.record_bytes;
        report
    }

    /// How many bytes of a report there are to read, given those before the records.
    pub fn used_bytes(&self, head: &[u8]) -> u64 {
        self.head_bytes + word(head, 0).min(MAX_LINES) * self.record_bytes
    }

    /// What the bytes of a report say, in the words of the module's formats. A call whose invocation was ended before
    /// it wrote its record is left out, if the bytes were 0 before.
    pub fn read(&self, formats: &[String], bytes: &[u8]) -> Told {
        let mut told = Told::default();
        let text = |format: u32, at: u64, count: usize| {
            let args: Vec<u64> = (0..count as u64).map(|i| word(bytes, at + 8 * i)).collect();
            formats.get(format as usize).map_or_else(String::new, |format| printf::format(format, &args))
        };
        for warning in self.warnings.iter().filter(|warning| word(bytes, warning.at) != 0) {
            told.warnings.push(text(warning.format, warning.at + 8, warning.count));
        }
        if self.record_bytes == 0 {
            return told;
        }
        let calls = word(bytes, 0);
        let records = bytes.get(self.head_bytes as usize..).unwrap_or(&[]).len() as u64 / self.record_bytes;
        for number in 0..calls.min(records).min(MAX_LINES) {
            let at = self.head_bytes + number * self.record_bytes;
            let (format, count) = (word(bytes, at) as u32, word(bytes, at) >> 32);
            let Some(format) = format.checked_sub(1) else { continue };
            let count = count.min(self.record_bytes / 8 - 1) as usize;
            let text = text(format, at + 8, count);
            told.printed.extend(text.strip_suffix('\n').unwrap_or(&text).split('\n').map(str::to_owned));
        }
        if calls > MAX_LINES {
            told.printed.push(format!("({} more lines were dropped)", calls - MAX_LINES));
        }
        told
    }
}

/// A word of a report; 0 where there is none.
fn word(bytes: &[u8], at: u64) -> u64 {
    let bytes = bytes.get(at as usize..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |&bytes| u64::from_le_bytes(bytes))
}

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_warn(&mut self, inst: Inst, format: u32) -> Result<()> {
        let f = self.f;
        let Some((&cond, args)) = f.inst(inst).args.split_first() else { return Ok(()) };
        let warning = self.layout.report.warnings.iter().find(|warning| warning.format == format);
        let at = warning.ok_or_else(|| Error::bug("a warning without a place"))?.at;
        let cond = self.scalar(cond)?;
        let [wrong, first, done] = ["wrong", "warn", "fine"].map(|name| self.new_block(name));
        let fine = self.e.not(cond)?;
        self.e.cond_br_likely(fine, done, wrong)?;
        self.e.b.position_at_end(wrong);
        let report = self.report()?;
        let slot = self.e.field(report, at)?;
        let word = self.e.cx.i64_type();
        // Who comes later sees that without an atomic operation.
        let told = self.e.atomic_load(word, slot, 8)?;
        let is_told = self.e.icmp(IntPredicate::NE, told, self.e.i64(0))?;
        let try_it = self.new_block("try");
        self.e.cond_br(is_told, done, try_it)?;
        self.e.b.position_at_end(try_it);
        let before = self.e.atomic_exchange_with(AtomicRMWBinOp::Xchg, slot, self.e.i64(1))?;
        let is_first = self.e.icmp(IntPredicate::EQ, before, self.e.i64(0))?;
        self.e.cond_br(is_first, first, done)?;
        self.e.b.position_at_end(first);
        self.write_arguments(slot, args)?;
        self.e.br(done)?;
        self.e.b.position_at_end(done);
        Ok(())
    }

    pub(crate) fn lower_printf(&mut self, inst: Inst, format: u32) -> Result<()> {
        let f = self.f;
        let args = &f.inst(inst).args;
        let report = self.report()?;
        let number = self.e.atomic_exchange_with(AtomicRMWBinOp::Add, report, self.e.i64(1))?;
        let has_room = self.e.icmp(IntPredicate::ULT, number, self.e.i64(MAX_LINES as i64))?;
        let [print, done] = ["print", "printed"].map(|name| self.new_block(name));
        self.e.cond_br(has_room, print, done)?;
        self.e.b.position_at_end(print);
        let records = self.e.field(report, self.layout.report.head_bytes)?;
        let step = self.e.mul(number, self.e.i64(self.layout.report.record_bytes as i64))?;
        let record = self.e.offset(records.into(), step)?.into_pointer_value();
        let header = u64::from(format + 1) | (args.len() as u64) << 32;
        self.e.store(self.e.i64(header.cast_signed()), record, 8)?;
        self.write_arguments(record, args)?;
        self.e.br(done)?;
        self.e.b.position_at_end(done);
        Ok(())
    }

    /// Where the report is.
    fn report(&mut self) -> Result<PointerValue<'c>> {
        let at = self.e.field(self.arguments, crate::abi::REPORT)?;
        let ty = self.e.cx.ptr_type(AddressSpace::from(ADDRESS_SPACE_GLOBAL));
        Ok(self.e.load_invariant(ty, at, 8)?.into_pointer_value())
    }

    /// Writes the bits of scalars behind the first word of something.
    fn write_arguments(&mut self, at: PointerValue<'c>, args: &[Value]) -> Result<()> {
        for (&arg, i) in args.iter().zip(1..) {
            let (s, v) = (self.scalar_ty(arg)?, self.scalar(arg)?);
            let bits = self.as_bits(s, v)?;
            let word = self.e.zext_trunc(bits, 64)?;
            let at = self.e.field(at, 8 * i)?;
            self.e.store(word, at, 8)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::text;

    const SOURCE: &str = "kernel \"main\"\nworkgroup_size 32 1 1\nsubgroup_size 32\n\
        format \"late %d\"\nformat \"x=%d y=%f\\n\"\nformat \"early\"\nformat \"a\\nb\"\n\
        {\n%c: bool = const true\n%i: i32 = const 7\n%x: f32 = const 1.5\n\
        warn<format=2> %c\nwarn<format=0> %c, %i\nwarn<format=0> %c\nprintf<format=1> %i, %x\nprintf<format=3>\n}\n";

    fn module() -> Module {
        text::parse(SOURCE).expect("the text is IR")
    }

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_module_that_tells_nothing_needs_no_memory() {
        let quiet = text::parse("kernel \"main\"\nworkgroup_size 32 1 1\nsubgroup_size 32\n{\n}\n");
        assert_eq!(Report::of(&quiet.expect("the text is IR")), Report::default());
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let module = module();
        let report = Report::of(&module);
        // Calls; format 0 with an argument; format 2; records of up to two.
        assert_eq!((report.head_bytes, report.record_bytes), (8 + 16 + 8, 24));
        assert_eq!(report.bytes, report.head_bytes + 24 * MAX_LINES);
        let x = u64::from(1.5_f32.to_bits());
        let all = bytes(&[3, 1, 9, 0, 2 | 2 << 32, 7, x, 0, 0, 0, 4, 0, 0]);
        assert_eq!(report.used_bytes(&all), all.len() as u64);
        let told = report.read(&module.formats, &all);
        assert_eq!(told.warnings, ["late 9"]);
        assert_eq!(told.printed, ["x=7 y=1.500000", "a", "b"]);
        assert_eq!(report.read(&module.formats, &bytes(&[0; 4])), Told::default());
        assert_eq!(report.read(&module.formats, &[]), Told::default());
    }

    #[test]
    fn what_was_lost_is_said() {
        let module = module();
        let report = Report::of(&module);
        let all = bytes(&[MAX_LINES + 5, 0, 0, 1, 4, 0, 0]);
        assert_eq!(report.used_bytes(&all), report.bytes);
        let told = report.read(&module.formats, &all);
        assert_eq!(told.warnings, ["early"]);
        assert_eq!(told.printed, ["a", "b", "(5 more lines were dropped)"]);
    }
}
