//! Conversions of logs: tables, points, images and tracks, or a log of another format.

mod conflict;
pub(crate) mod export;
mod images;
pub(crate) mod job;
pub(crate) mod log_copy;
mod merged_table;
mod output_format;
pub(crate) mod payloads;
mod points;
mod provenance_file;
mod px4;
mod report;
mod request;
mod stale_files;
mod table_sink;
mod tables;
mod tracks;
mod ulog_tables;

use std::path::{Path, PathBuf};

use logtool_sinks::ExistingFiles;

use crate::{
    error::Result,
    source::{losses::Strictness, session::Session},
};

pub(crate) use self::output_format::{
    ArrayFormat, FormatKind, PointsFormat, TableFormat,
};
pub use self::{
    conflict::RequestConflict,
    images::{ImageFile, ImageRecordType},
    merged_table::MergedTable,
    output_format::OutputFormat,
    report::{ConvertReport, OutputFile},
    request::{AsofMerge, ConvertRequest, LabelSource, PointEncoding, TableLayout},
    stale_files::StaleFiles,
};

/// A conversion of one log.
///
/// The output appears when it is complete. A conversion that fails leaves no output.
///
/// ```no_run
/// use logtool::{
///     Session,
///     convert::{Convert, ConvertRequest, Destination, OutputFormat},
/// };
///
/// let request = ConvertRequest::new(OutputFormat::Parquet).with_topics(["/imu/*"]);
/// let folder = Destination::Folder("tables".into());
/// let report = Convert::new("drive.bag", folder, request).run(&Session::new())?;
/// println!("{} rows in {} tables", report.rows, report.tables);
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Convert {
    input: PathBuf,
    destination: Destination,
    request: ConvertRequest,
    existing: ExistingFiles,
    strictness: Strictness,
}

impl Convert {
    /// Creates a conversion of the log `input`: a path, a URL, or `-` for standard input.
    pub fn new(
        input: impl Into<PathBuf>,
        destination: Destination,
        request: ConvertRequest,
    ) -> Self {
        Self {
            input: input.into(),
            destination,
            request,
            existing: ExistingFiles::Refuse,
            strictness: Strictness::Tolerant,
        }
    }

    /// Replaces files that exist. By default they are an error.
    pub fn with_replacement(mut self) -> Self {
        self.existing = ExistingFiles::Replace;
        self
    }

    /// Sets what happens when something is damaged or lost.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Converts the log. Several threads decode and encode.
    ///
    /// # Errors
    /// `InvalidRequest` if the request [contradicts itself](RequestConflict), `NotFound` if the
    /// log has nothing that was selected, `AlreadyExists` if an output exists, `Damaged` if
    /// something is lost in a strict request; others if the log cannot be read or the output
    /// cannot be written.
    pub fn run(&self, session: &Session) -> Result<ConvertReport> {
        if let Some(conflict) = RequestConflict::find(&self.request, &self.destination)
        {
            return Err(conflict.into());
        }
        if self.request.format.is_log() {
            log_copy::run(self, session)
        } else {
            export::run(self, session)
        }
    }
}

/// The destination of the result of a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destination {
    /// Files in this folder, which is created if it does not exist. It may be a URL.
    Folder(PathBuf),
    /// This one file: a log, a track, or the table or the points of one topic. It may be a
    /// URL.
    File(PathBuf),
    /// One table on standard output, as CSV, JSON Lines or Arrow.
    Stdout,
}

impl Destination {
    /// Returns the path of the one file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Folder(_) | Self::Stdout => None,
        }
    }

    /// Returns whether the table goes to standard output.
    pub fn is_stdout(&self) -> bool {
        *self == Self::Stdout
    }
}
