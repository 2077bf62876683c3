//! Records as tables for people.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

use crate::record::Record;

/// How the unit of a peak begins that counts bytes.
pub(crate) const BYTES: &str = "GB/s";

/// A table whose columns from `first_number` on are aligned to the right.
pub(crate) fn new(header: &[&str], first_number: usize) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header(header.iter().copied());
    for column in table.column_iter_mut().skip(first_number) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// One row for each record, in their order.
pub(crate) fn ladder(records: &[Record]) -> Table {
    // Where memory bounds, bytes are counted; a table may have both.
    let is_bytes = |record: &Record| record.peak_unit.starts_with(BYTES);
    let rate = match (records.iter().all(is_bytes), records.iter().any(is_bytes)) {
        (true, _) => BYTES,
        (false, true) => "GFLOP/s, GB/s",
        (false, false) => "GFLOP/s",
    };
    let header: &[&str] = &[
        "kernel",
        "types",
        "problem",
        "tile",
        "matrix",
        rate,
        "peak",
        "share",
        "largest error",
        "compile",
        "result",
    ];
    // Only where something was compared.
    let libraries = records.iter().any(|record| record.versus.is_some());
    let versus: &[&str] = if libraries { &["versus", "its rate", "times as fast"] } else { &[] };
    let mut table = new(&[header, versus].concat(), 5);
    for record in records {
        let mut row = row(record).to_vec();
        if libraries {
            let number = |number: Option<f64>, digits: usize| {
                number.map_or_else(|| "-".to_owned(), |number| format!("{number:.digits$}"))
            };
            row.push(record.versus.clone().unwrap_or_else(|| "-".to_owned()));
            row.extend([number(record.versus_gflops, 1), number(record.versus_ratio, 2)]);
        }
        table.add_row(row);
    }
    table
}

/// What each kernel read of each buffer, and how long it took, if anything was counted.
pub(crate) fn reads(records: &[Record]) -> Option<Table> {
    let counted = || records.iter().filter(|record| !record.elements_read.is_empty());
    let buffers: Vec<&String> = counted().next()?.elements_read.keys().collect();
    let mut header = vec!["kernel".to_owned(), "problem".to_owned()];
    header.extend(buffers.iter().map(|name| format!("read of {name}")));
    header.extend(["elements read".to_owned(), "time".to_owned()]);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = new(&header, 2);
    for record in counted() {
        let mut row = vec![record.rung.clone(), record.problem.clone()];
        let read = |name: &&String| record.elements_read.get(*name).copied().unwrap_or(0);
        row.extend(buffers.iter().map(|name| read(name).to_string()));
        row.push(record.elements_read.values().sum::<u64>().to_string());
        row.push(format!("{:.3} ms", 1e3 * record.seconds));
        table.add_row(row);
    }
    Some(table)
}

fn row(record: &Record) -> [String; 11] {
    [
        record.rung.clone(),
        format!("{}->{}", record.a, record.c),
        record.problem.clone(),
        record.tile.clone(),
        record.shape.clone(),
        format!("{:.1}", record.gflops),
        format!("{:.0} {}", record.peak_gflops, record.peak_unit),
        format!("{:.1}%", 100.0 * record.share_of_peak),
        match record.max_rel_error {
            0.0 => "0".to_owned(),
            error => format!("{error:.1e}"),
        },
        format!("{:.1} ms", record.compile_ms),
        if record.ok { "ok" } else { "WRONG" }.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::sample;

    #[test]
    fn a_row_shows_what_matters() {
        let text = ladder(&[sample("tiled", 400.0)]).to_string();
        for part in [
            "tiled",
            "f16->f32",
            "512³",
            "16x16x16",
            "400.0",
            "500 f32 FMA",
            "80.0%",
            "1.0e-7",
            "12.5 ms",
            "ok",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn what_was_counted_is_a_table_of_its_own() {
        let record = sample("loads", 400.0);
        assert!(reads(std::slice::from_ref(&record)).is_none());
        let elements_read =
            [("image", 12), ("weights", 30)].map(|(name, read)| (name.to_owned(), read)).into();
        let text = reads(&[record.clone(), Record { elements_read, ..record }]).expect("counted").to_string();
        for part in ["read of image", "12", "30", "42", "0.671 ms"] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert_eq!(text.matches("loads").count(), 1);
    }

    #[test]
    fn what_was_compared_has_columns() {
        let beside = Record {
            versus: Some("oneDNN 2.6.3 f32".to_owned()),
            versus_gflops: Some(320.0),
            versus_ratio: Some(1.25),
            ..sample("shared", 400.0)
        };
        let text = ladder(&[sample("tiled", 400.0), beside]).to_string();
        for part in ["times as fast", "oneDNN 2.6.3 f32", "320.0", "1.25", " - "] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(!ladder(&[sample("tiled", 400.0)]).to_string().contains("times as fast"));
    }

    #[test]
    fn rates_are_headed_by_what_they_count() {
        let peak_unit = "GB/s read".to_owned();
        let bytes = Record { peak_unit, ..sample("sum", 20.0) };
        let text = ladder(std::slice::from_ref(&bytes)).to_string();
        assert!(text.contains("GB/s ") && !text.contains("GFLOP/s"), "{text}");
        let text = ladder(&[bytes, sample("tiled", 400.0)]).to_string();
        assert!(text.contains("GFLOP/s, GB/s"), "{text}");
    }

    #[test]
    fn a_wrong_result_stands_out() {
        let record = Record { ok: false, ..sample("tiled", 400.0) };
        assert!(ladder(&[record]).to_string().contains("WRONG"));
    }
}
