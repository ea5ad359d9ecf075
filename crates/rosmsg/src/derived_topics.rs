//! Topics of points and packets, derived from the messages of other topics.
//!
//! A topic of clouds or scans has a derived topic of points, whose name ends in `/points`. A
//! topic of `velodyne_msgs/VelodyneScan` has a derived topic of packets, whose name ends in
//! `/packets`. (If the log has a logged topic with that name, the derived topic is the next
//! instance.) The ids of derived topics follow the ids of all logged topics. A topic contains
//! clouds if its type has the name *and* the fields of the ROS type.
//!
//! **Points.** A record is the whole message. Its rows are the points. The columns are the time of
//! the record, the `stamp` of the header, the `index` of the point in its message, the `row` and
//! `column` if the points are organized in rows (a height above 1), and the fields of the points.
//! Points without a position (NaN) are rows, too.
//!
//! The fields of a `PointCloud2` are declared in its messages only, and opening a log reads none.
//! So some messages are inspected when a decoder is first requested: the first ones, and some at
//! several places in the log. Their fields are the columns of the topic. (Until then the manifest
//! has the columns that all points have.) If a message lacks a field, its column is null. A field
//! that no inspected message has, or that is outside the points, has no column and is reported as
//! damage; the other fields are read. The topic of the messages has all fields.
//!
//! **Packets.** A record is the 1206 bytes of a packet. Its time is the stamp of the packet if the
//! stamp is within a [second](NEAR) of the time of the message, i.e. if the clocks of lidar, driver
//! and recorder agree. Otherwise it is the time of the message. The reason is that parts of the log
//! are selected by their times without reading them, so the time of a packet must be near the time
//! of its message. (The topic of the messages has all stamps.) A message whose length is not a
//! multiple of the packet length is one record, which is reported as damage when it is decoded.

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
    sensor::packets,
};

pub use self::kind::Derivation;

/// The maximum difference between the stamp of a packet and the time of its message, in
/// nanoseconds: lidars rotate 5 times a second or faster, and a message is one rotation.
pub(crate) const NEAR: i64 = 1_000_000_000;

/// All derived topics of a log.
#[derive(Debug, Default)]
pub struct DerivedTopics {
    /// The number of logged topics.
    logged: usize,
    list: Vec<DerivedTopic>,
    /// For each logged topic, the index of its derived topic.
    child_indices: Vec<Option<u32>>,
}

/// The columns of the points of a derived topic, as messages declare them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointColumns {
    topic: TopicId,
    #[serde(rename = "shape")]
    point_schema: PointSchema,
}

/// A derived topic.
#[derive(Debug)]
struct DerivedTopic {
    parent: TopicId,
    derivation: Derivation,
    /// The columns of points; determined on first use.
    point_schema: OnceLock<Arc<PointSchema>>,
}

impl DerivedTopics {
    /// Creates the derived topics from the derivation of each logged topic.
    pub fn new(derivations: impl IntoIterator<Item = Option<Derivation>>) -> Self {
        let mut derived = Self::default();
        for (parent, derivation) in (0..).map(TopicId).zip(derivations) {
            derived.logged += 1;
            derived.child_indices.push(derivation.map(|_| derived.list.len() as u32));
            let point_schema = OnceLock::new();
            let derived_topic = derivation.map(|derivation| DerivedTopic {
                parent,
                derivation,
                point_schema,
            });
            derived.list.extend(derived_topic);
        }
        derived
    }

    /// Returns the derived topics, in order; `topics` are the logged topics.
    ///
    /// # Errors
    /// None that a file could cause.
    pub fn topics(&self, topics: &[Topic]) -> Result<Vec<Topic>> {
        let mut instances: HashMap<&str, u32> = HashMap::new();
        for topic in topics {
            *instances.entry(&topic.name).or_default() += 1;
        }
        let mut next: HashMap<String, u32> = HashMap::new();
        let mut derived_topics = Vec::new();
        for DerivedTopic { parent, derivation, .. } in &self.list {
            let Some(parent) = topics.get(parent.index()) else { continue };
            let name = format!("{}{}", parent.name, derivation.suffix());
            let logged = instances.get(name.as_str()).copied().unwrap_or(0);
            let instance = next.entry(name.clone()).or_insert(logged);
            derived_topics.push(topic(parent, *derivation, name, *instance)?);
            *instance += 1;
        }
        Ok(derived_topics)
    }

