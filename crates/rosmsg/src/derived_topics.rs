//! Topics of points and packets, derived from the messages of other topics.
//!
//! A topic of clouds or scans has a derived topic of points, whose name ends in `/points`. A topic
//! of `velodyne_msgs/VelodyneScan` has a derived topic of packets, whose name ends in `/packets`.
//! (If a logged topic has that name, the derived topic is its next instance.) The ids of derived
//! topics follow the ids of all logged topics. A topic contains clouds or scans if its type has the
//! name *and* the fields of the ROS type. It contains packets if its type has a list of elements
//! with an array of 1206 bytes, whatever its name.
//!
//! **Points.** A record is the whole message, and each point is a row. The columns are the time of
//! the record, the `stamp` of the header, the `index` of the point in its message, the `row` and
//! `column` if the points are organized in rows (a height above 1), and the fields of the points.
//! Points without a position (NaN) are rows, too.
//!
//! The fields of a `PointCloud2` are declared only in its messages, and opening a log reads none of
//! them. So some messages are inspected when a decoder is first requested: the first ones, and some
//! at several positions in the log. Their fields are the columns of the topic. (Until then, the
//! manifest has the columns that all points have.) If a message lacks a field, the column is null.
//! A field that no inspected message has, or that is outside the points, has no column and is
//! reported as damage; the other fields are decoded. The logged topic of the messages has all
//! fields.
//!
//! **Packets.** A record is the 1206 bytes of a packet. Its time is the stamp of the packet, if
//! that differs by at most a [second](MAX_STAMP_DIFFERENCE) from the time of the message, i.e. if
//! the clocks of lidar, driver and recorder agree. Otherwise it is the time of the message. The
//! reason is that parts of the log are selected by their times without reading them, so the time of
//! a packet must be near the time of its message. (The logged topic of the messages has all
//! stamps.) A message that is not a valid scan is one record, which is reported as damage when it is
//! decoded.

mod column_inspection;
mod kind;
mod packet_decoder;
mod point_decoder;
mod values;

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::{Arc, OnceLock},
};

use logtool_core::{
    Block, Columns, Decoder, Log, Part, Result, Selection, TimeRange, Timestamp, Topic,
    TopicContent, TopicId, TopicOrigin, TopicSet,
};
use serde::{Deserialize, Serialize};

use crate::{
    derived_topics::{
        kind::DerivedKind, packet_decoder::PacketDecoder, point_decoder::PointDecoder,
    },
    field_reader::Encoding,
    points::PointSchema,
    sensor::packets::{ScanLayout, ScanPacket},
};

pub use self::kind::Derivation;

/// The maximum difference in nanoseconds between the time of a message and the stamps of its
/// packets that are used as times. A message is one rotation, and lidars rotate at least 5 times a
/// second.
pub(crate) const MAX_STAMP_DIFFERENCE: i64 = 1_000_000_000;

/// All derived topics of a log.
#[derive(Debug, Default)]
pub struct DerivedTopics {
    /// The number of logged topics.
    logged_count: usize,
    derived_topics: Vec<DerivedTopic>,
    /// For each logged topic, the index of its derived topic in `derived_topics`.
    child_indices: Vec<Option<u32>>,
}

/// The columns of the points of a derived topic, which inspected messages declare.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointColumns {
    topic: TopicId,
    #[serde(rename = "shape")]
    point_schema: PointSchema,
}

/// A derived topic.
#[derive(Debug)]
struct DerivedTopic {
    /// The logged topic from which it is derived.
    parent: TopicId,
    derivation: Derivation,
    /// The columns of points, which are determined on first use.
    point_schema: OnceLock<Arc<PointSchema>>,
}

impl DerivedTopics {
    /// Creates the derived topics from the derivation of each logged topic.
    pub fn new(derivations: impl IntoIterator<Item = Option<Derivation>>) -> Self {
        let mut topics = Self::default();
        for (parent, derivation) in (0..).map(TopicId).zip(derivations) {
            topics.logged_count += 1;
            let child_index = topics.derived_topics.len() as u32;
            let is_derived = derivation.is_some();
            topics.child_indices.push(is_derived.then_some(child_index));
            let point_schema = OnceLock::new();
            topics.derived_topics.extend(derivation.map(|derivation| DerivedTopic {
                parent,
                derivation,
                point_schema,
            }));
        }
        topics
    }

    /// Returns the derived topics in the order of their ids. `topics` are the logged topics.
    ///
    /// # Errors
    /// No file can cause an error.
    pub fn topics(&self, topics: &[Topic]) -> Result<Vec<Topic>> {
        // The number of topics with each name, which is the next instance of the name.
        let mut instance_counts: HashMap<String, u32> = HashMap::new();
        for topic in topics {
            *instance_counts.entry(topic.name.clone()).or_default() += 1;
        }
        let mut derived_topics = Vec::new();
        for DerivedTopic { parent, derivation, .. } in &self.derived_topics {
            let Some(parent) = topics.get(parent.index()) else { continue };
            let name = format!("{}{}", parent.name, derivation.suffix());
            let instance_count = instance_counts.entry(name.clone()).or_default();
            derived_topics.push(derived_topic(
                parent,
                derivation,
                name,
                *instance_count,
            )?);
            *instance_count += 1;
        }
        Ok(derived_topics)
    }

