//! The traits that a format implements.
//!
//! All are small and usable as `dyn`: a program that reads logs names no format, and a
//! call through a `dyn` is made per block or per run of records, never per field. What
//! a format can do beyond them is its own crate's typed API.

use std::{collections::BTreeMap, fmt, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::{
    error::{Error, ErrorKind, Result},
    io::{output::Output, source::Source},
    model::{
        damage::Damage,
        finding::{Code, Finding, Findings, REMARK},
        labels::Labels,
        layout::Layout,
        manifest::{Manifest, Part, Selection},
        open_options::OpenOptions,
        time::{TimeRange, Timestamp},
        topic::TopicId,
        value::Value,
    },
    record::block::{Block, Run},
    sink::{LogSlice, RecordSink, UnsupportedContent, WriteOptions},
};

/// A file format: a constant that recognises, opens and perhaps writes logs.
pub trait Format: Sync {
    /// A short lowercase name, as `ulog`.
    fn name(&self) -> &'static str;

    /// Whether a file named like `name` that begins with `head` is of this format.
    fn probe(&self, name: &str, head: &[u8]) -> MatchConfidence;

    /// Whether logs of this format have no index: whatever is asked, all of the file is gone
    /// through from its beginning to its end, so that it is better read than mapped.
    fn requires_full_scan(&self) -> bool {
        false
    }

    /// Opens a log, reading only what it takes to say what the log holds.
    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>>;

    /// Opens a log of which the manifest is known, reading nothing.
    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>>;

    /// The codes of what [`Log::check`] finds in logs of this format.
    fn codes(&self) -> &'static [&'static Code] {
        &[]
    }

    /// Starts a log of this format in `out` that is to hold `extracts` of others: one
    /// to copy or cut a log, several to merge them.
    ///
    /// # Errors
    /// `Unsupported` if the format cannot be written, or cannot hold them.
    fn writer<'w>(
        &self,
        out: Box<dyn Output + 'w>,
        extracts: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Box<dyn RecordSink + 'w>> {
        let _ = (out, extracts, options);
        let what = format!("{} logs cannot be written", self.name());
        Err(Error::new(ErrorKind::Unsupported, what))
    }

    /// What of `extract` a log of this format has no place for, to be known before
    /// anything is written.
    fn unsupported_content(&self, extract: &LogSlice<'_>) -> Vec<UnsupportedContent> {
        let _ = extract;
        Vec::new()
    }
}

/// An open log: immutable, and shared by as many readers as there are parts.
pub trait Log: Send + Sync {
    /// What the log holds.
    fn manifest(&self) -> &Manifest;

    /// A reader of the records of `part` that `selection` wants.
    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>>;

    /// A decoder of the records of `topic` into `columns`.
    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>>;

    /// What the payloads of `topic` look like, where they lie as a [`Layout`] says.
    fn payload_layout(&self, topic: TopicId) -> Option<Arc<Layout>> {
        let _ = topic;
        None
    }

    /// The bytes that the log is read from.
    fn source(&self) -> &Arc<dyn Source>;

    /// Adds the topic and the time of every record of `part`, but for derived ones, to
    /// `times`, in any order, if the format can tell them without reading the records;
    /// says whether it can.
    ///
    /// # Errors
    /// Whatever ends the reading.
    fn times(
        &self,
        part: &Part,
        times: &mut Vec<(TopicId, Timestamp)>,
    ) -> Result<bool> {
        let _ = (part, times);
        Ok(false)
    }

    /// When the records of each part of the manifest happened that are not derived: the
    /// part's own time, but where that has room for derived records beside them.
    fn part_times(&self) -> Vec<TimeRange> {
        self.manifest().parts.iter().map(|part| part.time).collect()
    }

    /// The groups that the rows of `topic` belong to that are of this `time`, or more, in
    /// their order; none where rows belong to no groups, or it is not known to which. The
    /// first call may go through the log.
    ///
    /// # Errors
    /// Whatever ends the reading.
    fn groups(&self, topic: TopicId, time: TimeRange) -> Result<Option<Vec<RowGroup>>> {
        let _ = (topic, time);
        Ok(None)
    }

    /// What only the format knows of how the file is laid out, and is not in the
    /// manifest because it takes looking into every corner of the file.
    ///
    /// # Errors
    /// Whatever ends the reading.
    fn layout(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    /// Adds to `findings` what is wrong with the log, or odd, as far as only its format
    /// knows, with the codes of [`Format::codes`]; [`check`](crate::operations::check()) finds the
    /// rest. By itself, it only adds what the manifest remarks.
    ///
    /// # Errors
    /// Whatever ends the reading.
    fn check(&self, findings: &mut Findings) -> Result<()> {
        for remark in &self.manifest().remarks {
            findings.add(Finding::new(&REMARK, remark.clone()));
        }
        Ok(())
    }

    /// Begins to [check](Self::check), and leaves what takes unpacking the records to an
    /// inspection, so that who reads them anyway unpacks them once. By itself, it checks,
    /// and leaves nothing.
    ///
    /// # Errors
    /// Whatever ends the reading.
    fn inspect(&self, findings: &mut Findings) -> Result<Option<Box<dyn Inspection>>> {
        self.check(findings).map(|()| None)
    }
}

/// What looks for the rest of what is wrong with a log while its records are read.
pub trait Inspection: Send + Sync {
    /// A reader as [`Log::read`] gives it, of topics that are not derived. What it comes
    /// to is looked at by the thread that reads.
    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>>;

