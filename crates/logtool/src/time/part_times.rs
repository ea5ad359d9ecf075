//! When the records of a log happened, part by part.

use logtool_core::{
    Block, Log, Part, ReadAhead, Result, Selection, Timestamp, TopicId,
};

/// Tells the times of the records of a log, in the order of when its parts begin. What the
/// index tells is not read.
pub struct PartTimes<'l> {
    log: &'l dyn Log,
    plan: Vec<Part>,
    next: usize,
    ahead: ReadAhead<'l>,
    block: Block,
    told: Vec<(TopicId, Timestamp)>,
}

impl<'l> PartTimes<'l> {
    /// The times of the records of `log` that `selection` wants, and perhaps of others.
    pub fn new(log: &'l dyn Log, selection: Selection) -> Self {
        let mut plan = log.manifest().plan(&selection, 0);
        plan.sort_by_key(|part| part.time.start);
        let ahead = ReadAhead::new(log, plan.clone(), selection);
        let (block, told) = (Block::default(), Vec::new());
        Self { log, plan, next: 0, ahead, block, told }
    }

    /// The parts that are still to come.
    pub fn parts(&self) -> &[Part] {
        self.plan.get(self.next..).unwrap_or_default()
    }

    /// Tells `each` record of the next part, in any order; says whether there was one.
    ///
    /// # Errors
    /// Whatever ends the reading.
    pub fn part(&mut self, each: &mut dyn FnMut(TopicId, Timestamp)) -> Result<bool> {
        let Some(part) = self.plan.get(self.next) else { return Ok(false) };
        self.next += 1;
        if self.log.times(part, &mut self.told)? {
            self.ahead.skip_part();
            self.told.drain(..).for_each(|(topic, time)| each(topic, time));
            return Ok(true);
        }
        while self.ahead.fill_part(&mut self.block)? {
            self.block.iter().for_each(|record| each(record.topic, record.time));
        }
        Ok(true)
    }
}
