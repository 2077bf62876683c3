//! Records as tables for people.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

use crate::record::Record;

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
    let header = [
        "kernel",
        "types",
        "problem",
        "tile",
        "GFLOP/s",
        "peak",
        "share",
        "largest error",
        "compile",
        "result",
    ];
    let mut table = new(&header, 4);
    for record in records {
        table.add_row(row(record));
    }
    table
}

fn row(record: &Record) -> [String; 10] {
    [
        record.rung.clone(),
        format!("{}->{}", record.a, record.c),
        record.problem.clone(),
        record.tile.clone(),
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
        for part in ["tiled", "f16->f32", "512³", "400.0", "500 f32 FMA", "80.0%", "1.0e-7", "12.5 ms", "ok"]
        {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn a_wrong_result_stands_out() {
        let record = Record { ok: false, ..sample("tiled", 400.0) };
        assert!(ladder(&[record]).to_string().contains("WRONG"));
    }
}
