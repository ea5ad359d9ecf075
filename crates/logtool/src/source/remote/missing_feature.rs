//! Reports that the feature `remote` is missing.

use std::fs::File;

use logtool_sinks::ExistingFiles;

use crate::{
    error::{Error, Result},
    source::{
        remote::{ListedObject, Remote},
        session::Session,
    },
};

/// There are no folders.
#[derive(Debug)]
pub enum UploadFolder {}

/// Fails, because this build has no feature `remote`.
pub fn open(url: &str, _: &Session) -> Result<Remote> {
    refuse(url)
}

/// Returns false: opening the URL reports the missing feature.
pub fn is_folder(_: &str) -> bool {
    false
}

/// Returns false: opening the URLs reports the missing feature.
pub fn is_same(_: &str, _: &str) -> bool {
    false
}

/// Returns `url` unchanged.
pub fn without_secrets(url: &str) -> String {
    url.to_owned()
}

/// Fails, because this build has no feature `remote`.
pub fn list(url: &str, _: &str, _: &Session) -> Result<Vec<ListedObject>> {
    refuse(url)
}

/// Fails, because this build has no feature `remote`.
pub fn stat(url: &str, _: &Session) -> Result<ListedObject> {
    refuse(url)
}

/// Fails, because this build has no feature `remote`.
pub fn folder(url: &str, _: &Session) -> Result<UploadFolder> {
    refuse(url)
}

fn refuse<T>(url: &str) -> Result<T> {
    let message =
        format!("{url} is a URL, and this logtool was built without `remote`");
    let hint = "download it first, or build with the feature `remote`";
    Err(Error::invalid_request(message).with_hint(hint).into())
}

impl UploadFolder {
    /// Cannot be called, because this build has no such folders.
    pub fn name(&self, _: &str) -> String {
        match *self {}
    }

    /// Cannot be called, because this build has no such folders.
    pub fn contains(&self, _: &str) -> Result<bool> {
        match *self {}
    }

    /// Cannot be called, because this build has no such folders.
    pub fn send(&self, _: &str, _: &mut File, _: ExistingFiles) -> Result<()> {
        match *self {}
    }

    /// Cannot be called, because this build has no such folders.
    pub fn remove(&self, _: &str) -> Result<()> {
        match *self {}
    }
}
