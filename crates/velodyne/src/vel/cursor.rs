//! Reads the records of a part.

use std::sync::Arc;

use logtool_core::{
    Block, Cursor, NextGap, Reach, Result, Selection, Step, TimeRange, Walk,
};

use crate::vel::{
    judge::{Judge, Look, Message, SIGHT},
    notes::Notes,
    time,
    topics::TopicKind,
    wire::{self, HEADER_LEN, SIZE_LEN},
};

/// Reads one part of a `.vel` log.
pub(crate) struct VelCursor {
    walk: Walk,
    reader: Reader,
}

struct Reader {
    notes: Arc<Notes>,
    judge: Judge,
    selection: Selection,
    /// The times of messages that may contain selected points.
    time_of_points: TimeRange,
    /// The next damaged range.
    gap: NextGap,
}

impl VelCursor {
    /// Creates a cursor for the range of `walk` in a file of `end` bytes. `reach` is the
    /// maximum distance between the times of points and of their message.
    pub(crate) fn new(
        walk: Walk,
        end: u64,
        notes: Arc<Notes>,
        selection: Selection,
        reach: Reach,
    ) -> Self {
        let at = walk.position();
        let gap = NextGap::new(&notes.gaps, at);
        let judge = Judge { size_field: notes.size_field, end };
        let time_of_points = reach.of(selection.time);
        let reader = Reader { notes, judge, selection, time_of_points, gap };
        Self { walk, reader }
    }
}

impl Cursor for VelCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { walk, reader } = self;
        let start = walk.position();
        walk.fill(block, |block, bytes, used| {
            let rest = bytes.get(used..).unwrap_or_default();
            reader.step(block, start + used as u64, rest, used)
        })
    }
}

impl Reader {
    /// Reads the message at `at` of the file, which is at `used` of the block. `rest`
    /// contains the bytes of the block from there on.
    fn step(&mut self, block: &mut Block, at: u64, rest: &[u8], used: usize) -> Step {
        if let Some(gap) = self.gap.step(&self.notes.gaps, at) {
            return gap;
        }
        if at >= self.notes.messages.1 {
            // The bytes after the last message.
            return Step::Whole { len: rest.len().max(1) };
        }
        let left = self.judge.end.saturating_sub(at);
        if (rest.len() as u64) < left.min(SIGHT as u64) {
            return Step::Partial { len: left.min(SIGHT as u64) as usize };
        }
        let broken = self.notes.broken_at(at).and_then(|broken| {
            let (_, header) = wire::message(rest)?;
            Some(Message { header, len: broken.len, fits: false })
        });
        let message = match (self.judge.look(at, rest), broken) {
            (_, Some(message)) => message,
            (Look::Message(message) | Look::Odd(message), None) => message,
            // The index pass saw something else here: the file has changed since.
            _ => return Step::Whole { len: rest.len().max(1) },
        };
        let Ok(len) = usize::try_from(message.len) else {
            return Step::Whole { len: rest.len().max(1) };
        };
        if rest.len() < len {
            return Step::Partial { len };
        }
        self.record(block, &message, used, len);
        Step::Whole { len }
    }

    fn record(&self, block: &mut Block, message: &Message, used: usize, len: usize) {
        let kind = TopicKind::of(message);
        let time = time::of_millis(message.header.millis);
        let Some(topic) = self.notes.topic(kind) else { return };
        let place = used + SIZE_LEN..used + len;
        if self.selection.wants(topic, time) {
            block.push(topic, time, place.clone());
        }
        let is_valid = message.header.validity == self.notes.valid;
        if let Some(points) = self.notes.points
            && kind == TopicKind::Packets
            && is_valid
            && len > HEADER_LEN
            && self.selection.topics.contains(points)
            && self.time_of_points.contains(time)
        {
            block.push(points, time, place);
        }
    }
}
