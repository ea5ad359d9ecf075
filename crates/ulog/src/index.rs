//! The index pass: one pass over all messages that finds the topics, the parts and the
//! damage.
//!
//! A ULog has no index, so opening a log means scanning its message headers. The scan
//! checks each header against the declarations and reads the time of each record. It
//! does not touch any other bytes, so that it runs at memory speed.

mod manifest;
pub(crate) mod messages;
mod parts;
mod section_reader;
mod segment;
mod speculative_scan;
mod statistics;
#[cfg(test)]
mod tests;

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
    declarations::metadata::{FileHeader, Metadata},
    format_state::FormatState,
    index::{
        parts::Parts,
        section_reader::{MAX_TWO_MESSAGES, SectionReader, StopReason},
        speculative_scan::SpeculativeScan,
        statistics::Statistics,
    },
    read::file_start::{self, FileStart},
    time::{clock::StreamClock, pauses::Correction},
    topics::{
        registry::{Declaration, Registry},
        resync::{self, MessageDetector},
        streams::DataError,
    },
    wire::{self, kind},
};

/// The maximum number of damaged ranges that are listed separately.
const MAX_DAMAGED_RANGES: usize = 1 << 18;
/// The number of bytes of the file that are searched at once for the next message.
const SEARCH_BYTES: usize = 8 << 20;
/// The number of bytes that a chain of messages may need.
const CHAIN_BYTES: usize = 18 * wire::MAX_MESSAGE_LEN;

/// The maximum number of further passes after corrections of the times.
const MAX_TIME_PASSES: usize = 6;

/// The approximate length of a segment that is scanned speculatively.
const SEGMENT_LEN: u64 = 2 << 20;

/// Builds the manifest of the ULog in `source`, on all threads of the current rayon
/// pool.
pub(crate) fn build_manifest(
    source: &Arc<dyn Source>,
    options: OpenOptions,
) -> Result<(Manifest, FormatState)> {
    build_in_segments(source, options, SEGMENT_LEN)
}

/// Like [`build_manifest`], but with segments of `segment_len` bytes.
fn build_in_segments(
    source: &Arc<dyn Source>,
    options: OpenOptions,
    segment_len: u64,
) -> Result<(Manifest, FormatState)> {
    let mut prior = PriorPass::default();
    let mut pass = IndexPass::run(source, options, segment_len, &prior)?;
    if pass.registry.has_late_types() {
        // A type was defined after its first use: repeat the pass with all types known.
        let late_types = pass.registry.formats.iter();
        let late_types =
            late_types.map(|(name, text)| (name.to_owned(), text.to_owned()));
        prior.types = late_types.collect();
        prior.types.sort_unstable(); // the manifest must be deterministic
        pass = IndexPass::run(source, options, segment_len, &prior)?;
    }
    // Corrected times may contradict the header, and a corrected 32-bit counter may
    // correct narrower ones.
    for _ in 0..MAX_TIME_PASSES {
        if !prior.is_header_wrong && pass.contradicts_header() {
            prior.is_header_wrong = true;
        } else {
            let pauses = pass.registry.streams.pauses();
            if !pauses.is_some_and(|pauses| pauses.add_to(&mut prior.corrections)) {
                break;
            }
        }
        pass = IndexPass::run(source, options, segment_len, &prior)?;
    }
    pass.finish(source.len())
}

/// The findings of earlier passes that change the next pass.
#[derive(Default)]
struct PriorPass {
    /// All types, if one was defined after its first use.
    types: Vec<(String, String)>,
    /// Whether the records contradict the start of logging in the header.
    is_header_wrong: bool,
    /// The correct values of counters after pauses.
    corrections: Vec<Correction>,
}

/// The state of a pass.
struct IndexPass {
    registry: Registry,
    metadata: Metadata,
    declarations: Vec<Declaration>,
    data_start: Option<u64>,
    statistics: Statistics,
    damaged_ranges: Vec<Damage>,
    damage: Vec<Damage>,
    corrections: Vec<Correction>,
    remarks: Vec<String>,
    /// For each unknown message type, the number of messages and the offset of the
    /// first.
    unknown_messages: BTreeMap<u8, (u64, u64)>,
    /// The byte range of the first definition of each type.
    format_ranges: HashMap<String, Range<u64>>,
}