    /// Returns whether `topics` contains a derived topic.
    pub fn is_wanted(&self, topics: &TopicSet) -> bool {
        self.iter().any(|(id, _)| topics.contains(id))
    }

    /// Returns each derived topic with the topic that it is derived from.
    pub fn pairs(&self) -> impl Iterator<Item = (TopicId, TopicId)> {
        self.iter().map(|(id, derived_topic)| (id, derived_topic.parent))
    }

    /// Returns `topics`, together with the topics derived from them and the topics from
    /// which they are derived.
    pub fn with_relatives(&self, topics: &TopicSet) -> TopicSet {
        if *topics == TopicSet::All {
            return TopicSet::All;
        }
        let ids = topics.ids(self.logged + self.list.len());
        let relatives = ids.flat_map(|id| {
            let parent = self.get(id).map(|derived| derived.parent);
            [Some(id), parent, self.child(id)]
        });
        relatives.flatten().collect()
    }

    /// Returns the topic that is derived from `parent`.
    pub fn child(&self, parent: TopicId) -> Option<TopicId> {
        let child_index = (*self.child_indices.get(parent.index())?)?;
        Some(TopicId(self.logged as u32 + child_index))
    }

    /// Widens the times of the `parts` that contain packets, so that they include packets with
    /// stamps a little outside.
    pub fn make_room(&self, parts: &mut [Part]) {
        let packets = self.packets();
        for part in parts.iter_mut().filter(|part| part.topics.overlaps(&packets)) {
            part.time = widen(part.time, NEAR);
        }
    }

    /// Returns the times of `parts` before [`make_room`](Self::make_room) widened them.
    pub fn times_without_room(&self, parts: &[Part]) -> Vec<TimeRange> {
        let packets = self.packets();
        let time = |part: &Part| {
            let has_room =
                part.topics.overlaps(&packets) && part.time != TimeRange::ALL;
            if has_room { widen(part.time, -NEAR) } else { part.time }
        };
        parts.iter().map(time).collect()
    }

