//! The analysis of a flight in a report: diagnoses and statistics, spectra and step responses.

mod signals;

use logtool_core::{Damage, Log, Timestamp};
use logtool_plot::{Block, Line, Panel, PlotLink, TableRow, TimeAxis};

use crate::{
    error::Result,
    inspect::{
        flight::{
            AnalysedLog, AnalysisScope, DiagnosisKind, FifoSamples, RepeatedDiagnosis,
            Severity, analyse, text,
        },
        report::{
            FlightBlocks, logger_texts,
            plots::{self, PlotContext},
        },
    },
    text::units::{Span, count_of},
    time::clock::ShownClock,
};

/// The analysis of the flight in a log, if it is a ULog.
pub(super) struct FlightReport(Option<AnalysedLog>);

impl FlightReport {
    /// Analyses the whole log, if it is a ULog.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn new(log: &dyn Log, is_ulog: bool) -> Result<Self> {
        let analysed = is_ulog.then(|| analyse(log, AnalysisScope::Signals, &|_| {}));
        Ok(Self(analysed.transpose()?))
    }

    /// Returns the damage that the analysis found.
    pub(super) fn damage(&self) -> &[Damage] {
        self.0.as_ref().map_or(&[], |analysed| &analysed.damage)
    }

    /// Returns the blocks of the analysis. The time axis is that of the other plots.
    pub(super) fn blocks(
        &self,
        time: &TimeAxis,
        context: &PlotContext<'_>,
    ) -> FlightBlocks {
        let Some(analysed) = &self.0 else { return FlightBlocks::default() };
        let signals = analysed.signals.as_ref();
        let spectra = signals.map(|signals| signals::spectra(signals, time, context));
        FlightBlocks {
            summary: summary(analysed, context.clock),
            fifos: fifo_plots(&analysed.fifos, time, context),
            spectra: spectra.unwrap_or_default(),
            step_responses: signals.map(signals::step_responses).unwrap_or_default(),
        }
    }
}

/// Returns the plots of the samples of FIFOs.
fn fifo_plots(
    fifos: &[FifoSamples],
    time: &TimeAxis,
    context: &PlotContext<'_>,
) -> Vec<Block> {
    let plot = |fifo: &FifoSamples| {
        let (title, unit, factor) = match fifo.topic {
            "sensor_gyro_fifo" => {
                ("Raw angular speed, all samples", "°/s", 180.0 / std::f64::consts::PI)
            }
            _ => ("Raw acceleration, all samples", "m/s²", 1.0),
        };
        let lines = ["x", "y", "z"].into_iter().zip(&fifo.signals);
        let lines: Vec<Line> = lines
            .map(|(name, signal)| {
                let mut signal = signal.clone();
                let values = signal.runs.iter_mut().flatten();
                values.for_each(|(_, value)| *value *= factor);
                Line { name: name.to_owned(), signal, ..Line::default() }
            })
            .collect();
        let has_values = lines.iter().any(|line| line.signal.values > 0);
        let panel = Panel { unit: unit.to_owned(), lines, ..Panel::default() };
        let chart = plots::chart(panel, context, time);
        has_values.then(|| Block::Plot(title.to_owned(), chart))
    };
    fifos.iter().filter_map(plot).collect()
}

/// Returns the diagnoses and the statistics.
fn summary(analysed: &AnalysedLog, clock: &ShownClock) -> Vec<Block> {
    let mut blocks = Vec::new();
    let diagnoses = &analysed.analysis.diagnoses;
    if diagnoses.is_empty() {
        // Nothing is known of a log that could not be analysed: a remark says so.
        if !analysed.is_empty {
            let is_examined = analysed.analysis.is_examined();
            let none =
                if is_examined { "No diagnoses." } else { "Nothing was examined." };
            blocks.push(Block::Note(none.to_owned()));
        }
    } else {
        let head = ["severity", "time", "diagnosis", "evidence", "look at"];
        let rows = analysed.analysis.diagnoses_by_kind();
        let cells = rows.iter().map(|repeated| row(repeated, clock));
        blocks.push(Block::Table(head.map(str::to_owned).to_vec(), cells.collect()));
        if rows.len() < diagnoses.len() {
            let note = "`logtool flight --json` has all diagnoses of each kind";
            blocks.push(Block::Note(note.to_owned()));
        }
    }
    if !analysed.is_empty {
        let kinds = count_of(DiagnosisKind::ALL.len() as u64, "kind");
        let summary = analysed.analysis.examination_summary();
        blocks.push(Block::Note(format!("Of {kinds} of faults: {summary}.")));
        blocks.extend(
            text::unexamined(&analysed.analysis, clock).into_iter().map(Block::Note),
        );
    }
    let facts = text::statistics_facts(&analysed.analysis.statistics);
    let facts = facts.into_iter().map(|(name, value)| match name.strip_prefix("  ") {
        // In the text of `flight`, these follow the maximum speed.
        Some(direction) => (format!("maximum speed, {direction}"), value),
        None => (name.to_owned(), value),
    });
    blocks.push(Block::Facts(facts.collect()));
    blocks.extend(analysed.remarks.iter().cloned().map(Block::Note));
    blocks
}

