//! Writing a bag from selections of other logs. All selected messages are written unchanged, each
//! with its own connection.

mod chunk_copier;
mod connection_ids;
mod other_formats;

pub(crate) use self::other_formats::unsupported_content;

use std::collections::BTreeSet;

use logtool_core::{
    ChunkStatistics, Damage, Error, ErrorKind, LogSlice, Manifest, MetadataKey, Output,
    Part, Record, RecordSink, Result, Selection, Source, Timestamp, TopicId,
    TopicOrigin, WriteOptions,
};

use crate::{
    codec::{compression::Compression, encryption::Encryption},
    connections::{
        connection::Connection,
        connection_table::{ConnectionEntry, ConnectionTable},
    },
    format_state::{FORMAT_NAME, FormatState},
    sink::{chunk_copier::ChunkCopier, connection_ids::SelectedConnection},
    write::{
        ConnectionHandle, CopiedChunk, Writer, connection_header::with_topic,
        options::WriterOptions, repaired_header::repair_header,
    },
};

/// The reason that is reported for a message without a time that a bag can have.
const UNKNOWN_TIME: &str = "its time is later than 2^63 - 2 ns, or is not known";

/// The maximum number of changed connections that are listed individually.
const MAX_LISTED_CHANGES: usize = 8;

/// Writes the messages of several selections to one bag.
pub(crate) struct BagSink<'w> {
    writer: Writer<Box<dyn Output + 'w>>,
    selected_logs: Vec<SelectedLog>,
    /// The requested compression, if any.
    compression: Option<Compression>,
    /// Whether the times of messages are changed.
    is_retimed: bool,
    /// Whether the content of every chunk is inspected before it is copied.
    inspects_content: bool,
}

/// A log, and the selection of its messages that is written.
struct SelectedLog {
    table: ConnectionTable,
    selection: Selection,
    /// The handle of each connection in the new bag, if it is selected.
    new_handles: Vec<Option<ConnectionHandle>>,
    /// The derived topics, whose records are not written.
    derived: BTreeSet<TopicId>,
    /// The start and the end of each part of the log.
    parts: Vec<[u64; 2]>,
    /// The length of the header before the message in each payload, by topic.
    header_lens: Vec<u32>,
    /// Whether the log is a bag.
    is_bag: bool,
    /// Whether the log is a bag of version 1.2, in which connections have no ids.
    is_v1: bool,
    /// Whether the log is an encrypted bag.
    is_encrypted: bool,
    /// The compression of most chunks of the log, if it is known.
    compression_of_chunks: Option<Compression>,
    /// Whether all connections are selected.
    wants_all_topics: bool,
    /// Descriptions of the connections that are not written unchanged.
    connection_changes: Vec<String>,
    /// The messages that are not written.
    dropped: Vec<Damage>,
}

impl<'w> BagSink<'w> {
    /// Starts a bag in `out` for the messages of `slices`.
    ///
    /// # Errors
    /// `UnsuitableEncoding` if the messages of a topic are not encoded as in ROS 1, `Unsupported`
    /// if the compression is unknown or the new name of a topic is empty, `NoSuch` if a topic that
    /// should be renamed does not exist.
    pub(crate) fn new(
        out: Box<dyn Output + 'w>,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        let compression =
            options.compression.as_deref().map(parse_compression).transpose()?;
        check_names(slices, options)?;
        let first_compression =
            slices.first().and_then(|slice| most_frequent_compression(slice.manifest));
        let compression_of_chunks =
            compression.or(first_compression).unwrap_or(Compression::None);
        let mut selected_logs =
            slices.iter().map(SelectedLog::open).collect::<Result<Vec<_>>>()?;
        let connections = slices
            .iter()
            .zip(&selected_logs)
            .map(|(slice, selected)| selected_connections(slice, selected, options));
        let connections: Vec<Vec<Option<SelectedConnection>>> = connections.collect();
        let (is_retimed, is_repair) = (options.changes_times, options.is_repair);
        let inspects_content =
            is_repair || options.validates_parts || connections.len() > 1;
        let options = WriterOptions::default().with_compression(compression_of_chunks);
        let mut writer = Writer::new(out, options)?;
        let new_handles = connection_ids::assign(&mut writer, connections)?;
        for (selected, new_handles) in selected_logs.iter_mut().zip(new_handles) {
            selected.new_handles = new_handles;
            selected.describe_changes(is_repair);
        }
        Ok(Self { writer, selected_logs, compression, is_retimed, inspects_content })
    }
}

