//! The traits that a format implements.
//!
//! All traits are small and can be used as `dyn`, so that a program that reads logs does
//! not depend on a format. A `dyn` method is called once per block or per run of records,
//! never per field. Further functions of a format are part of the API of its own crate.

use std::{collections::BTreeMap, fmt, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::{
    error::{Error, ErrorKind, Result},
    io::{output::Output, source::Source},
    model::{
        damage::Damage,
        excerpt::Excerpt,
        finding::{Finding, FindingCode, Findings, REMARK},
        labels::Labels,
        layout::Layout,
        manifest::{Manifest, Part, Selection},
        open_options::OpenOptions,
        time::{TimeRange, Timestamp},
        topic::{TopicId, TopicSet},
        value::Value,
    },
    record::block::{Block, Run},
    sink::{LogSlice, RecordSink, UnsupportedContent, WriteOptions},
};

/// A file format: recognises, opens and optionally writes logs.
pub trait Format: Sync {
    /// Returns the short lowercase name, e.g. `ulog`.
    fn name(&self) -> &'static str;

    /// Returns how likely it is that a file with this `name` and the first bytes `head`
    /// has this format.
    fn probe(&self, name: &str, head: &[u8]) -> MatchConfidence;

    /// Returns whether every operation reads the whole file from start to end, because
    /// the format has no index. Such a file is better read than memory-mapped.
    fn requires_full_scan(&self) -> bool {
        false
    }

    /// Opens a log and builds its manifest, reading no more than necessary.
    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>>;

    /// Opens a log with a known manifest, without reading anything.
    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>>;

    /// Returns the codes of the findings of [`Log::check`] for this format.
    fn codes(&self) -> &'static [&'static FindingCode] {
        &[]
    }

    /// Starts a log of this format in `out` with the content of `slices` of other logs:
    /// one slice to copy or cut a log, several to merge logs.
    ///
    /// # Errors
    /// `Unsupported` if the format has no writer, or cannot contain the slices.
    fn writer<'w>(
        &self,
        out: Box<dyn Output + 'w>,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Box<dyn RecordSink + 'w>> {
        let _ = (out, slices, options);
        let message = format!("{} logs cannot be written", self.name());
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Returns the content of `slice` that this format cannot store. It is known before
    /// anything is written.
    fn unsupported_content(&self, slice: &LogSlice<'_>) -> Vec<UnsupportedContent> {
        let _ = slice;
        Vec::new()
    }
}

/// An open log. It is immutable, so that many threads can read it at once.
pub trait Log: Send + Sync {
    /// Returns the manifest.
    fn manifest(&self) -> &Manifest;

    /// Returns a cursor over the records of `part` that match `selection`.
    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>>;

    /// Returns a decoder of the records of `topic` into `columns`.
    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>>;

    /// Returns the layout of the payloads of `topic`, if they have a [`Layout`].
    fn payload_layout(&self, topic: TopicId) -> Option<Arc<Layout>> {
        let _ = topic;
        None
    }

    /// Returns the source of the log's bytes.
    fn source(&self) -> &Arc<dyn Source>;

    /// Adds the topics and times of the records of `part` to `times`, in any order and
    /// without derived records, if the format can find them without reading the records.
    /// Returns whether it does.
    ///
    /// # Errors
    /// Errors of reading the source.
    fn times(
        &self,
        part: &Part,
        times: &mut Vec<(TopicId, Timestamp)>,
    ) -> Result<bool> {
        let _ = (part, times);
        Ok(false)
    }

    /// Returns the times of the records in each part of the manifest, without derived
    /// records. By default these are the times of the parts, which may also cover derived
    /// records.
    fn part_times(&self) -> Vec<TimeRange> {
        self.manifest().parts.iter().map(|part| part.time).collect()
    }

    /// Returns the row groups of `topic` in this `time` range, and possibly more, in the
    /// order of the file. Returns `None` if the rows form no groups, or the groups are
    /// unknown. The first call may read the whole log.
    ///
    /// # Errors
    /// Errors of reading the source.
    fn row_groups(
        &self,
        topic: TopicId,
        time: TimeRange,
    ) -> Result<Option<Vec<RowGroup>>> {
        let _ = (topic, time);
        Ok(None)
    }

    /// Returns a small manifest with which [`Format::open_with_manifest`] opens a log that
    /// reads `selection` in `parts` like this log. That log may contain nothing else, and
    /// may not report damage of other topics. `parts` are from [`Manifest::plan`] or
    /// [`Manifest::plan_topics`], in ascending order.
    ///
    /// The default is [`Manifest::excerpt`] with all topics and the whole private state. A
    /// format overrides it if its state grows with the file, or refers to parts by index.
    ///
    /// Logs of files have excerpts, also with the points of lidars in bags and MCAP files. A
    /// [`TranslatedLog`](crate::TranslatedLog), [`ShiftedLog`](crate::ShiftedLog),
    /// [`PayloadLog`](crate::PayloadLog) or [`UsableTimesLog`](crate::UsableTimesLog) has none:
    /// wrap a log that was opened with an excerpt instead.
    ///
    /// # Errors
    /// Errors of reading the source, and `Unsupported` if the log cannot be opened by its
    /// manifest alone.
    fn excerpt(&self, selection: &Selection, parts: &[Part]) -> Result<Excerpt> {
        let _ = selection;
        let manifest = self.manifest();
        let mut excerpt = manifest.excerpt(&TopicSet::All, TopicSet::All, parts);
        excerpt.manifest.format_state = manifest.format_state.clone();
        Ok(excerpt)
    }

    /// Returns details of the file's structure that are specific to the format. They are not
    /// in the manifest, because this reads all of the file.
    ///
    /// # Errors
    /// Errors of reading the source.
    fn file_structure(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    /// Adds the findings that only the format can detect to `findings`, with codes from
    /// [`Format::codes`]. [`check`](crate::check()) adds all others. By default, this
    /// only adds the remarks of the manifest.
    ///
    /// # Errors
    /// Errors of reading the source.
    fn check(&self, findings: &mut Findings) -> Result<()> {
        for remark in &self.manifest().remarks {
            findings.add(Finding::new(&REMARK, remark.clone()));
        }
        Ok(())
    }

    /// Starts a [check](Self::check). The returned inspection adds the findings that require
    /// decompressed records, so that a caller that reads the records anyway decompresses
    /// them only once. By default, this runs the whole check and returns `None`.
    ///
    /// # Errors
    /// Errors of reading the source.
    fn inspect(&self, findings: &mut Findings) -> Result<Option<Box<dyn Inspection>>> {
        self.check(findings).map(|()| None)
    }
}

/// The second half of a check, which runs while the records are read.
pub trait Inspection: Send + Sync {
    /// Returns a cursor like [`Log::read`], for topics that are not derived. The thread
    /// that reads also inspects the records.
    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>>;

    /// Inspects the parts that were not read, and adds all findings to `findings`, in the
    /// order of the file.
    ///
    /// # Errors
    /// Errors of reading the source.
    fn finish(self: Box<Self>, findings: &mut Findings) -> Result<()>;
}

/// Rows of a topic that belong together although they come from several records, e.g. one
/// revolution of a lidar. A column contains the index of each row's group. (These are not
/// the row groups of a Parquet file.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowGroup {
    /// The file offset of the start of the group. The next group starts at this offset or
    /// after it.
    pub start: u64,
    /// The file offset of the first record of its rows, which can be before `start`. No row
    /// comes from a record after the start of the next group.
    pub first_record: u64,
    /// The times of its rows.
    pub time: TimeRange,
}

/// A reader of one part of a log. It owns everything that it needs.
pub trait Cursor: Send {
    /// Refills `block` with the next records. Returns `false` at the end; the content of
    /// the block is then unspecified.
    ///
    /// The block can be without records, if there is only damage, or if no record matches
    /// the selection. A cursor makes progress with every call and ends after a finite
    /// number of calls, whatever the file contains. After an error, nothing more can be
    /// read.
    fn fill(&mut self, block: &mut Block) -> Result<bool>;
}

/// A decoder that turns the records of one topic into rows of a table.
///
/// A record can produce any number of rows, e.g. hundreds for a lidar packet.
pub trait Decoder: Send {
    /// Returns the columns of the batches. The first one is the time.
    fn schema(&self) -> &SchemaRef;

    /// Adds the rows of the records in `run`: either all rows of a record or none.
    /// Records that cannot be decoded are added to `damage`.
    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>);

    /// Returns the number of pending rows.
    fn rows(&self) -> usize;

    /// Returns whether the pending rows use so much memory that they should be taken
    /// before more are added. A caller that counts the bytes of records does not see the
    /// size of compressed messages.
    fn is_full(&self) -> bool {
        false
    }

    /// Takes the pending rows.
    fn take(&mut self) -> Result<RecordBatch>;

    /// Discards the pending rows, for callers that only test whether records can be
    /// decoded. The default takes and drops them. Decoders that reuse their memory
    /// override it.
    ///
    /// # Errors
    /// Those of [`take`](Self::take).
    fn discard_rows(&mut self) -> Result<()> {
        self.take().map(drop)
    }
}

