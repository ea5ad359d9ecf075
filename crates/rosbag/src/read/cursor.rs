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
    selector: RecordSelector,
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
    /// A cache of the connections that were resolved in this chunk. The index is the id modulo
    /// [`CACHE_SIZE`].
    recent_connections: Box<[RecentConnection; CACHE_SIZE]>,
    /// The connections that the chunk declares differently from the table: the id, and the entry of
    /// the table to which it refers, or `None` if the table does not have the connection.
    chunk_declarations: Vec<(u32, Option<u32>)>,
}

/// The number of connections in the cache.
const CACHE_SIZE: usize = 64;

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
        bag.encryption.check_unlocked()?;
        let chunk_at = part.start;
        let has_unselected_topics = table.is_partial()
            || selection.topics != TopicSet::All
                && !selection.topics.has_all(table.topic_count());
        let read_size =
            if has_unselected_topics { ReadSize::SMALL } else { ReadSize::default() };
        let scanner = PartScanner::new(bag, bounds.clone(), part, read_size, checker)?;
        let is_wanted = derived.is_any_selected(&selection.topics);
        let selector = RecordSelector {
            table,
            selection: selection.clone(),
            derived: Some(derived).filter(|_| is_wanted),
            bounds,
            chunk_at,
            recent_connections: Box::new([None; CACHE_SIZE]),
            chunk_declarations: Vec::new(),
        };
        Ok(RosbagCursor { scanner, selector })
    }
}

impl Cursor for RosbagCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        self.scanner.step(&mut BlockFiller { selector: &mut self.selector, block })
    }
}

/// Adds scanned records to a block.
struct BlockFiller<'f> {
    selector: &'f mut RecordSelector,
    block: &'f mut Block,
}

impl RecordVisitor for BlockFiller<'_> {
    fn begin_chunk(&mut self, at: u64) {
        self.selector.begin_chunk(at);
    }

    fn window(&mut self, bytes: Bytes, at: u64) {
        self.block.reset(bytes, at);
    }

    fn decompressed_bytes(&mut self, bytes: Bytes, at: u64) {
        self.block.reset_decompressed(bytes, at);
    }

    fn buffer(&mut self) -> BytesMut {
        // The last buffer of the block is reused if nothing else refers to it.
        let bytes = self.block.bytes().clone();
        self.block.reset(Bytes::new(), 0);
        bytes.try_into_mut().unwrap_or_default()
    }

    #[inline]
    fn message(&mut self, id: u32, time: Timestamp, payload: Range<usize>) -> bool {
        let Some((entry, topic)) = self.selector.resolve(id) else {
            return self.selector.is_omitted(id);
        };
        if let Some(derived) = &self.selector.derived {
            let (topic_and_entry, selection) =
                ((topic, entry), &self.selector.selection);
            derived.derive(
                self.block,
                selection,
                topic_and_entry,
                time,
                payload.clone(),
            );
        }
        if self.selector.selection.contains(topic, time) {
            self.block.push_from_stream(topic, entry, time, payload);
        }
        true
    }

    fn is_payload_unneeded(&mut self, id: u32, time: Timestamp) -> bool {
        let Some((_, topic)) = self.selector.resolve(id) else {
            return self.selector.is_omitted(id);
        };
        self.selector.derived.is_none()
            && !self.selector.selection.contains(topic, time)
    }

    fn connection(&mut self, raw: RawConnection) {
        if let Some(reason) = self.selector.declare(raw) {
            let at = self.selector.chunk_at;
            let bounds = &self.selector.bounds;
            let next_bound = bounds.get(bounds.partition_point(|bound| *bound <= at));
            let bytes = at..next_bound.copied().unwrap_or(at);
            self.block
                .report(Damage::new(DamageKind::Index, bytes).with_reason(reason));
        }
    }

    fn is_known_connection(&self, id: u32) -> bool {
        let RecordSelector { table, chunk_at, .. } = &*self.selector;
        table.is_omitted(id) || table.lookup(id, *chunk_at).is_some()
    }

    fn topic(&self, id: u32) -> Option<TopicId> {
        let RecordSelector { table, chunk_at, .. } = &*self.selector;
        match table.lookup(id, *chunk_at) {
            Some(entry) => table.topic(entry),
            None => table.is_omitted(id).then_some(TopicId::OMITTED),
        }
    }

    fn damage(&mut self, damage: Damage) {
        self.block.report(damage);
    }
}

impl RecordSelector {
    /// Starts a chunk at `at`.
    fn begin_chunk(&mut self, at: u64) {
        self.chunk_at = at;
        self.recent_connections.fill(None);
        self.chunk_declarations.clear();
    }

    /// Returns the entry and the topic to which `id` refers at the current position.
    #[inline]
    fn resolve(&mut self, id: u32) -> Option<(u32, TopicId)> {
        match self.recent_connections[id as usize % CACHE_SIZE] {
            Some((recent_id, entry, topic)) if recent_id == id => Some((entry, topic)),
            _ => self.resolve_uncached(id),
        }
    }

    /// Like [`resolve`](Self::resolve), without the cache, to which the result is added.
    #[cold]
    fn resolve_uncached(&mut self, id: u32) -> Option<(u32, TopicId)> {
        let mut declarations = self.chunk_declarations.iter().rev();
        let entry = match declarations.find(|(declared_id, _)| *declared_id == id) {
            Some((_, entry)) => (*entry)?,
            None => self.table.lookup(id, self.chunk_at)?,
        };
        let topic = self.table.topic(entry)?;
        self.recent_connections[id as usize % CACHE_SIZE] = Some((id, entry, topic));
        Some((entry, topic))
    }

    /// Returns whether `id` refers to a connection that the excerpt leaves out, and the chunk does
    /// not declare another connection with this id.
    fn is_omitted(&self, id: u32) -> bool {
        self.table.is_omitted(id)
            && self.chunk_declarations.iter().all(|(declared_id, _)| *declared_id != id)
    }

    /// Applies the declaration of a connection in a chunk. If it differs from the table, it is
    /// valid from here to the end of the chunk. If only the topic differs, the table is used
    /// instead, and the returned string describes the contradiction.
    fn declare(&mut self, raw: RawConnection) -> Option<String> {
        let connection = Connection::new(raw);
        let entry = self.table.lookup(connection.id, self.chunk_at);
        let entry = entry.and_then(|entry| self.table.entries.get(entry as usize));
        let registered = entry.map(|entry| &entry.connection);
        let is_copy = |registered: &Connection| {
            registered.has_same_topic_and_type(&connection)
                || is_corrupted_copy(&connection, registered)
        };
        if registered.is_some_and(is_copy) {
            return None;
        }
        let same_topic = self.table.find_same_topic(&connection);
        if same_topic.is_none() && self.table.is_omitted(connection.id) {
            return None;
        }
        let Connection { id, topic, type_name, md5sum, .. } = &connection;
        if let (None, Some(registered)) = (same_topic, registered)
            && (&registered.type_name, &registered.md5sum) == (type_name, md5sum)
        {
            let index_topic = &registered.topic;
            return Some(format!(
                "it names the connection {id} {index_topic:?}, and this chunk names it {topic:?}"
            ));
        }
        self.chunk_declarations.push((*id, same_topic));
        self.recent_connections.fill(None);
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
