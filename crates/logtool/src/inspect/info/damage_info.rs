//! The description of a damaged place.

use logtool_core::{DamageKind, Manifest};
use serde::Serialize;

use crate::{
    inspect::info::{duration, start_seconds},
    source::losses::loss::Finding,
    time::clock::Seconds,
};

/// The description of a damaged place of a log.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DamageInfo {
    /// The kind of damage.
    pub kind: DamageKind,
    /// The byte offset of its start.
    pub start: u64,
    /// The byte offset of its end.
    pub end: u64,
    /// The number of bytes that cannot be read.
    pub lost_bytes: u64,
    /// The number of records that are lost or wrong.
    pub records: u64,
    /// The topic, if the damage concerns one.
    pub topic: Option<String>,
    /// The time at which the lost time starts, if it is known.
    pub from_s: Option<Seconds>,
    /// The length of the lost time, if it is known.
    pub lost_s: Option<Seconds>,
    /// A description for people.
    pub text: String,
}

impl DamageInfo {
    /// Describes a finding of the log of `manifest`.
    pub(super) fn new(finding: &Finding, manifest: &Manifest) -> Self {
        let damage = &finding.damage;
        let topic = damage.topic.and_then(|id| manifest.topic(id).ok());
        Self {
            kind: damage.kind,
            start: damage.bytes.start,
            end: damage.bytes.end,
            lost_bytes: damage.lost_bytes,
            records: damage.records,
            topic: topic.map(|topic| topic.label().into_owned()),
            from_s: damage.time.as_ref().map(start_seconds),
            lost_s: damage.time.as_ref().map(duration),
            text: finding.text.clone(),
        }
    }
}