    /// Returns whether `topics` contains a derived topic.
    pub fn is_any_selected(&self, topics: &TopicSet) -> bool {
        self.iter().any(|(id, _)| topics.contains(id))
    }

    /// Returns each derived topic with the topic from which it is derived.
    pub fn pairs(&self) -> impl Iterator<Item = (TopicId, TopicId)> {
        self.iter().map(|(id, derived_topic)| (id, derived_topic.parent))
    }

    /// Returns `topics`, the topics that are derived from them, and the topics from which they are
    /// derived.
    pub fn with_relatives(&self, topics: &TopicSet) -> TopicSet {
        if *topics == TopicSet::All {
            return TopicSet::All;
        }
        let ids = topics.ids(self.topic_count());
        let relatives = ids.flat_map(|id| {
            let parent = self.get(id).map(|derived| derived.parent);
            [Some(id), parent, self.child(id)]
        });
        relatives.flatten().collect()
    }

    /// Returns the topic that is derived from `parent`.
    pub fn child(&self, parent: TopicId) -> Option<TopicId> {
        let child_index = (*self.child_indices.get(parent.index())?)?;
        Some(TopicId(self.logged_count as u32 + child_index))
    }

    /// Adds a margin to the times of the `parts` that contain packets: the stamp of a packet may be
    /// outside the times of the messages.
    pub fn add_time_margin(&self, parts: &mut [Part]) {
        let packets = self.packet_topics();
        for part in parts.iter_mut().filter(|part| part.topics.overlaps(&packets)) {
            part.time = widen(part.time, MAX_STAMP_DIFFERENCE);
        }
    }

    /// Returns the times of `parts` without the margin that
    /// [`add_time_margin`](Self::add_time_margin) added.
    pub fn times_without_margin(&self, parts: &[Part]) -> Vec<TimeRange> {
        let packets = self.packet_topics();
        let time = |part: &Part| {
            let has_margin =
                part.topics.overlaps(&packets) && part.time != TimeRange::ALL;
            if has_margin { widen(part.time, -MAX_STAMP_DIFFERENCE) } else { part.time }
        };
        parts.iter().map(time).collect()
    }

    /// Adds those records to `block` that are derived from a message and are in `selection`. The
    /// message belongs to `stream` of the topic `parent`, and lies at `payload` in the bytes of the
    /// block, without a per-record header.
    pub fn derive(
        &self,
        block: &mut Block,
        selection: &Selection,
        (parent, stream): (TopicId, u32),
        time: Timestamp,
        payload: Range<usize>,
    ) {
        let Some((id, derived)) =
            self.child(parent).and_then(|id| Some((id, self.get(id)?)))
        else {
            return;
        };
        match &derived.derivation.kind {
            DerivedKind::Points(_) if selection.contains(id, time) => {
                block.push_from_stream(id, stream, time, payload);
            }
            DerivedKind::Packets(layout) if selection.topics.contains(id) => {
                let (bytes, start) = (block.bytes().clone(), payload.start);
                let message = bytes.get(payload).unwrap_or_default();
                let encoding = derived.derivation.encoding;
                for_each_packet(message, layout, encoding, time, |time, packet| {
                    if selection.time.contains(time) {
                        let packet = start + packet.start..start + packet.end;
                        block.push_from_stream(id, stream, time, packet);
                    }
                });
            }
            _ => {}
        }
    }

    /// Returns a decoder of the `columns` of the topic `id` of `log`, or `None` if it is not a
    /// derived topic.
    pub fn decoder(
        &self,
        log: &dyn Log,
        id: TopicId,
        columns: &Columns,
    ) -> Option<Result<Box<dyn Decoder>>> {
        let derived = self.get(id)?;
        Some(match derived.derivation.kind {
            DerivedKind::Packets(_) => {
                PacketDecoder::new(columns).map(|decoder| Box::new(decoder) as _)
            }
            DerivedKind::Points(source) => {
                derived.point_schema(log, id).and_then(|point_schema| {
                    let encoding = derived.derivation.encoding;
                    let decoder =
                        PointDecoder::new(source, encoding, point_schema, columns)?;
                    Ok(Box::new(decoder) as _)
                })
            }
        })
    }

