//! Splits: pieces of tables that other processes and machines read independently.
//!
//! A planner opens each log once. A [`Split`] contains what a worker needs to start in the
//! middle of the log, so no worker reads a log from its start.

mod known_damage;
mod log_planner;
mod messages;
mod plan;
mod read_request;
mod state;
mod version;

use logtool_core::{TimeRange, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Context as _, Error, ErrorKind, Result},
    records::log::{Batches, Table},
    source::{input::Input, session::Session},
    split::{state::SplitState, version::FileVersion},
};

pub use self::{
    plan::{DEFAULT_TARGET_BYTES, Plan, PlanRequest},
    read_request::{ReadReport, ReadRequest},
};

/// The version of the content of splits. It changes if older programs cannot read them.
const VERSION: u32 = 2;

/// A piece of the table of one topic of one log, as plain data.
///
/// It can be sent to other processes and machines in any self-describing format of serde, such as
/// JSON. It takes a few kilobytes, whatever the size of the log. It does not
/// contain the key of an encrypted log: the session that reads it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    version: u32,
    path: String,
    file: FileVersion,
    format: String,
    topic: String,
    bytes: u64,
    records: Option<u64>,
    /// The first time and the time after the last one, in nanoseconds.
    time: Option<(i64, i64)>,
    /// The [`SplitState`], encoded.
    state: String,
}

/// Starts to read the rows of `split` with the default settings: [`Split::read`] with a new
/// session.
///
/// # Errors
/// As [`Split::table`].
pub fn read(split: &Split) -> Result<Batches> {
    split.read(&Session::new())
}

impl Split {
    /// Returns the path or the URL of the log.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the name of the format of the log, e.g. `ulog`.
    pub fn format(&self) -> &str {
        &self.format
    }

    /// Returns the label of the topic, e.g. `sensor_gps.1`.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Returns the number of bytes of the log that are read, in a log that is compressed as a
    /// whole those of the decompressed log. They may contain other topics too.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns an estimate of the number of records, if the log states how many its topic
    /// has. A record may have several rows, e.g. the points of a lidar.
    pub fn records(&self) -> Option<u64> {
        self.records
    }

    /// Returns the times that the records can have, on the clock of the log, if they are
    /// known.
    pub fn time(&self) -> Option<TimeRange> {
        self.time.map(|(start, end)| TimeRange {
            start: Timestamp::from_nanos(start),
            end: Timestamp::from_nanos(end),
        })
    }

    /// Returns the table with the rows of the split. Only the head of the file is read.
    ///
    /// The session must have the settings of the one that planned, e.g. the same key.
    ///
    /// # Errors
    /// `InvalidRequest` if the split is not valid, or the file has changed since it was
    /// planned; others if the file cannot be read.
    pub fn table(&self, session: &Session) -> Result<Table> {
        let table = || {
            if self.version != VERSION {
                let message = "the split is of another version of logtool";
                return Err(Error::new(ErrorKind::InvalidRequest, message));
            }
            let state = SplitState::decode(&self.state)?;
            self.file.check(&self.path, session)?;
            let input = Input::open(self.path.as_ref(), session)?;
            self.file.check_bytes(input.origin.len())?;
            state.check(input.source.len())?;
            let log = state.open(&input, session)?;
            state.table(input, log)
        };
        table().with_context(|| format!("a split of {}", self.path))
    }

    /// Starts to read the rows of the split, with several threads.
    ///
    /// # Errors
    /// As [`table`](Self::table).
    pub fn read(&self, session: &Session) -> Result<Batches> {
        self.table(session)?.batches()
    }
}
