//! `phalanx bench all`: every workload against the share of the machine that it is to reach.
//!
//! The [`rows`] of a processor and those of a [`gpu`] are data: what is measured, in which tile sizes, against what. Rows that
//! differ only in what is looked at share one measurement. A [`Figure`] is what came out of a row. What has been measured is written after each group of rows, so
//! that a run which is cut short leaves it.

mod dispatch;
mod figure;
mod gpu;
mod kept;
mod rows;
mod scaling;

use std::path::Path;

use anyhow::{Context, Error, Result, anyhow, bail};

use self::figure::Figure;
use self::rows::{Against, Group, Machine, On, Row, Source};
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
    let library = versus::open(match args.device {
        DeviceKind::Cuda { .. } => Versus::CuBlas,
        _ => Versus::OneDnn,
    });
    let driver = match args.device {
        DeviceKind::Cuda { .. } => versus::open(Versus::Vulkan),
        _ => Err(anyhow!("a processor is compared with libraries")),
    };
    let missing = Missing { library: library.as_ref().err(), driver: driver.as_ref().err() };
    let groups = groups(args, missing, &args.filter)?;
    if groups.is_empty() {
        let names = rows::names(&self::groups(args, missing, "")?);
        bail!("no row is called {}; there are {names}", args.filter);
    }
    let interrupt = Interrupt::listen()?;
    let bar = progress::bar(groups.iter().map(Group::steps).sum());
    let mut run = Run {
        args,
        library: library.ok(),
        driver: driver.ok(),
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

/// Why there is nothing to compare with.
#[derive(Debug, Clone, Copy, Default)]
struct Missing<'a> {
    library: Option<&'a Error>,
    driver: Option<&'a Error>,
}

/// The wanted rows of a device.
fn groups(args: &AllArgs, missing: Missing<'_>, filter: &str) -> Result<Vec<Group>> {
    match args.device {
        DeviceKind::Cpu => {
            let machine = Machine::new(&Device::new(args.threads)?, missing.library);
            rows::all(&machine, args.quick, filter)
        }
        DeviceKind::Cuda { .. } => {
            // Without it there is nothing to measure.
            Device::of_kind(args.device, Choices::default())?;
            gpu::all(missing, args.quick, filter)
        }
        DeviceKind::Interpreter => {
            bail!("--device: the interpreter is to be right, not fast, so it has no bars")
        }
    }
}

/// A run so far.
struct Run<'a> {
    args: &'a AllArgs,
    library: Option<Library>,
    /// Another Vulkan driver.
    driver: Option<Library>,
    watch: Watch<'a>,
    figures: Vec<Figure>,
    /// The records of the kernels that stand in rows.
    chosen: Vec<Record>,
    is_wrong: bool,
}

impl Run<'_> {
    fn group(&mut self, group: Group) -> Result<()> {
        let Group { source, rows } = group;
        let effort = if self.args.quick { Effort::QUICK } else { Effort::BEST };
        match source {
            Source::Absent(reason) => {
                self.figures.extend(rows.iter().map(|row| Figure::absent(row, &reason)));
                self.watch.bar.inc(1);
            }
            Source::Kernels(workloads, On { threads, processor, against }) => {
                let processor = processor.map(Processor::from_name).transpose()?;
                let threads = threads.or(self.args.threads);
                let device =
                    Device::of_kind(self.args.device, Choices { threads, processor, ..Choices::default() })?;
                let versus = match against {
                    Against::Library => self.library.as_ref(),
                    Against::Vulkan => self.driver.as_ref(),
                    Against::Nothing | Against::Workgroup => None,
                };
                let bench = Bench { device: &device, versus, effort };
                let mut records = Vec::new();
                for workload in &workloads {
                    // The best or the worst of a part says nothing of all.
                    if !measure::records_of(&bench, &**workload, &self.watch, &mut records)? {
                        return Ok(());
                    }
                }
                self.is_wrong |= records.iter().any(|record| !record.ok);
                match against {
                    Against::Workgroup => gpu::compare_with_workgroup(&mut records),
                    Against::Vulkan => gpu::compare_with_the_best(&mut records),
                    Against::Nothing | Against::Library => {}
                }
                for row in &rows {
                    let Some((figure, chosen)) = Figure::of(row, &records) else {
                        self.figures.push(Figure::absent(row, &nothing_to_compare(row)));
                        continue;
                    };
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
                let choices = Choices { threads: self.args.threads, ..Choices::default() };
                let device = Device::of_kind(self.args.device, choices)?;
                self.figures.extend(dispatch::measure(row, &device, self.args.quick, &self.watch)?);
                self.watch.bar.inc(1);
            }
            Source::Kept(workload) => {
                let row = rows.first().context("a group has rows")?;
                self.figures.extend(kept::measure(row, self.args.device, &*workload, &self.watch)?);
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

/// Why a row has no figure though its kernels were measured.
fn nothing_to_compare(row: &Row) -> String {
    match row.value {
        rows::Value::Versus => "what it is compared with has no such kernel".to_owned(),
        _ => "nothing was measured".to_owned(),
    }
}