    /// Returns the columns of points for a new log with only the `included` topics of `log`. The
    /// result is for [`with_point_columns`](Self::with_point_columns): it contains the `topics` of
    /// `log` that are included, with their ids in the new log.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn point_columns(
        &self,
        log: &dyn Log,
        topics: &TopicSet,
        included: &TopicSet,
    ) -> Result<Vec<PointColumns>> {
        let ids = topics.ids(self.topic_count());
        let point_topics = ids.filter_map(|id| {
            let derived = self.get(id)?;
            let is_points = matches!(derived.derivation.kind, DerivedKind::Points(_));
            is_points.then_some((id, included.position(id)?, derived))
        });
        point_topics
            .map(|(id, new_id, derived)| {
                let point_schema = PointSchema::clone(&*derived.point_schema(log, id)?);
                Ok(PointColumns { topic: new_id, point_schema })
            })
            .collect()
    }

    /// Sets the columns of some topics, so that no messages are inspected for them.
    #[must_use]
    pub fn with_point_columns(self, columns: Vec<PointColumns>) -> Self {
        for PointColumns { topic, point_schema } in columns {
            if let Some(derived) = self.get(topic) {
                derived.point_schema.get_or_init(|| Arc::new(point_schema));
            }
        }
        self
    }

    /// Returns the derived topics with their ids.
    fn iter(&self) -> impl Iterator<Item = (TopicId, &DerivedTopic)> {
        (self.logged_count as u32..).map(TopicId).zip(&self.derived_topics)
    }

    fn get(&self, id: TopicId) -> Option<&DerivedTopic> {
        self.derived_topics.get(id.index().checked_sub(self.logged_count)?)
    }

    /// Returns the number of all topics, logged and derived.
    fn topic_count(&self) -> usize {
        self.logged_count + self.derived_topics.len()
    }

    /// Returns the topics of packets.
    fn packet_topics(&self) -> TopicSet {
        self.iter()
            .filter(|(_, derived)| {
                matches!(derived.derivation.kind, DerivedKind::Packets(_))
            })
            .map(|(id, _)| id)
            .collect()
    }
}

impl DerivedTopic {
    /// Returns the columns of the points of this topic, which has the `id` in `log`.
    fn point_schema(&self, log: &dyn Log, id: TopicId) -> Result<Arc<PointSchema>> {
        if let Some(point_schema) = self.point_schema.get() {
            return Ok(point_schema.clone());
        }
        let point_schema = match self.derivation.point_schema() {
            Some(point_schema) => point_schema,
            None => column_inspection::point_schema(&self.derivation, log, id)?
                .unwrap_or_default(),
        };
        Ok(self.point_schema.get_or_init(|| Arc::new(point_schema)).clone())
    }
}

/// Returns the topic that is derived from `parent`.
fn derived_topic(
    parent: &Topic,
    derivation: &Derivation,
    name: String,
    instance: u32,
) -> Result<Topic> {
    let mut topic = Topic {
        name,
        instance,
        origin: TopicOrigin::Derived,
        content: match derivation.kind {
            DerivedKind::Points(_) => TopicContent::CloudPoints,
            DerivedKind::Packets(_) => TopicContent::LidarPackets,
        },
        schema: derivation.schema()?,
        metadata: BTreeMap::new(),
        latched: Vec::new(),
        header_len: 0,
        descriptor: Vec::new(),
        // A derived record does not include the per-record header of its message. So the lengths
        // are the same only without such a header.
        bytes: parent.bytes.filter(|_| parent.header_len == 0),
        ..parent.clone()
    };
    if matches!(derivation.kind, DerivedKind::Packets(_)) {
        topic.encoding = "velodyne".to_owned();
        (topic.type_name, topic.definition) = (String::new(), String::new());
        // The number of packets in a message is unknown.
        topic.records = topic.records.filter(|records| *records == 0);
        topic.bytes = topic.bytes.filter(|bytes| *bytes == 0);
        topic.time = None;
    }
    Ok(topic)
}

/// Returns `time` widened by `nanos` nanoseconds on both sides.
fn widen(time: TimeRange, nanos: i64) -> TimeRange {
    let shifted = |time: Timestamp, added_nanos: i64| {
        Timestamp::from_nanos(time.as_nanos().saturating_add(added_nanos))
    };
    TimeRange { start: shifted(time.start, -nanos), end: shifted(time.end, nanos) }
}

/// Calls `add` with the time of each packet of the scan in `payload`, and with the range of the
/// packet in the payload. `time` is the time of the message. An invalid scan is a single packet.
fn for_each_packet(
    payload: &[u8],
    layout: &ScanLayout,
    encoding: Encoding,
    time: Timestamp,
    mut add: impl FnMut(Timestamp, Range<usize>),
) {
    let Some(packets) = layout.packets(payload, encoding) else {
        return add(time, 0..payload.len());
    };
    for ScanPacket { stamp, bytes } in packets {
        let is_plausible = |stamp: &i64| {
            stamp.abs_diff(time.as_nanos()) <= MAX_STAMP_DIFFERENCE.unsigned_abs()
        };
        let stamp = stamp.filter(is_plausible);
        add(stamp.map_or(time, Timestamp::from_nanos), bytes);
    }
}

#[cfg(test)]
mod tests;
