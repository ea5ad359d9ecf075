//! The topics of a log as tables.

use logtool_core::{Manifest, Timestamp, Topic, TopicOrigin};
use logtool_rosmsg::TopicMetadata;
use logtool_ulog::topic_names;

use crate::{
    inspect::info::{Frequency, LogInfo, TopicInfo, text::TextWriter},
    source::input::open,
    text::units::{
        Bytes, Count, Rate, Span, count_of, escape_unprintable, shorten_middle,
    },
};

/// The maximum length of a line of names.
const LINE_WIDTH: usize = 80;

/// The maximum width of a column of names.
const NAME_WIDTH: usize = 60;

/// Adds a line for each topic that has records, and the names of the others.
pub(super) fn write(text: &mut TextWriter<'_>, info: &LogInfo) {
    let of_origin = |origin| info.topics.iter().filter(move |t| t.origin == origin);
    let (full, empty): (Vec<&TopicInfo>, Vec<&TopicInfo>) =
        of_origin(TopicOrigin::Logged).partition(|topic| topic.records != Some(0));
    if !full.is_empty() {
        let log_span = info.log.manifest().time.map_or(0, |time| time.span_nanos());
        write_table(text, &full, log_span);
    }
    let records = full.iter().map(|topic| topic.records).sum::<Option<u64>>();
    let records = records.map(|records| count_of(records, "record"));
    let records = records.as_deref().unwrap_or("an unknown number of records");
    let counts = if full.is_empty() && open::is_locked(info.log.manifest()) {
        "topics and records are encrypted".to_owned()
    } else {
        format!("{}, {records}", count_of(full.len() as u64, "topic"))
    };
    let counts = text.style().dim(&counts).into_owned();
    text.add_line(&format!("  {counts}"));
    // The messages of a ULog are not derived from topics, and have a command of their own.
    let derived = of_origin(TopicOrigin::Derived).filter(|topic| {
        topic.records != Some(0) && topic.name != topic_names::MESSAGES
    });
    let derived: Vec<String> =
        derived.map(|topic| escape_unprintable(&topic.topic)).collect();
    if !derived.is_empty() {
        let how = "made of these (convert and cat take them by name)";
        text.add_line(&format!("  also {}: {how}", derived.join(", ")));
    }
    write_names(text, &empty);
}

/// Adds the names of the topics without records, several on each line.
fn write_names(text: &mut TextWriter<'_>, empty: &[&TopicInfo]) {
    if empty.is_empty() {
        return;
    }
    let mut labels: Vec<String> =
        empty.iter().map(|topic| escape_unprintable(&topic.topic)).collect();
    labels.sort();
    let count = count_of(labels.len() as u64, "topic");
    text.add_line(&format!("\n  {count} without records:"));
    let mut line = String::new();
    for label in labels {
        if !line.is_empty() && 4 + line.len() + 1 + label.len() > LINE_WIDTH {
            text.add_line(&format!("    {line}"));
            line.clear();
        }
        line = if line.is_empty() { label } else { format!("{line} {label}") };
    }
    text.add_line(&format!("    {line}"));
}

/// Adds a line for each of `topics`. The log is `log_span` nanoseconds long.
fn write_table(text: &mut TextWriter<'_>, topics: &[&TopicInfo], log_span: u64) {
    let width = label_width(topics.iter().map(|topic| topic.topic.as_str()));
    // The topics of a ULog have the names of their types.
    let has_types = topics
        .iter()
        .any(|topic| !topic.type_name.is_empty() && topic.type_name != topic.name);
    let heading = format!(
        "  {:width$} {:>10} {:>9} {:>10}{}",
        "TOPIC",
        "RECORDS",
        "RATE/Hz",
        "BYTES",
        if has_types { "  TYPE" } else { "" }
    );
    text.add_heading(&heading);
    let mut sorted = topics.to_vec();
    sorted.sort_by(|a, b| (&a.name, a.instance).cmp(&(&b.name, b.instance)));
    for topic in sorted {
        let or_unknown = |cell: Option<String>| cell.unwrap_or_else(|| "-".into());
        let label = shown_label(text, &topic.topic);
        let records = or_unknown(topic.records.map(|count| Count(count).to_string()));
        let sign = if topic.rate_is_estimate { "~" } else { "" };
        let rate =
            topic.rate_hz.filter(|rate| !is_single_burst(topic, *rate, log_span));
        let rate = or_unknown(rate.map(|rate| format!("{sign}{}", Rate(rate))));
        let bytes = or_unknown(topic.bytes.map(|bytes| Bytes(bytes).to_string()));
        let kind = if has_types { type_cell(topic) } else { String::new() };
        let line =
            format!("  {label:width$} {records:>10} {rate:>9} {bytes:>10}{kind}");
        text.add_line(&line);
    }
}

