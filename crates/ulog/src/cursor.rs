//! Reading the records of a part.

use std::sync::Arc;

use logtool_core::{
    Block, Cursor, Damage, DamageKind, DamagedRangeCursor, RecordScanner, Result,
    ScanStep, Selection, Timestamp, TopicId,
};

use crate::{
    built_in::{self, Words},
    notes::Notes,
    registry::Declaration,
    streams::{NoDatum, Streams},
    wire::{self, kind},
};

/// Reads one part of a ULog.
pub(crate) struct UlogCursor {
    walk: RecordScanner,
    reader: Reader,
}

/// What goes from message to message.
struct Reader {
    notes: Arc<Notes>,
    streams: Streams,
    selection: Selection,
    words: Words,
    wants: Wants,
    /// For each logged topic, what is wanted of its records.
    wanted: Vec<Wanted>,
    /// The next declaration and the next gap that the walk will come to.
    declaration: usize,
    gap: DamagedRangeCursor,
}

/// What is wanted of the records of a topic.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    is_some: bool,
    itself: bool,
    /// As events or messages too.
    as_event: bool,
}

/// Which topics beside the logged ones are wanted.
#[derive(Clone, Copy, Debug)]
struct Wants {
    strings: bool,
    changes: bool,
    dropouts: bool,
    messages: bool,
    events: Option<TopicId>,
}

impl UlogCursor {
    /// A cursor that walks `walk`. The `streams` are as the notes' declarations left
    /// them, but for what ids stand for.
    pub(crate) fn new(
        walk: RecordScanner,
        notes: Arc<Notes>,
        mut streams: Streams,
        part: Option<usize>,
        selection: Selection,
        words: Words,
    ) -> Self {
        let at = walk.position();
        if let Some(state) = part.and_then(|part| notes.starts.get(part)) {
            streams.resume(state);
        }
        let built_in = &notes.built_in;
        let wants = |topic| selection.topics.contains(topic);
        let wants = Wants {
            strings: wants(built_in.logged_strings),
            changes: wants(built_in.parameter_changes),
            dropouts: wants(built_in.dropouts),
            messages: wants(built_in.messages),
            events: built_in.events.filter(|topic| wants(*topic)),
        };
        let gap = DamagedRangeCursor::new(&notes.gaps, at);
        let wants_events = wants.messages || wants.events.is_some();
        let wanted = (0..).map(TopicId).take(streams.len()).map(|topic| {
            let itself = selection.topics.contains(topic);
            let as_event = wants_events && words.topics.contains(topic);
            Wanted { is_some: itself || as_event, itself, as_event }
        });
        let wanted = wanted.collect();
        let mut reader = Reader {
            notes,
            streams,
            selection,
            words,
            wants,
            wanted,
            declaration: 0,
            gap,
        };
        reader.subscribe(at);
        Self { walk, reader }
    }

    /// Where the next block begins.
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

impl Reader {
    /// Lets ids stand for what was subscribed to before `at`.
    fn subscribe(&mut self, at: u64) {
        while let Some(declaration) = self.notes.declarations.get(self.declaration) {
            if let Declaration::Subscription { offset, id, topic, .. } = declaration {
                if *offset >= at {
                    break;
                }
                self.streams.subscribe(*id, topic.index());
            }
            self.declaration += 1;
        }
    }

    /// Looks at the message at `used` of `bytes`, which lies at `at` of the file.
    #[inline]
    fn step(
        &mut self,
        block: &mut Block,
        at: u64,
        bytes: &[u8],
        used: usize,
    ) -> ScanStep {
        if let Some(gap) = self.gap.step(&self.notes.gaps, at) {
            return gap;
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
            self.other(block, at, used, kind, payload);
            return ScanStep::Whole { len };
        }
        let Some((id, record)) = wire::data(payload) else {
            let lost = Damage::new(DamageKind::Undecodable, at..at + len as u64);
            block.report(lost.with_records(1, None));
            return ScanStep::Whole { len };
        };
        match self.streams.datum(id, record) {
            Ok(datum) => {
                let wanted = self.wanted.get(datum.stream).copied().unwrap_or_default();
                if wanted.is_some && self.selection.time.contains(datum.time) {
                    let (topic, start) = (TopicId(datum.stream as u32), used + 5);
                    if wanted.itself {
                        block.push(topic, datum.time, start..used + len);
                    }
                    if wanted.as_event {
                        self.event(block, datum.time, used + 2..used + len, rest);
                    }
                }
            }
            Err(why) => {
                let (kind, topic) = match why {
                    NoDatum::Unknown => (DamageKind::UnknownTopic, None),
                    NoDatum::Misfit(topic) => (DamageKind::Undecodable, Some(topic)),
                };
                let lost = Damage::new(kind, at..at + len as u64);
                block.report(lost.with_records(1, topic));
            }
        }
        ScanStep::Whole { len }
    }

    /// A data message that is an event: the range is that of it from its type on.
    fn event(
        &self,
        block: &mut Block,
        time: Timestamp,
        range: std::ops::Range<usize>,
        rest: &[u8],
    ) {
        let message = rest.get(2..2 + range.len()).unwrap_or_default();
        if let Some(events) = self.wants.events {
            block.push(events, time, range.clone());
        }
        if self.wants.messages && built_in::is_event_message(&self.words, message) {
            block.push(self.notes.built_in.messages, time, range);
        }
    }

    /// A message that is not data.
    fn other(
        &mut self,
        block: &mut Block,
        at: u64,
        used: usize,
        kind: u8,
        payload: &[u8],
    ) {
        let range = used + 2..used + wire::HEADER_LEN + payload.len();
        let built_in = self.notes.built_in;
        match kind {
            kind::SUBSCRIPTION => self.subscribe(at + 1),
            kind::STRING | kind::TAGGED_STRING => {
                let Some(string) = wire::logged_string(kind, payload) else {
                    return misfit(block, at, payload);
                };
                let time = Timestamp::from_micros(string.time);
                if !self.selection.time.contains(time) {
                    return;
                }
                if self.wants.strings {
                    block.push(built_in.logged_strings, time, range.clone());
                }
                if self.wants.messages
                    && built_in::is_string_message(&self.words, payload)
                {
                    block.push(built_in.messages, time, range);
                }
            }
            kind::DROPOUT => {
                let time = self.streams.now();
                let Some(millis) = wire::dropout(payload) else {
                    return misfit(block, at, payload);
                };
                self.streams.drop_out(millis);
                if self.wants.dropouts && self.selection.time.contains(time) {
                    block.push(built_in.dropouts, time, range);
                }
            }
            kind::PARAMETER if at >= self.notes.data_start => {
                let time = self.streams.now();
                let is_one = wire::keyed(payload)
                    .is_some_and(|keyed| crate::header::ParameterValue::is(&keyed));
                if !is_one {
                    misfit(block, at, payload);
                } else if self.wants.changes && self.selection.time.contains(time) {
                    block.push(built_in.parameter_changes, time, range);
                }
            }
            _ => {}
        }
    }
}

fn misfit(block: &mut Block, at: u64, payload: &[u8]) {
    let bytes = at..at + (wire::HEADER_LEN + payload.len()) as u64;
    block.report(Damage::new(DamageKind::Undecodable, bytes).with_records(1, None));
}
