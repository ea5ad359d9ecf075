//! The chunks of a file, looked into as somebody opens them; and what can be said when all
//! of them are known.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use logtool_core::{Code, Error, Finding, Findings, Result};

use crate::{
    check::{
        Checked,
        chunk::{self, Looked},
        codes as code,
        declared::{Declared, Kind},
        layout::Layout,
    },
    chunk::{Opened, most},
};

/// The chunks of a file, each to be looked into once, by whichever thread opens it.
pub(crate) struct Inside {
    log: Checked,
    layout: Layout,
    found: Mutex<Found>,
}

/// What was found so far.
#[derive(Default)]
struct Found {
    /// By their numbers.
    looked: BTreeMap<usize, Looked>,
    failed: Option<Error>,
}

impl Inside {
    pub(super) fn new(log: Checked, layout: Layout) -> Self {
        Self { log, layout, found: Mutex::default() }
    }

    /// Looks into the chunk at `place`, which is opened, unless it was looked into, or is
    /// none of those that lie between the other records.
    pub(crate) fn look(&self, place: &Range<u64>, opened: &Opened) {
        let chunks = &self.layout.chunks;
        let number = chunks.binary_search_by_key(&place.start, |c| c.bytes.start).ok();
        let seen = number.and_then(|number| Some((number, chunks.get(number)?)));
        let Some((number, seen)) = seen.filter(|(_, seen)| seen.bytes == *place) else {
            return;
        };
        if self.found(|found| found.looked.contains_key(&number)) {
            return;
        }
        let looked = chunk::look(seen, opened, &*self.log.source);
        self.found(|found| match looked {
            Ok(looked) => drop(found.looked.insert(number, looked)),
            Err(err) => found.failed = Some(err),
        });
    }

    /// Looks into the chunks that nobody opened, and adds all that was found to
    /// `findings`.
    pub(crate) fn finish(&self, findings: &mut Findings) -> Result<()> {
        for (number, seen) in self.layout.chunks.iter().enumerate() {
            let is_known = self.found(|found| found.looked.contains_key(&number));
            let len = seen.bytes.end - seen.bytes.start;
            if is_known || len > most(self.log.options) {
                continue;
            }
            let bytes: Bytes = self.log.source.read_at(seen.bytes.clone())?;
            let limit = self.log.options.record_bytes as usize;
            if let Some(opened) = Opened::new(&bytes, limit) {
                self.look(&seen.bytes, &opened);
            }
            self.log.source.release(seen.bytes.clone());
        }
        let Found { looked, failed } = self.found(std::mem::take);
        if let Some(failed) = failed {
            return Err(failed);
        }
        let all = All::new(&self.layout, &looked);
        for looked in looked.values() {
            looked.findings.iter().for_each(|finding| findings.add(finding.clone()));
        }
        all.undeclared(&looked, findings);
        all.declarations(findings);
        if self.layout.is_whole && !looked.values().any(|looked| looked.is_damaged) {
            all.statistics(findings);
        }
        Ok(())
    }

