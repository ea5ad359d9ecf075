//! What is said where the feature is not there.

use std::fs::File;

use anyhow::Result;
use logtool_sinks::Existing;

use crate::{
    complaint::Complaint,
    remote::{Listed, Remote},
};

/// There are no folders.
pub(crate) enum Folder {}

/// Says that there is no way.
pub(crate) fn open(url: &str) -> Result<Remote> {
    refuse(url)
}

/// That, opening it will say.
pub(crate) fn is_folder(_: &str) -> bool {
    false
}

/// That, opening them will say.
pub(crate) fn is_same(_: &str, _: &str) -> bool {
    false
}

/// Nothing is known to be secret in it.
pub(crate) fn shown(url: &str) -> String {
    url.to_owned()
}

/// Says that there is no way.
pub(crate) fn list(url: &str, _: &str) -> Result<Vec<Listed>> {
    refuse(url)
}

/// Says that there is no way.
pub(crate) fn look(url: &str) -> Result<Listed> {
    refuse(url)
}

/// Says that there is no way.
pub(crate) fn folder(url: &str) -> Result<Folder> {
    refuse(url)
}

fn refuse<T>(url: &str) -> Result<T> {
    let what = format!("{url} is a URL, and this logtool was built without `cloud`");
    let hint = "download it first, or build with `--features cloud`";
    Err(Complaint::misuse(what).hint(hint).into())
}

impl Folder {
    pub(crate) fn name(&self, _: &str) -> String {
        match *self {}
    }

    pub(crate) fn has(&self, _: &str) -> Result<bool> {
        match *self {}
    }

    pub(crate) fn send(&self, _: &str, _: &mut File, _: Existing) -> Result<()> {
        match *self {}
    }

    pub(crate) fn remove(&self, _: &str) -> Result<()> {
        match *self {}
    }
}
