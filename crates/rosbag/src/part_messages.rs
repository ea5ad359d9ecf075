//! What is known of the messages of a part: as an index tells it, or as they are.

use logtool_core::TimeRange;

use crate::{
    loss::share,
    probe::{Content, Count},
};

/// How many bytes a message is beside its payload, as every writer makes it: two lengths,
/// and the fields `conn`, `op` and `time`.
const MESSAGE_HEAD: u64 = 4 + 13 + 8 + 17 + 4;

/// What is known of the messages of a part.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    /// Connections and how many messages each has, and nothing more: all that is kept
    /// of each of the many chunks of a long bag.
    Counts(Vec<(u32, u32)>),
    /// All of it.
    Content(Content),
}

impl Told {
    /// Whether some of the part was seen to be damaged.
    pub(crate) fn is_damaged(&self) -> bool {
        matches!(self, Self::Content(content) if content.damage.iter().any(|damage| damage.kind.is_loss()))
    }

    /// How many of the `all` bytes of the part are messages of which `count` is known.
    pub(crate) fn share_of(&self, count: &Count, all: u64) -> u64 {
        let payloads = count.bytes.unwrap_or(0);
        let part = payloads.saturating_add(count.records.saturating_mul(MESSAGE_HEAD));
        match self {
            Self::Content(content) if content.unpacked > 0 => {
                share(all, part.min(content.unpacked), content.unpacked)
            }
            _ => part.min(all),
        }
    }

    /// What is known of the messages of each connection that has some.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u32, Count)> {
        let (few, all) = match self {
            Self::Counts(counts) => (counts.as_slice(), None),
            Self::Content(content) => (&[][..], Some(content)),
        };
        let few = few.iter().filter(|(_, count)| *count > 0).map(|(id, count)| {
            (*id, Count { records: (*count).into(), bytes: None, time: None })
        });
        let all = all.into_iter().flat_map(|content| &content.counts);
        few.chain(all.map(|(id, count)| (*id, *count)))
    }

    /// The time of all messages, where it is known.
    pub(crate) fn time(&self) -> Option<TimeRange> {
        let mut counts = self.counts();
        counts
            .try_fold(TimeRange::EMPTY, |all, (_, count)| Some(all.cover(&count.time?)))
    }
}
