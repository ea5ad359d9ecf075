//! Opens logs by name.

use std::{ffi::OsStr, io, path::Path, sync::Arc};

use bytes::Bytes as Head;
use logtool_core::{
    ErrorKind, Format, Log, LogAccess, Manifest, Selection, Source, Topic, TopicOrigin,
};
use logtool_rosbag::{EncryptionInfo, RosbagLog, RosbagOptions};
use logtool_tables::{csv::Csv, parquet::Parquet};
use logtool_ulog::UlogLog;
use logtool_velodyne::{capture::Capture, lidar::LidarOptions, vel::Vel};

use crate::{
    error::{Context as _, Error, Result},
    formats::{self, LogFormat},
    source::{
        input::{
            self, FileCompression, Input, file_signatures, lidar_packets,
            progress_source::ProgressSource, url, utc_start,
        },
        session::Session,
    },
    text::units::Bytes,
};

/// An open log, and its input.
pub struct OpenLog {
    /// The input.
    pub input: Input,
    /// The log.
    pub log: Box<dyn Log>,
}

/// Opens the log at `path`, whatever its format, to read its records.
pub fn open(path: &Path, session: &Session) -> Result<OpenLog> {
    check_readable(inspect(path, session)?)
}

/// Like [`open`], with options for lidars: a bag or an MCAP file with their packets gets topics of
/// points.
pub fn open_with(
    path: &Path,
    session: &Session,
    lidar: &LidarOptions,
) -> Result<OpenLog> {
    check_readable(inspect_with(path, session, Some(lidar))?)
}

/// Opens the log in `input`, which is not a file.
pub(crate) fn open_input(
    input: Input,
    session: &Session,
    lidar: &LidarOptions,
) -> Result<OpenLog> {
    check_readable(inspect_input(input, session, Some(lidar))?)
}

/// Like [`open_with`], and returns the digest of the input. It is computed at the same time,
/// because opening a log without an index mostly uses one thread.
pub fn open_with_digest(
    path: &Path,
    session: &Session,
    lidar: &LidarOptions,
) -> Result<(OpenLog, String)> {
    let input = Input::open(path, session)?;
    let format = format(path, &input, session).map_err(|err| explain(err, &input))?;
    let (log, digest) = rayon::join(
        || open_as(format, &input, session, Some(lidar)),
        || input.digest_if_read_completely(),
    );
    let log = log.map_err(|err| explain(err, &input))?;
    Ok((check_readable(OpenLog { input, log })?, digest?))
}

/// Like [`open_with`], but bags and MCAP files get no topics of points: their packets are already
/// messages that can be copied.
pub fn open_to_copy(
    path: &Path,
    session: &Session,
    lidar: &LidarOptions,
) -> Result<OpenLog> {
    let input = Input::open(path, session)?;
    let open = |format: LogFormat| {
        let lidar = Some(lidar).filter(|_| !format.has_messages());
        open_as(format, &input, session, lidar)
    };
    let log = format(path, &input, session).and_then(open);
    let log = log.map_err(|err| explain(err, &input))?;
    check_readable(OpenLog { input, log })
}

/// Like [`open_to_copy`], for an output that holds packets: those in the messages of bags and MCAP
/// files have a topic for each lidar.
pub fn open_to_copy_packets(
    path: &Path,
    session: &Session,
    lidar: &LidarOptions,
) -> Result<OpenLog> {
    let OpenLog { input, log } = open_to_copy(path, session, lidar)?;
    let log = lidar_packets::with_packets(log).cannot_open(&input.name)?;
    Ok(OpenLog { input, log })
}

/// Opens the log at `path` to describe it, even if its records cannot be read, e.g. because
/// they are encrypted.
pub fn inspect(path: &Path, session: &Session) -> Result<OpenLog> {
    inspect_with(path, session, None)
}

/// Like [`inspect`], with options for lidars.
pub fn inspect_with(
    path: &Path,
    session: &Session,
    lidar: Option<&LidarOptions>,
) -> Result<OpenLog> {
    inspect_input(Input::open(path, session)?, session, lidar)
}

fn inspect_input(
    input: Input,
    session: &Session,
    lidar: Option<&LidarOptions>,
) -> Result<OpenLog> {
    let log = format(Path::new(&input.name), &input, session)
        .and_then(|format| open_as(format, &input, session, lidar))
        .map_err(|err| explain(err, &input))?;
    Ok(OpenLog { input, log })
}

