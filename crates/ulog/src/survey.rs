//! One pass over all messages: what the log holds, where it can be split, what is lost.
//!
//! A ULog has no index, so opening one means walking its headers. The walk looks at
//! each message's header, checks it against what was declared, and reads the time of
//! each record; everything else it leaves alone, so that it runs at the speed of memory.

mod finish;
mod messages;
mod parts;
mod window;

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{
    Damage, DamageKind, Manifest, OpenOptions, Result, Source, TimeRange, Timestamp,
    TopicId,
};

use crate::{
    anchor::Observations,
    flags,
    header::Header,
    notes::Notes,
    recovery::{self, Judge},
    registry::{Declaration, Registry},
    streams::NoDatum,
    survey::{parts::Parts, window::Window},
    wire::{self, kind},
};

/// How many stretches that cannot be read are told one by one.
const MAX_GAPS: usize = 1 << 18;
/// How much of the file is looked at for the next message after damage, and how much
/// of that a chain of messages may need.
const SEARCH: usize = 8 << 20;
const CHAIN: usize = 18 * wire::MAX_MESSAGE_LEN;

/// Surveys the ULog in `source`.
pub(crate) fn survey(
    source: &Arc<dyn Source>,
    options: OpenOptions,
) -> Result<(Manifest, Notes)> {
    let survey = Survey::run(source, options, Vec::new())?;
    if !survey.registry.has_late_types() {
        return survey.finish(source.len());
    }
    // A type came after its first use: once more, knowing it from the start.
    let late = survey.registry.formats.iter();
    let late = late.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    Survey::run(source, options, late)?.finish(source.len())
}

/// What is known so far.
struct Survey {
    registry: Registry,
    header: Header,
    declarations: Vec<Declaration>,
    data_start: Option<u64>,
    stats: Vec<Stats>,
    parts: Parts,
    time: Times,
    gaps: Vec<Damage>,
    damage: Vec<Damage>,
    remarks: Vec<String>,
    /// Messages of unknown types: how many, and where the first is.
    unknown: BTreeMap<u8, (u64, u64)>,
    /// What topics say of UTC, and where in their records.
    utc: BTreeMap<usize, (u32, Observations)>,
    built_in: BuiltInStats,
}

/// What is counted of a topic.
#[derive(Clone, Copy, Debug)]
struct Stats {
    records: u64,
    bytes: u64,
    time: TimeRange,
    /// Of those of which the times can be right.
    believed: TimeRange,
    /// How many are older than one before them, and how many have times that cannot
    /// be right.
    late: u64,
    odd: u64,
    /// Whether its records report UTC.
    tells_utc: bool,
}

/// What is counted of the topics that are built in.
#[derive(Clone, Copy, Debug, Default)]
struct BuiltInStats {
    strings: u64,
    changes: u64,
    dropouts: u64,
    dropout_millis: u64,
    dropout_longest: u16,
    /// Marks to find the next message by.
    syncs: u64,
}

/// The times of all records that are believed, and how often they jumped.
#[derive(Clone, Debug)]
struct Times {
    /// Since the last jump: how many jumps there were, the range, and how many records.
    epoch: u32,
    range: TimeRange,
    records: u64,
    /// Before that.
    earlier: Vec<(TimeRange, u64)>,
}

impl Survey {
    fn run(
        source: &Arc<dyn Source>,
        options: OpenOptions,
        known: Vec<(String, String)>,
    ) -> Result<Self> {
        let (head, sections) = flags::read(&**source, options)?;
        let mut registry = Registry::default();
        let mut declarations = Vec::new();
        for (name, text) in known {
            registry.define(&name, &text);
            declarations.push(Declaration::Format(name, text));
        }
        let mut survey = Self {
            registry,
            header: Header::new(head),
            declarations,
            data_start: None,
            stats: Vec::new(),
            parts: Parts::new(source.len()),
            time: Times::new(),
            gaps: Vec::new(),
            damage: Vec::new(),
            remarks: Vec::new(),
            unknown: BTreeMap::new(),
            utc: BTreeMap::new(),
            built_in: BuiltInStats::default(),
        };
        survey.remarks.extend(flags::remarks(&survey.header.head, source.len()));
        for section in sections {
            survey.section(source, section)?;
        }
        Ok(survey)
    }

