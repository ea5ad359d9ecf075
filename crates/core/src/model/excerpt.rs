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
    /// The topics of the log that the manifest has, in the order of their ids in both.
    pub topics: TopicSet,
}

impl Excerpt {
    /// Returns the id in the manifest of the topic `id` of the log.
    pub fn renumbered_topic(&self, id: TopicId) -> Option<TopicId> {
        self.topics.position(id)
    }
}

/// Returns those of `damage`, which is in the order of the file, that start in `parts`.
pub fn damage_within(damage: &[Damage], parts: &[Part]) -> Vec<Damage> {
    let overlapping = parts.iter().flat_map(|part| {
        let before =
            |offset: u64| damage.partition_point(|entry| entry.bytes.start < offset);
        let range = before(part.bytes.start)..before(part.bytes.end);
        damage.get(range).unwrap_or_default()
    });
    overlapping.cloned().collect()
}

impl Manifest {
    /// Returns a smaller manifest for reading `selected` topics in `parts`, which are in
    /// ascending order. It has the parts inside `parts` and the topics in `included`. Topics
    /// in `included` that are not selected lose their names, columns and definitions. It has
    /// no metadata, streams and remarks, and no damage, because readers find the damage
    /// again. It has no private state: the format adds the state that its readers need.
    #[must_use]
    pub fn excerpt(
        &self,
        selected: &TopicSet,
        included: TopicSet,
        parts: &[Part],
    ) -> Excerpt {
        let indices = parts.iter().flat_map(|part| self.parts_within(&part.bytes));
        let selected_parts = indices.filter_map(|index| self.parts.get(index));
        let topic = |id: TopicId| -> Option<Topic> {
            let topic = self.topics.get(id.index())?;
            Some(if selected.contains(id) { topic.clone() } else { topic.stub() })
        };
        let margins = self.time_margins.iter();
        let margins = margins.filter(|(id, _)| selected.contains(**id));
        let margins =
            margins.filter_map(|(id, margin)| Some((included.position(*id)?, *margin)));
        let manifest = Self {
            format: self.format.clone(),
            bytes: self.bytes,
            access: self.access,
            topics: included.ids(self.topics.len()).filter_map(topic).collect(),
            streams: Vec::new(),
            parts: selected_parts
                .map(|part| part.with_renumbered_topics(&included))
                .collect(),
            time_margins: margins.collect(),
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
    /// Returns the part with those of its topics that an excerpt has kept, under their new
    /// ids.
    #[must_use]
    pub fn with_renumbered_topics(&self, included: &TopicSet) -> Self {
        let topics = self.topics.positions_within(included);
        Self { bytes: self.bytes.clone(), topics, time: self.time }
    }
}
