//! Creates the manifest from the results of the index pass.

use std::collections::BTreeMap;

use logtool_core::{
    Clock, ClockZero, DamageKind, LogAccess, Manifest, MetadataKey, PositionUnit,
    Result, TimeRange, Topic, TopicId, Value, WindowReader,
};

use crate::{
    lidar::{Lidar, LidarOptions, VALIDITY_WARNING},
    vel::{
        build_manifest::{
            ManifestBuilder,
            quaternion_order::QUATERNION_ORDER,
            stats::{GpsStats, Stats, TopicStats, ValidityStats},
        },
        decode::{points, topics::TopicKind},
        format_state::{FORMAT_NAME, FormatState},
        program_clock,
        second_index::IndexStatus,
        wire::{VALID, VALID_DIGIT},
    },
};

impl ManifestBuilder {
    /// Returns the manifest of the log and its private state.
    pub(super) fn finish(
        mut self,
        window: &mut WindowReader<'_>,
        lidar_options: &LidarOptions,
    ) -> Result<(Manifest, FormatState)> {
        let index = self.seconds.verify(self.header.entries, self.start.at, window)?;
        let end = self.classifier.end;
        let to_unix = self.stats.gps().times.clone().fit();
        let anomalies = self.anomalies(index, to_unix.is_some());
        let mut lidar = self.probe.finish().finish(lidar_options);
        if let Some(lidar) = &mut lidar {
            lidar.compare_clocks(to_unix.as_ref().map(|fit| fit.offset_nanos));
            if let Some(fit) = to_unix.as_ref().filter(|_| lidar_options.utc) {
                lidar.use_own_clock(fit.offset_nanos, true, lidar_options.clock);
            }
        }
        let mut manifest = Manifest {
            format: FORMAT_NAME.into(),
            bytes: end,
            access: LogAccess::Scanned,
            topics: self.message_topics()?,
            streams: Vec::new(),
            parts: Vec::new(),
            time_margins: BTreeMap::new(),
            oldest: None,
            clock: Clock { zero: ClockZero::ProgramStart, to_unix },
            time: self.time(),
            metadata: self.metadata(index),
            damage: self.damage.clone(),
            remarks: anomalies.iter().map(|anomaly| anomaly.text.clone()).collect(),
            format_state: String::new(),
        };
        manifest.parts = self.parts.finish(end);
        let packets = self.topics.iter().position(|kind| *kind == TopicKind::Packets);
        let packets = packets.map(|index| TopicId(index as u32));
        let points = packets.zip(lidar.as_ref()).and_then(|(packets, lidar)| {
            self.stats.add_points(packets, lidar, &mut manifest)
        });
        let format_state = FormatState {
            version: (self.header.major, self.header.minor),
            size_field: self.start.size_field,
            index,
            messages: (self.start.at, self.messages_end),
            has_end_mark: self.has_end_mark,
            damage: self.damage,
            valid: self.stats.valid_byte(),
            broken: self.broken,
            topics: self.topics,
            points,
            lidar,
            scans: None,
            anomalies,
        };
        manifest.format_state = Manifest::encode_state(&format_state)?;
        Ok((manifest, format_state))
    }

    /// Returns the topics of the messages.
    fn message_topics(&self) -> Result<Vec<Topic>> {
        let topics = self.topics.iter().zip(&self.stats.topics);
        let topics = (0..).map(TopicId).zip(topics).map(|(id, (kind, stats))| {
            let times = self.seconds.topic(id);
            let mut topic = kind.topic()?;
            topic.records = Some(stats.records);
            topic.bytes = Some(stats.bytes);
            topic.time = times.range.map(time_range);
            topic.implausible_times = times.outliers;
            self.stats.add_metadata(*kind, stats, &mut topic);
            Ok(topic)
        });
        topics.collect()
    }

