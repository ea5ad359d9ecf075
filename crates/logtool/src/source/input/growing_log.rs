//! Logs that are still being written.

use std::{fs::File, path::Path, sync::Arc, thread, time::Duration};

use bytes::Bytes;
use logtool_core::{
    Damage, DamageKind, FileSource, Log as _, Source as _, open_regular_file,
};
use logtool_ulog::{UlogLog, UlogOptions};

use crate::{
    error::{Context as _, Error, ErrorKind, Result},
    formats::{self, LogFormat},
    source::{
        input::{
            STDIN,
            open::{self, OpenLog},
            url,
        },
        losses,
        session::{Session, Stop},
    },
};

/// The interval at which the length of the file is checked.
const INTERVAL: Duration = Duration::from_millis(100);

/// The maximum number of bytes that are read at once.
const MAX_PART_BYTES: u64 = 16 << 20;

/// The maximum number of bytes of declarations that are read again with each part.
const MAX_DECLARATION_BYTES: usize = 64 << 20;

/// A ULog that is still being written.
///
/// Appended bytes are opened as a log of their own, after all earlier declarations. So reading them
/// does not depend on the length of the file.
pub struct GrowingLog {
    name: String,
    file: Arc<File>,
    options: UlogOptions,
    /// The start of the messages that were not read yet: the last one may be incomplete.
    offset: u64,
    /// The declarations of the log up to there, as the start of a ULog.
    declarations: Vec<u8>,
    /// The length of the file when it was last read.
    len: u64,
}

/// A part that was appended to a log.
pub struct AppendedPart {
    /// The part as a log. Its topics are those of the whole log.
    pub log: UlogLog,
    /// The offset of its records in the file, and in the bytes of `log`.
    offset: u64,
    offset_in_part: u64,
    /// The start of the incomplete message at the end, in the bytes of `log`.
    end_in_part: u64,
}

impl GrowingLog {
    /// Opens the log at `path`. Returns its current content, without an incomplete message at the
    /// end.
    ///
    /// # Errors
    /// `Unsupported` if it is not a ULog, is compressed or encrypted, or is not a file; and those of
    /// [`open`](open::open).
    pub fn open(path: &Path, session: &Session) -> Result<(Self, OpenLog)> {
        let unsupported = |message: &str| {
            let name = path.display();
            let hint = "--follow reads ULogs in local files, without compression or encryption";
            Error::new(ErrorKind::Unsupported, format!("{name}: {message}"))
                .with_hint(hint)
        };
        if path.as_os_str() == STDIN || url::from_path(path).is_some() {
            return Err(unsupported("only files can be followed"));
        }
        let opened = open::open(path, session)?;
        if opened.input.compression.is_some() {
            return Err(unsupported("it is compressed, and cannot be followed"));
        }
        if opened.input.is_decrypted {
            return Err(unsupported("it is encrypted, and cannot be followed"));
        }
        let format = LogFormat::from_manifest(opened.log.manifest());
        formats::require_ulog(format, "can be followed")
            .with_context(|| opened.input.name.clone())?;
        let OpenLog { input, log } = opened;
        let mut manifest = log.manifest().clone();
        let incomplete_start =
            incomplete_message_start(&manifest.damage, manifest.bytes);
        manifest.damage.retain(|damage| Some(damage.bytes.start) != incomplete_start);
        let offset = incomplete_start.unwrap_or(manifest.bytes);
        let (name, len) = (input.name.clone(), manifest.bytes);
        let log = UlogLog::open_with_manifest(
            input.source.clone(),
            Arc::new(manifest),
            session.ulog_options(),
        );
        let log = log.with_context(|| name.clone())?;
        let declarations = log.continuation();
        let file = Arc::new(open_regular_file(path).with_context(|| name.clone())?);
        let growing = Self {
            name,
            file,
            options: session.ulog_options(),
            offset,
            declarations,
            len,
        };
        Ok((growing, OpenLog { input, log: Box::new(log) }))
    }

    /// Returns `found` without the incomplete message at the end of the opened log.
    pub fn without_incomplete_message(&self, found: &[Damage]) -> Vec<Damage> {
        let is_incomplete = |damage: &&Damage| {
            damage.kind == DamageKind::Truncated && damage.bytes.start >= self.offset
        };
        found.iter().filter(|damage| !is_incomplete(damage)).cloned().collect()
    }

    /// Returns the length of the part of the file that was read.
    pub fn read_bytes(&self) -> u64 {
        self.offset
    }

