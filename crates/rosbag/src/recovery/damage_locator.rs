//! Locating damage in the file, and determining the messages that are lost there.
//!
//! A chunk is followed by index data of its messages. If the chunk is broken, they list the
//! messages that were in the broken bytes: their topics, their number, and their times.

use std::{collections::BTreeMap, ops::Range};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, TimeRange, Timestamp, TopicId};

use crate::{
    connections::connection::RawConnection,
    file::{
        bag::Bag,
        index_entries::{LostMessages, MAX_INDEX, add_lost_message, each_entry},
        toplevel_record::TopLevelReader,
    },
    records::record_scanner::RecordVisitor,
    recovery::{chunk_messages::ChunkMessages, open_chunk::OpenChunk},
};

/// Where the bytes that are scanned come from. Damage in them is located accordingly.
#[derive(Debug)]
pub(crate) enum DamageContext {
    /// Bytes between chunks.
    OutsideChunks,
    /// A chunk that is not compressed, at this range of the file.
    Plain(Range<u64>),
    /// A decompressed chunk.
    Decompressed(CompressedChunk),
    /// A lost chunk.
    Lost(LostChunk),
}

/// A decompressed chunk.
#[derive(Debug)]
pub(crate) struct CompressedChunk {
    /// Its byte range in the file.
    pub(crate) bytes: Range<u64>,
    /// The declared or actual length of its decompressed content, or 0 if it is not known.
    pub(crate) content_len: u64,
}

/// A chunk that is lost, or whose header is lost.
#[derive(Debug)]
pub(crate) struct LostChunk {
    /// Its byte range in the file.
    pub(crate) bytes: Range<u64>,
    /// The start of its index data.
    pub(crate) index_at: u64,
    /// Its messages that can still be read, or `None` if all of them are lost.
    pub(crate) readable_messages: Option<ChunkMessages>,
}

impl CompressedChunk {
    /// Returns the part of its compressed bytes that corresponds to `range` of its content.
    fn proportional_share(&self, range: &Range<u64>) -> u64 {
        let compressed = self.bytes.end.saturating_sub(self.bytes.start);
        proportional_share(
            compressed,
            range.end.min(self.content_len).saturating_sub(range.start).max(1),
            self.content_len,
        )
    }
}

/// Returns the part of `compressed` compressed bytes that corresponds to `part` of `content_len`
/// decompressed bytes.
pub(crate) fn proportional_share(compressed: u64, part: u64, content_len: u64) -> u64 {
    let share = (u128::from(compressed) * u128::from(part))
        .div_ceil(u128::from(content_len.max(1)));
    if content_len == 0 {
        compressed
    } else {
        u64::try_from(share).unwrap_or(compressed).min(compressed)
    }
}

/// Passes records to a visitor unchanged, and damage with its position in the file and the messages
/// that are lost in it.
pub(crate) struct DamageLocator<'l, V> {
    pub(crate) visitor: &'l mut V,
    pub(crate) bag: &'l Bag,
    pub(crate) toplevel: &'l mut TopLevelReader,
    pub(crate) context: &'l mut DamageContext,
    /// The chunk that is scanned, if there is one and its content can be read.
    pub(crate) chunk: Option<&'l mut OpenChunk>,
}

impl<V: RecordVisitor> DamageLocator<'_, V> {
    /// Reports `damage`. If its `lost` messages are known, it is reported separately for each
    /// connection.
    pub(crate) fn report(
        &mut self,
        damage: Damage,
        lost: &BTreeMap<u32, LostMessages>,
    ) {
        for (connection, LostMessages { records, time }) in lost {
            let topic = self.visitor.topic(*connection);
            let mut damage = damage.clone().with_records(*records, topic);
            damage.time = Some(*time).filter(|time| *time != TimeRange::ALL);
            self.visitor.damage(damage);
        }
        if lost.is_empty() {
            self.visitor.damage(damage);
        }
    }

    /// Reports `damage` in `range` of the content of the chunk.
    fn report_in_content(&mut self, damage: Damage, range: &Range<u64>) {
        let chunk = self.chunk.as_mut().filter(|_| damage.kind.is_loss());
        let lost = chunk
            .and_then(|chunk| chunk.lost_messages(self.bag, self.toplevel, range).ok());
        // Without index data, only the damage itself is known.
        let (lost, is_complete) = lost.unwrap_or_default();
        self.report(damage.clone(), &lost);
        if !is_complete && !lost.is_empty() {
            self.visitor.damage(damage.with_lost_bytes(0));
        }
    }
}

