//! The findings of one log, as text and as JSON.

use std::io::{self, Write};

use logtool::{
    check::{CheckFinding, CheckReport},
    text_style::TextStyle,
    time::clock::Seconds,
    units::{Count, count_of, escape_unprintable},
};
use logtool_core::{Severity, TimeRange};
use serde::Serialize;
use serde_json::value::RawValue;

/// Writes how many findings there are, and a line for each that is at least as severe as `minimum`.
pub(super) fn text(
    report: &CheckReport,
    out: &mut dyn Write,
    minimum: Severity,
    style: TextStyle,
) -> io::Result<()> {
    writeln!(
        out,
        "{}: {}",
        style.bold(&escape_unprintable(&report.name)),
        summary(report)
    )?;
    lines(report, out, minimum, style)
}

fn summary(report: &CheckReport) -> String {
    let counts = [
        (Severity::Error, "error"),
        (Severity::Warning, "warning"),
        (Severity::Note, "note"),
    ];
    let counts = counts.map(|(severity, name)| (report.count(severity) as u64, name));
    let found = counts.iter().filter(|(count, _)| *count > 0);
    let found: Vec<String> =
        found.map(|(count, name)| count_of(*count, name)).collect();
    if found.is_empty() { "nothing found".to_owned() } else { found.join(", ") }
}

/// The width of the column of codes, unless one is longer.
const CODE_WIDTH: usize = 24;

/// Writes a line for each finding that is at least as severe as `minimum`.
pub(in crate::commands) fn lines(
    report: &CheckReport,
    out: &mut dyn Write,
    minimum: Severity,
    style: TextStyle,
) -> io::Result<()> {
    let lengths = report.at_least(minimum).map(|finding| finding.code.name.len() + 1);
    let width = lengths.max().unwrap_or_default().max(CODE_WIDTH);
    for finding in report.at_least(minimum) {
        let severity = format!("{:7}", finding.code.severity);
        let severity = match finding.code.severity {
            Severity::Error => style.red(&severity),
            Severity::Warning => style.yellow(&severity),
            Severity::Note => style.dim(&severity),
        };
        let topic = finding.topic.as_ref().map(|label| format!("{label}: "));
        writeln!(
            out,
            "  {severity} {:width$} {}{}{}",
            finding.code.name,
            escape_unprintable(&topic.unwrap_or_default()),
            escape_unprintable(&finding.text),
            place(report, finding)
        )?;
    }
    Ok(())
}

/// Returns where `finding` is, as ` (3 times, the first at byte 4117, from 12.500 s)`.
fn place(report: &CheckReport, finding: &CheckFinding) -> String {
    let mut parts = Vec::new();
    let is_one = finding.count == 1;
    if !is_one {
        parts.push(format!("{} times", Count(finding.count)));
    }
    if let Some(bytes) = &finding.bytes {
        let first = if is_one { "" } else { "the first " };
        parts.push(format!("{first}at byte {}", bytes.start));
    }
    if let Some(time) = finding.time {
        parts.push(format!("from {}", report.clock.text(time.start)));
    }
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// Writes one JSON object, with the findings that are at least as severe as `minimum`.
pub(super) fn json(
    report: &CheckReport,
    out: &mut dyn Write,
    minimum: Severity,
) -> io::Result<()> {
    let json = JsonReport {
        file: &report.name,
        format: &report.format,
        errors: report.count(Severity::Error),
        warnings: report.count(Severity::Warning),
        notes: report.count(Severity::Note),
        findings: json_findings(report, minimum),
    };
    serde_json::to_writer(&mut *out, &json).map_err(io::Error::from)?;
    writeln!(out)
}

/// Returns the findings that are at least as severe as `minimum`, for JSON.
pub(in crate::commands) fn json_findings(
    report: &CheckReport,
    minimum: Severity,
) -> Vec<JsonFinding<'_>> {
    report.at_least(minimum).map(JsonFinding::new).collect()
}

/// Returns `nanos` as a JSON number of seconds with all digits.
pub(in crate::commands) fn json_seconds(nanos: i64) -> Option<Box<RawValue>> {
    RawValue::from_string(Seconds(nanos).to_string()).ok()
}

/// Returns the last moment of `time` in nanoseconds.
pub(in crate::commands) fn last_nanos(time: TimeRange) -> i64 {
    time.end.as_nanos().saturating_sub(1)
}

#[derive(Serialize)]
struct JsonReport<'r> {
    file: &'r str,
    format: &'r str,
    errors: usize,
    warnings: usize,
    notes: usize,
    findings: Vec<JsonFinding<'r>>,
}

#[derive(Serialize)]
pub(in crate::commands) struct JsonFinding<'r> {
    code: &'r str,
    level: &'r str,
    topic: Option<&'r str>,
    text: &'r str,
    count: u64,
    /// The bytes of the first.
    start: Option<u64>,
    end: Option<u64>,
    /// The times of the first and the last.
    from_s: Option<Box<RawValue>>,
    to_s: Option<Box<RawValue>>,
}

impl<'r> JsonFinding<'r> {
    fn new(finding: &'r CheckFinding) -> Self {
        Self {
            code: finding.code.name,
            level: finding.code.severity.name(),
            topic: finding.topic.as_deref(),
            text: &finding.text,
            count: finding.count,
            start: finding.bytes.as_ref().map(|bytes| bytes.start),
            end: finding.bytes.as_ref().map(|bytes| bytes.end),
            from_s: finding.time.and_then(|time| json_seconds(time.start.as_nanos())),
            to_s: finding.time.and_then(|time| json_seconds(last_nanos(time))),
        }
    }
}
