//! Records that do not fit their schemas: they are kept as they are, and told.

use logtool::{Error, Result, input::open::Opened, units::counted};
use logtool_core::{Copied, Damage, DamageKind};

/// The records that were copied though they cannot be decoded.
pub(super) struct Undecodable<'o> {
    name: &'o str,
    /// How many.
    pub(super) records: u64,
    /// The topics that they are of.
    topics: Vec<String>,
}

impl<'o> Undecodable<'o> {
    /// Those that were `copied` of `opened`.
    pub(super) fn of(opened: &'o Opened, copied: &Copied) -> Self {
        let manifest = opened.log.manifest();
        let no_definition = |damage: &&Damage| damage.kind == DamageKind::Definition;
        let unusable = manifest.damage.iter().filter(no_definition);
        let all = copied.undecodable.iter().chain(unusable);
        let records = all.clone().map(|damage| damage.records).sum();
        let mut topics = Vec::new();
        for topic in all.filter_map(|damage| damage.topic) {
            let label = manifest.get(topic).map(|topic| topic.label().into_owned());
            topics.extend(label.ok().filter(|label| !topics.contains(label)));
        }
        Self { name: &opened.input.name, records, topics }
    }

    /// What people should know of them.
    pub(super) fn remark(&self) -> Option<String> {
        (self.records > 0).then(|| {
            let (records, topics) = (counted(self.records, "record"), &self.topics);
            let topics = topics.join(", ");
            format!("kept as they are, but not to be decoded: {records} of {topics}")
        })
    }

    /// In a strict run, one of them is a failure.
    pub(super) fn check(&self, is_strict: bool) -> Result<()> {
        match self.remark().filter(|_| is_strict) {
            None => Ok(()),
            Some(_) => {
                let records = counted(self.records, "record");
                let what = format!(
                    "{}: {records} of {} cannot be decoded",
                    self.name,
                    self.topics.join(", ")
                );
                let hint = "without --strict, they are kept as they are";
                Err(Error::failed(what).with_hint(hint))
            }
        }
    }
}
