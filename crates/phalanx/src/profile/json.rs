//! Profiles as JSON.

use std::fmt::Write as _;

use super::{Occupancy, OnGpu, PipelineProfile, Profile, Row};

impl Profile {
    /// An object with the list `pipelines`, each with its list `rows`, with the fields of [`PipelineProfile`] and [`Row`]; of a
    /// GPU each has `gpu`, with the fields of [`Occupancy`] and the object `stalls`. Times are in seconds.
    pub fn to_json(&self) -> String {
        let pipelines: Vec<String> = self.pipelines.iter().map(pipeline_json).collect();
        format!("{{\"pipelines\": [{}]}}\n", pipelines.join(", "))
    }
}

fn pipeline_json(pipeline: &PipelineProfile) -> String {
    let PipelineProfile { name, code, threads, dispatches, elapsed, samples, seen, rows, gpu } = pipeline;
    let (elapsed, seen) = (elapsed.as_secs_f64(), seen.as_secs_f64());
    let families = pipeline.families();
    let families = families.iter().map(|(family, share)| format!("{}: {share:.7}", quoted(family.name())));
    let families: Vec<String> = families.collect();
    let rows: Vec<String> = rows.iter().map(row_json).collect();
    format!(
        "{{\"name\": {}, \"code\": {}, \"threads\": {threads}, \"dispatches\": {dispatches}, \
         \"elapsed\": {elapsed}, \"samples\": {samples}, \"seen\": {seen}, \
         {}\"families\": {{{}}}, \"rows\": [\n{}\n]}}",
        quoted(name),
        quoted(code),
        gpu.as_ref().map_or_else(String::new, |gpu| format!("\"gpu\": {}, ", gpu_json(gpu))),
        families.join(", "),
        rows.join(",\n")
    )
}

fn gpu_json(gpu: &OnGpu) -> String {
    let OnGpu { occupancy, stalls, blind } = gpu;
    let Occupancy { registers, local_bytes, shared_bytes, threads, groups, warps, most_warps, bound } =
        occupancy;
    let stalls = stalls.iter().map(|stall| format!("{}: {:.7}", quoted(&stall.name), stall.share));
    format!(
        "{{\"registers\": {registers}, \"local_bytes\": {local_bytes}, \"shared_bytes\": {shared_bytes}, \
         \"threads\": {threads}, \"groups\": {groups}, \"warps\": {warps}, \"most_warps\": {most_warps}, \
         \"bound\": {}, \"stalls\": {{{}}}, \"blind\": {}}}",
        quoted(bound.name()),
        stalls.collect::<Vec<_>>().join(", "),
        quoted(blind)
    )
}

fn row_json(row: &Row) -> String {
    let Row { file, line, word, function, operation, family, share } = row;
    format!(
        "{{\"file\": {}, \"line\": {line}, \"word\": {word}, \"function\": {}, \"operation\": {}, \
         \"family\": {}, \"share\": {share:.7}}}",
        quoted(file),
        quoted(function),
        quoted(operation),
        quoted(family.name())
    )
}

/// A text in quotes (RFC 8259, section 7).
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn fields_have_their_names() {
        let json = sample().to_json();
        for wanted in [
            "\"name\": \"main\", \"code\": \"00000000000000ab\", \"threads\": 2, \"dispatches\": 8,",
            "\"families\": {\"multiply-add\": 0.6000000, \"memory\": 0.2000000,",
            "\"line\": 3, \"word\": 30, \"function\": \"main\", \"operation\": \"mat_mul_add\",",
        ] {
            assert!(json.contains(wanted), "{wanted} is not in {json}");
        }
        let json = super::super::gpu::tests::sample("").to_json();
        for wanted in [
            "\"gpu\": {\"registers\": 168, \"local_bytes\": 0, \"shared_bytes\": 213000, \"threads\": 384, ",
            "\"bound\": \"registers\", \"stalls\": {\"long_scoreboard\": 0.6000000, ",
        ] {
            assert!(json.contains(wanted), "{wanted} is not in {json}");
        }
        assert_eq!(quoted("a\"b\\\n"), "\"a\\\"b\\\\\\u000a\"");
    }
}
