//! Adds topics of points to bags and MCAP files with packets of Velodyne lidars.
//!
//! The crates of these formats and of lidars do not depend on each other. This module gives a topic
//! of packets an additional topic of points: `/velodyne_packets/points` for
//! `/velodyne_packets/packets`. If the first messages of a topic have several frame ids, they are
//! those of several lidars: each has a topic of packets and a topic of points. A message with a frame
//! id that no lidar has is reported as damage when it is read.

mod cursor;
mod frames;

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{
    Columns, Cursor, Decoder, Excerpt, Findings, Log, Manifest, Part, Selection,
    Source, TimeMargin, TimeRange, Timestamp, Topic, TopicId, TopicSet, Value,
};
use logtool_velodyne::{
    lidar::{Lidar, LidarOptions, ScanCache, record_as_packet},
    points::ScanIndex,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    source::input::lidar_packets::{
        cursor::LidarCursor,
        frames::{PACKETS_SUFFIX, ProbedTopic, ScanTopic},
    },
};

/// A bag with the points of its lidars.
struct LidarBag {
    bag: Box<dyn Log>,
    manifest: Manifest,
    /// The topics whose messages have frame ids.
    scan_topics: Arc<[ScanTopic]>,
    lidars: Arc<[LidarTopic]>,
    /// The scans of each lidar.
    scans: Vec<ScanCache>,
}

/// A lidar in the bag.
#[derive(Clone, Serialize, Deserialize)]
struct LidarTopic {
    packets: TopicId,
    points: TopicId,
    lidar: Lidar,
}

/// The private state in an excerpt of the manifest of a bag with points.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExcerptState {
    /// The private state of the bag.
    bag_state: String,
    scan_topics: Vec<ScanTopic>,
    lidars: Vec<(LidarTopic, ScanIndex)>,
}

/// The maximum difference in nanoseconds between the time of a packet and that of its message. A
/// packet without a stamp is earlier by less than a rotation, and the slowest rotation takes a fifth
/// of a second.
const MAX_DELAY_NANOS: i64 = 1_000_000_000;

/// The metadata key of the frame id of a lidar.
const FRAME_ID: &str = "frame_id";

/// Adds the points of lidars to `bag`, if their packets or `options` identify the model.
pub fn with_points(bag: Box<dyn Log>, options: &LidarOptions) -> Result<Box<dyn Log>> {
    let mut topics = ProbedTopic::find_all(&*bag)?;
    topics.iter_mut().for_each(|topic| topic.identify(options));
    topics.retain(|topic| {
        let mut lidars = topic.lidars.iter();
        topic.lidars.len() > 1 || lidars.any(|found| found.lidar.is_some())
    });
    if topics.is_empty() {
        return Ok(bag); // avoids a copy of the manifest, which may have a million parts
    }
    let (mut log, identified) = LidarBag::new(bag, topics);
    let mut lidars = Vec::new();
    for (packets, mut lidar) in identified {
        lidar.compare_clocks(Some(0));
        if options.utc {
            lidar.use_own_clock(0, false, options.clock);
        }
        if let Some(field) = lidar.late_blanking(&log, packets, record_as_packet)? {
            lidar.set_blanked(field, options.keep_scan_start);
        }
        lidars.push(log.add_point_topic(packets, lidar));
    }
    let points = lidars.iter().map(|lidar| lidar.points).collect();
    for part in &mut log.manifest.parts {
        if part.topics.overlaps(&points) {
            part.time.start = part.time.start.shifted_by(-MAX_DELAY_NANOS);
        }
    }
    log.scans = lidars.iter().map(|_| ScanCache::default()).collect();
    log.lidars = lidars.into();
    Ok(Box::new(log))
}

/// Divides the packets of `bag` between the lidars that the frame ids identify.
pub fn with_packets(bag: Box<dyn Log>) -> Result<Box<dyn Log>> {
    let mut topics = ProbedTopic::find_all(&*bag)?;
    topics.retain(|topic| topic.messages.is_some());
    Ok(if topics.is_empty() { bag } else { Box::new(LidarBag::new(bag, topics).0) })
}

