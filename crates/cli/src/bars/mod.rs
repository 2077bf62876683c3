//! `phalanx bench all`: every workload against the share of the machine that it is to reach.
//!
//! The [`rows`] are data: what is measured, in which tile sizes, against what. Rows that differ only in what is looked at share
//! one measurement. A [`Figure`] is what came out of a row. What has been measured is written after each group of rows, so
//! that a run which is cut short leaves it.

mod dispatch;
mod figure;
mod rows;
mod scaling;

use std::path::Path;

use anyhow::{Context, Result, ensure};

use self::figure::Figure;
use self::rows::{Group, Machine, On, Source};
use crate::args::{AllArgs, Versus};
use crate::data::check_place;
use crate::measure::{self, Bench, Effort, Watch};
use crate::progress::{self, Interrupt};
use crate::record::{Record, STANDARD_OUTPUT, write_text};
use crate::runtime::{Choices, Device, DeviceKind, Processor};
use crate::versus::{self, Library};
use crate::{Status, tell, warn};

/// Measures all rows that the user wants.
pub(crate) fn run(args: &AllArgs) -> Result<Status> {
    if let Some(path) = args.json.as_deref().filter(|path| *path != Path::new(STANDARD_OUTPUT)) {
        check_place(path)?;
    }
    // This may start the process again.
    let library = versus::open(Versus::OneDnn);
    let machine = Machine::new(&Device::new(args.threads)?, library.as_ref().err());
    let groups = rows::all(&machine, args.quick, &args.filter)?;
    ensure!(!groups.is_empty(), "no row is called {}; there are {}", args.filter, rows::names(&machine)?);
    let interrupt = Interrupt::listen()?;
    let bar = progress::bar(groups.iter().map(Group::steps).sum());
    let mut run = Run {
        args,
        library: library.ok(),
        watch: Watch { bar: &bar, interrupt: &interrupt },
        figures: Vec::new(),
        chosen: Vec::new(),
        is_wrong: false,
    };
    let mut first_error = None;
    for group in groups {
        if interrupt.is_set() {
            break;
        }
        if let Err(error) = run.group(group) {
            bar.suspend(|| warn(format!("{error:#}")));
            first_error.get_or_insert(error);
        }
        run.write()?;
    }
    bar.finish_and_clear();
    let is_output_taken = args.json.as_deref() == Some(Path::new(STANDARD_OUTPUT));
    tell(figure::table(&run.figures), is_output_taken)?;
    tell(figure::summary(&run.figures), is_output_taken)?;
    if args.quick {
        tell("Small problems, measured once: these figures mean nothing.", is_output_taken)?;
    }
    if is_output_taken {
        write_text(Path::new(STANDARD_OUTPUT), figure::json(&run.figures)?)?;
    }
    match first_error {
        Some(error) => Err(error),
        None if interrupt.is_set() => Ok(Status::Interrupted),
        None if run.is_wrong => Ok(Status::Wrong),
        None => Ok(Status::Done),
    }
}

/// A run so far.
struct Run<'a> {
    args: &'a AllArgs,
    library: Option<Library>,
    watch: Watch<'a>,
    figures: Vec<Figure>,
    /// The records of the kernels that stand in rows.
    chosen: Vec<Record>,
    is_wrong: bool,
}

impl Run<'_> {
    fn group(&mut self, group: Group) -> Result<()> {
        let Group { source, rows } = group;
        let effort = if self.args.quick { Effort::QUICK } else { Effort::FULL };
        match source {
            Source::Absent(reason) => {
                self.figures.extend(rows.iter().map(|row| Figure::absent(row, &reason)));
                self.watch.bar.inc(1);
            }
            Source::Kernels(workloads, On { threads, processor, is_compared }) => {
                let processor = processor.map(Processor::from_name).transpose()?;
                let threads = threads.or(self.args.threads);
                let device =
                    Device::of_kind(DeviceKind::Cpu, Choices { threads, processor, ..Choices::default() })?;
                let versus = self.library.as_ref().filter(|_| is_compared);
                let bench = Bench { device: &device, versus, effort };
                let mut records = Vec::new();
                for workload in &workloads {
                    // The best or the worst of a part says nothing of all.
                    if !measure::records_of(&bench, &**workload, &self.watch, &mut records)? {
                        return Ok(());
                    }
                }
                self.is_wrong |= records.iter().any(|record| !record.ok);
                for row in &rows {
                    let Some((figure, chosen)) = Figure::of(row, &records) else { continue };
                    self.figures.push(figure);
                    for record in chosen {
                        // Several rows may look at one kernel.
                        if !self.chosen.contains(record) {
                            self.chosen.push(record.clone());
                        }
                    }
                }
            }
            Source::Scaling(workload) => {
                let row = rows.first().context("a group has rows")?;
                self.figures.extend(scaling::measure(row, &*workload, effort, &self.watch)?);
            }
            Source::Dispatch => {
                let row = rows.first().context("a group has rows")?;
                let device = Device::new(self.args.threads)?;
                self.figures.extend(dispatch::measure(row, &device, self.args.quick, &self.watch)?);
                self.watch.bar.inc(1);
            }
            Source::Compilation => {
                let figure = |row| Figure::of_compilation(row, &self.chosen);
                self.figures.extend(rows.iter().map(figure));
                self.watch.bar.inc(1);
            }
        }
        Ok(())
    }

    /// Writes what there is to a file.
    fn write(&self) -> Result<()> {
        match self.args.json.as_deref() {
            Some(path) if path != Path::new(STANDARD_OUTPUT) => {
                write_text(path, figure::json(&self.figures)?)
            }
            _ => Ok(()),
        }
    }
}