impl IndexPass {
    fn run(
        source: &Arc<dyn Source>,
        options: OpenOptions,
        segment_len: u64,
        prior: &PriorPass,
    ) -> Result<Self> {
        let FileStart { file_header, sections, header_damage } =
            file_start::read(&**source, options)?;
        let first = sections.first().map(|section| section.start);
        let mut registry = Registry::default();
        let mut declarations = Vec::new();
        for (name, text) in &prior.types {
            registry.define(name, text);
            declarations.push(Declaration::Format(name.clone(), text.clone()));
        }
        if !prior.is_header_wrong {
            registry.streams.clock =
                StreamClock::with_start(file_header.start_micros());
        }
        registry.streams.correct(&prior.corrections);
        registry.streams.find_pauses();
        let state = registry.streams.state();
        let mut pass = Self {
            registry,
            metadata: Metadata::new(file_header),
            declarations,
            data_start: None,
            statistics: Statistics::new(Parts::new(source.len(), first, state)),
            damaged_ranges: Vec::new(),
            damage: header_damage.into_iter().collect(),
            corrections: prior.corrections.clone(),
            remarks: Vec::new(),
            unknown_messages: BTreeMap::new(),
            format_ranges: HashMap::new(),
        };
        pass.remarks
            .extend(file_start::remarks(&pass.metadata.file_header, source.len()));
        if prior.is_header_wrong {
            pass.remarks.push(wrong_start_note(&pass.metadata.file_header));
        }
        for section in sections {
            pass.scan_section(source, section, segment_len)?;
        }
        Ok(pass)
    }

