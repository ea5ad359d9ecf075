//! Outputs in an object store: written here, and sent there when they are whole.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
use logtool_sinks::Existing;
use tempfile::TempDir;

use crate::{
    complaint::Complaint,
    remote::{self, Folder},
};

/// A folder in an object store, and one of this machine where its files are written:
/// formats have tables and lengths at their start that are known at the end.
pub(crate) struct Afar {
    folder: Folder,
    existing: Existing,
    staging: TempDir,
}

/// A folder of this machine for what is to go far away.
pub(crate) fn temporary() -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix("logtool-").tempdir();
    made.map_err(|err| {
        let what = format!("no temporary folder can be made: {err}");
        let hint = "TMPDIR names a folder that may be written to";
        Complaint::new(what).hint(hint).into()
    })
}

impl Afar {
    /// The folder `url`.
    pub(crate) fn new(url: &str, existing: Existing) -> Result<Self> {
        let folder = remote::folder(url)?;
        Ok(Self { folder, existing, staging: temporary()? })
    }

    /// Where files are written.
    pub(crate) fn staging(&self) -> &Path {
        self.staging.path()
    }

    /// Refuses a file called `name`, if there is one that is to stay.
    pub(crate) fn check(&self, name: &str) -> Result<()> {
        if self.existing == Existing::Refuse && self.folder.has(name)? {
            let what = format!("{} exists already", self.folder.name(name));
            return Err(Complaint::new(what).hint("--force replaces it").into());
        }
        Ok(())
    }

    /// Sends `files`, which are written. If one of them cannot be sent, those that
    /// replaced nothing are taken back.
    pub(crate) fn send(&self, files: &[PathBuf]) -> Result<()> {
        let names = files.iter().map(|file| self.name(file));
        let names: Vec<String> = names.collect::<Result<_>>()?;
        names.iter().try_for_each(|name| self.check(name))?;
        for (count, (name, file)) in names.iter().zip(files).enumerate() {
            let sent = File::open(file).map_err(Into::into);
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
        let name = name.to_str().ok_or_else(|| anyhow!("its name is no text"));
        let name = name.with_context(|| file.display().to_string())?;
        Ok(name.replace(std::path::MAIN_SEPARATOR, "/"))
    }
}
