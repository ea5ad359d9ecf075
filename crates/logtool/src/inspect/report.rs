//! Reports: a log on one HTML page.

mod connected_devices;
mod devices;
#[cfg_attr(not(feature = "flight"), path = "report/no_flight.rs")]
mod flight;
mod images;
mod logger_texts;
mod messages;
mod parameters;
mod plots;
mod scans;
mod tracks;

use std::path::{Path, PathBuf};

use logtool_core::{Damage, TimeRange, Timestamp, TopicSet};
use logtool_velodyne::lidar::LidarOptions;

use crate::{
    error::{Context as _, Error, ErrorKind, Result},
    formats::LogFormat,
    inspect::{
        info::TextOptions,
        marks::MarkBuilder,
        plot,
        report::{flight::FlightReport, plots::PlotContext},
    },
    jobs::output::provenance,
    records::log::Log,
    source::{
        input::open,
        lidar,
        losses::{Findings, Strictness},
        session::Session,
    },
    text::units::Bytes,
    time::{
        clock::{self, ShownClock, TimeChoice},
        record_span,
        typed_time::TypedTime,
    },
};

pub use logtool_plot::{Block, Page, PlotLink, Section, TableRow};

/// The number of columns of pixels for which marks are merged: about those of a page.
const MARK_COLUMNS: u32 = 1_000;

/// A request for a report: a page with a summary, tracks, scans, images, plots, messages and
/// parameters. That of a ULog also has the analysis of the flight: diagnoses, statistics, spectra
/// and step responses, which are always of the whole log.
///
/// ```no_run
/// use logtool::{Session, report::ReportRequest};
///
/// let report = ReportRequest::new("flight.ulg").run(&Session::new())?;
/// for section in &report.page.sections {
///     println!("{}: {} blocks", section.title, section.blocks.len());
/// }
/// std::fs::write("flight.html", report.page.html())?;
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ReportRequest {
    path: PathBuf,
    start: Option<TypedTime>,
    end: Option<TypedTime>,
    clock: TimeChoice,
    lidar: LidarOptions,
    strictness: Strictness,
}

/// The result of a [`ReportRequest`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The name of the log.
    pub log: String,
    /// The sections of the report. [`Page::html`] writes them as a file that loads nothing
    /// from elsewhere.
    pub page: Page,
    /// The losses and the damage of the log.
    pub losses: Findings,
}

/// The blocks of the analysis of a flight.
#[derive(Default)]
struct FlightBlocks {
    summary: Vec<Block>,
    fifos: Vec<Block>,
    spectra: Vec<Block>,
    step_responses: Vec<Block>,
}

