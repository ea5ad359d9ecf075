//! Topics that are made of the messages of others: points and packets.
//!
//! A topic of clouds or scans has beside it a topic of their points, called as it is
//! with `/points` behind, and a topic of `velodyne_msgs/VelodyneScan` one of its packets,
//! called with `/packets` behind. (Should the bag have a topic of that name itself, the
//! derived one is the next instance.) Their ids come after those of all topics that the
//! bag has. A topic is taken for one of clouds if its type has the name *and* the MD5
//! sum of the real one.
//!
//! **Points.** A record is the whole message; its rows are the points: the time of the
//! record, the `stamp` of the header, the `index` of the point in its message, and where
//! points lie in rows (a height above 1) the `row` and `column`, then what the message
//! has of each point. Points that are nowhere, NaN, are rows as all others.
//!
//! What fields a `PointCloud2` has, only its messages say, and opening a bag reads none.
//! So the columns of a topic are those of its first message that has any, which is
//! looked for when a decoder is first asked for (until then the manifest names the
//! columns that all points have). A later message that lacks some of them has nulls
//! there; one that has others, or the same of another type, cannot be in the table, and
//! is damage. The topic itself has all of them as they are.
//!
//! **Packets.** A record is the 1206 bytes of a packet. Its time is the packet's stamp if
//! that lies within a [second](NEAR) of the time of its message, as when the clocks of
//! lidar, driver and recorder agree, and otherwise the time of the message: parts of the
//! log are found by their times without reading them, so a packet cannot lie anywhere.
//! (The topic itself has all stamps.) A message that is no whole number of packets is
//! one record, which is damage when it is decoded.

mod packet_decoder;
mod point_decoder;
mod values;

use std::{ops::Range, sync::Arc};

use logtool_core::{
    Columns, Decoder, Part, Result, TimeRange, Timestamp, TopicId, TopicSet, View,
};

use crate::{
    connection::Connection,
    points::Shape,
    schema,
    sensor::{cloud, cloud2, packets, scan},
    table::Table,
};

pub(crate) use self::{
    packet_decoder::{PacketDecoder, packet_schema},
    point_decoder::{PointDecoder, PointSource},
};

/// How far the stamp of a packet may be from the time of its message, in nanoseconds:
/// lidars turn 5 times a second or faster, and a message is a turn.
pub(crate) const NEAR: i64 = 1_000_000_000;

/// What is derived of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Derivation {
    Points(PointSource),
    Packets,
}

/// All topics that are derived of others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived {
    /// How many topics are not derived.
    logged: usize,
    /// The topic that each is derived of, and what it is.
    list: Vec<(TopicId, Derivation)>,
    /// For each topic that is not derived, the place in the list of what is derived of it.
    places: Vec<Option<u32>>,
}

impl Derivation {
    /// What is derived of records of this type.
    fn of(type_name: &str) -> Option<(Self, &'static str)> {
        Some(match type_name {
            "sensor_msgs/PointCloud2" => {
                (Self::Points(PointSource::Cloud2), cloud2::MD5)
            }
            "sensor_msgs/PointCloud" => (Self::Points(PointSource::Cloud), cloud::MD5),
            "sensor_msgs/LaserScan" => (Self::Points(PointSource::Scan), scan::MD5),
            "velodyne_msgs/VelodyneScan" => (Self::Packets, packets::MD5),
            _ => return None,
        })
    }

    /// What the name of the topic ends in.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Points(_) => "/points",
            Self::Packets => "/packets",
        }
    }

    /// The columns, as far as they are known without reading.
    pub(crate) fn schema(self) -> Result<arrow_schema::SchemaRef> {
        let Self::Points(source) = self else { return Ok(packet_schema()) };
        let shape = Arc::new(source.shape().unwrap_or_default());
        let decoder = PointDecoder::new(source, shape, &Columns::all(View::Nested))?;
        Ok(decoder.schema().clone())
    }
}

