//! The state needed to assign data messages to topics and times. It is shared by the
//! index pass and the cursors, so that both give the same result.

mod equivalent_type;

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{FieldRole, Layout, LayoutKind, Primitive, Timestamp, TopicId};
use serde::{Deserialize, Serialize};

use crate::time::{
    clock::{StreamClock, Trust},
    counter::Unwrapper,
    pauses::{Correction, CounterSample, Pauses},
};

/// The stream of a message id without a subscription.
const NONE: u16 = u16::MAX;

/// The stream of message ids whose topic is omitted from an excerpt. Only a log with 65,535 topics
/// has a stream with this index, and excerpts of such a log do not omit topics.
const OMITTED_TOPIC: u16 = NONE - 1;

/// The maximum number of topics of a log whose excerpts omit topics.
pub(crate) const MAX_TOPICS_OF_EXCERPTS: usize = OMITTED_TOPIC as usize;

/// Assigns the data messages of a log to streams, and determines their times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    /// The index of the stream, by message id.
    by_id: Vec<u16>,
    streams: Vec<Stream>,
    /// For each stream, the data that nearly all of its records need, in compact form.
    fast_time: Vec<FastTime>,
    pub(crate) clock: StreamClock,
    /// The number of times that an id was reassigned to another stream.
    reassigned_ids: u32,
    /// Whether the time of any stream is a counter.
    have_counters: bool,
    /// The number of records with counters so far, and the correct values after pauses.
    counter_records: u64,
    corrections: Arc<[Correction]>,
    /// Finds corrections; only during the index pass.
    pauses: Option<Box<Pauses>>,
}

/// The lengths of records whose time has 64 bits at an offset.
#[derive(Clone, Copy, Debug)]
struct FastTime {
    min_len: u32,
    /// The maximum length is `min_len + span`.
    span: u32,
    offset: u32,
}

/// The state of one topic.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// The valid lengths of its records, in bytes.
    pub(crate) min_len: u32,
    pub(crate) max_len: u32,
    time: TimeField,
    unwrapper: Unwrapper,
}

/// The position of the time in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeField {
    /// The record has no time.
    Missing,
    /// A 64-bit number of microseconds at this offset.
    Micros(u32),
    /// A counter of `bits` bits at this offset, with `unit` microseconds per count.
    Counter { offset: u32, bits: u32, unit: u64 },
}

/// The value of a counter, its width in bits, and the microseconds per count.
#[derive(Clone, Copy, Debug)]
struct Counter {
    raw: u64,
    bits: u32,
    unit: u64,
}

/// The stream and the time of a valid data message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataRecord {
    /// The index of its stream, which is also that of its topic.
    pub(crate) stream: usize,
    pub(crate) time: Timestamp,
    /// Whether the time is trusted.
    pub(crate) trust: Trust,
}

/// Why a data message is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataError {
    /// Its id is not subscribed.
    UnknownId,
    /// It belongs to a topic that the excerpt omits.
    OmittedTopic,
    /// Its length does not match the records of this topic.
    WrongLength {
        topic: TopicId,
        /// Its own time if that is plausible, the time before it, or the start of logging; `None` if
        /// all of them are unknown.
        time: Option<Timestamp>,
    },
}

/// The state at the start of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamsState {
    clock: StreamClock,
    unwrappers: BTreeMap<u16, Unwrapper>,
    counter_records: u64,
}

impl StreamsState {
    /// Corrects the state of a part that follows `before`, without a jump between.
    pub(crate) fn follow(&mut self, before: &StreamClock) {
        self.clock = before.continued_by(&self.clock).without_stale_votes();
    }

    /// Returns the number of records with counters so far.
    pub(crate) fn counter_records(&self) -> u64 {
        self.counter_records
    }

    /// Returns the number of counters.
    pub(crate) fn counters(&self) -> usize {
        self.unwrappers.len()
    }
}

impl Stream {
    /// Creates a stream of records with a layout, or of unknown records.
    pub(crate) fn new(layout: Option<&Arc<Layout>>) -> Self {
        let (min_len, max_len) = match layout {
            Some(layout) => (layout.size_without_padding(), layout.size),
            None => (0, u32::MAX),
        };
        let time = layout.map_or(TimeField::Missing, |layout| time_of_layout(layout));
        Self { min_len, max_len, time, unwrapper: Unwrapper::default() }
    }