    /// Walks over the messages of a section.
    fn section(
        &mut self,
        source: &Arc<dyn Source>,
        section: std::ops::Range<u64>,
    ) -> Result<()> {
        let mut window = Window::new(source, section.clone());
        let mut at = section.start;
        while at < section.end {
            let (bytes, is_last) = window.at(at, 4 * wire::MAX_MESSAGE_LEN)?;
            if bytes.is_empty() {
                // The source is shorter than it said.
                let lost = Damage::new(DamageKind::Truncated, at..section.end);
                self.gap(lost);
                return Ok(());
            }
            // Every message that begins before this is whole, and so is its next.
            let safe = match is_last {
                true => bytes.len(),
                false => bytes.len() - 2 * wire::MAX_MESSAGE_LEN,
            };
            let mut used = 0;
            while used < safe {
                let here = at + used as u64;
                self.parts.reach(here, &self.registry.streams);
                match self.message(here, &bytes[used..]) {
                    Some(len) => used += len,
                    None => break,
                }
            }
            at += used as u64;
            if used < safe {
                at = self.damaged(&mut window, at, section.end)?;
            }
        }
        Ok(())
    }

    /// Steps over what cannot be read at `at`, and says where reading goes on.
    fn damaged(&mut self, window: &mut Window<'_>, at: u64, end: u64) -> Result<u64> {
        let mut from = at;
        let next = loop {
            let (bytes, is_last) = window.at(from, SEARCH)?;
            if self.gaps.len() >= MAX_GAPS || bytes.is_empty() {
                break None;
            }
            let judge = Judge {
                streams: &self.registry.streams,
                formats: &self.registry.formats,
            };
            let keep = if is_last { 0 } else { CHAIN };
            if let Some(skip) = judge.next(&bytes, keep) {
                break Some(from + skip as u64);
            }
            if is_last {
                break None;
            }
            from += (bytes.len() - keep) as u64;
        };
        let (bytes, _) = window.at(at, wire::HEADER_LEN)?;
        let is_cut = next.is_none() && is_cut(&bytes, end - at);
        let kind = if is_cut { DamageKind::Truncated } else { DamageKind::Garbled };
        let mut lost = Damage::new(kind, at..next.unwrap_or(end));
        if let (Some(next), Some(before)) = (next, self.registry.streams.clock.now()) {
            let after = self.time_after(&window.at(next, CHAIN)?.0);
            lost.time = after.filter(|after| *after >= before).map(|after| TimeRange {
                start: Timestamp::from_micros(before),
                end: Timestamp::from_nanos(
                    Timestamp::from_micros(after).as_nanos().saturating_add(1),
                ),
            });
        }
        let goes_on = lost.bytes.end;
        self.gap(lost);
        Ok(goes_on)
    }

    /// The time of the first record in `bytes` that has one.
    fn time_after(&self, mut bytes: &[u8]) -> Option<u64> {
        for _ in 0..64 {
            let (size, kind) = wire::header(bytes)?;
            let payload = bytes.get(wire::HEADER_LEN..wire::HEADER_LEN + size)?;
            if kind == kind::DATA
                && let Some((id, record)) = wire::data(payload)
                && let Some(time) = self.registry.streams.peek(id, record)
                && time != 0
            {
                return Some(time);
            }
            bytes = bytes.get(wire::HEADER_LEN + size..)?;
        }
        None
    }

    fn gap(&mut self, lost: Damage) {
        self.gaps.push(lost.clone());
        self.damage.push(lost);
    }

