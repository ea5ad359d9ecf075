//! Which files the catalog of a data set is: one, or one for each part of the work. Each log is in
//! one of them.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use logtool::Result;
use logtool_sinks::Existing;

use crate::commands::batch::{
    catalog,
    dataset::Dataset,
    entry::Entry,
    inputs::Found,
    shard::{Division, Shard},
};

/// What catalogs are written of.
pub(in crate::commands::batch) struct Catalogs<'c> {
    pub(in crate::commands::batch) dataset: &'c Dataset,
    pub(in crate::commands::batch) division: &'c Division,
    /// Whether they are also written as JSON Lines.
    pub(in crate::commands::batch) as_lines: bool,
    pub(in crate::commands::batch) options: &'c str,
    /// The logs that failed, by their names, and why.
    pub(in crate::commands::batch) errors: &'c BTreeMap<String, (Found, String)>,
}

impl Catalogs<'_> {
    /// Writes the catalog of the part that this run does. Those of runs that shared the work
    /// otherwise go: what they know of the logs of other parts is first in the catalogs of
    /// these, as far as they have none.
    pub(in crate::commands::batch) fn write(&self) -> Result<()> {
        let own = self.division.own;
        self.write_of(own, Existing::Replace)?;
        let there = self.dataset.whole()?;
        let old = || there.iter().filter(|name| is_old(name, own));
        if old().next().is_some() {
            let mut others = self.division.others();
            others
                .try_for_each(|other| self.write_of(Some(other), Existing::Refuse))?;
        }
        self.dataset.remove(old())
    }

    fn write_of(&self, shard: Option<Shard>, existing: Existing) -> Result<()> {
        let stem = stem(shard);
        let logs = self.logs(shard);
        for is_lines in
            [false, true].into_iter().filter(|lines| self.as_lines || !lines)
        {
            let name =
                format!("{stem}{}", if is_lines { ".jsonl" } else { ".parquet" });
            let mut rows = logs.iter().map(|name| self.rows(name));
            self.dataset.add(&name, existing, |outputs| {
                catalog::write(outputs, &stem, is_lines, self.options, &mut rows)
            })?;
        }
        Ok(())
    }

    /// The names of the logs of the part `shard` that are done or failed.
    fn logs(&self, shard: Option<Shard>) -> Vec<String> {
        let mut logs: Vec<String> = {
            let journal = self.dataset.journal();
            let done = journal.logs().filter(|(name, _)| journal.done(name).is_some());
            done.map(|(name, _)| name.clone()).collect()
        };
        logs.extend(self.errors.keys().cloned());
        logs.sort();
        logs.dedup();
        logs.retain(|name| self.division.is_of(name, shard));
        logs
    }

    fn rows(&self, name: &str) -> Result<RecordBatch> {
        let known = self.dataset.journal().entry(name)?;
        let failed = self.errors.get(name);
        let new =
            || failed.map(|(found, _)| Entry::of(found, name)).unwrap_or_default();
        let mut entry = known.unwrap_or_else(new);
        entry.error = failed.map(|(_, error)| error.clone());
        catalog::rows(&entry)
    }
}

/// What the catalog of the part `shard` is called, without its extension.
fn stem(shard: Option<Shard>) -> String {
    shard.map_or("_catalog".to_owned(), |shard| format!("_catalog-{shard}"))
}

/// Whether `name` is a catalog of runs that share the work otherwise than one that does the
/// part `own`.
fn is_old(name: &str, own: Option<Shard>) -> bool {
    let Some((stem, "parquet" | "jsonl")) = name.rsplit_once('.') else { return false };
    let count = match stem.strip_prefix("_catalog") {
        Some("") => None,
        Some(part) => match part.split_once("-of-").map(|(_, count)| count.parse()) {
            Some(Ok(count)) => Some(count),
            _ => return false,
        },
        None => return false,
    };
    count != own.map(|own| own.count)
}
