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
    walk: RecordScanner,
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

/// Where the records of a topic are delivered.
#[derive(Clone, Copy, Debug, Default)]
struct TopicDelivery {
    is_selected: bool,
    as_record: bool,
    /// Also deliver them as events or messages.
    as_event: bool,
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
    /// Creates a cursor that reads with `walk`. The `streams` must be in the state
    /// after all declarations, without any message ids assigned.
    pub(crate) fn new(
        walk: RecordScanner,
        format_state: Arc<FormatState>,
        mut streams: Streams,
        part: Option<usize>,
        selection: Selection,
        event_reader: EventReader,
    ) -> Self {
        let at = walk.position();
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
        let next_damage = DamagedRangeCursor::new(&format_state.damaged_ranges, at);
        let wants_events = built_in.messages || built_in.events.is_some();
        let deliveries = (0..).map(TopicId).take(streams.len()).map(|topic| {
            let as_record = selection.topics.contains(topic);
            let as_event = wants_events && event_reader.topics.contains(topic);
            TopicDelivery { is_selected: as_record || as_event, as_record, as_event }
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
        reader.subscribe(at);
        Self { walk, reader }
    }

    /// Returns the offset at which the next block starts.
    pub(crate) fn position(&self) -> u64 {
        self.walk.position()
    }
}

impl Cursor for UlogCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { walk, reader } = self;
        let start = walk.position();
        walk.fill(block, |block, bytes, used| {
            reader.step(block, start + used as u64, bytes, used)
        })
    }
}

impl MessageReader {
    /// Applies the subscriptions before offset `at`.
    fn subscribe(&mut self, at: u64) {
        while let Some(declaration) =
            self.format_state.declarations.get(self.declaration)
        {
            match declaration {
                Declaration::Subscription { offset, .. }
                | Declaration::LeftOut { offset, .. }
                    if *offset >= at =>
                {
                    break;
                }
                Declaration::Subscription { id, topic, .. } => {
                    self.streams.subscribe(*id, topic.index());
                }
                Declaration::LeftOut { ids, .. } => {
                    let ids = ids.ranges().flatten();
                    ids.filter_map(|id| u16::try_from(id).ok())
                        .for_each(|id| self.streams.leave_out(id));
                }
                Declaration::Format(..) | Declaration::Metadata { .. } => {}
            }
            self.declaration += 1;
        }
    }

    /// Applies the subscription message at offset `at`.
    fn subscribe_at(&mut self, at: u64, payload: &[u8]) {
        self.subscribe(at);
        // An excerpt has declarations only of its own topics.
        if self.format_state.is_partial
            && let Some(subscription) = wire::subscription(payload)
        {
            self.streams.leave_out(subscription.id);
        }
        self.subscribe(at + 1);
    }

    /// Reads the message at index `used` of `bytes`, which is at offset `at` of the
    /// file.
    #[inline]
    fn step(
        &mut self,
        block: &mut Block,
        at: u64,
        bytes: &[u8],
        used: usize,
    ) -> ScanStep {
        if let Some(next_damage) =
            self.next_damage.step(&self.format_state.damaged_ranges, at)
        {
            return next_damage;
        }
        let rest = bytes.get(used..).unwrap_or_default();
        let Some((size, kind)) = wire::header(rest) else {
            return ScanStep::Partial { len: wire::HEADER_LEN };
        };
        let len = wire::HEADER_LEN + size;
        let Some(payload) = rest.get(wire::HEADER_LEN..len) else {
            return ScanStep::Partial { len };
        };
        if kind != kind::DATA {
            self.read_other(block, at, used, kind, payload);
            return ScanStep::Whole { len };
        }
        let Some((id, record)) = wire::data(payload) else {
            let lost = Damage::new(DamageKind::Undecodable, at..at + len as u64);
            block.report(lost.with_records(1, None));
            return ScanStep::Whole { len };
        };
        match self.streams.record(id, record) {
            Ok(record) => {
                let delivery =
                    self.deliveries.get(record.stream).copied().unwrap_or_default();
                if delivery.is_selected && self.selection.time.contains(record.time) {
                    let (topic, start) = (TopicId(record.stream as u32), used + 5);
                    if delivery.as_record {
                        block.push(topic, record.time, start..used + len);
                    }
                    if delivery.as_event {
                        self.event(block, record.time, used + 2..used + len, rest);
                    }
                }
            }
            Err(error) => {
                let (kind, topic) = match error {
                    DataError::LeftOut => return ScanStep::Whole { len },
                    DataError::UnknownId => (DamageKind::UnknownTopic, None),
                    DataError::TypeMismatch(topic) => {
                        (DamageKind::Undecodable, Some(topic))
                    }
                };
                let lost = Damage::new(kind, at..at + len as u64);
                block.report(lost.with_records(1, topic));
            }
        }
        ScanStep::Whole { len }
    }

    /// Delivers a data message that is an event. `range` covers the message from its
    /// type on.
    fn event(
        &self,
        block: &mut Block,
        time: Timestamp,
        range: std::ops::Range<usize>,
        rest: &[u8],
    ) {
        let message = rest.get(2..2 + range.len()).unwrap_or_default();
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
        at: u64,
        used: usize,
        kind: u8,
        payload: &[u8],
    ) {
        let range = used + 2..used + wire::HEADER_LEN + payload.len();
        let built_in = self.format_state.built_in;
        match kind {
            kind::SUBSCRIPTION => self.subscribe_at(at, payload),
            kind::STRING | kind::TAGGED_STRING => {
                let Some(string) = wire::logged_string(kind, payload) else {
                    return report_undecodable(block, at, payload);
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
                    return report_undecodable(block, at, payload);
                };
                self.streams.add_dropout(millis);
                if self.built_in.dropouts && self.selection.time.contains(time) {
                    block.push(built_in.dropouts, time, range);
                }
            }
            kind::PARAMETER if at >= self.format_state.data_start => {
                let time = self.streams.untimed_message_time();
                let is_one = wire::keyed_value(payload).is_some_and(|keyed| {
                    crate::declarations::metadata::ParameterValue::is_valid(&keyed)
                });
                if !is_one {
                    report_undecodable(block, at, payload);
                } else if self.built_in.changes && self.selection.time.contains(time) {
                    block.push(built_in.parameter_changes, time, range);
                }
            }
            _ => {}
        }
    }
}

fn report_undecodable(block: &mut Block, at: u64, payload: &[u8]) {
    let bytes = at..at + (wire::HEADER_LEN + payload.len()) as u64;
    block.report(Damage::new(DamageKind::Undecodable, bytes).with_records(1, None));
}
