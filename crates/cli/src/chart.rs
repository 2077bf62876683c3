//! Records as a picture: one panel for each problem, its kernels as bars against the measured peak, or where it was counted
//! what they read and how long that took. And what a training lost.

use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::output;
use crate::record::Record;
use crate::table::BYTES;

const PANEL_WIDTH: u32 = 560;
const PANEL_HEIGHT: u32 = 300;
const MAX_COLUMNS: usize = 2;

const BAR: RGBColor = RGBColor(0x2b, 0x6c, 0xb0);
const WRONG: RGBColor = RGBColor(0xc5, 0x30, 0x30);
const PEAK: RGBColor = RGBColor(0xdd, 0x6b, 0x20);
const INK: RGBColor = RGBColor(0x2d, 0x37, 0x48);

/// Writes an SVG of all records.
pub(crate) fn write_svg(path: &Path, records: &[Record]) -> Result<()> {
    let picture = draw(records)?;
    output::write(path, picture)
}

fn draw(records: &[Record]) -> Result<String> {
    ensure!(!records.is_empty(), "there is no result to draw");
    let panels: Vec<Panel> = problems(records).iter().flat_map(|problem| Panel::of(problem)).collect();
    let columns = panels.len().min(MAX_COLUMNS);
    let rows = panels.len().div_ceil(columns);
    let size = (PANEL_WIDTH * columns as u32, PANEL_HEIGHT * rows as u32);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        for (panel, area) in panels.iter().zip(area.split_evenly((rows, columns))) {
            draw_panel(panel, &area).map_err(failed)?;
        }
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

/// The drawing library's errors borrow the canvas; only their text can leave.
fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("the chart cannot be drawn: {error}")
}

/// Records of the same problem, in the order of their first appearance.
fn problems(records: &[Record]) -> Vec<Vec<&Record>> {
    let key = |record: &Record| {
        (record.workload.clone(), record.problem.clone(), record.a.clone(), record.c.clone())
    };
    let mut problems: Vec<Vec<&Record>> = Vec::new();
    for record in records {
        match problems.iter_mut().find(|problem| key(problem[0]) == key(record)) {
            Some(problem) => problem.push(record),
            None => problems.push(vec![record]),
        }
    }
    problems
}

/// Bars below a title.
struct Panel {
    title: String,
    unit: &'static str,
    bars: Vec<Bar>,
    peak: Option<f64>,
}

struct Bar {
    name: String,
    value: f64,
    /// What stands above it.
    figure: String,
    ok: bool,
}

impl Panel {
    /// The rates of a problem's kernels; or what they read, if that was counted, and beside it their times.
    fn of(problem: &[&Record]) -> Vec<Self> {
        if problem.iter().any(|record| !record.elements_read.is_empty()) {
            vec![Self::reads(problem), Self::times(problem)]
        } else {
            vec![Self::rates(problem)]
        }
    }

    fn rates(problem: &[&Record]) -> Self {
        let first = problem[0];
        // Matrices of one shape need no mention, nor does a tile of which there is one.
        let name = |record: &Record| {
            let alike = || problem.iter().filter(|other| other.rung == record.rung);
            match () {
                () if alike().count() == 1 => record.rung.clone(),
                () if alike().filter(|other| other.shape == record.shape).count() == 1 => {
                    format!("{} {}", record.rung, record.shape)
                }
                () => format!("{} {}", record.rung, record.tile),
            }
        };
        let bar = |record: &&Record| Bar {
            name: name(record),
            value: record.gflops,
            figure: format!("{:.0} ({:.0}%)", record.gflops, 100.0 * record.share_of_peak),
            ok: record.ok,
        };
        Self {
            title: format!(
                "{}: {}, {} → {}, {} threads",
                first.workload, first.problem, first.a, first.c, first.threads
            ),
            unit: if first.peak_unit.starts_with(BYTES) { BYTES } else { "GFLOP/s" },
            bars: problem.iter().map(bar).collect(),
            // Measured beside each kernel, so not quite the same for all.
            peak: Some(problem.iter().map(|record| record.peak_gflops).fold(0.0, f64::max)),
        }
    }

