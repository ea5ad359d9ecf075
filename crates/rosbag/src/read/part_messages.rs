//! The known messages of a part: from an index, or from reading the part.

use logtool_core::TimeRange;

use crate::{
    read::part_content::{MessageCount, PartContent},
    recovery::damage_locator::proportional_share,
    wire,
};

/// The known messages of a part.
#[derive(Clone, Debug)]
pub(crate) enum PartMessages {
    /// The number of messages of each connection. Only this is stored, because a long bag has many
    /// chunks.
    Counts(Vec<(u32, u32)>),
    /// The counts, times and damage from reading the part or the index data after its chunk.
    Content(PartContent),
}

impl PartMessages {
    /// Returns whether the part has known losses.
    pub(crate) fn is_damaged(&self) -> bool {
        match self {
            Self::Counts(_) => false,
            Self::Content(content) => {
                content.damage.iter().any(|damage| damage.kind.is_loss())
            }
        }
    }

    /// Returns how many of the `bytes` bytes of the part belong to the messages of `count`.
    pub(crate) fn share_of(&self, count: &MessageCount, bytes: u64) -> u64 {
        let payloads = count.bytes.unwrap_or(0);
        let part = payloads
            .saturating_add(count.records.saturating_mul(wire::MESSAGE_HEADER_LEN));
        match self {
            Self::Content(content) if content.decompressed_len > 0 => {
                proportional_share(
                    bytes,
                    part.min(content.decompressed_len),
                    content.decompressed_len,
                )
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
