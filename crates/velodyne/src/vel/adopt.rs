//! Writing the packets of a capture as a `.vel` log.
//!
//! Each packet is a message of its own, so that it keeps its time. The program starts
//! with the first packet, at the full millisecond before it; and where the capture tells
//! Unix time, a `GPSTDataM` without a position says when that was.

use std::{
    borrow::Cow,
    io::{Seek, Write},
};

use logtool_core::{
    ClockZero, Error, ErrorKind, Extract, LeftOut, Record, RecordSink, Result, Topic,
    TopicId, TopicOrigin, WriteOptions,
};

use crate::{
    packet::DATA_BYTES,
    vel::{
        utc,
        wire::{Header, VALID, VERSION, kind},
        write::{Writer, WriterOptions},
    },
};

/// The encoding and the type of the topics whose records are data packets.
const ENCODING: &str = "velodyne";
const TYPE_NAME: &str = "data packet";

const MILLISECOND: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;

/// Writes the packets of one lidar.
pub(crate) struct Adopter<W> {
    writer: Writer<W>,
    packets: TopicId,
    /// The start of the program, on the clock of the capture.
    start: i64,
    remarks: Vec<String>,
}

impl<W: Write + Seek> Adopter<W> {
    /// Starts a log in `out` of the packets that are wanted of the only one of
    /// `extracts`.
    ///
    /// # Errors
    /// `Unsupported` if there are several extracts or lidars, or none, if packets have
    /// no time, or for `options` that a `.vel` log cannot follow.
    pub(crate) fn new(
        out: W,
        extracts: &[Extract<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        let [Extract { manifest, selection }] = extracts else {
            return Err(unsupported(
                "several captures as one .vel log: merge them first",
            ));
        };
        if options.compression.is_some() || !options.rename.is_empty() {
            let what =
                "a .vel log has no compressed records, and no new names of topics";
            return Err(unsupported(what));
        }
        let wanted = manifest.topics().filter(|(id, topic)| {
            is_packets(topic)
                && selection.topics.contains(*id)
                && topic.records != Some(0)
        });
        let wanted: Vec<(TopicId, &Topic)> = wanted.collect();
        let [(packets, topic)] = wanted[..] else {
            return Err(unsupported(match wanted.is_empty() {
                true => "there are no packets of a lidar for a .vel log",
                false => {
                    "a .vel log holds the packets of one lidar, and here are several: \
                     choose with --topic"
                }
            }));
        };
        let Some(time) = topic.time else {
            let what = "packets without a time as a .vel log";
            return Err(unsupported(what));
        };
        let first = time.start.max(selection.time.start).as_nanos();
        let last = time.end.min(selection.time.end).as_nanos();
        let start = first.div_euclid(MILLISECOND).saturating_mul(MILLISECOND);
        let seconds = last.saturating_sub(start) / SECOND + 1;
        let seconds = u32::try_from(seconds).unwrap_or(1);
        let as_usual = WriterOptions { seconds, ..WriterOptions::default() };
        let mut writer = Writer::new(out, as_usual)?;
        let mut remarks = Vec::new();
        if manifest.clock.zero == ClockZero::Unix
            && let Some(gps) = utc::gps_of(start)
        {
            writer.gps(0.0, gps)?;
            let text =
                "a message of gps without a position says when the first packet was";
            remarks.push(text.to_owned());
        } else {
            remarks.push("nothing says when it was".to_owned());
        }
        Ok(Self { writer, packets, start, remarks })
    }
}

/// Whether the records of `topic` are data packets.
fn is_packets(topic: &Topic) -> bool {
    topic.origin == TopicOrigin::Logged
        && topic.encoding == ENCODING
        && topic.type_name == TYPE_NAME
}

/// Whether `extract` is of a log whose packets can be taken.
pub(crate) fn takes(extract: &Extract<'_>) -> bool {
    extract.manifest.topics.iter().any(is_packets)
}

/// What of `extract` a `.vel` log has no place for.
pub(crate) fn leaves_out(extract: &Extract<'_>) -> Vec<LeftOut> {
    let wanted = extract.manifest.topics().filter(|(id, topic)| {
        topic.origin == TopicOrigin::Logged
            && extract.selection.topics.contains(*id)
            && !is_packets(topic)
    });
    let left = wanted.map(|(id, topic)| {
        let records = topic.records.unwrap_or(0);
        let some = if records == 1 { "record" } else { "records" };
        let label = topic.label();
        let what =
            format!("{label}, {records} {some}: a .vel log has no such messages");
        LeftOut { topic: Some(id), what }
    });
    left.collect()
}

impl<W: Write + Seek + Send> RecordSink for Adopter<W> {
    fn write(&mut self, from: usize, record: Record<'_>) -> Result<()> {
        if from != 0 || record.topic != self.packets {
            // `leaves_out` has told so.
            return Ok(());
        }
        if record.payload.len() != DATA_BYTES {
            return Err(Error::new(ErrorKind::Malformed, "a packet of another length"));
        }
        let millis = record.time.as_nanos().saturating_sub(self.start) as f64 / 1e6;
        let header =
            Header { validity: VALID, kind: kind::VELODYNE, version: VERSION, millis };
        self.writer.message(header, &[&1_u32.to_le_bytes(), record.payload])
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish().map(drop)
    }
}

fn unsupported(what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Unsupported, what)
}
