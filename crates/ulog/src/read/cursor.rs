//! Reads the records of a part.

use std::sync::Arc;

use logtool_core::{
    Block, Cursor, Damage, DamageKind, DamagedRangeCursor, RecordScanner, Result,
    ScanStep, Selection, Timestamp, TopicId,
};

use crate::{
    built_in_topics::{self, EventReader},
    format_state::FormatState,
    topics::{
        registry::Declaration,
        streams::{DataError, Streams},
    },
    wire::{self, kind},
};

/// Reads one part of a ULog, block by block.
pub(crate) struct UlogCursor {
    scanner: RecordScanner,
    reader: MessageReader,
}

/// State that continues from message to message.
struct MessageReader {
    format_state: Arc<FormatState>,
    streams: Streams,
    selection: Selection,
    event_reader: EventReader,
    built_in: BuiltInSelection,
    /// The delivery of each logged topic.
    deliveries: Vec<TopicDelivery>,
    /// The next declaration and the next damaged range after the current position.
    declaration: usize,
    next_damage: DamagedRangeCursor,
}

/// Selects the topics to which the records of a logged topic are delivered.
#[derive(Clone, Copy, Debug, Default)]
struct TopicDelivery {
    is_selected: bool,
    deliver_record: bool,
    /// Whether the records are also delivered to the topics of events and messages.
    deliver_event: bool,
}

/// The built-in topics that are selected.
#[derive(Clone, Copy, Debug)]
struct BuiltInSelection {
    strings: bool,
    changes: bool,
    dropouts: bool,
    messages: bool,
    events: Option<TopicId>,
}

impl UlogCursor {
    /// Creates a cursor that reads with `scanner`. The `streams` must be in the state
    /// after all declarations, without any message ids assigned.
    pub(crate) fn new(
        scanner: RecordScanner,
        format_state: Arc<FormatState>,
        mut streams: Streams,
        part: Option<usize>,
        selection: Selection,
        event_reader: EventReader,
    ) -> Self {
        let start = scanner.position();
        if let Some(state) = part.and_then(|part| format_state.starts.get(part)) {
            streams.resume(state);
        }
        let built_in = &format_state.built_in;
        let is_selected = |topic| selection.topics.contains(topic);
        let built_in = BuiltInSelection {
            strings: is_selected(built_in.logged_strings),
            changes: is_selected(built_in.parameter_changes),
            dropouts: is_selected(built_in.dropouts),
            messages: is_selected(built_in.messages),
            events: built_in.events.filter(|topic| is_selected(*topic)),
        };
        let next_damage = DamagedRangeCursor::new(&format_state.damaged_ranges, start);
        let needs_events = built_in.messages || built_in.events.is_some();
        let deliveries = (0..).map(TopicId).take(streams.len()).map(|topic| {
            let deliver_record = selection.topics.contains(topic);
            let deliver_event = needs_events && event_reader.topics.contains(topic);
            TopicDelivery {
                is_selected: deliver_record || deliver_event,
                deliver_record,
                deliver_event,
            }
        });
        let deliveries = deliveries.collect();
        let mut reader = MessageReader {
            format_state,
            streams,
            selection,
            event_reader,
            built_in,
            deliveries,
            declaration: 0,
            next_damage,
        };
        reader.apply_subscriptions(start);
        Self { scanner, reader }
    }

    /// Returns the offset at which the next block starts.
    pub(crate) fn position(&self) -> u64 {
        self.scanner.position()
    }
}

impl Cursor for UlogCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { scanner, reader } = self;
        let start = scanner.position();
        scanner.fill(block, |block, bytes, position| {
            reader.step(block, start + position as u64, bytes, position)
        })
    }
}

impl MessageReader {
    /// Applies the subscriptions before the offset `end`.
    fn apply_subscriptions(&mut self, end: u64) {
        while let Some(declaration) =
            self.format_state.declarations.get(self.declaration)
        {
            match declaration {
                Declaration::Subscription { offset, .. }
                | Declaration::OmittedTopics { offset, .. }
                    if *offset >= end =>
                {
                    break;
                }
                Declaration::Subscription { id, topic, .. } => {
                    self.streams.subscribe(*id, topic.index());
                }
                Declaration::OmittedTopics { ids, .. } => {
                    let ids = ids.ranges().flatten();
                    ids.filter_map(|id| u16::try_from(id).ok())
                        .for_each(|id| self.streams.omit(id));
                }
                Declaration::Format(..) | Declaration::Metadata { .. } => {}
            }
            self.declaration += 1;
        }
    }

    /// Applies the subscription message at the offset `offset`.
    fn subscribe_at(&mut self, offset: u64, payload: &[u8]) {
        self.apply_subscriptions(offset);
        // An excerpt has declarations only of its own topics.
        if self.format_state.is_partial
            && let Some(subscription) = wire::subscription(payload)
        {
            self.streams.omit(subscription.id);
        }
        self.apply_subscriptions(offset + 1);
    }

