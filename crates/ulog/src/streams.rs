//! The topics that are subscribed to, and what it takes to follow their records: shared
//! by the survey and by the cursors, so that both see the same.

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{FieldRole, Layout, LayoutKind, Primitive, Timestamp, TopicId};
use serde::{Deserialize, Serialize};

use crate::{
    clock::{StreamClock, Trust},
    counter::Unwrapper,
    pauses::{Correction, Counted, Pauses},
};

/// No stream: what an id stands for that nobody subscribed to.
const NONE: u16 = u16::MAX;

/// Follows the data messages of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    /// For each message id, as far as there are some, the index of its stream.
    by_id: Vec<u16>,
    streams: Vec<Stream>,
    /// Of each stream what nearly all of its records need, close together.
    hot: Vec<Hot>,
    pub(crate) clock: StreamClock,
    /// How often an id was given to another stream than before.
    reused: u32,
    /// Whether there is a counter among their times.
    have_counters: bool,
    /// The number of records with counters so far, and the right values after pauses.
    counted: u64,
    corrections: Arc<[Correction]>,
    /// While a log is surveyed: finds what to correct.
    pauses: Option<Box<Pauses>>,
}

/// The lengths of records whose time is 64 bits at an offset.
#[derive(Clone, Copy, Debug)]
struct Hot {
    min_len: u32,
    /// How much longer than that they may be.
    span: u32,
    offset: u32,
}

/// What is to be known of a topic to follow its records.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// How long its records may be, in bytes.
    pub(crate) min_len: u32,
    pub(crate) max_len: u32,
    time: TimeAt,
    unwrapper: Unwrapper,
}

/// Where in a record its time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeAt {
    /// Nowhere.
    Nowhere,
    /// 64 bits of microseconds at this offset.
    Micros(u32),
    /// A counter of so many bits at this offset, of so many microseconds a count.
    Counter { offset: u32, bits: u32, unit: u64 },
}

/// The value of a counter, its width in bits, and the microseconds of one count.
#[derive(Clone, Copy, Debug)]
struct Counter {
    raw: u64,
    bits: u32,
    unit: u64,
}

/// A data message that fits its topic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datum {
    /// The index of its stream, which is that of its topic too.
    pub(crate) stream: usize,
    pub(crate) time: Timestamp,
    /// Whether the time is believed.
    pub(crate) trust: Trust,
}

/// Why a data message is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoDatum {
    /// Nobody has subscribed to its id.
    Unknown,
    /// It is shorter or longer than records of this topic.
    Misfit(TopicId),
}

/// The state of all that goes from message to message, where a part begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamsState {
    clock: StreamClock,
    unwrappers: BTreeMap<u16, Unwrapper>,
    counted: u64,
}

impl StreamsState {
    /// Lets it be that of a part behind `before`, where nothing jumped.
    pub(crate) fn follow(&mut self, before: &StreamClock) {
        self.clock = before.then(&self.clock).settled();
    }

    /// How many counters it has.
    pub(crate) fn counters(&self) -> usize {
        self.unwrappers.len()
    }
}

impl Stream {
    /// A stream of records that look like `layout`, or like nothing known.
    pub(crate) fn new(layout: Option<&Arc<Layout>>) -> Self {
        let (min_len, max_len) = match layout {
            Some(layout) => (layout.size_without_padding(), layout.size),
            None => (0, u32::MAX),
        };
        let time = layout.map_or(TimeAt::Nowhere, |layout| time_at(layout));
        Self { min_len, max_len, time, unwrapper: Unwrapper::default() }
    }

    /// A stream whose records have a known time offset and no known layout.
    pub(crate) fn timed_at(offset: u32) -> Self {
        Self { time: TimeAt::Micros(offset), ..Self::new(None) }
    }

    /// What its records need, if their time is 64 bits; else a length that none has.
    fn hot(&self) -> Hot {
        match self.time {
            TimeAt::Micros(offset) => {
                let span = self.max_len - self.min_len;
                Hot { min_len: self.min_len, span, offset }
            }
            _ => Hot { min_len: u32::MAX, span: 0, offset: 0 },
        }
    }

    /// Whether a record may be `len` bytes long.
    pub(crate) fn fits(&self, len: usize) -> bool {
        (self.min_len as usize..=self.max_len as usize).contains(&len)
    }
}

impl Streams {
    /// Adds a stream, and returns its index; there can be 65,535.
    pub(crate) fn add(&mut self, stream: Stream) -> Option<usize> {
        let index = self.streams.len();
        (index < usize::from(NONE)).then(|| {
            self.have_counters |= matches!(stream.time, TimeAt::Counter { .. });
            self.hot.push(stream.hot());
            self.streams.push(stream);
            index
        })
    }

