//! Writing a bag that holds extracts of others: their messages as they are, none lost,
//! each still of its own connection.

mod copy;
mod foreign;
mod numbers;

pub(crate) use self::foreign::unsupported_content;

use std::collections::BTreeSet;

use logtool_core::{
    Error, ErrorKind, LogSlice, Manifest, Output, Part, Record, RecordSink, Result,
    Selection, Source, TopicId, TopicOrigin, Value, WriteOptions,
};

use crate::{
    chunk::Compression,
    connection::Connection,
    encryption::Lock,
    notes::{FORMAT_NAME, Notes},
    sink::{copy::Whole, numbers::Wanted},
    table::{Entry, Table},
    write::{
        ConnectionHandle, Copied, Writer, header::renamed, options::WriterOptions,
        repaired_header::written,
    },
};

/// So many connections that were changed are told one by one.
const CHANGES: usize = 8;

/// Writes messages of the topics of some extracts.
pub(crate) struct BagSink<'w> {
    writer: Writer<Box<dyn Output + 'w>>,
    extracts: Vec<Taken>,
    /// The compression that was asked for.
    compression: Option<Compression>,
    /// Whether messages come at other times than their own.
    is_retimed: bool,
    /// Whether every chunk is looked into before it is copied.
    looks_inside: bool,
}

/// An extract of which messages are taken.
struct Taken {
    table: Table,
    selection: Selection,
    /// What each connection becomes, if it is wanted.
    becomes: Vec<Option<ConnectionHandle>>,
    /// Topics that are made of others.
    derived: BTreeSet<TopicId>,
    /// The starts and ends of its parts.
    parts: Vec<[u64; 2]>,
    /// How many bytes at the start of payloads are no part of the message, by topic.
    envelopes: Vec<u32>,
    /// Whether it is a bag.
    is_bag: bool,
    /// Whether it is of version 1.2, of which connections have no numbers.
    is_v1: bool,
    is_encrypted: bool,
    /// How most of its chunks are packed, if that is known.
    packing: Option<Compression>,
    /// Whether no connection is left out.
    wants_all_topics: bool,
    /// The topics of connections that are not written as they are, and what was changed.
    changed: Vec<String>,
}

impl<'w> BagSink<'w> {
    /// Starts a bag in `out` that holds `extracts`.
    ///
    /// # Errors
    /// `Unsupported` if one is of another format, or for an unknown compression;
    /// `NoSuch` if no topic has a name that is to be changed.
    pub(crate) fn new(
        out: Box<dyn Output + 'w>,
        extracts: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        let compression = options.compression.as_deref().map(named).transpose()?;
        check_names(extracts, options)?;
        let own = extracts.first().and_then(|extract| usual(extract.manifest));
        let packing = compression.or(own).unwrap_or(Compression::None);
        let opened: Vec<_> =
            extracts.iter().map(Taken::open).collect::<Result<Vec<_>>>()?;
        let wanted = extracts
            .iter()
            .zip(&opened)
            .map(|(extract, taken)| wanted(extract, taken, options));
        let wanted: Vec<Vec<Option<Wanted>>> = wanted.collect();
        let (is_retimed, is_careful) = (options.retimed, options.careful);
        let looks_inside = is_careful || options.verified || wanted.len() > 1;
        let options = WriterOptions::default().with_compression(packing);
        let mut writer = Writer::new(out, options)?;
        let becomes = numbers::assign(&mut writer, wanted)?;
        let extracts = opened
            .into_iter()
            .zip(becomes)
            .map(|(mut taken, becomes)| {
                taken.becomes = becomes;
                taken.note_changes(is_careful);
                taken
            })
            .collect();
        Ok(Self { writer, extracts, compression, is_retimed, looks_inside })
    }
}

impl BagSink<'_> {
    /// Returns the chunks of `part` if the whole part can be copied.
    fn chunks(
        &self,
        from: usize,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<Vec<Copied>>> {
        let taken = self.extracts.get(from).ok_or_else(|| no_extract(from))?;
        let whole = Whole {
            taken,
            writer: &self.writer,
            compression: self.compression,
            looks_inside: self.looks_inside || !taken.wants_all_topics,
            source,
        };
        whole.chunks(part)
    }
}

