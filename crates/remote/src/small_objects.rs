//! Short objects, as notes and locks are: read and written at once, and written also only
//! if nobody else was faster.

use std::{io, sync::Arc};

use bytes::{Bytes, BytesMut};
use object_store::{
    Error, GetOptions, ObjectStore, PutMode, PutOptions, PutPayload, UpdateVersion,
    path::Path,
};
use tokio::time;

use crate::{
    failure::Failure,
    object::{Attempts, Way, begin, body},
};

/// What is longer is no note.
const LONGEST: u64 = 256 << 20;

/// What tells an object from another one that took its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag(UpdateVersion);

/// When an object is to be written.
#[derive(Clone, Debug)]
pub enum When {
    /// Whatever there is.
    Always,
    /// If there is none.
    New,
    /// If what is there is still the one that has this tag.
    Same(Tag),
}

/// Where a short object is, or is to be.
pub(crate) struct Short<'c> {
    pub(crate) store: &'c Arc<dyn ObjectStore>,
    pub(crate) path: &'c Path,
    pub(crate) way: &'c Way,
}

impl Short<'_> {
    /// All bytes of it.
    pub(crate) async fn get(&self) -> io::Result<(Bytes, Tag)> {
        let mut attempts = Attempts::new(self.way);
        loop {
            match self.get_once().await {
                Ok(got) => return Ok(got),
                Err(failure) => attempts.again(failure).await?,
            }
        }
    }

    async fn get_once(&self) -> Result<(Bytes, Tag), Failure> {
        let found =
            begin(self.store, self.path, self.way, GetOptions::default()).await?;
        let meta = found.meta.clone();
        if meta.size > LONGEST {
            let what = format!("it is {} bytes long, and should be short", meta.size);
            return Err(Failure::Final(io::Error::other(what)));
        }
        let mut bytes = BytesMut::new();
        body(found, self.way, meta.size, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .await?;
        let tag = UpdateVersion { e_tag: meta.e_tag, version: meta.version };
        Ok((bytes.freeze(), Tag(tag)))
    }

    /// Makes `bytes` the object, if it is as `when` wants it; else there is no tag. An object
    /// with the very same bytes is taken for what was written, and only the answer lost.
    pub(crate) async fn put(
        &self,
        bytes: &Bytes,
        when: &When,
    ) -> io::Result<Option<Tag>> {
        let mut attempts = Attempts::new(self.way);
        loop {
            match self.put_once(bytes, when).await {
                Ok(Some(tag)) => return Ok(Some(tag)),
                Ok(None) => break,
                Err(failure) => attempts.again(failure).await?,
            }
        }
        match self.get().await {
            Ok((there, tag)) => Ok((there == bytes).then_some(tag)),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err),
        }
    }

    async fn put_once(
        &self,
        bytes: &Bytes,
        when: &When,
    ) -> Result<Option<Tag>, Failure> {
        let mode = match when {
            When::Always => PutMode::Overwrite,
            When::New => PutMode::Create,
            When::Same(Tag(version)) => PutMode::Update(version.clone()),
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        let put =
            self.store.put_opts(self.path, PutPayload::from(bytes.clone()), options);
        let time = self.way.limits.body_time(bytes.len() as u64);
        let put = time::timeout(time, put).await;
        match put.map_err(|_| Failure::late("the server does not answer"))? {
            Ok(done) => Ok(Some(Tag(done.into()))),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(None),
            // Of an object that is gone, stores say so or so.
            Err(Error::NotFound { .. }) if matches!(when, When::Same(_)) => Ok(None),
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
    fn of_two_who_write_if_nobody_was_faster_one_does() {
        run(async {
            let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let (path, way) = (Path::from("a/lock"), Way::new(Limits::default()));
            let short = Short { store: &store, path: &path, way: &way };
            let [one, two, three] = ["one", "two", "three"].map(Bytes::from);
            let first = short.put(&one, &When::New).await.unwrap().unwrap();
            assert!(short.put(&two, &When::New).await.unwrap().is_none());
            // As if the first answer had been lost.
            assert!(short.put(&one, &When::New).await.unwrap().is_some());
            let second = short.put(&two, &When::Same(first.clone())).await.unwrap();
            assert!(short.put(&three, &When::Same(first)).await.unwrap().is_none());
            let (there, tag) = short.get().await.unwrap();
            assert_eq!((there, Some(tag)), (two, second));
            short.put(&three, &When::Always).await.unwrap().unwrap();
            assert_eq!(short.get().await.unwrap().0, three);
        });
    }

    #[test]
    fn what_is_gone_is_not_what_was_there() {
        run(async {
            let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let (path, way) = (Path::from("lock"), Way::new(Limits::default()));
            let short = Short { store: &store, path: &path, way: &way };
            let tag =
                short.put(&Bytes::from("one"), &When::New).await.unwrap().unwrap();
            store.delete(&path).await.unwrap();
            let put = short.put(&Bytes::from("two"), &When::Same(tag)).await.unwrap();
            assert!(put.is_none());
            let err = short.get().await.unwrap_err();
            assert_eq!(err.kind(), io::ErrorKind::NotFound);
        });
    }
}
