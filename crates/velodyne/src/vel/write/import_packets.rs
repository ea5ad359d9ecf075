//! Writes the packets of a capture or a bag as a `.vel` log.
//!
//! Each packet is a message of its own, so that it keeps its time. Where the log has Unix
//! time, the clock of the program starts at the last full second before the first packet,
//! and a `GPSTDataM` without a position states that second, because such a message has no
//! fraction of a second. Otherwise the clock starts at the last full millisecond.

use std::{
    borrow::Cow,
    io::{Seek, Write},
};

use logtool_core::{
    ClockZero, Damage, Error, ErrorKind, LogSlice, Manifest, Record, RecordSink,
    Result, Topic, TopicId, TopicOrigin, UnsupportedContent, WriteOptions,
};

use crate::{
    packet::DATA_BYTES,
    ros_scans,
    vel::{
        format_state::FORMAT_NAME,
        utc,
        wire::{Header, VALID, VERSION, kind},
        write::writer::{Writer, WriterOptions},
    },
};

/// The encoding of the topics whose records are data packets.
const ENCODING: &str = "velodyne";

/// The type of the topics of a capture whose records are data packets.
const TYPE_NAME: &str = "data packet";

const MILLISECOND: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;

/// Writes the packets of one lidar.
pub(crate) struct PacketImporter<W> {
    writer: Writer<W>,
    packets: TopicId,
    /// Whether the clock of the source log counts from 1970.
    is_unix: bool,
    /// The time at which the program clock is zero, on the clock of the source log. It is
    /// known after the first packet.
    program_start: Option<i64>,
    remarks: Vec<String>,
    /// The records in the topic of the packets that are not packets.
    dropped: Vec<Damage>,
}

impl<W: Write + Seek> PacketImporter<W> {
    /// Starts a log in `out` with the selected packets of the only element of `slices`.
    ///
    /// # Errors
    /// `Unsupported` unless there is exactly one slice with exactly one lidar, if
    /// packets have no time, or for `options` that the format does not support.
    pub(crate) fn new(
        out: W,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        let [LogSlice { manifest, selection }] = slices else {
            return Err(unsupported(
                "cannot write several logs as one .vel log; merge them first",
            ));
        };
        if options.compression.is_some() || !options.rename.is_empty() {
            let message = "cannot compress records or rename topics of a .vel log";
            return Err(unsupported(message));
        }
        let topics = manifest.topics().filter(|(id, topic)| {
            is_packets(manifest, topic)
                && selection.topics.contains(*id)
                && topic.records != Some(0)
        });
        let topics: Vec<(TopicId, &Topic)> = topics.collect();
        let [(packets, topic)] = topics[..] else {
            let name =
                |(_, topic): &(_, &Topic)| format!("{}.{}", topic.name, topic.instance);
            return Err(unsupported(if topics.is_empty() {
                "cannot write a .vel log without packets of a lidar".to_owned()
            } else {
                format!(
                    "cannot write several lidars as a .vel log, which has one lidar; \
                     select one of them: {}",
                    topics.iter().map(name).collect::<Vec<_>>().join(", ")
                )
            }));
        };
        // An index does not state the times of a single topic.
        let time = match topic.origin {
            TopicOrigin::Derived => topic.time.or(manifest.time),
            _ => topic.time,
        };
        let Some(time) = time else {
            let message = "cannot write packets without a time as a .vel log";
            return Err(unsupported(message));
        };
        let first = time.start.max(selection.time.start).as_nanos();
        let last = time.end.min(selection.time.end).as_nanos();
        let is_unix = manifest.clock.zero == ClockZero::Unix;
        let seconds = last.saturating_sub(program_start(first, is_unix)) / SECOND + 1;
        let seconds = u32::try_from(seconds).unwrap_or(1);
        let writer_options = WriterOptions { seconds, ..WriterOptions::default() };
        let writer = Writer::new(out, writer_options)?;
        let (program_start, remarks, dropped) = (None, Vec::new(), Vec::new());
        Ok(Self { writer, packets, is_unix, program_start, remarks, dropped })
    }