    /// How many streams there are.
    pub(crate) fn len(&self) -> usize {
        self.streams.len()
    }

    /// From here on, `id` stands for the stream `index`.
    pub(crate) fn subscribe(&mut self, id: u16, index: usize) {
        let index = u16::try_from(index).unwrap_or(NONE);
        let id = usize::from(id);
        if id >= self.by_id.len() {
            self.by_id.resize(id + 1, NONE);
        }
        let before = std::mem::replace(&mut self.by_id[id], index);
        self.reused += u32::from(before != NONE && before != index);
    }

    /// How often an id was given to another stream than before.
    pub(crate) fn reused(&self) -> u32 {
        self.reused
    }

    /// Whether some times are counters, that go on from those of the records before.
    pub(crate) fn have_counters(&self) -> bool {
        self.have_counters
    }

    /// The same streams, with no id standing for any.
    pub(crate) fn unsubscribed(&self) -> Self {
        let clean = |stream: &Stream| Stream {
            unwrapper: Unwrapper::default(),
            ..stream.clone()
        };
        let streams = self.streams.iter().map(clean).collect();
        let (hot, have_counters) = (self.hot.clone(), self.have_counters);
        let corrections = self.corrections.clone();
        Self { streams, hot, have_counters, corrections, ..Self::default() }
    }

    /// Corrects these records with counters, which are in the order of their ordinals.
    pub(crate) fn correct(&mut self, corrections: &[Correction]) {
        self.corrections = corrections.into();
    }

    /// Looks for pauses that counters do not show.
    pub(crate) fn find_pauses(&mut self) {
        self.pauses = Some(Box::default());
    }

    /// The pauses that were looked for.
    pub(crate) fn pauses(&self) -> Option<&Pauses> {
        self.pauses.as_deref()
    }

    /// What `id` stands for.
    #[inline]
    pub(crate) fn by_id(&self, id: u16) -> Option<&Stream> {
        self.streams.get(self.index(id))
    }

    /// The index of what `id` stands for.
    pub(crate) fn index_of(&self, id: u16) -> Option<usize> {
        let index = self.index(id);
        (index != usize::from(NONE)).then_some(index)
    }

    #[inline]
    fn index(&self, id: u16) -> usize {
        self.by_id.get(usize::from(id)).copied().unwrap_or(NONE).into()
    }

