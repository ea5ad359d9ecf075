//! What a log holds, on one screen.

use std::io::{self, Write};

use logtool::{
    formats::LogFormat,
    input::open::Opened,
    losses::Findings,
    time::clock::ShownClock,
    units::{Bytes, Count, Span, counted, plain},
};
use logtool_core::{ClockZero, LogAccess, Manifest, Timestamp, Value};
use logtool_rosbag::EncryptionInfo;

use crate::{
    args::TimeChoice,
    color::Paint,
    commands::info::{
        More,
        health::{Health, Parts},
        lidars, packing, topics, types,
    },
};

/// Where the facts begin.
const INDENT: usize = 14;

/// Writes the description of `opened` under the name `name`.
pub(super) fn write(
    out: &mut dyn Write,
    name: &str,
    opened: &Opened,
    findings: &mut Findings,
    more: &More,
    paint: Paint,
) -> io::Result<()> {
    let manifest = opened.log.manifest();
    let packed =
        opened.input.packing.map(|packing| format!(", from {}", packing.name()));
    let name = plain(name);
    let name = paint.bold(&name);
    let (format, bytes) = (&manifest.format, Bytes(manifest.bytes));
    writeln!(out, "{name}  {format}, {bytes}{}", packed.unwrap_or_default())?;
    let mut facts = Facts { out, paint };
    if let Some(digest) = &more.digest {
        facts.line("digest", digest)?;
    }
    facts.times(manifest)?;
    facts.system(manifest)?;
    facts.written(manifest)?;
    if more.health.is_none() {
        facts.chunks(manifest.metadata.get("chunks"))?;
    }
    facts.counts(manifest)?;
    for (name, text) in lidars::layout(manifest).iter().chain(&lidars::lines(manifest))
    {
        facts.line(name, text)?;
    }
    if let Some(health) = &more.health {
        facts.health(manifest, health)?;
    }
    if !findings.list().is_empty() {
        let summary = findings.summary();
        facts.warning("damage", &summary)?;
        for line in findings.lines() {
            facts.line("", &line)?;
        }
    }
    for remark in &manifest.remarks {
        facts.line("note", remark)?;
    }
    topics::write(facts.out, &*opened.log, paint)?;
    types::write(facts.out, manifest, paint)?;
    if more.health.is_some() {
        topics::write_sums(facts.out, manifest, paint)?;
    }
    match &more.frequencies {
        Some(frequencies) => topics::write_frequencies(out, opened, frequencies, paint),
        None => Ok(()),
    }
}

struct Facts<'o> {
    out: &'o mut dyn Write,
    paint: Paint,
}

impl Facts<'_> {
    fn line(&mut self, name: &str, text: &str) -> io::Result<()> {
        let padding = " ".repeat(INDENT.saturating_sub(2 + name.chars().count()));
        let (name, text) = (plain(name), plain(text));
        writeln!(self.out, "  {}{padding}{text}", self.paint.dim(&name))
    }

    /// A line that warns.
    fn warning(&mut self, name: &str, text: &str) -> io::Result<()> {
        let padding = " ".repeat(INDENT.saturating_sub(2 + name.chars().count()));
        let (name, text) = (self.paint.dim(name), plain(text));
        writeln!(self.out, "  {name}{padding}{}", self.paint.yellow(&text))
    }

    fn times(&mut self, manifest: &Manifest) -> io::Result<()> {
        let Some(time) = manifest.time else {
            let has_any = manifest.topics.iter().any(|topic| topic.records > Some(0));
            let why =
                if has_any { "unknown: no record has a time" } else { "no records" };
            return self.line("duration", why);
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
            self.line(key, &value.to_string())?;
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
        self.line("dropouts", &text)?;
        // What the flight controller saved of a crash, and its next start put here.
        match manifest.metadata.get("info_multiple") {
            Some(Value::Map(all)) if all.contains_key("hardfault_plain") => {
                self.line("hard fault", "reported: see `hardfault_plain` of --json")
            }
            _ => Ok(()),
        }
    }

    /// What a bag or an MCAP file says of how it is written.
    fn written(&mut self, manifest: &Manifest) -> io::Result<()> {
        if let Some(Value::Text(version)) = manifest.metadata.get("bag_version") {
            let index = match manifest.access {
                LogAccess::Indexed => "",
                _ => ", without a sound index",
            };
            self.line("version", &format!("{version}{index}"))?;
        }
        self.encryption(manifest)?;
        let text = |key: &str| match manifest.metadata.get(key) {
            Some(Value::Text(text)) if !text.is_empty() => Some(text.clone()),
            _ => None,
        };
        if LogFormat::of(manifest) == Some(LogFormat::Mcap) {
            let profile = text("profile").unwrap_or_else(|| "none".into());
            let library = text("library").unwrap_or_else(|| "nobody says".into());
            let index = match manifest.access {
                LogAccess::Indexed => "",
                _ => ", read without a summary",
            };
            self.line("profile", &format!("{profile}, written by {library}{index}"))?;
        }
        Ok(())
    }

    /// How its chunks are packed.
    fn chunks(&mut self, facts: Option<&Value>) -> io::Result<()> {
        packing::lines(facts).iter().try_for_each(|line| self.line("chunks", line))
    }

    /// By what and for whom a bag is encrypted.
    fn encryption(&mut self, manifest: &Manifest) -> io::Result<()> {
        let Some(encryption) = EncryptionInfo::of(manifest) else { return Ok(()) };
        let whose = match encryption.user.as_str() {
            "" => String::new(),
            user => format!(", for {user}"),
        };
        let how = match (encryption.is_locked, encryption.encrypted_key.is_empty()) {
            (true, true) => "not read",
            (true, false) => "--key-file FILE reads it, where FILE has the key",
            (false, _) => "read with its key",
        };
        self.line("encryption", &format!("by {}{whose}: {how}", encryption.plugin))
    }

    /// How well the log is laid out.
    fn health(&mut self, manifest: &Manifest, health: &Health) -> io::Result<()> {
        let Parts { count, min_bytes, median_bytes, max_bytes, .. } = health.parts;
        let sizes = |min, median, max| {
            let (min, median, max) = (Bytes(min), Bytes(median), Bytes(max));
            format!("of {min} to {max}, half of them up to {median}")
        };
        let parts = counted(count, "part");
        match count {
            0 => self.line("layout", &parts)?,
            _ => {
                let sizes = sizes(min_bytes, median_bytes, max_bytes);
                self.line("layout", &format!("{parts}, {sizes}"))?;
            }
        }
        let Parts { overlapping, most_at_once, out_of_order, of_unknown_time, .. } =
            health.parts;
        let order = match (overlapping, out_of_order) {
            (0, 0) => "one after the other in time".to_owned(),
            _ => format!(
                "{overlapping} overlap earlier ones in time, up to {most_at_once} at \
                 once; {out_of_order} begin before the one before them"
            ),
        };
        self.line("order", &order)?;
        if of_unknown_time > 0 {
            let parts = counted(of_unknown_time, "part");
            self.line("", &format!("{parts} of unknown time"))?;
        }
        if let Some(Value::UInt(marks)) = manifest.metadata.get("sync_marks") {
            self.line("sync marks", &Count(*marks).to_string())?;
        }
        let chunks = health.layout.get("chunks");
        self.chunks(chunks.or_else(|| manifest.metadata.get("chunks")))?;
        let unpacked = health.layout.get("unpacked_chunk_bytes");
        if let Some((min, median, max)) = packing::spread(unpacked) {
            self.line("unpacked", &sizes(min, median, max))?;
        }
        Ok(())
    }
}
