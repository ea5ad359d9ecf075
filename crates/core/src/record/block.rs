//! The unit in which records travel.

mod encoded;
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
pub(crate) use self::{record_copies::Gather, record_header::Head};

/// A block of which no more than this share is records is better copied than kept.
const SPARSE: usize = 4;

/// What records are made to is long with more bytes.
const LONG: usize = 1 << 20;

/// One record, borrowed from its [`Block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'b> {
    /// What it is about.
    pub topic: TopicId,
    /// Which of several sources of its topic it is from, where the format tells them
    /// apart: an index into the log's own list, as a bag's connections. 0 elsewhere.
    pub stream: u32,
    /// When it was logged.
    pub time: Timestamp,
    /// What it says, in its topic's encoding, not yet looked at.
    pub payload: &'b [u8],
    /// Where in the file the payload lies, or the compressed chunk that it is in.
    pub offset: u64,
}

impl Record<'_> {
    /// The damage that this record is, if its payload turns out to be undecodable.
    pub fn undecodable(&self) -> Damage {
        let bytes = self.offset..self.offset + self.payload.len() as u64;
        Damage::new(DamageKind::Undecodable, bytes).with_records(1, Some(self.topic))
    }

    /// The damage that the last `bytes` of its payload are, which are behind its fields.
    pub fn surplus(&self, bytes: usize) -> Damage {
        self.undecodable().with_kind(DamageKind::Surplus).with_lost_bytes(bytes as u64)
    }
}

/// Some bytes of a log, the records found in them, and what was damaged.
///
/// A block owns its bytes (sharing them with the source where it can), so it may be
/// kept, or sent to another thread, whatever becomes of the cursor that filled it. It
/// is also a buffer to be used again: a loop over a whole log allocates one.
#[derive(Clone, Debug, Default)]
pub struct Block {
    bytes: Bytes,
    origin: Origin,
    entries: Vec<Entry>,
    damage: Vec<Damage>,
    /// What an encoder made of the records.
    encoded: Vec<u8>,
}

/// What a byte of the block is in the file.
#[derive(Clone, Debug)]
enum Origin {
    /// The block is a copy or a slice of the file from here on.
    Plain(u64),
    /// The block was unpacked from a chunk that starts here.
    Unpacked(u64),
    /// The payloads, each of which begins somewhere else, are from these places.
    Gathered(Vec<(u32, u64)>),
}

/// Where a record lies in its block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) topic: TopicId,
    pub(crate) stream: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) time: Timestamp,
}

/// # For cursors
impl Block {
    /// Starts over with `bytes`, which lie at `offset` of the file.
    ///
    /// # Panics
    /// Where there are 4 GiB of them or more: cursors read far less at once.
    pub fn reset(&mut self, bytes: Bytes, offset: u64) {
        self.start_over(bytes, Origin::Plain(offset));
    }

    /// Starts over with `bytes`, unpacked from the chunk at `offset` of the file.
    ///
    /// # Panics
    /// Where there are 4 GiB of them or more.
    pub fn reset_unpacked(&mut self, bytes: Bytes, offset: u64) {
        self.start_over(bytes, Origin::Unpacked(offset));
    }

    fn start_over(&mut self, bytes: Bytes, origin: Origin) {
        assert!(u32::try_from(bytes.len()).is_ok(), "a block is shorter than 4 GiB");
        (self.bytes, self.origin) = (bytes, origin);
        self.entries.clear();
        self.damage.clear();
    }

    /// Adds the record whose payload is `payload` of the block's bytes.
    ///
    /// # Panics
    /// Where the payload is not inside them.
    #[inline]
    pub fn push(&mut self, topic: TopicId, time: Timestamp, payload: Range<usize>) {
        self.push_from_stream(topic, 0, time, payload);
    }

