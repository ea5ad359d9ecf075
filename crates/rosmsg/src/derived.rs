//! Topics that are made of the messages of others: points and packets.
//!
//! A topic of clouds or scans has beside it a topic of their points, called as it is
//! with `/points` behind, and a topic of `velodyne_msgs/VelodyneScan` one of its packets,
//! called with `/packets` behind. (Should the log have a topic of that name itself, the
//! derived one is the next instance.) Their ids come after those of all topics that the
//! log has. A topic is taken for one of clouds if its type has the name *and* the fields
//! of the real one.
//!
//! **Points.** A record is the whole message; its rows are the points: the time of the
//! record, the `stamp` of the header, the `index` of the point in its message, and where
//! points lie in rows (a height above 1) the `row` and `column`, then what the message
//! has of each point. Points that are nowhere, NaN, are rows as all others.
//!
//! What fields a `PointCloud2` has, only its messages say, and opening a log reads none.
//! So the columns of a topic are those of all its messages that are looked at when a decoder
//! is first asked for: the first ones, and some all over the log (until then the manifest names
//! the columns that all points have). A message that lacks some of them has nulls there. A
//! field of one that was not looked at and has others, or that lies outside of its points, is
//! in no column and is told; the other fields are. The topic itself has all of them as they are.
//!
//! **Packets.** A record is the 1206 bytes of a packet. Its time is the packet's stamp if
//! that lies within a [second](NEAR) of the time of its message, as when the clocks of
//! lidar, driver and recorder agree, and otherwise the time of the message: parts of the
//! log are found by their times without reading them, so a packet cannot lie anywhere.
//! (The topic itself has all stamps.) A message that is no whole number of packets is
//! one record, which is damage when it is decoded.

mod kind;
mod look;
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

use crate::{
    cut::Encoding,
    derived::{kind::What, packet_decoder::PacketDecoder, point_decoder::PointDecoder},
    points::Shape,
    sensor::packets,
};

pub use self::kind::Derivation;

/// How far the stamp of a packet may be from the time of its message, in nanoseconds:
/// lidars turn 5 times a second or faster, and a message is a turn.
pub(crate) const NEAR: i64 = 1_000_000_000;

/// All topics of a log that are derived of others.
#[derive(Debug, Default)]
pub struct Derived {
    /// How many topics are not derived.
    logged: usize,
    list: Vec<One>,
    /// For each topic that is not derived, the place in the list of what is derived of it.
    places: Vec<Option<u32>>,
}

/// A topic that is derived.
#[derive(Debug)]
struct One {
    parent: TopicId,
    derivation: Derivation,
    /// The columns of points; found out when first needed.
    shape: OnceLock<Arc<Shape>>,
}

impl Derived {
    /// What is derived of each topic that a log has itself.
    pub fn new(of_each: impl IntoIterator<Item = Option<Derivation>>) -> Self {
        let mut derived = Self::default();
        for (parent, derivation) in (0..).map(TopicId).zip(of_each) {
            derived.logged += 1;
            derived.places.push(derivation.map(|_| derived.list.len() as u32));
            let shape = OnceLock::new();
            let one = derivation.map(|derivation| One { parent, derivation, shape });
            derived.list.extend(one);
        }
        derived
    }

    /// The topics that are derived of the `topics` that a log has itself, in their order.
    ///
    /// # Errors
    /// None that a file could cause.
    pub fn topics(&self, topics: &[Topic]) -> Result<Vec<Topic>> {
        let mut instances: HashMap<&str, u32> = HashMap::new();
        for topic in topics {
            *instances.entry(&topic.name).or_default() += 1;
        }
        let mut next: HashMap<String, u32> = HashMap::new();
        let mut made = Vec::new();
        for One { parent, derivation, .. } in &self.list {
            let Some(parent) = topics.get(parent.index()) else { continue };
            let name = format!("{}{}", parent.name, derivation.suffix());
            let logged = instances.get(name.as_str()).copied().unwrap_or(0);
            let instance = next.entry(name.clone()).or_insert(logged);
            made.push(topic(parent, *derivation, name, *instance)?);
            *instance += 1;
        }
        Ok(made)
    }

    /// Whether `topics` has one that is derived.
    pub fn is_wanted(&self, topics: &TopicSet) -> bool {
        self.iter().any(|(id, _)| topics.contains(id))
    }

    /// Each topic that is derived, and that which it is derived of.
    pub fn pairs(&self) -> impl Iterator<Item = (TopicId, TopicId)> {
        self.iter().map(|(id, one)| (id, one.parent))
    }

    /// The topic that is derived of `parent`.
    pub fn child(&self, parent: TopicId) -> Option<TopicId> {
        let place = (*self.places.get(parent.index())?)?;
        Some(TopicId(self.logged as u32 + place))
    }