    /// Scans the messages of a section. Once the definitions have ended, other threads
    /// scan the next segments speculatively.
    fn scan_section(
        &mut self,
        source: &Arc<dyn Source>,
        section: Range<u64>,
        segment_len: u64,
    ) -> Result<()> {
        let mut reader = SectionReader::new(source, section.clone());
        let segment_len = self.statistics.parts.round_up(segment_len);
        let mut speculative_scan =
            SpeculativeScan::new(source, section.end, segment_len);
        let mut offset = section.start;
        while offset < section.end {
            let has_data = self.data_start.is_some();
            let scan = reader.scan(
                offset,
                speculative_scan.limit(offset),
                |offset, bytes| {
                    self.statistics.parts.advance(offset, &self.registry.streams);
                    has_data.then(|| {
                        self.statistics.message(&mut self.registry.streams, bytes)
                    })?
                },
            )?;
            offset = scan.offset;
            match scan.reason {
                StopReason::Limit => {
                    offset = speculative_scan.merge_next(
                        offset,
                        &mut self.statistics,
                        &mut self.registry.streams,
                    );
                    let streams = &self.registry.streams;
                    if has_data && !streams.have_counters() {
                        speculative_scan.start_segments(
                            offset,
                            &self.statistics,
                            streams,
                        );
                    }
                }
                StopReason::Rejected => {
                    let (bytes, _) = reader.read_at(offset, MAX_TWO_MESSAGES)?;
                    offset = match self.message(offset, &bytes) {
                        Some(len) => offset + len as u64,
                        None => self.skip_damage(&mut reader, offset, section.end)?,
                    };
                }
                StopReason::Short => {
                    let damage =
                        Damage::new(DamageKind::Truncated, offset..section.end);
                    self.add_damaged_range(damage);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Skips the damaged bytes at `start`, in a section that ends at `end`. Returns the offset at
    /// which reading continues.
    fn skip_damage(
        &mut self,
        reader: &mut SectionReader<'_>,
        start: u64,
        end: u64,
    ) -> Result<u64> {
        let mut search_start = start;
        let next = loop {
            let (bytes, is_last) = reader.read_at(search_start, SEARCH_BYTES)?;
            if self.damaged_ranges.len() >= MAX_DAMAGED_RANGES || bytes.is_empty() {
                break None;
            }
            let detector = MessageDetector {
                streams: &self.registry.streams,
                formats: &self.registry.formats,
            };
            let lookahead = if is_last { 0 } else { CHAIN_BYTES };
            if let Some(skipped) = detector.find_next(&bytes, lookahead) {
                break Some(search_start + skipped as u64);
            }
            if is_last {
                break None;
            }
            search_start += (bytes.len() - lookahead) as u64;
        };
        let (bytes, _) = reader.read_at(start, wire::HEADER_LEN)?;
        let is_truncated = next.is_none() && is_truncated(&bytes, end - start);
        let kind =
            if is_truncated { DamageKind::Truncated } else { DamageKind::Garbled };
        let mut damage = Damage::new(kind, start..next.unwrap_or(end));
        if let (Some(next), Some(time_before)) =
            (next, self.registry.streams.clock.last_accepted())
        {
            let time_after = self.time_after(&reader.read_at(next, CHAIN_BYTES)?.0);
            damage.time = time_after
                .filter(|time_after| *time_after >= time_before)
                .map(|time_after| TimeRange {
                    start: Timestamp::from_micros(time_before),
                    end: Timestamp::from_nanos(
                        Timestamp::from_micros(time_after).as_nanos().saturating_add(1),
                    ),
                });
        }
        let next_offset = damage.bytes.end;
        self.add_damaged_range(damage);
        Ok(next_offset)
    }

    /// Returns the time of the first record in `bytes` that has one.
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

    fn add_damaged_range(&mut self, damage: Damage) {
        self.damaged_ranges.push(damage.clone());
        self.damage.push(damage);
    }

    /// Processes the message at the start of `bytes`, which is at the offset `offset`. Returns its
    /// length, or `None` if there is no message.
    fn message(&mut self, offset: u64, bytes: &[u8]) -> Option<usize> {
        let (size, kind) = wire::header(bytes)?;
        let len = wire::HEADER_LEN + size;
        let payload = bytes.get(wire::HEADER_LEN..len)?;
        if kind != kind::DATA {
            return self.process_other(offset, bytes, kind, payload).then_some(len);
        }
        let (id, record) = match wire::data(payload) {
            Some(data) => data,
            None => return self.report_undecodable(offset, bytes, len, None),
        };
        match self.statistics.record(&mut self.registry.streams, id, record) {
            Ok(()) => {
                if self.data_start.is_none() {
                    self.data_start = Some(offset);
                }
                Some(len)
            }
            Err(DataError::WrongLength { topic, time }) => {
                self.report_undecodable(offset, bytes, len, Some(topic))?;
                let epoch = self.registry.streams.clock.epoch;
                self.statistics.wrong_length(topic, time, epoch, record.len());
                self.data_start.get_or_insert(offset);
                Some(len)
            }
            Err(DataError::UnknownId | DataError::OmittedTopic) => {
                let range = offset..offset + len as u64;
                let damage =
                    Damage::new(DamageKind::UnknownTopic, range).with_records(1, None);
                self.report_lost_record(bytes, len, damage)
            }
        }
    }

    /// Reports a message that does not match its type.
    fn report_undecodable(
        &mut self,
        offset: u64,
        bytes: &[u8],
        len: usize,
        topic: Option<TopicId>,
    ) -> Option<usize> {
        let range = offset..offset + len as u64;
        let damage = Damage::new(DamageKind::Undecodable, range).with_records(1, topic);
        self.report_lost_record(bytes, len, damage)
    }

    /// Reports the lost message of length `len` at the start of `bytes` if another message follows
    /// it. Otherwise its header itself is wrong, and the result is `None`.
    fn report_lost_record(
        &mut self,
        bytes: &[u8],
        len: usize,
        damage: Damage,
    ) -> Option<usize> {
        if !self.is_followed_by_message(bytes, len) {
            return None;
        }
        damage.add_to(&mut self.damage);
        Some(len)
    }

    /// Returns true if another message follows the message of length `len` at the start of `bytes`.
    fn is_followed_by_message(&self, bytes: &[u8], len: usize) -> bool {
        let detector = MessageDetector {
            streams: &self.registry.streams,
            formats: &self.registry.formats,
        };
        resync::is_followed_by_message(&detector, bytes.get(len..).unwrap_or_default())
    }
}

/// Returns the note that the start of logging in the header contradicts the records.
fn wrong_start_note(header: &FileHeader) -> String {
    let micros = header.start_micros();
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    format!(
        "the header declares that logging started at {seconds}.{micros:06} s, which \
         contradicts the times of the records; the log starts with its first record"
    )
}

/// Returns true if a message at the start of `bytes` exceeds the `remaining` bytes of its section.
fn is_truncated(bytes: &[u8], remaining: u64) -> bool {
    match wire::header(bytes) {
        None => true,
        Some((size, kind)) => {
            resync::is_known(kind) && (wire::HEADER_LEN + size) as u64 > remaining
        }
    }
}