/// Returns `opened` if its records can be read.
fn check_readable(opened: OpenLog) -> Result<OpenLog> {
    let manifest = opened.log.manifest();
    if EncryptionInfo::from_manifest(manifest).is_some()
        && let Some(part) = manifest.parts.first()
    {
        // Without its key a bag has no topics, so missing records would not be noticed.
        let cursor = opened.log.read(part, &Selection::default());
        cursor.cannot_open(&opened.input.name)?;
    }
    Ok(opened)
}

/// Opens `input` as `format`, and passes on notes about how it is read.
fn open_as(
    format: LogFormat,
    input: &Input,
    session: &Session,
    lidar: Option<&LidarOptions>,
) -> Result<Box<dyn Log>> {
    let is_remote = input.is_remote && input.compression.is_none();
    let (name, len) = (&input.name, Bytes(input.source.len()));
    if is_remote && !format.has_index() {
        session.note(
            name,
            &format!("reads the whole file ({len}): {} have no index", format.plural()),
        );
    }
    let log = ProgressSource::open_with_progress(input, session, |source| {
        open_well(format, source, &stem_of(input)?, session, lidar)
    })?;
    let manifest = log.manifest();
    let is_empty = |topic: &Topic| {
        topic.origin == TopicOrigin::Derived || topic.records == Some(0)
    };
    if session.options.is_format_given
        && manifest.topics.iter().all(is_empty)
        && !manifest.damage.is_empty()
    {
        return Err(Error::other(format!("no records of {} found", format.noun())));
    }
    if is_remote && log.manifest().access == LogAccess::Damaged {
        session
            .note(name, &format!("read the whole file ({len}): it has no valid index"));
    }
    Ok(log)
}

/// Opens `source` as `format`, without notes. `topic` is the name of the topic of a table.
fn open_well(
    format: LogFormat,
    source: Arc<dyn Source>,
    topic: &str,
    session: &Session,
    lidar: Option<&LidarOptions>,
) -> Result<Box<dyn Log>> {
    let options = session.options;
    if format == LogFormat::Rosbag {
        let mut options = RosbagOptions::from(options);
        if let Some(key) = session.key {
            options = options.with_key(key);
        }
        let mut log = RosbagLog::open(Arc::clone(&source), options)?;
        if let Some(manifest) = utc_start::set(log.manifest(), session) {
            log = RosbagLog::open_with_manifest(source, manifest, options)?;
        }
        let log = Box::new(log);
        return match lidar {
            Some(lidar) => lidar_packets::with_points(log, lidar),
            None => Ok(log),
        };
    }
    if format == LogFormat::Ulog {
        let options = session.ulog_options();
        let mut log = UlogLog::open(Arc::clone(&source), options.clone())?;
        if let Some(manifest) = utc_start::set(log.manifest(), session) {
            log = UlogLog::open_with_manifest(source, manifest, options)?;
        }
        return Ok(Box::new(log));
    }
    let open = |format: &dyn Format| -> Result<Box<dyn Log>> {
        let log = format.open(Arc::clone(&source), options)?;
        match utc_start::set(log.manifest(), session) {
            Some(manifest) => Ok(format.open_with_manifest(source, manifest, options)?),
            None => Ok(log),
        }
    };
    match (format, lidar) {
        (LogFormat::Mcap, Some(lidar)) => {
            lidar_packets::with_points(open(format.format())?, lidar)
        }
        (LogFormat::Vel, Some(lidar)) => open(&Vel::with_lidar(lidar.clone())),
        (LogFormat::Capture, Some(lidar)) => open(&Capture::with_lidar(lidar.clone())),
        (LogFormat::Csv, _) => {
            let csv = Csv::default().with_topic(topic);
            open(&match &session.time_column {
                Some(time) => csv.with_time_column(time.clone()),
                None => csv,
            })
        }
        (LogFormat::Parquet, _) => {
            let parquet = Parquet::default().with_topic(topic);
            open(&match &session.time_column {
                Some(time) => parquet.with_time_column(time.clone()),
                None => parquet,
            })
        }
        _ => open(format.format()),
    }
}

