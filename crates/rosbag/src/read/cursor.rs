//! Reading the records of a part.

use std::{fmt, ops::Range, sync::Arc};

use bytes::{Bytes, BytesMut};
use logtool_core::{
    Block, Cursor, Damage, DamageKind, Result, Selection, Timestamp, TopicId, TopicSet,
};
use logtool_rosmsg::DerivedTopics;

use crate::{
    check::ChunkChecker,
    connections::{
        connection::{Connection, RawConnection},
        connection_table::ConnectionTable,
        connection_trust::is_corrupted_copy,
    },
    file::bag::Bag,
    read::part_scanner::PartScanner,
    records::record_scanner::{ReadSize, RecordVisitor},
};

/// The state that is shared by all readers of the parts of a bag.
#[derive(Clone)]
pub(crate) struct PartReader {
    pub(crate) bag: Bag,
    pub(crate) table: Arc<ConnectionTable>,
    pub(crate) derived: Arc<DerivedTopics>,
    /// The start of each part, and the end of the last.
    pub(crate) bounds: Arc<[u64]>,
    /// Checks every chunk that is opened, if set.
    pub(crate) checker: Option<Arc<ChunkChecker>>,
}

/// Reads one part of a bag. The stream of a record is the index of its connection in
/// [`RosbagLog::connections`](crate::RosbagLog::connections).
pub(crate) struct RosbagCursor {
    scanner: PartScanner,
    reader: RecordSelector,
}

/// Selects records and resolves their connections.
struct RecordSelector {
    table: Arc<ConnectionTable>,
    selection: Selection,
    /// The derived topics, if some of them are selected.
    derived: Option<Arc<DerivedTopics>>,
    /// The start of each part, and the end of the last.
    bounds: Arc<[u64]>,
    /// The start of the current chunk.
    chunk_at: u64,
    /// A cache of the connections that were resolved in this chunk, indexed by their ids.
    recent: Box<[RecentConnection; RECENT]>,
    /// Connections that the chunk declares differently from the table.
    declared: Vec<(u32, Option<u32>)>,
}

/// The number of connections in the cache.
const RECENT: usize = 64;

/// A connection id, and its entry and topic.
type RecentConnection = Option<(u32, u32, TopicId)>;

impl PartReader {
    /// Returns a cursor for the records of `part` in `selection`.
    pub(crate) fn read(
        &self,
        part: Range<u64>,
        selection: &Selection,
    ) -> Result<RosbagCursor> {
        let Self { bag, table, derived, bounds, checker } = self.clone();
        bag.encryption.check()?;
        let chunk_at = part.start;
        let has_unselected = table.is_partial()
            || selection.topics != TopicSet::All
                && !selection.topics.has_all(table.topics());
        let read_size =
            if has_unselected { ReadSize::NEAR } else { ReadSize::default() };
        let scanner = PartScanner::new(bag, bounds.clone(), part, read_size, checker)?;
        let is_wanted = derived.is_any_selected(&selection.topics);
        let reader = RecordSelector {
            table,
            selection: selection.clone(),
            derived: Some(derived).filter(|_| is_wanted),
            bounds,
            chunk_at,
            recent: Box::new([None; RECENT]),
            declared: Vec::new(),
        };
        Ok(RosbagCursor { scanner, reader })
    }
}

impl Cursor for RosbagCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        self.scanner.step(&mut BlockFiller { reader: &mut self.reader, block })
    }
}

/// Adds scanned records to a block.
struct BlockFiller<'f> {
    reader: &'f mut RecordSelector,
    block: &'f mut Block,
}

