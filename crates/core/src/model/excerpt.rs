//! Small manifests for readers of some topics in some parts of a log.

use std::collections::BTreeMap;

use crate::model::{
    damage::Damage,
    manifest::{Manifest, Part},
    topic::{Topic, TopicId, TopicSet},
};

/// A small manifest for reading some topics in some parts of a log.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// The manifest. It has the topics in [`topics`](Self::topics), which are renumbered.
    pub manifest: Manifest,
    /// The topics of the log that the manifest contains. The order of their ids is the same
    /// in both.
    pub topics: TopicSet,
}

impl Excerpt {
    /// Returns the id in the excerpt of the topic that has the id `id` in the log.
    pub fn renumbered_topic(&self, id: TopicId) -> Option<TopicId> {
        self.topics.position(id)
    }
}

/// Returns the entries of `damage` that start in `parts`. `damage` is in the order of the
/// file.
pub fn damage_within(damage: &[Damage], parts: &[Part]) -> Vec<Damage> {
    let first_from =
        |offset: u64| damage.partition_point(|entry| entry.bytes.start < offset);
    let mut damage_in_parts = Vec::new();
    for part in parts {
        let indices = first_from(part.bytes.start)..first_from(part.bytes.end);
        damage_in_parts.extend_from_slice(damage.get(indices).unwrap_or_default());
    }
    damage_in_parts
}

impl Manifest {
    /// Returns a smaller manifest for reading the topics `selected` in `parts`, which are in
    /// ascending order.
    ///
    /// It contains the topics `included` and their parts of the file within `parts`. Topics
    /// that are included but not selected lose their names, columns and definitions. It
    /// contains no metadata, streams and remarks, and no damage, because readers find the
    /// damage again. It has no private state: the format adds the state that its readers
    /// need.
    #[must_use]
    pub fn excerpt(
        &self,
        selected: &TopicSet,
        included: TopicSet,
        parts: &[Part],
    ) -> Excerpt {
        let mut included_parts = Vec::new();
        for part in parts {
            let indices = self.parts_within(&part.bytes);
            let inner_parts = self.parts.get(indices).unwrap_or_default();
            included_parts.extend(
                inner_parts.iter().map(|part| part.with_renumbered_topics(&included)),
            );
        }
        let included_topic = |id: TopicId| -> Option<Topic> {
            let topic = self.topics.get(id.index())?;
            Some(if selected.contains(id) { topic.clone() } else { topic.stub() })
        };
        let mut time_margins = BTreeMap::new();
        for (id, margin) in &self.time_margins {
            if selected.contains(*id)
                && let Some(new_id) = included.position(*id)
            {
                time_margins.insert(new_id, *margin);
            }
        }
        let manifest = Self {
            format: self.format.clone(),
            bytes: self.bytes,
            access: self.access,
            topics: included
                .ids(self.topics.len())
                .filter_map(included_topic)
                .collect(),
            streams: Vec::new(),
            parts: included_parts,
            time_margins,
            clock: self.clock.clone(),
            time: self.time,
            oldest: self.oldest,
            metadata: BTreeMap::new(),
            damage: Vec::new(),
            remarks: Vec::new(),
            format_state: String::new(),
        };
        Excerpt { manifest, topics: included }
    }
}

impl Part {
    /// Returns the part with its topics that are `included` in an excerpt, under their new
    /// ids.
    #[must_use]
    pub fn with_renumbered_topics(&self, included: &TopicSet) -> Self {
        let topics = self.topics.positions_within(included);
        Self { bytes: self.bytes.clone(), topics, time: self.time }
    }
}