    /// Adds the record of `stream` of its topic whose payload is `payload` of the
    /// block's bytes.
    ///
    /// # Panics
    /// Where the payload is not inside them.
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
        self.entries.push(Entry { topic, stream, start, end, time });
    }

    /// Adds `damage`.
    pub fn report(&mut self, damage: Damage) {
        damage.add_to(&mut self.damage);
    }

    /// The bytes in which the records lie.
    #[inline]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// # For this crate
impl Block {
    /// Starts over with `bytes`, made of records: what begins at each place of them, in
    /// their order, is from an offset of the file.
    pub(crate) fn reset_gathered(&mut self, bytes: Bytes, places: Vec<(u32, u64)>) {
        self.start_over(bytes, Origin::Gathered(places));
    }

    /// Whether it is long, and none that is read into again: what records were made to.
    pub(crate) fn is_long_and_made(&self) -> bool {
        matches!(self.origin, Origin::Gathered(_)) && self.bytes.len() > LONG
    }

    /// Where the records lie.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Starts over with some of the records of `other`, and none of its damage.
    pub(crate) fn share(
        &mut self,
        other: &Self,
        entries: impl IntoIterator<Item = Entry>,
    ) {
        self.start_over(other.bytes.clone(), other.origin.clone());
        self.entries.extend(entries);
    }

    /// The runs that there would be if the block were [sorted](Self::sort_by_topic): one
    /// of each topic. The block stays as it is.
    pub(crate) fn runs_by_topic<'b>(
        &'b self,
        scratch: &'b mut TopicSort,
    ) -> impl Iterator<Item = Run<'b>> {
        self.runs_of(scratch.sorted(&self.entries))
    }

    /// Whether so little of the block is records that copies of these are better kept.
    pub(crate) fn is_sparse(&self) -> bool {
        let len = |entry: &Entry| entry.end.saturating_sub(entry.start) as usize;
        self.entries.iter().map(len).sum::<usize>() <= self.bytes.len() / SPARSE
    }

    /// How much memory the block takes.
    pub(crate) fn cost(&self) -> usize {
        let entries = self.entries.len() * size_of::<Entry>();
        let places = match &self.origin {
            Origin::Gathered(places) => size_of_val(places.as_slice()),
            Origin::Plain(_) | Origin::Unpacked(_) => 0,
        };
        size_of::<Self>() + self.bytes.len() + self.encoded.len() + entries + places
    }

    /// Brings all records onto another clock.
    pub(crate) fn shift(&mut self, shift: &ClockTransform) {
        for entry in &mut self.entries {
            entry.time = shift.apply(entry.time);
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

    /// Takes what was damaged out of the block.
    pub(crate) fn take_damage(&mut self) -> Vec<Damage> {
        std::mem::take(&mut self.damage)
    }
}

/// # For everyone else
impl Block {
    /// How many records there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The record at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Record<'_>> {
        self.entries.get(index).map(|entry| self.record(entry))
    }

    /// The records, in the order of the file.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        self.entries.iter().map(|entry| self.record(entry))
    }

    /// Where in the file the block's bytes lie; nowhere if they were unpacked or copied from
    /// many places.
    pub fn place(&self) -> Range<u64> {
        match self.origin {
            Origin::Plain(start) => start..start + self.bytes.len() as u64,
            Origin::Unpacked(_) | Origin::Gathered(_) => 0..0,
        }
    }

    /// What was damaged between the records.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Puts the records in the order of time, keeping the file's where times are equal.
    pub fn sort_by_time(&mut self) {
        self.entries.sort_by_key(|entry| entry.time);
    }

    /// Puts the records in the order of their topics, keeping the file's within each,
    /// so that [`runs`](Self::runs) are as long as can be. `scratch` is a buffer.
    pub fn sort_by_topic(&mut self, scratch: &mut TopicSort) {
        scratch.sort(&mut self.entries);
    }

    /// Neighbours of one topic, together.
    #[inline]
    pub fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        self.runs_of(&self.entries)
    }

    fn runs_of<'b>(&'b self, entries: &'b [Entry]) -> impl Iterator<Item = Run<'b>> {
        let same = |a: &Entry, b: &Entry| a.topic == b.topic;
        let run = |entries| Run { block: self, entries };
        entries.chunk_by(same).map(run)
    }

    #[inline]
    fn record(&self, entry: &Entry) -> Record<'_> {
        Record {
            topic: entry.topic,
            stream: entry.stream,
            time: entry.time,
            payload: &self.bytes[entry.start as usize..entry.end as usize],
            offset: self.offset(entry),
        }
    }

    #[inline]
    fn offset(&self, entry: &Entry) -> u64 {
        match &self.origin {
            Origin::Plain(offset) => offset + u64::from(entry.start),
            Origin::Unpacked(offset) => *offset,
            Origin::Gathered(places) => {
                let place = places.partition_point(|(start, _)| *start <= entry.start);
                place.checked_sub(1).map_or(0, |place| places[place].1)
            }
        }
    }
}