impl RecordSink for BagSink<'_> {
    fn write(&mut self, from: usize, record: Record<'_>) -> Result<()> {
        let taken = self.extracts.get(from).ok_or_else(|| no_extract(from))?;
        let stream = record.stream as usize;
        let is_of_topic = taken.table.topic(record.stream) == Some(record.topic);
        match taken.becomes.get(stream).copied().flatten().filter(|_| is_of_topic) {
            Some(connection) => {
                let envelope = taken.envelopes.get(record.topic.index());
                let envelope = envelope.copied().unwrap_or(0) as usize;
                let message = record.payload.get(envelope..).ok_or_else(|| {
                    let what = "a message shorter than its envelope";
                    Error::new(ErrorKind::Malformed, what).at(record.offset)
                })?;
                self.writer.write(connection, record.time, message)
            }
            None if taken.derived.contains(&record.topic) => Ok(()),
            None => {
                let topic = record.topic.0;
                let what = format!(
                    "no connection number {stream} of the topic number {topic} was \
                     asked for"
                );
                Err(Error::new(ErrorKind::NoSuch, what))
            }
        }
    }

    fn copies_parts(&self, from: usize) -> bool {
        let is_as_asked = |taken: &&Taken| match (self.compression, taken.packing) {
            (Some(asked), Some(packing)) => asked == packing,
            _ => true,
        };
        let taken = self.extracts.get(from).filter(is_as_asked);
        !self.is_retimed && taken.is_some_and(Taken::has_chunks)
    }

    fn copy_part_verbatim(
        &mut self,
        from: usize,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<u64>> {
        if from < self.extracts.len() && !self.copies_parts(from) {
            return Ok(None);
        }
        // A chunk may need connections of chunks that are left out.
        self.writer.declare_all();
        let Some(chunks) = self.chunks(from, part, source)? else {
            self.writer.declare_all_with_next();
            return Ok(None);
        };
        let mut records = 0;
        for chunk in chunks {
            let counts = chunk.summary.counts.iter();
            records += counts.map(|(_, count)| u64::from(*count)).sum::<u64>();
            self.writer.copy(source, chunk)?;
        }
        Ok(Some(records))
    }

    fn remarks(&self) -> Vec<String> {
        let changed = || self.extracts.iter().flat_map(|taken| &taken.changed);
        let mut remarks: Vec<String> = changed().take(CHANGES).cloned().collect();
        let more = changed().count() - remarks.len();
        if more > 0 {
            remarks.push(format!("so {more} more connections were changed"));
        }
        if self.extracts.iter().any(|taken| taken.is_encrypted) {
            remarks
                .push("what was encrypted is not encrypted in the new bag".to_owned());
        }
        remarks
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish().map(drop)
    }
}

impl Taken {
    fn open(extract: &LogSlice<'_>) -> Result<Self> {
        let LogSlice { manifest, selection } = extract;
        let envelopes = manifest.topics.iter().map(|topic| topic.envelope).collect();
        if manifest.format != FORMAT_NAME {
            return Ok(Self {
                table: foreign::connections(manifest, selection)?,
                selection: selection.clone(),
                becomes: Vec::new(),
                derived: BTreeSet::new(),
                parts: Vec::new(),
                envelopes,
                is_bag: false,
                is_v1: false,
                is_encrypted: false,
                packing: None,
                wants_all_topics: true,
                changed: Vec::new(),
            });
        }
        let Notes { head, connections, .. } = manifest.decode_state(FORMAT_NAME)?;
        let topics = manifest.topics();
        let derived = topics.filter(|(_, topic)| topic.origin == TopicOrigin::Derived);
        let derived = derived.map(|(id, _)| id).collect();
        let parts = manifest.parts.iter();
        let lock = Lock::new(&head.encryptor, &head.user, None);
        let table = Table::restore(connections);
        let wants = |entry: &Entry| selection.topics.contains(entry.topic);
        Ok(Self {
            wants_all_topics: table.entries.iter().all(wants),
            table,
            selection: selection.clone(),
            becomes: Vec::new(),
            derived,
            parts: parts.map(|part| [part.bytes.start, part.bytes.end]).collect(),
            envelopes,
            is_bag: true,
            is_v1: head.is_v1(),
            is_encrypted: !matches!(lock, Lock::Open),
            packing: usual(manifest),
            changed: Vec::new(),
        })
    }

