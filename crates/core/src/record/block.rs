//! Blocks of records: the unit in which records are read and sent between threads.

mod encoded_records;
mod record_copies;
mod record_header;
mod split;
mod topic_sort;

use std::ops::Range;

use bytes::Bytes;

use crate::model::{
    clock_transform::ClockTransform,
    damage::{Damage, DamageKind},
    time::Timestamp,
    topic::TopicId,
};

pub use self::topic_sort::TopicSort;
pub(crate) use self::{record_copies::RecordCopies, record_header::RecordHeader};

/// A block is sparse if its records take at most one in this number of its bytes. Then
/// copies of the records are kept instead.
const SPARSE_DIVISOR: usize = 4;

/// The maximum size in bytes of a block of copied records that is recycled.
const MAX_RECYCLED_COPY_BYTES: usize = 1 << 20;

/// One record, borrowed from its [`Block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'b> {
    /// The topic.
    pub topic: TopicId,
    /// The source of the record among several sources of its topic, if the format
    /// distinguishes them: an index into [`Manifest::streams`](crate::Manifest::streams),
    /// e.g. the connection of a bag. Otherwise 0.
    pub stream: u32,
    /// The time at which it was logged.
    pub time: Timestamp,
    /// The payload in the encoding of its topic. It is not validated.
    pub payload: &'b [u8],
    /// The file offset of the payload, or of the compressed chunk that contains it.
    pub offset: u64,
}

impl Record<'_> {
    /// Returns the damage to report if the payload cannot be decoded.
    pub fn undecodable_damage(&self) -> Damage {
        let bytes = self.offset..self.offset + self.payload.len() as u64;
        Damage::new(DamageKind::Undecodable, bytes).with_records(1, Some(self.topic))
    }

    /// Returns the damage to report if the last `bytes` bytes of the payload belong to no
    /// field.
    pub fn extra_bytes_damage(&self, bytes: usize) -> Damage {
        self.undecodable_damage()
            .with_kind(DamageKind::ExtraBytes)
            .with_lost_bytes(bytes as u64)
    }
}

/// A sequence of bytes of a log, the records in it, and the damage between them.
///
/// A block owns its bytes, or shares them with the source if possible. So it can be kept
/// or sent to another thread independently of its cursor. It is also a reusable buffer: a
/// loop over a whole log allocates only one.
#[derive(Clone, Debug, Default)]
pub struct Block {
    bytes: Bytes,
    origin: BlockOrigin,
    entries: Vec<RecordEntry>,
    damage: Vec<Damage>,
    /// The encoded records.
    encoded: Vec<u8>,
}

/// The position of the block's bytes in the file.
#[derive(Clone, Debug)]
enum BlockOrigin {
    /// The block is a copy or a slice of the file from this offset.
    Plain(u64),
    /// The block was decompressed from the chunk at this offset.
    Decompressed(u64),
    /// The block contains copied payloads: the start of each in the block, and its file
    /// offset.
    Copied(Vec<(u32, u64)>),
}

/// The position of a record in its block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordEntry {
    pub(crate) topic: TopicId,
    pub(crate) stream: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) time: Timestamp,
}

/// # For cursors
impl Block {
    /// Resets the block to `bytes` from `offset` of the file.
    ///
    /// # Panics
    /// Panics if there are 4 GiB or more. Cursors read far less at once.
    pub fn reset(&mut self, bytes: Bytes, offset: u64) {
        self.reset_to(bytes, BlockOrigin::Plain(offset));
    }

    /// Resets the block to `bytes` that were decompressed from the chunk at `offset` of
    /// the file.
    ///
    /// # Panics
    /// Panics if there are 4 GiB or more.
    pub fn reset_decompressed(&mut self, bytes: Bytes, offset: u64) {
        self.reset_to(bytes, BlockOrigin::Decompressed(offset));
    }

    /// Replaces the bytes and removes all records and damage.
    fn reset_to(&mut self, bytes: Bytes, origin: BlockOrigin) {
        assert!(u32::try_from(bytes.len()).is_ok(), "a block is shorter than 4 GiB");
        (self.bytes, self.origin) = (bytes, origin);
        self.entries.clear();
        self.damage.clear();
    }

    /// Adds a record whose payload is the range `payload` of the block's bytes.
    ///
    /// # Panics
    /// Panics if the range is outside of them.
    #[inline]
    pub fn push(&mut self, topic: TopicId, time: Timestamp, payload: Range<usize>) {
        self.push_from_stream(topic, 0, time, payload);
    }

