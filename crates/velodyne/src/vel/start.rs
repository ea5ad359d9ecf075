//! Where the messages begin, and what their sizes count.
//!
//! The specification says both that a header has 21 bytes and that data has size - 17.
//! Files tell: of the two readings, one makes message follow on message.

use logtool_core::{Cut, Result, Window};

use crate::vel::{
    judge::{Judge, Look, SIGHT},
    wire::{self, HEAD_LEN, Head, SIZE_LEN, SizeField},
};

/// How many messages are tried in either reading.
const TRIED: u32 = 200;

/// What the start of a file tells of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// Where the first message begins.
    pub(crate) at: u64,
    pub(crate) size_field: SizeField,
    /// How many messages follow on each other, if sizes count 17 bytes of header, and if
    /// they count 21.
    pub(crate) votes: [u32; 2],
}

const READINGS: [SizeField; 2] = [SizeField::AfterItself, SizeField::Whole];

/// Finds the first message of a file of `end` bytes.
pub(crate) fn find(head: Head, end: u64, window: &mut Window<'_>) -> Result<Start> {
    let behind_index = HEAD_LEN as u64 + 8 * u64::from(head.entries);
    let here = vote(behind_index.min(end), end, window)?;
    // A log can end before its first message.
    let is_end = wire::end_mark(&window.peek(here.at, SIZE_LEN)?);
    if here.votes != [0, 0] || is_end {
        return Ok(here);
    }
    // The index is not as long as it says, or the first message is broken.
    let mut first: Option<u64> = None;
    for size_field in READINGS {
        let next = Judge { size_field, end }.next(HEAD_LEN as u64, window)?;
        first = first.into_iter().chain(next).min();
    }
    let Some(first) = first else { return Ok(here) };
    let at = beginning(behind_index, first, window)?;
    Ok(Start { at, ..vote(first, end, window)? })
}

/// Where the messages begin, if the first that can be read is at `first`: where the index
/// says, if it can be there; else behind the index. What lies before `first` is lost.
fn beginning(behind_index: u64, first: u64, window: &Window<'_>) -> Result<u64> {
    let entry = Cut::new(&window.peek(HEAD_LEN as u64, 8)?).u64().unwrap_or(0);
    let is_behind_itself = entry >= HEAD_LEN as u64 + 8;
    Ok(match entry <= first && is_behind_itself && (entry - 4).is_multiple_of(8) {
        true => entry,
        false => behind_index.min(first),
    })
}

fn vote(at: u64, end: u64, window: &Window<'_>) -> Result<Start> {
    let mut chains = [Chain::default(); 2];
    for (own, size_field) in chains.iter_mut().zip(READINGS) {
        *own = chain(Judge { size_field, end }, at, window)?;
    }
    let [after, whole] = chains;
    let size_field = match whole > after {
        true => SizeField::Whole,
        false => SizeField::AfterItself,
    };
    Ok(Start { at, size_field, votes: [after.messages, whole.messages] })
}

/// Messages that follow on each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Chain {
    messages: u32,
    /// Those that have the length that their type wants. Of two readings by which as many
    /// follow on each other, this tells: one message and a mark may look like a longer one.
    fitting: u32,
}

/// The messages that follow on each other from `at` on.
fn chain(judge: Judge, mut at: u64, window: &Window<'_>) -> Result<Chain> {
    let mut chain = Chain::default();
    while chain.messages < TRIED {
        match judge.look(at, &window.peek(at, SIGHT)?) {
            Look::Message(message) if message.fits => {
                at += message.len;
                chain.fitting += 1;
            }
            // Nothing is known of it but that the next should follow on it.
            Look::Message(message) if judge.goes_on(at + message.len, window)? => {
                at += message.len;
            }
            Look::Odd(message) if judge.leads_on(at, &message, window)? => {
                at += message.len;
            }
            Look::Cut(message) if message.fits => {
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