    fn metadata(&self, index: IndexStatus) -> BTreeMap<String, Value> {
        let bytes = self.start.size_field.header_bytes();
        let [messages_if_17, messages_if_21] = self.start.consecutive_messages;
        let size_field = format!(
            "includes {bytes} bytes of header ({messages_if_17} consecutive messages if \
             it is 17, {messages_if_21} if it is 21)"
        );
        let format_entries = |entries: u64| match entries {
            1 => "1 entry".to_owned(),
            _ => format!("{entries} entries"),
        };
        let declared = format_entries(self.header.entries.into());
        let rebuilt = format_entries(self.seconds.len());
        let index = match index {
            IndexStatus::Verified => format!("verified, {declared}"),
            IndexStatus::Missing => format!("missing; rebuilt, {rebuilt}"),
            IndexStatus::Short => format!("short, {declared}; rebuilt, {rebuilt}"),
            IndexStatus::Unsorted => format!("unsorted; rebuilt, {rebuilt}"),
            IndexStatus::Stale => format!("stale, {declared}; rebuilt, {rebuilt}"),
        };
        let is_truncated = self.damage.last().is_some_and(|damage| {
            damage.bytes.end == self.classifier.end
                && damage.kind == DamageKind::Truncated
        });
        let end = match (self.has_end_mark, is_truncated) {
            (true, _) => "0xffffffff",
            (false, true) => "inside a message",
            (false, false) => "end of the file",
        };
        let version = format!("{}.{}", self.header.major, self.header.minor);
        BTreeMap::from([
            (MetadataKey::FormatVersion.into(), Value::Text(version)),
            (MetadataKey::SizeField.into(), Value::Text(size_field)),
            (MetadataKey::Index.into(), Value::Text(index)),
            (MetadataKey::End.into(), Value::Text(end.into())),
            (MetadataKey::Packets.into(), Value::UInt(self.stats.packets)),
        ])
    }

    /// Returns the range of the accepted times.
    fn time(&self) -> Option<TimeRange> {
        self.seconds.range().map(time_range)
    }
}

/// Returns the time range from `earliest` to `latest`, in milliseconds.
fn time_range((earliest, latest): (f64, f64)) -> TimeRange {
    let timestamp_range =
        |millis| TimeRange::from_timestamp(program_clock::from_millis(millis));
    timestamp_range(earliest).cover(&timestamp_range(latest))
}

impl Stats {
    /// Returns the validity byte of valid messages.
    pub(super) fn valid_byte(&self) -> u8 {
        if self.marked_valid.messages == 0 && self.marked_digit.messages > 0 {
            VALID_DIGIT
        } else {
            VALID
        }
    }

    /// Returns the statistics of valid GPS messages.
    pub(super) fn gps(&self) -> &GpsStats {
        if self.valid_byte() == VALID { &self.gps } else { &self.gps_digit }
    }

    /// Returns the statistics of valid messages.
    fn valid_messages(&self) -> ValidityStats {
        if self.valid_byte() == VALID { self.marked_valid } else { self.marked_digit }
    }

    /// Returns the number of invalid messages that have packets.
    fn invalid_with_packets(&self) -> u64 {
        match self.valid_byte() {
            VALID => self.marked_digit.with_packets + self.marked_other.with_packets,
            _ => self.marked_other.with_packets,
        }
    }

    /// Adds the topic of the points of `lidar`, which is derived from the topic
    /// `packets`, to `manifest`.
    fn add_points(
        &self,
        packets: TopicId,
        lidar: &Lidar,
        manifest: &mut Manifest,
    ) -> Option<TopicId> {
        let topic = lidar.topic(manifest.topics.get(packets.index())?);
        let mut metadata = topic.metadata;
        let dropped = self.invalid_with_packets();
        if dropped > 0 {
            let messages = if dropped == 1 { "message" } else { "messages" };
            let description = format!(
                "made without {dropped} {messages} of packets that are not marked valid"
            );
            metadata.insert(VALIDITY_WARNING.to_owned(), description);
        }
        let valid = self.valid_messages();
        let id = TopicId(manifest.topics.len() as u32);
        manifest.topics.push(Topic {
            records: Some(valid.with_packets),
            bytes: Some(valid.bytes_with_packets),
            metadata,
            ..topic
        });
        let parts = manifest.parts.iter_mut();
        let with_packets = parts.filter(|part| part.topics.contains(packets));
        with_packets.for_each(|part| part.topics.insert(id));
        manifest.time_margins.insert(id, points::time_margin(lidar, self.max_packets));
        manifest.remarks.extend(lidar.warnings());
        Some(id)
    }

    /// Adds the properties of the messages of `kind` to the metadata of `topic`.
    fn add_metadata(&self, kind: TopicKind, stats: &TopicStats, topic: &mut Topic) {
        let has_invalid = match self.valid_byte() {
            VALID => stats.marked_digit + stats.marked_other > 0,
            _ => stats.marked_other > 0,
        };
        if has_invalid {
            topic.set_valid_row_value(self.valid_byte());
        }
        match kind {
            TopicKind::Pose => {
                if let Some(order) = self.attitudes.describe_order() {
                    topic.metadata.insert(QUATERNION_ORDER.to_owned(), order);
                }
            }
            TopicKind::Gps => {
                topic.set_position_unit(if self.gps().positions.are_in_minutes() {
                    PositionUnit::DegreesAndMinutes
                } else {
                    PositionUnit::Degrees
                });
            }
            _ => {}
        }
    }
}
