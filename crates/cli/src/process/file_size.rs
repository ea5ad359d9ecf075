//! The limit of the size of files.

/// Makes a write beyond the limit of the size of files (`ulimit -f`) an error, which is reported
/// like that of a full disk. Otherwise the signal SIGXFSZ ends the program, and temporary files
/// stay.
///
/// The signal is blocked, and threads that start later inherit that.
#[cfg(unix)]
pub(crate) fn report_limit() {
    use nix::sys::signal::{SigSet, Signal};
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // Blocking a signal that exists cannot fail.
    let _ = signals.thread_block();
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub(crate) fn report_limit() {}
