//! Checks the chunks of a file while they are read, and then compares the records of the
//! whole file with each other.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Range,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use logtool_core::{Error, Finding, Findings, Result};

use crate::{
    check::{
        CheckInput,
        chunk::{self, ChunkReport},
        codes as code,
        layout::FileLayout,
    },
    chunk::{DecompressedChunk, max_record_len},
    declaration::{Declaration, DeclarationKind},
    wire::op,
};

/// The chunks of a file. Each is checked once, by the thread that reads it.
pub(crate) struct ChunkInspection {
    input: CheckInput,
    layout: FileLayout,
    results: Mutex<InspectionResults>,
}

/// The results so far.
#[derive(Default)]
struct InspectionResults {
    /// The reports on the chunks that were checked, by the index of the chunk in the
    /// layout.
    reports: BTreeMap<usize, ChunkReport>,
    /// The error of a check that failed.
    error: Option<Error>,
}

impl ChunkInspection {
    pub(super) fn new(input: CheckInput, layout: FileLayout) -> Self {
        Self { input, layout, results: Mutex::default() }
    }

    /// Checks the chunk at `position`, whose decompressed content is `decompressed`. Skips a
    /// chunk that is already checked, or that is not in the layout.
    pub(crate) fn check(
        &self,
        position: &Range<u64>,
        decompressed: &DecompressedChunk,
    ) {
        let chunks = &self.layout.chunks;
        let index = chunks
            .binary_search_by_key(&position.start, |chunk| chunk.bytes.start)
            .ok();
        let chunk = index.and_then(|index| Some((index, chunks.get(index)?)));
        let Some((index, chunk)) = chunk.filter(|(_, chunk)| chunk.bytes == *position)
        else {
            return;
        };
        if self.is_checked(index) {
            return;
        }
        let report = chunk::check(chunk, decompressed, &*self.input.source);
        self.with_results(|results| match report {
            Ok(report) => drop(results.reports.insert(index, report)),
            Err(err) => results.error = Some(err),
        });
    }

    /// Returns true if the chunk with the index `index` in the layout is checked.
    fn is_checked(&self, index: usize) -> bool {
        self.with_results(|results| results.reports.contains_key(&index))
    }

    /// Checks the remaining chunks, and adds all results to `findings`.
    pub(crate) fn finish(&self, findings: &mut Findings) -> Result<()> {
        for (index, chunk) in self.layout.chunks.iter().enumerate() {
            let len = chunk.bytes.end - chunk.bytes.start;
            if self.is_checked(index) || len > max_record_len(self.input.options) {
                continue;
            }
            let bytes: Bytes = self.input.source.read_at(chunk.bytes.clone())?;
            let (limits, source) = (&self.input.limits, &*self.input.source);
            if let Some(decompressed) = DecompressedChunk::new(&bytes, limits, source)?
            {
                let decompressed = decompressed.in_file(chunk.bytes.end, source.len());
                self.check(&chunk.bytes, &decompressed);
            }
            self.input.source.release(chunk.bytes.clone());
        }
        let InspectionResults { reports, error } = self.with_results(std::mem::take);
        if let Some(error) = error {
            return Err(error);
        }
        for report in reports.values() {
            report.findings.iter().for_each(|finding| findings.add(finding.clone()));
        }
        let totals = FileTotals::new(&self.layout, &reports);
        // Chunks that cannot be read may contain declarations and messages.
        let are_all_chunks_read = reports.len() == self.layout.chunks.len()
            && !reports.values().any(|report| report.is_damaged);
        if are_all_chunks_read {
            totals.check_undeclared(&reports, findings);
        }
        totals.check_declarations(findings);
        totals.check_unchunked(findings);
        if are_all_chunks_read && self.layout.is_complete {
            totals.check_statistics(findings);
        }
        Ok(())
    }

