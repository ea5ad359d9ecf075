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
    pub what: String,
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
    pub retimed: bool,
    /// The clock transform of each slice. Formats also apply it to times outside of
    /// records, e.g. of attachments.
    pub shifts: Vec<ClockTransform>,
    /// Whether parts are validated before they are
    /// [copied](RecordSink::copy_part_verbatim): an inconsistent part is not copied. This
    /// is used for repairs.
    pub careful: bool,
    /// Whether parts are validated before they are copied, even if all their records are
    /// selected and no other condition requires it. This is used for strict runs.
    pub verified: bool,
    /// The encoding into which payloads are translated, e.g. `cdr`, or `None` to keep
    /// them. Only formats that support several encodings use it.
    pub transcode: Option<String>,
    /// Metadata of the log by category, for formats that can store it: the metadata of
    /// another format, and the provenance.
    pub metadata: Vec<(String, BTreeMap<String, String>)>,
}

/// An encoder of records into the bytes of a log format, independent of their position.
/// Any thread can use it.
pub trait Encoder: Send + Sync {
    /// Appends the encoded `record` of the slice with the index `from` to `bytes`.
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

/// A writer of records in a log format, created for some [slices](LogSlice) of other
/// logs.
pub trait RecordSink: Send {
    /// Writes one record of the slice with the index `from`.
    ///
    /// # Errors
    /// `NoSuch` if there is no such slice, or its selection does not have the topic.
    fn write(&mut self, from: usize, record: Record<'_>) -> Result<()>;

    /// Returns an encoder for the records of all slices, or `None` if the encoding
    /// depends on more than the record.
    fn encoder(&self) -> Option<Arc<dyn Encoder>> {
        None
    }

    /// Writes bytes from the [encoder](Self::encoder), and leaves `bytes` empty like
    /// [`Output::write_owned`](crate::Output::write_owned).
    ///
    /// # Errors
    /// `Unsupported` if there is no encoder, and errors of writing.
    fn write_encoded(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let _ = bytes;
        Err(Error::new(ErrorKind::Unsupported, "the log has no encoder of records"))
    }

    /// Copies the whole file of the slice with the index `from`, and returns whether it
    /// did. Then the caller writes no records and copies no parts.
    ///
    /// This is only called for an undamaged log, if every record is selected and keeps
    /// its time.
    ///
    /// # Errors
    /// Errors of reading and writing.
    fn copy_log(&mut self, from: usize, source: &dyn Source) -> Result<bool> {
        let _ = (from, source);
        Ok(false)
    }

    /// Returns whether [`copy_part_verbatim`](Self::copy_part_verbatim) can copy parts of
    /// the slice with the index `from`. If not, it is not called.
    fn copies_parts(&self, from: usize) -> bool {
        let _ = from;
        false
    }

    /// Copies the bytes of `part` of the slice with the index `from` without decoding
    /// them, and returns the number of records. Returns `None` and writes nothing if the
    /// format or the options do not allow this.
    ///
    /// This is only called for parts whose records are all selected and keep their times.
    /// A refusal does not affect the next part.
    fn copy_part_verbatim(
        &mut self,
        from: usize,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<u64>> {
        let _ = (from, part, source);
        Ok(None)
    }

    /// Copies the content of the slice with the index `from` outside of its records, e.g.
    /// attached files, if the format supports it. `source` is the file of the slice. This
    /// is called before the first record.
    fn copy_attachments(&mut self, from: usize, source: &dyn Source) -> Result<()> {
        let _ = (from, source);
        Ok(())
    }

    /// Notes that these records of the slice with the index `from` have a wrong checksum,
    /// if the format can store such notes.
    fn note_doubtful(&mut self, from: usize, records: &DoubtfulRecords) {
        let _ = (from, records);
    }

    /// Returns remarks on content of the slices that the new log cannot store unchanged,
    /// or only from one of them: one sentence each.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the records of the slice with the index `from` that were passed to the
    /// sink and dropped, because they do not match the definition of their topic and
    /// cannot be translated.
    fn dropped_records(&self, from: usize) -> &[Damage] {
        let _ = from;
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
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>>;

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
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        (**self).table(topic, schema)
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
