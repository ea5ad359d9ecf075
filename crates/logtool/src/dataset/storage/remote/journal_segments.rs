//! The journal of one run in an object store.
//!
//! Objects cannot grow. So the last object of a run is replaced with each new line, until it is
//! long enough, and then another one is started: the stored journal is complete at any time.
//! Lines that come while an upload is in progress are uploaded together.

use std::{
    hash::{BuildHasher as _, RandomState},
    mem,
    sync::Arc,
};

use logtool_remote::WriteCondition;
use parking_lot::{Mutex, MutexGuard};

use crate::{
    dataset::{markers::STATE, shard::Shard},
    error::{Error, Result},
    source::remote::UploadFolder,
};

/// An object of this length gets no more lines. Longer objects would take longer to replace;
/// shorter ones would be more to download at the start of the next run.
const SEGMENT_BYTES: usize = 64 << 10;

/// The journal of one run.
pub(super) struct JournalSegments {
    folder: Arc<UploadFolder>,
    /// The start of the names of the objects.
    stem: String,
    pending: Mutex<PendingLines>,
    last: Mutex<Segment>,
}

/// The lines that are not uploaded yet.
#[derive(Default)]
struct PendingLines {
    lines: Vec<u8>,
    /// The number of lines that were appended.
    appended: u64,
    /// The number of these that are stored.
    stored: u64,
    /// Why nothing more can be stored.
    failure: Option<String>,
}

/// The object that is replaced with each upload.
#[derive(Default)]
struct Segment {
    number: u64,
    content: Vec<u8>,
}

impl JournalSegments {
    /// Creates an empty journal of the run with the number `run`, in the dataset `folder`.
    pub(super) fn new(
        folder: Arc<UploadFolder>,
        run: u64,
        shard: Option<Shard>,
    ) -> Self {
        let shard = shard.map_or("all".to_owned(), |shard| shard.to_string());
        let id = RandomState::new().hash_one(run);
        let stem = format!("{STATE}/journal/{run:08}-{shard}-{id:016x}");
        Self { folder, stem, pending: Mutex::default(), last: Mutex::default() }
    }

    /// Appends `line`, and returns when it is stored.
    pub(super) fn append(&self, line: &[u8]) -> Result<()> {
        let number = {
            let mut pending = self.pending_lines();
            pending.check()?;
            pending.lines.extend_from_slice(line);
            pending.appended += 1;
            pending.appended
        };
        // Waits while another thread uploads, perhaps this line too.
        let mut last = self.last.lock();
        let (lines, appended) = {
            let mut pending = self.pending_lines();
            if pending.stored >= number {
                return Ok(());
            }
            pending.check()?;
            (mem::take(&mut pending.lines), pending.appended)
        };
        if last.content.len() >= SEGMENT_BYTES {
            *last = Segment { number: last.number + 1, content: Vec::new() };
        }
        last.content.extend_from_slice(&lines);
        let name = format!("{}-{:06}.jsonl", self.stem, last.number);
        let content = last.content.clone().into();
        self.record_failure(self.folder.put(&name, &content, &WriteCondition::Always))?;
        self.pending_lines().stored = appended;
        Ok(())
    }

    /// Returns `result`. If it is an error, nothing more can be appended.
    pub(super) fn record_failure<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(err) = &result {
            let message = err.to_string();
            self.pending_lines().failure.get_or_insert(message);
        }
        result
    }

    /// Returns an error if nothing more can be appended.
    pub(super) fn check(&self) -> Result<()> {
        self.pending_lines().check()
    }

    fn pending_lines(&self) -> MutexGuard<'_, PendingLines> {
        self.pending.lock()
    }
}

impl PendingLines {
    fn check(&self) -> Result<()> {
        match &self.failure {
            None => Ok(()),
            Some(failure) => {
                let message =
                    format!("nothing more can be written to the dataset: {failure}");
                Err(Error::other(message))
            }
        }
    }
}
