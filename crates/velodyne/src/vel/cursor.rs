//! Reads the records of a part.

use std::sync::Arc;

use logtool_core::{
    Block, Cursor, DamagedRangeCursor, RecordScanner, Result, ScanStep, Selection,
    TimeMargin, TimeRange,
};

use crate::{
    changed_file::changed_bytes,
    vel::{
        classifier::{
            CLASSIFIED_BYTES, Classification, MessageClassifier, MessageExtent,
        },
        decode::topics::TopicKind,
        format_state::FormatState,
        program_clock,
        wire::{self, HEADER_LEN, SIZE_LEN},
    },
};

/// Reads one part of a `.vel` log.
pub(crate) struct VelCursor {
    scanner: RecordScanner,
    reader: MessageReader,
}

struct MessageReader {
    format_state: Arc<FormatState>,
    classifier: MessageClassifier,
    selection: Selection,
    /// The times of messages that may contain selected points.
    message_times_of_points: TimeRange,
    /// The next damaged range.
    damage_cursor: DamagedRangeCursor,
}

impl VelCursor {
    /// Creates a cursor for the range of `scanner` in a file of `end` bytes. `margin` is the
    /// maximum distance between the times of points and of their message.
    pub(crate) fn new(
        scanner: RecordScanner,
        end: u64,
        format_state: Arc<FormatState>,
        selection: Selection,
        margin: TimeMargin,
    ) -> Self {
        let at = scanner.position();
        let damage_cursor = DamagedRangeCursor::new(&format_state.damage, at);
        let classifier = MessageClassifier { size_field: format_state.size_field, end };
        let message_times_of_points = margin.extend(selection.time);
        let reader = MessageReader {
            format_state,
            classifier,
            selection,
            message_times_of_points,
            damage_cursor,
        };
        Self { scanner, reader }
    }
}

impl Cursor for VelCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { scanner, reader } = self;
        let start = scanner.position();
        scanner.fill(block, |block, bytes, scanned_len| {
            let unscanned = bytes.get(scanned_len..).unwrap_or_default();
            reader.step(block, start + scanned_len as u64, unscanned, scanned_len)
        })
    }
}

impl MessageReader {
    /// Reads the message at `at` in the file, which is at `scanned_len` in the block.
    /// `unscanned` contains the bytes of the block from there on.
    fn step(
        &mut self,
        block: &mut Block,
        at: u64,
        unscanned: &[u8],
        scanned_len: usize,
    ) -> ScanStep {
        if let Some(damaged) = self.damage_cursor.step(&self.format_state.damage, at) {
            return damaged;
        }
        let skip = ScanStep::Whole { len: unscanned.len().max(1) };
        let (_, messages_end) = self.format_state.messages;
        if at >= messages_end {
            return skip;
        }
        let bytes_left = self.classifier.end.saturating_sub(at);
        let classified_bytes = bytes_left.min(CLASSIFIED_BYTES as u64) as usize;
        if unscanned.len() < classified_bytes {
            return ScanStep::Partial { len: classified_bytes };
        }
        let broken = self.format_state.broken_at(at).and_then(|broken| {
            let (_, header) = wire::message(unscanned)?;
            Some(MessageExtent { header, len: broken.len, fits: false })
        });
        let message = match (self.classifier.classify(at, unscanned), broken) {
            (_, Some(message)) => message,
            (
                Classification::Message(message) | Classification::Anomalous(message),
                None,
            ) => message,
            // The index pass found a message here.
            _ => return changed_bytes(at, unscanned),
        };
        let Ok(len) = usize::try_from(message.len) else {
            return changed_bytes(at, unscanned);
        };
        if unscanned.len() < len {
            return ScanStep::Partial { len };
        }
        self.record(block, &message, scanned_len, len);
        ScanStep::Whole { len }
    }

    /// Adds the `message` of `len` bytes to `block`, as a record of its topic and of the
    /// points, if these are selected.
    fn record(
        &self,
        block: &mut Block,
        message: &MessageExtent,
        scanned_len: usize,
        len: usize,
    ) {
        let kind = TopicKind::for_message(message);
        let time = program_clock::from_millis(message.header.millis);
        let Some(topic) = self.format_state.topic(kind) else { return };
        let payload_range = scanned_len + SIZE_LEN..scanned_len + len;
        if self.selection.contains(topic, time) {
            block.push(topic, time, payload_range.clone());
        }
        let is_valid = message.header.validity == self.format_state.valid;
        if let Some(points) = self.format_state.points
            && kind == TopicKind::Packets
            && is_valid
            && len > HEADER_LEN
            && self.selection.topics.contains(points)
            && self.message_times_of_points.contains(time)
        {
            block.push(points, time, payload_range);
        }
    }
}
