//! What came out of a row, as JSON and as a table.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use comfy_table::Table;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::rows::{Pick, Row, Value};
use crate::record::Record;
use crate::table;

/// The fields are a format that others read: they only grow. What is known of the kernel that counts follows them, as in the
/// records of the other benchmarks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Figure {
    row: String,
    workload: String,
    /// M, N and K of one matrix, where there is one.
    shape: String,
    /// What the value and the bar are: a share of something, or a time.
    unit: String,
    bar: f64,
    /// Nothing where the machine lacks what it takes.
    value: Option<f64>,
    met: Option<bool>,
    /// What the machine lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_applicable: Option<String>,
    /// The values of all kernels that the row looks at, by name, if they are several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    members: BTreeMap<String, f64>,
    #[serde(flatten)]
    record: Map<String, Json>,
}

impl Value {
    /// Of a kernel that was measured.
    fn of(self, record: &Record) -> Option<f64> {
        match self {
            Self::Peak => Some(record.share_of_peak),
            Self::Versus => record.versus_ratio,
            Self::CompileMs => Some(record.compile_ms),
            Self::Threads | Self::DispatchUs | Self::KeptMs => None,
        }
    }

    fn unit(self, record: Option<&Record>) -> String {
        let of = |text: Option<&str>, unknown: &str| text.unwrap_or(unknown).to_owned();
        match self {
            Self::Peak => {
                format!("of the peak: {}", of(record.map(|record| record.peak_unit.as_str()), "any"))
            }
            Self::Versus => {
                format!("times {}", of(record.and_then(|record| record.versus.as_deref()), "the library"))
            }
            Self::Threads => "times one thread".to_owned(),
            Self::CompileMs | Self::KeptMs => "ms".to_owned(),
            Self::DispatchUs => "µs".to_owned(),
        }
    }

    fn is_less_better(self) -> bool {
        matches!(self, Self::CompileMs | Self::KeptMs | Self::DispatchUs)
    }
}

impl Figure {
    /// Of a row that the machine cannot have.
    pub(crate) fn absent(row: &Row, reason: &str) -> Self {
        Self { not_applicable: Some(reason.to_owned()), ..Self::empty(row, None) }
    }

    /// Of a value that is in no record.
    pub(crate) fn new(
        row: &Row,
        value: f64,
        members: BTreeMap<String, f64>,
        record: Option<&Record>,
    ) -> Self {
        Self { members, ..Self::empty(row, record).with(row, value) }
    }

    fn empty(row: &Row, record: Option<&Record>) -> Self {
        let mut fields = match record.map(serde_json::to_value) {
            Some(Ok(Json::Object(fields))) => fields,
            _ => Map::new(),
        };
        // They stand in front.
        fields.remove("workload");
        fields.remove("shape");
        Self {
            row: row.name.clone(),
            workload: row.workload.to_owned(),
            shape: record.map_or_else(String::new, |record| record.shape.clone()),
            unit: row.value.unit(record),
            bar: row.bar,
            value: None,
            met: None,
            not_applicable: None,
            members: BTreeMap::new(),
            record: fields,
        }
    }

    fn with(self, row: &Row, value: f64) -> Self {
        let is_met = if row.value.is_less_better() { value <= row.bar } else { value >= row.bar };
        Self { value: Some(value), met: Some(is_met), ..self }
    }

    /// Of the kernels that a row looks at, and the best records of each; nothing if none was measured.
    pub(crate) fn of<'a>(row: &Row, records: &'a [Record]) -> Option<(Self, Vec<&'a Record>)> {
        // The best tiles of each kernel, by its name.
        let mut best: BTreeMap<String, (f64, &Record)> = BTreeMap::new();
        for record in records.iter().filter(|record| row.selects(record)) {
            let Some(value) = row.value.of(record) else { continue };
            let known = best.entry(name(row, record)).or_insert((value, record));
            if value > known.0 {
                *known = (value, record);
            }
        }
        let mut found: Vec<(f64, &Record)> = best.values().copied().collect();
        let chosen = found.iter().map(|(_, record)| *record).collect();
        found.sort_by(|x, y| x.0.total_cmp(&y.0));
        let &(value, record) = match row.pick {
            Pick::Best => found.last()?,
            Pick::Worst => found.first()?,
            Pick::Median => found.get(found.len().checked_sub(1)? / 2)?,
        };
        let members = match best.len() {
            1 => BTreeMap::new(),
            _ => best.iter().map(|(name, (value, _))| (name.clone(), *value)).collect(),
        };
        Some((Self::new(row, value, members, Some(record)), chosen))
    }

    /// Of the time that the kernels of other rows took to compile.
    pub(crate) fn of_compilation(row: &Row, records: &[Record]) -> Self {
        let mut times: Vec<&Record> = records.iter().collect();
        times.sort_by(|x, y| x.compile_ms.total_cmp(&y.compile_ms));
        let record = match row.pick {
            Pick::Median => times.get(times.len() / 2),
            Pick::Best | Pick::Worst => times.last(),
        };
        match record {
            Some(record) => Self::new(row, record.compile_ms, BTreeMap::new(), Some(record)),
            None => Self::absent(row, "no kernel was measured in this run"),
        }
    }

    fn cells(&self) -> [String; 6] {
        let number = |number: f64| match self.unit.as_str() {
            "ms" | "µs" => format!("{number:.1} {}", self.unit),
            unit if unit.starts_with("times") => format!("{number:.2}"),
            _ => format!("{:.1}%", 100.0 * number),
        };
        let text = |name: &str| self.record.get(name).and_then(Json::as_str).unwrap_or_default();
        let kernel = [text("rung"), text("problem"), &self.shape, text("tile")];
        let kernel: Vec<&str> = kernel.into_iter().filter(|part| !part.is_empty()).collect();
        let kernel = self.not_applicable.clone().unwrap_or_else(|| kernel.join(", "));
        let met = self.met.map_or("-", |met| if met { "yes" } else { "NO" }).to_owned();
        let value = self.value.map_or_else(|| "-".to_owned(), number);
        [self.row.clone(), self.unit.clone(), number(self.bar), value, met, kernel]
    }
}

