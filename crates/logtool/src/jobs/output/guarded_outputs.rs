//! Outputs that are removed if they are not completed, also when the program is interrupted.

use std::{
    fs,
    io::{self, IsTerminal as _},
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
};

use logtool_sinks::{ExistingFiles, Outputs, StagedFile};

use crate::{
    error::{Error, Result},
    source::{
        input::url, remote::upload::RemoteOutput, session::Session,
        session::live_outputs::LiveOutputs,
    },
};

/// Outputs that can be removed when the program is interrupted.
pub struct GuardedOutputs {
    outputs: Arc<Outputs>,
    /// The folder that they are uploaded to when they are complete.
    remote: Option<RemoteOutput>,
    live: Arc<LiveOutputs>,
}

/// Creates the output on standard output, which is of the format `name`. It is not removed when the
/// program is interrupted.
///
/// # Errors
/// `InvalidRequest` if standard output is a terminal, and the format is not text.
pub fn for_stdout(
    name: &str,
    is_text: bool,
    session: &Session,
) -> Result<GuardedOutputs> {
    if !is_text && io::stdout().is_terminal() {
        let message = format!("{name} is not text for a terminal");
        let hint = "name a file with -o, or write to a pipe";
        return Err(Error::invalid_request(message).with_hint(hint));
    }
    let outputs = Outputs::for_stdout();
    Ok(GuardedOutputs { outputs, remote: None, live: session.outputs.clone() })
}

/// Creates outputs in `dir`, which may be a URL, like [`Outputs::new`].
pub fn for_folder(
    dir: impl AsRef<Path>,
    existing: ExistingFiles,
    session: &Session,
) -> Result<GuardedOutputs> {
    let dir = dir.as_ref();
    let Some(url) = url::from_path(dir) else {
        return Ok(guard(Outputs::new(dir, existing), session));
    };
    let remote = RemoteOutput::new(url, existing, session)?;
    let staging = remote.staging_folder().to_owned();
    let outputs = Outputs::new(&staging, existing);
    Ok(guard_uploads(outputs, Some(remote), Some(staging), session))
}

/// Creates the output file `path`, which may be a URL, like [`Outputs::for_file`].
pub fn for_file(
    path: &Path,
    existing: ExistingFiles,
    session: &Session,
) -> Result<GuardedOutputs> {
    single(path, existing, Outputs::for_file, session)
}

/// Creates the output log `path`, which may be a URL, like [`Outputs::for_synced_file`].
pub fn for_log(
    path: &Path,
    existing: ExistingFiles,
    session: &Session,
) -> Result<GuardedOutputs> {
    single(path, existing, Outputs::for_synced_file, session)
}

fn single(
    path: &Path,
    existing: ExistingFiles,
    outputs: fn(PathBuf, ExistingFiles) -> Arc<Outputs>,
    session: &Session,
) -> Result<GuardedOutputs> {
    let Some(name) = path.file_name() else {
        let message = format!("{} cannot be the name of a file", path.display());
        return Err(Error::invalid_request(message));
    };
    let parent = url::parent(path);
    let Some(url) = url::from_path(parent) else {
        return Ok(guard(outputs(parent.join(name), existing), session));
    };
    let remote = RemoteOutput::new(url, existing, session)?;
    remote.check(&name.to_string_lossy())?;
    let staging = remote.staging_folder().to_owned();
    let outputs = outputs(staging.join(name), existing);
    Ok(guard_uploads(outputs, Some(remote), Some(staging), session))
}

/// Registers `outputs` to be removed when the program is interrupted.
pub fn guard(outputs: Arc<Outputs>, session: &Session) -> GuardedOutputs {
    guard_uploads(outputs, None, None, session)
}

/// Registers `outputs` like [`guard`], and also the folder `staging` with its contents.
pub fn guard_with_staging(
    outputs: Arc<Outputs>,
    staging: &Path,
    session: &Session,
) -> GuardedOutputs {
    guard_uploads(outputs, None, Some(staging.to_owned()), session)
}

/// Like [`guard_with_staging`], for outputs that are uploaded.
fn guard_uploads(
    outputs: Arc<Outputs>,
    remote: Option<RemoteOutput>,
    staging: Option<PathBuf>,
    session: &Session,
) -> GuardedOutputs {
    let live = session.outputs.clone();
    live.add(outputs.clone(), staging);
    GuardedOutputs { outputs, remote, live }
}

impl GuardedOutputs {
    /// Creates the file `name`, like [`Outputs::create`].
    pub fn create(&self, name: &str) -> Result<StagedFile> {
        if let Some(remote) = &self.remote {
            remote.check(name)?;
        }
        Ok(self.outputs.create(name)?)
    }

    /// Completes all files, like [`Outputs::commit`], and uploads them. Returns the path and
    /// the size in bytes of each file.
    pub fn commit(&self) -> Result<Vec<(PathBuf, u64)>> {
        let files = self.outputs.commit()?;
        let len =
            |path: &PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let lens: Vec<u64> = files.iter().map(len).collect();
        if let Some(remote) = &self.remote {
            remote.send(&files)?;
        }
        Ok(files.into_iter().zip(lens).collect())
    }
}

impl Deref for GuardedOutputs {
    type Target = Arc<Outputs>;

    fn deref(&self) -> &Arc<Outputs> {
        &self.outputs
    }
}

impl Drop for GuardedOutputs {
    fn drop(&mut self) {
        self.live.remove(&self.outputs);
    }
}
