//! A chunk against what it says, and its message indexes against it.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::{ByteReader, Finding, Findings, Result, Source, TimeRange};

use crate::{
    check::{codes as code, declared::Declared, layout::ChunkSeen},
    chunk::{Opened, Unpacked},
    contents::{self, Met},
    wire::{self, HEAD_LEN, op, timestamp},
};

/// No longer index is looked at.
const MAX_INDEX: u64 = 64 << 20;

/// What is to be known of a chunk that was looked into.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) findings: Findings,
    pub(super) declared: Vec<Declared>,
    /// The numbers of the channels among them.
    channels: BTreeSet<u16>,
    /// How many messages there are of each channel, and whether it is declared before
    /// them in the chunk.
    pub(super) counts: BTreeMap<u16, (u64, bool)>,
    /// The first and the last time.
    pub(super) times: Option<(u64, u64)>,
    /// Whether something in it could not be read.
    pub(super) is_damaged: bool,
}

/// A message: where its record begins in the chunk, its channel, its time.
type Place = (u64, u16, u64);

/// Looks into `seen`, of which `opened` is what is in it.
pub(super) fn look(
    seen: &ChunkSeen,
    opened: &Opened,
    source: &dyn Source,
) -> Result<Looked> {
    let mut looked = Looked::default();
    let mut messages: Vec<Place> = Vec::new();
    contents::walk(&opened.records, |met| match met {
        Met::Record(op::MESSAGE, content, range) => {
            if let Some((channel, time)) = wire::message(content) {
                messages.push(((range.start - HEAD_LEN) as u64, channel, time));
                looked.message(channel, time);
            }
        }
        Met::Record(op @ (op::SCHEMA | op::CHANNEL), content, _) => {
            let declared = Declared::of(op, content);
            looked.channels.extend(declared.as_ref().and_then(Declared::channel));
            looked.declared.extend(declared);
        }
        Met::Record(op, ..) => {
            let what = format!("a chunk has a record of the kind {op:#04x}");
            let finding = Finding::new(&code::RECORD_UNKNOWN, what);
            looked.findings.add(finding.at(seen.bytes.clone()));
        }
        Met::Gap(_) => looked.is_damaged = true,
    });
    looked.itself(seen, opened);
    if !looked.is_damaged {
        looked.indexes(seen, &messages, source)?;
    }
    Ok(looked)
}

impl Looked {
    fn message(&mut self, channel: u16, time: u64) {
        let is_declared = || self.channels.contains(&channel);
        self.counts.entry(channel).or_insert_with(|| (0, is_declared())).0 += 1;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
    }

    /// The size, the checksum and the times.
    fn itself(&mut self, seen: &ChunkSeen, opened: &Opened) {
        let (start, end, size, compression) = &seen.told;
        let bytes = || seen.bytes.clone();
        match opened.how {
            Unpacked::Whole => {}
            Unpacked::Doubtful => {
                let what = "the checksum of what was unpacked is another one";
                self.findings.add(Finding::new(&code::CHUNK_CRC, what).at(bytes()));
            }
            Unpacked::Unknown => {
                let what = format!("it is packed with {compression:?}");
                self.findings.add(Finding::new(&code::CHUNK_PACKING, what).at(bytes()));
                self.is_damaged = true;
            }
            Unpacked::Broken | Unpacked::OverLimit => self.is_damaged = true,
        }
        let is = opened.records.len() as u64;
        if opened.is_ended && is != *size {
            let what = format!("it says {size} bytes, and has {is}");
            self.findings.add(Finding::new(&code::CHUNK_SIZE, what).at(bytes()));
        }
        let outside = self.times.filter(|(first, last)| first < start || last > end);
        if let Some((first, last)) = outside {
            let first = TimeRange::from_timestamp(timestamp(first));
            let real = first.cover(&TimeRange::from_timestamp(timestamp(last)));
            let what = "it has messages before or after the times that it says";
            let finding = Finding::new(&code::CHUNK_TIME, what).at(bytes());
            self.findings.add(finding.during(real));
        }
    }

    /// The message indexes that follow on the chunk.
    fn indexes(
        &mut self,
        seen: &ChunkSeen,
        messages: &[Place],
        source: &dyn Source,
    ) -> Result<()> {
        let mut indexed: BTreeMap<u16, u64> = BTreeMap::new();
        for (channel, bytes) in &seen.indexes {
            if bytes.end - bytes.start > MAX_INDEX {
                return Ok(());
            }
            let record = source.read_at(bytes.clone())?;
            let content = record.get(HEAD_LEN..).unwrap_or_default();
            let mut entries =
                ByteReader::new(wire::message_index(content).unwrap_or_default());
            let count = indexed.entry(*channel).or_default();
            while let (Some(time), Some(at)) = (entries.u64(), entries.u64()) {
                *count += 1;
                let found = messages.binary_search_by_key(&at, |(place, ..)| *place);
                let found = found.ok().and_then(|found| messages.get(found));
                if found != Some(&(at, *channel, time)) {
                    let what = format!(
                        "of channel {channel}, no message of the time {time} is at byte \
                         {at} of the chunk"
                    );
                    let finding = Finding::new(&code::MESSAGE_INDEX_OFFSET, what);
                    self.findings.add(finding.at(bytes.clone()));
                }
            }
        }
        if seen.indexes.is_empty() {
            return Ok(()); // a file may do without
        }
        for (channel, (is, _)) in &self.counts {
            let told = indexed.get(channel).copied().unwrap_or(0);
            if told != *is {
                let what = format!(
                    "it has {told} messages of channel {channel}, and the chunk has {is}"
                );
                let finding = Finding::new(&code::MESSAGE_INDEX_COUNT, what);
                self.findings.add(finding.at(seen.bytes.clone()));
            }
        }
        Ok(())
    }
}
