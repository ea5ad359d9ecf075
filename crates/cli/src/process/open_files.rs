//! The limit of open files.

/// Raises the limit of open files to the maximum that the system allows. The default is lower,
/// mostly 1,024, for programs that use `select`, but each log of a merge stays open.
#[cfg(unix)]
pub(crate) fn allow_many() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let limit = Resource::RLIMIT_NOFILE;
    // If that is not allowed, the limit stays, and opening too many files is an error.
    let _ =
        getrlimit(limit).and_then(|(_, maximum)| setrlimit(limit, maximum, maximum));
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub(crate) fn allow_many() {}
