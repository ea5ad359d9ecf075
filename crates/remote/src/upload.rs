//! Uploads files as objects. An object becomes visible only when it is complete.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use object_store::{
    GetOptions, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode,
    PutOptions, PutPayload, path::Path,
};
use tokio::time;

use crate::{
    failure::Failure,
    object::{Attempts, Transport},
};

/// The behaviour if the object already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// The existing object is kept, and an error is returned.
    Fail,
    /// The existing object is replaced.
    Replace,
}

/// The minimum size of a part of an upload; shorter files are sent with one request.
const MIN_PART_BYTES: u64 = 16 << 20;
/// The maximum number of parts that all stores accept.
const MAX_PARTS: u64 = 9_000;
/// The number of parts that are sent at the same time.
const CONCURRENT_PARTS: usize = 4;

/// The destination of a file.
pub(crate) struct Upload<'c> {
    pub(crate) store: &'c Arc<dyn ObjectStore>,
    pub(crate) path: &'c Path,
    pub(crate) transport: &'c Transport,
    pub(crate) if_exists: IfExists,
}

impl Upload<'_> {
    /// Uploads `file`. The object appears when it is complete.
    ///
    /// # Errors
    /// `AlreadyExists` if it exists and must not be replaced, or any error of a request.
    pub(crate) async fn send(&self, file: &mut File) -> io::Result<()> {
        let len = file.metadata()?.len();
        let mut attempts = Attempts::new(self.transport);
        let mut may_exist = false;
        while let Err(failure) = self.send_once(file, len).await {
            // The object may be complete, and only the response may be lost.
            may_exist |= matches!(failure, Failure::Transient(_));
            if may_exist && self.has_contents(file, len).await? {
                return Ok(());
            }
            attempts.pause_or_fail(failure).await?;
        }
        let object = self.existing_object().await.map_err(Failure::into_error)?;
        if object.is_none_or(|object| object.size != len) {
            let message = "the store confirmed the upload, but has no complete object";
            return Err(io::Error::other(message));
        }
        Ok(())
    }

    async fn send_once(&self, file: &mut File, len: u64) -> Result<(), Failure> {
        file.rewind().map_err(Failure::Permanent)?;
        let part_bytes = len.div_ceil(MAX_PARTS).max(MIN_PART_BYTES);
        if len <= part_bytes {
            self.send_at_once(read(file, len).map_err(Failure::Permanent)?).await
        } else {
            self.send_in_parts(file, len, part_bytes).await
        }
    }

    /// Returns whether the object has the contents of `file`; `false` if they cannot be compared.
    async fn has_contents(&self, file: &mut File, len: u64) -> io::Result<bool> {
        match self.existing_object().await {
            Ok(Some(existing)) if existing.size == len => {}
            _ => return Ok(false),
        }
        file.rewind()?;
        let mut start = 0;
        while start < len {
            let expected = read(file, MIN_PART_BYTES.min(len - start))?;
            let end = start + expected.len() as u64;
            let get = self.store.get_range(self.path, start..end);
            match with_timeout(self.transport.limits.upload_time(end - start), get)
                .await
            {
                Ok(existing) if existing == expected => start = end,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns the metadata of the object, if it exists.
    pub(crate) async fn existing_object(&self) -> Result<Option<ObjectMeta>, Failure> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        let head = self.store.get_opts(self.path, options);
        match with_timeout(self.transport.limits.timeout, head).await {
            Ok(response) => Ok(Some(response.meta)),
            Err(Failure::Permanent(err)) if err.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    async fn send_at_once(&self, bytes: Bytes) -> Result<(), Failure> {
        let time = self.transport.limits.upload_time(bytes.len() as u64);
        let put = |mode| {
            let payload = PutPayload::from(bytes.clone());
            let options = PutOptions { mode, ..PutOptions::default() };
            with_timeout(time, self.store.put_opts(self.path, payload, options))
        };
        if self.if_exists == IfExists::Fail {
            match put(PutMode::Create).await {
                // The store has no conditional writes.
                Err(Failure::Permanent(err))
                    if err.kind() == io::ErrorKind::Unsupported =>
                {
                    self.fail_if_exists().await?;
                }
                result => return result.map(drop),
            }
        }
        put(PutMode::Overwrite).await.map(drop)
    }

    async fn send_in_parts(
        &self,
        file: &mut File,
        len: u64,
        part_bytes: u64,
    ) -> Result<(), Failure> {
        if self.if_exists == IfExists::Fail {
            self.fail_if_exists().await?;
        }
        let start = self.store.put_multipart(self.path);
        let mut upload = with_timeout(self.transport.limits.timeout, start).await?;
        let result = match self.send_parts(&mut *upload, file, len, part_bytes).await {
            Ok(()) => {
                let time = self.transport.limits.upload_time(len);
                with_timeout(time, upload.complete()).await.map(drop)
            }
            Err(failure) => Err(failure),
        };
        if result.is_err() {
            // The uploaded parts are unusable and cost money. If deleting them fails, too, the
            // first error is returned.
            let _ = with_timeout(self.transport.limits.timeout, upload.abort()).await;
        }
        result
    }

    async fn send_parts(
        &self,
        upload: &mut dyn MultipartUpload,
        file: &mut File,
        len: u64,
        part_bytes: u64,
    ) -> Result<(), Failure> {
        let mut uploads = FuturesUnordered::new();
        let mut remaining = len;
        while remaining > 0 || !uploads.is_empty() {
            if remaining > 0 && uploads.len() < CONCURRENT_PARTS {
                let bytes = read(file, remaining.min(part_bytes))
                    .map_err(Failure::Permanent)?;
                remaining -= bytes.len() as u64;
                let time = self.transport.limits.upload_time(bytes.len() as u64);
                uploads.push(with_timeout(time, upload.put_part(bytes.into())));
            } else if let Some(result) = uploads.next().await {
                result?;
            }
        }
        match self.if_exists {
            // Another process may have created it meanwhile.
            IfExists::Fail => self.fail_if_exists().await,
            IfExists::Replace => Ok(()),
        }
    }

    async fn fail_if_exists(&self) -> Result<(), Failure> {
        match self.existing_object().await? {
            None => Ok(()),
            Some(_) => Err(Failure::Permanent(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "it exists already",
            ))),
        }
    }
}

/// Waits at most `time` for an operation of a store.
async fn with_timeout<T>(
    time: Duration,
    operation: impl Future<Output = object_store::Result<T>>,
) -> Result<T, Failure> {
    let result = time::timeout(time, operation).await;
    Ok(result.map_err(|_| Failure::timeout("the server does not answer"))??)
}

/// Reads the next `len` bytes of `file`.
fn read(file: &mut File, len: u64) -> io::Result<Bytes> {
    let mut bytes = Vec::with_capacity(len as usize);
    file.take(len).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes.into())
}
