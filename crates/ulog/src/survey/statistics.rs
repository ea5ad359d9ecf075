//! What is counted of the messages of a log, or of a stretch of one.

use std::collections::BTreeMap;

use logtool_core::{TimeRange, Timestamp};

use crate::{
    clock::{self, Trust},
    streams::{NoDatum, Streams, StreamsState},
    survey::parts::Parts,
    utc_offset::Observations,
    wire::{self, kind},
};

/// What is counted, message by message.
pub(super) struct Tally {
    pub(super) stats: Vec<Stats>,
    pub(super) parts: Parts,
    pub(super) time: Times,
    /// The times of the records from before the start of logging.
    pub(super) before_start: TimeRange,
    /// What topics say of UTC, and where in their records.
    pub(super) utc: BTreeMap<usize, (u32, Observations)>,
    pub(super) built_in: BuiltInStats,
    /// When the first dropout was, by the clock of what was counted.
    pub(super) first_dropout: Option<u64>,
}

/// What is counted of a topic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stats {
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) time: TimeRange,
    /// Of those of which the times can be right.
    pub(super) believed: TimeRange,
    /// How many are older than one before them, how many are older than the start of
    /// logging, and how many have times that cannot be right.
    pub(super) late: u64,
    pub(super) before_start: u64,
    pub(super) odd: u64,
    /// Whether its records report UTC.
    tells_utc: bool,
}

/// What is counted of the topics that are built in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BuiltInStats {
    pub(super) strings: u64,
    pub(super) changes: u64,
    pub(super) dropouts: u64,
    pub(super) dropout_millis: u64,
    pub(super) dropout_longest: u16,
    /// Marks to find the next message by.
    pub(super) syncs: u64,
}

/// The times of all records that are believed, and how often they jumped.
#[derive(Clone, Debug)]
pub(super) struct Times {
    /// Since the last jump: how many jumps there were, the range, and how many records.
    epoch: u32,
    range: TimeRange,
    records: u64,
    /// Before that.
    earlier: Vec<(TimeRange, u64)>,
}

impl Tally {
    /// Nothing counted, in `parts` that hold nothing yet.
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            stats: Vec::new(),
            parts,
            time: Times::new(),
            before_start: TimeRange::EMPTY,
            utc: BTreeMap::new(),
            built_in: BuiltInStats::default(),
            first_dropout: None,
        }
    }

    /// Nothing counted of the same topics.
    pub(super) fn anew(&self) -> Self {
        let stats = self.stats.iter().map(|stats| Stats::new(stats.tells_utc));
        let utc = self.utc.iter();
        let utc = utc
            .map(|(index, (offset, _))| (*index, (*offset, Observations::default())));
        let parts = self.parts.anew();
        Self { stats: stats.collect(), utc: utc.collect(), ..Self::new(parts) }
    }

    /// One topic more; `utc_at` is where its records report UTC, if they do.
    pub(super) fn grow(&mut self, utc_at: Option<u32>) {
        if let Some(offset) = utc_at {
            self.utc.insert(self.stats.len(), (offset, Observations::default()));
        }
        self.stats.push(Stats::new(utc_at.is_some()));
        self.parts.grow(self.stats.len());
    }

    /// Counts the message at the start of `rest`, if it is one of those of which a log is
    /// full: a record, a string, a dropout or a sync mark; says how long it is. Of all
    /// others, and of those that are not what their type says, nothing changes.
    #[inline]
    pub(super) fn message(
        &mut self,
        streams: &mut Streams,
        rest: &[u8],
    ) -> Option<usize> {
        let (size, kind) = wire::header(rest)?;
        let len = wire::HEADER_LEN + size;
        let payload = rest.get(wire::HEADER_LEN..len)?;
        if kind == kind::DATA {
            let (id, record) = wire::data(payload)?;
            self.record(streams, id, record).ok()?;
        } else {
            self.built_in(streams, kind, payload)?;
        }
        Some(len)
    }

    /// Counts a record of what `id` stands for, unless it is none; then nothing changes.
    #[inline]
    pub(super) fn record(
        &mut self,
        streams: &mut Streams,
        id: u16,
        record: &[u8],
    ) -> Result<(), NoDatum> {
        let datum = streams.datum(id, record)?;
        let stats = &mut self.stats[datum.stream];
        stats.records += 1;
        stats.bytes += record.len() as u64;
        let time = TimeRange::from_timestamp(datum.time);
        stats.late += u64::from(time.end < stats.time.end);
        stats.time = stats.time.cover(&time);
        self.parts.record(datum.stream, &time);
        match datum.trust {
            Trust::Believed => {
                stats.believed = stats.believed.cover(&time);
                self.time.believe(streams.clock.epoch, &time);
            }
            Trust::BeforeStart => {
                stats.before_start += 1;
                self.before_start = self.before_start.cover(&time);
            }
            Trust::Odd => stats.odd += 1,
        }
        if stats.tells_utc {
            self.utc(datum.stream, datum.time, record);
        }
        Ok(())
    }

    #[cold]
    fn utc(&mut self, stream: usize, time: Timestamp, record: &[u8]) {
        if let Some((offset, seen)) = self.utc.get_mut(&stream)
            && let Some(bytes) =
                record.get(*offset as usize..).and_then(<[u8]>::first_chunk)
        {
            seen.observe(u64::from_le_bytes(*bytes), time.as_nanos() as u64 / 1_000);
        }
    }

    /// Counts a sync mark, a logged string or a dropout; nothing changes, and it says so,
    /// if the message is none of these, or not what its type says.
    pub(super) fn built_in(
        &mut self,
        streams: &mut Streams,
        kind: u8,
        payload: &[u8],
    ) -> Option<()> {
        let stats = &mut self.built_in;
        match kind {
            kind::SYNC => stats.syncs += 1, // with a wrong magic too: it holds nothing
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
                    self.first_dropout = streams.clock.latest();
                }
                let time = TimeRange::from_timestamp(streams.now());
                self.parts.built_in(&time, |bits| bits.dropouts = true);
                streams.drop_out(millis);
            }
            _ => return None,
        }
        Some(())
    }

    /// Whether all was counted in `next` as it would have been behind this, if only the
    /// clock went on so.
    pub(super) fn goes_on_as(&self, next: &Self) -> bool {
        let pairs = || self.stats.iter().zip(&next.stats);
        pairs().all(|(before, after)| before.goes_on_as(after))
            && next.utc.values().all(|(_, seen)| seen.are_all_kept())
    }

    /// Counts what was counted in `next` too, which comes next, while the clock made no
    /// jump: this is its `epoch`. The states in which parts begin are `mended`.
    pub(super) fn add(
        &mut self,
        next: Self,
        epoch: u32,
        mended: impl Fn(&mut StreamsState),
    ) {
        self.stats.iter_mut().zip(&next.stats).for_each(|(all, more)| all.add(more));
        self.parts.add(next.parts, mended);
        self.time.add(epoch, &next.time);
        self.before_start = self.before_start.cover(&next.before_start);
        for (stream, (_, seen)) in next.utc {
            if let Some((_, all)) = self.utc.get_mut(&stream) {
                all.add(&seen);
            }
        }
        self.built_in.add(&next.built_in);
        self.first_dropout = self.first_dropout.or(next.first_dropout);
    }
}