/// How likely it is that a file has a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchConfidence {
    /// The file does not have the format.
    No,
    /// The file may have the format: the name matches, and the content does not
    /// contradict.
    Perhaps,
    /// The file has the format: only this format starts with these bytes.
    Certain,
}

/// The selected columns of a topic.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// The view of the topic.
    pub view: View,
    /// The selected columns as indices in the schema of the view, or all columns. The
    /// time column is always included as the first one.
    pub indices: Option<Vec<usize>>,
    /// Labels of values: each column that has labels is followed by a dictionary column
    /// `<column>_label`, which has no index in `indices`.
    pub labels: Option<Arc<Labels>>,
    /// The times of the rows, for topics with a [time margin](Manifest::time_margins):
    /// rows outside this range are dropped. It has no effect on other topics.
    pub time: TimeRange,
}

impl Columns {
    /// Selects all columns of `view`.
    pub const fn new(view: View) -> Self {
        Self { view, indices: None, labels: None, time: TimeRange::ALL }
    }
}

/// How nested types and arrays become columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Nested types become structs, and arrays become lists.
    #[default]
    Nested,
    /// Each scalar becomes a column with a path as its name: `x[0]`, `a.b[1].c`. If these
    /// are more than 65,536 columns, arrays of more than 256 elements stay lists. If that
    /// is not enough, the nested view is used.
    Flat,
}

