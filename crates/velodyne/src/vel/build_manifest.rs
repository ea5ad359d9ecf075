//! Builds the manifest in one pass over all messages: topics, parts and damage.
//!
//! The index only contains the starts of seconds, so the pass reads the header of each
//! message, and verifies the index on the way. It skips the data, except UTC times in GPS
//! messages and a few other fields.

mod anomalies;
mod background_probe;
mod finish;
mod header_read_ahead;
mod part_splitter;
mod position_unit;
pub(crate) mod quaternion_order;
mod stats;

use std::sync::Arc;

use bytes::Bytes;
use logtool_core::{
    Damage, DamageKind, Error, ErrorKind, Manifest, OpenOptions, Result, Source,
    TopicId, WindowReader,
};

use crate::{
    lidar::LidarOptions,
    packet::Firings,
    vel::{
        build_manifest::{
            background_probe::BackgroundProbe,
            header_read_ahead::{EXAMINED_BYTES, HeaderReadAhead},
            part_splitter::PartSplitter,
            stats::Stats,
        },
        classifier::{
            Classification, MessageClassifier, MessageExtent, is_plausible_time,
        },
        decode::topics::TopicKind,
        first_message::{self, LogStart},
        format_state::{BrokenMessage, FormatState},
        program_clock,
        second_index::SecondIndex,
        wire::{
            self, COUNT_LEN, FILE_HEADER_LEN, FORMAT_VERSION, FileHeader, HEADER_LEN,
            Header, MAGIC, PACKET_LEN, SIZE_LEN, VERSION, kind,
        },
    },
};

/// The maximum number of damaged ranges, and of broken messages. After that many, no further
/// message is searched for.
const MAX_DAMAGED: usize = 1 << 16;

/// The maximum number of unknown types with topics of their own.
const MAX_RAW_TOPICS: usize = 1 << 10;

/// The position of the first packet in a message of packets.
const FIRST_PACKET: u64 = (HEADER_LEN + COUNT_LEN) as u64;

/// Builds the manifest of the `.vel` log in `source`.
pub(crate) fn build_manifest(
    source: &Arc<dyn Source>,
    options: OpenOptions,
    lidar: &LidarOptions,
) -> Result<(Manifest, FormatState)> {
    let mut window = WindowReader::new(source);
    let bytes = window.read_at(0, FILE_HEADER_LEN)?;
    let parsed_header = wire::file_header(&bytes);
    let header = match parsed_header {
        Some(header) => header,
        // The messages can be read without the header and the index.
        None if options.is_format_given => {
            let (major, minor) = FORMAT_VERSION;
            FileHeader { major, minor, entries: 0 }
        }
        None if bytes.starts_with(&MAGIC) => {
            let message = "the file ends before the index";
            return Err(Error::new(ErrorKind::Malformed, message).with_offset(0));
        }
        None => {
            return Err(
                Error::new(ErrorKind::Unrecognized, "not a .vel log").with_offset(0)
            );
        }
    };
    let start = first_message::find(header, source.len(), &mut window)?;
    let mut builder = ManifestBuilder::new(header, start, source, options)?;
    if parsed_header.is_none() {
        let lost = Damage::new(DamageKind::Garbled, 0..start.at.min(source.len()));
        builder.damage.push(lost.with_reason("the header and the index are damaged"));
    }
    builder.scan(&mut window)?;
    builder.finish(&mut window, lidar)
}

/// The state of the index pass.
struct ManifestBuilder {
    header: FileHeader,
    start: LogStart,
    classifier: MessageClassifier,
    /// The maximum length of a message that becomes a record.
    max_record_len: u64,
    topics: Vec<TopicKind>,
    stats: Stats,
    probe: BackgroundProbe,
    read_ahead: HeaderReadAhead,
    seconds: SecondIndex,
    parts: PartSplitter,
    damage: Vec<Damage>,
    broken: Vec<BrokenMessage>,
    has_end_mark: bool,
    /// The position of the first message after the end mark, if there is one.
    trailing_message: Option<u64>,
    /// The end of the last message.
    messages_end: u64,
    /// The start and the result of the last search for a message.
    last_search: Option<(u64, Option<u64>)>,
}