    /// Creates a stream whose records have a known time offset and no known layout.
    pub(crate) fn timed_at(offset: u32) -> Self {
        Self { time: TimeField::Micros(offset), ..Self::new(None) }
    }

    /// Returns the data for records with a 64-bit time; for others, a length that no
    /// record has.
    fn fast_time(&self) -> FastTime {
        match self.time {
            TimeField::Micros(offset) => {
                let span = self.max_len - self.min_len;
                FastTime { min_len: self.min_len, span, offset }
            }
            _ => FastTime { min_len: u32::MAX, span: 0, offset: 0 },
        }
    }

    /// Returns whether the times of its records do not depend on other records.
    pub(crate) fn has_own_time(&self) -> bool {
        matches!(self.time, TimeField::Micros(_))
    }

    /// Returns true if a record may be `len` bytes long.
    pub(crate) fn is_valid_len(&self, len: usize) -> bool {
        (self.min_len as usize..=self.max_len as usize).contains(&len)
    }
}

impl Streams {
    /// Adds a stream and returns its index. There can be 65,535 streams.
    pub(crate) fn add(&mut self, stream: Stream) -> Option<usize> {
        let index = self.streams.len();
        (index < usize::from(NONE)).then(|| {
            self.have_counters |= matches!(stream.time, TimeField::Counter { .. });
            self.fast_time.push(stream.fast_time());
            self.streams.push(stream);
            index
        })
    }

    /// Returns the stream at `index`.
    pub(crate) fn get(&self, index: usize) -> Option<&Stream> {
        self.streams.get(index)
    }

    /// Returns the number of streams.
    pub(crate) fn len(&self) -> usize {
        self.streams.len()
    }

    /// Assigns `id` to the stream `index`.
    pub(crate) fn subscribe(&mut self, id: u16, index: usize) {
        let index = u16::try_from(index).unwrap_or(NONE);
        let id = usize::from(id);
        if id >= self.by_id.len() {
            self.by_id.resize(id + 1, NONE);
        }
        let previous = std::mem::replace(&mut self.by_id[id], index);
        self.reassigned_ids += u32::from(previous != NONE && previous != index);
    }

    /// Assigns `id` to a topic that the excerpt omits.
    pub(crate) fn omit(&mut self, id: u16) {
        self.subscribe(id, OMITTED_TOPIC.into());
    }

    /// Returns the number of times that an id was reassigned to another stream.
    pub(crate) fn reassigned_ids(&self) -> u32 {
        self.reassigned_ids
    }

    /// Returns true if some times are counters, which depend on earlier records.
    pub(crate) fn have_counters(&self) -> bool {
        self.have_counters
    }

    /// Returns the same streams, with no ids assigned.
    pub(crate) fn without_ids(&self) -> Self {
        let clean = |stream: &Stream| Stream {
            unwrapper: Unwrapper::default(),
            ..stream.clone()
        };
        let streams = self.streams.iter().map(clean).collect();
        let (fast_time, have_counters) = (self.fast_time.clone(), self.have_counters);
        let corrections = self.corrections.clone();
        Self { streams, fast_time, have_counters, corrections, ..Self::default() }
    }

    /// Sets the corrections of records with counters, in the order of their ordinals.
    pub(crate) fn correct(&mut self, corrections: &[Correction]) {
        self.corrections = corrections.into();
    }

    /// Starts to search for pauses that the counters do not show.
    pub(crate) fn find_pauses(&mut self) {
        self.pauses = Some(Box::default());
    }

    /// Returns the pauses found so far; `None` if [`find_pauses`](Self::find_pauses) was not
    /// called.
    pub(crate) fn pauses(&self) -> Option<&Pauses> {
        self.pauses.as_deref()
    }

    /// Returns the stream of `id`.
    #[inline]
    pub(crate) fn by_id(&self, id: u16) -> Option<&Stream> {
        self.streams.get(self.index(id))
    }