/// Returns whether all records of a topic come at once in a log that is far longer. The rate of such
/// records is very high, and means nothing.
fn is_single_burst(topic: &TopicInfo, rate_hz: f64, log_span: u64) -> bool {
    const BURST_NANOS: f64 = 1e6;
    let periods = topic.records.unwrap_or_default().saturating_sub(1);
    let span = periods as f64 / rate_hz * 1e9;
    span < BURST_NANOS && log_span as f64 > 1000.0 * BURST_NANOS
}

/// Returns whether the records of a topic come in bursts: most follow the one before at once, and
/// the others after a far longer time. Its median period is not that of a rate then.
fn has_bursts(topic: &TopicInfo, median_rate_hz: f64) -> bool {
    topic.rate_hz.is_some_and(|mean| median_rate_hz > 100.0 * mean)
}

/// Returns the cell of a topic's type, with the number of connections if there are several.
fn type_cell(topic: &TopicInfo) -> String {
    let connections =
        TopicMetadata::new(&topic.metadata).connections.filter(|count| *count != 1);
    let connections = connections.map(|count| format!(" ({count} connections)"));
    format!(
        "  {}{}",
        escape_unprintable(&topic.type_name),
        connections.unwrap_or_default()
    )
}

/// Returns the cell of the topic with this label.
fn shown_label(text: &TextWriter<'_>, label: &str) -> String {
    let label = escape_unprintable(label);
    if text.options.shortens_topics {
        shorten_middle(&label, NAME_WIDTH).into_owned()
    } else {
        label
    }
}

/// Returns the width of a column of these labels.
fn label_width<'l>(labels: impl Iterator<Item = &'l str>) -> usize {
    let widths = labels.map(|label| escape_unprintable(label).chars().count());
    widths.max().unwrap_or(0).clamp("TOPIC".len(), NAME_WIDTH)
}

/// Adds the MD5 sum and the publishers of each topic whose MD5 sum is known.
pub(super) fn write_md5_sums(text: &mut TextWriter<'_>, manifest: &Manifest) {
    let topics = manifest.topics.iter();
    let logged = topics.filter(|topic| topic.origin == TopicOrigin::Logged);
    let mut known: Vec<(&Topic, &str)> = logged
        .filter_map(|topic| Some((topic, TopicMetadata::new(&topic.metadata).md5sum?)))
        .collect();
    if known.is_empty() {
        return;
    }
    known.sort_by(|(a, _), (b, _)| (&a.name, a.instance).cmp(&(&b.name, b.instance)));
    let labels: Vec<_> = known.iter().map(|(topic, _)| topic.label()).collect();
    let width = label_width(labels.iter().map(|label| &**label));
    text.add_heading(&format!("  {:width$}  {:32}  PUBLISHED BY", "TOPIC", "MD5SUM"));
    for ((topic, md5_sum), label) in known.iter().zip(&labels) {
        let (label, md5_sum) = (shown_label(text, label), escape_unprintable(md5_sum));
        let caller = TopicMetadata::new(&topic.metadata).callers.unwrap_or("-");
        text.add_line(&format!(
            "  {label:width$}  {md5_sum:32}  {}",
            escape_unprintable(caller)
        ));
    }
}

/// Adds the periods and gaps of each topic whose frequency was measured.
pub(super) fn write_frequencies(text: &mut TextWriter<'_>, info: &LogInfo) {
    let topics = info.topics.iter();
    let mut known: Vec<(&TopicInfo, Frequency)> =
        topics.filter_map(|topic| Some((topic, topic.frequency?))).collect();
    if known.is_empty() {
        return;
    }
    known.sort_by(|(a, _), (b, _)| (&a.name, a.instance).cmp(&(&b.name, b.instance)));
    let width = label_width(known.iter().map(|(topic, _)| topic.topic.as_str()));
    let heading = format!(
        "  {:width$} {:>9} {:>12} {:>12} {:>12} {:>13}  {}",
        "TOPIC", "USUAL/Hz", "SHORTEST", "MEDIAN", "JITTER", "LARGEST GAP", "AT"
    );
    text.add_heading(&heading);
    let clock = text.options.shown_clock(info.log.manifest());
    for (topic, frequency) in known {
        let label = shown_label(text, &topic.topic);
        let rate = frequency.rate_hz.filter(|rate| !has_bursts(topic, *rate));
        let rate = rate.map(|rate| Rate(rate).to_string());
        let rate = rate.unwrap_or_else(|| "-".to_owned());
        let span = |nanos: u64| Span(nanos).to_string();
        let (min, median) =
            (span(frequency.min_period_ns), span(frequency.median_period_ns));
        let (jitter, max) =
            (span(frequency.jitter_ns.round() as u64), span(frequency.max_period_ns));
        let gap_time = clock.text(Timestamp::from_nanos(frequency.largest_gap_at_s.0));
        text.add_line(&format!(
            "  {label:width$} {rate:>9} {min:>12} {median:>12} {jitter:>12} {max:>13}  \
             {gap_time}"
        ));
    }
}
