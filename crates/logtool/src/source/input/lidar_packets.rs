//! Adds topics of points to bags and MCAP files with packets of Velodyne lidars.
//!
//! The crates of these formats and of lidars do not depend on each other. This module gives a topic
//! of packets an additional topic of points: `/velodyne_packets/points` for
//! `/velodyne_packets/packets`.

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{
    Block, Columns, Cursor, Decoder, Excerpt, Findings, Log, Manifest, Part, Record,
    Selection, Source, TimeMargin, TimeRange, Timestamp, TopicContent, TopicId,
    TopicSet, Value,
};
use logtool_velodyne::{
    lidar::{Lidar, LidarOptions, Probe, ScanCache, record_as_packet},
    points::ScanIndex,
};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// A bag with the points of its lidars.
struct LidarBag {
    bag: Box<dyn Log>,
    manifest: Manifest,
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
    lidars: Vec<(LidarTopic, ScanIndex)>,
}

/// If a packet has no stamp, it is at most this many nanoseconds earlier than its message: the
/// slowest rotation takes a fifth of a second.
const MAX_DELAY_NANOS: i64 = 1_000_000_000;

/// The number of bytes that are read at once to detect the lidars.
const PROBE_BYTES: u64 = 8 << 20;

/// Adds the points of lidars to `bag`, if their packets or `options` identify the model.
pub fn with_points(bag: Box<dyn Log>, options: &LidarOptions) -> Result<Box<dyn Log>> {
    let mut packet_topics = Vec::new();
    for (packets, topic) in bag.manifest().topics() {
        if topic.content != TopicContent::LidarPackets {
            continue;
        }
        let Some(name) = topic.name.strip_suffix("/packets") else { continue };
        if let Some(mut lidar) = probe(&*bag, packets)?.finish(options) {
            lidar.compare_clocks(Some(0));
            if options.utc {
                lidar.use_own_clock(0, false, options.clock);
            }
            if let Some(field) =
                lidar.late_blanking(&*bag, packets, record_as_packet)?
            {
                lidar.set_blanked(field, options.keep_scan_start);
            }
            packet_topics.push((packets, topic, name, lidar));
        }
    }
    if packet_topics.is_empty() {
        return Ok(bag); // avoids a copy of the manifest, which may have a million parts
    }
    let mut manifest = bag.manifest().clone();
    let mut lidars = Vec::new();
    for (packets, topic, name, lidar) in packet_topics {
        let points = TopicId(manifest.topics.len() as u32);
        let mut points_topic = lidar.topic(topic);
        points_topic.name = format!("{name}/points");
        let named =
            manifest.topics.iter().filter(|other| other.name == points_topic.name);
        points_topic.instance =
            named.map(|other| other.instance + 1).max().unwrap_or(0);
        let label = points_topic.label().into_owned();
        let remarks = lidar.warnings().map(|remark| format!("{label}: {remark}"));
        manifest.remarks.extend(remarks);
        manifest.topics.push(points_topic);
        for part in manifest.parts.iter_mut().filter(|p| p.topics.contains(packets)) {
            part.topics.insert(points);
            part.time.start = part.time.start.shifted_by(-MAX_DELAY_NANOS);
        }
        manifest.time_margins.insert(points, lidar.time_margin());
        lidars.push(LidarTopic { packets, points, lidar });
    }
    let scans = lidars.iter().map(|_| ScanCache::default()).collect();
    Ok(Box::new(LidarBag { bag, manifest, lidars: lidars.into(), scans }))
}

