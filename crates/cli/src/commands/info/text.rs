//! What a log holds, on one screen.

use std::io::{self, Write};

use logtool_core::{ClockZero, Manifest, Timestamp, Topic, TopicOrigin, Value};

use crate::{
    args::TimeChoice,
    clock::ShownClock,
    commands::info::report::rate_hz,
    findings::Findings,
    human::{Bytes, Count, Rate, Span, counted},
    opened::Opened,
    paint::Paint,
};

/// Where the facts begin.
const INDENT: usize = 14;
/// How long a line of names may be.
const WIDTH: usize = 100;

/// Writes what is known of `opened`.
pub(super) fn write(
    out: &mut dyn Write,
    opened: &Opened,
    findings: &mut Findings,
    paint: Paint,
) -> io::Result<()> {
    let manifest = opened.log.manifest();
    let packed =
        opened.input.packing.map(|packing| format!(", from {}", packing.name()));
    let name = paint.bold(&opened.input.name);
    let (format, bytes) = (&manifest.format, Bytes(manifest.bytes));
    writeln!(out, "{name}  {format}, {bytes}{}", packed.unwrap_or_default())?;
    let mut facts = Facts { out, paint };
    facts.times(manifest)?;
    facts.system(manifest)?;
    facts.counts(manifest)?;
    if !findings.list().is_empty() {
        let summary = findings.summary();
        facts.line("damage", &paint.yellow(&summary))?;
        for line in findings.lines() {
            facts.line("", &line)?;
        }
    }
    for remark in &manifest.remarks {
        facts.line("note", remark)?;
    }
    facts.topics(manifest)
}

struct Facts<'o> {
    out: &'o mut dyn Write,
    paint: Paint,
}

