//! Checks the chunks of a file while they are read, and the whole file when all chunks
//! are known.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use logtool_core::{Error, Finding, FindingCode, Findings, Result};

use crate::{
    check::{
        CheckInput,
        chunk::{self, ChunkSummary},
        codes as code,
        layout::FileLayout,
    },
    chunk::{DecompressedChunk, max_record_len},
    declaration::{Declaration, DeclarationKind},
    wire::op,
};

/// The chunks of a file. Each is checked once, by the thread that reads it.
pub(crate) struct ChunkInspection {
    log: CheckInput,
    layout: FileLayout,
    results: Mutex<InspectionResults>,
}

/// The results so far.
#[derive(Default)]
struct InspectionResults {
    /// The results of each chunk, by its index.
    summaries: BTreeMap<usize, ChunkSummary>,
    failed: Option<Error>,
}

impl ChunkInspection {
    pub(super) fn new(log: CheckInput, layout: FileLayout) -> Self {
        Self { log, layout, results: Mutex::default() }
    }

    /// Checks the chunk at `position`, whose decompressed content is `decompressed`. Skips a chunk
    /// that is already checked, or that is not in the layout.
    pub(crate) fn check(
        &self,
        position: &Range<u64>,
        decompressed: &DecompressedChunk,
    ) {
        let chunks = &self.layout.chunks;
        let index =
            chunks.binary_search_by_key(&position.start, |c| c.bytes.start).ok();
        let chunk = index.and_then(|index| Some((index, chunks.get(index)?)));
        let Some((index, chunk)) = chunk.filter(|(_, chunk)| chunk.bytes == *position)
        else {
            return;
        };
        if self.results(|results| results.summaries.contains_key(&index)) {
            return;
        }
        let summary = chunk::check(chunk, decompressed, &*self.log.source);
        self.results(|results| match summary {
            Ok(summary) => drop(results.summaries.insert(index, summary)),
            Err(err) => results.failed = Some(err),
        });
    }

    /// Checks the remaining chunks, and adds all results to `findings`.
    pub(crate) fn finish(&self, findings: &mut Findings) -> Result<()> {
        for (index, chunk) in self.layout.chunks.iter().enumerate() {
            let is_known =
                self.results(|results| results.summaries.contains_key(&index));
            let len = chunk.bytes.end - chunk.bytes.start;
            if is_known || len > max_record_len(self.log.options) {
                continue;
            }
            let bytes: Bytes = self.log.source.read_at(chunk.bytes.clone())?;
            let limit = self.log.options.record_bytes as usize;
            if let Some(decompressed) = DecompressedChunk::new(&bytes, limit) {
                self.check(&chunk.bytes, &decompressed);
            }
            self.log.source.release(chunk.bytes.clone());
        }
        let InspectionResults { summaries, failed } = self.results(std::mem::take);
        if let Some(failed) = failed {
            return Err(failed);
        }
        let totals = FileTotals::new(&self.layout, &summaries);
        for summary in summaries.values() {
            summary.findings.iter().for_each(|finding| findings.add(finding.clone()));
        }
        totals.check_undeclared(&summaries, findings);
        totals.declarations(findings);
        if self.layout.is_complete
            && !summaries.values().any(|summary| summary.is_damaged)
        {
            totals.statistics(findings);
        }
        Ok(())
    }

