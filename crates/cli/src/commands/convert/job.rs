//! The conversion of one log: what it is given, and what comes of it.

use std::{collections::BTreeMap, sync::Arc};

use logtool::input::open::Opened;
use logtool_core::{Damage, Labels, Provenance, Seen, TopicId, TopicSet};
use logtool_sinks::{FileNames, NameStyle, Outputs};

use crate::args::ConvertArgs;

/// The names of tables, by the name and the instance of their topics.
pub(in crate::commands) type TableNames = BTreeMap<(String, u32), String>;

/// One log on its way into tables.
pub(in crate::commands) struct Job<'j> {
    pub(in crate::commands) opened: &'j Opened,
    pub(in crate::commands) outputs: &'j Arc<Outputs>,
    pub(in crate::commands) args: &'j ConvertArgs,
    pub(in crate::commands) labels: Option<Arc<Labels>>,
    /// What the outputs say of where they are from.
    pub(in crate::commands) provenance: &'j Provenance,
    /// What the tables are called, if somebody else has a say in that.
    pub(in crate::commands) tables: Option<&'j TableNames>,
    /// Told how many more bytes of the log are done.
    pub(in crate::commands) progress: &'j (dyn Fn(u64) + Sync),
}

impl Job<'_> {
    /// What files are called; by `style`, if nobody else has a say in that.
    pub(super) fn names(&self, style: NameStyle) -> FileNames {
        match (self.tables, &style) {
            (None, _) => FileNames::new(style, &self.opened.log.manifest().topics),
            (Some(tables), NameStyle::Index) => FileNames::given(style, tables.clone()),
            (Some(tables), _) => FileNames::given(NameStyle::FirstBare, tables.clone()),
        }
    }
}

/// What was made, before it gets its names.
#[derive(Default)]
pub(in crate::commands) struct Made {
    /// The topics that were read.
    pub(in crate::commands) topics: TopicSet,
    pub(in crate::commands) tables: u64,
    pub(in crate::commands) rows: u64,
    /// The rows of each table of a topic, by the name and the instance of that.
    pub(in crate::commands) rows_of: BTreeMap<(String, u32), u64>,
    /// What was read of each topic, where that is known.
    pub(in crate::commands) seen: BTreeMap<TopicId, Seen>,
    pub(in crate::commands) damage: Vec<Damage>,
    /// What people should know of it: a sentence each.
    pub(in crate::commands) remarks: Vec<String>,
}
