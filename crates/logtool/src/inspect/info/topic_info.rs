//! The description of a topic.

use std::collections::BTreeMap;

use arrow_schema::SchemaRef;
use logtool_core::{Topic, TopicOrigin};
use serde::{Serialize, Serializer};

use crate::{
    inspect::info::{frequency::Frequency, last_seconds, start_seconds},
    time::clock::Seconds,
};

/// The description of a topic.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TopicInfo {
    /// The name with the number of the instance, for example `sensor_gps.1`. It is unique.
    pub topic: String,
    /// The name in the file.
    pub name: String,
    /// The number of the instance among topics of the same name.
    pub instance: u32,
    /// Whether the file has the records, or they are derived from other topics.
    pub origin: TopicOrigin,
    /// The name of the type of the records. Empty if it has no name.
    pub type_name: String,
    /// The number of records, if it is known.
    pub records: Option<u64>,
    /// The number of bytes of their payloads, if it is known.
    pub bytes: Option<u64>,
    /// The mean number of records per second, if it is known.
    pub rate_hz: Option<f64>,
    /// Whether the rate is estimated from the times of the parts of the file that have
    /// records of the topic.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rate_is_estimate: bool,
    /// The periods and gaps, if the request asks for them and there are two records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// The time of the first record.
    pub first_s: Option<Seconds>,
    /// The time of the last record.
    pub last_s: Option<Seconds>,
    /// The columns of the table of the topic. JSON has only their names.
    #[serde(rename = "columns", serialize_with = "column_names")]
    pub schema: SchemaRef,
    /// Other metadata of the topic in the file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl TopicInfo {
    /// Describes `topic`. If the manifest does not state its rate, `estimate` is used.
    pub(super) fn new(
        topic: &Topic,
        frequency: Option<Frequency>,
        estimate: Option<f64>,
    ) -> Self {
        let rate = topic.rate_hz();
        Self {
            topic: topic.label().into_owned(),
            name: topic.name.clone(),
            instance: topic.instance,
            origin: topic.origin,
            type_name: topic.type_name.clone(),
            records: topic.records,
            bytes: topic.bytes,
            rate_hz: rate.or(estimate),
            rate_is_estimate: rate.is_none() && estimate.is_some(),
            frequency,
            first_s: topic.time.as_ref().map(start_seconds),
            last_s: topic.time.as_ref().map(last_seconds),
            schema: topic.schema.clone(),
            metadata: topic.metadata.clone(),
        }
    }
}

fn column_names<S: Serializer>(
    schema: &SchemaRef,
    out: S,
) -> std::result::Result<S::Ok, S::Error> {
    out.collect_seq(schema.fields().iter().map(|field| field.name()))
}
