//! The chunk that is being filled.

use std::collections::BTreeMap;

use crate::{
    wire::op,
    write::encode::{Records, Told},
};

/// Records that become a chunk.
#[derive(Debug, Default)]
pub(super) struct Filling {
    pub(super) records: Records,
    index: BTreeMap<u16, Vec<(u64, u64)>>,
    times: Option<(u64, u64)>,
}

/// A chunk that is full, and not yet packed.
#[derive(Debug)]
pub(super) struct Full {
    pub(super) bytes: Vec<u8>,
    pub(super) told: Told,
}

impl Filling {
    /// How long the records are.
    pub(super) fn len(&self) -> usize {
        self.records.bytes().len()
    }

    pub(super) fn message(
        &mut self,
        channel: u16,
        sequence: u32,
        log_time: u64,
        publish_time: u64,
        data: &[u8],
    ) {
        let at = self.len() as u64;
        self.records.add(op::MESSAGE, |content| {
            content
                .u16(channel)
                .u32(sequence)
                .u64(log_time)
                .u64(publish_time)
                .raw(data);
        });
        self.index.entry(channel).or_default().push((log_time, at));
        let (start, end) = self.times.unwrap_or((log_time, log_time));
        self.times = Some((start.min(log_time), end.max(log_time)));
    }

    /// The chunk, if it has messages; what follows begins anew, in a buffer of those that are
    /// `spare`. Its CRC-32 is not known yet.
    pub(super) fn take(&mut self, spare: &mut Vec<Vec<u8>>) -> Option<Full> {
        let (start, end) = self.times.take()?;
        let bytes = self.records.take_for(spare.pop().unwrap_or_default());
        let mut index = std::mem::take(&mut self.index);
        index.values_mut().for_each(|entries| entries.sort_by_key(|(time, _)| *time));
        let (size, crc) = (bytes.len() as u64, 0);
        Some(Full { bytes, told: Told { start, end, size, crc, index } })
    }
}