/// Opens an excerpt of the manifest of a bag with `open_bag`, and adds the points of its
/// lidars, if the excerpt is of points.
pub(crate) fn open_excerpt(
    excerpt: Arc<Manifest>,
    open_bag: impl FnOnce(Arc<Manifest>) -> Result<Box<dyn Log>>,
) -> Result<Box<dyn Log>> {
    let state: logtool_core::Result<ExcerptState> =
        excerpt.decode_state(&excerpt.format);
    let Ok(ExcerptState { bag_state, scan_topics, lidars }) = state else {
        return open_bag(excerpt);
    };
    let manifest = Manifest::clone(&excerpt);
    let bag = open_bag(Arc::new(Manifest { format_state: bag_state, ..manifest }))?;
    let manifest = bag.manifest().clone();
    let (lidars, scans): (Vec<_>, Vec<_>) = lidars.into_iter().unzip();
    let scans = scans.into_iter().map(ScanCache::from).collect();
    let (scan_topics, lidars) = (scan_topics.into(), lidars.into());
    Ok(Box::new(LidarBag { bag, manifest, scan_topics, lidars, scans }))
}

impl LidarBag {
    /// Creates a log with the topics of packets of all lidars in `topics`, but without points.
    /// Returns it together with the identified lidars, and the topics of their packets.
    fn new(
        bag: Box<dyn Log>,
        topics: Vec<ProbedTopic>,
    ) -> (Self, Vec<(TopicId, Lidar)>) {
        let manifest = bag.manifest().clone();
        let (scan_topics, lidars) = (Arc::from([]), Arc::from([]));
        let mut log = Self { bag, manifest, scan_topics, lidars, scans: Vec::new() };
        let (mut scan_topics, mut identified) = (Vec::new(), Vec::new());
        for ProbedTopic { packets, messages, lidars, damaged_frame_ids } in topics {
            let (frame_ids, lidars): (Vec<_>, Vec<_>) =
                lidars.into_iter().map(|found| (found.frame_id, found.lidar)).unzip();
            let ids = log.add_packet_topics(packets, &frame_ids, &damaged_frame_ids);
            let topics_of_lidars = ids.iter().copied().zip(lidars);
            identified.extend(topics_of_lidars.filter_map(|(id, of)| Some((id, of?))));
            let lidars = frame_ids.into_iter().zip(ids).collect();
            let scan_topic = |messages| ScanTopic { messages, packets, lidars };
            scan_topics.extend(messages.map(scan_topic));
        }
        log.scan_topics = scan_topics.into();
        (log, identified)
    }

    /// Adds a topic of packets for each of the `frame_ids` after the first one, whose packets are in
    /// the topic `packets` of the bag. Returns all of these topics.
    fn add_packet_topics(
        &mut self,
        packets: TopicId,
        frame_ids: &[String],
        damaged_frame_ids: &[String],
    ) -> Vec<TopicId> {
        let manifest = &mut self.manifest;
        let bag_topic = manifest.topics[packets.index()].clone();
        for frame_id in damaged_frame_ids {
            manifest.remarks.push(format!(
                "{}: one message has the frame id {frame_id:?}, and no other: it is damaged, and \
                 its packets are not read",
                bag_topic.name
            ));
        }
        let mut ids = vec![packets];
        if frame_ids.len() == 1 {
            return ids;
        }
        manifest.remarks.push(format!(
            "{}: the messages have {} frame ids, so they are those of as many lidars",
            bag_topic.name,
            frame_ids.len()
        ));
        for _ in frame_ids.iter().skip(1) {
            let instance = next_instance(manifest, &bag_topic.name);
            let topic = Topic { instance, ..bag_topic.clone() };
            ids.push(add_topic(manifest, topic, packets));
        }
        for (id, frame_id) in ids.iter().zip(frame_ids) {
            let metadata = &mut manifest.topics[id.index()].metadata;
            metadata.insert(FRAME_ID.to_owned(), frame_id.clone());
        }
        ids
    }