    /// Ignores a poisoned lock: the panic of another thread is propagated elsewhere.
    fn results<T>(&self, with: impl FnOnce(&mut InspectionResults) -> T) -> T {
        with(&mut self.results.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Totals of the whole file.
struct FileTotals<'l> {
    layout: &'l FileLayout,
    /// All declarations with their offsets, in file order.
    declared: Vec<(u64, &'l Declaration)>,
    counts: BTreeMap<u16, u64>,
    times: Option<(u64, u64)>,
}

impl<'l> FileTotals<'l> {
    fn new(layout: &'l FileLayout, summary: &'l BTreeMap<usize, ChunkSummary>) -> Self {
        let in_chunks = summary.iter().flat_map(|(index, summary)| {
            let at = layout.chunks.get(*index).map_or(0, |chunk| chunk.bytes.start);
            summary.declared.iter().map(move |declared| (at, declared))
        });
        let outside = layout.declared.iter().map(|(at, declared)| (*at, declared));
        let mut declared: Vec<_> = in_chunks.chain(outside).collect();
        declared.sort_by_key(|(at, _)| *at);
        let mut counts = layout.outside.counts.clone();
        let of_chunks = summary.values().flat_map(|summary| &summary.counts);
        for (channel, (count, _)) in of_chunks {
            *counts.entry(*channel).or_default() += count;
        }
        let times = summary.values().filter_map(|summary| summary.times);
        let times = times.chain(layout.outside.times);
        let times = times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        Self { layout, declared, counts, times }
    }

    /// Checks for messages of channels that are not declared before them.
    fn check_undeclared(
        &self,
        summary: &BTreeMap<usize, ChunkSummary>,
        findings: &mut Findings,
    ) {
        // Unreadable chunks may contain declarations.
        let is_known = summary.len() == self.layout.chunks.len();
        if !is_known || summary.values().any(|summary| summary.is_damaged) {
            return;
        }
        // The offset of the first declaration of each channel.
        let mut first: HashMap<u16, u64> = HashMap::new();
        for (at, declared) in &self.declared {
            if matches!(declared.kind, DeclarationKind::Channel(..)) {
                first.entry(declared.id).or_insert(*at);
            }
        }
        let mut add = |at: Range<u64>, channel: u16, count: u64| {
            let message = format!("messages of channel {channel}");
            let finding = Finding::new(&code::CHANNEL_UNDECLARED, message);
            findings.add(finding.with_bytes(at).with_count(count));
        };
        for (index, summary) in summary {
            let Some(chunk) = self.layout.chunks.get(*index) else { continue };
            for (channel, (count, is_declared)) in &summary.counts {
                let before = first.get(channel);
                if !is_declared && before.is_none_or(|at| *at >= chunk.bytes.start) {
                    add(chunk.bytes.clone(), *channel, *count);
                }
            }
        }
        for (at, channel) in &self.layout.outside.undeclared {
            if first.get(channel).is_none_or(|first| first >= at) {
                add(*at..*at, *channel, 1);
            }
        }
    }

    /// Compares schemas and channels with each other and with the summary.
    fn declarations(&self, findings: &mut Findings) {
        let summary = &self.layout.summary.declared;
        let finding = |at: u64, code: &'static FindingCode, message: String| {
            Finding::new(code, message).with_bytes(at..at)
        };
        let mut first_declarations: HashMap<(u8, u16), &Declaration> = HashMap::new();
        let declarations = self.declared.iter().copied();
        let at_end = self.layout.summary.start.unwrap_or(0);
        for (at, declared) in
            declarations.chain(summary.iter().map(|declaration| (at_end, declaration)))
        {
            let first = *first_declarations.entry(declared.key()).or_insert(declared);
            if first.contradicts(declared) {
                let kind = match declared.kind {
                    DeclarationKind::Schema => "schema",
                    DeclarationKind::Channel(..) => "channel",
                };
                let message = format!("{kind} {}", declared.id);
                findings.add(finding(at, &code::ID_REUSED, message));
            }
        }
        let mut channels: Vec<_> = first_declarations.values().copied().collect();
        channels.sort_by_key(|declared| declared.id);
        let in_summary: HashSet<u16> = summary
            .iter()
            .filter(|declaration| declaration.channel().is_some())
            .map(|declaration| declaration.id)
            .collect();
        for declared in channels {
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
            let is_wanted = has_messages && !in_summary.is_empty();
            if is_wanted && !in_summary.contains(&declared.id) {
                findings.add(Finding::new(&code::CHANNEL_SUMMARY, channel_name));
            }
        }
    }

    /// Checks the statistics record.
    fn statistics(&self, findings: &mut Findings) {
        let Some((at, declared)) = &self.layout.summary.statistics else { return };
        let mut add = |message: String| {
            findings.add(Finding::new(&code::STATISTICS, message).with_bytes(*at..*at));
        };
        let total: u64 = self.counts.values().sum();
        if declared.messages != total {
            add(format!(
                "{} messages are declared, but there are {total}",
                declared.messages
            ));
        }
        let channels: HashSet<u16> =
            declared.of_channels.keys().chain(self.counts.keys()).copied().collect();
        let mut channels: Vec<u16> = channels.into_iter().collect();
        channels.sort_unstable();
        for channel in channels.into_iter().filter(|_| !declared.of_channels.is_empty())
        {
            let actual = self.counts.get(&channel).copied().unwrap_or(0);
            let declared_count =
                declared.of_channels.get(&channel).copied().unwrap_or(0);
            if declared_count != actual {
                add(format!(
                    "{declared_count} messages of channel {channel} are declared, but there are {actual}"
                ));
            }
        }
        let real = self.times.unwrap_or_default();
        if declared.times != real {
            let ((first, last), (from, to)) = (declared.times, real);
            add(format!(
                "times from {first} to {last} are declared, but they are from {from} to {to}"
            ));
        }
    }
}
