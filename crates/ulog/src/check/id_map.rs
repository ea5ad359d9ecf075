//! The topics of message ids, and the lengths of padded records.

use logtool_core::{Layout, TopicId};

use crate::{read::open_log::OpenLog, topics::registry::Declaration};

/// A length that no record has.
const NEVER: u32 = u32::MAX;

/// All subscriptions of a log, in file order.
pub(super) struct Subscriptions(Vec<Subscription>);

struct Subscription {
    offset: u64,
    id: u16,
    target: IdTarget,
}

/// The topic that a message id refers to.
#[derive(Clone, Copy)]
pub(super) struct IdTarget {
    pub(super) topic: TopicId,
    /// The length of a record that includes its trailing padding; [`NEVER`] if the type
    /// has no trailing padding.
    padded: u32,
}

/// The topics of all message ids at the current position in the log.
pub(super) struct IdMap {
    /// Indexed by message id.
    targets: Vec<Option<IdTarget>>,
    /// The index of the next subscription in file order.
    next: usize,
}

impl Subscriptions {
    pub(super) fn from_log(log: &OpenLog) -> Self {
        let topics = log.registry.topics.iter();
        let padded: Vec<u32> = topics
            .map(|declared| declared.layout.as_ref().map_or(NEVER, |l| padded_len(l)))
            .collect();
        let subscriptions =
            log.format_state.declarations.iter().filter_map(|declaration| {
                let Declaration::Subscription { offset, id, topic, .. } = declaration
                else {
                    return None;
                };
                let padded = padded.get(topic.index()).copied().unwrap_or(NEVER);
                let target = IdTarget { topic: *topic, padded };
                Some(Subscription { offset: *offset, id: *id, target })
            });
        Self(subscriptions.collect())
    }
}

impl IdMap {
    /// Returns the topics of the message ids at the start of the message at offset
    /// `at`.
    pub(super) fn new(all: &Subscriptions, at: u64) -> Self {
        let mut ids = Self { targets: Vec::new(), next: 0 };
        while ids.next(all, |offset| offset < at).is_some() {}
        ids
    }

    /// Applies the next subscription if `is_due` accepts its offset. Returns the
    /// message id, its previous target, and its new target.
    pub(super) fn next(
        &mut self,
        all: &Subscriptions,
        is_due: impl Fn(u64) -> bool,
    ) -> Option<(u16, Option<IdTarget>, IdTarget)> {
        let next = all.0.get(self.next).filter(|next| is_due(next.offset))?;
        self.next += 1;
        let index = usize::from(next.id);
        if index >= self.targets.len() {
            self.targets.resize(index + 1, None);
        }
        let before = self.targets.get_mut(index)?.replace(next.target);
        Some((next.id, before, next.target))
    }

    /// Returns the topic of a record of `len` bytes if the record includes its trailing
    /// padding.
    #[inline]
    pub(super) fn padded_record_topic(&self, id: u16, len: usize) -> Option<TopicId> {
        let target = self.targets.get(usize::from(id)).copied().flatten()?;
        (target.padded as usize == len).then_some(target.topic)
    }
}

/// Returns the length of records of `layout` including trailing padding, or [`NEVER`]
/// if they have no trailing padding.
fn padded_len(layout: &Layout) -> u32 {
    if layout.size_without_padding() < layout.size { layout.size } else { NEVER }
}