/// Neighbouring records of one topic: what a [`Decoder`](crate::Decoder) is given.
#[derive(Clone, Copy, Debug)]
pub struct Run<'b> {
    block: &'b Block,
    entries: &'b [Entry],
}

impl<'b> Run<'b> {
    /// The topic of all of them. (A run is never empty.)
    #[inline]
    pub fn topic(&self) -> TopicId {
        self.entries[0].topic
    }

    /// How many records there are: 1 or more.
    #[allow(clippy::len_without_is_empty)] // a run is never empty
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The records.
    pub fn records(self) -> impl ExactSizeIterator<Item = Record<'b>> {
        self.entries.iter().map(move |entry| self.block.record(entry))
    }

    /// The records, as a run each.
    pub fn singles(self) -> impl Iterator<Item = Self> {
        self.entries.chunks(1).map(move |entries| Self { block: self.block, entries })
    }

    /// The times of the records.
    #[inline]
    pub fn times(self) -> impl ExactSizeIterator<Item = Timestamp> {
        self.entries.iter().map(|entry| entry.time)
    }

    /// The times of the records, and where in the block's [`bytes`](Self::bytes) their
    /// payloads begin.
    #[inline]
    pub fn starts(self) -> impl ExactSizeIterator<Item = (Timestamp, usize)> {
        self.entries.iter().map(|entry| (entry.time, entry.start as usize))
    }

    /// All bytes of the block, in which the payloads lie.
    pub fn bytes(self) -> &'b [u8] {
        &self.block.bytes
    }

    /// The payloads of the records.
    #[inline]
    pub fn payloads(self) -> impl ExactSizeIterator<Item = &'b [u8]> {
        let bytes: &[u8] = &self.block.bytes;
        let payload = |entry: &Entry| &bytes[entry.start as usize..entry.end as usize];
        self.entries.iter().map(payload)
    }
}

impl Default for Origin {
    fn default() -> Self {
        Self::Plain(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_by_topic_keeps_the_order_within_each() {
        let mut block = Block::default();
        block.reset(Bytes::from_static(b"abcdef"), 100);
        for (at, topic) in [3, 0, 3, 1, 0, 3].into_iter().enumerate() {
            block.push(TopicId(topic), Timestamp::from_nanos(0), at..at + 1);
        }
        let told = |run: Run<'_>| -> (u32, Vec<u8>) {
            (run.topic().0, run.payloads().flatten().copied().collect())
        };
        let sorted = [(0, b"be".to_vec()), (1, b"d".to_vec()), (3, b"acf".to_vec())];
        let mut scratch = TopicSort::default();
        let runs: Vec<_> = block.runs_by_topic(&mut scratch).map(told).collect();
        assert_eq!(runs, sorted);
        assert_eq!(block.get(0).unwrap().offset, 100);
        block.sort_by_topic(&mut scratch);
        assert_eq!(block.runs().map(told).collect::<Vec<_>>(), sorted);
        assert_eq!(block.get(0).unwrap().offset, 101);
    }
}
