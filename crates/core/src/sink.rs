//! Where records and tables go.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::{
    error::{Error, ErrorKind, Result},
    io::source::Source,
    model::{
        clock_transform::ClockTransform,
        damage::Damage,
        manifest::{Manifest, Part, Selection},
        topic::{Topic, TopicId},
    },
    record::{block::Record, doubtful_records::DoubtfulRecords},
};

/// What a new log is to hold of another.
#[derive(Clone, Debug)]
pub struct LogSlice<'m> {
    /// What the other log holds.
    pub manifest: &'m Manifest,
    /// The records of it that are wanted.
    pub selection: Selection,
}

/// Something of another log that a new one has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedContent {
    /// The topic, if it is all of one.
    pub topic: Option<TopicId>,
    /// What it is, in words, for people.
    pub what: String,
}

/// How a new log is to be written.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// How to compress, as the format calls it; as it does by itself if nothing is said.
    pub compression: Option<String>,
    /// New names of topics, by their [labels](crate::Topic::label) in the other logs.
    pub rename: BTreeMap<String, String>,
    /// Whether records will come at other times than they have in the other logs. A
    /// format that keeps the time in the payload cannot follow.
    pub retimed: bool,
    /// What the clock of each extract is moved by, where it is: a format moves all times by
    /// that which it has beside those of records, as of what is attached.
    pub shifts: Vec<ClockTransform>,
    /// Whether parts that are [copied](RecordSink::copy_part_verbatim) are looked into before: what is
    /// not as it says of itself is then not taken. A repair asks for that.
    pub careful: bool,
    /// Whether parts are looked into before they are copied, though all of them is wanted and
    /// nothing else hangs on it: a strict run asks for that.
    pub verified: bool,
    /// The encoding to which payloads are to be translated, as `cdr`; as they are if
    /// nothing is said. Only a format that holds several encodings looks at it.
    pub transcode: Option<String>,
    /// Words about the log, by what they are about, for a format that has such: what
    /// another format tells of itself, and where the records come from.
    pub words: Vec<(String, BTreeMap<String, String>)>,
}

/// Puts records into the form that they have in a log, wherever in it they are: so that any
/// thread can, whichever writes.
pub trait Encoder: Send + Sync {
    /// Adds `record`, of the extract with the index `from`, to `bytes`.
    ///
    /// # Errors
    /// Those of [`RecordSink::write`].
    fn encode(
        &self,
        from: usize,
        record: Record<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<()>;
}

/// Takes records as they are: a writer of a log format, made for some
/// [extracts](Extract) of other logs.
pub trait RecordSink: Send {
    /// Writes one record of the extract with the index `from`.
    ///
    /// # Errors
    /// `NoSuch` if there is no such extract, or its topic is none that was wanted.
    fn write(&mut self, from: usize, record: Record<'_>) -> Result<()>;

    /// What puts records of all extracts into the form of the log, if that hangs on nothing but
    /// the record; nothing otherwise.
    fn encoder(&self) -> Option<Arc<dyn Encoder>> {
        None
    }

    /// Writes what the [encoder](Self::encoder) made of records, and leaves `bytes` empty, as
    /// [`crate::Output::write_owned`] does.
    ///
    /// # Errors
    /// `Unsupported` where there is no encoder, and whatever ends the writing.
    fn write_encoded(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let _ = bytes;
        Err(Error::new(ErrorKind::Unsupported, "the log has no encoder of records"))
    }

    /// Copies all bytes of the log behind the extract with the index `from`, and returns
    /// whether it did. The caller then writes no records and copies no parts.
    ///
    /// Only called for an undamaged log when every record is selected and keeps its time.
    ///
    /// # Errors
    /// Whatever ends the reading or the writing.
    fn copy_log(&mut self, from: usize, source: &dyn Source) -> Result<bool> {
        let _ = (from, source);
        Ok(false)
    }

    /// Returns whether [`copy_part_verbatim`](Self::copy_part_verbatim) may take parts of the extract with the index
    /// `from`. If not, it is not called.
    fn copies_parts(&self, from: usize) -> bool {
        let _ = from;
        false
    }

    /// Takes all that lies in `part` of the extract with the index `from` as the bytes
    /// that it is, without looking into it, and says how many records that were; or
    /// takes nothing, where the format or what was asked for does not allow that.
    ///
    /// Only for parts of which every record is wanted, at its own time. Refusing a part
    /// does not affect the next one.
    fn copy_part_verbatim(
        &mut self,
        from: usize,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<u64>> {
        let _ = (from, part, source);
        Ok(None)
    }

    /// Takes what the extract with the index `from` has beside its records, as files that
    /// are attached, if the format has such; `source` is what the extract is read from.
    /// It comes before the records.
    fn copy_attachments(&mut self, from: usize, source: &dyn Source) -> Result<()> {
        let _ = (from, source);
        Ok(())
    }

    /// Notes that a checksum says of these records of the extract with the index `from` that
    /// something in them is wrong, for a format that has a place for such notes.
    fn note_doubtful(&mut self, from: usize, records: &DoubtfulRecords) {
        let _ = (from, records);
    }

    /// What of the extracts the new log cannot hold as it is, or holds only of one of
    /// them: a sentence each, for people.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// The records of the extract with the index `from` that were given to be written
    /// and are left out, because they are not what their topic's definition says and
    /// cannot be translated.
    fn dropped_records(&self, from: usize) -> &[Damage] {
        let _ = from;
        &[]
    }

    /// Writes what is still missing, the index for one. Without it the output is a
    /// truncated log.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Takes tables, one per topic: a writer of Parquet, CSV, Arrow IPC…
///
/// Each table is written by its own [`TableWriter`], so that several can be written
/// side by side.
pub trait TableSink: Sync {
    /// Starts the table of `topic`. It is called once for each topic that has rows.
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>>;

    /// Writes what is still missing when all tables are finished: for whoever made the
    /// sink to call, once. By itself, nothing is.
    ///
    /// # Errors
    /// Whatever ends the writing.
    fn finish(&self) -> Result<()> {
        Ok(())
    }

    /// What of the tables the files cannot hold as it is: a sentence each, for people.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Takes the rows of one table.
pub trait TableWriter: Send {
    /// Writes some rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what is still missing, the footer for one.
    fn finish(self: Box<Self>) -> Result<()>;
}