    /// Reads the message at index `position` of `bytes`, which is at the offset `offset` of the
    /// file.
    #[inline]
    fn step(
        &mut self,
        block: &mut Block,
        offset: u64,
        bytes: &[u8],
        position: usize,
    ) -> ScanStep {
        if let Some(next_damage) =
            self.next_damage.step(&self.format_state.damaged_ranges, offset)
        {
            return next_damage;
        }
        let remaining = bytes.get(position..).unwrap_or_default();
        let Some((size, kind)) = wire::header(remaining) else {
            return ScanStep::Partial { len: wire::HEADER_LEN };
        };
        let len = wire::HEADER_LEN + size;
        let Some(payload) = remaining.get(wire::HEADER_LEN..len) else {
            return ScanStep::Partial { len };
        };
        if kind != kind::DATA {
            self.read_other(block, offset, position, kind, payload);
            return ScanStep::Whole { len };
        }
        let Some((id, record)) = wire::data(payload) else {
            let damage =
                Damage::new(DamageKind::Undecodable, offset..offset + len as u64);
            block.report(damage.with_records(1, None));
            return ScanStep::Whole { len };
        };
        match self.streams.record(id, record) {
            Ok(record) => {
                let delivery =
                    self.deliveries.get(record.stream).copied().unwrap_or_default();
                if delivery.is_selected && self.selection.time.contains(record.time) {
                    let (topic, start) = (TopicId(record.stream as u32), position + 5);
                    if delivery.deliver_record {
                        block.push(topic, record.time, start..position + len);
                    }
                    if delivery.deliver_event {
                        self.event(
                            block,
                            record.time,
                            position + 2..position + len,
                            remaining,
                        );
                    }
                }
            }
            // The decoder of the topic reports that the record does not match its type.
            Err(DataError::WrongLength { topic, time }) => {
                let time = time.unwrap_or_default();
                let delivery =
                    self.deliveries.get(topic.index()).copied().unwrap_or_default();
                if delivery.deliver_record && self.selection.time.contains(time) {
                    block.push(topic, time, position + 5..position + len);
                }
            }
            Err(DataError::OmittedTopic) => {}
            Err(DataError::UnknownId) => {
                let bytes = offset..offset + len as u64;
                let damage = Damage::new(DamageKind::UnknownTopic, bytes);
                block.report(damage.with_records(1, None));
            }
        }
        ScanStep::Whole { len }
    }

    /// Delivers the data message at the start of `bytes`, which is an event. `range` is the range
    /// in the block from the message type to the end of the message.
    fn event(
        &self,
        block: &mut Block,
        time: Timestamp,
        range: std::ops::Range<usize>,
        bytes: &[u8],
    ) {
        let message = bytes.get(2..2 + range.len()).unwrap_or_default();
        if let Some(events) = self.built_in.events {
            block.push(events, time, range.clone());
        }
        if self.built_in.messages
            && built_in_topics::is_event_message(&self.event_reader, message)
        {
            block.push(self.format_state.built_in.messages, time, range);
        }
    }

    /// Reads a message that is not a data message.
    fn read_other(
        &mut self,
        block: &mut Block,
        offset: u64,
        position: usize,
        kind: u8,
        payload: &[u8],
    ) {
        let range = position + 2..position + wire::HEADER_LEN + payload.len();
        let built_in = self.format_state.built_in;
        match kind {
            kind::SUBSCRIPTION => self.subscribe_at(offset, payload),
            kind::STRING | kind::TAGGED_STRING => {
                let Some(string) = wire::logged_string(kind, payload) else {
                    return report_undecodable(block, offset, payload);
                };
                let time = Timestamp::from_micros(string.time);
                if !self.selection.time.contains(time) {
                    return;
                }
                if self.built_in.strings {
                    block.push(built_in.logged_strings, time, range.clone());
                }
                if self.built_in.messages
                    && built_in_topics::is_string_message(&self.event_reader, payload)
                {
                    block.push(built_in.messages, time, range);
                }
            }
            kind::DROPOUT => {
                let time = self.streams.untimed_message_time();
                let Some(millis) = wire::dropout(payload) else {
                    return report_undecodable(block, offset, payload);
                };
                self.streams.add_dropout(millis);
                if self.built_in.dropouts && self.selection.time.contains(time) {
                    block.push(built_in.dropouts, time, range);
                }
            }
            kind::PARAMETER if offset >= self.format_state.data_start => {
                let time = self.streams.untimed_message_time();
                let is_valid = wire::keyed_value(payload).is_some_and(|keyed| {
                    crate::declarations::metadata::ParameterValue::is_valid(&keyed)
                });
                if !is_valid {
                    report_undecodable(block, offset, payload);
                } else if self.built_in.changes && self.selection.time.contains(time) {
                    block.push(built_in.parameter_changes, time, range);
                }
            }
            _ => {}
        }
    }
}

fn report_undecodable(block: &mut Block, offset: u64, payload: &[u8]) {
    let bytes = offset..offset + (wire::HEADER_LEN + payload.len()) as u64;
    block.report(Damage::new(DamageKind::Undecodable, bytes).with_records(1, None));
}
