//! Opens objects: the one runtime, and the stores that were used.

use std::{
    collections::HashMap,
    fs::File,
    io,
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use bytes::Bytes;
use logtool_core::{FileSource, Source};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _, path::Path};
use tokio::{
    runtime::{Builder, Runtime},
    time,
};

use crate::{
    failure::Failure,
    full_download,
    limits::Limits,
    list,
    location::{Location, Scheme},
    object::{Attempts, Found, Object, Way},
    pieces::BLOCK,
    small_objects::{Short, Tag, When},
    source::RemoteSource,
    store,
    upload::{There, Upload},
};

/// Opens objects, with the credentials that are in the environment.
///
/// Its sources go on as long as the client is there, and share what it keeps.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    way: Arc<Way>,
    shares: Arc<()>,
    stores: Mutex<HashMap<Key, Arc<dyn ObjectStore>>>,
}

/// What a store is for: a bucket, and how often it tries by itself.
type Key = (Scheme, String, usize);

/// What reads tries again what fails: the store does not.
const READING: usize = 0;
/// What sends does so too; but of an upload in parts the store has to try each part.
const SENDING: usize = 2;

/// What is known of an object without a look into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where it is.
    pub location: Location,
    /// How many bytes it has.
    pub bytes: u64,
    /// When it was written, in nanoseconds of Unix time, if the server says.
    pub modified: Option<i64>,
}

/// An object that was opened.
pub struct Opened {
    /// Its bytes.
    pub source: Arc<dyn Source>,
    /// Whether the server gives no parts of it, so that all of it is here.
    pub is_whole: bool,
}

/// What a client has fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// How many requests it made.
    pub requests: u64,
    /// How many bytes of objects came.
    pub bytes: u64,
}

