//! Appending to a finished bag.

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
    codec::encryption::Encryption,
    connections::connection::Connection,
    file::{
        file_header::FileHeader,
        index::{self, Index, IndexedChunk},
        toplevel_record::{TopLevelKind, TopLevelReader, TopLevelRecord},
    },
    wire::{self, FrameMatch},
    write::{
        Writer, WrittenChunk,
        chunk_builder::ChunkSummary,
        connection_header::check_lengths,
        editable_header::EditableHeader,
        encode::{self, IndexOrder},
        options::WriterOptions,
        ros_time::RosTime,
    },
};

impl Writer<File> {
    /// Starts appending to the finished bag in `file`, which is open for reading and writing.
    ///
    /// Its connections and chunks are unchanged; added connections get new ids. As in ROS, the
    /// index is truncated and written again by [`finish`](Self::finish): until then, the bag has
    /// no index.
    ///
    /// # Errors
    /// `Unsupported` if the bag has another version or is encrypted, `Malformed` if its index is
    /// missing or wrong: repair such a bag first. In these cases the bag is not changed. `Io` if
    /// reading or writing fails.
    pub fn append(mut file: File, options: WriterOptions) -> Result<Self> {
        let source: Arc<dyn Source> = Arc::new(FileSource::new(file.try_clone()?)?);
        let FinishedBag { mut bag_header, index_at, index, index_order } =
            FinishedBag::read(&source)?;

        bag_header.set(0, 0, 0);
        file.seek(SeekFrom::Start(bag_header.at))?;
        file.write_all(&bag_header.fields)?;
        // The header without an index must be on the disk before the index is removed.
        file.sync_data()?;
        file.set_len(index_at)?;
        file.seek(SeekFrom::End(0))?;

        let mut writer =
            Self::with_header(OutputWriter::new(file, index_at), options, bag_header);
        writer.index_order = index_order.unwrap_or(writer.index_order);
        for (raw, _) in index.connections {
            let connection = Connection::new(raw);
            if writer.connection(connection.id).is_none() {
                let (topic, header) = (connection.topic_bytes(), connection.header());
                let handle = writer.connect_raw(connection.id, topic, header)?;
                // It may be declared in the index only, which was removed, so the first new chunk
                // declares it again.
                writer.declare(handle.index);
            }
        }
        for IndexedChunk { at, time, counts } in index.chunks {
            let summary = ChunkSummary { times: first_and_last(&time)?, counts };
            writer.chunks.push(WrittenChunk { at, summary });
        }
        Ok(writer)
    }
}

/// A finished bag with a sound index.
struct FinishedBag {
    bag_header: EditableHeader,
    index_at: u64,
    index: Index,
    /// The order of the fields of index data, if there are any.
    index_order: Option<IndexOrder>,
}

impl FinishedBag {
    /// Reads the bag in `source`, and checks everything that appending to it requires.
    fn read(source: &Arc<dyn Source>) -> Result<Self> {
        let mut remarks = Vec::new();
        let file_header =
            FileHeader::read(source, OpenOptions::default(), &mut remarks)?;
        let unsupported = |message| Err(Error::new(ErrorKind::Unsupported, message));
        if file_header.is_v1() {
            return unsupported(
                "cannot append to a bag of version 1.2: repair it first, which writes version \
                 2.0",
            );
        }
        let encryption =
            Encryption::new(&file_header.encryptor, &file_header.user, None);
        if !matches!(encryption, Encryption::None) {
            return unsupported("cannot append to an encrypted bag");
        }
        if let Some(remark) = remarks.first() {
            return Err(unsound_error(remark));
        }
        let index = index::read(source, &file_header, &encryption, false)?;
        let index = index.map_err(|reason| unsound_error(&reason))?;
        if let Some(remark) = index.remarks.first() {
            return Err(unsound_error(remark));
        }
        let mut toplevel = TopLevelReader::new(source.clone());
        check_connections(&index)?;
        check_times(&index)?;
        let index_order = check_end(&mut toplevel, &file_header, &index)?;
        let bag_header = read_header(&mut toplevel, &file_header)?;
        Ok(Self { bag_header, index_at: file_header.index_at, index, index_order })
    }
}

