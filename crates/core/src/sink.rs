//! Sinks: writers of log formats and of tables.

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

/// The content of a new log that comes from one other log.
#[derive(Clone, Debug)]
pub struct LogSlice<'m> {
    /// The manifest of the other log.
    pub manifest: &'m Manifest,
    /// The selected records.
    pub selection: Selection,
}

/// Content of another log that the output format cannot store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedContent {
    /// The topic, if the whole topic is affected.
    pub topic: Option<TopicId>,
    /// A description.
    pub description: String,
}

/// Options for writing a new log.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The name of the compression in the format, or `None` for its default.
    pub compression: Option<String>,
    /// The new names of topics, by their [labels](crate::Topic::label) in the other logs.
    pub rename: BTreeMap<String, String>,
    /// Whether records will have other times than in the other logs. A format that stores
    /// the time in the payload cannot support this.
    pub changes_times: bool,
    /// The clock transform of each slice. Formats also apply it to times outside of
    /// records, e.g. of attachments.
    pub shifts: Vec<ClockTransform>,
    /// Whether the new log is the result of a repair. Then each part is validated before it is
    /// [copied](RecordSink::copy_part_verbatim), and an inconsistent part is not copied.
    pub is_repair: bool,
    /// Whether parts are validated before they are copied, even if all their records are
    /// selected and no other condition requires it. This is used for strict runs.
    pub validates_parts: bool,
    /// The encoding into which payloads are translated, e.g. `cdr`, or `None` to keep
    /// them. Only formats that support several encodings use it.
    pub payload_encoding: Option<String>,
    /// Metadata of the log by category, for formats that can store it: the metadata of
    /// another format, and the provenance.
    pub metadata: Vec<(String, BTreeMap<String, String>)>,
}

/// An encoder of records into the bytes of a log format, independent of their position.
/// Any thread can use it.
pub trait Encoder: Send + Sync {
    /// Appends the encoded `record` of the slice with the index `slice_index` to `bytes`.
    ///
    /// # Errors
    /// Those of [`RecordSink::write`].
    fn encode(
        &self,
        slice_index: usize,
        record: Record<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<()>;
}

/// A writer of records in a log format, created for some [slices](LogSlice) of other
/// logs.
pub trait RecordSink: Send {
    /// Writes one record of the slice with the index `slice_index`.
    ///
    /// # Errors
    /// `NoSuch` if there is no such slice, or its selection does not have the topic.
    fn write(&mut self, slice_index: usize, record: Record<'_>) -> Result<()>;

    /// Returns an encoder for the records of all slices, or `None` if the encoding
    /// depends on more than the record.
    fn encoder(&self) -> Option<Arc<dyn Encoder>> {
        None
    }

    /// Writes the `bytes` of records from the [encoder](Self::encoder), and leaves `bytes`
    /// empty like [`Output::write_owned`](crate::Output::write_owned).
    ///
    /// # Errors
    /// `Unsupported` if there is no encoder, and errors of writing.
    fn write_encoded(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let _ = bytes;
        Err(Error::new(ErrorKind::Unsupported, "the log has no encoder of records"))
    }

    /// Copies the whole file of the slice with the index `slice_index`, and returns whether it
    /// did. Then the caller writes no records and copies no parts.
    ///
    /// This is only called for an undamaged log, if every record is selected and keeps
    /// its time.
    ///
    /// # Errors
    /// Errors of reading and writing.
    fn copy_log(&mut self, slice_index: usize, source: &dyn Source) -> Result<bool> {
        let _ = (slice_index, source);
        Ok(false)
    }

    /// Returns whether [`copy_part_verbatim`](Self::copy_part_verbatim) can copy parts of
    /// the slice with the index `slice_index`. If not, it is not called.
    fn copies_parts(&self, slice_index: usize) -> bool {
        let _ = slice_index;
        false
    }

    /// Announces the `parts` of `source`, the file of the slice with the index `slice_index`, that
    /// [`copy_part_verbatim`](Self::copy_part_verbatim) will be called with, in this
    /// order. A sink can read them in advance on other threads. Some may be skipped.
    fn expect_parts(
        &mut self,
        slice_index: usize,
        parts: Vec<Part>,
        source: &Arc<dyn Source>,
    ) {
        let _ = (slice_index, parts, source);
    }

    /// Copies the bytes of `part` of the slice with the index `slice_index` without decoding
    /// them, and returns the number of records. Returns `None` and writes nothing if the
    /// format or the options do not allow this.
    ///
    /// This is only called for parts whose records are all selected and keep their times.
    /// A refusal does not affect the next part.
    fn copy_part_verbatim(
        &mut self,
        slice_index: usize,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<u64>> {
        let _ = (slice_index, part, source);
        Ok(None)
    }

    /// Copies the content of the slice with the index `slice_index` outside of its records, e.g.
    /// attached files, if the format supports it. `source` is the file of the slice. This
    /// is called before the first record.
    fn copy_attachments(
        &mut self,
        slice_index: usize,
        source: &dyn Source,
    ) -> Result<()> {
        let _ = (slice_index, source);
        Ok(())
    }

    /// Stores that these records of the slice with the index `slice_index` have a wrong
    /// checksum, if the format can store such a note.
    fn note_doubtful(&mut self, slice_index: usize, records: &DoubtfulRecords) {
        let _ = (slice_index, records);
    }

    /// Returns remarks on content of the slices that the new log cannot store unchanged,
    /// or only from one of them: one sentence each.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the records of the slice with the index `slice_index` that were passed to the
    /// sink and dropped, because they do not match the definition of their topic and
    /// cannot be translated.
    fn dropped_records(&self, slice_index: usize) -> &[Damage] {
        let _ = slice_index;
        &[]
    }

    /// Writes the end of the file, e.g. the index. Without it the output is a truncated
    /// log.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A writer of tables, one per topic, e.g. in Parquet, CSV or Arrow IPC.
///
/// Each table has its own [`TableWriter`], so that several tables can be written in
/// parallel.
pub trait TableSink: Sync {
    /// Starts the table of `topic`. It is called once for each selected topic, also if it has no
    /// rows. For a merged table, `topic` exists in no log.
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>>;

    /// Finishes the output after all tables are finished. The creator of the sink calls
    /// it once. By default, it does nothing.
    ///
    /// # Errors
    /// Errors of writing.
    fn finish(&self) -> Result<()> {
        Ok(())
    }

    /// Returns remarks on values that the output cannot store unchanged: one sentence
    /// each.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<S: TableSink + ?Sized> TableSink for Box<S> {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        (**self).new_table(topic, schema)
    }

    fn finish(&self) -> Result<()> {
        (**self).finish()
    }

    fn remarks(&self) -> Vec<String> {
        (**self).remarks()
    }
}

/// A writer of one table.
pub trait TableWriter: Send {
    /// Writes the rows of `batch`.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes the end of the table, e.g. the footer.
    fn finish(self: Box<Self>) -> Result<()>;
}
