//! Telling what new log was made.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use logtool::units::{Bytes, Span, counted};

use crate::{args::GlobalArgs, terminal::say};

/// A new log, as it is told of.
pub(crate) struct Made {
    path: PathBuf,
    start: Instant,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    /// What people should know: a sentence each.
    pub(crate) remarks: Vec<String>,
}

impl Made {
    /// The log at `path`, begun at `start`.
    pub(crate) fn new(path: &Path, start: Instant) -> Self {
        let path = path.to_owned();
        Self { path, start, records: 0, bytes: 0, remarks: Vec::new() }
    }

    /// Tells that it was made of what is called `from`, `read` bytes.
    pub(crate) fn tell(&self, from: &str, read: u64, global: &GlobalArgs) {
        if global.quiet {
            return;
        }
        let took = self.start.elapsed();
        let speed = read as f64 / 1e6 / took.as_secs_f64().max(1e-6);
        say!(
            "{from} → {}: {}, {} in {} ({speed:.0} MB/s)",
            self.path.display(),
            counted(self.records, "record"),
            Bytes(self.bytes),
            Span(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
        );
        if self.records == 0 {
            say!("  no records are selected, or there are none");
        }
        self.remarks.iter().for_each(|remark| say!("  {remark}"));
    }
}
