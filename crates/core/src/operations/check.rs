//! Checking a log of any format for errors and anomalies.
//!
//! One pass over the records finds everything that does not require knowledge of the
//! format: damage, payloads that cannot be decoded, times that run backwards, duplicate
//! records, gaps in regular topics, and wrong counts. [`Log::check`] adds the findings
//! that are specific to the format.

mod counts;
mod damage;
mod duplicates;
mod inspected_log;
mod order;
mod period;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use crate::{
    error::Result,
    log::Log,
    model::{
        finding::{FindingCode, Findings, REMARK},
        manifest::{Part, Selection},
        time::{TimeRange, Timestamp},
        topic::TopicSet,
    },
    operations::{
        check::{
            counts::RecordCounts, damage::DamageSummary, duplicates::DuplicateFinder,
            inspected_log::InspectedLog, order::TimeOrder, period::RecordIntervals,
        },
        read_ahead::ReadAhead,
        trial_decode::{PayloadHashing, TrialDecoder, TrialResult},
    },
    record::block::{Block, TopicSort},
};

/// The codes of the findings in logs of all formats.
pub const CODES: &[&FindingCode] = &[
    &damage::TRUNCATED,
    &damage::GARBLED,
    &damage::UNKNOWN_TOPIC,
    &damage::UNDECODABLE,
    &damage::OVER_LIMIT,
    &damage::DOUBTFUL,
    &damage::INDEX,
    &damage::LATIN1,
    &damage::INCOMPLETE_TEXT,
    &damage::TYPE_MISMATCH,
    &damage::NO_COLUMN,
    &damage::UNSUPPORTED,
    &damage::EXTRA_BYTES,
    &counts::RECORDS,
    &counts::OUTSIDE,
    &counts::OVERLAP,
    &order::BACK,
    &order::MIXED,
    &period::GAP,
    &duplicates::DUPLICATE,
    &REMARK,
];

/// Checks `log` for errors and anomalies. `progress` is called with the number of further
/// bytes that are done.
///
/// All processors decompress the parts, each part once, with [`ReadAhead`], and decode
/// the records. The calling thread does the checks that depend on earlier records.
///
/// # Errors
/// Errors of reading the source. Damage is not an error.
pub fn check(log: &dyn Log, progress: &dyn Fn(u64)) -> Result<Findings> {
    let mut findings = Findings::default();
    let inspection = log.inspect(&mut findings)?;
    let inspected = InspectedLog { log, inspection: inspection.as_deref() };
    let hashing = PayloadHashing {
        topics: Arc::new(log.manifest().logged_topics()),
        hash: duplicates::hash,
    };
    let trial_decoder = TrialDecoder::new(&inspected, Some(hashing));
    let selection = Selection::default();
    let plan = log.manifest().plan(&selection, 0);
    // The time of a part may also cover derived records, which are not checked.
    let part_starts = log.manifest().parts.iter().map(|part| part.bytes.start);
    let part_times: HashMap<u64, TimeRange> =
        part_starts.zip(log.part_times()).collect();
    let mut read_ahead = ReadAhead::new(&trial_decoder, plan.clone(), selection);
    let mut pass = CheckPass::new(log);
    for mut part in plan {
        if let Some(time) = part_times.get(&part.bytes.start) {
            part.time = *time;
        }
        pass.check_part(&part, &trial_decoder, &mut read_ahead)?;
        progress(part.bytes.end - part.bytes.start);
    }
    drop(read_ahead);
    if let Some(inspection) = inspection {
        inspection.finish(&mut findings)?;
    }
    pass.finish(&mut findings);
    Ok(findings)
}

/// The state that continues from part to part.
struct CheckPass<'l> {
    log: &'l dyn Log,
    /// The topics that are not derived. Derived records are only checked for whether they
    /// can be decoded.
    logged_topics: TopicSet,
    damage: DamageSummary,
    order: TimeOrder,
    duplicates: DuplicateFinder,
    intervals: RecordIntervals,
    counts: RecordCounts,
    block: Block,
    sort: TopicSort,
}

impl<'l> CheckPass<'l> {
    fn new(log: &'l dyn Log) -> Self {
        let manifest = log.manifest();
        let topic_count = manifest.topics.len();
        let start = manifest.time.map_or(Timestamp::MIN, |time| time.start);
        Self {
            log,
            logged_topics: manifest.logged_topics(),
            damage: DamageSummary::default(),
            order: TimeOrder::new(topic_count),
            duplicates: DuplicateFinder::new(topic_count),
            intervals: RecordIntervals::new(topic_count, start),
            counts: RecordCounts::new(topic_count),
            block: Block::default(),
            sort: TopicSort::default(),
        }
    }

    /// Checks `part`, which must be the next one.
    fn check_part(
        &mut self,
        part: &Part,
        trial_decoder: &TrialDecoder<'_>,
        read_ahead: &mut ReadAhead<'_>,
    ) -> Result<()> {
        let mut block = std::mem::take(&mut self.block);
        self.counts.start_part();
        let mut has_more = read_ahead.fill_part(&mut block)?;
        let trial_results = trial_decoder.next_part();
        while has_more {
            let TrialResult { hashes, decoded } = trial_results.next(&block);
            self.damage.extend(block.damage());
            let records = block
                .headers()
                .filter(|record| self.logged_topics.contains(record.topic));
            for (record, hash) in records.zip(hashes) {
                // Records from before the start of logging are always older than others, and
                // the format counts them.
                if !self.log.manifest().is_before_start(record.time) {
                    self.order.record(&record);
                }
                self.duplicates.record(&record, hash);
                self.intervals.record(&record);
                self.counts.record(part, &record);
            }
            let damage = match decoded {
                Some(decoded) => decoded?,
                None => trial_decoder.decode(&block, &mut self.sort)?,
            };
            self.damage.extend(&damage);
            has_more = read_ahead.fill_part(&mut block)?;
        }
        self.block = block;
        Ok(())
    }

    fn finish(self, findings: &mut Findings) {
        let manifest = self.log.manifest();
        self.counts.report(manifest, &self.damage, findings);
        self.damage.report(manifest, findings);
        self.order.report(findings);
        self.duplicates.report(findings);
        self.intervals.report(findings);
        counts::report_overlaps(self.log, findings);
    }
}