    /// Adds the topic of the points of `lidar`.
    fn add_point_topic(&mut self, packets: TopicId, lidar: Lidar) -> LidarTopic {
        let manifest = &mut self.manifest;
        let packets_topic = &manifest.topics[packets.index()];
        let mut topic = lidar.topic(packets_topic);
        let name = packets_topic.name.strip_suffix(PACKETS_SUFFIX).unwrap_or_default();
        topic.name = format!("{name}/points");
        topic.instance = next_instance(manifest, &topic.name);
        let label = topic.label().into_owned();
        let remarks = lidar.warnings().map(|remark| format!("{label}: {remark}"));
        manifest.remarks.extend(remarks);
        let points = add_topic(manifest, topic, packets);
        manifest.time_margins.insert(points, lidar.time_margin());
        LidarTopic { packets, points, lidar }
    }

    /// Returns the topics of the bag whose records are read for the topics `selected`.
    fn read_topics(&self, selected: &TopicSet) -> TopicSet {
        let bag_topics = self.bag.manifest().topics().map(|(id, _)| id);
        let bag_topic_count = self.bag.manifest().topics.len();
        let mut topics: TopicSet =
            bag_topics.filter(|id| selected.contains(*id)).collect();
        for lidar in self.lidars.iter().filter(|l| selected.contains(l.points)) {
            if lidar.packets.index() < bag_topic_count {
                topics.insert(lidar.packets);
            }
        }
        for scan_topic in self.selected_scan_topics(selected) {
            topics.insert(scan_topic.packets);
            topics.insert(scan_topic.messages.topic);
        }
        topics
    }

    /// Returns the topics of messages whose packets or points are `selected`.
    fn selected_scan_topics(
        &self,
        selected: &TopicSet,
    ) -> impl Iterator<Item = &ScanTopic> {
        let has_selected_points = move |packets: TopicId| {
            let mut lidars = self.lidars.iter().filter(|l| l.packets == packets);
            lidars.any(|lidar| selected.contains(lidar.points))
        };
        let is_selected =
            move |id: TopicId| selected.contains(id) || has_selected_points(id);
        let scan_topics = self.scan_topics.iter();
        scan_topics.filter(move |scan_topic| {
            scan_topic.lidars.iter().any(|(_, packets)| is_selected(*packets))
        })
    }
}

/// Adds a topic of lidar data to `manifest`. It is in all parts with the topic `packets`.
fn add_topic(manifest: &mut Manifest, topic: Topic, packets: TopicId) -> TopicId {
    let id = TopicId(manifest.topics.len() as u32);
    manifest.topics.push(topic);
    for part in &mut manifest.parts {
        if part.topics.contains(packets) {
            part.topics.insert(id);
        }
    }
    id
}

/// Returns the instance of a further topic called `name`.
fn next_instance(manifest: &Manifest, name: &str) -> u32 {
    let named = manifest.topics.iter().filter(|topic| topic.name == name);
    named.map(|topic| topic.instance + 1).max().unwrap_or(0)
}

impl Log for LidarBag {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(
        &self,
        part: &Part,
        selection: &Selection,
    ) -> logtool_core::Result<Box<dyn Cursor>> {
        let selected = &selection.topics;
        if !self.lidars.iter().any(|lidar| selected.contains(lidar.points))
            && self.selected_scan_topics(selected).next().is_none()
        {
            return self.bag.read(part, selection);
        }
        let margin = self.manifest.time_margins.values().fold(
            TimeMargin::default(),
            |total, next| TimeMargin {
                before: total.before.max(next.before),
                after: total.after.max(next.after),
            },
        );
        // A packet can be earlier or later than its message, which has the frame id.
        let max_delay = MAX_DELAY_NANOS.unsigned_abs();
        let margin = TimeMargin {
            before: margin.before.saturating_add(max_delay),
            after: margin.after.saturating_add(max_delay),
        };
        let topics = self.read_topics(selected);
        let time = margin.extend(selection.time);
        let cursor = self.bag.read(part, &Selection { topics, time })?;
        let (scan_topics, lidars) = (self.scan_topics.clone(), self.lidars.clone());
        Ok(Box::new(LidarCursor::new(cursor, selection.clone(), scan_topics, lidars)))
    }