    /// Also after a panic elsewhere, which is carried on by itself.
    fn found<T>(&self, with: impl FnOnce(&mut Found) -> T) -> T {
        with(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What there is in all of the file.
struct All<'l> {
    layout: &'l Layout,
    /// Where each is declared, in the order of the file.
    declared: Vec<(u64, &'l Declared)>,
    counts: BTreeMap<u16, u64>,
    times: Option<(u64, u64)>,
}

impl<'l> All<'l> {
    fn new(layout: &'l Layout, looked: &'l BTreeMap<usize, Looked>) -> Self {
        let in_chunks = looked.iter().flat_map(|(number, looked)| {
            let at = layout.chunks.get(*number).map_or(0, |seen| seen.bytes.start);
            looked.declared.iter().map(move |declared| (at, declared))
        });
        let outside = layout.declared.iter().map(|(at, declared)| (*at, declared));
        let mut declared: Vec<_> = in_chunks.chain(outside).collect();
        declared.sort_by_key(|(at, _)| *at);
        let mut counts = layout.outside.counts.clone();
        let of_chunks = looked.values().flat_map(|looked| &looked.counts);
        for (channel, (count, _)) in of_chunks {
            *counts.entry(*channel).or_default() += count;
        }
        let times = looked.values().filter_map(|looked| looked.times);
        let times = times.chain(layout.outside.times);
        let times = times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        Self { layout, declared, counts, times }
    }

    /// Messages of channels that are not declared before them.
    fn undeclared(&self, looked: &BTreeMap<usize, Looked>, findings: &mut Findings) {
        // What cannot be read may declare some.
        let is_known = looked.len() == self.layout.chunks.len();
        if !is_known || looked.values().any(|looked| looked.is_damaged) {
            return;
        }
        // Where each channel is first declared.
        let mut first: HashMap<u16, u64> = HashMap::new();
        for (at, declared) in &self.declared {
            if matches!(declared.kind, Kind::Channel(..)) {
                first.entry(declared.id).or_insert(*at);
            }
        }
        let mut tell = |at: Range<u64>, channel: u16, count: u64| {
            let what = format!("messages of channel {channel}");
            let finding = Finding::new(&code::CHANNEL_UNDECLARED, what);
            findings.add(finding.at(at).times(count));
        };
        for (number, looked) in looked {
            let Some(seen) = self.layout.chunks.get(*number) else { continue };
            for (channel, (count, is_declared)) in &looked.counts {
                let before = first.get(channel);
                if !is_declared && before.is_none_or(|at| *at >= seen.bytes.start) {
                    tell(seen.bytes.clone(), *channel, *count);
                }
            }
        }
        for (at, channel) in &self.layout.outside.undeclared {
            if first.get(channel).is_none_or(|first| first >= at) {
                tell(*at..*at, *channel, 1);
            }
        }
    }

    /// Schemas and channels against each other, and against the summary.
    fn declarations(&self, findings: &mut Findings) {
        let summary = &self.layout.summary.declared;
        let told = |at: u64, code: &'static Code, what: String| {
            Finding::new(code, what).at(at..at)
        };
        let mut known: HashMap<(bool, u16), &Declared> = HashMap::new();
        let all = self.declared.iter().copied();
        let at_end = self.layout.summary.start.unwrap_or(0);
        for (at, declared) in all.chain(summary.iter().map(|one| (at_end, one))) {
            let key = (declared.kind == Kind::Schema, declared.id);
            let first = *known.entry(key).or_insert(declared);
            if first.contradicts(declared) {
                let kind = if key.0 { "schema" } else { "channel" };
                let what = format!("{kind} {}", declared.id);
                findings.add(told(at, &code::ID_REUSED, what));
            }
        }
        let mut channels: Vec<_> = known.values().copied().collect();
        channels.sort_by_key(|declared| declared.id);
        let in_summary: HashSet<u16> = summary
            .iter()
            .filter(|one| one.channel().is_some())
            .map(|one| one.id)
            .collect();
        for declared in channels {
            let Kind::Channel(topic, schema) = &declared.kind else { continue };
            let what = format!("channel {} of {topic:?}", declared.id);
            if *schema == 0 {
                findings.add(Finding::new(&code::CHANNEL_SCHEMALESS, what.clone()));
            } else if !known.contains_key(&(true, *schema)) {
                let what = format!("{what} has schema {schema}");
                findings.add(Finding::new(&code::CHANNEL_SCHEMA, what));
            }
            // A summary may do without channels.
            let has_messages = self.counts.contains_key(&declared.id);
            let is_wanted = has_messages && !in_summary.is_empty();
            if is_wanted && !in_summary.contains(&declared.id) {
                findings.add(Finding::new(&code::CHANNEL_SUMMARY, what));
            }
        }
    }

    /// The statistics.
    fn statistics(&self, findings: &mut Findings) {
        let Some((at, told)) = &self.layout.summary.statistics else { return };
        let mut tell = |what: String| {
            findings.add(Finding::new(&code::STATISTICS, what).at(*at..*at));
        };
        let total: u64 = self.counts.values().sum();
        if told.messages != total {
            tell(format!("{} messages, and there are {total}", told.messages));
        }
        let channels: HashSet<u16> =
            told.of_channels.keys().chain(self.counts.keys()).copied().collect();
        let mut channels: Vec<u16> = channels.into_iter().collect();
        channels.sort_unstable();
        for channel in channels.into_iter().filter(|_| !told.of_channels.is_empty()) {
            let is = self.counts.get(&channel).copied().unwrap_or(0);
            let said = told.of_channels.get(&channel).copied().unwrap_or(0);
            if said != is {
                tell(format!(
                    "{said} messages of channel {channel}, and there are {is}"
                ));
            }
        }
        let real = self.times.unwrap_or_default();
        if told.times != real {
            let ((first, last), (from, to)) = (told.times, real);
            tell(format!(
                "times from {first} to {last}, and they are from {from} to {to}"
            ));
        }
    }
}
