//! What a ULog's manifest notes, so that a log is resumed without reading anything.

use logtool_core::{Damage, TopicId};
use serde::{Deserialize, Serialize};

use crate::{
    header::{Head, Header},
    pauses::Correction,
    registry::{Declaration, Registry},
    streams::StreamsState,
};

/// What the format is called, in a manifest too.
pub(crate) const FORMAT_NAME: &str = "ulog";

/// All that readers of parts need, and the survey found out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Notes {
    /// The head of the file: version, start, flags, appended sections.
    pub(crate) head: Head,
    pub(crate) declarations: Vec<Declaration>,
    /// What cannot be read, in the order of the file.
    pub(crate) gaps: Vec<Damage>,
    /// Where the definitions end: a parameter after that is a change.
    pub(crate) data_start: u64,
    /// For each of the manifest's parts, the state at its start.
    pub(crate) starts: Vec<StreamsState>,
    /// The right values of counters after pauses, in the order of the file.
    #[serde(default)]
    pub(crate) corrections: Vec<Correction>,
    pub(crate) built_in: BuiltIn,
}

/// The topics beside the logged ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BuiltIn {
    pub(crate) logged_strings: TopicId,
    pub(crate) parameter_changes: TopicId,
    pub(crate) dropouts: TopicId,
    /// Strings and events, as people read them.
    pub(crate) messages: TopicId,
    /// Events in words, if the log says what they mean; and the raw topics of them.
    pub(crate) events: Option<TopicId>,
}

impl Notes {
    /// What all declarations come to.
    pub(crate) fn replay(&self) -> (Registry, Header) {
        let mut registry = Registry::default();
        let mut header = Header::new(self.head.clone());
        for declaration in &self.declarations {
            match declaration {
                Declaration::Format(name, fields) => {
                    registry.define(name, fields);
                }
                Declaration::Subscription { id, name, instance, .. } => {
                    registry.subscribe(*id, name, *instance);
                }
                Declaration::Metadata { kind, payload, change } => {
                    header.take(*kind, payload, *change);
                }
            }
        }
        registry.streams.correct(&self.corrections);
        header.finish(&mut registry.formats);
        (registry, header)
    }
}
