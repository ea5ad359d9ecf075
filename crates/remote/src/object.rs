//! Fetches ranges of one object. Failed requests are retried, and the bytes of a different object
//! that replaced it are rejected.

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    io,
    ops::Range,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, TryStreamExt as _};
use object_store::{
    GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, path::Path,
};
use tokio::{
    sync::Semaphore,
    time::{self, Instant},
};

use crate::{failure::Failure, limits::Limits};

/// The state that all requests of a client share.
#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) limits: Limits,
    /// Limits the number of simultaneous requests.
    pub(crate) slots: Semaphore,
    pub(crate) requests: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

/// An object in the state in which it was opened.
pub(crate) struct Object {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    pub(crate) transport: Arc<Transport>,
    pub(crate) meta: ObjectMeta,
}

/// The result of opening an object.
pub(crate) enum OpenResult {
    /// The object and its first bytes.
    Ranged(Object, Bytes),
    /// The server does not support range requests.
    Whole,
}

impl Object {
    /// Opens the object at `path`, and fetches its first `head` bytes.
    pub(crate) async fn find(
        store: Arc<dyn ObjectStore>,
        path: Path,
        transport: Arc<Transport>,
        first_len: u64,
    ) -> io::Result<OpenResult> {
        let mut attempts = Attempts::new(&transport);
        let first_response = loop {
            match get(&store, &path, &transport, 0..first_len, None).await {
                Ok(response) => break Ok(response),
                Err(failure) => {
                    if let Err(err) = attempts.pause_or_fail(failure).await {
                        break Err(err);
                    }
                }
            }
        };
        let (bytes, meta) = match first_response {
            Ok(response) => response,
            Err(err) if err.kind() == io::ErrorKind::Unsupported => {
                return Ok(OpenResult::Whole);
            }
            Err(err) if may_be_empty(&err) => {
                // An empty object has no first byte, so servers reject the range.
                match request_metadata(&store, &path, &transport).await {
                    Ok(meta) if meta.size == 0 => (Bytes::new(), meta),
                    // A server without ranges, or one that does not state lengths.
                    _ if err.kind() == io::ErrorKind::UnexpectedEof => {
                        return Ok(OpenResult::Whole);
                    }
                    _ => return Err(err),
                }
            }
            Err(err) => return Err(err),
        };
        Ok(OpenResult::Ranged(Self { store, path, transport, meta }, bytes))
    }

    /// Fetches the bytes of `range`, which must be within the object.
    ///
    /// # Errors
    /// All attempts failed, or the object has changed.
    pub(crate) async fn fetch(&self, range: Range<u64>) -> io::Result<Bytes> {
        let Self { store, path, transport, meta } = self;
        let mut attempts = Attempts::new(transport);
        attempts.add_time_for(range.end - range.start);
        loop {
            match get(store, path, transport, range.clone(), Some(meta)).await {
                Ok((bytes, _)) => return Ok(bytes),
                // The object was longer when it was opened, or the store reports that this version
                // does not exist: it was replaced.
                Err(Failure::Permanent(err))
                    if matches!(
                        err.kind(),
                        io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound
                    ) =>
                {
                    return Err(Failure::object_changed().into_error());
                }
                Err(failure) => attempts.pause_or_fail(failure).await?,
            }
        }
    }
}

/// Counts the attempts of a request, and limits their time.
#[derive(Debug)]
pub(crate) struct Attempts<'w> {
    transport: &'w Transport,
    failed: u32,
    start: Instant,
    /// The number of bytes for which there is additional time.
    bytes: u64,
}

impl<'w> Attempts<'w> {
    /// Creates a counter without failed attempts.
    pub(crate) fn new(transport: &'w Transport) -> Self {
        Self { transport, failed: 0, start: Instant::now(), bytes: 0 }
    }

