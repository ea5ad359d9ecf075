//! How many files may be open at a time.

/// Lets as many be open as the system allows: it begins with fewer, mostly 1,024, for programs that
/// use `select`, and each log of a merge is open to its end.
#[cfg(unix)]
pub(crate) fn allow_many() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it is not allowed, there are as many as before, and an error tells if more are needed.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Elsewhere there is no such limit.
#[cfg(not(unix))]
pub(crate) fn allow_many() {}
