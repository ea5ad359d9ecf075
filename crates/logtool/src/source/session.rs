//! The settings and the resources that all calls of one caller share.

mod connection;
pub mod live_outputs;

use std::{
    fmt,
    fs::File,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use logtool_core::{FileSource, Manifest, OpenOptions, Source};
use logtool_rosbag::Key;
use logtool_tables::time_column::TimeColumnChoice;
#[cfg(feature = "decrypt")]
use logtool_ulog::PrivateKey;
use logtool_ulog::{Catalog, UlogOptions};

pub(crate) use self::connection::Connection;
use crate::{
    error::Remedy,
    formats::LogFormat,
    source::session::live_outputs::LiveOutputs,
    time::{
        late_times::{self, LateTime},
        typed_time::TypedTime,
    },
};

/// The maximum of [`Session::with_max_record_bytes`].
const MAX_RECORD_BYTES: u32 = 2_047 << 20;

/// Settings for opening logs, and the receiver of progress.
///
/// A session is cheap to clone: clones share the connection to object stores, and the list
/// of outputs that are being written. The library has no other state.
///
/// ```no_run
/// use logtool::Session;
///
/// let session = Session::new().with_max_record_bytes(64 << 20).with_strict_index();
/// let log = logtool::Log::open("testdata/rover.bag", &session);
/// # let _ = log;
/// ```
#[derive(Clone)]
pub struct Session {
    pub(crate) options: OpenOptions,
    pub(crate) key: Option<Key>,
    #[cfg(feature = "decrypt")]
    pub(crate) private_key: Option<PrivateKey>,
    pub(crate) events: Option<Arc<Catalog>>,
    pub(crate) utc_start: Option<i64>,
    pub(crate) input_format: Option<LogFormat>,
    pub(crate) time_column: Option<TimeColumnChoice>,
    pub(crate) command: String,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) stop: Option<Stop>,
    pub(crate) files: Arc<dyn OpenFile>,
    pub(crate) connection: Connection,
    pub(crate) outputs: Arc<LiveOutputs>,
}

/// A signal that ends calls from another thread. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Creates a signal that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the calls: the next read of an input fails.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the calls should end.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Receives the progress of long calls, and notes for users.
pub trait Progress: Send + Sync {
    /// Returns whether the progress is shown. If not, progress may not be counted. By default, it
    /// is.
    fn is_visible(&self) -> bool {
        true
    }

    /// Starts to show a task that reads `bytes` bytes of the log called `name`. The number is 0 if
    /// it is not known.
    fn start(&self, name: &str, bytes: u64) -> Box<dyn Task>;

    /// Starts to show a task that writes `records` records of the logs called `name`.
    fn start_records(&self, name: &str, records: u64) -> Box<dyn Task>;

    /// Passes on a remark about the log called `name`: one sentence.
    fn notice(&self, level: NoticeLevel, name: &str, text: &str);

    /// Passes on a setting that may help against the preceding notice. By default, it is
    /// ignored.
    fn remedy(&self, remedy: &Remedy) {
        let _ = remedy;
    }
}

/// A task whose progress is shown until it is dropped.
pub trait Task: Send + Sync {
    /// Sets the number of bytes or records that are done.
    fn set_position(&self, position: u64);
}

/// The importance of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Additional information.
    Note,
    /// A result may differ from what users expect.
    Warning,
    /// The selection is probably not what users mean: no record matches it, or a time in it is after
    /// the end of the log.
    Selection,
}

/// Opens local files: the default reads them at offsets.
///
/// A caller that can promise that files do not shrink while they are mapped, or that
/// handles it, may map them into memory.
pub trait OpenFile: Send + Sync {
    /// Returns the bytes of `file`, which is called `name`. `is_scanned` is set if the whole file
    /// will be read from start to end.
    ///
    /// # Errors
    /// Those of the system.
    fn open(
        &self,
        name: &str,
        file: Arc<File>,
        is_scanned: bool,
    ) -> io::Result<Arc<dyn Source>>;
}

/// Reads files at offsets.
struct ReadFiles;

impl OpenFile for ReadFiles {
    fn open(&self, _: &str, file: Arc<File>, _: bool) -> io::Result<Arc<dyn Source>> {
        Ok(Arc::new(FileSource::new(file)?))
    }
}

/// Shows nothing.
struct NoProgress;

impl Progress for NoProgress {
    fn is_visible(&self) -> bool {
        false
    }

    fn start(&self, _: &str, _: u64) -> Box<dyn Task> {
        Box::new(NoTask)
    }

    fn start_records(&self, _: &str, _: u64) -> Box<dyn Task> {
        Box::new(NoTask)
    }

    fn notice(&self, _: NoticeLevel, _: &str, _: &str) {}
}

struct NoTask;

impl Task for NoTask {
    fn set_position(&self, _: u64) {}
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// Creates a session with the default settings, which shows no progress.
    pub fn new() -> Self {
        Self {
            options: OpenOptions::default(),
            key: None,
            #[cfg(feature = "decrypt")]
            private_key: None,
            events: None,
            utc_start: None,
            input_format: None,
            time_column: None,
            command: String::new(),
            progress: Arc::new(NoProgress),
            stop: None,
            files: Arc::new(ReadFiles),
            connection: Connection::default(),
            outputs: Arc::default(),
        }
    }

