//! An open log, its tables and its messages.

pub(crate) mod column_types;
mod messages;
mod table;

use std::{fmt, path::Path, sync::Arc, thread};

use bytes::Bytes;
use logtool_core::{
    Damage, Log as FormatLog, Manifest, OpenOptions, Selection, Source, TimeRange,
    Topic,
};
use logtool_ulog::UlogLog;
use logtool_velodyne::lidar::LidarOptions;

use crate::{
    error::Result,
    formats::LogFormat,
    records::parallel::{OrderedResults, PushResult},
    source::{
        input::{
            Input,
            open::{self, OpenLog},
        },
        losses::Findings,
        selection,
        session::Session,
    },
};

pub(crate) use self::table::ReportedDamage;
pub use self::{
    messages::{Message, Messages},
    table::{Batches, Table},
};

/// The approximate number of bytes of a log that a thread reads at a time.
pub(crate) const PART_BYTES: u64 = 4 << 20;

/// Opens the log at `path`, whatever its format: a file, a URL, or `-` for standard input;
/// gzip, bzip2, xz, zstd and LZ4 are decompressed.
///
/// # Errors
/// If the input cannot be read or is not a log.
///
/// # Example
/// ```no_run
/// let log = logtool::open("flight.ulg")?;
/// for topic in log.topics() {
///     println!("{} {:?}", topic.label(), topic.records);
/// }
/// # Ok::<(), logtool::Error>(())
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<Log> {
    Log::open(path, &Session::new())
}

/// An open log. Clones share it.
#[derive(Clone)]
pub struct Log {
    input: Arc<Input>,
    log: Arc<dyn FormatLog>,
}

impl Log {
    /// Opens the log at `path` with the settings of `session`. Packets of Velodyne lidars
    /// have topics of points, as the packets describe the lidars.
    ///
    /// # Errors
    /// If the input cannot be read or is not a log.
    pub fn open(path: impl AsRef<Path>, session: &Session) -> Result<Self> {
        Self::open_with(path, session, &LidarOptions::default())
    }

    /// Like [`open`](Self::open), with options for lidars.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        path: impl AsRef<Path>,
        session: &Session,
        lidar: &LidarOptions,
    ) -> Result<Self> {
        Ok(Self::from_opened(open::open_with(path.as_ref(), session, lidar)?))
    }

    pub(crate) fn from_opened(opened: OpenLog) -> Self {
        Self::new(opened.input, opened.log)
    }

    pub(crate) fn new(input: Input, log: impl Into<Arc<dyn FormatLog>>) -> Self {
        Self { input: Arc::new(input), log: log.into() }
    }

    /// Opens the log whose bytes are in `source`: bytes in memory, or a source of the caller.
    /// Compressed bytes are decompressed into memory. `name` is the name in messages; its
    /// extension helps where the bytes do not show the format.
    ///
    /// # Errors
    /// If the bytes are not a log.
    ///
    /// # Example
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// use bytes::Bytes;
    /// use logtool::{Log, Session};
    ///
    /// let bytes = Bytes::from(std::fs::read("flight.ulg")?);
    /// let log = Log::from_source("flight.ulg", Arc::new(bytes), &Session::new())?;
    /// # let _ = log;
    /// # Ok::<(), logtool::Error>(())
    /// ```
    pub fn from_source(
        name: &str,
        source: Arc<dyn Source>,
        session: &Session,
    ) -> Result<Self> {
        Self::from_source_with(name, source, session, &LidarOptions::default())
    }

    /// Like [`from_source`](Self::from_source), with options for lidars.
    ///
    /// # Errors
    /// As [`from_source`](Self::from_source).
    pub fn from_source_with(
        name: &str,
        source: Arc<dyn Source>,
        session: &Session,
        lidar: &LidarOptions,
    ) -> Result<Self> {
        let input = Input::from_source(name, source)?;
        let input = input.decrypt(Path::new(name), session)?.stoppable(session);
        Ok(Self::from_opened(open::open_input(input, session, lidar)?))
    }

    /// Opens a log in memory: a `Vec<u8>`, or with [`Bytes::from_owner`] an `Arc<[u8]>`.
    /// Compressed bytes are decompressed into memory. `name` is as for
    /// [`from_source`](Self::from_source).
    ///
    /// # Errors
    /// As [`from_source`](Self::from_source).
    pub fn from_bytes(
        name: &str,
        bytes: impl Into<Bytes>,
        session: &Session,
    ) -> Result<Self> {
        Self::from_source(name, Arc::new(bytes.into()), session)
    }

    /// Returns the name of the input.
    pub fn name(&self) -> &str {
        &self.input.name
    }

    /// Returns the bytes of the log, and where they come from.
    pub(crate) fn input(&self) -> &Input {
        &self.input
    }

    /// Returns the ULog, if the log is one, without reading it again.
    ///
    /// # Errors
    /// If reading fails.
    pub(crate) fn ulog(&self) -> Result<Option<UlogLog>> {
        let manifest = self.manifest();
        if LogFormat::from_manifest(manifest) != Some(LogFormat::Ulog) {
            return Ok(None);
        }
        let (source, manifest) =
            (self.input.source.clone(), Arc::new(manifest.clone()));
        let log =
            UlogLog::open_with_manifest(source, manifest, OpenOptions::default())?;
        Ok(Some(log))
    }

    /// Returns the log as its format reads it.
    pub(crate) fn format_log(&self) -> &dyn FormatLog {
        &*self.log
    }

    /// Returns the losses that were found when the log was opened.
    pub fn losses(&self) -> Findings {
        self.input.findings(self.manifest())
    }

    /// Returns what is known without reading the records: the format, the topics, the times, and
    /// the metadata of the file.
    pub fn manifest(&self) -> &Manifest {
        self.log.manifest()
    }

    /// Returns the topics, in the order of the file.
    pub fn topics(&self) -> &[Topic] {
        &self.manifest().topics
    }

    /// Returns the damage that was found when the log was opened. Reading its records may
    /// find more.
    pub fn damage(&self) -> &[Damage] {
        &self.manifest().damage
    }

    /// Returns the messages of the topics that match one of `patterns` (`*` and `?` match
    /// anything), or of all topics if there are no patterns: with their undecoded payloads,
    /// in the order of the file. They are read by several threads.
    ///
    /// # Errors
    /// `NotFound` if a pattern matches no topic.
    pub fn messages(&self, patterns: &[String], time: TimeRange) -> Result<Messages> {
        let topics = selection::topics(self.manifest(), patterns)?;
        let selection = Selection { topics, time };
        let log = Arc::clone(&self.log);
        let parts = log.manifest().plan(&selection, PART_BYTES);
        let count = parts.len();
        let work = move |index: usize, push: PushResult<'_, messages::MessageBlock>| {
            messages::read(&*log, &parts[index], &selection, push)
        };
        Ok(Messages::new(OrderedResults::new(count, threads(), work)))
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("name", &self.input.name)
            .field("format", &self.manifest().format)
            .finish_non_exhaustive()
    }
}

/// Returns how many threads read at a time.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, |count| count.get())
}
