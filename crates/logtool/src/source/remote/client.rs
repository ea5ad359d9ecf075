//! The client of a session for object stores and web servers.

use std::{fs::File, io, ops::ControlFlow};

use bytes::Bytes;
use logtool_remote::{IfExists, Location, ObjectVersion, Scheme, WriteCondition};
use logtool_sinks::ExistingFiles;

use crate::{
    error::{Context as _, Error, ErrorKind, Result},
    source::{
        remote::{ListedObject, Remote},
        session::{Connection, Session},
    },
    text::units,
};

/// Opens the log at `url`.
pub fn open(url: &str, session: &Session) -> Result<Remote> {
    let location = parse(url)?;
    let name = location.to_string();
    if location.is_folder() && location.scheme() != Scheme::Http {
        return Err(Error::other("it is a folder, not a log").cannot_open(name));
    }
    let client = session.connection.client()?;
    let mut task = None;
    let mut on_progress = |bytes, len: Option<u64>| {
        if session.is_stopped() {
            return Err(io::Error::other("the call was ended"));
        }
        let task = task.get_or_insert_with(|| {
            let len_text = len.map_or_else(
                || "of unknown length".to_owned(),
                |len| units::Bytes(len).to_string(),
            );
            let message = format!(
                "downloads the whole file ({len_text}): the server does not support ranges"
            );
            session.note(&name, &message);
            session.progress.start(&name, len.unwrap_or(0))
        });
        task.set_position(bytes);
        Ok(())
    };
    let opened = client.open(&location, &mut on_progress);
    let opened = opened.map_err(|err| explain(err, &location)).cannot_open(&name)?;
    Ok(Remote { name, source: opened.source, is_whole: opened.is_downloaded })
}

/// Returns whether `url` is a folder whose contents can be listed.
pub fn is_folder(url: &str) -> bool {
    let location = Location::parse(url);
    location
        .is_ok_and(|location| location.is_folder() && location.scheme() != Scheme::Http)
}

/// Returns whether the URLs `a` and `b` name the same object of a store.
pub fn is_same(a: &str, b: &str) -> bool {
    let location = |url: &str| {
        let location = Location::parse(url).ok();
        location.filter(|location| location.scheme() != Scheme::Http)
    };
    let (Some(a), Some(b)) = (location(a), location(b)) else { return false };
    // Stores ignore slashes at both ends of keys.
    let key = |location: &Location| location.key().trim_matches('/').to_owned();
    (a.scheme(), a.root(), key(&a)) == (b.scheme(), b.root(), key(&b))
}

/// Returns `url` without its secrets.
pub fn without_secrets(url: &str) -> String {
    Location::parse(url)
        .map_or_else(|_| url.to_owned(), |location| location.to_string())
}

/// Lists all objects in the folder `url`, sorted by URL, except those in the folder `but`, unless
/// that is empty.
pub fn list(url: &str, but: &str, session: &Session) -> Result<Vec<ListedObject>> {
    let location = parse(url)?;
    let listed = session
        .connection
        .client()?
        .list(&location)
        .map_err(|err| explain(err, &location));
    let listed =
        listed.with_context(|| location.to_string())?.into_iter().map(listed_object);
    let is_selected =
        |object: &ListedObject| but.is_empty() || !object.url.starts_with(but);
    Ok(listed.filter(is_selected).collect())
}

/// Returns the properties of the object at `url`. If the server does not provide them, the size
/// is 0 and the time unknown.
pub fn stat(url: &str, session: &Session) -> Result<ListedObject> {
    let location = parse(url)?;
    match session.connection.client()?.metadata(&location) {
        Ok(object) => Ok(listed_object(object)),
        // Signed URLs may permit reading only.
        Err(err)
            if err.kind() == io::ErrorKind::Other
                || location.scheme() == Scheme::Http
                    && err.kind() == io::ErrorKind::PermissionDenied =>
        {
            let url = location.to_string();
            Ok(ListedObject { url, bytes: 0, modified: None, tag: None })
        }
        Err(err) => Err(explain(err, &location)),
    }
}

fn listed_object(object: logtool_remote::ObjectInfo) -> ListedObject {
    let logtool_remote::ObjectInfo { location, bytes, modified, tag } = object;
    ListedObject { url: location.to_string(), bytes, modified, tag }
}

/// A folder that files are uploaded to.
#[derive(Debug)]
pub struct UploadFolder {
    location: Location,
    connection: Connection,
}