/// Opens an excerpt of the manifest of a bag with `open_bag`, and adds the points of its
/// lidars, if the excerpt is of points.
pub(crate) fn open_excerpt(
    excerpt: Arc<Manifest>,
    open_bag: impl FnOnce(Arc<Manifest>) -> Result<Box<dyn Log>>,
) -> Result<Box<dyn Log>> {
    let state: logtool_core::Result<ExcerptState> =
        excerpt.decode_state(&excerpt.format);
    let Ok(ExcerptState { bag_state, lidars }) = state else {
        return open_bag(excerpt);
    };
    let manifest = Manifest::clone(&excerpt);
    let bag = open_bag(Arc::new(Manifest { format_state: bag_state, ..manifest }))?;
    let manifest = bag.manifest().clone();
    let (lidars, scans): (Vec<_>, Vec<_>) = lidars.into_iter().unzip();
    let scans = scans.into_iter().map(ScanCache::from).collect();
    Ok(Box::new(LidarBag { bag, manifest, lidars: lidars.into(), scans }))
}

/// Inspects the first packets of `topic`.
fn probe(bag: &dyn Log, topic: TopicId) -> Result<Probe> {
    let (mut probe, mut block) = (Probe::default(), Block::default());
    let topics = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    for part in bag.manifest().plan(&selection, PROBE_BYTES) {
        let mut cursor = bag.read(&part, &selection)?;
        while !probe.is_enough() && cursor.fill(&mut block)? {
            block.iter().for_each(|record| probe.add(record.payload, record.time));
        }
        bag.source().release(part.bytes);
        if probe.is_enough() {
            break;
        }
    }
    Ok(probe)
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
        if !self.lidars.iter().any(|sender| selected.contains(sender.points)) {
            return self.bag.read(part, selection);
        }
        let bag_topics = self.bag.manifest().topics().map(|(id, _)| id);
        let mut topics: TopicSet =
            bag_topics.filter(|id| selected.contains(*id)).collect();
        for sender in self.lidars.iter().filter(|s| selected.contains(s.points)) {
            topics.insert(sender.packets);
        }
        let margin = self.manifest.time_margins.values().fold(
            TimeMargin::default(),
            |total, next| TimeMargin {
                before: total.before.max(next.before),
                after: total.after.max(next.after),
            },
        );
        let before = margin.before.saturating_add(MAX_DELAY_NANOS.unsigned_abs());
        let time = TimeMargin { before, ..margin }.extend(selection.time);
        Ok(Box::new(LidarCursor {
            cursor: self.bag.read(part, &Selection { topics, time })?,
            block: Block::default(),
            selection: selection.clone(),
            lidars: self.lidars.clone(),
        }))
    }

    fn decoder(
        &self,
        topic: TopicId,
        columns: &Columns,
    ) -> logtool_core::Result<Box<dyn Decoder>> {
        let mut lidars = self.lidars.iter().zip(&self.scans);
        let Some((sender, scans)) = lidars.find(|(sender, _)| sender.points == topic)
        else {
            return self.bag.decoder(topic, columns);
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
        let (mut bag_topics, mut lidars) = (TopicSet::EMPTY, Vec::new());
        let bag_topic_count = self.bag.manifest().topics.len();
        let ids = selection.topics.ids(self.manifest.topics.len());
        ids.filter(|id| id.index() < bag_topic_count)
            .for_each(|id| bag_topics.insert(id));
        for (sender, scans) in self.lidars.iter().zip(&self.scans) {
            if selection.topics.contains(sender.points) {
                bag_topics.insert(sender.packets);
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
        let bag_selection = Selection { topics: bag_topics, time: selection.time };
        let bag = self.bag.excerpt(&bag_selection, parts)?;
        if lidars.is_empty() {
            return Ok(bag);
        }
        let points = lidars.iter().map(|(sender, _)| sender.points);
        let included: TopicSet =
            bag.topics.ids(bag_topic_count).chain(points).collect();
        let number = |id: TopicId| included.position(id).unwrap_or(TopicId::OMITTED);
        let lidars =
            lidars.into_iter().map(|(LidarTopic { packets, points, lidar }, scans)| {
                let (packets, points) = (number(*packets), number(*points));
                (LidarTopic { packets, points, lidar: lidar.clone() }, scans)
            });
        let format_state = Manifest::encode_state(&ExcerptState {
            bag_state: bag.manifest.format_state,
            lidars: lidars.collect(),
        })?;
        let points_excerpt = self.manifest.excerpt(&selection.topics, included, parts);
        let Manifest { parts, topics, time_margins, .. } = points_excerpt.manifest;
        let points = topics.into_iter().skip(bag.manifest.topics.len());
        let topics = bag.manifest.topics.into_iter().chain(points).collect();
        let manifest =
            Manifest { topics, parts, time_margins, format_state, ..bag.manifest };
        Ok(Excerpt { manifest, topics: points_excerpt.topics })
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

/// Reads the bag, and adds records of points for those of packets.
struct LidarCursor {
    cursor: Box<dyn Cursor>,
    block: Block,
    selection: Selection,
    lidars: Arc<[LidarTopic]>,
}

impl Cursor for LidarCursor {
    fn fill(&mut self, block: &mut Block) -> logtool_core::Result<bool> {
        if !self.cursor.fill(&mut self.block)? {
            return Ok(false);
        }
        reset_to(block, &self.block);
        self.block.damage().iter().for_each(|damage| block.report(damage.clone()));
        let records: Vec<Record<'_>> = self.block.iter().collect();
        let start = |record: &Record<'_>| place(&self.block, record.payload);
        let same_message = |a: &Record<'_>, b: &Record<'_>| {
            (a.topic, a.stream, a.time) == (b.topic, b.stream, b.time)
        };
        for message_records in records.chunk_by(same_message) {
            let sender = self
                .lidars
                .iter()
                .find(|s| message_records.iter().all(|r| r.topic == s.packets));
            let early =
                sender.map(|sender| before_last(message_records, &sender.lidar));
            for (index, record) in message_records.iter().enumerate() {
                let range = start(record)..start(record) + record.payload.len();
                let Record { topic, stream, time, .. } = *record;
                if self.selection.contains(topic, time) {
                    block.push_from_stream(topic, stream, time, range.clone());
                }
                let Some((sender, early)) = sender.zip(early.as_ref()) else {
                    continue;
                };
                let early = early.get(index).copied().unwrap_or(0);
                let time = Timestamp::from_nanos(time.as_nanos().saturating_sub(early));
                let times = sender.lidar.time_margin().extend(self.selection.time);
                if self.selection.topics.contains(sender.points) && times.contains(time)
                {
                    block.push_from_stream(sender.points, stream, time, range);
                }
            }
        }
        Ok(true)
    }
}

/// Returns how much earlier than the last packet of `message_records` each packet arrived, in
/// nanoseconds. `message_records` are packets of one message without stamps, which was sent when the last one
/// arrived.
fn before_last(message_records: &[Record<'_>], lidar: &Lidar) -> Vec<i64> {
    let mut early = vec![0; message_records.len()];
    let mut nanos = 0.0;
    for (early, record) in early.iter_mut().zip(message_records).rev() {
        *early = (nanos as i64).min(MAX_DELAY_NANOS);
        nanos += lidar.packet_nanos(record.payload);
    }
    early
}

/// Returns the offset of `payload`, which belongs to one of the records of `block`, in its bytes.
fn place(block: &Block, payload: &[u8]) -> usize {
    (payload.as_ptr() as usize).saturating_sub(block.bytes().as_ptr() as usize)
}

/// Resets `block` to the bytes of `other`, at the same offset of the file.
fn reset_to(block: &mut Block, other: &Block) {
    let bytes = other.bytes().clone();
    let mut origins = other
        .iter()
        .map(|record| record.offset.checked_sub(place(other, record.payload) as u64));
    let first = origins.next().flatten();
    match (first, other.get(0)) {
        // If all payloads have the same distance from their origin, the bytes are those of the
        // file.
        (Some(origin), _) if origins.all(|other| other == Some(origin)) => {
            block.reset(bytes, origin);
        }
        (_, record) => block.reset_decompressed(bytes, record.map_or(0, |r| r.offset)),
    }
}

#[cfg(test)]
mod tests;
