//! One file that is being written.

use std::{
    fs::{File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    ops::Range,
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
};

use logtool_core::{Output, Result, TextEscaper};
use tempfile::TempPath;

use crate::{
    error::{at_path, cannot_write},
    files::staged_outputs::{Outputs, temporary},
};

/// A file that is being written. It is discarded unless it is [finished](Self::finish).
#[derive(Debug)]
pub struct StagedFile {
    pub(super) outputs: Arc<Outputs>,
    /// `None` while the file is closed because too many files are open.
    pub(super) file: Option<File>,
    /// `None` after the file is finished, and for standard output.
    pub(super) temporary: Option<TempPath>,
    /// The final path.
    pub(super) destination: PathBuf,
    /// The offset of the next write.
    pub(super) position: u64,
    /// Escapes the text, if the file is a terminal.
    pub(super) escaper: Option<TextEscaper>,
}

impl StagedFile {
    /// Returns the offset of the next write. It is the length of the file unless
    /// [`seek`](Seek::seek) was called.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Declares the file complete. It gets its final name together with all other files.
    ///
    /// # Errors
    /// `Io` if the file cannot be closed.
    pub fn finish(mut self) -> Result<()> {
        self.close().map_err(|err| at_path("write", &self.destination, err))?;
        if let Some(temporary) = self.temporary.take() {
            let destination = std::mem::take(&mut self.destination);
            let mut state = self.outputs.state.lock();
            state.unfinished.remove(&*temporary);
            state.finished.push((temporary, destination));
        }
        Ok(())
    }

    fn write_at_position(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.escaper {
            Some(escaper) => {
                let text = escaper.push(bytes);
                self.file()?.write_all(text.as_bytes())?;
            }
            None => self.file()?.write_all(bytes)?,
        }
        self.position += bytes.len() as u64;
        self.close_if_too_many_open()
    }

    /// Returns the file, and opens it again if it was closed.
    fn file(&mut self) -> io::Result<&mut File> {
        let finished_error = || io::Error::other("the file is finished");
        match &mut self.file {
            Some(file) => Ok(file),
            closed_file => {
                let path = self.temporary.as_ref().ok_or_else(finished_error)?;
                let mut file = OpenOptions::new().write(true).open(path)?;
                file.seek(SeekFrom::Start(self.position))?;
                self.outputs.open_files.fetch_add(1, Ordering::Relaxed);
                Ok(closed_file.insert(file))
            }
        }
    }

    /// Closes the file if too many files are open. The next write opens it again.
    pub(super) fn close_if_too_many_open(&mut self) -> io::Result<()> {
        let outputs = &self.outputs;
        let are_too_many_open =
            outputs.open_files.load(Ordering::Relaxed) > outputs.max_open_files;
        if are_too_many_open && !outputs.is_stdout() { self.close() } else { Ok(()) }
    }

    pub(super) fn close(&mut self) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        if let Some(escaper) = &mut self.escaper {
            file.write_all(escaper.finish().as_bytes())?;
        }
        if !self.outputs.is_stdout() {
            self.outputs.open_files.fetch_sub(1, Ordering::Relaxed);
        }
        temporary::close(file)
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_at_position(bytes)
            .map_err(|err| cannot_write(&self.destination, &err))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for StagedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.file().and_then(|file| file.seek(to));
        self.position =
            position.map_err(|err| cannot_write(&self.destination, &err))?;
        Ok(self.position)
    }
}

impl Output for StagedFile {
    fn copy_from_file(&mut self, source: &File, range: Range<u64>) -> io::Result<u64> {
        let copied_bytes = self
            .file()
            .and_then(|file| file.copy_from_file(source, range))
            .map_err(|err| cannot_write(&self.destination, &err))?;
        self.position += copied_bytes;
        self.close_if_too_many_open()
            .map_err(|err| cannot_write(&self.destination, &err))?;
        Ok(copied_bytes)
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // A dropped file is discarded, so an error of writing it does not matter.
        let _ = self.close();
    }
}

/// Returns standard output as a file, which does not buffer lines.
#[cfg(unix)]
pub(super) fn stdout_file() -> io::Result<File> {
    std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned().map(File::from)
}

/// Returns standard output as a file, which does not buffer lines.
#[cfg(windows)]
pub(super) fn stdout_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

/// Fails: standard output is not a file on this system.
#[cfg(not(any(unix, windows)))]
pub(super) fn stdout_file() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
