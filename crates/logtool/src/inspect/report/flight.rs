//! The analysis of a flight in a report: diagnoses and statistics, spectra and step responses.

mod signals;

use logtool_core::Timestamp;
use logtool_plot::{Block, PlotLink, TableRow};

use crate::{
    inspect::{
        flight::{AnalysedLog, Diagnosis, DiagnosisKind, Severity, text},
        report::logger_texts,
    },
    text::units::{Span, count_of},
    time::clock::ShownClock,
};

pub(super) use self::signals::{spectra, step_responses};

/// Returns the diagnoses and the statistics.
pub(super) fn summary(analysed: &AnalysedLog, clock: &ShownClock) -> Vec<Block> {
    let mut blocks = Vec::new();
    let diagnoses = &analysed.analysis.diagnoses;
    if diagnoses.is_empty() {
        let kinds = count_of(DiagnosisKind::ALL.len() as u64, "kind");
        let note = format!("No diagnoses: none of {kinds} of faults was found.");
        blocks.push(Block::Note(note));
    } else {
        let head = ["severity", "time", "diagnosis", "evidence", "look at"];
        let rows = diagnoses.iter().map(|diagnosis| row(diagnosis, clock));
        blocks.push(Block::Table(head.map(str::to_owned).to_vec(), rows.collect()));
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

fn row(diagnosis: &Diagnosis, clock: &ShownClock) -> TableRow {
    let severity = match diagnosis.severity {
        Severity::Critical => "critical",
        _ => "warning",
    };
    let start = clock.text(Timestamp::from_nanos(diagnosis.start_ns));
    let length = diagnosis.seconds();
    let time = if length > 0.0 {
        format!("{start} for {}", Span((length * 1e9) as u64))
    } else {
        start.to_string()
    };
    let link = |title: &&str| PlotLink {
        title: (*title).to_owned(),
        time: Some((diagnosis.start_ns, diagnosis.end_ns)),
    };
    TableRow {
        cells: vec![
            severity.to_owned(),
            time,
            format!("{}: {}", diagnosis.kind.title(), diagnosis.summary),
            text::evidence(diagnosis),
        ],
        is_warning: diagnosis.severity == Severity::Critical,
        links: plots(diagnosis.kind).iter().map(link).collect(),
    }
}

/// Returns the titles of the plots and sections that show a diagnosis of this kind.
fn plots(kind: DiagnosisKind) -> &'static [&'static str] {
    use DiagnosisKind as Kind;
    match kind {
        Kind::GpsInterference => &["GPS noise and jamming", "GPS uncertainty"],
        Kind::GpsLoss => &["GPS uncertainty"],
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
        Kind::Vibration => &["Vibration", "Raw acceleration"],
        Kind::Clipping => &["Clipping", "Raw acceleration"],
        Kind::CompassInterference => {
            &["Thrust and magnetic field", "Raw magnetic field"]
        }
        Kind::CpuLoad | Kind::RamUsage => &["CPU and RAM"],
        Kind::LoggingDropouts => &["Sampling regularity"],
        Kind::Failsafe => &["Failsafe flags"],
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
            let titles = plots(*kind);
            assert!(!titles.is_empty(), "{}", kind.name());
            for title in titles {
                let is_section = *title == logger_texts::HARD_FAULTS;
                assert!(is_section || has_px4_plot(title), "{title}");
            }
        }
    }
}