    /// Adds a record of `stream` whose payload is the range `payload` of the block's
    /// bytes.
    ///
    /// # Panics
    /// Panics if the range is outside of them.
    #[inline]
    pub fn push_from_stream(
        &mut self,
        topic: TopicId,
        stream: u32,
        time: Timestamp,
        payload: Range<usize>,
    ) {
        assert!(payload.start <= payload.end && payload.end <= self.bytes.len());
        let (start, end) = (payload.start as u32, payload.end as u32);
        self.entries.push(RecordEntry { topic, stream, start, end, time });
    }

    /// Adds `damage`.
    pub fn report(&mut self, damage: Damage) {
        damage.add_to(&mut self.damage);
    }

    /// Returns the bytes that contain the payloads.
    #[inline]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// # For this crate
impl Block {
    /// Resets the block to `bytes` that consist of copied payloads. `starts_and_offsets` has
    /// the start of each payload in `bytes` and its file offset, in ascending order of the
    /// starts.
    pub(crate) fn reset_copied(
        &mut self,
        bytes: Bytes,
        starts_and_offsets: Vec<(u32, u64)>,
    ) {
        self.reset_to(bytes, BlockOrigin::Copied(starts_and_offsets));
    }

    /// Returns whether the block has copied payloads and is too large to be recycled.
    pub(crate) fn is_long_copy(&self) -> bool {
        matches!(self.origin, BlockOrigin::Copied(_))
            && self.bytes.len() > MAX_RECYCLED_COPY_BYTES
    }

    /// Returns the positions of the records.
    pub(crate) fn entries(&self) -> &[RecordEntry] {
        &self.entries
    }

    /// Resets the block to the records `entries` of `other`, without its damage. The blocks
    /// then share the bytes.
    pub(crate) fn share_records(
        &mut self,
        other: &Self,
        entries: impl IntoIterator<Item = RecordEntry>,
    ) {
        self.reset_to(other.bytes.clone(), other.origin.clone());
        self.entries.extend(entries);
    }

    /// Returns one run per topic, as if the block were [sorted](Self::sort_by_topic). The
    /// block is not changed.
    pub(crate) fn runs_by_topic<'b>(
        &'b self,
        scratch: &'b mut TopicSort,
    ) -> impl Iterator<Item = Run<'b>> {
        self.runs_of(scratch.sort_copy(&self.entries))
    }

    /// Returns whether the records take so little of the block that copies of them should
    /// be kept instead.
    pub(crate) fn is_sparse(&self) -> bool {
        let len = |entry: &RecordEntry| entry.end.saturating_sub(entry.start) as usize;
        self.entries.iter().map(len).sum::<usize>() <= self.bytes.len() / SPARSE_DIVISOR
    }

    /// Returns the memory of the block in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let origin_bytes = match &self.origin {
            BlockOrigin::Copied(starts_and_offsets) => {
                size_of_val(starts_and_offsets.as_slice())
            }
            BlockOrigin::Plain(_) | BlockOrigin::Decompressed(_) => 0,
        };
        size_of::<Self>()
            + self.bytes.len()
            + self.encoded.len()
            + size_of_val(self.entries.as_slice())
            + origin_bytes
    }

    /// Applies a clock transform to the times of all records.
    pub(crate) fn transform_times(&mut self, transform: &ClockTransform) {
        for entry in &mut self.entries {
            entry.time = transform.apply(entry.time);
        }
    }

    /// Calls `keep` for each record, which may change the timestamp, and removes the
    /// records for which it returns false.
    pub(crate) fn retime(
        &mut self,
        mut keep: impl FnMut(TopicId, &mut Timestamp) -> bool,
    ) {
        self.entries.retain_mut(|entry| keep(entry.topic, &mut entry.time));
    }

    /// Takes the damage out of the block.
    pub(crate) fn take_damage(&mut self) -> Vec<Damage> {
        std::mem::take(&mut self.damage)
    }
}