    /// Reads logs that require a newer version as far as possible.
    #[must_use]
    pub fn with_incompatible_logs(mut self) -> Self {
        self.options.force = true;
        self
    }

    /// Compares the index of a log with the chunks that it describes before it is trusted.
    #[must_use]
    pub fn with_strict_index(mut self) -> Self {
        self.options.compare_index = true;
        self
    }

    /// Sets the length of the longest record, and of the longest decompressed chunk, in
    /// bytes: what is longer is damage. The default is 256 MiB, and the maximum 2,047 MiB,
    /// because a block of records is shorter than 4 GiB.
    #[must_use]
    pub fn with_max_record_bytes(mut self, bytes: u32) -> Self {
        self.options.record_bytes = bytes.min(MAX_RECORD_BYTES);
        self
    }

    /// Sets the key of encrypted bags.
    #[must_use]
    pub fn with_key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets the private key of encrypted ULogs.
    #[cfg(feature = "decrypt")]
    #[must_use]
    pub fn with_private_key(mut self, key: PrivateKey) -> Self {
        self.private_key = Some(key);
        self
    }

    /// Sets the definitions of PX4's events that logs do not define themselves.
    #[must_use]
    pub fn with_events(mut self, events: Catalog) -> Self {
        self.events = Some(Arc::new(events));
        self
    }

    /// Sets the time at which logs start, in nanoseconds of Unix time. It replaces the UTC
    /// reference of the logs.
    #[must_use]
    pub fn with_utc_start(mut self, nanos: i64) -> Self {
        self.utc_start = Some(nanos);
        self
    }

    /// Returns the options for opening ULogs.
    pub(crate) fn ulog_options(&self) -> UlogOptions {
        let options = UlogOptions::from(self.options);
        match &self.events {
            Some(events) => options.with_events(Arc::clone(events)),
            None => options,
        }
    }

    /// Reads each input as this format, whatever its first bytes are.
    #[must_use]
    pub fn with_input_format(mut self, format: LogFormat) -> Self {
        self.input_format = Some(format);
        self.options.is_format_given = true;
        self
    }

    /// Sets the column with the times of tables: CSV and Parquet files. By default, it is found by
    /// its name or its type.
    #[must_use]
    pub fn with_time_column(mut self, choice: TimeColumnChoice) -> Self {
        self.time_column = Some(choice);
        self
    }

    /// Reads each input as the format that its bytes show.
    pub(crate) fn without_input_format(mut self) -> Self {
        self.input_format = None;
        self.options.is_format_given = false;
        self
    }

    /// Sets the command line that outputs state as their origin.
    #[must_use]
    pub fn with_command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }

    /// Sets the receiver of progress and notes.
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Sets the signal that ends the calls of this session. They fail then, and leave no
    /// outputs.
    #[must_use]
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Sets how local files are opened.
    #[must_use]
    pub fn with_files(mut self, files: Arc<dyn OpenFile>) -> Self {
        self.files = files;
        self
    }

    /// Sets how long a server may take to answer. The default is 30 seconds.
    #[must_use]
    pub fn with_remote_timeout(mut self, timeout: Duration) -> Self {
        self.connection = self.connection.with_timeout(timeout);
        self
    }

    /// Sets how many bytes a server must send per second, averaged over twice the time that it may
    /// take to answer. The default is 1,000.
    #[must_use]
    pub fn with_remote_min_rate(mut self, bytes_per_second: u32) -> Self {
        self.connection = self.connection.with_min_rate(bytes_per_second);
        self
    }

    /// Returns the session for one of several logs that are read at the same time. Their
    /// progress is not shown one by one. Files are read at offsets: a file that becomes
    /// shorter then affects no other log, unlike a mapped file.
    pub(crate) fn for_concurrent_logs(&self) -> Self {
        let (progress, files) = (Arc::new(NoProgress), Arc::new(ReadFiles));
        Self { progress, files, ..self.clone() }
    }

    /// Returns whether the calls of this session should end.
    pub fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(Stop::is_set)
    }

    /// Returns the outputs that calls of this session are writing.
    pub fn live_outputs(&self) -> &Arc<LiveOutputs> {
        &self.outputs
    }

    pub(crate) fn note(&self, name: &str, text: &str) {
        self.progress.notice(NoticeLevel::Note, name, text);
    }

    pub(crate) fn warn(&self, name: &str, text: &str) {
        self.progress.notice(NoticeLevel::Warning, name, text);
    }

    /// Warns if `start` or `end` is after the end of the log called `name`, and was probably
    /// meant differently.
    pub fn warn_of_late_times(
        &self,
        name: &str,
        manifest: &Manifest,
        start: Option<TypedTime>,
        end: Option<TypedTime>,
    ) {
        if let Some(LateTime { text, remedy }) = late_times::find(manifest, start, end)
        {
            self.progress.notice(NoticeLevel::Selection, name, &text);
            self.progress.remedy(&remedy);
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_key = self.key.is_some();
        f.debug_struct("Session")
            .field("options", &self.options)
            .field("has_key", &has_key)
            .field("utc_start", &self.utc_start)
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}