    /// Returns the index of the stream of `id`.
    pub(crate) fn index_of(&self, id: u16) -> Option<usize> {
        let index = self.index(id);
        (index != usize::from(NONE)).then_some(index)
    }

    #[inline]
    fn index(&self, id: u16) -> usize {
        self.by_id.get(usize::from(id)).copied().unwrap_or(NONE).into()
    }

    /// Returns the time in microseconds of a record of `id`, without updating any
    /// state. Returns `None` if the time is a counter.
    pub(crate) fn peek(&self, id: u16, record: &[u8]) -> Option<u64> {
        let stream =
            self.by_id(id).filter(|stream| stream.is_valid_len(record.len()))?;
        stream.micros(record)
    }

    /// Processes a data message. Returns its stream and its time.
    #[inline]
    pub(crate) fn record(
        &mut self,
        id: u16,
        record: &[u8],
    ) -> Result<DataRecord, DataError> {
        let index = self.index(id);
        if let Some(fast_time) = self.fast_time.get(index)
            && (record.len() as u32).wrapping_sub(fast_time.min_len) <= fast_time.span
            && let Some(bytes) = record.get(fast_time.offset as usize..)
            && let Some(bytes) = bytes.first_chunk()
        {
            let micros = u64::from_le_bytes(*bytes);
            let trust = self.clock.observe(micros);
            if self.have_counters {
                match trust {
                    Trust::Trusted => self.anchor(u64::BITS, micros),
                    _ if self.clock.may_jump() => self.note_possible_jump(),
                    _ => {}
                }
            }
            let time = Timestamp::from_micros(micros);
            return Ok(DataRecord { stream: index, time, trust });
        }
        self.slow_record(index, record)
    }

    /// Like [`record`](Self::record), but for records that are invalid or have no
    /// 64-bit time.
    #[cold]
    fn slow_record(
        &mut self,
        index: usize,
        record: &[u8],
    ) -> Result<DataRecord, DataError> {
        let error = if index == usize::from(OMITTED_TOPIC) {
            DataError::OmittedTopic
        } else {
            DataError::UnknownId
        };
        let stream = self.streams.get(index).ok_or(error)?;
        if !stream.is_valid_len(record.len()) {
            let topic = TopicId(index as u32);
            let time = self.time_of_wrong_length(stream, record);
            return Err(DataError::WrongLength {
                topic,
                time: time.map(Timestamp::from_micros),
            });
        }
        let (micros, trust) = match stream.counter(record) {
            Some(counter) => self.process_counter(index, counter),
            None => (self.clock.last_accepted().unwrap_or(0), Trust::Implausible),
        };
        Ok(DataRecord { stream: index, time: Timestamp::from_micros(micros), trust })
    }

    /// Returns the time in microseconds of a record of `stream` that has a wrong length. The clock
    /// does not change, because such a record may have another type.
    fn time_of_wrong_length(&self, stream: &Stream, record: &[u8]) -> Option<u64> {
        let own_time = stream.micros(record).filter(|time| self.clock.is_near(*time));
        let before = own_time.or_else(|| self.clock.last_accepted());
        before.or_else(|| self.clock.start())
    }

    /// Processes a counter of the stream `index`. Returns the time in microseconds.
    fn process_counter(&mut self, index: usize, counter: Counter) -> (u64, Trust) {
        let Counter { raw, bits, unit } = counter;
        let clock = self.clock.estimate(bits).map(|estimate| estimate / unit);
        let ordinal = self.counter_records;
        self.counter_records += 1;
        let unwrapper = &mut self.streams[index].unwrapper;
        let (previous, has_clock) = (unwrapper.last(), self.clock.has_seen(bits));
        let mut value = unwrapper.unwrap(raw, bits, clock);
        let of_ordinal = |correction: &Correction| correction.ordinal;
        if let Ok(position) =
            self.corrections.binary_search_by_key(&ordinal, of_ordinal)
        {
            value = self.corrections[position].value;
            unwrapper.correct(value);
            if !self.clock.is_near(value.saturating_mul(unit)) {
                self.clock.jump_to(value.saturating_mul(unit));
            }
        }
        let micros = value.saturating_mul(unit);
        let trust = self.clock.observe_counter(micros, bits);
        if let Some(pauses) = &mut self.pauses {
            let stream = index as u16; // there are at most 65,535 streams
            pauses.record(CounterSample {
                stream,
                bits,
                unit,
                ordinal,
                value,
                previous,
                has_clock,
            });
            if trust == Trust::Trusted {
                self.anchor(bits, micros);
            }
        }
        (micros, trust)
    }

