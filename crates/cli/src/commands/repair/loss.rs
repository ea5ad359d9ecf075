//! What was lost, by topic and time.

use std::{collections::BTreeMap, path::Path};

use logtool::{
    input::open::Opened,
    losses::Findings,
    time::clock::{Seconds, ShownClock},
    units::{Span, counted},
};
use logtool_core::{Copied, Manifest, TimeRange, TopicId};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    args::TimeChoice, commands::check::report::JsonFinding, paint, terminal::say,
};

/// What was lost.
pub(super) struct Loss {
    topics: Vec<TopicLoss>,
    bytes: u64,
    summary: String,
    lines: Vec<String>,
    places: Vec<PlaceReport>,
}

/// What was lost of a topic, or of nobody knows which.
struct TopicLoss {
    topic: Option<TopicId>,
    /// How many records are known to be lost.
    records: u64,
    /// Whether there are places where nobody knows how many.
    is_more: bool,
    time: Option<TimeRange>,
    places: u64,
}

impl Loss {
    /// What `findings` come to.
    pub(super) fn new(manifest: &Manifest, findings: &mut Findings) -> Self {
        let mut topics: BTreeMap<Option<TopicId>, TopicLoss> = BTreeMap::new();
        let mut places = Vec::new();
        for finding in findings.list() {
            let damage = &finding.damage;
            places.push(PlaceReport {
                kind: damage.kind,
                start: damage.bytes.start,
                end: damage.bytes.end,
                topic: label(manifest, damage.topic),
                records: (damage.records > 0).then_some(damage.records),
                from_s: damage.time.and_then(|time| first(&time)),
                to_s: damage.time.and_then(|time| last(&time)),
                text: finding.text.clone(),
            });
            if !damage.kind.is_loss() {
                continue;
            }
            let loss = topics.entry(damage.topic).or_insert_with(|| TopicLoss {
                topic: damage.topic,
                records: 0,
                is_more: false,
                time: None,
                places: 0,
            });
            loss.records = loss.records.saturating_add(damage.records);
            loss.is_more |= damage.records == 0;
            loss.places += 1;
            loss.time = match (loss.time, damage.time) {
                (Some(a), Some(b)) => Some(a.cover(&b)),
                (a, b) => a.or(b),
            };
        }
        let mut topics: Vec<TopicLoss> = topics.into_values().collect();
        // Those that are of no known topic come last.
        topics.sort_by_key(|loss| loss.topic.is_none());
        Self {
            topics,
            bytes: findings.lost_bytes(),
            summary: findings.summary(),
            lines: findings.lines(),
            places,
        }
    }

    /// Tells people.
    pub(super) fn tell(&self, opened: &Opened) {
        if self.places.is_empty() {
            return;
        }
        let (name, manifest) = (&opened.input.name, opened.log.manifest());
        let paint = paint::for_stderr();
        let what = if self.topics.is_empty() { "damaged:" } else { "lost:" };
        say!("{} {name}: {}", paint.yellow(what), self.summary);
        let clock = ShownClock::new(manifest, TimeChoice::Boot).ok();
        for loss in &self.topics {
            let topic = label(manifest, loss.topic);
            let topic = topic.unwrap_or_else(|| "of unknown topics".to_owned());
            let records = match (loss.records, loss.is_more) {
                (0, _) => counted(loss.places, "place"),
                (records, false) => counted(records, "record"),
                (records, true) => format!("{} and more", counted(records, "record")),
            };
            let time = loss.time.zip(clock).map(|(time, clock)| {
                let (from, took) = (clock.text(time.start), Span(time.span_nanos()));
                format!(", within {took} from {from} on")
            });
            say!("  {topic}: {records}{}", time.unwrap_or_default());
        }
        say!("{}", paint.bold("where:"));
        self.lines.iter().for_each(|line| say!("  {line}"));
    }

    /// The same for programs.
    pub(super) fn report<'r>(
        &'r self,
        opened: &'r Opened,
        out: &'r Path,
        copied: &Copied,
        undecodable: u64,
        remaining: Vec<JsonFinding<'r>>,
    ) -> RepairReport<'r> {
        let manifest = opened.log.manifest();
        let topic = |loss: &TopicLoss| TopicReport {
            topic: label(manifest, loss.topic),
            records: (loss.records > 0).then_some(loss.records),
            is_exact: !loss.is_more,
            from_s: loss.time.and_then(|time| first(&time)),
            to_s: loss.time.and_then(|time| last(&time)),
        };
        RepairReport {
            file: &opened.input.name,
            format: &manifest.format,
            out: out.display().to_string(),
            records: copied.records,
            records_in_unchanged_parts: copied.in_parts,
            undecodable_records: undecodable,
            doubtful_records: copied.doubtful.iter().map(|one| one.records).sum(),
            lost: LossReport {
                bytes: self.bytes,
                topics: self.topics.iter().map(topic).collect(),
                places: &self.places,
            },
            remaining,
        }
    }
}

fn label(manifest: &Manifest, topic: Option<TopicId>) -> Option<String> {
    Some(manifest.get(topic?).ok()?.label().into_owned())
}

/// What `logtool repair --json` prints.
#[derive(Serialize)]
pub(super) struct RepairReport<'r> {
    file: &'r str,
    format: &'r str,
    out: String,
    records: u64,
    records_in_unchanged_parts: u64,
    /// Of these records, those that do not fit their schema.
    undecodable_records: u64,
    /// Those with a wrong checksum, which are kept or left out.
    doubtful_records: u64,
    lost: LossReport<'r>,
    /// What `logtool check` finds in the new log, but for notes.
    remaining: Vec<JsonFinding<'r>>,
}

#[derive(Serialize)]
struct LossReport<'r> {
    bytes: u64,
    topics: Vec<TopicReport>,
    places: &'r [PlaceReport],
}

#[derive(Serialize)]
struct TopicReport {
    topic: Option<String>,
    /// Nothing where they cannot be counted.
    records: Option<u64>,
    /// Whether these are all.
    is_exact: bool,
    from_s: Option<Box<RawValue>>,
    to_s: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct PlaceReport {
    kind: logtool_core::DamageKind,
    start: u64,
    end: u64,
    topic: Option<String>,
    records: Option<u64>,
    from_s: Option<Box<RawValue>>,
    to_s: Option<Box<RawValue>>,
    text: String,
}

/// The first time of `time`, exactly.
fn first(time: &TimeRange) -> Option<Box<RawValue>> {
    RawValue::from_string(Seconds(time.start.as_nanos()).to_string()).ok()
}

/// The last.
fn last(time: &TimeRange) -> Option<Box<RawValue>> {
    let nanos = time.end.as_nanos().saturating_sub(1);
    RawValue::from_string(Seconds(nanos).to_string()).ok()
}
