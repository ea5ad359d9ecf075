//! The objects of a dataset in an object store.

use std::{
    collections::{BTreeSet, HashSet},
    fs::File,
    hash::{BuildHasher as _, RandomState},
    io::Write as _,
    ops::ControlFlow,
    path::Path,
};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::{
    dataset::{
        markers::{self, STATE},
        storage::remote::io_pool,
    },
    error::{Context as _, Error, Result},
    source::remote::UploadFolder,
};

/// The names of the objects of a dataset, without those in its folder `_logtool`.
#[derive(Default)]
pub(super) struct StoredObjects {
    /// Hashes of the names, because there may be millions of objects.
    hashes: HashSet<u64>,
    hash: RandomState,
    /// The names of the objects that are in no folder of a table.
    top_level: BTreeSet<String>,
}

impl StoredObjects {
    /// Returns whether there is an object `name`.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.hashes.contains(&self.hash.hash_one(name))
    }

    /// Adds the object `name`.
    pub(super) fn add(&mut self, name: &str) {
        self.hashes.insert(self.hash.hash_one(name));
        if !name.contains('/') {
            self.top_level.insert(name.to_owned());
        }
    }

    /// Removes the object `name`.
    pub(super) fn remove(&mut self, name: &str) {
        self.hashes.remove(&self.hash.hash_one(name));
        self.top_level.remove(name);
    }

    /// Returns the names of the objects that are in no folder of a table.
    pub(super) fn top_level_names(&self) -> Vec<String> {
        self.top_level.iter().cloned().collect()
    }
}

/// All objects of a dataset.
#[derive(Default)]
pub(super) struct DatasetObjects {
    pub(super) objects: StoredObjects,
    /// The sorted names in `_logtool/tables`.
    pub(super) tables: Vec<String>,
    /// The sorted names in `_logtool/journal`.
    pub(super) journal: Vec<String>,
}

impl DatasetObjects {
    /// Lists the objects in `folder`.
    pub(super) fn read(folder: &UploadFolder) -> Result<Self> {
        let mut dataset = Self::default();
        folder.names("", &mut |name| {
            match name.strip_prefix(STATE).and_then(|name| name.strip_prefix('/')) {
                None => dataset.objects.add(name),
                Some(state) => {
                    if let Some(name) = state.strip_prefix("tables/") {
                        dataset.tables.push(name.to_owned());
                    } else if let Some(name) = state.strip_prefix("journal/") {
                        dataset.journal.push(name.to_owned());
                    }
                }
            }
            ControlFlow::Continue(())
        })?;
        dataset.tables.sort();
        dataset.journal.sort();
        Ok(dataset)
    }
}

/// Returns the number after the largest number at the start of one of `names`.
pub(super) fn next_number(names: &[String]) -> u64 {
    let number = |name: &String| -> Option<u64> {
        let end = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
        name.get(..end)?.parse().ok()
    };
    names.iter().filter_map(number).max().map_or(0, |last| last + 1)
}

/// Refuses a folder with objects of other programs.
pub(super) fn check_is_dataset(folder: &UploadFolder, shown: &Path) -> Result<()> {
    // Another run may create the dataset between the two listings.
    if first_name(folder, STATE)?.is_some() {
        return Ok(());
    }
    match first_name(folder, "")? {
        Some(name) if first_name(folder, STATE)?.is_none() => {
            Err(markers::not_a_dataset(shown, &name))
        }
        _ => Ok(()),
    }
}

/// Returns the name of an object in the folder `subfolder` of `folder`, if there is one, without
/// files of operating systems.
fn first_name(folder: &UploadFolder, subfolder: &str) -> Result<Option<String>> {
    let mut first = None;
    folder.names(subfolder, &mut |name| {
        if subfolder.is_empty() && !markers::is_foreign(name) {
            return ControlFlow::Continue(());
        }
        first = Some(name.to_owned());
        ControlFlow::Break(())
    })?;
    Ok(first)
}

/// Downloads the journal, which consists of the objects `tables` and `journal`, to the file
/// `path`.
pub(super) fn download_journal(
    folder: &UploadFolder,
    tables: &[String],
    journal: &[String],
    path: &Path,
) -> Result<()> {
    /// The number of objects in memory at the same time.
    const BATCH: usize = 64;
    let tables = tables.iter().map(|name| format!("{STATE}/tables/{name}"));
    let journal = journal.iter().map(|name| format!("{STATE}/journal/{name}"));
    let names: Vec<String> = tables.chain(journal).collect();
    let mut file = File::create(path).with_context(|| path.display().to_string())?;
    for names in names.chunks(BATCH) {
        let objects: Vec<(&String, Mutex<Bytes>)> =
            names.iter().map(|name| (name, Mutex::default())).collect();
        io_pool::for_each(&objects, |(name, content)| {
            let object = folder.get(name)?;
            let (bytes, _) =
                object.ok_or_else(|| Error::other(format!("{name} is gone")))?;
            *content.lock() = bytes;
            Ok(())
        })?;
        for (_, content) in objects {
            file.write_all(&content.into_inner())
                .with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}