fn row(repeated: &RepeatedDiagnosis<'_>, clock: &ShownClock) -> TableRow {
    let diagnosis = repeated.worst;
    let severity = match diagnosis.severity {
        Severity::Critical => "critical",
        _ => "warning",
    };
    let start = clock.text(Timestamp::from_nanos(repeated.start_ns));
    let length = diagnosis.seconds();
    let time = match text::repetitions(repeated, clock) {
        Some(times) => format!("{start}, {times}"),
        None if length > 0.0 => format!("{start} for {}", Span((length * 1e9) as u64)),
        None => start.to_string(),
    };
    let link = |title: &&str| PlotLink {
        title: (*title).to_owned(),
        time: Some((repeated.start_ns, repeated.end_ns)),
    };
    TableRow {
        cells: vec![
            severity.to_owned(),
            time,
            format!("{}: {}", diagnosis.kind.title(), diagnosis.summary),
            text::evidence(diagnosis),
        ],
        is_warning: diagnosis.severity == Severity::Critical,
        links: plot_titles(diagnosis.kind).iter().map(link).collect(),
    }
}

/// Returns the titles of the plots and sections that show a diagnosis of this kind.
fn plot_titles(kind: DiagnosisKind) -> &'static [&'static str] {
    use DiagnosisKind as Kind;
    match kind {
        Kind::GpsInterference => {
            &["GPS noise and jamming", "GPS jamming state", "GPS uncertainty"]
        }
        Kind::GpsLoss => &["GPS fix", "GPS uncertainty"],
        Kind::MotorFailure => {
            &["Motor outputs", "Actuator outputs (main)", "Motor speed"]
        }
        Kind::EscFailure => &["Motor speed", "ESC current"],
        Kind::BatteryBrownout | Kind::BatteryNotMeasured | Kind::BatterySag => {
            &["Battery"]
        }
        Kind::BatteryLow => &["Battery charge", "Battery"],
        Kind::PowerRail => &["Power rails"],
        Kind::EkfFailure => {
            &["Estimator test ratios", "Estimator flags", "Estimator checks"]
        }
        Kind::EkfReset => {
            &["Local position, north", "Local position, down", "Velocity"]
        }
        Kind::EkfSelectorWhipsaw => &["Estimator test ratios", "Estimator flags"],
        Kind::TecsNonfinitePitch => &["TECS: pitch"],
        Kind::RcLoss => &["RC quality", "Failsafe flags"],
        Kind::DataLinkLoss => &["Failsafe flags", "Telemetry radio"],
        Kind::Vibration => {
            &["Vibration", "Vibration, by the estimator", "Raw acceleration"]
        }
        Kind::Clipping => &["Clipping", "Raw acceleration"],
        Kind::CompassInterference => {
            &["Thrust and magnetic field", "Raw magnetic field"]
        }
        Kind::CpuLoad | Kind::RamUsage => &["CPU and RAM"],
        Kind::LoggingDropouts => &["Sampling regularity"],
        Kind::Failsafe
        | Kind::HeightLoss
        | Kind::GeofenceBreach
        | Kind::SafetyEquipment => &["Failsafe flags"],
        Kind::PositionLoss => &["Estimator state", "Local position, north"],
        Kind::HardFault => &[logger_texts::HARD_FAULTS],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::report::plots::has_px4_plot;

    #[test]
    fn diagnoses_name_plots_that_there_are() {
        for kind in DiagnosisKind::ALL {
            let titles = plot_titles(*kind);
            assert!(!titles.is_empty(), "{}", kind.name());
            for title in titles {
                let is_section = *title == logger_texts::HARD_FAULTS;
                assert!(is_section || has_px4_plot(title), "{title}");
            }
        }
    }
}
