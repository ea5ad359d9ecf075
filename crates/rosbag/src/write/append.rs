//! Going on with a bag that is finished.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Seek as _, SeekFrom, Write as _},
    sync::Arc,
};

use logtool_core::{
    Error, ErrorKind, FileSource, OpenOptions, OutputWriter, Result, Source, TimeRange,
    Timestamp,
};

use crate::{
    connection::Connection,
    encryption::Lock,
    head::Head,
    index::{self, Index, IndexedChunk},
    toplevel::{Top, TopKind, Tops},
    wire::{self, Framed},
    write::{
        ChunkInfo, Writer,
        encode::{self, IndexOrder},
        filling::Summary,
        head::BagHead,
        options::WriterOptions,
        stamp::Stamp,
    },
};

impl Writer<File> {
    /// Goes on with the finished bag in `file`, which is open for reading and writing.
    ///
    /// Its connections and chunks stay as they are; connections that are added are
    /// others. As ROS does, the index is cut off, to be written again by
    /// [`finish`](Self::finish): until then the bag has none.
    ///
    /// # Errors
    /// `Unsupported` if the bag is of another version or encrypted, `Malformed` if its
    /// index is missing or wrong: such a bag is to be repaired first. In these cases it
    /// is not touched. `Io` if reading or writing fails.
    pub fn append(mut file: File, options: WriterOptions) -> Result<Self> {
        let source: Arc<dyn Source> = Arc::new(FileSource::new(file.try_clone()?)?);
        let Finished { mut head, index_at, index, index_order } =
            Finished::read(&source)?;

        head.set(0, 0, 0);
        file.seek(SeekFrom::Start(head.at))?;
        file.write_all(&head.fields)?;
        // Its index is still there if this is not done.
        file.sync_data()?;
        file.set_len(index_at)?;
        file.seek(SeekFrom::End(0))?;

        let mut writer =
            Self::starting(OutputWriter::new(file, index_at), options, head);
        writer.index_order = index_order.unwrap_or(writer.index_order);
        for (raw, _) in index.connections {
            let connection = Connection::new(raw);
            if writer.connection(connection.id).is_none() {
                let (topic, header) = (connection.topic_bytes(), connection.header());
                let handle = writer.connect_raw(connection.id, topic, header)?;
                // Perhaps only the index had it.
                writer.declare(handle.number);
            }
        }
        for IndexedChunk { at, time, counts, .. } in index.chunks {
            let summary = Summary { times: stamps(&time)?, counts };
            writer.chunks.push(ChunkInfo { at, summary });
        }
        Ok(writer)
    }
}

/// A bag that is finished and sound, as far as its index tells.
struct Finished {
    head: BagHead,
    index_at: u64,
    index: Index,
    /// The order of the fields of index data, where there are any.
    index_order: Option<IndexOrder>,
}

impl Finished {
    fn read(source: &Arc<dyn Source>) -> Result<Self> {
        let mut remarks = Vec::new();
        let head = Head::read(source, OpenOptions::default(), &mut remarks)?;
        let unsupported = |what| Err(Error::new(ErrorKind::Unsupported, what));
        if head.is_v1() {
            return unsupported(
                "appending to a bag of version 1.2: it is to be written anew first, as \
                 repairing does",
            );
        }
        let lock = Lock::new(&head.encryptor, &head.user, None);
        if !matches!(lock, Lock::Open) {
            return unsupported("appending to an encrypted bag");
        }
        if let Some(remark) = remarks.first() {
            return Err(unsound(remark));
        }
        let index = index::read(source, &head, &lock, false)?;
        let index = index.map_err(|why| unsound(&why))?;
        if let Some(remark) = index.remarks.first() {
            return Err(unsound(remark));
        }
        let mut tops = Tops::new(source.clone());
        check_connections(&index)?;
        check_times(&index)?;
        let index_order = check_end(&mut tops, &head, &index)?;
        let bag_head = find_head(&mut tops, &head)?;
        Ok(Self { head: bag_head, index_at: head.index_at, index, index_order })
    }
}

/// That of every number there is one connection, and of all that have messages.
fn check_connections(index: &Index) -> Result<()> {
    let mut by_id = BTreeMap::new();
    for connection in
        index.connections.iter().cloned().map(|(raw, _)| Connection::new(raw))
    {
        let id = connection.id;
        let other = by_id.insert(id, connection);
        if other.is_some_and(|other| by_id.get(&id) != Some(&other)) {
            return Err(unsound(&format!(
                "it has two connections with the number {id}"
            )));
        }
    }
    let mut counts = index.chunks.iter().flat_map(|chunk| &chunk.counts);
    match counts.find(|(id, _)| !by_id.contains_key(id)) {
        Some((id, _)) => {
            Err(unsound(&format!("it has no connection with the number {id}")))
        }
        None => Ok(()),
    }
}

/// That the times of chunks can be true.
fn check_times(index: &Index) -> Result<()> {
    for IndexedChunk { at, time, .. } in &index.chunks {
        if stamps(time).is_err() {
            return Err(unsound(&format!(
                "of the chunk at byte {at} it tells no time"
            )));
        }
    }
    Ok(())
}

/// That nothing but its own index lies between the last chunk and the index. Says in
/// which order the fields of that are.
fn check_end(
    tops: &mut Tops,
    head: &Head,
    index: &Index,
) -> Result<Option<IndexOrder>> {
    let mut at = index.chunks.last().map_or(head.records_at, |last| last.at);
    let (mut is_first, mut order) = (!index.chunks.is_empty(), None);
    while at < head.index_at {
        match tops.look(at)? {
            Some(Top { kind: TopKind::Chunk(_), data }) if is_first => at = data.end,
            Some(Top { kind: TopKind::Index { .. }, data }) => {
                order = order_of(&tops.bytes(at, data.start - at)?);
                at = data.end;
            }
            Some(Top { kind: TopKind::Padding, data }) => at = data.end,
            _ => break,
        }
        is_first = false;
    }
    match at == head.index_at {
        true => Ok(order),
        false => Err(unsound(&format!("it does not tell of what is at byte {at}"))),
    }
}

/// The order of the fields of the index data at the start of `bytes`, if it has those
/// fields that all have.
fn order_of(bytes: &[u8]) -> Option<IndexOrder> {
    let Framed::Whole(frame) = wire::frame(bytes) else { return None };
    let known = |name: &[u8]| {
        encode::INDEX_ORDER.into_iter().find(|known| known.as_bytes() == name)
    };
    let names: Option<Vec<&str>> =
        wire::fields(bytes, frame).map(|(name, _)| known(name)).collect();
    let order: IndexOrder = names?.try_into().ok()?;
    encode::INDEX_ORDER.iter().all(|name| order.contains(name)).then_some(order)
}

fn find_head(tops: &mut Tops, head: &Head) -> Result<BagHead> {
    let first = tops.bytes(0, head.records_at)?;
    let line = wire::version(&first).map_or(0, |line| line.line_len);
    let bytes = first.get(line..).unwrap_or_default();
    BagHead::find(bytes, line as u64)
        .ok_or_else(|| unsound("the header of the bag lacks a field"))
}

/// The first and the last time in `range`.
fn stamps(range: &TimeRange) -> Result<[Stamp; 2]> {
    let last = Timestamp::from_nanos(range.end.as_nanos().saturating_sub(1));
    Ok([Stamp::new(range.start)?, Stamp::new(last)?])
}

fn unsound(why: &str) -> Error {
    let what = format!("appending to a bag that is to be repaired first: {why}");
    Error::new(ErrorKind::Malformed, what)
}
