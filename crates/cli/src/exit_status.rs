//! The outcome of a command, and its exit status.

/// The outcome of a command that did not end with an error, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Everything was done.
    Done,
    /// Everything was done, but some of the input could not be read.
    DataLost,
    /// One of several inputs failed, and its error was printed.
    Failed,
}

impl Outcome {
    /// Returns the exit status of the program.
    pub(crate) fn status(self) -> i32 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::DataLost => 3,
        }
    }
}