impl ManifestBuilder {
    fn new(
        header: FileHeader,
        start: LogStart,
        source: &Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Self> {
        let classifier =
            MessageClassifier { size_field: start.size_field, end: source.len() };
        Ok(Self {
            header,
            start,
            classifier,
            max_record_len: options.record_bytes.max(options.block_bytes).into(),
            topics: Vec::new(),
            stats: Stats::default(),
            probe: BackgroundProbe::new(source),
            read_ahead: HeaderReadAhead::new(source, classifier, start)?,
            seconds: SecondIndex::default(),
            parts: PartSplitter::new(start.at),
            damage: Vec::new(),
            broken: Vec::new(),
            has_end_mark: false,
            trailing_message: None,
            messages_end: start.at,
            last_search: None,
        })
    }

    /// Reads all messages.
    fn scan(&mut self, window: &mut WindowReader<'_>) -> Result<()> {
        let (mut at, end) = (self.start.at, self.classifier.end);
        while at < end {
            let bytes = self.first_bytes(at, window)?;
            if bytes.is_empty() {
                // The source has become shorter.
                self.damage.push(Damage::new(DamageKind::Truncated, at..end));
                break;
            }
            at = match self.classifier.classify(at, &bytes) {
                Classification::EndMark => {
                    self.has_end_mark = true;
                    // Messages after the mark are only reported: the log ends at the mark.
                    let mark_end = at + SIZE_LEN as u64;
                    self.trailing_message =
                        self.classifier.find_next(mark_end, window)?;
                    break;
                }
                Classification::Message(message)
                    if self.is_valid(at, &message, window)? =>
                {
                    self.record_message(at, &message, &bytes, window)?;
                    at + message.len
                }
                Classification::Anomalous(message)
                    if self.classifier.leads_to_message(at, &message, window)? =>
                {
                    self.record_message(at, &message, &bytes, window)?;
                    at + message.len
                }
                Classification::Truncated(message)
                    if message.fits && self.find_next(at + 1, window)?.is_none() =>
                {
                    let complete_packets = match TopicKind::for_message(&message) {
                        TopicKind::Packets => packets_in(end - at),
                        _ => 0,
                    };
                    let readable_end = self.record_broken(
                        at,
                        message.header,
                        complete_packets,
                        window,
                    )?;
                    let lost = readable_end..end;
                    self.damage.push(Damage::new(DamageKind::Truncated, lost));
                    end
                }
                classification => self.record_damage(at, classification, window)?,
            };
            self.messages_end = at;
        }
        Ok(())
    }

    /// Returns the first bytes at `at`: [`EXAMINED_BYTES`] bytes if the file has them.
    fn first_bytes(&mut self, at: u64, window: &mut WindowReader<'_>) -> Result<Bytes> {
        // Until the lidar is identified, each message is read completely.
        let read_ahead = if self.probe.is_enough() {
            self.read_ahead.first_bytes_at(at, self.stats.messages())
        } else {
            None
        };
        read_ahead.map_or_else(|| window.read_at(at, EXAMINED_BYTES), Ok)
    }

    /// Returns whether `message` is valid: its data has the expected length, or no other
    /// message starts inside it and something follows it. A message that contains others
    /// has a wrong size.
    fn is_valid(
        &mut self,
        at: u64,
        message: &MessageExtent,
        window: &mut WindowReader<'_>,
    ) -> Result<bool> {
        let end = at + message.len;
        Ok(message.fits
            || self.classifier.continues_at(end, window)?
                && self.find_next(at + 1, window)?.is_none_or(|next| next >= end))
    }

    /// Returns the position of the next message at or after `start`. The result is cached, so
    /// that no range is searched twice.
    fn find_next(
        &mut self,
        start: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<Option<u64>> {
        if self.damage.len() >= MAX_DAMAGED {
            return Ok(None);
        }
        if let Some((last_start, next)) = self.last_search
            && last_start <= start
            && next.is_none_or(|next| next >= start)
        {
            return Ok(next);
        }
        let next = self.classifier.find_next(start, window)?;
        self.last_search = Some((start, next));
        Ok(next)
    }

    /// Records the `message` at `at`, whose first bytes are `bytes`.
    fn record_message(
        &mut self,
        at: u64,
        message: &MessageExtent,
        bytes: &[u8],
        window: &mut WindowReader<'_>,
    ) -> Result<()> {
        let is_record = message.len <= self.max_record_len;
        let topic = is_record.then(|| self.topic(TopicKind::for_message(message)));
        let starts_second = self.seconds.add(topic, message.header.millis, at);
        self.parts.start_message(at, starts_second);
        let Some(topic) = topic else {
            let lost = Damage::new(DamageKind::OverLimit, at..at + message.len);
            self.damage.push(lost.with_records(1, None));
            return Ok(());
        };
        let time = program_clock::from_millis(message.header.millis);
        let data = bytes.get(HEADER_LEN..).unwrap_or_default();
        let kind = self.topics.get(topic.index()).copied();
        self.stats.add_message(topic, kind, message, data);
        self.parts.add_record(topic, time);
        if matches!(kind, Some(TopicKind::Image | TopicKind::Packets)) {
            let declared = wire::declared_len(message.header.kind, data);
            self.stats.wrong_lengths += u64::from(declared != Some(message.data_len()));
        }
        if kind == Some(TopicKind::Packets) {
            self.probe_packets(at, message.len, message, window)?;
        }
        Ok(())
    }

    /// Passes the packets of the `message` at `at` to the probe until the lidar is
    /// identified. `len` is the number of bytes up to the end of the last complete packet.
    fn probe_packets(
        &mut self,
        at: u64,
        len: u64,
        message: &MessageExtent,
        window: &mut WindowReader<'_>,
    ) -> Result<()> {
        if !self.probe.is_enough() {
            let len = usize::try_from(len).unwrap_or(0);
            let mut data = window.read_at(at, len)?;
            data.truncate(len);
            let data = data.split_off(HEADER_LEN.min(data.len()));
            let time = program_clock::from_millis(message.header.millis);
            self.probe.add(data, at + HEADER_LEN as u64, time);
        }
        Ok(())
    }

    /// Records the broken message at `at` with this number of complete packets. Returns
    /// the end of the last packet, or `at` if there are none.
    fn record_broken(
        &mut self,
        at: u64,
        header: Header,
        packets: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<u64> {
        let len = FIRST_PACKET + packets * PACKET_LEN as u64;
        let is_over_limit =
            len > self.max_record_len || self.broken.len() >= MAX_DAMAGED;
        if packets == 0 || is_over_limit {
            return Ok(at);
        }
        let message = MessageExtent { header, len, fits: false };
        let topic = self.topic(TopicKind::Packets);
        let starts_second = self.seconds.add(Some(topic), header.millis, at);
        self.parts.start_message(at, starts_second);
        let bytes = window.read_at(at, EXAMINED_BYTES)?;
        let data = bytes.get(HEADER_LEN..).unwrap_or_default();
        self.stats.add_message(topic, Some(TopicKind::Packets), &message, data);
        self.parts.add_record(topic, program_clock::from_millis(header.millis));
        self.broken.push(BrokenMessage { at, len });
        self.probe_packets(at, len, &message, window)?;
        Ok(at + len)
    }

    /// Records the damage at `at`, and returns the position at which reading continues.
    /// Packets of a message with a wrong size are read.
    fn record_damage(
        &mut self,
        at: u64,
        classification: Classification,
        window: &mut WindowReader<'_>,
    ) -> Result<u64> {
        let end = self.classifier.end;
        let next = self.find_next(at + 1, window)?;
        let is_truncated = next.is_none()
            && (matches!(classification, Classification::Truncated(_))
                || end - at < HEADER_LEN as u64);
        let kind =
            if is_truncated { DamageKind::Truncated } else { DamageKind::Garbled };
        let next = next.unwrap_or(end);
        let readable_end = match self.plausible_packets(at, next, window)? {
            Some((header, packets)) => {
                self.record_broken(at, header, packets, window)?
            }
            None => at,
        };
        if readable_end == next {
            // All packets are complete: only the size is wrong.
            self.stats.wrong_lengths += 1;
        } else {
            self.damage.push(Damage::new(kind, readable_end..next));
        }
        Ok(next)
    }

    /// Returns the header at `at` if it is that of a message of packets, and the number
    /// of plausible packets between it and `next`.
    fn plausible_packets(
        &self,
        at: u64,
        next: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<Option<(Header, u64)>> {
        let bytes = window.read_at(at, HEADER_LEN)?;
        let Some((_, header)) = wire::message(&bytes).filter(|(_, header)| {
            header.kind == kind::VELODYNE
                && header.version == VERSION
                && is_plausible_time(header.millis)
        }) else {
            return Ok(None);
        };
        let max_packets = packets_in(next - at);
        let mut packets = 0;
        while packets < max_packets {
            let packet_at = at + FIRST_PACKET + packets * PACKET_LEN as u64;
            let packet = window.peek(packet_at, PACKET_LEN)?;
            if !Firings::new(&packet)
                .is_some_and(|packet| packet.headers().is_plausible())
            {
                break;
            }
            packets += 1;
        }
        Ok(Some((header, packets)))
    }

    /// Returns the id of the topic of messages of `kind`. Adds the topic if it is new.
    fn topic(&mut self, kind: TopicKind) -> TopicId {
        let is_raw = |kind: &TopicKind| matches!(kind, TopicKind::Raw { .. });
        let index = self.topic_index(kind).unwrap_or_else(|| {
            let raw_topics = self.topics.iter().filter(|kind| is_raw(kind));
            let kind = if is_raw(&kind) && raw_topics.count() >= MAX_RAW_TOPICS {
                TopicKind::OtherRaw
            } else {
                kind
            };
            self.topic_index(kind).unwrap_or_else(|| {
                self.topics.push(kind);
                self.topics.len() - 1
            })
        });
        TopicId(index as u32)
    }

    fn topic_index(&self, kind: TopicKind) -> Option<usize> {
        self.topics.iter().position(|other| *other == kind)
    }
}

/// Returns the number of complete packets in a message of packets of `len` bytes.
fn packets_in(len: u64) -> u64 {
    len.saturating_sub(FIRST_PACKET) / PACKET_LEN as u64
}
