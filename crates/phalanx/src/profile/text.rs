//! Profiles as tables, for people.

use std::fmt::Write as _;

use super::{OnGpu, PipelineProfile, Profile, Row};

/// Rows with a smaller share are told of together.
const SMALLEST: f64 = 0.002;

/// Most characters of a line of the source that are shown.
const MAX_SOURCE: usize = 72;

/// Gives a line of a file, if it has it.
pub type Source<'a> = &'a dyn Fn(&str, u32) -> Option<String>;

impl Profile {
    /// Tables of each pipeline: by family, and by line, with the text of the line where `source` gives it.
    pub fn to_text(&self, source: Source<'_>) -> String {
        let mut text = String::new();
        if self.pipelines.len() > 1 {
            self.summary(&mut text);
        }
        for (index, pipeline) in self.pipelines.iter().enumerate() {
            if index > 0 || !text.is_empty() {
                text.push('\n');
            }
            pipeline.write(&mut text, source);
        }
        text
    }

    fn summary(&self, text: &mut String) {
        let total = self.elapsed().as_secs_f64();
        put(text, format_args!("{:>6}  {:>11}  {:>10}  pipeline", "share", "ms", "dispatches"));
        for pipeline in &self.pipelines {
            let seconds = pipeline.elapsed.as_secs_f64();
            let (share, ms) = (100.0 * seconds / total, 1e3 * seconds);
            let title = pipeline.title();
            put(text, format_args!("{share:5.1}%  {ms:11.3}  {:10}  {title}", pipeline.dispatches));
        }
    }
}

impl PipelineProfile {
    /// What it is called.
    pub(super) fn title(&self) -> String {
        let code = if self.code.is_empty() { String::new() } else { format!(" [{}]", &self.code[..8]) };
        match self.file() {
            "" => format!("{}{code}", self.name),
            file => format!("{}{code}, {file}", self.name),
        }
    }

    /// Milliseconds of each dispatch that a share of its threads' time is.
    fn milliseconds(&self, share: f64) -> f64 {
        1e3 * share * self.elapsed.as_secs_f64() / self.dispatches.max(1) as f64
    }

    fn write(&self, text: &mut String, source: Source<'_>) {
        let (seconds, threads) = (self.elapsed.as_secs_f64(), self.threads);
        let unit = if self.gpu.is_some() { "multiprocessor" } else { "thread" };
        put(
            text,
            format_args!(
                "{}: {} dispatch{} in {seconds:.3} s on {threads} {unit}{}, {} samples",
                self.title(),
                self.dispatches,
                if self.dispatches == 1 { "" } else { "es" },
                s(threads as u64),
                self.samples
            ),
        );
        if let Some(gpu) = &self.gpu {
            put(text, format_args!("{:.4} ms/dispatch", self.milliseconds(1.0)));
            return gpu.write(text);
        }
        if self.rows.is_empty() {
            put(text, format_args!("too short to be seen"));
            return;
        }
        put(text, format_args!("\n{:>6}  {:>11}  family", "share", "ms/dispatch"));
        for (family, share) in self.families() {
            put(
                text,
                format_args!("{:5.1}%  {:11.4}  {}", 100.0 * share, self.milliseconds(share), family.name()),
            );
        }
        self.lines(text, source);
    }

    fn lines(&self, text: &mut String, source: Source<'_>) {
        let shown: Vec<&Row> = self.rows.iter().filter(|row| row.share >= SMALLEST).collect();
        let width = |of: fn(&Row) -> String, least: usize| {
            shown.iter().map(|row| of(row).chars().count()).fold(least, usize::max)
        };
        let place = |row: &Row| match (row.place(), row.function.as_str()) {
            (place, "") => place,
            (place, function) => format!("{place} {function}"),
        };
        let (places, whats) = (width(place, 5), width(Row::what, 4));
        put(text, format_args!("\n{:>6}  {:>11}  {:places$}  what", "share", "ms/dispatch", "place"));
        for row in &shown {
            let (share, ms) = (100.0 * row.share, self.milliseconds(row.share));
            let line = (row.line != 0).then(|| source(&row.file, row.line)).flatten().unwrap_or_default();
            let line: String = line.trim().chars().take(MAX_SOURCE).collect();
            let line =
                format!("{share:5.1}%  {ms:11.4}  {:places$}  {:whats$}  {line}", place(row), row.what());
            put(text, format_args!("{}", line.trim_end()));
        }
        let hidden = self.rows.len() - shown.len();
        if hidden > 0 {
            let share: f64 = self.rows[shown.len()..].iter().map(|row| row.share).sum();
            put(
                text,
                format_args!("{:5.1}%  {:11.4}  {hidden} more", 100.0 * share, self.milliseconds(share)),
            );
        }
    }
}

impl OnGpu {
    fn write(&self, text: &mut String) {
        let it = &self.occupancy;
        put(
            text,
            format_args!(
                "\noccupancy {:.0}%: {} of {} warps, {} work-group{} of {} threads on a multiprocessor, for want of {}",
                100.0 * it.share(),
                it.warps,
                it.most_warps,
                it.groups,
                s(it.groups.into()),
                it.threads,
                it.bound.name()
            ),
        );
        put(
            text,
            format_args!(
                "{} registers and {} bytes of memory a thread, {} bytes of shared memory a work-group",
                it.registers, it.local_bytes, it.shared_bytes
            ),
        );
        if !self.blind.is_empty() {
            put(text, format_args!("what warps wait for is not known: {}", self.blind));
            return;
        }
        put(text, format_args!("\n{:>6}  {:20}  a warp executes, or waits for", "share", "stall"));
        for stall in self.stalls.iter().filter(|stall| stall.share >= SMALLEST) {
            let line = format!("{:5.1}%  {:20}  {}", 100.0 * stall.share, stall.name, stall.meaning());
            put(text, format_args!("{}", line.trim_end()));
        }
    }
}

/// The ending of a word for so many.
fn s(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Nothing goes wrong with a text.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;

    #[test]
    fn tables_have_families_and_lines_with_their_text() {
        let source = |_file: &str, line: u32| (line == 3).then(|| "  c = mul(a, b, c);".to_owned());
        let text = sample().to_text(&source);
        for wanted in [
            "main [00000000], a<b>.comp: 8 dispatches in 0.102 s on 2 threads, 1000 samples\n",
            " 60.0%       7.6500  multiply-add\n",
            " 10.0%       1.2750  idle\n",
            " 60.0%       7.6500  a<b>.comp:3 main  multiply-add: mat_mul_add  c = mul(a, b, c);\n",
            " 20.0%       2.5500  a<b>.comp:9 main  memory: load\n",
        ] {
            assert!(text.contains(wanted), "{wanted:?} is not in\n{text}");
        }
    }

    #[test]
    fn a_gpu_has_its_occupancy_and_stalls_or_says_why_not() {
        let none = |_file: &str, _line: u32| None;
        let text = super::super::gpu::tests::sample("").to_text(&none);
        for wanted in [
            "main [00000000]: 4 dispatches in 0.008 s on 132 multiprocessors, 200 samples\n2.0000 ms/dispatch\n",
            "occupancy 19%: 12 of 64 warps, 1 work-group of 384 threads on a multiprocessor, for want of registers\n",
            " 60.0%  long_scoreboard       global memory\n",
        ] {
            assert!(text.contains(wanted), "{wanted:?} is not in\n{text}");
        }
        let text = super::super::gpu::tests::sample("no CUPTI").to_text(&none);
        assert!(text.ends_with("what warps wait for is not known: no CUPTI\n"), "{text}");
    }
}
