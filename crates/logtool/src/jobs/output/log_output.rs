//! The destination and the options of the new log of a request.

use std::path::{Path, PathBuf};

use logtool_core::{Manifest, WriteOptions};
use logtool_sinks::ExistingFiles;

use crate::{
    error::{Error, Result},
    formats::{Compression, LogFormat},
    jobs::output::{
        log_writer::{self, LogWriter},
        overwrite_guard,
    },
    source::session::Session,
};

/// The destination and the options of the new log of a request. Requests also accept a path or a
/// URL alone.
///
/// ```
/// use logtool::{formats::Compression, output::LogOutput};
///
/// let output = LogOutput::new("small.bag").with_compression(Compression::Lz4);
/// # let _ = output;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct LogOutput {
    path: PathBuf,
    format: Option<LogFormat>,
    existing: ExistingFiles,
    compression: Option<Compression>,
    has_ros2_messages: bool,
}

impl LogOutput {
    /// Creates the default settings for a log at `path`, a path or a URL, which must not
    /// exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            format: None,
            existing: ExistingFiles::Refuse,
            compression: None,
            has_ros2_messages: false,
        }
    }

    /// Sets the format of the log. By default, the extension of the path selects it, and if
    /// that is not the extension of a log, the log has the format of its input.
    pub fn with_format(mut self, format: LogFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Replaces a file that exists at the path.
    pub fn with_replacement(mut self) -> Self {
        self.existing = ExistingFiles::Replace;
        self
    }

    /// Sets how the chunks of a bag or an MCAP file are compressed. The default is the
    /// compression that most chunks of the first bag have, and zstd in MCAP files.
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }

    /// Writes messages of ROS 1 as messages of ROS 2, in CDR. The log must be an MCAP file.
    pub fn with_ros2_messages(mut self) -> Self {
        self.has_ros2_messages = true;
        self
    }

    /// Returns the path or the URL of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the format that was set, or that of the extension, if it is that of a log.
    pub(crate) fn named_format(&self) -> Option<LogFormat> {
        let extension = self.path.extension().and_then(|extension| extension.to_str());
        self.format.or_else(|| LogFormat::from_extension(extension?))
    }

    /// Returns the format of the log for the records of the log with `manifest`: the format
    /// that was set or that of the extension, or else the format of the log with `manifest`.
    ///
    /// # Errors
    /// `InvalidRequest` if this format cannot hold the records of the log.
    pub(crate) fn format_for(&self, manifest: &Manifest) -> Result<LogFormat> {
        log_writer::format(&self.path, self.format, manifest)
    }

    /// Returns whether messages of ROS 1 become messages of ROS 2.
    pub(crate) fn has_ros2_messages(&self) -> bool {
        self.has_ros2_messages
    }

    /// Fails if the log is one of `inputs`, which must not be overwritten.
    pub(crate) fn check_differs_from<'p>(
        &self,
        inputs: impl IntoIterator<Item = &'p Path>,
    ) -> Result<()> {
        overwrite_guard::refuse(&self.path, inputs)
    }

    /// Returns the options for the writer of `format`.
    ///
    /// # Errors
    /// `InvalidRequest` if a log of `format` cannot be written like that.
    pub(crate) fn options(&self, format: LogFormat) -> Result<WriteOptions> {
        if self.has_ros2_messages && format != LogFormat::Mcap {
            let error =
                Error::invalid_request("only MCAP files have messages of ROS 2");
            return Err(error.with_hint("let the name of the output end in .mcap"));
        }
        let mut options = WriteOptions::default();
        options.compression = log_writer::compression(self.compression, format)?;
        options.payload_encoding = self.has_ros2_messages.then(|| "cdr".to_owned());
        Ok(options)
    }

    /// Starts to write the log as `format`.
    ///
    /// # Errors
    /// `AlreadyExists` if the path exists and may not be replaced; others if nothing can be
    /// written there.
    pub(crate) fn begin(
        &self,
        format: LogFormat,
        session: &Session,
    ) -> Result<LogWriter> {
        LogWriter::new(&self.path, format, self.existing, session)
    }
}

impl From<&str> for LogOutput {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}

impl From<&Path> for LogOutput {
    fn from(path: &Path) -> Self {
        Self::new(path)
    }
}

impl From<PathBuf> for LogOutput {
    fn from(path: PathBuf) -> Self {
        Self::new(path)
    }
}
