//! The client: owns the async runtime, and opens, lists, reads and writes objects.

use std::{
    collections::HashMap,
    fs::File,
    io,
    ops::ControlFlow,
    sync::{Arc, atomic::Ordering},
};

use bytes::Bytes;
use logtool_core::{FileSource, Source};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _, path::Path};
use parking_lot::Mutex;
use tokio::{
    runtime::{Builder, Runtime},
    time,
};

use crate::{
    chunk_cache::BLOCK,
    failure::Failure,
    full_download,
    limits::Limits,
    list,
    location::{Location, Scheme},
    object::{Attempts, Object, OpenResult, Transport},
    small_objects::{ObjectVersion, SmallObject, WriteCondition},
    source::RemoteSource,
    store,
    upload::{IfExists, Upload},
};

/// Opens objects, with the credentials in the environment.
///
/// Sources work as long as their client exists, and share its cache limit.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    transport: Arc<Transport>,
    shares: Arc<()>,
    stores: Mutex<HashMap<StoreKey, Arc<dyn ObjectStore>>>,
}

/// The key of a store: the scheme, the bucket, and the number of retries by the store itself.
type StoreKey = (Scheme, String, usize);

/// Reads are retried by this crate, so the store does not retry them.
const READ_RETRIES: usize = 0;
/// The store retries the parts of an upload; this crate retries the upload.
const WRITE_RETRIES: usize = 2;

/// The properties of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The location of the object.
    pub location: Location,
    /// The size of the object in bytes.
    pub bytes: u64,
    /// The time of its last change, in nanoseconds of Unix time, if the server states it.
    pub modified: Option<i64>,
    /// The entity tag of the object, or else its version, if the server states one.
    pub tag: Option<String>,
}

/// An object that was opened.
pub struct RemoteObject {
    /// The contents of the object.
    pub source: Arc<dyn Source>,
    /// Whether the server does not support ranges, so that the object was downloaded completely.
    pub is_whole: bool,
}

/// Statistics of the requests of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The number of requests.
    pub requests: u64,
    /// The number of bytes of objects that were received.
    pub bytes: u64,
}

