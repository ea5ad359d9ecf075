//! Outputs in an object store: written here, and sent there when they are whole.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use logtool_sinks::Existing;
use tempfile::TempDir;

use crate::{
    error::{Context as _, Error, Result},
    remote::{self, Folder},
    session::Session,
};

/// A folder in an object store, and one of this machine where its files are written:
/// formats have tables and lengths at their start that are known at the end.
pub struct Afar {
    folder: Folder,
    existing: Existing,
    staging: TempDir,
}

/// A folder of this machine for what is to go far away.
pub fn temporary() -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix("logtool-").tempdir();
    made.map_err(|err| {
        let what = format!("no temporary folder can be made: {err}");
        let hint = "TMPDIR names a folder that may be written to";
        Error::failed(what).with_hint(hint)
    })
}

impl Afar {
    /// The folder `url`.
    pub fn new(url: &str, existing: Existing, session: &Session) -> Result<Self> {
        let folder = remote::folder(url, session)?;
        Ok(Self { folder, existing, staging: temporary()? })
    }

    /// Where files are written.
    pub fn staging(&self) -> &Path {
        self.staging.path()
    }

    /// Refuses a file called `name`, if there is one that is to stay.
    pub fn check(&self, name: &str) -> Result<()> {
        if self.existing == Existing::Refuse && self.folder.has(name)? {
            let what = format!("{} exists already", self.folder.name(name));
            return Err(Error::failed(what).with_hint("--force replaces it"));
        }
        Ok(())
    }

    /// Sends `files`, which are written. If one of them cannot be sent, those that
    /// replaced nothing are taken back.
    pub fn send(&self, files: &[PathBuf]) -> Result<()> {
        let names = files.iter().map(|file| self.name(file));
        let names: Vec<String> = names.collect::<Result<_>>()?;
        names.iter().try_for_each(|name| self.check(name))?;
        for (count, (name, file)) in names.iter().zip(files).enumerate() {
            let sent = File::open(file).map_err(Error::from);
            let sent = sent
                .and_then(|mut file| self.folder.send(name, &mut file, self.existing));
            if let Err(err) = sent {
                if self.existing == Existing::Refuse {
                    let sent = names.iter().take(count);
                    sent.for_each(|name| drop(self.folder.remove(name)));
                }
                return Err(err.context(self.folder.name(name)));
            }
        }
        Ok(())
    }

    /// What `file` is called there.
    fn name(&self, file: &Path) -> Result<String> {
        let name = file.strip_prefix(self.staging())?;
        let name = name.to_str().ok_or_else(|| Error::failed("its name is not text"));
        let name = name.with_context(|| file.display().to_string())?;
        Ok(name.replace(std::path::MAIN_SEPARATOR, "/"))
    }
}
