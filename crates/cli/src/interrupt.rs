//! Ctrl-C: what is half written goes.
//!
//! Outputs are removed when they are dropped, which a program that is ended from outside
//! never comes to. So from the first output on, interruption is a function of ours: it
//! removes what is not whole, and ends the program.

use std::{
    ops::Deref,
    path::Path,
    process,
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError},
};

use logtool_sinks::{Existing, Outputs};

#[cfg(unix)]
use crate::complaint;

/// How a program ends that was interrupted: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// How it ends when it could not do what was asked.
#[cfg(unix)]
const FAILED: i32 = 1;

/// The outputs that are under way.
static LIVE: Mutex<Vec<Arc<Outputs>>> = Mutex::new(Vec::new());

/// Outputs that are gone when the program is interrupted.
pub(crate) struct Guarded(Arc<Outputs>);

/// One file, standard output: what is written is gone, and nothing is to be removed.
pub(crate) fn stdout() -> Guarded {
    Guarded(Outputs::to_stdout())
}

/// Files in `dir`, as [`Outputs::new`].
pub(crate) fn outputs(dir: impl AsRef<Path>, existing: Existing) -> Guarded {
    guard(Outputs::new(dir.as_ref(), existing))
}

/// `outputs`, guarded.
pub(crate) fn guard(outputs: Arc<Outputs>) -> Guarded {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // Where there is none, an interrupted program leaves its temporary files.
        let _ = ctrlc::set_handler(interrupted);
    });
    live().push(outputs.clone());
    Guarded(outputs)
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
    let _abandoned: Vec<_> = live.iter().map(|outputs| outputs.abandon()).collect();
    process::exit(status());
}

fn live() -> MutexGuard<'static, Vec<Arc<Outputs>>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Deref for Guarded {
    type Target = Arc<Outputs>;

    fn deref(&self) -> &Arc<Outputs> {
        &self.0
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Under the lock: nobody ends the program while files are being removed.
        live().retain(|outputs| !Arc::ptr_eq(outputs, &self.0));
    }
}
