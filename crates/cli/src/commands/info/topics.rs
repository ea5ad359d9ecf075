//! The topics of a log, as a table.

use std::io::{self, Write};

use logtool::{
    input::open::{self, Opened},
    time::clock::ShownClock,
    units::{Bytes, Count, Rate, Span, counted, plain, shortened},
};
use logtool_core::{Log, Manifest, Topic, TopicId, TopicOrigin};

use crate::{
    args::TimeChoice,
    color::Paint,
    commands::info::{frequency::Frequency, rate::AboutRates},
    terminal,
};

/// How long a line of names may be.
const WIDTH: usize = 100;

/// How wide a column of names may be: on a terminal, longer ones are shortened.
const NAME: usize = 60;

/// Writes a line for each topic that has records, and the names of the others.
pub(super) fn write(
    out: &mut dyn Write,
    log: &dyn Log,
    paint: Paint,
) -> io::Result<()> {
    let manifest = log.manifest();
    let logged = |(_, topic): &(TopicId, &Topic)| topic.origin == TopicOrigin::Logged;
    let (full, empty): (Vec<_>, Vec<_>) =
        manifest.topics().filter(logged).partition(|(_, t)| t.records != Some(0));
    if !full.is_empty() {
        table(out, log, &full, paint)?;
    }
    let mut counts = counted(full.len() as u64, "topic");
    let records = full.iter().map(|(_, topic)| topic.records).sum::<Option<u64>>();
    let records = records.map(|records| counted(records, "record"));
    let records = records.as_deref().unwrap_or("an unknown number of records");
    counts = format!("{counts}, {records}");
    if full.is_empty() && open::is_locked(manifest) {
        counts = "topics and records are encrypted".to_owned();
    }
    writeln!(out, "  {}", paint.dim(&counts))?;
    let made = manifest.topics().filter(|(_, t)| t.origin == TopicOrigin::Derived);
    // What a ULog's vehicle said, is made of no topic, and has a command of its own.
    let made = made.filter(|(_, t)| t.records != Some(0) && t.name != "messages");
    let made: Vec<String> = made.map(|(_, topic)| plain(&topic.label())).collect();
    if !made.is_empty() {
        let what = "made of these (convert and cat take them by name)";
        writeln!(out, "  also {}: {what}", made.join(", "))?;
    }
    if empty.is_empty() {
        return Ok(());
    }
    let mut labels: Vec<String> =
        empty.iter().map(|(_, topic)| plain(&topic.label())).collect();
    labels.sort();
    writeln!(out, "\n  {} without records:", counted(labels.len() as u64, "topic"))?;
    let mut line = String::new();
    for label in labels {
        if !line.is_empty() && 4 + line.len() + 1 + label.len() > WIDTH {
            writeln!(out, "    {line}")?;
            line.clear();
        }
        line = if line.is_empty() { label } else { format!("{line} {label}") };
    }
    writeln!(out, "    {line}")
}

fn table(
    out: &mut dyn Write,
    log: &dyn Log,
    topics: &[(TopicId, &Topic)],
    paint: Paint,
) -> io::Result<()> {
    let about_rates = AboutRates::new(log);
    let width = width(topics.iter().map(|(_, topic)| *topic));
    // A ULog's topics are called as their types are.
    let has_types = topics
        .iter()
        .any(|(_, topic)| !topic.type_name.is_empty() && topic.type_name != topic.name);
    let head = format!(
        "  {:width$} {:>10} {:>9} {:>10}{}",
        "TOPIC",
        "RECORDS",
        "RATE/Hz",
        "BYTES",
        if has_types { "  TYPE" } else { "" }
    );
    writeln!(out, "\n{}", paint.bold(&head))?;
    let mut sorted = topics.to_vec();
    sorted.sort_by(|(_, a), (_, b)| (&a.name, a.instance).cmp(&(&b.name, b.instance)));
    for (id, topic) in sorted {
        let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let label = label(topic);
        let records = or_unknown(topic.records.map(|n| Count(n).to_string()));
        let rate = topic.rate_hz().map(|rate| Rate(rate).to_string());
        let about = || Some(format!("~{}", Rate(about_rates.hz(id, topic)?)));
        let rate = or_unknown(rate.or_else(about));
        let bytes = or_unknown(topic.bytes.map(|n| Bytes(n).to_string()));
        let line = format!("  {label:width$} {records:>10} {rate:>9} {bytes:>10}");
        let kind = if has_types { kind(topic) } else { String::new() };
        writeln!(out, "{line}{kind}")?;
    }
    Ok(())
}

