//! The text of an analysis.

use std::fmt::Write as _;

use logtool_core::Timestamp;

use crate::{
    inspect::flight::{
        Diagnosis, DiagnosisKind, Flight, FlightAnalysis, FlightStatistics,
        RepeatedDiagnosis, ResponseMetrics, Severity, SignalAnalysis, UnexaminedKinds,
    },
    text::{
        text_style::TextStyle,
        units::{Span, count_of, escape_unprintable},
    },
    time::clock::ShownClock,
};

/// The width of the names.
const WIDTH: usize = 22;

impl Flight {
    /// Returns the analysis as text, for a terminal.
    pub fn to_text(&self, style: TextStyle) -> String {
        let mut text = format!("{}\n\n", style.bold(&escape_unprintable(&self.log)));
        self.add_diagnoses(&mut text, style);
        text.push('\n');
        add_statistics(&mut text, &self.analysis.statistics);
        if let Some(signals) = &self.signals {
            text.push('\n');
            add_signals(&mut text, signals);
        }
        for remark in &self.remarks {
            let _ = writeln!(text, "\nnote: {}", escape_unprintable(remark));
        }
        text
    }

    fn add_diagnoses(&self, text: &mut String, style: TextStyle) {
        let list = &self.analysis.diagnoses;
        if list.is_empty() {
            let is_examined = self.analysis.is_examined();
            let none =
                if is_examined { "No diagnoses" } else { "Nothing was examined" };
            let _ = writeln!(text, "{none}");
            self.add_examinations(text);
            return;
        }
        let word = if list.len() == 1 { "diagnosis" } else { "diagnoses" };
        let _ = writeln!(text, "{} {word}:", list.len());
        for repeated in self.analysis.diagnoses_by_kind() {
            let diagnosis = repeated.worst;
            let start = self.clock.text(Timestamp::from_nanos(repeated.start_ns));
            let severity = match diagnosis.severity {
                Severity::Critical => style.red("critical"),
                _ => style.yellow("warning "),
            };
            let title = diagnosis.kind.title();
            let times = repetitions(&repeated, &self.clock);
            let times = times.map(|times| format!(" ({times})")).unwrap_or_default();
            let summary = escape_unprintable(&diagnosis.summary);
            let _ =
                writeln!(text, "  {severity}  {start:>10}  {title}{times}: {summary}");
            let _ =
                writeln!(text, "{:24}{}", "", escape_unprintable(&evidence(diagnosis)));
        }
        self.add_examinations(text);
    }

    /// Adds which kinds of faults were found, not found and not examined.
    fn add_examinations(&self, text: &mut String) {
        let summary = self.analysis.examination_summary();
        let _ = writeln!(text, "Kinds of faults: {summary}");
        for line in unexamined(&self.analysis, &self.clock) {
            let _ = writeln!(text, "  {line}");
        }
    }
}

/// Returns how often a diagnosis was made, and when it was worst; `None` for a single one.
pub(crate) fn repetitions(
    repeated: &RepeatedDiagnosis<'_>,
    clock: &ShownClock,
) -> Option<String> {
    let time = |nanos| clock.text(Timestamp::from_nanos(nanos));
    let (count, end) = (repeated.count, time(repeated.end_ns));
    let worst = time(repeated.worst.start_ns);
    (count > 1).then(|| format!("{count} times until {end}; the worst at {worst}"))
}

/// Returns a line for each set of missing topics and fields, with the kinds of faults that were not
/// examined without them, and a line for each part of the log that was not examined.
pub(crate) fn unexamined(analysis: &FlightAnalysis, clock: &ShownClock) -> Vec<String> {
    let line = |(missing, kinds): (&[String], Vec<DiagnosisKind>)| {
        let kinds: Vec<&str> = kinds.into_iter().map(DiagnosisKind::title).collect();
        format!("not examined without {}: {}", missing.join(", "), kinds.join(", "))
    };
    let part = |part: UnexaminedKinds<'_>| {
        let time = |nanos| clock.text(Timestamp::from_nanos(nanos));
        let missing: Vec<&str> = part.missing.into_iter().collect();
        let kinds: Vec<&str> =
            part.kinds.into_iter().map(DiagnosisKind::title).collect();
        format!(
            "not examined from {} to {} without {}: {}",
            time(part.start_ns),
            time(part.end_ns),
            missing.join(", "),
            kinds.join(", ")
        )
    };
    let whole = analysis.unexamined().into_iter().map(line);
    whole.chain(analysis.unexamined_parts().into_iter().map(part)).collect()
}

/// Returns the values that support a diagnosis, with their units and limits.
pub(crate) fn evidence(diagnosis: &Diagnosis) -> String {
    let item = |evidence: &crate::inspect::flight::Evidence| {
        let unit = if evidence.unit.is_empty() {
            String::new()
        } else {
            format!(" {}", evidence.unit)
        };
        let shown = |name: Option<&str>, value: f64| {
            name.map_or_else(|| number(value), str::to_owned)
        };
        let limit = evidence.threshold.map(|limit| {
            let name = evidence.threshold_name.as_deref();
            format!(" (limit {})", shown(name, limit))
        });
        let value = shown(evidence.value_name.as_deref(), evidence.value);
        format!("{} {value}{unit}{}", evidence.name, limit.unwrap_or_default())
    };
    diagnosis.evidence.iter().map(item).collect::<Vec<_>>().join(", ")
}

