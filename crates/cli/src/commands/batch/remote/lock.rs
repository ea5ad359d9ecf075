//! Who is at a data set in a store: an object that is written only if there is none.
//!
//! It is written again every few seconds, with another number in it. A lock that nobody has
//! written for long enough is of a run that was killed, and is taken; no clocks are
//! compared for that.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use logtool::{
    Error, Result,
    error::Context as _,
    remote::{self, Folder},
};
use logtool_remote::{ObjectVersion, WriteCondition};

use crate::{
    commands::batch::{markers::STATE, remote::lock_owner::Holder, shard::Shard},
    terminal::say,
};

/// How often the lock is written again.
const BEAT: Duration = Duration::from_secs(5);
/// Who has not written it for so long was killed.
const DEAD: Duration = Duration::from_secs(45);
/// How often is looked whether it is written.
const LOOK: Duration = Duration::from_secs(1);

/// See the module. It is free when this is dropped.
pub(super) struct Lock {
    held: Arc<Held>,
    thread: Option<JoinHandle<()>>,
}

struct Held {
    folder: Arc<Folder>,
    name: String,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    holder: Holder,
    tag: ObjectVersion,
    is_over: bool,
    /// Whether another run has taken it.
    is_lost: bool,
}

/// What is needed to take a lock.
struct Taking<'t> {
    folder: &'t Folder,
    shown: &'t Path,
    this: Holder,
    is_quiet: bool,
}

impl Lock {
    /// Takes what this run needs of the data set in `folder`, which people call `shown`: all of
    /// it, or the part `shard`, of which the others may go on. Nothing, if the store cannot do
    /// that, and the work is not shared.
    pub(super) fn take(
        folder: &Arc<Folder>,
        shown: &Path,
        shard: Option<Shard>,
        is_quiet: bool,
    ) -> Result<Option<Self>> {
        let name = match shard {
            None => "lock".to_owned(),
            Some(shard) => format!("lock-{shard}"),
        };
        let path = format!("{STATE}/{name}");
        let taking = Taking { folder, shown, this: Holder::this(), is_quiet };
        let Some(tag) = taking.take(&path)? else {
            if shard.is_some() {
                let what = format!(
                    "{}: the store cannot write an object only if there is none, and so \
                     runs cannot share the work",
                    shown.display()
                );
                let hint = "a run without shards can write there";
                return Err(Error::invalid(what).with_hint(hint));
            }
            if !is_quiet {
                say!(
                    "{}: cannot be locked: see that nobody else writes",
                    shown.display()
                );
            }
            return Ok(None);
        };
        let holder = taking.this.clone();
        let state = State { holder, tag, is_over: false, is_lost: false };
        let (folder, state, changed) =
            (folder.clone(), Mutex::new(state), Condvar::new());
        let held = Arc::new(Held { folder, name: path, state, changed });
        let beating = held.clone();
        let thread = thread::Builder::new().name("lock".to_owned());
        let thread = thread.spawn(move || beating.beat());
        let thread = Some(thread.context("the threads cannot be started")?);
        // If this fails, it is free again.
        let lock = Self { held, thread };
        taking.clear_others(&name, shard)?;
        Ok(Some(lock))
    }

    /// Says so if another run has taken it, as this one had not been heard of.
    pub(super) fn check(&self) -> Result<()> {
        if !self.held.state().is_lost {
            return Ok(());
        }
        let what = "another run has taken the data set: this one was not heard of for too long";
        Err(Error::failed(what))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.held.state().is_over = true;
        self.held.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if !self.held.state().is_lost {
            // If it stays, it is taken for one of a killed run.
            let _ = self.held.folder.remove(&self.held.name);
        }
    }
}

impl Held {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes it again and again.
    fn beat(&self) {
        loop {
            let state = self.state();
            let waited =
                self.changed.wait_timeout_while(state, BEAT, |state| !state.is_over);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if state.is_over || state.is_lost {
                return;
            }
            let (mut holder, tag) = (state.holder.clone(), state.tag.clone());
            drop(state);
            holder.beat += 1;
            match self.folder.put(
                &self.name,
                &holder.text(),
                &WriteCondition::IfUnchanged(tag),
            ) {
                Ok(Some(tag)) => {
                    let mut state = self.state();
                    (state.holder, state.tag) = (holder, tag);
                }
                Ok(None) => self.state().is_lost = true,
                // What is wrong may be over before anybody takes it.
                Err(_) => {}
            }
        }
    }
}

