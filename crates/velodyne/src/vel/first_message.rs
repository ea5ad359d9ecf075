//! Finds the first message, and detects which bytes the sizes of messages include.
//!
//! The specification states both that a header has 21 bytes and that data has size - 17
//! bytes. With the correct interpretation, each message is followed by another one.

use logtool_core::{ByteReader, Result, WindowReader};

use crate::vel::{
    classifier::{CLASSIFIED_BYTES, Classification, MessageClassifier},
    wire::{self, FILE_HEADER_LEN, FileHeader, SIZE_LEN, SizeField},
};

/// The maximum number of messages that are followed with each interpretation.
const MAX_FOLLOWED: u32 = 200;

/// The result of examining the start of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogStart {
    /// The position of the first message.
    pub(crate) at: u64,
    pub(crate) size_field: SizeField,
    /// The number of consecutive messages if sizes include 17 bytes of header, and if
    /// they include 21.
    pub(crate) consecutive_messages: [u32; 2],
}

/// The two interpretations.
const SIZE_FIELDS: [SizeField; 2] = [SizeField::AfterItself, SizeField::Whole];

/// Finds the first message of a file of `end` bytes.
pub(crate) fn find(
    header: FileHeader,
    end: u64,
    window: &mut WindowReader<'_>,
) -> Result<LogStart> {
    let index_end = FILE_HEADER_LEN as u64 + 8 * u64::from(header.entries);
    let detected = detect_size_field(index_end.min(end), end, window)?;
    // A log may have no messages.
    let is_end = wire::is_end_mark(&window.peek(detected.at, SIZE_LEN)?);
    if detected.consecutive_messages != [0, 0] || is_end {
        return Ok(detected);
    }
    // The index has another length than declared, or the first message is broken.
    let mut first: Option<u64> = None;
    for size_field in SIZE_FIELDS {
        let next = MessageClassifier { size_field, end }
            .find_next(FILE_HEADER_LEN as u64, window)?;
        first = first.into_iter().chain(next).min();
    }
    let Some(first) = first else { return Ok(detected) };
    let at = messages_start(index_end, first, window)?;
    Ok(LogStart { at, ..detect_size_field(first, end, window)? })
}

/// Returns the start of the messages if the first readable message is at `first`: the
/// position in the first index entry if it can be the end of an index, otherwise the
/// declared end of the index. The bytes from there to `first` are lost.
fn messages_start(
    index_end: u64,
    first: u64,
    window: &WindowReader<'_>,
) -> Result<u64> {
    let index_start = FILE_HEADER_LEN as u64;
    let entry = ByteReader::new(&window.peek(index_start, 8)?).u64().unwrap_or(0);
    let index_len = entry.checked_sub(index_start).filter(|len| *len > 0);
    let can_end_index = index_len.is_some_and(|len| len.is_multiple_of(8));
    Ok(if can_end_index && entry <= first { entry } else { index_end.min(first) })
}

/// Detects the size field of a file of `end` bytes whose messages start at `at`.
fn detect_size_field(at: u64, end: u64, window: &WindowReader<'_>) -> Result<LogStart> {
    let mut chains = [Chain::default(); 2];
    for (chain, size_field) in chains.iter_mut().zip(SIZE_FIELDS) {
        *chain = follow_messages(MessageClassifier { size_field, end }, at, window)?;
    }
    let [after_itself, whole] = chains;
    let size_field =
        if whole > after_itself { SizeField::Whole } else { SizeField::AfterItself };
    let consecutive_messages = [after_itself.messages, whole.messages];
    Ok(LogStart { at, size_field, consecutive_messages })
}

/// A chain of consecutive messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Chain {
    messages: u32,
    /// The number of messages with the length of their type. This decides between two
    /// interpretations with equally long chains: one message and the end mark may look
    /// like a longer message.
    fitting: u32,
}

/// Returns the chain of messages that starts at `at`.
fn follow_messages(
    classifier: MessageClassifier,
    mut at: u64,
    window: &WindowReader<'_>,
) -> Result<Chain> {
    let mut chain = Chain::default();
    while chain.messages < MAX_FOLLOWED {
        match classifier.classify(at, &window.peek(at, CLASSIFIED_BYTES)?) {
            Classification::Message(message) if message.fits => {
                at += message.len;
                chain.fitting += 1;
            }
            // A message of unknown length is accepted if another one follows it.
            Classification::Message(message)
                if classifier.continues_at(at + message.len, window)? =>
            {
                at += message.len;
            }
            Classification::Anomalous(message)
                if classifier.leads_to_message(at, &message, window)? =>
            {
                at += message.len;
            }
            Classification::Truncated(message) if message.fits => {
                return Ok(Chain {
                    messages: chain.messages + 1,
                    fitting: chain.fitting + 1,
                });
            }
            _ => break,
        }
        chain.messages += 1;
    }
    Ok(chain)
}
