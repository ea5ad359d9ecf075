//! Notes of one run, as objects.
//!
//! Nothing can be added to an object. So the last one of a run is written again with each note,
//! until it is long enough, and then the next is begun: what is there is whole at any moment.
//! Notes that come while one is under way are sent together.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use logtool::{Error, Result, remote::Folder};
use logtool_remote::WriteCondition;

use crate::commands::batch::{markers::STATE, shard::Shard};

/// An object that is as long as this gets no more notes: a longer one takes longer to be
/// written again, and shorter ones are more to be read at the start of the next run.
const LONG: usize = 64 << 10;

/// See the module.
pub(super) struct Segments {
    folder: Arc<Folder>,
    /// What the names of all its objects begin with.
    stem: String,
    waiting: Mutex<Waiting>,
    last: Mutex<Last>,
}

/// What is to be sent.
#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// How many notes there were, and how many of them are kept for good.
    noted: u64,
    kept: u64,
    /// Why nothing more can be.
    failure: Option<String>,
}

/// The object that is written again.
#[derive(Default)]
struct Last {
    number: u64,
    text: Vec<u8>,
}

impl Segments {
    /// No notes yet, of this `run` of a data set in `folder`, which does the part `shard`.
    pub(super) fn new(folder: Arc<Folder>, run: u64, shard: Option<Shard>) -> Self {
        let who = shard.map_or("all".to_owned(), |shard| shard.to_string());
        let id = RandomState::new().hash_one(run);
        let stem = format!("{STATE}/journal/{run:08}-{who}-{id:016x}");
        Self { folder, stem, waiting: Mutex::default(), last: Mutex::default() }
    }

    /// Keeps `line` for good.
    pub(super) fn keep(&self, line: &[u8]) -> Result<()> {
        let number = {
            let mut waiting = self.waiting();
            check(&waiting)?;
            waiting.lines.extend_from_slice(line);
            waiting.noted += 1;
            waiting.noted
        };
        // While somebody else sends.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (lines, noted) = {
            let mut waiting = self.waiting();
            if waiting.kept >= number {
                return Ok(());
            }
            check(&waiting)?;
            (std::mem::take(&mut waiting.lines), waiting.noted)
        };
        if last.text.len() >= LONG {
            *last = Last { number: last.number + 1, text: Vec::new() };
        }
        last.text.extend_from_slice(&lines);
        let name = format!("{}-{:06}.jsonl", self.stem, last.number);
        let text = last.text.clone().into();
        self.or_end(self.folder.put(&name, &text, &WriteCondition::Always))?;
        self.waiting().kept = noted;
        Ok(())
    }

    /// `done`; if it is a failure, nothing more can be kept.
    pub(super) fn or_end<T>(&self, done: Result<T>) -> Result<T> {
        if let Err(err) = &done {
            let why = format!("{err}");
            self.waiting().failure.get_or_insert(why);
        }
        done
    }

    /// Says why nothing more can be kept, if so.
    pub(super) fn check(&self) -> Result<()> {
        check(&self.waiting())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(waiting: &Waiting) -> Result<()> {
    let why = waiting.failure.as_ref();
    why.map_or(Ok(()), |why| {
        let what = format!("the data set cannot be written any more: {why}");
        Err(Error::failed(what))
    })
}