    /// Starts the program clock for a first packet at `nanos`. Writes a GPS message if the
    /// log has Unix time. Returns the start.
    fn start_program_clock(&mut self, nanos: i64) -> Result<i64> {
        let start = program_start(nanos, self.is_unix);
        self.program_start = Some(start);
        match utc::gps_message_at(start).filter(|_| self.is_unix) {
            Some(gps) => {
                self.writer.gps(0.0, gps)?;
                let text = "a GPS message without a position states the UTC time of the \
                            start";
                self.remarks.push(text.to_owned());
            }
            None => self.remarks.push("the log has no UTC reference".to_owned()),
        }
        Ok(start)
    }
}

/// Returns the start of the program clock for a first packet at `nanos`: the last full second
/// if that is Unix time, otherwise the last full millisecond.
fn program_start(nanos: i64, is_unix: bool) -> i64 {
    let unit = if is_unix { SECOND } else { MILLISECOND };
    nanos.div_euclid(unit).saturating_mul(unit)
}

/// Returns whether the records of `topic` are data packets: those of a capture, or those
/// in the messages of a bag.
fn is_packets(manifest: &Manifest, topic: &Topic) -> bool {
    manifest.format != FORMAT_NAME
        && topic.encoding == ENCODING
        && match topic.origin {
            TopicOrigin::Logged => topic.type_name == TYPE_NAME,
            TopicOrigin::Derived => topic.name.ends_with(ros_scans::PACKETS_SUFFIX),
            TopicOrigin::BuiltIn => false,
        }
}

/// Returns whether `slice` has packets that can be imported.
pub(crate) fn can_import(slice: &LogSlice<'_>) -> bool {
    let manifest = slice.manifest;
    manifest.topics.iter().any(|topic| is_packets(manifest, topic))
}

/// Returns the selected topics of `slice` that a `.vel` log cannot contain. The result
/// is empty if there are no packets, because `new` reports that as an error.
pub(crate) fn unsupported_content(slice: &LogSlice<'_>) -> Vec<UnsupportedContent> {
    if !can_import(slice) {
        return Vec::new();
    }
    let topics = slice.manifest.topics().filter(|(id, topic)| {
        topic.origin == TopicOrigin::Logged
            && slice.selection.topics.contains(*id)
            && !is_packets(slice.manifest, topic)
            && !ros_scans::has_packets(slice.manifest, topic)
    });
    let unsupported = topics.map(|(id, topic)| {
        let records = topic.records.unwrap_or(0);
        let noun = if records == 1 { "record" } else { "records" };
        let label = topic.label();
        let description =
            format!("{label}, {records} {noun}: a .vel log has no such messages");
        UnsupportedContent { topic: Some(id), description }
    });
    unsupported.collect()
}

impl<W: Write + Seek + Send> RecordSink for PacketImporter<W> {
    fn write(&mut self, slice_index: usize, record: Record<'_>) -> Result<()> {
        if slice_index != 0 || record.topic != self.packets {
            // `unsupported_content` has reported these topics.
            return Ok(());
        }
        if record.payload.len() != DATA_BYTES {
            record.undecodable_damage().add_to(&mut self.dropped);
            return Ok(());
        }
        let nanos = record.time.as_nanos();
        let start = match self.program_start {
            Some(start) => start,
            None => self.start_program_clock(nanos)?,
        };
        let millis = nanos.saturating_sub(start) as f64 / 1e6;
        let header =
            Header { validity: VALID, kind: kind::VELODYNE, version: VERSION, millis };
        self.writer.message(header, &[&1_u32.to_le_bytes(), record.payload])
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn dropped_records(&self, _: usize) -> &[Damage] {
        &self.dropped
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish().map(drop)
    }
}

fn unsupported(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}
