//! Reads the times of the records of a log, part by part.

use logtool_core::{
    Block, Log, Part, ReadAhead, Result, Selection, Timestamp, TopicId,
};

/// Reads the times of the records of a log, in the order of the starts of its parts. Times that
/// are in the index are taken from there.
pub struct PartTimes<'l> {
    log: &'l dyn Log,
    plan: Vec<Part>,
    next: usize,
    read_ahead: ReadAhead<'l>,
    block: Block,
    indexed: Vec<(TopicId, Timestamp)>,
}

impl<'l> PartTimes<'l> {
    /// Creates a reader for the records of `log` in `selection`; it may include other records.
    pub fn new(log: &'l dyn Log, selection: Selection) -> Self {
        let mut plan = log.manifest().plan(&selection, 0);
        plan.sort_by_key(|part| part.time.start);
        let read_ahead = ReadAhead::new(log, plan.clone(), selection);
        let (block, indexed) = (Block::default(), Vec::new());
        Self { log, plan, next: 0, read_ahead, block, indexed }
    }

    /// Returns the remaining parts.
    pub fn remaining_parts(&self) -> &[Part] {
        self.plan.get(self.next..).unwrap_or_default()
    }

    /// Calls `each` for the records of the next part, in any order. Returns whether there was a
    /// part.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn read_part(
        &mut self,
        each: &mut dyn FnMut(TopicId, Timestamp),
    ) -> Result<bool> {
        let Some(part) = self.plan.get(self.next) else { return Ok(false) };
        self.next += 1;
        if self.log.times(part, &mut self.indexed)? {
            self.read_ahead.skip_part();
            self.indexed.drain(..).for_each(|(topic, time)| each(topic, time));
            return Ok(true);
        }
        while self.read_ahead.fill_part(&mut self.block)? {
            self.block.iter().for_each(|record| each(record.topic, record.time));
        }
        Ok(true)
    }
}
