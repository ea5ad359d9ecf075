//! What message ids stand for, and how long their records are if they are padded.

use logtool_core::{Layout, TopicId};

use crate::{open_log::Opened, registry::Declaration};

/// No record is as long.
const NEVER: u32 = u32::MAX;

/// What all subscriptions of a log say, in the order of the file.
pub(super) struct Subscriptions(Vec<Subscription>);

struct Subscription {
    offset: u64,
    id: u16,
    stands: Stands,
}

/// What an id stands for.
#[derive(Clone, Copy)]
pub(super) struct Stands {
    pub(super) topic: TopicId,
    /// The length of a record that has the padding at its end.
    padded: u32,
}

/// What ids stand for at a place of a log that moves on.
pub(super) struct Ids {
    /// By id, as far as there are some.
    stand: Vec<Option<Stands>>,
    /// The next subscription that may change that.
    next: usize,
}

impl Subscriptions {
    pub(super) fn of(log: &Opened) -> Self {
        let topics = log.registry.topics.iter();
        let padded: Vec<u32> = topics
            .map(|declared| declared.layout.as_ref().map_or(NEVER, |l| padded_len(l)))
            .collect();
        let subscriptions = log.notes.declarations.iter().filter_map(|declaration| {
            let Declaration::Subscription { offset, id, topic, .. } = declaration
            else {
                return None;
            };
            let padded = padded.get(topic.index()).copied().unwrap_or(NEVER);
            let stands = Stands { topic: *topic, padded };
            Some(Subscription { offset: *offset, id: *id, stands })
        });
        Self(subscriptions.collect())
    }
}

impl Ids {
    /// What ids stand for where the message at `at` begins.
    pub(super) fn new(all: &Subscriptions, at: u64) -> Self {
        let mut ids = Self { stand: Vec::new(), next: 0 };
        while ids.next(all, |offset| offset < at).is_some() {}
        ids
    }

    /// Takes the next subscription, if `is_due` says so of where it lies: its id, what that
    /// stood for before, and what it stands for now.
    pub(super) fn next(
        &mut self,
        all: &Subscriptions,
        is_due: impl Fn(u64) -> bool,
    ) -> Option<(u16, Option<Stands>, Stands)> {
        let next = all.0.get(self.next).filter(|next| is_due(next.offset))?;
        self.next += 1;
        let index = usize::from(next.id);
        if index >= self.stand.len() {
            self.stand.resize(index + 1, None);
        }
        let before = self.stand.get_mut(index)?.replace(next.stands);
        Some((next.id, before, next.stands))
    }

    /// The topic of a record of `len` bytes, if such a record has the padding at its end.
    #[inline]
    pub(super) fn padded(&self, id: u16, len: usize) -> Option<TopicId> {
        let stands = self.stand.get(usize::from(id)).copied().flatten()?;
        (stands.padded as usize == len).then_some(stands.topic)
    }
}

/// How long records that look like `layout` are if they have the padding at their ends.
fn padded_len(layout: &Layout) -> u32 {
    if layout.size_without_padding() < layout.size { layout.size } else { NEVER }
}
