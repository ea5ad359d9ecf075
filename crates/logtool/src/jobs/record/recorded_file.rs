//! A file that is valid while it grows.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::error::{Context as _, Error, ErrorKind, Result};

/// A file that is created with its first bytes, and to which complete messages are appended.
pub(super) struct RecordedFile {
    path: PathBuf,
    replaces: bool,
    file: Option<File>,
    bytes: u64,
}

impl RecordedFile {
    /// Creates a recording at `path`, which is a new file unless `replaces` is set.
    ///
    /// # Errors
    /// `AlreadyExists` if there is a file, `NoSuchFile` if there is no folder for it.
    pub(super) fn new(path: &Path, replaces: bool) -> Result<Self> {
        let name = || path.display().to_string();
        if path.file_name().is_none() || path.is_dir() {
            return Err(Error::invalid_request("a recording is a file").context(name()));
        }
        if !replaces && path.symlink_metadata().is_ok() {
            return Err(Error::new(ErrorKind::AlreadyExists, "it exists already"))
                .with_context(name);
        }
        // Now, and not when the vehicle has started its log.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if !folder.is_none_or(Path::is_dir) {
            let error = Error::new(ErrorKind::NoSuchFile, "there is no such folder");
            return Err(error.context(cannot_write(path)));
        }
        Ok(Self { path: path.to_owned(), replaces, file: None, bytes: 0 })
    }

    /// Appends complete messages to the file, and removes them from `bytes`.
    ///
    /// # Errors
    /// Those of the system. The file then ends where the last complete message does.
    pub(super) fn append(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.write(bytes).with_context(|| cannot_write(&self.path))?;
        self.bytes += bytes.len() as u64;
        bytes.clear();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let mut options = OpenOptions::new();
                options.write(true);
                if self.replaces {
                    options.create(true).truncate(true);
                } else {
                    options.create_new(true);
                }
                self.file.insert(options.open(&self.path)?)
            }
        };
        // In one call and without a buffer, so that a program that is killed leaves complete
        // messages.
        let written = file.write_all(bytes);
        if written.is_err() {
            // The error of the write counts.
            let _ = file.set_len(self.bytes);
        }
        written
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
