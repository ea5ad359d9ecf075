//! Ctrl-C and other ends from outside: outputs that are not complete are removed.

use std::{process, sync::OnceLock};

use logtool::{Session, Stop};

use crate::terminal::pager;

#[cfg(unix)]
use logtool::Error;

#[cfg(unix)]
use crate::error;

/// The exit status of a program that was interrupted: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// The exit status of a command that failed.
#[cfg(unix)]
const FAILED: i32 = 1;

/// The session whose outputs are removed.
static SESSION: OnceLock<Session> = OnceLock::new();

/// The signal of a command that ends by itself when it is interrupted.
static STOP: OnceLock<Stop> = OnceLock::new();

/// Returns a signal that is set when the program is interrupted for the first time. The command
/// then completes its work, and only a second interruption ends the program.
pub(crate) fn stop_signal() -> Stop {
    STOP.get_or_init(Stop::new).clone()
}

/// Removes the outputs of `session` when the program is interrupted.
pub(crate) fn guard(session: &Session) {
    if SESSION.set(session.clone()).is_ok() {
        // Without a handler, an interrupted program leaves its temporary files.
        let _ = ctrlc::set_handler(|| {
            if let Some(stop) = STOP.get()
                && !stop.is_set()
            {
                stop.set();
                return;
            }
            // Pagers have their own use for Ctrl-C. When they end, writing to them fails.
            if !pager::is_running() {
                leave(|| INTERRUPTED);
            }
        });
    }
}

/// Prints why the program cannot continue, and ends it as if it were interrupted.
#[cfg(unix)]
pub(crate) fn end(why: &Error) -> ! {
    leave(|| {
        error::print(why);
        FAILED
    })
}

/// Removes unfinished outputs, and ends the program with `status`. The outputs stay locked until
/// then, so that no new one is started.
fn leave(status: impl FnOnce() -> i32) -> ! {
    let status = || {
        let status = status();
        pager::finish();
        status
    };
    match SESSION.get() {
        Some(session) => session.live_outputs().abandon(|| process::exit(status())),
        None => process::exit(status()),
    }
}
