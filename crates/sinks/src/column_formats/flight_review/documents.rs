//! `manifest.json` and `metadata.json`.

use std::collections::BTreeMap;

use serde::Serialize;

/// The metadata of a flight, which is written to `metadata.json`. Fields have the names that they
/// have in the document.
#[allow(missing_docs)] // for fields named like ULog's own info keys
#[derive(Clone, Debug, Default, Serialize)]
pub struct Px4Metadata {
    pub sys_name: Option<String>,
    pub ver_hw: Option<String>,
    pub ver_hw_subtype: Option<String>,
    pub ver_sw: Option<String>,
    /// The release as PX4 encodes it: major, minor, patch and type in a byte each.
    pub ver_sw_release: Option<u32>,
    pub sys_uuid: Option<String>,
    pub sys_os_name: Option<String>,
    pub sys_os_ver: Option<String>,
    pub sys_toolchain: Option<String>,
    pub sys_toolchain_ver: Option<String>,
    /// The offset of local time from UTC, in seconds.
    pub time_ref_utc: Option<i64>,
    /// The number of dropouts, i.e. times when the logger lost data.
    pub dropout_count: u32,
    /// The total duration of all dropouts in milliseconds.
    pub dropout_total_ms: u64,
    /// Log messages without a tag.
    pub logged_messages: Vec<Px4Message>,
    /// Log messages with a tag.
    pub tagged_logged_messages: Vec<Px4TaggedMessage>,
    /// The parameters at the start.
    pub parameters: BTreeMap<String, Px4Value>,
    /// The parameters that were set later, in order.
    pub changed_parameters: Vec<Px4Change>,
    /// The default values of parameters.
    pub default_parameters: BTreeMap<String, Px4Value>,
    /// The time in the header of the file, in microseconds.
    pub start_timestamp_us: u64,
    /// All other information, as strings.
    pub info: BTreeMap<String, String>,
    pub compat_flags: [u8; 8],
    pub incompat_flags: [u8; 8],
    pub appended_offsets: [u64; 3],
    /// The version of the file format.
    pub file_version: u8,
    /// The ids of subscriptions that were removed before the end of the log.
    pub removed_logged_ids: Vec<u16>,
    /// The number of sync messages, which allow readers to resume after damage.
    pub sync_count: u32,
    /// Information with several values, as strings.
    pub multi_info: BTreeMap<String, Vec<String>>,
    /// The time from the first to the last record, in seconds.
    pub flight_duration_s: Option<f64>,
    /// `ver_sw_release` as a string, from [`release_text`](Self::release_text).
    pub ver_sw_release_str: Option<String>,
    /// The first position fix of the GPS receiver.
    pub gps_first_fix: Option<Px4Position>,
    /// Results of an analysis of the flight, if the caller has one.
    pub analysis: Option<serde_json::Value>,
}

/// A log message of the vehicle.
#[derive(Clone, Debug, Serialize)]
pub struct Px4Message {
    /// The level in upper case, e.g. `WARNING`.
    pub level: String,
    /// The time of the message, in microseconds since boot.
    pub timestamp_us: u64,
    /// The text of the message.
    pub message: String,
}

/// A log message of the vehicle with a tag of its source.
#[derive(Clone, Debug, Serialize)]
pub struct Px4TaggedMessage {
    /// The level in upper case, e.g. `WARNING`.
    pub level: String,
    /// The id of the process that logged it.
    pub tag: u16,
    /// The time of the message, in microseconds since boot.
    pub timestamp_us: u64,
    /// The text of the message.
    pub message: String,
}

/// The value of a parameter. NaN and infinities become null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Px4Value {
    /// An integer.
    Int32(i32),
    /// A float.
    Float(f32),
}

/// A parameter that was set while the log was written.
#[derive(Clone, Debug, Serialize)]
pub struct Px4Change {
    /// The name of the parameter.
    pub name: String,
    /// The new value.
    pub value: Px4Value,
    /// Whether the parameter was set after the first record.
    pub in_flight: bool,
}

/// A geographic position.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Px4Position {
    /// Degrees north.
    pub lat_deg: f64,
    /// Degrees east.
    pub lon_deg: f64,
    /// Metres above mean sea level.
    pub alt_m: f64,
}

/// The whole contents of `metadata.json`.
#[derive(Debug, Serialize)]
pub(super) struct MetadataDocument<'m> {
    #[serde(flatten)]
    flight: &'m Px4Metadata,
    topics: BTreeMap<&'m str, Px4Topic>,
}

/// The statistics of all topics with the same name.
#[derive(Clone, Debug, Serialize)]
struct Px4Topic {
    /// The number of records of all these topics.
    message_count: u64,
    /// The multi id of the first topic.
    multi_id: u32,
}

/// The contents of `manifest.json`.
#[derive(Debug, Serialize)]
pub(super) struct ManifestDocument<'m> {
    version: u32,
    source: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    vehicle: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hardware: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_s: Option<f64>,
    /// The file name of each table.
    topics: BTreeMap<&'m str, &'m str>,
    diagnostics: &'m [serde_json::Value],
}

impl<'m> MetadataDocument<'m> {
    /// Combines the metadata of `flight` with the topics of the log: the name, the instance and
    /// the number of records of each.
    pub(super) fn new(
        flight: &'m Px4Metadata,
        log_topics: impl Iterator<Item = (&'m str, u32, u64)>,
    ) -> Self {
        let mut topics = BTreeMap::new();
        for (name, multi_id, records) in log_topics {
            let topic =
                topics.entry(name).or_insert(Px4Topic { message_count: 0, multi_id });
            topic.message_count += records;
        }
        Self { flight, topics }
    }
}

impl<'m> ManifestDocument<'m> {
    /// Creates the manifest of the log called `source`, whose tables are in `files`.
    pub(super) fn new(
        source: &'m str,
        flight: &'m Px4Metadata,
        files: impl Iterator<Item = &'m str>,
    ) -> Self {
        let diagnostics = flight
            .analysis
            .as_ref()
            .and_then(|analysis| analysis.get("diagnostics")?.as_array());
        Self {
            version: 1,
            source,
            vehicle: flight.sys_name.as_deref(),
            hardware: flight.ver_hw.as_deref(),
            duration_s: flight.flight_duration_s,
            topics: files
                .map(|file| (file.strip_suffix(".parquet").unwrap_or(file), file))
                .collect(),
            diagnostics: diagnostics.map_or(&[], Vec::as_slice),
        }
    }
}

impl Px4Metadata {
    /// Formats a release that is encoded like PX4 does: `0x010f00c0` is `1.15.0-rc`.
    pub fn release_text(release: u32) -> String {
        let [major, minor, patch, release_type] = release.to_be_bytes();
        let release_type = match release_type {
            0 => "dev",
            64 => "alpha",
            128 => "beta",
            192 => "rc",
            255 => "release",
            _ => "unknown",
        };
        format!("{major}.{minor}.{patch}-{release_type}")
    }
}
