//! Records that do not fit their schemas: a repair keeps and counts them.

use logtool_core::{CopyReport, Damage, DamageKind};

use crate::{
    error::{Error, Remedy, Result},
    source::{input::open::OpenLog, losses::Strictness},
    text::units::count_of,
};

/// The records that were copied though they cannot be decoded.
pub(super) struct UndecodableRecords<'o> {
    name: &'o str,
    /// The number of records.
    pub(super) records: u64,
    /// The labels of their topics.
    topics: Vec<String>,
}

impl<'o> UndecodableRecords<'o> {
    /// Collects the undecodable records of the copy `copied` of `opened`. The writer dropped those
    /// of the topics in `dropped`.
    pub(super) fn new(
        opened: &'o OpenLog,
        copied: &CopyReport,
        dropped: &[Damage],
    ) -> Self {
        let manifest = opened.log.manifest();
        let no_definition = |damage: &&Damage| damage.kind == DamageKind::Definition;
        let unusable = manifest.damage.iter().filter(no_definition);
        let is_kept = |damage: &&Damage| {
            dropped.iter().all(|dropped| dropped.topic != damage.topic)
        };
        let damage_list = copied.undecodable.iter().filter(is_kept).chain(unusable);
        let records = damage_list.clone().map(|damage| damage.records).sum();
        let mut topics = Vec::new();
        for topic in damage_list.filter_map(|damage| damage.topic) {
            let label = manifest.topic(topic).map(|topic| topic.label().into_owned());
            topics.extend(label.ok().filter(|label| !topics.contains(label)));
        }
        Self { name: &opened.input.name, records, topics }
    }

    /// Returns a remark for users, if there are such records.
    pub(super) fn remark(&self) -> Option<String> {
        (self.records > 0).then(|| {
            let (records, topics) = (count_of(self.records, "record"), &self.topics);
            let topics = topics.join(", ");
            format!("kept unchanged, but not decodable: {records} of {topics}")
        })
    }

    /// Fails in a strict request if there are such records.
    pub(super) fn check(&self, strictness: Strictness) -> Result<()> {
        if self.records == 0 || !strictness.is_strict() {
            return Ok(());
        }
        let records = count_of(self.records, "record");
        let topics = self.topics.join(", ");
        let message = format!("{}: {records} of {topics} cannot be decoded", self.name);
        Err(Error::other(message).with_remedy(Remedy::KeepUndecodable))
    }
}
