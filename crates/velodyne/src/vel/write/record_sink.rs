//! Copies the records of `.vel` logs to a new log without loss.

use std::io::{Seek, Write};

use logtool_core::{
    Error, ErrorKind, LogSlice, Manifest, Part, Record, RecordSink, Result, Source,
    TimeRange, WriteOptions,
};

use crate::vel::{
    classifier::{CLASSIFIED_BYTES, Classification, MessageClassifier},
    format_state::{FORMAT_NAME, FormatState},
    wire::{self, PREFIX_LEN, SIZE_LEN, SizeField, kind},
    write::writer::{Writer, WriterOptions},
};

/// The number of bytes that are copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// Writes records of one or several `.vel` logs.
pub(crate) struct VelSink<W> {
    writer: Writer<W>,
    size_field: SizeField,
    source_logs: Vec<SourceLog>,
}

/// A log whose records are written.
struct SourceLog {
    format_state: FormatState,
    /// The length of the file.
    end: u64,
}

impl<W: Write + Seek> VelSink<W> {
    /// Starts a log in `out` for the selected records of `slices`. The times of all
    /// slices must count from the same start. The version, the size field and the end mark
    /// are those of the first one.
    ///
    /// # Errors
    /// `Unsupported` if a slice has another format, or for `options` that the format
    /// does not support.
    pub(crate) fn new(
        out: W,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        let unsupported = |subject: &str| {
            let message = format!("cannot write {subject} as a .vel log");
            Err(Error::new(ErrorKind::Unsupported, message))
        };
        if options.compression.is_some() {
            return unsupported("compressed records");
        }
        if !options.rename.is_empty() {
            return unsupported("renamed topics");
        }
        if options.changes_times {
            return unsupported("records at times other than those in the records");
        }
        let mut source_logs = Vec::new();
        for LogSlice { manifest, .. } in slices {
            if manifest.format != FORMAT_NAME {
                let message = format!(
                    "cannot write this {} log as a .vel log: {}",
                    manifest.format,
                    missing_packets(manifest)
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            let format_state: FormatState = manifest.decode_state(FORMAT_NAME)?;
            source_logs.push(SourceLog { format_state, end: manifest.bytes });
        }
        let Some(SourceLog { format_state, .. }) = source_logs.first() else {
            return unsupported("an empty list of logs");
        };
        let writer_options = WriterOptions {
            version: format_state.version,
            size_field: format_state.size_field,
            has_end_mark: format_state.has_end_mark,
            seconds: max_seconds(slices),
        };
        let size_field = format_state.size_field;
        let writer = Writer::new(out, writer_options)?;
        Ok(Self { writer, size_field, source_logs })
    }
}

/// Returns the reason why the log of `manifest` cannot be written: its warnings if nothing
/// could be read, otherwise that it has no packets.
fn missing_packets(manifest: &Manifest) -> String {
    if manifest.topics.is_empty() && !manifest.remarks.is_empty() {
        manifest.remarks.join("; ")
    } else {
        "it has no packets of lidars".to_owned()
    }
}

impl SourceLog {
    /// Returns whether `record` is a broken message.
    fn is_broken(&self, record: &Record<'_>) -> bool {
        let at = record.offset.checked_sub(SIZE_LEN as u64);
        at.is_some_and(|at| self.format_state.broken_at(at).is_some())
    }

    /// Returns whether every byte between `start` and `end` belongs to a complete message.
    fn is_sound(&self, start: u64, end: u64) -> bool {
        // Damaged ranges are sorted and do not overlap.
        let damage = &self.format_state.damage;
        let count_before = damage.partition_point(|range| range.bytes.start < end);
        let last = count_before.checked_sub(1).and_then(|index| damage.get(index));
        !self.format_state.has_broken(start, end)
            && last.is_none_or(|range| range.bytes.end <= start)
    }
}

impl<W: Write + Seek + Send> RecordSink for VelSink<W> {
    fn write(&mut self, slice_index: usize, record: Record<'_>) -> Result<()> {
        let has_topic = |source_log: &&SourceLog| {
            record.topic.index() < source_log.format_state.topics.len()
        };
        let source_log = self.source_logs.get(slice_index).filter(has_topic);
        let Some(source_log) = source_log else {
            let message = format!("the log has no topic with id {}", record.topic.0);
            return Err(Error::new(ErrorKind::NoSuch, message));
        };
        let header = wire::header(record.payload);
        let (Some(header), Some(data)) = (header, record.payload.get(PREFIX_LEN..))
        else {
            let message = "a message is too short for its header";
            return Err(Error::new(ErrorKind::Malformed, message));
        };
        if source_log.is_broken(&record) && header.kind == kind::VELODYNE {
            // The declared count of a broken message includes the packets that are lost.
            let packets = wire::packets(data);
            let count = u32::try_from(packets.len()).unwrap_or(u32::MAX);
            let data: [&[u8]; 2] = [&count.to_le_bytes(), packets.as_flattened()];
            return self.writer.message(header, &data);
        }
        self.writer.message(header, &[data])
    }

    fn copies_parts(&self, slice_index: usize) -> bool {
        let source_log = self.source_logs.get(slice_index);
        source_log.is_some_and(|source_log| {
            source_log.format_state.size_field == self.size_field
        })
    }

    fn copy_part_verbatim(
        &mut self,
        slice_index: usize,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<u64>> {
        let Some(source_log) = self.source_logs.get(slice_index) else {
            return Ok(None);
        };
        let start = part.bytes.start.max(source_log.format_state.messages.0);
        let end = part.bytes.end.min(source_log.format_state.messages.1).max(start);
        if !self.copies_parts(slice_index) || !source_log.is_sound(start, end) {
            return Ok(None);
        }
        let classifier =
            MessageClassifier { size_field: self.size_field, end: source_log.end };
        let (mut at, mut records) = (start, 0);
        while at < end {
            let first_bytes = source.read_at(at..at + CLASSIFIED_BYTES as u64)?;
            let (Classification::Message(message) | Classification::Anomalous(message)) =
                classifier.classify(at, &first_bytes)
            else {
                return Err(Error::new(ErrorKind::Malformed, "the file has changed")
                    .with_offset(at));
            };
            let new_position = self.writer.position() + (at - start);
            self.writer.add_to_index(message.header.millis, new_position);
            records += 1;
            at += message.len;
        }
        let mut at = start;
        while at < end {
            let bytes = source.read_at(at..end.min(at + COPY_BYTES))?;
            if bytes.is_empty() {
                return Err(Error::new(ErrorKind::Io, "the file has become shorter")
                    .with_offset(at));
            }
            self.writer.write_bytes(&bytes)?;
            at += bytes.len() as u64;
        }
        Ok(Some(records))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish().map(drop)
    }
}

/// Returns an upper bound of the duration of the selected records of `slices`, in
/// seconds.
fn max_seconds(slices: &[LogSlice<'_>]) -> u32 {
    let mut time = TimeRange::EMPTY;
    for LogSlice { manifest, selection } in slices {
        let topics = manifest.topics().filter(|(id, _)| selection.topics.contains(*id));
        let topic_times = topics.filter_map(|(_, topic)| topic.time);
        let topics_time =
            topic_times.fold(TimeRange::EMPTY, |all, next| all.cover(&next));
        // Times of messages may be outliers, which the time range of the log does not
        // include.
        let log_time = manifest.time.unwrap_or(TimeRange::EMPTY);
        let start = topics_time.start.max(log_time.start).max(selection.time.start);
        let end = topics_time.end.min(log_time.end).min(selection.time.end);
        time = time.cover(&TimeRange { start, end });
    }
    if time.is_empty() {
        0
    } else {
        u32::try_from(time.span_nanos() / 1_000_000_000 + 1).unwrap_or(u32::MAX)
    }
}