    /// Widens the times of those `parts` that hold packets, so that they hold those too
    /// of which the stamps are a little outside.
    pub fn make_room(&self, parts: &mut [Part]) {
        let packets = self.packets();
        for part in parts.iter_mut().filter(|part| part.topics.overlaps(&packets)) {
            part.time = widened(part.time, NEAR);
        }
    }

    /// The times of `parts`, without the [room](Self::make_room) that was made.
    pub fn times_without_room(&self, parts: &[Part]) -> Vec<TimeRange> {
        let packets = self.packets();
        let time = |part: &Part| {
            let has_room =
                part.topics.overlaps(&packets) && part.time != TimeRange::ALL;
            if has_room { widened(part.time, -NEAR) } else { part.time }
        };
        parts.iter().map(time).collect()
    }

    /// Adds to `block` what is derived of the message of `stream` of the topic `parent` that
    /// lies at `payload` of its bytes, without an envelope, as far as `selection` wants it.
    pub fn derive(
        &self,
        block: &mut Block,
        selection: &Selection,
        (parent, stream): (TopicId, u32),
        time: Timestamp,
        payload: Range<usize>,
    ) {
        let Some((id, one)) =
            self.child(parent).and_then(|id| Some((id, self.get(id)?)))
        else {
            return;
        };
        match one.derivation.what {
            What::Points(_) if selection.wants(id, time) => {
                block.push_from_stream(id, stream, time, payload);
            }
            What::Packets if selection.topics.contains(id) => {
                let (bytes, start) = (block.bytes().clone(), payload.start);
                let message = bytes.get(payload).unwrap_or_default();
                packets_of(message, one.derivation.encoding, time, |time, packet| {
                    if selection.time.contains(time) {
                        let packet = start + packet.start..start + packet.end;
                        block.push_from_stream(id, stream, time, packet);
                    }
                });
            }
            _ => {}
        }
    }

    /// A decoder of the `columns` of the topic `id` of `log`, if it is derived.
    pub fn decoder(
        &self,
        log: &dyn Log,
        id: TopicId,
        columns: &Columns,
    ) -> Option<Result<Box<dyn Decoder>>> {
        let one = self.get(id)?;
        Some(match one.derivation.what {
            What::Packets => PacketDecoder::new(columns).map(|one| Box::new(one) as _),
            What::Points(source) => one.shape(log, id).and_then(|shape| {
                let encoding = one.derivation.encoding;
                let decoder = PointDecoder::new(source, encoding, shape, columns)?;
                Ok(Box::new(decoder) as _)
            }),
        })
    }

    /// Each topic that is derived.
    fn iter(&self) -> impl Iterator<Item = (TopicId, &One)> {
        (self.logged as u32..).map(TopicId).zip(&self.list)
    }

    fn get(&self, id: TopicId) -> Option<&One> {
        self.list.get(id.index().checked_sub(self.logged)?)
    }

    /// The topics of packets.
    fn packets(&self) -> TopicSet {
        let are_packets =
            |(id, one): (_, &One)| (one.derivation.what == What::Packets).then_some(id);
        self.iter().filter_map(are_packets).collect()
    }
}

impl One {
    /// The columns of the points of this topic, which is `id` of `log`.
    fn shape(&self, log: &dyn Log, id: TopicId) -> Result<Arc<Shape>> {
        if let Some(shape) = self.shape.get() {
            return Ok(shape.clone());
        }
        let shape = match self.derivation.shape() {
            Some(shape) => shape,
            None => look::shape(self.derivation, log, id)?.unwrap_or_default(),
        };
        Ok(self.shape.get_or_init(|| Arc::new(shape)).clone())
    }
}

/// The topic of what is derived of `parent`.
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
        content: match derivation.what {
            What::Points(_) => TopicContent::CloudPoints,
            What::Packets => TopicContent::LidarPackets,
        },
        schema: derivation.schema()?,
        metadata: BTreeMap::new(),
        latched: Vec::new(),
        envelope: 0,
        descriptor: Vec::new(),
        // What lies before each message is no part of what is made of it.
        bytes: parent.bytes.filter(|_| parent.envelope == 0),
        ..parent.clone()
    };
    if derivation.what == What::Packets {
        topic.encoding = "velodyne".to_owned();
        (topic.type_name, topic.definition) = (String::new(), String::new());
        // How many packets a message has is not known.
        topic.records = topic.records.filter(|records| *records == 0);
        topic.bytes = topic.bytes.filter(|bytes| *bytes == 0);
        topic.time = None;
    }
    Ok(topic)
}

/// `time`, with room of so many nanoseconds before and after it.
fn widened(time: TimeRange, nanos: i64) -> TimeRange {
    let moved = |time: Timestamp, by: i64| {
        Timestamp::from_nanos(time.as_nanos().saturating_add(by))
    };
    TimeRange { start: moved(time.start, -nanos), end: moved(time.end, nanos) }
}

/// The packets of the scan in `payload`, which was recorded at `time`: when each
/// happened, and where in the payload it lies.
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
