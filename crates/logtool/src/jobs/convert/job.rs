//! The conversion of one log to files: its inputs and its result.

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{Damage, Labels, Provenance, TopicId, TopicSet, TopicStatistics};
use logtool_sinks::{FileNames, NameStyle, Outputs};

use crate::{
    error::Remedy,
    jobs::convert::{ConvertRequest, Destination},
    source::input::open::OpenLog,
};

/// The names of the tables of topics, by the name and the instance of the topic.
pub(crate) type TableNames = BTreeMap<(String, u32), String>;

/// The conversion of one open log to files.
pub(crate) struct ExportJob<'j> {
    /// The log.
    pub(crate) opened: &'j OpenLog,
    /// Receives the files.
    pub(crate) outputs: &'j Arc<Outputs>,
    /// The format, and the selected records and columns.
    pub(crate) request: &'j ConvertRequest,
    /// The destination of the files.
    pub(crate) destination: &'j Destination,
    /// The names of the values of fields.
    pub(crate) labels: Option<Arc<Labels>>,
    /// The origin that the files state.
    pub(crate) provenance: &'j Provenance,
    /// The names of the tables; `None` if they are named after the topics.
    pub(crate) tables: Option<&'j TableNames>,
    /// Receives the number of bytes that were processed since the last call.
    pub(crate) progress: &'j (dyn Fn(u64) + Sync),
}

impl ExportJob<'_> {
    /// Returns the names of files: by `style`, unless the job states names.
    pub(super) fn names(&self, style: NameStyle) -> FileNames {
        match (self.tables, &style) {
            (None, _) => FileNames::new(style, &self.opened.log.manifest().topics),
            (Some(tables), NameStyle::FolderIndex) => {
                FileNames::from_stems(style, tables.clone())
            }
            (Some(tables), _) => {
                FileNames::from_stems(NameStyle::OmitInstanceZero, tables.clone())
            }
        }
    }
}

/// The result of a conversion, before its outputs are completed.
#[derive(Default)]
pub(crate) struct ExportSummary {
    /// The topics that were read.
    pub(crate) topics: TopicSet,
    /// The number of tables.
    pub(crate) tables: u64,
    /// The number of rows in all tables.
    pub(crate) rows: u64,
    /// The number of rows for each topic, by its name and instance.
    pub(crate) topic_rows: BTreeMap<(String, u32), u64>,
    /// The records that were read of each topic, where they were counted.
    pub(crate) seen: BTreeMap<TopicId, TopicStatistics>,
    /// The damage that was found while the log was read.
    pub(crate) damage: Vec<Damage>,
    /// Remarks for users, one sentence each.
    pub(crate) remarks: Vec<String>,
    /// A setting that helps against a loss that a remark describes.
    pub(crate) remedy: Option<Remedy>,
}
