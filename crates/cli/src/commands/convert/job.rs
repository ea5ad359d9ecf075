//! The conversion of one log: what it is given, and what comes of it.

use std::sync::Arc;

use logtool_core::{Damage, Labels, Provenance, TopicSet};
use logtool_sinks::Outputs;

use crate::{args::ConvertArgs, opened::Opened};

/// One log on its way into tables.
pub(super) struct Job<'j> {
    pub(super) opened: &'j Opened,
    pub(super) outputs: &'j Arc<Outputs>,
    pub(super) args: &'j ConvertArgs,
    pub(super) labels: Option<Arc<Labels>>,
    /// What the outputs say of where they are from.
    pub(super) provenance: &'j Provenance,
    /// Told how many more bytes of the log are done.
    pub(super) progress: &'j (dyn Fn(u64) + Sync),
}

/// What was made, before it gets its names.
pub(super) struct Made {
    /// The topics that were read.
    pub(super) topics: TopicSet,
    pub(super) tables: u64,
    pub(super) rows: u64,
    pub(super) damage: Vec<Damage>,
    /// What people should know of it: a sentence each.
    pub(super) remarks: Vec<String>,
}