impl Facts<'_> {
    fn line(&mut self, name: &str, text: &str) -> io::Result<()> {
        let padding = " ".repeat(INDENT.saturating_sub(2 + name.chars().count()));
        writeln!(self.out, "  {}{padding}{text}", self.paint.dim(name))
    }

    fn times(&mut self, manifest: &Manifest) -> io::Result<()> {
        let Some(time) = manifest.time else {
            return self.line("duration", "no records");
        };
        let clock = |choice| ShownClock::new(manifest, choice).ok();
        let zero = match manifest.clock.zero {
            ClockZero::Unix => "of Unix time",
            ClockZero::Boot => "since boot",
            ClockZero::ProgramStart => "since the recorder was started",
        };
        let span = Span(time.span_nanos());
        let last = Timestamp::from_nanos(time.end.as_nanos().saturating_sub(1));
        let shown = clock(TimeChoice::Boot).map(|clock| {
            let (first, last) = (clock.text(time.start), clock.text(last));
            format!("{span}, from {first} to {last} {zero}")
        });
        self.line("duration", &shown.unwrap_or_default())?;
        let Some(utc) = clock(TimeChoice::Utc) else {
            return self.line("start", "not known in the world's time (no GPS)");
        };
        let start = utc.text(time.start);
        match &manifest.clock.to_unix {
            None => self.line("start", &format!("{start} UTC")),
            Some(fit) if fit.observations > 1 => {
                let (times, spread) = (Count(fit.observations), Span(fit.spread_nanos));
                let source = &fit.source;
                let why = format!("{source}, {times} observations, ± {spread}");
                self.line("start", &format!("{start} UTC ({why})"))
            }
            Some(fit) => self.line("start", &format!("{start} UTC ({})", fit.source)),
        }
    }

    /// What the format knows of the system, in words.
    fn system(&mut self, manifest: &Manifest) -> io::Result<()> {
        const FIRST: [&str; 4] = ["system", "hardware", "software", "os"];
        let Some(Value::Map(system)) = manifest.metadata.get("system") else {
            return Ok(());
        };
        let known = FIRST.iter().filter_map(|key| system.get_key_value(*key));
        let others = system.iter().filter(|(key, _)| !FIRST.contains(&key.as_str()));
        for (key, value) in known.chain(others) {
            self.line(key, &plain(&value.to_string()))?;
        }
        Ok(())
    }

    fn counts(&mut self, manifest: &Manifest) -> io::Result<()> {
        let records = |name: &str| {
            let topic = manifest.topics.iter().find(|topic| topic.name == name);
            topic.and_then(|topic| topic.records)
        };
        if let Some(strings) = records("logged_strings") {
            let mut text = counted(strings, "logged string");
            if let Some(events) = records("events") {
                text = format!("{text}, {}", counted(events, "event"));
            }
            self.line("messages", &text)?;
        }
        if let Some(Value::Map(parameters)) = manifest.metadata.get("parameters") {
            let mut text = Count(parameters.len() as u64).to_string();
            let non_default = manifest.metadata.get("parameters_non_default");
            if let Some(Value::UInt(count @ 1..)) = non_default {
                text = format!("{text}, {} not at the default", Count(*count));
            }
            if let Some(changes @ 1..) = records("parameter_changes") {
                text = format!("{text}, {}", counted(changes, "change"));
            }
            self.line("parameters", &text)?;
        }
        let Some(Value::Map(dropouts)) = manifest.metadata.get("dropouts") else {
            return Ok(());
        };
        let value = |key| match dropouts.get(key) {
            Some(Value::UInt(value)) => *value,
            _ => 0,
        };
        let text = match value("count") {
            0 => "none".to_owned(),
            count => {
                let (total, longest) = (value("total_ms"), value("longest_ms"));
                format!("{}, {total} ms in all, the longest {longest} ms", Count(count))
            }
        };
        self.line("dropouts", &text)
    }

    /// A line for each topic that has records, and the names of the others.
    fn topics(&mut self, manifest: &Manifest) -> io::Result<()> {
        let logged = |topic: &&Topic| topic.origin == TopicOrigin::Logged;
        let (full, empty): (Vec<&Topic>, Vec<&Topic>) =
            manifest.topics.iter().filter(logged).partition(|t| t.records != Some(0));
        if !full.is_empty() {
            let labels = full.iter().map(|topic| topic.label().chars().count());
            let width = labels.max().unwrap_or(0).max("TOPIC".len());
            let head = format!(
                "  {:width$} {:>10} {:>9} {:>10}",
                "TOPIC", "RECORDS", "RATE/Hz", "BYTES"
            );
            writeln!(self.out, "\n{}", self.paint.bold(&head))?;
            let mut sorted = full.clone();
            sorted.sort_by(|a, b| (&a.name, a.instance).cmp(&(&b.name, b.instance)));
            for topic in sorted {
                let or_unknown =
                    |text: Option<String>| text.unwrap_or_else(|| "-".into());
                let label = plain(&topic.label());
                let records = or_unknown(topic.records.map(|n| Count(n).to_string()));
                let rate =
                    or_unknown(rate_hz(topic).map(|rate| Rate(rate).to_string()));
                let bytes = or_unknown(topic.bytes.map(|n| Bytes(n).to_string()));
                writeln!(
                    self.out,
                    "  {label:width$} {records:>10} {rate:>9} {bytes:>10}"
                )?;
            }
        }
        let mut counts = counted(full.len() as u64, "topic");
        let records: u64 = full.iter().filter_map(|topic| topic.records).sum();
        counts = format!("{counts}, {}", counted(records, "record"));
        writeln!(self.out, "  {}", self.paint.dim(&counts))?;
        if empty.is_empty() {
            return Ok(());
        }
        let mut labels: Vec<String> = empty.iter().map(|t| plain(&t.label())).collect();
        labels.sort();
        writeln!(
            self.out,
            "\n  {} without records:",
            counted(labels.len() as u64, "topic")
        )?;
        let mut line = String::new();
        for label in labels {
            if !line.is_empty() && 4 + line.len() + 1 + label.len() > WIDTH {
                writeln!(self.out, "    {line}")?;
                line.clear();
            }
            line = if line.is_empty() { label } else { format!("{line} {label}") };
        }
        writeln!(self.out, "    {line}")
    }
}

/// `text` without what a terminal would take for a command.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => plain.extend(c.escape_default()),
            false => plain.push(c),
        }
    }
    plain
}
