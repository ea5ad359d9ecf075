//! Uploads files as objects, which are complete or absent.

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

/// What happens if the object already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// It is kept, and an error is returned.
    Fail,
    /// It is replaced.
    Replace,
}

/// The minimum size of a part of an upload; shorter files are sent with one request.
const PART: u64 = 16 << 20;
/// The maximum number of parts that all stores accept.
const PARTS: u64 = 9_000;
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
        let mut may_be_there = false;
        while let Err(failure) = self.send_once(file, len).await {
            // The object may be complete, and only the answer lost.
            may_be_there |= matches!(failure, Failure::Transient(_));
            if may_be_there && self.has_contents(file, len).await? {
                return Ok(());
            }
            attempts.pause_or_fail(failure).await?;
        }
        let if_exists = self.existing_object().await.map_err(Failure::into_error)?;
        if if_exists.is_none_or(|if_exists| if_exists.size != len) {
            let what = "the store confirmed the upload, but has no complete object";
            return Err(io::Error::other(what));
        }
        Ok(())
    }

    async fn send_once(&self, file: &mut File, len: u64) -> Result<(), Failure> {
        file.rewind().map_err(Failure::Permanent)?;
        let part = len.div_ceil(PARTS).max(PART);
        if len <= part {
            self.send_at_once(read(file, len).map_err(Failure::Permanent)?).await
        } else {
            self.send_in_parts(file, len, part).await
        }
    }

    /// Returns whether the object has the contents of `file`; `false` if it cannot be compared.
    async fn has_contents(&self, file: &mut File, len: u64) -> io::Result<bool> {
        match self.existing_object().await {
            Ok(Some(if_exists)) if if_exists.size == len => {}
            _ => return Ok(false),
        }
        file.rewind()?;
        let mut start = 0;
        while start < len {
            let wanted = read(file, PART.min(len - start))?;
            let end = start + wanted.len() as u64;
            let get = self.store.get_range(self.path, start..end);
            match with_timeout(self.transport.limits.body_time(end - start), get).await
            {
                Ok(if_exists) if if_exists == wanted => start = end,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns the metadata of the object, if it exists.
    pub(crate) async fn existing_object(&self) -> Result<Option<ObjectMeta>, Failure> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        let head = self.store.get_opts(self.path, options);
        match with_timeout(self.transport.limits.wait, head).await {
            Ok(found) => Ok(Some(found.meta)),
            Err(Failure::Permanent(err)) if err.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    async fn send_at_once(&self, bytes: Bytes) -> Result<(), Failure> {
        let time = self.transport.limits.body_time(bytes.len() as u64);
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
                    self.refuse_existing().await?;
                }
                done => return done.map(drop),
            }
        }
        put(PutMode::Overwrite).await.map(drop)
    }

    async fn send_in_parts(
        &self,
        file: &mut File,
        len: u64,
        part: u64,
    ) -> Result<(), Failure> {
        if self.if_exists == IfExists::Fail {
            self.refuse_existing().await?;
        }
        let begun = self.store.put_multipart(self.path);
        let mut upload = with_timeout(self.transport.limits.wait, begun).await?;
        let sent = match self.send_parts(&mut *upload, file, len, part).await {
            Ok(()) => {
                let time = self.transport.limits.body_time(len);
                with_timeout(time, upload.complete()).await.map(drop)
            }
            Err(failure) => Err(failure),
        };
        if sent.is_err() {
            // The uploaded parts are unusable and cost money. If deleting them fails, too, the
            // first error is returned.
            let _ = with_timeout(self.transport.limits.wait, upload.abort()).await;
        }
        sent
    }

    async fn send_parts(
        &self,
        upload: &mut dyn MultipartUpload,
        file: &mut File,
        len: u64,
        part: u64,
    ) -> Result<(), Failure> {
        let mut lanes = FuturesUnordered::new();
        let mut left = len;
        while left > 0 || !lanes.is_empty() {
            if left > 0 && lanes.len() < CONCURRENT_PARTS {
                let bytes = read(file, left.min(part)).map_err(Failure::Permanent)?;
                left -= bytes.len() as u64;
                let time = self.transport.limits.body_time(bytes.len() as u64);
                lanes.push(with_timeout(time, upload.put_part(bytes.into())));
            } else if let Some(done) = lanes.next().await {
                done?;
            }
        }
        match self.if_exists {
            // Another process may have created it meanwhile.
            IfExists::Fail => self.refuse_existing().await,
            IfExists::Replace => Ok(()),
        }
    }

    async fn refuse_existing(&self) -> Result<(), Failure> {
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
    doing: impl Future<Output = object_store::Result<T>>,
) -> Result<T, Failure> {
    let done = time::timeout(time, doing).await;
    Ok(done.map_err(|_| Failure::timeout("the server does not answer"))??)
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