/// Returns the folder `url`.
pub fn folder(url: &str, session: &Session) -> Result<UploadFolder> {
    let location = parse(url)?;
    if location.scheme() == Scheme::Http {
        let message = format!("{location}: a web server cannot be written to");
        let hint = "s3://, gs:// and az:// can";
        return Err(Error::invalid_request(message).with_hint(hint));
    }
    Ok(UploadFolder { location, connection: session.connection.clone() })
}

impl UploadFolder {
    /// Returns the URL of the file `name` in the folder.
    pub fn name(&self, name: &str) -> String {
        self.location.join(name).to_string()
    }

    /// Returns whether the folder contains a file `name`.
    pub fn contains(&self, name: &str) -> Result<bool> {
        let location = self.location.join(name);
        let exists = self
            .connection
            .client()?
            .exists(&location)
            .map_err(|err| explain(err, &location));
        exists.with_context(|| location.to_string())
    }

    /// Uploads `file` as `name`.
    pub fn send(
        &self,
        name: &str,
        file: &mut File,
        existing: ExistingFiles,
    ) -> Result<()> {
        let if_exists = match existing {
            ExistingFiles::Refuse => IfExists::Fail,
            ExistingFiles::Replace => IfExists::Replace,
        };
        let location = self.location.join(name);
        self.connection.client()?.upload(file, &location, if_exists).map_err(|err| {
            match err.kind() {
                io::ErrorKind::AlreadyExists => {
                    Error::new(ErrorKind::AlreadyExists, "it exists already")
                }
                io::ErrorKind::NotFound => Error::other("there is no such bucket"),
                _ => explain(err, &location),
            }
        })
    }

    /// Deletes the file `name`, if it exists.
    pub fn remove(&self, name: &str) -> Result<()> {
        let location = self.location.join(name);
        let removed = self
            .connection
            .client()?
            .remove(&location)
            .map_err(|err| explain(err, &location));
        removed.with_context(|| location.to_string())
    }

    /// Calls `take` with the name of each file in `subfolder` and its subfolders, in any
    /// order, until it breaks.
    pub fn names(
        &self,
        subfolder: &str,
        take: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<()> {
        let location = match subfolder {
            "" => self.location.clone(),
            subfolder => self.location.join(subfolder),
        };
        let listed = self.connection.client()?.names(&location, take);
        let listed = listed.map_err(|err| explain(err, &location));
        listed.with_context(|| location.to_string())
    }

    /// Reads the small file `name` and its version; `None` if it does not exist.
    pub fn get(&self, name: &str) -> Result<Option<(Bytes, ObjectVersion)>> {
        let location = self.location.join(name);
        match self.connection.client()?.get(&location) {
            Ok(got) => Ok(Some(got)),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => {
                Err(explain(err, &location)).with_context(|| location.to_string())
            }
        }
    }

    /// Writes `bytes` as the small file `name` if the existing one satisfies `when`; otherwise
    /// returns `None`.
    pub fn put(
        &self,
        name: &str,
        bytes: &Bytes,
        condition: &WriteCondition,
    ) -> Result<Option<ObjectVersion>> {
        let location = self.location.join(name);
        let result = self.connection.client()?.put(&location, bytes, condition);
        result
            .map_err(|err| explain(err, &location))
            .with_context(|| location.to_string())
    }
}

/// Returns whether `err` means that the store does not support the operation.
pub fn is_unsupported(err: &Error) -> bool {
    let err = err.io_error();
    err.is_some_and(|err| err.kind() == io::ErrorKind::Unsupported)
}

fn parse(url: &str) -> Result<Location> {
    Location::parse(url).map_err(|err| Error::invalid_request(err.to_string()))
}

/// Adds a hint to `err`.
fn explain(err: io::Error, location: &Location) -> Error {
    if err.kind() == io::ErrorKind::NotFound
        && location.scheme() != Scheme::Http
        && !location.is_folder()
    {
        let message = format!("{err} (the name of a folder ends with `/`)");
        return Error::other(message);
    }
    let hint = match (err.kind(), location.scheme()) {
        (io::ErrorKind::PermissionDenied, Scheme::S3) => {
            "the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION provide \
             credentials and the region; AWS_SKIP_SIGNATURE=true is for public data"
        }
        (io::ErrorKind::PermissionDenied, Scheme::Gcs) => {
            "GOOGLE_APPLICATION_CREDENTIALS names a file with credentials; \
             GOOGLE_SKIP_SIGNATURE=true is for public data"
        }
        (io::ErrorKind::PermissionDenied, Scheme::Azure) => {
            "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY provide credentials; \
             AZURE_SKIP_SIGNATURE=true is for public data"
        }
        _ => return err.into(),
    };
    Error::other(err.to_string()).with_hint(hint)
}