impl Client {
    /// A client that has not asked for anything yet.
    ///
    /// # Errors
    /// If the system gives it no threads.
    pub fn new(limits: Limits) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2) // they wait, and decipher what comes
            .thread_name("logtool-remote")
            .enable_all()
            .build()?;
        let way = Arc::new(Way::new(limits));
        Ok(Self { runtime, way, shares: Arc::default(), stores: Mutex::default() })
    }

    /// Opens the object at `location`.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`, or whatever made it fail as often as it was tried.
    pub fn open(&self, location: &Location) -> io::Result<Opened> {
        self.open_in(self.store(location, READING)?, store::path(location)?)
    }

    /// Opens the object at `path` of `store`.
    fn open_in(&self, store: Arc<dyn ObjectStore>, path: Path) -> io::Result<Opened> {
        let found = self.runtime.block_on(Object::find(
            store.clone(),
            path.clone(),
            self.way.clone(),
            BLOCK,
        ))?;
        let (object, head) = match found {
            Found::Ranged(object, head) => (object, head),
            Found::Whole => {
                let file = self
                    .runtime
                    .block_on(full_download::fetch(&store, &path, &self.way))?;
                let source = Arc::new(FileSource::new(file)?);
                return Ok(Opened { source, is_whole: true });
            }
        };
        let (handle, shares) = (self.runtime.handle().clone(), self.shares.clone());
        let source = RemoteSource::new(object, head, handle, shares);
        Ok(Opened { source: Arc::new(source), is_whole: false })
    }

    /// All objects in the folder `location`, and in those in it, in the order of their
    /// names.
    ///
    /// # Errors
    /// `Unsupported` of a web server; and as of any request.
    pub fn list(&self, location: &Location) -> io::Result<Vec<Listed>> {
        if location.scheme() == Scheme::Http {
            let what = "a web server does not say what is in a folder";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        let (store, path) = self.writing(location)?;
        let listed = list::list(&store, &path, &self.way.limits);
        let listed = self.runtime.block_on(listed)?.into_iter();
        Ok(listed
            .map(|meta| listed_as(location.with_key(meta.location.as_ref()), &meta))
            .collect())
    }

    /// Gives `take` the name of each object in the folder `location` and those in it, as it is
    /// called in the folder, in any order; as long as it wants more.
    ///
    /// # Errors
    /// As [`list`](Self::list), but there may be any number of objects.
    pub fn names(
        &self,
        location: &Location,
        take: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let (store, path) = self.writing(location)?;
        let limits = &self.way.limits;
        self.runtime.block_on(list::each(&store, &path, limits, &mut |meta| {
            let key = meta.location.as_ref();
            let name = key.strip_prefix(path.as_ref()).unwrap_or(key);
            Ok(take(name.trim_start_matches('/')))
        }))
    }

    /// All of the short object at `location`, and what tells it from a later one.
    ///
    /// # Errors
    /// `NotFound`; and as of any request.
    pub fn get(&self, location: &Location) -> io::Result<(Bytes, Tag)> {
        self.short(location, |short| self.runtime.block_on(short.get()))
    }

    /// Makes `bytes` the short object at `location`, if what is there is as `when` wants it;
    /// else nothing is written, and there is no tag.
    ///
    /// # Errors
    /// `Unsupported`, if the store cannot look and write in one step; and as of any request.
    pub fn put(
        &self,
        location: &Location,
        bytes: &Bytes,
        when: &When,
    ) -> io::Result<Option<Tag>> {
        self.short(location, |short| self.runtime.block_on(short.put(bytes, when)))
    }

    fn short<T>(
        &self,
        location: &Location,
        work: impl FnOnce(Short<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let (store, path) = (self.store(location, READING)?, store::path(location)?);
        work(Short { store: &store, path: &path, way: &self.way })
    }

    /// What the server tells of the object at `location`.
    ///
    /// # Errors
    /// `NotFound`; and as of any request: some web servers do not tell.
    pub fn look(&self, location: &Location) -> io::Result<Listed> {
        match self.found(location)? {
            Some(meta) => Ok(listed_as(location.clone(), &meta)),
            None => {
                let what = "there is no such object";
                Err(io::Error::new(io::ErrorKind::NotFound, what))
            }
        }
    }

    /// Whether there is an object at `location`.
    ///
    /// # Errors
    /// As of any request.
    pub fn exists(&self, location: &Location) -> io::Result<bool> {
        Ok(self.found(location)?.is_some())
    }

    fn found(&self, location: &Location) -> io::Result<Option<ObjectMeta>> {
        let (store, path) = self.writing(location)?;
        let (way, there) = (&*self.way, There::Stays);
        let upload = Upload { store: &store, path: &path, way, there };
        let found = self.runtime.block_on(upload.found());
        found.map_err(Failure::into_error)
    }

    /// Makes `file` the object at `location`, which appears when all of it is there. What fails
    /// is tried again.
    ///
    /// A file longer than 16 MiB is sent in parts. Then, and where the store cannot look
    /// and write in one step, an object that appears at the very last moment is replaced
    /// also by what is not to.
    ///
    /// # Errors
    /// `AlreadyExists`, if it does and is to stay; and as of any request. Then there is
    /// nothing there that was not before, as far as can be seen: an answer may be lost at
    /// the very last moment.
    pub fn upload(
        &self,
        file: &mut File,
        location: &Location,
        there: There,
    ) -> io::Result<()> {
        let (store, path) = (self.store(location, SENDING)?, store::path(location)?);
        let upload = Upload { store: &store, path: &path, way: &self.way, there };
        self.runtime.block_on(upload.send(file))
    }

    /// Removes the object at `location`, if there is one.
    ///
    /// # Errors
    /// As of any request.
    pub fn remove(&self, location: &Location) -> io::Result<()> {
        let (store, path) = (self.store(location, READING)?, store::path(location)?);
        let limits = &self.way.limits;
        self.runtime.block_on(async {
            let mut attempts = Attempts::new(&self.way);
            loop {
                let removed = time::timeout(limits.wait, store.delete(&path)).await;
                let late = |_| Failure::late("the server does not answer");
                let failure = match removed.map_err(late) {
                    Ok(Ok(()) | Err(object_store::Error::NotFound { .. })) => {
                        return Ok(());
                    }
                    Ok(Err(err)) => err.into(),
                    Err(failure) => failure,
                };
                attempts.again(failure).await?;
            }
        })
    }

    /// The store of `location`, as it is when not only ranges are read.
    fn writing(&self, location: &Location) -> io::Result<(Arc<dyn ObjectStore>, Path)> {
        let retries = self.way.limits.attempts.saturating_sub(1) as usize;
        Ok((self.store(location, retries)?, store::path(location)?))
    }

    /// What was fetched so far.
    pub fn traffic(&self) -> Traffic {
        let requests = self.way.requests.load(Ordering::Relaxed);
        Traffic { requests, bytes: self.way.bytes.load(Ordering::Relaxed) }
    }

    /// The store of `location`: the one that was used before, if it was.
    fn store(
        &self,
        location: &Location,
        retries: usize,
    ) -> io::Result<Arc<dyn ObjectStore>> {
        if location.scheme() == Scheme::Http {
            return store::store(location, retries);
        }
        let key = (location.scheme(), location.root().to_owned(), retries);
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = stores.get(&key) {
            return Ok(store.clone());
        }
        let store = store::store(location, retries)?;
        stores.insert(key, store.clone());
        Ok(store)
    }
}

/// What `meta` says of the object at `location`.
fn listed_as(location: Location, meta: &ObjectMeta) -> Listed {
    // What does not say it is taken for as old as can be.
    let modified = meta.last_modified.timestamp_nanos_opt().filter(|time| *time > 0);
    Listed { location, bytes: meta.size, modified }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("bytes", &self.source.len())
            .field("is_whole", &self.is_whole)
            .finish()
    }
}

#[cfg(test)]
mod tests;