    /// The time that a record of `id` has, not followed, in microseconds.
    pub(crate) fn peek(&self, id: u16, record: &[u8]) -> Option<u64> {
        let stream = self.by_id(id).filter(|stream| stream.fits(record.len()))?;
        let TimeAt::Micros(offset) = stream.time else { return None };
        let bytes = record.get(offset as usize..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Follows a data message: its topic and its time.
    #[inline]
    pub(crate) fn datum(&mut self, id: u16, record: &[u8]) -> Result<Datum, NoDatum> {
        let index = self.index(id);
        if let Some(hot) = self.hot.get(index)
            && (record.len() as u32).wrapping_sub(hot.min_len) <= hot.span
            && let Some(bytes) = record.get(hot.offset as usize..)
            && let Some(bytes) = bytes.first_chunk()
        {
            let micros = u64::from_le_bytes(*bytes);
            let trust = self.clock.observe(micros);
            if self.have_counters {
                match trust {
                    Trust::Believed => self.anchor(u64::BITS, micros),
                    _ if self.clock.may_jump() => self.may_jump(),
                    _ => {}
                }
            }
            let time = Timestamp::from_micros(micros);
            return Ok(Datum { stream: index, time, trust });
        }
        self.rare_datum(index, record)
    }

    /// The same, for records that do not fit, or have no time of 64 bits.
    #[cold]
    fn rare_datum(&mut self, index: usize, record: &[u8]) -> Result<Datum, NoDatum> {
        let stream = self.streams.get(index).ok_or(NoDatum::Unknown)?;
        if !stream.fits(record.len()) {
            return Err(NoDatum::Misfit(TopicId(index as u32)));
        }
        let (micros, trust) = match stream.counter(record) {
            Some(counter) => self.counted(index, counter),
            None => (self.clock.now().unwrap_or(0), Trust::Odd),
        };
        Ok(Datum { stream: index, time: Timestamp::from_micros(micros), trust })
    }

    /// Follows a record of the stream `index` with a counter: its time in microseconds.
    fn counted(&mut self, index: usize, counter: Counter) -> (u64, Trust) {
        let Counter { raw, bits, unit } = counter;
        let clock = self.clock.estimate(bits).map(|now| now / unit);
        let ordinal = self.counted;
        self.counted += 1;
        let unwrapper = &mut self.streams[index].unwrapper;
        let (before, has_clock) = (unwrapper.last(), self.clock.has_seen(bits));
        let mut value = unwrapper.unwrap(raw, bits, clock);
        let of_ordinal = |correction: &Correction| correction.ordinal;
        if let Ok(place) = self.corrections.binary_search_by_key(&ordinal, of_ordinal) {
            value = self.corrections[place].value;
            unwrapper.correct(value);
            if !self.clock.is_near(value.saturating_mul(unit)) {
                self.clock.jump_to(value.saturating_mul(unit));
            }
        }
        let micros = value.saturating_mul(unit);
        let trust = self.clock.observe_counter(micros, bits);
        if let Some(pauses) = &mut self.pauses {
            let stream = index as u16; // there are no more
            pauses.record(Counted {
                stream,
                bits,
                unit,
                ordinal,
                value,
                before,
                has_clock,
            });
            if trust == Trust::Believed {
                self.anchor(bits, micros);
            }
        }
        (micros, trust)
    }

    /// Lets the counters of fewer bits end at a believed timestamp of `bits` bits.
    fn anchor(&mut self, bits: u32, micros: u64) {
        let Some(pauses) = &mut self.pauses else { return };
        for (stream, value) in pauses.anchor(bits, micros) {
            self.streams[usize::from(stream)].unwrapper.correct(value);
        }
    }

    /// Takes notice of what may be the first timestamp after a long pause.
    fn may_jump(&mut self) {
        if let Some(pauses) = &mut self.pauses {
            pauses.may_jump();
        }
    }

    /// Takes notice of a dropout.
    pub(crate) fn drop_out(&mut self, millis: u16) {
        self.clock.drop_out(millis);
        if let Some(pauses) = &mut self.pauses {
            pauses.drop_out(millis);
        }
    }

    /// When something happens that has no time of its own.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.clock.latest().unwrap_or(0))
    }

    /// What a cursor needs in order to go on from here.
    pub(crate) fn state(&self) -> StreamsState {
        let counters = (0_u16..).zip(&self.streams);
        let unwrappers = counters
            .filter(|(_, stream)| stream.unwrapper.has_begun())
            .map(|(index, stream)| (index, stream.unwrapper.clone()))
            .collect();
        let (clock, counted) = (self.clock.settled(), self.counted);
        StreamsState { clock, unwrappers, counted }
    }

    /// Goes on from `state`.
    pub(crate) fn resume(&mut self, state: &StreamsState) {
        (self.clock, self.counted) = (state.clock.clone(), state.counted);
        for (index, unwrapper) in &state.unwrappers {
            if let Some(stream) = self.streams.get_mut(usize::from(*index)) {
                stream.unwrapper = unwrapper.clone();
            }
        }
    }
}

impl Stream {
    /// The counter of a record, if it has one.
    fn counter(&self, record: &[u8]) -> Option<Counter> {
        let TimeAt::Counter { offset, bits, unit } = self.time else { return None };
        let bytes = record.get(offset as usize..)?.get(..bits as usize / 8)?;
        let raw = bytes.iter().rev().fold(0, |raw, byte| raw << 8 | u64::from(*byte));
        Some(Counter { raw, bits, unit })
    }
}

/// Where records that look like `layout` have their time.
///
/// The specification of 2020 allows 8 (milliseconds), 16, 32 and 64 bits, that of 2024
/// only 64; in all, the field may be anywhere.
fn time_at(layout: &Layout) -> TimeAt {
    let is_time = |field: &&logtool_core::LayoutField| {
        field.name == "timestamp" && field.count.is_none()
    };
    let Some(field) = layout.fields.iter().find(is_time) else {
        return TimeAt::Nowhere;
    };
    let offset = field.offset;
    let unit = 1;
    match field.kind {
        _ if field.role == FieldRole::Time => TimeAt::Micros(offset),
        LayoutKind::Primitive(Primitive::U32) => {
            TimeAt::Counter { offset, bits: 32, unit }
        }
        LayoutKind::Primitive(Primitive::U16) => {
            TimeAt::Counter { offset, bits: 16, unit }
        }
        LayoutKind::Primitive(Primitive::U8) => {
            TimeAt::Counter { offset, bits: 8, unit: 1_000 }
        }
        _ => TimeAt::Nowhere,
    }
}
