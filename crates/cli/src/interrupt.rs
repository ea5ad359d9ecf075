//! Ctrl-C: what is half written goes.
//!
//! Outputs are removed when they are dropped, which a program that is ended from outside
//! never comes to. So from the first output on, interruption is a function of ours: it
//! removes what is not whole, and ends the program.

use std::{
    fs,
    ops::Deref,
    path::{Path, PathBuf},
    process,
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError},
};

use anyhow::Result;
use logtool_sinks::{Existing, Outputs, Staged};

#[cfg(unix)]
use crate::complaint;
use crate::{afar::Afar, complaint::Complaint, url};

/// How a program ends that was interrupted: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// How it ends when it could not do what was asked.
#[cfg(unix)]
const FAILED: i32 = 1;

/// The outputs that are under way.
static LIVE: Mutex<Vec<Live>> = Mutex::new(Vec::new());

/// Outputs that are gone when the program is interrupted.
pub(crate) struct Guarded {
    outputs: Arc<Outputs>,
    /// Where they go when they are whole, if that is not where they are written.
    afar: Option<Afar>,
}

/// What is to be removed.
struct Live {
    outputs: Arc<Outputs>,
    staging: Option<PathBuf>,
}

/// One file, standard output: what is written is gone, and nothing is to be removed.
pub(crate) fn stdout() -> Guarded {
    Guarded { outputs: Outputs::to_stdout(), afar: None }
}

/// Files in `dir`, as [`Outputs::new`]; it may be a URL.
pub(crate) fn outputs(dir: impl AsRef<Path>, existing: Existing) -> Result<Guarded> {
    let dir = dir.as_ref();
    let Some(url) = url::of(dir) else { return Ok(guard(Outputs::new(dir, existing))) };
    let afar = Afar::new(url, existing)?;
    let staging = afar.staging().to_owned();
    let outputs = Outputs::new(&staging, existing);
    Ok(guarded(outputs, Some(afar), Some(staging)))
}

/// The file `path`, as [`Outputs::one_file`]; it may be a URL.
pub(crate) fn one_file(path: &Path, existing: Existing) -> Result<Guarded> {
    single(path, existing, Outputs::one_file)
}

/// The log `path`, as [`Outputs::one_synced_file`]; it may be a URL.
pub(crate) fn one_log(path: &Path, existing: Existing) -> Result<Guarded> {
    single(path, existing, Outputs::one_synced_file)
}

fn single(
    path: &Path,
    existing: Existing,
    outputs: fn(PathBuf, Existing) -> Arc<Outputs>,
) -> Result<Guarded> {
    let Some(name) = path.file_name() else {
        let what = format!("{} cannot be the name of a file", path.display());
        return Err(Complaint::misuse(what).into());
    };
    let parent = url::parent(path);
    let Some(url) = url::of(parent) else {
        return Ok(guard(outputs(parent.join(name), existing)));
    };
    let afar = Afar::new(url, existing)?;
    afar.check(&name.to_string_lossy())?;
    let staging = afar.staging().to_owned();
    let outputs = outputs(staging.join(name), existing);
    Ok(guarded(outputs, Some(afar), Some(staging)))
}

/// `outputs`, guarded.
pub(crate) fn guard(outputs: Arc<Outputs>) -> Guarded {
    guarded(outputs, None, None)
}

/// The same, with the folder `staging`, which goes with all that is in it.
#[cfg(feature = "cloud")]
pub(crate) fn guard_in(outputs: Arc<Outputs>, staging: &Path) -> Guarded {
    guarded(outputs, None, Some(staging.to_owned()))
}

/// The same, of outputs that go afar.
fn guarded(
    outputs: Arc<Outputs>,
    afar: Option<Afar>,
    staging: Option<PathBuf>,
) -> Guarded {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // Where there is none, an interrupted program leaves its temporary files.
        let _ = ctrlc::set_handler(interrupted);
    });
    live().push(Live { outputs: outputs.clone(), staging });
    Guarded { outputs, afar }
}

impl Guarded {
    /// Begins the file called `name`, as [`Outputs::create`].
    pub(crate) fn create(&self, name: &str) -> Result<Staged> {
        if let Some(afar) = &self.afar {
            afar.check(name)?;
        }
        Ok(self.outputs.create(name)?)
    }

    /// Gives all files their names, as [`Outputs::commit`], and sends them to where they
    /// are to be; says where they were written, and how many bytes each has.
    pub(crate) fn commit(&self) -> Result<Vec<(PathBuf, u64)>> {
        let files = self.outputs.commit()?;
        let len = |path: &PathBuf| fs::metadata(path).map_or(0, |about| about.len());
        let lens: Vec<u64> = files.iter().map(len).collect();
        if let Some(afar) = &self.afar {
            afar.send(&files)?;
        }
        Ok(files.into_iter().zip(lens).collect())
    }
}

/// Tells `why` the program cannot go on, and ends it as if it were interrupted.
#[cfg(unix)]
pub(crate) fn end(why: &anyhow::Error) -> ! {
    leave(|| {
        complaint::print(why);
        FAILED
    })
}

fn interrupted() {
    leave(|| INTERRUPTED)
}

/// Removes what is not whole, and ends the program with `status`. The locks are held to the
/// end, so that nothing new is begun.
fn leave(status: impl FnOnce() -> i32) -> ! {
    let live = live();
    let _abandoned: Vec<_> = live.iter().map(|live| live.outputs.abandon()).collect();
    for dir in live.iter().filter_map(|live| live.staging.as_ref()) {
        let _ = fs::remove_dir_all(dir);
    }
    process::exit(status());
}

fn live() -> MutexGuard<'static, Vec<Live>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Deref for Guarded {
    type Target = Arc<Outputs>;

    fn deref(&self) -> &Arc<Outputs> {
        &self.outputs
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Under the lock: nobody ends the program while files are being removed.
        live().retain(|live| !Arc::ptr_eq(&live.outputs, &self.outputs));
    }
}