impl LostChunk {
    /// Returns the lost messages, according to the index data of the chunk. If all messages are
    /// lost, the chunk info is used for connections without index data.
    fn lost_messages(
        &mut self,
        bag: &Bag,
        toplevel: &mut TopLevelReader,
    ) -> BTreeMap<u32, LostMessages> {
        let (mut lost, mut remaining_bytes) = (BTreeMap::new(), MAX_INDEX);
        each_entry(
            toplevel,
            self.index_at,
            &mut remaining_bytes,
            |connection, time, _| {
                let readable_messages = self.readable_messages.as_mut();
                if !readable_messages.is_some_and(|readable_messages| {
                    readable_messages.is_overfull()
                        || readable_messages.remove(connection, time)
                }) {
                    add_lost_message(&mut lost, connection, time);
                }
            },
        );
        if self.readable_messages.is_none()
            && let Ok(Some(chunk)) = bag.listed_chunk(self.bytes.start)
        {
            for (connection, records) in chunk.counts.iter().filter(|count| count.1 > 0)
            {
                let lost_messages =
                    LostMessages { records: (*records).into(), time: chunk.time };
                lost.entry(*connection).or_insert(lost_messages);
            }
        }
        lost
    }
}

impl<V: RecordVisitor> RecordVisitor for DamageLocator<'_, V> {
    fn damage(&mut self, damage: Damage) {
        let range = damage.bytes.clone();
        let is_loss = damage.kind.is_loss();
        match self.context {
            DamageContext::OutsideChunks => self.visitor.damage(damage),
            DamageContext::Plain(_) if damage.records > 0 => {
                self.visitor.damage(damage)
            }
            DamageContext::Plain(data) => {
                let range = range.start - data.start..range.end - data.start;
                self.report_in_content(damage, &range);
            }
            DamageContext::Decompressed(chunk) => {
                let mut damage = damage.with_bytes(chunk.bytes.clone());
                if is_loss {
                    damage = damage.with_lost_bytes(chunk.proportional_share(&range));
                }
                match damage.records {
                    0 => self.report_in_content(damage, &range),
                    _ => self.visitor.damage(damage),
                }
            }
            DamageContext::Lost(lost_chunk) if !is_loss => {
                self.visitor.damage(damage.with_bytes(lost_chunk.bytes.clone()));
            }
            DamageContext::Lost(lost_chunk) => {
                let lost = lost_chunk.lost_messages(self.bag, self.toplevel);
                let len = lost_chunk.bytes.end.saturating_sub(lost_chunk.bytes.start);
                let damage =
                    damage.with_bytes(lost_chunk.bytes.clone()).with_lost_bytes(len);
                self.report(damage, &lost);
            }
        }
    }

    fn begin_chunk(&mut self, at: u64) {
        self.visitor.begin_chunk(at);
    }

    fn window(&mut self, bytes: Bytes, at: u64) {
        self.visitor.window(bytes, at);
    }

    fn decompressed_bytes(&mut self, bytes: Bytes, at: u64) {
        self.visitor.decompressed_bytes(bytes, at);
    }

    fn buffer(&mut self) -> BytesMut {
        self.visitor.buffer()
    }

    #[inline]
    fn message(&mut self, id: u32, time: Timestamp, payload: Range<usize>) -> bool {
        self.visitor.message(id, time, payload)
    }

    fn is_payload_unneeded(&mut self, id: u32, time: Timestamp) -> bool {
        self.visitor.is_payload_unneeded(id, time)
    }

    fn connection(&mut self, raw: RawConnection) {
        self.visitor.connection(raw);
    }

    fn unknown_record(&mut self) {
        self.visitor.unknown_record();
    }

    fn is_known_connection(&self, id: u32) -> bool {
        self.visitor.is_known_connection(id)
    }

    fn topic(&self, id: u32) -> Option<TopicId> {
        self.visitor.topic(id)
    }
}