impl RecordVisitor for BlockFiller<'_> {
    fn begin_chunk(&mut self, at: u64) {
        self.reader.enter(at);
    }

    fn window(&mut self, bytes: Bytes, at: u64) {
        self.block.reset(bytes, at);
    }

    fn decompressed_bytes(&mut self, bytes: Bytes, at: u64) {
        self.block.reset_decompressed(bytes, at);
    }

    fn buffer(&mut self) -> BytesMut {
        // The former bytes of the block are reused if nothing else refers to them.
        let bytes = self.block.bytes().clone();
        self.block.reset(Bytes::new(), 0);
        bytes.try_into_mut().unwrap_or_default()
    }

    #[inline]
    fn message(&mut self, id: u32, time: Timestamp, payload: Range<usize>) -> bool {
        let Some((entry, topic)) = self.reader.find(id) else {
            return self.reader.is_left_out(id);
        };
        if let Some(derived) = &self.reader.derived {
            let (topic_and_entry, selection) = ((topic, entry), &self.reader.selection);
            derived.derive(
                self.block,
                selection,
                topic_and_entry,
                time,
                payload.clone(),
            );
        }
        if self.reader.selection.contains(topic, time) {
            self.block.push_from_stream(topic, entry, time, payload);
        }
        true
    }

    fn is_payload_unneeded(&mut self, id: u32, time: Timestamp) -> bool {
        let Some((_, topic)) = self.reader.find(id) else {
            return self.reader.is_left_out(id);
        };
        self.reader.derived.is_none() && !self.reader.selection.contains(topic, time)
    }

    fn connection(&mut self, raw: RawConnection) {
        if let Some(reason) = self.reader.declare(raw) {
            let at = self.reader.chunk_at;
            let bounds = &self.reader.bounds;
            let after = bounds.get(bounds.partition_point(|bound| *bound <= at));
            let bytes = at..after.copied().unwrap_or(at);
            self.block
                .report(Damage::new(DamageKind::Index, bytes).with_reason(reason));
        }
    }

    fn is_known_connection(&self, id: u32) -> bool {
        let RecordSelector { table, chunk_at, .. } = &*self.reader;
        table.is_other(id) || table.lookup(id, *chunk_at).is_some()
    }

    fn topic(&self, id: u32) -> Option<TopicId> {
        let RecordSelector { table, chunk_at, .. } = &*self.reader;
        match table.lookup(id, *chunk_at) {
            Some(entry) => table.topic(entry),
            None => table.is_other(id).then_some(TopicId::OMITTED),
        }
    }

    fn damage(&mut self, damage: Damage) {
        self.block.report(damage);
    }
}

impl RecordSelector {
    /// Starts a chunk at `at`.
    fn enter(&mut self, at: u64) {
        self.chunk_at = at;
        self.recent.fill(None);
        self.declared.clear();
    }

    /// Returns the entry and the topic of the connection `id` at the current position.
    #[inline]
    fn find(&mut self, id: u32) -> Option<(u32, TopicId)> {
        match self.recent[id as usize % RECENT] {
            Some((recent, entry, topic)) if recent == id => Some((entry, topic)),
            _ => self.search(id),
        }
    }

    #[cold]
    fn search(&mut self, id: u32) -> Option<(u32, TopicId)> {
        let declared = self.declared.iter().rev().find(|declared| declared.0 == id);
        let entry = match declared {
            Some((_, entry)) => (*entry)?,
            None => self.table.lookup(id, self.chunk_at)?,
        };
        let topic = self.table.topic(entry)?;
        self.recent[id as usize % RECENT] = Some((id, entry, topic));
        Some((entry, topic))
    }

    /// Returns whether the connection `id` belongs to a topic that the excerpt leaves out,
    /// and the chunk does not declare another connection with this id.
    fn is_left_out(&self, id: u32) -> bool {
        self.table.is_other(id) && self.declared.iter().all(|declared| declared.0 != id)
    }

    /// Applies the declaration of a connection in a chunk. If it differs from the table, it is
    /// valid from here to the end of the chunk. If the table has the same connection under
    /// another name only, the table is used, and the result describes the contradiction.
    fn declare(&mut self, raw: RawConnection) -> Option<String> {
        let connection = Connection::new(raw);
        let entry = self.table.lookup(connection.id, self.chunk_at);
        let declared = entry.and_then(|entry| self.table.entries.get(entry as usize));
        let is_copy = |declared: &Connection| {
            declared.is_like(&connection) || is_corrupted_copy(&connection, declared)
        };
        if declared.is_some_and(|declared| is_copy(&declared.connection)) {
            return None;
        }
        let like = self.table.find_like(&connection);
        if like.is_none() && self.table.is_other(connection.id) {
            return None;
        }
        let Connection { id, topic, type_name, md5sum, .. } = &connection;
        if let (None, Some(declared)) =
            (like, declared.map(|declared| &declared.connection))
            && (&declared.type_name, &declared.md5sum) == (type_name, md5sum)
        {
            let known_topic = &declared.topic;
            return Some(format!(
                "it names the connection {id} {known_topic:?}, and this chunk names it {topic:?}"
            ));
        }
        self.declared.push((*id, like));
        self.recent.fill(None);
        None
    }
}

impl fmt::Debug for RosbagCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RosbagCursor")
            .field("scanner", &self.scanner)
            .finish_non_exhaustive()
    }
}