    /// Adds the records that are derived from a message to `block`, as far as `selection` contains
    /// them. The message belongs to `stream` of the topic `parent`, and lies at `payload` in the
    /// bytes of the block, without a per-record header.
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
        match derived.derivation.kind {
            DerivedKind::Points(_) if selection.contains(id, time) => {
                block.push_from_stream(id, stream, time, payload);
            }
            DerivedKind::Packets if selection.topics.contains(id) => {
                let (bytes, start) = (block.bytes().clone(), payload.start);
                let message = bytes.get(payload).unwrap_or_default();
                packets_of(
                    message,
                    derived.derivation.encoding,
                    time,
                    |time, packet| {
                        if selection.time.contains(time) {
                            let packet = start + packet.start..start + packet.end;
                            block.push_from_stream(id, stream, time, packet);
                        }
                    },
                );
            }
            _ => {}
        }
    }

    /// Returns a decoder of the `columns` of the topic `id` of `log`, if it is a derived topic.
    pub fn decoder(
        &self,
        log: &dyn Log,
        id: TopicId,
        columns: &Columns,
    ) -> Option<Result<Box<dyn Decoder>>> {
        let derived = self.get(id)?;
        Some(match derived.derivation.kind {
            DerivedKind::Packets => {
                PacketDecoder::new(columns).map(|derived| Box::new(derived) as _)
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

    /// Returns the columns of those `topics` of `log` whose messages declare them, for
    /// [`with_point_columns`](Self::with_point_columns) of a log that has only the `included`
    /// topics.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn point_columns(
        &self,
        log: &dyn Log,
        topics: &TopicSet,
        included: &TopicSet,
    ) -> Result<Vec<PointColumns>> {
        let ids = topics.ids(self.logged + self.list.len());
        let columns = ids.filter_map(|id| {
            let derived = self.get(id)?;
            let is_points = matches!(derived.derivation.kind, DerivedKind::Points(_));
            is_points.then_some((id, included.position(id)?, derived))
        });
        columns
            .map(|(id, topic, derived)| {
                let point_schema = PointSchema::clone(&*derived.point_schema(log, id)?);
                Ok(PointColumns { topic, point_schema })
            })
            .collect()
    }

    /// Sets columns that are known, so that no messages are inspected for them.
    #[must_use]
    pub fn with_point_columns(self, columns: Vec<PointColumns>) -> Self {
        for PointColumns { topic, point_schema } in columns {
            if let Some(derived) = self.get(topic) {
                derived.point_schema.get_or_init(|| Arc::new(point_schema));
            }
        }
        self
    }

    /// Returns each derived topic.
    fn iter(&self) -> impl Iterator<Item = (TopicId, &DerivedTopic)> {
        (self.logged as u32..).map(TopicId).zip(&self.list)
    }

    fn get(&self, id: TopicId) -> Option<&DerivedTopic> {
        self.list.get(id.index().checked_sub(self.logged)?)
    }

    /// Returns the topics of packets.
    fn packets(&self) -> TopicSet {
        let are_packets = |(id, derived): (_, &DerivedTopic)| {
            (derived.derivation.kind == DerivedKind::Packets).then_some(id)
        };
        self.iter().filter_map(are_packets).collect()
    }
}

impl DerivedTopic {
    /// Returns the columns of the points of this topic, which is `id` of `log`.
    fn point_schema(&self, log: &dyn Log, id: TopicId) -> Result<Arc<PointSchema>> {
        if let Some(point_schema) = self.point_schema.get() {
            return Ok(point_schema.clone());
        }
        let point_schema = match self.derivation.point_schema() {
            Some(point_schema) => point_schema,
            None => column_inspection::point_schema(self.derivation, log, id)?
                .unwrap_or_default(),
        };
        Ok(self.point_schema.get_or_init(|| Arc::new(point_schema)).clone())
    }
}

/// Returns the topic that is derived from `parent`.
fn topic(
    parent: &Topic,
    derivation: Derivation,
    name: String,
    instance: u32,
) -> Result<Topic> {
    let mut topic = Topic {
        name,
        instance,
        origin: TopicOrigin::Derived,
        content: match derivation.kind {
            DerivedKind::Points(_) => TopicContent::CloudPoints,
            DerivedKind::Packets => TopicContent::LidarPackets,
        },
        schema: derivation.schema()?,
        metadata: BTreeMap::new(),
        latched: Vec::new(),
        header_len: 0,
        descriptor: Vec::new(),
        // Derived records do not have the header before each message.
        bytes: parent.bytes.filter(|_| parent.header_len == 0),
        ..parent.clone()
    };
    if derivation.kind == DerivedKind::Packets {
        topic.encoding = "velodyne".to_owned();
        (topic.type_name, topic.definition) = (String::new(), String::new());
        // The number of packets in a message is not known.
        topic.records = topic.records.filter(|records| *records == 0);
        topic.bytes = topic.bytes.filter(|bytes| *bytes == 0);
        topic.time = None;
    }
    Ok(topic)
}

/// Returns `time` widened by `nanos` nanoseconds on both sides.
fn widen(time: TimeRange, nanos: i64) -> TimeRange {
    let shifted = |time: Timestamp, nanos_added: i64| {
        Timestamp::from_nanos(time.as_nanos().saturating_add(nanos_added))
    };
    TimeRange { start: shifted(time.start, -nanos), end: shifted(time.end, nanos) }
}

/// Returns the time of each packet of the scan in `payload`, which was recorded at `time`, and the
/// range of the packet in the payload.
fn packets_of(
    payload: &[u8],
    encoding: Encoding,
    time: Timestamp,
    mut take: impl FnMut(Timestamp, Range<usize>),
) {
    let Some(packets) = packets::packets(payload, encoding) else {
        return take(time, 0..payload.len());
    };
    for (stamp, data) in packets {
        let is_near = stamp.abs_diff(time.as_nanos()) <= NEAR.unsigned_abs();
        take(if is_near { Timestamp::from_nanos(stamp) } else { time }, data);
    }
}

#[cfg(test)]
mod tests;
