//! The facts about a log, one on each line.

use logtool_core::{
    ClockZero, DropoutStatistics, LogAccess, Manifest, MetadataKey, SizeDistribution,
    Timestamp, Value,
};
use logtool_rosbag::EncryptionInfo;
use logtool_ulog::{EVENT_DEFINITIONS, topic_names};

use crate::{
    formats::LogFormat,
    inspect::info::{
        Health, LogInfo,
        health::PartStatistics,
        text::{TextWriter, chunks, lidars},
    },
    text::units::{Bytes, Count, Span, count_of},
    time::clock::{ShownClock, TimeChoice},
};

/// Adds all facts of `info` except those about single topics.
pub(super) fn write(text: &mut TextWriter<'_>, info: &LogInfo) {
    let manifest = info.log.manifest();
    if let Some(digest) = &info.digest {
        text.add_fact("digest", digest);
    }
    write_times(text, manifest);
    write_system(text, manifest);
    write_file(text, manifest);
    if info.health.is_none() {
        write_chunks(text, manifest.file_metadata(MetadataKey::Chunks));
    }
    write_counts(text, manifest);
    for (name, fact) in lidars::layout(manifest).iter().chain(&lidars::lines(manifest))
    {
        text.add_fact(name, fact);
    }
    if let Some(health) = &info.health {
        write_health(text, manifest, health);
    }
    if !info.damage.is_empty() {
        let mut losses = info.losses.clone();
        text.add_warning("damage", &losses.summary());
        losses.lines().iter().for_each(|line| text.add_fact("", line));
    }
    text.add_fact("inspected", info.not_inspected.sentence());
    info.remarks.iter().for_each(|remark| text.add_fact("note", remark));
}

fn write_times(text: &mut TextWriter<'_>, manifest: &Manifest) {
    let Some(time) = manifest.time else {
        let has_records = manifest.topics.iter().any(|topic| topic.records > Some(0));
        let reason =
            if has_records { "unknown: no record has a time" } else { "no records" };
        return text.add_fact("duration", reason);
    };
    let clock = text.options.shown_clock(manifest);
    let zero = match (clock.choice(), manifest.clock.zero) {
        (TimeChoice::Utc, _) => "UTC",
        (TimeChoice::Relative, _) => "since the start of the log",
        (TimeChoice::Boot, ClockZero::Unix) => "of Unix time",
        (TimeChoice::Boot, ClockZero::Boot) => "since boot",
        (TimeChoice::Boot, ClockZero::ProgramStart) => "since the recorder was started",
    };
    let last = Timestamp::from_nanos(time.end.as_nanos().saturating_sub(1));
    let (duration, first) = (Span(time.span_nanos()), clock.text(time.start));
    let last = clock.text(last);
    text.add_fact("duration", &format!("{duration}, from {first} to {last} {zero}"));
    let Ok(utc) = ShownClock::new(manifest, TimeChoice::Utc) else {
        return text.add_fact("start", "unknown: the log has no UTC reference");
    };
    let start = utc.text(time.start);
    let source = match &manifest.clock.to_unix {
        None => String::new(),
        Some(fit) if fit.observations > 1 => {
            let (count, spread) = (Count(fit.observations), Span(fit.spread_nanos));
            format!(" ({}, {count} observations, ± {spread})", fit.source)
        }
        Some(fit) => format!(" ({})", fit.source),
    };
    text.add_fact("start", &format!("{start} UTC{source}"));
}

/// Adds the facts about the system that recorded the log.
fn write_system(text: &mut TextWriter<'_>, manifest: &Manifest) {
    const FIRST: [&str; 4] = ["system", "hardware", "software", "os"];
    let Some(Value::Map(system)) = manifest.file_metadata(MetadataKey::System) else {
        return;
    };
    let first = FIRST.iter().filter_map(|key| system.get_key_value(*key));
    let others = system.iter().filter(|(key, _)| !FIRST.contains(&key.as_str()));
    for (key, value) in first.chain(others) {
        text.add_fact(key, &value.to_string());
    }
}

/// Adds how the file was written: its version, its encryption and its recorder.
fn write_file(text: &mut TextWriter<'_>, manifest: &Manifest) {
    let is_indexed = manifest.access == LogAccess::Indexed;
    if let Some(Value::Text(version)) = manifest.file_metadata(MetadataKey::BagVersion)
    {
        let index = if is_indexed { "" } else { ", without a sound index" };
        text.add_fact("version", &format!("{version}{index}"));
    }
    write_encryption(text, manifest);
    if LogFormat::from_manifest(manifest) == Some(LogFormat::Mcap) {
        let string = |key| match manifest.file_metadata(key) {
            Some(Value::Text(value)) if !value.is_empty() => Some(value.as_str()),
            _ => None,
        };
        let profile = string(MetadataKey::Profile).unwrap_or("none");
        let library = string(MetadataKey::Library).unwrap_or("an unknown library");
        let index = if is_indexed { "" } else { ", read without a summary" };
        text.add_fact("profile", &format!("{profile}, written by {library}{index}"));
    }
}

