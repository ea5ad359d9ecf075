//! Temporary files.

use std::{
    env,
    fs::File,
    io::{self, Seek as _, Write},
};

use crate::error::describe_io_error;

/// A temporary file, which has no name and is deleted with the program. It is in the folder that
/// `TMPDIR` names, which errors state: users do not know this file.
#[derive(Debug)]
pub struct TemporaryFile(File);

impl TemporaryFile {
    /// Creates an empty file.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new() -> io::Result<Self> {
        tempfile::tempfile().map(Self).map_err(|err| at_folder("create", &err))
    }

    /// Removes all contents.
    ///
    /// # Errors
    /// Those of the system.
    pub fn clear(&mut self) -> io::Result<()> {
        let cleared = self.0.set_len(0).and_then(|()| self.0.rewind());
        cleared.map_err(|err| at_folder("write", &err))
    }

    /// Returns the file, for reading it from its start.
    ///
    /// # Errors
    /// Those of the system.
    pub fn into_file(mut self) -> io::Result<File> {
        self.0.rewind().map_err(|err| at_folder("read", &err))?;
        Ok(self.0)
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|err| at_folder("write", &err))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the error `err` of an `action`, with a message that names the folder.
fn at_folder(action: &str, err: &io::Error) -> io::Error {
    let folder = env::temp_dir();
    let (folder, reason) = (folder.display(), describe_io_error(err));
    let message =
        format!("cannot {action} a temporary file in {folder} (TMPDIR): {reason}");
    io::Error::new(err.kind(), message)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn file_is_read_from_its_start_and_has_what_was_written_last() {
        let mut file = TemporaryFile::new().unwrap();
        file.write_all(b"first").unwrap();
        file.clear().unwrap();
        file.write_all(b"last").unwrap();
        let mut text = String::new();
        file.into_file().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "last");
    }

    #[test]
    fn errors_name_the_folder_and_the_reason() {
        let err = at_folder("write", &io::ErrorKind::StorageFull.into());
        assert_eq!(err.kind(), io::ErrorKind::StorageFull);
        let text = err.to_string();
        assert!(text.starts_with("cannot write a temporary file in /"), "{text}");
        assert!(text.ends_with("(TMPDIR): no space left on the disk"), "{text}");
    }
}