/// What tells a row's kernels apart. Where the best is looked for, nothing does; else all that a program chooses for its own
/// reasons, but not the tile.
fn name(row: &Row, record: &Record) -> String {
    let Record { rung, a, c, problem, shape, .. } = record;
    match row.pick {
        Pick::Best => String::new(),
        // Ways to write the other workloads are free.
        Pick::Worst | Pick::Median if shape.is_empty() => format!("{a}->{c} {problem}"),
        Pick::Worst | Pick::Median => format!("{rung} {a}->{c} {shape} {problem}"),
    }
}

/// A JSON array.
pub(crate) fn json(figures: &[Figure]) -> Result<String> {
    let text = serde_json::to_string_pretty(figures).context("the figures cannot be written as JSON")?;
    Ok(text + "\n")
}

/// How many bars are met.
pub(crate) fn summary(figures: &[Figure]) -> String {
    let count = |met: Option<bool>| figures.iter().filter(|figure| figure.met == met).count();
    let (met, short, absent) = (count(Some(true)), count(Some(false)), count(None));
    format!("{met} of {} bars met, {absent} not applicable on this machine", met + short)
}

/// For people.
pub(crate) fn table(figures: &[Figure]) -> Table {
    let mut table = table::new(&["row", "unit", "bar", "value", "met", "kernel"], 2);
    if let Some(column) = table.column_mut(5) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for figure in figures {
        table.add_row(figure.cells());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::rows::tests::row;
    use crate::record::tests::sample;

    fn record(rung: &str, tile: &str, gflops: f64) -> Record {
        Record { tile: tile.to_owned(), compile_ms: gflops / 10.0, ..sample(rung, gflops) }
    }

    fn value(figure: &Figure) -> (Option<f64>, Option<bool>) {
        (figure.value, figure.met)
    }

    #[test]
    fn the_best_tile_of_a_kernel_counts_and_the_worst_or_middle_kernel() {
        let records =
            [("a", "1", 100.0), ("a", "2", 300.0), ("b", "1", 400.0), ("b", "2", 50.0), ("c", "1", 200.0)]
                .map(|(rung, tile, rate)| record(rung, tile, rate));
        let of = |pick| Figure::of(&row(Value::Peak, pick, 0.6), &records).expect("measured");
        let (best, chosen) = of(Pick::Best);
        assert_eq!((value(&best), chosen.len()), ((Some(0.8), Some(true)), 1));
        assert!(best.members.is_empty());
        let (worst, chosen) = of(Pick::Worst);
        assert_eq!((value(&worst), chosen.len()), ((Some(0.4), Some(false)), 3));
        assert_eq!(worst.record["rung"], "c");
        let (median, _) = of(Pick::Median);
        assert_eq!(value(&median), (Some(0.6), Some(true)));
        assert_eq!((median.members.len(), median.record["tile"].as_str()), (3, Some("2")));
        assert!(Figure::of(&row(Value::Versus, Pick::Best, 0.9), &records).is_none(), "nothing was compared");
    }

    #[test]
    fn of_times_less_is_better() {
        let records = [record("a", "1", 100.0), record("b", "1", 200.0), record("c", "1", 900.0)];
        let of = |pick| Figure::of_compilation(&row(Value::CompileMs, pick, 40.0), &records);
        assert_eq!(value(&of(Pick::Median)), (Some(20.0), Some(true)));
        assert_eq!(value(&of(Pick::Worst)), (Some(90.0), Some(false)));
        let none = Figure::of_compilation(&row(Value::CompileMs, Pick::Worst, 40.0), &[]);
        assert!(none.not_applicable.is_some() && none.value.is_none());
    }

    #[test]
    fn a_figure_has_each_field_once_and_those_of_the_record_behind() {
        let records = [record("a", "1", 100.0)];
        let (figure, _) = Figure::of(&row(Value::Peak, Pick::Best, 0.5), &records).expect("measured");
        let text =
            json(&[figure.clone(), Figure::absent(&row(Value::Versus, Pick::Best, 0.9), "no library")])
                .expect("JSON");
        for field in ["row", "workload", "shape", "unit", "bar", "value", "met"] {
            assert_eq!(text.matches(&format!("\"{field}\":")).count(), 2, "{field}: {text}");
        }
        assert_eq!(text.matches("\"gflops\":").count(), 1);
        assert!(
            text.contains("\"not_applicable\": \"no library\"") && text.contains("\"value\": null"),
            "{text}"
        );
        let absent = Figure::absent(&row(Value::Versus, Pick::Best, 0.9), "no library");
        let all = [figure.clone(), absent];
        assert_eq!(summary(&all), "0 of 1 bars met, 1 not applicable on this machine");
        let text = table(&[figure]).to_string();
        for part in ["a row", "of the peak: f32 FMA", "50.0%", "20.0%", "NO", "a, 512³, 16x16x16, 1"] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }
}
