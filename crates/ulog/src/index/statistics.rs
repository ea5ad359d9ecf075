//! Statistics of the messages of a log or of a segment.

use std::collections::BTreeMap;

use logtool_core::{TimeRange, Timestamp, TopicId};

use crate::{
    index::parts::Parts,
    time::{
        clock::{self, Trust},
        utc_offset::Observations,
    },
    topics::streams::{DataError, Streams, StreamsState},
    wire::{self, kind},
};

/// Statistics that are updated message by message.
pub(super) struct Statistics {
    pub(super) stats: Vec<TopicStatistics>,
    pub(super) parts: Parts,
    pub(super) time: TrustedTimes,
    /// The time range of the records from before the start of logging.
    pub(super) before_start: TimeRange,
    /// Observations of UTC by topic index, with the offset of the field in the records.
    pub(super) utc: BTreeMap<usize, (u32, Observations)>,
    pub(super) built_in: BuiltInStatistics,
    /// The time of the first dropout on the clock of this scan.
    pub(super) first_dropout: Option<u64>,
}

/// Statistics of a topic.
#[derive(Clone, Copy, Debug)]
pub(super) struct TopicStatistics {
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) time: TimeRange,
    /// The range of the trusted times.
    pub(super) trusted: TimeRange,
    /// The number of records that are older than the one before. One wrong time in the future
    /// does not make all records after it late.
    pub(super) late: u64,
    /// The times of the first and the last record whose time is plausible.
    ends: Option<(Timestamp, Timestamp)>,
    /// The number of records that are older than the start of logging.
    pub(super) before_start: u64,
    /// The number of records with implausible times.
    pub(super) implausible: u64,
    /// Whether its records report UTC.
    reports_utc: bool,
}

/// Statistics of the built-in topics.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BuiltInStatistics {
    pub(super) strings: u64,
    pub(super) changes: u64,
    pub(super) dropouts: u64,
    pub(super) dropout_millis: u64,
    pub(super) dropout_longest: u16,
    /// The number of sync messages.
    pub(super) syncs: u64,
}

/// The range of all trusted times, split at jumps of the clock.
#[derive(Clone, Debug)]
pub(super) struct TrustedTimes {
    /// Since the last jump: the number of jumps before, the range, and the number of
    /// records.
    epoch: u32,
    range: TimeRange,
    records: u64,
    /// Ranges and record counts before the last jump.
    earlier: Vec<(TimeRange, u64)>,
}

