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
    chunk_cache::BLOCK_BYTES,
    failure::Failure,
    full_download::FullDownload,
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
    /// A reference count of the open sources, which share the cache.
    source_count: Arc<()>,
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
    /// The time of the last change in nanoseconds of Unix time, if the server reports it.
    pub modified: Option<i64>,
    /// The entity tag of the object, or its version if there is no tag, if the server reports one.
    pub tag: Option<String>,
}

/// An object that was opened.
pub struct RemoteObject {
    /// The contents of the object.
    pub source: Arc<dyn Source>,
    /// Whether the object was downloaded completely, because the server does not support range
    /// requests.
    pub is_downloaded: bool,
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
    /// If the operating system cannot start threads.
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
            source_count: Arc::default(),
            stores: Mutex::default(),
        })
    }

    /// Opens the object at `location`. If a web server does not support range requests, the object
    /// is downloaded completely. Then `on_progress` is called with the number of received bytes,
    /// which starts again if an attempt fails, and with the length of the object if the server
    /// states it. An error of `on_progress` ends the download.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`, or the error of the last attempt.
    pub fn open(
        &self,
        location: &Location,
        on_progress: &mut dyn FnMut(u64, Option<u64>) -> io::Result<()>,
    ) -> io::Result<RemoteObject> {
        let store = self.store(location, READ_RETRIES)?;
        if let Some(source) = self.open_in(store, store::path(location)?)? {
            return Ok(RemoteObject { source, is_downloaded: false });
        }
        if location.scheme() != Scheme::Http {
            let message = "the store does not support range requests";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        let transport = &*self.transport;
        let download = FullDownload {
            client: &store::download_client(transport.limits)?,
            url: &location.request_url(),
            transport,
        };
        let file = self.runtime.block_on(download.fetch(on_progress))?.into_file()?;
        let source = Arc::new(FileSource::new(file)?);
        Ok(RemoteObject { source, is_downloaded: true })
    }

    /// Opens the object at `path` of `store`; `None` if that does not support range requests.
    fn open_in(
        &self,
        store: Arc<dyn ObjectStore>,
        path: Path,
    ) -> io::Result<Option<Arc<dyn Source>>> {
        let transport = self.transport.clone();
        let result = Object::find(store, path, transport, BLOCK_BYTES);
        let OpenResult::Ranged(object, first_bytes) = self.runtime.block_on(result)?
        else {
            return Ok(None);
        };
        let (handle, source_count) =
            (self.runtime.handle().clone(), self.source_count.clone());
        let source = RemoteSource::new(object, first_bytes, handle, source_count);
        Ok(Some(Arc::new(source)))
    }

    /// Lists all objects in the folder `location` and its subfolders, sorted by name.
    ///
    /// # Errors
    /// `Unsupported` for web servers, or any error of a request.
    pub fn list(&self, location: &Location) -> io::Result<Vec<ObjectInfo>> {
        if location.scheme() == Scheme::Http {
            let message = "web servers do not list folders";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        let (store, path) = self.store_for_writing(location)?;
        let objects = list::list(&store, &path, &self.transport.limits);
        let objects = self.runtime.block_on(objects)?.into_iter();
        Ok(objects
            .map(|meta| object_info(location.with_key(meta.location.as_ref()), &meta))
            .collect())
    }

    /// Calls `visit` with the name of each object in the folder `location` and its subfolders,
    /// until `visit` breaks. The names are relative to the folder and in any order.
    ///
    /// # Errors
    /// Like [`list`](Self::list), but the number of objects is not limited.
    pub fn names(
        &self,
        location: &Location,
        visit: &mut dyn FnMut(&str) -> ControlFlow<()>,
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
                Ok(visit(name.trim_start_matches('/')))
            },
        ))
    }

    /// Reads a small object, and returns its contents and its version.
    ///
    /// # Errors
    /// `NotFound`, or any error of a request.
    pub fn get(&self, location: &Location) -> io::Result<(Bytes, ObjectVersion)> {
        self.with_small_object(location, |object| self.runtime.block_on(object.get()))
    }

    /// Writes `bytes` to the small object at `location` if the existing object satisfies
    /// `condition`, and returns the new version. Otherwise nothing is written, and the result is
    /// `None`.
    ///
    /// # Errors
    /// `Unsupported` if the store has no conditional writes, or any error of a request.
    pub fn put(
        &self,
        location: &Location,
        bytes: &Bytes,
        condition: &WriteCondition,
    ) -> io::Result<Option<ObjectVersion>> {
        self.with_small_object(location, |object| {
            self.runtime.block_on(object.put(bytes, condition))
        })
    }

    fn with_small_object<T>(
        &self,
        location: &Location,
        operation: impl FnOnce(SmallObject<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let (store, path) =
            (self.store(location, READ_RETRIES)?, store::path(location)?);
        operation(SmallObject {
            store: &store,
            path: &path,
            transport: &self.transport,
        })
    }

    /// Returns the properties of the object at `location`.
    ///
    /// # Errors
    /// `NotFound`, or any error of a request: some web servers do not provide them.
    pub fn metadata(&self, location: &Location) -> io::Result<ObjectInfo> {
        match self.find(location)? {
            Some(meta) => Ok(object_info(location.clone(), &meta)),
            None => {
                let message = "there is no such object";
                Err(io::Error::new(io::ErrorKind::NotFound, message))
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
        let existing = self.runtime.block_on(upload.existing_object());
        existing.map_err(Failure::into_error)
    }

    /// Uploads `file` to the object at `location`. The object becomes visible when it is complete.
    /// Failed attempts are retried.
    ///
    /// A file longer than 16 MiB is sent in parts. In this case, and also if the store does not
    /// support conditional writes, an object that another process creates at the same time may be
    /// replaced even with [`IfExists::Fail`].
    ///
    /// # Errors
    /// `AlreadyExists` if the object exists and must not be replaced, or any error of a request.
    /// After an error, the object is unchanged, unless only the last response was lost.
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
                let result = time::timeout(limits.timeout, store.delete(&path)).await;
                let timeout = |_| Failure::timeout("the server does not answer");
                let failure = match result.map_err(timeout) {
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
            return store::store(location, retries, self.transport.limits);
        }
        let key = (location.scheme(), location.root().to_owned(), retries);
        let mut stores = self.stores.lock();
        if let Some(store) = stores.get(&key) {
            return Ok(store.clone());
        }
        let store = store::store(location, retries, self.transport.limits)?;
        stores.insert(key, store.clone());
        Ok(store)
    }
}

/// Converts the metadata of the object at `location`.
fn object_info(location: Location, meta: &ObjectMeta) -> ObjectInfo {
    // The library returns the epoch for servers that do not send this header.
    let modified = meta.last_modified.timestamp_nanos_opt().filter(|time| *time > 0);
    let tag = meta.e_tag.clone().or_else(|| meta.version.clone());
    ObjectInfo { location, bytes: meta.size, modified, tag }
}

impl std::fmt::Debug for RemoteObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteObject")
            .field("bytes", &self.source.len())
            .field("is_downloaded", &self.is_downloaded)
            .finish()
    }
}

#[cfg(test)]
mod tests;
