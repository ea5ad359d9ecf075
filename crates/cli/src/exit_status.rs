//! How a command ended, if it did not fail.

use std::process::ExitCode;

/// How a command ended, if it did not fail; the later, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// All of it was done.
    Done,
    /// All was done that could be, and some of the input could not be read.
    DataLost,
    /// Several inputs were to be done, and this one failed; it was told.
    Failed,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Failed => Self::FAILURE,
            Outcome::DataLost => Self::from(3),
        }
    }
}
