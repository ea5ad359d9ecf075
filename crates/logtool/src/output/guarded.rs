//! Outputs that a program can remove when it is interrupted.
//!
//! Outputs that are not complete are removed when they are dropped. A program that is ended
//! by a signal drops nothing, so that it has to [remove](LiveOutputs::abandon) them itself.

use std::{
    fs,
    ops::Deref,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use logtool_sinks::{Existing, Outputs, Staged};

use crate::{
    error::{Error, Result},
    input::url,
    remote::upload::Afar,
    session::Session,
};

/// Outputs that are gone when the program is interrupted.
pub struct Guarded {
    outputs: Arc<Outputs>,
    /// Where they go when they are whole, if that is not where they are written.
    afar: Option<Afar>,
    live: Arc<LiveOutputs>,
}

/// The outputs that calls of a session are writing.
#[derive(Debug, Default)]
pub struct LiveOutputs(Mutex<Vec<Live>>);

impl LiveOutputs {
    /// Removes all outputs that are not complete, and then calls `end`, which ends the
    /// program. Until it returns, no output of the session is started or completed.
    pub fn abandon<T>(&self, end: impl FnOnce() -> T) -> T {
        let live = self.lock();
        let _abandoned: Vec<_> =
            live.iter().map(|live| live.outputs.abandon()).collect();
        for dir in live.iter().filter_map(|live| live.staging.as_ref()) {
            // Nothing can be done about a folder that cannot be removed.
            let _ = fs::remove_dir_all(dir);
        }
        end()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Live>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Outputs and a folder to remove.
#[derive(Debug)]
struct Live {
    outputs: Arc<Outputs>,
    staging: Option<PathBuf>,
}

/// One file, standard output: what is written is gone, and nothing is to be removed.
pub fn stdout(session: &Session) -> Guarded {
    Guarded { outputs: Outputs::to_stdout(), afar: None, live: session.outputs.clone() }
}

/// Files in `dir`, as [`Outputs::new`]; it may be a URL.
pub fn outputs(
    dir: impl AsRef<Path>,
    existing: Existing,
    session: &Session,
) -> Result<Guarded> {
    let dir = dir.as_ref();
    let Some(url) = url::of(dir) else {
        return Ok(guard(Outputs::new(dir, existing), session));
    };
    let afar = Afar::new(url, existing, session)?;
    let staging = afar.staging().to_owned();
    let outputs = Outputs::new(&staging, existing);
    Ok(guarded(outputs, Some(afar), Some(staging), session))
}

/// The file `path`, as [`Outputs::one_file`]; it may be a URL.
pub fn one_file(path: &Path, existing: Existing, session: &Session) -> Result<Guarded> {
    single(path, existing, Outputs::one_file, session)
}

/// The log `path`, as [`Outputs::one_synced_file`]; it may be a URL.
pub fn one_log(path: &Path, existing: Existing, session: &Session) -> Result<Guarded> {
    single(path, existing, Outputs::one_synced_file, session)
}

fn single(
    path: &Path,
    existing: Existing,
    outputs: fn(PathBuf, Existing) -> Arc<Outputs>,
    session: &Session,
) -> Result<Guarded> {
    let Some(name) = path.file_name() else {
        let what = format!("{} cannot be the name of a file", path.display());
        return Err(Error::invalid(what));
    };
    let parent = url::parent(path);
    let Some(url) = url::of(parent) else {
        return Ok(guard(outputs(parent.join(name), existing), session));
    };
    let afar = Afar::new(url, existing, session)?;
    afar.check(&name.to_string_lossy())?;
    let staging = afar.staging().to_owned();
    let outputs = outputs(staging.join(name), existing);
    Ok(guarded(outputs, Some(afar), Some(staging), session))
}

/// `outputs`, guarded.
pub fn guard(outputs: Arc<Outputs>, session: &Session) -> Guarded {
    guarded(outputs, None, None, session)
}

/// The same, with the folder `staging`, which goes with all that is in it.
pub fn guard_in(outputs: Arc<Outputs>, staging: &Path, session: &Session) -> Guarded {
    guarded(outputs, None, Some(staging.to_owned()), session)
}

/// The same, of outputs that go afar.
fn guarded(
    outputs: Arc<Outputs>,
    afar: Option<Afar>,
    staging: Option<PathBuf>,
    session: &Session,
) -> Guarded {
    let live = session.outputs.clone();
    live.lock().push(Live { outputs: outputs.clone(), staging });
    Guarded { outputs, afar, live }
}

impl Guarded {
    /// Begins the file called `name`, as [`Outputs::create`].
    pub fn create(&self, name: &str) -> Result<Staged> {
        if let Some(afar) = &self.afar {
            afar.check(name)?;
        }
        Ok(self.outputs.create(name)?)
    }

    /// Gives all files their names, as [`Outputs::commit`], and sends them to where they
    /// are to be; says where they were written, and how many bytes each has.
    pub fn commit(&self) -> Result<Vec<(PathBuf, u64)>> {
        let files = self.outputs.commit()?;
        let len = |path: &PathBuf| fs::metadata(path).map_or(0, |about| about.len());
        let lens: Vec<u64> = files.iter().map(len).collect();
        if let Some(afar) = &self.afar {
            afar.send(&files)?;
        }
        Ok(files.into_iter().zip(lens).collect())
    }
}

impl Deref for Guarded {
    type Target = Arc<Outputs>;

    fn deref(&self) -> &Arc<Outputs> {
        &self.outputs
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Under the lock, so that the program does not end while files are being removed.
        self.live.lock().retain(|live| !Arc::ptr_eq(&live.outputs, &self.outputs));
    }
}