    /// Calls `access` with the results. Ignores a poisoned lock: the panic of another
    /// thread is propagated elsewhere.
    fn with_results<T>(&self, access: impl FnOnce(&mut InspectionResults) -> T) -> T {
        access(&mut self.results.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Totals of the whole file.
struct FileTotals<'l> {
    layout: &'l FileLayout,
    /// All declarations in the data section, each with the offset of its record or of the
    /// chunk that contains it, in file order.
    declared: Vec<(u64, &'l Declaration)>,
    /// The number of messages of each channel.
    counts: BTreeMap<u16, u64>,
    /// The first and the last log time.
    times: Option<(u64, u64)>,
}

impl<'l> FileTotals<'l> {
    fn new(layout: &'l FileLayout, reports: &'l BTreeMap<usize, ChunkReport>) -> Self {
        let in_chunks = reports.iter().flat_map(|(index, report)| {
            let chunk = layout.chunks.get(*index);
            let offset = chunk.map_or(0, |chunk| chunk.bytes.start);
            report.declared.iter().map(move |declared| (offset, declared))
        });
        let outside =
            layout.declared.iter().map(|(offset, declared)| (*offset, declared));
        let mut declared: Vec<_> = in_chunks.chain(outside).collect();
        declared.sort_by_key(|(offset, _)| *offset);
        let mut counts = layout.outside.counts.clone();
        let counts_in_chunks = reports.values().flat_map(|report| &report.counts);
        for (channel, (count, _)) in counts_in_chunks {
            *counts.entry(*channel).or_default() += count;
        }
        let times = reports.values().filter_map(|report| report.times);
        let times = times.chain(layout.outside.times);
        let times = times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        Self { layout, declared, counts, times }
    }

    /// Checks for messages of channels that are not declared before them.
    fn check_undeclared(
        &self,
        reports: &BTreeMap<usize, ChunkReport>,
        findings: &mut Findings,
    ) {
        let mut first_declarations: HashMap<u16, u64> = HashMap::new();
        for (offset, declared) in &self.declared {
            if let Some(channel) = declared.channel_id() {
                first_declarations.entry(channel).or_insert(*offset);
            }
        }
        let is_declared_before = |channel: u16, offset: u64| {
            first_declarations.get(&channel).is_some_and(|first| *first < offset)
        };
        let mut add = |bytes: Range<u64>, channel: u16, count: u64| {
            let message = format!("messages of channel {channel}");
            let finding = Finding::new(&code::CHANNEL_UNDECLARED, message);
            findings.add(finding.with_bytes(bytes).with_count(count));
        };
        for (index, report) in reports {
            let Some(chunk) = self.layout.chunks.get(*index) else { continue };
            for (channel, (count, is_declared_in_chunk)) in &report.counts {
                if !is_declared_in_chunk
                    && !is_declared_before(*channel, chunk.bytes.start)
                {
                    add(chunk.bytes.clone(), *channel, *count);
                }
            }
        }
        for (offset, channel) in &self.layout.outside.undeclared {
            if !is_declared_before(*channel, *offset) {
                add(*offset..*offset, *channel, 1);
            }
        }
    }

    /// Reports messages beside the chunks of a file that has chunks.
    fn check_unchunked(&self, findings: &mut Findings) {
        let (outside, chunks) = (&self.layout.outside, self.layout.chunks.len());
        if let (Some(start), 1..) = (outside.start, chunks) {
            let count = outside.counts.values().sum();
            let message = format!("the file also has chunks: {chunks}");
            let finding = Finding::new(&code::MESSAGE_UNCHUNKED, message);
            findings.add(finding.with_bytes(start..start).with_count(count));
        }
    }

    /// Compares schemas and channels with each other and with the summary.
    fn check_declarations(&self, findings: &mut Findings) {
        let summary = &self.layout.summary;
        let summary_start = summary.start.unwrap_or(0);
        let in_summary =
            summary.declared.iter().map(|declared| (summary_start, declared));
        let mut first_declarations: HashMap<(u8, u16), &Declaration> = HashMap::new();
        for (offset, declared) in self.declared.iter().copied().chain(in_summary) {
            let first = *first_declarations.entry(declared.key()).or_insert(declared);
            if first.contradicts(declared) {
                let kind = match declared.kind {
                    DeclarationKind::Schema => "schema",
                    DeclarationKind::Channel(..) => "channel",
                };
                let message = format!("{kind} {}", declared.id);
                let finding = Finding::new(&code::ID_REUSED, message);
                findings.add(finding.with_bytes(offset..offset));
            }
        }
        let mut declarations: Vec<_> = first_declarations.values().copied().collect();
        declarations.sort_by_key(|declared| declared.id);
        let summary_channels: HashSet<u16> =
            summary.declared.iter().filter_map(Declaration::channel_id).collect();
        for declared in declarations {
            let DeclarationKind::Channel(topic, schema) = &declared.kind else {
                continue;
            };
            let channel_name = format!("channel {} of {topic:?}", declared.id);
            if *schema == 0 {
                findings
                    .add(Finding::new(&code::CHANNEL_SCHEMALESS, channel_name.clone()));
            } else if !first_declarations.contains_key(&(op::SCHEMA, *schema)) {
                let message = format!("{channel_name} has schema {schema}");
                findings.add(Finding::new(&code::CHANNEL_SCHEMA, message));
            }
            // A summary without channels is valid.
            let has_messages = self.counts.contains_key(&declared.id);
            let must_be_in_summary = has_messages && !summary_channels.is_empty();
            if must_be_in_summary && !summary_channels.contains(&declared.id) {
                findings.add(Finding::new(&code::CHANNEL_SUMMARY, channel_name));
            }
        }
    }

    /// Compares the statistics record with the messages.
    fn check_statistics(&self, findings: &mut Findings) {
        let Some((offset, declared)) = &self.layout.summary.statistics else { return };
        let mut add = |message: String| {
            let finding = Finding::new(&code::STATISTICS, message);
            findings.add(finding.with_bytes(*offset..*offset));
        };
        let total: u64 = self.counts.values().sum();
        if declared.messages != total {
            add(format!(
                "{} messages are declared, but there are {total}",
                declared.messages
            ));
        }
        // An empty map means that the file does not declare these numbers.
        if !declared.channel_counts.is_empty() {
            let channels: BTreeSet<u16> = declared
                .channel_counts
                .keys()
                .chain(self.counts.keys())
                .copied()
                .collect();
            for channel in channels {
                let actual = self.counts.get(&channel).copied().unwrap_or(0);
                let declared_count =
                    declared.channel_counts.get(&channel).copied().unwrap_or(0);
                if declared_count != actual {
                    add(format!(
                        "{declared_count} messages of channel {channel} are declared, but there \
                         are {actual}"
                    ));
                }
            }
        }
        let actual_times = self.times.unwrap_or_default();
        if declared.times != actual_times {
            let ((first, last), (actual_first, actual_last)) =
                (declared.times, actual_times);
            add(format!(
                "times from {first} to {last} are declared, but they are from {actual_first} to \
                 {actual_last}"
            ));
        }
    }
}
