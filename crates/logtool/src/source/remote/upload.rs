//! Outputs in an object store: written locally, and uploaded when they are complete.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use logtool_sinks::ExistingFiles;
use tempfile::TempDir;

use crate::{
    error::{Context as _, Error, ErrorKind, Result},
    source::{
        remote::{self, UploadFolder},
        session::Session,
    },
};

/// A folder in an object store, and a local folder in which its files are written. Formats have
/// tables and lengths at their start that are only known at the end.
pub struct RemoteOutput {
    folder: UploadFolder,
    existing: ExistingFiles,
    staging: TempDir,
}

/// Creates a local folder for files that are to be uploaded.
pub fn temporary_folder() -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("logtool-").tempdir();
    folder.map_err(|err| {
        let message = format!("cannot create a temporary folder: {err}");
        let hint = "set TMPDIR to a writable folder";
        Error::other(message).with_hint(hint)
    })
}

impl RemoteOutput {
    /// Creates the outputs for the folder `url`.
    pub fn new(url: &str, existing: ExistingFiles, session: &Session) -> Result<Self> {
        let folder = remote::folder(url, session)?;
        Ok(Self { folder, existing, staging: temporary_folder()? })
    }

    /// Returns the local folder in which files are written.
    pub fn staging_folder(&self) -> &Path {
        self.staging.path()
    }

    /// Rejects the file `name` if it exists and must not be replaced.
    pub fn check(&self, name: &str) -> Result<()> {
        if self.existing == ExistingFiles::Refuse && self.folder.contains(name)? {
            let message = format!("{} exists already", self.folder.name(name));
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        Ok(())
    }

    /// Uploads `files`, which are complete. If one of them cannot be uploaded, those that
    /// replaced no other file are deleted.
    pub fn send(&self, files: &[PathBuf]) -> Result<()> {
        let names = files.iter().map(|file| self.name(file));
        let names: Vec<String> = names.collect::<Result<_>>()?;
        names.iter().try_for_each(|name| self.check(name))?;
        for (count, (name, file)) in names.iter().zip(files).enumerate() {
            let result = File::open(file).map_err(Error::from);
            let result = result
                .and_then(|mut file| self.folder.send(name, &mut file, self.existing));
            if let Err(err) = result {
                if self.existing == ExistingFiles::Refuse {
                    let uploaded = names.iter().take(count);
                    uploaded.for_each(|name| drop(self.folder.remove(name)));
                }
                return Err(err.context(self.folder.name(name)));
            }
        }
        Ok(())
    }

    /// Returns the name of `file` in the folder.
    fn name(&self, file: &Path) -> Result<String> {
        let name = file.strip_prefix(self.staging_folder())?;
        let name =
            name.to_str().ok_or_else(|| Error::other("its name is not valid UTF-8"));
        let name = name.with_context(|| file.display().to_string())?;
        Ok(name.replace(std::path::MAIN_SEPARATOR, "/"))
    }
}