    /// Looks at the message at the start of `rest`, which lies at `at`; says how long
    /// it is, or nothing where there is none.
    #[inline]
    fn message(&mut self, at: u64, rest: &[u8]) -> Option<usize> {
        let (size, kind) = wire::header(rest)?;
        let len = wire::HEADER_LEN + size;
        let payload = rest.get(wire::HEADER_LEN..len)?;
        if kind != kind::DATA {
            return self.other(at, rest, kind, payload).then_some(len);
        }
        let (id, record) = match wire::data(payload) {
            Some(data) => data,
            None => return self.misfit(at, rest, len, None),
        };
        match self.registry.streams.datum(id, record) {
            Ok(datum) => {
                let stats = &mut self.stats[datum.stream];
                stats.records += 1;
                stats.bytes += record.len() as u64;
                let time = TimeRange::just(datum.time);
                stats.late += u64::from(time.end < stats.time.end);
                stats.odd += u64::from(!datum.is_believed);
                stats.time = stats.time.cover(&time);
                self.parts.record(datum.stream, &time);
                if datum.is_believed {
                    stats.believed = stats.believed.cover(&time);
                    self.time.believe(self.registry.streams.clock.epoch, &time);
                }
                if stats.tells_utc {
                    self.utc(datum.stream, datum.time, record);
                }
                if self.data_start.is_none() {
                    self.data_start = Some(at);
                }
                Some(len)
            }
            Err(NoDatum::Misfit(topic)) => self.misfit(at, rest, len, Some(topic)),
            Err(NoDatum::Unknown) => {
                let bytes = at..at + len as u64;
                let lost =
                    Damage::new(DamageKind::UnknownTopic, bytes).of_records(1, None);
                self.lost_record(rest, len, lost)
            }
        }
    }

    /// A message that is not what its type says.
    fn misfit(
        &mut self,
        at: u64,
        rest: &[u8],
        len: usize,
        topic: Option<TopicId>,
    ) -> Option<usize> {
        let bytes = at..at + len as u64;
        let lost = Damage::new(DamageKind::Undecodable, bytes).of_records(1, topic);
        self.lost_record(rest, len, lost)
    }

    /// A message that is lost, if one follows on it: else its very header is wrong.
    fn lost_record(&mut self, rest: &[u8], len: usize, lost: Damage) -> Option<usize> {
        if !self.is_sound_after(rest, len) {
            return None;
        }
        lost.add_to(&mut self.damage);
        Some(len)
    }

    /// Whether a message follows on the one of length `len` at the start of `rest`.
    fn is_sound_after(&self, rest: &[u8], len: usize) -> bool {
        let judge =
            Judge { streams: &self.registry.streams, formats: &self.registry.formats };
        recovery::follows(&judge, rest.get(len..).unwrap_or_default())
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
}

/// Whether a message at the start of `bytes` goes beyond the `left` bytes of its section.
fn is_cut(bytes: &[u8], left: u64) -> bool {
    match wire::header(bytes) {
        None => true,
        Some((size, kind)) => {
            recovery::is_known(kind) && (wire::HEADER_LEN + size) as u64 > left
        }
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

    #[cold]
    fn jump(&mut self, epoch: u32) {
        if self.earlier.len() < 1 << 16 {
            self.earlier.push((self.range, self.records));
        }
        (self.epoch, self.range, self.records) = (epoch, TimeRange::EMPTY, 0);
    }

    /// From the first to the last, without single jumps there and back.
    fn range(&self) -> Option<TimeRange> {
        let mut all = self.earlier.clone();
        all.push((self.range, self.records));
        all.retain(|(_, records)| *records > 0);
        let is_long = |stretch: &&(TimeRange, u64)| {
            stretch.1 >= crate::clock::AGREE.into() || all.len() == 1
        };
        let long = all.iter().filter(is_long).map(|stretch| stretch.0);
        long.reduce(|all, next| all.cover(&next))
            .or_else(|| all.first().map(|stretch| stretch.0))
    }
}