impl Client {
    /// Creates a client. This does not send any request.
    ///
    /// # Errors
    /// The system cannot start threads.
    pub fn new(limits: Limits) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2) // they wait and decrypt
            .thread_name("logtool-remote")
            .enable_all()
            .build()?;
        let transport = Arc::new(Transport::new(limits));
        Ok(Self {
            runtime,
            transport,
            shares: Arc::default(),
            stores: Mutex::default(),
        })
    }

    /// Opens the object at `location`.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`, or the error of the last attempt.
    pub fn open(&self, location: &Location) -> io::Result<RemoteObject> {
        self.open_in(self.store(location, READ_RETRIES)?, store::path(location)?)
    }

    /// Opens the object at `path` of `store`.
    fn open_in(
        &self,
        store: Arc<dyn ObjectStore>,
        path: Path,
    ) -> io::Result<RemoteObject> {
        let found = self.runtime.block_on(Object::find(
            store.clone(),
            path.clone(),
            self.transport.clone(),
            BLOCK,
        ))?;
        let (object, head) = match found {
            OpenResult::Ranged(object, head) => (object, head),
            OpenResult::Whole => {
                let file = self.runtime.block_on(full_download::fetch(
                    &store,
                    &path,
                    &self.transport,
                ))?;
                let source = Arc::new(FileSource::new(file)?);
                return Ok(RemoteObject { source, is_whole: true });
            }
        };
        let (handle, shares) = (self.runtime.handle().clone(), self.shares.clone());
        let source = RemoteSource::new(object, head, handle, shares);
        Ok(RemoteObject { source: Arc::new(source), is_whole: false })
    }

    /// Lists all objects in the folder `location` and its subfolders, sorted by name.
    ///
    /// # Errors
    /// `Unsupported` for web servers, or any error of a request.
    pub fn list(&self, location: &Location) -> io::Result<Vec<ObjectInfo>> {
        if location.scheme() == Scheme::Http {
            let what = "web servers do not list folders";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        let (store, path) = self.store_for_writing(location)?;
        let listed = list::list(&store, &path, &self.transport.limits);
        let listed = self.runtime.block_on(listed)?.into_iter();
        Ok(listed
            .map(|meta| listed_as(location.with_key(meta.location.as_ref()), &meta))
            .collect())
    }

    /// Calls `take` with the name of each object in the folder `location` and its subfolders,
    /// relative to the folder, in any order, until `take` breaks.
    ///
    /// # Errors
    /// Like [`list`](Self::list), but the number of objects is not limited.
    pub fn names(
        &self,
        location: &Location,
        take: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let (store, path) = self.store_for_writing(location)?;
        let limits = &self.transport.limits;
        self.runtime.block_on(list::for_each_object(
            &store,
            &path,
            limits,
            &mut |meta| {
                let key = meta.location.as_ref();
                let name = key.strip_prefix(path.as_ref()).unwrap_or(key);
                Ok(take(name.trim_start_matches('/')))
            },
        ))
    }

    /// Reads the small object at `location`, and its version.
    ///
    /// # Errors
    /// `NotFound`, or any error of a request.
    pub fn get(&self, location: &Location) -> io::Result<(Bytes, ObjectVersion)> {
        self.with_small_object(location, |short| self.runtime.block_on(short.get()))
    }

    /// Writes `bytes` as the small object at `location` if the existing object satisfies `condition`.
    /// Otherwise writes nothing and returns `None`.
    ///
    /// # Errors
    /// `Unsupported` if the store has no conditional writes, or any error of a request.
    pub fn put(
        &self,
        location: &Location,
        bytes: &Bytes,
        condition: &WriteCondition,
    ) -> io::Result<Option<ObjectVersion>> {
        self.with_small_object(location, |short| {
            self.runtime.block_on(short.put(bytes, condition))
        })
    }

    fn with_small_object<T>(
        &self,
        location: &Location,
        work: impl FnOnce(SmallObject<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let (store, path) =
            (self.store(location, READ_RETRIES)?, store::path(location)?);
        work(SmallObject { store: &store, path: &path, transport: &self.transport })
    }

    /// Returns the properties of the object at `location`.
    ///
    /// # Errors
    /// `NotFound`, or any error of a request: some web servers do not provide them.
    pub fn metadata(&self, location: &Location) -> io::Result<ObjectInfo> {
        match self.find(location)? {
            Some(meta) => Ok(listed_as(location.clone(), &meta)),
            None => {
                let what = "there is no such object";
                Err(io::Error::new(io::ErrorKind::NotFound, what))
            }
        }
    }

    /// Returns whether an object exists at `location`.
    ///
    /// # Errors
    /// Any error of a request.
    pub fn exists(&self, location: &Location) -> io::Result<bool> {
        Ok(self.find(location)?.is_some())
    }

    fn find(&self, location: &Location) -> io::Result<Option<ObjectMeta>> {
        let (store, path) = self.store_for_writing(location)?;
        let (transport, if_exists) = (&*self.transport, IfExists::Fail);
        let upload = Upload { store: &store, path: &path, transport, if_exists };
        let found = self.runtime.block_on(upload.existing_object());
        found.map_err(Failure::into_error)
    }

    /// Uploads `file` to the object at `location`, which appears when it is complete. Failed
    /// attempts are retried.
    ///
    /// A file longer than 16 MiB is sent in parts. In this case, and if the store has no
    /// conditional writes, an object that is created at the same time by another process may be
    /// replaced even if replacing is not allowed.
    ///
    /// # Errors
    /// `AlreadyExists` if the object exists and must not be replaced, or any error of a request.
    /// The store then has no new object, unless only the last answer was lost.
    pub fn upload(
        &self,
        file: &mut File,
        location: &Location,
        if_exists: IfExists,
    ) -> io::Result<()> {
        let (store, path) =
            (self.store(location, WRITE_RETRIES)?, store::path(location)?);
        let upload = Upload {
            store: &store,
            path: &path,
            transport: &self.transport,
            if_exists,
        };
        self.runtime.block_on(upload.send(file))
    }

    /// Deletes the object at `location`, if it exists.
    ///
    /// # Errors
    /// Any error of a request.
    pub fn remove(&self, location: &Location) -> io::Result<()> {
        let (store, path) =
            (self.store(location, READ_RETRIES)?, store::path(location)?);
        let limits = &self.transport.limits;
        self.runtime.block_on(async {
            let mut attempts = Attempts::new(&self.transport);
            loop {
                let removed = time::timeout(limits.wait, store.delete(&path)).await;
                let timeout = |_| Failure::timeout("the server does not answer");
                let failure = match removed.map_err(timeout) {
                    Ok(Ok(()) | Err(object_store::Error::NotFound { .. })) => {
                        return Ok(());
                    }
                    Ok(Err(err)) => err.into(),
                    Err(failure) => failure,
                };
                attempts.pause_or_fail(failure).await?;
            }
        })
    }

    /// Returns the store of `location` for writing, and the path in it.
    fn store_for_writing(
        &self,
        location: &Location,
    ) -> io::Result<(Arc<dyn ObjectStore>, Path)> {
        let retries = self.transport.limits.attempts.saturating_sub(1) as usize;
        Ok((self.store(location, retries)?, store::path(location)?))
    }

    /// Returns the statistics of all requests so far.
    pub fn traffic(&self) -> Traffic {
        let requests = self.transport.requests.load(Ordering::Relaxed);
        Traffic { requests, bytes: self.transport.bytes.load(Ordering::Relaxed) }
    }

    /// Returns the store of `location`; stores are created once.
    fn store(
        &self,
        location: &Location,
        retries: usize,
    ) -> io::Result<Arc<dyn ObjectStore>> {
        if location.scheme() == Scheme::Http {
            return store::store(location, retries);
        }
        let key = (location.scheme(), location.root().to_owned(), retries);
        let mut stores = self.stores.lock();
        if let Some(store) = stores.get(&key) {
            return Ok(store.clone());
        }
        let store = store::store(location, retries)?;
        stores.insert(key, store.clone());
        Ok(store)
    }
}

/// Converts the metadata of the object at `location`.
fn listed_as(location: Location, meta: &ObjectMeta) -> ObjectInfo {
    // Servers without this header yield the epoch.
    let modified = meta.last_modified.timestamp_nanos_opt().filter(|time| *time > 0);
    let tag = meta.e_tag.clone().or_else(|| meta.version.clone());
    ObjectInfo { location, bytes: meta.size, modified, tag }
}

impl std::fmt::Debug for RemoteObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("bytes", &self.source.len())
            .field("is_whole", &self.is_whole)
            .finish()
    }
}

#[cfg(test)]
mod tests;
