//! Everything that is known of a log, as JSON.

use std::collections::BTreeMap;

use logtool::{
    input::open::Opened,
    losses::Findings,
    time::clock::{Iso, Seconds},
};
use logtool_core::{
    Clock, ClockZero, Json, Manifest, TimeRange, Topic, TopicOrigin, Value,
};
use serde::Serialize;

use crate::commands::info::{
    More, frequency::Frequency, health::Health, rate::AboutRates,
};

/// What `logtool info --json` prints of one log.
#[derive(Serialize)]
pub(super) struct Report<'o> {
    file: &'o str,
    format: &'o str,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    packed_with: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<&'o str>,
    duration_s: Option<Seconds>,
    /// On the log's clock.
    start_s: Option<Seconds>,
    end_s: Option<Seconds>,
    start_utc: Option<String>,
    clock: ClockReport<'o>,
    records: Option<u64>,
    topics: Vec<TopicReport<'o>>,
    streams: Vec<BTreeMap<&'o str, Json<'o>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<&'o Health>,
    metadata: BTreeMap<&'o str, Json<'o>>,
    remarks: &'o [String],
    lost_bytes: u64,
    damage: Vec<DamageReport>,
}

#[derive(Serialize)]
struct ClockReport<'o> {
    zero: ClockZero,
    to_unix: Option<FitReport<'o>>,
}

#[derive(Serialize)]
struct FitReport<'o> {
    offset_ns: i64,
    spread_ns: u64,
    observations: u64,
    source: &'o str,
}

#[derive(Serialize)]
struct TopicReport<'o> {
    topic: String,
    name: &'o str,
    instance: u32,
    origin: TopicOrigin,
    type_name: &'o str,
    records: Option<u64>,
    bytes: Option<u64>,
    rate_hz: Option<f64>,
    /// Whether that is by the times of the parts that have some.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rate_is_estimate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency: Option<Frequency>,
    first_s: Option<Seconds>,
    last_s: Option<Seconds>,
    columns: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: &'o BTreeMap<String, String>,
}

#[derive(Serialize)]
struct DamageReport {
    kind: logtool_core::DamageKind,
    start: u64,
    end: u64,
    lost_bytes: u64,
    records: u64,
    topic: Option<String>,
    from_s: Option<Seconds>,
    lost_s: Option<Seconds>,
    text: String,
}

impl<'o> Report<'o> {
    pub(super) fn new(
        opened: &'o Opened,
        findings: &mut Findings,
        more: &'o More,
    ) -> Self {
        let manifest = opened.log.manifest();
        let time = manifest.time;
        let to_unix = match (&manifest.clock.to_unix, manifest.clock.zero) {
            (Some(fit), _) => Some(fit.offset_nanos),
            (None, ClockZero::Unix) => Some(0),
            (None, _) => None,
        };
        let start_utc = time.zip(to_unix).and_then(|(time, offset)| {
            let nanos = time.start.as_nanos().checked_add(offset)?;
            Some(Iso(nanos).to_string())
        });
        let damage = findings.list().iter().map(|finding| {
            let damage = &finding.damage;
            let topic = damage.topic.and_then(|id| manifest.get(id).ok());
            DamageReport {
                kind: damage.kind,
                start: damage.bytes.start,
                end: damage.bytes.end,
                lost_bytes: damage.lost_bytes,
                records: damage.records,
                topic: topic.map(|topic| topic.label().into_owned()),
                from_s: damage.time.as_ref().map(first_s),
                lost_s: damage.time.as_ref().map(span_s),
                text: finding.text.clone(),
            }
        });
        let damage = damage.collect();
        let about_rates = AboutRates::new(&*opened.log);
        Self {
            file: &opened.input.name,
            format: &manifest.format,
            bytes: manifest.bytes,
            packed_with: opened.input.packing.map(|packing| packing.name()),
            digest: more.digest.as_deref(),
            duration_s: time.as_ref().map(span_s),
            start_s: time.as_ref().map(first_s),
            end_s: time.as_ref().map(last_s),
            start_utc,
            clock: ClockReport::new(&manifest.clock),
            records: manifest.records(),
            topics: manifest
                .topics()
                .map(|(id, topic)| {
                    let all = more.frequencies.as_deref().unwrap_or_default();
                    let frequency = all.get(id.index()).copied().flatten();
                    let estimate = about_rates.hz(id, topic);
                    TopicReport::new(topic, frequency, estimate)
                })
                .collect(),
            streams: manifest.streams.iter().map(|s| facts(&s.metadata)).collect(),
            health: more.health.as_ref(),
            metadata: metadata(manifest),
            remarks: &manifest.remarks,
            lost_bytes: findings.lost_bytes(),
            damage,
        }
    }
}

static TRUE: Value = Value::Bool(true);
static FALSE: Value = Value::Bool(false);

/// Returns what the log states of itself, and whether its index was used, if it has one.
fn metadata(manifest: &Manifest) -> BTreeMap<&str, Json<'_>> {
    let mut all = facts(&manifest.metadata);
    let indexed = match manifest.access.uses_index() {
        Some(true) => Some(&TRUE),
        Some(false) => Some(&FALSE),
        None => None,
    };
    all.extend(indexed.map(|indexed| ("indexed", indexed.json())));
    all
}

fn facts(facts: &BTreeMap<String, Value>) -> BTreeMap<&str, Json<'_>> {
    facts.iter().map(|(key, value)| (key.as_str(), value.json())).collect()
}

impl<'o> ClockReport<'o> {
    fn new(clock: &'o Clock) -> Self {
        let fit = clock.to_unix.as_ref().map(|fit| FitReport {
            offset_ns: fit.offset_nanos,
            spread_ns: fit.spread_nanos,
            observations: fit.observations,
            source: &fit.source,
        });
        Self { zero: clock.zero, to_unix: fit }
    }
}

impl<'o> TopicReport<'o> {
    fn new(
        topic: &'o Topic,
        frequency: Option<Frequency>,
        estimate: Option<f64>,
    ) -> Self {
        let fields = topic.schema.fields().iter();
        let rate = topic.rate_hz();
        Self {
            topic: topic.label().into_owned(),
            name: &topic.name,
            instance: topic.instance,
            origin: topic.origin,
            type_name: &topic.type_name,
            records: topic.records,
            bytes: topic.bytes,
            rate_hz: rate.or(estimate),
            rate_is_estimate: rate.is_none() && estimate.is_some(),
            frequency,
            first_s: topic.time.as_ref().map(first_s),
            last_s: topic.time.as_ref().map(last_s),
            columns: fields.map(|field| field.name().clone()).collect(),
            metadata: &topic.metadata,
        }
    }
}

fn first_s(time: &TimeRange) -> Seconds {
    Seconds(time.start.as_nanos())
}

fn last_s(time: &TimeRange) -> Seconds {
    Seconds(time.end.as_nanos().saturating_sub(1))
}

fn span_s(time: &TimeRange) -> Seconds {
    Seconds(i64::try_from(time.span_nanos()).unwrap_or(i64::MAX))
}
