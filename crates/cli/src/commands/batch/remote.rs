//! A data set in a folder of an object store.
//!
//! A store has no renaming, no adding to what is there, and no locks. So the files of a log
//! are written here, in a temporary folder, and sent when all of them are whole; each
//! appears whole. What is noted is many objects in the folder of the data set that is ours:
//!
//! | object | what it is |
//! |---|---|
//! | `tables/<number>.jsonl` | what was decided about tables: written only if nobody has written that number, so that all who write the data set decide one after the other |
//! | `journal/<run>-<who>-<id>-<number>.jsonl` | what was noted of logs, in the order of these names |
//! | `lock`, `lock-<shard>` | who is at it |
//!
//! All of it is read at the start into a file of this machine, and is a [`Journal`] like any
//! other from there on.

mod io_pool;
mod lock;
mod lock_owner;
mod segments;

use std::{
    collections::{BTreeSet, HashSet},
    fs::{self, File},
    hash::{BuildHasher as _, RandomState},
    io::Write as _,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use logtool::{
    Error, Result, Session,
    error::Context as _,
    output::guarded::{self, Guarded},
    remote::{self, Folder, upload},
};
use logtool_remote::WriteCondition;
use logtool_sinks::{Existing, Outputs};
use tempfile::TempDir;

use self::{lock::Lock, segments::Segments};
use crate::{
    args::GlobalArgs,
    commands::batch::{
        journal::{Journal, Line},
        local,
        markers::{self, STATE},
        shard::Shard,
        storage::Place,
        tables::{Shape, Tables},
    },
};

/// See the module.
pub(super) struct There {
    shown: PathBuf,
    folder: Arc<Folder>,
    dir: PathBuf,
    staging: PathBuf,
    known: Mutex<Known>,
    journal: Mutex<Journal>,
    segments: Segments,
    /// The number of the next decision about tables.
    decision: Mutex<u64>,
    /// Nothing, if the store cannot lock.
    lock: Option<Lock>,
    session: Session,
    /// Keeps `staging` from staying if the program is interrupted.
    _guarded: Guarded,
    temporary: TempDir,
}

/// What there is in the data set.
#[derive(Default)]
struct Known {
    /// Of each object a number that is made of its name: there may be millions.
    names: HashSet<u64>,
    /// How that number is made.
    hash: RandomState,
    /// Those in no folder.
    whole: BTreeSet<String>,
}

/// What is ours in a data set: the names in its folder.
#[derive(Default)]
struct State {
    tables: Vec<String>,
    journal: Vec<String>,
}

impl There {
    /// The data set in the folder `url`, of which this run does the part `shard`.
    pub(super) fn open(
        url: &str,
        shard: Option<Shard>,
        global: &GlobalArgs,
    ) -> Result<Self> {
        let session = &global.session;
        let folder = Arc::new(remote::folder(url, session)?);
        let shown = PathBuf::from(remote::shown(url));
        check_ours(&folder, &shown)?;
        let temporary = upload::temporary()?;
        let dir = temporary.path().join("whole");
        let staging = temporary.path().join("unfinished");
        for dir in [&dir, &staging] {
            fs::create_dir(dir).with_context(|| dir.display().to_string())?;
        }
        let outputs = Outputs::new(&staging, Existing::Refuse);
        let guarded = guarded::guard_in(outputs, temporary.path(), session);
        let lock = Lock::take(&folder, &shown, shard, global.quiet)?;
        let (known, state) = look(&folder)?;
        let notes = temporary.path().join("journal.jsonl");
        read_notes(&folder, &state, &notes)?;
        let journal = Mutex::new(Journal::open(&notes)?);
        let next = state.tables.iter().filter_map(|name| number(name)).max();
        let next = next.map_or(0, |last| last + 1);
        let run = state.journal.iter().filter_map(|name| number(name)).max();
        let run = run.map_or(0, |last| last + 1);
        let segments = Segments::new(folder.clone(), run, shard);
        Ok(Self {
            session: session.clone(),
            shown,
            folder,
            dir,
            staging,
            known: Mutex::new(known),
            journal,
            segments,
            decision: Mutex::new(next),
            lock,
            _guarded: guarded,
            temporary,
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `what` says of the tables, and notes with these lines, if there are some: also when
    /// another run decides something meanwhile.
    fn decide<T>(&self, what: impl Fn(&Tables) -> Result<(T, Vec<u8>)>) -> Result<T> {
        self.check()?;
        let mut decision = self.decision.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (decided, lines) = what(&self.journal().tables)?;
            if lines.is_empty() {
                return Ok(decided);
            }
            let lines = Bytes::from(lines);
            let name = format!("{STATE}/tables/{:08}.jsonl", *decision);
            let when = if self.lock.is_some() {
                WriteCondition::IfAbsent
            } else {
                WriteCondition::Always
            };
            if self.segments.or_end(self.folder.put(&name, &lines, &when))?.is_some() {
                self.journal().add(&lines)?;
                *decision += 1;
                return Ok(decided);
            }
            // Another run has decided something: this one decides again, knowing of it.
            let got = self.folder.get(&name)?;
            let (lines, _) =
                got.ok_or_else(|| Error::failed(format!("{name} is gone")))?;
            self.journal().add(&lines)?;
            *decision += 1;
        }
    }

    fn send(&self, name: &str, existing: Existing) -> Result<()> {
        let path = self.dir.join(name);
        let mut file = File::open(&path).with_context(|| path.display().to_string())?;
        let sent = self.folder.send(name, &mut file, existing);
        if sent.is_err() && existing == Existing::Refuse && self.folder.has(name)? {
            return Ok(());
        }
        sent.with_context(|| self.folder.name(name))?;
        self.known().add(name);
        Ok(())
    }
}

impl Place for There {
    fn shown(&self) -> &Path {
        &self.shown
    }

    fn dir(&self) -> &Path {
        &self.dir
    }

    fn staging(&self) -> &Path {
        &self.staging
    }

    fn guard(&self, outputs: Arc<Outputs>) -> Guarded {
        guarded::guard_in(outputs, self.temporary.path(), &self.session)
    }

    fn put(&self, files: &[&str], existing: Existing) -> Result<()> {
        self.check()?;
        let sent = io_pool::each(files, |name| self.send(name, existing));
        // Here they are in the way now.
        local::remove(&self.dir, files)?;
        sent
    }

    fn has(&self, name: &str) -> bool {
        self.known().has(name)
    }

    fn remove(&self, files: &[&str]) -> Result<()> {
        // Not what another run may have put there.
        self.lock.as_ref().map_or(Ok(()), Lock::check)?;
        // Also what is not known: it may be that only the answer was lost.
        io_pool::each(files, |name| {
            self.folder.remove(name)?;
            self.known().forget(name);
            Ok(())
        })
    }

    fn whole(&self) -> Result<Vec<String>> {
        Ok(self.known().whole.iter().cloned().collect())
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, line: &Line<'_>) -> Result<()> {
        self.check()?;
        self.segments.keep(&line.text()?)?;
        self.journal().note(line)
    }

    fn tables(&self, shapes: &[Shape]) -> Result<Vec<String>> {
        self.decide(|tables| {
            let (names, new) = tables.places(shapes);
            let lines = new.iter().map(|table| Line::Table(table).text());
            Ok((names, lines.collect::<Result<Vec<_>>>()?.concat()))
        })
    }

    fn forget(&self, topics: &[String]) -> Result<()> {
        let lines = topics.iter().map(|topic| Line::forgotten(topic).text());
        let lines = lines.collect::<Result<Vec<_>>>()?.concat();
        self.decide(|_| Ok(((), lines.clone())))
    }

    fn check(&self) -> Result<()> {
        self.segments.check()?;
        self.lock.as_ref().map_or(Ok(()), Lock::check)
    }
}

impl Known {
    fn number(&self, name: &str) -> u64 {
        self.hash.hash_one(name)
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(&self.number(name))
    }

    fn add(&mut self, name: &str) {
        self.names.insert(self.number(name));
        if !name.contains('/') {
            self.whole.insert(name.to_owned());
        }
    }

    fn forget(&mut self, name: &str) {
        self.names.remove(&self.number(name));
        self.whole.remove(name);
    }
}

/// The number that `name` begins with.
fn number(name: &str) -> Option<u64> {
    let end = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
    name.get(..end)?.parse().ok()
}

/// Refuses a folder of somebody else's objects.
fn check_ours(folder: &Folder, shown: &Path) -> Result<()> {
    let first = |within: &str| -> Result<Option<String>> {
        let mut first = None;
        folder.names(within, &mut |name| {
            if within.is_empty() && !markers::is_foreign(name) {
                return ControlFlow::Continue(());
            }
            first = Some(name.to_owned());
            ControlFlow::Break(())
        })?;
        Ok(first)
    };
    // Another run may have begun it since the first look.
    let is_ours = || first(STATE).map(|name| name.is_some());
    if is_ours()? {
        return Ok(());
    }
    match first("")? {
        Some(name) if !is_ours()? => Err(markers::foreign(shown, &name)),
        _ => Ok(()),
    }
}

/// All that there is in the data set.
fn look(folder: &Folder) -> Result<(Known, State)> {
    let (mut known, mut state) = (Known::default(), State::default());
    folder.names("", &mut |name| {
        match name.strip_prefix(STATE).and_then(|name| name.strip_prefix('/')) {
            None => known.add(name),
            Some(own) => {
                if let Some(name) = own.strip_prefix("tables/") {
                    state.tables.push(name.to_owned());
                } else if let Some(name) = own.strip_prefix("journal/") {
                    state.journal.push(name.to_owned());
                }
            }
        }
        ControlFlow::Continue(())
    })?;
    state.tables.sort();
    state.journal.sort();
    Ok((known, state))
}

/// Writes all that is noted into the file `path`.
fn read_notes(folder: &Folder, state: &State, path: &Path) -> Result<()> {
    let tables = state.tables.iter().map(|name| format!("{STATE}/tables/{name}"));
    let journal = state.journal.iter().map(|name| format!("{STATE}/journal/{name}"));
    let names: Vec<String> = tables.chain(journal).collect();
    let mut file = File::create(path).with_context(|| path.display().to_string())?;
    // Several at a time, and not all at once: they may be many.
    for names in names.chunks(64) {
        let places: Vec<Mutex<Bytes>> =
            names.iter().map(|_| Mutex::default()).collect();
        let numbered: Vec<(&String, &Mutex<Bytes>)> =
            names.iter().zip(&places).collect();
        io_pool::each(&numbered, |(name, place)| {
            let got = folder.get(name)?;
            let (bytes, _) =
                got.ok_or_else(|| Error::failed(format!("{name} is gone")))?;
            *place.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
            Ok(())
        })?;
        for place in places {
            let bytes = place.into_inner().unwrap_or_else(PoisonError::into_inner);
            file.write_all(&bytes).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}