    /// Buffer by buffer, so that kernels stand beside each other.
    fn reads(problem: &[&Record]) -> Self {
        let first = problem[0];
        let bars = first.elements_read.keys().flat_map(|buffer| {
            problem.iter().map(move |record| {
                let read = record.elements_read.get(buffer).copied().unwrap_or(0);
                Bar {
                    name: format!("{}: {buffer}", record.rung),
                    value: read as f64 / 1000.0,
                    figure: read.to_string(),
                    ok: record.ok,
                }
            })
        });
        Self {
            title: format!("{}: {}, elements read", first.workload, first.problem),
            unit: "thousands",
            bars: bars.collect(),
            peak: None,
        }
    }

    fn times(problem: &[&Record]) -> Self {
        let first = problem[0];
        let bar = |record: &&Record| Bar {
            name: record.rung.clone(),
            value: 1e3 * record.seconds,
            figure: format!("{:.3} ms ({:.0}% of peak)", 1e3 * record.seconds, 100.0 * record.share_of_peak),
            ok: record.ok,
        };
        Self {
            title: format!("Time, {} → {}, {} threads", first.a, first.c, first.threads),
            unit: "ms",
            bars: problem.iter().map(bar).collect(),
            peak: None,
        }
    }
}

type Failure<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

fn draw_panel<'a>(panel: &Panel, area: &DrawingArea<SVGBackend<'a>, Shift>) -> Result<(), Failure<'a>> {
    let tallest = panel.bars.iter().map(|bar| bar.value).fold(panel.peak.unwrap_or(0.0), f64::max);
    let bars = panel.bars.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .caption(&panel.title, ("sans-serif", 15).into_font().color(&INK))
        .x_label_area_size(24)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..bars, 0.0..1.18 * if tallest > 0.0 { tallest } else { 1.0 })?;
    let digits = if tallest < 5.0 { 2 } else { 0 };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .y_labels(5)
        .y_label_formatter(&|value| format!("{value:.digits$}"))
        .y_desc(panel.unit)
        .label_style(("sans-serif", 12).into_font().color(&INK))
        .draw()?;

    for (index, bar) in panel.bars.iter().enumerate() {
        let left = index as f64;
        let color = if bar.ok { BAR } else { WRONG };
        let corners = [(left + 0.18, 0.0), (left + 0.82, bar.value)];
        chart.draw_series([Rectangle::new(corners, color.filled())])?;
        let above = EmptyElement::at((left + 0.5, bar.value))
            + Text::new(bar.figure.clone(), (0, -4), label(&INK, HPos::Center, VPos::Bottom));
        chart.draw_series([above])?;
        let below = EmptyElement::at((left + 0.5, 0.0))
            + Text::new(bar.name.clone(), (0, 7), label(&INK, HPos::Center, VPos::Top));
        chart.draw_series([below])?;
    }

    if let Some(peak) = panel.peak {
        chart.draw_series([PathElement::new([(0.0, peak), (bars, peak)], PEAK.stroke_width(2))])?;
        let name = EmptyElement::at((0.0, peak))
            + Text::new(format!("peak {peak:.0}"), (6, -4), label(&PEAK, HPos::Left, VPos::Bottom));
        chart.draw_series([name])?;
    }
    Ok(())
}

fn label(color: &RGBColor, horizontal: HPos, vertical: VPos) -> TextStyle<'_> {
    TextStyle::from(("sans-serif", 12).into_font()).color(color).pos(Pos::new(horizontal, vertical))
}

/// Writes an SVG of the loss of each step of a training, on a logarithmic scale, with the mean of the steps around.
pub(crate) fn write_losses(path: &Path, losses: &[f64]) -> Result<()> {
    let picture = draw_losses(losses)?;
    output::write(path, picture)
}

fn draw_losses(losses: &[f64]) -> Result<String> {
    ensure!(!losses.is_empty(), "there is no loss to draw");
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (PANEL_WIDTH, PANEL_HEIGHT)).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        draw_curve(losses, &area).map_err(failed)?;
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

/// The most points of a curve.
const MAX_POINTS: usize = 500;

