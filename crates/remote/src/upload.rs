//! Files that become objects: whole, or not at all.

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
    object::{Attempts, Way},
};

/// What to do with an object that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum There {
    /// It stays, and that is an error.
    Stays,
    /// The new one takes its place.
    Goes,
}

/// The least that a part of an upload is; shorter files are sent at once.
const PART: u64 = 16 << 20;
/// The most parts that all stores take.
const PARTS: u64 = 9_000;
/// How many parts are under way.
const LANES: usize = 4;

/// Where a file is to go.
pub(crate) struct Upload<'c> {
    pub(crate) store: &'c Arc<dyn ObjectStore>,
    pub(crate) path: &'c Path,
    pub(crate) way: &'c Way,
    pub(crate) there: There,
}

impl Upload<'_> {
    /// Sends all of `file`. The object appears when all of it is there.
    ///
    /// # Errors
    /// `AlreadyExists`, if it does and is to stay; or as of any request.
    pub(crate) async fn send(&self, file: &mut File) -> io::Result<()> {
        let len = file.metadata()?.len();
        let mut attempts = Attempts::new(self.way);
        let mut may_be_there = false;
        while let Err(failure) = self.send_once(file, len).await {
            // It may be there, and only the answer was lost.
            may_be_there |= matches!(failure, Failure::Passing(_));
            if may_be_there && self.holds(file, len).await? {
                return Ok(());
            }
            attempts.again(failure).await?;
        }
        let there = self.found().await.map_err(Failure::into_error)?;
        if there.is_none_or(|there| there.size != len) {
            let what = "the store says that it took all of it, and does not have it";
            return Err(io::Error::other(what));
        }
        Ok(())
    }

    async fn send_once(&self, file: &mut File, len: u64) -> Result<(), Failure> {
        file.rewind().map_err(Failure::Final)?;
        let part = len.div_ceil(PARTS).max(PART);
        match len <= part {
            true => self.send_at_once(read(file, len).map_err(Failure::Final)?).await,
            false => self.send_in_parts(file, len, part).await,
        }
    }

    /// Whether what is there is just what is in `file`; not, if that cannot be seen.
    async fn holds(&self, file: &mut File, len: u64) -> io::Result<bool> {
        match self.found().await {
            Ok(Some(there)) if there.size == len => {}
            _ => return Ok(false),
        }
        file.rewind()?;
        let mut start = 0;
        while start < len {
            let wanted = read(file, PART.min(len - start))?;
            let end = start + wanted.len() as u64;
            let get = self.store.get_range(self.path, start..end);
            match within(self.way.limits.body_time(end - start), get).await {
                Ok(there) if there == wanted => start = end,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// What is known of the object that is there.
    pub(crate) async fn found(&self) -> Result<Option<ObjectMeta>, Failure> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        let head = self.store.get_opts(self.path, options);
        match within(self.way.limits.wait, head).await {
            Ok(found) => Ok(Some(found.meta)),
            Err(Failure::Final(err)) if err.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    async fn send_at_once(&self, bytes: Bytes) -> Result<(), Failure> {
        let time = self.way.limits.body_time(bytes.len() as u64);
        let put = |mode| {
            let payload = PutPayload::from(bytes.clone());
            let options = PutOptions { mode, ..PutOptions::default() };
            within(time, self.store.put_opts(self.path, payload, options))
        };
        if self.there == There::Stays {
            match put(PutMode::Create).await {
                // The store cannot do both in one step.
                Err(Failure::Final(err))
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
        if self.there == There::Stays {
            self.refuse_existing().await?;
        }
        let begun = self.store.put_multipart(self.path);
        let mut upload = within(self.way.limits.wait, begun).await?;
        let sent = match self.send_parts(&mut *upload, file, len, part).await {
            Ok(()) => {
                let time = self.way.limits.body_time(len);
                within(time, upload.complete()).await.map(drop)
            }
            Err(failure) => Err(failure),
        };
        if sent.is_err() {
            // What of it is there is nobody's, and costs money. If that fails too, it is
            // the first failure that counts.
            let _ = within(self.way.limits.wait, upload.abort()).await;
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
            if left > 0 && lanes.len() < LANES {
                let bytes = read(file, left.min(part)).map_err(Failure::Final)?;
                left -= bytes.len() as u64;
                let time = self.way.limits.body_time(bytes.len() as u64);
                lanes.push(within(time, upload.put_part(bytes.into())));
            } else if let Some(done) = lanes.next().await {
                done?;
            }
        }
        match self.there {
            // Somebody may have been faster.
            There::Stays => self.refuse_existing().await,
            There::Goes => Ok(()),
        }
    }

    async fn refuse_existing(&self) -> Result<(), Failure> {
        match self.found().await? {
            None => Ok(()),
            Some(_) => Err(Failure::Final(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "it exists already",
            ))),
        }
    }
}

/// Waits so long for what a store does.
async fn within<T>(
    time: Duration,
    doing: impl Future<Output = object_store::Result<T>>,
) -> Result<T, Failure> {
    let done = time::timeout(time, doing).await;
    Ok(done.map_err(|_| Failure::late("the server does not answer"))??)
}

/// The next `len` bytes of `file`.
fn read(file: &mut File, len: u64) -> io::Result<Bytes> {
    let mut bytes = Vec::with_capacity(len as usize);
    file.take(len).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes.into())
}