impl Taking<'_> {
    /// Takes the lock `path`; nothing, if the store cannot.
    fn take(&self, path: &str) -> Result<Option<ObjectVersion>> {
        let text = self.this.text();
        loop {
            let tag = match self.folder.put(path, &text, &WriteCondition::IfAbsent) {
                Ok(tag) => tag,
                Err(err) if remote::is_unsupported(&err) => return Ok(None),
                Err(err) => return Err(err),
            };
            if let Some(tag) = tag {
                return self.holds(path, tag);
            }
            let Some((there, tag)) = self.folder.get(path)? else { continue };
            let Some(tag) = self.dead(path, &there, tag)? else {
                return Err(self.refused(&there));
            };
            if let Some(tag) =
                self.folder.put(path, &text, &WriteCondition::IfUnchanged(tag))?
            {
                return Ok(Some(tag));
            }
        }
    }

    /// `tag`, if the store is one that does not write what is there already, though it is to
    /// write only what is new: some do not know of that.
    fn holds(&self, path: &str, tag: ObjectVersion) -> Result<Option<ObjectVersion>> {
        let mut other = self.this.clone();
        other.beat = u64::MAX;
        match self.folder.put(path, &other.text(), &WriteCondition::IfAbsent)? {
            None => Ok(Some(tag)),
            Some(_) => {
                self.folder.remove(path)?;
                Ok(None)
            }
        }
    }

    /// The tag of the lock `path`, in which is `there`, if whoever has it was killed.
    fn dead(
        &self,
        path: &str,
        there: &[u8],
        tag: ObjectVersion,
    ) -> Result<Option<ObjectVersion>> {
        let holder = Holder::parse(there);
        if holder.as_ref().is_some_and(|holder| holder.is_gone(&self.this)) {
            return Ok(Some(tag));
        }
        if !self.is_quiet {
            let who = shown(holder.as_ref());
            say!("{}: {who} has it; is it still there?", self.shown.display());
        }
        let start = Instant::now();
        while start.elapsed() < DEAD {
            thread::sleep(LOOK);
            match self.folder.get(path)? {
                Some((_, now)) if now == tag => {}
                Some(_) => return Ok(None),
                // It has ended: its tag fits nothing any more.
                None => break,
            }
        }
        Ok(Some(tag))
    }

    /// Removes the locks of killed runs that this one, called `own`, which does the part
    /// `shard`, cannot go on beside; refuses those of others.
    fn clear_others(&self, own: &str, shard: Option<Shard>) -> Result<()> {
        let mut others = Vec::new();
        self.folder.names(STATE, &mut |name| {
            let count = name
                .strip_prefix("lock-")
                .and_then(|name| name.split_once("-of-")?.1.parse::<u32>().ok());
            let is_lock = name == "lock" || count.is_some();
            let is_beside = shard.is_some_and(|shard| count == Some(shard.count));
            if is_lock && name != own && !is_beside {
                others.push(format!("{STATE}/{name}"));
            }
            ControlFlow::Continue(())
        })?;
        for path in others {
            let Some((there, tag)) = self.folder.get(&path)? else { continue };
            if self.dead(&path, &there, tag)?.is_none() {
                return Err(self.refused(&there));
            }
            self.folder.remove(&path)?;
        }
        Ok(())
    }

    /// That somebody else is at it.
    fn refused(&self, there: &[u8]) -> Error {
        let who = shown(Holder::parse(there).as_ref());
        let dataset = self.shown.display();
        let what = format!("another run is writing the data set {dataset}: {who}");
        let hint = "wait for it to end, or write to another folder";
        Error::failed(what).with_hint(hint)
    }
}

fn shown(holder: Option<&Holder>) -> String {
    holder.map_or("somebody".to_owned(), Holder::shown)
}
