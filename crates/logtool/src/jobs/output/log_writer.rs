//! A new log, which has a temporary name until it is complete.

use std::path::Path;

use logtool_core::{LogSlice, Manifest, RecordSink, TopicId, TopicSet, WriteOptions};
use logtool_rosbag::EncryptionInfo;
use logtool_sinks::{BackgroundWriter, ExistingFiles, StagedFile};

use crate::{
    error::{Error, Result},
    formats::{Compression, LogFormat},
    jobs::output::guarded_outputs::{self, GuardedOutputs},
    source::{
        input::{FileCompression, STDIN},
        session::Session,
    },
};

/// A new log that is being written.
pub struct LogWriter {
    // Dropped before the outputs, which are guarded to the end.
    file: LogFile,
    outputs: GuardedOutputs,
}

/// A new log that is written as one of several outputs.
pub struct LogFile {
    staged: StagedFile,
    format: LogFormat,
}

/// The size of a new log, and remarks about it.
pub struct WrittenLog {
    /// The size in bytes.
    pub bytes: u64,
    /// Remarks for users, one sentence each.
    pub remarks: Vec<String>,
}

impl LogWriter {
    /// Starts the log of `format` that will be at `path`. `existing` decides whether a file is
    /// replaced.
    pub fn new(
        path: &Path,
        format: LogFormat,
        existing: ExistingFiles,
        session: &Session,
    ) -> Result<Self> {
        if path.as_os_str() == STDIN {
            if !format.is_stream() {
                let message = format!(
                    "{} cannot be written to standard output: the header of {} is \
                     written last; MCAP files, ULogs and captures can",
                    format.plural(),
                    format.noun()
                );
                return Err(
                    Error::invalid_request(message).with_hint("name a file with -o")
                );
            }
            let outputs = guarded_outputs::for_stdout(format.title(), false, session)?;
            let file = LogFile::new(&outputs, STDIN, format)?;
            return Ok(Self { file, outputs });
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some((compression, stem)) = FileCompression::from_name(&name) {
            let (shown, how) = (path.display(), compression.name());
            let message = format!(
                "{shown} has a compressed extension; logs are written uncompressed"
            );
            let hint = format!("name it {stem}, and compress it with {how} afterwards");
            return Err(Error::invalid_request(message).with_hint(hint));
        }
        let outputs = guarded_outputs::for_log(path, existing, session)?;
        let file = LogFile::new(&outputs, &name, format)?;
        Ok(Self { file, outputs })
    }

    /// Calls `fill` to write `slices`, and completes the log.
    pub fn write<T>(
        self,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
        fill: impl FnOnce(&mut dyn RecordSink) -> Result<T>,
    ) -> Result<(T, WrittenLog)> {
        let (done, mut log) = self.file.write(slices, options, fill)?;
        let files = self.outputs.commit()?;
        if !self.outputs.is_stdout() {
            log.bytes = files.iter().map(|(_, len)| len).sum();
        }
        Ok((done, log))
    }
}

impl LogFile {
    /// Starts the log `name` of `format` among `outputs`.
    pub fn new(
        outputs: &GuardedOutputs,
        name: &str,
        format: LogFormat,
    ) -> Result<Self> {
        let staged = outputs.create(name)?;
        Ok(Self { staged, format })
    }

