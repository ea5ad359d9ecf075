//! Reading the records of a part.

use std::{fmt, ops::Range, sync::Arc};

use bytes::{Bytes, BytesMut};
use logtool_core::{
    Block, Cursor, Damage, DamageKind, Result, Selection, Timestamp, TopicId, TopicSet,
};
use logtool_rosmsg::Derived;

use crate::{
    bag::Bag,
    check::Inside,
    connection::{Connection, Raw},
    connection_trust::is_spoiled,
    table::Table,
    traverse::Traverse,
    walk::{Pace, Visitor},
};

/// What it takes to read parts of a bag.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) bag: Bag,
    pub(crate) table: Arc<Table>,
    pub(crate) derived: Arc<Derived>,
    /// The starts of all parts, and the end of the last.
    pub(crate) bounds: Arc<[u64]>,
    /// What looks into every chunk that is opened, if something does.
    pub(crate) inside: Option<Arc<Inside>>,
}

/// Reads one part of a bag. The stream of a record is the index of its connection in
/// [`RosbagLog::connections`](crate::RosbagLog::connections).
pub(crate) struct RosbagCursor {
    traverse: Traverse,
    reader: Reader,
}

/// What goes from record to record.
struct Reader {
    table: Arc<Table>,
    selection: Selection,
    /// What is derived of topics, if some of that is wanted.
    derived: Option<Arc<Derived>>,
    /// The starts of all parts, and the end of the last.
    bounds: Arc<[u64]>,
    /// Where the chunk begins that is being read.
    chunk_at: u64,
    /// What was found out of connections in this chunk, at the number's place.
    recent: Box<[Recent; RECENT]>,
    /// Connections that the chunk declares otherwise than the table.
    declared: Vec<(u32, Option<u32>)>,
}

/// How many connections are at hand without searching.
const RECENT: usize = 64;

/// A number, and the entry and topic that it stands for.
type Recent = Option<(u32, u32, TopicId)>;

impl Parts {
    /// A reader of what `selection` wants of `part`.
    pub(crate) fn read(
        &self,
        part: Range<u64>,
        selection: &Selection,
    ) -> Result<RosbagCursor> {
        let Self { bag, table, derived, bounds, inside } = self.clone();
        bag.lock.check()?;
        let chunk_at = part.start;
        let unsupported_content = selection.topics != TopicSet::All
            && !selection.topics.has_all(table.topics());
        let pace = if unsupported_content { Pace::NEAR } else { Pace::default() };
        let traverse = Traverse::new(bag, bounds.clone(), part, pace, inside)?;
        let is_wanted = derived.is_wanted(&selection.topics);
        let reader = Reader {
            table,
            selection: selection.clone(),
            derived: Some(derived).filter(|_| is_wanted),
            bounds,
            chunk_at,
            recent: Box::new([None; RECENT]),
            declared: Vec::new(),
        };
        Ok(RosbagCursor { traverse, reader })
    }
}

impl Cursor for RosbagCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        self.traverse.step(&mut Filling { reader: &mut self.reader, block })
    }
}

/// Puts what a walk comes to into a block.
struct Filling<'f> {
    reader: &'f mut Reader,
    block: &'f mut Block,
}

impl Visitor for Filling<'_> {
    fn enter(&mut self, at: u64) {
        self.reader.enter(at);
    }

    fn window(&mut self, bytes: Bytes, at: u64) {
        self.block.reset(bytes, at);
    }

    fn unpacked(&mut self, bytes: Bytes, at: u64) {
        self.block.reset_unpacked(bytes, at);
    }

    fn buffer(&mut self) -> BytesMut {
        // What the block had before, to be written over if nobody else has it.
        let bytes = self.block.bytes().clone();
        self.block.reset(Bytes::new(), 0);
        bytes.try_into_mut().unwrap_or_default()
    }

    #[inline]
    fn message(&mut self, id: u32, time: Timestamp, payload: Range<usize>) -> bool {
        let Some((entry, topic)) = self.reader.find(id) else { return false };
        if let Some(derived) = &self.reader.derived {
            let (of, selection) = ((topic, entry), &self.reader.selection);
            derived.derive(self.block, selection, of, time, payload.clone());
        }
        if self.reader.selection.wants(topic, time) {
            self.block.push_from_stream(topic, entry, time, payload);
        }
        true
    }

    fn passes(&mut self, id: u32, time: Timestamp) -> bool {
        let Some((_, topic)) = self.reader.find(id) else { return false };
        self.reader.derived.is_none() && !self.reader.selection.wants(topic, time)
    }

    fn connection(&mut self, raw: Raw) {
        if let Some(why) = self.reader.declare(raw) {
            let at = self.reader.chunk_at;
            let bounds = &self.reader.bounds;
            let after = bounds.get(bounds.partition_point(|bound| *bound <= at));
            let bytes = at..after.copied().unwrap_or(at);
            self.block.report(Damage::new(DamageKind::Index, bytes).with_reason(why));
        }
    }

    fn knows(&self, id: u32) -> bool {
        self.reader.table.lookup(id, self.reader.chunk_at).is_some()
    }

    fn topic(&self, id: u32) -> Option<TopicId> {
        self.reader.table.topic(self.reader.table.lookup(id, self.reader.chunk_at)?)
    }

    fn damage(&mut self, damage: Damage) {
        self.block.report(damage);
    }
}

impl Reader {
    /// A chunk begins at `at`.
    fn enter(&mut self, at: u64) {
        self.chunk_at = at;
        self.recent.fill(None);
        self.declared.clear();
    }

    /// What the number `id` stands for here.
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

    /// The chunk declares a connection: if that is not what the table has for its
    /// number, it counts from here to the end of the chunk. One that the table has only
    /// under another name is taken for that, and the answer says so.
    fn declare(&mut self, raw: Raw) -> Option<String> {
        let connection = Connection::new(raw);
        let entry = self.table.lookup(connection.id, self.chunk_at);
        let known = entry.and_then(|entry| self.table.entries.get(entry as usize));
        let is_copy = |known: &Connection| {
            known.is_like(&connection) || is_spoiled(&connection, known)
        };
        if known.is_some_and(|known| is_copy(&known.connection)) {
            return None;
        }
        let like = self.table.find_like(&connection);
        let Connection { id, topic, type_name, md5sum, .. } = &connection;
        if let (None, Some(known)) = (like, known.map(|known| &known.connection))
            && (&known.type_name, &known.md5sum) == (type_name, md5sum)
        {
            let told = &known.topic;
            return Some(format!(
                "it calls the connection {id} {told:?}, and this chunk {topic:?}"
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
            .field("traverse", &self.traverse)
            .finish_non_exhaustive()
    }
}
