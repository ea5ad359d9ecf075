//! The messages of a log, with their undecoded payloads.

use std::fmt;

use bytes::Bytes;
use logtool_core::{
    Block, Damage, Log as FormatLog, Part, Selection, Timestamp, TopicId,
};

use crate::{
    error::Result,
    records::parallel::{OrderedResults, PushResult},
};

/// A message as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The topic.
    pub topic: TopicId,
    /// The time of recording, on the clock of the log.
    pub time: Timestamp,
    /// The byte offset of the record in the file; in a compressed chunk, that of the chunk.
    pub offset: u64,
    /// The undecoded payload.
    pub payload: Bytes,
}

/// Some messages, and the damage that was found while they were read.
pub(super) struct MessageBlock {
    messages: Vec<Message>,
    damage: Vec<Damage>,
}

/// The messages of a log, in the order of the file.
pub struct Messages {
    results: OrderedResults<MessageBlock>,
    messages: std::vec::IntoIter<Message>,
    damage: Vec<Damage>,
}

impl Messages {
    pub(super) fn new(results: OrderedResults<MessageBlock>) -> Self {
        Self { results, messages: Vec::new().into_iter(), damage: Vec::new() }
    }

    /// Returns the damage that was found so far, in the order of the file.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }
}

impl Iterator for Messages {
    type Item = Result<Message>;

    fn next(&mut self) -> Option<Result<Message>> {
        loop {
            if let Some(message) = self.messages.next() {
                return Some(Ok(message));
            }
            match self.results.next()? {
                Ok(MessageBlock { messages, damage }) => {
                    self.messages = messages.into_iter();
                    for entry in damage {
                        entry.add_to(&mut self.damage);
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messages").finish_non_exhaustive()
    }
}

/// Passes the messages of `part` in `selection` to `push`.
pub(super) fn read(
    log: &dyn FormatLog,
    part: &Part,
    selection: &Selection,
    push: PushResult<'_, MessageBlock>,
) -> Result<()> {
    let mut cursor = log.read(part, selection)?;
    let mut block = Block::default();
    while cursor.fill(&mut block)? {
        let message = |record: logtool_core::Record<'_>| Message {
            topic: record.topic,
            time: record.time,
            offset: record.offset,
            payload: Bytes::copy_from_slice(record.payload),
        };
        let messages: Vec<Message> = block.iter().map(message).collect();
        let damage = block.damage().to_vec();
        let is_empty = messages.is_empty() && damage.is_empty();
        if !is_empty && !push(MessageBlock { messages, damage }) {
            break;
        }
    }
    log.source().release(part.bytes.clone());
    Ok(())
}