impl BagSink<'_> {
    /// Returns the chunks of `part` if the whole part can be copied.
    fn chunks(
        &self,
        slice_index: usize,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<Vec<CopiedChunk>>> {
        let selected = self
            .selected_logs
            .get(slice_index)
            .ok_or_else(|| no_selection(slice_index))?;
        let copier = ChunkCopier {
            selected,
            writer: &self.writer,
            compression: self.compression,
            inspects_content: self.inspects_content || !selected.wants_all_topics,
            source,
        };
        copier.chunks(part)
    }
}

impl RecordSink for BagSink<'_> {
    fn write(&mut self, slice_index: usize, record: Record<'_>) -> Result<()> {
        let selected = self
            .selected_logs
            .get_mut(slice_index)
            .ok_or_else(|| no_selection(slice_index))?;
        let stream = record.stream as usize;
        let is_of_topic = selected.table.topic(record.stream) == Some(record.topic);
        match selected
            .new_handles
            .get(stream)
            .copied()
            .flatten()
            .filter(|_| is_of_topic)
        {
            Some(_) if record.time == Timestamp::MAX => {
                let dropped = record.undecodable_damage().with_reason(UNKNOWN_TIME);
                dropped.add_to(&mut selected.dropped);
                Ok(())
            }
            Some(connection) => {
                let header_len = selected.header_lens.get(record.topic.index());
                let header_len = header_len.copied().unwrap_or(0) as usize;
                let message = record.payload.get(header_len..).ok_or_else(|| {
                    let message = "a message is shorter than its header";
                    Error::new(ErrorKind::Malformed, message).with_offset(record.offset)
                })?;
                self.writer.write(connection, record.time, message)
            }
            None if selected.derived.contains(&record.topic) => Ok(()),
            None => {
                let topic = record.topic.0;
                let message = format!(
                    "the connection {stream} of the topic {topic} is not selected"
                );
                Err(Error::new(ErrorKind::NoSuch, message))
            }
        }
    }

    fn copies_parts(&self, slice_index: usize) -> bool {
        let is_as_requested = |selected: &&SelectedLog| match (
            self.compression,
            selected.compression_of_chunks,
        ) {
            (Some(requested), Some(compression_of_chunks)) => {
                requested == compression_of_chunks
            }
            _ => true,
        };
        let selected = self.selected_logs.get(slice_index).filter(is_as_requested);
        !self.is_retimed && selected.is_some_and(SelectedLog::has_chunks)
    }

    fn copy_part_verbatim(
        &mut self,
        slice_index: usize,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<u64>> {
        if slice_index < self.selected_logs.len() && !self.copies_parts(slice_index) {
            return Ok(None);
        }
        // A copied chunk may have messages of connections that only chunks before it declared,
        // which are not copied.
        self.writer.declare_all();
        let Some(chunks) = self.chunks(slice_index, part, source)? else {
            self.writer.declare_all_with_next();
            return Ok(None);
        };
        let mut records = 0;
        for chunk in chunks {
            let counts = chunk.summary.counts.iter();
            records += counts.map(|(_, count)| u64::from(*count)).sum::<u64>();
            self.writer.copy_chunk(source, chunk)?;
        }
        Ok(Some(records))
    }

    fn dropped_records(&self, slice_index: usize) -> &[Damage] {
        self.selected_logs.get(slice_index).map_or(&[], |selected| &selected.dropped)
    }

    fn remarks(&self) -> Vec<String> {
        let connection_changes = || {
            self.selected_logs.iter().flat_map(|selected| &selected.connection_changes)
        };
        let mut remarks: Vec<String> =
            connection_changes().take(MAX_LISTED_CHANGES).cloned().collect();
        let unlisted = connection_changes().count() - remarks.len();
        if unlisted > 0 {
            remarks.push(format!("{unlisted} more connections were changed"));
        }
        if self.selected_logs.iter().any(|selected| selected.is_encrypted) {
            remarks.push("the input is encrypted, and the new bag is not".to_owned());
        }
        remarks
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish().map(drop)
    }
}