impl Statistics {
    /// Creates empty statistics for `parts` without records.
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            stats: Vec::new(),
            parts,
            time: TrustedTimes::new(),
            before_start: TimeRange::EMPTY,
            utc: BTreeMap::new(),
            built_in: BuiltInStatistics::default(),
            first_dropout: None,
        }
    }

    /// Creates empty statistics of the same topics.
    pub(super) fn empty_like(&self) -> Self {
        let stats =
            self.stats.iter().map(|stats| TopicStatistics::new(stats.reports_utc));
        let utc = self.utc.iter();
        let utc = utc
            .map(|(index, (offset, _))| (*index, (*offset, Observations::default())));
        let parts = self.parts.empty_like();
        Self { stats: stats.collect(), utc: utc.collect(), ..Self::new(parts) }
    }

    /// Adds a topic. `utc_offset` is the offset of the field with UTC in its records, if they have
    /// it.
    pub(super) fn grow(&mut self, utc_offset: Option<u32>) {
        if let Some(offset) = utc_offset {
            self.utc.insert(self.stats.len(), (offset, Observations::default()));
        }
        self.stats.push(TopicStatistics::new(utc_offset.is_some()));
        self.parts.grow(self.stats.len());
    }

    /// Counts the message at the start of `bytes`, and returns its length. Only the frequent types
    /// are processed: records, strings, dropouts and sync messages. For other and invalid messages,
    /// the result is `None` and nothing is changed.
    #[inline]
    pub(super) fn message(
        &mut self,
        streams: &mut Streams,
        bytes: &[u8],
    ) -> Option<usize> {
        let (size, kind) = wire::header(bytes)?;
        let len = wire::HEADER_LEN + size;
        let payload = bytes.get(wire::HEADER_LEN..len)?;
        if kind == kind::DATA {
            let (id, record) = wire::data(payload)?;
            self.record(streams, id, record).ok()?;
        } else {
            self.built_in(streams, kind, payload)?;
        }
        Some(len)
    }

    /// Counts a record of the topic `id`. An invalid record is an error and changes
    /// nothing.
    #[inline]
    pub(super) fn record(
        &mut self,
        streams: &mut Streams,
        id: u16,
        record: &[u8],
    ) -> Result<(), DataError> {
        let data = streams.record(id, record)?;
        let stats = &mut self.stats[data.stream];
        stats.records += 1;
        stats.bytes += record.len() as u64;
        let time = TimeRange::from_timestamp(data.time);
        stats.time = stats.time.cover(&time);
        self.parts.record(data.stream, &time);
        match data.trust {
            Trust::Trusted => {
                stats.trusted = stats.trusted.cover(&time);
                self.time.accept(streams.clock.epoch, &time);
            }
            Trust::BeforeStart => {
                stats.before_start += 1;
                self.before_start = self.before_start.cover(&time);
            }
            Trust::Implausible => stats.implausible += 1,
        }
        if data.trust != Trust::Implausible {
            stats.follow((data.time, data.time));
        }
        if stats.reports_utc {
            self.utc(data.stream, data.time, record);
        }
        Ok(())
    }

    /// Counts a record whose length does not match its topic. `epoch` is that of the clock.
    pub(super) fn wrong_length(
        &mut self,
        topic: TopicId,
        time: Option<Timestamp>,
        epoch: u32,
        len: usize,
    ) {
        let range = TimeRange::from_timestamp(time.unwrap_or_default());
        let stats = &mut self.stats[topic.index()];
        stats.records += 1;
        stats.bytes += len as u64;
        stats.time = stats.time.cover(&range);
        self.parts.record(topic.index(), &range);
        if time.is_some() {
            stats.trusted = stats.trusted.cover(&range);
            self.time.accept(epoch, &range);
        } else {
            stats.implausible += 1;
        }
    }

    #[cold]
    fn utc(&mut self, stream: usize, time: Timestamp, record: &[u8]) {
        if let Some((offset, times)) = self.utc.get_mut(&stream)
            && let Some(bytes) =
                record.get(*offset as usize..).and_then(<[u8]>::first_chunk)
        {
            times.observe(u64::from_le_bytes(*bytes), time.as_nanos() as u64 / 1_000);
        }
    }

    /// Counts a sync message, a logged string or a dropout. For other and invalid messages, the
    /// result is `None` and nothing is changed.
    pub(super) fn built_in(
        &mut self,
        streams: &mut Streams,
        kind: u8,
        payload: &[u8],
    ) -> Option<()> {
        let stats = &mut self.built_in;
        match kind {
            kind::SYNC => stats.syncs += 1, // even if its magic is wrong: it contains no data
            kind::STRING | kind::TAGGED_STRING => {
                let string = wire::logged_string(kind, payload)?;
                let time =
                    TimeRange::from_timestamp(Timestamp::from_micros(string.time));
                stats.strings += 1;
                self.parts.built_in(&time, |bits| bits.strings = true);
            }
            kind::DROPOUT => {
                let millis = wire::dropout(payload)?;
                stats.dropouts += 1;
                stats.dropout_millis += u64::from(millis);
                stats.dropout_longest = stats.dropout_longest.max(millis);
                if self.first_dropout.is_none() {
                    self.first_dropout = streams.clock.latest_since_jump();
                }
                let time = TimeRange::from_timestamp(streams.untimed_message_time());
                self.parts.built_in(&time, |bits| bits.dropouts = true);
                streams.add_dropout(millis);
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns true if these statistics of a segment are the same as if the scan of the bytes
    /// before had continued, provided that the clock is continuous.
    pub(super) fn can_be_added(&self) -> bool {
        self.utc.values().all(|(_, times)| times.are_all_stored())
    }

    /// Adds the statistics of the next segment, in which the clock did not jump and has
    /// this `epoch`. The states at the starts of parts are corrected with `correct`.
    pub(super) fn add(
        &mut self,
        next: Self,
        epoch: u32,
        correct: impl Fn(&mut StreamsState),
    ) {
        self.stats
            .iter_mut()
            .zip(&next.stats)
            .for_each(|(total, next)| total.add(next));
        self.parts.add(next.parts, correct);
        self.time.add(epoch, &next.time);
        self.before_start = self.before_start.cover(&next.before_start);
        for (stream, (_, times)) in next.utc {
            if let Some((_, total)) = self.utc.get_mut(&stream) {
                total.add(&times);
            }
        }
        self.built_in.add(&next.built_in);
        self.first_dropout = self.first_dropout.or(next.first_dropout);
    }
}

impl TopicStatistics {
    fn new(reports_utc: bool) -> Self {
        Self {
            records: 0,
            bytes: 0,
            time: TimeRange::EMPTY,
            trusted: TimeRange::EMPTY,
            late: 0,
            ends: None,
            before_start: 0,
            implausible: 0,
            reports_utc,
        }
    }

    /// Adds records. `next` are their first and their last time.
    #[inline]
    fn follow(&mut self, next: (Timestamp, Timestamp)) {
        let first = match self.ends {
            Some((first, last)) => {
                self.late += u64::from(next.0 < last);
                first
            }
            None => next.0,
        };
        self.ends = Some((first, next.1));
    }

    fn add(&mut self, next: &Self) {
        self.records += next.records;
        self.bytes += next.bytes;
        self.time = self.time.cover(&next.time);
        self.trusted = self.trusted.cover(&next.trusted);
        self.late += next.late;
        if let Some(ends) = next.ends {
            self.follow(ends);
        }
        self.before_start += next.before_start;
        self.implausible += next.implausible;
    }
}

impl BuiltInStatistics {
    fn add(&mut self, next: &Self) {
        self.strings += next.strings;
        self.changes += next.changes;
        self.dropouts += next.dropouts;
        self.dropout_millis += next.dropout_millis;
        self.dropout_longest = self.dropout_longest.max(next.dropout_longest);
        self.syncs += next.syncs;
    }
}

impl TrustedTimes {
    fn new() -> Self {
        Self { epoch: 0, range: TimeRange::EMPTY, records: 0, earlier: Vec::new() }
    }

    #[inline]
    fn accept(&mut self, epoch: u32, time: &TimeRange) {
        if self.epoch != epoch {
            self.jump(epoch);
        }
        self.range = self.range.cover(time);
        self.records += 1;
    }

    /// Adds the trusted times of `next`, in which the clock did not jump.
    fn add(&mut self, epoch: u32, next: &Self) {
        if next.records == 0 {
            return;
        }
        if self.epoch != epoch {
            self.jump(epoch);
        }
        self.range = self.range.cover(&next.range);
        self.records += next.records;
    }

    #[cold]
    fn jump(&mut self, epoch: u32) {
        if self.earlier.len() < 1 << 16 {
            self.earlier.push((self.range, self.records));
        }
        (self.epoch, self.range, self.records) = (epoch, TimeRange::EMPTY, 0);
    }

    /// Returns the range from the first to the last time, without isolated jumps.
    pub(super) fn range(&self) -> Option<TimeRange> {
        let mut ranges = self.earlier.clone();
        ranges.push((self.range, self.records));
        ranges.retain(|(_, records)| *records > 0);
        let is_long = |range: &&(TimeRange, u64)| {
            range.1 >= clock::JUMP_CONFIRMATIONS.into() || ranges.len() == 1
        };
        let long = ranges.iter().filter(is_long).map(|range| range.0);
        long.reduce(|ranges, range| ranges.cover(&range))
            .or_else(|| ranges.first().map(|range| range.0))
    }
}
