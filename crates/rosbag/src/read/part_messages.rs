//! The known messages of a part: from an index, or from reading the part.

use logtool_core::TimeRange;

use crate::{
    read::part_content::{MessageCount, PartContent},
    recovery::damage_locator::proportional_share,
};

/// The bytes of a message without its payload, as every writer makes them: two lengths, and
/// the fields `conn`, `op` and `time`.
const MESSAGE_HEAD: u64 = 4 + 13 + 8 + 17 + 4;

/// The known messages of a part.
#[derive(Clone, Debug)]
pub(crate) enum PartMessages {
    /// The number of messages of each connection, and no more: this is all that is kept for
    /// each of the many chunks of a long bag.
    Counts(Vec<(u32, u32)>),
    /// The counts, times and damage that were found by reading the part.
    Content(PartContent),
}

impl PartMessages {
    /// Returns whether damage was found in the part.
    pub(crate) fn is_damaged(&self) -> bool {
        matches!(self, Self::Content(content) if content.damage.iter().any(|damage| damage.kind.is_loss()))
    }

    /// Returns how many of the `all` bytes of the part belong to the messages of `count`.
    pub(crate) fn share_of(&self, count: &MessageCount, bytes: u64) -> u64 {
        let payloads = count.bytes.unwrap_or(0);
        let part = payloads.saturating_add(count.records.saturating_mul(MESSAGE_HEAD));
        match self {
            Self::Content(content) if content.unpacked > 0 => {
                proportional_share(bytes, part.min(content.unpacked), content.unpacked)
            }
            _ => part.min(bytes),
        }
    }

    /// Returns the counts of each connection with messages.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u32, MessageCount)> {
        let (listed, content_counts) = match self {
            Self::Counts(counts) => (counts.as_slice(), None),
            Self::Content(content) => (&[][..], Some(content)),
        };
        let listed =
            listed.iter().filter(|(_, count)| *count > 0).map(|(id, count)| {
                (
                    *id,
                    MessageCount { records: (*count).into(), bytes: None, time: None },
                )
            });
        let content_counts =
            content_counts.into_iter().flat_map(|content| &content.counts);
        listed.chain(content_counts.map(|(id, count)| (*id, *count)))
    }

    /// Returns the time range of all messages, or `None` if it is not known.
    pub(crate) fn time(&self) -> Option<TimeRange> {
        let mut counts = self.counts();
        counts
            .try_fold(TimeRange::EMPTY, |all, (_, count)| Some(all.cover(&count.time?)))
    }
}