/// Checks that connection ids are unique, that the connections can be written again, and that every
/// connection with messages is listed.
fn check_connections(index: &Index) -> Result<()> {
    let mut by_id = BTreeMap::new();
    for connection in
        index.connections.iter().cloned().map(|(raw, _)| Connection::new(raw))
    {
        let id = connection.id;
        check_lengths(connection.topic_bytes(), connection.header()).map_err(
            |err| unsound_error(&format!("{} (connection {id})", err.message())),
        )?;
        let replaced = by_id.insert(id, connection);
        if replaced.is_some_and(|replaced| by_id.get(&id) != Some(&replaced)) {
            return Err(unsound_error(&format!("two connections have the id {id}")));
        }
    }
    let mut counts = index.chunks.iter().flat_map(|chunk| &chunk.counts);
    match counts.find(|(id, _)| !by_id.contains_key(id)) {
        Some((id, _)) => {
            Err(unsound_error(&format!("the index has no connection with the id {id}")))
        }
        None => Ok(()),
    }
}

/// Checks that the times of chunks are possible.
fn check_times(index: &Index) -> Result<()> {
    for IndexedChunk { at, time, .. } in &index.chunks {
        if first_and_last(time).is_err() {
            return Err(unsound_error(&format!(
                "the chunk info of the chunk at byte {at} has no valid time"
            )));
        }
    }
    Ok(())
}

/// Checks that only index data lie between the last chunk and the index. Returns the order of their
/// fields, if there are any.
fn check_end(
    toplevel: &mut TopLevelReader,
    file_header: &FileHeader,
    index: &Index,
) -> Result<Option<IndexOrder>> {
    let mut at = index.chunks.last().map_or(file_header.records_at, |last| last.at);
    let (mut is_first, mut order) = (!index.chunks.is_empty(), None);
    while at < file_header.index_at {
        match toplevel.record_at(at)? {
            Some(TopLevelRecord { kind: TopLevelKind::Chunk(_), data }) if is_first => {
                at = data.end
            }
            Some(TopLevelRecord { kind: TopLevelKind::Index { .. }, data }) => {
                order = detect_index_order(&toplevel.bytes(at, data.start - at)?);
                at = data.end;
            }
            Some(TopLevelRecord { kind: TopLevelKind::Padding, data }) => at = data.end,
            _ => break,
        }
        is_first = false;
    }
    if at == file_header.index_at {
        Ok(order)
    } else {
        Err(unsound_error(&format!("the index does not list the data at byte {at}")))
    }
}

/// Returns the order of the fields of the index data record at the start of `bytes`, if it has
/// exactly the fields of [`encode::INDEX_ORDER`].
fn detect_index_order(bytes: &[u8]) -> Option<IndexOrder> {
    let FrameMatch::Whole(frame) = wire::frame(bytes) else { return None };
    let field_name = |bytes: &[u8]| {
        encode::INDEX_ORDER.into_iter().find(|name| name.as_bytes() == bytes)
    };
    let names: Option<Vec<&str>> =
        wire::fields(bytes, frame).map(|(name, _)| field_name(name)).collect();
    let order: IndexOrder = names?.try_into().ok()?;
    encode::INDEX_ORDER.iter().all(|name| order.contains(name)).then_some(order)
}

/// Reads the bag header, so that its values can be changed.
fn read_header(
    toplevel: &mut TopLevelReader,
    file_header: &FileHeader,
) -> Result<EditableHeader> {
    let first = toplevel.bytes(0, file_header.records_at)?;
    let line_len = wire::version(&first).map_or(0, |version| version.line_len);
    let bytes = first.get(line_len..).unwrap_or_default();
    EditableHeader::parse(bytes, line_len as u64).ok_or_else(|| {
        unsound_error("the bag header lacks a field with a position or a count")
    })
}

/// Returns the first and the last time in `range`, or an error if a bag cannot store them.
fn first_and_last(range: &TimeRange) -> Result<[RosTime; 2]> {
    let last = Timestamp::from_nanos(range.end.as_nanos().saturating_sub(1));
    Ok([RosTime::new(range.start)?, RosTime::new(last)?])
}

fn unsound_error(reason: &str) -> Error {
    let message =
        format!("cannot append to this bag without repairing it first: {reason}");
    Error::new(ErrorKind::Malformed, message)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn read_all(file: &mut File) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// The connection cannot be written again, so the index must not be removed.
    #[test]
    fn bag_with_an_empty_topic_is_unchanged() {
        let mut writer =
            Writer::new(tempfile::tempfile().unwrap(), WriterOptions::default())
                .unwrap();
        let connection = writer.connect_raw(0, b"/t", b"").unwrap();
        writer.connections[0].topic.clear();
        writer.write(connection, Timestamp::from_nanos(1), b"message").unwrap();
        let mut file = writer.finish().unwrap();
        let before = read_all(&mut file);
        let copy = file.try_clone().unwrap();
        let err = Writer::append(copy, WriterOptions::default()).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::Malformed);
        assert!(err.to_string().contains("topic of a connection is empty"), "{err}");
        assert_eq!(read_all(&mut file), before);
    }
}