    /// Waits until complete messages are appended to the file, and returns them; `None` if `stop`
    /// is set before.
    ///
    /// # Errors
    /// If the file gets shorter, is deleted or replaced, or cannot be read.
    pub fn wait(&mut self, stop: &Stop) -> Result<Option<AppendedPart>> {
        while !stop.is_set() {
            // Asked before reading, so that the last messages are read.
            let is_deleted = is_deleted(&self.file);
            if let Some(part) = self.read().with_context(|| self.name.clone())? {
                return Ok(Some(part));
            }
            if is_deleted {
                let message = "it was deleted or replaced while it was followed";
                return Err(Error::other(format!("{}: {message}", self.name)));
            }
            thread::sleep(INTERVAL);
        }
        Ok(None)
    }

    /// Returns the complete messages that were appended since the last call, if there are some.
    fn read(&mut self) -> Result<Option<AppendedPart>> {
        let source = FileSource::new(self.file.clone())?;
        if source.len() < self.offset {
            return Err(Error::other("it got shorter while it was followed"));
        }
        if source.len() == self.len {
            return Ok(None);
        }
        let end = source.len().min(self.offset.saturating_add(MAX_PART_BYTES));
        // There may be more after this part.
        self.len = end;
        let appended = source.read_at(self.offset..end)?;
        let offset_in_part = self.declarations.len() as u64;
        let mut bytes = self.declarations.clone();
        bytes.extend_from_slice(&appended);
        let part_bytes = bytes.len() as u64;
        let log = UlogLog::open(Arc::new(Bytes::from(bytes)), self.options.clone())?;
        let end_in_part = incomplete_message_start(&log.manifest().damage, part_bytes)
            .unwrap_or(part_bytes);
        if end_in_part <= offset_in_part {
            return Ok(None);
        }
        let part =
            AppendedPart { log, offset: self.offset, offset_in_part, end_in_part };
        self.declarations = part.log.continuation();
        if self.declarations.len() > MAX_DECLARATION_BYTES {
            let message = "its declarations are too long to be followed";
            return Err(Error::new(ErrorKind::Limit, message));
        }
        self.offset += end_in_part - offset_in_part;
        Ok(Some(part))
    }
}

/// Returns whether no path leads to `file` any more. A file that was only renamed still grows.
#[cfg(unix)]
fn is_deleted(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
}

/// Returns `false`, because the standard library counts the paths of a file only on Unix.
#[cfg(not(unix))]
fn is_deleted(_: &File) -> bool {
    false
}

impl AppendedPart {
    /// Returns the damage that is known since the part was opened, with its offsets in the file.
    /// Damage of earlier declarations and the incomplete message at the end are left out.
    pub fn known_damage(&self) -> Vec<Damage> {
        let known = self.log.manifest().damage.iter();
        let appended = known.filter(|damage| damage.bytes.start >= self.offset_in_part);
        self.in_file(appended)
    }

    /// Returns the damage that was `found` while the part was read, with its offsets in the file.
    /// [Known](Self::known_damage) damage and the incomplete message at the end are left out.
    pub fn damage_in_file(&self, found: &[Damage]) -> Vec<Damage> {
        let known = &self.log.manifest().damage;
        let is_new =
            |damage: &&Damage| !known.iter().any(|known| losses::covers(known, damage));
        self.in_file(found.iter().filter(is_new))
    }

    /// Returns `damage` with its offsets in the file, without the incomplete message at the end.
    fn in_file<'d>(&self, damage: impl Iterator<Item = &'d Damage>) -> Vec<Damage> {
        let in_file = |offset: u64| {
            offset.saturating_sub(self.offset_in_part).saturating_add(self.offset)
        };
        let is_read = |damage: &&Damage| {
            damage.kind != DamageKind::Truncated
                || damage.bytes.start < self.end_in_part
        };
        let shifted_damage = damage.filter(is_read).cloned().map(|mut damage| {
            damage.bytes = in_file(damage.bytes.start)..in_file(damage.bytes.end);
            damage
        });
        shifted_damage.collect()
    }
}

/// Returns the start of the incomplete message at the end of a log of `bytes` bytes.
fn incomplete_message_start(damage: &[Damage], bytes: u64) -> Option<u64> {
    let is_end = |damage: &&Damage| {
        damage.kind == DamageKind::Truncated && damage.bytes.end == bytes
    };
    damage.iter().find(is_end).map(|damage| damage.bytes.start)
}
