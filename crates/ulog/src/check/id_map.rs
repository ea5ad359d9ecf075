//! The topics of message ids, and the lengths of padded records.

use logtool_core::{Layout, TopicId};

use crate::{read::open_log::OpenLog, topics::registry::Declaration};

/// A length that no record has.
const IMPOSSIBLE_LEN: u32 = u32::MAX;

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
    /// The length of a record that includes its trailing padding; [`IMPOSSIBLE_LEN`] if the type
    /// has no trailing padding.
    padded_len: u32,
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
        let padded_lengths: Vec<u32> = topics
            .map(|declared| {
                declared.layout.as_ref().map_or(IMPOSSIBLE_LEN, |l| padded_len(l))
            })
            .collect();
        let subscriptions =
            log.format_state.declarations.iter().filter_map(|declaration| {
                let Declaration::Subscription { offset, id, topic, .. } = declaration
                else {
                    return None;
                };
                let padded_len = padded_lengths
                    .get(topic.index())
                    .copied()
                    .unwrap_or(IMPOSSIBLE_LEN);
                let target = IdTarget { topic: *topic, padded_len };
                Some(Subscription { offset: *offset, id: *id, target })
            });
        Self(subscriptions.collect())
    }
}

impl IdMap {
    /// Returns the topics of the message ids before the message at offset `start`.
    pub(super) fn new(subscriptions: &Subscriptions, start: u64) -> Self {
        let mut ids = Self { targets: Vec::new(), next: 0 };
        while ids.apply_next(subscriptions, |offset| offset < start).is_some() {}
        ids
    }

    /// Applies the next subscription if `is_due` accepts its offset. Returns the
    /// message id, its previous target, and its new target.
    pub(super) fn apply_next(
        &mut self,
        subscriptions: &Subscriptions,
        is_due: impl Fn(u64) -> bool,
    ) -> Option<(u16, Option<IdTarget>, IdTarget)> {
        let subscription = subscriptions
            .0
            .get(self.next)
            .filter(|subscription| is_due(subscription.offset))?;
        self.next += 1;
        let index = usize::from(subscription.id);
        if index >= self.targets.len() {
            self.targets.resize(index + 1, None);
        }
        let previous = self.targets.get_mut(index)?.replace(subscription.target);
        Some((subscription.id, previous, subscription.target))
    }

    /// Returns the topic of a record of `len` bytes if the record includes its trailing
    /// padding.
    #[inline]
    pub(super) fn padded_record_topic(&self, id: u16, len: usize) -> Option<TopicId> {
        let target = self.targets.get(usize::from(id)).copied().flatten()?;
        (target.padded_len as usize == len).then_some(target.topic)
    }
}

/// Returns the length of records of `layout` including trailing padding, or [`IMPOSSIBLE_LEN`]
/// if they have no trailing padding.
fn padded_len(layout: &Layout) -> u32 {
    if layout.size_without_padding() < layout.size {
        layout.size
    } else {
        IMPOSSIBLE_LEN
    }
}