impl Stats {
    fn new(tells_utc: bool) -> Self {
        let (time, none) = (TimeRange::EMPTY, 0);
        Self {
            records: none,
            bytes: none,
            time,
            believed: time,
            late: none,
            before_start: none,
            odd: none,
            tells_utc,
        }
    }

    /// Whether none of `next` is older than one of these.
    fn goes_on_as(&self, next: &Self) -> bool {
        let first = TimeRange::from_timestamp(next.time.start).end;
        next.records == 0 || self.records == 0 || first >= self.time.end
    }

    fn add(&mut self, next: &Self) {
        self.records += next.records;
        self.bytes += next.bytes;
        self.time = self.time.cover(&next.time);
        self.believed = self.believed.cover(&next.believed);
        self.late += next.late;
        self.before_start += next.before_start;
        self.odd += next.odd;
    }
}

impl BuiltInStats {
    fn add(&mut self, next: &Self) {
        self.strings += next.strings;
        self.changes += next.changes;
        self.dropouts += next.dropouts;
        self.dropout_millis += next.dropout_millis;
        self.dropout_longest = self.dropout_longest.max(next.dropout_longest);
        self.syncs += next.syncs;
    }
}

impl Times {
    fn new() -> Self {
        Self { epoch: 0, range: TimeRange::EMPTY, records: 0, earlier: Vec::new() }
    }

    #[inline]
    fn believe(&mut self, epoch: u32, time: &TimeRange) {
        if self.epoch != epoch {
            self.jump(epoch);
        }
        self.range = self.range.cover(time);
        self.records += 1;
    }

    /// Believes all that was believed in `next`, where nothing jumped.
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

    /// From the first to the last, without single jumps there and back.
    pub(super) fn range(&self) -> Option<TimeRange> {
        let mut all = self.earlier.clone();
        all.push((self.range, self.records));
        all.retain(|(_, records)| *records > 0);
        let is_long = |stretch: &&(TimeRange, u64)| {
            stretch.1 >= clock::AGREE.into() || all.len() == 1
        };
        let long = all.iter().filter(is_long).map(|stretch| stretch.0);
        long.reduce(|all, next| all.cover(&next))
            .or_else(|| all.first().map(|stretch| stretch.0))
    }
}