    /// Notes which connections are not written as they are.
    fn note_changes(&mut self, is_careful: bool) {
        let entries = self.table.entries.iter().zip(&self.becomes);
        for (Entry { connection, .. }, _) in entries.filter(|(_, new)| new.is_some()) {
            let Connection { id, topic, .. } = connection;
            for change in written(connection, is_careful).changes {
                self.changed
                    .push(format!("the connection {id}, of {topic:?}, {change}"));
            }
        }
    }

    /// Whether its chunks are as they are in the bags that are written.
    fn has_chunks(&self) -> bool {
        self.is_bag && !self.is_v1 && !self.is_encrypted
    }
}

/// What becomes of each connection of `extract`.
fn wanted(
    extract: &LogSlice<'_>,
    taken: &Taken,
    options: &WriteOptions,
) -> Vec<Option<Wanted>> {
    let LogSlice { manifest, selection } = extract;
    let entries = taken.table.entries.iter();
    let wanted = entries.map(|entry| {
        let Entry { connection, topic, .. } = entry;
        let label = manifest.get(*topic).ok()?.label();
        let named = options.rename.get(&*label).map(String::as_bytes);
        // Who repairs a bag wants one that every reader reads.
        let utf8 = Some(connection.topic.as_bytes()).filter(|_| options.careful);
        let name = named.or(utf8.filter(|name| *name != connection.topic_bytes()));
        let header = written(connection, options.careful).header;
        // Version 1.2 has no numbers: those of its connections are made up.
        let id = (!taken.is_v1).then_some(connection.id);
        selection.topics.contains(*topic).then(|| Wanted {
            id,
            topic: name.unwrap_or(connection.topic_bytes()).to_vec(),
            header: match name {
                Some(name) => renamed(&header, name),
                None => header,
            },
        })
    });
    wanted.collect()
}

/// Checks that there is a topic for every new name, and that it is a name.
fn check_names(extracts: &[LogSlice<'_>], options: &WriteOptions) -> Result<()> {
    for (label, name) in &options.rename {
        let has = |extract: &LogSlice<'_>| extract.manifest.topic(label).is_ok();
        if !extracts.iter().any(has) {
            let what = format!("no topic {label:?}, which is to be called {name:?}");
            return Err(Error::new(ErrorKind::NoSuch, what));
        }
        if name.is_empty() {
            let what = format!("the topic {label:?} without a name");
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
    }
    Ok(())
}

/// The compression that is called `name`.
fn named(name: &str) -> Result<Compression> {
    Compression::of(name.as_bytes()).ok_or_else(|| {
        let what =
            format!("a bag that is packed with {name:?}: \"none\", \"bz2\" or \"lz4\"");
        Error::new(ErrorKind::Unsupported, what)
    })
}

/// How most chunks of a bag are packed that were looked at.
fn usual(manifest: &Manifest) -> Option<Compression> {
    let Some(Value::Map(facts)) = manifest.metadata.get("chunks") else { return None };
    let Some(Value::Map(kinds)) = facts.get("by_compression") else { return None };
    let known = kinds.iter().filter_map(|(name, kind)| {
        let Value::Map(counts) = kind else { return None };
        let Some(Value::UInt(chunks)) = counts.get("chunks") else { return None };
        Some((*chunks, Compression::of(name.as_bytes())?))
    });
    known.max_by_key(|(chunks, _)| *chunks).map(|(_, compression)| compression)
}

fn no_extract(from: usize) -> Error {
    Error::new(ErrorKind::NoSuch, format!("no extract number {from} was asked for"))
}