    /// Gives further attempts the time in which `bytes` bytes are received.
    pub(crate) fn add_time_for(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Pauses before the next attempt after a `failure`, or returns the error if no further attempt
    /// is allowed.
    pub(crate) async fn pause_or_fail(&mut self, failure: Failure) -> io::Result<()> {
        let err = match failure {
            Failure::Permanent(err) => return Err(err),
            Failure::Transient(err) => err,
        };
        self.failed += 1;
        let Self { transport: Transport { limits, .. }, failed, start, .. } = *self;
        let is_late = start.elapsed() >= limits.retry_time(self.bytes);
        if failed >= limits.attempts || is_late {
            let times = if failed == 1 { "once" } else { &*format!("{failed} times") };
            let message = format!("{err} (tried {times})");
            return Err(io::Error::new(err.kind(), message));
        }
        let random = RandomState::new().hash_one(failed);
        time::sleep(limits.pause_after(failed, random)).await;
        Ok(())
    }
}

/// Makes one attempt to fetch `range`. With `expected`, fails if the object is a different one.
async fn get(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    transport: &Transport,
    range: Range<u64>,
    expected: Option<&ObjectMeta>,
) -> Result<(Bytes, ObjectMeta), Failure> {
    // A weak tag never matches (RFC 9110, section 13.1.1), so it is only compared with the
    // response.
    let tag = expected.and_then(|expected| expected.e_tag.clone());
    let options = GetOptions {
        range: Some(GetRange::Bounded(range.clone())),
        if_match: tag.filter(|tag| !tag.starts_with("W/")),
        version: expected.and_then(|expected| expected.version.clone()),
        ..GetOptions::default()
    };
    // The semaphore is never closed, so this never fails.
    let _slot = transport.slots.acquire().await;
    let result = send_request(store, path, transport, options).await?;
    let meta = result.meta.clone();
    if expected.is_some_and(|expected| !is_same(expected, &meta)) {
        return Err(Failure::object_changed());
    }
    let expected_range = range.start..range.end.min(meta.size);
    if result.range != expected_range {
        return Err(Failure::Transient(io::Error::other(
            "the server sent another range",
        )));
    }
    let mut bytes = BytesMut::new();
    let len = expected_range.end - expected_range.start;
    receive_body(result.into_stream(), transport, Some(len), |chunk| {
        bytes.reserve(if bytes.is_empty() { len as usize } else { 0 });
        bytes.extend_from_slice(chunk);
        Ok(())
    })
    .await?;
    Ok((bytes.freeze(), meta))
}

/// Requests the metadata of the object.
async fn request_metadata(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    transport: &Transport,
) -> Result<ObjectMeta, Failure> {
    let options = GetOptions { head: true, ..GetOptions::default() };
    Ok(send_request(store, path, transport, options).await?.meta)
}

/// Sends a request, and waits for the head of the response.
pub(crate) async fn send_request(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    transport: &Transport,
    options: GetOptions,
) -> Result<GetResult, Failure> {
    transport.count_request();
    let answer =
        time::timeout(transport.limits.timeout, store.get_opts(path, options)).await;
    Ok(answer.map_err(|_| Failure::timeout("the server does not answer"))??)
}

/// Receives the body of a response, which has `len` bytes if the server states the length, and
/// passes its chunks to `accept`.
pub(crate) async fn receive_body<E>(
    body: impl Stream<Item = Result<Bytes, E>>,
    transport: &Transport,
    len: Option<u64>,
    mut accept: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), Failure>
where
    Failure: From<E>,
{
    let mut body = pin!(body);
    let mut received_bytes = 0;
    while let Some(chunk) = body.try_next().await? {
        received_bytes += chunk.len() as u64;
        transport.bytes.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        if len.is_some_and(|len| received_bytes > len) {
            let message = "the server sends more than it announced";
            return Err(Failure::Transient(io::Error::other(message)));
        }
        accept(&chunk).map_err(Failure::Permanent)?;
    }
    match len {
        Some(len) if received_bytes < len => {
            let message =
                format!("the response ended after {received_bytes} of {len} bytes");
            Err(Failure::Transient(io::Error::other(message)))
        }
        _ => Ok(()),
    }
}

/// Returns whether two metadata belong to the same version of an object. The sizes are compared,
/// and the tags, or the times of the last change if there are no tags.
pub(crate) fn is_same(opened: &ObjectMeta, current: &ObjectMeta) -> bool {
    opened.size == current.size
        && match (&opened.e_tag, &current.e_tag) {
            (Some(opened), Some(current)) => opened == current,
            _ => opened.last_modified == current.last_modified,
        }
}

/// Returns whether a range request may have failed because the object is empty.
fn may_be_empty(err: &io::Error) -> bool {
    matches!(err.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::Other)
}

impl Transport {
    pub(crate) fn new(limits: Limits) -> Self {
        /// The maximum number of simultaneous requests.
        const SLOTS: usize = 16;
        let (requests, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { limits, slots: Semaphore::new(SLOTS), requests, bytes }
    }

    /// Counts a request in the statistics.
    pub(crate) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Makes attempts that fail after a minute each, with additional time for `bytes` bytes.
    async fn fail_slowly(bytes: u64) -> String {
        let transport = Transport::new(Limits::default());
        let mut attempts = Attempts::new(&transport);
        attempts.add_time_for(bytes);
        loop {
            time::advance(Duration::from_secs(60)).await;
            let failure = Failure::timeout("too slow");
            if let Err(err) = attempts.pause_or_fail(failure).await {
                return err.to_string();
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_end_after_eight_timeouts_and_the_time_for_their_bytes() {
        assert_eq!(fail_slowly(0).await, "too slow (tried 4 times)");
        // 100 s at 16 KiB/s.
        assert_eq!(fail_slowly(100 << 14).await, "too slow (tried 6 times)");
        assert_eq!(fail_slowly(u64::MAX).await, "too slow (tried 7 times)");
    }
}
