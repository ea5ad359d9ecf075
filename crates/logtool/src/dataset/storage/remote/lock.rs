//! The lock of a dataset in an object store: an object that is written only if it does not
//! exist.
//!
//! The owner replaces the object every few seconds (the heartbeat). A lock whose object has not
//! changed for long enough belongs to a killed run, and may be taken over. Clocks of different
//! machines are not compared.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use logtool_remote::{ObjectVersion, WriteCondition};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::{
    dataset::{markers::STATE, shard::Shard, storage::remote::lock_owner::LockOwner},
    error::{Context as _, Error, Result},
    source::{
        remote::{self, UploadFolder},
        session::Session,
    },
};

/// The time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// A run without a heartbeat for this time was killed.
const TIMEOUT: Duration = Duration::from_secs(45);
/// The time between two checks for a heartbeat.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A lock of this run. Dropping it unlocks the dataset.
pub(super) struct Lock {
    shared: Arc<SharedLock>,
    heartbeat: Option<JoinHandle<()>>,
}

/// The part of a lock that the heartbeat thread shares.
struct SharedLock {
    folder: Arc<UploadFolder>,
    name: String,
    state: Mutex<LockState>,
    changed: Condvar,
}

struct LockState {
    owner: LockOwner,
    version: ObjectVersion,
    is_released: bool,
    /// Whether another run has taken the lock over.
    is_lost: bool,
}

/// The attempt of a run to lock a dataset.
struct Acquisition<'a> {
    folder: &'a UploadFolder,
    /// The name of the dataset to show.
    dataset: &'a Path,
    this_run: LockOwner,
    session: &'a Session,
}

impl Lock {
    /// Locks the dataset in `folder`, or only `shard`. Returns `None` if the store does not
    /// support it, and the dataset is not shared.
    pub(super) fn acquire(
        folder: &Arc<UploadFolder>,
        dataset: &Path,
        shard: Option<Shard>,
        this_run: LockOwner,
        session: &Session,
    ) -> Result<Option<Self>> {
        let name = match shard {
            None => "lock".to_owned(),
            Some(shard) => format!("lock-{shard}"),
        };
        let path = format!("{STATE}/{name}");
        let acquisition = Acquisition { folder, dataset, this_run, session };
        let Some(version) = acquisition.lock(&path)? else {
            if shard.is_some() {
                let message = format!(
                    "{}: runs cannot share the work, because the store cannot create an \
                     object only if it does not exist",
                    dataset.display()
                );
                let hint = "a run without shards can write there";
                return Err(Error::invalid_request(message).with_hint(hint));
            }
            acquisition
                .note("cannot be locked: make sure that no other run writes to it");
            return Ok(None);
        };
        let owner = acquisition.this_run.clone();
        let state = LockState { owner, version, is_released: false, is_lost: false };
        let shared = Arc::new(SharedLock {
            folder: folder.clone(),
            name: path,
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let for_thread = shared.clone();
        let thread = thread::Builder::new().name("lock".to_owned());
        let heartbeat = thread.spawn(move || for_thread.run_heartbeat());
        let heartbeat = heartbeat.context("the threads cannot be started")?;
        // Dropped, and so released, if another run has a conflicting lock.
        let lock = Self { shared, heartbeat: Some(heartbeat) };
        acquisition.remove_conflicting_locks(&name, shard)?;
        Ok(Some(lock))
    }

    /// Returns an error if another run has taken the lock over.
    pub(super) fn check(&self) -> Result<()> {
        if !self.shared.state().is_lost {
            return Ok(());
        }
        let message = "another run has taken over the dataset, because this one did not renew its lock in time";
        Err(Error::other(message))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.shared.state().is_released = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.heartbeat.take() {
            let _ = thread.join();
        }
        if !self.shared.state().is_lost {
            // If this fails, the next run finds the lock of a run that has ended.
            let _ = self.shared.folder.remove(&self.shared.name);
        }
    }
}

impl SharedLock {
    fn state(&self) -> MutexGuard<'_, LockState> {
        self.state.lock()
    }

    /// Replaces the lock object regularly until the lock is released or lost.
    fn run_heartbeat(&self) {
        loop {
            let mut state = self.state();
            let waits = |state: &mut LockState| !state.is_released;
            self.changed.wait_while_for(&mut state, waits, HEARTBEAT);
            if state.is_released || state.is_lost {
                return;
            }
            let (mut owner, version) = (state.owner.clone(), state.version.clone());
            drop(state);
            owner.heartbeat += 1;
            match self.folder.put(
                &self.name,
                &owner.encode(),
                &WriteCondition::IfUnchanged(version),
            ) {
                Ok(Some(version)) => {
                    let mut state = self.state();
                    (state.owner, state.version) = (owner, version);
                }
                Ok(None) => self.state().is_lost = true,
                // The store may answer again before the timeout.
                Err(_) => {}
            }
        }
    }
}

impl Acquisition<'_> {
    /// Writes the lock object `path`. Returns `None` if the store cannot do that only if there
    /// is no such object.
    fn lock(&self, path: &str) -> Result<Option<ObjectVersion>> {
        let content = self.this_run.encode();
        loop {
            let version =
                match self.folder.put(path, &content, &WriteCondition::IfAbsent) {
                    Ok(version) => version,
                    Err(err) if remote::is_unsupported(&err) => return Ok(None),
                    Err(err) => return Err(err),
                };
            if let Some(version) = version {
                return self.verify_lock(path, version);
            }
            let Some((existing, version)) = self.folder.get(path)? else { continue };
            let Some(version) = self.wait_for_timeout(path, &existing, version)? else {
                return Err(self.conflict(&existing));
            };
            if let Some(version) = self.folder.put(
                path,
                &content,
                &WriteCondition::IfUnchanged(version),
            )? {
                return Ok(Some(version));
            }
        }
    }