/// What `topic` is called in a table.
fn label(topic: &Topic) -> String {
    let label = plain(&topic.label());
    match terminal::stdout_is_seen() {
        true => shortened(&label, NAME).into_owned(),
        false => label,
    }
}

/// How wide the column of the names of `topics` is.
fn width<'t>(topics: impl Iterator<Item = &'t Topic>) -> usize {
    let widths = topics.map(|topic| plain(&topic.label()).chars().count());
    widths.max().unwrap_or(0).clamp("TOPIC".len(), NAME)
}

/// Writes a line for each topic of which an MD5 sum is known: that, and who published.
pub(super) fn write_sums(
    out: &mut dyn Write,
    manifest: &Manifest,
    paint: Paint,
) -> io::Result<()> {
    let sum = |topic: &'_ Topic| topic.metadata.get("md5sum").cloned();
    let logged = |topic: &&Topic| topic.origin == TopicOrigin::Logged;
    let topics = manifest.topics.iter().filter(logged);
    let mut known: Vec<(&Topic, String)> =
        topics.filter_map(|topic| Some((topic, sum(topic)?))).collect();
    if known.is_empty() {
        return Ok(());
    }
    known.sort_by(|(a, _), (b, _)| (&a.name, a.instance).cmp(&(&b.name, b.instance)));
    let width = width(known.iter().map(|(topic, _)| *topic));
    let head = format!("  {:width$}  {:32}  PUBLISHED BY", "TOPIC", "MD5SUM");
    writeln!(out, "\n{}", paint.bold(&head))?;
    for (topic, sum) in known {
        let (label, sum) = (label(topic), plain(&sum));
        let caller = topic.metadata.get("callerid").map_or("-", String::as_str);
        writeln!(out, "  {label:width$}  {sum:32}  {}", plain(caller))?;
    }
    Ok(())
}

/// The type of a topic, and how many connections it has, if those are several.
fn kind(topic: &Topic) -> String {
    let connections = topic.metadata.get("connections");
    let several = connections.filter(|count| *count != "1");
    let several = several.map(|count| format!(" ({count} connections)"));
    format!("  {}{}", plain(&topic.type_name), several.unwrap_or_default())
}

/// Writes a line for each topic of which the `frequencies` are known.
pub(super) fn write_frequencies(
    out: &mut dyn Write,
    opened: &Opened,
    frequencies: &[Option<Frequency>],
    paint: Paint,
) -> io::Result<()> {
    let manifest = opened.log.manifest();
    let clock = ShownClock::new(manifest, TimeChoice::Boot).ok();
    let known = manifest.topics.iter().zip(frequencies);
    let mut known: Vec<(&Topic, &Frequency)> = known
        .filter_map(|(topic, frequency)| Some((topic, frequency.as_ref()?)))
        .collect();
    if known.is_empty() {
        return Ok(());
    }
    known.sort_by(|(a, _), (b, _)| (&a.name, a.instance).cmp(&(&b.name, b.instance)));
    let width = width(known.iter().map(|(topic, _)| *topic));
    let head = format!(
        "  {:width$} {:>9} {:>12} {:>12} {:>12} {:>13}  {}",
        "TOPIC", "USUAL/Hz", "SHORTEST", "MEDIAN", "JITTER", "LARGEST GAP", "AT"
    );
    writeln!(out, "\n{}", paint.bold(&head))?;
    for (topic, frequency) in known {
        let label = label(topic);
        let rate = frequency.rate_hz.map(|rate| Rate(rate).to_string());
        let rate = rate.unwrap_or_else(|| "-".to_owned());
        let span = |nanos: u64| Span(nanos).to_string();
        let (min, median) =
            (span(frequency.min_period_ns), span(frequency.median_period_ns));
        let (jitter, max) =
            (span(frequency.jitter_ns.round() as u64), span(frequency.max_period_ns));
        let at = clock.as_ref().map(|clock| clock.text(frequency.gap_at).to_string());
        let at = at.unwrap_or_default();
        writeln!(
            out,
            "  {label:width$} {rate:>9} {min:>12} {median:>12} {jitter:>12} {max:>13}  \
             {at}"
        )?;
    }
    Ok(())
}