fn draw_curve<'a>(losses: &[f64], area: &DrawingArea<SVGBackend<'a>, Shift>) -> Result<(), Failure<'a>> {
    // A logarithm has no room for zero, nor a picture for what is no number.
    let shown = |loss: f64| if loss.is_nan() { 1e-12 } else { loss.clamp(1e-12, 1e12) };
    let part = losses.len().div_ceil(MAX_POINTS);
    let means = |part: usize| {
        losses.chunks(part).enumerate().map(move |(index, losses)| {
            let mean = losses.iter().sum::<f64>() / losses.len() as f64;
            (index as f64 * part as f64 + (losses.len() as f64 - 1.0) / 2.0, shown(mean))
        })
    };
    let least = means(part).map(|(_, loss)| loss).fold(f64::INFINITY, f64::min);
    let most = means(part).map(|(_, loss)| loss).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .caption("Mean squared error of a step's texels", ("sans-serif", 15).into_font().color(&INK))
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..losses.len() as f64, (0.8 * least..1.25 * most).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_label_formatter(&|value| format!("{value:.0}"))
        .y_label_formatter(&|value| format!("{value:.0e}"))
        .x_desc("step")
        .label_style(("sans-serif", 12).into_font().color(&INK))
        .draw()?;
    chart.draw_series([PathElement::new(means(part).collect::<Vec<_>>(), BAR.mix(0.35))])?;
    let smooth = means(losses.len().div_ceil(50)).collect::<Vec<_>>();
    chart.draw_series([PathElement::new(smooth, PEAK.stroke_width(2))])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::sample;

    #[test]
    fn every_rung_has_its_bar_and_every_panel_its_peak() {
        let mut records = vec![sample("simple", 100.0), sample("tiled", 400.0)];
        records.push(Record { c: "f16".to_owned(), ..sample("tiled", 380.0) });
        let svg = draw(&records).expect("there is something to draw");
        assert!(svg.starts_with("<svg"), "{svg}");
        for text in ["simple", "tiled", "400 (80%)", "380 (76%)", "f16 → f32", "f16 → f16"] {
            assert!(svg.contains(text), "{text} is missing");
        }
        assert_eq!(svg.matches("peak 500").count(), 2);
        assert_eq!(svg.matches("#2B6CB0").count(), 3);
    }

    #[test]
    fn bars_of_one_rung_have_names_of_their_own() {
        let with = |shape: &str, tile: &str| Record {
            shape: shape.to_owned(),
            tile: tile.to_owned(),
            ..sample("tiled", 400.0)
        };
        let names = |records: &[Record], texts: &[&str]| {
            let svg = draw(records).expect("there is something to draw");
            texts.iter().for_each(|text| assert!(svg.contains(text), "{text} is missing"));
        };
        names(&[with("16x16x16", "64x64x64"), with("8x8x8", "64x64x64")], &["tiled 16x16x16", "tiled 8x8x8"]);
        names(&[with("", "64x64x64"), with("", "128x64x64")], &["tiled 64x64x64", "tiled 128x64x64"]);
    }

    #[test]
    fn what_was_read_stands_beside_the_time() {
        let counted = |rung, image: u64| {
            let elements_read =
                [("image", image), ("weights", 600)].map(|(name, read)| (name.to_owned(), read));
            Record { elements_read: elements_read.into(), ..sample(rung, 400.0) }
        };
        let svg =
            draw(&[counted("loads", 1200), counted("rotations", 500)]).expect("there is something to draw");
        for text in ["elements read", "loads: image", "rotations: weights", "1200", "0.671 ms (80% of peak)"]
        {
            assert!(svg.contains(text), "{text} is missing");
        }
        assert_eq!((svg.matches("#2B6CB0").count(), svg.matches("peak 500").count()), (4 + 2, 0));
    }

    #[test]
    fn a_loss_is_a_curve_whatever_it_is() {
        let falling: Vec<f64> = (1..2000).map(|step| 1.0 / f64::from(step)).collect();
        let svg = draw_losses(&falling).expect("there is something to draw");
        assert!(svg.starts_with("<svg") && svg.matches("<polyline").count() >= 2, "{svg}");
        for odd in [vec![0.0], vec![1.0; 3], vec![f64::NAN, f64::INFINITY], vec![1e300, 0.0]] {
            assert!(draw_losses(&odd).is_ok(), "{odd:?}");
        }
    }

    #[test]
    fn a_chart_of_nothing_is_an_error() {
        assert!(draw_losses(&[]).is_err());
        assert!(draw(&[]).is_err());
    }
}