/// # For all users
impl Block {
    /// Returns the number of records.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the record with this `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Record<'_>> {
        self.entries.get(index).map(|entry| self.record(entry))
    }

    /// Iterates over the records in the order of the file.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        self.entries.iter().map(|entry| self.record(entry))
    }

    /// Returns the position of the block's bytes in the file, or an empty range if they
    /// were decompressed or copied from several positions.
    pub fn file_range(&self) -> Range<u64> {
        match self.origin {
            BlockOrigin::Plain(start) => start..start + self.bytes.len() as u64,
            BlockOrigin::Decompressed(_) | BlockOrigin::Copied(_) => 0..0,
        }
    }

    /// Returns the damage between the records.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Sorts the records by time. The sort is stable.
    pub fn sort_by_time(&mut self) {
        self.entries.sort_by_key(|entry| entry.time);
    }

    /// Sorts the records by topic, so that [`runs`](Self::runs) are as long as possible.
    /// The sort is stable. `scratch` is a reusable buffer.
    pub fn sort_by_topic(&mut self, scratch: &mut TopicSort) {
        scratch.sort_in_place(&mut self.entries);
    }

    /// Iterates over the runs of adjacent records of one topic.
    #[inline]
    pub fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        self.runs_of(&self.entries)
    }

    fn runs_of<'b>(
        &'b self,
        entries: &'b [RecordEntry],
    ) -> impl Iterator<Item = Run<'b>> {
        let have_same_topic = |a: &RecordEntry, b: &RecordEntry| a.topic == b.topic;
        let run = |entries| Run { block: self, entries };
        entries.chunk_by(have_same_topic).map(run)
    }

    #[inline]
    fn record(&self, entry: &RecordEntry) -> Record<'_> {
        Record {
            topic: entry.topic,
            stream: entry.stream,
            time: entry.time,
            payload: &self.bytes[entry.start as usize..entry.end as usize],
            offset: self.offset(entry),
        }
    }

    #[inline]
    fn offset(&self, entry: &RecordEntry) -> u64 {
        match &self.origin {
            BlockOrigin::Plain(offset) => offset + u64::from(entry.start),
            BlockOrigin::Decompressed(offset) => *offset,
            BlockOrigin::Copied(starts_and_offsets) => {
                let count = starts_and_offsets
                    .partition_point(|(start, _)| *start <= entry.start);
                count.checked_sub(1).map_or(0, |index| starts_and_offsets[index].1)
            }
        }
    }
}

/// Adjacent records of one topic: the input of a [`Decoder`](crate::Decoder).
#[derive(Clone, Copy, Debug)]
pub struct Run<'b> {
    block: &'b Block,
    entries: &'b [RecordEntry],
}

impl<'b> Run<'b> {
    /// Returns the topic of the records. A run is never empty.
    #[inline]
    pub fn topic(&self) -> TopicId {
        self.entries[0].topic
    }

    /// Returns the number of records, which is at least 1.
    #[allow(clippy::len_without_is_empty)] // a run is never empty
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Iterates over the records.
    pub fn records(self) -> impl ExactSizeIterator<Item = Record<'b>> {
        self.entries.iter().map(move |entry| self.block.record(entry))
    }

    /// Iterates over the records as one run each.
    pub fn single_record_runs(self) -> impl Iterator<Item = Self> {
        self.entries.chunks(1).map(move |entries| Self { block: self.block, entries })
    }

    /// Iterates over the times of the records.
    #[inline]
    pub fn times(self) -> impl ExactSizeIterator<Item = Timestamp> {
        self.entries.iter().map(|entry| entry.time)
    }

    /// Iterates over the times of the records and the starts of their payloads in
    /// [`bytes`](Self::bytes).
    #[inline]
    pub fn payload_starts(self) -> impl ExactSizeIterator<Item = (Timestamp, usize)> {
        self.entries.iter().map(|entry| (entry.time, entry.start as usize))
    }

    /// Returns all bytes of the block.
    pub fn bytes(self) -> &'b [u8] {
        &self.block.bytes
    }

    /// Iterates over the payloads of the records.
    #[inline]
    pub fn payloads(self) -> impl ExactSizeIterator<Item = &'b [u8]> {
        let bytes: &[u8] = &self.block.bytes;
        let payload =
            |entry: &RecordEntry| &bytes[entry.start as usize..entry.end as usize];
        self.entries.iter().map(payload)
    }
}

impl Default for BlockOrigin {
    fn default() -> Self {
        Self::Plain(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_by_topic_is_stable() {
        let mut block = Block::default();
        block.reset(Bytes::from_static(b"abcdef"), 100);
        for (start, topic) in [3, 0, 3, 1, 0, 3].into_iter().enumerate() {
            block.push(TopicId(topic), Timestamp::from_nanos(0), start..start + 1);
        }
        let summary = |run: Run<'_>| -> (u32, Vec<u8>) {
            (run.topic().0, run.payloads().flatten().copied().collect())
        };
        let sorted = [(0, b"be".to_vec()), (1, b"d".to_vec()), (3, b"acf".to_vec())];
        let mut scratch = TopicSort::default();
        let runs: Vec<_> = block.runs_by_topic(&mut scratch).map(summary).collect();
        assert_eq!(runs, sorted);
        assert_eq!(block.get(0).unwrap().offset, 100);
        block.sort_by_topic(&mut scratch);
        assert_eq!(block.runs().map(summary).collect::<Vec<_>>(), sorted);
        assert_eq!(block.get(0).unwrap().offset, 101);
    }
}
