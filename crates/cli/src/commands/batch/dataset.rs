//! A data set: its place, and what is noted there.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, MutexGuard},
};

use logtool::{Error, Result, input::url, output::guarded::Guarded};
use logtool_sinks::{Existing, Outputs, Partition};

use crate::{
    args::GlobalArgs,
    commands::batch::{
        entry::Entry,
        journal::{Journal, Line},
        local::Here,
        shard::Shard,
        storage::Place,
        tables::Shape,
    },
};

#[cfg(feature = "remote")]
use crate::commands::batch::remote::There;

/// What a log becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Files that are each in their table.
    Tables,
    /// Files that only mean something together: they have a folder.
    Together,
    /// A file in the folder of the data set itself.
    OneFile,
}

/// See the module.
pub(super) struct Dataset {
    place: Box<dyn Place>,
}

impl Dataset {
    /// The data set in the folder `dir`, which may be a URL, of which this run does the part
    /// `shard`.
    pub(super) fn open(
        dir: &Path,
        shard: Option<Shard>,
        global: &GlobalArgs,
    ) -> Result<Self> {
        let place: Box<dyn Place> = match url::of(dir) {
            None => Box::new(Here::open(dir, shard, &global.session)?),
            #[cfg(feature = "remote")]
            Some(url) => Box::new(There::open(url, shard, global)?),
            #[cfg(not(feature = "remote"))]
            Some(url) => match logtool::remote::folder(url, &global.session)? {},
        };
        Ok(Self { place })
    }

    /// What people call it.
    pub(super) fn shown(&self) -> &Path {
        self.place.shown()
    }

    /// What is noted.
    pub(super) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.place.journal()
    }

    /// Says why nothing more can be written, if so.
    pub(super) fn check(&self) -> Result<()> {
        self.place.check()
    }

    /// The files of the log called `log`, which are of a `kind`, and replace what is there.
    pub(super) fn outputs(&self, log: &str, kind: Kind) -> Guarded {
        let partition = Partition::new(log, self.place.staging());
        let partition = match kind {
            Kind::Tables => partition,
            Kind::Together => partition.in_log_folder(),
            Kind::OneFile => partition.unpartitioned(),
        };
        self.guarded(partition, Existing::Replace)
    }

    fn guarded(&self, partition: Partition, existing: Existing) -> Guarded {
        let outputs = Outputs::for_partition(self.place.dir(), partition, existing);
        self.place.guard(outputs)
    }

    /// The tables for rows like `shapes`, in their order.
    pub(super) fn tables(&self, shapes: &[Shape]) -> Result<Vec<String>> {
        self.place.tables(shapes)
    }

    /// Lets the types of tables without files decide nothing any more: who calls this has the
    /// data set alone.
    pub(super) fn forget_idle(&self) -> Result<()> {
        let idle = self.journal().idle()?;
        self.place.forget(&idle)
    }

    /// Gives the files `outputs` of the log of `entry` their names, and notes that it is done;
    /// what it had before, and has no more, goes. If that fails, none of its files stays.
    pub(super) fn commit(
        &self,
        outputs: &Arc<Outputs>,
        entry: &mut Entry,
    ) -> Result<()> {
        let new = self.names(outputs)?;
        let mut all = new.clone();
        let old = self.journal().entry(&entry.log)?;
        all.extend(old.into_iter().flat_map(|old| old.files));
        let files: Vec<String> = all.iter().cloned().collect();
        let (log, source) = (&*entry.log, &*entry.source);
        self.place.note(&Line::Begun { log, source, files: &files })?;
        let mut settle = || -> Result<()> {
            self.put(outputs, Existing::Replace)?;
            self.remove(all.difference(&new))?;
            entry.files = new.iter().cloned().collect();
            self.finish(entry)
        };
        let settled = settle();
        if settled.is_err() {
            // Some have their names. Where that cannot be noted, the next run clears it.
            let _ = self.clear(&entry.log, &files);
        }
        settled
    }

    /// Adds the file called `name`, which is in no table, and which `write` writes. One that
    /// is there is replaced, or stays, also if another run adds it meanwhile.
    pub(super) fn add(
        &self,
        name: &str,
        existing: Existing,
        write: impl FnOnce(&Arc<Outputs>) -> Result<()>,
    ) -> Result<()> {
        let stays = || existing == Existing::Refuse && self.place.has(name);
        if stays() {
            return Ok(());
        }
        let partition = Partition::new("", self.place.staging()).unpartitioned();
        let outputs = self.guarded(partition, existing);
        match write(&outputs).and_then(|()| self.put(&outputs, existing)) {
            Err(_) if stays() => Ok(()),
            done => done,
        }
    }

    /// Gives the files `outputs` their names.
    fn put(&self, outputs: &Arc<Outputs>, existing: Existing) -> Result<()> {
        let names = self.names(outputs)?;
        outputs.commit()?;
        let files: Vec<&str> = names.iter().map(String::as_str).collect();
        self.place.put(&files, existing)
    }

    /// Notes that a log is done.
    pub(super) fn finish(&self, entry: &Entry) -> Result<()> {
        self.place.note(&Line::Done(entry))
    }

    /// Whether all `files` are there.
    pub(super) fn has(&self, files: &[String]) -> bool {
        files.iter().all(|file| self.place.has(file))
    }

    /// The files that are in no table.
    pub(super) fn whole(&self) -> Result<Vec<String>> {
        self.place.whole()
    }

    /// Removes what the log called `log` has, or was about to have.
    pub(super) fn clear(&self, log: &str, files: &[String]) -> Result<()> {
        self.remove(files)?;
        self.place.note(&Line::Gone { log })
    }

    /// Removes `files`, as far as they are there.
    pub(super) fn remove<'f>(
        &self,
        files: impl IntoIterator<Item = &'f String>,
    ) -> Result<()> {
        let files: Vec<&str> = files.into_iter().map(String::as_str).collect();
        self.place.remove(&files)
    }

    /// What the files `outputs` are called in the data set, with slashes.
    fn names(&self, outputs: &Arc<Outputs>) -> Result<BTreeSet<String>> {
        let dir = self.place.dir();
        let name = |place: &Path| -> Result<String> {
            let Some(name) = place.strip_prefix(dir).ok().and_then(Path::to_str) else {
                return Err(Error::failed(format!(
                    "{} is not in {}",
                    place.display(),
                    dir.display()
                )));
            };
            Ok(name.replace(std::path::MAIN_SEPARATOR, "/"))
        };
        outputs.places().iter().map(|place| name(place)).collect()
    }
}