impl ReportRequest {
    /// Creates a request for the log at `path`: a path, a URL, or `-` for standard input.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            start: None,
            end: None,
            clock: TimeChoice::Relative,
            lidar: LidarOptions::default(),
            strictness: Strictness::default(),
        }
    }

    /// Leaves out records before `start`. The summary and the parameters are always of the
    /// whole log.
    pub fn with_start(mut self, start: TypedTime) -> Self {
        self.start = Some(start);
        self
    }

    /// Leaves out records at `end` or later.
    pub fn with_end(mut self, end: TypedTime) -> Self {
        self.end = Some(end);
        self
    }

    /// Sets the clock of the start, the end and the shown times. The default counts from the
    /// start of the log.
    pub fn with_clock(mut self, clock: TimeChoice) -> Self {
        self.clock = clock;
        self
    }

    /// Sets how lidars are read. The default detects their models and calibrations.
    pub fn with_lidar(mut self, lidar: LidarOptions) -> Self {
        self.lidar = lidar;
        self
    }

    /// Sets whether damage is an error. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Reads the log and creates the report.
    ///
    /// # Errors
    /// `EmptySelection` if the log has no records at the selected times, and `Damaged` if something
    /// is lost in a strict request; others if the input cannot be read or is not a log, or if a given
    /// calibration suits none of its lidars.
    pub fn run(&self, session: &Session) -> Result<Report> {
        let log = Log::from_opened(open::open_with(&self.path, session, &self.lidar)?);
        let name = log.name().to_owned();
        if self.lidar.calibration.is_some() {
            lidar::check_calibration(log.manifest()).with_context(|| name.clone())?;
        }
        let mut losses = log.losses();
        losses.check(self.strictness)?;
        session.warn_of_late_times(&name, log.manifest(), self.start, self.end);
        let (page, provenance) = rayon::join(
            || self.page(&log, losses).with_context(|| name.clone()),
            || provenance::collect([log.input()], session),
        );
        let (mut page, mut losses) = page?;
        page.provenance = provenance?.json();
        losses.check(self.strictness)?;
        Ok(Report { log: name, page, losses })
    }

    /// Creates the page, and adds the damage that is found to `losses`.
    fn page(&self, log: &Log, mut losses: Findings) -> Result<(Page, Findings)> {
        let (format_log, manifest) = (log.format_log(), log.manifest());
        let log_time =
            manifest.time.unwrap_or(TimeRange::from_timestamp(Timestamp::default()));
        let clock = ShownClock::new(manifest, self.clock)?;
        let range = clock.range(self.start, self.end)?;
        let time = record_span::intersection(range, log_time);
        if time.is_empty() {
            let what = clock::empty_selection(&manifest.clock);
            return Err(Error::new(ErrorKind::EmptySelection, what));
        }
        let bands = plot::flight_mode_bands(format_log, time.end.as_nanos())?;
        let states = plot::vtol_states(format_log, time.end.as_nanos())?;
        // The summary comes first on the page, but includes the damage that all other sections
        // find.
        let mut damage: Vec<Damage> = Vec::new();
        let ulog = log.ulog()?;
        let mut marks = MarkBuilder::new(time, MARK_COLUMNS);
        if let Some(ulog) = &ulog {
            marks.add_parameter_changes(ulog);
            marks.add_dropouts(ulog)?;
        }
        // Both compute for a long time on one thread.
        let (flight, frequencies) = rayon::join(
            || FlightReport::new(format_log, ulog.is_some()),
            || log.frequencies(),
        );
        let (flight, frequencies) = (flight?, frequencies?);
        damage.extend_from_slice(flight.damage());
        let signals = plots::read(format_log, range, &mut damage)?;
        // An index does not state the damage of the records, which is found by reading them.
        marks.add_damage(manifest.damage.iter().chain(&damage));
        let marks = marks.finish();
        // The range, unlike the time of the log, includes records with impossible times.
        let context = PlotContext {
            time: range,
            choice: self.clock,
            clock: &clock,
            bands: &bands,
            states: &states,
            marks: &marks,
        };
        let mut plots = plots::signal_plots(format_log, signals, &context);
        let tracks = tracks::track_maps(format_log, range, &bands, &mut damage)?;
        let scans = scans::first_of_each(format_log, range)?;
        let images = images::first_of_each(format_log, range)?;
        let messages = messages::table(log, range, &clock, &mut damage)?;
        let connected = connected_devices::table(format_log, &mut damage)?;
        losses.add(manifest, &TopicSet::All, &damage);
        let info = log.info_with_frequencies(losses.clone(), &frequencies);
        // The report must not reveal the folders of this computer.
        let text = info.to_text(&TextOptions::new().with_file_name_only());
        // The tables of topics may be long, and come last.
        let (facts, tables) = text.split_once("\n\n").unwrap_or((&text, ""));
        let is_part = self.start.or(self.end).is_some();
        let summary = if is_part { "Summary of the whole log" } else { "Summary" };
        let mut flight = flight.blocks(&plots.time, &context);
        flight.summary.push(Block::Text(facts.to_owned()));
        plots.blocks.append(&mut flight.fifos);
        let (mut parameters, mut texts) = (Vec::new(), Vec::new());
        if let Some(ulog) = &ulog {
            parameters = parameters::blocks(ulog, &clock);
            texts = logger_texts::sections(ulog);
        }
        let tables = Some(tables).filter(|tables| !tables.is_empty());
        let mut sections = vec![
            (summary, flight.summary),
            ("Track", tracks),
            ("Scans", scans),
            ("Images", images),
            ("Plots", plots.blocks),
            ("Spectra", flight.spectra),
            ("Step responses", flight.step_responses),
            ("Messages", messages),
            ("Parameters", parameters),
        ];
        sections.extend(texts);
        sections.push(("Connected devices", connected));
        sections.push(("Devices", plots.devices));
        let tables = tables.map(|tables| Block::Columns(tables.to_owned()));
        sections.push(("Topics", tables.into_iter().collect()));
        let sections = sections.into_iter().filter(|(_, blocks)| !blocks.is_empty());
        let section =
            |(title, blocks): (&str, _)| Section { title: title.to_owned(), blocks };
        let mut about = format!(
            "{}, {}, by logtool {}",
            LogFormat::from_manifest(manifest).map_or("Log", LogFormat::title),
            Bytes(manifest.bytes),
            env!("CARGO_PKG_VERSION")
        );
        if is_part {
            let (start, end) = (clock.text(time.start), clock.text(time.end));
            about += &format!(
                "; plots over time, tracks and messages only from {start} to {end}"
            );
        }
        let title = log.input().file_name().to_owned();
        let sections = sections.map(section).collect();
        Ok((Page { title, about, sections, ..Page::default() }, losses))
    }
}