    /// Returns `version` if the store refuses to replace the new lock object. Some stores ignore
    /// that condition.
    fn verify_lock(
        &self,
        path: &str,
        version: ObjectVersion,
    ) -> Result<Option<ObjectVersion>> {
        let mut other = self.this_run.clone();
        other.heartbeat = u64::MAX;
        match self.folder.put(path, &other.encode(), &WriteCondition::IfAbsent)? {
            None => Ok(Some(version)),
            Some(_) => {
                self.folder.remove(path)?;
                Ok(None)
            }
        }
    }

    /// Returns the version of the lock object `path`, which has the content `existing`, if its
    /// owner was killed. Waits for a heartbeat until the timeout.
    fn wait_for_timeout(
        &self,
        path: &str,
        existing: &[u8],
        version: ObjectVersion,
    ) -> Result<Option<ObjectVersion>> {
        let owner = LockOwner::parse(existing);
        if owner.as_ref().is_some_and(|owner| owner.has_ended(&self.this_run)) {
            return Ok(Some(version));
        }
        let owner = describe(owner.as_ref());
        self.note(&format!("locked by {owner}; waiting for a sign that it is running"));
        let start = Instant::now();
        while start.elapsed() < TIMEOUT {
            thread::sleep(POLL_INTERVAL);
            match self.folder.get(path)? {
                Some((_, current)) if current == version => {}
                Some(_) => return Ok(None),
                // The other run has ended. Its version matches no object any more.
                None => break,
            }
        }
        Ok(Some(version))
    }

    /// Removes conflicting locks of killed runs, and refuses those of others. `own_name` is the
    /// name of the lock of this run, which has `shard`.
    fn remove_conflicting_locks(
        &self,
        own_name: &str,
        shard: Option<Shard>,
    ) -> Result<()> {
        let mut conflicting = Vec::new();
        self.folder.names(STATE, &mut |name| {
            let count = name
                .strip_prefix("lock-")
                .and_then(|name| name.split_once("-of-")?.1.parse::<u32>().ok());
            let is_lock = name == "lock" || count.is_some();
            let is_other_shard =
                shard.is_some_and(|shard| count == Some(shard.count()));
            if is_lock && name != own_name && !is_other_shard {
                conflicting.push(format!("{STATE}/{name}"));
            }
            ControlFlow::Continue(())
        })?;
        for path in conflicting {
            let Some((existing, version)) = self.folder.get(&path)? else { continue };
            if self.wait_for_timeout(&path, &existing, version)?.is_none() {
                return Err(self.conflict(&existing));
            }
            self.folder.remove(&path)?;
        }
        Ok(())
    }

    /// Returns the error that the owner of the lock with the content `existing` is alive.
    fn conflict(&self, existing: &[u8]) -> Error {
        let owner = describe(LockOwner::parse(existing).as_ref());
        let dataset = self.dataset.display();
        let message = format!("another run is writing the dataset {dataset}: {owner}");
        let hint = "wait until it ends, or write to another folder";
        Error::other(message).with_hint(hint)
    }

    /// Passes on a note about the dataset.
    fn note(&self, text: &str) {
        self.session.note(&self.dataset.display().to_string(), text);
    }
}

fn describe(owner: Option<&LockOwner>) -> String {
    owner.map_or("an unknown process".to_owned(), LockOwner::describe)
}
