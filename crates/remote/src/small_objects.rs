//! Small objects, e.g. markers and locks. They are read and written with single requests. A write
//! can depend on the condition that no other process has written the object.

use std::{io, sync::Arc};

use bytes::{Bytes, BytesMut};
use object_store::{
    Error, GetOptions, ObjectStore, PutMode, PutOptions, PutPayload, UpdateVersion,
    path::Path,
};
use tokio::time;

use crate::{
    failure::Failure,
    object::{Attempts, Transport, receive_body, send_request},
};

/// The maximum size of a small object in bytes.
pub(crate) const MAX_OBJECT_BYTES: u64 = 256 << 20;

/// The version of an object, which distinguishes it from a later object at the same location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion(UpdateVersion);

/// The condition for writing an object.
#[derive(Clone, Debug)]
pub enum WriteCondition {
    /// The object is written in any case; an existing object is replaced.
    Always,
    /// The object is written only if it does not exist.
    IfAbsent,
    /// The object is written only if the existing object has this version.
    IfUnchanged(ObjectVersion),
}

/// A small object at a path, which may not exist yet.
pub(crate) struct SmallObject<'c> {
    pub(crate) store: &'c Arc<dyn ObjectStore>,
    pub(crate) path: &'c Path,
    pub(crate) transport: &'c Transport,
}

impl SmallObject<'_> {
    /// Reads the object, and its version.
    pub(crate) async fn get(&self) -> io::Result<(Bytes, ObjectVersion)> {
        let mut attempts = Attempts::new(self.transport);
        loop {
            match self.get_once().await {
                Ok(result) => return Ok(result),
                Err(failure) => attempts.pause_or_fail(failure).await?,
            }
        }
    }

    async fn get_once(&self) -> Result<(Bytes, ObjectVersion), Failure> {
        let response =
            send_request(self.store, self.path, self.transport, GetOptions::default())
                .await?;
        let meta = response.meta.clone();
        if meta.size > MAX_OBJECT_BYTES {
            let message =
                format!("it has {} bytes, more than {MAX_OBJECT_BYTES}", meta.size);
            return Err(Failure::Permanent(io::Error::other(message)));
        }
        let mut bytes = BytesMut::new();
        let (body, len) = (response.into_stream(), Some(meta.size));
        receive_body(body, self.transport, len, |chunk| {
            bytes.extend_from_slice(chunk);
            Ok(())
        })
        .await?;
        let version = UpdateVersion { e_tag: meta.e_tag, version: meta.version };
        Ok((bytes.freeze(), ObjectVersion(version)))
    }

    /// Writes `bytes` to the object if it satisfies `condition`; otherwise returns `None`. If the
    /// object already has exactly these contents, an earlier attempt succeeded, and only its
    /// response was lost.
    pub(crate) async fn put(
        &self,
        bytes: &Bytes,
        condition: &WriteCondition,
    ) -> io::Result<Option<ObjectVersion>> {
        let mut attempts = Attempts::new(self.transport);
        loop {
            match self.put_once(bytes, condition).await {
                Ok(Some(version)) => return Ok(Some(version)),
                Ok(None) => break,
                Err(failure) => attempts.pause_or_fail(failure).await?,
            }
        }
        match self.get().await {
            Ok((existing, version)) => Ok((existing == bytes).then_some(version)),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err),
        }
    }

    async fn put_once(
        &self,
        bytes: &Bytes,
        condition: &WriteCondition,
    ) -> Result<Option<ObjectVersion>, Failure> {
        let mode = match condition {
            WriteCondition::Always => PutMode::Overwrite,
            WriteCondition::IfAbsent => PutMode::Create,
            WriteCondition::IfUnchanged(ObjectVersion(version)) => {
                PutMode::Update(version.clone())
            }
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        let result =
            self.store.put_opts(self.path, PutPayload::from(bytes.clone()), options);
        let time = self.transport.limits.upload_time(bytes.len() as u64);
        let result = time::timeout(time, result).await;
        match result.map_err(|_| Failure::timeout("the server does not answer"))? {
            Ok(done) => Ok(Some(ObjectVersion(done.into()))),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(None),
            // Stores report a deleted object in one of these two ways.
            Err(Error::NotFound { .. })
                if matches!(condition, WriteCondition::IfUnchanged(_)) =>
            {
                Ok(None)
            }
            Err(err) => Err(err.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use object_store::{ObjectStoreExt as _, memory::InMemory};

    use super::*;
    use crate::limits::Limits;

    fn run(test: impl Future<Output = ()>) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.unwrap().block_on(test);
    }

    #[test]
    fn only_one_of_two_conditional_writers_succeeds() {
        run(async {
            let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let (path, transport) =
                (Path::from("a/lock"), Transport::new(Limits::default()));
            let short =
                SmallObject { store: &store, path: &path, transport: &transport };
            let [one, two, three] = ["one", "two", "three"].map(Bytes::from);
            let first =
                short.put(&one, &WriteCondition::IfAbsent).await.unwrap().unwrap();
            assert!(
                short.put(&two, &WriteCondition::IfAbsent).await.unwrap().is_none()
            );
            // As if the first answer had been lost.
            assert!(
                short.put(&one, &WriteCondition::IfAbsent).await.unwrap().is_some()
            );
            let second = short
                .put(&two, &WriteCondition::IfUnchanged(first.clone()))
                .await
                .unwrap();
            assert!(
                short
                    .put(&three, &WriteCondition::IfUnchanged(first))
                    .await
                    .unwrap()
                    .is_none()
            );
            let (if_exists, tag) = short.get().await.unwrap();
            assert_eq!((if_exists, Some(tag)), (two, second));
            short.put(&three, &WriteCondition::Always).await.unwrap().unwrap();
            assert_eq!(short.get().await.unwrap().0, three);
        });
    }

    #[test]
    fn deleted_object_does_not_satisfy_its_version() {
        run(async {
            let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let (path, transport) =
                (Path::from("lock"), Transport::new(Limits::default()));
            let short =
                SmallObject { store: &store, path: &path, transport: &transport };
            let tag = short
                .put(&Bytes::from("one"), &WriteCondition::IfAbsent)
                .await
                .unwrap()
                .unwrap();
            store.delete(&path).await.unwrap();
            let put = short
                .put(&Bytes::from("two"), &WriteCondition::IfUnchanged(tag))
                .await
                .unwrap();
            assert!(put.is_none());
            let err = short.get().await.unwrap_err();
            assert_eq!(err.kind(), io::ErrorKind::NotFound);
        });
    }
}