    /// Looks at what nobody has read, and adds all that was found to `findings`, in the
    /// order of the file.
    ///
    /// # Errors
    /// Whatever ends the reading.
    fn finish(self: Box<Self>, findings: &mut Findings) -> Result<()>;
}

/// Rows of a topic that belong together, although they are made of several records: a scan of
/// a lidar. A column tells each row the number of its group, which is its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowGroup {
    /// Where in the file it begins; the next group begins there or behind it.
    pub start: u64,
    /// Some of its rows may be made of what lies before that, from here on. None is made of
    /// what lies behind the start of the next group.
    pub earliest: u64,
    /// When its rows are.
    pub time: TimeRange,
}

/// A reader of one part of a log. It owns all that it needs.
pub trait Cursor: Send {
    /// Refills `block` with the next records, or says that there are no more: then what is
    /// in it is no matter.
    ///
    /// A block may come back without records: where there is only damage, or where
    /// nothing was wanted. Whatever the bytes are, a cursor moves on with every call
    /// and ends; an error is final.
    fn fill(&mut self, block: &mut Block) -> Result<bool>;
}

/// Turns records of one topic into rows of a table.
///
/// A record may give any number of rows: a point cloud's packet gives hundreds.
pub trait Decoder: Send {
    /// The columns of the batches to come. The first is the time.
    fn schema(&self) -> &SchemaRef;

    /// Adds the rows of the records of `run`, each record's all or none. What cannot
    /// be decoded is added to `damage`.
    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>);

    /// How many rows wait to be taken.
    fn rows(&self) -> usize;

    /// Returns whether the waiting rows use enough memory to be taken before more are added. A
    /// caller that counts the bytes of records does not see the size of packed messages.
    fn is_full(&self) -> bool {
        false
    }

    /// Takes the rows that wait.
    fn take(&mut self) -> Result<RecordBatch>;

    /// Forgets the rows that wait: for who only wants to know whether records can be decoded.
    /// By itself, it takes them; who can keeps the memory for those to come, if it is little.
    ///
    /// # Errors
    /// Those of [`take`](Self::take).
    fn discard_rows(&mut self) -> Result<()> {
        self.take().map(drop)
    }
}

/// How sure a format is that some bytes are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchConfidence {
    /// They are not.
    No,
    /// They may be: nothing speaks against it, and the name speaks for it.
    Perhaps,
    /// They are: they begin as only this format begins.
    Certain,
}

/// Which columns of a topic are wanted.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// In which view of the topic.
    pub view: View,
    /// Those with these indices in the schema of that view, or all. The time column is
    /// always there, first, whether it is named or not.
    pub only: Option<Vec<usize>>,
    /// Names for values: a column that has some is followed by a dictionary column,
    /// called `<column>_label`, which `only` does not count.
    pub labels: Option<Arc<Labels>>,
    /// Of topics with a [reach](Manifest::time_margins), the rows of these times: others are left
    /// out. Records of all other topics give their rows whatever this says.
    pub time: TimeRange,
}

impl Columns {
    /// All columns of `view`.
    pub const fn all(view: View) -> Self {
        Self { view, only: None, labels: None, time: TimeRange::ALL }
    }
}

/// How nested types and arrays become columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// As the types say: structs and lists.
    #[default]
    Nested,
    /// A column for each scalar, named as people write it: `x[0]`, `a.b[1].c`. Where these
    /// are over 65,536, arrays of more than 256 elements stay lists, or all is as if nested.
    Flat,
}

/// Opens a log of whichever of `formats` is the most like it.
pub fn open(
    formats: &[&dyn Format],
    name: &str,
    source: Arc<dyn Source>,
    options: OpenOptions,
) -> Result<Box<dyn Log>> {
    recognize(formats, name, &*source)?.open(source, options)
}

/// Whichever of `formats` is the most like the log called `name` in `source`.
pub fn recognize<'f>(
    formats: &[&'f dyn Format],
    name: &str,
    source: &dyn Source,
) -> Result<&'f dyn Format> {
    let head = source.read_at(0..4096)?;
    let likeness = |format: &&&dyn Format| format.probe(name, &head);
    match formats.iter().max_by_key(likeness) {
        Some(format) if likeness(&format) > MatchConfidence::No => Ok(*format),
        _ if head.is_empty() => Err(Error::new(ErrorKind::Unrecognized, "it is empty")),
        _ => {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            let what = format!("it does not begin as any of: {}", names.join(", "));
            Err(Error::new(ErrorKind::Unrecognized, what).at(0))
        }
    }
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

    fn groups(&self, topic: TopicId, time: TimeRange) -> Result<Option<Vec<RowGroup>>> {
        (**self).groups(topic, time)
    }

    fn layout(&self) -> Result<BTreeMap<String, Value>> {
        (**self).layout()
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        (**self).check(findings)
    }

    fn inspect(&self, findings: &mut Findings) -> Result<Option<Box<dyn Inspection>>> {
        (**self).inspect(findings)
    }
}
