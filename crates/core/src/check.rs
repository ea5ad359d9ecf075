//! Looking for everything that is wrong with a log, whatever its format.
//!
//! One pass over the records shows what can be seen without knowing the format: damage,
//! payloads that cannot be decoded, times that run back, records that are there twice,
//! topics that fall silent, counts that are not true. What only the format knows, its
//! [`Log::check`] adds.

mod counts;
mod damage;
mod inspected;
mod order;
mod period;
#[cfg(test)]
mod tests;
mod trials;
mod twins;

use std::{collections::HashMap, sync::Arc};

use crate::{
    ahead::ReadAhead,
    check::{
        counts::Counts,
        damage::Found,
        inspected::Inspected,
        order::Order,
        period::Periods,
        trials::{Trials, Tried},
        twins::Twins,
    },
    error::Result,
    finding::{Code, Findings, REMARK},
    log::Log,
    manifest::{Part, Selection},
    time::TimeRange,
    topic::TopicSet,
};

/// The codes of what is found in logs of all formats.
pub const CODES: &[&Code] = &[
    &damage::TRUNCATED,
    &damage::GARBLED,
    &damage::UNKNOWN_TOPIC,
    &damage::UNDECODABLE,
    &damage::OVER_LIMIT,
    &damage::DOUBTFUL,
    &damage::INDEX,
    &damage::LATIN1,
    &damage::MISFIT,
    &damage::NO_COLUMN,
    &damage::SURPLUS,
    &counts::RECORDS,
    &counts::OUTSIDE,
    &counts::OVERLAP,
    &order::BACK,
    &order::MIXED,
    &period::GAP,
    &twins::TWIN,
    &REMARK,
];

/// Looks for everything that is wrong with `log`, or odd. `progress` is told, as it
/// goes, how many more bytes are done.
///
/// Parts are unpacked on all processors, once each, as [`ReadAhead`] does it, and their
/// records are decoded on all processors. What depends on the records before is found by
/// the caller.
///
/// # Errors
/// Whatever ends the reading; damage does not.
pub fn check(log: &dyn Log, progress: &dyn Fn(u64)) -> Result<Findings> {
    let mut findings = Findings::default();
    let inspection = log.inspect(&mut findings)?;
    let inspected = Inspected { log, inspection: inspection.as_deref() };
    let selection = Selection::default();
    let mut plan = log.manifest().plan(&selection, 0);
    let ahead = plan.iter().map(|part| (0, part.clone())).collect();
    let mut ahead = ReadAhead::of_logs(vec![(&inspected, selection)], ahead);
    // A part may say more times than those that its records have by themselves.
    let starts = log.manifest().parts.iter().map(|part| part.bytes.start);
    let times: HashMap<u64, TimeRange> = starts.zip(log.part_times()).collect();
    for part in &mut plan {
        part.time = times.get(&part.bytes.start).copied().unwrap_or(part.time);
    }
    let mut pass = Pass::new(log, plan);
    pass.read(&mut ahead, progress)?;
    drop(ahead);
    inspection.map_or(Ok(()), |inspection| inspection.finish(&mut findings))?;
    pass.finish(&mut findings);
    Ok(findings)
}

/// What goes from part to part.
struct Pass<'l> {
    log: &'l dyn Log,
    parts: Vec<Part>,
    /// The part that the last block was of, as an index.
    part: usize,
    /// The topics that are no others' records once more: of those only whether they can be
    /// made is of interest.
    logged: Arc<TopicSet>,
    trials: Trials<'l>,
    damage: Found,
    order: Order,
    twins: Twins,
    periods: Periods,
    counts: Counts,
}

impl<'l> Pass<'l> {
    /// Of `parts` of `log`, which are read in this order.
    fn new(log: &'l dyn Log, parts: Vec<Part>) -> Self {
        let manifest = log.manifest();
        let topic_count = manifest.topics.len();
        let logged = Arc::new(manifest.logged());
        Self {
            log,
            parts,
            part: 0,
            logged: logged.clone(),
            trials: Trials::new(log, logged),
            damage: Found::default(),
            order: Order::new(topic_count),
            twins: Twins::new(topic_count),
            periods: Periods::new(topic_count),
            counts: Counts::new(topic_count),
        }
    }

    /// Reads all parts: begins to try their blocks, and takes those that are tried.
    fn read(
        &mut self,
        ahead: &mut ReadAhead<'_>,
        progress: &dyn Fn(u64),
    ) -> Result<()> {
        for part in 0..self.parts.len() {
            loop {
                let mut begun = self.trials.spare(part);
                let filled = ahead.fill_part(&mut begun.block);
                if !self.or_before(filled)? {
                    self.trials.give(begun);
                    break;
                }
                let next = self.trials.push(begun);
                let mut next = self.or_before(next)?;
                while let Some(tried) = next {
                    self.take(tried)?;
                    next = self.trials.next();
                }
            }
            let bytes = self.parts.get(part).map(|part| part.bytes.clone());
            progress(bytes.map_or(0, |bytes| bytes.end - bytes.start));
        }
        self.take_rest()?;
        self.leave(self.parts.len());
        Ok(())
    }

    /// The same, unless it is an error, and there is one of a block before.
    fn or_before<T>(&mut self, what: Result<T>) -> Result<T> {
        if what.is_err() {
            self.take_rest()?;
        }
        what
    }

    /// Takes all blocks that are begun.
    fn take_rest(&mut self) -> Result<()> {
        while let Some(tried) = self.trials.wait() {
            self.take(tried)?;
        }
        Ok(())
    }

    /// Takes the next block, in the order of the file.
    fn take(&mut self, mut tried: Tried) -> Result<()> {
        if let Some(err) = tried.failed.take() {
            return Err(err);
        }
        let Tried { block, sums, damage, part, .. } = &tried;
        if *part != self.part {
            self.leave(*part);
        }
        self.damage.extend(block.damage());
        if let Some(part) = self.parts.get(*part) {
            let records = block.iter().filter(|r| self.logged.contains(r.topic));
            for (record, sum) in records.zip(sums) {
                self.order.record(&record);
                self.twins.record(&record, *sum);
                self.periods.record(&record);
                self.counts.record(part, &record);
            }
        }
        self.damage.extend(damage);
        self.trials.give(tried);
        Ok(())
    }

    /// Goes on with the part with the index `next`: nobody needs those before it any more.
    fn leave(&mut self, next: usize) {
        for part in self.parts.get(self.part..next).unwrap_or_default() {
            self.log.source().release(part.bytes.clone());
        }
        self.part = next;
        self.counts.enter();
    }

    fn finish(self, findings: &mut Findings) {
        let manifest = self.log.manifest();
        self.counts.tell(manifest, &self.damage, findings);
        self.damage.tell(manifest, findings);
        self.order.tell(findings);
        self.twins.tell(findings);
        self.periods.tell(findings);
        counts::overlaps(self.log, findings);
    }
}