    /// Ends the counters of fewer bits at a trusted timestamp of `bits` bits.
    fn anchor(&mut self, bits: u32, micros: u64) {
        let Some(pauses) = &mut self.pauses else { return };
        for (stream, value) in pauses.anchor(bits, micros) {
            self.streams[usize::from(stream)].unwrapper.correct(value);
        }
    }

    /// Records that the last timestamp may be the first one after a long pause.
    fn note_possible_jump(&mut self) {
        if let Some(pauses) = &mut self.pauses {
            pauses.note_possible_jump();
        }
    }

    /// Adds a dropout.
    pub(crate) fn add_dropout(&mut self, millis: u16) {
        self.clock.add_dropout(millis);
        if let Some(pauses) = &mut self.pauses {
            pauses.add_dropout(millis);
        }
    }

    /// Returns the time of a message that has no timestamp of its own.
    pub(crate) fn untimed_message_time(&self) -> Timestamp {
        Timestamp::from_micros(self.clock.latest_since_jump().unwrap_or(0))
    }

    /// Returns the state that a cursor needs to continue from here.
    pub(crate) fn state(&self) -> StreamsState {
        let counters = (0_u16..).zip(&self.streams);
        let unwrappers = counters
            .filter(|(_, stream)| stream.unwrapper.has_value())
            .map(|(index, stream)| (index, stream.unwrapper.clone()))
            .collect();
        let (clock, counter_records) =
            (self.clock.without_stale_votes(), self.counter_records);
        StreamsState { clock, unwrappers, counter_records }
    }

    /// Continues from `state`.
    pub(crate) fn resume(&mut self, state: &StreamsState) {
        (self.clock, self.counter_records) =
            (state.clock.clone(), state.counter_records);
        for (index, unwrapper) in &state.unwrappers {
            if let Some(stream) = self.streams.get_mut(usize::from(*index)) {
                stream.unwrapper = unwrapper.clone();
            }
        }
    }
}

impl Stream {
    /// Returns the time of a record in microseconds, if it has 64 bits.
    fn micros(&self, record: &[u8]) -> Option<u64> {
        let TimeField::Micros(offset) = self.time else { return None };
        let bytes = record.get(offset as usize..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Returns the counter of a record, if it has one.
    fn counter(&self, record: &[u8]) -> Option<Counter> {
        let TimeField::Counter { offset, bits, unit } = self.time else { return None };
        let bytes = record.get(offset as usize..)?.get(..bits as usize / 8)?;
        let raw = bytes.iter().rev().fold(0, |raw, byte| raw << 8 | u64::from(*byte));
        Some(Counter { raw, bits, unit })
    }
}

/// Returns the position of the time in records with this layout.
///
/// The specification of 2020 allows 8 (milliseconds), 16, 32 and 64 bits, that of 2024
/// only 64. In both, the field may be at any offset.
fn time_of_layout(layout: &Layout) -> TimeField {
    let is_time = |field: &&logtool_core::LayoutField| {
        field.name == "timestamp" && field.count.is_none()
    };
    let Some(field) = layout.fields.iter().find(is_time) else {
        return TimeField::Missing;
    };
    let offset = field.offset;
    let unit = 1;
    match field.kind {
        _ if field.role == FieldRole::Time => TimeField::Micros(offset),
        LayoutKind::Primitive(Primitive::U32) => {
            TimeField::Counter { offset, bits: 32, unit }
        }
        LayoutKind::Primitive(Primitive::U16) => {
            TimeField::Counter { offset, bits: 16, unit }
        }
        LayoutKind::Primitive(Primitive::U8) => {
            TimeField::Counter { offset, bits: 8, unit: 1_000 }
        }
        _ => TimeField::Missing,
    }
}