    fn decoder(
        &self,
        topic: TopicId,
        columns: &Columns,
    ) -> logtool_core::Result<Box<dyn Decoder>> {
        let mut lidars = self.lidars.iter().zip(&self.scans);
        let Some((sender, scans)) = lidars.find(|(sender, _)| sender.points == topic)
        else {
            // All topics of packets have the same decoder.
            let mut scan_topics = self.scan_topics.iter();
            let scan_topic = scan_topics.find(|t| t.has_packets(topic));
            let bag_topic = scan_topic.map_or(topic, |scan_topic| scan_topic.packets);
            return self.bag.decoder(bag_topic, columns);
        };
        let (lidar, time) = (&sender.lidar, columns.time);
        let scans = scans.get(self, topic, lidar, time, record_as_packet)?;
        Ok(Box::new(sender.lidar.decoder(columns, scans)?))
    }

    fn excerpt(
        &self,
        selection: &Selection,
        parts: &[Part],
    ) -> logtool_core::Result<Excerpt> {
        let selected = &selection.topics;
        let mut lidars = Vec::new();
        for (sender, scans) in self.lidars.iter().zip(&self.scans) {
            if selected.contains(sender.points) {
                let (selected_parts, lidar) = ((selection.time, parts), &sender.lidar);
                let scans = scans.excerpt(
                    self,
                    sender.points,
                    lidar,
                    selected_parts,
                    record_as_packet,
                )?;
                lidars.push((sender, scans));
            }
        }
        let topics = self.read_topics(selected);
        let bag =
            self.bag.excerpt(&Selection { topics, time: selection.time }, parts)?;
        let scan_topics: Vec<_> = self.selected_scan_topics(selected).collect();
        if lidars.is_empty() && scan_topics.is_empty() {
            return Ok(bag);
        }
        let bag_topic_count = self.bag.manifest().topics.len();
        let points = lidars.iter().map(|(sender, _)| sender.points);
        let packets = scan_topics.iter().flat_map(|topic| &topic.lidars);
        let included: TopicSet = bag
            .topics
            .ids(bag_topic_count)
            .chain(points)
            .chain(packets.map(|(_, packets)| *packets))
            .collect();
        let number = |id: TopicId| included.position(id).unwrap_or(TopicId::OMITTED);
        let lidars =
            lidars.into_iter().map(|(LidarTopic { packets, points, lidar }, scans)| {
                let (packets, points) = (number(*packets), number(*points));
                (LidarTopic { packets, points, lidar: lidar.clone() }, scans)
            });
        let scan_topics = scan_topics.into_iter().map(|topic| topic.renumbered(number));
        let format_state = Manifest::encode_state(&ExcerptState {
            bag_state: bag.manifest.format_state,
            scan_topics: scan_topics.collect(),
            lidars: lidars.collect(),
        })?;
        let excerpt = self.manifest.excerpt(selected, included, parts);
        let Manifest { parts, topics, time_margins, .. } = excerpt.manifest;
        let lidar_topics = topics.into_iter().skip(bag.manifest.topics.len());
        let topics = bag.manifest.topics.into_iter().chain(lidar_topics).collect();
        let manifest =
            Manifest { topics, parts, time_margins, format_state, ..bag.manifest };
        Ok(Excerpt { manifest, topics: excerpt.topics })
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.bag.source()
    }

    fn times(
        &self,
        part: &Part,
        times: &mut Vec<(TopicId, Timestamp)>,
    ) -> logtool_core::Result<bool> {
        self.bag.times(part, times)
    }

    fn part_times(&self) -> Vec<TimeRange> {
        self.bag.part_times()
    }

    fn file_structure(&self) -> logtool_core::Result<BTreeMap<String, Value>> {
        self.bag.file_structure()
    }

    fn check(&self, findings: &mut Findings) -> logtool_core::Result<()> {
        self.bag.check(findings)?;
        for (LidarTopic { points, lidar, .. }, scans) in
            self.lidars.iter().zip(&self.scans)
        {
            lidar.check(self, *points, record_as_packet, scans, findings)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
