//! One pass over all messages: what the log holds, where it can be split, what is lost.
//!
//! A ULog has no index, so opening one means walking its headers. The walk looks at
//! each message's header, checks it against what was declared, and reads the time of
//! each record; everything else it leaves alone, so that it runs at the speed of memory.

mod ahead;
mod finish;
mod messages;
mod parts;
mod segment;
mod statistics;
#[cfg(test)]
mod tests;
mod window;

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::Arc,
};

use logtool_core::{
    Damage, DamageKind, Manifest, OpenOptions, Result, Source, TimeRange, Timestamp,
    TopicId,
};

use crate::{
    clock::StreamClock,
    flags::{self, Opening},
    header::{Head, Header},
    notes::Notes,
    pauses::Correction,
    recovery::{self, Judge},
    registry::{Declaration, Registry},
    streams::NoDatum,
    survey::{
        ahead::Ahead,
        parts::Parts,
        statistics::Tally,
        window::{End, IN_SIGHT, Window},
    },
    wire::{self, kind},
};

/// How many stretches that cannot be read are told one by one.
const MAX_GAPS: usize = 1 << 18;
/// How much of the file is looked at for the next message after damage, and how much
/// of that a chain of messages may need.
const SEARCH: usize = 8 << 20;
const CHAIN: usize = 18 * wire::MAX_MESSAGE_LEN;

/// How often a log is surveyed again after a pass has corrected its times.
const TIME_PASSES: usize = 6;

/// About how many bytes are walked over at a time by those who go ahead.
const STRETCH: u64 = 2 << 20;

/// Surveys the ULog in `source`, on all threads of the current rayon pool.
pub(crate) fn survey(
    source: &Arc<dyn Source>,
    options: OpenOptions,
) -> Result<(Manifest, Notes)> {
    survey_in(source, options, STRETCH)
}

/// The same, in stretches of `len` bytes.
fn survey_in(
    source: &Arc<dyn Source>,
    options: OpenOptions,
    len: u64,
) -> Result<(Manifest, Notes)> {
    let mut known = Known::default();
    let mut survey = Survey::run(source, options, len, &known)?;
    if survey.registry.has_late_types() {
        // A type came after its first use: once more, knowing it from the start.
        let late = survey.registry.formats.iter();
        let late = late.map(|(name, text)| (name.to_owned(), text.to_owned()));
        known.types = late.collect();
        known.types.sort_unstable(); // the same logs become the same
        survey = Survey::run(source, options, len, &known)?;
    }
    // Corrected times may contradict the header, and a corrected counter of 32 bits may
    // correct those of fewer.
    for _ in 0..TIME_PASSES {
        if !known.is_header_wrong && survey.contradicts_header() {
            known.is_header_wrong = true;
        } else {
            let pauses = survey.registry.streams.pauses();
            if !pauses.is_some_and(|pauses| pauses.add_to(&mut known.corrections)) {
                break;
            }
        }
        survey = Survey::run(source, options, len, &known)?;
    }
    survey.finish(source.len())
}

/// What an earlier pass over the log found out.
#[derive(Default)]
struct Known {
    /// The types, if one came after its first use.
    types: Vec<(String, String)>,
    /// Whether the records contradict the start of logging in the header.
    is_header_wrong: bool,
    /// The right values of counters after pauses.
    corrections: Vec<Correction>,
}

/// What is known so far.
struct Survey {
    registry: Registry,
    header: Header,
    declarations: Vec<Declaration>,
    data_start: Option<u64>,
    tally: Tally,
    gaps: Vec<Damage>,
    damage: Vec<Damage>,
    corrections: Vec<Correction>,
    remarks: Vec<String>,
    /// Messages of unknown types: how many, and where the first is.
    unknown: BTreeMap<u8, (u64, u64)>,
    /// The bytes of the first definition of each type.
    formats_at: HashMap<String, Range<u64>>,
}

impl Survey {
    fn run(
        source: &Arc<dyn Source>,
        options: OpenOptions,
        stretch: u64,
        known: &Known,
    ) -> Result<Self> {
        let Opening { head, sections, lost } = flags::read(&**source, options)?;
        let first = sections.first().map(|section| section.start);
        let mut registry = Registry::default();
        let mut declarations = Vec::new();
        for (name, text) in &known.types {
            registry.define(name, text);
            declarations.push(Declaration::Format(name.clone(), text.clone()));
        }
        if !known.is_header_wrong {
            registry.streams.clock = StreamClock::starting(head.start_micros());
        }
        registry.streams.correct(&known.corrections);
        registry.streams.find_pauses();
        let state = registry.streams.state();
        let mut survey = Self {
            registry,
            header: Header::new(head),
            declarations,
            data_start: None,
            tally: Tally::new(Parts::new(source.len(), first, state)),
            gaps: Vec::new(),
            damage: lost.into_iter().collect(),
            corrections: known.corrections.clone(),
            remarks: Vec::new(),
            unknown: BTreeMap::new(),
            formats_at: HashMap::new(),
        };
        survey.remarks.extend(flags::remarks(&survey.header.head, source.len()));
        if known.is_header_wrong {
            survey.remarks.push(header_is_wrong(&survey.header.head));
        }
        for section in sections {
            survey.section(source, section, stretch)?;
        }
        Ok(survey)
    }

    /// Walks over the messages of a section; others go ahead, once it is known what
    /// the data are of.
    fn section(
        &mut self,
        source: &Arc<dyn Source>,
        section: Range<u64>,
        stretch: u64,
    ) -> Result<()> {
        let mut window = Window::new(source, section.clone());
        let stretch = self.tally.parts.about(stretch);
        let mut ahead = Ahead::new(source, section.end, stretch);
        let mut at = section.start;
        while at < section.end {
            let has_begun = self.data_start.is_some();
            let walked = window.walk(at, ahead.limit(at), |at, rest| {
                self.tally.parts.reach(at, &self.registry.streams);
                has_begun
                    .then(|| self.tally.message(&mut self.registry.streams, rest))?
            })?;
            at = walked.at;
            match walked.end {
                End::Limit => {
                    at = ahead.take(at, &mut self.tally, &mut self.registry.streams);
                    let streams = &self.registry.streams;
                    if has_begun && !streams.have_counters() {
                        ahead.begin(at, &self.tally, streams);
                    }
                }
                End::Refused => {
                    let (bytes, _) = window.at(at, IN_SIGHT)?;
                    at = match self.message(at, &bytes) {
                        Some(len) => at + len as u64,
                        None => self.damaged(&mut window, at, section.end)?,
                    };
                }
                End::Short => {
                    let lost = Damage::new(DamageKind::Truncated, at..section.end);
                    self.gap(lost);
                    return Ok(());
                }
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
        match self.tally.record(&mut self.registry.streams, id, record) {
            Ok(()) => {
                if self.data_start.is_none() {
                    self.data_start = Some(at);
                }
                Some(len)
            }
            Err(NoDatum::Misfit(topic)) => self.misfit(at, rest, len, Some(topic)),
            Err(NoDatum::Unknown) => {
                let bytes = at..at + len as u64;
                let lost =
                    Damage::new(DamageKind::UnknownTopic, bytes).with_records(1, None);
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
        let lost = Damage::new(DamageKind::Undecodable, bytes).with_records(1, topic);
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
}

/// Tells that the start of logging by the `head` is not that of the records.
fn header_is_wrong(head: &Head) -> String {
    let micros = head.start_micros();
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    format!(
        "the header says that logging started at {seconds}.{micros:06} s, which the times \
         of the records contradict: the log starts with its first record"
    )
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
