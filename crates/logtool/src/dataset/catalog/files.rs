//! The catalog files of a dataset: one, or one for each shard. Each log is in one of them.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use logtool_sinks::ExistingFiles;

use crate::{
    dataset::{
        catalog::{self, CatalogColumns, CatalogFormat},
        entry::LogEntry,
        inputs::InputLog,
        shard::{Division, Shard},
        storage::Dataset,
    },
    error::Result,
};

/// The content of the catalogs of a dataset.
pub(in crate::dataset) struct DatasetCatalogs<'c> {
    pub(in crate::dataset) dataset: &'c Dataset,
    pub(in crate::dataset) division: &'c Division,
    /// Whether the catalogs are written as JSON Lines too.
    pub(in crate::dataset) has_json_lines: bool,
    /// The digest of the options of the conversion.
    pub(in crate::dataset) options: &'c str,
    pub(in crate::dataset) columns: CatalogColumns,
    /// The logs that failed, by their names, with the messages.
    pub(in crate::dataset) errors: &'c BTreeMap<String, (InputLog, String)>,
}

impl DatasetCatalogs<'_> {
    /// Writes the catalog of the shard of this run, and removes catalogs of runs with another
    /// number of shards. What these state about logs of other shards is first written to the
    /// catalogs of those shards, unless they exist.
    pub(in crate::dataset) fn write(&self) -> Result<()> {
        let own_shard = self.division.own_shard;
        self.write_shard(own_shard, ExistingFiles::Replace)?;
        let files = self.dataset.top_level_files()?;
        let outdated: Vec<&String> =
            files.iter().filter(|name| is_outdated(name, own_shard)).collect();
        if !outdated.is_empty() {
            for other in self.division.other_shards() {
                self.write_shard(Some(other), ExistingFiles::Refuse)?;
            }
        }
        self.dataset.remove(outdated)
    }

    fn write_shard(&self, shard: Option<Shard>, existing: ExistingFiles) -> Result<()> {
        let stem = stem(shard);
        let logs = self.logs(shard);
        let json_lines = self.has_json_lines.then_some(CatalogFormat::JsonLines);
        for format in [CatalogFormat::Parquet].into_iter().chain(json_lines) {
            let name = format!("{stem}.{}", format.extension());
            let mut rows = logs.iter().map(|name| self.rows(name));
            self.dataset.add_file(&name, existing, |outputs| {
                let (options, columns) = (self.options, self.columns);
                catalog::write(outputs, &stem, format, options, columns, &mut rows)
            })?;
        }
        Ok(())
    }

    /// Returns the names of the finished and failed logs of `shard`.
    fn logs(&self, shard: Option<Shard>) -> Vec<String> {
        let mut logs: Vec<String> = {
            let journal = self.dataset.journal();
            let names = journal.logs().map(|(name, _)| name);
            names.filter(|name| journal.finished_log(name).is_some()).cloned().collect()
        };
        logs.extend(self.errors.keys().cloned());
        logs.sort();
        logs.dedup();
        logs.retain(|name| self.division.is_in(name, shard));
        logs
    }

    fn rows(&self, name: &str) -> Result<RecordBatch> {
        let known = self.dataset.journal().entry(name)?;
        let failed = self.errors.get(name);
        let mut entry = known.unwrap_or_else(|| {
            failed.map(|(log, _)| LogEntry::new(log, name)).unwrap_or_default()
        });
        entry.error = failed.map(|(_, error)| error.clone());
        catalog::rows(&entry, self.columns)
    }
}

/// Returns the name of the catalog of `shard`, without its extension.
fn stem(shard: Option<Shard>) -> String {
    shard.map_or("_catalog".to_owned(), |shard| format!("_catalog-{shard}"))
}

/// Returns whether the file `name` is a catalog of a run with another number of shards than a
/// run of the shard `own_shard`.
fn is_outdated(name: &str, own_shard: Option<Shard>) -> bool {
    let Some((stem, "parquet" | "jsonl")) = name.rsplit_once('.') else { return false };
    let count = match stem.strip_prefix("_catalog") {
        Some("") => None,
        Some(shard) => match shard.split_once("-of-").map(|(_, count)| count.parse()) {
            Some(Ok(count)) => Some(count),
            _ => return false,
        },
        None => return false,
    };
    count != own_shard.map(Shard::count)
}