fn write_encryption(text: &mut TextWriter<'_>, manifest: &Manifest) {
    let Some(encryption) = EncryptionInfo::from_manifest(manifest) else { return };
    let user = match encryption.user.as_str() {
        "" => String::new(),
        user => format!(", for {user}"),
    };
    let state = match (encryption.is_locked, encryption.encrypted_key.is_empty()) {
        (true, true) => "not read",
        (true, false) => "not read, which needs its key",
        (false, _) => "read with its key",
    };
    text.add_fact("encryption", &format!("by {}{user}: {state}", encryption.plugin));
}

/// Adds the compression of the chunks that the metadata `chunks` describe.
fn write_chunks(text: &mut TextWriter<'_>, chunks: Option<&Value>) {
    chunks::lines(chunks).iter().for_each(|line| text.add_fact("chunks", line));
}

/// Returns whether the ULog contains definitions of events.
fn defines_events(manifest: &Manifest) -> bool {
    let infos = manifest.file_metadata(MetadataKey::InfoMultiple);
    matches!(infos, Some(Value::Map(infos)) if infos.contains_key(EVENT_DEFINITIONS))
}

/// Adds the numbers of messages, parameters and dropouts of a ULog.
fn write_counts(text: &mut TextWriter<'_>, manifest: &Manifest) {
    let records =
        |name: &str| manifest.topics.iter().find(|topic| topic.name == name)?.records;
    if let Some(strings) = records(topic_names::LOGGED_STRINGS) {
        let events = match records(topic_names::EVENTS) {
            Some(events) if defines_events(manifest) => {
                format!(", {}", count_of(events, "event"))
            }
            Some(events) => {
                format!(", {} without definitions", count_of(events, "event"))
            }
            None => String::new(),
        };
        let strings = count_of(strings, "logged string");
        text.add_fact("messages", &format!("{strings}{events}"));
    }
    if let Some(Value::Map(parameters)) =
        manifest.file_metadata(MetadataKey::Parameters)
    {
        let mut fact = Count(parameters.len() as u64).to_string();
        let non_default = manifest.file_metadata(MetadataKey::ParametersNonDefault);
        if let Some(Value::UInt(count @ 1..)) = non_default {
            fact += &format!(", {} not at the default", Count(*count));
        }
        if let Some(changes @ 1..) = records(topic_names::PARAMETER_CHANGES) {
            fact += &format!(", {}", count_of(changes, "change"));
        }
        text.add_fact("parameters", &fact);
    }
    let dropouts = manifest.file_metadata(MetadataKey::Dropouts);
    let Some(dropouts) = dropouts.and_then(DropoutStatistics::from_value) else {
        return;
    };
    let fact = match dropouts {
        DropoutStatistics { count: 0, .. } => "none".to_owned(),
        DropoutStatistics { count, total_millis, longest_millis } => format!(
            "{}, {total_millis} ms in all, the longest {longest_millis} ms",
            Count(count)
        ),
    };
    text.add_fact("dropouts", &fact);
    // PX4 saves a crash in permanent memory, and writes it to the next log.
    if let Some(Value::Map(infos)) = manifest.file_metadata(MetadataKey::InfoMultiple)
        && infos.contains_key("hardfault_plain")
    {
        text.add_fact(
            "hard fault",
            "recorded: `logtool info --show hardfault_plain` prints it",
        );
    }
}

fn write_health(text: &mut TextWriter<'_>, manifest: &Manifest, health: &Health) {
    let sizes = |min, median, max| {
        let (min, median, max) = (Bytes(min), Bytes(median), Bytes(max));
        format!("of {min} to {max}, half of them up to {median}")
    };
    let PartStatistics { count, overlapping, out_of_order, .. } = health.parts;
    let PartStatistics { min_bytes, median_bytes, max_bytes, .. } = health.parts;
    let parts = count_of(count, "part");
    if count == 0 {
        text.add_fact("layout", &parts);
    } else {
        let sizes = sizes(min_bytes, median_bytes, max_bytes);
        text.add_fact("layout", &format!("{parts}, {sizes}"));
    }
    let order = if (overlapping, out_of_order) == (0, 0) {
        "one after the other in time".to_owned()
    } else {
        format!(
            "{overlapping} overlap earlier ones in time, up to {} at once; \
             {out_of_order} start before the part before them",
            health.parts.most_at_once
        )
    };
    text.add_fact("order", &order);
    if health.parts.of_unknown_time > 0 {
        let parts = count_of(health.parts.of_unknown_time, "part");
        text.add_fact("", &format!("{parts} of unknown time"));
    }
    if let Some(Value::UInt(marks)) = manifest.file_metadata(MetadataKey::SyncMarks) {
        text.add_fact("sync marks", &Count(*marks).to_string());
    }
    let chunks = health.layout.get(MetadataKey::Chunks.name());
    write_chunks(text, chunks.or_else(|| manifest.file_metadata(MetadataKey::Chunks)));
    let uncompressed = health.layout.get(MetadataKey::UncompressedChunkBytes.name());
    let uncompressed = uncompressed.and_then(SizeDistribution::from_value);
    if let Some(SizeDistribution { min, median, max }) = uncompressed {
        text.add_fact("", &format!("uncompressed {}", sizes(min, median, max)));
    }
}