    /// Calls `fill` to write `slices`. Returns the size of the log if it was written in order,
    /// and remarks.
    pub fn write<T>(
        self,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
        fill: impl FnOnce(&mut dyn RecordSink) -> Result<T>,
    ) -> Result<(T, WrittenLog)> {
        let mut out = BackgroundWriter::new(self.staged);
        let mut sink =
            self.format.format().writer(Box::new(&mut out), slices, options)?;
        let done = fill(&mut *sink)?;
        let mut remarks = sink.remarks();
        remarks.extend(not_encrypted(self.format, slices));
        sink.finish()?;
        let staged = out.finish()?;
        let bytes = staged.position();
        staged.finish()?;
        Ok((done, WrittenLog { bytes, remarks }))
    }
}

/// Removes from `slice` what a log of `format` cannot hold, and returns a remark for each.
pub fn remove_unsupported(format: LogFormat, slice: &mut LogSlice<'_>) -> Vec<String> {
    let unsupported = format.format().unsupported_content(slice);
    if unsupported.iter().any(|content| content.topic.is_some()) {
        let unheld: TopicSet =
            unsupported.iter().filter_map(|content| content.topic).collect();
        let is_held = |id: TopicId| !unheld.contains(id);
        let selected = &slice.selection.topics;
        let ids = slice.manifest.topics().map(|(id, _)| id);
        let kept = ids.filter(|id| selected.contains(*id) && is_held(*id));
        slice.selection.topics = kept.collect();
    }
    unsupported
        .iter()
        .map(|content| format!("left out: {}", content.description))
        .collect()
}

/// Returns the name of the compression `requested`, if logs of `format` have compressed chunks.
///
/// # Errors
/// `InvalidRequest` if the format does not support this compression.
pub fn compression(
    requested: Option<Compression>,
    format: LogFormat,
) -> Result<Option<String>> {
    let known = format.compressions();
    if let Some(requested) = requested
        && !known.contains(&requested)
    {
        if known.is_empty() {
            let message = format!("{} have no compressed chunks", format.plural());
            let hint = "only ROS bags and MCAP files have a compression";
            return Err(Error::invalid_request(message).with_hint(hint));
        }
        let message =
            format!("{} do not support {}", format.plural(), requested.name());
        let known: Vec<&str> = known.iter().map(|known| known.name()).collect();
        let hint = format!("the compression can be {}", known.join(", "));
        return Err(Error::invalid_request(message).with_hint(hint));
    }
    Ok(requested.map(|requested| requested.name().to_owned()))
}

/// The extensions of tables, with what such a file is.
const TABLES: [(&str, &str); 5] = [
    ("csv", "a CSV table"),
    ("json", "a JSON file"),
    ("jsonl", "a JSON Lines table"),
    ("parquet", "a Parquet table"),
    ("arrow", "an Arrow table"),
];

/// Returns the format of a new log at `path` for the records of the log with `manifest`:
/// `requested`, else the format of the extension, else the format of the log itself.
///
/// # Errors
/// `InvalidRequest` if this format cannot hold the records of the log.
pub fn format(
    path: &Path,
    requested: Option<LogFormat>,
    manifest: &Manifest,
) -> Result<LogFormat> {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    if end.eq_ignore_ascii_case("pcapng") {
        let message = format!("{}: captures are written as pcap", path.display());
        return Err(
            Error::invalid_request(message).with_hint("let the name end in .pcap")
        );
    }
    let Some(own_format) = LogFormat::from_manifest(manifest) else {
        let own = &manifest.format;
        return Err(Error::other(format!("{own} logs cannot be written")));
    };
    let own = own_format.noun();
    if own_format.is_table() {
        let message = format!("{own} cannot be copied as a log");
        let hint = "`logtool convert` writes it, also a part of it, in another format";
        return Err(Error::invalid_request(message).with_hint(hint));
    }
    if let Some(requested) = requested {
        if requested.can_hold(own_format) {
            return Ok(requested);
        }
        let message =
            format!("{} cannot hold the records of {own}", requested.plural());
        let formats = LogFormat::ALL.iter().filter(|one| one.can_hold(own_format));
        let formats: Vec<&str> = formats.map(|format| format.noun()).collect();
        let hint = format!(
            "a copy of {own} can be {}; `logtool convert` writes other formats",
            formats.join(" or ")
        );
        return Err(Error::invalid_request(message).with_hint(hint));
    }
    let unfit = match named_kind(end, own_format) {
        Ok(named) => return Ok(named.unwrap_or(own_format)),
        Err(unfit) => unfit,
    };
    let message =
        format!("{} looks like {unfit}, and the log is {own}", path.display());
    let hint = "the new log is of the same format; `logtool convert` makes others";
    Err(Error::invalid_request(message).with_hint(hint))
}

/// Returns an error if the extension of `path` is not that of the ULog that is `written`, e.g., a
/// recording, but that of another kind of log or table.
///
/// # Errors
/// `InvalidRequest` if it is.
pub(crate) fn check_ulog_name(path: &Path, written: &str) -> Result<()> {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let own = LogFormat::Ulog;
    match named_kind(end, own) {
        Ok(_) => Ok(()),
        Err(unfit) => {
            let path = path.display();
            let message =
                format!("{path} looks like {unfit}, and {written} is {}", own.noun());
            Err(Error::invalid_request(message).with_hint("let the name end in .ulg"))
        }
    }
}

/// Returns the format that the extension `end` states for a log of the format `own_format`, if it
/// states one.
///
/// # Errors
/// The kind of files with this extension, if they cannot contain that log.
fn named_kind(
    end: &str,
    own_format: LogFormat,
) -> std::result::Result<Option<LogFormat>, &'static str> {
    if let Some(format) = LogFormat::from_extension(end) {
        return if format.can_hold(own_format) {
            Ok(Some(format))
        } else {
            Err(format.noun())
        };
    }
    match TABLES.iter().find(|(known, _)| known.eq_ignore_ascii_case(end)) {
        Some((_, table)) => Err(table),
        None => Ok(None),
    }
}

/// Returns a remark if one of `slices` is encrypted and the new log has another `format`. A
/// log of the same format has such a remark itself.
fn not_encrypted(format: LogFormat, slices: &[LogSlice<'_>]) -> Option<String> {
    let is_encrypted = |slice: &LogSlice<'_>| {
        let manifest = slice.manifest;
        LogFormat::from_manifest(manifest) != Some(format)
            && EncryptionInfo::from_manifest(manifest).is_some()
    };
    let remark = "the new log is not encrypted, though the input is";
    slices.iter().any(is_encrypted).then(|| remark.to_owned())
}