impl SelectedLog {
    /// Reads the connections of the log of `slice`. Their new handles are assigned later.
    fn open(slice: &LogSlice<'_>) -> Result<Self> {
        let LogSlice { manifest, selection } = slice;
        let header_lens =
            manifest.topics.iter().map(|topic| topic.header_len).collect();
        if manifest.format != FORMAT_NAME {
            return Ok(Self {
                table: other_formats::connections(manifest, selection)?,
                selection: selection.clone(),
                new_handles: Vec::new(),
                derived: BTreeSet::new(),
                parts: Vec::new(),
                header_lens,
                is_bag: false,
                is_v1: false,
                is_encrypted: false,
                compression_of_chunks: None,
                wants_all_topics: true,
                connection_changes: Vec::new(),
                dropped: Vec::new(),
            });
        }
        let FormatState { file_header, connections, .. } =
            manifest.decode_state(FORMAT_NAME)?;
        let topics = manifest.topics();
        let derived = topics.filter(|(_, topic)| topic.origin == TopicOrigin::Derived);
        let derived = derived.map(|(id, _)| id).collect();
        let parts = manifest.parts.iter();
        let encryption =
            Encryption::new(&file_header.encryptor, &file_header.user, None);
        let table = ConnectionTable::restore(connections);
        let is_selected =
            |entry: &ConnectionEntry| selection.topics.contains(entry.topic);
        Ok(Self {
            wants_all_topics: table.entries.iter().all(is_selected),
            table,
            selection: selection.clone(),
            new_handles: Vec::new(),
            derived,
            parts: parts.map(|part| [part.bytes.start, part.bytes.end]).collect(),
            header_lens,
            is_bag: true,
            is_v1: file_header.is_v1(),
            is_encrypted: !matches!(encryption, Encryption::None),
            compression_of_chunks: most_frequent_compression(manifest),
            connection_changes: Vec::new(),
            dropped: Vec::new(),
        })
    }

    /// Adds the descriptions of the selected connections that are not written unchanged.
    fn describe_changes(&mut self, is_repair: bool) {
        let entries = self.table.entries.iter().zip(&self.new_handles);
        for (ConnectionEntry { connection, .. }, _) in
            entries.filter(|(_, new)| new.is_some())
        {
            let Connection { id, topic, .. } = connection;
            for change in repair_header(connection, is_repair).changes {
                self.connection_changes
                    .push(format!("the connection {id}, of {topic:?}, {change}"));
            }
        }
    }

    /// Returns whether the log has chunks of the form that new bags have.
    fn has_chunks(&self) -> bool {
        self.is_bag && !self.is_v1 && !self.is_encrypted
    }
}

/// Returns the form in which each connection of `slice` is written, if it is selected.
fn selected_connections(
    slice: &LogSlice<'_>,
    selected: &SelectedLog,
    options: &WriteOptions,
) -> Vec<Option<SelectedConnection>> {
    let LogSlice { manifest, selection } = slice;
    let entries = selected.table.entries.iter();
    let connections = entries.map(|entry| {
        let ConnectionEntry { connection, topic, .. } = entry;
        let label = manifest.topic(*topic).ok()?.label();
        let named = options.rename.get(&*label).map(String::as_bytes);
        // Every reader should be able to read a repaired bag, so topic names are converted to
        // UTF-8.
        let utf8 = Some(connection.topic.as_bytes()).filter(|_| options.is_repair);
        let name = named.or(utf8.filter(|name| *name != connection.topic_bytes()));
        let header = repair_header(connection, options.is_repair).header;
        // Version 1.2 has no connection ids. The ids of these connections are hash values.
        let id = (!selected.is_v1).then_some(connection.id);
        selection.topics.contains(*topic).then(|| SelectedConnection {
            id,
            topic: name.unwrap_or(connection.topic_bytes()).to_vec(),
            header: match name {
                Some(name) => with_topic(&header, name),
                None => header,
            },
        })
    });
    connections.collect()
}

/// Checks that every topic that should be renamed exists, and that no new name is empty.
fn check_names(slices: &[LogSlice<'_>], options: &WriteOptions) -> Result<()> {
    for (label, name) in &options.rename {
        let has_topic = |slice: &LogSlice<'_>| slice.manifest.topic_id(label).is_ok();
        if !slices.iter().any(has_topic) {
            let message = format!("there is no topic {label:?} to rename to {name:?}");
            return Err(Error::new(ErrorKind::NoSuch, message));
        }
        if name.is_empty() {
            let message = format!("the new name of the topic {label:?} is empty");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    }
    Ok(())
}

/// Returns the compression with this `name`.
fn parse_compression(name: &str) -> Result<Compression> {
    Compression::from_name(name.as_bytes()).ok_or_else(|| {
        let message =
            format!("the compression {name:?} is not \"none\", \"bz2\" or \"lz4\"");
        Error::new(ErrorKind::Unsupported, message)
    })
}

/// Returns the compression of most inspected chunks of a bag.
fn most_frequent_compression(manifest: &Manifest) -> Option<Compression> {
    let chunks = manifest.file_metadata(MetadataKey::Chunks)?;
    let statistics = ChunkStatistics::from_value(chunks)?;
    let counts = statistics.by_compression.iter().filter_map(|(name, statistics)| {
        Some((statistics.chunks, Compression::from_name(name.as_bytes())?))
    });
    counts.max_by_key(|(chunks, _)| *chunks).map(|(_, compression)| compression)
}

/// Returns the error of an index without a selection.
fn no_selection(slice_index: usize) -> Error {
    Error::new(
        ErrorKind::NoSuch,
        format!("there is no selection with the index {slice_index}"),
    )
}
