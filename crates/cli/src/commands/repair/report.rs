//! The report of a repair, as text and as JSON.

use logtool::{
    Result,
    losses::{loss::Finding, topic_loss::TopicLoss},
    repair::RepairReport,
    units::{Span, count_of, escape_unprintable},
};
use logtool_core::{DamageKind, Severity, TimeRange};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    commands::check::report::{self, JsonFinding, json_seconds, last_nanos},
    terminal::{color, say},
};

/// Prints the losses of each topic and of each place.
pub(super) fn print_losses(report: &mut RepairReport) {
    if report.losses.is_empty() {
        return;
    }
    let paint = color::for_stderr();
    let label = if report.topic_losses.is_empty() { "damaged:" } else { "lost:" };
    say!("{} {}: {}", paint.yellow(label), report.name, report.losses.summary());
    for loss in &report.topic_losses {
        let topic = loss.topic.as_deref().unwrap_or("of unknown topics");
        let records = match (loss.records, loss.uncounted_ranges) {
            (0, _) => count_of(loss.damaged_ranges, "place"),
            (records, 0) => count_of(records, "record"),
            (records, _) => format!("{} and more", count_of(records, "record")),
        };
        let time = loss.time.map(|time| {
            let (start, span) =
                (report.clock.text(time.start), Span(time.span_nanos()));
            format!(", within {span} from {start} on")
        });
        say!("  {topic}: {records}{}", time.unwrap_or_default());
    }
    say!("{}", paint.bold("where:"));
    report.losses.lines().iter().for_each(|line| say!("  {line}"));
}

/// Prints the errors and warnings that a check finds in the new log, without the notes.
pub(super) fn print_remaining(report: &RepairReport) -> Result<()> {
    let count = report.check.at_least(Severity::Warning).count() as u64;
    if count == 0 {
        return Ok(());
    }
    let (name, paint) = (escape_unprintable(&report.check.name), color::for_stderr());
    let remain = if count == 1 { "remains" } else { "remain" };
    let count = count_of(count, "finding");
    say!("{} {name}: {count} {remain} after the repair", paint.yellow("warning:"));
    Ok(report::lines(&report.check, &mut std::io::stderr(), Severity::Warning, paint)?)
}

/// Returns what `logtool repair --json` prints.
pub(super) fn json(report: &mut RepairReport) -> JsonReport<'_> {
    let bytes = report.losses.lost_bytes();
    let places = report.losses.sorted_findings().iter().map(JsonPlace::new).collect();
    let topics = report.topic_losses.iter().map(JsonTopic::new).collect();
    JsonReport {
        file: &report.name,
        format: &report.format,
        out: report.output.path.display().to_string(),
        records: report.copied_records,
        records_in_unchanged_parts: report.records_in_unchanged_parts,
        undecodable_records: report.undecodable_records,
        doubtful_records: report.doubtful_records,
        lost: JsonLosses { bytes, topics, places },
        remaining: report::json_findings(&report.check, Severity::Warning),
    }
}

#[derive(Serialize)]
pub(super) struct JsonReport<'r> {
    file: &'r str,
    format: &'r str,
    out: String,
    records: u64,
    records_in_unchanged_parts: u64,
    /// How many of these records do not fit their schemas.
    undecodable_records: u64,
    /// How many records are in chunks with a wrong checksum, whether kept or left out.
    doubtful_records: u64,
    lost: JsonLosses<'r>,
    /// What `logtool check` finds in the new log, except notes.
    remaining: Vec<JsonFinding<'r>>,
}

#[derive(Serialize)]
struct JsonLosses<'r> {
    bytes: u64,
    topics: Vec<JsonTopic<'r>>,
    places: Vec<JsonPlace<'r>>,
}

#[derive(Serialize)]
struct JsonTopic<'r> {
    topic: Option<&'r str>,
    /// `None` where they cannot be counted.
    records: Option<u64>,
    /// Whether the number is complete.
    is_exact: bool,
    from_s: Option<Box<RawValue>>,
    to_s: Option<Box<RawValue>>,
}

impl<'r> JsonTopic<'r> {
    fn new(loss: &'r TopicLoss) -> Self {
        Self {
            topic: loss.topic.as_deref(),
            records: (loss.records > 0).then_some(loss.records),
            is_exact: loss.uncounted_ranges == 0,
            from_s: loss.time.and_then(first_time),
            to_s: loss.time.and_then(last_time),
        }
    }
}

#[derive(Serialize)]
struct JsonPlace<'r> {
    kind: DamageKind,
    start: u64,
    end: u64,
    topic: Option<&'r str>,
    records: Option<u64>,
    from_s: Option<Box<RawValue>>,
    to_s: Option<Box<RawValue>>,
    text: &'r str,
}

impl<'r> JsonPlace<'r> {
    fn new(finding: &'r Finding) -> Self {
        let damage = &finding.damage;
        Self {
            kind: damage.kind,
            start: damage.bytes.start,
            end: damage.bytes.end,
            topic: finding.topic.as_deref(),
            records: (damage.records > 0).then_some(damage.records),
            from_s: damage.time.and_then(first_time),
            to_s: damage.time.and_then(last_time),
            text: &finding.text,
        }
    }
}

fn first_time(time: TimeRange) -> Option<Box<RawValue>> {
    json_seconds(time.start.as_nanos())
}

fn last_time(time: TimeRange) -> Option<Box<RawValue>> {
    json_seconds(last_nanos(time))
}