/// Opens a log of `format` with an excerpt of its manifest, without reading its records.
pub(crate) fn open_excerpt(
    format: LogFormat,
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    session: &Session,
) -> Result<Box<dyn Log>> {
    let options = session.options;
    let open_bag = |manifest| -> Result<Box<dyn Log>> {
        let mut options = RosbagOptions::from(options);
        if let Some(key) = session.key {
            options = options.with_key(key);
        }
        let log = RosbagLog::open_with_manifest(source.clone(), manifest, options)?;
        Ok(Box::new(log))
    };
    let open = |manifest| -> Result<Box<dyn Log>> {
        Ok(format.format().open_with_manifest(source.clone(), manifest, options)?)
    };
    match format {
        LogFormat::Rosbag => lidar_packets::open_excerpt(manifest, open_bag),
        LogFormat::Mcap => lidar_packets::open_excerpt(manifest, open),
        LogFormat::Ulog => {
            let options = session.ulog_options();
            Ok(Box::new(UlogLog::open_with_manifest(source, manifest, options)?))
        }
        _ => open(manifest),
    }
}

/// Opens the ULog at `path`; `ability` says what only ULogs have or can, such as "have parameters".
pub fn open_ulog(
    path: &Path,
    session: &Session,
    ability: &str,
) -> Result<(Input, UlogLog)> {
    let input = Input::open(path, session)?;
    let format = format(path, &input, session).map_err(|err| explain(err, &input))?;
    formats::require_ulog(Some(format), ability).with_context(|| input.name.clone())?;
    let log = UlogLog::open(Arc::clone(&input.source), session.ulog_options());
    let log = log.map_err(|err| explain(err.into(), &input))?;
    Ok((input, log))
}

/// Returns the format that the session states, or else the one that the bytes show.
fn format(path: &Path, input: &Input, session: &Session) -> Result<LogFormat> {
    match session.input_format {
        Some(format) => Ok(format),
        None => {
            LogFormat::recognize(unpacked_name(path, input.compression), &*input.source)
        }
    }
}

/// Returns whether the log is encrypted, and was opened without its key.
pub fn is_locked(manifest: &Manifest) -> bool {
    EncryptionInfo::from_manifest(manifest)
        .is_some_and(|encryption| encryption.is_locked)
}

/// Returns whether the whole log of `manifest` was scanned when it was opened, and not only its
/// index.
pub fn is_fully_scanned(manifest: &Manifest) -> bool {
    manifest.access != LogAccess::Indexed
}

/// Returns whether `head` is the start of a log, or of a compressed file.
pub fn is_log_start(head: &[u8]) -> bool {
    let head = Head::copy_from_slice(head);
    FileCompression::detect(&head).is_some() || is_recognized("", &head)
}

/// Returns whether the file at `path` starts like a log.
pub fn is_log(path: &Path) -> io::Result<bool> {
    let (head, compression) = input::head(path)?;
    let name = unpacked_name(path, compression);
    Ok(is_recognized(name, &Head::from(head)))
}

/// Returns whether `head` is the start of a log, which is not a table.
fn is_recognized(name: &str, head: &Head) -> bool {
    LogFormat::recognize(name, head).is_ok_and(|format| !format.is_table())
}

/// Returns the name of the file at `path` without the extension of its compression.
fn unpacked_name(path: &Path, compression: Option<FileCompression>) -> &str {
    let name = url::file_name(path).unwrap_or_default();
    let packed =
        compression.and_then(|compression| name.strip_suffix(compression.extension()));
    packed.unwrap_or(name).trim_end_matches('.')
}

/// Adds the name of the input and a hint to `err`.
fn explain(err: Error, input: &Input) -> Error {
    let Some(cause) = err.log_error() else {
        return err.cannot_open(&input.name);
    };
    let hint = match cause.kind() {
        ErrorKind::Unrecognized => {
            let kind = file_signatures::kind(&input.name, &*input.source);
            kind.map(|kind| format!("it looks like {kind}"))
        }
        _ => None,
    };
    let err = if let Some(hint) = hint { err.with_hint(hint) } else { err };
    err.cannot_open(&input.name)
}

/// Returns the name for the outputs of `input`, without extension.
pub fn stem_of(input: &Input) -> Result<String> {
    if input.name == input::STDIN_NAME {
        Ok("stdin".to_owned())
    } else {
        stem(Path::new(&input.name))
    }
}

/// Returns the name of the file at `path` without its folder, its extension, and that of its
/// compression.
pub fn stem(path: &Path) -> Result<String> {
    // Bytes that are not UTF-8 are replaced, like in messages.
    let path = path.to_string_lossy();
    let name = url::file_name(Path::new(&*path)).unwrap_or_default();
    let name = FileCompression::from_name(name).map_or(name, |(_, name)| name);
    let stem = Path::new(name).file_stem().and_then(OsStr::to_str);
    stem.map(str::to_owned).context("the name of the input is not valid UTF-8")
}