/// Opens a log in the most likely of `formats`.
///
/// # Errors
/// `Unrecognized` if the file has none of the formats; otherwise those of
/// [`Format::open`].
pub fn open(
    formats: &[&dyn Format],
    name: &str,
    source: Arc<dyn Source>,
    options: OpenOptions,
) -> Result<Box<dyn Log>> {
    recognize(formats, name, &*source)?.open(source, options)
}

/// Returns the most likely of `formats` for the log called `name` in `source`.
///
/// # Errors
/// `Unrecognized` if the file has none of the formats.
pub fn recognize<'f>(
    formats: &[&'f dyn Format],
    name: &str,
    source: &dyn Source,
) -> Result<&'f dyn Format> {
    let head = source.read_at(0..4096)?;
    let confidence = |format: &&&dyn Format| format.probe(name, &head);
    match formats.iter().max_by_key(confidence) {
        Some(format) if confidence(&format) > MatchConfidence::No => Ok(*format),
        _ if head.is_empty() => Err(Error::new(ErrorKind::Unrecognized, "it is empty")),
        _ => {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            let message = format!(
                "its first bytes are those of no known format: {}",
                names.join(", ")
            );
            Err(Error::new(ErrorKind::Unrecognized, message).with_offset(0))
        }
    }
}

/// Returns the error of [`Log::excerpt`] for logs that change another log while it is read:
/// their manifest is not enough to open them.
pub(crate) fn no_excerpts_error() -> Error {
    let message = "a log that is changed while it is read has no excerpts";
    Error::new(ErrorKind::Unsupported, message)
}

impl fmt::Debug for dyn Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[deny(clippy::missing_trait_methods)]
impl<L: Log + ?Sized> Log for Arc<L> {
    fn manifest(&self) -> &Manifest {
        (**self).manifest()
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        (**self).read(part, selection)
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        (**self).decoder(topic, columns)
    }

    fn payload_layout(&self, topic: TopicId) -> Option<Arc<Layout>> {
        (**self).payload_layout(topic)
    }

    fn source(&self) -> &Arc<dyn Source> {
        (**self).source()
    }

    fn times(
        &self,
        part: &Part,
        times: &mut Vec<(TopicId, Timestamp)>,
    ) -> Result<bool> {
        (**self).times(part, times)
    }

    fn part_times(&self) -> Vec<TimeRange> {
        (**self).part_times()
    }

    fn row_groups(
        &self,
        topic: TopicId,
        time: TimeRange,
    ) -> Result<Option<Vec<RowGroup>>> {
        (**self).row_groups(topic, time)
    }

    fn excerpt(&self, selection: &Selection, parts: &[Part]) -> Result<Excerpt> {
        (**self).excerpt(selection, parts)
    }

    fn file_structure(&self) -> Result<BTreeMap<String, Value>> {
        (**self).file_structure()
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        (**self).check(findings)
    }

    fn inspect(&self, findings: &mut Findings) -> Result<Option<Box<dyn Inspection>>> {
        (**self).inspect(findings)
    }
}