/// Returns a number with at most three digits after the point.
pub(crate) fn number(value: f64) -> String {
    if value.fract() == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn add_statistics(text: &mut String, statistics: &FlightStatistics) {
    for (name, value) in statistics_facts(statistics) {
        let _ = writeln!(text, "{name:WIDTH$}{}", escape_unprintable(&value));
    }
}

/// Returns the names and the values of the statistics that the log has.
pub(crate) fn statistics_facts(
    statistics: &FlightStatistics,
) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &'static str, value: Option<String>| {
        facts.extend(value.map(|value| (name, value)));
    };
    let airframe = statistics.airframe_id.map(|id| match statistics.airframe {
        Some(name) => format!("{name} ({id})"),
        None => id.to_string(),
    });
    fact("airframe", airframe);
    fact("vehicle", statistics.vehicle_type.map(str::to_owned));
    fact("estimator", statistics.estimator.map(str::to_owned));
    fact("log", Some(duration(statistics.log_s)));
    fact("armed", statistics.armed_s.map(duration));
    fact("in the air", statistics.airborne_s.map(duration));
    fact("life flight time", statistics.vehicle_flight_s.map(duration));
    let modes = statistics
        .modes
        .iter()
        .map(|mode| format!("{} {}", mode.name, duration(mode.seconds)));
    let modes: Vec<String> = modes.collect();
    fact("flight modes", (!modes.is_empty()).then(|| modes.join(", ")));
    let with_unit = |value: Option<f64>, unit: &str| {
        // The sum of -0 and 0 is 0, so that no negative zero is shown.
        let tenths = |value: f64| (value * 10.0).round() / 10.0 + 0.0;
        value.map(|value| format!("{:.1} {unit}", tenths(value)))
    };
    fact("distance", with_unit(statistics.distance_m, "m"));
    fact("altitude difference", with_unit(statistics.altitude_difference_m, "m"));
    fact("average speed", with_unit(statistics.average_speed_m_s, "m/s"));
    fact("maximum speed", with_unit(statistics.max_speed_m_s, "m/s"));
    fact("  horizontal", with_unit(statistics.max_horizontal_speed_m_s, "m/s"));
    fact("  up", with_unit(statistics.max_speed_up_m_s, "m/s"));
    fact("  down", with_unit(statistics.max_speed_down_m_s, "m/s"));
    fact("maximum tilt", with_unit(statistics.max_tilt_deg, "°"));
    fact("maximum rotation", with_unit(statistics.max_rotation_deg_s, "°/s"));
    fact("average current", with_unit(statistics.average_current_a, "A"));
    fact("maximum current", with_unit(statistics.max_current_a, "A"));
    fact("lowest voltage", with_unit(statistics.min_voltage_v, "V"));
    fact("discharged", with_unit(statistics.discharged_mah, "mAh"));
    fact("energy", with_unit(statistics.energy_wh, "Wh"));
    fact("average wind", with_unit(statistics.average_wind_m_s, "m/s"));
    fact("average vibration", with_unit(statistics.average_vibration_m_s2, "m/s²"));
    fact("maximum vibration", with_unit(statistics.max_vibration_m_s2, "m/s²"));
    facts
}

fn add_signals(text: &mut String, signals: &SignalAnalysis) {
    for response in &signals.step_responses {
        let ResponseMetrics { delay_s, rise_s, overshoot_percent, .. } =
            response.metrics;
        let millis = |seconds: Option<f64>| {
            seconds.map_or("unknown".to_owned(), |seconds| {
                format!("{:.0} ms", seconds * 1e3)
            })
        };
        let overshoot = overshoot_percent
            .map_or("unknown".to_owned(), |percent| format!("{percent:.0} %"));
        let name = format!("{} of {}", response.controller, response.axis);
        let _ = writeln!(
            text,
            "{name:WIDTH$}delay {}, rise {}, overshoot {overshoot}, {}",
            millis(delay_s),
            millis(rise_s),
            count_of(response.windows.into(), "window"),
        );
    }
    for spectrum in &signals.spectra {
        for line in &spectrum.lines {
            let bins = line.amplitudes.iter().enumerate().skip(1);
            let Some((bin, amplitude)) = bins.max_by(|a, b| a.1.total_cmp(b.1)) else {
                continue;
            };
            let frequency = bin as f64 * spectrum.frequency_step_hz;
            let name = format!("{}, {}", spectrum.title, line.name);
            let _ = writeln!(
                text,
                "{name:WIDTH$}  strongest at {frequency:.1} Hz with {amplitude:.4}, sampled at \
                 {:.0} Hz",
                spectrum.sample_rate_hz
            );
        }
    }
    for mark in signals.filters.low_pass.iter().chain(&signals.filters.notch) {
        let _ =
            writeln!(text, "{:WIDTH$}{} Hz", mark.parameter, number(mark.frequency_hz));
    }
}

fn duration(seconds: f64) -> String {
    Span((seconds * 1e9) as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            (number(3.0), number(0.25), number(13.2000003)),
            ("3".into(), "0.25".into(), "13.2".into())
        );
    }
}
