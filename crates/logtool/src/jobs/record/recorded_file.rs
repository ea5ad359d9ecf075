//! A file that is valid while it grows.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
};

use logtool_core::open_own_file;
use logtool_sinks::{ExistingFiles, Outputs};

use crate::error::{Context as _, Error, ErrorKind, Result};

/// A file that is created with its first bytes, and to which complete messages are appended.
pub(super) struct RecordedFile {
    path: PathBuf,
    existing: ExistingFiles,
    file: Option<File>,
    bytes: u64,
}

impl RecordedFile {
    /// Creates a recording at `path`. A link is replaced, and not followed.
    ///
    /// # Errors
    /// `AlreadyExists` if there is a file that may not be replaced, `NoSuchFile` if there is no
    /// folder for it, `Io` if there is a pipe or a device.
    pub(super) fn new(path: &Path, existing: ExistingFiles) -> Result<Self> {
        let name = || path.display().to_string();
        if path.file_name().is_none() || path.is_dir() {
            return Err(Error::invalid_request("a recording is a file").context(name()));
        }
        existing.check(path)?;
        // Now, and not when the vehicle has started its log.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if !folder.is_none_or(Path::is_dir) {
            let error = Error::new(ErrorKind::NoSuchFile, "there is no such folder");
            return Err(error.context(cannot_write(path)));
        }
        Ok(Self { path: path.to_owned(), existing, file: None, bytes: 0 })
    }

    /// Returns whether there is a file.
    pub(super) fn is_created(&self) -> bool {
        self.file.is_some()
    }

    /// Appends complete messages to the file, and removes them from `bytes`.
    ///
    /// # Errors
    /// Those of the system. The file then ends where the last complete message does.
    pub(super) fn append(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.write(bytes)?;
        self.bytes += bytes.len() as u64;
        bytes.clear();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let context = || cannot_write(&self.path);
        let Some(file) = &mut self.file else {
            self.file = Some(self.create(bytes)?);
            return Ok(());
        };
        // In one call and without a buffer, so that a program that is killed leaves complete
        // messages.
        let written = file.write_all(bytes);
        if written.is_err() {
            // The error of the write counts.
            let _ = file.set_len(self.bytes);
        }
        written.with_context(context)
    }

    /// Creates the file with its first bytes. It gets its name when they are written, like other
    /// outputs.
    fn create(&self, bytes: &[u8]) -> Result<File> {
        let outputs = Outputs::for_file(&self.path, self.existing);
        outputs.write(&self.path.to_string_lossy(), bytes)?;
        outputs.commit()?;
        let file = open_own_file(&self.path, OpenOptions::new().append(true));
        file.with_context(|| cannot_write(&self.path))
    }

    /// Waits until the file is on the disk.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn finish(self) -> Result<()> {
        match self.file {
            Some(file) => file.sync_all().with_context(|| cannot_write(&self.path)),
            None => Ok(()),
        }
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}
