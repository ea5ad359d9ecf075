//! The private state that a ULog stores in its manifest, so that the log can be opened
//! again without reading the file.

use logtool_core::{Damage, TopicId};
use serde::{Deserialize, Serialize};

use crate::{
    declarations::metadata::{FileHeader, Metadata},
    time::pauses::Correction,
    topics::{
        registry::{Declaration, Registry},
        streams::StreamsState,
    },
};

/// The name of the format, also in manifests.
pub(crate) const FORMAT_NAME: &str = "ulog";

/// The results of the index pass that readers of parts need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FormatState {
    /// The header of the file: version, start, flags, appended sections.
    pub(crate) file_header: FileHeader,
    pub(crate) declarations: Vec<Declaration>,
    /// The byte ranges that cannot be read, in file order.
    pub(crate) damaged_ranges: Vec<Damage>,
    /// The end of the definitions: a parameter message after this offset is a change.
    pub(crate) data_start: u64,
    /// The state at the start of each part of the manifest.
    pub(crate) starts: Vec<StreamsState>,
    /// The correct values of counters after pauses, in file order.
    #[serde(default)]
    pub(crate) corrections: Vec<Correction>,
    pub(crate) built_in: BuiltIn,
    /// Whether this is the state of an excerpt that omits topics.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_partial: bool,
}

/// The built-in topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BuiltIn {
    pub(crate) logged_strings: TopicId,
    pub(crate) parameter_changes: TopicId,
    pub(crate) dropouts: TopicId,
    /// Strings and events in readable form.
    pub(crate) messages: TopicId,
    /// Decoded events, if the log contains their definitions.
    pub(crate) events: Option<TopicId>,
}

impl FormatState {
    /// Replays all declarations. Returns the types and topics, and the metadata.
    pub(crate) fn replay(&self) -> (Registry, Metadata) {
        let mut registry = Registry::default();
        let mut metadata = Metadata::new(self.file_header.clone());
        for declaration in &self.declarations {
            match declaration {
                Declaration::Format(name, fields) => {
                    registry.define(name, fields);
                }
                Declaration::Subscription { id, name, instance, .. } => {
                    registry.subscribe(*id, name, *instance);
                }
                Declaration::OmittedTopics { .. } => {}
                Declaration::Metadata { kind, payload, change } => {
                    metadata.add(*kind, payload, *change);
                }
            }
        }
        registry.streams.correct(&self.corrections);
        metadata.finish(&mut registry.formats);
        (registry, metadata)
    }
}