impl Derived {
    /// What is derived of the topics of `table`, which is finished.
    pub(crate) fn of(table: &Table) -> Self {
        let logged = table.topics();
        let mut derived = Self { logged, list: vec![], places: vec![None; logged] };
        for (topic, place) in (0..).map(TopicId).zip(&mut derived.places) {
            let connections = table.of_topic(topic).map(|entry| &entry.connection);
            let Some(derivation) = derivation(connections) else { continue };
            *place = Some(derived.list.len() as u32);
            derived.list.push((topic, derivation));
        }
        derived
    }

    /// Each topic that is derived: its id, that of the topic it is derived of, and what
    /// it is.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TopicId, TopicId, Derivation)> {
        let ids = (self.logged as u32..).map(TopicId);
        ids.zip(&self.list).map(|(id, (parent, derivation))| (id, *parent, *derivation))
    }

    /// What the topic `id` is derived of, and what it is, if it is derived.
    pub(crate) fn get(&self, id: TopicId) -> Option<(TopicId, Derivation)> {
        self.list.get(id.index().checked_sub(self.logged)?).copied()
    }

    /// The topic that is derived of `parent`, and what it is.
    pub(crate) fn child(&self, parent: TopicId) -> Option<(TopicId, Derivation)> {
        let place = (*self.places.get(parent.index())?)?;
        let (_, derivation) = self.list.get(place as usize)?;
        Some((TopicId(self.logged as u32 + place), *derivation))
    }

    /// Widens the times of those `parts` that hold packets, so that they hold those too
    /// of which the stamps are a little outside.
    pub(crate) fn make_room(&self, parts: &mut [Part]) {
        let packets = self.packets();
        for part in parts.iter_mut().filter(|part| part.topics.overlaps(&packets)) {
            part.time = widened(part.time, NEAR);
        }
    }

    /// The times of `parts`, without the [room](Self::make_room) that was made.
    pub(crate) fn times_without_room(&self, parts: &[Part]) -> Vec<TimeRange> {
        let packets = self.packets();
        let time = |part: &Part| {
            let has_room =
                part.topics.overlaps(&packets) && part.time != TimeRange::ALL;
            if has_room { widened(part.time, -NEAR) } else { part.time }
        };
        parts.iter().map(time).collect()
    }

    /// The topics of packets.
    fn packets(&self) -> TopicSet {
        let are_packets =
            |(id, _, derivation)| (derivation == Derivation::Packets).then_some(id);
        self.iter().filter_map(are_packets).collect()
    }
}

/// What is derived of the records of `connections`, which share a type.
fn derivation<'c>(
    mut connections: impl Iterator<Item = &'c Connection> + Clone,
) -> Option<Derivation> {
    let all = connections.clone();
    let first = connections.next()?;
    let (derivation, md5sum) = Derivation::of(&first.type_name)?;
    let is_one = first.md5sum.eq_ignore_ascii_case(md5sum) || {
        let described = schema::of_topic(all).ok()?;
        described.definition.md5sum().ok()? == md5sum
    };
    is_one.then_some(derivation)
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
pub(crate) fn packets_of(
    payload: &[u8],
    time: Timestamp,
    mut take: impl FnMut(Timestamp, Range<usize>),
) {
    let Some(packets) = packets::packets(payload) else {
        return take(time, 0..payload.len());
    };
    for (stamp, data) in packets {
        let is_near = stamp.abs_diff(time.as_nanos()) <= NEAR.unsigned_abs();
        take(if is_near { Timestamp::from_nanos(stamp) } else { time }, data);
    }
}

/// A decoder of the `columns` of what is derived, of points of this `shape`.
pub(crate) fn decoder(
    derivation: Derivation,
    shape: impl FnOnce(PointSource) -> Result<Arc<Shape>>,
    columns: &Columns,
) -> Result<Box<dyn Decoder>> {
    Ok(match derivation {
        Derivation::Points(source) => {
            Box::new(PointDecoder::new(source, shape(source)?, columns)?)
        }
        Derivation::Packets => Box::new(PacketDecoder::new(columns)?),
    })
}

#[cfg(test)]
mod tests;
