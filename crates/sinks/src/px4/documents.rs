//! `manifest.json` and `metadata.json`.

use std::collections::BTreeMap;

use serde::Serialize;

/// What `metadata.json` says of a flight. Its fields are the document's.
#[allow(missing_docs)] // for those that have the names of ULog's own info keys
#[derive(Clone, Debug, Default, Serialize)]
pub struct Px4Metadata {
    pub sys_name: Option<String>,
    pub ver_hw: Option<String>,
    pub ver_hw_subtype: Option<String>,
    pub ver_sw: Option<String>,
    /// The release as PX4 packs it: major, minor, patch and type, a byte each.
    pub ver_sw_release: Option<u32>,
    pub sys_uuid: Option<String>,
    pub sys_os_name: Option<String>,
    pub sys_os_ver: Option<String>,
    pub sys_toolchain: Option<String>,
    pub sys_toolchain_ver: Option<String>,
    /// Seconds of the local clock ahead of UTC.
    pub time_ref_utc: Option<i64>,
    /// How often the logger lost data.
    pub dropout_count: u32,
    /// For how many milliseconds.
    pub dropout_total_ms: u64,
    /// The messages without a tag.
    pub logged_messages: Vec<Px4Message>,
    /// The messages with a tag.
    pub tagged_logged_messages: Vec<Px4TaggedMessage>,
    /// The parameters at the start.
    pub parameters: BTreeMap<String, Px4Value>,
    /// The parameters that were set afterwards, in order.
    pub changed_parameters: Vec<Px4Change>,
    /// What the parameters would be by default.
    pub default_parameters: BTreeMap<String, Px4Value>,
    /// The time in the header of the file, in microseconds.
    pub start_timestamp_us: u64,
    /// All other information, as text.
    pub info: BTreeMap<String, String>,
    pub compat_flags: [u8; 8],
    pub incompat_flags: [u8; 8],
    pub appended_offsets: [u64; 3],
    /// The version of the file format.
    pub file_version: u8,
    /// The subscriptions that ended before the log did.
    pub removed_logged_ids: Vec<u16>,
    /// How many marks for finding back after damage there are.
    pub sync_count: u32,
    /// Information that there may be several of, as text.
    pub multi_info: BTreeMap<String, Vec<String>>,
    /// From the first record to the last, in seconds.
    pub flight_duration_s: Option<f64>,
    /// `ver_sw_release` as text; [`release_text`](Self::release_text) makes it.
    pub ver_sw_release_str: Option<String>,
    /// Where the receiver first knew where it was.
    pub gps_first_fix: Option<Px4Position>,
    /// What was found out about the flight.
    pub analysis: Option<serde_json::Value>,
}

/// A message of the vehicle.
#[derive(Clone, Debug, Serialize)]
pub struct Px4Message {
    /// The level in upper case, as `WARNING`.
    pub level: String,
    /// When it was said, in microseconds since boot.
    pub timestamp_us: u64,
    /// What was said.
    pub message: String,
}

/// A message of the vehicle with a tag that says where it is from.
#[derive(Clone, Debug, Serialize)]
pub struct Px4TaggedMessage {
    /// The level in upper case, as `WARNING`.
    pub level: String,
    /// The number of the process that said it.
    pub tag: u16,
    /// When it was said, in microseconds since boot.
    pub timestamp_us: u64,
    /// What was said.
    pub message: String,
}

/// The value of a parameter. A float that is no number becomes null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Px4Value {
    /// A whole number.
    Int32(i32),
    /// A float.
    Float(f32),
}

/// A parameter that was set while the log was written.
#[derive(Clone, Debug, Serialize)]
pub struct Px4Change {
    /// The name of the parameter.
    pub name: String,
    /// What it was set to.
    pub value: Px4Value,
    /// Whether that was after the first record.
    pub in_flight: bool,
}

/// A place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Px4Position {
    /// Degrees north.
    pub lat_deg: f64,
    /// Degrees east.
    pub lon_deg: f64,
    /// Metres above mean sea level.
    pub alt_m: f64,
}

/// All of `metadata.json`.
#[derive(Debug, Serialize)]
pub(super) struct Metadata<'m> {
    #[serde(flatten)]
    flight: &'m Px4Metadata,
    topics: BTreeMap<&'m str, Px4Topic>,
}

/// What it says of all topics of one name.
#[derive(Clone, Debug, Serialize)]
struct Px4Topic {
    /// How many records all of them have.
    message_count: u64,
    /// The multi id of the first.
    multi_id: u32,
}

/// What `manifest.json` says.
#[derive(Debug, Serialize)]
pub(super) struct Manifest<'m> {
    version: u32,
    source: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    vehicle: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hardware: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_s: Option<f64>,
    /// The name of each table, and of its file.
    topics: BTreeMap<&'m str, &'m str>,
    diagnostics: &'m [serde_json::Value],
}

impl<'m> Metadata<'m> {
    /// The metadata of `flight`, the topics being these: their names, instances and
    /// numbers of records.
    pub(super) fn new(
        flight: &'m Px4Metadata,
        written: impl Iterator<Item = (&'m str, u32, u64)>,
    ) -> Self {
        let mut topics = BTreeMap::new();
        for (name, multi_id, rows) in written {
            let topic = topics.entry(name);
            topic.or_insert(Px4Topic { message_count: 0, multi_id }).message_count +=
                rows;
        }
        Self { flight, topics }
    }
}

impl<'m> Manifest<'m> {
    /// The manifest of the log called `source`, of which there are these `files`.
    pub(super) fn new(
        source: &'m str,
        flight: &'m Px4Metadata,
        files: impl Iterator<Item = &'m str>,
    ) -> Self {
        let named =
            |file: &'m str| Some((file.strip_suffix(".parquet").unwrap_or(file), file));
        let analysis = flight.analysis.as_ref();
        let diagnostics = analysis.and_then(|found| found.get("diagnostics"));
        Self {
            version: 1,
            source,
            vehicle: flight.sys_name.as_deref(),
            hardware: flight.ver_hw.as_deref(),
            duration_s: flight.flight_duration_s,
            topics: files.filter_map(named).collect(),
            diagnostics: diagnostics
                .and_then(|found| found.as_array())
                .map_or(&[], Vec::as_slice),
        }
    }
}

impl Px4Metadata {
    /// The text of a release as PX4 packs it: `1.15.0-rc` for `0x010f00c0`.
    pub fn release_text(release: u32) -> String {
        let [major, minor, patch, kind] = release.to_be_bytes();
        let kind = match kind {
            0 => "dev",
            64 => "alpha",
            128 => "beta",
            192 => "rc",
            255 => "release",
            _ => "unknown",
        };
        format!("{major}.{minor}.{patch}-{kind}")
    }
}
